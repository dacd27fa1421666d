"""A script for any host: every variable of every frame of every wave, in every lane, and what is selected."""

import json

import dwarfgpu.gdb as dg

for wave in dg.waves():
    print("@@", wave.id, hex(wave.pc), [lane.is_active for lane in wave.lanes])
    for frame in wave.frames():
        print("@@", frame.number, frame.name, hex(frame.pc), frame.active_mask)
        for variable in frame.variables():
            values = variable.values()
            print("@@", variable.name, json.dumps(values.array.tolist()), values.states)
            for lane in (0, 3):
                reason = variable.why(lane)
                print("@@", lane, reason.kind if reason else [str(each) for each in variable.provenance(lane)])
frame = dg.selected()
print("@@", dg.wave().id, frame.number, frame.name, frame.selected_lane)
for variable in frame.variables():
    print("@@", [str(each) for each in dg.locate(variable.name)] if variable.why() is None else variable.why().kind)
print("@@", dg.eval("$lane * 2", lanes="active").array.tolist(), dg.eval("$exec").array[0].item(), len(dg.attached()))
