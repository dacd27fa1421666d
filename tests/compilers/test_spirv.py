"""What becomes of LLVM's text for SPIR."""

from __future__ import annotations

import pytest

from dwarfgpu.compilers.spirv import _rewritten
from dwarfgpu.errors import MalformedFile

LINES = [
    ("%1 = load i32, ptr %0", "%1 = load i32, ptr addrspace(5) %0"),
    ("%1 = alloca [4 x i8], align 1, !dbg !7", "%1 = alloca [4 x i8], align 1, addrspace(5), !dbg !7"),
    ("%2 = addrspacecast ptr %1 to ptr addrspace(4)", "%2 = addrspacecast ptr addrspace(5) %1 to ptr"),
    ("store ptr addrspace(1) null, ptr addrspace(4) %ptr", "store ptr addrspace(1) null, ptr %ptr"),
    (
        "%3 = icmp eq ptr addrspace(3) %null, null",
        "%3 = icmp eq ptr addrspace(3) %null, addrspacecast (ptr null to ptr addrspace(3))",
    ),
    (
        "%3 = phi ptr [ null, %2 ], [ %ptr.1, %null ]",
        "%3 = phi ptr addrspace(5) [ addrspacecast (ptr null to ptr addrspace(5)), %2 ], [ %ptr.1, %null ]",
    ),
    ('@s = addrspace(2) constant [9 x i8] c"ptr null\\00"', '@s = addrspace(4) constant [9 x i8] c"ptr null\\00"'),
    (
        "call spir_func void @llvm.memcpy.p0.p2.i64(ptr %0, ptr addrspace(2) @s, i64 8, i1 false)",
        "call void @llvm.memcpy.p5.p4.i64(ptr addrspace(5) %0, ptr addrspace(4) @s, i64 8, i1 false)",
    ),
    ('@s = internal addrspace(2) global [2 x i8] c"x\\00"', '@s = internal addrspace(4) constant [2 x i8] c"x\\00"'),
    ('%1 = load target("spirv.Image", void, 1, 0), ptr %0', "%1 = load ptr addrspace(1), ptr addrspace(5) %0"),
    ("!(DW_OP_constu, 0, DW_OP_swap, DW_OP_xderef)", "!(DW_OP_constu, 1, DW_OP_swap, DW_OP_xderef)"),
    ("!(DW_OP_deref, DW_OP_constu, 1, DW_OP_swap, DW_OP_xderef)", "!(DW_OP_deref)"),
    ("!5 = !DIDerivedType(size: 64, dwarfAddressSpace: 3)", "!5 = !DIDerivedType(size: 32, dwarfAddressSpace: 2)"),
    ("attributes #0 = { nounwind }", "attributes #0 = { convergent nounwind }"),
]  # fmt: skip


@pytest.mark.parametrize("line, wanted", LINES)
def test_lines(line: str, wanted: str) -> None:
    assert _rewritten(line, "p")[0].partition("\n")[0] == wanted


FUNCTIONS = [
    ("i64 @_Z12get_local_idj", "long p_Z12get_local_idj(uint a0) { return __builtin_astype(get_local_id(a0), long); }"),
    (
        "<4 x float> @_Z6sincosDv4_fPU3AS4S_",
        "(float4 a0, generic float4 * a1) { return __builtin_astype(sincos(a0, a1), float4); }",
    ),
    ("float @_Z5fractfPf", "(float a0, private float * a1) { "),
    (
        "i1 @_Z39atomic_compare_exchange_strong_explicitPU3AS4VU7_AtomiciPU3AS4ii12memory_orderS4_12memory_scope",
        "(generic volatile atomic_int * a0, generic int * a1, int a2, memory_order a3, memory_order a4, ",
    ),
    (
        "<4 x float> @_Z11read_imagef20ocl_image2d_array_ro11ocl_samplerDv4_i",
        "return __builtin_astype(read_imagef(__builtin_astype(a0, read_only image2d_array_t), a1, a2), float4); }",
    ),
    (
        "ptr @_Z21async_work_group_copyPU3AS3jPU3AS1Kjm9ocl_event",
        "global const uint * a1, ulong a2, private void * a3) { async_work_group_copy(a0, a1, a2, 0); return 0; }",
    ),
    ("void @_Z17wait_group_eventsiPU3AS49ocl_event", "(int a0, generic ocl_event * a1) { wait_group_events(a0, a1); }"),
    ("half @_Z4fmaxDhDh", "half p_Z4fmaxDhDh(half a0, half a1)"),
]  # fmt: skip
"""Functions that SPIR declares, and what calls them in OpenCL C (Itanium C++ ABI, 5.1)."""


@pytest.mark.parametrize("declared, wanted", FUNCTIONS)
def test_functions(declared: str, wanted: str) -> None:
    text, source = _rewritten(f"declare spir_func {declared}()", "p")
    assert wanted in source
    assert "@p_Z" in text


@pytest.mark.parametrize(
    "line",
    [
        "%s = type { i32, ptr addrspace(3) }", "%1 = alloca [2 x ptr], align 8", "@g = internal global i32 0",
        "%1 = load i32, ptr addrspace(5) %0", 'declare target("spirv.Pipe", 0) @f()', "declare void @_Z1fS_()",
        "declare void @_Z1fPv()", "declare ptr @_Z1fi()", "declare {} @_Z1fi()",
    ],
)  # fmt: skip
def test_what_has_no_translation(line: str) -> None:
    """Pointers to private and local memory have 4 bytes for AMD and 8 for SPIR, so that variables differ."""
    with pytest.raises(MalformedFile, match="SPIR-V cannot be translated for AMD GPUs: "):
        _rewritten(line, "p")
