"""The metadata of code objects: kernels, their arguments, and what a runtime must know to start them.

AMDGPU usage, "Code Object Metadata": a MessagePack note since code object V3, a YAML note in V2. Both are read into
the same records, with the words of V3; what a document says in its own words is kept beside them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

from dwarfgpu.errors import DwarfGpuError, MalformedFile, Unsupported
from dwarfgpu.immutable import fields, frozen
from dwarfgpu.objfile.elf.header import malformed
from dwarfgpu.objfile.elf.notes import NT_AMD_HSA_METADATA, NT_AMDGPU_METADATA, Note, hsa_notes

if TYPE_CHECKING:
    from dwarfgpu.objfile.elf.image import Image


T = TypeVar("T")

SPEC = 'AMDGPU usage, "Code Object Metadata"'
MAX_KERNELS = 1 << 16

_UNPACK_ERRORS = (ValueError, TypeError, RecursionError, OverflowError)
"""What msgpack raises besides its own errors; a list as the key of a map is a TypeError."""


@frozen
class KernelArgument:
    """One argument of a kernel. None is what the document does not say."""

    name: str | None
    type_name: str | None
    offset: int | None
    """The offset in the kernarg segment. V2 does not give it; then it follows from the preceding arguments."""
    size: int | None
    align: int | None
    """The alignment, which only V2 gives."""
    value_kind: str | None
    """``by_value``, ``global_buffer``, ``hidden_block_count_x`` and so on."""
    value_type: str | None
    address_space: str | None
    access: str | None
    actual_access: str | None
    pointee_align: int | None
    is_const: bool | None
    is_restrict: bool | None
    is_volatile: bool | None
    is_pipe: bool | None
    other: dict[str, Any]
    """What the text does not define."""

    @property
    def is_hidden(self) -> bool:
        """Whether the runtime passes it, not the program."""
        return self.value_kind is not None and self.value_kind.startswith("hidden_")


@frozen
class KernelMetadata:
    """The metadata of one kernel. A field that the document does not have is None."""

    name: str | None
    symbol: str | None
    """The symbol of the kernel descriptor."""
    kind: str | None
    """``normal``, or ``init`` and ``fini`` for what runs when a program is loaded and unloaded."""
    language: str | None
    language_version: tuple[int, ...] | None
    args: tuple[KernelArgument, ...]
    kernarg_segment_size: int | None
    kernarg_segment_align: int | None
    group_segment_fixed_size: int | None
    private_segment_fixed_size: int | None
    uses_dynamic_stack: bool | None
    wavefront_size: int | None
    sgpr_count: int | None
    vgpr_count: int | None
    agpr_count: int | None
    sgpr_spill_count: int | None
    vgpr_spill_count: int | None
    max_flat_workgroup_size: int | None
    reqd_workgroup_size: tuple[int, ...] | None
    workgroup_size_hint: tuple[int, ...] | None
    uniform_work_group_size: bool | None
    max_num_workgroups_x: int | None
    max_num_workgroups_y: int | None
    max_num_workgroups_z: int | None
    workgroup_processor_mode: bool | None
    cluster_dims: tuple[int, ...] | None
    vec_type_hint: str | None
    device_enqueue_symbol: str | None
    other: dict[str, Any]
    """What the text does not define."""


@frozen
class PrintfFormat:
    """One ``printf`` of the program: ``ID:N:S[0]:...:S[N-1]:FormatString``."""

    id: int
    sizes: tuple[int, ...]
    format: str


@frozen
class Metadata:
    """The metadata of one code object."""

    encoding: str
    """``msgpack`` or ``yaml``."""
    version: tuple[int, ...] | None
    """The version of the metadata, not of the code object: 1.0 is V3, 1.1 V4, 1.2 V5 and V6; in V2 it is 1.0 too."""
    target: str | None
    """The target triple and target ID, since V4."""
    kernels: tuple[KernelMetadata, ...]
    """The metadata of all kernels, in the order of the documents."""
    printf: tuple[PrintfFormat, ...]
    documents: tuple[dict[Any, Any], ...]
    """The documents as they are, one for each note."""
    problems: tuple[DwarfGpuError, ...]


_TYPES = {"str": str, "int": int, "bool": bool, "tuple[int, ...]": tuple}


def _fields_of(record: type) -> dict[str, type]:
    """Return the types of the values in a document by key: those of the fields of a record that hold one value."""
    types = ((field.name, str(field.type).removesuffix(" | None")) for field in fields(record))
    return {f".{name}": _TYPES[kind] for name, kind in types if kind in _TYPES}


_ARGUMENT_FIELDS = _fields_of(KernelArgument)
_KERNEL_FIELDS = _fields_of(KernelMetadata)
_NO_ARGUMENT: dict[str, Any] = {key[1:]: None for key in _ARGUMENT_FIELDS}
_NO_KERNEL: dict[str, Any] = {key[1:]: None for key in _KERNEL_FIELDS}
_REQUIRED = (".name", ".symbol", ".kernarg_segment_size", ".group_segment_fixed_size", ".private_segment_fixed_size",
             ".kernarg_segment_align", ".wavefront_size", ".max_flat_workgroup_size")  # fmt: skip

# The keys of V2 and those of V3 for the same
_V2_KERNEL = {"Name": ".name", "SymbolName": ".symbol", "Language": ".language", "LanguageVersion": ".language_version"}
_V2_ATTRIBUTES = {
    "ReqdWorkGroupSize": ".reqd_workgroup_size", "WorkGroupSizeHint": ".workgroup_size_hint",
    "VecTypeHint": ".vec_type_hint", "RuntimeHandle": ".device_enqueue_symbol",
}  # fmt: skip
_V2_CODE = {
    "KernargSegmentSize": ".kernarg_segment_size", "GroupSegmentFixedSize": ".group_segment_fixed_size",
    "PrivateSegmentFixedSize": ".private_segment_fixed_size", "KernargSegmentAlign": ".kernarg_segment_align",
    "WavefrontSize": ".wavefront_size", "NumSGPRs": ".sgpr_count", "NumVGPRs": ".vgpr_count",
    "MaxFlatWorkGroupSize": ".max_flat_workgroup_size", "NumSpilledSGPRs": ".sgpr_spill_count",
    "NumSpilledVGPRs": ".vgpr_spill_count", "IsDynamicCallStack": ".uses_dynamic_stack",
}  # fmt: skip
_V2_ARGUMENT = {
    "Name": ".name", "TypeName": ".type_name", "Size": ".size", "Align": ".align", "Offset": ".offset",
    "ValueKind": ".value_kind", "ValueType": ".value_type", "PointeeAlign": ".pointee_align",
    "AddrSpaceQual": ".address_space", "AccQual": ".access", "ActualAccQual": ".actual_access", "IsConst": ".is_const",
    "IsRestrict": ".is_restrict", "IsVolatile": ".is_volatile", "IsPipe": ".is_pipe",
}  # fmt: skip
_V2_WORDS = (".value_kind", ".value_type", ".address_space", ".access", ".actual_access")
"""The keys whose values are words, which V2 writes as GlobalBuffer and V3 as global_buffer."""


def read_metadata(image: Image) -> Metadata | None:
    """Read the metadata of a code object; None if it has none.

    Several notes, as linking makes them, are read as one.
    """
    notes = [
        note
        for note in image.notes()
        if (note.owner, note.type) in (("AMDGPU", NT_AMDGPU_METADATA), ("AMD", NT_AMD_HSA_METADATA))
    ]
    if not notes:
        return None
    reader = _Documents(image.name)
    for note in notes:
        reader.read(note)
    return reader.result("msgpack" if notes[0].owner == "AMDGPU" else "yaml")


def target_name(image: Image) -> str | None:
    """Return the target that the notes of a code object name, or None. ``e_flags`` says it, too."""
    return next(iter(target_names(image)), None)


def target_names(image: Image) -> tuple[str, ...]:
    """Return every name that the notes of a code object give its target, the one that says most first."""
    names: list[str] = []
    for note in image.notes():
        if (note.owner, note.type) == ("AMDGPU", NT_AMDGPU_METADATA):
            target = _value_of(note.data, "amdhsa.target")
            if isinstance(target, str):
                names.append(target)
    notes = hsa_notes(image)
    if notes.isa_name:
        names.append(notes.isa_name)
    if notes.isa is not None:
        names.append(f"amdgcn-amd-amdhsa--{notes.isa.processor}")
    return tuple(dict.fromkeys(names))


def _value_of(data: bytes, key: str) -> Any:
    """Return the value of one key of a MessagePack map, without reading the others; None if it cannot be found."""
    try:
        import msgpack
    except ImportError:
        return None
    try:
        unpacker = msgpack.Unpacker(strict_map_key=False, unicode_errors="backslashreplace")
        unpacker.feed(data)
        for _ in range(unpacker.read_map_header()):
            if unpacker.unpack() == key:
                return unpacker.unpack()
            unpacker.skip()
    except (*_UNPACK_ERRORS, msgpack.UnpackException):
        pass
    return None


class _Documents:
    """Reads the documents of one file and collects what is wrong with them."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._where = ("", 0)
        self._version: tuple[int, ...] | None = None
        self._target: str | None = None
        self._kernels: list[KernelMetadata] = []
        self._printf: list[PrintfFormat] = []
        self._documents: list[dict[Any, Any]] = []
        self._problems: list[DwarfGpuError] = []
        self._arguments: dict[tuple[Any, ...] | None, KernelArgument] = {}

    def result(self, encoding: str) -> Metadata:
        return Metadata(
            encoding,
            self._version,
            self._target,
            tuple(self._kernels),
            tuple(self._printf),
            tuple(self._documents),
            tuple(self._problems),
        )

    def read(self, note: Note) -> None:
        """Read one note."""
        self._where = (note.place, note.offset)
        try:
            if note.owner == "AMDGPU":
                document = self._unpacked(note.data)
            else:
                text = note.data.split(b"\0", 1)[0].decode("utf-8", "backslashreplace")
                document = parse_yaml(
                    text, lambda line, why: self._malformed(f"metadata, line {line}: {why}", "bad_yaml")
                )
        except (MalformedFile, Unsupported) as error:
            self._problems.append(error)
            return
        if not isinstance(document, dict):
            self._problem(f"the metadata is {type(document).__name__}, not a map")
            return
        self._documents.append(document)
        prefix = "amdhsa." if note.owner == "AMDGPU" else ""
        keys = ("version", "kernels", "printf") if prefix else ("Version", "Kernels", "Printf")
        version, kernels, printf = (document.get(prefix + key) for key in keys)
        self._version = self._version or self._value(version, tuple, prefix + keys[0])
        self._target = self._target or self._value(document.get("amdhsa.target"), str, "amdhsa.target")
        maps = self._maps(kernels, prefix + keys[1])
        room = MAX_KERNELS - len(self._kernels)
        self._kernels += [self._kernel(item if prefix else _modern_kernel(item)) for item in maps[:room]]
        if len(maps) > room:
            self._problem(f"more than {MAX_KERNELS} kernels are not read", "too_large")
        for item in self._items(printf, prefix + keys[2]):
            format_ = _printf(item) if isinstance(item, str) else None
            if format_ is None:
                message = f"{prefix + keys[2]} holds {item!r:.40}, which is not ID:N:S[0]:...:FormatString"
                self._problem(message, "bad_printf")
            else:
                self._printf.append(format_)

    def _unpacked(self, data: bytes) -> Any:
        try:
            import msgpack
        except ImportError:
            message = f"{self._file}: the metadata is MessagePack, which needs a package to be read"
            raise Unsupported("no_msgpack", message, hint="install the package msgpack", spec=SPEC) from None
        try:
            return msgpack.unpackb(data, raw=False, strict_map_key=False, unicode_errors="backslashreplace")
        except msgpack.ExtraData as error:
            self._problem("there are more bytes after the document")
            return error.unpacked
        except (*_UNPACK_ERRORS, msgpack.UnpackException) as error:
            raise self._malformed(f"not a MessagePack document: {error}") from None

    def _malformed(self, message: str, kind: str = "bad_metadata") -> MalformedFile:
        place, offset = self._where
        return malformed(self._file, kind, message, section=place, offset=offset, spec=SPEC)

    def _problem(self, message: str, kind: str = "bad_metadata") -> None:
        self._problems.append(self._malformed(message, kind))

    def _value(self, value: Any, kind: type, key: str) -> Any:
        """Return a value of a kind; for any other value note a problem and return None."""
        if value is None:
            return None
        if kind is tuple:
            if isinstance(value, list) and all(type(item) is int for item in value):
                return tuple(value)
        elif kind is bool:
            if isinstance(value, bool) or value in (0, 1):
                return bool(value)
        elif type(value) is kind:
            return value
        elif kind is str and type(value) in (int, bool):
            return str(value).lower()  # a YAML name that looks like something else
        self._problem(f"{key} is {value!r:.40}", "metadata_value")
        return None

    def _items(self, value: Any, key: str) -> list[Any]:
        if value is not None and not isinstance(value, list):
            self._problem(f"{key} is not a sequence", "metadata_value")
        return value if isinstance(value, list) else []

    def _maps(self, value: Any, key: str) -> list[dict[Any, Any]]:
        items = self._items(value, key)
        maps = [item for item in items if isinstance(item, dict)]
        if len(maps) < len(items):
            self._problem(f"{key} holds something that is not a map", "metadata_value")
        return maps

    def _fields(self, item: dict[Any, Any], fields: dict[str, type], nothing: dict[str, Any]) -> dict[str, Any]:
        values = nothing.copy()
        values["other"] = other = {}
        unusual = set()
        for key, value in item.items():
            kind = fields.get(key)
            if type(value) is kind:
                values[key[1:]] = value
            elif kind is not None:
                unusual.add(key)
            elif key != ".args":
                other[str(key)] = value
        if unusual:
            for key, kind in fields.items():
                if key in unusual:
                    values[key[1:]] = self._value(item[key], kind, key)
        return values

    def _kernel(self, item: dict[Any, Any]) -> KernelMetadata:
        values = self._fields(item, _KERNEL_FIELDS, _NO_KERNEL)
        missing = [key for key in _REQUIRED if item.get(key) is None]
        if missing:
            self._problem(
                f"the kernel {values['name'] or 'without a name'} has no {', '.join(missing)}", "metadata_key"
            )
        end = 0
        arguments = []
        for argument_map in self._maps(item.get(".args"), ".args"):
            argument = self._argument(argument_map, end)
            arguments.append(argument)
            end = (argument.offset or end) + (argument.size or 0)
        values["args"] = tuple(arguments)
        return KernelMetadata(**values)

    def _argument(self, item: dict[Any, Any], end: int) -> KernelArgument:
        """Read one argument; ``end`` is where the one before it ends."""
        key: tuple[Any, ...] | None = (*item.items(), *map(type, item.values()))
        try:
            argument = self._arguments.get(key)  # kernels have most arguments in common
        except TypeError:  # a value that is a list or a map
            argument = key = None
        if argument is None:
            problems = len(self._problems)
            values = self._fields(item, _ARGUMENT_FIELDS, _NO_ARGUMENT)
            align = values["align"]
            if values["offset"] is None and align and align > 0:
                values["offset"] = end + -end % align
                key = None
            argument = KernelArgument(**values)
            if key is not None and problems == len(self._problems):
                self._arguments[key] = argument
        return argument


def _printf(text: str) -> PrintfFormat | None:
    id_, _, rest = text.partition(":")
    count, _, rest = rest.partition(":")
    if not (_is_number(id_) and _is_number(count)) or int(count) > rest.count(":"):
        return None
    sizes = []
    for _ in range(int(count)):
        size, _, rest = rest.partition(":")
        if not _is_number(size):
            return None
        sizes.append(int(size))
    return PrintfFormat(int(id_), tuple(sizes), rest)


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) < 20


def _modern_kernel(item: dict[Any, Any]) -> dict[Any, Any]:
    result: dict[Any, Any] = {".sgpr_count": 0, ".vgpr_count": 0}  # V2 leaves zeros out
    groups = ((item, _V2_KERNEL), (item.get("Attrs"), _V2_ATTRIBUTES), (item.get("CodeProps"), _V2_CODE))
    for group, keys in groups:
        if isinstance(group, dict):
            known = {"Args", "Attrs", "CodeProps"} if group is item else set()
            result.update((keys.get(key, key), value) for key, value in group.items() if key not in known)
    arguments = item.get("Args")
    if isinstance(arguments, list):
        result[".args"] = [_modern_argument(argument) for argument in arguments]
    elif arguments is not None:
        result[".args"] = arguments
    return result


def _modern_argument(item: Any) -> Any:
    if not isinstance(item, dict):
        return item
    result = {_V2_ARGUMENT.get(key, key): value for key, value in item.items()}
    for key in _V2_WORDS:
        if isinstance(result.get(key), str):
            result[key] = _snake_case(result[key])
    return result


def _snake_case(word: str) -> str:
    """Return ``HiddenGlobalOffsetX`` as ``hidden_global_offset_x``; ``I32`` stays one word."""
    out = "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in word)
    return out.removeprefix("_").replace("multi_grid", "multigrid")  # as V3 writes it


# --- Read the YAML of code object V2 metadata with PyYAML ---------------------------------------------------------
# What could make a small text large or a reader crash is refused: anchors, aliases, tags, deep nesting.
# Plain scalars mean what LLVM means by them: integers, booleans, nothing, and text in all other cases.

MAX_DEPTH = 32
MAX_SIZE = 1 << 22
WORDS = {"true": True, "false": False, "null": None, "~": None, "": None}


def parse_yaml(text: str, fail: Callable[[int, str], Exception]) -> Any:
    """Read the first document. ``fail`` makes the exception for a line number, counted from 1, and a message."""
    try:
        import yaml
    except ImportError:
        raise Unsupported("no_yaml", "the metadata of code object V2 is YAML: pip install PyYAML") from None
    if len(text) > MAX_SIZE:
        raise fail(1, f"more than {MAX_SIZE} characters")
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    line = 1
    try:
        return _document(yaml.parse(text, Loader=loader), fail)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = 1 if mark is None else mark.line + 1
        problem = getattr(error, "problem", None) or str(error).partition("\n")[0]
    except (ValueError, OverflowError) as error:  # an escape that is no character
        problem = str(error)
    raise fail(line, problem)


def _document(events: Iterator[Any], fail: Callable[[int, str], Exception]) -> Any:
    """Return what the events of the first document make; None if there is no document."""
    missing = object()
    top: list[Any] = []
    outer: list[Any] = []
    """The collections around the one that is being filled."""
    collection: Any = top
    key: Any = missing
    for event in events:
        kind = type(event).__name__
        line = event.start_mark.line + 1
        if kind in ("MappingEndEvent", "SequenceEndEvent"):
            collection = outer.pop()
            continue
        if kind not in ("ScalarEvent", "MappingStartEvent", "SequenceStartEvent", "AliasEvent"):
            if kind == "DocumentEndEvent":
                break
            continue
        if event.anchor is not None or event.tag is not None:
            raise fail(line, "anchors, aliases and tags are not read")
        value = _scalar(event) if kind == "ScalarEvent" else {} if kind == "MappingStartEvent" else []
        if isinstance(collection, list):
            collection.append(value)
        elif key is not missing:
            collection[key] = value
            key = missing
        elif kind == "ScalarEvent":
            key = value
        else:
            raise fail(line, "the key of a map is a collection")
        if kind != "ScalarEvent":
            if len(outer) == MAX_DEPTH:
                raise fail(line, f"more than {MAX_DEPTH} levels")
            outer.append(collection)
            collection = value
    return top[0] if top else None


def _scalar(event: Any) -> Any:
    """Return what a scalar means: only one without quotes can be something else than text."""
    text = event.value
    text.encode()  # half of a surrogate pair is no character
    if event.style:
        return text
    return WORDS[text] if text in WORDS else _number(text)


def _number(text: str) -> Any:
    digits = text.lstrip("+-") if text[:1] in ("+", "-") else text
    base = 16 if digits.startswith("0x") else 8 if digits.startswith("0o") else 10
    if not digits.isascii() or not digits.isalnum() or len(digits) > 32:
        return text
    try:
        return int(text, base)
    except ValueError:
        return text
