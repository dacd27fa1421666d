"""Commands about the target and the file: its address spaces, registers and sections."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from dwarfgpu.errors import UsageError
from dwarfgpu.immutable import frozen
from dwarfgpu.program.frames.register_contents import registers_of
from dwarfgpu.program.frames.selectors import wave_of
from dwarfgpu.questions.document import Document
from dwarfgpu.questions.selection import needs_state
from dwarfgpu.render.layout import beside, folded, range_text, shown, table, wrapped
from dwarfgpu.render.records import Record, fact, hexadecimal
from dwarfgpu.render.written_text import without_styles

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dwarfgpu.questions.output import Output
    from dwarfgpu.questions.registry import Arguments
    from dwarfgpu.questions.selection import Selection
    from dwarfgpu.render.layout import Style
    from dwarfgpu.targets.target import Target, TargetRegister

SHF_WRITE, SHF_ALLOC, SHF_EXECINSTR = 1, 2, 4
SHT_NOBITS = 8
HIDDEN = ("NULL", "SYMTAB", "STRTAB")
"""The types of sections that are not shown."""
_OF_LANE = "private_lane"
ACCESS = {"constant": "program-constant"}
"""Who may change what is in an address space while a program runs, as ROCgdb says it; by default all."""


# --- Address spaces -------------------------------------------------------------------------------------------------


def print_address_spaces(selection: Selection, arguments: Arguments) -> Document:
    """Name and DWARF number are what expressions use (local#0x10), the null address is the one that leads nowhere, and
    the scope says whose memory an address means. The spaces of single lanes are on one line.
    """
    arguments.none()
    spaces = list(selection.frame.target.spaces())

    def text(output: Output) -> Iterable[str]:
        return spaces_table(spaces, output.style)

    return Document({"spaces": map(SPACE.json, spaces)}, text, rows="spaces")


def spaces_table(spaces: Iterable[Any], style: Style) -> list[str]:
    """Return the lines of a table of address spaces."""
    spaces = list(spaces)
    rows = [SPACE.head]
    of_lanes = [space for space in spaces if space.name.startswith(_OF_LANE) and space.name[-1:].isdigit()]
    for space in spaces:
        if space not in of_lanes:
            rows.append(SPACE.cells(space))
        elif space == of_lanes[0]:
            last = of_lanes[-1]
            name = f"{space.name}..{last.name[len(_OF_LANE) :]}"
            rows.append((name, f"{space.number:#x}-{last.number:#x}", *SPACE.cells(space)[2:]))
    return table(rows, SPACE.sides, indent=0, style=style)


SPACE = Record(
    "name:Name",
    fact("number", "DWARF", text=hex, side="r"),
    fact("address_bits", "Addr Bits", side="r"),
    fact("null", "Null Address", text=lambda null: hexadecimal(null) or "none", side="r"),
    fact("access", "Access", lambda space: ACCESS.get(space.name, "all")),
    "scope:Scope",
)


def address_aliases(selection: Selection, arguments: Arguments) -> Document:
    """EXPR is a variable, or an address such as private_lane#0x30. For each view: how many bytes from there on are at
    both addresses, how many bytes of it the machine has, and how it is computed. Where nothing else is said it is an
    address of the lane that is selected.
    """
    from dwarfgpu.program.code.encoding_context import setting
    from dwarfgpu.program.frames.address_aliases import needs_wave, parse_address, views_of
    from dwarfgpu.render.machines import VIEWS, views_text

    text = arguments.needed()
    machine: Any = None
    wave = None
    lane = arguments.get("lane")
    if arguments.has("target"):
        if selection.snapshot is not None:
            raise UsageError("--state and --target do not go together", hint="leave out one of them")
        target: Any = setting(arguments.get("target")).target
        space, address = parse_address(text, target)
    elif selection.snapshot is not None:
        machine = selection.snapshot
        target = machine.target
        space, address = parse_address(text, target)
        if arguments.has("wave") or needs_wave(space, address):
            wave = wave_of(machine, arguments.get("wave"))
    elif selection.program is None:
        message = "exactly one of --state and --target is needed"
        raise UsageError(message, hint="--target amdgcn-gfx90a converts without a state")
    elif selection.attached is None:
        target = selection.frame.target
        space, address = parse_address(text, target)
    else:
        with selection.staying():
            if arguments.has("wave"):
                selection.select_wave(wave_of(selection.machine.stopped.machine, arguments.get("wave")))
            space, address, machine, target = _aliased(selection, text)
            lane = selection.lane if lane is None else lane
            if arguments.has("wave") or needs_wave(space, address):
                wave = selection.wave.index
    if arguments.has("wave") and machine is None:
        raise needs_state("wave")
    if target.lane_count == 1:
        raise UsageError(f"{target.name} has one address space", kind="no_address_space")
    views = views_of(target, space, address, lane, machine, wave)

    def lines(output: Output) -> Iterator[str]:
        for line in views_text(views, output.style):
            place, _, how = line.rpartition("  ")
            if len(without_styles(line)) <= output.width or not place.strip():
                yield from folded(line, output.width, 0)
            else:
                yield from (place.rstrip(), f"      {how}")

    return Document(VIEWS.json(views), lines)


def _aliased(selection: Selection, text: str) -> tuple[Any, int, Any, Any]:
    from dwarfgpu.questions.memory import address_of

    target = selection.frame.target
    where = address_of(selection, text)
    space = target.default_space if where.space is None else target.space(where.space)
    value: Any = where.value
    return space, value, selection.machine.stopped.machine, target


# --- Registers ------------------------------------------------------------------------------------------------------


def print_registers(selection: Selection, arguments: Arguments) -> Document:
    """Their DWARF numbers, sizes in bits, and what a callee does with them: a register that it saves has the same value
    for the caller. REGEXP chooses some by name; without it neighbours that are alike are on one line.
    """
    pattern = arguments.pattern()
    target = selection.frame.target
    registers = [each for each in registers_of(selection.frame) if pattern.search(each.name)]
    if not registers:
        raise UsageError(f"no register matches {arguments.text[:40]!r}", kind="no_register")

    def text(output: Output) -> Iterable[str]:
        return RUN.lines(register_runs(registers, target, apart=bool(arguments.text)), indent=0, style=output.style)

    rows = ({**REGISTER.json(each), "in_callers": target.in_callers(each.number)} for each in registers)
    return Document({"target": target.name, "registers": rows}, text, rows="registers")


REGISTER = Record(
    "name",
    fact("number", value=lambda register: None if register.number < 0 else register.number),
    "bits=bit_size lane_bits?",
)


@frozen
class RegisterRun:
    """Registers with consecutive names and numbers that are alike."""

    first: TargetRegister
    last: TargetRegister
    in_callers: str

    @property
    def name(self) -> str:
        return self.first.name if self.first is self.last else f"{self.first.name}-{self.last.name}"

    @property
    def numbers(self) -> str:
        """The DWARF numbers as text."""
        return number_range(self.first.number, self.last.number)

    @property
    def lanes(self) -> str:
        bits = self.first.lane_bits
        return f"{self.first.bit_size // bits} of {bits}" if bits else ""


RUN = Record(
    fact("", "Name", lambda run: run.name),
    fact("", "DWARF", lambda run: run.numbers, side="r"),
    fact("", "Bits", lambda run: run.first.bit_size, side="r"),
    fact("", "Lanes", lambda run: run.lanes),
    fact("", "In callers", lambda run: run.in_callers),
    "first=first.name last=last.name",
    fact("count", value=lambda run: run.last.number - run.first.number + 1),
    fact("number", value=lambda run: None if run.first.number < 0 else run.first.number),
    "bits=first.bit_size lane_bits=first.lane_bits? in_callers",
)


def register_runs(registers: Iterable[TargetRegister], target: Target, *, apart: bool = False) -> list[RegisterRun]:
    """Return registers, neighbours that are alike together unless they are to be apart."""
    runs: list[RegisterRun] = []
    for register in registers:
        rule = target.in_callers(register.number)
        prefix = register.name.rstrip("0123456789")
        last = runs[-1] if runs and not apart else None
        if (
            last is not None
            and prefix != register.name
            and last.first.name.rstrip("0123456789") == prefix
            and last.last.number + 1 == register.number
            and (last.first.bit_size, last.first.lane_bits) == (register.bit_size, register.lane_bits)
            and last.in_callers == rule
        ):
            runs[-1] = RegisterRun(last.first, register, rule)
        else:
            runs.append(RegisterRun(register, register, rule))
    return runs


def number_range(first: int, last: int) -> str:
    """Return DWARF numbers as ``32-95``; ``-`` for registers that have none."""
    return "-" if first < 0 else range_text(first, last)


# --- Sections -------------------------------------------------------------------------------------------------------


def info_sections(selection: Selection, arguments: Arguments) -> Document:
    """Where each is in memory and in the file, and what it is. Words choose sections by name, or by a flag such as
    ALLOC or CODE.
    """
    file = selection.opened.file
    image = file.image
    wanted = arguments.words
    named = [each for each in image.sections if each.name and each.type_name not in HIDDEN]
    chosen = [
        (number, section, [*_flags(section)])
        for number, section in enumerate(named)
        if not wanted or section.name in wanted or not set(wanted).isdisjoint(_flags(section))
    ]

    def text(output: Output) -> Iterator[str]:
        kind = f"elf{8 * image.address_size}-{file.target.target.name}"
        name = os.path.realpath(image.path) if image.path else file.name
        yield f"Exec file: `{shown(name)}', file type {kind}."
        for number, section, flags in chosen:
            size = 8 if image.address_size == 4 or section.address < 1 << 32 else 16
            end = section.address + section.size
            where = f"0x{section.address:0{size}x}->0x{end:0{size}x} at 0x{section.offset:08x}"
            index = f"[{number}]"
            words = f"{where}: {shown(section.name)} {' '.join(flags)}"
            yield from beside(f" {index:8} ", wrapped(words, output.width - 10), 14)

    rows = ({"number": number, **SECTION.json(section), "flags": flags} for number, section, flags in chosen)
    return Document({"file": file.name, "sections": rows}, text, rows="sections")


SECTION = Record("name address size offset")


def _flags(section: Any) -> Iterator[str]:
    """Yield the flags in the words of BFD, which GDB shows."""
    flags = section.flags
    has_contents = section.type != SHT_NOBITS
    if flags & SHF_ALLOC:
        yield "ALLOC"
        if has_contents:
            yield "LOAD"
    if not flags & SHF_WRITE:
        yield "READONLY"
    if flags & SHF_ALLOC and has_contents:
        yield "CODE" if flags & SHF_EXECINSTR else "DATA"
    if has_contents:
        yield "HAS_CONTENTS"
