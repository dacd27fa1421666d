"""``print``, ``x``, ``ptype``, ``info locals``, ``info registers`` write what gdb writes of one core file."""

import os
import re
import subprocess

import pytest

from dwarfgpu.errors import DwarfGpuError
from tests.questions.harness import Run, commands
from tests.questions.test_against_gdb import asked

pytestmark = pytest.mark.slow
SOURCE = r"""
#include <stdlib.h>
enum color { RED, GREEN = 5, BLUE };
typedef unsigned long word;
typedef struct point { int x; char c; double y; unsigned flag : 3; unsigned more : 5; } point_t;
struct inner { char tag; struct point at; struct { short s; long l; } deep; };
struct node {
  struct node *next; point_t at; union { int i; float f; struct { char a, b; } pair; } u; word tags[3];
  const char *name; int (*call)(int, char); enum color color; struct inner inner; unsigned : 4; unsigned bit : 1;
};
int numbers[8] = {1, -2, 3, 4, 5, 6, 7, 0x12345678};
int many[40];
unsigned char bytes[20] = "hello, world\n";
double real = 1.5;
float reals[4] = {1, 2.5f, -3, 1e10f};
short halves[4] = {1, -2, 3, 4};
const char *text = "some text";
char texts[3][8] = {"one", "two", "three"};
static int twice(int n, char c) { return 2 * n + c; }
struct node second = {0, {3, 'b', 2.5, 1, 2}, {7}, {9, 9, 9}, "second", 0, BLUE};
struct node first = {&second, {1, 'a', -0.5, 5, 17}, {1}, {1, 2, 3}, "first", twice, GREEN};
int crash(int depth, const char *why, struct node *n) {
  int local = depth * 3;
  word tall = 0xdeadbeefcafe;
  int sized[depth];
  sized[0] = 1; sized[depth - 1] = 2;
  { int inner = local + 1; float fraction = 0.25f; if (n->next == 0 || inner) abort(); }
  return local + (int) tall + why[0] + sized[0];
}
int main(int argc, char **argv) { int count = argc + 3; return crash(count, text, &first); }
"""
CPLUS = r"""
#include <cstdlib>
struct A { int x = 1; double d = 2.5; };
struct V { int v = 9; };
struct E : A {};
struct B : A, V { int y = 3; A inner; A pair[2]; static int count; int deep[2][2] = {{1, 2}, {3, 4}}; };
int B::count = 7;
template <typename T> struct Box { T t; };
struct Empty {};
struct Holder { Empty e; Box<A> box; B *p; int &r; union { int i; float f; }; };
B b; E e; int i = 5; Empty empty; int &alias = i; const char *text = "some";
Holder h = {{}, {{}}, &b, i, {3}};
Box<B> bb;
extern "C" int crash(int &r, B by_value) { r++; abort(); }
int main() { crash(i, b); }
"""
BARE = r"""
#include <cstdlib>
namespace ns {
template <typename T> struct Box { T t; __attribute__((noinline)) int crash(const Box *other) { abort(); } };
int two(int (*f)(const char *), Box<long> &&b) { return f("") + b.t; }
int counter = 3;
}
int main() { ns::Box<int> box; return box.crash(&box); }
"""
IN_CPLUS = commands("""
    print b; print h; set print pretty on; print b; print e; print h; print bb; print empty; print/x b; print b.pair
    print &b; print *h.p; info args; info locals; set print static-members off
    print b; set print pretty off; print b; set print symbol off; print &b
    set print symbol on; set print elements 1; print b.deep; print b.pair
    set print elements 200; set print max-depth 1; print h; set print max-depth 20
    whatis r; whatis alias; whatis h.r; ptype h; ptype Box<A>; ptype/o Holder; ptype/o B
    print sizeof(B); print alias; print &alias; print $ref = alias
    show values 1; output h.i; output/x i; printf "%d %s|%5.2f|%-4d|%04x %% %c\\n", i, text, b.d, b.x, b.y, 65
    printf "%lu %p\\n", sizeof(B), &b; printf "%d"; printf "%d" i
""")
COMMANDS = commands("""
    print; print $; print $$; print $1; print local; print; print $; print $1 + $$; print $$2; print $$99; print $99
    print/x local; print/t local; print/o local; print/c local; print/a local; print/z local; print/d tall
    print/u numbers[1]; print/x *n; print/d *n; print *n; print n; print *n->next; print n->at; print &n->at
    print numbers; print many; print/x numbers; print numbers[1]@3; print *numbers@3; print bytes; print/x bytes
    print/s bytes; print text; print *text; print texts; print reals; print first.call; print twice; print &numbers
    print &numbers[2]; print/c bytes; print RED; print (enum color) 5; print/x 255; print -5 % 3; print 5 / 2.0
    print sizeof(struct node); print "text"; print 'a'; print $foo; print $foo = local + 1; print $foo * 2
    print $foo++; print ++$foo; print $foo-- - 1; print --$foo; print $foo += 2; print $foo <<= 1
    set $foo++; print $foo; print $ptr = n; print *$ptr++; print $ptr; print $point = n->at; print $point.y
    print $ptr = n; print $ptr->at.x; print *$ptr->next; print/2x local; print/xb local; print/i local; print $pc
    print $sp; print/x $sp; print $rip; show values; show values 5
    info locals; info locals ^inn; info locals zork; info args; info args n
    whatis n; whatis *n; whatis struct node; whatis point_t; whatis word; whatis point_t *; whatis local + 1.0
    whatis (word) 3; whatis twice; whatis &numbers; whatis numbers[0]@3; whatis first.u; whatis first.call
    whatis RED; whatis enum color; whatis $foo; whatis $nosuch; whatis $pc; whatis texts; whatis int
    whatis struct zork; ptype n; ptype point_t; ptype word; ptype struct node; ptype twice; ptype numbers
    ptype enum color; ptype union zork; ptype int (*)[3]; ptype unsigned long; ptype n->at; ptype first.u
    ptype/o struct node; ptype/o struct inner; ptype/o point_t; ptype/o n; ptype/o n->u; ptype/o int
    ptype/o struct point; x/4xw numbers; x; x/3dw &numbers[1]; print $_; print $__
    whatis $_; x/2xg numbers; x/5xb bytes; x/s bytes; x; x/3s texts; x/10c bytes; x/2fg &real; x/4fw reals
    x/2xh halves; x/2dh halves; x/3uh halves; x/2oh halves; x/2th halves; x/2ob bytes; x/2ow numbers; x/2zw numbers
    x/2a &first; x/-3xw &numbers[3]; x; x/-1s texts[1]; x; x/-3s &texts[2][2]; x/-2i crash; x/-1i main
    info line crash; x/i; x/dw numbers; list p.c:10; x/x first; print -elements 2 -- numbers
    print -elem 3 -repeats 2 -- many; print -pretty -- n->at; print -pretty on -elements 4 -- first
    print -max-depth 1 -- /x first; print -symbol off -- &first; with print pretty on -- print first.at
    x/2ch bytes; x/2fh halves; x/fb bytes; x/0x numbers; x/xw &local; x/xww numbers; x/dg numbers; x/c numbers
    x/tw numbers; x/12xb bytes; x/6tw numbers; x/2wx n; x/3xw n->tags; x/a &first.call; x/dw &numbers[7]
    x/2g &sized; x/xb twice; print sizeof(sized); info registers rip; info registers rbx; info registers rsp rbp
    info registers pc sp fp; info registers $pc; info registers zork
    undisplay; info display; display/x tall; display/2xw numbers; display local
    info display; display; undisplay 2; info display; undisplay 2
    up; info locals; info args; print count; print argc; info registers rip rbx
    down
""")


@pytest.fixture(scope="module")
def crashed(tmp_path_factory, require_tool):
    """A program and a core file of it."""
    return built(tmp_path_factory.mktemp("crashed"), require_tool, "gcc", "p.c", SOURCE)


def built(folder, require_tool, compiler, name, source, debug="-g"):
    (folder / name).write_text(source)
    options = [debug, "-O0", "-no-pie", "-static", "-w"]
    subprocess.run([require_tool(compiler), *options, "-o", "p", name], cwd=folder, check=True)
    subprocess.run(
        [require_tool("gdb"), "-nx", "-batch", "-ex", "run", "-ex", "generate-core-file p.core", "p"], cwd=folder,
        check=False, capture_output=True, stdin=subprocess.DEVNULL)  # fmt: skip
    return folder / "p", folder / "p.core"


def said_by_gdb(tools, program, core, commands, function="crash"):
    arguments = [tools("gdb"), "-nx", "-batch", "-ex", "set width 0", "-ex", "set print frame-info short-location"]
    level = next(frame.number for frame in Run(program, core).debugger.wave if frame.name == function)
    arguments += ["-ex", f"frame {level}"]
    for index, command in enumerate(commands):
        arguments += ["-ex", f"echo @@{index}@@\\n", "-ex", command]
    done = subprocess.run(
        [*arguments, str(program), str(core)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        stdin=subprocess.DEVNULL, env={**os.environ, "LC_ALL": "C.UTF-8"}, cwd=program.parent, check=False)  # fmt: skip
    text = done.stdout.decode("utf-8", "replace")
    found = re.split(r"@@\d+@@\n", text)[1:]
    assert len(found) == len(commands), text[-1000:]
    return found


def compared(run, commands, answers):
    """The differences between what is said; frames have a look of their own."""
    wrong = []
    for command, theirs in zip(commands, answers, strict=True):
        try:
            ours = run(command)
        except DwarfGpuError as error:
            ours = f"{error.message}\n"
            if theirs.strip().rstrip(".") in ours:
                ours = theirs
        if command in ("up", "down") or re.match(r"display\S* .", command):
            continue  # gdb shows a new display at the next stop
        if "Delete all auto-display expressions?" in theirs:
            continue
        if ours != theirs:
            wrong.append(f"{command}\n  gdb  {theirs}\n  ours {ours}")
    return wrong


def test_values_types_and_memory_are_as_gdb_writes_them(crashed, require_tool):
    program, core = crashed
    answers = said_by_gdb(require_tool, program, core, COMMANDS)
    run = Run(program, core, width=1000)
    run("frame function crash")
    wrong = compared(run, COMMANDS, answers)
    assert not wrong, "\n".join(["", *wrong])


def test_values_and_types_of_cplus_are_as_gdb_writes_them(tmp_path, require_tool):
    program, core = built(tmp_path, require_tool, "g++", "p.cpp", CPLUS)
    answers = said_by_gdb(require_tool, program, core, IN_CPLUS)
    run = Run(program, core, width=1000)
    run("frame function crash")
    wrong = compared(run, IN_CPLUS, answers)
    assert not wrong, "\n".join(["", *wrong])


def test_symbols_without_debugging_information_are_as_gdb_writes_them(tmp_path, require_tool):
    program, core = built(tmp_path, require_tool, "g++", "p.cpp", BARE, "-g0")
    lines = ["info symbol $pc", "info functions ns::", "info variables ns::", "info symbol main"]
    answers = said_by_gdb(require_tool, program, core, lines, "ns::Box<int>::crash(ns::Box<int> const*)")
    run = Run(program, core, width=1000)
    run("frame function ns::Box<int>::crash(ns::Box<int> const*)")
    for line, theirs in zip(lines, answers, strict=True):
        assert re.sub(" of /.*", "", run(line)) == re.sub(" of /.*", "", theirs), line


REGISTERS = commands("""
    print $eflags; print/x $eflags; print $eflags + 1; print sizeof($eflags); print $mxcsr
    ptype $mxcsr; ptype $eflags; whatis $eflags; print $xmm0; print/x $xmm1; print $xmm0.v4_float
    print $xmm0.v4_float[0] + 1; print -elements 3 -- $xmm1; ptype $xmm0
    whatis $xmm0; whatis $xmm0.v2_int64; whatis $xmm0.uint128; info registers eflags mxcsr; info registers xmm0
    print $eax; print $ax; print $al; print $ah; print $r8d; print $r9w; print $sil
    whatis $eax; whatis $ax; whatis $dh; print $st0; print $r16d
""")


def test_registers_flags_and_parts_are_as_gdb_writes_them(crashed, require_tool):
    program, core = crashed
    answers = said_by_gdb(require_tool, program, core, ["frame 0", *REGISTERS])
    wrong = compared(Run(program, core, width=1000), REGISTERS, answers[1:])
    assert not wrong, "\n".join(["", *wrong])
    program, core = crashed
    theirs = said_by_gdb(require_tool, program, core, ["frame 0", "info registers"])[1]
    known = [line for line in theirs.splitlines() if not re.match(r"k\d|[fg]s_base", line)]
    ours = Run(program, core, width=1000)("info registers").splitlines()
    assert [line for line in ours if not re.match(r"k\d|[fg]s_base", line)] == known


def test_a_part_of_a_register_is_assigned_to(crashed):
    run = Run(*crashed)
    before = int(run("output $rbx"))
    run("set $bh = 0x12")
    assert int(run("output $rbx")) == before & ~0xFF00 | 0x1200
    assert run("output $bx == (short) $rbx") == "1"


def test_sections_are_as_gdb_writes_them(crashed, require_tool):
    program, core = crashed
    theirs = said_by_gdb(require_tool, program, core, ["maint info sections"])[0].split("Core file")[0]
    ours = Run(program, width=1000)("maint info sections")

    def rows(text):
        return [line for line in text.splitlines()[1:] if line.startswith(" [")]

    assert rows(ours) == rows(theirs)
    text = Run(program)("maint info sections")
    assert all(len(line) <= 80 for line in text.splitlines()[1:])


def test_errors_are_gdbs_and_callers_lack_registers(crashed):
    run = Run(*crashed)
    run("frame function crash")
    assert str(run.fails("x/2x 0")) == "Cannot access memory at address 0x0"
    assert str(run.fails("print *(int *) 0")) == "Cannot access memory at address 0x0"
    assert str(run.fails("x/s 0")) == "Cannot access memory at address 0x0"
    assert run("print $xmm0").startswith("$xmm0 = <optimized out> (")
    run = Run(*crashed)
    run("frame function crash")
    assert run("info registers rax xmm0 eflags") == (
        "rax            <not saved>\nxmm0           <not saved>\neflags         <not saved>\n"
    )
    assert run("info registers float").splitlines()[0] == "st0            <not saved>"
    run("frame 0")
    assert run("info registers st0") == "st0            0                   (raw 0x00000000000000000000)\n"
    assert len(run("info all-registers").splitlines()) > 50


def test_entries_of_call_frames_are_explained(crashed):
    run = Run(*crashed)
    run("frame function crash")
    text = run("explain local")
    assert "wherever it is in scope: DW_OP_fbreg" in text
    assert "DW_OP_call_frame_cfa" in text  # the frame base is explained too
    assert text.splitlines()[-2] == "local = 12"


OVERLOADED = """\
namespace N {
int over(int x) { return x + 1; }
double over(double x) { return x * 2; }
int over(unsigned char a, const char *b) { return a + b[0]; }
int only(int x) { return x; }
}
struct A {
  static int sc; static constexpr int ce = 9; int m = 5;
  int get() const { return m; }
  int get(int k) { return m + k; }
  static int stat(int x) { return x + sc; }
  virtual int virt() { return 1; }
  struct Inner { static long deep; int z; int zed() { return z; } };
  template <class T> T conv(T t) { return t + m; }
};
int A::sc = 42; long A::Inner::deep = 77;
struct B : A { int virt() override { return 2; } int own() { return sc + m; } };
int main() {
  A a; B b; A::Inner in{3};
  N::over(1); N::over(2.0); N::over(1, "a"); N::only(3); a.get(); a.get(1); A::stat(1); in.zed(); b.own(); b.virt();
  a.conv(1); a.conv(2L);
  __builtin_trap();
  return A::ce;
}
"""
LINES = [
    *("print A::sc", "print A::ce", "print &A::sc", "print B::sc", "print b.sc", "print B::ce", "print A::Inner::deep"),
    *(f"print {sign}'N::over({types})'" for sign in ("", "&", "*") for types in ("int", "double")),
    *("print 'N::over(unsigned char, char const*)'", "print 'N::over(unsigned char,const char *)'", "print N::only"),
    *("print 'A::get(int)'", "print 'A::get() const'", "print A::stat", "print B::stat", "print b.virt", "print b.own"),
    *("print in.zed", "print A::Inner::zed", "print 'A::sc'", "ptype 'N::over(double)'", "whatis 'A::get() const'"),
    *("whatis A::sc", "list N::over(double)", "list 'N::over(int)'", "list A::get(int)", "print 'N::over(float)'"),
    *("print 'A::get()'", "print 'A::conv<int>(int)'", "print a.get")]  # fmt: skip
ERRORS = ["print 'N::over(float)'", "print 'A::get()'", "print a.get"]


@pytest.mark.slow
def test_names_are_those_of_gdb(require_tool, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.cpp").write_text(OVERLOADED)
    subprocess.run([require_tool("g++"), "-g", "-gdwarf-5", "-std=c++17", "-no-pie", "-o", "a", "a.cpp"], check=True)
    gdb = require_tool("gdb")
    words = [gdb, "-nx", "-batch", "-ex", "run", "-ex", "generate-core-file core", "a"]
    subprocess.run(words, check=True, capture_output=True)
    theirs = asked(gdb, ["a", "core"], LINES, tmp_path)
    run = Run(tmp_path / "a", tmp_path / "core", width=1000)
    for line, expected in zip(LINES, theirs, strict=True):
        if line in ERRORS:
            assert not expected
            run.fails(line)
            continue
        assert plain(run(line)) == plain(expected), line


def plain(text: str) -> str:
    """A value without its number; the return type of an instance of a template is left out by GDB alone."""
    return re.sub(r"^\$\d+ = ", "", text).replace("<int A::conv", "<A::conv")
