"""Measures: what a trace says by itself: heads, tokens, positions, mixing, answers."""
