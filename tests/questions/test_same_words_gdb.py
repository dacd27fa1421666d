"""Commands that GDB and `dwarfgpu debug` answer in the same words, of a program that does not run or of a core file."""

import subprocess

import pytest

from tests.builders.commands import run
from tests.questions.harness import commands

pytestmark = pytest.mark.slow
FILE = "fixtures/host/classes.gcc.O0.v5.x86_64"
COMMANDS = commands("""
    info line main; info symbol main; info address main; info scope main; info source
    list main; info functions main; info types A; ptype int; whatis main
    print main; print &main; print *main; print {int} main; print/x 255; print/t 10; print/c 65; print/d 0x10
    print/o 8; print 5/2.0; print sizeof(long); print 'a'; print "abc"; print 07; print 1.5e3; print 1 == 1
    print $_; print $nonexistent; x/2i main; x/4xb main; disassemble /r main; disassemble /s main
    info locals; bt; info frame; info registers; up; printf "%d %x\\n", 3, 255
    echo done\\n
""")


def answers(text):
    return dict(part.split("\n", 1) for part in text.split("@@")[1:])


def test_commands_answer_in_the_words_of_gdb(require_tool):
    script = [word for command in COMMANDS for word in ("-ex", f"echo @@{command}\\n", "-ex", command)]
    gdb = [require_tool("gdb"), "-nx", "-q", "-batch", "-iex", "set width 0", FILE, *script]
    theirs = answers(subprocess.run(gdb, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL).stdout)
    ours = answers(run("debug", "-batch", FILE, *script).stdout)
    assert len(theirs) == len(COMMANDS)
    assert ours == theirs


CRASHES = """
struct point { int x, y; double weight; };
static int counter = 7;
char text[16] = "hello";
int *nowhere = (int *)0x28;
__attribute__((noinline)) static int stop(int n) { counter += n; return *nowhere; }
__attribute__((noinline)) int tail(int n) { return stop(n + 1); }
int main(int argc, char **argv)
{
    struct point p = {argc, 3, 2.5};
    int result = tail(argc + 4);
    return result + p.y;
}
"""
OF_A_CORE_FILE = """
print counter
print/x counter
print text
print nowhere
print *nowhere
print $_exitcode
print $_thread
print $rip
print $sp
print $eflags
print/x $cs
info registers rax rsp rip eflags cs
info registers rip
x/2i $pc
x/4xg $sp
x/s text
x/2wd &counter
x/3c text
info args
info locals
up-silently
info args
up-silently
print p
print &p
print p.weight
whatis p
ptype p
info locals
info registers rip
down-silently 2
info registers rip

info address counter
""".strip().splitlines()


@pytest.mark.parametrize("compiler", ["gcc", "clang-22"])
def test_a_core_file_is_answered_in_the_words_of_gdb(require_tool, tmp_path, monkeypatch, compiler):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.c").write_text(CRASHES)
    subprocess.run([require_tool(compiler), "-g", "-O0", "t.c", "-o", "t"], check=True)
    gdb = [require_tool("gdb"), "-nx", "-q", "-batch", "-iex", "set width 0"]
    subprocess.run([*gdb, "-ex", "run", "-ex", "generate-core-file core", "t"], check=True, capture_output=True)
    script = [word for command in OF_A_CORE_FILE for word in ("-ex", f"echo @@{command}\\n", "-ex", command)]
    done = subprocess.run([*gdb, "t", "core", *script], capture_output=True, text=True, check=False)
    program = str(tmp_path / "t")
    found = run("debug", "-batch", program, "--state", str(tmp_path / "core"), *script).stdout
    ours, theirs = (text.split("@@")[1:] for text in (found, done.stdout))
    assert len(theirs) == len(OF_A_CORE_FILE)
    assert ours == theirs
    assert "signal SIGSEGV, Segmentation fault." in found
