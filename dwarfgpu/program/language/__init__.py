"""Source expressions, as users of a debugger type them: text to a tree, and C's arithmetic on its values."""
