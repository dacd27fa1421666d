"""Units: one contribution to ``.debug_info`` or ``.debug_types`` each (DWARF 5 section 3.1).

`headers` finds them, a `unit` answers questions, `tree` says where its entries are, `tables` which strings, addresses
and lists its indices mean, and `split` finds the part of a unit that lies in another file.
"""
