"""The words of mangled names, and the trees that they are read into."""

from __future__ import annotations

import operator
from typing import Any

BUILTIN = {
    "v": "void", "w": "wchar_t", "b": "bool", "c": "char", "a": "signed char", "h": "unsigned char", "s": "short",
    "t": "unsigned short", "i": "int", "j": "unsigned int", "l": "long", "m": "unsigned long", "x": "long long",
    "y": "unsigned long long", "n": "__int128", "o": "unsigned __int128", "f": "float", "d": "double",
    "e": "long double", "g": "__float128", "z": "...", "Dd": "decimal64", "De": "decimal128", "Df": "decimal32",
    "Dh": "half", "Di": "char32_t", "Ds": "char16_t", "Du": "char8_t", "Da": "auto", "Dc": "decltype(auto)",
    "Dn": "decltype(nullptr)",
}  # fmt: skip
OPERATORS = {
    "nw": "new", "na": "new[]", "dl": "delete", "da": "delete[]", "co": "~", "pl": "+", "mi": "-", "ml": "*",
    "dv": "/", "rm": "%", "an": "&", "or": "|", "eo": "^", "aS": "=", "pL": "+=", "mI": "-=", "mL": "*=", "dV": "/=",
    "rM": "%=", "aN": "&=", "oR": "|=", "eO": "^=", "ls": "<<", "rs": ">>", "lS": "<<=", "rS": ">>=", "eq": "==",
    "ne": "!=", "lt": "<", "gt": ">", "le": "<=", "ge": ">=", "ss": "<=>", "nt": "!", "aa": "&&", "oo": "||",
    "pp": "++", "mm": "--", "cm": ",", "pm": "->*", "pt": "->", "cl": "()", "ix": "[]", "qu": "?", "ps": "+",
    "ng": "-", "ad": "&", "de": "*", "aw": "co_await",
}  # fmt: skip
STANDARD = {
    "a": "allocator", "b": "basic_string", "s": "string", "i": "istream", "o": "ostream", "d": "iostream",
}  # fmt: skip
_TRAITS = ("template", ("scoped", ("text", "std"), ("text", "char_traits")), (("text", "char"),))
_ALLOCATOR = ("template", ("scoped", ("text", "std"), ("text", "allocator")), (("text", "char"),))
SHORT: dict[str, Any] = {
    letter: (
        "template",
        ("scoped", ("text", "std"), ("text", f"basic_{STANDARD[letter]}")),
        (("text", "char"), _TRAITS, *([_ALLOCATOR] if letter == "s" else [])),
    )
    for letter in "siod"
}
"""What the short names of the library stand for, where a constructor shows it."""
SPECIAL = {
    "TV": "vtable for ", "TT": "VTT for ", "TI": "typeinfo for ", "TS": "typeinfo name for ",
    "GV": "guard variable for ", "TW": "TLS wrapper function for ", "TH": "TLS init function for ",
}  # fmt: skip
THUNKS = {"Th": "non-virtual thunk to ", "Tv": "virtual thunk to ", "Tc": "covariant return thunk to "}
SUFFIXES = {"i": "", "j": "u", "l": "l", "m": "ul", "x": "ll", "y": "ull"}
"""What stands behind a number of some type; one of any other has the type before it."""
QUALIFIERS = {"r": "restrict", "V": "volatile", "K": "const"}


class NotUnderstood(Exception):
    """The name is no mangled one, or one that is not read here."""


def has_result(name: Any) -> bool:
    """Whether the type of a function begins with that of its result: of templates, but not of constructors."""
    while name[0] == "scoped" and name[2][0] == "template":  # in a function
        name = name[2]
    if name[0] != "template":
        return False
    last = name[1]
    while last[0] in ("scoped", "tagged"):
        last = last[2] if last[0] == "scoped" else last[1]
    return last[0] not in ("constructor", "conversion")


def arguments_of(name: Any) -> tuple[Any, ...]:
    """The template arguments that the parameters of a function refer to."""
    found: tuple[Any, ...] = ()
    if name[0] == "template":
        found = name[2]
    elif name[0] == "scoped":
        found = arguments_of(name[2]) or (
            arguments_of(name[1]) if name[1][0] in ("scoped", "declared") else ()
        )
    elif name[0] == "declared":
        found = arguments_of(name[1])
    return found


def bound(tree: Any, arguments: tuple[Any, ...], known: dict[int, Any]) -> Any:
    """A tree with arguments in the places of template parameters."""
    if not isinstance(tree, tuple) or not arguments:
        return tree
    if tree[:1] == ("lambda",):  # its parameters of such types are its own
        return tree
    if tree[:1] == ("parameter",):
        return arguments[tree[1]] if tree[1] < len(arguments) else tree
    if id(tree) not in known:
        parts = tuple(bound(each, arguments, known) for each in tree)
        known[id(tree)] = tree if all(map(operator.is_, parts, tree)) else parts
    return known[id(tree)]


def last_of(name: Any) -> str:
    """The name of a class without its scopes and arguments."""
    while name[0] != "text":
        if name[0] not in ("scoped", "template", "tagged"):
            raise NotUnderstood
        name = name[2] if name[0] == "scoped" else name[1]
    return str(name[1])


def packs_in(tree: Any) -> list[Any]:
    """The parameter packs in a tree; what several of its parts share is looked at once."""
    found: list[Any] = []
    seen: set[int] = set()
    left = [tree]
    while left:
        each = left.pop()
        if not isinstance(each, tuple) or id(each) in seen:
            continue
        seen.add(id(each))
        if each[:1] == ("pack",):
            found.append(each)
        else:
            left += reversed(each)
    return found
