"""Commands about the target and the file: its address spaces, registers and sections."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from dwarfgpu.errors import UsageError
from dwarfgpu.program.stack.frame import registers_of
from dwarfgpu.render.layout import shown, table, wrapped

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dwarfgpu.questions.debugger import Debugger
    from dwarfgpu.questions.registry import Arguments

SHF_WRITE, SHF_ALLOC, SHF_EXECINSTR = 1, 2, 4
SHT_NOBITS = 8
_OF_LANE = "private_lane"
ACCESS = {"constant": "program-constant"}
"""Who may change what is in an address space while a program runs, as ROCgdb says it; by default all."""


def _target(debugger: Debugger) -> Any:
    return debugger.frame.target


# --- Address spaces -------------------------------------------------------------------------------------------------


def print_address_spaces(debugger: Debugger, arguments: Arguments) -> None:
    """Name and DWARF number are what expressions use (local#0x10), the null address is the one that leads nowhere, and
    the scope says whose memory an address means. The spaces of single lanes are on one line.
    """
    arguments.none()
    rows = [("Name", "DWARF", "Addr Bits", "Null Address", "Access", "Scope")]
    spaces = list(_target(debugger).spaces())
    of_lanes = [each for each in spaces if each.name.startswith(_OF_LANE) and each.name[-1:].isdigit()]
    for each in spaces:
        if each not in of_lanes:
            rows.append(_row(each, each.name, f"{each.number:#x}"))
        elif each == of_lanes[0]:
            last = of_lanes[-1]
            name = f"{each.name}..{last.name[len(_OF_LANE) :]}"
            rows.append(_row(each, name, f"{each.number:#x}-{last.number:#x}"))
    debugger.output.lines(table(rows, "lrrrll", indent=0, style=debugger.output.style))


def _row(space: Any, name: str, number: str) -> tuple[str, str, str, str, str, str]:
    null = "none" if space.null is None else f"{space.null:#x}"
    access = ACCESS.get(space.name, "all")
    return name, number, str(space.address_bits), null, access, space.scope


def address_aliases(debugger: Debugger, arguments: Arguments) -> None:
    """The address of a variable, or one such as private_lane#0x30: as each address space has it, how far the views go
    together, and how it is computed. It is one of the lane that is looked at.
    """
    from dwarfgpu.program.stack.address_aliases import needs_wave, parse_address, views_of
    from dwarfgpu.render.machines import views_text

    text = arguments.needed()
    target = _target(debugger)
    machine: Any = None
    if debugger.attached is None:
        space, address = parse_address(text, target)
    else:
        from dwarfgpu.questions.memory import address_of

        where = address_of(debugger, text)
        found = target.default_space if where.space is None else target.space(where.space)
        assert found is not None  # noqa: S101 (an address is in a space of the target)
        value: Any = where.value
        space, address = found, value
        machine = debugger.machine.stopped.machine
    if target.lane_count == 1:
        raise UsageError(f"{target.name} has one address space", kind="no_address_space")
    wave = debugger.wave.index if machine is not None and needs_wave(space, address) else None
    views = views_of(target, space, address, debugger.lane, machine, wave)
    width = debugger.output.width
    for line in views_text(views, debugger.output.style):
        place, _, how = line.rpartition("  ")
        if len(line) <= width or not place.strip():
            debugger.output.lines(wrapped(line, width))
        else:
            debugger.output.lines((place.rstrip(), f"      {how}"))


# --- Registers ------------------------------------------------------------------------------------------------------


def print_registers(debugger: Debugger, arguments: Arguments) -> None:
    """Their DWARF numbers, sizes in bits, and what a callee does with them: a register that it saves has the same value
    for the caller. REGEXP chooses some by name; without it neighbours that are alike are on one line.
    """
    pattern = arguments.pattern()
    target = _target(debugger)
    rows = [("Name", "DWARF", "Bits", "Lanes", "In callers")]
    runs: list[list[Any]] = []
    for each in registers_of(debugger.frame):
        if not pattern.search(each.name):
            continue
        rule = "not known" if each.number < 0 else target.unspecified_rule(each.number).replace("_", " ")
        prefix = each.name.rstrip("0123456789")
        key = (prefix, each.bit_size, each.lane_bits, rule)
        last = runs[-1] if runs else None
        if (
            not arguments.text
            and last
            and last[0] == key
            and prefix != each.name
            and last[2].number + 1 == each.number
        ):
            last[2] = each
        else:
            runs.append([key, each, each])
    for (_prefix, bits, lane_bits, rule), first, last_one in runs:
        names, numbers = first.name, _number(first.number)
        if last_one is not first:
            names = f"{names}-{last_one.name}"
            numbers = f"{numbers}-{last_one.number}" if first.number >= 0 else numbers
        lanes = f"{bits // lane_bits} of {lane_bits}" if lane_bits else ""
        rows.append((names, numbers, str(bits), lanes, rule))
    if not runs:
        raise UsageError(f"no register is called like {arguments.text[:40]!r}", kind="no_register")
    debugger.output.lines(table(rows, "lrrll", indent=0, style=debugger.output.style))


def _number(number: int) -> str:
    return "-" if number < 0 else str(number)


# --- Sections -------------------------------------------------------------------------------------------------------


def info_sections(debugger: Debugger, arguments: Arguments) -> None:
    """Where each is in memory and in the file, and what it is. Words choose sections by name, or by a flag such as
    ALLOC or CODE.
    """
    file = debugger.opened.file
    image = file.image
    wanted = arguments.words
    kind = f"elf{8 * image.address_size}-{file.target.target.name}"
    name = os.path.realpath(image.path) if image.path else file.name
    debugger.output.line(f"Exec file: `{shown(name)}', file type {kind}.")
    number = -1
    for each in image.sections:
        if not each.name or each.type_name in ("NULL", "SYMTAB", "STRTAB"):
            continue
        number += 1
        flags = list(_flags(each))
        if wanted and each.name not in wanted and not any(word in flags for word in wanted):
            continue
        size = 8 if image.address_size == 4 or each.address < 1 << 32 else 16
        where = f"0x{each.address:0{size}x}->0x{each.address + each.size:0{size}x} at 0x{each.offset:08x}"
        index = f"[{number}]"
        first, *rest = wrapped(f"{where}: {shown(each.name)} {' '.join(flags)}", debugger.output.width - 10)
        debugger.output.line(f" {index:8} {first}")
        debugger.output.lines(" " * 14 + line for line in rest)


def _flags(section: Any) -> Iterator[str]:
    """The flags in the words of BFD, which GDB shows."""
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
