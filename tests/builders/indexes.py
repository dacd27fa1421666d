"""Bytes of ``.debug_names`` and ``.debug_aranges``."""

from dwarfgpu.encoding import encode_unsigned
from dwarfgpu.objfile.indexes.debug_names import NameTable, hash_of
from dwarfgpu.objfile.section_source import SectionSource
from tests.builders.dwarf import FORM_CODES, DictSections


def number(value, size, order="little"):
    return value.to_bytes(size, order)


class Names:
    """Writes ``.debug_names``: names with entries ``(code, values)``, each code with its tag and attributes."""

    def __init__(self, abbreviations, names, *, units=(0,), types=(), foreign=(), order="little", size=4, hashed=True):
        self.order, self.size = order, size
        self.strings = bytearray(b"\0")
        table = b""
        for code, (tag, *attributes) in abbreviations.items():
            table += encode_unsigned(code) + encode_unsigned(tag)
            for attribute, form in attributes:
                table += encode_unsigned(attribute) + encode_unsigned(FORM_CODES[form])
            table += b"\0\0"
        table += b"\0"
        count = max(1, len(names) // 2) if hashed else 0
        rows = sorted(names.items(), key=lambda row: hash_of(row[0].encode()) % count if count else 0)
        pool, offsets, strings = b"", [], []
        for name, entries in rows:
            offsets.append(len(pool))
            strings.append(len(self.strings))
            self.strings += name.encode() + b"\0"
            for code, values in entries:
                pool += encode_unsigned(code)
                for (_, form), value in zip(abbreviations[code][1:], values, strict=True):
                    width = {"data1": 1, "data2": 2, "ref4": 4, "data8": 8, "flag_present": 0, "data4": 4}[form]
                    pool += number(value, width, order) if width else b""
            pool += b"\0"
        buckets = [0] * count
        for i, (name, _) in enumerate(rows, 1):
            if hashed:
                bucket = hash_of(name.encode()) % count
                buckets[bucket] = buckets[bucket] or i
        augmentation = b"[abc:v1.2]\0\0"
        body = number(5, 2, order) + b"\0\0"
        for value in (len(units), len(types), len(foreign), count, len(rows), len(table), len(augmentation)):
            body += number(value, 4, order)
        body += augmentation
        body += b"".join(number(each, size, order) for each in (*units, *types))
        body += b"".join(number(each, 8, order) for each in foreign)
        body += b"".join(number(each, 4, order) for each in buckets)
        body += b"".join(number(hash_of(name.encode()), 4, order) for name, _ in rows) if hashed else b""
        body += b"".join(number(each, size, order) for each in (*strings, *offsets))
        length = (
            number(len(body + table + pool), 4, order)
            if size == 4
            else b"\xff" * 4 + number(len(body + table + pool), 8, order)
        )
        self.data = length + body + table + pool

    def table(self):
        sections = {".debug_names": self.data, ".debug_str": bytes(self.strings)}
        return NameTable(SectionSource(DictSections(sections, byte_order=self.order)), 0)


def aranges(*pairs, unit=0, order="little", address_size=8, segment_size=0, offset_size=4, version=2):
    start = 4 if offset_size == 4 else 12
    header = number(version, 2, order) + number(unit, offset_size, order) + bytes([address_size, segment_size])
    width = segment_size + 2 * address_size
    body = header + bytes(-(start + len(header)) % width)
    for low, size in (*pairs, (0, 0)):
        body += bytes(segment_size) + number(low, address_size, order) + number(size, address_size, order)
    return (number(len(body), 4, order) if offset_size == 4 else b"\xff" * 4 + number(len(body), 8, order)) + body
