"""Forms of waves one of which is traced: it leaves records of what it does in a log, and Python reads them later.

Each instruction of the code that is traced has a plan, which says where its results are in the state of the wave. An
instruction without a plan is executed by Python.
"""

from __future__ import annotations

from enum import IntEnum

from dwarfgpu.execution.batch import EXEC
from dwarfgpu.execution.forms.form_writer import FormWriter
from dwarfgpu.execution.forms.layout import Place
from dwarfgpu.execution.forms.memory_functions import load
from dwarfgpu.isa.instruction import GpuInstruction

MAY_TRACE, NOTE = "forms_may_trace", "forms_trace"
"""``i1 @forms_may_trace(ptr trace, ptr slot)``: whether an instruction has a plan, and the log has room.

``void @forms_trace(ptr trace, ptr wave)``: the instruction that was asked for is executed now; write a record of it,
with the results of the one before.
"""


class TraceField(IntEnum):
    """What is known of a trace: the place of each 64-bit number."""

    NEXT = 0
    END = 8
    """The address of the next record in the log, and from where on there is no room."""
    DISTANCE = 16
    """How far the addresses of instructions are from the numbers of their slots."""
    START = 24
    SIZE = 32
    PLANS = 40
    """The code that is traced, and the plan of each dword of it: 0 where there is none."""
    PLAN = 48
    """That of the instruction which was asked for."""
    BEFORE = 56
    """That of the instruction which was executed last."""
    LANE = 64
    """The lane, for the numbers behind the instruction which was executed last."""
    OWN_LANE = 72
    """The lane that is traced; -1 for the first one that executes."""
    MASK = 80
    """A bit for each lane of a wave."""


HEAD = 3
"""The 64-bit numbers of a record before the results: the plan of the instruction before, its own, and what executes.

A plan has a 64-bit number of results, and their addresses. One of which the lowest bit is set is that of the number of
the first lane; others follow it.
"""


def _head(number: int, value: str) -> str:
    return f"""  %head.{number} = getelementptr i64, ptr %record, i64 {number}
  store i64 {value}, ptr %head.{number}, align 4
"""


TRACE_FUNCTIONS = f"""
declare i64 @llvm.cttz.i64(i64, i1)
define i1 @{MAY_TRACE}(ptr %trace, ptr %slot) {{
entry:
{load("distance", "%trace", TraceField.DISTANCE)}{load("start", "%trace", TraceField.START)}\
{load("size", "%trace", TraceField.SIZE)}{load("plans", "%trace", TraceField.PLANS, "ptr")}\
{load("next", "%trace", TraceField.NEXT)}{load("end", "%trace", TraceField.END)}
  %number = ptrtoint ptr %slot to i64
  %quarter = lshr i64 %number, 4
  %address = add i64 %quarter, %distance
  %offset = sub i64 %address, %start
  %is.inside = icmp ult i64 %offset, %size
  %has.room = icmp ult i64 %next, %end
  %may = and i1 %is.inside, %has.room
  br i1 %may, label %inside, label %no
inside:
  %place = shl i64 %offset, 1
  %plan.at = getelementptr i8, ptr %plans, i64 %place
  %plan = load ptr, ptr %plan.at
  %is.none = icmp eq ptr %plan, null
  br i1 %is.none, label %no, label %some
some:
  %chosen.at = getelementptr i8, ptr %trace, i64 {int(TraceField.PLAN)}
  store ptr %plan, ptr %chosen.at
  ret i1 true
no:
  ret i1 false
}}
define void @{NOTE}(ptr %trace, ptr %wave) {{
entry:
{load("plan", "%trace", TraceField.PLAN, "ptr")}{load("before", "%trace", TraceField.BEFORE, "ptr")}\
{load("mask", "%trace", TraceField.MASK)}\
{load("own", "%trace", TraceField.OWN_LANE)}{load("old", "%trace", TraceField.LANE)}\
{load("exec", "%wave", 4 * EXEC)}{load("record", "%trace", TraceField.NEXT, "ptr")}\
{load("count", "%before", 0)}
  %lanes = and i64 %exec, %mask
  %lowest = call i64 @llvm.cttz.i64(i64 %lanes, i1 false)
  %lane.bits = and i64 %lowest, 63
  %is.first = icmp slt i64 %own, 0
  %lane = select i1 %is.first, i64 %lane.bits, i64 %own
  store ptr %plan, ptr %before.at
  store i64 %lane, ptr %old.at
  %before.number = ptrtoint ptr %before to i64
  %plan.number = ptrtoint ptr %plan to i64
{_head(0, "%before.number")}{_head(1, "%plan.number")}{_head(2, "%lanes")}
  %words = getelementptr i64, ptr %record, i64 {HEAD}
  %lane.bytes = shl i64 %old, 2
  br label %results
results:
  %n = phi i64 [ 0, %entry ], [ %more, %one ]
  %has.more = icmp ult i64 %n, %count
  br i1 %has.more, label %one, label %done
one:
  %more = add i64 %n, 1
  %at = getelementptr i64, ptr %before, i64 %more
  %address = load i64, ptr %at
  %flag = and i64 %address, 1
  %even = sub i64 %address, %flag
  %of.lane = mul i64 %flag, %lane.bytes
  %place = add i64 %even, %of.lane
  %from = inttoptr i64 %place to ptr
  %word = load i32, ptr %from
  %to = getelementptr i32, ptr %words, i64 %n
  store i32 %word, ptr %to
  br label %results
done:
  %behind.record = getelementptr i32, ptr %words, i64 %n
  store ptr %behind.record, ptr %record.at
  ret void
}}
"""
TRACES_DECLARED = {MAY_TRACE: f"declare i1 @{MAY_TRACE}(ptr, ptr)", NOTE: f"declare void @{NOTE}(ptr, ptr)"}


class TracedForm(FormWriter):
    """Writes the form of an instruction of such waves."""

    def begin(self, instruction: GpuInstruction) -> None:
        self._changes.append(self._note)
        trace = self.field(Place.TRACE, "ptr")
        with self.where(self.ir.put(f"icmp ne ptr {trace}, null")) as behind:
            may, wrong = self.ir.put(f"call i1 @{MAY_TRACE}(ptr {trace}, ptr {self.slot})"), self.ir.name("wrong")
            self.fork(may, behind, wrong)
            self.ir.label(wrong)
            self.refuse()
        super().begin(instruction)

    def _note(self) -> None:
        """Write that the instruction is executed now."""
        self.ir.declared.update(TRACES_DECLARED)
        trace = self.field(Place.TRACE, "ptr")
        with self.where(self.ir.put(f"icmp ne ptr {trace}, null")) as behind:
            self.ir.do(f"call void @{NOTE}(ptr {trace}, ptr %wave)")
            self.jump(behind)
