"""The command `vitviz serve`: from its arguments to a page that visitors can open."""

import logging
from collections.abc import Sequence
from urllib.parse import urlsplit

from . import build_app, serve
from .host.address import check_listens
from .host.descriptors import Rarely, raise_descriptors
from .host.log_lines import bound_log
from .host.settings import Settings


def serve_page(argv: Sequence[str]) -> None:
    """Read the settings, load the host's models, serve until interrupted or terminated.

    Raises `VitvizError` for arguments that cannot be used.
    """
    from .host.protocol import bound  # uvicorn takes a moment to import

    settings = Settings.from_args(argv)
    check_listens(settings.address(), settings.port)
    logging.basicConfig(
        level=logging.WARNING, format="%(asctime)s %(name)s %(levelname)s %(message)s"
    )
    logging.getLogger("asyncio").addFilter(Rarely())
    bound_log()
    raise_descriptors()
    bound()
    logging.getLogger("vitviz").setLevel(settings.log_level.upper())
    print("vitviz starts: its address comes in some seconds", flush=True)
    demo, options = build_app(settings)

    def begun() -> None:
        if demo.share_url:
            demo.origins.add(demo.share_url)
        if demo.classroom:
            port = urlsplit(demo.local_url).port or 80
            print(demo.classroom.opened(demo.server_name, port), flush=True)

    serve(demo, options, begun)
