"""Lists of ranges and of locations (DWARF 5 section 2.6.2 and 2.17.3)."""
