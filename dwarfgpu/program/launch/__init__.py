"""Dispatches: what a kernel gets before its first instruction, and how a machine is given it.

`launch` starts a kernel on a machine. Before that `planning` checks all that can be wrong and gives everything an
address; the plan is a `dispatch`, with the arguments that `kernarg` lays out. `structures` reads what then lies in the
memory of a machine: queue, signal, packet, descriptor.
"""
