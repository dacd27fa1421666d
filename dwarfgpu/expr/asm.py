"""Text to expressions: the assembler.

Operations are separated by ``;`` or line ends. Each is a name and its operands::

    DW_OP_lit1; DW_OP_plus_uconst 4          numbers: decimal, 0x hexadecimal, negative; blanks or commas between
    again: DW_OP_dup; DW_OP_bra @again       a label, and a branch to it (a number is a displacement in bytes)
    DW_OP_implicit_value 01020304            a block in hexadecimal, `0x` before it if you like; an empty one is `0x`
    DW_OP_entry_value (DW_OP_reg5)           a block that is an expression may be written as one
    DW_OP_bregx s32+8                        a register by its name, if the target is given
    # to the end of the line                 a comment

What ``llvm-dwarfdump`` prints is understood too where it says all that is needed: ``DW_OP_LLVM_user`` before a name,
commas between operations, ``DW_OP_breg7 RSP+8``, a block as its length and its bytes. The listing's
``(undecoded: e9 0e)`` are bytes that could not be decoded, so every listing can be read back.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, TypeAlias

from dwarfgpu.encoding import BLOCKS, write_operand
from dwarfgpu.errors import DwarfGpuError, IllFormed, Unsupported
from dwarfgpu.expr import table
from dwarfgpu.expr.instruction import Expression, Instruction, decode, implied_register
from dwarfgpu.immutable import evolve, frozen

if TYPE_CHECKING:
    from dwarfgpu.encoding import Format
    from dwarfgpu.expr.dialect import Dialect
    from dwarfgpu.expr.table import Operation
    from dwarfgpu.targets.target import Target

    Word: TypeAlias = tuple[str, int]
    """A word and its position."""


USER = "DW_OP_LLVM_user"
UNDECODED = "(undecoded:"
"""How the listing begins bytes that are no operation."""


def assemble(text: str, dialect: Dialect, form: Format, *, strict: bool = True, target: Target | None = None) -> bytes:
    """Assemble a program to bytes.

    Without ``strict``, names are understood in any case and without ``DW_OP_``, as a person at a prompt types them.
    An operation that has no number in the dialect is an error of the class `Unsupported`, of the kind ``no_encoding``.

    >>> import dwarfgpu as dg
    >>> dg.assemble("DW_OP_LLVM_push_lane; DW_OP_lit4; DW_OP_mul", dg.dialect("llvm-user"), dg.Format()).hex()
    'e903341e'
    """
    code = _Assembler(text, dialect, form, strict=strict, target=target).assembled()
    if code.missing is not None:
        raise code.missing
    return code.data


def parse(
    text: str, dialect: Dialect, form: Format, *, strict: bool = True, target: Target | None = None
) -> Expression:
    """Parse a program to an expression, even if the dialect has no number for some of its operations.

    Such an operation is laid out as if it had a number of one byte, so that every operation has an offset and every
    branch a displacement; the expression has no data then.

    >>> import dwarfgpu as dg
    >>> dg.parse("DW_OP_lit1; DW_OP_lit2; DW_OP_plus", dg.dialect("llvm-user"), dg.Format()).data.hex()
    '313222'
    """
    code = _Assembler(text, dialect, form, strict=strict, target=target).assembled()
    if code.is_opaque:
        if code.missing is not None:
            raise code.missing
        return decode(code.data, dialect, form)
    return Expression(b"" if code.missing is not None else code.data, code.instructions, form, dialect)


def encode(instruction: Instruction, dialect: Dialect, form: Format) -> bytes:
    """Encode an operation under its own name if the dialect has it, else under an alias."""
    known = _known(instruction.operation, instruction.name, dialect)
    if not known.opcode:
        raise _no_encoding(instruction.name, dialect)
    pairs = zip(known.kinds, instruction.operands, strict=True)
    return known.opcode + b"".join([write_operand(kind, value, form) for kind, value in pairs])


# --- What is known of an operation --------------------------------------------------------------------------------


@frozen
class _Known:
    """The encoding of an operation in one dialect."""

    row: Operation
    name: str
    opcode: bytes
    """Empty where the dialect has no number for it."""
    kinds: tuple[str, ...]


def _known(row: Operation, name: str, dialect: Dialect) -> _Known:
    encoding = dialect.by_name.get(name) or dialect.encoding_of(row)
    if encoding is None:
        return _Known(row, name, b"", tuple(operand.kind for operand in row.operands))
    return _Known(row, name, encoding.opcode, encoding.operand_kinds)


def _no_encoding(name: str, dialect: Dialect, place: str = "") -> Unsupported:
    message = f"{name} has no encoding in the dialect {dialect.name}{place}"
    hint = "it can be evaluated from text, and has bytes in a dialect that gives it a number"
    return Unsupported("no_encoding", message, spec=dialect.source, hint=hint).at(operation=name)  # type: ignore[no-any-return]


@frozen
class _Label:
    """A branch operand that names a position in the program."""

    name: str
    position: int


@frozen
class _Code:
    """The instructions of a program, or of an expression nested in one."""

    instructions: tuple[Instruction, ...]
    data: bytes
    missing: Unsupported | None
    """The error of the first operation without a number, if there is one; ``data`` means nothing then."""
    is_opaque: bool
    """Whether it ends in bytes that are not operations."""


class _Builder:
    """The operations of a program under construction, with their offsets."""

    def __init__(self, form: Format) -> None:
        self.form = form
        self.instructions: list[Instruction] = []
        self.chunks: list[bytes] = []
        self.labels: dict[str, int] = {}
        self.pending: list[tuple[int, _Known, _Label]] = []
        """Branches to labels, which may be defined later."""
        self.missing: Unsupported | None = None
        self.is_opaque = False
        self.size = 0

    def add(self, known: _Known, values: list[Any]) -> None:
        data = known.opcode or b"\0"
        for kind, value in zip(known.kinds, values, strict=True):
            if type(value) is _Label:
                self.pending.append((len(self.instructions), known, value))
                data += write_operand(kind, 0, self.form)
            else:
                data += write_operand(kind, value, self.form)
        end = self.size + len(data)
        self.instructions.append(Instruction(known.row, known.name, tuple(values), self.size, end))
        self.chunks.append(data)
        self.size = end
        self.is_opaque = known.kinds[-1:] == ("tail",)

    def add_raw(self, data: bytes) -> None:
        self.chunks.append(data)
        self.size += len(data)
        self.is_opaque = True

    def resolve(self, index: int, known: _Known, label: _Label, displacement: int) -> None:
        """Set the displacement of a branch."""
        old = self.instructions[index]
        values = tuple([displacement if value is label else value for value in old.operands])
        written = [write_operand(*pair, self.form) for pair in zip(known.kinds, values, strict=True)]
        self.instructions[index] = evolve(old, operands=values)
        self.chunks[index] = (known.opcode or b"\0") + b"".join(written)


# --- The assembler ------------------------------------------------------------------------------------------------


class _Assembler:
    """The assembly of one text. Positions are indices in the text, so that every error can name its position."""

    def __init__(self, text: str, dialect: Dialect, form: Format, *, strict: bool, target: Target | None) -> None:
        self.text = Text(text)
        self.dialect = dialect
        self.form = form
        self.strict = strict
        self.target = target
        self.known: dict[str, _Known] = {}

    def assembled(self, start: int = 0, end: int | None = None) -> _Code:
        """Assemble the whole text, or the part between two parentheses."""
        builder = _Builder(self.form)
        for chunk, position in self.text.statements(start, len(self.text.clean) if end is None else end):
            self.read(builder, list(self.text.words(chunk, position)))
        for index, known, label in builder.pending:
            instruction = builder.instructions[index]
            if label.name not in builder.labels:
                raise self.text.error("bad_branch", f"there is no label {shown(label.name)!r}", label.position)
            displacement = builder.labels[label.name] - instruction.end
            if not -0x8000 <= displacement < 0x8000:
                message = f"the label {shown(label.name)!r} is {displacement} bytes away, a branch reaches 32767"
                raise self.text.error("bad_branch", message, label.position).at(operation=instruction.name)
            builder.resolve(index, known, label, displacement)
        return _Code(tuple(builder.instructions), b"".join(builder.chunks), builder.missing, builder.is_opaque)

    def read(self, builder: _Builder, words: list[Word]) -> None:
        """Read one statement, word by word."""
        while words and words[0][0].endswith(":"):
            word, position = words.pop(0)
            self.define(builder, word[:-1], position)
        if not words:
            return
        name, position = words.pop(0)
        if builder.is_opaque:
            raise self.text.error("bad_operand", "nothing can follow undecoded bytes", position)
        if name.startswith(UNDECODED):
            if words:
                raise self.text.error("bad_operand", f"{shown(words[0][0])} must be a statement by itself", words[0][1])
            builder.add_raw(self.hexadecimal(name[len(UNDECODED) : -1], position))
            return
        if name == USER:
            if not words or not words[0][0].startswith("DW_OP_LLVM_"):
                message = f"{USER} is a prefix, which the name of an operation follows"
                raise self.text.error("unknown_operation", message, position)
            name, position = words.pop(0)
        known = self.find(name, position)
        try:
            builder.add(known, self.values(known, words, position))
        except DwarfGpuError as error:
            raise error.at(operation=known.name) from None
        if not known.opcode and builder.missing is None:
            builder.missing = _no_encoding(known.name, self.dialect, f", {self.text.place(position)}")

    def define(self, builder: _Builder, label: str, position: int) -> None:
        if not label.replace(".", "_").isidentifier():
            raise self.text.error("bad_branch", f"{shown(label)!r} cannot be a label", position)
        if label in builder.labels:
            raise self.text.error("bad_branch", f"the label {shown(label)!r} is defined twice", position)
        builder.labels[label] = builder.size

    def find(self, word: str, position: int) -> _Known:
        """Return how the operation with a name is written."""
        known = self.known.get(word)
        if known is None:
            name = word if self.strict else folded(word)
            row = table.find(name)
            if row is None:
                message = f"{shown(word)} is not an operation"
                error = self.text.error("unknown_operation", message, position, hint=similar(word))
                raise error.at(operation=shown(word))
            known = self.known[word] = _known(row, name, self.dialect)
        return known

    # --- Operands -----------------------------------------------------------------------------------------------

    def values(self, known: _Known, words: list[Word], position: int) -> list[Any]:
        """Parse the operands of an operation, and check that each fits its encoding."""
        kinds = known.kinds
        words = self.grouped(known, self.separated(known, words))
        if len(words) != len(kinds):
            count = f"{len(kinds)} operands" if len(kinds) != 1 else "1 operand"
            where = words[len(kinds)][1] if len(words) > len(kinds) else position
            raise self.text.error("bad_operand", f"{known.name} has {count}, found {len(words)}", where)
        values: list[Any] = []
        for operand, kind, (word, where) in zip(known.row.operands, kinds, words, strict=True):
            value = self.value(kind, operand.name, word, where)
            if type(value) is not _Label:
                try:
                    write_operand(kind, value, self.form)
                except DwarfGpuError as error:
                    message = f"{error.message}, {self.text.place(where)}"
                    raise type(error)(error.kind, message, spec=error.spec, hint=error.hint) from None
            values.append(value)
        return values

    def separated(self, known: _Known, words: list[Word]) -> list[Word]:
        """Split ``register+displacement`` words, and remove a register that the name of the operation implies."""
        implied = implied_register(known.row)
        takes_register = bool(known.row.operands) and known.row.operands[0].name == "R"
        if not words or (implied is None and not takes_register):
            return words
        word, position = words[0]
        at = max(word.find("+", 1), word.find("-", 1))
        if at > 0:  # s32+8
            words = [(word[:at], position), (word[at:], position + at), *words[1:]]
        if implied is None or len(words) != len(known.kinds) + 1:
            return words
        if self.register(*words[0]) != implied:
            message = f"{known.name} means register {implied}, not {shown(words[0][0])}"
            raise self.text.error("bad_operand", message, position)
        return words[1:]

    def grouped(self, known: _Known, words: list[Word]) -> list[Word]:
        """Join the words that make one operand."""
        kinds = known.kinds
        last = len(kinds) - 1
        if not kinds or len(words) <= len(kinds):
            return words
        if kinds[last] == "encoded" and len(words) == len(kinds) + 1:
            return [*words[:last], (f"{words[last][0]} {words[last + 1][0]}", words[last][1])]
        if kinds[last] not in BLOCKS:
            return words
        # a block as llvm-dwarfdump prints it, 0x2 0x01 0x02: its length and its bytes
        (count, position), *rest = words[last:]
        is_counted = all(word[:2] == "0x" and len(word) == 4 for word, _ in rest)
        if not is_counted or self.number(count, position) != len(rest):
            message = f"a block is one word, found {len(rest) + 1}"
            raise self.text.error("bad_operand", message, position, hint="write its bytes together: 0102")
        return [*words[:last], ("".join([word[2:] for word, _ in rest]), position)]

    def value(self, kind: str, name: str, word: str, position: int) -> Any:
        if kind in BLOCKS:
            if kind == "expression" and word.startswith("("):
                return self.nested(position + 1, position + len(word) - 1)
            return self.hexadecimal(word, position)
        if kind == "branch" and word.startswith("@"):
            return _Label(word[1:], position)
        if kind == "encoded":
            pair = tuple([self.number(part, position) for part in word.split()])
            if len(pair) != 2 or not 0 <= pair[0] <= 0xFF:
                message = "an encoded pointer is two numbers: its encoding (1 byte), and the pointer"
                raise self.text.error("bad_operand", message, position)
            return pair
        return self.register(word, position) if name == "R" else self.number(word, position)

    def number(self, word: str, position: int) -> int:
        try:
            return int(word, 0)
        except ValueError:
            raise self.text.error("bad_operand", f"{shown(word)} is not a number", position) from None

    def register(self, word: str, position: int) -> int:
        """Parse a register, given by number or by name."""
        if word[0].isdigit() or word[0] in "+-":
            return self.number(word, position)
        if self.target is None:
            message = f"the name {shown(word)} means a register only on a target"
            hint = "name the target, or give the DWARF number of the register"
            raise self.text.error("bad_operand", message, position, hint=hint)
        register = self.target.register_named(word)
        if register is None:
            raise self.text.error("bad_operand", f"{self.target.name} has no register {shown(word)}", position)
        return register.number

    def hexadecimal(self, word: str, position: int) -> bytes:
        try:
            return bytes.fromhex(word[2:] if word[:2] in ("0x", "0X") else word)
        except ValueError:
            message = f"{shown(word)} is not a block, which is two hexadecimal digits for each byte"
            raise self.text.error("bad_operand", message, position) from None

    def nested(self, start: int, end: int) -> bytes:
        """Assemble an expression in parentheses."""
        code = self.assembled(start, end)
        if code.missing is not None:
            raise code.missing
        return code.data


# --- Programs as text ---------------------------------------------------------------------------------------------
# Positions are indices in the text. Comments and commas are replaced by blanks and semicolons of the same
# length before anything is split, so that a position in the clean text is one in the text that the user
# wrote.

PREFIX = "DW_OP_"
MAX_DEPTH = 64
"""How deep expressions may be nested in text; no evaluation nests deeper."""

OPERATION_SPEC = "DWARF 5, 7.7.1"
BRANCH_SPEC = "A.2.5.4.2 (3)"


class Text:
    """The text of a program."""

    def __init__(self, original: str) -> None:
        self.original = original
        self.clean = _without_commas(_without_comments(original).replace("\n", ";"))
        """Statements between semicolons, words between blanks."""
        self.closing: dict[int, int] = {}
        """The position of the parenthesis that closes the one at a position."""
        if "(" in self.clean or ")" in self.clean:
            opened: list[int] = []
            for index, mark in enumerate(self.clean):
                if mark == "(":
                    opened.append(index)
                    if len(opened) > MAX_DEPTH:
                        raise self.error("bad_operand", f"expressions are nested more than {MAX_DEPTH} deep", index)
                elif mark == ")":
                    if not opened:
                        raise self.error("bad_operand", "a parenthesis is closed that is not open", index)
                    self.closing[opened.pop()] = index
            if opened:
                raise self.error("bad_operand", "a parenthesis is not closed", opened[-1])

    def statements(self, start: int, end: int) -> Iterator[Word]:
        """Yield the statements between two positions, each with its parentheses and all in them."""
        clean = self.clean
        position = start
        if not self.closing:
            for chunk in clean[start:end].split(";"):
                yield chunk, position
                position += len(chunk) + 1
            return
        opening = clean.find("(", start, end)
        index = clean.find(";", start, end)
        while index >= 0:
            while 0 <= opening < index:
                index = clean.find(";", self.closing[opening], end)
                opening = clean.find("(", self.closing[opening], end)
                if index < 0:
                    break
            else:
                yield clean[position:index], position
                position = index + 1
                index = clean.find(";", position, end)
        yield clean[position:end], position

    def words(self, chunk: str, position: int) -> Iterator[Word]:
        """Yield the words of a statement. A parenthesis and all in it is one word, and a colon ends a word."""
        start = -1
        index = 0
        while index < len(chunk):
            mark = chunk[index]
            is_blank = mark.isspace()
            if start >= 0 and (is_blank or mark == "("):
                yield chunk[start:index], position + start
                start = -1
            if start < 0 and not is_blank:
                start = index
            if mark == "(":
                index = self.closing[position + index] - position
            if mark in "(:":
                yield chunk[start : index + 1], position + start
                start = -1
            index += 1
        if start >= 0:
            yield chunk[start:], position + start

    def error(self, kind: str, message: str, position: int, *, hint: str | None = None) -> IllFormed:
        spec = BRANCH_SPEC if kind == "bad_branch" else OPERATION_SPEC
        return IllFormed(kind, f"{message}, {self.place(position)}", spec=spec, hint=hint)

    def place(self, position: int) -> str:
        """Describe a position: the line, if there are several, and the column, both from 1."""
        before = self.original[:position]
        column = f"column {position - before.rfind(chr(10))}"
        return f"line {before.count(chr(10)) + 1}, {column}" if "\n" in self.original else column


def shown(word: str) -> str:
    """Return a word of the text for a message, shortened if it is long."""
    return word if len(word) <= 40 else word[:37] + "..."


def folded(word: str) -> str:
    """Return the name that a word means in any case and without its prefix, or the word if it names nothing."""
    wanted = word.upper()
    for name in table.names():
        if name.upper() in (wanted, PREFIX + wanted):
            return name
    return word


def similar(word: str) -> str | None:
    """Return a hint with names similar to a word that is not an operation."""
    import difflib

    name = folded(word)
    if name != word:
        return f"write {name}"
    near = difflib.get_close_matches(word[:64], table.names())
    return f"names like it: {', '.join(near)}" if near else None


def _without_comments(text: str) -> str:
    if "#" not in text:
        return text
    lines = [line.partition("#") for line in text.split("\n")]
    return "\n".join([code + " " * (len(mark) + len(comment)) for code, mark, comment in lines])


def _without_commas(text: str) -> str:
    """Replace commas between operations by semicolons, and those between operands by blanks."""
    if "," not in text:
        return text
    first, *rest = text.split(",")
    marks = [";" if part.lstrip()[: len(PREFIX)].upper() == PREFIX else " " for part in rest]
    return first + "".join(map("".join, zip(marks, rest, strict=True)))
