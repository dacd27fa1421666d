"""Call frame information as llvm-dwarfdump and readelf print it, and as dwarfgpu has it, in one form.

A register is its number, an expression a text in which operands are decimal numbers.
"""

import re
import subprocess
from typing import Any, NamedTuple

import attrs

from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.objfile.call_frames import Cie, Fde
from dwarfgpu.targets.resolve import resolve
from tests.comparison import library, llvm


class Dumped(NamedTuple):
    """One entry."""

    section: str
    offset: int
    header: tuple[Any, ...]
    """Of a CIE: version, augmentation, address size, factors, column; of an FDE: CIE, start, end."""
    instructions: list[tuple[Any, ...]]
    rows: list[tuple[Any, ...]]
    """Start, CFA, registers; a CIE has one without a start."""


# --- llvm-dwarfdump -------------------------------------------------------------------------------------------------

_ENTRY = re.compile(
    r"([0-9a-f]{8,16}) ([0-9a-f]+) ([0-9a-f]+) (CIE|FDE)(?: cie=([0-9a-f]+) pc=([0-9a-f]+)\.\.\.([0-9a-f]+))?$"
)
_LAST = "Return address column"
_PAIR = re.compile(r"(\w+)=(.*?)(?=, \w+=|$)")
_HEADER = ("Version", "Augmentation", "Address size", "Code alignment factor", "Data alignment factor", _LAST)


def dumped_by_llvm(text: str, target: str) -> list[Dumped]:
    """What ``llvm-dwarfdump --debug-frame --eh-frame`` says about a file."""
    found: list[Dumped] = []
    section = ""
    fields: dict[str, str] = {}
    for line in text.splitlines():
        if line.endswith(" contents:"):
            section = line.split()[0]
            continue
        match = _ENTRY.match(line)
        if match:
            fields = {}
            header: tuple[Any, ...] = ()
            if match[4] == "FDE":
                header = tuple(int(match[i], 16) for i in (5, 6, 7))
            found.append(Dumped(section, int(match[1], 16), header, [], []))
        elif line.startswith(("  DW_CFA_", "  : ")):
            name, _, rest = line.strip().partition(": ")
            found[-1].instructions.append((name.rstrip(":"), *_llvm_operands(name, rest, target)))
        elif line.startswith(("  0x", "  CFA=")):
            start, _, rest = line.strip().partition(": ") if line.startswith("  0x") else ("", "", line.strip())
            found[-1].rows.append(_llvm_row(start, rest, target))
        elif line.startswith("  ") and ":" in line:
            key, _, value = line.strip().partition(":")
            fields[key] = value.strip()
            if key == _LAST:
                found[-1] = found[-1]._replace(header=tuple(fields.get(each, "") for each in _HEADER))
    return found


def _llvm_operands(name: str, text: str, target: str) -> tuple[Any, ...]:
    if name in ("DW_CFA_set_loc", "DW_CFA_set_loc:"):
        return (int(text, 16),)
    if "advance_loc" in name:
        return tuple(int(word, 0) for word in text.split(" to "))
    if "expression" in name:
        register, _, rest = text.partition(" ")
        if name == "DW_CFA_def_cfa_expression":
            return (_llvm_expression(text, target),)
        return (register_number(register, target), _llvm_expression(rest, target))
    return tuple(_llvm_word(word, target) for word in text.replace("in addrspace", "").split())


def _llvm_word(word: str, target: str) -> int:
    return int(word) if re.fullmatch(r"[+-]?\d+", word) else register_number(word, target)


def _llvm_row(start: str, text: str, target: str) -> tuple[Any, ...]:
    cfa, _, rest = text.removeprefix("CFA=").partition(": ")
    registers = {register_number(name, target): _llvm_rule(rule, target) for name, rule in _PAIR.findall(rest)}
    return (int(start, 16) if start else None, _llvm_cfa(cfa, target), registers)


def _llvm_cfa(text: str, target: str) -> Any:
    if text == "unspecified":
        return None
    match = re.fullmatch(r"(\w+?)([+-]\d+)?(?: in addrspace(\d+))?", text)
    if match and not text.startswith("DW_OP_"):
        return ("register_offset", register_number(match[1], target), int(match[2] or 0), int(match[3] or 0))
    return ("expression", _llvm_expression(text, target))


def _llvm_rule(text: str, target: str) -> Any:
    if text in ("undefined", "same"):
        return ("undefined" if text == "undefined" else "same_value",)
    if text.startswith("[CFA"):
        return ("offset", int(text[4:-1] or 0))
    if re.fullmatch(r"CFA([+-]\d+)?", text):
        return ("val_offset", int(text[3:] or 0))
    if text.startswith("["):
        return ("expression", _llvm_expression(text[1:-1], target))
    if text.startswith("DW_OP_"):
        return ("val_expression", _llvm_expression(text, target))
    return ("register", register_number(text, target))


def _llvm_expression(text: str, target: str) -> str:
    return llvm.operations_of(text, resolve(_named_by_llvm(target)))


def _named_by_llvm(target: str) -> str:
    """The target whose names of registers llvm-dwarfdump uses: on AMDGPU it knows the waves of 64 lanes alone."""
    is_wave32 = target.startswith("amdgcn") and target.endswith("-wave32")
    return "amdgcn-gfx1100-wave64" if is_wave32 else target


def register_number(name: str, target: str) -> Any:
    """The number of a register as llvm-dwarfdump calls it."""
    match = re.fullmatch(r"reg(\d+)", name)
    if match:
        return int(match[1])
    register = resolve(_named_by_llvm(target)).register_named(name)
    return llvm.REGISTERS.get(name, name) if register is None else register.number


# --- dwarfgpu -------------------------------------------------------------------------------------------------------


def listed(frames: Any, *, allowed: str | None = None) -> list[Dumped]:
    """The same of the call frame information of a file, in which an error of the kind ``allowed`` may be."""
    found = []
    for entry in frames.entries():
        assert not isinstance(entry, DwarfGpuError), entry
        if not isinstance(entry, (Cie, Fde)):
            continue
        all_of = frames.listed(entry)
        assert all_of.error is None or all_of.error.kind == allowed, all_of.error
        instructions = list(_instructions(all_of.instructions, entry, frames))
        if isinstance(entry, Cie):
            size = str(entry.format.form.address_size) if entry.version >= 4 else ""
            header: tuple[Any, ...] = (
                str(entry.version),
                f'"{entry.augmentation}"',
                size,
                str(entry.format.code_alignment),
                str(entry.format.data_alignment),
                str(entry.return_address),
            )
            rows = [
                (None, _cfa(all_of.initial.cfa, entry, frames), _registers(all_of.initial.registers, entry, frames))
            ]
            rows = rows if all_of.initial.cfa is not None or all_of.initial.registers else []
        else:
            header = (entry.cie.offset, entry.low, entry.high)
            rows = [
                (row.start, _cfa(row.cfa, entry, frames), _registers(row.registers, entry, frames))
                for row in all_of.rows
            ]
        found.append(Dumped(entry.section, entry.offset, header, instructions, rows))
    return found


def _instructions(listing: Any, entry: Any, frames: Any) -> Any:
    location = entry.low if isinstance(entry, Fde) else 0
    for instruction in listing:
        operands: list[Any] = []
        for operand, value in instruction.pairs():
            if operand.role == "expression":
                operands.append(_expression(value, entry, frames))
                continue
            operands.append(value)
            if operand.role == "delta":
                location += value
                operands.append(location)
            elif operand.role == "address":
                location = value
        yield (instruction.name, *operands)


def _cfa(cfa: Any, entry: Any, frames: Any) -> Any:
    if cfa is None:
        return None
    if cfa.word == "expression":
        return ("expression", _expression(cfa.block, entry, frames))
    return (cfa.word, cfa.register, cfa.offset, cfa.space)


def _registers(registers: Any, entry: Any, frames: Any) -> dict[int, Any]:
    return {number: _rule(rule, entry, frames) for number, rule in registers.items()}


def _rule(rule: Any, entry: Any, frames: Any) -> Any:
    values = list(attrs.asdict(rule, recurse=False).values())
    return (rule.word, *(_expression(v, entry, frames) if hasattr(v, "data") else v for v in values))


def _expression(block: Any, entry: Any, frames: Any) -> str:
    return library.operations_of(frames.expression(block, entry))


def run(tool: str, *arguments: Any) -> str:
    """What a tool prints."""
    return subprocess.run([tool, *map(str, arguments)], capture_output=True, text=True, check=False).stdout


# --- readelf --------------------------------------------------------------------------------------------------------


class Interpreted(NamedTuple):
    """The rows of an entry as readelf prints them: start, CFA, rules by number, all in its words."""

    kind: str
    range: tuple[int, int]
    rows: list[tuple[int, str, dict[int, str]]]


_READELF = re.compile(r"([0-9a-f]+) [0-9a-f]+ [0-9a-f]+ (CIE|FDE)(.*)")


def interpreted_by_readelf(text: str, target: str = "x86_64", column: int = 16) -> dict[tuple[str, int], Interpreted]:
    """What ``readelf --debug-dump=frames-interp`` says about a file, whose return addresses are in a column."""
    found: dict[tuple[str, int], Interpreted] = {}
    section, columns = "", []
    for line in text.splitlines():
        if line.startswith("Contents of the "):
            section = line.split()[3].replace(".zdebug", ".debug")
            continue
        match = _READELF.match(line)
        if match:
            pc = re.search(r"pc=([0-9a-f]+)\.\.([0-9a-f]+)", line)
            span = (int(pc[1], 16), int(pc[2], 16)) if pc else (0, 0)
            current = found[section, int(match[1], 16)] = Interpreted(match[2], span, [])
        elif line.lstrip().startswith("LOC"):
            columns = line.split()[2:]
        elif re.match(r"[0-9a-f]{8,16} (?!ZERO)\S", line):
            start, cfa, *rules = line.split()
            registers = {
                column if name == "ra" else register_number(name, target): rule
                for name, rule in zip(columns, rules, strict=True)
            }
            current.rows.append((int(start, 16), cfa, registers))
    return found


def listed_by_readelf(text: str) -> dict[int, list[tuple[str, str]]]:
    """By the offset of an entry the names of the instructions, and where advances go.

    What ``readelf --debug-dump=frames`` says about a file with one section. It leaves out padding.
    """
    found: dict[int, list[tuple[str, str]]] = {}
    for line in text.splitlines():
        match = _READELF.match(line)
        if match:
            current = found[int(match[1], 16)] = []
            continue
        shown = re.match(r"  (DW_CFA_[\w?]+)(?::? .*\bto ([0-9a-f]+))?", line)
        if shown and shown[1] != "DW_CFA_nop":
            current.append((shown[1], shown[2] or ""))
    return found


def as_readelf(row: Any, entry: Any, frames: Any) -> tuple[int, str, dict[int, str]]:
    """A row in readelf's words."""
    cfa = row.cfa
    shown = "exp" if cfa.word == "expression" else f"{frames.register_name(cfa.register)}{cfa.offset:+d}"
    words = {"undefined": "u", "same_value": "s", "expression": "exp", "val_expression": "vexp"}
    registers = {}
    for number, rule in row.registers.items():
        if rule.word in ("offset", "val_offset"):
            registers[number] = f"{'c' if rule.word == 'offset' else 'v'}{rule.offset:+d}"
        else:
            registers[number] = words[rule.word]
    return row.start, shown, registers
