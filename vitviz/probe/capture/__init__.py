"""Capture: hooks that listen to one forward pass, and the trace that they leave."""
