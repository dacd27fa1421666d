"""Where values and types are shown otherwise than by gdb 13, and why. docs/values.md tells the same."""

import re
from typing import NamedTuple


class Difference(NamedTuple):
    command: str
    """A pattern of the commands."""
    ours: str
    """A pattern of what the library shows, or of what gdb does."""
    reason: str


VALUES = [
    Difference(
        r"print.* packed_bits",
        r"not available on integers of more than 8 bytes",
        "a bit-field that reaches over nine bytes: gdb does not read it",
    ),
    Difference(
        r"print/[ca] (u?huge|little128)",
        r"not available on integers of more than 8 bytes",
        "gdb converts no wider integers; the low bits are shown",
    ),
    Difference(r"print/f .*", r"<invalid float value>", "128 bits that are no x87 number: gdb gives up"),
    Difference(
        r"print/[fca] c_\w+",
        r".",
        "a complex number: gdb reads both parts as one float, or refuses; each part is shown by itself",
    ),
    Difference(
        r"print(/[sr])? (pointer_bytes|incomplete16)",
        r'(\\003|a)", <incomplete',
        "gdb leaves out the character before an incomplete one",
    ),
    Difference(r"print(/[sr])? wc_unseen", r"L'\\255'", "gdb writes characters that nobody sees as they are"),
    Difference(r"(print|ptype).*methods?", r" \* const[,)]", "gdb makes the parameter `this` constant"),
    Difference(r"ptype.*", r"virtual ~", "gdb does not say that a destructor is virtual"),
    Difference(r"(print|ptype).*", r"_vtable\$", "clang describes a member `_vtable$`, and gdb does not find it"),
    Difference(
        r"print/[xduotzfca] (function_reference|moved)",
        r".",
        "a reference to a function or to an rvalue: gdb shows the first byte of the code, or the address alone",
    ),
    Difference(
        r"print/[ca] \w*method", r"can't be converted", "a pointer to a member function: gdb has no such format"
    ),
    Difference(r"(print|ptype).* nothing", r".", "std::nullptr_t: gdb takes it for an int, or for void"),
    Difference(r"ptype uhuge", r"unsigned int __int128", "clang's `unsigned __int128`: gdb takes the words apart"),
    Difference(
        r"ptype constant_triple", r"const int \[3\]", "an array that is constant as a whole: gdb drops the word"
    ),
]

EXPRESSIONS = [
    Difference(r"yes\+yes", r"Invalid operation on booleans", "C makes integers of them; gdb refuses"),
    Difference(r"(huge|little128).*", r"not available on integers", "gdb computes with at most 8 bytes"),
    Difference(r".*[/%]0", r"Division by zero", "the words of the error"),
    Difference(r"no_such.*|.*p_text", r"No symbol", "the words of the error"),
    Difference(r".*(<<|>>).*", r"warning: .*shift count", "gdb warns, and has the same result"),
]


def reason_for(table: list[Difference], command: str, ours: str, theirs: str) -> str | None:
    """Why an answer differs; None if nothing explains it."""
    for each in table:
        if re.fullmatch(each.command, command) and re.search(each.ours, f"{ours}\n{theirs}"):
            return each.reason
    return None
