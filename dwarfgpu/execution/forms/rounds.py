"""The function of LLVM IR that lets waves run one after the other, each until it meets others or its turn ends."""

from __future__ import annotations

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

ROUND = "forms_round"
"""``i64 @forms_round(ptr cells)``: let waves have their turns; return a `RoundExit`."""


ROUND_FUNCTION = f"""
define i64 @{ROUND}(ptr noalias %cells) {{
entry:
{cell("waves", RoundCell.WAVES, "ptr")}{cell("count", RoundCell.COUNT)}{cell("begin", RoundCell.NUMBER)}\
{cell("before", RoundCell.LEFT)}{cell("turn", RoundCell.TURN)}{cell("first.room", RoundCell.ROOM)}\
{cell("most", RoundCell.MOST)}{cell("hot", RoundCell.HOT)}
  %hot.short = trunc i64 %hot to i32
  br label %wave
wave:
  %number = phi i64 [ %begin, %entry ], [ %number.next, %on ]
  %whole = phi i64 [ %before, %entry ], [ %turn, %on ]
  %room = phi i64 [ %first.room, %entry ], [ %room.now, %on ]
  %done = phi i64 [ 0, %entry ], [ %done.now, %on ]
  %state.at = getelementptr ptr, ptr %waves, i64 %number
  %state = load ptr, ptr %state.at
{load("begins", "%state", Place.NEXT, "ptr")}
  %is.wide = icmp ult i64 %whole, %room
  %allowed = select i1 %is.wide, i64 %whole, i64 %room
  br label %step
step:
  %slot = phi ptr [ %begins, %wave ], [ %next, %stepped ]
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
  br i1 %meets, label %behind, label %stopped
some:
  %has.none = icmp eq ptr %stretch, null
  br i1 %has.none, label %warm, label %long
warm:
{load("heat", "%slot", HEAT, "i32")}
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
  %next = phi ptr [ %behind.stretch, %through ], [ %behind.single, %executed ], [ %behind.single, %pushed ], \
[ %behind.single, %pop ]
  %size = phi i64 [ %through.count, %through ], [ 1, %executed ], [ 1, %pushed ], [ 1, %pop ]
  %left.now = sub i64 %left, %size
  br label %step
stopped:
  %why = phi i64 [ {int(RoundExit.STOPPED)}, %empty ], [ {int(RoundExit.HOT)}, %warm ], \
[ {int(RoundExit.STOPPED)}, %inside ], [ {int(RoundExit.STOPPED)}, %chosen ], [ {int(RoundExit.NOTED)}, %push ], \
[ {int(RoundExit.NOTED)}, %jump ], [ {int(RoundExit.NOTED)}, %return ]
  %stays = phi ptr [ %slot, %empty ], [ %slot, %warm ], [ %inside.slot, %inside ], [ %slot, %chosen ], \
[ %behind.single, %push ], [ %behind.single, %jump ], [ %behind.single, %return ]
  %rest = phi i64 [ %left, %empty ], [ %left, %warm ], [ %inside.left, %inside ], [ %left, %chosen ], \
[ %left.noted, %push ], [ %left.noted, %jump ], [ %left.noted, %return ]
  %used.part = sub i64 %allowed, %rest
  %done.part = add i64 %done, %used.part
  %whole.rest = sub i64 %whole, %used.part
  store ptr %stays, ptr %begins.at
{store("part.number", RoundCell.NUMBER, "%number")}{store("part.left", RoundCell.LEFT, "%whole.rest")}\
{store("part.done", RoundCell.EXECUTED, "%done.part")}{store("part.last", RoundCell.LAST, "%slot", "ptr")}
  ret i64 %why
behind:
  %used = sub i64 %allowed, %left
  %done.now = add i64 %done, %used
  %room.now = sub i64 %room, %used
  store ptr %slot, ptr %begins.at
  %number.next = add nuw i64 %number, 1
  %is.last = icmp eq i64 %number.next, %count
  %is.full = icmp eq i64 %room.now, 0
  %is.due = icmp uge i64 %done.now, %most
  %ends.or.full = or i1 %is.last, %is.full
  %returns.now = or i1 %ends.or.full, %is.due
  br i1 %returns.now, label %over, label %on
on:
  br label %wave
over:
{store("over.number", RoundCell.NUMBER, "%number.next")}{store("over.left", RoundCell.LEFT, "%turn")}\
{store("over.done", RoundCell.EXECUTED, "%done.now")}
  ret i64 {int(RoundExit.OVER)}
}}
"""
