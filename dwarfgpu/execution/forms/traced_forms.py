"""Forms of waves one of which is traced: it leaves records of what it does in a log, and Python reads them later.

Each instruction of the code that is traced has a plan, which says where the numbers are that its records have: in the
state of the wave, or in memory. An instruction without a plan is executed by Python, and so is one where some numbers
are not those for which the plan was made.
"""

from __future__ import annotations

from enum import IntEnum

from dwarfgpu.execution.batch import EXEC
from dwarfgpu.execution.forms.form_writer import FormWriter
from dwarfgpu.execution.forms.layout import Place
from dwarfgpu.execution.forms.memory_functions import load
from dwarfgpu.isa.instruction import GpuInstruction

MAY_TRACE, NOTE = "forms_may_trace", "forms_trace"
"""``i1 @forms_may_trace(ptr trace, ptr slot)``: whether an instruction has a plan that holds, and the log has room.

``void @forms_trace(ptr trace, ptr wave)``: the instruction that was asked for is executed now; write a record if it or
the one before is to have one.
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


class PlanField(IntEnum):
    """The 64-bit numbers that a plan begins with; behind them are addresses, in the order of the counts.

    An address of which the lowest bit is set has the number of the first lane; others follow it.
    """

    IS_RECORDED = 0
    """1 if each execution has a record, 2 if the instruction behind has one."""
    KIND = 8
    """Where the kind changes, there is a record."""
    CONDITIONS = 16
    """How many numbers must be those that follow their addresses."""
    RESULTS = 24
    """How many numbers there are behind the instruction."""
    INPUTS = 32
    """How many there are before it."""


HEAD = 4
"""The 64-bit numbers of a record before those of the plans: both plans, what executes, and the lane of the results."""


def _copied(name: str, first: str, count: str, begin: str, behind: str) -> str:
    """Write how words at some addresses follow each other in the log; ``%name.end`` is where they end."""
    return f"""  br label %{name}
{name}:
  %{name}.n = phi i64 [ 0, %{begin} ], [ %{name}.more, %{name}.one ]
  %{name}.has = icmp ult i64 %{name}.n, {count}
  br i1 %{name}.has, label %{name}.one, label %{behind}
{name}.one:
  %{name}.at = getelementptr i64, ptr {first}, i64 %{name}.n
  %{name}.address = load i64, ptr %{name}.at
  %{name}.flag = and i64 %{name}.address, 1
  %{name}.even = sub i64 %{name}.address, %{name}.flag
  %{name}.lane = mul i64 %{name}.flag, %lane.bytes
  %{name}.place = add i64 %{name}.even, %{name}.lane
  %{name}.from = inttoptr i64 %{name}.place to ptr
  %{name}.word = load i32, ptr %{name}.from
  %{name}.to = getelementptr i32, ptr {"%words" if name == "results" else "%results.end"}, i64 %{name}.n
  store i32 %{name}.word, ptr %{name}.to
  %{name}.more = add i64 %{name}.n, 1
  br label %{name}
"""


def _head(number: int, value: str) -> str:
    return f"""  %head.{number} = getelementptr i64, ptr %record, i64 {number}
  store i64 {value}, ptr %head.{number}
"""


FIRST = 8 * len(PlanField)
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
{load("conditions", "%plan", PlanField.CONDITIONS)}
  %first = getelementptr i8, ptr %plan, i64 {FIRST}
  br label %condition
condition:
  %n = phi i64 [ 0, %some ], [ %more, %same ]
  %has.more = icmp ult i64 %n, %conditions
  br i1 %has.more, label %look, label %yes
look:
  %double = shl i64 %n, 4
  %from.at = getelementptr i8, ptr %first, i64 %double
  %from = load ptr, ptr %from.at
  %found = load i32, ptr %from
  %known.at = getelementptr i8, ptr %from.at, i64 8
  %known = load i32, ptr %known.at
  %is.same = icmp eq i32 %found, %known
  br i1 %is.same, label %same, label %no
same:
  %more = add i64 %n, 1
  br label %condition
yes:
  ret i1 true
no:
  ret i1 false
}}
define void @{NOTE}(ptr %trace, ptr %wave) {{
entry:
{load("plan", "%trace", TraceField.PLAN, "ptr")}{load("before", "%trace", TraceField.BEFORE, "ptr")}\
{load("mask", "%trace", TraceField.MASK)}\
{load("own", "%trace", TraceField.OWN_LANE)}{load("old", "%trace", TraceField.LANE)}\
{load("exec", "%wave", 4 * EXEC)}\
{load("is.recorded", "%plan", PlanField.IS_RECORDED)}{load("was.recorded", "%before", PlanField.IS_RECORDED)}\
{load("kind", "%plan", PlanField.KIND)}{load("old.kind", "%before", PlanField.KIND)}
  %lanes = and i64 %exec, %mask
  %lowest = call i64 @llvm.cttz.i64(i64 %lanes, i1 false)
  %lane.bits = and i64 %lowest, 63
  %is.first = icmp slt i64 %own, 0
  %lane = select i1 %is.first, i64 %lane.bits, i64 %own
  store ptr %plan, ptr %before.at
  store i64 %lane, ptr %old.at
  %now = and i64 %is.recorded, 1
  %behind = and i64 %was.recorded, 2
  %either = or i64 %now, %behind
  %is.either = icmp ne i64 %either, 0
  %is.other = icmp ne i64 %kind, %old.kind
  %is.written = or i1 %is.either, %is.other
  br i1 %is.written, label %write, label %done
write:
{load("record", "%trace", TraceField.NEXT, "ptr")}{load("conditions", "%plan", PlanField.CONDITIONS)}\
{load("own.results", "%plan", PlanField.RESULTS)}{load("own.inputs", "%plan", PlanField.INPUTS)}\
{load("old.conditions", "%before", PlanField.CONDITIONS)}{load("old.results", "%before", PlanField.RESULTS)}
  %before.number = ptrtoint ptr %before to i64
  %plan.number = ptrtoint ptr %plan to i64
{_head(0, "%before.number")}{_head(1, "%plan.number")}{_head(2, "%lanes")}{_head(3, "%old")}
  %words = getelementptr i64, ptr %record, i64 {HEAD}
  %old.skipped = shl i64 %old.conditions, 4
  %old.first = getelementptr i8, ptr %before, i64 {FIRST}
  %old.addresses = getelementptr i8, ptr %old.first, i64 %old.skipped
  %skipped = shl i64 %conditions, 4
  %own.first = getelementptr i8, ptr %plan, i64 {FIRST}
  %own.addresses = getelementptr i8, ptr %own.first, i64 %skipped
  %inputs.first = getelementptr i64, ptr %own.addresses, i64 %own.results
  %lane.bytes = shl i64 %old, 2
{_copied("results", "%old.addresses", "%old.results", "write", "between")}
between:
  %results.end = getelementptr i32, ptr %words, i64 %results.n
{_copied("inputs", "%inputs.first", "%own.inputs", "between", "written")}
written:
  %behind.record = getelementptr i32, ptr %results.end, i64 %inputs.n
  store ptr %behind.record, ptr %record.at
  br label %done
done:
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
