"""Reports: what the check of each of some files has found, of files that may be many and may be broken."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from dwarfgpu.audits.memory_model.checker import CheckWish, MemoryCheck
from dwarfgpu.audits.verify.reports import FileReport, each_file, each_image
from dwarfgpu.immutable import frozen
from dwarfgpu.program.code.code_object import CodeObject, opened


@frozen
class MemoryReport:
    """What the check of one file has found, and how much was checked."""

    file: FileReport
    instructions: int = 0
    operations: int = 0
    """The accesses and fences whose ordering was known, so that it was checked."""
    missing: tuple[str, ...] = ()
    """The source files that were not found, or have changed since the file was built, with the reason."""
    known_bugs: tuple[tuple[str, int], ...] = ()
    """How many operations lack what LLVM is known to leave out, by the name of the difference."""
    producers: tuple[str, ...] = ()
    """The compilers that the file names."""
    unchecked: str | None = None
    """Why nothing was checked, or less than was required."""


def check_code(file: CodeObject, wish: CheckWish) -> MemoryReport:
    """Check a file that is open."""
    check = MemoryCheck(file, wish)
    findings = tuple(check.findings(wish.function))
    missing = tuple(check.lines.missing)
    unchecked = None
    if not check.instructions:
        unchecked = "it has no functions, so nothing was checked"
    elif not check.operations and wish.from_source and not check.lines.has_lines:
        unchecked = "it has no line table (compile with -g), so no operation was checked"
    elif not check.operations and missing:
        unchecked = "its source was not read, so no operation was checked"
    elif check.operations < wish.required:
        unchecked = f"{check.operations} operations were checked, {wish.required} are required"
    if unchecked is not None and file.problems:
        unchecked = str(file.problems[0])
    producers = check.producers if check.known_bugs else ()
    checked = FileReport(file.name, findings), check.instructions, check.operations, missing
    return MemoryReport(*checked, tuple(check.known_bugs.items()), producers, unchecked)


def check_paths(paths: Sequence[str], wish: CheckWish, jobs: int = 1) -> Iterator[MemoryReport]:
    """Yield the report of each code object in some files, in their order; ``jobs`` processes share the work."""
    return each_file(partial(_reports, wish=wish), paths, jobs)


def _reports(path: str, wish: CheckWish) -> list[MemoryReport]:
    """Return the reports of the code objects in a file; of a file with several those for AMD GPUs."""

    def check(name: str, *, is_alone: bool) -> MemoryReport | None:
        file = opened(name)
        return check_code(file, wish) if is_alone or file.is_amdgpu else None

    return each_image(path, check, MemoryReport)
