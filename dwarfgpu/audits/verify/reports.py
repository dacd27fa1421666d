"""Reports: what the check of each of some files has found, of files that may be many and may be broken."""

from __future__ import annotations

import os
import sys
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from dwarfgpu.compilers import is_source
from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.immutable import frozen
from dwarfgpu.program.code.code_object import CodeObject, list_contents, opened
from dwarfgpu.progress import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from dwarfgpu.audits.verify.findings import FileFinding

T = TypeVar("T")


@frozen
class FileReport:
    """What the check of one file has found."""

    name: str
    findings: tuple[FileFinding, ...] = ()
    entries: int = 0
    """How many entries, or instructions of a kernel, were checked."""
    left_out: dict[str, int] | None = None
    """How many findings of a rule are not among the others."""
    known: int = 0
    """How many more findings are those of the baseline."""
    error: DwarfGpuError | None = None
    less: str | None = None
    """How much less of the file was checked than the baseline has, if that is fewer than half."""
    dropped: int = 0
    """How many functions the linker has dropped: their addresses mean nothing."""
    split_files: tuple[str, ...] = ()
    """The files with entries of the program, which were not checked with it."""


def check_file(file: CodeObject, *, dialect: str | None = None, ignored: Iterable[str] = ()) -> FileReport:
    """Check a file that is open."""
    from dwarfgpu.audits.verify.file_check import FileCheck

    check = FileCheck(file, dialect=dialect, ignored=frozenset(ignored))
    findings = tuple(check)
    left_out = check.left_out or None
    if not file.has_dwarf:
        return FileReport(file.name, findings, left_out=left_out)
    entries, split = check.entries, file.split_files()
    return FileReport(file.name, findings, entries.count, left_out, dropped=entries.dropped, split_files=split)


def check_files(
    paths: Sequence[str],
    *,
    dialect: str | None = None,
    attributes: str | None = None,
    ignored: Iterable[str] = (),
    jobs: int = 1,
) -> Iterator[FileReport]:
    """Yield the report of each code object in some files, in their order; ``jobs`` processes share the work."""
    check = partial(_reports, dialect=dialect, attributes=attributes, ignored=frozenset(ignored))
    return each_file(check, paths, jobs)


def each_file(check: Callable[[str], list[T]], paths: Sequence[str], jobs: int) -> Iterator[T]:
    """Yield the reports that a check gives of some files, in their order; ``jobs`` processes share the work."""
    if jobs <= 1 or len(paths) == 1:
        for reports in counted(map(check, paths), "files", len(paths)):
            yield from reports
        return
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    from dwarfgpu.children import end_with

    context = get_context("fork" if sys.platform == "linux" else "spawn")
    with ProcessPoolExecutor(min(jobs, len(paths)), context, end_with, (os.getpid(),)) as pool:
        for reports in counted(pool.map(check, paths), "files", len(paths)):
            yield from reports


def each_image(path: str, check: Callable[..., T | None], failed: Callable[[FileReport], T]) -> list[T]:
    """Return the reports of the images in a file, without empty ones, as bundles have for hosts.

    ``check`` gets the name by which an image is opened, and whether it is the only one; ``failed`` makes the report of
    one that cannot be opened.
    """
    try:
        entries = () if is_source(path) else list_contents(path).entries
    except DwarfGpuError as error:
        return [failed(FileReport(path, error=error))]
    names = [f"{path}@{number}" for number, entry in enumerate(entries) if entry.format != "empty"]
    reports = []
    for name in names if len(entries) > 1 else [path]:
        try:
            report = check(name, is_alone=len(entries) <= 1 or len(names) == 1)
        except DwarfGpuError as error:
            report = failed(FileReport(name, error=error))
        if report is not None:
            reports.append(report)
    return reports


def _reports(path: str, *, dialect: str | None, attributes: str | None, ignored: frozenset[str]) -> list[FileReport]:
    """Return the reports of the code objects in a file."""

    def check(name: str, **_alone: bool) -> FileReport:
        return check_file(opened(name, attributes), dialect=dialect, ignored=ignored)

    return each_image(path, check, lambda report: report)
