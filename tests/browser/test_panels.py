"""Patches, positions, attention, query and key, rollout: the numbers of each panel are Python's."""

import copy
import re
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
import pytest
import torch

from tests.browser.conftest import PHONE, Visit, address_says, middle, numbers, stop_time, unfold
from tests.browser.test_experiment import PANDA
from tests.models import photo, tiny
from vitviz import Analysis, analyze, load, pca
from vitviz.model.vit import ViT
from vitviz.payload import page as one_file
from vitviz.probe.measure import features
from vitviz.probe.measure.pairs import pair
from vitviz.probe.measure.positions import similarity

PANEL = "[role=tabpanel]:visible"


def center(seen, grid, token: int) -> tuple[float, float]:
    return middle(seen.page, grid, *grid.row_col(token))


@pytest.fixture
def show(guests, empty, tmp_path) -> Iterator[Callable[[Analysis], tuple[Visit, int]]]:
    """Opens an analysis as one file and pins patch (1, 2), its token; no complaints."""
    opened = 0
    seen = Visit(guests.arrive(empty, locale="en-US"))
    seen.page.on("pageerror", lambda error: seen.complaints.append(str(error)))
    seen.page.on("request", lambda request: seen.requests.append(request.url))

    def open_(analysis: Analysis) -> tuple[Visit, int]:
        nonlocal opened
        opened += 1
        seen.page.goto("about:blank")  # else an address that differs after the # alone stays
        html = one_file(analysis).replace('id="viewer"', 'id="viewer" class="vv-place"')
        (tmp_path / "page.html").write_text(html, encoding="utf-8")
        seen.page.goto((tmp_path / "page.html").as_uri())
        seen.is_(state="ready")
        token = analysis.grid.token(1, 2)
        seen.page.mouse.click(*center(seen, analysis.grid, token))
        seen.is_(token=token, pinned="true")
        return seen, token

    yield open_
    guests.leave(seen.page.context)
    assert seen.complaints == []
    assert len([one for one in seen.requests if one != "about:blank"]) == opened


@pytest.fixture
def shown(show) -> tuple[Visit, Analysis, int]:
    """The photo in the small model, and the same in Python."""
    analysis = analyze(tiny("cls"), photo())
    seen, token = show(analysis)
    return seen, analysis, token


def gallery(seen, name: str) -> None:
    seen.page.locator(PANEL).get_by_role("radio", name=name, exact=True).check()


def test_the_pinned_token_is_compared_with_the_one_pointed_at_and_read_aloud(shown) -> None:
    seen, analysis, token = shown
    other = analysis.grid.token(3, 0)
    for direction in ("from", "to"):
        seen.is_(direction=direction)
        seen.page.mouse.move(*center(seen, analysis.grid, other))
        seen.page.mouse.move(*center(seen, analysis.grid, other))
        maps = [analysis.attention(2, None, at, direction).double() for at in (token, other)]
        common = sum(torch.minimum(*(values / values.sum() for values in maps))).item()
        (shown_common,) = numbers(seen.text(".vv-compare-common"))
        assert shown_common == pytest.approx(100 * common, abs=0.1)
        assert 1 < shown_common < 99
        matrix = analysis.trace.attention(2).mean(0)
        out, back = numbers(seen.text(".vv-compare-words .vv-note >> nth=1").replace("row", ";"))[
            -2:
        ]
        assert out == pytest.approx(100 * matrix[token, other].item(), abs=0.1)
        assert back == pytest.approx(100 * matrix[other, token].item(), abs=0.1)
        seen.page.mouse.move(2, 2)
        assert "in common" in seen.text(".vv-compare")  # the pair stays, and is in the link
        seen.page.keyboard.press("d")
    # The keyboard points, compares and is read aloud.
    seen.page.mouse.move(2, 2)
    seen.page.focus(".vv-frame")
    seen.page.keyboard.press("Shift+ArrowRight")
    seen.page.keyboard.press("Shift+ArrowDown")
    said = seen.page.locator("p.vv-live")
    value = analysis.attention(2, None, token)[analysis.grid.token(2, 3)].item()
    assert said.inner_text().startswith("row 2, col 3")
    assert numbers(said.inner_text())[2] == pytest.approx(value, rel=0.01)
    assert "in common" in seen.text(".vv-compare")
    seen.is_(token=token, pinned="true")
    seen.page.keyboard.press("[")  # another layer, the same two tokens
    assert "row 2, col 3" in seen.text(".vv-compare")
    seen.page.keyboard.press("Escape")
    seen.is_(token=0, pinned="false")
    assert not seen.page.locator(".vv-compare").is_visible()
    # The sentence about the layer came 250 ms after the key, also over what was read since.
    seen.page.mouse.click(*center(seen, analysis.grid, token))
    seen.is_(token=token, pinned="true")
    page = seen.page
    stop_time(page)
    page.mouse.move(2, 2)
    page.focus(".vv-frame")
    page.keyboard.press("[")
    page.keyboard.press("Shift+ArrowRight")
    said = page.locator("p.vv-live")
    read = said.inner_text()
    assert read.startswith("row 1, col 3")
    page.clock.run_for(1000)
    assert said.inner_text() == read
    page.keyboard.press("]")
    page.clock.run_for(1000)
    assert "layer 1" in said.inner_text()


def test_positions_are_averaged_compared_with_those_before_training_and_told(show) -> None:
    loaded = tiny("cls")
    card = replace(loaded.card, details={"seed": "3"})
    analysis = analyze(replace(loaded, card=card), photo())
    seen, token = show(analysis)
    page, grid = seen.page, analysis.grid
    seen.open_panel("Positions")
    similar = analysis.position_similarity(token)
    for name, means in (("row", similar.mean(dim=1)), ("column", similar.mean(dim=0))):
        figure = page.locator("figure", has_text=f"Mean similarity to each {name}")
        points = figure.locator("polyline").first.get_attribute("points").split()
        top, bottom = (float(figure.locator(".vv-axis").nth(i).get_attribute("y1")) for i in (2, 0))
        shown_means = [1 - 2 * (float(p.split(",")[1]) - top) / (bottom - top) for p in points]
        np.testing.assert_allclose(shown_means, means, atol=2e-3)
    mosaic = page.locator(".vv-zoom canvas")
    before = mosaic.bounding_box()["width"]
    page.get_by_role("button", name="Larger").click()
    assert mosaic.bounding_box()["width"] == pytest.approx(2 * before, rel=0.02)
    page.get_by_role("button", name="Smaller").click()
    assert mosaic.bounding_box()["width"] == pytest.approx(before, rel=0.02)
    # Positions before training are those of the seed.
    before = similarity(analysis.untrained_positions().patches)[token - grid.num_prefix_tokens]
    after = analysis.position_similarity(token).flatten()
    maps = page.locator(f"{PANEL} .vv-map-frame:has(.vv-large-map)")
    assert maps.count() == 2
    for which in (0, 1):  # both maps show values of both
        for patch in (0, 6, 11):
            maps.nth(which).scroll_into_view_if_needed()
            box = maps.nth(which).bounding_box()
            row, col = divmod(patch, grid.cols)
            x = box["x"] + (col + 0.5) * box["width"] / grid.cols
            page.mouse.move(x, box["y"] + (row + 0.5) * box["height"] / grid.rows)
            text = seen.text(f"{PANEL} .vv-under")
            assert text.startswith(f"row {row}, col {col}: ")
            read = numbers(text.split(": ")[1])
            np.testing.assert_allclose(read, [after[patch], before[patch]], atol=2e-3)
    # The thin lines beside the means of the trained positions.
    figure = page.locator("figure", has_text="Mean similarity to each row")
    top, bottom = (float(figure.locator(".vv-axis").nth(i).get_attribute("y1")) for i in (2, 0))
    points = figure.locator("polyline").nth(1).get_attribute("points").split()
    means = [1 - 2 * (float(point.split(",")[1]) - top) / (bottom - top) for point in points]
    expected = before.reshape(grid.rows, grid.cols).mean(dim=1)
    np.testing.assert_allclose(means, expected, atol=2e-3)
    # This panel and that of the rollout open with what they found.
    found = seen.page.locator(f"{PANEL} .vv-found")
    similar = analysis.position_similarity(token)
    row, col = grid.row_col(token)
    line = torch.zeros(grid.rows, grid.cols, dtype=torch.bool)
    line[row], line[:, col] = True, True
    rest = float(similar[~line].mean())
    line[row, col] = False
    means = pytest.approx([float(similar[line].mean()), rest], abs=6e-3)
    assert numbers(found.inner_text()) == means
    assert found.evaluate("node => parseFloat(getComputedStyle(node).fontSize)") >= 18
    seen.open_panel("Rollout")
    seen.page.wait_for_function(
        "panel => document.querySelector(panel)?.textContent.startsWith('Followed to the end')",
        arg=".vv-panel:not([hidden]) .vv-found",
    )
    values = analysis.rollout(token)
    values[[*range(grid.num_prefix_tokens), token]] = 0
    times = float(values.max()) * grid.num_tokens
    assert numbers(found.inner_text())[-1] == pytest.approx(times, abs=0.051)


def test_map_and_picture_point_at_each_other_heads_are_dots_and_a_rollout_plays(shown) -> None:
    seen, analysis, token = shown
    page, grid = seen.page, analysis.grid
    last, count = analysis.trace.depth - 1, grid.num_tokens
    seen.choose("1")
    gallery(seen, "whole map")
    maps = analysis.trace.attention(last)[1]
    frame = page.locator(".vv-matrix-frame")
    frame.scroll_into_view_if_needed()
    page.locator(".vv-matrix .vv-under", has_text="looks at").wait_for()

    def over(query: int, key: int) -> str:
        box = frame.bounding_box()
        page.mouse.move(
            box["x"] + (key + 0.5) * box["width"] / count,
            box["y"] + (query + 0.5) * box["height"] / count,
        )
        return seen.text(".vv-matrix .vv-under")

    # From the map to the picture: also away from the pinned token.
    for query, key in ((7, 3), (16, 16), (0, 5), (4, 0)):
        shown_value = numbers(over(query, key).split(": ")[1])[0]
        assert shown_value == pytest.approx(float(maps[query, key]), rel=0.006, abs=1e-5)
    over(7, 3)
    for box, at in ((".vv-selected", 7), (".vv-pointed", 3)):
        row, col = grid.row_col(at)
        style = page.locator(f".vv-picture > {box}").get_attribute("style")
        assert f"top: {100 * row / grid.rows:g}%" in style
        assert f"left: {100 * col / grid.cols:g}%" in style
    # From the picture to the map.
    page.mouse.move(2, 2)
    page.mouse.move(*center(seen, grid, 9))
    row_style = page.locator(".vv-cross-row").get_attribute("style")
    assert float(re.search(r"top: ([\d.]+)%", row_style)[1]) == pytest.approx(
        100 * token / count, 1e-3
    )
    col_style = page.locator(".vv-cross-col").get_attribute("style")
    left = float(re.search(r"left: ([\d.]+)%", col_style)[1])
    assert left == pytest.approx(100 * 9 / count, 1e-3)
    shown_value = numbers(seen.text(".vv-matrix .vv-under").split(": ")[1])[0]
    assert shown_value == pytest.approx(float(maps[token, 9]), rel=0.006, abs=1e-5)
    # A click keeps the pair, arrow keys walk from it.
    box = frame.bounding_box()
    page.mouse.click(box["x"] + 3.5 * box["width"] / count, box["y"] + 7.5 * box["height"] / count)
    seen.is_(token=7, pinned="true")
    page.mouse.move(2, 2)
    frame.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    seen.is_(token=8)
    shown_value = numbers(seen.text(".vv-matrix .vv-under").split(": ")[1])[0]
    assert shown_value == pytest.approx(float(maps[8, 4]), rel=0.006, abs=1e-5)
    # Every head is a dot with its numbers.
    found = analysis.head_statistics()
    gallery(seen, "range of every head")
    heads = analysis.trace.num_heads
    for chart in (0, 1):
        dots = page.locator(".vv-chart:visible").nth(chart).locator(".vv-dot")
        assert dots.count() == analysis.trace.depth * heads
    layer, head = 1, 1
    dot = page.locator(".vv-chart:visible").nth(1).locator(".vv-dot").nth(layer * heads + head)
    box = dot.bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    read = numbers(seen.text(".vv-dot-reading .vv-under"))
    assert read[:2] == [layer, head]
    assert read[2] == pytest.approx(float(found.entropy[layer, head]), rel=0.006)
    assert read[3] == pytest.approx(float(found.entropy[layer, head].exp()), rel=0.006)
    assert read[5] == pytest.approx(float(found.distance[layer, head]), rel=0.006)
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    seen.is_(layer=layer, head=head)
    page.locator(".vv-dots .vv-figures").focus()
    page.keyboard.press("ArrowLeft")
    seen.is_(layer=0, head=head)
    page.keyboard.press("ArrowDown")
    seen.is_(layer=0, head=0)
    # A rollout has a scale, changes at once, and plays.
    gallery(seen, "heads of this layer")
    page.mouse.click(*center(seen, grid, token))
    seen.is_(token=token, pinned="true")
    page.get_by_role("radio", name="viridis").check()
    seen.open_panel("Rollout")
    panel = page.locator(PANEL)
    # The scale goes from nothing to the largest patch.
    for fusion in ("mean", "max"):
        panel.get_by_role("radio", name=fusion, exact=True).check()
        seen.page.locator(".vv-layer input").nth(1).check()
        seen.is_(layer=1)
        panel.locator(".vv-legend").wait_for()
        seen.choose("rollout")
        values = analysis.rollout(token, 1, head_fusion=fusion)
        uniform = 1 / grid.num_tokens
        largest = max(float(grid.patches(values).max()), 3 * uniform)  # the end of the scale
        ramp = 'c => [...c.getContext("2d").getImageData(0, 0, c.width, c.height).data]'
        for legend in (page.locator(".vv-stage .vv-legend"), panel.locator(".vv-legend")):
            low, high = legend.locator(".vv-ends span").all_inner_texts()
            assert low == "0"
            read = numbers(high)
            assert read[0] == pytest.approx(largest, rel=0.006)
            assert read[1] == pytest.approx(largest / uniform, abs=0.051)
            tick = legend.locator(".vv-tick").evaluate("node => node.style.left")
            assert float(tick.rstrip("%")) == pytest.approx(100 * uniform / largest, rel=0.006)
            colours = np.reshape(legend.locator("canvas").evaluate(ramp), (-1, 4)).astype(int)
            # The patches have the colours that the legend has for their values.
            maps = page.locator(".vv-overlay"), panel.locator(".vv-head canvas").nth(1)
            for canvas in maps:
                drawn = np.reshape(canvas.evaluate(ramp), (-1, 4)).astype(int)
                places = grid.patches(values).numpy() / largest * (len(colours) - 1)
                wanted = colours[places.round().astype(int)]
                assert abs(drawn - wanted).max() <= 6  # the legend has half as many steps
        # Every other layer has a scale of its own: its largest patch has the last colour,
        # unless the map is nearly even.
        for layer in (0, 2):
            patches = grid.patches(analysis.rollout(token, layer, head_fusion=fusion)).numpy()
            canvas = panel.locator(".vv-head canvas").nth(layer)
            drawn = np.reshape(canvas.evaluate(ramp), (-1, 4)).astype(int)
            places = patches / max(patches.max(), 3 * uniform) * (len(colours) - 1)
            assert abs(drawn - colours[places.round().astype(int)]).max() <= 6
    # All of it changes at once.
    page.locator(".vv-layer input").nth(2).check()
    seen.is_(layer=2)
    seen.open_panel("Rollout")
    seen.is_(panel="rollout")
    tile = page.locator(".vv-tile-value")
    page.wait_for_function("() => document.querySelector('.vv-tile-value').textContent !== ''")
    for fusion in ("max", "min", "mean"):
        panel.get_by_role("radio", name=fusion, exact=True).check()
        expected = analysis.rollout(token, head_fusion=fusion)
        assert float(tile.inner_text()) == pytest.approx(float(expected[0]), rel=0.006)
    panel.get_by_label("Residual weight").fill("20")
    expected = analysis.rollout(token, residual=0.2)
    assert float(tile.inner_text()) == pytest.approx(float(expected[0]), rel=0.006)
    panel.get_by_label("First layer").fill("1")
    expected = analysis.rollout(token, residual=0.2, first=1)
    assert float(tile.inner_text()) == pytest.approx(float(expected[0]), rel=0.006)
    stop_time(page)
    page.get_by_role("button", name="Play through the layers").click()
    seen.is_(layer=1)  # the first layer that is asked for
    page.clock.run_for(700)  # the film rests on a layer as long as that
    seen.is_(layer=2)
    page.clock.run_for(700)
    page.get_by_role("button", name="Play through the layers").wait_for()


def test_heads_that_lie_on_each_other_are_told_and_walked_through(show, open_page) -> None:
    """One head of a layer is a copy of another's: their dots are one."""
    loaded = tiny("cls")
    twin = ViT(loaded.card.config)
    twin.load_state_dict(loaded.vit.state_dict())
    dim, inside = loaded.card.config.embed_dim, loaded.card.config.head_dim
    for part in range(2):  # q and k
        for tensor in (twin.blocks[1].attn.qkv.weight, twin.blocks[1].attn.qkv.bias):
            rows = tensor.data[part * dim : (part + 1) * dim]
            rows[inside : 2 * inside] = rows[:inside]
    analysis = analyze(replace(loaded, vit=twin.eval().requires_grad_(False)), photo())
    seen, _ = show(analysis)
    page = seen.page
    gallery(seen, "range of every head")
    heads = analysis.trace.num_heads
    box = page.locator(".vv-chart:visible").first.locator(".vv-dot").nth(heads).bounding_box()
    spot = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    told = "2 heads lie here: layer 1: heads 0, 1. Each click or tap goes to the next."
    page.mouse.move(*spot)
    assert seen.text(".vv-dot-reading .vv-note") == told
    for head in (0, 1, 0):
        page.mouse.click(*spot)
        seen.is_(layer=1, head=head)
        assert numbers(seen.text(".vv-dot-reading .vv-under"))[:2] == [1, head]
    page.locator(".vv-dots .vv-figures").focus()
    page.keyboard.press("ArrowLeft")
    seen.is_(layer=0, head=0)
    assert numbers(seen.text(".vv-dot-reading .vv-under"))[:2] == [0, 0]
    assert seen.text(".vv-dot-reading .vv-note") == ""
    page.mouse.move(2, 2)
    # A finger cannot hover; the head that it tapped on can still be read.
    tab = open_page(one_file(analysis), has_touch=True, locale="en-US")
    tab.set_viewport_size(PHONE["viewport"])
    tab.get_by_role("radio", name="range of every head").check()
    chart = tab.locator(".vv-chart:visible").first
    chart.evaluate("chart => chart.scrollIntoView({ block: 'end' })")
    dot = chart.locator(".vv-dot").nth(heads)
    for head in (0, 1, 0):
        dot.tap(force=True)
        tab.locator(f"[data-layer='1'][data-head='{head}']").wait_for()
        assert tab.locator(".vv-dot-reading .vv-note").inner_text() == told


def test_one_value_as_the_sum_the_score_and_the_share_that_it_is(shown) -> None:
    seen, analysis, token = shown
    page, grid, trace = seen.page, analysis.grid, analysis.trace
    last = trace.depth - 1
    stop_time(page)
    seen.open_panel("Query · key")
    seen.is_(panel="qk", head=0)  # the mean of heads has no queries
    row = trace.attention_of(last, 0)[token].clone()
    row[token] = 0
    board = page.locator(".vv-sum-board").first
    assert numbers(board.locator("b").last.inner_text())[0] == pytest.approx(
        float(row.max()), rel=6e-3
    )
    key = grid.token(3, 0)
    page.mouse.click(*center(seen, grid, key))
    seen.is_(token=token)  # the picture chooses the key

    def check(query: int, key: int, head: int = 0) -> None:
        expected = pair(trace, last, head, query, key)
        texts = board.locator("b:visible").all_inner_texts()  # a bias has a line where there is one
        shown = [numbers(text)[0] for text in texts]
        wanted = [expected.sum, expected.score, expected.share]
        for number, exact, absolute in zip(shown, wanted, (0.01, 0.006, 0), strict=True):
            assert number == pytest.approx(exact, rel=0.006, abs=absolute)
        # The sum that is printed comes out as printed on a calculator.
        work = board.locator("dd").nth(1).inner_text()
        total, scale, score = numbers(work.replace("\u00d7", "=").split("=", 1)[1])
        assert total * scale == pytest.approx(score, rel=2e-4)

    check(token, key)
    # All numbers, for the board: q, k, their product and the running sum.
    page.get_by_text("All numbers, for the board").click()
    page.clock.run_for(5000)  # they follow when the pointer rests
    table = [
        numbers(line.split("│")[1]) for line in seen.text(f"{PANEL} .vv-numbers").splitlines()[1:]
    ]
    expected = pair(trace, last, 0, token, key)
    columns = np.array(table).T
    for column, values in zip(columns, (expected.q, expected.k, expected.products), strict=False):
        np.testing.assert_allclose(column, values, atol=3e-3)
    np.testing.assert_allclose(columns[3, -1], expected.sum, rtol=2e-3, atol=3e-3)
    # The row: its best keys, with their shares.
    best = expected.attention.argmax().item()
    share = numbers(page.locator(f"{PANEL} .vv-softmax tbody td").nth(1).inner_text())[0]
    assert share == pytest.approx(float(expected.attention[best]), rel=0.006)
    # Pointing shows another key for the moment; the keyboard walks; swapping turns the pair round.
    page.mouse.move(*center(seen, grid, grid.token(0, 1)))
    check(token, grid.token(0, 1))
    page.mouse.move(2, 2)
    check(token, key)
    page.locator(".vv-frame").focus()
    page.keyboard.press("ArrowRight")
    check(token, grid.token(3, 1))
    page.keyboard.press(".")
    seen.is_(head=1)
    check(token, grid.token(3, 1), head=1)
    page.get_by_role("button", name="Swap the two tokens").click()
    seen.is_(token=grid.token(3, 1))
    check(grid.token(3, 1), token, head=1)
    seen.choose("who looks at it")
    check(token, grid.token(3, 1), head=1)
    seen.choose("mean")
    assert page.get_by_text("no queries and keys of its own").is_visible()


def test_query_and_key_are_turned_back_by_their_places(show) -> None:
    analysis = analyze(tiny("rotary"), photo())
    seen, token = show(analysis)  # the patch in row 1 and column 2
    page, trace = seen.page, analysis.trace
    seen.open_panel("Query · key")
    seen.is_(panel="qk", head=0)
    key = analysis.grid.token(2, 0)
    page.mouse.click(*center(seen, analysis.grid, key))
    part = page.get_by_role("region", name="What their places do to it")
    slider = part.get_by_role("slider", name="Pair of numbers")
    angle, product, total = (part.locator("dd").nth(at) for at in range(3))

    def check(query: int, at: int) -> None:
        found = analysis.turn(trace.depth - 1, 0, query, key)
        both = pair(trace, trace.depth - 1, 0, query, key)
        lengths = [float(one[[at, at + 4]].norm()) for one in (found.q, found.k)]
        apart = float(found.angle_k[at] - found.angle_q[at]) * 180 / np.pi
        read = numbers(product.inner_text())
        close = {"rel": 6e-3, "abs": 6e-3}
        assert read[:2] == pytest.approx(lengths, **close)
        assert [read[7], read[3], read[8]] == pytest.approx(
            [apart, float(found.before[at]), float(found.after[at])], **close
        )
        # What is printed comes out as printed on a calculator.
        for turn, worth in ((0, read[3]), (read[7], read[8])):
            again = read[0] * read[1] * np.cos((read[2] + turn) * np.pi / 180)
            assert again == pytest.approx(worth, abs=1e-3)
        sums = [float(found.before.sum()), both.sum]
        scaled = [trace.scale * one for one in sums]
        told = [*sums, *scaled, np.exp(scaled[1] - scaled[0])]
        assert numbers(total.inner_text()) == pytest.approx(told, rel=6e-3, abs=0.01)
        assert part.locator(".vv-hand:visible").count() == 6  # two, and two with those before

    for at in (0, 3):
        slider.fill(str(at))
        check(token, at)
    rows, down, cols, right, apart = numbers(angle.inner_text())[:5]
    assert (rows, cols) == (1, -2)
    assert rows * down + cols * right == pytest.approx(apart, abs=0.01)
    # CLS has no place: the page says so, and leads to two squares.
    page.locator(".vv-frame").press("Home")
    page.get_by_role("button", name="Swap the two tokens").click()
    page.locator(".vv-frame").press("Home")
    part.get_by_text("not turned: CLS").wait_for()
    assert not part.locator("dd").first.is_visible()
    part.get_by_role("button", name="Choose two squares").click()
    middle = analysis.grid.token(analysis.grid.rows // 2, analysis.grid.cols // 2)
    seen.is_(token=middle)
    assert numbers(angle.inner_text())[:3:2] == [0, -1]
    assert part.locator(".vv-strips .vv-strip").count() == 5


def test_a_value_is_followed_to_the_token_it_changes(show) -> None:
    for name in ("cls", "registers"):
        analysis = analyze(tiny(name), photo())
        seen, token = show(analysis)
        page, trace = seen.page, analysis.trace
        last, head = trace.depth - 1, 1
        seen.open_panel("Query · key")
        page.keyboard.press(".")
        seen.is_(panel="qk", head=head)
        check_mix(seen, analysis, last, head, token)
        page.locator(".vv-head-share", has_text="head 0").click()
        seen.is_(head=0)
        check_mix(seen, analysis, last, 0, token)
        said = seen.text(PANEL)
        assert ("layer scale" in said, "q_norm" in said) == (name == "registers",) * 2
    # A saved analysis says that its values are not here.
    analysis = analyze(tiny("cls"), photo())
    seen, _ = show(Analysis.from_bytes(analysis.to_bytes()))
    seen.open_panel("Query · key")
    assert "a saved analysis holds no weights" in seen.text(f"{PANEL} .vv-mix")
    assert not seen.page.locator(f"{PANEL} .vv-mix .vv-strip-bar").first.is_visible()


def check_mix(seen, analysis: Analysis, layer: int, head: int, token: int) -> None:
    """Values, mix, what the head adds and the sum, as the panel shows them, are Python's."""
    page, found = seen.page, analysis.mix(layer, head, token)
    mix = page.locator(f"{PANEL} .vv-mix")

    def point(strip, at: int, count: int) -> None:
        strip.scroll_into_view_if_needed()
        strip.hover(position={"x": strip.bounding_box()["width"] * (at + 0.5) / count, "y": 8})

    best = found.attention.argsort(descending=True)[:5].tolist()
    names = mix.locator(".vv-strip-name span:visible").all_inner_texts()
    shown_shares = [numbers(text)[0] for text in names]
    wanted = [float(found.attention[one]) for one in best]
    np.testing.assert_allclose(shown_shares[:5], wanted, rtol=6e-3)
    at, strips = 3, mix.locator(".vv-strip-bar:visible")
    point(strips.first, at, len(found.mixed))
    terms = numbers(mix.locator(".vv-under").first.inner_text())
    values = [float(found.v[one, at]) for one in best[:2]]
    expected = [at, wanted[0], values[0], wanted[1], values[1], float(found.mixed[at])]
    np.testing.assert_allclose(terms, expected, rtol=6e-3, atol=2e-3)
    point(strips.last, at, len(found.after))
    others = found.change - found.added
    expected = [float(part[at]) for part in (found.before, found.added, others, found.after)]
    read = numbers(mix.locator(".vv-under").last.inner_text())
    np.testing.assert_allclose(read, [at, *expected], rtol=6e-3, atol=4e-3)
    assert sum(read[1:4]) == pytest.approx(read[4], abs=2e-4)
    added, change, sums = (numbers(t) for t in mix.locator("dl dd").all_inner_texts())
    assert added == pytest.approx([float(found.added.norm()), found.cosine], rel=6e-3)
    assert change[:2] == pytest.approx([float(found.change.norm()), 100 * found.share], rel=6e-3)
    assert change[2] * change[3] / change[4] == pytest.approx(change[1] / 100, abs=1e-3)
    lengths = [float(part.norm()) for part in (found.before, found.after)]
    assert sums[:2] == pytest.approx(lengths, rel=6e-3)
    shares = [numbers(text)[-1] for text in mix.locator(".vv-head-share b").all_inner_texts()]
    assert sum(shares) == pytest.approx(100, abs=0.3)
    origin = numbers(mix.locator(".vv-origins p").first.inner_text().split(": ", 1)[1])
    assert origin[:2] == pytest.approx([lengths[0], float(found.normed.norm())], rel=6e-3)


def test_the_code_is_that_of_the_selection_and_is_copied(show) -> None:
    """With permission and without it; what is copied is what Python runs."""
    seen, _ = show(replace(analyze(tiny("cls"), photo()), photo_name='"""; <b>x</b>.png'))
    page = seen.page
    page.evaluate(
        """() => { navigator.clipboard.writeText = async (text) => {
            if (window.refused) throw new Error("no");
            window.copied = text;
        }; }"""
    )
    panel = page.locator(PANEL)
    panel.get_by_text("Show the code").click()
    code = panel.locator(".vv-code-text", has_text="shown = ")
    code.wait_for()
    assert 'loaded = vitviz.load("tiny cls")' in code.inner_text()
    assert r'vitviz.analyze(loaded, "\"\"\"; <b>x</b>.png")' in code.inner_text()
    assert 'layer, head, token, direction = 2, None, 7, "from"' in code.inner_text()
    page.locator(".vv-frame").focus()
    page.keyboard.press("[")
    assert "direction = 1, None, 7," in code.inner_text()
    panel.get_by_role("radio", name="plain PyTorch").check()
    assert "torch.softmax(" in code.inner_text()
    said = panel.locator(".vv-code .vv-said")
    panel.get_by_role("button", name="Copy the code").click()
    said.get_by_text("The code is copied.").wait_for()
    assert page.evaluate("copied.trim()") == code.inner_text().strip()
    page.evaluate("window.refused = true")
    panel.get_by_role("button", name="Copy the code").click()
    said.get_by_text("the code is selected").wait_for()
    assert page.evaluate("getSelection().toString().trim()") == code.inner_text().strip()
    seen.choose("who looks at it")
    assert said.inner_text() == ""
    for name in ("Patches", "Positions", "Query · key", "Rollout", "Features", "Model"):
        seen.open_panel(name)
        # By the keyboard: what comes above it would move it away from under a click.
        page.locator(PANEL).locator("summary", has_text="Show the code").press("Enter")
        page.locator(f"{PANEL} .vv-code-text", has_text="shown = ").wait_for()


def test_panels_open_with_what_they_found_filters_answer_and_the_ledger_lights_what_it_names(shown):
    seen, analysis, token = shown
    grid, last = analysis.grid, analysis.trace.depth - 1
    found = seen.page.locator(f"{PANEL} .vv-found").first

    def says(panel: str, start: str) -> list[float]:
        seen.open_panel(panel)
        seen.page.locator(f"{PANEL} .vv-found", has_text=start).first.wait_for()
        first = "node.closest('.vv-panel').querySelector(':scope > :not(.vv-heard) > *')"
        assert found.evaluate(f"node => {first} === node")
        assert found.evaluate("node => parseFloat(getComputedStyle(node).fontSize)") >= 18
        return numbers(found.inner_text())

    def place(at: int) -> list[int]:
        return list(grid.row_col(at))

    row = grid.patches(analysis.attention(last, None, token))
    held = row.sort(descending=True).values.cumsum(0)
    half = int((held < row.sum() / 2).sum()) + 1
    best = grid.num_prefix_tokens + int(row.argmax())
    told = says("Attention", "half of what this square")
    assert told[:2] == [half, len(row)]
    assert told[2:] in ([], place(best))
    pixels = analysis.picture.reshape(4, 8, 4, 8, 3)[1, :, 2]
    assert says("Patches", "never sees") == [16, 192, int(pixels.min()), int(pixels.max())]
    alike = features.similarity(features.tokens_after(analysis.trace, last), token).clone()
    alike[[*range(grid.num_prefix_tokens), token]] = float("nan")
    low, high = alike.nan_to_num(9).min(), alike.nan_to_num(-9).max()
    told = says("Features", "To the model")
    assert {*told} >= {round(float(low), 2), round(float(high), 2)}
    seen.open_panel("Query · key")
    seen.page.mouse.click(*center(seen, grid, grid.token(3, 1)))  # the partner
    told = says("Query · key", "come from row 3, col 1")
    share = float(analysis.trace.attention(last)[0, token, grid.token(3, 1)])
    assert [told[2], told[-1]] == pytest.approx([100 * share, share * grid.num_tokens], abs=0.051)
    lens = analysis.lens_lines()
    told = says("Predictions", "steps")
    ranks = lens[0].ranks
    settled = max((at + 1 for at, rank in enumerate(ranks) if rank > 1), default=0)
    assert f"class {lens[0].index}" in found.inner_text()
    assert f"{settled + 1} of its {last + 1} steps" in found.inner_text() or settled == 0
    seen.page.keyboard.press("Escape")  # the page has the explanations of the answer alone
    told = says("Explanations", "squares that matter most")
    maps = [grid.patches(analysis.explain(key)) for key in ("attention", "attention_gradient")]
    one, other = ({*values.topk(2).indices.tolist()} for values in maps)
    assert told == [2, len(one & other), 2]
    # Filters answer to the patch, and the ledger lights what it speaks of.
    seen.page.mouse.click(*center(seen, grid, token))
    seen.is_(token=token, pinned="true")
    page, embedding = seen.page, analysis.embedding
    seen.open_panel("Patches")
    page.locator(".vv-filter").first.wait_for()
    answers = [numbers(text)[0] for text in page.locator(".vv-answer").all_inner_texts()]
    np.testing.assert_allclose(answers, embedding.content[token], atol=0.0051)
    bars = page.locator(".vv-answer-fill").evaluate_all("all => all.map((bar) => bar.style.width)")
    widths = 50 * (embedding.content[token] / embedding.content[token].abs().max()).abs()
    np.testing.assert_allclose([numbers(bar)[0] for bar in bars], widths, atol=0.01)
    page.locator(".vv-filter").nth(5).hover()
    reading = page.locator(PANEL).get_by_text("Filter 5:")
    assert numbers(reading.inner_text())[-1] == pytest.approx(
        float(embedding.content[token, 5]), abs=6e-4
    )
    strip = page.locator(f"{PANEL} .vv-named-strip .vv-strip-bar").last
    at = {"x": strip.bounding_box()["width"] * 7.5 / 24, "y": 8}
    strip.hover(position=at)
    reading = page.locator(PANEL).get_by_text(re.compile(r"^\[7\]")).last
    expected = [
        7,
        embedding.content[token, 7],
        embedding.position[token, 7],
        analysis.trace.tokens[0, token, 7],
    ]
    np.testing.assert_allclose(numbers(reading.inner_text()), np.array(expected, float), atol=6e-4)
    # The CLS token has no pixels, but content and position.
    page.mouse.move(2, 2)
    page.locator(".vv-frame").focus()
    page.keyboard.press("Home")
    seen.is_(token=0)
    strip.hover(position=at)
    text = page.locator(PANEL).get_by_text(re.compile(r"^\[7\]")).last.inner_text()
    assert numbers(text)[1] == pytest.approx(float(embedding.content[0, 7]), abs=6e-4)
    # The components of all filters.
    unfold(page)
    pictures = seen.page.locator(".vv-components figure")
    pictures.first.wait_for()
    shares = analysis.filters().shares
    said = [numbers(text)[0] for text in pictures.all_inner_texts()]
    np.testing.assert_allclose(said, 100 * shares, atol=0.051)
    intro = seen.page.locator(".vv-components .vv-intro").inner_text()
    assert numbers(intro)[1] == len(shares)
    assert numbers(intro)[2] == pytest.approx(100 * float(shares.sum()), abs=0.051)
    # The ledger.
    rows = page.locator(".vv-ledger tbody tr:visible")
    steps = analysis.steps()
    of_block = [step for step in steps if step.in_block]
    depth = analysis.trace.depth
    assert rows.count() == len(steps) + depth  # the first block stands open
    page.get_by_role("button", name="layer 1").click()
    assert rows.count() == len(steps) + depth + len(of_block)
    shapes = page.locator(".vv-ledger tr", has_text="blocks.1.attn.qkv").locator(".vv-shape")
    assert shapes.inner_text() == "(1, 17, 72)"
    tile, picture = page.locator(".vv-tile"), page.locator(".vv-frame .vv-picture")
    lit = lambda node: "vv-lit" in node.get_attribute("class")  # noqa: E731
    page.get_by_role("row", name="prefix tokens").hover()
    assert (lit(tile), lit(picture)) == (True, False)
    page.get_by_role("row", name="patch embedding").hover()
    assert (lit(tile), lit(picture)) == (False, True)
    page.get_by_role("row", name="final tokens").hover()
    assert (lit(tile), lit(picture)) == (True, True)
    page.get_by_role("row", name="logits").hover()
    assert (lit(tile), lit(picture)) == (True, False)
    page.mouse.move(2, 2)
    assert not lit(tile)
    page.get_by_role("row", name="pixels").focus()
    page.keyboard.press("ArrowDown")
    assert (lit(tile), lit(picture)) == (False, True)
    # Where the pointer folds the line of the Tab key away, the key stops at another one.
    while not page.locator(".vv-in-block:focus").count():
        page.keyboard.press("ArrowDown")
    page.get_by_role("button", name="layer 0").click()
    assert page.locator(".vv-ledger tr[tabindex='0']:visible").count() == 1


def test_positions_that_were_given_are_not_called_learned_and_none_are_said(show):
    """The sines and cosines of MAE and MoCo v3, which no training changes."""
    timm = pytest.importorskip("timm.layers")
    loaded = tiny("cls")
    given = timm.build_sincos2d_pos_embed([4, 4], dim=24)
    for noise, said in ((0, "a fixed formula"), (0.1, "Training has put")):
        vit = copy.deepcopy(loaded.vit)
        some = noise * torch.randn(given.shape, generator=torch.Generator().manual_seed(0))
        vit.pos_embed.data[0, 1:] = given + some
        seen, _ = show(analyze(replace(loaded, vit=vit), photo()))
        seen.open_panel("Positions")
        seen.page.locator(f"{PANEL} .vv-found", has_text=said).wait_for()
    # Without positions the order does not count.
    config = replace(loaded.card.config, pos_embed=False)
    torch.manual_seed(0)
    card = replace(loaded.card, config=config)
    analysis = analyze(replace(loaded, vit=ViT(config).eval(), card=card), photo())
    shuffled = analysis.operate([{"kind": "shuffle", "cells": 1, "seed": 0}])
    assert not torch.equal(shuffled.picture, analysis.picture)
    torch.testing.assert_close(shuffled.trace.logits, analysis.trace.logits)
    seen, _ = show(analysis)
    seen.open_panel("Positions")
    seen.page.locator(f"{PANEL} .vv-found", has_text="the answer stays the same").wait_for()


def remembered(page, folds: list[str]) -> None:
    """Wait until these open folds are remembered: `toggle` comes a moment after the click."""
    page.wait_for_function(
        """(folds) => {
            const { opened } = JSON.parse(localStorage.getItem("vitviz-taste") ?? "{}");
            return opened?.split(" ").filter(Boolean).join(" ") === folds.join(" ");
        }""",
        arg=folds,
    )


def test_pca_after_the_last_norm_is_that_of_python_and_what_was_opened_is_remembered(visit) -> None:
    seen = visit("?model=photos&panel=features&overlay=features&layer=2")
    page = seen.page
    panel = page.locator(".vv-panel:not([hidden])")
    lengths = panel.locator("figure", has_text="Length (norm)").locator("canvas").first
    plain = panel.locator(".vv-note", has_text="Red, green, blue")
    plain.wait_for()
    before = plain.inner_text(), lengths.evaluate("node => node.toDataURL()")
    panel.get_by_role("radio", name="PCA after the last norm").check()
    exact = pca([analyze(load("photos"), PANDA)], 2)[0].explained.tolist()
    told = ", ".join(f"{share:.1%}" for share in exact)
    assert told not in before[0]
    panel.locator(".vv-note", has_text=f"Red, green, blue: {told} of").wait_for()
    assert lengths.evaluate("node => node.toDataURL()") == before[1]
    # What is folded is remembered when it was opened.
    seen.open_panel("Patches")
    address_says(page, panel="patches")
    ledger = seen.page.locator(".vv-ledger")
    folds = seen.page.locator(".vv-second:visible")
    assert folds.count() == 2
    assert not ledger.is_visible()
    assert seen.page.locator(".vv-components figure").count() == 0  # nothing was fetched for it
    folds.last.locator("summary").click()
    ledger.wait_for()
    remembered(seen.page, ["ledger"])
    seen.page.reload()
    ledger.wait_for()
    assert not seen.page.locator(".vv-components[open]").count()
    ledger.locator("xpath=ancestor::details").locator("> summary").click()
    remembered(seen.page, [])
    seen.page.reload()
    seen.ready("red-panda.jpg")
    assert not ledger.is_visible()
    assert seen.page.get_by_role("tab", name="Patches", exact=True).is_visible()
