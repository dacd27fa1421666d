"""Loads and stores of buffers that convert formats: each component against the definition of its format."""

import struct
from fractions import Fraction

import numpy as np
import pytest

from dwarfgpu.execution.faults import MachineFault
from dwarfgpu.isa.tables import table
from tests.builders import float_models
from tests.builders.instruction_bench import MEMORY, InstructionBench
from tests.builders.parameters import for_each

NUMBERS = np.random.default_rng(41)
PROCESSORS = [("gfx900", 64), ("gfx90a", 64), ("gfx1030", 32), ("gfx1100", 32), ("gfx1200", 32)]
SIZES = {  # X first
    "8": (8,), "16": (16,), "8_8": (8, 8), "32": (32,), "16_16": (16, 16), "10_11_11": (11, 11, 10),
    "11_11_10": (10, 11, 11), "10_10_10_2": (2, 10, 10, 10), "2_10_10_10": (10, 10, 10, 2), "8_8_8_8": (8,) * 4,
    "32_32": (32, 32), "16_16_16_16": (16,) * 4, "32_32_32": (32,) * 3, "32_32_32_32": (32,) * 4}  # fmt: skip
KINDS = ("UNORM", "SNORM", "USCALED", "SSCALED", "UINT", "SINT", "FLOAT")


def formats(processor):
    """The formats of a processor: number, text for the assembler, sizes and kind of the components."""
    if processor.startswith("gfx9"):
        for data_number, data in enumerate(("8", "16", "8_8", "32", "16_16", "10_11_11", "11_11_10", "10_10_10_2",
                                            "2_10_10_10", "8_8_8_8", "32_32", "16_16_16_16", "32_32_32",
                                            "32_32_32_32"), 1):  # fmt: skip
            for kind in KINDS:
                if kind == "FLOAT" and (SIZES[data][0] == 8 or 2 in SIZES[data]):
                    continue
                number = data_number | (7 if kind == "FLOAT" else KINDS.index(kind)) << 4
                yield number, f"[BUF_DATA_FORMAT_{data},BUF_NUM_FORMAT_{kind}]", SIZES[data], kind
        return
    for number, name in {**table(processor, 32).names["format"], 1: "BUF_FMT_8_UNORM"}.items():
        data, _, kind = name.removeprefix("BUF_FMT_").rpartition("_")
        if data:
            yield number, f"[{name}]", SIZES[data], kind


def component(code, bits, kind):
    """The bits of the register that gets a component, by the definition of the format."""
    signed = code - (1 << bits) if code >> bits - 1 else code
    if kind in ("UINT", "SINT"):
        return (code if kind == "UINT" else signed) & 0xFFFFFFFF
    if kind == "FLOAT":
        if bits == 32:
            return code
        if bits in (10, 11):  # no sign, 5 bits of exponent
            fraction_bits = bits - 5
            exponent, low = code >> fraction_bits, code & (1 << fraction_bits) - 1
            if exponent == 31:
                return 0x7F800000 | (0x400000 if low else 0)
            number = (low / (1 << fraction_bits) + bool(exponent)) * 2.0 ** (max(exponent, 1) - 15)
            return float_models.bits_of(number, "f32")
        return float_models.bits_of(float_models.number(code, "f16"), "f32")
    exact = {
        "UNORM": Fraction(code, (1 << bits) - 1),
        "SNORM": max(Fraction(signed, (1 << max(bits - 1, 1)) - 1), Fraction(-1)),
        "USCALED": Fraction(code),
        "SSCALED": Fraction(signed),
    }[kind]
    return float_models.rounded(exact, "f32")


def same(left, right, kind):
    if kind in ("UINT", "SINT"):
        return left == right
    return float_models.same(float_models.number(left, "f32"), float_models.number(right, "f32"))


def split(data, sizes):
    whole = int.from_bytes(data, "little")
    codes = []
    for size in sizes:
        codes.append(whole & (1 << size) - 1)
        whole >>= size
    return codes


def resource(it, size, last_word):
    for number, word in enumerate((MEMORY, size << 16, 4096 // size, last_word)):
        it.scalar(4 + number, word)


def last_word(it, number=0, chosen=(4, 5, 6, 7)):
    word = sum(selection << 3 * place for place, selection in enumerate(chosen))
    if it.generation < 10:
        return word | (number & 15) << 15 | (number >> 4) << 12
    return word | number << 12 | 1 << 28


@pytest.fixture(
    params=[
        pytest.param(pair, id=pair[0], marks=pytest.mark.slow if pair[0] in ("gfx900", "gfx1030") else ())
        for pair in PROCESSORS
    ]
)
def it(request, require_tool):
    processor, lanes = request.param
    return InstructionBench(require_tool("llvm-mc-22"), processor, lanes)


def loaded(it, text, wide=4):
    zero = "null" if it.generation >= 12 else "0"
    it.run(text.format(zero))
    return [it.read(number)[0].tolist() for number in range(wide)]


def test_each_format_is_read(it):
    it.bytes[:] = NUMBERS.integers(0, 256, 4096).astype(np.uint8)
    it.bytes[:64] = 0xFF
    it.bytes[64:96] = 0x80
    it.vector(9, np.arange(it.lanes, dtype=np.uint32))
    for number, text, sizes, kind in formats(it.processor):
        size = sum(sizes) // 8
        resource(it, size, last_word(it, number))
        loads = ["buffer_load_format_xyzw v[0:3], v9, s[4:7], {} idxen"]
        if number % 7 == 0:
            loads.append(f"tbuffer_load_format_xyzw v[0:3], v9, s[4:7], {{}} format:{text} idxen")
        for found in (loaded(it, load) for load in loads):
            for lane in range(it.lanes):
                codes = split(it.bytes[lane * size : (lane + 1) * size].tobytes(), sizes)
                wanted = [component(code, bits, kind) for code, bits in zip(codes, sizes, strict=True)]
                one = 1 if kind in ("UINT", "SINT") else 0x3F800000
                wanted += [0, 0, 0, one][len(wanted) :]
                parts = [column[lane] for column in found]
                assert all(map(same, parts, wanted, [kind] * 4)), (text, lane, list(map(hex, parts)), wanted)


def test_what_is_read_is_written_back(it):
    """Each number of a format is stored as the code it came from; the lowest SNORM has two."""
    before = NUMBERS.integers(0, 256, 4096).astype(np.uint8)
    it.vector(9, np.arange(it.lanes, dtype=np.uint32))
    for number, text, sizes, kind in formats(it.processor):
        if kind == "FLOAT" and sizes[0] in (10, 11):
            continue
        size = sum(sizes) // 8
        it.bytes[:] = before
        if kind == "FLOAT":
            values = NUMBERS.normal(size=2048).astype(np.float32 if sizes[0] == 32 else np.float16)
            it.bytes[: values.nbytes // 2] = values.view(np.uint8)[: values.nbytes // 2]
        if sizes[0] == 32 and kind.endswith("SCALED"):
            continue  # a single does not have all of them
        kept = it.bytes[: size * it.lanes].copy()
        resource(it, size, last_word(it, number))
        loaded(it, "buffer_load_format_xyzw v[0:3], v9, s[4:7], {} idxen")
        stores = ["buffer_store_format_xyzw v[0:3], v9, s[4:7], {} idxen"]
        if number % 7 == 0:
            stores.append(f"tbuffer_store_format_xyzw v[0:3], v9, s[4:7], {{}} format:{text} idxen")
        for store in stores:
            it.bytes[:] = 0
            loaded(it, store)
            assert not it.bytes[size * it.lanes :].any()
            for lane in range(it.lanes):
                place = slice(lane * size, (lane + 1) * size)
                codes, back = split(kept[place].tobytes(), sizes), split(it.bytes[place].tobytes(), sizes)
                if kind == "SNORM":
                    codes = [code + (code == 1 << bits - 1) for code, bits in zip(codes, sizes, strict=True)]
                if kind.endswith("NORM") and sizes[0] == 32:  # of which a single has only 24 bits
                    assert all(abs(left - right) <= 256 for left, right in zip(codes, back, strict=True))
                    continue
                assert codes == back, (text, store, lane)


def test_halves_of_registers(it):
    it.bytes[:] = NUMBERS.integers(0, 256, 4096).astype(np.uint8)
    text = "[BUF_DATA_FORMAT_8_8_8_8,BUF_NUM_FORMAT_UNORM]" if it.generation < 10 else "[BUF_FMT_8_8_8_8_UNORM]"
    number = 10 if it.generation < 10 else 56 if it.generation == 10 else 42
    resource(it, 4, last_word(it, number))
    it.vector(9, np.arange(it.lanes, dtype=np.uint32))
    before = it.bytes.copy()
    name = "format_d16" if it.generation < 11 else "d16_format"
    high = "format_d16_hi_x" if it.generation < 11 else "d16_hi_format_x"
    for prefix, end in (("tbuffer", f" format:{text} idxen"), ("buffer", " idxen")):
        for register in range(4):
            it.vector(register, np.full(it.lanes, 0x12345678, np.uint32))
        found = loaded(it, f"{prefix}_load_{name}_xyz v[0:1], v9, s[4:7], {{}}{end}", 2)
        for lane in range(it.lanes):
            numbers = [
                float_models.rounded(Fraction(int(code), 255), "f32") for code in before[4 * lane : 4 * lane + 3]
            ]
            halves = [
                int(np.array(word, np.uint32).view(np.float32).astype(np.float16).view(np.uint16)) for word in numbers
            ]
            assert found[0][lane] == halves[0] | halves[1] << 16
            assert found[1][lane] == halves[2] | 0x12340000
    (found,) = loaded(it, f"buffer_load_{high} v0, v9, s[4:7], {{}} idxen", 1)
    assert all(word >> 16 == struct.unpack("<H", np.float16(np.float32(code / 255)).tobytes())[0]
               for word, code in zip(found, before[: 4 * it.lanes : 4].tolist(), strict=True))  # fmt: skip
    loaded(it, f"buffer_load_{name}_xyzw v[0:1], v9, s[4:7], {{}} idxen", 2)
    it.bytes[:] = 0
    loaded(it, f"buffer_store_{name}_xyzw v[0:1], v9, s[4:7], {{}} idxen", 2)
    assert (it.bytes[: 4 * it.lanes] == before[: 4 * it.lanes]).all()


def test_the_resource_says_which_component_goes_where(it):
    number = 10 | 4 << 4 if it.generation < 10 else 60 if it.generation == 10 else 46  # 8_8_8_8 UINT
    resource(it, 4, last_word(it, number, (7, 1, 0, 5)))
    it.bytes[:4] = 11, 22, 33, 44
    it.vector(9, np.zeros(it.lanes, np.uint32))
    found = loaded(it, "buffer_load_format_xyzw v[0:3], v9, s[4:7], {} idxen")
    assert [column[0] for column in found] == [44, 1, 0, 22]
    (found,) = loaded(it, "buffer_load_format_x v0, v9, s[4:7], {} idxen", 1)
    assert found[0] == 44


def test_elements_outside_of_the_buffer_and_of_lanes_that_do_not_execute(it):
    number = 4 | 4 << 4 if it.generation < 10 else 20  # 32 UINT
    resource(it, 4, last_word(it, number))
    it.scalar(6, 5)
    it.bytes.view(np.uint32)[:] = 77
    it.vector(9, np.arange(it.lanes, dtype=np.uint32))
    (found,) = loaded(it, "buffer_load_format_x v0, v9, s[4:7], {} idxen", 1)
    assert found[:6] == [77] * 5 + [0]
    it.vector(0, np.full(it.lanes, 5, np.uint32))
    loaded(it, "buffer_store_format_x v0, v9, s[4:7], {} idxen", 1)
    assert it.bytes.view(np.uint32)[:6].tolist() == [5] * 5 + [77]
    it.vector(9, np.arange(it.lanes, dtype=np.uint32))
    it.vector(0, np.full(it.lanes, 5, np.uint32))
    it.bytes.view(np.uint32)[:] = 77
    it.batch.set_exec(5)
    (found,) = loaded(it, "buffer_load_format_x v0, v9, s[4:7], {} idxen", 1)
    assert found[:4] == [77, 5, 77, 5]
    loaded(it, "buffer_store_format_x v9, v9, s[4:7], {} idxen", 1)
    assert it.bytes.view(np.uint32)[:4].tolist() == [0, 77, 2, 77]


@for_each("number, value, message",
    (1 | 4 << 4, 256, "none of 8 bits"), (1 | 2 << 4, 0x3F000000, "none of 8 bits"),
    (6 | 7 << 4, 0, "floats of 11 bits"),
    (10, 0, "4 components if 1"), (0, 0, "data format 0"), (1 | 7 << 4, 0, "has no floats"))  # fmt: skip
def test_what_no_document_says_stops_the_wave(require_tool, number, value, message):
    it = InstructionBench(require_tool("llvm-mc-22"), "gfx900", 64)
    resource(it, 4, last_word(it, number))
    it.vector(0, np.full(64, value, np.uint32))
    it.vector(1, np.full(64, value, np.uint32))
    it.vector(2, np.full(64, value, np.uint32))
    it.vector(9, np.zeros(64, np.uint32))
    count = "x" if "components" in message else "xyz"
    registers = "v0" if count == "x" else "v[0:2]"
    with pytest.raises(MachineFault, match=message):
        it.run(f"buffer_store_format_{count} {registers}, v9, s[4:7], 0 idxen")
