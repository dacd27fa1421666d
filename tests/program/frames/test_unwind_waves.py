"""Frames of waves against what the code itself does to registers and scratch memory (`tests.builders.waves`).

The code is what compilers made of `fixtures/src/hip/calls.hip`: a kernel calls `outer`, that calls `middle`, that calls
`inner`, and that calls `leaf`. They save vector registers under EXEC, scalar ones and the return address in lanes of
vector registers, and find their frames with buffer scratch or flat scratch.
"""

import subprocess
from pathlib import Path
from typing import Any

import pytest

from dwarfgpu.cfi import rules
from dwarfgpu.expr.locations import is_undefined
from dwarfgpu.program.code.code_object import opened
from dwarfgpu.program.code.loaded import Loaded, LoadedCode
from dwarfgpu.states.stopped import Stopped
from tests.builders import waves
from tests.builders.parameters import some_slow

FIXTURES = Path(__file__).resolve().parents[3] / "fixtures" / "llvm24"
FILES = sorted(path.name for path in FIXTURES.glob("hip-calls.*.co"))
FUNCTIONS = {
    "leaf": "_Z4leafi",                   "inner": "_Z5inneriPi",               "middle": "_Z6middleii",
    "outer": "_Z5outerii",                "calls": "_Z5callsPiPfi"}  # fmt: skip
UNSAID = {"s8", "v40"}
"""What these compilers change without a word: at -O0 a register for the address of a variable, and from GFX11 on v40,
whose rule is lost where two stores are in one bundle."""
RETURN_ADDRESS = (30, 31)
"""s30 and s31 hold the return address, so a call itself changes them; no rule says so."""


def target_of(name: str) -> str:
    _, processor, wave, *_ = name.split(".")
    has_both = not processor.startswith("gfx9")
    return f"amdgcn-{processor}" + (f"-wave{wave[1:]}" if has_both else "")


def disassembled(name: str, tool: str) -> dict[str, waves.Listing]:
    found = {}
    for function, symbol in FUNCTIONS.items():
        done = subprocess.run(
            [tool, "-d", f"--disassemble-symbols={symbol}", str(FIXTURES / name)],
            check=True,                        capture_output=True,               text=True)  # fmt: skip
        found[function] = waves.listing(done.stdout)
    return found


def nested(name: str, code: dict[str, waves.Listing], mask: int, innermost: str, bias: int = 0) -> waves.Wave:
    """A wave that has gone from the kernel through three calls, and is about to enter the innermost function."""
    wave = waves.Wave(target_of(name), mask=mask, bias=bias)
    call = next(i for i, (_, text) in enumerate(code["calls"]) if text.startswith("s_swappc"))
    wave.wait("calls", code["calls"][call + 1][0])
    for function in ("outer", "middle", "inner"):
        if function == innermost:
            break
        wave.call(function, code[function])
    return wave


def masks(lanes: int) -> list[int]:
    return [(1 << lanes) - 1, (1 << lanes // 2) - 1, 0x5A3C_0FF1_8003_7E05 & ((1 << lanes) - 1)]


def check(wave: waves.Wave, code: LoadedCode, *, full: bool = True) -> None:
    """Every register of every frame is what it was when the frame called, or has no value and need not have one."""
    machine = wave.machine()
    stack: Any = Stopped(machine, Loaded([code])).stack(0)
    frames = list(stack)
    assert [frame.pc for frame in frames] == [wave.pc, *(each.pc for each in reversed(wave.callers))]
    assert (stack.end.kind, stack.end.message) == ("outermost", "the return address is undefined")
    forgotten: set[int] = set()
    """Registers that rules of inner frames say are lost, or have another one in them."""
    skipped: set[str] = set()
    changed = [wave.changed, *(each.changed for each in reversed(wave.callers))]
    borrowed: set[int] = set()
    """Vector registers that callees may change, and of which they saved the lanes that were not active."""
    for frame, truth in zip(frames[1:], reversed(wave.callers), strict=True):
        callee = frames[frame.level - 1].activation
        rows = callee.register_rules.items()
        forgotten |= {number for number, rule in rows if isinstance(rule, rules.UndefinedRule)}
        forgotten |= {rule.register for _, rule in rows if isinstance(rule, rules.RegisterRule)}
        unsaid = {
            name
            for name in changed[callee.level]
            if (number := machine.target.register_named(name).number) not in callee.register_rules
            and name not in ("s30", "s31", "s32")
            and number not in forgotten
        }
        assert unsaid <= UNSAID
        skipped |= unsaid
        borrowed |= {
            number
            for number, rule in rows
            if isinstance(rule, rules.Offset) and machine.target.unspecified_rule(number) == "undefined"
        }
        assert frame.function.linkage_name in (None, FUNCTIONS[truth.function])
        assert frame.active_lanes() == truth.registers.mask
        if full:
            check_registers(frame, truth.registers, forgotten, borrowed, skipped)


def check_registers(
    frame: Any, truth: waves.Registers, forgotten: set[int], borrowed: set[int], skipped: set[str]
) -> None:
    thread = frame.activation.thread
    target = thread.target
    for register in target.registers():
        letter, digits = register.name[0], register.name[1:]
        if not digits.isdecimal() or (letter == "s" and int(digits) in RETURN_ADDRESS):
            continue
        if register.name in skipped:
            continue
        rows = {"s": truth.scalar, "v": truth.vector, "a": truth.accumulation}[letter]
        if int(digits) >= len(rows):
            continue
        location = frame.register(register.number, thread.lanes)
        if is_undefined(location):
            preserved = target.unspecified_rule(register.number) != "undefined"
            assert not preserved or register.number in forgotten, (frame.level, register.name)
            continue
        reading = thread.accessor.read(location, register.bit_size)
        expected: Any = rows[int(digits)]
        if letter != "s":
            expected = sum(value << 32 * lane for lane, value in enumerate(expected))
        found: Any = reading.bits
        if register.number in borrowed:  # the rule is about all lanes, the code only about those
            others = sum(waves.MASK << 32 * lane for lane in range(target.lane_count) if not truth.mask >> lane & 1)
            found, expected = found & others, expected & others
        assert reading.undefined == 0
        assert found == expected, (frame.level, register.name)


def written_code() -> dict[str, dict[str, waves.Listing]]:
    """The instructions that save registers, move the stack and call, of each function of some files."""
    found: dict[str, dict[str, waves.Listing]] = {}
    for line in (Path(__file__).parent / "wave_code.txt").read_text("ascii").splitlines():
        depth = len(line) - len(line.lstrip())
        if depth == 0:
            functions = found[line] = {}
        elif depth == 2:
            functions[line.strip()] = []
        else:
            address, _, text = line.strip().partition(" ")
            functions[[*functions][-1]].append((int(address, 16), text))
    return found


CODE = written_code()


def loaded_file(name: str) -> LoadedCode:
    return LoadedCode(opened(str(FIXTURES / name)))


def in_leaf(name: str, mask: int) -> waves.Wave:
    """A wave in the leaf function, three calls below the kernel's first one."""
    wave = nested(name, CODE[name], mask, "leaf")
    wave.run(CODE[name]["leaf"], CODE[name]["leaf"][1][0])
    return wave


@pytest.mark.parametrize("name", some_slow(CODE, quick=[*CODE][::3]))
def test_every_register_of_every_frame(name):
    code = loaded_file(name)
    for mask in masks(waves.Wave(target_of(name)).lanes):
        check(in_leaf(name, mask), code)


@pytest.mark.parametrize("name", some_slow(CODE, quick=[*CODE][1::3]))
def test_frames_at_every_step_of_a_prologue(name):
    code = loaded_file(name)
    mask = masks(waves.Wave(target_of(name)).lanes)[2]
    for address, _ in CODE[name]["inner"][:-1]:
        wave = nested(name, CODE[name], mask, "inner")
        wave.run(CODE[name]["inner"], address)
        if not wave.all_lanes:
            check(wave, code, full=False)


def stack_in_leaf(name: str, mask: int) -> Any:
    return Stopped(in_leaf(name, mask).machine(), Loaded([loaded_file(name)])).stack(0)


@pytest.mark.parametrize("name, scale", [("gfx90a.w64", 64), ("gfx942.w64", 64), ("gfx1030.w32", 32)])
def test_the_locations_of_one_frame(name, scale):
    # leaf <- inner <- middle: what inner has saved of middle
    stack = stack_in_leaf(f"hip-calls.{name}.O2.co", 0b1111_0000)
    middle: Any = stack.at(2)
    thread = middle.activation.thread
    register = thread.target.register_named
    inner: Any = stack.at(1)
    cfa = inner.cfa(thread.lanes).single
    assert cfa.storage.space.name == "private_wave"
    v40 = middle.register(register("v40").number, thread.lanes).single.storage
    first, saved, last = (part.location.single for part in v40.parts)
    assert (first.storage.register.name, first.bit_offset, v40.parts[0].total) == ("v40", 0, 4 * 32)
    # 4 bytes of each lane above the CFA, of which the first is that of lane 0
    assert saved.storage.space.name == "private_wave"
    assert saved.bit_offset == cfa.bit_offset + (4 * scale + 4 * 4) * 8
    assert (last.storage.register.name, last.bit_offset) == ("v40", 8 * 32)
    s34 = middle.register(register("s34").number, thread.lanes).single
    assert (s34.storage.register.name, s34.bit_offset) == ("v8", 0)
    pc = middle.register(16, thread.lanes).single
    assert (pc.storage.parts[0].location.single.storage.register.name, pc.storage.bit_size) == ("v8", 64)
    pointer = middle.register(register("s32").number, thread.lanes).single.storage
    assert pointer.data == cfa.bit_offset // 8 // thread.target.stack_scale


def test_what_is_written_to_a_caller_goes_where_it_was_saved():
    stack = stack_in_leaf("hip-calls.gfx90a.w64.O2.co", 0xFF)
    middle: Any = stack.at(2)
    thread = middle.activation.thread
    machine: Any = stack.machine
    target = machine.target
    v40 = middle.register(target.register_named("v40").number, thread.lanes)
    value = sum((0xA0000000 + lane) << 32 * lane for lane in range(64))
    thread.accessor.write(v40, 2048, value)
    assert thread.accessor.read(v40, 2048).bits == value
    address = stack.at(1).cfa(thread.lanes).single.bit_offset // 8 + 256
    found = machine.read_memory(target.space_named("private_wave"), address, 32, 0, None)
    assert found == b"".join((0xA0000000 + lane).to_bytes(4, "little") for lane in range(8))
    assert machine.column("v40")[0, 8:].tolist() == [0xA0000000 + lane for lane in range(8, 64)]
    thread.accessor.write(middle.register(target.register_named("s34").number, thread.lanes), 32, 0x12345678)
    assert machine.column("v8")[0, 0] == 0x12345678


@pytest.mark.slow
@pytest.mark.parametrize("name", FILES)
def test_every_stop_in_all_of_the_code(name, require_tool):
    code = disassembled(name, require_tool("llvm-objdump-22", "llvm-objdump"))
    loaded = loaded_file(name)
    stops = 0
    for mask in masks(waves.Wave(target_of(name)).lanes):
        for innermost in ("inner", "leaf"):
            listing = code[innermost]
            last = next(i for i, (_, text) in enumerate(listing) if text.startswith(("s_swappc", "s_setpc")))
            for i, (address, _) in enumerate(listing[: last + 1]):
                if i % 3 and i < last - 2:
                    continue
                wave = nested(name, code, mask, innermost)
                wave.run(listing, address)
                if wave.all_lanes:  # here the mask is not that on entry, which no compiler describes yet
                    continue
                check(wave, loaded, full=i % 12 == 0 or i == last)
                stops += 1
    assert stops > 20


@pytest.mark.slow
@pytest.mark.parametrize("name", CODE)
def test_the_written_code_is_that_of_the_file(name, require_tool):
    code = disassembled(name, require_tool("llvm-objdump-22", "llvm-objdump"))
    for function, listing in CODE[name].items():
        whole = [(address, " ".join(text.split())) for address, text in code[function]]
        assert set(listing) <= set(whole)
        assert [text for text in listing if "writelane" in text[1]] == [
            text for text in whole if "writelane" in text[1]
        ]
