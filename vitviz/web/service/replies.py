"""Replies of the service to a page; page/build.py turns them into what Gradio expects."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, NamedTuple

from ...errors import ImageError
from ...languages import Message
from ...model.key import ModelKey
from ...model.photo_levels import AS_IT_IS, Look
from ..compute.jobs import Refusal
from ..store.store import Upload


class Left(Enum):
    """Marks a component of the page that does not change; None would empty it."""

    AS_IT_IS = "as it is"


class Shown(NamedTuple):
    """The state of a visitor's page: what it shows now, and still shows after a failure."""

    photo: Upload | None
    model: ModelKey
    preview: str | None = None  # address that the picture input shows in place of the photo
    look: Look = AS_IT_IS  # how the levels of the photo are read

    @property
    def picture(self) -> Upload:
        """The photo. Raises `ImageError` for a page that shows none yet."""
        if self.photo is None:
            raise ImageError(Message("web.no_picture"))
        return self.photo


class Stored(NamedTuple):
    """A file of the payload, in the store."""

    address: str
    size: int


def with_places(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """A manifest in JSON's types; its files are {"path": address, "size"} or late."""
    files = {
        name: {"path": file.address, "size": file.size} if isinstance(file, Stored) else file
        for name, file in manifest["files"].items()
    }
    return {**manifest, "files": files}


@dataclass(frozen=True)
class Unchanged:
    """The page stays as it is."""


@dataclass(frozen=True)
class Refused:
    """The page says why the request was refused, and still shows `shown`.

    photo  the address of the file for the picture input; None empties it
    """

    refusal: Refusal
    shown: Shown
    photo: str | Left | None = Left.AS_IT_IS


@dataclass(frozen=True)
class Answered:
    """The page shows another analysis.

    manifest  the viewer's; "files" has a `Stored` for each key, or {"late": true}
    saved     the address of the analysis, for the download
    photo     the address of the file for the picture input
    controls  whether the controls (of the model) are set to `shown`; False while they belong to a
              later request, which is under way
    """

    manifest: Mapping[str, Any]
    saved: str
    shown: Shown
    photo: str | Left = Left.AS_IT_IS
    controls: bool = True


Reply = Unchanged | Refused | Answered
