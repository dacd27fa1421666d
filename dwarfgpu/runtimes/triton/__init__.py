"""Triton: scripts whose kernels execute here, with the memory of their tensors."""
