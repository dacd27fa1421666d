"""Indexes: functions, variables and types by name and by address, a producer's or made unit by unit."""
