"""What expressions are written and read for: a target, a dialect, a format and rules."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dwarfgpu import dialects
from dwarfgpu.dialects import known_in
from dwarfgpu.encoding import Format
from dwarfgpu.errors import UsageError
from dwarfgpu.expr.rules import PRESETS, Rules
from dwarfgpu.immutable import frozen
from dwarfgpu.targets.resolve import resolve

if TYPE_CHECKING:
    from dwarfgpu.expr.dialect import Dialect
    from dwarfgpu.expr.instruction import Expression
    from dwarfgpu.expr.listing import Line
    from dwarfgpu.expr.verify import Finding
    from dwarfgpu.targets.target import Target


@frozen
class EncodingContext:
    """Reads expressions that are in no file."""

    target: Target
    dialect: Dialect
    form: Format
    rules: Rules

    def decoded(self, data: bytes, section: str | None = None) -> Expression:
        """Decode the bytes of an expression."""
        from dwarfgpu.expr.instruction import decode

        return decode(data, self.dialect, self.form, section=section, known_in=known_in)

    def parsed(self, text: str) -> Expression:
        """Parse the text of an expression."""
        from dwarfgpu.expr.asm import parse

        return parse(text, self.dialect, self.form, target=self.target)

    def lines(self, expression: Expression) -> list[Line]:
        """Return the listing of an expression."""
        from dwarfgpu.expr import listing

        return listing.lines(expression, self.target)

    def findings(self, expression: Expression, *, in_cfi: bool, depth: int, want: Any) -> list[Finding]:
        """Return what is wrong with an expression."""
        from dwarfgpu.expr.verify import verify

        return verify(
            expression, rules=self.rules, in_cfi=in_cfi, initial_depth=depth, result_kind=want, target=self.target
        )


# --- Expressions by themselves ------------------------------------------------------------------------------------


def setting(
    target: str = "generic",
    dialect: str | None = None,
    rules: str | None = None,
    *,
    address_size: int | None = None,
    byte_order: Any = None,
    offset_size: int = 4,
    dwarf_version: int = 5,
) -> EncodingContext:
    """Return the context with the given names; what is not named follows from the target."""
    known = resolve(target, byte_order=byte_order, address_size=address_size)
    if offset_size not in (4, 8):
        raise UsageError(f"an offset has 4 or 8 bytes, not {offset_size}")
    if not 2 <= dwarf_version <= 6:
        raise UsageError(f"there is no DWARF {dwarf_version}", hint="the versions are 2 to 6")
    name = rules or known.default_rules
    if name not in PRESETS:
        raise UsageError(f"there are no rules {name!r}", hint=f"the rules are {', '.join(PRESETS)}")
    form = Format(known.address_size, offset_size, known.byte_order, dwarf_version)
    return EncodingContext(known, dialects.get(dialect or known.default_dialect), form, PRESETS[name])
