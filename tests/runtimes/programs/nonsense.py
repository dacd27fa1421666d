"""A script that calls each function of OpenCL's library with each kind of object, and nothing else but zeros."""

import ctypes
import sys
from pathlib import Path

library = ctypes.CDLL(sys.argv[1])
names = Path(sys.argv[2]).read_text().split()
handle = ctypes.c_void_p


def called(name, *words):
    function = getattr(library, name)
    function.restype = ctypes.c_uint64
    return function(*[ctypes.c_uint64(word) for word in (*words, *[0] * (16 - len(words)))])


def text(content):
    return ctypes.addressof(ctypes.c_char_p(content))


platform, device = handle(), handle()
called("clGetPlatformIDs", 1, ctypes.addressof(platform))
called("clGetDeviceIDs", platform.value, 4, 1, ctypes.addressof(device))
source = ctypes.c_char_p(b"kernel void k(global int *p, local int *q, sampler_t s) { p[0] = 1; }")
context = called("clCreateContext", 0, 1, ctypes.addressof(device))
queue = called("clCreateCommandQueue", context, device.value)
program = called("clCreateProgramWithSource", context, 1, ctypes.addressof(source))
called("clBuildProgram", program)
name = ctypes.create_string_buffer(b"k")
kernel = called("clCreateKernel", program, ctypes.addressof(name))
buffer = called("clCreateBuffer", context, 1, 64)
event = called("clCreateUserEvent", context)
sampler = called("clCreateSampler", context, 0, 0x1130, 0x1140)
objects = [0, platform.value, device.value, context, queue, program, kernel, buffer, event, sampler]
assert all(objects[1:]), objects
later = [each for each in names if each.startswith("clRelease")]
for name in [*(each for each in names if each not in later), *later]:
    for first in objects:
        # the second argument of some is a function, which would be called
        is_plain = name not in later and "Callback" not in name and "Native" not in name
        for second in (0, device.value, kernel, buffer) if is_plain else (0,):
            called(name, first, second)
print("ended")
