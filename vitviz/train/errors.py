"""What can go wrong in training, said in a sentence to the person who started it."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ..errors import VitvizError


class TrainError(VitvizError):
    """A recipe, a data set or a run that cannot be used, and what to do about it."""


@contextmanager
def writing(path: Path, advice: str = "") -> Iterator[None]:
    """Turn a full disk, or whatever else keeps a file from being written, into a `TrainError`."""
    try:
        yield
    except OSError as error:
        why = getattr(error, "strerror", None) or str(error)
        raise TrainError(
            f"{path} could not be written: {why}" + (f"; {advice}" if advice else "")
        ) from error
