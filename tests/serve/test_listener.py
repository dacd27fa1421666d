import os
import signal
import socket
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dwarfgpu.serve.packets import MAX_PACKET, PacketParser, converse, escaped, framed, unescaped
from tests.builders.commands import ROOT
from tests.builders.commands import run as run_command
from tests.builders.parameters import for_each

STATE = "dwarfgpu/examples/variables.json"
CRASH = "dwarfgpu/examples/crash.core"
CODE = "fixtures/asm/lane-pc.gfx90a.w64.co"


class Server:
    """A server that is running; the address is the one that it prints."""

    def __init__(self, *words: str) -> None:
        command = [sys.executable, "-m", "dwarfgpu", "serve", *words]
        self.process = subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.lines = [self.line()]
        while self.lines[-1].strip() and "target remote" not in self.lines[-1]:
            self.lines.append(self.line())
        self.address = self.lines[-1].split()[-1] if self.lines[-1].strip() else ""

    def line(self) -> str:
        return self.process.stderr.readline()

    def connect(self) -> socket.socket:
        if self.address.startswith("/"):
            connection = socket.socket(socket.AF_UNIX)
            connection.connect(self.address)
            return connection
        return socket.create_connection(("127.0.0.1", int(self.address.rpartition(":")[2])))

    def __enter__(self):
        return self

    def __exit__(self, *_error: object) -> None:
        self.process.kill()
        self.process.wait()
        self.process.stderr.close()
        self.process.stdout.close()


def ask(connection: socket.socket, packet: bytes) -> bytes:
    connection.sendall(framed(packet))
    reader = PacketParser()
    while True:
        for answer in reader.feed(connection.recv(1 << 16)):
            return answer


def test_connections_share_the_copy_and_may_be_cut():
    with Server(STATE) as server:
        assert server.lines[0] == f"[{STATE}: 1 wave of amdgcn-gfx90a at {server.address}]\n"
        for before, after in ((b"0a000000", b"07000000"), (b"07000000", b"09000000")):
            with server.connect() as connection:
                number = next(n for n in range(40, 400) if ask(connection, b"p%x" % n)[:8] == before)
                assert ask(connection, b"P%x=%b" % (number, after + ask(connection, b"p%x" % number)[8:])) == b"OK"
            assert server.line() == "[GDB has connected]\n"
            assert server.line() == "[GDB has gone]\n"
    with Server(STATE) as server:
        with server.connect() as connection:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            connection.sendall(framed(b"g") + b"$m0,")
        with server.connect() as connection:
            assert ask(connection, b"qC") == b"QC1"


def test_a_server_ends_after_one_connection_and_with_an_interrupt():
    with Server(STATE, "--once") as server:
        with server.connect() as connection:
            assert ask(connection, b"D") == b"OK"
        assert server.process.wait(120) == 0
    with Server(STATE) as server:
        os.kill(server.process.pid, signal.SIGINT)
        assert server.process.wait(120) == 130
        assert "Traceback" not in server.process.stderr.read()


def test_a_socket_in_the_file_system_is_removed_also_by_a_signal(tmp_path):
    path = tmp_path / "waves"
    with Server(STATE, "--once", "--socket", str(path)) as server:
        assert server.address == str(path)
        with server.connect() as connection:
            assert ask(connection, b"qC") == b"QC1"
        assert server.process.wait(120) == 0
    assert not path.exists()
    path = tmp_path / "waves"
    with Server(STATE, "--socket", str(path)) as server:
        assert path.exists()
        server.process.terminate()
        assert server.process.wait(120) == 128 + signal.SIGTERM
        assert not path.exists()
        assert "Traceback" not in server.process.stderr.read()


@pytest.mark.parametrize("order", [0, 1])
def test_a_pipe_is_refused(order, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    done = run_command("serve", *([str(tmp_path / "pipe")] if not order else [STATE, str(tmp_path / "pipe")]))
    assert (done.returncode, "it is a pipe, not a regular file" in done.stderr) == (3, True)


@pytest.mark.parametrize("words", [[CRASH], [CRASH, CODE]])
def test_a_gpu_core_file_is_served_from_the_wave_that_has_crashed(words):
    with Server(*words) as server:
        assert server.lines[0] == f"[{CRASH}: 3 waves of amdgcn-gfx90a at {server.address}]\n"
        with server.connect() as connection:
            assert ask(connection, b"?").startswith(b"T0bthread:3;")
            assert ask(connection, b"qC") == b"QC3"


def test_gdb_has_frames_of_code_that_is_in_no_file(require_tool, tmp_path):
    gdb = require_tool("gdb")
    serve = f"target remote | {sys.executable} -m dwarfgpu serve {CRASH} --stdio"
    words = [
        gdb,
        "-q",
        "-nx",
        "-batch",
        "-iex",
        "set remotetimeout 120",
        "-ex",
        serve,
        "-ex",
        "bt",
        "-ex",
        "info threads",
    ]
    done = subprocess.run(
        words, cwd=ROOT, capture_output=True, text=True, env={**os.environ, "XDG_CACHE_HOME": str(tmp_path)}, check=True
    )
    assert "#0  X (" in done.stdout
    assert "* 3    Thread 3" in done.stdout
    assert "?? ()" not in done.stdout


def test_standard_input_and_output():
    words = [sys.executable, "-m", "dwarfgpu", "serve", STATE, "--stdio"]
    done = subprocess.run(words, cwd=ROOT, input=framed(b"qC") + framed(b"k"), capture_output=True, check=True)
    assert (done.stdout, done.stderr) == (b"+" + framed(b"QC1") + b"+", b"")


def test_a_kernel_is_launched():
    words = [CODE.replace("asm/lane-pc.gfx90a.w64", "containers/tiny.gfx90a"), "--launch", "tiny"]
    with Server(*words, "--grid", "256", "--work-group", "64") as server:
        assert server.lines[0].startswith("[tiny of fixtures/containers/tiny.gfx90a.co: 4 waves of amdgcn-gfx90a at :")


@for_each("words, message",
    ([STATE, "--port", "70000"], "--port is 0 to 65535, not 70000"),
    ([STATE, "--port", "1", "--socket", "x"], "--port and --socket do not go together"),
    ([STATE, "--socket", "/dev/null/x"], "no socket at /dev/null/x: Not a directory"),
    ([STATE, "--grid", "4"], "--grid is for a kernel that is launched"),
    ([CODE, "--launch", "X"], "--launch needs --grid and --work-group"),
    ([CODE, CODE, "--launch", "X"], "--launch takes one file, the code of the kernel"),
    ([STATE, "--json"], "unrecognized arguments: --json"),
    (["nowhere.json"], "nowhere.json: No such file or directory"),
    (["dwarfgpu/examples/tile.py"], "dwarfgpu/examples/tile.py"),
    ([CODE], "is not a core file"))  # fmt: skip
def test_errors_are_one_line(words, message):
    done = run_command("serve", *words)
    assert done.returncode in (1, 2, 3)
    assert message in done.stderr
    assert done.stderr.count("dwarfgpu: error:") == 1
    assert done.stdout == ""


def test_a_port_in_use_is_said():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = run_command("serve", STATE, "--port", str(port))
    assert done.returncode == 2
    assert f"127.0.0.1:{port} cannot be used: address already in use" in done.stderr
    assert "hint: choose another one" in done.stderr


class Script:
    """A stream that has received some parts, and keeps what is sent."""

    def __init__(self, *parts: bytes) -> None:
        self.parts = list(parts)
        self.sent = b""

    def receive(self) -> bytes:
        return self.parts.pop(0) if self.parts else b""

    def send(self, data: bytes) -> None:
        self.sent += data


class Echo:
    """Answers a packet by itself in brackets; ``k`` ends the connection."""

    def __init__(self) -> None:
        self.asked: list[bytes] = []

    def answers(self, packet: bytes) -> list[bytes] | None:
        self.asked.append(packet)
        return None if packet == b"k" else [b"<" + packet + b">"]


def spoken(*parts: bytes) -> tuple[bytes, list[bytes]]:
    stream, echo = Script(*parts), Echo()
    converse(stream.receive, stream.send, echo.answers)
    return stream.sent, echo.asked


def test_packets_are_acknowledged_unless_nobody_wants_it():
    assert spoken(framed(b"g"))[0] == b"+" + framed(b"<g>")
    assert spoken(*(bytes([byte]) for byte in b"+" + framed(b"qC") + framed(b"g")))[1] == [b"qC", b"g"]
    assert spoken(b"$g#00")[0] == b"-"
    assert spoken(b"$g#zz") == (b"-", [])
    answer = framed(b"<g>")
    assert spoken(framed(b"g") * 3)[0] == b"+" + answer  # GDB has sent it again meanwhile
    assert spoken(framed(b"g"), b"-", b"+")[0] == b"+" + answer + answer
    number = f"{sum(b'm12,4') & 255:02X}".encode()
    assert [*PacketParser().feed(b"$m12,4#" + number)] == [b"m12,4"]
    sent, asked = spoken(framed(b"QStartNoAckMode"), b"+" + framed(b"g") + b"$x#00")
    assert sent == b"+" + framed(b"<QStartNoAckMode>") + framed(b"<g>")
    assert asked == [b"QStartNoAckMode", b"g"]


def test_what_is_between_packets_or_has_no_end_is_skipped():
    assert spoken(b"\x03abc" + framed(b"g") + b"\x03")[1] == [b"g"]
    assert spoken(b"$m0,4$" + framed(b"g")[1:])[1] == [b"g"]
    sent, asked = spoken(*([b"$" + b"a" * MAX_PACKET] + [b"a" * MAX_PACKET] * 4 + [framed(b"g")]))
    assert asked == [b"g"]
    assert sent.startswith(b"-")
    assert spoken(b"$g")[1] == []
    assert spoken(framed(b"k") + framed(b"g")) == (b"+", [b"k"])


@given(st.binary(max_size=200))
def test_escaped_bytes_come_back(data):
    sent = escaped(data)
    assert unescaped(sent) == data
    assert not {*b"#$*"} & {*sent}


@given(st.lists(st.binary(max_size=40), max_size=20))
def test_any_bytes_make_packets_or_nothing(parts):
    reader = PacketParser()
    for part in parts:
        assert all(packet is None or isinstance(packet, bytes) for packet in reader.feed(part))


@given(st.lists(st.binary(max_size=30), max_size=8), st.integers(1, 7))
def test_packets_come_in_order_however_they_are_cut(contents, step):
    stream = b"".join(framed(escaped(content)) for content in contents)
    reader = PacketParser()
    found = [packet for at in range(0, len(stream), step) for packet in reader.feed(stream[at : at + step])]
    assert [unescaped(packet) for packet in found] == contents
