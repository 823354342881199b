"""JSON from files that may hold anything: parse it, check its values, quote them in a sentence."""

import json
from typing import Any


def parse(text: str) -> Any:
    """The value of a JSON text. Raises `ValueError` for a text that is not JSON."""
    try:
        return json.loads(text)
    except RecursionError as error:
        raise ValueError("its JSON is nested too deeply") from error


def short(value: object) -> str:
    """A value, cut to a length that a sentence can quote."""
    try:
        text = repr(value)
    except (ValueError, RecursionError):  # a number of thousands of digits, lists without end
        return "something too long to tell"
    return text if len(text) <= 80 else f"{text[:80]}..."


def is_whole(value: object) -> bool:
    """Whether the value is an int; True and 1.0 do not count."""
    return isinstance(value, int) and not isinstance(value, bool)


def is_number(value: object, least: float, most: float) -> bool:
    """Whether the value is a number from `least` to `most`; NaN is not."""
    return isinstance(value, int | float) and not isinstance(value, bool) and least <= value <= most


def are_texts(values: object) -> bool:
    """Whether the value is a tuple or list of texts."""
    return isinstance(values, tuple | list) and all(isinstance(value, str) for value in values)
