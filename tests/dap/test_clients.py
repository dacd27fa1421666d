"""The protocol as others have it: VS Code's test client, its declarations, and LLDB's server on a host program."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.builders.dap_client import KERNELS, LAUNCH, Client, ProgramClient, title
from tests.builders.dap_protocol import TABLE, read_typescript
from tests.builders.folders import ROOT

pytestmark = pytest.mark.slow
OLDEST_NODE = 20
PACKAGES = ("@vscode/debugadapter-testsupport@1.68.0", "@vscode/debugprotocol@1.68.0")


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory, require_tool: Callable[..., str]) -> Path:
    """The folder of packages of npm, which are installed for these tests."""
    folder = tmp_path_factory.mktemp("npm")
    command = [require_tool("npm"), "install", "--no-audit", "--no-fund", "--prefix", str(folder), *PACKAGES]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    return folder / "node_modules"


def test_the_table_of_the_protocol_is_that_of_its_declarations(packages: Path) -> None:
    declared = (packages / "@vscode/debugprotocol/lib/debugProtocol.d.ts").read_text()
    assert read_typescript(declared) == TABLE.read_text()


def test_sessions_with_the_client_of_vs_code(packages: Path, tmp_path: Path, require_tool: Callable[..., str]) -> None:
    adapter = tmp_path / "adapter.py"
    adapter.write_text("import sys\nfrom dwarfgpu.cli import main\nsys.exit(main(['dap']))\n")
    command = [require_tool("node"), "tests/dap/session.js", sys.executable, str(adapter), str(ROOT)]
    environment = {**os.environ, "NODE_PATH": str(packages), "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300, cwd=ROOT, env=environment)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "two sessions"


def test_the_extension_can_be_packaged(tmp_path: Path, require_tool: Callable[..., str]) -> None:
    version = subprocess.run([require_tool("node"), "--version"], capture_output=True, text=True, check=True).stdout
    if int(version[1:].partition(".")[0]) < OLDEST_NODE:
        pytest.skip(f"packages that vsce needs want Node.js {OLDEST_NODE}; this is {version.strip()}")
    target = tmp_path / "dwarfgpu.vsix"
    command = [require_tool("npm"), "run", "package", "--", "-o", str(target)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300, cwd=ROOT / "tools/vscode")
    assert done.returncode == 0, done.stderr
    assert target.stat().st_size > 1000


HOST = """\
int twice(int x) {
  return 2 * x;
}
int main(void) {
  int sum = 0;
  for (int i = 0; i < 5; i++)
    sum += twice(i);
  return sum;
}
"""
NOT_COMPARED = ("output", "module", "breakpoint", "capabilities", "memory", "loadedSource")
"""What LLDB tells of libraries, and of breakpoints that it sets when a library is loaded."""


def order(client: Client, launch: dict[str, Any], source: Path, line: int) -> list[str]:
    """Return the messages of a session, in their order."""
    client.ask("initialize", adapterID="any", linesStartAt1=True, columnsStartAt1=True, pathFormat="path")
    client.send("launch", **launch)
    client.event("initialized")
    client.ask("setBreakpoints", source={"path": str(source)}, breakpoints=[{"line": line}])
    client.ask("setExceptionBreakpoints", filters=[])
    client.ask("configurationDone")
    thread = client.event("stopped")["threadId"]
    client.ask("threads")
    frame = client.ask("stackTrace", threadId=thread, levels=20)["stackFrames"][0]
    for scope in client.ask("scopes", frameId=frame["id"])["scopes"][:1]:
        client.ask("variables", variablesReference=scope["variablesReference"])
    client.ask("setBreakpoints", source={"path": str(source)}, breakpoints=[])
    for command in ("next", "stepIn", "next"):
        client.ask(command, threadId=thread)
        client.event("stopped")
    client.ask("continue", threadId=thread)
    client.event("terminated")
    client.ask("disconnect")
    titles = [title(each) for each in client.log]
    assert titles.count("continued") == 4  # LLDB sends it before or after the answer, as it happens
    return [each for each in titles if each not in (*NOT_COMPARED, "continued")]


def test_the_order_of_messages_is_that_of_lldb(tmp_path: Path, require_tool: Callable[..., str]) -> None:
    source = tmp_path / "host.c"
    source.write_text(HOST)
    program = tmp_path / "host"
    subprocess.run([require_tool("gcc", "clang-22"), "-g", "-O0", str(source), "-o", str(program)], check=True)
    lldb = ProgramClient(require_tool("lldb-dap-22", "lldb-dap"), is_checked=False)
    theirs = order(lldb, {"program": str(program), "cwd": str(tmp_path)}, source, 7)
    lldb.close()
    own = ProgramClient(sys.executable, "-m", "dwarfgpu", "dap")
    assert order(own, LAUNCH, KERNELS, 86) == theirs
    own.close()
