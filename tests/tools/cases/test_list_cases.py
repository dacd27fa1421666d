"""Location list cases: the JSON form of a list, and of the entries that apply."""

import json

import pytest
from cases_sections import run_list_case

from dwarfgpu.strict_json import NotACase
from tests.builders.errors import raised
from tests.builders.lists import gnu_loclist, loc, loclist
from tests.builders.parameters import for_each

LIST = loclist(("offset_pair", 0, 4, "50"), ("start_end", 2, 6, "51"), ("default_location", "52"), "end_of_list")


def case(data=LIST, **changes):
    full = {
        "id": "a",                           "section": data.hex(),               "section_kind": "debug_loclists",
        "offset": 0,                         "address_size": 8,                   "byte_order": "little",
        "version": 5,                        "unit_base": 0,                      "pc": None}  # fmt: skip
    full.update(changes)
    return {key: value for key, value in full.items() if value is not ...}


def run(data=LIST, **changes):
    answer = run_list_case(case(data, **changes), 7)
    assert json.loads(json.dumps(answer)) == answer
    return answer


def expressions(data=LIST, **changes):
    answer = run(data, **changes)
    assert answer["status"] == "ok", answer
    return [entry["expr"] for entry in answer["entries"]]


def error(data=LIST, **changes):
    answer = run(data, **changes)
    assert answer["status"] == "error"
    return answer["error"]


def test_without_a_program_location_all_entries_are_given():
    assert run() == {
        "id": "a",
        "status": "ok",
        "entries": [{"start": 0, "end": 4, "default": False, "expr": "50"},
            {"start": 2, "end": 6, "default": False, "expr": "51"},
            {"start": None, "end": None, "default": True, "expr": "52"}]}  # fmt: skip


@for_each("pc, expected", (0, ["50"]), ("0x3", ["50", "51"]), (5, ["51"]), (6, ["52"]), ((1 << 64) - 1, ["52"]))
def test_the_entries_that_match(pc, expected):
    assert expressions(pc=pc) == expected


def test_defaults_and_integers_in_strings():
    minimal = {"section": "00", "section_kind": "debug_loclists"}
    assert run_list_case(minimal, 7) == {"id": 7, "status": "ok", "entries": []}
    data = b"\xff" + LIST
    assert expressions(data, offset="0x1", address_size="8", version="5", unit_base="0x10", pc="0x13") == ["50"]


@pytest.mark.parametrize("identity", ["x", 3, None, [1, {"a": 2}]])
def test_the_identity_is_echoed(identity):
    assert run(id=identity)["id"] == identity


def test_debug_loc_in_big_endian_and_in_the_form_of_gnu():
    data = loc((0, 4, "50"), (-1, 0x100), (0, 4, "51"), size=4, order="big")
    options = {"section_kind": "debug_loc", "address_size": 4, "byte_order": "big", "version": 3, "unit_base": 16}
    assert expressions(data, **options) == ["50", "51"]
    assert expressions(data, **options, pc=0x12) == ["50"]
    assert expressions(data, **options, pc=0x102) == ["51"]
    data = gnu_loclist(("startx_length", 1, 4, "50"), "end_of_list")
    assert expressions(data, section_kind="debug_loc.dwo", version=4, debug_addr={"1": 8}, pc=8) == ["50"]


@pytest.mark.parametrize("table", [{"1": 16}, {"0x1": "0x10"}])
def test_addresses_by_index(table):
    data = loclist(("base_addressx", 1), ("offset_pair", 0, 4, "50"), "end_of_list")
    assert run(data, debug_addr=table)["entries"] == [{"start": 16, "end": 20, "default": False, "expr": "50"}]


@pytest.mark.parametrize("table", [..., None, {}, {"1": 16}])
def test_an_index_that_is_not_there_is_an_error(table):
    found = error(loclist(("startx_length", 0, 4, "50"), "end_of_list"), debug_addr=table, pc=16)
    assert (found["class"], found["kind"], found["offset"]) == ("malformed", "index_out_of_range", 0)


@pytest.mark.parametrize("pc", [None, 1])
@for_each("data, kind, offset",
    (LIST[:-1], "truncated", len(LIST) - 1),                                    (b"", "truncated", 0),
    (b"\x0b", "unknown_entry_kind", 0),   (loclist(("start_end", 2, 1, "50"), "end_of_list"), "bad_range", 0),
)  # fmt: skip
def test_a_broken_list_is_an_answer(data, kind, offset, pc):
    found = error(data, pc=pc)
    assert (found["class"], found["kind"], found["offset"]) == ("malformed", kind, offset)
    assert found["message"]
    assert found["spec"].startswith("DWARF 5, ")
    assert set(found) == {"class", "kind", "message", "offset", "spec"}


@pytest.mark.parametrize("base", [..., None])
def test_an_offset_without_a_base_is_an_answer(base):
    found = error(unit_base=base)
    assert (found["class"], found["kind"]) == ("missing_context", "unit_base")


@for_each("changes, path",
    ({"sektion": "00"}, "sektion"),       ({"section": ...}, ""),               ({"section_kind": ...}, ""),
    ({"section": "0"}, "section"),        ({"section": "0x00"}, "section"),     ({"section": 0}, "section"),
    ({"section_kind": "debug_frame"}, "section_kind"),       ({"offset": -1}, "offset"),
    ({"offset": "one"}, "offset"),        ({"offset": 1.0}, "offset"),          ({"offset": True}, "offset"),
    ({"address_size": 3}, "address_size"),                   ({"byte_order": "middle"}, "byte_order"),
    ({"version": 1}, "version"),          ({"version": 7}, "version"),
    ({"unit_base": 1 << 32, "address_size": 4}, "unit_base"),                   ({"pc": -1}, "pc"),
    ({"pc": 1 << 64}, "pc"),              ({"debug_addr": [1]}, "debug_addr"),
    ({"debug_addr": {"x": 1}}, "debug_addr.x"),              ({"debug_addr": {"-1": 1}}, "debug_addr.-1"),
    ({"debug_addr": {"1": 1, "0x1": 2}}, "debug_addr.0x1"),  ({"debug_addr": {"1": 1 << 64}}, "debug_addr.1"),
)  # fmt: skip
def test_what_is_not_a_case(changes, path):
    problem = raised(NotACase, run, **changes)
    assert (problem.path, problem.line) == (path, 7)


@pytest.mark.parametrize("value", [None, 3, "x", [], [case()]])
def test_a_case_is_an_object(value):
    raised(NotACase, run_list_case, value, 1)
