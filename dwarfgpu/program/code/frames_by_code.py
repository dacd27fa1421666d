"""Call frames of code without call frame information, found by reading the code.

What the reading finds is written as a row of rules, in the terms of call frame information, so that registers and
variables of callers follow as if the file had it. Where a file has rules, its rules win.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from contextlib import suppress
from functools import cache, cached_property, partial
from typing import TYPE_CHECKING

from dwarfgpu import dialects
from dwarfgpu.budget import remembered
from dwarfgpu.cfi.activation import BY_CODE, NO_INFORMATION, Information, NoInformation
from dwarfgpu.cfi.rows import UnwindRules
from dwarfgpu.cfi.rules import (
    CfaExpression,
    ExpressionBytes,
    ExpressionRule,
    Offset,
    RegisterOffset,
    RegisterRule,
    SameValue,
    UndefinedRule,
)
from dwarfgpu.encoding import Format
from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.expr.asm import assemble
from dwarfgpu.expr.instruction import Expression, decode
from dwarfgpu.isa.decoder import decode as decode_instruction
from dwarfgpu.isa.frame_state import (
    ACCUMULATION,
    BY_ABI,
    EXEC,
    NUMBER,
    RETURN_HIGH,
    RETURN_LOW,
    STACK,
    CodeReading,
    CodeState,
    inverted,
)
from dwarfgpu.isa.instruction import CALLS
from dwarfgpu.isa.tables import is_gfx12_5
from dwarfgpu.objfile.elf.header import PT_GNU_RELRO, SHF_EXECINSTR
from dwarfgpu.objfile.elf.loading import words_of_loader
from dwarfgpu.objfile.info.scopes import ranges_of
from dwarfgpu.targets.amdgpu import AGPR_32, AGPR_64, PC_64, PRIVATE_WAVE, VGPR_32, VGPR_32_512, VGPR_64
from dwarfgpu.targets.amdgpu.registers import sgpr

if TYPE_CHECKING:
    from dwarfgpu.cfi.rules import Rule
    from dwarfgpu.isa.frame_state import Clobbers, Lanes
    from dwarfgpu.program.code.loaded import LoadedCode
    from dwarfgpu.targets.target import Target

_FORM = Format(8)
_SCALARS = 106
"""The scalar registers that have numbers."""


class CodeUnwinding:
    """The rules of functions without call frame information."""

    def __init__(self, target: Target, code_at: Callable[[int], LoadedCode | None]) -> None:
        self._target = target
        self._code_at = code_at
        self._processor = target.processor

    def information_at(self, code: LoadedCode, pc: int, missing: DwarfGpuError) -> Information:
        """Return the rules at an address, or raise `NoInformation` that goes on where an error of the file ends."""
        try:
            return self._read(code, pc)
        except DwarfGpuError as error:
            message = f"{missing.message}, and its code does not tell: {error.message}"
            raise NoInformation(NO_INFORMATION, message) from None

    def at_null(self) -> Information:
        """Return the rules where a null pointer was called: nothing was executed, so all is as the call has left it."""
        target = self._target
        if target.execution_mask is not None:
            row = StateRules(target, CodeState({}, {}, {}), {}).row(0)
            return Information(row, PC_64, 0, _expression, follows_call=partial(self._follows_call, 0))
        counter, stack, size = target.program_counter, target.stack_pointer, target.address_size
        if counter is None or stack is None:
            raise _unknown(f"where functions of {target.name} return to is not known")
        rules: dict[int, Rule] = {each.number: SameValue() for each in target.registers() if each.number != stack}
        rules[counter] = Offset(-size)  # on the top of the stack (psABI of x86-64, 3.2.2)
        return Information(UnwindRules(0, 1, RegisterOffset(stack, size), rules), counter, 0, _expression)

    @remembered
    def _read(self, code: LoadedCode, pc: int) -> Information:
        address = code.in_file(pc)
        function = self._reading(code).function_at(address)
        if function is None:
            raise _unknown(f"no symbol says where the function at {pc:#x} begins")
        state = function.state_at(address)
        if state is None:
            raise _unknown(f"no path from the entry of the function leads to {pc:#x}")
        if function.other_link:
            raise _unknown(f"the function goes on to {function.other_link}, and never returns to s[30:31]")
        row = StateRules(self._target, state, function.rests).row(pc)
        start = code.in_program(function.start)
        told = partial(self._follows_call, start), self._lost_in_call
        return Information(row, PC_64, start, _expression, False, BY_CODE, *told)

    @remembered
    def _reading(self, code: LoadedCode) -> CodeReading:
        scale, lanes, functions = self._target.stack_scale, self._target.lane_count, _Functions(code)
        return CodeReading(self._processor, lanes, scale, functions.at, functions.pointer_at)

    def _lost_in_call(self, place: int) -> frozenset[int]:
        """Return the registers that a function may have changed that the call at an address made and that is gone."""
        state = self._state_in_call(place)
        clobbers: Clobbers | None = BY_ABI if state is None else state.lost
        if clobbers is None:
            return frozenset()
        scalars = (sgpr(register) for register in clobbers.scalars if register < _SCALARS)
        vectors = clobbers.active | clobbers.whole
        return frozenset((*scalars, *(vector_number(self._target, each) for each in vectors)))

    def _state_in_call(self, place: int) -> CodeState | None:
        code = self._code_at(place)
        function = None if code is None else self._reading(code).function_at(code.in_file(place))
        return None if code is None or function is None else function.state_at(code.in_file(place))

    def _follows_call(self, start: int, pc: int) -> bool:
        """Return whether an address is behind a call, and not one that can only have led to another function."""
        code = self._code_at(pc - 4)
        if code is None:
            return True  # which ends the stack for another reason
        try:
            data = code.file.image.read(code.in_file(pc - 4), 4)
            if decode_instruction(data, 0, self._processor, self._target.lane_count).name not in CALLS:
                return False
        except DwarfGpuError:
            return False
        with suppress(DwarfGpuError):
            state = self._state_in_call(pc - 1)
            return state is None or state.called is None or code.in_program(state.called) == start
        return True


class _Functions:
    def __init__(self, code: LoadedCode) -> None:
        self._code = code
        self._contents = cache(code.file.image.read)

    def at(self, address: int) -> tuple[int, bytes] | None:
        """Return the start and the bytes of the function at an address of the file."""
        symbol = self._code.file.symbol_image.symbol_at(address)
        if symbol is not None and symbol.size:
            return symbol.value, self._contents(symbol.value, symbol.size)
        die = self._code.function_at(self._code.in_program(address))
        if die is not None:
            low, high = ranges_of(die)[0]
            return (low, self._contents(low, high - low)) if low <= address < high else None
        before = bisect_right(self._unsized, address)
        if not 0 < before < len(self._unsized):
            return None
        start, end = self._unsized[before - 1 : before + 1]
        return start, self._contents(start, end - start)

    @cached_property
    def _unsized(self) -> list[int]:
        """Where functions begin, and where sections with code end: a function without a size reaches to the next."""
        image = self._code.file.symbol_image
        starts = {each.value for each in image.symbols() if each.type == "FUNC" and each.section is not None}
        ends = {each.address + each.size for each in image.sections if each.header.flags & SHF_EXECINSTR}
        return sorted(starts | ends) if starts else []

    @cached_property
    def _words(self) -> dict[int, tuple[bytes, str]]:
        return words_of_loader(self._code.file.image, 0)

    def pointer_at(self, address: int) -> int | None:
        """Return the address that the loader has put into the file where nothing can change it: table of offsets."""
        constant = (each for each in self._code.file.image.segments if each.type == PT_GNU_RELRO)
        if not any(each.address <= address < each.address + each.memory_size for each in constant):
            return None
        word, why = self._words.get(address, (b"", ""))
        return int.from_bytes(word, "little") if len(word) == 8 and not why else None


def _unknown(message: str) -> NoInformation:
    return NoInformation(NO_INFORMATION, message)


@cache
def _assembled(text: str) -> ExpressionBytes:
    return ExpressionBytes(assemble(text, dialects.get("llvm-user"), _FORM))


@cache
def _expression(block: ExpressionBytes) -> Expression:
    return decode(block.data, dialects.get("llvm-user"), _FORM, known_in=dialects.known_in)


class StateRules:
    """Writes the state of a function at an instruction as rules."""

    def __init__(self, target: Target, state: CodeState, rests: dict[int, list[tuple[int, int]]]) -> None:
        self._target = target
        self._rests = rests
        self._state = state
        self._scale = target.stack_scale
        self._masks = (EXEC, EXEC + 1) if target.lane_count == 64 else (EXEC,)
        self._homes: dict[int, str] = {}
        """Where values of entry are that are not in their own registers, as expressions."""
        self._registers: dict[int, int] = {}
        """The scalar registers that hold those of entry, and masks."""
        self._entry_parts: dict[int, str] = {}
        self._outside_parts: dict[int, str] = {}
        state = self._state
        for register, value in state.scalars.items():
            if value is not None and not value[1] and register < _SCALARS and value[0] != NUMBER:
                self._registers.setdefault(value[0], register)
        for number, (entry, outside, lanes) in state.vectors.items():
            self._add(f"DW_OP_regx {self._number(number)}", entry, outside, lanes, "DW_OP_LLVM_offset_uconst {}")
        for (symbol, offset), (entry, outside, lanes) in state.slots.items():
            address = self._address(symbol, offset)
            if address is not None:
                self._add(address, entry, outside, lanes, "DW_OP_LLVM_offset_uconst {}")

    def row(self, pc: int) -> UnwindRules:
        """Return the rules; raise an error where the return address or the stack at entry is not known."""
        cfa = self._address(STACK, 0)
        if cfa is None:
            raise _unknown("no register holds the stack pointer that the function was entered with")
        rules: dict[int, Rule] = dict(_unchanged(self._target))
        for register in self._state.scalars:
            if register < _SCALARS and register != STACK:
                rules[sgpr(register)] = self._scalar_rule(register)
        for each in (RETURN_LOW, RETURN_HIGH):
            if isinstance(rules.get(sgpr(each)), UndefinedRule):
                message = f"the paths to {pc:#x} do not agree where the return address is, or it is not kept"
                raise _unknown(message)
        mask = self._target.execution_mask
        assert mask is not None  # noqa: S101 (AMDGPU has it)
        rules[mask] = self._mask_rule()
        is_mask_known = not isinstance(rules[mask], UndefinedRule)
        for number, lanes in self._state.vectors.items():
            if self._target.register(self._number(number)) is not None:
                rules[self._number(number)] = self._vector_rule(number, lanes, mask if is_mask_known else None)
        entry = "DW_OP_LLVM_call_frame_entry_reg"
        text = f"{entry} {sgpr(RETURN_LOW)}; DW_OP_piece 4; {entry} {sgpr(RETURN_HIGH)}; DW_OP_piece 4"
        rules[PC_64] = ExpressionRule(_assembled(text))
        return UnwindRules(pc, pc + 1, CfaExpression(_assembled(cfa)), rules)

    # --- Values ---------------------------------------------------------------------------------------------------

    def _add(self, where: str, entry: int, outside: int, lanes: dict[int, tuple[int, int] | None], moved: str) -> None:
        if not lanes:
            self._entry_parts.setdefault(entry, where)
            self._outside_parts.setdefault(outside, where)
        for lane, value in lanes.items():
            if value is not None and not value[1]:
                self._homes.setdefault(value[0], f"{where}; {moved.format(4 * lane)}")

    def _number(self, vector: int) -> int:
        return vector_number(self._target, vector)

    def _address(self, symbol: int, offset: int) -> str | None:
        """Return the expression of an address of the wave's private memory, by a register that holds its base."""
        state = self._state
        holders = (each for each in (STACK, 33, 34, *state.scalars) if each < _SCALARS)
        for register in holders:
            value = state.scalar(register)
            if value is not None and value[0] == symbol:
                distance = offset - ((value[1] ^ 1 << 31) - (1 << 31)) * self._scale
                scaled = f"DW_OP_constu {self._scale}; DW_OP_mul; " if self._scale != 1 else ""
                moved = f"DW_OP_consts {distance}; DW_OP_plus; " if distance else ""
                return (
                    f"DW_OP_regx {sgpr(register)}; DW_OP_deref_size 4; {scaled}{moved}"
                    f"DW_OP_constu {PRIVATE_WAVE}; DW_OP_LLVM_form_aspace_address"
                )
        return None

    # --- Rules ----------------------------------------------------------------------------------------------------

    def _scalar_rule(self, register: int) -> Rule:
        if self._state.scalar(register) == (register, 0):
            return SameValue()
        if register in self._registers:
            return RegisterRule(sgpr(self._registers[register]))
        if register in self._homes:
            return ExpressionRule(_assembled(self._homes[register]))
        return UndefinedRule()

    def _mask_rule(self) -> Rule:
        if all(self._state.scalar(register) == (register, 0) for register in self._masks):
            return SameValue()
        parts = [self._word(register) for register in self._masks]
        if None in parts:
            return UndefinedRule()
        text = parts[0] if len(parts) == 1 else "; ".join(f"{part}; DW_OP_piece 4" for part in parts)
        return ExpressionRule(_assembled(text or ""))

    def _word(self, symbol: int, depth: int = 3) -> str | None:
        """Return the expression of a word of a mask, which may be in two parts."""
        if symbol in self._registers:
            return f"DW_OP_regx {sgpr(self._registers[symbol])}"
        if symbol in self._homes:
            return self._homes[symbol]
        for each, register in enumerate(self._masks):
            moved, value = "; DW_OP_LLVM_offset_uconst 4" if each else "", self._state.scalar(register)
            itself = f"DW_OP_regx {self._target.execution_mask}{moved}"
            if value == (symbol, 0):
                return itself
            if value == inverted((symbol, 0)):
                return f"{itself}; DW_OP_deref_size 4; DW_OP_not; DW_OP_stack_value"
        for pair in self._rests.get(symbol, ()) if depth else ():
            one, other = (self._word(part, depth - 1) for part in pair)
            if one is not None and other is not None:
                return f"{one}; DW_OP_deref_size 4; {other}; DW_OP_deref_size 4; DW_OP_xor; DW_OP_stack_value"
        return None

    def _vector_rule(self, number: int, lanes: Lanes, mask: int | None) -> Rule:
        itself = f"DW_OP_regx {self._number(number)}"
        own = not lanes[2]
        entry = itself if own and lanes[0] == number else self._entry_parts.get(number)
        outside = itself if own and lanes[1] == number else self._outside_parts.get(number)
        if entry is not None and entry == outside:
            return ExpressionRule(_assembled(entry))
        if mask is None or (entry is None and outside is None):
            return UndefinedRule()
        none, lane_count = "DW_OP_LLVM_undefined", self._target.lane_count
        return ExpressionRule(
            _assembled(
                f"{outside or none}; {entry or none}; DW_OP_LLVM_call_frame_entry_reg {mask}; "
                f"DW_OP_deref_size {lane_count // 8}; DW_OP_LLVM_select_bit_piece 32 {lane_count}"
            )
        )


def vector_number(target: Target, vector: int) -> int:
    """Return the DWARF number of a vector register; accumulation registers count from `ACCUMULATION` on."""
    if is_gfx12_5(target.processor):
        return VGPR_32 + vector if vector < 512 else VGPR_32_512 + vector - 512
    vgpr, agpr = (VGPR_64, AGPR_64) if target.lane_count == 64 else (VGPR_32, AGPR_32)
    return vgpr + vector if vector < ACCUMULATION else agpr + vector - ACCUMULATION


@cache
def _unchanged(target: Target) -> dict[int, Rule]:
    """Return the rules of a function that has changed nothing; the stack pointer follows from the CFA."""
    same = SameValue()
    numbers = (number for first, last in target.named_if_changed for number in range(first, last + 1))
    return {number: same for number in numbers if number != sgpr(STACK) and target.register(number) is not None}
