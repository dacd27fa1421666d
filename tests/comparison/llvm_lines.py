import re
from collections.abc import Iterator

from dwarfgpu.targets.target import Target
from tests.comparison.rows import Row, header

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
        length=int(fields["total_length"], 16),
        format=fields["format"],
        version=int(fields["version"]),
        address_size=int(fields["address_size"]) if "address_size" in fields else None,
        header_length=int(fields["prologue_length"], 16),
        instruction=int(fields["min_inst_length"]),
        operations=int(fields.get("max_ops_per_inst", "1")),
        is_stmt=int(fields["default_is_stmt"]),
        line_base=fields["line_base"],
        line_range=int(fields["line_range"]),
        opcode_base=int(fields["opcode_base"]),
        lengths=",".join(lengths),
    )


def _file(fields: dict[str, str]) -> str:
    words = [fields["name"], f"directory={fields['dir_index']}"]
    for name, key in (("time", "mod_time"), ("size", "length")):
        if number := int(fields.get(key, "0"), 16):
            words.append(f"{name}={number}")
    for name, key in (("md5", "md5_checksum"), ("source", "source")):
        if key in fields:
            words.append(f"{name}={fields[key]}")
    return " ".join(words)
