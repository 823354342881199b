"""The viewer: the interactive page in plain JavaScript, and the payload that it draws.

A host needs three texts: `bundle()` and `css()`, and for every analysis a `pack(analysis)`.
`page(analysis)` is a host of its own: one HTML file.
"""

from .bundle import bundle, css
from .page import page
from .payload import Payload, pack

__all__ = ["Payload", "bundle", "css", "pack", "page"]
