"""Whether work-groups compute the same in any order, so that some can run at the same time.

They do unless code that they reach has an atomic operation whose result depends on which of them comes first, or loads
what others store meanwhile: a loop that waits for another work-group, for one. A plain load of what another work-group
stores is a race of the program.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from dwarfgpu.execution.access_shapes import LOCAL, depends_on_order, shape_of
from dwarfgpu.execution.caches import AGENT, cached_family, reach_of_access, reach_of_control
from dwarfgpu.execution.faults import MachineFault
from dwarfgpu.execution.forms.form_writer import CONSTANTS, LOW
from dwarfgpu.isa.instruction import BRANCHES, CALLS, JUMPS, GpuInstruction, OperandKind
from dwarfgpu.isa.memory_actions import INVALIDATES, LOAD

_ENDS = BRANCHES | {"s_endpgm", "s_endpgm_saved"}
_RETURN = 30
"""The register with the address that a function returns to."""
_HALVES = {"s_add_u32": 0, "s_add_co_u32": 0, "s_addc_u32": 1, "s_add_co_ci_u32": 1}
"""The half of an address that an instruction adds a constant to."""


def is_in_any_order(device: Any, program: Any, starts: Iterable[int], known: set[int]) -> bool:
    """Return whether the order of work-groups makes no difference to what waves do from some addresses on.

    What is known of a program is added to a set of addresses.
    """
    family = cached_family(device.processor, device.generation)
    found, pending = set[int](), [*starts]
    while pending:
        address, functions = pending.pop(), dict[int, int]()
        while address not in known and address not in found:
            found.add(address)
            try:
                instruction = program.instruction(address)
            except MachineFault:
                return False
            if not program.has_or_meets(address) or _depends_on_others(instruction, family):
                return False
            if instruction.name in CALLS | JUMPS and instruction.branch is None and not _is_return(instruction):
                target = functions.get(instruction.sources[0].index, -1)
                if target < 0 or instruction.name in JUMPS:
                    return False
                pending.append(target)
            if instruction.branch is not None:
                pending.append(address + instruction.branch)
            if instruction.name in _ENDS or _is_return(instruction):
                break
            _follow(functions, instruction, address)
            address += instruction.size
    known |= found
    return True


def _is_return(instruction: GpuInstruction) -> bool:
    return instruction.name in JUMPS and instruction.sources[0].index == _RETURN


def _follow(functions: dict[int, int], instruction: GpuInstruction, address: int) -> None:
    """Follow the address of a function: the sum of the program counter and a constant, in two registers."""
    name, sources = instruction.name, instruction.sources
    for each in instruction.destinations if name != "s_sext_i32_i16" else ():
        if each.kind is not OperandKind.SGPR:
            continue
        first, half = each.index, _HALVES.get(name)
        if name == "s_getpc_b64":
            functions[first] = address + instruction.size
        elif half is not None and sources[0].index == first and sources[1].kind in CONSTANTS:
            if first - half in functions:
                functions[first - half] += (sources[1].value & LOW) << 32 * half
                functions[first - half] &= (1 << 64) - 1
        else:
            for number in range(first - 1, first + max(1, each.bits // 32)):
                functions.pop(number, None)


def _depends_on_others(instruction: GpuInstruction, family: str) -> bool:
    """Return whether what an instruction does may depend on other work-groups."""
    name, modifiers = instruction.name, instruction.modifiers
    if name in INVALIDATES:
        is_scoped = name in ("buffer_inv", "global_inv", "global_wbinv")
        return reach_of_control(family, modifiers) >= AGENT if is_scoped else name != "buffer_gl0_inv"
    shape = shape_of(name)
    if shape is None:
        return "atomic" in name or name.startswith(("ds_gws", "ds_ordered", "ds_append", "ds_consume"))
    if shape.space == LOCAL and not modifiers.get("gds"):
        return False
    if shape.action == "load":
        return reach_of_access(family, LOAD, modifiers) >= AGENT
    return depends_on_order(instruction)
