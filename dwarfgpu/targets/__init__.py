"""The targets: frozen tables of registers and address spaces, and a few pure functions.

`target` says what a target is, `resolve` finds one by name or by ELF header; `amdgpu` and `x86_64` are the tables.
Importing this package imports none of them: a table is loaded when a target that needs it is resolved.
"""
