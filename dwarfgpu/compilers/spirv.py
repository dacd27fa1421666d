"""Programs in SPIR-V: the user's llvm-spirv makes LLVM's text of them, which is rewritten for AMD GPUs.

The translator writes for SPIR, where the address spaces have other numbers. Only types are rewritten, and `alloca`. For
each built-in function that a program calls there is a function in OpenCL C that calls it: clang finds it as in sources,
and refuses what it does not know.
"""

from __future__ import annotations

import os
import re
import shutil
from array import array
from collections.abc import Iterator, Mapping
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import NoReturn

from dwarfgpu.children import PrivateFolder
from dwarfgpu.compilers.clang import Clang, find_clang
from dwarfgpu.errors import MalformedFile
from dwarfgpu.regular_files import read_input

VERSIONS = (1, 0), (1, 1), (1, 2), (1, 3)
"""The versions of SPIR-V that all translators below read."""
_OLDEST, _NEWEST, _LIMIT = 14, 24, 120
INSTALL = "apt install llvm-spirv-15, or set LLVM_SPIRV"
_SPACES = {None: 5, "1": 1, "2": 4, "3": 3, "4": 0}
"""Private, global, constant, local and generic memory: the number for SPIR, and for AMD."""
_NOT_ZERO = (3, 5)
"""Local and private memory, whose first byte has the address 0, so that null is another."""
_DEBUG_SPACES = {"0": 1, "3": 2}
"""The numbers that debugging information has for private and for local memory; other memory has none for AMD."""
_BEFORE, _AFTER = r"(?<![%@.$\w-])", r"(?![.$\w-]|:)"
_POINTER = re.compile(
    rf"{_BEFORE}(?:(?P<pointer>ptr)(?: addrspace\((?P<of>\d+)\))?|addrspace\((?P<space>\d+)\)|null){_AFTER}"
)
_SHORT = re.compile(r" x ptr addrspace\([35]\)|\{[^{}]*ptr addrspace\([35]\)[^{}]*\}")
"""Pointers within a variable that have 4 bytes for AMD, and 8 for SPIR."""
_PRIVATE = re.compile(r"@\S+ = (?:\w+ )*(?:global|constant) ")
_DEBUG_SPACE = re.compile(
    r"(?P<before>, )?(?:DW_OP_constu, (?P<in>\d+), DW_OP_swap, DW_OP_xderef"
    r"|(?:size: 64, )?dwarfAddressSpace: (?P<of>\d+))(?P<after>, )?"
)
_OPAQUE = {"Image": "ptr addrspace(1)", "Sampler": "ptr addrspace(2)", "Event": "ptr"}
"""How older translators write what newer ones have a type for."""
_DECLARED = re.compile(r"^declare (.*?) ?@(\w+)\(", re.MULTILINE)
_RESULT = re.compile(r"(?:void|i\d+|half|float|double|<\d+ x \w+>|ptr addrspace\(5\))$")
_WORDS = r"(?: [a-z]+(?:\([^()]*\)| \d+)?)*"
_BY_VALUE = re.compile(rf"ptr addrspace\(5\)({_WORDS}?) byval\(([^()]*)\)({_WORDS}) (%\S+?)(?=[,)])")
_COPY = "void @llvm.memcpy.p5.p4.i64"
_HEAD = "#pragma OPENCL EXTENSION cl_khr_fp16 : enable\ntypedef event_t ocl_event;\ntypedef sampler_t ocl_sampler;\n"
_TYPES = {
    "b": "bool", "c": "char", "a": "char", "h": "uchar", "s": "short", "t": "ushort", "i": "int", "j": "uint",
    "l": "long", "m": "ulong", "x": "long", "y": "ulong", "f": "float", "d": "double", "Dh": "half",
}  # fmt: skip
"""Types as mangled names have them (Itanium C++ ABI, 5.1.5)."""
_EVENT = "private void *"
_RESULTS = {"i1": "bool", "i8": "char", "i16": "short", "i32": "int", "i64": "long", "ptr addrspace(5)": _EVENT}
_MEMORY = {"1": "global", "2": "constant", "3": "local", "4": "generic"}
_QUALIFIERS = {"V": "volatile", "K": "const"}
_ACCESS = {"ro": "read_only", "wo": "write_only", "rw": "read_write"}
_DIVISION = re.compile(r"( = fdiv (?:\w+ )*(?:float|<\d+ x float>) .*?)((?:, ![\w.]+ !\d+)*)$", re.MULTILINE)
_DECORATE, _INTEGER, _FLOAT, _FALSE, _TRUE, _CONSTANT, _SPEC_ID = 71, 21, 22, 49, 48, 50, 1
"""OpDecorate, OpTypeInt, OpTypeFloat, OpSpecConstantFalse, ...True, OpSpecConstant and the decoration SpecId."""


def find_translator() -> str | None:
    """Return the llvm-spirv that LLVM_SPIRV names, else the newest one of $PATH."""
    chosen = os.environ.get("LLVM_SPIRV")
    numbered = (f"llvm-spirv-{number}" for number in range(_NEWEST, _OLDEST - 1, -1))
    return next(filter(None, map(shutil.which, [chosen] if chosen else ["llvm-spirv", *numbered])), None)


def translator_digest() -> str:
    """Return what the translation of a program depends on besides clang and the program."""
    translator = find_translator()
    changed = os.stat(translator).st_mtime_ns if translator is not None else 0
    return f"{translator} {changed} {sha256(Path(__file__).read_bytes()).hexdigest()}"


def constants_of(code: bytes) -> dict[int, tuple[int, int]]:
    """Return the size of each specialization constant, and its place among the words of a program (SPIR-V, 2.3)."""
    words = array("I", code + bytes(16))
    found, numbers, sizes, at = {}, {}, {}, 5
    while at < len(words) - 4:
        kind, (first, second, third) = words[at] & 0xFFFF, words[at + 1 : at + 4]
        if kind == _DECORATE and second == _SPEC_ID:
            numbers[first] = third
        elif kind in (_INTEGER, _FLOAT):
            sizes[first] = second // 8
        elif kind in (_FALSE, _TRUE, _CONSTANT) and second in numbers:
            found[numbers[second]] = sizes.get(first, 1), at
        at += max(words[at] >> 16, 1)
    return found


def _specialized(code: bytes, constants: Mapping[int, bytes]) -> bytes:
    """Return a program with other values of its specialization constants."""
    words, known = array("I", code), constants_of(code)
    for number, content in constants.items():
        (size, at), value = known[number], int.from_bytes(content, "little")
        if words[at] & 0xFFFF == _CONSTANT:
            words[at + 3 : at + (5 if size == 8 else 4)] = array("I", content.ljust(4, b"\0"))
        else:
            words[at] = words[at] >> 16 << 16 | (_TRUE if value else _FALSE)
    return words.tobytes()


def is_spirv(code: bytes) -> bool:
    """Return whether a program is in SPIR-V, with the bytes in this order (SPIR-V, 2.3)."""
    return len(code) >= 20 and len(code) % 4 == 0 and code[:4] == b"\3\2\x23\7"


def translate(
    code: bytes, constants: Mapping[int, bytes], out: Path, folder: PrivateFolder, *, is_exact: bool = False
) -> str:
    """Write bitcode of a program, with values of constants, and return the source of the functions that it calls.

    If ``is_exact``, divisions of floats are rounded to the nearest number.
    """
    clang = find_clang()
    if clang.version < 17:  # they write pointers with the type of what they point to
        _refuse(f"clang {clang.version} is too old, CLANG names another one")
    of_spir, path = folder.path / "translated.spir", folder.path / "translated.ll"
    _run(_specialized(code, constants), ["-r", "--spirv-target-env=CL2.0", "-o", str(of_spir)], folder)
    _compile(clang, ["spir64", "-S", str(of_spir), "-o", str(path)], folder)
    content = read_input(str(path)).decode(errors="surrogateescape")
    rewritten, source = _rewritten(content, f"spirv{sha256(code).hexdigest()[:8]}")
    if not is_exact:  # as clang does for sources (OpenCL C 3.0, 7.4)
        rewritten = _DIVISION.sub(r"\1, !fpmath !{float 2.500000e+00}\2", rewritten)
    path.write_text(rewritten, errors="surrogateescape")
    _compile(clang, ["amdgcn-amd-amdhsa", "-nogpulib", "-c", str(path), "-o", str(out)], folder)
    return source


def _run(code: bytes, words: list[str], folder: PrivateFolder) -> None:
    """Run the translator for a program."""
    path, translator = folder.path / "program.spv", find_translator()
    if translator is None:
        _refuse(f"there is no llvm-spirv: {INSTALL}")
    path.write_bytes(code)
    done = folder.run([translator, *words, str(path)], limit=_LIMIT, is_merged=True)
    if done.returncode:
        _refuse(f"{translator}: {done.stdout.decode(errors='replace').partition(chr(10))[0]}")


def _compile(clang: Clang, words: list[str], folder: PrivateFolder) -> None:
    usual = ["-x", "ir", "-Wno-override-module", "-Xclang", "-disable-llvm-passes", "-emit-llvm", "-target"]
    status, messages = clang.run([*usual, *words], folder, doing="translating SPIR-V", limit=_LIMIT)
    if status:
        _refuse(messages)


def _refuse(what: str) -> NoReturn:
    raise MalformedFile("not_compiled", f"SPIR-V cannot be translated for AMD GPUs: {what}")


# --- Types ------------------------------------------------------------------------------------------------------------


def _rewritten(text: str, prefix: str) -> tuple[str, str]:
    """Return the text for AMD GPUs, and the source of the functions that it calls, whose names have a prefix."""
    text = re.sub(r'target\("spirv\.(\w+)"[^()]*\)', lambda found: _OPAQUE.get(found[1]) or _refuse(found[0]), text)
    strings = re.findall(r'"[^"\n]*"', text)
    numbers = iter(range(len(strings)))
    text = re.sub(r'"[^"\n]*"', lambda _found: f'"{next(numbers)}"', text)
    text = "\n".join(_lines(_DEBUG_SPACE.sub(_debug_space, text))) + "\n"
    if _COPY in text and f"declare {_COPY}" not in text:
        text += f"declare {_COPY}(ptr addrspace(5), ptr addrspace(4), i64, i1)\n"
    declared = {name: before for before, name in _DECLARED.findall(text)}
    called = {name: _function(name, before, prefix) for name, before in declared.items() if name.startswith("_Z")}
    text = re.sub(r"@(_Z\w+)", lambda found: f"@{prefix * (found[1] in called)}{found[1]}", text)
    return re.sub(r'"(\d+)"', lambda found: strings[int(found[1])], text), "".join((_HEAD, *called.values()))


def _lines(text: str) -> Iterator[str]:
    """Yield the lines of a text with the types of AMD GPUs."""
    copies: dict[str, str] = {}
    entry: list[str] = []
    for line in text.splitlines():
        if line.startswith(("!", ";", "target ")):
            yield "" if line[0] == "t" else line  # clang writes its own target
            continue
        made = _with_types(line)
        if _SHORT.search(made) or _PRIVATE.match(line):
            _refuse(f"pointers to private or local memory in a variable, or private memory of all: {line.strip()}")
        if line.startswith("define "):
            copies, entry = {}, []
            if " amdgpu_kernel " in made:
                made = _BY_VALUE.sub(partial(_by_reference, copies, entry), made)
        else:
            for name, copy in copies.items():
                made = re.sub(rf"{re.escape(name)}{_AFTER}", copy, made)
            if entry and not re.match(r"\S+:|.* = alloca ", line):  # an alloca behind other instructions is dynamic
                yield from entry
                entry = []
        yield made


def _with_types(line: str) -> str:
    """Return a line with the address spaces of AMD and what they demand."""
    last = 0

    def changed(found: re.Match[str]) -> str:
        nonlocal last
        if found[0] == "null":
            return f"addrspacecast (ptr null to ptr addrspace({last}))" if last in _NOT_ZERO else "null"
        number = _SPACES.get(found["of"] or found["space"])
        if number is None:
            _refuse(f"address space {found['of'] or found['space']}: {line.strip()}")
        if not found["pointer"]:
            return f"addrspace({number})"
        last = number
        return f"ptr addrspace({number})" if number else "ptr"

    line = _POINTER.sub(changed, line)
    if "@llvm." in line:
        line = re.sub(r"(?<=\.p)\d(?=[.(])", lambda space: str(_SPACES.get(space[0], 5)), line)
    line = line.replace("addrspace(4) global", "addrspace(4) constant")  # printf demands that
    line = re.sub(rf"{_BEFORE}spir_(k?)\w+ ", lambda kind: "amdgpu_kernel " if kind[1] else "", line)
    line = re.sub(r"^(attributes #\d+ = \{)", r"\1 convergent", line)  # as clang declares all functions of OpenCL C
    return re.sub(r"( = alloca .*?)((?:, ![\w.]+ !\d+)*)$", r"\1, addrspace(5)\2", line)


def _debug_space(found: re.Match[str]) -> str:
    number = found["in"] or found["of"]
    if number not in _DEBUG_SPACES:
        return ", " if found["before"] and found["after"] else ""
    return found[0].replace(f" {number}", f" {_DEBUG_SPACES[number]}", 1).replace("size: 64", "size: 32")


def _by_reference(copies: dict[str, str], entry: list[str], found: re.Match[str]) -> str:
    """Return the parameter for one by value, which kernels copy from the memory of their arguments."""
    before, kind, after, name = found.groups()
    copy = copies[name] = f"%copied.{len(copies)}"
    size = f"ptrtoint (ptr getelementptr ({kind}, ptr null, i32 1) to i64)"
    entry.insert(0, f"  {copy} = alloca {kind}, addrspace(5)")
    entry.append(f"  call {_COPY}(ptr addrspace(5) {copy}, ptr addrspace(4) {name}, i64 {size}, i1 false)")
    return f"ptr addrspace(4){before} byref({kind}){after} {name}"


# --- Functions --------------------------------------------------------------------------------------------------------


def _function(name: str, before: str, prefix: str) -> str:
    """Return a function in OpenCL C that calls a built-in function."""
    mangled, returned = re.match(r"_Z(\d+)(\w+)", name), _RESULT.search(before)
    if mangled is None or returned is None:
        _refuse(name)
    length = int(mangled[1])
    function, rest = mangled[2][:length], mangled[2][length:]
    known: list[str] = []
    parameters: list[str] = []
    values: list[str] = []
    while rest and rest != "v":
        kind, rest = _type(name, rest, known)
        value = f"a{len(values)}"
        image = re.fullmatch(r"ocl_(image\w+?)(?:_(ro|wo|rw))?", kind)
        is_event = kind == "ocl_event"  # of copies, which end where any event is waited for
        parameters.append(f"{'global void *' if image else _EVENT if is_event else kind} {value}")
        if image:
            value = f"__builtin_astype({value}, {_ACCESS[image[2] or 'ro']} {image[1]}_t)"
        values.append("0" if is_event else value)
    vector = re.fullmatch(r"<(\d+) x (\w+)>", returned[0])
    result = f"{_RESULTS.get(vector[2], vector[2])}{vector[1]}" if vector else _RESULTS.get(returned[0], returned[0])
    call = f"{function}({', '.join(values)})"
    if result == _EVENT:
        call = f"{call}; return 0" if "async" in function else _refuse(name)
    elif result != "void":
        call = f"return __builtin_astype({call}, {result})"
    head = f"__attribute__((always_inline, nodebug)) {result} {prefix}{name}"
    return f"{head}({', '.join(parameters) or 'void'}) {{ {call}; }}\n"


def _type(name: str, text: str, known: list[str]) -> tuple[str, str]:
    """Return the type in OpenCL C that mangled text begins with, and the rest; ``known`` are those that S_ names."""
    found = re.match(r"(S[0-9A-Z]*_)|(Dh|[a-z])|(\d+)|(P)|Dv(\d+)_|(U7_Atomic)|(?:U3AS([1-4]))?([VK]*)", text)
    assert found is not None  # noqa: S101 (the last choice matches nothing)
    again, letter, length, pointer, count, atomic, memory, qualifiers = found.groups()
    rest = text[found.end() :]
    if again:
        place = int(again[1:-1], 36) + 1 if again[1:-1] else 0
        return (known[place] if place < len(known) else _refuse(name)), rest
    if letter:
        return _TYPES.get(letter) or _refuse(name), rest
    if length:
        kind, rest = rest[: int(length)], rest[int(length) :]
    else:
        inner, rest = _type(name, rest, known) if found[0] else _refuse(name)
        words = [_MEMORY.get(memory or ""), *(_QUALIFIERS[each] for each in qualifiers or ""), inner]
        kind = f"{inner}{count}" if count else f"atomic_{inner}" if atomic else " ".join(filter(None, words))
        if pointer:
            kind = f"{inner} *" if inner.startswith((*_MEMORY.values(),)) else f"private {inner} *"
    known.append(kind)
    return kind, rest
