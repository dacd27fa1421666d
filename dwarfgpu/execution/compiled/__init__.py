"""Compiled blocks: hot code of running waves as machine code of the host, made by LLVM where llvmlite is installed."""
