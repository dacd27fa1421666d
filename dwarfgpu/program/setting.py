"""What expressions are written and read for: a target, a dialect, a format and rules."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import frozen

from dwarfgpu.expr.decode import decode

if TYPE_CHECKING:
    from dwarfgpu.encoding.operands import Format
    from dwarfgpu.expr.dialect import Dialect
    from dwarfgpu.expr.instruction import Expression
    from dwarfgpu.expr.rules import Rules
    from dwarfgpu.targets.target import Target


@frozen
class Setting:
    """Reads expressions that stand in no file."""

    target: Target
    dialect: Dialect
    form: Format
    rules: Rules

    def decoded(self, data: bytes, section: str | None = None) -> Expression:
        """The expression that some bytes are."""
        from dwarfgpu.dialects import known_in

        return decode(data, self.dialect, self.form, section=section, known_in=known_in)

    def parsed(self, text: str) -> Expression:
        """The expression that a text is."""
        from dwarfgpu.expr.asm import parse

        return parse(text, self.dialect, self.form, target=self.target)
