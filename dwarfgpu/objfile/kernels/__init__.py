"""Kernels of a code object: descriptors, and what the metadata says (AMDGPU usage, "Kernel Descriptor").

A `kernel` joins what is known of one, `fields` has the bit fields of each generation, `metadata` reads the note about
arguments, and `yamltext` the form it had in code object V2.
"""
