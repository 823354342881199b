"""The example pictures of the page; examples/README.md has their sources and licences."""

import io
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from PIL import Image, ImageOps

from ...languages import Message
from .store import Upload

FOLDER = Path(__file__).resolve().parents[1] / "examples"
THUMBNAIL = 96  # pixels on a side: a bit more than twice its size on the page


class Example(NamedTuple):
    """An example picture, and the model that it is made for; None: any model.

    shown  whether it stands in the row of examples; others are opened by lessons and links, and
           stand beside each other
    """

    path: str
    model: str | None = None
    shown: bool = True

    @property
    def name(self) -> Message:
        """The subject of the picture: "red panda"."""
        return Message(f"pictures.{Path(self.path).stem}")

    @property
    def upload(self) -> Upload:
        """The picture as an upload, with its path in place of an address in the store."""
        return Upload(self.path, Path(self.path).name)

    def read(self) -> bytes:
        return Path(self.path).read_bytes()

    def thumbnail(self) -> bytes:
        """The picture as a small JPEG, for a button: a twentieth of the file."""
        return _thumbnail(self.path)


@cache
def _thumbnail(path: str) -> bytes:
    small = io.BytesIO()
    with Image.open(path) as picture:
        fitted = ImageOps.fit(picture.convert("RGB"), (THUMBNAIL, THUMBNAIL))
    fitted.save(small, "JPEG", quality=80)
    return small.getvalue()


DIGITS = "mnist"  # its example is one for any model of digits

# A page without parameters shows the first one.
EXAMPLES = (
    Example(str(FOLDER / "red-panda.jpg")),
    Example(str(FOLDER / "dog.jpg")),
    Example(str(FOLDER / "cat.jpg")),
    Example(str(FOLDER / "bison.jpg")),
    Example(str(FOLDER / "goldfish.jpg")),
    Example(str(FOLDER / "coffee.jpg")),
    Example(str(FOLDER / "digit.png"), DIGITS),
    Example(str(FOLDER / "three-square.png"), "red-square", shown=False),
    Example(str(FOLDER / "eight-square.png"), "red-square", shown=False),
    Example(str(FOLDER / "three.png"), "red-square", shown=False),
)

# The first selection, for the analysis with this link, and the tokens of a slow walk. In this head
# of this layer pale fur is found: from the forehead (row 5, column 5) around the nose, from an ear
# in the other ear, from the chin in the muzzle.
START_LINK = {"model": "photos", "example": "red-panda"}
START: dict[str, Any] = {"layer": 2, "head": 4, "token": 66, "walk": [66, 34, 103]}
