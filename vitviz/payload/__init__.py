"""The payload: an analysis as a manifest and binary files, and the viewer's files around it.

Python's half of [the viewer](../viewer/README.md), whose other half is plain JavaScript.
"""

from .bundle import bundle, css
from .page import page
from .payload import Payload, pack

__all__ = ["Payload", "bundle", "css", "pack", "page"]
