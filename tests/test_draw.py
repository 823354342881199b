"""Figures hold the numbers of the analysis, before any colour map, and say what they show."""

import io
import json
import math
import subprocess
import sys
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
import torch
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.text import Text
from PIL import Image

from tests.models import TINY, photo, tiny, with_pass
from tests.viewer_fixture import film
from vitviz import (
    EXPLAINERS,
    Analysis,
    SelectionError,
    Survey,
    VitvizError,
    ablate,
    analyze,
    draw,
    load,
    survey,
)
from vitviz.draw.figure_parts import LEAST_TIMES, SIGNED, percent, shares
from vitviz.model.resize import resized
from vitviz.probe.compare import compare
from vitviz.probe.measure import features
from vitviz.probe.measure.film import Film
from vitviz.probe.measure.heads import distances
from vitviz.probe.measure.pairs import pair

LAYER, HEAD = 1, 1


@pytest.fixture(params=["prefix", "patch"])
def token(request: pytest.FixtureRequest, any_tiny_analysis: Analysis) -> int:
    """The first token, and a patch away from the diagonal of the grid."""
    return 0 if request.param == "prefix" else any_tiny_analysis.grid.token(1, 2)


def arrays(figure: Figure) -> list[np.ndarray]:
    """The maps in a figure, panel by panel; without the picture, which is bytes or its grey."""
    images = [image.get_array() for ax in figure.axes for image in ax.images]
    return [np.asarray(array) for array in images if array.dtype != np.uint8]


def words(figure: Figure) -> str:
    return "\n".join(text.get_text() for text in figure.findobj(Text))


def bars(figure: Figure) -> list:
    return [ax for ax in figure.axes if ax.get_label() == "<colorbar>"]


def test_the_picture_is_what_the_model_saw(any_tiny_analysis: Analysis) -> None:
    figure = draw.patch_grid(any_tiny_analysis)
    shown = np.asarray(figure.axes[0].images[0].get_array())
    picture = any_tiny_analysis.picture.numpy()
    assert np.array_equal(shown.reshape(picture.shape), picture)
    grid = any_tiny_analysis.grid
    assert len(figure.axes[0].lines) == grid.rows + grid.cols - 2
    assert f"{grid.rows} x {grid.cols} = {grid.num_patches} patches" in words(figure)


def test_attention_shows_the_map(any_tiny_analysis, token, subtests) -> None:
    for head, direction in product([HEAD, None], ["from", "to"]):
        with subtests.test(head=head, direction=direction):
            figure = draw.attention(any_tiny_analysis, LAYER, head, token, direction=direction)
            values = any_tiny_analysis.attention(LAYER, head, token, direction)
            expected = any_tiny_analysis.grid.to_map(values).numpy()
            alone, over = arrays(figure)
            assert np.array_equal(alone, expected)
            assert np.array_equal(over, expected)
            text = words(figure)
            assert f"layer {LAYER}" in text
            assert ("mean of" if head is None else f"head {head}") in text
            assert f"{direction} {draw.token_name(any_tiny_analysis, token)}" in text
            assert len(bars(figure)) == 1


def least(analysis: Analysis) -> float:
    """Where a scale of attention ends at the least: three times uniform."""
    return 3 / analysis.trace.num_tokens


def test_a_map_of_even_attention_looks_even(tiny_analysis) -> None:
    trace = tiny_analysis.trace
    even = replace(trace, q=trace.q * 0.01)
    analysis = with_pass(tiny_analysis, trace=even)
    top = 3 / trace.num_tokens
    for figure in (
        draw.attention(analysis, LAYER, HEAD),
        draw.heads(analysis, LAYER, scale="own"),
        draw.matrix(analysis, LAYER),
    ):
        maps = [
            image
            for ax in figure.axes
            for image in ax.images
            if np.ma.asarray(image.get_array()).dtype != np.uint8
        ]
        assert maps
        for image in maps:
            assert image.norm.vmax == pytest.approx(top)
            shown = image.norm(image.get_array()).compressed()
            assert np.ptp(shown) < 0.1
            assert shown.mean() == pytest.approx(1 / 3, abs=0.02)
    (wall,) = draw.wall(analysis, scale="own").axes[0].images
    assert np.ptp(wall.norm(wall.get_array()).compressed()) < 0.1


def test_heads_show_every_head_in_order(any_tiny_analysis, token, subtests) -> None:
    expected = any_tiny_analysis.grid.to_map(any_tiny_analysis.trace.attention_from(LAYER, token))
    ends = np.maximum(expected.amax(dim=(1, 2)).numpy(), least(any_tiny_analysis))
    count = any_tiny_analysis.trace.num_heads
    for scale, bar_count, tops in (("shared", 1, {ends.max()}), ("own", count, set(ends))):
        with subtests.test(scale=scale):
            figure = draw.heads(any_tiny_analysis, LAYER, token, scale=scale)
            assert np.array_equal(np.stack(arrays(figure)), expected.numpy())
            found = {image.norm.vmax for ax in figure.axes for image in ax.images}
            assert len(bars(figure)) == bar_count
            assert sorted(found) == pytest.approx(sorted(tops))
            assert max(found) == pytest.approx(max(expected.max(), least(any_tiny_analysis)))


def test_rollout_goes_up_through_the_layers(any_tiny_analysis, token) -> None:
    figure = draw.rollout(any_tiny_analysis, token, head_fusion="max", residual=0.25)
    grid = any_tiny_analysis.grid
    shown = arrays(figure)
    assert len(shown) == any_tiny_analysis.trace.depth
    for layer, array in enumerate(shown):
        values = any_tiny_analysis.rollout(token, layer, head_fusion="max", residual=0.25)
        assert np.array_equal(array, grid.to_map(values).numpy())
    text = words(figure)
    assert "max of heads, residual 0.25" in text
    assert "arXiv:2005.00928" in text


def test_the_scale_of_a_rollout_leaves_out_the_patch_itself_and_says_so() -> None:
    analysis = analyze(tiny("cls"), photo())
    token = analysis.grid.token(2, 1)
    first = analysis.rollout(token, 0)
    assert first.argmax() == token  # half of itself, at least
    figure = draw.rollout(analysis, token)
    (bar,) = bars(figure)
    scale = figure.axes[0].images[-1].norm
    assert scale.vmax < first[token]
    assert bar._colorbar.extend == "max"
    assert bars(draw.rollout(analysis, 0))[0]._colorbar.extend == "neither"


def test_a_rollout_has_one_scale_up_to_the_largest_patch_but_its_own(
    any_tiny_analysis, token
) -> None:
    analysis, grid = any_tiny_analysis, any_tiny_analysis.grid
    options = {"head_fusion": "min", "residual": 0.75, "first": 1}
    others = [at for at in range(grid.num_prefix_tokens, grid.num_tokens) if at != token]
    layers = range(1, analysis.trace.depth)
    largest = max(analysis.rollout(token, layer, **options)[others].max() for layer in layers)
    largest = max(float(largest), least(analysis))
    figure = draw.rollout(analysis, token, **options)
    maps = [image for ax in figure.axes for image in ax.images if image.get_array().dtype != "u1"]
    assert len(maps) == len(layers)
    for image in maps:
        assert (image.norm.vmin, image.norm.vmax) == pytest.approx((0, largest))
    (bar,) = bars(figure)
    assert bar.get_ylim() == pytest.approx((0, largest))
    assert "all tokens sum to 1" in words(figure)
    fixed = draw.rollout(analysis, token, vmax=0.5)
    assert {image.norm.vmax for image in fixed.axes[0].images[1:]} == {0.5}


@pytest.fixture(scope="session", params=[name for name in TINY if TINY[name].pos_embed])
def placed(request: pytest.FixtureRequest) -> Analysis:
    """The photo in each of the small models that have learned positions."""
    return analyze(tiny(request.param), photo())


def test_one_position_is_compared_with_all(placed: Analysis) -> None:
    token = placed.grid.token(1, 2)
    figure = draw.position_similarity(placed, token)
    (shown,) = arrays(figure)
    assert figure.axes[0].images[0].cmap is SIGNED  # diverging, grey at 0
    assert np.array_equal(shown, placed.position_similarity(token).numpy())
    assert shown[1, 2] == pytest.approx(1)


def test_the_mosaic_has_the_map_of_each_patch_at_its_place(placed: Analysis) -> None:
    grid = placed.grid
    figure = draw.position_similarity(placed)
    (image,) = figure.axes[0].images
    shown = image.get_array()
    assert (image.norm.vmin, image.norm.vmax) == (-1, 1)
    assert image.cmap is SIGNED
    for row in range(grid.rows):
        for col in range(grid.cols):
            top, left = row * (grid.rows + 1), col * (grid.cols + 1)
            tile = shown[top : top + grid.rows, left : left + grid.cols]
            expected = placed.position_similarity(grid.token(row, col))
            np.testing.assert_allclose(tile, expected.numpy(), atol=1e-6)
    assert shown.mask[grid.rows].all()
    assert shown.mask[:, grid.cols].all()


def test_the_mosaic_keeps_who_is_compared_with_whom() -> None:
    values = np.arange(36.0).reshape(6, 6)  # 2 x 3 patches; not symmetric, as cosines would be
    shown = draw.mosaic(values, rows=2, cols=3)
    assert shown.shape == (2 * 3 - 1, 3 * 4 - 1)
    assert np.array_equal(shown[3:5, 4:7], values[4].reshape(2, 3))  # patch (1, 1)


def test_predictions_are_as_long_as_they_are_probable(tiny_analysis: Analysis) -> None:
    figure = draw.predictions(tiny_analysis, k=3)
    expected = tiny_analysis.predictions(3)
    ax = figure.axes[1]
    assert [bar.get_width() for bar in ax.patches] == [answer.probability for answer in expected]
    assert [text.get_text() for text in ax.get_yticklabels()] == [a.label for a in expected]
    assert f"{expected[0].probability:.1%}" in words(figure)


def test_no_predictions_are_invented() -> None:
    with pytest.raises(VitvizError, match="names no classes"):
        draw.predictions(analyze(tiny("registers"), photo()))


def test_every_figure_names_its_source(tiny_analysis: Analysis) -> None:
    analysis = replace(tiny_analysis, photo_name="cat.jpg")
    for figure, paper in (
        (draw.patch_grid(analysis), "2010.11929"),
        (draw.attention(analysis, LAYER), "2010.11929, equation 6"),
        (draw.heads(analysis, LAYER), "2010.11929, equation 6"),
        (draw.rollout(analysis), "2005.00928"),
        (draw.position_similarity(analysis), "2010.11929, figure 7"),
        (draw.wall(analysis), "2010.11929, equation 6"),
        (draw.matrix(analysis, LAYER), "2010.11929, equation 6"),
        (draw.pair(analysis, LAYER, HEAD, 0), "2010.11929, equation 6"),
        (draw.head_statistics(analysis), "2010.11929, appendix D.7 and figure 7"),
        (draw.patch(analysis, 3), "2010.11929, equation 1"),
        (draw.lens(analysis), "2310.18969"),
        (draw.predictions(analysis), ""),
    ):
        text = words(figure)
        assert "tiny cls" in text
        assert "cat.jpg" in text
        assert paper in text
        assert figure.get_suptitle()


def test_a_figure_says_a_size_that_is_not_the_models_own(tiny_analysis: Analysis) -> None:
    own, other = tiny("cls"), resized(tiny("cls"), (40, 24))
    assert "model: tiny cls at 40x24 pixels (" in words(draw.patch_grid(analyze(other, photo())))
    assert "model: tiny cls (" in words(draw.patch_grid(analyze(own, photo())))


def test_the_captions_share_out_all_attention() -> None:
    analysis = analyze(tiny("registers"), photo())
    row = analysis.attention(LAYER, 0)
    text = words(draw.heads(analysis, LAYER))
    shares = row[5:].sum(), row[0], row[1:5].sum()
    assert "head 0: patches {:.1%}\ncls {:.1%}, reg {:.1%}".format(*shares) in text


def test_two_registers_without_a_cls_token_have_a_number_each(tiny_analysis: Analysis) -> None:
    card = tiny_analysis.card
    config = replace(card.config, class_token=False, global_pool="avg", reg_tokens=4)
    analysis = replace(tiny_analysis, card=replace(card, config=config))
    values = np.array([0.1, 0.2, 0.3, 0.4, 1.0])
    assert shares(analysis, "x", values, "to") == "x\nfrom reg 10.0%, reg 20.0%"


def test_what_is_not_all_is_not_rounded_to_all() -> None:
    written = [percent(share) for share in (0, 0.0001, 0.123, 0.9998, 1 - 1e-7, 1)]
    assert written == ["0.0%", "< 0.1%", "12.3%", "> 99.9%", "100.0%", "100.0%"]


def test_a_given_top_of_the_scale_is_kept_and_shown_as_cut(tiny_analysis: Analysis) -> None:
    figure = draw.attention(tiny_analysis, LAYER, vmax=0.01)
    assert figure.axes[1].images[0].norm.vmax == 0.01
    assert bars(figure)[0]._colorbar.extend == "max"


@pytest.mark.parametrize("kind", ["png", "svg", "pdf"])
def test_the_same_figure_is_the_same_file(tmp_path, tiny_analysis: Analysis, kind: str) -> None:
    draw.save(draw.predictions(tiny_analysis), tmp_path / f"a.{kind}")
    draw.save(draw.predictions(tiny_analysis), tmp_path / f"b.{kind}")
    written = (tmp_path / f"a.{kind}").read_bytes()
    assert written == (tmp_path / f"b.{kind}").read_bytes()
    assert b"CreationDate" not in written
    assert b"dc:date" not in written


def test_names_from_outside_are_text_and_not_markup(tmp_path, tiny_analysis: Analysis) -> None:
    labels = ("$\\frac{$", "<script>", "a\\b", "$x$", "&amp;", "_^", "{}")
    card = replace(tiny_analysis.card, labels=labels, name="$\\evil{$")
    analysis = replace(tiny_analysis, card=card, photo_name="$\\sum_{$.jpg")
    draw.save(draw.predictions(analysis, 7), tmp_path / "a.svg")
    draw.save(draw.heads(analysis, LAYER), tmp_path / "b.png")
    draw.save(draw.lens(analysis, 7), tmp_path / "c.png")
    assert "<script>" not in (tmp_path / "a.svg").read_text("utf-8")


def test_a_long_name_does_not_leave_the_figure(tiny_analysis: Analysis) -> None:
    analysis = replace(tiny_analysis, photo_name="x" * 500 + ".jpg")
    figure = draw.heads(analysis, LAYER)
    figure.savefig(io.BytesIO(), format="png")
    box = figure._supxlabel.get_window_extent()
    assert box.x0 >= 0
    assert box.x1 <= figure.bbox.x1


def test_a_saved_picture_opens(tmp_path, tiny_analysis: Analysis) -> None:
    draw.save(draw.patch_grid(tiny_analysis), tmp_path / "a.png")
    with Image.open(tmp_path / "a.png") as image:
        assert image.text["Title"] == "4 x 4 = 16 patches of 8 x 8 pixels"
        assert min(image.size) > 300


def test_saving_refuses_in_words(tmp_path, tiny_analysis: Analysis) -> None:
    figure = draw.patch_grid(tiny_analysis)
    with pytest.raises(VitvizError, match=r"\.png, \.svg or \.pdf, got 'a\.bmp'"):
        draw.save(figure, tmp_path / "a.bmp")
    with pytest.raises(VitvizError, match="could not be written"):
        draw.save(figure, tmp_path / "nowhere" / "a.png")


@pytest.mark.parametrize(
    "make",
    [
        lambda a: draw.attention(a, 3),
        lambda a: draw.attention(a, 0, 2),
        lambda a: draw.heads(a, 0, 17),
        lambda a: draw.rollout(a, -18),
        lambda a: draw.position_similarity(a, 0),
        lambda a: draw.heads(a, 0, direction="up"),
        lambda a: draw.wall(a, 17),
        lambda a: draw.heads(a, 0, scale="layer"),
        lambda a: draw.wall(a, 0, direction="up"),
        lambda a: draw.wall(a, 0, scale="mine"),
        lambda a: draw.matrix(a, 3),
        lambda a: draw.matrix(a, 0, 2),
        lambda a: draw.pair(a, 0, None, 0),
        lambda a: draw.pair(a, 0, 2, 0, 1),
        lambda a: draw.pair(a, 0, 0, 17),
        lambda a: draw.pair(a, 0, 0, 0, 17),
        lambda a: draw.head_statistics(a, 3, 0),
        lambda a: draw.patch(a, 0),
        lambda a: draw.patch(a, 17),
    ],
)
def test_what_the_model_does_not_have_is_refused(tiny_analysis: Analysis, make) -> None:
    with pytest.raises(SelectionError):
        make(tiny_analysis)


def test_drawing_does_not_touch_pyplot() -> None:
    script = """
import sys
from tests.models import photo, tiny
from vitviz import analyze, draw
draw.heads(analyze(tiny("cls"), photo()), 0)
assert "matplotlib.pyplot" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", script], check=True)


def test_features_show_what_the_tokens_have_in_common(any_tiny_analysis, token) -> None:
    analysis = any_tiny_analysis
    grid = analysis.grid
    figure = draw.features(analysis, LAYER, token)
    colours, alike, norms = arrays(figure)
    tokens = features.tokens_after(analysis.trace, LAYER)
    found = features.principal(grid.patches(tokens.T).T)
    np.testing.assert_allclose(colours.reshape(-1, 3), found.rgb(), atol=1e-6)
    np.testing.assert_allclose(alike, grid.to_map(features.similarity(tokens, token)), atol=1e-6)
    np.testing.assert_allclose(norms, grid.to_map(features.norms(tokens)), rtol=1e-6)
    text = words(figure)
    assert f"after layer {LAYER}" in text
    assert f"{float(found.explained[0]):.1%}" in text
    assert "above 2 x median" in text
    with pytest.raises(SelectionError, match="layer must be"):
        draw.features(analysis, 99)
    with pytest.raises(SelectionError, match="token must be"):
        draw.features(analysis, 0, 999)


def test_outliers_are_framed(tiny_analysis) -> None:
    tokens = tiny_analysis.trace.tokens.clone()
    tokens[LAYER + 1, 5] *= 10
    trace = replace(tiny_analysis.trace, tokens=tokens)
    figure = draw.features(with_pass(tiny_analysis, trace=trace), LAYER)
    assert len(figure.axes[2].patches) == 1
    assert "1 of 16 patches" in words(figure)


def test_a_rollout_may_begin_later(tiny_analysis) -> None:
    shown = arrays(draw.rollout(tiny_analysis, first=1))
    expected = [tiny_analysis.rollout(0, layer, first=1) for layer in (1, 2)]
    for array, values in zip(shown, expected, strict=True):
        np.testing.assert_allclose(array, tiny_analysis.grid.to_map(values))
    assert "from layer 1" in words(draw.rollout(tiny_analysis, first=1))


def test_the_wall_has_every_head_of_every_layer(any_tiny_analysis, token, subtests) -> None:
    for scale, direction in product(["shared", "layer", "own"], ["from", "to"]):
        with subtests.test(scale=scale, direction=direction):
            compare_wall(any_tiny_analysis, token, scale, direction)


def compare_wall(analysis: Analysis, token: int, scale: str, direction: str) -> None:
    grid = analysis.grid
    figure = draw.wall(analysis, token, direction=direction, scale=scale)
    (image,) = figure.axes[0].images
    canvas = image.get_array()
    depth, heads = analysis.trace.depth, analysis.trace.num_heads
    down = (canvas.shape[0] - depth * grid.rows) // (depth - 1)
    right = (canvas.shape[1] - (heads + 1) * grid.cols) // heads
    every = grid.to_map(
        torch.stack([analysis.attention_of_heads(at, token, direction) for at in range(depth)])
    ).numpy()
    for layer in range(depth):
        for col, head in enumerate([None, *range(heads)]):
            y, x = layer * (grid.rows + down), col * (grid.cols + right)
            shown = canvas[y : y + grid.rows, x : x + grid.cols]
            values = grid.to_map(analysis.attention(layer, head, token, direction)).numpy()
            top = {"shared": 1, "layer": every[layer].max(), "own": values.max()}[scale]
            top = 1 if scale == "shared" else max(top, least(analysis))
            np.testing.assert_allclose(shown, values / top, rtol=1e-5)
    assert canvas.mask[grid.rows].all()
    assert image.norm.vmax == (
        pytest.approx(max(every.max(), least(analysis))) if scale == "shared" else 1
    )
    text = words(figure)
    if scale == "layer":
        assert f"{max(every[LAYER].max(), least(analysis)):.3g}" in text
    if scale == "own":
        assert f"{max(every[LAYER, HEAD].max(), least(analysis)):.2g}" in text
    assert f"{direction} {draw.token_name(analysis, token)}" in text
    boxes = sum(isinstance(found, Rectangle) for found in figure.axes[0].patches)
    assert boxes == (depth * (heads + 1) if grid.is_patch(token) else 0)


@pytest.mark.parametrize("head", [HEAD, None])
def test_a_whole_map_is_query_by_key_with_prefix_tokens_apart(any_tiny_analysis, head) -> None:
    analysis, prefix = any_tiny_analysis, any_tiny_analysis.grid.num_prefix_tokens
    figure = draw.matrix(analysis, LAYER, head)
    (shown,) = arrays(figure)
    count = analysis.trace.num_tokens
    gap = [prefix] if prefix else []
    assert len(shown) == count + len(gap)
    values = np.delete(np.delete(shown, gap, axis=0), gap, axis=1)
    maps = analysis.trace.attention(LAYER)
    expected = maps.mean(dim=0) if head is None else maps[head]
    np.testing.assert_allclose(values, expected, rtol=1e-5)
    image = figure.axes[0].images[0]
    assert image.get_array().mask[gap].all()
    top = max(float(np.quantile(expected, 0.995)), least(analysis))
    assert image.norm.vmax == pytest.approx(top)
    cut = bool((expected > image.norm.vmax).any())
    assert bars(figure)[0]._colorbar.extend == ("max" if cut else "neither")
    inside = (expected <= image.norm.vmax).float().mean()
    said = f"{inside:.1%} of the numbers lie within the scale"
    assert (said in words(figure)) is cut
    whole = draw.matrix(analysis, LAYER, head, vmax=1)
    assert bars(whole)[0]._colorbar.extend == "neither"
    assert "within the scale" not in words(whole)


def test_every_head_is_a_dot_below_the_line_of_even_attention(any_tiny_analysis) -> None:
    analysis = any_tiny_analysis
    figure = draw.head_statistics(analysis, LAYER, HEAD)
    found = analysis.head_statistics()
    even = math.log(analysis.trace.num_tokens), float(distances(analysis.grid).mean())
    for ax, values, line in zip(figure.axes, (found.entropy, found.distance), even, strict=True):
        dots, ring = ax.collections
        np.testing.assert_allclose(dots.get_offsets()[:, 1], values.flatten(), rtol=1e-6)
        layers = np.repeat(range(analysis.trace.depth), analysis.trace.num_heads)
        assert np.array_equal(dots.get_offsets()[:, 0], layers)
        np.testing.assert_allclose(ring.get_offsets(), [[LAYER, values[LAYER, HEAD]]], rtol=1e-6)
        assert ax.lines[0].get_ydata()[0] == pytest.approx(line)
    assert len(draw.head_statistics(analysis).axes[0].collections) == 1


def test_a_pair_is_drawn_with_all_that_it_is_made_of(any_tiny_analysis, token) -> None:
    analysis = any_tiny_analysis
    figure = draw.pair(analysis, LAYER, HEAD, token, 2)
    found = pair(analysis.trace, LAYER, HEAD, token, 2)
    axes = {ax.get_label(): ax for ax in figure.axes}
    for name in ("q", "k", "products", "scores", "attention"):
        heights = [one.get_height() for one in axes[name].containers[0]]
        np.testing.assert_allclose(heights, getattr(found, name), rtol=1e-6)
    colours = [one.get_facecolor() for one in axes["attention"].containers[0]]
    assert [at for at, colour in enumerate(colours) if colour != colours[-1]] == [2]
    text = words(figure)
    assert f"their sum is {found.sum:.4g}" in text
    is_relative = analysis.card.config.relative_bias
    bias = f" + bias {found.bias:.4g}" if is_relative else ""
    assert f"{found.sum:.4g} x {found.scale:.4g}{bias} = {found.score:.4g}" in text
    assert found.sum * found.scale + is_relative * found.bias == pytest.approx(
        found.score, abs=1e-4
    )
    assert f"layer {LAYER}, head {HEAD}: {found.share:.4g}" in text


def test_a_pair_without_a_key_is_the_one_that_is_attended_to_most(tiny_analysis) -> None:
    key = int(tiny_analysis.attention(LAYER, HEAD, 0).argmax())
    text = words(draw.pair(tiny_analysis, LAYER, HEAD, 0))
    assert f"to {draw.token_name(tiny_analysis, key)}:" in text


def test_the_lens_has_a_line_for_each_class_it_follows(tiny_analysis) -> None:
    figure = draw.lens(tiny_analysis, 3)
    lines = tiny_analysis.lens_lines(3)
    shares, ranks = figure.axes
    assert [tuple(line.get_ydata()) for line in shares.lines] == [
        one.probabilities for one in lines
    ]
    assert [tuple(line.get_ydata()) for line in ranks.lines] == [one.ranks for one in lines]
    assert [text.get_text() for text in figure.legends[0].get_texts()] == [x.label for x in lines]
    assert ranks.yaxis_inverted()
    with pytest.raises(VitvizError, match="names no classes"):
        draw.lens(analyze(tiny("registers"), photo()))
    loaded = tiny("cls")
    values = replace(loaded, card=replace(loaded.card, outputs="value"))
    with pytest.raises(VitvizError, match="tiny cls answers with values, which have no lens"):
        draw.lens(analyze(values, photo()))


def test_a_patch_becomes_the_first_numbers_of_its_token(any_tiny_analysis) -> None:
    analysis, grid = any_tiny_analysis, any_tiny_analysis.grid
    token = grid.token(1, 2)
    figure = draw.patch(analysis, token)
    top, flat, filters, answers = figure.subfigs
    seen = np.asarray(top.axes[1].images[0].get_array())
    expected = grid.patch(analysis.picture, token).numpy()
    assert np.array_equal(seen.reshape(expected.shape), expected)
    strip = np.asarray(flat.axes[0].images[0].get_array()).ravel()
    assert np.array_equal(strip, grid.patch(analysis.pixels.permute(1, 2, 0), token).ravel())
    assert len(filters.axes) == len(analysis.embedding.filters)
    content, position = answers.axes[0].containers
    heights = [[one.get_height() for one in series] for series in (content, position)]
    np.testing.assert_allclose(heights[0], analysis.embedding.content[token], rtol=1e-6)
    np.testing.assert_allclose(heights[1], analysis.embedding.position[token], rtol=1e-6)
    together = answers.axes[0].lines[0].get_ydata()
    np.testing.assert_allclose(together, np.sum(heights, axis=0), rtol=1e-5)
    with pytest.raises(VitvizError, match="without filters"):
        draw.patch(with_pass(analysis, embedding=None), token)


@pytest.fixture(scope="module")
def filmed(tmp_path_factory) -> Film:
    return film(tmp_path_factory.mktemp("film") / "x.film.safetensors")


@pytest.mark.parametrize("head", [HEAD, None])
def test_a_film_shows_its_pictures_first_and_last(filmed, tiny_analysis, head) -> None:
    figure = draw.training(filmed, tiny_analysis.card, LAYER, head)
    accuracy, *pictures = figure.subfigs
    lines = {line.get_label(): line.get_ydata() for line in accuracy.axes[0].lines}
    assert list(lines["first answer right"]) == [0.14, 0.6]
    assert list(lines["among first five"]) == [0.71, 0.95]
    grid = tiny_analysis.grid
    for at, part in enumerate(pictures):
        shown = [ax.images[-1] for ax in part.axes if ax.images]
        values = filmed.attention[:, at, LAYER].float()
        values = values.mean(dim=1) if head is None else values[:, head]
        np.testing.assert_allclose([one.get_array() for one in shown], grid.to_map(values))
        assert len({one.norm.vmax for one in shown}) == 1
    text = words(figure)
    assert "all classes alike" in text  # before any step
    best = filmed.probabilities[1, 0].float().max()
    assert f"{float(best):.1%}" in text
    assert "it began with <b>earlier</b>" in text
    assert "tiny cls" in text


@pytest.mark.parametrize(
    ("layer", "head"), [(3, None), (-4, 0), (0, 2), (0, -3), (True, 0), (0, False), (0, 1.0)]
)
def test_a_film_has_no_other_layers_and_heads(filmed, tiny_analysis, layer, head) -> None:
    with pytest.raises(SelectionError, match="must be a whole number"):
        draw.training(filmed, tiny_analysis.card, layer, head)


def test_layers_and_heads_of_a_film_count_from_the_end_too(filmed, tiny_analysis) -> None:
    texts = [words(draw.training(filmed, tiny_analysis.card, *at)) for at in ((-1, -2), (2, 0))]
    assert texts[0] == texts[1]
    assert "layer 2, head 0" in texts[0]


def test_what_was_measured_stands_beside_chance(tiny_analysis) -> None:
    maps = {"centre": {"energy": 1.4, "pointing": 0.7}, "rollout": {"energy": 1.2, "pointing": 0.6}}
    told = {"top1": 0.5, "top5": 0.9, "ece": 0.03, "pictures": 1200, "boxes": maps}
    card = replace(tiny_analysis.card, details={"evaluation": json.dumps(told)})
    figure = draw.measured(card)
    widths = [[one.get_width() for one in ax.containers[0]] for ax in figure.axes]
    assert widths == [[0.5, 0.9], [1.4, 1.2], [0.7, 0.6]]
    assert [line.get_xdata()[0] for line in figure.axes[0].lines] == [1 / 7, 5 / 7]
    centre, rollout = figure.axes[1].containers[0]
    assert centre.get_facecolor() != rollout.get_facecolor()
    text = words(figure)
    assert "1,200 pictures" in text
    assert "calibration error 3.0%" in text
    with pytest.raises(VitvizError, match="nothing was measured"):
        draw.measured(tiny_analysis.card)


def test_every_figure_finds_room_for_its_parts(any_tiny_analysis) -> None:
    """A layout that collapses would warn, and a warning fails."""
    analysis, patch = any_tiny_analysis, any_tiny_analysis.grid.token(0, 0)
    for figure in (
        draw.wall(analysis, patch, scale="own"),
        draw.matrix(analysis, LAYER),
        draw.pair(analysis, LAYER, HEAD, patch),
        draw.head_statistics(analysis, LAYER, HEAD),
        draw.patch(analysis, patch),
    ):
        figure.draw_without_rendering()


def test_a_wall_is_one_picture_and_not_hundreds(tmp_path, tiny_analysis) -> None:
    draw.save(draw.wall(tiny_analysis), tmp_path / "wall.svg")
    assert (tmp_path / "wall.svg").read_text("utf-8").count("<image") == 2  # the maps, the bar


def test_explainers_stand_side_by_side_each_on_its_own_scale(tiny_analysis: Analysis) -> None:
    figure = draw.explain(tiny_analysis, ["generic", "occlusion"], target=2)
    first, *maps = [ax for ax in figure.axes if ax.get_title()]
    np.testing.assert_array_equal(first.images[0].get_array(), tiny_analysis.picture)
    assert [ax.get_title() for ax in maps] == [
        "generic relevance (Chefer)\narXiv:2103.15679",
        "occlusion\narXiv:1311.2901",
    ]
    for key, ax in zip(("generic", "occlusion"), maps, strict=True):
        values = tiny_analysis.grid.to_map(tiny_analysis.explain(key, target=2))
        np.testing.assert_allclose(ax.images[0].get_array(), values)
        top = float(values.abs().max())
        low = -top if key == "occlusion" else 0
        assert ax.images[0].get_clim() == pytest.approx((low, top))
    assert 'for "class 2"' in figure.get_suptitle()
    whole = draw.explain(tiny_analysis)
    assert len([ax for ax in whole.axes if ax.get_title()]) == 1 + len(EXPLAINERS)


def test_a_figure_says_what_was_changed() -> None:
    changes = [{"kind": "remove", "patches": [3]}]
    analysis = analyze(tiny("cls"), photo(), interventions=changes)
    for figure in (draw.heads(analysis, 0), draw.predictions(analysis), draw.explain(analysis)):
        assert "changed: patch 3 taken out" in figure.get_supxlabel()
    # A long list is there to its end, and the figure has room for it.
    changes = [
        {"kind": "head", "layer": layer, "head": head, "by": "zero"}
        for layer in range(3)
        for head in range(2)
    ]
    changes += [{"kind": "branch", "layer": layer, "branch": "mlp"} for layer in range(3)]
    many = analyze(tiny("cls"), photo(), interventions=changes)
    short, long = (draw.attention(one, 0, token=1) for one in (analysis, many))
    told = long.get_supxlabel().replace("\n", " ")
    for one in many.interventions:
        assert str(one.sentence()) in told
    assert long.get_figheight() > short.get_figheight()


def test_answers_before_and_after_stand_side_by_side() -> None:
    before = analyze(tiny("cls"), photo())
    after = before.operate([{"kind": "even", "rows": "all"}])
    figure = draw.answers(before, after)
    (ax,) = figure.axes
    rows = compare(before, after).answers(5)
    widths = [[bar.get_width() for bar in bars] for bars in ax.containers]
    assert widths[0] == pytest.approx([row.first for row in rows])
    assert widths[1] == pytest.approx([row.second for row in rows])
    assert [text.get_text() for text in ax.get_yticklabels()] == [row.label for row in rows]
    assert "changed: " in figure.get_supxlabel()
    with pytest.raises(VitvizError, match="names no classes"):
        draw.answers(before, analyze(tiny("registers"), photo()))


def lit(colour: np.ndarray, share: float) -> np.ndarray:
    """A colour under a spotlight: grey and a fifth as bright at 0, as it is at 1."""
    grey = 0.3 * colour[0] + 0.59 * colour[1] + 0.11 * colour[2]
    return (grey + share**0.5 * (colour - grey)) * (0.2 + 0.8 * share**0.5)


def test_a_spotlight_dims_the_photo_where_attention_is_low() -> None:
    analysis = analyze(tiny("cls"), photo(96, 96))
    figure = draw.attention(analysis, 0, token=1, spotlight=True)
    shown = figure.axes[2].images[0].get_array()
    sharp = np.asarray(Image.open(io.BytesIO(analysis.photograph.crop)))
    assert shown.shape == sharp.shape
    assert sharp.shape[0] > analysis.picture.shape[0]
    values = analysis.grid.to_map(analysis.attention(0, token=1))
    top = max(float(values.max()), LEAST_TIMES / analysis.trace.num_tokens)
    grid = analysis.grid
    for row, col in ((0, 0), (grid.rows - 1, 1), (1, grid.cols - 1)):
        y = (2 * row + 1) * sharp.shape[0] // (2 * grid.rows)
        x = (2 * col + 1) * sharp.shape[1] // (2 * grid.cols)
        wanted = lit(sharp[y, x], float(values[row, col]) / top)
        np.testing.assert_allclose(shown[y, x], wanted, atol=1)
    assert "20% of its light" in figure.axes[2].get_title()


def test_a_spotlight_shows_explanations_without_a_sign(tmp_path) -> None:
    analysis = analyze(tiny("cls"), photo(96, 96))
    keys = ("rollout", "attention_gradient")
    maps = {key: analysis.explain(key) for key in keys}
    figure = draw.explained(analysis, maps, spotlight=True)
    sharp = np.asarray(Image.open(io.BytesIO(analysis.photograph.crop)))
    (dim,), (coloured,) = (axes.images for axes in figure.axes[1:3])
    values = analysis.grid.to_map(maps["rollout"])
    side, grid = len(sharp), analysis.grid
    for row, col in ((0, 0), (3, 1), (1, 2)):
        y, x = ((2 * at + 1) * side // (2 * grid.rows) for at in (row, col))
        wanted = lit(sharp[y, x], float(values[row, col] / values.max()))
        np.testing.assert_allclose(dim.get_array()[y, x], wanted, atol=1)
    # Where values have a sign, blue and orange go on saying which.
    signed = analysis.grid.to_map(maps["attention_gradient"])
    np.testing.assert_allclose(coloured.get_array(), signed)
    assert ["20% of its light" in axes.get_title() for axes in figure.axes[1:3]] == [True, False]
    low, high = figure.axes[3].get_ylim()  # the scale of the dimmed map
    assert (low, high) == (0, pytest.approx(float(values.max())))
    for format_ in ("png", "svg", "pdf"):
        draw.save(figure, path := tmp_path / f"figure.{format_}")
        assert path.stat().st_size > 1000


# --- many pictures, axes of a caller, notebooks ---------------------------------------------------


@pytest.fixture(scope="module")
def surveys() -> list[Survey]:
    pictures = [photo(40 + i, 60) for i in range(4)]
    return [survey(tiny(name), pictures, progress=False) for name in ("cls", "rotary")]


def test_figure_7_has_a_dot_for_each_head_and_its_interval(surveys) -> None:
    (ax,) = draw.figure7(*surveys).axes
    for one, drawn in zip(surveys, ax.containers, strict=True):
        line, _, (bars,) = drawn
        mean, error = one.mean().numpy(), one.error().numpy()
        assert np.allclose(np.sort(line.get_ydata()), np.sort(mean.ravel()))
        layers = np.repeat(np.arange(len(mean)), mean.shape[1])
        assert (np.round(line.get_xdata()) == layers).all()
        order = mean.argsort(axis=1)
        half = np.take_along_axis(error, order, axis=1).ravel() * 2
        found = [(ends[1, 1] - ends[0, 1]) / 2 for ends in bars.get_segments()]
        assert np.allclose(found, half, atol=1e-6)
    texts = [text.get_text() for text in ax.get_legend().get_texts()]
    assert texts == ["tiny cls, 4 pictures", "tiny rotary, 4 pictures"]


def test_surveys_at_two_sizes_have_two_names_and_two_lines_of_even_attention() -> None:
    loaded = load("mnist")
    two = [survey(one, [photo()], progress=False) for one in (loaded, resized(loaded, (56, 56)))]
    (ax,) = draw.figure7(*two).axes
    texts = [text.get_text() for text in ax.get_legend().get_texts()]
    assert texts == ["mnist, 1 pictures", "mnist, 56 pixels, 1 pictures"]
    assert len([line for line in ax.lines if line.get_linestyle() == "--"]) == 2


def test_an_ablation_of_a_class_is_told_as_that_of_the_class() -> None:
    found = ablate(tiny("cls"), [photo()], target=2, progress=False)
    figure = draw.ablation(found)
    assert any('the logit of "class 2"' in ax.get_ylabel() for ax in figure.axes)


def test_no_two_curves_of_a_fair_test_look_alike() -> None:
    analysis = analyze(tiny("cls"), photo())
    first, _ = draw.fair_test(analysis, analysis.fair_test(steps=3)).axes
    styles = [(line.get_color(), line.get_linestyle()) for line in first.lines]
    assert len(styles) > 7
    assert len({*styles}) == len(styles)


def test_long_labels_and_names_of_files_are_cut_and_not_dropped() -> None:
    analysis = analyze(tiny("cls"), photo())
    long = replace(analysis.card, labels=tuple("lady-slipper " * 9 + str(at) for at in range(7)))
    ax = draw.predictions(replace(analysis, card=long)).axes[1]
    assert {len(label.get_text()) for label in ax.get_yticklabels()} == {34}
    named = replace(analysis, photo_name="IMG_20240101_123456789_HDR_edit.jpg")
    captions = [ax.get_title() for ax in draw.pca([named, analysis]).axes]
    assert "IMG_20240101_123456789_HDR_ed…" in captions


def test_the_figure_of_an_ablation_has_a_cell_for_each_head() -> None:
    found = ablate(tiny("cls"), [photo()], progress=False)
    ax = draw.ablation(found).axes[0]
    falls = np.asarray(found.logits.mean(dim=1)).reshape(3, 2)
    assert np.allclose(np.asarray(ax.images[0].get_array()), falls)
    other = ablate(tiny("cls"), [photo()], [{"kind": "swap", "patches": [0, 1]}])
    with pytest.raises(SelectionError, match="every head turned off"):
        draw.ablation(other)
    heads = [{"kind": "head", "layer": at // 2, "head": at % 2} for at in range(6)]
    assert draw.ablation(ablate(tiny("cls"), [photo()], heads[::-1]))  # in any order
    for changes in (
        [one | {"by": "mean"} for one in heads],
        [*heads, heads[3]],
        heads[:5],
        [[one] for one in heads[:5]] + [heads[4:]],
    ):
        with pytest.raises(SelectionError, match="every head turned off"):
            draw.ablation(ablate(tiny("cls"), [photo()], changes, progress=False))
    with pytest.raises(SelectionError, match="no picture could be used: there is nothing to draw"):
        draw.ablation(ablate(tiny("cls"), [b"no picture"], progress=False))


def test_figures_are_drawn_into_axes_of_a_caller(tiny_analysis, surveys) -> None:
    ablation = ablate(tiny("cls"), [photo()], progress=False)
    for make in (
        lambda **o: draw.attention(tiny_analysis, 1, **o),
        lambda **o: draw.wall(tiny_analysis, **o),
        lambda **o: draw.matrix(tiny_analysis, 1, **o),
        lambda **o: draw.answers(tiny_analysis, tiny_analysis, **o),
        lambda **o: draw.figure7(surveys[0], **o),
        lambda **o: draw.ablation(ablation, **o),
    ):
        figure = Figure()
        one, other = figure.subplots(1, 2)
        figure.suptitle("mine")
        assert make(ax=one) is figure
        assert one.has_data()
        assert not other.has_data()
        assert figure.get_suptitle() == "mine"


def test_a_notebook_shows_a_figure(tiny_analysis) -> None:
    png = draw.matrix(tiny_analysis, 1)._repr_png_()
    with Image.open(io.BytesIO(png)) as image:
        assert image.width > 500
