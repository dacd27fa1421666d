"""The function of LLVM IR that calls forms.

Waves run in the order of the interpreter: all waves of a batch execute an instruction that reads or writes memory
before any of them goes on. Between two such instructions no wave sees what another does, so each goes alone. Where it
is hot, it goes in stretches. If a wave refuses an instruction when others have gone on, it stays, and so do all behind
it if they would execute that one in turn.
"""

from __future__ import annotations

from dwarfgpu.execution.block_writer import LONGEST
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
from dwarfgpu.execution.forms.memory_functions import DECLARED, MEMORY_FUNCTIONS, cell, load, store
from dwarfgpu.execution.forms.rounds import ROUND, ROUND_FUNCTION

RUN = "forms_run"
"""``i64 @forms_run(ptr cells)``: let the waves of a batch run; return a `TurnExit`."""


_RUN = f"""
define i64 @{RUN}(ptr noalias %cells) {{
entry:
{cell("waves", TurnCell.WAVES, "ptr")}{cell("count", TurnCell.COUNT)}{cell("begin", TurnCell.SLOT, "ptr")}\
{cell("before", TurnCell.SINCE)}{cell("turn", TurnCell.TURN)}\
{cell("nearest", TurnCell.NEAREST, "ptr")}{cell("most", TurnCell.MOST)}\
{cell("hot", TurnCell.HOT)}{cell("asks.number", TurnCell.ASKS)}
  %asks.all = trunc i64 %asks.number to i1
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
{load("single.rule", "%slot", RULE, "i32")}{load("stretch", "%slot", STRETCH, "ptr")}
  %room = sub i64 {LONGEST}, %since
  %has.none = icmp eq ptr %stretch, null
  br i1 %has.none, label %warm, label %long
warm:
{load("heat", "%slot", HEAT, "i32")}
  %hotter = add i32 %heat, %count.short
  store i32 %hotter, ptr %heat.at
  %hot.short = trunc i64 %hot to i32
  %is.hot = icmp sge i32 %hotter, %hot.short
  br i1 %is.hot, label %stopped, label %short
long:
{load("whole.code", "%stretch", StretchField.FUNCTION, "ptr")}{load("length", "%stretch", StretchField.COUNT)}\
{load("whole.rule", "%stretch", StretchField.RULE, "i32")}
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
  %asked.rule = and i32 %rule, {int(Rule.IS_NOTED | Rule.IS_ASKED)}
  %asks.always = icmp ne i32 %asked.rule, 0
  %is.careful = or i1 %asks.all, %asks.always
  %is.asked.for = and i1 %is.careful, %are.several
  %asks = and i1 %in.step, %is.asked.for
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
{load("inside", "%state", Place.DONE)}{load("inside.slot", "%state", Place.NEXT, "ptr")}
  %at.begin = icmp eq i64 %k.before, 0
  %was.inside = and i1 %in.stretch, %at.begin
  %stays = select i1 %was.inside, ptr %inside.slot, ptr %now
  %moved.inside = select i1 %was.inside, i64 %inside, i64 0
  %moved = add nuw i64 %k.before, %moved.inside
  %moved.before = add nuw i64 %moved, %number
  %is.nobody = icmp eq i64 %moved.before, 0
  br i1 %is.nobody, label %stopped, label %some.went
some.went:
  %in.turn = and i1 %in.step, %at.begin
  br i1 %in.turn, label %hold, label %behind
hold:
  %held = phi i64 [ %number, %some.went ], [ %held.next, %hold ]
  %held.goes = phi ptr [ %stays, %some.went ], [ %slot, %hold ]
  %held.wave.at = getelementptr ptr, ptr %waves, i64 %held
  %held.wave = load ptr, ptr %held.wave.at
  %held.at = getelementptr i8, ptr %held.wave, i64 {int(Place.NEXT)}
  store ptr %held.goes, ptr %held.at
  %held.next = add nuw i64 %held, 1
  %more.held = icmp ult i64 %held.next, %count
  br i1 %more.held, label %hold, label %held.all
held.all:
  %held.sum = add nuw i64 %sum.before, %moved
  br label %tear
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
  %goes = phi ptr [ %next, %executed ], [ %next, %look ], [ %next, %meet ], [ %stays, %some.went ]
  %steps = phi i64 [ %k, %executed ], [ %k, %look ], [ %k, %meet ], [ %moved, %some.went ]
  %has.ended = phi i1 [ %is.last, %executed ], [ false, %look ], [ false, %meet ], [ false, %some.went ]
  %torn = phi i1 [ %torn.before, %executed ], [ %torn.before, %look ], [ %torn.before, %meet ], [ true, %some.went ]
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
  %all.sum = phi i64 [ %sum, %all ], [ %held.sum, %held.all ]
{store("torn.rest", TurnCell.REST, "%all.sum")}{store("torn.done", TurnCell.EXECUTED, "%done")}
  ret i64 {int(TurnExit.TORN)}
whole:
  %done.now = add i64 %done, %k
  %since.now = add i64 %since, %k
  %is.asked = icmp sge i64 %done.now, %most
  %was.full = icmp uge i64 %k, %room
  br i1 %has.ended, label %ended, label %straight
ended:
{store("last", TurnCell.LAST, "%now", "ptr")}
  br i1 %parted, label %leave, label %together
together:
  %noted = and i32 %now.rule, {int(Rule.IS_NOTED)}
  %is.noted = icmp ne i32 %noted, 0
  br i1 %is.noted, label %note, label %ask.turn
note:
{cell("calls", TurnCell.CALLS, "ptr")}{cell("call.count", TurnCell.CALL_COUNT)}
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
{store("stopped", TurnCell.SLOT, "%slot", "ptr")}{store("stopped.since", TurnCell.SINCE, "%since")}\
{store("stopped.done", TurnCell.EXECUTED, "%done")}
  ret i64 %why
leave:
  %reason = phi i64 [ {int(TurnExit.PARTED)}, %ended ], [ {int(TurnExit.NOTED)}, %call ], \
[ {int(TurnExit.NOTED)}, %jump ], [ {int(TurnExit.NOTED)}, %return ], \
[ {int(TurnExit.TURN)}, %ask.turn ], [ {int(TurnExit.FULL)}, %straight ]
{store("left", TurnCell.SLOT, "%first", "ptr")}{store("left.since", TurnCell.SINCE, "%since.now")}\
{store("left.done", TurnCell.EXECUTED, "%done.now")}
  ret i64 %reason
}}
"""
DISPATCHER = _RUN + ROUND_FUNCTION + MEMORY_FUNCTIONS
"""The module."""
FUNCTIONS = RUN, ROUND, *DECLARED
