"""The functions of a code object as basic blocks of decoded instructions."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Container, Hashable, Iterable, Iterator, Sequence
from itertools import pairwise, zip_longest
from typing import TYPE_CHECKING

from dwarfgpu.errors import NotFound, UsageError
from dwarfgpu.immutable import evolve, frozen
from dwarfgpu.isa.decoder import BankFollower, decoder
from dwarfgpu.isa.instruction import BRANCHES, CALLS, JUMPS, GpuInstruction
from dwarfgpu.isa.memory_actions import GENERIC, GLOBAL, PRIVATE, Register, action_of, needed_registers, registers_of
from dwarfgpu.objfile.elf.header import PF_X, PT_LOAD
from dwarfgpu.program.code.instructions import machine_of

if TYPE_CHECKING:
    from dwarfgpu.isa.memory_actions import MemoryAction
    from dwarfgpu.objfile.elf.symbols import Symbol
    from dwarfgpu.program.code.code_object import CodeObject

ENDS = BRANCHES | JUMPS | {"s_endpgm", "s_endpgm_saved", "s_rfe_b64", "s_rfe_i64", "s_endpgm_ordered_ps_done"}
"""What never goes on with the next instruction."""
RETURN_REGISTER = 30
"""The first of the two registers of the return address (AMDGPU usage, "Call Convention")."""


@frozen
class CodeStep:
    """One instruction, with what it does to memory and which registers it needs now."""

    instruction: GpuInstruction
    action: MemoryAction
    needed: frozenset[Register]
    """The registers that it reads, or writes at once."""
    is_call: bool
    is_return: bool
    is_exit: bool
    """Whether no instruction of the function follows: the program or the function ends, or another one goes on."""


@frozen(eq=False)
class CodeBlock:
    """Instructions that are executed one after the other."""

    first: int
    stop: int
    successors: tuple[int, ...]
    """The blocks that may follow, by number."""


@frozen(eq=False)
class FunctionCode:
    """One function."""

    name: str
    is_kernel: bool
    mode: str | None
    """``cu``, ``wgp`` or ``tgsplit``, if the file tells."""
    addresses: tuple[int, ...]
    steps: tuple[CodeStep, ...]
    blocks: tuple[CodeBlock, ...]
    major: int

    def block_at(self, index: int) -> int:
        return next(number for number, block in enumerate(self.blocks) if block.first <= index < block.stop)

    def is_in_loop(self, index: int) -> bool:
        """Return whether paths lead from an instruction to itself."""
        own = self.block_at(index)
        return own in _reached(own, [block.successors for block in self.blocks])

    def connected(self, address: int) -> tuple[int, int]:
        """Return where the blocks begin and end that branches and falling through connect with an address."""
        both: list[set[int]] = [{*block.successors} for block in self.blocks]
        for number, block in enumerate(self.blocks):
            for successor in block.successors:
                both[successor].add(number)
        own = self.block_at(bisect_right(self.addresses, address) - 1)
        numbers = _reached(own, [[*each] for each in both]) | {own}
        last = self.blocks[max(numbers)].stop - 1
        size = max(self.steps[last].instruction.size, 4)
        return self.addresses[self.blocks[min(numbers)].first], self.addresses[last] + size

    def between(self, index: int, at: int) -> list[range]:
        """Return what may be executed from one instruction on, before it is executed again, up to another one."""
        home, there = self.block_at(index), self.block_at(at)
        if home == there and index < at:
            return [range(index, at)]
        before: list[list[int]] = [[] for _block in self.blocks]
        for number, block in enumerate(self.blocks):
            for successor in block.successors:
                before[successor].append(number)
        passed = _reached(home, [block.successors for block in self.blocks], home) & _reached(there, before, home)
        whole = [range(self.blocks[number].first, self.blocks[number].stop) for number in passed - {home}]
        return [range(index, self.blocks[home].stop), *whole, range(self.blocks[there].first, at)]


def _reached(start: int, edges: Sequence[Sequence[int]], last: int | None = None) -> set[int]:
    """Return the blocks that edges lead to; none leads on from the last one."""
    reached, waiting = set[int](), [start]
    while waiting:
        fresh = {*edges[waiting.pop()]} - reached
        reached |= fresh
        waiting += fresh - {last}
    return reached


class CodeFunctions:
    """Reads the functions of a code object."""

    def __init__(self, file: CodeObject, processor: str) -> None:
        self.file = file
        self.processor = processor
        self.wave_size = machine_of(file.image, file.target.target).wave_size
        self._known: dict[tuple[int, bytes, int], CodeStep] = {}

    def functions(self, name: str | None = None, *, at: int | None = None) -> Iterator[FunctionCode]:
        """Yield the functions in the order of their addresses; only those with a name, or with code at an address."""
        file = self.file
        kernels = {kernel.entry: kernel for kernel in file.kernels.kernels}
        modes = {mode for kernel in kernels.values() if (mode := kernel.execution_mode) is not None}
        shared = modes.pop() if len(modes) == 1 else None
        rows = self._symbols(kernels)
        if file.image.are_addresses_lost:
            message = f"{file.name} has several sections of code with the same addresses"
            raise UsageError(message, kind="not_linked", hint="link it first: ld.lld -shared FILE -o FILE.co")
        wanted = [
            row
            for row in rows.values()
            if name is None or name in {row.name, row.demangled, row.demangled.partition("(")[0]}
        ]
        if name is not None and not wanted:
            message = f"there is no function {name[:60]!r} in {file.name}"
            raise NotFound("no_function", message, hint="`dwarfgpu info FILE` and `dwarfgpu kernels FILE` list names")
        if at is not None:
            wanted = [row for row in wanted if row.value <= at < row.value + row.size]
            if not wanted:
                yield from self._unnamed(rows.values(), at)
        for symbol in sorted(wanted, key=lambda row: (row.section_index, row.value)):
            kernel = kernels.get(symbol.value)
            has_kernel = kernel is not None and kernel.size in (None, symbol.size)
            wave_size = self.wave_size
            mode = shared
            if kernel is not None and has_kernel:
                said = kernel.descriptor or kernel.code
                wave_size = (said.wavefront_size if said is not None else None) or wave_size
                mode = kernel.execution_mode
            if file.image.is_linked:  # the symbols may be those of a separate file
                code = bytes(file.image.read(symbol.value, symbol.size))
            else:
                code = file.image.symbol_bytes(symbol, symbol.size)
            yield self._function(symbol.demangled, symbol.value, code, wave_size, mode, is_kernel=has_kernel)

    def _unnamed(self, symbols: Iterable[Symbol], at: int) -> Iterator[FunctionCode]:
        """Yield the code around an address that no symbol covers, as far as jumps and falling through connect it.

        The image of a code object in memory has symbols for kernels, and none for the functions that they call.
        """
        for segment in self.file.image.segments:
            if segment.type == PT_LOAD and segment.flags & PF_X and 0 <= at - segment.address < segment.file_size:
                first = max([segment.address, *(row.value + row.size for row in symbols if row.value <= at)])
                last = min([segment.address + segment.file_size, *(row.value for row in symbols if row.value > at)])
                read = self.file.image.read
                whole = self._function("??", first, bytes(read(first, last - first)), self.wave_size, None)
                start, end = whole.connected(at)
                yield self._function("??", start, bytes(read(start, end - start)), self.wave_size, None)

    def _symbols(self, entries: Container[int | None]) -> dict[tuple[int, int], Symbol]:
        """Return the symbols of functions by section and address. One without a size reaches to the next one."""
        file = self.file
        rows: dict[tuple[int, int], Symbol] = {}
        for symbol in file.symbol_image.symbols():
            is_code = symbol.type in {"FUNC", "AMDGPU_HSA_KERNEL"} or symbol.value in entries
            if is_code and symbol.section in file.symbol_image.code_sections:
                key = symbol.section_index, symbol.value
                if key not in rows or rows[key].size < symbol.size:
                    rows[key] = symbol
        ordered = sorted(rows)
        for key, after in pairwise([*ordered, (-1, 0)]):
            symbol = rows[key]
            if not symbol.size and symbol.section is not None:
                last = symbol.section.size + symbol.section.symbol_base
                rows[key] = evolve(symbol, size=(after[1] if after[0] == key[0] else last) - symbol.value)
        return {key: symbol for key, symbol in rows.items() if symbol.size > 0}

    def _function(
        self, name: str, start: int, code: bytes, wave_size: int, mode: str | None, *, is_kernel: bool = False
    ) -> FunctionCode:
        decode = decoder(self.processor, wave_size)
        addresses: list[int] = []
        steps: list[CodeStep] = []
        targets: dict[int, int] = {}
        at = 0
        known, banks = self._known, BankFollower(self.processor)
        while at + 4 <= len(code):
            decoded = decode.decode(code, at)
            key = (wave_size, decoded.data, banks.mode)
            instruction, step = banks.moved(decoded), known.get(key)
            if step is None:
                step = known[key] = _step(instruction, decode.major)
            addresses.append(start + at)
            if instruction.branch is not None and instruction.name not in CALLS:
                targets[len(steps)] = start + at + instruction.branch
            steps.append(step)
            at += max(instruction.size, 4)
        for index in _private_accesses(steps):
            steps[index] = evolve(steps[index], action=evolve(steps[index].action, space=PRIVATE))
        for index in _shared_buffers(steps):
            steps[index] = evolve(steps[index], action=evolve(steps[index].action, space=GLOBAL))
        blocks = _blocks(addresses, steps, targets)
        return FunctionCode(name, is_kernel, mode, tuple(addresses), tuple(steps), blocks, decode.major)


PRIVATE_BASE = "src_private_base"


def _private_accesses(steps: Sequence[CodeStep]) -> Iterator[int]:
    """Yield the flat accesses whose addresses are made from the private aperture: code at -O0 keeps temporaries so.

    Instructions are followed in their order, whatever block they are in: unoptimized code makes such an address
    once, in its entry.
    """
    private: set[Hashable] = set()
    if not any(PRIVATE_BASE in step.needed for step in steps):
        return
    for index, step in enumerate(steps):
        if not private and PRIVATE_BASE not in step.needed:
            continue
        instruction = step.instruction
        if instruction.encoding == "FLAT" and step.action.space == GENERIC:
            address = instruction.operand("vaddr")
            if address is not None and registers_of(address)[-1:] and registers_of(address)[-1] in private:
                yield index
        sources: list[list[Hashable]] = []
        if not step.action.operation:
            sources = [[*registers_of(operand)] for operand in instruction.sources]
        for operand in instruction.destinations:
            registers: list[Hashable] = [*registers_of(operand)]
            if instruction.name in {"v_writelane_b32", "v_readlane_b32"} and len(sources) > 1:
                lane = instruction.sources[-1].text
                sources = [sources[-2]]  # v_writelane reads its destination, too
                if instruction.name == "v_writelane_b32":
                    registers = [(registers[0], lane)]
                elif sources[0]:
                    sources = [[(sources[0][0], lane)]]
            for number, register in enumerate(registers):
                is_last = number == len(registers) - 1
                made = [
                    source[number] if len(source) == len(registers) else source[0] if is_last else None
                    for source in sources
                    if source
                ]
                is_private = any(each == PRIVATE_BASE or each in private for each in made)
                (private.add if is_private else private.discard)(register)


def _shared_buffers(steps: Sequence[CodeStep]) -> Iterator[int]:
    """Yield the buffer accesses that may be of the stack and are not: the function makes their descriptor.

    That of the stack is there when a function begins, and its last word is only copied. Instructions are followed in
    their order, whatever block they are in.
    """
    made: set[Hashable] = set()
    if not any(step.action.is_by_descriptor for step in steps):
        return
    for index, step in enumerate(steps):
        instruction = step.instruction
        descriptor = instruction.operand("srsrc") if step.action.is_by_descriptor else None
        if descriptor is not None and registers_of(descriptor)[-1] in made:
            yield index
        is_copy = instruction.name in {"s_mov_b32", "s_mov_b64"}
        copied = registers_of(instruction.sources[0]) if is_copy else ()
        for operand in instruction.destinations:
            for register, source in zip_longest(registers_of(operand), copied):
                (made.add if source is None or source in made else made.discard)(register)


def _step(instruction: GpuInstruction, major: int) -> CodeStep:
    action = action_of(instruction, major)
    name = instruction.name
    source = instruction.operand("ssrc0")
    is_return = name in JUMPS and source is not None and source.index == RETURN_REGISTER
    is_exit = name in ENDS and instruction.branch is None
    return CodeStep(instruction, action, needed_registers(instruction, action), name in CALLS, is_return, is_exit)


def _blocks(addresses: list[int], steps: list[CodeStep], targets: dict[int, int]) -> tuple[CodeBlock, ...]:
    """Cut instructions into blocks."""
    index = {address: number for number, address in enumerate(addresses)}
    leaders = {0, *(index[target] for target in targets.values() if target in index)}
    leaders |= {number + 1 for number, step in enumerate(steps) if number in targets or step.instruction.name in ENDS}
    starts = sorted(leader for leader in leaders if leader < len(steps))
    numbers = {first: number for number, first in enumerate(starts)}
    blocks = []
    for number, first in enumerate(starts):
        stop = starts[number + 1] if number + 1 < len(starts) else len(steps)
        following = []
        last = steps[stop - 1].instruction
        target = targets.get(stop - 1)
        if target is not None and target in index:
            following.append(numbers[index[target]])
        if last.name not in ENDS and stop < len(steps):
            following.append(number + 1)
        blocks.append(CodeBlock(first, stop, tuple(dict.fromkeys(following))))
    return tuple(blocks)
