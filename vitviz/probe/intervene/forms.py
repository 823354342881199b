"""Forms: the values that a field of an intervention may hold, for Python, JSON and the page."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from numbers import Real
from typing import Any, Literal

from ...errors import SelectionError
from ...languages import Message
from ...model.config import ViTConfig
from ..capture.selection import whole

LARGEST = 2**31 - 1  # of every number: more than any model has of anything
MOST_PAIRS = 4096
# The attribute of a config that bounds the numbers of a field, by what they count.
COUNTS = {
    "patches": "num_patches",
    "tokens": "num_tokens",
    "layers": "depth",
    "heads": "num_heads",
    "classes": "num_classes",
}


@dataclass(frozen=True)
class Need:
    """A need of a model: at least one of these fields of its config is set.

    error  the text of experiments.json for a model that has none of them
    """

    fields: tuple[str, ...]
    error: str

    def met(self, config: ViTConfig) -> bool:
        return any(getattr(config, name) for name in self.fields)


NEEDS = {
    "prefix": Need(("class_token", "dist_token", "reg_tokens"), "no_prefix"),
    "cls": Need(("class_token",), "no_prefix"),
    "positions": Need(("pos_embed", "rotary", "relative_bias"), "no_positions"),
    "learned positions": Need(("pos_embed",), "no_positions"),
    "rotary positions": Need(("rotary",), "no_positions"),
}


class FormError(ValueError):
    """A value of another form; the caller adds which form is expected."""


@dataclass(frozen=True)
class Form:
    """The values that a field may hold: numbers in some shape, or words in place of numbers.

    shape  "number", "list" (different numbers, at least one), "pairs" (at least one), "word" (no
           number), "factor" (one finite number, whole or not), or "picture" (whose tokens are
           taken: the name of a picture or an analysis)
    of     the kind of thing that the numbers count: one of `COUNTS`, or "cells", "seeds",
           "levels", "steps"
    words  the words allowed in place of numbers
    past   added to the bound of the numbers: layer L, after the last block, is a place too
    count  required length of a list; None: any
    needs  requirements of a word on the model, by the names of `NEEDS`
    named  in Python a name may stand for the number; `Intervention.known` finds it
    """

    shape: Literal["number", "list", "pairs", "word", "factor", "picture"]
    of: str = ""
    words: tuple[str, ...] = ()
    past: int = 0
    count: int | None = None
    needs: Mapping[str, str] = field(default_factory=dict)
    named: bool = False

    def read(self, value: Any, *, kind: str, name: str) -> Any:
        """The value in Python's types: an int, a tuple, pairs as tuples, or a word.

        Raises `FormError` for another form, and `SelectionError` for an empty list, a number that
        stands twice in it, and too many pairs.
        """
        if self.shape == "picture":
            return value
        if isinstance(value, str):
            return _good(value, value in self.words or self.named)
        match self.shape:
            case "number":
                number = _number(value)
                return _good(number, number >= 0 or self.of != "seeds")
            case "factor":
                return _factor(value)
            case "list":
                numbers = _numbers(value)
                _not_empty(numbers, kind, name)
                times = Counter(numbers)
                if len(times) < len(numbers):
                    twice = next(number for number in numbers if times[number] > 1)
                    raise SelectionError(
                        Message("experiments.twice", kind=kind, what=name, number=twice)
                    )
                return _good(numbers, self.count in (None, len(numbers)))
            case "pairs":
                _good(value, isinstance(value, list | tuple))
                _not_empty(value, kind, name)
                if len(value) > MOST_PAIRS:
                    raise SelectionError(
                        Message("experiments.many_edges", most=MOST_PAIRS, count=len(value))
                    )
                pairs = tuple(map(_numbers, value))
                return _good(pairs, all(len(pair) == 2 for pair in pairs))
        raise FormError

    def numbers(self, value: Any) -> tuple[int, ...]:
        """All numbers in a value that was read."""
        match value:
            case int():
                return (value,)
            case tuple():
                return tuple(number for part in value for number in self.numbers(part))
        return ()

    def end(self, config: ViTConfig) -> int | None:
        """Upper bound (exclusive) of the numbers in this model; None: the model sets no bound."""
        return getattr(config, COUNTS[self.of]) + self.past if self.of in COUNTS else None

    def need(self, value: Any) -> Need | None:
        """The need of a value that was read; None if any model will do."""
        return NEEDS[self.needs[value]] if isinstance(value, str) and value in self.needs else None

    def to_dict(self) -> dict[str, Any]:
        """All that the page needs: names are for Python alone."""
        return {name: value for name, value in asdict(self).items() if name != "named"}


def _good(value: Any, good: bool) -> Any:
    if not good:
        raise FormError
    return value


def _number(value: Any) -> int:
    """A whole number up to `LARGEST`. Larger ones could be chosen to have one hash: a set of 29,000
    such numbers takes 18 seconds, in which no other thread runs.
    """
    number = whole(value)
    if number is None or abs(number) > LARGEST:
        raise FormError
    return number


def _factor(value: Any) -> float:
    """A finite number; a whole one as an int, which JSON and sentences write as a page does."""
    _good(value, isinstance(value, Real) and not isinstance(value, bool))
    try:
        factor = float(value)
    except OverflowError as error:  # a whole number of 400 digits
        raise FormError from error
    _good(value, math.isfinite(factor))
    return int(factor) if factor.is_integer() else factor


def _numbers(value: Any) -> tuple[int, ...]:
    _good(value, isinstance(value, Iterable) and not isinstance(value, Mapping | str))
    return tuple(map(_number, value))


def _not_empty(value: Any, kind: str, name: str) -> None:
    if not value:
        raise SelectionError(Message("experiments.empty", kind=kind, what=name))


Needs = Mapping[str, str] | None


def number(of: str, *words: str, past: int = 0, **default: Any) -> Any:
    return field(metadata={"form": Form("number", of, words, past=past)}, **default)


def numbers(
    of: str, *words: str, count: int | None = None, needs: Needs = None, **default: Any
) -> Any:
    form = Form("list", of, words, count=count, needs=needs or {})
    return field(metadata={"form": form}, **default)


def pairs(of: str, *words: str, needs: Needs = None, **default: Any) -> Any:
    return field(metadata={"form": Form("pairs", of, words, needs=needs or {})}, **default)


def word(*words: str, needs: Needs = None, **default: Any) -> Any:
    return field(metadata={"form": Form("word", words=words, needs=needs or {})}, **default)


def class_of() -> Any:
    return field(metadata={"form": Form("number", "classes", named=True)})


def factor() -> Any:
    return field(metadata={"form": Form("factor")})


def picture() -> Any:
    return field(repr=False, metadata={"form": Form("picture")})
