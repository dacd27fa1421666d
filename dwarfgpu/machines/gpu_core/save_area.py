"""The walk through a context save area: its header, its control stack, and the record of each wave."""

from __future__ import annotations

import struct
from array import array
from typing import TYPE_CHECKING

from dwarfgpu.errors import DwarfGpuError, MalformedFile, MissingContext
from dwarfgpu.immutable import field, frozen
from dwarfgpu.machines.gpu_core.layout import EVENT, PM4_WORDS, STATE, CoreFamily, RecordShape, shape_of

if TYPE_CHECKING:
    from dwarfgpu.machines.gpu_core.file_memory import FileMemory
    from dwarfgpu.machines.gpu_core.note import QueueEntry

HEADER = struct.Struct("<6IQ2I")
"""``kfd_context_save_area_header``: where the control stack is, its bytes in use (0 without waves), the end of the
records and their bytes, and what is for the debugger."""
DEBUG_OFFSET_AT = 16
"""The offset of ``debug_offset`` in a header."""
MAX_WORDS = 1 << 20
"""The words of a control stack that are read. A device of today holds ten thousand waves."""


@frozen
class SavedWaves:
    """The waves of one XCC of a queue, in the order of the control stack."""

    xcc: int
    shapes: list[RecordShape] = field(factory=list)
    shape: array[int] = field(factory=lambda: array("H"))
    """Of each wave the index of its shape."""
    words: array[int] = field(factory=lambda: array("I"))
    records: array[int] = field(factory=lambda: array("Q"))
    """The address of v0 of each wave."""
    problems: list[DwarfGpuError] = field(factory=list)

    def __len__(self) -> int:
        return len(self.words)

    def lowest(self, end: int) -> int:
        """Return the address of the lowest record; without waves the end of the area."""
        return self.records[-1] if self.records else end


def area_stride(memory: FileMemory, queue: QueueEntry, xccs: int) -> int:
    """Return how far the save areas of the XCCs of a queue are apart.

    That is the size in the note, but some versions of the runtime wrote the size in use there. The debugger's memory
    is behind the areas of all XCCs, so its offset in the first header tells.
    """
    offset = memory.number(queue.save_area + DEBUG_OFFSET_AT, 4) if xccs > 1 else None
    is_plausible = offset and offset % xccs == 0 and offset // xccs > queue.save_area_size
    return offset // xccs if offset and is_plausible else queue.save_area_size


def read_area(
    memory: FileMemory, queue: QueueEntry, number: str, xcc: int, family: CoreFamily, stride: int
) -> SavedWaves:
    """Read the waves of one XCC of a queue; raise the error that hides all of them.

    ``number`` is what messages call the queue, ``stride`` is as `area_stride` returns it.
    """
    base = queue.save_area + xcc * stride
    name = f"queue {number}" if not xcc else f"XCC {xcc} of queue {number}"
    data = memory.read(base, HEADER.size)
    if data is None:
        message = f"the save area of {name} is at {base:#x}, which is in none of the files, so its waves are not known"
        raise MissingContext("save_area", message, spec="", hint="it is memory of the host: add its core file")
    control_offset, size, wave_offset, wave_size, *_debugger = HEADER.unpack(data)
    waves = SavedWaves(xcc)
    if not size:
        return waves
    start, end = base + wave_offset - wave_size, base + wave_offset
    if control_offset + size + wave_size != wave_offset or start < base:
        message = (
            f"the control stack of {name} ends at {base + control_offset + size:#x}, and its "
            f"records begin at {start:#x}: its save area is damaged"
        )
        raise _bad(message)
    if size % 4 or size > 4 * MAX_WORDS:
        raise _bad(f"the control stack of {name} has {size} bytes: its save area is damaged")
    there = memory.stretches(base + control_offset, size)
    known = there[0].size & ~3 if there and there[0].address == base + control_offset else 0
    stack = memory.read(base + control_offset, known) if known else None
    if stack is None:
        where = base + control_offset
        message = f"the control stack of {name} is at {where:#x}, which is in none of the files"
        raise MissingContext("save_area", message, spec="", hint="the file may be truncated")
    if known < size:
        message = f"of the control stack of {name} the files have {known} of {size} bytes: the other waves are missing"
        waves.problems.append(_bad(message, "the file is truncated"))
    why = _walk(waves, struct.unpack(f"<{known // 4}I", stack), family, start, end)
    if why is None and known == size and waves.lowest(end) != start:
        why = f"its lowest record begins at {waves.lowest(end):#x}, and the records at {start:#x}"
    if why is not None:
        count = len(waves)
        shown = (
            f"none of its {count} waves is shown, because the widths of records are wrong" if count else "it is damaged"
        )
        waves.problems.append(_bad(f"in the save area of {name} {why}: {shown}"))
        del waves.words[:], waves.records[:], waves.shape[:]
    return waves


def _walk(waves: SavedWaves, words: tuple[int, ...], family: CoreFamily, start: int, last: int) -> str | None:
    """Add the waves of a control stack; return what is wrong with it."""
    shapes: dict[int, int] = {}
    add_word, add_record, add_shape = waves.words.append, waves.records.append, waves.shape.append
    first = 1 << family.first
    gap, state_words = family.gap, family.state_words
    index, shape = PM4_WORDS, None
    number = size = lds = 0
    while index < len(words):
        word = words[index]
        index += 1
        if word & EVENT:
            continue
        if word & STATE:
            index += state_words - 1
            if word not in shapes:
                shapes[word] = len(waves.shapes)
                waves.shapes.append(shape_of(family, word))
            number = shapes[word]
            shape = waves.shapes[number]
            size, lds = shape.size + gap, shape.lds
            continue
        if shape is None:
            return "a wave comes before any word that says how much a wave has"
        last -= size + lds if word & first else size
        if last < start:
            return f"wave {len(waves.words) + 1} would begin at {last:#x}, below the first record at {start:#x}"
        add_word(word)
        add_record(last)
        add_shape(number)
    return None


def _bad(message: str, hint: str | None = None) -> MalformedFile:
    return MalformedFile("bad_save_area", message, hint=hint)
