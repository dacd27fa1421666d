"""Files of samples: what `rocprofv3 --pc-sampling-method` writes as CSV and as JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from dwarfgpu.errors import MalformedFile
from dwarfgpu.immutable import define, field, frozen
from dwarfgpu.regular_files import read_input
from dwarfgpu.strict_json import NotACase, parse, parse_integer

HOST_TRAP, STOCHASTIC = "host_trap", "stochastic"
NEEDED = ("Exec_Mask", "Instruction", "Instruction_Comment")
ISSUED, REASON = "Wave_Issued_Instruction", "Stall_Reason"
_REASON = "ROCPROFILER_PC_SAMPLING_INSTRUCTION_NOT_ISSUED_REASON_"
_NO_CODE = "Unrecognized code object id"
"""How the comment of a sample begins whose code the profiler does not know."""
UNKNOWN_CODE, BROKEN = "of code objects that the profiler does not know", "that cannot be read"
HINT = (
    "`rocprofv3 --pc-sampling-beta-enabled ... --output-format csv json` writes *_pc_sampling_*.csv and *_results.json"
)


@frozen
class SampledPlace:
    """Where samples were taken: an offset in a code object, or only the instruction and a line as the profiler says."""

    process: int = 0
    code_object: int = 0
    offset: int | None = None
    instruction: str = ""
    comment: str = ""


@define
class SampleCounts:
    """How many samples were taken somewhere."""

    samples: int = 0
    lanes: int = 0
    """The lanes that were active, in all of them."""
    issued: int = 0
    stalled: int = 0
    reasons: Counter[str] = field(factory=Counter)
    """Why the waves of those that were stalled did not go on."""

    def add(self, other: SampleCounts) -> None:
        self.samples += other.samples
        self.lanes += other.lanes
        self.issued += other.issued
        self.stalled += other.stalled
        self.reasons += other.reasons

    def take(self, mask: int, reason: str, *, issued: bool | None) -> None:
        """Count one sample; ``issued`` is None where that is not sampled."""
        self.samples += 1
        self.lanes += mask.bit_count()
        if issued is not None:
            self.issued += issued
            self.stalled += not issued
            if not issued:
                self.reasons[reason.removeprefix(_REASON) or "NONE"] += 1


@define
class SampleFile:
    """The samples of a file, counted by place."""

    path: str
    method: str = HOST_TRAP
    places: dict[SampledPlace, SampleCounts] = field(factory=dict)
    moved: dict[tuple[int, int], int] = field(factory=dict)
    """What to add to an offset, by process and code object, for an address of its file."""
    left_out: Counter[str] = field(factory=Counter)
    """Samples without a place, by the reason."""
    first_broken: str = ""
    """What is wrong with the first one that cannot be read."""

    @property
    def count(self) -> int:
        return sum(counts.samples for counts in self.places.values()) + sum(self.left_out.values())

    def at(self, place: SampledPlace) -> SampleCounts:
        """Return what is counted at a place."""
        return self.places.setdefault(place, SampleCounts())

    def broken(self, where: str, why: str) -> None:
        """Count a sample that cannot be read."""
        self.left_out[BROKEN] += 1
        self.first_broken = self.first_broken or f"{where}: {why}"


def read_samples(path: str) -> SampleFile:
    """Read a file of samples."""
    try:
        text = read_input(path).decode()
    except UnicodeDecodeError as error:
        raise _wrong(path, f"it is not UTF-8 text ({error.reason} at byte {error.start})") from None
    found = SampleFile(path)
    if text.lstrip("\ufeff \t\r\n")[:1] in ("{", "["):
        _read_json(found, text)
    else:
        _read_csv(found, text)
    if not found.count:
        raise _wrong(path, "it has no samples")
    return found


def _wrong(path: str, why: str) -> MalformedFile:
    return MalformedFile("not_samples", f"{path} is not a file of samples: {why}", hint=HINT)


# --- CSV ------------------------------------------------------------------------------------------------------------


def _read_csv(found: SampleFile, text: str) -> None:
    import csv

    rows = csv.reader(text.removeprefix("\ufeff").splitlines())
    try:
        head = [name.strip() for name in next(rows, [])]
        missing = [name for name in NEEDED if name not in head]
        if missing:
            raise _wrong(found.path, f"its first line has no column {' and no column '.join(missing)}")
        found.method = STOCHASTIC if ISSUED in head else HOST_TRAP
        for row in rows:
            if not row:
                continue
            if len(row) != len(head):
                found.broken(f"line {rows.line_num}", f"{len(row)} columns instead of {len(head)}")
                continue
            _take_row(found, dict(zip(head, row, strict=True)), f"line {rows.line_num}")
    except csv.Error as error:
        raise _wrong(found.path, f"line {rows.line_num}: {error}") from None


def _take_row(found: SampleFile, row: dict[str, str], where: str) -> None:
    mask, issued = parse_integer(row["Exec_Mask"]), row.get(ISSUED, "").strip().lower()
    if mask is None or not 0 <= mask < 1 << 64:
        found.broken(where, f"Exec_Mask is {row['Exec_Mask'][:40]!r}")
    elif found.method == STOCHASTIC and issued not in _TRUE | _FALSE:
        found.broken(where, f"{ISSUED} is {issued[:40]!r}")
    elif not row["Instruction"].strip() or row["Instruction_Comment"].startswith(_NO_CODE):
        found.left_out[UNKNOWN_CODE] += 1
    else:
        place = SampledPlace(instruction=row["Instruction"], comment=row["Instruction_Comment"])
        is_issued = issued in _TRUE if found.method == STOCHASTIC else None
        found.at(place).take(mask, row.get(REASON, "").strip(), issued=is_issued)


_TRUE, _FALSE = {"1", "true"}, {"0", "false"}


# --- JSON -----------------------------------------------------------------------------------------------------------


def _read_json(found: SampleFile, text: str) -> None:
    try:
        document: Any = parse(text)
    except NotACase as error:
        raise _wrong(found.path, error.message) from None
    tools = document.get("rocprofiler-sdk-tool", document) if isinstance(document, dict) else document
    is_known = False
    for process, tool in enumerate(tools if isinstance(tools, list) else [tools]):
        records, strings = _part(tool, "buffer_records", dict), _part(tool, "strings", dict)
        instructions = _part(strings, "pc_sample_instructions", list) or []
        comments = _part(strings, "pc_sample_comments", list) or []
        for each in _part(tool, "code_objects", list) or []:
            number, base, delta = (_part(each, name, int) for name in ("code_object_id", "load_base", "load_delta"))
            if number is not None and base is not None and delta is not None:
                found.moved[process, number] = base - delta
        for method in (HOST_TRAP, STOCHASTIC):
            samples = _part(records, f"pc_sample_{method}", list)
            is_known |= samples is not None
            for index, sample in enumerate(samples or ()):
                found.method = method
                where = f"pc_sample_{method}[{index}]"
                _take_record(found, sample, method, process, where, _Strings(instructions, comments))
    if not is_known:
        raise _wrong(found.path, "it has no buffer_records.pc_sample_host_trap and no pc_sample_stochastic")


@frozen
class _Strings:
    """The instructions and comments that samples number."""

    instructions: list[Any]
    comments: list[Any]

    def at(self, index: int | None) -> Iterator[str]:
        for texts in (self.instructions, self.comments):
            is_text = index is not None and 0 <= index < len(texts) and isinstance(texts[index], str)
            yield texts[index] if is_text else ""  # type: ignore[index]


def _part(value: Any, name: str, kind: type) -> Any:
    """Return a part of an object if it is of a kind; None for everything else."""
    part = value.get(name) if isinstance(value, dict) else None
    return part if isinstance(part, kind) and (kind is not int or not isinstance(part, bool)) else None


def _take_record(found: SampleFile, sample: Any, method: str, process: int, where: str, strings: _Strings) -> None:
    record = _part(sample, "record", dict)
    pc, mask = _part(record, "pc", dict), _part(record, "exec_mask", int)
    code_object, offset = _part(pc, "code_object_id", int), _part(pc, "code_object_offset", int)
    issued = record.get("wave_issued") if record is not None else None
    if code_object is None or offset is None:
        found.broken(where, "it has no record.pc with code_object_id and code_object_offset")
    elif mask is None or not 0 <= mask < 1 << 64:
        found.broken(where, "record.exec_mask is not a mask of lanes")
    elif method == STOCHASTIC and issued not in (0, 1):
        found.broken(where, "record.wave_issued is neither true nor false")
    elif not code_object:
        found.left_out[UNKNOWN_CODE] += 1
    else:
        snapshot = _part(record, "snapshot", dict)
        reason = _part(snapshot, "stall_reason", str) or _part(snapshot, "reason_not_issued", str) or ""
        place = SampledPlace(process, code_object, offset, *strings.at(_part(sample, "inst_index", int)))
        found.at(place).take(mask, reason, issued=bool(issued) if method == STOCHASTIC else None)
