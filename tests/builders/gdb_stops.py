"""Programs that gdb stops again and again: what it says of every variable of every frame, and a core file of each.

gdb runs the script below. At each stop it writes a core file and a line of JSON: the frames, and in each the variables
of the blocks around where it stands, innermost block first, as gdb prints them.
"""

import json
import os
import subprocess
from pathlib import Path
from typing import NamedTuple

SCRIPT = """
import gdb, json, os
out = open(os.environ["STOPS_OUT"], "w")
folder = os.environ["STOPS_FOLDER"]
limit = int(os.environ["STOPS_LIMIT"])
asked = json.loads(os.environ["STOPS_EXPRESSIONS"])

def text(frame, symbol, block):
    try:
        return frame.read_var(symbol, block).format_string(max_elements=200)
    except gdb.error as error:
        return "<error: %s>" % error

def variables(frame):
    found = []
    try:
        block = frame.block()
    except RuntimeError:
        return found
    while block is not None:
        for symbol in block:
            if symbol.is_variable or symbol.is_argument or symbol.is_constant:
                found.append([symbol.name, text(frame, symbol, block), symbol.is_argument])
        if block.function is not None:
            break
        block = block.superblock
    return found

def evaluated(expressions):
    found = {}
    for each in expressions:
        try:
            found[each] = gdb.parse_and_eval(each).format_string(max_elements=200)
        except gdb.error as error:
            found[each] = "<error: %s>" % error
    return found

def note(number):
    frames = []
    frame = gdb.newest_frame()
    while frame is not None:
        frame.select()
        if frame.type() == gdb.TAILCALL_FRAME:  # made up: it is not there any more
            frame = frame.older()
            continue
        frames.append({
            "function": frame.name(), "pc": frame.pc(), "inlined": frame.type() == gdb.INLINE_FRAME,
            "variables": variables(frame), "expressions": evaluated(asked),
        })
        frame = frame.older()
    gdb.newest_frame().select()
    core = os.path.join(folder, "core.%d" % number)
    gdb.execute("generate-core-file " + core, to_string=True)
    out.write(json.dumps({"core": core, "frames": frames}) + "\\n")

gdb.execute("set pagination off")
gdb.execute("set print frame-arguments none")
gdb.execute("set max-completions 0")
gdb.Breakpoint("checkpoint")
gdb.execute("run", to_string=True)
number = 0
while gdb.selected_inferior().pid and number < limit:
    note(number)
    number += 1
    if number % 3 == 0:  # also where code goes on behind a call, and a few instructions later
        gdb.execute("finish", to_string=True)
        note(number)
        gdb.execute("stepi 4", to_string=True)
        note(number + 1)
        number += 2
    gdb.execute("continue", to_string=True)
out.close()
"""


class Stop(NamedTuple):
    """One place where gdb has stopped a program."""

    core: str
    frames: list[dict[str, object]]


def stops(
    tools: object, program: Path, folder: Path, *, limit: int = 60, expressions: tuple[str, ...] = ()
) -> list[Stop]:
    """What gdb says wherever a program calls ``checkpoint``, and at some places behind it.

    The expressions are evaluated in every frame.
    """
    script = folder / "stops.py"
    script.write_text(SCRIPT)
    out = folder / "stops.jsonl"
    gdb = tools("gdb")  # type: ignore[operator]
    done = subprocess.run(
        [gdb, "-nx", "-batch", "-x", str(script), str(program)],
        env={**os.environ,                                        "STOPS_OUT": str(out), "STOPS_FOLDER": str(folder),
            "STOPS_LIMIT": str(limit), "STOPS_EXPRESSIONS": json.dumps(expressions),        "LC_ALL": "C.UTF-8"},
        cwd=folder,  # whatever crashes leaves its core file there
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False)  # fmt: skip
    lines = out.read_text().splitlines() if out.exists() else []
    assert lines, done.stderr.decode("utf-8", "replace")[-2000:]
    return [Stop(**json.loads(line)) for line in lines]
