#!/usr/bin/env python3
"""Give everything that a file can name a name that means something to a browser or a terminal, and read what comes out.

    python3 tools/dev.py fuzz --pages --seconds 60       for a minute
    python3 tools/dev.py fuzz --pages --count 10000      that many files
    python3 tools/dev.py fuzz --pages --replay 17        one file

A file has names as payloads: its path, unit, folder, producer, kernel, symbol, variables, types, and the waves of its
state. Its page and its pictures must have the elements and attributes of those of a twin that has harmless names of the
same lengths; its text, with colours, must hold no character that steers a terminal except the colours. Each answer must
end within 2 seconds of processor time and 1 GiB of memory, with a status of the program.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
import tempfile
import time
import xml.etree.ElementTree as ET
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tools")]

from fuzz_limits import TooLong, limit_memory, limited_time  # noqa: E402

from tests.builders.commands import run  # noqa: E402
from tests.builders.dwarf import die  # noqa: E402
from tests.builders.hostile import gpu, member, named, state, variable  # noqa: E402

SECONDS, MEMORY = 2.0, 1 << 30
PAYLOADS = (
    *("<script>alert(1)</script>", "</script><script>", "<!--", "-->", "]]>", "<![CDATA[", "<img src=x onerror=x>"),
    *("&amp;", "&#x3c;", "&", "<", ">", "{{7*7}}", "${x}", "%s", "%n", "\\", "\\u003c", "a=b", "x++", "url(//x)"),
    *(
        '"onload="x',
        "'onload='x",
        "` onload=x",
        "</pre>",
        "</title>",
        "</svg>",
        "</text>",
        "*/",
        "}</style>",
        "<?xml?>",
    ),
    *(
        "javascript:x",
        "data:text/html,x",
        "\u3042" * 60,
        "=" * 90,
        "-" * 90,
        "#",
        "@",
        "::",
        "<>",
        "operator<<",
        " ",
        "0",
    ),
    *("\x1b[31m", "\x1b]0;title\x07", "\x1b[2J", "\x9b31m", "\x07", "\b\b", "\r", "\n", "\t", "\x7f", "\v", "\x1bc"),
    *("\u202e", "\u2066", "\u200f", "\u200b", "\ufeff", "\u2028", "\u00ad", "\ufffe", "\U000e0041", "\u0301" * 40),
    *("a" * 300, "a " * 200, "x" * 5000, "<?xml?>", " ", "0"),
)
SLOTS = ("kernel", "unit", "folder", "producer", "symbol", "one", "two", "three", "kind", "inner", "wave", "file")
STEERS = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\U000e0000-\U000e007f]"
)
COLOUR = re.compile(r"\x1b\[[0-9;]*m")
PAGES = ("report {file} --state {state}", "lanes {file} --state {state} --svg", "coverage {file} --svg")
TEXTS = (
    *("info {file}", "info {file} --units", "kernels {file}", "dump {file}", "coverage {file}", "verify {file}"),
    *(
        "waves {file} --state {state}",
        "bt {file} --state {state} --full",
        "locals {file} --state {state} --all --location",
    ),
    "files {file} --state {state}",
)


class Finding(NamedTuple):
    """What is wrong with the answer to a command about a file."""

    number: int
    command: str
    what: str


class Elements(HTMLParser):
    """The elements of a page, each with the names of its attributes, and how many comments it has."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: Counter[tuple[str, str]] = Counter()
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found[tag, " ".join(name for name, _ in attrs)] += 1

    def handle_comment(self, _data: str) -> None:
        self.found["comment", ""] += 1

    def handle_decl(self, decl: str) -> None:
        self.found["declaration", decl] += 1

    def unknown_decl(self, _data: str) -> None:
        self.found["unknown declaration", ""] += 1

    def handle_pi(self, _data: str) -> None:
        self.found["instruction", ""] += 1


def names_of(rng: random.Random) -> dict[str, str]:
    """Payloads for some of the slots, alone or joined; a name has no NUL, and a path no slash."""
    names = {slot: f"name{index}" for index, slot in enumerate(SLOTS)}
    for slot in rng.sample(SLOTS, rng.randint(1, len(SLOTS))):
        name = "".join(rng.choice(PAYLOADS) for _ in range(rng.choice((1, 1, 2, 3))))
        names[slot] = (
            name.replace("/", "|").replace("@", "a").encode()[:200].decode(errors="ignore") if slot == "file" else name
        )
    return names


def harmless(names: dict[str, str]) -> dict[str, str]:
    """Names of the same lengths whose letters mean nothing; what separates the parts of a path or scope stays.

    Two that are equal stay equal: a page shows variables of one name once.
    """
    letters = dict(reversed([*zip(names.values(), "ghijklmnopqr", strict=True)]))
    return {slot: re.sub(r"[^A-Za-z0-9_/:. ]", letters[name], name) for slot, name in names.items()}


def built(folder: Path, names: dict[str, str]) -> dict[str, str]:
    """Write a file and its state; return their paths."""
    folder.mkdir()
    path = folder / f"{names['file'].strip('.') or 'k'}.co"
    kind = die(
        "structure_type", named(names["kind"]), ("byte_size", "data1", 4), member(names["inner"], "int"), label="s"
    )
    values = variable(names["one"]), variable(names["two"], "s"), variable(names["three"])
    path.write_bytes(
        gpu(
            *values,
            types=[kind],
            kernel=names["kernel"],
            unit_name=names["unit"],
            folder=names["folder"],
            producer=names["producer"],
            symbols=(names["symbol"],),
        )
    )
    return {"file": str(path), "state": str(state(folder / "state.json", path, waves=[names["wave"], "1:1:1:2"]))}


def asked(command: str, paths: dict[str, str], *options: str) -> str:
    """Return what a command writes; a status that the program has not, and a traceback, are errors."""
    words = [word.format(**paths) for word in command.split()]
    with limited_time(SECONDS):
        done = run(*words, *options)
    if done.returncode not in (0, 1, 2, 3):
        raise AssertionError(f"the status is {done.returncode}")
    return done.stdout if command in PAGES else done.stdout + done.stderr


def wrong_with(command: str, paths: dict[str, str], twin: dict[str, str]) -> str:
    """Return what is wrong with an answer, or nothing."""
    try:
        if command not in PAGES:
            bare = COLOUR.sub("", text) if (text := asked(command, paths, "--color", "always")) else ""
            steers = STEERS.search(bare)
            return (
                f"it writes {steers[0]!r}: {bare[max(0, steers.start() - 40) : steers.end() + 20]!r}" if steers else ""
            )
        text, other = asked(command, paths), asked(command, twin)
        if "--svg" in command and text:
            ET.fromstring(text)  # noqa: S314 (it is our own, and has no entities)
        found, expected = Elements(text).found, Elements(other).found
        if found != expected:
            return f"more {dict(found - expected)}, less {dict(expected - found)}"
        steers = STEERS.search(text)
        return f"it writes {steers[0]!r}" if steers else ""
    except TooLong as error:
        return str(error)
    except (AssertionError, ET.ParseError, MemoryError) as error:
        return f"{type(error).__name__}: {error}"


def tried(seed: str, number: int) -> list[Finding]:
    """Build a file and its twin, ask about both, and return what is wrong."""
    names = names_of(random.Random(f"{seed}/{number}"))
    twins = harmless(names)
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        paths, twin = built(Path(folder) / "a", names), built(Path(folder) / "b", twins)
        found = ((command, wrong_with(command, paths, twin)) for command in (*PAGES, *TEXTS))
        return [Finding(number, command, what) for command, what in found if what]


def fuzz(seed: str, count: int | None, seconds: float) -> tuple[int, list[Finding]]:
    """Try files until there were so many, or so many seconds have passed; return how many, and what was wrong."""
    findings: list[Finding] = []
    started, number = time.monotonic(), 0
    while number < count if count is not None else time.monotonic() - started < seconds:
        findings += tried(seed, number)
        number += 1
    return number, findings


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="tools/fuzz_pages.py", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)  # fmt: skip
    parser.add_argument("--seconds", type=float, default=60, help="how long (60)")
    parser.add_argument("--count", type=int, metavar="N", help="try so many, however long that takes")
    parser.add_argument("--seed", default="0", help="what the names depend on (0)")
    parser.add_argument("--replay", type=int, metavar="NUMBER", help="try one file, and show its names")
    options = parser.parse_args(argv)
    tried("warm", 0)  # what is imported late is there before memory counts
    limit_memory(MEMORY)
    if options.replay is not None:
        print(*names_of(random.Random(f"{options.seed}/{options.replay}")).items(), sep="\n")
        number, findings = 1, tried(options.seed, options.replay)
    else:
        number, findings = fuzz(options.seed, options.count, options.seconds)
    for finding in findings:
        print(f"{finding.number}: {finding.command}: {finding.what}")
    print(f"{number} files, {len(findings)} findings")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
