"""PCA with one basis for the patches of several pictures."""

from copy import deepcopy
from dataclasses import replace

import numpy as np
import pytest
import torch

from tests.models import photo, spread, tiny
from vitviz import Analysis, SelectionError, VitvizError, analyze, draw, load, pca
from vitviz.model.vit import ViT
from vitviz.probe.measure.features import principal, tokens_after

PHOTOS = (photo(), photo(90, 50)[::-1].copy(), 255 - photo())


def analyses(name: str) -> list[Analysis]:
    return [analyze(tiny(name), each) for each in PHOTOS]


def normed(analysis: Analysis, layer: int) -> np.ndarray:
    """The patches behind the last norm, written out: x / std * weight + bias."""
    x = analysis.trace.tokens[1:][layer].double().numpy()
    norm = analysis.loaded.vit.norm
    x = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + norm.eps)
    x = x * norm.weight.double().numpy() + norm.bias.double().numpy()
    return x[analysis.grid.num_prefix_tokens :]


@pytest.mark.parametrize("name", ["cls", "registers", "rotary"])
@pytest.mark.parametrize("layer", [0, -1])
def test_scores_are_those_of_numpy(name: str, layer: int) -> None:
    made = analyses(name)
    rows = np.concatenate([normed(each, layer) for each in made])
    centred = rows - rows.mean(0)
    _, sizes, directions = np.linalg.svd(centred, full_matrices=False)
    wanted = centred @ directions[:3].T
    found = pca(made, layer)
    scores = np.concatenate([each.scores.reshape(-1, 3).numpy() for each in found])
    signs = np.sign((scores * wanted).sum(0))
    np.testing.assert_allclose(scores, wanted * signs, atol=2e-4)
    explained = sizes[:3] ** 2 / (sizes**2).sum()
    for analysis, each in zip(made, found, strict=True):
        np.testing.assert_allclose(each.explained, explained, atol=1e-5)
        assert each.scores.shape == (analysis.grid.rows, analysis.grid.cols, 3)
        assert each.foreground.all()
        assert ((each.colours >= 0) & (each.colours <= 1)).all()


def test_one_picture_without_the_norm_is_the_panel_features() -> None:
    (one,) = analyses("cls")[:1]
    tokens = tokens_after(one.trace, 1)[one.grid.num_prefix_tokens :]
    wanted = principal(tokens)
    (found,) = pca([one], 1, normed=False)
    assert torch.equal(found.scores.reshape(-1, 3), wanted.scores)
    assert torch.equal(found.colours.reshape(-1, 3), wanted.rgb())


@pytest.mark.parametrize("side", ["positive", "negative"])
def test_the_foreground_is_one_side_of_the_first_component(side: str) -> None:
    made = analyses("registers")
    first = torch.cat([each.scores[..., 0].flatten() for each in pca(made)])
    kept = first > 0 if side == "positive" else first < 0
    rows = torch.cat([each.normed_tokens()[each.grid.num_prefix_tokens :] for each in made])
    found = pca(made, foreground=side)
    assert torch.equal(torch.cat([each.foreground.flatten() for each in found]), kept)
    scores = torch.cat([each.scores.reshape(-1, 3) for each in found])
    assert torch.equal(scores[kept], principal(rows[kept]).scores)
    assert scores[~kept].isnan().all()
    colours = torch.cat([each.colours.reshape(-1, 3) for each in found])
    assert (colours[~kept] == 0).all()


@pytest.mark.parametrize("name", ["cls", "no_cls"])
def test_the_normed_tokens_are_those_that_the_head_reads(name: str) -> None:
    one, vit = analyze(tiny(name), photo()), tiny(name).vit
    logits = vit.forward_head(one.normed_tokens()[None])[0]
    torch.testing.assert_close(logits, one.trace.logits, atol=1e-5, rtol=0)


def test_grids_may_differ_and_a_twin_is_another_model() -> None:
    square, wide = (analyze(load("photos", image_size=size), photo()) for size in (None, (72, 96)))
    first, second = pca([square, wide], 0)
    assert (first.colours.shape, second.colours.shape) == ((12, 12, 3), (12, 16, 3))
    both = torch.cat([first.scores.reshape(-1, 3), second.scores.reshape(-1, 3)])
    torch.testing.assert_close(both.mean(0), torch.zeros(3), atol=1e-4, rtol=0)
    twin = analyze(load("photos", pretrained=False), photo())
    with pytest.raises(SelectionError, match="one model"):
        pca([square, twin])


def test_a_model_of_the_same_name_with_other_weights_is_another_model() -> None:
    """Such as two epochs of one training: their directions were mixed without a word."""
    loaded = tiny("cls")
    vit = spread(ViT(loaded.card.config), seed=1).eval().requires_grad_(False)
    one, other = (analyze(model, photo()) for model in (loaded, replace(loaded, vit=vit)))
    with pytest.raises(SelectionError, match="one model"):
        pca([one, other])
    again = replace(loaded, vit=deepcopy(loaded.vit))
    ours, read = pca([one, analyze(again, photo())]), Analysis.from_bytes(one.to_bytes())
    for given in ([one, one], [one, read], [read, one]):
        found = pca(given, normed=False)
        torch.testing.assert_close(found[0].scores, found[1].scores)
    assert torch.equal(ours[0].scores, ours[1].scores)


def test_what_does_not_fit_is_said(tmp_path) -> None:
    one = analyze(tiny("cls"), photo())
    for given, options, words in (
        ([], {}, "at least one"),
        (["a"], {}, "analyses, as vitviz.analyze returns them, got str"),
        (one, {}, "analyses, as vitviz.analyze returns them, got Analysis alone"),
        (7, {}, "analyses, as vitviz.analyze returns them, got int"),
        ([one, analyze(tiny("registers"), photo())], {}, "one model"),
        ([one], {"foreground": "object"}, "positive, negative or None, not 'object'"),
        ([one], {"layer": 99}, "layer"),
    ):
        for made in (pca, draw.pca):
            with pytest.raises(SelectionError, match=words):
                made(given, **options)
    one.save(path := tmp_path / "one.safetensors")
    again = Analysis.load(path)
    with pytest.raises(VitvizError, match="normed_tokens"):
        pca([again])
    plain = zip(pca([again], normed=False), pca([one], normed=False), strict=True)
    assert all(torch.equal(mine.scores, theirs.scores) for mine, theirs in plain)
    assert torch.equal(again.normed_tokens(0, tiny("cls")), one.normed_tokens(0))


def test_the_figure_shows_each_picture_above_its_colours() -> None:
    made = analyses("grey")
    figure = draw.pca(made, foreground="positive")
    assert len(figure.axes) == 2 * len(made)
    for ax, found in zip(figure.axes[len(made) :], pca(made, foreground="positive"), strict=True):
        assert np.array_equal(ax.images[0].get_array(), found.colours)
    share = pca(made, foreground="positive")[0].explained[0]
    assert f"{share:.1%}" in figure.get_suptitle()
    assert "positive side" in figure.get_suptitle()
    assert len(draw.pca(one for one in made).axes) == 2 * len(made)
    with pytest.raises(SelectionError, match="12 pictures, and 13 came"):
        draw.pca([made[0]] * 13)
