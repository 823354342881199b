"""Replies: what becomes of a page after it asked for something; page.py puts them on the page."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, NamedTuple

from .engine import Refusal
from .store import Upload


class Left(Enum):
    """A place on the page that stays as it is; None would empty it."""

    AS_IT_IS = "as it is"


class Shown(NamedTuple):
    """What a visitor's page shows at the moment; where it goes on after something failed."""

    photo: Upload | None
    model: str
    preview: str | None = None  # the picture input shows this file in place of the photo
    untrained: bool = False


class Stored(NamedTuple):
    """A file of the payload, in the store."""

    address: str
    name: str
    size: int


@dataclass(frozen=True)
class Unchanged:
    """The page stays as it is."""


@dataclass(frozen=True)
class Refused:
    """The page says why, and goes on with what is shown.

    photo  the address of what the picture input is to show; None: nothing
    """

    refusal: Refusal
    shown: Shown
    photo: str | Left | None = Left.AS_IT_IS


@dataclass(frozen=True)
class Answered:
    """The page shows another analysis.

    manifest  of the viewer, its files in the store: a `Stored`, or several, for each key
    saved     the address of the analysis, to be downloaded
    photo     the address of what the picture input is to show
    controls  whether model and switch are set to what is shown; not while they say what a later
              request asked for
    """

    manifest: Mapping[str, Any]
    saved: str
    shown: Shown
    photo: str | Left = Left.AS_IT_IS
    controls: bool = True


Reply = Unchanged | Refused | Answered
