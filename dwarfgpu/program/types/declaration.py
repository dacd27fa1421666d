"""How a type is declared in C and C++, laid out as GDB's ``ptype`` does.

``show`` says how far a type is opened: 1 shows what is behind names and the members of a structure, 0 names what has a
name, and -1 shows nothing but ``{...}`` of what has none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.program.types import class_text
from dwarfgpu.program.types.model import (
    Array,
    Base,
    Enumeration,
    Function,
    MemberPointer,
    Opaque,
    Pointer,
    Qualified,
    String,
    Struct,
    Subrange,
    Typedef,
    Unspecified,
    Void,
)
from dwarfgpu.program.types.sizes import MAX_DEPTH, cycle

if TYPE_CHECKING:
    from dwarfgpu.program.types.layout_text import Layout
    from dwarfgpu.program.types.model import Type

ORDER = ("const", "volatile", "restrict", "_Atomic")
MAX_TYPES = 5000
"""How many types one declaration names: a function may have its own type as that of each parameter."""
MAX_TEXT_DEPTH = 24
"""How deep declarators are nested before ``...`` stands for the rest."""


def declaration(type: Type) -> str:
    """The declaration of a type, opened: ``struct Node {`` and its members, each on a line."""
    return Declarer(is_cplus=speaks_cplus(type)).text(type, "", 1, 0)


def declaration_with_offsets(type: Type) -> str:
    """The same with offsets, sizes and holes beside the members, as GDB's ``ptype/o`` has it."""
    from dwarfgpu.program.types.layout_text import Layout

    declarer = Declarer(is_cplus=speaks_cplus(type))
    declarer.layout = Layout()
    return declarer.text(type, "", 1, 0)


def type_text(type: Type, declarator: str = "", *, is_cplus: bool | None = None) -> str:
    """The name of a type in one line, with what stands in the place of a variable's name."""
    known = speaks_cplus(type) if is_cplus is None else is_cplus
    return Declarer(is_cplus=known).text(type, declarator, -1, 0)


def speaks_cplus(kind: Type) -> bool:
    """Whether a type is named as in C++: without ``struct``, and ``(void)`` for no parameters."""
    from dwarfgpu.program.types.naming import is_cplus

    for _ in range(MAX_DEPTH):
        if isinstance(kind, (Struct, Enumeration)):
            return kind.is_cplus
        die = getattr(kind, "die", None)
        if die is not None:
            return is_cplus(die.unit)
        if isinstance(kind, MemberPointer):
            return True
        if isinstance(kind, (Pointer, Qualified, Typedef)):
            kind = kind.target
        elif isinstance(kind, Array):
            kind = kind.element
        elif isinstance(kind, Function):
            kind = kind.result
        else:
            break
    return False


class Declarer:
    """Writes declarations in the words of one language.

    ``local`` has names that are shorter inside a class. ``is_tight`` writes ``int *const[4]`` and ``int ()``, as DWARF
    dumpers do, where GDB has ``int * const [4]`` and ``int (void)``; vectors are arrays then.
    """

    def __init__(
        self, *, is_cplus: bool, local: dict[str, str] | None = None, is_tight: bool = False
    ) -> None:
        self.is_cplus = is_cplus
        self.is_tight = is_tight
        self.local = local or {}
        self.left = [MAX_TYPES]
        """How many types may still be written; shared with those who write a part."""
        self.layout: Layout | None = None
        """Where members are, if that is to be written beside them."""
        self.opened = 0
        """How many classes are being opened around what is written."""

    def text(self, type: Type, declarator: str, show: int, level: int, depth: int = 0) -> str:
        """A type with a declarator."""
        self.left[0] -= 1
        if self.left[0] < 0:
            return "..."
        _, inner = self.unwrapped(type, show)
        base = self.base(type, show, level, depth)
        prefix = self.prefix(type, show, False, bool(declarator), depth)
        suffix = self.suffix(type, show, False, depth)
        is_compound = isinstance(inner, (Pointer, MemberPointer, Function)) or (
            isinstance(inner, Array) and not inner.is_vector
        )
        rest = f"{prefix}{declarator}{suffix}"
        is_apart = rest and rest[0] not in " [" if self.is_tight else declarator or is_compound
        return f"{base} {rest}" if is_apart else base + rest

    def unwrapped(self, kind: Type, show: int) -> tuple[set[str], Type]:
        """The qualifiers of a type and what they qualify; names are seen through where the type is opened."""
        words: set[str] = set()
        start = kind
        for _ in range(MAX_DEPTH):
            if isinstance(kind, Qualified):
                words.add(kind.word)
            elif not isinstance(kind, Typedef) or show <= 0:
                return words, kind
            kind = kind.target
        raise cycle(start)

    # --- The three parts of a declaration -------------------------------------------------------------------------

    def base(self, type: Type, show: int, level: int, depth: int) -> str:
        """What stands first: the type that all declarators are about, with its qualifiers."""
        if depth > MAX_TEXT_DEPTH:
            return "..."
        words, inner = self.unwrapped(type, show)
        if isinstance(inner, (Pointer, MemberPointer)):
            return self.base(inner.target, show, level, depth + 1)
        if isinstance(inner, Function):
            return self.base(inner.result, show, level, depth + 1)
        front = "".join(f"{word} " for word in ORDER if word in words)
        if isinstance(inner, Array):
            element = self.base(inner.element, show, level, depth + 1)
            return element if element.startswith(front) else front + element
        return front + self.named(inner, show, level, depth)

    def prefix(self, type: Type, show: int, pointed: bool, spaced: bool, depth: int) -> str:  # noqa: FBT001
        """What stands before the declared name: ``*``, ``(*``, ``const``."""
        if depth > MAX_TEXT_DEPTH:
            return ""
        words, inner = self.unwrapped(type, show)
        if isinstance(inner, Pointer):
            before = self.prefix(inner.target, show, True, True, depth + 1)
            mine = words - {"const"} if inner.is_reference else words
            return before + inner.sign + self._behind(mine, spaced=spaced, after_sign=not inner.is_reference)
        if isinstance(inner, MemberPointer):
            owner = self.base(inner.owner.get(), 0, 0, depth + 1)
            target = self.unwrapped(inner.target, show)[1]
            if isinstance(target, Function):
                return f"({owner}::*{self._behind(words, spaced=spaced, after_sign=True)}"
            before = self.prefix(inner.target, show, False, False, depth + 1)
            return f"{before}{owner}::*{self._behind(words, spaced=spaced, after_sign=True)}"
        if isinstance(inner, Function):
            before = self.prefix(inner.result, show, False, False, depth + 1)
            return before + ("(" if pointed else "")
        if isinstance(inner, Array):
            before = self.prefix(inner.element, show, False, spaced, depth + 1)
            return before + ("(" if pointed else "")
        return ""

    def suffix(self, type: Type, show: int, pointed: bool, depth: int) -> str:  # noqa: FBT001
        """What stands behind the declared name: ``)``, ``[3]``, ``(int, int)``."""
        if depth > MAX_TEXT_DEPTH:
            return ""
        _, inner = self.unwrapped(type, show)
        closed = ")" if pointed else ""
        if isinstance(inner, Pointer):
            return self.suffix(inner.target, show, True, depth + 1)
        if isinstance(inner, MemberPointer):
            is_method = isinstance(self.unwrapped(inner.target, show)[1], Function)
            return (")" if is_method else "") + self.suffix(inner.target, show, False, depth + 1)
        if isinstance(inner, Function):
            rest = self.suffix(inner.result, show, False, depth + 1)
            return f"{closed}({self.parameters(inner, depth)}){rest}"
        if isinstance(inner, Array):
            rest = self.suffix(inner.element, show, False, depth + 1)
            return closed + self._bounds(inner) + rest
        return ""

    def _behind(self, words: set[str], *, spaced: bool, after_sign: bool) -> str:
        """The qualifiers of a pointer."""
        text = " ".join(word for word in ORDER if word in words)
        if self.is_cplus:
            text = text.replace("restrict", "__restrict__")
        if not text:
            return ""
        return f"{' ' if after_sign and not self.is_tight else ''}{text}{' ' if spaced else ''}"

    def _bounds(self, array: Array) -> str:
        if array.generic is not None:
            return "[]"
        lengths = [each.length for each in array.dimensions]
        if self.is_tight:
            return "".join(f"[{'' if length is None else length}]" for length in lengths) or "[]"
        if array.is_vector:
            return "".join(
                f" __attribute__ ((vector_size({'' if length is None else length})))" for length in lengths
            )
        shown = [
            "[]" if each.is_open else f"[{'variable length' if length is None else length}]"
            for each, length in zip(array.dimensions, lengths, strict=True)
        ]
        return "".join(shown) or "[]"

    def parameters(self, function: Function, depth: int = 0, *, skip: int = 0) -> str:
        """The parameters of a function; ``skip`` leaves out the first ones."""
        types = function.parameters.get()[skip:]
        shown = [self.text(each.get(), "", 0, 0, depth + 1) for each in types]
        if function.is_variadic:
            shown.append("...")
        if not shown and not self.is_tight and (self.is_cplus or function.is_prototyped):
            return "void"
        return ", ".join(shown)

    # --- Types that have names ------------------------------------------------------------------------------------

    def named(self, type: Type, show: int, level: int, depth: int) -> str:
        """A type that is no declarator: by its name, or opened."""
        name = getattr(type, "name", None)
        if show <= 0 and name:
            return self.local.get(name) or self._keyword(type) + name
        if isinstance(type, Struct):
            return class_text.struct(self, type, show, level)
        if isinstance(type, Enumeration):
            return self._enumeration(type, show, depth)
        if isinstance(type, Base) and type.flags and show > 0:
            rows = "".join(f"    {f'bool {flag}'.rstrip()} @{bit};\n" for flag, bit in type.flags)
            return f"flag {type.name} {{\n{rows}}}"
        if isinstance(type, (Base, Void, Unspecified, Typedef)):
            return type.name
        if isinstance(type, String):
            return type.name or "character"
        if isinstance(type, Subrange):
            return type.name or self.text(type.target, "", show, level, depth + 1)
        if isinstance(type, Opaque):
            return type.name or f"(unnamed {type.tag.removeprefix('DW_TAG_').removesuffix('_type')})"
        return name or "..."

    def _keyword(self, type: Type) -> str:
        if self.is_cplus:
            return ""
        if isinstance(type, Struct):
            return f"{type.kind} "
        return "enum " if isinstance(type, Enumeration) else ""

    def _enumeration(self, type: Enumeration, show: int, depth: int) -> str:
        head = "enum class " if type.is_class and self.is_cplus else "enum "
        if type.name is not None:
            head += f"{type.name} "
        if show < 0 and type.name is None:
            return f"{head}{{...}}"
        if type.underlying is not None and type.is_cplus:
            head += f": {self.text(type.underlying.get(), '', 1, 0, depth + 1)} "
        if type.is_incomplete:
            return f"{head}{{<incomplete type>}}"
        shown, expected = [], 0
        for each in type.enumerators:
            known = "" if each.value == expected else f" = {each.value}"
            shown.append(f"{type.prefix}{each.name}{known}")
            expected = each.value + 1
        return f"{head}{{{', '.join(shown)}}}"


def safe_text(type: Type) -> str:
    """The name of a type, or that it is broken: for messages about something else."""
    try:
        return type_text(type)
    except DwarfGpuError:
        return "(broken type)"
