"""The call frame information of loaded code, with that which reading the code finds."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from dwarfgpu.errors import DwarfGpuError

if TYPE_CHECKING:
    from dwarfgpu.cfi.activation import Information
    from dwarfgpu.program.code.frames_by_code import CodeUnwinding
    from dwarfgpu.program.code.loaded import Loaded
    from dwarfgpu.targets.target import Target


def unwinding_of(loaded: Loaded, target: Target) -> LoadedUnwinding:
    """Return the call frame information for waves of a target, which is remembered with the code."""
    found: LoadedUnwinding | None = loaded.unwindings.get(target)
    if found is None:
        found = loaded.unwindings[target] = LoadedUnwinding(loaded, target)
    return found


class LoadedUnwinding:
    """The call frame information of loaded code and, for functions of AMDGPU without it, what reading them finds."""

    def __init__(self, loaded: Loaded, target: Target) -> None:
        self._loaded = loaded
        self._target = target

    def information_at(self, pc: int) -> Information:
        """Return the rules at an address of the running program, or raise an error."""
        try:
            return self._loaded.information_at(pc)
        except DwarfGpuError as error:
            from dwarfgpu.cfi.activation import NO_INFORMATION, OUTSIDE_CODE

            code = self._loaded.at(pc)
            if pc == 0 and error.kind == OUTSIDE_CODE:
                return self._by_code.at_null()
            if error.kind != NO_INFORMATION or code is None or not code.file.is_amdgpu:
                raise
            return self._by_code.information_at(code, pc, error)

    @cached_property
    def _by_code(self) -> CodeUnwinding:
        from dwarfgpu.program.code.frames_by_code import CodeUnwinding

        return CodeUnwinding(self._target, self._loaded.at)
