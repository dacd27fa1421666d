"""The first instructions of kernels, as ``llvm-objdump`` lists them, and what these read that nobody has written.

``python -m tests.builders.prologue`` writes the golden files, which have the straight line of instructions that every
kernel of the compiled fixtures begins with, as far as they read registers that nobody has written yet.
"""

import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from dwarfgpu.program.code.code_object import opened
from tests.builders.folders import ROOT

GOLDEN = ROOT / "tests" / "golden"
FOLDERS = {"amdgpu": "prologues-amdgpu.txt", "llvm24": "prologues-llvm24.txt", "asm": "prologues-asm.txt"}
COMMAND = "llvm-objdump-22 -d --no-show-raw-insn --no-leading-addr FILE"
ENDS = re.compile(r"s_(branch|cbranch_\w+|setpc_b64|swappc_b64|endpgm|call_b64|trap)\b")
REGISTER = re.compile(r"\b(ttmp|[sv])(?:(\d+)\b|\[(\d+):(\d+)\])")
NO_RESULT = re.compile(
    r"(?:global|flat|scratch|buffer|ds|s|tbuffer|image)_(?:\w+_)?(?:store|write)\w*|s_cmp\w*|s_bitcmp\w*|s_setreg\w*"
    r"|s_waitcnt\w*|s_wait_\w+|s_barrier\w*|s_sendmsg\w*|s_nop|s_sleep|s_inst_prefetch|s_clause|s_delay_alu|s_icache\w*"
    r"|s_dcache\w*|buffer_wb\w*|buffer_gl\w*|buffer_inv\w*|global_wb|global_inv|s_code_end|v_nop|s_set_\w+|s_sethalt"
    r"|s_prefetch\w+|s_ttrace\w*|v_cmpx\w*|exp|(?:global|flat|ds|buffer)_(?:atomic_)?(?:add|or|and|inc|dec|min|max|sub)\w*"
)
READS_RESULT = re.compile(r"s_bitset\w*|s_cmov\w*|s_addk\w*|s_add[ck]\w*k_\w+|s_mulk\w*|s_cmpk\w*")
SECOND_RESULT = re.compile(r"v_\w*_co_\w+|v_div_scale\w*|v_mad_[iu]64_[iu]32\w*|v_(?:add|sub)_[iu]32_e64|v_addc\w+_e64")


class Instruction(NamedTuple):
    """One instruction; of a pair that is issued together, one of both."""

    mnemonic: str
    operands: tuple[str, ...]
    text: str


def instruction(text: str) -> list[Instruction]:
    """The instructions of one line."""
    found = []
    for part in text.split("::"):
        mnemonic, _, rest = part.strip().partition(" op_sel")[0].partition(" ")
        operands = tuple(each.strip() for each in re.split(r",\s*", rest.strip())) if rest.strip() else ()
        found.append(Instruction(mnemonic, operands, part.strip()))
    return found


def registers(operand: str) -> list[str]:
    """The scalar and vector registers of an operand, each for itself."""
    found = []
    for kind, one, first, last in REGISTER.findall(operand):
        numbers = [int(one)] if one else range(int(first), int(last) + 1)
        found += [f"{kind}{number}" for number in numbers]
    return found


def accesses(one: Instruction) -> tuple[list[str], list[str]]:
    """The registers that an instruction reads, and those that it writes."""
    results = 0
    if one.operands and not NO_RESULT.fullmatch(one.mnemonic):
        results = 2 if SECOND_RESULT.fullmatch(one.mnemonic) else 1
    written = [name for operand in one.operands[:results] for name in registers(operand)]
    read = [name for operand in one.operands[results:] for name in registers(operand)]
    if READS_RESULT.fullmatch(one.mnemonic):
        read += written
    return read, written


def live_in(lines: list[str]) -> list[tuple[tuple[str, ...], str]]:
    """The lines that read registers before any has written them, with these registers; each register is told once."""
    known: set[str] = set()
    found = []
    for line in lines:
        both = [accesses(one) for one in instruction(line)]
        new = dict.fromkeys(name for read, _written in both for name in read if name not in known)
        if new:
            found.append((tuple(new), line))
        known.update(new, *(written for _read, written in both))
    return found


def disassembly(path: Path, tool: str = "llvm-objdump-22") -> dict[str, list[str]]:
    """The instructions of each symbol of a code object; none where the tool does not know the processor (GFX7)."""
    command = [tool, "-d", "--no-show-raw-insn", "--no-leading-addr", str(path)]
    text = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    found: dict[str, list[str]] = {}
    name = ""
    for line in text.splitlines():
        label = re.fullmatch(r"<(.+)>:", line)
        if label:
            name = label[1]
            found[name] = []
        elif line.startswith("\t") and name:
            found[name].append(" ".join(line.partition("//")[0].split()))
    return found


def beginning(lines: list[str], skipped: int = 0) -> list[str]:
    """The instructions up to the first that may go elsewhere, with it; not those that are skipped at the start."""
    found = []
    for line in lines[skipped:]:
        found.append(line)
        if ENDS.match(line):
            break
    return found


def skipped_lines(lines: list[str]) -> int:
    """The instructions of the block for firmware that does not preload arguments: up to its branch and padding."""
    at = next(index for index, line in enumerate(lines) if line.startswith("s_branch")) + 1
    while lines[at] == "s_nop 0":
        at += 1
    return at


class Prologue(NamedTuple):
    """A kernel of a fixture, and the lines of its beginning that read what no line before has written."""

    file: str
    kernel: str
    reads: tuple[tuple[tuple[str, ...], str], ...]
    """The registers that are read so, and the line."""


def prologues(path: Path) -> list[Prologue]:
    """The beginnings of all kernels of a code object."""
    file = opened(str(path))
    code = disassembly(path)
    found = []
    for kernel in file.kernels.kernels:
        lines = code.get(kernel.name)
        if not lines or kernel.entry is None:
            continue
        described = kernel.descriptor
        preloads = described is not None and described.field("KERNARG_PRELOAD_SPEC_LENGTH")
        start = beginning(lines, skipped_lines(lines) if preloads else 0)
        found.append(Prologue(path.name, kernel.name, tuple(live_in(start))))
    return found


def fixtures(folder: str) -> list[Path]:
    """The linked code objects of a folder of fixtures."""
    return sorted((ROOT / "fixtures" / folder).glob("*.co"))


def read_golden(folder: str) -> list[Prologue]:
    """The prologues of a golden file."""
    found = []
    file = kernel = ""
    reads: list[tuple[tuple[str, ...], str]] = []
    for line in [*(GOLDEN / FOLDERS[folder]).read_text().splitlines()[3:], "="]:
        if line.startswith(("=", "-")):
            if kernel:
                found.append(Prologue(file, kernel, tuple(reads)))
            kernel, reads = "", []
            if line.startswith("= "):
                file = line[2:]
            elif line.startswith("- "):
                kernel = line[2:]
        else:
            names, _, text = line.partition(" | ")
            reads.append((tuple(names.split()), text))
    return found


def write_golden(folder: str) -> str:
    """The text of a golden file."""
    lines = [
        f"# {COMMAND}, for the code objects in fixtures/{folder}:",
        "# of the instructions that each kernel begins with, up to the first branch, those that read a register which",
        "# none before has written, after these registers (python -m tests.builders.prologue)",
    ]
    for path in fixtures(folder):
        some = prologues(path)
        if some:
            lines.append(f"= {path.name}")
        for one in some:
            lines.append(f"- {one.kernel}")
            lines += [f"{' '.join(names)} | {text}" for names, text in one.reads]
    return "\n".join(lines) + "\n"


# --- What a compiler writes -----------------------------------------------------------------------------------

LAUNCH = ROOT / "fixtures/src/opencl/launch.cl"
OPENCL = ("-x", "cl", "-cl-std=CL2.0", "-target", "amdgcn-amd-amdhsa", "-nogpulib", "-w")
HEADER = ("-Xclang", "-finclude-default-header")


def compiled(folder: Path, tools: Callable[..., str], options: list[str]) -> tuple[Path, dict[str, list[str]]]:
    """``launch.cl`` as a code object, and the instructions of its kernels as the compiler writes them.

    That works for the processors too that no disassembler knows (GFX6 and GFX7).
    """
    clang, linker = tools("clang-22"), tools("ld.lld-22")
    text, object_, linked = (folder / f"launch.{suffix}" for suffix in ("s", "o", "co"))
    subprocess.run([clang, *OPENCL, *HEADER, *options, "-S", str(LAUNCH), "-o", str(text)], check=True)
    subprocess.run(
        [clang, "-target", "amdgcn-amd-amdhsa", "-w", *options, "-c", str(text), "-o", str(object_)], check=True
    )
    subprocess.run([linker, "-shared", "--unresolved-symbols=ignore-all", str(object_), "-o", str(linked)], check=True)
    found: dict[str, list[str]] = {}
    lines: list[str] = []
    for line in text.read_text().splitlines():
        code = line.partition(";")[0].rstrip()
        label = re.fullmatch(r"([A-Za-z_]\w*):", code)
        if label:
            lines = found[label[1]] = []
        elif code.startswith("\t") and not code.startswith("\t."):
            lines.append(" ".join(code.split()))
    return linked, found


# --- Whole kernels that are small ---------------------------------------------------------------------------------

SMALL_KERNELS = ("group_x", "group_xyz", "item_x", "item_xyz", "packet", "queue", "dispatch_number", "implicit")
SMALL = "launch-kernels.txt"
WAITS = re.compile(r"s_waitcnt\w*|s_wait_\w+|s_nop|s_delay_alu|s_clause")


def straight(lines: list[str], skipped: int = 0) -> list[str]:
    """The instructions of a straight line, without what only waits."""
    return [line for line in beginning(lines, skipped) if not WAITS.match(line)]


def small_kernels(path: Path) -> dict[str, list[str]]:
    """The kernels of ``launch.cl`` that are one straight line."""
    code = disassembly(path)
    preloads = "preload" in path.name
    return {name: straight(code[name], skipped_lines(code[name]) if preloads else 0) for name in SMALL_KERNELS}


def write_small() -> str:
    """The text of the golden file of whole kernels."""
    lines = [
        f"# {COMMAND}, for the optimized launch.*.co in fixtures/amdgpu:",
        "# the kernels that are one straight line, from where a wave starts, without what only waits",
        "# (python -m tests.builders.prologue)",
    ]
    for path in (each for each in fixtures("amdgpu") if each.match("launch*.O2.*")):
        lines.append(f"= {path.name}")
        for name, code in small_kernels(path).items():
            lines += [f"- {name}", *code]
    return "\n".join(lines) + "\n"


def read_small() -> list[tuple[str, str, list[str]]]:
    """Each whole kernel: its file, its name, its instructions."""
    found: list[tuple[str, str, list[str]]] = []
    file = ""
    for line in (GOLDEN / SMALL).read_text().splitlines()[3:]:
        if line.startswith("= "):
            file = line[2:]
        elif line.startswith("- "):
            found.append((file, line[2:], []))
        else:
            found[-1][2].append(line)
    return found


if __name__ == "__main__":
    for name, file_name in FOLDERS.items():
        (GOLDEN / file_name).write_text(write_golden(name))
    (GOLDEN / SMALL).write_text(write_small())
