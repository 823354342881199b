"""The file of a survey: a head and a line for each picture, from which a survey can resume."""

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

SETUP = "setup"  # part of the head: checksum of what the numbers depend on besides the weights


@dataclass(frozen=True, slots=True)
class PictureResult:
    """The model's answer to one picture. `answer` is the most probable class, with `probability` in
    [0, 1]; `known` as in `KnownOrNot`; `label` the true class; `right` whether the answer is the
    true class, or where several can be true, one of the answers. Of a model of values `answer` is
    the name of the first, and `value` that value. Each is None if it is not known.
    """

    picture: str
    answer: str | None = None
    probability: float | None = None
    known: bool | None = None
    label: str | None = None
    right: bool | None = None
    value: float | None = None


@dataclass(frozen=True, eq=False, slots=True)
class Line:
    """One picture: its result and measured values, or a sentence that says why there are none; and
    the stamp of its file at that time (`Picture.stamp`).
    """

    picture: str
    values: Mapping[str, Tensor] = field(default_factory=dict)
    result: PictureResult | None = None
    sentence: str | None = None
    stamp: str = ""

    def to_json(self) -> str:
        fields = {"picture": self.picture} if self.result is None else asdict(self.result)
        values = {name: _rounded(tensor.tolist()) for name, tensor in self.values.items()}
        parts = fields | {"sentence": self.sentence, "stamp": self.stamp} | values
        text = json.dumps(parts, ensure_ascii=False)
        # a name of a file may be no text, which a file in UTF-8 cannot hold
        return text if is_writable(text) else json.dumps(parts)

    @classmethod
    def read(cls, text: str, measures: Sequence[str]) -> "Line":
        """Read a line of `to_json`. Raises `ValueError`, `LookupError` or `TypeError`."""
        parts = parse(text)
        stamp = parts.pop("stamp", "")
        if (sentence := parts.pop("sentence")) is not None:
            return cls(parts["picture"], sentence=sentence)
        values = {name: torch.tensor(parts.pop(name)) for name in measures}
        return cls(parts["picture"], values, PictureResult(**parts), stamp=stamp)


def is_writable(text: str) -> bool:
    """Whether UTF-8 can hold a text: not the bytes of a file name that is in another encoding."""
    return not any("\ud800" <= letter <= "\udfff" for letter in text)


class Record:
    """A file that a survey writes after each batch. `head`: model and measures of all lines."""

    def __init__(self, path: Path, head: Mapping[str, Any], measures: Sequence[str]) -> None:
        self.path, self.head = path, json.dumps(head, ensure_ascii=False)
        older = {name: value for name, value in head.items() if name != SETUP}
        self.older = json.dumps(older, ensure_ascii=False)  # as vitviz wrote it without `SETUP`
        self.measures = [name for name in measures if name != "answer"]

    def read(self) -> dict[str, Line]:
        """The lines of pictures with a result, by name; creates the file if there is none.

        An unfinished last line of a stopped run is cut off, also if it is the head. Raises
        `VitvizError` for the file of another survey or of an older vitviz, and if the disk refuses.
        """
        try:
            data = self.path.read_bytes() if self.path.exists() else b""
            whole = data[: data.rfind(b"\n") + 1]
            if not whole and self.head.encode("utf-8").startswith(data):
                write_text(self.path, self.head + "\n")
                return {}
            # not splitlines: a name may hold U+2028, which is a letter in JSON
            head, *texts = whole.decode("utf-8").replace("\r\n", "\n").split("\n")[:-1] or [""]
            if head == self.older:
                raise VitvizError(
                    f"{self.path} was begun by an older vitviz, which did not write down how its "
                    "pictures became pixels and what its answers mean: name another file"
                )
            if head != self.head:
                raise VitvizError(
                    f"{self.path} is no survey of this model with these measures, or the model was "
                    "loaded with other options: name another file"
                )
            lines = [Line.read(text, self.measures) for text in texts]
            if whole != data:
                write_text(self.path, whole.decode("utf-8"))
        except OSError as error:
            raise self._unusable(error) from error
        except (ValueError, LookupError, TypeError) as error:
            raise VitvizError(f"{self.path} is damaged: {error}; name another file") from error
        return {line.picture: line for line in lines if line.result is not None}

    def write(self, lines: Sequence[Line]) -> None:
        """Add lines. Raises `VitvizError` if the disk refuses."""
        try:
            self._append("".join(f"{line.to_json()}\n" for line in lines))
        except OSError as error:
            raise self._unusable(error) from error

    def _append(self, text: str) -> None:
        with self.path.open("a", encoding="utf-8") as file:
            file.write(text)

    def _unusable(self, error: OSError) -> VitvizError:
        return VitvizError(f"{self.path} cannot be used: {error.strerror}")


def _rounded(values: Any) -> Any:
    """Floats with nine significant digits, from which each float32 comes back bit for bit."""
    return [*map(_rounded, values)] if isinstance(values, list) else float(f"{values:.9g}")
