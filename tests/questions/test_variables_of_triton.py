"""A file of Triton without variables says how to compile it with them."""

from tests.builders.commands import run


def test_code_of_triton_without_variables_says_how_to_have_them():
    words = ("debug", "fixtures/llvm24/triton-calls.gfx942.w64.co", "-batch")
    launch = ("-ex", "target launch calls 64 64 zeros(64,f4) zeros(64,f4) 8 0 0")
    for command in ("info locals", "print x"):
        assert "LLVM_EXTRACT_DI_LOCAL_VARIABLES=1" in run(*words, *launch, "-ex", command).stderr
    described = ("debug", "fixtures/llvm24/triton.gfx942.w64.co", "-batch", "-ex", "info scope 1", "-ex", "print x")
    assert "LLVM_EXTRACT" not in run(*described).stderr
