import json
import struct
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dwarfgpu.machines.gdb.backend import FACTS, SERVED
from dwarfgpu.objfile.opening import open_image
from dwarfgpu.serve.listener import open_served, served_waves
from dwarfgpu.serve.packets import PacketParser, framed, unescaped
from dwarfgpu.serve.remote import HANDLERS, REFUSAL, RemoteStub
from tests.builders.folders import ROOT

STATE = str(ROOT / "dwarfgpu/examples/variables.json")
CALLS = str(ROOT / "dwarfgpu/examples/calls.json")


@pytest.fixture
def stub() -> RemoteStub:
    return RemoteStub(open_served(STATE)[0])


@pytest.fixture
def three() -> RemoteStub:
    return RemoteStub(open_served(CALLS)[0])


def ask(stub: RemoteStub, packet: str | bytes) -> bytes:
    (answer,) = stub.answers(packet if isinstance(packet, bytes) else packet.encode())
    return answer


def read(stub: RemoteStub, name: str, annex: str = "", size: int = 0x1000) -> bytes:
    data = b""
    while True:
        answer = ask(stub, f"qXfer:{name}:read:{annex}:{len(data):x},{size:x}")
        assert answer[:1] in (b"m", b"l"), answer
        data += unescaped(answer[1:])
        if answer[:1] == b"l":
            return data


def number_of(stub: RemoteStub, name: str) -> int:
    return [register.name for register in stub.layout.registers].index(name)


@pytest.mark.parametrize("state, lanes", [(STATE, 64), (CALLS, 32)])
def test_the_target_description_has_the_registers_of_waves(state, lanes):
    served = RemoteStub(open_served(state)[0])
    root = ET.fromstring(read(served, "features", "target.xml", size=100))
    assert root.find("architecture").text == "i386:x86-64"
    wave = {row.get("name"): row for row in root.findall("feature")[1].findall("reg")}
    assert wave["v0"].get("bitsize") == str(32 * lanes)
    assert wave["exec"].get("bitsize") == str(lanes)
    assert {"s0", "s105", "vcc", "m0", SERVED} <= set(wave)
    assert root.find(".//vector").get("count") == str(lanes)
    assert [int(row.get("regnum")) for row in root.iter("reg")] == list(range(len(served.layout.registers)))


def test_threads_have_names_and_positions(three):
    rows = ET.fromstring(read(three, "threads")).findall("thread")
    assert [row.text for row in rows] == [f"AMDGPU Wave 1:1:1:{n + 1} ({n},0,0)/0" for n in range(3)]
    assert {row.get("name") for row in rows} == {"calls"}
    assert ask(three, "qfThreadInfo") == b"m1,2,3"
    assert ask(three, "qsThreadInfo") == b"l"
    assert bytes.fromhex(ask(three, "qThreadExtraInfo,2").decode()) == b"AMDGPU Wave 1:1:1:2 (1,0,0)/0"


def test_the_code_object_is_the_program_and_others_are_libraries(tmp_path):
    served = RemoteStub(open_served(STATE)[0])
    path = str(ROOT / "dwarfgpu/examples/lane-pc.co")
    assert read(served, "exec-file", "1").decode() == path
    assert ask(served, "qOffsets") == b"TextSeg=7f0000000000"
    machine = served.machine
    machine.code_objects.append(type(machine.code_objects[0])(path, 0x7F0000100000))
    more, problems = served_waves(machine, "two")
    libraries = ET.fromstring(read(RemoteStub(more), "libraries"))
    assert problems == []
    assert [(row.get("name"), row.find("segment").get("address")) for row in libraries] == [(path, "0x7f0000100000")]


def test_registers_are_read_and_written_where_they_are_known(stub):
    text = ask(stub, "g").decode()
    sizes = [register.bit_size // 4 for register in stub.layout.registers[:40]]
    assert len(text) == sum(sizes)
    before = sum(sizes[: number_of(stub, "rip")])
    assert text[before : before + 16] == stub.machine.program_counter(0).to_bytes(8, "little").hex()
    assert text[:16] == "x" * 16  # rax, which no wave has
    changed = text[:before] + (0x1122).to_bytes(8, "little").hex() + text[before + 16 :]
    assert ask(stub, f"G{changed}") == b"OK"
    assert stub.machine.program_counter(0) == 0x1122
    assert set(ask(stub, f"p{number_of(stub, 'v200'):x}")) == {ord("x")}
    assert set(ask(stub, f"p{number_of(stub, 'rax'):x}")) == {ord("x")}
    assert ask(stub, f"p{number_of(stub, 'rsp'):x}") == b"00" * 8
    assert ask(stub, f"p{number_of(stub, SERVED):x}") == b"01"
    counter = number_of(stub, "rip")
    pc = stub.machine.program_counter(0)
    assert ask(stub, f"p{counter:x}") == pc.to_bytes(8, "little").hex().encode()
    v2 = number_of(stub, "v2")
    lanes = struct.unpack("<64I", bytes.fromhex(ask(stub, f"p{v2:x}").decode()))
    assert lanes[:3] == (10, 0, 14)
    changed = struct.pack("<64I", 7, *lanes[1:]).hex()
    assert ask(stub, f"P{v2:x}={changed}") == b"OK"
    assert ask(stub, f"p{v2:x}").decode() == changed


def test_registers_that_are_not_known_and_those_of_the_chosen_thread(three):
    counter = number_of(three, "rip")
    contents = []
    for thread in (1, 2, 3):
        assert ask(three, f"Hg{thread:x}") == b"OK"
        contents.append(ask(three, f"p{counter:x}"))
    assert contents == [three.machine.program_counter(n).to_bytes(8, "little").hex().encode() for n in range(3)]
    assert ask(three, "Hg4") == ask(three, "T4") == b"E01"
    assert ask(three, "Hg0") == ask(three, "Hc-1") == b"OK"
    assert ask(three, "qC") == b"QC3"
    three.served.machine.dispatches[0] = type(three.served.machine.dispatches[0])(1, '<"\x1b]0;&\ud800')
    rows = ET.fromstring(RemoteStub(three.served)._transfers()["threads"]()).findall("thread")
    assert rows[0].get("name") == '<"?]0;&?'


def test_memory_is_read_at_addresses_with_the_numbers_of_spaces(stub):
    machine = stub.machine
    for name, number in (("local", 3), ("private_wave", 6)):
        machine.memory.map(machine.target.space_named(name), 0x8000, bytearray(range(16)), instance=0)
        assert ask(stub, f"m{number:02x}00000000008004,4") == b"04050607"
    lane = machine.target.space_named("private_lane5")
    machine.write_memory(machine.target.space_named("private_wave"), 0x8000, b"ABCD", 0, None)
    address = next(a for a in (0x8000 // 256 * 4,))
    assert lane.number == 0x25
    expected = machine.read_memory(machine.target.space_named("private_lane0"), address, 4, 0, None)
    assert ask(stub, f"m20{address:014x},4") == expected.hex().encode() == b"41424344"
    assert ask(stub, "m0500000000000000,4") == b"E14"
    machine.memory.map(machine.target.default_space, 0x5000, bytearray(range(100)))
    assert ask(stub, "m5060,100") == bytes(range(0x60, 100)).hex().encode()
    assert ask(stub, "x5060,100") == b"b" + bytes(range(0x60, 100))
    assert ask(stub, "m5064,1") == b"E14"
    assert ask(stub, "m5000,0") == b""
    assert ask(stub, b"X5000,4:}\x03}\x04}]\x01") == b"OK"
    assert machine.read_memory(machine.target.default_space, 0x5000, 4, 0, None) == b"#$}\x01"
    assert ask(stub, "x5000,4") == b"b}\x03}\x04}]\x01"
    assert ask(stub, "M5001,2:aabb") == b"OK"
    assert ask(stub, "m5000,4") == b"23aabb01"
    assert ask(stub, b"X5000,0:") == b"OK"


def test_code_breakpoints_and_stops_are_those_of_the_files(stub):
    text = open_image(str(ROOT / "fixtures/asm/lane-pc.gfx90a.w64.co")).section(".text")
    address = 0x7F0000000000 + text.address
    assert ask(stub, f"m{address:x},20") == bytes(text.data[:32]).hex().encode()
    assert ask(stub, f"M{address:x},1:cc") == b"OK"
    assert ask(stub, f"m{address:x},1") == b"cc"
    assert ask(stub, f"vFile:open:{b'/etc/passwd'.hex()},0,0") == b"F-1,2"
    assert ask(stub, "vFile:unlink:2f") == b""
    assert ask(stub, "Z0,1000,1") == ask(stub, "z0,1000,1") == b"OK"
    pc = stub.machine.program_counter(0).to_bytes(8, "little").hex()
    assert ask(stub, "?") == f"T05thread:1;{number_of(stub, 'rip'):x}:{pc};".encode()
    assert ask(stub, "vCont?") == b"vCont;c;C;s;S"


def test_facts_errors_and_the_end_of_a_conversation(stub):
    size = int.from_bytes(bytes.fromhex(ask(stub, f"m{FACTS:x},8").decode()), "little")
    facts = json.loads(bytes.fromhex(ask(stub, f"m{FACTS + 8:x},{size:x}").decode()))
    assert facts["target"] == "amdgcn-gfx90a"
    assert facts["dispatches"]["1:1:1"]["grid"] == list(stub.machine.dispatches[0].grid)
    assert [len(digest) for digest in facts["files"].values()] == [64]
    assert b"error-message+" in ask(stub, "qSupported:error-message+;xmlRegisters=i386")
    answer = ask(stub, "m9000,4")
    assert unescaped(answer).startswith(b"E.4 bytes of memory at global#0x9000 are not available")
    assert [*PacketParser().feed(framed(answer))] == [answer]  # a raw # would end it
    assert ask(stub, "m0500000000000000,4").endswith(b"add the lane to 0x20 in the upper byte")
    assert ask(stub, "D") == ask(stub, "vKill;1") == b"OK"
    assert stub.answers(b"k") is None


def test_files_are_read_without_what_stock_gdb_dies_of(stub):
    (path,) = stub.served.hashes
    assert ask(stub, "vFile:setfs:0") == b"F0"
    number = ask(stub, f"vFile:open:{path.encode().hex()},0,0").removeprefix(b"F").decode()
    size, _, status = ask(stub, f"vFile:fstat:{number}").removeprefix(b"F").partition(b";")
    assert (int(size, 16), len(unescaped(status))) == (64, 64)
    length = struct.unpack_from(">Q", unescaped(status), 28)[0]
    assert length == Path(path).stat().st_size
    data = b""
    while len(data) < length:
        part = ask(stub, f"vFile:pread:{number},1000,{len(data):x}")
        data += unescaped(part.partition(b";")[2])
    assert ask(stub, f"vFile:close:{number}") == b"F0"
    assert ask(stub, f"vFile:close:{number}") == b"F-1,9"
    image = open_image(data)
    assert image.machine == 62
    assert image.section(".debug_frame") is None
    assert bytes(image.section(".debug_info").data) == bytes(open_image(path).section(".debug_info").data)


@pytest.mark.parametrize("packet", ["vCont;c", "vCont;s:1;c", "c", "s", "C05", "S05"])
def test_nothing_runs(stub, packet):
    console, stop = stub.answers(packet.encode())
    assert bytes.fromhex(console[1:].decode()).decode() == REFUSAL
    assert stop == b"T05thread:1;"


@pytest.mark.parametrize("packet", ["vMustReplyEmpty", "!", "qRcmd,00", "R00", "vRun;61", "jThreadsInfo", ""])
def test_an_unknown_packet_has_an_empty_answer(stub, packet):
    assert ask(stub, packet) == b""


MALFORMED = ["m", "mzz,4", "m0", "M0,4:zz", "M0,4", "X0,9:a", "p", "pffff", "Pzz=00", "P0", "Hgzz", "Tzz"]
MALFORMED += ["qXfer:features:read:target.xml:0", "qThreadExtraInfo,", "vFile:pread:zz", "G0g", "P10=zz"]


@pytest.mark.parametrize("packet", MALFORMED)
def test_a_malformed_packet_is_an_error(stub, packet):
    assert ask(stub, packet) in (b"E01", b"E14")


@given(st.sampled_from([name for name, _handler in HANDLERS]), st.binary(max_size=40))
def test_any_packet_has_an_answer(name, rest):
    answers = SHARED.answers(name + rest)
    assert answers is None or all(isinstance(answer, bytes) for answer in answers)


SHARED = RemoteStub(open_served(STATE)[0])
