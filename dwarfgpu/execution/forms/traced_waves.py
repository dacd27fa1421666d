"""The wave that is traced: plans of the instructions that compiled code executes, and the records that it leaves."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable, Iterator, Sequence
from struct import Struct
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from dwarfgpu.execution.forms.followed_waves import FollowedWaves
from dwarfgpu.execution.forms.layout import VECTORS, Place
from dwarfgpu.execution.forms.memory_table import address_of
from dwarfgpu.execution.forms.traced_forms import HEAD, TRACE_FUNCTIONS, TRACES_DECLARED, TracedForm, TraceField
from dwarfgpu.isa.instruction import CALLS, JUMPS

if TYPE_CHECKING:
    from dwarfgpu.execution.batch import WaveBatch
    from dwarfgpu.execution.forms.program import FormProgram
    from dwarfgpu.execution.forms.wave_states import FormBatch
    from dwarfgpu.isa.instruction import GpuInstruction

LOG_BYTES, MOST_BYTES = 1 << 20, 1 << 16
"""The bytes of a log, and the room behind them for one more record."""
BY_LANE = 1
"""Is added to the address of the number of the first lane."""
MOST_TEXTS = 64
"""The results of an instruction whose texts are kept."""
_RECORD = Struct(f"<{HEAD}Q")


class TracePlan:
    """What the records of an instruction have."""

    def __init__(self, address: int, results: Sequence[int] = (), names: Iterable[tuple[str, int]] = ()) -> None:
        self.address, self.result_places = address, results
        self._words = (ctypes.c_uint64 * (1 + len(results)))(len(results), *results)
        self.place, self.results = ctypes.addressof(self._words), Struct(f"<{len(results)}I")
        self.names = (*names,)
        """What the results are, each with how many words it has."""
        self._texts: dict[tuple[int, ...], tuple[tuple[str, str], ...]] = {}

    def results_of(self, words: tuple[int, ...]) -> tuple[tuple[str, str], ...]:
        """Return the results by name, as texts."""
        if words not in self._texts:
            if len(self._texts) >= MOST_TEXTS:
                self._texts.clear()
            left = iter(words)
            numbers = ((name, next(left) | (next(left) << 32 if count > 1 else 0)) for name, count in self.names)
            self._texts[words] = (*((name, f"{number:#x}") for name, number in numbers),)
        return self._texts[words]


NOTHING = TracePlan(0)
"""Comes before the first instruction that compiled code executes."""


TraceRecord = tuple[TracePlan, TracePlan, int, tuple[int, ...]]
"""What compiled code has left of an instruction: its plan, that of the instruction before, the mask of the executing
lanes, and the results of the instruction before."""


class TraceReader(Protocol):
    """Reads the records of a trace."""

    def plan_of(self, followed: TracedWaves, address: int, instruction: GpuInstruction) -> TracePlan:
        """Return the plan of an instruction."""

    def enter(self, batch: WaveBatch) -> None:
        """Take note that waves go on in compiled code."""

    def replay(self, records: Iterable[TraceRecord]) -> None:
        """Take note of what compiled code has executed."""


class TracedWaves(FollowedWaves):
    """The part of a trace of one wave in compiled code, and what compiled code may execute meanwhile."""

    stops: frozenset[int] = frozenset()
    """The same as in `QuietCode`: plans say where compiled code stops."""

    def __init__(
        self, device: Any, number: Callable[[], int | None], lane: int | None, code: range, reader: TraceReader
    ) -> None:
        self.device, self._number, self._reader = device, number, reader
        self._log = np.zeros(LOG_BYTES + MOST_BYTES, np.uint8)
        self._first = address_of(self._log)
        self._code, self._places = code, np.zeros(len(code) // 4 + 1, np.int64)
        """The code that is traced, and where the plan of each dword of it is."""
        self._plans = {NOTHING.place: NOTHING}
        self._state = 0
        """Where the state of the wave is."""
        self.cells = (ctypes.c_int64 * len(TraceField))()
        mask = -1 if device.lanes == 64 else (1 << device.lanes) - 1
        own = self._first, self._first + LOG_BYTES, 0, code.start, len(code), address_of(self._places), 0, NOTHING.place
        self.cells[:] = [*own, lane or 0, -1 if lane is None else lane, mask]

    # --- What forms need ------------------------------------------------------------------------------------------

    def prepare(self, library: Any) -> None:
        library.let_call(TRACE_FUNCTIONS, TRACES_DECLARED)

    def writers(self) -> tuple[Any, Any, dict[str, Any]]:
        return TracedForm, TracedForm, {}

    def places(self, count: int) -> list[tuple[Place, Any]]:
        found, number = np.zeros(count, np.int64), self._number()
        if number is not None:
            found[number] = ctypes.addressof(self.cells)
        return [(Place.TRACE, found)]

    def entered(self, batch: WaveBatch, entered: FormBatch) -> FormBatch:
        number = self._number()
        state = 0 if number is None else int(entered.states.addresses[number])
        if state != self._state:
            self._state, self._plans = state, {NOTHING.place: NOTHING}
            self._places.fill(0)
            self._put(TraceField.BEFORE, NOTHING.place)
        return entered

    def settle(self, batch: FormBatch, distance: int) -> None:
        self._put(TraceField.DISTANCE, distance)

    def drain(self, batch: FormBatch, program: FormProgram) -> bool:
        end = self._get(TraceField.NEXT)
        if end == self._first:
            return False
        self._put(TraceField.NEXT, self._first)
        self._reader.replay(self._records(self._log[: end - self._first].tobytes()))
        return True

    def _records(self, data: bytes) -> Iterator[TraceRecord]:
        at, plans, head, size = 0, self._plans, _RECORD.unpack_from, _RECORD.size
        while at < len(data):
            before_place, place, active = head(data, at)
            before = plans[before_place]
            yield plans[place], before, active, before.results.unpack_from(data, at + size)
            at += size + before.results.size

    def _get(self, field: TraceField) -> int:
        number: int = self.cells[field // 8]
        return number

    def _put(self, field: TraceField, number: int) -> None:
        self.cells[field // 8] = number

    # --- What Python executes -------------------------------------------------------------------------------------

    def take_over(self) -> tuple[TracePlan, tuple[int, ...]]:
        """Return the plan of what compiled code has executed last, before Python executes anything, and its results."""
        before = self._plans[self._get(TraceField.BEFORE)]
        self._put(TraceField.BEFORE, NOTHING.place)
        lane = 4 * self._get(TraceField.LANE)
        places = (place - BY_LANE + lane if place & BY_LANE else place for place in before.result_places)
        return before, (*(ctypes.c_uint32.from_address(place).value for place in places),)

    def add(self, plan: TracePlan) -> None:
        """Let compiled code execute the instruction of a plan."""
        self._plans[plan.place] = plan
        self._places[(plan.address - self._code.start) // 4] = plan.place

    def place_of(self, file: str, number: int) -> int:
        """Return where a register of the wave is: of a vector one what the lane has."""
        if file not in "va":
            return self._state + 4 * number
        row: int = number + (self.device.register_counts[0] if file == "a" else 0)
        own, lanes = self._get(TraceField.OWN_LANE), int(self.device.lanes)
        return self._state + VECTORS + 4 * lanes * row + (BY_LANE if own < 0 else 4 * own)

    # --- Code that is executed unseen -----------------------------------------------------------------------------

    def holds(self, address: int, instruction: GpuInstruction) -> bool:
        """Return whether compiled code may execute an instruction."""
        if address not in self._code or instruction.name in CALLS | JUMPS:
            return False
        if not self._places[(address - self._code.start) // 4]:
            self.add(self._reader.plan_of(self, address, instruction))
        return True

    def enters(self, batch: WaveBatch) -> bool:
        self._reader.enter(batch)
        return True

    def passed(self, _batch: WaveBatch, _count: int) -> None:
        """Records say what has been executed."""
