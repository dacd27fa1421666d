"""The libraries that programs load in place of those of a driver: C sources, which the user's compiler builds once."""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path

from dwarfgpu.children import PrivateFolder
from dwarfgpu.code_cache import CodeCache
from dwarfgpu.errors import UsageError
from dwarfgpu.regular_files import read_input
from dwarfgpu.runtimes.prototypes import Api

_SOURCES = Path(__file__).with_name("door")
_COMPILERS = ("cc", "gcc", "clang", *(f"clang-{number}" for number in range(24, 12, -1)))
_WORDS = (
    "-std=c11", "-O2", "-g", "-Wall", "-Wextra", "-fPIC", "-shared", "-fvisibility=hidden",
    "-fno-optimize-sibling-calls", "-funwind-tables", "-pthread", "-Wl,-Bsymbolic",
)  # fmt: skip
"""What it is told; a loader has functions of the same names, which -Bsymbolic keeps apart."""


def build_door(api: Api, parts: tuple[str, ...], name: str, versions: tuple[str, ...] = (), more: str = "") -> bytes:
    """Return the library of an API: its own parts of C, and the stubs of its functions with what follows them."""
    compiler = next(filter(None, map(shutil.which, _COMPILERS)), None)
    if compiler is None:
        hint = "apt install gcc, or another C compiler named cc"
        raise UsageError(f"{name} cannot be built: there is no C compiler", kind="no_compiler", hint=hint)
    stubs = (api.source() + more).encode()
    sources = {part: (_SOURCES / part).read_bytes() for part in ("core.c", "core.h", *parts)} | {"stubs.c": stubs}
    # programs ask for symbols of these versions; those without one serve all
    script = "".join(f"{version} {{}};\n" for version in versions).encode()
    parts_of_key = (compiler.encode(), " ".join(_WORDS).encode(), name.encode(), script, *sources.values())
    key = hashlib.sha256(b"\0".join(parts_of_key)).digest()
    cache = CodeCache("doors")
    known = cache.read(key)
    if known is None:
        known = _built(compiler, name, sources, script)
        cache.write(key, known)
    return known


def _built(compiler: str, name: str, sources: dict[str, bytes], script: bytes) -> bytes:
    with PrivateFolder() as folder:
        for part, content in (sources | {"versions": script}).items():
            (folder.path / part).write_bytes(content)
        files = [*(str(folder.path / part) for part in sources if part.endswith(".c")), "-ldl"]
        library = str(folder.path / "library.so")
        linked = [f"-Wl,-soname,{name}"]
        linked += [f"-Wl,--version-script={folder.path / 'versions'}"] if script else []
        done = folder.run([compiler, *_WORDS, *linked, "-o", library, *files], is_merged=True, limit=120)
        if done.returncode:
            text = done.stdout.decode(errors="replace").strip().splitlines()
            error = next((line for line in text if "error" in line), text[0] if text else "it says nothing")
            raise UsageError(f"{compiler} does not build {name}: {error}", kind="no_compiler", hint="install gcc")
        return read_input(library)
