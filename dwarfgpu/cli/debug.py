"""``dwarfgpu debug``, ``run``, which executes kernels, ``gdb-script``, for GDB, and ``dap``, for editors."""

from __future__ import annotations

import argparse
import os
from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

import dwarfgpu
from dwarfgpu.immutable import evolve
from dwarfgpu.questions.registry import EXECUTE, LOOK, START, operand, option
from dwarfgpu.questions.selection import FORCE, FRAME, LANE, MAYBE_FILE, MAYBE_STATE, READ_AS, SYSROOT, WAVE
from dwarfgpu.questions.table import (
    AT_ONCE,
    CHECK,
    CLOSED,
    FORMATS,
    LIMIT,
    MORE_MEMORY,
    OF_CHECKS,
    PERMISSIVE,
    SEED,
    SIZES,
)
from dwarfgpu.regular_files import read_input, whole_output

if TYPE_CHECKING:
    from collections.abc import Callable

    from dwarfgpu.cli.session import Session
    from dwarfgpu.questions.registry import Argument


GDB_NEEDS = ("attr", "msgpack", "numpy", "zstandard")
"""The packages that dwarfgpu imports in GDB."""
GDB_SCRIPT = """\
\"\"\"Load dwarfgpu into GDB, with the packages of one environment. `dwarfgpu gdb-script` wrote this file.\"\"\"

import runpy

runpy.run_path({entry!r})["load"]({here!r}, {folders!r})
"""


class _InOrder(argparse.Action):
    """Keeps scripts and commands in the order in which they were given."""

    def __call__(self, parser: Any, namespace: Any, values: Any, option_string: str | None = None) -> None:
        known = namespace.commands or []
        namespace.commands = [*known, (self.const, values)]


def debug_adapter(session: Session, options: Any) -> int:
    """Talk to an editor."""
    from dwarfgpu.dap import listener
    from dwarfgpu.render.layout import shown

    listener.serve(options, lambda text: session.err.writelines((shown(text), "\n")))
    return 0


def gdb_script() -> str:
    """Return the file that GDB sources: the entry file, or a script in the cache that also names folders of packages.

    An environment may have its packages in another folder than dwarfgpu, and GDB's Python knows neither.
    """
    import zlib
    from importlib.util import find_spec

    here, name = os.path.split(os.path.abspath(dwarfgpu.__path__[0]))
    entry = f"{here}/{name}/gdbplugin/entry.py"
    found = (spec.origin for spec in map(find_spec, GDB_NEEDS) if spec is not None and spec.origin is not None)
    folders = {os.path.dirname(os.path.dirname(origin)): None for origin in found}
    folders.pop(here, None)
    if not folders:
        return entry
    text = GDB_SCRIPT.format(entry=entry, here=here, folders=tuple(folders))
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    path = f"{cache}/dwarfgpu/gdb/{zlib.crc32(text.encode()):08x}.py"
    if not os.path.isfile(path) or read_input(path) != text.encode():
        with suppress(OSError):  # the error of the file says more
            os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        with whole_output(path) as file:
            file.write(text.encode())
    return path


def print_gdb_script(session: Session, _options: Any) -> int:
    """Print the path of the file that GDB sources."""
    if session.wants_json:
        session.print_json({"path": gdb_script()})
    else:
        session.out.write(f"{gdb_script()}\n")
    return 0


# --- Their arguments ----------------------------------------------------------------------------------------------


KERNEL = (
    operand("[KERNEL]", "the name or symbol of a kernel (the one in Triton's NAME.json next to FILE)"),
    operand("[ARG...]", "its arguments: NAME=VALUE, or VALUE by position"),
)
HOW_LAUNCHED = (
    CHECK,
    *CLOSED,
    SEED,
    option("-weak-memory SEED", "make memory as weak as the memory model allows, with this seed", read=int),
    option("-agents N", "with weak memory: how many agents share the work-groups (1)", read=int),
    option("-fine-grained NAME", "with weak memory: a buffer that L2 does not cache; repeatable", is_many=True),
    AT_ONCE,
    *MORE_MEMORY,
    PERMISSIVE,
)
"""What `run` and `debug` let a user say of a launch."""


FOLLOWED = (
    option(
        "-trace WHAT",
        "print the instructions of one wave; --trace=lines: its source lines and changed variables",
        choices=("instructions", "lines"),
        bare="instructions",
    ),
    option("-wave N", "the wave to trace, from 1 (1)", read=int),
    option("-lane N", "the lane whose values are traced (the first active one)", read=int),
    option(
        "-watch EXPR",
        "show the values of EXPR in all lanes, and each line that has changed them; repeatable",
        is_many=True,
    ),
    option("-history FILE", "with --watch: write the values to FILE.csv or FILE.npz (numpy)"),
)
"""What `run` and `exec` show of the waves of a launch."""
PROFILE = option("-profile", "count instructions, active lanes and memory transactions by line")


class ShellCommand(NamedTuple):
    """A command of the shell that is no question."""

    summary: str
    group: str
    """The part of `dwarfgpu --help` in which it is."""
    run: str
    """The module in `dwarfgpu` and the function that is it: it takes the session and the options."""
    description: str
    examples: tuple[str, ...]
    arguments: tuple[Argument, ...] = ()
    """`add_arguments` declares more of the debugger."""
    takes_rest: bool = False
    """Whether the first word that is no option, and all behind it, are those of another program."""

    def load(self) -> Callable[[Session, Any], int]:
        """Return the function that is the command; its module is imported only now."""
        module, _, name = self.run.rpartition(".")
        run: Callable[[Session, Any], int] = getattr(import_module(f"dwarfgpu.{module}"), name)
        return run


_RUN = "dwarfgpu run k.co saxpy --grid 64 --work-group 64 'x=ones(64)' 'y=ones(64)' 2 64"
COMMANDS = {
    "debug": ShellCommand(
        "look at a snapshot, a core file or code, command by command",
        START,
        "repl.start.debug",
        """\
Debug a snapshot, a core file, a code file alone, or a kernel, which is launched with the words that `dwarfgpu run`
takes. The commands are those of GDB and ROCgdb; `help` lists them. Without a terminal, they are read from standard
input.""",
        (
            "dwarfgpu debug k.cl saxpy --grid 64 --work-group 64 'y=zeros(64)' a=2.5",
            "dwarfgpu debug k.co --state stopped.json",
            "dwarfgpu debug k.co --state stopped.dgs -batch -ex 'info lanes' -ex 'print x'",
            "dwarfgpu debug program --state core -x look.gdb",
            "dwarfgpu debug --args ./app 1024",
        ),
        (
            *(MAYBE_FILE, *KERNEL, evolve(SIZES[0], is_required=False), *SIZES[1:], *HOW_LAUNCHED),
            *(MAYBE_STATE, SYSROOT, WAVE, FRAME, LANE, *READ_AS, FORCE),
            option("-target NAME", "with --args: the processor, as `exec` takes it; repeatable", is_many=True),
        ),
    ),
    "compile": ShellCommand(
        "compile a kernel in OpenCL C or HIP, without ROCm",
        EXECUTE,
        "cli.compiling.compile_file",
        """\
Compile SOURCE with clang and the built-in functions of dwarfgpu. The compiler is $CLANG, else ROCm's clang, else the
newest clang in $PATH. The code object has debug information, and is optimized only with -O. Words after -- are other
options of clang. A HIP source with main() becomes a whole program for `exec` if FILE of -o does not end with .co.

Commands that take FILE also take a source, and compile it: `dwarfgpu run k.cl -O2 KERNEL ...`; k.cl@gfx90a names
a processor.""",
        ("dwarfgpu compile k.cl", "dwarfgpu compile k.hip -o k.co --target gfx90a -O2 -DSIZE=64 -I include"),
        (
            operand("SOURCE", "a file in OpenCL C (.cl) or HIP (.hip, .cpp, .cu)"),
            operand("[CLANG_OPTION...]", "after --: options of clang"),
            option("-o FILE", "the code object to write (k.co in this folder for k.cl; an older one is replaced)"),
            option("-target NAME", "the processor: gfx90a, gfx90a:xnack+, gfx1100-wave64 (gfx1100)"),
        ),
    ),
    "run": ShellCommand(
        "execute a kernel without a GPU, and save what it computes",
        EXECUTE,
        "cli.running.run_kernel",
        """\
Execute a kernel for AMD GPUs instruction by instruction, without a GPU. ARG is NAME=VALUE, or VALUE by position. VALUE
is @FILE.npy, zeros(COUNT, TYPE), ones(COUNT), arange(COUNT), random(COUNT, TYPE, SEED), full(COUNT, VALUE),
noinit(COUNT), a number, or JSON for lists and structures; for a local memory argument, its size in bytes. TYPE is f4,
i4, u8, float, uint and so on; the default is the type of the argument. The single ARG `made` generates all arguments
from their types, as `judge` does. The kernel's own output is printed.

--grid and --work-group give the sizes; a kernel that requires a work-group size needs only --grid.

The exit status is 1 if waves stop at a fault or a trap, or if a check finds errors or warnings.""",
        (
            "dwarfgpu run k.cl saxpy --grid 1024 --work-group 256 x=@x.npy 'y=zeros(1024)' a=2.5 n=1000 --save y=y.npy",
            f"{_RUN} --break 'k.cl:15 if i > 3'",
            f"{_RUN} --trace=lines --lane 3",
            f"{_RUN} --profile -o saxpy.speedscope.json",
        ),
        (
            operand("FILE", "a source (k.cl, k.hip), a code object, or a program; FILE@gfx90a names the processor"),
            *KERNEL,
            *(evolve(SIZES[0], is_required=False), *SIZES[1:]),
            option("-save NAME=OUT", "write a buffer to a file when the kernel has ended; repeatable", is_many=True),
            option("-print NAME", "show the first elements of a buffer, or NAME[FIRST:LAST]; repeatable", is_many=True),
            option(
                "-break PLACE", "stop at FILE:LINE, a function or an address; `PLACE if EXPR`; repeatable", is_many=True
            ),
            option("-if EXPR", "stop at the places of --break only if EXPR is true in a lane"),
            option("-until PLACE", "run to a line or an address"),
            LIMIT,
            *FOLLOWED,
            PROFILE,
            option(
                "-profile-format FORMAT",
                "with --profile: the format of -o FILE (by its name: x.json is speedscope, x.trace.json chrome, "
                "x.pb.gz pprof; with --trace, x.json is chrome)",
                choices=FORMATS,
            ),
            *HOW_LAUNCHED,
            *OF_CHECKS,
            option("-state STATE", "write a snapshot when the kernel stops: STATE.json or STATE.dgs"),
            option(
                "-seeds N",
                "run with N seeds, from --seed (0) on, and show which results differ; with --weak-memory, with N seeds "
                "of weak memory, from its SEED on",
                read=int,
            ),
            option(
                "-jit WHEN",
                "auto: compile each form of an instruction once, when a kernel runs for long; on: from the beginning; "
                "off: never (auto)",
                choices=("auto", "on", "off"),
            ),
            option("-no-cache", "neither read nor write compiled code in $XDG_CACHE_HOME/dwarfgpu/blocks"),
        ),
    ),
    "exec": ShellCommand(
        "run a whole program of HIP or OpenCL without a GPU, and say what its kernels and its calls do wrong",
        EXECUTE,
        "cli.programs.execute_program",
        """\
Run PROGRAM with a simulated GPU. PROGRAM is an executable that hipcc or `dwarfgpu hipcc` has built, a source of HIP, a
program that uses OpenCL, a Python script that uses OpenCL or Triton, or what starts such programs: make, ctest, a shell
script. It keeps its input, output and exit status. Errors of kernels and of the calls of HIP and OpenCL go to standard
error, with the lines of the kernel, of the launch and of the allocation.

Options stand in front of PROGRAM. A source is compiled with -O0: build long programs with `dwarfgpu hipcc`. The exit
status is that of the program; if it is 0 and an error was found, 1.

With --seeds the program runs once for each seed, without input. Its output, to both streams, is printed once, for the
first seed. The exit status is 1 if the output or the exit status differs.""",
        (
            "dwarfgpu exec ./app",
            "dwarfgpu exec app.hip 1024",
            "dwarfgpu exec --check=race ./app 1024",
            "dwarfgpu exec -g --launch 2 --watch 'c[3, 5]' python app.py",
        ),
        (
            operand("PROGRAM", "the program to run; options stand before it"),
            operand("[ARG...]", "the arguments of the program"),
            option(
                "-target NAME",
                "the processor (the newest that the program has code for); repeatable: each is a device of OpenCL",
                is_many=True,
            ),
            CHECK,
            option("-kernel NAME", "check, trace and watch only launches of this kernel; repeatable", is_many=True),
            option("-launch N", "check, trace and watch only this launch, from 1; repeatable", read=int, is_many=True),
            SEED,
            PERMISSIVE,
            option("-g", "Triton: compile kernels with variables, without optimization"),
            option("-lazy", "OpenCL: execute commands only when the program waits for them"),
            PROFILE,
            *FOLLOWED,
            option(
                "-seeds N",
                "run the program with N seeds, from --seed (0) on, and show whether output and exit status differ",
                read=int,
            ),
            option("-report FILE", "write what was found to FILE.html, .sarif or .json; repeatable", is_many=True),
            option("-sarif FILE", "the same as --report FILE (a SARIF 2.1.0 log); FILE must end in .sarif"),
            option("-core DIR", "write a core file to this folder for each launch that a fault ends"),
            option("-break-at-fault", "stop in the debugger at the first error of a kernel, as `debug --args` would"),
        ),
        takes_rest=True,
    ),
    "hipcc": ShellCommand(
        "compile a whole HIP program for `exec`, without ROCm",
        EXECUTE,
        "cli.programs.compile_hip",
        """\
Compile and link a HIP program as hipcc does: host and device, in one call of clang, with the headers and the built-in
functions of dwarfgpu. All words are those of hipcc and clang: sources, -o, -c, -O2, -D, -I, -l, and --offload-arch for
the processor (gfx1100). As with hipcc, the level is -O3 unless another is given; at -O0 every variable can be read, and
kernels take up to ten times longer. The program has debug information unless -g0 is given.""",
        ("dwarfgpu hipcc app.hip -o app", "dwarfgpu hipcc -O0 app.hip -o app", "make HIPCC='dwarfgpu hipcc'"),
        (operand("WORD...", "what hipcc is given"),),
        takes_rest=True,
    ),
    "dap": ShellCommand(
        "let editors debug kernels, through the Debug Adapter Protocol",
        START,
        "cli.debug.debug_adapter",
        """\
Speak the Debug Adapter Protocol of VS Code, Neovim and other editors, to launch a kernel, or to inspect a snapshot or a
core file. Editors start this command and talk to it on standard input and output. With --port it waits for editors at
127.0.0.1; their configurations then need the printed token.""",
        ("dwarfgpu dap", "dwarfgpu dap --port 4711"),
        (
            option("-port N", "wait for editors at this port of 127.0.0.1; 0 is any that is free", read=int),
            option("-token TEXT", 'the "token" of their configurations (a new one each time)'),
        ),
    ),
    "fleet": ShellCommand(
        "ask one question about many dumps or builds, with the workers of Dask",
        LOOK,
        "cli.fleet.fleet",
        """\
Run one command on many inputs. QUESTION is `bt`, `waves`, `eval`, `locals`, `verify`, `coverage`, `judge`,
`memmodel check` or another command that takes FILE, quoted together with its options and expressions but without FILE:
"eval rank --lane all". INPUTS are code files, snapshots, core files, folders of these, patterns, lists of pairs
`CODE,STATE` (.csv, .txt) and URLs. `fleet` writes the answers as rows of Parquet files in --out DIR, and prints a
summary.

A broken input gets a row with its error. The exit status is 3 if an input has no answer, and 1 if `verify`, `judge` or
`memmodel check` has findings that count.""",
        (
            "dwarfgpu fleet bt dumps/ --out stacks",
            "dwarfgpu fleet 'eval rank step --lane all' 'dumps/*.dgs' --code train.co --out ranks",
            "dwarfgpu fleet verify 'build/**/*.co' --scheduler tcp://10.0.0.1:8786 --out checked",
            "dwarfgpu fleet 'memmodel check' build/ --out checked",
            "dwarfgpu fleet bt pairs.csv --out stacks --resume",
        ),
        (
            operand("QUESTION", "a command that takes FILE, with its options, in quotes"),
            operand("INPUTS...", "files, folders, patterns, lists of pairs CODE,STATE, or URLs"),
            option("-code FILE", "the code file for all inputs, which are then states"),
            option("-scheduler S", "local, local:N, or the address of a scheduler: tcp://HOST:PORT (local)"),
            option("-out DIR", "the folder for the answers; all workers must share it"),
            option("-resume", "continue an interrupted run with the same --out"),
        ),
    ),
    "example": ShellCommand(
        "list the examples of the documentation, or write their files",
        START,
        "cli.examples.example",
        """\
Without operands, list the examples, each with a command to start with. With NAME, write its files to this folder; with
-o FOLDER, write the files of all examples, or of the named ones, to FOLDER. The commands of the documentation work in
such a folder.""",
        ("dwarfgpu example", "dwarfgpu example -o examples", "dwarfgpu example blur -o /tmp/blur"),
        (operand("[NAME...]", "an example"), option("-o FOLDER", "the folder to write to; it is made if necessary")),
    ),
    "demo": ShellCommand(
        "show in five steps what dwarfgpu does, on its own examples",
        START,
        "cli.demo.demo",
        """\
Run five commands on the examples: a kernel that fails, the way back to the mistake, lanes, variables, and a core file.
On a terminal, Enter starts each step.""",
        ("dwarfgpu demo",),
    ),
    "docs": ShellCommand(
        "print the pages of the documentation",
        START,
        "cli.pages.docs",
        """\
Without PAGE, list the pages, and who should read each. With PAGE, print the page as Markdown.""",
        ("dwarfgpu docs", "dwarfgpu docs python", "dwarfgpu docs judge -o judge.md"),
        (operand("[PAGE]", "a page: start, crash, python, ..."),),
    ),
    "gdb-script": ShellCommand(
        "print the path of the script that loads dwarfgpu into GDB",
        START,
        "cli.debug.print_gdb_script",
        """\
GDB has its own Python, which does not know this installation. The script checks that Python, and makes
`import dwarfgpu.gdb` possible in scripts of GDB.""",
        ('gdb -x "$(dwarfgpu gdb-script)" ./program',),
    ),
    "completion": ShellCommand(
        "print the script with which a shell completes dwarfgpu's words",
        START,
        "cli.run.completion",
        """\
For bash put `eval "$(dwarfgpu completion bash)"` into ~/.bashrc; for zsh write the output to a file `_dwarfgpu` in a
folder of $fpath; for fish to ~/.config/fish/completions/dwarfgpu.fish.""",
        ('eval "$(dwarfgpu completion bash)"',),
    ),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what only the debugger has."""
    for flags, metavar, kind, text in (
        (("-ex", "--ex"), "CMD", "command", "run a command; may be repeated"),
        (("-x", "--command"), "SCRIPT", "file", "run the commands of a file; may be repeated"),
    ):
        parser.add_argument(*flags, dest="commands", metavar=metavar, action=_InOrder, const=kind, help=text)
    parser.add_argument(
        "-args", "--args", dest="program", metavar="PROGRAM", nargs=argparse.REMAINDER,
        help="debug a whole program with these arguments, from launch to launch; the last option",
    )  # fmt: skip
    for flags, name, text in (
        (("-batch", "--batch"), "batch", "exit after the commands, with their worst exit status"),
        (("-nx", "--nx"), "no_init", "do not read the init file"),
        (("-q", "--quiet"), "quiet", "print nothing at startup"),
    ):
        parser.add_argument(*flags, dest=name, action="store_true", help=text)
