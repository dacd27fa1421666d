"""The figures of docs/decisions/0005-own-elf-reader.md: this reader against that of pyelftools.

    python3 tools/compare_readers.py [FILES]

FILES is how many damaged files are read, 1500 by default. Relocations are measured in an object that `as` makes.
"""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import tempfile
import time
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from elftools.elf.elffile import ELFFile  # noqa: E402 (the folder of the project comes first)

from dwarfgpu.errors import DwarfGpuError  # noqa: E402
from dwarfgpu.objfile.elf.image import Image  # noqa: E402
from dwarfgpu.objfile.indexes.lookup import Dwarf  # noqa: E402
from dwarfgpu.objfile.section_source import ImageSections  # noqa: E402

SEED = 20
LARGEST = 64 << 10
"""How many bytes a file has at most that is damaged."""
SECONDS = 10
"""How long a reader may take for one file."""
RELOCATIONS = 340_000


def own(data: bytes) -> Iterator[int]:
    """Open a file, then give the number of entries of each unit as far as they can be read."""
    sections = ImageSections(Image(data))
    sections.data(".debug_info")  # raises where it cannot be read
    dwarf = Dwarf(sections)
    yield 0
    for unit in dwarf.units:
        count = 0
        try:
            for _ in unit.dies():
                count += 1
        except DwarfGpuError:
            pass  # the other units are read
        yield count


def theirs(data: bytes) -> Iterator[int]:
    """Do the same with pyelftools."""
    dwarf = ELFFile(BytesIO(data)).get_dwarf_info()
    yield 0
    for unit in dwarf.iter_CUs() if dwarf.has_debug_info else ():
        count = 0
        try:
            for die in unit.iter_DIEs():
                count += not die.is_null()
        except TimeoutError:
            raise
        except Exception:  # noqa: BLE001, S110 (it raises what comes; the other units are read)
            pass
        yield count
    for type_unit in dwarf.iter_TUs():
        yield sum(not die.is_null() for die in type_unit.iter_DIEs())


def outcome(reader: Callable[[bytes], Iterator[int]], data: bytes) -> tuple[str, int]:
    """Whether a file is opened, and how many entries are read; or the name of the error that it ends with."""
    total, is_open = 0, False
    signal.alarm(SECONDS)
    try:
        for count in reader(data):
            is_open, total = True, total + count
    except Exception as error:  # noqa: BLE001 (what it raises is what is measured)
        return ("opened" if is_open else type(error).__name__), total
    finally:
        signal.alarm(0)
    return "opened", total


def damaged(choose: random.Random, data: bytes) -> bytes:
    """A file with other bytes, with a hole of zeros, or without its end."""
    changed = bytearray(data)
    kind = choose.choice(("bytes", "bytes", "bytes", "hole", "end"))
    if kind == "bytes":
        for _ in range(choose.choice((1, 2, 4, 8, 16))):
            changed[choose.randrange(16, len(data))] = choose.randrange(256)
    elif kind == "hole":
        start = choose.randrange(16, len(data))
        stop = min(len(data), start + choose.choice((4, 16, 64, 256)))
        changed[start:stop] = bytes(stop - start)
    else:
        del changed[choose.randrange(64, len(data)) :]
    return bytes(changed)


def elf_files() -> list[Path]:
    """The ELF files among the fixtures."""
    paths = [path for path in sorted((ROOT / "fixtures").rglob("*")) if path.is_file()]
    return [path for path in paths if path.read_bytes()[:4] == b"\x7fELF"]


def compare_damaged(count: int) -> None:
    """Print how many damaged files each reader opens, and how many entries it reads of them."""
    files = [data for data in (path.read_bytes() for path in elf_files()) if len(data) <= LARGEST]
    choose = random.Random(SEED)
    results: dict[str, dict[str, int]] = {"dwarfgpu": {}, "pyelftools": {}}
    entries = dict.fromkeys(results, 0)
    for _ in range(count):
        data = damaged(choose, choose.choice(files))
        for name, reader in (("dwarfgpu", own), ("pyelftools", theirs)):
            ending, total = outcome(reader, data)
            results[name][ending] = results[name].get(ending, 0) + 1
            entries[name] += total
    for name, endings in results.items():
        print(f"{count} damaged files, {name}: {entries[name]} entries; {endings}")


def compare_whole() -> None:
    """Print how many fixtures each reader opens."""
    for kind in ("", ".o"):
        files = [path.read_bytes() for path in elf_files() if path.suffix == kind or not kind]
        for name, reader in (("dwarfgpu", own), ("pyelftools", theirs)):
            endings = [outcome(reader, data)[0] for data in files]
            others = {ending: endings.count(ending) for ending in set(endings) - {"opened"}}
            print(f"fixtures *{kind}, {name}: {endings.count('opened')} of {len(files)} opened, others {others}")


def compare_relocations() -> None:
    """Print how long it takes to read a section with many relocations."""
    source = f".text\nfirst: .skip 8\n.section .debug_info\n.rept {RELOCATIONS}\n.skip 92\n.quad first+4\n.endr\n"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "large.o")
        subprocess.run(["as", "-o", path, "-"], input=source.encode(), check=True)
        data = path.read_bytes()
    print(f"an object of {len(data) / 1e6:.0f} MB with {RELOCATIONS} relocations in .debug_info:")
    contents: list[Any] = []
    readers: dict[str, Callable[[], Any]] = {
        "dwarfgpu": lambda: ImageSections(Image(data)).data(".debug_info"),
        "pyelftools": lambda: relocated_by_pyelftools(data),
    }
    for name, read in readers.items():
        start = time.perf_counter()
        contents.append(read())
        print(f"  {name} {time.perf_counter() - start:.2f} s")
    if bytes(contents[0]) != contents[1]:
        sys.exit("the readers do not agree")


def relocated_by_pyelftools(data: bytes) -> bytes:
    """Return ``.debug_info`` of an object."""
    section = ELFFile(BytesIO(data)).get_dwarf_info().debug_info_sec
    assert section is not None
    section.stream.seek(0)
    return section.stream.read()


def too_long(*_: object) -> None:
    """Stop a reader."""
    raise TimeoutError


def main() -> None:
    """Measure all."""
    signal.signal(signal.SIGALRM, too_long)
    compare_whole()
    compare_relocations()
    compare_damaged(int(sys.argv[1]) if len(sys.argv) > 1 else 1500)


if __name__ == "__main__":
    main()
