"""Check a layer, head, token or count: a whole number of Python, numpy or torch, in range."""

import operator
from typing import Any, SupportsIndex

import torch

from ...errors import SelectionError


def choose(what: str, value: SupportsIndex, count: int) -> int:
    """The value as an int, if it lies in range(count); else `SelectionError` about `what`."""
    if (number := whole(value)) is None or not 0 <= number < count:
        raise SelectionError(f"{what} must be a whole number from 0 to {count - 1}, got {value!r}")
    return number


def counted(what: str, value: SupportsIndex, count: int) -> int:
    """`choose`, where a negative number counts from the end, as in NumPy: -1 is the last one.

    For functions of Python alone: pages, links and the HTTP API count from 0.
    """
    number = whole(value)
    if number is not None and -count <= number < 0:
        return number + count
    return choose(what, value, count)


def count_of(value: SupportsIndex, what: str = "k", least: int = 1) -> int:
    """The value as an int, if it is at least `least`; else `SelectionError` about `what`."""
    if (number := whole(value)) is None or number < least:
        raise SelectionError(f"{what} must be a whole number of at least {least}, got {value!r}")
    return number


def whole(value: Any) -> int | None:
    """The value as an int; None if it is not whole: a bool or float, also of numpy or torch."""
    if isinstance(value, bool) or getattr(value, "dtype", None) == torch.bool:
        return None
    try:
        return operator.index(value)
    except TypeError:
        return None
