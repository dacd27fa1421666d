"""Kernels of a code object: descriptors and metadata (AMDGPU usage, "Kernel Descriptor")."""
