"""What Windows does not have is taken away: every module is imported, and the first commands of a user work."""

import subprocess
import sys

import pytest

from tests.builders.folders import ROOT

PRELUDE = """
import os
os.supports_dir_fd.clear()  # before shutil, which chooses by it how to remove a folder
import asyncio, ctypes, importlib, mmap, multiprocessing, pkgutil, platform, shutil, signal, socket, socketserver
import subprocess, sys, tempfile
import distributed, llvmlite.binding, numpy, pandas, pyarrow, pygments
import prompt_toolkit.application, prompt_toolkit.input.vt100, prompt_toolkit.output.vt100, prompt_toolkit.shortcuts
WINDOWS = "SIGABRT SIGFPE SIGILL SIGINT SIGSEGV SIGTERM SIG_DFL SIG_IGN".split()
GONE = {
    os: "O_NONBLOCK O_NOFOLLOW O_CLOEXEC O_NOCTTY O_DIRECTORY getuid geteuid fork uname killpg setsid set_blocking"
        " mkfifo pread".split(),
    signal: ["setitimer", "alarm", "pthread_sigmask", "sigwait"]
        + [name for name in dir(signal) if name.startswith("SIG") and name not in WINDOWS],
    mmap: [name for name in dir(mmap) if name.startswith(("PROT_", "MAP_"))], socket: ["AF_UNIX"],
}
for module, names in GONE.items():
    for name in names:
        delattr(module, name)
for name in ("curses", "fcntl", "grp", "pty", "pwd", "readline", "resource", "termios", "tty"):
    sys.modules[name] = None
def library(name, *words, real=ctypes.CDLL, **options):
    if name is None:
        raise TypeError("bad argument type for built-in operation")
    return real(name, *words, **options)
ctypes.CDLL = library
sys.platform = "win32"
"""
IMPORTS = """
import dwarfgpu
for module in pkgutil.walk_packages(dwarfgpu.__path__, "dwarfgpu."):
    of_triton = "compiler", "driver", "marks", "shared"
    triton = tuple(f"dwarfgpu.runtimes.triton.{part}" for part in of_triton)  # they need Triton
    of_others = "dwarfgpu.examples", "dwarfgpu.gdb", "dwarfgpu.machines.gdb", "dwarfgpu.__main__"
    if not module.name.startswith((*of_others, *triton)):
        importlib.import_module(module.name)
"""
BLUR = ("run", "blur.co", "blur", "--grid", "64", "--work-group", "64", "in=random(50)", "out=zeros(50)")
COMMANDS = [
    ((*BLUR, "n=50"), 1, "just past the end of `in`"), ((*BLUR, "n=49", "--check"), 0, "0 errors"),
    (("fault", "blur.core"), 0, "MEMORY_VIOLATION"),   (("verify", "kernels.co"), 0, "no findings"),
    (("eval", "lane-pc.co", "even", "--state", "variables.json"), 0, "even  int"),
    (("debug", "blur.co", "-batch", "-ex", "info files"), 0, "Syms Read"),
    (("run", "blur.cl", "blur", "--grid", "64"), 2, "no clang was found"),
]  # fmt: skip


@pytest.mark.skipif(sys.platform != "linux", reason="it takes away what Linux has")
def test_nothing_needs_posix(tmp_path):
    script = f"{PRELUDE}{IMPORTS}from dwarfgpu.cli import main\n"
    script += "import contextlib, io\nmain(['example', '-o', '.'])\n"
    script += f"os.environ['PATH'] = ''\nfor words, status, text in {COMMANDS!r}:\n"
    script += "    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(out):\n"
    script += "        ended = main(list(words))\n"
    script += "    assert (ended, text in out.getvalue()) == (status, True), (words, ended, out.getvalue())\n"
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, env={"PYTHONPATH": str(ROOT), "HOME": str(tmp_path)},
        capture_output=True, text=True, check=False)  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
