#!/usr/bin/env python3
"""The code objects and host programs in fixtures/: check that they are what the manifest says, or build them again.

    python3 tools/dev.py fixtures                    check, as the tests do: needs no compilers
    python3 tools/dev.py fixtures --list [NAME...]   what there is, and what it is for
    python3 tools/dev.py fixtures --commands NAME... the exact commands that made them
    python3 tools/dev.py fixtures --rebuild [NAME...]

NAME is a path below fixtures/ or a pattern such as 'asm/*'. Rebuilding works on a copy. Only what came out different is
written back, into fixtures/ and into the manifest, and is listed with its old and new hash; the exit status is then 1.
What needs a tool that is not installed is left alone and listed. LLVM 24 comes from the package `triton`, a large one:

    python3 -m venv .venv/llvm24 && .venv/llvm24/bin/pip install triton==3.9.0

Another Python that has it can be named in the environment variable LLVM24_PYTHON.
"""

from __future__ import annotations

import argparse
import fnmatch
import hashlib
import importlib
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "fixtures"
MANIFEST = "MANIFEST.toml"

MAX_FILE = 100_000
MAX_TOTAL = 12_000_000
SCRATCH = "tmp"
"""The folder for what a recipe makes on its way; the same name in every build, because objects may mention it."""

TRACES = re.compile(rb"/(?:home|root|tmp|work|mnt|media|Users)/[\w.-]+")
"""What would tell on which machine a file was built."""


class FixtureError(Exception):
    """A build failed, or a name is not known; the message says what and how."""


# --- The manifest -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Fixture:
    """One file of fixtures/, written by hand or built."""

    name: str
    purpose: str
    sha256: str
    tools: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    """In the order they run, with nothing left to fill in; a source has none."""

    @property
    def path(self) -> Path:
        """Where it is."""
        return FOLDER / self.name


@dataclass(frozen=True)
class Manifest:
    """What MANIFEST.toml says."""

    fixtures: tuple[Fixture, ...]
    tools: dict[str, dict[str, str]]

    @classmethod
    def read(cls) -> Manifest:
        """Read it, and fill in the commands."""
        # Python 3.10 has no parser of its own; there, pytest brings this one.
        toml = importlib.import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
        data: dict[str, Any] = toml.loads((FOLDER / MANIFEST).read_text(encoding="utf-8"))
        fixtures = [Fixture(entry["file"], entry["for"], entry["sha256"]) for entry in data["source"]]
        for recipe in data["recipe"]:
            fixtures.extend(_built(recipe, row, data["flags"]) for row in recipe["files"])
        return cls(tuple(fixtures), data["tools"])

    def select(self, patterns: Sequence[str]) -> list[Fixture]:
        """The fixtures that the patterns name, all without patterns; a pattern that names none is an error."""
        for pattern in patterns:
            if not any(fnmatch.fnmatch(fixture.name, pattern) for fixture in self.fixtures):
                raise FixtureError(f"no fixture is called {pattern}: `--list` shows all names")
        names = patterns or ["*"]
        return [one for one in self.fixtures if any(fnmatch.fnmatch(one.name, name) for name in names)]


def _built(recipe: dict[str, Any], row: dict[str, str], flags: dict[str, str]) -> Fixture:
    """One file of a recipe: the braces of its commands hold flags, the values of the row, or {file}."""
    words = {**flags, **row, "llvm24": "{llvm24}"}

    def fill(text: str) -> str:
        try:
            return re.sub(r"\{(\w+)\}", lambda found: words[found[1]], text)
        except KeyError as error:
            raise FixtureError(f"{MANIFEST}: {row['file']}: nothing is called {error} in `{text}`") from None

    purpose = f"{recipe['for']}: {row['for']}" if "for" in row else recipe["for"]
    commands = tuple(" ".join(fill(command).split()) for command in recipe["commands"])
    sources = tuple(map(fill, recipe["sources"]))
    return Fixture(row["file"], purpose, row["sha256"], tuple(recipe["tools"]), sources, commands)


def digest(path: Path) -> str:
    """The SHA-256 of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


# --- Checking -----------------------------------------------------------------------------------------------------


def problems(manifest: Manifest) -> Iterator[str]:
    """Everything that is wrong with fixtures/, one sentence each."""
    named: set[str] = set()
    for fixture in manifest.fixtures:
        if fixture.name in named:
            yield f"{fixture.name}: stands twice in {MANIFEST}"
        named.add(fixture.name)
        if not fixture.path.is_file():
            yield f"{fixture.name}: missing"
        elif digest(fixture.path) != fixture.sha256:
            advice = "rebuild it" if fixture.commands else "rebuild what is made from it"
            yield f"{fixture.name}: not the file that {MANIFEST} describes; {advice}"
        if not fixture.purpose:
            yield f"{fixture.name}: {MANIFEST} does not say what it is for"
        yield from (
            f"{fixture.name}: made by {tool}, which {MANIFEST} does not know"
            for tool in fixture.tools
            if tool not in manifest.tools
        )
    for fixture in manifest.fixtures:
        yield from (
            f"{fixture.name}: made from {source}, which is not in {MANIFEST}"
            for source in fixture.sources
            if source not in named
        )
    total = 0
    for path in files():
        name = path.relative_to(FOLDER).as_posix()
        size = path.stat().st_size
        total += size
        if name not in named and name != MANIFEST:
            yield f"{name}: not in {MANIFEST}"
        if size > MAX_FILE:
            yield f"{name}: {size:,} bytes are more than {MAX_FILE:,}"
    if total > MAX_TOTAL:
        yield f"all together {total:,} bytes, more than {MAX_TOTAL:,}"
    for fixture in manifest.fixtures:
        if fixture.path.is_file() and (trace := TRACES.search(fixture.path.read_bytes())):
            yield f"{fixture.name}: holds a path of the machine that built it, {trace[0].decode()}"


def files() -> list[Path]:
    """Every file below fixtures/."""
    return sorted(path for path in FOLDER.rglob("*") if path.is_file() and "__pycache__" not in path.parts)


def check(manifest: Manifest) -> int:
    """Print what is wrong; the status is 1 if anything is."""
    found = list(problems(manifest))
    for problem in found:
        print(f"fixtures: {problem}", file=sys.stderr)
    if found:
        return 1
    total = sum(path.stat().st_size for path in files())
    built = sum(bool(fixture.commands) for fixture in manifest.fixtures)
    print(f"fixtures: {built} built files and {len(manifest.fixtures) - built} sources, {total:,} bytes: as described")
    return 0


# --- Rebuilding ---------------------------------------------------------------------------------------------------


def llvm24() -> str | None:
    """Return a Python that has triton; without one what needs it is left out."""
    python = os.environ.get("LLVM24_PYTHON") or str(ROOT / ".venv" / "llvm24" / "bin" / "python")
    return shutil.which(python)


def program(words: Sequence[str]) -> str:
    """The program that a command runs."""
    if words[0] == "env":
        return next(word for word in words[1:] if "=" not in word)
    return words[0]


class Workshop:
    """A copy of fixtures/ in which commands run."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.llvm24 = llvm24()
        self._last: tuple[str, ...] = ()
        for path in files():
            copy = folder / path.relative_to(FOLDER)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(path, copy)

    def words(self, command: str) -> list[str]:
        """A command, split as a shell would; without its tool the list is empty."""
        if "{llvm24}" in command:
            if self.llvm24 is None:
                return []
            command = command.replace("{llvm24}", shlex.quote(self.llvm24))
        words = shlex.split(command)
        return words if shutil.which(program(words)) else []

    def missing(self, fixture: Fixture) -> str | None:
        """The first tool of a fixture that is not installed."""
        for command in fixture.commands:
            if not self.words(command):
                return "triton" if "{llvm24}" in command else program(shlex.split(command))
        return None

    def build(self, fixture: Fixture) -> str:
        """Run the commands, unless they just ran for another file of theirs; returns the hash."""
        made = self.folder / fixture.name
        if fixture.commands != self._last:
            self._last = ()
            shutil.rmtree(self.folder / SCRATCH, ignore_errors=True)
            (self.folder / SCRATCH).mkdir()
            made.parent.mkdir(parents=True, exist_ok=True)
            made.unlink(missing_ok=True)
            for command in fixture.commands:
                self._run(fixture, command)
            self._last = fixture.commands
        if not made.is_file():
            raise FixtureError(f"{fixture.name}: its commands do not make it")
        return digest(made)

    def _run(self, fixture: Fixture, command: str) -> None:
        done = subprocess.run(
            self.words(command),
            cwd=self.folder,
            env={**os.environ, "LC_ALL": "C", "SOURCE_DATE_EPOCH": "0", "PYTHONDONTWRITEBYTECODE": "1"},
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
        if done.returncode:
            raise FixtureError(f"{fixture.name}: status {done.returncode} of\n  {command}\n{done.stdout}{done.stderr}")


def versions(manifest: Manifest, tools: Iterable[str], workshop: Workshop) -> Iterator[str]:
    """Tools that are not of the version the fixtures were made with."""
    for tool in sorted(set(tools)):
        wanted, query = manifest.tools[tool]["version"], manifest.tools[tool]["query"]
        words = workshop.words(query)
        said = subprocess.run(words, capture_output=True, text=True, check=False).stdout if words else ""
        if words and wanted not in said:
            first = said.splitlines()[0] if said else "nothing"
            yield f"{tool}: made with {wanted}, here `{query}` says {first}: differences are to be expected"


def record(name: str, value: str) -> None:
    """Write a new hash into the manifest: it stands after the name, in the line of the file or a little below."""
    text = (FOLDER / MANIFEST).read_text(encoding="utf-8")
    place = re.compile(rf'(file = "{re.escape(name)}".*?sha256 = ")[0-9a-f]*(")', re.DOTALL)
    text, count = place.subn(rf"\g<1>{value}\g<2>", text, count=1)
    if count != 1:
        raise FixtureError(f"{name}: no place for its hash in {MANIFEST}")
    (FOLDER / MANIFEST).write_text(text, encoding="utf-8")


def rebuild(manifest: Manifest, patterns: Sequence[str]) -> int:
    """Build again, write back what differs and say so."""
    chosen = manifest.select(patterns)
    skipped: dict[str, list[str]] = {}
    same = changed = failed = 0
    with tempfile.TemporaryDirectory(prefix="fixtures-") as scratch:
        workshop = Workshop(Path(scratch))
        for warning in versions(manifest, (tool for one in chosen for tool in one.tools), workshop):
            print(f"fixtures: {warning}")
        for fixture in chosen:
            if fixture.commands and (tool := workshop.missing(fixture)):
                skipped.setdefault(tool, []).append(fixture.name)
                continue
            try:
                value = workshop.build(fixture) if fixture.commands else digest(fixture.path)
            except FixtureError as error:
                print(f"failed: {error}", flush=True)
                failed += 1
                continue
            if value == fixture.sha256 and (not fixture.commands or fixture.path.is_file()):
                same += 1
                continue
            if fixture.commands:
                fixture.path.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(workshop.folder / fixture.name, fixture.path)
            record(fixture.name, value)
            changed += 1
            print(f"changed: {fixture.name}\n  {fixture.sha256 or '(new)'}\n  {value}", flush=True)
    for tool, names in skipped.items():
        print(f"left alone, because {tool} is not installed: {', '.join(names)}")
    print(
        f"fixtures: {same} the same, {changed} changed, {sum(map(len, skipped.values()))} left alone, {failed} failed"
    )
    return 1 if changed or failed else 0


# --- The command line ---------------------------------------------------------------------------------------------


def show(fixtures: Iterable[Fixture]) -> None:
    """Names, sizes and purposes."""
    for fixture in fixtures:
        size = fixture.path.stat().st_size if fixture.path.is_file() else 0
        print(f"{size:>7,}  {fixture.name}\n         {fixture.purpose}")


def show_commands(manifest: Manifest, fixtures: Iterable[Fixture]) -> None:
    """What made each file, to be run in a copy of fixtures/ with an empty folder tmp/."""
    for fixture in fixtures:
        print(f"# {fixture.name}: {fixture.purpose}")
        for tool in fixture.tools:
            print(f"# with {manifest.tools[tool]['packages']}, version {manifest.tools[tool]['version']}")
        print("".join(f"{command}\n" for command in fixture.commands) or "# written by hand\n")


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command."""
    parser = argparse.ArgumentParser(
        prog="tools/fixtures.py", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--check", action="store_true", help="compare with the manifest (the default)")
    what.add_argument("--list", action="store_true", help="show names, sizes and purposes")
    what.add_argument("--commands", action="store_true", help="show the commands")
    what.add_argument("--rebuild", action="store_true", help="build again and show what changed")
    parser.add_argument("names", nargs="*", metavar="NAME", help="paths below fixtures/ or patterns; default: all")
    options = parser.parse_args(argv)
    try:
        manifest = Manifest.read()
        if options.list:
            show(manifest.select(options.names))
        elif options.commands:
            show_commands(manifest, manifest.select(options.names))
        elif options.rebuild:
            return rebuild(manifest, options.names)
        else:
            return check(manifest)
    except FixtureError as error:
        print(f"fixtures: error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
