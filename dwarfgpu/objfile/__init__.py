"""Reading object files: from bytes to sections, units, entries, tables and kernels, without evaluating anything.

Everything is read on first use, and an error in one part leaves the others readable. The modules:

- `section_source`: sections by name and the strings in them, which is all that the readers of DWARF know of a file
- `dwarf`: the debugging information of one file, from where everything below is reached
- `contributions`: what the sections that consist of contributions have in common

The packages, from the outside of a file to the inside:

- `containers`: files that hold images: bundles, offload binaries, places inside them
- `elf`: one image: sections, symbols, relocations, notes, segments
- `info`: units with their headers and tables, and entries with their abbreviations, forms and attributes
- `indexes`: look-up by name and by address, with the producer's tables or without
- `lines`, `lists`, `frames`: line tables, location and range lists, call frame information
- `kernels`: kernel descriptors and the metadata of code objects
"""
