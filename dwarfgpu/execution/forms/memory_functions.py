"""The functions of LLVM IR that search memory for the lanes of a wave, and move their numbers: eight lanes at a time.

They are compiled with care once, so that the forms that call them are short.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from dwarfgpu.execution.forms.layout import SLOT, STACK_WORDS, VECTORS, ArrayField, MemoryCell, Place, PointerCell

FIND = "forms_find"
"""``i64 @forms_find(ptr table, i64 address, i64 size)``: the address of the host; 0 where there is no memory."""
RESOLVE = "forms_resolve"
"""``i64 @forms_resolve32(ptr wave, ptr places, i64 lanes, i64 size, i64 unit, i64 space)``, and with 64.

``places`` has the address of each lane. Those of some lanes become addresses of the host. The result is the distance of
a number to the next; 0 if a lane has no memory, if a number would be in two dwords of private memory, or if lanes with
several numbers have different distances.
"""
CHECK_LOCAL = "forms_check_local"
"""``i1 @forms_check_local32(ptr wave, ptr numbers, i64 lanes, i32 offset, i32 size)``, and with 64.

Whether all lanes reach local memory at an offset from their numbers.
"""
READ, WRITE = "forms_read", "forms_write"
"""``void @forms_read32(ptr places, i64 lanes, i64 distance, i64 count, ptr register)``, and with 64; the same to write.

They move dwords between places and registers that follow each other.
"""
READ_LOCAL, WRITE_LOCAL = "forms_read_local", "forms_write_local"
"""``void @forms_read_local32(ptr numbers, i64 lanes, i64 distance, i64 count, ptr register, ptr base)``, and so on.

The same where lanes have numbers of 32 bits, and places are as far behind an address.
"""
IS_DEFINED = "forms_is_defined"
"""``i1 @forms_is_defined32(ptr wave, i64 offset, i1 every)``, and with 64.

Whether a vector register of a checked wave has no mark in executing lanes, or in every lane.
"""
IS_COPY = "forms_is_copy"
"""``i1 @forms_is_copy32(ptr wave, i64 offset, ptr marks, i1 load)``, and with 64.

Whether a move between a vector register and a row of private memory, with its marks, needs no look: executing lanes
move no mark, or the register has the same marks from there.
"""
DEFINE = "forms_define"
"""``void @forms_define32(ptr wave, i64 offset, ptr marks, ptr slot)``, and with 64.

Clear the marks of a vector register in executing lanes, or take others. If other lanes have marks, note the
instruction that left them.
"""
PUT = "forms_put"
"""``i1 @forms_put32(ptr wave, ptr beside, i64 offset, ptr row)``, and with 64.

Write a row of the state beside that of a wave, in executing lanes, or 0 there if ``row`` is null. The result is whether
other lanes have something.
"""
POINTER = "forms_pointer"
"""``i64 @forms_pointer32(ptr beside, ptr wave, i64 offset, i64 lanes)``, and with 64.

The buffer that both words of the addresses of lanes belong to, 0 for none; -1 if lanes have different ones.
"""
REACH = "forms_reach"
"""``i64 @forms_reach32(ptr wave, ptr places, i64 lanes, i64 size, i64 unit, i64 space, i64 buffer, ptr buffers,
ptr beside, i1 load, ptr found)``, and with 64.

The same as `RESOLVE`. Lanes with the address of a buffer must stay in it. Others may also load from memory that has
pointers, and reach their private memory: ``found`` then gets how far provenance is from there, else 0.
"""
REACH_WORDS = "forms_reach_words"
"""``i64 @forms_reach_words(ptr wave, ptr beside, i64 address, i64 size, i64 buffer, ptr found)``.

The same for the address of a wave, which may be in memory with pointers: ``found`` gets where their provenance is.
"""
PUT_ROW = "forms_put_row"
"""``void @forms_put_row32(ptr wave, ptr beside, i64 offset, ptr row, ptr flag)``, and with 64.

Write the provenance of a vector register to a row of private memory, and set the flag if there is a pointer.
"""
IN_ARRAY = "forms_in_array"
"""``i1 @forms_in_array32(ptr numbers, i64 lanes, i32 offset, i32 size, i32 start, i32 length)``, and with 64.

Whether all lanes reach an array in local memory.
"""
IN_OWN_ARRAY = "forms_in_own_array"
"""``i1 @forms_in_own_array32(ptr wave, ptr array, ptr places, i64 lanes, i64 size)``, and with 64.

Whether all lanes reach an array in private memory, of which `ArrayField` says where it is.
"""
GLOBAL_SPACE, FLAT_SPACE, PRIVATE_SPACE, NOT_LOCAL_SPACE = 0, 1, 2, 3
"""The last one is any but local memory."""
CHUNK = 8
"""The lanes of a step."""


def load(name: str, base: str, offset: int, kind: str = "i64") -> str:
    """Write how ``%name`` gets what is some bytes behind an address."""
    return f"  %{name}.at = getelementptr i8, ptr {base}, i64 {offset}\n  %{name} = load {kind}, ptr %{name}.at\n"


def cell(name: str, number: int, kind: str = "i64") -> str:
    """Write how ``%name`` gets one of the numbers at ``%cells``."""
    return load(name, "%cells", 8 * number, kind)


def store(name: str, number: int, value: str, kind: str = "i64") -> str:
    """Write how one of the numbers at ``%cells`` is left."""
    at = f"%{name}.out"
    return f"  {at} = getelementptr i8, ptr %cells, i64 {8 * number}\n  store {kind} {value}, ptr {at}\n"


def _spread(name: str, value: str, kind: str = "i64", lanes: int = CHUNK) -> str:
    """Write a vector with a number for each lane."""
    whole = f"<{lanes} x {kind}>"
    return f"""  %{name}.one = insertelement {whole} poison, {kind} {value}, i32 0
  %{name} = shufflevector {whole} %{name}.one, {whole} poison, <{lanes} x i32> zeroinitializer
"""


def _none(name: str, flags: str) -> str:
    """Write whether no executing lane of a chunk has a flag."""
    return f"""  %{name}.active = and <{CHUNK} x i1> {flags}, %flags
  %{name}.bits = bitcast <{CHUNK} x i1> %{name}.active to i8
  %{name} = icmp eq i8 %{name}.bits, 0
"""


_LOOK = f"""  %shifted = lshr i64 %mask, %c
  %bits = trunc i64 %shifted to i8
  %is.idle = icmp eq i8 %bits, 0
  br i1 %is.idle, label %next, label %look
look:
  %flags = bitcast i8 %bits to <{CHUNK} x i1>
  %at = getelementptr i64, ptr %places, i64 %c
  %address = load <{CHUNK} x i64>, ptr %at, align 64
"""
"""How the addresses of a chunk are looked at, if a lane of it executes."""


def _segment(name: str) -> str:
    """Write the numbers of the segment ``%name``: its start, how far a lane may reach, and its address of the host."""
    return (
        load(f"{name}.start", f"%{name}", 0)
        + load(f"{name}.whole", f"%{name}", 8)
        + f"""  %{name}.above = add i64 %{name}.whole, 1
  %{name}.room = call i64 @llvm.usub.sat.i64(i64 %{name}.above, i64 %size)
"""
        + load(f"{name}.host", f"%{name}", 16)
    )


def _among(name: str, start: str, size: str, lanes: int) -> str:
    """Write which executing lanes have ``%all.places`` in some memory."""
    return f"""{_spread(f"{name}.starts", start, "i64", lanes)}{_spread(f"{name}.sizes", size, "i64", lanes)}\
  %{name}.offsets = sub <{lanes} x i64> %all.places, %{name}.starts
  %{name}.inside = icmp ult <{lanes} x i64> %{name}.offsets, %{name}.sizes
  %{name}.bits = bitcast <{lanes} x i1> %{name}.inside to i{lanes}
  %{name}.executing = {f"trunc i64 %mask to i{lanes}" if lanes < 64 else "add i64 %mask, 0"}
  %{name}.lanes = and i{lanes} %{name}.bits, %{name}.executing
"""


def _steps(factor: int, kind: str = "i64", lanes: int = CHUNK) -> str:
    return "<" + ", ".join(f"{kind} {factor * lane}" for lane in range(lanes)) + ">"


def _all(number: int) -> str:
    return f"<{', '.join([f'i64 {number}'] * CHUNK)}>"


_FIND = f"""
define i64 @{FIND}(ptr %cells, i64 %address, i64 %size) {{
entry:
{cell("latest", MemoryCell.LATEST)}{cell("segments", MemoryCell.SEGMENTS, "ptr")}\
{cell("count", MemoryCell.SEGMENT_COUNT)}
  %is.none = icmp eq i64 %count, 0
  br i1 %is.none, label %nowhere, label %try
try:
  %index = phi i64 [ %latest, %entry ], [ %last, %found ]
  %is.latest = phi i1 [ true, %entry ], [ false, %found ]
  %at = mul i64 %index, 3
  %segment = getelementptr i64, ptr %segments, i64 %at
  %start = load i64, ptr %segment
{load("whole", "%segment", 8)}
  %offset = sub i64 %address, %start
  %room = sub i64 %whole, %size
  %fits = icmp uge i64 %whole, %size
  %below = icmp ule i64 %offset, %room
  %inside = and i1 %fits, %below
  br i1 %inside, label %here, label %again
here:
  store i64 %index, ptr %latest.at
{load("host", "%segment", 16)}
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
    """Return `RESOLVE` for waves of a size."""
    row = (4 * lanes).bit_length() - 1
    return f"""
define i64 @{RESOLVE}{lanes}(ptr %wave, ptr %places, i64 %mask, i64 %size, i64 %unit, i64 %space) {{
entry:
{load("cells", "%wave", Place.TABLE, "ptr")}{load("local", "%wave", Place.LOCAL)}\
{load("local.size", "%wave", Place.LOCAL_SIZE)}{load("private", "%wave", Place.PRIVATE)}\
{load("private.size", "%wave", Place.PRIVATE_SIZE)}\
{cell("shared.aperture", MemoryCell.SHARED)}{cell("private.aperture", MemoryCell.PRIVATE)}\
{cell("latest", MemoryCell.LATEST)}{cell("segments", MemoryCell.SEGMENTS, "ptr")}\
{cell("count", MemoryCell.SEGMENT_COUNT)}
  %is.flat = icmp eq i64 %space, {FLAT_SPACE}
  %is.scratch = icmp eq i64 %space, {PRIVATE_SPACE}
  %is.empty = icmp eq i64 %count, 0
  %has.none = or i1 %is.empty, %is.scratch
  %latest.place = mul i64 %latest, 24
  %latest.segment = getelementptr i8, ptr %segments, i64 %latest.place
  %segment = select i1 %has.none, ptr @forms_nothing, ptr %latest.segment
{_segment("segment")}
  %low.mask = select i1 %is.scratch, i64 -1, i64 4294967295
  %crossing = sub i64 4, %unit
  %private.room = sub i64 %private.size, %size
{_spread("low.masks", "%low.mask")}{_spread("crossings", "%crossing")}{_spread("private.rooms", "%private.room")}\
{_spread("privates", "%private")}{_spread("private.apertures", "%private.aperture")}\
{_spread("shared.apertures", "%shared.aperture")}{_spread("locals", "%local")}{_spread("local.sizes", "%local.size")}\
{_spread("sizes", "%size")}
  br label %chunk
chunk:
  %c = phi i64 [ 0, %entry ], [ %c.next, %agreed ]
  %start = phi i64 [ %segment.start, %entry ], [ %start.next, %agreed ]
  %room = phi i64 [ %segment.room, %entry ], [ %room.next, %agreed ]
  %host = phi i64 [ %segment.host, %entry ], [ %host.next, %agreed ]
  %step = phi i64 [ 0, %entry ], [ %step.next, %agreed ]
{_LOOK}{_spread("starts", "%start")}{_spread("rooms", "%room")}
  %offset = sub <{CHUNK} x i64> %address, %starts
  %outside = icmp uge <{CHUNK} x i64> %offset, %rooms
{_none("is.near", "%outside")}
  br i1 %is.near, label %near, label %far
near:
  %near.start = phi i64 [ %start, %look ], [ %other.start, %moved ]
  %near.room = phi i64 [ %room, %look ], [ %other.room, %moved ]
  %near.host = phi i64 [ %host, %look ], [ %other.host, %moved ]
  %near.offset = phi <{CHUNK} x i64> [ %offset, %look ], [ %other.offset, %moved ]
{_spread("hosts", "%near.host")}
  %near.place = add <{CHUNK} x i64> %near.offset, %hosts
  store <{CHUNK} x i64> %near.place, ptr %at, align 64
  br label %next
far:
  br i1 %is.scratch, label %in.private, label %upper
upper:
  br i1 %is.flat, label %generic, label %search
generic:
  %uppers = lshr <{CHUNK} x i64> %address, {_all(32)}
  %not.private = icmp ne <{CHUNK} x i64> %uppers, %private.apertures
{_none("all.private", "%not.private")}
  br i1 %all.private, label %in.private, label %not.all
not.all:
  %not.shared = icmp ne <{CHUNK} x i64> %uppers, %shared.apertures
{_none("all.shared", "%not.shared")}
  br i1 %all.shared, label %in.local, label %mixed
mixed:
  %are.global = and i8 %all.private.bits, %all.shared.bits
  %all.global = icmp eq i8 %are.global, %bits
  br i1 %all.global, label %search, label %kinds
kinds:
  %none.private = icmp eq i8 %all.private.bits, %bits
  %has.one = icmp eq i64 %size, %unit
  %have.one.step = or i1 %none.private, %has.one
  br i1 %have.one.step, label %lanes, label %refuse
in.private:
  %low = and <{CHUNK} x i64> %address, %low.masks
  %negative = icmp slt <{CHUNK} x i64> %low, zeroinitializer
  %beyond = icmp sgt <{CHUNK} x i64> %low, %private.rooms
  %within = and <{CHUNK} x i64> %low, {_all(3)}
  %crosses = icmp sgt <{CHUNK} x i64> %within, %crossings
  %wrong.place = or <{CHUNK} x i1> %negative, %beyond
  %wrong = or <{CHUNK} x i1> %wrong.place, %crosses
{_none("is.private", "%wrong")}
  br i1 %is.private, label %private.found, label %refuse
private.found:
  %dword = lshr <{CHUNK} x i64> %low, {_all(2)}
  %row = shl <{CHUNK} x i64> %dword, {_all(row)}
  %lane.first = shl i64 %c, 2
{_spread("lane.firsts", "%lane.first")}
  %own = add <{CHUNK} x i64> %lane.firsts, {_steps(4)}
  %own.private = add <{CHUNK} x i64> %own, %privates
  %own.row = add <{CHUNK} x i64> %own.private, %row
  %private.place = add <{CHUNK} x i64> %own.row, %within
  store <{CHUNK} x i64> %private.place, ptr %at, align 64
  br label %next
in.local:
  %lower = and <{CHUNK} x i64> %address, %low.masks
  %local.end = add <{CHUNK} x i64> %lower, %sizes
  %local.wrong = icmp ugt <{CHUNK} x i64> %local.end, %local.sizes
{_none("is.local", "%local.wrong")}
  %local.place = add <{CHUNK} x i64> %lower, %locals
  store <{CHUNK} x i64> %local.place, ptr %at, align 64
  br i1 %is.local, label %next, label %refuse
search:
  %bits.long = zext i8 %bits to i64
  %lowest = call i64 @llvm.cttz.i64(i64 %bits.long, i1 true)
  %lowest.at = getelementptr i64, ptr %at, i64 %lowest
  %lowest.address = load i64, ptr %lowest.at
  %lowest.place = call i64 @{FIND}(ptr %cells, i64 %lowest.address, i64 %size)
  %is.nowhere = icmp eq i64 %lowest.place, 0
  br i1 %is.nowhere, label %refuse, label %moved
moved:
  %moved.latest = load i64, ptr %latest.at
  %moved.offset = mul i64 %moved.latest, 24
  %other = getelementptr i8, ptr %segments, i64 %moved.offset
{_segment("other")}{_spread("other.starts", "%other.start")}{_spread("other.rooms", "%other.room")}
  %other.offset = sub <{CHUNK} x i64> %address, %other.starts
  %other.outside = icmp uge <{CHUNK} x i64> %other.offset, %other.rooms
{_none("is.other", "%other.outside")}
  br i1 %is.other, label %near, label %lanes
lanes:
  %all.lanes = zext i8 %bits to i64
  br label %lane
lane:
  %left = phi i64 [ %all.lanes, %lanes ], [ %rest, %lane.found ]
  %number = call i64 @llvm.cttz.i64(i64 %left, i1 true)
  %lane.at = getelementptr i64, ptr %at, i64 %number
  %lane.address = load i64, ptr %lane.at
  %lane.upper = lshr i64 %lane.address, 32
  %lane.lower = and i64 %lane.address, 4294967295
  %lane.shared = icmp eq i64 %lane.upper, %shared.aperture
  %lane.is.shared = and i1 %is.flat, %lane.shared
  br i1 %lane.is.shared, label %lane.local, label %lane.other
lane.local:
  %lane.end = add i64 %lane.lower, %size
  %lane.local.place = add i64 %lane.lower, %local
  %lane.outside = icmp ugt i64 %lane.end, %local.size
  br i1 %lane.outside, label %refuse, label %lane.found
lane.other:
  %lane.private = icmp eq i64 %lane.upper, %private.aperture
  %lane.is.private = and i1 %is.flat, %lane.private
  br i1 %lane.is.private, label %lane.own, label %lane.global
lane.own:
  %lane.beyond = icmp sgt i64 %lane.lower, %private.room
  %lane.within = and i64 %lane.lower, 3
  %lane.crosses = icmp sgt i64 %lane.within, %crossing
  %lane.wrong = or i1 %lane.beyond, %lane.crosses
  %lane.dword = lshr i64 %lane.lower, 2
  %lane.row = shl i64 %lane.dword, {row}
  %lane.number = add i64 %number, %c
  %lane.column = shl i64 %lane.number, 2
  %lane.row.place = add i64 %private, %lane.row
  %lane.dword.place = add i64 %lane.row.place, %lane.column
  %lane.private.place = add i64 %lane.dword.place, %lane.within
  br i1 %lane.wrong, label %refuse, label %lane.found
lane.global:
  %lane.global.place = call i64 @{FIND}(ptr %cells, i64 %lane.address, i64 %size)
  %lane.nowhere = icmp eq i64 %lane.global.place, 0
  br i1 %lane.nowhere, label %refuse, label %lane.found
lane.found:
  %lane.place = phi i64 [ %lane.local.place, %lane.local ], [ %lane.private.place, %lane.own ], \
[ %lane.global.place, %lane.global ]
  store i64 %lane.place, ptr %lane.at
  %less = sub i64 %left, 1
  %rest = and i64 %left, %less
  %more.lanes = icmp ne i64 %rest, 0
  br i1 %more.lanes, label %lane, label %next
next:
  %start.next = phi i64 [ %start, %chunk ], [ %near.start, %near ], [ %start, %private.found ], \
[ %start, %in.local ], [ %start, %lane.found ]
  %room.next = phi i64 [ %room, %chunk ], [ %near.room, %near ], [ %room, %private.found ], \
[ %room, %in.local ], [ %room, %lane.found ]
  %host.next = phi i64 [ %host, %chunk ], [ %near.host, %near ], [ %host, %private.found ], \
[ %host, %in.local ], [ %host, %lane.found ]
  %step.now = phi i64 [ %step, %chunk ], [ %unit, %near ], [ {4 * lanes}, %private.found ], \
[ %unit, %in.local ], [ %unit, %lane.found ]
  %is.first = icmp eq i64 %step, 0
  %step.next = select i1 %is.first, i64 %step.now, i64 %step
  %is.same = icmp eq i64 %step.next, %step.now
  %is.single = icmp eq i64 %size, %unit
  %fits = or i1 %is.same, %is.single
  br i1 %fits, label %agreed, label %refuse
agreed:
  %c.next = add i64 %c, {CHUNK}
  %more = icmp ult i64 %c.next, {lanes}
  br i1 %more, label %chunk, label %all
all:
  %is.idle.wave = icmp eq i64 %step.next, 0
  %result = select i1 %is.idle.wave, i64 %unit, i64 %step.next
  ret i64 %result
refuse:
  ret i64 0
}}
"""


def _local(lanes: int) -> str:
    """Return `CHECK_LOCAL` for waves of a size."""
    return f"""
define i1 @{CHECK_LOCAL}{lanes}(ptr %wave, ptr %numbers, i64 %mask, i32 %offset, i32 %size) {{
entry:
{load("whole", "%wave", Place.LOCAL_SIZE)}
  %whole.short = trunc i64 %whole to i32
  %above = add i32 %whole.short, 1
  %room = call i32 @llvm.usub.sat.i32(i32 %above, i32 %size)
  %first = load <{lanes} x i32>, ptr %numbers, align 64
{_spread("offsets", "%offset", "i32", lanes)}{_spread("rooms", "%room", "i32", lanes)}
  %sum = add <{lanes} x i32> %first, %offsets
  %outside = icmp uge <{lanes} x i32> %sum, %rooms
  %bits = bitcast <{lanes} x i1> %outside to i{lanes}
  %wide = zext i{lanes} %bits to i128
  %executing = zext i64 %mask to i128
  %wrong = and i128 %wide, %executing
  %is.inside = icmp eq i128 %wrong, 0
  ret i1 %is.inside
}}
"""


def _marks(lanes: int) -> str:
    """Return `IS_DEFINED` and `DEFINE` for waves of a size."""
    whole, size = f"<{lanes} x i32>", 4 * lanes
    row = f"""{load("marks", "%wave", Place.MARKS, "ptr")}  %row = getelementptr i8, ptr %marks, i64 %offset
  %old = load {whole}, ptr %row, align 64
  %exec.at = getelementptr i8, ptr %wave, i64 {int(Place.EXEC)}
  %exec = load {whole}, ptr %exec.at, align 64
"""
    return f"""
define i1 @{IS_DEFINED}{lanes}(ptr %wave, i64 %offset, i1 %every) {{
entry:
{row}  %all = sext i1 %every to i32
{_spread("others", "%all", "i32", lanes)}  %looked = or {whole} %exec, %others
  %wrong = and {whole} %old, %looked
  %any = call i32 @llvm.vector.reduce.or.v{lanes}i32({whole} %wrong)
  %is.defined = icmp eq i32 %any, 0
  ret i1 %is.defined
}}
define i1 @{IS_COPY}{lanes}(ptr %wave, i64 %offset, ptr %memory, i1 %load) {{
entry:
{row}  %there = load {whole}, ptr %memory, align 4
  %moved = select i1 %load, {whole} %there, {whole} %old
  %counting = and {whole} %moved, %exec
  %counted = call i32 @llvm.vector.reduce.or.v{lanes}i32({whole} %counting)
  %is.defined = icmp eq i32 %counted, 0
  br i1 %is.defined, label %yes, label %look
look:
  %both = xor {whole} %old, %there
  %other = and {whole} %both, %exec
  %differing = call i32 @llvm.vector.reduce.or.v{lanes}i32({whole} %other)
  %is.same = icmp eq i32 %differing, 0
{load("private", "%marks", Place.PRIVATE)}{load("copies", "%marks", Place.COPIES, "ptr")}\
  %memory.number = ptrtoint ptr %memory to i64
  %within = sub i64 %memory.number, %private
  %place = lshr i64 %within, {lanes.bit_length() - 1}
  %one.more = add i64 %place, 1
  %behind = sub i64 %offset, {VECTORS}
  %number = lshr i64 %behind, {size.bit_length() - 1}
  %copy.at = getelementptr i64, ptr %copies, i64 %number
  %copy = load i64, ptr %copy.at
  %is.there = icmp eq i64 %copy, %one.more
  %result = and i1 %is.same, %is.there
  ret i1 %result
yes:
  ret i1 true
}}
define void @{DEFINE}{lanes}(ptr %wave, i64 %offset, ptr %given, ptr %slot) {{
entry:
{load("marks", "%wave", Place.MARKS, "ptr")}\
  %has.marks = call i1 @{PUT}{lanes}(ptr %wave, ptr %marks, i64 %offset, ptr %given)
  br i1 %has.marks, label %note, label %done
note:
  %behind = sub i64 %offset, {VECTORS}
  %number = lshr i64 %behind, {size.bit_length() - 1}
{load("cells", "%marks", Place.TABLE, "ptr")}{load("partly", "%marks", Place.PARTLY, "ptr")}\
{cell("program", MemoryCell.PROGRAM)}
  %slot.number = ptrtoint ptr %slot to i64
  %distance = lshr i64 %slot.number, {(SLOT // 4).bit_length() - 1}
  %address = add i64 %program, %distance
  %noted.at = getelementptr i64, ptr %partly, i64 %number
  store i64 %address, ptr %noted.at
  br label %done
done:
  ret void
}}
"""


def _beside(lanes: int) -> str:
    """Return `PUT` for waves of a size."""
    whole, size = f"<{lanes} x i32>", 4 * lanes
    return f"""
define i1 @{PUT}{lanes}(ptr %wave, ptr %beside, i64 %offset, ptr %given) {{
entry:
  %row = getelementptr i8, ptr %beside, i64 %offset
  %old = load {whole}, ptr %row, align 64
  %exec.at = getelementptr i8, ptr %wave, i64 {int(Place.EXEC)}
  %exec = load {whole}, ptr %exec.at, align 64
  %is.clear = icmp eq ptr %given, null
  %from = select i1 %is.clear, ptr @forms_zeros, ptr %given
  %new = load {whole}, ptr %from, align 4
  %taken = and {whole} %new, %exec
  %ones = insertelement {whole} poison, i32 -1, i32 0
  %every = shufflevector {whole} %ones, {whole} poison, {whole} zeroinitializer
  %rest = xor {whole} %exec, %every
  %left = and {whole} %old, %rest
  %all = or {whole} %left, %taken
  store {whole} %all, ptr %row, align 64
  %any = call i32 @llvm.vector.reduce.or.v{lanes}i32({whole} %all)
  %has.any = icmp ne i32 %any, 0
  %byte = zext i1 %has.any to i8
  %others = call i32 @llvm.vector.reduce.or.v{lanes}i32({whole} %left)
  %has.others = icmp ne i32 %others, 0
  %behind = sub i64 %offset, {VECTORS}
  %number = lshr i64 %behind, {size.bit_length() - 1}
  %bytes = getelementptr i8, ptr %beside, i64 {int(Place.KNOWN_VECTORS)}
  %byte.at = getelementptr i8, ptr %bytes, i64 %number
  store i8 %byte, ptr %byte.at
  ret i1 %has.others
}}
declare i32 @llvm.vector.reduce.or.v{lanes}i32({whole})
"""


def _pointers(lanes: int) -> str:
    """Return `POINTER`, `REACH`, `PUT_ROW`, `IN_ARRAY` and `IN_OWN_ARRAY` for waves of a size."""
    whole, wide, size = f"<{lanes} x i32>", f"<{lanes} x i64>", 4 * lanes
    return f"""
define i64 @{POINTER}{lanes}(ptr %beside, ptr %wave, i64 %offset, i64 %mask) {{
entry:
  %behind = sub i64 %offset, {VECTORS}
  %number = lshr i64 %behind, {size.bit_length() - 1}
  %bytes = getelementptr i8, ptr %beside, i64 {int(Place.KNOWN_VECTORS)}
  %bytes.at = getelementptr i8, ptr %bytes, i64 %number
  %both = load i16, ptr %bytes.at, align 1
  %has.none = icmp eq i16 %both, 0
  %is.idle = icmp eq i64 %mask, 0
  %is.plain = or i1 %has.none, %is.idle
  br i1 %is.plain, label %none, label %look
none:
  ret i64 0
look:
  %low.at = getelementptr i8, ptr %beside, i64 %offset
  %high.at = getelementptr i8, ptr %low.at, i64 {size}
  %low = load {whole}, ptr %low.at, align 64
  %high = load {whole}, ptr %high.at, align 64
  %is.same = icmp eq {whole} %low, %high
  %is.buffer = icmp sgt {whole} %low, zeroinitializer
  %is.one = and <{lanes} x i1> %is.same, %is.buffer
  %of = select <{lanes} x i1> %is.one, {whole} %low, {whole} zeroinitializer
  %lane = call i64 @llvm.cttz.i64(i64 %mask, i1 true)
  %lane.short = trunc i64 %lane to i32
  %first = extractelement {whole} %of, i32 %lane.short
{_spread("firsts", "%first", "i32", lanes)}
  %differs = icmp ne {whole} %of, %firsts
  %bits = bitcast <{lanes} x i1> %differs to i{lanes}
  %bits.wide = zext i{lanes} %bits to i128
  %executing = zext i64 %mask to i128
  %wrong = and i128 %bits.wide, %executing
  %agree = icmp eq i128 %wrong, 0
  %first.wide = zext i32 %first to i64
  %result = select i1 %agree, i64 %first.wide, i64 -1
  ret i64 %result
}}
define i64 @{REACH}{lanes}(ptr %wave, ptr %places, i64 %mask, i64 %size, i64 %unit, i64 %space, i64 %buffer, \
ptr %buffers, ptr %beside, i1 %load, ptr %found) {{
entry:
  store i64 0, ptr %found
  %has.none = icmp eq i64 %buffer, 0
  br i1 %has.none, label %any, label %known
any:
  %copy = load {wide}, ptr %places, align 64
  %no.local = icmp eq i64 %space, {NOT_LOCAL_SPACE}
  %searched = select i1 %no.local, i64 {FLAT_SPACE}, i64 %space
  %resolved = call i64 @{RESOLVE}{lanes}(ptr %wave, ptr %places, i64 %mask, i64 %size, i64 %unit, i64 %searched)
  %is.nowhere = icmp eq i64 %resolved, 0
  br i1 %is.nowhere, label %hidden, label %somewhere
hidden:
{load("cells", "%beside", Place.TABLE, "ptr")}{cell("hidden.count", MemoryCell.SEGMENT_COUNT)}
  %is.single = icmp eq i64 %hidden.count, 1
  %may.load = and i1 %is.single, %load
  br i1 %may.load, label %again, label %refuse
again:
  store {wide} %copy, ptr %places, align 64
  %loaded = call i64 @{RESOLVE}{lanes}(ptr %beside, ptr %places, i64 %mask, i64 %size, i64 %unit, i64 {GLOBAL_SPACE})
{cell("distances", PointerCell.DISTANCES, "ptr")}
  %hidden.distance = load i64, ptr %distances
  store i64 %hidden.distance, ptr %found
  ret i64 %loaded
somewhere:
  %is.flat = icmp eq i64 %searched, {FLAT_SPACE}
  br i1 %is.flat, label %generic, label %done
done:
  ret i64 %resolved
generic:
{load("private", "%wave", Place.PRIVATE)}{load("private.size", "%wave", Place.PRIVATE_SIZE)}\
{load("private.beside", "%beside", Place.PRIVATE)}{load("local", "%wave", Place.LOCAL)}\
{load("local.size", "%wave", Place.LOCAL_SIZE)}
  %private.whole = mul i64 %private.size, {lanes}
  %all.places = load {wide}, ptr %places, align 64
{_among("private", "%private", "%private.whole", lanes)}
  %some.private = icmp ne i{lanes} %private.lanes, 0
  br i1 %some.private, label %own.memory, label %others
own.memory:
  %private.distance = sub i64 %private.beside, %private
  store i64 %private.distance, ptr %found
  %all.private = icmp eq i{lanes} %private.lanes, %private.executing
  br i1 %all.private, label %done, label %refuse
others:
{_among("local", "%local", "%local.size", lanes)}
  %some.local = icmp ne i{lanes} %local.lanes, 0
  %wrong.local = and i1 %some.local, %no.local
  br i1 %wrong.local, label %refuse, label %done
known:
  %are.several = icmp slt i64 %buffer, 0
  br i1 %are.several, label %refuse, label %one
one:
  %own.offset = mul i64 %buffer, 24
  %own = getelementptr i8, ptr %buffers, i64 %own.offset
{_segment("own")}{_spread("starts", "%own.start")}{_spread("rooms", "%own.room")}{_spread("hosts", "%own.host")}
  br label %chunk
chunk:
  %c = phi i64 [ 0, %one ], [ %c.next, %next ]
{_LOOK}  %offset = sub <{CHUNK} x i64> %address, %starts
  %outside = icmp uge <{CHUNK} x i64> %offset, %rooms
{_none("is.own", "%outside")}
  %place = add <{CHUNK} x i64> %offset, %hosts
  store <{CHUNK} x i64> %place, ptr %at, align 64
  br i1 %is.own, label %next, label %refuse
next:
  %c.next = add i64 %c, {CHUNK}
  %more = icmp ult i64 %c.next, {lanes}
  br i1 %more, label %chunk, label %all
all:
  ret i64 %unit
refuse:
  ret i64 0
}}
define void @{PUT_ROW}{lanes}(ptr %wave, ptr %beside, i64 %offset, ptr %row, ptr %flag) {{
entry:
  %own.at = getelementptr i8, ptr %beside, i64 %offset
  %own = load {whole}, ptr %own.at, align 64
  %exec.at = getelementptr i8, ptr %wave, i64 {int(Place.EXEC)}
  %exec = load {whole}, ptr %exec.at, align 64
  %old = load {whole}, ptr %row, align 4
  %both = xor {whole} %own, %old
  %changed = and {whole} %both, %exec
  %new = xor {whole} %old, %changed
  store {whole} %new, ptr %row, align 4
  %any = call i32 @llvm.vector.reduce.or.v{lanes}i32({whole} %new)
  %has.any = icmp ne i32 %any, 0
  %before = load i8, ptr %flag
  %now = select i1 %has.any, i8 1, i8 %before
  store i8 %now, ptr %flag
  ret void
}}
define i1 @{IN_ARRAY}{lanes}(ptr %numbers, i64 %mask, i32 %offset, i32 %size, i32 %start, i32 %length) {{
entry:
  %above = add i32 %length, 1
  %room = call i32 @llvm.usub.sat.i32(i32 %above, i32 %size)
  %from = sub i32 %offset, %start
  %first = load {whole}, ptr %numbers, align 64
{_spread("froms", "%from", "i32", lanes)}{_spread("rooms", "%room", "i32", lanes)}
  %place = add {whole} %first, %froms
  %outside = icmp uge {whole} %place, %rooms
  %bits = bitcast <{lanes} x i1> %outside to i{lanes}
  %bits.wide = zext i{lanes} %bits to i128
  %executing = zext i64 %mask to i128
  %wrong = and i128 %bits.wide, %executing
  %is.inside = icmp eq i128 %wrong, 0
  ret i1 %is.inside
}}
define i1 @{IN_OWN_ARRAY}{lanes}(ptr %wave, ptr %array, ptr %places, i64 %mask, i64 %size) {{
entry:
{load("known", "%array", ArrayField.STACK)}{load("start", "%array", ArrayField.START)}\
{load("length", "%array", ArrayField.SIZE)}{load("stack", "%wave", 4 * STACK_WORDS)}\
{load("private", "%wave", Place.PRIVATE)}
  %above = add i64 %length, 1
  %room = call i64 @llvm.usub.sat.i64(i64 %above, i64 %size)
  %place = load {wide}, ptr %places, align 64
{_spread("privates", "%private", "i64", lanes)}{_spread("starts", "%start", "i64", lanes)}\
{_spread("rooms", "%room", "i64", lanes)}{_spread("threes", "3", "i64", lanes)}{_spread("twos", "2", "i64", lanes)}\
{_spread("rows", str(size.bit_length() - 1), "i64", lanes)}
  %distance = sub {wide} %place, %privates
  %dword = lshr {wide} %distance, %rows
  %first = shl {wide} %dword, %twos
  %byte = and {wide} %distance, %threes
  %address = or {wide} %first, %byte
  %within = sub {wide} %address, %starts
  %outside = icmp uge {wide} %within, %rooms
  %bits = bitcast <{lanes} x i1> %outside to i{lanes}
  %bits.wide = zext i{lanes} %bits to i128
  %executing = zext i64 %mask to i128
  %wrong = and i128 %bits.wide, %executing
  %is.inside = icmp eq i128 %wrong, 0
  %is.known = icmp eq i64 %known, %stack
  %result = and i1 %is.inside, %is.known
  ret i1 %result
}}
"""


_REACH_WORDS = f"""
define i64 @{REACH_WORDS}(ptr %wave, ptr %beside, i64 %address, i64 %size, i64 %buffer, ptr %found) {{
entry:
{load("cells", "%beside", Place.TABLE, "ptr")}
  store ptr @forms_zeros, ptr %found
  %has.none = icmp eq i64 %buffer, 0
  br i1 %has.none, label %any, label %own
own:
{cell("buffers", PointerCell.READABLE, "ptr")}
  %own.offset = mul i64 %buffer, 24
  %buffer.own = getelementptr i8, ptr %buffers, i64 %own.offset
{_segment("buffer.own")}
  %offset = sub i64 %address, %buffer.own.start
  %is.own = icmp ult i64 %offset, %buffer.own.room
  %own.place = add i64 %offset, %buffer.own.host
  %own.result = select i1 %is.own, i64 %own.place, i64 0
  ret i64 %own.result
any:
{load("table", "%wave", Place.TABLE, "ptr")}
  %plain = call i64 @{FIND}(ptr %table, i64 %address, i64 %size)
  %is.plain = icmp ne i64 %plain, 0
  br i1 %is.plain, label %done, label %look
done:
  ret i64 %plain
look:
  %place = call i64 @{FIND}(ptr %cells, i64 %address, i64 %size)
  %is.nowhere = icmp eq i64 %place, 0
  br i1 %is.nowhere, label %all, label %here
here:
{cell("latest", MemoryCell.LATEST)}{cell("distances", PointerCell.DISTANCES, "ptr")}
  %distance.at = getelementptr i64, ptr %distances, i64 %latest
  %distance = load i64, ptr %distance.at
  %number = add i64 %place, %distance
  %words = inttoptr i64 %number to ptr
  store ptr %words, ptr %found
  br label %all
all:
  ret i64 %place
}}
"""


class _Move:
    """The text of a function that moves dwords, some lanes at a time."""

    def __init__(self, name: str, lanes: int) -> None:
        self.is_local, self.lanes = name in (READ_LOCAL, WRITE_LOCAL), lanes
        self.chunk, self.kind = (2 * CHUNK, "i32") if self.is_local else (CHUNK, "i64")
        self.words = f"<{self.chunk} x i32>"
        base = ", ptr %base" if self.is_local else ""
        self.head = f"@{name}{lanes}(ptr %places, i64 %mask, i64 %distance, i64 %count, ptr %register{base})"

    def begin(self, elsewhere: str) -> str:
        """Return a loop over registers, and in it one over lanes: their dwords are in a row, or ``elsewhere``."""
        chunk, kind, words = self.chunk, self.kind, self.words
        places, flags = f"<{chunk} x {kind}>", f"i{chunk}"
        pointers = (
            f"getelementptr i8, ptr %base, {places} %each"
            if self.is_local
            else f"inttoptr {places} %each to <{chunk} x ptr>"
        )
        pointer = f"getelementptr i8, ptr %base, {kind} %first" if self.is_local else "inttoptr i64 %first to ptr"
        return f"""
define void {self.head} {{
entry:
  br label %dword
dword:
  %k = phi i64 [ 0, %entry ], [ %k.next, %moved ]
  %distance.long = mul i64 %k, %distance
  %distance.now = {"trunc i64 %distance.long to i32" if self.is_local else "add i64 %distance.long, 0"}
  %row.offset = mul i64 %k, {4 * self.lanes}
  %row = getelementptr i8, ptr %register, i64 %row.offset
{_spread("distances", "%distance.now", kind, chunk)}
  br label %chunk
chunk:
  %c = phi i64 [ 0, %dword ], [ %c.next, %next ]
  %shifted = lshr i64 %mask, %c
  %bits = trunc i64 %shifted to {flags}
  %is.idle = icmp eq {flags} %bits, 0
  br i1 %is.idle, label %next, label %look
look:
  %flags = bitcast {flags} %bits to <{chunk} x i1>
  %at = getelementptr {kind}, ptr %places, i64 %c
  %first.places = load {places}, ptr %at, align 64
  %each = add {places} %first.places, %distances
  %own = getelementptr i32, ptr %row, i64 %c
  %first = extractelement {places} %each, i32 0
  %pointer = {pointer}
  %is.full = icmp eq {flags} %bits, -1
  br i1 %is.full, label %full, label %apart
full:
{_spread("firsts", "%first", kind, chunk)}
  %from.first = sub {places} %each, %firsts
  %not.row = icmp ne {places} %from.first, {_steps(4, kind, chunk)}
  %not.row.bits = bitcast <{chunk} x i1> %not.row to {flags}
  %is.row = icmp eq {flags} %not.row.bits, 0
  br i1 %is.row, label %in.row, label %{elsewhere}
apart:
  %pointers = {pointers}
  %values = load {words}, ptr %own, align 32
"""

    @property
    def end(self) -> str:
        return f"""
next:
  %c.next = add i64 %c, {self.chunk}
  %more = icmp ult i64 %c.next, {self.lanes}
  br i1 %more, label %chunk, label %moved
moved:
  %k.next = add i64 %k, 1
  %more.dwords = icmp ult i64 %k.next, %count
  br i1 %more.dwords, label %dword, label %all
all:
  ret void
}}
"""

    def read(self) -> str:
        chunk, words = self.chunk, self.words
        return f"""{self.begin("scattered")}
  %found = call {words} @llvm.masked.gather.v{chunk}i32.v{chunk}p0(<{chunk} x ptr> %pointers, i32 1, \
<{chunk} x i1> %flags, {words} %values)
  store {words} %found, ptr %own, align 32
  br label %next
in.row:
  %in.memory = load {words}, ptr %pointer, align 1
  store {words} %in.memory, ptr %own, align 32
  br label %next
scattered:
  %not.same = icmp ne <{chunk} x {self.kind}> %from.first, zeroinitializer
  %not.same.bits = bitcast <{chunk} x i1> %not.same to i{chunk}
  %is.same = icmp eq i{chunk} %not.same.bits, 0
  br i1 %is.same, label %same, label %apart
same:
  %single = load i32, ptr %pointer, align 1
{_spread("singles", "%single", "i32", chunk)}
  store {words} %singles, ptr %own, align 32
  br label %next
{self.end}"""

    def write(self) -> str:
        """Of lanes at one place the last one wins, for each dword in turn."""
        chunk, words = self.chunk, self.words
        return f"""{self.begin("apart")}
  call void @llvm.masked.scatter.v{chunk}i32.v{chunk}p0({words} %values, <{chunk} x ptr> %pointers, i32 1, \
<{chunk} x i1> %flags)
  br label %next
in.row:
  %in.register = load {words}, ptr %own, align 32
  store {words} %in.register, ptr %pointer, align 1
  br label %next
{self.end}"""


def _outside(chunk: int) -> str:
    """Declare how many lanes are read and written at once."""
    words, places, flags = f"<{chunk} x i32>", f"<{chunk} x ptr>", f"<{chunk} x i1>"
    return f"""
declare {words} @llvm.masked.gather.v{chunk}i32.v{chunk}p0({places}, i32, {flags}, {words})
declare void @llvm.masked.scatter.v{chunk}i32.v{chunk}p0({words}, {places}, i32, {flags})
"""


_OUTSIDE = """
@forms_nothing = private constant [3 x i64] zeroinitializer
@forms_zeros = private constant [64 x i32] zeroinitializer, align 64
declare i64 @llvm.cttz.i64(i64, i1)
declare i64 @llvm.usub.sat.i64(i64, i64)
declare i32 @llvm.usub.sat.i32(i32, i32)
"""


def _definitions() -> Iterator[str]:
    """Yield the functions."""
    yield _FIND
    for lanes in (32, 64):
        yield from (_resolve(lanes), _local(lanes), _beside(lanes), _marks(lanes))
        yield from (_Move(name, lanes).read() for name in (READ, READ_LOCAL))
        yield from (_Move(name, lanes).write() for name in (WRITE, WRITE_LOCAL))


MEMORY_FUNCTIONS = "".join((_OUTSIDE, _outside(CHUNK), _outside(2 * CHUNK), *_definitions()))
"""The text of all of them."""
_REDUCED = "".join(f"declare i32 @llvm.vector.reduce.or.v{lanes}i32(<{lanes} x i32>)\n" for lanes in (32, 64))


def _declarations(text: str) -> dict[str, str]:
    found = re.findall(r"^define (\w+) @(\w+)\((.*)\)", text, re.MULTILINE)
    return {
        name: f"declare {result} @{name}({re.sub(' %[a-z]+', '', parameters)})" for result, name, parameters in found
    }


DECLARED = _declarations(MEMORY_FUNCTIONS)
"""How forms declare what they call."""
_SEARCHES = "\n".join(DECLARED[name] for name in (FIND, f"{RESOLVE}32", f"{RESOLVE}64"))
POINTER_FUNCTIONS = "".join((_OUTSIDE, _REDUCED, _SEARCHES, _REACH_WORDS, _pointers(32), _pointers(64)))
"""The text of those that forms call which follow pointers."""
POINTERS_DECLARED = _declarations(POINTER_FUNCTIONS)
