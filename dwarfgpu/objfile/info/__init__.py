"""Units and entries: what they are made of, and how their bytes are read (DWARF 5 chapter 2, 3.1 and 7.5).

A `unit` has `unit_tables` of strings and addresses, and a `tree` of its entries; `split` finds the units that are in
other files. For one entry, `dies` are entries with attributes, `pc_ranges` say where the code of an entry is, and
`scopes` what it is called.

To read many entries, `abbrevs` say what they look like, and for the `forms` in them `readers` and `reader_codegen`
make functions that read an entry in a few steps. `decoding` decodes all attributes of many entries, `scan` a few
attributes of some. `attributes` has the numbers and names.
"""
