from hypothesis import given
from hypothesis import strategies as st

from dwarfgpu.serve.packets import MAX_PACKET, PacketParser, converse, escaped, framed, unescaped


class Script:
    """A stream that has received some parts, and keeps what is sent."""

    def __init__(self, *parts: bytes) -> None:
        self.parts = list(parts)
        self.sent = b""

    def receive(self) -> bytes:
        return self.parts.pop(0) if self.parts else b""

    def send(self, data: bytes) -> None:
        self.sent += data


class Echo:
    """Answers a packet by itself in brackets; ``k`` ends the connection."""

    def __init__(self) -> None:
        self.asked: list[bytes] = []

    def answers(self, packet: bytes) -> list[bytes] | None:
        self.asked.append(packet)
        return None if packet == b"k" else [b"<" + packet + b">"]


def spoken(*parts: bytes) -> tuple[bytes, list[bytes]]:
    stream, echo = Script(*parts), Echo()
    converse(stream.receive, stream.send, echo.answers)
    return stream.sent, echo.asked


def test_a_packet_is_acknowledged_and_answered():
    assert spoken(framed(b"g"))[0] == b"+" + framed(b"<g>")


def test_a_packet_may_come_byte_by_byte():
    assert spoken(*(bytes([byte]) for byte in b"+" + framed(b"qC") + framed(b"g")))[1] == [b"qC", b"g"]


def test_a_wrong_checksum_is_refused():
    assert spoken(b"$g#00")[0] == b"-"
    assert spoken(b"$g#zz") == (b"-", [])


def test_a_refused_answer_is_sent_again():
    answer = framed(b"<g>")
    assert spoken(framed(b"g"), b"-", b"+")[0] == b"+" + answer + answer


def test_without_acknowledgements_nothing_is_acknowledged():
    sent, asked = spoken(framed(b"QStartNoAckMode"), b"+" + framed(b"g") + b"$x#00")
    assert sent == b"+" + framed(b"<QStartNoAckMode>") + framed(b"<g>")
    assert asked == [b"QStartNoAckMode", b"g"]


def test_interrupts_and_other_bytes_between_packets_are_skipped():
    assert spoken(b"\x03abc" + framed(b"g") + b"\x03")[1] == [b"g"]


def test_a_packet_that_begins_anew_replaces_the_one_before():
    assert spoken(b"$m0,4$" + framed(b"g")[1:])[1] == [b"g"]


def test_a_packet_without_an_end_is_bounded():
    sent, asked = spoken(*([b"$" + b"a" * MAX_PACKET] + [b"a" * MAX_PACKET] * 4 + [framed(b"g")]))
    assert asked == [b"g"]
    assert sent.startswith(b"-")


def test_the_end_of_the_stream_and_kill_end_the_conversation():
    assert spoken(b"$g")[1] == []
    assert spoken(framed(b"k") + framed(b"g")) == (b"+", [b"k"])


@given(st.binary(max_size=200))
def test_escaped_bytes_come_back(data):
    sent = escaped(data)
    assert unescaped(sent) == data
    assert not {*b"#$*"} & {*sent}


@given(st.lists(st.binary(max_size=40), max_size=20))
def test_any_bytes_make_packets_or_nothing(parts):
    reader = PacketParser()
    for part in parts:
        assert all(packet is None or isinstance(packet, bytes) for packet in reader.feed(part))


@given(st.lists(st.binary(max_size=30), max_size=8), st.integers(1, 7))
def test_packets_come_in_order_however_they_are_cut(contents, step):
    stream = b"".join(framed(escaped(content)) for content in contents)
    reader = PacketParser()
    found = [packet for at in range(0, len(stream), step) for packet in reader.feed(stream[at : at + step])]
    assert [unescaped(packet) for packet in found] == contents


def test_a_checksum_may_be_of_capitals():
    number = f"{sum(b'm12,4') & 255:02X}".encode()
    assert [*PacketParser().feed(b"$m12,4#" + number)] == [b"m12,4"]
