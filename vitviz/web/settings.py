"""The settings of a host: models, address, sharing."""

import argparse
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

EPILOG = """\
environment, for hosts that cannot pass arguments (a Hugging Face Space):
  VITVIZ_MODELS        as --model, several separated by commas
  GRADIO_SERVER_NAME   as --host
  GRADIO_SERVER_PORT   as --port
  GRADIO_SHARE         True: as --share

Visitors choose among the models on the menu; only these arguments can name a file or a hub id.
"""


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The settings of a host; for None, gradio and its environment decide.

    models: paths or names as `vitviz.load` takes them, shown first.
    """

    models: tuple[str, ...] = ()
    host: str | None = None
    port: int | None = None
    share: bool | None = None

    @classmethod
    def from_args(
        cls, argv: Sequence[str] | None = None, environ: Mapping[str, str] = os.environ
    ) -> "Settings":
        """Read a command line. Ends the program with a usage message if it cannot be understood."""
        parser = argparse.ArgumentParser(
            prog="app.py",
            description="vitviz: take a Vision Transformer apart in the browser.",
            epilog=EPILOG,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        parser.add_argument(
            "--model",
            action="append",
            default=[],
            metavar="PATH_OR_NAME",
            help="put a model on the menu: a checkpoint file, a timm name, hf-hub:owner/name or"
            " local-dir:folder; may be repeated",
        )
        parser.add_argument(
            "--host", help="address to listen on (default 127.0.0.1; 0.0.0.0: every network)"
        )
        parser.add_argument(
            "--port", type=_port, help="port to listen on (default: the first free from 7860)"
        )
        parser.add_argument(
            "--share",
            action="store_true",
            default=None,
            help="make a public link through gradio.live",
        )
        given = parser.parse_args(argv)
        from_environment = (name.strip() for name in environ.get("VITVIZ_MODELS", "").split(","))
        models = dict.fromkeys([*given.model, *filter(None, from_environment)])
        return cls(models=tuple(models), host=given.host, port=given.port, share=given.share)


def _port(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= 65535:
        raise argparse.ArgumentTypeError(f"a port is a number from 1 to 65535, got {text!r}")
    return int(text)
