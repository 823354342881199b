"""The instruments: what one forward pass left behind, and what can be read from it."""
