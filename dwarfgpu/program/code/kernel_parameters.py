"""The parameters of kernels as the debugging information has them: names and types that the metadata may lack."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING

from dwarfgpu.dwarf_constants import DW_AT_artificial, DW_TAG_formal_parameter
from dwarfgpu.errors import noting
from dwarfgpu.immutable import evolve, field, frozen

if TYPE_CHECKING:
    from dwarfgpu.objfile.info.dies import Die
    from dwarfgpu.objfile.kernels.kernel import Kernel
    from dwarfgpu.objfile.kernels.metadata import KernelArgument
    from dwarfgpu.program.code.code_object import CodeObject
    from dwarfgpu.program.types.model import Type

BODY = "__clang_ocl_kern_imp_"
"""What clang puts before the name of an OpenCL kernel to name the function that has its code."""


@frozen
class KernelParameter:
    """A parameter of a kernel in the source."""

    name: str | None
    type: str
    byte_size: int | None
    kind: Type | None = field(default=None, eq=False, repr=False)
    """The type itself."""


def explicit_arguments(kernel: Kernel) -> list[KernelArgument]:
    """Return the arguments that the source has, as far as metadata names them."""
    return [] if kernel.metadata is None else [each for each in kernel.metadata.args if not each.is_hidden]


@frozen
class DescribedKernel:
    """A kernel with what the debugging information adds to its metadata, computed when it is asked for."""

    file: CodeObject
    of_metadata: Kernel

    @property
    def function(self) -> Die | None:
        """The function in the debugging information; None without one."""
        file, kernel = self.file, self.of_metadata
        if not file.has_dwarf or kernel.entry is None:
            return None
        functions = file.dwarf.index.functions_at(kernel.entry)
        if functions:
            return functions[-1]
        named = file.dwarf.index.find(BODY + kernel.name)
        return next((entry.die for entry in named if entry.kind == "function"), None)

    @property
    def parameters(self) -> tuple[KernelParameter, ...] | None:
        """The parameters of the function; None without one."""
        entry, known = self.of_metadata.entry, self.file.parameters
        if not self.file.has_dwarf or entry is None:
            return None
        if entry not in known:
            known[entry] = None
            with noting(self.file.dwarf.note):
                function = self.function
                known[entry] = None if function is None else tuple(_parameters(function))
        return known[entry]

    @property
    def explicit(self) -> list[tuple[KernelArgument, KernelParameter | None]]:
        """The arguments of the program, named as far as possible, each with its parameter if the function has it."""
        arguments = explicit_arguments(self.of_metadata)
        known = zip_longest(arguments, fitting(self.parameters or (), arguments) or ())
        return [(_named(argument, parameter), parameter) for argument, parameter in known]

    @property
    def kernel(self) -> Kernel:
        """The kernel with names and types from the debugging information where its metadata has none."""
        metadata = self.of_metadata.metadata
        if metadata is None or all(each.is_hidden or (each.name and each.type_name) for each in metadata.args):
            return self.of_metadata
        explicit = iter(self.explicit)
        arguments = tuple(argument if argument.is_hidden else next(explicit)[0] for argument in metadata.args)
        return evolve(self.of_metadata, metadata=evolve(metadata, args=arguments))


def is_body(function: str | None) -> bool:
    """Return whether a function, by its linkage name, has the code of an OpenCL kernel, which calls it."""
    return function is not None and function.startswith(BODY)


def source_name(function: str) -> str:
    """Return what the source calls a function: for the code of an OpenCL kernel, the kernel."""
    return function.removeprefix(BODY)


def listed_name(function: str) -> str:
    """Return the name of a function in a list of functions, in which a kernel and its body are two."""
    return f"{source_name(function)} (body)" if is_body(function) else function


def _named(argument: KernelArgument, parameter: KernelParameter | None) -> KernelArgument:
    if parameter is None:
        return argument
    return evolve(argument, name=argument.name or parameter.name, type_name=argument.type_name or parameter.type)


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
            parameters = [
                KernelParameter(child.name, safe_text(type_), known_size(type_), type_)
                for child in found
                for type_ in (types.type_of(child),)
            ]
            # of Triton: variables in memory, of which some are constants of its compiler
            return [] if any(each.type == "struct triton.variable" for each in parameters) else parameters
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
