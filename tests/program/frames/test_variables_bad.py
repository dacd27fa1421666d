"""Variables of broken programs: an error with its place, or an answer that says what it leaves out."""

import random
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import dwarfgpu as dg
from dwarfgpu.program.frames.answers import answer
from dwarfgpu.render.variables import VariablesRenderer
from tests.builders.declared import AT_DATA, CODE, program, typed
from tests.builders.dwarf import die, entry


def shown(frame: Any, name: str) -> str:
    return "\n".join(VariablesRenderer(frame).text(answer(frame[name], name)))


def test_what_is_sound_beside_it_has_an_answer(tmp_path):
    found = program(
        tmp_path,
        entry("typedef", "round", type="loop", label="loop"),
        locals=(entry("variable", "bad", AT_DATA, type="loop"), entry("variable", "good", AT_DATA, type="int")),
    )
    (frame,) = found.at(CODE)
    assert frame["good"].value() == 0x03020100
    with pytest.raises(dg.MalformedFile, match="back to itself") as caught:
        frame["bad"].value()
    assert caught.value.where.section == ".debug_info"
    assert caught.value.where.offset is not None


def test_a_class_that_contains_itself(tmp_path):
    found = program(
        tmp_path,
        entry(
            "structure_type", "s", entry("member", "inner", type="s", data_member_location=0), byte_size=8, label="s"
        ),
        locals=(entry("variable", "x", AT_DATA, type="s"),),
    )
    (frame,) = found.at(CODE)
    assert "inner = {" in shown(frame, "x")
    with pytest.raises(dg.UsageError, match="no member named nothing"):
        frame["x.inner.nothing"].value()
    assert frame["x"].values().array.dtype.itemsize == 8


def test_an_array_of_very_many_elements_is_shown_in_part(tmp_path):
    count = die("subrange_type", ("count", "udata", 1 << 58))
    found = program(
        tmp_path,
        die("array_type", typed("int"), count, label="many"),
        locals=(entry("variable", "x", AT_DATA, type="many"),),
    )
    (frame,) = found.at(CODE)
    assert frame["x[2]"].value() == 0x0B0A0908
    assert len(shown(frame, "x")) < 20_000
    assert frame["sizeof x"].value() == 1 << 60
    with pytest.raises(dg.Unavailable, match="have no array"):
        frame["x"].values()[None]
    assert frame["x[1 << 20]"].why().kind == "memory_unavailable"
    with pytest.raises(dg.DwarfGpuError):
        frame["x@(1 << 60)"].value()


@pytest.mark.parametrize("size", [1 << 62, (1 << 64) - 1])
def test_sizes_that_no_object_has(tmp_path, size):
    found = program(
        tmp_path,
        entry("structure_type", "s", ("byte_size", "udata", size), label="s"),
        locals=(entry("variable", "x", AT_DATA, type="s"),),
    )
    (frame,) = found.at(CODE)
    with pytest.raises(dg.DwarfGpuError):
        frame["x"].values()[None]
    assert "\n".join(VariablesRenderer(frame).described(frame["x"])).startswith(("x: s", "x: struct s"))


def test_types_and_origins_that_are_not_there(tmp_path):
    found = program(
        tmp_path,
        locals=(
            entry("variable", "no_type", AT_DATA),
            entry("variable", "wrong", ("type", "ref4", 0x7FFFFF), AT_DATA),
            die("variable", ("abstract_origin", "ref4", 0x7FFFFF), AT_DATA),
            entry("variable", "good", AT_DATA, type="int"),
        ),
    )
    (frame,) = found.at(CODE)
    assert [each.name for each in frame.variables()] == ["no_type", "wrong", "good"]
    assert frame["good"].value() == 0x03020100
    assert found.problems[0].where.section == ".debug_info"
    with pytest.raises(dg.MalformedFile, match=r"no entry|reference") as caught:
        frame["wrong"].value()
    assert caught.value.where.section == ".debug_info"


def test_locations_that_are_no_expressions(tmp_path):
    variables = [
        entry("variable", f"v{index}", type="int", location=data)
        for index, data in enumerate([b"\x03\x01", b"\xff", b"\x9f", b"\x06", b"\x91\x00", b"\x9c", b"\x97", b""])
    ]
    (frame,) = program(tmp_path, locals=tuple(variables)).at(CODE)
    for variable in frame.variables():
        reason = variable.why()
        assert reason is not None
        assert reason.message
    assert frame["v7"].why().kind == "optimized_out"


def test_a_unit_that_is_missing(tmp_path):
    """A skeleton whose split unit is nowhere: the function is not known, and the rest of the program still is."""
    path = Path(__file__).resolve().parents[3] / "fixtures/host/split.gcc.v5.x86_64"
    copy = tmp_path / "alone"
    copy.write_bytes(path.read_bytes())
    found = dg.open(str(copy))
    symbol = next(each for each in found.file.symbol_image.symbols() if each.type == "FUNC")
    (frame,) = found.at(symbol.value)
    assert frame.name == symbol.name
    assert frame.variables() == ()
    with pytest.raises(dg.UsageError, match="no variable"):
        frame["anything"].value()


def test_any_bytes_are_a_result_or_an_error(tmp_path):
    """Bytes of the debugging information are changed at random: every variable still has an answer or an error."""
    source = Path(__file__).resolve().parents[3] / "fixtures/asm/lane-pc.gfx90a.w64.co"
    original = source.read_bytes()
    sections = dg.open(str(source)).file.image.sections
    places = [each for each in sections if each.name in (".debug_info", ".debug_abbrev", ".debug_loclists")]
    chance = random.Random(5)
    path = tmp_path / "broken.co"
    for _ in range(60):
        data = bytearray(original)
        for _ in range(chance.randint(1, 4)):
            section = chance.choice(places)
            data[section.header.offset + chance.randrange(section.size)] = chance.randrange(256)
        path.write_bytes(data)
        try:
            for frame in dg.open(str(path)).at(0x1548):
                for variable in frame.variables():
                    answered(variable)
        except dg.DwarfGpuError:
            continue


def answered(variable: Any) -> None:
    with suppress(dg.DwarfGpuError):
        VariablesRenderer(variable.frame, locations=True).text(answer(variable, "x"))


def test_a_number_without_bits_has_no_arithmetic(tmp_path):
    empty = entry("base_type", "empty", encoding=5, byte_size=0, label="empty")
    (frame,) = program(tmp_path, empty, locals=(entry("variable", "x", AT_DATA, type="empty"),)).at(CODE)
    for text in ("-x", "x + 1", "x == 0", "(int) x", "!x", "(empty) 1"):
        with pytest.raises(dg.DwarfGpuError, match="cannot be computed with"):
            frame[text].value()


def test_an_array_that_is_there_in_part_is_shown_in_part(tmp_path):
    (frame,) = program(tmp_path, entry("variable", "x", AT_DATA, type="int")).at(CODE)
    found = shown(frame, "x@18")
    assert found.startswith("x@18 = {50462976, 117835012, ")
    assert found.count("<error: Cannot access memory at address 0x20") == 2
    assert "<error> Cannot access memory" in shown(frame, "*(&x + 1000)@2")
    assert "<error> Cannot access memory" in shown(frame, "*(&x + 1000)@100000000")
    assert shown(frame, "x@100000000").startswith("x@100000000 = {50462976, ")
