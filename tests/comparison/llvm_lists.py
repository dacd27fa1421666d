import re
from collections.abc import Iterator

from dwarfgpu.targets.target import Target
from tests.comparison.llvm_operations import operations_of
from tests.comparison.rows import UNREAD, Row, header

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
        length=int(found["length"], 16),
        format=found["format"],
        version=int(found["version"], 16),
        address_size=int(found["addr_size"], 16),
        segment_size=int(found["seg_size"], 16),
        count=int(found["offset_entry_count"], 16) if "offset_entry_count" in found else None,
    )


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
