"""Forms as machine code of the host: each distinct text is compiled once in a process."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

from dwarfgpu.execution.compiled import native
from dwarfgpu.execution.forms.dispatcher import FUNCTIONS, RUN, dispatcher


class FormLibrary:
    """The compiled forms of a process, by their text."""

    def __init__(self) -> None:
        self._functions: dict[str, int] = {}
        self._lock = threading.Lock()
        self._machine = native.JitMachine()
        self._machine.load(dispatcher(), level=1)  # kernels then run 1.3 times as fast; forms would gain nothing
        for name in FUNCTIONS:
            self._machine.share(name)
        self.run: Callable[[int], int] = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)(self._machine.address(RUN))

    def __len__(self) -> int:
        return len(self._functions)

    @property
    def size(self) -> int:
        """The bytes of machine code."""
        return self._machine.size

    def compile(self, texts: Iterable[tuple[str, dict[str, str]]]) -> None:
        """Compile the forms that are not known, each with what it declares."""
        with self._lock:
            self._compile(texts)

    def _compile(self, texts: Iterable[tuple[str, dict[str, str]]]) -> None:
        declared: dict[str, str] = {}
        bodies: dict[str, str] = {}
        for text, own in texts:
            if text not in self._functions and text not in bodies:
                bodies[text] = f"form{len(self._functions) + len(bodies)}"
                declared |= own
        if not bodies:
            return
        functions = (text.replace("@form(", f"@{name}(", 1) for text, name in bodies.items())
        self._machine.load("\n".join((*declared.values(), *functions)))
        for text, name in bodies.items():
            self._functions[text] = self._machine.address(name)

    def stretch(self, text: str, declared: dict[str, str]) -> int:
        """Return the address of a function that runs often enough to be optimized."""
        with self._lock:
            if text not in self._functions:
                name = f"form{len(self._functions)}"
                function = text.replace("@form(", f"@{name}(", 1)
                self._machine.load("\n".join((*declared.values(), function)), level=1)
                self._functions[text] = self._machine.address(name)
            return self._functions[text]

    def function(self, text: str) -> int:
        """Return the address of a form that has been compiled."""
        return self._functions[text]


@cache
def library() -> Any:
    """Return the forms of the process."""
    return FormLibrary()
