"""The table of the memory model: every cell against LLVM, and single cells against the text."""

from __future__ import annotations

import pytest

from dwarfgpu.errors import Unsupported, UsageError
from dwarfgpu.memory_model.families import DIFFERENCES, FAMILIES, differences_of, family_of, family_rules, mode_of
from dwarfgpu.memory_model.sequences import cell, cells
from dwarfgpu.targets.amdgpu.processors import processors
from tests.memory_model.llvm_sequences import TARGETS, of_llvm, of_table


def compare(llc: str, processor: str, mode: str, folder) -> int:
    """Compare each cell; return how many there are."""
    expected = of_llvm(llc, processor, mode, folder)
    table = {
        f"{row.operation}.{row.ordering}.{row.scope}.{row.space}": of_table(row)
        for row in cells(family_of(processor), mode, "llvm22")
    }
    assert table == expected
    return len(table)


@pytest.mark.parametrize("processor,mode", [("gfx90a", "cu"), ("gfx1200", "wgp")])
def test_the_cells_are_what_llvm_inserts(processor, mode, tmp_path, require_tool):
    assert compare(require_tool("llc-22"), processor, mode, tmp_path) == 678


@pytest.mark.slow
@pytest.mark.parametrize("processor,mode", TARGETS)
def test_the_cells_of_all_families_are_what_llvm_inserts(processor, mode, tmp_path, require_tool):
    assert compare(require_tool("llc-22"), processor, mode, tmp_path) >= 490


def steps(family: str, mode: str, words: str, rule_set: str = "text") -> list[str]:
    return [step.text for step in cell(family, mode, rule_set, *words.split()).steps]


@pytest.mark.parametrize(
    "family,mode,words,expected",
    [
        # AMDGPU usage, memory model code sequences GFX6-GFX10
        ("GFX9", "cu", "load acquire workgroup global", ["buffer/global_load"]),
        ("GFX9", "cu", "load acquire workgroup generic", ["flat_load", "s_waitcnt lgkmcnt(0)"]),
        (
            "GFX9",
            "cu",
            "load acquire agent global",
            ["buffer/global_load glc", "s_waitcnt vmcnt(0)", "buffer_wbinvl1_vol"],
        ),
        ("GFX9", "cu", "store release agent global", ["s_waitcnt vmcnt(0) lgkmcnt(0)", "buffer/global_store"]),
        ("GFX9", "cu", "store release workgroup local", ["ds_store"]),
        ("GFX9", "cu", "load plain none global", ["buffer/global_load"]),
        ("GFX9", "cu", "load volatile none global", ["buffer/global_load glc"]),
        ("GFX9", "cu", "load nontemporal none global", ["buffer/global_load glc slc"]),
        (
            "GFX10",
            "wgp",
            "load acquire workgroup global",
            ["buffer/global_load glc", "s_waitcnt vmcnt(0)", "buffer_gl0_inv"],
        ),
        ("GFX10", "cu", "load acquire workgroup generic", ["flat_load", "s_waitcnt lgkmcnt(0)"]),
        ("GFX10", "cu", "store release workgroup global", ["s_waitcnt lgkmcnt(0)", "buffer/global_store"]),
        (
            "GFX10",
            "wgp",
            "store release workgroup local",
            ["s_waitcnt vmcnt(0)", "s_waitcnt_vscnt null, 0x0", "ds_store"],
        ),
        (
            "GFX10",
            "wgp",
            "load acquire agent global",
            ["buffer/global_load glc dlc", "s_waitcnt vmcnt(0)", "buffer_gl0_inv", "buffer_gl1_inv"],
        ),
        (
            "GFX10",
            "wgp",
            "rmw acquire agent global",
            ["buffer/global_atomic", "s_waitcnt_vscnt null, 0x0", "buffer_gl0_inv", "buffer_gl1_inv"],
        ),
        ("GFX10", "wgp", "fence acquire singlethread all", []),
        # AMDGPU usage, memory model code sequences GFX12
        (
            "GFX12",
            "wgp",
            "load acquire workgroup global",
            ["buffer/global_load scope:SCOPE_SE", "s_wait_loadcnt 0x0", "global_inv scope:SCOPE_SE"],
        ),
        ("GFX12", "cu", "load acquire workgroup global", ["buffer/global_load"]),
        ("GFX12", "cu", "load acquire workgroup generic", ["flat_load", "s_wait_dscnt 0x0"]),
        (
            "GFX12",
            "wgp",
            "store release agent-one-as global",
            [
                "global_wb scope:SCOPE_DEV",
                "s_wait_bvhcnt 0x0",
                "s_wait_samplecnt 0x0",
                "s_wait_storecnt 0x0",
                "s_wait_loadcnt 0x0",
                "buffer/global_store scope:SCOPE_DEV",
            ],
        ),
        ("GFX12", "cu", "store release workgroup global", ["s_wait_dscnt 0x0", "buffer/global_store"]),
        (
            "GFX12",
            "wgp",
            "rmw-return acquire system global",
            [
                "buffer/global_atomic th:TH_ATOMIC_RETURN scope:SCOPE_SYS",
                "s_wait_loadcnt 0x0",
                "global_inv scope:SCOPE_SYS",
            ],
        ),
        ("GFX12", "cu", "rmw acquire workgroup generic", ["flat_atomic"]),
        ("GFX12", "cu", "fence acquire workgroup all", ["s_wait_dscnt 0x0"]),
        ("GFX12", "wgp", "store volatile none global", ["buffer/global_store scope:SCOPE_SYS", "s_wait_storecnt 0x0"]),
    ],
)
def test_a_cell_of_the_text(family, mode, words, expected):
    assert steps(family, mode, words) == expected


def test_a_seq_cst_operation_of_one_space_has_all_instructions_in_the_text():
    words = "store seq_cst workgroup-one-as global"
    assert steps("GFX10", "wgp", words) == steps("GFX10", "wgp", words.replace("-one-as", ""))
    assert steps("GFX10", "wgp", words, "llvm22") != steps("GFX10", "wgp", words.replace("-one-as", ""), "llvm22")


@pytest.mark.parametrize("family", FAMILIES)
def test_every_cell_that_differs_names_why(family):
    for mode in FAMILIES[family]["llvm22"].caches:
        pairs = zip(cells(family, mode, "text"), cells(family, mode, "llvm22"), strict=True)
        for text, llvm in pairs:
            assert bool(llvm.differences) == (text.steps != llvm.steps), llvm
            assert set(llvm.differences) <= set(differences_of(family))


def test_every_difference_is_explained_and_used():
    used = {name for family in FAMILIES for name in differences_of(family)}
    assert used == set(DIFFERENCES)


def test_every_processor_has_a_family_or_none():
    families = set()
    for row in processors():
        try:
            families.add(family_of(row.name))
        except Unsupported:
            if not row.name.startswith(("gfx125", "gfx12-5")) and row.major <= 12:
                raise
            continue
    assert families == set(FAMILIES)


def test_an_unknown_processor_and_mode_say_what_there_is():
    with pytest.raises(UsageError, match="no processor 'gfx9999'"):
        family_of("gfx9999")
    with pytest.raises(Unsupported, match="no memory model for gfx1250"):
        family_of("gfx1250")
    with pytest.raises(UsageError, match="GFX9 has no execution mode 'wgp'") as raised:
        mode_of(family_rules("gfx900"), "wgp")
    assert raised.value.hint == "it has cu"
