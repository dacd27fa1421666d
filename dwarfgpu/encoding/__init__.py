"""Bounded reading and writing of encoded bytes."""
