import gzip
import inspect
import io
import pydoc
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile

import dwarfgpu as dg
from dwarfgpu.elftools import Bridge
from dwarfgpu.execution.launch.launch import Launched
from tests.builders.errors import raised

FILE = "fixtures/asm/lane-pc.gfx90a.w64.co"
STATE = "dwarfgpu/examples/variables.json"
DATA = Path(FILE).read_bytes()


def at_an_end(stream):
    stream.seek(0, io.SEEK_END)
    return stream


STREAMS = {
    "a file": lambda _path: Path(FILE).open("rb"),  # noqa: SIM115 (the test closes it)
    "bytes in memory": lambda _path: io.BytesIO(DATA),
    "one that has been read": lambda _path: at_an_end(io.BytesIO(DATA)),
    "a compressed file": lambda path: gzip.open(zipped(path)),  # noqa: SIM115
    "bytes": lambda _path: DATA}  # fmt: skip


def zipped(path):
    name = path / "code.gz"
    name.write_bytes(gzip.compress(DATA))
    return name


@pytest.mark.parametrize("kind", STREAMS)
def test_open_takes_a_stream_of_bytes(kind, tmp_path):
    stream = STREAMS[kind](tmp_path)
    program = dg.open(stream)
    assert [frame.name for frame in program.at(0x1548)] == ["X"]
    assert program.attach(STATE)[0].frame(0)["even"].value(4) == 18
    if hasattr(stream, "close"):
        stream.close()


def test_a_stream_that_gives_no_bytes_is_refused(tmp_path):
    closed = io.BytesIO(DATA)
    closed.close()
    assert "cannot be read: I/O operation on closed file" in str(raised(dg.UsageError, dg.open, closed))
    with pytest.raises(dg.UsageError, match="gives text, and code is bytes") as refused, Path(STATE).open() as text:
        dg.open(text)
    assert refused.value.hint == "open it with the mode 'rb'"
    with pytest.raises(dg.UsageError, match="<bytes>: it holds several code objects"):
        dg.open(io.BytesIO(Path("fixtures/containers/zlib-v3.ccob").read_bytes()))
    assert "not int" in str(raised(TypeError, dg.open, 3))


def test_a_program_and_a_state_are_closed_by_with():
    with dg.open(FILE) as program, program.attach(STATE) as stopped:
        frame = stopped[0].frame(0)
        values = frame["even"].values()
    assert values[4] == 18
    assert frame["even"].value(4) == 18  # what was taken from it stays
    for closed in (program, stopped):
        assert repr(closed).startswith("closed ")
        closed.close()  # again
        with pytest.raises(dg.UsageError, match="is closed"):
            closed[0]
    assert "is closed" in str(raised(dg.UsageError, program.at, 0x1548))
    assert "is closed" in str(raised(dg.UsageError, len, stopped))


def test_help_begins_with_open_and_an_example():
    assert any("dwarfgpu.open(" in line for line in pydoc.plain(pydoc.render_doc(dg)).splitlines()[:12])
    assert dg.__all__[0] == "open"
    assert len(set(dg.__all__)) == len(dg.__all__)
    assert all(hasattr(dg, name) for name in dg.__all__)


def test_buffers_are_typed():
    assert inspect.get_annotations(Launched.buffers.fget)["return"] == "Mapping[str | int, Array]"


def test_each_of_the_frame_entries_has_a_text():
    data = bytearray(Path("fixtures/asm/cfi.gfx90a.w64.co").read_bytes())
    data[ELFFile(io.BytesIO(data)).get_section_by_name(".debug_frame")["sh_offset"] + 8] = 99  # the version of the CIE
    bridge = Bridge(ELFFile(io.BytesIO(data)))
    broken = bridge.frame_entries()[0]
    assert isinstance(broken, dg.IllFormed)
    assert next(bridge.frame_text(entry) for entry in bridge.frame_entries()) == f"error: {broken}"
