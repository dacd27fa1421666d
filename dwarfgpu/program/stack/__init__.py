"""Stopped machines, their waves and lanes, and the call frames of their threads.

- `stopped` opens a snapshot or a core file with its code, `snapshot_files` describes and converts snapshots
- `gdb_process` is a process inside GDB, `gdb_capture` copies its waves into a snapshot
- `execution` has what all frames share, `call_stack` the frames of a thread, `frame` one of them, `call_sites` what
  parameters were at a call, and `backtrace` the frames as they are shown
- `wave` is one wave, `wave_groups` are waves at one place, `wave_positions` their places in the dispatch, and
  `all_waves` asks all of them at once
- `lanes` are the lanes of a wave, `lane_state` reads the attributes about them
- `selectors` and `linespec` read how users name waves, lanes and places; `address_aliases` finds one byte in all
  address spaces
"""
