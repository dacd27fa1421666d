"""The text of the ROCm debug agent."""

from contextlib import suppress

import pytest

from dwarfgpu.errors import DwarfGpuError, MalformedFile
from dwarfgpu.states.agent_text import is_printed, read_printed


def vector(name, values):
    return f"           {name}: " + " ".join(f"[{lane}] {value:08x}" for lane, value in enumerate(values))


def text_of(lanes=64, prefix=""):
    """A text as the agent prints it, of two waves."""
    lines = [
        "Queue error (HSA_STATUS_ERROR_EXCEPTION: An HSAIL operation resulted in a hardware exception.)",
        "--------------------------------------------------------",
        "wave_1: pc=0x7fd4f100d0e8 (kernel_code_entry=0x7fd4f100d000 <add(int*, int*)>) (stopped, reason: ASSERT_TRAP)",
        "",
        "system registers:",
        "            m0: 00000011        status: 00012461       trapsts: 20000000          mode: 000003c0",
        "         ttmp4: 00000001         ttmp5: 00000000         ttmp6: 00000003         ttmp7: 000000d5",
        "         ttmp8: 00000002         ttmp9: 00000000        ttmp10: 00000000        ttmp11: 00000001",
        "          exec: 00000000000000f1           vcc: 0000000000000000",
        "",
        "scalar registers:",
        "            s0: f520c000            s1: 00007fd5            s2: 00000000            s3: 00ea4fac",
        "",
        "vector registers:",
        vector("v0", range(lanes)),
        vector("v1", [7 * lane for lane in range(lanes)]),
        "",
        "Local memory content:",
        "    0x0000: 22222222 11111111 00000003 00000004 00000005 00000006 00000007 00000008",
        "    0x0020: 0000000a 0000000b",
        "",
        "Disassembly for function add(int*, int*):",
        "    code object: file:////build/test#offset=14309&size=31336",
        "    loaded at: [0x7fd4f100c000-0x7fd4f100e070]",
        "",
        " => 0x7fd4f100d0e8 <+232>:    s_trap 2",
        "--------------------------------------------------------",
        "wave_2: pc=0x7fd4f100d0f0 (running)",
        "            s0: 00000001",
        "End of disassembly.",
    ]
    return "\n".join(prefix + line for line in lines)


@pytest.mark.parametrize("prefix", ["", "[rank3]: ", "2026-01-01 12:00:00 stderr "])
def test_everything_that_is_printed_is_read(prefix):
    found = read_printed(text_of(prefix=prefix))
    first, second = found.waves
    assert not found.problems
    expected = ("1", 0x7FD4F100D0E8, "ASSERT_TRAP", "add(int*, int*)")
    assert (first.number, first.pc, first.reason, first.kernel) == expected
    assert (first.registers["exec"], first.registers["m0"]) == (0xF1, 0x11)
    assert first.registers["s1"] == 0x7FD5
    assert first.vectors["v1"][63] == 441
    assert first.lanes == 64
    words = [0x22222222, 0x11111111, 3, 4, 5, 6, 7, 8, 10, 11]
    assert first.local_memory == b"".join(word.to_bytes(4, "little") for word in words)
    assert first.uri == "file:////build/test#offset=14309&size=31336"
    assert first.loaded == (0x7FD4F100C000, 0x7FD4F100E070)
    assert (second.is_stopped, second.registers, second.lanes) == (False, {"s0": 1}, None)


def test_names_sizes_and_texts_that_are_refused(tmp_path):
    assert read_printed(text_of(32)).waves[0].lanes == 32
    found = read_printed(text_of() + "\n" + text_of())
    assert [wave.number for wave in found.waves] == ["1", "2", "1.2", "2.2"]
    assert not is_printed(b"wave_1 is stopped")
    with pytest.raises(MalformedFile, match="no waves of the ROCm debug agent"):
        read_printed("nothing")


def test_texts_that_are_cut_off_are_read_or_refused():
    whole = text_of()
    found = read_printed(whole[: whole.index("[40] 00000118")])
    assert "v1" not in found.waves[0].vectors
    assert any("v1 is cut off" in str(problem) for problem in found.problems)
    found = read_printed(whole.replace("[5] 00000023", "[6] 00000023"))
    assert any("lane 6 after lane 4" in str(problem) for problem in found.problems)
    for end in range(0, len(whole), 37):
        with suppress(DwarfGpuError):
            read_printed(whole[:end] + "\n" + whole[end // 2 :])
