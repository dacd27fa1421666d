"""Inputs of `fleet` that lie: servers, manifests, lists and archives.

A server sends wrong sizes, ranges, statuses and bytes; manifests of snapshots name other files than they have; lists
hold anything. Each input must end with rows, where what is wrong is a row, or with a DwarfGpuError.
"""

from __future__ import annotations

import json
import threading
import zipfile
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

from dwarfgpu.fleet.answers import make_question, rows_of
from dwarfgpu.fleet.inputs import fetched, find_inputs
from fuzz.frame import Asking, Chance, Drive, Setting, Steps
from tests.builders.many_states import CODE, snapshot_text

if TYPE_CHECKING:
    import random

SIZES = (0, 1, 63, 64, 65_535, 1 << 20, 1 << 31, 1 << 40, (1 << 40) + 1, 1 << 60, 1 << 63, 1 << 64, -1)
NAMES = (
    *("../k.co", "/etc/passwd", "k.co", "../../../../etc/passwd", "http://127.0.0.1:1/k.co", "s.json"),
    *("", "\0", "a" * 5000),
)
QUESTIONS = (("info",), ("eval", "even"), ("bt",), ("verify",), ("locals",))


class Lies:
    """What the server does with the next requests."""

    def __init__(self, numbers: random.Random | None = None) -> None:
        self.numbers = numbers
        self.files: dict[str, bytes] = {}

    def answer(self, name: str, wanted: str | None) -> tuple[int, dict[str, str], bytes]:
        """Return status, headers and body of an answer, which may be wrong."""
        numbers = self.numbers
        data = self.files.get(name)
        if data is None or numbers is None:
            return 404, {"Content-Length": "0"}, b""
        start, end = 0, len(data)
        if wanted is not None:
            first, _, last = wanted.removeprefix("bytes=").partition("-")
            start, end = int(first), min(end, int(last or end) + 1)
        body, total, status = data[start:end], len(data), 206 if wanted else 200
        size = len(body)
        kind = numbers.random()
        if kind < 0.15:
            size = numbers.choice(SIZES)
        elif kind < 0.3:
            total = numbers.choice(SIZES)
        elif kind < 0.4:
            status = numbers.choice((200, 204, 206, 301, 403, 404, 416, 500, 503))
        elif kind < 0.5:
            body = body[: numbers.randrange(len(body) + 1)]
        elif kind < 0.6 and body:
            changed = bytearray(body)
            changed[numbers.randrange(len(body))] = numbers.randrange(256)
            body = bytes(changed)
        headers = {"Content-Length": str(size), "Accept-Ranges": "bytes", "Location": "/" + numbers.choice(NAMES[:6])}
        if status == 206:
            headers["Content-Range"] = f"bytes {start}-{end - 1}/{total}"
        return status, headers, body


def _server(lies: Lies) -> str:
    """Serve on this machine as long as the process runs; return the address."""

    class Handler(BaseHTTPRequestHandler):
        timeout = 1

        def log_message(self, *_: Any) -> None:
            pass

        def do_HEAD(self) -> None:
            self.do_GET()

        def do_GET(self) -> None:
            status, headers, body = lies.answer(self.path.lstrip("/"), self.headers.get("Range"))
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            with suppress(ConnectionError):
                self.wfile.write(b"" if self.command == "HEAD" else body)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_address[1]}"


def _snapshot(numbers: random.Random) -> bytes:
    """Return a snapshot that names some code."""
    text = json.loads(snapshot_text(11, code="k.co"))
    text["code_objects"][0].pop("sha256", None)
    if numbers.random() < 0.5:
        text["code_objects"][0]["path"] = numbers.choice((*NAMES, 5, None, ["k.co"]))
    return json.dumps(text).encode()


def _manifest(numbers: random.Random) -> bytes:
    """Return the manifest of a snapshot in a folder, whose arrays are what they are."""
    arrays: list[Any] = [f"{numbers.choice(('pc', 'vgpr', 'memory'))}{index}.npy" for index in range(3)]
    arrays += numbers.choices((*NAMES, "../up.npy", "x/y.npy", 7, None), k=2)
    text: dict[str, Any] = {"schema": 1, "code_objects": [{"path": numbers.choice(NAMES)}], "arrays": arrays}
    text |= {"waves": numbers.choice(([], {"pc": "pc0.npy"}, "pc0.npy", 5)), "target": "amdgcn-amd-amdhsa--gfx90a"}
    data = json.dumps(text).encode()
    return data if numbers.random() < 0.8 else data[: numbers.randrange(len(data))]


def _list(numbers: random.Random, url: str) -> str:
    """Return a list of inputs."""
    cells = (*NAMES[:3], f"{url}/k.co", f"{url}/s.json", "code", "state", "#", '"', "\t", str(CODE))
    return "\n".join(",".join(numbers.choices(cells, k=numbers.randrange(4))) for _ in range(numbers.randrange(6)))


def begin(setting: Setting) -> Steps:
    lies = Lies()
    url = _server(lies)
    code = CODE.read_bytes()
    folder = setting.folder

    def steps(chance: Chance) -> Asking:
        lies.numbers = chance
        lies.files = {"k.co": code, "s.json": _snapshot(chance), "s.dgs/manifest.json": _manifest(chance)}
        lies.files |= {f"s.dgs/{name}{index}.npy": code[:200] for name in ("pc", "vgpr") for index in range(3)}
        (folder / "list.csv").write_text(_list(chance, url))
        with zipfile.ZipFile(folder / "a.zip", "w") as archive:
            archive.writestr("k.co", code[: chance.randrange(len(code))])
        data = bytearray((folder / "a.zip").read_bytes())
        data[chance.randrange(len(data))] = chance.randrange(256)
        (folder / "a.zip").write_bytes(data)
        words = (f"{url}/k.co", f"{url}/k.co@gfx90a", f"{url}/s.json", f"{url}/s.dgs", str(folder / "list.csv"))
        archived, other = f"zip://k.co::file://{folder}/a.zip", f"{url}/{chance.choice(NAMES[:6])}"
        word = chance.choice((*words, archived, f"{url}/", other))
        question, *operands = chance.choice(QUESTIONS)
        chance.about = word
        yield question
        for item in find_inputs([word]):
            with fetched(item) as here:
                for row in rows_of(make_question(question, *operands), here):
                    assert row["state"], row
        return "answered"

    return steps


DRIVE = Drive(begin)
