"""What instructions on floats compute, from the words of the ISA documents and of IEEE 754, with exact fractions.

As with `integer_models`, sources and results are the bits of registers. A float is read as a Python float, which holds
each half, single and double exactly; sums and products are fractions that are rounded once, here, by integer
arithmetic. `Near` is the result of an operation that the documents call an approximation: its exact value.
"""

import math
import struct
from fractions import Fraction

from tests.builders.integer_models import ORDER, clamped, parts, signed, wrap

MODELS = {}
LETTERS = {
    "f16": ("e", "H", 11, -24), "bf16": ("f", "H", 8, -133), "f32": ("f", "I", 24, -149), "f64": ("d", "Q", 53, -1074),
}  # fmt: skip
"""The letters that `struct` has for a float and for its bits; the bits of its significand; its smallest exponent.

A bf16 is the upper half of a single.
"""
NAN = math.nan
INF = math.inf


class Near:
    """An exact value, which a result may miss by some units in the last place."""

    def __init__(self, value, kind, ulps=1.0):
        self.value, self.kind, self.ulps = value, kind, ulps

    def accepts(self, bits):
        found, exact = number(bits, self.kind), self.value
        if isinstance(exact, float) and not math.isfinite(exact):
            return same(found, exact)
        if found == 0 and exact == 0:
            return not isinstance(exact, float) or math.copysign(1, found) == math.copysign(1, exact)
        if not math.isfinite(found):
            return found == number(rounded(Fraction(exact), self.kind), self.kind)
        _letter, _word, digits, lowest = LETTERS[self.kind]
        exponent = max(math.frexp(float(exact))[1] - digits, lowest)
        return abs(Fraction(found) - Fraction(exact)) <= Fraction(self.ulps) * Fraction(2) ** exponent


def same(left, right):
    """Tell whether two floats are the same number, with the same sign; all NaNs are the same."""
    if math.isnan(left) or math.isnan(right):
        return math.isnan(left) and math.isnan(right)
    return left == right and math.copysign(1, left) == math.copysign(1, right)


def number(bits, kind):
    """Return the number of some bits."""
    if kind == "bf16":
        return number(bits << 16, "f32")
    letter, word, _digits, _lowest = LETTERS[kind]
    return struct.unpack(f"<{letter}", struct.pack(f"<{word}", bits))[0]


def bits_of(value, kind):
    """Return the bits of a number that the type has."""
    if kind == "bf16":
        return bits_of(value, "f32") >> 16
    letter, word, _digits, _lowest = LETTERS[kind]
    return struct.unpack(f"<{word}", struct.pack(f"<{letter}", value))[0]


def rounded(exact, kind, *, to_zero=False):
    """Return the bits of the float next to a fraction: ties to even, or none beyond it."""
    _letter, word, digits, lowest = LETTERS[kind]
    highest = struct.calcsize(word) * 8 - 1
    sign = 1 << highest if exact < 0 else 0
    exact = abs(exact)
    if not exact:
        return sign
    exponent = exact.numerator.bit_length() - exact.denominator.bit_length() - digits - 1
    while exact >= Fraction(2) ** (exponent + digits):
        exponent += 1
    exponent = max(exponent, lowest)
    scaled = exact / Fraction(2) ** exponent
    whole = scaled.numerator // scaled.denominator if to_zero else round(scaled)
    infinity = ((1 << highest - digits + 1) - 1) << digits - 1
    # The bits of a positive float count up through the exponents, so a carry out of the significand is right.
    if exponent == lowest and whole < 1 << digits - 1:
        found = whole
    else:
        found = (exponent - lowest + 1 << digits - 1) + whole - (1 << digits - 1)
    return sign | min(found, infinity - 1 if to_zero else infinity)


def summed(products, kind):
    """Return the bits of a sum of products of floats, rounded once; a product is a tuple of one or two floats."""
    plain = 0.0 if not products else None
    for product in products:
        part = product[0] * product[1] if len(product) == 2 else product[0]
        if len(product) == 2 and all(map(math.isfinite, product)) and not math.isfinite(part):
            part = math.copysign(1.0, product[0]) * math.copysign(1.0, product[1])  # it is finite, if large
        if len(product) == 2 and part == 0 and 0 not in product:
            part = math.copysign(1.0, part)  # it is not 0, if small
        plain = part if plain is None else plain + part
    if not all(math.isfinite(value) for product in products for value in product):
        return bits_of(plain, kind)
    exact = sum((math.prod(map(Fraction, product)) for product in products), Fraction(0))
    if exact == 0:  # the sign of a sum of zeros, and +0 of opposite numbers
        zeros = [math.prod(math.copysign(1.0, value) for value in product) for product in products]
        is_negative = all(0 in product for product in products) and all(sign < 0 for sign in zeros)
        return bits_of(-0.0 if is_negative else 0.0, kind)
    return rounded(exact, kind)


def on_floats(names, kind, function):
    """Declare a model that gets numbers and returns a number of the type."""
    for name in names.split():
        assert name not in MODELS, name
        MODELS[name] = lambda *bits, k=kind, f=function: bits_of(f(*(number(value, k) for value in bits)), k)


def on_sums(names, kind, function):
    """Declare a model that gets numbers and returns the products whose sum is rounded once."""
    for name in names.split():
        assert name not in MODELS, name
        MODELS[name] = lambda *bits, k=kind, f=function: summed(f(*(number(value, k) for value in bits)), k)


def twice(product, addend, kind):
    """Return the bits of a product that is rounded before something is added."""
    return summed([(number(summed([product], kind), kind),), (addend,)], kind)


def key(value):
    """The order of numbers where -0 is below +0."""
    return value, math.copysign(1, value)


def least(*values):
    """The smallest number; what is no number is left out, if something is."""
    return min((value for value in values if not math.isnan(value)), key=key, default=NAN)


def most(*values):
    return max((value for value in values if not math.isnan(value)), key=key, default=NAN)


def least_or_nan(*values):
    return NAN if any(map(math.isnan, values)) else min(values, key=key)


def most_or_nan(*values):
    return NAN if any(map(math.isnan, values)) else max(values, key=key)


def median(*values):
    """ISA documents: if one is a NaN, the smallest of three; else the one that is not the largest or the smallest."""
    return least(*values) if any(map(math.isnan, values)) else sorted(values, key=key)[1]


def whole(function):
    """Return a rounding to a whole number that keeps the sign of zero, infinities and NaNs."""
    return lambda s0: math.copysign(float(function(Fraction(s0))), s0) if math.isfinite(s0) else s0


def fraction(kind):
    """ISA documents: S0 + -floor(S0), where 1 - 1 ulp is the largest result; a NaN of what is not finite."""

    def run(s0):
        value = number(s0, kind)
        if not math.isfinite(value):
            return bits_of(NAN, kind)
        exact = Fraction(value) - math.floor(Fraction(value))
        below_1 = bits_of(1.0, kind) - 1
        return min(rounded(exact, kind), below_1)

    return run


def scaled(kind, bits):
    def run(s0, s1):
        value = number(s0, kind)
        if not math.isfinite(value) or value == 0:
            return s0
        power = clamped(signed(s1, bits), -5000, 5000)
        return rounded(Fraction(value) * Fraction(2) ** power, kind)

    return run


def split(value):
    """Return the fraction from 0.5 to below 1 and the exponent of a number."""
    return (value, 0) if not math.isfinite(value) or value == 0 else math.frexp(value)


for _kind in ("f16", "f32", "f64"):
    _narrow = _kind != "f64"
    _scalar = lambda word, k=_kind, n=_narrow: f"v_{word}_{k}" + (f" s_{word}_{k}" if n else "")  # noqa: E731
    on_sums(_scalar("add"), _kind, lambda s0, s1: [(s0,), (s1,)])
    on_sums(_scalar("mul"), _kind, lambda s0, s1: [(s0, s1)])
    on_sums(_scalar("fmac"), _kind, lambda d, s0, s1: [(s0, s1), (d,)])
    on_sums(f"v_fma_{_kind}", _kind, lambda s0, s1, s2: [(s0, s1), (s2,)])
    on_sums(f"v_fmaak_{_kind} v_fmamk_{_kind}", _kind, lambda s0, s1, s2: [(s0, s1), (s2,)])
    if _narrow:
        on_sums(_scalar("sub"), _kind, lambda s0, s1: [(s0,), (-s1,)])
        on_sums(f"v_subrev_{_kind}", _kind, lambda s0, s1: [(-s0,), (s1,)])
        for _name in ("mad", "madak", "madmk"):
            MODELS[f"v_{_name}_{_kind}"] = lambda *s, k=_kind: twice(
                (number(s[0], k), number(s[1], k)), number(s[2], k), k
            )
        MODELS[f"v_mac_{_kind}"] = lambda d, s0, s1, k=_kind: twice((number(s0, k), number(s1, k)), number(d, k), k)
    _of_scalars = f" s_{{0}}_{_kind} s_{{0}}_num_{_kind}" if _narrow else ""
    _both = f"v_{{0}}_{_kind} v_{{0}}_num_{_kind}{_of_scalars}".format
    on_floats(_both("min"), _kind, least)
    on_floats(_both("max"), _kind, most)
    on_floats(_scalar("minimum"), _kind, least_or_nan)
    on_floats(_scalar("maximum"), _kind, most_or_nan)
    if _narrow:
        on_floats(f"v_min3_{_kind} v_min3_num_{_kind}", _kind, least)
        on_floats(f"v_max3_{_kind} v_max3_num_{_kind}", _kind, most)
        on_floats(f"v_med3_{_kind} v_med3_num_{_kind}", _kind, median)
        on_floats(f"v_minimum3_{_kind}", _kind, least_or_nan)
        on_floats(f"v_maximum3_{_kind}", _kind, most_or_nan)
        on_floats(f"v_minimummaximum_{_kind}", _kind, lambda s0, s1, s2: most_or_nan(least_or_nan(s0, s1), s2))
        on_floats(f"v_maximumminimum_{_kind}", _kind, lambda s0, s1, s2: least_or_nan(most_or_nan(s0, s1), s2))
        on_floats(f"v_minmax_{_kind} v_minmax_num_{_kind}", _kind, lambda s0, s1, s2: most(least(s0, s1), s2))
        on_floats(f"v_maxmin_{_kind} v_maxmin_num_{_kind}", _kind, lambda s0, s1, s2: least(most(s0, s1), s2))
    on_floats(_scalar("trunc"), _kind, whole(math.trunc))
    on_floats(_scalar("ceil"), _kind, whole(math.ceil))
    on_floats(_scalar("floor"), _kind, whole(math.floor))
    on_floats(_scalar("rndne"), _kind, whole(round))
    MODELS[f"v_fract_{_kind}"] = fraction(_kind)
    MODELS[f"v_ldexp_{_kind}"] = scaled(_kind, 16 if _kind == "f16" else 32)
    on_floats(f"v_frexp_mant_{_kind}", _kind, lambda s0: split(s0)[0])
    _size = 16 if _kind == "f16" else 32
    MODELS[f"v_frexp_exp_i{_size}_{_kind}"] = lambda s0, k=_kind, b=_size: wrap(split(number(s0, k))[1], b)
on_sums("s_fmaak_f32 s_fmamk_f32", "f32", lambda s0, s1, s2: [(s0, s1), (s2,)])
for _name in ("v_interp_p10_f32", "v_interp_p2_f32"):
    MODELS[_name] = MODELS["v_fma_f32"]
MODELS["v_interp_p10_f16_f32"] = lambda s0, s1, s2: summed([(half(s0), number(s1, "f32")), (half(s2),)], "f32")
MODELS["v_interp_p2_f16_f32"] = lambda s0, s1, s2: MODELS["v_cvt_f16_f32"](
    summed([(half(s0), number(s1, "f32")), (number(s2, "f32"),)], "f32")
)
on_sums("v_fma_legacy_f16", "f16", lambda s0, s1, s2: [(s0, s1), (s2,)])
MODELS["v_mad_legacy_f16"] = MODELS["v_mad_f16"]


def without_zero(s0, s1):
    """DX9 rules: 0 times anything is 0."""
    return (0.0,) if s0 == 0 or s1 == 0 else (s0, s1)


on_sums("v_mul_legacy_f32 v_mul_dx9_zero_f32", "f32", lambda s0, s1: [without_zero(s0, s1)])
on_sums("v_fma_legacy_f32 v_fma_dx9_zero_f32", "f32", lambda s0, s1, s2: [without_zero(s0, s1), (s2,)])
on_sums("v_fmac_legacy_f32 v_fmac_dx9_zero_f32", "f32", lambda d, s0, s1: [without_zero(s0, s1), (d,)])
MODELS["v_mad_legacy_f32"] = lambda *s: twice(
    without_zero(number(s[0], "f32"), number(s[1], "f32")), number(s[2], "f32"), "f32"
)


@lambda function: MODELS.setdefault("v_mullit_f32", function)
def _(s0, s1, s2):
    factor, exponent, gate = (number(value, "f32") for value in (s0, s1, s2))
    lowest = -number(0x7F7FFFFF, "f32")
    if exponent in (lowest, -INF) or math.isnan(exponent) or math.isnan(gate) or gate <= 0:
        return bits_of(lowest, "f32")
    return summed([without_zero(factor, exponent)], "f32")


# --- Approximations -----------------------------------------------------------------------------------------------


def approximate(names, kind, function, ulps=1.0):
    for name in names.split():
        MODELS[name] = lambda s0, k=kind, f=function, u=ulps: Near(f(number(s0, k)), k, u)


def inverse(value):
    if math.isnan(value):
        return NAN
    if value == 0:
        return math.copysign(INF, value)
    return math.copysign(0.0, value) if math.isinf(value) else Fraction(1) / Fraction(value)


def root(value):
    """The square root, with 100 more bits than a double has."""
    if value == 0 or math.isnan(value) or value == INF:
        return value
    if value < 0:
        return NAN
    exact = Fraction(value)
    scale = 1 << 1300
    return Fraction(math.isqrt(exact.numerator * scale * scale // exact.denominator), scale)


def inverse_root(value):
    found = root(value)
    return inverse(found) if isinstance(found, float) else 1 / found


def power(value):
    if math.isnan(value) or abs(value) > 1100:
        return NAN if math.isnan(value) else INF if value > 0 else 0.0
    whole_part = math.floor(value)
    return Fraction(math.exp((value - whole_part) * math.log(2))) * Fraction(2) ** whole_part


def logarithm(value):
    return NAN if math.isnan(value) or value < 0 else -INF if value == 0 else INF if value == INF else math.log2(value)


def turned(function):
    """ISA documents: S0 is a number of turns."""
    return lambda value: function(2 * math.pi * float(Fraction(value) % 1)) if math.isfinite(value) else NAN


def hyperbolic_tangent(value):
    """CDNA 5, V_TANH_F32: what it says of small and of large numbers; else the exact one."""
    size = abs(value)
    near = size if size < 2**-10 or math.isnan(value) else 1.0 if size >= 8 else math.tanh(size)
    return math.copysign(near, value)


for _kind in ("f16", "bf16", "f32"):
    approximate(f"v_tanh_{_kind}", _kind, hyperbolic_tangent)
for _kind in ("f16", "bf16", "f32", "f64"):
    _names = "v_{0}_{1} v_s_{0}_{1}" if _kind in ("f16", "f32") else "v_{0}_{1}"
    approximate(_names.format("rcp", _kind), _kind, inverse)
    approximate(_names.format("sqrt", _kind), _kind, root)
    approximate(_names.format("rsq", _kind), _kind, inverse_root, 1.5)
    if _kind != "f64":
        approximate(_names.format("exp", _kind), _kind, power)
        approximate(_names.format("log", _kind), _kind, logarithm)
approximate("v_rcp_iflag_f32", "f32", inverse)
approximate("v_exp_legacy_f32", "f32", power)
approximate("v_log_legacy_f32", "f32", logarithm)


def absolute(function):
    """The error of a sine is absolute: 2^-20 of singles, 2^-10 of halfs, as half a turn is not exact in binary."""

    class NearSine(Near):
        def accepts(self, bits):
            found = number(bits, self.kind)
            if math.isnan(self.value):
                return math.isnan(found)
            return abs(found - self.value) <= {"f32": 2.0**-22, "f16": 2.0**-11, "bf16": 2.0**-8}[self.kind]

    return lambda s0, kind: NearSine(turned(function)(number(s0, kind)), kind)


for _kind in ("f16", "bf16", "f32"):
    MODELS[f"v_sin_{_kind}"] = lambda s0, k=_kind: absolute(math.sin)(s0, k)
    MODELS[f"v_cos_{_kind}"] = lambda s0, k=_kind: absolute(math.cos)(s0, k)

# --- Comparisons and classes --------------------------------------------------------------------------------------


def related(s0, s1):
    """-1, 0 or 1 for less, equal or greater; None for numbers without order."""
    return None if math.isnan(s0) or math.isnan(s1) else (s0 > s1) - (s0 < s1)


RELATIONS = {
    "f": (), "lt": (-1,), "eq": (0,), "le": (-1, 0), "gt": (1,), "lg": (-1, 1), "ge": (0, 1), "o": (-1, 0, 1),
    "u": (None,), "nge": (-1, None), "nlg": (0, None), "ngt": (-1, 0, None), "nle": (1, None), "neq": (-1, 1, None),
    "nlt": (0, 1, None), "tru": (-1, 0, 1, None), "t": (-1, 0, 1, None)}  # fmt: skip
"""The relations in which a comparison is true."""
assert all(RELATIONS[word] == ORDER[word] for word in ("f", "lt", "eq", "le", "gt", "lg", "ge"))
for _kind in ("f16", "f32", "f64"):
    for _word, _wanted in RELATIONS.items():
        MODELS[f"v_cmp_{_word}_{_kind}"] = lambda s0, s1, k=_kind, w=_wanted: int(
            related(number(s0, k), number(s1, k)) in w
        )
        MODELS[f"v_cmpx_{_word}_{_kind}"] = MODELS[f"v_cmp_{_word}_{_kind}"]
        if _kind != "f64" and _word not in ("f", "t", "tru"):
            MODELS[f"s_cmp_{_word}_{_kind}"] = MODELS[f"v_cmp_{_word}_{_kind}"]


def classified(kind):
    """ISA documents: bits 0 to 9 of S1 ask for signalling and quiet NaN, -infinity, -normal, -denormal, -0 etc."""
    _letter, word, digits, _lowest = LETTERS[kind]
    size = 8 * struct.calcsize(word)

    def run(s0, s1):
        value = number(s0, kind)
        normal = 2.0 ** {"f16": -14, "f32": -126, "f64": -1022}[kind]
        is_negative = s0 >> size - 1
        if math.isnan(value):
            found = s0 >> digits - 2 & 1  # the highest bit of the fraction is that of a quiet one
        else:
            distance = 0 if math.isinf(value) else 1 if abs(value) >= normal else 2 if value else 3
            found = 2 + distance if is_negative else 9 - distance
        return s1 >> found & 1

    return run


for _kind in ("f16", "f32", "f64"):
    MODELS[f"v_cmp_class_{_kind}"] = MODELS[f"v_cmpx_class_{_kind}"] = classified(_kind)

# --- Conversions --------------------------------------------------------------------------------------------------


def from_integer(kind, bits, is_signed):
    return lambda s0: rounded(Fraction(signed(s0, bits) if is_signed else s0), kind)


def from_float(kind, wider):
    def run(s0):
        value = number(s0, wider)
        if not math.isfinite(value) or value == 0:
            return bits_of(value, kind)
        return rounded(Fraction(value), kind)

    return run


def to_integer(kind, bits, is_signed, function=math.trunc):
    """ISA documents: a NaN becomes 0, what does not fit the nearest integer that does."""
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if is_signed else (0, (1 << bits) - 1)

    def run(s0):
        value = number(s0, kind)
        if math.isnan(value):
            return 0
        if math.isinf(value):
            return wrap(high if value > 0 else low, bits)
        return wrap(clamped(function(Fraction(value)), low, high), bits)

    return run


for _unit in ("v", "s"):
    MODELS[f"{_unit}_cvt_f32_u32"] = from_integer("f32", 32, is_signed=False)
    MODELS[f"{_unit}_cvt_f32_i32"] = from_integer("f32", 32, is_signed=True)
    MODELS[f"{_unit}_cvt_f32_f16"] = from_float("f32", "f16")
    MODELS[f"{_unit}_cvt_f16_f32"] = from_float("f16", "f32")
    MODELS[f"{_unit}_cvt_u32_f32"] = to_integer("f32", 32, is_signed=False)
    MODELS[f"{_unit}_cvt_i32_f32"] = to_integer("f32", 32, is_signed=True)
MODELS["s_cvt_hi_f32_f16"] = lambda s0: from_float("f32", "f16")(s0 >> 16)
MODELS["v_cvt_f64_u32"] = from_integer("f64", 32, is_signed=False)
MODELS["v_cvt_f64_i32"] = from_integer("f64", 32, is_signed=True)
MODELS["v_cvt_f64_f32"] = from_float("f64", "f32")
MODELS["v_cvt_f32_f64"] = from_float("f32", "f64")
MODELS["v_cvt_f16_u16"] = from_integer("f16", 16, is_signed=False)
MODELS["v_cvt_f16_i16"] = from_integer("f16", 16, is_signed=True)
MODELS["v_cvt_u32_f64"] = to_integer("f64", 32, is_signed=False)
MODELS["v_cvt_i32_f64"] = to_integer("f64", 32, is_signed=True)
MODELS["v_cvt_u16_f16"] = to_integer("f16", 16, is_signed=False)
MODELS["v_cvt_i16_f16"] = to_integer("f16", 16, is_signed=True)
for _name in ("rpi", "nearest"):
    MODELS[f"v_cvt_{_name}_i32_f32"] = to_integer(
        "f32", 32, is_signed=True, function=lambda value: math.floor(value + Fraction(1, 2))
    )
for _name in ("flr", "floor"):
    MODELS[f"v_cvt_{_name}_i32_f32"] = to_integer("f32", 32, is_signed=True, function=math.floor)
for _place in range(4):
    MODELS[f"v_cvt_f32_ubyte{_place}"] = lambda s0, p=_place: rounded(Fraction(parts(s0, 8)[p]), "f32")
MODELS["v_cvt_off_f32_i4"] = lambda s0: bits_of(signed(s0, 4) * 0.0625, "f32")  # a table of the documents: 0 to 0.4375


def to_half_down(s0):
    value = number(s0, "f32")
    if not math.isfinite(value) or value == 0:
        return bits_of(value, "f16")
    return rounded(Fraction(value), "f16", to_zero=True)


def pair(function):
    return lambda s0, s1: function(s0) + (function(s1) << 16)


for _name in ("v_cvt_pkrtz_f16_f32", "v_cvt_pk_rtz_f16_f32", "s_cvt_pk_rtz_f16_f32"):
    MODELS[_name] = pair(to_half_down)


def norm(kind, is_signed):
    """LLVM's reference: the number from -1 or 0 to 1, times the largest integer, rounded to the nearest even."""

    def run(s0):
        value = number(s0, kind)
        if math.isnan(value):
            return 0
        exact = Fraction(clamped(value, -1.0 if is_signed else 0.0, 1.0)) * (32767 if is_signed else 65535)
        return wrap(round(exact), 16)

    return run


for _kind in ("f16", "f32"):
    for _sign in "iu":
        _norm = norm(_kind, is_signed=_sign == "i")
        MODELS[f"v_cvt_pknorm_{_sign}16_{_kind}"] = MODELS[f"v_cvt_pk_norm_{_sign}16_{_kind}"] = pair(_norm)
        if _kind == "f16":
            MODELS[f"v_cvt_norm_{_sign}16_f16"] = _norm
MODELS["v_cvt_pk_i16_f32"] = pair(to_integer("f32", 16, is_signed=True))
MODELS["v_cvt_pk_u16_f32"] = pair(to_integer("f32", 16, is_signed=False))
_to_byte = to_integer("f32", 8, is_signed=False, function=round)


def with_byte(old, place, byte):
    found = bytearray(old.to_bytes(4, "little"))
    found[place % 4] = byte
    return int.from_bytes(found, "little")


MODELS["v_cvt_pk_u8_f32"] = lambda s0, s1, s2: with_byte(s2, s1, _to_byte(s0))
MODELS["v_cvt_pkaccum_u8_f32"] = lambda d, s0, s1: with_byte(d, s1, _to_byte(s0))


to_bf16 = from_float("bf16", "f32")
MODELS["v_cvt_pk_bf16_f32"] = pair(to_bf16)
MODELS["v_cvt_f32_bf16"] = lambda half: half << 16
MODELS["v_cvt_pk_f16_f32"] = pair(MODELS["v_cvt_f16_f32"])

# --- Division -----------------------------------------------------------------------------------------------------


def exponent_field(bits, kind):
    return bits >> (23 if kind == "f32" else 52) & (0xFF if kind == "f32" else 0x7FF)


def is_denormal(value, kind):
    """Tell whether a fraction or float becomes a denormal number of a type."""
    if isinstance(value, float) and not math.isfinite(value):
        return False
    bits = rounded(Fraction(value), kind)
    return exponent_field(bits, kind) == 0 and number(bits, kind) != 0


def quotient(left, right):
    if math.isfinite(left) and math.isfinite(right):
        return Fraction(left) / Fraction(right)
    return NAN if not math.isfinite(left) else 0.0


def scale_step(kind):
    """ISA documents, V_DIV_SCALE: S0 is S1 or S2; a denominator or numerator is scaled where the quotient needs it."""
    far, step, tiny = (96, 64, 23) if kind == "f32" else (768, 128, 53)

    def by(value, power):
        return scaled(kind, 32)(value, wrap(power, 32))

    def run(s0, s1, s2):
        top, bottom = number(s2, kind), number(s1, kind)
        if top == 0 or bottom == 0:
            return bits_of(NAN, kind), 0
        if exponent_field(s2, kind) - exponent_field(s1, kind) >= far:  # N / D is large
            return (by(s0, step) if number(s0, kind) == bottom else s0), 1
        if is_denormal(bottom, kind):
            return by(s0, step), 0
        inverse_is_small = is_denormal(quotient(1.0, bottom), kind)
        quotient_is_small = is_denormal(quotient(top, bottom), kind)
        if inverse_is_small and quotient_is_small:
            return (by(s0, -step) if number(s0, kind) == bottom else s0), 1
        if inverse_is_small:
            return by(s0, -step), 0
        if quotient_is_small:
            return (by(s0, step) if number(s0, kind) == top else s0), 1
        if exponent_field(s2, kind) <= tiny:
            return by(s0, step), 0
        return s0, 0

    return run


def last_step(kind):
    """ISA documents, V_DIV_FMAS: the last step is scaled by 2^64 (2^128), up or down as the exponent of S2 says."""
    bias, step = (127, 64) if kind == "f32" else (1023, 128)

    def run(s0, s1, s2, vcc):
        values = [number(value, kind) for value in (s0, s1, s2)]
        if not vcc or not all(map(math.isfinite, values)):
            return summed([tuple(values[:2]), (values[2],)], kind)
        power = step if exponent_field(s2, kind) > bias else -step
        exact = Fraction(values[0]) * Fraction(values[1]) + Fraction(values[2])
        if not exact:
            return summed([tuple(values[:2]), (values[2],)], kind)
        return rounded(exact * Fraction(2) ** power, kind)

    return run


def repair(kind):
    """ISA documents, V_DIV_FIXUP: S0 is the quotient, S1 the denominator, S2 the numerator."""

    def run(s0, s1, s2):
        value, bottom, top = (number(bits, kind) for bits in (s0, s1, s2))
        sign = math.copysign(1, bottom) * math.copysign(1, top)
        if math.isnan(top) or math.isnan(bottom):
            return bits_of(NAN, kind)
        if (bottom == 0 and top == 0) or (math.isinf(bottom) and math.isinf(top)):
            return bits_of(NAN, kind)
        if bottom == 0 or math.isinf(top):
            return bits_of(sign * INF, kind)
        if math.isinf(bottom) or top == 0:
            return bits_of(sign * 0.0, kind)
        if kind != "f16" and exponent_field(s2, kind) - exponent_field(s1, kind) < (-150 if kind == "f32" else -1075):
            return bits_of(sign * 0.0, kind)
        if kind != "f16" and exponent_field(s1, kind) == (255 if kind == "f32" else 2047):
            return bits_of(sign * INF, kind)
        if math.isnan(value) and kind != "f16":
            return bits_of(sign * INF, kind)
        return bits_of(NAN if math.isnan(value) else sign * abs(value), kind)

    return run


for _kind in ("f32", "f64"):
    MODELS[f"v_div_scale_{_kind}"] = scale_step(_kind)
    MODELS[f"v_div_fmas_{_kind}"] = last_step(_kind)
for _kind in ("f16", "f32", "f64"):
    MODELS[f"v_div_fixup_{_kind}"] = repair(_kind)
MODELS["v_div_fixup_legacy_f16"] = repair("f16")

# --- Dot products -------------------------------------------------------------------------------------------------


def bf16(code):
    return number(code, "bf16")


def half(code):
    return number(code, "f16")


def eight_bits(name, *, is_fnuz=False):
    """The numbers of GFX12, OCP FP8 E4M3 and E5M2; those of GFX940 have no infinities, and one NaN in place of -0."""
    fraction_bits, bias = (3, 7 + is_fnuz) if name == "fp8" else (2, 15 + is_fnuz)

    def run(code):
        sign = -1.0 if code >> 7 else 1.0
        exponent, low = (code & 0x7F) >> fraction_bits, code & (1 << fraction_bits) - 1
        if code == 0x80 if is_fnuz else name == "fp8" and code & 0x7F == 0x7F:
            return NAN
        if name == "bf8" and exponent == 31 and not is_fnuz:
            return NAN if low else sign * INF
        if not exponent:
            return sign * low * 2.0 ** (1 - bias - fraction_bits)
        return sign * (low + (1 << fraction_bits)) * 2.0 ** (exponent - bias - fraction_bits)

    return run


def floating_dot(size, left, right, kind):
    def run(s0, s1, s2):
        products = [(left(a), right(b)) for a, b in zip(parts(s0, size), parts(s1, size), strict=True)]
        return summed([*products, (number(s2, kind),)], kind)

    return run


MODELS["v_dot2_f32_f16"] = floating_dot(16, half, half, "f32")
MODELS["v_dot2_f16_f16"] = floating_dot(16, half, half, "f16")
MODELS["v_dot2_f32_bf16"] = floating_dot(16, bf16, bf16, "f32")
for _name, _plain in (
    ("v_dot2c_f32_f16", "v_dot2_f32_f16"), ("v_dot2acc_f32_f16", "v_dot2_f32_f16"),
    ("v_dot2c_f32_bf16", "v_dot2_f32_bf16"), ("v_dual_dot2acc_f32_bf16", "v_dot2_f32_bf16"),
):  # fmt: skip
    MODELS[_name] = lambda d, s0, s1, f=MODELS[_plain]: f(s0, s1, d)
for _left in ("fp8", "bf8"):
    for _right in ("fp8", "bf8"):
        MODELS[f"v_dot4_f32_{_left}_{_right}"] = floating_dot(8, eight_bits(_left), eight_bits(_right), "f32")


@lambda function: MODELS.setdefault("v_dot2_bf16_bf16", function)
def _(s0, s1, s2):
    """The sum is a single first."""
    return to_bf16(floating_dot(16, bf16, bf16, "f32")(s0, s1, s2 << 16))


# --- Faces of cubes, parts of 2 / pi ------------------------------------------------------------------------------


def cube(function):
    """ISA documents, V_CUBEID and its relatives: z before y before x, where the magnitudes are the same."""

    def run(s0, s1, s2):
        found = dict(zip("xyz", (number(value, "f32") for value in (s0, s1, s2)), strict=True))
        x, y, z = map(abs, found.values())
        axis = "z" if z >= x and z >= y else "y" if y >= x else "x"
        return bits_of(function(axis, found, found[axis] < 0), "f32")

    return run


FACES = {"x": (0.0, 1.0), "y": (2.0, 3.0), "z": (4.0, 5.0)}
FIRST = {"x": ("-z", "z"), "y": ("x", "x"), "z": ("x", "-x")}
SECOND = {"x": ("-y", "-y"), "y": ("z", "-z"), "z": ("-y", "-y")}
"""What the operations give for the longest axis, if it is positive and if it is negative."""


def coordinate(found, text):
    return -found[text[1]] if text[0] == "-" else found[text]


MODELS["v_cubeid_f32"] = cube(lambda axis, _found, is_negative: FACES[axis][is_negative])
MODELS["v_cubesc_f32"] = cube(lambda axis, found, is_negative: coordinate(found, FIRST[axis][is_negative]))
MODELS["v_cubetc_f32"] = cube(lambda axis, found, is_negative: coordinate(found, SECOND[axis][is_negative]))


@lambda function: MODELS.setdefault("v_cubema_f32", function)
def _(s0, s1, s2):
    axis = cube(lambda axis, found, _is_negative: found[axis])(s0, s1, s2)
    return summed([(2.0, number(axis, "f32"))], "f32")


def two_by_pi(bits):
    """2 / pi as an integer of so many bits behind the point: by Machin's formula, pi = 16 atan(1/5) - 4 atan(1/239)."""
    one = 1 << bits + 64

    def arctangent(inverse_):
        total, term, count = 0, one // inverse_, 1
        while term:
            total += term // count * (1 if count % 4 == 1 else -1)
            term //= inverse_ * inverse_
            count += 2
        return total

    return 2 * one * one // (16 * arctangent(5) - 4 * arctangent(239)) >> 64


@lambda function: MODELS.setdefault("v_trig_preop_f64", function)
def _(s0, s1):
    """ISA documents: 53 of 1201 bits of 2 / pi, from 53 * S1[4:0] and the exponent above 1077 on, scaled."""
    exponent = s0 >> 52 & 0x7FF
    shift = 53 * (s1 & 31) + max(exponent - 1077, 0)
    part = wrap(two_by_pi(1201) << shift, 1201) >> 1201 - 53
    return rounded(Fraction(part) * Fraction(2) ** (-53 - shift + (128 if exponent >= 1968 else 0)), "f64")
