"""Write an array of every lane to a file: a tile with a row for each lane."""

import numpy as np

import dwarfgpu.gdb as dg

values = dg.selected().variable("slots").values("all")
np.save("slots.npy", values.filled(0))
print(values.array.shape, values.array.dtype)
for lane in values.lanes:
    if lane not in values.reasons:
        print(lane, values.states[lane], values.array[lane])
