"""HIP: the functions of its runtime."""
