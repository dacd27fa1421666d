"""ELF: one image, with its sections, symbols, relocations, notes and segments."""
