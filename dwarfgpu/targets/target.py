"""Targets: their registers, their address spaces, and the rules their ABIs add to the text.

A target is data. Registers are kept as families (``v0`` to ``v255`` are one row) and a register is made at its
first use, so a target with a thousand registers costs a dozen rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, Protocol

from dwarfgpu.immutable import frozen
from dwarfgpu.lanes import lane_number

Piece = tuple[int, int, int]
"""Part of a storage: (address space number, byte address, byte size)."""


class Scope:
    """The instance of an address space that an address means, from the widest to the narrowest.

    The scope names the context element that an access needs besides the address: nothing for ``PROCESS``, the thread
    for ``AGENT``, ``WORKGROUP`` and ``WAVE`` (it has an agent, is in a work-group, is a wave), thread and lane for
    ``LANE``. ``DEPENDS`` means that the address decides: see ``AddressSpace.alias``.
    """

    PROCESS = "process"
    AGENT = "agent"
    WORKGROUP = "workgroup"
    WAVE = "wave"
    LANE = "lane"
    DEPENDS = "depends"


class UnspecifiedRegister:
    """The default of a register without a rule in the call frame information (``Target.unspecified_rule``)."""

    UNDEFINED = "undefined"
    """A.6.4.1 *undefined*; the text's default for every column (``initial_instructions``)."""
    SAME_VALUE = "same_value"
    """A.6.4.1 *same value*; the ABI says that a callee preserves the register."""
    CFA = "cfa"
    """The stack pointer. Its previous value is the address of the CFA, divided by ``Target.stack_scale``: the CFA is
    the value of the stack pointer at the call site in the previous frame (DWARF 5 section 6.4)."""


class Alias(Protocol):
    """A mapping from an address space without storage of its own to the storage of others."""

    def pieces(self, address: int, size: int, lane: int | None, wave_size: int) -> list[Piece]:
        """Return the storage that really holds ``size`` bytes at an address, in the order of the bytes.

        The spaces of the answer have no alias. Raises ``MissingContext`` when the address means a lane's storage
        and there is no lane.
        """
        ...

    def scope(self, address: int) -> str:
        """Return the scope of one address, never ``Scope.DEPENDS``."""
        ...


@frozen
class TargetRegister:
    """One register of a target."""

    number: int
    """Its DWARF register number; negative where it has none (``Target.unnumbered``)."""
    name: str
    bit_size: int
    lane_bits: int = 0
    """Bits of one lane in a vector register: lane ``i`` is at bit ``i * lane_bits``. 0 where there are no lanes."""


@frozen
class RegisterFamily:
    """Registers with consecutive DWARF numbers and one size."""

    first: int
    """The DWARF number of the first register."""
    count: int
    prefix: str
    """``v`` of ``v0``, ``v1``, ... For a family of one without ``index``: the whole name."""
    bit_size: int
    lane_bits: int = 0
    index: int | None = 0
    """The number in the name of the first register; None: the only register is called ``prefix``."""
    names: tuple[str, ...] = ()
    """The names, where they follow no pattern; ``prefix`` is then unused."""
    other: str = ""
    """A second spelling of ``prefix`` that is understood too: the one of the document, or of other tools."""

    def register(self, number: int) -> TargetRegister:
        """Return the register with a DWARF number, which must be in the family."""
        position = number - self.first
        if self.names:
            name = self.names[position]
        elif self.index is None:
            name = self.prefix
        else:
            name = f"{self.prefix}{self.index + position}"
        return TargetRegister(number, name, self.bit_size, self.lane_bits)

    def number_named(self, name: str) -> int | None:
        """Return the DWARF number of a register name in lower case."""
        if self.names:
            return self.first + self.names.index(name) if name in self.names else None
        if self.index is None:
            return self.first if name and name in (self.prefix, self.other) else None
        index = self._index_in(name)
        if index is None or not 0 <= index - self.index < self.count:
            return None
        return self.first + index - self.index

    def _index_in(self, name: str) -> int | None:
        """Return the decimal number after the prefix, as this family would write it."""
        for prefix in (self.prefix, self.other):
            if not prefix or not name.startswith(prefix):
                continue
            digits = name[len(prefix) :]
            if digits.isdecimal() and digits.isascii() and len(digits) <= 20:  # enough for a 64-bit number
                # `r05` must not be a second name of `r5`
                return int(digits) if digits[0] != "0" or digits == "0" else None
        return None


@frozen
class AddressSpace:
    """A target architecture specific linear addressable memory area (A.2.13)."""

    number: int
    """The DWARF address space identifier."""
    name: str
    address_bits: int
    null: int | None
    """The address that points nowhere, where the target has one."""
    scope: str
    """One of ``Scope``: which context elements an access needs."""
    alias: Alias | None = None
    """The storage of the bytes, for a space that is only a view of others."""


@frozen
class Target:
    """A target architecture: what the text calls "target architecture specific"."""

    name: str
    """Canonical: ``generic``, ``x86_64``, ``amdgcn-gfx90a``, ``amdgcn-gfx1100-wave32``."""
    byte_order: Literal["little", "big"]
    address_size: int
    """Bytes of an address in the default address space; so is the size of the generic type (A.2.5.3)."""
    lane_count: int
    """Lanes of a thread; 1 where there are no lanes."""
    default_dialect: str
    default_rules: str
    families: tuple[RegisterFamily, ...]
    address_spaces: tuple[AddressSpace, ...]
    """Ordered by number; the first is ``DW_ASPACE_LLVM_none``, the default address space."""
    same_value: tuple[tuple[int, int], ...] = ()
    """First and last number of the registers that a callee preserves."""
    named_if_changed: tuple[tuple[int, int], ...] = ()
    """First and last number of the registers that compilers give the undefined rule where a function changes them.

    Where call frame information does that, one of them without a rule has not been changed (`untouched`).
    """
    stack_pointer: int | None = None
    """The DWARF number of the register that the ABI makes the stack pointer."""
    stack_scale: int = 1
    """The address of the CFA divided by this is the value of the stack pointer."""
    grows_down: bool = False
    """Whether the stack grows to lower addresses, so that a frame saves registers below its CFA."""
    entry_cfa: int | None = None
    """How far above the stack pointer the ABI has the CFA where a function begins; None if it does not say."""
    program_counter: int | None = None
    thread_pointer: int | None = None
    """The DWARF number of the register below which the thread-local storage of the executable ends."""
    execution_mask: int | None = None
    """The DWARF number of the register with one bit for each lane that executes."""
    unnumbered: tuple[RegisterFamily, ...] = ()
    """Registers without a DWARF number, under negative numbers of their own: no expression can name them."""
    features: tuple[str, ...] = ()
    """The settings that a target ID or an ELF header names, such as ``xnack+``, in alphabetical order."""

    def __repr__(self) -> str:
        return f"Target({self.name!r})"

    def __hash__(self) -> int:  # the tables follow from these
        return hash((self.name, self.byte_order, self.address_size, self.features))

    @property
    def processor(self) -> str:
        """The name of the processor of an AMDGPU target, without its wave size; of others that of the target."""
        return self.name.removeprefix("amdgcn-").partition("-wave")[0]

    def register(self, number: int) -> TargetRegister | None:
        """Return the register with a DWARF number, or None."""
        for family in self.families:
            if 0 <= number - family.first < family.count:
                return family.register(number)
        return None

    def register_named(self, name: str) -> TargetRegister | None:
        """Return the register with a name, in any case and with or without a leading ``$``."""
        return _register_named(self.families, name)

    def unnumbered_register(self, name: str) -> TargetRegister | None:
        """Return the register with a name that has no DWARF number."""
        return _register_named(self.unnumbered, name)

    def registers(self) -> Iterator[TargetRegister]:
        """Yield all registers, by number.

        On ``generic``, which has infinitely many, these are ``r0`` to ``r31``, which have operations of their own.
        """
        for family in self.families:
            count = min(family.count, 32) if family.count >> 32 else family.count
            for number in range(family.first, family.first + count):
                yield family.register(number)

    def unspecified_rule(self, number: int) -> str:
        """Return the rule of a register that the call frame information says nothing about: an `UnspecifiedRegister`.

        The text makes that the undefined rule, "However, an ABI authoring body or a compilation system authoring body
        may specify an alternate default value for any or all columns" (A.6.4.1, ``initial_instructions``).
        """
        if number == self.stack_pointer:
            return UnspecifiedRegister.CFA
        if any(first <= number <= last for first, last in self.same_value):
            return UnspecifiedRegister.SAME_VALUE
        return UnspecifiedRegister.UNDEFINED

    def is_kept(self, number: int) -> bool:
        """Return whether a register is the stack pointer, or one that a callee preserves."""
        return self.unspecified_rule(number) != UnspecifiedRegister.UNDEFINED

    def in_callers(self, number: int) -> str:
        """Return in words what a register without a rule holds in the caller's frame."""
        rule = self.unspecified_rule(number)
        is_known = number >= 0 or rule == UnspecifiedRegister.SAME_VALUE
        return rule.replace("_", " ") if is_known else "not known"

    def untouched(self, number: int) -> bool:
        """Return whether a register without a rule is unchanged, if the information names the changed ones.

        A "compilation system authoring body may specify an alternate default value" (A.6.4.1) besides the ABI: code
        that knows what its callee changes keeps values in any other register, also in one that the ABI does not save.
        """
        return any(first <= number <= last for first, last in self.named_if_changed)

    @property
    def default_space(self) -> AddressSpace:
        """The target architecture default address space (A.2.13, ``DW_ASPACE_LLVM_none``)."""
        return self.address_spaces[0]

    def space(self, number: int) -> AddressSpace | None:
        """Return the address space with a DWARF identifier, or None."""
        for space in self.address_spaces:
            if space.number == number:
                return space
        return None

    def space_named(self, name: str) -> AddressSpace | None:
        """Return the address space with a name: ``local``, ``DW_ASPACE_AMDGPU_local``; ``none`` for the default one."""
        name = name.lower()
        for prefix in ("dw_aspace_amdgpu_", "dw_aspace_llvm_", "dw_aspace_"):
            if name.startswith(prefix):
                name = name[len(prefix) :]
                break
        if name in ("none", "default"):
            return self.default_space
        return next((space for space in self.address_spaces if space.name == name), None)

    def spaces(self) -> Iterator[AddressSpace]:
        """Return all address spaces, by number."""
        return iter(self.address_spaces)

    def lane(self, number: Any) -> int:
        """Return a lane of a thread as an int; raise `UsageError` for what is not one of its lanes."""
        return lane_number(number, self.lane_count, self.name)

    def max_storage_bits(self) -> int:
        """Return the bits of the largest address space: the limit for a composite location storage (A.2.5.4.4.6)."""
        return 8 << max(space.address_bits for space in self.address_spaces)


def _register_named(families: tuple[RegisterFamily, ...], name: str) -> TargetRegister | None:
    name = name.removeprefix("$").lower()
    for family in families:
        number = family.number_named(name)
        if number is not None:
            return family.register(number)
    return None
