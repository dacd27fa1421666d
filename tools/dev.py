#!/usr/bin/env python3
"""The developer command of dwarfgpu: everything a checkout needs, from one script without dependencies.

    python3 tools/dev.py demo                     show in five steps what dwarfgpu does
    python3 tools/dev.py test [PYTEST ARGS]       every check: ruff, mypy, generated pages, tests
    python3 tools/dev.py test --quick [...]       only pytest; --slow: with the tests marked `slow`; --slow=REV with
                                                  --slow-part K/N: each Nth of them, more of what has changed since REV
    python3 tools/dev.py test --changed[=REV]     pytest on what a change since REV (HEAD) can touch, the nearest tests
                                                  first, for a minute of two processors; the rest is skipped
    python3 tools/dev.py test --cov [...]         what the tests reach, which takes three times as long
    python3 tools/dev.py bench | docs | fixtures | answers | ... [ARGS]   run tools/bench, tools/docs.py, ...

Each command first sets up a virtual environment for the Python it was started with: `.venv/py3.12` for Python 3.12, so
that several Pythons can test one checkout without disturbing each other. dwarfgpu is installed there editable with its
test dependencies. A stamp file records what the environment was made from: another interpreter or a moved checkout
makes it anew, an edited pyproject.toml installs into it again, and otherwise setting up costs next to nothing.
`rm -r .venv` is always safe.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

ROOT = Path(__file__).resolve().parent.parent
TOOLS = ROOT / "tools"
OLDEST = (3, 10)
PROCESSES = 2
EXIT_USAGE = 2
EXIT_INTERRUPTED = 130

IMPORTED = re.compile(r"^ *(?:from|import) ((?:dwarfgpu|tests|tools)[\w.]*)", re.MULTILINE)
"""The modules that a source imports; ``from package import module`` counts as the package."""
ALSO_TESTED_IN = {
    "expr": ("tests/spec", "tests/properties"),
    "isa": ("tests/execution",),
    "questions": ("tests/cli",),
    "render": ("tests/questions",),
}
"""The folders of tests about a package besides the one of its name."""

SCRIPTS = {
    "demo": "show in five steps what dwarfgpu does",
    "bench": "measure what users wait for, each against a peer in the same run",
    "docs": "write the manual page, and what the commands of pages print (--check: only compare)",
    "fixtures": "rebuild the code objects in fixtures/",
    "golden": "compare the golden files with what llvm-dwarfdump prints (--write: write them)",
    "corpus": "compile the corpus in every way, and read each variable at each statement",
    "judge_kernels": "judge the kernels that the project runs: what compilers say of them, and what happens",
    "isa": "write the opcode tables of dwarfgpu/isa (--check: only compare, --random N: decode random words)",
    "hunt": "make the source of a mistake of a compiler small, and find its pass (tools/hunt/README.md)",
    "cases": "answer a file of cases: expressions, call frame information or location lists, one per line",
    "answers": "write the golden answers again, and name those that have changed (--golden)",
    "fuzz": "damage the files in fixtures/ and try everything with them",
}
"""Commands that run the module of their name in tools/ with the environment's Python."""


class DevError(Exception):
    """Something the developer has to put right; the message says what and how."""

    def __init__(self, message: str, status: int = 1) -> None:
        super().__init__(message)
        self.status = status


# --- The environment ----------------------------------------------------------------------------------------------


class Stamp(NamedTuple):
    """What an environment was made from."""

    python: str
    """The interpreter and the place of the checkout: scripts and the editable install hold absolute paths."""
    project: str
    """The declared dependencies."""

    @classmethod
    def wanted(cls) -> Stamp:
        """The stamp of an up-to-date environment for the running interpreter."""
        project = (ROOT / "pyproject.toml").read_bytes()
        python = f"{sys.version} {sys.base_prefix} {ROOT}"
        return cls(hashlib.sha256(python.encode()).hexdigest(), hashlib.sha256(project).hexdigest())

    @classmethod
    def read(cls, path: Path) -> Stamp:
        """The stamp in a file; an empty one where there is none that can be read."""
        try:
            python, project = path.read_text(encoding="ascii").split()
        except (OSError, ValueError):
            return cls("", "")
        return cls(python, project)

    def write(self, path: Path) -> None:
        """Store the stamp: from now on the environment counts as complete."""
        path.write_text(f"{self.python}\n{self.project}\n", encoding="ascii")


class Environment:
    """The virtual environment of one Python minor version."""

    def __init__(self) -> None:
        name = f"py{sys.version_info[0]}.{sys.version_info[1]}"
        self.folder = ROOT / ".venv" / name
        self.python = self.folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
        self.stamp_file = self.folder / "dwarfgpu-stamp"
        self.log_file = ROOT / ".venv" / f"{name}-pip.log"

    def prepare(self) -> None:
        """Make the environment, or bring it up to date."""
        wanted = Stamp.wanted()
        if self._is_current(wanted):
            return
        self.folder.parent.mkdir(exist_ok=True)
        with _locked(ROOT / ".venv" / "lock"):
            found = Stamp.read(self.stamp_file)  # again: another run may have made it meanwhile
            if self._is_current(wanted):
                return
            where = self.folder.relative_to(ROOT)
            started = time.monotonic()
            if found.python == wanted.python and self.python.exists():
                announce(f"{where}: pyproject.toml changed, installing again")
            else:
                announce(f"{where}: setting up (once; up to a minute)")
                self._create()
            self._install()
            wanted.write(self.stamp_file)
            announce(f"{where}: ready ({_seconds(started)})")

    def _is_current(self, wanted: Stamp) -> bool:
        return Stamp.read(self.stamp_file) == wanted and self.python.exists()

    def _create(self) -> None:
        version = ".".join(map(str, sys.version_info[:2]))
        if importlib.util.find_spec("venv") is None or importlib.util.find_spec("ensurepip") is None:
            raise DevError(
                f"this Python ({sys.executable}) cannot make virtual environments: install its venv module"
                f" (Debian and Ubuntu: apt install python{version}-venv)"
            )
        shutil.rmtree(self.folder, ignore_errors=True)
        # Started from the very environment it is about to replace, the script must use the Python below it.
        base = getattr(sys, "_base_executable", None) or sys.executable
        done = subprocess.run([base, "-m", "venv", self.folder], capture_output=True, text=True, check=False)
        if done.returncode:
            advice = f"python{version} -m venv works"
            self._fail("making the virtual environment", done.stdout + done.stderr, advice)

    def _install(self) -> None:
        for what in (["pip>=25.1"], ["--editable", str(ROOT), "--group", "dev"]):  # older pips know no groups
            done = subprocess.run(
                [str(self.python), "-m", "pip", "install", "--disable-pip-version-check", "--no-input", *what],
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                encoding="utf-8",
                errors="replace",
                cwd=ROOT,
                check=False,
            )
            if done.returncode:
                advice = "the package index is reachable (else set PIP_INDEX_URL or PIP_PROXY)"
                self._fail("pip install", done.stdout, advice)
        # an editable installation is not compiled by pip, and start-up times depend on it
        subprocess.run([str(self.python), "-m", "compileall", "-q", str(ROOT / "dwarfgpu")], check=False)

    def _fail(self, what: str, output: str, advice: str) -> None:
        """Report a failed program in one line, and keep what it printed."""
        self.log_file.write_text(output, encoding="utf-8")
        lines = [line.strip() for line in output.splitlines() if line.strip()] or ["no output"]
        cause = next((line for line in reversed(lines) if line.startswith("ERROR:")), lines[-1])
        log = self.log_file.relative_to(ROOT)
        cause = cause.removeprefix("ERROR: ")
        raise DevError(f"{what} failed: {cause}; check that {advice}; whole output: {log}")


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Let one process at a time set up environments, where the system can tell."""
    with path.open("w", encoding="ascii") as file:
        if sys.platform != "win32":
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX)
        yield


# --- Running programs ---------------------------------------------------------------------------------------------


def announce(text: str) -> None:
    """Print a line of our own, in order with the output of the programs."""
    print(f"== {text}", flush=True)


def _seconds(started: float) -> str:
    return f"{time.monotonic() - started:.1f} s"


def run(environment: Environment, arguments: Sequence[str | Path]) -> int:
    """Run the environment's Python in the checkout; returns the exit status as a shell would give it.

    Tests start hundreds of processes: byte code is kept in the environment, also where PYTHONDONTWRITEBYTECODE is set.
    """
    variables = {**os.environ, "PYTHONPYCACHEPREFIX": str(environment.folder / "bytecode")}
    variables.pop("PYTHONDONTWRITEBYTECODE", None)
    status = subprocess.run([environment.python, *arguments], cwd=ROOT, env=variables, check=False).returncode
    return 128 - status if status < 0 else status


def run_script(name: str, arguments: Sequence[str]) -> int:
    """Run ``tools/<name>.py``, or the package of that name."""
    script = TOOLS / name if (TOOLS / name / "__main__.py").exists() else TOOLS / f"{name}.py"
    if not script.exists():
        where = script.relative_to(ROOT)
        raise DevError(f"`{name}` needs {where}, which this checkout does not have", EXIT_USAGE)
    environment = Environment()
    environment.prepare()
    return run(environment, [script, *arguments])


# --- The checks ---------------------------------------------------------------------------------------------------


class Step(NamedTuple):
    """One check: the arguments for Python, under a name."""

    name: str
    arguments: list[str]


def steps(pytest_arguments: Sequence[str], *, quick: bool, slow: bool) -> Iterator[Step]:
    """The checks of ``test``, cheapest first."""
    pytest = ["-m", "pytest", "-p", "tests.forked", "--processes", str(PROCESSES)]
    if any(argument.startswith("--cov") for argument in pytest_arguments):
        pytest = ["-m", "pytest", "-n", str(PROCESSES)]
    if not slow:
        pytest += ["-m", "not slow"]
    if not quick:
        yield Step("ruff check", ["-m", "ruff", "check"])
        yield Step("ruff format", ["-m", "ruff", "format", "--check"])
        yield Step("mypy", ["-m", "mypy"])
        yield Step("docs", [str(TOOLS / "docs.py"), "--check"])
    yield Step("pytest", [*pytest, *pytest_arguments])


def run_checks(pytest_arguments: Sequence[str], *, quick: bool, slow: bool) -> int:
    """Run all checks; the status is that of the first that failed, and the last line names all that failed."""
    environment = Environment()
    environment.prepare()
    failed: dict[str, int] = {}
    todo = list(steps(pytest_arguments, quick=quick, slow=slow))
    for step in todo:
        announce(step.name)
        started = time.monotonic()
        status = run(environment, step.arguments)
        if status:
            failed[step.name] = status
        announce(f"{step.name}: {f'FAILED, status {status}' if status else 'ok'} ({_seconds(started)})")
    version = ".".join(map(str, sys.version_info[:3]))
    if failed:
        announce(f"FAILED with Python {version}: {', '.join(failed)}")
        return next(iter(failed.values()))
    announce(f"passed with Python {version}: {', '.join(step.name for step in todo)}")
    return 0


# --- What a change can touch --------------------------------------------------------------------------------------


def changed_files(revision: str) -> set[str]:
    """Return the files that differ from a revision, new ones too."""
    names: set[str] = set()
    for words in (["diff", "--name-only", revision], ["ls-files", "--others", "--exclude-standard"]):
        done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False)
        if done.returncode:
            raise DevError(f"git {words[0]} failed: {done.stderr.strip() or 'is this a checkout?'}", EXIT_USAGE)
        names.update(done.stdout.splitlines())
    return names


def touched_tests(changed: set[str], root: Path = ROOT) -> list[str]:
    """Return the test files that a change can touch, the nearest first.

    These have changed, import a module that has changed, are in a folder of tests about its package, or import a module
    of its package or of `tests/builders` that imports it.
    """
    sources = {
        path.relative_to(root).as_posix(): path
        for part in ("dwarfgpu", "tests", "tools")
        for path in root.glob(f"{part}/**/*.py")
    }
    imports = {name: set(IMPORTED.findall(path.read_text(encoding="utf-8"))) for name, path in sources.items()}
    reached = dict.fromkeys((name for name in changed if name.endswith(".py")), 0)
    near = {*(str(Path(name).parent) for name in reached), "tests/builders"}
    for distance in (1, 3):
        passed = {name for name in reached if str(Path(name).parent) in near}
        modules = {name.removesuffix(".py").removesuffix("/__init__").replace("/", ".") for name in passed}
        reached = {name: distance for name, found in imports.items() if found & modules} | reached
    folders = {f"tests/{part}" for part in ("docs", "fixtures") if any(name.startswith(f"{part}/") for name in changed)}
    for name in changed:
        package = Path(name).parent
        if package.parts[:1] == ("dwarfgpu",) and len(package.parts) > 1:
            folder = Path("tests", *package.parts[1:])
            while not (root / folder).is_dir():
                folder = folder.parent
            folders |= {folder.as_posix(), *ALSO_TESTED_IN.get(package.parts[1], ())} - {"tests"}
    for name in sources:
        if folders & {parent.as_posix() for parent in Path(name).parents}:
            reached[name] = min(2, reached.get(name, 2))
    reached["tests/test_architecture.py"] = 0  # a limit of time never skips it
    tests = (name for name in reached if name in sources and Path(name).name.startswith("test_"))
    return sorted(tests, key=lambda name: (reached[name], name))


# --- The command line ---------------------------------------------------------------------------------------------


def _parser() -> argparse.ArgumentParser:
    width = max(map(len, SCRIPTS))
    commands = {"test": "run every check (--quick: only pytest; --slow: the long comparisons too)", **SCRIPTS}
    parser = argparse.ArgumentParser(
        prog="tools/dev.py",
        description="The developer command of dwarfgpu. It sets up .venv and runs:",
        epilog="\n".join(f"  {name:{width}}  {text}" for name, text in commands.items()),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("command", choices=commands, metavar="COMMAND", help="one of those below")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, metavar="...", help="its own (test: pytest's)")
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command."""
    parser = _parser()
    options = parser.parse_args(argv)
    arguments: list[str] = options.arguments
    try:
        if options.command != "test":
            return run_script(options.command, arguments)
        if "-h" in arguments or "--help" in arguments:
            parser.print_help()
            return 0
        own = [argument for argument in arguments if argument.split("=")[0] in ("--quick", "--slow", "--changed")]
        pytest_arguments = [argument for argument in arguments if argument not in own]
        since = [argument.partition("=")[2] or "HEAD" for argument in own if argument.startswith("--changed")]
        for revision in since:
            pytest_arguments += touched_tests(changed_files(revision))
        if since and not any(argument.startswith("--cov") for argument in arguments):
            pytest_arguments.insert(0, "--minutes=0.8")  # and some seconds for imports
        slow = [argument.partition("=")[2] for argument in own if argument.startswith("--slow")]
        for revision in filter(None, slow):
            pytest_arguments += [f"--slow-near={name}" for name in touched_tests(changed_files(revision))]
        return run_checks(pytest_arguments, quick="--quick" in own or bool(since), slow=bool(slow))
    except DevError as error:
        print(f"dev.py: error: {error}", file=sys.stderr)
        return error.status
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED


if __name__ == "__main__":
    if sys.version_info < OLDEST:
        needed = ".".join(map(str, OLDEST))
        sys.exit(f"dev.py: error: Python {needed} or newer is needed, this is {sys.version.split()[0]}")
    sys.exit(main())
