"""Cases: questions to the evaluator as JSON objects, and their answers.

`case` reads a question, with `context` for the machine, frame and unit that it describes (`described`) and `json_types`
for types, values and locations. `answer` evaluates it, `json_answers` writes what came out, and `run` is the way from
JSON to JSON. `question` makes a case of what is asked on a command line; `top_frame` is the frame of a machine without
a file. `frame_cases` and `list_cases` are the same for call frame information and for location lists.
"""
