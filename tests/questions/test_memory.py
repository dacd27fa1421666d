"""``x``: memory of a lane, in every address space; test_data_gdb compares its formats with gdb."""

from tests.builders.parameters import for_each
from tests.questions.harness import KERNEL, Run


@for_each(
    "line, text",
    ("x/4dw slots", "private_lane#0x10:\t0\t1\t2\t3\n"),
    ("x/4dw &slots", "private_lane#0x10:\t0\t1\t2\t3\n"),
    ("x/2xw private_lane#0x14", "private_lane#0x14:\t0x00000001\t0x00000002\n"),
    ("x/2x private_lane#0x14", "private_lane#0x14:\t0x00000001\t0x00000002\n"),
    ("x/xg slots", "private_lane#0x10:\t0x0000000100000000\n"),
    ("x/3xb &slots[3]", "private_lane#0x1c:\t0x03\t0x00\t0x00\n"),
    ("x/2th &slots[1]", "private_lane#0x14:\t0000000000000001\t0000000000000000\n"),
    ("x/2ow &slots[1]", "private_lane#0x14:\t01\t02\n"),
    ("x/cb &slots[1]", "private_lane#0x14:\t1 '\\001'\n"),
    ("x/fw &slots[1]", "private_lane#0x14:\t1.40129846e-45\n"),
    ("x/-2dw &slots[3]", "private_lane#0x14:\t1\t2\n"),
    ("x/0x slots", ""),
)
def test_formats_and_sizes(run, line, text):
    assert run(line) == text


def test_it_is_the_memory_of_the_lane_and_goes_on_where_it_was(run):
    run("lane 2")
    assert run("x/2dw private_lane#0x10") == "private_lane#0x10:\t20\t21\n"
    run("lane 0")
    assert run("x/2dw private_lane#0x10") == "private_lane#0x10:\t0\t1\n"
    assert run("x/2dh slots", "x", "x &slots[2]") == (
        "private_lane#0x10:\t0\t0\nprivate_lane#0x14:\t1\t0\nprivate_lane#0x18:\t2\n"
    )
    assert run("x/2dw slots", "") == "private_lane#0x10:\t0\t1\nprivate_lane#0x18:\t2\t3\n"
    run("x/2dw &slots[1]")
    assert run("print $_", "print $__", "print *$_") == ("$1 = (int32_t *) private_lane#0x18\n$2 = 2\n$3 = 2\n")
    assert run("whatis $__") == "type = int32_t\n"


def test_what_can_be_read_is_shown_before_the_error(run):
    run.written.clear()
    error = run.fails("x/8dw &slots[2]")
    assert "".join(run.written) == "private_lane#0x18:\t2\t3\n"
    assert str(error) == "Cannot access memory at address private_lane#0x20"
    assert run("print $__") == "$1 = 3\n"
    assert str(run.fails("x/s local#0x10")) == "Cannot access memory at address local#0x10"
    assert str(run.fails("x 0x10")) == "Cannot access memory at address 0x10"


def test_instructions(run, require_tool):
    require_tool("llvm-objdump-22", "llvm-objdump")
    lines = run("x/2i $pc").splitlines()
    assert lines[0].startswith("=> 0x7f0000001548 <X+72>:\ts_andn2_b64 exec, ")
    assert lines[1].startswith("   0x7f000000154c <X+76>:\tv_add_u32_e32 v2, ")
    assert run("x").splitlines()[0].startswith("   0x7f0000001550 <X+80>:\t")
    assert run("display/i $pc").splitlines() == ["1: x/i $pc", lines[0]]


def test_lines_fit_the_width():
    for width in (40, 80):
        run = Run(KERNEL, width=width)
        for line in ("x/9xw X", "x/9tw X", "x/9ub X", "x/5xg X", "x/3tg X", "x/9xb X", "x/6dw X"):
            lines = run(line).expandtabs().splitlines()
            assert all(len(each) <= width or len(each.split(":")[1].split()) == 1 for each in lines), (line, width)


def test_a_file_alone_has_its_sections():
    run = Run(KERNEL)
    assert run("x/2xb 0x480").startswith("0x480 <")
    assert "Cannot access memory at address 0x10" in str(run.fails("x/x 0x10"))
    assert "lane" in str(run.fails("x private_lane#0x10"))


def test_strings():
    run = Run("fixtures/host/classes.gcc.O0.v5.x86_64")
    section = next(each for each in run.debugger.opened.file.image.sections if each.name == ".rodata")
    offset = bytes(section.data).index(b"rex\0")
    address = section.address + offset
    assert run(f"x/s {address}").endswith(':\t"rex"\n')
    assert run("print (char) $__") == "$1 = 114 'r'\n"
    assert run("set print elements 2", f"x/s {address}", "x").splitlines() == [
        f'{address:#x}:\t"re"...',
        f'{address + 2:#x}:\t"x"',
    ]
    assert run("set print elements 200", f"x/-1s {address + 3}").endswith(':\t"rex"\n')
    assert run(f"x/sh {address}").split("\t")[1].startswith('u"')
