"""Evaluate the DWARF that GPU compilers emit, without a GPU.

Open a file of code, attach a state to it, choose a frame, and ask for the values of a variable in all lanes::

    import dwarfgpu
    with dwarfgpu.open("lane-pc.co") as program:
        stopped = program.attach("variables.json")
        print(stopped[0].frame(0)["even"].values())

``open`` returns a `Program`, ``attach`` an `Attached`, which is a sequence of `Wave`; a wave has `Frame`, a frame has
`Variable`, and a variable has `Values`. ``open_core`` opens a GPU core file with the code that it names, and ``launch``
starts a kernel, and returns a `Running`, which has waves, too. docs/python.md has examples of all.

The public names are those of ``__all__``: first what opens, then the classes of what is there, then single expressions
and machines, and errors last. Each is imported when it is first used, so that ``import dwarfgpu`` and short commands
start at once.
"""

from __future__ import annotations

import sys
from typing import Any

TYPE_CHECKING = False  # importing `typing` would double the time of `dwarfgpu --version`
if TYPE_CHECKING:
    from dwarfgpu.dialects import get as dialect
    from dwarfgpu.encoding import Format
    from dwarfgpu.errors import (
        DwarfGpuError,
        EvaluationError,
        IllFormed,
        MalformedFile,
        MissingContext,
        Unsupported,
        UsageError,
    )
    from dwarfgpu.execution.control.debugging import Debugging
    from dwarfgpu.execution.control.running import Running, launch
    from dwarfgpu.execution.gpu import Gpu as Machine
    from dwarfgpu.expr.access import Accessor
    from dwarfgpu.expr.asm import assemble, parse
    from dwarfgpu.expr.context import Context, Limits
    from dwarfgpu.expr.evaluation import evaluate
    from dwarfgpu.expr.instruction import decode
    from dwarfgpu.expr.listing import lines, text
    from dwarfgpu.expr.locations import Location
    from dwarfgpu.expr.rules import AMD, DWARF5, DWARF6, Rules
    from dwarfgpu.expr.types import Value
    from dwarfgpu.expr.verify import verify
    from dwarfgpu.lanes import LaneResults, LaneSet
    from dwarfgpu.machines.described import DescribedMachine
    from dwarfgpu.machines.protocol import Backend
    from dwarfgpu.machines.snapshot import save as save_snapshot
    from dwarfgpu.program.frames.all_waves import all_waves
    from dwarfgpu.program.frames.answers import Quantity, Values
    from dwarfgpu.program.frames.frame import Frame
    from dwarfgpu.program.frames.reasons import Reason, Unavailable
    from dwarfgpu.program.frames.variable import Variable
    from dwarfgpu.program.frames.wave import Wave
    from dwarfgpu.render.faults import fault_of as fault
    from dwarfgpu.runtimes.device import ProgramDevice as Device
    from dwarfgpu.states.program import Attached, Program, open_core
    from dwarfgpu.states.program import open_program as open  # noqa: A004 (`dwarfgpu.open`)
    from dwarfgpu.states.snapshot_files import load as load_snapshot
    from dwarfgpu.targets.resolve import resolve as target

__version__ = "0.1.0"

_HOMES = {
    "machines.described": ("DescribedMachine",),
    "machines.protocol": ("Backend",),
    "encoding": ("Format",),
    "errors": (
        *("DwarfGpuError", "EvaluationError", "IllFormed", "MalformedFile", "MissingContext", "Unsupported"),
        "UsageError",
    ),
    "expr.access": ("Accessor",),
    "expr.asm": ("assemble", "parse"),
    "expr.context": ("Context", "Limits"),
    "expr.instruction": ("decode",),
    "expr.listing": ("lines", "text"),
    "expr.locations": ("Location",),
    "expr.evaluation": ("evaluate",),
    "expr.rules": ("AMD", "DWARF5", "DWARF6", "Rules"),
    "expr.types": ("Value",),
    "expr.verify": ("verify",),
    "lanes": ("LaneResults", "LaneSet"),
    "states.program": ("Attached", "Program", "open_core"),
    "program.frames.all_waves": ("all_waves",),
    "program.frames.answers": ("Quantity", "Values"),
    "program.frames.frame": ("Frame",),
    "program.frames.reasons": ("Reason", "Unavailable"),
    "program.frames.variable": ("Variable",),
    "program.frames.wave": ("Wave",),
    "execution.control.debugging": ("Debugging",),
    "execution.control.running": ("Running", "launch"),
}
_RENAMED = {
    "Device": ("runtimes.device", "ProgramDevice"),
    "Machine": ("execution.gpu", "Gpu"),
    "dialect": ("dialects", "get"),
    "fault": ("render.faults", "fault_of"),
    "html": ("render.notebook", "html"),
    "load_snapshot": ("states.snapshot_files", "load"),
    "open": ("states.program", "open_program"),
    "save_snapshot": ("machines.snapshot", "save"),
    "target": ("targets.resolve", "resolve"),
}
_WHERE = {name: (module, name) for module, names in _HOMES.items() for name in names} | _RENAMED

__all__ = [  # noqa: RUF022 (in the order of use)
    "open", "open_core", "load_snapshot", "save_snapshot", "launch", "Running", "Debugging", "Device", "all_waves",
    "fault", "html", "Program", "Attached", "Wave", "Frame", "Variable", "Quantity", "Values", "Reason",
    "Machine", "Backend", "DescribedMachine", "target",
    "evaluate", "assemble", "decode", "parse", "lines", "text", "verify", "dialect", "Format",
    "Context", "Limits", "Rules", "AMD", "DWARF5", "DWARF6", "LaneSet", "LaneResults", "Location", "Value", "Accessor",
    "DwarfGpuError", "EvaluationError", "IllFormed", "MalformedFile", "MissingContext", "Unavailable", "Unsupported",
    "UsageError",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        message = f"module 'dwarfgpu' has no attribute {name!r}"
        raise AttributeError(message, name=name, obj=sys.modules[__name__])  # so that Python names what is like it
    from importlib import import_module

    module, attribute = _WHERE[name]
    found = globals()[name] = getattr(import_module(f"dwarfgpu.{module}"), attribute)
    return found


def __dir__() -> list[str]:
    return sorted([*__all__, *(name for name in globals() if name.startswith("__"))])
