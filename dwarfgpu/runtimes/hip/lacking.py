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
hipBindTexture hipBindTexture2D hipBindTextureToArray hipBindTextureToMipmappedArray hipConfigureCall
hipExtStreamCreateWithCUMask hipExtStreamGetCUMask hipFreeMipmappedArray hipGetMipmappedArrayLevel hipGetSymbolName
hipImportExternalMemory hipImportExternalSemaphore hipIpcCloseMemHandle hipIpcGetEventHandle hipIpcGetMemHandle
hipIpcOpenEventHandle hipIpcOpenMemHandle hipMallocMipmappedArray hipMemExportToShareableHandle
hipMemImportFromShareableHandle hipMemMapArrayAsync hipModuleGetTexRef hipSetupArgument
hipSignalExternalSemaphoresAsync hipTexRefSetAddress hipTexRefSetArray hipTexRefSetFormat hipUnbindTexture
hipUserObjectCreate hipUserObjectRelease hipWaitExternalSemaphoresAsync
"""


def _lacking(call: HostCall, *, name: str) -> int:
    program: HipProgram = call.process
    if name not in program.lacking:
        program.lacking[name] = None
        program.problem("not-supported", f"{name} is not supported", call)
    return Failure(errors.NOT_SUPPORTED)


for _name in _NAMES.split():
    API(f"hipError_t {_name}()")(partial(_lacking, name=_name))
