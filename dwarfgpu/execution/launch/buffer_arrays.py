"""The memory of buffers as arrays of numpy, into which a user may write."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from dwarfgpu.machines.machine import Machine

WRITING = {np.copyto, np.fill_diagonal, np.place, np.put, np.put_along_axis, np.putmask}
"""The functions of numpy that write into their first argument."""


class BufferArray(np.ndarray[Any, Any]):
    """The memory of a buffer. What is written into it, or into a part of it, counts as a change of the machine."""

    machine: Machine | None

    def __array_finalize__(self, source: Any) -> None:
        self.machine = getattr(source, "machine", None)

    def __repr__(self) -> str:
        return repr(_plain(self))

    def __setitem__(self, key: Any, value: Any) -> None:
        super().__setitem__(key, value)
        self.changed()

    def __array_ufunc__(self, ufunc: Any, method: Any, *inputs: Any, **kwargs: Any) -> Any:
        out = kwargs.get("out", ())
        if out:
            kwargs["out"] = tuple(map(_plain, out))
        result = getattr(ufunc, method)(*map(_plain, inputs), **kwargs)
        for each in (*out, *inputs[: method == "at"]):
            _note_change(each)
        return out[0] if len(out) == 1 else result

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        result = super().__array_function__(func, types, args, kwargs)
        for each in (*args[: func in WRITING], kwargs.get("out")):
            _note_change(each)
        return result

    def fill(self, value: Any) -> None:
        """Give all elements a value."""
        self[...] = value

    def sort(self, *args: Any, **keywords: Any) -> None:
        """Sort the elements in place."""
        super().sort(*args, **keywords)
        self.changed()

    def changed(self) -> None:
        if self.machine is not None:
            self.machine.changes += 1


def _plain(array: Any) -> Any:
    return array.view(np.ndarray) if isinstance(array, BufferArray) else array


def _note_change(array: Any) -> None:
    if isinstance(array, BufferArray):
        array.changed()


def buffer_array(array: Any, machine: Machine) -> BufferArray:
    """Return the memory of a machine, an array, as one whose changes count."""
    found = array.view(BufferArray)
    found.machine = machine
    return found  # type: ignore[no-any-return]
