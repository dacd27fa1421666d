"""Kernels that run: where they stop and why, what they do on the way, and what they print."""
