"""Reads the types in mangled names; the methods are named after the productions of the grammar."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dwarfgpu.encoding.mangled.characters import Characters
from dwarfgpu.encoding.mangled.trees import BUILTIN, QUALIFIERS, STANDARD, NotUnderstood

_READINGS = {
    **dict.fromkeys(QUALIFIERS, "qualified"),
    **dict.fromkeys("PRO", "pointer"),
    **dict.fromkeys(("F", "Do"), "function"),
    **dict.fromkeys("CG", "complex"),
    **dict.fromkeys("Uu", "of_vendor"),
    **dict.fromkeys(("Ts", "Tu", "Te"), "elaborated"),
    "A": "array",
    "M": "member",
    "T": "parameter_type",
    "Dp": "expansion",
    "Dv": "vector",
    "DF": "floating",
}
"""The method that reads a type which begins so."""


class Types(Characters):
    """Reads types. Names, in which there are types again, are read by whoever inherits from it."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.known: list[Any] = []
        """What substitutions stand for."""

    if TYPE_CHECKING:

        def name(self) -> tuple[Any, str]: ...
        def parameters(self) -> tuple[Any, ...]: ...
        def parameter(self) -> Any: ...
        def substitution(self) -> Any: ...
        def template_arguments(self) -> tuple[Any, ...]: ...
        def source_name(self) -> str: ...

    def qualifiers(self) -> list[str]:
        found: list[str] = []
        while self.peek() in QUALIFIERS:
            found.append(QUALIFIERS[self.take()])
        return found

    def type(self) -> Any:
        self.deeper()
        try:
            name = self.peek() if self.peek() in BUILTIN else self.peek(2)
            if name in BUILTIN:
                self.index += len(name)
                return ("text", BUILTIN[name])
            first, two = self.peek(), self.peek(2)
            if first == "S" and two != "St":
                found = self.substitution()
                if self.peek() != "I":
                    if two[1:] in STANDARD and self.peek() == "B":
                        raise NotUnderstood
                    return found
                found = ("template", found, self.template_arguments())
            else:
                found = self.compound(first, two)
            self.known.append(found)
            return found
        finally:
            self.depth -= 1

    def compound(self, first: str, two: str) -> Any:
        """A type that a substitution can stand for."""
        reading = _READINGS.get(two) or _READINGS.get(first)
        if reading is not None:
            return getattr(self, reading)()
        if first in ("N", "Z", "S") or first.isdigit():
            return self.name()[0]
        raise NotUnderstood

    def qualified(self) -> Any:
        words = self.qualifiers()
        found = self.function() if self.peek() == "F" else self.type()
        for word in reversed(words):
            found = ("qualified", word, found)
        return found

    def pointer(self) -> Any:
        sign = {"P": "*", "R": "&", "O": "&&"}[self.take()]
        return ("pointer", sign, self.type())

    def member(self) -> Any:
        self.expect("M")
        owner = self.type()
        return ("member", owner, self.type())

    def parameter_type(self) -> Any:
        found = self.parameter()
        if self.peek() == "I":
            self.known.append(found)
            found = ("template", found, self.template_arguments())
        return found

    def elaborated(self) -> Any:
        self.index += 2
        return self.name()[0]

    def of_vendor(self) -> Any:
        """A type, or a qualifier such as the address space ``AS1``."""
        is_qualifier = self.take() == "U"
        word = self.source_name()
        return ("qualified", word, self.type()) if is_qualifier else ("text", word)

    def complex(self) -> Any:
        word = {"C": " _Complex", "G": " _Imaginary"}[self.take()]
        return ("joined", self.type(), word)

    def expansion(self) -> Any:
        self.expect("Dp")
        return ("expanded", self.type())

    def vector(self) -> Any:
        self.expect("Dv")
        count = self.number()
        self.expect("_")
        return ("joined", self.type(), f" __vector({count})")

    def floating(self) -> Any:
        self.expect("DF")
        bits = self.number()
        if self.accept("b"):
            return ("text", "std::bfloat16_t")
        suffix = "x" if self.accept("x") else ""
        self.accept("_")
        return ("text", f"_Float{bits}{suffix}")

    def function(self) -> Any:
        suffix = " noexcept" if self.accept("Do") else ""
        self.expect("F")
        self.accept("Y")
        returns = self.type()
        parameters = self.parameters()
        reference = " &" if self.accept("R") else " &&" if self.accept("O") else ""
        self.expect("E")
        return ("function", returns, parameters, reference + suffix)

    def array(self) -> Any:
        self.expect("A")
        count: Any = ("text", "")
        if self.peek() != "_":
            count = self.parameter() if self.peek() == "T" else ("text", str(self.number()))
        self.expect("_")
        return ("array", count, self.type())
