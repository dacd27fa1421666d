"""What is asked of a damaged file with a machine that executes it: frames, variables, lanes, expressions.

The waves of the machine are at functions of the file. What is in its registers and in its memory are numbers that
depend on the file alone, so that a finding can be brought about again.
"""

from __future__ import annotations

import json
import random
import zlib
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING, Any

from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.machines.core import CoreProcess
from dwarfgpu.machines.machine import Machine
from dwarfgpu.program.frames import backtrace
from dwarfgpu.program.frames import lanes as wave_lanes
from dwarfgpu.program.frames.all_waves import by_place
from dwarfgpu.program.frames.answers import answer
from dwarfgpu.program.frames.wave_groups import wave_runs
from dwarfgpu.render import lanes as render_lanes
from dwarfgpu.render.backtrace import BacktraceRenderer
from dwarfgpu.render.trace import Tracer
from dwarfgpu.render.variables import VariablesRenderer, lines_of_waves
from dwarfgpu.states.program import Program

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dwarfgpu.program.code.code_object import CodeObject
    from dwarfgpu.program.frames.frame import Frame
    from dwarfgpu.states.program import Attached

WAVES, FRAMES, VARIABLES, EXPRESSIONS = 4, 4, 8, 12
"""How many waves stand in a file, of how many frames and variables each is asked, and how many expressions."""
ALLOWED = suppress(DwarfGpuError)
FORMATS = "xduotacfszr"
SIGNS = (
    *("+", "-", "*", "/", "%", "<<", ">>", "<", "==", "!=", "&&", "||", "&", "|", "^", "?", ":", "~", "!", "@", "="),
    *(".", "->", "[", "]", "(", ")", "::", "#", ",", "sizeof", "(int)", "(char *)", "{int}", "'a'", '"text"', "1.5"),
    *("0", "1", "3", "0x1000", "18446744073709551615", "1<<60", "$lane", "$pc", "$v0", "$v0[1]", "$rsp", "local#0x10"),
    *("private_lane#8", "generic#0", "@entry", "struct", "unsigned", "long", "file.c::", "this", "+="),
)

SENTENCES = (
    *("{0}", "*{0}", "&{0}", "**{0}", "{0}[{n}]", "{0}->{1}", "{0}.{1}", "sizeof({0})", "sizeof(struct {0})", "!{0}"),
    *("{0} + {1}", "{0} * {n}", "{0} << {n}", "{0} / {1}", "{0} == {1} ? {2} : {n}", "{0}@{n}", "*{0}@{n}", "-{0}"),
    *(
        "({0}) {1}",
        "(struct {0} *) {1}",
        "(char) {0}",
        "{0}::{1}",
        "::{0}",
        "{{struct {0}}} {n}",
        "{0} = {n}",
        "{0}@entry",
    ),
    *(
        "{0} += {1}",
        "(float) {0} * 2",
        "&{0}[{n}]",
        "{0}[$lane]",
        "$v0[{0}]",
        "{0} && {1}",
        "*(int *) private_lane#{0}",
    ),
)
NUMBERS = ("0", "1", "-1", "7", "255", "0x7ffffffffffffff", "1000000")


def machine_of(code: CodeObject, chance: random.Random) -> Any:
    """Return a machine whose waves are in functions of a file, or in what its symbols call code."""
    target = code.target.target
    places = _places(code, chance)
    if target.execution_mask is None:
        registers: dict[str, dict[str, bytes]] = {}
        for thread, place in enumerate(places):
            known = {}
            for number in range(64):
                register = target.register(number)
                if register is not None:
                    value = place if number == target.program_counter else 0x7000 + 8 * chance.randrange(400)
                    known[register.name] = _bytes(value, register.bit_size // 8, target.byte_order)
            registers[str(thread)] = known
        return CoreProcess(target, registers, [(0x7000, chance.randbytes(0x2000))])
    machine = Machine(target)
    machine.add_waves(len(places))
    machine.set_register("pc", places)
    machine.set_register("exec", [chance.getrandbits(target.lane_count) for _ in places])
    for number in range(48):
        machine.set_register(f"s{number}", [chance.randrange(1 << chance.choice((4, 12, 32))) for _ in places])
    for number in range(8):
        row = [chance.getrandbits(32) for _ in range(target.lane_count)]
        machine.set_register(f"v{number}", [row] * len(places))
    for name in ("generic", "private_wave", "local"):
        space = machine.target.space_named(name)
        if space is not None:
            for wave in range(len(places)):
                instance = {} if name == "generic" else {"instance": wave}
                with ALLOWED:
                    machine.memory.map(space, 0, chance.randbytes(0x4000), **instance)
    return machine


def _bytes(value: int, size: int, byte_order: Any) -> bytes:
    return (value & (1 << 8 * size) - 1).to_bytes(size, byte_order)


def _places(code: CodeObject, chance: random.Random) -> list[int]:
    """Addresses of functions, at their beginning and within."""
    found = []
    if code.has_dwarf:
        for unit in islice(code.dwarf.compile_units(), 8):
            with ALLOWED:
                spans = code.dwarf.index.addresses_of(unit).spans()
                found += [chance.randrange(low, high) for low, high in spans[:20] if high < 1 << 64]
    found += [symbol.value for symbol in islice(code.image.symbols(), 20) if symbol.type == "FUNC"]
    chance.shuffle(found)
    return (found or [0x1000])[:WAVES]


def attached(code: CodeObject) -> tuple[Attached, random.Random]:
    """Return a file with such a machine; the numbers that its questions are made of."""
    chance = random.Random(zlib.crc32(bytes(code.image.data)))
    return Program(code).attach(machine_of(code, chance)), chance


def frames_of(found: Attached) -> Iterator[Frame]:
    """Yield some frames of each wave."""
    for wave in found:
        with ALLOWED:
            yield from islice(wave, FRAMES)


# --- The runs -----------------------------------------------------------------------------------------------------


def variables(code: CodeObject) -> None:
    """``locals``: what each variable is, where, and why not; in all lanes and in one."""
    with ALLOWED:
        found, chance = attached(code)
        for frame in frames_of(found):
            known = frame.variables()
            for each in chance.sample(known, min(VARIABLES, len(known))):
                _variable(frame, each, chance)
            with ALLOWED:
                for each in islice(frame.statics(), VARIABLES):
                    _variable(frame, each, chance)


def _variable(frame: Frame, variable: Any, chance: random.Random) -> None:
    lane = chance.randrange(frame.target.lane_count)
    renderer = VariablesRenderer(frame, chance.choice((None, *FORMATS)), locations=True)
    with ALLOWED:
        found = answer(variable, variable.name, "active")
        renderer.text(found)
        json.dumps(renderer.document(found), default=list)
    for ask in (variable.value, variable.location, variable.provenance, variable.why):
        with ALLOWED:
            ask(lane)
    with ALLOWED:
        renderer.described(variable)
        json.dumps(renderer.described_json(variable), default=list)


def without_machine(code: CodeObject) -> None:
    """``locals --pc`` and ``eval`` without a state."""
    with ALLOWED:
        chance = random.Random(zlib.crc32(bytes(code.image.data)))
        program = Program(code)
        for place in _places(code, chance):
            with ALLOWED:
                for frame in program.at(place):
                    for each in frame.variables()[:VARIABLES]:
                        with ALLOWED:
                            VariablesRenderer(frame).described(each)
                        with ALLOWED:
                            each.value()
        for text in _texts(program.outside, chance):
            with ALLOWED:
                program.eval(text)


def expressions(code: CodeObject) -> None:
    """``eval``: expressions of random words, some of them names of the program."""
    with ALLOWED:
        found, chance = attached(code)
        for frame in frames_of(found):
            for text in _texts(frame, chance):
                with ALLOWED:
                    renderer = VariablesRenderer(frame, chance.choice((None, *FORMATS)), locations=True)
                    renderer.text(answer(frame[text], text, "active"))


def _texts(frame: Frame, chance: random.Random) -> Iterator[str]:
    names = [each.name for each in frame.variables()]
    if frame.code is not None and frame.code.file.has_dwarf:
        with ALLOWED:
            names += [name for name in frame.code.file.dwarf.index.names() if name.isascii()]
    names = [name for name in names if len(name) < 40] or ["x"]
    for _ in range(EXPRESSIONS):
        if chance.random() < 0.6:
            yield chance.choice(SENTENCES).format(*(chance.choice(names) for _ in range(3)), n=chance.choice(NUMBERS))
            continue
        count = chance.randrange(1, 8)
        yield " ".join(chance.choice(names if chance.random() < 0.5 else SIGNS) for _ in range(count))


def traces(code: CodeObject) -> None:
    """``bt --registers`` and a trace of some variables."""
    with ALLOWED:
        found, chance = attached(code)
        renderer = BacktraceRenderer(found.state.target)
        waves = list(range(len(found)))
        for each in backtrace.backtraces(found.stopped, waves, registers=True):
            for shown in each.frames:
                list(renderer.registers(shown.saved or ()))
            json.dumps(renderer.document(each, None), default=list)
        for frame in frames_of(found):
            tracer = Tracer(frame.target, sections=True)
            frame.follow(tracer.record)
            for variable in frame.variables()[:VARIABLES]:
                with ALLOWED:
                    variable.value(chance.randrange(frame.target.lane_count))
            tracer.lines()
            json.dumps(tracer.documents(), default=list)


def waves(code: CodeObject) -> None:
    """``lanes``, ``waves``, and ``eval --wave all``."""
    with ALLOWED:
        found, _chance = attached(code)
        if not found.has_waves:
            return
        for wave in range(len(found)):
            with ALLOWED:
                lanes = wave_lanes.lanes_of_wave(found.stopped, wave)
                list(render_lanes.lanes_columns(lanes).screen(render_lanes.same_places(lanes.lanes)))
                json.dumps([render_lanes.lanes_around(lanes), render_lanes.lanes_json(lanes.lanes)], default=list)
        with ALLOWED:
            runs = wave_runs(found.stopped)
            json.dumps([render_lanes.wave_json(found.stopped, run) for run in runs], default=list)
        names = dict.fromkeys(each.name for frame in frames_of(found) for each in frame.variables()[:VARIABLES])
        for name in islice(names, VARIABLES):
            with ALLOWED:
                for _index, values in by_place(found, (name,)):
                    renderer = VariablesRenderer(values.frame, locations=True)
                    list(lines_of_waves(renderer, values))
                    list(renderer.rows(values))
                    json.dumps(list(renderer.documents(values)), default=list)


QUESTIONS = {"locals": variables, "locals --pc": without_machine, "eval": expressions, "bt": traces, "lanes": waves}
