"""What the ROCm debug agent prints: the registers, the local memory and the place of waves that have stopped.

The text is that of ``librocm-debug-agent.so.2`` (``debug_agent.cpp``, ``print_wavefronts``), as it is pasted into
reports: between other lines, with a prefix before each line, or cut off.
"""

from __future__ import annotations

import re

from attrs import define, field

from dwarfgpu.errors import DwarfGpuError, MalformedFile

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
