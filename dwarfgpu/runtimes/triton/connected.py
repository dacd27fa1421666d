"""The device of `dwarfgpu exec` and of the debugger, as a script asks it: by calls over a socket, as doors in C do."""

from __future__ import annotations

import array
import ctypes
import json
import os
import socket
import sys
import threading
from collections.abc import Sequence
from types import FrameType
from typing import Any

from dwarfgpu.runtimes.connection import CALL, EFFECT, HEAD, HELLO, PRINT, READ, REPLY, RETURN, TEXT, WRITE

_NUMBER = 2
"""The place of Triton among the APIs."""
_LOAD, _LAUNCH, _ANSWER = 1, 2, 3
_ROOM = 1 << 16
"""The bytes that an answer may have."""


class ConnectedDevice:
    """The device of a parent of this process."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._process = 0
        self._socket: socket.socket
        self._lock = threading.Lock()

    def load(self, request: dict[str, Any]) -> int:
        return self._ask(_LOAD, request)

    def launch(self, request: dict[str, Any], frames: Sequence[int]) -> None:
        self._ask(_LAUNCH, request, frames)

    def answer(self) -> dict[str, Any]:
        room = ctypes.create_string_buffer(_ROOM)
        size = self._call(_ANSWER, (ctypes.addressof(room), _ROOM), ())
        found: dict[str, Any] = json.loads(room.raw[:size])
        return found

    def _ask(self, number: int, request: dict[str, Any], frames: Sequence[int] = ()) -> int:
        content = json.dumps(request).encode()
        room = ctypes.create_string_buffer(content, len(content))
        return self._call(number, (ctypes.addressof(room), len(content)), frames)

    def _call(self, number: int, words: Sequence[int], frames: Sequence[int]) -> int:
        with self._lock:
            if self._process != os.getpid():
                self._connect()
            sent = array.array("Q", [*words, *frames])
            self._socket.sendall(HEAD.pack(CALL, number, len(words), len(frames)) + sent.tobytes())
            while True:
                kind, _, to, _source, size = EFFECT.unpack(self._take(EFFECT.size))
                if kind == RETURN:
                    return int(to)
                self._do(kind, to, size)

    def _do(self, kind: int, to: int, size: int) -> None:
        if kind == WRITE:
            ctypes.memmove(to, self._take(size), size)
        elif kind == PRINT:
            stream = sys.stderr if to == 2 else sys.stdout
            stream.write(self._take(size).decode(errors="replace"))
            stream.flush()
        elif kind in (READ, TEXT):
            content = ctypes.string_at(to, size) if kind == READ else ctypes.string_at(to) + b"\0"
            self._socket.sendall(HEAD.pack(REPLY, 0, len(content) & 0xFFFFFFFF, len(content) >> 32) + content)
        else:
            raise ConnectionError(f"dwarfgpu asks for {kind}")

    def _connect(self) -> None:
        self._process = os.getpid()
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.connect(self._path)
        self._socket.sendall(HEAD.pack(HELLO, self._process, threading.get_native_id(), _NUMBER))
        content, descriptors, _flags, _address = socket.recv_fds(self._socket, 16, 1)
        for descriptor in descriptors:
            os.close(descriptor)  # tensors are in the memory of this process
        self._socket.sendall(content[8:])

    def _take(self, size: int) -> bytes:
        parts = []
        while size:
            parts.append(self._socket.recv(size))
            size -= len(parts[-1])
            if not parts[-1]:
                raise ConnectionError("dwarfgpu has ended")
        return b"".join(parts)


_texts: dict[str, Any] = {}
"""The names of files and functions, which stay where they are."""


def script_frames() -> list[int]:
    """Return the calls of the script, innermost first, as the server reads them."""
    frames: list[int] = [0]
    frame: FrameType | None = sys._getframe(1)  # noqa: SLF001 (there is no other way without reading sources)
    while frame is not None and len(frames) < 3 * 40:
        if str(frame.f_globals.get("__name__")).partition(".")[0] not in ("triton", "dwarfgpu"):
            for text in (frame.f_code.co_filename, frame.f_code.co_name):
                if text not in _texts:
                    _texts[text] = ctypes.create_string_buffer(os.fsencode(text))
                frames.append(ctypes.addressof(_texts[text]))
            frames.append(frame.f_lineno)
        frame = frame.f_back
    return frames


def frame_names() -> dict[int, str]:
    """Return the names by their addresses."""
    return {ctypes.addressof(buffer): text for text, buffer in _texts.items()}
