"""Values of kernel arguments: what a user writes, or gives as an object of Python, becomes numbers, arrays and bytes.

A buffer is ``@in.npy``, ``zeros(1024, f4)``, ``ones``, ``arange``, ``random``, ``full(10, 2.5)``, or a list of JSON; a
scalar is a number; a structure is a JSON object. What an argument is comes from the metadata of the kernel and from the
debugging information, which knows structures.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from dwarfgpu.errors import DwarfGpuError, UsageError, nearest, nearest_hint
from dwarfgpu.execution.launch.images import FORM, is_image_or_sampler
from dwarfgpu.immutable import frozen
from dwarfgpu.program.frames.columns import MAX_DEPTH, dtype_of
from dwarfgpu.program.types import model as t
from dwarfgpu.program.types.base_sizes import has_usual_size
from dwarfgpu.program.types.declaration import safe_text
from dwarfgpu.program.types.model import byte_size, element_bits, known_size, resolved
from dwarfgpu.program.values.scalars import Scalar, complex_parts, scalar_of

if TYPE_CHECKING:
    from dwarfgpu.machines.memory import Memories

AT_ONCE = 1 << 20
"""The random numbers that are made at a time."""
UNWRITTEN = 0xAA
"""Each byte of a buffer without contents, as clang fills variables (-ftrivial-auto-var-init=pattern)."""
_WITHOUT_CONTENTS = "dwarfgpu.noinit"
"""What the type of its array has in its metadata."""
MAX_BYTES = 1 << 30
"""Of one buffer."""
_CALL = re.compile(r"(zeros|ones|arange|random|full|noinit)\((.*)\)", re.DOTALL)
_FUNCTIONS = {
    "zeros": "zeros(COUNT[, TYPE])",
    "ones": "ones(COUNT[, TYPE])",
    "arange": "arange(COUNT[, TYPE])",
    "random": "random(COUNT[, TYPE[, SEED]])",
    "full": "full(COUNT, VALUE[, TYPE])",
    "noinit": "noinit(COUNT[, TYPE])",
}
_BUFFER_HINT = (
    "a buffer is zeros(COUNT), arange(COUNT), @FILE.npy or [1, 2, 3]; an address is written in hex, and null as 0"
)
_NOT_FINITE = re.compile(r'"(?:[^"\\]|\\.)*"|([+-]?)\b(nan|inf)\b', re.IGNORECASE)
INTEGER = re.compile(r"[+-]?(?:0[xX][0-9a-fA-F]+|\d+)", re.ASCII)
_WORDS = {"true": True, "false": False, "null": 0, "nullptr": 0, "inf": float("inf"), "nan": float("nan")}
_NAMES = {
    "bool": "u1", "char": "i1", "uchar": "u1", "short": "i2", "ushort": "u2", "int": "i4", "uint": "u4", "long": "i8",
    "ulong": "u8", "half": "f2", "float": "f4", "double": "f8", "size_t": "u8", "signed char": "i1",
    "unsigned char": "u1", "unsigned short": "u2", "unsigned int": "u4", "unsigned long": "u8", "long long": "i8",
    "unsigned long long": "u8", "_Float16": "f2",
    **{f"int{bits}": f"i{bits // 8}" for bits in (8, 16, 32, 64)},
    **{f"uint{bits}": f"u{bits // 8}" for bits in (8, 16, 32, 64)},
    **{f"float{bits}": f"f{bits // 8}" for bits in (16, 32, 64)},
}  # fmt: skip
_CODES = frozenset(_NAMES.values())
_POINTED = re.compile(r"(?:(?:const|volatile|restrict|__global|__constant|__local) )*(.*?)\s*(?:\*.*)?")
_VECTOR = re.compile(r"(u?(?:char|short|int|long)|half|float|double)(2|3|4|8|16)")


class BitPattern(int):
    """A number in hex, which is a value, or the bits of one: 0xffffffff is -1 of an ``int``."""


def integer_of(text: str) -> int:
    """Return the number that is written, in hex as a pattern."""
    return BitPattern(text, 16) if "x" in text.lower() else int(text)


def is_written(text: str) -> bool:
    """Return whether a text is a value of its own kind: a file, a function or JSON."""
    is_call = _CALL.fullmatch(text) is not None or is_image_or_sampler(text)
    return text[:1] in ("@", "{", "[") or is_call or text in _WORDS


# --- What an argument is ------------------------------------------------------------------------------------------


@frozen
class ArgumentPath:
    """An argument, or a part of it such as ``view.data``, as messages name it."""

    path: str
    kernel: str
    type: str | None = None
    """That of the argument, as far as it is known."""

    def __str__(self) -> str:
        return f"argument {self.path}{f' ({self.type})' if self.type else ''} of {self.kernel}"

    def part(self, text: str) -> ArgumentPath:
        """Return a member, such as ``.data``, or an element, such as ``[2]``."""
        return ArgumentPath(self.path + text, self.kernel)


@frozen
class ArgumentType:
    """What is known of the type of an argument."""

    text: str | None
    """As the source writes it, as far as that is known."""
    is_pointer: bool
    type: Any = None

    @property
    def object_type(self) -> Any:
        """The type of the argument, of a pointer that of what it points to; None where it is not known."""
        if self.type is None:
            return None
        kind = resolved(self.type)
        return kind.target if self.is_pointer and isinstance(kind, t.Pointer) else self.type

    @property
    def is_boolean(self) -> bool:
        """Whether an object is 0 or 1."""
        scalar = None if self.object_type is None else scalar_of(self.object_type)
        return scalar is not None and scalar.kind == "boolean"

    @property
    def element(self) -> str | None:
        """The numbers that an object is made of, as numpy writes their type; None where that is not known."""
        kind = self.object_type
        if kind is not None:
            kind = resolved(kind)
            while isinstance(kind, t.Array):
                kind = resolved(kind.element)
            code = _code_of(kind)
            if code is not None or not isinstance(kind, t.Void):
                return code
        vector = _VECTOR.fullmatch(self._pointed)
        return _NAMES.get(vector[1] if vector else self._pointed)

    @property
    def _pointed(self) -> str:
        """The name of what is pointed to."""
        match = _POINTED.fullmatch(self.text or "")
        return match[1] if match else ""

    @property
    def numbers(self) -> int:
        """How many numbers of the type `element` an object has: a vector or an array more than one."""
        kind, element = self.object_type, self.element
        if kind is not None and not isinstance(resolved(kind), t.Void):
            return max(1, (known_size(kind) or 0) // int(element[1:])) if element else 1
        vector = _VECTOR.fullmatch(self._pointed)
        return {"3": 4}.get(vector[2], int(vector[2])) if vector else 1  # a vector of 3 has the size of one of 4

    @property
    def record(self) -> Any:
        """The type of numpy of a structure that is pointed to; None of anything else, and where numpy has no type.

        HIP's vectors are structures whose numbers are in one without a name; they count as numbers.
        """
        kind = resolved(self.object_type) if self.structure_size else None
        if not isinstance(kind, t.Struct) or not all(member.name for member in kind.body.members):
            return None
        found = dtype_of(kind, "little")
        return None if found.names is None else found

    @property
    def structure_size(self) -> int:
        """The bytes of a structure that is pointed to; 0 of anything else."""
        kind = self.object_type if self.is_pointer else None
        return (known_size(kind) or 0) if kind is not None and isinstance(resolved(kind), t.Struct) else 0


def _code_of(kind: t.Type) -> str | None:
    try:
        scalar = scalar_of(kind.element if isinstance(kind, t.Base) and kind.vector_size else kind)
    except DwarfGpuError:
        return None
    if scalar is None or scalar.kind == "bytes" or scalar.storage_bits not in (8, 16, 32, 64):
        return None
    if isinstance(kind, t.Base) and not _has_own_size(kind):
        return _NAMES.get(kind.name)  # the compiled code knows the type by its name, whatever the entry says
    if isinstance(kind, t.Base) and "bf" in kind.name:
        return None
    letter = "f" if scalar.layout is not None else "i" if scalar.is_signed else "u"
    return f"{letter}{scalar.storage_bits // 8}"


def _has_own_size(kind: t.Base) -> bool:
    """Return whether a base type has the size that its name says; the values of another one are not known."""
    return kind.vector_size is not None or has_usual_size(kind.name, kind.encoding, kind.byte_size or 0, is_c=True)


# --- Objects ------------------------------------------------------------------------------------------------------


def converted(
    value: Any, argument: ArgumentType, what: ArgumentPath, read: Callable[[str], bytes], point: Pointing | None = None
) -> Any:
    """Return a value as a number, bytes or an array.

    ``what`` is the argument in messages, ``read`` reads a file, and ``point`` is what `encoded` takes.
    """
    if isinstance(value, str):
        value = _read(value.strip(), argument, what, read)
    kind = None if argument.is_pointer or argument.type is None else resolved(argument.type)
    if isinstance(kind, t.Struct) and isinstance(value, (int, float)):
        return encoded(value, argument.type, what)  # it says what the structure has
    if isinstance(value, dict) or (isinstance(value, (list, tuple)) and not hasattr(value, "dtype")):
        return _structured(value, argument, what, point)
    _check_element(value, argument, what)
    kind = getattr(value, "dtype", None)
    return value if kind is None else value.astype(kind.newbyteorder("<"), copy=False)


def _check_element(value: Any, argument: ArgumentType, what: ArgumentPath) -> None:
    """Refuse an array of other numbers than a pointer points to."""
    kind = getattr(value, "dtype", None)
    if kind is None or not argument.is_pointer or getattr(value, "shape", ()) == ():
        return
    wanted = argument.element
    if wanted is None or kind.kind not in "iufb":
        return
    if kind.itemsize != int(wanted[1:]) or (kind.kind == "f") is not (wanted[0] == "f"):
        names = {"i": "int", "u": "uint", "f": "float"}
        meant = f"{names[wanted[0]]}{8 * int(wanted[1:])}"
        hint = f"convert it with array.astype(numpy.{meant}); bytearray(array) gives its bytes as they are"
        raise UsageError(f"{what} points to {meant} numbers, and the array has {kind.name}", hint=hint)


def _read(text: str, argument: ArgumentType, what: ArgumentPath, read: Callable[[str], bytes]) -> Any:
    if text.startswith("@") and text.endswith(".json"):
        return _json(read(text[1:]).decode(errors="replace"), what)
    if text.startswith("@"):
        return _of_file(text[1:], argument, what, read)
    call = _CALL.fullmatch(text)
    if call:
        return _made(call[1], call[2], argument, what)
    if text[:1] in ("{", "["):
        return _json(text, what)
    if text in _WORDS:
        return _WORDS[text]
    match = re.fullmatch(r"bytes:((?:[0-9a-fA-F]{2})*)", text)
    if match:
        return bytes.fromhex(match[1])
    if INTEGER.fullmatch(text) and len(text) < 400:
        number = integer_of(text)
        if argument.is_pointer and number and not isinstance(number, BitPattern):
            raise UsageError(f"{what} is a pointer, not the number {text[:40]}", hint=_BUFFER_HINT)
        return number
    try:
        return float(text)
    except ValueError:
        pass
    kind = None if argument.is_pointer or argument.type is None else resolved(argument.type)
    if isinstance(kind, t.Enumeration):
        known = {each.name: each.value for each in kind.enumerators}
        name = text.rpartition("::")[2]
        if name in known:
            return known[name]
        hint = nearest_hint(name, known, f"it has {', '.join([*known][:12])}")
        raise UsageError(f"{what} is an enumeration without {text[:40]}", hint=hint)
    noun = "a pointer" if argument.is_pointer else "a number or a structure"
    raise UsageError(f"{what} is {noun}, not the text {text[:40]!r}", hint=form_hint(text))


def form_hint(text: str) -> str:
    """Return how values are written, for a text that is not one."""
    if os.path.isfile(text):  # the text may be no path
        return f"`@{text}` reads the file"
    function = re.match(r"(\w+)\(", text)
    near = nearest(function[1], _FUNCTIONS) if function else None
    if near:
        return f"did you mean {_FUNCTIONS[near]}?"
    if text.startswith("image("):
        return f"an argument of type image2d_t and so on is {FORM}"
    forms = "bytes:0a0b, @FILE.npy, zeros(COUNT, TYPE), ones, arange, random, full, noinit, or JSON such as [1, 2]"
    return f"write a number, such as 5, 0x10 or 1.5, or {forms}"


def _not_finite(match: re.Match[str]) -> str:
    """Return a number that is not finite as `json` reads it; texts stay as they are."""
    if match[2] is None:
        return match[0]
    return "NaN" if match[2].lower() == "nan" else f"{match[1].strip('+')}Infinity"


def _json(text: str, what: ArgumentPath) -> Any:
    try:
        return json.loads(_NOT_FINITE.sub(_not_finite, text))
    except (ValueError, RecursionError) as error:
        hint = 'write names and texts in double quotes: {"n": 5, "data": "zeros(8)"}'
        raise UsageError(f"{what}: {text[:40]!r} is not JSON ({error})", hint=hint) from None


def _of_file(path: str, argument: ArgumentType, what: ArgumentPath, read: Callable[[str], bytes]) -> Any:
    import io

    import numpy as np

    data = read(path)
    if data[:6] != b"\x93NUMPY":
        if path.endswith(".npy"):
            raise UsageError(f"{what}: {path} is not a file of numpy")
        kind = np.dtype(argument.record or argument.element or np.uint8)
        return bytearray(data) if len(data) % kind.itemsize else np.frombuffer(data, kind)
    try:
        return np.load(io.BytesIO(data), allow_pickle=False)
    except (ValueError, EOFError, OSError, SyntaxError) as error:
        raise UsageError(f"{what}: {path} cannot be read: {error}") from None


def _made(function: str, text: str, argument: ArgumentType, what: ArgumentPath) -> Any:
    import numpy as np

    words = [word.strip() for word in text.split(",")] if text.strip() else []
    least, most = {"random": (1, 3), "full": (2, 3)}.get(function, (1, 2))
    if not least <= len(words) <= most:
        raise UsageError(f"{what}: {function} takes other values", hint=f"write {_FUNCTIONS[function]}")
    count, at = _count(words[0], what), 2 if function == "full" else 1
    fills = function not in ("zeros", "noinit")
    code, number = (_code(words[at], what), 1) if len(words) > at else _filled(argument, fills=fills)
    count *= number
    if fills and argument.structure_size and not isinstance(code, str):
        hint = f"write [{_example(argument.object_type)}], or zeros(COUNT) for so many of them"
        raise UsageError(f"{what}: {function} cannot make structures", hint=hint)
    if code is None:
        if argument.type is not None and isinstance(resolved(argument.type), t.Struct):
            raise UsageError(f"{what} is a structure, not a buffer", hint=f"write {_example(argument.type)}")
        raise UsageError(f"{what}: the type of its numbers is not known", hint=f"write it: {_FUNCTIONS[function]}")
    size = count * np.dtype(code).itemsize
    if size > MAX_BYTES:
        raise UsageError(f"{what}: {size} bytes are too many", hint=f"a buffer has at most {MAX_BYTES}")
    if function == "random":
        seed = _count(words[2], what) if len(words) > 2 else 0
        random, numbers = np.random.default_rng(seed), np.empty(count, code)
        for first in range(0, count, AT_ONCE):  # between two parts ^C is heard
            part = numbers[first : first + AT_ONCE]
            if code[0] == "f":
                part[:] = random.random(len(part))
            else:
                limits = np.iinfo(code)
                most = 1 if argument.is_boolean else limits.max
                part[:] = random.integers(limits.min, most, len(part), dtype=code, endpoint=True)
        return numbers
    if function == "arange":
        return np.arange(count).astype(code)
    if function == "noinit":
        kind = np.dtype(code, metadata={_WITHOUT_CONTENTS: True})
        return np.full(count * kind.itemsize, UNWRITTEN, np.uint8).view(kind)
    if function == "full":
        return np.full(count, _number(words[1], code, what), code)
    return np.zeros(count, code) if function == "zeros" else np.ones(count, code)


def _filled(argument: ArgumentType, *, fills: bool) -> tuple[Any, int]:
    """Return the type of the numbers that an object pointed to gets, or of itself, and how many it has.

    ``fills`` is whether they are other numbers than 0.
    """
    size = argument.structure_size
    if not size:
        return argument.element, argument.numbers
    record = argument.record
    number = _only_number(argument.object_type) if fills or record is None else None
    if number is not None:
        return number, size // int(number[1:])
    return (record, 1) if record is not None or fills else ("u1", size)


def _only_number(kind: t.Type, depth: int = 0) -> str | None:
    """Return the numbers that an object is made of if all have one type, as those of a vector of HIP; else None."""
    inner = resolved(kind)
    if isinstance(inner, t.Array):
        return _only_number(inner.element, depth + 1) if depth < MAX_DEPTH else None
    if not isinstance(inner, t.Struct) or depth >= MAX_DEPTH:
        return _code_of(inner)
    parts = [each.type for each in (*inner.body.bases, *inner.body.members)]
    codes, sizes = {_only_number(part, depth + 1) for part in parts}, [known_size(part) or 0 for part in parts]
    is_full = known_size(inner) == (max(sizes, default=0) if inner.kind == "union" else sum(sizes))
    return codes.pop() if is_full and len(codes) == 1 else None


def is_without_contents(value: Any) -> bool:
    """Return whether a value is an array of ``noinit``."""
    return _WITHOUT_CONTENTS in (getattr(getattr(value, "dtype", None), "metadata", None) or ())


def _count(text: str, what: ArgumentPath) -> int:
    if not re.fullmatch(r"\d{1,18}|0[xX][0-9a-fA-F]{1,15}", text, re.ASCII):
        raise UsageError(f"{what}: {text[:40]!r} is not a count", hint="write a number such as 1024")
    return int(text, 0) if "x" in text.lower() else int(text)


def _code(text: str, what: ArgumentPath) -> str:
    code = _NAMES.get(text, text)
    if code not in _CODES:
        forms = "write f4, i4, u8, float, uint and so on, or none: then it is that of the argument"
        hint = nearest_hint(text, (*_NAMES, *_CODES), forms)
        raise UsageError(f"{what}: there is no type {text[:40]!r}", hint=hint)
    return code


def _number(text: str, code: str, what: ArgumentPath) -> Any:
    try:
        number: Any = int(text, 0) if INTEGER.fullmatch(text) else float(text)
    except ValueError:
        raise UsageError(f"{what}: {text[:40]!r} is not a number") from None
    if code[0] != "f":
        bits = 8 * int(code[1:])
        low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if code[0] == "i" else (0, (1 << bits) - 1)
        if not math.isfinite(number) or number != int(number) or not low <= number <= high:
            raise UsageError(f"{what}: {text[:40]} does not fit {code}")
        return int(number)
    return number


@frozen
class PlannedBuffer:
    """The memory of an argument."""

    name: str
    position: int | None
    """That of the argument that points to it; None where a structure does."""
    address: int
    size: int
    form: tuple[Any, tuple[int, ...]]
    """The type of its numbers, of numpy or as numpy writes it, and its shape."""
    padding: int
    """The bytes before and behind it that have no memory."""
    has_contents: bool = True
    """Whether a kernel finds something there that has been written."""
    pointed: t.Type | None = None
    """The type of its elements, where that is known."""
    order: str | None = None
    """What the channels of an image are."""


def array_at(memory: Memories, buffer: PlannedBuffer) -> Any:
    """Return the memory of an argument as an array, which is the memory itself."""
    import numpy as np

    code, shape = buffer.form
    if not buffer.size:
        return np.empty(shape or 0, code)
    array = np.frombuffer(memory.writable(buffer.address, buffer.size), code)
    return array.reshape(shape) if shape else array


def objects_of(array: Any, pointed: t.Type | None) -> Any:
    """Return the elements of a buffer; of vectors, or other objects of several numbers, a row for each."""
    size = pointed and known_size(pointed)
    flat = array.reshape(-1)
    if not size or size <= array.itemsize or size % array.itemsize or array.nbytes % size:
        return flat
    return flat.reshape(-1, size // array.itemsize)[:, : components(pointed)]


def components(pointed: t.Type | None) -> int | None:
    """Return how many numbers a vector of 3 has, which takes the room of 4; None of anything else."""
    kind = None if pointed is None else resolved(pointed)
    is_padded = isinstance(kind, t.Array) and kind.is_vector and kind.dimensions[0].length == 3
    return 3 if is_padded else None


# --- Structures ---------------------------------------------------------------------------------------------------


Pointing = Callable[[Any, t.Pointer, ArgumentPath], int]
"""Returns the address that a pointer in a structure gets: what it is given, its type, and what it is in messages."""


def _structured(value: Any, argument: ArgumentType, what: ArgumentPath, point: Pointing | None) -> Any:
    """Return the bytes of an object that a dictionary or a list describes; of a pointer those it points to."""
    kind = argument.object_type
    if kind is None or isinstance(resolved(kind), t.Void):
        return _list_of_numbers(value, argument, what)
    if not argument.is_pointer:
        return encoded(value, kind, what, point)
    is_row = isinstance(value, (list, tuple))
    named = [(what.part(f"[{index}]"), element) for index, element in enumerate(value)] if is_row else [(what, value)]
    known: dict[int, bytes] = {}  # an element that is there several times is encoded once, and so is its memory
    data = b"".join(
        known.get(id(element)) or known.setdefault(id(element), encoded(element, kind, name, point))
        for name, element in named
    )
    code = argument.record or argument.element or _only_number(kind)
    if code is None or isinstance(resolved(kind), t.Array):
        return bytearray(data)
    import numpy as np

    return np.frombuffer(data, code)


def _list_of_numbers(value: Any, argument: ArgumentType, what: ArgumentPath) -> Any:
    code = argument.element
    if isinstance(value, dict) or code is None:
        message = f"{what}: the layout of its type is not known"
        raise UsageError(message, hint="compile with -g, or give an array or bytes:0a0b")
    import numpy as np

    numbers = [_number(str(item), code, what) for item in value]
    array = np.array(numbers, code)
    return array if argument.is_pointer else array.tobytes()


def encoded(value: Any, type: t.Type, what: ArgumentPath, point: Pointing | None = None, depth: int = 0) -> bytes:
    """Return the bytes of an object of a type, given as numbers, lists and dictionaries.

    ``point`` gives memory to what pointers in it point to; without it they are addresses.
    """
    if depth > MAX_DEPTH:
        raise UsageError(f"{what} is nested too deep")
    kind = resolved(type)
    size = byte_size(kind)
    if size > MAX_BYTES:
        raise UsageError(f"{what}: {size} bytes are too many", hint=f"a buffer has at most {MAX_BYTES}")
    if isinstance(kind, t.Struct):
        return _structure(value, type, kind, what, point, depth)
    vector = kind.vector_size if isinstance(kind, t.Base) else None
    if isinstance(kind, t.Array) or vector:
        return _array(value, kind, vector, size, what, point, depth)
    if isinstance(kind, t.Pointer) and point is not None:
        return point(value, kind, what).to_bytes(size, "little")
    half = complex_parts(kind, "little") if isinstance(kind, t.Base) else None
    if half is not None:
        pair = value if isinstance(value, (list, tuple)) else [getattr(value, "real", value), getattr(value, "imag", 0)]
        if len(pair) != 2:
            raise UsageError(f"{what} is {safe_text(type)}", hint="write the real and the imaginary part: [1, 0.5]")
        return b"".join(_scalar(part, kind, half, what).to_bytes(size // 2, "little") for part in pair)
    scalar = scalar_of(kind)
    if scalar is None:
        raise UsageError(f"{what} is {safe_text(type)}, which has no form here", hint="give bytes:0a0b")
    return _scalar(value, kind, scalar, what).to_bytes(size, "little")


def _structure(
    value: Any, type: t.Type, kind: t.Struct, what: ArgumentPath, point: Pointing | None, depth: int
) -> bytes:
    members = [*t.named_members(kind.body.members)]
    if kind.body.bases or kind.body.variant_parts or any(member.bit_offset is None for member in kind.body.members):
        raise UsageError(f"{what} is {safe_text(type)}, which cannot be written as JSON", hint="give bytes:0a0b")
    names = [member.name or "" for member in members]
    if isinstance(value, (list, tuple)) and kind.kind != "union":
        if len(value) != len(members):
            raise UsageError(
                f"{what} has {len(members)} members, and {len(value)} values are given", hint=_members(kind)
            )
        value = dict(zip(names, value, strict=True))
    if not isinstance(value, dict):
        raise UsageError(f"{what} is {safe_text(type)}, not {value!r:.40}", hint=f"write {_example(kind)}")
    for name in value:
        if name not in names:
            raise UsageError(f"{what} has no member {name!r}", hint=nearest_hint(str(name), names, _members(kind)))
    missing = [name for name in names if name not in value]
    if kind.kind == "union":
        if len(value) != 1:
            raise UsageError(f"{what} is a union: give one of its members", hint=_members(kind))
    elif missing:
        raise UsageError(f"{what} lacks {', '.join(missing[:6])}", hint=_members(kind))
    bits = 0
    for member in members:
        if member.name not in value:
            continue
        where = what.part(f".{member.name}")
        if member.bit_size is not None:
            scalar = scalar_of(member.type, "little", member.bit_size)
            assert scalar is not None  # noqa: S101 (a bit-field is a scalar)
            part = _scalar(value[member.name], resolved(member.type), scalar, where)
        else:
            part = int.from_bytes(encoded(value[member.name], member.type, where, point, depth + 1), "little")
        bits |= part << (member.bit_offset or 0)
    return bits.to_bytes(byte_size(kind), "little")


def _members(kind: t.Struct) -> str:
    names = [f"{safe_text(member.type)} {member.name}" for member in t.named_members(kind.body.members)]
    return f"it has {', '.join(names[:12])}{', ...' if len(names) > 12 else ''}"


def _example(type: Any, depth: int = 0) -> str:
    """Return how an object of a type is written as JSON."""
    kind = resolved(type)
    if isinstance(kind, t.Pointer):
        return '"zeros(8)"'
    if is_text(kind):
        return '"text"'
    if isinstance(kind, t.Array) or (isinstance(kind, t.Base) and kind.vector_size):
        return "[0, ...]"
    if not isinstance(kind, t.Struct) or depth > MAX_DEPTH:
        return "0"
    members = [*t.named_members(kind.body.members)][: 1 if kind.kind == "union" else None]
    return f"{{{', '.join(f'{json.dumps(member.name)}: {_example(member.type, depth + 1)}' for member in members)}}}"


def _array(
    value: Any, kind: Any, vector: int | None, size: int, what: ArgumentPath, point: Pointing | None, depth: int
) -> bytes:
    if isinstance(kind, t.Array):
        lengths = [dimension.length for dimension in kind.dimensions]
        count = lengths[0] if lengths and lengths[0] is not None else 0
        inner: t.Type = kind.element
        if len(kind.dimensions) > 1:
            from dwarfgpu.immutable import evolve

            inner = evolve(kind, dimensions=kind.dimensions[1:], byte_size=None)
            step = byte_size(inner)
        else:
            step = (element_bits(kind) or 0) // 8
    else:
        count, inner = vector or 0, kind.element
        step = known_size(inner) or 0
    tolist = getattr(value, "tolist", None)
    value = tolist() if tolist is not None else value
    if isinstance(value, str) and is_text(kind):
        text = value.encode()
        if len(text) > count:
            raise UsageError(f"{what} has {count} characters, and the text has {len(text)}")
        return text.ljust(size, b"\0")
    if isinstance(value, str) or not isinstance(value, (list, tuple)) or len(value) != count:
        given = f"{len(value)} are given" if isinstance(value, (list, tuple)) else f"{value!r:.40} is given"
        raise UsageError(f"{what} has {count} elements, and {given}", hint="write a list: [1, 2, 3]")
    data = b"".join(
        encoded(element, inner, what.part(f"[{index}]"), point, depth + 1).ljust(step, b"\0")
        for index, element in enumerate(value)
    )
    return data.ljust(size, b"\0")


def is_text(kind: t.Type) -> bool:
    """Return whether a type is an array of characters, which a text can fill."""
    array = resolved(kind)
    inner = resolved(array.element) if isinstance(array, t.Array) and not array.is_vector else None
    is_row = isinstance(array, t.Array) and len(array.dimensions) == 1
    return is_row and isinstance(inner, t.Base) and inner.name == "char" and known_size(inner) == 1


def _scalar(value: Any, kind: t.Type, scalar: Scalar, what: ArgumentPath) -> int:
    if isinstance(value, str):
        known = {each.name: each.value for each in kind.enumerators} if isinstance(kind, t.Enumeration) else {}
        if value in known:
            value = known[value]
        elif len(value) == 1 and scalar.kind == "character":
            value = ord(value)
        elif value in _WORDS:
            value = _WORDS[value]
        elif INTEGER.fullmatch(value) and len(value) < 400:
            value = integer_of(value)
        else:
            raise UsageError(f"{what} is {safe_text(kind)}, not {value[:40]!r}", hint=nearest_hint(value, known))
    item = getattr(value, "item", None)
    value = 0 if value is None and scalar.kind == "pointer" else item() if item is not None else value
    if not isinstance(value, (int, float)):
        raise UsageError(f"{what} is {safe_text(kind)}, not {value!r:.40}")
    if scalar.layout is not None:
        pattern = int(scalar.layout.encode(float(value) if abs(value) < 1 << 1000 else value))
        if scalar.layout.kind(pattern) == "infinite" and abs(value) != math.inf:
            size = scalar.storage_bits // 8
            raise UsageError(f"{what} is a float of {size} bytes, which the number does not fit")
        return scalar.stored(pattern, "little")
    if not math.isfinite(value) or value != int(value):
        raise UsageError(f"{what} is {safe_text(kind)}, an integer, not {value!r}")
    value, bits = int(value != 0 if scalar.kind == "boolean" else value), scalar.bits
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if scalar.is_signed else (0, (1 << bits) - 1)
    if not low <= value <= high:
        raise UsageError(f"{what} is {safe_text(kind)}, which {str(value)[:40]} does not fit")
    return scalar.stored(value & ((1 << bits) - 1), "little")
