"""Debugging information written as trees, for tests: ``die("subprogram", ("name", "strp", "f"), die(...))``.

An attribute is a triple of name, form and value, without the prefixes of the standard; a number stands for what has no
name. A value of a reference form is the label of an entry. Strings and addresses by index get an index; with ``#``
behind the form the value is the index. `build` turns units into sections.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from dwarfgpu.dwarf_constants import names
from dwarfgpu.encoding import encode_signed, encode_unsigned
from dwarfgpu.objfile.info.forms import FORMS, LLVM_CURRENT, LLVM_OLD

TAGS = {name.removeprefix("DW_TAG_"): number for number, name in names("DW_TAG").items()}
FORM_CODES = {form.name.removeprefix("DW_FORM_"): code for code, form in FORMS.items()}
UNIT_TYPES = {"compile": 1, "type": 2, "partial": 3, "skeleton": 4, "split_compile": 5, "split_type": 6}
REFERENCES = ("ref1", "ref2", "ref4", "ref8", "ref_udata", "ref_addr", "ref_sup4", "ref_sup8", "GNU_ref_alt")


class DictSections:
    """Sections from a dictionary; an exception in place of bytes is raised."""

    def __init__(
        self, data: dict[str, Any], *, byte_order: str = "little", address_size: int = 8, name: str = "test"
    ) -> None:
        self.byte_order = byte_order
        self.address_size = address_size
        self.name = name
        self.content = data
        self.asked: list[str] = []

    def data(self, name: str) -> Any:
        self.asked.append(name)
        found = self.content.get(name)
        if isinstance(found, Exception):
            raise found
        return found


class DieTree(NamedTuple):
    tag: int
    attributes: tuple[tuple[int, str, Any], ...]
    children: tuple[DieTree, ...] | None
    label: str | None


def die(
    tag: str | int, *parts: Any, label: str | None = None, children: bool = False, dialect: Any = LLVM_CURRENT
) -> DieTree:
    """An entry: attributes and children in any order. ``children=True`` lets it own entries though it owns none."""
    attributes, inner = [], []
    for part in parts:
        if isinstance(part, DieTree):
            inner.append(part)
        else:
            name, form, value = part if len(part) == 3 else (*part, True)
            number = (
                name if isinstance(name, int) else dialect.codes.get(f"DW_AT_{name}") or LLVM_OLD.codes[f"DW_AT_{name}"]
            )
            attributes.append((number, form, value))
    number = tag if isinstance(tag, int) else TAGS[tag]
    return DieTree(number, tuple(attributes), tuple(inner) if inner or children else None, label)


def entry(
    tag: str | int,
    name: str | None = None,
    *parts: Any,
    label: str | None = None,
    dialect: Any = LLVM_CURRENT,
    **values: Any,
) -> DieTree:
    """An entry with attributes as keywords, in the forms that fit: a number, a text or label, an expression, a flag.

    Of another form the value is a pair: ``count=("udata", 1 << 60)``. A text is a label, but for names. ``low_pc`` is
    an address, and ``high_pc`` a size of 4 bytes.
    """
    attributes = [] if name is None else [("name", "string", name)]
    for attribute, value in values.items():
        form = _form_of(attribute, value)
        attributes.append((attribute, *value) if isinstance(value, tuple) else (attribute, form, value))
    return die(tag, *attributes, *parts, label=label, dialect=dialect)


_TEXTS = ("linkage_name", "producer", "comp_dir", "dwo_name")


def _form_of(attribute: str, value: Any) -> str:
    if value is True or attribute in _TEXTS:
        return "string" if attribute in _TEXTS else "flag_present"
    if not isinstance(value, int):
        return "exprloc" if isinstance(value, bytes) else "ref4"
    if attribute in ("low_pc", "high_pc"):
        return "addr" if attribute == "low_pc" else "data4"
    sizes = (size for size in (1, 2, 4, 8) if value < 1 << 8 * size)
    return "sdata" if value < 0 else f"data{next(sizes)}"


class UnitTree(NamedTuple):
    root: DieTree | None
    kind: str = "compile"
    version: int = 5
    offset_size: int = 4
    address_size: int = 8
    section: str = ".debug_info"
    signature: int = 0
    type_label: str | None = None
    dwo_id: int = 0
    trailing: bytes = b""


def unit(root: DieTree | None, kind: str = "compile", **options: Any) -> UnitTree:
    """A unit with its unit entry."""
    return UnitTree(root, kind, **options)


class Built(NamedTuple):
    sections: dict[str, bytes]
    labels: dict[str, tuple[str, int, int]]
    """For each label the section, the offset of the unit and the offset in the unit."""

    def section_offset(self, label: str) -> int:
        _, start, offset = self.labels[label]
        return start + offset


class _Writer:
    def __init__(self, byte_order: str, suffix: str) -> None:
        self.order = byte_order
        self.suffix = suffix
        self.strings = bytearray(b"pad\0")
        self.line_strings = bytearray(b"line\0")
        self.known: dict[tuple[str, bytes], int] = {}
        self.labels: dict[str, tuple[str, int, int]] = {}
        self.info: dict[str, bytearray] = {}
        self.abbreviations = bytearray()
        self.string_offsets = bytearray()
        self.addresses = bytearray()
        self.shared_indices: list[int] = []  # the units of a split file have one table of strings

    def number(self, value: int, size: int) -> bytes:
        return (value & (1 << 8 * size) - 1).to_bytes(size, self.order)

    def string(self, pool: str, text: Any) -> int:
        data = text if isinstance(text, bytes) else text.encode()
        key = pool, data
        if key not in self.known:
            target = self.strings if pool == "str" else self.line_strings
            self.known[key] = len(target)
            target += data + b"\0"
        return self.known[key]


class _UnitWriter:
    """Writes one unit; twice, because references may lead forward."""

    def __init__(self, writer: _Writer, tree: UnitTree) -> None:
        self.w = writer
        self.tree = tree
        self.indices: list[int] = writer.shared_indices if writer.suffix else []  # of .debug_str_offsets
        self.addresses: list[int] = []
        self.shapes: dict[Any, int] = {}
        self.table = bytearray()
        self.out = bytearray()
        self.start = len(writer.info.setdefault(tree.section, bytearray()))

    def index_of(self, values: list[int], value: int) -> int:
        if value not in values:
            values.append(value)
        return values.index(value)

    def write(self) -> bytes:
        body = b""
        for _ in range(2):
            self.out = bytearray(self.header(len(body)))
            if self.tree.root is not None:
                self.entry(self.tree.root)
            self.out += self.tree.trailing
            body = bytes(self.out)
        return body

    def header(self, size: int) -> bytes:
        w, tree = self.w, self.tree
        n = tree.offset_size
        length = max(size - (4 if n == 4 else 12), 0)
        out = w.number(length, 4) if n == 4 else b"\xff" * 4 + w.number(length, 8)
        out += w.number(tree.version, 2)
        place = w.number(len(w.abbreviations), n)
        if tree.version >= 5:
            out += bytes([UNIT_TYPES.get(tree.kind, 0) or int(tree.kind, 0), tree.address_size]) + place
        else:
            out += place + bytes([tree.address_size])
        if tree.kind in ("type", "split_type"):
            label = w.labels.get(tree.type_label or "", ("", 0, 0))
            out += w.number(tree.signature, 8) + w.number(label[2], n)
        elif tree.version >= 5 and tree.kind in ("skeleton", "split_compile"):
            out += w.number(tree.dwo_id, 8)
        return out

    def entry(self, tree: DieTree) -> None:
        if tree.label is not None:
            self.w.labels[tree.label] = (self.tree.section, self.start, len(self.out))
        shape = (
            tree.tag,
            tree.children is not None,
            tuple((n, form, value if form == "implicit_const" else None) for n, form, value in tree.attributes),
        )
        code = self.shapes.get(shape)
        if code is None:
            code = self.shapes[shape] = len(self.shapes) + 1
            self.table += encode_unsigned(code) + encode_unsigned(tree.tag) + bytes([shape[1]])
            for number, form, value in tree.attributes:
                self.table += encode_unsigned(number) + encode_unsigned(FORM_CODES[form.split("/")[0].rstrip("#")])
                if form == "implicit_const":
                    self.table += encode_signed(value)
            self.table += b"\0\0"
        self.out += encode_unsigned(code)
        for _, form, value in tree.attributes:
            self.out += self.value(form, value)
        if tree.children is not None:
            for child in tree.children:
                self.entry(child)
            self.out += b"\0"

    def value(self, form: str, value: Any) -> bytes:
        w = self.w
        if form == "sec_offset" and value in ("strings", "addresses"):  # the base of the table this unit will have
            size = (8 if self.tree.offset_size == 4 else 16) if self.tree.version >= 5 else 0
            value = size + len(w.string_offsets if value == "strings" else w.addresses)
        if form.startswith("indirect/"):
            inner = form.removeprefix("indirect/")
            return encode_unsigned(FORM_CODES[inner.split("/")[0]]) + self.value(inner, value)
        if form in REFERENCES and isinstance(value, str):
            _, start, offset = w.labels.get(value, ("", 0, 0))
            value = (
                offset
                if form.startswith("ref") and form not in ("ref_addr", "ref_sup4", "ref_sup8")
                else start + offset
            )
            if form == "ref_udata":  # padded, so that the size does not depend on the offset
                return bytes([value & 0x7F | 0x80, value >> 7 & 0x7F | 0x80, value >> 14])
        elif form in ("strp", "strp_sup", "GNU_strp_alt") and not isinstance(value, int):
            value = w.string("str", value)
        elif form == "line_strp" and not isinstance(value, int):
            value = w.string("line", value)
        elif form.startswith(("strx", "GNU_str_index")) and not isinstance(value, int):
            value = self.index_of(self.indices, w.string("str", value))
        elif form.startswith(("addrx", "GNU_addr_index")) and form[-1] != "#":
            value = self.index_of(self.addresses, value)
        return self.encode(form.rstrip("#"), value)

    def encode(self, form: str, value: Any) -> bytes:
        tree, number = self.tree, self.w.number
        encoding = FORMS[FORM_CODES[form]].encoding
        if encoding in ("nothing", "implicit"):
            return b""
        if encoding == "uleb":
            return encode_unsigned(value)
        if encoding == "sleb":
            return encode_signed(value)
        if encoding == "string":
            return (value if isinstance(value, bytes) else value.encode()) + b"\0"
        if encoding == "block":
            return encode_unsigned(len(value)) + value
        if encoding.startswith("block"):
            return number(len(value), int(encoding[5:])) + value
        if encoding == "index_offset":
            return encode_unsigned(self.index_of(self.addresses, value[0])) + number(value[1], 4)
        if encoding[0] == "u":
            return number(value, int(encoding[1:]))
        size = (
            tree.address_size
            if encoding == "address" or (encoding == "reference" and tree.version == 2)
            else tree.offset_size
        )
        return number(value, size)

    def finish(self, *, last: bool) -> None:
        w, tree = self.w, self.tree
        w.info[tree.section] += self.write()
        w.abbreviations += self.table + b"\0"
        if self.indices and (last or not w.suffix):
            content = b"".join(w.number(place, tree.offset_size) for place in self.indices)
            w.string_offsets += self.table_header(4 + len(content), b"\0\0") + content
        if self.addresses:
            content = b"".join(w.number(address, tree.address_size) for address in self.addresses)
            w.addresses += self.table_header(4 + len(content), bytes([tree.address_size, 0])) + content

    def table_header(self, length: int, rest: bytes) -> bytes:
        if self.tree.version < 5:
            return b""
        w = self.w
        wide = b"\xff" * 4 + w.number(length, 8)
        return (w.number(length, 4) if self.tree.offset_size == 4 else wide) + w.number(5, 2) + rest


def build(
    *units: UnitTree, byte_order: str = "little", suffix: str = "", extra: dict[str, bytes] | None = None
) -> Built:
    """The sections of some units.

    A unit with strings or addresses by index names its tables: ``("str_offsets_base", "sec_offset", "strings")`` and
    ``("addr_base", "sec_offset", "addresses")``.
    """
    writer = _Writer(byte_order, suffix)
    for tree in units:  # once to learn the labels of all units, and once for good
        first = _UnitWriter(writer, tree)
        writer.info[tree.section] += first.write()
    labels, known, strings, lines = writer.labels, writer.known, writer.strings, writer.line_strings
    writer = _Writer(byte_order, suffix)
    writer.labels, writer.known, writer.strings, writer.line_strings = labels, known, strings, lines
    for tree in units:
        _UnitWriter(writer, tree).finish(last=tree is units[-1])
    sections = {name: bytes(data) for name, data in writer.info.items()}
    sections[f".debug_abbrev{suffix}"] = bytes(writer.abbreviations)
    sections[f".debug_str{suffix}"] = bytes(writer.strings)
    sections[f".debug_line_str{suffix}"] = bytes(writer.line_strings)
    sections[f".debug_str_offsets{suffix}"] = bytes(writer.string_offsets)
    sections[".debug_addr"] = bytes(writer.addresses)
    return Built({**{name: data for name, data in sections.items() if data}, **(extra or {})}, writer.labels)


def dwarf(*units: UnitTree, byte_order: str = "little", extra: dict[str, bytes] | None = None, **options: Any) -> Any:
    """What the reader makes of some units."""
    from dwarfgpu.objfile.indexes.lookup import Dwarf

    built = build(*units, byte_order=byte_order, extra=extra)
    size = units[0].address_size if units else 8
    return Dwarf(DictSections(built.sections, byte_order=byte_order, address_size=size), **options)
