"""Kernels of a code object: descriptors, and what the metadata says (AMDGPU usage, "Kernel Descriptor").

A `kernel` joins what is known about it, `descriptor_fields` has the bit fields of each generation, and `metadata`
reads the note about arguments.
"""
