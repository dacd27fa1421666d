"""Programs with their states: snapshots, core files and processes in GDB.

- `program`: a file that is opened and a state that is attached to it: the start for users of the library
- `hosts` tell scripts which program, wave, frame and lane are selected
- `stopped` is a machine with its code; `opening` tells what a name means and opens it: a snapshot, or by `host_cores`,
  `gpu_cores` and `agent_text` a core file of a host or of GPUs, or what the debug agent of ROCm prints
- `snapshot_files` describes and converts snapshots; `core_conversion`, `core_writing` and `core_summary` work on the
  core files of GPUs
- `gdb_process` is a process inside GDB, `gdb_capture` copies its waves into a snapshot
"""
