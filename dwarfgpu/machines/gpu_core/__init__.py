"""GPU core files: the notes, the context save areas and what makes machines of waves from them, and their writing."""
