"""Kernels that are interpreted and executed as compiled forms, and what waves have then."""

from itertools import product
from math import inf

import numpy as np

from dwarfgpu.execution.batch import NOTHING, UNSET, return_addresses
from dwarfgpu.execution.launch.launch import launch, machine_for

PROCESSORS = ("gfx803", "gfx900", "gfx90a", "gfx942", "gfx1030", "gfx1100", "gfx1200")
COUNT = 256
RANDOM = np.random.default_rng(3)
NUMBERS = RANDOM.integers(1, 300, COUNT).astype(np.int32)
ZEROS = np.zeros(COUNT, np.int32)
SINGLES = RANDOM.random(COUNT, np.float32)
BYTES = np.arange(8 * COUNT).astype(np.int8)
KERNELS = {
    "saxpy": (SINGLES, SINGLES * 2, 1.5, COUNT - 3),
    "col": (ZEROS, NUMBERS),
    "red": (np.zeros(COUNT, np.int64), NUMBERS, 512),
    "dbl": (np.zeros(COUNT), RANDOM.random(COUNT), 12345678901, 77),
    "sub": (ZEROS, NUMBERS, NUMBERS.astype(np.uint8), NUMBERS.astype(np.int16)),
    "recursive": (ZEROS, NUMBERS % 6),
    "private_array": (ZEROS, NUMBERS),
    "counted": (ZEROS, NUMBERS, np.zeros(2, np.int32)),
    "by_number": (ZEROS, NUMBERS, 3),
    "narrow": (np.zeros(COUNT, np.float32), np.zeros(COUNT, np.uint16), SINGLES, np.zeros(2 * COUNT, np.float16)),
    "bytes": (np.zeros(2 * COUNT, np.int16), BYTES, BYTES),
    "long_body": (ZEROS, NUMBERS, 2),
    "in_rows": (ZEROS, NUMBERS, 20),
    "tiles": (ZEROS, NUMBERS, 9),
    "one_address": (ZEROS, NUMBERS, 9),
    "parting": (ZEROS, NUMBERS, 12),
    "kinds": (np.arange(COUNT) << 33, NUMBERS, 64),
    "quotients": (SINGLES, SINGLES.astype(float) + 0.1, RANDOM.random(COUNT).astype(np.float16), NUMBERS, 5),
    "totals": (np.zeros(2, np.float32), np.zeros(1), np.zeros(2, np.int64), np.zeros(2, np.uint32), NUMBERS, 4),
}
"""The arguments of the kernels."""


def ready(path, kernel, hot, count=COUNT, *, in_step=False):
    """Return a device that is about to run a kernel, and its launch; with ``hot`` 0 it interprets.

    Else what so many waves have been at is a stretch.
    """
    machine = machine_for(path, kernel)
    launched = start(machine, path, kernel, count)
    return prepared(machine, hot, in_step=in_step), launched


def prepared(machine, hot, *, in_step=False):
    """Return the device of a machine whose waves are about to run: one after the other, or in step."""
    machine.jit = "on"
    machine.past = in_step or None
    machine.device.use_compiled()
    machine.device.compiled.hot = hot
    machine.device.compiled.wait = 0 if hot else inf
    return machine.device


def start(machine, path, kernel, count):
    """Launch a kernel, for the first time or again."""
    args = [value.copy() if isinstance(value, np.ndarray) else value for value in KERNELS[kernel]]
    private = 1024 if kernel == "recursive" else None
    group = min(count, 128)
    return launch(machine, path, kernel, grid=(count,), work_group=(group,), args=args, private_size=private)


def state(device):
    """Return everything that waves have, and where they are, by their number."""

    def number(value, row):
        return "unset" if value is UNSET else value if isinstance(value, int) else int(value[row, 0])

    def column(value, row, batch):
        return None if value is NOTHING else np.broadcast_to(value, (batch.count, batch.lanes))[row].tobytes()

    return {
        wave: (
            reason, batch.pc, batch.mode, number(batch.scc, row), number(batch.exec, row),
            return_addresses(batch.each_calls()[row]),
            [number(value, row) for value in batch.scalar],
            [column(value, row, batch) for value in (*batch.vector, *batch.accumulation)],
        )
        for batch, reason in device.every_batch()
        for row, wave in enumerate(batch.waves.tolist())
    }  # fmt: skip


def memory(device):
    """Return all bytes that the waves can reach."""
    segments = [segment.data.tobytes() for segment in device.memory.memory.segments]
    return [*segments, device.memory.local.data.tobytes(), device.memory.scratch.data.tobytes()]


def assert_same(one, other):
    assert one.executed == other.executed
    assert state(one) == state(other)
    assert memory(one) == memory(other)
    assert [batch.waves.tolist() for batch in one.ended] == [batch.waves.tolist() for batch in other.ended]


def order_of(device):
    """Return the order of the batches of a device, and what they have spent."""
    return [(batch.pc, batch.spent, batch.waves.tolist()) for batch in device.batches]


BEFORE_GFX9 = KERNELS.keys() - {"totals", "narrow", "sub", "quotients"}
"""The kernels whose source GFX8 has all instructions for."""


def in_turn(count, *, of=KERNELS, also=()):
    """Return the quick runs, and each kernel at each level on so many processors, which change from one to the next.

    Each processor has then kernels of both levels. What differs between processors are single instructions, which
    ``test_every_operation`` has all of, and what differs between kernels is how they are put together.
    """
    found = dict.fromkeys(also)
    for number, (kernel, level) in enumerate(product(of, ("O0", "O2"))):
        ones = PROCESSORS[kernel not in BEFORE_GFX9 :]
        found |= dict.fromkeys((ones[(number + 3 * each) % len(ones)], level, kernel) for each in range(count))
    return [*found]


JUMPS = """
down: v_writelane_b32 v4, s30, s32; v_writelane_b32 v5, s31, s32; s_add_u32 s32, s32, 1
  s_cmp_eq_u32 s32, 3; s_cbranch_scc1 deep; s_call_b64 s[30:31], down
behind: s_sub_u32 s32, s32, 1; v_readlane_b32 s30, v4, s32; v_readlane_b32 s31, v5, s32; s_setpc_b64 s[30:31]
deep: s_getpc_b64 s[6:7]; here: s_add_u32 s6, s6, behind-here; s_addc_u32 s7, s7, -1; s_setpc_b64 s[6:7]
"""
CALLED = """v_readfirstlane_b32 s8, v0; s_call_b64 s[30:31], down
  s_getpc_b64 s[30:31]; link: s_add_u32 s30, s30, after-link; s_addc_u32 s31, s31, 0; s_cmp_eq_u32 s8, 0
  s_cselect_b32 s30, s30, 0; s_getpc_b64 s[4:5]; from: s_add_u32 s4, s4, there-from; s_addc_u32 s5, s5, 0
  s_setpc_b64 s[4:5]; after: s_nop 0; there: s_nop 1
"""
