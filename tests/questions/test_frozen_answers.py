"""Answers of every kind are today what they were, word for word; `tools/answers.py --golden` says what changed."""

import pytest

from tests.builders import frozen

QUESTIONS = {f"{name}-{number}": each for name in frozen.names() for number, each in enumerate(frozen.questions(name))}


@pytest.mark.parametrize("which", QUESTIONS)
def test_what_is_answered(which, request):
    question = QUESTIONS[which]
    tools = request.getfixturevalue("require_tool") if question.command == "gdb" else None
    assert frozen.answered(question, tools) == question.answer
