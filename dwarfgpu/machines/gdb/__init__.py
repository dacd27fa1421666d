"""GDB as a machine: the threads of one of its processes, or the waves that it shows as threads.

`backend` does not import GDB and is like any other machine; `process` is the only module that calls it.
"""
