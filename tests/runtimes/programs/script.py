"""A script that calls OpenCL by itself: its kernel writes behind a buffer."""

import ctypes
import sys

# with CDLL, calls release the lock of the interpreter
library = getattr(ctypes, sys.argv[1])("libOpenCL.so.1")
for name in (
    "clCreateContext",
    "clCreateCommandQueue",
    "clCreateBuffer",
    "clCreateProgramWithSource",
    "clCreateKernel",
):
    getattr(library, name).restype = ctypes.c_void_p
handle, size = ctypes.c_void_p, ctypes.c_size_t
platform, device, error = handle(), handle(), ctypes.c_int()
SOURCE = b"kernel void twice(global int *out, int n) { int i = get_global_id(0); out[i + n] = 2 * i; }"


def executed(queue, kernel):
    library.clEnqueueNDRangeKernel(queue, kernel, 1, None, ctypes.byref(size(64)), None, 0, None, None)


library.clGetPlatformIDs(1, ctypes.byref(platform), None)
library.clGetDeviceIDs(platform, ctypes.c_uint64(4), 1, ctypes.byref(device), None)
context = handle(library.clCreateContext(None, 1, ctypes.byref(device), None, None, None))
queue = handle(library.clCreateCommandQueue(context, device, ctypes.c_uint64(0), None))
text = ctypes.c_char_p(SOURCE)
program = handle(library.clCreateProgramWithSource(context, 1, ctypes.byref(text), None, None))
library.clBuildProgram(program, 0, None, b"-g", None, None)
kernel = handle(library.clCreateKernel(program, b"twice", None))
cells = handle(library.clCreateBuffer(context, ctypes.c_uint64(1), size(256), None, None))
library.clSetKernelArg(kernel, 0, size(8), ctypes.byref(cells))
library.clSetKernelArg(kernel, 1, size(4), ctypes.byref(ctypes.c_int(1)))
executed(queue, kernel)
print("ended", library.clFinish(queue))
