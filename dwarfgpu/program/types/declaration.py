"""The C and C++ declaration of a type, laid out as GDB's ``ptype`` does.

``show`` says how far a type is opened: 1 shows what is behind names and the members of a structure, 0 names what has a
name, and -1 shows nothing but ``{...}`` of what has none.
"""

from __future__ import annotations

from dwarfgpu import budget
from dwarfgpu import dwarf_constants as dw
from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.objfile.info.dies import Die
from dwarfgpu.objfile.info.scopes import qualified_name
from dwarfgpu.program.types import model as t
from dwarfgpu.program.types.model import MAX_DEPTH, address_space, cycle, known_size
from dwarfgpu.program.types.reader import DECLARATORS, TYPES, Types, speaks_cplus

_SPACES = {
    "global": "global",
    "constant": "constant",
    "local": "local",
    "private_lane": "private",
    "generic": "generic",
}
"""What OpenCL calls the address spaces."""
ORDER = (*_SPACES.values(), "const", "volatile", "restrict", "_Atomic")
_OPENCL = frozenset((dw.DW_LANG_OpenCL, dw.DW_LANG_OpenCL_CPP, dw.DW_LANG_CPP_for_OpenCL))
MAX_TYPES = 5000
"""How many types one declaration names: a function may have its own type as that of each parameter."""
FREE_TYPES = 100
"""How many types of one declaration cost nothing: more of them are paid from the budget of the question."""
PRICE = 16
"""What each further type costs."""
MAX_TEXT_DEPTH = 24
"""How deep declarators are nested before ``...`` replaces the rest."""


def declaration(type: t.Type) -> str:
    """Return the opened declaration of a type: ``struct Node {`` and its members, each on a line."""
    return Declarer(is_cplus=speaks_cplus(type), has_spaces=True).text(type, "", 1, 0)


def declaration_with_offsets(type: t.Type) -> str:
    """Return the declaration with offsets, sizes and holes beside the members, as GDB's ``ptype/o`` does."""
    declarer = Declarer(is_cplus=speaks_cplus(type), has_spaces=True)
    declarer.layout = StructLayout()
    return declarer.text(type, "", 1, 0)


def type_text(type: t.Type, declarator: str = "", *, is_cplus: bool | None = None, has_spaces: bool = False) -> str:
    """Return the name of a type in one line, with ``declarator`` in the place of a variable's name."""
    known = speaks_cplus(type) if is_cplus is None else is_cplus
    return Declarer(is_cplus=known, has_spaces=has_spaces).text(type, declarator, -1, 0)


def _is_named(array: t.Array) -> bool:
    """Return whether an array is known by its name, as tensors are, which no entry declares as arrays."""
    return array.die is None and array.name is not None


class Declarer:
    """Writes declarations in the words of one language.

    ``local`` has names that are shorter inside a class. ``is_tight`` writes ``int *const[4]`` and ``int ()``, as DWARF
    dumpers do, where GDB has ``int * const [4]`` and ``int (void)``; vectors are arrays then. ``has_spaces`` writes
    the address spaces that pointers of OpenCL state: ``local int *``.
    """

    def __init__(
        self, *, is_cplus: bool, local: dict[str, str] | None = None, is_tight: bool = False, has_spaces: bool = False
    ) -> None:
        self.is_cplus = is_cplus
        self.has_spaces = has_spaces
        self.is_tight = is_tight
        self.local = local or {}
        self.left = [MAX_TYPES]
        """How many types may still be written; shared with those who write a part."""
        self.layout: StructLayout | None = None
        """Where members are, if that is to be written beside them."""
        self.opened = 0
        """How many classes are being opened around what is written."""

    def text(self, type: t.Type, declarator: str, show: int, level: int, depth: int = 0) -> str:
        """Return the declaration of ``declarator`` as an object of a type."""
        self.left[0] -= 1
        if self.left[0] < 0 or (self.left[0] < MAX_TYPES - FREE_TYPES and not budget.take(PRICE)):
            return "..."
        _, inner = self.unwrapped(type, show)
        base, rest = self.parts(type, declarator, show, level, depth, is_spaced=bool(declarator))
        is_compound = isinstance(inner, (t.Pointer, t.MemberPointer, t.Function)) or (
            isinstance(inner, t.Array) and not inner.is_vector and not _is_named(inner)
        )
        is_apart = rest and rest[0] not in " [" if self.is_tight else declarator or is_compound
        return f"{base} {rest}" if is_apart else base + rest

    def unwrapped(self, kind: t.Type, show: int) -> tuple[set[str], t.Type]:
        """Return the qualifiers of a type and what they qualify, with typedefs resolved where the type is opened."""
        words: set[str] = set()
        start = kind
        for _ in range(MAX_DEPTH):
            if isinstance(kind, t.Qualified):
                words.add(kind.word)
            elif not isinstance(kind, t.Typedef) or show <= 0:
                return words, kind
            kind = kind.target
        raise cycle(start)

    def parts(
        self, type: t.Type, rest: str, show: int, level: int, depth: int, *,
        is_pointed: bool = False, is_spaced: bool = False, space: str = "",
    ) -> tuple[str, str]:  # fmt: skip
        """Return the front of a declaration in an address space, and the declarators around ``rest``."""
        if depth > MAX_TEXT_DEPTH:
            return "...", rest
        words, inner = self.unwrapped(type, show)
        if not isinstance(inner, t.MemberPointer):
            words.add(space)
        if isinstance(inner, t.Pointer):
            behind = words - {"const"} if inner.is_reference else words
            rest = inner.sign + self._behind(behind, spaced=is_spaced, after_sign=not inner.is_reference) + rest
            around = self._space(inner)
            return self.parts(inner.target, rest, show, level, depth + 1, is_pointed=True, is_spaced=True, space=around)
        if isinstance(inner, t.MemberPointer):
            # the owner is a class: what leads on from any other is not followed, as it may lead back
            owner, _ = self.parts(inner.owner.get(), "", -1, 0, max(depth + 1, MAX_TEXT_DEPTH))
            rest = f"{owner}::*{self._behind(words, spaced=is_spaced, after_sign=True)}{rest}"
            is_method = isinstance(self.unwrapped(inner.target, show)[1], t.Function)
            return self.parts(inner.target, rest, show, level, depth + 1, is_pointed=is_method)
        if isinstance(inner, (t.Function, t.Array)):
            rest = f"({rest})" if is_pointed else rest
        if isinstance(inner, t.Function):
            return self.parts(inner.result, f"{rest}({self.parameters(inner, depth)})", show, level, depth + 1)
        front = "".join(f"{word} " for word in ORDER if word in words)
        if not isinstance(inner, t.Array) or _is_named(inner):
            return front + self.named(inner, show, level, depth), rest
        rest += self._bounds(inner)
        base, rest = self.parts(inner.element, rest, show, level, depth + 1, is_spaced=is_spaced)
        return base if base.startswith(front) else front + base, rest

    def _space(self, pointer: t.Pointer) -> str:
        """Return what OpenCL calls the address space that the entry of a pointer states; empty if it states none."""
        die = pointer.die
        if not self.has_spaces or die is None or die.unit.root_number(dw.DW_AT_language) not in _OPENCL:
            return ""
        if die.number(dw.DW_AT_address_class) is None and die.find("DW_AT_LLVM_address_space") is None:
            return ""
        space = address_space(die, pointer.address_space)
        return "" if space is None else _SPACES.get(space.name, "")

    def _behind(self, words: set[str], *, spaced: bool, after_sign: bool) -> str:
        text = " ".join(word for word in ORDER if word in words)
        if self.is_cplus:
            text = text.replace("restrict", "__restrict__")
        if not text:
            return ""
        return f"{' ' if after_sign and not self.is_tight else ''}{text}{' ' if spaced else ''}"

    def _bounds(self, array: t.Array) -> str:
        if array.generic is not None:
            return "[]"
        lengths = [dimension.length for dimension in array.dimensions]
        if self.is_tight:
            return "".join(f"[{'' if length is None else length}]" for length in lengths) or "[]"
        if array.is_vector:
            return "".join(f" __attribute__ ((vector_size({'' if length is None else length})))" for length in lengths)
        shown = [
            "[]" if dimension.is_open else f"[{'variable length' if length is None else length}]"
            for dimension, length in zip(array.dimensions, lengths, strict=True)
        ]
        return "".join(shown) or "[]"

    def parameters(self, function: t.Function, depth: int = 0, *, skip: int = 0) -> str:
        """Return the parameters of a function; ``skip`` leaves out the first ones."""
        types = function.parameters.get()[skip:]
        shown = [self.text(parameter.get(), "", 0, 0, depth + 1) for parameter in types]
        if function.is_variadic:
            shown.append("...")
        if not shown and not self.is_tight and (self.is_cplus or function.is_prototyped):
            return "void"
        return ", ".join(shown)

    # --- Types that have names ------------------------------------------------------------------------------------

    def named(self, type: t.Type, show: int, level: int, depth: int) -> str:
        """Return the name or the opened text of a type that is not a declarator."""
        name = type.name
        if show <= 0 and name:
            return self.local.get(name) or self._keyword(type) + name
        if isinstance(type, t.Struct):
            return struct(self, type, show, level)
        if isinstance(type, t.Enumeration):
            return self._enumeration(type, show, depth)
        if isinstance(type, t.Base) and type.flags and show > 0:
            rows = "".join(f"    {f'bool {flag}'.rstrip()} @{bit};\n" for flag, bit in type.flags)
            return f"flag {type.name} {{\n{rows}}}"
        if isinstance(type, (t.Array, t.Base, t.Void, t.UnspecifiedType, t.Typedef)):
            return type.name or "..."
        if isinstance(type, t.String):
            return type.name or "character"
        if isinstance(type, t.Subrange):
            return type.name or self.text(type.target, "", show, level, depth + 1)
        if isinstance(type, t.Opaque):
            return type.name or f"(unnamed {type.tag.removeprefix('DW_TAG_').removesuffix('_type')})"
        return name or "..."

    def _keyword(self, type: t.Type) -> str:
        if self.is_cplus:
            return ""
        if isinstance(type, t.Struct):
            return f"{type.kind} "
        return "enum " if isinstance(type, t.Enumeration) else ""

    def _enumeration(self, type: t.Enumeration, show: int, depth: int) -> str:
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
        for enumerator in type.enumerators:
            known = "" if enumerator.value == expected else f" = {enumerator.value}"
            shown.append(f"{type.prefix}{enumerator.name}{known}")
            expected = enumerator.value + 1
        return f"{head}{{{', '.join(shown)}}}"


BROKEN_TYPE = "(broken type)"


def safe_text(type: t.Type) -> str:
    """Return the name of a type for a message about something else, or say that the type is broken."""
    try:
        return type_text(type)
    except DwarfGpuError:
        return BROKEN_TYPE


t.ReadableType.write = staticmethod(safe_text)


# --- Structures, classes and unions -------------------------------------------------------------------------------

MAX_OPENED = 8
"""How deep classes without a name are opened in each other."""


def struct(declarer: Declarer, type: t.Struct, show: int, level: int) -> str:
    """Return a structure, class or union, with its members if it is opened or has no name."""
    head = f"{type.kind} "
    if type.name is not None and show > 0:
        head += f"{type.name} "
    if (show < 0 and type.name is None) or declarer.opened > MAX_OPENED:
        return f"{head}{{...}}"
    return head + _MemberWriter(declarer, type, show, level).text()


class _MemberWriter:
    """The writer of the members of one class. It remembers the access that it has written last."""

    def __init__(self, declarer: Declarer, type: t.Struct, show: int, level: int) -> None:
        self.type = type
        self.body: t.Body = type.body
        self.show = show
        self.level = level
        self.section: str | None = None
        self.default = "private" if type.kind == "class" else "public"
        self.lines: list[str] = []
        names = {declarer.text(argument.to.get(), "", -1, 0): argument.name for argument in self.body.arguments}
        names.update({typedef.name: typedef.name.rpartition("::")[2] for typedef in self.body.typedefs})
        self.declarer = declarer.__class__(
            is_cplus=declarer.is_cplus, local={**declarer.local, **names}, has_spaces=declarer.has_spaces
        )
        self.declarer.left = declarer.left
        self.declarer.opened = declarer.opened + 1
        self.outer = declarer
        self.layout: StructLayout | None = declarer.layout

    def text(self) -> str:
        body = self.body
        data = [member for member in body.members if not _is_table(member)]
        if not (body.members or body.statics or body.methods or body.typedefs or body.variant_parts):
            word = "<incomplete type>" if self.type.is_incomplete else "<no data fields>"
            if not body.bases:
                self.lines.append(f"{self._indent()}{word}")
        labelled = self._needs_labels()
        for entry in body.order:
            if isinstance(entry, int):
                member = body.members[entry]
                if not _is_table(member):
                    self._member(member, labelled=labelled)
            else:
                self._static(next(static for static in body.statics if static.name == entry), labelled=labelled)
        for part in body.variant_parts:
            self._variants(part)
        if self.layout is not None:
            lines = [*self.lines, *self.layout.end(self.type, self.level)]
            inside = "".join(f"{line}\n" for line in lines)
            return f"{self._arguments()}{self._bases()}{{\n{inside}{self.layout.closing(self.level)}}}"
        methods = [method for method in self._grouped() if not method.is_artificial]
        if methods and self.section is not None:
            self.lines.append("")
        for method in methods:
            self._method(method)
        if body.typedefs:
            if data or body.statics or body.methods:
                self.lines.append("")
            for typedef in body.typedefs:
                own = typedef.name.rpartition("::")[2]
                shown = self.outer.text(typedef.target, own, self.show - 1, self.level + 4)
                self.lines.append(f"{self._indent()}typedef {shown};")
        inside = "".join(f"{line}\n" for line in self.lines)
        return f"{self._arguments()}{self._bases()}{{\n{inside}{' ' * self.level}}}"

    def _indent(self) -> str:
        blank = "" if self.layout is None else self.layout.blank
        return blank + " " * (self.level + 4)

    def _arguments(self) -> str:
        if not self.body.arguments or self.type.name is None:
            return ""
        shown = ", ".join(
            f"{argument.name} = {self.outer.text(argument.to.get(), '', -1, 0)}" for argument in self.body.arguments
        )
        return f"[with {shown}] "

    def _bases(self) -> str:
        shown = [
            f"{base.access or self.default} {'virtual ' if base.is_virtual else ''}"
            + self.outer.text(base.type, "", -1, 0)
            for base in self.body.bases
        ]
        return f": {', '.join(shown)} " if shown else ""

    # --- Access ---------------------------------------------------------------------------------------------------

    def _needs_labels(self) -> bool:
        """Return whether access labels are needed, because not all members have the access that the keyword implies."""
        body = self.body
        if self.type.kind == "union":
            return False
        parts: list[t.Member | t.StaticMember | t.Method] = [*body.members, *body.statics, *body.methods]
        return any(self._access_of(part) != self.default for part in parts)

    def _access_of(self, member: t.Member | t.StaticMember | t.Method) -> str:
        """Return the access of a member. What a producer added, such as a pointer to a vtable, counts as private."""
        if isinstance(member, t.Member) and member.is_artificial:
            return "private"
        return member.access or self.default

    def _label(self, access: str) -> None:
        if self.section != access:
            self.section = access
            self.lines.append(f"{self._indent()[:-2]}{access}:")

    # --- Members --------------------------------------------------------------------------------------------------

    def _member(self, member: t.Member, *, labelled: bool, deeper: int = 0) -> None:
        if labelled:
            self._label(self._access_of(member))
        show, indent = self.show - 1, self._indent()
        if self.layout is not None:
            *holes, place = self.layout.member(self.type, member)
            self.lines += holes
            indent = place + indent[len(place) :]
            self.declarer.layout = self.layout.inside(member)
            if self.outer.text(member.type, "", -1, 0) not in self.declarer.local:
                show += self.declarer.layout.opens
        shown = self.declarer.text(member.type, member.name or "", show, self.level + 4 + deeper)
        bits = "" if member.bit_size is None else f" : {member.bit_size}"
        self.lines.append(f"{indent}{' ' * deeper}{shown}{bits};")

    def _static(self, member: t.StaticMember, *, labelled: bool) -> None:
        if labelled:
            self._label(self._access_of(member))
        shown = self.declarer.text(member.type, member.name, self.show - 1, self.level + 4)
        self.lines.append(f"{self._indent()}static {shown};")

    def _variants(self, part: t.VariantPart) -> None:
        """Write the members of variants below the values of the discriminant that choose them."""
        for variant in part.variants:
            if variant.values is None:
                label = "default"
            else:
                ranges = [f"{low}" if low == high else f"{low}..{high}" for low, high in variant.values]
                label = f"case {', '.join(ranges)}"
            self.lines.append(f"{self._indent()}{label}:")
            for member in variant.members:
                self._member(member, labelled=False, deeper=4)

    # --- Methods --------------------------------------------------------------------------------------------------

    def _grouped(self) -> list[t.Method]:
        groups: dict[str, list[t.Method]] = {}
        for method in self.body.methods:
            groups.setdefault(method.name, []).append(method)
        return [method for group in groups.values() for method in group]

    def _method(self, method: t.Method) -> None:
        self._label(method.access or self.default)
        function = method.to.get()
        text = "virtual " if method.is_virtual else "static " if method.is_static else ""
        own = (self.type.name or "").partition("<")[0].rpartition("::")[2]
        converts = method.name.startswith("operator ") and method.name[9:10].isalpha()
        if method.name not in (own, f"~{own}") and not method.name.startswith("~") and not converts:
            text += self.declarer.text(function.result, "", self.show - 1, 0) + " "
        skip = 0 if method.is_static else _hidden(method)
        text += f"{method.name}({self.declarer.parameters(function, skip=skip)})"
        qualifiers = [word for word in ("const", "volatile") if word in method.object_qualifiers]
        self.lines.append(f"{self._indent()}{' '.join([text, *qualifiers])};")


def _is_table(member: t.Member) -> bool:
    """Return whether a member is the pointer to the table of virtual functions, which no source declares."""
    return member.name is not None and member.name.startswith(("_vptr.", "_vptr$"))


def _hidden(method: t.Method) -> int:
    """Count the leading parameters that no source declares: ``this``, and those that constructors are given."""
    if method.die is None:
        return 1
    count = 0
    for child in method.die.children():
        if child.tag != dw.DW_TAG_formal_parameter:
            continue
        artificial = child.number(dw.DW_AT_artificial)
        if artificial is None or not artificial.value:
            break
        count += 1
    return max(count, 1)


# --- Offsets and sizes of members ---------------------------------------------------------------------------------

WIDTH = 27
HEAD = "/* offset      |    size */  "
"""The heading of the columns."""


class StructLayout:
    """The layout of one structure, member after member; ``base`` is where it is in the outermost one, in bits."""

    blank = " " * WIDTH

    def __init__(self, base: int = 0, *, opens: bool = False) -> None:
        self.base = base
        self.opens = opens
        """Whether it is that of a member that is a structure itself, which is opened."""
        self.end_bit = 0

    def member(self, owner: t.Struct, member: t.Member) -> list[str]:
        """Return the holes before a member, and the text beside it."""
        size = known_size(member.type)
        if owner.kind == "union":
            return [f"/*                {_number(size)} */"]
        if member.bit_offset is None:
            return [self.blank]
        lines = self._holes(member.bit_offset, "hole")
        byte, bit = divmod(member.bit_offset + self.base, 8)
        where = f"{byte:6}      " if member.bit_size is None and not bit else f"{byte:6}: {bit:<2}  "
        bits = member.bit_size if member.bit_size is not None else 8 * (size or 0)
        self.end_bit = member.bit_offset + bits
        return [*lines, f"/* {where}|  {_number(size)} */"]

    def inside(self, member: t.Member) -> StructLayout:
        """Return the layout of a member that is a structure."""
        return StructLayout(self.base + (member.bit_offset or 0), opens=isinstance(member.type, t.Struct))

    def end(self, owner: t.Struct, level: int) -> list[str]:
        """Return the lines below the last member."""
        size = known_size(owner)
        lines = [] if size is None else self._holes(8 * size, "padding")
        indent = self.blank + " " * (level + 4)
        return [*lines, "", f"{indent}/* total size (bytes): {'?' if size is None else size:>4} */"]

    def closing(self, level: int) -> str:
        """Return the indent before the closing brace."""
        return self.blank + " " * (level or 2)

    def _holes(self, start: int, what: str) -> list[str]:
        """Return the lines of a hole: the bits before ``start`` that no member has."""
        if not 0 < self.end_bit < start:
            return []
        count, bits = divmod(start - self.end_bit, 8)
        lines = [f"/* XXX {bits:2}-bit {what:7}    */"] if bits else []
        return [*lines, f"/* XXX {count:2}-byte {what:7}   */"] if count else lines


def _number(size: int | None) -> str:
    return f"{'?' if size is None else size:>6}"


# --- Names of entries ---------------------------------------------------------------------------------------------


class EntryTypes(Types):
    """The types of entries, read only as far as their names need it, with names from the entries."""

    def _make(self, die: Die) -> t.Type:
        if die.tag in DECLARATORS:
            return super()._make(die)
        signature = die.number(dw.DW_AT_signature)
        if signature is not None:  # the declaration of what a type unit defines (DWARF 5, 5.7.1)
            die = signature.reference()
        return t.Opaque(die.tag_name, qualified_name(die), None, die)


def type_name(die: Die | None, types: EntryTypes | None = None) -> str:
    """Return the name of a type. None is void."""
    return Declarer(is_cplus=False, is_tight=True).text((types or EntryTypes()).of(die), "", -1, 0)


def entry_name(die: Die, types: EntryTypes | None = None) -> str:
    """Return the name of an entry in references to it; ``types`` has the types that were named before."""
    if die.tag in DECLARATORS:
        return type_name(die, types)
    if die.tag in TYPES:
        kind = (types or EntryTypes()).of(die)
        return kind.name or type_name(die, types)
    return die.name or die.tag_name
