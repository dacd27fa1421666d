"""Objects of the C++ library are shown as GDB's printers show them; broken ones are bounded, and shown as stored."""

import json
import re
import subprocess
from pathlib import Path

import pytest

from tests.builders.commands import run as run_command
from tests.questions.harness import Run

SOURCE = Path(__file__).parents[1] / "corpus" / "standard_library.cpp"
LOCALS = [line for line in SOURCE.read_text().partition("int main() {")[2].splitlines() if "std::" in line]
COMMANDS = (
    *("print reference", "print *pointer", "print pointer", "print text", "print lengthy", "print/r numbers"),
    *("print/x numbers", "print/x hello", "print -elements 3 -- numbers"),
    *("print -elements 3 -- hello", "print -max-depth 1 -- nested", "print -max-depth 0 -- nested", "print nested"),
    *("print -pretty -- holder", "print -pretty -- words", "print -pretty -- points"),
    *("print -pretty -- pair", "print -pretty -- triple"),
    *("print -pretty -- members", "print -max-depth 1 -- members", "print/x atomic"),
    *("print *atomic_pointer", "print -raw-values on -- some", "print global", "print &global"))  # fmt: skip


@pytest.fixture(scope="module", params=[4, 5])
def crashed(request, tmp_path_factory, require_tool) -> tuple[Path, Path]:
    """A program that has stopped where every variable has its value, and its core file."""
    folder = tmp_path_factory.mktemp(f"dwarf{request.param}")
    program, core = folder / "program", folder / "core"
    options = f"-std=c++20 -g -gdwarf-{request.param} -O0".split()
    subprocess.run([require_tool("g++"), *options, str(SOURCE), "-o", str(program)], check=True)
    asked(require_tool, program, None, "break stop", "run", f"generate-core-file {core}")
    return program, core


def asked(require_tool, program: Path, core: Path | None, *commands: str) -> str:
    words = [require_tool("gdb"), "-nx", "-batch", "-iex", "set debuginfod enabled off", "-ex", "set width 0"]
    words += [word for command in commands for word in ("-ex", command)]
    words += [str(program), *([] if core is None else [str(core)])]
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    assert "Traceback" not in done.stdout
    return done.stdout


@pytest.fixture
def run(crashed) -> Run:
    program, core = crashed
    run = Run(program, core, width=10_000)
    run("frame function main")
    return run


@pytest.fixture(scope="module")
def answers(crashed, require_tool) -> dict[str, str]:
    """What GDB says to each command."""
    typed = ["info pretty-printer", "frame function main"]
    typed += [word for command in ("info locals", *COMMANDS) for word in (f"echo @@{command}\\n", command)]
    head, *parts = asked(require_tool, *crashed, *typed).split("@@")
    if "libstdc++" not in head:
        pytest.skip("this GDB has no printers of libstdc++")
    return dict(part.split("\n", 1) for part in parts)


@pytest.mark.slow
def test_every_variable_is_shown_as_gdb_shows_it(answers, run):
    assert run("info locals") == answers["info locals"]
    assert len(LOCALS) >= 40


@pytest.mark.slow
def test_settings_are_those_of_gdb(answers, run):
    assert {command: numbered(run(command)) for command in COMMANDS} == {
        command: numbered(answers[command]) for command in COMMANDS
    }


def numbered(text: str) -> str:
    return re.sub(r"^\$\d+ = ", "", text)


BROKEN = {
    "numbers._M_impl._M_finish = 0": ("numbers", "its pointers are not in order: 0x"),
    "many._M_impl._M_end_of_storage = (int *) 0x7fffffffffffffff": ("many", "its elements would be 9223"),
    "words._M_impl._M_start = 0": ("words", "its elements would be"),
    "hello._M_string_length = -1": ("hello", "its length is 18446744073709551615"),
    "lengthy._M_dataplus._M_p = 0": ("lengthy", "its length is 300, and its characters are at 0"),
    "nested._M_impl._M_finish = (void *) ((long) nested._M_impl._M_finish - 1)": ("nested", "are not elements of 24"),
    "span._M_extent._M_extent_value = -1": ("span", "its length is 18446744073709551615"),
}  # fmt: skip
"""Assignments, and why the object is shown as it is stored then."""
ENDING = {
    "text._M_payload._M_engaged = 0": ("text", "std::optional<std::string> [no contained value]"),
    ", ".join(f"numbers._M_impl._M_{name}" for name in ("start = 8", "finish = 16", "end_of_storage = 16")): (
        "numbers",
        "std::vector of length 2, capacity 2 = {<error: Cannot access memory at address 0x8>, <error: Cannot ",
    )}  # fmt: skip
"""Assignments, and what is shown then: as much as there is, and the error."""


@pytest.mark.slow
def test_what_cannot_be_is_shown_as_stored(run):
    for assignment, (name, why) in BROKEN.items():
        run(f"set var {assignment}")
        text = run(f"print {name}")
        assert "_M_" in text, assignment
        assert "<shown as stored: " in text, assignment
        assert why in text
        text = json.dumps(json.loads(run(f"eval --json {name}")))
        assert why in text
        assert '"raw"' in text, assignment


@pytest.mark.slow
def test_parts_end_where_they_cannot_be_read(run):
    for assignment, (name, expected) in ENDING.items():
        for part in assignment.split(", "):
            run(f"set var {part}")
        assert expected in run(f"print {name}"), assignment


def value_of(crashed, name: str) -> dict:
    program, core = map(str, crashed)
    done = run_command("eval", program, name, "--state", core, "--frame", "1", "--json")
    assert done.returncode == 0, done.stderr
    (answer,) = json.loads(done.stdout)["answers"]
    return answer


@pytest.mark.slow
def test_json_has_the_contents_and_how_they_are_stored(crashed):
    numbers = value_of(crashed, "numbers")
    assert numbers["summary"] == "std::vector of length 5, capacity 8"
    assert [element["value"] for element in numbers["elements"]] == [1, 2, 3, 4, 5]
    assert numbers["raw"]["bases"][0]["members"][0]["name"] == "_M_impl"
    assert value_of(crashed, "hello")["text"] == '"hello"'
    (contained,) = value_of(crashed, "some")["members"]
    assert (contained["name"], contained["value"]) == ("[contained value]", 5)
    many = value_of(crashed, "many")
    assert (len(many["elements"]), many["more"]) == (200, 100)


@pytest.mark.slow
def test_raw_values_are_a_setting(run):
    assert run("print some").startswith("$1 = std::optional<int> = {")
    raw = run("print/r some").partition(" = ")[2]
    assert "_M_engaged = true" in raw
    run("set print raw-values on")
    assert run("print some").partition(" = ")[2] == raw
    assert run("show print raw-values")
    run("set print raw-values off")
    assert run("locals ^some$") == "some = std::optional<int> = {[contained value] = 5}\n"


LAYOUTS = """
namespace std { inline namespace __1 {
template <class T> struct __elem { T __value_; };
template <class T> struct __pair : __elem<T> {};
template <class T, class A = int> struct vector { T *__begin_, *__end_; LAST; };
template <class T> struct optional { union { char __null_state_; T __val_; }; bool __engaged_; };
template <class C> struct basic_string_view { const C *DATA; unsigned long SIZE; };
template <class T> struct unique_ptr { POINTER; };
template <class T, unsigned long N> struct span { T *__data_; unsigned long __size_; };
template <class T> struct atomic { struct { T __a_value; } __a_; };
} }
int storage[5] = {1, 2, 3};
std::vector<int> numbers, none;
std::optional<int> some, nothing;
std::basic_string_view<char> view = {"view", 4};
std::unique_ptr<int> owned;
std::span<int, 18446744073709551615UL> span = {storage, 2};
std::atomic<int> atomic = {3};
int main() {
    int **last[] = {(int **)&numbers, (int **)&owned};
    last[0][0] = storage; last[0][1] = storage + 3; last[0][2] = storage + 5; last[1][0] = storage;
    some.__val_ = 4; some.__engaged_ = true; __builtin_trap(); }
"""
"""The members of libc++'s classes that are read, as <vector>, <optional>, <string_view> and <memory> declare them."""
VERSIONS = {
    "LLVM 14": {"LAST": "__pair<T *> __end_cap_", "DATA": "__data", "SIZE": "__size", "POINTER": "__pair<T *> __ptr_"},
    "LLVM 22": {"LAST": "T *__cap_", "DATA": "__data_", "SIZE": "__size_", "POINTER": "T *__ptr_"},
}


@pytest.mark.slow
@pytest.mark.parametrize("version", VERSIONS)
def test_plain_layouts_of_libcpp(tmp_path, require_tool, version):
    source, program, core = tmp_path / "a.cpp", tmp_path / "a", tmp_path / "core"
    text = LAYOUTS
    for word, meant in VERSIONS[version].items():
        text = text.replace(word, meant)
    source.write_text(text)
    subprocess.run([require_tool("g++"), "-std=c++17", "-g", "-O0", "-w", "-no-pie", source, "-o", program], check=True)
    asked(require_tool, program, None, "run", f"generate-core-file {core}")
    run = Run(program, core, width=1000)
    names = ("numbers", "none", "some", "nothing", "view", "owned", "span", "atomic")
    shown = [run(f"print {name}").partition(" = ")[2].rstrip() for name in names]
    assert [re.sub("0x[0-9a-f]+", "0x1000", text) for text in shown] == [
        "std::vector of length 3, capacity 5 = {1, 2, 3}",
        "std::vector of length 0, capacity 0",
        "std::optional<int> = {[contained value] = 4}",
        "std::optional<int> [no contained value]",
        '"view"',
        "std::unique_ptr<int> = {get() = 0x1000 <storage>}",
        "std::span of length 2 = {1, 2}",
        "std::atomic<int> = { 3 }",
    ]
