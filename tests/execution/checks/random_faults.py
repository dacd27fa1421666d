"""Random kernels in OpenCL C, half of them with one fault, as two tools that check runs see them."""

import random
import re
import subprocess
from pathlib import Path

from attrs import frozen

from dwarfgpu.execution.launch.launch import launch, machine_for

KERNELS_H = Path(__file__).parent.parent / "kernels.h"
IN_FILE = 20
RACE, INIT, BOUNDS, BARRIER = "race", "init", "bounds", "barrier"
HEADS = {"data race": RACE, "Uninitialized": INIT, "Controlflow depends": INIT, "Invalid read": BOUNDS,
         "Invalid write": BOUNDS, "divergence detected": BARRIER}  # fmt: skip
FOLLOWS = {RACE: {INIT}, BOUNDS: {INIT, RACE}, BARRIER: {RACE, INIT}}
"""What a fault may lead to: values of others that are not there yet, or never."""
HEADER = """#define ID ((int)get_local_id(0))
#define GID ((int)get_global_id(0))
#ifdef HOST
#define SYNC barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)
#else
#define SYNC barrier(0)
#endif
"""
FAR = "ID ^ 64", "(ID + 64) % 128", "127 - ID"
"""Places of lanes of other waves, of 32 and of 64 lanes."""
PHASES = {
    "exchanged": (RACE, "tile[ID] = x * @; [SYNC;|] x += tile[FAR]; SYNC;"),
    "exchanged_again": (RACE, "tile[ID] = x; SYNC; x ^= tile[FAR]; [SYNC;|] tile[ID] = x + @; SYNC;"),
    "in_global_memory": (RACE, "out[512 + GID] = x + @; [SYNC;|] x += out[512 + (GID ^ 64)]; SYNC;"),
    "one_for_all": (RACE, "[if (!GID)|] out[300] = x;"),
    "private_array": (INIT, "{ int own[8]; for (int n = [0|1]; n < 8; n++) own[n] = x + n; x ^= own[(x + @) & 7]; }"),
    "one_way": (INIT, "{ int y; if (in[GID] > [-1|200]) y = @; x += y; }"),
    "half_of_local": (INIT, "other[ID] = x; [other[ID + 128] = @;|] SYNC; x += other[255 - ID]; SYNC;"),
    "read_behind": (BOUNDS, "x += in[(GID + @) [& 511|+ 512]];"),
    "read_before": (BOUNDS, "x += in[(GID + @) [& 511|- 512]];"),
    "written_behind": (BOUNDS, "out[[512|1024] + GID] = x; SYNC;"),
    "some_lanes": (BARRIER, "if ([in[0] == 0|ID & 1]) SYNC;"),
    "some_waves": (BARRIER, "if (ID < [128|64]) SYNC;"),
    "branch": (None, "if (x & @) x = x * 3 + 1; else x >>= 1;"),
    "sums": (None, "for (int n = 0; n < @; n++) x += in[(x + n) & 511];"),
}
"""By name, the kind of the fault, and the code: ``[mended|faulty]``, ``@`` for a number, ``FAR`` for another place."""
EITHER = re.compile(r"\[((?:[^\[\]|]|\[[^\[\]|]*\])*)\|([^\[\]|]*)\]")


@frozen
class RandomKernel:
    """A kernel, and what it is meant to show."""

    name: str
    text: str
    fault: str | None
    kind: str | None


def kernel(name: str, chance: random.Random) -> RandomKernel:
    """Return a kernel of some phases, one of which may have its fault."""
    chosen = [chance.choice([*PHASES]) for _ in range(chance.randint(2, 5))]
    places = [place for place, phase in enumerate(chosen) if PHASES[phase][0]]
    faulty = chance.choice(places) if places and chance.random() < 0.5 else None
    lines = []
    for place, phase in enumerate(chosen):
        text = PHASES[phase][1].replace("@", str(chance.randint(1, 9))).replace("FAR", chance.choice(FAR))
        lines.append(EITHER.sub(r"\2" if place == faulty else r"\1", text))
    body = "\n  ".join(lines)
    start = "local int tile[128], other[256];\n  int x = in[GID];"
    text = f"kernel void {name}(global int *out, global int *in) {{\n  {start}\n  {body}\n  out[GID] = x;\n}}\n"
    phase = None if faulty is None else chosen[faulty]
    return RandomKernel(name, text, phase, None if phase is None else PHASES[phase][0])


def own_verdict(path: Path, name: str) -> set[str]:
    """Return the kinds of the errors that a checked run finds."""
    machine = machine_for(str(path), name)
    launch(machine, str(path), name, grid=256, work_group=128, args=["zeros(1024)", "arange(512)"], check="all")
    machine.run(limit=1_000_000)
    return {each.check for each in machine.device.memory.findings if each.is_error}


def other_verdict(oclgrind: str, folder: Path, each: RandomKernel, level: str) -> set[str]:
    """Return the same of Oclgrind.

    Its compiler gives a variable that is set in one way only the value of that way, so at -O0 it must not optimize.
    """
    source, name = folder / f"{each.name}.cl", each.name
    source.write_text(HEADER + each.text)
    sim = source.with_suffix(".sim")
    sim.write_text(f"{source}\n{name}\n256 1 1\n128 1 1\n<size=4096 fill=0 int>\n<size=2048 range=0:1:511 int>\n")
    words = [oclgrind, "--data-races", "--uninitialized", "--build-options"]
    words += ["-DHOST" + " -cl-opt-disable" * (level == "O0"), str(sim)]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=120)
    said = done.stdout + done.stderr
    return {kind for head, kind in HEADS.items() if head in said}


def differences(folder: Path, clang: str, oclgrind: str, seed: int, count: int, processor: str, level: str):
    """Yield each kernel with both verdicts where they differ."""
    chance = random.Random(seed)
    made = [kernel(f"k{number}", chance) for number in range(count)]
    source, path = folder / f"random{seed}.cl", folder / f"random{seed}.co"
    source.write_text(HEADER + "".join(each.text for each in made))
    words = [clang, "-x", "cl", "-cl-std=CL2.0", "-target", "amdgcn-amd-amdhsa", f"-mcpu={processor}", f"-{level}"]
    words += ["-g", "-w", "-nogpulib", "-include", str(KERNELS_H), str(source), "-o", str(path)]
    subprocess.run(words, check=True, capture_output=True)
    for each in made:
        ours, theirs = own_verdict(path, each.name), other_verdict(oclgrind, folder, each, level)
        ours, theirs = (found - FOLLOWS.get(each.kind, set()) for found in (ours, theirs))
        if ours != theirs:
            yield each, ours, theirs
