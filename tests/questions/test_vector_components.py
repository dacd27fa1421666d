"""Components of OpenCL vectors, by the names that OpenCL C 3.0, 6.3.7 gives them."""

import pytest

from tests.builders.commands import run
from tests.builders.parameters import for_each

SOURCE = """kernel void parts(global float4 *a, global float *b) {
  float4 v = a[get_global_id(0)];
  float3 t = v.xyz;
  uchar16 u = (uchar16)(0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15);
  b[get_global_id(0)] = v.x + t.z + u.sf;
}
"""


@pytest.fixture(scope="module")
def values(require_tool, tmp_path_factory):
    """Ask in lane 1, where v is {4, 5, 6, 7}."""
    require_tool("clang-22")
    source = tmp_path_factory.mktemp("parts") / "parts.cl"
    source.write_text(SOURCE)
    assert run("compile", source, "-o", source.with_suffix(".co")).returncode == 0

    def ask(*lines):
        steps = "break 5", "continue", "lane 1", *lines
        words = "parts", "--grid=32", "--work-group=32", "arange(128)", "zeros(32)", "-batch"
        return run("debug", source.with_suffix(".co"), *words, *(word for step in steps for word in ("-ex", step)))

    return ask


EXPECTED = {
    "v.x": "4", "v.s3": "7", "v.S3": "7", "v.b": "6", "v.xy": "{4, 5}", "v.wzyx": "{7, 6, 5, 4}",
    "v.rgba": "{4, 5, 6, 7}", "v.s0123": "{4, 5, 6, 7}", "v.xxy": "{4, 4, 5}", "v.lo": "{4, 5}", "v.hi": "{6, 7}",
    "v.even": "{4, 6}", "v.odd": "{5, 7}", "v.hi.y": "7", "t.hi": "{6, <optimized out>}", "t.lo": "{4, 5}",
    "u.sf": "15 '\\017'", "u.sFa": "{15, 10}", "a->y": "1", "a[1].wx": "{7, 4}", "(v + v).x": "8",
    "v.xy + t.yz": "{9, 11}", "(v + v)[1]": "10", "sizeof(v.xyz)": "12",
}  # fmt: skip


def test_components_have_their_values(values):
    out = values(*(f"print {text}" for text in EXPECTED)).stdout
    assert [line.partition(" = ")[2] for line in out.splitlines() if line.startswith("$")] == [*EXPECTED.values()]


def test_bytes_that_look_like_text_say_once_how_to_see_numbers(values):
    out = values("print u", "print b", "print (uchar *)b", "print (uchar *)b", "print/u *(uchar *)b@2").stdout
    assert out.count("hint: `print/u *(uchar *)b@16` shows the numbers\n") == out.count("hint: ") == 1
    assert out.endswith("\n$5 = {0, 0}\n")
    assert "hint: " not in values('print "text"', "print (char *)b").stdout


def test_a_local_of_a_kernel_in_its_wrapper_says_where_it_is(values):
    done = values("tbreak *parts", "run", "watch v")
    assert "it is in the body of parts, where `break parts` stops" in done.stderr


def test_one_component_can_be_written_and_watched(values):
    out = values("set var v.y = 99", "print v", "print *&v.y", "watch v.z").stdout
    assert "$1 = {4, 99, 6, 7}\n$2 = 99\n" in out
    assert "watchpoint 2: v.z" in out


@for_each("text", "v.q", "v.s4", "v.sx", "v.s", "v.xr", "t.w", "t.s3", "v.e")
def test_other_names_are_no_components(values, text):
    assert f"there is no member named {text[2:]}" in values(f"print {text}").stderr


HIP = """#include <hip/hip_runtime.h>
template <class T, unsigned N> struct HIP_vector_base { union { T data[4]; struct { T x, y, z, w; }; }; };
template <class T, unsigned N> struct HIP_vector_type : HIP_vector_base<T, N> {};
struct Hit { float4 at; float3 normal; float2 uv[2]; };
namespace own { struct float2 { float x, y; }; }

__global__ void k(const float4 *in, float4 *out, Hit hit) {
  float4 v = in[threadIdx.x];
  const float4 &same = v;
  HIP_vector_type<float, 4> of_rocm;
  of_rocm.x = 1; of_rocm.y = 2; of_rocm.z = 3; of_rocm.w = 4;
  own::float2 other = {5, 6};
  uchar2 bytes = {7, 8};
  out[0] = v;
}
"""


def test_vectors_of_hip_are_shown_as_those_of_opencl(require_tool, tmp_path):
    require_tool("clang-22")
    (source := tmp_path / "k.hip").write_text(HIP)
    hit = 'hit={"at":[1,2,3,4],"normal":[1,2,3],"uv":[[1,2],[3,4]]}'
    words = "k", "--grid=4", "--work-group=4", "in=zeros(16)", "out=zeros(16)", hit, "-batch"
    names = "hit", "v", "same", "of_rocm", "other", "bytes", "*in@2"
    steps = "break 14", "continue", "set var v.y = 2", *(f"print {name}" for name in names), "info locals", "print/r v"
    done = run("debug", str(source), *words, *(f"-ex={step}" for step in (*steps, "print -lane 0-1 v.y")))
    shown = ["{at = {1, 2, 3, 4}, normal = {1, 2, 3}, uv = {{1, 2}, {3, 4}}}", "{0, 2, 0, 0}", "{0, 2, 0, 0}",
             "{1, 2, 3, 4}", "{x = 5, y = 6}", "{7, 8}", "{{0, 0, 0, 0}, {0, 0, 0, 0}}"]  # fmt: skip
    lines = [line.partition(" = ")[2] for line in done.stdout.splitlines() if line.startswith("$")]
    assert [line.removeprefix("(const float4 &) ") for line in lines[:7]] == shown
    assert "\nv = {0, 2, 0, 0}\n" in done.stdout
    assert lines[7:] == ["{{{x = 0, y = 2, z = 0, w = 0}, dg = {0, 2, 0, 0}}}", "{[0]=2, [1]=0}"]
