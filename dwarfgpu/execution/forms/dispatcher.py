"""The functions of LLVM IR that call forms and search memory for them.

Waves run in the order of the interpreter: all waves of a batch execute an instruction that reads or writes memory
before any of them goes on. Between two such instructions no wave sees what another does, so each goes alone. Where it
is hot, it goes in stretches. A wave may refuse an access to private memory then, when others have gone on.
"""

from __future__ import annotations

from dwarfgpu.execution.block_writer import LONGEST
from dwarfgpu.execution.compiled.layout import Cell
from dwarfgpu.execution.forms.layout import (
    HEAT,
    MOST_CALLS,
    RULE,
    SLOT,
    STRETCH,
    Place,
    Rule,
    StretchField,
    TurnCell,
    TurnExit,
)

FIND = "forms_find"
"""``i64 @forms_find(ptr table, i64 address, i64 size)``: the address of the host; 0 where there is no memory."""
RESOLVE = "forms_resolve"
"""``i1 @forms_resolve32(ptr wave, ptr places, i64 lanes, i64 size, i64 unit, i64 space)``, and with 64.

``places`` has the address of each lane, and behind those room for the distance of its next number. Addresses of some
lanes become addresses of the host; false if one of them has no memory, or a number would be in two dwords of private
memory.
"""
GLOBAL_SPACE, FLAT_SPACE, PRIVATE_SPACE = 0, 1, 2
RUN = "forms_run"
"""``i64 @forms_run(ptr cells)``: let the waves of a batch run; return a `TurnExit`."""


def _load(name: str, base: str, offset: int, kind: str = "i64") -> str:
    return f"  %{name}.at = getelementptr i8, ptr {base}, i64 {offset}\n  %{name} = load {kind}, ptr %{name}.at\n"


def _cell(name: str, cell: int, kind: str = "i64") -> str:
    return _load(name, "%cells", 8 * cell, kind)


def _store(name: str, cell: int, value: str, kind: str = "i64") -> str:
    at = f"%{name}.out"
    return f"  {at} = getelementptr i8, ptr %cells, i64 {8 * cell}\n  store {kind} {value}, ptr {at}\n"


_RUN = f"""
define i64 @{RUN}(ptr noalias %cells) {{
entry:
{_cell("waves", TurnCell.WAVES, "ptr")}{_cell("count", TurnCell.COUNT)}{_cell("begin", TurnCell.SLOT, "ptr")}\
{_cell("before", TurnCell.SINCE)}{_cell("turn", TurnCell.TURN)}\
{_cell("nearest", TurnCell.NEAREST, "ptr")}{_cell("most", TurnCell.MOST)}\
{_cell("hot", TurnCell.HOT)}
  %are.several = icmp ugt i64 %count, 1
  %count.short = trunc i64 %count to i32
  br label %at
at:
  %slot = phi ptr [ %begin, %entry ], [ %first, %on ]
  %since = phi i64 [ %before, %entry ], [ %since.on, %on ]
  %done = phi i64 [ 0, %entry ], [ %done.now, %on ]
  %single = load ptr, ptr %slot
  %is.empty = icmp eq ptr %single, null
  br i1 %is.empty, label %stopped, label %some
some:
{_load("single.rule", "%slot", RULE, "i32")}{_load("stretch", "%slot", STRETCH, "ptr")}
  %room = sub i64 {LONGEST}, %since
  %has.none = icmp eq ptr %stretch, null
  br i1 %has.none, label %warm, label %long
warm:
{_load("heat", "%slot", HEAT, "i32")}
  %hotter = add i32 %heat, %count.short
  store i32 %hotter, ptr %heat.at
  %hot.short = trunc i64 %hot to i32
  %is.hot = icmp sge i32 %hotter, %hot.short
  br i1 %is.hot, label %stopped, label %short
long:
{_load("whole.code", "%stretch", StretchField.FUNCTION, "ptr")}{_load("length", "%stretch", StretchField.COUNT)}\
{_load("whole.rule", "%stretch", StretchField.RULE, "i32")}
  %is.too.long = icmp ugt i64 %length, %room
  br i1 %is.too.long, label %short, label %chosen
short:
  br label %chosen
chosen:
  %function = phi ptr [ %whole.code, %long ], [ %single, %short ]
  %rule = phi i32 [ %whole.rule, %long ], [ %single.rule, %short ]
  %ahead = phi i64 [ %length, %long ], [ 1, %short ]
  %in.stretch = phi i1 [ true, %long ], [ false, %short ]
  %in.step = trunc i32 %rule to i1
  %is.careful = or i1 %are.several, %in.stretch
  %asks = and i1 %in.step, %is.careful
  br i1 %asks, label %ask, label %wave
ask:
  %asked = phi i64 [ 0, %chosen ], [ %asked.next, %agreed ]
  %asked.at = getelementptr ptr, ptr %waves, i64 %asked
  %asked.wave = load ptr, ptr %asked.at
  %answer = call ptr %function(ptr %asked.wave, ptr %slot, i1 true)
  %refuses = icmp eq ptr %answer, null
  br i1 %refuses, label %stopped, label %agreed
agreed:
  %asked.next = add nuw i64 %asked, 1
  %more.asked = icmp ult i64 %asked.next, %count
  br i1 %more.asked, label %ask, label %wave
wave:
  %number = phi i64 [ 0, %chosen ], [ 0, %agreed ], [ %number.next, %behind ]
  %first.before = phi ptr [ null, %chosen ], [ null, %agreed ], [ %first, %behind ]
  %parted.before = phi i1 [ false, %chosen ], [ false, %agreed ], [ %parted, %behind ]
  %torn.before = phi i1 [ false, %chosen ], [ false, %agreed ], [ %torn, %behind ]
  %sum.before = phi i64 [ 0, %chosen ], [ 0, %agreed ], [ %sum, %behind ]
  %state.at = getelementptr ptr, ptr %waves, i64 %number
  %state = load ptr, ptr %state.at
  br label %step
step:
  %now = phi ptr [ %slot, %wave ], [ %next, %meet ]
  %called = phi ptr [ %function, %wave ], [ %next.function, %meet ]
  %now.rule = phi i32 [ %rule, %wave ], [ %next.rule, %meet ]
  %k.before = phi i64 [ 0, %wave ], [ %k, %meet ]
  %size = phi i64 [ %ahead, %wave ], [ 1, %meet ]
  %k = add nuw i64 %k.before, %size
  %next = call ptr %called(ptr %state, ptr %now, i1 false)
  %failed = icmp eq ptr %next, null
  br i1 %failed, label %refusing, label %executed
refusing:
{_load("inside", "%state", Place.DONE)}{_load("inside.slot", "%state", Place.NEXT, "ptr")}
  %at.begin = icmp eq i64 %k.before, 0
  %was.inside = and i1 %in.stretch, %at.begin
  %stays = select i1 %was.inside, ptr %inside.slot, ptr %now
  %moved.inside = select i1 %was.inside, i64 %inside, i64 0
  %moved = add nuw i64 %k.before, %moved.inside
  %moved.before = add nuw i64 %moved, %number
  %is.nobody = icmp eq i64 %moved.before, 0
  br i1 %is.nobody, label %stopped, label %behind
executed:
  %now.ends = and i32 %now.rule, {int(Rule.ENDS_BLOCK)}
  %is.last = icmp ne i32 %now.ends, 0
  %is.full = icmp uge i64 %k, %room
  %is.over = or i1 %is.last, %is.full
  br i1 %is.over, label %behind, label %look
look:
  %next.function = load ptr, ptr %next
  %is.blank = icmp eq ptr %next.function, null
  br i1 %is.blank, label %behind, label %meet
meet:
  %next.rule.at = getelementptr i8, ptr %next, i64 {RULE}
  %next.rule = load i32, ptr %next.rule.at
  %meets = trunc i32 %next.rule to i1
  br i1 %meets, label %behind, label %step
behind:
  %goes = phi ptr [ %next, %executed ], [ %next, %look ], [ %next, %meet ], [ %stays, %refusing ]
  %steps = phi i64 [ %k, %executed ], [ %k, %look ], [ %k, %meet ], [ %moved, %refusing ]
  %has.ended = phi i1 [ %is.last, %executed ], [ false, %look ], [ false, %meet ], [ false, %refusing ]
  %torn = phi i1 [ %torn.before, %executed ], [ %torn.before, %look ], [ %torn.before, %meet ], [ true, %refusing ]
  %sum = add nuw i64 %sum.before, %steps
  %is.one = icmp eq i64 %number, 0
  %first = select i1 %is.one, ptr %goes, ptr %first.before
  %differs = icmp ne ptr %goes, %first
  %parted = or i1 %parted.before, %differs
  %next.at = getelementptr i8, ptr %state, i64 {int(Place.NEXT)}
  store ptr %goes, ptr %next.at
  %number.next = add nuw i64 %number, 1
  %more.waves = icmp ult i64 %number.next, %count
  br i1 %more.waves, label %wave, label %all
all:
  br i1 %torn, label %tear, label %whole
tear:
{_store("torn.rest", TurnCell.REST, "%sum")}{_store("torn.done", TurnCell.EXECUTED, "%done")}
  ret i64 {int(TurnExit.TORN)}
whole:
  %done.now = add i64 %done, %k
  %since.now = add i64 %since, %k
  %is.asked = icmp sge i64 %done.now, %most
  %was.full = icmp uge i64 %k, %room
  br i1 %has.ended, label %ended, label %straight
ended:
{_store("last", TurnCell.LAST, "%now", "ptr")}
  br i1 %parted, label %leave, label %together
together:
  %noted = and i32 %now.rule, {int(Rule.IS_NOTED)}
  %is.noted = icmp ne i32 %noted, 0
  br i1 %is.noted, label %note, label %ask.turn
note:
{_cell("calls", TurnCell.CALLS, "ptr")}{_cell("call.count", TurnCell.CALL_COUNT)}
  %now.calls = and i32 %now.rule, {int(Rule.IS_CALL)}
  %is.jump = icmp eq i32 %now.calls, 0
  br i1 %is.jump, label %jump, label %call
call:
  %has.room = icmp ult i64 %call.count, {MOST_CALLS}
  br i1 %has.room, label %push, label %leave
push:
  %call.at = getelementptr ptr, ptr %calls, i64 %call.count
  %call.behind = getelementptr i8, ptr %now, i64 {SLOT}
  store ptr %call.behind, ptr %call.at
  %call.more = add nuw i64 %call.count, 1
  store i64 %call.more, ptr %call.count.at
  br label %ask.turn
jump:
  %far = and i32 %now.rule, {int(Rule.IS_FAR)}
  %is.near.jump = icmp eq i32 %far, 0
  %has.call = icmp ne i64 %call.count, 0
  %may.return = and i1 %is.near.jump, %has.call
  br i1 %may.return, label %return, label %leave
return:
  %call.less = sub i64 %call.count, 1
  %call.last.at = getelementptr ptr, ptr %calls, i64 %call.less
  %call.last = load ptr, ptr %call.last.at
  %returns = icmp eq ptr %call.last, %first
  br i1 %returns, label %pop, label %leave
pop:
  store i64 %call.less, ptr %call.count.at
  br label %ask.turn
ask.turn:
  %is.spent = icmp sge i64 %done.now, %turn
  %is.near = icmp uge ptr %first, %nearest
  %is.due = or i1 %is.spent, %is.near
  %is.through = or i1 %is.due, %is.asked
  br i1 %is.through, label %leave, label %on
straight:
  %is.long = icmp uge i64 %since.now, {LONGEST}
  %is.long.asked = and i1 %is.long, %is.asked
  br i1 %is.long.asked, label %leave, label %on
on:
  %ends = or i1 %has.ended, %was.full
  %since.on = select i1 %ends, i64 0, i64 %since.now
  br label %at
stopped:
  %why = phi i64 [ {int(TurnExit.STOPPED)}, %at ], [ {int(TurnExit.HOT)}, %warm ], \
[ {int(TurnExit.STOPPED)}, %ask ], [ {int(TurnExit.STOPPED)}, %refusing ]
{_store("stopped", TurnCell.SLOT, "%slot", "ptr")}{_store("stopped.since", TurnCell.SINCE, "%since")}\
{_store("stopped.done", TurnCell.EXECUTED, "%done")}
  ret i64 %why
leave:
  %reason = phi i64 [ {int(TurnExit.PARTED)}, %ended ], [ {int(TurnExit.NOTED)}, %call ], \
[ {int(TurnExit.NOTED)}, %jump ], [ {int(TurnExit.NOTED)}, %return ], \
[ {int(TurnExit.TURN)}, %ask.turn ], [ {int(TurnExit.FULL)}, %straight ]
{_store("left", TurnCell.SLOT, "%first", "ptr")}{_store("left.since", TurnCell.SINCE, "%since.now")}\
{_store("left.done", TurnCell.EXECUTED, "%done.now")}
  ret i64 %reason
}}
"""

FIND_TEXT = f"""
define i64 @{FIND}(ptr %cells, i64 %address, i64 %size) {{
entry:
{_cell("latest", Cell.LATEST)}{_cell("segments", Cell.SEGMENTS, "ptr")}{_cell("count", Cell.SEGMENT_COUNT)}
  %is.none = icmp eq i64 %count, 0
  br i1 %is.none, label %nowhere, label %try
try:
  %index = phi i64 [ %latest, %entry ], [ %last, %found ]
  %is.latest = phi i1 [ true, %entry ], [ false, %found ]
  %at = mul i64 %index, 3
  %segment = getelementptr i64, ptr %segments, i64 %at
  %start = load i64, ptr %segment
{_load("whole", "%segment", 8)}
  %offset = sub i64 %address, %start
  %room = sub i64 %whole, %size
  %fits = icmp uge i64 %whole, %size
  %below = icmp ule i64 %offset, %room
  %inside = and i1 %fits, %below
  br i1 %inside, label %here, label %again
here:
  store i64 %index, ptr %latest.at
{_load("host", "%segment", 16)}
  %place = add i64 %host, %offset
  ret i64 %place
again:
  br i1 %is.latest, label %half, label %nowhere
half:
  %low = phi i64 [ 0, %again ], [ %new.low, %half ]
  %high = phi i64 [ %count, %again ], [ %new.high, %half ]
  %sum = add i64 %low, %high
  %middle = lshr i64 %sum, 1
  %middle.index = mul i64 %middle, 3
  %middle.segment = getelementptr i64, ptr %segments, i64 %middle.index
  %middle.start = load i64, ptr %middle.segment
  %is.upper = icmp ule i64 %middle.start, %address
  %above = add i64 %middle, 1
  %new.low = select i1 %is.upper, i64 %above, i64 %low
  %new.high = select i1 %is.upper, i64 %high, i64 %middle
  %more = icmp ult i64 %new.low, %new.high
  br i1 %more, label %half, label %found
found:
  %has.one = icmp ne i64 %new.low, 0
  %before = sub i64 %new.low, 1
  %last = select i1 %has.one, i64 %before, i64 0
  br label %try
nowhere:
  ret i64 0
}}
"""


def _resolve(lanes: int) -> str:
    """Return the function for waves of a size."""
    return f"""
define i1 @{RESOLVE}{lanes}(ptr %wave, ptr %places, i64 %mask, i64 %size, i64 %unit, i64 %space) {{
entry:
{_load("cells", "%wave", Place.TABLE, "ptr")}{_load("local", "%wave", Place.LOCAL)}\
{_load("local.size", "%wave", Place.LOCAL_SIZE)}{_load("private", "%wave", Place.PRIVATE)}\
{_load("private.size", "%wave", Place.PRIVATE_SIZE)}\
{_cell("shared.aperture", Cell.SHARED)}{_cell("private.aperture", Cell.PRIVATE)}
  %is.flat = icmp eq i64 %space, {FLAT_SPACE}
  %is.scratch = icmp eq i64 %space, {PRIVATE_SPACE}
  %crossing = sub i64 4, %unit
  %is.none = icmp eq i64 %mask, 0
  br i1 %is.none, label %all, label %lane
lane:
  %left = phi i64 [ %mask, %entry ], [ %rest, %done ]
  %number = call i64 @llvm.cttz.i64(i64 %left, i1 true)
  %at = getelementptr i64, ptr %places, i64 %number
  %address = load i64, ptr %at
  %step.number = add i64 %number, {lanes}
  %step.at = getelementptr i64, ptr %places, i64 %step.number
  %upper = lshr i64 %address, 32
  %lower = and i64 %address, 4294967295
  %low = select i1 %is.scratch, i64 %address, i64 %lower
  %is.upper = icmp eq i64 %upper, %private.aperture
  %is.generic = and i1 %is.flat, %is.upper
  %is.private = or i1 %is.generic, %is.scratch
  br i1 %is.private, label %in.private, label %other
in.private:
  %is.negative = icmp slt i64 %low, 0
  %room = sub i64 %private.size, %size
  %is.outside = icmp sgt i64 %low, %room
  %within = and i64 %low, 3
  %crosses = icmp sgt i64 %within, %crossing
  %wrong.place = or i1 %is.negative, %is.outside
  %wrong = or i1 %wrong.place, %crosses
  br i1 %wrong, label %nowhere, label %private.found
private.found:
  %dword = lshr i64 %low, 2
  %row = mul i64 %dword, {4 * lanes}
  %own = shl i64 %number, 2
  %row.place = add i64 %private, %row
  %own.place = add i64 %row.place, %own
  %private.place = add i64 %own.place, %within
  br label %found
other:
  %is.shared.upper = icmp eq i64 %upper, %shared.aperture
  %is.shared = and i1 %is.flat, %is.shared.upper
  br i1 %is.shared, label %in.local, label %in.global
in.local:
  %local.end = add i64 %lower, %size
  %is.local = icmp ule i64 %local.end, %local.size
  %local.place = add i64 %local, %lower
  br i1 %is.local, label %found, label %nowhere
in.global:
  %global.place = call i64 @{FIND}(ptr %cells, i64 %address, i64 %size)
  %is.global = icmp ne i64 %global.place, 0
  br i1 %is.global, label %found, label %nowhere
found:
  %place = phi i64 [ %private.place, %private.found ], [ %local.place, %in.local ], [ %global.place, %in.global ]
  %step = phi i64 [ {4 * lanes}, %private.found ], [ %unit, %in.local ], [ %unit, %in.global ]
  store i64 %place, ptr %at
  store i64 %step, ptr %step.at
  br label %done
done:
  %less = sub i64 %left, 1
  %rest = and i64 %left, %less
  %more = icmp ne i64 %rest, 0
  br i1 %more, label %lane, label %all
all:
  ret i1 true
nowhere:
  ret i1 false
}}
"""


def dispatcher() -> str:
    """Return the module."""
    return "\n".join((_RUN, FIND_TEXT, *map(_resolve, (32, 64)), "declare i64 @llvm.cttz.i64(i64, i1)"))


FUNCTIONS = RUN, FIND, f"{RESOLVE}32", f"{RESOLVE}64"
DECLARED = {
    FIND: f"declare i64 @{FIND}(ptr, i64, i64)",
    **{f"{RESOLVE}{lanes}": f"declare i1 @{RESOLVE}{lanes}(ptr, ptr, i64, i64, i64, i64)" for lanes in (32, 64)},
}
"""How forms declare what they call."""
