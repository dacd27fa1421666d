"""Programs with their states: snapshots, core files, processes in GDB, and templates.

- `program`: a file that is opened and a state that is attached to it: the start for users of the library
- `selection`: the program, wave, frame and lane that scripts find selected
- `stopped` opens a snapshot or a core file with its code, `snapshot_files` describes and converts snapshots
- `gpu_cores` opens the core files of GPUs, `core_conversion`, `core_writing` and `core_summary` work on them
- `gdb_process` is a process inside GDB, `gdb_capture` copies its waves into a snapshot
- `state_template` makes a snapshot to fill in, `agent_text` reads what the debug agent of ROCm prints
"""
