"""The errors of HIP: their numbers are part of its ABI (hip_runtime_api.h, ``hipError_t``)."""

SUCCESS, INVALID_VALUE, OUT_OF_MEMORY, NOT_INITIALIZED = 0, 1, 2, 3
INVALID_CONFIGURATION, INVALID_PITCH, INVALID_SYMBOL, INVALID_DEVICE_POINTER = 9, 12, 13, 17
INVALID_DIRECTION, NO_DEVICE, INVALID_DEVICE, INVALID_IMAGE = 21, 100, 101, 200
NO_BINARY, FILE_NOT_FOUND, INVALID_HANDLE, NOT_FOUND = 209, 301, 400, 500
NOT_READY, ILLEGAL_ADDRESS, INVALID_FUNCTION, LAUNCH_FAILURE = 600, 700, 98, 719
PEER_ENABLED, PEER_NOT_ENABLED, REGISTERED, NOT_REGISTERED = 704, 705, 712, 713
COOPERATIVE_TOO_LARGE, NOT_SUPPORTED, UNKNOWN = 720, 801, 999
INVALID_CONTEXT, ILLEGAL_STATE, CONTEXT_DESTROYED = 201, 401, 709
CAPTURE_UNSUPPORTED, CAPTURE_INVALIDATED, CAPTURE_MERGE, CAPTURE_UNMATCHED, CAPTURE_UNJOINED = range(900, 905)
CAPTURE_ISOLATION, CAPTURE_IMPLICIT, CAPTURED_EVENT, CAPTURE_WRONG_THREAD, UPDATE_FAILURE = 905, 906, 907, 908, 910

TEXTS: dict[int, tuple[str, str]] = {
    SUCCESS: ("hipSuccess", "no error"),
    INVALID_VALUE: ("hipErrorInvalidValue", "invalid argument"),
    OUT_OF_MEMORY: ("hipErrorOutOfMemory", "out of memory"),
    NOT_INITIALIZED: ("hipErrorNotInitialized", "initialization error"),
    4: ("hipErrorDeinitialized", "driver shutting down"),
    INVALID_CONFIGURATION: ("hipErrorInvalidConfiguration", "invalid configuration argument"),
    INVALID_PITCH: ("hipErrorInvalidPitchValue", "invalid pitch argument"),
    INVALID_SYMBOL: ("hipErrorInvalidSymbol", "invalid device symbol"),
    INVALID_DEVICE_POINTER: ("hipErrorInvalidDevicePointer", "invalid device pointer"),
    INVALID_DIRECTION: ("hipErrorInvalidMemcpyDirection", "invalid copy direction for memcpy"),
    35: ("hipErrorInsufficientDriver", "driver version is insufficient for runtime version"),
    52: ("hipErrorMissingConfiguration", "__global__ function call is not configured"),
    53: ("hipErrorPriorLaunchFailure", "unspecified launch failure in prior launch"),
    INVALID_FUNCTION: ("hipErrorInvalidDeviceFunction", "invalid device function"),
    NO_DEVICE: ("hipErrorNoDevice", "no ROCm-capable device is detected"),
    INVALID_DEVICE: ("hipErrorInvalidDevice", "invalid device ordinal"),
    INVALID_IMAGE: ("hipErrorInvalidImage", "device kernel image is invalid"),
    INVALID_CONTEXT: ("hipErrorInvalidContext", "invalid device context"),
    NO_BINARY: ("hipErrorNoBinaryForGpu", "no kernel image is available for execution on the device"),
    FILE_NOT_FOUND: ("hipErrorFileNotFound", "file not found"),
    INVALID_HANDLE: ("hipErrorInvalidHandle", "invalid resource handle"),
    ILLEGAL_STATE: ("hipErrorIllegalState", "the operation cannot be performed in the present state"),
    NOT_FOUND: ("hipErrorNotFound", "named symbol not found"),
    NOT_READY: ("hipErrorNotReady", "device not ready"),
    ILLEGAL_ADDRESS: ("hipErrorIllegalAddress", "an illegal memory access was encountered"),
    701: ("hipErrorLaunchOutOfResources", "too many resources requested for launch"),
    PEER_ENABLED: ("hipErrorPeerAccessAlreadyEnabled", "peer access is already enabled"),
    PEER_NOT_ENABLED: ("hipErrorPeerAccessNotEnabled", "peer access has not been enabled"),
    CONTEXT_DESTROYED: ("hipErrorContextIsDestroyed", "context is destroyed"),
    REGISTERED: ("hipErrorHostMemoryAlreadyRegistered", "part or all of the requested memory range is already mapped"),
    NOT_REGISTERED: ("hipErrorHostMemoryNotRegistered", "pointer does not correspond to a registered memory region"),
    LAUNCH_FAILURE: ("hipErrorLaunchFailure", "unspecified launch failure"),
    COOPERATIVE_TOO_LARGE: ("hipErrorCooperativeLaunchTooLarge", "too many blocks in cooperative launch"),
    NOT_SUPPORTED: ("hipErrorNotSupported", "operation not supported"),
    CAPTURE_UNSUPPORTED: ("hipErrorStreamCaptureUnsupported", "operation not permitted when stream is capturing"),
    CAPTURE_INVALIDATED: (
        "hipErrorStreamCaptureInvalidated",
        "operation failed due to a previous error during capture",
    ),
    CAPTURE_MERGE: ("hipErrorStreamCaptureMerge", "operation would result in a merge of separate capture sequences"),
    CAPTURE_UNMATCHED: ("hipErrorStreamCaptureUnmatched", "capture was not ended in the same stream as it began"),
    CAPTURE_UNJOINED: ("hipErrorStreamCaptureUnjoined", "capturing stream has unjoined work"),
    CAPTURE_ISOLATION: ("hipErrorStreamCaptureIsolation", "dependency created on uncaptured work in another stream"),
    CAPTURE_IMPLICIT: (
        "hipErrorStreamCaptureImplicit",
        "operation would make the legacy stream depend on a capturing blocking stream",
    ),
    CAPTURED_EVENT: (
        "hipErrorCapturedEvent",
        "operation not permitted on an event last recorded in a capturing stream",
    ),
    CAPTURE_WRONG_THREAD: (
        "hipErrorStreamCaptureWrongThread",
        "attempt to terminate a thread-local capture sequence from another thread",
    ),
    UPDATE_FAILURE: (
        "hipErrorGraphExecUpdateFailure",
        (
            "the graph update was not performed because it included changes which violated constraints specific to"
            " instantiated graph update"
        ),
    ),
    UNKNOWN: ("hipErrorUnknown", "unknown error"),
}
"""The name and the sentence of each number, as programs print them."""


def text_of(number: int) -> tuple[str, str]:
    """Return the name and the sentence of an error."""
    return TEXTS.get(number, TEXTS[UNKNOWN])
