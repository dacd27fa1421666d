"""The functions of HIP that programs may name and that are not here: each returns ``hipErrorNotSupported``."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from dwarfgpu.runtimes.hip import errors
from dwarfgpu.runtimes.hip.program import API, Failure

if TYPE_CHECKING:
    from dwarfgpu.runtimes.connection import HostCall
    from dwarfgpu.runtimes.hip.program import HipProgram

_NAMES = """
hipBindTexture hipBindTexture2D hipBindTextureToArray hipBindTextureToMipmappedArray hipChooseDevice
hipChooseDeviceR0600 hipConfigureCall hipCreateSurfaceObject hipCreateTextureObject hipCtxCreate hipCtxDestroy
hipCtxGetCurrent hipCtxGetDevice hipCtxPopCurrent hipCtxPushCurrent hipCtxSetCurrent hipDestroySurfaceObject
hipDestroyTextureObject hipDeviceGetByPCIBusId hipDeviceGetCacheConfig hipDeviceGetP2PAttribute
hipDeviceGetSharedMemConfig hipDeviceGetUuid hipDevicePrimaryCtxGetState hipDevicePrimaryCtxRelease
hipDevicePrimaryCtxReset hipDevicePrimaryCtxRetain hipDevicePrimaryCtxSetFlags hipExtLaunchMultiKernelMultiDevice
hipExtStreamCreateWithCUMask hipExtStreamGetCUMask hipFreeMipmappedArray hipFuncGetAttribute hipGetDeviceFlags
hipGetMipmappedArrayLevel hipGetSymbolName hipGetTextureObjectResourceDesc hipImportExternalMemory
hipImportExternalSemaphore hipIpcCloseMemHandle hipIpcGetEventHandle hipIpcGetMemHandle hipIpcOpenEventHandle
hipIpcOpenMemHandle hipLaunchCooperativeKernelMultiDevice hipMallocMipmappedArray hipMemAddressFree
hipMemAddressReserve hipMemCreate hipMemGetAllocationGranularity hipMemMap hipMemRelease hipMemSetAccess hipMemUnmap
hipModuleGetTexRef hipSetValidDevices hipSetupArgument hipSignalExternalSemaphoresAsync hipStreamWaitValue32
hipStreamWaitValue64 hipStreamWriteValue32 hipStreamWriteValue64 hipTexRefSetAddress hipTexRefSetArray
hipTexRefSetFormat hipUnbindTexture hipUserObjectCreate hipUserObjectRelease hipWaitExternalSemaphoresAsync
"""


def _lacking(call: HostCall, *, name: str) -> int:
    program: HipProgram = call.process
    if name not in program.lacking:
        program.lacking[name] = None
        program.problem("not-supported", f"{name} is not supported", call)
    return Failure(errors.NOT_SUPPORTED)


for _name in _NAMES.split():
    API(f"hipError_t {_name}()")(partial(_lacking, name=_name))
