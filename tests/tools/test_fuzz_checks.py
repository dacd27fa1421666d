import random

import pytest

from tools import fuzz_judge, fuzz_loop, fuzz_memmodel


def test_a_number_makes_one_file():
    subject = fuzz_judge.Subject("asm/lane-pc.gfx90a.w64.co")
    first, again = (subject.damaged(random.Random("7/1")) for _ in range(2))
    assert first == again != subject.data
    assert len(first) == len(subject.data)


@pytest.mark.slow
@pytest.mark.parametrize("fuzzer", [fuzz_judge, fuzz_memmodel], ids=lambda each: each.__name__)
def test_damaged_files_end_with_an_answer_or_an_error(fuzzer, tmp_path):
    attempt = fuzzer.begin(tmp_path)
    assert [trace for number in range(5) if (trace := fuzz_loop.tried(attempt, f"tests/{number}")) is not None] == []
