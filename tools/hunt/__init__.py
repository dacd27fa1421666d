"""The hunt for mistakes of compilers: random kernels, small sources, the passes to blame (README.md)."""
