"""Waves that run as compiled functions, one for each form of an instruction."""
