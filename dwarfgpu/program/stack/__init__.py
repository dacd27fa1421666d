"""Machines that stand still: the code that is loaded in them, and the call frames of their threads.

`stopped` opens a machine with its files: a snapshot (`snapshots` says what is in one) or a core file (`cores`).
`loaded` says which file an address belongs to, and `units` what expressions ask of a unit there. `stack` has the call
frames of a thread, `call_sites` what parameters were at a call, and `backtrace` shows the frames as a user reads them.
"""
