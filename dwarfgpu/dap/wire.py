"""Messages of the Debug Adapter Protocol on a stream: JSON behind a header that says how many bytes it has."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import count
from threading import Lock
from typing import TYPE_CHECKING, Any

from dwarfgpu.errors import UsageError

if TYPE_CHECKING:
    Json = dict[str, Any]

MAX_HEADER = 1 << 12
MAX_BODY = 1 << 26
"""The most bytes that a message may have."""
LENGTH = b"content-length"


class BadMessage(UsageError):
    """The error of bytes that are not a message."""


class Wire:
    """Reads and writes messages. ``read`` returns some bytes, none at the end; ``write`` writes all bytes."""

    def __init__(self, read: Callable[[], bytes], write: Callable[[bytes], object], *, is_strict: bool = False) -> None:
        self._read = read
        self._write = write
        self._is_strict = is_strict
        """Whether a header of another protocol ends the connection: a web page may have made a browser connect."""
        self._data = bytearray()
        self._numbers = count(1)
        self._lock = Lock()
        self.is_closed = False

    # --- Reading --------------------------------------------------------------------------------------------------

    def receive(self) -> Json | BadMessage | None:
        """Return the next message, the error of one that cannot be read, or None at the end."""
        length = None if self.is_closed else self._length()
        if length is None or isinstance(length, BadMessage):
            return length
        body = self._take(length)
        if body is None:
            return None
        try:
            message = json.loads(body.decode())
            if b"\\ud" in body.lower():  # halves of characters, which no file name and no source can have
                message = json.loads(json.dumps(message, ensure_ascii=False).encode("utf-8", "replace"))
        except (ValueError, RecursionError) as error:
            return BadMessage(f"a message is not JSON: {str(error)[:80]}")
        if not isinstance(message, dict):
            return BadMessage("a message is not a JSON object")
        return message

    def _length(self) -> int | BadMessage | None:
        """Read headers up to an empty line; return how many bytes follow."""
        length: int | None = None
        while True:
            line = self._line()
            if line is None:
                return None
            if not line:
                if length is not None:
                    return length
                continue
            name, _, value = line.partition(b":")
            number = value.strip()
            if name.strip().lower() == LENGTH:
                if not number.isdigit() or len(number) > 9 or int(number) > MAX_BODY:
                    self.is_closed = self._is_strict
                    return BadMessage(f"a message has a Content-Length of {number[:20]!r}: at most {MAX_BODY} bytes")
                length = int(number)
            elif self._is_strict and name.strip().lower() != b"content-type":
                self.is_closed = True
                return BadMessage("this is a server for the Debug Adapter Protocol")

    def _line(self) -> bytes | None:
        while (end := self._data.find(b"\n")) < 0:
            if len(self._data) > MAX_HEADER:
                self._data.clear()
            if not self._more():
                return None
        line = bytes(self._data[:end]).rstrip(b"\r")
        del self._data[: end + 1]
        return line

    def _take(self, size: int) -> bytes | None:
        while len(self._data) < size:
            if not self._more():
                return None
        body = bytes(self._data[:size])
        del self._data[:size]
        return body

    def _more(self) -> bool:
        data = b"" if self.is_closed else self._read()
        self._data += data
        return bool(data)

    # --- Writing --------------------------------------------------------------------------------------------------

    def send(self, kind: str, message: Json) -> None:
        """Write a message with the next number."""
        with self._lock:
            text = json.dumps({"seq": next(self._numbers), "type": kind, **message})
            body = text.encode("utf-8", "backslashreplace")
            try:
                self._write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
            except (BrokenPipeError, ConnectionError):  # the end of what is read tells it, too
                self.is_closed = True

    def event(self, name: str, body: Json | None = None) -> None:
        """Send an event."""
        self.send("event", {"event": name} if body is None else {"event": name, "body": body})

    def answer(self, request: Json, body: Json | None) -> None:
        """Send the answer to a request."""
        head = {"request_seq": request["seq"], "success": True, "command": request["command"]}
        self.send("response", head if body is None else {**head, "body": body})

    def refuse(self, request: Json, number: int, text: str, short: str | None = None) -> None:
        """Send the error of a request; ``short`` is one of the words that clients know, such as ``notStopped``."""
        seq, command = request.get("seq"), request.get("command")
        # braces are variables in the format, so that the text is one
        error = {"id": number, "format": "{text}", "variables": {"text": text}, "showUser": True}
        self.send(
            "response",
            {
                "request_seq": seq if isinstance(seq, int) and not isinstance(seq, bool) else 0,
                "success": False,
                "command": command if isinstance(command, str) else "",
                "message": short or text,
                "body": {"error": error},
            },
        )
