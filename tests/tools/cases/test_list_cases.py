"""Location list cases: the JSON form of a list, and of the entries that apply."""

import json

from cases_sections import run_list_case

from tests.builders.lists import loclist

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
