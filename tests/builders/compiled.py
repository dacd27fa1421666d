"""Programs compiled by the compilers of the machine, and what llvm-dwarfdump says about them.

The files are linked, so that sections hold addresses and no relocations; ELF is read by pyelftools.
"""

import re
import shlex
import subprocess
from pathlib import Path
from typing import Any

from elftools.elf.elffile import ELFFile

SOURCE = """
int putchar(int);
struct pair { int first, second; };
static inline __attribute__((always_inline)) int square(int x) {
  int y = x * x;
  if (y > 3)
    y += x;
  return y;
}
static inline __attribute__((always_inline)) int twice(int x) { return square(x) + square(x + 1); }
int NAME(int a, int b) {
  int sum = 0;
  for (int i = 0; i < a; i++) {
    sum += twice(i) * b;
    if (sum > 100)
      sum -= square(sum);
  }
  return sum;
}
__attribute__((noinline, cold)) static int cold(struct pair p) { return p.first > 3 ? 2 : p.second; }
int OTHER(int c, char **v) {
  struct pair p = {c, 3};
  int r = NAME(c, 3);
#line 1000 "generated.h"
  switch (r) {
  case 1: return cold(p);
  case 2: { static int k; return k++; }
  default: return r > 3 ? r : c;
  }
}
"""
TARGETS = {
    "x86-64": "-target x86_64-linux-gnu -fPIC",   "i386": "-target i386-linux-gnu -fPIC",
    "ppc64": "-target powerpc64-linux-gnu -fPIC", "amdgcn": "-target amdgcn-amd-amdhsa -mcpu=gfx90a -nogpulib",
}  # fmt: skip


def compiled(folder: Path, tools: Any, compiler: str, options: str, *, link: str = "") -> Path:
    """A linked file of two units. ``compiler`` is ``gcc`` or a target of clang; ``tools`` is `require_tool`."""
    command = [tools("gcc"), "-fPIC"]
    if compiler != "gcc":
        command = [tools("clang-22", "clang"), *shlex.split(TARGETS[compiler])]
    linker = tools("ld.lld-22", "ld.lld")
    objects = []
    for name, other in (("first", "second"), ("third", "fourth")):
        source = folder / f"{name}.c"
        source.write_text(SOURCE, "utf-8")
        out = folder / f"{name}.o"
        flags = ["-g", *shlex.split(options), f"-DNAME={name}", f"-DOTHER={other}", "-c", source.name, "-o", out.name]
        subprocess.run([*command, *flags], check=True, cwd=folder, capture_output=True)
        objects.append(out.name)
    linked = folder / "linked.so"
    flags = ["-shared", "--unresolved-symbols=ignore-all", *shlex.split(link), *objects, "-o", linked.name]
    subprocess.run([linker, *flags], check=True, cwd=folder, capture_output=True)
    return linked


def sections(path: Path) -> dict[str, bytes]:
    with path.open("rb") as stream:
        return {section.name: section.data() for section in ELFFile(stream).iter_sections() if section["sh_size"]}


def byte_order(path: Path) -> str:
    with path.open("rb") as stream:
        return "little" if ELFFile(stream).little_endian else "big"


def string_reader(found: dict[str, bytes]) -> Any:
    """The strings of a file, by form."""

    def string_at(form: str, offset: int) -> bytes:
        data = found[f".debug_{form.replace('strp', 'str')}" if form != "line_strp" else ".debug_line_str"]
        return data[offset : data.index(b"\0", offset)]

    return string_at


def numbers(text: str) -> tuple[int, ...]:
    """All hexadecimal numbers of a text."""
    return tuple(int(word, 16) for word in re.findall(r"0x([0-9a-f]+)", text))
