"""Inputs made from nothing, by grammar: what no damage leads to.

These are types and references in circles, diamonds and products, location lists and rows that many share, snapshots,
core files, scripts and command lines (`grammar`). A command line must end with a status of the program: without a
traceback, without a control character, with valid JSON if JSON was asked for, with at most 128 MiB of output, and leave
no file behind.
"""

from __future__ import annotations

import io
import json
import os
import random
import re
import shutil
import sys
from typing import TYPE_CHECKING, Any

from dwarfgpu import budget
from dwarfgpu.cli import main as run
from dwarfgpu.errors import UsageError
from fuzz.frame import Asking, Chance, Drive, Limit, Setting, Steps, Wrong
from fuzz.grammar import KINDS, Input, Maker

if TYPE_CHECKING:
    from collections.abc import Sequence

BYTES = 1 << 27
FILE_SHARE = 64
"""How many inputs with neighbouring numbers are about the same file."""
STEERS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")


class Written(io.BytesIO):
    """Output that ends."""

    def write(self, data: Any) -> int:
        if self.tell() + len(data) > BYTES:
            raise Limit(f"more than {BYTES} bytes of output")
        return super().write(data)


def command(made: Input) -> tuple[int, str, str]:
    """Run a command line in this process."""
    before = sys.stdin, sys.stdout, sys.stderr
    out, err = Written(), Written()
    given = io.TextIOWrapper(io.BytesIO(made.stdin), "utf-8")
    streams = [io.TextIOWrapper(stream, "utf-8", write_through=True) for stream in (out, err)]
    sys.stdin, sys.stdout, sys.stderr = given, *streams
    try:
        status = run(made.words)
    finally:
        sys.stdin, sys.stdout, sys.stderr = before
    texts = [stream.getvalue().decode(errors="backslashreplace") for stream in (out, err)]
    return status, texts[0], texts[1]


def judged(made: Input, status: int, out: str, err: str) -> str:
    """Return what is wrong with an outcome; empty if nothing is."""
    text = out + err
    if "not enough memory for the answer" in text:
        return "limit: memory"
    match = re.search(r"internal error: (\w+)", text) or re.search(r"\n(\w+(?:Error|Exception))\b", err)
    if "Traceback" in err or "internal error" in text:
        place = "".join(re.findall(r'/(\w+\.py", line [0-9]+)', err)[-1:])
        return f"exception: {match[1] if match else '?'} {place}"
    if status not in (0, 1, 2, 3, 130):
        return f"status {status}"
    steering = STEERS.search(text)
    if steering:
        return f"control character {steering[0]!r}"
    if out and made.words[0] != "debug" and not {"--json", "--jsonl"}.isdisjoint(made.words):
        try:
            for document in out.splitlines() if "--jsonl" in made.words else [out]:
                json.loads(document)
        except ValueError as error:
            return f"not JSON: {error}"
    return ""


def kinds(names: Sequence[str]) -> Sequence[str]:
    """Return the kinds of inputs to make."""
    wrong = [name for name in names if name not in KINDS]
    if wrong:
        raise UsageError(f"no kind is called {wrong[0]}: there are {', '.join(KINDS)}")
    return names or [*KINDS]


def begin(setting: Setting) -> Steps:
    shares = [KINDS[name].share for name in setting.only]
    place, here = setting.folder / "inputs", setting.folder / "here"

    def steps(chance: Chance) -> Asking:
        for folder in (place, here):
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
        os.chdir(here)  # where some commands are told to write files
        (kind,) = chance.choices(setting.only, shares)
        maker = Maker(
            random.Random(f"{chance.seed_text}/{kind}/{chance.number}"), place, f"{chance.kin(FILE_SHARE)}/file"
        )
        made = KINDS[kind].make(maker)
        chance.about = " ".join((*made.words, made.stdin.decode(errors="backslashreplace")))
        before = set(place.iterdir())
        yield f"{kind} {made.words[0]}"
        if made.call is not None:
            with budget.question():
                made.call()
            return kind
        status, out, err = command(made)
        wrong = judged(made, status, out, err)
        left = sorted(path.name for path in set(place.iterdir()) - before)
        if wrong or left:
            raise Wrong(f"{wrong or f'files: {left}'}\n{err[-3000:]}")
        return kind

    return steps


DRIVE = Drive(begin, kinds)
