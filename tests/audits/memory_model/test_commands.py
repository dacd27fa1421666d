import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.builders import commands
from tests.builders.commands import run
from tests.builders.parameters import every, for_each
from tests.objfile.containers.test_bundle import bundle_of

GFX1100 = "fixtures/amdgpu/ordering.gfx1100.w32.O2.co"
GFX1200 = "fixtures/amdgpu/ordering.gfx1200.w32.O2.co"
GFX90A = "fixtures/amdgpu/ordering.gfx90a.w64.O2.co"
CLEAN = "fixtures/amdgpu/cl-kernels.gfx1200.w32.O2.v5.co"
SOURCES = ("--directory", "fixtures")


def document(*words: str, status: int = 0) -> Any:
    return commands.document("memmodel", *words, status=status)


def test_the_table_as_data():
    data = document("table", "--target", "gfx1200", "store", "release", "agent", "global", "--rules", "text")
    (cell,) = data["cells"]
    assert (data["family"], data["mode"], data["rules"]) == ("GFX12", "wgp", "text")
    assert [step["kind"] for step in cell["sequence"]] == ["write-back", *["wait"] * 5, "access"]
    assert cell["clause"] == "Memory Model Code Sequences GFX12: store atomic release, agent, global"
    assert cell["differences"] == ["caches"]
    assert len(document("table", "--target", "gfx942", "--mode", "tgsplit")["cells"]) == 810
    assert len(document("table", "--target", "gfx600")["cells"]) == 588


def test_findings_of_files_in_each_form():
    data = document("check", GFX1100, CLEAN, *SOURCES, "--jobs", "2", status=1)
    assert [(row["file"], row["findings"]) for row in data["files"]] == [(GFX1100, 1), (CLEAN, 0)]
    (finding,) = data["findings"]
    assert (finding["rule"], finding["source"]["line"], finding["path"]) == ("order-wait-before", 19, ["send_all"])
    done = run("memmodel", "check", CLEAN, *SOURCES)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[-1].endswith("no findings")
    done = run("memmodel", "check", GFX1200, "--sarif")
    (result,) = json.loads(done.stdout)["runs"][0]["results"]
    assert done.returncode == 1
    assert result["ruleId"] == "order-wait-before"
    assert result["locations"][0]["physicalLocation"]["region"] == {"startLine": 19}
    rows = [json.loads(line) for line in run("memmodel", "check", GFX90A, "--jsonl").stdout.splitlines()]
    assert [row.get("rule") for row in rows] == ["order-wait-before", "order-wait-before", None]


def test_a_file_that_is_broken_does_not_stop_the_rest(tmp_path):
    broken = tmp_path / "broken.co"
    broken.write_bytes(b"\x7fELF")
    done = run("memmodel", "check", str(broken), CLEAN)
    assert done.returncode == 3
    assert "2 files" in done.stdout
    assert "1 file could not be checked" in done.stdout


@for_each("made, options, reason",
    ("", (), None),
    ("", ("--require", "3"), "2 operations were checked, 3 are required"),
    ("moved", (), "its source was not read, so no operation was checked"),
    ("changed", (), "its source was not read, so no operation was checked"),
    ("-g0", (), "it has no line table (compile with -g), so no operation was checked"))  # fmt: skip
@pytest.mark.skipif(shutil.which("clang-22") is None, reason="clang-22 is not installed")
def test_where_nothing_is_checked_the_status_is_3(tmp_path, made, options, reason):
    path = relocatable(tmp_path, *[made] * made.startswith("-"))
    source = tmp_path / "k.cl"
    if made == "moved":
        source.unlink()
    elif made == "changed":
        source.write_text(SOURCE.replace("RELEASE", "SEQ_CST"))
    done = run("memmodel", "check", path, *options)
    assert done.returncode == (0 if reason is None else 3), done.stdout
    text = " ".join(done.stdout.split())
    assert reason is None or f"{path}: {reason}" in text
    if made in ("moved", "changed"):
        word = "was not found" if made == "moved" else "has changed since the file was built"
        assert f"{source} {word}, so nothing is known of what it asks for" in text


SCOPE_MACRO = """#define SCOPE __MEMORY_SCOPE_DEVICE
#define AGENT SCOPE // the compute units of one device
kernel void first(global int *p, global int *q)
{
  *p = 1;
  __scoped_atomic_store_n(q, 1, __ATOMIC_RELEASE, AGENT);
  __scoped_atomic_store_n(p, 2, __ATOMIC_RELEASE, ELSEWHERE);
}
"""


@pytest.mark.skipif(shutil.which("clang-22") is None, reason="clang-22 is not installed")
def test_a_scope_may_be_a_macro(tmp_path, monkeypatch):
    """One that the file does not define asks for nothing that can be checked: it is not the widest scope."""
    monkeypatch.setattr(f"{__name__}.SOURCE", SCOPE_MACRO)
    path = relocatable(tmp_path, "-DELSEWHERE=__MEMORY_SCOPE_WRKGRP")
    assert document("check", path)["files"][0]["operations"] == 2  # one, in the kernel and in its copy


HIP = """#define __global__ __attribute__((global))
extern "C" __global__ void pass(int *p, int *q) {
  *q = 1;
  __hip_atomic_store(p, 1, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_AGENT);
}
extern "C" __global__ void take(int *p, int *q) {
  int v = __hip_atomic_load(p, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT);
  *q = v;
}
"""


@pytest.mark.parametrize("processor", ["gfx906", "gfx90a", "gfx1100", "gfx1200"])
@pytest.mark.skipif(shutil.which("clang-22") is None, reason="clang-22 is not installed")
def test_private_temporaries_of_unoptimized_code_are_no_atomics(tmp_path, processor):
    (tmp_path / "k.hip").write_text(HIP)
    options = f"-x hip --offload-device-only --offload-arch={processor} -nogpuinc -nogpulib -g -O0"
    command = ["clang-22", *options.split(), "--no-gpu-bundle-output", "k.hip", "-o", "k.co"]
    subprocess.run(command, check=True, capture_output=True, cwd=tmp_path)
    (report,) = document("check", str(tmp_path / "k.co"))["files"]
    assert (report["operations"], report["findings"]) == (2, 0)


LOOP = """kernel void ring(global int *bell, int n) {
  for (int i = 0; i < n; ++i)
    __scoped_atomic_store_n(bell, i, __ATOMIC_RELEASE, __MEMORY_SCOPE_DEVICE);
}
"""
FIRST = """kernel void ring(global int *bell, int n) {
  __scoped_atomic_store_n(bell, n, __ATOMIC_RELEASE, __MEMORY_SCOPE_SYSTEM);
}
"""


@pytest.mark.skipif(shutil.which("clang-22") is None, reason="clang-22 is not installed")
def test_what_llvm_is_known_to_leave_out_is_said(tmp_path, monkeypatch):
    """A release in a loop does not wait for itself: by the rules of LLVM no finding, but not silent either."""
    monkeypatch.setattr(f"{__name__}.SOURCE", LOOP)
    path = relocatable(tmp_path, "-fno-unroll-loops")
    done = run("memmodel", "check", path)
    text = " ".join(done.stdout.split())
    assert done.returncode == 0
    assert "with a known bug of LLVM 22 and 24, and " in text
    assert "clang version 22" in text
    assert "made it (repeated-accesses-are-waited-for): --rules text shows where" in text
    (report,) = document("check", path)["files"]
    found = document("check", path, "--rules", "text", status=1)["findings"]
    assert report["known_bugs"] == {"repeated-accesses-are-waited-for": len(found)}
    done = run("memmodel", "check", path, "--strict")
    assert done.returncode == 1
    assert re.search(rf"no findings, and {len(found)} known bugs? that counts?$", done.stdout.strip())


@pytest.mark.parametrize("producer, count", [(b"22", 0), (b"24", 2)])  # of the kernel and of its copy
@pytest.mark.skipif(shutil.which("clang-22") is None, reason="clang-22 is not installed")
def test_a_known_bug_is_a_finding_in_code_of_a_compiler_without_it(tmp_path, monkeypatch, producer, count):
    """LLVM 24 waits behind buffer_wbl2 where nothing else is outstanding; LLVM 22 does not."""
    monkeypatch.setattr(f"{__name__}.SOURCE", FIRST)
    path = Path(relocatable(tmp_path, "-mcpu=gfx90a"))
    path.write_bytes(path.read_bytes().replace(b"clang version 22", b"clang version " + producer))
    data = document("check", str(path), status=min(count, 1))
    assert [finding["rule"] for finding in data["findings"]] == ["order-wait-before"] * count
    assert data["files"][0]["known_bugs"] == ({} if count else {"write-backs-are-waited-for": 2})


CLAUSES = {
    "atomics": ("int a = LOAD(head, RELAXED)|int b = LOAD(head + 64, ACQUIRE)|out[0] = a + b + head[7]", 2, 3),
    "plain first": ("int a = more[i]|int b = LOAD(head + i, ACQUIRE)|out[i] = a + b", 1, 3),
    "plain between": (
        "int a = LOAD(head, RELAXED)|int b = more[i]|int c = LOAD(head + i, ACQUIRE)|out[i] = a + b + c", 2, 4,
    )}  # fmt: skip
"""Statements behind the first line, the number of their operations, and the line of the one that acquires."""


@every(processor=["gfx1100", "gfx1200"], name=CLAUSES)
@pytest.mark.skipif(shutil.which("clang-22") is None, reason="clang-22 is not installed")
def test_accesses_of_clauses_have_the_operations_of_the_source_in_order(tmp_path, processor, name):
    """All instructions of a clause have the line of the first; plain loads ask for nothing."""
    source, operations, line = CLAUSES[name]
    source = re.sub(r"LOAD\((.*?), (\w+)\)", r"__hip_atomic_load(\1, __ATOMIC_\2, __HIP_MEMORY_SCOPE_AGENT)", source)
    head = 'extern "C" __attribute__((global)) void k(int *head, int *out, int *more) {'
    head += " int i = __builtin_amdgcn_workitem_id_x();\n"
    (tmp_path / "k.hip").write_text(head + source.replace("|", ";\n") + ";\n}\n")
    options = f"-x hip --offload-device-only --offload-arch={processor} -nogpuinc -nogpulib -g -O2 -S"
    command = ["clang-22", *options.split(), "--no-gpu-bundle-output", "k.hip", "-o", "k.s"]
    subprocess.run(command, check=True, cwd=tmp_path)
    text = (tmp_path / "k.s").read_text()
    assert text.count("s_clause") >= 1
    without = "".join(each for each in text.splitlines(keepends=True) if "_inv" not in each)
    for assembly, rules in ((text, []), (without, ["order-invalidate"])):
        (tmp_path / "k.s").write_text(assembly)
        command = f"clang-22 -x assembler -target amdgcn-amd-amdhsa -mcpu={processor} k.s -o k.co"
        subprocess.run(command.split(), check=True, cwd=tmp_path)
        data = document("check", str(tmp_path / "k.co"), status=len(rules))
        assert data["files"][0]["operations"] == operations
        assert [(finding["rule"], finding["source"]["line"]) for finding in data["findings"]] == [
            (rule, line) for rule in rules
        ]


@pytest.mark.skipif(shutil.which("llvm-mc-22") is None, reason="llvm-mc-22 is not installed")
def test_a_function_without_a_size_reaches_to_the_next_one(tmp_path):
    text = """.text
.globl first
.type first,@function
first:
  global_load_b32 v2, v[0:1], off
  v_add_f32 v3, v2, v2
  s_setpc_b64 s[30:31]
.type second,@function
second:
  s_setpc_b64 s[30:31]
"""
    (tmp_path / "k.s").write_text(text)
    command = "llvm-mc-22 -triple=amdgcn-amd-amdhsa -mcpu=gfx1100 -filetype=obj k.s -o k.o"
    subprocess.run(command.split(), check=True, cwd=tmp_path)
    data = document("check", str(tmp_path / "k.o"), status=3)
    assert [finding["rule"] for finding in data["findings"]] == ["order-value-in-flight", "order-return-in-flight"]
    assert data["files"][0]["instructions"] == 4


def test_the_empty_image_that_a_bundle_has_for_its_host_is_no_failure(tmp_path):
    images = (("host-x86_64-unknown-linux-gnu-", b""), ("hipv4-amdgcn-amd-amdhsa--gfx1200", Path(CLEAN).read_bytes()))
    path = tmp_path / "k.co"
    path.write_bytes(bundle_of(*images))
    done = run("memmodel", "check", str(path), *SOURCES)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[-1].startswith("1 file,")


SOURCE = """kernel void first(global int *p, global int *q)
{
  *p = 1;
  __scoped_atomic_store_n(q, 1, __ATOMIC_RELEASE, __MEMORY_SCOPE_DEVICE);
}
kernel void second(global int *p) { *p = 2; }
"""


def relocatable(folder, *options):
    source, output = folder / "k.cl", folder / "k.o"
    source.write_text(SOURCE)
    target = ("-target", "amdgcn-amd-amdhsa", "-mcpu=gfx1100", "-nogpulib", "-O2", "-g", "-x", "cl", "-cl-std=CL2.0")
    subprocess.run(["clang-22", *target, *options, "-c", str(source), "-o", str(output)], check=True)
    return str(output)


@pytest.mark.skipif(shutil.which("clang-22") is None, reason="clang-22 is not installed")
def test_a_file_that_is_not_linked(tmp_path):
    path = relocatable(tmp_path)
    rows = document("show", path, "--function", "first")["accesses"]
    assert [(row["ordering"], row["source"]["line"]) for row in rows] == [("release", 3), ("release", 4)]
    assert document("check", path)["files"][0]["operations"] >= 1
    assert document("check", relocatable(tmp_path, "-ffunction-sections"))["files"] == document("check", path)["files"]
