"""Values of some round of an unrolled loop: those of another round than this one are found, and no others."""

from types import SimpleNamespace

from dwarfgpu.audits.judge.comparison import StatementComparison, StatementUses
from dwarfgpu.audits.judge.recorded_values import INTEGER, Leaf, PointerNames, RecordedValue
from dwarfgpu.audits.judge.statement_record import DeclarationKey, StatementHistory, StatementStop
from tests.builders.commands import run
from tests.builders.parameters import for_each

ITEM = ((1, 1, 1), (0, 0, 0))
LEAF = (Leaf("", INTEGER, 32, is_signed=True),)
INSTRUCTION = 4


def rounds_of(values):
    """Return for each round what the variables are in it."""
    return [dict(zip(values, row, strict=True)) for row in zip(*values.values(), strict=True)]


def stop(line, pc, values):
    """Return a stop of the work-item: the line, the address, and what the variables are there."""
    keys = {DeclarationKey(name, 1, True): [RecordedValue(LEAF, (value,))] for name, value in values.items()}
    return StatementStop(pc, "k.cl", line, 1, ("k",), "1:1:1:1", 1, {ITEM: 0}, (0,), keys)


def loop(**values):
    """Return the build with a loop of three lines."""
    made = StatementHistory(PointerNames(()))
    rounds = rounds_of(values)
    inside = [(line, INSTRUCTION * line, each) for each in rounds for line in (2, 3, 4)]
    for place in [(1, 0, rounds[0]), *inside, (5, 20, rounds[-1])]:
        made.add(stop(*place))
    return made


def unrolled(**values):
    """Return the build without the loop: the variables change at instructions at which no statement begins."""
    made = StatementHistory(PointerNames(()))
    rounds = rounds_of(values)
    for place in [(1, 0, rounds[0]), (2, INSTRUCTION, rounds[0]), (5, 100, rounds[-1])]:
        made.add(stop(*place))
    made.listed |= made.stops[0].values.keys()
    made.between[ITEM] = [(2, stop(2, INSTRUCTION * number, each)) for number, each in enumerate(rounds, 2)]
    return made


def messages_of(own, other):
    messages = []

    def add(subject, _pc, sighting):
        messages.extend([sighting.message] if subject.rule.name == "against-round" else [])

    sightings = SimpleNamespace(note=lambda *_each: None, add=add, of_part=lambda _part: ())
    StatementComparison(own, other, "other", StatementUses(lambda _file, _line: ";"), sightings).run()
    return messages


@for_each("values, there, messages",
    ((0, 1, 2, 3), (0, 1, 2, 3), []),
    ((0, 0, 2, 3), (0, 1, 2, 3), []),  # no instruction of a round is left
    ((0, 1, 0, 1), (0, 1, 0, 1), []),
    ((0, 3, 2, 3), (0, 1, 2, 3), ["r is 2 after it was 3, and other has them in another order"]),
    ((0, 1, 0, 1), (0, 0, 0, 1), ["r is 0 after it was 1, and other has them in another order"]),
    ids=str)  # fmt: skip
def test_values_come_in_the_order_of_the_rounds(values, there, messages):
    assert messages_of(unrolled(r=values), loop(r=there)) == messages


@for_each("r, s, messages",
    ((0, 1, 2, 3), (9, 7, 5, 3), []),
    ((0, 1, 3, 3), (9, 7, 5, 3), ["r becomes 3 and s 5 at once, and other never has both"]),
    ((0, 1, 1, 3), (9, 7, 5, 3), []),  # what is known of the variables has moved with different instructions
    ids=str)  # fmt: skip
def test_variables_that_change_together_are_of_one_round(r, s, messages):
    assert messages_of(unrolled(r=r, s=s), loop(r=(0, 1, 2, 3), s=(9, 7, 5, 3))) == messages


SOURCE = """kernel void k(global const int *in, global int *out)
{
    int i = get_global_id(0);
    int x = 0;
    for (int j = 0; j < 5; j++) {
        x += j * in[i + j];
        if (x > 500)
            break;
        int q = 10 - j;
        x -= q;
    }
    out[i] = x;
}
"""


def location_of_q(j):
    """Return how clang writes it: DW_OP_consts 10; consts j; minus."""
    return bytes([0x11, 10, 0x11, j, 0x1C])


def test_a_constant_of_another_round_is_found(tools, tmp_path):
    source, paths = tmp_path / "k.cl", {level: tmp_path / f"{level}.co" for level in ("O0", "O2")}
    source.write_text(SOURCE)
    for level, path in paths.items():
        assert run("compile", source, "--target", "gfx90a", f"-{level}", "-o", path).returncode == 0
    words = ("k", "--grid", "8", "--work-group", "8", "arange(64)", "zeros(16)", "--against", paths["O0"])
    assert "against-round" not in run("judge", paths["O2"], *words).stdout
    code = paths["O2"].read_bytes()
    paths["O2"].write_bytes(code.replace(location_of_q(1), location_of_q(3), 1))
    out = " ".join(run("judge", paths["O2"], *words).stdout.split())
    assert "q is 8 after it was 7, and O0.co has them in another order [A.4.1 (1)] (against-round)" in out
