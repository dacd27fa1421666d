"""A table of where every local variable of the selected frame lives, and what is in it."""

import dwarfgpu.gdb as dg

frame = dg.selected()
print(f"{frame.name}:")
for variable in frame.variables():
    reason = variable.why()
    if reason is not None:
        print(f"  {variable.name:20} {reason.message}")
        continue
    where = ", ".join(str(part) for part in dg.locate(variable.name))
    print(f"  {variable.name:20} {where}")
