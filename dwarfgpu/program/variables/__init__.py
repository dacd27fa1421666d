"""Variables and expressions in the frames of waves: their value in every lane, where it is, and why there is none."""
