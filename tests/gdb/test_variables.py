"""Variables and registers inside GDB, live and from core files: what `dwarfgpu.gdb` gives is what GDB shows."""

import json
import subprocess
from collections import Counter

import pytest

import dwarfgpu as dg
from tests.gdb.running import INSIDE, run_gdb
from tests.program.frames.test_variables_gdb import CORPUS, DIFFERENCES, Answer, _plain, demangled, folded

BUILDS = [
    ("c", "gcc", "-O0 -gdwarf-5"),
    ("c", "gcc", "-O2 -gdwarf-4 -static"),
    ("c", "clang-22", "-O0 -gdwarf-4 -no-pie"),
    ("c", "clang-22", "-O2 -gdwarf-5"),
    ("cpp", "g++", "-O0 -gdwarf-4"),
    ("cpp", "clang++-22", "-O0 -gdwarf-5"),
]
LEAST = 500
"""So many variables are compared in each of the six builds, and more."""


def build(tools, folder, language, compiler, options):
    program = folder / "program"
    source = CORPUS / f"stops.{language}"
    command = [tools(compiler), "-g", "-w", *options.split(), "-o", str(program), str(source)]
    subprocess.run(command, check=True)
    return program


@pytest.mark.slow
@pytest.mark.parametrize("language, compiler, options", BUILDS, ids=[" ".join(each) for each in BUILDS])
def test_what_scripts_see_is_what_gdb_shows(tmp_path, require_tool, language, compiler, options):
    program = build(require_tool, tmp_path, language, compiler, options)
    symbols = dg.open(program).file.symbol_image.symbols()
    names = demangled(require_tool, {each.name for each in symbols if each.name[:2] == "_Z"})
    names["main"] = "main(int, char**)" if language == "cpp" else "main"
    (tmp_path / "names").write_text(json.dumps(names))
    variables = {"NAMES": "names", "OUT": "out", "LIMIT": "40", "CORES": "4"}
    text = run_gdb(
        require_tool, program=program, script=INSIDE / "compare_variables.py", folder=tmp_path, variables=variables
    )
    assert "@@compared@@" in text, text[-3000:]
    frames = json.loads((tmp_path / "out").read_text())
    compared: Counter[str] = Counter()
    wrong = []
    for frame in frames:
        wrong += compared_registers(frame, compared)
        wrong += compared_variables(frame, compared)
    assert not wrong, "\n".join(dict.fromkeys(wrong))
    assert compared["variables"] >= LEAST
    assert compared["core"] >= 40
    assert compared["registers"] >= 1000
    assert sum(compared[each.name] for each in DIFFERENCES) <= compared["variables"] // 10, compared


def compared_registers(frame, compared):
    theirs, ours = frame["function"]
    assert _plain(theirs) == _plain(ours)
    assert frame["pc"][0] == frame["pc"][1]
    for name, (expected, found) in frame["registers"].items():
        compared["registers"] += 1
        if expected != found:
            yield f"{ours}: {name}: gdb has {expected}, the library {found}"


def compared_variables(frame, compared):
    ours = {}
    count: Counter[str] = Counter()
    for name, *found in frame["ours"]:
        ours[name, count[name]] = Answer(*found)
        count[name] += 1
    count.clear()
    for name, text in frame["theirs"]:
        mine = ours.get((name, count[name]))
        count[name] += 1
        compared["variables"] += 1
        compared[frame["where"]] += 1
        if mine is not None and folded(mine.text) == folded(text):
            continue
        known = next((each for each in DIFFERENCES if each.applies(text, mine)), None)
        if known is None:
            yield f"{frame['function'][0]}: {name}: gdb has {text}, the library {mine}"
        else:
            compared[known.name] += 1
