"""vitviz: take a Vision Transformer apart and look at every number on the way from a photo to an answer."""

__version__ = "0.1.0"
