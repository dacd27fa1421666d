"""A device in Python: what it computes, and what it refuses."""

from __future__ import annotations

import struct
import sys
from pathlib import Path

import numpy as np
import pytest

import dwarfgpu as dg
from dwarfgpu.runtimes.device import HostLaunch

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="a device needs Linux")
EXAMPLES = Path(dg.__path__[0]) / "examples"
BLUR = EXAMPLES / "blur.co"


def test_kernels_share_memory() -> None:
    device = dg.Device("gfx1100", check="race,init")
    first, second = device.malloc(200), device.malloc(200)
    device.write(first, np.arange(50, dtype="f4"))
    kernel = device.module(BLUR.read_bytes(), "blur.co").kernel("blur")
    launches = [device.launch(kernel, 64, (64,), [first, second, 49])]
    launches += [device.launch(kernel, (64, 1, 1), 64, [second, first, 48])]
    assert [launch.number for launch in launches] == [1, 2]
    assert all(launch.has_ended and not launch.findings for launch in launches)
    found = np.frombuffer(device.read(first, 200), "f4")
    assert found[20] == 20
    assert found[48] == 48, "no work-item has written it"
    assert [buffer.address for buffer in device.leaks()] == [first, second]
    for address in (first, second):
        device.free(address)
    assert device.leaks() == []


def test_what_nothing_has_written_is_found() -> None:
    device = dg.Device(check="init")
    first, second = device.malloc(200), device.malloc(200)
    device.write(first, np.arange(25, dtype="f4"))
    kernel = device.module(BLUR).kernel("blur")
    launch = device.launch(kernel, 64, 64, [first, second, 49])
    assert launch.has_ended
    assert {finding.kind for finding in launch.findings} == {"uninitialized value stored in global memory"}


def test_an_address_belongs_to_the_closest_buffer() -> None:
    device = dg.Device()
    first, second = device.malloc(200), device.malloc(200)
    for address, closest in (first - 4, first), (first + 200, first), (second - 4, second), (second + 199, second):
        buffer = device.near(address)
        assert buffer is not None
        assert buffer.address == closest
    assert device.near(first - (1 << 20)) is None


def test_what_is_refused() -> None:
    device = dg.Device()
    memory = device.malloc(200)
    kernel = device.module(BLUR).kernel("blur")
    for call, text in (
        (lambda: device.read(memory, 300), "which has 200 bytes: bytes 0 to 299"),
        (lambda: device.write(memory, bytes(201)), "which has 200 bytes: bytes 0 to 200"),
        (lambda: device.free(memory + 4), "no buffer begins there"),
        (lambda: device.module(b"xx"), "neither an ELF file"),
        (lambda: dg.Device("gfx90a").module(BLUR), "is for gfx1100, and the device is gfx90a"),
        (lambda: device.launch(kernel, 64, 64, [memory]), "no value for out"),
    ):
        with pytest.raises(dg.DwarfGpuError, match=text):
            call()
    launch = device.launch(kernel, 64, 64, [memory, memory, 4])
    assert launch.has_ended, "a refused launch changes nothing"


def test_a_fault_names_the_buffer_and_ends_the_device() -> None:
    device = dg.Device()
    memory, gone = device.malloc(100), device.malloc(200)
    device.free(gone)
    kernel = device.module(BLUR).kernel("blur")
    launch = device.launch(kernel, 64, 64, [gone, memory, 49])
    assert launch.halt is not None
    assert launch.halt.kind == "fault"
    assert "which had 200 bytes and was freed" in launch.halt.reason
    assert device.launch(kernel, 64, 64, [memory, memory, 4]).halt is None


@pytest.mark.parametrize("most, sizes", [(64 << 20, 2), (1, 1)])
def test_launches_are_repeated(monkeypatch: pytest.MonkeyPatch, most: int, sizes: int) -> None:
    """A launch with other arguments computes the same as the first one of its kind, and memory does not grow."""
    monkeypatch.setattr("dwarfgpu.runtimes.device._MOST_REPEATED", most)
    device = dg.Device("gfx1100")
    first, second = device.malloc(200), device.malloc(200)
    kernel = device.module(BLUR).kernel("blur")
    blocks = set()
    for number in range(100):
        source, target = (first, second) if number % 2 else (second, first)
        device.write(source, np.arange(50, dtype="f4") + number)
        segment = struct.pack("<QQi", source, target, 49)
        launch = device.launch(kernel, 128 if number % 4 == 3 else 64, 64, segment)
        assert launch.has_ended
        assert np.frombuffer(device.read(target, 200), "f4")[20] == 20 + number
        (machine,) = device.machines.values()
        blocks.add(len(machine.memory.store(machine.target.default_space).starts))
    assert len(blocks) == sizes, "those of one launch, or of one for each size of the grid"


def test_codes_of_one_name_are_different_codes() -> None:
    places = []

    def execute(device: dg.Device, launch: HostLaunch) -> None:
        assert launch.running is not None
        places.append(launch.running[0].pc)
        device.finish(launch)

    device = dg.Device("gfx1100", execute=execute)
    first, second = device.malloc(200), device.malloc(200)
    for code in (BLUR.read_bytes(), BLUR.read_bytes() + bytes(4)):
        device.launch(device.module(code).kernel("blur"), 64, 64, [first, second, 49])
    assert len({*places}) == 2


def test_code_that_nothing_uses_leaves_the_memory() -> None:
    device = dg.Device("gfx1100")
    first, second = device.malloc(200), device.malloc(200)
    device.write(first, np.arange(50, dtype="f4"))
    sizes = set()
    for module in (device.module(BLUR.read_bytes()), device.module(BLUR.read_bytes())):
        for _time in range(2):
            assert device.launch(module.kernel("blur"), 64, 64, struct.pack("<QQi", first, second, 49)).has_ended
            (machine,) = device.machines.values()
            sizes.add((len(machine.code_objects), len(machine.memory.store(machine.target.default_space).starts)))
            module.unload()
            assert not machine.code_objects
    assert len(sizes) == 1, "the first one, a second one, and each loaded again"
    assert np.frombuffer(device.read(second, 200), "f4")[20] == 20
