"""Call frame information as a file holds it (DWARF 5 section 6.4.1, A.6.4.1)."""
