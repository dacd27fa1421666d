"""The output of llvm-dwarfdump as rows.

What it prints besides the content of a file is left out: the names of types that references lead to, the names of
sections that addresses are in, and the names of registers where the operation implies them.
"""

import re
from collections.abc import Callable, Iterator

from dwarfgpu.targets.target import Target
from tests.comparison.rows import UNREAD, Row, header

_TOKEN = re.compile(r"[A-Za-z_][\w.]*|[+-]?0x[0-9a-f]+|[+-]?\d+")
REGISTERS = {
    "PC_REG": 16,  # AMDGPU
    "EXEC_LO": 1,
    "ECX": 1,  # i386
    **{f"MM{n}": 29 + n for n in range(8)},
    **{f"F{n}": 32 + n for n in range(32)},  # PowerPC
    **{f"X{n}": n for n in range(32)},
    **{f"S{n}": 1200 + n for n in range(32)}}  # fmt: skip
"""Registers that have another name in dwarfgpu, or belong to a target that it does not describe."""


def operations_of(text: str, target: Target) -> str:
    """The operations that llvm-dwarfdump prints: names, and operands as decimal numbers; at last the undecoded bytes.

    It prints ``DW_OP_LLVM_user`` before the name of a user operation, a register by its name before ``+`` or ``-``, and
    beside the name of an operation that implies it; a block as its length and bytes; ``(0x00000024 -> 0x0000002f)
    "int"`` for a base type, whose second number is its offset in the section; an expression in parentheses that it does
    not close when it holds more than one operation.
    """
    text, error, rest = text.replace("<empty>", "").partition("<decoding error>")
    text = re.sub(r'"[^"]*"', "", text)
    text = re.sub(r"\((0x[0-9a-f]+) -> 0x[0-9a-f]+\)", r"\1", text)
    operations: list[list[str]] = []
    for token in _TOKEN.findall(text.replace("DW_OP_LLVM_user DW_OP", "DW_OP")):
        if token.startswith("DW_OP_"):
            operations.append([token])
        elif not token[0].isalpha():
            operations[-1].append(str(int(token, 0)))
        elif not re.fullmatch(r"DW_OP_b?reg\d+", operations[-1][0]):
            register = target.register_named(token)
            operations[-1].append(str(REGISTERS.get(token, token) if register is None else register.number))
    shown = [" ".join(words) for words in operations]
    return "; ".join([*shown, f"<{rest.strip(' )')}>"] if error else shown)


_TABLE = re.compile(r"^debug_line(?:\.dwo)?\[0x([0-9a-f]+)\]")
_LENGTH = re.compile(r"^standard_opcode_lengths\[.*\] = (\d+)")
_DIRECTORY = re.compile(r"^include_directories\[ *(\d+)\] = (.*)$")
_FILE = re.compile(r"^file_names\[ *(\d+)\]:")
_FIELD = re.compile(r"^ *(\w+): (.*)$")
_ROW = re.compile(r"^(0x[0-9a-f]{8,16}) +(\d+) +(\d+) +(\d+) +(\d+) +(\d+) +(\d+) +((?:[a-z_]+ ?)*)$")


def line_rows(section: str, lines: list[str], target: Target) -> Iterator[Row]:
    where, first = section, 0
    for number, line in enumerate(lines):
        if match := _TABLE.match(line):
            yield from _table(where, lines[first:number])
            where, first = f"{section}+{int(match[1], 16):#x}", number
    yield from _table(where, lines[first:])


def _table(where: str, lines: list[str]) -> Iterator[Row]:
    fields: dict[str, str] = {}
    lengths: list[str] = []
    files: dict[str, dict[str, str]] = {}
    found = fields  # what the fields that follow belong to
    number = 0
    for line in lines:
        if match := _ROW.match(line):
            yield Row("lines", f"{where} row {number}", _row(*match.groups()))
            number += 1
        elif match := _LENGTH.match(line):
            lengths.append(match[1])
        elif match := _DIRECTORY.match(line):
            yield Row("lines", f"{where} directory {match[1]}", match[2])
        elif match := _FILE.match(line):
            found = files[match[1]] = {}
        elif match := _FIELD.match(line):
            found[match[1]] = match[2]
    if fields:
        yield Row("lines", f"{where} header", _header(fields, lengths))
    for name, file in files.items():
        yield Row("lines", f"{where} file {name}", _file(file))


def _row(
    address: str, line: str, column: str, file: str, isa: str, discriminator: str, op_index: str, flags: str
) -> str:
    words = [f"{int(address, 16):#x} {file}:{line}:{column}", *flags.split()]
    registers = {"isa": isa, "discriminator": discriminator, "op_index": op_index}
    return " ".join([*words, *(f"{name}={text}" for name, text in registers.items() if text != "0")])


def _header(fields: dict[str, str], lengths: list[str]) -> str:
    if "opcode_base" not in fields:  # of a version that it does not know
        return "?"
    return header(
        length=int(fields["total_length"], 16), format=fields["format"], version=int(fields["version"]),
        address_size=int(fields["address_size"]) if "address_size" in fields else None,
        header_length=int(fields["prologue_length"], 16), instruction=int(fields["min_inst_length"]),
        operations=int(fields.get("max_ops_per_inst", "1")), is_stmt=int(fields["default_is_stmt"]),
        line_base=fields["line_base"], line_range=int(fields["line_range"]), opcode_base=int(fields["opcode_base"]),
        lengths=",".join(lengths))  # fmt: skip


def _file(fields: dict[str, str]) -> str:
    words = [fields["name"], f"directory={fields['dir_index']}"]
    for name, key in (("time", "mod_time"), ("size", "length")):
        if number := int(fields.get(key, "0"), 16):
            words.append(f"{name}={number}")
    for name, key in (("md5", "md5_checksum"), ("source", "source")):
        if key in fields:
            words.append(f"{name}={fields[key]}")
    return " ".join(words)


LIST_HEADER = re.compile(r"^0x([0-9a-f]+): (?:locations list|range list|Address table) header: (.*)$")
FIELD = re.compile(r"(\w+) = (\S+?)(?:,|$| \()")
RESOLVED = re.compile(
    r"^ *(?:(?P<kind>DW_LLE_\w+|DW_RLE_\w+)? *(?P<raw>\(0x[^)]*\))|(?P<default><default>)"
    r"|\[(?P<start>0x[0-9a-f]+), (?P<end>0x[0-9a-f]+)\))(?: \".*\"\)?)?(?:: (?P<expression>.*)|\)*)$"
)
_OFFSET = re.compile(r"^(0x[0-9a-f]+) => 0x[0-9a-f]+$")
_LIST = re.compile(r"^0x([0-9a-f]+): ?(.*)$")
_LLE = re.compile(r"^ +(?P<kind>DW_LLE_\w+) *\((?P<operands>[^)]*)\)(?: \".*?\")?(?:: (?P<expression>.*))?$")
_LOC = re.compile(r"^ +(?P<kind>)\((?P<operands>[^)]*)\)(?: \".*?\")?(?:: (?P<expression>.*))?$")
_ARROW = re.compile(r"^ +=> (?:\[[^)]*\)|<default>)[^:]*: (.*)$")
_RLE = re.compile(r"^0x([0-9a-f]+): \[DW_RLE_(\w+) *\](.*)$")


def fields(text: str) -> str:
    found = dict(FIELD.findall(text))
    return header(
        length=int(found["length"], 16), format=found["format"], version=int(found["version"], 16),
        address_size=int(found["addr_size"], 16), segment_size=int(found["seg_size"], 16),
        count=int(found["offset_entry_count"], 16) if "offset_entry_count" in found else None)  # fmt: skip


def resolved(match: re.Match[str], target: Target) -> str:
    """An entry of a list whose addresses are known, or one that is shown as it is encoded."""
    expression = "" if match["expression"] is None else " " + operations_of(match["expression"], target)
    if match["kind"]:
        numbers = [int(number, 16) for number in re.findall(r"0x[0-9a-f]+", match["raw"])]
        return f"{match['kind']} {' '.join(map(hex, numbers))}{expression}".rstrip()
    if match["default"]:
        return f"default{expression}".rstrip()
    return f"{int(match['start'], 16):#x}..{int(match['end'], 16):#x}{expression}".rstrip()


def location_list_rows(section: str, lines: list[str], target: Target) -> Iterator[Row]:
    where, count, entry = section, 0, ""
    for line in lines:
        if match := LIST_HEADER.match(line):
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
            yield Row("list sections", f"{where} #{count - 1}", f"{entry} {operations_of(match[1], target)}".rstrip())
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
                    "list sections",
                    f"{where} #{count}",
                    f"{entry} {operations_of(match['expression'], target)}".rstrip(),
                )
                entry = ""
            count += 1
        elif line not in ("offsets: [", "]"):
            yield Row("list sections", f"{where} #{count}", f"{UNREAD} {line.strip()}")
    if entry:
        yield Row("list sections", f"{where} #{count - 1}", entry)


def range_list_rows(section: str, lines: list[str], target: Target) -> Iterator[Row]:
    where, count = section, 0
    for line in lines:
        if match := _RLE.match(line):
            numbers = re.findall(r"0x[0-9a-f]+", match[3].partition("=>")[0])
            words = [match[2].strip().removeprefix("DW_RLE_"), *(f"{int(number, 16):#x}" for number in numbers)]
            if words != ["end_of_list"]:
                yield Row("list sections", f"{section}+{int(match[1], 16):#x}", " ".join(words))
        elif match := LIST_HEADER.match(line):
            where, count = f"{section}+{int(match[1], 16):#x}", 0
            yield Row("list sections", f"{where} header", fields(match[2]))
        elif match := _OFFSET.match(line):
            yield Row("list sections", f"{where} offset {count}", f"{int(match[1], 16):#x}")
            count += 1
        elif line not in ("offsets: [", "]", "ranges:"):
            yield Row("list sections", where, f"{UNREAD} {line.strip()}")


def range_rows(section: str, lines: list[str], target: Target) -> Iterator[Row]:
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


def address_rows(section: str, lines: list[str], target: Target) -> Iterator[Row]:
    where, count = section, 0
    for line in lines:
        if match := LIST_HEADER.match(line):
            where, count = f"{section}+{int(match[1], 16):#x}", 0
            yield Row("tables", f"{where} header", fields(match[2]))
        elif re.fullmatch("0x[0-9a-f]+", line):
            yield Row("tables", f"{where} [{count}]", f"{int(line, 16):#x}")
            count += 1
        elif not line.endswith(("Addrs: [", "]")):
            yield Row("tables", where, f"{UNREAD} {line}")


def string_offset_rows(section: str, lines: list[str], target: Target) -> Iterator[Row]:
    for line in lines:
        if match := re.match(r'^0x([0-9a-f]+): ([0-9a-f]+) "', line):
            yield Row("tables", f"{section}+{int(match[1], 16):#x}", f"{int(match[2], 16):#x}")


def package_rows(section: str, lines: list[str], target: Target) -> Iterator[Row]:
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


def address_set_rows(section: str, lines: list[str], target: Target) -> Iterator[Row]:
    table = number = -1
    for line in lines:
        if line.startswith("Address Range Header"):
            table, number = table + 1, -1
            unit_offset = int(re.findall("cu_offset = 0x([0-9a-f]+)", line)[0], 16)
            yield Row("names", f"{section} {table}", f"unit={unit_offset:#x}")
        elif match := RESOLVED.match(line):
            number += 1
            yield Row("names", f"{section} {table} #{number}", resolved(match, target))


def name_rows(section: str, lines: list[str], target: Target) -> Iterator[Row]:
    where = name = entry = ""
    found: dict[str, str] = {}

    def finished() -> Iterator[Row]:
        if entry:
            yield Row("names", entry, header(**{**found, "parent": found.get("parent", "none")}))  # always the last
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


_UNIT = re.compile(r"^0x([0-9a-f]+): (Compile|Type) Unit: (.*)\)$")
_DIE = re.compile(r"^0x([0-9a-f]+): +(DW_TAG_\S+) \[(\d+)\] ([* ])(?: \(0x([0-9a-f]+)\))?")
_NULL = re.compile(r"^0x[0-9a-f]+: +NULL$")
_ATTRIBUTE = re.compile(r"^ +(DW_AT_\S+) \[(DW_FORM_\S+)\]\t?(.*)$")
_INDEXED = re.compile(r"^\(indexed \((?:0x)?([0-9a-f]+)\) ")
_STRING = re.compile(r'("(?:[^"\\]|\\.)*")\)?$')


def unit_rows(section: str, lines: list[str], target: Target) -> Iterator[Row]:
    die, place, count = "", "", 0
    for line in lines:
        if match := _ATTRIBUTE.match(line):
            attribute, text = match[1], match[3]
            place, count = f"{die} {attribute}", 0
            if text.startswith(("(DW_OP_", "(<decoding", "(<empty>")):
                yield Row("dies", place, match[2])
                yield Row("expressions", place, operations_of(text, target))
            else:
                yield Row("dies", place, f"{match[2]} {_value(attribute, match[2], text)}".rstrip())
        elif match := _DIE.match(line):
            die = f"{section}+0x{int(match[1], 16):x}"
            parent = f" in {int(match[5], 16):#x}" if match[5] else ""
            yield Row("dies", die, f"{match[2]} [{match[3]}]{match[4].strip()}{parent}")
        elif match := _UNIT.match(line):
            yield Row("units", f"{section}+{int(match[1], 16):#x}", _unit(match[2], match[3]))
        elif match := RESOLVED.match(line):
            yield Row("lists", f"{place} #{count}", resolved(match, target))
            count += 1
        elif not _NULL.match(line):
            yield Row("lists", f"{place} #{count}", f"{UNREAD} {line.strip()}")
            count += 1


def _unit(kind: str, text: str) -> str:
    found = dict(FIELD.findall(text))
    return header(
        length=int(found["length"], 16), format=found["format"], version=int(found["version"], 16),
        type=found.get("unit_type", f"DW_UT_{kind.lower()}"), abbreviations=int(found["abbr_offset"], 16),
        address_size=int(found["addr_size"], 16),
        signature=int(found["type_signature"], 16) if "type_signature" in found else None,
        type_offset=int(found["type_offset"], 16) if "type_offset" in found else None,
        id=int(found["DWO_id"], 16) if "DWO_id" in found else None, next=int(text.rpartition(" ")[2], 16))  # fmt: skip


def _value(attribute: str, form: str, text: str) -> str:
    if match := _INDEXED.match(text):
        return f"[{int(match[1], 16)}] {_selected(text[match.end() :])}"
    if match := re.match(r"^\(cu \+ (0x[0-9a-f]+) => \{(0x[0-9a-f]+)\}", text):
        return f"{int(match[1], 16):#x} -> {int(match[2], 16):#x}"
    if match := re.match(r"^\( \.\w+\[(0x[0-9a-f]+)\] = ", text):
        return f"{int(match[1], 16):#x} {text[match.end() : -1]}"
    if match := re.match(r"^\(<0x[0-9a-f]+> ([0-9a-f ]*)\)$", text):
        return match[1].strip()
    if match := re.match(r'^\((".*"|DW_[A-Z]+_\w+)\)$', text):
        return match[1]
    if form == "DW_FORM_data16":
        return text.strip("()")
    if "(DW_FORM(" in text:
        return "?"
    if match := re.search(r"(-?\b(?:0x[0-9a-f]+|\d+))\b", text):
        return hex(int(match[1], 0))
    return "0x1" if text == "(true)" else f"{UNREAD} {text}"


def _selected(text: str) -> str:
    """What an index selects: ``address = 0x1238``, ``+ 0x2 address = 0x123a``, ``string = "s"``."""
    if text.startswith("string"):
        found = _STRING.search(text)
        return found[1] if found else "?"
    offset, _, rest = text.rpartition("= ")
    more, number = re.match(r"\+ (0x[0-9a-f]+) ", offset), re.match("0x[0-9a-f]+", rest)
    shown = f"{int(number[0], 16):#x}" if number else "?"
    return f"+ {int(more[1], 16):#x} {shown}" if more else shown


_SECTION = re.compile(r"^\.(\S+) contents:$")
READERS: dict[str, Callable[[str, list[str], Target], Iterator[Row]]] = {
    ".debug_info": unit_rows,             ".debug_types": unit_rows,            ".debug_loc": location_list_rows,
    ".debug_loclists": location_list_rows,                                      ".debug_ranges": range_rows,
    ".debug_rnglists": range_list_rows,   ".debug_line": line_rows,             ".debug_addr": address_rows,
    ".debug_str_offsets": string_offset_rows,                                   ".debug_cu_index": package_rows,
    ".debug_tu_index": package_rows,      ".debug_aranges": address_set_rows,   ".debug_names": name_rows}  # fmt: skip
"""What reads the output for a section, or for the section of that name in a split file."""


def rows_of(text: str, target: Target) -> Iterator[Row]:
    """What a golden file says. ``target`` knows the numbers of the registers that are named."""
    section = ""
    lines: list[str] = []
    for line in [*text.splitlines(), "$ "]:
        match = _SECTION.match(line)
        if match or line.startswith("$ "):
            reader = READERS.get(section.removesuffix(".dwo"))
            if reader is not None:
                yield from reader(section, lines, target)
            section, lines = f".{match[1]}" if match else "", []
        elif line and not line.startswith("! "):
            lines.append(line)
