"""The pictures a visitor can start with; examples/README.md says whose they are."""

from pathlib import Path
from typing import NamedTuple

from ..languages import Message
from .store import Upload

FOLDER = Path(__file__).parent / "examples"


class Example(NamedTuple):
    """A picture, and the model it was made for; None: whichever is chosen."""

    path: str
    model: str | None = None

    @property
    def name(self) -> Message:
        """What it shows, in words: "red panda"."""
        return Message(f"pictures.{Path(self.path).stem}")

    @property
    def upload(self) -> Upload:
        """The picture as if a visitor had sent it; its address is no store's, but its path."""
        return Upload(self.path, Path(self.path).name)

    def read(self) -> bytes:
        return Path(self.path).read_bytes()


EXAMPLES = (
    Example(str(FOLDER / "dog.jpg")),
    Example(str(FOLDER / "cat.jpg")),
    Example(str(FOLDER / "red-panda.jpg")),
    Example(str(FOLDER / "bison.jpg")),
    Example(str(FOLDER / "goldfish.jpg")),
    Example(str(FOLDER / "coffee.jpg")),
    Example(str(FOLDER / "digit.png"), "mnist"),
)
