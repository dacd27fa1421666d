"""A build for x86-64 that runs one work-item after another in stock GDB, which says what its variables are.

An executable is started as it is. For a shared object a process of Python calls the kernel, with buffers of the same
contents, for each work-item: the object is told which one in its variables ``dwarfgpu_local_id`` and
``dwarfgpu_group_id``. In both, the calls of the kernel are the work-items in their order: x first, group after group.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dwarfgpu.audits.judge import statement_recorder
from dwarfgpu.audits.judge.recorded_values import (
    BUFFER,
    PRIVATE_MEMORY,
    Leaf,
    NoValue,
    PointedRange,
    PointerNames,
    RecordedValue,
)
from dwarfgpu.audits.judge.statement_record import (
    CallContexts,
    DeclarationKey,
    StatementHistory,
    StatementRows,
    StatementStop,
)
from dwarfgpu.children import PrivateFolder
from dwarfgpu.errors import NotFound, UsageError
from dwarfgpu.objfile.elf.header import EM_X86_64, ET_EXEC, PT_INTERP
from dwarfgpu.program.code.kernel_parameters import BODY
from dwarfgpu.program.frames.variable import PARAMETER
from dwarfgpu.program.types import model as t
from dwarfgpu.program.types.model import known_size, resolved
from dwarfgpu.program.values.scalars import scalar_of

if TYPE_CHECKING:
    from dwarfgpu.audits.judge.buffer_accesses import WorkItem
    from dwarfgpu.audits.judge.recorded_values import Recorded
    from dwarfgpu.execution.control.running import Running
    from dwarfgpu.states.program import Program

LONGEST_RUN = 3600
"""The seconds after which the program is given up."""
MAX_FIELDS = 64
ITEM, GROUP, SIZE = "dwarfgpu_local_id", "dwarfgpu_group_id", "dwarfgpu_local_size"
"""The variables of a shared object, each of three unsigned integers; the size is left out where there is none."""


class HostBuild:
    """An executable, or a shared object, of the source that is judged."""

    def __init__(self, program: Program, judged: Running) -> None:
        self.program = program
        self.judged = judged
        self.name = program.file.name.rpartition("/")[2]
        self.problem: str | None = None
        self.results: dict[str, bytes] = {}
        gdb = shutil.which("gdb")
        if gdb is None:
            raise NotFound("no_gdb", f"{self.name} is a program of the host, and there is no gdb to run it",
                           hint="install GDB, or name a code object of the GPU")  # fmt: skip
        self._gdb = gdb
        image = program.file.image
        if image.machine != EM_X86_64:
            raise UsageError(
                f"{self.name} is for {program.target.name}", hint="name a code object, or an x86-64 program"
            )
        if image.path is None:
            raise UsageError(f"{self.name} is not a file that can be run")
        self._path = os.path.realpath(image.path)
        self.kernel = judged.launched.plan.kernel.name
        entry = self._symbol(self.kernel)
        if entry is None:
            raise UsageError(
                f"{self.name} has no function {self.kernel}", hint="compile the same source, with the same names"
            )
        self._entry = entry
        self._is_library = not self._has_interpreter()
        self._buffers = [bytes(judged.launched.buffers[each.name]) for each in judged.launched.plan.buffers]
        """What they have before the kernel runs."""
        self._arguments = [*self._read_arguments()] if self._is_library else []

    def _symbol(self, name: str) -> tuple[int, int] | None:
        symbol = self.program.file.symbol_image.symbol_named(name)
        return None if symbol is None or not symbol.value else (symbol.value, symbol.value + max(1, symbol.size))

    def _has_interpreter(self) -> bool:
        """Return whether it can be started: it has a program interpreter, or is linked for fixed addresses."""
        image = self.program.file.image
        return image.type == ET_EXEC or any(segment.type == PT_INTERP for segment in image.segments)

    # --- Arguments ------------------------------------------------------------------------------------------------

    def _read_arguments(self) -> Iterator[dict[str, Any]]:
        """Yield the arguments of the kernel, as the process gets them that calls it."""
        plan = self.judged.launched.plan
        if any(buffer.position is None for buffer in plan.buffers):
            hint = "compare with another build for the GPU (--against FILE.co)"
            raise UsageError("a structure with pointers to buffers cannot be given to a host build", hint=hint)
        frame = self.program.at(self._entry[0])[-1]
        parameters = [variable for variable in frame.variables() if variable.kind == PARAMETER]
        buffers = {buffer.position: data for buffer, data in zip(plan.buffers, self._buffers, strict=True)}
        for position, parameter in enumerate(parameters):
            if position >= len(plan.arguments):
                raise UsageError(f"{self.kernel} of {self.name} takes more arguments than {len(plan.arguments)}")
            data = buffers.get(position, plan.arguments[position].value)
            is_pointer = isinstance(resolved(parameter.type), t.Pointer)
            yield {
                "bytes": data.hex(),
                "is_buffer": position in buffers,
                "is_local": is_pointer and len(data) == 4,
                "kind": self._kind(parameter.type, parameter.name, 0),
            }

    def _kind(self, type: t.Type, name: str, depth: int) -> list[Any]:
        """Return how a value is passed: an integer, a floating-point number, a pointer, an array, or parts."""
        inner = resolved(type)
        scalar = scalar_of(type)
        if scalar is not None and scalar.kind == "pointer":
            return ["p"]
        if scalar is not None and scalar.kind == "float" and scalar.bits in (32, 64):
            return ["f", scalar.bits // 8]
        if scalar is not None and scalar.kind not in ("float", "bytes") and scalar.bits in (8, 16, 32, 64):
            return ["i", scalar.bits // 8, int(scalar.is_signed)]
        if isinstance(inner, t.Struct) and inner.kind != "union" and not inner.body.bases and depth < MAX_FIELDS:
            members = inner.body.members
            if len(members) <= MAX_FIELDS and all(member.bit_size is None for member in members):
                return ["s", [self._kind(member.type, name, depth + 1) for member in members]]
        if isinstance(inner, t.Array) and len(inner.dimensions) == 1 and depth:
            length, size = inner.dimensions[0].length, known_size(inner.element)
            if length and size:
                return ["a", length, self._kind(inner.element, name, depth + 1)]
        message = f"{name} of {self.kernel} cannot be passed to a shared object"
        raise UsageError(message, hint="link an executable that calls the kernel for each work-item")

    # --- Running --------------------------------------------------------------------------------------------------

    def _items(self) -> list[WorkItem]:
        """Return the work-items in the order in which they are called."""
        shape = self.judged.launched.geometry
        items: list[WorkItem] = []
        for group in _triples(shape.groups):
            items += [(group, item) for item in _triples(shape.size_of(group))]
        return items

    def record(self, judged: StatementHistory, limit: int | None) -> StatementHistory:
        """Run it, and return what the work-items of a history do in it."""
        from dwarfgpu.machines import gdb as scripts

        items = self._items()
        state = self.program.state
        with PrivateFolder() as folder:
            output, task_path = (folder.path / name for name in ("stops.jsonl", "task.json"))
            task = self._task(judged, items, StatementRows(state.loaded))
            task_path.write_text(json.dumps({**task, "output": str(output)}), encoding="utf-8")
            driver = str(Path(__file__).with_name("host_driver.py"))
            command = [sys.executable, "-S", driver, str(task_path)] if self._is_library else [self._path]
            script = Path(str(scripts.__file__)).with_name("host_statements.py")
            words = [self._gdb, "-nx", "-batch", "-iex", "set auto-load no", "-x", str(script), "--args", *command]
            variables = {"DWARFGPU_STATEMENTS": str(task_path), "DEBUGINFOD_URLS": "", "PYTHONHOME": None}
            try:
                done = folder.run(words, limit=LONGEST_RUN, variables=variables)
            except TimeoutError:
                self.problem = f"{self.name} has not ended after {LONGEST_RUN} seconds"
                return StatementHistory(PointerNames([]))
            text = output.read_text(encoding="utf-8") if output.exists() else ""
            records = [json.loads(line) for line in text.splitlines()]
        if not records or "bias" not in records[0]:
            written = done.stderr.decode(errors="replace").strip().splitlines()
            last = (written or [f"GDB ended with status {done.returncode}"])[-1]
            self.problem = f"{self.name}: {records[0]['problem']}: {last}" if records else f"{self.name}: {last}"
            return StatementHistory(PointerNames([]))
        end = records[-1] if records[-1].get("end") else {}
        problem = end.get("problem") if end else "GDB has not ended as it should"
        self.problem = f"{self.name}: {problem}" if problem else None
        stops = records[1:-1] if end else records[1:]
        return self._history(records[0], stops, items, is_cut=bool(end.get("is_cut")))

    def _task(self, judged: StatementHistory, items: list[WorkItem], rows: StatementRows) -> dict[str, Any]:
        plan = self.judged.launched.plan
        body = self._symbol(BODY + self.kernel)
        return {
            "object": self._path,
            "pattern": re.escape(self._path),
            "is_library": self._is_library,
            "is_relocatable": self.program.file.image.type != ET_EXEC,
            "entry": self._entry[0],
            "kernel": [each for each in (self._entry, body) if each is not None],
            "statements": sorted(rows.addresses()),
            "items": [number for number, item in enumerate(items) if item in judged.by_item],
            "most_stops": statement_recorder.MAX_STOPS * statement_recorder.FOLLOWED_WAVES,
            "most_visits": 2 * statement_recorder.MAX_VISITS,
            "kernel_name": self.kernel,
            "order": items,
            "size": list(plan.geometry.work_group),
            "names": [ITEM, GROUP, SIZE],
            "arguments": self._arguments,
            "local": plan.start.group_segment_size,
        }

    def _history(
        self, start: dict[str, Any], records: list[dict[str, Any]], items: list[WorkItem], *, is_cut: bool
    ) -> StatementHistory:
        state = self.program.state
        bias = start["bias"]
        ranges = [PointedRange(low, high - low, (PRIVATE_MEMORY,), is_placed=False) for low, high in start["stack"]]
        history = StatementHistory(
            PointerNames([*self._pointed(records), *ranges], lambda address: state.symbol_at(address - bias))
        )
        history.is_cut = is_cut
        rows = StatementRows(state.loaded)
        contexts = CallContexts(state.loaded, state.loaded.calls_at(self._entry[0])[-1].function)
        leaves: dict[tuple[Any, ...], tuple[Leaf, ...]] = {}
        for record in records:
            row = rows.at(record["pc"])
            line = state.sources.at(record["pc"])
            if row is None:
                continue
            history.add(
                StatementStop(
                    record["pc"],
                    "" if line is None else line.file.name,
                    row.line,
                    row.column,
                    contexts.of(record["pc"], tuple(record["chain"])),
                    "host",
                    record["visit"],
                    {items[record["item"]]: 0},
                    (0,),
                    None if record["values"] is None else _values(record["values"], leaves),
                )
            )
        return history

    def _pointed(self, records: list[dict[str, Any]]) -> Iterator[PointedRange]:
        """Yield where the buffers are: what the parameters of the kernel are where its first statement begins."""
        first = next((record for record in records if not record["chain"] and record["values"]), None)
        if first is None:
            return
        addresses = {value["name"]: value["leaves"][0][4] for value in first["values"] if len(value["leaves"]) == 1}
        for buffer in self.judged.launched.plan.buffers:
            address = addresses.get(buffer.name)
            if address:
                yield PointedRange(address, buffer.size, (BUFFER, buffer.name), name=buffer.name)


def _values(
    records: list[dict[str, Any]], known: dict[tuple[Any, ...], tuple[Leaf, ...]]
) -> dict[DeclarationKey, list[Recorded]]:
    values: dict[DeclarationKey, list[Recorded]] = {}
    for record in records:
        key = DeclarationKey(record["name"], record["line"], record["is_parameter"])
        shape = tuple((path, kind, bits, is_signed) for path, kind, bits, is_signed, _pattern in record["leaves"])
        if shape not in known:
            known[shape] = tuple(Leaf(*each) for each in shape)
        patterns = tuple(leaf[4] for leaf in record["leaves"])
        is_there = any(pattern is not None for pattern in patterns)
        reason = record["reason"] or "GDB has no value"
        values[key] = [RecordedValue(known[shape], patterns) if is_there else NoValue(reason)]
    return values


def _triples(sizes: Any) -> list[tuple[int, int, int]]:
    """Return the positions in a box, x first."""
    return [(x, y, z) for z in range(sizes[2]) for y in range(sizes[1]) for x in range(sizes[0])]
