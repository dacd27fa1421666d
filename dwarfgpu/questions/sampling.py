"""The question ``annotate``: what samples of a profiler say of the code that they were taken in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dwarfgpu.audits.samples.annotation import Annotation, annotate
from dwarfgpu.audits.samples.sample_files import read_samples
from dwarfgpu.errors import UsageError
from dwarfgpu.questions.document import NO_ANSWER, Document, Output
from dwarfgpu.render import profiles
from dwarfgpu.render.layout import WIDTH, laid_out
from dwarfgpu.render.samples import annotation_json, annotation_page, annotation_text, compared_rows, compared_text
from dwarfgpu.states.program import Program, open_program

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dwarfgpu.questions.registry import Arguments
    from dwarfgpu.questions.selection import Selection


def annotate_(selection: Selection, arguments: Arguments) -> Document:
    path, *words = arguments.words or [""]
    if not path:
        raise arguments.wrong("needs a file of samples")
    programs = [open_program(word) for word in words] or [selection.opened]
    annotation = _annotated(path, programs)
    files = ", ".join(program.file.name.rpartition("/")[2] for program in programs)
    if arguments.has("profile-format"):
        return _profile(selection, annotation, arguments.get("profile-format"))
    other, rows = None, None
    if arguments.has("compare"):
        others = [open_program(word) for word in arguments.get("compare-file") or ()] or programs
        other = _annotated(arguments.get("compare"), others)
        rows = compared_rows(annotation, other)
    elif arguments.has("compare-file"):
        raise arguments.wrong("takes -compare-file with -compare")
    if arguments.has("html"):
        names = [program.file.name for program in programs]
        annotation.texts = annotation.texts.for_page(*names)
        with laid_out(WIDTH):
            lines = [*annotation_page(annotation, files, rows)]
        return Document({"file": path, "html": "\n".join(lines)}, lines, is_file=True)

    def text(_output: Output) -> Iterator[str]:
        if other is not None and rows is not None:
            yield from compared_text(annotation, other, rows)
            return
        yield from annotation_text(annotation, files)

    data = annotation_json(annotation)
    if other is not None:
        data |= {"other": annotation_json(other), "compared": rows}
    document = Document(data, text, rows="lines")
    for each in (annotation, other):
        if each is not None and not each.placed:
            document.status = NO_ANSWER
            document.hints.append(f"no sample of {each.samples.path} is of this code: name the file that was sampled")
        if each is not None and each.samples.first_broken:
            document.hints.append(f"{each.samples.path}: {each.samples.first_broken}")
    return document


def _annotated(path: str, programs: Sequence[Program]) -> Annotation:
    for program in programs:
        if not program.file.is_amdgpu:
            raise UsageError(f"{program.file.name} is not a code object of a GPU", hint="name one: FILE@gfx90a")
    return annotate(read_samples(path), programs)


def _profile(selection: Selection, annotation: Annotation, kind: str) -> Document:
    content = profiles.written(annotation.stacks(), kind)

    def write(output: Output) -> Iterator[str]:
        if output.binary is None:
            raise UsageError(f"{kind} is not written to a terminal", hint="write -o FILE")
        output.binary.write(content)
        return iter(())

    if kind == profiles.PPROF:
        return Document({"profile_format": kind, "bytes": len(content)}, write, is_file=True)
    text = content.decode()
    return Document({"profile_format": kind, "profile": text}, text.splitlines(), is_file=True)
