"""The parameters of kernels as the debugging information has them: names and types that the metadata may lack."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import evolve, field

from dwarfgpu.dwarf_constants import DW_AT_artificial, DW_TAG_formal_parameter
from dwarfgpu.errors import noting
from dwarfgpu.immutable import frozen

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dwarfgpu.objfile.info.dies import Die
    from dwarfgpu.objfile.kernels.kernel import Kernel
    from dwarfgpu.objfile.kernels.metadata import KernelArgument
    from dwarfgpu.program.code.code_object import CodeObject
    from dwarfgpu.program.types.model import Type

BODIES = ("__clang_ocl_kern_imp_",)
"""What clang puts before the name of a kernel to name the function that has its code, where another kernel calls it."""


@frozen
class KernelParameter:
    """A parameter of a kernel in the source."""

    name: str | None
    type: str
    byte_size: int | None
    kind: Type | None = field(default=None, eq=False, repr=False)
    """The type itself."""


def parameters_of(file: CodeObject, kernel: Kernel) -> tuple[KernelParameter, ...] | None:
    """Return the parameters that the debugging information gives a kernel; None where it has no such function."""
    if not file.has_dwarf or kernel.entry is None:
        return None
    if kernel.entry not in file.parameters:
        file.parameters[kernel.entry] = None
        with noting(file.dwarf.note):
            function = function_of(file, kernel)
            file.parameters[kernel.entry] = None if function is None else tuple(_parameters(function))
    return file.parameters[kernel.entry]


def function_of(file: CodeObject, kernel: Kernel) -> Die | None:
    """Return the function of a kernel in the debugging information; None without one."""
    if not file.has_dwarf or kernel.entry is None:
        return None
    functions = file.dwarf.index.functions_at(kernel.entry)
    if functions:
        return functions[-1]
    for prefix in BODIES:
        for entry in file.dwarf.index.find(prefix + kernel.name):
            if entry.kind == "function":
                return entry.die
    return None


def _parameters(function: Die) -> list[KernelParameter]:
    from dwarfgpu.program.types.declaration import safe_text
    from dwarfgpu.program.types.model import known_size
    from dwarfgpu.program.types.reader import Types

    types = Types()
    origin = function.find("DW_AT_abstract_origin") or function.find("DW_AT_specification")
    entries = [function] if origin is None else [function, origin.reference()]
    for entry in entries:
        found = [
            child
            for child in entry.children()
            if child.tag == DW_TAG_formal_parameter and child.find_number(DW_AT_artificial) is None
        ]
        if found:
            return [
                KernelParameter(child.name, safe_text(type_), known_size(type_), type_)
                for child in found
                for type_ in (types.type_of(child),)
            ]
    return []


def fitting(
    parameters: Sequence[KernelParameter], arguments: Sequence[KernelArgument]
) -> Sequence[KernelParameter] | None:
    """Return the parameters if they are those of some arguments; else None.

    Compilers may add pointers without a name behind those of the source, as Triton does for its scratch memory.
    """
    added = arguments[len(parameters) :]
    is_fitting = len(parameters) == len(arguments) or (
        0 < len(parameters) < len(arguments)
        and all(argument.name is None and argument.value_kind == "global_buffer" for argument in added)
        and all(
            parameter.byte_size in (None, argument.size)
            for parameter, argument in zip(parameters, arguments, strict=False)
        )
    )
    return parameters if is_fitting else None


def with_parameters(file: CodeObject, kernel: Kernel) -> Kernel:
    """Return a kernel with names and types from the debugging information where its metadata has none."""
    metadata = kernel.metadata
    if metadata is None:
        return kernel
    explicit = [argument for argument in metadata.args if not argument.is_hidden]
    if all(argument.name and argument.type_name for argument in explicit):
        return kernel
    parameters = parameters_of(file, kernel)
    found = fitting(parameters or (), explicit)
    if found is None:
        return kernel
    known = dict(zip(map(id, explicit), found, strict=False))
    arguments = tuple(
        argument
        if id(argument) not in known
        else evolve(
            argument,
            name=argument.name or known[id(argument)].name,
            type_name=argument.type_name or known[id(argument)].type,
        )
        for argument in metadata.args
    )
    return evolve(kernel, metadata=evolve(metadata, args=arguments))
