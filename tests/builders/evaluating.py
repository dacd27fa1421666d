"""A small evaluator of source expressions for one lane: what the tests of arithmetic need to ask gdb the same."""

import re
from typing import Any

from dwarfgpu.errors import UsageError
from dwarfgpu.expr import locations
from dwarfgpu.expr.storages import Implicit
from dwarfgpu.program.language import syntax as s
from dwarfgpu.program.language.arithmetic import Arithmetic, DataModel, ScalarOperand, converted, is_true, loaded
from dwarfgpu.program.language.parser import TypeBuilder, parse
from dwarfgpu.program.types.model import Array, Function, Pointer, byte_size, resolved
from dwarfgpu.program.types.reader import find_type, is_cplus
from dwarfgpu.program.values.objects import Object
from dwarfgpu.program.values.scalars import scalar_of
from dwarfgpu.program.values.storage import Address


class Evaluator:
    def __init__(self, program: Any) -> None:
        self.program = program
        self.compute = Arithmetic(DataModel(is_cplus=is_cplus(next(iter(program.file.dwarf.compile_units())))))
        self.index = program.file.dwarf.index
        self.builder = TypeBuilder(self.compute.model, self.lookup)

    def lookup(self, name: str, keyword: str) -> Any:
        return find_type(self.program.file.dwarf, self.program.types, name, keyword)

    def is_type(self, name: str) -> bool:
        return self.lookup(name, "") is not None

    def text(self, expression: str, letter: str | None = None) -> str:
        found = self.value(parse(expression, self.is_type))
        if isinstance(found, ScalarOperand):
            found = self.object(found)
        return self.program.text(found, letter)

    def object(self, operand: ScalarOperand) -> Object:
        size = 8 * byte_size(operand.type)
        scalar = scalar_of(operand.type)
        bits = operand.bits if scalar is None else scalar.stored(operand.bits, "little")
        return Object(operand.type, self.program.around.located(locations.at(Implicit(bits, size))))

    def operand(self, node: Any) -> ScalarOperand:
        return self.loaded(self.value(node))

    def loaded(self, found: Any) -> ScalarOperand:
        if isinstance(found, ScalarOperand):
            return found
        found = found.target()
        inner = resolved(found.type)
        if isinstance(inner, Function) or (isinstance(inner, Array) and not inner.is_vector):
            return ScalarOperand(self.compute.decayed(found.type), found.address.value)
        return loaded(found)

    def value(self, node: Any) -> Any:
        name = re.sub(r"(?<!^)([A-Z])", r"_\1", type(node).__name__).lower()
        return getattr(self, f"on_{name}")(node)

    def on_integer(self, node: Any) -> Any:
        return self.compute.literal(node)

    on_float = on_character = on_boolean = on_null = on_integer

    def on_string_literal(self, node: Any) -> Any:
        data = node.value.encode() + b"\0"
        kind = self.compute.repeated(self.compute.model.base("char"), len(data))
        bits = int.from_bytes(data, "little")
        return Object(kind, self.program.around.located(locations.at(Implicit(bits, 8 * len(data)))))

    def on_name(self, node: Any) -> Any:
        for entry in self.index.find(node.text):
            if entry.kind == "variable":
                return self.program.object(entry.die)
            if entry.kind == "function":
                kind = self.program.types.of(entry.die)
                return Object(kind, self.program.around.memory(Address(None, entry.die.ranges()[0][0])))
        for unit in self.program.file.dwarf.compile_units():
            for die in unit.dies():
                if die.tag == 0x04:
                    kind = self.program.types.of(die)
                    for each in kind.enumerators:
                        if node.text in (each.name, kind.prefix + each.name):
                            return ScalarOperand(kind, each.value & (1 << 8 * byte_size(kind)) - 1)
        raise UsageError(f"there is no {node.text}")

    def on_member_access(self, node: Any) -> Any:
        found = self.value(node.operand)
        if isinstance(found, ScalarOperand):
            found = self.object(found)
        found = found.target()
        if node.is_arrow:
            found = found.dereferenced()
        return found.member(node.name[-1])

    def on_member_pointer_access(self, node: Any) -> Any:
        found = self.value(node.operand).target()
        return (found.dereferenced() if node.is_arrow else found).through(self.value(node.pointer))

    def on_subscript(self, node: Any) -> Any:
        found = self.value(node.operand)
        index = self.operand(node.index)
        if isinstance(found, ScalarOperand) or isinstance(resolved(found.type), Pointer):
            return self.pointed(self.compute.binary("+", self.loaded(found), index))
        return found.target().element(int(index.number()))

    def pointed(self, pointer: ScalarOperand) -> Object:
        return self.object(pointer).dereferenced()

    def on_unary(self, node: Any) -> Any:
        if node.operator == "*":
            found = self.value(node.operand)
            if isinstance(found, Object) and isinstance(resolved(found.type), Function):
                return found
            return self.pointed(self.loaded(found))
        if node.operator == "&":
            found = self.value(node.operand).target()
            return ScalarOperand(self.compute.model.pointer_to(found.type), found.address.value)
        return self.compute.unary(node.operator, self.operand(node.operand))

    def on_binary(self, node: Any) -> Any:
        left = self.operand(node.left)
        if node.operator in ("&&", "||"):
            if bool(is_true(left)) is (node.operator == "||"):
                return ScalarOperand(self.compute.model.truth, int(node.operator == "||"))
            return self.compute.logical(node.operator, left, self.operand(node.right))
        return self.compute.binary(node.operator, left, self.operand(node.right))

    def on_conditional(self, node: Any) -> Any:
        return self.value(node.yes if is_true(self.operand(node.condition)) else node.no)

    def on_cast(self, node: Any) -> Any:
        kind = self.builder.build(node.type)
        return self.compute.cast(self.operand(node.operand), kind)

    def on_size_of(self, node: Any) -> Any:
        if isinstance(node.operand, s.TypeNode):
            return self.compute.size(self.builder.build(node.operand))
        found = self.value(node.operand)
        return self.compute.size(found.type if isinstance(found, ScalarOperand) else found.target().type)

    def on_repeat(self, node: Any) -> Any:
        found = self.value(node.operand)
        return Object(self.compute.repeated(found.type, int(self.operand(node.count).number())), found.place)

    def on_at(self, node: Any) -> Any:
        address = converted(self.operand(node.address), self.compute.model.base("unsigned long"))
        return Object(self.builder.build(node.type), self.program.around.memory(Address(None, address.bits)))
