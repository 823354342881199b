"""What can go wrong in training, said in a sentence to the person who started it."""

from ..errors import VitvizError


class TrainError(VitvizError):
    """A recipe, a data set or a run that cannot be used, and what to do about it."""
