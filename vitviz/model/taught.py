"""Taught: what a model's card says of a head that `vitviz.teach` fitted."""

import json
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any

from ..errors import WeightsError
from .json_values import is_number, is_whole, parse, short

MOST_PICTURES = 10**9
WRITTEN = ("purpose", "pictures_from", "not_for")  # details of a card that its author writes
LONGEST_TEXT = 300  # letters of each
MOST_CONFUSED = 20  # pictures that are kept by name


@dataclass(frozen=True, slots=True)
class Confused:
    """A left-out picture with a wrong answer: its name, the class that it is of, the answer, both
    counted from 0, and the probability of the answer.
    """

    picture: str
    label: int
    answer: int
    probability: float


@dataclass(frozen=True, slots=True)
class Taught:
    """A head of C classes, and its answers to pictures that were left out of the fit.

    base        the name of the model that the head is on
    pictures    the number of pictures of each class, C; each was read with its mirror image
    penalty     of the fit, see `many.linear.fit`
    confusions  the number of left-out pictures of each class with each answer, (C, C). A class
                whose pictures could not be left out has a row of zeros
    confused    the left-out pictures with a wrong answer, the most probable answer first, at most
                `MOST_CONFUSED`
    none        the class of pictures that show none of the things, counted from 0; None without one
    pair        one left-out picture of each of the two classes i < j that are confused most: that
                of i with the highest probability of j, and that of j with the highest of i. A class
                without left-out pictures has none; () if no answer is wrong
    """

    base: str
    pictures: tuple[int, ...]
    penalty: float
    confusions: tuple[tuple[int, ...], ...]
    confused: tuple[Confused, ...] = ()
    pair: tuple[Confused, ...] = ()
    none: int | None = None

    @property
    def right(self) -> int:
        """The number of left-out pictures with the right answer."""
        return sum(row[at] for at, row in enumerate(self.confusions))

    @property
    def of(self) -> int:
        """The number of left-out pictures."""
        return sum(map(sum, self.confusions))

    def to_json(self) -> str:
        names = ("base", "pictures", "penalty", "confusions", "none", "right", "of")
        facts = {name: getattr(self, name) for name in names}  # asdict would copy each count
        pictures = {name: [*map(asdict, getattr(self, name))] for name in ("confused", "pair")}
        return json.dumps(facts | pictures)


@lru_cache(8)  # cards are copied often, and the table of a thousand classes is long
def read_taught(text: str, classes: int) -> Taught:
    """Read the text of `Taught.to_json`, of a model with so many classes. Raises `WeightsError` if
    it is damaged, or of another number.
    """
    try:
        return _checked(parse(text), classes)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise WeightsError(f"the taught of a model is damaged: {short(error)}") from error


def _checked(values: Any, classes: int) -> Taught:
    """Raises `ValueError`, `KeyError` or `TypeError` for anything else than JSON of a `Taught`."""
    pictures = tuple(values["pictures"])
    confusions = tuple(tuple(row) for row in values["confusions"])
    if [*map(len, (pictures, confusions, *confusions))] != [classes] * (classes + 2):
        raise ValueError(f"its tables are not of {classes} classes")
    counts = (*pictures, *(count for row in confusions for count in row))
    if not all(is_whole(count) and 0 <= count <= MOST_PICTURES for count in counts):
        raise ValueError("its counts must be whole numbers")
    if not is_number(values["penalty"], 0, 1e9) or not isinstance(values["base"], str):
        raise ValueError("its base must be a text and its penalty a number")
    confused = tuple(Confused(**each) for each in values["confused"][:MOST_CONFUSED])
    pair = tuple(Confused(**each) for each in values.get("pair", ())[:2])
    for each in (*confused, *pair):
        places = all(is_whole(at) and 0 <= at < classes for at in (each.label, each.answer))
        named = isinstance(each.picture, str)
        if not (places and named and is_number(each.probability, 0, 1)):
            raise ValueError("a picture must have a name, two classes and a probability")
    none = values.get("none")  # older files do not have it
    if none is not None and not (is_whole(none) and 0 <= none < classes):
        raise ValueError("its none must be one of its classes")
    penalty = float(values["penalty"])
    return Taught(values["base"], pictures, penalty, confusions, confused, pair, none)
