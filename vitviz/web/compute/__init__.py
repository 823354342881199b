"""Computing: an engine turns jobs into results, with turns, cores and models."""
