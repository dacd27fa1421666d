"""What clang is known to write otherwise than it means: found without being told, and gone where it is read as meant.

Each idiom is that of a variable of a kernel that runs. llvm-dwarfdump says that the variable is written so.
"""

import re
import subprocess

import numpy as np
import pytest

from tests.builders.commands import run

CL, HIP = "fixtures/amdgpu/cl-kernels.{}.co", "fixtures/amdgpu/hip-kernels.{}.co"
SAXPY = "saxpy", (np.zeros(64, "f4"), np.ones(64, "f4"), 2.0, 64)
OLD_CL, OLD_HIP = "fixtures/compilers/cl.{}.co", "fixtures/compilers/hip.{}.co"
SPACES = "spaces", (np.zeros(64, "i4"), 256)
MEMORY = "_Z6memoryPi3Rowi", (np.zeros(64, "i4"), {"cells": [1, 2, 3, 4]}, 3)
DIVERGENT = "_Z9divergentPii", (np.zeros(64, "i4"), 40)
XDEREF = "DW_OP_swap, DW_OP_xderef"

IDIOMS = [
    pytest.param(CL, "gfx90a.w64.O0.v5", SAXPY, "product", rf"DW_OP_fbreg \+\d+, DW_OP_lit5, {XDEREF}$", id="slot"),
    pytest.param(CL, "gfx1100.w32.O0.v5", SAXPY, "product", rf"DW_OP_fbreg \+\d+, DW_OP_lit5, {XDEREF}$",
                 id="slot-wave32"),
    pytest.param(HIP, "gfx90a.w64.O0.v5", DIVERGENT, "lane", rf"DW_OP_fbreg \+\d+, DW_OP_lit1, {XDEREF}$",
                 id="slot-generic"),
    pytest.param(HIP, "gfx90a.w64.O0.v5", DIVERGENT, "term", rf"DW_OP_fbreg \+\d+, DW_OP_lit1, {XDEREF}$",
                 id="slot-of-a-function"),
    pytest.param(CL, "gfx90a.w64.O2.v5", SAXPY, "i", rf"DW_OP_bregx VGPR\d+\+0, DW_OP_lit5, {XDEREF}", id="register"),
    pytest.param(HIP, "gfx1100.w32.O2.v5", DIVERGENT, "lane", rf"DW_OP_bregx 0x6\w\w \+0, DW_OP_lit1, {XDEREF}",
                 id="register-generic"),
    pytest.param(HIP, "gfx90a.w64.O2.v5", DIVERGENT, "base", rf"DW_OP_const\w \+?\d+, .*{XDEREF}, DW_OP_stack_value",
                 id="constant"),
    pytest.param(OLD_CL, "clang16.gfx900.w64.O0.v5", SPACES, "tile", rf"DW_OP_addrx 0x\w+, DW_OP_lit2, {XDEREF}$",
                 id="local-memory"),
    pytest.param(OLD_CL, "clang19.gfx1100.w32.O2.v5.hsa5", SPACES, "tile",
                 rf"DW_OP_addrx 0x\w+, DW_OP_lit2, {XDEREF}$", id="local-memory-optimized"),
    pytest.param(OLD_CL, "clang16.gfx90a.w64.O2.v4", SPACES, "tile", rf"DW_OP_addr 0x0, DW_OP_lit2, {XDEREF}$",
                 id="local-memory-v4"),
    pytest.param(OLD_HIP, "clang16.gfx1100.w32.O2.v5", MEMORY, "tile", rf"DW_OP_addrx 0x\w+, DW_OP_lit2, {XDEREF}$",
                 id="local-memory-of-a-function"),
    pytest.param(OLD_CL, "clang16.gfx900.w64.O0.v5", SPACES, "mine", rf"DW_OP_fbreg \+\d+, DW_OP_lit1, {XDEREF}$",
                 id="pointer-to-local-memory"),
]  # fmt: skip


def locations_of(path, name):
    """What llvm-dwarfdump prints of the locations of the variables with a name, and of copies of them."""
    command = ["llvm-dwarfdump-22", "--debug-info", path]
    entries = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split("\n\n")
    return "\n".join(entry for entry in entries if f'"{name}")' in entry)


@pytest.fixture(scope="module")
def messages_of(judged):
    """``messages_of(path, kernel, "auto")`` is what is said of values that cannot be had."""
    known = {}

    def messages(path, kernel, repair):
        name, args = kernel
        if (path, name, repair) not in known:  # several idioms are in one kernel
            sizes = {"grid": 64, "work_group": 64, "private_size": 4096}
            findings = judged(path, name, args=args, repair=repair, **sizes).report.findings
            known[path, name, repair] = [each.message for each in findings if each.rule.name == "value-failed"]
        return known[path, name, repair]

    return messages


def values_wrong(messages_of, path, kernel, repair):
    return {message.split(": ")[1] for message in messages_of(path, kernel, repair)}


@pytest.mark.slow
@pytest.mark.parametrize("pattern, way, kernel, variable, idiom", IDIOMS)
def test_an_idiom_is_found_and_vanishes_with_repairs(pattern, way, kernel, variable, idiom, messages_of, require_tool):
    require_tool("llvm-dwarfdump-22")
    path = pattern.format(way)
    assert re.search(idiom, locations_of(path, variable).replace(")", ""), re.MULTILINE), locations_of(path, variable)
    assert variable in values_wrong(messages_of, path, kernel, "off")
    assert values_wrong(messages_of, path, kernel, "auto") == set()


def frame_bases_of(path, function):
    command = ["llvm-dwarfdump-22", "--debug-info", f"--name={function}", path]
    return re.findall(
        r"DW_AT_frame_base\t\((.*)\)", subprocess.run(command, capture_output=True, text=True, check=True).stdout
    )


@pytest.mark.slow
@pytest.mark.parametrize("way", ["gfx90a.w64.O0.v5", "gfx1100.w32.O0.v5"])
def test_the_frame_base_is_a_register_and_is_read_as_an_address_with_repairs(way, messages_of, require_tool):
    """By the text the frame of a function is then in the register itself, which is 4 bytes long."""
    require_tool("llvm-dwarfdump-22")
    path = HIP.format(way)
    assert frame_bases_of(path, "square") == ["DW_OP_regx SGPR33"]
    for repair, is_found in (("off", True), ("auto", False)):
        messages = messages_of(path, DIVERGENT, repair)
        found = [each for each in messages if each.startswith("square(int)") and "past the end of s33" in each]
        assert bool(found) is is_found


@pytest.mark.parametrize("compiler", ["clang16", "clang19"])
def test_a_pointer_is_followed_into_the_space_that_its_compiler_means(compiler, require_tool, tmp_path):
    """DW_AT_address_class is a number of the compiler's own; a machine that has executed the store knows which."""
    require_tool("llvm-dwarfdump-22")
    path = OLD_CL.format(f"{compiler}.gfx900.w64.O0.v5")
    command = ["llvm-dwarfdump-22", "--debug-info", path]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert re.search(r"DW_AT_address_class\t\(0x00000002\)", text)
    state = str(tmp_path / "state.dgs")
    sizes = ("--grid", "64", "--work-group", "64", "--private-size", "4096")
    run("run", path, "spaces", *sizes, "zeros(64)", "256", "--until", "variables.cl:45", "--state", state)
    words = ("eval", path, "*mine", "--wave", "1", "--lane", "7", "--state", state)
    assert run(*words).stdout.splitlines()[0] == "*mine = 35"
    assert "Cannot access memory" in run(*words, "--attributes", "llvm-old").stdout


WIDE = """
__attribute__((noinline)) long tripled(long number) {
  long sum = number * 3;
  return sum;
}
kernel void wide(global long *out) {
  int id = __builtin_amdgcn_workitem_id_x();
  out[id] = tripled(id);
}
"""


@pytest.mark.parametrize("processor", ["gfx90a", "gfx1100"])
def test_an_idiom_of_pieces_is_found_and_vanishes_with_repairs(processor, messages_of, require_tool, tmp_path):
    path = str(tmp_path / "wide.co")
    words = [require_tool("clang-22"), "-x", "cl", "-cl-std=CL2.0", "-target", "amdgcn-amd-amdhsa"]
    words += [f"-mcpu={processor}", "-g", "-O2", "-nogpulib", "-", "-o", path]
    subprocess.run(words, input=WIDE, text=True, check=True, cwd=tmp_path)
    assert re.search(rf"{XDEREF}, DW_OP_piece 0x4, DW_OP_bregx", locations_of(path, "number"))
    kernel = "wide", (np.zeros(64, "i8"),)
    assert "number" in values_wrong(messages_of, path, kernel, "off")
    assert values_wrong(messages_of, path, kernel, "auto") == set()


def test_frames_without_rules_are_found_whatever_is_repaired(judged):
    path, (kernel, args) = CL.format("gfx90a.w64.O2.v5"), SAXPY
    for repair in ("off", "auto"):
        findings = judged(path, kernel, grid=64, work_group=64, args=args, repair=repair).report.findings
        assert "unwind-missing" in {finding.rule.name for finding in findings}
