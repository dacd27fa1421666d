"""Files by themselves: what one says before anything of it is loaded.

`codeobject` joins the parts of one file, and what there is to say about it as a whole is in `summary`. `codelookup`
answers what is at an address and what a name means. `frames` joins the file's call frame information with the target
and the decoder of expressions, and `frame_lookup` finds entries of it.
"""
