"""The exit statuses of commands, and that what goes wrong is said in lines that begin alike."""

import shlex

import pytest

from tests.builders.commands import run

ROWS = """
    0 eval --ops DW_OP_lit5
    0 --version
    0 --help
    2
    0 eval --help
    0 ops DW_OP_lit0
    0 disasm 31
    0 asm DW_OP_lit1
    0 verify --ops DW_OP_lit1
    1 eval --ops 'DW_OP_lit1; DW_OP_lit0; DW_OP_div'
    1 eval --ops DW_OP_plus
    1 eval --ops DW_OP_call_frame_cfa
    1 eval --ops DW_OP_nonsense
    1 eval --hex ff
    1 disasm ff
    1 verify --ops DW_OP_plus
    1 asm --target generic DW_OP_LLVM_undefined
    2 eval
    2 eval --ops DW_OP_lit1 --hex 31
    2 eval --hex 3
    2 eval --hex zz
    2 eval --ops DW_OP_lit5 --target amdgcn-gfx9999
    2 eval --ops DW_OP_lit5 --dialect klingon
    2 eval --ops DW_OP_lit5 --rules none
    2 eval --ops DW_OP_lit5 --lane x
    2 eval --ops DW_OP_lit5 --lane 9-3
    2 eval --ops DW_OP_lit5 --read quux
    2 eval --ops DW_OP_lit5 --json --jsonl
    2 eval --ops DW_OP_lit5 --address-size 9
    2 eval --ops DW_OP_lit5 --nonsense
    2 --nonsense
    2 nonsense
    2 ops no_such_operation
    2 verify
    2 disasm
    2 asm
    3 eval --ops DW_OP_lit5 --state /nonexistent/state.json
    3 eval --ops DW_OP_lit5 --state pyproject.toml
    3 eval --cases /nonexistent/cases.jsonl
    3 eval --cases README.md
    0 cfi fixtures/asm/cfi.gfx90a.w64.co
    0 cfi fixtures/host/frames.gcc.O2.v5.x86_64 --function leaf --pc leaf
    0 cfi fixtures/features/split.v5.dwo
    0 cfi fixtures/asm/cfi.gfx90a.w64.co --pc nothing
    1 cfi fixtures/asm/cfi.gfx90a.w64.co --pc 0x99999
    1 cfi fixtures/asm/cfi.gfx90a.w64.co --pc absent
    1 cfi fixtures/asm/cfi.gfx90a.w64.co --function absent
    1 cfi fixtures/features/split.v5.dwo --pc 0x100
    2 cfi
    2 cfi fixtures/asm/cfi.gfx90a.w64.co --cases docs/examples/cfi.jsonl
    2 cfi fixtures/asm/cfi.gfx90a.w64.co --pc +
    2 cfi fixtures/asm/cfi.gfx90a.w64.co --dialect absent
    3 cfi absent
    3 cfi --cases absent
    0 lanes fixtures/asm/lane-pc.gfx90a.w64.co --state docs/examples/lanes.json --wave 1
    0 lanes fixtures/asm/lane-pc.gfx90a.w64.co --state docs/examples/lanes.json --wave 1:1:3:1 -active
    0 waves fixtures/asm/lane-pc.gfx90a.w64.co --state docs/examples/lanes.json
    0 eval fixtures/asm/lane-pc.gfx90a.w64.co lane --state docs/examples/lanes.json --wave all
    2 lanes fixtures/asm/lane-pc.gfx90a.w64.co
    2 lanes fixtures/asm/lane-pc.gfx90a.w64.co --state docs/examples/lanes.json
    2 lanes fixtures/asm/lane-pc.gfx90a.w64.co --state docs/examples/lanes.json --wave 4
    2 lanes fixtures/asm/lane-pc.gfx90a.w64.co --state docs/examples/lanes.json --wave 1 --frame 1
    2 lanes fixtures/asm/lane-pc.gfx90a.w64.co --state docs/examples/lanes.json --wave 1 --lane 64
    2 lanes fixtures/asm/lane-pc.gfx90a.w64.co --state docs/examples/lanes.json --wave 1 --lane x
    2 lanes fixtures/asm/lane-pc.gfx90a.w64.co --state docs/examples/lanes.json --wave 1 --dialect absent
    2 eval fixtures/asm/lane-pc.gfx90a.w64.co lane --state docs/examples/lanes.json --wave all --lane 64
    2 eval fixtures/asm/lane-pc.gfx90a.w64.co 'lane +' --state docs/examples/lanes.json --wave all
    2 eval fixtures/asm/lane-pc.gfx90a.w64.co lane --state docs/examples/lanes.json --wave all --repair absent
    2 eval --ops DW_OP_lit1 --repair auto
    3 lanes absent --state docs/examples/lanes.json
    3 waves fixtures/asm/lane-pc.gfx90a.w64.co --state absent
    0 ls fixtures/containers/fatbin.x86_64
    0 info fixtures/containers/fatbin.x86_64
    0 info fixtures/containers/fatbin.x86_64@gfx90a
    0 info fixtures/containers/fatbin.x86_64@2 --pc tiny
    0 info 'file://fixtures/containers/fatbin.x86_64#offset=8192&size=5936' --name tiny
    0 kernels fixtures/containers/tiny.gfx90a.co
    0 kernels fixtures/features/stripped.v5.debug
    1 info fixtures/containers/tiny.gfx90a.co --pc 1
    1 info fixtures/containers/tiny.gfx90a.co --pc absent
    1 info fixtures/containers/tiny.gfx90a.co --name absent
    1 kernels fixtures/containers/tiny.gfx90a.co absent
    1 kernels fixtures/containers/fatbin.x86_64
    1 info fixtures/containers/hip-rdc.x86_64.o@1
    2 ls
    2 info
    2 lists
    2 info fixtures/containers/tiny.gfx90a.co --pc 0xzz
    2 info fixtures/containers/fatbin.x86_64@gfx1
    2 info fixtures/containers/fatbin.x86_64@9
    2 info fixtures/containers/fatbin.x86_64@
    2 info fixtures/containers/plain.hipfb
    2 info fixtures/containers/tiny.gfx90a.co --attributes klingon
    2 info 'memory://1#offset=0&size=1'
    3 ls README.md
    3 info README.md
    3 kernels README.md
    3 info fixtures
    3 info /nonexistent/file
    3 ls /dev/null
    3 lists --cases README.md
    3 lists --cases /nonexistent/file
"""
"""The status, and the words of the command."""


@pytest.mark.parametrize("row", ROWS.strip().splitlines(), ids=str.strip)
def test_status(row: str) -> None:
    expected, *words = shlex.split(row)
    done = run(*words)
    status = int(expected)
    assert done.returncode == status, done.stderr
    assert "Traceback" not in done.stderr
    if status in (2, 3):
        assert done.stdout == ""
    if status == 0:
        assert (done.stderr, bool(done.stdout)) == ("", True)
    elif status > 1 or words[0] != "verify":
        first, *others = done.stderr.splitlines()
        assert first.startswith("dwarfgpu: error: ")
        assert all(line.startswith(("hint: ", "dwarfgpu: error: ")) for line in others)
    if status == 1 and words[0] not in ("eval", "disasm", "verify", "asm"):
        assert done.stdout == ""
