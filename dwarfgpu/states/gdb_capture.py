"""Waves of a debugger as a machine of their own, which can be saved: what is known of them is copied.

Registers are copied whole, and local memory and the scratch memory of each wave as far as they go from their first
byte. Of all other memory nobody says how far it goes: copied is what the frames need, which is found out by unwinding
them and by reading each of their variables in every lane, with what pointers among them lead to.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.machines.machine import LoadedCodeObject, Machine
from dwarfgpu.machines.protocol import Backend
from dwarfgpu.objfile.info.scopes import AddressSpans
from dwarfgpu.program.types.model import Pointer, known_size, resolved
from dwarfgpu.targets.target import AddressSpace, Scope, TargetRegister

if TYPE_CHECKING:
    from dwarfgpu.program.code.loaded import LoadedCode
    from dwarfgpu.program.frames.variable import Variable
    from dwarfgpu.states.program import Attached

MAX_TARGET = 1 << 16
"""What a pointer leads to is copied up to so many bytes."""


class Recording(Backend):
    """A machine that notes which of its memory is read."""

    def __init__(self, machine: Any) -> None:
        self._machine = machine
        self.capabilities = machine.capabilities
        self.ranges: set[tuple[int, int, int, int]] = set()
        """Wave, number of the space, address and size."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._machine, name)

    def read_register(self, register: TargetRegister, wave: int, lane: int | None) -> bytes:
        content: bytes = self._machine.read_register(register, wave, lane)
        return content

    def read_memory(self, space: AddressSpace, address: int, size: int, wave: int, lane: int | None) -> bytes:
        content: bytes = self._machine.read_memory(space, address, size, wave, lane)
        if space.alias is None:
            self.ranges.add((wave, space.number, address, size))
        else:
            for number, start, length in space.alias.pieces(address, size, lane, self._machine.target.lane_count):
                self.ranges.add((wave, number, start, length))
        return content


def captured(attached: Attached) -> Machine:
    """Return a copy of the waves of a debugger, for a file in the current folder."""
    machine: Any = attached.stopped.machine
    copy = Machine(machine.target)
    copy.folder = "."
    copy.dispatches = list(machine.dispatches)
    codes = attached.stopped.loaded.codes
    copy.code_objects = [_entry(code) for code in codes if code.file.target.target.execution_mask is not None]
    copy.add_waves_of(machine, range(len(machine.ids)), machine.dispatch)
    _copy_registers(machine, copy)
    ranges = _asked_for(attached)
    for space in machine.target.spaces():
        if space.alias is None:
            _copy_memory(machine, copy, space, ranges)
    return copy


def _entry(code: LoadedCode) -> LoadedCodeObject:
    image = code.file.image
    path = os.path.realpath(image.path) if image.path else code.file.name
    digest = None if image.path is None else hashlib.sha256(image.data).hexdigest()
    return LoadedCodeObject(path, code.bias, digest)


def _copy_registers(machine: Any, copy: Machine) -> None:
    known: dict[int, list[bytes | None]] = {}
    for register in machine.target.registers():
        contents = [_register(machine, register, wave) for wave in range(len(machine.ids))]
        if any(content is not None for content in contents):
            known[register.number] = contents
    copy.allocate_registers(register for register in machine.target.registers() if register.number in known)
    for register in machine.target.registers():
        for wave, content in enumerate(known.get(register.number, ())):
            if content is not None:
                copy.write_register(register, content, wave, None)


def _register(machine: Any, register: TargetRegister, wave: int) -> bytes | None:
    try:
        content: bytes = machine.read_register(register, wave, None)
    except DwarfGpuError:
        return None
    return content


# --- Memory -------------------------------------------------------------------------------------------------------


def _copy_memory(machine: Any, copy: Machine, space: AddressSpace, asked: Iterable[tuple[int, int, int, int]]) -> None:
    """Copy the memory of one address space: what was asked for, and local and scratch memory from address 0 on."""
    wanted: dict[int, list[tuple[int, int]]] = {}
    for wave in range(copy.wave_count):
        owner = _owner(copy, space, wave)
        if owner == wave and space.scope in (Scope.WORKGROUP, Scope.WAVE):
            end = machine.reach(space, 0, wave) & ~3
            if end:
                wanted.setdefault(owner, []).append((0, end))
    for wave, number, address, size in asked:
        owner = _owner(copy, space, wave)
        if number == space.number and owner >= 0:
            wanted.setdefault(owner, []).append((address, address + size))
    for owner, ranges in wanted.items():
        for start, end in AddressSpans(ranges):
            data = machine.read_memory(space, start, end - start, owner, None)
            copy.memory.map(space, start, data, instance=owner)


def _owner(copy: Machine, space: AddressSpace, wave: int) -> int:
    """Return the first wave of those that share the memory of a wave; -1 where its work-group is not known."""
    if space.scope == Scope.WORKGROUP:
        return copy.group_numbers[wave]
    return wave if space.scope == Scope.WAVE else 0


# --- The memory that frames and variables read --------------------------------------------------------------------


def _asked_for(attached: Attached) -> set[tuple[int, int, int, int]]:
    """Return which memory is read when all frames are unwound and all their variables are read."""
    from dwarfgpu.states.stopped import Stopped

    recording: Any = Recording(attached.stopped.machine)
    stopped = Stopped(recording, attached.stopped.loaded)
    stopped.state = attached.state.with_machine(recording)
    for wave in range(len(attached)):
        try:
            for frame in stopped.wave(wave):
                for variable in (*frame.variables(), *frame.statics()):
                    _read(variable, frame.lane_numbers(None))
        except DwarfGpuError:  # what is not known cannot be copied
            continue
    ranges: set[tuple[int, int, int, int]] = recording.ranges
    return ranges


def _read(variable: Variable, lanes: tuple[int | None, ...]) -> None:
    for lane in lanes:
        try:
            target = variable.object(lane).target()
            target.read()
            kind = resolved(target.type)
            if isinstance(kind, Pointer) and 0 < (known_size(kind.target) or 0) <= MAX_TARGET:
                target.dereferenced().read()
        except DwarfGpuError:
            continue
