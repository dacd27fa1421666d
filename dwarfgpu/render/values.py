"""Values as text, as GDB writes them, and as JSON, with exact numbers or the reason why there is no value."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from dwarfgpu import budget
from dwarfgpu.errors import DwarfGpuError, EvaluationError, UsageError
from dwarfgpu.expr.floats import DOUBLE, SINGLE, X87, FloatFormat, as_float
from dwarfgpu.immutable import evolve, field, frozen
from dwarfgpu.program.types import model
from dwarfgpu.program.types.declaration import BROKEN_TYPE, Declarer, safe_text, type_text
from dwarfgpu.program.types.model import hidden, known_size, resolved, stripped
from dwarfgpu.program.types.reader import speaks_cplus
from dwarfgpu.program.values.objects import HIP_VECTOR, MAX_READ, Elements
from dwarfgpu.program.values.scalars import Scalar, character_prefix
from dwarfgpu.program.values.storage import Address, ObjectPlace, Reading
from dwarfgpu.render.layout import cut, problem_json, shortened
from dwarfgpu.targets.amdgpu.address_spaces import space_numbered

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from fractions import Fraction

    from dwarfgpu.encoding import ByteOrder
    from dwarfgpu.expr.floats import Number
    from dwarfgpu.program.frames.reasons import Reason
    from dwarfgpu.program.values.objects import Object
    from dwarfgpu.program.values.standard_library import Contents


OPTIMIZED_OUT = "<optimized out>"
_WHOLE = frozenset("xduotz")
"""The formats that show the bits of an object, whatever its type."""


OTHER_LAYOUT = ("no_member", "not_a_pointer", "not_a_scalar", "undefined_read")
"""The kinds of errors of an object of the standard library whose members are others than those that are known, or have
no value."""
MAX_PARTS = 20_000
"""How many members and elements of one value are shown: a small file can describe very many."""


def _name_of_amdgpu(number: int) -> str | None:
    space = space_numbered(number)
    return None if space is None else space.name


@frozen
class Look:
    """The settings for showing values."""

    letter: str | None = None
    """One of the letters of ``print/x``."""
    elements: int = 200
    """How many elements of arrays and characters of strings are shown."""
    repeats: int = 10
    """Longer runs of one element are folded."""
    parts: int = MAX_PARTS
    """How many members and elements of a value are shown, those of all structures and arrays counted."""
    depth: int = 20
    """How deep structures and arrays are shown."""
    static_members: bool = True
    is_raw: bool = False
    """Whether objects of the standard library are shown as they are stored, not as what they contain."""
    is_pretty: bool = False
    """Whether each member of a structure is on a line of its own."""
    symbol: Callable[[Address], str | None] | None = None
    """The symbol at an address, as ``name+offset``."""
    space_name: Callable[[int], str | None] = _name_of_amdgpu
    """Returns the name of an address space that is not the default one."""
    printer: Callable[[Object, Look, int], str | None] | None = None
    """Writes a value at some depth as the debugger around would; None for a value that is written here."""

    def quoted(self, codes: Sequence[int], size: int, prefix: str, *, is_cut: bool = False) -> str:
        """Return characters of a size as a string."""
        return string(codes, size, prefix, limit=self.elements, threshold=self.repeats, is_cut=is_cut)


PLAIN = Look()


def launched_note(reason: Reason, look: Look = PLAIN) -> str:
    """Return `` (launched with 64)`` for a parameter of a kernel; nothing where the launch is not known."""
    found = None if reason.launched is None else reason.launched()
    if found is None:
        return ""
    return f" (launched with {cut(ValueWriter(evolve(look, is_pretty=False), is_cplus=False).text(found, 0))})"


def value_text(value: Object, look: Look = PLAIN) -> str:
    """Return a value by itself: a pointer with its type, a reference with the value it refers to."""
    return ValueWriter(look, is_cplus=speaks_cplus(value.type)).top(value)


def value_line(value: Object, longest: int, look: Look = PLAIN) -> str:
    """Return a value on one line, cut where it is too long; or the error of a value that has no text."""
    try:
        return shortened(" ".join(value_text(value, look).split()), longest)
    except DwarfGpuError as error:
        return f"<{error.what}>"


def flags_text(pattern: int, type: model.Base) -> str:
    """Return the flags that are set: ``[ ZF PF ]``."""
    return f"[ {''.join(f'{name} ' for name, bit in type.flags if name and pattern >> bit & 1)}]"


class BasesShown:
    """The base classes of an answer by their places: a base that inheritance leads to twice is shown once."""

    def __init__(self) -> None:
        self._known: set[tuple[object, int, int]] = set()

    def has(self, value: Object, base: model.BaseClass) -> bool:
        """Return whether a base was there before, and remember it."""
        if base.location is not None:
            return False
        inner = stripped(base.type)
        die = getattr(inner, "die", None)
        place = value.place.moved(base.bit_offset or 0)
        key = id(inner) if die is None else die, id(place.storage), place.bit_offset
        is_known = key in self._known
        self._known.add(key)
        return is_known


class ValueWriter:
    """Writes values, or the reason why a value cannot be read or does not exist."""

    def __init__(self, look: Look, *, is_cplus: bool) -> None:
        self.look = look
        self.is_cplus = is_cplus
        self.left = look.parts
        """How many members and elements may still be shown."""
        self.unnamed = 0
        """How many members without a name are around the current value."""
        self.shown_bases: list[Any] = []
        """The virtual bases that have been shown: each is shown once."""
        self.shown_statics: list[Any] = []
        self.bases = BasesShown()
        check_format(look.letter)

    def takes(self) -> bool:
        """Count a member or an element; return whether it may be shown."""
        self.left -= 1
        return self.left >= 0 and budget.take(12)

    # --- Values of any type ---------------------------------------------------------------------------------------

    def top(self, value: Object) -> str:
        """Return a value by itself, not inside another one."""
        try:
            return self._top(value)
        except DwarfGpuError as error:
            return problem(error)

    def _top(self, value: Object) -> str:
        inner = resolved(value.type)
        letter = self.look.letter
        plain = letter in (None, "s", "r")
        if isinstance(inner, model.Pointer) and (plain or inner.is_reference):
            text = self.text(value, 0, is_top=True)
            if text.startswith("<") or (not inner.is_reference and self._is_string(value.type, inner)):
                return text
            if inner.is_reference and not text.startswith("@"):  # what an object contains is shown without its address
                return text
            return f"({self._type(value.type)}) {text}"
        if isinstance(inner, model.MemberPointer):
            return member_pointer_text(self, value, inner, is_top=True)
        if letter is not None and letter in _WHOLE and value.parts() is not None:
            # a complex number by itself is one number to these letters, one in a structure is two
            reading = value.read()
            if not reading.undefined:
                return formatted(int(reading.bits), value.bits(), letter, is_signed=False, layout=None)
        return self.text(value, 0)

    def _type(self, type: model.Type) -> str:
        return type_text(type, is_cplus=self.is_cplus)

    @staticmethod
    def _is_string(kind: model.Type, pointer: model.Pointer) -> bool:
        """Whether a pointer is shown as a string without its type; not if its type has a name."""
        while isinstance(kind, model.Qualified):
            kind = kind.target
        prefix = character_prefix(pointer.target)
        name = getattr(stripped(pointer.target), "name", "")
        return kind is pointer and prefix is not None and (bool(prefix) or name in ("char", "char8_t"))

    def text(self, value: Object, depth: int, *, is_top: bool = False) -> str:  # noqa: PLR0911 (a kind of value each)
        """Return a value inside another one, or by itself."""
        if self.look.printer is not None:
            text = self.look.printer(value, self.look, depth)
            if text is not None:
                return text
        inner = stripped(value.type)
        if hidden(value.type) is not None:
            value.place  # noqa: B018 (an object without data is an error as a whole)
        if isinstance(inner, model.Struct):
            if inner.is_incomplete:
                return "<incomplete type>"
            if is_standard(inner, self.look):
                text = self._contents(value, inner, depth)
                if text is not None:
                    return text
            return "{...}" if self._is_deep(depth) else self._struct(value, inner, depth)
        if isinstance(inner, model.Array) or (isinstance(inner, model.Base) and inner.vector_size is not None):
            return self._array(value, depth)
        if isinstance(inner, model.Pointer):
            return self._pointer(value, inner, depth, is_top=is_top)
        if isinstance(inner, model.MemberPointer):
            return member_pointer_text(self, value, inner, is_top=False)
        if isinstance(inner, model.Function):
            address = value.address
            where = "" if address is None else f" {self.address(address, symbol=True)}"
            return f"{{{self._type(value.type)}}}{where}"
        if isinstance(inner, model.String):
            return self._string(value)
        if isinstance(inner, model.Void):
            return "void"
        return self._scalar(value)

    def _is_deep(self, depth: int) -> bool:
        """Whether a structure or array is too deep to be shown; members without a name do not count."""
        return depth - self.unnamed >= self.look.depth

    def member(self, value: Object, depth: int) -> str:
        """Return a member or element, or the error in its place."""
        try:
            return self.text(value, depth)
        except DwarfGpuError as error:
            return problem(error)

    # --- Scalars --------------------------------------------------------------------------------------------------

    def _scalar(self, value: Object) -> str:
        parts = value.parts()
        if parts is not None:
            return self._complex(value, parts)
        scalar = value.scalar
        if scalar is None:
            return self._bytes(value)
        reading = value.pattern()
        if reading.undefined:
            return OPTIMIZED_OUT
        return self.number(int(reading.bits), scalar, value.type)

    def number(self, pattern: int, scalar: Scalar, type: model.Type) -> str:
        """Return the pattern of a scalar as text."""
        letter = self.look.letter
        width = scalar.bits
        inner = resolved(type)
        if letter is not None and letter not in "sr":
            size = known_size(inner)
            if scalar.layout is None and size is not None and size * 8 > width and not scalar.swapped:
                if scalar.is_signed:  # a bit-field is shown in the width of its type
                    pattern = signed(pattern, width) & ((1 << size * 8) - 1)
                width = size * 8
            if letter == "a":
                return self._as_address(pattern, width, scalar)
            if scalar.layout is not None:
                width = scalar.storage_bits
            return formatted(pattern, width, letter, is_signed=scalar.is_signed, layout=scalar.layout)
        number = signed(pattern, width) if scalar.is_signed else pattern
        if scalar.layout is not None:
            return float_text(pattern, scalar.layout)
        if isinstance(inner, model.Base) and inner.flags:
            return flags_text(pattern, inner)
        if scalar.scale is not None:
            return str(scalar.number(pattern))
        if scalar.kind == "boolean" and pattern <= 1:
            return "true" if pattern else "false"
        if isinstance(inner, model.Enumeration):
            return _enumeration(number, inner)
        prefix = character_prefix(type) if scalar.kind in ("character", "integer") else None
        if prefix is not None:
            size = known_size(inner) or 1
            return f"{number} {character(pattern, prefix, size)}"
        if scalar.kind == "pointer":
            space = inner.address_space if isinstance(inner, model.Base) else None
            return (
                "0" if isinstance(inner, model.UnspecifiedType) else self.address(Address(space, pattern), symbol=True)
            )
        return f"{pattern:#x}" if scalar.kind == "bytes" else "()" if is_unit(inner) else str(number)

    def _as_address(self, pattern: int, width: int, scalar: Scalar) -> str:
        if scalar.layout is not None:
            pattern = whole(scalar.layout.exact(pattern))
        elif scalar.is_signed:
            pattern = signed(pattern, width)
        return self.address(Address(None, pattern & ((1 << 64) - 1)), symbol=True)

    def _complex(self, value: Object, parts: tuple[Reading, Reading, Scalar]) -> str:
        real, imaginary, scalar = parts
        if real.undefined or imaginary.undefined:
            return OPTIMIZED_OUT
        shown = [self.number(int(reading.bits), scalar, value.type) for reading in (real, imaginary)]
        return f"{shown[0]} + {shown[1]}i"

    def _bytes(self, value: Object) -> str:
        """Return a value of a type that is not understood as its bits."""
        size = known_size(value.type)
        if size is None or size > MAX_READ:
            return "<a value of unknown form>"
        reading = value.place.read(8 * size)
        return OPTIMIZED_OUT if reading.undefined else f"{int(reading.bits):#x}"

    # --- Pointers -------------------------------------------------------------------------------------------------

    def address(self, address: Address, *, symbol: bool) -> str:
        """Return ``0x1000 <main+4>``, ``local#0x20``."""
        text = f"{self.space(address.space)}{address.value:#x}"
        if symbol and self.look.symbol is not None:
            name_there = self.look.symbol(address)
            if name_there is not None:
                return f"{text} <{name_there}>"
        return text

    def space(self, number: int | None) -> str:
        """Return ``local#``, what is before an address in an address space; nothing of the default one."""
        if not number:
            return ""
        return f"{self.look.space_name(number) or f'aspace{number}'}#"

    def _pointer(self, value: Object, type: model.Pointer, depth: int, *, is_top: bool) -> str:
        implied = value.implied()
        if implied is not None:
            shown = f": {self.member(implied, depth)}" if type.is_reference and is_top else ""
            return f"<synthetic pointer>{shown}"
        reading = value.pattern()
        if reading.undefined:
            return OPTIMIZED_OUT
        address = Address(type.address_space, reading.bits)
        letter = self.look.letter
        if type.is_reference:
            target = stripped(type.target)
            if isinstance(target, model.Struct) and is_standard(target, self.look):
                contents = self._contents(value.dereferenced(), target, depth)
                if contents is not None:
                    return contents
            text = f"@{self.address(address, symbol=False)}"
            if not is_top:
                return text
            return f"{text}: {self.member(value.dereferenced(), depth)}"
        if letter is not None and letter not in "sr":
            scalar = value.scalar
            assert scalar is not None  # noqa: S101 (a pointer is a scalar)
            if letter == "a":
                return self.address(address, symbol=True)
            # the formats of numbers keep the address space, as in ROCgdb: `print/d` of private_lane#0x10
            space = self.space(type.address_space) if letter in "xzdout" else ""
            return space + formatted(int(reading.bits), scalar.bits, letter, is_signed=False, layout=None)
        prefix = character_prefix(type.target)
        if prefix is None:
            return self.address(address, symbol=True)
        text = self.address(address, symbol=True)
        if reading.bits == type.null:
            return text
        return f"{text} {self.pointed_text(value, type)}"

    def pointed_text(self, value: Object, type: model.Pointer) -> str:
        """Return the string that a pointer leads to, as far as it can be read and the limit allows."""
        prefix = character_prefix(type.target) or ""
        size = known_size(type.target) or 1
        codes: list[int] = []
        limit, end = self.look.elements, "..."
        try:
            place = value.dereferenced().place
            while len(codes) <= limit:
                reading = place.moved(8 * size * len(codes)).read(8 * size)
                if reading.undefined:
                    raise EvaluationError("undefined_read", "the characters are optimized out")
                code = int(reading.bits)
                if not code:
                    end = ""
                    break
                codes.append(code)
        except DwarfGpuError as error:
            end = f"<error: {error.message}>"
            if not codes:
                return end
        return self.look.quoted(codes[:limit], size, prefix) + end

    # --- Strings and arrays ---------------------------------------------------------------------------------------

    def _string(self, value: Object) -> str:
        place, length = value.string()
        count = min(length, self.look.elements + 1, MAX_READ)
        reading = place.read(8 * count)
        if reading.undefined:
            return OPTIMIZED_OUT
        codes = codes_of(int(reading.bits), count, 1, place.storage.byte_order)
        return self.look.quoted(codes, 1, "", is_cut=length > count)

    def _array(self, value: Object, depth: int) -> str:
        elements = value.array()
        if elements.state is not None:
            return f"<{elements.state}>"
        if elements.is_open or not elements.length:  # a flexible array member is shown as what it decays to
            address = value.address
            return "{}" if address is None else self.address(address, symbol=True)
        if self.look.letter in (("s", "r") if elements.is_vector else (None, "s", "r")):
            text = characters_of(self.look, elements)
            if text is not None:
                return text
        return "{...}" if self._is_deep(depth) else f"{{{elements_text(self, elements, depth)}}}"

    # --- Structures -----------------------------------------------------------------------------------------------

    def _struct(self, value: Object, type: model.Struct, depth: int) -> str:
        size = known_size(type)
        if size is not None and 0 < size <= MAX_READ and self._is_gone(value):
            return OPTIMIZED_OUT
        body = type.body
        parts = [part for base in body.bases if self.takes() and (part := self._base(value, base, depth))]
        fields = []
        for entry in body.order:
            if not self.takes():
                fields.append("...")
                break
            if isinstance(entry, int):
                fields.append(self._field(value, body.members[entry], depth))
            elif self.look.static_members:
                fields.append(self._static(value, entry, depth))
        for variants in body.variant_parts:
            try:
                fields.extend(self._field(value, member, depth) for member in value.variant_members(variants))
            except DwarfGpuError as error:
                fields.append(problem(error))
        if not fields:
            fields = ["<No data fields>"]
        indent = "\n" + "  " * (depth + 1)
        is_empty = fields == ["<No data fields>"]
        if not self.look.is_pretty or is_empty:
            first = indent if self.look.is_pretty and parts else ""
            return f"{{{first}{f', {first}'.join(parts)}{', ' if parts else ''}{', '.join(fields)}}}"
        inside = f",{indent}".join(fields)
        if parts:  # the owner of the members is named, as those of bases begin at the same column
            inside = f"{f', {indent}'.join(parts)}, {indent}members of {type.name}:{indent}{inside}"
        return f"{{{indent}{inside}{indent[:-2]}}}"

    # --- Objects of the standard library --------------------------------------------------------------------------

    def _contents(self, value: Object, type: model.Struct, depth: int) -> str | None:
        """Return an object as what it contains; None if that is not known."""
        from dwarfgpu.program.values.standard_library import contents_of

        try:
            if self._is_gone(value):
                return None
            contents = contents_of(value, type)
            if contents is None:
                return None
            if contents.characters is not None:
                return self._characters(*contents.characters)
        except DwarfGpuError as error:
            if error.kind in OTHER_LAYOUT:
                return None
            raw = "{...}" if self._is_deep(depth) else self._struct(value, type, depth)
            return f"{raw} <shown as stored: {error.message}>"
        if not contents.count:
            return contents.summary
        if contents.hint == "value":
            return f"{contents.summary} = {{ {', '.join(self.member(part.value, 0) for part in contents.parts())} }}"
        parts = "{...}" if self._is_deep(depth) else self._parts(contents, depth)
        return f"{contents.summary} = {parts}" if contents.summary else parts

    def _characters(self, place: ObjectPlace, length: int, type: model.Type) -> str:
        size = known_size(type) or 1
        count = min(length, self.look.elements, MAX_READ // size)
        codes: list[int] = []
        if count:
            reading = place.read(8 * size * count)
            if reading.undefined:
                return OPTIMIZED_OUT
            codes = codes_of(int(reading.bits), count, size, place.storage.byte_order)
        return self.look.quoted(codes, size, character_prefix(type) or "", is_cut=length > count)

    def _parts(self, contents: Contents, depth: int) -> str:
        """Return the parts in braces."""
        shown: list[str] = []
        is_cut = False
        try:
            for part in contents.parts():
                if len(shown) >= self.look.elements or self.left <= 0:
                    is_cut = True
                    break
                self.left -= 1
                text = _part(self, part.value, depth, is_vector=contents.is_vector)
                shown.append(text if contents.hint == "array" else f"{part.name} = {text}")
        except DwarfGpuError as error:
            shown.append(problem(error))
        if self.look.is_pretty and contents.hint != "array":
            indent = "\n" + "  " * (depth + 1)
            return f"{{{indent}{f',{indent}'.join(shown)}{'...' if is_cut else ''}{indent[:-2]}}}"
        return f"{{{', '.join(shown)}{'...' if is_cut else ''}}}"

    @staticmethod
    def _is_gone(value: Object) -> bool:
        try:
            return value.is_undefined()
        except DwarfGpuError:
            return False

    def _base(self, value: Object, base: Any, depth: int) -> str:
        """Return a base class; a virtual base, and the same base at the same place, is shown only the first time."""
        if self.bases.has(value, base):
            return ""
        if base.is_virtual:
            key = getattr(stripped(base.type), "die", None)
            if key in self.shown_bases:
                return ""
            self.shown_bases.append(key)
        name = getattr(stripped(base.type), "name", None) or self._type(base.type)
        try:
            text = self.text(value.base(base), depth + 1)
        except DwarfGpuError as error:
            text = "<invalid address>" if base.is_virtual else problem(error)
        return f"<{name}> = {text}"

    def _field(self, value: Object, member: Any, depth: int) -> str:
        name = member.name
        self.unnamed += name is None
        try:
            if name is not None and name.startswith(("_vptr.", "_vptr$")):
                pointer = value.field(member)
                reading = pointer.pattern()
                address = Address(None, reading.bits)
                text = OPTIMIZED_OUT if reading.undefined else self.address(address, symbol=True)
            else:
                text = self.text(value.field(member), depth + 1)
        except DwarfGpuError as error:
            text = problem(error)
        finally:
            self.unnamed -= name is None
        return text if name is None else f"{name} = {text}"

    def _static(self, value: Object, name: str, depth: int) -> str:
        """Return a static member, unless static members of its class are being shown already."""
        inner = stripped(value.type)
        assert isinstance(inner, model.Struct)  # noqa: S101 (only structures have them)
        member = next(static for static in inner.body.statics if static.name == name)
        if member.die in self.shown_statics:
            return f"static {name} = <same as static member of an already seen type>"
        self.shown_statics.append(member.die)
        try:
            content = value.static(member)
            text = OPTIMIZED_OUT if content is None else self.text(content, depth + 1)
        except DwarfGpuError as error:
            text = problem(error)
        finally:
            self.shown_statics.remove(member.die)
        return f"static {name} = {text}"


def is_standard(type: model.Struct, look: Look) -> bool:
    """Return whether a type may be one of a library that is shown as what it contains."""
    name = type.name or ""
    return not look.is_raw and look.letter != "r" and (name.startswith("std::") or bool(HIP_VECTOR.fullmatch(name)))


def is_unit(type: model.Type) -> bool:
    """Return whether a type is ``()`` of Rust, which has one value and no bits."""
    return isinstance(type, model.Base) and type.name == "()" and not type.byte_size


def _enumeration(number: int, type: model.Enumeration) -> str:
    """Return the name of a value; if all names are single bits, the names of its bits."""
    names = type.enumerators
    for enumerator in names:
        if enumerator.value == number:
            return type.prefix + enumerator.name
    if not names or not all(
        enumerator.value >= 0 and enumerator.value & (enumerator.value - 1) == 0 for enumerator in names
    ):
        return str(number)
    rest, shown = number, []
    for enumerator in names:
        if rest & enumerator.value:
            rest &= ~enumerator.value
            shown.append(type.prefix + enumerator.name)
    if rest:
        shown.append(f"unknown: {rest:#x}")
    return f"({' | '.join(shown)})" if shown else "0"


def problem(error: DwarfGpuError) -> str:
    """Return the text shown in place of a value that cannot be read or does not exist."""
    if error.kind == "undefined_read":
        return OPTIMIZED_OUT
    if error.kind == "no_data":
        return f"<{error.message}>"
    return f"<error: {error.message}>"


# --- Elements of arrays -------------------------------------------------------------------------------------------

_BLOCK = 256
"""How many elements are read at once to find out whether they are alike."""
_LONGEST_RUN = 1 << 20
"""How many equal elements are counted; whether more follow is then not known."""


def elements_text(writer: ValueWriter, elements: Elements, depth: int) -> str:
    """Return the elements up to the limit; a folded run counts as ``repeats`` elements."""
    look = writer.look
    shown: list[str] = []
    index = counted = 0
    while index < elements.length and counted < look.elements and writer.takes():
        run = _run(elements, index)
        failing = 0 if run else _failing(elements, index, look.elements - counted)
        element = _element(writer, elements, index, depth)
        if max(run, failing) > look.repeats:
            is_cut = _LONGEST_RUN <= (run or failing) < elements.length - index
            shown.append(f"{element} <repeats {'at least ' if is_cut else ''}{run or failing} times>")
            if is_cut:  # what follows would be counted anew
                index += run or failing
                break
            index += run or failing
            counted += failing or look.repeats
        else:
            shown.append(element)
            index += 1
            counted += 1
    return ", ".join(shown) + ("..." if index < elements.length else "")


def characters_of(look: Look, elements: Elements) -> str | None:
    """Return an array of characters as a string; None for any other, or if a part has no value."""
    prefix = character_prefix(elements.element)
    size = known_size(elements.element)
    if prefix is None or not size or elements.stride != 8 * size:
        return None
    count = min(elements.length, MAX_READ // size)
    reading = elements.place.read(count * elements.stride)
    if reading.undefined:
        return None
    codes = codes_of(int(reading.bits), count, size, elements.place.storage.byte_order)
    if count == elements.length and not codes[-1]:
        codes.pop()
    return look.quoted(codes, size, prefix, is_cut=count < elements.length)


def _element(writer: ValueWriter, elements: Elements, index: int, depth: int) -> str:
    """Return one element."""
    return _part(writer, elements.at(index), depth, is_vector=elements.is_vector)


def _part(writer: ValueWriter, element: Object, depth: int, *, is_vector: bool) -> str:
    """Return a part of an array or an object; a character of a vector is a number."""
    if is_vector and writer.look.letter is None:
        scalar = element.scalar
        if scalar is not None and scalar.kind == "character" and not scalar.prefix:
            try:
                return str(element.number())
            except DwarfGpuError as error:
                return problem(error)
    return writer.member(element, depth + 1)


def _run(elements: Elements, index: int) -> int:
    """Count the elements from an index on that are stored alike; 0 if they cannot be read together."""
    size = elements.stride
    if not 0 < size <= 8 * MAX_READ:
        return 1
    place = elements.place
    alike = place.storage.alike_bits(place.bit_offset + index * size, (elements.length - index) * size, size)
    if alike >= size:
        return alike // size
    first: Reading | None = None
    end = index
    count = 8
    while end < elements.length and end - index < _LONGEST_RUN and budget.take(16):
        count = max(1, min(count * 4, _BLOCK, 8 * MAX_READ // size, elements.length - end))
        try:
            readings = list(_split(elements, end, count))
        except DwarfGpuError:
            return end - index
        for reading in readings:
            if first is None:
                first = reading
            elif reading != first:
                return end - index
            end += 1
    return end - index


def _failing(elements: Elements, index: int, limit: int) -> int:
    """Count the elements from an index on that fail in the same way."""
    kind = None
    for number in range(min(limit, elements.length - index)):
        if not budget.take(12):
            return number
        try:
            elements.place.moved((index + number) * elements.stride).read(elements.stride)
        except DwarfGpuError as error:
            kind = kind or error.kind
            if error.kind == kind:
                continue
        return number
    return min(limit, elements.length - index)


def _split(elements: Elements, index: int, count: int) -> Iterator[Reading]:
    """Yield the stored bits of elements, read at once."""
    place = elements.place.moved(index * elements.stride)
    size = elements.stride
    reading = place.read(count * size)
    bits, undefined = int(reading.bits), int(reading.undefined)
    mask = (1 << size) - 1
    little = place.storage.byte_order == "little"
    for number in range(count):
        shift = size * (number if little else count - 1 - number)
        yield Reading(bits >> shift & mask, undefined >> shift & mask)


# --- Pointers to members ------------------------------------------------------------------------------------------

MAX_DEPTH = 16


def member_pointer_text(writer: ValueWriter, value: Object, type: model.MemberPointer, *, is_top: bool) -> str:
    """Return a pointer to a data member or to a member function."""
    size = type.byte_size
    reading = value.place.read(8 * size)
    if reading.undefined:
        return OPTIMIZED_OUT
    bits = int(reading.bits)
    is_method = isinstance(resolved(type.target), model.Function)
    # the letter does not apply to a method inside another value
    letter = None if is_method and not is_top else writer.look.letter
    if letter == "a":
        return writer.address(Address(None, bits & ((1 << 64) - 1)), symbol=False)
    if letter is not None and letter not in "sr":
        return formatted(bits, 8 * size, letter, is_signed=True, layout=None)
    if is_method:
        return _method(writer, value, type)
    offset = signed(bits, 8 * size)
    if offset == -1:
        return "NULL"
    owner = stripped(type.owner.get())
    member = _member_at(owner, 8 * offset, 0) if isinstance(owner, model.Struct) else None
    return str(offset) if member is None else f"&{member}"


def _member_at(owner: model.Struct, bit_offset: int, depth: int) -> str | None:
    """Return the name of the member at an offset, in the class or a base; None if there is none."""
    if depth > MAX_DEPTH or not budget.take():
        return None
    for member in owner.body.members:
        if member.location is None and member.bit_offset == bit_offset and member.name is not None:
            return f"{owner.name or '(unnamed)'}::{member.name}"
    for base in owner.body.bases:
        inner = stripped(base.type)
        if base.location is None and isinstance(inner, model.Struct) and base.bit_offset is not None:
            inherited = _member_at(inner, bit_offset - base.bit_offset, depth + 1)
            if inherited is not None:
                return inherited
    return None


def _method(writer: ValueWriter, value: Object, type: model.MemberPointer) -> str:
    """Return a pointer to a member function: its address or virtual function, and the adjustment of this."""
    half = 4 * type.byte_size
    pointer = int(value.place.read(half).bits)
    adjustment = signed(int(value.place.moved(half).read(half).bits), half)
    if not pointer & 1:
        if not pointer:
            return "NULL"
        kind = type_text(value.type, is_cplus=writer.is_cplus)
        shown = f"({kind}) {writer.address(Address(None, pointer), symbol=True)}"
        return f"{shown}, this adjustment {adjustment}" if adjustment else shown
    offset = pointer - 1
    owner = stripped(type.owner.get())
    method = _virtual(owner, offset * 8 // half, 0) if isinstance(owner, model.Struct) else None
    shown = f"&virtual table offset {offset}" if method is None else f"&virtual {method}"
    return f"{shown}, this adjustment {adjustment}" if adjustment else shown


def _virtual(owner: model.Struct, slot: int, depth: int) -> str | None:
    """Return the name of the virtual function in a slot of the table, in the class or a base."""
    if depth > MAX_DEPTH or not budget.take():
        return None
    for method in owner.body.methods:
        if method.is_virtual and method.slot == slot:
            return _signature(owner, method)
    for base in owner.body.bases:
        inner = stripped(base.type)
        inherited = _virtual(inner, slot, depth + 1) if isinstance(inner, model.Struct) else None
        if inherited is not None:
            return inherited
    return None


def _signature(owner: model.Struct, method: model.Method) -> str:
    parameters = Declarer(is_cplus=True).parameters(method.to.get(), skip=1)
    shown = "" if parameters == "void" else parameters
    qualifiers = [word for word in ("const", "volatile") if word in method.object_qualifiers]
    return " ".join([f"{owner.name or '(unnamed)'}::{method.name}({shown})", *qualifiers])


# --- Values as JSON ---------------------------------------------------------------------------------------------------


def value_json(value: Object, look: Look = PLAIN) -> dict[str, Any]:
    """Return a value as JSON. Of ``look`` the limits and the names of symbols and spaces count."""
    return _Json(look, is_cplus=speaks_cplus(value.type)).value(value, 0)


class _Json:
    """Nests values as their types are.

    Every value is an object with its ``type``. ``value`` is the number of a scalar: an integer, true or false, a float
    where a double holds it and text with all digits where none does, ``"nan"``, ``"inf"`` and ``"-inf"``; ``bits`` is
    the pattern of a float, ``enumerator`` the name of a value of an enumeration. Structures have ``members`` and
    ``bases``, arrays ``elements`` with ``lower`` and ``length`` (``more`` counts those left out), complex numbers
    ``real`` and ``imaginary``. Without a value there is a ``state``: ``undefined``, ``error`` with the reason,
    ``omitted`` beyond a limit, ``repeated`` for a base that is at the place of an equal one before it.

    Objects of the C++ library are what they contain: ``summary`` or ``text``, with ``elements`` or ``members``; ``raw``
    has them as they are stored.
    """

    def __init__(self, look: Look, *, is_cplus: bool) -> None:
        self.look = look
        self.is_cplus = is_cplus
        self.left = MAX_PARTS
        self.bases = BasesShown()
        self._types: dict[int, tuple[model.Type, str]] = {}
        self.text = ValueWriter(evolve(look, printer=None), is_cplus=is_cplus)

    def takes(self, depth: int) -> bool:
        """Count a member or an element; return whether it may be written. The text of a deep one is indented far."""
        self.left -= 1
        return self.left >= 0 and budget.take(32 + 4 * depth)

    def value(self, value: Object, depth: int) -> dict[str, Any]:
        """Return a value as JSON, or why there is none."""
        head: dict[str, Any] = {"type": BROKEN_TYPE}
        try:
            known = self._types.get(id(value.type))
            if known is None:
                known = self._types[id(value.type)] = (value.type, type_text(value.type, is_cplus=self.is_cplus))
            head["type"] = known[1]
            return head | self._content(value, depth)
        except DwarfGpuError as error:
            if error.kind == "undefined_read":
                return head | {"state": "undefined"}
            return head | {"state": "error", "error": problem_json(error)}

    def _content(self, value: Object, depth: int) -> dict[str, Any]:
        inner = stripped(value.type)
        if depth > self.look.depth or self.left <= 0:
            return {"state": "omitted"}
        if isinstance(inner, model.Struct):
            contents = self._contents(value, inner, depth) if is_standard(inner, self.look) else None
            return self._struct(value, inner, depth) if contents is None else contents
        if isinstance(inner, model.Array) or (isinstance(inner, model.Base) and inner.vector_size is not None):
            return self._array(value, depth)
        if isinstance(inner, (model.Function, model.Void)):
            address = value.address
            return {} if address is None else {"address": address.value}
        if isinstance(inner, (model.String, model.MemberPointer)):
            return {"text": self.text.text(value, depth)}
        parts = value.parts()
        if parts is not None:
            real, imaginary, scalar = parts
            return {"real": _complex_part(real, scalar), "imaginary": _complex_part(imaginary, scalar)}
        scalar_found = value.scalar
        if scalar_found is None:
            return {"state": "unsupported"}
        if isinstance(inner, model.Pointer):
            return self._pointer(value, inner, depth)
        reading = value.pattern()
        if reading.undefined:
            return {"state": "undefined", "undefined_bits": hex(int(reading.undefined))}
        return self._scalar(int(reading.bits), scalar_found, value.type)

    def _scalar(self, pattern: int, scalar: Scalar, type: model.Type) -> dict[str, Any]:
        inner = resolved(type)
        if scalar.layout is not None:
            return {"value": _float(pattern, scalar), "bits": hex(pattern)}
        number = signed(pattern, scalar.bits) if scalar.is_signed else pattern
        if scalar.scale is not None:
            return {"value": scalar.number(pattern), "bits": hex(pattern)}
        if scalar.kind == "boolean" and pattern <= 1:
            return {"value": bool(pattern)}
        if isinstance(inner, model.Enumeration):
            return {"value": number, "enumerator": self.text.number(pattern, scalar, type)}
        if is_unit(inner):
            return {"text": "()"}
        if scalar.kind == "character" or character_prefix(type) is not None:
            return {"value": number, "text": self.text.number(pattern, scalar, type).partition(" ")[2]}
        return {"value": number}

    def _pointer(self, value: Object, type: model.Pointer, depth: int) -> dict[str, Any]:
        implied = value.implied()
        if implied is not None:
            return {"implicit": True, "target": self.value(implied, depth + 1)}
        reading = value.pattern()
        if reading.undefined:
            return {"state": "undefined", "undefined_bits": hex(int(reading.undefined))}
        address = Address(type.address_space, int(reading.bits))
        result: dict[str, Any] = {"value": address.value}
        if address.space:
            name = self.look.space_name(address.space)
            result["space"] = address.space if name is None else name
        symbol = None if self.look.symbol is None else self.look.symbol(address)
        if symbol is not None:
            result["symbol"] = symbol
        if type.is_reference:
            result["target"] = self.value(value.dereferenced(), depth + 1)
        elif character_prefix(type.target) is not None and address.value != type.null:
            result["text"] = self.text.pointed_text(value, type)
        return result

    def _array(self, value: Object, depth: int) -> dict[str, Any]:
        array = value.array()
        if array.state is not None:
            return {"state": array.state}
        result: dict[str, Any] = {"lower": array.lower, "length": None if array.is_open else array.length}
        shown = []
        for index in range(min(array.length, self.look.elements)):
            if not self.takes(depth):
                break
            shown.append(self.value(array.at(index), depth + 1))
        result["elements"] = shown
        if len(shown) < array.length:
            result["more"] = array.length - len(shown)
        if not array.is_vector and array.length:
            text = characters_of(self.look, array)
            if text is not None:
                result["text"] = text
        return result

    def _struct(self, value: Object, type: model.Struct, depth: int) -> dict[str, Any]:
        if type.is_incomplete:
            return {"state": "incomplete"}
        bases, members = [], []
        for base in type.body.bases:
            if self.bases.has(value, base):
                bases.append({"type": safe_text(base.type), "state": "repeated"})
            elif self.takes(depth):
                bases.append(self._guarded(lambda base=base: value.base(base), base.type, depth))
        for member in value.members():
            if not self.takes(depth):
                break
            content = self._guarded(lambda member=member: value.field(member), member.type, depth)
            members.append({"name": member.name} | content)
        result: dict[str, Any] = {"members": members}
        return {"bases": bases} | result if bases else result

    def _contents(self, value: Object, type: model.Struct, depth: int) -> dict[str, Any] | None:
        """Return an object of the C++ library as what it contains, and as it is stored; None if that is not known."""
        from dwarfgpu.program.values.standard_library import contents_of

        try:
            contents = contents_of(value, type)
        except DwarfGpuError as error:
            if error.kind in OTHER_LAYOUT:
                return None
            return {"state": "error", "error": problem_json(error), "raw": self._raw(value, type, depth)}
        if contents is None:
            return None
        raw = {"raw": self._raw(value, type, depth)}
        if contents.characters is not None:
            return {"text": self.text.text(value, depth)} | raw
        result: dict[str, Any] = {"summary": contents.summary} if contents.summary else {}
        parts: list[dict[str, Any]] = []
        try:
            for part in contents.parts():
                self.left -= 1
                if len(parts) >= self.look.elements or self.left < 0:
                    break
                content = self.value(part.value, depth + 1)
                if contents.hint != "array":
                    content = {"name": part.name} | content
                parts.append(content)
        except DwarfGpuError as error:
            result["error"] = problem_json(error)
        result["elements" if contents.hint == "array" else "members"] = parts
        if len(parts) < contents.count:
            result["more"] = contents.count - len(parts)
        return result | raw

    def _raw(self, value: Object, type: model.Struct, depth: int) -> dict[str, Any]:
        """Return an object as it is stored, with those in it."""
        before = self.look
        self.look = evolve(before, is_raw=True)
        try:
            return self._struct(value, type, depth)
        finally:
            self.look = before

    def _guarded(self, make: Any, type: model.Type, depth: int) -> dict[str, Any]:
        """Return a part of a value, or the error of its location."""
        try:
            return self.value(make(), depth + 1)
        except DwarfGpuError as error:
            return {"type": safe_text(type), "state": "error", "error": problem_json(error)}


def _complex_part(reading: Reading, scalar: Scalar) -> Any:
    return None if reading.undefined else _float(int(reading.bits), scalar)


def _float(pattern: int, scalar: Scalar) -> Any:
    """Return a float if a double holds the number exactly, else text with all its digits."""
    layout = scalar.layout
    if layout is None:
        return pattern
    kind = layout.kind(pattern)
    if kind == "nan":
        return "nan"
    number = layout.exact(pattern)
    if kind == "infinite":
        return "-inf" if number < 0 else "inf"
    near = as_float(number)
    return near if near == number else float_text(pattern, layout)


# --- Numbers in the formats of GDB ------------------------------------------------------------------------------------


FORMATS = "xduotzfcasr"
"""Hexadecimal, signed, unsigned, octal, binary, padded hexadecimal, float, character, address, string, raw."""
_LAYOUTS = {32: SINGLE, 64: DOUBLE, 80: X87, 128: X87}
"""The formats in which ``/f`` reads integers by their size, as the C types of x86-64."""


def check_format(letter: str | None) -> str | None:
    """Return the letter of a format, or raise the error that there is no such format."""
    if letter is None or letter == "" or (len(letter) == 1 and letter in FORMATS):
        return letter or None
    raise UsageError(f"unknown format {letter!r}", hint=f"the formats are {', '.join(FORMATS)}")


# --- Floating point -----------------------------------------------------------------------------------------------


def float_text(pattern: int, layout: FloatFormat) -> str:
    """Return a number with as many digits as tell it from its neighbours, in the form of ``%g``."""
    sign, _, fraction = layout.fields(pattern)
    minus = "-" if sign else ""
    kind = layout.kind(pattern)
    if kind == "infinite":
        return f"{minus}inf"
    if kind == "nan":
        return f"{minus}nan({fraction:#x})" if fraction else f"{minus}nan"
    return general(layout.exact(pattern), layout.digits)


def general(number: Number, digits: int) -> str:
    """Return a finite number in the form of C's ``%.<digits>g``, rounded correctly at any length."""
    from fractions import Fraction

    if not number:
        return "-0" if isinstance(number, float) and math.copysign(1.0, number) < 0 else "0"
    if digits <= 17 and as_float(number) == number:
        return _trimmed(f"{as_float(number):.{digits}g}")
    exact = abs(Fraction(number))
    power = _magnitude(exact)
    scaled = exact / Fraction(10) ** (power - digits + 1)
    steps = round(scaled)
    if steps >= 10**digits:
        steps //= 10
        power += 1
    text = str(steps)
    sign = "-" if number < 0 else ""
    if -4 <= power < digits:
        if power < 0:
            return sign + _trimmed(f"0.{'0' * (-power - 1)}{text}")
        return sign + _trimmed(f"{text[: power + 1]}.{text[power + 1 :]}")
    mantissa = _trimmed(f"{text[0]}.{text[1:]}")
    return f"{sign}{mantissa}e{'-' if power < 0 else '+'}{abs(power):02}"


def _magnitude(exact: Fraction) -> int:
    from fractions import Fraction

    bits = exact.numerator.bit_length() - exact.denominator.bit_length()
    power = math.floor(bits * 0.30102999566398120) - 1
    while Fraction(10) ** (power + 1) <= exact:
        power += 1
    while Fraction(10) ** power > exact:
        power -= 1
    return power


def _trimmed(text: str) -> str:
    head, letter, exponent = text.partition("e")
    if "." in head:
        head = head.rstrip("0").rstrip(".")
    return f"{head}{letter}{exponent}"


# --- Formats ------------------------------------------------------------------------------------------------------


def formatted(pattern: int, width: int, letter: str, *, is_signed: bool, layout: FloatFormat | None) -> str:
    """Return a pattern of ``width`` bits in a format that only needs the bits: x, d, u, o, t, z, f, c."""
    if letter == "f":
        layout = layout or _LAYOUTS.get(width)
        if layout is not None:
            return float_text(pattern & ((1 << layout.bit_size) - 1), layout)
        return str(signed(pattern, width) if is_signed else pattern)
    if letter == "c":
        code = (pattern if layout is None else whole(layout.exact(pattern))) & 0xFF
        return f"{signed(code, 8) if is_signed or layout is not None else code} {character(code)}"
    if letter == "x":
        return f"{pattern:#x}"
    if letter == "z":
        return f"0x{pattern:0{(width + 7) // 8 * 2}x}"
    if letter == "o":
        return f"0{pattern:o}" if pattern else "0"
    if letter == "t":
        return f"{pattern:b}"
    if letter == "d":
        return str(signed(pattern, width))
    return str(pattern)


def signed(pattern: int, width: int) -> int:
    """Return a pattern as a two's complement number."""
    return pattern - (1 << width) if width and pattern >> (width - 1) & 1 else pattern


def whole(number: Number) -> int:
    """Return a number as C converts it to a long: truncated, or the nearest long."""
    if isinstance(number, float) and not math.isfinite(number):
        return (1 << 63) - 1 if not number < 0 else -(1 << 63)
    return max(-(1 << 63), min((1 << 63) - 1, math.trunc(number)))


# --- Characters and strings ---------------------------------------------------------------------------------------

_ESCAPES = {7: "\\a", 8: "\\b", 9: "\\t", 10: "\\n", 11: "\\v", 12: "\\f", 13: "\\r", 27: "\\033", 92: "\\\\"}
_DIGITS = frozenset("0123456789abcdefABCDEF")


def character(value: int, prefix: str = "", size: int = 1) -> str:
    """Return a character in quotes; ``size`` is that of its type in bytes."""
    return f"{prefix}'{_escaped(value & ((1 << 8 * size) - 1), size, chr(39))}'"


def _escaped(code: int, size: int, quote: str) -> str:
    escape = _ESCAPES.get(code)
    if escape is not None:
        return escape
    is_text = code < 0x80 if size == 1 else code < 0x110000 and not 0xD800 <= code < 0xE000
    if is_text:
        text = chr(code)
        if text == quote:
            return f"\\{text}"
        if text.isprintable():
            return text
    return escapes((code,))


def escapes(codes: Iterable[int]) -> str:
    """Return bytes or wider units as escapes, in octal if three digits are enough."""
    return "".join(f"\\{code:03o}" if code <= 0o777 else f"\\x{code:x}" for code in codes)


@frozen
class _Unit:
    """One character of a string as it is written, or bytes that are no character."""

    text: str
    is_incomplete: bool = field(default=False, kw_only=True)


def string(codes: Sequence[int], size: int, prefix: str, *, limit: int, threshold: int, is_cut: bool = False) -> str:
    """Return a string as GDB shows it: ``"abc", 'x' <repeats 12 times>...``.

    ``limit`` is how many characters are written, with all those of a run; ``is_cut`` says that more follow.
    """
    units = _decoded(codes, size, limit)
    pieces: list[str] = []
    open_text = ""
    written = index = 0
    after_hex = False
    while index < len(units) and written < limit:
        unit = units[index]
        # C would read a digit behind a hexadecimal escape as part of it
        first = escapes((ord(unit.text),)) if after_hex and unit.text in _DIGITS else unit.text
        after_hex = unit.text.startswith("\\x")
        end = index
        while end < len(units) and units[end] == unit:
            end += 1
        count = end - index
        if unit.is_incomplete or count > threshold:
            if open_text:
                pieces.append(f'{prefix}"{open_text}"')
                open_text = ""
            quoted = f"<incomplete sequence {unit.text}>"
            if not unit.is_incomplete:
                text = "\\'" if first == "'" else '"' if first == '\\"' else first
                quoted = f"{prefix}'{text}'"
            repeats = f" <repeats {count} times>" if count > threshold else ""
            pieces.append(quoted + repeats)
        else:
            count = min(count, limit - written)
            open_text += first + unit.text * (count - 1)
        index += count
        written += count
    if open_text or not pieces:
        pieces.append(f'{prefix}"{open_text}"')
    return ", ".join(pieces) + ("..." if is_cut or index < len(units) else "")


def _decoded(codes: Sequence[int], size: int, limit: int) -> list[_Unit]:
    """Return the characters of a string: bytes are UTF-8, units of two bytes UTF-16."""
    if size == 1:
        return _utf8(bytes(code & 0xFF for code in codes))
    units, index = [], 0
    while index < len(codes):
        code = codes[index]
        index += 1
        if size == 2 and 0xD800 <= code < 0xDC00 and index < len(codes) and 0xDC00 <= codes[index] < 0xE000:
            text = chr(0x10000 + ((code - 0xD800) << 10) + codes[index] - 0xDC00)
            units.append(_Unit(text if text.isprintable() else escapes((code, codes[index]))))
            index += 1
            continue
        is_incomplete = size == 2 and 0xD800 <= code < 0xDC00 and index == len(codes)
        units.append(_Unit(_escaped(code & ((1 << 8 * size) - 1), size, '"'), is_incomplete=is_incomplete))
    return units


def _utf8(data: bytes) -> list[_Unit]:
    units = []
    index = 0
    while index < len(data):
        byte = data[index]
        if byte < 0x80:
            units.append(_Unit(_escaped(byte, 1, '"')))
            index += 1
            continue
        length = 2 if byte >> 5 == 6 else 3 if byte >> 4 == 14 else 4 if byte >> 3 == 30 else 0
        piece = data[index : index + length]
        try:
            text = piece.decode("utf-8") if length else ""
        except UnicodeDecodeError:
            text = ""
        if text:
            units.append(_Unit(text if text.isprintable() else escapes(piece)))
            index += length
            continue
        rest = data[index:]
        if 0xC2 <= byte <= 0xFD and _may_go_on(rest):
            units.append(_Unit(escapes(rest), is_incomplete=True))
            break
        units.append(_Unit(escapes(data[index : index + 1])))
        index += 1
    return units


def _may_go_on(rest: bytes) -> bool:
    """Whether bytes begin a character that ends after them; up to six bytes, as UTF-8 once had."""
    first = rest[0]
    length = 2 if first < 0xE0 else 3 if first < 0xF0 else 4 if first < 0xF8 else 5 if first < 0xFC else 6
    return len(rest) < length and all(byte >> 6 == 2 for byte in rest[1:])


def codes_of(bits: int, count: int, size: int, byte_order: ByteOrder) -> list[int]:
    """Return the characters of an array that was read as one number."""
    data = bits.to_bytes(count * size, byte_order)
    return [int.from_bytes(data[index : index + size], byte_order) for index in range(0, len(data), size)]
