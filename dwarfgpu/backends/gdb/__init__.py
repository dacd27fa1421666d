"""GDB as a machine: the threads of one of its processes, or the waves that it shows as threads.

`backend` knows no GDB and is like any other machine; `process` is the only part that calls it.
"""
