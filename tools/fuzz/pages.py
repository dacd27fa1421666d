"""Names that mean something to a browser or a terminal, and what comes out of everything that shows them.

A file has names as payloads: its path, unit, folder, producer, kernel, symbol, variables, types, and the waves of its
state. Its page and its pictures must have the elements and attributes of those of a twin that has harmless names of the
same lengths; its text, with colours, must hold no character that steers a terminal except the colours.
"""

from __future__ import annotations

import re
import shutil
import xml.etree.ElementTree as ET
from collections import Counter
from html.parser import HTMLParser
from typing import TYPE_CHECKING

from fuzz.frame import Asking, Chance, Drive, Setting, Steps, Wrong
from tests.builders.commands import run
from tests.builders.dwarf import die
from tests.builders.hostile import gpu, member, named, state, variable

if TYPE_CHECKING:
    import random
    from pathlib import Path

PAYLOADS = (
    *("<script>alert(1)</script>", "</script><script>", "<!--", "-->", "]]>", "<![CDATA[", "<img src=x onerror=x>"),
    *("&amp;", "&#x3c;", "&", "<", ">", "{{7*7}}", "${x}", "%s", "%n", "\\", "\\u003c", "a=b", "x++", "url(//x)"),
    *('"onload="x', "'onload='x", "` onload=x", "</pre>", "</title>", "</svg>", "</text>", "*/", "}</style>"),
    *("javascript:x", "data:text/html,x", "\u3042" * 60, "=" * 90, "-" * 90, "#", "@", "::", "<>", "operator<<"),
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
    *("waves {file} --state {state}", "bt {file} --state {state} --full"),
    "locals {file} --state {state} --all --location",
    "files {file} --state {state}",
)


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
    """Return what a command writes."""
    done = run(*(word.format(**paths) for word in command.split()), *options)
    if done.returncode not in (0, 1, 2, 3):
        raise Wrong(f"status {done.returncode}\n{done.stderr}")
    return done.stdout if command in PAGES else done.stdout + done.stderr


def check(command: str, paths: dict[str, str], twin: dict[str, str]) -> None:
    """Raise `Wrong` if an answer is wrong."""
    text = asked(command, paths) if command in PAGES else COLOUR.sub("", asked(command, paths, "--color", "always"))
    if command in PAGES:
        if "--svg" in command and text:
            ET.fromstring(text)  # noqa: S314 (it is our own, and has no entities)
        found, expected = Elements(text).found, Elements(asked(command, twin)).found
        if found != expected:
            raise Wrong(f"other elements\nmore {dict(found - expected)}, less {dict(expected - found)}")
    steers = STEERS.search(text)
    if steers:
        raise Wrong(f"it writes {steers[0]!r}\n{text[max(0, steers.start() - 40) : steers.end() + 20]!r}")


def begin(setting: Setting) -> Steps:
    def steps(chance: Chance) -> Asking:
        names = names_of(chance)
        chance.about = repr(names)
        for name in ("a", "b"):
            shutil.rmtree(setting.folder / name, ignore_errors=True)
        paths, twin = built(setting.folder / "a", names), built(setting.folder / "b", harmless(names))
        for command in (*PAGES, *TEXTS):
            yield command
            check(command, paths, twin)
        return "answered"

    return steps


DRIVE = Drive(begin, seconds=2.0)
