"""The memory model: which code makes an operation atomic, and what code orders.

families     the rules of each family of processors: waits, write-backs, invalidates and cache bits of each scope
sequences    the code of an operation with an ordering, a scope and an address space; the table of all of them
"""
