"""A wave that executes what the code of a function does to the registers that callers want back.

It runs instructions as a disassembler writes them and knows nothing of call frame information, so what it finds is the
truth that unwinding must give. It goes straight through the code, without branches. The instructions that keep values
are done: moves, the arithmetic of stack pointers, lanes that are written, stores to scratch memory. Any other leaves
rubbish in its first operand, and what has been saved is spoilt when all is, as the code of a callee may.
"""

import random
import re
from typing import Any, NamedTuple

import numpy as np

from dwarfgpu.machines.machine import Machine
from dwarfgpu.targets.resolve import resolve

SCRATCH = 1 << 17
MASK = (1 << 32) - 1
_LINE = re.compile(r"\t(\S.*?)\s*// ([0-9A-F]+):")
_NO_RESULT = re.compile(
    r"s_(nop|wait|cbranch|branch|cmp|setpc|delay|clause|endpgm|sethalt|barrier)|.*_store|v_cmpx|v_nop"
)
_PROLOGUE = re.compile(
    r"v_writelane|v_accvgpr_write|(buffer|scratch)_store|s_(nop|wait|mov|add|clause|delay|xor_saveexec|or_saveexec)"
)
"""What stands between the instructions that save registers."""
Listing = list[tuple[int, str]]


def listing(text: str) -> Listing:
    """What ``llvm-objdump -d`` prints of a function: addresses and instructions."""
    return [(int(found[2], 16), found[1]) for found in map(_LINE.match, text.splitlines()) if found]


class Registers(NamedTuple):
    """All registers at one moment."""

    scalar: tuple[int, ...]
    vector: tuple[tuple[int, ...], ...]
    accumulation: tuple[tuple[int, ...], ...]
    mask: int


class Activation(NamedTuple):
    """A function that waits for a call to return: where it goes on, and its registers at the call."""

    function: str
    pc: int
    registers: Registers
    changed: frozenset[str]
    """The registers that the function has changed until then."""


class Wave:
    """The registers and the scratch memory of a wave."""

    def __init__(self, target: str, *, seed: int = 1, mask: int | None = None, bias: int = 0) -> None:
        self.bias = bias
        """What is added to the addresses in the code."""
        self.target = resolve(target)
        self.lanes = self.target.lane_count
        self.is_flat = self.target.stack_scale != 1
        self.random = random.Random(seed)
        self.s = [self.rubbish() for _ in range(106)]
        self.v = [self.row() for _ in range(256)]
        self.a = [self.row() for _ in range(256)]
        self.mask = (1 << self.lanes) - 1 if mask is None else mask
        self.all_lanes = False
        """Whether the code has turned on other lanes than those it was entered with."""
        self.s[32] = 0x80 if self.is_flat else 0x80 * self.lanes
        self.scratch = bytearray(self.random.randbytes(SCRATCH))
        self.pc = 0
        self.changed: set[str] = set()
        """The registers that the innermost function has changed."""
        self.saved: list[str] = []
        """What has been saved and is not used for anything else yet."""
        self.callers: list[Activation] = []

    def rubbish(self) -> int:
        return self.random.getrandbits(32)

    def row(self) -> list[int]:
        return [self.rubbish() for _ in range(self.lanes)]

    def registers(self) -> Registers:
        return Registers(tuple(self.s), tuple(map(tuple, self.v)), tuple(map(tuple, self.a)), self.mask)

    # --- Running --------------------------------------------------------------------------------------------------

    def call(self, function: str, code: Listing, index: int = -1) -> None:
        """Run a function up to a call (one of those in it, the last by default), and call."""
        at = [i for i, (_, text) in enumerate(code) if text.startswith("s_swappc")][index]
        self.run(code, code[at][0])
        self.spoil_saved()
        self.wait(function, code[at + 1][0])

    def wait(self, function: str, back: int) -> None:
        back += self.bias
        self.callers.append(Activation(function, back, self.registers(), frozenset(self.changed)))
        self.s[30], self.s[31] = back & MASK, back >> 32
        self.changed.clear()

    def run(self, code: Listing, stop: int) -> None:
        """Run a function from its beginning up to an address."""
        for address, text in code:
            if address == stop:
                break
            self.step(text)
        self.pc = stop

    def step(self, text: str) -> None:
        name, _, rest = text.partition(" ")
        if not _PROLOGUE.match(name):
            self.spoil_saved()
        operands = [each.strip() for each in rest.split(",")]
        if "saveexec" in name:
            self.put(operands[0], self.mask)
            if operands[1] == "-1":  # all lanes, or those that are not active: for whole registers to be saved
                full = (1 << self.lanes) - 1
                self.mask = self.mask ^ full if "xor" in name else full
                self.all_lanes = True
        elif self.all_lanes and name.startswith("s_mov_b") and operands[0].startswith("exec"):
            self.mask = self.get(operands[1]) & ((1 << self.lanes) - 1)
            self.all_lanes = operands[1] == "-1"
        elif operands[0].startswith("exec"):
            pass  # branches that all active lanes take
        elif name.startswith(("s_mov_b", "s_mov_i")):
            self.put(operands[0], self.get(operands[1], 64 if "64" in name else 32))
        elif re.match(r"s_add(_co)?_[iu]32|s_addk(_co)?_i32|s_and_b32|s_or_b32|s_lshr_b32|s_lshl_b32", name):
            self.put(operands[0], self.arithmetic(name, operands) & MASK)
        elif name.startswith("v_writelane"):
            self.v[int(operands[0][1:])][int(operands[2])] = self.get(operands[1])
            self.changed.add(operands[0])
            if operands[1] not in ("s32", "s33"):
                self.saved.append(operands[1])
        elif name.startswith("v_accvgpr_write") and operands[1].startswith("v"):
            self.move(self.a[int(operands[0][1:])], self.v[int(operands[1][1:])])
            self.saved.append(operands[1])
        elif name.startswith("v_accvgpr_read"):
            self.move(self.v[int(operands[0][1:])], self.a[int(operands[1][1:])])
        elif re.match(r"(buffer|scratch)_store_(dword|b32)(x[234])?$|scratch_store_b(64|96|128)$", name):
            self.store(name, operands)
        elif name.startswith("s_swappc"):
            self.returned()
        elif not _NO_RESULT.match(name):
            self.spoil(operands[0])

    def spoil_saved(self) -> None:
        """Use the registers that were saved, when all have been."""
        for operand in self.saved:
            self.spoil(operand)
        self.saved.clear()

    def arithmetic(self, name: str, operands: list[str]) -> int:
        if "addk" in name:
            return self.get(operands[0]) + int(operands[1], 0)
        left, right = self.get(operands[1]), self.get(operands[2])
        if "_and_" in name:
            return left & right
        if "_or_" in name:
            return left | right
        if "_lsh" in name:
            return left >> (right & 31) if "lshr" in name else left << (right & 31)
        return left + right

    def returned(self) -> None:
        """A callee that nobody is interested in has been called, and has used what it may."""
        for number in (30, 31):
            self.s[number] = self.rubbish()

    # --- Operands -------------------------------------------------------------------------------------------------

    @staticmethod
    def numbers(operand: str) -> tuple[str, list[int]]:
        """The registers that an operand names."""
        single = re.fullmatch(r"([sva])(\d+)", operand)
        if single:
            return single[1], [int(single[2])]
        several = re.fullmatch(r"([sva])\[(\d+):(\d+)\]", operand)
        if several:
            return several[1], list(range(int(several[2]), int(several[3]) + 1))
        return "", []

    def get(self, operand: str, size: int = 32) -> int:
        kind, numbers = self.numbers(operand)
        if kind == "s":
            return sum(self.s[number] << 32 * i for i, number in enumerate(numbers))
        if operand.startswith("exec"):
            return self.mask >> 32 if operand == "exec_hi" else self.mask
        try:
            return int(operand, 0) & ((1 << size) - 1)
        except ValueError:
            return self.rubbish()  # apertures, vcc and the like

    def put(self, operand: str, value: int) -> None:
        kind, numbers = self.numbers(operand)
        if kind == "s":
            for i, number in enumerate(numbers):
                self.s[number] = value >> 32 * i & MASK
                self.changed.add(f"s{number}")

    def spoil(self, operand: str) -> None:
        kind, numbers = self.numbers(operand)
        for number in numbers:
            self.changed.add(f"{kind}{number}")
            if kind == "s":
                self.s[number] = self.rubbish()
            else:
                self.move((self.v if kind == "v" else self.a)[number], self.row())

    def move(self, to: list[int], values: list[int]) -> None:
        for lane in range(self.lanes):
            if self.mask >> lane & 1:
                to[lane] = values[lane]

    # --- Scratch memory -------------------------------------------------------------------------------------------

    def store(self, name: str, operands: list[str]) -> None:
        """A store at an address that is the same for all lanes; others are stores of the program to its variables."""
        text = " ".join(operands)
        if "off" not in operands[:2] and "off " not in text:
            return
        data = operands[0] if name.startswith("buffer") else operands[1]
        base = re.search(r"\b(s\d+|0)( offset:\d+)?( sc0| sc1| th:\S+| scope:\S+)*$", operands[-1])
        if base is None or (name.startswith("buffer") and "offen" in text):
            return
        offset = re.search(r"offset:(\d+)", operands[-1])
        start = self.get(base[1]) if base[1] != "0" else 0
        kind, numbers = self.numbers(data)
        for i, number in enumerate(numbers):
            at = int(offset[1] if offset else 0) + 4 * i
            row = (start + at) * self.lanes if self.is_flat else start + at * self.lanes
            source = self.v[number] if kind == "v" else self.a[number]
            for lane in range(self.lanes):
                if self.mask >> lane & 1:
                    place = row + 4 * lane
                    self.scratch[place : place + 4] = source[lane].to_bytes(4, "little")
        if not self.all_lanes:  # else it is saved as a whole to have others in its lanes
            self.saved.append(data)

    # --- The machine ----------------------------------------------------------------------------------------------

    def machine(self) -> Machine:
        """The wave as a machine."""
        machine = Machine(self.target)
        machine.add_waves(1)
        for number, value in enumerate(self.s):
            machine.set_register(f"s{number}", value)
        for letter, rows in (("v", self.v), ("a", self.a)):
            for number, row in enumerate(rows):
                if self.target.register_named(f"{letter}{number}") is not None:
                    machine.set_register(f"{letter}{number}", np.array([row], dtype=np.uint32))
        machine.set_register("exec", np.uint64(self.mask))
        machine.set_register("pc", np.uint64(self.pc + self.bias))
        space: Any = self.target.space_named("private_wave")
        machine.memory.map(space, 0, np.frombuffer(bytes(self.scratch), dtype=np.uint8).copy())
        return machine
