"""At every stop of a program: each variable of each frame as GDB has it, and as `$dwarfgpu` gives it."""

import json
import os
from pathlib import Path

import gdb

LIMIT = int(os.environ["LIMIT"])
FOUND = []


def shown(ask) -> list:
    """A value as GDB shows it, with its type, and whether it has an address; or the error."""
    try:
        value = ask()
        text = value.format_string(max_elements=200)
        return [text, str(value.type), None if value.address is None else int(value.address)]
    except gdb.error as error:
        return [str(error), None, None]


def compare() -> None:
    frame = gdb.newest_frame()
    while frame is not None:
        if frame.type() != gdb.TAILCALL_FRAME:
            frame.select()
            try:
                block = frame.block()
            except RuntimeError:
                block = None
            seen = set()
            while block is not None:
                for symbol in block:
                    is_data = symbol.is_variable or symbol.is_argument or symbol.is_constant
                    if is_data and symbol.name not in seen:
                        seen.add(symbol.name)
                        theirs = shown(lambda: frame.read_var(symbol, block))  # noqa: B023 (called here)
                        ours = shown(lambda: gdb.parse_and_eval(f'$dwarfgpu("{symbol.name}")'))  # noqa: B023
                        FOUND.append([frame.name(), symbol.name, theirs, ours])
                if block.function is not None:
                    break
                block = block.superblock
        frame = frame.older()
    gdb.newest_frame().select()


for command in ("set pagination off", "set width 0", "set confirm off"):
    gdb.execute(command)
gdb.Breakpoint("checkpoint")
gdb.execute("run", to_string=True)
number = 0
while gdb.selected_inferior().pid and number < LIMIT:
    compare()
    number += 1
    gdb.execute("continue", to_string=True)
if gdb.selected_inferior().pid:
    gdb.execute("kill")
Path(os.environ["OUT"]).write_text(json.dumps(FOUND))
print("@@compared@@")
