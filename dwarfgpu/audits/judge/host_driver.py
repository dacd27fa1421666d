"""A script that calls a kernel of a shared object of the host, for one work-item after another.

It runs in a process of its own, in GDB, and reads what to do from the file that its argument names. When it has loaded
the object it stops with SIGTRAP, so that breakpoints can be set. It imports nothing but the standard library.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

_INTEGERS = {
    (1, 0): ctypes.c_uint8, (1, 1): ctypes.c_int8, (2, 0): ctypes.c_uint16, (2, 1): ctypes.c_int16,
    (4, 0): ctypes.c_uint32, (4, 1): ctypes.c_int32, (8, 0): ctypes.c_uint64, (8, 1): ctypes.c_int64,
}  # fmt: skip
_FLOATS = {4: ctypes.c_float, 8: ctypes.c_double}


def form_of(kind: list[Any]) -> Any:
    """Return the type of ctypes for how a value is passed."""
    if kind[0] == "i":
        return _INTEGERS[kind[1], kind[2]]
    if kind[0] == "f":
        return _FLOATS[kind[1]]
    if kind[0] == "p":
        return ctypes.c_void_p
    if kind[0] == "a":
        return form_of(kind[2]) * kind[1]
    fields = [(f"m{number}", form_of(part)) for number, part in enumerate(kind[1])]
    return type("Argument", (ctypes.Structure,), {"_fields_": fields})


def values_of(task: dict[str, Any], kept: list[Any]) -> list[Any]:
    """Return the arguments; their memory is put among what is kept."""
    local = ctypes.create_string_buffer(task["local"] + 64)
    kept.append(local)
    values: list[Any] = []
    for argument in task["arguments"]:
        data = bytes.fromhex(argument["bytes"])
        if argument["is_buffer"]:
            memory = ctypes.create_string_buffer(data, len(data) + 64)
            kept.append(memory)
            values.append(ctypes.c_void_p(ctypes.addressof(memory)))
        elif argument["is_local"]:
            values.append(ctypes.c_void_p(ctypes.addressof(local) + int.from_bytes(data, "little")))
        else:
            form = form_of(argument["kind"])
            values.append(form.from_buffer_copy(data.ljust(ctypes.sizeof(form), b"\0")))
    return values


def main(path: str) -> None:
    """Load the object, and call its kernel."""
    task = json.loads(Path(path).read_text(encoding="utf-8"))
    library = ctypes.CDLL(task["object"])
    kept: list[Any] = []
    values = values_of(task, kept)

    def triple(name: str) -> Any:
        try:
            return (ctypes.c_uint32 * 3).in_dll(library, name)
        except ValueError:  # it does not ask for that
            return None

    item, group, size = map(triple, task["names"])
    kernel = getattr(library, task["kernel_name"])
    kernel.restype = None
    os.kill(os.getpid(), signal.SIGTRAP)
    for group_place, item_place in task["order"]:
        for array, numbers in ((item, item_place), (group, group_place), (size, task["size"])):
            if array is not None:
                array[:] = numbers
        kernel(*values)


if __name__ == "__main__":
    main(sys.argv[1])
