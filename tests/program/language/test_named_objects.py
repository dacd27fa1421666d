"""The objects in memory that a line of the source names."""

import re

import pytest

from dwarfgpu.program.language.named_objects import indexes_in, objects_read, objects_stored


@pytest.mark.parametrize("line, expected", [
    ("sum += in[j];", ["in[j]"]), ("out[i] = in[idx[i]] + w[k].x;", ["in[idx[i]]", "idx[i]", "w[k].x"]),
    ("t[l] += add;", ["t[l]"]), ("if (t[l] == 3)", ["t[l]"]), ("x = f(a, v[wrap(i - 1, n)]);", []),
    ("x = in[i++];  // in[i]", []), ("x = p->next->key * s.m;", ["p->next->key", "s.m"]), ("x = *p;", ["*p"]),
    ("p.x = p.x + 1;", ["p.x"]), ("a[i] = f(a[i].y, q.y);", ["a[i].y", "q.y"]), ("v.x = v.xy.y;", ["v.xy.y"]),
    ("a[i].x = 2 * b.a[i].x;", ["b.a[i].x"]), ("*p = 3;", []), ("x = f(p + 1);", []),
    ("x = in[(i + 1) & 7];", ["in[(i + 1) & 7]"]),
])  # fmt: skip
def test_what_a_line_loads(line, expected):
    assert objects_read(line) == expected


def test_macros_of_a_line_are_expanded():
    def expand(text):
        text = text.replace("NEXT", "i++").replace("IN", "in[k]")
        return re.sub(r"IDX\((\w+), (\w+)\)", r"((\1) * 4 + (\2))", text)

    line = "out[IDX(i, j)] = in[IDX(j, i)] + IN.x + in[NEXT] + in[f(i)];"
    assert objects_read(line, expand) == ["in[IDX(j, i)]", "IN.x"]
    assert objects_stored(line, expand) == ["out[IDX(i, j)]"]
    assert objects_read("x = IN + in[i];", expand) == ["in[i]", "in[k]"]


@pytest.mark.parametrize("line, expected", [
    ("t[l] += add;", ["t[l]"]), ("out[at[i]] = in[j];", ["out[at[i]]"]), ("if (t[l] == 3)", []), ("n[b]++;", ["n[b]"]),
    ("out[i++] = 3;", []), ("*p = q->next;", ["*p"]), ("s.count <<= 1;", ["s.count"]),
])  # fmt: skip
def test_what_a_line_stores_to(line, expected):
    assert objects_stored(line) == expected


def test_indexes_are_parts_of_addresses():
    assert indexes_in("out[map[j]] = in[idx[i].at] + w[k];") == ["map[j]", "idx[i].at"]
    assert indexes_in("out[i] = in[j];") == []
