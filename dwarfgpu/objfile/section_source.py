"""Where debugging information comes from: sections by name, and the strings in them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dwarfgpu import budget
from dwarfgpu.errors import DwarfGpuError, MalformedFile

if TYPE_CHECKING:
    from dwarfgpu.encoding import ByteOrder
    from dwarfgpu.objfile.elf.image import Image
    from dwarfgpu.objfile.elf.sections import Section


MAX_TEXTS = 1 << 26
"""How many characters are remembered: strings may overlap, so that a small section has any amount of text."""
FREE_TEXT = 1 << 13
"""A name of so many characters costs nothing; longer ones, which may overlap, are paid from the budget."""
_PIECE = 256
"""How much of a string is read first."""


class SectionSource:
    """The sections of one file as bytes, each asked for once, and the strings that were read."""

    def __init__(self, sections: ImageSections) -> None:
        self.sections = sections
        self.name = sections.name
        self.byte_order: ByteOrder = sections.byte_order
        self._content: dict[str, bytes | memoryview] = {}
        self._texts: dict[str, Texts] = {}
        self._room = MAX_TEXTS

    def view(self, name: str) -> bytes | memoryview:
        """Return the content of a section as it comes, without a copy; empty if there is none."""
        content = self._content.get(name)
        if content is None:
            content = self._content[name] = self.sections.data(name) or b""
        return content

    def data(self, name: str) -> bytes:
        """Return the content of a section as bytes; empty if there is none."""
        content = self.view(name)
        if isinstance(content, bytes):
            return content
        whole = content.obj
        data = whole if isinstance(whole, bytes) and len(whole) == content.nbytes else bytes(content)
        self._content[name] = data
        return data

    def string(self, section: str, offset: int) -> bytes:
        """Return the string at an offset, without its end."""
        content = self.view(section)
        size = _PIECE
        while 0 <= offset < len(content):
            piece = bytes(content[offset : offset + size])
            end = piece.find(0)
            if end >= 0:
                return piece[:end]
            if offset + size >= len(content):
                break
            size *= 16
            if size > FREE_TEXT:
                budget.check()  # where all is spent, no further long name is read
        message = f"there is no string at {offset:#x} of {section}, which has {len(content)} bytes"
        raise MalformedFile("bad_string", message, spec="DWARF 5, 7.26").at(section=section, offset=offset)

    def texts(self, section: str) -> Texts:
        """Return the strings of a section."""
        texts = self._texts.get(section)
        if texts is None:
            texts = self._texts[section] = Texts(self, section)
        return texts

    def text(self, section: str, offset: int) -> str:
        """Return the string at an offset, decoded and remembered."""
        return self.texts(section)[offset]

    def make_room(self, size: int) -> None:
        """Account for a text that is to be remembered; forget all others when they have become too many."""
        self._room -= size
        if self._room < 0:
            self._room = MAX_TEXTS
            for texts in self._texts.values():
                texts.clear()

    def drop(self) -> None:
        """Free the memory; what is needed later is read again."""
        self._content.clear()
        for texts in self._texts.values():
            texts.clear()


class Texts(dict[int, str]):
    """The strings of a section by offset, each decoded and remembered when it is first asked for."""

    __slots__ = ("_section", "_source")

    def __init__(self, source: SectionSource, section: str) -> None:
        self._source = source
        self._section = section

    def __missing__(self, offset: int) -> str:
        data = self._source.string(self._section, offset)
        if len(data) > FREE_TEXT and not budget.take(len(data) // 4):
            data = b""  # the error would keep it
            budget.check()
        text = decode(data)
        self._source.make_room(len(text))
        self[offset] = text
        return text


def decode(data: bytes) -> str:
    """Decode a string. Bytes that are not UTF-8 become escapes, so that a text can always be printed."""
    return data.decode("utf-8", "backslashreplace")


class ImageSections:
    """The sections of an image by name, decompressed and relocated.

    What a truncated file still holds of a section is read. Sections of one name, as relocatable files have for each
    group, are in one piece, and references between them count from its beginning.
    """

    def __init__(self, image: Image) -> None:
        self.image = image
        self.byte_order = image.byte_order
        self.address_size = image.address_size
        self.name = image.name
        self.problems: list[DwarfGpuError] = []
        self._broken: dict[str, DwarfGpuError] = {}

    def data(self, name: str) -> bytes | memoryview | None:
        """Return the content of all sections with a name, joined in their order; a single one without a copy."""
        from dwarfgpu.objfile.elf.sections import joined

        if name in self._broken:
            raise self._broken[name].again()
        content = self.image.sections_named(name)
        if not content:
            return None
        errors: list[DwarfGpuError] = []
        data: bytes | memoryview = b""
        try:
            data = joined(self.image, name, (_content(section, errors) for section in content))
        except DwarfGpuError as error:
            errors.append(error)
        self.problems += errors
        if errors and not data:
            self._broken[name] = errors[-1]
            raise errors[-1]
        return data


def _content(section: Section, errors: list[DwarfGpuError]) -> bytes | memoryview:
    content, error = section.partial()
    section.release()  # the caller keeps it
    if error is not None:
        errors.append(error)
    return content
