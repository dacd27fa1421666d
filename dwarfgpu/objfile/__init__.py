"""Reading object files: from bytes to sections, units, entries, tables and kernels, without evaluating anything.

Everything is read on first use, and an error in one part leaves the others readable.
"""
