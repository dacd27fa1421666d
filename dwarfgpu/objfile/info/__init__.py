"""Units and entries: what they are made of, and how their bytes are read (DWARF 5 chapter 2 and section 7.5)."""
