"""Programs as a user asks about them: files, stopped machines, their frames and values.

This is where the reader (`objfile`), the evaluator (`expr`) and the machines (`backends`) are joined. The modules:

- `program`: a file that is opened and a state that is attached to it: the start for users of the library
- `selection`: the program, wave, frame and lane that scripts find selected

The packages, from a file to the value of a variable:

- `code`: one file and the files that are loaded: names, source lines, frame rows, instructions
- `dump`: all that a file says, in file order
- `types`, `values`: types from entries, and objects of a type at a location
- `launch`: what a kernel starts with, planned first and then written to a machine
- `stack`: stopped machines, their waves and lanes, and the call frames of those
- `language`: source expressions, from the text to a value
- `variables`: variables and expressions in frames, with their values in every lane
"""
