import pytest

from dwarfgpu.questions.debugger import Debugger
from dwarfgpu.questions.document import ASSEMBLY, OPERATIONS, SOURCE
from dwarfgpu.render.written_text import styled, written
from dwarfgpu.repl import highlight
from dwarfgpu.repl.terminal import MORE, Terminal
from tests.builders.errors import raised
from tests.repl.sitting import Session

KEYWORD, NUMBER, COMMENT, END = "\x1b[1;34m", "\x1b[33m", "\x1b[2m", "\x1b[0m"


def highlighted(kind: str, lines: list[str], file: str) -> list[str]:
    return [written(line) for line in highlight.highlighted(kind, lines, file)]


class Screen(Terminal):
    """A terminal of 20 columns and 5 lines, and a user who answers."""

    def __init__(self, *answers: str) -> None:
        super().__init__(Session(), is_terminal=True)
        self.debugger = Debugger(self.output)
        self.answers = list(answers)
        self.asked: list[str] = []
        self.ask = self._answer
        self.follow(self.debugger.settings)

    def size(self) -> tuple[int, int]:
        return 20, 5

    def _answer(self, question: str) -> str:
        self.asked.append(question)
        if not self.answers:
            raise EOFError
        return self.answers.pop(0)

    def shows(self, text: str) -> str:
        before = len(self.session.text)  # type: ignore[attr-defined]
        self.begin()
        try:
            self.write(text)
        finally:
            self.end()
        found: str = self.session.text[before:]  # type: ignore[attr-defined]
        return found


class TestPages:
    def test_what_fits_asks_nothing_whatever_its_colours(self) -> None:
        screen = Screen()
        assert screen.shows("1\n2\n3\n4\n") == "1\n2\n3\n4\n"
        assert not screen.asked
        screen = Screen()
        screen.shows(styled("1;34", "x" * 20) + "\n" + (styled("1;34", "x" * 20) + "\n") * 3)
        assert not screen.asked

    def test_pages_are_asked_for(self) -> None:
        screen = Screen("", "")
        text = "".join(f"{number}\n" for number in range(10))
        assert screen.shows(text) == text
        assert screen.asked == [MORE, MORE]
        screen = Screen("c")
        screen.shows("\n" * 30)
        assert len(screen.asked) == 1
        screen = Screen("")
        screen.shows("x" * 70 + "\n" + "y\n")
        assert len(screen.asked) == 1
        screen = Screen("", "", "")
        screen.debugger.execute("set height 3")
        screen.shows("\n" * 7)
        assert len(screen.asked) == 3

    def test_pages_end_with_q_and_with_the_input(self) -> None:
        screen = Screen("q")
        raised(KeyboardInterrupt, screen.shows, "1\n2\n3\n4\n5\n")
        assert screen.shows("next\n") == "next\n"
        raised(KeyboardInterrupt, Screen().shows, "\n" * 9)

    @pytest.mark.parametrize("line", ["set pagination off", "set height 0", "set height unlimited"])
    def test_not_where_the_user_does_not_want_them(self, line: str) -> None:
        screen = Screen()
        screen.debugger.execute(line)
        screen.shows("\n" * 30)
        assert not screen.asked

    def test_rows_are_counted_for_commands_that_fill_the_screen(self) -> None:
        screen = Screen()
        screen.debugger.execute("set pagination off")
        screen.shows(f"1\n{'x' * 30}\n3")
        assert screen.output.rows == 3
        screen.begin()
        assert screen.output.rows == 0

    def test_never_without_a_terminal(self) -> None:
        terminal = Terminal(Session(), is_terminal=False)
        terminal.follow(Debugger(terminal.output).settings)
        terminal.begin()
        terminal.write("\n" * 100)


class TestSize:
    def test_the_size_is_that_of_the_terminal_or_what_the_user_says(self) -> None:
        screen = Screen()
        assert (screen.output.width, screen.output.height) == (20, 5)
        screen = Screen()
        screen.debugger.execute("set width 100")
        assert screen.output.width == 100
        screen.debugger.execute("set width 0")
        assert screen.output.width == 10_000
        screen.debugger.execute("set width auto")
        assert screen.output.width == 20
        terminal = Terminal(Session(), is_terminal=False)
        terminal.follow(Debugger(terminal.output).settings)
        assert (terminal.output.width, terminal.output.height) == (80, None)


class TestColors:
    @pytest.fixture
    def screen(self) -> Screen:
        screen = Screen()
        screen.session.is_colored = True  # type: ignore[attr-defined]
        return screen

    def test_they_can_be_switched_off(self, screen: Screen) -> None:
        assert screen.output.style("name", "x") == "<name>x</>"
        assert screen.output.code(ASSEMBLY, ["s_endpgm"]) != ["s_endpgm"]
        screen.debugger.execute("set style enabled off")
        assert screen.output.style("name", "x") == "x"
        assert screen.output.code(ASSEMBLY, ["s_endpgm"]) == ["s_endpgm"]

    def test_source_has_the_colours_of_its_language(self) -> None:
        assert Screen().output.code(SOURCE, ["int x;"], "a.c") == ["int x;"]
        (line,) = highlighted(SOURCE, ["  return 3;  // no"], "/src/k.hip")
        assert line == f"  {KEYWORD}return{END} {NUMBER}3{END};  {COMMENT}// no{END}"
        assert highlighted(SOURCE, ["int x;"], "a.xyz") == ["int x;"]
        assert highlighted(SOURCE, ["int x;"], "") == ["int x;"]

    @pytest.mark.parametrize("file", ["a.c", "a.cl", "a.cu", "A.HIP", "a.f90", "a.py", "a.rs", "a.s"])
    def test_languages(self, file: str) -> None:
        lines = ["  if (x == 1) then", "", "\treturn 2 # no"]
        found = highlighted(SOURCE, lines, file)
        assert len(found) == len(lines)
        assert found != lines
        assert found[1] == ""

    def test_instructions_operations_and_words_of_gpus_have_colours(self) -> None:
        (line,) = highlighted(SOURCE, ["__global__ void add(__local float4 *x) { x[threadIdx.x] = 0; }"], "a.cu")
        assert f"{KEYWORD}__global__{END}" in line
        assert f"{KEYWORD}__local{END}" in line
        assert f"\x1b[32mfloat4{END}" in line
        assert f"\x1b[36mthreadIdx{END}" in line
        (line,) = highlighted(ASSEMBLY, ["=> 0x1900 <add+4>: v_add_f32_e32 v0, 0x40, v[1:2] // 03"], "")
        assert f"{NUMBER}0x1900{END}" in line
        assert f"\x1b[1;36mv_add_f32_e32{END}" in line
        assert f"\x1b[36mv0{END}" in line
        assert f"\x1b[36mv[1:2]{END}" in line
        assert f"{COMMENT}// 03{END}" in line
        (line,) = highlighted(OPERATIONS, ["DW_OP_regx v4; DW_OP_LLVM_offset_uconst 16"], "")
        assert f"{KEYWORD}DW_OP_LLVM_offset_uconst{END} {NUMBER}16{END}" in line

    def test_a_line_stays_a_line_whatever_is_in_it(self) -> None:
        for lines in (["int x;\rint y;", "z"], ["/* a", "b */ int c;"], ["\x00\x1b[31m"], ['"', "'"], [" "]):
            assert len(highlighted(SOURCE, lines, "a.c")) == len(lines)
