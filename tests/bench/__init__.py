"""Measurements beside the tests: nothing here is asserted, everything is a ratio or a time."""
