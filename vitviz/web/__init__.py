"""The web app: hosts the viewer in Gradio. Nothing outside this folder imports gradio."""

import os
from typing import TYPE_CHECKING, Any

from .host.settings import Settings
from .page.serving import serve

if TYPE_CHECKING:
    from .page.gradio_inside import App

__all__ = ["Settings", "build_app", "serve"]

# Gradio reads this at import. Unless it is False, it checks for new versions and sends usage data.
os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")


def build_app(settings: Settings | None = None) -> "tuple[App, dict[str, Any]]":
    """Build the app, and the arguments for its `launch`; `serve` takes both.

    Raises `WeightsError` if a model that the host named cannot be loaded.
    """
    from .page.build import build  # gradio takes seconds to import, and `--help` does not need it

    return build(settings or Settings())
