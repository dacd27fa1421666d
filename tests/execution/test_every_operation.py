"""Operations that have no row of their own: each of every processor, against what its name says.

Atomic operations, loads and stores are models on Python numbers; packed operations are the model of the operation on
one half, for both. What a processor has is what the tables of the decoder list, so none is forgotten.
"""

import functools
import math
import re
import struct
from pathlib import Path

import numpy as np
import pytest

from dwarfgpu.execution.instructions import IDLE
from dwarfgpu.isa.tables import table
from tests.builders import float_models, integer_models
from tests.builders.instruction_bench import MEMORY, InstructionBench, assembled
from tests.builders.integer_models import signed
from tools.isa_meanings import without_meaning

PROCESSORS = [("gfx906", 64), ("gfx90a", 64), ("gfx942", 64), ("gfx950", 64), ("gfx1030", 32),
              ("gfx1100", 32), ("gfx1200", 32), ("gfx1250", 32)]  # fmt: skip
NUMBERS = np.random.default_rng(77)
LANES = 8
"""The lanes that execute, each with an address of its own."""
LOW = 0xFFFFFFFF


@functools.cache
def operations(processor, lanes):
    """The names of all operations of a processor, without the suffixes of encodings; of GFX1250 the known ones."""
    known = table(processor, lanes)
    names = set()
    for form, rows in known.rows.items():
        for lines in rows.values():
            for line in lines:
                mnemonic, _tokens = known.row(form, line)
                names.add(re.sub(r"(_e64_dpp8?|_e32|_e64|_sdwa|_dpp8?|-)$", "", mnemonic.strip()))
    return sorted(names - {*without_meaning([(processor, lanes)])} if processor == "gfx1250" else names)


@pytest.fixture(
    params=[
        pytest.param(pair, id=pair[0], marks=() if pair[0] == "gfx1200" else pytest.mark.slow) for pair in PROCESSORS
    ]
)
def it(request, require_tool):
    processor, lanes = request.param
    it = InstructionBench(require_tool("llvm-mc-22"), processor, lanes)
    it.batch.set_exec((1 << LANES) - 1)
    return it


def assemble(it, lines):
    """The code of each line, from one call of the assembler."""
    codes = assembled(it.assembler, "\n".join(lines), it.processor, it.lanes)
    assert len(codes) == len(lines)
    return [[code] for code in codes]


EDGES = (0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x3F800000, 0xBF800000, 0x40490FDB)


def floating(function):
    def run(old, data, bits):
        kind = f"f{bits}"
        return float_models.bits_of(function(float_models.number(old, kind), float_models.number(data, kind)), kind)

    return run


def sum_of_floats(old, data, bits):
    kind = f"f{bits}"
    return float_models.summed([(float_models.number(old, kind),), (float_models.number(data, kind),)], kind)


def pairs(add):
    return lambda old, data, _bits: add(old & 0xFFFF, data & 0xFFFF) | add(old >> 16, data >> 16) << 16


def add_bf16(left, right):
    total = float_models.summed([(float_models.bf16(left),), (float_models.bf16(right),)], "f32")
    return float_models.to_bf16(total)


ATOMICS = {
    "add": lambda old, data, bits: (old + data) % (1 << bits),
    "sub": lambda old, data, bits: (old - data) % (1 << bits),
    "rsub": lambda old, data, bits: (data - old) % (1 << bits),
    "umin": lambda old, data, _bits: min(old, data),          "umax": lambda old, data, _bits: max(old, data),
    "smin": lambda old, data, bits: min(old, data, key=lambda number: signed(number, bits)),
    "smax": lambda old, data, bits: max(old, data, key=lambda number: signed(number, bits)),
    "and": lambda old, data, bits: integer_models.bitwise("0001", bits, old, data),
    "or": lambda old, data, bits: integer_models.bitwise("0111", bits, old, data),
    "xor": lambda old, data, bits: integer_models.bitwise("0110", bits, old, data),
    "swap": lambda _old, data, _bits: data,
    "inc": lambda old, data, _bits: 0 if old >= data else old + 1,
    "dec": lambda old, data, _bits: data if old == 0 or old > data else old - 1,
    "csub": lambda old, data, _bits: max(old - data, 0),
    "cond_sub": lambda old, data, _bits: old - data if old >= data else old,
    "fmin": floating(float_models.least),                     "fmax": floating(float_models.most),
    "fadd": sum_of_floats,
    "pk_add_f16": pairs(lambda a, b: float_models.summed([(float_models.half(a),), (float_models.half(b),)], "f16")),
    "pk_add_bf16": pairs(add_bf16),
    "condxchg32": lambda old, data, _bits: sum(
        (part & 0x7FFFFFFF if part >> 31 else old >> at & LOW) << at for at, part in ((0, data & LOW), (32, data >> 32))
    )}  # fmt: skip
WITH_TWO = {
    "cmpswap": lambda old, new, compared, _bits: new if old == compared else old,
    "fcmpswap": lambda old, new, compared, bits: (
        new if float_models.number(old, f"f{bits}") == float_models.number(compared, f"f{bits}") else old
    ),
    "mskor": lambda old, mask, data, _bits: old & ~mask | data,
    "wrap": lambda old, data, other, bits: (old - data if old >= data else old + other) % (1 << bits)}  # fmt: skip
ACTION = re.compile(
    r"(?:ds|global_atomic|flat_atomic|buffer_atomic)_(?:rtn_)?"
    r"(?P<word>pk_add_b?f16|pk_add_rtn_b?f16|condxchg32|cond_sub|sub_clamp|csub|cmpswap|cmpstore|cmpst|fcmpswap|mskor|wrap"
    r"|ordered_add|add|sub|rsub|[us]?min(?:_num)?|[us]?max(?:_num)?|fmin|fmax|and|or|xor|swap|wrxchg|storexchg|inc|dec)"
    r"(?P<rtn>_rtn)?(?:_(?P<kind>num_f|[uibf])(?P<bits>32|64))?(?P<wide>_x2)?$"
)
RENAMED = {"wrxchg": "swap", "storexchg": "swap", "cmpstore": "cmpswap", "sub_clamp": "csub", "ordered_add": "add"}


def action_of(name):
    """The model of an atomic operation and the bits of its numbers; None for what is no such operation."""
    match = ACTION.match(name)
    if match is None:
        return None
    word = RENAMED.get(match["word"].replace("_rtn", ""), match["word"].replace("_rtn", ""))
    bits = int(match["bits"] or (64 if match["wide"] else 32))
    kind = (match["kind"] or "u")[-1]
    word = word.removesuffix("_num")
    if word in ("min", "max"):
        word = {"u": "u", "b": "u", "i": "s", "f": "f"}[kind] + word
    if kind == "f" and word in ("add", "cmpswap", "cmpst"):
        word = f"f{word}"
    return word, bits


def cell(number, bits):
    return f"v{number}" if bits == 32 else f"v[{number}:{number + 1}]"


def line_of(it, name, word, bits):
    """An operation on memory at v[0:1] with v2 and v4, which returns the old number in v8 if it can."""
    space = name.split("_")[0]
    data, other, target = (cell(number, bits) for number in (2, 4, 8))
    two = word in WITH_TWO or word.endswith("cmpst")
    if space == "ds":
        returned = "_rtn" in name or "condxchg" in name
        return f"{name} {target + ', ' if returned else ''}v10, {data}{', ' + other if two else ''}", returned
    if two:
        data = "v[2:3]" if bits == 32 else "v[2:5]"
    flag = "glc" if it.generation < 11 and it.processor not in ("gfx942", "gfx950") else "sc0"
    flag = "th:TH_ATOMIC_RETURN" if it.generation >= 12 else "glc" if it.generation == 11 else flag
    if space == "buffer":
        zero = "null" if it.generation >= 12 else "0"
        return f"{name} {data}, v10, s[4:7], {zero} offen {flag}", True
    base = "" if space == "flat" else ", off"
    return f"{name} {target}, v[0:1], {data}{base} {flag}", True


def some(bits):
    """Numbers of the lanes: edges and others, of which some are floats of a usual size."""
    found = [int(NUMBERS.choice(EDGES)) | (int(NUMBERS.choice(EDGES)) << 32 if bits == 64 else 0) for _ in range(3)]
    kind, word = ("<f", "<I") if bits == 32 else ("<d", "<Q")
    found += [struct.unpack(word, struct.pack(kind, float(value)))[0] for value in NUMBERS.normal(size=2) * 4]
    return found + [int(NUMBERS.integers(0, 1 << 62)) & (1 << bits) - 1 for _ in range(LANES - len(found))]


def column(numbers, it, bits):
    array = np.zeros(it.lanes, f"u{bits // 8}")
    array[: len(numbers)] = numbers
    return array


def equal(left, right, bits, word):
    if word in ("fadd", "fmin", "fmax"):
        kind = f"f{bits}"
        return float_models.same(float_models.number(left, kind), float_models.number(right, kind))
    if word.startswith("pk_add"):
        read = float_models.half if word.endswith("_f16") else float_models.bf16
        return all(float_models.same(read(left >> at & 0xFFFF), read(right >> at & 0xFFFF)) for at in (0, 16))
    return left == right


@pytest.mark.slow
def set_buffer(it):
    """Fill the scalar registers from 4 on with the resource of a buffer of all memory."""
    words = MEMORY, 0, 4096, 0x27000 if it.generation < 10 else 0x31014000
    if it.processor == "gfx1250":
        words = MEMORY, 4096 << 25 & 0xFFFFFFFF, 4096 >> 7, 0
    for number, word in enumerate(words):
        it.scalar(4 + number, word)


def test_every_atomic_operation(it):
    known = [(name, *found) for name in operations(it.processor, it.lanes) if (found := action_of(name))]
    missing = [name for name, word, _ in known if word not in ATOMICS and word not in WITH_TWO and "cmpst" not in word]
    assert missing == []
    lines = [line_of(it, *each) for each in known]
    set_buffer(it)
    it.run("s_mov_b32 m0, -1")
    codes = assemble(it, [line for line, _ in lines])
    for (name, word, bits), (_, returns), code in zip(known, lines, codes, strict=True):
        size, before, data, other = bits // 8, some(bits), some(bits), some(bits)
        if "cmp" in word:
            other = [old if place % 2 else value for place, (old, value) in enumerate(zip(before, other, strict=True))]
        memory = it.local[0] if name.startswith("ds") else it.bytes
        memory[:] = 0
        memory[: size * LANES].view(f"u{size}")[:] = before
        places = size * np.arange(it.lanes, dtype=np.uint64)
        it.vector(0, places + np.uint64(MEMORY))
        it.vector(10, places.astype(np.uint32))
        first, second = (other, data) if word.endswith("cmpst") else (data, other)
        it.vector(2, column(first, it, bits))
        it.vector(4 if name.startswith("ds") or bits == 64 else 3, column(second, it, bits))
        it.execute(code)
        model = word.replace("cmpst", "cmpswap")
        wanted = [
            WITH_TWO[model](*row, bits) if model in WITH_TWO else ATOMICS[model](*row[:2], bits)
            for row in zip(before, data, other, strict=True)
        ]
        found = memory[: size * LANES].view(f"u{size}").tolist()
        assert all(map(equal, found, wanted, [bits] * LANES, [word] * LANES)), (name, before, data, other)
        if returns:
            target = 2 if name.startswith("buffer") else 8
            assert it.read(target, f"u{size}")[0, :LANES].tolist() == before, name


MOVES = re.compile(
    r"(?P<space>ds|global|flat|scratch|buffer)_(?P<action>load|read|store|write)_(?:d16_(?P<front_hi>hi_)?)?"
    r"(?P<size>u?byte|sbyte|u?short|sshort|dword(?:x[234])?|[uib]8|[uib]16|b32|b64|b96|b128)(?P<half>_d16(?:_hi)?)?$"
)
WIDTHS = {"byte": 1, "8": 1, "short": 2, "16": 2, "dword": 4, "32": 4, "64": 8, "96": 12, "128": 16, "dwordx2": 8,
          "dwordx3": 12, "dwordx4": 16}  # fmt: skip


def move_of(name):
    """What a load or a store moves: its direction, bytes, whether they are signed, and the half of the register."""
    match = MOVES.match(name)
    if match is None:
        return None
    size = match["size"]
    width = WIDTHS[re.sub(r"^[usib](?=\d|byte|short)", "", size)]
    is_half = "d16" in name
    half = None if not is_half else int("_hi" in name)
    is_load = match["action"] in ("load", "read")
    return match["space"], is_load, width, size[0] in "si" and not size.startswith("short"), half


def test_every_load_and_store(it):
    moves = [(name, *found) for name in operations(it.processor, it.lanes) if (found := move_of(name))]
    assert len(moves) > 50
    if it.processor in ("gfx906", "gfx90a", "gfx1030"):  # scratch is addressed by a buffer or flat there
        moves = [move for move in moves if move[1] != "scratch" or it.generation >= 9]
    set_buffer(it)
    it.run("s_mov_b32 m0, -1")
    lines = []
    for name, space, is_load, width, _signed, _half in moves:
        data = "v4" if width <= 4 else f"v[4:{3 + width // 4}]"
        place = {"ds": "v10", "scratch": "v10, off", "flat": "v[0:1]", "global": "v[0:1], off"}.get(space)
        if space == "buffer":
            lines.append(f"{name} {data}, v10, s[4:7], {'null' if it.generation >= 12 else '0'} offen offset:16")
        elif is_load:
            lines.append(f"{name} {data}, {place} offset:16")
        elif space == "scratch":
            lines.append(f"{name} v10, {data}, off offset:16")
        elif space == "global":
            lines.append(f"{name} v[0:1], {data}, off offset:16")
        else:
            lines.append(f"{name} {place}, {data} offset:16")
    if it.generation == 10:  # offsets of flat accesses do not count there
        lines = [line.replace(" offset:16", "") if line.startswith("flat") else line for line in lines]
    codes = assemble(it, lines)
    for (name, space, is_load, width, is_signed, half), line, code in zip(moves, lines, codes, strict=True):
        step = 16 if space != "scratch" else 0
        shift = 16 if "offset:16" in line else 0
        whole = NUMBERS.integers(0, 256, 4096).astype(np.uint8)
        it.bytes[:] = whole
        it.local[0, :] = whole
        it.scratch[:] = NUMBERS.integers(0, 256, it.scratch.shape).astype(np.uint8)
        places = step * np.arange(it.lanes, dtype=np.uint64)
        it.vector(0, places + np.uint64(MEMORY))
        it.vector(10, places.astype(np.uint32))
        before = [NUMBERS.integers(0, 1 << 32, it.lanes).astype(np.uint32) for _ in range(4)]
        for number, registers in enumerate(before):
            it.vector(4 + number, registers)
        it.execute(code)
        for lane in range(LANES + 2):
            words = [int(registers[lane]) for registers in before]
            start = step * lane + shift
            found = bytes_at(it, space, start, width, lane)
            if not is_load:
                register = sum(word << 32 * place for place, word in enumerate(words)) >> (16 if half else 0)
                kept = whole[start : start + width].tobytes() if space != "scratch" else None
                if lane < LANES:
                    assert found == (register & (1 << 8 * width) - 1).to_bytes(width, "little"), (name, lane)
                elif kept is not None:
                    assert found == kept, name
                continue
            wanted = list(words)
            if lane < LANES:
                number = int.from_bytes(found, "little")
                if width < 4:
                    number = signed(number, 8 * width) if is_signed else number
                    if half is None:
                        wanted[0] = number & LOW
                    else:
                        shown = (number & 0xFFFF) << 16 * half
                        wanted[0] = words[0] & (0xFFFF0000 if half == 0 else 0xFFFF) | shown
                else:
                    for part in range(width // 4):
                        wanted[part] = number >> 32 * part & LOW
            assert [int(it.read(4 + part)[0, lane]) for part in range(4)] == wanted, (name, lane)


def bytes_at(it, space, start, width, lane):
    """The bytes of memory that a lane reaches; the dwords of scratch memory of lanes take turns."""
    if space == "scratch":
        return bytes(
            int(it.scratch[0, (start + at) // 4 * 4 * it.lanes + 4 * lane + (start + at) % 4]) for at in range(width)
        )
    memory = it.local[0] if space == "ds" else it.bytes
    return memory[start : start + width].tobytes()


MODELS = integer_models.MODELS | float_models.MODELS


def packed_sources(name):
    """How many sources a packed operation has, and whether one of them is what it writes."""
    return 3 if re.search(r"_(fma|mad|min3|max3|minimum3|maximum3|fmac)_", name) else 2, "fmac" in name


def packed_line(name):
    count, accumulates = packed_sources(name)
    wide = name.endswith("32")
    cells = [f"v[{2 * number}:{2 * number + 1}]" if wide else f"v{2 * number}" for number in range(3)]
    halves = " op_sel:[0,1]" if name == "v_pk_mov_b32" else ""
    return f"{name} {'v[8:9]' if wide else 'v8'}, {', '.join(cells[: count - accumulates])}{halves}"


def test_every_packed_operation(it):
    """Each half, or each of two registers, is the operation on one: its model is that of the row."""
    names = [name for name in operations(it.processor, it.lanes) if re.match(r"v_pk_(?!add_m|\w+bf16)", name)]
    assert names
    for name, code in zip(names, assemble(it, list(map(packed_line, names))), strict=True):
        single = {"v_pk_mov_b32": "v_mov_b32"}.get(name, name.replace("v_pk_", "v_"))
        model, wide = MODELS[single], name.endswith("32")
        kind = re.search(r"_([uibf]\d+)$", name)[1]
        count, accumulates = packed_sources(name)
        sources = [[some_packed(kind, it.lanes) for _ in range(2)] for _ in range(count)]
        for number, parts in enumerate(sources):
            register = 8 if accumulates and number == 0 else 2 * (number - accumulates)
            if wide:
                it.vector(register, parts[0].astype(np.uint32))
                it.vector(register + 1, parts[1].astype(np.uint32))
            else:
                it.vector(register, (parts[0] | parts[1] << 16).astype(np.uint32))
        it.execute(code)
        for lane in range(LANES):
            for half in (0, 1):
                row = [int(parts[half][lane]) for parts in sources]
                row = row[half : half + 1] if name == "v_pk_mov_b32" else row
                wanted = model(*row)
                word = int(it.read(8 + (half if wide else 0))[0, lane])
                found = word if wide else word >> 16 * half & 0xFFFF
                if kind[0] == "f":
                    left, right = (float_models.number(bits, kind) for bits in (found, wanted))
                    assert float_models.same(left, right), (name, half, row)
                else:
                    assert found == wanted, (name, half, row)


def some_packed(kind, lanes):
    bits = int(kind[1:])
    if kind[0] == "f":
        values = NUMBERS.normal(size=lanes) * 2.0 ** NUMBERS.integers(-4, 4, lanes)
        values[:3] = 0, -1.5, math.inf
        return values.astype(f"f{bits // 8}").view(f"u{bits // 8}").astype(np.uint64)
    return NUMBERS.integers(0, 1 << bits, lanes).astype(np.uint64)


PAIRS = re.compile(
    r"ds_(?P<action>read|load|write|store|wrxchg|storexchg)_?2(?:addr)?_?(?P<far>st64|stride64)?_?(?:rtn_)?(?P<size>b32|b64)$"
)


def pair_line(name):
    """An operation at v10 with v2 and v4, which loads into the registers from v12 on."""
    match = PAIRS.match(name)
    narrow = match["size"] == "b32"
    first, second = ("v2", "v4") if narrow else ("v[2:3]", "v[4:5]")
    target = "v[12:13]" if narrow else "v[12:15]"
    operands = f"{target}, v10" if match["action"] in ("read", "load") else f"v10, {first}, {second}"
    return f"{name} {target + ', ' if 'xchg' in name else ''}{operands} offset0:1 offset1:2"


def test_every_operation_of_local_memory_with_two_offsets(it):
    names = [name for name in operations(it.processor, it.lanes) if PAIRS.match(name)]
    assert len(names) == 12
    it.run("s_mov_b32 m0, -1")
    it.vector(10, 16 * np.arange(it.lanes, dtype=np.uint32))
    for name, code in zip(names, assemble(it, list(map(pair_line, names))), strict=True):
        match = PAIRS.match(name)
        size = 4 if match["size"] == "b32" else 8
        offsets = [unit * size * (64 if match["far"] else 1) for unit in (1, 2)]
        before = it.local[0, :] = NUMBERS.integers(0, 256, 4096).astype(np.uint8)
        data = [NUMBERS.integers(0, 1 << 32, it.lanes).astype(np.uint32) for _ in range(4)]
        for number, words in enumerate(data):
            it.vector(2 + number, words)
        is_load, exchanges = match["action"] in ("read", "load"), "xchg" in name
        it.execute(code)
        for lane in range(LANES):
            for part, offset in enumerate(offsets):
                place = slice(16 * lane + offset, 16 * lane + offset + size)
                words = [it.read(12 + part * size // 4 + word)[0, lane] for word in range(size // 4)]
                old = before[place].tobytes()
                if is_load or exchanges:
                    assert b"".join(int(word).to_bytes(4, "little") for word in words) == old, name
                if not is_load:
                    new = [int(data[2 * part + word][lane]) for word in range(size // 4)]
                    wanted = b"".join(word.to_bytes(4, "little") for word in new)
                    assert it.local[0, place].tobytes() == wanted, name


SCALARS = re.compile(r"s_(?P<buffer>buffer_)?(?P<action>load|store|atomic)_(?P<what>\w+?)(?P<wide>_x2)?$")
SCALAR_SIZES = {
    "dword": 4, "dwordx2": 8, "dwordx4": 16, "dwordx8": 32, "dwordx16": 64, "b32": 4, "b64": 8, "b96": 12, "b128": 16,
    "b256": 32, "b512": 64, "i8": 1, "u8": 1, "i16": 2, "u16": 2}  # fmt: skip


def scalar_line(name):
    """An operation on memory at s[4:5] or of the buffer s[4:7], with the registers from s16 on."""
    match = SCALARS.match(name)
    base = "s[4:7]" if match["buffer"] else "s[4:5]"
    if match["action"] == "atomic":
        count, flag = (2 if match["wide"] else 1) * (2 if match["what"] == "cmpswap" else 1), " glc"
    else:
        count, flag = max(1, SCALAR_SIZES[match["what"]] // 4), ""
    return f"{name} {'s16' if count == 1 else f's[16:{15 + count}]'}, {base}, 0x10{flag}"


def test_every_operation_of_scalar_memory(it):
    names = [name for name in operations(it.processor, it.lanes) if SCALARS.match(name)]
    assert len(names) >= 10
    if it.processor == "gfx906":
        assert len(names) > 60
    set_buffer(it)
    for name, code in zip(names, assemble(it, list(map(scalar_line, names))), strict=True):
        match = SCALARS.match(name)
        memory = it.bytes.view(np.uint32)
        memory[:] = before = NUMBERS.integers(0, 1 << 32, 1024).astype(np.uint32)
        it.scalar(2, MEMORY, 64)
        for number in range(4):
            it.scalar(16 + number, int(NUMBERS.integers(0, 1 << 32)))
        if match["action"] == "atomic":
            word, bits = match["what"], 64 if match["wide"] else 32
            count = bits // 32 * (2 if word == "cmpswap" else 1)
            given = [it.batch.scalar[16 + number] for number in range(count)]
            if word == "cmpswap":  # the same number as in memory
                for number in range(bits // 32):
                    it.scalar(16 + count // 2 + number, int(before[4 + number]))
            it.execute(code)
            data = sum(part << 32 * number for number, part in enumerate(given[: bits // 32]))
            old = int(before[4]) | (int(before[5]) << 32 if bits == 64 else 0)
            wanted = data if word == "cmpswap" else ATOMICS[word](old, data, bits)
            found = int(memory[4]) | (int(memory[5]) << 32 if bits == 64 else 0)
            assert found == wanted, name
            returned = [int(it.batch.scalar[16 + number]) for number in range(bits // 32)]
            assert returned == [int(word) for word in before[4 : 4 + bits // 32]], name
            continue
        size = SCALAR_SIZES[match["what"]]
        registers = max(1, size // 4)
        it.execute(code)
        found = [int(it.batch.scalar[16 + number]) for number in range(registers)]
        if match["action"] == "store":
            assert memory[4 : 4 + registers].tolist() == found, name
            continue
        if size >= 4:
            assert found == before[4 : 4 + registers].tolist(), name
            continue
        number = int(before[4]) & (1 << 8 * size) - 1
        assert found == [signed(number, 8 * size) & LOW if match["what"][0] == "i" else number], name


def test_lanes_are_exchanged_and_read_and_written_by_number(it):
    left, right = (NUMBERS.integers(0, 1 << 32, it.lanes).astype(np.uint32) for _ in range(2))
    it.vector(0, left)
    it.vector(1, right)
    it.run("v_swap_b32 v0, v1")
    assert (it.read(0)[0, :LANES] == right[:LANES]).all()
    assert (it.read(1)[0, :LANES] == left[:LANES]).all()
    assert (it.read(0)[0, LANES:] == left[LANES:]).all()
    words = NUMBERS.integers(0, 1 << 32, it.lanes).astype(np.uint32)
    it.vector(0, words)
    it.batch.set_exec(0b11000)
    it.scalar(2, 5)
    it.scalar(3, 77)
    it.run("v_readlane_b32 s10, v0, 7\nv_readlane_b32 s11, v0, s2\nv_readfirstlane_b32 s12, v0")
    it.run("v_writelane_b32 v0, s3, 6")
    assert [it.batch.scalar[number] for number in (10, 11, 12)] == [words[7], words[5], words[3]]
    assert it.read(0)[0, 6] == 77  # whatever EXEC is
    it.batch.set_exec(0)
    it.run("v_readfirstlane_b32 s12, v0")
    assert it.batch.scalar[12] == words[0]


def test_lanes_are_permuted_through_local_memory(it):
    """ds_bpermute pulls from the lane of an address, ds_permute pushes to it; lanes that do not execute give 0."""
    words = NUMBERS.integers(1, 1 << 32, it.lanes).astype(np.uint32)
    places = NUMBERS.permutation(it.lanes).astype(np.uint32)
    it.vector(0, 4 * places)
    it.vector(1, words)
    every = (1 << it.lanes) - 1
    it.batch.set_exec(every)
    it.run("ds_bpermute_b32 v2, v0, v1\nds_permute_b32 v3, v0, v1\nds_swizzle_b32 v4, v1 offset:swizzle(SWAP,1)")
    reach = 32 if it.generation >= 10 else 64  # GFX10 and later permute within 32 lanes
    assert it.read(2)[0].tolist() == [int(words[lane // reach * reach + place % reach])
                                      for lane, place in enumerate(places.tolist())]  # fmt: skip
    pushed = [0] * it.lanes
    for lane, place in enumerate(places.tolist()):
        pushed[place] = int(words[lane])
    assert it.read(3)[0].tolist() == pushed
    assert it.read(4)[0].tolist() == [int(words[lane ^ 1]) for lane in range(it.lanes)]
    it.batch.set_exec(1)
    it.vector(0, np.full(it.lanes, 4, np.uint32))
    it.run("ds_bpermute_b32 v2, v0, v1")
    assert it.read(2)[0, 0] == 0
    if it.generation >= 12:
        it.run("ds_bpermute_fi_b32 v2, v0, v1")
        assert it.read(2)[0, 0] == words[1]


def test_lanes_of_rows_are_permuted(it):
    if it.generation < 10:
        return
    words = NUMBERS.integers(1, 1 << 32, it.lanes).astype(np.uint32)
    it.vector(1, words)
    it.batch.set_exec((1 << it.lanes) - 1)
    chosen = [int(number) for number in NUMBERS.integers(0, 16, 16)]
    it.scalar(2, sum(number << 4 * place for place, number in enumerate(chosen[:8])))
    it.scalar(3, sum(number << 4 * place for place, number in enumerate(chosen[8:])))
    it.run("v_permlane16_b32 v2, v1, s2, s3\nv_permlanex16_b32 v3, v1, s2, s3")
    for lane in range(it.lanes):
        assert it.read(2)[0, lane] == words[lane // 16 * 16 + chosen[lane % 16]]
        assert it.read(3)[0, lane] == words[(lane // 16 ^ 1) * 16 + chosen[lane % 16]]


def test_the_halves_of_a_wave_are_exchanged(require_tool):
    it = InstructionBench(require_tool("llvm-mc-22"), "gfx1100", 64)
    words = NUMBERS.integers(1, 1 << 32, 64).astype(np.uint32)
    it.vector(1, words)
    it.run("v_permlane64_b32 v2, v1")
    assert it.read(2)[0].tolist() == [*words[32:].tolist(), *words[:32].tolist()]


def test_branches_go_where_their_condition_says(it):
    """A branch of 3 words goes 16 bytes on: it counts from the next instruction."""
    bits = "b64" if it.lanes == 64 else "b32"
    vcc = "vcc" if it.lanes == 64 else "vcc_lo"
    cases = (
        ("s_branch", "s_nop 0", True),                         ("s_cbranch_scc0", "s_cmp_eq_u32 0, 0", False),
        ("s_cbranch_scc0", "s_cmp_eq_u32 0, 1", True),         ("s_cbranch_scc1", "s_cmp_eq_u32 0, 0", True),
        ("s_cbranch_scc1", "s_cmp_eq_u32 0, 1", False),        ("s_cbranch_vccz", f"s_mov_{bits} {vcc}, 0", True),
        ("s_cbranch_vccz", f"s_mov_{bits} {vcc}, 4", False),   ("s_cbranch_vccnz", f"s_mov_{bits} {vcc}, 0", False),
        ("s_cbranch_vccnz", f"s_mov_{bits} {vcc}, 4", True),   ("s_cbranch_execz", "s_nop 0", False),
        ("s_cbranch_execnz", "s_nop 0", True))  # fmt: skip
    codes = assemble(it, [line for name, setup, _taken in cases for line in (setup, f"{name} 3")])
    for (name, setup, taken), first, second in zip(cases, codes[::2], codes[1::2], strict=True):
        assert it.execute([*first, *second]) == 0x1008 + (12 if taken else 0), (name, setup)
    it.batch.set_exec(0)
    assert (it.run("s_cbranch_execz 3"), it.run("s_cbranch_execnz 3")) == (0x1010, 0x1004)
    if it.generation < 12:
        names = "s_cbranch_cdbgsys", "s_cbranch_cdbguser", "s_cbranch_cdbgsys_or_user", "s_cbranch_cdbgsys_and_user"
        for name in names:
            assert it.run(f"{name} 3") == 0x1004  # no debugger has set a flag


def test_numbers_in_comparisons_have_the_sign_of_the_comparison(it):
    """The 16 bits of `s_cmpk_*_u32` are a number without a sign ("SOPK Instructions": SIMM16.u16)."""
    if it.generation >= 12:
        return  # it has none of them
    for value, results in ((0x8080, "eq=1 lg=0 gt=0 ge=1 lt=0 le=1"), (0xFFFF8080, "eq=0 lg=1 gt=1 ge=1 lt=0 le=0")):
        for word, taken in (each.split("=") for each in results.split()):
            it.run(f"s_mov_b32 s4, {value:#x}")
            it.run(f"s_cmpk_{word}_u32 s4, 0x8080")
            assert it.run("s_cbranch_scc1 3") == 0x1004 + 12 * int(taken), (word, hex(value))
    it.run("s_mov_b32 s4, 0xffff8080")
    it.run("s_cmpk_eq_i32 s4, 0x8080")
    assert it.run("s_cbranch_scc1 3") == 0x1010


def test_literals_of_signed_numbers_of_64_bits_have_a_sign(it):
    """Those of other operations are extended with zeros ("Literal Constants")."""
    it.scalar(6, 4)
    it.run("s_ashr_i64 s[10:11], 0x80000000, s6\ns_lshr_b64 s[12:13], 0x80000000, s6")
    found = [int(it.batch.scalar[number]) for number in range(10, 14)]
    if it.processor == "gfx1250":  # where the assembler writes such a literal with 64 bits
        assert found == [0x08000000, 0, 0x08000000, 0]
        return
    assert found == [0xF8000000, 0xFFFFFFFF, 0x08000000, 0]
    it.run("s_ashr_i64 s[10:11], 0x7fffffff, s6")
    assert [int(it.batch.scalar[number]) for number in (10, 11)] == [0x07FFFFFF, 0]
    if it.generation >= 10:  # others take no literal in VOP3
        it.vector(4, np.zeros(it.lanes, np.uint64))
        it.run(
            "v_cmp_lt_i64 s[14:15], v[4:5], 0x80000000" if it.lanes == 64 else "v_cmp_lt_i64 s14, v[4:5], 0x80000000"
        )
        it.run(
            "v_cmp_lt_u64 s[16:17], v[4:5], 0x80000000" if it.lanes == 64 else "v_cmp_lt_u64 s16, v[4:5], 0x80000000"
        )
        assert [int(it.batch.scalar[number]) for number in (14, 16)] == [0, (1 << LANES) - 1]


def test_jumps_calls_and_ends_of_blocks(it):
    it.scalar(2, 0x123456789ABC0, 64)
    assert it.run("s_setpc_b64 s[2:3]") == 0x123456789ABC0
    assert it.run("s_swappc_b64 s[6:7], s[2:3]") == 0x123456789ABC0
    assert (it.batch.scalar[6], it.batch.scalar[7]) == (0x1004, 0)
    it.run("s_getpc_b64 s[6:7]")
    assert (it.batch.scalar[6], it.batch.scalar[7]) == (0x1004, 0)
    assert it.run("s_call_b64 s[8:9], 3") == 0x1010
    assert it.batch.scalar[8] == 0x1004
    for text, pause in (("s_endpgm", -1), ("s_trap 2", -3), ("s_sendmsghalt sendmsg(MSG_INTERRUPT)", -4)):
        assert it.run(text) == pause
    assert (it.run("s_sethalt 1"), it.run("s_sethalt 0")) == (-4, 0x1004)
    assert it.run("s_sethalt 5") == (-5 if it.generation >= 11 else -4)
    if it.generation < 12:
        assert (it.run("s_barrier"), it.batch.pc) == (-2, 0x1004)
    if it.generation < 10:
        assert it.run("s_endpgm_ordered_ps_done") == -1
    if 8 < it.generation < 12:
        assert it.run("s_endpgm_saved") == -1


def test_time_goes_on_and_mode_is_set_from_a_register(it):
    if it.generation < 11:
        it.run("s_memtime s[2:3]\ns_memtime s[4:5]\ns_memrealtime s[6:7]")
        assert all(time > 0 for time in [it.batch.scalar[number] for number in (2, 4, 6)])
    name = "HW_REG_MODE" if it.generation < 12 else "HW_REG_WAVE_MODE"
    it.scalar(2, 0x5)
    it.run(f"s_setreg_b32 hwreg({name}, 0, 4), s2")
    assert it.batch.mode == 0xF5


def test_vector_registers_by_number(it):
    for number in range(8):
        it.vector(number, np.full(it.lanes, 100 + number, np.uint32))
    if it.generation >= 10:
        it.run("s_mov_b32 m0, 2\nv_movrels_b32 v10, v1\nv_movreld_b32 v11, v5\nv_movrelsd_b32 v14, v4")
        assert [it.read(number)[0, 0] for number in (10, 13, 16)] == [103, 105, 106]
        it.scalar(2, 0x11111111, 64)
        it.run("s_movreld_b64 s[20:21], s[2:3]")
        assert (it.batch.scalar[22], it.batch.scalar[23]) == (0x11111111, 0)
        return
    it.scalar(2, 3)
    it.run("s_set_gpr_idx_on s2, gpr_idx(SRC0)\nv_mov_b32 v10, v1\ns_set_gpr_idx_mode gpr_idx(DST)\nv_mov_b32 v10, v2")
    it.run("s_set_gpr_idx_idx 5\nv_mov_b32 v10, v3\ns_set_gpr_idx_off\nv_mov_b32 v20, v4")
    assert [it.read(number)[0, 0] for number in (10, 13, 15, 20)] == [104, 102, 103, 104]


FAMILIES = re.compile(
    r"t?buffer_(load|store)_(d16_)?(hi_)?format_|v_(mfma|smfmac|wmma|swmmac)_|(global|scratch|buffer)_load_lds_"
    r"|ds_read_b(64|96)_tr_b|v_permlane(16|32)_swap_|v_cvt_scalef32_|v_(fma|mad)_mix|v_cvt_(pk_|sr_)?(f32_|f16_)?[bf][fp]8"
    r"|v_cvt_sr_b?f16_|(ds|global)_(read|load|write|store)_(dword_addtid|addtid_b32)"
    r"|(global|cluster)_(load|store)_async_|cluster_load_|(flat|global)_load_monitor_|(global|scratch)_(load|store)_block"
    r"|v_cvt_scale_pk|v_perm_pk16_|v_permlane_(bcast|up|down|xor)_"
)
"""Families that other tests here go through: formats, matrices, loads to local memory, parts of registers."""


@functools.cache
def words_of_tests():
    texts = "".join(path.read_text() for path in Path(__file__).parent.glob("*.py")).replace("\\n", "\n")
    return set(re.findall(r"\w+", texts))


@pytest.mark.sampled(4)
def test_each_operation_with_a_meaning_has_a_test(it):
    """A row has a model; other operations are in a family that is gone through, or a test names them."""
    words = words_of_tests()
    missing = without_meaning([(it.processor, it.lanes)])
    lacking = [
        name
        for name in operations(it.processor, it.lanes)
        if name not in missing
        and name not in MODELS
        and name.replace("v_dual_", "v_") not in MODELS
        and not IDLE.match(name)
        and not any(pattern.match(name) for pattern in (ACTION, MOVES, PAIRS, SCALARS, FAMILIES))
        and not name.startswith("v_pk_")
        and name not in words
    ]
    assert lacking == []
