from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dwarfgpu.audits.judge.judgement import Judge
from dwarfgpu.compilers import BUILD
from dwarfgpu.execution.launch.options import OPTIONS
from dwarfgpu.questions import judging
from tests.builders.commands import outcome


@pytest.fixture
def run() -> Any:
    """Run a command in the folder of the test: its exit status, standard output and standard error."""
    return lambda *words, **started: outcome(*words, folder=Path.cwd(), **started)


@pytest.fixture
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is said does not depend on how busy the machine is."""
    monkeypatch.setattr("dwarfgpu.audits.faults.last_changes.MOST_SECONDS", 60.0)
    monkeypatch.setattr("dwarfgpu.questions.faults.MOST_SECONDS", 60.0)


@pytest.fixture(scope="module")
def judgements() -> dict[Any, Any]:
    """The judgements of a module, by all that they depend on."""
    return {}


@pytest.fixture
def judged_once(judgements: dict[Any, Any]) -> Iterator[None]:
    """Judge each launch once, in however many forms it is shown."""
    judge_anew, run_anew = judging._Launch.judge, Judge.run

    def judge(launch: Any, arguments: Any) -> Any:
        chosen = [launch.given(name) for name in (*OPTIONS, "seed", "limit", "against")]
        words = None if launch.words is None else tuple(launch.words)
        key = launch.file_words, launch.kernel, words, *chosen, BUILD.words(), bool(arguments.words)
        if key not in judgements:
            judgements[key] = judge_anew(launch, arguments), launch.made
        kept, launch.made = judgements[key]
        return kept

    def run(kept: Any, limit: int | None = None) -> Any:
        if kept not in judgements:
            judgements[kept] = run_anew(kept, limit)
        return judgements[kept]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(judging._Launch, "judge", judge)
        patch.setattr(Judge, "run", run)
        yield
