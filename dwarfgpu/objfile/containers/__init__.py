"""Containers: files that hold images, and how a user names one of those.

`place` reads what a user writes (``FILE@gfx90a``, ``FILE@2``, a code object URI), `bundle` lists and chooses images,
and `offload` knows the formats in which they are packed.
"""
