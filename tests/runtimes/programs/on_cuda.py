"""A script whose tensors are on the device "cuda" of torch."""

import torch
import triton
import triton.language as tl


@triton.jit
def double(x, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(x + at, tl.load(x + at) * 2)


assert torch.cuda.is_available()
assert torch.cuda.device_count() == 1
properties = torch.cuda.get_device_properties(0)
x = torch.arange(4, dtype=torch.float32, device="cuda")
y = torch.arange(4, dtype=torch.float32).cuda()
z = torch.arange(4, device=torch.device("cuda", 0))
print(properties.name, properties.warp_size, x.device, y.device, z.device, x.is_cuda)
double[(1,)](x, BLOCK=4)
torch.cuda.synchronize()
print(x.tolist())
