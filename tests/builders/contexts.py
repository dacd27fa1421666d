"""A context in which everything is known: a unit, a frame that has called itself, and memory full of zeros."""

from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.expr import locations, types
from dwarfgpu.expr.context import Context, DieInfo
from dwarfgpu.expr.evaluation import evaluate
from dwarfgpu.expr.locations import Memory, Register
from dwarfgpu.expr.rules import AMD
from dwarfgpu.expr.types import Value
from dwarfgpu.lanes import LaneSet
from dwarfgpu.machines.protocol import Backend
from dwarfgpu.targets.resolve import resolve

TARGET = resolve("generic")
UNSIGNED64 = types.unsigned(64)


class Unit:
    """A unit with one base type at every offset, and entries without attributes."""

    reference_size = 4

    def __init__(self, kind=UNSIGNED64):
        self.kind = kind

    def base_type(self, offset):
        return self.kind

    def address(self, index):
        return index

    def relocated(self, address):
        return address

    def die(self, reference):
        return DieInfo(self)


class Frame:
    """The innermost frame, which has called itself."""

    def __init__(self, target=TARGET):
        self.target = target

    def register(self, number, lanes):
        return locations.at(Register(self.target.register(number)))

    def entry_register(self, number, lanes):
        return self.register(number, lanes)

    def cfa(self, lanes):
        return locations.at(Memory(self.target.default_space), 0x800)

    def frame_base(self, lanes):
        return self.cfa(lanes)

    def caller(self):
        return self

    def entry_value(self, expression, lanes):
        return None

    def entry_parameter(self, die, lanes):
        return Value(types.generic(8), 0)

    def thread_local(self, offset, lanes, unit):
        return self.cfa(lanes)


class Zeros(Backend):
    """Memory and registers full of zeros."""

    def read_memory(self, space, address, size, wave, lane):
        return bytes(size)

    def read_register(self, register, wave, lane):
        return bytes(register.bit_size // 8)


def outcome(code, rules=AMD, backend=None, **changes):
    """Return the result, or the error, in a context in which every element is specified, with some changed."""
    elements = {
        "lanes": LaneSet.one(0),   "iteration": 0,            "frame": Frame(),          "unit": Unit(),
        "object": locations.at(Memory(TARGET.default_space)), "pc": 0}  # fmt: skip
    return evaluate(code, Context(TARGET, rules, backend or Zeros(), **{**elements, **changes})).of(0)


def kind_of(found):
    return found.kind if isinstance(found, DwarfGpuError) else "ok"
