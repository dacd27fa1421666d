"""The models of instructions against what LLVM folds: the same operation on constants, written as LLVM IR.

What a model says of an ISA document is read by a person; what LLVM folds is read by nobody. Both agree on all of these.
"""

import math
import random
import re
import subprocess

import pytest

from tests.builders import float_models, integer_models
from tests.builders.parameters import in_one_test, told
from tests.isa.test_rows_against_models import FLOATS, INTEGERS, MODELS

IR = {"f16": "half", "f32": "float", "f64": "double", "i16": "i16", "i32": "i32", "i64": "i64", "i1": "i1"}
CALLS = {
    # name of the operation: the types of result and sources, and an operation of LLVM for them, in its order
    **{
        f"v_{word}_{kind}": (f"{kind} {kind} {kind}", f"f{word}")
        for word in ("add", "sub", "mul") for kind in ("f16", "f32", "f64") if (word, kind) != ("sub", "f64")
    },
    **{f"v_fma_{kind}": (f"{kind} {kind} {kind} {kind}", "llvm.fma") for kind in ("f16", "f32", "f64")},
    **{
        f"v_{word}_{kind}": (f"{kind} {kind}", f"llvm.{call}")
        for word, call in (("trunc", "trunc"), ("ceil", "ceil"), ("floor", "floor"), ("rndne", "roundeven"))
        for kind in ("f16", "f32", "f64")
    },
    **{
        f"v_{word}_{kind}": (f"{kind} {kind} {kind}", f"llvm.{call}")
        for word, call in (("minimum", "minimum"), ("maximum", "maximum"), ("min_num", "minimumnum"),
                           ("max_num", "maximumnum"))
        for kind in ("f16", "f32", "f64")
    },
    **{f"v_ldexp_{kind}": (f"{kind} {kind} i32", "llvm.ldexp") for kind in ("f32", "f64")},
    **{f"v_frexp_mant_{kind}": (f"{kind} {kind}", "llvm.amdgcn.frexp.mant") for kind in ("f16", "f32", "f64")},
    **{f"v_cmp_class_{kind}": (f"i1 {kind} i32", "llvm.amdgcn.class") for kind in ("f32", "f64")},
    **{f"v_cube{word}_f32": ("f32 f32 f32 f32", f"llvm.amdgcn.cube{word}") for word in ("id", "sc", "tc", "ma")},
    **{
        f"v_cmp_{word}_{kind}": (f"i1 {kind} {kind}", f"fcmp {call}")
        for word, call in (
            ("lt", "olt"), ("eq", "oeq"), ("le", "ole"), ("gt", "ogt"), ("lg", "one"), ("ge", "oge"), ("o", "ord"),
            ("u", "uno"), ("nge", "ult"), ("nlg", "ueq"), ("ngt", "ule"), ("nle", "ugt"), ("neq", "une"),
            ("nlt", "uge"),
        )
        for kind in ("f16", "f32", "f64")
    },
    **{
        f"v_cmp_{word}_{sign}{bits}": (f"i1 i{bits} i{bits}", f"icmp {call}")
        for sign, calls in (
            ("u", (("lt", "ult"), ("eq", "eq"), ("le", "ule"), ("gt", "ugt"), ("ne", "ne"), ("ge", "uge"))),
            ("i", (("lt", "slt"), ("eq", "eq"), ("le", "sle"), ("gt", "sgt"), ("ne", "ne"), ("ge", "sge"))),
        )
        for word, call in calls for bits in (16, 32, 64)
    },
    **{f"s_{word}_b{bits}": (f"i{bits} i{bits} i{bits}", word) for word in ("and", "or", "xor") for bits in (32, 64)},
    **{f"v_{word}_{sign}{bits}": (f"i{bits} i{bits} i{bits}", f"llvm.{'us'[sign == 'i']}{word}")
       for word in ("min", "max") for sign in "ui" for bits in (16, 32)},
    **{name: tuple(types.rsplit(" ", 1)) for name, types in told("""
        v_frexp_exp_i32_f32 -> i32 f32 llvm.amdgcn.frexp.exp    v_frexp_exp_i32_f64 -> i32 f64 llvm.amdgcn.frexp.exp
        v_med3_f32 -> f32 f32 f32 f32 llvm.amdgcn.fmed3         v_med3_f16 -> f16 f16 f16 f16 llvm.amdgcn.fmed3
        v_fma_legacy_f32 -> f32 f32 f32 f32 llvm.amdgcn.fma.legacy
        v_mul_legacy_f32 -> f32 f32 f32 llvm.amdgcn.fmul.legacy
        v_trig_preop_f64 -> f64 f64 i32 llvm.amdgcn.trig.preop
        v_cvt_f16_f32 -> f16 f32 fptrunc                        v_cvt_f32_f64 -> f32 f64 fptrunc
        v_cvt_f32_f16 -> f32 f16 fpext                          v_cvt_f64_f32 -> f64 f32 fpext
        v_cvt_f32_i32 -> f32 i32 sitofp                         v_cvt_f32_u32 -> f32 i32 uitofp
        v_cvt_f64_i32 -> f64 i32 sitofp                         v_cvt_f64_u32 -> f64 i32 uitofp
        v_cvt_f16_i16 -> f16 i16 sitofp                         v_cvt_f16_u16 -> f16 i16 uitofp
        v_cvt_i32_f32 -> i32 f32 llvm.fptosi.sat                v_cvt_u32_f32 -> i32 f32 llvm.fptoui.sat
        v_cvt_i32_f64 -> i32 f64 llvm.fptosi.sat                v_cvt_u32_f64 -> i32 f64 llvm.fptoui.sat
        v_cvt_i16_f16 -> i16 f16 llvm.fptosi.sat                v_cvt_u16_f16 -> i16 f16 llvm.fptoui.sat
        s_add_nc_u64 -> i64 i64 i64 add                         s_sub_nc_u64 -> i64 i64 i64 sub
        s_mul_u64 -> i64 i64 i64 mul                            v_mul_lo_u32 -> i32 i32 i32 mul
        v_bfrev_b32 -> i32 i32 llvm.bitreverse                  s_brev_b64 -> i64 i64 llvm.bitreverse
        s_bcnt1_i32_b32 -> i32 i32 llvm.ctpop                   v_alignbit_b32 -> i32 i32 i32 i32 llvm.fshr
        v_bfe_u32 -> i32 i32 i32 i32 llvm.amdgcn.ubfe           v_bfe_i32 -> i32 i32 i32 i32 llvm.amdgcn.sbfe
        s_wqm_b32 -> i32 i32 llvm.amdgcn.s.wqm                  s_wqm_b64 -> i64 i64 llvm.amdgcn.s.wqm
        s_quadmask_b32 -> i32 i32 llvm.amdgcn.s.quadmask
        s_bitreplicate_b64_b32 -> i64 i32 llvm.amdgcn.s.bitreplicate
        """)}}  # fmt: skip
ROUNDS = 24


def size(kind):
    return int(kind[1:])


def value(kind, numbers, name):
    bits = size(kind)
    if kind[0] == "i":
        if name.startswith("v_bfe"):  # LLVM wants the numbers of bits below 32
            return numbers.getrandbits(5) if numbers.random() < 0.7 else numbers.getrandbits(32)
        return (numbers.choice(INTEGERS) if numbers.random() < 0.5 else numbers.getrandbits(bits)) & (1 << bits) - 1
    choice = numbers.random()
    number = numbers.choice(FLOATS) if choice < 0.4 else numbers.gauss(0, 1) * 2.0 ** numbers.randint(-12, 12)
    if choice > 0.8 and not name.startswith("v_med3"):
        return numbers.getrandbits(bits)
    if name.startswith("v_med3") and math.isnan(number):
        number = 1.0  # LLVM does not fold a NaN as the documents say
    if not math.isfinite(number) or number == 0:
        return float_models.bits_of(number, kind)
    return float_models.rounded(float_models.Fraction(number), kind)


def constant(kind, bits):
    if kind[0] == "f":
        return f"{IR[kind]} bitcast (i{size(kind)} {bits} to {IR[kind]})"
    return f"{IR[kind]} {bits}"


def written(name, number, types, call, bits):
    """A function of LLVM IR that returns the bits of what a call gives."""
    result, *sources = types
    arguments = [constant(kind, part) for kind, part in zip(sources, bits, strict=True)]
    wanted = IR[result]
    if call.startswith("llvm."):
        suffix = "".join(f".{kind}" for kind in overloads(call, result, sources))
        line = f"call {wanted} @{call}{suffix}({', '.join(arguments)})"
    elif call in ("fptrunc", "fpext", "sitofp", "uitofp"):
        line = f"{call} {arguments[0]} to {wanted}"
    else:
        line = f"{call} {arguments[0]}, {arguments[1].split(' ', 1)[1]}"
    text = f"define i{size(result)} @f{number}() {{\n %r = {line}\n"
    if result[0] == "f":
        return text + f" %b = bitcast {wanted} %r to i{size(result)}\n ret i{size(result)} %b\n}}\n"
    return text + f" ret {wanted} %r\n}}\n"


def overloads(call, result, sources):
    """The types in the name of an intrinsic."""
    if call in ("llvm.amdgcn.fma.legacy", "llvm.amdgcn.fmul.legacy", "llvm.amdgcn.s.bitreplicate",
                "llvm.amdgcn.cubeid", "llvm.amdgcn.cubesc", "llvm.amdgcn.cubetc", "llvm.amdgcn.cubema"):  # fmt: skip
        return ()
    if call in ("llvm.fptosi.sat", "llvm.fptoui.sat", "llvm.amdgcn.frexp.exp"):
        return result, sources[0]
    if call == "llvm.amdgcn.class":
        return (sources[0],)
    if call == "llvm.ldexp":
        return result, "i32"
    return (result,)


def declaration(types, call):
    result, *sources = types
    suffix = "".join(f".{kind}" for kind in overloads(call, result, sources))
    return f"declare {IR[result]} @{call}{suffix}({', '.join(IR[kind] for kind in sources)})\n"


@pytest.fixture(scope="module")
def folded(require_tool):
    """What LLVM makes of all calls in one module: the bits of the results, by operation."""
    declared, text, cases = set(), "", []
    for name, (kinds, call) in CALLS.items():
        types = kinds.split()
        if call.startswith("llvm."):
            declared.add(declaration(types, call))
        numbers = random.Random(f"folded {name}")
        for _ in range(ROUNDS):
            bits = [value(kind, numbers, name) for kind in types[1:]]
            text += written(name, len(cases), types, call, bits)
            cases.append((name, bits))
    done = subprocess.run(
        [require_tool("opt-22"), "-S", "-mtriple=amdgcn", "-mcpu=gfx1200", "-passes=instcombine"],
        input="".join(sorted(declared)) + text, capture_output=True, text=True, check=False)  # fmt: skip
    assert done.returncode == 0, done.stderr
    results = {int(number): result for number, result in re.findall(r"@f(\d+)\(\).*?\n  ret \S+ (\S+)\n}", done.stdout)}
    found = {}
    for number, (name, bits) in enumerate(cases):
        found.setdefault(name, []).append((bits, results.get(number, "%")))
    return found


@in_one_test("name", CALLS)
def test_a_model_is_as_llvm_folds_it(folded, name):
    kind = CALLS[name][0].split()[0]
    model = MODELS[name]
    is_checked = 0
    for bits, text in folded[name]:
        if text.startswith("%") or text in ("poison", "undef"):
            continue
        is_checked += 1
        result = {"true": 1, "false": 0}.get(text)
        result = integer_models.wrap(int(text), size(kind)) if result is None else result
        wanted = model(*bits)
        wanted = wanted[0] if isinstance(wanted, tuple) else wanted
        if kind[0] == "f":
            pair = float_models.number(result, kind), float_models.number(wanted, kind)
            assert float_models.same(*pair), (name, [hex(part) for part in bits], pair)
        else:
            assert result == wanted, (name, [hex(part) for part in bits])
    assert is_checked >= ROUNDS // 2
