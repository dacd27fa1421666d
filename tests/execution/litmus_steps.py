"""What each step of each litmus test is for: the forbidden result comes out without it, or the reason why it does not.

`judged` takes a step away and asks the graph of states (`litmus_graph`). Where the graph reaches the forbidden result,
the running machine follows its way (`litmus_directed`), and `seed_of` looks for a seed with which it comes by chance.
`main` prints tests/golden/litmus-steps.txt.
"""

import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from dwarfgpu.audits.memory_model.checker import MemoryCheck
from dwarfgpu.immutable import frozen
from dwarfgpu.isa.decoder import decoder
from dwarfgpu.program.code.code_object import opened
from tests.execution.litmus import TARGETS, Litmus, Step, every_litmus, steps
from tests.execution.litmus_directed import follows
from tests.execution.litmus_graph import Code, can_show, threads_of, traced

SEEDS, INSTANCES = 2, 60
SHOWS, REACHED = "shows", "reachable"
IDLE, LAST, IMPLIED, DELAY, IN_ORDER, REDUNDANT = "idle", "last", "implied", "delay", "in order", "redundant"
REASONS = {
    SHOWS: "the running machine has the forbidden result, on a way of the graph; the number is a seed that has it, too",
    REACHED: "only the graph of states reaches the forbidden result: in the machine a load passes all caches at once",
    IDLE: "no access to x or y is concerned: it waits for arguments or addresses, or invalidates what nobody reads",
    LAST: "nothing that it could change follows in its thread: no access to x or y, or, for an invalidate, no load",
    IMPLIED: "another step does it as well: without both the graph reaches the forbidden result, without either not",
    DELAY: "without it an access to the flag is later, or reads older, which delays the message: no order is lost",
    REDUNDANT: "for four threads: the graph reaches no forbidden result without it, nor without it and one more step",
    IN_ORDER: "the hardware orders it: in one cache of the work-group, in LDS, or for one word"}  # fmt: skip


@frozen
class Verdict:
    """What a step is for."""

    step: Step
    kind: str
    other: str = ""
    """The step that does it as well."""


def judged(litmus: Litmus, path: Path) -> tuple[Verdict, ...]:
    """Return what each step of a test is for; the seeds are not looked for."""
    code = traced(litmus, path)
    whole = threads_of(litmus, code)
    assert not can_show(litmus, code), litmus.label
    rows = list(steps(path, litmus.target))
    alone = {number: can_show(litmus, code, {row.offset: row.data}) for number, row in enumerate(rows)}
    verdicts = []
    for number, step in enumerate(rows):
        changed = {step.offset: step.data}
        if alone[number]:
            verdicts.append(Verdict(step, SHOWS))
        elif threads_of(litmus, code, changed) == whole:
            verdicts.append(Verdict(step, IDLE))
        elif _is_last(litmus, code, step):
            verdicts.append(Verdict(step, LAST))
        else:
            others = [row for place, row in enumerate(rows) if not alone[place] and row.offset != step.offset]
            other = next((row.text for row in others if can_show(litmus, code, {**changed, row.offset: row.data})), "")
            alone_it = REDUNDANT if is_large(litmus) else DELAY if step.kind == "bit" else IN_ORDER
            verdicts.append(Verdict(step, IMPLIED if other else alone_it, other))
    return tuple(verdicts)


def is_large(litmus: Litmus) -> bool:
    """Return whether the graph of a test is large: four threads that can be on many compute units."""
    return litmus.threads > 2 and litmus.scope != "workgroup"


def _is_last(litmus: Litmus, code: Code, step: Step) -> bool:
    """Return whether what follows a step in its thread is nothing that it could change: for an invalidate, no load."""
    for rows in code:
        places = [place for place, row in enumerate(rows) if row.offset == step.offset]
        for row in rows[places[0] + 1 :] if places else ():
            is_load = not row.is_local and "store" not in row.instruction.name
            if row.word is not None and (is_load or step.kind != "invalidate"):
                return False
    return step.kind != "bit"


def uses_a_value_too_early(path: Path) -> bool:
    """Return whether code uses what is not loaded yet, so that its results say nothing."""
    findings = MemoryCheck(opened(str(path)), from_source=False).findings()
    return any(finding.rule.name == "order-value-in-flight" for finding in findings)


def without_step(litmus: Litmus, path: Path, step: Step) -> Path | None:
    """Write the file of a test without a step; nothing if its results would not be what it loads.

    A wait that also keeps a register from use too early is not left out, but changes places with the next access.
    """
    changed = step.without(path)
    if step.kind != "wait" or not uses_a_value_too_early(changed):
        return changed
    for data in later(path.read_bytes(), step, litmus.target):
        changed.write_bytes(data)
        if not uses_a_value_too_early(changed):
            return changed
    changed.unlink()
    return None


def later(data: bytes, step: Step, target: str) -> Iterator[bytes]:
    """Yield files in which a wait comes behind an access that follows it.

    The wait goes behind the next access; or that access comes before the wait; or the wait goes, with the next access,
    which keeps the result of the test, behind the one after it.
    """
    decode_at = decoder(target, TARGETS[target]).decode
    wait, end = step.offset, step.offset + len(step.data)
    first = end
    accesses = []
    while len(accesses) < 2:
        instruction = decode_at(data, end)
        begin, end = end, end + instruction.size
        if instruction.name.startswith(("global_load", "global_store", "flat_", "ds_")):
            accesses.append((begin, end))
        if instruction.branch is not None or instruction.name == "s_endpgm":
            break
    if accesses:
        begin, end = accesses[0]
        yield data[:wait] + data[first:end] + data[wait:first] + data[end:]
        yield data[:wait] + data[begin:end] + data[wait:begin] + data[end:]
    if len(accesses) > 1:
        last = accesses[1][1]
        yield data[:wait] + data[first:begin] + data[end:last] + data[wait:first] + data[begin:end] + data[last:]


def seed_of(litmus: Litmus, changed: Path) -> int | None:
    """Return the first seed with which the machine shows the forbidden result by chance."""
    return next((seed for seed in range(SEEDS) if shows_with(litmus, changed, seed)), None)


def shown(litmus: Litmus, path: Path, step: Step) -> str:
    """Return what the machine shows without a step: nothing, or with the first seed by which chance does it, too."""
    changed = without_step(litmus, path, step)
    if changed is None:
        return REACHED
    try:
        if not follows(litmus, changed):
            return REACHED
        seed = seed_of(litmus, changed)
        return SHOWS if seed is None else f"{SHOWS} ({seed})"
    finally:
        changed.unlink()


def shows_with(litmus: Litmus, path: Path, seed: int) -> bool:
    """Return whether a forbidden result comes out with a seed."""
    return any(map(litmus.is_forbidden, litmus.outcomes(path, seed, INSTANCES * litmus.lanes)))


def lines(litmus: Litmus, verdicts: tuple[Verdict, ...], words: dict[int, str]) -> Iterator[str]:
    """Yield the lines about a test, with what the machine shows."""
    yield f"{litmus.label}"
    for number, verdict in enumerate(verdicts):
        if verdict.kind in (IDLE, LAST):
            continue
        kind = words.get(number, REACHED) if verdict.kind == SHOWS else verdict.kind
        yield f"  {verdict.step.text}: {kind}" + (f" ({verdict.other})" if verdict.other else "")
    counts = Counter(verdict.kind for verdict in verdicts)
    yield f"  {counts[IDLE]} {IDLE}, {counts[LAST]} {LAST}"


def head() -> str:
    """Return the head of the golden text."""
    reasons = "\n".join(f"# {kind}: {text}" for kind, text in REASONS.items())
    return HEAD.format(reasons=reasons, tests=INSTANCES, seeds=SEEDS)


HEAD = """# Written by `python3 -m tests.execution.litmus_steps --run`; do not edit.
#
# The litmus tests of the suite, built with clang 22 for eight processors: each wait, write-back, invalidate and cache
# bit of their code, and what happens without it. A name gives the processor, the execution mode, the test, the scope,
# and where x and y are. docs/memory-model.md explains the model.
#
{reasons}
#
# Idle and last steps are only counted. For each other step whose absence allows the forbidden result, the machine ran
# once as the graph of states says, and then {tests} tests by chance with each of at most {seeds} seeds. With all steps
# no test reaches the forbidden result, wherever the threads are (for IRIW: at the places that the graph follows).
"""


def main() -> None:
    """Judge all steps of the tests whose names have one of some words, and print it; with ``--run`` run them, too."""
    import sys

    words = [word for word in sys.argv[1:] if word != "--run"]
    if not words:
        print(head())
    with tempfile.TemporaryDirectory() as folder:
        for litmus in every_litmus():
            if words and not any(word in litmus.label for word in words):
                continue
            path = litmus.build(Path(folder))
            verdicts = judged(litmus, path)
            words_of = {
                number: shown(litmus, path, verdict.step)
                for number, verdict in enumerate(verdicts)
                if verdict.kind == SHOWS and "--run" in sys.argv
            }
            print("\n".join(lines(litmus, verdicts, words_of)), flush=True)


if __name__ == "__main__":
    main()
