"""What files say of themselves: JSON that may be anything, and how a sentence quotes it."""

import json
from typing import Any


def parse(text: str) -> Any:
    """The value of a JSON text. Raises `ValueError` for everything that is none."""
    try:
        return json.loads(text)
    except RecursionError as error:
        raise ValueError("its JSON is nested too deeply") from error


def short(value: object) -> str:
    """A value as a sentence can quote it."""
    try:
        text = repr(value)
    except (ValueError, RecursionError):  # a number of thousands of digits, lists without end
        return "something too long to tell"
    return text if len(text) <= 80 else f"{text[:80]}..."


def is_whole(value: object) -> bool:
    """Whether it is a whole number; True and 1.0 are none."""
    return isinstance(value, int) and not isinstance(value, bool)


def is_number(value: object, least: float, most: float) -> bool:
    """Whether it is a number in this range; NaN is in none."""
    return isinstance(value, int | float) and not isinstance(value, bool) and least <= value <= most


def are_texts(values: object) -> bool:
    """Whether it is a tuple or list of texts."""
    return isinstance(values, tuple | list) and all(isinstance(value, str) for value in values)
