"""A second description of GPU core files: offsets and bits as numbers, and a reader that uses nothing of the package.

It was written from the documents (``kfd_ioctl.h``, the HSA runtime, ROCdbgapi's architectures), not from the code, and
reads what the writer writes: a number that is wrong in one of the two descriptions is noticed.
"""

import struct

# processor: (VGPR unit of 64 lanes, of 32 lanes, kind, SGPR slots from the word?, LDS field (shift, mask), LDS unit)
UNITS = {
    "gfx900": (4, 0, "plain", True, (9, 0x1FF), 512),        "gfx906": (4, 0, "plain", True, (9, 0x1FF), 512),
    "gfx908": (4, 0, "twice", True, (9, 0x1FF), 512),        "gfx90a": (8, 0, "unified", True, (9, 0xFF), 512),
    "gfx942": (8, 0, "unified", True, (9, 0xFF), 512),       "gfx950": (8, 0, "unified", True, (9, 0xFF), 1280),
    "gfx1010": (4, 8, "plain", False, (10, 0xFF), 512),      "gfx1030": (4, 8, "plain", False, (10, 0xFF), 512),
    "gfx1100": (4, 8, "plain", False, (10, 0xFF), 512),      "gfx1200": (4, 8, "plain", False, (10, 0xFF), 512),
    "gfx1250": (0, 16, "plain", False, (10, 0x1FF), 1024)}  # fmt: skip
# processor: (mask of the slot, shift and mask of the engine, scratch bit, first bit, last bit)
WAVE_WORD = {
    "gfx900": (0x1FF, 11, 3, 15, 17, 16), "gfx906": (0x1FF, 11, 3, 15, 17, 16), "gfx908": (0x1FF, 11, 7, 15, 17, 16),
    "gfx90a": (0x1FF, 9, 7, 15, 17, 16),  "gfx942": (0x1FF, 9, 3, 15, 17, 16),  "gfx950": (0x1FF, 9, 3, 15, 17, 16),
    "gfx1010": (0x3FF, 24, 3, 11, 12, 29),                   "gfx1030": (0x3FF, 24, 3, 11, 12, 29),
    "gfx1100": (0x3FF, 24, 7, 11, 12, 29),                   "gfx1200": (0x3FF, 24, 7, 11, 12, 29),
    "gfx1250": (0x3FF, 24, 7, 11, 12, 13)}  # fmt: skip
GFX9 = {"m0": 0, "exec": 3, "status": 5, "trapsts": 6, "xnack_mask": 7, "mode": 9}
GFX10 = {"m0": 0, "exec": 3, "status": 5, "trapsts": 6, "xnack_mask": 7, "mode": 8, "flat_scratch": 9}
GFX12 = {
    "m0": 0, "exec": 3, "state_priv": 5, "excp_flag_priv": 6, "xnack_mask": 7, "mode": 8, "flat_scratch": 9,
    "excp_flag_user": 11, "trap_ctrl": 12, "status": 13}  # fmt: skip
HARDWARE = {
    **dict.fromkeys(("gfx900", "gfx906", "gfx908", "gfx90a", "gfx942", "gfx950"), GFX9),
    **dict.fromkeys(("gfx1010", "gfx1030", "gfx1100"), GFX10),
    **dict.fromkeys(("gfx1200", "gfx1250"), GFX12)}  # fmt: skip
PARKS = {"gfx900": 0, "gfx906": 0, "gfx908": 0, "gfx90a": 0, "gfx1010": 0, "gfx1100": 9, "gfx1200": 9}
"""The r_version from which a processor parks; the others never do."""
SCRATCH = {  # the shift and the mask of the size, its unit, and whether the waves are those of an engine
    "gfx11": (12, 0x7FFF, 256, True),
    "gfx12": (12, 0x3FFFF, 256, True),
    "": (12, 0x1FFF, 1024, False)}  # fmt: skip
VERSIONS = {
    90000: "gfx900", 90006: "gfx906", 90008: "gfx908", 90010: "gfx90a", 90402: "gfx942", 90500: "gfx950",
    100100: "gfx1010", 100300: "gfx1030", 110000: "gfx1100", 120000: "gfx1200", 120500: "gfx1250"}  # fmt: skip


def u32(data: bytes, at: int) -> int:
    return struct.unpack_from("<I", data, at)[0]


def u64(data: bytes, at: int) -> int:
    return struct.unpack_from("<Q", data, at)[0]


class Bytes:
    """The memory and the note of an ELF core file."""

    def __init__(self, *files: bytes) -> None:
        self.loads: list[tuple[int, bytes]] = []
        self.note = b""
        for data in files:
            assert data[:6] == b"\x7fELF\x02\x01"
            assert struct.unpack_from("<H", data, 16)[0] == 4
            start, stride, count = u64(data, 32), *struct.unpack_from("<HH", data, 54)
            for index in range(count):
                at = start + index * stride
                kind, offset, address, size = u32(data, at), u64(data, at + 8), u64(data, at + 16), u64(data, at + 32)
                content = data[offset : offset + size]
                if kind == 1 and size:
                    self.loads.append((address, content))
                elif kind == 4:
                    self._read_notes(content)

    def _read_notes(self, data: bytes) -> None:
        at = 0
        while at + 12 <= len(data):
            name_size, size, kind = struct.unpack_from("<III", data, at)
            name = data[at + 12 : at + 12 + name_size]
            begin = at + 12 + (name_size + 3) // 4 * 4
            if name == b"AMDGPU\0" and kind == 33:
                self.note = data[begin : begin + size]
            at = begin + (size + 3) // 4 * 4

    def read(self, address: int, size: int) -> bytes:
        for start, data in self.loads:
            if start <= address and address + size <= start + len(data):
                return data[address - start : address - start + size]
        raise AssertionError(f"{address:#x} is in no segment")


def read_waves(memory: Bytes) -> list[dict]:
    """All waves of a core file, each as a dictionary of its registers (numbers) and of what else is known of it."""
    note = memory.note
    runtime, agents, agent_size, queues, queue_size = (
        u64(note, 16),        u32(note, 24),        u32(note, 28),        u32(note, 32),        u32(note, 36),
    )  # fmt: skip
    assert u64(note, 0) == 1
    r_version = u32(memory.read(u64(note, 40), 4), 0)
    ttmp_setup = u32(note, 52)
    agent_at = 40 + runtime
    queue_at = agent_at + agents * agent_size
    known = {}
    for index in range(agents):
        at = agent_at + index * agent_size
        known[u32(note, at + 56)] = note[at : at + agent_size]
    waves = []
    for index in range(queues):
        entry = note[queue_at + index * queue_size :][:queue_size]
        if u32(entry, 52) != 2:
            continue
        agent = known[u32(entry, 44)]
        processor = VERSIONS[u32(agent, 88)]
        for xcc in range(max(1, u32(agent, 108))):
            waves += _area(memory, entry, agent, processor, xcc, r_version, ttmp_setup)
    return waves


def _area(memory, entry, agent, processor, xcc, r_version, ttmp_setup):
    base = u64(entry, 32) + xcc * u32(entry, 56)
    head = memory.read(base, 40)
    stack_at, stack_size, end, size = u32(head, 0), u32(head, 4), u32(head, 8), u32(head, 12)
    if not stack_size:
        return []
    assert stack_at + stack_size + size == end
    words = struct.unpack(f"<{stack_size // 4}I", memory.read(base + stack_at, stack_size))
    last = base + end
    position, state = 2, None
    waves = []
    is_gfx9 = processor.startswith("gfx9")
    while position < len(words):
        word = words[position]
        position += 1
        if word & 0x40000000:
            continue
        if word & 0x80000000:
            state = word
            position += 0 if is_gfx9 else 1
            continue
        wave, last = _wave(memory, processor, state, word, last)
        _identify(wave, processor, r_version, ttmp_setup)
        _scratch(memory, wave, entry, agent, processor, word, xcc)
        wave["xcc"] = xcc
        waves.append(wave)
    assert last == base + end - size
    return waves


def _wave(memory, processor, state, word, last):
    unit64, unit32, kind, has_sgprs, (lds_shift, lds_mask), lds_unit = UNITS[processor]
    is_gfx9 = processor.startswith("gfx9")
    lanes = 32 if not is_gfx9 and state >> 24 & 1 else 64
    blocks = (state & 0x3F) + 1
    vgprs = blocks * (unit32 if lanes == 32 else unit64)
    agprs = 0
    if kind == "twice":
        agprs = vgprs
    elif kind == "unified":
        arch = ((state >> 24 & 0x3F) + 1) * 4
        vgprs, agprs = arch, vgprs - arch
    shared = 8 * (state >> 26 & 0xF) if not is_gfx9 and lanes == 64 else 0
    slots = (state >> 6 & 7) * 16 if has_sgprs else 128
    lds = (state >> lds_shift & lds_mask) * lds_unit
    if processor == "gfx1200" and state >> 6 & 1:
        lds = 131072
    slot, engine_shift, engine_mask, scratch, first, final = WAVE_WORD[processor]
    own_lds = lds if word >> first & 1 else 0
    is_last_family = processor == "gfx1250"
    hardware_size = 512 if is_last_family else 64
    ttmp_size = 0 if is_last_family else 64
    size = (vgprs + agprs) * lanes * 4 + shared * 128 + slots * 4 + hardware_size + ttmp_size + own_lds
    top = last - (64 if is_gfx9 else 0)
    at = top - size
    data = memory.read(at, size)
    wave = {
        "lanes": lanes,                                        "lds": data[size - own_lds :],
        "is_first": bool(word >> first & 1),                   "is_last": bool(word >> final & 1)}  # fmt: skip
    wave["slot"], wave["engine"] = word & slot, word >> engine_shift & engine_mask
    wave["has_scratch"] = bool(word >> scratch & 1)
    row = lanes * 4
    for index in range(vgprs):
        wave[f"v{index}"] = struct.unpack_from(f"<{lanes}I", data, index * row)
    for index in range(agprs):
        wave[f"a{index}"] = struct.unpack_from(f"<{lanes}I", data, (vgprs + index) * row)
    scalar = (vgprs + agprs) * row + shared * 128
    hardware = scalar + slots * 4
    ttmps = hardware - 64 if is_last_family else hardware + hardware_size
    end = min(108, slots) if is_gfx9 else 108
    for index in range(min(end, 106)):
        wave[f"s{index}"] = u32(data, scalar + 4 * index)
    vcc = end - 2 if is_gfx9 else 106
    wave["vcc"] = u64(data, scalar + 4 * vcc) if lanes == 64 else u32(data, scalar + 4 * vcc)
    if is_gfx9:
        wave["flat_scratch"] = u64(data, scalar + 4 * (end - 6))
    for name, index in HARDWARE[processor].items():
        wide = name == "flat_scratch" or (name == "exec" and lanes == 64) or (name == "xnack_mask" and is_gfx9)
        wave[name] = u64(data, hardware + 4 * index) if wide else u32(data, hardware + 4 * index)
    if is_gfx9:  # as the library of AMD shows it
        wave[f"s{end - 4}"], wave[f"s{end - 3}"] = wave["xnack_mask"] & 0xFFFFFFFF, wave["xnack_mask"] >> 32
    wave["raw pc"] = u64(data, hardware + 4)
    for index in (4, 5, 6, 7, 8, 9, 10, 11, 13):
        wave[f"ttmp{index}"] = u32(data, ttmps + 4 * index)
    return wave, at


def _identify(wave, processor, r_version, ttmp_setup):
    ttmp = {index: wave[f"ttmp{index}"] for index in (4, 5, 6, 7, 8, 9, 10, 11, 13)}
    is_stopped = bool(ttmp[6] >> 30 & 1)
    trap = ttmp[6] >> 25 & 0xF
    if processor in ("gfx942", "gfx950"):
        place = (ttmp[8], ttmp[9], ttmp[10]), ttmp[11] & 0x3F, ttmp[11] >> 6 & 0x1FFFFFF
        is_valid = bool(ttmp_setup) and not (ttmp[11] >> 31 and ttmp[6] >> 31)
        is_stopped = is_stopped and bool(ttmp[11] >> 31)
    elif processor in ("gfx1200", "gfx1250"):
        y, z = (ttmp[7] & 0xFFFF, ttmp[7] >> 16) if ttmp[8] >> 30 & 1 else (0, 0)
        place = (ttmp[9], y, z), ttmp[8] >> 25 & 0x1F, ttmp[8] & 0x1FFFFFF
        is_valid = bool(ttmp_setup)
        is_stopped = is_stopped and bool(ttmp[8] >> 31)
        if processor == "gfx1250":
            trap = ttmp[11] >> 28
    else:
        place = (ttmp[8], ttmp[9], ttmp[10]), ttmp[11] & 0x3F, ttmp[6] & 0x1FFFFFF
        is_valid = bool(ttmp_setup) and not (r_version >= 10 and ttmp[6] >> 31)
    wave["is_stopped"] = is_valid and is_stopped
    wave["trap"] = trap if wave["is_stopped"] else 0
    wave["group"], wave["number"], wave["packet"] = place if is_valid else (None, None, None)
    pc = wave["raw pc"] & (1 << (57 if processor == "gfx1250" else 48)) - 1
    if wave["is_stopped"] and r_version >= PARKS.get(processor, 1 << 30):
        pc = ttmp[10 if processor == "gfx1200" else 7] | (ttmp[11] >> 7 & 0xFFFF) << 32
    wave["pc"] = pc


def _scratch(memory, wave, entry, agent, processor, word, xcc):
    if not wave["has_scratch"]:
        return
    shift, mask, unit, per_engine = SCRATCH[next(key for key in SCRATCH if processor.startswith(key))]
    read_pointer = u64(entry, 24)
    tmpring, base = u32(memory.read(read_pointer + 12, 4), 0), u64(memory.read(read_pointer + 32, 8), 0)
    waves, size = tmpring & 0xFFF, (tmpring >> shift & mask) * unit
    engines = u32(agent, 100) // u32(agent, 104)
    if per_engine:
        at = base + xcc * waves * engines * size + (waves * wave["engine"] + wave["slot"]) * size
    else:
        at = base + xcc * waves * size + (waves // engines * wave["engine"] + wave["slot"]) * size
    if processor in ("gfx942", "gfx950", "gfx1100", "gfx1200", "gfx1250"):
        assert wave["flat_scratch"] == at
    wave["scratch"] = memory.read(at, size)
