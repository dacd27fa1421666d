"""The note of GPU core files."""

import struct

import pytest

from dwarfgpu.errors import MalformedFile
from dwarfgpu.machines.gpu_core.note import (
    AgentEntry,
    CoreState,
    QueueEntry,
    elf_note,
    exceptions_in,
    read_note,
    target_version,
    write_note,
)

STATE = CoreState(
    (AgentEntry(gpu_id=7, gfx_target_version=90402, array_count=16, simd_arrays_per_engine=2, num_xcc=8),),
    (QueueEntry(queue_id=3, gpu_id=7, save_area=0x7000, ring_base=0x8000), QueueEntry(gpu_id=7, queue_type=1)),
    0x1234_5678,
)


@pytest.mark.parametrize("sizes", [(120, 64), (128, 64), (136, 72), (96, 56)])
def test_entries_are_read_as_far_as_they_are(sizes):
    state = read_note(write_note(STATE, agent_size=sizes[0], queue_size=sizes[1]))
    assert (state.r_debug, state.ioctl, state.ttmp_setup) == (0x1234_5678, (1, 18), True)
    assert (state.agents[0].gpu_id, state.agents[0].processor) == (7, "gfx942")
    assert [queue.save_area for queue in state.queues] == [0x7000, 0]
    assert [queue.kind for queue in state.queues] == ["compute (AQL)", "SDMA"]
    if sizes[0] >= 120:
        assert (state.agents[0].engines, state.agents[0].xccs) == (8, 8)


def test_fields_are_where_the_kernel_has_them():
    data = write_note(STATE)
    assert struct.unpack_from("<QIIQIIII", data) == (1, 1, 18, 16, 1, 120, 2, 64)
    assert struct.unpack_from("<QII", data, 40) == (0x1234_5678, 1, 1)
    agent = data[56:176]
    assert struct.unpack_from("<I", agent, 56) == (7,)
    assert struct.unpack_from("<6I", agent, 88) == (90402, 0, 0, 16, 2, 8)
    queue = data[176:240]
    assert struct.unpack_from("<2Q", queue, 0)[1] == 0x8000
    assert struct.unpack_from("<QII", queue, 32) == (0x7000, 3, 7)
    assert struct.unpack_from("<I", queue, 52) == (2,)


def test_the_owner_exceptions_and_engines_of_a_note():
    note = elf_note(write_note(STATE))
    assert note[:12] == struct.pack("<III", 7, 40 + 16 + 120 + 128, 33)
    assert note[12:20] == b"AMDGPU\0\0"
    assert len(note) == 20 + 304
    assert exceptions_in(1 << 4 | 1 << 32) == ["wave memory violation", "memory violation"]
    assert exceptions_in(1 << 63) == ["code 64"]
    agent = AgentEntry(num_xcc=0)
    assert (agent.engines, agent.xccs) == (1, 1)


@pytest.mark.parametrize(
    "data, text",
    [
        (b"", "has 0 bytes"),
        (write_note(STATE)[:100], "do not fit its 100 bytes"),
        (struct.pack("<Q", 2) + write_note(STATE)[8:], "has the version 2"),
        (write_note(STATE, agent_size=0), "agents of 0 bytes"),
        (write_note(STATE, queue_size=0), "queues of 0 bytes"),
        (write_note(STATE)[:24] + b"\xff\xff\xff\xff" + write_note(STATE)[28:], "do not fit"),
        (write_note(STATE)[:16] + b"\xff" * 8 + write_note(STATE)[24:], "do not fit"),
    ],
)
def test_a_note_that_cannot_be_read_says_why(data, text):
    with pytest.raises(MalformedFile, match=text):
        read_note(data)


def test_processors_are_named_with_a_stepping_in_hexadecimal():
    for version, name in (
        (90010, "gfx90a"),
        (90402, "gfx942"),
        (100300, "gfx1030"),
        (110501, "gfx1151"),
        (120500, "gfx1250"),
    ):
        assert AgentEntry(gfx_target_version=version).processor == name
        assert target_version(name) == version
