"""What a line has calculated with, where optimizers leave its variables no place.

The instructions of a line read registers that other lines have written before: going back through what a wave has
executed finds these values, and the line that has made each. The value that leaves a line which sets a variable is that
variable; a value that was loaded has the name of its place in memory.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Container, Iterator, Sequence
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from dwarfgpu import dwarf_constants as dw
from dwarfgpu.budget import remembered
from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.execution.access_shapes import LOCAL, shape_of
from dwarfgpu.execution.checks.findings import MadeOf
from dwarfgpu.execution.checks.touched_cells import ACCESSES, COMPUTES, Cell, TouchedCells, cells_of, touched_by
from dwarfgpu.immutable import frozen
from dwarfgpu.isa.instruction import OperandKind
from dwarfgpu.isa.semantics.numbers import LOW
from dwarfgpu.program.code.kernel_parameters import is_body
from dwarfgpu.program.code.source_files import SourceTexts
from dwarfgpu.program.code.weighted_stacks import calls_of, stack_levels
from dwarfgpu.program.types.model import Base, known_size, resolved

if TYPE_CHECKING:
    from dwarfgpu.execution.checks.made_numbers import PastInstruction
    from dwarfgpu.execution.control.running import Running
    from dwarfgpu.isa.instruction import GpuInstruction
    from dwarfgpu.program.code.scopes import SourceCall

ELEMENT = re.compile(r"(?<![\w.>])([A-Za-z_]\w*)\[([^][]*)\]")
"""An element of an array, and its index."""
_SET = re.compile(r"^\s*(?:[\w:<>,*&\s]*?[\s*&])?([A-Za-z_]\w*(?:\.\w+)*)\s*([-+*/%&|^]|<<|>>)?=(?!=)")
"""The variable that a line sets, and the operator of a compound assignment."""
_ONE = re.compile(r"\s*(\([\w\s]+\)\s*)?[A-Za-z_*][\w.>-]*(\[[^][]*\])?\s*;?\s*")
"""An expression that is one object."""
_CALL_OF_ONE = re.compile(r"(?:[^=]*[^-+*/%&|^<>=!]=|\s*return\b)\s*[A-Za-z_]\w*\(\s*([A-Za-z_]\w*)\s*\)\s*;?\s*")
"""A statement that sets or returns what a function makes of one variable."""
_GROUP, _FUSED = re.compile(r"\([^()]*\)|\[[^][]*\]"), re.compile("_fma|_mad|_mac|_mix")
_OPERATIONS = {"+": re.compile("_add|_sub|_fma|_mad|_mac|_mix"), "*": re.compile("_mul|_ldexp|_lshl"),
               "/": re.compile("_div|_mul|_rcp|_ldexp")}  # fmt: skip
"""The instructions that make the results of sums, products and quotients."""
_FLOAT = re.compile(r"_b?f(16|32|64)|_cvt_|_cndmask")
_TO_FLOAT = re.compile(r"_cvt_f\d+_[iu]")
_SHIFT, WORD_1 = re.compile(r"[sv]_(lshr|ashr)(rev)?_[bi]32"), 5
"""Shifts, which may read the upper half of a register, and what SDWA reads it with."""
_BEGINS = re.compile("_rcp_|_frexp_|_div_scale_")
"""Instructions that compilers begin a division with."""
_COMMENT = re.compile(r"//.*$|/\*.*?\*/")
_DIVISION = re.compile(r"/|(?:rcp|recip|div)\w*\s*\(")
_PARENTHESES = r"\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)"
_STATEMENT = re.compile(rf"\s*(?:else\s+)?(?:for|if|while|switch)\s*{_PARENTHESES}|(?:[^;{{}}()]|{_PARENTHESES})+")
"""A statement of a line, or the head of one with others inside."""
_DOUBLE = Base("double", dw.DW_ATE_float, 8)
MOST_VALUES = 256
"""How many values of a line are looked at."""


@frozen
class LineValue:
    """A value that the instructions of a line have read."""

    cell: Cell
    reader: int
    """The number of the instruction that has read it, among those of the past."""
    writer: int | None
    """Likewise, of the one that has written it before; None if it is not among them."""


class LineNames:
    """The statements of instructions, and the variables that these name; of code without columns the whole lines."""

    def __init__(
        self, running: Running, place: Callable[[str, int, int], tuple[str, Any] | None], given: Callable[[Any], Any]
    ) -> None:
        self.running = running
        self.place = place
        """Returns the name and the type of the object at an address of a space, which an instruction reads."""
        self.given = given
        """Returns the addresses at which numbers are NaNs or infinities that the launch has given, 0 for others."""
        self.touched: dict[int, TouchedCells | None] = {}
        self._texts = SourceTexts()

    def line(self, pc: int) -> tuple[Any, int, int] | None:
        """Return the file and the line of an instruction, and which statement of the line it is of."""
        return self._statement(pc)[0]

    def text(self, pc: int) -> str | None:
        """Return the statement of an instruction, without comments."""
        return self._statement(pc)[1]

    @remembered
    def is_set_once(self, pc: int, name: str) -> bool:
        """Return whether nothing sets a variable that an instruction sees but its declaration, outside of loops."""
        variables, function = self.running.variables_of(name, pc), self._calls(pc)[0]
        line = self.running.line_at(pc)
        if not variables or line is None or (function.inlined and not is_body(function.linkage_name)):
            return False
        variable = variables[0]
        declared, parent = variable.die.find_number(dw.DW_AT_decl_line), variable.die.parent()
        if declared is None or parent is None or parent.tag == dw.DW_TAG_lexical_block:
            return False
        text = self._scope(line.file, declared.unsigned(), is_parameter=variable.kind == "parameter")
        initialized = variable.kind != "parameter" and re.search(rf"[\w*]\s+\*?{name}\s*=(?!=)", text) is not None
        is_shared = re.search(rf"[(,=]\s*&{name}\b", text) is not None
        return not is_shared and sets(name, text) == (variable.kind != "parameter") == initialized

    def _scope(self, file: Any, line: int, *, is_parameter: bool) -> str:
        """Return the lines from a declaration to the end of its block, of a parameter to the end of its function."""
        found, depth, is_open = "", 0, not is_parameter
        while (text := self._texts.read(file).line(line)) is not None:
            text = _COMMENT.sub("", text)
            found, line, depth = f"{found}{text}\n", line + 1, depth + text.count("{") - text.count("}")
            is_open = is_open or "{" in text
            if depth < (1 if is_parameter else 0) and is_open:
                break
        return found

    def accumulates(self, pc: int) -> bool:
        """Return whether the statement of an instruction adds one product to the variable that it sets."""
        text = self.text(pc) or ""
        target = _SET.match(text)
        return target is not None and target[2] in ("+", "-") and not is_sum(text[target.end() :])

    def divides(self, pc: int) -> bool:
        """Return whether the statement of an instruction divides, or calls a function that does."""
        text = self.text(pc)
        if text is None:  # code of the source without a line is what several lines share
            return not self.running.frames_at(pc)
        return _DIVISION.search(text) is not None

    @remembered
    def _statement(self, pc: int) -> tuple[tuple[Any, int, int] | None, str | None]:
        line = self.running.line_at(pc)
        if line is None:
            return None, None
        number, text = 0, self._texts.read(line.file).line(line.line)
        if text is not None and not line.file.name.endswith(".py"):
            text = _COMMENT.sub(lambda comment: " " * len(comment[0]), text)
            parts = [each for each in _STATEMENT.finditer(text) if each[0].strip()]
            source = self._calls(pc)[0].source if len(parts) > 1 else None
            column = 0 if source is None or source.line != line.line else source.column
            of = ((at, part[0]) for at, part in enumerate(parts, 1) if part.start() < column <= part.end())
            number, text = next(of, (number, text))
        return (line.file, line.line, number), text

    def type_of(self, name: str, home: int) -> Any:
        """Return the type of what a line names."""
        with suppress(DwarfGpuError):
            return next(iter(self.running.frames_at(home)), self.running.program.outside).expression(name).type
        return None

    def parameter(self, home: int, pc: int, names: Sequence[str]) -> str | None:
        """Return the only parameter that a line names, if an instruction is of the line of the call that is inlined."""
        function, *callers = self._calls(home)
        if not function.inlined or is_body(function.linkage_name):
            return None
        if (callers[0].function, callers[0].source) not in ((each.function, each.source) for each in self._calls(pc)):
            return None
        frame = next(iter(self.running.frames_at(home)), self.running.program.outside)
        known = {each.name for each in frame.variables() if each.kind == "parameter"}
        found = [each for each in names if "[" not in each and each.partition(".")[0] in known]
        return found[0] if len(found) == 1 else None

    def _calls(self, pc: int) -> tuple[SourceCall, ...]:
        """Return the calls that an instruction is in, innermost first."""
        return calls_of(stack_levels(self.running.attached.state.loaded, pc, ()))[::-1]


class LineInputs:
    """Goes back from an instruction of a wave to what its line has calculated with."""

    def __init__(
        self, names: LineNames, past: Sequence[PastInstruction], wave: int, lanes: Any, home: int, result: Cell | None
    ) -> None:
        self.names = names
        self.home = home
        self.result = result
        """The register of the latest instruction that is asked about; None for all that it writes."""
        self.past = [each for each in past if wave in each.waves]
        self.rows = [int(np.flatnonzero(each.waves == wave)[0]) for each in self.past]
        self.lanes = lanes
        self.values: list[LineValue] = []
        """What the instructions of the line have read to make the result."""
        self._writes: dict[Cell, list[int]] = {}
        """The instructions that have written a register in some of the lanes."""
        for number in range(len(self.past)):
            if (touched := self._cells(number)) is not None and self._executing(number).any():
                for cell in touched.written:
                    self._writes.setdefault(cell, []).append(number)
        self._inputs = self._values(home)

    def turns(self, made: Sequence[MadeOf]) -> dict[str, Any]:
        """Return the variables that are indices in the line, by the elements that it has read, by lane."""
        found, every = dict[str, Any](), ELEMENT.findall(self.names.text(self.home) or "")
        for base, index in every:
            own = [each for each in made if each.name.partition("[")[0] == base]
            if len({other for name, other in every if name == base}) > 1 or len(own) != 1 or not index.isidentifier():
                continue
            texts = own[0].names or [own[0].name] * len(self.lanes)
            numbers = [re.match(r"\w+\[(\d+)\]", each) for each in texts]
            if all(numbers):
                found[index] = np.array([int(each[1]) for each in numbers if each])
        return found

    def named(self, missing: Sequence[str], known: Container[Cell]) -> Iterator[MadeOf]:
        """Yield what the line of an instruction has calculated with, by the names that the line has for it.

        What is loaded into registers of known variables is not named again.
        """
        found, others, home = dict[str, list[tuple[LineValue, Any]]](), list[tuple[LineValue, int]](), self.home
        for value, writer in ((each, each.writer) for each in self._inputs if each.writer is not None):
            if (named := self._name(value, writer, home, missing)) is not None:
                is_latest = writer == self._writer(value.cell, len(self.past) - 1)
                if named[0] not in missing and value.cell in known and is_latest:
                    continue
                found.setdefault(named[0], []).append((value, named[1]))
            elif self._leaves(value, writer) and _FUSED.search(self._operation(value.reader)) is None:
                others.append((value, writer))  # which may be all of an argument of a call
        left = [each for each in missing if each not in found]
        for value, writer in others:
            if (name := self.names.parameter(home, self.past[writer].pc, left)) is not None:
                found.setdefault(name, []).append((value, self.names.type_of(name, home)))
        call = _CALL_OF_ONE.fullmatch(self.names.text(home) or "")
        name, argument = (call[1], self._only_float()) if call else ("", None)
        if argument is not None and name in missing and name not in found:
            is_double = "f64" in self._operation(argument.reader).removeprefix("v_cvt_f64_")
            found[name] = [(argument, _DOUBLE if is_double else self.names.type_of(name, home))]
        for name, values in islice(found.items(), len(missing)):  # the nearest ones first
            numbers = [
                made
                for value, kind in values
                if (made := self._number(value, kind, is_read=kind is _DOUBLE)) is not None
            ]
            if numbers and all(np.array_equal(each, numbers[0], equal_nan=True) for each in numbers):
                yield self._made_of(name, values[0][0], numbers[0], home, is_place=name not in missing)

    def _only_float(self) -> LineValue | None:
        """Return the only number that the line has read, as it is; constants are none."""
        found = dict[tuple[Cell, int], LineValue]()
        for value in self._inputs:
            touched = None if value.writer is None else self._cells(value.writer)
            is_constant = touched is not None and not self._read(value.writer or 0) + touched.addresses
            if is_constant or _FLOAT.search(self._operation(value.reader)) is None or value.cell[0] not in "vs":
                continue
            operands = self._instruction(value.reader).sources
            own = [each for each in operands if value.cell in cells_of(each, self.past[value.reader].batch.lanes)]
            if value.writer is None or not own or any(each.text[0] in "-|" for each in own):
                return None
            found.setdefault((value.cell, value.writer), value)
        values = sorted(found.values(), key=lambda each: each.cell)
        is_double = len(values) == 2 and values[0].cell == (values[1].cell[0], values[1].cell[1] - 1)
        is_double = is_double and all(
            "f64" in self._operation(each.reader).removeprefix("v_cvt_f64_") for each in values
        )
        return values[0] if len(values) == 1 or is_double else None

    def reads(self, name: str, cell: Cell | None, numbers: Any, of: Any) -> bool:
        """Return whether the line has read a variable with some numbers, zeros where it is; an integer as it is."""
        encoding = getattr(resolved(of), "encoding", None)
        for value in (each for each in self.values if each.cell == cell or np.all(numbers)):
            own = self._number(value, of, is_read=True)
            is_float = encoding == dw.DW_ATE_float or self._is_converted(value, name, self.home)
            if is_float and own is not None and np.array_equal(own, numbers, equal_nan=True):
                return True
        return False

    def _made_of(self, name: str, value: LineValue, numbers: Any, home: int, *, is_place: bool) -> MadeOf:
        writer = value.writer or 0
        pc, count = self.past[writer].pc, len(self.lanes)
        is_here = is_place or self.names.line(pc) in (self.names.line(home), None)
        changes = None if is_here else np.full(count, pc)
        target = _SET.match(self.names.text(home) or "")
        is_certain = value.reader == len(self.past) - 1 or target is None or target[1] != name  # it may be unrolled
        places = [place for lane in self.lanes if (place := self._place(value, writer, int(lane))) is not None]
        if len(places) < count:  # the line of a dual instruction is that of one half
            is_certain = is_certain and (is_here or not self._instruction(writer).components)
            return MadeOf(name, numbers, changes, is_certain=is_certain)
        each = [(self.names.place(*place, pc) or (name,))[0] for place in places] if is_place else None
        is_global = all(space != LOCAL for space, _address in places)
        came = self.names.given([address for _space, address in places]) if is_global else None
        return MadeOf(name, numbers, changes, came, names=each, is_certain=is_certain)

    def _values(self, home: int) -> list[LineValue]:
        """Return the values that the instructions of a line, and of code without lines that it calls, have read."""
        last = len(self.past) - 1
        ways, seen, found = [(last, self.result)], set[LineValue](), list[LineValue]()
        if not self._read(last):  # a constant, which the latest comparison has chosen
            begin = next((each for each in range(last, 0, -1) if self.past[each - 1].pc > self.past[each].pc), 0)
            compared = (each for each in range(last, begin - 1, -1) if "cmp" in self._operation(each))
            ways += [(each, None) for each in islice((x for x in compared if self._is_of(x, home)), 1)]
        while ways and len(seen) < MOST_VALUES:
            reader, result = ways.pop(0)
            for cell in self._read(reader, result):
                value = LineValue(cell, reader, self._writer(cell, reader))
                if value in seen:
                    continue
                seen.add(value)
                self.values.append(value)
                if value.writer is not None and self._is_of(value.writer, home) and not self._is_earlier(value, result):
                    ways.append((value.writer, cell))
                else:
                    found.append(value)
        return found

    def _is_of(self, number: int, home: int) -> bool:
        """Return whether an instruction calculates in the line of another one, or in code without lines."""
        touched, pc = self._cells(number), self.past[number].pc
        is_here = self.names.line(pc) in (self.names.line(home), None) or self._begins_division(number)
        return is_here and touched is not None and touched.does == COMPUTES

    def _begins_division(self, number: int) -> bool:
        """Return whether an instruction begins a division of another line, in front of the loop that has this line."""
        return _BEGINS.search(self._operation(number)) is not None and not self.names.divides(self.past[number].pc)

    def _cells(self, number: int) -> TouchedCells | None:
        pc, touched = self.past[number].pc, self.names.touched
        if pc not in touched:
            touched[pc] = touched_by(self._instruction(number), self.past[number].batch.lanes, 0)
        return touched[pc]

    def _read(self, number: int, result: Cell | None = None) -> tuple[Cell, ...]:
        """Return what an instruction reads, or what one of its results is made of."""
        touched, instruction = self._cells(number), self._instruction(number)
        if touched is None:
            return ()
        for part in instruction.components:
            if (of := touched_by(part, self.past[number].batch.lanes, 0)) is not None and result in of.written:
                return of.read
        if result is None or not re.match(r"v_pk_\w+_f32", instruction.name) or len(touched.written) != 2:
            return touched.read if instruction.variant.startswith("dpp") else touched.data  # but no half that it keeps
        select = instruction.modifiers.get("op_sel_hi" if result == touched.written[1] else "op_sel", 0)
        pairs = [cells_of(each, self.past[number].batch.lanes) for each in instruction.sources]
        return tuple(each[min(select >> place & 1, len(each) - 1)] for place, each in enumerate(pairs) if each)

    def _is_earlier(self, value: LineValue, result: Cell | None) -> bool:
        """Return whether a value was made in another turn of a loop; a fused sum adds to that of its statement."""
        line, pcs = self.names.line(self.home), [self.past[each].pc for each in (value.reader, value.writer or 0)]
        if pcs[1] >= pcs[0] and all(self.names.line(pc) == line for pc in pcs):
            return True
        names = [self._operation(each) for each in (value.reader, value.writer or 0)]
        if any(_FUSED.search(each) is None for each in names) or not self.names.accumulates(self.home):
            return False
        instruction = self._instruction(value.reader)
        part = next((each for each in instruction.components if result in self._written(each)), instruction)
        own = part.destinations if re.search("_f?mac", part.name) else part.sources[2:]
        return value.cell in (cell for each in own for cell in cells_of(each, self.past[value.reader].batch.lanes))

    def _written(self, part: GpuInstruction) -> list[Cell]:
        return [cell for each in part.destinations for cell in cells_of(each, 0)]

    def _operation(self, number: int) -> str:
        return self._instruction(number).name

    def _instruction(self, number: int) -> GpuInstruction:
        found: GpuInstruction = self.names.running.machine.device.instruction(self.past[number].pc)
        return found

    def _executing(self, number: int) -> Any:
        """Return which of the lanes have executed an instruction."""
        past = self.past[number]
        mask = np.broadcast_to(True if past.mask is None else past.mask, (len(past.waves), past.batch.lanes))
        return mask[self.rows[number], self.lanes]

    def _writer(self, cell: Cell, reader: int) -> int | None:
        """Return which instruction has written a register last before another one, if it has in all lanes."""
        writes = self._writes.get(cell, [])
        place = bisect_left(writes, reader)
        is_whole = place and (cell[0] != "v" or self._executing(writes[place - 1]).all())
        return writes[place - 1] if is_whole else None

    def _name(self, value: LineValue, writer: int, home: int, missing: Sequence[str]) -> tuple[str, Any] | None:
        """Return the name that a line has for a value, with its type."""
        pc, touched = self.past[writer].pc, self._cells(writer)
        if touched is None or not self._read(writer) + touched.addresses:
            return None  # a constant
        own, line = self.names.line(pc), self.names.line(home)
        is_load, target = touched.does == ACCESSES, _SET.match(self.names.text(pc) or "")
        is_whole = len(touched.written) == 1 if is_load else self._leaves(value, writer)
        is_set = target is not None and self._is_set_again(target[1], writer, (own, line))
        if own not in (line, None) and target is not None and target[1] in missing and is_whole and not is_set:
            made = target.string[target.end() :] if target[2] is None else f"x {target[2]} y"
            is_float = _FLOAT.search(self._operation(writer)) is not None or self._is_converted(value, target[1], home)
            if _ONE.fullmatch(made) if is_load else is_float and self._is_result(value, writer, made):
                return target[1], self.names.type_of(target[1], home)
        place = self._place(value, writer, int(self.lanes[0])) if is_load else None
        named = None if place is None else self.names.place(*place, pc)
        if named is None or target is None or target[1] not in missing or is_set or own in (line, None):
            return named
        base = re.fullmatch(r"\s*(\w+)\[[^][]*\]\s*;?\s*", target.string[target.end() :])  # loaded with others
        is_own = base is not None and not target[2] and named[0].partition("[")[0] == base[1]
        return (target[1], self.names.type_of(target[1], home)) if is_own else named

    def _is_result(self, value: LineValue, writer: int, text: str) -> bool:
        """Return whether an instruction may make the result of an expression, and not a part that others complete."""
        text = _without_groups(text)
        kind = "+" if is_sum(text) else next((each for each in "*/" if each in text), "")
        name, reader = self._operation(writer), self._operation(value.reader)
        is_factor = kind == "*" and _FUSED.search(reader) is not None  # of a product that is fused with a sum
        return not is_factor and (not kind or _OPERATIONS[kind].search(name) is not None)

    def _is_converted(self, value: LineValue, name: str, home: int) -> bool:
        """Return whether a line converts an integer as it is: sums of others change their order."""
        is_alone = re.search(rf"[(,=*/)]\s*{re.escape(name)}\s*(?:[),;*/]|$)", self.names.text(home) or "")
        return is_alone is not None and _TO_FLOAT.search(self._operation(value.reader)) is not None

    def _is_set_again(self, name: str, writer: int, lines: Container[Any]) -> bool:
        """Return whether another line sets a variable after an instruction."""
        later = dict.fromkeys(each.pc for each in self.past[writer + 1 :] if self.names.line(each.pc) not in lines)
        found = (_SET.match(self.names.text(pc) or "") for pc in later)
        return any(each is not None and each[1] == name for each in found)

    def _leaves(self, value: LineValue, writer: int) -> bool:
        """Return whether no other instruction of its line reads a value: then it is what the line sets."""
        line, writes = self.names.line(self.past[writer].pc), self._writes[value.cell]
        end = next((each for each in writes if each > writer), len(self.past))
        later = (each for each in range(writer + 1, min(end + 1, len(self.past))))
        return not any(
            value.cell in self._read(each) and self.names.line(self.past[each].pc) == line
            and self._executing(each).any() and not self._begins_division(each) for each in later
        )  # fmt: skip

    def _place(self, value: LineValue, writer: int, lane: int) -> tuple[str, int] | None:
        """Return where a lane has loaded a value from: the space and the address; None if it was not loaded."""
        instruction, past = self._instruction(writer), self.past[writer]
        shape, row = shape_of(instruction.name), self.rows[writer]
        is_scalar = instruction.encoding == "SMEM"
        if instruction.encoding not in ("SMEM", "GLOBAL", "FLAT", "DS") or "scale_offset" in instruction.modifiers:
            return None
        address = instruction.modifiers.get("offset", 0)
        for operand in instruction.sources:
            if operand.kind in (OperandKind.VGPR, OperandKind.SGPR):
                words = past.vector if operand.kind is OperandKind.VGPR else past.scalar
                for number in range(operand.count):
                    word = int(_at(words[operand.index + number], row, lane))
                    address += word << 32 * number
            elif operand.kind is OperandKind.IMMEDIATE:
                address += operand.value
        if instruction.encoding == "DS":  # whose addresses have 32 bits
            address &= LOW
        target = next(iter(instruction.destinations))
        number = value.cell[1] - target.index
        if shape is not None and shape.pair:
            modifiers = instruction.modifiers
            element, rest = divmod(4 * number, shape.size * shape.count)
            offset = modifiers.get(f"offset{element}", 0)
            return LOCAL, address + offset * shape.pair + rest
        space = "global" if is_scalar or shape is None else shape.space
        return self._of_half(value, space, address + 4 * number, writer)

    def _of_half(self, value: LineValue, space: str, address: int, writer: int) -> tuple[str, int] | None:
        """Return where the half of a register is from that is read, if two objects of 16 bits were loaded into it."""
        shape, targets = shape_of(self._instruction(writer).name), self._instruction(writer).destinations
        is_half = (shape is not None and shape.half is not None) or any(each.half is not None for each in targets)
        if is_half or (named := self.names.place(space, address, self.past[writer].pc)) is None or named[1] is None:
            return space, address
        half = self._half(value) if known_size(resolved(named[1])) == 2 else 0
        return None if half is None else (space, address + 2 * half)

    def _half(self, value: LineValue) -> int | None:
        """Return which half of a register an instruction reads, 1 for the upper one; None if it reads both."""
        instruction, found = self._instruction(value.reader), set[int]()
        selected, upper = (instruction.modifiers.get(each, 0) for each in ("op_sel", "op_sel_hi"))
        if _SHIFT.match(instruction.name):
            return int(any(each.text in ("16", "0x10") for each in instruction.sources))
        for place, operand in enumerate(instruction.sources):
            if value.cell not in cells_of(operand, self.past[value.reader].batch.lanes):
                continue
            if instruction.variant == "sdwa":
                found.add(int(instruction.modifiers.get(f"src{place}_sel") == WORD_1))
            else:
                found.add(selected >> place & 1 if operand.half is None else operand.half)
            if instruction.name.startswith("v_pk_"):
                found.add(upper >> place & 1)
        return found.pop() if len(found) == 1 else None

    def _is_of_size(self, value: LineValue, size: int) -> bool:
        """Return whether what has written a register has written a number of so many bytes from there on."""
        touched = None if value.writer is None else self._cells(value.writer)
        if touched is None or value.writer is None:
            return False
        file, index = value.cell
        own = [number for each, number in touched.written if each == file]
        if size == 8:
            return index + 1 in own and (index - min(own)) % 2 == 0
        return (
            touched.does == ACCESSES
            or len(own) == 1
            or "_pk_" in (name := self._operation(value.writer))
            or "dual" in name
        )

    def _number(self, value: LineValue, of: Any, *, is_read: bool = False) -> Any:
        """Return a value as numbers of its type, by lane; None if it has none."""
        kind, past, row = None if of is None else resolved(of), self.past[value.reader], self.rows[value.reader]
        size = known_size(kind) if isinstance(kind, Base) else None
        if not isinstance(kind, Base) or size not in (2, 4, 8) or value.cell[0] not in "vs":
            return None
        if not is_read and not self._is_of_size(value, size):
            return None
        letter = "f" if kind.encoding == dw.DW_ATE_float else "u" if kind.encoding == dw.DW_ATE_unsigned else "i"
        registers = past.vector if value.cell[0] == "v" else past.scalar
        half = self._half(value) if size == 2 else 0
        if half is None:
            return None
        number = np.zeros(len(self.lanes), np.uint64)
        for part in range(-(-size // 4)):
            word = registers[value.cell[1] + part]
            words = [int(_at(word, row, int(lane))) for lane in self.lanes]
            number |= np.array(words, np.uint64) << np.uint64(32 * part)
        return (number >> np.uint64(16 * half)).astype(f"u{size}").view(f"{letter}{size}")


def sets(name: str, lines: str) -> int:
    """Return how often lines of the source may set a variable."""
    name = re.escape(name)
    operation = (
        rf"\b{name}\s*(?:\[[^]]*\]\s*)?(?:[-+*/%&|^]|<<|>>)?=(?!=)|(?:\+\+|--)\s*{name}\b|\b{name}\s*(?:\+\+|--)"
    )
    return len(re.findall(operation, lines))


def _without_groups(text: str) -> str:
    while text != (text := _GROUP.sub("", text)):
        pass
    return text


def is_sum(text: str) -> bool:
    """Return whether an expression is a sum or a difference."""
    return re.search(r"[\w\])]\s*[-+](?![-+=>])", _without_groups(text)) is not None


def _at(column: Any, row: int, lane: int) -> Any:
    """Return the number that a register has in a lane of a wave."""
    column = np.asarray(column)
    if column.ndim == 0:
        return column
    return column[row if len(column) > 1 else 0, lane if column.shape[-1] > 1 else 0]
