"""The fuzzers find nothing in the reader, the machine and the pages, and would find what they are there for."""

import itertools
import random
import subprocess
import sys
import textwrap
from collections import Counter

import pytest
from fuzz import __main__ as command
from fuzz import files, fleet, frame, functions, judged, kernels, made, memory_model, pages, running
from fuzz.damage import BUNDLE, Edit, Original, any_kind, mutate

from tests.builders.errors import raised
from tests.builders.parameters import every, for_each, share
from tools.fixtures import FOLDER, ROOT


def run(*words, script="tools/fuzz"):
    line = [sys.executable, *(["-c", script] if "\n" in script else [script]), *words]
    done = subprocess.run(line, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    return done.returncode, done.stdout


def found_by(drive, folder, numbers, seed="tests", **setting):
    """Return how inputs ended, and what must not have happened."""
    given = frame.Setting(folder, **setting)
    drive = drive._replace(seconds=600.0)  # no test looks at the clock
    found = list(frame.results(drive, given, (f"{seed}/{number}" for number in numbers)))
    return Counter(each.end for each in found), [each.failure for each in found if each.failure]


@for_each("count, files",
    (8, "[ac][so]*/*"), pytest.param(60, "[ac][so]*/*", marks=pytest.mark.slow),
    pytest.param(share(250), "*", marks=pytest.mark.slow))  # fmt: skip
@pytest.mark.sampled(4)
def test_a_run_finds_nothing(count, files):
    status, out = run("--count", str(count), "--file", files, "--limit", "60")  # no test looks at the clock
    assert f"{count} inputs, 0 findings" in out
    assert (status, out.count("FOUND")) == (0, 0), out


BAD = """
    import sys
    sys.path[:0] = ["tools", "."]
    from fuzz import __main__ as command, files
    from dwarfgpu.errors import MalformedFile

    def bad(code):
        if len(code.image.data) != SIZE:
            CAUSE

    files.DRIVE = files.DRIVE._replace(seconds=0.2, memory=200 << 20)
    files.QUESTIONS = {"bad": bad}
    sys.exit(command.main(sys.argv[1:]))
"""


@for_each("cause, kind",
    ("[].pop()", "IndexError"),
    pytest.param("raise MalformedFile('kind', 'a message')", "MalformedFile", marks=pytest.mark.slow),
    pytest.param("bad(code)", "RecursionError", marks=pytest.mark.slow),
    pytest.param("while True: pass", "Limit", marks=pytest.mark.slow),
    pytest.param("bytearray(400 << 20)", "MemoryError", marks=pytest.mark.slow),
    pytest.param("import os; os._exit(3)", "Died", marks=pytest.mark.slow))  # fmt: skip
@pytest.mark.sampled(4)
def test_a_failure_is_found_made_small_and_replayed(cause, kind):
    name = "asm/clrx.gfx801.co"
    script = textwrap.dedent(BAD).replace("CAUSE", cause).replace("SIZE", str((FOLDER / name).stat().st_size))
    status, out = run("--count", "40", "--seed", "3", "--file", name, script=script)
    assert status == 1
    (found,) = (line.split("--replay ")[1] for line in out.splitlines() if "--replay" in line)
    assert f"FOUND {kind} in " in out
    status, out = run("--replay", found, "--file", name, script=script)
    assert (status, f"FOUND {kind} in " in out) == (1, True)
    number, *left_out = found.split("~")
    steps = frame.tried(files.DRIVE, files.begin(frame.Setting(FOLDER, (name,))), number).steps
    assert kind == "Died" or len(left_out) >= steps - 2, "more edits than are needed"
    rest = "~".join([number, *map(str, range(steps))])
    assert run("--replay", rest, "--file", name, script=script)[0] == 0


NAMES = [
    "asm/forms.i386", "asm/operations.powerpc64", "containers/zlib-v1.ccob", "containers/zstd-v3.ccob",
    "containers/hip-program-compressed.x86_64", "containers/fatbin-two.x86_64", "features/zdebug.v4.co",
    "features/zlib.v5.co", "features/zstd.v5.co"]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_mutants_depend_on_their_number_alone_and_change_one_layer(name):
    original = Original((FOLDER / name).read_bytes())
    for number in range(20):
        kind = any_kind(original.regions, random.Random(number))
        edits = mutate(original, kind, random.Random(number))
        assert edits == mutate(original, kind, random.Random(number))
    assert original.apply([]) == original.data
    original = Original((FOLDER / name).read_bytes())
    # not the names of all others, nor what a bundle is known by
    for layer in original.layers.keys() - {".shstrtab", ".hip_fatbin"}:
        for edit in (Edit(layer, 4, 5, b"\x99"), Edit(layer, 4, 4, b"more", 100)):
            content = bytearray(original.layers[layer].data)
            edit.apply(content)
            again = Original(original.apply([edit]))
            assert again.layers[layer].data == content
            others = {each for each in original.layers if {each, layer} != {BUNDLE, ".hip_fatbin"}} - {layer}
            assert all(again.layers[each].data == original.layers[each].data for each in others)


def test_the_length_of_a_contribution_grows_with_it():
    original = Original((FOLDER / "asm/forms-dwarf64.gfx90a.w64.co").read_bytes())
    (start, end, size), *_ = original.contributions[".debug_info"]
    assert (start, size) == (0, 12)
    grown = 0
    for number in range(400):
        edits = mutate(original, ".debug_info", random.Random(number))
        for edit, after in itertools.pairwise(edits):
            growth = len(edit.new) * edit.times - (edit.end - edit.start)
            if growth and after[:3] == (".debug_info", 4, 12) and edit is edits[0] and edit.start < end:
                assert int.from_bytes(after.new, "little") == end - 12 + growth
                grown += 1
    assert grown


def test_every_built_fixture_is_chosen():
    names = files.chosen([])
    expected = {"amdgpu", "asm", "compilers", "containers", "features", "host", "llvm24"}
    assert {name.split("/")[0] for name in names} == expected
    assert files.chosen(["asm/forms*"]) == [name for name in names if name.startswith("asm/forms")]
    kinds = {kind for name in names if "/split" in name for kind in Original((FOLDER / name).read_bytes()).regions}
    assert {".debug_info.dwo", "headers in .debug_info.dwo", ".debug_cu_index", "section headers"} <= kinds


@for_each("words", ["--file", "nothing*"], ["--made", "--kind", "nothing"], ["--cores", "--fleet"])
def test_a_wrong_name_is_a_usage_error(words, capsys):
    assert raised(SystemExit, command.main, [*words, "--count", "1"]).code == 2
    assert "error: " in capsys.readouterr().err


@for_each("drive, count", (judged.DRIVE, 5), (memory_model.DRIVE, 5), (fleet.DRIVE, 20))
@pytest.mark.slow
def test_damaged_files_and_lying_servers_end_with_an_answer_or_an_error(drive, count, tmp_path):
    ends, failures = found_by(drive, tmp_path, range(count))
    assert (sum(ends.values()), failures) == (count, [])


def test_a_few_made_inputs_are_answered(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ends, failures = found_by(made.DRIVE, tmp_path, range(60))
    assert failures == []
    assert {"operation", "lists", "frames", "error"} <= set(ends)


def test_a_few_pages_are_right_and_twins_are_harmless(tmp_path) -> None:
    assert found_by(pages.DRIVE, tmp_path, range(3)) == ({"answered": 3}, [])
    for number in range(50):
        names = pages.names_of(random.Random(number))
        twins = pages.harmless(names)
        assert {slot: len(name) for slot, name in twins.items()} == {slot: len(name) for slot, name in names.items()}
        assert not any(map(pages.STEERS.search, twins.values()))
    twins = pages.harmless(dict.fromkeys(pages.SLOTS, "<") | {"kernel": ">"})
    assert len(set(twins.values())) == 2
    assert twins["kernel"] not in {name for slot, name in twins.items() if slot != "kernel"}


def test_a_name_that_is_markup_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def asked(line: str, paths: dict[str, str], *_options: str) -> str:
        return f"<p>{paths['file']}</p>" if line in pages.PAGES else paths["file"]

    monkeypatch.setattr(pages, "asked", asked)
    report, text = pages.PAGES[0], pages.TEXTS[0]
    for line, name, message in (
        (report, "a<script>b", "other elements\nmore {('script', ''): 1}"),
        (report, "a<!--b-->", "other elements\nmore {('comment', ''): 1}"),
        (text, "a\x1b]0;b", "it writes '\\x1b'"),
    ):
        assert str(raised(frame.Wrong, pages.check, line, {"file": name}, {"file": "harmless"})).startswith(message)
    pages.check(report, {"file": "a&lt;b"}, {"file": "harmless"})


PROCESSORS = kernels.PROCESSORS


def kernels_differ(name, processor, folder, **options):
    found = kernels.differences(name, kernels.way_of(name, processor), folder, **options)
    return [(each.kernel.name, each.reason) for each in found]


@pytest.mark.parametrize("processor", PROCESSORS)
@pytest.mark.sampled(6)
def test_some_random_kernels_give_what_the_host_gives(require_tool, processor, tmp_path):
    require_tool("clang-22")
    assert kernels_differ("tests/0", processor, tmp_path, in_file=5) == []


@pytest.mark.slow
@every(number=[1, 2], processor=PROCESSORS)
def test_random_kernels_give_what_the_host_gives(require_tool, processor, number, tmp_path):
    require_tool("clang-22")
    assert kernels_differ(f"tests/{number}", processor, tmp_path) == []


@for_each("seed, count", ("tests", 3), pytest.param("more", 50, marks=pytest.mark.slow))
@pytest.mark.parametrize("processor", functions.PROCESSORS)
def test_random_functions_return_what_they_do_on_the_host(require_tool, processor, tmp_path, seed, count):
    require_tool("clang-22")
    found = functions.differences(f"{seed}/0", processor, tmp_path, in_file=count)
    assert [reason for _function, reason in found] == []


@pytest.mark.slow
def test_the_first_value_that_differs_is_told(require_tool, tmp_path, monkeypatch):
    require_tool("clang-22")

    def otherwise(words, code, path):
        kernels.compile_with(words, code.replace(" = sub ", " = add ") if "-nogpulib" in words else code, path)

    monkeypatch.setattr(functions, "compile_with", otherwise)
    found = [*functions.differences("first/0", "gfx1250", tmp_path, in_file=6)]
    assert found
    for function, reason in found:
        assert "lanes differ: [" in reason
        (line,) = [line for line in function.lines if line.startswith(f"  {reason.split()[-1]} = ")]
        assert " = sub " in line or " = phi " in line


def test_a_kernel_with_fewer_statements_is_looked_for(tmp_path, monkeypatch):
    """What shows a difference as well with a statement less is made smaller."""
    first = kernels.kernels("small", 1)[0]
    monkeypatch.setattr(kernels, "Host", lambda code, *_: type("Same", (), {"run": lambda *_: code})())
    monkeypatch.setattr(
        kernels, "compared", lambda _way, code, *_: [("k0", "" if "KERNEL void k0" not in code else "x", code)]
    )
    monkeypatch.setattr(kernels, "difference", lambda *_: "")
    way = kernels.way_of("small/0", "gfx90a")
    small = kernels.minimal("small/0", kernels.Difference(way, first, ""), tmp_path)
    assert small.reason == "x"
    assert [phase.statements for phase in small.kernel.phases] == [[]]


@pytest.mark.slow
@for_each("numbers, jit",
    (range(150), "off"), (range(150, 150 + share(5000, 10)), "off"),
    pytest.param(range(60), "on"),
)  # fmt: skip
def test_damaged_kernels_end_with_a_reason(numbers, jit, tmp_path):
    ends, failures = found_by(running.DRIVE, tmp_path, numbers, jit=jit)
    assert failures == []
    assert {"fault", "error", "ended"} <= set(ends)


@pytest.mark.slow
@for_each(
    "processor, seed, count", *((processor, "compiled", 2) for processor in PROCESSORS), ("gfx1200", "jit2", 8)
)  # the last one multiplies two NaNs, of which LLVM would choose either
def test_random_kernels_do_the_same_compiled(require_tool, tmp_path, processor, seed, count):
    require_tool("clang-22")
    assert kernels_differ(f"{seed}/0", processor, tmp_path, in_file=count, jit="on") == []


def test_what_no_mutant_may_do_is_found(monkeypatch, tmp_path):
    """An exception that is no error of the project is a finding."""

    def broken(*_args, **_options):
        raise KeyError("broken")

    monkeypatch.setattr(running, "launch", broken)
    ends, failures = found_by(running.DRIVE, tmp_path, range(5))
    assert [failure.kind for failure in failures] == ["KeyError"] * 5
    assert ends["failed"] == 5
