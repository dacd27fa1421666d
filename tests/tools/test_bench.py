"""`tools/bench`: a row that misses its limit is marked. No time is measured here."""

from bench import __main__ as command
from bench import rows

from tests.builders.parameters import for_each


@for_each("seconds, limit, is_missed", (3.0, 6, False), (3.0, 5.9, True), (0.0, 1, False))
def test_a_row_that_misses_its_limit_is_marked_and_named_again(seconds, limit, is_missed, monkeypatch, capsys):
    row = rows.Row("an answer", lambda: seconds, "half a second", lambda: 0.5, limit)
    monkeypatch.setattr(command, "GROUPS", {"one": lambda: [row], "two": lambda: [row]})
    monkeypatch.setattr(command, "compile_all", lambda: None)
    monkeypatch.setattr("sys.argv", ["bench", "one"])
    assert command.main() == 0
    first, *_, last = capsys.readouterr().out.splitlines()
    assert ("MISSED" in first, last) == (is_missed, f"missed: {'an answer' if is_missed else 'none'}")


def test_rows_of_tools_that_are_not_installed_say_so(monkeypatch, capsys):
    def group():
        yield rows.Row("an answer", lambda: 0.0, rows.tool("no-such-tool"), lambda: 0.5, 1)

    monkeypatch.setattr(command, "GROUPS", {"one": group})
    monkeypatch.setattr(command, "compile_all", lambda: None)
    monkeypatch.setattr("sys.argv", ["bench"])
    assert command.main() == 0
    assert "one: not measured: no-such-tool is not installed" in capsys.readouterr().out
