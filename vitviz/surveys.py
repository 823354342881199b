"""The command `vitviz survey`: write tables and a figure about many pictures into a folder."""

import argparse
import sys

from .errors import VitvizError
from .look import word, write_file
from .many.measures import FOOLED
from .many.survey import Survey, survey
from .model.key import ModelKey
from .model.weight_options import weight_options
from .model.weights import load_key
from .whole import at_home


def write_survey(arguments: argparse.Namespace) -> int:
    """Survey the pictures, write all files, print a summary. Returns the exit status: 1 if some
    of the pictures were broken.

    `arguments`: those of `cli.survey_options`. Raises `VitvizError` if the model, the pictures or
    the disk cannot be used.
    """
    keys = [ModelKey(arguments.model, arguments.untrained, arguments.image_size)]
    if arguments.twin and not arguments.untrained:
        keys.append(ModelKey(arguments.model, True, arguments.image_size))
    name = word(arguments.model)
    folder = at_home(arguments.out or f"vitviz-survey-{name}")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise VitvizError(f"the folder {folder} cannot be used: {error.strerror}") from error
    surveys, paths = [], []
    for key in keys:
        stem = "-".join(filter(None, (name, "untrained" * key.untrained, key.size)))
        paths.append(folder / f"{stem}.jsonl")
        loaded = load_key(key, device=arguments.device, **weight_options(arguments))
        if arguments.verbose:
            print(loaded, file=sys.stderr)
        found = survey(
            loaded,
            arguments.pictures,
            ("answer", "distance", *arguments.measures),
            labels="folders" if arguments.labels_of_folders else None,
            file=paths[-1],
            batch_size=arguments.batch_size,
            invert=arguments.invert,
            stretch=arguments.stretch,
        )
        surveys.append(found)
        for part, text in (("heads", found.to_csv()), ("pictures", found.pictures_to_csv())):
            paths.append(folder / f"{stem}-{part}.csv")
            write_file(paths[-1], text)
        print(f"{stem}: {summary(found)}")
    broken = surveys[0].broken
    if surveys[0].pictures and not arguments.no_figures:
        from . import draw

        paths.append(folder / f"figure7.{arguments.format}")
        draw.save(draw.figure7(*surveys), paths[-1])
    for path in paths:
        print(path)
    for picture in broken:
        print(" ".join(picture.sentence.splitlines()), file=sys.stderr)
    return 1 if broken else 0


def summary(found: Survey) -> str:
    """Number of pictures, mean confidence, accuracy, attention distances, and what was fooled."""
    parts = [f"{len(found.pictures):,} pictures"]
    parts += [f"{len(found.broken):,} broken"] if found.broken else []
    if found.confidence is not None:
        parts.append(f"mean confidence {found.confidence:.1%}")
    if found.accuracy is not None:
        labelled = sum(result.right is not None for result in found.pictures)
        parts.append(f"right {found.accuracy:.1%} of {labelled:,}")
    if found.pictures:
        far = found.mean()
        parts.append(f"heads look {float(far.min()):.3g} to {float(far.max()):.3g} pixels far")
    if FOOLED in found.values and found.pictures:
        turned = int(found.values[FOOLED][:, 0].sum())
        parts.append(f"{turned:,} turned by at most 4 of 255")
        if turned:
            parts.append(
                f"half of them back with clean patches up to layer {found.half_restored()}"
            )
    return ", ".join(parts)
