"""Pointers into address spaces as values of GDB: with address spaces, as ROCgdb has them, and without."""

import pytest

from tests.builders.address_spaces import BASE, LOCAL, PRIVATE, SHARED, StoppedKernel
from tests.gdb.running import python, run_gdb, stub
from tests.gdb.stub import SPACE_SHIFT

PROCESSOR = "gfx1100-wave32"


@pytest.fixture(scope="module")
def kernel(require_tool, tmp_path_factory):
    return StoppedKernel(tmp_path_factory.mktemp("kernel"), require_tool, PROCESSOR)


@pytest.fixture
def said(require_tool, kernel, tmp_path):
    """Returns what GDB prints for expressions in lane 5; it knows the address spaces if it is taught them."""

    def ask(*expressions: str, is_taught: bool) -> list[str]:
        with stub(tmp_path, {"kernel": kernel.state}) as sockets:
            words = ["-ex", "maint set dwarf unwinders off", "-ex", f"add-symbol-file {kernel.path} -o {BASE:#x}"]
            words += ["-ex", f"target remote {sockets / 'kernel'}"]
            if is_taught:
                words += python("from tests.gdb.inside import spaces; spaces.teach()")
            words += ["-ex", "set $_lane = 5"]
            for expression in expressions:
                words += ["-ex", "echo @@", "-ex", expression]
            text = run_gdb(require_tool, *words)
        return [part.strip() for part in text.split("@@")[1:]]

    return ask


@pytest.mark.slow
def test_a_gdb_without_address_spaces_has_generic_addresses(said, kernel):
    found = said(
        'output $dwarfgpu("(int @local *) 0x20")',
        'output $dwarfgpu("&arr")',
        'output $dwarfgpu("&arr[1]")',
        'output $dwarfgpu("(char @private_lane *) -1")',
        'output $dwarfgpu("(int @generic *) 0x1000")',
        'output $dwarfgpu("(int @region *) 8")',
        is_taught=False,
    )
    # GDB takes the types of the kernel for those of a processor with addresses of 32 bits
    assert found[:5] == [
        f"(void *) {LOCAL + 0x20:#x}",
        f"(uint32_t (*)[3]) {PRIVATE + kernel.offsets['arr']:#x}",
        f"(uint32_t *) {PRIVATE + kernel.offsets['arr'] + 4:#x}",
        "0x0",
        "(int *) 0x1000",
    ]
    assert "region#0x8 is not an address of generic (`dwarfgpu eval` shows it)" in found[5]


@pytest.mark.slow
def test_a_gdb_with_address_spaces_has_pointers_and_lvalues(said):
    found = said(
        'output/x (long) $dwarfgpu("shared")',
        'output $dwarfgpu("*shared")',
        'set var $dwarfgpu("*shared") = 44',
        'output $dwarfgpu("*gen")',
        'output/x (long) &$dwarfgpu("shared[1]")',
        'set var $dwarfgpu("*(int *) local#0x28") = 66',
        'output $dwarfgpu("*n.q")',
        'output $dwarfgpu("*arr[1]")',
        'output $dwarfgpu("*arr[1]", 0)',
        'output $dwarfgpu("out")',
        'output $dwarfgpu("null_private")',
        'output $dwarfgpu("n")',
        'output $dwarfgpu("la")',
        "dwarfgpu eval n.q",
        is_taught=True,
    )
    local = 3 << SPACE_SHIFT
    assert found[:11] == [
        *(f"{local + SHARED:#x}", "4", "", "44", f"{local + SHARED + 4:#x}", "", "66", "205", "200"),
        *("(int *) 0x1000", "(int *) 0x0"),
    ]
    for text in found[11:13]:
        assert text.endswith("GDB has no pointers as wide as those in it (`dwarfgpu eval` shows it)")
    assert found[13].startswith("n.q = (int *) local#0x28")
