"""survey: what a model does with many pictures, as tables and means; it goes on from its file."""

import csv
import io
import sys
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from tqdm import tqdm

from ..errors import SelectionError, VitvizError
from ..languages import Message
from ..model.loaded import LoadedModel, ModelCard, check_loaded
from ..probe.analysis import picture_of
from ..probe.capture.trace import is_sound
from ..probe.intervene.surgery import Surgery
from ..probe.measure.predictions import Results, classes_of, results_of
from .analyses import in_batches, labelled, made_of, size_of
from .measures import ANSWER, DISTANCE, MEASURES, QUICK, chosen, price, quick
from .pictures import BrokenPicture, Label, Picture, pictures_of, watched
from .record import Line, Record, Told


@dataclass(frozen=True, eq=False, slots=True)
class Survey:
    """What a model did with n pictures.

    pictures  what it said to each
    values    by measure (`MEASURES`), (n, ...): of each picture
    broken    the pictures that gave nothing, each with its sentence
    """

    card: ModelCard
    pictures: tuple[Told, ...]
    values: Mapping[str, Tensor]
    broken: tuple[BrokenPicture, ...]

    def __repr__(self) -> str:
        of = f"{self.card.name}: {len(self.pictures)} pictures, {len(self.broken)} broken"
        return f"Survey({of}, {', '.join(self.values)})"

    def mean(self, measure: str = DISTANCE) -> Tensor:
        """The mean over the pictures. (...) Raises `SelectionError` for what was not measured."""
        return self._of(measure).mean(dim=0).float()

    def error(self, measure: str = DISTANCE) -> Tensor:
        """The standard error of that mean: deviation / sqrt(n); nan for one picture. (...)"""
        values = self._of(measure)
        if len(values) < 2:
            return torch.full_like(values[0], torch.nan).float()
        return (values.std(dim=0) / len(values) ** 0.5).float()

    @property
    def accuracy(self) -> float | None:
        """The share of right answers in [0, 1]; None where no class of a picture is known."""
        right = [one.right for one in self.pictures if one.right is not None]
        return sum(right) / len(right) if right else None

    @property
    def confidence(self) -> float | None:
        """The mean probability of the answers in [0, 1]; None for a model that names no classes."""
        said = [one.probability for one in self.pictures if one.probability is not None]
        return sum(said) / len(said) if said else None

    def table(self) -> list[dict[str, Any]]:
        """A row for each head: layer, head, and of each measure of heads the mean and its error."""
        layers, heads = self.card.config.depth, self.card.config.num_heads
        measured = [name for name, one in self.values.items() if one.shape[1:] == (layers, heads)]
        parts = {name: self.mean(name).tolist() for name in measured}
        parts |= {f"{name}_error": self.error(name).tolist() for name in measured}
        return [
            {"layer": layer, "head": head}
            | {name: values[layer][head] for name, values in parts.items()}
            for layer in range(layers)
            for head in range(heads)
        ]

    def to_csv(self) -> str:
        """`table` as text."""
        return as_csv(self.table())

    def pictures_to_csv(self) -> str:
        """`pictures` as text, a row for each; then the broken ones, each with its sentence."""
        rows = [asdict(one) | {"sentence": ""} for one in self.pictures]
        return as_csv([*rows, *({"picture": b.name, "sentence": b.sentence} for b in self.broken)])

    def to_pandas(self) -> Any:
        """`table` as a DataFrame. Raises `VitvizError` where pandas is not installed."""
        try:
            import pandas
        except ImportError as error:
            raise VitvizError("pandas is not installed; to_csv needs nothing") from error
        return pandas.DataFrame(self.table())

    def _of(self, measure: str) -> Tensor:
        if measure not in self.values:
            raise SelectionError(f"{measure!r} was not measured, only {', '.join(self.values)}")
        if not self.pictures:
            raise SelectionError("no picture could be used: there is no mean")
        return self.values[measure].double()


def as_csv(rows: Sequence[Mapping[str, Any]]) -> str:
    """Rows as text, under the names of the first."""
    text = io.StringIO()
    writer = csv.DictWriter(text, [*rows[0]] if rows else [], restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def survey(
    loaded: LoadedModel,
    pictures: Any,
    measures: Sequence[str] = QUICK,
    *,
    labels: str | Sequence[int | str] | None = None,
    file: str | Path | None = None,
    batch_size: int | None = None,
    invert: bool = False,
    progress: bool = True,
) -> Survey:
    """What a model does with many pictures; each value is that of a single `Analysis`.

    pictures  a folder, paths, Pillow images, arrays, a tensor or a data set: `pictures_of`
    measures  some of `MEASURES`; answers and distances need the forward pass alone, and what any
              other costs is said first, on stderr, unless `progress` is False
    labels    the class of each picture; "folders": the name of the folder that it lies in
    file      is written after each batch, one line of JSON for each picture. What it has already is
              not computed again, by the names of the pictures and the time and length of their
              files, if it is of the same model and measures; else `VitvizError`. Broken pictures
              are tried again
    invert    as of `analyze`

    A picture that gives nothing is among `broken`. Raises `SelectionError` for a measure that is
    not there, `VitvizError` for what holds no pictures, or where no label is a class of the model.
    """
    check_loaded(loaded)
    names = chosen(measures)
    found = pictures_of(pictures, labels)
    if progress and (said := price(names, loaded)):
        tqdm.write(said, file=sys.stderr)
    run = _Run(loaded, names, invert)
    record = None if file is None else Record(Path(file), run.head(), names)
    done = {} if record is None else record.read()
    order: dict[str, None] = {}  # a picture that is named twice is one

    def missing() -> Iterator[Picture]:
        for one in watched(found, progress):
            again = one.name in order
            order[one.name] = None
            before = done.get(one.name)
            if not again and (before is None or before.stamp != one.stamp()):
                yield one

    for batch in in_batches(missing(), size_of(batch_size, loaded)):
        stamps = [one.stamp() for one in batch]  # before they are read
        stamped = zip(run.lines(batch), stamps, strict=True)
        lines = [replace(line, stamp=stamp) for line, stamp in stamped]
        if record is not None:
            record.write(lines)
        done |= {line.picture: line for line in lines}
    return run.survey([done[name] for name in order])


class _Run:
    """What computes the lines of one survey, and puts them together."""

    def __init__(self, loaded: LoadedModel, measures: tuple[str, ...], invert: bool) -> None:
        self.loaded, self.measures, self.invert = loaded, measures, invert
        self.classes = classes_of(loaded.card)

    def head(self) -> dict[str, Any]:
        """What a file is of: the model with a checksum of its weights, and the measures."""
        card, weights = self.loaded.card, 0
        for tensor in self.loaded.vit.state_dict().values():
            weights = zlib.crc32(
                tensor.detach().float().cpu().contiguous().numpy().tobytes(), weights
            )
        return {
            "model": card.name,
            "trained": card.trained,
            "image_size": list(card.config.image_size),
            "weights": weights,
            "measures": list(self.measures),
            "invert": self.invert,
        }

    def lines(self, batch: list[Picture]) -> list[Line]:
        """Those of some pictures, which go through the model together."""
        if {*self.measures} <= {*QUICK}:
            return self._quick(batch)
        surgery, lines = Surgery((), self.loaded.card.config), []
        found = labelled(self.loaded, [batch], surgery, invert=self.invert)
        for one, (analysis, label) in zip(batch, found, strict=True):
            if isinstance(analysis, BrokenPicture):
                lines.append(Line(one.name, sentence=analysis.sentence))
                continue
            values = {name: MEASURES[name].of(analysis) for name in self.measures if name != ANSWER}
            lines.append(self._line(one.name, label, analysis.trace.logits, values))
        return lines

    def _quick(self, batch: list[Picture]) -> list[Line]:
        far, lines = DISTANCE in self.measures, []
        opened = made_of(batch, self.invert, lambda photo: picture_of(self.loaded, photo))
        whole = [each[0] for each in opened if not isinstance(each, BrokenPicture)]
        answers = zip(*quick(self.loaded, whole, far), strict=True) if whole else iter(())
        for one, each in zip(batch, opened, strict=True):
            if isinstance(each, BrokenPicture):
                lines.append(Line(one.name, sentence=each.sentence))
                continue
            logits, distance = next(answers)
            if is_sound(logits) and is_sound(distance):
                values = {DISTANCE: distance} if far else {}
                lines.append(self._line(one.name, each[1], logits, values))
            else:
                sentence = str(Message("models.without_bounds", name=self.loaded.card.name))
                lines.append(Line(one.name, sentence=sentence))
        return lines

    def _line(self, name: str, label: Label, logits: Tensor, values: Mapping[str, Tensor]) -> Line:
        results = results_of(logits, self.classes, 1) if ANSWER in self.measures else Results()
        labels = self.classes.labels
        if isinstance(label, int):  # a number of a class of this model, or of nothing that it names
            label = labels[label] if 0 <= label < len(labels) else str(label)
        if not results.predictions:
            return Line(name, values, Told(name, label=label))
        best, known = results.predictions[0], results.known_or_not
        taught = label is not None and _plain(label) in map(_plain, labels)
        right = _plain(best.label) == _plain(label) if taught and label is not None else None
        told = Told(
            name, best.label, best.probability, None if known is None else known.known, label, right
        )
        return Line(name, values, told)

    def survey(self, lines: Sequence[Line]) -> Survey:
        whole = [one for one in lines if one.told is not None]
        names = [name for name in self.measures if name != ANSWER]
        return Survey(
            card=self.loaded.card,
            pictures=tuple(one.told for one in whole if one.told is not None),
            values={
                name: torch.stack([one.values[name] for one in whole]) if whole else torch.empty(0)
                for name in names
            },
            broken=tuple(
                BrokenPicture(one.picture, one.sentence or "") for one in lines if one.told is None
            ),
        )


def _plain(name: str) -> str:
    """A name of a class as folders are named: "red_panda" is "Red panda"."""
    return name.replace("_", " ").casefold()
