from dwarfgpu.expr.instruction import Expression
from dwarfgpu.expr.listing import Line, lines


def operations_of(expression: Expression) -> str:
    """An expression as it stands in a row: its listing, with the operands as decimal numbers."""
    return "; ".join(map(_operation, lines(expression)))


def _operation(line: Line) -> str:
    """One line of the listing: operations in an operation follow it, a block has its length before it."""
    if line.name.startswith("("):
        return f"<{line.bytes.hex(' ')}>"
    name, *words = line.text.replace("(", "").replace(")", "").replace(";", "").split()
    found: list[str] = [name]
    for word in words:
        if word.startswith("DW_OP_"):
            found[-1] += ";"
            found.append(word)
        elif name == "DW_OP_implicit_value":
            data = bytes.fromhex(word.removeprefix("0x"))
            found += map(str, [len(data), *data])
        else:
            try:
                found.append(str(int(word, 0)))
            except ValueError:
                found.append(word)
    return " ".join(found)
