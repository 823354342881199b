"""The errors whose text is written for the person in front of the screen.

Every door (page, HTTP API, command line, notebook) shows the sentence of a `VitvizError` as it
is. Anything else that is raised is a bug and is shown as one. What a visitor of the app can meet
is raised with a `Message`, so that the app can say it in the visitor's language; what only a
command line, a notebook or a training can meet is plain English.
"""

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from tempfile import gettempdir

FULL = (errno.ENOSPC, errno.EDQUOT)  # of a disk, or of what its owner may write


class VitvizError(Exception):
    """Something a user can understand and mend; `str(error)` is the sentence to show.

    `message` is the same as it was given: `vitviz.languages.say` takes it.
    """

    @property
    def message(self) -> str:
        return self.args[0] if self.args else ""


class ImageError(VitvizError):
    """A photo that cannot be read, or is larger than what is allowed."""


class WeightsError(VitvizError):
    """A model or a checkpoint that is unknown, damaged, or not a plain Vision Transformer."""


class CaptureError(VitvizError):
    """A forward pass that left nothing behind to look at."""


class SelectionError(VitvizError, ValueError):
    """A layer, head, token or option that this analysis does not have."""


class CancelledError(VitvizError):
    """A long computation that whoever asked for it has called off."""


@contextmanager
def disk_has_room() -> Iterator[None]:
    """Raise `VitvizError` where the body finds the disk full, or no folder for temporary files:
    that can be anywhere, as packages look for one while they are imported.
    """
    try:
        yield
    except OSError as error:
        if error.errno in FULL:
            where = f" ({error.filename})" if error.filename else ""
            raise VitvizError(f"the disk is full: {error.strerror}{where}") from error
        try:
            gettempdir()
        except FileNotFoundError as none:
            sentence = f"{none.strerror}: the disk may be full; TMPDIR names another"
            raise VitvizError(sentence) from error
        raise
