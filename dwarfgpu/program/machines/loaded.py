"""Code that is loaded: the files, where each was put, and which of them an address belongs to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dwarfgpu import dialects
from dwarfgpu.cfi.thread import Information, NoInformation, no_information
from dwarfgpu.cfi.unwind import OUTSIDE_CODE
from dwarfgpu.errors import DwarfGpuError, UsageError
from dwarfgpu.expr.decode import decode
from dwarfgpu.objfile.elf.header import PT_LOAD
from dwarfgpu.program.files.codelookup import CallFrame, calls_at
from dwarfgpu.program.repairs.repaired import OFF, repaired
from dwarfgpu.program.repairs.rules import Site

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from dwarfgpu.encoding.operands import Format
    from dwarfgpu.expr.dialect import Dialect
    from dwarfgpu.expr.instruction import Expression
    from dwarfgpu.expr.types import BaseType
    from dwarfgpu.objfile.entries.dies import Die
    from dwarfgpu.objfile.entries.values import Attribute
    from dwarfgpu.objfile.units.unit import Unit
    from dwarfgpu.program.files.codeobject import CodeObject
    from dwarfgpu.program.repairs.repaired import Policy

PF_X = 1
"""A segment that can be executed (gABI, "Program Header")."""


class LoadedCode:
    """One file of code in a running program. ``bias`` is what is added to the addresses in the file."""

    def __init__(
        self, file: CodeObject, bias: int = 0, *, dialect: str | None = None, repair: Policy = OFF
    ) -> None:
        if not file.image.is_linked:
            message = f"{file.name} is not linked, so it cannot have been loaded"
            raise UsageError(message, hint="link it, or name the file that was linked from it")
        self.file = file
        self.bias = bias
        self.dialect: Dialect = dialects.get(dialect or file.target.target.default_dialect)
        if dialect is not None:
            file.frames.use_dialect(dialect)
        self._mask = (1 << 8 * file.image.address_size) - 1
        self._code = tuple(
            (segment.address, segment.address + segment.memory_size)
            for segment in file.image.segments
            if segment.type == PT_LOAD and segment.flags & PF_X
        )
        self._data = tuple(
            (section.address, section.address + section.size)
            for section in file.image.sections
            if section.is_allocated
        )
        self.repair = repair
        """Which repairs the expressions of attributes go through."""
        self._expressions: dict[tuple[str, int, Format], Expression] = {}
        self._repaired: dict[tuple[str, Expression], Expression] = {}
        self._functions: dict[int, Die | None] = {}
        self.base_types: dict[tuple[Unit, int], BaseType] = {}
        """Those that expressions have asked for, by unit and offset."""

    def __repr__(self) -> str:
        return f"LoadedCode({self.file.name} + {self.bias:#x})"

    # --- Addresses ------------------------------------------------------------------------------------------------

    def in_file(self, address: int) -> int:
        """An address of the running program as it is in the file."""
        return (address - self.bias) & self._mask

    def in_program(self, address: int) -> int:
        """An address of the file as it is in the running program.

        What is in no section is no address of the file, such as the offset of a variable in local memory, and stays as
        it is: "A must be adjusted by the difference between the ELF segment virtual address and the virtual address at
        which the segment is loaded" (A.2.5.4.4.3 (1)). The address behind a section counts as one of it.
        """
        if self.bias and any(low <= address <= high for low, high in self._data):
            return (address + self.bias) & self._mask
        return address

    def holds(self, pc: int) -> bool:
        """Whether an address is one of its code."""
        address = self.in_file(pc)
        return any(low <= address < high for low, high in self._code)

    @property
    def text(self) -> tuple[int, int] | None:
        """The addresses of its instructions: of ``.text``, or of all that can be executed where there is none."""
        section = self.file.image.section(".text")
        spans = [(section.address, section.address + section.size)] if section is not None else [*self._code]
        if not spans:
            return None
        return self._moved(min(low for low, _high in spans)), self._moved(max(high for _low, high in spans))

    def _moved(self, address: int) -> int:
        return (address + self.bias) & self._mask

    # --- What is at an address ------------------------------------------------------------------------------------

    def information_at(self, pc: int) -> Information:
        """The call frame information of an address; where several entries say something, that of ``.debug_frame``."""
        address = self.in_file(pc)
        frames = self.file.frames
        broken: DwarfGpuError | None = None
        for fde in frames.fdes_at(address):
            try:
                row = frames.row_at(address, fde)
            except DwarfGpuError as error:  # another section may have an entry that is right
                broken = broken or error
                continue
            if row is None or row.cfa is None or fde.cie.return_address is None:
                continue  # compilers that have nothing to say write an entry all the same
            return Information(
                row,
                fde.cie.return_address,
                self.in_program(fde.low),
                lambda block, fde=fde: frames.expression(block, fde),  # type: ignore[misc]
                fde.cie.is_signal_frame,
            )
        raise broken or no_information(pc)

    def function_at(self, pc: int) -> Die | None:
        """The function with code at an address, if the debugging information knows one."""
        address = self.in_file(pc)
        if address not in self._functions:
            found = self.file.dwarf.index.functions_at(address) if self.file.has_dwarf else []
            self._functions[address] = found[-1] if found else None
        return self._functions[address]

    def expression(self, data: bytes, form: Format, section: str, offset: int) -> Expression:
        """The expression at an offset of a section, decoded once."""
        key = section, offset, form
        found = self._expressions.get(key)
        if found is None:
            found = self._expressions[key] = decode(
                data, self.dialect, form, section=section, offset=offset, known_in=dialects.known_in
            )
        return found

    def repaired(self, expression: Expression, attribute: Attribute) -> Expression:
        """The expression of an attribute as its producer means it, where the policy allows that."""
        if self.repair is OFF or not self.file.is_amdgpu:
            return expression
        name = attribute.name
        found = self._repaired.get((name, expression))
        if found is None:
            found = self._repaired[name, expression] = self._repair(expression, name, attribute.die.unit)
        return found

    def _repair(self, expression: Expression, name: str, unit: Unit) -> Expression:
        def address(index: int) -> int | None:
            try:
                return unit.tables.address(index)
            except DwarfGpuError:
                return None

        site = Site(name, unit.producer, self.file.target.target, address)
        return repaired(expression, site, self.repair)[0]


class Loaded:
    """All code that is loaded. Of files that overlap the first one counts."""

    def __init__(self, codes: Iterable[LoadedCode], executable: LoadedCode | None = None) -> None:
        self.codes: Sequence[LoadedCode] = tuple(codes)
        self.executable = executable
        """The file that a process was made of, if that is known."""
        self._information: dict[int, Information | DwarfGpuError] = {}
        self._calls: dict[int, tuple[CallFrame, ...]] = {}

    def at(self, pc: int) -> LoadedCode | None:
        """The file whose code holds an address."""
        return next((code for code in self.codes if code.holds(pc)), None)

    def calls_at(self, pc: int) -> tuple[CallFrame, ...]:
        """The calls at an address, the innermost first, found once; a call of nothing in code that is not known."""
        found = self._calls.get(pc)
        if found is None:
            code = self.at(pc)
            found = (CallFrame(None, None, None, inlined=False, offset=None),)
            if code is not None:
                found = calls_at(code.file, code.in_file(pc))
            self._calls[pc] = found
        return found

    def information_at(self, pc: int) -> Information:
        """The call frame information of an address, found once."""
        found = self._information.get(pc)
        if found is None:
            try:
                found = self._look_up(pc)
            except DwarfGpuError as error:
                found = error
            self._information[pc] = found
        if isinstance(found, DwarfGpuError):
            raise found.with_traceback(None)
        return found

    def _look_up(self, pc: int) -> Information:
        code = self.at(pc)
        if code is None:
            message = f"the address {pc:#x} is not in any loaded code"
            raise NoInformation(OUTSIDE_CODE, message)
        return code.information_at(pc)
