"""Commands that GDB and `dwarfgpu debug` answer in the same words, of a program that does not run."""

from __future__ import annotations

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
