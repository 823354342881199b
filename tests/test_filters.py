"""The components of the filters against an independent reference, and filters made by hand."""

import math
import re

import numpy as np
import pytest
import torch

from tests.models import tiny
from vitviz import draw, load
from vitviz.draw.filters import as_picture, in_words
from vitviz.model.untrained import recipe_of, twin
from vitviz.model.weights import WEIGHTS_DIR
from vitviz.probe.measure.filters import Filters, cosines, left_of_start
from vitviz.train.optim import learning_rate
from vitviz.train.recipe import Recipe


def weights(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(0))


def test_components_are_the_eigenvectors_of_the_covariance() -> None:
    weight = weights(50, 3, 4, 2) * torch.linspace(0.2, 2, 24).view(3, 4, 2)
    found = Filters.of(weight, count=6)
    assert found.components.shape == (6, 3, 4, 2)
    values, vectors = np.linalg.eigh(np.cov(weight.flatten(1).numpy(), rowvar=False))
    shares = (values / values.sum())[::-1][:6]
    np.testing.assert_allclose(found.shares, shares, rtol=1e-4)
    cosine = np.abs((found.components.flatten(1).numpy() * vectors.T[::-1][:6]).sum(1))
    np.testing.assert_allclose(cosine, 1, atol=1e-4)
    largest = found.components.flatten(1)
    assert (largest.amax(1) == largest.abs().amax(1)).all()
    assert len(Filters.of(weight).components) == 24  # there are no more than numbers in a patch


def test_smooth_and_colour_are_what_they_are_called() -> None:
    rows, cols = torch.meshgrid(torch.arange(6.0), torch.arange(6.0), indexing="ij")
    slope, board = cols - 2.5, (-1.0) ** (rows + cols)
    gain = torch.tensor([1.0, 2, -1, 3]).view(-1, 1, 1, 1)
    for pattern, smooth in ((torch.ones(6, 6), 1), (slope, 0.99), (board, 0.0)):
        found = Filters.of(gain * pattern.expand(1, 3, 6, 6))
        assert found.smooth == pytest.approx(smooth, abs=0.02)
        assert found.colour[0] == pytest.approx(0, abs=1e-5), "all channels alike"
    contrast = torch.tensor([1.0, -1, 0]).view(1, 3, 1, 1) * slope
    assert Filters.of(gain * contrast).colour[0] == pytest.approx(1)
    assert Filters.of(weights(9, 1, 4, 4)).colour.abs().max() < 1e-5
    noise = Filters.of(weights(4000, 3, 6, 6))
    assert noise.smooth == pytest.approx(noise.even, rel=0.02)
    assert noise.even == pytest.approx(6 / 36)
    assert noise.colour.mean() == pytest.approx(2 / 3, abs=0.05)
    torch.testing.assert_close(cosines(5) @ cosines(5).T, torch.eye(5).double())


def test_how_much_is_left_of_the_start() -> None:
    loaded, first = load("mnist", device="cpu"), load("mnist", pretrained=False, device="cpu")
    assert left_of_start(first) == pytest.approx(1)
    ours = loaded.vit.patch_embed.proj.weight.flatten()
    cosine = torch.cosine_similarity(ours, first.vit.patch_embed.proj.weight.flatten(), dim=0)
    assert left_of_start(loaded) == pytest.approx(cosine.item() ** 2, rel=1e-4)


@pytest.mark.parametrize("name", ["cls", "grey"])
def test_the_figure_has_every_component_twice_trained_and_not(name: str) -> None:
    loaded = tiny(name)
    both = [Filters.of(one.vit.patch_embed.proj.weight) for one in (loaded, twin(loaded))]
    figure = draw.filters(loaded)
    images = [np.asarray(image.get_array()) for ax in figure.axes for image in ax.images]
    pictures = [as_picture(np.asarray(one)) for found in both for one in found.components]
    for image, expected in zip(images, pictures, strict=True):
        assert np.array_equal(image.reshape(expected.shape), expected)
    assert ("contrasts of colours" in in_words(both[0])) is (name == "cls")
    assert "before training" in figure.get_suptitle()
    assert "before training" not in draw.filters(load("mnist", pretrained=False)).get_suptitle()


def test_the_readme_of_the_weights_says_what_the_filters_look_like() -> None:
    text = re.sub(r"\s+", " ", (WEIGHTS_DIR / "README.md").read_text("utf-8"))
    for name in ("photos", "mnist"):
        loaded = load(name)
        found = Filters.of(loaded.vit.patch_embed.proj.weight)
        said = f"`{name}`: {in_words(found)}. {left_of_start(loaded):.0%} of them is what they were"
        assert said.replace("%", " %") in text


def test_the_readme_of_the_weights_says_what_weight_decay_left_of_the_start() -> None:
    text = re.sub(r"\s+", " ", (WEIGHTS_DIR / "README.md").read_text("utf-8"))
    loaded = load("photos", device="cpu")
    recipe, steps = recipe_of(loaded.card.details), int(loaded.card.details["steps"])
    rates = (learning_rate(Recipe(**recipe), step, steps) for step in range(steps))
    alone = math.prod(1 - recipe["lr"] * rate * recipe["weight_decay"] for rate in rates)
    ours, start = (one.vit.patch_embed.proj.weight.flatten() for one in (loaded, twin(loaded)))
    there = float(ours @ start / (start @ start))
    said = (
        f"would have left {alone:.0%} of the length of that noise after {steps:,} steps; "
        f"{there:.0%} of it is there."
    )
    assert said.replace("%", " %") in text
