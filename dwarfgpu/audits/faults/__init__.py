"""Why waves have stopped: the accesses that may have failed, the memory they missed, and what waves wait for."""
