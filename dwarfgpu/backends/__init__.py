"""The machines that hold the registers and the memory of an evaluation."""
