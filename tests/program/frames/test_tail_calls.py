"""Frames of functions whose last act was a call: those that GDB shows, and those of a newer attribute."""

import json
import re
import subprocess
from pathlib import Path

import pytest

from tests.questions.harness import Run

SOURCE = Path(__file__).parents[1] / "corpus" / "tail_calls.c"
FRAMES = ["last begin", "last one", "last", "last", "last one unknown", "last loop_b loop_a", "last"]
"""The functions inside of main for one argument, two, ...: those that every possible way has at its ends.

The second function of the first case may be two; the third can have called itself; the fourth calls through a pointer.
"""


@pytest.fixture(scope="module", params=["gcc", "clang-22"])
def stopped(request, tmp_path_factory, require_tool) -> tuple[str, Path, list[str]]:
    """The compiler, the program and GDB's backtraces; a core file for each of them is beside it."""
    folder = tmp_path_factory.mktemp(request.param)
    command = [require_tool(request.param), "-g", "-gdwarf-5", "-O2", "-no-pie", "-o", str(folder / "a"), str(SOURCE)]
    subprocess.run(command, check=True)
    words = [require_tool("gdb"), "-nx", "-batch", "-iex", "set debuginfod enabled off", "-ex", "set width 0"]
    for count in range(len(FRAMES)):
        run = ("run" + " x" * count, "echo @@", "bt", "echo @@", f"generate-core-file {folder / f'core{count}'}")
        words += [word for line in run for word in ("-ex", line)]
    done = subprocess.run([*words, str(folder / "a")], check=True, capture_output=True, text=True)
    return request.param, folder, done.stdout.split("@@")[1::2]


def frames_of(text: str) -> list[tuple[int, str]]:
    """The address and the function of each frame, from the innermost one to main."""
    found = re.findall(r"(?m)^#\d+ +(?:0x(\w+) in )?(\w+) \(", text.partition(" main (")[0])
    return [(int(address or "0", 16), name) for address, name in found]


@pytest.mark.slow
def test_frames_of_tail_calls(stopped):
    compiler, folder, theirs = stopped
    for count, expected in enumerate(FRAMES):
        ours = frames_of(Run(folder / "a", folder / f"core{count}", width=1000)("bt"))
        if compiler == "gcc" or count in (1, 4):  # clang makes conditional jumps and loops of the others
            assert " ".join(name for _address, name in ours) == expected
        if compiler == "gcc":  # clang writes DW_AT_call_pc, of which GDB 13 makes nothing
            assert ours == frames_of(theirs[count])


@pytest.mark.slow
@pytest.mark.parametrize("stopped", ["gcc"], indirect=True)
def test_what_is_known_of_such_a_frame(stopped):
    """Parameters come through the calls, registers are those of the caller, and JSON says what the frame is."""
    _compiler, folder, _theirs = stopped
    run = Run(folder / "a", folder / "core4", width=1000)
    assert [run(f"frame {number}").split("(")[1].split(")")[0] for number in range(3)] == ["x=6", "x=5", "x=5"]
    text = run("frame 1", "info frame")
    assert " tail call frame, caller of frame at " in text
    address = re.search(r"(?m)^#3 +0x(\w+) in main ", run("bt"))
    assert address is not None
    assert f"saved rip = 0x{address[1]}" in text
    registers = [run(f"frame {number}", "info registers rsp rbx r12").partition("rbx")[2] for number in (1, 3)]
    assert registers[0] == registers[1]
    frames = json.loads(run("bt --json"))["stacks"][0]["frames"]
    assert [frame.get("tail_call", False) for frame in frames[:4]] == [False, True, True, False]
