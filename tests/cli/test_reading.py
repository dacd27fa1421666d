CL_19 = "fixtures/compilers/cl.clang19.gfx900.w64.O0.v5.co"
LEGACY = "fixtures/asm/lane-pc-legacy.gfx90a.w64.co"


def test_a_dialect_and_a_numbering_decide_what_bytes_are(run):
    status, _, error = run("verify", LEGACY)
    assert status != 0 or error
    assert run("verify", LEGACY, "--dialect", "llvm-legacy", "--attributes", "llvm-old")[0] == 0
    assert "DW_AT_address_class  1 (private_lane)" in run("dump", CL_19)[1]
    assert "DW_AT_address_class  1 (generic)" in run("dump", CL_19, "--attributes", "llvm-current")[1]
    assert "DW_AT_address_class  1 (global)" in run("dump", CL_19, "--attributes", "amdgpu-2020")[1]
    status, text, _ = run("info", "fixtures/compilers/cl.clang13.gfx900.w64.O2.v5.hsa2.co")
    assert status == 0
    assert "llvm-21 (the producer is clang version 13; 1 unit)" in " ".join(text.split())
    assert "amdgcn-gfx900:xnack+" in text
