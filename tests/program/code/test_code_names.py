import json
import re
import subprocess

import pytest

import dwarfgpu as dg
from dwarfgpu.audits.judge.located_variables import LocatedVariables
from dwarfgpu.demangle import short_names
from dwarfgpu.errors import DwarfGpuError, NotFound, UsageError
from dwarfgpu.program.code.code_lookup import parse_address, parse_addresses
from dwarfgpu.program.code.kernel_parameters import DescribedKernel
from dwarfgpu.program.code.scopes import functions_at
from dwarfgpu.program.frames.variable import STATIC
from dwarfgpu.states.program import open_program
from tests.builders.commands import run
from tests.builders.errors import raised
from tests.builders.parameters import for_each

HIP = "fixtures/amdgpu/hip-kernels.gfx90a.w64.O2.v5.co"
SYMBOL = "_Z9divergentPii"
CLASSES = "fixtures/host/classes.gcc.O0.v5.x86_64"


@for_each("symbol, names",
    ("_Z9divergentPii", ("divergent",)),
    ("_Z1kIjEvPT_", ("k<unsigned int>", "k")),
    ("_ZN2ns1kIiEEvv", ("ns::k<int>", "ns::k", "k<int>", "k")),
    ("_ZNK2ns1C1fEi", ("ns::C::f", "f")),
    ("_ZN12_GLOBAL__N_11fEv", ("(anonymous namespace)::f", "f")),
    ("_ZN1CcvPKcEv", ("C::operator char const*", "operator char const*")),
    ("_ZlsR1AS0_", ("operator<<",)),
    ("main", ("main",)))  # fmt: skip
def test_short_names_of_mangled_functions(symbol, names):
    assert short_names(symbol) == names


def file_of(name):
    return dg.open(name).file


def test_an_address_is_a_function_without_parameters_with_an_offset():
    file = file_of(HIP)
    assert parse_address(file, "divergent+0x40") == parse_address(file, f"{SYMBOL}+0x40")
    stripped = file_of("fixtures/amdgpu/launch.gfx90a.w64.O2.co")
    (kernel, *_) = stripped.kernels.kernels
    assert parse_address(stripped, kernel.name) == kernel.entry


def test_an_address_is_a_line_of_a_file():
    file = file_of(HIP)
    address = parse_address(file, "kernels.hip:112")
    assert address == parse_address(file, "hip/kernels.hip:112") == parse_address(file, "src/hip/kernels.hip:112")
    (named,) = parse_addresses(dg.open(HIP).file, "kernels.hip:112")
    assert named == address
    with pytest.raises(DwarfGpuError, match="has no code") as error:
        parse_address(file, "kernels.hip:1")
    assert error.value.hint == "the next line with code is 14"
    with pytest.raises(DwarfGpuError, match=r"has no lines of a source file 'other\.hip'"):
        parse_address(file, "other.hip:1")


def test_several_addresses_of_a_name_are_listed():
    file = file_of(CLASSES)
    with pytest.raises(UsageError, match=r"has 2 addresses: 0x[0-9a-f]+ \(\S+\), 0x[0-9a-f]+ \(\S+\)") as error:
        parse_address(file, "speak")
    assert error.value.kind == "ambiguous"


def test_a_line_that_is_inlined_at_several_places_has_several_addresses():
    """Each call is one, named with what it is inlined into; `info` shows all of them."""
    file = file_of(HIP)
    several = next(f"kernels.hip:{line}" for line in range(1, 200) if len(_addresses(file, f"kernels.hip:{line}")) > 1)
    addresses = parse_addresses(file, several)
    with pytest.raises(UsageError, match=re.escape(f"{several} has {len(addresses)} addresses: ")) as error:
        parse_address(file, several)
    for address, name in addresses.items():
        assert f"{address:#x} ({name})" in error.value.message
    done = run("info", HIP, "--pc", several, "--json")
    assert done.returncode == 0
    assert [each["address"] for each in json.loads(done.stdout)["addresses"]] == list(addresses)


def _addresses(file, text):
    try:
        return parse_addresses(file, text)
    except DwarfGpuError:
        return {}


@for_each("words",
    ("kernels", HIP, "{}", "--json"),     ("state", HIP, "{}", "--grid", "64", "--work-group", "64", "--json"),
    ("locals", HIP, "--pc", "{}+0x2c", "--json"),            ("cfi", HIP, "--function", "{}", "--json"),
    ("cfi", HIP, "--pc", "{}+8", "--json"),                  ("dump", HIP, "--pc", "{}+8", "--json"),
    ("info", HIP, "--pc", "{}+8", "--json"))  # fmt: skip
def test_kernels_are_named_without_parameters(words):
    named, symbol = (run(*(word.format(name) for word in words)) for name in ("divergent", SYMBOL))
    assert (named.returncode, named.stdout) == (0, symbol.stdout)


def test_kernels_are_launched_by_their_short_names():
    from tests.questions.harness import Run

    run = Run(HIP)
    assert "[Launched divergent(int*, int): 1 work-group, 1 wave]" in run("target launch divergent 64 64")
    assert "divergent" in str(run.fails("target launch divergant 64 64").hint)
    assert str(run.fails("target launch divergent 64 64 nothing=1")) == "divergent has no argument 'nothing'"


def test_a_name_that_is_nearly_right_names_the_kernel(tmp_path, require_tool):
    source, code = tmp_path / "k.hip", tmp_path / "k.co"
    source.write_text(
        "namespace a { template <typename T, int N> __attribute__((global)) void clampAll(T *p) { *p = N; }"
        "template __attribute__((global)) void clampAll<float, 4>(float *); }"
    )
    words = "-x hip --offload-arch=gfx1100 --cuda-device-only --no-gpu-bundle-output -nogpuinc -nogpulib"
    subprocess.run([require_tool("clang-22"), *words.split(), source, "-o", code], check=True, capture_output=True)
    file = file_of(str(code))
    for name in ("a::clampAll<float,4>", "clampAll<float,4>", "clampAll< float , 4 >"):
        assert file.kernels_named([name]) == file.kernels_named(["a::clampAll<float, 4>"])
    for name in ("clampAl", "a::clampal", "clampAll<float, 5>"):
        assert raised(NotFound, file.kernels_named, [name]).hint == "did you mean a::clampAll<float, 4>?"


def test_a_kernel_is_shown_by_its_name_in_the_source_and_then_by_its_symbol():
    for words in (("kernels", HIP, "divergent"), ("state", HIP, "divergent", "--grid", "64", "--work-group", "64")):
        assert run(*words).stdout.startswith("divergent(int*, int)  _Z9divergentPii\n")


def test_parameters_of_kernels_are_named_by_the_debugging_information():
    """HIP's metadata has neither names nor types."""
    file = file_of(HIP)
    (kernel,) = file.kernels_named(["divergent"])
    assert [(argument.name, argument.type_name) for argument in kernel.metadata.args[:2]] != [
        ("out", "int *"), ("limit", "int")]  # fmt: skip
    described = DescribedKernel(file, kernel)
    assert [(argument.name, argument.type_name) for argument in described.kernel.metadata.args[:2]] == [
        ("out", "int *"), ("limit", "int")]  # fmt: skip
    assert [(each.name, each.type, each.byte_size) for each in described.parameters] == [
        ("out", "int *", 8), ("limit", "int", 4)]  # fmt: skip


def test_arguments_are_given_by_the_names_of_the_source():
    words = ("state", HIP, "divergent", "--grid", "64", "--work-group", "64")
    done = run(*words, "--arg", "limit=5", "--arg", "out=0x1000")
    assert done.returncode == 0
    assert "limit" in done.stdout


def test_a_kernel_without_metadata_takes_its_segment_as_one_argument():
    words = ("state", "fixtures/asm/clrx.gfx801.co", "test1", "--grid", "64", "--work-group", "64")
    done = run(*words, "--arg", "bytes:0102030405060708")
    assert (done.returncode, done.stderr) == (0, "")
    assert "(segment)  0x807060504030201" in done.stdout
    done = run(*words, "--arg", "5")
    assert done.returncode == 2
    assert "as one argument, bytes:0a0b..., of up to 8 bytes" in done.stderr


# --- Scopes and variables that are remembered between their edges are those that each address has when asked alone ---


FILES = (
    "fixtures/amdgpu/hip-kernels.gfx1100.w32.O2.v5.co", "fixtures/amdgpu/cl-kernels.gfx90a.w64.O2.v5.co",
    "fixtures/asm/lane-pc.gfx90a.w64.co", "fixtures/host/optimized.gcc.O2.v5.x86_64")  # fmt: skip


def addresses_of(program, step):
    section = program.file.image.section(".text")
    return range(section.address, section.address + section.size, step)


@pytest.mark.parametrize("path", FILES)
def test_the_functions_at_each_address(path):
    program = open_program(path)
    code = program.state.loaded.codes[0]
    found = 0
    for address in addresses_of(program, 4):
        expected = functions_at(program.file, address)
        assert code.functions_at(code.in_program(address)) == expected, hex(address)
        found += len(expected)
    assert found


@pytest.mark.parametrize("path", FILES)
def test_the_variables_with_a_location_at_each_address(path):
    program = open_program(path)
    located = LocatedVariables()
    count = 0
    for address in addresses_of(program, 8):
        for frame in program.at(address):
            here = {each.die for each in located.at(frame)}
            for variable in frame.variables():
                if variable.kind != STATIC:
                    has_location = bool(variable.expressions_at(frame.place_in_file))
                    assert (variable.die in here) == has_location, (hex(address), variable.name)
                    count += variable.die in here
    assert count
