"""A program that was started with a device of its own: the libraries, the server for its calls, and its process."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from dwarfgpu.children import PrivateFolder, end_program, start_program
from dwarfgpu.errors import UsageError
from dwarfgpu.isa.tables import table
from dwarfgpu.runtimes.connection import Server, socket_path
from dwarfgpu.runtimes.hip.hipcc import OF_HIPCC
from dwarfgpu.runtimes.hip.library import install as install_hip
from dwarfgpu.runtimes.hip.program import HipProgram
from dwarfgpu.runtimes.opencl.library import install as install_opencl
from dwarfgpu.runtimes.opencl.program import OpenClProgram
from dwarfgpu.runtimes.triton.program import DEBUG, TritonProgram
from dwarfgpu.targets.resolve import resolve

if TYPE_CHECKING:
    from typing_extensions import Self

    from dwarfgpu.runtimes.calling import CallingProgram

APIS: tuple[type[CallingProgram], ...] = (HipProgram, OpenClProgram, TritonProgram)
"""What programs call; a door says its place here."""
SECONDS = 0.1
"""How often the end of the program is looked for where the system does not tell it."""


def check_system(targets: Sequence[str] = ()) -> None:
    """Refuse other systems, and processors that do not exist or execute nothing here."""
    for target in map(resolve, targets):
        table(target.processor, target.lane_count)
    if sys.platform != "linux":
        raise UsageError("whole programs need Linux", hint="`dwarfgpu run` executes a kernel on any system")


def check_program(words: Sequence[str]) -> None:
    """Refuse a program that cannot be started."""
    check_system()
    if shutil.which(words[0]) is None:
        name, hint = words[0], None
        if name.endswith(".py") and os.path.isfile(name):
            hint = f"`dwarfgpu exec python {name}` runs the script"
        elif os.path.isfile(name):
            hint = f"{name} cannot be executed" if "/" in name else f"./{name} names a program in this folder"
        raise UsageError(f"there is no program {words[0]!r}", kind="no_program", hint=hint)


def _api(number: int) -> type[CallingProgram]:
    if number >= len(APIS):
        raise EOFError(f"there is no API {number}")
    return APIS[number]


class StartedProgram:
    """A program that runs until `close`; ``begin`` makes what stands for it and for each child, by the API.

    What hipcc builds in it is for ``targets``, if there are any. With ``debug`` kernels of Triton keep their variables.
    """

    def __init__(
        self,
        words: Sequence[str],
        begin: Callable[[type[CallingProgram], int], CallingProgram],
        *,
        targets: Sequence[str] = (),
        debug: bool = False,
        is_apart: bool = False,
        output: int | None = None,
    ) -> None:
        check_program(words)
        self._is_closed = False
        self._folder = PrivateFolder()
        try:
            library = self._folder.path / "lib"
            library.mkdir()
            install_hip(library)
            of_loaders = install_opencl(library)
            path = socket_path(self._folder.path)
            self._server = Server(path, lambda number, api: begin(_api(api), number))
            variables = {"DWARFGPU_DEVICE": str(path), "TRITON_DEFAULT_BACKEND": TritonProgram.LIBRARY, **of_loaders}
            for name in ("LD_LIBRARY_PATH", "LIBRARY_PATH"):  # of the loader, and of compilers of the host
                variables[name] = os.pathsep.join(filter(None, (str(library), os.environ.get(name))))
            if debug:
                variables[DEBUG] = "1"
            if targets:
                variables[OF_HIPCC] = ",".join(targets)
            try:
                self.process = start_program(words, variables, is_apart=is_apart, output=output)
            except BaseException:
                self._server.close()
                raise
        except BaseException:
            self._folder.end()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    @property
    def status(self) -> int | None:
        """Its exit status, as shells have it; None while it runs."""
        code = self.process.poll()
        return code if code is None or code >= 0 else 128 - code

    def serve(self) -> bool:
        """Do what its calls ask for, for a while; return whether it is still there."""
        if self.process.poll() is None:
            self._server.serve(SECONDS)
            return True
        return self._server.serve(0)

    def close(self) -> None:
        """End it, and remove what was made for it."""
        if not self._is_closed:
            self._is_closed = True
            end_program(self.process)
            self._server.close()
            self._folder.end()
