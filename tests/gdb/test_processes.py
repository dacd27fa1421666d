import json
import subprocess
from pathlib import Path

import pytest

from tests.gdb.running import run_gdb

PROGRAMS = Path(__file__).parent / "programs"
HEAD = """
import gdb, json
import dwarfgpu.gdb as dg
gdb.execute("set pagination off")
gdb.execute("set confirm off")
say = lambda **facts: print("@@" + json.dumps(facts))
def fails(ask):
    try:
        ask()
    except dg.DwarfGpuError as error:
        return [type(error).__name__, error.kind, str(error)]
def until(function, number=1):
    gdb.execute(f"tbreak {function}", to_string=True)
    gdb.execute("run" if not gdb.selected_inferior().pid else "continue", to_string=True)
"""


@pytest.fixture(scope="module", params=["gcc", "clang-22"])
def built(request, require_tool, tmp_path_factory) -> Path:
    """A position-independent program with a shared library, by each compiler."""
    folder = tmp_path_factory.mktemp(request.param)
    compiler = require_tool(request.param)
    library, program = folder / "liblibrary.so", folder / "process"
    flags = ["-O0", "-gdwarf-5" if request.param == "gcc" else "-gdwarf-4"]
    sources = [str(PROGRAMS / name) for name in ("library.c", "process.c")]
    for command in (
        [*flags, "-shared", "-fPIC", sources[0], "-o", library],
        [*flags, "-fPIE", "-pie", sources[1], "-o", program, library, f"-Wl,-rpath,{folder}", "-pthread", "-rdynamic"],
    ):
        subprocess.run([compiler, *command], check=True)
    return program


def inside(require_tool, folder: Path, program: Path):
    """Return a function that returns what a script says inside GDB, which debugs a program."""

    def said(script: str) -> list[dict]:
        path = folder / "script.py"
        path.write_text(HEAD + script)
        text = run_gdb(require_tool, program=program, script=path, folder=folder)
        found = [json.loads(line[2:]) for line in text.splitlines() if line.startswith("@@")]
        assert found, text[-3000:]
        assert "Traceback" not in text, text[-3000:]
        return found

    return said


@pytest.mark.slow
def test_code_is_found_wherever_it_was_loaded(built, require_tool, tmp_path):
    inlined, library, outer, files = inside(require_tool, tmp_path, built)("""
until("pause_here")
gdb.execute("up")
frame = dg.selected()
say(name=frame.name, inlined=frame.is_inlined, left=frame["left"].value(), right=dg.eval("right").array[0].item(),
    table=dg.eval("table[1]").array[0].tolist(), given=frame["given"].value(),
    theirs=[int(gdb.parse_and_eval(each)) for each in ("left", "right", "given")])
until("doubled")
gdb.execute("tbreak pause_here")
gdb.execute("continue", to_string=True)
gdb.execute("up")
frame = dg.selected()
here = frame["here"].object()
say(name=frame.name, twice=frame["twice"].value(), here=[here.member(name).number() for name in "xy"],
    state=frame["shared_state"].value(), corner=dg.eval("corner.y").array[0].item(),
    at=[[each.kind, each.address] for each in dg.locate("shared_state")],
    there=int(gdb.parse_and_eval("&shared_state")))
gdb.execute("up")
say(name=dg.selected().name, answer=dg.selected()["answer"].value(), theirs=int(gdb.parse_and_eval("answer")))
attached = dg.attached()
say(opened=[each.name for each in attached.state.loaded.opened_codes], problems=len(attached.problems))
""")
    assert (inlined["name"], inlined["inlined"]) == ("inlined", True)
    assert [inlined["left"], inlined["right"], inlined["given"]] == inlined["theirs"] == [7, 14, 7]
    assert inlined["table"] == [4, 5, 6.5]
    assert (library["name"], library["twice"], library["here"]) == ("doubled", 56, [28, -28])
    assert (library["state"], library["corner"]) == (5, -4)
    assert library["at"] == [["memory", library["there"]]]
    assert (outer["name"], outer["answer"]) == ("main", 28) == ("main", outer["theirs"])
    assert files["problems"] == 0
    names = [Path(name).name for name in files["opened"]]
    assert names[:1] == ["process"]
    assert "liblibrary.so" in names


@pytest.mark.slow
def test_nothing_is_opened_before_it_is_asked_for(built, require_tool, tmp_path):
    (before, after) = inside(require_tool, tmp_path, built)("""
until("pause_here")
loaded = dg.attached().state.loaded
say(opened=[each.name for each in loaded.opened_codes])
dg.selected()["number"].value()
say(opened=[each.name for each in loaded.opened_codes])
""")
    assert before["opened"] == []
    assert [Path(name).name for name in after["opened"]] == ["process"]


@pytest.mark.slow
def test_threads(built, require_tool, tmp_path):
    *found, last = inside(require_tool, tmp_path, built)("""
gdb.execute("break pause_here if number < 10", to_string=True)
gdb.execute("run", to_string=True)
while gdb.selected_inferior().pid:
    gdb.execute("up")
    selected = gdb.selected_thread()
    others = {}
    for wave in dg.waves():
        for frame in wave.frames():
            if frame.name == "work":
                name = bytes(frame.eval("name").array[0]).decode().rstrip(chr(0))
                others[wave.id] = [frame["id"].value(), frame["square"].value(), name]
    theirs = {}
    for thread in gdb.selected_inferior().threads():
        thread.switch()
        frame = gdb.newest_frame()
        while frame is not None and frame.name() != "work":
            frame = frame.older()
        if frame is not None:
            values = [frame.read_var(each) for each in ("id", "square", "name")]
            theirs[str(thread.ptid[1])] = [int(values[0]), int(values[1]), values[2].string()]
    selected.switch()
    gdb.execute("frame 1", to_string=True)
    ids = [each.id for each in dg.waves()]
    say(waves=ids, ours=others, theirs=theirs, wave=dg.wave().id, ptid=str(selected.ptid[1]), name=dg.selected().name,
        level=gdb.selected_frame().level())
    gdb.execute("continue", to_string=True)
say(after=fails(dg.selected))
""")
    assert len(found) == 3
    for stop in found:
        assert stop["wave"] == stop["ptid"]
        assert (stop["name"], stop["level"]) == ("work", 1)
        assert stop["ours"] == stop["theirs"]
        assert stop["ours"][stop["wave"]][1] in (1, 4, 9)
    assert last["after"][1] == "no_process"


@pytest.mark.slow
def test_a_stripped_program_with_a_separate_debug_file(built, require_tool, tmp_path):
    copy = require_tool("objcopy")
    stripped, debug = tmp_path / "process", tmp_path / "process.debug"
    subprocess.run([copy, "--only-keep-debug", built, debug], check=True)
    subprocess.run([copy, "--strip-all", f"--add-gnu-debuglink={debug}", built, stripped], check=True, cwd=tmp_path)
    script = """
until("pause_here")
gdb.execute("up")
frame = dg.selected()
say(name=frame.name, right=frame["right"].value())
"""
    assert inside(require_tool, tmp_path, stripped)(script) == [{"name": "inlined", "right": 14}]
    # where only GDB knows it: told to it, or in another folder than the usual ones
    away = tmp_path / "away"
    away.mkdir()
    debug.rename(away / "other")
    asked = f"gdb.execute('symbol-file {away / 'other'}')\n" + script
    assert inside(require_tool, tmp_path, stripped)(asked) == [{"name": "inlined", "right": 14}]


@pytest.mark.slow
@pytest.mark.usefixtures("writing_gdb")
def test_a_write_is_seen_by_gdb_and_the_other_way(built, require_tool, tmp_path):
    (found,) = inside(require_tool, tmp_path, built)("""
until("pause_here")
gdb.execute("up 2")
frame = dg.selected()
frame["given"].write(1234)
first = int(gdb.parse_and_eval("given"))
gdb.execute("set var given = 4321")
frame.expression("table[0][1]").write("table[1][2] * 2")
gdb.execute("frame 0")
dg.selected().expression("$rax").write(0x1122334455667788)
dg.selected().expression("$xmm3.uint128").write(5)
rax = int(gdb.parse_and_eval("$rax"))
xmm = int(gdb.parse_and_eval("$xmm3.v2_int64[0]"))
gdb.execute("set var $rbx = 99")
selected = gdb.selected_frame().level()
say(first=first, second=dg.eval("given").array[0].item(), table=float(gdb.parse_and_eval("table[0][1]")), rax=rax,
    xmm=xmm, rbx=dg.eval("$rbx").array[0].item(), level=selected, old=frame["given"].value(),
    number=fails(lambda: dg.selected().expression("5").write(6)),
    nowhere=fails(lambda: dg.selected().expression("*(int *)8").write(6)))
""")
    assert (found["first"], found["second"], found["old"]) == (1234, 4321, 4321)
    assert (found["table"], found["rax"], found["rbx"], found["level"]) == (13, 0x1122334455667788, 99, 0)
    assert found["xmm"] == 5
    assert found["nowhere"][1] == "memory_unavailable"
    assert found["number"] is not None


@pytest.mark.slow
def test_a_program_that_runs_again_leaves_nothing_behind(built, require_tool, tmp_path):
    first, stale, second, gone, third = inside(require_tool, tmp_path, built)("""
def facts():
    until("pause_here")
    gdb.execute("up")
    frame = dg.selected()
    return frame, dict(given=frame["given"].value(), right=frame["right"].value(), id=dg.wave().id,
                       pid=str(gdb.selected_inferior().pid))
gdb.execute("set args 11")
old, found = facts()
value = old["right"]
say(**found)
gdb.execute("stepi")
say(stale=[fails(lambda: value.value()), fails(lambda: old["left"].value()), fails(lambda: old["given"].value())],
    fresh=dg.selected().name)
gdb.execute("kill")
gdb.execute("set args 22")
_, found = facts()
say(**found)
gdb.execute("detach")
say(gone=fails(dg.selected), waves=fails(dg.waves), stale=fails(lambda: value.value()))
gdb.execute("set args 33")
_, found = facts()
say(**found)
""")
    for found, given in ((first, 11), (second, 22), (third, 33)):
        assert (found["given"], found["right"], found["id"]) == (given, 2 * given, found["pid"])
    for error in (*stale["stale"], gone["stale"]):
        assert "has run since" in error[2]
    assert gone["gone"][1] == gone["waves"][1] == "no_process"


@pytest.mark.slow
def test_a_file_that_was_built_anew_is_read_anew(require_tool, tmp_path):
    compiler = require_tool("gcc")
    source, program = tmp_path / "a.c", tmp_path / "a"

    def build(kind: str) -> None:
        source.write_text(f"int main(void) {{\n {kind} x = 3;\n return (int)x; }}\n")
        subprocess.run([compiler, "-g", source, "-o", program], check=True)

    build("int")
    (tmp_path / "again.sh").write_text(
        f"printf 'int main(void) {{\\n double x = 2.5;\\n long y = 6;\\n return (int)x; }}' > {source}\n"
        f"{compiler} -g {source} -o {program}\ntouch -d 2040-01-01 {program}\n"
    )
    first, second = inside(require_tool, tmp_path, program)("""
until("main")
gdb.execute("next")
say(values={each.name: each.value() for each in dg.selected().variables()})
gdb.execute("kill")
gdb.execute("shell sh again.sh")
until("main")
gdb.execute("next")
gdb.execute("next")
say(values={each.name: each.value() for each in dg.selected().variables()})
""")
    assert first["values"] == {"x": 3}
    assert second["values"] == {"x": 2.5, "y": 6}


@pytest.mark.slow
def test_frames_that_gdb_makes_up_are_none(require_tool, tmp_path):
    source, program = tmp_path / "tail.c", tmp_path / "tail"
    source.write_text(
        '__attribute__((noinline)) int last(int n) { __asm__ volatile("" ::: "memory"); return n + 1; }\n'
        "__attribute__((noinline)) int middle(int n) { return last(n * 2); }\n"
        "int main(int argc, char **argv) { return middle(argc) + argc; }\n"
    )
    subprocess.run([require_tool("gcc"), "-g", "-O2", source, "-o", program], check=True)
    (found,) = inside(require_tool, tmp_path, program)("""
until("last")
names = []
frame = gdb.newest_frame()
while frame is not None:
    frame.select()
    tail = frame.type() == gdb.TAILCALL_FRAME
    names.append([frame.name(), fails(dg.selected)[1] if tail else dg.selected().name])
    frame = frame.older()
say(names=names)
""")
    assert found["names"] == [["last", "last"], ["middle", "no_frame"], ["main", "main"]]


@pytest.mark.slow
def test_a_condition_sees_each_time_what_is_there(require_tool, tmp_path):
    """A breakpoint whose condition asks dwarfgpu: GDB goes on between two of these questions without an event."""
    source, program = tmp_path / "loop.c", tmp_path / "loop"
    source.write_text(
        "volatile long total;\n"
        "void step(long index) { total += index; }\n"
        "int main(void) { for (long i = 0; i < 50; i++) step(i); return 0; }\n"
    )
    subprocess.run([require_tool("gcc"), "-g", "-O0", source, "-o", program], check=True)
    (found,) = inside(require_tool, tmp_path, program)("""
seen = []
class Large(gdb.Breakpoint):
    def stop(self):
        frame = dg.selected()
        seen.append([frame["index"].value(), frame.eval("total").array[0].item(), dg.eval("$rdi").array[0].item()])
        return seen[-1][0] == 30
Large("step")
gdb.execute("run", to_string=True)
say(seen=seen, stopped=dg.selected()["index"].value(), theirs=int(gdb.parse_and_eval("index")))
""")
    assert found["seen"] == [[index, sum(range(index)), index] for index in range(31)]
    assert found["stopped"] == found["theirs"] == 30


@pytest.mark.slow
def test_a_program_that_does_not_run(built, require_tool, tmp_path):
    (found,) = inside(require_tool, tmp_path, built)("""
gdb.execute("set var $_lane = 3")
say(selected=fails(dg.selected), attached=fails(dg.attached), eval=fails(lambda: dg.eval("1")),
    locate=fails(lambda: dg.locate("x")))
""")
    assert {error[1] for error in found.values()} == {"no_process"}


@pytest.mark.slow
def test_thread_local_variables(require_tool, tmp_path):
    """Of the executable and of a shared library, in a thread that was begun and in the first one."""
    compiler = require_tool("gcc")
    (tmp_path / "library.c").write_text(
        "static __thread int before[3];\n_Thread_local long in_library = 7;\n"
        "int stop(int x) { in_library += x; before[1] = x; return before[1]; }\n"
    )
    (tmp_path / "program.c").write_text(
        "#include <pthread.h>\nextern int stop(int);\n_Thread_local short in_program = 5;\n"
        "static void *run(void *unused) { in_program += 100; stop(10); return unused; }\n"
        "int main(void) { pthread_t thread; in_program++; pthread_create(&thread, 0, run, 0);\n"
        "pthread_join(thread, 0); return stop(in_program); }\n"
    )
    library, program = tmp_path / "liblocal.so", tmp_path / "program"
    subprocess.run([compiler, "-g", "-shared", "-fPIC", tmp_path / "library.c", "-o", library], check=True)
    command = [compiler, "-g", tmp_path / "program.c", "-o", program, library, f"-Wl,-rpath,{tmp_path}"]
    subprocess.run([*command, "-pthread"], check=True)
    found = inside(require_tool, tmp_path, program)("""
for _ in range(2):
    until("stop")
    gdb.execute("next", to_string=True)
    names = ("in_library", "before[1]", "in_program")
    say(ours=[dg.eval(each).array[0].item() for each in names],
        theirs=[int(gdb.parse_and_eval(each)) for each in names],
        places=[dg.locate(each)[0].address == int(gdb.parse_and_eval("&" + each)) for each in names])
""")
    for stop in found:
        assert stop["ours"] == stop["theirs"]
        assert all(stop["places"])
    assert len(found) == 2
