"""What positions inside attention do by themselves, by hand; and where a pool looks."""

from dataclasses import replace
from math import cos

import numpy as np
import pytest
import torch
from safetensors.torch import load
from torch.testing import assert_close

from tests.models import photo, tiny
from tests.test_positions_inside import config_of
from vitviz import Analysis, SelectionError, ViT, VitvizError, analyze, draw
from vitviz.model.config import Rotary
from vitviz.payload import pack
from vitviz.payload.payload import late_file
from vitviz.probe.intervene.intervention import ChangePositions, Remove
from vitviz.probe.measure.inside import rotary_damping


def test_damping_by_hand() -> None:
    """2 x 3 patches, 4 pairs of channels: two turn 1 and .1 a row, two 1 and .1 a column."""
    vit = ViT(config_of(Rotary(kind="axial")))
    found = rotary_damping(vit, 0)
    assert found.shape == (1, 3, 5)
    assert found[0, 1, 2] == 1
    one_down_two_right = (cos(1) + cos(0.1) + cos(2) + cos(0.2)) / 4
    assert float(found[0, 2, 4]) == pytest.approx(one_down_two_right, rel=1e-6)
    assert_close(found, found.flip(1, 2))  # as far the other way
    # By content: of vectors that are as long in every pair, the mean of query and key so far apart.
    mixed = ViT(config_of(Rotary(kind="mixed")))
    angles = mixed.blocks[1].attn.angles(None, torch.device("cpu"))[0, 1]  # of head 1
    apart = (angles[2 + 0 * 3 + 2] - angles[2 + 1 * 3 + 0]).cos().mean()  # one up, two right
    assert_close(rotary_damping(mixed, 1)[1, 0, 4], apart)
    assert rotary_damping(mixed, 1).shape == (2, 3, 5)


def test_bias_pictures_by_hand() -> None:
    """The entry of a way is the difference that it makes to the score."""
    analysis = analyze(tiny("relative"), photo())  # 4 x 3 patches and CLS
    pictures = analysis.bias_pictures(1)
    assert pictures.shape == (2, 7, 5)
    trace, (query, key) = analysis.trace, (1 + 3 * 3 + 0, 1 + 1 * 3 + 2)  # 2 down, 2 to the left
    added = trace.scores(1, slice(0, 1))[0, query, key]
    plain = trace.scale * trace.q[1, 0, query] @ trace.k[1, 0, key]
    assert_close(pictures[0, 3 + 2, 2 - 2], added - plain)
    around = analysis.bias_pictures(1, token=query)  # each patch as the key of this query
    bias = analysis.trace.bias.scores(1, slice(0, 2), slice(query, query + 1))[:, 0, 1:]
    assert_close(around, bias.unflatten(1, (4, 3)))
    off = analyze(tiny("relative"), photo(), interventions=[{"kind": "positions", "by": "off"}])
    with pytest.raises(SelectionError, match="adds no bias"):
        off.bias_pictures(1)


def test_a_pooling_map_makes_what_the_pool_makes() -> None:
    analysis = analyze(tiny("map"), photo())
    vit, shares = analysis.loaded.vit, analysis.pooling_map()
    pool, n = vit.attn_pool, analysis.grid.num_tokens
    assert shares.shape == (3, n)
    assert_close(shares.sum(dim=1), torch.ones(3))
    x = vit.norm(analysis.trace.tokens[-1])
    v = pool.kv(x)[:, 24:].unflatten(1, (3, 8))
    gathered = pool.proj(torch.einsum("hn,nhd->hd", shares, v).flatten())
    expected = vit.head(gathered + pool.mlp(pool.norm(gathered)))
    assert_close(analysis.trace.logits, expected, atol=1e-5, rtol=1e-5)
    gone = analyze(tiny("map"), photo(), interventions=[{"kind": "remove", "patches": [0, 5]}])
    first = analysis.grid.num_prefix_tokens
    assert not gone.pooling_map()[:, [first, first + 5]].any()
    assert_close(gone.pooling_map().sum(dim=1), torch.ones(3))


def test_the_page_gets_where_a_pool_looks_and_the_figure_draws_it() -> None:
    analysis = analyze(tiny("map"), photo())
    assert pack(analysis, whole=False).manifest["files"]["pooling"] == {"late": True}
    sent = load(late_file(analysis, "pooling"))["shares"]
    assert torch.equal(sent, analysis.pooling_map())
    figure = draw.pooling(analysis)
    shown = [image.get_array() for ax in figure.axes for image in ax.images]
    assert np.array_equal(np.stack(shown), analysis.grid.to_map(sent).numpy())
    for other in (analyze(tiny("cls"), photo()), Analysis.from_bytes(analysis.to_bytes())):
        assert "pooling" not in pack(other).manifest["files"]


def test_what_is_not_there_is_refused() -> None:
    analysis = analyze(tiny("cls"), photo())
    for call, said in (
        (lambda: analysis.rotary_damping(0), "no rotary positions"),
        (lambda: analysis.bias_pictures(0), "adds no bias"),
        (lambda: analysis.pooling_map(), "no query that pools"),
        (lambda: draw.pooling(analysis), "no query that pools"),
        (lambda: analysis.rotary_damping(3), "layer must be"),
    ):
        with pytest.raises(SelectionError, match=said):
            call()
    rotary = analyze(tiny("rotary"), photo())
    read = Analysis.from_bytes(rotary.to_bytes())
    assert torch.equal(read.rotary_damping(1, tiny("rotary")), rotary.rotary_damping(1))
    with pytest.raises(VitvizError, match="pass the model"):
        replace(read, loaded=None).rotary_damping(1)


@pytest.mark.parametrize(("name", "kind"), [("rotary", "rotary"), ("relative", "bias")])
def test_the_page_gets_what_positions_inside_attention_do(name: str, kind: str) -> None:
    """By layer and head where they differ; a model without them, or without weights, has none."""
    analysis = analyze(tiny(name), photo())
    assert pack(analysis, whole=False).manifest["files"]["inside"]["late"] is True
    sent = load(late_file(analysis, "inside"))
    assert set(sent) == ({"rotary", "turns"} if kind == "rotary" else {"bias"})
    exact = analysis.rotary_damping if kind == "rotary" else analysis.bias_pictures
    for layer, of_layer in enumerate(sent[kind]):
        assert_close(of_layer.float(), exact(layer), atol=1e-3, rtol=1e-3)
    rows, cols = analysis.grid.rows, analysis.grid.cols
    assert sent[kind].shape[-2:] == (2 * rows - 1, 2 * cols - 1)
    without = analyze(tiny("cls"), photo())
    for other in (without, Analysis.from_bytes(analysis.to_bytes())):
        assert "inside" not in pack(other).manifest["files"]
        with pytest.raises(VitvizError, match="inside"):
            late_file(other, "inside")


@pytest.mark.parametrize("name", ["rotary", "relative"])
def test_a_pass_whose_positions_are_changed_has_no_map_of_those_of_the_model(name: str) -> None:
    loaded = tiny(name)
    changed = analyze(loaded, photo(), interventions=[ChangePositions(by="off")])
    assert "inside" not in pack(changed).manifest["files"]
    removed = analyze(loaded, photo(), interventions=[Remove(patches=(1,))])
    assert "inside" in pack(removed).manifest["files"]
