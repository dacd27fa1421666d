"""Why waves have crashed, or what they wait for, as text and as JSON: one screen."""

from __future__ import annotations

from itertools import repeat
from typing import TYPE_CHECKING, Any

from dwarfgpu.audits.faults import last_changes, waits
from dwarfgpu.audits.faults.fault_log import reported_address
from dwarfgpu.audits.faults.wave_faults import (
    ALSO_NULL,
    MOST_CALLS,
    NEAREST_OF_SOME,
    SPACE_NAMES,
    wave_faults,
    with_changes,
)
from dwarfgpu.demangle import demangled
from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.machines.protocol import ADDRESS, REGISTER, VARIABLE
from dwarfgpu.program.code.source_files import SourceTexts
from dwarfgpu.program.frames.all_waves import attached_of
from dwarfgpu.program.frames.wave_positions import group_text
from dwarfgpu.render.backtrace import CallWriter, arguments_text
from dwarfgpu.render.lanes import global_ids, group_words, items_text, lanes_of, signal_text
from dwarfgpu.render.layout import (
    Fact,
    Record,
    counted,
    fact,
    fitted,
    hexadecimal,
    labelled,
    nested,
    paragraphs,
    problem_json,
    ranges_text,
    shown,
    style,
)
from dwarfgpu.render.source_places import line_text, place_text
from dwarfgpu.render.values import PLAIN, Look, value_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from dwarfgpu.audits.faults.fault_log import LoggedFault
    from dwarfgpu.audits.faults.waits import WaitingGroups, WaitingWaves
    from dwarfgpu.audits.faults.wave_faults import (
        CallingLine,
        ChangeBefore,
        FailedAccess,
        LanesOutside,
        MissedBuffer,
        WaveFault,
    )
    from dwarfgpu.machines.protocol import LastChange
    from dwarfgpu.program.code.code_object import CodeObject
    from dwarfgpu.program.code.scopes import SourceLine
    from dwarfgpu.program.frames.all_waves import HasWaves
    from dwarfgpu.program.frames.frame import Frame
    from dwarfgpu.program.frames.wave_positions import Triple
    from dwarfgpu.render.layout import Json
    from dwarfgpu.states.program import Attached
    from dwarfgpu.states.stopped import Stopped

MAX_LINES = 4
"""The most waves of an access that are described one by one."""

MAX_NUMBERS = 60
"""The most characters of a list of waves."""
MAX_LOGGED = 4
"""The most faults of a log that are shown."""
MAX_FACTS = 12
"""The most facts of a logged fault that are shown."""
MAX_NAMED = 8
"""The most kernels of a file that are named."""

MISSED = Record("argument=name address# size nearest farthest opposite# why certain=is_certain")
OUTSIDE = Record(
    "wave work_group lanes work_items=ends",
    fact("global_ids", value=lambda row: global_ids(row.ends, row.origin)),
    fact("addresses", value=lambda row: [f"{at:#x}" for at in row.addresses]),
    fact("each", value=lambda row: [*map(_lane_json, row.lanes, row.items, row.addresses or repeat(None))]),
)
ACCESS = Record(
    "address# instruction source action space size outstanding=is_outstanding null=is_null alignment other_lanes",
    "overflows pointer expression",
    nested("outside=lanes", OUTSIDE),
    nested("missed", MISSED),
)


def _lane_json(lane: int, item: Triple | None, address: int | None) -> dict[str, Any]:
    return {"lane": lane, "work_item": item, "address": hexadecimal(address)}


def _texts(key: str) -> Fact:
    return fact(key, value=lambda row: [{"name": name, "value": value} for name, value in getattr(row, key)])


ARGUMENTS, VALUES = map(_texts, ("arguments", "values"))
CALLER = Record(
    fact("function", value=lambda row: row.frame.name),
    ARGUMENTS,
    fact("source", value=lambda row: row.frame.call.source and line_text(row.frame.call.source)),
    fact("found?", value=lambda row: row.frame.found or None),
    "line",
    VALUES,
)
CHANGE = Record(
    "name=change.name frame=change.frame", fact("wave", value=lambda row: row.number + 1), "lane=change.lane",
    fact("source", value=lambda row: row.source and line_text(row.source)), "pc=change.pc#",
    "old=change.old new=change.new kind=change.kind",
)  # fmt: skip
FAULT = Record(
    "waves reasons signal detail? kernel",
    fact("function", value=lambda row: row.frame.name),
    ARGUMENTS,
    fact("source", value=lambda row: row.source and _place(row).removeprefix(" at ")),
    "pc# line cause",
    nested("executing=lanes", OUTSIDE),
    nested("accesses", ACCESS),
    "rank",
    VALUES,
    nested("callers", CALLER),
    nested("changes", CHANGE),
    "waves_examined=examined problems",
    fact("recursion_depth?", value=lambda row: row.depth or None),
)

LOGGED = Record(
    "kind page# line times", fact("near_null", value=lambda row: row.is_near_null),
    nested("facts", Record("name value meaning? source")),
)  # fmt: skip
BRIEF = Look(elements=16, parts=64)
"""A fault fits on one screen."""
DONE = {"load": "read", "store": "wrote", "atomic": "updated", "rmw": "updated"}


def fault_of(stopped: Attached | HasWaves, address: int | None = None) -> Json:
    """Return the fields of ``fault --json``: why waves have crashed, or what they wait for.

    ``address`` is the address that the driver reported: accesses to its page come first.

    >>> import dwarfgpu as dg
    >>> [fault] = dg.fault(dg.open_core("blur.core"))["faults"]
    >>> [access] = fault["accesses"]
    >>> fault["source"], access["expression"], access["outside"][0]["lanes"], access["missed"][0]["argument"]
    ('blur.cl:10', 'in[j]', [17], 'in')
    """

    def writer(frame: Frame, lane: int | None) -> CallWriter:
        return CallWriter(lane or 0 if frame.has_lanes else None, PLAIN)

    attached = attached_of(stopped)
    state = attached.stopped
    found = [with_changes(each, state.machine) for each in faults_in(state, SourceTexts(), writer, address)]
    return faults_json(attached, found, waits.waiting_groups(state, is_after_crash=bool(found)))


def faults_in(
    stopped: Stopped, reader: SourceTexts, writer: Callable[[Frame, int | None], CallWriter], address: int | None = None
) -> Iterator[WaveFault]:
    """Yield why waves have stopped, with the lines of the source, and the arguments as a backtrace shows them."""

    def line(frame: Frame, source: SourceLine | None) -> str | None:
        file = None if source is None or source.file is None else frame.state.sources.with_path(source.file, frame.unit)
        return None if file is None or source is None else reader.read(file).line(source.line)

    def arguments(frame: Frame, lane: int | None) -> list[tuple[str, str]]:
        try:
            return writer(frame, lane).values(frame)
        except DwarfGpuError:
            return []

    return wave_faults(
        stopped, line, address, lambda value, most: value_text(value, Look(elements=most, parts=4 * most)), arguments
    )


def faults_json(
    stopped: Attached,
    faults: Iterable[WaveFault],
    groups: Iterable[WaitingGroups],
    logged: Iterable[LoggedFault] | None = None,
) -> Json:
    """Return faults, and work-groups that wait, as a JSON object."""
    return {
        "target": stopped.state.target.name,
        "logged": [*map(LOGGED.json, logged or ())],
        "faults": [*map(FAULT.json, faults)],
        "waits": [*map(WAITS.json, groups)],
        "problems": [*map(problem_json, stopped.stopped.problems)],
    }


def fault_text(fault: WaveFault, kernel: str | None = None, *, goes_back: bool = False) -> Iterator[str]:
    """Yield the lines of a fault: place, access, lanes, values. For a run, they begin with the kernel.

    ``goes_back``: the reader has a prompt at which the machine can step back.
    """
    frame, why = fault.frame, "|".join(fault.reasons) or shown(fault.detail)
    if kernel is None:
        of_kernel = f"kernel {shown(fault.kernel)}: " if fault.kernel and fault.kernel != frame.name else ""
        signal = signal_text(fault.reasons)
        head = f"{of_kernel}{_call(frame, fault.arguments)}{_place(fault)}: {why}"
        head += f" ({signal})" if signal else ""
    else:
        function = f" in {shown(frame.name)}" if frame.name and frame.name != fault.kernel else ""
        head = f"{demangled(kernel)}: {why}{function}{_place(fault)}"
    yield from (style("error", line) for line in fitted(head, 2))
    if fault.line is not None and fault.source is not None:
        yield f"{fault.source.line}\t{shown(fault.line.strip())}"
    numbers = _some(ranges_text(number + 1 for number in fault.numbers), len(fault.numbers))
    yield from fitted(f"wave{'s' if len(fault.waves) > 1 else ''} {numbers} at {fault.pc or 0:#x}", 2)
    if fault.detail and fault.reasons and not any(access.missed or access.alignment for access in fault.accesses):
        yield from fitted(fault.detail, 2)
    if fault.cause is not None:
        yield from fitted(shown(fault.cause), 2)
    for lanes in fault.lanes[:MAX_LINES]:
        yield from fitted(_lanes_text(lanes, fault.source), 2)
    several = len(fault.accesses) > 1
    if several:
        yield from fitted(f"one of {len(fault.accesses)} accesses; the first is the likeliest: {fault.rank}", 2)
    for access in fault.accesses:
        yield from _access_lines(access, fault)
    left = len(fault.waves) - fault.examined
    if left > 0:
        yield from fitted(f"{counted(left, 'more wave')} with this reason here: the registers were not looked at", 2)
    if fault.values and len(fault.numbers) > 1:
        yield f"variables of the line in the lanes of wave {_values_wave(fault)}:"
    yield from _values_lines(fault.values)
    for caller in fault.callers:
        yield from _caller_lines(caller)
    for change in fault.changes:
        yield from fitted(_variable_change_text(change, goes_back=goes_back), 2)
    for problem in fault.problems:
        yield from (style("error", line) for line in fitted(problem, 2))


def faults_text(faults: Iterable[WaveFault], kernel: str) -> list[str]:
    """Return the lines of the faults of a run."""
    return [*paragraphs(fault_text(each, kernel) for each in faults)]


def logged_text(faults: Sequence[LoggedFault]) -> Iterator[str]:
    """Yield the facts of a log about the faults of a GPU."""
    for number, fault in enumerate(faults[:MAX_LOGGED]):
        if number:
            yield ""
        times = "" if fault.times == 1 else f", {fault.times} times"
        place = "" if fault.page is None else f" in the page {fault.page:#x}"
        yield from (style("error", line) for line in fitted(f"{fault.kind}{place} (line {fault.line}{times})", 2))
        if fault.is_near_null:
            yield from labelled("  address", "near 0: probably a null pointer, with the offset of an element")
        for row in fault.facts[:MAX_FACTS]:
            words = f"{row.value}: {row.meaning}" if row.meaning else row.value
            yield from labelled(f"  {row.name}", f"{words} [{row.source}]")
        if len(fault.facts) > MAX_FACTS:
            yield f"  and {len(fault.facts) - MAX_FACTS:,} more such lines (--json has all)"
    if len(faults) > MAX_LOGGED:
        yield f"and {counted(len(faults) - MAX_LOGGED, 'more fault')}, from line {faults[MAX_LOGGED].line} on"


def not_logged(faults: Sequence[LoggedFault]) -> str:
    """Return the facts that are missing in a log."""
    known = any(row.name == "kernel" for fault in faults for row in fault.facts)
    return f"{'' if known else 'kernel, '}work-group, lane, line, argument"


def not_logged_text(faults: Sequence[LoggedFault], file: CodeObject | None) -> Iterator[str]:
    """Yield the facts that are missing in a log, the kernels that may have failed, and how to get a core file."""
    yield f"not in the log: {not_logged(faults)}"
    if file is not None:
        kernels = file.kernels.kernels
        names = ", ".join(shown(kernel.demangled) for kernel in kernels[:MAX_NAMED])
        more = "" if len(kernels) <= MAX_NAMED else f" and {len(kernels) - MAX_NAMED} more"
        yield from fitted(f"{shown(file.name)} has {counted(len(kernels), 'kernel')}: {names}{more}", 2)
        own = {name for kernel in kernels for name in (kernel.name, kernel.demangled, kernel.source_name)}
        for name in dict.fromkeys(row.value for fault in faults for row in fault.facts if row.name == "kernel"):
            yield from fitted(f"the log names {shown(name)}{'' if name in own else ', which is not one of them'}", 2)
    page = reported_address(faults)
    if file is not None and str(file.target.target_id).startswith("gfx110"):
        yield f"{file.target.target_id} writes no core file; run the program in rocgdb, and at the fault:"
        yield "  gcore gpucore.PID"
    else:
        yield "a core file contains them; before you run the program again:"
        yield "  ulimit -c unlimited"
        yield "  export HSA_COREDUMP_PATTERN=gpucore.%p"
        yield "the crash leaves core.PID and gpucore.PID; keep both, and type:"
    yield f"  dwarfgpu fault gpucore.PID{'' if page is None else f' --address {page:#x}'}"
    if file is not None:
        yield "or run the kernel here, without a GPU:"
        yield from fitted(f"  dwarfgpu run {shown(file.name)} KERNEL --grid N --work-group N ARG...", 4)


def _place(fault: WaveFault) -> str:
    """Return the line that failed; of code that belongs to no line, that it is the one before."""
    return f" {place_text(fault.frame)}" if fault.is_made else _at(fault.source)


def _at(source: SourceLine | None) -> str:
    return "" if source is None else f" at {line_text(source)}"


def _values_lines(values: Iterable[tuple[str, str]]) -> Iterator[str]:
    absent: dict[str, list[str]] = {}
    for name, value in values:
        if value.startswith("<"):
            absent.setdefault(value, []).append(name)
        else:
            yield from fitted(f"  {name} = {value}", 4)
    for value, names in absent.items():
        yield from fitted(f"  {', '.join(names)} = {value}", 4)


CHANGED = {VARIABLE: "`{}`", REGISTER: "the register of `{}`", ADDRESS: "the address in {}"}
"""The kinds of changes, in words."""


def _variable_change_text(row: ChangeBefore, *, goes_back: bool) -> str:
    """Return the last change of a variable, and how to go there."""
    change = row.change
    span = (f"from {change.old} " if change.old else "") + (f"to {change.new}" if change.new else "")
    name = CHANGED[change.kind].format(shown(change.name)) + (f" of {shown(row.caller)}" if row.caller else "")
    told = f"{name} was last changed{_at(row.source)}"
    told += f", {span.strip()}" if span else ""
    where = f"wave {row.number + 1}, lane {change.lane}"
    if not goes_back or change.kind != VARIABLE:
        return f"{told} ({where})"
    frame = f"`frame {change.frame}`, " if change.frame else ""
    return f"{told}: in {where}, {frame}`watch {change.name}` and `reverse-continue` go there"


def _call(frame: Frame, arguments: Iterable[tuple[str, str]]) -> str:
    return f"{shown(frame.name or '??')} ({arguments_text(arguments)})"


def _caller_lines(caller: CallingLine) -> Iterator[str]:
    frame, source = caller.frame, caller.frame.call.source
    found = f" ({frame.found})" if frame.found else ""
    yield from fitted(f"called by {_call(frame, caller.arguments)}{_at(source)}{found}", 2)
    if caller.line is not None and source is not None:
        yield f"{source.line}\t{shown(caller.line.strip())}"
    yield from _values_lines(caller.values)


def _some(numbers: str, count: int) -> str:
    """Return a list of wave numbers, or its beginning and the number of waves."""
    if len(numbers) <= MAX_NUMBERS:
        return numbers
    return f"{numbers[: numbers.rindex(',', 0, MAX_NUMBERS)]},... ({count:,} in all)"


def _values_wave(fault: WaveFault) -> int:
    lanes = next((access.lanes for access in fault.accesses if access.lanes), None)
    return (lanes[0].number if lanes else fault.numbers[0]) + 1


def _access_lines(access: FailedAccess, fault: WaveFault) -> Iterator[str]:
    state = " (may be in flight)" if access.is_outstanding else ""
    if access.other_lanes:
        state = " (may be in flight; EXEC was written since, so some of the lanes may not have executed it)"
    source = "" if access.source is None else f" of {shown(access.source)}"
    yield from fitted(f"=> {access.address:#x}{source}: {shown(access.instruction)}{state}", 4)
    for lanes in access.lanes[:MAX_LINES]:
        yield from fitted(f"  {_lanes_text(lanes, fault.source)} {_reach(access, lanes)}", 4)
    if len(access.lanes) > MAX_LINES:
        yield f"  and lanes of {counted(len(access.lanes) - MAX_LINES, 'more wave')}"
    if access.expression is not None:
        yield from fitted(f"  this is `{shown(access.expression)}`", 4)
    nulls = [row for row in access.missed if access.is_null and not row.address]
    others = [row for row in access.missed if row not in nulls]
    also = any(row.why == ALSO_NULL for row in nulls)
    if access.pointer is not None:
        yield f"  `{shown(access.pointer)}` is null"
    elif access.is_null:
        names = " or ".join(f"`{shown(row.name)}`" for row in nulls)
        what = f"one of {names}" if len(nulls) > 1 and not also else "the pointer" if also else names
        what = what if what and all(row.is_certain for row in nulls) else f"probably {what or 'the pointer'}"
        some = " in some lanes" if others else ""
        also_text = f"; so is {names.replace(' or ', ' and ')}" if also else ""
        yield from fitted(f"  {what} is null{some}{also_text}", 4)
    if others:
        is_split = len(others) > 1 and others[0].why == NEAREST_OF_SOME
        likely = "one of " if len(others) > 1 else "" if others[0].is_certain else "probably "
        where = f"in the first {fault.examined} waves: " if len(fault.waves) > fault.examined else ""
        where += "others: " if access.is_null else ""
        where += "probably different buffers: " if is_split else likely
        yield from fitted(f"  {where}{('; ' if is_split else ', ').join(map(_missed_text, others))}", 4)
    elif not access.is_null and access.lanes and access.is_global and access.alignment is None:
        yield "  not known which argument"
    if access.overflows and fault.depth:
        count = f"{'at least ' if fault.depth == MOST_CALLS else ''}{fault.depth}"
        text = f"stack overflow: {shown(fault.frame.name or '??')} calls itself, {count} of its calls have not returned"
        yield from fitted(f"  {text}", 4)
    elif access.overflows:
        yield "  stack overflow, or a wrong index into an array"
    if access.alignment is not None:
        yield f"  misaligned: the operation needs an address that is a multiple of {access.alignment}"


def _lanes_text(lanes: LanesOutside, source: SourceLine | None) -> str:
    file = None if source is None else source.file
    group = "" if lanes.work_group is None else f", {group_words(lanes.work_group, file)}"
    if not lanes.lanes:
        return f"wave {lanes.number + 1}{group}:"
    mask = sum(1 << lane for lane in lanes.lanes)
    items = items_text(mask, lanes.ends, lanes.origin, file)
    return f"wave {lanes.number + 1}{group}: {lanes_of(mask)}{items and f' ({items})'}"


def _reach(access: FailedAccess, lanes: LanesOutside) -> str:
    low, high = min(lanes.addresses), max(lanes.addresses)
    span = f"{low:#x}" if low == high else f"{low:#x} to {high:#x}"
    verb = DONE.get(access.action, "accessed")
    return f"{verb} {counted(access.size, 'byte')} at {'' if access.is_global else access.space + ' '}{span}"


def missed_variable(fault: WaveFault) -> str | None:
    """Return how far the access of a fault is outside of a variable in local or private memory; None of any other."""
    rows = fault.accesses[0].missed if fault.accesses else ()
    (row,) = rows if len(rows) == 1 else (None,)
    if row is None or not row.memory or row.name in SPACE_NAMES.values():
        return None
    return f"{'' if row.is_certain else 'probably '}{_missed_text(row)}"


def _missed_text(row: MissedBuffer) -> str:
    if row.size is None:
        return f"`{shown(row.name)}` = {row.address:#x}, where no memory is known"
    other = "" if row.opposite is None else f"; other lanes up to {row.buffer.reach(row.opposite)}"
    return shown(f"{row.buffer.where(row.first, row.last)}{other}")


# --- What waves wait for ------------------------------------------------------------------------------------------

NOBODY = "no wave of this state can go on; if this is a lock, one of them holds it, or a wave that has ended"
MAX_GROUPS = 8
"""The most kinds of work-groups that are described."""
LAST_CHANGE = Record("pc# waves lanes#")
READ = Record(
    "address# space size value compared argument=name instruction",
    fact("last_change?", value=lambda read: read.last_change and LAST_CHANGE.json(read.last_change)),
)
SITE = Record("address# instruction", fact("source", value=lambda site: site.source and line_text(site.source)))
LOOP = Record(
    fact("lines", value=lambda site: [line_text(line) for line in site.lines]),
    "certain=is_certain search_cut=is_search_cut",
    fact("reads", value=lambda site: [*map(READ.json, site.spin.reads)]),
)
WAITING = Record(
    "kind waves",
    fact("signalled", value=lambda row: row.site.has_signalled),
    fact("at", value=lambda row: SITE.json(row.site)),
    nested("in_flight=site.flying", SITE),
    fact("loop", value=lambda row: row.spin and LOOP.json(row.site)),
    fact("followed", value=lambda row: row.spin and row.waves[row.numbers.index(row.spin.wave)]),
)  # fmt: skip
WAITS = Record(
    "dispatch work_groups absent all_wait=is_still",
    fact(
        "rows",
        value=lambda group: [
            WAITING.json(row) | {"missing": [wave for other in group.missing(row) for wave in other.waves]}
            for row in group.rows
        ],
    ),
)
STATES = {
    waits.AT_BARRIER: ("wait at the barrier of {}", "waits at the barrier of {}"),
    waits.NEAR_BARRIER: ("are at the barrier of {}, or have passed it", "is at the barrier of {}, or has passed it"),
    waits.SPIN: ("are in the loop of {}", "is in the loop of {}"),
    waits.COUNTER: ("are at a wait, {}", "is at a wait, {}"),
    waits.SLEEP: ("may sleep at {}", "may sleep at {}"),
    waits.HALTED: ("are halted at {}", "is halted at {}"),
    waits.NEAR_HALT: ("are at the halt of {}, or have passed it", "is at the halt of {}, or has passed it"),
    waits.CRASHED: ("have crashed at {}", "has crashed at {}"),
    waits.ENDED: ("have ended", "has ended"),
    waits.AT_END: ("are at their end", "is at its end"),
    waits.ELSEWHERE: ("are at {}", "is at {}"),
}
"""What several waves do, and what one wave does."""


def waits_text(groups: list[WaitingGroups], *, is_after_crash: bool) -> Iterator[str]:
    """Yield the reasons why waves wait, by work-group."""
    if not is_after_crash:
        rows = [row for group in groups for row in group.rows]
        is_certain = any(row.kind in waits.CERTAIN and (row.spin is None or row.site.is_certain) for row in rows)
        yield f"no wave has crashed; these {'wait' if is_certain else 'may wait'}:"
    ended = frozenset(wave for group in groups for row in group.rows if row.kind == waits.ENDED for wave in row.waves)
    for group in groups[:MAX_GROUPS]:
        first, count = group.work_groups[0], len(group.work_groups)
        more = f" and {counted(count - 1, 'more work-group')} alike" if count > 1 else ""
        yield from fitted(f"work-group {'??' if first is None else group_text(first)}{more}:", 2)
        for row in group.rows:
            yield from fitted(f"  {_wait_text(group, row)}", 4)
            yield from _read_lines(row, ended, is_still=group.is_still)
            for access in row.site.flying:
                source = "" if access.source is None else f" of {line_text(access.source, short=True)}"
                yield from fitted(f"    may be in flight: {access.instruction}{source} ({access.address:#x})", 6)
        if group.absent:
            yield f"  {counted(group.absent, 'wave')} of it: not in this state (ended, or not saved)"
    if len(groups) > MAX_GROUPS:
        yield f"and {counted(sum(len(group.work_groups) for group in groups[MAX_GROUPS:]), 'more work-group')}"


def _change_text(
    change: LastChange, source: SourceLine | None, names: tuple[str, ...], ended: frozenset[str], own: str
) -> str:  # fmt: skip
    """Return the waves that changed a location last; ``own`` is the one that reads it in its loop."""
    if change.pc is None:
        return "no wave has changed it since the launch"
    numbers = shown(", ".join(names))
    who = f"wave {numbers}" if len(change.waves) == 1 else f"one of waves {numbers}"
    lanes = "" if change.lanes is None else f", {lanes_of(change.lanes)},"
    place = f"{change.pc:#x}" if source is None or not source.line else line_text(source, short=True)
    gone = f", and {'has' if len(change.waves) == 1 else 'all have'} ended" if ended.issuperset(change.waves) else ""
    gone = ", and is in this loop itself" if change.waves == (own,) else gone
    return f"{who}{lanes} changed it last, at {place}{gone}"


def _read_lines(row: WaitingWaves, ended: frozenset[str], *, is_still: bool) -> Iterator[str]:
    """Yield the locations that the followed wave reads in its loop."""
    spin = row.spin
    if spin is None:
        return
    if row.site.is_search_cut:
        limit = f"{last_changes.MOST_SECONDS:g} s"
        yield from fitted(f"    who changed it last was not found in {limit}: `watch` goes further", 6)
    who, own = f"wave {spin.wave + 1}", row.waves[row.numbers.index(spin.wave)]
    certain = "" if row.site.is_certain else "probably "
    yield f"    {who} {certain}cannot leave it{' while it reads:' if spin.reads else ''}"
    for read, (source, names) in [*zip(spin.reads, row.site.changes, strict=True)][:MAX_LINES]:
        name = "" if read.name is None else f" (`{shown(read.name)}`)"
        space = "" if read.space != "local" else "local "
        compared = f", compared with {' and '.join(read.compared)}" if read.compared else ""
        yield from fitted(
            f"      {counted(read.size, 'byte')} at {space}{read.address:#x}{name}: {read.value}{compared}", 8
        )
        if read.last_change is not None:
            yield from fitted(f"        {_change_text(read.last_change, source, names, ended, own)}", 10)
    if is_still and not row.site.is_search_cut and all(read.last_change is None for read in spin.reads):
        yield from fitted(f"    {NOBODY}", 6)
    if len(spin.reads) > MAX_LINES:
        yield f"      and {counted(len(spin.reads) - MAX_LINES, 'more location')}"


def _wait_text(group: WaitingGroups, row: WaitingWaves) -> str:
    several, one = STATES[row.kind]
    who = _numbers(group, [row])
    place = "an unknown place" if row.site.address is None else f"{row.site.address:#x}"
    if row.site.source is not None and row.site.source.line:
        place = line_text(row.site.source, short=True) + ("" if row.kind in waits.BARRIERS else f" ({place})")
    if row.site.lines:
        first, last = row.site.lines
        place = line_text(first, short=True) + (f"-{last.line}" if last.line > first.line else "")
    text = f"{who} {(several if who.startswith('waves') else one).format(place)}"
    if row.site.has_signalled and row.kind not in waits.BARRIERS:
        text += "; it has signalled the barrier" if who.startswith("wave ") else "; they have signalled the barrier"
    missing = group.missing(row)
    late = [other for other in missing if other.site.has_signalled is False]
    unsure = [other for other in missing if other.site.has_signalled is None]
    if late:
        text += f"; not signalled: {_numbers(group, late)}"
    if unsure and row.site.has_signalled is None:
        return f"{text}; not there: {_numbers(group, unsure)}"
    return f"{text}; perhaps not signalled: {_numbers(group, unsure)}" if unsure else text


def _numbers(group: WaitingGroups, rows: list[WaitingWaves]) -> str:
    """Return the waves of the first work-group."""
    count = len(group.work_groups)
    numbers = sorted(number + 1 for row in rows for number in row.numbers[: len(row.numbers) // count])
    return f"wave{'s' if len(numbers) > 1 else ''} {ranges_text(numbers)}"
