"""Batches of inputs, the workers that answer them, and what happens when one dies."""

from __future__ import annotations

import gc
import hashlib
import signal
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any

from dwarfgpu.children import folder_of_run
from dwarfgpu.errors import UsageError
from dwarfgpu.fleet.answers import ANSWERED, FAILED, SET_ASIDE, Question, rows_of
from dwarfgpu.fleet.inputs import Input, fetched
from dwarfgpu.fleet.parts import AnswerFolder, InputOutcome, Journal, PartWriter, outcomes_of
from dwarfgpu.immutable import frozen

if TYPE_CHECKING:
    from distributed import Client, Future


MOST_INPUTS = 128
MOST_BYTES = 1 << 28
"""The most bytes of the files of a batch with several inputs."""
SHARE = 2
"""A batch has at most this part of what is left for each worker, so that all end at about the same time."""
DEATHS = 2
"""An input that has ended so many workers is set aside."""
MOST_FAILURES = 4
"""How often a batch may fail for another reason than the end of a worker."""
LOOKS = 1
"""Seconds after which a worker looks whether the run goes on."""
PATIENCE = 60
"""Seconds in which a worker says why it could not write a part."""
NOT_SHARED = "--out must name a folder that this machine and all workers share, and what a worker wrote is not here"
ENDED = "the run has ended, or the worker does not share its folder"
INSTALL = "`pip install '.[fleet]'` in a checkout of dwarfgpu installs what it needs"
LOCAL = {
    "distributed.admin.system-monitor.interval": "5s",
    "distributed.admin.tick.interval": "1s",
    "distributed.scheduler.active-memory-manager.start": False,
    "distributed.scheduler.http.routes": [],
    "distributed.scheduler.worker-saturation": 1.0,
    "distributed.worker.http.routes": [],
    "distributed.worker.profile.enabled": False,
}
"""How Dask runs on this machine: without pages, which every user of the machine could read, and with few measurements
of itself, which take time of the processors that answer.

A worker has the batch that it answers and no other, so that the last ones go to those that are ready first.
"""
HERE = "127.0.0.1"
FORKS = "forkserver"
"""How workers of this machine begin: as copies of one process that has imported what they need, where that is safe."""
IMPORTED = ("distributed", "pyarrow.parquet", "dwarfgpu.fleet.cluster", "dwarfgpu.questions.variables")
"""What that process imports."""
COLLECTED = 50_000
"""How many objects are made until garbage is collected; an input makes many, and few of them are garbage in cycles."""
one_at_a_time = threading.Lock()
"""A process asks one question at a time: costs, and which input ends a worker, are known by process."""


@frozen
class Batch:
    """Some inputs that one worker answers, and where the answers go."""

    name: str
    question: Question
    inputs: tuple[Input, ...]
    folder: str
    token: str
    """The run that it belongs to."""


def split(inputs: Sequence[Input], workers: int) -> Iterator[tuple[Input, ...]]:
    """Yield batches: many small files together, and a large file alone; fewer and fewer, the fewer are left."""
    batch: list[Input] = []
    size = most = 0
    for index, item in enumerate(inputs):
        if batch and (len(batch) >= most or size + item.size > MOST_BYTES):
            yield tuple(batch)
            batch, size = [], 0
        if not batch:
            most = min(MOST_INPUTS, (len(inputs) - index) // (max(1, workers) * SHARE))
        batch.append(item)
        size += item.size
    if batch:
        yield tuple(batch)


def make_batches(question: Question, inputs: Sequence[Input], folder: str, workers: int) -> list[Batch]:
    """Return the batches of a run."""
    token = uuid.uuid4().hex
    batches = []
    for index, items in enumerate(split(inputs, workers)):
        names = "\0".join((question.text, *(item.name for item in items)))
        digest = hashlib.sha256(names.encode("utf-8", "surrogateescape")).hexdigest()
        batches.append(Batch(f"{index:06}-{digest[:16]}", question, items, folder, token))
    return batches


# --- What a worker does -----------------------------------------------------------------------------------------------


def answer_batch(batch: Batch) -> str:
    """Answer the inputs of a batch in this process, and write the part; return why that cannot be done.

    No exception leaves it, because not every one comes whole through the connections of a cluster.
    """
    _spare_collections()
    with one_at_a_time:
        try:
            return _answer_batch(batch)
        except Exception as error:  # noqa: BLE001 (the folder of the answers cannot be written, for example)
            return f"{type(error).__name__}: {error}"


@cache
def _spare_collections() -> None:
    """Collect garbage seldom in a worker, as a command does, and not what it has imported."""
    gc.set_threshold(COLLECTED)
    gc.freeze()


def _answer_batch(batch: Batch) -> str:
    folder = AnswerFolder(batch.folder)
    if not folder.is_current(batch.token):
        return ENDED
    path = folder.part(batch.question, batch.name)
    if path.exists():  # the worker that wrote it has died before it could say so
        return ""
    journal = Journal(folder, f"{batch.name}-{batch.token}")  # an input is not to blame for the end of an earlier run
    deaths = journal.deaths()
    writer = PartWriter(path, batch.question)
    looked = time.monotonic()
    try:
        for index, item in enumerate(batch.inputs):
            if time.monotonic() - looked > LOOKS:
                if not folder.is_current(batch.token):
                    return ENDED
                looked = time.monotonic()
            if deaths[index] >= DEATHS:
                message = f"{deaths[index]} workers ended while they worked on it"
                row = {"state": "error", "error_class": "defect", "error_kind": "worker_ended", "message": message}
                writer.add(item.name, row)
                writer.outcomes.append(InputOutcome(item.name, SET_ASIDE, 1, item.size, message))
                continue
            with journal.noted(index), fetched(item) as here:
                writer.outcomes.append(_answer(writer, batch.question, item, here))
        is_current = folder.is_current(batch.token)
        if is_current:
            writer.close()
            journal.remove()
        return "" if is_current else ENDED
    finally:
        writer.discard()


def _answer(writer: PartWriter, question: Question, item: Input, here: Input) -> InputOutcome:
    """Write the rows of an input, whose files are where ``here`` says."""
    count, error, status = 0, "", ANSWERED
    for row in rows_of(question, here):
        if row["state"] == "error" and row.get("variable") is None:
            status, error = FAILED, f"{row.get('message')}"
        writer.add(item.name, row)
        count += 1
    return InputOutcome(item.name, status, count, item.size, error)


# --- The scheduler ----------------------------------------------------------------------------------------------------


def needs_extra() -> None:
    """Raise an error if what the fleet needs is not installed."""
    from importlib.util import find_spec

    missing = [name for name in ("cryptography", "distributed", "pyarrow") if find_spec(name) is None]
    if missing:
        names = ", ".join(missing)
        raise UsageError(f"fleet needs {names}, not installed here", kind="not_installed", hint=INSTALL)


def local_workers(scheduler: str) -> int | None:
    """Return how many workers of this machine are asked for: ``local`` or ``local:N``; None for an address."""
    kind, _, number = scheduler.partition(":")
    if kind != "local":
        if "://" not in scheduler:
            message = f"{scheduler!r} is not a scheduler"
            raise UsageError(message, hint="write local, local:N, or an address such as tcp://10.0.0.1:8786")
        return None
    if number and (not number.isdigit() or not int(number)):
        raise UsageError(f"{scheduler!r}: the number of workers is 1 or more")
    from dask.system import CPU_COUNT

    return int(number) if number else CPU_COUNT


def begin_workers() -> None:
    """Start the process that local workers are copies of; it imports while others do more, and ^C ends it."""
    if sys.platform == "linux":
        from multiprocessing import forkserver, get_context

        get_context(FORKS).set_forkserver_preload(list(IMPORTED))
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)
        try:
            forkserver.ensure_running()
        finally:
            signal.signal(signal.SIGINT, before)


def _way_to_begin() -> dict[str, str]:
    """Return how Dask begins workers of this machine."""
    if sys.platform != "linux":
        return {}
    from distributed import utils

    utils._forkserver_preload_set = True  # noqa: SLF001 (else it imports numpy, pandas and so on here for that process)
    return {"distributed.worker.multiprocessing-method": FORKS}


@contextmanager
def connected(scheduler: str = "local", *, memory: str | None = None) -> Iterator[Client]:
    """Connect with a scheduler, or start one with workers on this machine, which ends with the block.

    The scheduler and the workers of this machine run what they receive, so they speak only with each other: over TLS,
    with a certificate of this run, on 127.0.0.1. They show no pages.
    """
    needs_extra()
    import logging

    import dask.config
    from distributed import Client, LocalCluster
    from distributed.security import Security

    workers = local_workers(scheduler)
    if workers is None:
        try:
            client = Client(scheduler, set_as_default=False)
        except (OSError, ValueError) as error:
            raise UsageError(f"there is no scheduler at {scheduler}: {error}", kind="no_scheduler") from None
        with client:
            yield client
        return
    begin_workers()
    with dask.config.set({**LOCAL, **_way_to_begin(), "temporary-directory": str(folder_of_run())}):
        try:
            cluster = LocalCluster(
                n_workers=workers,
                threads_per_worker=1,
                processes=True,
                host=HERE,
                protocol="tls://",
                security=Security.temporary(),
                dashboard_address=f"{HERE}:0",
                scheduler_kwargs={"dashboard": False},
                scheduler_port=0,
                memory_limit=memory or "auto",
                silence_logs=logging.CRITICAL,
            )
        except (OSError, RuntimeError) as error:  # the main module cannot be imported again, for example
            message = f"workers of this machine cannot be started: {error}"
            hint = "run `dwarfgpu fleet`, or a script whose work is below `if __name__ == '__main__':`"
            raise UsageError(message, kind="no_workers", hint=hint) from None
        with cluster, Client(cluster, set_as_default=False) as client:
            yield client


def run_batches(client: Client, batches: Sequence[Batch], done: Callable[[Batch, list[InputOutcome]], object]) -> None:
    """Have all batches answered; ``done`` is told of each that is whole, with what became of its inputs.

    A batch whose worker dies is given to another one. The notes of the batch say which input each worker died of, so
    that after the second one the input is set aside and the rest of the batch is answered.
    """
    from asyncio import CancelledError

    from distributed import KilledWorker, as_completed

    waiting: dict[tuple[str, str], tuple[Batch, int]] = {}

    def submit(some: Sequence[Batch], attempt: int) -> list[Future]:
        keys = [(f"answers-{batch.token}", f"{batch.name}-{attempt}") for batch in some]
        waiting.update((key, (batch, attempt)) for key, batch in zip(keys, some, strict=True))
        futures: list[Future] = client.map(answer_batch, some, key=keys, pure=False)
        return futures

    completed: Any = as_completed(submit(batches, 0), loop=client.loop)
    for future in completed:
        batch, attempt = waiting.pop(future.key)
        path = AnswerFolder(batch.folder).part(batch.question, batch.name)
        reason, most = "", MOST_FAILURES
        if not path.exists():  # what a worker says is asked for only then: it may have died meanwhile
            try:
                reason = future.result(timeout=PATIENCE) or NOT_SHARED
            except KilledWorker as error:  # each of its inputs may end as many workers
                reason, most = str(error), DEATHS * len(batch.inputs) + MOST_FAILURES
            except (Exception, CancelledError) as error:  # noqa: BLE001 (the connection is lost, for example)
                reason = f"{type(error).__name__}: {error}"
        future.release()
        if not reason:
            done(batch, outcomes_of(path))
        elif attempt < most:
            completed.update(submit([batch], attempt + 1))
        else:
            message = f"{batch.inputs[0].name} and the inputs after it cannot be answered: {reason}"
            raise UsageError(message, kind="cluster", hint="--resume continues with the remaining inputs")
