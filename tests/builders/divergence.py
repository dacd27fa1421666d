"""Waves that execute the nested IF/THEN/ELSE of lane-pc.s, and where each lane stands by the table in its source.

E is the mask of the lanes that were active on entry, C1 and C2 the lanes for which the two conditions hold.
"""

from typing import NamedTuple

from dwarfgpu.machines.machine import Machine
from dwarfgpu.program.code import code_object
from dwarfgpu.program.code.loaded import Loaded, LoadedCode
from dwarfgpu.states.stopped import Stopped
from tests.builders.folders import FIXTURES

VARIANTS = (
    ("asm/lane-pc.gfx90a.w64.co", None),                     ("asm/lane-pc-old-numbers.gfx90a.w64.co", None),
    ("asm/lane-pc-legacy.gfx90a.w64.co", "llvm-legacy"),     ("asm/lane-pc.gfx1100.w32.co", None),
    ("asm/lane-pc-legacy.gfx1100.w32.co", "llvm-legacy"))  # fmt: skip
"""The fixtures, and the dialect of their expressions."""

REGIONS = (
    # begins at, ends at; where the lanes of E&~C1, of E&C1&~C2 and of E&C1&C2 stand. Those at the PC execute.
    ("lex_start", "lex_1_then", "PC", "PC", "PC"),
    ("lex_1_then", "lex_1_1_then", "lex_1_start", "PC", "PC"),
    ("lex_1_1_then", "lex_1_1_else", "lex_1_start", "lex_1_1_start", "PC"),
    ("lex_1_1_else", "lex_1_1_end", "lex_1_start", "PC", "lex_1_1_end"),
    ("lex_1_1_end", "lex_1_else", "lex_1_start", "PC", "PC"),
    ("lex_1_else", "lex_1_end", "PC", "lex_1_end", "lex_1_end"),
    ("lex_1_end", "lex_end", "PC", "PC", "PC"))  # fmt: skip
NAMES = tuple(region[0] for region in REGIONS)


class Masks(NamedTuple):
    """The lanes that were active on entry, and those for which the conditions hold."""

    entry: int
    first: int
    second: int


class Example:
    """One of the fixtures, loaded at an address."""

    def __init__(self, name: str, dialect: str | None, bias: int = 0x7F00_0000_0000) -> None:
        self.file = code_object.opened(str(FIXTURES / name))
        self.target = self.file.target.target
        self.lane_count = self.target.lane_count
        self.bias = bias
        self.loaded = Loaded([LoadedCode(self.file, bias, dialect=dialect)])

    def at(self, symbol: str) -> int:
        found = self.file.image.symbol_named(symbol)
        assert found is not None, symbol
        return self.bias + found.value

    def execution_mask(self, region: str, masks: Masks) -> int:
        sets = (~masks.first, masks.first & ~masks.second, masks.first & masks.second)
        places = REGIONS[NAMES.index(region)][2:]
        executes = 0
        for mask, place in zip(sets, places, strict=True):
            executes |= masks.entry & mask if place == "PC" else 0
        return executes & ((1 << self.lane_count) - 1)

    def put(self, machine: Machine, wave: int, region: str, masks: Masks, pc: int | None = None) -> None:
        """Let a wave stand in a region."""
        values = {"pc": self.at(region) if pc is None else pc, "exec": self.execution_mask(region, masks)}
        inner = self.execution_mask("lex_1_then", masks)
        for first, mask in ((34, masks.entry), (36, inner), (38, masks.first), (40, masks.second)):
            values[f"s{first}"] = mask & 0xFFFFFFFF
            if self.lane_count == 64:
                values[f"s{first + 1}"] = mask >> 32
        for name, value in values.items():
            register = machine.register_named(name)
            assert register is not None
            machine.write_register(register, value.to_bytes(register.bit_size // 8, "little"), wave, None)

    def stopped(self, *waves: tuple[str, Masks, int | None]) -> Stopped:
        """Waves that stand in regions: the name of each, the masks, and an address that is not its first one."""
        machine = Machine(self.target)
        machine.add_waves(len(waves))
        for wave, (region, masks, pc) in enumerate(waves):
            self.put(machine, wave, region, masks, pc)
        return Stopped(machine, self.loaded)

    def truth(self, region: str, masks: Masks, pc: int) -> list[int | None]:
        """Where each lane stands, by the table."""
        _begin, _end, other, second, first = REGIONS[NAMES.index(region)]
        found: list[int | None] = []
        for lane in range(self.lane_count):
            if not masks.entry >> lane & 1:
                found.append(None)
                continue
            where = other
            if masks.first >> lane & 1:
                where = first if masks.second >> lane & 1 else second
            found.append(pc if where == "PC" else self.at(where))
        return found
