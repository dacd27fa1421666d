"""What forms that count share: the numbers of a record, and functions of LLVM IR that count what lanes reach."""

from __future__ import annotations

from enum import IntEnum

BANKS = 32
"""The banks of local memory."""


class CountField(IntEnum):
    """The 64-bit numbers of a record, which is as long as a slot."""

    INSTRUCTIONS = 0
    """Executions of the instruction alone."""
    LANES = 1
    """The lanes that executed it then."""
    ACCESSES = 2
    TRANSACTIONS = 3
    BANK_TURNS = 4
    """What `Counts` of a profile has."""
    MORE = 5
    """How many more executions the instruction has than the one before it."""
    MORE_LANES = 6
    """How many more lanes."""


class WayField(IntEnum):
    """Where something is in what forms know of a way of calls."""

    DISTANCE = 0
    """How far the records are behind the slots."""
    BEHIND = 8
    """The slot that the innermost call returns to; 0 if there is none."""
    OUTER = 16
    """The way around that call."""
    INNER = 24
    """The first way that a call leads to from here, or 0."""
    NEXT = 32
    """Another one from the way around, or 0."""


LINES, TURNS, INNER_WAY = "forms_lines", "forms_bank_turns", "forms_inner_way"
"""They count the lines that bytes of lanes are in, and the turns of local memory; and they find the way of calls that a
call leads to."""


def _lines(lanes: int) -> str:
    """Return the function that counts the different lines that bytes of lanes are in."""
    whole, bits = f"<{lanes} x i64>", f"i{lanes}"
    words, pointers = f"<{lanes} x i32>", f"<{lanes} x ptr>"
    executing = "add i64 %mask, 0" if lanes == 64 else f"trunc i64 %mask to {bits}"

    def all_of(name: str, value: str) -> str:
        return f"""  %{name}.one = insertelement {whole} poison, i64 {value}, i32 0
  %{name} = shufflevector {whole} %{name}.one, {whole} poison, <{lanes} x i32> zeroinitializer
"""

    def of_words(number: int) -> str:
        return "<" + ", ".join([f"i32 {number}"] * lanes) + ">"

    def of_longs(number: int) -> str:
        return "<" + ", ".join([f"i64 {number}"] * lanes) + ">"

    def bits_of(name: str, numbers: str, flags: str) -> str:
        """Return a number with a bit for each number of executing lanes, less the lowest."""
        return f"""  %{name}.steps = sub {whole} {numbers}, %firsts
  %{name}.ones = shl {whole} {of_longs(1)}, %{name}.steps
  %{name}.own = select <{lanes} x i1> {flags}, {whole} %{name}.ones, {whole} zeroinitializer
  %{name} = call i64 @llvm.vector.reduce.or.v{lanes}i64({whole} %{name}.own)
"""

    return f"""
define i64 @{LINES}{lanes}(ptr %places, i64 %mask, i64 %size, i64 %shift) {{
entry:
  %executing = {executing}
  %others.at = alloca [{lanes} x i64], align 64
  %numbers.at = alloca [{lanes} x i64], align 64
  %address = load {whole}, ptr %places, align 64
  %less = sub i64 %size, 1
{all_of("lesses", "%less")}{all_of("shifts", "%shift")}
  %ends = add {whole} %address, %lesses
  %numbers = lshr {whole} %address, %shifts
  %others = lshr {whole} %ends, %shifts
  %is.idle = icmp eq {bits} %executing, 0
  br i1 %is.idle, label %idle, label %look
idle:
  ret i64 0
look:
  %flags = bitcast {bits} %executing to <{lanes} x i1>
  %lows = select <{lanes} x i1> %flags, {whole} %numbers, {whole} {of_longs(-1)}
  %highs = select <{lanes} x i1> %flags, {whole} %others, {whole} zeroinitializer
  %lowest = call i64 @llvm.vector.reduce.umin.v{lanes}i64({whole} %lows)
  %highest = call i64 @llvm.vector.reduce.umax.v{lanes}i64({whole} %highs)
  %span = sub i64 %highest, %lowest
  %is.near = icmp ult i64 %span, 64
  br i1 %is.near, label %near, label %apart
near:
{all_of("firsts", "%lowest")}{bits_of("begun", "%numbers", "%flags")}{bits_of("ended", "%others", "%flags")}
  %touched = or i64 %begun, %ended
  %near.lines = call i64 @llvm.ctpop.i64(i64 %touched)
  ret i64 %near.lines
apart:
  store {whole} %numbers, ptr %numbers.at, align 64
  store {whole} %others, ptr %others.at, align 64
  %cross = icmp ne {whole} %numbers, %others
  %cross.bits = bitcast <{lanes} x i1> %cross to {bits}
  %crossing = and {bits} %cross.bits, %executing
  br label %loop
loop:
  %left = phi {bits} [ %executing, %apart ], [ %rest, %next ]
  %right = phi {bits} [ %crossing, %apart ], [ %right.rest, %next ]
  %found = phi i64 [ 0, %apart ], [ %found.more, %next ]
  %both = or {bits} %left, %right
  %is.done = icmp eq {bits} %both, 0
  br i1 %is.done, label %done, label %next
next:
  %has.left = icmp ne {bits} %left, 0
  %chosen = select i1 %has.left, {bits} %left, {bits} %right
  %lane = call {bits} @llvm.cttz.{bits}({bits} %chosen, i1 true)
  %room = select i1 %has.left, ptr %numbers.at, ptr %others.at
  %number.at = getelementptr i64, ptr %room, {bits} %lane
  %number = load i64, ptr %number.at
{all_of("same", "%number")}
  %differ = icmp ne {whole} %numbers, %same
  %differ.bits = bitcast <{lanes} x i1> %differ to {bits}
  %rest = and {bits} %left, %differ.bits
  %right.differ = icmp ne {whole} %others, %same
  %right.differ.bits = bitcast <{lanes} x i1> %right.differ to {bits}
  %right.rest = and {bits} %right, %right.differ.bits
  %found.more = add i64 %found, 1
  br label %loop
done:
  ret i64 %found
}}
define i64 @{TURNS}{lanes}(ptr %places, i64 %mask) {{
entry:
  %executing = {executing}
  %banks = alloca [{BANKS} x i32], align 64
  %short = load {words}, ptr %places, align 64
  %is.idle = icmp eq {bits} %executing, 0
  br i1 %is.idle, label %idle, label %look
look:
  %numbers = lshr {words} %short, {of_words(2)}
  %own = and {words} %numbers, {of_words(BANKS - 1)}
  %pointers = getelementptr i32, ptr %banks, {words} %own
  %all.flags = bitcast {bits} %executing to <{lanes} x i1>
  %lows = select <{lanes} x i1> %all.flags, {words} %numbers, {words} {of_words(-1)}
  %highs = select <{lanes} x i1> %all.flags, {words} %numbers, {words} zeroinitializer
  %lowest = call i32 @llvm.vector.reduce.umin.v{lanes}i32({words} %lows)
  %highest = call i32 @llvm.vector.reduce.umax.v{lanes}i32({words} %highs)
  %span = sub i32 %highest, %lowest
  %is.apart = icmp ult i32 %span, {BANKS}
  br i1 %is.apart, label %once, label %several
once:
  ret i64 1
several:
  %is.near = icmp ult i32 %span, {2 * BANKS}
  %lowest.long = zext i32 %lowest to i64
  br i1 %is.near, label %near, label %turn
near:
{all_of("firsts", "%lowest.long")}
  %numbers.long = zext {words} %numbers to {whole}
{bits_of("set", "%numbers.long", "%all.flags")}
  %upper = lshr i64 %set, {BANKS}
  %twice = and i64 %upper, %set
  %is.twice = icmp ne i64 %twice, 0
  %near.turns = select i1 %is.twice, i64 2, i64 1
  ret i64 %near.turns
idle:
  ret i64 0
turn:
  %left = phi {bits} [ %executing, %several ], [ %rest, %turn ]
  %turns = phi i64 [ 0, %several ], [ %turns.more, %turn ]
  %flags = bitcast {bits} %left to <{lanes} x i1>
  call void @llvm.masked.scatter.v{lanes}i32.v{lanes}p0({words} %numbers, {pointers} %pointers, i32 4, \
<{lanes} x i1> %flags)
  %given = call {words} @llvm.masked.gather.v{lanes}i32.v{lanes}p0({pointers} %pointers, i32 4, <{lanes} x i1> %flags, \
{words} %numbers)
  %waits = icmp ne {words} %given, %numbers
  %waits.bits = bitcast <{lanes} x i1> %waits to {bits}
  %rest = and {bits} %left, %waits.bits
  %turns.more = add i64 %turns, 1
  %goes.on = icmp ne {bits} %rest, 0
  br i1 %goes.on, label %turn, label %done
done:
  ret i64 %turns.more
}}
declare void @llvm.masked.scatter.v{lanes}i32.v{lanes}p0({words}, {pointers}, i32, <{lanes} x i1>)
declare i32 @llvm.vector.reduce.umin.v{lanes}i32({words})
declare i32 @llvm.vector.reduce.umax.v{lanes}i32({words})
declare i64 @llvm.vector.reduce.or.v{lanes}i64({whole})
declare i64 @llvm.vector.reduce.umin.v{lanes}i64({whole})
declare i64 @llvm.vector.reduce.umax.v{lanes}i64({whole})
declare {words} @llvm.masked.gather.v{lanes}i32.v{lanes}p0({pointers}, i32, <{lanes} x i1>, {words})
declare {bits} @llvm.cttz.{bits}({bits}, i1)
"""


FUNCTIONS = f"""
define ptr @{INNER_WAY}(ptr %way, ptr %behind) {{
entry:
  br label %loop
loop:
  %link = phi i64 [ {int(WayField.INNER)}, %entry ], [ {int(WayField.NEXT)}, %other ]
  %from = phi ptr [ %way, %entry ], [ %each, %other ]
  %each.at = getelementptr i8, ptr %from, i64 %link
  %each = load ptr, ptr %each.at
  %is.none = icmp eq ptr %each, null
  br i1 %is.none, label %none, label %look
look:
  %own.at = getelementptr i8, ptr %each, i64 {int(WayField.BEHIND)}
  %own = load ptr, ptr %own.at
  %is.it = icmp eq ptr %own, %behind
  br i1 %is.it, label %found, label %other
other:
  br label %loop
found:
  ret ptr %each
none:
  ret ptr null
}}
declare i64 @llvm.ctpop.i64(i64)
{_lines(32)}{_lines(64)}"""
"""The module."""
DECLARED = {
    INNER_WAY: f"declare ptr @{INNER_WAY}(ptr, ptr)",
    **{f"{LINES}{lanes}": f"declare i64 @{LINES}{lanes}(ptr, i64, i64, i64)" for lanes in (32, 64)},
    **{f"{TURNS}{lanes}": f"declare i64 @{TURNS}{lanes}(ptr, i64)" for lanes in (32, 64)},
}
"""How forms declare what they call."""
