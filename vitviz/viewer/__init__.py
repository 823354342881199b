"""The viewer: the interactive page in plain JavaScript.

A host needs three texts: `bundle()` and `css()`, and for every analysis a `pack(analysis)`, which
`vitviz.payload` makes. `page(analysis)` is a host of its own: one HTML file.
"""

from ..payload import Payload, bundle, css, pack, page

__all__ = ["Payload", "bundle", "css", "pack", "page"]
