"""The code of a program, of its files or in the memory of its machine, as instructions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import evolve

from dwarfgpu.errors import DwarfGpuError, EvaluationError, UsageError
from dwarfgpu.program.instructions.listing import LONGEST, Listing
from dwarfgpu.program.instructions.tool import machine_of

if TYPE_CHECKING:
    from dwarfgpu.program.instructions.listing import Disassembler
    from dwarfgpu.program.instructions.tool import Machine
    from dwarfgpu.program.machines.loaded import LoadedCode
    from dwarfgpu.program.variables.state import State

MAX_CODE = 1 << 20
"""More bytes are not disassembled at once."""


class ProgramCode:
    """Finds the instructions at addresses of the running program."""

    def __init__(self, state: State, disassembler: Disassembler) -> None:
        self.state = state
        self.disassembler = disassembler

    def between(self, low: int, high: int) -> Listing:
        """The instructions that begin from one address up to another, which is not among them."""
        if high - low > MAX_CODE:
            message = (
                f"{high - low} bytes of code are more than {MAX_CODE}, which is what is disassembled at once"
            )
            raise UsageError(message, kind="too_large")
        if low >= high:
            return Listing(())
        found = self._listing(low, high - low + LONGEST, high - low)
        chosen = tuple(each for each in found.instructions if each.address < high)
        return evolve(found, instructions=chosen)

    def some(self, address: int, count: int) -> Listing:
        """A number of instructions from an address on; fewer where the code ends."""
        if count <= 0:
            return Listing(())
        found = self._listing(address, min(count * LONGEST, MAX_CODE), 1)
        return evolve(found, instructions=found.instructions[:count])

    def _listing(self, address: int, size: int, least: int) -> Listing:
        code = self.state.loaded.at(address) or self.state.loaded.codes[0]
        data = self._read(code, address, size)
        if not data or len(data) < min(least, size):
            missing = address + len(data)
            raise EvaluationError("memory_unavailable", f"Cannot access memory at address {missing:#x}")
        return self.disassembler.listing(self._machine(code, address), data, address)

    def _read(self, code: LoadedCode, address: int, size: int) -> bytes:
        """The bytes at an address, as many as there are: of the file, or else of the machine."""
        if code.holds(address):
            place = code.in_file(address)
            sections = [each for each in code.file.image.sections if each.is_allocated]
            inside = [each for each in sections if 0 <= place - each.address < each.size]
            if inside:
                size = min(size, inside[0].address + inside[0].size - place)
            while size > 0:
                try:
                    return code.file.image.read(place, size)
                except DwarfGpuError:
                    size //= 2  # the segment ends before
        return self._read_memory(address, size)

    def _read_memory(self, address: int, size: int) -> bytes:
        space = self.state.target.default_space
        while size > 0:
            try:
                return self.state.backend.read_memory(space, address, size, 0, None)
            except DwarfGpuError:
                size //= 2
        return b""

    def _machine(self, code: LoadedCode, address: int) -> Machine:
        """What the code at an address is for. Where kernels differ in their wave size, each has its own."""
        file = code.file
        is_running = self.state.target.execution_mask is not None and file.is_amdgpu
        found = machine_of(file.image, self.state.target if is_running else file.target.target)
        if found.wave_size and len(file.wave_sizes) > 1:
            symbol = file.symbol_image.symbol_at(code.in_file(address))
            for kernel in () if symbol is None else file.kernels.kernels:
                said = kernel.descriptor or kernel.code
                if kernel.name == symbol.name and said is not None and said.wavefront_size:  # type: ignore[union-attr]
                    return evolve(found, wave_size=said.wavefront_size)
        return found
