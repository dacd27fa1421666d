"""Reads mangled names into trees; the methods of the reader are named after the productions of the grammar."""

from __future__ import annotations

import re
from typing import Any

from dwarfgpu.encoding.mangled.trees import (
    OPERATORS,
    SHORT,
    SPECIAL,
    STANDARD,
    SUFFIXES,
    THUNKS,
    NotUnderstood,
    arguments_of,
    bound,
    has_result,
    last_of,
)
from dwarfgpu.encoding.mangled.types import Types


class Reader(Types):
    """Reads a name."""

    def whole(self) -> Any:
        """The tree of the whole name."""
        found = self.encoding()
        if self.index < len(self.text):
            raise NotUnderstood
        return found

    # --- Encodings ------------------------------------------------------------------------------------------------

    def encoding(self, *, is_local: bool = False) -> Any:
        self.deeper()
        special = self.special()
        if special is not None:
            return special
        name, qualifiers = self.name()
        found = name
        if self.peek() not in ("", "E"):
            returns = self.type() if has_result(name) else None
            function = ("function", None if is_local else returns, self.parameters(), qualifiers)
            found = ("declared", name, function)
        self.depth -= 1
        return bound(found, arguments_of(name), {})

    def special(self) -> Any:
        two = self.peek(2)
        if two in SPECIAL:
            self.index += 2
            return (
                "prefixed",
                SPECIAL[two],
                self.type() if two in ("TV", "TT", "TI", "TS") else self.name()[0],
            )
        if self.accept("GR"):
            name = self.name()[0]
            return ("prefixed", f"reference temporary #{self.sequence(36)} for ", name)
        if self.accept("TC"):
            derived = self.type()
            self.number()
            self.expect("_")
            return ("prefixed", "construction vtable for ", ("joined", self.type(), "-in-", derived))
        if self.accept("GTt"):
            return ("prefixed", "transaction clone for ", self.encoding())
        if two in ("Th", "Tv", "Tc"):
            self.index += 1 + (two == "Tc")
            for _ in range(1 + (two == "Tc")):
                self.offset()
            return ("prefixed", THUNKS[two], self.encoding())
        return None

    def offset(self) -> None:
        for _ in range(1 if self.peek() == "h" else 2):
            if self.peek() in ("h", "v"):
                self.index += 1
            self.accept("n")
            self.number()
            self.expect("_")

    def parameters(self) -> tuple[Any, ...]:
        if self.accept("v"):
            return ()
        found = []
        while self.peek(2) not in ("RE", "OE") and self.peek() not in ("", "E"):
            found.append(self.type())
        return tuple(found)

    # --- Names ----------------------------------------------------------------------------------------------------

    def name(self) -> tuple[Any, str]:
        """A name, and the qualifiers of the member function that it is."""
        self.deeper()
        try:
            if self.peek() == "N":
                return self.nested()
            if self.peek() == "Z":
                return self.local()
            if self.peek() == "S" and self.peek(2) != "St":
                found = self.substitution()
            else:
                found = (
                    ("scoped", ("text", "std"), self.unqualified(None))
                    if self.accept("St")
                    else self.unqualified(None)
                )
                if self.peek() == "I":
                    self.known.append(found)
            if self.peek() == "I":
                found = self.template(found)
            return found, ""
        finally:
            self.depth -= 1

    def nested(self) -> tuple[Any, str]:
        self.expect("N")
        self.accept("H")  # an explicit object parameter
        qualifiers = self.qualifiers()
        suffix = "".join(f" {word}" for word in reversed(qualifiers))
        suffix += " &" if self.accept("R") else " &&" if self.accept("O") else ""
        found: Any = None
        is_new = False
        while not self.accept("E"):
            is_new = True
            if self.peek() == "S" and found is None:
                letter = self.peek(2)[1:]
                found = ("text", "std") if self.accept("St") else self.substitution()
                if letter in SHORT and self.peek() in ("C", "D"):  # the name is that of the class
                    found = SHORT[letter]
                is_new = False
            elif self.peek() == "T" and found is None:
                found = self.parameter()
            elif self.peek() == "I" and found is not None:
                found = self.template(found)
            elif self.accept("M"):
                continue
            else:
                part = self.unqualified(found)
                found = part if found is None else ("scoped", found, part)
            if is_new:
                self.known.append(found)
        if found is None:
            raise NotUnderstood
        if is_new:
            self.known.pop()  # the whole is none
        return found, suffix

    def local(self) -> tuple[Any, str]:
        self.expect("Z")
        function = self.encoding(is_local=True)
        self.expect("E")
        qualifiers = ""
        if self.accept("s"):
            entity: Any = ("text", "string literal")
        else:
            if self.accept("d"):
                position = self.sequence(10)
                function = ("scoped", function, ("text", f"{{default arg#{position + 1}}}"))
            entity, qualifiers = self.name()
        if self.peek() == "_":  # which of several of that name it is
            self.index += 1 + (self.peek(2) == "__")
            self.number()
            self.accept("_")
        return ("scoped", function, entity), qualifiers

    def unqualified(self, scope: Any) -> Any:
        found = self.untagged(scope)
        while self.accept("B"):
            found = ("tagged", found, self.source_name())
        return found

    def untagged(self, scope: Any) -> Any:
        first, two = self.peek(), self.peek(2)
        if first == "L":  # of this file
            self.index += 1
            first = self.peek()
        if first.isdigit():
            name = self.source_name()
            return ("text", "(anonymous namespace)" if name.startswith("_GLOBAL__N") else name)
        if first == "C" and scope is not None:
            self.index += 1
            inherits = self.accept("I")
            if self.take() not in "12345":
                raise NotUnderstood
            return ("constructor", last_of(self.type() if inherits else scope))
        if first == "D" and two[1:] in "01245" and two[1:] and scope is not None:
            self.index += 2
            return ("constructor", f"~{last_of(scope)}")
        if two == "Ut":
            self.index += 2
            return ("text", f"{{unnamed type#{self.sequence(10) + 1}}}")
        if two == "Ul":
            return self.closure()
        if two == "cv":
            self.index += 2
            return ("conversion", self.type())
        if two == "li":
            self.index += 2
            return ("text", f'operator"" {self.source_name()}')
        if two in OPERATORS:
            self.index += 2
            word = OPERATORS[two]
            return ("text", f"operator{' ' if word[0].isalpha() else ''}{word}")
        raise NotUnderstood

    def closure(self) -> Any:
        self.expect("Ul")
        parameters = self.parameters()
        self.expect("E")
        return ("lambda", parameters, self.sequence(10) + 1)

    def source_name(self) -> str:
        length = self.number()
        found = self.peek(length)
        if len(found) != length or not length:
            raise NotUnderstood
        self.index += length
        return found

    # --- Templates and substitutions ------------------------------------------------------------------------------

    def template(self, name: Any) -> Any:
        return ("template", name, self.template_arguments())

    def template_arguments(self) -> tuple[Any, ...]:
        self.expect("I")
        found = []
        while not self.accept("E"):
            found.append(self.template_argument())
        return tuple(found)

    def template_argument(self) -> Any:
        self.deeper()
        try:
            if self.peek() == "L":
                return self.literal()
            if self.accept("X"):
                found = self.expression()
                self.expect("E")
                return found
            if self.accept("J"):
                items = []
                while not self.accept("E"):
                    items.append(self.template_argument())
                return ("pack", tuple(items))
            return self.type()
        finally:
            self.depth -= 1

    def expression(self) -> Any:
        """Of expressions only those that are about one name: ``4``, ``T``, ``A<T>::value``, ``&f``."""
        if self.peek() == "L":
            return self.literal()
        if self.peek() == "T":
            return self.parameter()
        if self.accept("sp"):
            return ("expanded", self.expression())
        if self.accept("sr"):
            found = self.unresolved() if self.peek().isdigit() else self.type()
            return self.maybe_template(("scoped", found, self.unqualified(None)))
        self.expect("ad")
        self.expect("L_Z")
        found = self.encoding()
        self.expect("E")
        if found[0] == "declared" and found[1][0] == "scoped" and not found[2][3]:
            found = found[1]
        return ("joined", "&(", found, ")") if found[0] == "declared" else ("joined", "&", found)

    def unresolved(self) -> Any:
        """Scopes that are known only when the template is used."""
        found: Any = None
        while not self.accept("E"):
            part = self.unqualified(None)
            found = self.maybe_template(part if found is None else ("scoped", found, part))
        return found

    def maybe_template(self, found: Any) -> Any:
        return ("template", found, self.template_arguments()) if self.peek() == "I" else found

    def literal(self) -> Any:
        self.expect("L")
        if self.accept("_Z") or self.accept("Z"):
            found = self.encoding()
            self.expect("E")
            return found
        code = self.peek()
        kind = self.type()
        end = self.text.find("E", self.index)
        value = self.text[self.index : end]
        if end < 0 or not re.fullmatch(r"n?\d*", value):
            raise NotUnderstood
        self.index = end + 1
        value = value.replace("n", "-")
        if code == "b" and value in ("0", "1"):
            return ("text", ("false", "true")[int(value)])
        if code in SUFFIXES:
            return ("text", f"{value}{SUFFIXES[code]}")
        return ("cast", kind, value)

    def parameter(self) -> Any:
        self.expect("T")
        number = self.sequence(10)
        return ("parameter", number)

    def substitution(self) -> Any:
        self.expect("S")
        if self.peek() in STANDARD:
            letter = self.take()
            return ("scoped", ("text", "std"), ("text", STANDARD[letter]))
        number = self.sequence(36)
        if number >= len(self.known):
            raise NotUnderstood
        return self.known[number]
