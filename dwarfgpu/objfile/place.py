"""Where an image is: what a user writes to name a file, or a code object inside one.

``FILE``, ``FILE@gfx90a``, ``FILE@2``, and the code object URIs of AMDGPU usage, "Loaded Code Object Path Uniform
Resource Identifier". Also the target IDs by which a code object is chosen ("Target ID", and Clang's page "Offload
Bundler"). ``os`` and ``open`` are used instead of ``pathlib``, whose import takes as long as starting the interpreter.
"""

from __future__ import annotations

import os

from dwarfgpu.errors import MalformedFile, UsageError
from dwarfgpu.immutable import frozen
from dwarfgpu.regular_files import MAP_FROM, is_there, mapped, open_input, read_stream

URI_HINT = "a code object URI is file://PATH#offset=N&size=N"

KINDS = ("host", "hip", "hipv4", "openmp", "sycl", "cuda")


@frozen
class NamedFile:
    """What a user named: a file, the part of it that counts, and which image of that is meant."""

    path: str
    select: str | None = None
    offset: int = 0
    size: int | None = None
    """The bytes of the part; None for all that follow ``offset``."""

    @property
    def name(self) -> str:
        """What messages call it."""
        is_whole = self.size is None and not self.offset
        return self.path if is_whole else file_uri(self.path, self.offset, self.size)


@frozen
class TargetId:
    """A processor and the features whose settings are fixed, as a bundle entry ID or a user gives them.

    ``kind`` and ``triple`` are empty where they are not given.
    """

    kind: str
    triple: str
    processor: str
    features: tuple[str, ...]
    """``xnack+`` and the like, in alphabetical order."""

    @property
    def text(self) -> str:
        """Processor and features, as in ``gfx90a:sramecc+:xnack-``."""
        return ":".join((self.processor, *self.features))


def parse_place(text: str) -> NamedFile:
    """Read what a user wrote. A file whose own name contains ``@`` is that file."""
    if text.startswith("file://"):
        return _parse_uri(text)
    if text.startswith("memory://"):
        message = "a memory:// URI names a code object in a process, not in a file"
        raise UsageError(message, kind="memory_uri", hint=URI_HINT)
    path, at, select = text.rpartition("@")
    if at and not os.path.exists(text) and is_there(path):
        return NamedFile(path, select)
    return NamedFile(text)


def memory_range(text: str) -> tuple[int, int] | None:
    """Return the address and the size in a ``memory://`` URI; None for other paths."""
    if not text.startswith("memory://"):
        return None
    try:
        place = _parse_uri(text.removeprefix("memory://"))
    except UsageError:
        return None
    return None if place.size is None else (place.offset, place.size)


def _parse_uri(text: str) -> NamedFile:
    rest = text.removeprefix("file://")
    cuts = [index for index in (rest.find("#"), rest.find("?")) if index >= 0]
    cut = min(cuts, default=len(rest))
    path, range_ = rest[:cut], rest[cut + 1 :]
    if not range_ and cut == len(rest):
        return NamedFile(_percent_decoded(path))
    offset_text, _, size_text = range_.partition("&")
    offset, size = _number(offset_text, "offset="), _number(size_text, "size=")
    if not path or offset is None or size is None:
        raise UsageError(f"not a code object URI: {text}", hint=URI_HINT)
    return NamedFile(_percent_decoded(path), None, offset, size)


def _number(text: str, key: str) -> int | None:
    digits = text.removeprefix(key)
    if digits == text or not digits.isascii() or not digits.isalnum():
        return None
    base = 16 if digits[:2] in ("0x", "0X") else 8 if digits.startswith("0") else 10
    try:
        return int(digits, base)
    except ValueError:
        return None


def _percent_decoded(text: str) -> str:
    if "%" not in text:
        return text
    from urllib.parse import unquote_to_bytes

    return os.fsdecode(unquote_to_bytes(os.fsencode(text)))


def file_uri(path: str, offset: int, size: int | None) -> str:
    """Return the URI of a part of a file."""
    safe = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789/_.~-"
    encoded = "".join(chr(byte) if byte in safe else f"%{byte:02X}" for byte in os.fsencode(path))
    return f"file://{encoded}" + ("" if size is None else f"#offset={offset}&size={size}")


def read_place(place: NamedFile) -> memoryview:
    """Return the bytes of a place. Large files are mapped, so that only what is used of them is read."""
    try:
        with open_input(place.path) as file:
            size = os.fstat(file.fileno()).st_size
            whole = mapped(file, size, place.path) if size >= MAP_FROM else memoryview(read_stream(file, place.path))
    except MalformedFile as error:
        if "@" in place.path:
            error.hint = f"neither {place.path!r} nor the part before the @ is a file"
        raise
    end = len(whole) if place.size is None else place.offset + place.size
    if end > len(whole):
        raise MalformedFile("truncated", f"{place.path}: the URI needs {end} bytes, the file has {len(whole)}")
    return whole[place.offset : end]


def parse_target(text: str) -> TargetId:
    """Read a bundle entry ID, a triple with a target ID, or a target ID alone.

    ``hipv4-amdgcn-amd-amdhsa--gfx90a:xnack+``, ``host-x86_64-unknown-linux-gnu-``, ``amdgcn-amd-amdhsa--gfx9-generic``,
    ``hip-amdgcn-amd-amdhsa-gfx803`` (of older tools, without an environment), ``gfx90a``, ``gfx902+xnack``.
    """
    kind, _, rest = text.partition("-")
    if kind not in KINDS:
        kind, rest = "", text
    parts = rest.split("-", 4)
    if rest.startswith("gfx"):
        triple, target = "", rest
    elif len(parts) < 3:
        triple, target = (rest, "") if kind else ("", rest)
    elif len(parts) >= 4 and parts[3].startswith("gfx") and parts[3][3:4].isdigit():
        triple, target = "-".join(parts[:3]), "-".join(parts[3:])
    else:
        triple, target = "-".join(parts[:4]).rstrip("-"), "".join(parts[4:])
    processor, *features = target.split(":")
    processor, *enabled = processor.split("+")  # code object V2 and V3: <processor> ( "+" <target-feature> )*
    features += [f"{feature.replace('sram-ecc', 'sramecc')}+" for feature in enabled]
    return TargetId(kind, triple, processor, tuple(sorted(features)))


def target_matches(entry: TargetId, wanted: TargetId) -> bool:
    """Return whether a code object may run on the target ``wanted``.

    The processors must be the same, and a feature that both fix must have the same setting: a code object that leaves
    a feature open runs with either.
    """
    if wanted.kind and wanted.kind != entry.kind:
        return False
    if wanted.triple and _triple(wanted.triple) != _triple(entry.triple):
        return False
    if not wanted.processor:
        return True
    settings = {feature[:-1]: feature[-1:] for feature in entry.features}
    same = all(settings.get(feature[:-1], feature[-1:]) == feature[-1:] for feature in wanted.features)
    return same and wanted.processor == entry.processor


def _triple(text: str) -> tuple[str, ...]:
    """Return a triple in normal form: four parts, the unknown ones empty."""
    parts = [part if part != "unknown" else "" for part in text.split("-")]
    return tuple((*parts, "", "", "", "")[:4])
