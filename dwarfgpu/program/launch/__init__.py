"""The launch of kernels: planned first, then written to a machine."""
