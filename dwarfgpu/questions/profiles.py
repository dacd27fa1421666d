"""Profiles in the formats of other viewers: speedscope, Chrome traces and pprof."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dwarfgpu import __version__
from dwarfgpu.errors import UsageError
from dwarfgpu.questions.table import FORMATS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from dwarfgpu.program.code.scopes import SourceCall
    from dwarfgpu.program.code.weighted_stacks import StackProfile, WaveTrack, WeightedStack

    _Frame = tuple[str, str, int, int]
    """A name, and a place in the source as far as it is known: file, line, column."""

SPEEDSCOPE, CHROME, PPROF = FORMATS
ENDINGS = {
    ".trace.json": CHROME, ".chrome.json": CHROME, ".json": SPEEDSCOPE, ".speedscope": SPEEDSCOPE,
    ".pb.gz": PPROF, ".pb": PPROF, ".pprof": PPROF,
}  # fmt: skip
"""The formats by the ends of names; the first that fits counts."""
TEXT_ENDINGS = (".txt", ".text", ".log")
EXPORTER = f"dwarfgpu {__version__}"
NO_NAME = "[unknown]"


def format_of(path: str) -> str | None:
    """Return the format that the name of a file stands for; None for a text."""
    name = path.rpartition("/")[2]
    for ending, kind in ENDINGS.items():
        if name.endswith(ending):
            return kind
    if "." not in name or name.endswith(TEXT_ENDINGS):
        return None
    hint = f"end it in {', '.join(ENDINGS)} or .txt, or give --profile-format"
    raise UsageError(f"the name {name[:60]!r} does not say which format the profile is to have", hint=hint)


def written(profile: StackProfile, kind: str) -> bytes:
    """Return a profile in a format."""
    return _WRITERS[kind](profile)


# --- Names --------------------------------------------------------------------------------------------------------


def _name(call: SourceCall) -> str:
    return call.function or call.linkage_name or NO_NAME


def _place(call: SourceCall) -> tuple[str, int, int]:
    source = call.source
    return ("", 0, 0) if source is None else (source.file or "", source.line, source.column)


def _line(call: SourceCall) -> str:
    file, line, _column = _place(call)
    return f"{file.rpartition('/')[2]}:{line}" if file and line else ""


def _frames(stack: WeightedStack) -> tuple[_Frame, ...]:
    """Return the functions of a stack, outermost first, and inside them the line, as viewers draw them."""
    leaf = stack.calls[-1]
    functions = tuple((_name(call), _place(call)[0], 0, 0) for call in stack.calls)
    return (*functions, (_line(leaf), *_place(leaf))) if _line(leaf) else functions


# --- speedscope ---------------------------------------------------------------------------------------------------


def speedscope(profile: StackProfile) -> bytes:
    """Return a file of speedscope, with one profile for each weight."""
    frames: dict[_Frame, int] = {}
    stacks = [[frames.setdefault(frame, len(frames)) for frame in _frames(stack)] for stack in profile.stacks]
    profiles = []
    for number, weight in enumerate(profile.weights):
        counted = [(stack, each.weights[number]) for stack, each in zip(stacks, profile.stacks, strict=True)]
        counted = [each for each in counted if each[1]]
        profiles.append({
            "type": "sampled", "name": f"{profile.name}: {weight}", "unit": "none", "startValue": 0,
            "endValue": sum(count for _stack, count in counted),
            "samples": [stack for stack, _count in counted], "weights": [count for _stack, count in counted],
        })  # fmt: skip
    return _json({
        "$schema": "https://www.speedscope.app/file-format-schema.json",
        "shared": {"frames": [_known(zip(("name", "file", "line", "col"), frame, strict=True)) for frame in frames]},
        "profiles": profiles, "name": profile.name, "activeProfileIndex": 0, "exporter": EXPORTER,
    })  # fmt: skip


def _known(facts: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    return {key: value for key, value in facts if value}


def _json(document: Mapping[str, Any]) -> bytes:
    import json

    return json.dumps(document, separators=(",", ":")).encode()


_UTF8 = "utf-8", "backslashreplace"


# --- Chrome traces --------------------------------------------------------------------------------------------------


def chrome_trace(tracks: Iterable[WaveTrack], name: str) -> bytes:
    """Return a trace: a work-group is a process, a wave is a thread, a microsecond is an instruction of the wave."""
    groups: dict[tuple[int, int, int], int] = {}
    events: list[dict[str, Any]] = []
    for track in tracks:
        is_new = track.work_group not in groups
        place = {"pid": groups.setdefault(track.work_group, len(groups) + 1), "tid": track.wave + 1}
        if is_new:
            group = ",".join(map(str, track.work_group))
            events.append({"name": "process_name", "ph": "M", **place, "args": {"name": f"work-group ({group})"}})
        events.append({"name": "thread_name", "ph": "M", **place, "args": {"name": f"wave {track.id}"}})
        events += ({"ph": "X", **event, **place} for event in _slices(track))
    document = {
        "traceEvents": events, "displayTimeUnit": "ns",
        "otherData": {"kernel": name, "exporter": EXPORTER, "1 us": "1 instruction of the wave"},
    }  # fmt: skip
    return _json(document)


def _slices(track: WaveTrack) -> Iterator[dict[str, Any]]:
    """Yield a slice for each call while it is the same, in it one for each line, and in that one for an instruction."""
    opened: list[tuple[object, dict[str, Any]]] = []
    time = 0
    for part in track.parts:
        levels: list[tuple[object, dict[str, Any]]] = [
            ((_name(call), call.offset), {"name": _name(call), "cat": "call"}) for call in part.calls
        ]
        facts = _known(zip(("file", "line", "column"), _place(part.calls[-1]), strict=True))
        event = {"name": _line(part.calls[-1]) or "no line", "cat": "line", "args": facts}
        if part.text is None:
            levels.append((part, {**event, "args": {**facts, **part.facts}}))
        else:
            levels += [(part.calls, event), (part, {"name": part.text, "cat": "instruction", "args": part.facts})]
        common = 0
        while common < min(len(opened), len(levels)) and opened[common][0] == levels[common][0]:
            common += 1
        yield from ({**each, "dur": time - each["ts"]} for _key, each in reversed(opened[common:]))
        opened[common:] = [(key, {**each, "ts": time}) for key, each in levels[common:]]
        time += part.instructions
    yield from ({**each, "dur": time - each["ts"]} for _key, each in reversed(opened))


# --- pprof ----------------------------------------------------------------------------------------------------------


def pprof(profile: StackProfile) -> bytes:
    """Return a compressed message ``perftools.profiles.Profile``: an address with its inlined calls is a location."""
    import gzip

    strings: dict[str, int] = {"": 0}
    functions: dict[tuple[str, str, str], int] = {}
    locations: dict[Any, int] = {}
    message = bytearray()

    def text(value: str) -> int:
        return strings.setdefault(value, len(strings))

    def line(call: SourceCall) -> bytes:
        file, number, column = _place(call)
        function = functions.setdefault((_name(call), call.linkage_name or _name(call), file), len(functions) + 1)
        return _numbers({1: function, 2: number, 3: column})

    for weight in profile.weights:
        message += _bytes(1, _numbers({1: text(weight), 2: text("count")}))
    for stack in profile.stacks:
        ids = [locations.setdefault(level, len(locations) + 1) for level in stack.levels]
        message += _bytes(2, _packed(1, ids) + _packed(2, stack.weights))
    low, high = profile.spans
    build_id = text(profile.build_id or "")
    message += _bytes(
        3, _numbers({1: 1, 2: low, 3: high, 4: low, 5: text(profile.file), 6: build_id, 7: 1, 8: 1, 9: 1})
    )
    for level, number in locations.items():
        is_known = level.address >= 0
        head = {1: number, **({2: 1, 3: level.address} if is_known else {})}
        message += _bytes(4, _numbers(head) + b"".join(_bytes(4, line(call)) for call in level.calls))
    for (name, linkage_name, file), number in functions.items():
        message += _bytes(5, _numbers({1: number, 2: text(name), 3: text(linkage_name), 4: text(file)}))
    default = text(profile.weights[0])
    comment = text(EXPORTER)
    message += b"".join(_bytes(6, value.encode(*_UTF8)) for value in strings)
    message += _packed(13, [comment]) + _numbers({14: default})
    return gzip.compress(bytes(message), mtime=0)


def _varint(value: int) -> bytes:
    value &= (1 << 64) - 1
    found = bytearray()
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes((*found, value))


def _numbers(fields: dict[int, int]) -> bytes:
    return b"".join(_varint(field << 3) + _varint(value) for field, value in fields.items() if value)


def _bytes(field: int, content: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(content)) + content


def _packed(field: int, values: Iterable[int]) -> bytes:
    return _bytes(field, b"".join(map(_varint, values)))


_WRITERS: dict[str, Callable[[StackProfile], bytes]] = {
    SPEEDSCOPE: speedscope, PPROF: pprof,
}  # fmt: skip
