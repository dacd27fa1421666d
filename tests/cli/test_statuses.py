"""The exit statuses of commands, and that what goes wrong is said in lines that begin alike."""

import shlex
from pathlib import Path

import pytest

from tests.builders import frozen
from tests.builders.commands import run
from tests.builders.folders import ROOT
from tests.builders.parameters import for_each

ANSWERED = """
    eval --ops DW_OP_lit5
    --version
    --help
    eval --help
    ops DW_OP_lit0
    disasm 31
    asm DW_OP_lit1
    verify --ops DW_OP_lit1
    cfi fixtures/asm/cfi.gfx90a.w64.co
    cfi fixtures/host/frames.gcc.O2.v5.x86_64 --function leaf --pc leaf
    cfi fixtures/features/split.v5.dwo
    cfi fixtures/asm/cfi.gfx90a.w64.co --pc nothing
    lanes fixtures/asm/lane-pc.gfx90a.w64.co --state dwarfgpu/examples/lanes.json --wave 1
    lanes fixtures/asm/lane-pc.gfx90a.w64.co --state dwarfgpu/examples/lanes.json --wave 1:1:3:1 -active
    waves fixtures/asm/lane-pc.gfx90a.w64.co --state dwarfgpu/examples/lanes.json
    eval fixtures/asm/lane-pc.gfx90a.w64.co lane --state dwarfgpu/examples/lanes.json --wave all
    ls fixtures/containers/fatbin.x86_64
    info fixtures/containers/fatbin.x86_64
    info fixtures/containers/fatbin.x86_64@gfx90a
    info fixtures/containers/fatbin.x86_64@2 --pc tiny
    info 'file://fixtures/containers/fatbin.x86_64#offset=8192&size=5936' --name tiny
    kernels fixtures/containers/tiny.gfx90a.co
    kernels fixtures/features/stripped.v5.debug
    dump $HIP --name gravity --tag variable
    dump $HIP --die 0x2d --depth 0
    dump $HIP --pc _Z9divergentPii+0x10
    dump $HIP --section line --pc 0x1c00
    coverage $PLAIN --fail-below 50
"""
"""Words of commands that answer with the status 0; tests/golden/answers/statuses.txt has those of other statuses."""
NAMES = {
    "SIZES": "--grid 64 --work-group 64",
    "HIP": "fixtures/amdgpu/hip-kernels.gfx1100.w32.O2.v5.co",
    "PLAIN": "fixtures/amdgpu/cl-kernels.gfx1100.w32.O0.v5.co",
    "LANES": "fixtures/asm/lane-pc.gfx90a.w64.co"}  # fmt: skip


def words_of(line: str, **names: str) -> list[str]:
    for name, text in (NAMES | names).items():
        line = line.replace(f"${name}", text)
    return shlex.split(line)


@pytest.mark.parametrize("line", ANSWERED.strip().splitlines(), ids=str.strip)
def test_an_answer_is_no_error(line: str) -> None:
    done = run(*words_of(line))
    assert (done.returncode, done.stderr, bool(done.stdout)) == (0, "", True)


@for_each("words, message",
    ((), ""), (("nonsense",), "there is no command 'nonsense'"),
    (("fleet", "nosuch", "x"), "'nosuch' is not a question about a file"))  # fmt: skip
def test_commands_that_there_are_not(words: tuple[str, ...], message: str) -> None:
    done = run(*words)
    assert (done.returncode, done.stdout, message in done.stderr) == (2, "", True)


@pytest.mark.parametrize("name", frozen.names())
def test_errors_are_lines_that_begin_alike(name: str) -> None:
    """Where a command has answered nothing; `debug`, `judge` and `memmodel check` may have answered before."""
    for question in frozen.questions(name):
        kind, command, *_words = [*question.command.split(), ""]
        if kind in ("dwarfgpu", "checkout") and command not in ("debug", "judge", "memmodel"):
            lines = question.answer.splitlines()[1 + len(question.typed) :]
            if lines[-2] in ("= 2", "= 3"):
                assert lines[0].startswith("dwarfgpu: error: "), question.command
                assert all(line.startswith(("hint: ", "dwarfgpu: error: ")) for line in lines[1:-2]), question.command


OF_FILES = """
    info FILE | ls FILE | kernels FILE | verify FILE | cfi FILE | dump FILE | coverage FILE | report FILE | core FILE
    memmodel check FILE | judge FILE | judge FILE saxpy $SIZES 'zeros(64)' 'ones(64)' 2 60
    run FILE saxpy $SIZES 'zeros(64)' 'ones(64)' 2 60 | run FILE saxpy $SIZES 'zeros(64)' 'ones(64)' 2 60 --seeds 2
    state FILE saxpy $SIZES | debug FILE -batch -ex 'info functions' | debug FILE saxpy $SIZES -batch
    bt FILE $IN_STATE | eval FILE lane $IN_STATE | lanes FILE $IN_STATE | fault $LOOKED FILE
    waves FILE --state $LOOKED | bt $LANES --state FILE | eval $LANES lane --state FILE
    debug $LANES --state FILE -batch | snapshot check FILE
"""
CUT = {"nowhere": 0, "header": 40, "sections": 3000, "symbols": -100}
"""Of a code object, what is left."""


@pytest.mark.parametrize("what", [*CUT, "empty", "text"])
@pytest.mark.sampled(6)
def test_every_command_says_that_a_file_cannot_be_read(tmp_path: Path, what: str) -> None:
    file = tmp_path / "k.co"
    if what != "nowhere":
        whole = (ROOT / NAMES["PLAIN"]).read_bytes()
        file.write_bytes({"empty": b"", "text": b"not a program\n"}.get(what) or whole[: CUT.get(what, 0)])
    state = "dwarfgpu/examples/lanes.json"
    rows = [row.strip() for row in OF_FILES.replace("\n", " | ").split(" | ")]
    for line in filter(None, rows):
        done = run(*words_of(line.replace("FILE", str(file)), IN_STATE=f"--state {state} --wave 1", LOOKED=state))
        assert (done.returncode, "Traceback" in done.stderr) == (3, False), (line, done.stdout[-300:], done.stderr)
        assert done.stderr.startswith("dwarfgpu: error: ") or "truncated" in done.stdout, line


@pytest.mark.parametrize("name", ["f" * 5000, "f" * 5000 + ".cl@gfx90a", "f\0"])
def test_a_name_that_no_file_can_have_is_one_error(name):
    code = "fixtures/amdgpu/cl-kernels.gfx90a.w64.O2.v5.co"
    for words in (("coverage", code, name), ("run", name, "k"), ("info", name)):
        done = run(*words)
        assert (done.returncode in (1, 2, 3), "internal error" in done.stderr) == (True, False), words
