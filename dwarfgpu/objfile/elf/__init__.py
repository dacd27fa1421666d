"""ELF: one image, with its sections, symbols, relocations, notes and segments.

`image` opens an image and is what the rest of the project holds. `header` has the numbers of the gABI and the tables
that everything else starts from; `sections` decompresses the content of sections and applies `relocation`. `symbols`
and `notes` read those tables, `loading` lays segments out as they are in memory, `core` reads core files, and
`summary` describes an image as a whole.
"""
