"""Reading object files: from bytes to sections, units, entries, tables and kernels. Knows no evaluator.

Nothing is read before it is asked for, and what is broken in one part hides no other. Here stand

- `source`: sections by name and the strings in them, which is all that the readers of DWARF know of a file;
- `dwarf`: the debugging information of one file, from where everything below is reached;
- `contributions`: what most sections have in common, which are a row of them;
- `addresses`: tables of addresses by index.

The packages, from the outside of a file to the inside:

- `containers`: files that hold images: bundles, offload binaries, places inside them
- `elf`: one image: sections, symbols, relocations, notes, segments
- `units`: units, their headers and tables, and where their entries are
- `entries`: debugging information entries, their abbreviations, forms and attributes
- `indexes`: look-up by name and by address, with the producer's tables or without
- `lines`, `lists`, `frames`: line tables, location and range lists, call frame information
- `kernels`: kernel descriptors and the metadata of code objects
"""
