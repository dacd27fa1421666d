"""The launch of a kernel on a machine: its code, arguments, queue and waves at the first instruction.

AMDGPU usage, "Kernel Dispatch". `launch` plans first (`planning.plan`), so that a launch that fails leaves the
machine unchanged.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from dwarfgpu.compilers import code_of
from dwarfgpu.errors import UsageError
from dwarfgpu.execution.checks.findings import NAN, CheckSettings, check_names
from dwarfgpu.execution.faults import FREED, READ_ONLY, WRITE_ONLY, NamedBuffer
from dwarfgpu.execution.gpu import Gpu
from dwarfgpu.execution.launch.argument_values import array_at
from dwarfgpu.execution.launch.dispatch import FIRST_ADDRESS, GAP, Addresses, PlannedDispatch
from dwarfgpu.execution.launch.options import LaunchOptions
from dwarfgpu.execution.launch.padding import padding_of
from dwarfgpu.execution.launch.planning import plan
from dwarfgpu.execution.starting import Demand, RegisterCounts, StartingWaves, check_room, groups_at_once, start_waves
from dwarfgpu.immutable import evolve, field, frozen
from dwarfgpu.machines import machine as machines
from dwarfgpu.program.code.code_object import CodeObject, find_target, opened, runnable
from dwarfgpu.program.code.kernel_parameters import explicit_arguments
from dwarfgpu.program.code.loaded import LoadedCode, own_traps
from dwarfgpu.program.types.model import Qualified
from dwarfgpu.states.program import Program

if TYPE_CHECKING:
    from dwarfgpu.bits import Array
    from dwarfgpu.execution.weak_memory import WeakSettings
    from dwarfgpu.objfile.kernels.kernel import Kernel
    from dwarfgpu.targets.amdgpu.geometry import Geometry

    File: TypeAlias = Program | CodeObject | str | os.PathLike[str]

MAX_SCALAR = 106
"""s0 to s105 have numbers; what is allocated beyond them is VCC and the like, or cannot be named."""


class _Buffers(dict["str | int", "Array"]):
    """Buffers by the names of their arguments, which positions find as well."""

    names: Mapping[int, str]

    def __missing__(self, key: str | int) -> Array:
        if isinstance(key, int) and key in self.names:
            return self[self.names[key]]
        known = ", ".join(f"{position}: {name}" for position, name in self.names.items())
        raise KeyError(f"{key!r} (the buffers are {known or 'none'})")


@frozen
class Launched:
    """A dispatch on a machine."""

    plan: PlannedDispatch
    options: LaunchOptions = field(repr=False)
    id: int
    waves: range

    machine: Gpu | None = field(default=None, repr=False, eq=False)

    def __repr__(self) -> str:
        return f"<Launched {self.plan.kernel.source_name}, {len(self.waves)} waves>"

    @property
    def geometry(self) -> Geometry:
        return self.plan.geometry

    @property
    def buffers(self) -> Mapping[str | int, Array]:
        """The memory of the arguments that are arrays, by their names or positions: what the machine has now."""
        from dwarfgpu.execution.launch.buffer_arrays import buffer_array

        assert self.machine is not None  # noqa: S101 (`launch` made this)
        machine, memory = self.machine, self.machine.memory
        freed = {buffer.address for buffer in self.machine.buffers if buffer.access == FREED}
        kept = [buffer for buffer in self.plan.buffers if buffer.address not in freed]
        buffers = _Buffers((buffer.name, buffer_array(array_at(memory, buffer), machine)) for buffer in kept)
        buffers.names = {buffer.position: buffer.name for buffer in kept if buffer.position is not None}
        return buffers

    @property
    def addresses(self) -> dict[str, int]:
        """Where they are, for arguments of a later launch."""
        return {buffer.name: buffer.address for buffer in self.plan.buffers}


def _named(file: File) -> CodeObject | str:
    """Return what a user means: of a program its file."""
    if isinstance(file, Program):
        return file.file
    return file if isinstance(file, CodeObject) else os.fspath(file)


def machine_for(file: File, kernel: str) -> Gpu:
    """Return an empty machine of the target that a kernel was compiled for."""
    named = _named(file)
    code_object = opened(named) if isinstance(named, str) else named
    chosen = code_object.kernels_named([kernel])[0]
    described = chosen.descriptor or chosen.code
    return Gpu(find_target(code_object.image, described.wavefront_size if described else None).target)


def launch(machine: Gpu, file: File, kernel: str, *, args: Any = None, **given: Any) -> Launched:
    """Put a kernel with everything that it needs in the memory of a machine, and every wave at its first instruction.

    What else is given are the fields of `LaunchOptions`.
    """
    options = LaunchOptions(**given)
    options = evolve(options, check=machine.check if options.check is None else options.check)
    if options.check is not None:
        check_names(options.check, is_weak=options.weak_memory is not None)
    if machine.is_running:
        raise UsageError("waves of an earlier launch have not ended", hint="run the machine to their end first")
    named = _named(file)
    code_object = _opened(machine, named) if isinstance(named, str) else runnable(named)
    code = _loaded(machine, code_object)
    free = max(machine.memory.top + GAP, machine.padded_to, FIRST_ADDRESS)
    addresses = Addresses(free, code.load_address if code is not None else None)
    planned = plan(code_object, kernel, options, args, addresses)
    if planned.target.name != machine.target.name:
        message = f"{planned.kernel.source_name} is for {planned.target.name}, and the machine is {machine.target.name}"
        raise UsageError(message, hint="launch it without `machine`")
    if machine.wave_count and not machine.has_run:
        check_room(_demand(planned))
    number = machine.dispatches[-1].id + 1 if machine.dispatches else 1
    if machine.has_run:  # what has ended makes room
        machine.forget_launches()
    space = machine.target.default_space
    for block in sorted(planned.blocks, key=attrgetter("address")):  # so that earlier segments keep their places
        machine.memory.map(space, block.address, bytearray(block.data))
    if code is None:
        machine.code_objects.append(code_record(code_object, planned.load_address))
    machine.passing += [block.address for block in planned.blocks if not block.stays]
    _name_buffers(machine, planned, _closed(planned, options))
    return begin(machine, planned, options, number)


def begin(machine: Gpu, planned: PlannedDispatch, options: LaunchOptions, number: int) -> Launched:
    """Put every wave of a dispatch at its first instruction; a machine has the memory already."""
    waves = _demand(planned)
    shape, places = planned.geometry, planned.places
    machine.dispatches.append(
        machines.Dispatch(
            number, planned.kernel.name, shape.grid, shape.work_group, places.kernarg, places.queue, places.ring
        )
    )
    if machine.apertures is None and planned.apertures is not None:
        machine.set_apertures(planned.apertures)
    machine.segments[len(machine.dispatches) - 1] = planned.start.kernarg_bytes
    described = planned.kernel.descriptor or planned.kernel.code
    quarters = described.field("NAMED_BAR_CNT") if described is not None else None
    machine.together[len(machine.dispatches) - 1] = 4 * (quarters or 0), shape.cluster
    machine.is_launched, machine.is_permissive, machine.past = True, options.permissive, None
    machine.traps += own_traps([LoadedCode(planned.file, planned.load_address, is_linked=True)])
    machine.scratch_base = planned.start.scratch.base
    machine.seed = options.weak_memory if options.seed is None else options.seed
    machine.weak_memory = None if options.weak_memory is None else _weak(planned, options.weak_memory, options)
    machine.checks = None if options.check is None else _checks(options, machine, planned)
    index, prefix = len(machine.dispatches) - 1, f"1:1:{number}:"
    if machine.wave_count:  # beside the waves of others
        return Launched(planned, options, number, start_waves(machine, waves, index, prefix), machine)
    machine.work_ahead = StartingWaves(waves, index, groups_at_once(waves, options.at_once), prefix, options.seed)
    indices = machine.start_ahead()
    machine.renew_device()
    return Launched(planned, options, number, indices, machine)


def _demand(planned: PlannedDispatch) -> Demand:
    return Demand(planned.start, planned.rows, _counts(planned.kernel), planned.start.group_segment_size)


def _name_buffers(machine: Gpu, planned: PlannedDispatch, closed: Mapping[str, str]) -> None:
    """Let the machine know the buffers of a launch, which lie above those of all earlier ones."""
    for buffer in planned.buffers:
        access = closed.get(buffer.name, "")
        machine.buffers.append(NamedBuffer(f"`{buffer.name}`", buffer.address, buffer.size, buffer.padding, access))
        machine.padded_to = max(machine.padded_to, buffer.address + buffer.size + buffer.padding)


def _checks(options: LaunchOptions, machine: Gpu, planned: PlannedDispatch) -> CheckSettings:
    checks = check_names(options.check or "", is_weak=options.weak_memory is not None)
    metadata = planned.kernel.metadata
    has_barriers = metadata is not None and (metadata.max_flat_workgroup_size or 0) > planned.target.lane_count
    undefined = tuple((buffer.address, buffer.size) for buffer in planned.buffers if not buffer.has_contents)
    floats: tuple[tuple[int, int, str], ...] = ()
    if NAN in checks:
        from dwarfgpu.execution.launch.given_floats import floats_of

        floats = (*floats_of(planned, machine.buffers),)
    return CheckSettings(
        checks, planned.kernel.execution_mode or "cu", has_barriers, undefined, padding_of(planned.buffers),
        floats, _preloaded(planned.kernel), planned.places.kernarg,
    )  # fmt: skip


def _preloaded(kernel: Kernel) -> tuple[int, int, int]:
    described = kernel.descriptor or kernel.code
    users = () if described is None else described.user_sgprs
    for user in users:
        if user.name == "KERNARG_PRELOAD" and described is not None:
            return user.first, user.count, described.field("KERNARG_PRELOAD_SPEC_OFFSET") or 0
    return 0, 0, 0


def _closed(planned: PlannedDispatch, options: LaunchOptions) -> dict[str, str]:
    """Return the access of the buffers that are read-only, as an option or the source says, or write-only."""
    given = explicit_arguments(planned.kernel)
    closed = {}
    for buffer in planned.buffers:
        argument = None if buffer.position is None else given[buffer.position]
        is_constant = argument is not None and (argument.is_const or argument.address_space == "constant")
        if is_constant or (isinstance(buffer.pointed, Qualified) and buffer.pointed.word == "const"):
            closed[buffer.name] = READ_ONLY
    for names, access in ((options.read_only, READ_ONLY), (options.write_only, WRITE_ONLY)):
        for name in names:
            _check_buffer(planned, name)
            closed[name] = access
    return closed


def _check_buffer(planned: PlannedDispatch, name: str) -> None:
    names = [buffer.name for buffer in planned.buffers]
    if name not in names:
        hint = f"the buffers are {', '.join(names) or 'none'}"
        raise UsageError(f"{planned.kernel.source_name} has no buffer {name[:40]!r}", hint=hint)


def _weak(planned: PlannedDispatch, seed: int, options: LaunchOptions) -> WeakSettings:
    from dwarfgpu.execution.weak_memory import WeakSettings

    buffers = {buffer.name: (buffer.address, buffer.address + max(buffer.size, 1) - 1) for buffer in planned.buffers}
    for name in options.fine_grained:
        _check_buffer(planned, name)
    ranges = tuple(buffers[name] for name in options.fine_grained)
    return WeakSettings(seed, options.agents, planned.kernel.execution_mode or "cu", ranges)


def _opened(machine: Gpu, name: str) -> CodeObject:
    """Return a file that can be loaded: the one of an earlier launch if it has not changed, 3 times as fast."""
    path = code_of(name)
    known = machine.opened.get(path)
    if known is None or known[2] is None or known[2] != _stamp(known[0]):
        file = opened(path, name=None if path == name else name)
        known = machine.opened[path] = file, runnable(file), _stamp(file)
    loadable: CodeObject = known[1]
    return loadable


def _stamp(file: CodeObject) -> tuple[int, int, int] | None:
    """Return what changes with the contents of a file; None if it is not in the file system."""
    try:
        found = Path(file.image.path or "").stat()
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns


def _loaded(machine: Gpu, file: CodeObject) -> machines.LoadedCodeObject | None:
    """Return the code object in the machine, if an earlier launch has placed it there."""
    wanted = code_record(file, 0)
    for code in machine.code_objects:
        if (code.path, code.sha256) == (wanted.path, wanted.sha256) and code.load_address is not None:
            return code
    return None


def code_record(file: CodeObject, load_address: int) -> machines.LoadedCodeObject:
    """Return the record of a file in a machine, with the hash of the code object, unless it is a part of a file."""
    image = file.image
    whole = image.path is None or image.name == image.path
    return machines.LoadedCodeObject(image.name, load_address, image.digest if whole else None)


def _counts(kernel: Kernel) -> RegisterCounts:
    descriptor = kernel.descriptor
    described = descriptor or kernel.code
    scalar = min(described.sgprs or 0, MAX_SCALAR) if described is not None else 0
    vector = described.vgprs or 0 if described is not None else 0
    accumulation = kernel.metadata.agpr_count or 0 if kernel.metadata is not None else 0
    offset = descriptor.accum_offset if descriptor is not None else None
    if offset is not None:  # both kinds share one file
        return RegisterCounts(scalar, min(vector, offset), max(0, vector - offset))
    return RegisterCounts(scalar, vector, accumulation)
