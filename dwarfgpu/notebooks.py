"""What notebooks ask of an object: its HTML, which a layer above writes."""

from __future__ import annotations

import sys


class ShownInNotebooks:
    """An object that notebooks show as `dwarfgpu.html` writes it."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        html: str = sys.modules["dwarfgpu"].html(self)
        return html
