"""``dwarfgpu serve``: opening what is served, and waiting for GDB at a port, a socket or standard input."""

from __future__ import annotations

import os
import shlex
import socket
from contextlib import ExitStack, suppress
from functools import partial
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from dwarfgpu.errors import UsageError
from dwarfgpu.objfile.elf.core import read_core
from dwarfgpu.objfile.elf.header import PT_LOAD
from dwarfgpu.objfile.opening import open_image
from dwarfgpu.program.code.code_object import check_has_kernels, opened
from dwarfgpu.program.code.loaded import LoadedCode
from dwarfgpu.regular_files import signals_raise, whole_output
from dwarfgpu.serve.packets import MAX_PACKET, converse
from dwarfgpu.serve.remote import SIGTRAP, RemoteStub, ServedState
from dwarfgpu.serve.served_files import as_host_code
from dwarfgpu.states.gpu_cores import is_about_waves, open_gpu_stopped
from dwarfgpu.states.host_cores import open_core
from dwarfgpu.states.opening import codes_of, is_elf, load_code, open_snapshot
from dwarfgpu.states.stopped import OpenOptions, without_part

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from dwarfgpu.machines.machine import Machine
    from dwarfgpu.program.code.code_object import CodeObject

    Say = Callable[[str], None]

LINUX_SIGNALS = {7: 10, 10: 30, 12: 31, 17: 20, 18: 19, 19: 17, 20: 18, 23: 16, 29: 23, 30: 32, 31: 12}
"""The signals that GDB numbers otherwise than Linux on x86-64."""
SIGNALS = {"SIGILL": 4, "SIGTRAP": 5, "SIGABRT": 6, "SIGFPE": 8, "SIGBUS": 10, "SIGSEGV": 11}
"""The numbers that GDB has for signals."""
HOST = "127.0.0.1"
MAX_PORT = (1 << 16) - 1
MAX_CODE = 1 << 28
"""How many bytes a segment of code may have in memory to be served."""


# --- What is served -----------------------------------------------------------------------------------------------


def open_served(state: str, file: str | None = None, *, force: bool = False) -> tuple[ServedState, list[str]]:
    """Open a snapshot, or a core file, with the code it executes; return also what could not be read."""
    code = None if file is None else opened(file)
    if is_elf(state):
        if not is_about_waves([state], code):
            return _core(without_part(state), code, force=force)
        stopped = open_gpu_stopped([state], code, OpenOptions(force))
        return _with_code(stopped.machine, state, stopped.loaded.codes, map(str, stopped.found))
    hint = "only a snapshot, which has a schema, or a core file can be served"
    machine: Any = open_snapshot(state, force=force, hint=hint)
    return served_waves(machine, state, code, force=force)


def served_waves(
    machine: Machine, name: str, file: CodeObject | None = None, *, force: bool = False
) -> tuple[ServedState, list[str]]:
    """Serve a machine with the code objects it has loaded; ``file`` is one of them, wherever it is now."""
    if file is not None:
        loaded, errors = load_code(machine, file, OpenOptions(force))
        return _with_code(machine, name, loaded.codes, map(str, errors))
    codes, problems = codes_of(machine)
    return _with_code(machine, name, codes, [f"{error}: its code is not served" for error in problems])


def _with_code(
    machine: Any, name: str, codes: Iterable[LoadedCode], problems: Iterable[str]
) -> tuple[ServedState, list[str]]:
    """Serve a machine with code objects. GDB gets those without a file of their own as files of the machine."""
    served = ServedState(machine, name)
    for wave, name_ in enumerate(machine.ids):
        stop = machine.stop_of(wave)
        if stop is not None and stop.signal is not None:
            served.signals[name_] = SIGNALS[stop.signal]
    crashed = [name_ for name_, number in served.signals.items() if number != SIGTRAP] or list(served.signals)
    served.first = machine.wave_named(crashed[0]) if crashed else 0
    for loaded in codes:
        code, bias = loaded.file, loaded.bias
        if not code.image.segments:
            continue
        _add_code(served, code, bias)
        digest = sha256(code.image.data).hexdigest()
        if code.image.path is not None and code.image.name == code.image.path:
            path = os.path.realpath(code.image.path)
        else:
            path = _in_cache(bytes(code.image.data), digest)
        if served.program:
            served.libraries.append((path, bias))
        else:  # GDB loads libraries only beside a program
            served.program, served.load_address = path, bias
        served.files.append((path, as_host_code(code.image)))
        served.hashes[path] = digest
    return served, [*problems]


def _in_cache(data: bytes, digest: str) -> str:
    """Return a file with a code object that is in no file of its own, such as one in the memory of a process."""
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")  # noqa: PTH111
    path = os.path.join(cache, "dwarfgpu", "code", f"{digest[:32]}.co")  # noqa: PTH118
    if not os.path.exists(path):  # noqa: PTH110
        with suppress(OSError, UsageError):  # GDB can read it from the server alone
            os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)  # noqa: PTH103, PTH120
            with whole_output(path) as file:
                file.write(data)
    return path


def _add_code(served: ServedState, code: CodeObject, bias: int) -> None:
    for segment in code.image.segments:
        if segment.type == PT_LOAD and segment.memory_size <= MAX_CODE:
            data = bytes(code.image.data[segment.offset : segment.offset + segment.file_size])
            served.code.append((segment.address + bias, bytearray(data.ljust(segment.memory_size, b"\0"))))


def _core(path: str, program: CodeObject | None, *, force: bool) -> tuple[ServedState, list[str]]:
    core = read_core(open_image(path))
    if program is None:
        file = next((mapping.path for mapping in core.mappings if os.path.isfile(mapping.path)), None)  # noqa: PTH113
        if file is None:
            raise UsageError(f"{path} names no program that is here", hint="name it: `dwarfgpu serve CORE PROGRAM`")
        program = opened(file)
    stopped = open_core(program, path, OpenOptions(force))
    signals = {str(thread.pid): LINUX_SIGNALS.get(thread.signal, thread.signal) for thread in core.threads}
    served = ServedState(stopped.machine, path, auxiliary=core.auxiliary, signals=signals)
    if program.image.path is not None:
        served.program = os.path.realpath(program.image.path)
    return served, [str(problem) for problem in stopped.found]


def launched(options: Any) -> tuple[ServedState, list[str]]:
    """Launch a kernel, and serve its waves."""
    from dwarfgpu.execution.launch.launch import launch, machine_for
    from dwarfgpu.execution.launch.planning import arguments, sizes

    if options.file is not None:
        raise UsageError("--launch takes one file, the code of the kernel", hint="leave out the second one")
    if options.grid is None or options.work_group is None:
        raise UsageError("--launch needs --grid and --work-group")
    code, kernel = opened(options.state), options.launch
    check_has_kernels(code)
    machine, args = machine_for(code, kernel), arguments(options.arg or (), "--arg")
    grid, work_group = sizes(options.grid, "--grid"), sizes(options.work_group, "--work-group")
    launch(machine, code, kernel, grid=grid, work_group=work_group, args=args or None)
    return served_waves(machine, f"{kernel} of {options.state}")


# --- The command --------------------------------------------------------------------------------------------------


def serve(options: Any, say: Say) -> int:
    """Serve a machine as the options of the command line say; ``say`` writes a line for the user."""
    if options.launch is None:
        for name in ("grid", "work_group", "arg"):
            if getattr(options, name):
                option = f"--{name.replace('_', '-')}"
                raise UsageError(f"{option} is for a kernel that is launched", hint="--launch KERNEL names it")
        served, problems = open_served(options.state, options.file, force=options.force)
    else:
        served, problems = launched(options)
    if not served.machine.wave_count:
        raise UsageError(f"{served.name} has no waves", kind="no_wave")
    for problem in problems:
        say(f"warning: {problem}")
    if options.stdio:
        converse(partial(os.read, 0, MAX_PACKET), _write, RemoteStub(served).answers)
        return 0
    listen(served, options, say)
    return 0


def _write(data: bytes) -> None:
    """Write to the GDB that has started this program (``target remote | dwarfgpu serve ...``)."""
    while data:
        data = data[os.write(1, data) :]


def listen(served: ServedState, options: Any, say: Say) -> None:
    """Serve one connection after the other; with ``--once`` only one."""
    with signals_raise(), ExitStack() as stack:
        listener, address = _listener(options, stack)
        for line in greeting(served, address):
            say(line)
        while True:
            connection, _ = listener.accept()
            if options.socket is None:
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            say("[GDB has connected]")
            with connection:
                converse(partial(connection.recv, MAX_PACKET), connection.sendall, RemoteStub(served).answers)
            say("[GDB has gone]")
            if options.once:
                return


def _listener(options: Any, stack: ExitStack) -> tuple[socket.socket, str]:
    """Return a socket that listens, and how GDB names it."""
    if options.socket is not None:
        if options.port is not None:
            raise UsageError("--port and --socket do not go together", hint="leave out one of them")
        if not hasattr(socket, "AF_UNIX"):
            raise UsageError("this system has no sockets with a name", hint="use --port")
        path = os.path.abspath(options.socket)  # noqa: PTH100 (`pathlib` costs start-up time)
        listener = stack.enter_context(socket.socket(socket.AF_UNIX))
        try:
            listener.bind(path)
        except OSError as error:
            raise UsageError(
                f"no socket at {path}: {error.strerror or error}",
                hint="remove it if no server has it, or choose another path",
            ) from None
        stack.callback(_remove, path)
        address = path
    else:
        port = options.port or 0
        if not 0 <= port <= MAX_PORT:
            raise UsageError(f"--port is 0 to {MAX_PORT}, not {port}")
        listener = stack.enter_context(socket.socket())
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((options.host or HOST, port))
        except OSError as error:
            why = error.strerror or str(error)
            hint = "choose another one, or leave out --port to have a free one chosen"
            raise UsageError(f"{options.host or HOST}:{port} cannot be used: {why.lower()}", hint=hint) from None
        host, number = listener.getsockname()[:2]
        address = f"{'' if host in (HOST, '0.0.0.0') else host}:{number}"  # noqa: S104 (a comparison)
    listener.listen(1)
    return listener, address


def _remove(path: str) -> None:
    with suppress(OSError):
        os.unlink(path)  # noqa: PTH108


def greeting(served: ServedState, address: str) -> list[str]:
    """Return what to type in GDB."""
    count = served.machine.wave_count
    noun = "wave" if served.has_waves else "thread"
    target = served.machine.target.name
    lines = [f"[{served.name}: {count} {noun}{'' if count == 1 else 's'} of {target} at {address}]", "In GDB:"]
    if not served.has_waves and served.program:
        lines.append(f"  file {shlex.quote(served.program)}")
    return [*lines, f"  target remote {address}"]
