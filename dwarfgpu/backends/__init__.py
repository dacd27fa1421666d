"""Machines that expressions are about: where registers and memory come from."""
