"""What Triton writes beside a code object about the launch of its kernel: ``NAME.json`` beside ``NAME.hsaco``."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path

from dwarfgpu.errors import DwarfGpuError, UsageError
from dwarfgpu.immutable import frozen
from dwarfgpu.program.code.code_object import CodeObject, check_has_kernels
from dwarfgpu.regular_files import read_input

MAX_SIZE = 1 << 20
"""Of the file; Triton writes some kilobytes."""
_ARGUMENT = re.compile(r"%(\w+): (!?[\w.]+(?:<[^>]*>)*)")
MOST = 1 << 24
"""Larger numbers are no sizes of a work-group."""


@frozen
class TritonLaunch:
    """How Triton launches a kernel."""

    path: str
    kernel: str
    local_size: int
    """The bytes of local memory of a work-group, which the metadata of the kernel does not have."""
    work_items: int
    """Of a work-group; 0 if it is not known."""
    added: int
    """The pointers to scratch memory that follow the arguments of the source."""
    arguments: tuple[str, ...]
    """The arguments of the source with their types, as ``NAME.ttir`` has them; empty without that file."""

    def name_arguments(self, file: CodeObject) -> None:
        """Give the arguments of its kernel the names of the source, which its metadata does not have."""
        known = [kernel.metadata.args for kernel in file.kernels.kernels if kernel.metadata is not None]
        if [len(args) for args in known] == [len(self.arguments) + self.added]:
            file.kernels = file.kernels.with_arguments([(each.partition(" ")[0], None) for each in self.arguments])


def triton_launch(file: CodeObject) -> TritonLaunch | None:
    """Return how Triton launches a kernel of a code object; None where no file beside it says so."""
    code = file.image.path
    if code is None or not code.endswith(".hsaco"):
        return None
    path = Path(code).with_suffix(".json")
    if not path.is_file():
        return None
    try:
        facts = json.loads(read_input(str(path), MAX_SIZE))
    except (DwarfGpuError, ValueError, RecursionError):
        return None
    if not isinstance(facts, dict) or not file.kernels.named(str(facts.get("name"))):
        return None
    shared, warps = facts.get("shared"), facts.get("num_warps")
    lanes = facts.get("threads_per_warp", facts.get("warp_size"))
    added = sum(f"{kind}_scratch_size" in facts for kind in ("global", "profile"))
    kernel = str(facts["name"])
    arguments = _arguments(path.with_suffix(".ttir"), kernel)
    return TritonLaunch(str(path), kernel, _size(shared), _size(warps) * _size(lanes), added, arguments)


def _arguments(path: Path, kernel: str) -> tuple[str, ...]:
    """Return the arguments of a function in Triton's intermediate code, such as ``x_ptr (!tt.ptr<f32>)``."""
    try:
        text = read_input(str(path), MAX_SIZE).decode(errors="replace") if path.is_file() else ""
    except DwarfGpuError:
        return ()
    signature = re.search(rf"tt\.func public @{re.escape(kernel)}\((.*)", text)
    found = _ARGUMENT.findall(signature[1]) if signature else ()
    return tuple(f"{name} ({kind})" for name, kind in found)


def kernel_and_arguments(file: CodeObject, words: Sequence[str]) -> tuple[str, list[str]]:
    """Return the kernel that words begin with, and its arguments; all are arguments where Triton names the kernel."""
    check_has_kernels(file)
    triton = triton_launch(file)
    if triton is not None:
        named = file.kernels.named(words[0]) if words else []
        return triton.kernel, list(words[1:] if named else words)
    if not words or re.match(r"[A-Za-z_]\w*=", words[0]):
        before = f" before {words[0][:40]}" if words else ""
        known = ", ".join(file.kernel_names()[:12]) or "no kernels"
        raise UsageError(f"the name of a kernel is missing{before}", hint=f"the file has {known}")
    return words[0], list(words[1:])


def _size(number: object) -> int:
    return number if isinstance(number, int) and number is not True and 0 <= number < MOST else 0
