"""The XML that GDB requests: the registers, the threads and the libraries of a served machine.

Stock GDB does not support AMD GPUs, so waves appear as x86-64 threads, which every GDB supports, and the registers of
waves as a separate feature (GDB manual, "Target Description Format"). ``rip``, and so ``$pc``, is where a wave
is; ``rsp`` is 0, and the other registers of x86-64 are not available.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attrs import frozen

from dwarfgpu.machines.gdb.backend import GDB_NAMES, SERVED

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dwarfgpu.targets.target import Target, TargetRegister

_GENERAL = (*("rax", "rbx", "rcx", "rdx", "rsi", "rdi", "rbp", "rsp"), *(f"r{number}" for number in range(8, 16)))
# GDB manual, "i386 Features": the order is GDB's own
_CORE: tuple[tuple[str, int, str], ...] = (
    *((name, 64, "data_ptr" if name in ("rbp", "rsp") else "int64") for name in _GENERAL),
    ("rip", 64, "code_ptr"),
    ("eflags", 32, "i386_eflags"),
    *((name, 32, "int32") for name in ("cs", "ss", "ds", "es", "fs", "gs")),
    *((f"st{number}", 80, "i387_ext") for number in range(8)),
    *((name, 32, "int") for name in ("fctrl", "fstat", "ftag", "fiseg", "fioff", "foseg", "fooff", "fop")),
)
_SSE: tuple[tuple[str, int, str], ...] = (
    *((f"xmm{number}", 128, "vec128") for number in range(16)),
    ("mxcsr", 32, "i386_mxcsr"),
)
_LINUX = (("orig_rax", 64, "int"),)
_SEGMENTS = (("fs_base", 64, "int"), ("gs_base", 64, "int"))
_EFLAGS = {"CF": 0, "PF": 2, "AF": 4, "ZF": 6, "SF": 7, "TF": 8, "IF": 9, "DF": 10, "OF": 11, "NT": 14, "RF": 16}
_EFLAGS |= {"VM": 17, "AC": 18, "VIF": 19, "VIP": 20, "ID": 21}
_MXCSR = {"IE": 0, "DE": 1, "ZE": 2, "OE": 3, "UE": 4, "PE": 5, "DAZ": 6, "IM": 7, "DM": 8, "ZM": 9, "OM": 10, "UM": 11}
_MXCSR |= {"PM": 12, "FZ": 15}
_VECTORS = {"v4_float": ("ieee_single", 4), "v2_double": ("ieee_double", 2), "v16_int8": ("int8", 16)}
_VECTORS |= {"v8_int16": ("int16", 8), "v4_int32": ("int32", 4), "v2_int64": ("int64", 2)}
COUNTER = "rip"
NEEDED = (COUNTER, "rsp")
"""Registers that are served as 0 if unknown: otherwise GDB drops the connection, or cannot unwind."""


@frozen
class ServedRegister:
    """A register of GDB, and the register of the machine that it shows."""

    name: str
    bit_size: int
    type: str
    shows: TargetRegister | None
    """None if the machine does not have the register."""


class RegisterLayout:
    """The registers of a machine, in the order of GDB's register numbers."""

    def __init__(self, target: Target) -> None:
        self.target = target
        self.is_host = target.name == "x86_64"
        ours = {theirs: name for name, theirs in GDB_NAMES.items()}
        counter = None if target.program_counter is None else target.register(target.program_counter)
        self.features: dict[str, list[ServedRegister]] = {}

        def add(feature: str, rows: Iterable[tuple[str, int, str]]) -> None:
            self.features[feature] = [
                ServedRegister(name, size, kind, counter if name == COUNTER else known(name))
                for name, size, kind in rows
            ]

        def known(name: str) -> TargetRegister | None:
            return target.register_named(ours.get(name, name)) if self.is_host else None

        add("org.gnu.gdb.i386.core", _CORE)
        self.general_count = len(_CORE)
        if self.is_host:
            add("org.gnu.gdb.i386.sse", _SSE)
            add("org.gnu.gdb.i386.linux", _LINUX)
            add("org.gnu.gdb.i386.segments", _SEGMENTS)
        else:
            self.features["org.dwarfgpu.wave"] = list(self._own(counter))
            self.features["org.dwarfgpu.wave"].append(ServedRegister(SERVED, 8, "uint8", None))
        self.registers = [register for rows in self.features.values() for register in rows]
        self.number_of_counter = [register.name for register in self.registers].index(COUNTER)

    def _own(self, counter: TargetRegister | None) -> Iterable[ServedRegister]:
        taken = {name for name, _size, _kind in _CORE}
        unnumbered = (
            family.register(number)
            for family in self.target.unnumbered
            for number in range(family.first, family.first + family.count)
        )
        for register in (*self.target.registers(), *unnumbered):
            if register != counter and register.name not in taken:
                lanes = register.bit_size // register.lane_bits if register.lane_bits else 0
                kind = f"v{lanes}" if lanes else f"uint{register.bit_size}"
                yield ServedRegister(register.name, register.bit_size, kind, register)

    def xml(self) -> str:
        """Return the target description."""
        text = ['<?xml version="1.0"?><!DOCTYPE target SYSTEM "gdb-target.dtd"><target>']
        system = "GNU/Linux" if self.is_host else "none"
        text.append(f"<architecture>i386:x86-64</architecture><osabi>{system}</osabi>")
        number = 0
        lanes = self.target.lane_count
        for feature, rows in self.features.items():
            text.append(f'<feature name="{feature}">')
            if feature == "org.dwarfgpu.wave" and lanes > 1:
                text.append(f'<vector id="v{lanes}" type="uint32" count="{lanes}"/>')
            text.append(_types(feature))
            for row in rows:
                fields = f'name="{quoted(row.name)}" bitsize="{row.bit_size}" type="{row.type}" regnum="{number}"'
                text.append(f"<reg {fields}/>")
                number += 1
            text.append("</feature>")
        return "".join([*text, "</target>"])


def _types(feature: str) -> str:
    """Return the types of an x86-64 feature, named as in GDB's own descriptions."""
    if feature == "org.gnu.gdb.i386.core":
        return _flags("i386_eflags", _EFLAGS)
    if feature != "org.gnu.gdb.i386.sse":
        return ""
    vectors = "".join(f'<vector id="{name}" type="{kind}" count="{n}"/>' for name, (kind, n) in _VECTORS.items())
    fields = "".join(f'<field name="{name}" type="{name}"/>' for name in _VECTORS)
    whole = '<field name="uint128" type="uint128"/>'
    return f'{vectors}<union id="vec128">{fields}{whole}</union>{_flags("i386_mxcsr", _MXCSR)}'


def _flags(name: str, bits: dict[str, int]) -> str:
    fields = "".join(f'<field name="{flag}" start="{bit}" end="{bit}"/>' for flag, bit in bits.items())
    return f'<flags id="{name}" size="4">{fields}</flags>'


@frozen
class ServedThread:
    """A thread as GDB shows it."""

    number: int
    name: str
    """The kernel that a wave executes; empty if it is not known."""
    details: str
    """``AMDGPU Wave 1:1:1:1 (0,0,0)/0``."""


def threads_xml(threads: Iterable[ServedThread]) -> str:
    """Return the list of threads (GDB manual, "Thread List Format")."""
    rows = []
    for thread in threads:
        name = f' name="{quoted(thread.name)}"' if thread.name else ""
        rows.append(f'<thread id="{thread.number:x}"{name}>{quoted(thread.details)}</thread>')
    return f'<?xml version="1.0"?><threads>{"".join(rows)}</threads>'


def libraries_xml(libraries: Iterable[tuple[str, int]]) -> str:
    """Return the list of libraries, with where they are loaded (GDB manual, "Library List Format")."""
    rows = [
        f'<library name="{quoted(path)}"><segment address="{address:#x}"/></library>' for path, address in libraries
    ]
    return f'<?xml version="1.0"?><library-list>{"".join(rows)}</library-list>'


def quoted(text: str) -> str:
    """Return text escaped for XML, with unprintable characters replaced by ``?``."""
    from html import escape

    plain = "".join(letter if letter.isprintable() else "?" for letter in text)
    return escape(plain.encode("utf-8", "replace").decode())


def wave_details(machine: Any, wave: int) -> str:
    """Return the name that ROCgdb shows for a wave: ``AMDGPU Wave 1:1:1:1 (0,0,0)/0``."""
    text = f"AMDGPU Wave {machine.ids[wave]}"
    _dispatch, (x, y, z), number = machine.place_of(wave)
    return text if min(x, y, z, number) < 0 else f"{text} ({x},{y},{z})/{number}"
