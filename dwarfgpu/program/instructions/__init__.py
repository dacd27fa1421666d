"""Machine instructions as text, through a disassembler that is on the machine.

`image` puts bytes into an ELF file of their own, and `llvm_mc` into what LLVM's assembler reads; `tool` finds and runs
a disassembler, and `listing` reads what it writes and remembers it.
"""
