"""`--evaluate`: measure a checkpoint on test pictures, which no training step has seen."""

import argparse
import json
from pathlib import Path

import torch

from ..model.weights import LoadedModel, load
from ..probe.explain import EXPLAINERS
from .comparison import compare_explainers, markdown
from .dataset import Pictures, read
from .errors import TrainError, writing
from .others import only, split_others
from .report import report, words


def evaluate(args: argparse.Namespace) -> None:
    """Measure a checkpoint on the test pictures, with its own preprocessing and temperature."""
    if not args.data:
        raise TrainError("--evaluate needs --data: which pictures to measure the model on")
    loaded = load(args.evaluate)
    cut = loaded.preprocess
    test = read(args.data, "test", cut, data_dir=args.data_dir, download=args.download)
    check_classes(loaded, test)
    if args.explainers:
        keys = [*EXPLAINERS] if "all" in args.explainers else args.explainers
        folder = args.out or Path("runs") / f"explainers-{Path(args.evaluate).stem}"
        result = compare_explainers(loaded, args.evaluate, test, keys, folder, args.pictures)
        print(markdown(result))  # noqa: T201
        if args.json:
            with writing(args.json):
                args.json.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
        return
    unseen, limit = unseen_by(loaded, args)
    found = report(
        loaded.vit, test, cut.mean, cut.std, loaded.card.temperature, unseen=unseen, limit=limit
    )
    print(f"{args.evaluate} on {len(test)} test pictures of {test.name}:")  # noqa: T201
    print("\n".join(words(found)))  # noqa: T201
    if args.json:
        facts = {"checkpoint": args.evaluate, "data": test.name, **found}
        with writing(args.json):
            args.json.write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")


def unseen_by(
    loaded: LoadedModel, args: argparse.Namespace
) -> tuple[Pictures | None, float | None]:
    """Test pictures of --others whose classes the model never saw, and the model's threshold.

    The checkpoint names these classes. If it names none, all classes of --others are taken, or with
    --unseen those that a run would keep out.
    """
    if not args.others:
        return None, None
    where = {"data_dir": args.data_dir, "download": args.download}
    test = read(args.others, "test", loaded.preprocess, **where)
    facts = json.loads(loaded.card.details.get("others", "{}"))
    if missing := sorted(set(facts.get("unseen", ())) - set(test.labels)):
        raise TrainError(
            f"{loaded.card.name} was kept from {', '.join(missing)}, which {test.name} has not"
        )
    if facts:
        classes = [test.labels.index(label) for label in facts["unseen"]]
        return only(test, torch.tensor(classes)), loaded.card.threshold
    if "unseen" in args:
        return split_others(test, test, args.unseen, vars(args).get("seed", 0)).unseen, None
    return test, None


def check_classes(loaded: LoadedModel, test: Pictures) -> None:
    """Raise `TrainError` if the classes of the model are not those of the data."""
    ours, theirs = loaded.card.labels or (), test.labels
    if ours != theirs:
        raise TrainError(
            f"{loaded.card.name} names other classes than {test.name}: {len(ours)} "
            f"({', '.join(ours[:3])}, ...) and {len(theirs)} ({', '.join(theirs[:3])}, ...)"
        )
