"""The sequences that the memory legalizer of LLVM inserts, for every cell of a table."""

import re
import subprocess
from pathlib import Path

from dwarfgpu.audits.memory_model.families import ONE_SPACE, family_of
from dwarfgpu.audits.memory_model.sequences import ACCESS, DIRECT, WAIT, SequenceCell, keys

ADDRESS_SPACES = {"generic": 0, "global": 1, "local": 3}
TARGETS = (
    *(("gfx600", "cu"), ("gfx700", "cu"), ("gfx803", "cu"), ("gfx900", "cu")),
    *(("gfx90a", "cu"), ("gfx90a", "tgsplit"), ("gfx942", "cu"), ("gfx942", "tgsplit"), ("gfx950", "cu")),
    *(("gfx1010", "cu"), ("gfx1010", "wgp"), ("gfx1030", "wgp"), ("gfx1100", "cu"), ("gfx1100", "wgp")),
    *(("gfx1200", "cu"), ("gfx1200", "wgp")),
)
FEATURES = {"cu": "+cumode", "wgp": "-cumode", "tgsplit": "+tgsplit"}
USE = '\n  call void asm sideeffect "; $0", "v"(i32 %v)'
Step = tuple[str, object]


def _scope(name: str) -> str:
    narrow = name.removesuffix(ONE_SPACE)
    text = "one-as" if name == f"system{ONE_SPACE}" else name
    return "" if name == narrow == "system" else f'syncscope("{text}") '


def _body(operation: str, ordering: str, scope: str, space: str) -> str:
    """Return the instruction of a cell in LLVM's IR."""
    if operation == "fence":
        mark = {"all": "", "global": ", !mmra !1", "local": ", !mmra !2"}[space]
        return f"fence {_scope(scope)}{ordering}{mark}"
    pointer = f"ptr addrspace({ADDRESS_SPACES[space]})"
    if scope == "none":
        volatile = "volatile " if ordering == "volatile" else ""
        mark = ", !nontemporal !0" if ordering == "nontemporal" else ""
        if operation == "load":
            return f"%v = load {volatile}i32, {pointer} %p, align 4{mark}{USE}"
        return f"store {volatile}i32 %x, {pointer} %p, align 4{mark}"
    atomic = f"{_scope(scope)}{ordering}, align 4"
    if operation == "load":
        return f"%v = load atomic i32, {pointer} %p {atomic}{USE}"
    if operation == "store":
        return f"store atomic i32 %x, {pointer} %p {atomic}"
    return f"%v = atomicrmw add {pointer} %p, i32 %x {atomic}{USE if operation == 'rmw-return' else ''}"


def module(family: str) -> str:
    """Return a module with a function for each cell of a family's table."""
    functions = []
    for key in keys(family):
        pointer = "ptr" if key[0] == "fence" else f"ptr addrspace({ADDRESS_SPACES[key[3]]})"
        functions.append(f'define void @"{".".join(key)}"({pointer} %p, i32 %x) {{\n  {_body(*key)}\n  ret void\n}}')
    marks = (
        "!0 = !{i32 1}",
        '!1 = !{!"amdgpu-synchronize-as", !"global"}',
        '!2 = !{!"amdgpu-synchronize-as", !"local"}',
    )
    return "\n".join([*functions, *marks])


def of_llvm(llc: str, processor: str, mode: str, folder: Path) -> dict[str, list[Step]]:
    """Return the steps of each cell as LLVM makes them."""
    source = folder / f"{family_of(processor)}.ll"
    source.write_text(module(family_of(processor)))
    has_modes = mode == "tgsplit" or processor.startswith("gfx1")
    words = [llc, "-mtriple=amdgcn-amd-amdhsa", f"-mcpu={processor}", "-stop-after=si-memory-legalizer", "-o", "-"]
    words += [f"-mattr={FEATURES[mode]}"] * has_modes
    done = subprocess.run([*words, str(source)], check=True, capture_output=True, text=True)
    rows = re.finditer(r"^name: +(\S+)\n.*?^body: +\|\n(.*?)^\.\.\.", done.stdout, re.DOTALL | re.MULTILINE)
    return {row[1]: _steps(row[2], processor) for row in rows}


def _steps(body: str, processor: str) -> list[Step]:
    steps: list[Step] = []
    waited: set[str] = set()
    for line in body.split("\n"):
        match = re.match(r"(?:\$\w+ = )?([A-Z]\w+)(.*)", re.sub(r"renamable |killed ", "", line.strip()))
        if match is None or match[1] in {"S_MOV_B32", "S_SETPC_B64_return", "INLINEASM"}:
            continue
        name = match[1].replace("_soft", "")
        operands = re.sub(r"implicit.*", "", match[2].split("::")[0])
        numbers = [int(number) for number in re.findall(r"(?<![\w$])(-?\d+)(?!\w)", operands)]
        if name == "S_WAITCNT":
            waited |= _counters(numbers[0], processor)
        elif name == "S_WAITCNT_lds_direct":
            waited.add(DIRECT)
        elif name == "S_WAITCNT_VSCNT":
            waited.add("vscnt")
        elif name.startswith("S_WAIT_"):
            waited.add(name.removeprefix("S_WAIT_").lower())
        else:
            if waited:
                steps.append((WAIT, frozenset(waited)))
                waited = set()
            steps.append(_step(name, numbers, processor))
    return [*steps, (WAIT, frozenset(waited))] if waited else steps


def _step(name: str, numbers: list[int], processor: str) -> Step:
    if name.startswith("DS_"):
        return (ACCESS, "")
    if re.match(r"(FLAT|GLOBAL|BUFFER)_(LOAD|STORE|ATOMIC)", name):
        is_swizzled = name.startswith("BUFFER") and "ATOMIC" not in name
        return (ACCESS, _bits(numbers[-2 if is_swizzled else -1], name, processor))
    has_bits = bool(numbers) and (name != "BUFFER_WBL2" or family_of(processor) == "GFX942")
    bits = _bits(numbers[0], name, processor) if has_bits else ""
    return ("cache", f"{name.lower()} {bits}".strip())


def _counters(value: int, processor: str) -> set[str]:
    family = family_of(processor)
    if family == "GFX11":
        vector, rest = value >> 10 & 63, value >> 4 & 63
    else:
        vector = value & 15 | (value >> 14 << 4 if family not in {"GFX6", "GFX7-GFX8"} else 0)
        rest = value >> 8 & (63 if family == "GFX10" else 15)
    return {name for name, number in (("vmcnt", vector), ("lgkmcnt", rest)) if number == 0}


def _bits(value: int, name: str, processor: str) -> str:
    family = family_of(processor)
    if family == "GFX12":
        scope = ("", "scope:SCOPE_SE", "scope:SCOPE_DEV", "scope:SCOPE_SYS")[value >> 3]
        hint = "ATOMIC_RETURN" if "ATOMIC" in name else "LOAD_NT" if "LOAD" in name else "STORE_NT"
        return f"{f'th:TH_{hint}' if value & 7 else ''} {scope}".strip()
    names = {1: "sc0", 2: "nt", 16: "sc1"} if family == "GFX942" else {1: "glc", 2: "slc", 4: "dlc"}
    return " ".join(text for bit, text in names.items() if value & bit)


def of_table(cell: SequenceCell) -> list[Step]:
    steps: list[Step] = []
    waited: frozenset[str] = frozenset()
    for step in cell.steps:
        if step.kind == WAIT:
            waited |= step.counters
            continue
        if waited:
            steps.append((WAIT, waited))
            waited = frozenset()
        is_access = step.kind == ACCESS
        steps.append((ACCESS, " ".join(step.text.split()[1:])) if is_access else ("cache", step.text))
    return [*steps, (WAIT, waited)] if waited else steps
