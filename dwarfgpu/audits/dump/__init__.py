"""The dump of a file: its entries, with the meaning of their values, and its other sections, in file order."""
