"""A server of files over HTTP that serves ranges, and counts the bytes it sends."""

import contextlib
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote


class RangeServer:
    """What a server has sent; ``broken`` names a file whose ranges fail from an offset on."""

    def __init__(self, folder: Path, *, has_ranges: bool = True) -> None:
        self.folder = folder
        self.has_ranges = has_ranges
        self.sent: dict[str, int] = {}
        self.fails_from: dict[str, int] = {}
        self.claims: dict[str, int] = {}
        """The sizes of files about which the server lies."""
        self.url = ""

    def total(self) -> int:
        return sum(self.sent.values())


@contextlib.contextmanager
def serving(folder: Path, *, has_ranges: bool = True) -> Iterator[RangeServer]:
    """Serve a folder at a free port while the block runs."""
    state = RangeServer(folder, has_ranges=has_ranges)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_arguments) -> None:
            pass

        def do_HEAD(self) -> None:
            self._answer(with_body=False)

        def do_GET(self) -> None:
            self._answer(with_body=True)

        def _answer(self, *, with_body: bool) -> None:
            name = unquote(self.path).lstrip("/")
            path = folder / name
            if not path.is_file():
                self.send_error(404)
                return
            data = path.read_bytes()
            start, end = 0, len(data)
            wanted = self.headers.get("Range")
            is_part = bool(wanted) and state.has_ranges
            if is_part:
                first, _, last = wanted.removeprefix("bytes=").partition("-")
                start, end = int(first), min(len(data), int(last) + 1 if last else len(data))
            if with_body and end > state.fails_from.get(name, len(data)):
                self.send_error(500)
                return
            body = data[start:end]
            self.send_response(206 if is_part else 200)
            self.send_header("Content-Length", str(len(body) if with_body else state.claims.get(name, len(body))))
            if state.has_ranges:
                self.send_header("Accept-Ranges", "bytes")
            if is_part:
                self.send_header("Content-Range", f"bytes {start}-{end - 1}/{state.claims.get(name, len(data))}")
            self.end_headers()
            if with_body:
                state.sent[name] = state.sent.get(name, 0) + len(body)
                with contextlib.suppress(ConnectionError):
                    self.wfile.write(body)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    state.url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield state
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
