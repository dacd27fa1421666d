"""The languages that the debugger shows in colours: commands, source for GPUs, instructions, DWARF expressions."""

# mypy: disallow-subclassing-any=False
# (pygments has no types)
from __future__ import annotations

from typing import ClassVar

from pygments.lexer import Lexer, RegexLexer, bygroups, inherit, words
from pygments.lexers.c_cpp import CppLexer
from pygments.token import Comment, Generic, Keyword, Name, Number, Operator, Punctuation, String, Text

__all__ = ["CommandLexer", "GpuLexer", "InstructionLexer", "OperationLexer", "lexer_of_file"]

_NUMBERS = [
    (r"0[xX][0-9a-fA-F]+[uUlL]*", Number.Hex),
    (r"\d+\.\d*(?:[eE][+-]?\d+)?[fFlL]?|\d+[eE][+-]?\d+[fFlL]?", Number.Float),
    (r"\d+[uUlL]*", Number.Integer),
]
_STRINGS = [
    (r'"(?:\\.|[^"\\\n])*"?', String.Double),
    (r"'(?:\\.|[^'\\\n])*'?", String.Single),
]


class CommandLexer(RegexLexer):
    """A command as it is typed: its name, format and options, and an expression."""

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
            (
                words(
                    ("sizeof", "struct", "union", "class", "enum", "unsigned", "signed", "const"),
                    suffix=r"\b",
                ),
                Keyword.Type,
            ),
            (
                words(("char", "short", "int", "long", "float", "double", "void", "bool"), suffix=r"\b"),
                Keyword.Type,
            ),
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
        ],
    }


class InstructionLexer(RegexLexer):
    """Instructions as disassemblers write them: an address and a place, a mnemonic, operands, a comment."""

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
    """DWARF expressions as text, as they are listed and explained."""

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
        ],
    }


_LIKE_C = (
    "c",
    "h",
    "i",
    "ii",
    "cc",
    "cpp",
    "cxx",
    "hh",
    "hpp",
    "hxx",
    "inc",
    "hip",
    "cu",
    "cuh",
    "cl",
    "clh",
)


def lexer_of_file(name: str) -> Lexer | None:
    """The lexer of a source file; None where there is none for its language."""
    ending = name.rpartition(".")[2].lower()
    if ending in ("f", "f77", "f90", "f95", "f03", "f08", "for"):
        from pygments.lexers.fortran import FortranLexer

        return FortranLexer(stripnl=False)
    if ending == "py":
        from pygments.lexers.python import PythonLexer

        return PythonLexer(stripnl=False)
    if ending == "rs":
        from pygments.lexers.rust import RustLexer

        return RustLexer(stripnl=False)
    if ending == "s":
        return InstructionLexer(stripnl=False)
    return GpuLexer(stripnl=False) if ending in _LIKE_C else None
