"""The functions of a code object as basic blocks of decoded instructions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dwarfgpu.errors import NotFound
from dwarfgpu.immutable import frozen
from dwarfgpu.isa.decoder import decoder
from dwarfgpu.isa.instruction import CALLS, JUMPS
from dwarfgpu.memory_model.accesses import Register, action_of, read_registers, used_registers
from dwarfgpu.program.code.disassemblers import machine_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dwarfgpu.isa.instruction import GpuInstruction
    from dwarfgpu.memory_model.accesses import MemoryAction
    from dwarfgpu.objfile.elf.symbols import Symbol
    from dwarfgpu.objfile.kernels.kernel import Kernel
    from dwarfgpu.program.code.code_object import CodeObject

ENDS = frozenset({"s_endpgm", "s_endpgm_saved", "s_branch", "s_rfe_b64", "s_endpgm_ordered_ps_done"}) | JUMPS
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


class FunctionReader:
    """Reads the functions of a code object."""

    def __init__(self, file: CodeObject, processor: str) -> None:
        self.file = file
        self.processor = processor
        self.wave_size = machine_of(file.image, file.target.target).wave_size
        self._known: dict[tuple[int, bytes], CodeStep] = {}

    def functions(self, name: str | None = None) -> Iterator[FunctionCode]:
        """Yield the functions in the order of their addresses, or the one with a name."""
        file = self.file
        kernels = {kernel.entry: kernel for kernel in file.kernels.kernels}
        modes = {mode for kernel in kernels.values() if (mode := _mode(kernel)) is not None}
        shared = modes.pop() if len(modes) == 1 else None
        rows: dict[tuple[int, int], Symbol] = {}
        for symbol in file.symbol_image.symbols():
            if symbol.type in {"FUNC", "AMDGPU_HSA_KERNEL"} and symbol.is_defined and symbol.size:
                rows.setdefault((symbol.section_index, symbol.value), symbol)
        wanted = [
            row for row in rows.values() if name is None or name in {row.name, row.demangled, _bare(row.demangled)}
        ]
        if name is not None and not wanted:
            message = f"there is no function {name[:60]!r} in {file.name}"
            raise NotFound("no_function", message, hint="`dwarfgpu info FILE` and `dwarfgpu kernels FILE` list names")
        for symbol in sorted(wanted, key=lambda row: (row.section_index, row.value)):
            kernel = kernels.get(symbol.value)
            has_kernel = kernel is not None and kernel.size in (None, symbol.size)
            wave_size = self.wave_size
            mode = shared
            if kernel is not None and has_kernel:
                said = kernel.descriptor or kernel.code
                wave_size = (said.wavefront_size if said is not None else None) or wave_size
                mode = _mode(kernel)
            if file.image.is_linked:  # the symbols may be those of a separate file
                code = bytes(file.image.read(symbol.value, symbol.size))
            else:
                code = file.image.symbol_bytes(symbol, symbol.size)
            yield self._function(symbol.demangled, symbol.value, code, wave_size, mode, is_kernel=has_kernel)

    def _function(
        self, name: str, start: int, code: bytes, wave_size: int, mode: str | None, *, is_kernel: bool
    ) -> FunctionCode:
        decode = decoder(self.processor, wave_size)
        addresses: list[int] = []
        steps: list[CodeStep] = []
        targets: dict[int, int] = {}
        at = 0
        known = self._known
        while at + 4 <= len(code):
            instruction = decode.decode(code, at)
            key = (wave_size, instruction.data)
            step = known.get(key)
            if step is None:
                step = known[key] = _step(instruction, decode.major)
            addresses.append(start + at)
            if instruction.branch is not None and instruction.name != "s_call_b64":
                targets[len(steps)] = start + at + instruction.branch
            steps.append(step)
            at += max(instruction.size, 4)
        blocks = _blocks(addresses, steps, targets)
        return FunctionCode(name, is_kernel, mode, tuple(addresses), tuple(steps), blocks, decode.major)


def _bare(name: str) -> str:
    return name.partition("(")[0]


def _mode(kernel: Kernel) -> str | None:
    """Return the execution mode that a kernel asks for (AMDGPU usage, WGP_MODE and TG_SPLIT)."""
    descriptor = kernel.descriptor
    if descriptor is None:
        return None
    wgp, split = descriptor.field("WGP_MODE"), descriptor.field("TG_SPLIT")
    if wgp is not None:
        return "wgp" if wgp else "cu"
    return "tgsplit" if split else "cu"


def _step(instruction: GpuInstruction, major: int) -> CodeStep:
    action = action_of(instruction, major)
    name = instruction.name
    is_late = bool(action.counters)
    needed = read_registers(instruction) if is_late else used_registers(instruction)
    if name in {"s_setpc_b64", "s_swappc_b64"}:
        needed = read_registers(instruction)
    source = instruction.operand("ssrc0")
    is_return = name in JUMPS and source is not None and source.index == RETURN_REGISTER
    is_exit = name in ENDS and instruction.branch is None
    return CodeStep(instruction, action, needed, name in CALLS, is_return, is_exit)


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
