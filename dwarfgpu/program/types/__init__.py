"""Types: their records and sizes, the reader that makes them from entries, and their declarations in C."""
