"""The file of a survey: what it is of, and a line for each picture, from which it goes on."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from ..errors import VitvizError
from ..model.json_values import parse
from ..whole import write_text


@dataclass(frozen=True, slots=True)
class Told:
    """What the model says to one picture. `answer` is the most probable class, with `probability`
    in [0, 1]; `known` as in `KnownOrNot`, `label` the class that it has, `right` whether the answer
    is that; each is None where it is not known.
    """

    picture: str
    answer: str | None = None
    probability: float | None = None
    known: bool | None = None
    label: str | None = None
    right: bool | None = None


@dataclass(frozen=True, eq=False, slots=True)
class Line:
    """One picture: what was said and measured, or the sentence that says why nothing was; and the
    stamp of its file at that time (`Picture.stamp`).
    """

    picture: str
    values: Mapping[str, Tensor] = field(default_factory=dict)
    told: Told | None = None
    sentence: str | None = None
    stamp: str = ""

    def to_json(self) -> str:
        told = {"picture": self.picture} if self.told is None else asdict(self.told)
        values = {name: _rounded(one.tolist()) for name, one in self.values.items()}
        return json.dumps(
            told | {"sentence": self.sentence, "stamp": self.stamp} | values, ensure_ascii=False
        )

    @classmethod
    def read(cls, text: str, measures: Sequence[str]) -> "Line":
        """Raises `ValueError`, `LookupError` or `TypeError` for what `to_json` did not write."""
        parts = parse(text)
        stamp = parts.pop("stamp", "")
        if (sentence := parts.pop("sentence")) is not None:
            return cls(parts["picture"], sentence=sentence)
        values = {name: torch.tensor(parts.pop(name)) for name in measures}
        return cls(parts["picture"], values, Told(**parts), stamp=stamp)


class Record:
    """A file that a survey writes after each batch. `head`: what all of its lines are of."""

    def __init__(self, path: Path, head: Mapping[str, Any], measures: Sequence[str]) -> None:
        self.path, self.head = path, json.dumps(head, ensure_ascii=False)
        self.measures = [name for name in measures if name != "answer"]

    def read(self) -> dict[str, Line]:
        """The lines of pictures that gave something, by name; begins the file if there is none.

        The end of a line that a stopped run did not finish is cut off. Raises `VitvizError` for the
        file of another survey, and where the disk refuses.
        """
        try:
            if not self.path.exists() or not self.path.stat().st_size:
                self._append(self.head + "\n")
                return {}
            data = self.path.read_bytes()
            whole = data[: data.rfind(b"\n") + 1]
            head, *texts = whole.decode("utf-8").splitlines() or [""]
            if head != self.head:
                raise VitvizError(
                    f"{self.path} is no survey of this model with these measures: name another file"
                )
            lines = [Line.read(one, self.measures) for one in texts]
            if whole != data:
                write_text(self.path, whole.decode("utf-8"))
        except OSError as error:
            raise self._unusable(error) from error
        except (ValueError, LookupError, TypeError) as error:
            raise VitvizError(f"{self.path} is damaged: {error}; name another file") from error
        return {one.picture: one for one in lines if one.told is not None}

    def write(self, lines: Sequence[Line]) -> None:
        """Add lines. Raises `VitvizError` where the disk refuses."""
        try:
            self._append("".join(f"{one.to_json()}\n" for one in lines))
        except OSError as error:
            raise self._unusable(error) from error

    def _append(self, text: str) -> None:
        with self.path.open("a", encoding="utf-8") as file:
            file.write(text)

    def _unusable(self, error: OSError) -> VitvizError:
        return VitvizError(f"{self.path} cannot be used: {error.strerror}")


def _rounded(values: Any) -> Any:
    """Floats with eight significant digits, of which float32 has seven."""
    return [*map(_rounded, values)] if isinstance(values, list) else float(f"{values:.8g}")
