"""A launched kernel that runs: breakpoints at places of the source, conditions in its language, and where it stops."""

from __future__ import annotations

import os
import re
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property, partial
from io import StringIO
from math import prod
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, NoReturn, SupportsIndex

import numpy as np

from dwarfgpu import progress
from dwarfgpu.errors import DwarfGpuError, EvaluationError, UsageError, nearest_hint
from dwarfgpu.execution import halts
from dwarfgpu.execution.block_writer import LONGEST
from dwarfgpu.execution.breakpoints import Breakpoint
from dwarfgpu.execution.halts import Halt
from dwarfgpu.execution.launch.images import picture
from dwarfgpu.execution.turns import WIDEST
from dwarfgpu.immutable import asdict, evolve, frozen
from dwarfgpu.program import ShownInNotebooks
from dwarfgpu.program.code.code_object import CodeObject, opened, runnable
from dwarfgpu.program.code.kernel_parameters import is_body, source_name
from dwarfgpu.regular_files import OnlyWrites, whole_output
from dwarfgpu.states.program import Attached, Program
from dwarfgpu.targets.amdgpu.initial_state import first_instruction

if TYPE_CHECKING:
    from dwarfgpu.execution.batch import WaveBatch
    from dwarfgpu.execution.breakpoints import Arrival
    from dwarfgpu.execution.control.check_report import NamedFinding
    from dwarfgpu.execution.control.placed import Discoveries
    from dwarfgpu.execution.control.stepping import CodeMap
    from dwarfgpu.execution.device import Device
    from dwarfgpu.execution.gpu import Gpu
    from dwarfgpu.execution.launch.argument_values import PlannedBuffer
    from dwarfgpu.execution.launch.launch import File, Launched
    from dwarfgpu.objfile.info.dies import Die
    from dwarfgpu.program.code.source_files import LineAt
    from dwarfgpu.program.frames.evaluator import SourceExpression
    from dwarfgpu.program.frames.frame import Frame
    from dwarfgpu.program.frames.linespec import Linespec
    from dwarfgpu.program.frames.local_memory import LocalObject
    from dwarfgpu.program.frames.variable import Variable
    from dwarfgpu.program.frames.wave import Wave

_OFFSET = re.compile(r"\*?(0[xX][0-9a-fA-F]+|\d{10,20})$")
_LINE = re.compile(r"(?:.*:)?\d+")
AT_ALL = re.compile(r"^-all\s+|\s+-all$")
"""With a line: wherever it begins, not only at the first place of each block."""


@frozen
class CodePosition:
    """A place in the code that runs."""

    address: int
    function: str | None = None
    offset: int = 0
    """How far it is behind the start of the function."""
    file: str | None = None
    line: int = 0
    inlined: str | None = None
    """The innermost function, where a call of it was inlined."""

    @property
    def place(self) -> str | None:
        """The function and the offset: ``saxpy+20``."""
        return f"{self.function}+{self.offset}" if self.offset else self.function

    def __str__(self) -> str:
        source = f" at {self.file}:{self.line}" if self.file else ""
        function = f" in {self.place}" if self.function else ""
        function = f" in {self.inlined}, inlined{function}" if self.inlined else function
        return f"{self.address:#x}{function}{source}"


@frozen
class ConditionProblem:
    """A condition that has no value, which stops like one that is true."""

    breakpoint: int
    text: str


class Running(ShownInNotebooks):
    """A launched kernel, which runs to a place and on: `launch` returns it. It is a sequence of its waves.

    >>> import dwarfgpu as dg
    >>> kernel = dg.launch("blur.co", "blur", ["arange(50)", "zeros(50)", 49], grid=64, work_group=64)
    >>> print(kernel.run(until="blur.cl:10 if j > 47"))
    blur.cl:10 if j > 47 at 0x7f0000001dc0, 1 wave
    >>> kernel[1].frame(0)["j"].value(lane=16)
    48
    >>> point = kernel.break_at("blur.cl:11")
    >>> print(kernel.run())
    breakpoint 1 at 0x7f0000001f60, 2 waves
    """

    def __init__(
        self, launched: Launched, *other: object, program: Program | None = None, attached: Attached | None = None
    ) -> None:
        if other or not hasattr(launched, "plan") or launched.machine is None:
            raise TypeError("a Running is what dwarfgpu.launch(FILE, KERNEL, ARGUMENTS, grid=N, work_group=N) returns")
        self.launched = launched
        self.machine: Gpu = launched.machine
        if attached is not None:
            self.program, self.attached = attached.program, attached
        else:
            self.program = Program(launched.plan.file) if program is None else program
        self.condition_problem: ConditionProblem | None = None
        """Why the condition of the breakpoint at which waves stopped has no value."""
        self.end: Breakpoint | None = None
        """Where the last run was to stop."""
        self.keeps_launch = False
        """Whether the machine is remembered as it is before the first run: `checkpoints.keep_launch`."""
        self.made = ""
        """Which arguments were made from their types, and how to give others; empty if the user gave them."""
        if self.machine.checks is not None:
            from dwarfgpu.execution.control.source_accesses import SourceAccesses

            self.machine.source = SourceAccesses(self)
        self._conditions: dict[tuple[str, Die | str | None], Discoveries] = {}
        """What is known of conditions that have been asked."""

    @cached_property
    def attached(self) -> Attached:
        """The machine with its code. What is asked of it is as of the last halt."""
        return self.program.attach(self.machine)

    @cached_property
    def is_optimized(self) -> bool:
        """Whether a list says where a variable is, as optimizers write it."""
        from dwarfgpu.program.frames.variable import all_variables

        with suppress(DwarfGpuError):
            return any(variable.is_listed for variable in all_variables(self.program.outside))
        return False

    def __repr__(self) -> str:
        return f"<Running {self.launched.plan.kernel.source_name}, {len(self)} waves>"

    def __len__(self) -> int:
        return len(self.attached)

    def __iter__(self) -> Iterator[Wave]:
        return iter(self.attached)

    def __getitem__(self, wave: SupportsIndex | str) -> Wave:
        """Return a wave by its number from 0, or by its name."""
        return self.attached[wave]

    @property
    def buffers(self) -> Mapping[str | int, Any]:
        """The memory of the arguments that are arrays, by their names or positions: what the machine has now."""
        return self.launched.buffers

    @property
    def findings(self) -> tuple[NamedFinding, ...]:
        """What checks have found up to now, in words of the source."""
        from dwarfgpu.execution.control.check_report import check_report

        return () if self.machine.checks is None else check_report(self).findings

    def __reduce__(self) -> NoReturn:
        hint = "pickle its `buffers`, or write its state with save_snapshot"
        raise UsageError("a kernel that runs cannot be pickled", hint=hint)

    def use(self, attached: Attached) -> None:
        """Go on with debugging information that was read anew."""
        self.program, self.attached = attached.program, attached
        self.__dict__.pop("reader", None)
        self._conditions.clear()

    @contextmanager
    def progress_shown(self, around: progress.Progress | None = None) -> Iterator[None]:
        """Show meanwhile how many waves have ended, and how many instructions are executed in a second.

        ``around`` is the line of a task that this run is a part of: it shows both.
        """
        device, count = self.machine.device, self.launched.geometry.wave_count
        line = progress.begin("waves", count)
        begun = time.monotonic()

        def show(_device: Any) -> None:
            rate = f"{device.executed / max(time.monotonic() - begun, 1e-9):,.0f} instructions a second"
            if around is not None:
                around.note = f", {device.waves_ended:,} of {count:,} waves, {rate}"
                around.advance(0)
            line.noun = f"waves, {rate}"
            line.advance(device.waves_ended - line.done)

        device.on_turn = show
        try:
            yield
        finally:
            device.on_turn = None
            line.end()

    def check_lane(self, wave: int | None, lane: int | None) -> None:
        """Refuse a wave, by its index, or a lane that the launch does not have."""
        machine = self.machine
        if wave is not None and not 0 <= wave < machine.wave_count:
            count = self.launched.geometry.wave_count
            more = f": of {count} waves, so many run at a time" if machine.wave_count < count else ""
            raise UsageError(f"there is no wave {wave + 1}", hint=f"they are 1 to {machine.wave_count}{more}")
        if lane is not None and not 0 <= lane < machine.target.lane_count:
            raise UsageError(f"there is no lane {lane}", hint=f"a wave has {machine.target.lane_count}")

    # --- Places ---------------------------------------------------------------------------------------------------

    def addresses(self, place: str) -> list[int]:
        """Return the addresses that a text names: ``k.cl:15``, ``15 -all``, ``kernel+0x40``, ``0x7f0000001540``.

        An address is one of the running program, or as the file has it, if no code runs there.
        """
        from dwarfgpu.program.code.code_lookup import name_and_offset
        from dwarfgpu.program.frames.linespec import Linespecs

        text, at_all = AT_ALL.subn("", place.strip())
        number = _OFFSET.match(text)
        if number:
            return [self._checked(int(number[1], 0))]
        bias = self.launched.plan.load_address
        try:
            places = Linespecs(self.program.outside, self._here, at_calls=True)
            if name_and_offset(text)[1] is not None:
                return [self._checked(places.address(text.removeprefix("*")) + bias)]
            specs = places.read(text)
        except UsageError:
            raise
        except DwarfGpuError as error:
            if not text.isdecimal() and self.launched.plan.kernel.name == text:
                return [self.launched.plan.start.entry]
            raise UsageError(error.message, hint=error.hint or "name a line as FILE:LINE, or an address") from None
        found: list[int] = []
        for spec in specs:
            if spec.address is not None:
                found.append(spec.address + bias)
                continue
            assert spec.file is not None  # noqa: S101 (a place without an address is a line)
            line = spec.file.next_line(spec.line)
            if line is None:
                raise UsageError(f"no code belongs to {spec.file.name}:{spec.line} or a later line")
            starts = [address + bias for address in spec.file.starts(line, at_all=bool(at_all))]
            found += starts if line == spec.line else self._not_behind(spec, line, starts)
        if not found:
            raise UsageError(f"{text[:60]} names no code")
        return sorted(dict.fromkeys(found))

    def _not_behind(self, asked: Linespec, line: int, starts: list[int]) -> list[int]:
        """Return where the next line with code begins, except in functions that begin behind the line: as in GDB."""
        frames = {address: next(iter(self.frames_at(address)), None) for address in starts}
        found = [address for address, frame in frames.items() if not _is_behind(frame, asked)]
        if not found:
            name = next((frame.name for frame in frames.values() if frame is not None), None)
            message = f"line {asked.line} has no code; the next line with code is {line}, in {name}"
            raise UsageError(message, hint=f"name line {line}")
        return found

    @cached_property
    def reader(self) -> CodeMap:
        """The facts of the instructions."""
        from dwarfgpu.execution.control.stepping import CodeMap

        return CodeMap(self.attached, self.machine.device)

    @cached_property
    def local_objects(self) -> list[LocalObject]:
        """What lies in the local memory of a work-group; nothing where that is not known."""
        from dwarfgpu.program.frames.local_memory import local_objects  # for what traces or checks

        try:
            return local_objects(self.program.outside, self.attached[0].launch)
        except DwarfGpuError:
            return []

    def stops(self, place: str) -> list[int]:
        """Return the addresses at which a breakpoint at a place stops: that of a function is behind its prologue.

        A call that is inlined begins where it is, or behind the prologue of the function around it, as in GDB. So does
        the line of a function that is all on this line.
        """
        from dwarfgpu.program.code.code_lookup import name_and_offset

        addresses, text = self.addresses(place), AT_ALL.sub("", place.strip())
        if _LINE.fullmatch(text):
            return sorted({self._entered(self._with_parameters(address)) for address in addresses})
        if text.startswith("*") or _OFFSET.match(text) or name_and_offset(text)[1] is not None:
            return addresses
        return sorted({max(self._entered(address), self.reader.at(address).body) for address in addresses})

    def _entered(self, address: int) -> int:
        """Return the first instruction of the kernel in place of code before it: hardware skips that."""
        start = self.launched.plan.start
        first = first_instruction(start)
        return first if start.entry <= address < first else address

    def _with_parameters(self, address: int) -> int:
        """Return where the prologue of a function ends, if that is on the line where the function begins."""
        facts = self.reader.at(address)
        is_same = facts.is_prologue and self.position(facts.body).line == self.position(address).line
        return facts.body if is_same else address

    def stops_with(self, place: str, condition: str | None) -> list[int]:
        """Return those at which a condition means something; raise an error if there is none, as in GDB."""
        found, problems = self._meant(place, condition)
        if problems and not found:
            raise problems[0]
        return found

    def _meant(self, place: str, condition: str | None) -> tuple[list[int], list[DwarfGpuError]]:
        """Return the addresses at which a condition means something, and for each other one why it means nothing."""
        found, problems = [], []
        for address in self.stops(place):
            try:
                if condition is not None:
                    self.check_condition(condition, address)
                found.append(address)
            except DwarfGpuError as error:
                problems.append(error)
        return found, problems

    def left_out_text(self, place: str, condition: str | None) -> str | None:
        """Return at how many addresses of a place no wave stops, since its condition means nothing there."""
        found, problems = self._meant(place, condition)
        if not problems:
            return None
        where = f"{len(problems)} of {len(found) + len(problems)} places"
        return f"`{condition}` means nothing at {where}, so no wave stops there: {problems[0]}"

    def _here(self) -> Any:
        """Return the file of the kernel, which line numbers without a file belong to."""
        entry = self.launched.plan.kernel.entry
        line = None if entry is None else self.program.state.sources.at(entry)
        return None if line is None else (line.file, line.line)

    def _checked(self, address: int) -> int:
        code = self.attached.state.loaded.at(address)
        if code is None or not code.holds(address):
            here = address + self.launched.plan.load_address
            loaded = self.attached.state.loaded.at(here)
            if loaded is not None and loaded.holds(here):
                return here
            entry = self.launched.plan.start.entry
            raise UsageError(f"there is no code at {address:#x}", hint=f"the kernel begins at {entry:#x}")
        return address

    def position(self, address: int) -> CodePosition:
        """Return what an address of the code is in the source."""
        line = self.line_at(address)
        name, offset = self.attached.state.symbol_place(address) or (None, 0)
        if name is not None and is_body(name):
            name, offset = source_name(name), 0  # `kernel+20` is a place in the kernel that calls it
        if line is None:
            return CodePosition(address, name, offset)
        return CodePosition(address, name, offset, line.file.name, line.line, self._inlined_at(address, name))

    def _inlined_at(self, address: int, name: str | None) -> str | None:
        """Return the innermost function of an address if a call of it was inlined, except the body of a kernel."""
        frames = self.frames_at(address)
        inner = frames[0].name if len(frames) > 1 else None
        return None if inner is None or inner == (name or "").partition("(")[0] else inner

    def frames_at(self, address: int) -> Sequence[Frame]:
        """Return the functions that an address of the running program is in, innermost first, without a state."""
        return self.program.at(address - self.launched.plan.load_address)

    def line_at(self, address: int) -> LineAt | None:
        try:
            return self.attached.state.sources.at(address)
        except DwarfGpuError:
            return None

    # --- Breakpoints ----------------------------------------------------------------------------------------------

    def break_at(self, place: str, condition: str | None = None) -> list[Breakpoint]:
        """Let waves stop at a place, where an expression of the source language is true in a lane that executes.

        The place may also be ``PLACE if CONDITION``.
        """
        place, condition = place_and_condition(place, condition)
        points = [self.machine.break_at(address) for address in self.stops_with(place, condition)]
        for point in points:
            self._let_stop(point, condition)
        return points

    def _let_stop(self, point: Breakpoint, condition: str | None) -> None:
        """Let waves stop at a breakpoint only where a condition is true."""
        if condition is not None:
            point.condition, point.holds = condition, partial(self.truth, condition, number=point.number)
            point.guard = partial(self.guard, condition)

    def missed_text(self, place: str, points: Iterable[Breakpoint], condition: str | None = None) -> str | None:
        """Return that no lane has reached a place where breakpoints are, or none with the condition; None if one has.

        Where the line of the place has no code, say at which line they are, and where the line begins again.
        """
        points = list(points)
        if any(point.hits for point in points):
            return None
        place, at_all = AT_ALL.subn("", place.strip())
        addresses = [address for point in points for address in point.addresses]
        moved, told = self.moved_text(place, addresses), ""
        is_reached = condition is not None and any(point.is_reached for point in points)
        if is_reached:
            is_line = moved is None and _LINE.fullmatch(place)
            told = f" had `{condition}` {'before it executed the line' if is_line else 'there'}"
        elif condition is not None:
            is_open = all(any(self.unanswered(condition, [address])) for address in addresses)
            told = f", where `{condition}` has no value" if is_open else f" with `{condition}`"
        where = f"{place}{told}{'' if moved is None else f'; {moved}'}"
        more = None if at_all else self._more_places(place)
        if more:
            count = len(self.stops(place))
            where += f", at {count} of the line's {count + more} places: `{place} -all` stops at each"
        left_out = self.left_out_text(place, condition)
        is_passed = condition is None and any(point.is_passed_without_lanes for point in points)
        who = "only waves without an active lane came" if is_passed else f"no lane {'that ' * is_reached}came"
        return f"{who} to {where}{'' if left_out is None else f'; {left_out}'}"

    def moved_text(self, place: str, addresses: Sequence[int]) -> str | None:
        """Return at which line the breakpoints of a line without code are."""
        lines = {self.position(address).line for address in addresses}
        asked = re.search(r"(?:^|:)(\d+)$", AT_ALL.sub("", place.strip()))
        if asked is None or not lines or int(asked[1]) in lines:
            return None
        return f"line {asked[1]} has no code of its own, so it stops at line {min(lines)}"

    def others_text(self, place: str) -> str | None:
        """Return at how many places a line begins that no breakpoint at it is at, and how to stop there."""
        count = self._more_places(place)
        places = f"{count} more place{'s' * (count > 1)}"
        return f"the line begins at {places}: `{place} -all` stops at each" if count else None

    def _more_places(self, place: str) -> int:
        return len(self.stops(f"{place} -all")) - len(self.stops(place)) if _LINE.fullmatch(place) else 0

    def check_condition(self, text: str, address: int) -> None:
        """Refuse a condition that no wave could answer there."""
        frame = next(iter(self.frames_at(address)), self.program.outside)
        check_readable(text, frame, lambda expression: expression.value())  # there is no state yet

    def variables_of(self, text: str, address: int) -> list[Variable]:
        """Return the variables that a condition names at an address."""
        from dwarfgpu.program.frames.evaluator import variables_in

        frame = next(iter(self.frames_at(address)), self.program.outside)
        return variables_in(frame, frame.expression(text).tree)

    def unanswered(self, text: str, addresses: Sequence[int]) -> Iterator[str]:
        """Yield which variables of a condition have no value at some of the addresses, so that waves always stop."""
        from dwarfgpu.program.frames.reasons import NO_LOCATION_HERE, OPTIMIZED_OUT

        lacking: dict[str, list[str]] = {}
        for address in addresses:
            for variable in self.variables_of(text, address):
                try:
                    variable.value()  # there is no state yet
                except DwarfGpuError as error:
                    if error.kind in (NO_LOCATION_HERE, OPTIMIZED_OUT):
                        lacking.setdefault(variable.name or "", []).append(error.message)
        for name, reasons in lacking.items():
            where = "here" if len(addresses) == 1 else f"at {len(reasons)} of {len(addresses)} places"
            yield f"{name} has no value {where}, so waves that come there stop whatever `{text}` is: {reasons[0]}"

    def _discoveries(self, text: str, device: Device, function: Die | str | None = None) -> Discoveries:
        from dwarfgpu.execution.control.placed import Discoveries, condition_in  # for those who ask

        key = text, function
        if key not in self._conditions:
            self._conditions[key] = Discoveries(self.attached, device, condition_in(text, function))
        return self._conditions[key]

    def guard(self, text: str | None, batch: WaveBatch) -> Callable[[Any], None] | None:
        """Return what writes that compiled code leaves waves to Python where a condition may be true, if it can be."""
        found = None if text is None else self._discoveries(text, self.machine.device).discovery(batch)
        return None if found is None else found.guard

    def flags(self, text: str, batch: WaveBatch, device: Device, function: Die | str | None = None) -> Any:
        """Return in which lanes a condition is true as far as it is a column, of frames of ``function``; else None."""
        from dwarfgpu.execution.control.placed_columns import Unplaced

        column, shape = self._discoveries(text, device, function).at(batch), (batch.count, batch.lanes)
        with suppress(Unplaced):
            flags = None if column is None else column(batch)
            return flags if flags is None or flags.shape == shape else np.broadcast_to(flags, shape)
        return None

    def truth(self, text: str, arrival: Arrival, number: int = 0) -> Any:
        """Return in which lanes of waves an expression is true. Lanes where it has no value count as true."""
        self.condition_problem = None
        known = self.flags(text, arrival.batch, arrival.device)
        if known is not None:
            return known
        from dwarfgpu.program.frames.all_waves import by_place

        waves: list[int] = arrival.waves.tolist()
        machine = arrival.machine  # which has the registers of these waves now
        flags = np.zeros((len(waves), machine.target.lane_count), bool)
        rows = {machine.ids[wave]: row for row, wave in enumerate(waves)}
        for _index, values in by_place(self.attached, (text,), waves=waves, lanes="all"):
            places = [rows[name] for name in values.names]
            if values.has_failed:
                _count, reason = next(values.missing(inactive=False))
                self.condition_problem = ConditionProblem(number, f"{text} ({reason.message})")
            array = np.asarray(values.filled(1))
            if array.dtype.kind not in "biuf" or array.ndim != 2:
                raise EvaluationError("condition", f"{text[:60]!r} is not a number, which a condition must be")
            flags[places] = array != 0
        return flags

    # --- Running --------------------------------------------------------------------------------------------------

    def name_variables(self) -> None:
        """Let checks name variables, which are only there while the waves run."""
        if self.machine.checks is not None:
            from dwarfgpu.execution.control.check_report import WaveVariables

            WaveVariables(self)

    def run(self, until: str | int | None = None, *, limit: int | None = None) -> Halt:
        """Run to the next halt; ``until`` is a place at which waves stop this time: ``PLACE``, ``PLACE if CONDITION``.

        ``limit`` is a number of instructions, each counted for each wave. Blocks would pass it, so the last
        instructions are executed one by one, and the very last perhaps in some of the waves.
        """
        self.name_variables()
        if self.keeps_launch:
            from dwarfgpu.execution.control.checkpoints import keep_launch

            keep_launch(self.machine)
            self.keeps_launch = False
            if self.launched.plan.lacks_arguments:
                warnings.warn(self.launched.plan.notes[0], stacklevel=2)
        self.end = self.condition_problem = None
        if until is not None:
            place, condition = place_and_condition(str(until))
            self.end = Breakpoint(0, self.stops_with(place, condition), text=str(until))
            self._let_stop(self.end, condition)
        return self._explained(self.machine.run(until=self.end) if limit is None else self._run_on(limit))

    def _explained(self, halt: Halt) -> Halt:
        """Return a halt with the problem of the condition that has stopped the waves."""
        problem = self.condition_problem
        if problem is None or all(point.number != problem.breakpoint for point in halt.points):
            return halt
        return evolve(halt, problem=problem.text)

    def _run_on(self, limit: int) -> Halt:
        """Execute so many instructions, if nothing stops the waves before."""
        machine, device = self.machine, self.machine.device
        end, slack = device.executed + limit, LONGEST * min(machine.wave_count, WIDEST)
        halt = machine.run(until=self.end, limit=limit - slack) if limit > slack else None
        if halt is not None and halt.kind != halts.LIMIT:
            return halt
        last: list[WaveBatch] = []
        before = device.observer

        def is_there(batch: WaveBatch) -> bool:
            if device.executed + batch.count <= end:
                return before is not None and before(batch)
            last.append(batch)
            device.halt = Halt(halts.LIMIT, "")
            return True

        device.observer = is_there
        try:
            halt = machine.run(until=self.end)
        finally:
            device.observer = before
        if halt.kind != halts.LIMIT:
            return halt
        for wave in last[0].waves[: end - device.executed].tolist():
            halt = machine.step(wave)
            if halt.kind in (halts.FAULT, halts.TRAP):
                return halt
        device.halt = Halt(halts.LIMIT, f"{device.executed} instructions have been executed")
        return device.halt

    def printed(self) -> Iterator[str]:
        """Yield what the kernel has printed so far."""
        plan = self.launched.plan
        metadata = plan.file.kernels.metadata
        if plan.printf_buffer and metadata is not None:
            from dwarfgpu.execution.control.printf import printed
            from dwarfgpu.execution.launch.dispatch import PRINTF_BYTES

            memory = bytes(self.machine.memory.writable(plan.printf_buffer, PRINTF_BYTES))
            yield from printed(memory, metadata.printf)

    # --- Buffers --------------------------------------------------------------------------------------------------

    def planned_buffer(self, name: str) -> PlannedBuffer:
        """Return the buffer of an argument, by the name or the position of the argument."""
        plan = self.launched.plan
        for buffer in plan.buffers:
            if name in (buffer.name, str(buffer.position)):
                return buffer
        names = [buffer.name for buffer in plan.buffers]
        hint = nearest_hint(name, names, f"the buffers are {', '.join(names) or 'none'}")
        raise UsageError(f"{plan.kernel.source_name} has no buffer {name[:40]!r}", hint=hint)

    def buffer(self, name: str) -> Any:
        """Return its memory as an array."""
        return self.launched.buffers[self.planned_buffer(name).name]

    def save(self, name: str, path: str) -> None:
        """Write a buffer to a file, whole or not at all, in the format that the end of its name says."""
        check_result_file(path)
        array, suffix = self.buffer(name), _suffix(path)
        content = picture(array, self.planned_buffer(name).order or "") if suffix == ".png" else b""
        with whole_output(path) as stream:
            if suffix == ".npy":
                np.save(OnlyWrites(stream), array, allow_pickle=False)
            elif suffix == ".csv":
                from dwarfgpu.execution.launch.argument_values import objects_of

                stream.write(_table(objects_of(array, self.planned_buffer(name).pointed)).encode())
            else:
                stream.write(content or np.ascontiguousarray(array).tobytes())


def place_and_condition(text: str, condition: str | None = None) -> tuple[str, str | None]:
    """Return what is before `` if `` in a text, and the condition behind it, or another one where it has none."""
    place, _, own = text.partition(" if ")
    return place.strip(), own.strip() or condition


RESULT_FILES = ".npy", ".csv", ".png", ".bin", ".raw", ""
"""How the names of files end that a buffer can be written to; the last three have its bytes."""


def check_result_file(path: str) -> None:
    """Refuse a file whose format is none of a buffer."""
    if _suffix(path) not in RESULT_FILES:
        hint = "write NAME.npy, .csv, .png, or .bin for the bytes as they are"
        raise UsageError(f"a buffer cannot be written as {_suffix(path)}: {path}", hint=hint)


def _suffix(path: str) -> str:
    return PurePath(path).suffix.lower()


def _table(array: Any) -> str:
    """Return an array as CSV: a row for each structure, below the names of its members, or for the last axis."""
    import csv

    text = StringIO()
    writer = csv.writer(text, lineterminator="\n")
    names = array.dtype.names
    if names:
        writer.writerow(names)
    rows = array.reshape(-1) if names else array.reshape(-1, array.shape[-1] if array.ndim > 1 else 1)
    writer.writerows([str(value) for value in row] for row in rows)
    return text.getvalue()


def _is_behind(frame: Frame | None, asked: Linespec) -> bool:
    """Return whether the function of a frame begins behind a line of its file."""
    if frame is None or frame.code is None or frame.function is None or asked.file is None:
        return False
    from dwarfgpu.program.code.code_lookup import declared_at

    begin = declared_at(frame.code.file, frame.function)
    return (
        begin is not None
        and begin.line > asked.line
        and PurePath(begin.file or "").name == PurePath(asked.file.path).name
    )


def check_readable(text: str, frame: Frame, ask: Callable[[SourceExpression], object]) -> None:
    """Refuse a condition that is an assignment, calls a function, or has names that nobody knows in a frame."""
    from dwarfgpu.program.language.tokens import is_assignment

    if is_assignment(text):
        raise UsageError(f"{text[:60]!r} is an assignment", hint="write == to compare")
    expression = frame.expression(text)
    try:
        ask(expression)
    except DwarfGpuError as error:
        if error.kind in ("no_name", "unsupported"):
            raise
    expression.check_names()


def launch(
    file: File | bytes,
    kernel: str,
    args: Any = None,
    *,
    grid: Sequence[int] | int,
    work_group: Sequence[int] | int | None = None,
    machine: Gpu | None = None,
    **options: Any,
) -> Running:
    """Launch a kernel: put everything in memory, and every wave at its first instruction.

    ``file`` is a name, also of a source, or what `dwarfgpu.open` returns. ``args`` are the arguments by position or by
    name: numbers, ``bytes``, arrays, which are copied to global memory (`Running.buffers`), lists and dictionaries for
    structures, or texts as on the command line (``"zeros(1024, f4)"``); without any all are 0.

    ``grid`` and ``work_group`` are one to three sizes in work-items; without ``work_group`` it is the one that the
    kernel requires, or that Triton launches it with. ``machine`` is that of an earlier launch, whose buffers are kept.
    ``private_size`` gives a work-item more private memory than the kernel asks for, ``dynamic_local`` adds local memory
    to each work-group. ``padding`` is how many bytes before and after each buffer have no memory (64 KiB). With
    ``permissive`` it is 0, and accesses outside local and private memory read 0 and store nothing; otherwise they are
    faults.

    Of a grid that is too large for the machine some work-groups start when earlier ones have ended: ``at_once`` is how
    many waves there are at a time. ``seed`` chooses another order in which work-groups start and waves run.

    ``weak_memory`` is a seed, too: memory is then as weak as the memory model allows. Work-groups are shared out to
    ``agents``, and the buffers of the arguments ``fine_grained`` are memory that L2 does not keep.

    ``check`` names what is checked while the waves run: ``"race,wait"``, or ``"all"``; `Running.findings` is what that
    has found. Buffers of the arguments ``read_only`` are not to be written, besides those that the source declares
    ``const``, and those of ``write_only`` are not to be read.

    >>> import dwarfgpu as dg
    >>> kernel = dg.launch("blur.co", "blur", ["arange(50)", "zeros(50)", 49], grid=64, work_group=64)
    >>> print(kernel.run())
    all waves have ended
    >>> kernel.buffers["out"][:3].tolist()
    [0.5, 1.0, 2.0]
    """
    from dwarfgpu.execution.launch import launch as dispatch

    if isinstance(file, bytes):
        file = opened(file)
    if not isinstance(file, (Program, CodeObject, str, os.PathLike)):
        message = f"a {type(file).__name__} is not a file of code"
        hint = "launch(FILE, KERNEL, ARGUMENTS, grid=N, work_group=N), where FILE is a name, or what `open` returns"
        raise UsageError(message, hint=hint)
    if machine is None:
        machine = dispatch.machine_for(file, kernel)
    launched = dispatch.launch(machine, file, kernel, args=args, grid=grid, work_group=work_group, **options)
    program = file if isinstance(file, Program) else None
    if program is not None and program.file is not launched.plan.file:
        program = Program(launched.plan.file, dialect=program.dialect, repair=program.repair)
    running = Running(launched, program=program)
    running.keeps_launch = True
    return running


def launched_with(
    program: Program, kernel: str, words: Sequence[str] | dict[int, Any] | None, option: Callable[[str], Any]
) -> Running:
    """Launch a kernel as a command line says: ``words`` are its arguments, ``option`` returns what an option has.

    Arguments by position may also be numbers, bytes and arrays; without any (None) all are 0. The word `MADE` alone
    stands for arguments that are made from their types.
    """
    from dwarfgpu.execution.launch import planning
    from dwarfgpu.execution.launch.launch import machine_for
    from dwarfgpu.execution.launch.made_arguments import MADE, made_arguments, made_text
    from dwarfgpu.execution.launch.missing_words import check_complete
    from dwarfgpu.execution.launch.options import LaunchOptions

    file = runnable(program.file)
    program = program if file is program.file else Program(file)
    options = LaunchOptions.read(option)
    is_made, made = words in ([MADE], (MADE,)), ""
    if not isinstance(words, dict):
        check_complete(file, kernel, options.grid, options.work_group, None if is_made else words or ())
    if is_made:
        words = made_arguments(program, kernel, prod(options.grid), options.seed or 0)
        made = made_text(file, kernel, words)
    machine = machine_for(file, kernel)
    machine.jit, machine.keeps_code = option("jit") or "auto", not option("no-cache")
    args = planning.arguments(words, "argument") if isinstance(words, (list, tuple)) else words
    running = launch(program, kernel, args, machine=machine, **asdict(options))
    running.made = made
    running.keeps_launch = False  # who steps or traces it decides
    return running
