"""What a run of the page's learner takes (in Node, one thread), and what it learns."""

import json
import tempfile
from pathlib import Path

from tests.learner_fixture import shipped
from tests.node import JS, NODE, node

BAR, SECONDS = 0.9, 20  # the standard run is to be right so often, after so many seconds
RUNS = {
    "the standard run": {},
    "another seed": {"seed": 1},
    "without positions": {"positions": "none"},
    "rotary positions": {"positions": "rotary"},
    "labels shuffled": {"labels": "shuffled"},
    "by the mean": {"pool": "mean"},
    "patches of 14 pixels": {"patch": 14},
    "patches of 4 pixels": {"patch": 4},
}


def learn() -> None:
    """A row for each run: milliseconds of a processor for a step, seconds until nine of ten test
    digits are right, and how many are in the end.
    """
    if NODE is None:
        print("the learner is not measured: there is no node\n")
        return
    print(f"| run | a step, ms | {BAR:.0%} after, s | all steps, s | right in the end |")
    print("|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        digits = Path(folder) / "digits.json"
        digits.write_text(json.dumps(shipped()), encoding="utf-8")
        for name, settings in RUNS.items():
            asked = json.dumps({"settings": settings, "eachEpoch": True}) + "\n"
            found = json.loads(node(JS / "learner_run.js", digits, given=asked))
            epochs = found["epochs"]
            until = [one["milliseconds"] / 1000 for one in epochs if one["right"] >= BAR]
            print(
                f"| {name} | {found['perStep']:.1f} | {f'{until[0]:.1f}' if until else '-'} "
                f"| {epochs[-1]['milliseconds'] / 1000:.1f} | {found['right']:.1%} |",
                flush=True,
            )
            if not settings and (not until or until[0] > SECONDS):
                print(f"\nThe standard run is not right in {BAR:.0%} after {SECONDS} s.\n")
    print()
