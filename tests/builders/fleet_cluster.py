"""A scheduler with workers in processes of their own: prints its address, and ends with its standard input.

It is started as a program, so that what dies in it dies as it does on a cluster.
"""

import contextlib
import logging
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DEADLY = Path(__file__).with_name("deadly_worker.py")


def environment(marks: Path | None = None, **more: str) -> dict[str, str]:
    """The environment of the processes of a test; with ``marks`` workers die of inputs whose names say so."""
    env = {**os.environ, "PYTHONPATH": str(ROOT), "DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL": "20s", **more}
    if marks is not None:
        env["DASK_DISTRIBUTED__WORKER__PRELOAD"] = f'["{DEADLY}"]'
        env["DWARFGPU_TEST_MARKS"] = str(marks)
    return env


@contextlib.contextmanager
def cluster(workers: int, *, memory: str = "0", env: dict[str, str] | None = None) -> Iterator[str]:
    """Start a scheduler with workers; give its address."""
    with subprocess.Popen(
        [sys.executable, __file__, str(workers), memory],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=env or environment(),
    ) as process:
        try:
            address = process.stdout.readline().strip()
            assert address.startswith("tcp://"), address
            yield address
        finally:
            process.stdin.close()
            try:
                process.wait(120)
            except subprocess.TimeoutExpired:
                process.kill()


def main() -> None:
    from distributed import LocalCluster

    workers, memory = sys.argv[1:]
    with LocalCluster(
        n_workers=int(workers),
        threads_per_worker=1,
        processes=True,
        dashboard_address="127.0.0.1:0",
        scheduler_port=0,
        memory_limit=memory if memory != "0" else 0,
        silence_logs=logging.CRITICAL,
    ) as started:
        print(started.scheduler_address, flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main()
