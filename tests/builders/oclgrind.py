"""Oclgrind as a library: kernels in OpenCL C with buffers and images, as another program computes them."""

import ctypes
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

LIBRARY = Path("/usr/lib/oclgrind/liboclgrind-rt.so")
COPY, READ_WRITE = 1 << 5, 1 << 0
ONE_D, ONE_D_ARRAY, TWO_D, TWO_D_ARRAY, THREE_D = 0x10F4, 0x10F5, 0x10F1, 0x10F3, 0x10F2
KINDS = {"image1d_t": ONE_D, "image1d_array_t": ONE_D_ARRAY, "image2d_t": TWO_D, "image2d_array_t": TWO_D_ARRAY,
         "image3d_t": THREE_D}  # fmt: skip


class _Format(ctypes.Structure):
    _fields_ = (("order", ctypes.c_uint32), ("type", ctypes.c_uint32))


class _Extents(ctypes.Structure):
    _fields_ = (
        ("kind", ctypes.c_uint32),
        *((name, ctypes.c_size_t) for name in ("width", "height", "depth", "layers", "row", "slice")),
        ("levels", ctypes.c_uint32),
        ("samples", ctypes.c_uint32),
        ("buffer", ctypes.c_void_p),
    )


class Picture:
    """An image for a kernel: an array with an axis of channels, the type of the argument, and two words of OpenCL."""

    def __init__(self, texels: Any, kind: str, order: int, type: int) -> None:
        self.texels, self.kind, self.order, self.type = texels, kind, order, type


def run(source: str, kernel: str, grid: Sequence[int], args: Sequence[Any]) -> list[Any]:
    """What arguments that are arrays or pictures are after the kernel, and None for others."""
    return _Session(source, kernel).run(grid, args)


class _Session:
    def __init__(self, source: str, kernel: str) -> None:
        self.library = ctypes.CDLL(str(LIBRARY))
        for name in ("Context", "CommandQueue", "ProgramWithSource", "Kernel", "Buffer", "Image"):
            getattr(self.library, f"clCreate{name}").restype = ctypes.c_void_p
        platform, device = ctypes.c_void_p(), ctypes.c_void_p()
        self.call("clGetPlatformIDs", 1, ctypes.byref(platform), None)
        self.call("clGetDeviceIDs", platform, ctypes.c_uint64(0xFFFFFFFF), 1, ctypes.byref(device), None)
        self.context = self.made("Context", None, 1, ctypes.byref(device), None, None)
        self.queue = self.made("CommandQueue", self.context, device, ctypes.c_uint64(0))
        text = ctypes.c_char_p(source.encode())
        program = self.made("ProgramWithSource", self.context, 1, ctypes.byref(text), None)
        self.call("clBuildProgram", program, 0, None, b"-cl-std=CL2.0", None, None)
        self.kernel = self.made("Kernel", program, kernel.encode())

    def call(self, name: str, *words: Any) -> None:
        status = getattr(self.library, name)(*words)
        assert status == 0, (name, status)

    def made(self, name: str, *words: Any) -> ctypes.c_void_p:
        error = ctypes.c_int32()
        made = getattr(self.library, f"clCreate{name}")(*words, ctypes.byref(error))
        assert error.value == 0, (name, error.value)
        return ctypes.c_void_p(made)

    def run(self, grid: Sequence[int], args: Sequence[Any]) -> list[Any]:
        """Run the kernel, each work-item in a group of its own."""
        objects = []
        for index, value in enumerate(args):
            if isinstance(value, (Picture, np.ndarray)):
                objects.append(self.image(value) if isinstance(value, Picture) else self.buffer(value))
                word = ctypes.c_void_p(objects[-1].value)
                self.call("clSetKernelArg", self.kernel, index, ctypes.c_size_t(8), ctypes.byref(word))
            else:
                objects.append(None)
                number = ctypes.c_int32(value)
                self.call("clSetKernelArg", self.kernel, index, ctypes.c_size_t(4), ctypes.byref(number))
        sizes = (ctypes.c_size_t * len(grid))(*grid)
        self.call("clEnqueueNDRangeKernel", self.queue, self.kernel, len(grid), None, sizes, None, 0, None, None)
        self.call("clFinish", self.queue)
        return [None if made is None else self.contents(made, value) for made, value in zip(objects, args, strict=True)]

    def buffer(self, array: Any) -> ctypes.c_void_p:
        flags = ctypes.c_uint64(COPY | READ_WRITE)
        return self.made(
            "Buffer", self.context, flags, ctypes.c_size_t(array.nbytes), array.ctypes.data_as(ctypes.c_void_p)
        )

    def image(self, picture: Picture) -> ctypes.c_void_p:
        form = _Format(picture.order, picture.type)
        sizes = [*reversed(picture.texels.shape[:-1]), 1, 1]
        kind, layered = KINDS[picture.kind], picture.kind.endswith("array_t")
        axes = int(picture.kind[5])
        layers = sizes[axes] if layered else 0
        height, depth = (sizes[1] if axes > 1 else 1), (sizes[2] if axes > 2 else 1)
        extents = _Extents(kind, sizes[0], height, depth, layers)
        flags, data = ctypes.c_uint64(COPY | READ_WRITE), picture.texels.ctypes.data_as(ctypes.c_void_p)
        return self.made("Image", self.context, flags, ctypes.byref(form), ctypes.byref(extents), data)

    def contents(self, made: ctypes.c_void_p, value: Any) -> Any:
        array = np.zeros_like(value.texels if isinstance(value, Picture) else value)
        data = array.ctypes.data_as(ctypes.c_void_p)
        if isinstance(value, Picture):
            origin, region = (ctypes.c_size_t * 3)(), (ctypes.c_size_t * 3)(*[*reversed(array.shape[:-1]), 1, 1][:3])
            row = ctypes.c_size_t(0)
            self.call("clEnqueueReadImage", self.queue, made, 1, origin, region, row, row, data, 0, None, None)
        else:
            size = ctypes.c_size_t(array.nbytes)
            self.call("clEnqueueReadBuffer", self.queue, made, 1, ctypes.c_size_t(0), size, data, 0, None, None)
        return array
