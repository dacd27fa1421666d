"""What a command that launches a kernel lacks, all at once, with a command that works."""

from __future__ import annotations

import shlex
from collections.abc import Collection
from itertools import zip_longest
from typing import TYPE_CHECKING

from dwarfgpu.errors import DwarfGpuError, UsageError
from dwarfgpu.execution.launch.triton import triton_launch
from dwarfgpu.program.code.kernel_parameters import DescribedKernel, KernelParameter
from dwarfgpu.program.types import model as t
from dwarfgpu.program.types.model import known_size, resolved
from dwarfgpu.program.values.objects import HIP_VECTOR

if TYPE_CHECKING:
    from dwarfgpu.objfile.kernels.metadata import KernelArgument
    from dwarfgpu.program.code.code_object import CodeObject

_ITEMS = 64
"""The work-items of the example, and the elements of its buffers."""
_DEEPEST = 8


def check_complete(
    file: CodeObject, name: str, grid: object, work_group: object, words: Collection[str] | None
) -> None:
    """Raise the error of a launch that lacks sizes, with the arguments that it lacks as well.

    Without ``words`` the arguments are made, and none is missing. Other mistakes are reported where they are read.
    """
    kernel, *others = file.kernels_named([name])
    required = None if kernel.metadata is None else kernel.metadata.reqd_workgroup_size
    lacking, triton = ["--grid"] * (not grid), triton_launch(file)
    lacking += ["--work-group"] * (not work_group and not (required and all(required)) and triton is None)
    if others or not lacking:
        return
    explicit = [*DescribedKernel(file, kernel).explicit]
    if triton is not None:
        del explicit[len(explicit) - min(triton.added, len(explicit)) :]
    given = {word.partition("=")[0] for word in words or ()}
    unnamed = [each for each in explicit if each[0].name not in given]
    missing = [] if words is None else unnamed[max(len(words) - (len(explicit) - len(unnamed)), 0) :]
    known = () if triton is None else triton.arguments[len(explicit) - len(missing) :]
    names = [argument.name or text for (argument, _parameter), text in zip_longest(missing, known[: len(missing)])]
    names = [name or "an argument" for name in names]
    values = [f"{'values' if len(names) > 1 else 'a value'} for {', '.join(names)}"] * bool(names)
    programs = 0 if triton is None else triton.work_items
    example = [f"{flag} {4 * programs or _ITEMS}" for flag in lacking] + [
        shlex.quote(_example(*each)) for each in missing
    ]
    message = f"{kernel.source_name} needs {' and '.join((', '.join(lacking), *values))}"
    counted = f" (4 programs of {programs} work-items)" if programs else ""
    own = f"; Triton's own {triton.added} pointers follow by themselves" if triton is not None and triton.added else ""
    raise UsageError(message, hint=f"add, for example: {' '.join(example)}{counted}{own}")


def _example(argument: KernelArgument, parameter: KernelParameter | None) -> str:
    """Return a value that an argument may have, with its name."""
    name = f"{argument.name}=" if argument.name else ""
    if argument.value_kind == "dynamic_shared_pointer":
        return f"{name}{4 * _ITEMS}"
    if argument.value_kind != "by_value":
        return f"{name}zeros({_ITEMS})"
    kind = None if parameter is None else parameter.kind
    try:
        return f"{name}{_text(kind, 0) if kind is not None else 1}"
    except DwarfGpuError:
        return f"{name}1"


def _text(kind: t.Type, depth: int) -> str:
    """Return a value of a type, as JSON."""
    inner = resolved(kind)
    if depth > _DEEPEST:
        return "0"
    if isinstance(inner, t.Struct):
        members = {member.name: member for member in inner.body.members}
        if None in members and HIP_VECTOR.fullmatch(inner.name or ""):
            return _list("1", int((inner.name or "")[-1:]))
        parts = [f'"{name}": {_text(each.type, depth + 1)}' for name, each in members.items() if name]
        return f"{{{', '.join(parts)}}}"
    if isinstance(inner, t.Array):
        size, element = known_size(inner), known_size(inner.element)
        return _list(_text(inner.element, depth + 1), (size or 0) // (element or 1))
    return "1"


def _list(text: str, count: int) -> str:
    return f"[{', '.join([text] * count)}]"
