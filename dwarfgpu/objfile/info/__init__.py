"""Entries: what a unit is made of, and how their bytes are read (DWARF 5 chapter 2 and section 7.5).

To ask about one entry: `dies` are entries with attributes, `values` say what an attribute means, `pc_ranges` where the
code of an entry is, `scopes` what it is called and `inlining` which calls were inlined at an address.

To read many: `abbrevs` say what entries look like, and of the `forms` in them `readers` and `reader_text`
make functions that read one in a few steps. `decoding` decodes all attributes of many entries, `scan` a few attributes
of some. `attributes` and `constants` have the numbers and names.
"""
