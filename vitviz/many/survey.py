"""survey: run a model on many pictures, into tables and means; resumes from its file."""

import csv
import io
import json
import sys
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from tqdm import tqdm

from ..errors import SelectionError, VitvizError
from ..languages import Message
from ..model.loaded import LoadedModel, ModelCard, check_runs
from ..model.photo_levels import Look
from ..probe.analysis import picture_of
from ..probe.capture.trace import is_sound
from ..probe.intervene.surgery import Surgery
from ..probe.measure.predictions import Results, classes_of, results_of
from ..whole import at_home
from .analyses import in_batches, labelled, made_of, size_of
from .measures import ANSWER, DISTANCE, FOOLED, MEASURES, QUICK, chosen, price, quick
from .pictures import NAMED, BrokenPicture, Label, Picture, note_others, pictures_of, watched
from .record import SETUP, Line, PictureResult, Record


@dataclass(frozen=True, eq=False, slots=True)
class Survey:
    """Results of a model on n pictures.

    pictures  the answer to each picture
    values    values of each picture by measure (`MEASURES`), (n, ...)
    broken    the pictures without a result, each with a sentence that says why
    """

    card: ModelCard
    pictures: tuple[PictureResult, ...]
    values: Mapping[str, Tensor]
    broken: tuple[BrokenPicture, ...]

    def __repr__(self) -> str:
        of = f"{self.card.name}: {len(self.pictures)} pictures, {len(self.broken)} broken"
        return f"Survey({of}, {', '.join(self.values)})"

    def mean(self, measure: str = DISTANCE) -> Tensor:
        """The mean over the pictures. (...) Raises `SelectionError` if that was not measured."""
        return self._of(measure).mean(dim=0).float()

    def error(self, measure: str = DISTANCE) -> Tensor:
        """The standard error of that mean: deviation / sqrt(n); nan for one picture. (...)"""
        values = self._of(measure)
        if len(values) < 2:
            return torch.full_like(values[0], torch.nan).float()
        return (values.std(dim=0) / len(values) ** 0.5).float()

    @property
    def accuracy(self) -> float | None:
        """The share of right answers in [0, 1]; None if no true class is known."""
        right = [result.right for result in self.pictures if result.right is not None]
        return sum(right) / len(right) if right else None

    @property
    def confidence(self) -> float | None:
        """The mean probability of the answers in [0, 1]; None for a model that names no classes, or
        that does not choose one of them.
        """
        if self.card.outputs != "one_of":
            return None
        probabilities = [
            result.probability for result in self.pictures if result.probability is not None
        ]
        return sum(probabilities) / len(probabilities) if probabilities else None

    def restored(self) -> Tensor | None:
        """The share of the turned answers that clean patches, put back before each block, bring
        back, in [0, 1] (L,); None if no answer turned. Needs the measure "fooled", else
        `SelectionError` is raised; see `Fooled.restored`.
        """
        turned, *back = self._of(FOOLED).sum(dim=0).tolist()
        return torch.tensor(back) / turned if turned else None

    def half_restored(self) -> int | None:
        """The last block before which clean patches bring at least half of the turned answers back;
        None if no answer turned. Raises `SelectionError` as `restored` does.
        """
        shares = self.restored()
        return None if shares is None else int((shares >= 0.5).nonzero()[-1])

    def table(self) -> list[dict[str, Any]]:
        """A row for each head: layer, head, and of each measure of heads the mean and its error.
        After the measure "fooled" also "restored", the share of `restored` before this layer.
        """
        layers, heads = self.card.config.depth, self.card.config.num_heads
        # not by shape: an explainer's map can have as many rows and columns as layers and heads
        measured = [name for name in self.values if MEASURES[name].of_heads and self.pictures]
        parts = {name: self.mean(name).tolist() for name in measured}
        parts |= {f"{name}_error": self.error(name).tolist() for name in measured}
        back = self.restored() if FOOLED in self.values and self.pictures else None
        return [
            {"layer": layer, "head": head}
            | {name: values[layer][head] for name, values in parts.items()}
            | ({} if back is None else {"restored": float(back[layer])})
            for layer in range(layers)
            for head in range(heads)
        ]

    def to_csv(self) -> str:
        """`table` as text."""
        return as_csv(self.table())

    def pictures_to_csv(self) -> str:
        """`pictures` as text, a row for each; then the broken ones, each with its sentence."""
        rows = [asdict(result) | {"sentence": ""} for result in self.pictures]
        for row in rows if self.card.outputs != "value" else ():
            del row["value"]
        return as_csv([*rows, *({"picture": b.name, "sentence": b.sentence} for b in self.broken)])

    def to_pandas(self) -> Any:
        """`table` as a DataFrame. Raises `VitvizError` if pandas is not installed."""
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
    """Rows as CSV; the header has the keys of the first row.

    Labels and names of files come from strangers: a text that a spreadsheet would take for a
    formula gets an apostrophe, as in the page's tables, and bytes that are no text are escaped.
    """
    text = io.StringIO()
    writer = csv.DictWriter(text, [*rows[0]] if rows else [], restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: _cell(value) for name, value in row.items()} for row in rows)
    return text.getvalue()


def _cell(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    text = value.encode("utf-8", "backslashreplace").decode("utf-8")
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "\t", "\r")) else text


def survey(
    loaded: LoadedModel,
    pictures: Any,
    measures: Sequence[str] = QUICK,
    *,
    labels: str | Sequence[int | str] | None = None,
    file: str | Path | None = None,
    batch_size: int | None = None,
    invert: bool = False,
    stretch: bool = False,
    progress: bool = True,
) -> Survey:
    """Run a model on many pictures; each value is that of a single `Analysis`.

    pictures  a folder, paths, Pillow images, arrays, a tensor or a data set: `pictures_of`
    measures  some of `MEASURES`; answers and distances need the forward pass alone; the cost of
              others is printed first, on stderr, unless `progress` is False
    labels    the class of each picture; "folders": the name of the folder that it lies in
    file      written after each batch, a line of JSON for each picture. Pictures that it has, by
              name and by time and length of their files or by their pixels, are not computed again,
              broken ones are. It must be of the same model, loaded with the same options, and of
              the same measures, else `VitvizError` is raised
    invert, stretch  see `analyze`

    A picture without a result is among `broken`; one that is listed twice counts once. Raises
    `SelectionError` for an unknown measure, `VitvizError` if there are no pictures, and before the
    first of them is opened if labels are given and none is a class that the model could answer.
    """
    check_runs(loaded)
    names = chosen(measures)
    found = pictures_of(pictures, labels)
    run = _Run(loaded, names, Look(invert, stretch))
    if labels is not None and isinstance(found, Sequence):
        run.check_labels(picture.label for picture in found)
    if progress and (note := price(names, loaded)):
        tqdm.write(note, file=sys.stderr)
    note_others(pictures, progress)
    record = None if file is None else Record(at_home(file), run.head(), names)
    done = {} if record is None else record.read()
    stamps: dict[str, str] = {}  # of each picture, in their order

    def missing() -> Iterator[Picture]:
        for given in watched(found, progress):
            if given.name in stamps:
                continue
            picture, stamp = (given, "") if record is None else given.stamped(stretch)
            stamps[given.name] = stamp
            before = done.get(given.name)
            line = run.again(before, stamp, picture) if before else None
            if line is None:
                yield picture
            elif record is not None and line is not before:
                record.write([line])
                done[given.name] = line

    for batch in in_batches(missing(), size_of(batch_size, loaded)):
        lines = [replace(line, stamp=stamps[line.picture]) for line in run.lines(batch)]
        if record is not None:
            record.write(lines)
        done |= {line.picture: line for line in lines}
    return run.survey([done[name] for name in stamps])


class _Run:
    """Computes the lines of one survey, and combines them."""

    def __init__(self, loaded: LoadedModel, measures: tuple[str, ...], look: Look) -> None:
        self.loaded, self.measures, self.look = loaded, measures, look
        self.classes = classes_of(loaded.card)

    def head(self) -> dict[str, Any]:
        """The head of a file: the model, checksums of its weights and its setup, the measures."""
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
            "invert": self.look.invert,
            **({"stretch": True} if self.look.stretch else {}),  # older files do not have it
            SETUP: self.setup(),
        }

    def setup(self) -> int:
        """A checksum of all else that the numbers depend on: how pictures become pixels, how the
        model computes, and what its outputs mean.
        """
        known = self.classes
        parts = {
            "config": self.loaded.card.config.to_dict(),
            "preprocess": self.loaded.preprocess.to_dict(),
            "labels": known.labels,
            "groups": known.groups,
            "outputs": known.outputs,
            "temperature": known.temperature,
            "known_or_not": (known.threshold, known.known_by, known.none),
        }
        return zlib.crc32(json.dumps(parts, sort_keys=True).encode())

    def lines(self, batch: list[Picture]) -> list[Line]:
        """The lines of some pictures, which go through the model together."""
        if {*self.measures} <= {*QUICK}:
            return self._quick(batch)
        surgery, lines = Surgery((), self.loaded.card.config), []
        found = labelled(self.loaded, [batch], surgery, self.look)
        for picture, (analysis, label) in zip(batch, found, strict=True):
            if isinstance(analysis, BrokenPicture):
                lines.append(Line(picture.name, sentence=analysis.sentence))
                continue
            values = {name: MEASURES[name].of(analysis) for name in self.measures if name != ANSWER}
            lines.append(self._line(picture.name, label, analysis.trace.logits, values))
        return lines

    def _quick(self, batch: list[Picture]) -> list[Line]:
        far, lines = DISTANCE in self.measures, []
        opened = made_of(batch, self.look, lambda photo: picture_of(self.loaded, photo))
        whole = [each[0] for each in opened if not isinstance(each, BrokenPicture)]
        answers = zip(*quick(self.loaded, whole, far), strict=True) if whole else iter(())
        for picture, each in zip(batch, opened, strict=True):
            if isinstance(each, BrokenPicture):
                lines.append(Line(picture.name, sentence=each.sentence))
                continue
            logits, distance = next(answers)
            if is_sound(logits) and is_sound(distance):
                values = {DISTANCE: distance} if far else {}
                lines.append(self._line(picture.name, each[1], logits, values))
            else:
                sentence = str(Message("models.without_bounds", name=self.loaded.card.name))
                lines.append(Line(picture.name, sentence=sentence))
        return lines

    def _line(self, name: str, label: Label, logits: Tensor, values: Mapping[str, Tensor]) -> Line:
        results = results_of(logits, self.classes, 1) if ANSWER in self.measures else Results()
        named = self.named(label)
        if results.answer is None:
            return Line(name, values, PictureResult(name, label=named))
        best, known = results.predictions[0], results.known_or_not
        said = [best.label]  # also "none of these", where `answer` is the nearest of the others
        if self.classes.outputs != "one_of":
            said = [self.classes.labels[index] for index in results.answer.classes]
        result = PictureResult(
            name,
            best.label,
            best.probability,
            None if known is None else known.known,
            named,
            self._right(named, said),
            best.logit if best.probability is None else None,
        )
        return Line(name, values, result)

    def named(self, label: Label) -> str | None:
        """The name of a class, or of an unknown one its number; None for a negative number."""
        if not isinstance(label, int):
            return label
        labels = self.classes.labels
        return labels[label] if 0 <= label < len(labels) else str(label) if label >= 0 else None

    def _right(self, named: str | None, said: Iterable[str]) -> bool | None:
        """Whether a class is among those said; None if that class is not known to the model."""
        known = named is not None and _plain(named) in map(_plain, self.classes.labels)
        if named is None or not known or self.classes.outputs == "value":
            return None
        return _plain(named) in map(_plain, said)

    def again(self, line: Line, stamp: str, picture: Picture) -> Line | None:
        """A line of an earlier run, with the present label of the picture; None if the picture must
        go through the model again: the line has no result, the stamp is missing or differs, or the
        label differs and the answer can be several classes or none, of which a line holds one.
        """
        if not stamp or stamp != line.stamp or line.result is None:
            return None
        named, result = self.named(picture.given()[1]), line.result
        if self.classes.outputs in ("any_of", "score"):
            return line if result.label == named else None
        said = [] if result.answer is None else [result.answer]
        right = self._right(named, said) if said else None
        if (result.label, result.right) == (named, right):
            return line
        return replace(line, result=replace(result, label=named, right=right))

    def check_labels(self, labels: Iterable[Label]) -> None:
        """Raise `VitvizError` if there are labels, and none is a class of a model that answers with
        classes.
        """
        names = [*dict.fromkeys(name for name in map(self.named, labels) if name is not None)]
        answers = self.classes.labels and self.classes.outputs != "value"
        if ANSWER not in self.measures or not answers or not names:
            return
        if all(self._right(name, ()) is None for name in names):
            more = ", ..." if len(names) > NAMED else ""
            raise VitvizError(
                f"no label is a class of {self.loaded.card.name}: "
                f"{', '.join(map(repr, names[:NAMED]))}{more}"
            )

    def survey(self, lines: Sequence[Line]) -> Survey:
        whole = [line for line in lines if line.result is not None]
        names = [name for name in self.measures if name != ANSWER]
        return Survey(
            card=self.loaded.card,
            pictures=tuple(line.result for line in whole if line.result is not None),
            values={
                name: torch.stack([line.values[name] for line in whole])
                if whole
                else torch.empty(0)
                for name in names
            },
            broken=tuple(
                BrokenPicture(line.picture, line.sentence or "")
                for line in lines
                if line.result is None
            ),
        )


def _plain(name: str) -> str:
    """Normalise the name of a class, so that "red_panda" is "Red panda"."""
    return name.replace("_", " ").casefold()
