"""What the ROCm debug agent prints, as a stopped machine with the code objects that the text names.

The text is that of ``librocm-debug-agent.so.2`` (``debug_agent.cpp``, ``print_wavefronts``), as it is pasted into
reports: between other lines, with a prefix before each line, or cut off.
"""

from __future__ import annotations

import os
import re
import struct
from io import TextIOWrapper
from typing import Any

from dwarfgpu.errors import DwarfGpuError, MalformedFile, MissingContext, UsageError
from dwarfgpu.immutable import define, field
from dwarfgpu.machines.gpu_core.layout import IdentityDecoder, family_of
from dwarfgpu.machines.machine import NONE, Dispatch, LoadedCodeObject, Machine
from dwarfgpu.machines.protocol import REASONS, WaveStop
from dwarfgpu.objfile.elf.header import PT_LOAD
from dwarfgpu.objfile.place import parse_place
from dwarfgpu.program.code.code_object import CodeObject, opened, target_id
from dwarfgpu.program.code.loaded import Loaded
from dwarfgpu.regular_files import open_input
from dwarfgpu.states.stopped import USUAL, OpenOptions, Stopped
from dwarfgpu.targets.amdgpu import LOCAL
from dwarfgpu.targets.resolve import resolve

MAX_WAVES = 1 << 16
MAX_TEXT = 1 << 30
WAVE = re.compile(
    r"wave_(\d{1,18}): pc=0x([0-9a-fA-F]{1,16})(?: \(kernel_code_entry=0x([0-9a-fA-F]{1,16})(?: <(.*)>)?\))?"
    r" \((stopped|running|single-stepping)(?:, reason: ([A-Z0-9_|]+))?\)",
    re.ASCII,
)
_SCALAR = re.compile(r"\b([a-z][a-z0-9_]*): ([0-9a-fA-F]{8}(?:[0-9a-fA-F]{8})?)(?![0-9a-fA-F])", re.ASCII)
_VECTOR = re.compile(r"\b([va]\d{1,4}): (\[0\] .*)", re.ASCII)
_LANE = re.compile(r"\[(\d{1,2})\] ([0-9a-fA-F]{8})\b", re.ASCII)
_LOCAL = re.compile(r"0x([0-9a-fA-F]{4,8}):((?: [0-9a-fA-F]{8}){1,8})\s*$", re.ASCII)
_OBJECT = re.compile(r"code object: ((?:file|memory)://\S+)")
_LOADED = re.compile(r"loaded at: \[0x([0-9a-fA-F]{1,16})-0x([0-9a-fA-F]{1,16})\]", re.ASCII)
_FUNCTION = re.compile(r"Disassembly for function (.+):\s*$")


@define
class PrintedWave:
    """One wave of the text."""

    number: str
    pc: int
    is_stopped: bool
    reason: str
    kernel: str | None = None
    registers: dict[str, int] = field(factory=dict)
    vectors: dict[str, list[int]] = field(factory=dict)
    local: dict[int, bytes] = field(factory=dict)
    uri: str | None = None
    loaded: tuple[int, int] | None = None
    function: str | None = None

    @property
    def lanes(self) -> int | None:
        """The size of the wave; None without vector registers."""
        return max(map(len, self.vectors.values()), default=None)

    @property
    def local_memory(self) -> bytes:
        """The bytes of local memory, as far as they follow each other from 0 on."""
        data = b""
        for address in sorted(self.local):
            if address != len(data):
                break
            data += self.local[address]
        return data


@define
class PrintedWaves:
    """All waves of a text."""

    waves: list[PrintedWave]
    problems: list[DwarfGpuError]


def is_printed(text: str | bytes) -> bool:
    """Return whether a text has a wave of the debug agent."""
    if isinstance(text, bytes):
        text = text.decode("utf-8", "replace")
    return WAVE.search(text) is not None


def read_printed(text: str, name: str = "the text") -> PrintedWaves:
    """Read the waves in a text."""
    waves: list[PrintedWave] = []
    problems: list[DwarfGpuError] = []
    seen: dict[str, int] = {}
    for number, line in enumerate(text.splitlines(), 1):
        match = WAVE.search(line)
        if match:
            if len(waves) >= MAX_WAVES:
                problems.append(MalformedFile("too_large", f"{name} has more than {MAX_WAVES} waves"))
                break
            name_ = match[1]
            seen[name_] = seen.get(name_, 0) + 1
            if seen[name_] > 1:  # printed for two events
                name_ = f"{name_}.{seen[name_]}"
            waves.append(PrintedWave(name_, int(match[2], 16), match[5] == "stopped", match[6] or "", match[4]))
        elif waves:
            problem = _read_line(waves[-1], line)
            if problem:
                problems.append(MalformedFile("bad_text", f"{name}, line {number}: {problem}"))
    if not waves:
        raise MalformedFile("no_waves", f"{name} has no waves of the ROCm debug agent")
    sizes = {wave.lanes for wave in waves} - {None}
    for wave in waves:
        wide = wave.lanes
        short = [key for key, values in wave.vectors.items() if len(values) != wide]
        if short:
            problems.append(MalformedFile("bad_text", f"wave {wave.number}: {short[0]} is cut off, and not used"))
            for key in short:
                del wave.vectors[key]
    if sizes - {32, 64}:
        strange = ", ".join(map(str, sorted(size for size in sizes - {32, 64} if size is not None)))
        problems.append(
            MalformedFile("bad_text", f"{name} has waves of {strange} lanes: their vector registers are cut off")
        )
        for wave in waves:
            if wave.lanes not in (32, 64):
                wave.vectors.clear()
    return PrintedWaves(waves, problems)


def _read_line(wave: PrintedWave, line: str) -> str | None:
    """Add what a line says of a wave; return what is wrong with it."""
    vector = _VECTOR.search(line)
    if vector:
        values: list[int] = []
        for lane, value in _LANE.findall(vector[2]):
            if int(lane) != len(values):
                return f"{vector[1]} has lane {lane} after lane {len(values) - 1}"
            values.append(int(value, 16))
        wave.vectors.setdefault(vector[1], values)
        return None
    local = _LOCAL.search(line)
    if local:
        words = bytes.fromhex(local[2].replace(" ", ""))
        wave.local.setdefault(int(local[1], 16), b"".join(words[at : at + 4][::-1] for at in range(0, len(words), 4)))
        return None
    code = _OBJECT.search(line)
    if code:
        wave.uri = wave.uri or code[1]
        return None
    function = _FUNCTION.search(line)
    if function:
        wave.function = wave.function or function[1]
        return None
    loaded = _LOADED.search(line)
    if loaded and wave.loaded is None:
        wave.loaded = int(loaded[1], 16), int(loaded[2], 16)
        return None
    if wave.function is None:  # the disassembly has no registers
        for name, value in _SCALAR.findall(line):
            wave.registers.setdefault(name, int(value, 16))
    return None


SNIFFED = 1 << 20
"""How many bytes at the beginning of a file are searched for a wave."""


def is_agent_text(path: str) -> bool:
    """Return whether a file contains output of the debug agent."""
    try:
        with open_input(path) as file:
            head = file.read(SNIFFED)
    except (DwarfGpuError, OSError, ValueError):
        return False
    return b"wave_" in head and is_printed(head)


def open_agent_text(path: str, file: CodeObject | None = None, options: OpenOptions = USUAL) -> Stopped:
    """Open the text of the ROCm debug agent, with the given file or else the code objects that the text names."""
    try:
        if os.path.getsize(path) > MAX_TEXT:
            raise MalformedFile("too_large", f"{path} has more than {MAX_TEXT:,} bytes")
        with TextIOWrapper(open_input(path), encoding="utf-8", errors="replace") as stream:
            printed = read_printed(stream.read(), path)
    except OSError as error:
        raise MalformedFile("unreadable", f"{path}: {error.strerror or error}") from None
    problems = [*printed.problems]
    codes = _codes(printed, path, file, problems)
    if not codes:
        named = next((wave.uri for wave in printed.waves if wave.uri), None)
        message = f"{path} does not name the processor of its waves, and its code object was not found"
        hint = f"name the code object as FILE; the text names {named}" if named else "name the code object as FILE"
        raise UsageError(message, hint=hint)
    machine = agent_machine(printed, codes[0][0], problems)
    machine.code_objects = [LoadedCodeObject(code.image.path or code.name, bias) for code, bias in codes]
    return Stopped(machine, Loaded(options.code(code, bias) for code, bias in codes), tuple(problems), name=path)


def _codes(
    printed: PrintedWaves, path: str, file: CodeObject | None, problems: list[DwarfGpuError]
) -> list[tuple[CodeObject, int]]:
    """Return the text's code objects with their load biases; a given file that the text lacks comes first, with 0."""
    objects: dict[str, tuple[int, int] | None] = {}
    for wave in printed.waves:
        if wave.uri is not None:
            objects.setdefault(wave.uri, wave.loaded)
    codes: list[tuple[CodeObject, int]] = []
    given = file
    for uri, loaded in objects.items():
        code = given if given is not None and _fits(given, uri, len(objects)) else _found(uri, path)
        if code is None:
            message = f"the code object {uri} was not found"
            hint = "name it as FILE, or put the file of --save-code-objects in the folder of the text"
            problems.append(MissingContext("code_object", message, spec="", hint=hint))
        elif loaded is not None:
            low = min((segment.address for segment in code.image.segments if segment.type == PT_LOAD), default=0)
            codes.append((code, loaded[0] - (low & -4096)))  # the loaded range begins with the page of the lowest one
            given = None if code is given else given
    if given is not None:
        message = f"the text does not say where {given.name} was loaded: its own addresses are used"
        problems.append(MissingContext("code_object", message, spec=""))
        codes.insert(0, (given, 0))
    return codes


def _fits(file: CodeObject, uri: str, count: int) -> bool:
    base = os.path.basename(file.image.path or "")
    return count == 1 or (bool(base) and base in uri)


def _found(uri: str, path: str) -> CodeObject | None:
    """Return the code object with a URI: from the URI, else from the folder of the text, by saved or original name."""
    import re

    folder = os.path.dirname(path) or "."
    saved = re.sub(r"[:/#?&=]", "_", uri)
    names = [uri]
    try:
        entries = sorted(os.listdir(folder))
    except OSError:
        entries = []
    names += [os.path.join(folder, entry) for entry in entries if entry.endswith(saved)]
    try:
        place = parse_place(uri)
        names.append(os.path.join(folder, os.path.basename(place.path)))
    except DwarfGpuError:
        pass
    for name in names:
        try:
            code = opened(name)
        except DwarfGpuError:
            continue
        if code.is_amdgpu:
            return code
    return None


# --- The machine --------------------------------------------------------------------------------------------------


def agent_machine(printed: PrintedWaves, code: CodeObject, problems: list[DwarfGpuError]) -> Machine:
    """Return a machine with the waves of a text, for the processor of a code object."""
    sizes = {wave.lanes for wave in printed.waves} - {None}
    processor = target_id(code.target.target).partition(":")[0]
    waves = printed.waves
    if len(sizes) > 1:
        wanted = code.target.target.lane_count
        waves = [wave for wave in waves if wave.lanes in (wanted, None)]
        message = f"{len(printed.waves) - len(waves)} waves do not have {wanted} lanes, and are not shown"
        problems.append(MalformedFile("bad_text", message))
        sizes = {wanted}
    lanes = sizes.pop() if sizes else code.target.target.lane_count
    has_both = processor.startswith(("gfx10", "gfx11", "gfx120"))
    machine = Machine(resolve(f"amdgcn-{processor}{f'-wave{lanes}' if has_both else ''}"))
    places = [_place(processor, wave) for wave in waves]
    dispatch_of: dict[tuple[int, str | None], int] = {}
    owners = []
    for wave, (_group, _number, packet) in zip(waves, places, strict=True):
        kernel = wave.kernel
        if packet == NONE:
            owners.append(NONE)
            continue
        if (packet, kernel) not in dispatch_of:
            dispatch_of[packet, kernel] = len(machine.dispatches)
            machine.dispatches.append(Dispatch(len(machine.dispatches) + 1, kernel))
        owners.append(dispatch_of[packet, kernel])
    machine.add_waves(
        len(waves),
        dispatch=owners,
        work_group=[place[0] for place in places] or NONE,
        wave_in_group=[place[1] for place in places],
        ids=[wave.number for wave in waves],
    )
    reasons = (tuple(name for name in wave.reason.split("|") if name in REASONS) for wave in waves)
    stops = (WaveStop(names, is_stopped=wave.is_stopped) for names, wave in zip(reasons, waves, strict=True))
    machine.stops = dict(enumerate(stops))
    for index, wave in enumerate(waves):
        _set(machine, index, "pc", wave.pc)
        contents: dict[str, Any] = wave.registers | wave.vectors
        for name, value in contents.items():
            _set(machine, index, name, value)
    _map_local(machine, waves, problems)
    machine.changes = 0
    return machine


def _place(processor: str, wave: PrintedWave) -> tuple[tuple[int, int, int], int, int]:
    """Return the work-group of a wave, its number in it, and its packet, from the trap temporaries."""
    family = family_of(processor)
    ttmps = tuple(wave.registers.get(f"ttmp{index}", -1) for index in range(16))
    if family is None or min(ttmps[4:12]) < 0:
        return (NONE, NONE, NONE), NONE, NONE
    decoder = IdentityDecoder(family, None)
    if decoder.not_set_up(ttmps):
        return (NONE, NONE, NONE), NONE, NONE
    return decoder.place(ttmps)


def _set(machine: Machine, wave: int, name: str, value: int | list[int]) -> None:
    """Set a register that the target has to a number, or a vector register to one for each lane."""
    register = machine.register_named(name)
    if register is not None and isinstance(value, int) and not register.lane_bits:
        size = -(-register.bit_size // 8)
        machine.write_register(register, (value & (1 << 8 * size) - 1).to_bytes(size, "little"), wave, None)
    elif register is not None and isinstance(value, list) and len(value) == machine.target.lane_count:
        machine.write_register(register, struct.pack(f"<{len(value)}I", *value), wave, None)


def _map_local(machine: Machine, waves: list[PrintedWave], problems: list[DwarfGpuError]) -> None:
    """Map the local memory of work-groups; report waves whose work-group is not known."""
    space: Any = machine.target.space(LOCAL)
    done: set[int] = set()
    lost = 0
    for index, wave in enumerate(waves):
        data = wave.local_memory
        owner = machine.group_numbers[index]
        if not data or owner in done:
            continue
        if owner < 0:
            lost += 1
            continue
        done.add(owner)
        machine.memory.map(space, 0, data, instance=index)
    if lost:
        message = f"the work-groups of {lost} waves are not known, so their local memory is not shown"
        problems.append(MissingContext("work_group", message, spec=""))
