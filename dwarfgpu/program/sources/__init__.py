"""The source of a program: its files, their text, and the places in them that a user names.

`files` finds source files and the addresses of their lines, `text` reads them, and `places` reads what a user writes:
``add``, ``k.c:15``, ``*0x1900``.
"""
