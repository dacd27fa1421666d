"""At every stop of a program, and in core files of some: each variable and register of each frame, GDB's and ours."""

import json
import os
from pathlib import Path

import gdb

import dwarfgpu.gdb as dg
from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.lanes import LaneSet
from tests.program.frames.test_variables_gdb import answer

NAMES = json.loads(Path(os.environ["NAMES"]).read_text())
FOUND = []
LIMIT, CORES = int(os.environ["LIMIT"]), int(os.environ["CORES"])
SAVED = ("rip", "rsp", "rbx", "rbp", "r12", "r13", "r14", "r15")
OTHERS = (
    *("rax", "rcx", "rdx", "rsi", "rdi", "r8", "r11", "xmm0", "xmm7", "eflags", "mxcsr", "fctrl", "cs", "fs_base"),
    "st0",
)


def their_variables(frame):
    found = []
    try:
        block = frame.block()
    except RuntimeError:
        return found
    while block is not None:
        for symbol in block:
            if symbol.is_variable or symbol.is_argument or symbol.is_constant:
                try:
                    text = frame.read_var(symbol, block).format_string(max_elements=200)
                except gdb.error as error:
                    text = f"<error: {error}>"
                found.append([symbol.name, text])
        if block.function is not None:
            break
        block = block.superblock
    return found


def their_register(frame, name):
    value = frame.read_register(name)
    if value.is_optimized_out:
        return None
    if name.startswith("xmm"):
        value = value["uint128"]
    return int(value.format_string(format="x"), 16)


def our_register(frame, name):
    register = frame.backend.register_named(name)
    thread = frame.activation.thread
    try:
        location = frame.register(register.number, LaneSet(1, frame.wave.index, None))
        reading = thread.accessor.read(location, register.bit_size)
    except DwarfGpuError as error:
        return str(error)
    return None if reading.undefined else int(reading.bits)


def compare(where):
    frame = gdb.newest_frame()
    while frame is not None:
        if frame.type() != gdb.TAILCALL_FRAME:
            frame.select()
            ours = dg.selected()
            known = ours.variables() if ours.function is not None else ()
            names = SAVED + (OTHERS if ours.level == 0 else ())
            FOUND.append({
                "where": where,                                    "function": [frame.name(), ours.name],
                "pc": [frame.pc(), ours.pc],                       "theirs": their_variables(frame),
                "ours": [[each.name, *answer(each, ours.number, NAMES)] for each in known],
                "registers": {name: [their_register(frame, name), our_register(ours, name)] for name in names},
            })  # fmt: skip
        frame = frame.older()
    gdb.newest_frame().select()


for command in (
    "set backtrace past-main on",
    "set pagination off",
    "set print frame-arguments none",
    "set width 0",
    "set confirm off",
):
    gdb.execute(command)
gdb.Breakpoint("checkpoint")
gdb.execute("run", to_string=True)
cores = []
number = 0
while gdb.selected_inferior().pid and number < LIMIT:
    compare("live")
    if len(cores) < CORES and number % 5 == 0:
        cores.append(str(Path(f"core.{number}").resolve()))
        gdb.execute(f"generate-core-file {cores[-1]}", to_string=True)
    number += 1
    if number % 3 == 0:
        gdb.execute("finish", to_string=True)
        compare("live")
        gdb.execute("stepi 4", to_string=True)
        compare("live")
    gdb.execute("continue", to_string=True)
if gdb.selected_inferior().pid:
    gdb.execute("kill")
for core in cores:
    gdb.execute(f"core-file {core}", to_string=True)
    gdb.execute("maintenance flush dcache", to_string=True)  # GDB 16 keeps the stack of the one before
    compare("core")
    Path(core).unlink()
Path(os.environ["OUT"]).write_text(json.dumps(FOUND))
print("@@compared@@")
