"""Errors of training, with a sentence for the person who started it."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ..errors import VitvizError


class TrainError(VitvizError):
    """A recipe, a data set or a run that cannot be used, and what to do about it."""


@contextmanager
def writing(path: Path, advice: str = "") -> Iterator[None]:
    """Turn an OSError inside (a full disk, ...) into a `TrainError` that names the file."""
    try:
        yield
    except OSError as error:
        why = getattr(error, "strerror", None) or str(error)
        raise TrainError(
            f"{path} could not be written: {why}" + (f"; {advice}" if advice else "")
        ) from error
