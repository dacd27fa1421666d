"""The targets: frozen tables of registers and address spaces, and a few pure functions.

``targets.target`` says what a target is, ``targets.resolve`` finds one by name or by ELF header. Importing this
package imports neither: a table is loaded when a target that needs it is resolved.
"""
