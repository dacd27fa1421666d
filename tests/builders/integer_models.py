"""What integer instructions compute, from the words of the ISA documents, on Python integers.

Nothing here comes from the rows of `dwarfgpu.isa.semantics`: sources and results are the bits of registers, as unsigned
integers, and each model says in the documents' terms (S0, S1, S2, D, SCC) what one lane or one wave gets. An operation
that also reads its destination gets it first, SCC and EXEC last. Sources: "RDNA3 Instruction Set Architecture" and
"RDNA4 Instruction Set Architecture", chapters 16 (instructions); "CDNA3 Instruction Set Architecture", chapter 12;
"Vega Instruction Set Architecture", chapter 12.
"""

import re
from functools import partial

MODELS = {}


def model(names):
    def keep(function):
        for name in names.split():
            assert name not in MODELS, name
            MODELS[name] = function
        return function

    return keep


def wrap(number, bits):
    return number % (1 << bits)


def signed(number, bits):
    number = wrap(number, bits)
    return number - (1 << bits) if number >= 1 << bits - 1 else number


def fits(number, bits):
    return -(1 << bits - 1) <= number < 1 << bits - 1


# --- Scalar arithmetic --------------------------------------------------------------------------------------------

MODELS |= dict.fromkeys(["s_mov_b32", "s_mov_b64", "s_movk_i32"], lambda s0: s0)
MODELS |= dict.fromkeys(["s_cmov_b32", "s_cmovk_i32", "s_cmov_b64"], lambda d, s0, scc: s0 if scc else d)
MODELS |= dict.fromkeys(["s_cselect_b32", "s_cselect_b64"], lambda s0, s1, scc: s0 if scc else s1)


@model("s_add_u32 s_add_co_u32")
def _(s0, s1):
    return wrap(s0 + s1, 32), int(s0 + s1 >= 1 << 32)


@model("s_addc_u32 s_add_co_ci_u32")
def _(s0, s1, scc):
    return wrap(s0 + s1 + scc, 32), int(s0 + s1 + scc >= 1 << 32)


@model("s_sub_u32 s_sub_co_u32")
def _(s0, s1):
    return wrap(s0 - s1, 32), int(s1 > s0)


@model("s_subb_u32 s_sub_co_ci_u32")
def _(s0, s1, scc):
    return wrap(s0 - s1 - scc, 32), int(s1 + scc > s0)


@model("s_add_i32 s_add_co_i32 s_addk_i32 s_addk_co_i32")
def _(s0, s1):
    exact = signed(s0, 32) + signed(s1, 32)
    return wrap(exact, 32), int(not fits(exact, 32))


@model("s_sub_i32 s_sub_co_i32")
def _(s0, s1):
    exact = signed(s0, 32) - signed(s1, 32)
    return wrap(exact, 32), int(not fits(exact, 32))


MODELS["s_add_nc_u64"] = lambda s0, s1: wrap(s0 + s1, 64)
MODELS["s_sub_nc_u64"] = lambda s0, s1: wrap(s0 - s1, 64)
MODELS["s_mul_u64"] = lambda s0, s1: wrap(s0 * s1, 64)
MODELS["s_mul_i32"] = MODELS["s_mulk_i32"] = lambda s0, s1: wrap(s0 * s1, 32)
MODELS["s_mul_hi_u32"] = lambda s0, s1: s0 * s1 // (1 << 32)
MODELS["s_mul_hi_i32"] = lambda s0, s1: wrap(signed(s0, 32) * signed(s1, 32) // (1 << 32), 32)
for _count in (1, 2, 3, 4):
    MODELS[f"s_lshl{_count}_add_u32"] = lambda s0, s1, n=_count: (
        wrap(s0 * 2**n + s1, 32),
        int(s0 * 2**n + s1 >= 0x100000000),
    )
MODELS["s_abs_i32"] = lambda s0: wrap(abs(signed(s0, 32)), 32)
MODELS["s_absdiff_i32"] = lambda s0, s1: wrap(abs(signed(s0 - s1, 32)), 32)
# Where both are the same, the documents up to RDNA2 say that SCC of s_max is 0, and that of RDNA3 that it is 1.
MODELS["s_min_i32"] = lambda s0, s1: (s0, 1) if signed(s0, 32) < signed(s1, 32) else (s1, 0)
MODELS["s_max_i32"] = lambda s0, s1: (s0, 1) if signed(s0, 32) > signed(s1, 32) else (s1, 0)
MODELS["s_min_u32"] = lambda s0, s1: (s0, 1) if s0 < s1 else (s1, 0)
MODELS["s_max_u32"] = lambda s0, s1: (s0, 1) if s0 > s1 else (s1, 0)

# --- Logic, also with EXEC ----------------------------------------------------------------------------------------

TRUTH = {  # what a bit is for the bits S0 = 0, 0, 1, 1 and S1 (or EXEC) = 0, 1, 0, 1
    "and": "0001", "or": "0111", "xor": "0110", "nand": "1110", "nor": "1000", "xnor": "1001", "andn2": "0010",
    "and_not1": "0010", "orn2": "1011", "or_not1": "1011", "andn1": "0100", "and_not0": "0100", "orn1": "1101",
    "or_not0": "1101"}  # fmt: skip


def bitwise(table, bits, s0, s1):
    return sum(int(table[2 * (s0 >> bit & 1) + (s1 >> bit & 1)]) << bit for bit in range(bits))


for _word, _table in TRUTH.items():
    for _bits in (32, 64):
        MODELS[f"s_{_word}_b{_bits}"] = lambda s0, s1, t=_table, b=_bits: bitwise(t, b, s0, s1)

        def _save(s0, execution, t=_table, b=_bits):
            new = bitwise(t, b, s0, execution)
            return execution, new, int(new != 0)

        def _write(s0, execution, t=_table, b=_bits):
            new = bitwise(t, b, s0, execution)
            return new, new, int(new != 0)

        MODELS[f"s_{_word}_saveexec_b{_bits}"] = _save
        MODELS[f"s_{_word}_wrexec_b{_bits}"] = _write
for _bits in (32, 64):
    MODELS[f"s_not_b{_bits}"] = lambda s0, b=_bits: (1 << b) - 1 - s0


def digits(number, bits):
    """The bits of a number as text, the highest first."""
    return format(number, f"0{bits}b")


def quads(number, bits):
    text = digits(number, bits)
    return [text[at : at + 4] for at in range(0, bits, 4)]


@model("s_wqm_b32")
def _(s0):
    return int("".join("1111" if "1" in quad else "0000" for quad in quads(s0, 32)), 2)


@model("s_wqm_b64")
def _(s0):
    return int("".join("1111" if "1" in quad else "0000" for quad in quads(s0, 64)), 2)


@model("s_quadmask_b32")
def _(s0):
    return int("".join("1" if "1" in quad else "0" for quad in quads(s0, 32)), 2)


@model("s_quadmask_b64")
def _(s0):
    return int("".join("1" if "1" in quad else "0" for quad in quads(s0, 64)), 2)


# --- Scalar shifts and bits ---------------------------------------------------------------------------------------

for _bits in (32, 64):
    MODELS[f"s_lshl_b{_bits}"] = lambda s0, s1, b=_bits: wrap(s0 * 2 ** (s1 % b), b)
    MODELS[f"s_lshr_b{_bits}"] = lambda s0, s1, b=_bits: s0 // 2 ** (s1 % b)
    MODELS[f"s_ashr_i{_bits}"] = lambda s0, s1, b=_bits: wrap(signed(s0, b) // 2 ** (s1 % b), b)
    MODELS[f"s_bfm_b{_bits}"] = lambda s0, s1, b=_bits: wrap((2 ** (s0 % b) - 1) * 2 ** (s1 % b), b)
    MODELS[f"s_brev_b{_bits}"] = lambda s0, b=_bits: int(digits(s0, b)[::-1], 2)
    MODELS[f"s_bcnt0_i32_b{_bits}"] = lambda s0, b=_bits: digits(s0, b).count("0")
    MODELS[f"s_bcnt1_i32_b{_bits}"] = lambda s0, b=_bits: digits(s0, b).count("1")
    MODELS[f"s_bitset0_b{_bits}"] = lambda d, s0, b=_bits: d - (d >> s0 % b & 1) * 2 ** (s0 % b)
    MODELS[f"s_bitset1_b{_bits}"] = lambda d, s0, b=_bits: d + (1 - (d >> s0 % b & 1)) * 2 ** (s0 % b)
    MODELS[f"s_bitcmp0_b{_bits}"] = lambda s0, s1, b=_bits: int(digits(s0, b)[b - 1 - s1 % b] == "0")
    MODELS[f"s_bitcmp1_b{_bits}"] = lambda s0, s1, b=_bits: int(digits(s0, b)[b - 1 - s1 % b] == "1")

NONE = 0xFFFFFFFF


def first_from_low(number, bits, digit):
    """The position of the lowest bit that is a digit, -1 if none is."""
    return wrap(digits(number, bits)[::-1].find(digit), 32)


def first_from_high(number, bits):
    """How many zeros are above the highest 1, -1 if there is none."""
    return wrap(digits(number, bits).find("1"), 32)


def equal_to_sign(number, bits):
    """How many bits from the highest on are equal to the sign, which counts; -1 if all are."""
    text = digits(number, bits)
    return wrap(text.find("1" if text[0] == "0" else "0"), 32)


MODELS["s_ff0_i32_b32"] = lambda s0: first_from_low(s0, 32, "0")
MODELS["s_ff0_i32_b64"] = lambda s0: first_from_low(s0, 64, "0")
MODELS["s_ff1_i32_b32"] = MODELS["s_ctz_i32_b32"] = lambda s0: first_from_low(s0, 32, "1")
MODELS["s_ff1_i32_b64"] = MODELS["s_ctz_i32_b64"] = lambda s0: first_from_low(s0, 64, "1")
MODELS["s_flbit_i32_b32"] = MODELS["s_clz_i32_u32"] = lambda s0: first_from_high(s0, 32)
MODELS["s_flbit_i32_b64"] = MODELS["s_clz_i32_u64"] = lambda s0: first_from_high(s0, 64)
MODELS["s_flbit_i32"] = MODELS["s_cls_i32"] = lambda s0: equal_to_sign(s0, 32)
MODELS["s_flbit_i32_i64"] = MODELS["s_cls_i32_i64"] = lambda s0: equal_to_sign(s0, 64)
MODELS["s_bitreplicate_b64_b32"] = lambda s0: int("".join(2 * digit for digit in digits(s0, 32)), 2)


@model("s_bfe_u32")
def _(s0, s1):
    return wrap(s0 >> s1 % 32, s1 >> 16 & 127)


@model("s_bfe_u64")
def _(s0, s1):
    return wrap(s0 >> s1 % 64, s1 >> 16 & 127)


def signed_field(s0, s1, bits):
    width = s1 >> 16 & 127
    return wrap(signed(signed(s0, bits) >> s1 % bits, width), bits) if width else 0


MODELS["s_bfe_i32"] = lambda s0, s1: signed_field(s0, s1, 32)
MODELS["s_bfe_i64"] = lambda s0, s1: signed_field(s0, s1, 64)
MODELS["s_sext_i32_i8"] = lambda s0: wrap(signed(s0, 8), 32)
MODELS["s_sext_i32_i16"] = lambda s0: wrap(signed(s0, 16), 32)
for _low in "lh":
    for _high in "lh":
        MODELS[f"s_pack_{_low}{_high}_b32_b16"] = lambda s0, s1, a=_low, b=_high: (
            wrap(s0 >> 16 * (a == "h"), 16) + (wrap(s1 >> 16 * (b == "h"), 16) << 16)
        )

# --- Comparisons --------------------------------------------------------------------------------------------------

ORDER = {"lt": (-1,), "eq": (0,), "le": (-1, 0), "gt": (1,), "lg": (-1, 1), "ne": (-1, 1), "ge": (0, 1), "f": (),
         "t": (-1, 0, 1)}  # fmt: skip
"""The relations in which an operation finds its sources: -1 for less, 0 for equal, 1 for greater."""


def compares(word, kind, most=-1):
    """Compare two numbers; of the second one there are only the bits that are set in the last argument."""
    bits, is_signed = int(kind[1:]), kind[0] == "i"

    def compare(s0, s1):
        s1 &= most
        left, right = (signed(s0, bits), signed(s1, bits)) if is_signed else (s0, s1)
        return int((left > right) - (left < right) in ORDER[word])

    return compare


for _word in ("eq", "lg", "gt", "ge", "lt", "le"):
    for _kind in ("i32", "u32"):
        MODELS[f"s_cmp_{_word}_{_kind}"] = compares(_word, _kind)
    MODELS[f"s_cmpk_{_word}_i32"] = MODELS[f"s_cmp_{_word}_i32"]
    MODELS[f"s_cmpk_{_word}_u32"] = compares(_word, "u32", 0xFFFF)
MODELS["s_cmp_eq_u64"] = compares("eq", "u64")
MODELS["s_cmp_lg_u64"] = compares("lg", "u64")
for _word in ("f", "lt", "eq", "le", "gt", "ne", "ge", "t"):
    for _kind in ("i16", "u16", "i32", "u32", "i64", "u64"):
        MODELS[f"v_cmp_{_word}_{_kind}"] = MODELS[f"v_cmpx_{_word}_{_kind}"] = compares(_word, _kind)

# --- Vector moves, sums, products ---------------------------------------------------------------------------------

_MOVES = "v_mov_b16 v_mov_b32 v_mov_b64 v_accvgpr_mov_b32 v_accvgpr_read_b32 v_accvgpr_write_b32"
MODELS |= dict.fromkeys(_MOVES.split(), lambda s0: s0)
MODELS |= dict.fromkeys(["v_cndmask_b16", "v_cndmask_b32"], lambda s0, s1, vcc: s1 if vcc else s0)
for _sign in "ui":
    for _bits, _kinds in ((32, "v_{}_{}32 v_{}_nc_{}32"), (16, "v_{}_{}16 v_{}_nc_{}16")):
        for _word, _sum in (
            ("add", lambda s0, s1: s0 + s1),
            ("sub", lambda s0, s1: s0 - s1),
            ("subrev", lambda s0, s1: s1 - s0),
        ):
            for _name in _kinds.split():
                _name = _name.format(_word, _sign)
                MODELS[_name] = lambda s0, s1, f=_sum, b=_bits: wrap(f(s0, s1), b)


def carried(exact):
    """A sum or difference of 32 bits, and whether it has carried or borrowed."""
    return wrap(exact, 32), int(not 0 <= exact < 1 << 32)


MODELS["v_add_co_u32"] = lambda s0, s1: carried(s0 + s1)
MODELS["v_sub_co_u32"] = lambda s0, s1: carried(s0 - s1)
MODELS["v_subrev_co_u32"] = lambda s0, s1: carried(s1 - s0)
MODELS["v_addc_u32"] = MODELS["v_addc_co_u32"] = MODELS["v_add_co_ci_u32"] = lambda s0, s1, vcc: carried(s0 + s1 + vcc)
MODELS["v_subb_u32"] = MODELS["v_subb_co_u32"] = MODELS["v_sub_co_ci_u32"] = lambda s0, s1, vcc: carried(s0 - s1 - vcc)
MODELS["v_subbrev_u32"] = MODELS["v_subbrev_co_u32"] = MODELS["v_subrev_co_ci_u32"] = lambda s0, s1, vcc: carried(
    s1 - s0 - vcc
)
MODELS["v_add3_u32"] = lambda s0, s1, s2: wrap(s0 + s1 + s2, 32)
MODELS["v_xad_u32"] = lambda s0, s1, s2: wrap(bitwise(TRUTH["xor"], 32, s0, s1) + s2, 32)
MODELS["v_add_lshl_u32"] = lambda s0, s1, s2: wrap((s0 + s1) * 2 ** (s2 % 32), 32)
MODELS["v_lshl_add_u32"] = lambda s0, s1, s2: wrap(s0 * 2 ** (s1 % 32) + s2, 32)
MODELS["v_lshl_few_add_u64"] = lambda s0, s1, s2: wrap(s0 * [1, 2, 4, 8, 16, 1, 1, 1][s1 % 8] + s2, 64)
MODELS["v_lshl_add_u64"] = lambda s0, s1, s2: wrap(s0 * 2 ** (s1 % 8) + s2, 64)
MODELS["v_mul_lo_u32"] = MODELS["v_mul_lo_i32"] = lambda s0, s1: wrap(s0 * s1, 32)
MODELS["v_mul_lo_u16"] = lambda s0, s1: wrap(s0 * s1, 16)
MODELS["v_mul_hi_u32"] = MODELS["s_mul_hi_u32"]
MODELS["v_mul_hi_i32"] = MODELS["s_mul_hi_i32"]
MODELS["v_mul_u32_u24"] = lambda s0, s1: wrap(wrap(s0, 24) * wrap(s1, 24), 32)
MODELS["v_mul_i32_i24"] = lambda s0, s1: wrap(signed(s0, 24) * signed(s1, 24), 32)
MODELS["v_mul_hi_u32_u24"] = lambda s0, s1: wrap(s0, 24) * wrap(s1, 24) // (1 << 32)
MODELS["v_mul_hi_i32_i24"] = lambda s0, s1: wrap(signed(s0, 24) * signed(s1, 24) // (1 << 32), 32)
MODELS["v_mad_u32_u24"] = lambda s0, s1, s2: wrap(wrap(s0, 24) * wrap(s1, 24) + s2, 32)
MODELS["v_mad_i32_i24"] = lambda s0, s1, s2: wrap(signed(s0, 24) * signed(s1, 24) + s2, 32)
MODELS["v_mad_u32_u16"] = lambda s0, s1, s2: wrap(s0 * s1 + s2, 32)
MODELS["v_mad_i32_i16"] = lambda s0, s1, s2: wrap(signed(s0, 16) * signed(s1, 16) + signed(s2, 32), 32)
for _name in ("v_mad_u16", "v_mad_i16", "v_mad_legacy_u16", "v_mad_legacy_i16"):
    MODELS[_name] = lambda s0, s1, s2: wrap(s0 * s1 + s2, 16)


MODELS["v_mad_u32"] = lambda s0, s1, s2: wrap(s0 * s1 + s2, 32)
MODELS["v_add_nc_u64"] = lambda s0, s1: wrap(s0 + s1, 64)
MODELS["v_sub_nc_u64"] = lambda s0, s1: wrap(s0 - s1, 64)
MODELS["v_mul_u64"] = lambda s0, s1: wrap(s0 * s1, 64)
MODELS["v_mad_nc_u64_u32"] = lambda s0, s1, s2: wrap(s0 * s1 + s2, 64)
MODELS["v_mad_nc_i64_i32"] = lambda s0, s1, s2: wrap(signed(s0, 32) * signed(s1, 32) + s2, 64)


for _bits in (16, 32):  # CDNA 5, 7.7: the sum is clamped whatever the modifier says
    for _which, _choice in (("max", max), ("min", min)):
        MODELS[f"v_add_{_which}_i{_bits}"] = lambda s0, s1, s2, b=_bits, f=_choice: wrap(
            f(clamped(signed(s0, b) + signed(s1, b), -(2 ** (b - 1)), 2 ** (b - 1) - 1), signed(s2, b)), b
        )
        MODELS[f"v_add_{_which}_u{_bits}"] = lambda s0, s1, s2, b=_bits, f=_choice: f(min(s0 + s1, 2**b - 1), s2)
MODELS["v_sat_pk4_i4_i8"] = lambda s0: sum(
    wrap(clamped(signed(byte, 8), -8, 7), 4) << 4 * place for place, byte in enumerate(parts(s0, 8))
)
MODELS["v_sat_pk4_u4_u8"] = lambda s0: sum(min(byte, 15) << 4 * place for place, byte in enumerate(parts(s0, 8)))
MODELS["v_cvt_sr_pk_bf16_f32"] = lambda s0, s1, s2: (
    wrap(s0 + s2 % 2**16, 32) // 2**16 + (wrap(s1 + s2 // 2**16, 32) // 2**16 << 16)
)


@model("v_mad_u64_u32 v_mad_co_u64_u32")
def _(s0, s1, s2):
    return wrap(s0 * s1 + s2, 64), int(s0 * s1 + s2 >= 1 << 64)


@model("v_mad_i64_i32 v_mad_co_i64_i32")
def _(s0, s1, s2):
    exact = signed(s0, 32) * signed(s1, 32) + signed(s2, 64)
    return wrap(exact, 64), int(not fits(exact, 64))


# --- Vector logic, shifts, bits -----------------------------------------------------------------------------------

for _bits in (16, 32):
    MODELS[f"v_not_b{_bits}"] = lambda s0, b=_bits: (1 << b) - 1 - s0
    for _word in ("and", "or", "xor", "xnor"):
        MODELS[f"v_{_word}_b{_bits}"] = lambda s0, s1, t=TRUTH[_word], b=_bits: bitwise(t, b, s0, s1)
MODELS["v_and_or_b32"] = lambda s0, s1, s2: bitwise(TRUTH["or"], 32, bitwise(TRUTH["and"], 32, s0, s1), s2)
MODELS["v_or3_b32"] = lambda s0, s1, s2: sum(1 << bit for bit in range(32) if (s0 >> bit | s1 >> bit | s2 >> bit) & 1)
MODELS["v_xor3_b32"] = lambda s0, s1, s2: sum(
    ((s0 >> bit & 1) + (s1 >> bit & 1) + (s2 >> bit & 1)) % 2 << bit for bit in range(32)
)
MODELS["v_lshl_or_b32"] = lambda s0, s1, s2: bitwise(TRUTH["or"], 32, wrap(s0 * 2 ** (s1 % 32), 32), s2)
MODELS["v_bfi_b32"] = lambda s0, s1, s2: sum(((s1 if s0 >> bit & 1 else s2) >> bit & 1) << bit for bit in range(32))
for _bits in (16, 32, 64):
    MODELS[f"v_lshlrev_b{_bits}"] = lambda s0, s1, b=_bits: wrap(s1 * 2 ** (s0 % b), b)
    MODELS[f"v_lshrrev_b{_bits}"] = lambda s0, s1, b=_bits: s1 // 2 ** (s0 % b)
    MODELS[f"v_ashrrev_i{_bits}"] = lambda s0, s1, b=_bits: wrap(signed(s1, b) // 2 ** (s0 % b), b)
MODELS["v_bfe_u32"] = lambda s0, s1, s2: wrap(s0 // 2 ** (s1 % 32), s2 % 32)
MODELS["v_bfe_i32"] = lambda s0, s1, s2: wrap(signed(signed(s0, 32) >> s1 % 32, s2 % 32), 32) if s2 % 32 else 0
MODELS["v_bfm_b32"] = MODELS["s_bfm_b32"]
MODELS["v_alignbit_b32"] = lambda s0, s1, s2: wrap(((s0 << 32) + s1) >> s2 % 32, 32)
MODELS["v_alignbyte_b32"] = lambda s0, s1, s2: wrap(((s0 << 32) + s1) >> 8 * (s2 % 4), 32)
MODELS["v_bfrev_b32"] = MODELS["s_brev_b32"]
MODELS["v_bcnt_u32_b32"] = lambda s0, s1: wrap(digits(s0, 32).count("1") + s1, 32)
MODELS["v_ffbh_u32"] = MODELS["v_clz_i32_u32"] = MODELS["s_clz_i32_u32"]
MODELS["v_ffbl_b32"] = MODELS["v_ctz_i32_b32"] = MODELS["s_ctz_i32_b32"]
MODELS["v_ffbh_i32"] = MODELS["v_cls_i32"] = MODELS["s_cls_i32"]


@model("v_perm_b32")
def _(s0, s1, s2):
    source = s1.to_bytes(4, "little") + s0.to_bytes(4, "little")
    found = []
    for selector in s2.to_bytes(4, "little"):
        if selector >= 13:
            found.append(0xFF)
        elif selector == 12:
            found.append(0)
        elif selector >= 8:  # the sign of the byte 1, 3, 5 or 7
            found.append(0xFF if source[2 * (selector - 8) + 1] >= 0x80 else 0)
        else:
            found.append(source[selector])
    return int.from_bytes(bytes(found), "little")


# --- Minimum, maximum, the middle, differences --------------------------------------------------------------------

for _kind in ("u32", "i32", "u16", "i16", "u64", "i64"):
    _key = partial(signed, bits=int(_kind[1:])) if _kind[0] == "i" else int
    MODELS[f"v_min_{_kind}"] = MODELS[f"v_min3_{_kind}"] = lambda *s, key=_key: min(s, key=key)
    MODELS[f"v_max_{_kind}"] = MODELS[f"v_max3_{_kind}"] = lambda *s, key=_key: max(s, key=key)
    MODELS[f"v_med3_{_kind}"] = lambda *s, key=_key: sorted(s, key=key)[1]
    if _kind.endswith("32"):
        MODELS[f"v_maxmin_{_kind}"] = lambda s0, s1, s2, key=_key: min(max(s0, s1, key=key), s2, key=key)
        MODELS[f"v_minmax_{_kind}"] = lambda s0, s1, s2, key=_key: max(min(s0, s1, key=key), s2, key=key)


def parts(number, size, bits=32):
    return [number >> at & (1 << size) - 1 for at in range(0, bits, size)]


def differences(s0, s1, size, *, masked=False):
    return sum(abs(a - b) for a, b in zip(parts(s0, size), parts(s1, size), strict=True) if b or not masked)


MODELS["v_sad_u32"] = lambda s0, s1, s2: wrap(abs(s0 - s1) + s2, 32)
MODELS["v_sad_u8"] = lambda s0, s1, s2: wrap(differences(s0, s1, 8) + s2, 32)
MODELS["v_sad_u16"] = lambda s0, s1, s2: wrap(differences(s0, s1, 16) + s2, 32)
MODELS["v_sad_hi_u8"] = lambda s0, s1, s2: wrap((differences(s0, s1, 8) << 16) + s2, 32)
MODELS["v_msad_u8"] = lambda s0, s1, s2: wrap(differences(s0, s1, 8, masked=True) + s2, 32)


def of_four_runs(*, masked):
    def run(s0, s1, s2):
        sums = [
            wrap(differences(wrap(s0 >> 8 * place, 32), s1, 8, masked=masked) + part, 16)
            for place, part in enumerate(parts(s2, 16, 64))
        ]
        return sum(total << 16 * place for place, total in enumerate(sums))

    return run


MODELS["v_qsad_pk_u16_u8"] = of_four_runs(masked=False)
MODELS["v_mqsad_pk_u16_u8"] = of_four_runs(masked=True)


@model("v_lerp_u8")
def _(s0, s1, s2):
    columns = zip(*(value.to_bytes(4, "little") for value in (s0, s1, s2)), strict=True)
    return int.from_bytes(bytes((a + b + (c & 1)) >> 1 for a, b, c in columns), "little")


# --- Packing, conversions of integers -----------------------------------------------------------------------------


def clamped(number, low, high):
    return max(low, min(number, high))


MODELS["v_dual_bitop2_b32"] = MODELS["v_bitop3_b16"] = MODELS["v_bitop3_b32"] = lambda *_: 0  # as no table is given
MODELS["v_prng_b32"] = lambda s0: wrap(2 * s0, 32) ^ (0b11000101 if s0 >= 1 << 31 else 0)
MODELS["v_pack_b32_f16"] = lambda s0, s1: s0 + (s1 << 16)
MODELS["v_sat_pk_u8_i16"] = lambda s0: sum(
    clamped(signed(part, 16), 0, 255) << 8 * place for place, part in enumerate(parts(s0, 16))
)
MODELS["v_cvt_pk_u16_u32"] = lambda s0, s1: clamped(s0, 0, 0xFFFF) + (clamped(s1, 0, 0xFFFF) << 16)
MODELS["v_cvt_pk_i16_i32"] = lambda s0, s1: sum(
    wrap(clamped(signed(s, 32), -0x8000, 0x7FFF), 16) << 16 * place for place, s in enumerate((s0, s1))
)
for _name, _low, _high in (("v_ashr_pk_i8_i32", -128, 127), ("v_ashr_pk_u8_i32", 0, 255)):
    MODELS[_name] = lambda s0, s1, s2, low=_low, high=_high: sum(
        wrap(clamped(signed(s, 32) // 2 ** (s2 % 32), low, high), 8) << 8 * place for place, s in enumerate((s0, s1))
    )
MODELS["v_cvt_i32_i16"] = lambda s0: wrap(signed(s0, 16), 32)
MODELS["v_cvt_u32_u16"] = lambda s0: s0

# --- Dot products of integers -------------------------------------------------------------------------------------


def dot(size, is_signed):
    def run(s0, s1, s2):
        pairs = zip(parts(s0, size), parts(s1, size), strict=True)
        if is_signed:
            return wrap(sum(signed(a, size) * signed(b, size) for a, b in pairs) + s2, 32)
        return wrap(sum(a * b for a, b in pairs) + s2, 32)

    return run


for _count, _size in ((2, 16), (4, 8), (8, 4)):
    MODELS[f"v_dot{_count}_i32_i{_size}"] = dot(_size, is_signed=True)
    MODELS[f"v_dot{_count}_u32_u{_size}"] = dot(_size, is_signed=False)
    MODELS[f"v_dot{_count}c_i32_i{_size}"] = lambda d, s0, s1, f=MODELS[f"v_dot{_count}_i32_i{_size}"]: f(s0, s1, d)
MODELS["v_dot4_i32_iu8"] = dot(8, is_signed=False)  # without the modifiers that say which sources are signed
MODELS["v_dot8_i32_iu4"] = dot(4, is_signed=False)

assert all(re.fullmatch(r"[sv]_\w+", name) for name in MODELS)
