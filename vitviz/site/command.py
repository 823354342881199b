"""The command `vitviz site`: write a folder of files, and print a report on it."""

from collections.abc import Sequence

from ..arguments import Arguments
from ..languages import languages
from .site import write_site

DESCRIPTION = """\
Write vitviz as a folder of files: the viewer, models that run in the browser, and the examples. It
needs no server: put it on any web server, on GitHub Pages or into a Space of Hugging Face, or open
its index.html by a double click.
"""


def site(argv: Sequence[str]) -> None:
    """Write the site, and print its size, the terms, and the features it lacks."""
    options = Arguments("vitviz site", description=DESCRIPTION)
    options.add_argument(
        "folder", metavar="FOLDER", help="new, empty, or with an older site, which is replaced"
    )
    options.add_argument(
        "--model",
        metavar="NAME",
        action="append",
        default=[],
        help="a model that the page offers, of at most 25 million parameters: a name of `vitviz "
        "models`, a checkpoint, any timm name; may be repeated, and the first is shown first "
        "(default: the shipped ones)",
    )
    options.add_argument(
        "--language",
        metavar="TAG",
        help=f"{' or '.join(languages())} (default: that of the visitor's browser)",
    )
    options.add_argument(
        "--served",
        action="store_true",
        help="for a web server alone: the weights lie there once, not twice, and a page that was "
        "opened by a double click says that it cannot compute",
    )
    arguments = options.parse_args(argv)
    report = write_site(arguments.folder, arguments.model, arguments.language, arguments.served)
    print(f"{arguments.folder}/index.html: the whole site has {report.size / 1e6:.1f} MB")
    for line in report.terms:
        print(f"terms of {line}")
    for line in report.lacks:
        print(f"without a server there are no {line}")
