"""What compiled code does for the checks of waves: each check has a part, and all parts write forms together."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from operator import is_
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from dwarfgpu.execution.checks.findings import RACE, WAIT
from dwarfgpu.execution.forms.access_log import LoggedAccess, LoggedParts
from dwarfgpu.execution.forms.form_writer import FormWriter
from dwarfgpu.execution.forms.layout import LogField, Place
from dwarfgpu.execution.forms.memory_table import address_of
from dwarfgpu.execution.forms.stretches import StretchWriter

if TYPE_CHECKING:
    from dwarfgpu.execution.batch import WaveBatch
    from dwarfgpu.execution.checks.checked_memory import CheckedMemory
    from dwarfgpu.execution.forms.program import FormProgram
    from dwarfgpu.execution.forms.wave_states import FormBatch

LOG_WORDS = 1 << 18
"""The words of a log; behind them there is room for the records of one more access of all waves."""


class FollowedWaves:
    """The part of a check; what is not said otherwise, it does not need."""

    @property
    def hides_local(self) -> bool:
        """Whether forms do not reach local memory: it has pointers."""
        return False

    def renew(self, count: int, lanes: int, counts: tuple[int, int]) -> None:
        """Have room for other waves and registers."""

    def can_reach_all(self) -> bool:
        """Return whether compiled code can reach all that the check knows."""
        return True

    def prepare(self, library: Any) -> None:
        """Compile what forms call."""

    def hidden(self) -> tuple[int, ...]:
        """Return the segments of global memory that forms do not reach."""
        return ()

    def writers(self) -> tuple[Any, Any, dict[str, Any]]:
        """Return what writes forms and stretches, and what they need to know."""
        return FormWriter, StretchWriter, {}

    def begin(self) -> None:
        """Let waves with other memory enter."""

    def places(self, count: int) -> list[tuple[Place, Any]]:
        """Return what states of waves have to know."""
        return []

    def entered(self, batch: WaveBatch, entered: FormBatch) -> FormBatch:
        """Take over what is known of a batch; return its waves with it."""
        return entered

    def settle(self, batch: FormBatch, distance: int) -> None:
        """Let forms know what Python has changed, and where the program is that runs."""

    def drain(self, batch: FormBatch, program: FormProgram) -> bool:
        """Tell a check what waves have done in compiled code; return whether that makes room for more."""
        return False


class AlignedWaves(FollowedWaves):
    """Waves whose accesses are aligned."""

    def writers(self) -> tuple[Any, Any, dict[str, Any]]:
        from dwarfgpu.execution.forms.ordered_forms import AlignedForm

        return AlignedForm, AlignedForm, {}


class OrderedWaves(FollowedWaves):
    """Waves whose accesses and waits are counted."""

    _logged: ClassVar[dict[tuple[str, int, bytes], LoggedParts]] = {}
    """What is known of the accesses in logs, by processor, the lanes of a wave, and the bytes of the instruction."""

    def __init__(self, checked: CheckedMemory) -> None:
        self._checked = checked
        self._told: list[Any] = []
        self._log = np.zeros(0, np.int64)
        self._ends = np.zeros(len(LogField), np.int64)

    def prepare(self, library: Any) -> None:
        from dwarfgpu.execution.forms.ordered_forms import WAIT_FUNCTIONS, WAITS_DECLARED

        library.let_call(WAIT_FUNCTIONS, WAITS_DECLARED)

    def writers(self) -> tuple[Any, Any, dict[str, Any]]:
        from dwarfgpu.execution.forms.ordered_forms import OrderedForm, OrderedStretch

        return OrderedForm, OrderedStretch, {"checked": self._checked, "logged": self._logged}

    @property
    def _arrays(self) -> list[Any]:
        order, waits = self._checked.order, self._checked.wait_check
        return [order.issued, order.complete, order.emptied, waits.latest, waits.numbers]

    def places(self, count: int) -> list[tuple[Place, Any]]:
        self._told = self._arrays
        if self._checked.looks_for_races:
            largest = LoggedParts.most_words(self._checked.lanes, len(self._checked.order.names))
            log = np.zeros(LOG_WORDS + count * largest + 8, np.int64)
            self._log = log[-address_of(log) % 64 // 8 :]
            first, full = address_of(self._log), address_of(self._log) + 8 * LOG_WORDS
            self._ends[:] = first, first, full, full + 8 * (count - 1) * largest
        named = zip((Place.ISSUED, Place.WAITED, Place.EMPTIED, Place.LATEST_LOADS, Place.LOAD_NUMBERS), self._told,
                    strict=True)  # fmt: skip
        own = np.broadcast_to(np.int64(address_of(self._ends)), count)
        found = [(place, address_of(each) + np.arange(count) * each.strides[0]) for place, each in named if each.size]
        return [*found, (Place.LOG, own)]

    def settle(self, batch: FormBatch, distance: int) -> None:
        if not all(map(is_, self._arrays, self._told)):  # a checkpoint has been restored
            batch.states.tell(self.places(len(self._told[0])))

    def drain(self, batch: FormBatch, program: FormProgram) -> bool:
        end, first = self._ends[: LogField.FULL // 8].tolist()
        if end == first:
            return False
        self._ends[LogField.NEXT // 8] = first
        checked, order, at, accesses = self._checked, self._checked.order, 0, list[LoggedAccess]()
        kinds, index = len(order.names), batch.index
        while at < (end - first) // 8:
            address = int(program.address_of(int(self._log[at])))
            parts = self._logged[checked.machine.device.processor, batch.lanes, checked.instruction(address).data]
            behind = at + parts.words(batch.lanes, kinds) * batch.count
            rows = self._log[at:behind].reshape(batch.count, -1)
            accesses.append(LoggedAccess(batch, address, parts, rows, kinds))
            at = behind
        now = order.issued[index].copy(), order.complete[index].copy()
        for number, access in enumerate(accesses):
            order.issued[index], order.complete[index] = access.issued, access.complete
            checked.tell_of_access(accesses, number)
        order.issued[index], order.complete[index] = now
        return True


def writers_of(parts: Sequence[Any], checks: frozenset[str]) -> tuple[Any, Any, dict[str, Any]]:
    """Return what writes forms and stretches for some parts, and what they need to know."""
    every = [part.writers() for part in parts]
    options = {name: value for _form, _stretch, own in every for name, value in own.items()}
    forms, stretches = ([each[number] for each in every] for number in (0, 1))
    checks &= {RACE, WAIT}
    return _joined(checks, *forms, FormWriter), _joined(checks, *stretches, StretchWriter), options


@cache
def _joined(_checks: frozenset[str], *classes: type) -> type:
    """Return a class that does what some do; forms are kept by it."""
    return type("".join(each.__name__ for each in classes), classes, {})
