"""Interventions: what can be changed in a pass, and the surgery that does it."""
