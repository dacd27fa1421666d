"""What random kernels compute on the host: they are compiled for it, and called in this process.

Only sources that `random_sources` has made are executed: they stay within their buffers.
"""

from __future__ import annotations

import ctypes

from dwarfgpu.children import PrivateFolder
from dwarfgpu.compilers.clang import find_clang
from dwarfgpu.compilers.sources import LIMIT
from dwarfgpu.errors import DwarfGpuError, Unsupported
from dwarfgpu.execution.launch.made_arguments import GROUP
from hunt.random_sources import OPTIONS

ITEM = "dwarfgpu_item"
ITEMS = 8
"""The work-items of a launch: as few as diverge in many ways, since each of their values is compared."""
HEAD = f"unsigned {ITEM};\n#define __builtin_amdgcn_workitem_id_x() {ITEM}\n"
WORDS = ("-x", "cl", "-cl-std=CL2.0", "--target=x86_64-pc-linux-gnu", "-O0", "-fPIC", "-shared", "-w", *OPTIONS)


class HostKernels:
    """A random source for the host."""

    def __init__(self, text: str) -> None:
        clang = find_clang()
        with PrivateFolder() as folder:
            source, path = folder.path / "host.cl", folder.path / "host.so"
            source.write_text(HEAD + text, encoding="utf-8")
            status, messages = clang.run([*WORDS, str(source), "-o", str(path)], folder, limit=LIMIT)
            if status:
                first = messages.strip().split("\n")[0]
                raise Unsupported("host", f"{clang.path} compiles nothing for this computer: {first}")
            self._library = ctypes.CDLL(str(path))
        self._item = ctypes.c_uint32.in_dll(self._library, ITEM)

    def run(self, kernel: str, buffers: dict[str, bytes]) -> dict[str, bytes]:
        """Return what is in the buffers at the end; the integer behind them is that of `made_arguments`."""
        memory = {name: ctypes.create_string_buffer(content, len(content)) for name, content in buffers.items()}
        function = getattr(self._library, kernel)
        function.restype = None
        for item in range(ITEMS):
            self._item.value = item
            function(*(ctypes.c_void_p(ctypes.addressof(each)) for each in memory.values()), ctypes.c_int(GROUP))
        return {name: each.raw for name, each in memory.items()}


def host_kernels(text: str) -> HostKernels | None:
    """Return a random source for the host; None where nothing can be compiled for it."""
    try:
        return HostKernels(text)
    except (DwarfGpuError, OSError):
        return None
