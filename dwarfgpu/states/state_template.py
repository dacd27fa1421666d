"""States to fill in: which registers and bytes the variables and the call frame at a place need.

Every variable is evaluated on a machine that has made-up contents for all that is not known, and notes what is read.
What is read at other places when the contents are others depends on them, and can be told once they are known.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any
from zlib import crc32

from dwarfgpu.cfi.rules import SameValue
from dwarfgpu.errors import DwarfGpuError, MalformedFile, UsageError
from dwarfgpu.immutable import frozen
from dwarfgpu.machines import snapshot
from dwarfgpu.machines.protocol import Capabilities, WaveBackend
from dwarfgpu.program.code.code_lookup import at_address, parse_address
from dwarfgpu.program.types.declaration import safe_text
from dwarfgpu.program.types.model import Base, Enumeration, Pointer, Type, known_size, stripped
from dwarfgpu.regular_files import read_input
from dwarfgpu.states.opening import find_named_pcs, load_code
from dwarfgpu.states.stopped import OpenOptions, Stopped
from dwarfgpu.strict_json import parse
from dwarfgpu.targets.target import AddressSpace, Scope, TargetRegister

if TYPE_CHECKING:
    from dwarfgpu.machines.machine import Machine
    from dwarfgpu.program.code.code_object import CodeObject
    from dwarfgpu.states.program import Program

    Json = dict[str, Any]
    Access = tuple[Any, ...]
    """``("register", name)`` or ``("memory", space, address, size, lane)``."""
    Question = tuple[str, Type | None, Callable[[int | None], Any]]
    """What needs something, its type, and what reads it in a lane."""

SEEDS = (1, 2, 3)
"""The contents that are made up: what is read with all of them does not depend on them."""
MAX_BYTES = 1 << 16
"""The most bytes of a variable that are listed."""
MAX_VARIED = 16
"""The most registers of which it is tried whether an address depends on them."""
REGISTER, MEMORY = "register", "memory"
FLOAT, SIGNED = 4, (5, 6)
"""Encodings of base types (DWARF 5, table 7.11)."""


class MadeUpBackend(WaveBackend):
    """One wave of which little is known: what is read beside that is made up, and noted."""

    capabilities = Capabilities(
        name="recording",
        summary="a wave whose contents are made up, to note what is read",
        many_waves=False,
        writes="are refused",
        unknown="nothing: it is made up",
        gathered="slot after slot",
        instances=False,
    )

    def __init__(self, known: Machine, wave: int, seed: int, varied: str = "") -> None:
        self.target = known.target
        self.known = known
        self.ids = [known.ids[wave]]
        self.index = wave
        self.seed = seed
        self.varied = varied
        """The register that has other contents than the seed says."""
        self.accesses: dict[Access, None] = {}

    def program_counter(self, wave: int) -> int | None:
        return self.known.program_counter(self.index)

    def read_register(self, register: TargetRegister, wave: int, lane: int | None) -> bytes:
        if self.known.knows(register, self.index):
            unknown = self.known.unknown_lanes(register, self.index)
            if lane is None or not unknown >> lane & 1:
                return self.known.read_register(register, self.index, lane)
        self.accesses[REGISTER, register.name] = None
        size = -(-register.bit_size // 8)
        if register.number == self.target.execution_mask:
            return b"\xff" * size
        seed = -self.seed if register.name == self.varied else self.seed
        unit = (register.lane_bits or register.bit_size) // 8 or 1
        number = crc32(f"{seed} {register.name}".encode()) % 0xFFFF + 1 << 8  # aligned, and low in every space
        data = (number & ((1 << 8 * unit) - 1)).to_bytes(unit, "little")
        return (data * -(-size // unit))[:size]

    def read_memory(self, space: AddressSpace, address: int, size: int, wave: int, lane: int | None) -> bytes:
        with suppress(DwarfGpuError):
            return self.known.read_memory(space, address, size, self.index, lane)
        space, address = self._stored(space, address, size, lane)
        owner = lane if space.scope == Scope.LANE else None
        self.accesses[MEMORY, space.number, address, size, owner] = None
        if size > MAX_BYTES:
            raise UsageError(f"a variable of {size} bytes is too large for a state written by hand")
        seed = f"{self.seed} {space.number} {owner} "
        return bytes(crc32(f"{seed}{position}".encode()) & 0xFF for position in range(address, address + size))

    def _stored(self, space: AddressSpace, address: int, size: int, lane: int | None) -> tuple[AddressSpace, int]:
        if space.alias is None or space.scope == Scope.LANE:
            return space, address
        with suppress(DwarfGpuError):
            pieces = self.known.memory.pieces(space, address, size, lane)
            stored = self.target.space(pieces[0][0])
            if len(pieces) == 1 and stored is not None and stored.scope not in (Scope.WAVE, Scope.LANE):
                return stored, pieces[0][1]
        return space, address


@frozen
class Needed:
    """What one variable, or a part of the call frame, needs."""

    label: str
    type: Type | None
    accesses: tuple[Access, ...]
    """What is read whatever the contents are."""
    dependent: tuple[Access, ...] = ()
    """Memory whose address depends on contents."""
    decided_by: tuple[str, ...] = ()
    """The registers that it depends on."""
    missing: str = ""
    """Why there is no location."""


class StateTemplate:
    """A snapshot of one wave, in which is null what its variables and its call frame need."""

    def __init__(self, program: Program, document: Json, known: Machine) -> None:
        self.program = program
        self.document = document
        self.known = known
        self.target = known.target
        self._loaded, _problems = load_code(known, program.file, OpenOptions(True, program.dialect, program.repair))
        lane_count = self.target.lane_count
        self._lanes: tuple[int | None, ...] = (0, lane_count - 1) if lane_count > 1 else (None,)

    # --- What is needed -------------------------------------------------------------------------------------------

    def needed(self) -> list[Needed]:
        """Return what each variable that is visible, and the call frame, needs."""
        count = len(list(self._questions(self._stopped(SEEDS[0]))))
        return [self._needed(index) for index in range(count)]

    def _stopped(self, seed: int, varied: str = "") -> Stopped:
        machine: Any = MadeUpBackend(self.known, 0, seed, varied)
        return Stopped(machine, self._loaded)

    def _questions(self, stopped: Stopped) -> Iterator[Question]:
        stack = stopped.wave(0).stack
        frames = stack.call(0)
        for frame in frames:
            for variable in frame.variables():
                owner = f" of {frame.name}" if len(frames) > 1 and frame.name else ""

                def read(lane: int | None, frame: Any = frame, variable: Any = variable) -> None:
                    variable.find(frame.lane(lane)).read()

                kind = None
                with suppress(DwarfGpuError):
                    kind = variable.type
                yield f"{variable.name}{owner}", kind, read
        outer = frames[-1]
        if self.target.execution_mask is not None:
            yield "the active lanes", None, lambda _lane: outer.active_mask
            yield "the places of the lanes", None, lambda _lane: stack.lane_pcs(0)
        if outer.activation is None:
            return
        activation: Any = outer.activation
        yield "the CFA", None, lambda lane: activation.cfa(outer.lane(lane))
        yield "the return address", None, lambda _lane: stack.activations.at(1)
        try:
            information = activation.information
        except DwarfGpuError:
            return
        for number, rule in sorted(information.row.registers.items()):
            register = activation.thread.register(number)
            if register is None or number == information.return_register:
                continue
            if not information.source or not isinstance(rule, SameValue):  # the code tells of each register
                yield f"{register.name} of the caller", None, _saved(stopped, number, register.bit_size)

    def _run(self, index: int, seed: int, varied: str = "", lanes: tuple[int | None, ...] = ()) -> tuple[Any, str]:
        """Return what a question reads, lane after lane, and why it has no answer if it has none."""
        accesses: dict[Access, None] = {}
        missing = ""
        for lane in lanes or self._lanes:
            stopped = self._stopped(seed, varied)
            _label, _type, read = list(self._questions(stopped))[index]
            machine: Any = stopped.machine
            machine.accesses.clear()
            try:
                read(lane)
            except DwarfGpuError as error:
                missing = error.message
            accesses |= machine.accesses
        return accesses, missing

    def _needed(self, index: int) -> Needed:
        label, kind, _read = list(self._questions(self._stopped(SEEDS[0])))[index]
        runs = [self._run(index, seed) for seed in SEEDS]
        first, missing = runs[0]
        fixed = [access for access in first if all(access in accesses for accesses, _missing in runs)]
        dependent = [access for access in first if access not in fixed and access[0] == MEMORY]
        fixed += [access for access in first if access not in fixed and access[0] == REGISTER]
        is_empty = not first
        decided = []
        if dependent:
            names = [access[1] for access in fixed if access[0] == REGISTER][:MAX_VARIED]
            for name in names:
                accesses, _missing = self._run(index, SEEDS[0], name)
                if any(access not in accesses for access in dependent):
                    decided.append(name)
        memory = [access for access in fixed if access[0] == MEMORY]
        if any(access[4] is not None for access in memory) and not self._is_alike(memory):
            every, _missing = self._run(index, SEEDS[0], lanes=tuple(range(self.target.lane_count)))
            others, _missing = self._run(index, SEEDS[1], lanes=tuple(range(self.target.lane_count)))
            fixed = [access for access in every if access in others]
        return Needed(label, kind, tuple(fixed), tuple(dependent), tuple(decided), missing if is_empty else "")

    def _is_alike(self, memory: list[Access]) -> bool:
        """Return whether the first and the last lane read their own memory at the same addresses."""
        own = [{access[1:4] for access in memory if access[4] == lane} for lane in self._lanes]
        return own[0] == own[-1]

    # --- The document ---------------------------------------------------------------------------------------------

    def filled(self) -> Json:
        """Return the document with what is needed as null, and in comments what needs it."""
        entries = self.needed()
        wave = self.document["waves"][0]
        registers: dict[str, Any] = wave.pop("registers", {})
        users: dict[str, list[Needed]] = {}
        regions: dict[Access, list[Needed]] = {}
        notes: list[str] = []
        dependent: dict[tuple[str, str], list[str]] = {}
        for entry in entries:
            for access in self._joined(entry.accesses):
                if access[0] == REGISTER:
                    users.setdefault(access[1], []).append(entry)
                else:
                    regions.setdefault(access[1:], []).append(entry)
            if entry.dependent:
                dependent.setdefault(self._what_depends(entry), []).append(entry.label)
            if entry.missing and entry.type is not None:
                notes.append(f"{entry.label}: {entry.missing}")
        for (what, by), labels in dependent.items():
            where = " each, at addresses" if len(labels) > 1 else ", at an address"
            notes.append(f"{', '.join(labels)}: {what}{where} that {by} decides; fill that in, and use --state")
        machine: Any = self.known
        for name in sorted(users, key=lambda name: machine.register_named(name).number & 0xFFFFFFFF):
            register = machine.register_named(name)
            if name in ("pc", "exec"):
                wave[name] = self._value(users[name], register.bit_size // 8)
            else:
                registers[name] = self._value(users[name], (register.lane_bits or register.bit_size) // 8)
        wave["registers"] = registers
        for place in sorted(regions, key=lambda place: (*place[:2], -1 if place[3] is None else place[3])):
            region = self._region(wave, place, regions[place], notes)
            if region is not None:
                self.document.setdefault("memory", []).append(region)
        wave.pop("comment", None)
        if notes:
            wave["comment"] = notes
        return self.document

    def _joined(self, accesses: tuple[Access, ...]) -> list[Access]:
        """Return accesses in which those of every lane at one address are one, with no lane."""
        joined: dict[Access, None] = {}
        lanes: dict[Access, set[Any]] = {}
        for access in accesses:
            if access[0] == MEMORY:
                lanes.setdefault(access[1:4], set()).add(access[4])
        for access in accesses:
            if access[0] == MEMORY and lanes[access[1:4]] >= set(self._lanes):
                access = (*access[:4], None)  # noqa: PLW2901 (it is the access of every lane)
            joined[access] = None
        return list(joined)

    def _value(self, needing: list[Needed], size: int) -> Json:
        kind = next((form_of(entry.type, size) for entry in needing if entry.type is not None), None)
        form = kind if kind not in (None, "bytes") else f"unsigned{8 * size}" if size in (1, 2, 4, 8) else "bytes"
        return {"comment": _labels(needing), form: None}

    def _region(self, wave: Json, place: Access, needing: list[Needed], notes: list[str]) -> Json | None:
        number, address, size, lane = place
        space: Any = self.target.space(number)
        label = _labels(needing)
        if space.alias is not None and space.scope != Scope.LANE:
            notes.append(
                f"{label}: {size} bytes at {space.name}#{address:#x}, given as global, local or private memory"
            )
            return None
        region: Json = {"space": space.name}
        if space.scope == Scope.WORKGROUP:
            region["work_group"] = wave.setdefault("work_group", [0, 0, 0])
        elif space.scope in (Scope.WAVE, Scope.LANE):
            region["wave"] = wave.setdefault("id", "0")
            if lane is not None:
                region["lane"] = lane
        region["address"] = hex(address)
        kind = next((form_of(entry.type, size) for entry in needing if entry.type is not None), "bytes")
        text = label if kind != "bytes" else f"{label}, {size} bytes"
        return {**region, "comment": text, kind: None}

    def _what_depends(self, entry: Needed) -> tuple[str, str]:
        """Return the memory of an entry whose address is not known, and what decides the address."""
        sizes: dict[str, int] = {}
        for _kind, number, _address, size, lane in entry.dependent:
            if lane in (None, self._lanes[0]):
                space: Any = self.target.space(number)
                sizes[space.name] = sizes.get(space.name, 0) + size
        what = " and ".join(f"{size} bytes of {name}" for name, size in sizes.items()) or "memory"
        return what, " and ".join(entry.decided_by) or "other memory"


def _saved(stopped: Stopped, number: int, bit_size: int) -> Callable[[int | None], None]:

    def read(lane: int | None) -> None:
        from dwarfgpu.cfi.activation import Activation
        from dwarfgpu.program.values.storage import Located

        frame = stopped.wave(0).stack.call(0)[-1]
        activation: Any = frame.activation
        caller = Activation(activation.thread, activation.pc, activation)
        lanes = frame.lane(lane)
        Located(frame.around(lanes), caller.register(number, lanes)).read(0, bit_size)

    return read


def form_of(type: Type | None, size: int) -> str:
    """Return in which form of a state an object of a type is written: as a float, a number or bytes."""
    if type is None or known_size(type) != size or size not in (1, 2, 4, 8):
        return "bytes"
    inner = stripped(type)
    if isinstance(inner, Base):
        if inner.encoding == FLOAT:
            return f"float{8 * size}" if size > 1 else "bytes"
        return f"{'signed' if inner.encoding in SIGNED else 'unsigned'}{8 * size}"
    return f"unsigned{8 * size}" if isinstance(inner, (Pointer, Enumeration)) else "bytes"


def _labels(needing: list[Needed]) -> str:
    texts = [entry.label if entry.type is None else f"{entry.label}: {safe_text(entry.type)}" for entry in needing]
    return "; ".join(dict.fromkeys(texts))


# --- Making one ---------------------------------------------------------------------------------------------------


def template(program: Program, place: str | None, state: str | None, output: str | None = None) -> Json:
    """Return a state of one wave at a place of the code, or a state with what it lacks."""
    if state is None:
        if place is None:
            raise UsageError("a place in the code is needed", hint="--pc A, such as --pc k+0x40 or --pc k.hip:17")
        document = _new_document(program, place, output)
        folder = os.path.dirname(output or "")
    else:
        if place is not None:
            raise UsageError("--pc does not go with --state, which has a pc", hint="leave out one of them")
        document = _given_document(state)
        folder = os.path.dirname(state)
    known = snapshot.of_document(document, folder, state or "the state", force=True)
    if known.named_pcs:
        find_named_pcs(known)
    if known.wave_count != 1:
        raise UsageError(f"the state has {known.wave_count} waves, and a template has one")
    if known.program_counter(0) is None:
        raise UsageError("the state has no pc", hint='its wave needs one: "pc": "k+0x40"')
    return StateTemplate(program, document, known).filled()


def _new_document(program: Program, place: str, output: str | None) -> Json:
    file = program.file
    address = parse_address(file, place)
    wave: Json = {"id": "0", "pc": hex(address)}
    document: Json = {
        "schema": 1,
        "target": file.target.target.name,
        "comment": f"{_place_text(file, address)}; what is null is not known",
        "code_objects": [_code_object(file, output)],
        "waves": [wave],
    }
    if file.target.target.name == "generic":
        document |= {"byte_order": file.target.target.byte_order, "address_size": file.target.target.address_size}
    return document


def _place_text(file: CodeObject, address: int) -> str:
    try:
        at = at_address(file, address)
    except DwarfGpuError:
        return f"{address:#x}"
    source = at.frames[0].source if at.frames else at.source
    name = at.frames[-1].function if at.frames else at.symbol.name if at.symbol is not None else None
    texts = [text for text in (name, source and source.file and f"{source.file}:{source.line}") if text]
    return " at ".join(texts) or f"{address:#x}"


def _code_object(file: CodeObject, output: str | None) -> Json:
    path = file.image.path
    if path is None:
        raise UsageError("the code is not in a file that a state could name", hint="write it to a file first")
    named = file.image.name
    folder = os.path.dirname(output or "") or "."
    is_whole = os.path.isfile(named)  # else it is FILE@2, or an URI
    entry: Json = {"path": os.path.relpath(named, folder) if is_whole and not os.path.isabs(named) else named}
    entry["load_address"] = "0x0"
    if is_whole:
        from hashlib import sha256

        entry["sha256"] = sha256(file.image.data).hexdigest()
    return entry


def _given_document(state: str) -> Json:
    document = parse(read_input(state).decode(errors="replace"))
    if not isinstance(document, dict) or not snapshot.is_snapshot(document):
        raise MalformedFile("bad_snapshot", f"{state}: it is not a snapshot in the JSON form")
    return document


def text(document: Json) -> str:
    """Return the text of a template: a register and a region of memory on a line."""
    lines = []
    for key, value in document.items():
        if key == "waves":
            shown = ",\n  ".join(_wave_text(wave) for wave in value)
        elif key in ("memory", "code_objects", "dispatches"):
            shown = ",\n  ".join(map(json.dumps, value))
        else:
            lines.append(f" {json.dumps(key)}: {json.dumps(value)}")
            continue
        lines.append(f" {json.dumps(key)}: [\n  {shown}]")
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _wave_text(wave: Json) -> str:
    parts = []
    for key, value in wave.items():
        if key == "registers":
            inner = ",\n    ".join(f"{json.dumps(name)}: {json.dumps(item)}" for name, item in value.items())
            parts.append(f'"registers": {{\n    {inner}}}' if value else '"registers": {}')
        elif key == "comment" and isinstance(value, list):
            inner = ",\n    ".join(map(json.dumps, value))
            parts.append(f'"comment": [\n    {inner}]')
        else:
            parts.append(f"{json.dumps(key)}: {json.dumps(value)}")
    return "{" + ",\n   ".join(parts) + "}"
