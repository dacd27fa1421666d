"""Call frame information cases: the JSON form of a section, and of the rows of its entries."""

import json

from cases_sections import run_frame_case

from tests.builders.frames import FrameBuilder

FIRST = {"rule": "register_offset", "register": 7, "offset": 8, "space": 0}
RETURN = {"16": {"rule": "offset", "offset": -8}}


def test_without_a_program_location_all_rows_are_given():
    builder = FrameBuilder()
    cie = builder.cie("def_cfa 7 8; offset 16 1")
    builder.fde(cie, 0x1000, 0x20, "advance_loc 4; def_cfa_offset 16; offset 6 2")
    builder.fde(cie, 0x2000, 0x10)
    answer = run_frame_case({"id": "a", "section": builder.data.hex(), "section_kind": builder.kind}, 7)
    assert json.loads(json.dumps(answer)) == answer == {
        "id": "a",
        "status": "ok",
        "rows": [
            {"start": 0x1000, "end": 0x1004, "cfa": FIRST, "registers": RETURN},
            {
                "start": 0x1004,                  "end": 0x1020,                    "cfa": {**FIRST, "offset": 16},
                "registers": {"6": {"rule": "offset", "offset": -16}, **RETURN},
            },
            {"start": 0x2000, "end": 0x2010, "cfa": FIRST, "registers": RETURN}]}  # fmt: skip
