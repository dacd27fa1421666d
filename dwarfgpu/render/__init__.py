"""The form of results: text for people and JSON for programs, without any input or output."""
