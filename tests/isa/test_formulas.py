import pytest

from dwarfgpu.isa.formulas import Formula, FormulaError, expanded, formulas, functions
from dwarfgpu.isa.semantics.functions import FUNCTIONS
from dwarfgpu.isa.semantics.numbers import OF_BITS
from tests.builders.parameters import for_each
from tools import isa_meanings


def formula(text, types="b32 b32 -> b32"):
    sources, _, results = types.partition("->")
    return Formula("v_test", tuple(sources.split()), tuple(results.split()), text, frozenset())


@for_each("names, expected",
    ("v_not_b32 v_not", [("v_not_b32", ""), ("v_not", "")]),
    ("v_min_<u16,f64>", [("v_min_u16", "u16"), ("v_min_f64", "f64")]),
    ("{v,s}_o_<f16>", [("v_o_f16", "f16"), ("s_o_f16", "f16")]),
    ("s_{a,b}_{c,d}", [("s_a_c", ""), ("s_a_d", ""), ("s_b_c", ""), ("s_b_d", "")]))  # fmt: skip
def test_names_of_a_row(names, expected):
    assert list(expanded(names)) == expected


TERMS = [
    ("D = S0 & 31", "b32 -> b32", "u32 5"),                  ("D = S0[7:4]", "b32 -> b32", "u32 4"),
    ("D = u64(S0) + u64(S1)", "b32 b32 -> b64", "u64 33"),   ("D = signext(S0[7:0])", "i32 -> i32", "i32 8"),
    ("D = {S1, S0}", "b16 b16 -> b32", "u32 32"),            ("D = {S1[15:0], S0[3:0]}", "b32 b32 -> b32", "u32 20"),
    ("D = 1 << S0[4:0]", "b32 -> b64", "u64 32"),            ("D = f32(S0)", "i32 -> f32", "f32 32"),
    ("D = S0.f32", "b32 -> f32", "f32 32"),                  ("D = S0 < S1", "f64 f64 -> mask", "flag 1"),
    ("D = 0 if S0 == 0 else S1", "f16 f16 -> f16", "f16 16")]  # fmt: skip


@pytest.mark.parametrize("text, types, expected", TERMS)
def test_types_of_terms(text, types, expected):
    *_, (_names, term) = formula(text, types).statements
    assert f"{term.type} {term.width}" == expected


@for_each("text, types, expected",
    ("D = D + S0", "b32 b32 -> b32", ("D", "S0")),
    ("D = S0; SCC = D < S1", "b32 b32 -> b32 scc", ("S0", "S1")),
    ("D = S0 if SCC else D", "b32 b32 scc -> b32", ("D", "S0", "SCC")),
    ("D = EXEC; EXEC = S0 & EXEC", "b64 exec -> b64 exec", ("S0", "EXEC")))  # fmt: skip
def test_names_of_operands(text, types, expected):
    assert formula(text, types).operands == expected


@for_each("text, message",
    ("D = S0 + S1", "u32, u64 together"),                    ("D = u64(S0) << 1", "u64 does not fit into u32"),
    ("D = S0[32:0]", "no bits 32 to 0 of u32"),              ("D = S0 + S2", "S2 has no value"),
    ("D = S0 + 0.5", "0.5 is not an integer"),                   ("D = half(S0)", "no function half of 1"),
    ("D = min(S0)", "no function min of 1"),                 ("D += S0", "sets nothing"))  # fmt: skip
def test_a_wrong_row_says_why(text, message):
    with pytest.raises(FormulaError, match=message):
        _ = formula(text, "b32 b64 -> b32").statements


def test_writers_know_each_function_that_is_no_formula():
    named = {name for name, function in functions().items() if not function.body}
    assert named == {name.partition(" ")[0] for name in FUNCTIONS} | OF_BITS.keys()


def test_formulas_call_each_function():
    assert {function.name for row in formulas().values() for function in row.functions} == set(functions())


# --- Which operations have no meaning: exactly those of the golden text -------------------------------------------


@pytest.mark.slow
def test_the_golden_text_lists_what_has_no_meaning():
    assert isa_meanings.GOLDEN.read_text("utf-8") == isa_meanings.listing()
