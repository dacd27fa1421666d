import pytest

from dwarfgpu.audits.judge.judgement import Judge
from dwarfgpu.execution.control.running import Running
from dwarfgpu.execution.launch.launch import launch, machine_for
from dwarfgpu.states.program import open_program
from tests.builders.judged_calls import Assembler


@pytest.fixture
def tools(require_tool):
    return require_tool("llvm-mc-22"), require_tool("ld.lld-22")


@pytest.fixture
def assembler(tools, tmp_path):
    """``assembler(processor)`` makes code objects for a processor."""
    return lambda processor: Assembler(processor, tools, tmp_path)


@pytest.fixture(scope="session")
def judged():
    """``judged(path, kernel, ...)`` is the judgement of a kernel."""

    def judge(path, kernel, *, grid=96, work_group=96, args=(), limit=None, repair="auto", **options):
        program = open_program(path, repair=repair)
        machine = machine_for(program.file, kernel)
        launched = launch(
            machine, program.file, kernel, grid=(grid,), work_group=(work_group,), args=list(args), **options
        )
        running = Running(launched)
        running.program = program
        return Judge(running).run(limit)

    return judge
