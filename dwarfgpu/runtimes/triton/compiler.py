"""What Triton finds as the compiler of this package: none, since the one for AMD compiles for every processor.

Triton loads it by the name in the group ``triton.backends``, and takes the compiler that supports the target.
"""

from __future__ import annotations

from typing import Any

import triton.backends.amd.compiler as amd


class NoCompiler(amd.HIPBackend):  # type: ignore[misc]
    """A compiler for no target."""

    @staticmethod
    def supports_target(_target: Any) -> bool:
        return False
