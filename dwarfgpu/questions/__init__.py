"""What can be typed at a prompt. The debugger and GDB have the same commands, which do not know where they are run.

`table` declares them, `registry` finds one by what was typed, `words` reads its arguments. A `Debugger` is what they
work on: a program, a machine, and the wave, lane and frame that are selected. The other modules are the commands.
"""
