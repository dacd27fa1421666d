"""A user who types what dwarfgpu no longer has is told what to use instead, at the shell and at the prompt."""

import pytest

from dwarfgpu.errors import UsageError
from dwarfgpu.questions.registry import Registry, check_gone, read_arguments
from dwarfgpu.questions.table import COMMANDS


@pytest.mark.parametrize(
    "line, gone",
    [
        ("cast x", "cast"),
        ("info lanes --old", "info lanes --old"),
        ("info lanes -old", "info lanes --old"),
        ("info lanes -all -old=3", "info lanes --old"),
        ("info lanes -form new", None),
        ("info lanes -form old", "info lanes --form old"),
        ("info lanes --form=old", "info lanes --form old"),
        ("info lanes -- -old", None),
        ("info lanes here", "info lanes here"),
        ("info lanes not here", None),
        ("info lines --old", None),
    ],
)
def test_words_that_are_gone(monkeypatch: pytest.MonkeyPatch, line: str, gone: str | None) -> None:
    old = ("cast", "info lanes --old", "info lanes --form old", "info lanes here")
    monkeypatch.setattr("dwarfgpu.questions.registry.GONE", dict.fromkeys(old, "new"))
    first, second, *rest = line.split()
    names = (first, [second, *rest]) if first == "cast" else (f"{first} {second}", rest)
    if gone is None:
        check_gone(*names)
        return
    with pytest.raises(UsageError, match=f"`{gone}` is gone"):
        check_gone(*names)
    with pytest.raises(UsageError, match=f"`{gone}` is gone"):
        read_arguments(*Registry(COMMANDS).find(line))
