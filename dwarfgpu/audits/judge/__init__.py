"""Debugging information judged by execution: what a kernel does is compared with what its file says of it."""
