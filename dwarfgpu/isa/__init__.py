"""The instruction set of AMD GPUs: decoding of machine code, and its text. docs/isa.md explains the tables."""
