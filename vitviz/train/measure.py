"""`--evaluate`: measure a checkpoint on test pictures, which no training step has seen."""

import argparse
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from ..model.checkpoints import rewrite
from ..model.loaded import KNOWN_OR_NOT
from ..model.weights import LoadedModel, load
from ..probe.explain.explainers import fitting
from ..probe.measure.predictions import classes_of, known_or_not
from ..whole import write_text
from .comparison import PICTURES, compare_explainers, file_of, markdown
from .dataset import Pictures, read
from .errors import TrainError, writing
from .others import drawn, only
from .photographs import (
    answers_to,
    certain_from,
    lowered,
    on_photographs,
    on_plain,
    read_photographs,
)
from .report import measurements, report, rounded, say, words
from .scores import logits_of

HELD_BACK = "held back"  # the threshold in a checkpoint that was set without photographs


def seen(loaded: LoadedModel, images: Tensor) -> Tensor:
    """Pictures without the margin that a patch size leaves which does not divide them.
    (n, C, h, w) -> (n, C, rows * ph, cols * pw)
    """
    height, width = loaded.card.config.image_size
    return images[..., :height, :width]


def read_test(loaded: LoadedModel, data: str, args: argparse.Namespace) -> Pictures:
    """The test pictures of a data set, as the model sees them."""
    where = {"data_dir": args.data_dir, "download": args.download}
    test = read(data, "test", loaded.preprocess, **where)
    return replace(test, images=seen(loaded, test.images))


def evaluate(args: argparse.Namespace) -> None:
    """Measure a checkpoint on the test pictures, with its own preprocessing and temperature."""
    if not args.data:
        raise TrainError("--evaluate needs --data: which pictures to measure the model on")
    loaded = load(args.evaluate)
    cut = loaded.preprocess
    test = in_order_of(loaded, read_test(loaded, args.data, args))
    if args.explainers:
        if args.others or args.photographs or args.calibrate:
            raise TrainError("--explainers goes alone; ask for --others and --photographs apart")
        every = "all" in args.explainers
        keys = fitting(loaded.card.config) if every else args.explainers
        folder = args.out or Path("runs") / f"explainers-{Path(args.evaluate).stem}"
        count = PICTURES if args.pictures is None else args.pictures
        if count < 0:
            raise TrainError(f"--pictures must be 0 (all of them) or more, got {count}")
        result = compare_explainers(loaded, args.evaluate, test, keys, folder, count)
        print(markdown(result))  # noqa: T201
        write_json(args.json, result)
        return
    unseen, limit = unseen_by(loaded, args)
    photographs, lower, certain = photographs_of(loaded, args)
    if args.calibrate:
        if limit is None:
            raise TrainError("--calibrate needs --others: it measures anew what is told from them")
        limit = lower
    found = report(
        loaded.vit, test, cut.mean, cut.std, loaded.card.temperature, unseen=unseen, limit=limit
    )
    found |= photographs
    if args.calibrate and limit is not None:
        calibrate(file_of(args.evaluate), limit, certain, found)
    print(f"{args.evaluate} on {len(test)} test pictures of {test.name}:")  # noqa: T201
    print("\n".join(words(found)))  # noqa: T201
    write_json(args.json, {"checkpoint": args.evaluate, "data": test.name, **found})


def write_json(path: Path | None, facts: dict[str, Any]) -> None:
    """Write the measurements to the file of --json, if it is given."""
    if path:
        with writing(path):
            write_text(path, json.dumps(facts, indent=1) + "\n")


def photographs_of(
    loaded: LoadedModel, args: argparse.Namespace
) -> tuple[dict[str, Any], float | None, float | None]:
    """Measure --photographs. Returns their part of the report, the `lowered` threshold, and the
    least probability of a plain answer (`certain_from`); ({}, None, None) without --photographs.

    The part of the report uses the lowered threshold with --calibrate, else the model's own.
    """
    if not args.photographs:
        if args.calibrate:
            raise TrainError("--calibrate needs --photographs: what to set the threshold with")
        return {}, None, None
    cut, own = loaded.preprocess, loaded.card.threshold
    if own is None:
        raise TrainError(f"{loaded.card.name} has no threshold: it was not trained with --others")
    check_score(loaded)
    held_back = json.loads(loaded.card.details["others"]).get(HELD_BACK, own)
    photographs = read_photographs(args.photographs, cut, loaded.card.labels or ())
    known, strangers = (
        logits_of(loaded.vit, seen(loaded, images), cut.mean, cut.std)
        for images in (photographs.known.images, photographs.strangers)
    )
    lower = lowered(held_back, known_or_not(known))
    limit = lower if args.calibrate else own
    found = on_photographs(known, strangers, photographs.known.targets, limit, held_back)
    classes = replace(classes_of(loaded.card), threshold=limit)
    ours, right = answers_to(known, classes, photographs.known.targets)
    theirs, _ = answers_to(strangers, classes)
    found |= on_plain(ours, right, theirs)
    return {"photographs": rounded(found)}, lower, certain_from(ours, right, theirs)


def calibrate(path: Path, limit: float, certain: float | None, found: dict[str, Any]) -> None:
    """Write a threshold, the least probability of a plain answer, and all measurements made with
    them, into a checkpoint.
    """

    def change(meta: dict[str, Any]) -> None:
        details = meta["details"]
        facts = json.loads(details["others"])
        facts = {HELD_BACK: facts["threshold"]} | facts | {"threshold": limit}
        details |= {
            "others": json.dumps(facts),
            "certain": json.dumps(certain),
            "evaluation": json.dumps(measurements(found)),
            "accuracy": say(found),
        }

    with writing(path):
        rewrite(path, change)


def unseen_by(
    loaded: LoadedModel, args: argparse.Namespace
) -> tuple[Pictures | None, float | None]:
    """Test pictures of --others whose classes the model never saw, and the model's threshold.

    The checkpoint names these classes. If it names none, all classes of --others are taken, or with
    --unseen those that a run would keep out.
    """
    if not args.others:
        return None, None
    check_score(loaded)
    test = read_test(loaded, args.others, args)
    facts = json.loads(loaded.card.details.get("others", "{}"))
    if missing := sorted(set(facts.get("unseen", ())) - set(test.labels)):
        raise TrainError(
            f"{loaded.card.name} was kept from {', '.join(missing)}, which {test.name} has not"
        )
    if facts:
        if "unseen" in args:
            raise TrainError(
                f"{loaded.card.name} names the classes that it was kept from: leave out --unseen"
            )
        classes = [test.labels.index(label) for label in facts["unseen"]]
        return only(test, torch.tensor(classes)), loaded.card.threshold
    if "unseen" in args:
        kept_out, _ = drawn(test, args.unseen, vars(args).get("seed", 0))
        return only(test, kept_out), None
    return test, None


def check_score(loaded: LoadedModel) -> None:
    """Raise `TrainError` if the model's threshold belongs to another score than `known_or_not`. The
    threshold of a taught head does.
    """
    if loaded.card.known_by != KNOWN_OR_NOT:
        raise TrainError(
            f"{loaded.card.name} has a threshold for the {loaded.card.known_by}; --others and "
            "--photographs measure models that were trained with --others"
        )


def in_order_of(loaded: LoadedModel, test: Pictures) -> Pictures:
    """The pictures with their classes in the model's order. A folder of classes is read in that of
    the alphabet, a pack in its own.

    Raises `TrainError` if the classes of the model are not those of the data, or if it does not
    choose one of them.
    """
    if loaded.card.outputs != "one_of":
        raise TrainError(
            f"{loaded.card.name} does not choose one class (outputs: {loaded.card.outputs}), and "
            "accuracy counts the right choices"
        )
    ours, theirs = loaded.card.labels or (), test.labels
    if ours == theirs:
        return test
    if sorted(ours) != sorted(theirs) or len(set(ours)) < len(ours):
        raise TrainError(
            f"{loaded.card.name} names other classes than {test.name}: {len(ours)} "
            f"({', '.join(ours[:3])}, ...) and {len(theirs)} ({', '.join(theirs[:3])}, ...)"
        )
    place = torch.tensor([ours.index(label) for label in theirs])
    groups = test.groups and tuple(test.groups[theirs.index(label)] for label in ours)
    return replace(test, targets=place[test.targets], labels=ours, groups=groups)
