"""Many pictures at once: their analyses one by one, a survey of them, and ablations."""
