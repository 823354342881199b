"""ablate: how far the answers to many pictures fall with each of several interventions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from ..errors import CaptureError, SelectionError
from ..languages import Message
from ..model.json_values import short
from ..model.loaded import LoadedModel, ModelCard, check_runs
from ..model.photo_levels import Look
from ..probe.analysis import picture_of
from ..probe.capture.trace import is_sound
from ..probe.intervene.intervention import Head, Intervention
from ..probe.intervene.intervention import read as read_interventions
from ..probe.intervene.surgery import Surgery
from ..probe.measure.predictions import TRUE, class_named, most_probable, probabilities_of
from .analyses import in_batches, made_of, size_of
from .pictures import BrokenPicture, note_others, pictures_of, watched
from .survey import as_csv

Changes = Intervention | Mapping[str, Any] | Sequence[Intervention | Mapping[str, Any]]


@dataclass(frozen=True, eq=False, slots=True)
class Ablation:
    """Falls of n answers with each of i interventions, or lists of them.

    interventions     the changes of each pass, as lists
    pictures          names of the pictures
    targets      (n,)     the class of each: the answer of the intact model, or the one named
    logits       (i, n)   the fall of its logit: intact minus changed
    probability  (i, n)   the fall of its probability, in [-1, 1]; nan of values
    kept         (i, n)   bool: whether the most probable class is still that of the intact model;
                          of "any_of" and "score" whether the same classes are true. False of values
    broken                the pictures without a result, each with a sentence that says why
    target                the class that was named; None: the answer to each picture
    """

    card: ModelCard
    interventions: tuple[tuple[Intervention, ...], ...]
    pictures: tuple[str, ...]
    targets: Tensor
    logits: Tensor
    probability: Tensor
    kept: Tensor
    broken: tuple[BrokenPicture, ...]
    target: int | None = None

    def __repr__(self) -> str:
        of = f"{len(self.interventions)} interventions x {len(self.pictures)} pictures"
        return f"Ablation({self.card.name}: {of})"

    def table(self) -> list[dict[str, Any]]:
        """A row for each intervention: its caption, the mean falls with their standard errors, and
        the share of answers that stay; of values the falls of the values alone.
        """
        n = len(self.pictures)

        def row(place: int, changes: tuple[Intervention, ...]) -> dict[str, Any]:
            values = self.card.outputs == "value"
            found: dict[str, Any] = {
                "changed": "; ".join(str(change.sentence()) for change in changes)
            }
            for name in ("logits",) if values else ("logits", "probability"):
                falls = getattr(self, name)[place].double()
                found[name] = float(falls.mean())
                found[f"{name}_error"] = float(falls.std() / n**0.5) if n > 1 else float("nan")
            return found if values else found | {"kept": float(self.kept[place].double().mean())}

        return (
            [row(*place_and_changes) for place_and_changes in enumerate(self.interventions)]
            if n
            else []
        )

    def to_csv(self) -> str:
        """`table` as text."""
        return as_csv(self.table())


def each_head(loaded: LoadedModel) -> list[Head]:
    """Interventions that switch off each head of the model: the default of `ablate`."""
    config = loaded.card.config
    return [
        Head(layer=layer, head=head, by="zero")
        for layer in range(config.depth)
        for head in range(config.num_heads)
    ]


def ablate(
    loaded: LoadedModel,
    pictures: Any,
    interventions: Sequence[Changes] | None = None,
    *,
    target: int | str | None = None,
    batch_size: int | None = None,
    invert: bool = False,
    stretch: bool = False,
    progress: bool = True,
) -> Ablation:
    """Measure how far each intervention makes the answer to each picture fall, in batches.

    pictures       a folder, paths, Pillow images, arrays, a tensor or a data set: `pictures_of`
    interventions  each one change or a list of changes, as `analyze` takes them, and each is tried
                   alone; None: every head off (`each_head`)
    target         the class whose logit is measured; None: the answer to each picture
    invert, stretch  see `analyze`

    The logits are those of `Analysis.operate` up to float rounding. Raises `SelectionError` for
    interventions that the model has no place for and for a model without classes, `VitvizError` if
    there are no pictures, all before the first picture is opened.
    """
    check_runs(loaded)
    config = loaded.card.config
    wanted = each_head(loaded) if interventions is None else interventions
    if not isinstance(wanted, list | tuple):
        raise SelectionError(Message("experiments.no_list", value=short(wanted)))
    lists = [item if isinstance(item, list | tuple) else [item] for item in wanted]
    surgeries = [Surgery(read_interventions(item, card=loaded.card), config) for item in lists]
    if not surgeries:
        raise SelectionError("no intervention is named")
    fixed = class_named(loaded.card, target, "ablate")
    intact = Surgery((), config)
    names: list[str] = []
    broken: list[BrokenPicture] = []
    parts: list[tuple[Tensor, ...]] = []
    found = watched(pictures_of(pictures), progress)
    note_others(pictures, progress)
    for batch in in_batches(found, size_of(batch_size, loaded)):
        opened = made_of(batch, Look(invert, stretch), lambda photo: picture_of(loaded, photo))
        broken += [result for result in opened if isinstance(result, BrokenPicture)]
        seen = [result[0] for result in opened if not isinstance(result, BrokenPicture)]
        if not seen:
            continue
        before = _logits(loaded, seen, intact)
        first = most_probable(before, 1, loaded.card.outputs)[:, 0]
        targets = first if fixed is None else torch.full((len(seen),), fixed)
        after = torch.stack([_logits(loaded, seen, surgery) for surgery in surgeries])
        whole = zip(batch, opened, strict=True)
        names += [
            picture.name for picture, result in whole if not isinstance(result, BrokenPicture)
        ]
        parts.append((targets, *_falls(before, after, targets, loaded.card)))
    none = torch.empty(len(surgeries), 0)
    targets, logits, probability, kept = (
        (torch.cat(part, dim=-1) for part in zip(*parts, strict=True))
        if parts
        else (torch.empty(0).long(), none, none, none.bool())
    )
    changes = tuple(surgery.interventions for surgery in surgeries)
    return Ablation(
        loaded.card, changes, tuple(names), targets, logits, probability, kept, tuple(broken), fixed
    )


def _falls(
    before: Tensor, after: Tensor, targets: Tensor, card: ModelCard
) -> tuple[Tensor, Tensor, Tensor]:
    """Falls of logits and probabilities, and whether answers stay. (n, C), (i, n, C) -> (i, n)"""

    def of(values: Tensor) -> Tensor:
        where = targets.expand(values.shape[:-1])[..., None]
        return values.gather(-1, where)[..., 0]

    falls = of(before) - of(after)
    shares, others = (
        probabilities_of(logits, card.outputs, card.temperature) for logits in (before, after)
    )
    if shares is None or others is None:
        return falls, torch.full_like(falls, torch.nan), torch.zeros_like(falls, dtype=torch.bool)
    same = before.argmax(dim=-1) == after.argmax(dim=-1)
    if card.outputs != "one_of":
        same = ((shares >= TRUE) == (others >= TRUE)).all(dim=-1)
    return falls, (of(shares) - of(others)).float(), same


def _logits(loaded: LoadedModel, pictures: Sequence[Tensor], surgery: Surgery) -> Tensor:
    """Logits of all pictures in one pass with a surgery. (n, C) Raises `CaptureError`."""
    pixels = torch.cat(
        [loaded.preprocess.pixels(surgery.picture(picture, loaded)) for picture in pictures]
    )
    with torch.inference_mode(), surgery.applied(loaded.vit):
        logits = loaded.vit(pixels.to(loaded.device)).float().cpu()
    if not is_sound(logits):
        raise CaptureError(Message("models.without_bounds", name=loaded.card.name))
    return logits
