"""The learner of the page, in Node: a run of the shipped digits is that of `vitviz train`."""

import json
from itertools import islice
from pathlib import Path

import pytest
import torch

import vitviz
from tests import learner_fixture
from tests.lesson_truths import LEARNED, TRUTHS
from tests.node import JS, needs_node, node
from tests.viewer_fixture import compare_committed
from vitviz.payload.bundle import VIEWER, join
from vitviz.train.dataset import read
from vitviz.train.recipes import RECIPES
from vitviz.train.run import Run
from vitviz.train.scores import logits_of, score

STEPS = 8


@needs_node
@pytest.mark.parametrize("positions", ["learned", "rotary", "none"])
def test_a_run_in_the_page_takes_the_steps_of_python(positions: str, tmp_path: Path) -> None:
    """From the same seed: weights, order of the pictures, losses; and Python reads what it kept."""
    recipe = RECIPES["playground"].changed({"positions": positions, "seed": 1})
    train, test = (read("digits", split, recipe.cut()) for split in ("train", "test"))
    run = Run(recipe, train, torch.device("cpu"))
    losses = [run.learn(batch)["loss"] for batch in islice(run.batches(), STEPS)]
    kept = tmp_path / "kept.safetensors"
    digits = tmp_path / "digits.json"
    digits.write_text(json.dumps(learner_fixture.shipped()), encoding="utf-8")
    asked = {"settings": {"positions": positions, "seed": 1}, "steps": STEPS, "weights": str(kept)}
    found = json.loads(node(JS / "learner_run.js", digits, given=json.dumps(asked) + "\n"))
    assert found["losses"] == pytest.approx(losses, rel=1e-3)
    assert found["parameters"] == sum(one.numel() for one in run.vit.parameters())
    loaded = vitviz.load(kept)
    assert loaded.card.config == recipe.config(10)
    assert loaded.card.labels == train.labels
    logits = logits_of(loaded.vit, test.images, loaded.preprocess.mean, loaded.preprocess.std)
    assert score(logits, test.targets, None)["top1"] == pytest.approx(found["right"], abs=2e-3)
    for name, one in run.vit.named_parameters():
        bound = 2e-3 * max(float(one.detach().abs().max()), 0.05)
        if name.endswith("qkv.bias"):  # what is noise to AdamW is noise here, too
            continue
        assert torch.allclose(loaded.vit.get_parameter(name), one, rtol=0, atol=bound), name


@needs_node
def test_the_runs_that_lessons_tell_of_come_to_what_they_say(tmp_path: Path) -> None:
    digits = tmp_path / "digits.json"
    digits.write_text(json.dumps(learner_fixture.shipped()), encoding="utf-8")
    asked = [
        {"settings": {name: run[name] for name in ("train", "epochs", "labels")} | {"seed": 0}}
        for run in LEARNED.values()
    ]
    given = "".join(json.dumps(one) + "\n" for one in asked)
    found = map(json.loads, node(JS / "learner_run.js", digits, given=given).splitlines())
    for (name, run), one in zip(LEARNED.items(), found, strict=True):
        # Processors round sums of many numbers apart, and a run of many steps with them.
        assert one["right"] == pytest.approx(run["right"], abs=0.02), name
        assert one["own"] == pytest.approx(run["own"], abs=0.02), name
        assert one["parameters"] == TRUTHS["learnedNumbers"](None, {})


def test_the_committed_runs_are_those_of_this_code() -> None:
    runs = learner_fixture.runs()
    compare_committed("learner", runs.get, runs)


# The page makes a worker of its script, which serves there.
WORKS = """
globalThis.Blob = class { constructor(parts) { globalThis.script = parts.join(""); } };
URL.createObjectURL = () => "blob:";
globalThis.Worker = class {};
(%(client)s).%(make)s();
const heard = [];
globalThis.addEventListener = (kind, hear) => { globalThis.hear = hear; };
globalThis.postMessage = (reply) => { heard.push(reply); };
(0, eval)(script);
await globalThis.hear({ data: { id: 7, what: "play" } });
console.log(JSON.stringify(heard));
process.exit(); // a channel of messages is open
"""


@needs_node
@pytest.mark.parametrize(("room", "make"), [("learn", "createLearner"), ("engine", "createEngine")])
def test_a_bundle_has_what_its_worker_computes_once(room: str, make: str, tmp_path: Path) -> None:
    client = join(VIEWER / room / "client.js", "client.js", ())
    assert client.count({"learn": "class Trainer", "engine": "class Core"}[room]) == 1
    assert ("class Core" in client) == (room == "engine")  # who learns need not run passes
    script = tmp_path / "page.mjs"
    script.write_text(WORKS % {"client": client.partition("//# sourceURL")[0], "make": make})
    ready, reply = json.loads(node(script))
    assert ready == {"ready": True}
    assert reply["id"] == 7
    assert "error" in reply  # no run has begun, and no model was loaded
