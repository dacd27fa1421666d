"""Source code in the words of GDB: where variables are, what is declared, lines and instructions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dwarfgpu.expr.instruction import Expression, Instruction, decode, operands_of, registers_of
from dwarfgpu.expr.listing import MAX_DEPTH, lines
from dwarfgpu.expr.listing import text as listing
from dwarfgpu.program.code.repairs import as_written, repairs_of, uses_frame_base
from dwarfgpu.program.types.declaration import safe_text
from dwarfgpu.program.types.model import Array, BaseClass, Enumeration, Member, Struct, Type, known_size, resolved
from dwarfgpu.render.layout import packed, room, shown
from dwarfgpu.render.variables import repaired_head

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from dwarfgpu.program.code.declarations import Declared
    from dwarfgpu.program.code.instructions import ListedInstruction
    from dwarfgpu.program.frames.linespec import CodeSpan, Linespec
    from dwarfgpu.program.frames.variable import Described
    from dwarfgpu.targets.target import Target


_ADDRESSES = ("DW_OP_addr", "DW_OP_addrx", "DW_OP_GNU_addr_index")
_TLS = ("DW_OP_form_tls_address", "DW_OP_GNU_push_tls_address")
_SPACE = ("DW_OP_LLVM_form_aspace_address", "DW_OP_xderef", "DW_OP_swap")


class LocationWords:
    """Says where a variable is, with the frame base of its function and its ``address`` in memory."""

    def __init__(self, target: Target, frame_base: Expression | None = None, address: str | None = None) -> None:
        self.target = target
        self.frame_base = frame_base
        self.address = address

    def text(self, locations: Sequence[Described]) -> str:
        """Return what follows ``is``: one location, or those of a list with their ranges."""
        if len(locations) == 1 and locations[0].range is None:
            return self._place(locations[0])
        texts = []
        for place in locations:
            where = "Elsewhere" if place.range is None else f"Range {place.range[0]:#x}-{place.range[1]:#x}"
            texts.append(f"  {where}: {self._place(place)}\n")
        return f"multi-location:\n{''.join(texts)}" if texts else "optimized out"

    def _place(self, place: Described) -> str:
        """Return a location as the file has it, and below it as it is repaired."""
        notes = []
        if place.repaired is not None and place.expression is not None:
            notes.append(f"{repaired_head(place)}{self._simple(place.expression) or place.repaired}")
        if self.frame_base is not None and place.written is not None and uses_frame_base(place.written):
            repairs = repairs_of(self.frame_base)
            if repairs:
                names = ", ".join(repair.name for repair in repairs)
                notes.append(f"frame base repaired ({names}): {listing(self.frame_base, self.target)}")
        if not notes or place.written is None:
            return self._one(place.written)
        text = self._operations(place.written) if place.repaired is not None else self._one(place.written)
        lines = [line for note in notes for line in packed(note.replace("; ", ";\n").split("\n"), room(4))]
        return "\n".join([text.removesuffix("\n"), *(f"    {line}" for line in lines), ""])

    def _one(self, expression: Expression | None) -> str:
        if expression is None or not expression.data:
            return "optimized out"
        return self._simple(expression) or self._operations(expression)

    def _simple(self, expression: Expression) -> str | None:
        """Return a location that needs no operations to be understood; None for any other."""
        first, *rest = expression.instructions or (None,)
        if first is None or expression.fault is not None:
            return None
        name = first.name
        others = [operation.name for operation in rest]
        if not rest:
            if name.startswith("DW_OP_reg"):
                return f"a variable in {self._register(first)}"
            if name.startswith("DW_OP_breg"):
                offset = first.operands[-1]
                return f"a variable at offset {offset} from base reg {self._register(first)}"
            if name == "DW_OP_fbreg":
                return self._in_frame(int(first.operands[0]))
            if name == "DW_OP_implicit_value":
                return f"the constant {first.operands[0].hex() or 'without bytes'}"
        if name in _ADDRESSES and all(operation in _SPACE or _literal(operation) for operation in others):
            return None if self.address is None else f"static storage at address {self.address}"
        if len(rest) == 1 and others[0] in _TLS:
            offset = first.operands[0] if first.operands else 0
            return f"a thread-local variable at offset {offset:#x} of the thread-local storage"
        if others == ["DW_OP_stack_value"] and name.startswith("DW_OP_lit"):
            return f"the constant {name.removeprefix('DW_OP_lit')}"
        return None

    def _in_frame(self, offset: int) -> str | None:
        base = None if self.frame_base is None else as_written(self.frame_base)
        first = base.instructions[0] if base is not None and len(base.instructions) == 1 else None
        if first is None or not first.name.startswith(("DW_OP_reg", "DW_OP_breg")):
            return None
        start = first.operands[-1] if first.name.startswith("DW_OP_breg") else 0
        return f"a variable at frame base reg {self._register(first)} offset {start}+{offset}"

    def _register(self, instruction: Instruction) -> str:
        number = registers_of(instruction)[0]
        register = self.target.register(number)
        return f"register {number}" if register is None else f"${register.name}"

    def _operations(self, expression: Expression) -> str:
        """Return the operations, each after the offset of its first byte."""
        return "a complex DWARF expression:\n" + "".join(f"{line}\n" for line in self._lines(expression, 0, 0))

    def _lines(self, expression: Expression, start: int, depth: int) -> Iterator[str]:
        """Yield the operations of an expression; ``start`` is its offset in the outermost one."""
        inner = {instruction.offset: _inner(instruction) for instruction in expression.instructions}
        for line in lines(expression, self.target):
            block = inner.get(line.offset) if depth < MAX_DEPTH else None
            text = line.name if block is not None else line.text
            note = line.note
            if note and " " not in note.replace(", ", ""):
                note = ", ".join(f"${register}" for register in note.split(", "))
            head = f"  {start + line.offset:{4 + 2 * depth}d}: {shown(text)}"
            yield f"{head} [{note}]" if note else head
            if block is not None:
                behind = start + line.offset + len(line.bytes) - len(block)
                yield from self._lines(decode(block, expression.dialect, expression.form), behind, depth + 1)


def _inner(instruction: Instruction) -> bytes | None:
    """Return the expression that is an operand; None if there is none."""
    return next((bytes(value) for operand, value in operands_of(instruction) if operand.kind == "expression"), None)


def _literal(name: str) -> bool:
    return name.startswith(("DW_OP_lit", "DW_OP_const")) and name != "DW_OP_constx"


def type_json(type: Type, text: str) -> dict[str, Any]:
    """Return a type with its declaration, its size, and its members, enumerators or dimensions."""
    inner = resolved(type)
    document: dict[str, Any] = {
        "type": safe_text(type),
        "kind": inner.kind if isinstance(inner, Struct) else inner.__class__.__name__.lower(),
        "byte_size": known_size(type),
        "declaration": text,
    }
    if isinstance(inner, Struct) and not inner.is_incomplete:
        document["bases"] = [_part_json(base) for base in inner.body.bases]
        document["members"] = [
            {"name": member.name, **_part_json(member), "bit_size": member.bit_size} for member in inner.body.members
        ]
    elif isinstance(inner, Enumeration):
        document["enumerators"] = {enumerator.name: enumerator.value for enumerator in inner.enumerators}
    elif isinstance(inner, Array):
        document["element"] = safe_text(inner.element)
        document["counts"] = [dimension.length for dimension in inner.dimensions]
    return document


def _part_json(part: Member | BaseClass) -> dict[str, Any]:
    """Return the type of a part of a structure, and where it is; null where an object tells."""
    return {"type": safe_text(part.type), "bit_offset": part.bit_offset, "byte_size": known_size(part.type)}


def declarations(listed: Iterable[Declared]) -> Iterator[str]:
    """Yield declarations by file with their lines: ``File k.c:`` and ``15:<TAB>int add(int, int);``."""
    by_file: dict[str, list[Declared]] = {}
    for declared in listed:
        by_file.setdefault(declared.file or "", []).append(declared)
    known = {declared.text for file, members in by_file.items() if file for declared in members}
    for file, members in sorted(by_file.items(), key=lambda item: (not item[0], item[0])):
        chosen = [declared for declared in members if file or declared.text not in known]
        if chosen:
            yield ""
            if file:  # declarations of type units have no file
                yield f"File {shown(file)}:"
        # what other files can use comes first, as in GDB
        for declared in sorted(chosen, key=lambda each: (each.text.startswith("static "), each.name, each.line or 0)):
            yield f"{'' if declared.line is None else f'{declared.line}:'}\t{shown(declared.text)}"


def symbol_lines(symbols: Iterable[tuple[int, str]], address_size: int) -> Iterator[str]:
    """Yield symbols without debugging information after their addresses."""
    for address, name in symbols:
        yield f"{address:#0{2 + 2 * address_size}x}  {shown(name)}"


# --- Lines of the source ------------------------------------------------------------------------------------------


def numbered_line(number: int, line: str, mark: str = "") -> str:
    """Return a line after its number as GDB writes it, with a mark between them."""
    return f"{number}{mark}\t{line}"


def place_words(place: Linespec) -> str:
    """Return a place as it is written before its lines: ``0x401152 is in add (prog.c:20)``."""
    file = "??" if place.file is None else shown(place.file.name)
    function = shown(place.function or "??")
    if place.is_address and place.address is not None:
        return f"{place.address:#x} is in {function} ({file}:{place.line})."
    return f'file: "{file}", line number: {place.line}, symbol: "{function}"'


# --- Instructions -------------------------------------------------------------------------------------------------


class InstructionLines:
    """Writes instructions; ``named`` returns the function at an address, ``<add+92>``, or None.

    In a listing of one function, addresses only say how far they are from its start.
    """

    def __init__(self, address_size: int, named: Callable[[int], str | None], function: CodeSpan | None = None) -> None:
        self.digits = 2 + 2 * address_size
        self.named = named
        self.function = function

    def head(self, address: int) -> str:
        """Return what is written before an instruction: ``0x0000000000401152 <+0>:``."""
        if self.function is not None:
            return f"{address:#0{self.digits}x} <{address - self.function.entry:+d}>:"
        name = self.named(address)
        if name is not None and not name.endswith(">"):
            name = None
        if name is not None and "+" not in name.rpartition("::")[2]:
            name = f"{name[:-1]}+0>"
        return f"{address:#0{self.digits}x}{'' if name is None else f' {name}'}:"

    def text(self, instruction: ListedInstruction) -> str:
        """Return the instruction, with the name of the function that it refers to."""
        text = shown(instruction.text)
        target = instruction.target
        if target is None:
            return text
        name = self.named(target)
        behind = "" if name is None else f" {name}"
        return f"{text}{behind}" if f"{target:#x}" in text else f"{text}  # {target:#x}{behind}"


def padded_bytes(instructions: Sequence[ListedInstruction]) -> list[str]:
    """Return the bytes of instructions, padded to the same width."""
    texts = [instruction.data.hex(" ") for instruction in instructions]
    width = max(map(len, texts), default=0)
    return [f"{text.ljust(width)}\t" for text in texts]
