"""Requests about code and memory: sources, modules, instructions and bytes."""

from __future__ import annotations

import re
from base64 import b64decode, b64encode
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from dwarfgpu.dap.places import source_body, source_named, sources_in
from dwarfgpu.errors import DwarfGpuError, UsageError
from dwarfgpu.immutable import frozen
from dwarfgpu.questions.code import code_of, instructions_before, names_for
from dwarfgpu.questions.sources import named_address, text_of

if TYPE_CHECKING:
    from dwarfgpu.dap.requests import RequestArguments
    from dwarfgpu.dap.session import DebugSession
    from dwarfgpu.program.code.instructions import ListedInstruction

    Json = dict[str, Any]

MOST_ROWS = 10_000
"""The instructions that one request may ask for."""
MOST_BYTES = 1 << 24
"""The bytes that one request may ask for."""
_PLACE = re.compile(r"(?:([A-Za-z_]\w*)#)?(0[xX][0-9a-fA-F]{1,16}|\d{1,20})(?:@(\d{1,9}):(\d{1,4}))?")


@frozen
class ClientAddress:
    """An address as clients keep it: ``0x7f0000001000``, or ``local#0x10@3:5`` as lane 5 of the wave 3 sees it."""

    address: int
    space: str | None = None
    wave: int | None = None
    lane: int | None = None

    def __str__(self) -> str:
        if self.space is None:
            return f"{self.address:#x}"
        return f"{self.space}#{self.address:#x}@{self.wave or 0}:{self.lane or 0}"


def address_in(text: str) -> ClientAddress:
    """Return the address that a client has kept."""
    match = _PLACE.fullmatch(text.strip())
    if match is None:
        raise UsageError(f"{text[:40]!r} is not a memory reference, such as 0x7f0000001000")
    address = int(match[2], 0) if match[2][:2] in ("0x", "0X") else int(match[2])
    wave, lane = (None if match[3] is None else int(match[number]) for number in (3, 4))
    return ClientAddress(address, match[1], wave, lane)


# --- Sources and modules ----------------------------------------------------------------------------------------------


def source(session: DebugSession, arguments: RequestArguments) -> Json:
    """Return the text of a source file, as the program has it."""
    inner = arguments.object("source")
    number = arguments.number("sourceReference", 0) or inner.number("sourceReference", 0)
    file = session.sources.get(number) or source_named(session, inner)
    text = text_of(session.debugger, file)
    if text.missing is not None:
        raise UsageError(f"{file.name}: {text.missing}", kind="no_source")
    return {"content": "".join(f"{line}\n" for line in text.lines)}


def loaded_sources(session: DebugSession, _arguments: RequestArguments) -> Json:
    """Return the source files that have code."""
    files = [file for file in sources_in(session) if file.next_line(1) is not None]
    return {"sources": [source_body(session, file) for file in files]}


def modules(session: DebugSession, arguments: RequestArguments) -> Json:
    """Return the files of code that are loaded."""
    codes = session.debugger.machine.stopped.loaded.codes
    first, wanted = max(0, arguments.number("startModule", 0)), arguments.number("moduleCount", 0)
    bodies: list[Json] = []
    for number, code in enumerate(codes, 1):
        symbols = "DWARF" if code.file.has_dwarf else "no debugging symbols"
        body = {"id": number, "name": code.file.name.rpartition("/")[2], "symbolStatus": symbols}
        path = code.file.image.path
        bodies.append(body | ({} if path is None else {"path": path}) | {"addressRange": f"{code.bias:#x}"})
    end = None if wanted <= 0 else first + wanted
    return {"modules": bodies[first:end], "totalModules": len(bodies)}


# --- Instructions -----------------------------------------------------------------------------------------------------


def disassemble(session: DebugSession, arguments: RequestArguments) -> Json:
    """Return as many instructions as are asked for, from before an address, too; there are some of no code."""
    count, skipped = arguments.number("instructionCount"), arguments.number("instructionOffset", 0)
    start = address_in(arguments.text("memoryReference")).address + arguments.number("offset", 0)
    if not 0 <= count <= MOST_ROWS or abs(skipped) > MOST_ROWS or not 0 <= start < 1 << 64:
        raise UsageError(f"`disassemble` gives at most {MOST_ROWS} instructions, of addresses of 64 bits")
    debugger = session.debugger
    before: list[ListedInstruction] = []
    after: list[ListedInstruction] = []
    with suppress(DwarfGpuError):  # there may be no code before it
        before = list(instructions_before(debugger, start, -skipped).instructions) if skipped < 0 else []
    with suppress(DwarfGpuError):  # nor there
        after = list(code_of(debugger).some(start, max(0, count + skipped)).instructions)
    missing = max(0, -skipped - len(before))
    low = (before or after)[0].address if before or after else start
    rows = [_invalid(max(0, low - 4 * (missing - each))) for each in range(missing)]
    last: list[Any] = [None]
    with_names = arguments.flag("resolveSymbols")
    rows += [_row(session, each, last, with_names=with_names) for each in (*before, *after[max(0, skipped) :])]
    end = after[-1].address + after[-1].size if after else start
    rows += [_invalid(min(end + 4 * each, (1 << 64) - 1)) for each in range(count - len(rows))]
    return {"instructions": rows[:count]}


def _invalid(address: int) -> Json:
    return {"address": f"{address:#x}", "instruction": "(no code)", "presentationHint": "invalid"}


def _row(session: DebugSession, row: ListedInstruction, last: list[Any], *, with_names: bool) -> Json:
    debugger = session.debugger
    text = names_for(debugger).text(row) if with_names else row.text
    body: Json = {"address": f"{row.address:#x}", "instruction": text, "instructionBytes": row.data.hex(" ")}
    if with_names:
        body["symbol"] = named_address(debugger, row.address)
    at = debugger.frame.state.sources.at(row.address)
    here = None if at is None else (at.file, at.line)
    if at is not None and here != last[0]:
        body |= {"location": source_body(session, at.file), "line": at.line - session.line_base}
    last[0] = here
    return body


# --- Memory -----------------------------------------------------------------------------------------------------------


def _memory(
    session: DebugSession, arguments: RequestArguments
) -> tuple[Any, Any, ClientAddress, tuple[int, int | None]]:
    """Return the machine, the address space, the address, and the wave and the lane of a request."""
    debugger = session.debugger
    place = address_in(arguments.text("memoryReference"))
    target = debugger.machine.state.target
    space = target.default_space if place.space is None else target.space_named(place.space)
    if space is None:
        raise UsageError(f"there is no address space {place.space}", kind="no_address_space")
    wave = debugger.wave_number or 0 if place.wave is None else place.wave
    session.debugger.machine[wave]
    return debugger.machine.state.backend, space, place, (wave, debugger.lane if place.lane is None else place.lane)


def read_memory(session: DebugSession, arguments: RequestArguments) -> Json:
    """Return bytes of memory, up to the first that there is not."""
    backend, space, place, where = _memory(session, arguments)
    start, count = place.address + arguments.number("offset", 0), arguments.number("count")
    if not 0 <= count <= MOST_BYTES or not 0 <= start < 1 << 64:
        raise UsageError(f"`readMemory` gives at most {MOST_BYTES} bytes, of addresses of 64 bits")

    def read(size: int) -> bytes | None:
        try:
            data: bytes = backend.read_memory(space, start, size, *where)
        except DwarfGpuError:
            return None
        return data

    low, high, data = 0, count, read(count) if count else b""
    if data is None:
        data = b""
        while high - low > 1:  # as much as there is
            middle = (low + high) // 2
            part = read(middle)
            low, high, data = (low, middle, data) if part is None else (middle, high, part)
    body: Json = {"address": f"{start:#x}", "data": b64encode(data).decode()}
    return body | ({"unreadableBytes": count - len(data)} if len(data) < count else {})


def write_memory(session: DebugSession, arguments: RequestArguments) -> Json:
    """Write bytes to memory, all or none."""
    backend, space, place, where = _memory(session, arguments)
    start = place.address + arguments.number("offset", 0)
    try:
        data = b64decode(arguments.text("data"), validate=True)
    except ValueError:
        raise UsageError("`writeMemory`: `data` is not base64") from None
    if not 0 <= start < 1 << 64:
        raise UsageError("`writeMemory` takes addresses of 64 bits")
    backend.read_memory(space, start, len(data), *where)  # an error before anything is written
    backend.write_memory(space, start, data, *where)
    session.after.append(lambda: session.changed("variables"))
    return {"bytesWritten": len(data)}
