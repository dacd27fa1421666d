"""Conversations with `dwarfgpu serve`: whatever GDB sends, whole packets come back, and the conversation ends."""

import pytest

from dwarfgpu.serve.packets import NO_ACKNOWLEDGEMENTS, converse, framed, unescaped
from dwarfgpu.serve.remote import RemoteStub
from tests.builders.parameters import for_each
from tools import fuzz_loop, fuzz_serve

TEXTS = b"qSupported:error-message+;xmlRegisters=i386"
STATE = "docs/examples/crash.core"


@pytest.fixture(autouse=True, scope="module")
def _cache(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


def test_conversations_end_with_whole_packets(tmp_path):
    attempt = fuzz_serve.begin(tmp_path)
    for number in range(150):
        assert fuzz_loop.tried(attempt, f"tests/{number}") is None, f"tests/{number}"


@pytest.mark.parametrize("is_text", [True, False])
@for_each(
    "packet, message",
    (b"m300000000fffff0,10", "local#0xfffff0"),
    (b"m2400000000000000,4", "private_lane4#0x0"),
    (b"mdead0000,4", "global#0xdead0000"),
    (b"M300000000fffff0,1:00", "local#0xfffff0"),
    (b"x300000000fffff0,10", "local#0xfffff0"),
    (b"m500000000000000,4", "private_lane"),
)
def test_the_text_of_an_error_does_not_end_its_packet(packet, message, is_text):
    talk = fuzz_serve.Talk([framed(TEXTS if is_text else b"qSupported:"), framed(NO_ACKNOWLEDGEMENTS), framed(packet)])
    converse(talk.receive, talk.send, RemoteStub(fuzz_serve.served(STATE)).answers)
    answer = fuzz_serve.answers_in(bytes(talk.sent))[-1]
    if is_text:
        assert answer.startswith(b"E.")
        assert message in unescaped(answer).decode()
    else:
        assert answer == b"E14"
