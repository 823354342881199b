"""Explainers: how much every patch matters for an answer, and fair tests of such maps."""
