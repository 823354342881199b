"""teach: a linear head for classes of one's own, from some pictures of each."""

import hashlib
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor
from tqdm import tqdm

from ..errors import SelectionError, VitvizError
from ..languages import Message, in_others
from ..model.head import Pool, with_head
from ..model.json_values import is_number, short
from ..model.loaded import LARGEST, LoadedModel, check_runs
from ..model.photo import ENDINGS
from ..model.photo_levels import Look
from ..model.taught import MOST_CONFUSED, Confused, Taught
from ..probe.analysis import picture_of
from ..probe.capture.trace import is_sound
from ..whole import is_there
from .analyses import in_batches, made_of, size_of
from .features import pooled, pooling
from .linear import (
    PENALTY,
    Linear,
    confusions_of,
    fit,
    folds_of,
    left_out,
    threshold_of,
    worst_pair,
)
from .picture_set import is_set, read_set
from .pictures import (
    BrokenPicture,
    Picture,
    is_folder,
    note_others,
    pictures_of,
    watched,
    with_label,
)

Penalty = float | Literal["cv"] | None
CHOICES = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0)  # that "cv" chooses among
BOUNDS = 1e-6, 1e6  # of a penalty
MOST_CLASSES = 1000
NONE = Message("models.none_of_these")  # class of pictures that show none of the others
NAMED = 5  # classes in the title of a model


def teach(
    loaded: LoadedModel,
    pictures: Any,
    penalty: Penalty = None,
    *,
    pool: Pool | None = None,
    batch_size: int | None = None,
    invert: bool = False,
    stretch: bool = False,
    progress: bool = True,
) -> LoadedModel:
    """The model with a head for classes of your own: a linear probe, and how good it is.

    pictures  {"cup": [...], "pen": [...]}, each as `pictures_of` takes them, a folder with a
              folder for each class, or the file of a set that the page saved; from 2 to
              `MOST_CLASSES` classes, one picture of each at least
    penalty   strength of the L2 penalty, see `many.linear.fit`; None: `PENALTY`, as in the page;
              "cv": that of `CHOICES` with the least log loss of left-out pictures
    pool, batch_size, invert, stretch, progress  as of `features`

    One forward pass for each picture and one for its mirror image give the pooled vectors that a
    head of `with_head` reads, after the last norm. On these, logistic regression is fitted.

    A class named "none of these" (`NONE`) is of pictures that show none of the others: a class of
    the head, whose answer counts as none (`known_or_not`).

    Then each picture is answered by a head that was fitted without it and its mirror image: the
    pictures of a class, in their order, are dealt to ten folds (`many.linear.FOLDS`) which are left
    out in turn. Copies of a picture stay together; the only picture of a class is not left out.
    `card.taught` has the counts, and the wrong answers by name; `card.threshold` is the largest
    probability that 95 % of the left-out pictures of things reach, below which
    `Analysis.known_or_not` says that a picture shows none of the classes. `vitviz.save` keeps all
    of it.

    Pictures that cannot be read are passed over, and named on stderr if `progress`. Raises
    `VitvizError` for fewer or more classes, names that are empty or alike, a class without
    pictures, or a picture that is in two classes, by the pixels that the model sees;
    `SelectionError` for another penalty, and as `features` does.
    """
    made, broken = teach_all(
        loaded, pictures, penalty, pool, batch_size, Look(invert, stretch), progress
    )
    for picture in broken if progress else ():
        tqdm.write(f"note: {' '.join(picture.sentence.splitlines())}", file=sys.stderr)
    return made


@dataclass(frozen=True, eq=False, slots=True)
class Rows:
    """The pictures to learn from: features x (n, D) and those of the mirror images, classes y (n,),
    names, fingerprints of what the model sees, groups or None, and the pictures that were passed
    over.

    parts (k, n, D) are features of the pictures without some of their patches.
    """

    x: Tensor
    mirrored: Tensor
    parts: Tensor
    y: Tensor
    names: tuple[str, ...]
    prints: tuple[bytes, ...]
    groups: tuple[int | None, ...]
    broken: tuple[BrokenPicture, ...]


def teach_all(
    loaded: LoadedModel,
    pictures: Any,
    penalty: Penalty,
    pool: Pool | None,
    batch_size: int | None,
    look: Look,
    progress: bool,
) -> tuple[LoadedModel, tuple[BrokenPicture, ...]]:
    """`teach`, and the pictures that were passed over."""
    check_penalty(penalty)
    labels, rows, folds = rows_of(loaded, pictures, pool, batch_size, look, progress)
    chosen, head, answers = answered(rows, folds, len(labels), penalty, progress)
    made = with_head(loaded, head.weight, head.bias, labels, pool)
    facts = _facts(loaded.card.name, labels, rows, chosen, answers)
    facts |= read_set(pictures).card if is_set(pictures) else {}
    words = _words() if NONE in labels else {}
    card = replace(made.card, details={**made.card.details, **facts}, words=words)
    return replace(made, card=card), rows.broken


def rows_of(
    loaded: LoadedModel,
    pictures: Any,
    pool: Pool | None,
    batch_size: int | None,
    look: Look,
    progress: bool,
    parts: Sequence[Tensor] = (),
) -> tuple[tuple[str, ...], Rows, Tensor]:
    """The names of the classes, their pictures, and the fold of each of these, (n,), as of
    `folds_of`. `parts`: the tokens that stay in each of the parts, (m,).
    """
    check_runs(loaded)
    plain, size, classes = pooling(loaded, pool), size_of(batch_size, loaded), classes_in(pictures)
    if is_set(pictures):
        plain = as_seen(plain, pictures)
    else:
        note_others(pictures, progress)
    labels = tuple(classes)
    rows = _rows(plain, classes, size, look, progress, parts)
    _check(rows, labels)
    return labels, rows, torch.tensor(folds_of(rows.y.tolist(), _groups(rows)))


def _groups(rows: Rows) -> list[int]:
    """The group of each picture: the one it came with, else a new one; copies are of one group."""
    first: dict[bytes, int] = {}
    for place, (print_, group) in enumerate(zip(rows.prints, rows.groups, strict=True)):
        first.setdefault(print_, place if group is None else group)
    return [first[print_] for print_ in rows.prints]


def as_seen(loaded: LoadedModel, path: str | Path) -> LoadedModel:
    """The model for the pictures of a set, which are as large as it sees them. Raises `VitvizError`
    for pictures of another size.
    """
    theirs, ours = read_set(path).pictures.shape[1:], loaded.card.config
    wanted = (*ours.image_size, ours.in_chans)
    if theirs != wanted:
        raise VitvizError(
            f"the pictures in {Path(path).name} are {' x '.join(map(str, theirs))}, height x width "
            f"x colours, and {loaded.card.name} sees {' x '.join(map(str, wanted))}: take the "
            "model that the set was made with"
        )
    as_it_is = replace(loaded.preprocess, size=ours.image_size, crop_pct=1.0, crop_mode="squash")
    return replace(loaded, preprocess=as_it_is)


def _words() -> dict[str, dict[str, dict[str, str]]]:
    """The name of the class `NONE` in other languages, for `ModelCard.words`."""
    return {language: {"labels": {NONE: text}} for language, text in in_others(NONE).items()}


def check_penalty(penalty: Penalty) -> None:
    """Raise `SelectionError` for a penalty that `teach` does not take."""
    if penalty not in (None, "cv") and not is_number(penalty, *BOUNDS):
        raise SelectionError(
            f'penalty must be a number from {BOUNDS[0]:g} to {BOUNDS[1]:g} or "cv", '
            f"got {short(penalty)}"
        )


def classes_in(pictures: Any, fewest: int = 2) -> dict[str, list[Picture]]:
    """The pictures of each class, by its trimmed name. Raises `VitvizError` for what `teach` does
    not take. `fewest`: 1 for pictures to test with.
    """
    if is_set(pictures):
        found = read_set(pictures).classes()
        _check_count(found, fewest)
        return found
    if isinstance(pictures, str | Path):
        pictures = _folders(pictures)
    if not isinstance(pictures, Mapping):
        raise VitvizError(
            'classes must be {"cup": [...], "pen": [...]} or a folder with a folder for each '
            f"class, got {type(pictures).__name__}"
        )
    found = {}
    for given, some in pictures.items():
        name = given.strip() if isinstance(given, str) else ""
        if not name:
            raise VitvizError(
                f"the name of a class must be a text that is not empty, got {given!r}"
            )
        if name in found:
            raise VitvizError(f"two classes are named {name!r}, apart from spaces around it")
        if isinstance(some, list | tuple) and not some:
            raise VitvizError(f"the class {name!r} has no pictures")
        try:
            found[name] = list(pictures_of(some))
        except VitvizError as error:
            raise VitvizError(f"the class {name!r} has no pictures: {error}") from error
    _check_count(found, fewest)
    return found


def _check_count(found: Mapping[str, Any], fewest: int) -> None:
    if not fewest <= len(found) <= MOST_CLASSES:
        names = ": " + ", ".join(map(repr, found)) if len(found) == 1 else ""
        raise VitvizError(
            f"there must be from {fewest} to {MOST_CLASSES:,} classes, and "
            f"{len(found):,} came{names}"
        )


def _folders(folder: str | Path) -> dict[str, Path]:
    """The folders in a folder, without hidden ones, by their names in order."""
    if not is_folder(folder):
        raise VitvizError(f"there is no folder {str(folder)!r}")
    try:
        inside = sorted(Path(folder).expanduser().iterdir())
    except OSError as error:
        raise VitvizError(f"the folder {folder} cannot be read: {error.strerror}") from error
    endings = [each for each in inside if each.suffix.lower() in ENDINGS]
    loose = [each.name for each in endings if is_there(each, Path.is_file)]
    if loose:
        raise VitvizError(
            f"{loose[0]!r} lies in {folder} itself, and in no folder of a class; {len(loose):,} do"
        )
    shown = (each for each in inside if not each.name.startswith("."))
    return {each.name: each for each in shown if is_there(each, Path.is_dir)}


@torch.inference_mode()
def _rows(
    plain: LoadedModel,
    classes: Mapping[str, list[Picture]],
    size: int,
    look: Look,
    progress: bool,
    parts: Sequence[Tensor],
) -> Rows:
    """The features of all pictures that can be read, of their mirror images, and of their parts.

    A mirror image is the picture that the model sees with its columns in reverse order.
    """
    found = [with_label(one, at) for at, some in enumerate(classes.values()) for one in some]
    rows: list[Tensor] = []
    about: list[tuple[int, str, bytes, int | None]] = []
    broken: list[BrokenPicture] = []
    for batch in in_batches(watched(found, progress), size):
        opened = made_of(
            batch, look, lambda photo: plain.preprocess.pixels(picture_of(plain, photo))
        )
        whole = [each[0] for each in opened if not isinstance(each, BrokenPicture)]
        computed = iter(_vectors(plain, torch.cat(whole), parts) if whole else ())
        for picture, each in zip(batch, opened, strict=True):
            if isinstance(each, BrokenPicture):
                broken.append(each)
            elif is_sound(vectors := next(computed)):
                rows.append(vectors)
                seen = hashlib.blake2b(each[0].numpy().tobytes(), digest_size=16)
                label = int(each[1] or 0)
                about.append((label, _short_name(picture), seen.digest(), picture.group))
            else:
                sentence = str(Message("models.without_bounds", name=plain.card.name))
                broken.append(BrokenPicture(picture.name, sentence))
    none = torch.empty(2 + len(parts), 0, plain.card.config.pooled_dim)
    x = torch.stack(rows, dim=1) if rows else none
    y, names, prints, groups = zip(*about, strict=True) if about else ((), (), (), ())
    labels = torch.tensor(y, dtype=torch.long)
    return Rows(x[0], x[1], x[2:], labels, names, prints, groups, tuple(broken))


def _vectors(plain: LoadedModel, pixels: Tensor, parts: Sequence[Tensor]) -> Tensor:
    """The features of pictures, of their mirror images, and of parts of them. -> (B, 2 + k, D)"""
    last = [plain.card.config.depth - 1]
    given = [(pixels, None), (pixels.flip(-1), None), *((pixels, part) for part in parts)]
    return torch.cat([pooled(plain.vit, some, last, True, kept) for some, kept in given], dim=1)


def _short_name(picture: Picture) -> str:
    """The name for the card of a model, which may be shared: of a path the last two parts."""
    return "/".join(picture.file.parts[-2:]) if picture.file else picture.name


def _check(rows: Rows, labels: Sequence[str]) -> None:
    """Raise `VitvizError` for a class without pictures, or a picture in two classes."""
    counts = rows.y.bincount(minlength=len(labels)).tolist()
    if 0 in counts:
        why = f": {rows.broken[0].sentence}" if rows.broken else ""
        raise VitvizError(f"no picture of {labels[counts.index(0)]!r} can be used{why}")
    first: dict[bytes, int] = {}
    for place, print_ in enumerate(rows.prints):
        other = first.setdefault(print_, place)
        if rows.y[other] != rows.y[place]:
            pair = f"{rows.names[other]} and {rows.names[place]}"
            both = " and ".join(repr(labels[int(rows.y[at])]) for at in (other, place))
            raise VitvizError(f"{pair} are the same picture to the model, in two classes: {both}")


def answered(
    rows: Rows, folds: Tensor, classes: int, penalty: Penalty, progress: bool
) -> tuple[float, Linear, Tensor]:
    """The penalty, the head, and its answers to left-out pictures, (n, C)."""
    both, twice = torch.cat([rows.x, rows.mirrored]), rows.y.repeat(2)
    results = []
    for each in CHOICES if penalty == "cv" else (PENALTY if penalty is None else penalty,):
        head = fit(both, twice, classes, each)
        answers = left_out(
            rows.x, rows.mirrored, rows.y, folds, classes, each, head, progress=progress
        )
        right = answers.gather(1, rows.y[:, None])[folds >= 0]
        # without left-out pictures the mean would be nan: then `PENALTY` wins
        loss = float(-right.log().mean()) if len(right) else abs(each - PENALTY)
        results.append((loss, each, head, answers))
    return min(results, key=lambda result: result[0])[1:]


def _facts(
    base: str, labels: Sequence[str], rows: Rows, penalty: float, answers: Tensor
) -> dict[str, str]:
    """The details of the card: title, "taught", and where pictures were left out their figures."""
    classes, counted = len(labels), ~answers[:, 0].isnan()
    answers, y = answers[counted], rows.y[counted]
    names = [name for name, each in zip(rows.names, counted.tolist(), strict=True) if each]
    shares, said = answers.max(dim=1) if len(answers) else (torch.empty(0), y)
    wrong = sorted((said != y).nonzero()[:, 0].tolist(), key=lambda at: -float(shares[at]))
    taught = Taught(
        base=base,
        pictures=tuple(rows.y.bincount(minlength=classes).tolist()),
        penalty=float(penalty),
        confusions=tuple(map(tuple, confusions_of(answers, y).tolist())),
        confused=tuple(
            Confused(names[at], int(y[at]), int(said[at]), float(shares[at]))
            for at in wrong[:MOST_CONFUSED]
        ),
        pair=tuple(
            Confused(names[at], int(y[at]), other, float(answers[at, other]))
            for at, other in worst_pair(answers, y)
        ),
        none=labels.index(NONE) if NONE in labels else None,
    )
    things = [name for name in labels if name != NONE]
    more = ["..."] if len(things) > NAMED else []
    facts = {"title": ", ".join([*things[:NAMED], *more]), "taught": taught.to_json()}
    if taught.of:
        facts["accuracy"] = Message("models.left_out", right=taught.right, of=taught.of)
        known = answers if taught.none is None else answers[y != taught.none]
        if (threshold := threshold_of(known)) is not None:
            facts["others"] = json.dumps({"score": LARGEST, "threshold": threshold})
    return facts
