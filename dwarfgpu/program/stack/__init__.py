"""Machines that stand still: their waves, lanes and call frames."""
