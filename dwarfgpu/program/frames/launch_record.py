"""What a wave was launched with: the kernel, the grid, and the arguments in the kernarg segment.

AMDGPU usage, "Kernel Dispatch" and "Code Object Metadata". The address of the segment comes from the record of the
launch, from the dispatch packet, or, at the first instruction of a kernel, from the user SGPRs. Later code may use
these for something else, so they are not read there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING

from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.expr import locations
from dwarfgpu.expr.locations import Implicit
from dwarfgpu.immutable import evolve, field, frozen
from dwarfgpu.program.code.kernel_parameters import BODY, DescribedKernel, KernelParameter
from dwarfgpu.program.frames.wave_positions import InDispatch, place_of
from dwarfgpu.program.language.arithmetic import DataModel
from dwarfgpu.program.types import model as t
from dwarfgpu.program.types.declaration import safe_text
from dwarfgpu.program.types.model import known_size
from dwarfgpu.program.values.objects import Object
from dwarfgpu.targets.amdgpu.queue import DISPATCH_PACKET, PACKET_SIZE

if TYPE_CHECKING:
    from dwarfgpu.machines.machine import Machine
    from dwarfgpu.machines.protocol import KnownRange
    from dwarfgpu.objfile.info.dies import Die
    from dwarfgpu.objfile.kernels.kernel import Kernel
    from dwarfgpu.objfile.kernels.metadata import KernelArgument
    from dwarfgpu.program.code.loaded import Loaded, LoadedCode
    from dwarfgpu.program.values.storage import ObjectSurroundings

AT_LAUNCH, IN_SEGMENT = "at the launch", "in the kernarg segment now"
"""Where the bytes of arguments are from: saved at the launch, or in memory now, where the kernel may have written."""
POINTERS = ("global_buffer", "image", "sampler", "pipe", "queue")
"""The kinds of arguments that hold a generic or global address."""
LOCAL = "dynamic_shared_pointer"
"""The kind of arguments that point to local memory whose size is given at the launch."""
_TYPES = {
    "half": "_Float16", "f16": "_Float16", "f32": "float", "f64": "double", "size_t": "unsigned long",
    **{f"u{word}": f"unsigned {word}" for word in ("char", "short", "int", "long")},
}  # fmt: skip
"""The C names of types that the metadata names differently."""
_NAMED = re.compile(r"(?:const |volatile )*(f16|f32|f64|[a-z_ ]+)(2|3|4|8|16)?(\*?)")
"""The name of a number, a vector or a pointer of OpenCL in the metadata."""
NUMBERS = {1: "unsigned char", 2: "unsigned short", 4: "unsigned int", 8: "unsigned long"}
"""The type assumed for an argument that nothing describes, by its size."""
_HIDDEN_ADDRESSES = (
    "hidden_printf_buffer", "hidden_hostcall_buffer", "hidden_default_queue", "hidden_completion_action",
    "hidden_multigrid_sync_arg", "hidden_heap_v1", "hidden_queue_ptr",
)  # fmt: skip


@frozen
class LaunchArgument:
    """An argument of a launch: what the kernel got, whatever a variable of the same name is now."""

    name: str
    position: int
    """Counted from 0; hidden arguments come last."""
    kind: str
    """The ``value_kind`` of the metadata."""
    is_hidden: bool
    """Whether the runtime passed it, not the program."""
    type: t.Type = field(eq=False, repr=False)
    type_name: str = ""
    """As the metadata or the debugging information has it."""
    offset: int = 0
    """In the kernarg segment."""
    size: int = 0
    data: bytes | None = None
    """Its bytes; None where they are not known."""
    origin: str | None = None
    """Where the bytes are from: `AT_LAUNCH` or `IN_SEGMENT`."""
    written: bytes | None = None
    """What is in the segment now, if the kernel has written there since the launch."""
    why: DwarfGpuError | None = None
    """Why the bytes are not known."""
    memory: KnownRange | None = None
    """The memory it points to: the buffer that was allocated for it, or the mapped range that has its address."""

    def __str__(self) -> str:
        return f"{self.name}={'?' if self.number is None else hex(self.number)}"

    @property
    def number(self) -> int | None:
        """The bytes as an unsigned number, which is the address of a pointer."""
        return None if self.data is None else int.from_bytes(self.data, "little")

    def object_in(self, around: ObjectSurroundings) -> Object | None:
        """Return its value as an object, to be shown and read part by part; None if the bytes are not known."""
        number = self.number
        if number is None:
            return None
        size = max(known_size(self.type) or self.size, self.size, 1)
        where = locations.at(Implicit(number, 8 * size))
        return Object(self.type, around.located(where))


@frozen
class LaunchRecord:
    """What a wave was launched with, as far as it is certain."""

    place: InDispatch
    """The dispatch and the position of the wave in it."""
    kernel: Kernel | None = field(default=None, repr=lambda kernel: str(kernel and kernel.source_name))
    """With names and types from the debugging information where the metadata lacks them."""
    code: LoadedCode | None = field(default=None, eq=False, repr=False)
    """The file of the kernel."""
    kernarg: int | None = None
    """The address of the kernarg segment."""
    found: str | None = None
    """How the address is known."""
    arguments: tuple[LaunchArgument, ...] = field(default=(), repr=lambda rows: str([*map(str, rows)]))
    """The arguments of the program, then those that the runtime added."""
    problems: tuple[str, ...] = ()
    """What is not known, and why."""
    function: Die | None = field(default=None, eq=False, repr=False)
    """The function of the kernel in the debugging information."""
    local_size: int | None = None
    """The bytes of local memory of a work-group, as the dispatch packet has them; None without one."""
    private_size: int | None = None
    """The bytes of private memory of a work-item, as the packet has them."""

    def is_of(self, function: Die | None, linkage_name: str | None) -> bool:
        """Return whether a function is the kernel, or the function that clang makes of the kernel's body."""
        if self.kernel is None or function is None:
            return False
        return function == self.function or linkage_name == BODY + self.kernel.name

    def argument(self, name: str | int) -> LaunchArgument | None:
        """Return the argument with a name or a position."""
        if isinstance(name, int):
            return self.arguments[name] if 0 <= name < len(self.arguments) else None
        return next((argument for argument in self.arguments if argument.name == name), None)


def launch_of(machine: Machine, loaded: Loaded, wave: int) -> LaunchRecord:
    """Return what a wave was launched with."""
    return _Search(machine, loaded, wave).record()


class _Search:
    """The search for what one wave was launched with."""

    def __init__(self, machine: Machine, loaded: Loaded, wave: int) -> None:
        self.machine, self.loaded, self.wave = machine, loaded, wave
        self.model = DataModel(
            pointer_size=machine.target.address_size, byte_order=machine.target.byte_order, target=machine.target
        )
        self.place = place_of(machine, wave)
        self.kept = machine.launched_segment(machine.place_of(wave)[0])
        self.pc = machine.program_counter(wave)
        self.packet = self._packet()
        self.problems = [error.message for error in self.place.problems]

    def record(self) -> LaunchRecord:
        found = self._kernel()
        local, private = (self.packet.get(f"{kind}_segment_size") for kind in ("group", "private"))
        if found is None:
            return LaunchRecord(self.place, problems=tuple(self.problems), local_size=local, private_size=private)
        code, kernel = found
        described = DescribedKernel(code.file, kernel)
        kernel = described.kernel
        kernarg, how = self._kernarg(code, kernel)
        if kernel.metadata is None:
            self.problems.append(f"the arguments of {kernel.source_name} are not known: it has no metadata")
        arguments, problems = tuple(self._arguments(described, kernarg)), tuple(self.problems)
        return LaunchRecord(
            self.place, kernel, code, kernarg, how, arguments, problems, described.function, local, private
        )  # fmt: skip

    # --- The dispatch ---------------------------------------------------------------------------------------------

    def _memory(self, address: int, size: int) -> bytes:
        return self.machine.read_memory(self.machine.target.default_space, address, size, self.wave, None)

    def _packet(self) -> dict[str, int]:
        """Return the fields of the dispatch packet; none where the machine does not have it."""
        dispatch = self.place.dispatch
        if dispatch is None or dispatch.packet is None:
            return {}
        try:
            data = self._memory(dispatch.packet, PACKET_SIZE)
        except DwarfGpuError:
            return {}
        return {each.field.name: each.value for each in DISPATCH_PACKET.decode(data)}

    def _kernel(self) -> tuple[LoadedCode, Kernel] | None:
        """Return the kernel that the dispatch or its packet names, else the one at the pc; None if they disagree."""
        dispatch, codes = self.place.dispatch, self.loaded.codes
        here = None if self.pc is None else next(filter(None, (_kernel_at(code, self.pc) for code in codes)), None)
        named = None
        if dispatch is not None and dispatch.kernel is not None:
            for code in codes:
                with suppress(DwarfGpuError):
                    named = named or (code, code.file.kernels_named([dispatch.kernel])[0])
        elif self.packet.get("kernel_object"):
            address = self.packet["kernel_object"]
            named = next(filter(None, (_kernel_with_object(code, address) for code in codes)), None)
        if named is not None and here is not None and named[1].entry != here[1].entry:
            names = f"executes {here[1].source_name}, but its dispatch names {named[1].source_name}"
            why = "a later packet has overwritten the wave's packet"
            self.problems.append(f"wave {self.machine.ids[self.wave]} {names}: {why}")
            return None
        if named is None and here is None:
            self.problems.append("the kernel is not known: no dispatch names it, and the wave is not in its code")
        return named or here

    def _kernarg(self, code: LoadedCode, kernel: Kernel) -> tuple[int | None, str | None]:
        """Return the address of the kernarg segment, and how it is known."""
        dispatch = self.place.dispatch
        if dispatch is not None and (dispatch.kernarg or self.packet.get("kernarg_address")):
            how = "the dispatch" if dispatch.packet is None else f"the dispatch packet at {dispatch.packet:#x}"
            address = dispatch.kernarg or self.packet["kernarg_address"]
            return address, how if self.kept is None else "the launch"
        if kernel.metadata is not None and not kernel.metadata.args:
            return None, None
        described = kernel.descriptor or kernel.code
        users = () if described is None else described.user_sgprs
        held = next((user for user in users if user.name == "KERNARG_SEGMENT_PTR"), None)
        if held is not None and self.pc is not None and kernel.entry == code.in_file(self.pc):
            with suppress(DwarfGpuError):
                last = held.first + held.count - 1
                data = b"".join(map(self._scalar, range(held.first, last + 1)))
                return int.from_bytes(data, "little"), f"s[{held.first}:{last}] at the first instruction of the kernel"
        why = "no dispatch packet is known, and registers hold the address only at the kernel's first instruction"
        self.problems.append(f"the arguments are not known: {why}")
        return None, None

    def _scalar(self, number: int) -> bytes:
        register = self.machine.target.register_named(f"s{number}")
        return b"" if register is None else self.machine.read_register(register, self.wave, None)[:4]

    # --- Arguments ------------------------------------------------------------------------------------------------

    def _arguments(self, described: DescribedKernel, kernarg: int | None) -> Iterator[LaunchArgument]:
        metadata = described.of_metadata.metadata
        hidden = () if metadata is None else (each for each in metadata.args if each.is_hidden)
        ordered = [*described.explicit, *((argument, None) for argument in hidden)]
        for position, (argument, parameter) in enumerate(ordered):
            known = argument_type(self.model, argument, parameter)
            type_ = known or self._bare(argument)
            is_guess = known is None and argument.value_kind == "by_value"
            type_name = f"({argument.size} bytes)" if is_guess else safe_text(type_)
            name = argument.name or (argument.value_kind if argument.is_hidden else None) or f"argument {position}"
            described_argument = LaunchArgument(
                name, position, argument.value_kind or "by_value", argument.is_hidden, type_,
                argument.type_name or type_name, argument.offset or 0, argument.size or 0,
            )  # fmt: skip
            is_placed = kernarg is not None and argument.offset is not None and argument.size
            yield self._read(described_argument, kernarg or 0) if is_placed else described_argument

    def _read(self, argument: LaunchArgument, kernarg: int) -> LaunchArgument:
        """Return an argument with its bytes: those of the launch, or those that are in memory now."""
        now = None
        try:
            now = self._memory(kernarg + argument.offset, argument.size)
        except DwarfGpuError as error:
            argument = evolve(argument, why=error)
        data = now if self.kept is None else self.kept[argument.offset : argument.offset + argument.size]
        if data is None or len(data) < argument.size:
            return argument
        memory = None
        if argument.kind in POINTERS:
            memory = self.machine.memory_around(int.from_bytes(data[:8], "little"))
        origin = IN_SEGMENT if self.kept is None else AT_LAUNCH
        return evolve(argument, data=data, origin=origin, written=now if now != data else None, memory=memory)

    def _bare(self, argument: KernelArgument) -> t.Type:
        """Return a type that fits the kind and the size of an argument."""
        model, size = self.model, argument.size or 0
        if argument.value_kind in (*POINTERS, *_HIDDEN_ADDRESSES) and size == model.pointer_size:
            return model.pointer_to(t.VOID)
        if size in NUMBERS:
            return model.base(NUMBERS[size])
        return t.Array(t.Lazy.known(model.base(NUMBERS[1])), (t.Dimension(0, count=size),))


def argument_type(model: DataModel, argument: KernelArgument, parameter: KernelParameter | None) -> t.Type | None:
    """Return the source's type if its size fits (always for local memory), else the metadata's if it fits; or None."""
    kind, text = None if parameter is None else parameter.kind, argument.type_name or argument.value_type
    if kind is not None and (known_size(kind) == argument.size or argument.value_kind == LOCAL):
        return kind
    named = None if text is None else _type_of_text(model, text)
    return named if named is not None and known_size(named) == argument.size else None


def _type_of_text(model: DataModel, text: str) -> t.Type | None:
    """Return the type that the metadata names: a number of OpenCL, a vector, or a pointer; None for any other."""
    match = _NAMED.fullmatch(text)
    base = None if match is None else model.find(_TYPES.get(match[1], match[1]))
    if match is None or base is None:
        return None
    element: t.Type = base
    if match[2]:
        size = (known_size(base) or 0) * (4 if match[2] == "3" else int(match[2]))  # 3 elements take the room of 4
        dimension = t.Dimension(0, count=int(match[2]))
        element = t.Array(t.Lazy.known(base), (dimension,), is_vector=True, byte_size=size)
    return model.pointer_to(element) if match[3] else element


def _kernel_at(code: LoadedCode, pc: int) -> tuple[LoadedCode, Kernel] | None:
    if not code.file.is_amdgpu or not code.holds(pc):
        return None
    symbol = code.file.symbol_image.symbol_at(code.in_file(pc))
    entry = None if symbol is None else code.file.behind_header(symbol.value)
    return next(((code, kernel) for kernel in code.file.kernels.kernels if kernel.entry == entry), None)


def _kernel_with_object(code: LoadedCode, address: int) -> tuple[LoadedCode, Kernel] | None:
    """Return the kernel whose descriptor or amd_kernel_code_t is at an address."""
    symbol = code.file.symbol_image.symbol_at(code.in_file(address))
    if symbol is None:
        return None
    return next(((code, kernel) for kernel in code.file.kernels.kernels if kernel.symbol == symbol), None)
