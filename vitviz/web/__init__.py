"""The web app: hosts the viewer in Gradio. Only this room imports gradio."""

import os

# Read by gradio at import: without this it asks its maker's server for news and counts visitors.
os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")

from .page import build_app
from .settings import Settings

__all__ = ["Settings", "build_app"]
