"""A program of another machine: the library is built for aarch64, and the program runs in an emulator."""

import os
import subprocess
import sys

import pytest

from tests.builders.folders import ROOT
from tests.builders.forked_commands import forked

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="`exec` needs Linux")
KERNEL = "kernel void twice(global int *p) { p[get_global_id(0)] *= 2; }\n"
PROGRAM = """
#include <stdio.h>
#include <stddef.h>
int hipMalloc(void **, size_t), hipFree(void *), hipMemcpy(void *, const void *, size_t, int);
int hipModuleLoad(void **, const char *), hipModuleGetFunction(void **, void *, const char *);
int hipModuleLaunchKernel(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **,
                          void **);
int hipDeviceSynchronize(void);
int main(int count, char **words) {
  int host[64], result = 0;
  void *p, *module, *twice, *args[] = {&p};
  for (int i = 0; i < 64; ++i) host[i] = i;
  result |= hipMalloc(&p, sizeof host);
  result |= hipMemcpy(p, host, sizeof host, 1);
  result |= hipModuleLoad(&module, words[1]);
  result |= hipModuleGetFunction(&twice, module, "twice");
  result |= hipModuleLaunchKernel(twice, 1, 1, 1, 64 * (count - 1), 1, 1, 0, 0, args, 0);
  printf("%d then %d\\n", result, hipDeviceSynchronize());
  result = hipMemcpy(host, p, sizeof host, 2);
  printf("%d %d %d %d\\n", result, host[1], host[63], hipFree(p));
}
"""
NAMES = (
    "hipMalloc", "hipFree", "hipMemcpy", "hipModuleLoad", "hipModuleGetFunction", "hipModuleLaunchKernel",
    "hipDeviceSynchronize",
)  # fmt: skip


@pytest.fixture(scope="module")
def program(tmp_path_factory, require_tool):
    """Return what runs the program."""
    compiler, emulator = require_tool("aarch64-linux-gnu-gcc"), require_tool("qemu-aarch64")
    folder = tmp_path_factory.mktemp("aarch64")
    (folder / "bin").mkdir()
    (folder / "bin" / "cc").symlink_to(compiler)
    (folder / "k.cl").write_text(KERNEL)
    (folder / "app.c").write_text(PROGRAM)
    (folder / "none.c").write_text("".join(f"int {name}(void) {{ return 1; }}\n" for name in NAMES))
    library = "-shared", "-fPIC", "-Wl,-soname,libamdhip64.so.6", "-o", "libamdhip64.so", "none.c"
    for words in (library, ("-o", "app", "app.c", "-L.", "-lamdhip64")):
        subprocess.run([compiler, *words], cwd=folder, check=True)
    environment = {**os.environ, "PATH": f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}
    assert forked("compile", "k.cl", "-target", "gfx90a", "-o", "k.co", cwd=folder, env=environment).returncode == 0

    def run(*words):
        command = "exec", "--check", emulator, "-L", "/usr/aarch64-linux-gnu", "./app", *words
        done = forked(*command, cwd=folder, env=environment)
        return done.returncode, done.stdout, done.stderr

    return run


@pytest.mark.slow
def test_a_program_runs(program):
    status, out, err = program("k.co")
    assert (status, out) == (0, "0 then 0\n0 2 126 0\n"), err
    assert err == "1 launch, 1 kernel, no error (align, barrier, bounds, init, race, wait)\n"


@pytest.mark.slow
def test_a_wrong_launch_is_told(program):
    status, out, err = program("k.co", "more")
    assert (status, out.splitlines()[0]) == (1, "0 then 700"), err
    assert "0 to 252 bytes past the end of `p`, which has 256 bytes" in err
    assert "in all: lanes 0-63, work-items [64,0,0] to [127,0,0]" in err
