"""What a terminal shows is what a pipe gets, with colours and within its width."""

import re
import shlex
import subprocess
import sys
from itertools import cycle

import pytest

from dwarfgpu.cli.run import summaries
from dwarfgpu.questions.registry import SHELL_GROUPS
from dwarfgpu.questions.table import AT_SHELL
from dwarfgpu.render.layout import folded
from dwarfgpu.render.written_text import styled, without_styles
from tests.builders.commands import ROOT, run, run_at_terminal
from tests.builders.parameters import for_each
from tests.cli.test_faces import CORE, EQUAL, FILE, STATE
from tools.pages import EXAMPLES, blocks_of, pages

CALLS = "fixtures/llvm24/hip-calls.gfx1100.w32.O2.co --state dwarfgpu/examples/calls.json"
KERNELS = "fixtures/amdgpu/cl-kernels.gfx1100.w32.O0.v5.co"
SAXPY = f"run {KERNELS} saxpy --grid 64 --work-group 64"
ESCAPE = re.compile(r"\x1b\[([0-9;]*)m")
SEEN_ON_LIGHT_AND_DARK = {"", "0", "1", "2", "31", "32", "33", "34", "35", "36"}
"""The codes that are readable on a light and on a dark terminal: neither black, white, grey nor a background."""
FILES = {
    "--json": "a document, whose strings cannot be cut",    "--jsonl": "the same, one a line",
    "--sarif": "JSON",          "--csv": "a row a line",
    "--svg": "a picture",       "--html": "a page",         "report": "a page",
    "completion": "a script",   "gdb-script": "a path, which `$(...)` reads"}  # fmt: skip
"""What is a file of some format also on a screen: its lines are as long as they are. Any other line that is longer
than the screen is one word, such as a mangled name or a path."""
ANSWERS = (
    *(command for command, _ in EQUAL),                       f"lanes {CALLS} --wave 1 --group",
    f"lanes {FILE} --state {STATE} --svg",                    f"bt {CALLS} --full --wave all",
    f"eval {CALLS} 'slot * 2' --wave all --lane all",         f"eval {FILE} even --state {STATE} --lane all --csv",
    f"locals {CALLS} --all --location -v",                    f"info {KERNELS} --name saxpy",
    f"info {KERNELS} --pc saxpy+0x10",                        f"kernels {KERNELS}",        f"coverage {KERNELS} saxpy",
    f"cfi {KERNELS} --function saxpy",                        f"dump {KERNELS} --section line",
    f"dump {KERNELS} saxpy --depth 1",                        f"verify {KERNELS}",         "verify --rules",
    f"memmodel check {KERNELS}", "memmodel table --target gfx1200 store release agent",
    f"address private_lane#0x30 --lane 5 --state {STATE}",    "targets",
    "eval --ops 'DW_OP_lit8; DW_OP_lit0; DW_OP_div' --trace", f"{SAXPY} 'x=ones(64)' 'y=ones(64)' 2 64 --print y",
    f"{SAXPY} 'x=ones(64)' 'y=ones(64)' 2 64 --break kernels.cl:79",
    f"{SAXPY} 'x=ones(64)' 'y=ones(32)' 2 64000",
    f"debug {FILE} --state {STATE} -nx -batch -ex 'info line' -ex list -ex 'x/4i $pc' -ex 'info registers' -ex help",
    f"debug {FILE} --state {STATE} -nx -batch -ex 'help print' -ex 'apropos lane' -ex 'print gibberish#0x10'",
    f"core {CORE}",
    # what is refused
    "",                          "nosuch",                    "info",                      "info nosuchfile.co",
    f"eval {FILE} even --lane 99 --state {STATE}",            f"eval {FILE} nosuchvariable --state {STATE}",
    f"{SAXPY} 'x=ones(64)' 'y=ones(64, f8)' 2 64",            "completion bash",
    "gdb-script")  # fmt: skip


def plain(text: str) -> str:
    return ESCAPE.sub("", text)


def cut(text: str, columns: int) -> str:
    return "\n".join(part for line in text.split("\n") for part in folded(line, columns))


def words_of(text: str) -> list[str]:
    """The words of a text but for those of a line: the mark of a comment, and of a command that goes on, and lanes."""
    return [word for word in text.split() if not re.fullmatch(r"#|\\|lanes|\d+-\d+", word)]


def check(words: list[str], columns: int, env: dict[str, str] | None = None) -> None:
    """A command prints at a terminal what it prints into a pipe, and fits."""
    shown = run_at_terminal(*words, columns=columns, env=env)
    piped = run(*words, env={"COLUMNS": str(columns)})
    is_file = not FILES.keys().isdisjoint(" ".join(words).split())
    if is_file and words[0] == "debug":  # which writes text beside the JSON
        assert plain(shown.stdout).split() == piped.stdout.split()
    else:
        assert plain(shown.stdout) == (piped.stdout if is_file else cut(piped.stdout, columns))
    assert plain(shown.stderr) == cut(piped.stderr, columns)
    assert shown.returncode == piped.returncode
    codes = {code for codes in ESCAPE.findall(shown.stdout + shown.stderr) for code in codes.split(";")}
    assert codes <= SEEN_ON_LIGHT_AND_DARK
    assert "\x1b" not in plain(shown.stdout + shown.stderr)
    written = plain(shown.stderr if is_file else shown.stdout + shown.stderr)
    assert [line for line in written.splitlines() if len(line) > columns and len(line.split()) > 1] == []
    free = run(*words)
    assert words_of(plain(shown.stdout + shown.stderr)) == words_of(free.stdout + free.stderr), "a word is cut"


COLUMNS = 40, 80, 200
"""How wide screens are, in turn."""


@pytest.mark.parametrize("command, columns", [*zip(ANSWERS, cycle(COLUMNS))])
@pytest.mark.sampled(4)
def test_an_answer_fits_any_screen(command: str, columns: int) -> None:
    check(shlex.split(command), columns)


WRITES = re.compile(
    r"[|<>;&]|\\\n|-o |--(out|save|state \S+\.json) |(compile|convert|example|fleet|generate-core-file|save) "
)


def documented() -> list[str]:
    """The commands of pages that write no file."""
    steps = (step for path in pages() for block in blocks_of(path.read_text("utf-8")) for step in block.steps)
    return sorted(
        {each.typed for each in steps if each.typed.startswith("dwarfgpu ") and not WRITES.search(each.typed)}
    )


@pytest.mark.slow
@pytest.mark.parametrize("command, columns", [*zip(documented(), cycle(COLUMNS))])
def test_what_the_documentation_shows_fits(command: str, columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.builders.commands.ROOT", EXAMPLES)  # where the commands run
    check(shlex.split(command)[1:], columns)


@for_each("words",
    f"report {FILE} --state {STATE}",                         f"lanes {FILE} --state {STATE} --svg",
    f"eval {FILE} even --state {STATE} --lane all --csv",     f"bt {CALLS} --full --wave all --json",
    f"verify {KERNELS} --sarif")  # fmt: skip
def test_a_file_is_the_same_whatever_the_screen(words: str) -> None:
    assert run(*words.split(), env={"COLUMNS": "40"}).stdout == run(*words.split()).stdout


def test_texts_inside_an_answer_use_the_whole_screen() -> None:
    """Nothing is cut at 80 columns where there are 200, and nothing is cut twice where there are 40."""
    words = f"bt {CALLS} --full --wave all".split()
    wide = run(*words, env={"COLUMNS": "200"}).stdout
    assert len(wide.splitlines()) < len(run(*words).stdout.splitlines())
    assert 120 < max(map(len, wide.splitlines())) <= 200
    narrow = run(*words, env={"COLUMNS": "40"}).stdout
    assert cut(narrow, 40) == narrow
    assert wide.split() == narrow.split()


@pytest.mark.parametrize("columns", [40, 80])
@pytest.mark.parametrize("name", [*summaries(), ""])
def test_help_fits(name: str, columns: int) -> None:
    words = [*name.split(), "--help"]
    shown = run_at_terminal(*words, columns=columns).stdout
    assert shown == run(*words, env={"COLUMNS": str(columns)}).stdout
    assert [line for line in shown.splitlines() if len(line) > columns and len(line.split()) > 1] == []
    assert max(map(len, run(*words).stdout.splitlines())) <= 80
    assert _without_usage(shown) == _without_usage(run(*words, env={"COLUMNS": "200"}).stdout)


@pytest.mark.parametrize("name", sorted(AT_SHELL))
def test_help_spells_each_option_in_one_way(name: str) -> None:
    shown = run(name, "--help").stdout.partition("examples:")[0]
    assert re.findall(r"(?<![\w-])-[a-z][a-z-]+", shown) == []


def _without_usage(text: str) -> list[str]:
    """The words of a help; argparse has its own way to cut a usage."""
    return [word for word in text.partition("\n\n")[2].split() if word != "\\"]


@pytest.mark.parametrize("background", ["0;15", "15;0"])
@pytest.mark.parametrize("command", [ANSWERS[0], f"bt {FILE} --state {STATE} --full", "nosuch"])
def test_colours_are_the_same_on_a_light_and_on_a_dark_terminal(command: str, background: str) -> None:
    check(shlex.split(command), 80, {"COLORFGBG": background})


@pytest.mark.parametrize("words", ["--help", "help"])
def test_the_list_of_commands_has_each_in_its_group(words: str) -> None:
    groups: dict[str, list[str]] = {}
    for line in run(words, env={"COLUMNS": "400"}).stdout.splitlines():
        if line.endswith(":") and not line.startswith(" "):
            rows = groups.setdefault(line.rstrip(":"), [])
        elif match := re.match(r"  ([\w-]+)  +(.*)", line):
            rows.append(match[2] if match[1] == "also" else match[1])
    assert list(groups) == list(SHELL_GROUPS)
    named = [name for rows in groups.values() for row in rows for name in row.split(", ")]
    assert sorted(named) == sorted(summaries())
    assert (max(map(len, groups.values())) == 4) == (words == "--help")


@for_each("text, width, lines",
    ("one two three", 20, ["one two three"]),                 ("one two three", 9, ["one two", "    three"]),
    ("  one two three", 9, ["  one two", "    three"]),       ("a  b    c", 6, ["a  b", "    c"]),
    ("  averylongword two", 8, ["  averylongword", "     two"]),
    ("a" * 12, 8, ["a" * 12]),   ("", 8, [""]),               ("            deep", 8, ["    deep"]),
    ("a\tb", 8, ["a", "    b"]))  # fmt: skip
def test_a_line_is_cut_at_blanks_alone(text: str, width: int, lines: list[str]) -> None:
    assert folded(text, width) == lines


def test_styles_stay_where_a_line_is_cut() -> None:
    first, second = folded(styled("31", "one two three"), 9)
    assert [without_styles(first), without_styles(second)] == ["one two", "    three"]
    assert f"{first} {second.lstrip()}" == styled("31", "one two three")


WANTED = (
    ({}, ("--color", "always"), True),
    ({"FORCE_COLOR": "1"}, (), True),
    ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, (), False),
    ({"FORCE_COLOR": "1"}, ("--color", "never"), False),
)


@pytest.mark.parametrize("command", ANSWERS)
@pytest.mark.sampled(4)
def test_colours_are_shown_where_they_are_wanted(command: str) -> None:
    words = [*shlex.split(command)]
    if not words or words[0] == "nosuch":
        return
    bare = run(*words)
    for env, option, is_coloured in WANTED if command in ANSWERS[:8] else WANTED[:1]:
        done = run(*words, *option, env=env)
        assert (plain(done.stdout), plain(done.stderr)) == (bare.stdout, bare.stderr)
        assert is_coloured or "\x1b" not in done.stdout + done.stderr


@for_each("words", "verify --help", "--help", "ops", "completion bash", f"dump {KERNELS}", "verify --rules")
@pytest.mark.sampled(6)
def test_a_pipe_that_is_closed_ends_a_command_quietly(words: str) -> None:
    program = [sys.executable, "-m", "dwarfgpu", *words.split()]
    with subprocess.Popen(program, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert (process.stderr.read(), process.wait()) == (b"", 0)


JUDGED = f"judge {KERNELS.replace('O0', 'O2')} divergent --grid 64 --work-group 64 zeros(64) 40"
FAULT = f"run {KERNELS} divergent --grid 999999 --work-group 64 zeros(1) 40 --at-once 1"


@for_each("words", FAULT, JUDGED)
@pytest.mark.sampled(4)
def test_the_exit_status_is_kept_if_nobody_reads_the_answer(words: str) -> None:
    program = [sys.executable, "-m", "dwarfgpu", *words.split()]
    with subprocess.Popen(program, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.close()
        process.communicate()
    assert process.returncode == 1


@pytest.mark.parametrize("words", ["verify --help", "--help", "ops", "completion bash"])
def test_a_disk_that_is_full_is_an_error(words: str) -> None:
    with open("/dev/full", "w") as full:
        program = [sys.executable, "-m", "dwarfgpu", *words.split()]
        done = subprocess.run(program, cwd=ROOT, stdout=full, stderr=subprocess.PIPE, check=False)
    message = b"dwarfgpu: error: output cannot be written: No space left on device\n"
    assert (done.returncode, done.stderr) == (2, message)
