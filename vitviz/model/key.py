"""ModelKey: identifies a model by its name, whether it is untrained, and its image size."""

import re
from dataclasses import asdict, dataclass
from typing import Any

from ..errors import WeightsError
from ..languages import Message
from .config import MOST, sides_of
from .json_values import short


@dataclass(frozen=True)
class ModelKey:
    """Identity of a model, to cache, name or load it: hashable, and converts to JSON.

    name        a name from the menu or for `vitviz.load`
    untrained   the twin, with the weights that training began with
    image_size  (height, width) of the input pictures, in pixels; an int stands for a square;
                None: the model's own size

    Raises `WeightsError` for values of other types, or a side that is not from 1 to 65536.
    """

    name: str
    untrained: bool = False
    image_size: tuple[int, int] | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.name, str):
            raise WeightsError(Message("models.name", value=short(self.name)))
        if not isinstance(self.untrained, bool):
            raise WeightsError(f"untrained must be true or false, got {short(self.untrained)}")
        if self.image_size is not None:
            object.__setattr__(self, "image_size", sides_of("image_size", self.image_size))

    def named(self, name: str) -> "ModelKey":
        """The key of another model. The image size is dropped: it belongs to one model."""
        return self if name == self.name else ModelKey(name, self.untrained)

    @property
    def size(self) -> str:
        """The image size as written in links, options and file names: "144" or "144x192" (height
        before width); "" for the model's own size.
        """
        return "" if self.image_size is None else size_text(self.image_size)

    def to_dict(self) -> dict[str, Any]:
        """The fields in JSON's types, which `ModelKey` takes: the size is a list, or None."""
        return asdict(self) | {"image_size": self.image_size and list(self.image_size)}


def size_text(image_size: tuple[int, int]) -> str:
    """An image size as a text: "144" for a square, else "144x192", height before width."""
    height, width = image_size
    return f"{height}" if height == width else f"{height}x{width}"


def read_size(text: str) -> tuple[int, int]:
    """The image size that `size_text` wrote. Raises `WeightsError` for any other text."""
    sides = re.fullmatch(r"([0-9]{1,5})(?:[xX]([0-9]{1,5}))?", text.strip())
    if sides is None:
        raise WeightsError(Message("models.size", value=short(text), most=MOST))
    height, width = sides.groups()
    return sides_of("image_size", (int(height), int(width or height)))
