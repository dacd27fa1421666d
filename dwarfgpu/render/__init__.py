"""How results look: as text for people and as JSON for programs. No input and no output."""
