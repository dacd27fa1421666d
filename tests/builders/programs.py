"""A program that gdb has stopped: its memory, and what is asked of both gdb and the library."""

import os
import re
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from dwarfgpu import dialects
from dwarfgpu.expr.context import Context
from dwarfgpu.expr.instruction import decode
from dwarfgpu.expr.rules import PRESETS
from dwarfgpu.machines.protocol import Backend, memory_unavailable
from dwarfgpu.objfile.info.scopes import is_local, qualified_name
from dwarfgpu.program.code.code_object import opened
from dwarfgpu.program.code.loaded import LoadedCode
from dwarfgpu.program.types.reader import Types
from dwarfgpu.program.values.objects import Object
from dwarfgpu.program.values.storage import ObjectSurroundings, variable_place
from dwarfgpu.render.values import Look, value_text

VARIABLE = 0x34
SECTIONS = (".rodata", ".data", ".data.rel.ro", ".bss", ".text")
_NUMBERED = re.compile(r"^\$\d+ = ", re.MULTILINE)


class Unloaded:
    """Code that was built for a test, and is where it says: what units ask of a file that is loaded."""

    def __init__(self, dialect: str, bias: int = 0) -> None:
        self.dialect = dialects.get(dialect)
        self.bias = bias

    def in_file(self, address: int) -> int:
        return address - self.bias

    def in_program(self, address: int) -> int:
        return address + self.bias

    def expression(self, data: bytes, form: Any, section: str, offset: int) -> Any:
        return decode(data, self.dialect, form, section=section, offset=offset)

    def repaired(self, expression: Any, _attribute: Any) -> Any:
        return expression


class Dumped(Backend):
    """The memory of a process, as stretches of bytes."""

    def __init__(self, stretches: list[tuple[int, bytes]]) -> None:
        self.stretches = stretches

    def read_memory(self, space: Any, address: int, size: int, wave: int, lane: int | None) -> bytes:
        for start, data in self.stretches:
            if start <= address and address + size <= start + len(data):
                return data[address - start : address - start + size]
        raise memory_unavailable(space, address, size)


class Program:
    """A program on disk, and its memory at the beginning of main."""

    def __init__(self, path: Path, tools: Any) -> None:
        self.path = path
        self.gdb = tools("gdb")
        self.demangler = tools("c++filt", "llvm-cxxfilt-22")
        self.file = opened(str(path))
        self.types = Types()
        self.names: dict[str, str] = {}

    def asked(self, commands: Iterable[str]) -> dict[str, str]:
        """What gdb answers to each command when main is reached. The memory is read on the way."""
        sections = [each for each in self.file.image.sections if each.name in SECTIONS and each.size]
        dumps = [
            f"dump binary memory {self.path}.{each.index} {each.address} {each.address + each.size}"
            for each in sections
        ]
        arguments = [self.gdb, "-nx", "-batch", "-ex", "start"]
        for command in dumps:
            arguments += ["-ex", command]
        commands = list(commands)
        for index, command in enumerate(commands):
            arguments += ["-ex", f"echo @@{index}@@\\n", "-ex", command]
        done = subprocess.run(
            [*arguments, str(self.path)],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            env={**os.environ, "LC_ALL": "C.UTF-8"},
            cwd=self.path.parent,
            check=False,
        )
        text = done.stdout.decode("utf-8", "replace")
        found = re.split(r"@@\d+@@\n", text)[1:]
        stretches = []
        for each in sections:
            with open(f"{self.path}.{each.index}", "rb") as stream:  # noqa: PTH123
                stretches.append((each.address, stream.read()))
        target = self.file.target.target
        context = Context(target=target, rules=PRESETS[target.default_rules], backend=Dumped(stretches))
        self.around = ObjectSurroundings(context, LoadedCode(self.file))
        answers = [_NUMBERED.sub("", each.rstrip("\n")) for each in found]
        assert len(answers) == len(commands), text[-2000:]
        return dict(zip(commands, answers, strict=True))

    def variables(self) -> dict[str, Any]:
        """The entries of all variables outside functions that have a location, by the names gdb knows them by."""
        return {
            qualified_name(die) or "": die
            for unit in self.file.dwarf.compile_units()
            for die in unit.dies()
            if die.tag == VARIABLE and die.name and "DW_AT_location" in die and not is_local(die)
        }

    def object(self, die: Any) -> Object:
        place = variable_place(self.around, die)
        assert place is not None
        return Object(self.types.type_of(die), place)

    def symbol(self, address: Any) -> str | None:
        return self.symbol_text(address, demangled=True)

    def symbol_text(self, address: Any, *, demangled: bool) -> str | None:
        found = self.file.image.symbol_at(address.value)
        if found is None or (not found.size and found.type in ("OBJECT", "NOTYPE")):
            return None
        name = found.name
        if demangled or name.startswith("_ZTV"):  # gdb shows the table of virtual functions in one way only
            if name not in self.names:
                done = subprocess.run([self.demangler, name], capture_output=True, text=True, check=True)
                self.names[name] = done.stdout.strip()
            name = self.names[name]
        offset = address.value - found.value
        return f"{name}+{offset}" if offset else name

    def text(self, value: Object, letter: str | None = None) -> str:
        """What the library shows; of addresses by themselves gdb shows the symbol as it is in the file."""
        return value_text(
            value, Look(letter=letter, symbol=lambda each: self.symbol_text(each, demangled=letter != "a"))
        )
