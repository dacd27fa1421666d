"""Answers of every kind are today what they were, word for word; `tools/answers.py --golden` says what changed."""

import re

import pytest

from tests.builders import frozen

QUESTIONS = {f"{name}-{number}": each for name in frozen.names() for number, each in enumerate(frozen.questions(name))}
SLOW = re.compile("execution-.*[1-9]|(judge|run)-.*[1-46-9]")
"""Most questions about a kernel that runs."""


@pytest.mark.parametrize(
    "which", [pytest.param(name, marks=pytest.mark.slow if SLOW.fullmatch(name) else ()) for name in QUESTIONS]
)
def test_what_is_answered(which, request):
    question = QUESTIONS[which]
    tools = request.getfixturevalue("require_tool") if question.command == "gdb" else None
    assert frozen.answered(question, tools) == question.answer
