"""Pixels of a DataLoader enter the model as they are."""

import numpy as np
import pytest
import torch

import vitviz
from tests.models import TINY, photo, tiny
from vitviz import ImageError, SelectionError


def pixels_of(name: str) -> torch.Tensor:
    """Normalised pixels between the levels of 8 bits, as a resized tensor has them."""
    config = TINY[name]
    drawn = torch.rand(config.in_chans, *config.image_size, generator=torch.Generator())
    return (drawn - 0.5) / 0.25


@pytest.mark.parametrize("name", TINY)
def test_the_model_gets_the_very_pixels(name: str) -> None:
    loaded, pixels = tiny(name), pixels_of(name)
    for given in (pixels, pixels[None], pixels.double()):
        analysis = vitviz.analyze(loaded, given, normalised=True)
        assert torch.equal(analysis.pixels, pixels)
    expected = loaded.vit(pixels[None])[0]
    torch.testing.assert_close(analysis.trace.logits, expected, rtol=1e-5, atol=1e-5)
    shown = ((pixels * 0.25 + 0.5) * 255).round().byte().permute(1, 2, 0)
    assert torch.equal(analysis.picture, shown)
    again = vitviz.Analysis.from_bytes(analysis.to_bytes())
    assert torch.equal(again.pixels, pixels)


def test_a_photo_and_its_normalised_pixels_are_the_same_analysis() -> None:
    loaded = tiny("cls")
    expected = vitviz.analyze(loaded, photo())
    found = vitviz.analyze(loaded, expected.pixels, normalised=True)
    assert torch.equal(found.trace.logits, expected.trace.logits)
    assert torch.equal(found.picture, expected.picture)


@pytest.mark.parametrize("name", ["cls", "no_cls", "registers", "grey"])
def test_each_of_many_is_the_analysis_of_its_pixels(name: str) -> None:
    """With changes of the picture too: those of each pixel that is changed, and of no other."""
    loaded = tiny(name)
    given = torch.stack([pixels_of(name) / (at + 1) for at in range(3)])
    config = loaded.card.config
    lacks = torch.zeros(1, config.in_chans, *config.image_size[::-1], 1)
    for changes in ([], [{"kind": "replace", "patches": [1], "by": "black"}]):
        loader = iter([(given, torch.arange(3)), (lacks, torch.zeros(1))])
        options = {"normalised": True, "interventions": changes}
        *found, broken = vitviz.analyze_many(loaded, loader, batch_size=2, **options)
        for one, pixels in zip(found, given, strict=True):
            alone = vitviz.analyze(loaded, pixels, **options)
            assert torch.equal(one.pixels, alone.pixels)
            assert torch.equal(one.picture, alone.picture)
            assert (one.notes, one.photograph) == (alone.notes, alone.photograph)
            torch.testing.assert_close(one.trace.logits, alone.trace.logits, rtol=1e-5, atol=1e-5)
        assert "must have shape" in broken.sentence
    with pytest.raises(SelectionError, match="for photos, not for normalised pixels"):
        vitviz.analyze_many(loaded, given, normalised=True, stretch=True)
    with pytest.raises(SelectionError, match="for photos, not for normalised pixels"):
        vitviz.analyze(loaded, given[0], normalised=True, invert=True)


def test_an_intervention_changes_the_pixels_that_it_is_of_and_no_others() -> None:
    loaded, pixels = tiny("cls"), pixels_of("cls")
    for changes in ([{"kind": "replace", "patches": [5], "by": "black"}], []):
        alone = vitviz.analyze(loaded, pixels, normalised=True, interventions=changes)
        intact = vitviz.analyze(loaded, pixels, normalised=True)
        later = intact.operate(changes)
        assert torch.equal(alone.pixels, later.pixels)
        expected = pixels.clone()
        if changes:
            expected[:, 8:16, 8:16] = -2.0
        torch.testing.assert_close(alone.pixels, expected, rtol=0, atol=1e-6)
        if not changes:
            assert torch.equal(later.trace.logits, intact.trace.logits)


@pytest.mark.parametrize(
    ("pixels", "sentence"),
    [
        (torch.zeros(3, 32, 31), r"must have shape \(3, 32, 32\), got \(3, 32, 31\)"),
        (torch.zeros(2, 3, 32, 32), r"got \(2, 3, 32, 32\)"),
        (torch.zeros(3, 32, 32).byte(), "a tensor of floats, got torch.uint8"),
        (np.zeros((3, 32, 32)), "a tensor of floats, got ndarray"),
        (torch.full((3, 32, 32), 3.0), "levels from 319 to 319 of 255: they are normalised in"),
        (torch.full((3, 32, 32), torch.nan), "normalised in another way"),
    ],
)
def test_pixels_that_cannot_be_are_refused(pixels, sentence: str) -> None:
    with pytest.raises(ImageError, match=sentence):
        vitviz.analyze(tiny("cls"), pixels, normalised=True)
