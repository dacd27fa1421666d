"""Parameters as rows of a table and in all combinations, parameters for slow runs only, and numbers of examples."""

import functools
import inspect
import re
from collections.abc import Callable, Iterable
from itertools import cycle, product
from textwrap import dedent
from typing import Any

import pytest
from hypothesis import settings


def some_slow(values: Iterable[Any], *, quick: Iterable[Any]) -> list[Any]:
    """Return all values as parameters, tuples as several; those that are not quick are for slow runs only."""
    values, chosen = list(values), list(quick)
    assert chosen
    assert all(value in values for value in chosen)
    return [
        pytest.param(
            *(value if isinstance(value, tuple) else (value,)), marks=() if value in chosen else pytest.mark.slow
        )
        for value in values
    ]


def pairs(values: Iterable[Any], others: Iterable[Any]) -> list[Any]:
    """Return all pairs as parameters; quick are those with each value once, and the others in turn."""
    values, others = list(values), list(others)
    return some_slow(product(values, others), quick=zip(values, cycle(others)))


def few_or_all(few: int) -> pytest.MarkDecorator:
    """Parametrize ``every``: in each run of the tests one of so many cases is tried, and all of them in a slow one."""
    return pytest.mark.parametrize(
        "every", [pytest.param(few, id="few"), pytest.param(1, id="all", marks=pytest.mark.slow)]
    )


def share(count: int, part: int = 4) -> int:
    """Return how many of so many random cases are tried: all of them where the tests are thorough."""
    return count if settings.default.max_examples >= 200 else count // part


def some_of(cases: Iterable[Any], part: int = 3) -> list[Any]:
    """Return every third case, and all of them where the tests are thorough."""
    return list(cases)[:: 1 if settings.default.max_examples >= 200 else part]


def examples(count: int) -> settings:
    """Let hypothesis try so many examples, half of them before a change is accepted, and a quarter by default."""
    return settings(max_examples=count * settings.default.max_examples // 200)


def for_each(names: str, *rows: Any, **options: Any) -> pytest.MarkDecorator:
    """Parametrize a test by the rows of a table: ``@for_each("text, number", ("1", 1), ("0x10", 16))``."""
    return pytest.mark.parametrize(names, rows, **options)


def told(text: str) -> list[tuple[str, str]]:
    """The rows of a text ``lit1; dup | lit1 -> ok``: what is asked, with ``|`` between what has one answer, and that.

    A line that is indented further continues the one before; three spaces or more part the rows of one line.
    """
    lines = re.split(r"\n| {3,}", re.sub(r"\n {4,}", " ", dedent(text).strip()))
    rows = [line.rpartition("->") for line in map(str.strip, lines) if line and not line.startswith("#")]
    return [(each.strip(), answer.strip()) for asked, _, answer in rows for each in asked.split(" | ")]


def every(**values: Iterable[Any]) -> Callable[[Any], Any]:
    """Parametrize a test by all combinations of values: ``@every(order=ORDERS, size=[4, 8])``."""

    def combined(test: Any) -> Any:
        for name, each in reversed(values.items()):
            test = pytest.mark.parametrize(name, each)(test)
        return test

    return combined


def in_one_test(names: str, cases: Iterable[Any]) -> Callable[[Any], Any]:
    """Let one test try every case of a table, and name each that fails: a test for each case costs more."""
    keys, rows = names.split(", "), list(cases)

    def together(test: Any) -> Any:
        @functools.wraps(test)
        def all_cases(**fixtures: Any) -> None:
            failures: dict[str, BaseException] = {}
            for row in rows:
                case = dict(zip(keys, row if len(keys) > 1 else (row,), strict=True))
                try:
                    test(**case, **fixtures)
                except (Exception, pytest.fail.Exception) as error:  # noqa: BLE001 (it is raised below)
                    failures[f"{case}"[:200]] = error
            if failures:
                texts = "\n\n".join(f"{case}:\n{error!r}" for case, error in failures.items())
                raise AssertionError(texts) from next(iter(failures.values()))

        signature = inspect.signature(test)
        others = [each for name, each in signature.parameters.items() if name not in keys]
        all_cases.__signature__ = signature.replace(parameters=others)  # type: ignore[attr-defined]
        return all_cases

    return together
