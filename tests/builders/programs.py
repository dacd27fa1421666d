"""A program that gdb has stopped: its memory, and what is asked of both gdb and the library."""

import os
import re
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import dwarfgpu
from dwarfgpu import dialects
from dwarfgpu.expr.instruction import decode
from dwarfgpu.machines.protocol import Backend, memory_unavailable
from dwarfgpu.objfile.info.scopes import is_local, qualified_name
from dwarfgpu.program.code.code_object import opened
from dwarfgpu.program.values.objects import Object
from dwarfgpu.render.values import Look, value_text

VARIABLE = 0x34
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
        self.names: dict[str, str] = {}

    def asked(self, commands: Iterable[str]) -> dict[str, str]:
        """What gdb answers to each command when main is reached. A core file is written on the way."""
        core = self.path.with_suffix(".core")
        arguments = [self.gdb, "-nx", "-batch", "-ex", "start", "-ex", f"generate-core-file {core}"]
        commands = list(commands)
        for index, command in enumerate(commands):
            arguments += ["-ex", f"echo @@{index}@@\\n", "-ex", command]
        done = subprocess.run(
            [*arguments, str(self.path)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
            env={**os.environ, "LC_ALL": "C.UTF-8"}, cwd=self.path.parent, check=False)  # fmt: skip
        text = done.stdout.decode("utf-8", "replace")
        found = re.split(r"@@\d+@@\n", text)[1:]
        self.frame = dwarfgpu.open(str(self.path)).attach(str(core))[0].frame()
        answers = [_NUMBERED.sub("", each.rstrip("\n")) for each in found]
        assert len(answers) == len(commands), text[-2000:]
        return dict(zip(commands, answers, strict=True))

    def variables(self) -> list[str]:
        """The names by which gdb knows the variables outside functions that have a location."""
        return [
            qualified_name(die)
            for unit in self.file.dwarf.compile_units()
            for die in unit.dies()
            if die.tag == VARIABLE and die.name and "DW_AT_location" in die and not is_local(die)
        ]

    def value(self, expression: str) -> Object:
        """The value of an expression at the beginning of main."""
        return self.frame.expression(expression).object()

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
