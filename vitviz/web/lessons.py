"""The lessons that the page lists: each is a link into a state of the app, with a goal."""

from typing import NamedTuple
from urllib.parse import urlencode

from ..languages import Message


class Lesson(NamedTuple):
    """A lesson: its texts are KEY and KEY_goal in `lessons.json`, and it begins at `state`.

    `state` holds the fields of a link, as the page writes them into its address.
    """

    key: str
    state: dict[str, str | int]

    @property
    def title(self) -> Message:
        return Message(f"lessons.{self.key}")

    @property
    def goal(self) -> Message:
        """What a visitor can tell afterwards, in one line."""
        return Message(f"lessons.{self.key}_goal")

    @property
    def link(self) -> str:
        return "?" + urlencode(self.state)


PHOTOS = {"model": "photos", "example": "red-panda"}

LESSONS = (
    Lesson("cut", {**PHOTOS, "panel": "patches", "token": 66, "overlay": "none"}),
    Lesson("place", {**PHOTOS, "panel": "positions", "token": 66}),
    Lesson("ask", {**PHOTOS, "panel": "attention", "layer": 1, "head": 2, "token": 66}),
    Lesson("number", {**PHOTOS, "panel": "qk", "layer": 1, "head": 2, "token": 66}),
    Lesson("school", {**PHOTOS, "panel": "attention", "layer": 5, "head": "mean", "token": 0}
           | {"beside": "untrained"}),
    Lesson("learning", {"model": "mnist", "example": "digit", "panel": "training", "moment": 0}),
    Lesson("when", {**PHOTOS, "panel": "predictions", "layer": 1}),
)  # fmt: skip
