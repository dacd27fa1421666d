"""The functions of HIP that programs may name and that are not here: each returns ``hipErrorNotSupported``."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from dwarfgpu.runtimes.hip import errors
from dwarfgpu.runtimes.hip.program import API, refuse

if TYPE_CHECKING:
    from dwarfgpu.runtimes.connection import HostCall
    from dwarfgpu.runtimes.hip.program import HipProgram

_NAMES = {
    "hip": """
        Array3DGetDescriptor ArrayGetDescriptor ConfigureCall DestroyExternalMemory
        DestroyExternalSemaphore DeviceGetGraphMemAttribute DeviceGetTexture1DLinearMaxWidth DeviceGraphMemTrim
        DeviceSetGraphMemAttribute DrvPointerGetAttributes ExtGetLinkTypeAndHopCount ExtStreamCreateWithCUMask
        ExtStreamGetCUMask ExternalMemoryGetMappedBuffer ExternalMemoryGetMappedMipmappedArray FreeMipmappedArray
        GLGetDevices GraphicsGLRegisterBuffer GraphicsGLRegisterImage ImportExternalMemory ImportExternalSemaphore
        LaunchByPtr MallocMipmappedArray RegisterActivityCallback RegisterApiCallback RemoveActivityCallback
        RemoveApiCallback SetupArgument SignalExternalSemaphoresAsync UserObjectCreate
        UserObjectRelease UserObjectRetain WaitExternalSemaphoresAsync""",
    "hipBindTexture": """ToMipmappedArray""",
    "hipDrvGraph": """
        AddMemFreeNode AddMemcpyNode AddMemsetNode ExecMemcpyNodeSetParams ExecMemsetNodeSetParams
        MemcpyNodeGetParams MemcpyNodeSetParams""",
    "hipGet": """
        DriverEntryPoint FuncBySymbol MipmappedArrayLevel ProcAddress SymbolName
        TextureObjectResourceViewDesc""",
    "hipGraph": """
        AddBatchMemOpNode AddExternalSemaphoresSignalNode AddExternalSemaphoresWaitNode AddMemAllocNode
        AddMemFreeNode AddNode BatchMemOpNodeGetParams BatchMemOpNodeSetParams DebugDotPrint
        ExecBatchMemOpNodeSetParams ExecExternalSemaphoresSignalNodeSetParams
        ExecExternalSemaphoresWaitNodeSetParams ExecNodeSetParams ExternalSemaphoresSignalNodeGetParams
        ExternalSemaphoresSignalNodeSetParams ExternalSemaphoresWaitNodeGetParams
        ExternalSemaphoresWaitNodeSetParams InstantiateWithParams KernelNodeCopyAttributes KernelNodeGetAttribute
        KernelNodeSetAttribute MemAllocNodeGetParams MemFreeNodeGetParams NodeSetParams ReleaseUserObject
        RetainUserObject""",
    "hipGraphics": """
        MapResources ResourceGetMappedPointer SubResourceGetMappedArray UnmapResources UnregisterResource""",
    "hipIpc": """CloseMemHandle GetEventHandle GetMemHandle OpenEventHandle OpenMemHandle""",
    "hipLibrary": """GetKernel GetKernelCount LoadData LoadFromFile Unload""",
    "hipLink": """AddData AddFile Complete Create Destroy""",
    "hipMem": """
        Advise_v2 ExportToShareableHandle GetHandleForAddressRange ImportFromShareableHandle MapArrayAsync
        PrefetchAsync_v2 RangeGetAttributes""",
    "hipMemPool": """ExportPointer ExportToShareableHandle ImportFromShareableHandle ImportPointer""",
    "hipMemcpy": """
        2DArrayToArray 3DBatchAsync 3DPeer 3DPeerAsync AtoA AtoD AtoHAsync BatchAsync DtoA HtoAAsync""",
    "hipMemset": """D2D16 D2D16Async D2D32 D2D32Async D2D8 D2D8Async""",
    "hipMipmappedArray": """Create Destroy GetLevel""",
    "hipModule": """
        GetFunctionCount GetTexRef LaunchCooperativeKernelMultiDevice
        OccupancyMaxActiveBlocksPerMultiprocessorWithFlags OccupancyMaxPotentialBlockSizeWithFlags""",
    "hipStream": """BatchMemOp GetAttribute GetId SetAttribute""",
    "hipTexObject": """Create Destroy GetResourceDesc GetResourceViewDesc GetTextureDesc""",
    "hipTexRef": """
        GetAddress GetAddressMode GetArray GetBorderColor GetFilterMode GetFlags GetFormat GetMaxAnisotropy
        GetMipMappedArray GetMipmapFilterMode GetMipmapLevelBias GetMipmapLevelClamp SetAddress SetAddress2D
        SetAddressMode SetArray SetBorderColor SetFilterMode SetFlags SetFormat SetMaxAnisotropy SetMipmapFilterMode
        SetMipmapLevelBias SetMipmapLevelClamp SetMipmappedArray""",
}
"""The rest of each name, by how it begins."""


def _lacking(call: HostCall, *, name: str) -> None:
    program: HipProgram = call.process
    if name not in program.lacking:
        program.lacking[name] = None
        program.problem("not-supported", f"{name} is not supported", call)
    refuse(errors.NOT_SUPPORTED)


for _start, _ends in _NAMES.items():
    for _end in _ends.split():
        API(f"hipError_t {_start}{_end}()")(partial(_lacking, name=_start + _end))
