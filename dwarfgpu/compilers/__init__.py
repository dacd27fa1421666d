"""Compilers: the user's clang makes code objects of kernels in OpenCL C and HIP, with built-in functions of our own."""

SOURCES = (".cl", ".hip")
"""How the names of files end that a user may name in place of their code object."""


def code_of(name: str) -> str:
    """Return the name of the code object that a source, ``k.cl`` or ``k.cl@gfx90a``, is compiled to; others as is."""
    if not name.partition("@")[0].endswith(SOURCES):
        return name
    from dwarfgpu.compilers.sources import compiled_into_cache

    return compiled_into_cache(name)
