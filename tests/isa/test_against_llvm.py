"""The decoder against libLLVM 22: random words for every family of processors, and that the tables are what it says."""

import pytest

from tests.conftest import lacking
from tools import isa
from tools.isa_oracle import NoOracle, Oracle

FAMILIES = [family[0] for families in isa.FAMILIES.values() for family in families]


@pytest.mark.slow
@pytest.mark.parametrize("processor", FAMILIES)
def test_random_words_are_read_as_llvm_does(processor):
    major = isa.major_of(processor)
    wrong = []
    for size in (32, 64) if major >= 10 else (64,):
        try:
            oracle = Oracle(processor, size if major >= 10 else 0)
        except NoOracle as missing:
            raise lacking(str(missing)) from None
        try:
            pieces = isa.random_words(major, 20_000, seed=size)
            wrong += isa.differences(isa.decoder(processor, size), oracle, pieces)
        finally:
            oracle.close()
    assert not wrong, "\n".join(f"{code.hex()}: {ours!r}, LLVM: {theirs!r}" for code, ours, theirs in wrong[:10])
