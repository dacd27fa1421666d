"""Values that another build never has at the same time: one finding for each location that explains them."""

from types import SimpleNamespace

from dwarfgpu.audits.judge.comparison import RULES
from dwarfgpu.audits.judge.recorded_values import Leaf, PointerNames, RecordedValue
from dwarfgpu.audits.judge.sightings import Sighting, Sightings, Subject
from dwarfgpu.audits.judge.statement_record import DeclarationKey, StatementHistory, StatementStop
from dwarfgpu.audits.judge.values_apart import ValuesApart
from tests.builders.parameters import for_each

ITEM = (0, 0, 0), (0, 0, 0)
KEYS = {name: DeclarationKey(name, 2, is_parameter=False) for name in "stuvw"}
RULE = RULES["together"]
INTEGER = (Leaf("", "<i4", 32, is_signed=True),)


def stop(pc, lane):
    values = {key: [RecordedValue(INTEGER, (number,))] for number, key in enumerate(KEYS.values())}
    return StatementStop(pc, "k.cl", 3, 1, ("k",), "1:1:1:1", 1, {ITEM: 0}, (lane,), values)


def sightings(wrong=(), entries=lambda name, _pc: name):
    """Sightings without a kernel, whose findings are their first and last address, their message and their lanes."""
    made = Sightings(None)
    made.function = lambda pc: ("k", pc)
    made.entries = entries
    made.wrong_values = lambda: iter(wrong)
    made._finding = lambda subject, first, last, seen, lanes: SimpleNamespace(
        name=subject.name, doubt=subject.doubt, offset=first, last=last, rule=subject.rule, message=seen.message,
        lanes=lanes,
    )  # fmt: skip
    return made


def report(pairs, made):
    """Return what is found of pairs of variables at addresses, each in another lane."""
    apart = ValuesApart(StatementHistory(PointerNames(())), "other", RULE, made)
    for lane, (pc, *names) in enumerate(pairs):
        for rule in RULES.values():
            made.note(rule, pc)
        found = {name: {each for pair in names if name in pair for each in pair} - {name} for name in "".join(names)}
        apart.add(ITEM, stop(pc, lane), {KEYS[key]: [KEYS[each] for each in sorted(found[key])] for key in found})
    apart.report()
    return [(each.name, each.offset, each.last, each.message) for each in made.findings()]


NEVER = ", which never happens in other"


@for_each("pairs, found",
    ([(8, "vw")], [("v", 8, 8, f"v is 3 while w is 4{NEVER}")]),
    # what all pairs have, with all that contradicts it, wherever
    ([(8, "vw"), (12, "wu"), (16, "wt")],
     [("w", 8, 16, f"w is 4 while v is 3{NEVER}; it also contradicts 2 more: t, u")]),
    ([(8, "vs", "vt", "vu", "vw")],
     [("v", 8, 8, f"v is 3 while s is 0 and t is 1 and u is 2{NEVER}; it also contradicts 1 more: w")]),
    # two that have nothing in common
    ([(12, "st"), (8, "uv"), (16, "tw")],
     [("u", 8, 8, f"u is 2 while v is 3{NEVER}"),
      ("t", 12, 16, f"t is 1 while s is 0{NEVER}; it also contradicts 1 more: w")]),
    ids=str)  # fmt: skip
def test_the_location_that_explains_most_is_named_with_all_that_it_contradicts(pairs, found):
    assert report(pairs, sightings()) == found


@for_each("pairs, name", ([(8, "vw")], "w"), ([(8, "vw"), (12, "vu")], "v"))
def test_of_two_locations_that_explain_as_much_the_one_that_is_known_to_be_wrong_is_named(pairs, name):
    assert [each[0] for each in report(pairs, sightings([("w", 40), ("x", 99)]))] == [name]


def test_each_location_of_a_variable_is_a_finding():
    made = sightings(entries=lambda name, pc: (name, pc >= 12))
    found = report([(8, "vw", "vu"), (10, "vw"), (12, "vt", "vu"), (16, "vt")], made)
    assert [each[:3] for each in found] == [("v", 8, 10), ("v", 12, 16)]
    assert [each.lanes for each in made.findings()] == [{"1:1:1:1": 0b11}, {"1:1:1:1": 0b1100}]


def test_what_is_certain_stays_an_error_whatever_explains_it():
    """Undefined behaviour leaves out some pairs, so that another variable has most of them."""
    every, certain = sightings(), sightings()
    assert [each[0] for each in report([(8, "vw"), (12, "vu")], every)] == ["v"]
    certain.add(Subject(RULE, "w"), 8, Sighting("w is 4 while v is 3", "1:1:1:1", 0))
    every.doubt(certain, "undefined")
    assert [(each.name, each.doubt) for each in every.findings()] == [("v", "undefined"), ("w", None)]
