"""Writes the tree of a mangled name, as GDB and c++filt do."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from dwarfgpu.encoding.mangled.trees import NotUnderstood, packs_in

if TYPE_CHECKING:
    from collections.abc import Callable

MAX_WRITTEN = 1 << 15
"""A name whose text is longer is left as it is: substitutions can double it again and again."""

_DECLARATOR = re.compile(r"([*&]+) (?!const|volatile|restrict|\[)")


class Writer:
    """Writes a tree. Of a type, what is declared as it stands in its middle: ``void (*name)(int)``."""

    def __init__(self) -> None:
        self.position: int | None = None
        """Which element of a pack is written."""
        self.written = 0
        self.in_lambda = False

    def text(self, tree: Any, inner: str = "") -> str:
        found: str = getattr(self, f"_{tree[0]}")(tree, inner)
        self.written += len(found)
        if len(found) > MAX_WRITTEN or self.written > 64 * MAX_WRITTEN:
            raise NotUnderstood
        return found

    def listed(self, trees: tuple[Any, ...]) -> str:
        texts = [self.text(each) for each in trees]
        empty = ("expanded", "pack")
        return ", ".join(
            text for text, each in zip(texts, trees, strict=True) if text or each[0] not in empty
        )

    def _parameter(self, tree: Any, inner: str) -> str:
        if not self.in_lambda:
            raise NotUnderstood
        return f"auto:{tree[1] + 1}{inner}"

    def _text(self, tree: Any, inner: str) -> str:
        return f"{tree[1]}{inner}"

    _constructor = _text

    def _scoped(self, tree: Any, inner: str) -> str:
        return f"{self.text(tree[1])}::{self.text(tree[2])}{inner}"

    def _tagged(self, tree: Any, inner: str) -> str:
        return f"{self.text(tree[1])}[abi:{tree[2]}]{inner}"

    def _conversion(self, tree: Any, inner: str) -> str:
        return f"operator {self.text(tree[1])}{inner}"

    def _lambda(self, tree: Any, inner: str) -> str:
        before, self.in_lambda = self.in_lambda, True
        parameters = self.listed(tree[1])
        self.in_lambda = before
        return f"{{lambda({parameters})#{tree[2]}}}{inner}"

    def _template(self, tree: Any, inner: str) -> str:
        name, arguments = self.text(tree[1]), self.listed(tree[2])
        space = " " * (arguments.endswith(">") and not self.ends_empty(tree[2]))
        return f"{name}{' ' * name.endswith('<')}<{arguments}{space}>{inner}"

    def ends_empty(self, arguments: tuple[Any, ...]) -> bool:
        """Whether an empty pack stands at the end: then c++filt has forgotten the bracket before it."""
        if not arguments:
            return True
        last = arguments[-1]
        return not self.text(last) or (
            last[0] == "pack" and self.position is None and self.ends_empty(last[1])
        )

    def _prefixed(self, tree: Any, inner: str) -> str:
        return f"{tree[1]}{self.text(tree[2])}{inner}"

    def _joined(self, tree: Any, inner: str) -> str:
        return "".join(each if isinstance(each, str) else self.text(each) for each in tree[1:]) + inner

    def _cast(self, tree: Any, inner: str) -> str:
        return f"({self.text(tree[1])}){tree[2]}{inner}"

    def _pack(self, tree: Any, inner: str) -> str:
        if self.position is None:
            return self.listed(tree[1])
        return self.element(tree, lambda each: self.text(each, inner))

    def element(self, pack: Any, write: Callable[[Any], str]) -> str:
        """The element of a pack that is written now; packs inside it are others."""
        position = self.position
        if position is None or position >= len(pack[1]):
            raise NotUnderstood
        self.position = None
        found = write(pack[1][position])
        self.position = position
        return found

    def _expanded(self, tree: Any, inner: str) -> str:
        packs = packs_in(tree[1])
        if not packs:
            return f"{self.text(tree[1])}...{inner}"
        before, texts = self.position, []
        for self.position in range(len(packs[0][1])):
            texts.append(self.text(tree[1]))
        self.position = before
        return ", ".join(texts)

    # --- Types ----------------------------------------------------------------------------------------------------

    def _pointer(self, tree: Any, inner: str) -> str:
        sign, to = tree[1:]
        if to[0] == "pack" and self.position is not None:
            return self.element(to, lambda each: self.text(("pointer", sign, each), inner))
        if sign != "*" and to[0] == "pointer" and to[1] != "*":  # a reference to a reference is one
            return self.text(("pointer", "&" if "&" in (sign, to[1]) else "&&", to[2]), inner)
        return self.text(to, sign + inner)

    def _qualified(self, tree: Any, inner: str) -> str:
        word, to = tree[1], tree[2]
        if to[:2] == ("qualified", word):  # of what a parameter stands for
            return self.text(to, inner)
        if to[0] == "array":
            return self.text(("array", to[1], ("qualified", word, to[2])), inner)
        if to[0] == "function":
            return self.text((*to[:3], f" {word}{to[3]}"), inner)
        return self.text(to, f" {word}{inner}")

    def _member(self, tree: Any, inner: str) -> str:
        is_function = tree[2][0] in ("function", "qualified") and _core(tree[2])[0] == "function"
        return self.text(tree[2], f"{'' if is_function else ' '}{self.text(tree[1])}::*{inner}")

    def _array(self, tree: Any, inner: str) -> str:
        count = self.text(tree[1])
        if inner.endswith("]") and inner.startswith(" "):
            return self.text(tree[2], f"{inner}[{count}]")
        around = f" ({_joined(inner)})" if inner else ""
        return self.text(tree[2], f"{around} [{count}]")

    def _function(self, tree: Any, inner: str) -> str:
        around = f"({_joined(inner)})" if inner else ""
        return self.text(tree[1], f" {around}({self.listed(tree[2])}){tree[3]}")

    def _declared(self, tree: Any, inner: str) -> str:
        _, name, (_, returns, parameters, suffix) = tree
        text = f"{self.text(name)}({self.listed(parameters)}){suffix}{inner}"
        return text if returns is None else self.text(returns, f" {text}")


def _joined(declarator: str) -> str:
    """``* f(int)`` as it stands in parentheses: ``*f(int)``."""
    return declarator if declarator.endswith("]") else _DECLARATOR.sub(r"\1", declarator, count=1)


def _core(tree: Any) -> Any:
    while tree[0] == "qualified":
        tree = tree[2]
    return tree
