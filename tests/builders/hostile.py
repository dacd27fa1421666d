"""Files, states and expressions that no producer writes, and a process with limits to ask about them.

`gpu` writes a code object of one kernel from entries, expressions and call frame information that a test makes up;
`bounded` asks about it where memory, time and output have limits.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import resource
import signal
import struct
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from attrs import frozen

from dwarfgpu import dialects
from dwarfgpu.encoding import Format
from dwarfgpu.expr import asm
from dwarfgpu.targets.resolve import resolve
from tests.builders.commands import run as run_here
from tests.builders.dwarf import build, entry, unit
from tests.builders.elf import SHF_ALLOC, ElfBuilder
from tests.builders.frames import FrameBuilder

TARGET = "amdgcn-gfx90a"
GFX90A = 0x3F
CODE, SIZE = 0x1000, 0x100
PC = CODE + 0x10
DATA = 0x10000
INT = entry("base_type", "int", label="int", encoding=5, byte_size=4)
CHAR = entry("base_type", "char", label="char", encoding=6, byte_size=1)


# --- Files --------------------------------------------------------------------------------------------------------


def ops(text: str) -> bytes:
    """The bytes of an expression."""
    return asm.assemble(text, dialects.get("llvm-user"), Format(), target=resolve(TARGET))


def named(name: str | bytes) -> tuple[str, str, Any]:
    return ("name", "string", name)


def typed(label: str) -> tuple[str, str, str]:
    """A type, by the label of its entry."""
    return ("type", "ref4", label)


def variable(name: str | bytes, kind: str = "int", location: str | bytes = "DW_OP_regx v0") -> Any:
    data = ops(location) if isinstance(location, str) else location
    return entry("variable", name, typed(kind), location=data)


def member(name: str | bytes, kind: str, offset: int = 0) -> Any:
    return entry("member", name, typed(kind), ("data_member_location", "udata", offset))


def gpu(
    *locals: Any,
    types: Iterable[Any] = (),
    kernel: str | bytes = "k",
    unit_name: str | bytes = "k.cl",
    producer: str | bytes = "hand",
    folder: str | bytes = "/src",
    attributes: Iterable[Any] = (),
    rules: str | bytes = "",
    sections: dict[str, bytes] | None = None,
    symbols: Sequence[str] = ("k",),
    extra: dict[str, bytes] | None = None,
    version: int = 5,
    unit_attributes: Iterable[Any] = (),
    compressed: Sequence[str] = (),
    has_base: bool = True,
    language: int = 0x1D,
) -> bytes:
    """A code object for gfx90a of one kernel with some variables; ``rules`` are its call frame information.

    ``compressed`` are the names of sections that are compressed. Without ``has_base`` the unit has no base address.
    """
    root = entry(
        "compile_unit",
        unit_name,
        ("language", "data2", language),
        *((("low_pc", "addr", CODE), ("high_pc", "data8", SIZE)) if has_base else ()),
        *unit_attributes,
        INT,
        CHAR,
        *types,
        entry("subprogram", kernel, *attributes, *locals, low_pc=CODE, high_pc=("data8", SIZE), external=("flag", 1)),
        producer=producer,
        comp_dir=folder,
    )
    elf = ElfBuilder(flags=GFX90A)
    text = elf.section(".text", bytes(SIZE), flags=SHF_ALLOC | 4, address=CODE, align=16)
    for name, data in (sections or {}).items():
        elf.section(name, data)
    for name, data in build(unit(root, version=version), extra=extra).sections.items():
        (elf.compressed if name in compressed else elf.section)(name, data)
    if rules:
        frames = FrameBuilder()
        frames.fde(frames.cie(code=4, data=4, column=16), CODE, SIZE, rules)
        elf.section(".debug_frame", frames.data)
    elf.symbols([(name, CODE, SIZE, 2, 1, text) for name in symbols])
    elf.segment(1, CODE, text, flags=5)
    return elf.build()


def sharing(data: bytes, name: str, count: int) -> bytes:
    """A file with further section headers of a name, which all are about the bytes of the first one."""
    (start,) = struct.unpack_from("<Q", data, 40)
    size, number, names_at = struct.unpack_from("<HHH", data, 58)
    headers = [data[start + size * index : start + size * (index + 1)] for index in range(number)]
    (names,) = struct.unpack_from("<Q", headers[names_at], 24)
    named = {data[names + at :].partition(b"\0")[0]: header for header in headers for (at,) in [header_name(header)]}
    headers += [named[name.encode()]] * count
    file = bytearray(data + b"".join(headers))
    struct.pack_into("<Q", file, 40, len(data))
    struct.pack_into("<H", file, 60, len(headers))
    return bytes(file)


def header_name(header: bytes) -> tuple[int]:
    return struct.unpack_from("<I", header)  # type: ignore[return-value]


def state(path: Path, code: Path, *, waves: Sequence[str] = ("1:1:1:1",), **fields: Any) -> Path:
    """A snapshot of waves in the kernel of a file."""
    registers = {f"s{number}": 0 for number in range(40)} | {"v0": list(range(64)), "v1": [1] * 64}
    document = {
        "schema": 1,          "target": TARGET,     "code_objects": [{"path": str(code), "load_address": 0}],
        "waves": [{"id": name, "pc": PC, "exec": "0xffffffffffffffff", "registers": registers} for name in waves],
        "memory": [{"space": "global", "address": hex(DATA), "bytes": bytes(range(256)).hex()}]}  # fmt: skip
    path.write_text(json.dumps(document | fields), "utf-8")
    return path


class Case:
    """A file and a snapshot of it, and questions about them in a process with limits."""

    def __init__(self, folder: Path, data: bytes, name: str = "k.co", **fields: Any) -> None:
        self.file = folder / name
        self.file.write_bytes(data)
        self.state = state(folder / "state.json", self.file, **fields)

    def __call__(self, command: str, *words: Any, **limits: Any) -> Outcome:
        """Run a command about the file and the snapshot."""
        return bounded(command, self.file, "--state", self.state, *words, **limits)

    def debug(self, *lines: str, **limits: Any) -> Outcome:
        words = [word for line in lines for word in ("-ex", line)]
        return bounded("debug", self.file, "--state", self.state, "-nx", *words, stdin=b"", **limits)


# --- A process with limits ----------------------------------------------------------------------------------------

SECONDS = 5
"""Seconds of processor time after which a question is ended."""
PROCESSOR_TIME = "s of processor time"
PATIENCE = 60.0
"""Seconds after which it is ended whatever it does."""
MEMORY = 1 << 30
BYTES = 1 << 24
"""The bytes that may be written."""


@frozen
class Outcome:
    """What came of a question."""

    status: int
    out: str
    err: str
    seconds: float
    """The processor time."""
    memory: int
    """The bytes by which the process has grown."""
    ended: str = ""
    """Which limit ended it; empty if it ended by itself."""

    @property
    def text(self) -> str:
        return self.out + self.err


def bounded(*words: Any, **limits: Any) -> Outcome:
    """Run a command line in a process of its own that has limits.

    A question that exceeds its processor time is asked once more: a machine of others can be five times as slow for a
    moment, and a question that costs too much costs it again.
    """
    outcome = _bounded(*words, **limits)
    return _bounded(*words, **limits) if outcome.ended.endswith(PROCESSOR_TIME) else outcome


def _bounded(
    *words: Any,
    stdin: bytes = b"",
    seconds: int = SECONDS,
    memory: int = MEMORY,
    size: int = BYTES,
    run: Callable[[list[str]], int] | None = None,
) -> Outcome:
    _get_ready()
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err, tempfile.TemporaryFile() as given:
        given.write(stdin)
        given.seek(0)
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # newer Pythons warn of threads that a fork leaves behind
            child = os.fork()
        if not child:
            _child([str(word) for word in words], (given, out, err), (seconds, memory, size), run)
        before = time.monotonic()
        ended, pid = "", 0
        while not pid:
            pid, status, usage = os.wait4(child, os.WNOHANG)
            if not pid:
                if time.monotonic() - before > PATIENCE:
                    os.kill(child, signal.SIGKILL)
                    ended = f"{PATIENCE} s"
                    _pid, status, usage = os.wait4(child, 0)
                    break
                time.sleep(0.002)
        texts = []
        for stream in (out, err):
            stream.seek(0)
            texts.append(stream.read().decode(errors="backslashreplace"))
        code = os.waitstatus_to_exitcode(status)
        if code in (-signal.SIGXCPU, -signal.SIGKILL) and not ended:
            ended = f"{seconds} {PROCESSOR_TIME}"
        if code == -signal.SIGXFSZ:
            ended = f"{size} bytes of output"
        base = int(Path("/proc/self/statm").read_text("ascii").split()[1]) * resource.getpagesize()
        grown = max(0, usage.ru_maxrss * 1024 - base)
        return Outcome(code, *texts, usage.ru_utime + usage.ru_stime, grown, ended)


@functools.cache
def _get_ready() -> None:
    """Ask some questions here, so that the processes need not each import and prepare anew what answers them."""
    with tempfile.TemporaryDirectory() as folder:
        case = Case(Path(folder), gpu(variable("a"), rules="def_cfa 64 0"))
        file, snapshot = str(case.file), ("--state", str(case.state))
        for words in (("info",), ("kernels",), ("cfi",), ("dump", "--section", "all"), ("verify",)):
            run_here(words[0], file, *words[1:])
        for words in (("bt", "--registers"), ("eval", "a", "--json"), ("eval", "a", "--trace"), ("locals",)):
            run_here(words[0], file, *words[1:], *snapshot)
        questions = (
            "print a", "whatis a", "ptype/o a", "explain a", "x a", "info locals", "info scope k", "info frame",
        )  # fmt: skip
        run_here("debug", file, "-nx", *(word for line in questions for word in ("-ex", line)), *snapshot)


def _child(
    words: list[str],
    streams: tuple[Any, Any, Any],
    limits: tuple[int, int, int],
    run: Callable[[list[str]], int] | None,
) -> None:
    status = 70
    seconds, memory, size = limits
    sys.settrace(None)  # what counts the lines of the tests would take most of the time
    try:
        for number, stream in enumerate(streams):
            os.dup2(stream.fileno(), number)
        sys.stdin = os.fdopen(0, "r", encoding="utf-8", closefd=False)
        sys.stdout = os.fdopen(1, "w", encoding="utf-8", closefd=False)
        sys.stderr = os.fdopen(2, "w", encoding="utf-8", closefd=False)
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        used = int(Path("/proc/self/statm").read_text("ascii").split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + memory, resource.RLIM_INFINITY))
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        os.environ["COLUMNS"] = "80"
        if run is None:
            from dwarfgpu.cli import main as run
        try:
            status = int(run(words) or 0)
        except SystemExit as stop:
            status = stop.code if isinstance(stop.code, int) else 1
        except BaseException:  # noqa: BLE001 (what can happen is the question)
            import traceback

            traceback.print_exc()
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError, ValueError):
                stream.flush()
    finally:
        os._exit(status)
