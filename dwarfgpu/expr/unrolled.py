"""Expressions that are evaluated often, as Python functions: their steps one after the other, without a loop.

`Evaluation` runs steps in a loop, which asks of every step what it is. For an expression that has been run a few
hundred times, the answers are written down once, as the text of a function: it calls the same operations with the same
operands in the same order, and keeps the entries between them in local variables. So there is nothing here that could
have a meaning of its own: conversions, checks and errors are those of the loop, and whatever is not a plain push or a
plain computation goes through the same method as there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dwarfgpu.expr.convert import check_integral, coerce
from dwarfgpu.expr.instruction import STEP_BINARY, STEP_PUSH, STEP_RAW, STEP_UNARY, TAKEN
from dwarfgpu.expr.locations import Location
from dwarfgpu.expr.values import Value

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dwarfgpu.expr.evaluation import Evaluation
    from dwarfgpu.expr.instruction import Step


def unrolled(ev: Evaluation) -> Callable[[Evaluation], int]:
    """Return a function that runs the expression of an evaluation as its loop does, from the first step to the last."""
    code = ev.expression.code
    writer = _Writer(code)
    for number, step in enumerate(code):
        if step.operation.is_literal:
            writer.literal(number, step.run(ev, step.operand))
        else:
            writer.step(number, step)
    lines = [
        f"def run({', '.join(['ev', *[f'{name}={name}' for name in writer.literals]])}):",
        f" if {' or '.join(ev.obstacles())}: return ev.run_steps()",
        " stack = ev.stack",
        " try:",
        *[f"  {line}" for line in writer.lines],
        " except BaseException:",  # the state is that before the step that failed
        "  entries = locals()",
        "  stack += [entries[name] for name in held[ev.position - 1]]",
        "  raise",
    ]
    names: dict[str, Any] = {"coerce": coerce, "check_integral": check_integral, "Value": Value, "Location": Location}
    names |= {"TAKEN": TAKEN, "held": writer.held, "generic": ev.generic, **writer.names, **writer.literals}
    exec(compile("\n".join(lines), "<expression>", "exec"), names)  # noqa: S102 (the text is made of names only)
    function: Callable[[Evaluation], int] = names["run"]
    return function


_HARMLESS = frozenset(("lane", "iteration"))
"""Computing with these alone, and with values, gives a value; reading storage may give an implicit pointer's."""


class _Writer:
    """Writes the lines of a function, step by step."""

    def __init__(self, code: Sequence[Step]) -> None:
        self.code = code
        self.lines: list[str] = []
        self.names: dict[str, Any] = {}
        """What the lines name besides local variables."""
        self.literals: dict[str, Value] = {}
        """The variables that are literals; they are parameters with a default."""
        self.held: list[tuple[str, ...]] = []
        """The variables that hold the upper entries of the stack before each step; the others are in the list."""
        self.variables: list[str] = []
        """Those that hold them now."""
        self.values: set[str] = set()
        """The variables that hold a `Value` whenever they hold anything."""

    def literal(self, number: int, value: Value) -> None:
        """Write a step that pushes the same value whenever it runs with this generic type."""
        self.held.append(tuple(self.variables))
        self.literals[f"literal{number}"] = value
        self.values.add(f"literal{number}")
        self.variables.append(f"literal{number}")

    def step(self, number: int, step: Step) -> None:
        """Write the lines of a step."""
        is_plain = step.form in (STEP_PUSH, STEP_UNARY, STEP_BINARY) and step.arity <= len(self.variables)
        if not is_plain and self.variables:
            self.lines.append(f"stack += ({', '.join(self.variables)},)")
            self.variables = []
        self.held.append(tuple(self.variables))
        # what has as many steps before it tells the position, to whom it is asked for
        steps = iter(self.code)
        steps.__setstate__(number + 1)  # type: ignore[attr-defined]
        self.names |= {f"at{number}": steps, f"step{number}": step, f"run{number}": step.run}
        self.lines.append(f"ev.steps = at{number}")
        operands = [f"operand{number}_{index}" for index in range(len(step.operands))]
        self.names.update(zip(operands, step.operands, strict=True))
        if is_plain:
            self._plain(number, step, operands)
        elif step.form == STEP_RAW:
            self.lines.append(f"if run{number}({', '.join(('ev', *operands))}) is TAKEN: return ev.index")
        else:
            self.lines.append(f"following = ev.run_step(step{number})")
            self.lines.append("if following is not None: return following")

    def _plain(self, number: int, step: Step, operands: list[str]) -> None:
        """Write a step that pushes an entry, or replaces the top entry or the two top entries by one."""
        taken = self.variables[len(self.variables) - step.arity :]
        del self.variables[len(self.variables) - step.arity :]
        entries = []
        for index, (variable, kind, fits) in enumerate(zip(taken, step.kinds, step.fits, strict=True)):
            if fits is Value and variable in self.values:
                entries.append(variable)
                continue
            entry = f"entry{index}"
            converted = f"coerce(ev, {variable}, {kind!r}, step{number})"
            test = f"{variable} if type({variable}) is {fits.__name__} else " if fits is not None else ""
            self.lines.append(f"{entry} = {test}{converted}")
            entries.append(entry)
        doubtful = [entries[index] for index in step.integral if entries[index] not in self.literals]
        if doubtful:
            test = " and ".join([f"{entry}.type.is_integral" for entry in doubtful])
            self.lines.append(f"if not ({test}): check_integral(step{number}, ({', '.join(entries)},))")
        # named by its place, so that an array is given back as soon as another entry takes it
        result = f"stacked{len(self.variables)}"
        self.values.discard(result)
        if step.operation.outputs[0] in ("value", "integral") and step.needs <= _HARMLESS and Location not in step.fits:
            self.values.add(result)
        self.lines.append(f"{result} = run{number}({', '.join(('ev', *entries, *operands))})")
        self.variables.append(result)
