"""Line tables: from addresses to source positions and back (DWARF 5 section 6.2)."""
