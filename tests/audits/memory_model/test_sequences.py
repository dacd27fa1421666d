"""The table of the memory model: every cell against LLVM, and single cells against the text."""

import re
import subprocess
from pathlib import Path

import pytest

from dwarfgpu.audits.memory_model.sequences import ACCESS, DIRECT, WAIT, SequenceCell, cell, cells, keys
from dwarfgpu.errors import Unsupported, UsageError
from dwarfgpu.targets.amdgpu.memory_families import (
    DIFFERENCES,
    FAMILIES,
    ONE_SPACE,
    differences_of,
    family_of,
    family_rules,
    mode_of,
)
from dwarfgpu.targets.amdgpu.processors import processors
from tests.builders.errors import raised
from tests.builders.parameters import told

ADDRESS_SPACES = {"generic": 0, "global": 1, "local": 3}
TARGETS = (
    *(("gfx600", "cu"), ("gfx700", "cu"), ("gfx803", "cu"), ("gfx900", "cu")),
    *(("gfx90a", "cu"), ("gfx90a", "tgsplit"), ("gfx942", "cu"), ("gfx942", "tgsplit"), ("gfx950", "cu")),
    *(("gfx1010", "cu"), ("gfx1010", "wgp"), ("gfx1030", "wgp"), ("gfx1100", "cu"), ("gfx1100", "wgp")),
    *(("gfx1200", "cu"), ("gfx1200", "wgp"), ("gfx1250", "cu")))  # fmt: skip
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
    has_modes = mode == "tgsplit" or "wgp" in family_rules(processor).caches
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
    if family.startswith("GFX12"):
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


def compare(llc: str, processor: str, mode: str, folder) -> int:
    expected = of_llvm(llc, processor, mode, folder)
    table = {
        f"{row.operation}.{row.ordering}.{row.scope}.{row.space}": of_table(row)
        for row in cells(family_of(processor), mode, "llvm22")
    }
    assert table == expected
    return len(table)


@pytest.mark.slow
@pytest.mark.parametrize("processor,mode", [("gfx90a", "cu"), ("gfx1250", "cu")])
def test_the_cells_are_what_llvm_inserts(processor, mode, tmp_path, require_tool):
    assert compare(require_tool("llc-22"), processor, mode, tmp_path) == 810


@pytest.mark.slow
@pytest.mark.parametrize("processor,mode", TARGETS)
def test_the_cells_of_all_families_are_what_llvm_inserts(processor, mode, tmp_path, require_tool):
    assert compare(require_tool("llc-22"), processor, mode, tmp_path) >= 490


def steps(family: str, mode: str, words: str, rule_set: str = "text") -> list[str]:
    return [step.text for step in cell(family, mode, rule_set, *words.split()).steps]


WAITS_OF_GFX12 = "s_wait_bvhcnt 0x0; s_wait_samplecnt 0x0; s_wait_storecnt 0x0; s_wait_loadcnt 0x0"


@pytest.mark.parametrize("words, expected", told("""
    # AMDGPU usage, memory model code sequences GFX6-GFX10
    GFX9 cu load acquire workgroup global | GFX9 cu load plain none global -> buffer/global_load
    GFX9 cu load acquire workgroup generic -> flat_load; s_waitcnt lgkmcnt(0)
    GFX9 cu load acquire agent global -> buffer/global_load glc; s_waitcnt vmcnt(0); buffer_wbinvl1_vol
    GFX9 cu store release agent global -> s_waitcnt vmcnt(0) lgkmcnt(0); buffer/global_store
    GFX9 cu load volatile none global -> buffer/global_load glc
    GFX9 cu load nontemporal none global -> buffer/global_load glc slc
    GFX9 cu store release workgroup local -> ds_store         GFX10 wgp fence acquire singlethread all ->
    # AMDGPU usage, memory model code sequences GFX12
    GFX12 wgp load acquire workgroup global
        -> buffer/global_load scope:SCOPE_SE; s_wait_loadcnt 0x0; global_inv scope:SCOPE_SE
    GFX12 cu load acquire workgroup global -> buffer/global_load
    GFX12 cu load acquire workgroup generic -> flat_load; s_wait_dscnt 0x0
    GFX12 wgp store release agent-one-as global -> global_wb scope:SCOPE_DEV; WAITS; buffer/global_store scope:SCOPE_DEV
    GFX12 cu store release workgroup global -> s_wait_dscnt 0x0; buffer/global_store
    GFX12 wgp rmw-return acquire system global
        -> buffer/global_atomic th:TH_ATOMIC_RETURN scope:SCOPE_SYS; s_wait_loadcnt 0x0; global_inv scope:SCOPE_SYS
    GFX12 wgp store volatile none global -> buffer/global_store scope:SCOPE_SYS; s_wait_storecnt 0x0
    GFX12 cu rmw acq_rel workgroup generic -> s_wait_dscnt 0x0; flat_atomic; s_wait_dscnt 0x0
    GFX12 cu rmw seq_cst workgroup generic -> s_wait_dscnt 0x0; flat_atomic; s_wait_dscnt 0x0
    GFX12 cu rmw acquire workgroup generic -> flat_atomic     GFX12 cu fence acquire workgroup all -> s_wait_dscnt 0x0
    # AMDGPU usage, memory model code sequences GFX125x
    GFX12.5 cu load monotonic cluster global -> buffer/global_load scope:SCOPE_SE
    GFX12.5 cu load acquire workgroup generic -> flat_load; s_wait_loadcnt 0x0; s_wait_dscnt 0x0
    GFX12.5 cu load acquire cluster global
        -> buffer/global_load scope:SCOPE_SE; s_wait_loadcnt 0x0; global_inv scope:SCOPE_SE
    GFX12.5 cu store monotonic wavefront global -> s_wait_xcnt 0x0; buffer/global_store
    GFX12.5 cu store unordered agent global | GFX12.5 cu store plain none global -> buffer/global_store
    GFX12.5 cu store volatile none generic -> flat_store scope:SCOPE_SYS; s_wait_storecnt 0x0
    GFX12.5 cu store release cluster global
        -> ST_LD; s_wait_dscnt 0x0; s_wait_xcnt 0x0; buffer/global_store scope:SCOPE_SE
    GFX12.5 cu store release agent generic
        -> global_wb scope:SCOPE_DEV; ST_LD; s_wait_dscnt 0x0; s_wait_xcnt 0x0; flat_store scope:SCOPE_DEV
    GFX12.5 cu rmw-return acq_rel workgroup global
        -> ST_LD; s_wait_dscnt 0x0; s_wait_xcnt 0x0; buffer/global_atomic th:TH_ATOMIC_RETURN; s_wait_loadcnt 0x0
    GFX12.5 cu rmw acquire system generic
        -> s_wait_xcnt 0x0; flat_atomic scope:SCOPE_SYS; s_wait_storecnt 0x0; s_wait_dscnt 0x0;
        global_inv scope:SCOPE_SYS
    GFX12.5 cu fence acquire workgroup all | GFX12.5 cu fence release cluster all -> ST_LD; s_wait_dscnt 0x0
    GFX12.5 cu fence acq_rel agent all
        -> global_wb scope:SCOPE_DEV; ST_LD; s_wait_dscnt 0x0; global_inv scope:SCOPE_DEV
    GFX12.5 cu fence acquire cluster all -> ST_LD; s_wait_dscnt 0x0; global_inv scope:SCOPE_SE
    """))  # fmt: skip
def test_a_cell_of_the_text(words, expected):
    family, mode, cell = words.split(maxsplit=2)
    assert "; ".join(steps(family, mode, cell)) == expected.replace("WAITS", WAITS_OF_GFX12).replace(
        "ST_LD", "s_wait_storecnt 0x0; s_wait_loadcnt 0x0"
    )


def test_a_seq_cst_operation_of_one_space_has_all_instructions_in_the_text():
    words = "store seq_cst workgroup-one-as global"
    assert steps("GFX10", "wgp", words) == steps("GFX10", "wgp", words.replace("-one-as", ""))
    assert steps("GFX10", "wgp", words, "llvm22") != steps("GFX10", "wgp", words.replace("-one-as", ""), "llvm22")


@pytest.mark.parametrize("family", FAMILIES)
def test_every_cell_that_differs_names_why(family):
    for mode in FAMILIES[family]["llvm22"].caches:
        for text, llvm in zip(cells(family, mode, "text"), cells(family, mode, "llvm22"), strict=True):
            assert bool(llvm.differences) == (text.steps != llvm.steps), llvm
            assert set(llvm.differences) <= set(differences_of(family))


SHORT = {
    "VM": "s_waitcnt vmcnt(0)", "LGKM": "s_waitcnt lgkmcnt(0)", "VM_LGKM": "s_waitcnt vmcnt(0) lgkmcnt(0)",
    "VS": "s_waitcnt_vscnt null, 0x0", "GL0": "buffer_gl0_inv", "GL1": "buffer_gl1_inv", "L1": "buffer_wbinvl1_vol",
    "L2": "buffer_invl2"}  # fmt: skip
ACCESSES = {"global": "buffer/global_", "generic": "flat_", "local": "ds_"}
OLDER_TEXT = {
    ("GFX10", "wgp"): told("""
        load plain none global | store volatile none global | store plain none local | load monotonic wavefront global |
            store monotonic system global | rmw monotonic agent global -> @
        load volatile none global | load monotonic agent generic -> @ glc dlc
        load nontemporal none global | store nontemporal none global -> @ slc
        load acquire workgroup global | rmw-return acquire workgroup global -> @ glc; VM; GL0
        load acquire workgroup local | rmw acquire workgroup local -> @; LGKM; GL0
        load acquire system generic -> @ glc dlc; VM_LGKM; GL0; GL1
        rmw-return acquire system generic -> @ glc; VM_LGKM; GL0; GL1
        fence acquire workgroup all | fence acq_rel workgroup all -> VM_LGKM; VS; GL0
        fence acquire agent all | fence acq_rel agent all | fence seq_cst system all -> VM_LGKM; VS; GL0; GL1
        store release workgroup global | store release workgroup generic | store release system global |
            rmw release workgroup global | rmw release agent generic | store seq_cst agent global -> VM_LGKM; VS; @
        store release workgroup local | rmw release workgroup local -> VM; VS; @
        fence release workgroup all | fence release system all -> VM_LGKM; VS
        rmw acq_rel workgroup local | load seq_cst workgroup local -> VM; VS; @; LGKM; GL0
        rmw acq_rel workgroup generic -> VM_LGKM; VS; @; LGKM; VS; GL0
        rmw acq_rel agent global | rmw seq_cst agent global -> VM_LGKM; VS; @; VS; GL0; GL1
        rmw-return acq_rel system generic -> VM_LGKM; VS; @ glc; VM_LGKM; GL0; GL1
        load seq_cst workgroup global -> VM_LGKM; VS; @ glc; VM; GL0
        load seq_cst agent global -> VM_LGKM; VS; @ glc dlc; VM; GL0; GL1
        load monotonic workgroup global -> @ glc                  load acquire workgroup generic -> @ glc; VM_LGKM; GL0
        load acquire agent global -> @ glc dlc; VM; GL0; GL1      rmw acquire workgroup global -> @; VS; GL0
        rmw acquire workgroup generic -> @; LGKM; VS; GL0         rmw acquire agent global -> @; VS; GL0; GL1
        rmw acq_rel workgroup global -> VM_LGKM; VS; @; VS; GL0
        """),
    ("GFX10", "cu"): told("""
        load monotonic workgroup global | load acquire workgroup global | rmw acquire workgroup global |
            store release workgroup local | rmw release workgroup local -> @
        load acquire workgroup local | load acquire workgroup generic | rmw acquire workgroup generic |
            rmw acq_rel workgroup local -> @; LGKM
        fence acquire workgroup all | fence release workgroup all | fence acq_rel workgroup all -> LGKM
        store release workgroup global | store release workgroup generic | load seq_cst workgroup global -> LGKM; @
        rmw acq_rel workgroup generic -> LGKM; @; LGKM            load acquire agent global -> @ glc dlc; VM; GL0; GL1
        store release agent global -> VM_LGKM; VS; @
        """),
    ("GFX9", "cu"): told("""
        load acquire workgroup local | rmw acquire workgroup generic | rmw acq_rel workgroup local |
            load seq_cst workgroup local -> @; LGKM
        fence acquire agent all | fence acq_rel agent all -> VM_LGKM; L1
        load acquire agent generic -> @ glc; VM_LGKM; L1          rmw acquire agent global -> @; VM; L1
        fence acquire workgroup all -> LGKM                       store release workgroup global -> LGKM; @
        rmw release workgroup local -> @                          rmw release agent generic -> VM_LGKM; @
        fence release agent all -> VM_LGKM                        rmw acq_rel agent generic -> VM_LGKM; @; VM_LGKM; L1
        load seq_cst agent global -> VM_LGKM; @ glc; VM; L1
        """),
}
"""Cells of AMDGPU usage of 2020, "Memory Model Code Sequences GFX6-GFX10"."""
PRESENT_TEXT = {
    ("GFX90A", "cu"): told("""
        load nontemporal none global | store nontemporal none global -> @ glc slc
        load monotonic workgroup global | load acquire workgroup global | store release workgroup local -> @
        load acquire workgroup generic | load acquire workgroup local | rmw acquire workgroup generic -> @; LGKM
        store release workgroup global | rmw acq_rel workgroup global | load seq_cst workgroup global -> LGKM; @
        rmw acq_rel system global -> buffer_wbl2; VM_LGKM; @; VM; L2; L1
        load volatile none global -> @ glc; VM                    store volatile none global -> @; VM
        load monotonic agent generic -> @ glc                     load acquire agent global -> @ glc; VM; L1
        load acquire agent generic -> @ glc; VM_LGKM; L1          load acquire system global -> @ glc; VM; L2; L1
        rmw acquire system generic -> @; VM_LGKM; L2; L1          fence acquire workgroup all -> LGKM
        fence acquire system all -> VM_LGKM; L2; L1               store release agent generic -> VM_LGKM; @
        store release system global -> buffer_wbl2; VM_LGKM; @    fence release system all -> buffer_wbl2; VM_LGKM
        rmw acq_rel workgroup generic -> LGKM; @; LGKM
        fence acq_rel system all -> buffer_wbl2; VM_LGKM; L2; L1
        load seq_cst agent global -> VM_LGKM; @ glc; VM; L1
        """),
    ("GFX90A", "tgsplit"): told("""
        load acquire workgroup global | load acquire agent generic -> @ glc; VM; L1
        load monotonic workgroup global -> @ glc                  rmw acquire workgroup global -> @; VM; L1
        fence acquire workgroup all -> VM; L1                     store release workgroup generic -> VM; @
        store release system global -> buffer_wbl2; VM; @         rmw acq_rel workgroup global -> VM; @; VM; L1
        load seq_cst workgroup global -> VM; @ glc; VM; L1
        """),
    ("GFX942", "cu"): told("""
        load nontemporal none global | store nontemporal none global -> @ nt
        load volatile none global | store volatile none global -> @ sc0 sc1; VM
        load monotonic workgroup global | store monotonic workgroup global | load acquire workgroup global -> @ sc0
        load monotonic agent generic | store monotonic agent global | rmw monotonic system global -> @ sc1
        load monotonic system global | store monotonic system generic -> @ sc0 sc1
        load acquire system generic -> @ sc0 sc1; VM_LGKM; buffer_inv sc0 sc1
        rmw acquire system generic -> @ sc1; VM_LGKM; buffer_inv sc0 sc1
        store release agent global -> buffer_wbl2 sc1; VM_LGKM; @ sc1
        store release system global -> buffer_wbl2 sc0 sc1; VM_LGKM; @ sc0 sc1
        rmw monotonic agent global -> @                           load acquire workgroup generic -> @ sc0; LGKM
        load acquire agent global -> @ sc1; VM; buffer_inv sc1    rmw acquire agent global -> @; VM; buffer_inv sc1
        fence release agent all -> buffer_wbl2 sc1; VM_LGKM
        fence release system all -> buffer_wbl2 sc0 sc1; VM_LGKM
        """),
    ("GFX942", "tgsplit"): told("""
        load acquire workgroup global | load acquire workgroup generic -> @ sc0; VM; buffer_inv sc0
        rmw acquire workgroup generic -> @; VM; buffer_inv sc0    fence release workgroup all -> VM
        """),
    ("GFX11", "cu"): told("""
        load acquire workgroup global | rmw release workgroup local -> @
        load acquire workgroup generic -> @; LGKM
        """),
    ("GFX11", "wgp"): told("""
        load monotonic workgroup global | load monotonic agent global -> @ glc
        load acquire agent global | rmw-return acquire agent global -> @ glc; VM; GL1; GL0
        load nontemporal none global -> @ slc dlc                 load volatile none global -> @ glc dlc; VM
        store nontemporal none global -> @ glc slc dlc            store volatile none global -> @ dlc; VS
        load acquire workgroup global -> @ glc; VM; GL0           load acquire workgroup local -> @; LGKM; GL0
        load acquire workgroup generic -> @ glc; VM_LGKM; GL0
        load acquire system generic -> @ glc; VM_LGKM; GL1; GL0   rmw acquire workgroup global -> @; VS; GL0
        fence acquire workgroup all -> VM_LGKM; VS; GL0           rmw release workgroup local -> VM; VS; @
        rmw release agent global -> VM_LGKM; VS; @                fence release workgroup all -> VM_LGKM; VS
        """),
}
"""Cells of AMDGPU usage, "Memory Model Code Sequences GFX90A", "... GFX940, GFX941, GFX942" and "... GFX10-GFX11"
(llvm-project 001388cf6923)."""


def spelled(cell: str, steps: str) -> str:
    """Return steps in full; ``@`` is the access of the cell."""
    operation, *_, space = cell.split()
    access = ACCESSES.get(space, "") + ("atomic" if operation.startswith("rmw") else operation)
    return "; ".join(SHORT.get(step, step.replace("@", access)) for step in steps.split("; "))


@pytest.mark.parametrize("texts", [OLDER_TEXT, PRESENT_TEXT], ids=["of 2020", "present"])
def test_cells_of_the_texts(texts):
    for (family, mode), rows in texts.items():
        assert [(cell, "; ".join(steps(family, mode, cell))) for cell, _ in rows] == [
            (cell, spelled(cell, text)) for cell, text in rows
        ]


def test_the_text_of_gfx10_invalidates_the_nearest_cache_first():
    words = "fence acquire agent all"
    assert steps("GFX10", "wgp", words)[-2:] == ["buffer_gl0_inv", "buffer_gl1_inv"]
    for family, rules in (("GFX10", "llvm22"), ("GFX11", "text"), ("GFX11", "llvm22")):
        assert steps(family, "wgp", words, rules)[-2:] == ["buffer_gl1_inv", "buffer_gl0_inv"]
    assert "invalidates_outer_caches_first" in cell("GFX10", "wgp", "llvm22", *words.split()).differences


def test_every_difference_is_explained_and_used():
    assert {name for family in FAMILIES for name in differences_of(family)} == set(DIFFERENCES)


def test_every_processor_has_a_family_or_none():
    families = set()
    for row in processors():
        try:
            families.add(family_of(row.name))
        except Unsupported:
            if row.major <= 12:
                raise
            continue
    assert families == set(FAMILIES)


def test_an_unknown_processor_and_mode_say_what_there_is():
    assert "no processor 'gfx9999'" in str(raised(UsageError, family_of, "gfx9999"))
    assert "no memory model for gfx1310" in str(raised(Unsupported, family_of, "gfx1310"))
    error = raised(UsageError, mode_of, family_rules("gfx900"), "wgp")
    assert "GFX9 has no execution mode 'wgp'" in str(error)
    assert error.hint == "it has cu"
