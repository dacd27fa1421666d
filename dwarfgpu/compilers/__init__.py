"""Compilers: the user's clang makes code objects of kernels in OpenCL C and HIP, with built-in functions of our own."""

SOURCES = (".cl", ".hip")
"""How the names of files end that a user may name in place of their code object."""


def is_source(name: str) -> bool:
    """Return whether a name is that of a source of kernels: ``k.cl``, or ``k.cl@gfx90a``."""
    return name.partition("@")[0].endswith(SOURCES)


def code_of(name: str) -> str:
    """Return the path of the code object that a source is compiled to; other names as is."""
    if not is_source(name):
        return name
    from dwarfgpu.compilers.sources import compiled_into_cache

    return compiled_into_cache(name)
