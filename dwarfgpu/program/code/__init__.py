"""Code: one file by itself, and the files that are loaded.

- `code_object` joins the parts of a file, `file_summary` describes it as a whole
- `loaded` has the files at their addresses in the running program with the expressions of their entries at a program
  location, `thread_storage` their thread-local variables
- `code_lookup` answers what is at an address and what a name refers to; `scopes` has the functions and blocks at an
  address, `completion_index` the names in order, `declarations` where names are declared
- `source_files` has the source and where the code of its lines is
- `instructions` lists machine code: that of AMD GPUs with `dwarfgpu.isa`, other through disassemblers
- `frame_rows` is call frame information with the registers of the target; `frames_by_code` reads the code of functions
  that have none
- `encoding_context` is what expressions are written and read for, `dumped_expressions` shows them, and `repairs`
  works around compiler bugs in them
"""
