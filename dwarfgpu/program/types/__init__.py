"""Types: from debugging information entries to records, their sizes, and how they are declared."""
