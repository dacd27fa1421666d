"""Cases: questions to the evaluator as JSON objects, and their answers.

`case` reads a question and writes the answer, with `context` for the described machine, frame and unit, and
`json_types` for types, values and locations. `question` makes a case of a command line. `section_cases` are the same
for call frame information and for location lists.
"""
