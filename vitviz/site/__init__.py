"""The site: vitviz as a folder of files, which any web server, a Space or a double click shows."""

from .site import Report, write_site

__all__ = ["Report", "write_site"]
