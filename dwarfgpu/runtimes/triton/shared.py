"""Shared memory of Triton's kernels: the buffers of Gluon, which have names, and what else lies there.

The name of a variable is marked with ``ttg.local_dealloc``, which takes a buffer and survives all passes; in its place
stands here what reads the address of the buffer. So the variable has a buffer of a loop, of an argument, of `index`.
Triton lays out shared memory so that buffers that are not used at the same time share it. So a mark stands before
each operation that needs memory of others: from there on, variables with that memory have no value.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import count
from math import prod
from pathlib import Path
from typing import Any

from triton._C.libtriton import gluon_ir, ir
from triton.backends.amd.compiler import HIPBackend, amd
from triton.runtime.cache import get_cache_manager

from dwarfgpu.children import folder_of_run
from dwarfgpu.immutable import frozen
from dwarfgpu.program.values.tensors import SharedLayout
from dwarfgpu.runtimes.triton.variables import END, MARK, Assigned

IS_POSSIBLE = hasattr(ir, "operation") and hasattr(ir.operation, "get_int_attr")
"""Whether Triton tells where a buffer is, which it does since 3.7."""
BUFFER = "ttg.local_dealloc"
_PAIR = re.compile(
    rf"^(?P<indent> *){BUFFER} (?P<value>%\S+) : (?P<type>!ttg\.memdesc<.*>) loc\(.*\)\n"
    rf'(?P<mark> *%\S+ = tt\.elementwise_inline_asm "{MARK} (?P<number>\d+) .*\}}) %\S+ : i32 -> i32 '
    r"(?P<place>loc\(.*\))$",
    re.MULTILINE,
)
_TYPE = re.compile(
    r"!ttg\.memdesc<(?P<shape>(?:\d+x)+)(?:[a-z]+(?P<bits>\d+)\w*|!tt\.ptr<.*?>), "
    r"(?P<layout>#.*), #ttg\.shared_memory.*?(?P<within>, \d[\dx]*)?>$"
)
_ALLOCATED = re.compile(r"\ballocation\.offset = (\d+) : i32")
_PLACE = re.compile(r"loc\(.*\)$")
_NAME = re.compile(r'loc\((?:callsite\()*"(\w+)"\(')
_ALLOCATION = "ttg.local_alloc"
_ELEMENT = re.compile(r"x([a-z]\w+), #")
_NUMBERS = count()
_MOST = 1 << 24
"""Behind the end of all shared memory."""


class _Allocated(Exception):
    """Shared memory is laid out."""


def shared_variable(builder: Any, name: str, element: str, value: Any) -> Assigned:
    """Return what a variable gets that is a buffer, or a part of one; it has no value if its layout is not known."""
    found = _TYPE.match(str(value.get_type()))
    bases = "" if found is None else _bases_text(builder, value, found)
    if found is None or not bases:
        return Assigned(name, element, held=None)
    shape, bits = _extents(found["shape"]), max(8, int(found["bits"] or 64))
    span = SharedLayout.read(bases, shape).length * bits // 8
    return Assigned(name, element, shape, found["layout"], bases, span=span)


def _extents(text: str) -> tuple[int, ...]:
    return tuple(int(extent) for extent in re.findall(r"\d+", text))


def _bases_text(builder: Any, value: Any, kind: re.Match[str]) -> str:
    """Return the layout of a buffer as a text that `SharedLayout` reads; nothing if it is none."""
    try:
        layout = builder.get_gluon_layout_from_memdesc(value)
    except ValueError:  # Gluon has no such layout
        return ""
    within = [*_extents(kind["within"] or kind["shape"])]
    padding = [*map(list, getattr(layout, "interval_padding_pairs", []))]
    if hasattr(layout, "max_phase"):
        inner = within[len(within) - len(layout.order) :]
        if len(inner) != len(layout.order):
            return ""
        layout = builder.to_linear_layout(layout._to_ir(builder), inner)  # noqa: SLF001 (Gluon calls it so)
    if not hasattr(layout, "offset_bases") or getattr(layout, "cga_layout", []) or getattr(layout, "block_bases", []):
        return ""
    offsets = [*map(list, layout.offset_bases)]
    return f"#ttg.shared_linear<{{offset = {offsets}, padding = {padding}, within = {within}}}>"


def with_buffers(module: Any, marks: Mapping[int, Assigned], metadata: Any, options: Any) -> Any:
    """Return a module in which marks get the addresses of buffers, with marks where buffers may end."""
    if not any(mark.span for mark in marks.values()):
        return module
    counts = count()

    def addressed(pair: re.Match[str]) -> str:
        mark = marks[int(pair["number"])]
        if not mark.span:
            return pair[0]
        within = SharedLayout.read(mark.bases, mark.shape).within
        return "\n".join(_address(pair, f"%dwarfgpu{next(counts)}", within))

    return _with_ends(_parsed(_PAIR.sub(addressed, module.str()), module.context), metadata, options)


def _address(pair: re.Match[str], name: str, within: tuple[int, ...]) -> Iterator[str]:
    """Yield what makes a number of the address of a buffer, and of the element that a part of it begins with."""
    place, structure = pair["place"], f"!llvm.struct<(ptr<3>{', i32' * len(within)})>"
    strides = [prod(within[axis + 1 :]) for axis in range(len(within))]
    lines = [
        f"{name}.of = builtin.unrealized_conversion_cast {pair['value']} : {pair['type']} to {structure}",
        f"{name}.at = llvm.extractvalue {name}.of[0] : {structure}",
        f"{name}.first = llvm.ptrtoint {name}.at : !llvm.ptr<3> to i32",
        f"{name}.sum = llvm.zext {name}.first : i32 to i64",
    ]
    total = f"{name}.sum"
    for axis, stride in enumerate(strides):
        each = f"{name}.{axis}"
        lines += [
            f"{each}.index = llvm.extractvalue {name}.of[{axis + 1}] : {structure}",
            f"{each}.wide = llvm.zext {each}.index : i32 to i64",
            f"{each}.stride = llvm.mlir.constant({stride << 32} : i64) : i64",
            f"{each}.part = llvm.mul {each}.wide, {each}.stride : i64",
            f"{each}.sum = llvm.add {total}, {each}.part : i64",
        ]
        total = f"{each}.sum"
    yield from (f"{pair['indent']}{line} {place}" for line in lines)
    yield f"{pair['mark']} {total} : i64 -> i32 {place}"


def _with_ends(module: Any, metadata: Any, options: Any) -> Any:
    """Return a module with marks where shared memory may be that of another buffer from there on."""
    allocate(module, metadata, options)
    buffers, lines = buffers_of(module), module.str().splitlines()
    places = (number for number, line in enumerate(lines) if _ALLOCATED.search(line))
    marks: dict[int, str] = {}
    for number, buffer in zip(places, buffers, strict=True):
        if any(each.variable is not None for each in buffers if each.shares_with(buffer)):
            first = _first_line(lines, number)
            marks[first] = _end_mark(first, lines[number], buffer)
    return _parsed("\n".join(marks.get(number, "") + line for number, line in enumerate(lines)), module.context)


def _first_line(lines: list[str], last: int) -> int:
    """Return the first line of an operation, which is an earlier one if the operation has a region."""
    if not lines[last].lstrip().startswith("}"):
        return last
    indent = lines[last].partition("}")[0]
    return next(at for at in range(last - 1, -1, -1) if re.match(rf"{indent}[%\"].*\(\{{$", lines[at]))


def _end_mark(number: int, line: str, buffer: KeptBuffer) -> str:
    found, zero = _PLACE.search(line), f"%dwarfgpu.zero{number}"
    place = "" if found is None else found[0]
    text, facts = f"{END} {buffer.start} {buffer.end}", 'constraints = "=v,v", packed_element = 1 : i32, pure = false'
    return (
        f"{zero} = arith.constant 0 : i32 {place}\n"
        f'{zero}.end = tt.elementwise_inline_asm "{text}" {{{facts}}} {zero} : i32 -> i32 {place}\n'
    )


@frozen
class KeptBuffer:
    """Memory of an operation in the shared memory of a kernel."""

    start: int
    end: int
    variable: Assigned | None = None
    """What a variable gets that is this buffer; None for memory without a name, of which only the begin is known."""

    def shares_with(self, other: KeptBuffer) -> bool:
        return self is not other and self.start < other.end and other.start < self.end


def allocate(module: Any, metadata: Any, options: Any) -> None:
    """Let Triton lay out shared memory, by all passes up to the one that does it."""
    passes = amd.passes.ttgpuir
    add = passes.add_allocate_shared_memory

    def stop(manager: Any, *given: Any) -> None:
        add(manager, *given)
        manager.run(module, "allocate_shared_memory")
        raise _Allocated

    passes.add_allocate_shared_memory = stop
    try:
        HIPBackend.make_llir(module, dict(metadata), options)
    except _Allocated:
        pass
    finally:
        passes.add_allocate_shared_memory = add


def buffers_of(module: Any) -> list[KeptBuffer]:
    """Return what has shared memory in a module for which it is laid out, in the order of the code."""
    builder, found = gluon_ir.GluonOpBuilder(module.context), list[KeptBuffer]()

    def visit(operation: Any) -> None:
        start = operation.get_int_attr("allocation.offset")
        if start is None:
            return
        if operation.get_name() != _ALLOCATION:
            found.append(KeptBuffer(start, _MOST))
            return
        value = operation.get_result(0)
        name, kind = _NAME.match(str(value.get_loc())), _ELEMENT.search(str(value.get_type()))
        variable = shared_variable(builder, name[1] if name else "", kind[1] if kind else "", value)
        found.append(KeptBuffer(start, start + variable.span if variable.span else _MOST, variable))

    module.walk(visit)
    return found


def kept_buffers(metadata: Any, target: Any) -> list[list[Any]]:
    """Return the buffers of a kernel that Triton's cache has: what `SharedTensor` has; of layouts shape and text."""
    name = metadata.name[:150]  # as Triton names files
    path = (get_cache_manager(metadata.hash).get_group(f"{name}.json") or {}).get(f"{name}.ttgir")
    text = "" if path is None else Path(path).read_text()
    if _ALLOCATION not in text or not IS_POSSIBLE:
        return []
    compiler, context = HIPBackend(target), ir.context()
    ir.load_dialects(context)
    compiler.load_dialects(context)
    module, facts = _parsed(text, context), metadata._asdict()
    allocate(module, facts, compiler.parse_options(facts))
    buffers, found = buffers_of(module), []
    for each in buffers:
        variable = each.variable
        if variable is not None and variable.name and variable.span:
            is_alone = not any(map(each.shares_with, buffers))
            found.append([variable.name, each.start, variable.element, is_alone, variable.shape, variable.bases])
    return found


def _parsed(text: str, context: Any) -> Any:
    """Return a module that a text describes."""
    file = folder_of_run() / f"{next(_NUMBERS)}.mlir"
    file.write_text(text)
    module = ir.parse_mlir_module(str(file), context)
    file.unlink()
    module.context = context
    return module
