"""Decoded expressions: a list of instructions, and the code that the evaluator runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from dwarfgpu.encoding import Cursor, read_operand
from dwarfgpu.errors import DwarfGpuError, IllFormed, Unsupported
from dwarfgpu.expr import table
from dwarfgpu.expr.dialect import Dialect, Path, format_path
from dwarfgpu.expr.locations import Location
from dwarfgpu.expr.types import Value
from dwarfgpu.immutable import immutable

if TYPE_CHECKING:
    from dwarfgpu.encoding import Format
    from dwarfgpu.expr.table import Operand, Operation

    Knowers = Callable[[Path], Iterable[str]]


@immutable
class Instruction:
    """One operation of an expression, with its operands."""

    operation: Operation
    name: str
    """The name in the dialect: an operation may have several."""
    operands: tuple[Any, ...]
    offset: int
    """The start of the operation, in bytes from the start of the expression."""
    end: int
    """The start of the next operation."""

    @property
    def target(self) -> int | None:
        """The target of a branch, in bytes from the start of the expression."""
        for operand, value in zip(self.operation.operands, self.operands, strict=True):
            if operand.kind == "branch":
                return self.end + int(value)
        return None


def operands_of(instruction: Instruction) -> Iterator[tuple[Operand, Any]]:
    """Return the operands with their values."""
    return zip(instruction.operation.operands, instruction.operands, strict=True)


def registers_of(instruction: Instruction) -> list[int]:
    """Return the numbers of the registers that an operation names."""
    implied = implied_register(instruction.operation)
    named = [value for operand, value in operands_of(instruction) if operand.name == "R"]
    return named if implied is None else [implied, *named]


def implied_register(row: Operation) -> int | None:
    """Return the register that the name of an operation implies: 5 for DW_OP_reg5 and for DW_OP_breg5."""
    if row.fixed:
        return row.fixed[0] if "frame" in row.needs else None
    name, _, number = (row.to or "").partition(" ")
    return int(number) if name == "DW_OP_regx" and number.isdecimal() else None


_FITS: dict[str, type | None] = {"value": Value, "integral": Value, "location": Location, "any": None}


MANY: Any = object()
"""In place of the only operand of a step, where it has none or several."""

STEP_PUSH, STEP_UNARY, STEP_BINARY, STEP_RAW, STEP_END, STEP_OTHER = range(6)
"""Forms of steps: one that pushes an entry, that replaces the top entry or the two top entries by one, that works on
the stack itself, and any other."""


TAKEN = object()
"""What an operation returns that makes evaluation continue elsewhere: a branch that is taken, a call."""


class Step:
    """A step that the evaluator runs: a function, what it pops and what it needs."""

    __slots__ = (
        "arity", "ends_location", "fits", "form", "instruction", "integral", "kinds", "needs", "operand", "operands",
        "operation", "outputs", "run", "target",
    )  # fmt: skip

    def __init__(self, operation: Operation, operands: tuple[Any, ...], instruction: Instruction) -> None:
        self.operation = operation
        self.run: Callable[..., Any] = operation.run  # type: ignore[assignment]
        self.operands = (*operation.fixed, *operands)
        self.operand = self.operands[0] if len(self.operands) == 1 else MANY
        self.instruction = instruction
        self.kinds = operation.inputs
        self.fits = tuple([_FITS[kind] for kind in self.kinds])
        """The class of the entries that need no conversion, for each; `coerce` converts the others."""
        integral = tuple([index for index, kind in enumerate(self.kinds) if kind == "integral"])
        self.integral = integral if len(self.kinds) > 2 else integral[::-1]
        """The numbers of the entries that must be of an integral type; of two, the upper one is checked first."""
        self.arity = -1 if operation.is_raw else len(self.kinds)
        self.outputs = len(operation.outputs)
        self.form = self._form()
        self.needs = operation.needs
        self.ends_location = instruction.operation.ends_location
        self.target: int | DwarfGpuError | None = None
        """Index of the step a branch goes to, or the error of a branch that goes nowhere."""

    def _form(self) -> int:
        if self.arity < 0:
            return STEP_END if self.operation is END else STEP_RAW
        if self.outputs != 1 or self.arity > 2 or (self.arity == 2 and self.operands):
            return STEP_OTHER
        return (STEP_PUSH, STEP_UNARY, STEP_BINARY)[self.arity]


class Expression:
    """A decoded operation expression.

    Decoding never fails: what cannot be decoded becomes the ``fault``, which comes after the last instruction that
    could, so a listing shows everything up to it and evaluation ends there if it gets so far.
    """

    __slots__ = ("code", "data", "dialect", "fault", "form", "instructions", "needs", "offset", "section", "tail")
    code: list[Step]
    """The steps to run, with equivalences expanded and branches resolved; made at their first use."""
    needs: frozenset[str]
    """The elements of the context that its steps need; found at their first use."""

    def __init__(
        self,
        data: bytes,
        instructions: tuple[Instruction, ...],
        form: Format,
        dialect: Dialect,
        *,
        fault: DwarfGpuError | None = None,
        tail: int | None = None,
        section: str | None = None,
        offset: int = 0,
    ) -> None:
        self.data = data
        self.instructions = instructions
        self.form = form
        self.dialect = dialect
        self.fault = fault
        self.tail = tail
        """Offset of the bytes that were not decoded, if there are any."""
        self.section = section
        self.offset = offset
        """The start of the expression in the section; errors add it to the offset in the expression."""

    @property
    def end(self) -> int:
        """The position one past the last instruction."""
        return self.instructions[-1].end if self.instructions else 0

    def __getattr__(self, name: str) -> Any:
        if name == "code":
            self.code = self._link()
        elif name == "needs":
            self.needs = frozenset().union(*[step.needs for step in self.code])
        else:
            raise AttributeError(name)
        return object.__getattribute__(self, name)

    def __getstate__(self) -> tuple[None, dict[str, Any]]:
        """Return what a copy in another process begins with: all but what is made at need."""
        return None, {name: getattr(self, name) for name in self.__slots__ if name not in ("code", "needs")}

    def _link(self) -> list[Step]:
        code: list[Step] = []
        index_at: dict[int, int] = {}
        for instruction in self.instructions:
            index_at[instruction.offset] = len(code)
            code.extend(steps_of(instruction))
        index_at.setdefault(self.end, len(code))
        code.append(
            Step(
                END if self.fault is None else _faulty(self.fault),
                (),
                Instruction(END, END.name, (), self.end, self.end),
            )
        )
        for step in code:
            target = step.instruction.target if step.operation.run is not None else None
            if target is not None:
                step.target = index_at.get(target)
                if step.target is None:
                    step.target = self._bad_branch(target)
        return code

    def _bad_branch(self, target: int) -> DwarfGpuError:
        if self.tail is not None and target >= self.end:
            return self.fault or Unsupported("opaque", "the branch goes into bytes that cannot be decoded")
        inside = 0 <= target < self.end
        message = f"the branch goes to {target:#x}, which is " + (
            "not the start of an operation" if inside else f"outside the expression of {self.end:#x} bytes"
        )
        return IllFormed("bad_branch", message, spec="A.2.5.4.2 (3)")


def steps_of(instruction: Instruction) -> list[Step]:
    """Return the steps of an instruction: its own, or those of the operations it is equivalent to."""
    operation = instruction.operation
    if operation.to is None:
        return [Step(operation, instruction.operands, instruction)]
    values = {operand.name: value for operand, value in zip(operation.operands, instruction.operands, strict=True)}
    steps: list[Step] = []
    for item in operation.to.split(";"):
        name, *arguments = item.split()
        row = table.row(name)
        operands = tuple(_argument(argument, values) for argument in arguments)
        if row.to is None:
            steps.append(Step(row, operands, instruction))
        else:
            steps.extend(steps_of(Instruction(row, name, operands, instruction.offset, instruction.end)))
    return steps


def _argument(text: str, values: dict[str, Any]) -> Any:
    if text == "*":  # an operand that only repeats what another one says
        return None
    return values[text[1:-1]] if text.startswith("{") else int(text, 0)


def _return(ev: Any) -> None:
    ev.return_from_call()


def _faulty(fault: DwarfGpuError) -> Operation:
    def fail(_ev: Any) -> None:
        raise fault.again()

    return table.Operation("(undecoded)", fail, "*", "A.2.5.4")


END = table.Operation("(end)", _return, "*", "A.2.5.4", follows_location=True)


# --- Bytes to expressions -----------------------------------------------------------------------------------------


def decode(
    data: bytes,
    dialect: Dialect,
    form: Format,
    *,
    section: str | None = None,
    offset: int = 0,
    known_in: Knowers | None = None,
) -> Expression:
    r"""Decode an operation expression. What cannot be decoded is kept as the expression's fault, never raised.

    ``known_in`` names the dialects that know a path, as a hint when the wrong one was chosen.

    >>> import dwarfgpu as dg
    >>> dg.text(dg.decode(bytes.fromhex("e903341e"), dg.dialect("llvm-user"), dg.Format()))
    'DW_OP_LLVM_push_lane; DW_OP_lit4; DW_OP_mul'
    >>> str(dg.decode(b"\x08", dg.dialect("llvm-user"), dg.Format()).fault)
    'truncated at DW_OP_const1u, offset 0x0: 1 bytes are needed, 0 are left [DWARF 5, 7]'
    """
    cursor = Cursor(data, byte_order=form.byte_order)
    instructions: list[Instruction] = []
    fault: DwarfGpuError | None = None
    start = 0
    while cursor.position < cursor.end:
        start = cursor.position
        name = None
        try:
            path = _path(cursor, dialect)
            encoding = dialect.by_path.get(path)
            if encoding is None:
                raise _unknown(path, dialect, known_in)
            name = encoding.name
            row = table.row(name)
            kinds = encoding.operand_kinds
            values = tuple([read_operand(kind, cursor, form) for kind in kinds])
        except DwarfGpuError as error:
            fault = error.at(section=section, offset=offset + start, operation=name)
            fault.where.offset = offset + start  # the operation counts, not the operand in it
            fault.where.operation = name
            break
        instructions.append(Instruction(row, name, values, start, cursor.position))
        if "tail" in kinds:
            message = f"the operands of {name} are not documented, so the rest of the expression is opaque"
            fault = Unsupported(name, message, spec=dialect.source)
            fault.at(section=section, offset=offset + start, operation=name)
            instructions.pop()
            break
    tail = start if fault is not None else None
    return Expression(data, tuple(instructions), form, dialect, fault=fault, tail=tail, section=section, offset=offset)


def _path(cursor: Cursor, dialect: Dialect) -> Path:
    path: Path = (cursor.unsigned(1),)
    while path in dialect.prefixes:
        path = (*path, cursor.uleb())
    return path


def _unknown(path: Path, dialect: Dialect, known_in: Knowers | None) -> IllFormed:
    names = list(known_in(path)) if known_in is not None else []
    reserved = len(path) > 1 and path[-1] == 0
    message = f"{format_path(path)} is not an operation of dialect {dialect.name}"
    if reserved:
        return IllFormed("unknown_operation", f"{message}: the sub-opcode 0 is reserved", spec="A.2.5.4.0")
    hint = None
    if names:
        hint = f"{format_path(path)} is known in: {', '.join(names)}; the option `dialect` chooses one"
    return IllFormed("unknown_operation", message, spec="DWARF 5, 7.7.1", hint=hint)


# --- Operations by name -------------------------------------------------------------------------------------------

PIECES = frozenset(("DW_OP_piece", "DW_OP_bit_piece"))
"""What ends a part of a composite; each part is written as a location of its own is."""
BINARY = frozenset(
    f"DW_OP_{name}" for name in ("plus", "minus", "mul", "div", "mod", "and", "or", "xor", "shl", "shr", "shra")
)
COMPARISONS = frozenset(f"DW_OP_{name}" for name in ("eq", "ge", "gt", "le", "lt", "ne"))
UNARY = frozenset(f"DW_OP_{name}" for name in ("plus_uconst", "not", "neg", "abs"))
CONVERSIONS = frozenset(("DW_OP_convert", "DW_OP_reinterpret"))


def instruction_of(name: str, operands: tuple[int, ...], start: int, end: int) -> Instruction:
    """Return an operation in place of those from one offset to another."""
    row = table.find(name)
    if row is None:
        raise AssertionError(name)
    return Instruction(row, name, operands, start, end)
