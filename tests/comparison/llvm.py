"""The output of llvm-dwarfdump as rows.

What it prints besides the content of a file is left out: the names of types that references lead to, the names of
sections that addresses are in, and the names of registers where the operation implies them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from tests.comparison.rows import Row, header

if TYPE_CHECKING:
    from dwarfgpu.targets.target import Target

_SECTION = re.compile(r"^\.(\S+) contents:$")


class Dump:
    """What llvm-dwarfdump printed about one file. ``target`` knows the numbers of the registers that it names."""

    def __init__(self, text: str, target: Target) -> None:
        self.target = target
        self.blocks: list[tuple[str, list[str]]] = []
        for line in text.splitlines():
            match = _SECTION.match(line)
            if match:
                self.blocks.append(("." + match[1], []))
            elif line.startswith("$ "):
                self.blocks.append(("", []))
            elif self.blocks and line and not line.startswith("! "):
                self.blocks[-1][1].append(line)

    def rows(self) -> Iterator[Row]:
        for section, lines in self.blocks:
            reader = READERS.get(section.removesuffix(".dwo"))
            if reader is not None:
                yield from reader(self, section, lines)

    # --- Expressions ----------------------------------------------------------------------------------------------

    def operations(self, text: str) -> str:
        """The operations of an expression."""
        text, error, rest = text.partition("<decoding error>")
        shown = [" ".join(map(str, each)) for each in printed_operations(text, self.target)]
        if error:
            shown.append(f"<{rest.strip(' )')}>")
        return "; ".join(shown)

    # --- Units and entries ----------------------------------------------------------------------------------------

    def units(self, section: str, lines: list[str]) -> Iterator[Row]:
        attribute, place, count = "", "", 0
        for line in lines:
            if match := _ATTRIBUTE.match(line):
                attribute, text = match[1], match[3]
                place, count = f"{die} {attribute}", 0
                if text.startswith(("(DW_OP_", "(<decoding", "(<empty>")):
                    yield Row("dies", place, match[2])
                    yield Row("expressions", place, self.operations(text))
                else:
                    yield Row("dies", place, f"{match[2]} {value(attribute, match[2], text)}".rstrip())
            elif match := _DIE.match(line):
                die = f"{section}+0x{int(match[1], 16):x}"
                parent = f" in {int(match[5], 16):#x}" if match[5] else ""
                yield Row("dies", die, f"{match[2]} [{match[3]}]{match[4].strip()}{parent}")
            elif match := _UNIT.match(line):
                yield Row("units", f"{section}+{int(match[1], 16):#x}", unit(match[2], match[3]))
            elif match := _RESOLVED.match(line):
                yield Row("lists", f"{place} #{count}", self.resolved(match))
                count += 1
            elif not _NULL.match(line):
                yield Row("lists", f"{place} #{count}", f"? {line.strip()}")
                count += 1

    def resolved(self, match: re.Match[str]) -> str:
        expression = "" if match["expression"] is None else " " + self.operations(match["expression"])
        if match["kind"]:
            numbers = [int(number, 16) for number in re.findall(r"0x[0-9a-f]+", match["raw"])]
            return f"{match['kind']} {' '.join(map(hex, numbers))}{expression}".rstrip()
        if match["default"]:
            return f"default{expression}".rstrip()
        return f"{int(match['start'], 16):#x}..{int(match['end'], 16):#x}{expression}".rstrip()

    # --- Lists ----------------------------------------------------------------------------------------------------

    def location_lists(self, section: str, lines: list[str]) -> Iterator[Row]:
        where, count, entry = section, 0, ""
        for line in lines:
            if match := _LIST_HEADER.match(line):
                where, count = f"{section}+{int(match[1], 16):#x}", 0
                yield Row("list sections", f"{where} header", fields(match[2]))
            elif match := _OFFSET.match(line):
                yield Row("list sections", f"{where} offset {count}", f"{int(match[1], 16):#x}")
                count += 1
            elif match := _LIST.match(line):
                where, count = f"{section}+{int(match[1], 16):#x}", 0
                if match[2]:
                    yield Row("list sections", where, match[2])
            elif match := _ARROW.match(line):
                yield Row("list sections", f"{where} #{count - 1}", f"{entry} {self.operations(match[1])}".rstrip())
                entry = ""
            elif match := _LLE.match(line) or _LOC.match(line):
                if entry:
                    yield Row("list sections", f"{where} #{count - 1}", entry)
                kind = match["kind"] or "pair"
                numbers = [int(number, 16) for number in re.findall(r"0x[0-9a-f]+", match["operands"])]
                entry = " ".join([kind.removeprefix("DW_LLE_"), *map(hex, numbers)])
                if entry == "end_of_list":
                    entry = ""
                    continue
                if match["expression"] is not None:
                    yield Row(
                        "list sections", f"{where} #{count}", f"{entry} {self.operations(match['expression'])}".rstrip()
                    )
                    entry = ""
                count += 1
            elif line not in ("offsets: [", "]"):
                yield Row("list sections", f"{where} #{count}", f"? {line.strip()}")
        if entry:
            yield Row("list sections", f"{where} #{count - 1}", entry)

    def range_lists(self, section: str, lines: list[str]) -> Iterator[Row]:
        where, count = section, 0
        for line in lines:
            if match := _RLE.match(line):
                numbers = re.findall(r"0x[0-9a-f]+", match[3].partition("=>")[0])
                words = [match[2].strip().removeprefix("DW_RLE_"), *(f"{int(number, 16):#x}" for number in numbers)]
                if words != ["end_of_list"]:
                    yield Row("list sections", f"{section}+{int(match[1], 16):#x}", " ".join(words))
            elif match := _LIST_HEADER.match(line):
                where, count = f"{section}+{int(match[1], 16):#x}", 0
                yield Row("list sections", f"{where} header", fields(match[2]))
            elif match := _OFFSET.match(line):
                yield Row("list sections", f"{where} offset {count}", f"{int(match[1], 16):#x}")
                count += 1
            elif line not in ("offsets: [", "]", "ranges:"):
                yield Row("list sections", where, f"? {line.strip()}")

    def ranges(self, section: str, lines: list[str]) -> Iterator[Row]:
        last, count = -1, 0
        for line in lines:
            start, *words = line.split()
            if words[0] != "<End":
                count = count + 1 if int(start, 16) == last else 0
                last = int(start, 16)
                where = f"{section}+{last:#x} #{count}"
                yield Row("list sections", where, " ".join(f"{int(word, 16):#x}" for word in words))
            else:
                last = -1

    # --- Tables ---------------------------------------------------------------------------------------------------

    def addresses(self, section: str, lines: list[str]) -> Iterator[Row]:
        where, count = section, 0
        for line in lines:
            if match := _LIST_HEADER.match(line):
                where, count = f"{section}+{int(match[1], 16):#x}", 0
                yield Row("tables", f"{where} header", fields(match[2]))
            elif re.fullmatch("0x[0-9a-f]+", line):
                yield Row("tables", f"{where} [{count}]", f"{int(line, 16):#x}")
                count += 1
            elif not line.endswith(("Addrs: [", "]")):
                yield Row("tables", where, f"? {line}")

    def string_offsets(self, section: str, lines: list[str]) -> Iterator[Row]:
        for line in lines:
            if match := re.match(r'^0x([0-9a-f]+): ([0-9a-f]+) "', line):
                yield Row("tables", f"{section}+{int(match[1], 16):#x}", f"{int(match[2], 16):#x}")

    def package(self, section: str, lines: list[str]) -> Iterator[Row]:
        columns: list[str] = []
        for line in lines:
            if line.startswith("Index"):
                columns = line.split()[2:]
            elif match := re.match(r"^ *\d+ 0x([0-9a-f]+) (.*)$", line):
                parts = re.findall(r"\[0x([0-9a-f]+), 0x([0-9a-f]+)\)", match[2])
                shown = [
                    f"{column}={int(start, 16):#x}..{int(end, 16):#x}"
                    for column, (start, end) in zip(columns, parts, strict=True)
                    if start != end
                ]
                yield Row("tables", f"{section} {int(match[1], 16):#x}", " ".join(sorted(shown)))

    def address_sets(self, section: str, lines: list[str]) -> Iterator[Row]:
        table = number = -1
        for line in lines:
            if line.startswith("Address Range Header"):
                table, number = table + 1, -1
                unit_offset = int(re.findall("cu_offset = 0x([0-9a-f]+)", line)[0], 16)
                yield Row("names", f"{section} {table}", f"unit={unit_offset:#x}")
            elif match := _RESOLVED.match(line):
                number += 1
                yield Row("names", f"{section} {table} #{number}", self.resolved(match))

    def names(self, section: str, lines: list[str]) -> Iterator[Row]:
        where = name = entry = ""
        found: dict[str, str] = {}

        def finished() -> Iterator[Row]:
            if entry:
                yield Row("names", entry, header(**found))
                found.clear()

        for line in lines:
            key, _, text = line.strip().partition(": ")
            if match := re.match(r"^Name Index @ 0x([0-9a-f]+)", line):
                where = f"{section}+{int(match[1], 16):#x}"
            elif match := re.match(r"^ +(CU|LocalTU|ForeignTU)\[(\d+)\]: (\S+)", line):
                yield Row("names", f"{where} {match[1]}[{match[2]}]", f"{int(match[3], 16):#x}")
            elif key in ("Version", "Augmentation", "Name count", "Bucket count"):
                yield Row("names", f"{where} {key}", text.strip("'"))
            elif match := re.match(r"^ +Name (\d+) \{", line):
                name = f"{where} name {int(match[1]) - 1}"
            elif key == "Hash":
                yield Row("names", f"{name} hash", f"{int(text, 16):#x}")
            elif key == "String":
                offset, _, string = text.partition(" ")
                yield Row("names", name, f"{int(offset, 16):#x} {string}")
            elif match := re.match(r"^ +Entry @ (0x[0-9a-f]+) \{", line):
                yield from finished()
                entry = f"{name} entry {match[1]}"
            elif entry and key == "DW_IDX_parent":
                found["parent"] = text.split()[-1] if text.startswith("Entry") else "none"
            elif entry and key == "Tag":
                found["tag"] = text
            elif entry and key.startswith("DW_IDX_") and not text.startswith("DW_FORM"):
                found[key.removeprefix("DW_IDX_")] = f"{int(text, 16):#x}"
        yield from finished()

    # --- Line tables ----------------------------------------------------------------------------------------------

    def lines(self, section: str, lines: list[str]) -> Iterator[Row]:
        where = section
        found: dict[str, str] = {}
        lengths: list[str] = []
        entry: dict[str, str] = {}
        number = 0
        for line in lines:
            if match := _LINE_ROW.match(line):
                address, row_line, column, file, isa, discriminator, op_index, flags = match.groups()
                words = [f"{int(address, 16):#x} {file}:{row_line}:{column}", *flags.split()]
                for name, text in (("isa", isa), ("discriminator", discriminator), ("op_index", op_index)):
                    words += [f"{name}={text}"] if text != "0" else []
                yield Row("lines", f"{where} row {number}", " ".join(words))
                number += 1
            elif match := re.match(r"^debug_line(?:\.dwo)?\[0x([0-9a-f]+)\]", line):
                if entry:
                    yield _file(entry)
                where, number = f"{section}+{int(match[1], 16):#x}", 0
                found, lengths, entry = {}, [], {}
            elif match := re.match(r"^standard_opcode_lengths\[(?:.*)\] = (\d+)", line):
                lengths.append(match[1])
            elif match := re.match(r"^include_directories\[ *(\d+)\] = (.*)$", line):
                if found:
                    yield Row("lines", f"{where} header", _line_header(found, lengths))
                    found = {}
                yield Row("lines", f"{where} directory {match[1]}", match[2])
            elif match := re.match(r"^file_names\[ *(\d+)\]:", line):
                if found:
                    yield Row("lines", f"{where} header", _line_header(found, lengths))
                    found = {}
                if entry:
                    yield _file(entry)
                entry = {"where": f"{where} file {match[1]}"}
            elif line.startswith("Address  ") or line.startswith("-----"):
                if found:
                    yield Row("lines", f"{where} header", _line_header(found, lengths))
                    found = {}
                if entry:
                    yield _file(entry)
                    entry = {}
            elif match := re.match(r"^ *(\w+): (.*)$", line):
                (entry or found)[match[1]] = match[2]
        if found:
            yield Row("lines", f"{where} header", _line_header(found, lengths))
        if entry:
            yield _file(entry)


READERS: dict[str, Callable[[Dump, str, list[str]], Iterator[Row]]] = {
    ".debug_info": Dump.units,
    ".debug_types": Dump.units,
    ".debug_loc": Dump.location_lists,
    ".debug_loclists": Dump.location_lists,
    ".debug_ranges": Dump.ranges,
    ".debug_rnglists": Dump.range_lists,
    ".debug_addr": Dump.addresses,
    ".debug_str_offsets": Dump.string_offsets,
    ".debug_cu_index": Dump.package,
    ".debug_tu_index": Dump.package,
    ".debug_aranges": Dump.address_sets,
    ".debug_names": Dump.names,
    ".debug_line": Dump.lines,
}

# --- Headers ------------------------------------------------------------------------------------------------------

_LIST_HEADER = re.compile(r"^0x([0-9a-f]+): (?:locations list|range list|Address table) header: (.*)$")
_FIELD = re.compile(r"(\w+) = (\S+?)(?:,|$| \()")


def fields(text: str) -> str:
    """The fields of the header of a table."""
    found = dict(_FIELD.findall(text))
    return header(
        length=int(found["length"], 16),
        format=found["format"],
        version=int(found["version"], 16),
        address_size=int(found["addr_size"], 16),
        segment_size=int(found["seg_size"], 16),
        count=int(found["offset_entry_count"], 16) if "offset_entry_count" in found else None,
    )


def unit(kind: str, text: str) -> str:
    """The fields of the header of a unit."""
    found = dict(_FIELD.findall(text))
    return header(
        length=int(found["length"], 16),
        format=found["format"],
        version=int(found["version"], 16),
        type=found.get("unit_type", f"DW_UT_{kind.lower()}"),
        abbreviations=int(found["abbr_offset"], 16),
        address_size=int(found["addr_size"], 16),
        signature=int(found["type_signature"], 16) if "type_signature" in found else None,
        type_offset=int(found["type_offset"], 16) if "type_offset" in found else None,
        id=int(found["DWO_id"], 16) if "DWO_id" in found else None,
        next=int(text.rpartition(" ")[2], 16),
    )


# --- Entries ------------------------------------------------------------------------------------------------------

_UNIT = re.compile(r"^0x([0-9a-f]+): (Compile|Type) Unit: (.*)\)$")
_DIE = re.compile(r"^0x([0-9a-f]+): +(DW_TAG_\S+) \[(\d+)\] ([* ])(?: \(0x([0-9a-f]+)\))?")
_NULL = re.compile(r"^0x[0-9a-f]+: +NULL$")
_ATTRIBUTE = re.compile(r"^ +(DW_AT_\S+) \[(DW_FORM_\S+)\]\t?(.*)$")
_INDEXED = re.compile(r"^\(indexed \((?:0x)?([0-9a-f]+)\) ")
_STRING = re.compile(r'("(?:[^"\\]|\\.)*")\)?$')


def value(attribute: str, form: str, text: str) -> str:
    """The value of an attribute."""
    match = _INDEXED.match(text)
    if match:
        index, rest = f"[{int(match[1], 16)}] ", text[match.end() :].partition("= ")[2]
        offset = re.match(r"^\+ (0x[0-9a-f]+) ", text[match.end() :])
        if offset:
            index = f"{index}+ {int(offset[1], 16):#x} "
        if "string = " in text:
            found = _STRING.search(text)
            return index + (found[1] if found else "?")
        number = re.match("0x[0-9a-f]+", rest)
        return index + (f"{int(number[0], 16):#x}" if number else "?")
    if match := re.match(r"^\(cu \+ (0x[0-9a-f]+) => \{(0x[0-9a-f]+)\}", text):
        return f"{int(match[1], 16):#x} -> {int(match[2], 16):#x}"
    if match := re.match(r"^\( \.(\w+)\[(0x[0-9a-f]+)\] = ", text):
        return f"{int(match[2], 16):#x} {text[match.end() : -1]}"
    if match := re.match(r'^\((".*")\)$', text):
        return match[1]
    if match := re.match(r"^\(<(0x[0-9a-f]+)> ([0-9a-f ]*)\)$", text):
        return match[2].strip()
    if "(DW_FORM(" in text:
        return "?"
    if form == "DW_FORM_data16":
        return text.strip("()")
    if match := re.match(r"^\((DW_[A-Z]+_\w+)\)$", text):
        return match[1]
    if match := re.search(r"(-?\b(?:0x[0-9a-f]+|\d+))\b", text):
        return hex(int(match[1], 0))
    return {"(true)": "0x1"}.get(text, f"? {text}")


# --- Lists --------------------------------------------------------------------------------------------------------

_RESOLVED = re.compile(
    r"^ *(?:(?P<kind>DW_LLE_\w+|DW_RLE_\w+)? *(?P<raw>\(0x[^)]*\))|(?P<default><default>)"
    r"|\[(?P<start>0x[0-9a-f]+), (?P<end>0x[0-9a-f]+)\))(?: \".*\"\)?)?(?:: (?P<expression>.*)|\)*)$"
)
_OFFSET = re.compile(r"^(0x[0-9a-f]+) => 0x[0-9a-f]+$")
_LIST = re.compile(r"^0x([0-9a-f]+): ?(.*)$")
_LLE = re.compile(r"^ +(?P<kind>DW_LLE_\w+) *\((?P<operands>[^)]*)\)(?: \".*?\")?(?:: (?P<expression>.*))?$")
_LOC = re.compile(r"^ +(?P<kind>)\((?P<operands>[^)]*)\)(?: \".*?\")?(?:: (?P<expression>.*))?$")
_ARROW = re.compile(r"^ +=> (?:\[[^)]*\)|<default>)[^:]*: (.*)$")
_RLE = re.compile(r"^0x([0-9a-f]+): \[DW_RLE_(\w+) *\](.*)$")

# --- Line tables --------------------------------------------------------------------------------------------------

_LINE_ROW = re.compile(
    r"^(0x[0-9a-f]{8,16}) +(\d+) +(\d+) +(\d+) +(\d+) +(\d+) +(\d+) +((?:[a-z_]+ ?)*)$"
)


def _line_header(found: dict[str, str], lengths: list[str]) -> str:
    if "opcode_base" not in found:
        return "?"
    return header(
        length=int(found["total_length"], 16),
        format=found["format"],
        version=int(found["version"]),
        address_size=int(found["address_size"]) if "address_size" in found else None,
        header_length=int(found["prologue_length"], 16),
        instruction=int(found["min_inst_length"]),
        operations=int(found.get("max_ops_per_inst", "1")),
        is_stmt=int(found["default_is_stmt"]),
        line_base=found["line_base"],
        line_range=int(found["line_range"]),
        opcode_base=int(found["opcode_base"]),
        lengths=",".join(lengths),
    )


def _file(entry: dict[str, str]) -> Row:
    words = [entry["name"], f"directory={entry['dir_index']}"]
    words += [
        f"{name}={int(entry[key], 16)}"
        for name, key in (("time", "mod_time"), ("size", "length"))
        if int(entry.get(key, "0"), 16)
    ]
    words += [f"{key}={entry[word]}" for key, word in (("md5", "md5_checksum"), ("source", "source")) if word in entry]
    return Row("lines", entry["where"], " ".join(words))


# --- Expressions --------------------------------------------------------------------------------------------------

_REGISTERS = {"PC_REG": 16, "EXEC_LO": 1}
"""Names of registers that AMDGPU usage, "Register Identifier", does not have."""
_TOKEN = re.compile(r"[A-Za-z_][\w.]*|[+-]?0x[0-9a-f]+|[+-]?\d+")


def printed_operations(text: str, target: Target) -> list[list[str | int]]:
    """The operations that llvm-dwarfdump prints, as names and numbers.

    It prints ``DW_OP_LLVM_user`` before the name of a user operation, a register by its name before ``+`` or ``-``, and
    beside the name of an operation that implies it; a block as its length and bytes; ``(0x00000024 -> 0x0000002f)
    "int"`` for a base type, whose second number is its offset in the section; an expression in parentheses that it does
    not close when it holds more than one operation.
    """
    text = re.sub(r'"[^"]*"', "", text)
    text = re.sub(r"\((0x[0-9a-f]+) -> 0x[0-9a-f]+\)", r"\1", text)
    text = text.replace("DW_OP_LLVM_user DW_OP", "DW_OP")
    operations: list[list[str | int]] = []
    for token in _TOKEN.findall(text.partition("<")[0]):
        if token.startswith("DW_OP_"):
            operations.append([token])
        elif token[0].isalpha():
            if not re.fullmatch(r"DW_OP_b?reg\d+", str(operations[-1][0])):
                register = target.register_named(token)
                operations[-1].append(_REGISTERS.get(token, token) if register is None else register.number)
        else:
            operations[-1].append(int(token, 0))
    return operations
