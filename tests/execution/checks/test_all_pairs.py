"""Every pair of kernels on every target: the faults that are found with their lines, and the findings with a name."""

from collections import Counter

import pytest

from dwarfgpu.execution.checks import findings as f
from tests.execution.checks import test_bounds, test_checks, test_hip_pairs, test_undefined

races_built, bounds_built = test_checks.built, test_bounds.built
undefined_built, hip_built = test_undefined.built, test_hip_pairs.built
CHECK_OF = {
    f.DIVERGENT: "barrier",
    f.MISSED: "barrier",
    f.DIFFERENT: "barrier",
    f.READ_WRITE: "race",
    f.WRITE_WRITE: "race",
}
LEAST_FOUND = 0.95
LEAST_NAMED = {"O0": 0.9, "O1": 0.5, "O2": 0.5}


@pytest.fixture(scope="module")
def pairs(races_built, bounds_built, undefined_built, hip_built):
    """Each pair: its check, name, kind and lines, and what returns the findings of a build of it."""
    rows = [
        (CHECK_OF[kind], name, kind, test_checks.lines_of(name),
         lambda *build, name=name: test_checks.found(races_built(*build), name))
        for name, kind in test_checks.RACES.items()
    ]  # fmt: skip
    for check, names in test_bounds.KERNELS.items():
        rows += [
            (check, name, test_bounds.kind_of(name), {test_bounds.line_of(name)},
             lambda *build, check=check, name=name: test_bounds.found(bounds_built(check, *build), name, check))
            for name in names
        ]  # fmt: skip
    for language, lines in test_undefined.LINES.items():
        rows += [
            ("init", name, test_undefined.kind_of(name), {line},
             lambda *build, language=language, name=name: test_undefined.found(undefined_built(language, *build), name))
            for name, line in lines.items()
        ]  # fmt: skip
    for name, (kind, _variable) in test_hip_pairs.FOUND.items():
        check = CHECK_OF.get(kind) or ("align" if kind.startswith("misaligned") else "bounds")
        lines = {line + 1 for line in test_hip_pairs.lines_of(name)}
        rows.append((check, name, kind, lines, lambda *build, name=name: test_hip_pairs.found(hip_built(*build), name)))
    return rows


def lines_of(row):
    """The lines of the sides that say where the fault is; an unwritten value is read anywhere."""
    return {side.position.line for side in (row.sides[-1:] if row.check == "init" else row.sides)}


@pytest.mark.slow
@pytest.mark.parametrize("level", ["O0", "O1", "O2"])
def test_faults_are_found_and_named_on_every_target(pairs, level):
    count, right, told, named, missed = Counter(), Counter(), Counter(), Counter(), []
    for target in test_checks.TARGETS:
        for check, name, kind, lines, found in pairs:
            rows = [row for row in found(target, level) if row.severity == "error"]
            count[check] += 1
            if any(row.kind == kind and lines_of(row) <= lines for row in rows):
                right[check] += 1
            else:
                missed.append((target, check, name))
            rows = [row for row in rows if row.address is not None or row.register]
            told[check] += len(rows)
            named[check] += sum(row.variable is not None for row in rows)
            assert [row.kind for row in found(target, level, "-DMENDED")] == [], (target, check, name)
    for check in count:
        print(f"{level} {check:8} found {right[check]} of {count[check]}, named {named[check]} of {told[check]}")
    print(missed)
    assert right.total() >= LEAST_FOUND * count.total(), missed
    assert all(named[check] >= LEAST_NAMED[level] * told[check] for check in told), (named, told)
