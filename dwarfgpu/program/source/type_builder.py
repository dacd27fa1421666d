"""The types that are written in source expressions, made of the types of the program."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dwarfgpu.errors import UsageError
from dwarfgpu.program.source.syntax import (
    ArrayType,
    FunctionType,
    MemberPointerType,
    NamedType,
    PointerType,
    QualifiedType,
)
from dwarfgpu.program.source.type_parser import ARITHMETIC
from dwarfgpu.program.types.model import Array, Dimension, Function, Lazy, MemberPointer, Pointer, Qualified

if TYPE_CHECKING:
    from collections.abc import Callable

    from dwarfgpu.program.source.data_model import DataModel
    from dwarfgpu.program.source.syntax import TypeNode
    from dwarfgpu.program.types.model import Type

    Lookup = Callable[[str, str], "Type | None"]
    SpaceNumber = Callable[[str], "int | None"]


class TypeBuilder:
    """Makes types. ``lookup`` finds one by name and keyword, ``space_number`` an address space by name."""

    def __init__(self, model: DataModel, lookup: Lookup, space_number: SpaceNumber | None = None) -> None:
        self.model = model
        self.lookup = lookup
        self.space_number = space_number

    def build(self, node: TypeNode) -> Type:
        """The type of a tree."""
        if isinstance(node, NamedType):
            return self._named(node)
        if isinstance(node, QualifiedType):
            found = self.build(node.to)
            for word in reversed(node.words):
                found = Qualified(word, Lazy.known(found))
            return found
        if isinstance(node, PointerType):
            size, space = self.model.pointer_size, None
            if node.space is not None:
                space = self._space(node.space)
            return Pointer(node.sign, Lazy.known(self.build(node.to)), size, space)
        if isinstance(node, MemberPointerType):
            target = self.build(node.to)
            owner = self._named(NamedType(node.owner, "", node.position))
            size = self.model.pointer_size * (2 if isinstance(target, Function) else 1)
            return MemberPointer(Lazy.known(target), Lazy.known(owner), size)
        if isinstance(node, ArrayType):
            return self._array(node)
        assert isinstance(node, FunctionType)  # noqa: S101 (there are no others)
        parameters = tuple(Lazy.known(self.build(each)) for each in node.parameters)
        return Function(Lazy.known(self.build(node.result)), Lazy.known(parameters), node.is_variadic)

    def _named(self, node: NamedType) -> Type:
        if not node.keyword:
            words = node.name.split()
            if all(word in ARITHMETIC or word == "complex" for word in words):
                found = self.lookup(node.name, "")
                return self.model.type(node.name) if found is None else found
        found = self.lookup(node.name, node.keyword)
        if found is None:
            kind = node.keyword or "type"
            raise UsageError(f"there is no {kind} named {node.name}", kind="no_type")
        return found

    def _array(self, node: ArrayType) -> Type:
        """Arrays of arrays are one array with several dimensions, as compilers describe them."""
        element = self.build(node.element)
        dimension = Dimension(0, count=node.count)
        if isinstance(element, Array) and not element.is_vector and isinstance(node.element, ArrayType):
            return Array(element.element_type, (dimension, *element.dimensions))
        return Array(Lazy.known(element), (dimension,))

    def _space(self, name: str) -> int:
        number = None if self.space_number is None else self.space_number(name)
        if number is None:
            raise UsageError(f"there is no address space named {name}", kind="no_address_space")
        return number
