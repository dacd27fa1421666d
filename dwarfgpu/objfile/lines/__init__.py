"""Line tables: from addresses to source positions and back (DWARF 5 section 6.2).

A `line_table` answers questions; `line_header` and `line_program` read its two parts.
"""
