"""Variables and expressions in the frames of waves: what they are in every lane, where they live, and why they are not."""
