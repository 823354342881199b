"""The shipped weights: each loads, says what it is, and is right about a few drawn digits."""

import json

import pytest
from PIL import Image, ImageDraw

from vitviz import analyze, load
from vitviz.model.weights import CURATED, WEIGHTS_DIR, list_models
from vitviz.train.recipe import Recipe

SHIPPED = sorted(set(list_models()) - set(CURATED))


def test_both_models_are_shipped():
    assert {"mnist", "photos"} <= set(SHIPPED)


@pytest.mark.parametrize("name", SHIPPED)
def test_a_shipped_model_says_where_it_is_from(name):
    path = WEIGHTS_DIR / f"{name}.safetensors"
    assert path.stat().st_size < 10e6
    card = load(name).card
    facts = card.details
    recipe = Recipe(**json.loads(facts["recipe"]))
    assert recipe.config(len(card.labels)) == card.config
    assert len(facts["commit"].rstrip("+")) == 12
    for fact in ("title", "data", "seed", "steps", "wall time", "accuracy", "terms"):
        assert facts[fact], fact
    assert 0.3 < card.temperature < 3


@pytest.mark.parametrize("name", SHIPPED)
def test_the_readme_of_the_weights_tells_the_figures_of_the_file(name):
    text = (WEIGHTS_DIR / "README.md").read_text("utf-8")
    facts = load(name).card.details
    top1 = facts["accuracy"].split(",")[0].removeprefix("top-1 ").rstrip("%")
    assert f"{name}.safetensors" in text
    assert f"{float(top1):.1f}" in text
    assert facts["commit"].rstrip("+") in text


def test_photos_has_a_group_for_every_class():
    card = load("photos").card
    groups = json.loads(card.details["groups"])
    assert len(groups) == len(card.labels) == 100
    assert len(set(groups)) == 32
    assert dict(zip(card.labels, groups, strict=True))["goldfish"] == "sea life"


def digit(draw) -> Image.Image:
    """White on black, with a margin, as MNIST's digits are."""
    image = Image.new("L", (280, 280))
    draw(ImageDraw.Draw(image))
    return image


@pytest.mark.parametrize(
    ("label", "draw"),
    [
        ("0", lambda pen: pen.ellipse((80, 50, 200, 230), outline=255, width=26)),
        ("1", lambda pen: pen.line((140, 50, 140, 230), fill=255, width=26)),
        ("7", lambda pen: pen.line((70, 60, 200, 60, 120, 230), fill=255, width=26, joint="curve")),
    ],
)
def test_mnist_reads_a_drawn_digit(label, draw):
    best = analyze(load("mnist"), digit(draw)).predictions(1)[0]
    assert best.label == label
    assert best.probability > 0.5
