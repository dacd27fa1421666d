"""How structures, classes and unions are declared: their bases, members, methods and typedefs, as GDB lays them out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dwarfgpu.dwarf_constants import DW_AT_artificial, DW_TAG_formal_parameter

if TYPE_CHECKING:
    from dwarfgpu.program.types.declaration import Declarer
    from dwarfgpu.program.types.layout_text import Layout
    from dwarfgpu.program.types.model import Body, Member, Method, StaticMember, Struct, VariantPart


MAX_OPENED = 8
"""How deep classes without a name are opened in each other."""


def struct(declarer: Declarer, type: Struct, show: int, level: int) -> str:
    """A structure, class or union, with its members if it is opened or has no name."""
    head = f"{type.kind} "
    if type.name is not None and show > 0:
        head += f"{type.name} "
    if (show < 0 and type.name is None) or declarer.opened > MAX_OPENED:
        return f"{head}{{...}}"
    return head + _Writer(declarer, type, show, level).text()


class _Writer:
    """Writes the members of one class, and remembers which access they were last said to have."""

    def __init__(self, declarer: Declarer, type: Struct, show: int, level: int) -> None:
        self.type = type
        self.body: Body = type.body
        self.show = show
        self.level = level
        self.section: str | None = None
        self.default = "private" if type.kind == "class" else "public"
        self.lines: list[str] = []
        self.declarer = declarer.__class__(
            is_cplus=declarer.is_cplus, local={**declarer.local, **self._local_names(declarer)}
        )
        self.declarer.left = declarer.left
        self.declarer.opened = declarer.opened + 1
        self.outer = declarer
        self.layout: Layout | None = declarer.layout

    def _local_names(self, declarer: Declarer) -> dict[str, str]:
        """Inside a template its parameters stand for its arguments, and typedefs need no scope."""
        found = {declarer.text(each.to.get(), "", -1, 0): each.name for each in self.body.arguments}
        found.update({each.name: each.name.rpartition("::")[2] for each in self.body.typedefs})
        return found

    def text(self) -> str:
        body = self.body
        data = [each for each in body.members if not _is_table(each)]
        if not (body.members or body.statics or body.methods or body.typedefs or body.variant_parts):
            word = "<incomplete type>" if self.type.is_incomplete else "<no data fields>"
            if body.bases:
                self.lines = []
            else:
                self.lines.append(f"{self._indent()}{word}")
        labelled = self._needs_labels()
        for entry in body.order:
            if isinstance(entry, int):
                member = body.members[entry]
                if not _is_table(member):
                    self._member(member, labelled=labelled)
            else:
                self._static(next(each for each in body.statics if each.name == entry), labelled=labelled)
        for part in body.variant_parts:
            self._variants(part)
        if self.layout is not None:
            return self._laid_out(self.layout)
        methods = [each for each in self._grouped() if not each.is_artificial]
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

    def _laid_out(self, layout: Layout) -> str:
        """The members with their offsets and the total size; without methods, which have none."""
        lines = [*self.lines, *layout.end(self.type, self.level)]
        inside = "".join(f"{line}\n" for line in lines)
        return f"{self._arguments()}{self._bases()}{{\n{inside}{layout.closing(self.level)}}}"

    def _indent(self) -> str:
        blank = "" if self.layout is None else self.layout.blank
        return blank + " " * (self.level + 4)

    def _arguments(self) -> str:
        if not self.body.arguments or self.type.name is None:
            return ""
        shown = ", ".join(
            f"{each.name} = {self.outer.text(each.to.get(), '', -1, 0)}" for each in self.body.arguments
        )
        return f"[with {shown}] "

    def _bases(self) -> str:
        shown = []
        for base in self.body.bases:
            word = f"{base.access or self.default} {'virtual ' if base.is_virtual else ''}"
            shown.append(word + self.outer.text(base.type, "", -1, 0))
        return f": {', '.join(shown)} " if shown else ""

    # --- Access ---------------------------------------------------------------------------------------------------

    def _needs_labels(self) -> bool:
        """Whether it must be said which members are public: where not all have what the keyword implies."""
        body = self.body
        if self.type.kind == "union":
            return False
        parts: list[Member | StaticMember | Method] = [*body.members, *body.statics, *body.methods]
        every = [self._access_of(each) for each in parts]
        return any(each != self.default for each in every)

    def _access_of(self, member: Member | StaticMember | Method) -> str:
        """What a producer added, as the pointer to the table of virtual functions, counts as private."""
        from dwarfgpu.program.types.model import Member as DataMember

        if isinstance(member, DataMember) and member.is_artificial:
            return "private"
        return member.access or self.default

    def _label(self, access: str) -> None:
        if self.section != access:
            self.section = access
            self.lines.append(f"{self._indent()[:-2]}{access}:")

    # --- Members --------------------------------------------------------------------------------------------------

    def _member(self, member: Member, *, labelled: bool, deeper: int = 0) -> None:
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

    def _static(self, member: StaticMember, *, labelled: bool) -> None:
        if labelled:
            self._label(self._access_of(member))
        shown = self.declarer.text(member.type, member.name, self.show - 1, self.level + 4)
        self.lines.append(f"{self._indent()}static {shown};")

    def _variants(self, part: VariantPart) -> None:
        """The members of variants, behind the values of the discriminant that they are for."""
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

    def _grouped(self) -> list[Method]:
        """The methods, those of one name behind each other."""
        groups: dict[str, list[Method]] = {}
        for method in self.body.methods:
            groups.setdefault(method.name, []).append(method)
        return [method for group in groups.values() for method in group]

    def _method(self, method: Method) -> None:
        self._label(method.access or self.default)
        function = method.to.get()
        text = "virtual " if method.is_virtual else "static " if method.is_static else ""
        own = (self.type.name or "").partition("<")[0].rpartition("::")[2]
        converts = method.name.startswith("operator ") and method.name[9:10].isalpha()
        if method.name not in (own, f"~{own}") and not method.name.startswith("~") and not converts:
            text += self.declarer.text(function.result, "", self.show - 1, 0) + " "
        skip = 0 if method.is_static else _hidden(method)
        text += f"{method.name}({self.declarer.parameters(function, skip=skip)})"
        qualifiers = [each for each in ("const", "volatile") if each in method.object_qualifiers]
        self.lines.append(f"{self._indent()}{' '.join([text, *qualifiers])};")


def _is_table(member: Member) -> bool:
    """Whether a member is the pointer to the table of virtual functions, which nobody declared."""
    return member.name is not None and member.name.startswith(("_vptr.", "_vptr$"))


def _hidden(method: Method) -> int:
    """How many parameters a method begins with that nobody wrote: ``this``, and those that constructors are given."""
    if method.die is None:
        return 1
    count = 0
    for child in method.die.children():
        if child.tag != DW_TAG_formal_parameter:
            continue
        found = child.number(DW_AT_artificial)
        if found is None or not found.value:
            break
        count += 1
    return max(count, 1)
