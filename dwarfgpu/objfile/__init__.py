"""Reading object files: from bytes to sections, units, entries, tables and kernels, without evaluating anything.

Everything is read on first use, and an error in one part leaves the others readable. The modules:
- `source`: sections by name and the strings in them, which is all that the readers of DWARF know of a file
- `dwarf`: the debugging information of one file, from where everything below is reached
- `contributions`: what most sections have in common, which consist of contributions
- `addresses`: tables of addresses by index

The packages, from the outside of a file to the inside:

- `containers`: files that hold images: bundles, offload binaries, places inside them
- `elf`: one image: sections, symbols, relocations, notes, segments
- `units`: units, their headers and tables, and where their entries are
- `entries`: debugging information entries, their abbreviations, forms and attributes
- `indexes`: look-up by name and by address, with the producer's tables or without
- `lines`, `lists`, `frames`: line tables, location and range lists, call frame information
- `kernels`: kernel descriptors and the metadata of code objects
"""
