"""ELF: one image, with its sections, symbols, relocations, notes and segments.

`image` opens one and is what the rest of the project holds. `header` has the numbers of the gABI and the tables that
everything else starts from; `sections` gives the content of a section as it is meant, through `compression` and
`relocation`. `loading` lays segments out as they are in memory, `core` reads core files, `debuglink` finds the file
that has the debugging information, and `summary` says what there is in an image.
"""
