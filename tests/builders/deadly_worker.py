"""What workers of a test load: they die of inputs whose names say so, as a file may end a process that reads it.

``kills`` ends the worker each time, ``kills-once`` the first time, ``stops-once`` stops its process without ending it,
``leaves-once`` cuts its connection with the scheduler, ``eats`` takes memory until the worker is ended.
"""

import os
import signal
from pathlib import Path

from dwarfgpu.fleet import answers, cluster

MARKS = Path(os.environ.get("DWARFGPU_TEST_MARKS", "/nonexistent"))
WORKERS = []


def dask_setup(worker) -> None:
    WORKERS.append(worker)


def is_first(name: str) -> bool:
    """Whether a worker meets an input for the first time."""
    try:
        (MARKS / name.replace("/", "_")).touch(exist_ok=False)
    except FileExistsError:
        return False
    return True


def rows_of(question, item):
    name = Path(item.name).name
    if "eats" in name:
        kept = []
        while True:
            kept.append(bytearray(os.urandom(1 << 20)) * 16)
    if "kills" in name and (MARKS / "calm").exists() is False and ("once" not in name or is_first(name)):
        os.kill(os.getpid(), signal.SIGKILL)
    if "stops-once" in name and is_first(name):
        os.kill(os.getpid(), signal.SIGSTOP)
    if "leaves-once" in name and is_first(name):
        worker = WORKERS[-1]
        worker.loop.add_callback(worker.batched_stream.comm.abort)
    if "waits" in name:
        while not (MARKS / "go").exists():
            signal.sigtimedwait([signal.SIGUSR2], 0.05)
    yield from answers.rows_of(question, item)


cluster.rows_of = rows_of
