"""Marks in what Triton compiles: where a variable of the script gets a value.

Triton optimizes tensors, gives them layouts, and only then lowers them to registers. A mark is inline assembly that
may have side effects, so it stays where the variable gets its value, and gets the elements as the layout spreads them.
"""

from __future__ import annotations

import ast
import dataclasses
import hashlib
import itertools
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from triton import knobs
from triton._C.libtriton import gluon_ir
from triton.backends.amd.compiler import HIPBackend
from triton.compiler.code_generator import CodeGenerator
from triton.experimental.gluon.language._core import shared_memory_descriptor
from triton.language import core

from dwarfgpu.immutable import evolve
from dwarfgpu.runtimes.triton import shared, variables
from dwarfgpu.runtimes.triton.shared import BUFFER, shared_variable, with_buffers
from dwarfgpu.runtimes.triton.variables import MARK, Assigned, with_variables

IS_POSSIBLE = hasattr(gluon_ir.GluonOpBuilder, "to_linear_layout")
"""Whether Triton tells where the elements of a tensor are, which it does since 3.6."""
_OPERATION = "tt.elementwise_inline_asm"
_WORD = 32
"""The bits of a register: smaller elements are extended, since inline assembly would get several in one."""
_UNOPTIMIZED = "DISABLE_LLVM_OPT"
_NUMBERS = itertools.count(1)


class _Names:
    """What is known of the variables of a function while it is compiled."""

    def __init__(self) -> None:
        self.parameters: list[tuple[str, Any]] | None = []
        """The parameters; None as soon as the body is compiled, before which nothing can be marked."""
        self.marked: set[str] = set()
        self.loops: list[str] = []
        """The variables of the loops around."""
        self.counters: list[str | None] = []
        """The variables of loops whose next value only holds their place."""


def _names(generator: Any) -> _Names:
    found: _Names | None = generator.__dict__.get("dwarfgpu_names")
    if found is None:
        found = generator.dwarfgpu_names = _Names()
    return found


def _mark(generator: Any, name: str, value: Any, parameter: int = 0) -> None:
    """Mark that a variable gets a value; it has none if that is no tensor, no integer and no buffer."""
    marked, builder = _names(generator).marked, generator.builder
    if isinstance(value, core.constexpr) and isinstance(value.value, int):
        value = generator.semantic.to_tensor(value.value)
    if not isinstance(value, core.tensor):
        is_buffer = shared.IS_POSSIBLE and isinstance(value, shared_memory_descriptor)
        if is_buffer or name in marked:
            zero, text = builder.get_int32(0), _text(generator, name, parameter, value.dtype if is_buffer else "-")
            if is_buffer:
                marked.add(name)
                builder.create_local_dealloc(value.handle)  # which becomes the address: `shared.with_buffers`
            builder.create_inline_asm(text, "=v,v", [zero], [core.int32.to_ir(builder)], False, 1)
        return
    marked.add(name)

    def of(element: Any) -> Any:
        kind = value.type
        return (kind.with_element_ty(element) if kind.is_block() else element).to_ir(builder)

    element, handle = value.type.scalar, value.handle
    if element.is_ptr():
        handle = builder.create_ptr_to_int(handle, of(core.int64))
    else:
        bits = element.primitive_bitwidth
        if element.is_floating():
            handle = builder.create_bitcast(handle, of(core.get_int_dtype(bits, signed=True)))
        if bits < _WORD:
            handle = builder.create_int_cast(handle, of(core.int32), False)
    builder.create_inline_asm(_text(generator, name, parameter, element), "=v,v", [handle], [of(core.int32)], False, 1)


def _text(generator: Any, name: str, parameter: int, element: object) -> str:
    return f"{MARK} {next(_NUMBERS)} {generator.jit_fn.__name__} {name} {parameter} {element}"


def _is_marked(generator: Any, parameters: list[tuple[str, Any]]) -> bool:
    """Return whether a function is marked: not Triton's own, and none that can be what a reduction combines with."""
    if str(generator.gscope.get("__name__")).partition(".")[0] == "triton":
        return False
    return generator.is_kernel or any(
        isinstance(value, core.tensor) and value.type.is_block() for _, value in parameters
    )


def _version() -> str:
    """Return a name that changes with what kernels are made into."""
    sources = (Path(module.__file__ or "").read_bytes() for module in (sys.modules[__name__], shared, variables))
    return hashlib.sha256(b"".join(sources)).hexdigest()[:12]


def marking() -> Callable[[], None]:
    """Let Triton mark variables, and keep them in private memory; return what ends that."""
    set_value, compile_body, compile_loop = (
        CodeGenerator.set_value, CodeGenerator.visit_compound_statement, CodeGenerator.visit_For
    )  # fmt: skip
    lower, optimize = HIPBackend.make_llir, HIPBackend.make_ttgir
    folder, optimizes = knobs.cache.dir, os.environ.get(_UNOPTIMIZED)
    os.environ[_UNOPTIMIZED] = "1"
    knobs.cache.dir = os.path.join(folder, f"dwarfgpu-{_version()}")  # no other code has such variables

    def with_mark(generator: Any, name: str, value: Any) -> None:
        set_value(generator, name, value)
        names = _names(generator)
        if names.counters and names.counters[-1] == name:
            names.counters[-1] = None
        elif names.parameters is not None:
            names.parameters.append((name, value))
        elif generator.dwarfgpu_is_marked:
            _mark(generator, name, value)

    def with_parameters(generator: Any, statements: Any) -> Any:
        names = _names(generator)
        if names.parameters is not None:
            parameters, names.parameters = names.parameters, None
            generator.dwarfgpu_is_marked = _is_marked(generator, parameters)
            for number, (name, value) in enumerate(parameters if generator.dwarfgpu_is_marked else (), 1):
                _mark(generator, name, value, number)
        unrolled = generator.lscope.get(names.loops[-1]) if names.loops else None
        if isinstance(unrolled, core.constexpr) and generator.dwarfgpu_is_marked:
            _mark(generator, names.loops[-1], unrolled)
        return compile_body(generator, statements)

    def without_place(generator: Any, node: Any) -> Any:
        names, name = _names(generator), node.target.id if isinstance(node.target, ast.Name) else ""
        names.counters.append(name)
        names.loops.append(name)
        try:
            return compile_loop(generator, node)
        finally:
            names.counters.pop()
            names.loops.pop()

    def lowered(module: Any, metadata: Any, options: Any) -> str:
        marks = marks_of(module)
        return with_variables(lower(with_buffers(module, marks, metadata, options), metadata, options), marks)

    def unpipelined(module: Any, metadata: Any, options: Any) -> Any:
        """Keep loops as they are: pipelines need copies of what is in them, which marks do not allow."""
        return optimize(module, metadata, dataclasses.replace(options, num_stages=1))

    def end() -> None:
        CodeGenerator.set_value, CodeGenerator.visit_compound_statement, CodeGenerator.visit_For = (
            set_value, compile_body, compile_loop
        )  # fmt: skip
        HIPBackend.make_llir, HIPBackend.make_ttgir = staticmethod(lower), staticmethod(optimize)
        knobs.cache.dir = folder
        if optimizes is None:
            del os.environ[_UNOPTIMIZED]
        else:
            os.environ[_UNOPTIMIZED] = optimizes

    CodeGenerator.set_value, CodeGenerator.visit_compound_statement = with_mark, with_parameters
    CodeGenerator.visit_For, HIPBackend.make_llir = without_place, staticmethod(lowered)
    HIPBackend.make_ttgir = staticmethod(unpipelined)
    return end


def marks_of(module: Any) -> dict[int, Assigned]:
    """Return the marks of a module whose tensors have layouts, by their numbers."""
    builder = gluon_ir.GluonOpBuilder(module.context)
    found: dict[int, Assigned] = {}
    others: set[str] = set()
    buffer: Any = None

    def visit(operation: Any) -> None:
        nonlocal buffer
        kind = operation.get_name()
        before, buffer = buffer, operation.get_operand(0) if kind == BUFFER else None
        if kind != _OPERATION:
            others.add(kind)
            return
        text = operation.get_str_attr("asm_string")
        if not text.startswith(MARK):
            return
        number, function, name, parameter, element = text[len(MARK) :].split(None, 4)
        if before is None:
            mark = _assigned(builder, name, element, operation.get_operand(0))
        else:
            mark = shared_variable(builder, name, element, before)
        mark = evolve(mark, function=function, parameter=int(parameter))
        known = found.setdefault(int(number), mark)
        if known != mark:  # the compiler has copied it, with another layout
            found[int(number)] = Assigned(name, element, held=None)

    module.walk(visit)
    # a layout spreads a tensor over some of the waves, and does not tell which; functions that are called have buffers
    unknown = {True, False} if "ttg.warp_specialize" in others else {True} if "tt.call" in others else set()
    return {
        number: Assigned(mark.name, mark.element, held=None) if bool(mark.span) in unknown else mark
        for number, mark in found.items()
    }


def _assigned(builder: Any, name: str, element: str, value: Any) -> Assigned:
    kind = str(value.get_type())
    if element == "-":
        return Assigned(name, element, held=None)
    if not kind.startswith("tensor<"):
        return Assigned(name, element)
    shape = [int(extent) for extent in kind[len("tensor<") :].split("x") if extent.isdecimal()]
    _, _, attribute = kind[:-1].partition(", ")
    linear = linear_layout(builder, builder.get_gluon_layout_from_tensor(value), shape)
    if linear.block_bases:
        return Assigned(name, element, held=None)
    return Assigned(name, element, (*shape,), attribute, bases_text(linear), held=1 << len(linear.reg_bases))


def linear_layout(builder: Any, layout: Any, shape: list[int]) -> Any:
    """Return a layout of a tensor as the linear map that Triton makes of it."""
    if hasattr(layout, "block_bases"):
        return layout
    return builder.to_linear_layout(layout._to_ir(builder), shape)  # noqa: SLF001 (Gluon calls it so)


def bases_text(linear: Any) -> str:
    """Return a linear map as a text that `tensors.Layout` reads."""
    bases = {"register": linear.reg_bases, "lane": linear.lane_bases, "warp": linear.warp_bases}
    return f"#ttg.linear<{{{', '.join(f'{kind} = {[*map(list, rows)]}' for kind, rows in bases.items())}}}>"
