import re
from collections.abc import Iterator

from dwarfgpu.targets.target import Target
from tests.comparison.llvm_lists import FIELD, RESOLVED, resolved
from tests.comparison.llvm_operations import operations_of
from tests.comparison.rows import UNREAD, Row, header

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
    more = re.match(r"\+ (0x[0-9a-f]+) ", offset)
    number = re.match("0x[0-9a-f]+", rest)
    shown = f"{int(number[0], 16):#x}" if number else "?"
    return f"+ {int(more[1], 16):#x} {shown}" if more else shown
