"""What a file, a variable or a kernel is worth: checks, coverage, verdicts, and all that a file says."""
