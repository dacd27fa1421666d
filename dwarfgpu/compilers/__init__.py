"""Compilers: the user's clang makes code objects of kernels in OpenCL C and HIP, with built-in functions of our own."""

from dwarfgpu.immutable import define

SOURCES = (".cl", ".hip", ".cpp", ".cu")
"""How the names of files end that a user may name in place of their code object."""


@define
class Build:
    """How the sources are compiled that a command names in place of code objects."""

    level: str = "0"
    defines: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()

    @property
    def options(self) -> tuple[str, ...]:
        """Words for clang, besides the level."""
        return (*(f"-D{text}" for text in self.defines), *(f"-I{path}" for path in self.folders))

    def words(self) -> tuple[str, ...]:
        """Return the words of a command line that say the same."""
        return (*([] if self.level == "0" else [f"-O{self.level}"]), *self.options)

    def choose(self, level: str | None, defines: list[str] | None, folders: list[str] | None) -> None:
        """Take what the words of a command say, or nothing."""
        self.level, self.defines, self.folders = level or "0", tuple(defines or ()), tuple(folders or ())


BUILD = Build()


def is_source(name: str) -> bool:
    """Return whether a name is that of a source of kernels: ``k.cl``, or ``k.cl@gfx90a``."""
    return name.endswith(SOURCES) or name.rpartition("@")[0].endswith(SOURCES)


def code_of(name: str, level: str | None = None) -> str:
    """Return the path of the code object that a source is compiled to, at the level of the command; others as is."""
    if not is_source(name):
        return name
    from dwarfgpu.compilers.sources import compiled_into_cache

    return compiled_into_cache(name, BUILD.level if level is None else level, BUILD.options)
