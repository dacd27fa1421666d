import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.builders.commands import run
from tests.builders.folders import ROOT

FILE = "fixtures/asm/lane-pc.gfx90a.w64.co"
STATE = "dwarfgpu/examples/variables.json"
STOPPED = (FILE, "--state", STATE)


class Done:
    """What a run of the debugger wrote, and its status."""

    def __init__(self, *words: str | Path, stdin: str = "", **environment: str) -> None:
        home = environment.pop("home", "/dev/null")
        done = run("debug", *map(str, words), stdin=stdin.encode(), env={"XDG_CONFIG_HOME": home, **environment})
        self.out, self.err, self.status = done.stdout, done.stderr, done.returncode


class TestBatch:
    def test_commands_and_scripts_run_in_their_order_without_confirmations(self, tmp_path: Path) -> None:
        script = tmp_path / "a"
        script.write_text("echo two\\n\n")
        done = Done("-batch", "-ex", "echo one\\n", "-x", script, "-ex", "echo three\\n")
        assert (done.out, done.err, done.status) == ("one\ntwo\nthree\n", "", 0)
        script = tmp_path / "a"
        script.write_text("define say\necho 1\nend\ndefine say\necho 2\nend\nsay\nshow confirm\n")
        assert Done("-batch", "-x", script).out.startswith("2confirm  off\n")

    def test_a_script_ends_at_its_error_and_what_follows_it_runs(self, tmp_path: Path, require_tool) -> None:
        """As in GDB: `-ex` goes on after an error, a script does not."""
        script = tmp_path / "a"
        script.write_text("echo one\\n\nprint nosuch\necho two\\n\n")
        commands = ("-nx", "-batch", "-ex", "print nosuch", "-x", str(script), "-ex", "echo three\\n")
        ours = Done(*STOPPED, *commands)
        assert (ours.out, ours.status) == ("one\nthree\n", 2)
        assert f"{script}:2: no variable `nosuch`" in ours.err
        gdb = subprocess.run([require_tool("gdb"), *commands], capture_output=True, text=True, check=False)
        assert gdb.stdout == ours.out

    def test_options_in_two_dashes_and_tracebacks(self, tmp_path: Path) -> None:
        (tmp_path / "a").write_text("echo two\\n\n")
        done = Done("--batch", "--nx", "--quiet", "--ex", "echo one\\n", "--command", tmp_path / "a")
        assert (done.out, done.err, done.status) == ("one\ntwo\n", "", 0)
        assert "unrecognized arguments: --json" in Done("--json", "-batch").err
        assert "Traceback" in Done("--debug", "-batch", "-ex", "lane 3").err
        assert "Traceback" not in Done("-batch", "-ex", "lane 3").err

    @pytest.mark.slow
    def test_closed_pipes_and_full_disks_end_it_in_one_line(self) -> None:
        command = f"{sys.executable} -m dwarfgpu debug -batch -ex 'help' -ex 'show' -ex 'help info' | head -1"
        done = subprocess.run(command, shell=True, cwd=ROOT, capture_output=True, text=True, check=False)
        assert (done.stdout, done.stderr) == ("Files and machines:\n", "")
        command = f"{sys.executable} -u -m dwarfgpu debug -batch -ex help > /dev/full"
        done = subprocess.run(command, shell=True, cwd=ROOT, capture_output=True, text=True, check=False)
        assert done.stderr == "dwarfgpu: error: output cannot be written: No space left on device\n"
        assert done.returncode

    @pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-"])
    @pytest.mark.sampled(6)
    def test_streams_may_be_closed(self, closed: str, tmp_path: Path) -> None:
        command = f"{sys.executable} -m dwarfgpu debug -ex 'pipe echo x | cat > {tmp_path}/x' {closed}"
        done = subprocess.run(command, shell=True, cwd=ROOT, input="", capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, "")
        assert (tmp_path / "x").read_text() == "x"

    def test_interrupting_it_ends_it(self, tmp_path: Path) -> None:
        (tmp_path / "a.py").write_text("import os\nos.write(1, b'%d\\n' % os.getpid())\nwhile True: pass\n")
        words = [sys.executable, "-u", "-m", "dwarfgpu", "debug", *STOPPED, "-batch", "-x", str(tmp_path / "a.py")]
        with subprocess.Popen(words, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as child:
            try:
                assert child.stdout is not None
                assert int(child.stdout.readline()) == child.pid
                child.send_signal(signal.SIGINT)
                assert child.communicate(timeout=60) == ("", "dwarfgpu: interrupted\n")
            finally:
                child.kill()
        assert child.returncode == 130


class TestInit:
    @pytest.fixture
    def home(self, tmp_path: Path) -> str:
        (tmp_path / "dwarfgpu").mkdir()
        (tmp_path / "dwarfgpu" / "init").write_text("define greet\necho hi\\n\nend\nset confirm off\n")
        return str(tmp_path)

    def test_the_init_file_is_run_and_keeps_nobody_from_working(self, home: str, tmp_path: Path) -> None:
        assert Done("-batch", "-ex", "greet", home=home).out == "hi\n"
        assert "no command `greet`" in Done("-nx", "-batch", "-ex", "greet", home=home).err
        (tmp_path / "dwarfgpu" / "init").write_text("pritn\n")
        done = Done("-batch", "-ex", "echo on\\n", home=home)
        assert (done.out, done.status) == ("on\n", 0)
        assert done.err.startswith(f"dwarfgpu: error: {home}/dwarfgpu/init:1: there is no command `pritn`\n")


class TestLines:
    def test_lines_of_standard_input_may_be_any_bytes_up_to_quit(self) -> None:
        done = Done(*STOPPED, stdin="lane 5\n\necho a\\\nb\\n\ndefine say\necho $arg0\\n\nend\nsay x\n")
        assert done.out.splitlines()[-2:] == ["ab", "x"]
        assert (done.err, done.status) == ("", 0)
        done = Done(stdin="pritn\necho on\\n\n")
        assert (done.out, done.status) == ("on\n", 2)
        assert Done(stdin="quit 3\necho no\\n\n").status == 3
        done = subprocess.run(
            [sys.executable, "-m", "dwarfgpu", "debug"], cwd=ROOT, input=b"echo \xff\\n\n\x00\n", capture_output=True,
            check=False)  # fmt: skip
        assert done.returncode == 2
        assert b"Traceback" not in done.stderr
