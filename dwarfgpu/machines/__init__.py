"""The machines that hold the registers and the memory of an evaluation.

- `protocol` is what an evaluation needs of a machine, and `machine` waves with registers (`columns`) and `memory`,
  which keeps its bytes as `extents`; `addressing` converts between address spaces
- `described` is the machine of a case, `starting` the state of registers before the first instruction
- `snapshot` is a machine in a file: `snapshot_json`, or a `snapshot_folder`
- `core` is a core file of a host program, `gdb` a process inside GDB
"""
