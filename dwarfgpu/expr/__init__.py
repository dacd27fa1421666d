"""The expression engine: operations, values, locations and their evaluation (A.2.5)."""
