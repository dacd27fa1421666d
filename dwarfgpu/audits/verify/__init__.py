"""The checks of a whole file: what is wrong with its debugging information, found without running anything."""
