"""The fuzzers find nothing in the reader, the machine and the pages, and would find what they are there for."""

import itertools
import os
import random
import subprocess
import sys
import textwrap

import pytest

from dwarfgpu.execution.compiled.native import is_available
from dwarfgpu.objfile.containers.bundle import COMPRESSED_MAGIC
from dwarfgpu.objfile.elf.image import Image
from tests.builders.errors import raised
from tests.builders.parameters import every, for_each, share
from tools import fuzz, fuzz_judge, fuzz_kernels, fuzz_loop, fuzz_memmodel, fuzz_pages, fuzz_running
from tools.fixtures import FOLDER, ROOT
from tools.fuzz_files import BUNDLE, Edit, Original, parse_edit
from tools.fuzz_mutations import any_kind, mutate


def run(*words, script="tools/fuzz.py", **environment):
    command = [sys.executable, *(["-c", script] if "\n" in script else [script]), *words]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=False, env={**os.environ, **environment}
    )
    assert done.stderr == ""
    return done.returncode, done.stdout


@pytest.mark.parametrize("count", [20, pytest.param(60, marks=pytest.mark.slow)])
def test_a_short_run_finds_nothing(count):
    files = ("--file", "asm/*", "--file", "containers/*")
    status, out = run("--count", str(count), *files, "--seed", "1", "--limit", "60")  # no test looks at the clock
    assert f"{count} mutants" in out
    assert (status, out.count("FOUND")) == (0, 0), out


@pytest.mark.slow
def test_a_longer_run_finds_nothing():
    status, out = run("--count", str(share(250)), "--seed", "2", "--limit", "60")
    assert f"{share(250)} mutants" in out
    assert (status, out.count("FOUND")) == (0, 0), out


BAD = """
    import sys
    sys.path[:0] = ["tools", "."]
    import fuzz, fuzz_bench, fuzz_drives
    from dwarfgpu.errors import MalformedFile

    def bad(code):
        if len(code.image.data) != SIZE:
            CAUSE

    fuzz_bench.SECONDS, fuzz_bench.MEMORY = 0.2, 200 << 20
    fuzz_drives.DRIVES = {"bad": bad}
    sys.exit(fuzz.main(sys.argv[1:]))
"""


@for_each("cause, kind",
    ("[].pop()", "IndexError"),
    pytest.param("raise MalformedFile('kind', 'a message')", "MalformedFile", marks=pytest.mark.slow),
    pytest.param("bad(code)", "RecursionError", marks=pytest.mark.slow),
    pytest.param("while True: pass", "TooLong", marks=pytest.mark.slow),
    pytest.param("bytearray(400 << 20)", "MemoryError", marks=pytest.mark.slow),
    pytest.param("import os; os._exit(3)", "Died", marks=pytest.mark.slow))  # fmt: skip
def test_a_failure_is_found_minimised_and_replayed(cause, kind):
    name = "asm/clrx.gfx801.co"
    size = (FOLDER / name).stat().st_size
    script = textwrap.dedent(BAD).replace("CAUSE", cause).replace("SIZE", str(size))
    cut, harmless = f"{size - 1:#x}-{size:#x}=", "0x60-0x61=00"
    status, out = run("--replay", name, harmless, cut, script=script)
    assert (status, f"FOUND {kind} in " in out) == (1, True), out
    status, out = run("--count", "12", "--seed", "3", "--file", name, script=script)
    assert status == 1
    (found,) = (line.split("--replay ")[1] for line in out.splitlines() if "--replay" in line)
    assert f"FOUND {kind} in " in out
    assert len(found.split()) == 2, "more edits than are needed"
    assert run("--replay", *found.split(), script=script)[0] == 1
    assert run("--replay", name, harmless, script=script)[0] == 0


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
        assert edits == [parse_edit(str(edit)) for edit in edits]
        assert original.apply(edits) == original.apply([parse_edit(str(edit)) for edit in edits])
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


@pytest.mark.parametrize("text", ["", "10-20=00", "0x10=00", "0x1-0x2=0", "0x1-0x2=00*", ".debug_info:0x1"])
def test_what_is_no_edit_is_refused(text):
    assert "is no edit" in str(raised(ValueError, parse_edit, text))


def test_every_built_fixture_is_chosen():
    names = fuzz.chosen([])
    expected = {"amdgpu", "asm", "compilers", "containers", "features", "host", "llvm24"}
    assert {name.split("/")[0] for name in names} == expected
    assert fuzz.chosen(["asm/forms*"]) == [name for name in names if name.startswith("asm/forms")]
    kinds = {kind for name in names if "/split" in name for kind in Original((FOLDER / name).read_bytes()).regions}
    assert {".debug_info.dwo", "headers in .debug_info.dwo", ".debug_cu_index", "section headers"} <= kinds


def test_a_wrong_name_is_a_usage_error(capsys):
    for words in (["--file", "nothing*"], ["--replay", "nothing"], ["--replay", "asm/clrx.gfx801.co", "x"]):
        assert raised(SystemExit, fuzz.main, words).code == 2
        assert "error: " in capsys.readouterr().err


def test_compressed_bundles_have_the_bundle_as_a_layer():
    for name in ("containers/zlib-v1.ccob", "containers/zstd-v3.ccob"):
        original = Original((FOLDER / name).read_bytes())
        assert original.apply([Edit(BUNDLE, 0, 1, b"x")])[:4] == COMPRESSED_MAGIC
        assert original.layers[BUNDLE].data.startswith(b"__CLANG_OFFLOAD_BUNDLE__")
    host = Original((FOLDER / "containers/hip-program-compressed.x86_64").read_bytes())
    assert Image(host.apply([Edit(BUNDLE, 0, 1, b"x")])).section(".hip_fatbin").offset == len(host.data)


def test_a_number_or_a_seed_makes_the_same_files_and_kernels():
    subject = fuzz_judge.Subject("asm/lane-pc.gfx90a.w64.co")
    first, again = (subject.damaged(random.Random("7/1")) for _ in range(2))
    assert first == again != subject.data
    assert len(first) == len(subject.data)
    first, second = (fuzz_kernels.source(fuzz_kernels.kernels("seed", 3)) for _ in range(2))
    assert first == second
    assert first != fuzz_kernels.source(fuzz_kernels.kernels("other", 3))


@pytest.mark.slow
@pytest.mark.parametrize("fuzzer", [fuzz_judge, fuzz_memmodel], ids=lambda each: each.__name__)
def test_damaged_files_end_with_an_answer_or_an_error(fuzzer, tmp_path):
    attempt = fuzzer.begin(tmp_path)
    assert [trace for number in range(5) if (trace := fuzz_loop.tried(attempt, f"tests/{number}")) is not None] == []


def test_a_few_pages_are_right_and_twins_are_harmless() -> None:
    assert fuzz_pages.fuzz("tests", 3, 0) == (3, [])
    for number in range(50):
        names = fuzz_pages.names_of(random.Random(number))
        twins = fuzz_pages.harmless(names)
        assert {slot: len(name) for slot, name in twins.items()} == {slot: len(name) for slot, name in names.items()}
        assert not any(map(fuzz_pages.STEERS.search, twins.values()))
    twins = fuzz_pages.harmless(dict.fromkeys(fuzz_pages.SLOTS, "<") | {"kernel": ">"})
    assert len(set(twins.values())) == 2
    assert twins["kernel"] not in {name for slot, name in twins.items() if slot != "kernel"}


def test_a_name_that_is_markup_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def asked(command: str, paths: dict[str, str], *_options: str) -> str:
        return f"<p>{paths['file']}</p>" if command in fuzz_pages.PAGES else paths["file"]

    monkeypatch.setattr(fuzz_pages, "asked", asked)
    twin = {"file": "harmless"}
    report, text = fuzz_pages.PAGES[0], fuzz_pages.TEXTS[0]
    assert fuzz_pages.wrong_with(report, {"file": "a<script>b"}, twin).startswith("more {('script', ''): 1}")
    assert fuzz_pages.wrong_with(report, {"file": "a<!--b-->"}, twin).startswith("more {('comment', ''): 1}")
    assert fuzz_pages.wrong_with(text, {"file": "a\x1b]0;b"}, twin).startswith("it writes '\\x1b'")
    assert not fuzz_pages.wrong_with(report, {"file": "a&lt;b"}, twin)


PROCESSORS = fuzz_kernels.PROCESSORS


@pytest.mark.parametrize("processor", PROCESSORS)
def test_some_random_kernels_give_what_the_host_gives(require_tool, processor, tmp_path):
    require_tool("clang-22")
    found, counts = fuzz_kernels.differences("tests", 0, [processor], tmp_path, in_file=5)
    assert [(each.kernel.name, each.reason) for each in found] == []
    assert counts == {processor: 5}


@pytest.mark.slow
@every(number=[1, 2], processor=PROCESSORS)
def test_random_kernels_give_what_the_host_gives(require_tool, processor, number, tmp_path):
    require_tool("clang-22")
    found, counts = fuzz_kernels.differences("tests", number, [processor], tmp_path)
    assert [(each.kernel.name, each.reason) for each in found] == []
    assert counts == {processor: fuzz_kernels.IN_FILE}


def test_a_kernel_with_fewer_statements_is_looked_for(tmp_path, monkeypatch):
    """What shows a difference as well with a statement less is made smaller."""
    made = fuzz_kernels.kernels("small", 1)[0]
    monkeypatch.setattr(fuzz_kernels, "Host", lambda code, *_: type("Same", (), {"run": lambda *_: code})())
    monkeypatch.setattr(
        fuzz_kernels, "compared", lambda _way, code, *_: [("k0", "" if "KERNEL void k0" not in code else "x", code)]
    )
    monkeypatch.setattr(fuzz_kernels, "difference", lambda *_: "")
    way = fuzz_kernels.way_of("small", 0, "gfx90a")
    small = fuzz_kernels.minimal("small", 0, fuzz_kernels.Difference(way, made, ""), tmp_path)
    assert small.reason == "x"
    assert [phase.statements for phase in small.kernel.phases] == [[]]


@pytest.mark.slow
def test_damaged_kernels_end_with_a_reason():
    findings, ends = fuzz_running.fuzz("tests", 0, 150)
    assert findings == []
    assert {"fault", "error", "ended"} <= set(ends)


@pytest.mark.slow
def test_many_damaged_kernels_end_with_a_reason():
    findings, _ends = fuzz_running.fuzz("tests", 150, share(5000, 10))
    assert findings == []


@pytest.mark.slow
@pytest.mark.skipif(not is_available(), reason="needs the package llvmlite")
def test_damaged_kernels_do_the_same_compiled():
    findings, ends = fuzz_running.fuzz("tests", 0, 60, is_compiled=True)
    assert findings == []
    assert {"fault", "error", "ended"} <= set(ends)


@pytest.mark.slow
@pytest.mark.skipif(not is_available(), reason="needs the package llvmlite")
@for_each(
    "processor, seed, count", *((processor, "compiled", 2) for processor in PROCESSORS), ("gfx1200", "jit2", 8)
)  # the last one multiplies two NaNs, of which LLVM would choose either
def test_random_kernels_do_the_same_compiled(require_tool, tmp_path, processor, seed, count):
    require_tool("clang-22")
    found, counts = fuzz_kernels.differences(seed, 0, [processor], tmp_path, in_file=count, is_compiled=True)
    assert found == []
    assert counts[processor] == count


def test_what_no_mutant_may_do_is_found(monkeypatch):
    """An exception that is no error of the project is a finding."""

    def broken(*_args, **_options):
        raise KeyError("broken")

    monkeypatch.setattr(fuzz_running, "launch", broken)
    findings, ends = fuzz_running.fuzz("tests", 0, 5)
    assert [finding.kind for finding in findings] == ["KeyError"] * 5
    assert ends["exception"]
