"""Samples of program counters that a profiler of the GPU has taken: what files of them say, and about which code."""
