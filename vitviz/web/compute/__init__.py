"""The computing room: orders go in, results come out, each with its turn, cores and model."""
