"""OpenCL's library as programs and loaders load it."""

from __future__ import annotations

from pathlib import Path

from dwarfgpu.runtimes.doors import build_door
from dwarfgpu.runtimes.opencl import buffers, code, commands, contexts, images, kernels, lacking, svm  # noqa: F401 (they declare functions)
from dwarfgpu.runtimes.opencl.program import API, OpenClProgram

_DISPATCH = """
clGetPlatformIDs clGetPlatformInfo clGetDeviceIDs clGetDeviceInfo clCreateContext clCreateContextFromType
clRetainContext clReleaseContext clGetContextInfo clCreateCommandQueue clRetainCommandQueue clReleaseCommandQueue
clGetCommandQueueInfo clSetCommandQueueProperty clCreateBuffer clCreateImage2D clCreateImage3D clRetainMemObject
clReleaseMemObject clGetSupportedImageFormats clGetMemObjectInfo clGetImageInfo clCreateSampler clRetainSampler
clReleaseSampler clGetSamplerInfo clCreateProgramWithSource clCreateProgramWithBinary clRetainProgram clReleaseProgram
clBuildProgram clUnloadCompiler clGetProgramInfo clGetProgramBuildInfo clCreateKernel clCreateKernelsInProgram
clRetainKernel clReleaseKernel clSetKernelArg clGetKernelInfo clGetKernelWorkGroupInfo clWaitForEvents clGetEventInfo
clRetainEvent clReleaseEvent clGetEventProfilingInfo clFlush clFinish clEnqueueReadBuffer clEnqueueWriteBuffer
clEnqueueCopyBuffer clEnqueueReadImage clEnqueueWriteImage clEnqueueCopyImage clEnqueueCopyImageToBuffer
clEnqueueCopyBufferToImage clEnqueueMapBuffer clEnqueueMapImage clEnqueueUnmapMemObject clEnqueueNDRangeKernel
clEnqueueTask clEnqueueNativeKernel clEnqueueMarker clEnqueueWaitForEvents clEnqueueBarrier
clGetExtensionFunctionAddress clCreateFromGLBuffer clCreateFromGLTexture2D clCreateFromGLTexture3D
clCreateFromGLRenderbuffer clGetGLObjectInfo clGetGLTextureInfo clEnqueueAcquireGLObjects clEnqueueReleaseGLObjects
clGetGLContextInfoKHR clGetDeviceIDsFromD3D10KHR clCreateFromD3D10BufferKHR clCreateFromD3D10Texture2DKHR
clCreateFromD3D10Texture3DKHR clEnqueueAcquireD3D10ObjectsKHR clEnqueueReleaseD3D10ObjectsKHR clSetEventCallback
clCreateSubBuffer clSetMemObjectDestructorCallback clCreateUserEvent clSetUserEventStatus clEnqueueReadBufferRect
clEnqueueWriteBufferRect clEnqueueCopyBufferRect clCreateSubDevicesEXT clRetainDeviceEXT clReleaseDeviceEXT
clCreateEventFromGLsyncKHR clCreateSubDevices clRetainDevice clReleaseDevice clCreateImage
clCreateProgramWithBuiltInKernels clCompileProgram clLinkProgram clUnloadPlatformCompiler clGetKernelArgInfo
clEnqueueFillBuffer clEnqueueFillImage clEnqueueMigrateMemObjects clEnqueueMarkerWithWaitList
clEnqueueBarrierWithWaitList clGetExtensionFunctionAddressForPlatform clCreateFromGLTexture clGetDeviceIDsFromD3D11KHR
clCreateFromD3D11BufferKHR clCreateFromD3D11Texture2DKHR clCreateFromD3D11Texture3DKHR clCreateFromDX9MediaSurfaceKHR
clEnqueueAcquireD3D11ObjectsKHR clEnqueueReleaseD3D11ObjectsKHR clGetDeviceIDsFromDX9MediaAdapterKHR
clEnqueueAcquireDX9MediaSurfacesKHR clEnqueueReleaseDX9MediaSurfacesKHR clCreateFromEGLImageKHR
clEnqueueAcquireEGLObjectsKHR clEnqueueReleaseEGLObjectsKHR clCreateEventFromEGLSyncKHR
clCreateCommandQueueWithProperties clCreatePipe clGetPipeInfo clSVMAlloc clSVMFree clEnqueueSVMFree clEnqueueSVMMemcpy
clEnqueueSVMMemFill clEnqueueSVMMap clEnqueueSVMUnmap clCreateSamplerWithProperties clSetKernelArgSVMPointer
clSetKernelExecInfo clGetKernelSubGroupInfoKHR clCloneKernel clCreateProgramWithIL clEnqueueSVMMigrateMem
clGetDeviceAndHostTimer clGetHostTimer clGetKernelSubGroupInfo clSetDefaultDeviceCommandQueue
clSetProgramReleaseCallback clSetProgramSpecializationConstant clCreateBufferWithProperties
clCreateImageWithProperties clSetContextDestructorCallback
"""
"""The functions in the order of the table that each object begins with (cl_khr_icd; CL/cl_icd.h)."""
_OF_DOOR = ("clGetPlatformIDs", "clGetExtensionFunctionAddress", "clGetExtensionFunctionAddressForPlatform")
_VERSIONS = ("OPENCL_1.0", "OPENCL_1.1", "OPENCL_1.2", "OPENCL_2.0", "OPENCL_2.1", "OPENCL_2.2", "OPENCL_3.0")
_STAND_IN = "libOpenCL.so.1"
_LOADED = Path("/etc/ld.so.cache")


def tables() -> str:
    """Return the C of the table of functions, and of that by which they are found by name."""
    names = [row.name for row, _function in API.rows if row.name.startswith("cl")]
    declared = "".join(f"extern void {name}(void);\n" for name in _OF_DOOR)
    table = ", ".join(f"(void *){name}" for name in _DISPATCH.split())
    named = ", ".join(f'{{"{name}", (void *){name}}}' for name in (*_OF_DOOR, *names))
    return (
        f"{declared}void *const dwarfgpu_dispatch[] = {{{table}}};\n"
        f"const struct {{ const char *name; void *function; }} dwarfgpu_functions[] = {{{named}, {{0, 0}}}};\n"
    )


def install(folder: Path) -> dict[str, str]:
    """Write the library into a folder, and what tells loaders of it; return the variables that they read.

    Where the system has no loader, the library stands in for it.
    """
    library = folder / OpenClProgram.LIBRARY
    library.write_bytes(build_door(API, ("opencl.c",), OpenClProgram.LIBRARY, _VERSIONS, tables()))
    vendors = folder / "vendors"
    vendors.mkdir()
    (vendors / "dwarfgpu.icd").write_text(f"{library}\n")
    if not _LOADED.exists() or _STAND_IN.encode() not in _LOADED.read_bytes():
        for name in (_STAND_IN, _STAND_IN.removesuffix(".1")):
            (folder / name).symlink_to(library.name)
    return {"OCL_ICD_VENDORS": str(vendors), "OPENCL_VENDOR_PATH": str(vendors)}
