"""The exit statuses of commands, and that what goes wrong is said in lines that begin alike."""

import shlex
from pathlib import Path

import pytest

from tests.builders.commands import run
from tests.builders.folders import ROOT

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
    0 cfi fixtures/asm/cfi.gfx90a.w64.co
    0 cfi fixtures/host/frames.gcc.O2.v5.x86_64 --function leaf --pc leaf
    0 cfi fixtures/features/split.v5.dwo
    0 cfi fixtures/asm/cfi.gfx90a.w64.co --pc nothing
    1 cfi fixtures/asm/cfi.gfx90a.w64.co --pc 0x99999
    1 cfi fixtures/asm/cfi.gfx90a.w64.co --pc absent
    1 cfi fixtures/asm/cfi.gfx90a.w64.co --function absent
    1 cfi fixtures/features/split.v5.dwo --pc 0x100
    2 cfi
    2 cfi fixtures/asm/cfi.gfx90a.w64.co --pc +
    2 cfi fixtures/asm/cfi.gfx90a.w64.co --dialect absent
    3 cfi absent
    0 lanes fixtures/asm/lane-pc.gfx90a.w64.co --state dwarfgpu/examples/lanes.json --wave 1
    0 lanes fixtures/asm/lane-pc.gfx90a.w64.co --state dwarfgpu/examples/lanes.json --wave 1:1:3:1 -active
    0 waves fixtures/asm/lane-pc.gfx90a.w64.co --state dwarfgpu/examples/lanes.json
    0 eval fixtures/asm/lane-pc.gfx90a.w64.co lane --state dwarfgpu/examples/lanes.json --wave all
    2 lanes fixtures/asm/lane-pc.gfx90a.w64.co
    2 lanes fixtures/asm/lane-pc.gfx90a.w64.co --state dwarfgpu/examples/lanes.json
    2 lanes fixtures/asm/lane-pc.gfx90a.w64.co --state dwarfgpu/examples/lanes.json --wave 4
    2 lanes fixtures/asm/lane-pc.gfx90a.w64.co --state dwarfgpu/examples/lanes.json --wave 1 --frame 1
    2 lanes fixtures/asm/lane-pc.gfx90a.w64.co --state dwarfgpu/examples/lanes.json --wave 1 --lane 64
    2 lanes fixtures/asm/lane-pc.gfx90a.w64.co --state dwarfgpu/examples/lanes.json --wave 1 --lane x
    2 lanes fixtures/asm/lane-pc.gfx90a.w64.co --state dwarfgpu/examples/lanes.json --wave 1 --dialect absent
    2 eval fixtures/asm/lane-pc.gfx90a.w64.co lane --state dwarfgpu/examples/lanes.json --wave all --lane 64
    2 eval fixtures/asm/lane-pc.gfx90a.w64.co 'lane +' --state dwarfgpu/examples/lanes.json --wave all
    2 eval fixtures/asm/lane-pc.gfx90a.w64.co lane --state dwarfgpu/examples/lanes.json --wave all --repair absent
    2 eval --ops DW_OP_lit1 --repair auto
    3 lanes absent --state dwarfgpu/examples/lanes.json
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
    2 kernels fixtures/containers/fatbin.x86_64
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
    2 $STATE group_x --grid 64 | group_x can have work-groups of several sizes
    2 $STATE group_x --grid a --work-group 1 | the grid 'a' is not a number
    2 $STATE group_x --grid 1,,2 --work-group 1 | the grid '' is not a number
    2 $STATE group_x --grid 1,1,1,1 --work-group 1 | a grid has 1 to 3 dimensions, not 4
    2 $STATE group_x --grid $MANY --work-group 1 | is not a number
    2 run fixtures/containers/fatbin.x86_64 tiny --grid 1 --work-group 1 | it is not a code object with
    2 $STATE group_x --grid 0 --work-group 1 | the grid size x = 0 does not fit
    2 $STATE group_x $SIZES --wave 2 | Unknown wave 2.
    2 $STATE group_x $SIZES --arg one | --arg 'one' is not a value
    2 $STATE group_x $SIZES --arg bytes:1 | --arg 'bytes:1' is not a value
    2 $STATE group_x $SIZES --dynamic-local 99999 | 99999 bytes of local memory
    2 $STATE scratch $SIZES --private-size 1 | 1 bytes of private memory are not possible
    1 $STATE nobody $SIZES | has no kernel 'nobody'
    1 hsa queue 0x10 --state dwarfgpu/examples/launch.json | 256 bytes of memory at global#0x10 are not available
    2 hsa queue -1 --state dwarfgpu/examples/launch.json | amd_queue_t at -0x1 is not in the address space
    2 hsa queue 0xffffffffffffff01 --state dwarfgpu/examples/launch.json | is not in the address space
    2 hsa queue 0x10000000000000000 --state dwarfgpu/examples/launch.json | is not in the address space
    2 hsa queue 'local#0x10' --state dwarfgpu/examples/launch.json | ADDR 'local#0x10' is not a number
    2 hsa barrier 0x10 --state dwarfgpu/examples/launch.json | not 'barrier'
    2 hsa queue 0x10 | the following arguments are required: --state
    3 hsa queue 0x10 --state dwarfgpu/examples/samples.json | is not a snapshot
    3 hsa queue 0x10 --state nowhere.json | nowhere.json
    2 $RUN | no value for out of group_x
    2 $RUN 'out=zeroes(4)' | argument 'zeroes(4)' is not a value
    2 $RUN oot=5 | group_x has no argument 'oot'
    2 $RUN $BUFFER --save out | --save 'out' names no file
    2 $RUN $BUFFER --save in=x.npy | group_x has no buffer 'in'
    2 $RUN $BUFFER --print oot | group_x has no buffer 'oot'
    2 $RUN $BUFFER --if x | --if needs --break
    2 $RUN $BUFFER --break nowhere | Function "nowhere" not defined
    2 $RUN $BUFFER --state fixtures/amdgpu/launch.gfx1100.w32.O2.co | fixtures/amdgpu/launch.gfx1100.w32.O2.co exists
    2 $RUN $BUFFER --trace --json | a trace is not a single document
    2 $RUN $BUFFER --trace=all | -trace is one of instructions, lines, not 'all'
    2 $RUN $BUFFER --wave 99 --trace | there is no wave 99
    2 $RUN $BUFFER --wave 0 --trace | there is no wave 0
    2 $RUN $BUFFER --seed -1 | the seed -1 is negative
    2 $RUN $BUFFER --at-once 0 | 0 waves at a time
    2 $RUN $BUFFER --limit x | -limit takes a number
    3 $RUN out=@/nowhere/in.npy | /nowhere/in.npy: No such file or directory
    2 $RUN $BUFFER --save out=/nowhere/out.npy | /nowhere/out.npy cannot be written
    2 eval $STOPPED --ops DW_OP_lit1 | the state has 2 waves, and none is chosen
    2 eval $STOPPED --wave 3 --ops DW_OP_lit1 | Unknown wave 3.
    2 eval $STOPPED --wave x --ops DW_OP_lit1 | Unknown wave x.
    2 eval $STOPPED --wave 1 --lane 64 --ops DW_OP_lit1 | no lane 64
    2 eval $STOPPED --wave 1 --lane 0,64 --ops DW_OP_lit1 | no lane 64
    2 eval $STOPPED --wave 1 --target gfx90a --ops DW_OP_lit1 | the target is that of the snapshot
    1 eval $STOPPED --wave 2 --read 4 --ops 'DW_OP_regx s0' | register s0 are not available
    1 eval $STOPPED --wave 1 --ops DW_OP_call_frame_cfa | missing frame
    1 eval $STOPPED --wave 1 --ops 'DW_OP_regx 999999; DW_OP_deref' | no register
    2 bt $CALLS | --state
    2 bt $CALLS --state dwarfgpu/examples/calls.json --wave 10 | No waves match '10'.
    2 bt $CALLS --state dwarfgpu/examples/calls.json --lane 32 | Lane 32 does not exist on this thread.
    3 bt $CALLS --state nothing.json | nothing.json
    3 bt nothing.co --state dwarfgpu/examples/calls.json | nothing.co
    3 bt $CALLS --state dwarfgpu/examples/samples.json | is not a snapshot
    3 bt $CALLS --state fixtures/host/frames.gcc.O2.v5.x86_64 | not a core file
    2 bt fixtures/asm/cfi.gfx90a.w64.o --state dwarfgpu/examples/calls.json | not linked
    2 bt $CALLS --state dwarfgpu/examples/calls.json --dialect none | none
    0 dump $HIP --name gravity --tag variable
    0 dump $HIP --die 0x2d --depth 0
    0 dump $HIP --pc _Z9divergentPii+0x10
    0 dump $HIP --section line --pc 0x1c00
    1 dump $HIP --name nothing | no entry that is called nothing
    1 dump $HIP --die 0x2e | hint: the entry around it begins at 0x2d
    1 dump $HIP --die 0xfffff | has no unit at .debug_info+0xfffff
    1 dump $HIP --pc 1 | no function has code at 0x1
    1 dump $HIP --pc nothing | has no symbol 'nothing'
    1 dump $HIP --section aranges | hint: there are .debug_loclists
    1 dump $HIP --section abbrev | llvm-readelf and llvm-dwarfdump print the other sections
    1 dump $HIP --section line --pc 1 | has nothing at 0x1
    2 dump $HIP --tag variabel | hint: did you mean variable
    2 dump $HIP --die one | is not the offset of an entry
    2 dump $HIP --depth -1 | from 0 on
    2 dump $HIP --depth many | -depth takes a number
    2 dump $HIP --section line --name gravity | .debug_line has no entries
    2 dump $HIP --section rnglists --pc 0x1c00 | .debug_rnglists cannot be searched for an address
    2 dump $HIP --dialect klingon | hint: the dialects are dwarf5
    2 dump $HIP --attributes klingon | there is no attribute dialect klingon
    1 coverage $FAST nothing | no function `nothing` with variables has code in
    1 coverage $FAST --variable nothing | there is no variable `nothing` in
    1 coverage $FAST polynomial --variable nothing | there is no variable `nothing` in `polynomial`
    2 coverage $FAST --worst 0 | --worst is a number from 1 on
    2 coverage $FAST --compare $FAST | `coverage --compare` is gone
    2 coverage $FAST f --function f | a function is named twice
    2 demo --json | unrecognized arguments: --json
    2 completion bash --jsonl | unrecognized arguments: --jsonl
    2 run $FAST saxpy --budget 4 | unrecognized arguments: --budget
    2 report $FAST -O2 | -O means nothing for
    2 judge $FAST -I include | -I means nothing for
    2 coverage $FAST --statistics | `coverage --statistics` is gone
    2 coverage fixtures/asm/cfi.gfx90a.w64.co | has no debugging information
    2 dump fixtures/asm/cfi.gfx90a.w64.co | it has no .debug_info
    2 state fixtures/containers/fatbin.x86_64 tiny --grid 1 --work-group 1 | it is not a code object with
    2 judge fixtures/containers/fatbin.x86_64 tiny | has no debugging information
    2 debug fixtures/containers/fatbin.x86_64 tiny --grid 1 --work-group 1 -batch | it is not a code object with
    2 coverage fixtures/containers/fatbin.x86_64 | has no debugging information
    2 dump fixtures/containers/fatbin.x86_64 | it has no .debug_info
    2 memmodel look | does table, show or check, not 'look'
    2 memmodel table | needs --target
    1 memmodel table --target gfx1250 | there is no memory model for gfx1250
    2 memmodel table --target gfx12OO | there is no processor 'gfx12OO'
    2 memmodel table --target gfx900 --mode wgp | GFX9 has no execution mode 'wgp'
    2 memmodel table --target gfx900 stores | no cell of the table matches 'stores'
    2 memmodel table --target gfx900 --jobs 2 | --jobs does not go with `memmodel table`
    1 memmodel show fixtures/host/optimized.gcc.O2.v5.x86_64 | has no code of an AMD GPU
    2 memmodel show $ORDERING fixtures/amdgpu/ordering.gfx1100.w32.O2.co | is about one file, not 2
    1 memmodel show $ORDERING --function nothing | there is no function 'nothing'
    1 memmodel show $ORDERING --pc 0x2 | no instruction of a function begins at 0x2
    2 memmodel show | no file is open
    2 memmodel check $ORDERING --expect 'k.cl:12 acquire' | is not understood
    2 memmodel check $ORDERING --expect 'k.cl:12 acquire agent' | no access and no fence of k.cl:12 can be acquire
    2 memmodel check $ORDERING --jobs 0 | --jobs is a number from 1 on
    3 memmodel check fixtures/host/optimized.gcc.O2.v5.x86_64 | has no code of an AMD GPU
    2 memmodel check $CLEAN --from-source | the source file src/opencl/kernels.cl was not found
    2 fleet nosuch x | 'nosuch' is not a question about a file
    2 fleet '' x | it is empty
    2 fleet 'eval '"'"'x' x | no closing quotation
    2 fleet 'bt --lane' x | argument --lane
    2 fleet 'bt --state s.json' x | names a file
    2 fleet 'memmodel check k.co' x | names a file
    2 fleet 'memmodel table' x | `memmodel table` is not a question about a file
    2 fleet bt x --resume | --resume needs --out
    2 fleet bt x --scheduler tcp://127.0.0.1:1 | a scheduler of other machines needs --out
    2 fleet bt x --scheduler cluster | is not a scheduler
    2 fleet bt '/nowhere/*.json' | no file matches the pattern
    2 judge $LANES X 'zeros(64)' 40 | needs -grid for arguments that are given
    2 judge fixtures/host/values.gcc.O0.v5.x86_64 | has no kernels
    2 judge $LANES Y $SIZES | Y
    2 judge $LANES X $SIZES 'zeros(64)' | no value for limit of X
    3 $SAXPY --against fixtures/none.co | none.co
    2 $SAXPY --against fixtures/features/stripped.v5.co | has no kernel 'saxpy'
    2 $SAXPY --against $LANES | saxpy
    2 $SAXPY --against fixtures/host/values.gcc.O0.v5.x86_64 | is for x86_64
    2 $SAXPY --against fixtures/asm/lists.powerpc | lists.powerpc is for
    2 $SAXPY --against $PLAIN --fail-below 101 | takes -fail-below with a number from 0 on, to 100
    2 $SAXPY --ignore statement-bak | hint: did you mean statement-back?
    2 $SAXPY --severities pyproject.toml | pyproject.toml:1: '' is not a severity
    0 coverage $PLAIN --fail-below 50
    2 coverage $FAST --fail-below x | -fail-below takes a number
    2 coverage $FAST --fail-below 101 | is a share in percent, from 0 to 100
    2 coverage $FAST --svg --fail-below 1 | --fail-below does not go with
    2 memmodel check $ORDERING --only unwind | there is no rule 'unwind'
    2 memmodel check $ORDERING --baseline README.md | README.md is not the JSON of a check
    2 memmodel table --target gfx900 --strict | --strict does not go with `memmodel table`
    2 verify $LANES --require -1 | takes -require with a number from 0 on
    2 verify $LANES --cfi | `dwarfgpu verify` takes -cfi only with -ops or -hex
    2 verify $LANES --rules amd | `dwarfgpu verify` takes -rules only with -ops or -hex
    2 verify --ops DW_OP_lit1 --sarif | `dwarfgpu verify` takes -sarif only for files
    2 verify $LANES $IN_LANES --ignore idioms | `dwarfgpu verify` takes -ignore only for files, and without a state
"""
"""The status, the words of the command, and behind a bar what standard error has."""
NAMES = {
    "RUN": "run fixtures/amdgpu/launch.gfx1100.w32.O2.co group_x --grid 300 --work-group 256",
    "BUFFER": "'out=zeros(4)'",  "STATE": "state fixtures/amdgpu/launch.gfx90a.w64.O2.co",
    "SAXPY": "judge fixtures/amdgpu/cl-kernels.gfx90a.w64.O2.v5.co saxpy $SIZES 'zeros(64)' 'ones(64)' 2 60",
    "SIZES": "--grid 64 --work-group 64",                     "ORDERING": "fixtures/amdgpu/ordering.gfx1200.w32.O2.co",
    "FAST": "fixtures/amdgpu/hip-kernels.gfx90a.w64.O2.v5.co",
    "HIP": "fixtures/amdgpu/hip-kernels.gfx1100.w32.O2.v5.co",
    "STOPPED": "--state dwarfgpu/examples/stopped.json",
    "IN_LANES": "--state dwarfgpu/examples/variables.json",
    "PLAIN": "fixtures/amdgpu/cl-kernels.gfx1100.w32.O0.v5.co",
    "CLEAN": "fixtures/amdgpu/cl-kernels.gfx1200.w32.O2.v5.co",
    "CALLS": "fixtures/llvm24/hip-calls.gfx1100.w32.O2.co",   "LANES": "fixtures/asm/lane-pc.gfx90a.w64.co",
    "MANY": "9" * 500}  # fmt: skip


@pytest.mark.parametrize("row", ROWS.strip().splitlines(), ids=str.strip)
def test_status(row: str) -> None:
    line, _, message = row.partition(" | ")
    for name, text in NAMES.items():
        line = line.replace(f"${name}", text)
    expected, *words = shlex.split(line)
    done = run(*words)
    status = int(expected)
    assert done.returncode == status, done.stderr
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    if status in (2, 3) and words[:2] != ["memmodel", "check"]:
        assert done.stdout == ""
    if status == 0:
        assert (done.stderr, bool(done.stdout)) == ("", True)
    elif status > 1 or words[0] != "verify":
        first, *others = done.stderr.splitlines()
        assert first.startswith("dwarfgpu: error: ")
        assert all(line.startswith(("hint: ", "dwarfgpu: error: ")) for line in others)
    if status == 1 and words[0] not in ("eval", "disasm", "verify", "asm", "memmodel"):
        assert done.stdout == ""


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
@pytest.mark.sampled(3)
def test_every_command_says_that_a_file_cannot_be_read(tmp_path: Path, what: str) -> None:
    file = tmp_path / "k.co"
    if what != "nowhere":
        whole = (ROOT / NAMES["PLAIN"]).read_bytes()
        file.write_bytes({"empty": b"", "text": b"not a program\n"}.get(what) or whole[: CUT.get(what, 0)])
    state = "dwarfgpu/examples/lanes.json"
    names = {**NAMES, "IN_STATE": f"--state {state} --wave 1", "LOOKED": state}
    rows = [row.strip() for row in OF_FILES.replace("\n", " | ").split(" | ")]
    for row in filter(None, rows):
        line = row.replace("FILE", str(file))
        for name, text in names.items():
            line = line.replace(f"${name}", text)
        done = run(*shlex.split(line))
        assert (done.returncode, "Traceback" in done.stderr) == (3, False), (line, done.stdout[-300:], done.stderr)
        assert done.stderr.startswith("dwarfgpu: error: ") or "truncated" in done.stdout, line


@pytest.mark.parametrize("name", ["f" * 5000, "f" * 5000 + ".cl@gfx90a", "f\0"])
def test_a_name_that_no_file_can_have_is_one_error(name):
    code = "fixtures/amdgpu/cl-kernels.gfx90a.w64.O2.v5.co"
    for words in (("coverage", code, name), ("run", name, "k"), ("info", name)):
        done = run(*words)
        assert (done.returncode in (1, 2, 3), "internal error" in done.stderr) == (True, False), words
