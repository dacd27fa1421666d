"""The function of LLVM IR that lets waves run one after the other, each until it meets others or its turn ends.

A work-group has its turn before the next one: when all its waves are before a barrier, they pass it and have other
turns, unless they have executed enough.
"""

from __future__ import annotations

from dwarfgpu.execution.batch import EXEC
from dwarfgpu.execution.forms.counting_functions import CountField
from dwarfgpu.execution.forms.layout import (
    HEAT,
    MOST_CALLS_OF_WAVE,
    RULE,
    SLOT,
    STRETCH,
    Place,
    RoundCell,
    RoundExit,
    Rule,
    StretchField,
)
from dwarfgpu.execution.forms.memory_functions import cell, load, store

COUNT_PASSED = "forms_count_passed"
ROUND = "forms_round"
"""``i64 @forms_round(ptr cells)``: let waves have their turns; return a `RoundExit`."""


ROUND_FUNCTION = f"""
define internal void @{COUNT_PASSED}(ptr %state, ptr %slot, i64 %counted) {{
entry:
  %is.counted = icmp ne i64 %counted, 0
  br i1 %is.counted, label %count, label %done
count:
{load("mask", "%state", 4 * EXEC)}{load("records", "%state", Place.RECORDS)}
  %executing = and i64 %mask, %counted
  %lanes = call i64 @llvm.ctpop.i64(i64 %executing)
  %record = getelementptr i8, ptr %slot, i64 %records
{load("times", "%record", 8 * CountField.INSTRUCTIONS)}{load("lanes.before", "%record", 8 * CountField.LANES)}
  %times.now = add i64 %times, 1
  %lanes.now = add i64 %lanes.before, %lanes
  store i64 %times.now, ptr %times.at
  store i64 %lanes.now, ptr %lanes.before.at
  br label %done
done:
  ret void
}}
declare i64 @llvm.ctpop.i64(i64)
define i64 @{ROUND}(ptr noalias %cells) {{
entry:
{cell("waves", RoundCell.WAVES, "ptr")}{cell("bounds", RoundCell.BOUNDS, "ptr")}\
{cell("wholes", RoundCell.WHOLES, "ptr")}{cell("group.count", RoundCell.COUNT)}\
{cell("begin.group", RoundCell.GROUP)}{cell("begin.used", RoundCell.USED)}{cell("begin", RoundCell.NUMBER)}\
{cell("before", RoundCell.LEFT)}{cell("turn", RoundCell.TURN)}{cell("first.room", RoundCell.ROOM)}\
{cell("most", RoundCell.MOST)}{cell("hot", RoundCell.HOT)}{cell("counted", RoundCell.COUNTED)}
  %hot.short = trunc i64 %hot to i32
  br label %group
group:
  %group.number = phi i64 [ %begin.group, %entry ], [ %group.next, %group.over ]
  %group.begin = phi i64 [ %begin, %entry ], [ %end, %group.over ]
  %group.left = phi i64 [ %before, %entry ], [ %turn, %group.over ]
  %group.used = phi i64 [ %begin.used, %entry ], [ 0, %group.over ]
  %group.room = phi i64 [ %first.room, %entry ], [ %room, %group.over ]
  %group.done = phi i64 [ 0, %entry ], [ %done, %group.over ]
  %is.none = icmp uge i64 %group.number, %group.count
  br i1 %is.none, label %over, label %some.group
some.group:
  %first.at = getelementptr i64, ptr %bounds, i64 %group.number
  %first = load i64, ptr %first.at
{load("end", "%first.at", 8)}
  br label %next
next:
  %number = phi i64 [ %group.begin, %some.group ], [ %number.next, %behind ], [ %first, %passed ]
  %whole = phi i64 [ %group.left, %some.group ], [ %turn, %behind ], [ %turn, %passed ]
  %used = phi i64 [ %group.used, %some.group ], [ %used.now, %behind ], [ %used.passed, %passed ]
  %room = phi i64 [ %group.room, %some.group ], [ %room.now, %behind ], [ %room.passed, %passed ]
  %done = phi i64 [ %group.done, %some.group ], [ %done.now, %behind ], [ %done.passed, %passed ]
  %is.full = icmp eq i64 %room, 0
  %is.due = icmp uge i64 %done, %most
  %returns.now = or i1 %is.full, %is.due
  br i1 %returns.now, label %over, label %any.wave
any.wave:
  %is.through = icmp uge i64 %number, %end
  br i1 %is.through, label %through.group, label %wave
through.group:
  %width = sub i64 %end, %first
  %all.turns = mul i64 %turn, %width
  %has.turn = icmp ult i64 %used, %all.turns
  %is.whole.at = getelementptr i8, ptr %wholes, i64 %group.number
  %is.whole = load i8, ptr %is.whole.at
  %is.all = icmp ne i8 %is.whole, 0
  %may.pass = and i1 %is.all, %has.turn
  br i1 %may.pass, label %arrived, label %group.over
arrived:
  %there = phi i64 [ %first, %through.group ], [ %there.next, %at.barrier ]
  %there.at = getelementptr ptr, ptr %waves, i64 %there
  %there.wave = load ptr, ptr %there.at
{load("there.slot", "%there.wave", Place.NEXT, "ptr")}{load("there.rule", "%there.slot", RULE, "i32")}\
{load("there.complete", "%there.wave", Place.COMPLETE, "ptr")}
  %there.barrier = and i32 %there.rule, {int(Rule.IS_BARRIER)}
  %is.barrier = icmp ne i32 %there.barrier, 0
  %there.signal = load i8, ptr %there.complete
  %has.no.signal = icmp eq i8 %there.signal, 0
  %is.at.barrier = and i1 %is.barrier, %has.no.signal
  br i1 %is.at.barrier, label %at.barrier, label %group.over
at.barrier:
  %there.next = add nuw i64 %there, 1
  %more.there = icmp ult i64 %there.next, %end
  br i1 %more.there, label %arrived, label %all.there
all.there:
  %has.no.room = icmp ugt i64 %width, %room
  br i1 %has.no.room, label %group.over, label %pass
pass:
  %passing = phi i64 [ %first, %all.there ], [ %passing.next, %pass ]
  %passing.at = getelementptr ptr, ptr %waves, i64 %passing
  %passing.wave = load ptr, ptr %passing.at
{load("passing.slot", "%passing.wave", Place.NEXT, "ptr")}{load("passing.rule", "%passing.slot", RULE, "i32")}\
{load("passing.complete", "%passing.wave", Place.COMPLETE, "ptr")}
  %passing.signal = and i32 %passing.rule, {int(Rule.IS_SIGNAL)}
  %is.signal = icmp ne i32 %passing.signal, 0
  %signal = zext i1 %is.signal to i8
  store i8 %signal, ptr %passing.complete
  call void @{COUNT_PASSED}(ptr %passing.wave, ptr %passing.slot, i64 %counted)
  %passing.behind = getelementptr i8, ptr %passing.slot, i64 {SLOT}
  store ptr %passing.behind, ptr %passing.slot.at
  %passing.next = add nuw i64 %passing, 1
  %more.pass = icmp ult i64 %passing.next, %end
  br i1 %more.pass, label %pass, label %passed
passed:
  %used.passed = add i64 %used, %width
  %room.passed = sub i64 %room, %width
  %done.passed = add i64 %done, %width
  br label %next
group.over:
  %group.next = add nuw i64 %group.number, 1
  br label %group
wave:
  %state.at = getelementptr ptr, ptr %waves, i64 %number
  %state = load ptr, ptr %state.at
{load("begins", "%state", Place.NEXT, "ptr")}
  %is.wide = icmp ult i64 %whole, %room
  %allowed = select i1 %is.wide, i64 %whole, i64 %room
  br label %step
step:
  %slot = phi ptr [ %begins, %wave ], [ %following, %stepped ]
  %left = phi i64 [ %allowed, %wave ], [ %left.now, %stepped ]
  %is.over = icmp eq i64 %left, 0
  br i1 %is.over, label %behind, label %look
look:
  %single = load ptr, ptr %slot
{load("single.rule", "%slot", RULE, "i32")}{load("stretch", "%slot", STRETCH, "ptr")}
  %is.empty = icmp eq ptr %single, null
  br i1 %is.empty, label %empty, label %some
empty:
  %meeting = and i32 %single.rule, {int(Rule.MEETS)}
  %meets = icmp ne i32 %meeting, 0
  br i1 %meets, label %meet, label %stopped
meet:
{load("complete", "%state", Place.COMPLETE, "ptr")}
  %wait = and i32 %single.rule, {int(Rule.IS_WAIT)}
  %is.wait = icmp ne i32 %wait, 0
  %flag = load i8, ptr %complete
  %is.complete = icmp ne i8 %flag, 0
  %passes = and i1 %is.wait, %is.complete
  br i1 %passes, label %waited, label %behind
waited:
  store i8 0, ptr %complete
  call void @{COUNT_PASSED}(ptr %state, ptr %slot, i64 %counted)
  %behind.wait = getelementptr i8, ptr %slot, i64 {SLOT}
  br label %stepped
some:
  %has.none = icmp eq ptr %stretch, null
  br i1 %has.none, label %warm, label %long
warm:
{load("heat", "%slot", HEAT, "i32")}
  %is.cold = icmp slt i32 %heat, 0
  br i1 %is.cold, label %chosen, label %warmer
warmer:
  %hotter = add i32 %heat, 1
  store i32 %hotter, ptr %heat.at
  %is.hot = icmp sge i32 %hotter, %hot.short
  br i1 %is.hot, label %stopped, label %chosen
long:
{load("long.code", "%stretch", StretchField.FUNCTION, "ptr")}{load("length", "%stretch", StretchField.COUNT)}
  %is.too.long = icmp ugt i64 %length, %left
  br i1 %is.too.long, label %chosen, label %stretched
stretched:
  %room.at = getelementptr i8, ptr %state, i64 {int(Place.ROOM)}
  store i64 %left, ptr %room.at
  %behind.stretch = call ptr %long.code(ptr %state, ptr %slot, i1 false)
  %stretch.fails = icmp eq ptr %behind.stretch, null
  br i1 %stretch.fails, label %inside, label %through
through:
{load("through.rule", "%stretch", StretchField.RULE, "i32")}{load("through.done", "%state", Place.DONE)}
  %loop = and i32 %through.rule, {int(Rule.IS_LOOP)}
  %is.straight = icmp eq i32 %loop, 0
  %through.count = select i1 %is.straight, i64 %length, i64 %through.done
  br label %stepped
inside:
{load("inside.done", "%state", Place.DONE)}{load("inside.slot", "%state", Place.NEXT, "ptr")}
  %inside.left = sub i64 %left, %inside.done
  br label %stopped
chosen:
  %behind.single = call ptr %single(ptr %state, ptr %slot, i1 false)
  %single.fails = icmp eq ptr %behind.single, null
  br i1 %single.fails, label %stopped, label %executed
executed:
  %noted = and i32 %single.rule, {int(Rule.IS_NOTED)}
  %is.plain = icmp eq i32 %noted, 0
  br i1 %is.plain, label %stepped, label %note
note:
{load("calls", "%state", Place.CALL_COUNT)}
  %left.noted = sub i64 %left, 1
  %call.list = getelementptr i8, ptr %state, i64 {int(Place.CALLS)}
  %call = and i32 %single.rule, {int(Rule.IS_CALL)}
  %is.jump = icmp eq i32 %call, 0
  br i1 %is.jump, label %jump, label %push
push:
  %has.room = icmp ult i64 %calls, {MOST_CALLS_OF_WAVE}
  br i1 %has.room, label %pushed, label %stopped
pushed:
  %call.at = getelementptr ptr, ptr %call.list, i64 %calls
  %call.behind = getelementptr i8, ptr %slot, i64 {SLOT}
  store ptr %call.behind, ptr %call.at
  %call.more = add nuw i64 %calls, 1
  store i64 %call.more, ptr %calls.at
  br label %stepped
jump:
  %far = and i32 %single.rule, {int(Rule.IS_FAR)}
  %is.near = icmp eq i32 %far, 0
  %has.call = icmp ne i64 %calls, 0
  %may.return = and i1 %is.near, %has.call
  br i1 %may.return, label %return, label %stopped
return:
  %call.less = sub i64 %calls, 1
  %call.last.at = getelementptr ptr, ptr %call.list, i64 %call.less
  %call.last = load ptr, ptr %call.last.at
  %returns = icmp eq ptr %call.last, %behind.single
  br i1 %returns, label %pop, label %stopped
pop:
  store i64 %call.less, ptr %calls.at
  br label %stepped
stepped:
  %following = phi ptr [ %behind.stretch, %through ], [ %behind.single, %executed ], [ %behind.single, %pushed ], \
[ %behind.single, %pop ], [ %behind.wait, %waited ]
  %size = phi i64 [ %through.count, %through ], [ 1, %executed ], [ 1, %pushed ], [ 1, %pop ], [ 1, %waited ]
  %left.now = sub i64 %left, %size
  br label %step
stopped:
  %why = phi i64 [ {int(RoundExit.STOPPED)}, %empty ], [ {int(RoundExit.HOT)}, %warmer ], \
[ {int(RoundExit.STOPPED)}, %inside ], [ {int(RoundExit.STOPPED)}, %chosen ], [ {int(RoundExit.NOTED)}, %push ], \
[ {int(RoundExit.NOTED)}, %jump ], [ {int(RoundExit.NOTED)}, %return ]
  %stays = phi ptr [ %slot, %empty ], [ %slot, %warmer ], [ %inside.slot, %inside ], [ %slot, %chosen ], \
[ %behind.single, %push ], [ %behind.single, %jump ], [ %behind.single, %return ]
  %rest = phi i64 [ %left, %empty ], [ %left, %warmer ], [ %inside.left, %inside ], [ %left, %chosen ], \
[ %left.noted, %push ], [ %left.noted, %jump ], [ %left.noted, %return ]
  %part = sub i64 %allowed, %rest
  %done.part = add i64 %done, %part
  %used.part = add i64 %used, %part
  %whole.rest = sub i64 %whole, %part
  store ptr %stays, ptr %begins.at
{store("part.number", RoundCell.NUMBER, "%number")}{store("part.left", RoundCell.LEFT, "%whole.rest")}\
{store("part.group", RoundCell.GROUP, "%group.number")}{store("part.used", RoundCell.USED, "%used.part")}\
{store("part.done", RoundCell.EXECUTED, "%done.part")}{store("part.last", RoundCell.LAST, "%slot", "ptr")}
  ret i64 %why
behind:
  %spent = sub i64 %allowed, %left
  %used.now = add i64 %used, %spent
  %done.now = add i64 %done, %spent
  %room.now = sub i64 %room, %spent
  store ptr %slot, ptr %begins.at
  %number.next = add nuw i64 %number, 1
  br label %next
over:
  %over.number = phi i64 [ %group.begin, %group ], [ %number, %next ]
  %over.left = phi i64 [ %group.left, %group ], [ %whole, %next ]
  %over.used = phi i64 [ %group.used, %group ], [ %used, %next ]
  %over.done = phi i64 [ %group.done, %group ], [ %done, %next ]
{store("over.number", RoundCell.NUMBER, "%over.number")}{store("over.left", RoundCell.LEFT, "%over.left")}\
{store("over.group", RoundCell.GROUP, "%group.number")}{store("over.used", RoundCell.USED, "%over.used")}\
{store("over.done", RoundCell.EXECUTED, "%over.done")}
  ret i64 {int(RoundExit.OVER)}
}}
"""
