"""Sources that are made small: what is cut, and that only variants that pass the test stay."""

from hunt.reducer import SourceReducer, units

SOURCE = """#include "x.h"
typedef struct { int a; } pair; // a ; in a comment
static int f(int x, int unused, int y) { return x * (y + 1); }
kernel void k(global int *out, int n) {
  int id = 0;
  for (int i = 0; i < 8; ++i) {
    if (n > 3) { id += f(i, 7, n); } else { id -= 1; }
  }
  do { id++; } while (id < 3);
  int t[2] = {1, 2};
  out[id] = id;
}
"""


def texts(found, text):
    return [text[unit.start : unit.end] for unit in found]


def test_units_are_statements_with_their_braces():
    found = units(SOURCE)
    assert [each.partition("\n")[0][:16] for each in texts(found, SOURCE)] == [
        '#include "x.h"', "typedef struct {", "static int f(int", "kernel void k(gl",
    ]  # fmt: skip
    inner = texts(found[-1].inner, SOURCE)
    assert [each[:9] for each in inner] == ["int id = ", "for (int ", "do { id++", "int t[2] ", "out[id] ="]
    (loop,) = (each for each in found[-1].inner if SOURCE.startswith("for", each.start))
    assert texts(loop.inner, SOURCE) == ["if (n > 3) { id += f(i, 7, n); } else { id -= 1; }"]


def test_what_the_test_does_not_need_goes():
    tested = []

    def test(text):
        tested.append(text)
        return "f(" in text and "x *" in text and text.count("{") == text.count("}") and "kernel" in text

    reduced = SourceReducer(test).reduced(SOURCE)
    assert test(reduced)
    assert "typedef" not in reduced
    assert "unused" not in reduced
    assert "while" not in reduced
    assert len(reduced) < len(SOURCE) / 3
    assert len(tested) == len({*tested})  # nothing is tried twice


def test_a_parameter_goes_with_its_arguments():
    def test(text):
        return (
            "x * (y + 1)" in text
            and "id += f(" in text
            and "f(int x" in text
            and text.count("7") == text.count("unused")
        )

    reduced = SourceReducer(test).reduced(SOURCE)
    assert "static int f(int x" in reduced
    assert "unused" not in reduced


def test_a_budget_of_tests_is_kept():
    count = 0

    def test(_text):
        nonlocal count
        count += 1
        return False

    assert SourceReducer(test, tests=5).reduced(SOURCE) == SOURCE
    assert count == 5
