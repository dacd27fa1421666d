"""Disassemblers of the machine: which there are, and how one is run.

They are needed for host programs and for the few GPUs whose instructions ``dwarfgpu.isa`` does not know; users can
choose one for others. LLVM's and that of binutils are used as they are. Whether one knows a processor is found out by
asking it: by giving it the code. One that does not know it says so, and the next one is asked.
"""

from __future__ import annotations

import os
import re
import shutil
import struct
from typing import TYPE_CHECKING

from dwarfgpu.errors import Unsupported, UsageError
from dwarfgpu.immutable import frozen
from dwarfgpu.objfile.elf.header import EM_AMDGPU, SHF_ALLOC

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dwarfgpu.objfile.elf.image import Image
    from dwarfgpu.targets.target import Target


OBJDUMP = "llvm-objdump"
VERSIONS = ("", *(f"-{version}" for version in range(26, 14, -1)))
PLACE = "/opt/rocm/llvm/bin"
"""Where vendors put tools that are not on the search path."""
BINUTILS = "objdump"
SECONDS = 20
"""How long a disassembler may take."""
MAX_OUTPUT = 1 << 28

_VERSION = re.compile(rb"version (\d+(?:\.\d+)*)")
_UNKNOWN = ("not a recognized processor", "can't disassemble", "unable to get target", "not yet supported")
"""What disassemblers say of a machine or a processor that they do not know."""


@frozen
class DisassemblyTarget:
    """What the code is for, as disassemblers want to be told."""

    image: Image
    """The file, whose header says the machine."""
    processor: str
    """``gfx90a``; empty for targets other than AMDGPU."""
    wave_size: int = 0
    """The lanes of a wave, where the processor has waves of several sizes."""

    @property
    def name(self) -> str:
        """What messages call it."""
        return self.processor or self.image.machine_name

    @property
    def key(self) -> tuple[object, ...]:
        """What is equal for code of one kind."""
        image = self.image
        return image.machine, image.address_size, image.byte_order, self.processor, self.wave_size


def machine_of(image: Image, target: Target) -> DisassemblyTarget:
    """Return what the code of a file is for; ``target`` says the processor and the wave size."""
    if image.machine != EM_AMDGPU:
        return DisassemblyTarget(image, "")
    processor, _, size = target.name.removeprefix("amdgcn-").partition("-wave")
    return DisassemblyTarget(image, processor, int(size or 0))


class NoDisassembler(Unsupported):
    """Nothing on the machine can disassemble the code."""

    def __init__(self, machine: DisassemblyTarget, tried: list[str]) -> None:
        what = f"there is no disassembler for {machine.name} here"
        where = "llvm-objdump of LLVM or ROCm" if machine.processor else "objdump of binutils, or llvm-objdump"
        hint = f"install {where}, or name one with `set disassembler PATH`"
        if tried:
            what = f"{', '.join(tried)} cannot disassemble {machine.name}"
            hint = "a newer one may: install it, or name it with `set disassembler PATH`"
        Unsupported.__init__(self, "no_disassembler", f"{what}: the code is shown as bytes", hint=hint)


class DisassemblerFailed(Unsupported):
    """A disassembler did not do what it is for."""


class UnknownProcessor(Unsupported):
    """A disassembler does not know the processor."""


def candidates(machine: DisassemblyTarget, chosen: str) -> Iterator[str]:
    """Yield the disassemblers that may know a target, the likeliest first; or the one that the user has chosen.

    The newest of LLVM comes first: it knows most processors, and decodes best those it knows. Its
    assembler also reads code, for AMDGPU processors as well as llvm-objdump; for others it does not say
    where branches lead.
    """
    if chosen:
        path = shutil.which(os.path.expanduser(chosen))  # noqa: PTH111 (`pathlib` costs start-up time)
        if path is None:
            hint = "`set disassembler` without a name looks for one"
            raise UsageError(f"there is no program {chosen}", kind="no_program", hint=hint)
        yield path
        return
    if not machine.processor:
        path = shutil.which(BINUTILS)
        if path is not None:
            yield path
    for tool in (OBJDUMP, NAME) if machine.processor else (OBJDUMP,):
        names = (*(f"{tool}{version}" for version in VERSIONS), f"{PLACE}/{tool}")
        yield from sorted(dict.fromkeys(filter(None, map(shutil.which, names))), key=_version, reverse=True)


def _version(path: str) -> tuple[int, ...]:
    import subprocess

    try:
        done = subprocess.run(  # noqa: S603 (one of the names above)
            [path, "--version"], check=False, capture_output=True, timeout=SECONDS, stdin=subprocess.DEVNULL
        )
    except (OSError, subprocess.TimeoutExpired):
        return ()
    match = _VERSION.search(done.stdout)
    return () if match is None else tuple(map(int, match[1].split(b".")))


def run(path: str, machine: DisassemblyTarget, code: bytes, address: int) -> str:
    """Return what a disassembler writes about some code."""
    import subprocess
    import tempfile

    name = os.path.basename(path)  # noqa: PTH119
    is_assembler = name.startswith(NAME)
    with tempfile.TemporaryDirectory(prefix="dwarfgpu-") as folder:
        file = os.path.join(folder, "code.o")  # noqa: PTH118
        with open(file, "wb") as out:  # noqa: PTH123
            # on one line, so that the column of a warning tells the byte
            assembly = "".join(_BYTE % byte for byte in code).encode()
            out.write(assembly if is_assembler else code_image(code, address, machine.image))
        try:
            done = subprocess.run(  # noqa: S603 (the program is one of those above, or the user's)
                [path, *_options(name, machine), file],
                check=False,
                capture_output=True,
                timeout=SECONDS,
                stdin=subprocess.DEVNULL,
                env={**os.environ, "LC_ALL": "C"},
            )
        except subprocess.TimeoutExpired:
            raise DisassemblerFailed("timeout", f"{name} took longer than {SECONDS} seconds") from None
        except OSError as error:
            raise DisassemblerFailed("not_run", f"{path}: {error.strerror or error}") from None
    complaint = done.stderr.decode(errors="backslashreplace")
    if any(words in complaint for words in _UNKNOWN):
        raise UnknownProcessor("unknown_processor", f"{name} does not know {machine.name}")
    if done.returncode:
        first = next(iter(complaint.split("\n")), "")[:120]
        raise DisassemblerFailed("failed", f"{name}: exit status {done.returncode}{first and f', {first}'}")
    if len(done.stdout) > MAX_OUTPUT:
        raise DisassemblerFailed("failed", f"{name} wrote {len(done.stdout)} bytes")
    written = done.stdout.decode(errors="backslashreplace")
    return "\n".join(as_objdump(written, complaint, code, address)) if is_assembler else written


def _options(name: str, machine: DisassemblyTarget) -> list[str]:
    if not machine.processor:
        return ["-d", "-z"] if "llvm" in name else ["-d", "-z", "-w"]
    how = OPTIONS if name.startswith(NAME) else ("-d", "-z")
    arguments = [*how, "--triple=amdgcn-amd-amdhsa", f"--mcpu={machine.processor}"]
    if machine.wave_size:
        other = 96 - machine.wave_size
        features = f"+wavefrontsize{machine.wave_size},-wavefrontsize{other}"
        features += ",+real-true16" if machine.processor.startswith("gfx12") else ""  # LLVM 22 drops the halves without
        arguments.append(f"--mattr={features}")
    return arguments


# --- An ELF file with one section of code -------------------------------------------------------------------------
# So the code of a bundle, of a compressed file and of a running program are all handed over in the same way,
# and what symbols and sections of the real file might do to a disassembler does not matter.

_ET_EXEC, _SHT_PROGBITS, _SHT_STRTAB, _SHF_EXECINSTR = 2, 1, 3, 4
_NAMES = b"\0.text\0.shstrtab\0"
_TEXT, _SHSTRTAB = _NAMES.index(b".text"), _NAMES.index(b".shstrtab")


def code_image(code: bytes, address: int, image: Image) -> bytes:
    """Return a file with some code at an address, for the processor of another file."""
    order = "<" if image.byte_order == "little" else ">"
    is_wide = image.address_size == 8
    header = struct.Struct(order + ("16sHHIQQQIHHHHHH" if is_wide else "16sHHIIIIIHHHHHH"))
    section = struct.Struct(order + ("IIQQQQIIQQ" if is_wide else "IIIIIIIIII"))
    names = header.size + len(code)
    table = -(-(names + len(_NAMES)) // 8) * 8
    identity = bytes((*b"\x7fELF", 2 if is_wide else 1, 1 if order == "<" else 2, 1, image.osabi, image.abi_version))
    head = header.pack(
        *(identity, _ET_EXEC, image.machine, 1, 0, 0, table, image.flags), *(header.size, 0, 0, section.size, 3, 2)
    )
    sections = (
        bytes(section.size),
        section.pack(_TEXT, _SHT_PROGBITS, SHF_ALLOC | _SHF_EXECINSTR, address, header.size, len(code), 0, 0, 4, 0),
        section.pack(_SHSTRTAB, _SHT_STRTAB, 0, 0, names, len(_NAMES), 0, 0, 1, 0),
    )
    body = head + code + _NAMES
    return body + bytes(table - len(body)) + b"".join(sections)


# --- ``llvm-mc --disassemble`` ------------------------------------------------------------------------------------

NAME = "llvm-mc"
OPTIONS = ("--disassemble", "--show-encoding")
WORD = 4
"""It passes over so many bytes that are no instruction."""

_BYTE = "0x%02x "
_WRITTEN = re.compile(r"\t(.*?)\s*; encoding: \[((?:0x[0-9a-f]{2},?)+)\]")
_INVALID = re.compile(r":1:(\d+): warning: (?:invalid|potentially undefined) instruction encoding")


def as_objdump(written: str, warnings: str, code: bytes, address: int) -> Iterator[str]:
    """Yield the assembler's lines as ``llvm-objdump`` writes them: with addresses, and with bytes that are not code."""
    size = len(_BYTE % 0)
    invalid = {(int(column) - 1) // size for column in _INVALID.findall(warnings)}
    at = 0
    for text, encoding in [*_WRITTEN.findall(written), ("", "")]:
        while at in invalid:
            word = int.from_bytes(code[at : at + WORD], "little")
            yield _line(f".long {word:#010x}", address + at, WORD)
            at += WORD
        if not text:
            break
        length = len(encoding.split(","))
        yield _line(text, address + at, length)
        at += length


def _line(text: str, address: int, length: int) -> str:
    return f"\t{text} // {address:012X}:{' 00000000' * (length // WORD)}"
