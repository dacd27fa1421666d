#!/usr/bin/env python3
"""Write down all answers of a checkout, to compare them with those of another one.

    python3 tools/dev.py answers BEFORE                  all answers, as files in a new folder
    python3 tools/dev.py answers AFTER --file 'asm/*'    those about some fixtures
    diff -r BEFORE AFTER                                 what a change changes
    python3 tools/dev.py answers --golden                write those in tests/golden/answers again

Each question about files is asked about each fixture, each question about waves about the states of dwarfgpu/examples,
and sessions of the debugger launch the kernels of fixtures; as text and as JSON. An answer is the command, what it
prints and its status. A fixture has a process of its own, so that its answers depend on nothing else.
"""

from __future__ import annotations

import argparse
import fnmatch
import json
import multiprocessing
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT)]


def _split(text: str) -> tuple[str, ...]:
    """Return what semicolons separate."""
    return tuple(part.strip() for part in text.split(";"))


ABOUT_FILES = _split(
    """
    info; info --units; ls; kernels --fields; files; dump --section all; cfi; coverage;
    coverage --svg; verify --verbose; memmodel check; report
    """
)
ABOUT_FUNCTIONS = ("info --pc {0} --name {0}", "dump {0}", "kernels {0}", "locals --pc {0}", "cfi --function {0}")
ABOUT_WAVES = _split(
    """
    files; agents; dispatches; queues; waves --each; lanes --all --each --wave 1; lanes --group --wave 1;
    lanes --svg --wave 1; bt --full --registers; bt --wave all; locals --location --verbose;
    locals --wave all; locals --lane all; report
    """
)
STATES = (
    ("asm/lane-pc.gfx90a.w64.co", "variables.json"),
    ("asm/lane-pc.gfx90a.w64.co", "lanes.json"),
    ("llvm24/hip-calls.gfx1100.w32.O2.co", "calls.json"),
    ("", "crash.core"),
    ("", "stopped.json"),
)
AT_THE_PROMPT = _split(
    """
    info locals; info args; info frame; info registers; info threads; info lanes; info source; info line;
    info symbol $pc; info scope 1; info functions; info variables; info types; info sources;
    info sharedlibrary; list; disassemble /s; x/8i $pc; x/8xw $sp; print $pc; print/x $exec; context; map; up;
    info frame
    """
)
WHILE_RUNNING = _split(
    """
    info args; step; next; stepi 20; info locals; info outstanding; reverse-stepi 3; reverse-step; bt -full;
    info registers; disassemble; tbreak 1000; finish; continue; info breakpoints; info waves; reverse-continue
    """
)
LAUNCHES = {
    "saxpy": "saxpy 64 32 x=arange(64) y=ones(64) a=2 n=50",
    "divergent": "divergent 64 64 out=zeros(64) limit=40",
    "_Z9divergentPii": "_Z9divergentPii 64 64 0x10000 20",
    "spaces": "spaces 64 64 out=zeros(64,i4) n=7",
    "records": "records 32 32",
    "even_first": "even_first 64 64 out=zeros(63) in=arange(63) n=63",
}


def questions(name: str) -> Iterator[list[str]]:
    """Yield the words of all questions about a fixture, or about the states that need none."""
    file = f"fixtures/{name}"
    for text in ABOUT_FILES if name else ():
        yield _with_file(text, file)
    for function in _names("coverage", "functions", file) if name else ():
        for text in ABOUT_FUNCTIONS:
            yield [*_with_file(text.format(shlex.quote(function)), file)]
    if name:
        yield ["debug", file, "-q", "-batch", *_typed(AT_THE_PROMPT)]
    for about, state in STATES:
        if about != name:
            continue
        where = [*([file] if name else []), "--state", f"dwarfgpu/examples/{state}"]
        for text in ABOUT_WAVES:
            command, *rest = text.split()
            yield [command, *where, *rest]
        yield ["debug", *where, "-q", "-batch", *_typed(AT_THE_PROMPT)]
    for function in _names("kernels", "kernels", file) if name else ():
        if function in LAUNCHES:
            launch = [f"target launch {LAUNCHES[function]}", f"break {function}", "continue", *AT_THE_PROMPT]
            yield ["debug", file, "-q", "-batch", *_typed((*launch, *WHILE_RUNNING))]


def _with_file(text: str, file: str) -> list[str]:
    command, *rest = shlex.split(text)
    return [command, rest.pop(0), file, *rest] if command == "memmodel" else [command, file, *rest]


def _typed(lines: tuple[str, ...]) -> list[str]:
    return [word for line in lines for word in ("-ex", line)]


def _names(question: str, key: str, file: str) -> list[str]:
    """Return the first names in an answer."""
    from tests.builders.commands import run

    done = run(question, file, "--json")
    found = json.loads(done.stdout)[key] if not done.returncode else []
    names = sorted({name for row in found if (name := row.get("function") or row.get("name"))})
    return names[:12]


def write(name: str, folder: Path) -> int:
    """Write the answers to all questions about a fixture; return how many."""
    from tests.builders.commands import run

    path = folder / f"{name or 'states'}.txt"
    path.parent.mkdir(parents=True, exist_ok=True)
    count = 0
    with path.open("w", encoding="utf-8") as file:
        for words in questions(name):
            in_json = [f"{word} --json" if word in AT_THE_PROMPT else word for word in words]
            for form in (words, in_json if in_json != words else [*words, "--json"]):
                done = run(*form, env={"COLUMNS": "100"})
                file.write(f"$ dwarfgpu {shlex.join(form)}\n{done.stdout}{done.stderr}= {done.returncode}\n\n")
                count += 1
    return count


def main() -> int:
    """Write the answers that a command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument("folder", nargs="?", type=Path, help="where the answers are written: a new folder")
    which.add_argument("--golden", action="store_true", help="ask the questions in tests/golden/answers again")
    parser.add_argument("--file", action="append", default=[], metavar="GLOB", help="only such fixtures; repeatable")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="how many processes (2)")
    options = parser.parse_args()
    if options.golden:
        from tests.builders import frozen

        for name in frozen.names():
            for command in frozen.answer_again(name):
                print(f"{name}: {command}")
        return 0
    options.folder.mkdir(parents=True)
    fixtures = ROOT / "fixtures"
    names = sorted(
        path.relative_to(fixtures).as_posix()
        for path in fixtures.glob("*/**/*")
        if path.is_file() and "src" not in path.parts
    )
    names = ["", *names] if not options.file else [n for n in names if any(fnmatch.fnmatch(n, g) for g in options.file)]
    with multiprocessing.get_context("fork").Pool(options.jobs, maxtasksperchild=1) as pool:
        counts = pool.starmap(write, [(name, options.folder) for name in names], chunksize=1)
    print(f"answers: {sum(counts)} answers about {len(names)} files")
    return 0


if __name__ == "__main__":
    sys.exit(main())
