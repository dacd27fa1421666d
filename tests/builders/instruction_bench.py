"""A few waves that execute instructions given as text: what a test says goes through the assembler and the decoder."""

import re
import subprocess
from functools import cache

import numpy as np

from dwarfgpu.execution import instructions
from dwarfgpu.execution.batch import VCC, WaveBatch
from dwarfgpu.execution.block_writer import BlockWriter
from dwarfgpu.execution.device_memory import GlobalMemory, MemorySegment
from dwarfgpu.execution.launch.dispatch import apertures_of
from dwarfgpu.execution.memory_access import MemoryAccess, local_end
from dwarfgpu.immutable import astuple
from dwarfgpu.isa.decoder import decode, has_banks, with_banks
from dwarfgpu.targets.amdgpu.processors import processor_named
from tests.builders.form_bench import FormBench
from tests.builders.kept import kept

MODE = 0xF0
"""Rounding to the nearest, denormal numbers kept."""
MEMORY = 0x10000
"""Where the global memory of a bench is."""
LOCAL_SIZE = 4096


@cache
def assembled(assembler: str, text: str, processor: str, lanes: int) -> list[bytes]:
    words = [assembler, "-triple=amdgcn", f"-mcpu={processor}", "-show-encoding"]
    features = ["+wavefrontsize64"] if lanes == 64 and processor.startswith("gfx1") else []
    features += ["+real-true16"] if processor.startswith("gfx12") else []
    words += [f"-mattr={','.join(features)}"] if features else []

    def make() -> bytes:
        done = subprocess.run(words, input=text, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout.encode()

    listing = kept(make, assembler, words, text).decode()
    return [
        bytes(int(byte, 16) for byte in found.split(","))
        for found in re.findall(r"encoding: \[(.*?)\]", listing, re.DOTALL)
    ]


class InstructionBench:
    """Waves of one processor with registers that a test fills, and 4096 bytes of global memory."""

    def __init__(self, assembler, processor, lanes, *, waves=1, mode=MODE):
        self.assembler, self.processor, self.lanes, self.waves = assembler, processor, lanes, waves
        self.register_counts = (1024, 0) if processor_named(processor).has("vgprs-1024") else (256, 256)
        self.batch = WaveBatch(range(waves), lanes, *self.register_counts)
        self.batch.mode = mode
        self.batch.set_exec((1 << lanes) - 1)
        self.bytes = np.zeros(4096, np.uint8)
        self.local = np.zeros((waves, LOCAL_SIZE), np.uint8)
        self.apertures = astuple(apertures_of(processor_named(processor)))[:2]
        self.scratch = np.zeros((waves, 64 * lanes), np.uint8)
        self.memory = MemoryAccess(
            GlobalMemory([MemorySegment.of(MEMORY, self.bytes)]), lanes=lanes, scratch_base=0x80000,
            apertures=self.apertures, local_end=local_end(processor))  # fmt: skip
        self.memory.use(self.local, np.arange(waves), self.scratch)
        self.generation = int(processor.removeprefix("gfx")[:-2])
        self.memory.swizzles_dwords = self.generation >= 9
        self.memory.generation = self.generation
        self.forms = FormBench(self)
        self.with_forms = 0
        """How many of the instructions have been executed as forms, too."""

    def vector(self, index, values, *, file="vector"):
        """Fill a vector register, or several of 64-bit numbers and rows of registers."""
        values = np.ascontiguousarray(values)
        if values.dtype.itemsize == 8:
            words = values.view(np.uint32).reshape(*values.shape, 2)
            self.vector(index, words[..., 0], file=file)
            self.vector(index + 1, words[..., 1], file=file)
            return
        if values.dtype.itemsize == 2:
            values = values.view(np.uint16).astype(np.uint32)
        getattr(self.batch, file)[index] = np.array(
            np.broadcast_to(np.atleast_2d(values.view(np.uint32)), (self.waves, self.lanes))
        )

    def vectors(self, *columns):
        """Fill the vector registers from v0 on."""
        for number, column in enumerate(columns):
            self.vector(number, column)

    def read(self, index, kind="u4", *, file="vector"):
        """Return a vector register as ``[wave, lane]`` of a type."""
        registers = getattr(self.batch, file)
        shape = self.waves, self.lanes
        if kind[1:] == "8":
            low, high = (np.broadcast_to(registers[index + part], shape).astype(np.uint64) for part in (0, 1))
            return (low | high << np.uint64(32)).view(kind)
        words = np.array(np.broadcast_to(registers[index], shape))
        return words.astype(f"u{kind[1:]}").view(kind) if kind[1:] != "4" else words.view(kind)

    def scalar(self, index, value, bits=32):
        self.batch.scalar[index] = value & 0xFFFFFFFF
        if bits == 64:
            self.batch.scalar[index + 1] = value >> 32

    def special_sources(self):
        return dict(zip(("src_shared_base", "src_private_base"), self.apertures, strict=True))

    @property
    def vcc(self):
        return self.batch.scalar[VCC]

    def run(self, text):
        """Execute instructions in their order; return what the last of them says of where to go on, if it does."""
        return self.execute(assembled(self.assembler, text, self.processor, self.lanes))

    def execute(self, codes):
        """Execute instructions given as bytes."""
        result, address = None, 0x1000
        for code in codes:
            writer = BlockWriter(self.lanes, self.batch.mode)
            writer.processor, writer.generation = self.processor, self.generation
            writer.names_of_apertures = self.special_sources()
            writer.address = address
            instruction = decode(code, 0, self.processor, self.lanes)
            if has_banks(self.batch.mode, self.processor):
                instruction = with_banks(instruction, self.batch.mode)
            instructions.write_instruction(writer, instruction, address, self.memory)
            before = None if self.forms is None else self.forms.before(self.batch)
            with np.errstate(all="ignore"):
                result = writer.function()(self.batch)
            if self.forms is not None:
                self.with_forms += self.forms.compare(instruction, address, before, self.batch)
            address += len(code)
        return result
