"""Threads with call frame information written in a test: functions by address, registers and memory of the machine."""

import re
from typing import Any

from dwarfgpu import dialects
from dwarfgpu.cfi.activation import OUTSIDE_CODE, CallStack, Information, NoInformation, Thread
from dwarfgpu.cfi.rows import Tables
from dwarfgpu.encoding import Format
from dwarfgpu.expr import asm
from dwarfgpu.expr.instruction import decode
from dwarfgpu.expr.rules import PRESETS
from dwarfgpu.machines.described import DescribedMachine, Region
from dwarfgpu.objfile.call_frames import Fde, FrameSection
from dwarfgpu.targets.resolve import resolve
from tests.builders.frames import FrameBuilder

START, SIZE = 0x1000, 0x100
"""Where the first function begins, and the size of each."""


class Functions:
    """The functions of a program: the n-th is at ``START + n * SIZE``. None has no call frame information."""

    def __init__(
        self, target: Any, functions: list[str | bytes | None], *, signal: int | None = None, size: int = 8
    ) -> None:
        self.target = target
        self.count = len(functions)
        order = target.byte_order
        builder = FrameBuilder("eh_frame", size=size, order=order)
        plain = builder.cie(code=1, data=1)
        special = builder.cie(code=1, data=1, augmentation="zS", augmentation_data=b"\0")
        for index, text in enumerate(functions):
            if text is not None:
                low = START + index * SIZE
                code = self.written(text) if isinstance(text, str) else text
                if index == signal:
                    builder.fde(special, low, SIZE, code, augmentation_data=b"\0")
                else:
                    builder.fde(plain, low, SIZE, code)
        self.section = FrameSection(builder.data, ".eh_frame", byte_order=order, address_size=size)
        self.form = Format(size, byte_order=order)
        self.dialect = dialects.get("llvm-user")

    def written(self, text: str) -> str:
        """Instructions with registers by name, as ``$s33``, and expressions in braces."""
        form = Format(self.target.address_size, byte_order=self.target.byte_order)

        def assembled(found: Any) -> str:
            code = asm.assemble(found[1].replace(",", ";"), dialects.get("llvm-user"), form, target=self.target)
            return code.hex() or "-"

        text = re.sub(r"\{([^}]*)\}", assembled, text)
        return re.sub(r"\$(\w+)", lambda found: str(self.target.register_named(found[1]).number), text)

    def information_at(self, pc: int) -> Information:
        if not START <= pc < START + self.count * SIZE:
            raise NoInformation(OUTSIDE_CODE, f"the address {pc:#x} is not in any loaded code")
        for fde in self.section.entries():
            if isinstance(fde, Fde) and fde.covers(pc):
                row = Tables(None if self.target.name == "generic" else self.target).row_at(fde, pc)
                assert row is not None
                return Information(
                    row, fde.cie.return_address or 0, fde.low,
                    lambda block: decode(
                        block.data, self.dialect, self.form, section=block.section, offset=block.offset
                    ),
                    fde.cie.is_signal_frame)  # fmt: skip
        raise NoInformation("no_unwind_information", f"no unwind information for the address {pc:#x}")


def stack(
    functions: list[str | bytes | None],
    *,
    target: str = "amdgcn-gfx90a",
    registers: dict[str, Any] | None = None,
    memory: dict[tuple[str, int], bytes] | None = None,
    lanes: dict[tuple[str, int, int], bytes] | None = None,
    pc: int = START,
    rules: str | None = None,
    signal: int | None = None,
    max_frames: int = 100,
    **options: Any,
) -> CallStack:
    """A thread that stands in some function."""
    made = resolve(target, **options)
    known = {made.register_named(name).number: value for name, value in (registers or {}).items()}
    regions = [Region(made.space_named(name), at, data) for (name, at), data in (memory or {}).items()]
    regions += [Region(made.space_named(name), at, data, lane) for (name, at, lane), data in (lanes or {}).items()]
    machine = DescribedMachine(made, known, regions)
    code = Functions(made, functions, signal=signal, size=made.address_size)
    thread = Thread(made, PRESETS[rules or made.default_rules], machine, code, register=machine.register)
    return CallStack(thread, pc, max_frames)
