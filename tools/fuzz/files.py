"""Damaged fixtures, and everything that the reader offers, as the commands use it.

A function of `QUESTIONS` gets a file that has just been opened, asks, and looks at no answer. A `DwarfGpuError` is an
answer too, and `given` takes it for one. To have something new tried, write a function and add it to `QUESTIONS`.
"""

from __future__ import annotations

import contextlib
import json
import shutil
from collections import deque
from fnmatch import fnmatch
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING, TypeVar

from dwarfgpu.audits.dump import sections as dump_sections
from dwarfgpu.audits.dump.entries import EntryDump, EntrySelection, ShownUnit, tag_number
from dwarfgpu.audits.verify.reports import check_file
from dwarfgpu.audits.verify.rule_table import RULES
from dwarfgpu.errors import DwarfGpuError, UsageError
from dwarfgpu.objfile.call_frames import Fde
from dwarfgpu.objfile.indexes.debug_names import read_tables
from dwarfgpu.objfile.line_table import LineTable, line_tables
from dwarfgpu.objfile.list_encoding import ListContext, ListTable, list_tables, raw_list, read_list
from dwarfgpu.program.code import code_lookup, code_object, encoding_context
from dwarfgpu.program.code import file_summary as filesummary
from dwarfgpu.program.code.kernel_parameters import DescribedKernel
from dwarfgpu.questions import files as render_files
from dwarfgpu.render import dump as render_entries
from dwarfgpu.render import dump as render_frames
from dwarfgpu.render import dump as render_parts
from dwarfgpu.render import kernels as render_kernels
from dwarfgpu.render import verification as render_verification
from dwarfgpu.render.layout import plain
from fuzz import variables
from fuzz.damage import FOLDER, Original, any_kind, mutate
from fuzz.frame import Asking, Chance, Drive, Setting, Steps

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from dwarfgpu.objfile.containers.bundle import Container
    from dwarfgpu.objfile.info.dies import Attribute
    from dwarfgpu.objfile.info.unit import Unit
    from dwarfgpu.program.code.code_object import CodeObject

    T = TypeVar("T")

SOURCES = ("src", "MANIFEST.toml", "README.md")
"""What is no built fixture."""
SPLIT = (".dwo", ".dwp")
EMBEDDED = 4
"""How many of the images in a file are looked into."""
ADDRESSES, NAMES, DEEP, DUMPED = 12, 12, 400, 200
"""How many addresses and names are looked up, of how many entries all is asked, and how many parts are dumped."""
ENTRIES = 1 << 16
"""After so many entries of lists no more are read: damaged lists overlap, and each may reach to the section's end."""


ALLOWED = contextlib.suppress(DwarfGpuError)
"""Around questions that an error is an answer to."""


def given(ask: Callable[..., T], *arguments: object) -> T | None:
    """Return the answer to a question, or None when it is an error."""
    try:
        return ask(*arguments)
    except DwarfGpuError:
        return None


def each(source: Iterator[T]) -> Iterator[T]:
    """Yield what an iterator gives before an error."""
    try:
        yield from source
    except DwarfGpuError:
        return


# --- Containers ---------------------------------------------------------------------------------------------------


def images(source: str | bytes) -> Iterator[Callable[[], CodeObject]]:
    """Yield what opens each of the images of a file: itself, and those in it. Listing them is a part of this."""
    contents = given(code_object.list_contents, source)
    if contents is not None:
        render_files.contents_text(contents)
        json.dumps(render_files.contents_json(contents))
    if given(code_object.opened, source) is not None:
        yield lambda: code_object.opened(source)
    container = given(_container, source)
    if container is not None:
        for entry in container.entries[:EMBEDDED]:
            given(container.select, entry.target_id)
            if (entry.index or entry.id) and given(container.image, entry) is not None:
                yield lambda entry=entry: code_object.CodeObject(container.image(entry))  # type: ignore[misc]


def _container(source: str | bytes) -> Container:
    from dwarfgpu.objfile.opening import open_container

    return open_container(source, target_of=code_object.target_name_of)


# --- What commands show -------------------------------------------------------------------------------------------


def info(code: CodeObject) -> None:
    """``info`` with and without ``--units``."""
    found = filesummary.summary(code)
    for units in (False, True):
        render_files.summary_text(found, units=units)
        json.dumps(render_files.summary_json(found, units=units))
    for error in code.problems:
        str(error)


def kernels(code: CodeObject) -> None:
    """``kernels`` and ``kernels --fields``."""
    for kernel in code.kernels.kernels:
        described = DescribedKernel(code, kernel)
        for fields in (False, True):
            render_kernels.kernel_text(described, fields=fields)
        json.dumps(render_kernels.kernel_json(described))


def dumped(code: CodeObject) -> None:
    """``dump``, the beginning."""
    for item in islice(each(iter(EntryDump(code, EntrySelection()))), DUMPED):
        if isinstance(item, ShownUnit):
            render_entries.unit_text(item)
            json.dumps(plain(item))
        else:
            render_entries.EntryTexts().text(item)
            json.dumps(render_entries.entry_json(item))


def dumped_tags(code: CodeObject) -> None:
    """``dump --tag``."""
    tags = EntrySelection(tags=frozenset((tag_number("formal_parameter"),)), depth=1)
    deque(islice(each(iter(EntryDump(code, tags))), DUMPED), maxlen=0)


def dumped_sections(code: CodeObject) -> None:
    """``dump --section``, of every section the beginning."""
    dump = dump_sections.SectionDump(code)
    for name in given(dump_sections.find_sections, code, ["all"]) or []:
        if name in dump_sections.FRAMES or dump_sections.base_name(name) in dump_sections.ENTRIES:
            continue
        for part in islice(each(dump.parts(name)), DUMPED):
            deque(islice(render_parts.part_text(part), DUMPED), maxlen=0)


def frames(code: CodeObject) -> None:
    """``cfi``: every entry with its rows, and what holds at some addresses."""
    found = code.frames
    for entry in islice(found.entries(), DUMPED):
        if isinstance(entry, DwarfGpuError):
            continue
        listed = found.listed(entry)
        render_frames.listed_text(listed, found)
        json.dumps(render_frames.listed_json(listed, found))
        if isinstance(entry, Fde):
            given(found.row_at, entry.low)
    deque(found.problems, maxlen=0)


def by_address(code: CodeObject) -> None:
    """``info --pc``, where something is and where nothing is."""
    image = code.image
    wanted = {0, image.entry, 1 << 64}
    wanted.update(symbol.value + size for symbol in islice(image.symbols(), 100) for size in (0, symbol.size // 2))
    wanted.update(section.address + section.size // 2 for section in image.sections if section.is_allocated)
    for address in sorted(wanted)[:: max(1, len(wanted) // ADDRESSES)]:
        for found in given(code_lookup.at_named_addresses, code, hex(address)) or ():
            render_files.address_text(found)
            json.dumps(plain(found))
        given(image.read, address, 16)
    given(code_lookup.parse_address, code, "main+1")


def by_name(code: CodeObject) -> None:
    """``info --name``, with names that are there and some that are not."""
    names = ["main", "int", "ns::f", "(anonymous namespace)", ""]
    names += [symbol.name for symbol in islice(code.image.symbols(), 40)]
    names += (given(code.dwarf.index.names) or []) if code.has_dwarf else []
    for name in names[:: max(1, len(names) // NAMES)]:
        found = given(code_lookup.named, code, name)
        if found is not None:
            render_files.named_text(found)
            json.dumps([plain(each) for each in found])


# --- Sections, notes, symbols -------------------------------------------------------------------------------------


def sections(code: CodeObject) -> None:
    """Read the content of all sections, symbols, segments and notes."""
    image = code.image
    for section in image.sections:
        given(section.partial)
        with ALLOWED:
            _ = section.flag_letters, section.data_size, section.view
    for symbol in each(image.symbols()):
        _ = symbol.type, symbol.bind
        given(image.symbol_bytes, symbol, 8)
    _ = image.notes(), image.build_id
    for segment in image.segments:
        given(image.read, segment.address, min(segment.memory_size, 4096))


# --- DWARF --------------------------------------------------------------------------------------------------------


def all_units(code: CodeObject) -> list[Unit]:
    """Return the units of a file, and those in the split files beside it."""
    if not code.has_dwarf:
        return []
    dwarf = code.dwarf
    return list(dict.fromkeys((*dwarf.units, *dwarf.split_units, *dwarf.compile_units())))


def entries(code: CodeObject) -> None:
    """Read all entries with all attributes, in each of the ways they can be read."""
    for unit in all_units(code):
        for _ in each(unit.decoded()):
            pass
        for die in each(unit.dies()):
            for attribute in die.attributes:
                with ALLOWED:
                    _ = attribute.name, attribute.form_name, attribute.resolved()
    if code.has_dwarf:
        code.dwarf.drop_caches()


def relations(code: CodeObject) -> None:
    """For some entries of each unit what has to do with others: types, origins, owners, scopes, ranges."""
    from dwarfgpu.objfile.indexes.address_index import size_of_type
    from dwarfgpu.objfile.info.scopes import qualified_name, scopes_at

    for unit in all_units(code):
        dies = list(islice(each(unit.dies()), 20 * DEEP))
        for die in dies[:: max(1, len(dies) // DEEP)]:
            for ask in (qualified_name, size_of_type):
                given(ask, die)
            with ALLOWED:
                _ = die.name, die.linkage_name, size_of_type(die.type())
            with ALLOWED:
                _ = [*islice(die.children(), DEEP)], [*islice(die.ancestors(), DEEP)]
            for low, _ in islice(given(die.ranges) or (), 20):
                with ALLOWED:
                    scopes_at(die, low)
        with ALLOWED:
            _ = [*islice(unit.root.walk(), DEEP)]


def lists(code: CodeObject) -> None:
    """Read location and range lists, as the entries refer to them and as they are in their sections."""
    read = 0
    for unit in all_units(code):
        known = set()
        for die in each(unit.dies()):
            for attribute in die.attributes if read < ENTRIES else ():
                with ALLOWED:
                    is_list = attribute.value_class in ("loclist", "rnglist")
                    if is_list and attribute.list_place() not in known:
                        known.add(attribute.list_place())
                        read += _list(attribute)
    if code.has_dwarf:
        source = code.dwarf.source
        for section in (".debug_loclists", ".debug_rnglists", ".debug_loclists.dwo", ".debug_rnglists.dwo"):
            data = given(source.data, section) or b""
            for table in list_tables(data, section=section, byte_order=source.byte_order):
                if isinstance(table, ListTable):
                    for index in range(min(len(table), DEEP)):
                        given(table.__getitem__, index)


def _list(attribute: Attribute) -> int:
    """Read a list; returns how many entries it has."""
    unit = attribute.die.unit
    section, offset = attribute.list_place()
    data = unit.tables.list_data(section)
    base = None
    with ALLOWED:
        base = unit.low_pc
    context = ListContext(unit.address_size, unit.format.byte_order, base, unit.tables.address)
    if attribute.value_class == "loclist":
        raw, _, _ = raw_list(data, offset, section=section, context=context)
        found = read_list(data, offset, section=section, context=context)
        for entry in found.entries[:20]:
            given(found.matching, entry.start)
            if len(entry.expression) < DEEP:  # lists may overlap, and each would have a long one
                _expression(unit, entry.expression)
    else:
        raw, _, _ = raw_list(data, offset, section=section, context=context)
        given(read_list(data, offset, section=section, context=context).spans)
    return len(raw)


def expressions_of(code: CodeObject) -> None:
    """Decode the operations of all expressions in entries."""
    for unit in all_units(code):
        for die in each(unit.dies()):
            for attribute in die.attributes:
                with ALLOWED:
                    if attribute.value_class == "exprloc":
                        _expression(unit, attribute.value)


def _expression(unit: Unit, data: bytes) -> None:
    form = unit.format
    where = encoding_context.setting(
        "generic", "llvm-user", "amd", address_size=form.address_size, byte_order=form.byte_order,
        offset_size=form.offset_size, dwarf_version=form.version,
    )  # fmt: skip
    expression = where.decoded(data)
    where.lines(expression)
    where.findings(expression, in_cfi=False, depth=0, want=None)


def lines(code: CodeObject) -> None:
    """Read line tables, those of units and all that are in the sections."""
    for unit in all_units(code):
        table = given(code_lookup.line_table, code, unit)
        if table is not None:
            _line_table(table)
    if code.has_dwarf:
        source = code.dwarf.source
        for section in (".debug_line", ".debug_line.dwo"):
            data = given(source.data, section) or b""
            for found in line_tables(data, byte_order=source.byte_order, section=section):
                if isinstance(found, LineTable):
                    _line_table(found)


def _line_table(table: LineTable) -> None:
    for row in islice(table.rows, 0, None, 1 + len(table.rows) // ADDRESSES):
        given(table.at, row.address)
    numbers = {number for number, _ in islice(table.files(), DEEP)}
    for line in (1, 10, 77):
        given(table.spans, line, numbers)
        given(table.next_line, line, numbers)
    for number in list(numbers)[:DEEP]:
        given(table.path, number, "/src")
    str(table.error)
    given(table.ranges)


def tables(code: CodeObject) -> None:
    """Read the tables of producers: names, address sets; strings and addresses by index."""
    if not code.has_dwarf:
        return
    source = code.dwarf.source
    if given(source.data, ".debug_names"):
        for table in read_tables(source):
            if not isinstance(table, DwarfGpuError):
                for index in range(min(len(table), DEEP)):
                    given(table.name, index)
                    given(table.entries, index)
                for name in islice(each(table.names()), 20):
                    given(table.find, name)
    for unit in all_units(code):
        for index in (0, 1, 1 << 40):
            given(unit.tables.string_offset, index)
            given(unit.tables.address, index)
    given(code.dwarf.index.functions_at, 0)
    given(code.dwarf.index.variables_at, 0)


def checked(code: CodeObject) -> None:
    """``verify``, with the places of the findings, and the text, the JSON and the SARIF of them."""
    report = check_file(code)
    json.dumps([*map(render_verification.FINDING.json, report.findings)], default=list)
    deque(render_verification.report_text(report), maxlen=0)
    json.dumps(render_verification.sarif([report], list(RULES.values()), "0", "/"), default=list)


QUESTIONS: dict[str, Callable[[CodeObject], None]] = {
    "info": info,
    "kernels": kernels,
    "dump": dumped,
    "dump --section": dumped_sections,
    "dump --tag": dumped_tags,
    "frames": frames,
    "sections": sections,
    "entries": entries,
    "relations": relations,
    "lists": lists,
    "expressions": expressions_of,
    "lines": lines,
    "tables": tables,
    "verify": checked,
    "address": by_address,
    "name": by_name,
    **variables.QUESTIONS,
}


# --- Damaged fixtures ---------------------------------------------------------------------------------------------


def chosen(patterns: Sequence[str] = ()) -> list[str]:
    """Return the built fixtures that some patterns name, or all."""
    names = sorted(path.relative_to(FOLDER).as_posix() for path in FOLDER.rglob("*") if path.is_file())
    built = [name for name in names if name.split("/", 1)[0] not in SOURCES]
    found = [name for name in built if not patterns or any(fnmatch(name, each) for each in patterns)]
    if not found:
        raise UsageError(f"no fixture is called {' or '.join(patterns)}: names are such as asm/forms.gfx90a.w64.co")
    return found


def sources(folder: Path, name: str, data: bytes) -> Iterator[str | bytes]:
    """Yield what to open: the bytes, or, where programs and split files belong together, files in a folder."""
    path = FOLDER / name
    family = [each for each in sorted(path.parent.glob(f"{path.stem}.*")) if each != path]
    if not any(each.suffix in SPLIT for each in (path, *family)):
        yield data
        return
    for beside in folder.iterdir():
        beside.unlink()
    for beside in family:
        shutil.copyfile(beside, folder / beside.name)
    (folder / path.name).write_bytes(data)
    yield str(folder / path.name)
    if path.suffix in SPLIT:
        yield from (str(folder / beside.name) for beside in family if beside.suffix not in SPLIT)


def begin(setting: Setting) -> Steps:
    originals = cache(lambda name: Original((FOLDER / name).read_bytes()))
    kinds: dict[str, list[str]] = {}
    for name in setting.only:
        for kind in originals(name).regions:
            kinds.setdefault(kind, []).append(name)

    def steps(chance: Chance) -> Asking:
        kind = any_kind(kinds, chance)  # what few files have is met as often as the rest
        name = chance.choice(kinds[kind])
        edits = chance.kept(mutate(originals(name), kind, chance))
        chance.about = " ".join((name, *map(str, edits)))
        for source in sources(setting.folder, name, originals(name).apply(edits)):
            yield "ls"
            for opener in [*images(source)]:
                for question, ask in QUESTIONS.items():
                    yield question
                    ask(opener())
        return "answered"

    return steps


DRIVE = Drive(begin, chosen, seconds=2.0, may_refuse=False)
