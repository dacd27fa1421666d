"""What operations make of what is known of the stack, and what is wrong with it: kinds, numbers, sizes of storages."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from dwarfgpu import bits as b
from dwarfgpu.errors import DwarfGpuError, shown
from dwarfgpu.expr import known_entries as kinds
from dwarfgpu.expr import types
from dwarfgpu.expr.instruction import Instruction, registers_of
from dwarfgpu.expr.known_entries import UNKNOWN, EntryStack, KnownEntry, KnownLocation, Shape, StackInterner, shape_of
from dwarfgpu.expr.pieces import runs
from dwarfgpu.expr.types import Value
from dwarfgpu.immutable import evolve

if TYPE_CHECKING:
    from dwarfgpu.expr.rules import Rules
    from dwarfgpu.expr.table import Operation
    from dwarfgpu.targets.target import AddressSpace, Target

    ReportedSeverity: TypeAlias = Literal["error", "warning", "path"]
    Report: TypeAlias = Callable[[ReportedSeverity, str, str, Instruction, str | None], None]
    """Takes a finding about an operation: its severity (``path``: an error on this path), kind, message and clause."""
    Entries: TypeAlias = dict[str, KnownEntry]
    """The entries that an operation pops, by their letters."""


ADDRESS_IS_VALUE = ", which is one only if it is a byte address in the default address space"
INTEGER_IS_LOCATION = ", which is one only if its type is integral"

_MAX_PLACES = 8  # so many places of a location are known
_READ = "A.2.5.4.3.4 (4)"
_PARTS = "A.2.5.4.4.6"
_NO_PARTS: tuple[KnownLocation, ...] = (KnownLocation(kinds.COMPOSITE, "a composite", 0),)
_LEAST_SIGNIFICANT = "DWARF 5, 2.6.1.2 (2)"


class KnownEffects:
    """The effects of operations on a stack of known entries."""

    def __init__(
        self,
        rules: Rules,
        target: Target | None,
        address_size: int,
        byte_order: str,
        report: Report,
        *,
        in_caller: bool,
    ) -> None:
        self.rules = rules
        self.target = target
        self.generic = types.generic(max(address_size, 1))
        self.is_big = (byte_order if target is None else target.byte_order) == "big"
        self.report = report
        self.in_caller = in_caller
        """Whether registers are those of a caller, which call frame information may have elsewhere."""
        self.stacks = StackInterner()

    @property
    def largest_storage(self) -> int:
        """The bits of the largest address space."""
        return 8 << self.generic.bit_size if self.target is None else self.target.max_storage_bits()

    # --- The stack ------------------------------------------------------------------------------------------------

    def apply(self, at: Instruction, shape: Shape, stack: EntryStack) -> EntryStack:
        """Return the stack after an operation; an error does not change it."""
        if stack is UNKNOWN:
            return stack
        if shape.row.is_raw:
            function = _RAW.get(shape.row.name)
            return UNKNOWN if function is None else function(self, at, stack)
        if stack.depth < len(shape.inputs):
            return self._underflow(at, len(shape.inputs), stack)
        entries: Entries = {}
        for letter, wanted in reversed(shape.inputs):
            entries[letter] = self._taken(at, stack.entry, wanted)
            stack = stack.below
        self.check_entries(at, shape, entries)
        for letter, kind in shape.outputs:
            if kind == "any":
                pushed = entries[letter]
            elif kind == "location":
                pushed = self._location(at, shape, entries)
            else:
                pushed = self._value(at, shape, entries)
            stack = self.stacks.push(stack, pushed)
        return stack

    def _underflow(self, at: Instruction, needed: int, stack: EntryStack) -> EntryStack:
        message = f"{at.name} needs {needed} stack entries, there are {stack.depth}"
        self.report("path", "stack_underflow", message, at, None)
        return UNKNOWN

    def _taken(self, at: Instruction, entry: KnownEntry, wanted: str) -> KnownEntry:
        """Convert an entry to what an operation needs (A.2.5.4.4.3)."""
        if entry.kind == kinds.INCOMPLETE:
            message = f"{at.name} cannot use a composite before it is complete"
            self.report("path", "incomplete_composite", message, at, "A.2.5.4.4.6")
            return KnownEntry(kinds.ANY)
        if wanted == "any":
            return entry
        return self._as_location(at, entry) if wanted == "location" else self._as_value(at, entry)

    def may_be_value(self, kind: str) -> bool:
        """Return whether only an evaluation tells if a location of a kind is a value, too."""
        has_spaces = self.target is not None and len(self.target.address_spaces) > 1
        return kind == kinds.LOCATION or (kind == kinds.CONTEXT and has_spaces)

    def _as_value(self, at: Instruction, entry: KnownEntry) -> KnownEntry:
        kind = entry.kind
        if kind in kinds.VALUES:
            return entry
        message = f"{at.name} needs a value, found {kind}"
        if kind in kinds.NO_VALUES:
            self.report("path", "wrong_kind", message, at, "A.2.5.4.4.3")
        elif self.may_be_value(kind):
            message += ADDRESS_IS_VALUE
            self.report("warning", "wrong_kind", message, at, "A.2.5.4.4.3")
        if kind in (kinds.ANY, *kinds.NO_VALUES):
            return KnownEntry(kinds.VALUE)
        offset = entry.places[0].bit_offset if kind == kinds.MEMORY and entry.places else None
        return self._generic(None if offset is None else offset >> 3)

    def _generic(self, number: int | None = None) -> KnownEntry:
        return KnownEntry(kinds.GENERIC, None if number is None else number & self.generic.mask, self.generic.bit_size)

    def _as_location(self, at: Instruction, entry: KnownEntry) -> KnownEntry:
        kind = entry.kind
        message = f"{at.name} needs a location, found {kind}"
        if kind == kinds.TYPED and self.rules.value_as_location == "generic":
            self.report("path", "wrong_kind", message, at, "A.2.5.4.4.3")
        elif kind == kinds.TYPED:
            message += INTEGER_IS_LOCATION
            self.report("warning", "wrong_kind", message, at, "DWARF 6 (230524.1)")
        if entry.number is not None:
            return KnownEntry(kinds.MEMORY, places=(self._memory(entry.number),))
        # a value may be a pointer that was optimised away, which becomes what it points to
        return KnownEntry(kinds.LOCATION) if kind in (kinds.ANY, *kinds.VALUES) else entry

    def check_entries(self, at: Instruction, shape: Shape, entries: Entries) -> None:
        """Check what an operation requires of entries besides their kind."""
        space = entries["AS"].number if "AS" in entries else None
        if space is not None and self.target is not None and self.target.space(space) is None:
            message = f"{space} is not an address space of {self.target.name}"
            self.report("path", "bad_address_space", message, at, None)
        present = {entry.kind for entry in entries.values()}
        is_strict = self.rules.mixed_operands == "ill_formed"
        if is_strict and present == {kinds.TYPED, kinds.GENERIC} and shape.outputs and shape.outputs[0][0] == "R":
            message = f"both operands must have the same type, found {kinds.TYPED} and {kinds.GENERIC}"
            self.report("path", "type_mismatch", message, at, None)
        bits = self.generic.bit_size
        if "M" in entries and entries["M"].kind == kinds.GENERIC and bits < shape.operand(at.operands, "C"):
            self.report("path", "bad_size", f"the mask has {bits} bits, less than the count", at, None)

    # --- Values ---------------------------------------------------------------------------------------------------

    def _value(self, at: Instruction, shape: Shape, entries: Entries) -> KnownEntry:
        row = shape.row
        if shape.is_literal:
            return self._generic(int((*row.fixed, *at.operands)[0]))
        if shape.computes and all(entry.number is not None for entry in entries.values()):
            return self._generic(self._computed(at, row, entries))
        reads_bytes = "S" in shape.names
        if "L" in entries:
            size = 8 * shape.operand(at.operands, "S") if reads_bytes else self.generic.bit_size
            if "DR" not in shape.names:
                self._check_read(at, entries["L"].places, min(size, self.generic.bit_size))
            elif size:  # a type of so many bytes may lack some of the bits of the last
                self._check_read(at, entries["L"].places, size, size - 7)
        kind = shape.value(at.operands, entries)
        # bytes that are read may be a pointer that was optimised away, smaller than the generic type
        return self._generic() if kind == kinds.GENERIC and not reads_bytes else KnownEntry(kind)

    def _computed(self, at: Instruction, row: Operation, entries: Entries) -> int | None:
        """Perform an operation on constants; return the number it gives, or report that it always fails.

        Of an evaluation it asks no more than the rules and the generic type, which are known here.
        """
        run: Any = row.run
        values = [Value(self.generic, entries[letter].number or 0) for letter, _ in shape_of(row).inputs]
        try:
            value = run(self, *values, *row.fixed, *at.operands)
        except DwarfGpuError as error:
            self.report("path", error.kind, f"{at.name} always fails: {error.message}", at, error.spec)
            return None
        return int(value.bits)

    # --- Places of locations --------------------------------------------------------------------------------------

    def _location(self, at: Instruction, shape: Shape, entries: Entries) -> KnownEntry:
        if "BL" in entries:
            return self._overlay(at, entries, shape.row.unit)
        kind = shape.location(entries, self.target)
        places: tuple[KnownLocation, ...] = ()
        function = _PLACES.get(shape.row.storage)
        if function is not None:
            places = function(self, at, shape, entries)
        elif "L" in entries:
            places = self._moved(at, shape, entries)
        elif "AS" in entries or kind == kinds.MEMORY:
            places = self._formed(at, shape, entries)
        elif len(entries) == 2:  # a location in the places of both (DWARF 6, 260227.1)
            places = tuple(dict.fromkeys((*entries["A"].places, *entries["B"].places)))[:_MAX_PLACES]
        return KnownEntry(kind, places=places)

    def _memory(self, address: int | None, space: AddressSpace | None = None) -> KnownLocation:
        """Return an address of an address space, else of the default one."""
        bits, name = self.generic.bit_size, "the default address space"
        if space is not None:
            bits, name = space.address_bits, f"the address space {space.name}"
        offset = None if address is None else (address & (1 << bits) - 1) * 8
        return KnownLocation(kinds.MEMORY, name, 8 << bits, offset)

    def _formed(self, at: Instruction, shape: Shape, entries: Entries) -> tuple[KnownLocation, ...]:
        """Return the place of an address that an operation forms, in the address space that it names."""
        space = None
        if "AS" in entries:
            number = entries["AS"].number
            space = self.target.space(number) if self.target is not None and number is not None else None
            if space is None:
                return ()
            if "R" in shape.names:
                self.check_address(at, space)
        address = entries["A"].number if "A" in entries else None
        return (self._memory(address, space),)

    def register(self, at: Instruction, _shape: Shape, _entries: Entries) -> tuple[KnownLocation, ...]:
        """Return the register that an operation names (A.2.5.4.4.4)."""
        register = None if self.target is None else self.target.register(registers_of(at)[0])
        return () if register is None else (KnownLocation(kinds.REGISTER, register.name, register.bit_size),)

    def undefined(self, _at: Instruction, _shape: Shape, _entries: Entries) -> tuple[KnownLocation, ...]:
        """Return the start of the undefined storage, where the rules give it a size (A.2.5.4.4.2)."""
        size = self.largest_storage
        return (KnownLocation(kinds.UNDEFINED, "the undefined storage", size),) if self.rules.undefined_has_size else ()

    def implicit_value(self, at: Instruction, _shape: Shape, _entries: Entries) -> tuple[KnownLocation, ...]:
        return (KnownLocation(kinds.IMPLICIT, "an implicit value", 8 * len(at.operands[0])),)

    def implicit_pointer(self, _at: Instruction, _shape: Shape, entries: Entries) -> tuple[KnownLocation, ...]:
        space = None if self.target is None else self.target.default_space
        if "AS" in entries:
            number = entries["AS"].number
            space = None if number is None or self.target is None else self.target.space(number)
        return () if space is None else (KnownLocation(kinds.POINTER, "an implicit pointer", space.address_bits),)

    def _moved(self, at: Instruction, shape: Shape, entries: Entries) -> tuple[KnownLocation, ...]:
        """Return the places that an operation moves (A.2.5.4.4.1 (1) to (3))."""
        number = entries["B"].number if "B" in entries else shape.operand(at.operands, "B")
        unit = shape.row.unit
        bits = None if number is None else unit * self._signed(number)
        places = entries["L"].places
        if bits is not None:
            self._check_move(at, places, bits, shape.row.spec if unit == 1 else "A.2.5.4.4.1 (1)")
        return tuple([place.moved(bits) for place in places])

    def _signed(self, number: int) -> int:
        """Return a number of the generic type as a displacement."""
        return int(b.signed(number & self.generic.mask, self.generic.bit_size))

    # --- Composites -----------------------------------------------------------------------------------------------

    def _composite(self, at: Instruction, size: int) -> tuple[KnownLocation, ...]:
        if size > self.largest_storage:
            message = f"a composite of {shown(size)} bits is larger than the largest address space"
            self.report("path", "bad_piece", message, at, _PARTS)
        return (KnownLocation(kinds.COMPOSITE, "a composite", size),)

    def composite(self, at: Instruction, shape: Shape, entries: Entries) -> tuple[KnownLocation, ...]:
        """Return a composite, after a check of its parts: none, one that is repeated, or some of two locations."""
        if not entries:
            return self._composite(at, 0)
        size, count = (shape.operand(at.operands, name) for name in "SC")
        if "L" in entries:
            self._check_part(at, entries["L"].places, size)
        else:
            self._check_selected(at, entries, size, count, shape.row.spec)
        return self._composite(at, size * count) if size and count else ()

    def _check_selected(self, at: Instruction, entries: Entries, size: int, count: int, spec: str) -> None:
        """Check the parts that DW_OP_LLVM_select_bit_piece takes (A.2.5.4.4.6 (5))."""
        zero, one, mask = entries["L0"].places, entries["L1"].places, entries["M"].number
        if not size or not count:
            return
        if mask is None:  # the last part is one of either location
            needed = size * count
            first, second = ([place for place in places if not place.may_hold(needed)] for places in (zero, one))
            if first and second:
                self._refuse_part(at, first[0], size, needed - size, spec)
        elif count <= self.generic.bit_size:
            for bit, start, stop in runs(mask, count):
                places = one if bit else zero
                if not self._check_move(at, places, (stop - 1) * size, spec):
                    break
                if not self._check_part(at, places, (stop - start) * size, start * size, spec):
                    break

    def _overlay(self, at: Instruction, entries: Entries, unit: int) -> KnownEntry:
        """Return an overlay (A.2.5.4.4.6 (6) and (7)), as far as it is known."""
        (offset, size) = (entries[name].number for name in (("O", "S") if "O" in entries else ("BO", "BS")))
        offset = None if offset is None else unit * self._signed(offset)
        if self.rules.overlay == "dwarf6":
            return self._overlay_dwarf6(at, entries, offset, None if size is None else unit * size)
        size = None if size is None else unit * self._signed(size)
        base, top = entries["BL"], entries["OL"]
        spec = "A.2.5.4.4.6 (7)"
        if (offset or 0) < 0 or (size or 0) < 0:
            message = f"{at.name} puts {shown(size or 0)} bits at bit {shown(offset or 0)}: neither must be negative"
            self.report("path", "bad_operand", message, at, spec)
            return KnownEntry(kinds.LOCATION)
        end = (offset or 0) + (size or 0)
        left = [place.left for place in base.places]
        if base.kind == kinds.UNDEFINED:
            left = [self.largest_storage]
        if end > min(left, default=end):
            message = f"{at.name} needs {shown(end)} bits of the base, which has {shown(min(left))} left"
            self.report("path", "bad_piece", message, at, spec)
            return KnownEntry(kinds.LOCATION)
        if size == 0:
            return base
        place = base.place
        rest = None if place is None or place.bit_offset is None else place.left
        if offset is None or size is None or (rest is None and not offset):
            return KnownEntry(kinds.LOCATION)
        if (offset, size) == (0, rest):
            return top
        self._check_part(at, top.places, size)
        return (
            KnownEntry(kinds.LOCATION)
            if rest is None
            else KnownEntry(kinds.COMPOSITE, places=self._composite(at, rest))
        )

    def _overlay_dwarf6(self, at: Instruction, entries: Entries, offset: int | None, size: int | None) -> KnownEntry:
        """Return an overlay of DWARF 6 (251120.1), which keeps the base and may go on after it."""
        base, top = entries["BL"], entries["OL"]
        if size is not None:
            self._check_part(at, top.places, size, spec="DWARF 6 (251120.1)")
        place = base.place
        if place is None or place.bit_offset is None or offset is None or size is None:
            return KnownEntry(kinds.LOCATION)
        start = place.bit_offset + offset
        if start < 0:
            message = f"{at.name} begins {shown(-start)} bits before {place.name}"
            self.report("path", "bad_operand", message, at, "DWARF 6 (251120.1)")
            return KnownEntry(kinds.LOCATION)
        if size == 0 and start <= place.bit_size:
            return base
        places = self._composite(at, max(place.bit_size, start + size))
        return KnownEntry(kinds.COMPOSITE, places=tuple([part.moved(place.bit_offset) for part in places]))

    # --- What is wrong with a place -------------------------------------------------------------------------------

    def _refuse(self, at: Instruction, place: KnownLocation, kind: str, message: str, spec: str) -> None:
        """Report what the size of a storage makes wrong."""
        severity: ReportedSeverity = "path"
        if self.in_caller and place.storage == kinds.REGISTER:
            severity = "warning"
            message += " (a caller's register may be elsewhere)"
        self.report(severity, kind, message, at, spec)

    def _check_read(
        self, at: Instruction, places: Iterable[KnownLocation], bits: int, least: int | None = None
    ) -> None:
        """Check that bits that are read are in the storage of each place (A.2.5.4.3.4 (4))."""
        for place in places:
            if not place.may_hold(bits if least is None else least):
                what = f"{bits} bits" if least is None else f"{bits >> 3} bytes"
                self._refuse(at, place, "read_past_storage", f"{at.name} reads {what} of {place.text()}", _READ)

    def check_address(self, at: Instruction, space: AddressSpace | None = None) -> None:
        """Check that a register can hold an address of an address space, else of the default one (A.2.5.4.4.3 (7))."""
        bits = self.generic.bit_size if self.target is None else (space or self.target.default_space).address_bits
        self._check_read(at, self.register(at, shape_of(at.operation), {}), bits)

    def _check_move(self, at: Instruction, places: Iterable[KnownLocation], bits: int, spec: str) -> bool:
        for place in places:
            if not place.allows_move(bits):
                self._refuse_move(at, place, bits, spec)
                return False
        return True

    def _refuse_move(self, at: Instruction, place: KnownLocation, bits: int, spec: str) -> None:
        to = f"by {shown(bits)} bits in" if place.bit_offset is None else f"to bit {shown(place.bit_offset + bits)} of"
        message = f"{at.name} goes {to} {place.name}, which has {shown(place.bit_size)} bits"
        self._refuse(at, place, "offset_out_of_storage", message, spec)

    def _check_part(
        self, at: Instruction, places: Iterable[KnownLocation], size: int, offset: int = 0, spec: str = _PARTS
    ) -> bool:
        """Check that a part, so many bits further on, is in the storage of each place (A.2.5.4.4.6)."""
        for place in places:
            if not place.may_hold(size + offset):
                self._refuse_part(at, place, size, offset, spec)
                return False
        return True

    def _refuse_part(self, at: Instruction, place: KnownLocation, size: int, offset: int, spec: str = _PARTS) -> None:
        message = f"{at.name} takes a part of {shown(size)} bits of {place.text(offset)}"
        self._refuse(at, place, "bad_piece", message, spec)

    # --- Operations whose functions look at the stack themselves --------------------------------------------------

    def pick(self, at: Instruction, stack: EntryStack) -> EntryStack:
        index: int = at.operands[0] if at.operands else 1  # DW_OP_over
        if index >= stack.depth:
            return self._underflow(at, index + 1, stack)
        below = stack
        for _ in range(index):
            below = below.below
        return self.stacks.push(stack, self._taken(at, below.entry, "any"))

    def stack_value(self, at: Instruction, stack: EntryStack) -> EntryStack:
        if not stack.depth:
            return self._underflow(at, 1, stack)
        size = self._taken(at, stack.entry, "value").bit_size
        places = () if size is None else (KnownLocation(kinds.IMPLICIT, "an implicit value", size),)
        return self.stacks.push(stack.below, KnownEntry(kinds.IMPLICIT, places=places))

    def piece(self, at: Instruction, stack: EntryStack) -> EntryStack:
        """Add a part to a composite, or start one (A.2.5.4.4.6 (1) and (2))."""
        size, offset = at.operands if len(at.operands) == 2 else (8 * at.operands[0], 0)
        if not self.rules.incomplete_composites:
            return self._piece_dwarf6(at, stack, size, offset)
        if stack.depth and stack.kind != kinds.INCOMPLETE:  # else a part without a location
            self._check_piece(at, self._taken(at, stack.entry, "location").places, size, offset)
            stack = stack.below
        if stack.kind != kinds.INCOMPLETE:
            return self.stacks.push(stack, self._grown(at, kinds.INCOMPLETE, _NO_PARTS, size))
        return self.stacks.push(stack.below, self._grown(at, kinds.INCOMPLETE, stack.entry.places, size))

    def _piece_dwarf6(self, at: Instruction, stack: EntryStack, size: int, offset: int) -> EntryStack:
        """Add a part to a composite, or start one (DWARF 6, 230524.1)."""
        below = stack.below
        if stack.depth > 1 and not _may_be_base(below.entry):
            message = f"a piece needs a composite, or nothing else, below its operand on the stack; found {below.kind}"
            self.report("path", "bad_piece", message, at, "DWARF 6 (230524.1), 3.12")
            return UNKNOWN
        base = _NO_PARTS
        if stack.depth == 1 and _may_be_base(stack.entry):  # what may be a base is not a part
            self._taken(at, stack.entry, "location")
            base = stack.entry.places if stack.kind == kinds.COMPOSITE else ()
        elif stack.depth:
            self._check_piece(at, self._taken(at, stack.entry, "location").places, size, offset)
        if stack.depth > 1:
            base = below.entry.places if below.kind == kinds.COMPOSITE else ()
        return self.stacks.push(below.below, self._grown(at, kinds.COMPOSITE, base, size))

    def _grown(self, at: Instruction, kind: str, base: tuple[KnownLocation, ...], size: int) -> KnownEntry:
        """Return a composite with a part more than a base has, at the same offset in it."""
        places = [evolve(self._composite(at, place.bit_size + size)[0], bit_offset=place.bit_offset) for place in base]
        return KnownEntry(kind, places=tuple(places))

    def _check_piece(self, at: Instruction, places: Iterable[KnownLocation], size: int, offset: int) -> None:
        """Check the part that a piece takes, at a bit offset from a location."""
        if size and self.rules.part_beyond_storage == "undefined":
            return
        from_end = self.is_big and self.rules.piece_of_value_bits == "least_significant"
        for place in places:
            if from_end and place.storage in (kinds.REGISTER, kinds.IMPLICIT):
                if offset >= place.bit_size:
                    self._refuse_move(at, place, offset, _LEAST_SIGNIFICANT)
                elif not place.may_hold(size + offset):
                    self._refuse_part(at, place, size, 0, _LEAST_SIGNIFICANT)
            elif offset and not from_end and not place.allows_move(offset):
                self._refuse_move(at, place, offset, "A.2.5.4.4.6 (2)")
            elif not place.may_hold(size + offset):
                self._refuse_part(at, place, size, offset)

    def piece_end(self, at: Instruction, stack: EntryStack) -> EntryStack:
        if not stack.depth:
            return self._underflow(at, 1, stack)
        if stack.kind != kinds.INCOMPLETE:  # in DWARF 6 every composite is complete, and accepted
            may_be = not self.rules.incomplete_composites and _may_be_base(stack.entry)
            message = f"a composite under construction is needed, found {stack.kind}"
            self.report("warning" if may_be else "path", "wrong_kind", message, at, None)
            if stack.kind != kinds.COMPOSITE:
                return self.stacks.push(stack.below, KnownEntry(kinds.COMPOSITE))
        return self.stacks.push(stack.below, KnownEntry(kinds.COMPOSITE, places=stack.entry.places))


def _may_be_base(entry: KnownEntry) -> bool:
    """Return whether an entry may be a composite, to which a piece can be added."""
    return entry.kind in kinds.MAY_BE_COMPOSITE and all(place.storage == kinds.COMPOSITE for place in entry.places)


_RAW = {  # the effect of any other raw operation is not known
    "DW_OP_pick": KnownEffects.pick,
    "DW_OP_over": KnownEffects.pick,
    "DW_OP_piece": KnownEffects.piece,
    "DW_OP_bit_piece": KnownEffects.piece,
    "DW_OP_LLVM_piece_end": KnownEffects.piece_end,
    "DW_OP_stack_value": KnownEffects.stack_value,
}
_PLACES = {  # by the storage of the operation
    "register": KnownEffects.register,
    "implicit": KnownEffects.implicit_value,
    "pointer": KnownEffects.implicit_pointer,
    "undefined": KnownEffects.undefined,
    "composite": KnownEffects.composite,
}
