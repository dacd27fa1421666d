"""Forms that end a block: branches, calls and jumps. What ends or stops waves is executed by Python."""

from __future__ import annotations

from dwarfgpu.execution.batch import EXEC, VCC
from dwarfgpu.execution.faults import UnknownInstruction
from dwarfgpu.execution.forms.form_writer import LONG, WORD, FormWriter
from dwarfgpu.execution.forms.layout import SCC, STEP, Rule
from dwarfgpu.execution.instructions import CONTROL
from dwarfgpu.isa.instruction import BRANCHES, CALLS, JUMPS, GpuInstruction

_CONDITIONS = {
    "s_cbranch_scc0": (SCC, "eq"), "s_cbranch_scc1": (SCC, "ne"), "s_cbranch_vccz": (VCC, "eq"),
    "s_cbranch_vccnz": (VCC, "ne"), "s_cbranch_execz": (EXEC, "eq"), "s_cbranch_execnz": (EXEC, "ne"),
}  # fmt: skip


def write_branch(writer: FormWriter, instruction: GpuInstruction, before: int, behind: int) -> bool:
    """Write an instruction that ends a block; return whether it is one.

    The program has so many bytes of code before the instruction and from it on.
    """
    name, distance = instruction.name, instruction.branch
    if name not in CONTROL:
        return False
    writer.rule |= Rule.ENDS_BLOCK
    if distance is not None and not -before <= distance < behind:
        raise UnknownInstruction(f"{instruction.mnemonic} to other code")
    if name in BRANCHES or (name in CALLS and distance is not None):
        if name in CALLS:
            writer.rule |= Rule.IS_NOTED | Rule.IS_CALL
            writer.change_calls(instruction, "")
            writer.end_checks()
            writer.set_scalar(instruction.destinations[0], writer.address(instruction.size), 64)
        writer.go_to(distance or 0)
    elif name in _CONDITIONS:
        register, relation = _CONDITIONS[name]
        kind = WORD if register == SCC else f"u{writer.lanes}"
        number = writer.word(SCC) if register == SCC else writer.mask(register)
        condition = writer.one.operate(f"icmp {relation}", kind, number, "0")
        writer.choose_way(condition, distance or 0, instruction.size)
    elif name.startswith("s_cbranch_cdbg"):
        writer.go_behind(instruction.size)
    elif name in CALLS | JUMPS:
        _jump(writer, instruction, before, behind)
    else:
        raise UnknownInstruction(f"{instruction.mnemonic} has no text here")
    return True


def _jump(writer: FormWriter, instruction: GpuInstruction, before: int, behind: int) -> None:
    """Write a jump to an address in registers, which must be in the program."""
    one = writer.one
    writer.rule |= Rule.IS_NOTED | (Rule.IS_CALL if instruction.name in CALLS else Rule(0))
    target = writer.scalar(instruction.sources[0], 64)
    distance = one.operate("sub", LONG, target, writer.address())
    first, last = writer.signed_number(-before), writer.signed_number(behind)
    for relation, limit in (("sge", first), ("slt", last)):
        writer.refuse_unless(one.operate(f"icmp {relation}", LONG, distance, limit))
    writer.refuse_unless(one.operate("icmp eq", LONG, one.operate("and", LONG, target, "3"), "0"))
    slot = writer.at(writer.slot, one.operate("shl", LONG, distance, str(STEP)))
    writer.change_calls(instruction, slot)
    writer.end_checks()
    if instruction.destinations:
        writer.set_scalar(instruction.destinations[0], writer.address(instruction.size), 64)
    writer.leave(slot)
