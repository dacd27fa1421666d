"""`dwarfgpu report`: one page about a file and a state, in which nothing of a file is markup and nothing is loaded."""

import json
import re
import subprocess
from pathlib import Path

import pytest

from dwarfgpu.questions import report as question
from dwarfgpu.render import report as html
from tests.builders.commands import run
from tests.builders.cores import Thread, core_file
from tests.builders.dwarf import die
from tests.builders.hostile import gpu, named, state, typed, variable
from tests.builders.pages import Page, check_loads_nothing
from tests.builders.parameters import for_each

KERNEL = "fixtures/asm/lane-pc.gfx90a.w64.co"
STATE = "dwarfgpu/examples/lanes.json"
FAST = "fixtures/amdgpu/hip-kernels.gfx90a.w64.O2.v5.co"
HOST = "fixtures/host/optimized.gcc.O2.v5.x86_64"
SCRIPT = "<script>alert(1)</script>&\"'--><!--]]>"


def written(path: Path, *words: str) -> Page:
    done = run("report", *words, "-o", str(path))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    return Page(path.read_text("utf-8"))


@pytest.fixture(scope="module")
def with_state(tmp_path_factory) -> Page:
    path = tmp_path_factory.mktemp("state") / "out.html"
    return written(path, KERNEL, "--state", STATE, "--directories", "$cwd:fixtures")


@pytest.fixture(scope="module")
def of_file(tmp_path_factory) -> Page:
    return written(tmp_path_factory.mktemp("file") / "out.html", FAST)


def test_kernels_functions_source_waves_and_stacks(with_state, tmp_path):
    text = with_state.texts["kernels"]
    assert "starts with s[0:1] KERNARG_SEGMENT_PTR" in text
    assert "ENABLE_SGPR_KERNARG_SEGMENT_PTR" in text
    assert "global_buffer (global)  int *  out" in text
    row = '<td class="number">13</td><td class="text">      int even = left + 10;  // c</td><td class="code">0x1540  '
    assert row in with_state.content
    assert "v_add_u32_e32 v2, 10, v3" in with_state.texts["functions"]
    assert re.search(r"0x154c  \S.*?  <span class=\"here\">◀ waves 1-2</span>", with_state.content)
    assert "2 waves: 1-2" in with_state.texts["stacks"]
    assert "#0  X () at src/asm/lane-pc.c:16" in with_state.texts["stacks"]
    labels = re.findall(
        r'<span class="strip-label">(.*?)</span><span class="strip-note">(.*?)</span>', with_state.content
    )
    assert ("even", "66.7%") in labels
    assert ("call frames", "100.0%") in labels
    assert "0x1518-0x1580: register" in with_state.texts["functions"]
    assert "CFA and rules of" in with_state.texts["functions"]
    again = written(tmp_path / "again.html", KERNEL, "--state", STATE, "--directories", "$cwd:fixtures")
    assert again.content == with_state.content


def test_a_page_has_no_files_from_elsewhere(tmp_path, require_tool, monkeypatch):
    """The source says that its lines are those of a file that somebody else should not see."""
    require_tool("clang-22", "clang")
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "key").write_text("not for everybody\n")
    folder = tmp_path / "work"
    (folder / ".hidden").mkdir(parents=True)
    (folder / ".hidden" / "key").write_text("not for everybody\n")
    for name, file in (("outside", tmp_path / "secret" / "key"), ("hidden", folder / ".hidden" / "key")):
        source = folder / f"{name}.cl"
        source.write_text(f'kernel void k(global int *p) {{\n#line 1 "{file}"\n  p[0] = 1; }}\n')
        program = str(folder / f"{name}.co")
        assert run("compile", str(source), "-o", program).returncode == 0
        page = run("report", program).stdout
        assert "kernel void k(" in page
        assert "everybody" not in page
        assert "everybody" in run("debug", program, "-batch", "-ex", f"list {file}:1").stdout
    assert "everybody" in run("report", str(folder / "outside.co"), "--directories", str(tmp_path / "secret")).stdout


def test_lanes_and_values_are_maps_or_words(with_state):
    assert '<td class="text">      int odd = left - 1;  // d</td>' in with_state.content
    text = with_state.texts["lanes"]
    assert "waves 1-2: 12 active, lanes 1,3,5,7,9,11,13,15,17,19,21,23" in text
    assert "wave 3: 24 inactive, lanes 0-23" in text
    assert "Map of waves 1-2" in text
    assert "Map of wave 3" in text
    assert len([svg for svg in with_state.tags("svg") if svg.get("class") == "lane-map"]) == 2
    text = with_state.texts["values"]
    assert "1:1:1:1, lane 1: 1" in text  # the variable `lane` in lane 1
    assert "24 in 24 lanes" in text  # `limit` does not differ
    assert "absent: " in text  # and why


def test_findings_and_figures_are_those_of_the_other_questions(of_file):
    text = of_file.texts["findings"]
    assert "expression-no-frame-base 1 limit" in text
    assert "expression-deprecated 40 limits" in text
    assert "and 20 more: dwarfgpu verify FILE --all lists them" in text
    assert "always written wrongly in one known way" in text
    coverage = json.loads(run("coverage", FAST, "--json").stdout)
    verdict = json.loads(run("verify", FAST, "--json").stdout)["files"][0]
    figures = re.findall(r"<dt>(.*?)</dt><dd>(.*?)(?:<small>(.*?)</small>)?</dd>", of_file.content)
    assert (
        "Variables located",
        f"{100 * coverage['located'] / coverage['bytes']:.1f}%",
        "of the scopes of 61 variables",
    ) in figures
    assert verdict["idioms"] == 43
    words = "231 entries checked; all findings are forms that the compiler always writes"
    assert [verdict["errors"], verdict["warnings"]] == [0, 0]
    assert ("Findings", "none", words) in figures
    assert ("Code that unwinds", "0.0%", "has call frame information") in figures


def test_one_function_is_open_of_all_that_are_there(tmp_path, of_file):
    page = written(tmp_path / "one.html", FAST, "polynomial")
    assert re.search(r'<details open><summary><span class="name">polynomial</span>', page.content)
    assert "objects" not in page.texts["functions"]
    names = set(re.findall(r'<summary><span class="name">(.*?)</span>', of_file.content))
    assert {"objects", "spaces", "divergent", "polynomial", "factorial", "minus_one", "plus_one"} <= names


@pytest.mark.slow
def test_host_programs_threads_and_files_without_debugging_information(tmp_path):
    page = written(tmp_path / "host.html", HOST)
    assert "The file has no kernels." in page.texts["kernels"]
    assert "recurse" in page.texts["functions"]
    page = written(tmp_path / "bare.html", "fixtures/asm/cfi.gfx90a.w64.co")
    assert "The file has no debugging information" in page.texts["functions"]
    assert "call frames" in page.texts["functions"]
    page = written(tmp_path / "out.html", "--state", "dwarfgpu/examples/crash.core")
    assert {"kernels", "lanes", "stacks", "values", "functions"} <= set(page.sections)
    assert "memory://" in page.texts["h1"]
    core = tmp_path / "core"
    core.write_bytes(core_file([Thread(1, {}), Thread(2, {})], {0x1000: bytes(16)}))
    page = written(tmp_path / "out.html", HOST, "--state", str(core))
    assert not {"lanes", "values"} & set(page.sections)
    assert "2 threads: 1-2" in page.texts["stacks"]


def test_what_cannot_be_read_is_on_the_page(tmp_path):
    path = tmp_path / "cut.co"
    path.write_bytes(Path(FAST).read_bytes()[:9000])
    done = run("report", str(path), "-o", str(tmp_path / "out.html"))
    assert done.returncode == 3
    assert "of 27 section headers, 0 are in the file" in done.stderr
    page = Page((tmp_path / "out.html").read_text("utf-8"))
    assert "of 27 section headers, 0 are in the file" in page.texts["problems"]


@pytest.fixture(params=["with_state", "of_file"])
def page(request) -> Page:
    return request.getfixturevalue(request.param)


def test_a_page_stands_alone_and_is_read_with_the_keyboard(page):
    check_loads_nothing(page)
    names = [attributes["id"] for _tag, attributes in page.elements if attributes.get("id")]
    assert len(names) == len(set(names))
    assert {link["href"][1:] for link in page.tags("a")} <= set(names)
    assert {attributes["data-opens"] for attributes in page.tags("button") if attributes.get("data-opens")} <= set(
        names
    )
    assert page.tags("html") == [{"lang": "en"}]
    assert page.texts["title"].endswith(": dwarfgpu report")
    assert {"name": "viewport", "content": "width=device-width, initial-scale=1"} in page.tags("meta")
    assert len(page.tags("h1")) == 1
    for tag, attributes in page.elements:
        kinds = (attributes.get("class") or "").split()
        if tag == "pre" or {"scroll", "pick"} & set(kinds):
            assert attributes.get("tabindex") == "0", (tag, attributes)


def test_nothing_of_a_file_is_markup(tmp_path):
    folder = tmp_path / "<script>alert(2)"
    folder.mkdir()
    path = folder / "<b>&'\" name.co"
    kind = die("structure_type", named(SCRIPT), ("byte_size", "data1", 4), label="s")
    path.write_bytes(
        gpu(
            variable(SCRIPT),
            variable("\x1b[31m\u202e"),
            variable("s", "s"),
            die("variable", named("wrong" + SCRIPT), typed("int"), ("location", "exprloc", b"\x22")),
            types=[kind],
            kernel=SCRIPT,
            unit_name=SCRIPT,
            folder=SCRIPT,
            producer=SCRIPT,
            symbols=(SCRIPT,),
        )
    )
    snapshot = state(tmp_path / "state.json", path, waves=[f"1:1:1:1{SCRIPT}", "1:1:1:2"])
    page = Page(run("report", str(path), "--state", str(snapshot)).stdout)
    assert len(page.tags("script")) == 1
    assert page.comments == []
    assert page.texts["h1"] == path.name
    assert "\x1b" not in page.content
    assert "\u202e" not in page.content
    for section in ("functions", "lanes", "values", "stacks"):
        assert "<script>" in page.texts[section]


def test_what_has_no_room_is_counted(monkeypatch, tmp_path):
    monkeypatch.setattr(question, "MOST_INSTRUCTIONS", 3)
    monkeypatch.setattr(question, "MOST_STRIPS", 2)
    text = written(tmp_path / "few.html", FAST).texts["functions"]
    assert "Only the first 3 instructions: dwarfgpu report FILE NAME shows more" in text
    assert "26 more variables not drawn: dwarfgpu coverage FILE NAME lists them." in text
    monkeypatch.setattr(html, "MAX_PAGE", 90_000)
    monkeypatch.setattr(question, "MAX_LISTED", 2)
    monkeypatch.setattr(question, "PROBLEM_ROOM", 0)
    page = written(tmp_path / "small.html", "fixtures/amdgpu/hip-kernels.gfx90a.w64.O0.v5.co")
    assert len(page.content.encode()) < 130_000
    assert re.search(r"The page has room for \d+ functions? with variables and instructions", page.texts["functions"])
    assert "Left out, because the page would be too large" in page.texts["functions"]


@pytest.mark.slow
def test_a_page_about_a_large_file_is_smaller_than_3_mb(large, tmp_path):
    assert large.stat().st_size > 10_000_000
    page = written(tmp_path / "large.html", str(large))
    assert len(page.content.encode()) < 3_000_000
    assert "The page has room for" in page.texts["functions"]
    assert "f0" in page.texts["functions"]


@pytest.fixture(scope="module")
def large(require_tool, tmp_path_factory) -> Path:
    """A code object of more than 10 MB: one unit many times, with other names of its symbols."""
    folder = tmp_path_factory.mktemp("large")
    function = """
struct s{n} {{ int a; float b[4]; struct s{n} *next; }};
int f{n}(struct s{n} *p, int x, float y) {{
  int a{n} = x * {n}, sum = 0;
  for (int i = 0; i < x; ++i) {{ int square = i * i + a{n}; y += square; sum += p[i].b[square & 3] > y ? i : {n}; }}
  if (sum & 1) {{ int odd = sum >> 3; p[odd].a = odd; }} else {{ float even = y * sum; p[x].b[0] = even; }}
  {steps}
  return sum + p[a{n} & 7].a;
}}
"""
    steps = "".join(f"p[sum & {number}].b[1] += sum * y; sum ^= x;\n" for number in range(60))
    source, unit, whole = folder / "k.cl", folder / "k.o", folder / "k.co"
    source.write_text("".join(function.format(n=number, steps=steps) for number in range(100)))
    flags = ["-cl-std=CL2.0", "-target", "amdgcn-amd-amdhsa", "-mcpu=gfx90a", "-O0", "-g", "-nogpulib", "-c"]
    subprocess.run([require_tool("clang-22"), *flags, source, "-o", unit], check=True, timeout=600)
    units = []
    for number in range(9):
        units.append(folder / f"{number}.o")
        copy = [require_tool("llvm-objcopy-22"), f"--prefix-symbols=u{number}_", unit, units[-1]]
        subprocess.run(copy, check=True, timeout=60)
    subprocess.run([require_tool("ld.lld-22"), "-shared", *units, "-o", whole], check=True, timeout=60)
    return whole


def test_standard_output_json_and_the_prompt_have_the_page(of_file, tmp_path):
    done = run("report", FAST)
    assert (done.returncode, done.stdout) == (0, of_file.content)
    assert json.loads(run("report", KERNEL, "--json").stdout)["html"].startswith("<!DOCTYPE html>")
    out = tmp_path / "out.html"
    assert json.loads(run("report", KERNEL, "--json", "-o", str(out)).stdout)["written"] == str(out)
    out = tmp_path / "out.html"
    done = run("debug", KERNEL, "--state", STATE, "-nx", "-batch", "-ex", f"report -o {out} X")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert "lanes" in Page(out.read_text("utf-8")).sections


@for_each("words, status, message",
    (("README.md",), 3, "README.md is neither an ELF file nor an offload bundle"),
    (("nowhere.co",), 3, "nowhere.co: No such file or directory"),
    ((KERNEL, "nosuch"), 1, "no function `nosuch` with variables has code in"),
    ((FAST, "--state", STATE), 3, "is not the code object that the snapshot was made with"),
    ((KERNEL, "--state", "nowhere.json"), 3, "nowhere.json: No such file or directory"))  # fmt: skip
def test_an_error_is_one_line_and_leaves_the_old_page(tmp_path, words, status, message):
    out = tmp_path / "out.html"
    out.write_text("old")
    done = run("report", *words, "-o", str(out))
    assert done.returncode == status
    assert message in done.stderr
    assert sum(line.startswith("dwarfgpu: error:") for line in done.stderr.splitlines()) == 1
    assert out.read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["out.html"]


def test_a_page_is_not_written_anywhere(tmp_path):
    for name in (tmp_path, tmp_path / "none" / "out.html"):
        done = run("report", KERNEL, "-o", str(name))
        assert done.returncode == 2
        assert done.stderr.startswith(f"dwarfgpu: error: {name} cannot be written: ")
    code = tmp_path / "k.co"
    code.write_bytes(Path(KERNEL).read_bytes())
    snapshot = state(tmp_path / "state.json", code)
    link = tmp_path / "link.html"
    link.symlink_to(code)
    for out in (code, link, snapshot):
        before = out.read_bytes()
        done = run("report", str(code), "--state", str(snapshot), "--force", "-o", str(out))
        assert done.returncode == 2
        assert f"{out} cannot be written: the report is about this file" in done.stderr
        assert out.read_bytes() == before
