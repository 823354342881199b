"""The instruments: the trace of one forward pass, and what can be computed from it."""
