"""GPU core files made small: some waves, what they reach, and their code objects, as a snapshot."""

from __future__ import annotations

import struct
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dwarfgpu.errors import UsageError
from dwarfgpu.immutable import evolve, frozen
from dwarfgpu.machines import snapshot
from dwarfgpu.machines.gpu_core.mapped_registers import copied
from dwarfgpu.machines.machine import NONE, LoadedCodeObject, Machine
from dwarfgpu.objfile.info.scopes import AddressSpans
from dwarfgpu.program.frames.selectors import waves_of
from dwarfgpu.regular_files import whole_output
from dwarfgpu.states.snapshot_files import dispatch_text
from dwarfgpu.targets.amdgpu import LOCAL, PRIVATE_WAVE

if TYPE_CHECKING:
    from dwarfgpu.machines.gpu_core.core_waves import SavedGpu
    from dwarfgpu.states.gpu_cores import OpenedCore

PAGE = 4096
MAX_REGISTERS = 1 << 32
"""The bytes of registers of a snapshot."""
MAX_REACHED = 1 << 26
"""The bytes of global memory that are taken because something points to them."""
KERNARG_SIZE_AT = 8
"""The offset of the size of the arguments in a kernel descriptor."""
WORDS = ("stack", "lds", "args", "reachable:N", "none")


@frozen
class MemoryChoice:
    """Which memory a small snapshot has."""

    stack: bool = True
    lds: bool = True
    args: bool = True
    reachable: int = 0
    """How many pointers are followed from arguments and scalar registers."""


@frozen
class ConversionSummary:
    """What a small snapshot has, and what was left out."""

    written: str
    waves: int
    all_waves: int
    bytes_: int
    """Of memory in the snapshot."""
    code_objects: tuple[str, ...]
    left_out: tuple[str, ...]
    dispatches: tuple[str, ...]


def memory_choice(text: str | None) -> MemoryChoice:
    """Return the memory that a list such as ``stack,lds,reachable:2`` names."""
    if text is None:
        return MemoryChoice()
    words = [word.strip() for word in text.split(",") if word.strip()]
    chosen: dict[str, Any] = {"stack": False, "lds": False, "args": False, "reachable": 0}
    for word in words:
        name, colon, number = word.partition(":")
        if name in ("stack", "lds", "args") and not colon:
            chosen[name] = True
        elif name == "reachable" and number.isdecimal() and 0 < int(number) < 100:
            chosen[name] = int(number)
        elif word != "none":
            raise UsageError(f"there is no memory {word[:40]!r}", hint=f"it is a list of {', '.join(WORDS)}")
    return MemoryChoice(**chosen)


def convert_core(
    opened: OpenedCore, machine: SavedGpu, destination: str, waves: str | None = None, memory: str | None = None
) -> ConversionSummary:
    """Write some waves of a GPU core file as a snapshot, with the memory that debugging needs."""
    choice = memory_choice(memory)
    place = Path(destination)
    if place.exists() or place.is_symlink():
        raise UsageError(f"{place} exists", hint="choose another name, or remove it first")
    chosen = sorted(set(waves_of(machine, waves)))
    converter = _Converter(opened, machine, chosen, choice)
    small = converter.machine()
    is_folder = place.suffix == snapshot.SUFFIX
    folder, prefix = (place, "code") if is_folder else (place.parent, f"{place.stem}-code")
    small.folder = str(folder)
    files = converter.code(small, prefix)
    for name in files:
        if not is_folder and (folder / name).exists():
            raise UsageError(f"{folder / name} exists", hint="choose another name, or remove it first")
    snapshot.save(small, destination)
    for name, data in files.items():
        with whole_output(str(folder / name)) as file:
            file.write(data)
    return converter.summary(small, destination, tuple(files))


class _Converter:
    def __init__(self, opened: OpenedCore, machine: SavedGpu, waves: list[int], choice: MemoryChoice) -> None:
        self.opened = opened
        self.source = machine
        self.waves = waves
        self.choice = choice
        self.left_out: list[str] = []
        self.origins: list[int] = []
        """The dispatch of the core file that each dispatch of the snapshot is from."""
        self.kept: dict[int, int] = {}
        """Global memory that is taken: sizes by address."""

    def machine(self) -> Machine:
        """Return the small machine."""
        source = self.source
        small = Machine(source.target, source.apertures)
        small.add_waves_of(source, self.waves, self._dispatches(small))
        self._registers(small)
        if self.choice.lds:
            self._owned(small, LOCAL)
        if self.choice.stack:
            self._owned(small, PRIVATE_WAVE)
        if self.choice.args:
            self._arguments(small)
        if self.choice.reachable:
            self._reachable(self.choice.reachable)
        memory, space = self.opened.core.memory, small.target.default_space
        for start, end in AddressSpans((address, address + size) for address, size in self.kept.items()):
            small.memory.map(space, start, bytearray(memory.read(start, end - start) or b""))
        return small

    def _dispatches(self, small: Machine) -> list[int]:
        """Give the small machine its dispatches; return the index of that of each wave.

        Two work-groups of one dispatch at one position are of two dispatches whose packets were at one place of the
        ring: the later group gets a dispatch of its own.
        """
        places = [self.source.place_of(wave) for wave in self.waves]
        used = sorted({place[0] for place in places} - {NONE})
        small.dispatches = [self.source.dispatches[index] for index in used]
        self.origins = [*used]
        index_of = {(dispatch, 0): position for position, dispatch in enumerate(used)}
        rounds: dict[tuple[int, tuple[int, int, int]], list[int]] = {}
        number = max((dispatch.id for dispatch in self.source.dispatches), default=0)
        owners = []
        for wave, (dispatch, group, _wave_in_group) in zip(self.waves, places, strict=True):
            groups = rounds.setdefault((dispatch, group), [])
            if self.source.group_numbers[wave] not in groups:
                groups.append(self.source.group_numbers[wave])
            key = dispatch, groups.index(self.source.group_numbers[wave]) if min(group) >= 0 else 0
            if dispatch != NONE and key not in index_of:
                index_of[key] = len(small.dispatches)
                number += 1
                small.dispatches.append(evolve(self.source.dispatches[dispatch], id=number))
                self.origins.append(dispatch)
            owners.append(index_of[key] if dispatch != NONE else NONE)
        return owners

    def _registers(self, small: Machine) -> None:
        source, count = self.source, len(self.waves)
        size = sum(len(file.registers) * file.byte_size for file in source.files) * count
        if size > MAX_REGISTERS:
            message = f"the registers of {count} waves take {size:,} bytes, too much for a snapshot"
            raise UsageError(message, hint="--waves LIST chooses fewer waves")
        for file in source.files:
            small.add_file(copied(file, self.waves, source.target.byte_order))

    # --- Memory ---------------------------------------------------------------------------------------------------

    def _owned(self, small: Machine, number: int) -> None:
        """Copy the local memory of the work-groups that the waves are in, or the scratch memory of the waves."""
        done: set[int] = set()
        lost = 0
        space: Any = self.source.target.space(number)
        extents = self.source.memory.extents_of_owners(number)
        for position, wave in enumerate(self.waves):
            owner = self.source.group_numbers[wave] if number == LOCAL else wave
            if owner in done or owner not in extents:
                continue
            done.add(owner)
            if number == LOCAL and small.group_numbers[position] < 0:
                lost += 1
                continue
            for address, size in extents[owner]:
                data = self.source.memory.read(space, address, size, wave, None)
                small.memory.map(space, address, data, instance=position)
        if lost:
            self.left_out.append(f"local memory of {lost} work-groups whose positions are not known")

    def _keep(self, address: int, size: int) -> None:
        for part in self.opened.core.memory.stretches(address, size):
            self.kept[part.address] = max(self.kept.get(part.address, 0), part.size)

    def _arguments(self, small: Machine) -> None:
        core = self.opened.core
        for dispatch, index in zip(small.dispatches, self.origins, strict=True):
            packet = core.packets[index]
            self._keep(packet.address, 64)
            if dispatch.queue:
                self._keep(dispatch.queue, 256)
            if dispatch.kernarg:
                size = None
                if packet.kernel_object:
                    size = core.memory.number(packet.kernel_object + KERNARG_SIZE_AT, 4)
                self._keep(dispatch.kernarg, size if size and size <= 1 << 16 else PAGE)

    def _reachable(self, depth: int) -> None:
        """Take the pages that arguments and scalar registers point to, and what these point to."""
        core = self.opened.core
        words: set[int] = set()
        for address, size in list(self.kept.items()):
            words |= _words(core.memory.read(address, size) or b"")
        pairs = [
            (self.source.register_named(f"s{index}"), self.source.register_named(f"s{index + 1}"))
            for index in range(105)
        ]
        for wave in self.waves:
            for low, high in pairs:
                if low is None or high is None or not self.source.knows(low, wave) or not self.source.knows(high, wave):
                    continue
                data = self.source.read_register(low, wave, None) + self.source.read_register(high, wave, None)
                words.add(int.from_bytes(data, "little"))
        taken = 0
        seen: set[int] = set()
        for _level in range(depth):
            pages = {word & -PAGE for word in words if core.memory.room(word)} - seen
            words = set()
            for page in sorted(pages):
                seen.add(page)
                for part in core.memory.stretches(page, PAGE):
                    if taken + part.size > MAX_REACHED:
                        self.left_out.append(f"what is reachable beyond {MAX_REACHED:,} bytes")
                        return
                    taken += part.size
                    self._keep(part.address, part.size)
                    words |= _words(core.memory.read(part.address, part.size) or b"")

    # --- Code and summary -----------------------------------------------------------------------------------------

    def code(self, small: Machine, prefix: str) -> dict[str, bytes]:
        """Give the small machine its code objects; return the files that hold them."""
        files: dict[str, bytes] = {}
        for number, found in enumerate(self.opened.found):
            name = found.entry.uri or f"the code object at {found.entry.address:#x}"
            if found.file is None:
                if found.where == "not found":
                    self.left_out.append(f"{name}, which was not found")
                continue
            data = bytes(found.file.image.data)
            path = f"{prefix}-{number}.co"
            files[path] = data
            small.code_objects.append(LoadedCodeObject(path, found.entry.address, sha256(data).hexdigest()))
            if found.where == "loaded image only":
                self.left_out.append(f"debugging information of {name}, whose file was not found")
        return files

    def summary(self, small: Machine, written: str, files: tuple[str, ...]) -> ConversionSummary:
        """Return what was taken and what was left out."""
        core = self.opened.core
        sizes = sum(size for space in small.memory.spaces for _owner, _at, size in small.memory.extents(space))
        everything = core.memory.size
        left_out = [*self.left_out]
        others = core.wave_count - self.source.wave_count
        missing = self.source.wave_count - len(self.waves)
        if missing:
            left_out.insert(0, f"{_count(missing, 'wave')} of {self.source.target.name}")
        if others:
            left_out.insert(0, f"{_count(others, 'wave')} of other processors or sizes")
        if self.opened.files.threads:
            left_out.append(f"{_count(len(self.opened.files.threads), 'thread')} of the host")
        for flag, name in (
            (self.choice.stack, "scratch memory"),
            (self.choice.lds, "local memory"),
            (self.choice.args, "kernel arguments"),
        ):
            if not flag:
                left_out.append(name)
        kept = sum(size for _owner, _address, size in small.memory.extents(small.target.default_space))
        if everything > kept:
            left_out.append(f"{everything - kept:,} bytes of global memory")
        return ConversionSummary(
            written, len(self.waves), core.wave_count, sizes, files, tuple(left_out),
            tuple(dispatch_text(dispatch) for dispatch in small.dispatches),
        )  # fmt: skip


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _words(data: bytes) -> set[int]:
    """Return the aligned numbers of eight bytes, each of which may be a pointer."""
    return set(struct.unpack_from(f"<{len(data) // 8}Q", data))
