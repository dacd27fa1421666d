"""Forms as machine code of the host: each distinct text is compiled once in a process."""

from __future__ import annotations

import ctypes
import hashlib
import threading
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

from dwarfgpu.code_cache import CodeCache
from dwarfgpu.execution.forms import native
from dwarfgpu.execution.forms.dispatcher import DISPATCHER, FUNCTIONS, RUN
from dwarfgpu.execution.forms.rounds import ROUND


class FormLibrary:
    """The compiled forms of a process, by their text."""

    def __init__(self, *, keeps_code: bool) -> None:
        self._code = CodeCache("blocks") if keeps_code else None
        self._functions: dict[str, int] = {}
        self._lock = threading.Lock()
        self._machine = native.JitMachine()
        self._machine.load(DISPATCHER, 1, self._code)  # kernels then run 1.3 times as fast; forms would gain nothing
        for name in FUNCTIONS:
            self._machine.share(name)
        self._called: set[str] = set()
        function = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)
        self.run: Callable[[int], int] = function(self._machine.address(RUN))
        self.round: Callable[[int], int] = function(self._machine.address(ROUND))

    def __len__(self) -> int:
        return len(self._functions)

    @property
    def size(self) -> int:
        """The bytes of machine code."""
        return self._machine.size

    def compile(self, texts: Iterable[tuple[str, dict[str, str]]], level: int = 0) -> None:
        """Compile the forms that are not known, each with what it declares."""
        with self._lock:
            declared: dict[str, str] = {}
            names: dict[str, str] = {}
            for text, own in texts:
                if text not in self._functions:
                    names[text] = f"form_{hashlib.sha256(text.encode()).hexdigest()}"
                    declared |= own
            if names:
                functions = (text.replace("@form(", f"@{name}(", 1) for text, name in names.items())
                self._machine.load("\n".join((*declared.values(), *functions)), level, self._code)
                self._functions |= {text: self._machine.address(name) for text, name in names.items()}

    def let_call(self, functions: str, names: Iterable[str]) -> None:
        """Compile what some forms call, if it is not compiled yet."""
        with self._lock:
            if functions not in self._called:
                self._machine.load(functions, 1, self._code)
                for name in names:
                    self._machine.share(name)
                self._called.add(functions)

    def function(self, text: str) -> int:
        """Return the address of a form that has been compiled."""
        return self._functions[text]


@cache
def library(*, keeps_code: bool) -> Any:
    """Return the forms of the process, with what it keeps on disk, or without."""
    return FormLibrary(keeps_code=keeps_code)
