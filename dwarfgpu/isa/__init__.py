"""The instruction set of AMD GPUs: decoding of machine code, and its text. docs/architecture.md explains the tables."""
