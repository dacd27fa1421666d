"""The text of source files without comments and literals, compared with the tokens that clang reads."""

import re
import subprocess
from itertools import pairwise
from pathlib import Path

import pytest

from dwarfgpu.program.language.source_text import column_of, has_own_lines, position_of, quiet, without_comments

ODD = r"""int a = 1'000'000; // it's one million \
still a comment "with a quote
const char *s = "// no comment \" here", c = '"', d = '\'';
const char *r = R"x(a " ) b // )" /* )x"; /* it's
a comment */ int after = 0x1p-3 + 0b1'01 + .5e+3f;
/* naïve Ü — 漢字 */ int far = u8"é"[0] + L'é';
const char *t = "split \
string"; int FOOR = 1; /* never closed? */ char *u = u8R"(\)";
#define NAME(x) #x "a" /* b */
"""
SOURCES = sorted(path for folder in ("dwarfgpu/examples", "tests/execution") for path in Path(folder).glob("**/*.cl"))
TOKEN = re.compile(r"^(\w+) '.*?Loc=<[^<>]*:(\d+):(\d+)>$", re.MULTILINE | re.DOTALL)


def bytes_of_code(text, clang, folder):
    """Return for each byte of a text whether clang reads it as a part of a comment, or of the inside of a literal."""
    path = folder / "text.cpp"
    path.write_text(text)
    words = [clang, "-x", "c++", "-std=c++20", "-fsyntax-only", "-Xclang", "-dump-raw-tokens", path]
    found = subprocess.run(words, capture_output=True, text=True, check=True).stderr
    starts = [0]
    for line in text.encode().split(b"\n"):
        starts.append(starts[-1] + len(line) + 1)
    tokens = [(match[1], starts[int(match[2]) - 1] + int(match[3]) - 1) for match in TOKEN.finditer(found)]
    silent = bytearray(len(text.encode()))
    for (kind, first), (_kind, last) in pairwise(tokens):
        if kind == "comment":
            silent[first:last] = b"\1" * (last - first)
        elif kind.endswith(("string_literal", "char_constant")):
            inside = re.compile(rb"[\"']").search(text.encode(), first).end()
            silent[inside : last - 1] = b"\1" * (last - 1 - inside)
    return silent


@pytest.mark.parametrize("text", [ODD, *(path.read_text() for path in SOURCES)], ids=["odd", *map(str, SOURCES)])
@pytest.mark.sampled(6)
def test_comments_and_literals_are_those_of_clang(require_tool, tmp_path, text):
    silent, data = bytes_of_code(text, require_tool("clang-22"), tmp_path), text.encode()
    found = quiet(text).encode()
    assert len(quiet(text)) == len(text)
    assert len(found) == len(data)
    code = bytes(byte for byte, is_silent in zip(data, silent, strict=True) if not is_silent)
    assert bytes(byte for byte, is_silent in zip(found, silent, strict=True) if not is_silent) == code
    assert not bytes(byte for byte, is_silent in zip(found, silent, strict=True) if is_silent).decode().strip()


def test_literals_may_stay():
    assert without_comments("fence(\"agent\", '\\''); // \"here\"\n1'0") == "fence(\"agent\", '\\'');          \n1'0"


def test_line_directives_change_the_lines_of_a_text():
    assert has_own_lines('// #line 3\nint a; /*\n#line 2\n*/ char *s = "#line";\n#pragma once')
    assert not has_own_lines('int a;\n # line 1 "b.cl"\n')
    assert not has_own_lines('# 1 "b.cl" 2\n')


def test_columns_count_bytes():
    lines = ("/* é */ a();", "漢字 b();")
    assert [position_of(lines, 1, 10), position_of(lines, 2, 8), position_of(lines, 9, 1)] == [8, 16, 21]
    assert [column_of(lines[0], 8), column_of(lines[1], 3)] == [10, 8]
