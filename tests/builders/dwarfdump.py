"""What llvm-dwarfdump says about debugging information entries, and a way to compile what it is asked about."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any, NamedTuple

from dwarfgpu.objfile.dwarf import Dwarf
from dwarfgpu.objfile.image import open_image
from dwarfgpu.objfile.source import ImageSections

C = """
struct S { int a; unsigned b:3; int c:5; struct S *next; double d[4]; };
enum E { A = -1, B = 200, C = 70000 };
typedef int (*fn)(struct S *, enum E);
static const char msg[] = "hello";
_Thread_local int tls = 4;
static inline int inl(int x) { static int hits; hits++; return x * 3; }
int global_var = 5;
extern int external_one;
union U { long long l; float f; };
int f(int a, union U u, enum E e) {
  struct S s = {a};
  for (int i = 0; i < a; i++) { int j = i * 2; s.a += j + inl(i) + msg[i]; }
  return s.a + u.f + e + tls + external_one;
}
volatile unsigned long big = 0xfedcba9876543210;
_Complex double cd;
void variadic(const char *fmt, ...) { lab: if (fmt) goto lab; }
int main(int argc, char **argv) {
  int vla[argc];
  vla[0] = f(argc, (union U){1}, B);
  fn p = 0;
  return p ? vla[0] : global_var;
}
"""

CXX = """
namespace ns {
struct Base { virtual ~Base(); int base; static int count; };
int Base::count = 3;
template <class T, int N> struct Box : Base { T value[N]; T get(int i) const; enum class Kind : short { one, two }; };
template <class T, int N> T Box<T, N>::get(int i) const { return value[i]; }
namespace { int hidden = 4; int secret(int x) { return x + hidden; } }
inline namespace v1 { int versioned(int x) { static int calls; return calls++ + x; } }
}
struct Outer { struct Inner { int deep; }; Inner in; int method(int Inner::*m) &&; };
int Outer::method(int Inner::*m) && { return in.*m; }
template <class... Ts> int pack(Ts... ts) { return sizeof...(ts); }
int operator+(const Outer &a, int b) { auto lambda = [&](int c) { return c + b; }; return lambda(a.in.deep); }
ns::Box<float, 3> box;
extern "C" int entry(int n) {
  using namespace ns;
  auto k = ns::Box<float, 3>::Kind::one;
  return box.get(n) + secret(n) + versioned(n) + pack(1, 2.0, 'c') + (Outer{} + n) + int(k);
}
"""

OPENCL = """
typedef struct { int a; float b; } S;
int helper(global int *p, int n) { int l[4]; for (int i = 0; i < 4; i++) l[i] = p[i] * n; return l[n & 3]; }
kernel void k(global int *out, local int *lds, S s) { lds[0] = helper(out, s.a); out[0] = lds[0]; }
"""

SOURCES = {"c": C, "cpp": CXX, "cl": OPENCL}


def compile_source(
    folder: Path,
    compiler: str,
    options: list[str],
    language: str = "c",
    name: str = "unit",
    *,
    link: bool = False,
) -> Path:
    """Compile one of the sources; returns the object file, or a shared library."""
    source = folder / f"{name}.{language}"
    source.write_text(SOURCES[language], "utf-8")
    out = folder / (f"{name}.so" if link else f"{name}.o")
    if language == "cl":
        target = "-x cl -cl-std=CL2.0 -target amdgcn-amd-amdhsa -mcpu=gfx90a -nogpulib -Xclang -finclude-default-header"
        options = [*target.split(), *options]
    how = ["-shared", "-fPIC"] if link else ["-c"]
    command = [compiler, *options, *how, source.name, "-o", out.name]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    return out


def opened(path: Path, **options: Any) -> Dwarf:
    """The debugging information of a file. Split files are looked for beside it."""

    def open_split(wanted: Any) -> ImageSections | None:
        found = path.parent / wanted.name
        return ImageSections(open_image(found)) if found.exists() else None

    return Dwarf(ImageSections(open_image(path)), open_split=open_split, **options)


def with_split_files(path: Path) -> list[tuple[str, Dwarf]]:
    """The debugging information of a file, and of the split files that its units name."""
    dwarf = opened(path)
    found = {str(path): dwarf}
    for unit in dwarf.units:
        if unit.is_skeleton:
            other = dwarf.split_unit(unit).dwarf
            found.setdefault(str(path.parent / other.name), other)
    return list(found.items())


# --- Reading the dump ---------------------------------------------------------------------------------------------


class DumpedAttribute(NamedTuple):
    name: str
    form: str
    text: str


class DumpedDie(NamedTuple):
    section: str
    offset: int
    tag: str
    code: int
    has_children: bool
    parent: int | None
    attributes: list[DumpedAttribute]


_SECTION = re.compile(r"^\.(debug_\S+) contents:")
_DIE = re.compile(r"^0x([0-9a-f]+): +(DW_TAG_\S+) \[(\d+)\] ([* ])(?: \(0x([0-9a-f]+)\))?")
_ATTRIBUTE = re.compile(r"^ +(DW_AT_\S+) \[(DW_FORM_\S+)\]\t?(.*)$")


def dumped(tool: str, path: Path, *options: str) -> list[DumpedDie]:
    """All entries that llvm-dwarfdump shows of a file."""
    command = [tool, *(options or ("--debug-info", "--debug-types")), "--verbose", str(path)]
    text = subprocess.run(command, check=False, capture_output=True, text=True, errors="replace").stdout
    section = ""
    dies: list[DumpedDie] = []
    for line in text.splitlines():
        if match := _SECTION.match(line):
            section = "." + match[1]
        elif match := _DIE.match(line):
            parent = None if match[5] is None else int(match[5], 16)
            dies.append(
                DumpedDie(section, int(match[1], 16), match[2], int(match[3]), match[4] == "*", parent, [])
            )
        elif match := _ATTRIBUTE.match(line):
            dies[-1].attributes.append(DumpedAttribute(match[1], match[2], match[3]))
    return dies


_STRING = re.compile(r'"((?:[^"\\]|\\.)*)"\)?$')
_REFERENCE = re.compile(r"\{0x([0-9a-f]+)\}")
_ADDRESS = re.compile(r"(?:address = |\()(0x[0-9a-f]+)")
_NUMBER = re.compile(r"^\((-?(?:0x[0-9a-f]+|\d+))\b")
_NAME = re.compile(r"^\((DW_[A-Z]+_\w+)\)")


def difference(attribute: Any, expected: DumpedAttribute) -> str | None:
    """What differs between an attribute and what the dump says of it, as far as the dump is clear."""
    from dwarfgpu.objfile.constants import VALUES

    text = expected.text
    shown: Any
    kind = attribute.value_class
    if kind == "string":
        match = _STRING.search(text)
        shown, found = (
            (match[1] if match else text),
            attribute.text().replace("\\", "\\\\").replace('"', '\\"'),
        )
    elif kind == "reference":
        match = _REFERENCE.search(text)
        if match is None:  # a signature
            shown, found = int(text.strip("()").split()[0], 16), attribute.value
        else:
            shown, found = int(match[1], 16), attribute.reference().section_offset
    elif kind == "address" and "<unresolved>" in text:  # a split file alone
        shown, found = int(text.split("(")[2][:8], 16), attribute.value
    elif kind == "address":
        match = _ADDRESS.search(text)
        shown, found = (int(match[1], 16) if match else text), attribute.address()
    elif kind == "flag":
        shown, found = (
            text,
            "(true)" if attribute.flag() else "(false)" if attribute.form_name == "DW_FORM_flag" else "",
        )
        shown = shown.replace("(0x01)", "(true)").replace("(0x00)", "(false)")
    elif kind == "constant":
        if match := _NAME.match(text):
            shown, found = match[1], VALUES[attribute.name].get(attribute.value)
        elif match := _NUMBER.match(text):
            shown, found = int(match[1], 0), attribute.value
            if shown < 0 or found < 0:
                bits = 8 * {"DW_FORM_data1": 1, "DW_FORM_data2": 2, "DW_FORM_data4": 4}.get(
                    attribute.form_name, 8
                )
                shown, found = shown % (1 << bits), found % (1 << bits)
        else:
            return None  # the name of a file, or the bytes of data16
    elif kind in ("loclist", "rnglist"):
        match = re.match(r"\((?:0x|indexed \(0x[0-9a-f]+\) (?:loc|range)list = 0x)([0-9a-f]+)", text)
        if match is None:
            return f"{expected} cannot be compared"
        shown, found = int(match[1], 16), attribute.list_place()[1]
    elif kind in ("exprloc", "block"):
        return None  # disassembled: the bytes are compared with those of readelf
    else:
        match = _NUMBER.match(text)
        shown, found = (int(match[1], 0) if match else text), attribute.value
    return None if shown == found else f"{found!r} instead of {shown!r}: {expected}"


def differences(dwarf: Dwarf, dies: list[DumpedDie]) -> list[str]:
    """Everything in which the entries of a file differ from a dump."""
    wrong = []
    offset = -1
    units = {section: dwarf.units_of(section) for section in {die.section for die in dies}}
    for section, those in units.items():
        expected = [die for die in dies if die.section == section]
        found = [die for unit in those for die in unit.dies()]
        if [die.section_offset for die in found] != [die.offset for die in expected]:
            wrong.append(f"{section}: {len(found)} entries instead of {len(expected)}")
        for die, other in zip(found, expected, strict=False):
            offset = other.offset
            parent = die.parent()
            mine = (die.tag_name, die.abbreviation.code, die.has_children, parent and parent.section_offset)
            if mine != (other.tag, other.code, other.has_children, other.parent):
                wrong.append(f"{offset:#x}: {mine} instead of {other}")
            names = [(attribute.name, attribute.form_name) for attribute in die.attributes]
            if names != [(attribute.name, attribute.form) for attribute in other.attributes]:
                wrong.append(f"{offset:#x}: {names} instead of {other.attributes}")
                continue
            each = zip(die.attributes, other.attributes, strict=True)
            wrong += [f"{offset:#x}: {what}" for pair in each if (what := difference(*pair)) is not None]
    return wrong
