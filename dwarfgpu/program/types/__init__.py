"""Types: their records, the reader that makes them from entries, their sizes, and their declarations in C."""
