"""Commands about the process of a core file: ``info proc`` and ``info auxv``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.questions.document import Document
from dwarfgpu.render.layout import shown

if TYPE_CHECKING:
    from dwarfgpu.questions.debugger import Debugger
    from dwarfgpu.questions.registry import Arguments
    from dwarfgpu.states.stopped import Stopped


AUXILIARY: dict[int, tuple[str, ...]] = {
    0: ("AT_NULL", "End of vector"),
    1: ("AT_IGNORE", "Entry should be ignored"),
    2: ("AT_EXECFD", "File descriptor of program", "d"),
    3: ("AT_PHDR", "Program headers for program"),
    4: ("AT_PHENT", "Size of program header entry", "d"),
    5: ("AT_PHNUM", "Number of program headers", "d"),
    6: ("AT_PAGESZ", "System page size", "d"),
    7: ("AT_BASE", "Base address of interpreter"),
    8: ("AT_FLAGS", "Flags"),
    9: ("AT_ENTRY", "Entry point of program"),
    10: ("AT_NOTELF", "Program is not ELF", "d"),
    11: ("AT_UID", "Real user ID", "d"),
    12: ("AT_EUID", "Effective user ID", "d"),
    13: ("AT_GID", "Real group ID", "d"),
    14: ("AT_EGID", "Effective group ID", "d"),
    15: ("AT_PLATFORM", "String identifying platform", "s"),
    16: ("AT_HWCAP", "Machine-dependent CPU capability hints"),
    17: ("AT_CLKTCK", "Frequency of times()", "d"),
    23: ("AT_SECURE", "Boolean, was exec setuid-like?", "d"),
    24: ("AT_BASE_PLATFORM", "String identifying base platform", "s"),
    25: ("AT_RANDOM", "Address of 16 random bytes"),
    26: ("AT_HWCAP2", "Extension of AT_HWCAP"),
    31: ("AT_EXECFN", "File name of executable", "s"),
    33: ("AT_SYSINFO_EHDR", "System-supplied DSO's ELF header"),
    51: ("AT_MINSIGSTKSZ", "Minimum stack size for signal delivery"),
}
"""The types that GDB names, and their meaning; ``d`` is a decimal number, ``s`` the address of a text, the rest hex."""
LONGEST = 4096


def info_proc(debugger: Debugger, arguments: Arguments) -> Document:
    """The executable; with `mappings`, the files that the process had mapped, and where."""
    if arguments.text not in ("", "mappings"):
        raise arguments.wrong("shows `mappings`; a core file has nothing else of a process")
    core = debugger.machine.stopped.process
    if not arguments.text:
        command = core.command.partition(" ")[0]
        return Document(
            {"process": {"pid": core.threads[0].pid, "command": core.command}}, [f"exe = '{shown(command)}'"]
        )
    rows = [{"start": each.start, "end": each.end, "offset": each.offset, "file": each.path} for each in core.mappings]
    lines = ["Mapped address spaces:", "", f"  {'Start Addr':>18} {'End Addr':>18} {'Size':>10} {'Offset':>10} objfile"]
    for each in core.mappings:
        numbers = f"{each.start:#18x} {each.end:#18x} {each.end - each.start:#10x} {each.offset:#10x}"
        lines.append(f"  {numbers} {shown(each.path)}")
    return Document({"mappings": rows}, lines, rows="mappings")


def info_auxv(debugger: Debugger, arguments: Arguments) -> Document:
    """What the kernel told the program when it began: types with values."""
    arguments.none()
    stopped = debugger.machine.stopped
    rows, lines = [], []
    for number, value in stopped.process.auxiliary.items():
        name, meaning, *form = AUXILIARY.get(number, ("???", ""))
        text = str(value) if form == ["d"] else f"{value:#x}"
        if form == ["s"]:
            text += f' "{shown(_text_at(stopped, value))}"'
        rows.append({"type": number, "name": name, "value": value})
        lines.append(f"{number:<4} {name:<20} {meaning:<30} {text}")
    return Document({"auxiliary_vector": rows}, lines, rows="auxiliary_vector")


def _text_at(stopped: Stopped, address: int) -> str:
    """Return the text at an address; empty where its memory is not in the core file."""
    machine, data = stopped.machine, bytearray()
    try:
        while len(data) < LONGEST and not data.endswith(b"\0"):
            data += machine.read_memory(machine.target.default_space, address + len(data), 1, 0, None)
    except DwarfGpuError:
        return ""
    return data.rstrip(b"\0").decode(errors="backslashreplace")
