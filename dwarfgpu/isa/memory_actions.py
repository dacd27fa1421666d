"""What an instruction does to memory: the access, its counters and cache bits; waits, write-backs and invalidates.

Which counter an instruction counts in, and what a wait names, is by generation (AMDGPU usage, "Memory Model GFX6-GFX9"
to "... GFX125x"; "Shader Programming", "Data Dependency Resolution" of the ISA documents).
"""

from __future__ import annotations

from dwarfgpu.immutable import frozen
from dwarfgpu.isa.instruction import CALLS, JUMPS, GpuInstruction, GpuOperand, OperandKind, OperandRole

LOAD, STORE, RMW, RMW_RETURN = "load", "store", "rmw", "rmw-return"
GLOBAL, GENERIC, LOCAL, PRIVATE, SCALAR = "global", "generic", "local", "private", "scalar"
ASYNC, TRANSLATED = "asynccnt", "xcnt"
"""The counters of loads and stores of local memory that are complete late, and of addresses that are not translated."""
CACHE_BITS = ("glc", "slc", "dlc", "sc0", "sc1", "nt")
SCOPE_BITS = ("CU", "SE", "DEV", "SYS")
WRITE_BACKS = ("buffer_wbl2", "global_wb", "global_wbinv")
INVALIDATES = (
    *("buffer_wbinvl1", "buffer_wbinvl1_vol", "buffer_invl2", "buffer_inv", "buffer_gl0_inv", "buffer_gl1_inv"),
    *("global_inv", "global_wbinv"),
)
RANKS = {
    "": 0,
    "sc0": 1,
    "sc1": 2,
    "sc0 sc1": 3,
    **{f"scope:SCOPE_{name}": rank for rank, name in enumerate(SCOPE_BITS)},
}
"""How far the bits of a write-back or an invalidate reach."""
VECTOR_BASE, ACCUMULATION_BASE, SCALAR_BASE = 0, 1024, 2048
_SPECIAL = {"vcc": ("vcc_lo", "vcc_hi"), "exec": ("exec_lo", "exec_hi")}
_NO_ACCESS = ("s_dcache", "s_icache", "s_gl1_inv", "s_prefetch", "s_memtime", "s_memrealtime", "s_atc_probe")

Register = int | str


@frozen
class MemoryAction:
    """What an instruction does to memory, or waits for."""

    operation: str = ""
    """load, store, rmw or rmw-return; empty for what is no access."""
    space: str = ""
    is_by_descriptor: bool = False
    """Whether it is private only if its descriptor turns out to be that of the stack."""
    is_direct: bool = False
    """Whether it is a load that writes local memory, which is complete when the load is."""
    counters: tuple[str, ...] = ()
    """What it counts in until it is complete."""
    is_ordered: bool = True
    """Whether it is complete in the order of those that count with it."""
    bits: tuple[str, ...] = ()
    """Its cache bits; on GFX12 its scope and its temporal hint."""
    waits: tuple[tuple[str, int], ...] = ()
    """The counters that it waits for, with how many may remain."""
    write_back: str = ""
    invalidate: str = ""
    written: frozenset[Register] = frozenset()
    """The registers that it writes when it is complete."""

    @property
    def is_shared(self) -> bool:
        """Whether it accesses memory that other threads see."""
        return bool(self.operation) and self.space in {GLOBAL, GENERIC, LOCAL}


NO_ACTION = MemoryAction()


@frozen
class CounterNames:
    """The counters of a generation."""

    load: str
    store: str
    local: str
    scalar: str
    sample: str
    bvh: str
    others: tuple[str, ...] = ()
    """Those that only code waits for that says so: of loads and stores of local memory, and of addresses."""

    @property
    def all(self) -> tuple[str, ...]:
        """Each of them once."""
        return tuple(dict.fromkeys((*self.returned, self.store, *self.others)))

    @property
    def returned(self) -> tuple[str, ...]:
        """Those that are 0 when a function is called or returns."""
        return tuple(dict.fromkeys((self.load, self.local, self.scalar, self.sample, self.bvh)))

    @property
    def left(self) -> tuple[str, ...]:
        """The counter of stores alone, which need not be 0 then."""
        return (self.store,) if self.store != self.load else ()


def counters_of(major: int) -> CounterNames:
    """Return the counters of a generation."""
    if major <= 9:
        return CounterNames("vmcnt", "vmcnt", "lgkmcnt", "lgkmcnt", "vmcnt", "vmcnt")
    if major <= 11:
        return CounterNames("vmcnt", "vscnt", "lgkmcnt", "lgkmcnt", "vmcnt", "vmcnt")
    others = ASYNC, "tensorcnt", TRANSLATED
    return CounterNames("loadcnt", "storecnt", "dscnt", "kmcnt", "samplecnt", "bvhcnt", others)


def registers_of(operand: GpuOperand) -> tuple[Register, ...]:
    """Return the registers that an operand covers."""
    kind = operand.kind  # a dictionary asks for the hash of an enumeration, which takes longer
    base = VECTOR_BASE if kind is OperandKind.VGPR else SCALAR_BASE if kind is OperandKind.SGPR else None
    base = ACCUMULATION_BASE if kind is OperandKind.AGPR else base
    if base is not None:
        return tuple(range(base + operand.index, base + operand.index + max(operand.count, 1)))
    if operand.kind is OperandKind.SPECIAL and operand.register not in {"null", "exec", "exec_lo", "exec_hi"}:
        return _SPECIAL.get(operand.register, (operand.register,))
    return ()


def used_registers(instruction: GpuInstruction) -> frozenset[Register]:
    """Return the registers that an instruction reads or writes at once: all but those that a load writes later."""
    parts = instruction.components or (instruction,)
    return frozenset(register for part in parts for operand in part.operands for register in registers_of(operand))


def read_registers(instruction: GpuInstruction) -> frozenset[Register]:
    """Return the registers that a memory instruction reads when it is issued."""
    operands = (operand for operand in instruction.operands if operand.role is OperandRole.SRC)
    return frozenset(register for operand in operands for register in registers_of(operand))


def needed_registers(instruction: GpuInstruction, action: MemoryAction) -> frozenset[Register]:
    """Return the registers that an instruction reads, or writes at once."""
    is_jump = instruction.name in CALLS | JUMPS and instruction.branch is None
    is_late = bool(action.counters) or is_jump
    return read_registers(instruction) if is_late else used_registers(instruction)


def register_text(register: Register) -> str:
    """Return the name of a register, as in assembly."""
    if isinstance(register, str):
        return register
    if register >= SCALAR_BASE:
        return f"s{register - SCALAR_BASE}"
    return f"a{register - ACCUMULATION_BASE}" if register >= ACCUMULATION_BASE else f"v{register}"


def action_of(instruction: GpuInstruction, major: int) -> MemoryAction:
    """Return what an instruction does."""
    name, encoding = instruction.name, instruction.encoding
    if encoding in {"SOPP", "SOPK"}:
        return MemoryAction(waits=_waits(instruction, major)) if name.startswith("s_wait") else NO_ACTION
    if encoding == "TENSOR":
        return MemoryAction(STORE if "store" in name else LOAD, GLOBAL, is_direct=True, counters=("tensorcnt",))
    if "prefetch" in name and encoding != "SMEM":
        return NO_ACTION
    if encoding == "SMEM":
        return _scalar(instruction, major)
    if encoding in {"MUBUF", "MTBUF", "VBUFFER", "FLAT", "GLOBAL", "SCRATCH", "MIMG", "VIMAGE", "VSAMPLE", "DS"}:
        return _vector(instruction, major)
    if name.startswith(("s_sendmsg_rtn", "s_get_barrier_state")):
        written = frozenset(register for operand in instruction.destinations for register in registers_of(operand))
        return MemoryAction(counters=(counters_of(major).scalar,), is_ordered=False, written=written)
    return NO_ACTION


def _scalar(instruction: GpuInstruction, major: int) -> MemoryAction:
    name = instruction.name
    if name.startswith(_NO_ACCESS) and not instruction.destinations:
        return NO_ACTION
    written = frozenset(register for operand in instruction.destinations for register in registers_of(operand))
    operation = RMW if "atomic" in name else STORE if "store" in name else LOAD
    return MemoryAction(operation, SCALAR, counters=(counters_of(major).scalar,), is_ordered=False, written=written)


def _vector(instruction: GpuInstruction, major: int) -> MemoryAction:
    """Return what a vector memory or LDS instruction does."""
    name, encoding = instruction.name, instruction.encoding
    names = counters_of(major)
    if name in WRITE_BACKS or name in INVALIDATES:
        return _cache_control(instruction, major)
    written = frozenset(register for operand in instruction.destinations for register in registers_of(operand))
    if "_async_" in name:
        operation = STORE if "store" in name else RMW if encoding == "DS" else LOAD
        space = LOCAL if encoding == "DS" else GLOBAL
        is_direct = operation == LOAD
        return MemoryAction(operation, space, is_direct=is_direct, counters=(ASYNC,), bits=_bits(instruction, major))
    if encoding == "DS":
        operation = _local_operation(name, has_result=bool(written))
        space = LOCAL if operation else ""
        return MemoryAction(operation, space, counters=(names.local,), written=written)
    operation = STORE if "store" in name else LOAD
    if "atomic" in name:
        operation, written = (RMW_RETURN, written) if _returns(instruction) else (RMW, frozenset())
    if encoding in {"MIMG", "VIMAGE", "VSAMPLE"}:
        counter = names.store if operation in {STORE, RMW} else _image_counter(name, encoding, names)
        return MemoryAction(operation, GLOBAL, counters=(counter,), bits=_bits(instruction, major), written=written)
    counters: tuple[str, ...] = (names.store if operation in {STORE, RMW} else names.load,)
    space = GLOBAL
    is_by_descriptor = encoding == "MUBUF" and _may_be_stack(instruction, major)
    if encoding == "SCRATCH" or is_by_descriptor:
        space = PRIVATE
    elif encoding == "FLAT":
        space = GENERIC
        if major >= 9:
            counters = (*counters, names.local)
    is_direct = "_lds_" in name or bool(instruction.modifiers.get("lds"))
    bits = _bits(instruction, major)
    return MemoryAction(operation, space, is_by_descriptor, is_direct, counters, bits=bits, written=written)


def _image_counter(name: str, encoding: str, names: CounterNames) -> str:
    if "bvh" in name:
        return names.bvh
    return names.sample if encoding == "VSAMPLE" else names.load


def _may_be_stack(instruction: GpuInstruction, major: int) -> bool:
    """Return whether a buffer instruction accesses the stack if its descriptor is that of scratch.

    From GFX11 on, flat scratch is set up by the hardware, and compilers use scratch instructions alone.
    """
    if major >= 11 or instruction.modifiers.get("addr64"):
        return False
    descriptor, offset = instruction.operand("srsrc"), instruction.operand("soffset")
    has_stack = offset is not None and offset.kind is OperandKind.SGPR
    return descriptor is not None and (has_stack or bool(instruction.modifiers.get("offen")))


def _returns(instruction: GpuInstruction) -> bool:
    """Return whether an atomic instruction returns the value before."""
    modifiers = instruction.modifiers
    return bool(modifiers.get("glc") or modifiers.get("sc0") or modifiers.get("th", 0) & 1)


def _local_operation(name: str, *, has_result: bool) -> str:
    if "permute" in name or "swizzle" in name or name.startswith(("ds_nop", "ds_gws", "ds_consume", "ds_append")):
        return ""
    if name.startswith(("ds_read", "ds_load")):
        return LOAD
    if name.startswith(("ds_write", "ds_store")) and "xchg" not in name:
        return STORE
    return RMW_RETURN if has_result else RMW


def _bits(instruction: GpuInstruction, major: int) -> tuple[str, ...]:
    modifiers = instruction.modifiers
    if major >= 12:
        scope = (f"scope:SCOPE_{SCOPE_BITS[modifiers.get('scope', 0) & 3]}",) if modifiers.get("scope") else ()
        hint = (f"th:{modifiers['th']}",) if modifiers.get("th") else ()
        return (*hint, *scope)
    return tuple(bit for bit in CACHE_BITS if modifiers.get(bit))


def _cache_control(instruction: GpuInstruction, major: int) -> MemoryAction:
    name = instruction.name
    bits = " ".join(bit for bit in _bits(instruction, major) if not bit.startswith("th:"))
    if name == "buffer_wbl2" and "sc1" not in instruction.modifiers and "sc0" not in instruction.modifiers:
        bits = ""
    text = f"{name} {bits}".strip()
    names = counters_of(major)
    counters: tuple[str, ...] = ()
    if name in WRITE_BACKS:
        counters = (names.store,)
    elif name == "global_inv":
        counters = (names.load,)
    return MemoryAction(
        counters=counters,
        write_back=text if name in WRITE_BACKS else "",
        invalidate=text if name in INVALIDATES else "",
    )


def covers(text: str, needed: str) -> bool:
    """Return whether a write-back or an invalidate does what another one does."""
    name, _, bits = text.partition(" ")
    needed_name, _, needed_bits = needed.partition(" ")
    if name.removesuffix("_vol") != needed_name.removesuffix("_vol") and name != "global_wbinv":
        return False
    return RANKS.get(bits, 0) >= RANKS.get(needed_bits, 0)


def has_bits(bits: tuple[str, ...], needed: str) -> bool:
    """Return whether an access has the cache bits that are needed, or those of a wider scope."""
    for bit in needed.split():
        if bit.startswith("scope:"):
            scope = next((own for own in bits if own.startswith("scope:")), "")
            if RANKS.get(scope, 0) < RANKS[bit]:
                return False
        elif bit.startswith("th:"):
            continue
        elif bit == "sc0" and "sc1" in bits:
            continue  # sc1 alone is the wider agent scope, unless both are needed
        elif bit not in bits:
            return False
    return not (needed == "sc0 sc1" and not {"sc0", "sc1"} <= set(bits))


# --- Waits ------------------------------------------------------------------------------------------------------------


def _waits(instruction: GpuInstruction, major: int) -> tuple[tuple[str, int], ...]:
    """Return what a wait instruction waits for."""
    name = instruction.name
    operand = instruction.operand("simm16")
    value = 0 if operand is None else operand.value & 0xFFFF
    if name == "s_waitcnt":
        return _combined(value, major)
    if name == "s_wait_idle":
        return tuple((counter, 0) for counter in counters_of(major).all)
    if name in {"s_waitcnt_vscnt", "s_waitcnt_vmcnt", "s_waitcnt_lgkmcnt"}:
        return ((name.removeprefix("s_waitcnt_"), value),)
    if name in {"s_wait_loadcnt_dscnt", "s_wait_storecnt_dscnt"}:
        first = name.removeprefix("s_wait_").removesuffix("_dscnt")
        return (first, value >> 8 & 63), ("dscnt", value & 63)
    if name.endswith("cnt") and name.startswith("s_wait_"):
        counter = name.removeprefix("s_wait_")
        return ((counter, value & 63),) if counter in counters_of(major).all else ()
    return ()


def _combined(value: int, major: int) -> tuple[tuple[str, int], ...]:
    """Return the fields of ``s_waitcnt``: those that are not at their highest value wait for something."""
    if major >= 11:
        vector, vector_most, rest, rest_most = value >> 10 & 63, 63, value >> 4 & 63, 63
    else:
        vector, vector_most = value & 15, 15
        if major >= 9:
            vector, vector_most = vector | value >> 14 << 4, 63
        rest_most = 63 if major >= 10 else 15
        rest = value >> 8 & rest_most
    waits = []
    if vector != vector_most:
        waits.append(("vmcnt", vector))
    if rest != rest_most:
        waits.append(("lgkmcnt", rest))
    return tuple(waits)
