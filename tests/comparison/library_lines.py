from collections.abc import Iterator

from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.objfile.line_table import FileEntry, LineHeader, line_tables
from tests.comparison.library_opened import Opened, format_name, length
from tests.comparison.rows import Row, escaped, header

FLAGS = ("is_stmt", "basic_block", "end_sequence", "prologue_end", "epilogue_begin")


def line_rows(file: Opened, section: str) -> Iterator[Row]:
    tables = line_tables(
        file.source.data(section),
        byte_order=file.source.byte_order,
        address_size=file.image.address_size,
        string_at=file.string_at,
        section=section,
    )
    for table in tables:
        if isinstance(table, DwarfGpuError):
            yield Row("lines", section, table.kind)
            continue
        where = f"{section}+{table.header.offset:#x}"
        yield Row("lines", f"{where} header", _header(table.header))
        for number, path in enumerate(table.header.directories, 0 if table.header.version >= 5 else 1):
            yield Row("lines", f"{where} directory {number}", escaped(path.encode()))
        for number, entry in table.files():
            yield Row("lines", f"{where} file {number}", _file(entry))
        for number, row in enumerate(table.rows):
            words = [f"{row.address:#x} {row.file}:{row.line}:{row.column}"]
            words += [flag for flag in FLAGS if getattr(row, flag)]
            words += [
                f"{name}={getattr(row, name)}" for name in ("isa", "discriminator", "op_index") if getattr(row, name)
            ]
            yield Row("lines", f"{where} row {number}", " ".join(words))
        if table.error is not None:
            yield Row("lines", f"{where} error", table.error.kind)


def _header(found: LineHeader) -> str:
    before = 4 if found.offset_size == 4 else 12
    fixed = 2 + (2 if found.version >= 5 else 0) + found.offset_size
    return header(
        length=length(found.offset, found.end, found.offset_size),
        format=format_name(found.offset_size),
        version=found.version,
        address_size=found.address_size if found.version >= 5 else None,
        header_length=found.program - found.offset - before - fixed,
        instruction=found.min_instruction_length,
        operations=found.max_operations,
        is_stmt=int(found.default_is_stmt),
        line_base=str(found.line_base),
        line_range=found.line_range,
        opcode_base=found.opcode_base,
        lengths=",".join(map(str, found.opcode_lengths)),
    )


def _file(found: FileEntry) -> str:
    words = [escaped(found.name.encode()), f"directory={found.directory}"]
    words += [f"time={found.timestamp}"] if found.timestamp else []
    words += [f"size={found.size}"] if found.size else []
    words += [f"md5={found.md5.hex()}"] if found.md5 is not None else []
    words += [f"source={escaped(found.source.encode())}"] if found.source is not None else []
    return " ".join(words)
