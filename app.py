"""Start the app: `python app.py`, then open the address it prints; `--help` lists the options."""

import logging
import sys

from vitviz.errors import VitvizError
from vitviz.web import Settings, build_app, serve


def main() -> None:
    """Read the settings, load the host's models, serve until interrupted or terminated."""
    settings = Settings.from_args()
    logging.basicConfig(
        level=logging.WARNING, format="%(asctime)s %(name)s %(levelname)s %(message)s"
    )
    logging.getLogger("vitviz").setLevel(settings.log_level.upper())
    try:
        demo, options = build_app(settings)
    except VitvizError as error:
        sys.exit(f"app.py: {error}")
    serve(demo, options)


if __name__ == "__main__":
    main()
