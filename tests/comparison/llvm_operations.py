import re

from dwarfgpu.targets.target import Target

_TOKEN = re.compile(r"[A-Za-z_][\w.]*|[+-]?0x[0-9a-f]+|[+-]?\d+")
REGISTERS = {
    "PC_REG": 16,  # AMDGPU
    "EXEC_LO": 1,
    "ECX": 1,  # i386
    **{f"MM{n}": 29 + n for n in range(8)},
    **{f"F{n}": 32 + n for n in range(32)},  # PowerPC
    **{f"X{n}": n for n in range(32)},
    **{f"S{n}": 1200 + n for n in range(32)},
}
"""Registers that have another name in dwarfgpu, or belong to a target that it does not describe."""


def operations_of(text: str, target: Target) -> str:
    """The operations that llvm-dwarfdump prints: names, and operands as decimal numbers; at last the undecoded bytes.

    It prints ``DW_OP_LLVM_user`` before the name of a user operation, a register by its name before ``+`` or ``-``, and
    beside the name of an operation that implies it; a block as its length and bytes; ``(0x00000024 -> 0x0000002f)
    "int"`` for a base type, whose second number is its offset in the section; an expression in parentheses that it does
    not close when it holds more than one operation.
    """
    text, error, rest = text.replace("<empty>", "").partition("<decoding error>")
    text = re.sub(r'"[^"]*"', "", text)
    text = re.sub(r"\((0x[0-9a-f]+) -> 0x[0-9a-f]+\)", r"\1", text)
    operations: list[list[str]] = []
    for token in _TOKEN.findall(text.replace("DW_OP_LLVM_user DW_OP", "DW_OP")):
        if token.startswith("DW_OP_"):
            operations.append([token])
        elif not token[0].isalpha():
            operations[-1].append(str(int(token, 0)))
        elif not re.fullmatch(r"DW_OP_b?reg\d+", operations[-1][0]):
            register = target.register_named(token)
            operations[-1].append(str(REGISTERS.get(token, token) if register is None else register.number))
    shown = [" ".join(words) for words in operations]
    return "; ".join([*shown, f"<{rest.strip(' )')}>"] if error else shown)
