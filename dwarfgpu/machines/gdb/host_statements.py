"""A script that GDB runs: it records the variables of a program of the host at its statements, as JSON.

GDB is started with it by `dwarfgpu.audits.judge.host_builds`, which has written what is to be done into the
file that DWARFGPU_STATEMENTS names. It imports nothing but GDB and the standard library.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import gdb

MAX_LEAVES, MAX_BYTES, MAX_NESTING, MAX_CALLS = 64, 64, 12, 512
_NUMBERS = (gdb.TYPE_CODE_INT, gdb.TYPE_CODE_CHAR, gdb.TYPE_CODE_BOOL, gdb.TYPE_CODE_ENUM)
_POINTERS = (gdb.TYPE_CODE_PTR, gdb.TYPE_CODE_REF, gdb.TYPE_CODE_RVALUE_REF)


class Recorder:
    """What is recorded of a process."""

    def __init__(self, task: dict[str, Any]) -> None:
        self.task = task
        self.wanted = set(task["items"])
        self.last = max(self.wanted, default=-1)
        self.calls = 0
        """How often the kernel has been called."""
        self.count = 0
        self.visits: dict[tuple[int, int], int] = {}
        self.is_cut = False
        self.bias = 0
        self.stream = Path(task["output"]).open("w", encoding="utf-8")  # noqa: SIM115 (as long as GDB runs)

    def write(self, record: dict[str, Any]) -> None:
        """Write a record as a line."""
        self.stream.write(json.dumps(record) + "\n")

    def enter(self) -> bool:
        """Count a call of the kernel; return whether all work-items that are wanted have been recorded."""
        self.calls += 1
        return self.calls - 1 > self.last or self.is_cut

    def stop(self, address: int) -> None:
        """Record a statement."""
        item = self.calls - 1
        if item not in self.wanted or self.is_cut:
            return
        if self.count >= self.task["most_stops"]:
            self.is_cut = True
            return
        self.count += 1
        frame = gdb.newest_frame()
        chain: list[int] = []
        outer = frame
        while not self._is_kernel(outer.pc() - self.bias) and len(chain) < MAX_CALLS:
            is_inlined = outer.type() == gdb.INLINE_FRAME
            caller = outer.older()
            while not is_inlined and caller is not None and caller.type() == gdb.INLINE_FRAME:
                caller = caller.older()
            if caller is None:
                return  # it is not in the kernel
            if not is_inlined:
                chain.append(caller.pc() - self.bias)
            outer = caller
        visit = self.visits[item, address] = self.visits.get((item, address), 0) + 1
        values = variables(frame) if visit <= self.task["most_visits"] else None
        self.write({"item": item, "pc": address, "chain": chain, "visit": visit, "values": values})

    def _is_kernel(self, address: int) -> bool:
        return any(low <= address < high for low, high in self.task["kernel"])


class KernelBreakpoint(gdb.Breakpoint):  # type: ignore[misc]
    """Counts the calls of the kernel."""

    recorder: Recorder

    def stop(self) -> bool:
        return self.recorder.enter()


class StatementBreakpoint(gdb.Breakpoint):  # type: ignore[misc]
    """Records the variables at a statement."""

    recorder: Recorder
    place: int

    def stop(self) -> bool:
        self.recorder.stop(self.place)
        return False


def variables(frame: Any) -> list[dict[str, Any]]:
    """Return the variables that are visible in the innermost function of a frame."""
    found: list[dict[str, Any]] = []
    names: set[str] = set()
    try:
        block = frame.block()
    except RuntimeError:
        return found
    while block is not None:
        for symbol in block:
            if not (symbol.is_variable or symbol.is_argument) or symbol.name in names:
                continue
            names.add(symbol.name)
            if symbol.addr_class == gdb.SYMBOL_LOC_STATIC or symbol.name == "this":
                continue
            leaves: list[Any] = []
            reason = ""
            try:
                walk(symbol.value(frame), "", 0, leaves)
            except gdb.error as error:
                leaves, reason = [], str(error)
            found.append(
                {
                    "name": symbol.name,
                    "line": symbol.line,
                    "is_parameter": bool(symbol.is_argument),
                    "leaves": leaves[:MAX_LEAVES],
                    "reason": reason,
                }
            )
        if block.function is not None:
            break
        block = block.superblock
    return found


def walk(value: Any, path: str, depth: int, leaves: list[Any]) -> None:
    """Append the leaves of a value: path, kind, bits, whether it is signed, and the bits of the number."""
    if depth > MAX_NESTING or len(leaves) >= MAX_LEAVES:
        return
    kind = value.type.strip_typedefs()
    bits = kind.sizeof * 8
    if kind.code in _POINTERS:
        is_reference = kind.code != gdb.TYPE_CODE_PTR
        address = value.referenced_value().address if is_reference else value
        leaves.append([path, "pointer", bits, False, pattern(address, bits)])
    elif kind.code in _NUMBERS:
        leaves.append([path, "integer", bits, is_signed(kind), pattern(value, bits)])
    elif kind.code == gdb.TYPE_CODE_FLT:
        leaves.append([path, "float", bits, True, memory(value, kind.sizeof)])
    elif kind.code == gdb.TYPE_CODE_STRUCT:
        for field in kind.fields():
            if not hasattr(field, "bitpos"):
                continue  # a static member
            name = path if field.is_base_class or not field.name else f"{path}.{field.name}"
            part = value[field]
            if field.bitsize:
                number = None if part.is_optimized_out else int(part) & ((1 << field.bitsize) - 1)
                leaves.append([name, "integer", field.bitsize, is_signed(part.type.strip_typedefs()), number])
            else:
                walk(part, name, depth + 1, leaves)
    elif kind.code == gdb.TYPE_CODE_ARRAY:
        low, high = kind.range()
        for index in range(low, min(high, low + MAX_LEAVES - 1) + 1):
            walk(value[index], f"{path}[{index - low}]", depth + 1, leaves)
    elif kind.code == gdb.TYPE_CODE_UNION and 0 < kind.sizeof <= MAX_BYTES and not has_pointers(kind, depth):
        for first in range(0, kind.sizeof, 8):
            size = min(8, kind.sizeof - first)
            leaves.append([f"{path}<{first}>", "bytes", 8 * size, False, memory(value, size, first)])


def is_signed(kind: Any) -> bool:
    """Return whether the numbers of a type have a sign."""
    if kind.code == gdb.TYPE_CODE_ENUM:
        return any(field.enumval < 0 for field in kind.fields())
    try:
        return bool(kind.is_signed)
    except (AttributeError, ValueError):
        return False


def has_pointers(kind: Any, depth: int) -> bool:
    """Return whether there is a pointer in a union."""
    kind = kind.strip_typedefs()
    if kind.code in _POINTERS:
        return True
    if depth > MAX_NESTING or kind.code not in (gdb.TYPE_CODE_STRUCT, gdb.TYPE_CODE_UNION):
        return False
    return any(has_pointers(field.type, depth + 1) for field in kind.fields())


def pattern(value: Any, bits: int) -> int | None:
    """Return the bits of a number; None where it has no value."""
    return None if value is None or value.is_optimized_out else int(value) & ((1 << bits) - 1)


def memory(value: Any, size: int, first: int = 0) -> int | None:
    """Return bytes of a value as they are stored; None where it has none, or is not in memory."""
    if value.is_optimized_out or value.address is None:
        return None
    data = gdb.selected_inferior().read_memory(int(value.address) + first, size)
    return int.from_bytes(bytes(data), "little")


def mappings() -> list[str]:
    """Return the lines in which Linux says what is mapped in the process."""
    process = gdb.selected_inferior().pid
    return Path(f"/proc/{process}/maps").read_text(encoding="utf-8", errors="replace").splitlines()


def mapped(path: str) -> int | None:
    """Return where a file is mapped in the process; None before it is."""
    for line in mappings():
        parts = line.split(None, 5)
        if len(parts) == 6 and parts[5] == path:
            return int(parts[0].partition("-")[0], 16) - int(parts[2], 16)
    return None


def main() -> None:
    """Run the program, and record it."""
    task = json.loads(Path(os.environ["DWARFGPU_STATEMENTS"]).read_text(encoding="utf-8"))
    for words in ("confirm off", "pagination off", "auto-solib-add off", "print thread-events off"):
        gdb.execute(f"set {words}")
    recorder = Recorder(task)
    gdb.execute("starti", to_string=True)
    place = mapped(task["object"])
    while place is None and gdb.selected_inferior().pid:  # the process traps when it has loaded the object
        gdb.execute("continue", to_string=True)
        place = mapped(task["object"]) if gdb.selected_inferior().pid else None
    if place is None:
        recorder.write({"problem": "it was not loaded"})
        return
    recorder.bias = place if task["is_relocatable"] else 0
    if task["is_library"]:
        gdb.execute(f"sharedlibrary {task['pattern']}", to_string=True)
    places = [line.partition(" ")[0].split("-") for line in mappings() if line.endswith("[stack]")]
    recorder.write({"bias": recorder.bias, "stack": [[int(low, 16), int(high, 16)] for low, high in places]})
    entry = KernelBreakpoint(f"*{recorder.bias + task['entry']:#x}", internal=True)
    entry.recorder = recorder
    for address in task["statements"]:
        point = StatementBreakpoint(f"*{recorder.bias + address:#x}", internal=True)
        point.recorder, point.place = recorder, address
    problem = None
    try:
        said = gdb.execute("continue", to_string=True)
        if gdb.selected_inferior().pid and recorder.calls - 1 <= recorder.last and not recorder.is_cut:
            lines = [line for line in said.splitlines() if "received signal" in line]
            problem = lines[0] if lines else "it stopped before its last work-item"
        gdb.execute("kill", to_string=True)
    except gdb.error as error:
        problem = None if "not being run" in str(error) else str(error)
    if problem is None and recorder.calls <= recorder.last and not recorder.is_cut:
        problem = f"it has called the kernel {recorder.calls} times, not {recorder.last + 1}"
    recorder.write({"end": True, "calls": recorder.calls, "is_cut": recorder.is_cut, "problem": problem})
    recorder.stream.close()


main()
