"""Colours of code: the languages that the debugger shows, and the colours of the prompt."""

# mypy: disallow-subclassing-any=False
# (pygments has no types)

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, ClassVar

from prompt_toolkit.styles import Style
from pygments.lexer import Lexer, RegexLexer, bygroups, inherit, words
from pygments.lexers import get_lexer_by_name
from pygments.lexers.c_cpp import CppLexer
from pygments.token import Comment, Generic, Keyword, Name, Number, Operator, Punctuation, String, Text

from dwarfgpu.questions.document import ASSEMBLY, OPERATIONS
from dwarfgpu.render.written_text import styled

COLORS: dict[Any, str] = {
    Comment: "2",
    Comment.Preproc: "35",
    Generic.Strong: "1",
    Keyword: "1;34",
    Keyword.Type: "32",
    Name.Attribute: "36",
    Name.Builtin: "36",
    Name.Class: "32",
    Name.Function: "1;36",
    Name.Label: "35",
    Name.Namespace: "35",
    Name.Variable: "36",
    Number: "33",
    String: "32",
}
"""The escape sequences of tokens; a token that is not here has that of its nearest parent."""


def highlighted(kind: str, lines: Sequence[str], file: str) -> list[str]:
    """Return the lines in colours; lines of an unknown language stay as they are."""
    lexer = _lexer(kind, file.rpartition("/")[2] if kind not in (ASSEMBLY, OPERATIONS) else "")
    if lexer is None:
        return list(lines)
    colored: list[str] = [""]
    for token, text in lexer.get_tokens("\n".join(lines)):
        color = _color(token)
        first, *rest = text.split("\n")
        colored[-1] += _colored(color, first)
        colored += [_colored(color, part) for part in rest]
    colored = colored[: len(lines)]
    # a lexer takes a carriage return as the end of a line
    return colored if len(colored) == len(lines) and not any("\r" in line for line in lines) else list(lines)


@lru_cache(maxsize=32)
def _lexer(kind: str, file: str) -> Lexer | None:
    if kind == ASSEMBLY:
        return InstructionLexer(stripnl=False)
    return OperationLexer(stripnl=False) if kind == OPERATIONS else lexer_of_file(file)


@lru_cache(maxsize=256)
def _color(token: Any) -> str:
    while token is not None and token not in COLORS:
        token = token.parent
    return "" if token is None else COLORS[token]


def _colored(color: str, text: str) -> str:
    return styled(color, text) if color and text and not text.isspace() else text


# --- Languages ----------------------------------------------------------------------------------------------------

_NUMBERS = [
    (r"0[xX][0-9a-fA-F]+[uUlL]*", Number.Hex),
    (r"\d+\.\d*(?:[eE][+-]?\d+)?[fFlL]?|\d+[eE][+-]?\d+[fFlL]?", Number.Float),
    (r"\d+[uUlL]*", Number.Integer),
]
_STRINGS = [(r'"(?:\\.|[^"\\\n])*"?', String.Double), (r"'(?:\\.|[^'\\\n])*'?", String.Single)]


class CommandLexer(RegexLexer):
    """Commands as they are typed: name, format and options, and an expression."""

    name = "dwarfgpu"
    tokens: ClassVar = {
        "root": [
            (r"\s*#.*\n?", Comment.Single),
            (r"(\s*)([!|?]|[A-Za-z_][\w-]*)(/\w+)?", bygroups(Text, Keyword, Name.Attribute), "rest"),
            (r".|\n", Text, "rest"),
        ],
        "rest": [
            (r"\n", Text, "#pop"),
            (r"(?<=\s)-[A-Za-z][\w-]*", Name.Attribute),
            (r"(?<=\s)/\w+", Name.Attribute),
            (r"\$\w*", Name.Variable),
            (r"[A-Za-z_]\w*(?=#)", Name.Namespace),
            (r"(?:sizeof|struct|union|class|enum|unsigned|signed|const)\b", Keyword.Type),
            (r"(?:char|short|int|long|float|double|void|bool)\b", Keyword.Type),
            *_NUMBERS,
            *_STRINGS,
            (r"[A-Za-z_]\w*", Name),
            (r"[-+*/%&|^~!<>=?:.@#]+", Operator),
            (r"[\[\](){},;]", Punctuation),
            (r"[^\S\n]+|.", Text),
        ],
    }


_WORDS_OF_GPUS = (
    r"__(?:global|device|host|shared|constant|managed|local|private|generic|kernel|launch_bounds|forceinline)"
    r"(?:__)?\b|(?:kernel|global|local|constant|private|generic)\b(?=\s+\w)"
)


class GpuLexer(CppLexer):
    """C and C++, HIP, CUDA and OpenCL."""

    name = "C for GPUs"
    tokens: ClassVar = {
        "statements": [
            (_WORDS_OF_GPUS, Keyword.Reserved),
            (
                r"(?:u?(?:char|short|int|long)|half|float|double)(?:2|3|4|8|16)\b|(?:uchar|ushort|uint|ulong|half)\b",
                Keyword.Type,
            ),
            (words(("threadIdx", "blockIdx", "blockDim", "gridDim", "warpSize"), suffix=r"\b"), Name.Builtin),
            inherit,
        ]
    }


class InstructionLexer(RegexLexer):
    """Instructions as disassemblers write them: address and function, mnemonic, operands, comment."""

    name = "instructions"
    tokens: ClassVar = {
        "root": [
            (r"\n", Text),
            (r"\s+", Text),
            (r"(=>|->|\*)", Generic.Strong),
            (r"(//|;|#).*", Comment.Single),
            (r"<[^>\n]*>:?", Name.Label),
            (r"0x[0-9a-fA-F]+(?=\s*(?:<[^>\n]*>)?:)", Number.Hex),
            (r"(?:[0-9a-fA-F]{2}\s)+(?=\s*\S)", Comment),
            (r"[A-Za-z_][\w.]*", Name.Function, "operands"),
            (r".", Text),
        ],
        "operands": [
            (r"\n", Text, "#pop"),
            (r"(//|;|#).*", Comment.Single),
            (r"<[^>\n]*>", Name.Label),
            (r"%?\b(?:[vsa]\d+|[vsa]\[\d+(?::\d+)?\]|ttmp\d+|exec(?:_lo|_hi)?|vcc(?:_lo|_hi)?|m0|scc|null|flat_scratch)\b",
             Name.Variable),
            (r"[vsa]\[\d+(?::\d+)?\]", Name.Variable),
            (r"%\w+", Name.Variable),
            (r"[+-]?0x[0-9a-fA-F]+|[+-]?\d+(?:\.\d+)?", Number),
            (r"[A-Za-z_]\w*", Name),
            (r"[^\S\n]+|.", Text),
        ],
    }  # fmt: skip


class OperationLexer(RegexLexer):
    """DWARF expressions as text, as in listings and explanations."""

    name = "DWARF operations"
    tokens: ClassVar = {
        "root": [
            (r"\bDW_(?:OP|CFA)_\w+", Keyword),
            (r"\bDW_\w+", Name.Class),
            (r"\[(?:LOC|VAL)[^\]\n]*\]", Name.Variable),
            (r"//.*|#.*", Comment.Single),
            (r"\b0x[0-9a-fA-F]+\b|[+-]?\b\d+\b", Number),
            (r"\b(?:[vsa]\d+|exec|vcc|m0|scc|r[a-d]x|r[sd]i|r[sb]p|r\d+)\b", Name.Variable),
            (r"[A-Za-z_]\w*", Name),
            (r"\s+", Text),
            (r".", Text),
        ]
    }


_LIKE_C = re.compile(r"[chi]|ii|cc|[ch]pp|[ch]xx|hh|inc|hip|cuh?|clh?")
LANGUAGES = dict.fromkeys(("f", "f77", "f90", "f95", "f03", "f08", "for"), "fortran") | {"py": "python", "rs": "rust"}
"""The lexers of pygments for other languages, by the ends of the names of files."""


def lexer_of_file(name: str) -> Lexer | None:
    """Return the lexer for the language of a source file; None if there is none."""
    ending = name.rpartition(".")[2].lower()
    if ending == "s":
        return InstructionLexer(stripnl=False)
    if _LIKE_C.fullmatch(ending):
        return GpuLexer(stripnl=False)
    language = LANGUAGES.get(ending)
    return None if language is None else get_lexer_by_name(language, stripnl=False)


# --- The prompt ---------------------------------------------------------------------------------------------------

STYLE = Style.from_dict(
    {
        "bottom-toolbar": "noreverse bg:ansibrightblack ansiwhite",
        "auto-suggestion": "ansibrightblack",
        "pygments.keyword": "ansicyan bold",
        "pygments.keyword.type": "ansigreen",
        "pygments.name.attribute": "ansiyellow",
        "pygments.name.variable": "ansimagenta",
        "pygments.name.namespace": "ansimagenta",
        "pygments.literal.number": "ansiyellow",
        "pygments.literal.string": "ansigreen",
        "pygments.comment": "ansibrightblack",
        "title": "bold ansicyan",
        "border": "ansibrightblack",
        "lane": "reverse",
        "inactive": "ansibrightblack",
        "current": "bold",
        "error": "ansired bold",
    }
)
