"""A launch that is repeated with other arguments: its plan, its memory and its waves are those of the first time.

Input: 10,000 launches of a kernel with one work-group; they take half the time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dwarfgpu.execution.checks.findings import NAN
from dwarfgpu.execution.launch.kernarg import SEGMENT, segment_bytes
from dwarfgpu.execution.launch.launch import Launched
from dwarfgpu.execution.starting import map_memory
from dwarfgpu.immutable import evolve
from dwarfgpu.program.code.kernel_parameters import explicit_arguments

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dwarfgpu.execution.gpu import Gpu

_MOST_BYTES = 1 << 20
"""Of the registers of the waves, which are copied."""


def form_of(arguments: Any) -> tuple[type, int] | None:
    """Return what others share that are laid out in the same memory; None for arguments that need memory."""
    if isinstance(arguments, bytes):
        return bytes, len(arguments)
    is_plain = isinstance(arguments, (list, tuple)) and all(type(each) in (int, float) for each in arguments)
    return (int, len(arguments)) if is_plain else None


class RepeatedLaunch:
    """A launch whose waves are at the first instruction, and what others with as many bytes of arguments need."""

    def __init__(self, machine: Gpu, launched: Launched) -> None:
        self.plan = launched.plan
        """Its plan, whose blocks of memory stay mapped."""
        machine.passing.clear()
        self.machine, self._launched = machine, launched
        self._views = [machine.memory.writable(block.address, len(block.data)) for block in self.plan.blocks]
        self._dispatch, self._traps = machine.dispatches[-1], [*machine.traps]
        self._settings = machine.scratch_base, machine.seed, machine.checks
        self._together = machine.together[len(machine.dispatches) - 1]
        self._ids, self._groups = [*machine.ids], machine.groups().copy()
        self._places = machine.work_group.copy(), machine.wave_in_group.copy()
        self._files = [file.copy() for file in machine.files]
        self._batches = [batch.copy() for batch in machine.device.batches]
        self.size = sum(len(view) for view in self._views) + sum(file.data.nbytes for file in self._files)
        """The bytes of its memory and of its registers."""

    @staticmethod
    def is_possible(machine: Gpu, launched: Launched) -> bool:
        """Return whether a launch can be repeated: its waves are few, have all started, and hold no argument."""
        is_preloaded = launched.plan.start.field("KERNARG_PRELOAD_SPEC_LENGTH") > 0
        size = sum(file.data.nbytes for file in machine.files)
        kinds = {each.value_kind for each in explicit_arguments(launched.plan.kernel)}
        asks_for_local = (
            SEGMENT not in {part.name for part in launched.plan.arguments} and "dynamic_shared_pointer" in kinds
        )
        is_checked = machine.checks is not None and NAN in machine.checks.checks  # where the NaNs of arguments are
        return (
            machine.work_ahead is None
            and not is_checked
            and size <= _MOST_BYTES
            and not is_preloaded
            and not asks_for_local
        )

    def launch(self, args: bytes | Sequence[float]) -> Launched:
        """Put the kernel in the memory of its machine again, and every wave at its first instruction."""
        machine, plan = self.machine, self.plan
        given = plan.lay_out(args, allocate=None).parts
        parts = (*given, *plan.arguments[len(given) :])
        content = segment_bytes(len(plan.start.kernarg_bytes), parts)
        for block, view in zip(plan.blocks, self._views, strict=True):
            view[:] = content.ljust(len(view), b"\0") if block.address == plan.places.kernarg else block.data
        machine.remove_waves()
        machine.dispatches.append(self._dispatch)
        machine.segments[len(machine.dispatches) - 1] = content
        machine.together[len(machine.dispatches) - 1] = self._together
        machine.traps[:], machine.past = self._traps, None
        machine.scratch_base, machine.seed, machine.checks = self._settings
        groups, waves = self._places
        added = machine.add_waves(
            len(self._ids),
            dispatch=len(machine.dispatches) - 1,
            work_group=groups,
            wave_in_group=waves,
            ids=self._ids,
            groups=self._groups,
        )
        for file in self._files:
            machine.add_file(file.copy())
        map_memory(machine, plan.start, waves, added)
        machine.renew_device([batch.copy() for batch in self._batches])
        planned = evolve(plan, start=evolve(plan.start, kernarg_bytes=content), arguments=parts)
        return evolve(self._launched, plan=planned)
