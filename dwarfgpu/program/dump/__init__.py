"""All that a file says, in the order it says it: entries with what their values mean, and the other sections."""
