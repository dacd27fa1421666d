"""The functions of OpenCL that are not here: each returns an error, and is named once."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from dwarfgpu.runtimes.opencl.contexts import creates
from dwarfgpu.runtimes.opencl.errors import ClError, refuse
from dwarfgpu.runtimes.opencl.program import API

if TYPE_CHECKING:
    from dwarfgpu.runtimes.connection import HostCall
    from dwarfgpu.runtimes.opencl.program import OpenClProgram

_RETURN_ERRORS = """
clGetGLObjectInfo clGetGLTextureInfo clEnqueueAcquireGLObjects clEnqueueReleaseGLObjects clGetGLContextInfoKHR
clGetDeviceIDsFromD3D10KHR clEnqueueAcquireD3D10ObjectsKHR clEnqueueReleaseD3D10ObjectsKHR clCreateSubDevicesEXT
clRetainDeviceEXT clReleaseDeviceEXT clGetDeviceIDsFromD3D11KHR clEnqueueAcquireD3D11ObjectsKHR
clEnqueueReleaseD3D11ObjectsKHR clGetDeviceIDsFromDX9MediaAdapterKHR clEnqueueAcquireDX9MediaSurfacesKHR
clEnqueueReleaseDX9MediaSurfacesKHR clEnqueueAcquireEGLObjectsKHR clEnqueueReleaseEGLObjectsKHR
"""
_CREATE = {
    "clCreateFromGLBuffer": 3, "clCreateFromGLTexture2D": 5, "clCreateFromGLTexture3D": 5,
    "clCreateFromGLRenderbuffer": 3, "clCreateFromD3D10BufferKHR": 3, "clCreateFromD3D10Texture2DKHR": 4,
    "clCreateFromD3D10Texture3DKHR": 4, "clCreateEventFromGLsyncKHR": 2, "clCreateFromGLTexture": 5,
    "clCreateFromD3D11BufferKHR": 3, "clCreateFromD3D11Texture2DKHR": 4, "clCreateFromD3D11Texture3DKHR": 4,
    "clCreateFromDX9MediaSurfaceKHR": 5, "clCreateFromEGLImageKHR": 5, "clCreateEventFromEGLSyncKHR": 4,
    "clCreatePipe": 5,
}  # fmt: skip
"""The parameters that each has before that for the error."""


def _lacking(call: HostCall, *_arguments: Any, name: str, error: ClError = ClError.INVALID_OPERATION) -> int:
    program: OpenClProgram = call.process
    if name not in program.lacking:
        program.lacking[name] = None
        program.problem("not-supported", f"{name} is not supported", call)
    refuse(error)


for _name in _RETURN_ERRORS.split():
    API(f"int {_name}()")(partial(_lacking, name=_name))
API("int clGetPipeInfo()")(partial(_lacking, name="clGetPipeInfo", error=ClError.INVALID_MEM_OBJECT))
for _name, _count in _CREATE.items():
    creates(f"void *{_name}({', '.join(f'void *p{number}' for number in range(_count))}, int *error)")(
        partial(_lacking, name=_name)
    )
