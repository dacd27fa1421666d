"""Repairs: what producers write and what they mean by it, for those who ask for it.

`rules` is the table of rewrites, `repaired` applies it to an expression.
"""
