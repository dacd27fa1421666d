import pytest

from tools import answers


@pytest.mark.slow
def test_answers_are_the_same_each_time(tmp_path):
    texts = []
    for folder in ("a", "b"):
        assert answers.write("asm/lane-pc.gfx90a.w64.co", tmp_path / folder) > 100
        texts.append((tmp_path / folder / "asm/lane-pc.gfx90a.w64.co.txt").read_text())
    assert texts[0] == texts[1]
    assert "Traceback" not in texts[0]


def test_kernels_of_fixtures_are_launched():
    asked = list(answers.questions("amdgpu/even-first.gfx90a.w64.O0.co"))
    assert any("target launch even_first 64 64 out=zeros(63) in=arange(63) n=63" in words for words in asked)
