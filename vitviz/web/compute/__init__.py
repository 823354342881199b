"""Computing: an engine turns orders into results, with turns, cores and models."""
