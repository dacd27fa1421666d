"""``dwarfgpu dap``: editors debug kernels through the Debug Adapter Protocol. A thread of the protocol is a wave.

`wire` frames messages, `requests` has the table of requests and checks their arguments, `session` is one debug session
and runs the kernel; `launching`, `places`, `breakpoints`, `stack`, `variables` and `code` answer requests; `listener`
is the command.
"""
