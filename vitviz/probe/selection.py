"""Which layer, head, token or how many: a whole number from Python, numpy or torch, in range."""

import operator
from typing import Any, SupportsIndex

import torch

from ..errors import SelectionError


def choose(what: str, value: SupportsIndex, count: int) -> int:
    """The value as an int, if it is one from 0 to before `count`; else `SelectionError`.

    `what` is what the sentence calls it.
    """
    if (number := whole(value)) is None or not 0 <= number < count:
        raise SelectionError(f"{what} must be a whole number from 0 to {count - 1}, got {value!r}")
    return number


def count_of(value: SupportsIndex, what: str = "k") -> int:
    """How many of something are asked for, at least one; else `SelectionError`."""
    if (number := whole(value)) is None or number < 1:
        raise SelectionError(f"{what} must be a whole number of at least 1, got {value!r}")
    return number


def whole(value: Any) -> int | None:
    """Its int; None for what is no whole number: True and 1.0 are none, whoever made them."""
    if isinstance(value, bool) or getattr(value, "dtype", None) == torch.bool:
        return None
    try:
        return operator.index(value)
    except TypeError:
        return None
