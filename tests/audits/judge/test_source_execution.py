"""The text of functions, executed: the values that their variables take, and what is not known of them."""

import re

import pytest

from dwarfgpu.audits.judge.recorded_values import INTEGER, Leaf
from dwarfgpu.audits.judge.source_execution import INT, KnownBuffer, Number, SourceExecution, SourceFunction
from dwarfgpu.audits.judge.source_syntax import UnreadableSource, read_body
from tests.builders.parameters import for_each

KINDS = {
    "int": INT, "unsigned": Leaf("", INTEGER, 32), "long": Leaf("", INTEGER, 64, True),
    "uchar": Leaf("", INTEGER, 8), "short": Leaf("", INTEGER, 16, True),
}  # fmt: skip
DECLARED = re.compile(rf"\b({'|'.join(KINDS)}|vec<int, 2>) ([^;]*)")
FUNCTION = re.compile(r"^(?:static )?(\w+) (\w+)\(([^)]*)\) ", re.MULTILINE)


def function_of(text, first, has_references):
    result, name, words = FUNCTION.match(text).groups()
    types, parameters = {}, []
    for number, line in enumerate(text.split("\n"), first):
        for kind, names in DECLARED.findall(line):
            types.update({(number, name): KINDS.get(kind) for name in re.findall(r"(?:^|, )([a-z]\w*)", names)})
    for word in filter(None, words.split(", ")):
        parameter = re.split(r"[ *]+", word)[-1]
        types[first, parameter] = None if "*" in word else INT
        parameters.append((("f", first, parameter), types[first, parameter]))
    body = read_body(text[text.index("{") :], first)
    return SourceFunction(name, "f", body, tuple(parameters), KINDS.get(result), types, has_references)


def executed(text, *arguments, has_references=False):
    """The values of variables by name, None for those that can be anything, once the last function was called."""
    functions, first = {}, 1
    for part in text.split("\n\n"):
        function = function_of(part, first, has_references)
        functions[function.name] = function
        first += part.count("\n") + 2
    execution = SourceExecution(functions.get, constants={"RED": 1})
    given = [Number(each, INT) if isinstance(each, int) else each for each in arguments]
    execution.call(function, given)
    known = {key[2]: values for key, values in execution.values.items()}
    return known | {key[2]: None for key in execution.open}


def body(text, *arguments, **options):
    return executed(f"void f(int n) {{\n{text}\n}}", *(arguments or (6,)), **options)


@for_each("text, values",
    ("int s = 0;\nfor (int i = 0; i < 3; ++i)\n  s += i;", {"s": {0, 1, 3}, "i": {0, 1, 2, 3}}),
    ("int i = 9;\nwhile (1) {\n  if (i == 7)\n    break;\n  i--;\n}", {"i": {9, 8, 7}}),
    ("int k = 0;\nfor (int i = 0; i < 2; i++) {\n  if (i) continue;\n  k = i + 5;\n}", {"k": {0, 5}, "i": {0, 1, 2}}),
    ("int i = 0, k = 5;\ndo { i += 2; } while (i < n && k);", {"i": {0, 2, 4, 6}, "k": {5}}),
    ("unsigned u = 0u - 1u, w = u >> 28;\nint b = -7 / 2, c = -7 % 2, d = -7 >> 1;",
     {"u": {0xFFFFFFFF}, "w": {15}, "b": {-3}, "c": {-1}, "d": {-4}}),
    ("uchar c = 300;\nshort s = 0x18000;\nlong l = 1l << 40;\nint t = (uchar)(c - 45);",
     {"c": {44}, "s": {-32768}, "l": {1 << 40}, "t": {255}}),
    ("int x = n > 5 ? 1 : 2, y = n > 6 || n == 0;", {"x": {1}, "y": {0}}),
    ("unsigned x = n > 5 ? -1 : 2u;\nint less = -1 < 1u;", {"x": {0xFFFFFFFF}, "less": {0}}),
    ("int x = 1;\n{\n  int y = x++;\n  x += y;\n}", {"x": {1, 2, 3}, "y": {1}}),
    ("int x = 0;\nswitch (n) {\n case 5: x = 5; break;\n case 6: case 7: x = 6;\n default: x++;\n}", {"x": {0, 6, 7}}),
    ("int x = 0;\nswitch (n) {\n default: x = 1;\n case 1: x += 2; break;\n case 2: x = 9;\n}", {"x": {0, 1, 3}}),
    ("int x = 0;\nswitch (n) {\n case RED: x = 1;\n}\nint y = RED - 2;", {"x": {0}, "y": {-1}}),
    ("int x = 0;\nwhile (--n > 3) {\n switch (n) {\n case 4: continue;\n default: break;\n }\n x = n;\n}",
     {"x": {0, 5}, "n": {6, 5, 4, 3}}))  # fmt: skip
def test_variables_take_the_values_of_c(text, values):
    assert body(text) == {"n": {6}} | values


@for_each("text, values",
    ("int x = 1, y = 2;\nif (other())\n  x = 3;\nint z = x, w = y;", {"x": {1, 3}, "y": {2}, "z": None, "w": {2}}),
    ("int x;\nint y = 1;\nx = y;", {"x": None, "y": {1}}),
    ("int x = 1;\nint *p = &x;\n*p = 4;\nint y = x;", {"x": None, "p": None, "y": None}),
    ("int x = 1, y = 3;\nswitch (n) {\n  case other(): x = 2; break;\n}", {"x": {1, 2}, "y": {3}}),
    ("int x = 1, y = 3;\nswitch (vec<int, 2>(n)[0]) {\n  case 6 ? 7 : : x = 2; break;\n}", {"x": None, "y": {3}}),
    ("int x = 1;\nfor (int i = 0; i < other(); ++i)\n  x++;", {"x": None, "i": None}),
    ("float f = 1.5f;\nint x = f > 1.0f, y = (int)f, z = n;", {"f": None, "x": None, "y": None, "z": {6}}),
    ("static int x = 1;\nvolatile int y = 1;\nint z[2] = {n++, 2};", {"x": None, "y": None, "z": None, "n": None}),
    ("int x = 1;\n{\n  vec<int, 2> x = other();\n  x = 3;\n}", {"x": None}))  # fmt: skip
def test_what_is_not_known_is_left_open(text, values):
    assert body(text) == {"n": {6}} | values


@for_each("text, values",
    ("if (other())\n  return;\nn = 3;", {"n": {6, 3}}),
    ("int x = 1;\nif (other()) {\n  x = 2;\n  n = x;\n} else {\n  n = 2;\n  x = 2;\n}\nint y = n + x;",
     {"n": {6, 2}, "x": {1, 2}, "y": {4}}),
    ("int x = 0;\nfor (int i = 0; i < 3; i++) {\n  if (other()) break;\n  x = i;\n}\nint y = x;",
     {"x": {0, 1, 2}, "i": {0, 1, 2, 3}, "y": None}),
    ("int x = 0;\nfor (int i = 0; i < 3; i++) {\n  if (other()) continue;\n  x = i;\n  int z = x;\n}\nint y = x;",
     {"x": {0, 1, 2}, "z": {0, 1, 2}, "i": {0, 1, 2, 3}, "y": None}),
    ("for (int i = 0; i < 2; i++) {\n  n -= i;\n  if (other()) continue;\n  else break;\n}",
     {"n": None, "i": {0, 1, 2}}),
    ("int x = 5;\nwhile (n > 4) {\n  n--;\n  if (other()) { x = 7; break; }\n}\nx += 0;",
     {"n": {6, 5, 4}, "x": None}),
    ("int x = 0, y = 0;\nswitch (other()) {\n case 1: x = 1; break;\n case 2: y = 2;\n case 3: x = 3;\n}\nn = x;",
     {"x": {0, 1, 3}, "y": {0, 2}, "n": None}),
    ("int x = 0;\nswitch (other()) {\n case 1: x = 1; break;\n default: x = 1;\n}\nint y = x;",
     {"x": {0, 1}, "y": {1}}),
    ("int x = 0;\nswitch (n) {\n case 6: if (other()) break;\n x = 1;\n}\nint y = x;", {"x": {0, 1}, "y": None}),
    ("int x = 0;\nwhile (--n > 3) {\n switch (other()) {\n case 1: continue;\n case 2: return;\n }\n x = n;\n}\nn = x;",
     {"x": {0, 5, 4}, "n": None}),
    ("int x = 1;\nif (other())\n  if (other()) x = 2; else return;\nint y = x;", {"x": {1, 2}, "y": None}))  # fmt: skip
def test_what_may_not_be_executed_has_the_values_of_both_ways(text, values):
    assert body(text) == {"n": {6}} | values


def test_a_function_that_may_have_ended_has_no_known_value():
    text = "int early(int x) {\n  if (other())\n    return 1;\n  return x;\n}\n\n"
    text += "void f(int n) {\n  int a = early(2), b = 3;\n}"
    assert executed(text, 6) == {"x": {2}, "n": {6}, "a": None, "b": {3}}


@for_each("text",
    "int x = 2147483647;\nx++;",
    "int x = 1 << n + 30;",
    "int x = n / (n - 6);",
    "for (;;) n += 0;",
    "for (;;);",
    "while (1) {\n  if (other()) break;\n}",
    "other() && n++;",
    "again: if (n++ < 9) goto again;")  # fmt: skip
def test_nothing_is_known_where_the_flow_is_not(text):
    with pytest.raises(UnreadableSource):
        body(text)


def test_functions_are_executed_with_their_arguments_and_results():
    text = "uchar low(int x, int y) {\n  int z = x * y;\n  return z;\n}\n\n"
    text += "void f(int n) {\n  int a = low(n, 100), b = low(1, 2) + other(n);\n}"
    known = {"x": {6, 1}, "y": {100, 2}, "z": {600, 2}, "n": {6}, "a": {88}, "b": None}
    assert executed(text, 6) == known
    with pytest.raises(UnreadableSource):
        executed("void f(int n) {\n  f(n);\n}", 6)


def test_a_call_may_change_its_arguments_where_references_exist():
    text = "int x = 1;\nother(n ? x : n);\nint y = x, z = (char)y;"
    assert body(text) == {"n": {6}, "x": {1}, "y": {1}, "z": None}
    assert body(text, has_references=True) == {"n": None, "x": None, "y": None, "z": None}


def test_buffers_are_read_within_their_bounds():
    content = KnownBuffer((7).to_bytes(4, "little") + (-2).to_bytes(4, "little", signed=True), INT)
    values = executed("void f(int *p, int n) {\n  int x = p[0] + p[n - 5], y = p[n];\n}", content, 6)
    assert values == {"p": None, "n": {6}, "x": {5}, "y": None}
