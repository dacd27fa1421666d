"""One lane that executes a few instructions of straight-line code: enough for the smallest kernels.

It is what a launch is tested against: the code that a compiler made, run from the state that a launch gives it.
"""

import re
from collections.abc import Mapping

from dwarfgpu.execution.launch.dispatch import PlannedDispatch
from tests.builders.prologue import Instruction, instruction, registers

MASK = 0xFFFFFFFF
SIZES = {
    "dword": 4, "b32": 4, "dwordx2": 8, "b64": 8, "b96": 12, "dwordx3": 12, "dwordx4": 16, "b128": 16,
    "short": 2, "b16": 2, "short_d16_hi": 2, "d16_hi_b16": 2, "u16": 2}  # fmt: skip
MEMORY = re.compile(r"(s|global|flat|buffer)_(load|store)_(\w+)")
MOVES = ("v_mov_b32_e32", "s_mov_b32", "v_dual_mov_b32")
ANDS = ("s_and_b32", "v_and_b32_e32", "v_dual_and_b32")


class Lane:
    """Registers of a lane, the memory of its dispatch, and what it stores."""

    def __init__(self, dispatch: PlannedDispatch, initial: Mapping[str, int]) -> None:
        self._dispatch = dispatch
        self._values = dict(initial)
        self._carry = 0
        self.stores: dict[int, bytes] = {}

    def run(self, lines: list[str]) -> dict[int, bytes]:
        """Execute a kernel to its end; what it stored, by address."""
        for line in lines:
            pair = instruction(line)
            results = [self._execute(one) for one in pair]  # a pair that is issued together reads before it writes
            for result in results:
                self._values.update(result)
        assert lines[-1] == "s_endpgm"
        return self.stores

    def _execute(self, one: Instruction) -> dict[str, int]:
        name, operands = one.mnemonic, one.operands
        memory = MEMORY.fullmatch(name)
        if memory:
            return self._memory(memory[1], memory[2], memory[3], operands)
        if name == "s_endpgm" or name.startswith("s_setreg"):
            return {}
        targets = registers(operands[0])
        sources = [self._words(each, len(targets)) for each in operands[1:]]
        if name in MOVES or name == "v_mov_b64_e32":
            return dict(zip(targets, sources[0], strict=True))
        if name == "v_pk_mov_b32":
            assert one.text.endswith("op_sel:[0,1]"), one.text
            return {targets[0]: sources[0][0], targets[1]: sources[1][1]}
        first, second = sources[0][0], sources[1][0]
        if name in ANDS:
            return {targets[0]: first & second}
        if name == "s_lshr_b32":
            return {targets[0]: first >> (second & 31)}
        if name == "v_bfe_u32":
            return {targets[0]: first >> second & ((1 << sources[2][0]) - 1)}
        if name in ("s_add_u32", "s_addc_u32"):
            total = first + second + (self._carry if name == "s_addc_u32" else 0)
            self._carry = total >> 32
            return {targets[0]: total & MASK}
        raise AssertionError(f"an instruction that a lane does not know: {one.text}")

    def _words(self, operand: str, count: int) -> list[int]:
        """The words of an operand: registers, or a number."""
        names = registers(operand)
        if names:
            return [self._values[name] for name in names]
        return [(0 if operand == "null" else int(operand, 0)) & MASK] * count

    def _memory(self, unit: str, access: str, form: str, operands: tuple[str, ...]) -> dict[str, int]:
        size = SIZES[form]
        last, *rest = operands[-1].split()
        offset = sum(int(each.partition(":")[2]) for each in rest if each.startswith("offset:"))
        plain = [*operands[:-1], last]
        if unit == "s":
            unit_size = 4 if self._dispatch.start.processor.major <= 7 else 1  # GFX6 and GFX7 count dwords
            address = self._address(plain[1]) + self._words(plain[2], 1)[0] * unit_size
        elif unit == "flat":
            address = self._address(plain[0]) + offset
        elif unit == "buffer":  # GFX6: a V# over all memory, whose first words are the address
            assert plain[1] == "off", plain
            address = self._address(plain[2]) + self._words(plain[3], 1)[0] + offset
        else:
            address = self._address(plain[2]) + self._words(plain[1 if access == "load" else 0], 1)[0] + offset
        if access == "load":
            data = self._read(address, size)
            names = registers(plain[0])
            return {name: int.from_bytes(data[at * 4 : at * 4 + 4], "little") for at, name in enumerate(names)}
        number = sum(word << 32 * at for at, word in enumerate(self._words(plain[0 if unit == "buffer" else 1], 1)))
        if "d16_hi" in form:
            number >>= 16
        self.stores[address] = (number & ((1 << 8 * size) - 1)).to_bytes(size, "little")
        return {}

    def _address(self, operand: str) -> int:
        low, high, *_rest = self._words(operand, 2)
        return low | high << 32

    def _read(self, address: int, size: int) -> bytes:
        for block in self._dispatch.blocks:
            if block.address <= address and address + size <= block.address + len(block.data):
                return block.data[address - block.address :][:size]
        raise AssertionError(f"nothing is at {address:#x}")
