"""Run the tests in forked processes: they are collected once, and each process takes the next few that are left.

``python -m pytest -p tests.forked --processes 2``, and ``--slow-part 0/4`` for a quarter of the slow tests, which begin
when the quick ones have ended. What a process reports is shown by the first one, which collected.
"""

import os
import signal
import struct
import time
import warnings
from collections.abc import Iterator
from itertools import chain, groupby
from multiprocessing.connection import Connection, Pipe, wait
from typing import NoReturn

import pytest

TOGETHER = 128
"""How many tests of a file a process takes at once; slow ones are taken one by one."""
NUMBER = struct.Struct("<H")
STARTED = time.monotonic()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--processes", type=int, default=1, metavar="N", help="run the tests in N forked processes (1)")
    parser.addoption("--slow-part", default="0/1", metavar="K/N", help="of the slow tests each Nth, from K on (0/1)")
    parser.addoption("--slow-near", action="append", default=[], metavar="FILE", help="of those in FILE each (N/2)th")
    parser.addoption("--slow-minutes", type=float, metavar="N", help="skip the slow tests that have not begun by then")
    parser.addoption("--minutes", type=float, metavar="N", help="of processor time for each process; skip the rest")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave slow tests out that are not of the part that was asked for, and put the others last."""
    first, step = map(int, config.option.slow_part.split("/"))
    near = {config.rootpath / name for name in config.option.slow_near}
    slow = [item for item in items if _is_slow(item)]
    steps = [max(step // 2, 1) if item.path in near else step for item in slow]
    left = {item for number, (item, each) in enumerate(zip(slow, steps, strict=True)) if (number - first) % each}
    config.hook.pytest_deselected(items=[item for item in slow if item in left])
    items[:] = sorted((item for item in items if item not in left), key=_is_slow)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a test that begins after the time for its kind is over."""
    minutes, slow_minutes = item.config.option.minutes, item.config.option.slow_minutes
    if minutes is not None and sum(os.times()[:4]) >= 60 * minutes:
        pytest.skip(f"it had not begun after {minutes:g} min of processor time")
    if slow_minutes is not None and _is_slow(item) and time.monotonic() - STARTED > 60 * slow_minutes:
        pytest.skip(f"the {slow_minutes:g} minutes of slow tests are over")


def _is_slow(item: pytest.Item) -> bool:
    return item.get_closest_marker("slow") is not None


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool | None:
    """Fork, and show what the processes report; None leaves the tests to pytest."""
    count = session.config.option.processes
    if count < 2 or session.config.option.collectonly or session.testsfailed:
        return None
    session.config._tmp_path_factory.getbasetemp()  # type: ignore[attr-defined]
    batches = list(_batches(session.items))
    left, fill = os.pipe()
    os.write(fill, b"".join(NUMBER.pack(number) for number in range(len(batches))))
    os.close(fill)
    processes = {}
    for _ in range(count):
        reader, writer = Pipe(duplex=False)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # threads of numpy's libraries know about forks
            process = os.fork()
        if not process:
            for each in (*processes, reader):  # else nobody would see that the first process has closed them
                each.close()
            _work(session, batches, left, writer)
        writer.close()
        processes[reader] = process
    try:
        _show(session, list(processes))
    finally:
        for reader, process in processes.items():
            reader.close()  # ends a process that waits to write, even if its test keeps the interrupt
            os.kill(process, signal.SIGINT)
            os.waitpid(process, 0)
    return True


def _batches(items: list[pytest.Item]) -> Iterator[list[pytest.Item]]:
    for (_, is_slow), group in groupby(items, key=lambda item: (item.path, _is_slow(item))):
        tests = list(group)
        size = 1 if is_slow else TOGETHER
        for start in range(0, len(tests), size):
            yield tests[start : start + size]


def _work(session: pytest.Session, batches: list[list[pytest.Item]], left: int, writer: Connection) -> NoReturn:
    """Run what the other processes leave, in a new process."""
    status = 1
    try:
        plugins = session.config.pluginmanager
        capture = plugins.getplugin("capturemanager")
        capture.stop_global_capturing()  # the files that it writes to belong to all processes
        capture.start_global_capturing()
        plugins.unregister(name="terminalreporter")
        plugins.register(Sender(session.config, writer))
        tests = chain.from_iterable(batches[NUMBER.unpack(number)[0]] for number in iter(lambda: os.read(left, 2), b""))
        test = next(tests, None)
        while test is not None:
            following = next(tests, None)
            session.config.hook.pytest_runtest_protocol(item=test, nextitem=following)
            test = following
        writer.send(None)
        status = 0
    finally:
        os._exit(status)


class Sender:
    """Sends the reports of each test to the process that shows them."""

    def __init__(self, config: pytest.Config, writer: Connection) -> None:
        self._hook, self._config, self._writer = config.hook, config, writer
        self._reports: list[object] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._reports.append(self._hook.pytest_report_to_serializable(config=self._config, report=report))

    def pytest_runtest_logfinish(self, nodeid: str, location: tuple[str, int | None, str]) -> None:
        self._writer.send((nodeid, location, self._reports))
        self._reports = []


def _show(session: pytest.Session, readers: list[Connection]) -> None:
    """Hand what the processes report to pytest, until all of them are done."""
    config, hook, last = session.config, session.config.hook, "the first test"
    while readers:
        for reader in wait(readers):
            try:
                message = reader.recv()  # type: ignore[union-attr]
            except EOFError:
                pytest.exit(f"a process with tests has died; {last} was the last that was reported", returncode=1)
            if message is None:
                readers.remove(reader)  # type: ignore[arg-type]
                continue
            last, location, reports = message
            hook.pytest_runtest_logstart(nodeid=last, location=location)
            for data in reports:
                hook.pytest_runtest_logreport(report=hook.pytest_report_from_serializable(config=config, data=data))
            hook.pytest_runtest_logfinish(nodeid=last, location=location)
            if session.shouldfail:
                raise session.Failed(session.shouldfail)
