"""Call frame information cases: the JSON form of a section, and of the rows of its entries."""

import json

import pytest
from cases_sections import run_frame_case

from dwarfgpu.strict_json import NotACase
from tests.builders.errors import raised
from tests.builders.frames import FrameBuilder, z
from tests.builders.parameters import every, for_each


def simple(**options):
    builder = FrameBuilder(**options)
    cie = builder.cie("def_cfa 7 8; offset 16 1")
    builder.fde(cie, 0x1000, 0x20, "advance_loc 4; def_cfa_offset 16; offset 6 2")
    builder.fde(cie, 0x2000, 0x10)
    return builder


def case(builder, **changes):
    full = {"id": "a", "section": builder.data.hex(), "section_kind": builder.kind, **changes}
    return {key: value for key, value in full.items() if value is not ...}


def run(builder, **changes):
    answer = run_frame_case(case(builder, **changes), 7)
    assert json.loads(json.dumps(answer)) == answer
    return answer


def rows(builder, **changes):
    answer = run(builder, **changes)
    assert answer["status"] == "ok", answer
    return answer["rows"]


def error(builder, **changes):
    answer = run(builder, **changes)
    assert answer["status"] == "error", answer
    return answer["error"]


FIRST = {"rule": "register_offset", "register": 7, "offset": 8, "space": 0}
RETURN = {"16": {"rule": "offset", "offset": -8}}


def test_without_a_program_location_all_rows_are_given():
    assert run(simple()) == {
        "id": "a",
        "status": "ok",
        "rows": [
            {"start": 0x1000, "end": 0x1004, "cfa": FIRST, "registers": RETURN},
            {
                "start": 0x1004,                  "end": 0x1020,                    "cfa": {**FIRST, "offset": 16},
                "registers": {"6": {"rule": "offset", "offset": -16}, **RETURN},
            },
            {"start": 0x2000, "end": 0x2010, "cfa": FIRST, "registers": RETURN}]}  # fmt: skip


@pytest.mark.parametrize("pc", [0x1004, "0x101f", 0x1010])
def test_the_row_that_holds_a_program_location(pc):
    (row,) = rows(simple(), pc=pc)
    assert (row["start"], row["end"], row["cfa"]["offset"]) == (0x1004, 0x1020, 16)


@pytest.mark.parametrize("pc", [0, 0xFFF, 0x1020, (1 << 64) - 1])
def test_no_row_holds_the_program_location(pc):
    assert rows(simple(), pc=pc) == []


def test_one_entry_by_its_index_and_defaults():
    assert [row["start"] for row in rows(simple(), fde=0)] == [0x1000, 0x1004]
    assert [row["start"] for row in rows(simple(), fde="1", pc=None)] == [0x2000]
    assert [row["start"] for row in rows(simple(), fde=0, pc=0x1000)] == [0x1000]
    assert rows(simple(), fde=1, pc=0x1000) == []
    assert error(simple(), fde=2)["kind"] == "index_out_of_range"
    assert run_frame_case({"section": "", "section_kind": "debug_frame"}, 7) == {"id": 7, "status": "ok", "rows": []}


def test_rules():
    builder = FrameBuilder()
    cie = builder.cie("def_cfa_expression 3036e902")
    text = "undefined 1; same_value 2; offset 3 1; val_offset 4 1; register 5 6; expression 7 50; val_expression 8 51"
    builder.fde(cie, 0, 16, text)
    (row,) = rows(builder)
    assert row["cfa"] == {"rule": "expression", "expr": "3036e902"}
    assert row["registers"] == {
        "1": {"rule": "undefined"},                            "2": {"rule": "same_value"},
        "3": {"rule": "offset", "offset": -8},                 "4": {"rule": "val_offset", "offset": -8},
        "5": {"rule": "register", "register": 6},              "7": {"rule": "expression", "expr": "50"},
        "8": {"rule": "val_expression", "expr": "51"}}  # fmt: skip


def test_an_address_space():
    builder = FrameBuilder()
    builder.fde(builder.cie(), 0, 16, "LLVM_def_aspace_cfa 64 256 6")
    for target in (..., "amdgcn-gfx90a", "generic"):
        (row,) = rows(builder, target=target)
        assert row["cfa"] == {"rule": "register_offset", "register": 64, "offset": 256, "space": 6}
    assert error(builder, target="x86_64")["kind"] == "bad_address_space"


def test_programs_without_rules_or_with_wrong_ones():
    builder = FrameBuilder()
    builder.fde(builder.cie(), 0x1000, 16)
    assert rows(builder) == [{"start": 0x1000, "end": 0x1010, "cfa": None, "registers": {}}]
    assert rows(builder, pc=0x1008) == rows(builder)
    found = error(with_instructions("", "nop; restore_state"))
    assert (found["operation"], found["offset"]) == ("DW_CFA_restore_state", 41)
    builder = FrameBuilder()
    builder.cie("restore_state")
    assert error(builder)["kind"] == "restore_without_remember"


@every(order=["little", "big"], size=[4, 8], kind=["debug_frame", "eh_frame"], wide=[False, True])
def test_encodings(kind, size, order, wide):
    builder = FrameBuilder(kind, size=size, order=order, wide=wide)
    builder.fde(builder.cie("def_cfa 7 8"), 0x1000, 16)
    (row,) = rows(builder, address_size=size, byte_order=order)
    assert (row["start"], row["end"]) == (0x1000, 0x1010)


def test_the_address_of_the_section():
    builder = FrameBuilder("eh_frame")
    cie = builder.cie("def_cfa 7 8", augmentation="zR", augmentation_data=z(b"\x1b"))
    field = len(builder.data) + 8
    builder.fde(cie, 0, 0, location=builder.number(0x1000 - field, 4) + builder.number(16, 4), augmentation_data=z(b""))
    assert rows(builder)[0]["start"] == 0x1000
    assert rows(builder, section_address="0x400000")[0]["start"] == 0x401000


@pytest.mark.parametrize("identity", ["x", 3, None, [1, {"a": 2}]])
def test_the_identity_is_echoed(identity):
    assert run(simple(), id=identity)["id"] == identity


def with_instructions(initial, instructions, **options):
    builder = FrameBuilder()
    builder.fde(builder.cie(initial, **options), 0x1000, 0x20, instructions)
    return builder


ERRORS = [
    ("no_cfa_rule", with_instructions("", "def_cfa_offset 8")),
    ("no_cfa_rule", with_instructions("def_cfa_register 7", "")),
    ("cfa_rule_is_expression", with_instructions("def_cfa_expression 30", "def_cfa_register 8")),
    ("unknown_instruction", with_instructions("", b"\x3f")),
    ("restore_without_remember", with_instructions("", "restore_state")),
    ("location_goes_backwards", with_instructions("", "advance_loc 4; set_loc 0x1000")),
    ("bad_augmentation", with_instructions("", "", augmentation="unheard")),
    ("bad_cie", with_instructions("", "", version=2)),        ("bad_cie", with_instructions("advance_loc 4", "")),
    ("bad_cie", with_instructions("restore 4", "")),          ("truncated", with_instructions("", bytes(7) + b"\x0c")),
    ("overflow", with_instructions("", "MIPS_advance_loc8 0xffffffffffffffff")),
    ("overflow", with_instructions("", "LLVM_def_aspace_cfa_sf 64 0x7fffffffffffffff 6"))]  # fmt: skip


@pytest.mark.parametrize("kind, builder", ERRORS)
def test_what_is_ill_formed_hides_no_row_before_it(kind, builder):
    found = error(builder)
    assert (found["class"], found["kind"]) == ("ill_formed", kind)
    assert found["message"]
    assert found["spec"]
    assert found["offset"] >= 0
    assert error(builder, fde=0)["kind"] == kind
    assert run(builder, pc=0x1000)["status"] == ("ok" if kind == "location_goes_backwards" else "error")


@pytest.mark.parametrize("data, kind", [("ff", "truncated"), ("f0ffffff", "bad_length"), ("ffff0000", "truncated")])
def test_what_is_malformed(data, kind):
    answer = run_frame_case({"section": data, "section_kind": "eh_frame"}, 1)
    assert (answer["error"]["class"], answer["error"]["kind"]) == ("malformed", kind)


def test_a_broken_entry_is_no_answer_about_other_addresses():
    builder = simple()
    builder.fde(builder.cie(version=9), 0x3000, 16)
    assert error(builder)["kind"] == "bad_cie"
    assert len(rows(builder, pc=0x1000)) == 1
    assert error(builder, pc=0x3000)["kind"] == "bad_cie"
    assert error(builder, fde=2)["kind"] == "bad_cie"


@for_each("changes, path",
    ({"section": ...}, ""),     ({"section_kind": ...}, ""),
    ({"section": "0"}, "section"),                          ({"section": 3}, "section"),
    ({"section_kind": "debug_info"}, "section_kind"),       ({"address_size": 3}, "address_size"),
    ({"byte_order": "middle"}, "byte_order"),               ({"pc": -1}, "pc"),         ({"pc": 1 << 64}, "pc"),
    ({"pc": 1 << 32, "address_size": 4}, "pc"),             ({"section_address": 1 << 64}, "section_address"),
    ({"target": "gfx1"}, "target"),                         ({"target": None}, "target"),
    ({"fde": -1}, "fde"),       ({"fde": "x"}, "fde"),      ({"pcs": 3}, "pcs"))  # fmt: skip
def test_what_is_no_case(changes, path):
    caught = raised(NotACase, run, simple(), **changes)
    assert (caught.path, caught.line) == (path, 7)


@pytest.mark.parametrize("value", [None, 3, "x", []])
def test_what_is_no_object(value):
    raised(NotACase, run_frame_case, value, 1)
