"""The few instructions of x86-64 that unwinding and calls are checked by, decided by their bytes alone."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dwarfgpu.objfile.elf.image import Image

_CALLS = re.compile(
    rb"""
    \xe8.{4} | \xe8.{4}\x90                                   # call; linkers fill up with a nop
    | \xff[\x10-\x13\x16\x17\xd0-\xd7] | \xff\x14. | \xff[\x50-\x53\x55-\x57]. | \xff\x54..
    | \xff[\x15\x90-\x93\x95-\x97].{4} | \xff[\x14\x94].{5}  # call through a register or memory
    | \x48(?:\x8d\x80|\x03\x05).{4} | \x64\x48\x8b\x04\x25.{4}  # what linkers make of __tls_get_addr
    | \x0f\x05 | \xc5\xf8\x77  # syscall; vzeroupper, for which GCC takes the call behind it
    """,
    re.VERBOSE | re.DOTALL,
)
"""What ends where a call returns to."""
_SIMPLE = re.compile(
    rb"""
    (?P<push>[\x50-\x57] | \x41[\x50-\x57]) | (?P<pop>[\x58-\x5b\x5d-\x5f] | \x41[\x58-\x5f])
    | \x48\x83(?:(?P<sub1>\xec)|(?P<add1>\xc4))(?P<imm1>.) | \x48\x81(?:(?P<sub4>\xec)|(?P<add4>\xc4))(?P<imm4>.{4})
    | \xf3\x0f\x1e\xfa | \x48\x89\xe5  # endbr64, mov %rsp,%rbp
    """,
    re.VERBOSE | re.DOTALL,
)
"""Instructions that change nothing but the stack pointer, or copy it to rbp."""
_FILLING = re.compile(rb"(?:\x90|\xcc|\x66|\x2e|\x0f\x1f(?:\0|\x40.|\x44..|\x80.{4}|\x84.{5}))*", re.DOTALL)
"""What compilers fill up code with."""
_NUMBERS = (0, 2, 1, 3, 7, 6, 4, 5, 8, 9, 10, 11, 12, 13, 14, 15)
"""The DWARF numbers of the registers, in the order of their encodings (System V psABI, figure 3.36)."""
LONGEST = 9
"""How many bytes the longest of these has."""


class HostCode:
    """The code of a file for x86-64."""

    def __init__(self, image: Image) -> None:
        self._image = image
        self._low, self._high, self._code = 0, 0, b""

    def bytes_at(self, low: int, high: int) -> bytes:
        """Return the code from one address to another, as far as one section has it."""
        if not self._low <= low < self._high:
            section = self._image.code_at(low)
            if section is None:
                return b""
            self._low, self._high, self._code = section.address, section.address + section.size, section.data
        return self._code[low - self._low : high - self._low]

    def may_return_to(self, address: int) -> bool:
        """Return whether an instruction that calls may end at an address; where there is no code, it may."""
        code = self.bytes_at(address - LONGEST, address)
        return len(code) < LONGEST or any(_CALLS.fullmatch(code, start) for start in range(LONGEST - 1))

    def returns(self, low: int, high: int) -> int | None:
        """Return where the code returns that does nothing before but move the stack pointer; None if it does more."""
        code, position = self.bytes_at(low, high), 0
        while match := _SIMPLE.match(code, position):
            position = match.end()
        return low + position if code[position : position + 1] == b"\xc3" else None

    def goes_on(self, low: int, high: int) -> bool:
        """Return whether there are instructions other than those that fill up code."""
        return _FILLING.fullmatch(self.bytes_at(low, high)) is None

    def moves(self, low: int, high: int) -> list[tuple[int, int | None]] | None:
        """Return by how much each instruction raises the stack pointer, and what it pushes; None if one does more."""
        code, position = self.bytes_at(low, high), 0
        if len(code) != high - low:
            return None
        found: list[tuple[int, int | None]] = []
        while position < len(code):
            match = _SIMPLE.match(code, position)
            if match is None:
                return None
            position = match.end()
            if match["push"] or match["pop"]:
                encoded = (match["push"] or match["pop"])[-1] & 7 | 8 * (match[0][0] == 0x41)
                found.append((-8, _NUMBERS[encoded]) if match["push"] else (8, None))
            elif number := match["imm1"] or match["imm4"]:
                size = int.from_bytes(number, "little", signed=True)
                found.append((-size if match["sub1"] or match["sub4"] else size, None))
        return found
