"""Programs as a user asks about them: files, frames and values.

The reader (`objfile`), the evaluator (`expr`) and the machines (`machines`) are joined here. The packages, from a file
to the value of a variable:

- `code`: one file and the files that are loaded: names, source lines, frame rows, instructions
- `types`, `values`: types from entries, and objects of a type at a location
- `language`: source expressions, from the text to a tree, and C's arithmetic
- `frames`: the frames of waves and what is visible in them
"""

import sys


class ShownInNotebooks:
    """An object that notebooks show as `dwarfgpu.html`, of a layer above, writes it."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        return sys.modules["dwarfgpu"].html(self)  # type: ignore[no-any-return]
