"""Whole OpenCL programs: what right ones print, and what is said of wrong ones."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING
from unittest.mock import Mock

import pytest

from dwarfgpu.compilers import sources
from dwarfgpu.compilers.spirv import find_translator
from dwarfgpu.runtimes.opencl import code, kernels
from dwarfgpu.runtimes.opencl.code import USUAL
from dwarfgpu.runtimes.opencl.contexts import DEVICE_ANSWERS, FEATURES
from dwarfgpu.runtimes.opencl.library import API, tables
from dwarfgpu.runtimes.opencl.program import OpenClProgram
from tests.builders.forked_commands import forked

if TYPE_CHECKING:
    from collections.abc import Callable

PROGRAMS = Path(__file__).with_name("programs")
HEADER = Path("/usr/include/CL/cl_icd.h")
pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="`exec` needs Linux"),
    pytest.mark.skipif(shutil.which("clang-22") is None, reason="clang-22 is not installed"),
]

RIGHT = """\
{} (dwarfgpu), part
reversed 45 0 144
offset 18 10000 13000
item 3 of 0
part 1 4, box 1 2 7 7
native 112 107 7
used 1 15000
groups 16 8
before 0 1
after 50, calls 12, time 1
failed -14
image 101 14 -3
mapped -1 -2 64
image 101 14 -3
mapped -1 -2 80
plane 101 14 0 -3
line 12 5 -3 4 0, 1; shared 30
linked 6
"""
SOURCE = (PROGRAMS / "misuse.c").read_text().splitlines()
PLACES = {
    name: f"misuse.c:{next(number for number, line in enumerate(SOURCE, 1) if text in line)}"
    for name, text in {
        "build": "clBuildProgram(", "kernel": "clCreateKernel(", "out": "cl_mem out", "execute": "clEnqueueNDRange",
        "read": "clEnqueueRead", "map": "int *there", "user": "cl_event user", "finish": "clFinish",
        "local": "NDRangeKernel(queue, local_sum",
    }.items()
}  # fmt: skip
PLACES |= {
    name: f"misuse.c:{number}"
    for number, line in enumerate(SOURCE, 1)
    for name in re.findall(r'if \(IS\("(\w+)"\)\)', line)
}
"""The lines that messages name: of some calls, and of each mistake with a statement of its own."""
MISUSES = {
    "option": ("clBuildProgram: there is no option -no-such-option: CL_INVALID_BUILD_OPTIONS", "at {build} in main"),
    "name": ("there is no kernel 'sub' (there are: add, local_sum): CL_INVALID_KERNEL_NAME", "at {kernel} in main"),
    "beyond": ("MEMORY_VIOLATION", "past the end of `out`, which has 128 bytes", "launched at {execute} in main"),
    "released": ("`out` from {out} is used, and was released", "released at {released} in main"),
    "size": ("argument 2 of add, `n`, has 4 bytes, and 8 are given: CL_INVALID_ARG_SIZE", "at {size} in main"),
    "missing": ("argument 2 of add, `n`, was given no value: CL_INVALID_KERNEL_ARGS", "at {execute} in main"),
    "index": ("add has 3 arguments, and no 3: CL_INVALID_ARG_INDEX", "at {index} in main"),
    "group": ("work-groups of 16 do not divide 60 work-items", "CL_INVALID_WORK_GROUP_SIZE", "at {execute} in main"),
    "range": ("bytes 0 to 259 of `out` from {out}, which has 256: CL_INVALID_VALUE", "at {read} in main"),
    "mapped": ("`out` from {out} is released while it is mapped", "mapped at {map} in main"),
    "using": ("add uses `out` from {out} while it is mapped for writing", "mapped at {using} in main"),
    "local": (
        "local_sum needs 70000 bytes of local memory: there are 65536: CL_OUT_OF_RESOURCES",
        "at {local} in main",
    ),
    "unread": ("clEnqueueReadBuffer fails with CL_INVALID_VALUE, and nothing looks at that", "at {unread} in main"),
    "il": (
        "the program is not SPIR-V" if find_translator() else "programs in SPIR-V need llvm-spirv",
        "at {il} in main",
    ),
    "filling": ("clEnqueueFillBuffer writes `out` from {out} while it is mapped for reading", "at {filling} in main"),
    "changed": ("add writes `out` from {out} while it is mapped for reading", "at {changed} in main"),
    "overlap": ("bytes 60 to 63 of `out` from {out} are mapped for writing already: CL_INVALID_OPERATION",),
    "host": ("the host accesses byte 4 of `out` from {out}", "at {host} in main"),
    "leak": ("`out` from {out} was not released: 256 bytes", "no error, 1 buffer not freed"),
    "twice": ("clReleaseMemObject: `out` from {out} is used, and was released", "at {twice} in main"),
}
"""What is said of each mistake of ``misuse.c``."""


def dwarfgpu(*words: str | Path, **variables: str) -> subprocess.CompletedProcess[str]:
    return forked(*words, env={**os.environ, **variables})


def joined(text: str) -> str:
    """Return a text as if lines had no end."""
    return " ".join(text.split())


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory, require_tool: Callable[[str], str]) -> Callable[[str], Path]:
    folder, compiler = tmp_path_factory.mktemp("programs"), require_tool("gcc")
    if not HEADER.exists():
        pytest.skip("opencl-headers is not installed")

    def build(name: str) -> Path:
        path = folder / name
        if not path.exists():
            words = [compiler, "-g", "-w", PROGRAMS / f"{name}.c", "-o", path, "-lOpenCL", "-pthread"]
            subprocess.run(words, check=True)
        return path

    return build


def test_back_into_earlier_launches(built: Callable[[str], Path]) -> None:
    """From launch 12 to a condition in launch 9, to stores before, and to what the host has written."""
    commands = (
        "tbreak add if turn == 12", "run", "break 3 if turn == 9 && i == 5", "reverse-continue", "print turn",
        "delete", "watch cells[5]", *["reverse-continue"] * 4, "print turn", "delete", "tbreak add if turn == 8",
        *["continue"] * 3,
    )  # fmt: skip
    words = [word for command in commands for word in ("-ex", command)]
    done = dwarfgpu("debug", "-batch", "-nx", *words, "--args", built("turns"))
    for part in (
        "[Launch 9 again: add,", "hit Breakpoint 2, with lane [5]", "$1 = 9", "[Launch 8 again: ", "New value = 22",
        "[Launch 7 again: ", "New value = 15", "[Launch 6 again: ", "New value = 9", "[Launch 5 again: ",
        "cells[5], changed by the host after this launch", "Old value = 9\nNew value = 15", "$2 = 5",
        "turn=8)", "[Launch 12: add,", "exited normally after 12 launches]",
    ):  # fmt: skip
        _before, found, done.stdout = done.stdout.partition(part)
        assert found, part
    assert not done.stderr


@pytest.mark.parametrize("processor", ["gfx1100", pytest.param("gfx90a", marks=pytest.mark.slow)])
def test_a_right_program(built: Callable[[str], Path], processor: str) -> None:
    done = dwarfgpu("exec", "--target", processor, built("opencl"))
    assert done.stdout == RIGHT.format(processor)
    assert done.stderr == "12 launches, 7 kernels, no error\n"
    assert done.returncode == 0


DEVICES = """\
2 gfx1100 (dwarfgpu), gfx90a (dwarfgpu)
adds 1
adds 1000
both 0 0: 64032 64032
adds 1
adds 1000
again 0 0: 128064 128064
adds 1000
second -45 0: 192064 192064
built -1 0, waves 32 64, none -33
"""


@pytest.mark.slow
def test_several_devices(built: Callable[[str], Path]) -> None:
    done = dwarfgpu("exec", "--target", "gfx1100", "--target", "gfx90a", "--check=race", built("devices"))
    assert done.stdout == DEVICES
    assert "add is not built for gfx1100: CL_INVALID_PROGRAM_EXECUTABLE" in joined(done.stderr)
    assert done.stderr.endswith("5 launches, 1 kernel, 2 warnings (race)\n")


@pytest.mark.parametrize("mistake", MISUSES)
@pytest.mark.sampled(10)
def test_a_wrong_program(built: Callable[[str], Path], mistake: str) -> None:
    done = dwarfgpu("exec", built("misuse"), mistake)
    for text in MISUSES[mistake]:
        assert text.format(**PLACES) in joined(done.stderr)
    assert done.returncode < 128, "a signal has ended it"
    mended = dwarfgpu("exec", built("misuse"), mistake, "mended")
    assert (mended.returncode, mended.stderr.rpartition(",")[2]) == (0, " no error\n")


OF_HOST = {
    "read": "error: clEnqueueReadBuffer: only 0 of 256 bytes at 0x{any} can be written at {line}",
    "write": "error: clEnqueueWriteBuffer: only 0 of 256 bytes at 0x{any} can be read at {line}",
    "part": "error: clEnqueueReadBuffer: only 96 of 256 bytes at 0x{any} can be written at {line}",
    "constant": "error: clEnqueueReadBuffer: only 0 of 5 bytes at 0x{any} can be written at {line}",
    "create": "error: clCreateBuffer: only 0 of 256 bytes at 0x{any} can be read at {line}",
    "reading": "the host writes byte 4 of `cells` from {any}, which is mapped for reading at {any} mapped at {any}",
    "unmapped": "the host writes byte 8 of the memory that `used` from {any} uses without a map for it at {any}",
    "used": "the host writes bytes 8 to 12 of the memory that `used` from {any} uses without a map for it at {any}",
    "unseen": "no map or read shows the host bytes 0 to 252 of `used` from {any}, which a kernel has written at {any}",
    "wait": "error: all threads wait for `user` from {any}, whose status nothing sets: the program is ended at {line}",
    "join": "error: all threads wait for `user` from {any}, whose status nothing sets: the program is ended at {any}",
    "source": "the host changes byte 20 of the memory of clEnqueueWriteBuffer, which has not ended at {any}",
    "lazy-source": "the host changes byte 28 of the memory of clEnqueueWriteBuffer, which has not ended at {line}",
    "target": "the host changes byte 36 of the memory of clEnqueueReadBuffer, which has not ended at {line}",
    "early": "accesses byte 8000 of the memory of clEnqueueReadBuffer, which has not ended at {any} called at {any}",
    "never": "the host never waits until clEnqueueReadBuffer has ended, so it must not use what was read at {line}",
}
"""What is said of each mistake of ``hostmemory.c``."""
OPTIONS = {"lazy-source": ["--lazy"], "target": ["--lazy"], "early": ["--lazy"], "never": ["--check=race"]}


@pytest.mark.parametrize("mistake", OF_HOST)
@pytest.mark.sampled(10)
def test_memory_of_the_host(built: Callable[[str], Path], mistake: str) -> None:
    source = (PROGRAMS / "hostmemory.c").read_text().splitlines()
    line = next((at for at, text in enumerate(source, 1) if f'(IS("{mistake}"))' in text), 0)
    wanted = (
        re.escape(OF_HOST[mistake]).replace(r"\{any\}", "[^ ]+( in main)?").replace(r"\{line\}", f"hostmemory.c:{line}")
    )
    command = "exec", *OPTIONS.get(mistake, ()), built("hostmemory"), mistake
    done = dwarfgpu(*command)
    assert re.search(wanted, joined(done.stderr)), done.stderr
    assert done.returncode == 1 or "warning" in done.stderr
    right = dwarfgpu(*command, "right")
    assert (right.returncode, right.stderr.rpartition(",")[2]) == (0, " no error\n")


@pytest.fixture(scope="module")
def in_spirv(tmp_path_factory: pytest.TempPathFactory, require_tool: Callable[[str], str]) -> Callable[[str], Path]:
    """Return the program of SPIR-V that a level of clang makes of spirv.cl."""
    folder, clang, translator = (
        tmp_path_factory.mktemp("spirv"),
        require_tool("clang-15"),
        require_tool("llvm-spirv-15"),
    )

    def compiled(level: str) -> Path:
        path = folder / f"{level}.spv"
        if not path.exists():
            words = [clang, "-target", "spir64", "-cl-std=CL2.0", "-Xclang", "-finclude-default-header", level, "-g"]
            bitcode = path.with_suffix(".bc")
            subprocess.run([*words, "-emit-llvm", "-c", PROGRAMS / "spirv.cl", "-o", bitcode], check=True)
            subprocess.run([translator, bitcode, "-o", path], check=True)
        return path

    return compiled


@pytest.mark.slow
@pytest.mark.parametrize("processor", ["gfx1100", "gfx90a"])
@pytest.mark.parametrize("level, options", [("-O0", "-cl-opt-disable"), ("-O1", ""), ("-O2", "link")])
def test_spirv(
    built: Callable[[str], Path], in_spirv: Callable[[str], Path], processor: str, level: str, options: str
) -> None:
    """What kernels make of structures, local memory, images, printf and built-in functions is as from source."""
    program, target = built("spirv"), ("--target", processor)
    wanted = dwarfgpu("exec", *target, program, PROGRAMS / "spirv.cl", "-cl-std=CL3.0")
    done = dwarfgpu("exec", *target, program, in_spirv(level), options)
    assert wanted.stdout.startswith("built 0 \nsaxpy ")
    assert done.stdout == wanted.stdout
    assert "set 0 0 0 0" in done.stderr
    assert ", not -71 -30" in done.stderr
    assert options == "link" or "constants 270 2.5 0.33333333333333331, same size 1" in done.stderr


def test_spirv_without_a_translator(built: Callable[[str], Path], tmp_path: Path) -> None:
    """OpenCL API 3.0, clCreateProgramWithIL: CL_INVALID_OPERATION where no device supports it."""
    (tmp_path / "any.spv").write_bytes(b"\3\2\x23\7" + bytes(16))
    done = dwarfgpu("exec", built("spirv"), tmp_path / "any.spv", "", LLVM_SPIRV="none")
    assert "reads \n" in done.stderr
    assert "created -59\n" in done.stderr
    assert "programs in SPIR-V need llvm-spirv" in joined(done.stderr)


def test_variables_of_spirv(built: Callable[[str], Path], in_spirv: Callable[[str], Path]) -> None:
    steps = [
        word
        for command in ("break neighbour", "run", "up", "print *given@2", "print none")
        for word in ("-ex", command)
    ]
    done = dwarfgpu("debug", "-batch", "-nx", *steps, "--args", built("spirv"), in_spirv("-O0"), "-cl-opt-disable")
    for text in ("neighbour (cells=local#0x", "at=15) at ", "$1 = {-3000, -2000}", "$2 = (int *) local#0xffffffff"):
        assert text in joined(done.stdout), done.stdout


ANSWERS = """\
build 0
attributes reqd_work_group_size(4,2,1) vec_type_hint(uchar2)
sampler -41
image -38
access -50
buffer -38
property -64
variables 100
binaries -33
flags -30
host -37
size -61
queue -35
device -30
formats 0 1
shared -61
none 0 -30
texel 7c00 fc00 7e00 7bff
texel 00ff ff00 0000 0000
texel 7fff 8001 0000 7fff
"""


DEVICE_INFO = {
    "cl_uint": """VENDOR_ID
        MAX_COMPUTE_UNITS MAX_WORK_ITEM_DIMENSIONS MAX_CLOCK_FREQUENCY ADDRESS_BITS MAX_READ_IMAGE_ARGS
        MAX_WRITE_IMAGE_ARGS MAX_READ_WRITE_IMAGE_ARGS MAX_SAMPLERS IMAGE_PITCH_ALIGNMENT IMAGE_BASE_ADDRESS_ALIGNMENT
        MAX_PIPE_ARGS PIPE_MAX_ACTIVE_RESERVATIONS PIPE_MAX_PACKET_SIZE MEM_BASE_ADDR_ALIGN MIN_DATA_TYPE_ALIGN_SIZE
        GLOBAL_MEM_CACHE_TYPE GLOBAL_MEM_CACHELINE_SIZE MAX_CONSTANT_ARGS LOCAL_MEM_TYPE QUEUE_ON_DEVICE_PREFERRED_SIZE
        QUEUE_ON_DEVICE_MAX_SIZE MAX_ON_DEVICE_QUEUES MAX_ON_DEVICE_EVENTS NUMERIC_VERSION PARTITION_MAX_SUB_DEVICES
        REFERENCE_COUNT PREFERRED_PLATFORM_ATOMIC_ALIGNMENT PREFERRED_GLOBAL_ATOMIC_ALIGNMENT MAX_NUM_SUB_GROUPS
        PREFERRED_LOCAL_ATOMIC_ALIGNMENT IMAGE_SUPPORT ERROR_CORRECTION_SUPPORT HOST_UNIFIED_MEMORY ENDIAN_LITTLE
        AVAILABLE COMPILER_AVAILABLE LINKER_AVAILABLE PREFERRED_INTEROP_USER_SYNC SUB_GROUP_INDEPENDENT_FORWARD_PROGRESS
        NON_UNIFORM_WORK_GROUP_SUPPORT WORK_GROUP_COLLECTIVE_FUNCTIONS_SUPPORT GENERIC_ADDRESS_SPACE_SUPPORT
        PIPE_SUPPORT PREFERRED_VECTOR_WIDTH_CHAR PREFERRED_VECTOR_WIDTH_SHORT PREFERRED_VECTOR_WIDTH_INT
        PREFERRED_VECTOR_WIDTH_LONG PREFERRED_VECTOR_WIDTH_FLOAT PREFERRED_VECTOR_WIDTH_DOUBLE
        PREFERRED_VECTOR_WIDTH_HALF NATIVE_VECTOR_WIDTH_CHAR NATIVE_VECTOR_WIDTH_SHORT NATIVE_VECTOR_WIDTH_INT
        NATIVE_VECTOR_WIDTH_LONG NATIVE_VECTOR_WIDTH_FLOAT NATIVE_VECTOR_WIDTH_DOUBLE NATIVE_VECTOR_WIDTH_HALF""",
    "cl_ulong": """TYPE MAX_WORK_GROUP_SIZE MAX_MEM_ALLOC_SIZE IMAGE2D_MAX_WIDTH IMAGE2D_MAX_HEIGHT IMAGE3D_MAX_WIDTH
        IMAGE3D_MAX_HEIGHT IMAGE3D_MAX_DEPTH IMAGE_MAX_BUFFER_SIZE IMAGE_MAX_ARRAY_SIZE MAX_PARAMETER_SIZE
        SINGLE_FP_CONFIG DOUBLE_FP_CONFIG HALF_FP_CONFIG GLOBAL_MEM_CACHE_SIZE GLOBAL_MEM_SIZE MAX_CONSTANT_BUFFER_SIZE
        MAX_GLOBAL_VARIABLE_SIZE GLOBAL_VARIABLE_PREFERRED_TOTAL_SIZE LOCAL_MEM_SIZE PROFILING_TIMER_RESOLUTION
        EXECUTION_CAPABILITIES QUEUE_PROPERTIES QUEUE_ON_HOST_PROPERTIES QUEUE_ON_DEVICE_PROPERTIES PRINTF_BUFFER_SIZE
        PARENT_DEVICE PARTITION_AFFINITY_DOMAIN SVM_CAPABILITIES ATOMIC_MEMORY_CAPABILITIES ATOMIC_FENCE_CAPABILITIES
        DEVICE_ENQUEUE_CAPABILITIES PREFERRED_WORK_GROUP_SIZE_MULTIPLE""",
    "size_t[]": "MAX_WORK_ITEM_SIZES PARTITION_PROPERTIES PARTITION_TYPE",
    "char[]": """IL_VERSION BUILT_IN_KERNELS NAME VENDOR PROFILE VERSION OPENCL_C_VERSION EXTENSIONS
        LATEST_CONFORMANCE_VERSION_PASSED""",
    "cl_name_version[]": """ILS_WITH_VERSION BUILT_IN_KERNELS_WITH_VERSION OPENCL_C_ALL_VERSIONS OPENCL_C_FEATURES
        EXTENSIONS_WITH_VERSION""",
}
"""The parameters of devices by the types of their values; those of 8 bytes are together (OpenCL API 3.0, Table 5)."""
SIZES = {"cl_uint": 4, "cl_ulong": 8, "size_t[]": 8, "char[]": 1, "cl_name_version[]": 68}
OF_PLATFORM = {"PLATFORM"}


def test_each_parameter_of_a_device_has_its_type() -> None:
    if not HEADER.exists():
        pytest.skip("opencl-headers is not installed")
    text = HEADER.with_name("cl.h").read_text()
    found = re.findall(r"define CL_DEVICE_(\w+) +(0x10[0-7]\w)\b", text)
    numbers = {name: int(number, 16) for name, number in found} | {"HALF_FP_CONFIG": 0x1033}
    types = {name: kind for kind, names in DEVICE_INFO.items() for name in names.split()}
    assert {*types} | OF_PLATFORM >= {*numbers}
    for name, kind in types.items():
        answer = DEVICE_ANSWERS[numbers[name]]
        is_array = kind.endswith("[]")
        assert len(answer) % SIZES[kind] == 0 if is_array else len(answer) == SIZES[kind], name
        assert kind != "char[]" or answer.endswith(b"\0"), name


@pytest.mark.parametrize("processor", ["gfx1100", "gfx90a"])
def test_features_are_those_that_the_compiler_has(require_tool: Callable[[str], str], processor: str) -> None:
    """OpenCL C 3.0, 6.2.1: a macro is defined exactly for each feature that CL_DEVICE_OPENCL_C_FEATURES names."""
    words = [require_tool("clang-22"), "-x", "cl", "-cl-std=CL3.0", "-nogpulib", "--target=amdgcn-amd-amdhsa"]
    words += [f"-mcpu={processor}", "-gdwarf-5", *USUAL, "-E", "-dM", "/dev/null"]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert {*re.findall(r"define (__opencl_c_\w+)", done.stdout)} == {*FEATURES}


def test_a_program_that_is_built_twice(built: Callable[[str], Path]) -> None:
    """Kernels of the second build execute its code, which has the name of the first."""
    done = dwarfgpu("exec", built("rebuilt"))
    assert (done.stdout, done.stderr) == ("11\n22\n", "2 launches, 1 kernel, no error\n")


@pytest.mark.slow
def test_answers(built: Callable[[str], Path]) -> None:
    """OpenCL API 3.0: the errors of clSetKernelArg, clCreateContext, clCreateProgramWithBinary and others."""
    assert dwarfgpu("exec", built("answers")).stdout == ANSWERS


def test_programs_are_compiled_again_for_another_library(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    program = code.ClCode(origin=None, context=Mock(), source="kernel void k() {}", builds={})
    keys = set()
    for text in ("one", "two"):
        (tmp_path / "functions.cl").write_text(text)
        monkeypatch.setattr(sources, "_FOLDER", tmp_path)
        sources.library_digest.cache_clear()
        keys.add(code._key(program, "gfx1100", code.BuildOptions((), "CL1.2", "1"), ()))
    sources.library_digest.cache_clear()
    assert len(keys) == 2


def test_code_of_spirv_is_kept_by_the_program_and_its_constants() -> None:
    programs = [
        code.ClCode(origin=None, context=Mock(), il=il, constants=constants, builds={})
        for il in (b"one", b"two") for constants in ({}, {7: b"\1"}, {7: b"\2"})
    ]  # fmt: skip
    options = code.BuildOptions((), "CL3.0", "1")
    assert len({code._key(program, "gfx1100", options, ()) for program in programs}) == 6


def test_programs_of_one_source_have_one_number() -> None:
    """Their code is kept by it, since messages name their file by it."""
    assert [OpenClProgram.number_of(program, text) for program in [Mock(sources={})] for text in "abab"] == [1, 2, 1, 2]


@pytest.mark.parametrize(
    "standard, grid, group",
    [("CL1.2", [1249], (1,)), ("CL3.0", [1249], (256,)), ("CL3.0", [96, 7], (48, 4)), ("CL3.0", [1009, 1249], (64, 4))],
)
def test_groups_that_nobody_has_chosen(
    monkeypatch: pytest.MonkeyPatch, standard: str, grid: list[int], group: tuple[int, ...]
) -> None:
    """OpenCL API 3.0, clEnqueueNDRangeKernel: the work-groups of programs of OpenCL C 2.0 and later may be uneven."""
    monkeypatch.setattr(kernels, "metadata_of", lambda _kernel: None)
    kernel = Mock(code=Mock(standard=standard, source="", builds={}))
    assert kernels._chosen(kernel, Mock(), grid) == group


@pytest.mark.slow
def test_nonsense(require_tool: Callable[[str], str], tmp_path: Path) -> None:
    """Each function with each kind of object, and NULL for all others, has an answer."""
    require_tool("gcc")
    names = tmp_path / "names"
    names.write_text(" ".join(row.name for row, _function in API.rows if row.name.startswith("cl")))
    script = f"{sys.executable} {PROGRAMS / 'nonsense.py'} $(cat $OCL_ICD_VENDORS/dwarfgpu.icd) {names}"
    done = dwarfgpu("exec", "sh", "-c", script)
    assert done.stdout == "ended\n"
    assert "Traceback" not in done.stderr


@pytest.mark.slow
def test_what_kernels_may_do_with_a_buffer(built: Callable[[str], Path]) -> None:
    done = dwarfgpu("exec", "--check=bounds", built("misuse"), "read-only")
    assert "write to a read-only buffer" in done.stderr
    assert "`out` from {out} (argument 0, 256 bytes) is read-only".format(**PLACES) in done.stderr
    assert dwarfgpu("exec", "--check=bounds", built("misuse"), "read-only", "mended").returncode == 0


@pytest.mark.slow
def test_a_program_that_waits_for_ever(built: Callable[[str], Path]) -> None:
    done = dwarfgpu("exec", built("misuse"), "endless")
    text = (
        "all threads wait for `user` from {user}, whose status nothing sets: the program is ended at {finish} in main"
    )
    assert text.format(**PLACES) in joined(done.stderr)
    assert done.returncode == 1


@pytest.mark.slow
def test_a_lazy_program(built: Callable[[str], Path]) -> None:
    """Callbacks come also where nothing waits for their commands; kernels run before a map that is behind them."""
    assert dwarfgpu("exec", "--lazy", built("misuse"), "later").stderr == "2 launches, 1 kernel, no error\n"
    done = dwarfgpu("exec", "--lazy", built("opencl"))
    assert (done.stdout, done.returncode) == (RIGHT.format("gfx1100"), 0)
    assert done.stderr == "12 launches, 7 kernels, no error\n"


@pytest.mark.slow
def test_a_buffer_lives_as_long_as_commands_use_it(built: Callable[[str], Path]) -> None:
    done = dwarfgpu("exec", built("misuse"), "lifetime")
    assert (done.returncode, done.stderr) == (0, "1 launch, 1 kernel, no error\n")


@pytest.mark.parametrize("kind", ["PyDLL", "CDLL"])
def test_findings_name_the_lines_of_a_script(require_tool: Callable[[str], str], kind: str) -> None:
    require_tool("gcc")
    done = dwarfgpu("exec", sys.executable, PROGRAMS / "script.py", kind)
    assert done.stdout == "ended -5\n"  # after a fault nothing is done any more
    lines = [line.strip() for line in done.stderr.splitlines()]
    script = shlex.join([sys.executable, str(PROGRAMS / "script.py"), kind])
    hint = f"hint: `dwarfgpu exec --break-at-fault -- {script}` stops in the debugger where the first error was found"
    assert lines[-6:] == [
        "`cells` from script.py:33: 256 bytes", "allocated at script.py:33 in <module>",
        "launched at script.py:22 in executed", "called from script.py:36 in <module>", "1 launch, 1 kernel, 1 error",
        hint,
    ]  # fmt: skip
    assert "n = 1" in lines


def test_the_processor_of_a_debugged_program(require_tool: Callable[[str], str]) -> None:
    require_tool("gcc")
    script = sys.executable, PROGRAMS / "script.py", "CDLL"
    words = "-batch", "-nx", "-ex", "run", "-ex", "info machine", "--args", *script
    assert "gfx942, 1 wave" in dwarfgpu("debug", "--target", "gfx942", *words).stdout
    assert "MEMORY_VIOLATION" in dwarfgpu("exec", "--break-at-fault", "--target", "gfx942", *script).stdout
    refused = dwarfgpu("debug", "--target", "gfx942", "k.cl")
    assert "--target names the processor of a program that follows --args" in refused.stderr


@pytest.mark.slow
def test_a_program_under_the_debugger(built: Callable[[str], Path]) -> None:
    """Variables are there, since nothing is optimized; and of several programs each has its own code."""
    commands = ("break reversed", "run", "bt", "print n", "delete", "break opencl.c:262", "continue", "info launches")
    steps = [word for command in commands for word in ("-ex", command)]
    done = dwarfgpu("debug", "-batch", "-nx", *steps, "--args", built("opencl"))
    text = done.stdout
    for part in (
        "Wave 1 hit Breakpoint 1, with lanes [0-15]", "#0  reversed (out=0x7ea", "n=64)",
        "host #0  opencl.c:74 in buffers", "$1 = 64", "12  k         1     1",
    ):  # fmt: skip
        assert part in text, text + done.stderr


UNORDERED = {
    "queues": (
        "second writes bytes 0 to 255 of `cells` from commands.c:26, which first writes",
        "commands.c:41 in main",
    ),
    "barrier": ("second writes bytes 0 to 255 of `cells`", "the other at commands.c:30 in main"),
    "finish": ("second writes bytes 0 to 255 of `cells`", "no queue, event or barrier orders both"),
    "fill": ("clEnqueueFillBuffer writes bytes 32 to 95 of `cells`", "at commands.c:34 in main"),
    "read": ("clEnqueueReadBuffer reads bytes 0 to 255 of `cells`", "at commands.c:35 in main"),
    "writes": ("clEnqueueWriteBuffer writes bytes 60 to 63 of `cells`", "the other at commands.c:38 in main"),
}
"""What is said of each mistake of ``commands.c``."""


@pytest.mark.parametrize("mistake", UNORDERED)
@pytest.mark.sampled(8)
def test_commands_without_an_order(built: Callable[[str], Path], mistake: str) -> None:
    done = dwarfgpu("exec", "--check=race", built("commands"), mistake)
    for text in UNORDERED[mistake]:
        assert text in joined(done.stderr)
    assert done.returncode == 1
    ordered = dwarfgpu("exec", "--check=race", built("commands"), mistake, "ordered")
    assert re.fullmatch(r"\d launch(es)?, \d kernels?, no error \(race\)\n", ordered.stderr)
    assert ordered.returncode == 0


def test_the_table_of_functions_is_that_of_the_header() -> None:
    if not HEADER.exists():
        pytest.skip("opencl-headers is not installed")
    text = HEADER.read_text()
    start = text.index("typedef struct _cl_icd_dispatch")
    body = text[start : text.index("} cl_icd_dispatch;")]
    body = re.sub(r"#if defined\(_WIN32\).*?#else(.*?)#endif", r"\1", body, flags=re.DOTALL)
    wanted = re.findall(r"\b(cl[A-Z]\w+);", body)
    assert len(wanted) > 140
    assert re.findall(r"\(void \*\)(\w+)", tables().partition("dwarfgpu_functions")[0]) == wanted


def test_without_a_loader_the_library_stands_in(
    built: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from dwarfgpu.runtimes.opencl import library

    monkeypatch.setattr(library, "_LOADED", tmp_path / "none")
    library.install(tmp_path)
    assert (tmp_path / "libOpenCL.so.1").resolve() == (tmp_path / "libdwarfgpu-opencl.so").resolve()
    found = subprocess.run(
        ["ldd", built("misuse")], capture_output=True, text=True, check=True, env={"LD_LIBRARY_PATH": str(tmp_path)}
    )
    assert str(tmp_path / "libOpenCL.so.1") in found.stdout
    assert "no version information" not in found.stdout + found.stderr
