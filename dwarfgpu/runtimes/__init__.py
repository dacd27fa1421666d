"""Whole programs: what stands where the driver of a GPU stands, for programs that launch kernels themselves."""
