"""The launch of kernels: what a kernel gets before its first instruction, and how a machine is given it.

`launch` starts a kernel on a machine. Before that, `planning` checks the launch and gives everything an address; the
plan is a `dispatch`, with the arguments that `kernarg` lays out. `structures` reads the queue, signals, packets and
descriptors in the memory of a machine.
"""
