"""What instructions do: one row for each operation, on columns of waves and lanes."""
