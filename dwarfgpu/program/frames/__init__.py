"""Frames and what is visible in them: stacks, lanes, variables, and the values of expressions.

- `execution` has what all frames share, `frame` the frames of a thread and each of them, `call_sites` what parameters
  were at a call, and `backtrace` the frames as they are shown
- `wave` is one wave, `wave_groups` are waves at one place, `wave_positions` their places in the dispatch, and
  `all_waves` asks all of them at once
- `lanes` are the lanes of a wave, `lane_state` reads the attributes about them
- `variable` is a variable of a frame, `names` finds what a name means, and `evaluator` computes expressions; both give
  a quantity, which has `answers` in every lane, or a reason of `reasons`
- `registers` are the types of registers, `history` what a debugger remembers of values
- `selectors` and `linespec` read how users name waves, lanes and places
"""
