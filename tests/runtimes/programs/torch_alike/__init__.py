"""What a script of the tests asks of torch, over numpy: functions call the mode in force before they do anything."""

import functools

import numpy as np

from . import cuda as cuda
from . import overrides

float32 = np.float32


def _overridden(function):
    @functools.wraps(function)
    def called(*args, **kwargs):
        mode = overrides.modes[-1] if overrides.modes else None
        if mode is None:
            return function(*args, **kwargs)
        overrides.modes.pop()
        try:
            return mode.__torch_function__(called, (), args, kwargs)
        finally:
            overrides.modes.append(mode)

    return called


class device:  # noqa: N801 (torch calls it so)
    def __init__(self, kind, index=None):
        self.type, self.index = kind, index

    def __str__(self):
        return self.type


class _IsCuda:
    def __get__(self, tensor, kind=None):
        if tensor is None:
            return self
        return overrides.modes[-1].__torch_function__(self.__get__, (), (tensor,))


class Tensor:
    is_cuda = _IsCuda()

    def __init__(self, array):
        self.array, self.shape, self.dtype = array, array.shape, f"torch.{array.dtype}"
        self.device = device("cpu")

    @_overridden
    def cuda(self):
        raise AssertionError("Torch not compiled with CUDA enabled")

    def data_ptr(self):
        return self.array.ctypes.data

    def element_size(self):
        return self.array.itemsize

    def stride(self):
        return (1,)

    def tolist(self):
        return self.array.tolist()


@_overridden
def arange(count, *, dtype=np.int64, device="cpu"):
    assert str(device) == "cpu", "Torch not compiled with CUDA enabled"
    return Tensor(np.arange(count, dtype=dtype))
