"""The checks of call frame information: its entries, their instructions, the rows that these make, and their table.

The table, ``.eh_frame_hdr``, is what a running program finds the entries of ``.eh_frame`` by.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dwarfgpu import dwarf_constants as dw
from dwarfgpu.audits.verify.expressions import ExpressionChecks, ExpressionUse
from dwarfgpu.audits.verify.file_code import FileCode, overlapping
from dwarfgpu.audits.verify.findings import ERROR, VENDOR, WARNING, Problem, rules
from dwarfgpu.cfi import rules as cfi_rules
from dwarfgpu.encoding import Cursor
from dwarfgpu.errors import DwarfGpuError, MalformedFile
from dwarfgpu.expr.known_entries import COMPOSITE, IMPLICIT, REGISTER, UNDEFINED
from dwarfgpu.expr.verify import result_kinds
from dwarfgpu.immutable import evolve
from dwarfgpu.objfile.call_frames import (
    DEBUG_FRAME,
    EH_FRAME,
    EH_FRAME_HDR,
    HEADER_SPEC,
    VERSIONS,
    Cie,
    Fde,
    FrameSection,
    SearchTable,
    gnu_letters,
    read_frame_header,
)
from dwarfgpu.objfile.contributions import initial_length
from dwarfgpu.objfile.info.scopes import AddressSpans

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator

    from dwarfgpu.audits.verify.host_code import HostCode
    from dwarfgpu.cfi.instructions import DecodedInstruction
    from dwarfgpu.cfi.rules import CfaRule, ExpressionBytes, Rule
    from dwarfgpu.encoding import Format
    from dwarfgpu.objfile.elf.image import Image
    from dwarfgpu.objfile.info.unit import Unit
    from dwarfgpu.program.code.code_object import CodeObject
    from dwarfgpu.program.code.frame_rows import UnwindRules
    from dwarfgpu.targets.target import Target

_FIELDS = "write the fields of the entry as A.6.4.1 lists them"
_REGISTER = "take a number of the DWARF register mapping for the processor and the wave size"
_SORT = "let the linker make the table: `--eh-frame-hdr`"
RULES = rules(
    "frame",
    ("unreadable", ERROR, "A.6.4.1", "An entry can be read to its end.", _FIELDS,
     "there are more than {limit} rules to a byte; the rows of further entries are not checked"),
    ("truncated", ERROR, "A.6.4.1", "An entry ends before its section does, and has all of its fields.", _FIELDS),
    ("length", ERROR, "A.6.4.1", "The size of an entry of .debug_frame is a multiple of the size of addresses.",
     "fill the entry up with DW_CFA_nop", "the entry has {length} bytes, which is not a multiple of {size}"),
    ("version", ERROR, "DWARF 5, 7.24", "The version of a CIE is known.", "write version 4; 1 in .eh_frame"),
    ("augmentation", WARNING, "A.6.4.1 (4)", "The augmentation is known, so that instructions can be found.",
     "name the vendor as in [vendor:v1.0], which adds no fields", "the augmentation {augmentation!r} is not known"),
    ("vendor", ERROR, "A.6.4.1 (4)", "The extensions of a vendor have the form [vendor:vX.Y:options].",
     "write the name of the vendor and the version",
     "the augmentation {augmentation!r} does not have the form [vendor:vX.Y:options]"),
    ("augmentation-data", ERROR, "LSB 5.0, 10.6.1.1.1", "The data of an augmentation are those that its letters need.",
     "write the data in the order of the letters, after their size"),
    ("pointer-encoding", ERROR, "LSB 5.0, 10.5.1", "The encoding of an address is known.",
     "write absptr, or pcrel sdata4"),
    ("address-size", ERROR, "A.6.4.1 (5)", "The addresses of an entry have the size that the target has.",
     "write the size of addresses of the target",
     "addresses of the entry have {size} bytes, those of the file {expected}"),
    ("segment-size", ERROR, "A.6.4.1 (6)", "Segment selectors have the size that the target has, which is 0.",
     "write 0", "segment selectors have {size} bytes, there are none"),
    ("code-factor", ERROR, "A.6.4.1 (7)", "The factor of advances is not 0.", "write the size of an instruction, or 1",
     "the code alignment factor is 0"),
    ("data-factor", ERROR, "A.6.4.1 (8)", "The factor of offsets is not 0.", "write the size of a saved unit, or 1",
     "the data alignment factor is 0"),
    ("return-address", ERROR, "A.6.4.1 (9)", "The column of the return address is a register of the target.", _REGISTER,
     "{target} has no register {number}, the column of the return address"),
    ("no-cie", ERROR, "A.6.4.1", "An FDE refers to a CIE.", "write the offset of the CIE"),
    ("range", ERROR, "A.6.4.1", "The range of an FDE ends in the address space.", "correct the size of the range"),
    ("empty-range", WARNING, "A.6.4.1", "An FDE is for some code.", "leave out the entry",
     "the entry for {low:#x} has no code"),
    ("overlap", ERROR, "DWARF 5, 6.4.1", "The ranges of entries do not overlap.", "describe an instruction once",
     "the entry for {other:#x} overlaps the one from {low:#x} to {high:#x}"),
    ("partial", ERROR, "DWARF 5, 6.4.1", "The entries for a function describe its code, and no other.",
     "write the address and the size of the function", "no entry is for {low:#x} to {high:#x} of {name}",
     "the entry for {low:#x} ends at {end:#x}, {name} at {high:#x}"),
    ("not-in-code", ERROR, "A.6.4.1", "The range of an FDE is in an executable section.", "set the address of the code",
     "the code from {low:#x} to {high:#x} is not in an executable section"),
    ("unknown-instruction", ERROR, "DWARF 5, 7.24", "Each instruction is known.", "take one of table 7.29 or A.7.24"),
    ("instruction-size", ERROR, "DWARF 5, 6.4.2", "The last instruction has all of its operands.",
     "write the operands, and the length of the entry that holds them"),
    ("overflow", ERROR, "DWARF 5, 6.4.2", "Numbers of instructions fit in 64 bits, and locations in an address.",
     "correct the operand"),
    ("past-end", ERROR, "DWARF 5, 6.4.2.1", "A row begins in the range of the entry.",
     "advance less, or extend the range", "the row begins at {row:#x}, the entry ends at {end:#x}"),
    ("backwards", ERROR, "DWARF 5, 6.4.2.1 (1)", "DW_CFA_set_loc goes forward.", "order the rows by address"),
    ("initial", ERROR, "A.6.4.1", "Initial instructions make no rows, and restore nothing.",
     "write the instruction in the FDE"),
    ("no-remembered-state", ERROR, "DWARF 5, 6.4.2.4 (2)", "A state that is restored is remembered before.",
     "write DW_CFA_remember_state where the state is the one to restore"),
    ("cfa-register", ERROR, "A.6.4.2.2 (5)", "The register or the offset of a CFA is changed where it has both.",
     "define the CFA with DW_CFA_def_cfa before"),
    ("address-space", ERROR, "A.6.4.2.2 (3)", "The target defines the address space of the CFA.",
     "take a number that `dwarfgpu targets` shows for the processor"),
    ("register", ERROR, "A.6.4.2", "The target defines each register.", _REGISTER, "{target} has no register {number}"),
    ("register-size", ERROR, "A.6.4.1", "A register is stored in one of the same size.", "take a register of that size",
     "{one.name} has {one.bit_size} bits, {other.name}, in which it is stored, {other.bit_size}"),
    ("register-cycle", ERROR, "A.6.4.1", "Registers that are stored in each other make no circle.", "break the circle",
     "at {row:#x} the rule of {register} leads back to itself"),
    ("entry-cycle", ERROR, "A.6.4.2", "Entry registers that expressions read make no circle.",
     "take another register, or save the value elsewhere",
     "at {row:#x} the entry registers of {registers} depend on each other"),
    ("no-cfa", ERROR, "A.6.4.1", "A rule that needs the CFA is in a row that defines it.",
     "define the CFA with DW_CFA_def_cfa or another instruction of A.6.4.2.2",
     "at {row:#x} the rule of {register} needs the CFA, which is not defined"),
    ("val-offset-size", ERROR, "A.6.4.1", "A register whose value is an address has the size of one.",
     "write a rule with an expression for the register",
     "at {row:#x} {register.name} has {register.bit_size} bits, an address of {space.name} {space.address_bits}"),
    ("value-size", ERROR, "A.6.4.2.3 (10)", "The value of an expression has the size of the register.",
     "write the location of the register with DW_CFA_expression",
     "{register.name} has {register.bit_size} bits, the value of the generic type {bits}"),
    ("cfa-location", ERROR, "A.6.4.2.2 (8)", "The CFA is a memory byte address.",
     "write an expression that gives a location in memory", "the CFA is {kind}"),
    ("slot-overlap", ERROR, "DWARF 5, 6.4.2.3", "Two registers of a row are not saved in the same bytes.",
     "write the offset of each register; the factor of offsets of the CIE scales them",
     "at {row:#x} {one} and {other} are both saved at CFA{offset:+d}"),
    ("slot-outside", ERROR, "DWARF 5, 6.4.2.3", "A register is saved below the CFA where the stack grows down.",
     "write the offset, and the factor of offsets with its sign", "at {row:#x} {one} is saved at CFA{offset:+d}"),
    ("slot-alignment", ERROR, "DWARF 5, 6.4.2.3", "A register is saved at a multiple of its size from the CFA.",
     "write the offset, and the factor of offsets with its sign",
     "at {row:#x} {one}, of {size} bytes, is saved at CFA{offset:+d}"),
    ("slot-of-stack", ERROR, "DWARF 5, 6.4.2.3", "The ABI makes the CFA the stack pointer of the caller.",
     "write the register that is saved there", "at {row:#x} {one} is said to be saved at CFA{offset:+d}"),
    ("cfa-unsaved", ERROR, "DWARF 5, 6.4.2.2",
     "A register that the callee preserves is saved before the CFA is computed from it.",
     "write the register that points to the frame, or where it is saved",
     "at {row:#x} the CFA is computed from {register}, which no rule says is saved"),
    ("function-entry", ERROR, "DWARF 5, 6.4.1",
     "The CFA and the return address are where the ABI has them where a function begins.",
     "write the rules of the ABI in the CIE", "the CFA is {register}{offset:+d} where {name} begins",
     "the return address is saved at CFA{offset:+d} where {name} begins"),
    ("cfa-moved", ERROR, "DWARF 5, 6.4.1", "The CFA stays where it is while the code moves the stack pointer.",
     "change the offset of the CFA behind each instruction that moves the stack pointer",
     "at {row:#x} the CFA is rsp{offset:+d}, by the instructions since {low:#x} it is rsp{expected:+d}",
     "the CFA is rsp{offset:+d} at the return at {row:#x}"),
    ("cfa-alignment", ERROR, "DWARF 5, 6.4.2.2", "The CFA is computed from rsp with a multiple of 8.",
     "write the offset, without a factor", "at {row:#x} the CFA is rsp{offset:+d}"),
    ("slot-pushed", ERROR, "DWARF 5, 6.4.2.3", "A register is saved where the code of the function pushes it.",
     "write the register that is pushed there",
     "at {row:#x} {register} is saved at CFA{offset:+d}, where {pushed} is pushed"),
    ("slot-popped", ERROR, "DWARF 5, 6.4.1", "Code behind a return has its own rules, not those of the return.",
     "write DW_CFA_remember_state before the code that pops registers, and DW_CFA_restore_state behind the return",
     "at {row:#x}, behind code that pops {register} and returns, it is still saved at CFA{offset:+d}, below rsp"),
    ("kernel-end", ERROR, "A.6.4.1", "Where a kernel has a CFA, a rule says that its return address is undefined.",
     "write DW_CFA_undefined for the return address: without a rule, debuggers look for a caller",
     "at {row:#x} no rule is for the return address"),
    ("empty", WARNING, "A.6.4.1", "An entry defines a CFA or rules.", "emit the instructions of the prologue",
     "{count} entries define neither a CFA nor rules"),
    ("header-version", ERROR, HEADER_SPEC, "The version of .eh_frame_hdr is 1.", "write 1"),
    ("header-encoding", ERROR, HEADER_SPEC,
     "The encodings of .eh_frame_hdr are known, and the numbers of its table have one size.",
     "write pcrel sdata4, udata4 and datarel sdata4",
     "the encoding {encoding:#x} has no fixed size, so that the table cannot be searched",
     "the encoding {indirect:#x} is of the address of a number, not of a number"),
    ("header-truncated", ERROR, HEADER_SPEC,
     "The header .eh_frame_hdr has all of its fields, and as many rows as it says.", "write the number of rows"),
    ("header-section", ERROR, HEADER_SPEC, "The header .eh_frame_hdr says where .eh_frame begins.",
     "write the address of .eh_frame", "the header is for a section at {written:#x}, .eh_frame is at {address:#x}"),
    ("header-order", ERROR, HEADER_SPEC, "The rows of .eh_frame_hdr are sorted by location.", _SORT,
     "the row for {row:#x} follows the one for {previous:#x}"),
    ("header-entry", ERROR, HEADER_SPEC, "A row of .eh_frame_hdr leads to the FDE for its location.", _SORT,
     "the row for {row:#x} leads to {place:#x}, where no FDE begins",
     "the row for {row:#x} leads to the FDE for {other:#x}"),
    ("header-missing", ERROR, HEADER_SPEC, "Each FDE of .eh_frame has a row in .eh_frame_hdr.", _SORT,
     "no row of .eh_frame_hdr is for the entry for {low:#x}"),
)  # fmt: skip

_OF_KINDS = {
    "truncated": "truncated",
    "bad_augmentation": "augmentation-data",
    "pointer_encoding": "pointer-encoding",
    "overflow": "range",
}
"""The rules by the kinds of errors about entries."""
_OF_INSTRUCTIONS = {
    "unknown_instruction": "unknown-instruction",
    "truncated": "instruction-size",
    "leb128_overflow": "overflow",
    "overflow": "overflow",
    "location_goes_backwards": "backwards",
    "bad_cie": "initial",
    "restore_without_remember": "no-remembered-state",
    "no_cfa_rule": "cfa-register",
    "cfa_rule_is_expression": "cfa-register",
    "bad_address_space": "address-space",
    "pointer_encoding": "pointer-encoding",
    "bad_augmentation": "augmentation-data",
}
"""The rules by the kinds of errors about instructions."""
_OF_HEADER_KINDS = {"bad_version": "header-version", "pointer_encoding": "header-encoding"}
"""The rules by the kinds of errors about `.eh_frame_hdr`."""
RULES_OF_BYTE, MIN_RULES = 256, 1 << 20
"""How many rules of rows are checked to a byte of a section, and in any: entries may share a CIE with many rules."""
MAX_KNOWN = 1 << 16
"""How many programs of FDEs are remembered: functions of one size often have the same one."""
_RSP = 7
_NEED_CFA = (cfi_rules.Offset, cfi_rules.ValOffset, cfi_rules.ExpressionRule, cfi_rules.ValExpression)
_ELSEWHERE = frozenset((REGISTER, IMPLICIT, UNDEFINED, COMPOSITE))
CFA_USE = ExpressionUse(0, "location", in_cfi=True)
USES = {
    "DW_CFA_def_cfa_expression": CFA_USE,
    "DW_CFA_expression": ExpressionUse(1, "location", in_cfi=True),
    "DW_CFA_val_expression": ExpressionUse(1, "value", in_cfi=True),
}
"""What the expressions of instructions are for, and how many entries their stack begins with (A.6.4.1)."""


class CallFrameChecks:
    """The checks of the call frame information of a file."""

    def __init__(self, file: CodeObject, expressions: ExpressionChecks) -> None:
        self.file = file
        self.frames = file.frames
        self.expressions = expressions
        self.target = file.target.target if file.target.is_known else None
        image = file.image
        self.code = FileCode(image)
        self.host = expressions.host
        self.kernels = {kernel.entry for kernel in file.kernels.kernels} if file.is_amdgpu else set()
        self.empty: list[Fde] = []
        self.described: list[tuple[int, int]] = []
        """The code that live FDEs of all sections are for."""
        self._odd_entries: dict[int, tuple[Fde, dict[str, object]]] = {}
        """By first address: entries that begin with other rules than functions do, and the values of the message."""
        self._entries_read: dict[bytes, frozenset[int | None]] = {}
        self._broken_cies: dict[tuple[str, int], bool] = {}
        self._known: dict[tuple[int, bytes, int, bool], bool] = {}
        """Whether the rows are empty, by CIE, instructions and size: of FDEs in which nothing is wrong."""
        self._rules_left = 0
        """How many rules of rows are still checked: in a section so many to each byte."""

    def problems(self) -> Iterator[Problem]:
        """Yield the problems of the sections, entry by entry."""
        for section in self.frames.sections:
            self._known.clear()
            self._rules_left = MIN_RULES + RULES_OF_BYTE * len(section.data)
            spans: list[tuple[int, int, int]] = []
            locations: dict[int, int] = {}
            broken: set[int] = set()
            for entry in section.entries():
                if isinstance(entry, DwarfGpuError):
                    yield from self._unread(section, entry)
                    if entry.where.offset is not None:
                        broken.add(entry.where.offset)
                elif isinstance(entry, Cie):
                    yield from self._cie(entry)
                elif isinstance(entry, Fde):
                    yield from self._fde(entry)
                    locations[entry.offset] = entry.low
                    if entry.low < entry.high and not self.code.is_dropped(entry.low):
                        spans.append((entry.low, entry.high, entry.offset))
            self.described += ((low, high) for low, high, _offset in spans)
            if self.code.are_known:
                for (low, _high, offset), (start, end, _offset) in overlapping(spans):
                    yield RULES.problem("overlap", section.name, offset, other=low, low=start, high=end)
            if section.is_eh:
                live = [offset for _low, _high, offset in spans]
                yield from _header_problems(self.file.image, section.bases.section, locations, broken, live)
        if self.empty:
            first = self.empty[0]
            problem = RULES.problem("empty", first.section, first.offset, count=len(self.empty))
            yield evolve(problem, idiom="empty-frames")

    def of_functions(self, functions: Iterable[tuple[int, int, Unit, int]]) -> Iterator[Problem]:
        """Yield what is wrong with the entries for functions, after `problems`: addresses, unit and offset of each.

        Code in assembly may end its entry early, as where a new thread begins, whose stack has no caller.
        """
        spans, ends = AddressSpans(self.described), dict(self.described)
        for low, high, unit, offset in functions if self.code.are_known else ():
            is_described = spans.cover(low, high) or not spans.touch(low, high)
            end = ends.get(low, high)
            if (is_described and low not in self._odd_entries and end <= high) or _is_assembly(unit):
                continue
            die = unit.die_known_at(offset)
            name = die.name or die.linkage_name or "the function"
            if end > high and self.code.cover(low, end):
                at = unit.section, die.section_offset, die
                yield RULES.problem("partial", *at, low=low, end=end, high=high, name=name)
            if low in self._odd_entries and die.ranges()[0][0] == low:
                fde, values = self._odd_entries[low]
                yield RULES.problem("function-entry", fde.section, fde.offset, die, name=name, **values)
            if is_described:
                continue
            inner = [(begin, end) for begin, end in spans if begin < high and low < end]
            start = low if low < inner[0][0] else inner[0][1]
            end = next((begin for begin, _end in inner if begin > start), high)
            yield RULES.problem("partial", unit.section, die.section_offset, die, low=start, high=end, name=name)

    # --- Entries --------------------------------------------------------------------------------------------------

    @staticmethod
    def _unread(section: FrameSection, error: DwarfGpuError) -> Iterator[Problem]:
        """Yield the problem that an entry cannot be read, unless the reason is its CIE, which has a problem itself."""
        rule = _OF_KINDS.get(error.kind, "unreadable")
        offset = error.where.offset
        if error.kind == "bad_cie" and offset is not None:
            cursor = Cursor(section.data, offset, byte_order=section.byte_order, error=MalformedFile)
            _length, offset_size = initial_length(cursor)
            field = cursor.position
            id_ = cursor.unsigned(4 if section.is_eh else offset_size)
            if id_ == (0 if section.is_eh else (1 << 8 * offset_size) - 1):
                rule = _of_broken_cie(section, cursor.position)
            else:
                rule = "no-cie"
                try:
                    section.cie_at(field - id_ if section.is_eh else id_)
                except DwarfGpuError as reason:
                    if not reason.message.startswith("no CIE begins") and id_ <= (field if section.is_eh else id_):
                        return
        yield RULES.broken(rule, error, section.name)

    def _cie(self, cie: Cie) -> Iterator[Problem]:
        at = cie.section, cie.offset
        letters = gnu_letters(cie.augmentation)
        if letters is None or cie.unknown:
            yield RULES.problem("augmentation", *at, augmentation=cie.augmentation)
        elif VENDOR.sub("", cie.augmentation.removeprefix(letters)):
            yield RULES.problem("vendor", *at, augmentation=cie.augmentation)
        how = cie.format
        if how is None:
            return
        yield from self._length(cie, how.form.address_size)
        size = self.file.image.address_size
        if how.form.address_size != size:
            yield RULES.problem("address-size", *at, size=how.form.address_size, expected=size)
        if how.segment_size:
            yield RULES.problem("segment-size", *at, size=how.segment_size)
        if not how.code_alignment:
            yield RULES.problem("code-factor", *at)
        if not how.data_alignment:
            yield RULES.problem("data-factor", *at)
        number = cie.return_address
        if self.target is not None and number is not None and self.target.register(number) is None:
            yield RULES.problem("return-address", *at, target=self.target.name, number=number)
        yield from self._instructions(cie)
        error = self.frames.listed(cie).error
        if error is not None:
            yield _broken(error, cie)

    @staticmethod
    def _length(entry: Cie | Fde, size: int) -> Iterator[Problem]:
        if entry.section == DEBUG_FRAME and (entry.end - entry.offset) % size:
            length = entry.end - entry.offset
            yield RULES.problem("length", entry.section, entry.offset, length=length, size=size)

    def _fde(self, fde: Fde) -> Iterator[Problem]:
        at = fde.section, fde.offset
        if fde.low >= fde.high:
            if not self.code.is_dropped(fde.low):
                yield RULES.problem("empty-range", *at, low=fde.low)
        elif self.code.are_known and not self.code.is_dropped(fde.low) and not self.code.cover(fde.low, fde.high):
            yield RULES.problem("not-in-code", *at, low=fde.low, high=fde.high)
        if fde.format is None:
            return
        yield from self._length(fde, fde.format.form.address_size)
        if self._is_broken(fde.cie):  # which is a problem of the CIE
            yield from self._instructions(fde)
            return
        is_kernel = fde.low in self.kernels  # for which there is one rule more
        key = fde.cie.offset, fde.instructions, fde.high - fde.low, is_kernel
        is_empty = self._known.get(key)
        if is_empty is None:
            is_right = True
            for problem in self._program(fde):
                is_right = False
                yield problem
            is_right = is_right and fde.low not in self._odd_entries and self.host is None
            instructions = self.frames.instructions(fde) if is_right and len(self._known) < MAX_KNOWN else None
            if instructions is not None and all(each.name != "DW_CFA_set_loc" for each in instructions):
                self._known[key] = bool(self.empty) and self.empty[-1] is fde
        elif is_empty:
            self.empty.append(fde)

    def _is_broken(self, cie: Cie) -> bool:
        """Return whether the initial instructions of a CIE cannot be executed."""
        key = cie.section, cie.offset
        if key not in self._broken_cies:
            self._broken_cies[key] = self.frames.listed(cie).error is not None
        return self._broken_cies[key]

    def _program(self, fde: Fde) -> Iterator[Problem]:
        """Yield what is wrong with the instructions of an FDE and with the rows that they make."""
        yield from self._instructions(fde)
        if self._rules_left < 0:
            return
        try:
            yield from self._rows(fde)
        except DwarfGpuError as error:
            yield _broken(error, fde)
        if self._rules_left < 0:
            yield RULES.problem("unreadable", fde.section, fde.offset, limit=RULES_OF_BYTE)

    # --- Instructions ---------------------------------------------------------------------------------------------

    def _instructions(self, entry: Cie | Fde) -> Iterator[Problem]:
        location = entry.low if isinstance(entry, Fde) else None
        for instruction in self.frames.instructions(entry):
            yield from self._registers(instruction, entry.section)
            for operand, value in instruction.pairs():
                if operand.role == "expression":
                    yield from self._expression(instruction, value, entry)
                if location is not None and operand.role in ("delta", "address"):
                    before, location = location, location + value if operand.role == "delta" else value
                    if isinstance(entry, Fde) and before <= entry.high < location:
                        at = entry.section, instruction.offset
                        yield RULES.problem("past-end", *at, row=location, end=entry.high)

    def _registers(self, instruction: DecodedInstruction, section: str) -> Iterator[Problem]:
        if self.target is None:
            return
        numbers = [value for operand, value in instruction.pairs() if operand.role == "register"]
        registers = [self.target.register(number) for number in numbers]
        for number, register in zip(numbers, registers, strict=True):
            if register is None:
                at, values = (section, instruction.offset), {"target": self.target.name, "number": number}
                yield RULES.problem("register", *at, None, instruction.row.spec, **values)
        if instruction.name == "DW_CFA_register" and len(registers) == 2:
            one, other = registers
            if one is not None and other is not None and one.bit_size != other.bit_size:
                yield RULES.problem("register-size", section, instruction.offset, one=one, other=other)

    def _expression(
        self, instruction: DecodedInstruction, block: ExpressionBytes, entry: Cie | Fde
    ) -> Iterator[Problem]:
        if entry.format is None:
            return
        section = block.section or entry.section
        form, use = entry.format.form, USES[instruction.name]
        found = list(self.expressions.of_frames(block.data, form, use, section, block.offset))
        yield from found
        if found:
            return
        if use is CFA_USE:
            expression = self.expressions.decoded(block.data, form)
            kinds = result_kinds(expression, rules=self.expressions.rules, target=self.target).kinds
            for kind in sorted(kinds & _ELSEWHERE):
                yield RULES.problem("cfa-location", section, instruction.offset, kind=kind)
        elif use.want == "value" and self.target is not None:
            register = self.target.register(instruction.operands[0])
            bits = 8 * form.address_size  # no operation that gives another type is allowed
            if register is not None and register.bit_size != bits:
                yield RULES.problem("value-size", section, instruction.offset, register=register, bits=bits)

    # --- Rows -----------------------------------------------------------------------------------------------------

    def _rows(self, fde: Fde) -> Iterator[Problem]:
        """Yield the problems of rows, of each rule the first in an entry; an error ends them."""
        if fde.format is None:
            return
        is_kernel = fde.low in self.kernels
        seen: set[str] = set()
        before: UnwindRules | None = None
        is_empty = True
        is_checked = self.host is not None and not fde.cie.is_signal_frame and not self.code.is_dropped(fde.low)
        pushes = _Pushes(self.host, self.frames.register_name) if self.host is not None and is_checked else None
        for row in self.frames.rows(fde):
            moved = [] if pushes is None else [*pushes.check(before, row)]
            if before is not None and before.registers is row.registers and before.cfa == row.cfa and not moved:
                continue
            if before is None and not fde.cie.is_signal_frame:
                self._enter(fde, row)
            before = row
            is_empty = is_empty and row.is_empty
            self._rules_left -= len(row.registers)
            endless: list[tuple[str, dict[str, object]]] = [("kernel-end", {})] * (
                is_kernel and row.cfa is not None and fde.cie.return_address not in row.registers
            )
            for name, values in [
                *endless,
                *moved,
                *self._rules(row, fde.format.form, is_signal_frame=fde.cie.is_signal_frame),
            ]:
                if name not in seen:
                    seen.add(name)
                    yield RULES.problem(name, fde.section, fde.offset, row=row.start, **values)
        if before is not None and is_empty:
            self.empty.append(fde)

    def _rules(
        self, row: UnwindRules, form: Format, *, is_signal_frame: bool
    ) -> Iterator[tuple[str, dict[str, object]]]:
        """Yield what is wrong with the rules of a row: the name of a rule of files, and the values for its words."""
        has_registers = False
        slots: list[tuple[int, int]] = []
        for number, rule in row.registers.items():
            kind = type(rule)
            if isinstance(rule, cfi_rules.Offset):
                slots.append((rule.offset, number))
            if kind is cfi_rules.RegisterRule:
                has_registers = True
            elif kind in _NEED_CFA:
                if row.cfa is None:
                    yield "no-cfa", {"register": self.frames.register_name(number)}
                elif kind is cfi_rules.ValOffset and isinstance(row.cfa, cfi_rules.RegisterOffset) and self.target:
                    register, space = self.target.register(number), self.target.space(row.cfa.space)
                    if register is not None and space is not None and register.bit_size != space.address_bits:
                        yield "val-offset-size", {"register": register, "space": space}
        if has_registers:
            for number in _circle(row.registers):
                yield "register-cycle", {"register": self.frames.register_name(number)}
        if self.target is not None and not is_signal_frame:  # whose registers the system has saved
            yield from self._slots(self.target, row.cfa, sorted(slots)) if slots else ()
            if self.target.grows_down and isinstance(row.cfa, cfi_rules.RegisterOffset):
                frame = row.cfa.register
                is_given = frame == self.target.stack_pointer or frame in row.registers
                if self.target.is_kept(frame) and not is_given:
                    yield "cfa-unsaved", {"register": self.frames.register_name(frame)}
        yield from self._entry_circle(row, form)

    def _enter(self, fde: Fde, row: UnwindRules) -> None:
        """Note an entry whose first row is not that of a function; the rest of a function may begin with it, too."""
        target, cfa, saved = self.target, row.cfa, row.registers.get(fde.cie.return_address or 0)
        if target is None or target.entry_cfa is None or not isinstance(cfa, cfi_rules.RegisterOffset):
            return
        if target.register(cfa.register) is None:  # which is a problem of the instruction
            return
        if (cfa.register, cfa.offset) != (target.stack_pointer, target.entry_cfa):
            values = {"register": self.frames.register_name(cfa.register), "offset": cfa.offset}
            self._odd_entries[fde.low] = fde, values
        elif isinstance(saved, cfi_rules.Offset) and saved.offset != -target.entry_cfa:
            self._odd_entries[fde.low] = fde, {"offset": saved.offset}

    def _slots(
        self, target: Target, cfa: CfaRule | None, slots: list[tuple[int, int]]
    ) -> Iterator[tuple[str, dict[str, object]]]:
        """Yield what is wrong with the places in which registers are saved: their offsets and numbers, in order."""
        is_stack = target.grows_down and isinstance(cfa, cfi_rules.RegisterOffset) and target.is_kept(cfa.register)
        end, before = slots[0][0], slots[0][1]
        for offset, number in slots:
            register = target.register(number)
            if register is None:
                continue  # which is a problem of the instruction
            size = (register.lane_bits or register.bit_size) // 8
            values = {"one": register.name, "offset": offset}
            if is_stack and offset + size > 0:
                yield "slot-outside", values
            elif is_stack and number == target.stack_pointer:
                yield "slot-of-stack", values
            elif is_stack and size == target.address_size and offset % size:
                yield "slot-alignment", {**values, "size": size}
            elif offset < end:
                yield "slot-overlap", {**values, "other": self.frames.register_name(before)}
            end, before = offset + size, number

    def _entry_circle(self, row: UnwindRules, form: Format) -> Iterator[tuple[str, dict[str, object]]]:
        """Yield the circle that entry registers of expressions make, if there is one; the CFA is None in it."""
        blocks: dict[int | None, ExpressionBytes] = {
            number: rule.block
            for number, rule in row.registers.items()
            if isinstance(rule, (cfi_rules.ExpressionRule, cfi_rules.ValExpression))
        }
        if isinstance(row.cfa, cfi_rules.CfaExpression):
            blocks[None] = row.cfa.block
        needed = {node: self._entry_registers(block.data, form) for node, block in blocks.items()}
        if not any(needed.values()):
            return
        for number, rule in row.registers.items():
            if isinstance(rule, _NEED_CFA) and None in needed:
                needed[number] = needed.get(number, frozenset()) | {None}
        while True:  # what needs nothing that is left is in no circle
            free = [node for node, others in needed.items() if others.isdisjoint(needed)]
            if not free:
                break
            for node in free:
                del needed[node]
        if needed:
            names = ["the CFA" if node is None else self.frames.register_name(node) for node in needed]
            yield "entry-cycle", {"registers": ", ".join(sorted(names)[:4])}

    def _entry_registers(self, data: bytes, form: Format) -> frozenset[int | None]:
        """Return the registers that DW_OP_LLVM_call_frame_entry_reg of an expression reads."""
        known = self._entries_read.get(data)
        if known is None:
            instructions = self.expressions.decoded(data, form).instructions
            found = [each.operands[0] for each in instructions if each.name == "DW_OP_LLVM_call_frame_entry_reg"]
            known = self._entries_read[data] = frozenset(number for number in found if isinstance(number, int))
        return known


class _Pushes:
    """What the code of x86-64 pushes where a function begins, and how it moves the CFA from row to row."""

    def __init__(self, host: HostCode, named: Callable[[int], str]) -> None:
        self._host = host
        self._named = named
        self._pushed: dict[int, int] | None = None
        """By their offset from the CFA, the registers pushed so far; None before the function and after other code."""
        self._is_return = False
        """Whether the row before is that of a return, behind code that pops registers."""

    def check(self, before: UnwindRules | None, row: UnwindRules) -> Iterator[tuple[str, dict[str, object]]]:
        """Yield what the code before a row contradicts."""
        cfa, last = row.cfa, None if before is None else before.cfa
        offset = cfa.offset if isinstance(cfa, cfi_rules.RegisterOffset) and cfa.register == _RSP else None
        depth = last.offset if isinstance(last, cfi_rules.RegisterOffset) and last.register == _RSP else None
        moves = None if before is None or depth is None else self._host.moves(before.start, row.start)
        if before is None:
            self._pushed = {} if offset == 8 else None
        elif depth is None or moves is None:
            self._pushed = None
        else:
            for move, register in moves:
                depth -= move
                if register is not None and self._pushed is not None:
                    self._pushed[-depth] = register
        if offset is None:
            self._is_return = False
            return
        is_step = bool(moves) and offset == depth
        is_known = self._pushed is not None or depth is None or is_step  # a frame pointer gives the stack pointer back
        end = self._host.returns(row.start, row.end)
        if before is not None and moves and offset != depth:  # without any, other code may lead there
            yield "cfa-moved", {"offset": offset, "expected": depth, "low": before.start}
        elif offset % 8:
            yield "cfa-alignment", {"offset": offset}
        elif offset != 8 and is_known and end is not None:
            yield "cfa-moved", {"offset": offset}
        is_kept = self._is_return and before is not None and (before.cfa, before.registers) == (cfa, row.registers)
        self._is_return = (is_step or (before is not None and depth is None)) and end == row.start
        is_past = is_kept or (self._is_return and self._host.goes_on(row.start + 1, row.end))
        saved = [(each, rule.offset) for each, rule in row.registers.items() if isinstance(rule, cfi_rules.Offset)]
        for number, place in saved if self._pushed or is_past else ():
            pushed = (self._pushed or {}).get(place, number)
            if pushed != number:
                yield "slot-pushed", {"offset": place, "register": self._named(number), "pushed": self._named(pushed)}
            if is_past and place < -offset:
                yield "slot-popped", {"offset": place, "register": self._named(number)}


def _is_assembly(unit: Unit) -> bool:
    from dwarfgpu.program.code.source_files import language_of

    return language_of(unit) == "asm"


def _circle(registers: dict[int, Rule]) -> list[int]:
    """Return the registers of a circle, if some are stored in each other; each register is followed once."""
    ended: set[int] = set()
    for start in registers:
        path: dict[int, None] = {}
        number = start
        while number not in ended and number not in path:
            path[number] = None
            rule = registers.get(number)
            if not isinstance(rule, cfi_rules.RegisterRule):
                break
            number = rule.register
        else:
            if number in path:
                numbers = list(path)
                return numbers[numbers.index(number) :]
        ended.update(path)
    return []


def _of_broken_cie(section: FrameSection, position: int) -> str:
    """Return the rule that a CIE breaks whose version, or a size after its augmentation, is wrong."""
    data = section.data
    if data[position] not in VERSIONS:
        return "version"
    after = data.index(b"\0", position + 1) + 1
    return "segment-size" if data[after + 1] > 8 else "address-size"


def _broken(error: DwarfGpuError, entry: Cie | Fde) -> Problem:
    """Return the problem that instructions cannot be decoded, or not be executed."""
    rule = _OF_INSTRUCTIONS.get(error.kind, "unreadable")
    return RULES.broken(rule, error, entry.section, entry.offset)


# --- The table for searches ---------------------------------------------------------------------------------------


def _header_problems(
    image: Image, eh_frame: int, locations: dict[int, int], broken: Collection[int], live: Collection[int]
) -> Iterator[Problem]:
    """Yield the problems of the header of an ``.eh_frame`` at an address.

    ``locations`` are the first addresses of the FDEs by their offsets, ``broken`` the offsets of entries that cannot be
    read, and ``live`` the offsets of FDEs for code that is there.
    """
    section = image.section(EH_FRAME_HDR)
    if section is None or not image.is_linked:
        return
    data, broken_section = section.partial()
    if broken_section is not None or not data:  # which the check of the file reports
        return
    try:
        header = read_frame_header(
            bytes(data), address=section.address, byte_order=image.byte_order, address_size=image.address_size
        )
    except DwarfGpuError as error:
        yield RULES.broken(_OF_HEADER_KINDS.get(error.kind, "header-truncated"), error, EH_FRAME_HDR)
        return
    if header is None:
        if dw.DW_EH_PE_omit not in data[2:4]:
            yield RULES.problem("header-encoding", EH_FRAME_HDR, 3, encoding=data[3])
        return
    indirect = next((at for at in (1, 2, 3) if data[at] != dw.DW_EH_PE_omit and data[at] & dw.DW_EH_PE_indirect), None)
    if indirect is not None:
        yield RULES.problem("header-encoding", EH_FRAME_HDR, indirect, indirect=data[indirect])
        return
    if header.eh_frame not in (None, eh_frame):
        yield RULES.problem("header-section", EH_FRAME_HDR, 1, written=header.eh_frame, address=eh_frame)
    try:
        yield from _row_problems(header, eh_frame, locations, broken, live)
    except DwarfGpuError as error:
        yield RULES.broken(_OF_HEADER_KINDS.get(error.kind, "header-truncated"), error, EH_FRAME_HDR)


def _row_problems(
    header: SearchTable, eh_frame: int, locations: dict[int, int], broken: Collection[int], live: Collection[int]
) -> Iterator[Problem]:
    size = (header.end - header.table) // max(header.count, 1)
    before = -1
    listed: set[int] = set()
    for index in range(header.count):
        location, entry = header.row(index)
        at = header.table + index * size
        listed.add(location)
        if location < before:
            yield RULES.problem("header-order", EH_FRAME_HDR, at, row=location, previous=before)
        before = location
        offset = entry - eh_frame
        known = locations.get(offset)
        if known is None:
            if offset not in broken:
                yield RULES.problem("header-entry", EH_FRAME_HDR, at, row=location, place=entry)
        elif known != location:
            yield RULES.problem("header-entry", EH_FRAME_HDR, at, row=location, other=known)
    for offset in live:
        if locations[offset] not in listed:
            yield RULES.problem("header-missing", EH_FRAME, offset, low=locations[offset])
