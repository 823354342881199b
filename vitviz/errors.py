"""The errors whose text is written for the person in front of the screen.

The page, the HTTP API, the command line and notebooks show the sentence of a `VitvizError` as it
is. Any other error is a bug and is shown as one. Errors that a visitor of the app can meet are
raised with a `Message`, so that the app can show them in the visitor's language; errors of the
command line, of notebooks and of training are plain English.
"""

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from tempfile import gettempdir

FULL = (errno.ENOSPC, errno.EDQUOT)  # the disk is full, or a quota


class VitvizError(Exception):
    """An error that a user can understand and mend; `str(error)` is the sentence to show.

    `message` is the sentence as it was given, for `vitviz.languages.say`.
    """

    @property
    def message(self) -> str:
        return self.args[0] if self.args else ""


class ImageError(VitvizError):
    """A photo that cannot be read, or is larger than what is allowed."""


class WeightsError(VitvizError):
    """A model or a checkpoint that is unknown, damaged, or not a plain Vision Transformer."""


class CaptureError(VitvizError):
    """A forward pass whose numbers cannot be used: not recorded, not finite, or without
    gradients.
    """


class SelectionError(VitvizError, ValueError):
    """A layer, head, token or option that this analysis does not have."""


class CancelledError(VitvizError):
    """A long computation that was cancelled by its user."""


@contextmanager
def disk_has_room() -> Iterator[None]:
    """Raise `VitvizError` if the body finds the disk full, or no folder for temporary files. That
    can happen anywhere, because packages look for such a folder while they are imported.
    """
    try:
        yield
    except OSError as error:
        if error.errno in FULL:
            place = error.filename2 or error.filename  # of a copy, the second one
            where = f" ({place})" if place else ""
            raise VitvizError(f"the disk is full: {error.strerror}{where}") from error
        try:
            gettempdir()
        except FileNotFoundError as none:
            sentence = f"{none.strerror}: the disk may be full; TMPDIR names another"
            raise VitvizError(sentence) from error
        raise
