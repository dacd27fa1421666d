import re
from collections.abc import Iterator

from dwarfgpu.targets.target import Target
from tests.comparison.llvm_lists import LIST_HEADER, RESOLVED, fields, resolved
from tests.comparison.rows import UNREAD, Row, header


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
