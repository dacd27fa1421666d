"""Scripts that use Triton: what right kernels compute, and what is said of wrong ones."""

from __future__ import annotations

import json
import os
import re
import shutil
import struct
import subprocess
import sys
from functools import partial
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import pytest

import dwarfgpu.triton
from dwarfgpu.dwarf_constants import DW_ATE_signed
from dwarfgpu.errors import MalformedFile
from dwarfgpu.program.frames.answers import problem_of
from dwarfgpu.program.types.model import Array, Base, Dimension, Lazy
from dwarfgpu.program.values.objects import Object, section
from dwarfgpu.program.values.storage import ObjectPlace
from dwarfgpu.program.values.tensors import Layout, TensorBytes
from dwarfgpu.render.values import value_text
from dwarfgpu.runtimes.triton.program import TensorOrigin
from dwarfgpu.runtimes.triton.variables import Assigned, with_variables
from tests.builders.dap_client import INITIALIZE, LocalClient
from tests.builders.folders import ROOT
from tests.builders.forked_commands import forked
from tests.conftest import lacking

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="`exec` needs Linux")
PROGRAMS = Path(__file__).with_name("programs")
QUICK = ("add", "add_integers", "softmax", "histogram", "matmul_f16", "autotune", "attention", "descriptors", "tuples",
         "pointers")  # fmt: skip
ALL_CHECKS = "(align, barrier, bounds, init, race, wait)"


FIXTURE = "dwarfgpu.triton_fixture"
ADD_TESTS = """
def test_right(dwarfgpu_triton):
    x, y, out = (np.ones(100, "f4") for _ in range(3))
    add[(1,)](dt.tensor(x), dt.tensor(y), dt.tensor(out), 100, BLOCK=128)
    assert (out == 2).all()
    assert dwarfgpu_triton.launches[0].kernel == "add"


def test_other():
    pass


def test_wrong(dwarfgpu_triton):
    x, y, out = np.ones(100, "f4"), np.zeros(100, "f4"), np.zeros(100, "f4")
    out.flags.writeable = False
    add[(1,)](dt.tensor(x), dt.tensor(y), dt.tensor(out), 100, BLOCK=128)
"""


class Runs(Protocol):
    def __call__(self, *words: object) -> subprocess.CompletedProcess[str]: ...


@pytest.fixture(scope="module")
def run() -> Iterator[Runs]:
    """Return what runs Python, or `dwarfgpu` with what follows its name, where Triton is installed."""
    from tests.builders.triton import PACKAGE

    yield from running(PACKAGE)


def running(package: str) -> Iterator[Runs]:
    from tests.builders.triton import installed_triton

    folder = installed_triton(package)
    if folder is None:
        raise lacking(f"{package} cannot be installed")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(folder), prepend=os.pathsep)
        patch.setenv("TRITON_CACHE_DIR", str(folder.parent / package.replace("==", "-")))
        patch.setenv("TRITON_DEFAULT_FP_FUSION", "1")

        def run(*words: object) -> subprocess.CompletedProcess[str]:
            if words[0] == "dwarfgpu":
                return forked(*words[1:], timeout=500)
            command = [sys.executable, *map(str, words)]
            return subprocess.run(command, capture_output=True, text=True, check=False, timeout=500)

        yield run


@pytest.mark.slow
def test_the_example_of_the_page(run: Runs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The finding is that of both pages, the fault names the same array, and the mended script is right."""
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "cache"))  # kept code names the file that it was made of
    source = (ROOT / "dwarfgpu/examples/softmax.py").read_text()
    source = source.replace(
        "np.zeros((4, 100), np.float32)", "np.zeros((400, 100), np.float32)[:4]"
    )  # nothing behind it
    script = tmp_path / "softmax.py"
    script.write_text(source)
    done = run("dwarfgpu", "exec", "--check", "--target=gfx942", sys.executable, script)
    page = (ROOT / "docs/triton.md").read_text().partition("```text\nin softmax:\n")[2].partition("```")[0]
    found, _, fault = without_addresses(done.stderr.partition("in softmax:\n")[2]).partition(
        "softmax: MEMORY_VIOLATION"
    )
    assert found == without_addresses(page)
    shown = (ROOT / "README.md").read_text().partition("```text\n")[2].partition("```")[0]
    assert set(without_addresses(shown).splitlines()) < set(found.splitlines())
    assert "bytes past the end of `out`, which has 1600 bytes" in fault
    script.write_text(source.replace("at, share)", "at, share, mask=at < columns)"))
    done = run("dwarfgpu", "exec", "--check", "--target=gfx942", sys.executable, script)
    assert (done.returncode, done.stderr) == (0, f"1 launch, 1 kernel, no error {ALL_CHECKS}\n")


def without_addresses(text: str) -> str:
    return re.sub("0x[0-9a-f]+", "0x", text)


def test_a_kernel_runs_and_a_wrong_one_is_found(run: Runs) -> None:
    script = PROGRAMS / "add.py"
    done = run("dwarfgpu", "exec", "--check", sys.executable, script)
    assert (done.stdout, done.returncode) == ("right\n", 0)
    assert done.stderr == f"2 launches, 1 kernel, no error {ALL_CHECKS}\n"
    done = run("dwarfgpu", "exec", "--check=race,bounds", "--target=gfx1100", sys.executable, script, "wrong")
    assert done.returncode == 1
    text = " ".join(done.stderr.split())
    for part in (
        "error: invalid read: `x[1000]`, 4 bytes at",
        "0 to 88 bytes past the end of `x`, float32[1000] (argument 0, 4000 bytes) read at add.py:16 in add",
        "program (3,0,0), lane 20 in all: lanes 20-31 element [1000] of `x`, float32[1000], which has 4000 bytes",
        "a = tl.load(x + at, mask=at < n)",
        "launched at add.py:28 in <module>",
        "KernelFailed: add: MEMORY_VIOLATION: no memory at",
        "1 launch, 1 kernel, 2 errors",
    ):
        assert part in text, done.stderr
    assert "work-group" not in text
    assert "work-item" not in text


@pytest.mark.slow
def test_the_same_kernel_in_two_modules(run: Runs, tmp_path: Path) -> None:
    """Each has its own place in memory, and lines there."""
    (tmp_path / "kernels.py").write_text((PROGRAMS / "add.py").read_text().partition("x, y, out = ")[0])
    script = tmp_path / "script.py"
    script.write_text(
        "import runpy\nimport numpy as np\nimport dwarfgpu.triton as dt\n"
        "def look(kernel):\n"
        "    kernel.run(until='kernels.py:17')\n"
        "    print(kernel.position(kernel[0].pc).line)\n"
        "with dt.use('gfx942', at_launch=look):\n"
        "    for _ in range(2):\n"
        f"        add = runpy.run_path({str(tmp_path / 'kernels.py')!r})['add']\n"
        "        x = dt.tensor(np.ones(256, 'f4'))\n"
        "        add[(1,)](x, x, x, 256, BLOCK=256)\n"
    )
    done = run(script)
    assert done.stdout == "17\n17\n", done.stdout + done.stderr


@pytest.mark.slow
def test_a_core_file_names_arguments(run: Runs, tmp_path: Path) -> None:
    """The code has no names: a note of dwarfgpu has them."""
    run("dwarfgpu", "exec", "--core", tmp_path, sys.executable, PROGRAMS / "add.py", "wrong")
    done = run("dwarfgpu", "fault", tmp_path / "add-1.core")
    assert " past the end of `x`, which has 4000 bytes" in done.stdout, done.stderr


def test_a_hint_where_a_script_wants_a_gpu(run: Runs, tmp_path: Path) -> None:
    text = "def empty(*_shape, **_options):\n    raise AssertionError('Torch not compiled with CUDA enabled')\n"
    (tmp_path / "torch.py").write_text(text)
    script = tmp_path / "add.py"
    script.write_text((PROGRAMS / "add.py").read_text().replace('if "cuda"', 'if True or "cuda"'))
    done = run("dwarfgpu", "exec", sys.executable, script)
    assert done.returncode == 1
    assert 'memory of the host: import torch before triton, or write device="cpu"\n' in done.stderr


@pytest.mark.parametrize("is_real", [False, True])
def test_the_device_cuda_of_torch_is_the_host(run: Runs, tmp_path: Path, *, is_real: bool) -> None:
    if is_real and find_spec("torch") is None:
        pytest.skip("torch is not installed")
    if not is_real:
        shutil.copytree(PROGRAMS / "torch_alike", tmp_path / "torch")
    script = tmp_path / "script.py"
    script.write_text((PROGRAMS / "on_cuda.py").read_text())
    done = run("dwarfgpu", "exec", sys.executable, script)
    assert done.stdout == "gfx942 of dwarfgpu 64 cpu cpu cpu True\n[0.0, 2.0, 4.0, 6.0]\n", done.stderr
    note = 'note: torch\'s device "cuda" is memory of the host here, which kernels access in place\n'
    assert done.stderr == f"{note}1 launch, 1 kernel, no error\n"


@pytest.mark.slow
@pytest.mark.skipif(not (find_spec("torch") and find_spec("tritonparse")), reason="torch or tritonparse is missing")
def test_a_reproducer_of_tritonparse(run: Runs, tmp_path: Path) -> None:
    """TritonParse traces a script that runs here, and makes another one of a launch, which runs, too."""
    script, traces, parsed = tmp_path / "script.py", tmp_path / "traces", tmp_path / "parsed"
    trace = f"import tritonparse.structured_logging as log\nlog.init({str(traces)!r}, enable_trace_launch=True)\n"
    script.write_text(f"import torch\n{trace}{(PROGRAMS / 'on_cuda.py').read_text()}")
    done = run("dwarfgpu", "exec", sys.executable, script)
    assert "[0.0, 2.0, 4.0, 6.0]\n" in done.stdout, done.stderr
    run("-m", "tritonparse", "parse", traces, "--out", parsed)
    (log,) = parsed.glob("*.ndjson.gz")
    run("-m", "tritonparse", "reproduce", log, "--line", "1", "--out-dir", tmp_path / "made")
    (made,) = tmp_path.glob("made/*/repro_*.py")
    done = run("dwarfgpu", "exec", sys.executable, made)
    assert "Kernel execution finished.\n" in done.stdout, done.stderr
    assert done.stderr.endswith("2 launches, 1 kernel, no error\n"), done.stderr  # that of the script is repeated


def test_kernels_compute_what_numpy_does(run: Runs) -> None:
    done = run(PROGRAMS / "kernels.py", "gfx942", "race,bounds", *QUICK)
    assert done.stdout.splitlines() == [f"{name}: right" for name in QUICK], done.stderr


@pytest.mark.slow
def test_kernels_that_need_what_gfx1250_adds(run: Runs) -> None:
    """Buffers, asynchronous copies, products with scales, bf16 and narrow numbers, and tiles of tensors."""
    names = "matmul_f16", "matmul_scaled", "narrow_floats", "add_bf16", "descriptors", "descriptors_in_kernels"
    done = run(PROGRAMS / "kernels.py", "gfx1250", "init,bounds", *names)
    assert done.stdout.splitlines() == [f"{name}: right" for name in names], done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("processor", ["gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201", "gfx1250"])
def test_all_kernels_compute_what_numpy_does(run: Runs, processor: str) -> None:
    """With all checks, which find no error, as without."""
    for checks in ("-", "all"):
        done = run(PROGRAMS / "kernels.py", processor, checks)
        lines = done.stdout.splitlines()
        assert len(lines) == 34, done.stderr
        assert all(line.endswith(": right") for line in lines), done.stderr


def steps_of(commands: Iterable[str]) -> list[str]:
    return [word for command in commands for word in ("-ex", command)]


@pytest.mark.slow
@pytest.mark.skipif(sys.version_info >= (3, 14), reason="older versions have no file for this Python")
@pytest.mark.parametrize("version", ["3.4.0", "3.5.1", "3.6.0", "3.7.0", "3.8.0"])
def test_versions_of_triton(version: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those before 3.8 import torch, and 3.4 needs a linker. Variables are there since 3.6, buffers since 3.7."""
    shutil.copytree(PROGRAMS / "torch_alike", tmp_path / "torch")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    monkeypatch.setenv("TRITON_HIP_LLD_PATH", shutil.which("ld.lld-22") or shutil.which("ld.lld") or "")
    names = "add", "softmax", "matmul_f16", "attention"
    for run in running(f"triton=={version}"):
        done = run(PROGRAMS / "kernels.py", "gfx942", "race,bounds", *names)
        assert done.stdout.splitlines() == [f"{name}: right" for name in names], done.stderr
        for script, name, first in ("tensors", "product", "3.6"), ("buffers", "halves", "3.7"):
            if version >= first:
                done = run(PROGRAMS / f"{script}.py", "gfx942", name)
                assert done.stdout.endswith(" elements, 0 wrong\n"), done.stdout + done.stderr


def debugged(run: Runs, *commands: str) -> subprocess.CompletedProcess[str]:
    """Run commands in the debugger of a script that launches a kernel twice."""
    return run("dwarfgpu", "debug", "-batch", "-nx", *steps_of(commands), "--args", sys.executable, PROGRAMS / "add.py")


@pytest.mark.slow
def test_the_debugger_stops_in_kernels(run: Runs) -> None:
    commands = ("break add.py:18", "run", "bt", "info launches", "delete", "continue", "continue", "continue")
    done = debugged(run, *commands)
    for part in ("Waves 2-16 hit it too", "host #0  add.py:28 in <module>", "exited normally after 2 launches"):
        assert part in done.stdout, done.stdout + done.stderr


def test_the_fixture_of_pytest(run: Runs, tmp_path: Path) -> None:
    (tmp_path / "pytest.ini").write_text("[pytest]\ndwarfgpu_target = gfx1100\naddopts = -p no:cacheprovider\n")
    source = (PROGRAMS / "add.py").read_text().partition("x, y, out = ")[0]
    (tmp_path / "test_add.py").write_text(source + ADD_TESTS)
    plugins = () if any(each.value == FIXTURE for each in entry_points(group="pytest11")) else ("-p", FIXTURE)
    done = run("-m", "pytest", "-q", "--rootdir", tmp_path, *plugins, tmp_path)
    assert "1 failed, 2 passed" in done.stdout, done.stdout + done.stderr
    text = " ".join(done.stdout.split())
    for part in (
        "checks of kernels have found errors, which are told below: write to a read-only buffer: `out[0]`, 4 bytes",
        "write of 1 at test_add.py:18 in add",
        "in all: lanes 0-31",
    ):
        assert part in text, done.stdout


def test_the_fixture_imports_nothing() -> None:
    code = (
        f"import sys, pytest, dwarfgpu; before = {{*sys.modules}}; import {FIXTURE}; print({{*sys.modules}} - before)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    names = FIXTURE.split(".")
    assert eval(done.stdout) <= {".".join(names[:count]) for count in range(1, len(names) + 1)}


def test_elements_of_tensors() -> None:
    origin = TensorOrigin("x", "float32", (4, 10), (16, 1), 0x1000, 4)
    assert str(origin) == "`x`, float32[4, 10]"
    assert [origin.element(0x1000 + at) for at in (0, 4 * 17, 4 * 64, -4)] == [
        "element [0, 0]", "element [1, 1]", "element [4, 0]", None
    ]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("processor", ["gfx942", "gfx1100"])
def test_variables_are_what_numpy_computes(run: Runs, processor: str) -> None:
    done = run(PROGRAMS / "tensors.py", processor)
    rows = [line.split(": ") for line in done.stdout.splitlines()]
    assert [row[0] for row in rows] == ["product", "rows", "flow", "layouts"], done.stderr
    for _name, text in rows:
        shown, asked = text.split(" elements")[0].split(" of ")
        assert shown == asked
        assert text.endswith("elements, 0 wrong"), text


@pytest.mark.slow
@pytest.mark.parametrize("processor", ["gfx942", "gfx1100"])
def test_buffers_in_shared_memory_are_what_numpy_computes(run: Runs, processor: str) -> None:
    """In each class of layouts, at several stops; where another buffer has the memory, nothing is shown."""
    names = ["one", "parts", "shared", "halves"]
    done = run(PROGRAMS / "buffers.py", processor, *names)
    rows = [line.split(": ") for line in done.stdout.splitlines()]
    assert [row[0] for row in rows] == names, done.stderr
    for _name, text in rows:
        shown, asked = text.partition(", ")[2].split(" elements")[0].split(" of ")
        assert shown == asked
        assert text.endswith("elements, 0 wrong"), text


@pytest.mark.slow
def test_all_kernels_compute_the_same_with_variables(run: Runs) -> None:
    done = run(PROGRAMS / "kernels.py", "gfx942", "debug")
    assert [line for line in done.stdout.splitlines() if not line.endswith(": right")] == [], done.stderr
    assert done.stdout.count(": right") == 34


@pytest.mark.slow
def test_memory_that_is_read_only_or_of_another_tensor(run: Runs) -> None:
    """Pointers are followed from arguments that hardware loads into registers, and from arrays of pointers.

    In shared memory the element has the index that its layout gives it.
    """
    names = "read_only", "beside", "pointers", "half"
    done = run(PROGRAMS / "faults.py", *names)
    assert done.stdout.splitlines() == [f"{name}: named" for name in names], done.stderr


@pytest.mark.slow
def test_faults_are_named_by_line_and_tensor(run: Runs) -> None:
    done = run(PROGRAMS / "faults.py")
    assert [line for line in done.stdout.splitlines() if not line.endswith(": named")] == [], done.stderr
    assert done.stdout.count(": named") == 27


@pytest.mark.slow
def test_variables_in_the_debugger(run: Runs) -> None:
    commands = ("break add.py:18", "run", "info args", "print b[0:4]", "print at[2] + 1", "print at[300]", "whatis a")
    done = debugged(run, *commands)
    for part in (
        "n = 1000\nBLOCK = 256\n",
        "$1 = {1, 1, 1, 1}\n$2 = 3\n",
        "there is no element 300: there are 256",
        "type = tensor<256xf32, #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [64], ",
    ):
        assert part in done.stdout + done.stderr, done.stdout + done.stderr


@pytest.mark.slow
def test_buffers_in_the_debugger(run: Runs) -> None:
    """Its layout is swizzled, and it is a part of a larger one."""
    commands = ("break transpose.py:25", "run", "print tile[3][0:4]", "print turned[5, 3]", "whatis turned",
                "info layout tile[3, 0:4]", "set var tile[3, 0] = 1")  # fmt: skip
    script = "--args", sys.executable, PROGRAMS / "transpose.py"
    done = run("dwarfgpu", "debug", "-batch", "-nx", *steps_of(commands), *script)
    for part in (
        "$1 = {96, 97, 98, 99}\n$2 = 101\n",
        "type = memdesc<32x32xf32, #ttg.swizzled_shared<{vec = 2, perPhase = 2, maxPhase = 8, order = [0, 1]}>>",
        "64: [2, 2] 128: [4, 4]",
        "Each element with its place, OFFSET:\n  [3, 0]  98 99 96 97\n",
    ):
        assert part in done.stdout, done.stdout + done.stderr
    assert "the elements are a copy of shared memory, so they have no location to assign to" in done.stderr


@pytest.mark.slow
def test_an_element_in_shared_memory_is_watched(run: Runs) -> None:
    """Another wave writes it than the one that is selected."""
    steps = steps_of(("break transpose.py:23", "run", "watch tile[20, 5]", "delete 1", "continue", "continue"))
    done = run("dwarfgpu", "debug", "-batch", "-nx", *steps, "--args", sys.executable, PROGRAMS / "transpose.py")
    assert "Old value = 0\nNew value = 645\n" in done.stdout, done.stdout + done.stderr
    assert done.stdout.count("New value") == 1


def test_a_device_of_a_script_is_none_of_exec(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dwarfgpu.triton, "UsedDevice", lambda _device, debug: debug)
    assert dwarfgpu.triton.use(debug=True)
    monkeypatch.setenv("DWARFGPU_DEVICE", "/tmp/none")
    with pytest.warns(UserWarning, match="`dwarfgpu exec` does not see or check them"):
        dwarfgpu.triton.use()


@pytest.mark.slow
def test_going_back_stops_where_a_watched_tensor_was_assigned(run: Runs) -> None:
    commands = "break add.py:18 if nosuch", "break add.py:18", "run", "delete", "watch b[3]", *2 * ("reverse-continue",)
    done = debugged(run, *commands)
    assert "Error in re-setting breakpoint 1: no variable `nosuch` in add" in done.stdout
    assert "Old value = 1\nNew value = <the program has not assigned b>\n" in done.stdout, done.stdout + done.stderr
    assert done.stdout.count("New value") == 1


@pytest.mark.slow
def test_a_tensor_is_watched_before_it_is_assigned(run: Runs) -> None:
    """A kernel is entered where its parameters are set; no stop is between two values."""
    commands = ("break add", "run", "info args", "watch b[3]", *4 * ("continue",))
    done = debugged(run, *commands)
    for part in (
        "n = 1000\nBLOCK = 256\n",
        "Watchpoint 2 (b[3]) will be set again when wave 1 is in add.\n",
        "Hardware watchpoint 2: b[3], with lane [0]\n\nOld value = <the program has not assigned b>\nNew value = 1\n",
        "17\t    b = tl.load(y + at, mask=at < n)\n",
    ):
        assert part in done.stdout, done.stdout + done.stderr
    assert done.stdout.count("New value = 1\n") == done.stdout.count("New value") == 2


@pytest.mark.slow
def test_an_editor_shows_and_watches_tensors(run: Runs) -> None:
    """They cannot be assigned to; one that is not assigned yet can be watched."""
    client = LocalClient()
    try:
        client.ask("initialize", **INITIALIZE)
        number = client.send("launch", program=sys.executable, args=[str(PROGRAMS / "add.py")])
        client.event("initialized")
        source = {"path": str(PROGRAMS / "add.py")}
        client.ask("setBreakpoints", source=source, breakpoints=[{"line": 17}])
        client.ask("configurationDone")
        assert client.answer(number)["success"]
        thread = client.event("stopped")["threadId"]
        frame = client.top(thread)["id"]
        known = client.scope("Locals", thread)
        assert known["a"]["type"].startswith("tensor<256xf32, ")
        element = client.parts(known["a"]["variablesReference"], start=3, count=1)["[3]"]
        assert (element["value"], element["evaluateName"]) == ("3", "a[3]")
        refused = "the value is gathered from all waves of the program, so it has no location to assign to"
        scopes = {each["name"]: each for each in client.ask("scopes", frameId=frame)["scopes"]}
        (place,) = (each["variablesReference"] for name, each in scopes.items() if name.startswith("Locals"))
        for part, name in ((known["a"]["variablesReference"], "[3]"), (place, "a")):
            assert client.fails("setVariable", variablesReference=part, name=name, value="1").startswith(refused)
        assert client.fails("setExpression", expression="at[3]", value="1", frameId=frame).startswith(refused)
        info = client.ask("dataBreakpointInfo", name="b[3]", frameId=frame)
        assert (info["accessTypes"], info["description"]) == (["write"], "b[3] in lane 0 of wave 1")
        (point,) = client.ask("setDataBreakpoints", breakpoints=[{"dataId": info["dataId"]}])["breakpoints"]
        assert point["verified"]
        stop = client.goes("continue", thread)
        assert (stop["reason"], client.line(stop["threadId"])) == ("data breakpoint", 17)
        assert client.value("b[3]", thread=stop["threadId"]) == "1"
    finally:
        client.close()


def test_a_layout_is_a_linear_map() -> None:
    """The layout of the result of a matrix instruction, 32x32x8: lane 32 has column 4 of row 0 in register 0."""
    bases = "register = [[0, 1], [0, 2], [0, 8], [0, 16]], lane = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0], [0, 4]]"
    layout = Layout.read(f"#ttg.linear<{{{bases}, warp = [[0, 0]]}}>", (32, 32))
    assert [layout.element(*place) for place in ((0, 32, 0), (0, 33, 1), (5, 2, 0))] == [4, 32 + 4, 2 * 32 + 9]
    found = sorted(index for (_register, _lane, warp), index in layout.elements() if warp == 0)
    assert found == [*range(1024)]


@pytest.mark.slow
def test_a_kernel_of_the_cache_with_variables(run: Runs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its parameters in DWARF are variables, some of them constants: arguments are those of its metadata."""
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    run("dwarfgpu", "exec", "-g", sys.executable, PROGRAMS / "add.py")
    (code,) = tmp_path.glob("dwarfgpu-*/*/add.hsaco")
    words = "run", code, "--grid", "512", "arange(300,float)", "arange(300,float)", "zeros(300,float)", "300"
    done = run("dwarfgpu", *words, "--watch", "b[3]")
    rows = [(line.split()[1], line.split()[-1]) for line in done.stdout.splitlines() if "add.py:17" in line]
    assert [value for wave, value in rows if wave == "1:1:1:1,"] == ["3"], done.stdout + done.stderr
    assert {value for _wave, value in rows} == {"3", "259"}  # of two programs
    done = run("dwarfgpu", *words, "--trace=lines")
    assert "17\tb = tl.load(y + at, mask=at < n)\n    b = {0, 1, 2, 3, " in done.stdout, done.stdout + done.stderr


@pytest.mark.slow
def test_tensors_of_launches(run: Runs) -> None:
    """`exec` shows them as `run` does, and says how to have them."""
    script = PROGRAMS / "add.py"
    done = run("dwarfgpu", "exec", "-g", "--launch=2", "--watch=b[3]", "--trace=lines", sys.executable, script)
    assert done.stdout == "right\n"
    assert re.search(r"launch 2, add:\n(.*\n)*17  b = .*\n    b = \{1 <repeats 256 times>\}\n", done.stderr), (
        done.stderr
    )
    assert re.search(r" \d+  1:1:1:1, 1:1:1:2 and 14 more  add.py:17  1\n", done.stderr), done.stderr
    done = run("dwarfgpu", "exec", "--watch=b[3]", sys.executable, script)
    assert (done.returncode, done.stderr.count("no variable `b`")) == (1, 1)
    assert "hint: `dwarfgpu exec -g python SCRIPT` compiles" in done.stderr


def test_a_column_of_a_tensor() -> None:
    """Its last element is followed by no whole row."""
    kind = Array(Lazy.known(Base("int", DW_ATE_signed, 4)), (Dimension(0, count=2), Dimension(0, count=4)))
    data = struct.pack("<8i", *range(8))
    whole = Object(kind, ObjectPlace(TensorBytes(data, bytes(32), Layout((2, 4), (), (), ()))))
    column = section(whole, [(None, None), 3])
    assert problem_of(column) is None
    assert value_text(column) == "{3, 7}"


@pytest.mark.slow
def test_layouts_are_those_of_triton(run: Runs) -> None:
    """Each class of layouts against the picture that Triton draws of it."""
    done = run(PROGRAMS / "layouts.py")
    rows = [line.split(": ") for line in done.stdout.splitlines()]
    assert [row[0] for row in rows] == ["blocked", "slices", "mfma", "wmma", "operands", "linear"], done.stderr
    assert [text for _name, text in rows if not text.endswith(" elements, 0 wrong")] == []


@pytest.mark.parametrize(
    "text",
    [
        "{register = [[0, 1, 2]]}",
        "{register = [[64]]}",
        "{register = [1]}",
        "{lane = [[]]}",
        f"{{warp = {[[1]] * 40}}}",
    ],
)
def test_a_layout_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(MalformedFile):
        Layout.read(f"#ttg.linear<{text}>", (64,))
    with pytest.raises(MalformedFile):
        Layout.read("#ttg.linear<{register = [[1]]}>", (48,))


@pytest.mark.slow
def test_the_layout_of_a_tensor(run: Runs) -> None:
    told = partial(debugged, run, "break add.py:18", "run")
    done = told("info layout b[62:66]", "info layout b", "info layout n")
    for part in (
        "  [62]  0:62:0 0:63:0\n  [64]   1:0:0  1:1:0\n",
        "  [192]   3:0:0  3:1:0  3:2:0  3:3:0  3:4:0  3:5:0  3:6:0  3:7:0\n56 more",
        "  warp      1: [64] 2: [128]\n  lane      1: [1] 2: [2] 4: [4] 8: [8] 16: [16] 32: [32]\n",
    ):
        assert part in done.stdout
    assert max(map(len, done.stdout[done.stdout.index("type = ") :].splitlines())) <= 80
    assert "n is no tensor" in done.stderr
    text = told("info layout -json b[70]").stdout
    found = json.loads(text[text.index("\n{\n") :])
    assert found["elements"] == [{"index": [70], "warp": 1, "lane": 6, "register": 0}]
    lanes = [[1], [2], [4], [8], [16], [32]]
    assert found["bases"] == {"warp": [[64], [128]], "lane": lanes, "register": []}


def test_marks_that_llvm_has_changed_give_no_value() -> None:
    """Of three marks for two elements one is a copy: which is not known, so the variable has no value there."""
    call = '  %{} = call i32 asm sideeffect "; dwarfgpu 1 f x 0 int32", "=v,v"(i32 %{}), !dbg !5'
    place = "!5 = !DILocation(line: 3, column: 1, scope: !4)\n"
    module = f"define void @f(i32 %0, i32 %1) !dbg !4 {{{{\n{{}}\n  ret void\n}}}}\n{place}"
    mark = Assigned("x", "int32", (128,), "#blocked", "#ttg.linear<{register = [[64]]}>", held=2)
    whole = with_variables(module.format(f"{call.format(2, 0)}\n{call.format(3, 1)}"), {1: mark})
    assert "store volatile i32 %1, ptr addrspace(5)" in whole
    assert "asm" not in whole
    copied = "\n".join(call.format(number, 0) for number in (2, 3, 4))
    assert "store volatile i32 %0" not in with_variables(module.format(copied), {1: mark})
