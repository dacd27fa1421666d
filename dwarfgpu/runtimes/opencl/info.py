"""What functions such as ``clGetDeviceInfo`` answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dwarfgpu.runtimes.opencl.errors import ClError, refuse

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from dwarfgpu.runtimes.connection import HostCall

    Answers = Mapping[int, bytes | Callable[[], bytes]]


def half_word(*numbers: int) -> bytes:
    """Return numbers of 4 bytes: ``cl_uint``, ``cl_bool``, ``cl_int``."""
    return b"".join((number & 0xFFFFFFFF).to_bytes(4, "little") for number in numbers)


def word(*numbers: int) -> bytes:
    """Return numbers of 8 bytes: ``size_t``, ``cl_ulong``, pointers and bit fields."""
    return b"".join((number & (1 << 64) - 1).to_bytes(8, "little") for number in numbers)


def text(given: str) -> bytes:
    """Return a string with its end."""
    return given.encode(errors="replace") + b"\0"


def version(major: int, minor: int = 0, patch: int = 0) -> int:
    """Return a ``cl_version``."""
    return major << 22 | minor << 12 | patch


def named_versions(*rows: tuple[int, str]) -> bytes:
    """Return an array of ``cl_name_version``."""
    return b"".join(half_word(number) + name.encode().ljust(64, b"\0") for number, name in rows)


def answer(call: HostCall, answers: Answers, wanted: int, size: int, pointer: int, needed: int) -> None:
    """Write what is asked for, and its size; programs ask for what other vendors have, so that is no misuse."""
    found = answers.get(wanted)
    if found is None:
        refuse(ClError.INVALID_VALUE)
    content = found if isinstance(found, bytes) else found()
    if pointer:
        if size < len(content):
            refuse(ClError.INVALID_VALUE, f"the answer has {len(content)} bytes, and there is room for {size}")
        call.write(pointer, content)
    if needed:
        call.write_number(needed, len(content))
