"""Location list cases: the JSON form of a list, and of the entries that apply."""

import json

from cases_sections import run_list_case

from tests.builders.lists import loclist


def test_without_a_program_location_all_entries_are_given():
    data = loclist(("offset_pair", 0, 4, "50"), ("start_end", 2, 6, "51"), ("default_location", "52"), "end_of_list")
    case = {
        "id": "a",                           "section": data.hex(),               "section_kind": "debug_loclists",
        "offset": 0,                         "address_size": 8,                   "byte_order": "little",
        "version": 5,                        "unit_base": 0,                      "pc": None}  # fmt: skip
    answer = run_list_case(case, 7)
    assert json.loads(json.dumps(answer)) == answer == {
        "id": "a",
        "status": "ok",
        "entries": [{"start": 0, "end": 4, "default": False, "expr": "50"},
            {"start": 2, "end": 6, "default": False, "expr": "51"},
            {"start": None, "end": None, "default": True, "expr": "52"}]}  # fmt: skip
