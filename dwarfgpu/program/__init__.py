"""What a user asks about: files, machines that stand still, their frames and values, and questions to the evaluator.

This is where the reader (`objfile`), the evaluator (`expr`) and the machines (`backends`) are joined. Here stand

- `program`: a file opened and a machine attached to it, from where a library user goes on;
- `expressions` in a `setting`, and `reference`: expressions by themselves, and what there is to know of each operation.

The packages, from a file to the value of a variable:

- `files`: what a file says by itself: its target and kernels, names and addresses, call frame information
- `sources`: source files, where the code of their lines is, places as users write them, and what is declared where
- `instructions`: code as text, through a disassembler that is on the machine
- `dump`: all that a file says, in the order it says it
- `dispatches`: what a kernel starts with, planned first and then written to a machine
- `machines`: machines that stand still, the code that is loaded in them, and the call frames of their threads
- `waves`: many waves and lanes at once: where each stands, and which can be asked as one
- `repairs`: what producers write and what they mean by it
- `types`, `values`, `source`, `variables`: from a type to the value of an expression in every lane
- `cases`: questions to the evaluator as JSON, with their answers
"""
