"""Reading object files: containers, ELF, and the DWARF sections in them. It knows nothing of evaluation."""
