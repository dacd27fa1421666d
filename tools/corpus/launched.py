"""Kernels of the corpus from their first instruction on: what of a wave is known, and what its variables are then.

`Wave` executes the instructions that llvm-objdump prints, from what a launch sets, up to the first branch or call. An
instruction that it does not know makes what it writes unknown, so that everything that is known is right. It shares no
code with the reading of debugging information: a parameter that is read at a statement must be the argument.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

MASK = 0xFFFFFFFF
_ENDS = re.compile(r"s_(branch|cbranch_\w+|setpc_b64|swappc_b64|endpgm|call_b64|trap|.*saveexec.*)\b")
_REGISTER = re.compile(r"(v|s|ttmp)(?:(\d+)|\[(\d+):(\d+)\])(?:\.[lh])?$")
_HALVES = (".l", ".h")
"""How the halves of a register end."""
_MEMORY = re.compile(r"(s|buffer|scratch|flat|global|ds)_(load|store)_(\w+)")
_SIZES = {"byte": 1, "b8": 1, "ubyte": 1, "sbyte": 1, "u8": 1, "i8": 1, "short": 2, "b16": 2, "ushort": 2, "u16": 2}
_SIZES |= {"dword": 4, "b32": 4, "dwordx2": 8, "b64": 8, "dwordx3": 12, "b96": 12, "dwordx4": 16, "b128": 16}
_SIZES |= {"dwordx8": 32, "b256": 32, "dwordx16": 64, "b512": 64}

Number = Any
"""A number for all lanes, or an array with one of 32 bits for each lane; None is not known."""


ELSEWHERE = object()
"""An address that is not one of private memory."""


class Stop(Exception):
    """What comes next is not known any more."""


class Wave:
    """Registers and private memory of one wave, as far as they are known."""

    _carry: Number = None

    def __init__(
        self, initial: Mapping[str, Number], lanes: int, blocks: Any, apertures: Any, *, is_scaled: bool
    ) -> None:
        self.registers: dict[str, Number] = dict(initial)
        self.lanes = lanes
        self.private: dict[int, Any] = {}
        """The bytes of the lanes by their private address."""
        self._spilled: dict[tuple[str, str], Number] = {}
        """Scalar registers in lanes of vector registers."""
        self._blocks = blocks
        self._apertures = apertures
        self._is_scaled = is_scaled

    def run(self, code: list[tuple[int, str]]) -> Iterator[int]:
        """Yield the address of each instruction before it is executed, as far as that is known."""
        for address, line in code:
            yield address
            if _ENDS.match(line):
                return
            try:
                results = [self._execute(part.strip()) for part in line.split("::")]
            except Stop:
                return
            for result in results:
                self.registers.update(result)

    # --- Instructions ---------------------------------------------------------------------------------------------

    def _execute(self, line: str) -> dict[str, Number]:
        name, _, rest = line.partition(" ")
        operands = [operand.strip() for operand in rest.split(",")] if rest.strip() else []
        if memory := _MEMORY.match(name):
            return self._access(memory[1], memory[2], memory[3], operands)
        if name.startswith(("s_wait", "s_nop", "s_clause", "s_delay", "s_setreg", "s_inst_prefetch", "s_barrier")):
            return {}
        if not operands or "atomic" in name:
            raise Stop
        base = re.sub(r"_(e32|e64|dpp|sdwa)$", "", name)
        targets = names_of(operands[0])
        selected = self._select(base, targets or ["vcc_lo", "vcc_hi"], operands)
        if selected is not None:
            return selected
        if base.startswith("v_cmp") or operands[0].endswith(_HALVES) or "sdwa" in name or "dpp" in name or not targets:
            return self._unknown(operands, targets)
        if base == "v_writelane_b32":
            word = self._operand(operands[1], 1)
            self._spilled[targets[0], operands[2]] = None if word is None else word[0]
            return {targets[0]: None}
        if base == "v_readlane_b32":
            return {targets[0]: self._spilled.get((operands[1], operands[2]))}
        for key in [key for key in self._spilled if key[0] in targets]:
            del self._spilled[key]
        values = self._values(base, [self._operand(operand, len(targets)) for operand in operands[1:]])
        if values is None or len(values) != len(targets):
            return self._unknown(operands, targets)
        result: dict[str, Number] = {"scc": None} if base.startswith("s_") and "mov" not in base else {}
        if base in ("s_add_u32", "s_addc_u32"):
            result["scc"] = self._carry
        if "_co_" in base:
            result |= dict.fromkeys(names_of(operands[1]))
        return result | dict(zip(targets, values, strict=True))

    def _select(self, base: str, targets: list[str], operands: list[str]) -> dict[str, Number] | None:
        """Execute a comparison, or what chooses by one; None if it is another instruction, or not known."""
        if base == "s_getreg_b32" and "SH_MEM_BASES" in operands[1] and self._apertures:
            return {targets[0]: self._apertures[0 if operands[2] == "0" else 1] >> 48}
        match = re.fullmatch(r"([sv])_cmp_(ne|lg|eq)_u32", base)
        sources = operands if base.startswith("s_cmp") else operands[1:]
        words = [(self._operand(operand, 1) or [None])[0] for operand in sources[:2]]
        if match is None and base not in ("v_cndmask_b32", "s_cselect_b32"):
            return None
        if any(word is None for word in words):
            return None
        if match is not None:
            is_equal = np.asarray(words[0]) == np.asarray(words[1])
            chosen = is_equal if match[2] == "eq" else ~is_equal
            if match[1] == "s":
                return {"scc": int(bool(chosen))}
            return {**dict.fromkeys(targets), targets[0]: np.broadcast_to(chosen, (self.lanes,))}
        if base == "s_cselect_b32":
            scc = self.registers.get("scc")
            return None if scc is None else {targets[0]: words[0] if scc else words[1]}
        mask = self.registers.get((names_of(operands[3]) or [""])[0])
        if not isinstance(mask, np.ndarray) or mask.dtype != bool:
            return None
        return {targets[0]: np.where(mask, words[1], words[0])}

    def _unknown(self, operands: list[str], targets: list[str]) -> dict[str, Number]:
        """Return that everything that an instruction may write is not known."""
        if "exec" in operands[0] or any(name.startswith("exec") for name in targets):
            raise Stop
        others = names_of(operands[1]) if len(operands) > 3 else []  # a carry
        return dict.fromkeys([*targets, *others, "scc", *(["vcc_lo", "vcc_hi"] if not targets else [])])

    def _values(self, base: str, sources: list[list[Number] | None]) -> list[Number] | None:
        """Return what an instruction computes, as dwords; None if that is not known."""
        if any(source is None or any(word is None for word in source) for source in sources):
            return None
        if base in ("v_mov_b32", "s_mov_b32", "s_mov_b64", "v_mov_b64", "s_movk_i32", "v_dual_mov_b32"):
            return sources[0]
        words = [source[0] for source in sources if source]
        if base == "s_lshr_b64" and sources[0] is not None:
            wide = (sources[0][0] | sources[0][1] << 32) >> (words[1] & 63)
            return [wide & MASK, wide >> 32]
        if len(words) < 2:
            return None
        left, right = words[0], words[1]
        if base in ("s_add_u32", "s_addc_u32"):
            carry = 0 if base == "s_add_u32" else self.registers.get("scc")
            if carry is None:
                return None
            total = left + right + carry
            self._carry = total >> 32
            return [total & MASK]
        kind = re.sub(r"^(?:[sv]_)(?:dual_)?|_(?:nc_)?[iub](?:32|24)(?:_u24)?$", "", base)
        count = right & 31
        operations: dict[str, Callable[[], Number]] = {
            "add": lambda: left + right,
            "sub": lambda: left - right,
            "and": lambda: left & right,
            "or": lambda: left | right,
            "lshlrev": lambda: right << (left & 31),
            "lshrrev": lambda: right >> (left & 31),
            "lshl": lambda: left << count,
            "lshr": lambda: left >> count,
            "bfe": lambda: right_field(words) if base == "v_bfe_u32" else None,
        }
        result = operations[kind]() if kind in operations else None
        return None if result is None else [result & MASK]

    def _operand(self, text: str, count: int) -> list[Number] | None:
        """Return the dwords of an operand; None if they are not known."""
        if text in ("src_private_base", "src_shared_base"):
            base = self._apertures and (self._apertures[0 if "private" in text else 1])
            return None if not base else [base & MASK, base >> 32][-count:]
        names = names_of(text)
        if text.endswith(_HALVES):
            return None
        if names:
            found = [self.registers.get(name) for name in names]
            return [None if isinstance(word, np.ndarray) and word.dtype == bool else word for word in found]
        try:
            number = 0 if text == "null" else int(text, 0)
        except ValueError:
            return None
        return [number & MASK, MASK if number < 0 else 0][:count] if count <= 2 else None

    # --- Memory ---------------------------------------------------------------------------------------------------

    def _access(self, unit: str, access: str, form: str, operands: list[str]) -> dict[str, Number]:
        last, *rest = operands[-1].split()
        plain = [*operands[:-1], last]
        if form.endswith(("_d16_hi", "_d16")) or form not in _SIZES:
            if access == "store":
                raise Stop
            return dict.fromkeys(names_of(plain[0]))
        size = _SIZES[form]
        offset = sum(int(word.partition(":")[2], 0) for word in rest if word.startswith("offset:"))
        if unit == "s":
            return self._scalar_load(plain, size, rest)
        if unit in ("global", "ds"):
            return {} if access == "store" else dict.fromkeys(names_of(plain[0]))
        address = self._private_address(unit, access, plain, rest)
        if address is None or address is ELSEWHERE:
            if access == "store" and address is None:
                raise Stop
            return {} if access == "store" else dict.fromkeys(names_of(plain[0]))
        address = address + offset
        if access == "store":
            data = plain[1] if unit in ("scratch", "flat") else plain[0]
            self._store(address, [] if data.endswith(".h") else names_of(data), size)
            return {}
        return self._load(address, names_of(plain[0]), size, is_whole=size >= 4)

    def _scalar_load(self, plain: list[str], size: int, rest: list[str]) -> dict[str, Number]:
        targets = names_of(plain[0])
        base, offset = self._operand(plain[1], 2), self._operand(plain[2], 1)
        if base is None or offset is None or None in base or offset[0] is None:
            return dict.fromkeys(targets)
        more = sum(int(word.partition(":")[2], 0) for word in rest if word.startswith("offset:"))
        address = (base[0] | base[1] << 32) + offset[0] + more
        for block in self._blocks:
            if block.address <= address and address + size <= block.address + len(block.data):
                data = bytes(block.data[address - block.address :][:size])
                return {name: int.from_bytes(data[4 * i : 4 * i + 4], "little") for i, name in enumerate(targets)}
        return dict.fromkeys(targets)

    def _private_address(self, unit: str, access: str, plain: list[str], rest: list[str]) -> Number:
        """Return the private address of each lane, without the offset of the instruction; None if it is not known."""
        if unit == "flat":
            words = self._operand(plain[0] if access == "store" else plain[1], 2)
            private = self._apertures and self._apertures[0] >> 32
            if words is None or any(word is None for word in words) or not private:
                return None
            is_private = np.asarray(words[1]) == private
            if not np.any(is_private):
                return ELSEWHERE
            return words[0] if np.all(is_private) else None
        parts = plain[0 if access == "store" else 1 :]
        if unit == "scratch":
            names = [parts[0], parts[2] if access == "store" else parts[1]]
            scale = 1
        else:
            names = [plain[1], plain[3]]
            scale = self.lanes if self._is_scaled else 1
            if "idxen" in rest or ("offen" not in rest and plain[1] != "off"):
                return None
        address: Number = 0
        for i, name in enumerate(names):
            if name == "off":
                continue
            word = self._operand(name, 1)
            if word is None or word[0] is None:
                return None
            address = address + (word[0] // scale if i else word[0])
        return address

    def _store(self, address: Number, names: list[str], size: int) -> None:
        if isinstance(address, np.ndarray):
            if np.any(address != address[0]):
                raise Stop
            address = int(address[0])
        for i in range(size):
            word = self.registers.get(names[i // 4]) if names else None
            known = None if word is None else np.broadcast_to(np.asarray(word) >> 8 * (i % 4) & 0xFF, (self.lanes,))
            self.private[int(address) + i] = known

    def _load(self, address: Number, names: list[str], size: int, *, is_whole: bool) -> dict[str, Number]:
        if isinstance(address, np.ndarray):
            if np.any(address != address[0]):
                return dict.fromkeys(names)
            address = int(address[0])
        found = [self.private.get(int(address) + i) for i in range(size)]
        if not is_whole or any(byte is None for byte in found):
            return dict.fromkeys(names)
        words = [sum(np.asarray(found[4 * i + j], np.int64) << 8 * j for j in range(4)) for i in range(size // 4)]
        return dict(zip(names, words, strict=False))


def names_of(operand: str) -> list[str]:
    """Return the registers of an operand."""
    if operand in ("vcc", "exec", "flat_scratch"):
        return [f"{operand}_lo", f"{operand}_hi"]
    match = _REGISTER.match(operand)
    if match is None:
        return [operand] if operand in ("vcc_lo", "vcc_hi", "exec_lo", "exec_hi", "m0") else []
    first = int(match[2] or match[3])
    return [f"{match[1]}{number}" for number in range(first, int(match[4] or first) + 1)]


def right_field(words: list[Number]) -> Number:
    """Return the field of v_bfe_u32."""
    return words[0] >> words[1] & ((1 << words[2]) - 1) if len(words) == 3 else None


# --- Reading ----------------------------------------------------------------------------------------------------------

RIGHT = "launched: the argument"
WRONG = "launched: not the argument"
NOT_YET = "launched: not known yet"
COMPILER = "launched: a reason of the compiler"
ERROR = "launched: another error"
LANES = (0, 5, 31)


def read_launched(
    program: Any, code: list[tuple[int, str]], statements: Any, *, is_item: bool
) -> Iterator[tuple[str, str]]:
    """Launch each kernel, and read its parameters and `id` at each statement that is reached: outcomes and notes.

    ``is_item`` says that `id` is the number of the work-item.
    """
    for kernel in program.file.kernels.kernels:
        if kernel.metadata is None or kernel.metadata.args is None:
            continue
        explicit = [
            argument for argument in kernel.metadata.args if not (argument.value_kind or "").startswith("hidden")
        ]
        size = max((argument.offset + argument.size for argument in explicit), default=0)
        truths = {argument.offset for argument in explicit if argument.size == 1}  # one may be a bool
        segment = bytes(1 if i in truths else (37 * i + 11) & 0x7F for i in range(size))
        begin = kernel.entry
        own = [line for line in code if begin <= line[0] < begin + (kernel.size or 0)]
        given = [segment[argument.offset :][: argument.size] for argument in explicit]
        wave = _launched(program, kernel.name, segment)
        for address in wave.run(own):
            if address not in statements:
                continue
            frame = program.attach(_machine_of(program.target, wave, address))[0].frame()
            while frame.is_inlined:
                frame = frame.outer
            parameters = [variable for variable in frame.variables() if variable.kind == "parameter"]
            for variable, data in zip(parameters, given, strict=False):
                yield _outcome(variable, [data] * len(LANES), f"{kernel.name} {variable.name} at {address:#x}")
            for variable in frame.variables():
                if variable.name == "id" and variable.kind == "local" and is_item:
                    items = [lane.to_bytes(4, "little") for lane in LANES]
                    yield _outcome(variable, items, f"{kernel.name} id at {address:#x}")


def _launched(program: Any, kernel: str, segment: bytes) -> Wave:
    """Return the first wave of a dispatch of one work-group of one wave."""
    from dwarfgpu.execution.launch.dispatch import initial_state
    from dwarfgpu.execution.launch.options import LaunchOptions
    from dwarfgpu.execution.launch.planning import plan

    lanes = program.target.lane_count
    dispatch = plan(program.file, kernel, LaunchOptions(lanes, lanes), segment)
    initial: dict[str, Number] = {}
    for value in initial_state(dispatch, dispatch.geometry.place(0)):
        row = value.row
        if row.kind == "v":
            initial[row.registers] = np.array(value.words, dtype=np.int64)
        elif row.first is not None:
            names = (f"{row.kind}{row.first + word}" for word in range(row.count))
            initial.update(zip(names, value.words, strict=False))
    apertures = dispatch.apertures
    bases = None if apertures is None else (apertures.private, apertures.shared)
    return Wave(initial, lanes, dispatch.blocks, bases, is_scaled=program.target.stack_scale == 1)


def _machine_of(target: Any, wave: Wave, pc: int) -> Any:
    """Return a machine that has what is known of a wave."""
    from dwarfgpu.machines.machine import Machine

    machine = Machine(target)
    machine.add_waves(1)
    for name, value in wave.registers.items():
        if value is None or not re.fullmatch(r"[sv]\d+", name):
            continue
        if name[0] == "v":
            machine.set_register(name, [np.broadcast_to(np.asarray(value), (wave.lanes,)).astype(np.uint32).tolist()])
        elif not isinstance(value, np.ndarray):
            machine.set_register(name, int(value))
    machine.set_register("exec", (1 << wave.lanes) - 1)
    machine.set_register("pc", pc)
    space = target.space_named("private_wave")
    for address, known in sorted(wave.private.items()):
        if known is not None:
            for lane in range(wave.lanes):
                place = address // 4 * 4 * wave.lanes + 4 * lane + address % 4
                machine.memory.map(space, place, bytes([int(known[lane])]))
    return machine


def _outcome(variable: Any, wanted: list[bytes], where: str) -> tuple[str, str]:
    """Return what is known of a variable, and what is to be looked at."""
    for answer, data in zip(variable.values(LANES).by_lane, wanted, strict=True):
        reason = answer.reason
        if answer.value is None:
            if reason.state != "error":
                return COMPILER, ""
            named = r"register \w+|address \S*0x|set up its frame yet"
            kinds = "register_unavailable", "memory_unavailable", "register_unset"
            if reason.kind in kinds and re.search(named, reason.message):
                return NOT_YET, ""
            return ERROR, f"{where}: {reason.kind}: {reason.message}"
        found = int(answer.value.read().bits).to_bytes(max(len(data), answer.value.bits() // 8), "little")
        if found[: len(data)] != data:
            return WRONG, f"{where}: {data.hex()} is given, {found.hex()} is read in lane {answer.lane}"
    return RIGHT, ""
