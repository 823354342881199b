"""Two analyses beside each other: both sides and their difference are Python's numbers."""

import re
from urllib.parse import unquote, urlsplit

import pytest

from tests.browser.conftest import address, number
from tests.browser.test_links import address_says
from tests.models import photo, tiny
from vitviz import Analysis, analyze, compare, load
from vitviz.payload import page as one_file
from vitviz.probe.compare import Comparison, Maps
from vitviz.web.store.examples import FOLDER

PLACE = "#viewer"
HERE, THERE, DIFFERENCE = (f".vv-beside .vv-figure:nth-child({n})" for n in (1, 2, 3))


def shows(tab, maps: Maps, token: int, there: int, close: float = 1e-3) -> None:
    """Wait until the three lines are read for a token, and compare their numbers with Python's."""
    lines = [tab.locator(f"{side} > .vv-under").inner_text() for side in (HERE, THERE)]
    first, second = maps.first.flatten()[token], maps.second.flatten()[there]
    assert number(lines[0]) == pytest.approx(float(first), abs=close, rel=6e-3)
    assert number(lines[1]) == pytest.approx(float(second), abs=close, rel=6e-3)
    if maps.first.shape == maps.second.shape:
        line = tab.locator(f"{DIFFERENCE} > .vv-under").inner_text()
        assert number(line) == pytest.approx(float(first - second), abs=close)
        low, high = tab.locator(f"{DIFFERENCE} .vv-ends span").all_inner_texts()
        assert number(f": {high}") == -number(f": {low}") > 0


def point(tab, side: str, row: int, col: int, rows: int, cols: int) -> None:
    box = tab.locator(f"{side} .vv-picture").bounding_box()
    x, y = box["width"] * (col + 0.5) / cols, box["height"] * (row + 0.5) / rows
    tab.locator(f"{side} .vv-picture").hover(position={"x": x, "y": y})


@pytest.fixture
def two() -> Comparison:
    return compare(analyze(tiny("cls"), photo()), analyze(tiny("cls"), photo(90, 50)))


@pytest.fixture
def beside(open_page, two):
    tab = open_page(one_file(two.first, beside=two.second))
    tab.wait_for_selector(f'{PLACE}[data-beside="other"]')
    return tab


def test_both_sides_have_the_numbers_of_python_on_one_scale_and_are_closed(beside, two) -> None:
    # Closing gives the page back, and a key opens it again.
    before = beside.locator(".vv-panel:visible").inner_text()
    assert beside.locator(".vv-side-name").count() == 2
    beside.get_by_role("button", name="Close what stands beside").click()
    beside.wait_for_selector(f'{PLACE}[data-beside=""]', state="attached")
    assert beside.locator(".vv-beside").is_hidden()
    assert beside.locator(".vv-twice, .vv-side-name").count() == 0
    assert beside.locator(".vv-panel:visible > *").count() == 3  # heading, panel, and its code
    assert "beside" not in beside.url
    beside.keyboard.press("b")
    beside.wait_for_selector(f'{PLACE}[data-beside="other"]')
    assert beside.locator(".vv-panel:visible").inner_text() == before
    beside.wait_for_url("**beside=other*")
    beside.keyboard.press("Control+z")
    beside.wait_for_selector(f'{PLACE}[data-beside=""]', state="attached")
    beside.get_by_label("Beside", exact=True).select_option("other")
    beside.wait_for_selector(f'{PLACE}[data-beside="other"]')
    # The same panel stands on both sides, on one scale.
    sides = beside.locator(".vv-panel:visible > [role=group]")
    assert sides.count() == 2
    names = beside.locator(".vv-side-name").all_inner_texts()
    assert names == [side.get_attribute("aria-label") for side in sides.all()]
    ends = sides.locator(".vv-foot .vv-ends").all_inner_texts()
    assert len(ends) == 2
    assert len(set(ends)) == 1
    top = max(float(of.attention(2).flatten()[1:].max()) for of in (two.first, two.second))
    top = max(top, 3 / two.first.trace.num_tokens)  # a scale ends there or later
    high = sides.first.locator(".vv-foot .vv-ends span").last.inner_text()
    assert float(high.split(" = ")[0]) == pytest.approx(top, rel=6e-3)
    sides.nth(1).get_by_role(
        "button", name="head 1"
    ).click()  # a click on either side selects for both
    beside.wait_for_selector(f'{PLACE}[data-head="1"]')
    for side in sides.all():
        assert side.locator(".vv-chosen .vv-head-name").inner_text() == "1"
    beside.keyboard.press("m")
    beside.wait_for_selector(f'{PLACE}[data-head="mean"]')
    # Both maps and their difference.
    token = two.first.grid.token(1, 2)
    point(beside, HERE, 1, 2, 4, 4)
    beside.locator(f"{HERE} > .vv-under", has_text="row 1, col 2:").wait_for()
    shows(
        beside, two.attention(2, None, token), token, token
    )  # the token under the pointer is previewed
    point(beside, THERE, 1, 2, 4, 4)  # in the other picture: the same patch
    beside.mouse.down()
    beside.mouse.up()
    beside.wait_for_selector(f'{PLACE}[data-token="{token}"][data-pinned="true"]')
    beside.locator(".vv-beside h3").hover()
    for panel, name, maps, close in (
        ("attention", "Attention", two.attention(2, None, token), 1e-3),
        ("rollout", "Rollout", two.rollout(token), 1e-3),
        ("features", "Features", two.feature_similarity(2, token), 2e-3),
        ("positions", "Positions", two.position_similarity(token), 2e-3),
    ):
        beside.get_by_role("tab", name=name, exact=True).click()
        beside.wait_for_selector(f'{PLACE}[data-overlay="{panel}"]')
        beside.locator(f"{DIFFERENCE}:not([hidden])").wait_for()
        at = token - (two.first.grid.num_prefix_tokens if panel == "positions" else 0)
        shows(beside, maps, at, at, close)
        if panel in ("attention", "rollout"):
            share = float(
                re.search(r"([\d.]+)", beside.inner_text(".vv-compare-common >> nth=-1"))[1]
            )
            assert share == pytest.approx(100 * maps.common, abs=0.2)
        most = beside.locator(".vv-beside .vv-compare-common").inner_text().split(",")[-1]
        largest = float(maps.difference.nan_to_num().abs().max())
        assert abs(number(f":{most}")) == pytest.approx(largest, abs=close, rel=6e-3)
    # Both answers are bars.
    beside.get_by_role("tab", name="Predictions").click()
    rows = beside.locator(".vv-both-answers li")
    expected = two.answers(5)
    assert rows.locator(".vv-label").all_inner_texts() == [one.label for one in expected]
    for row, one in zip(rows.all(), expected, strict=True):
        shares = [float(text.split()[0].rstrip("%")) for text in row.locator("b").all_inner_texts()]
        assert shares == pytest.approx([100 * one.first, 100 * one.second], abs=0.06)
        fills = row.locator(".vv-fill").evaluate_all(
            "all => all.map(node => parseFloat(node.style.width))"
        )
        assert fills == pytest.approx([100 * one.first, 100 * one.second], rel=1e-3)
    # Panels out of sight let go of what is closed.
    assert beside.locator(".vv-side-name").count() == 10
    beside.keyboard.press("b")
    beside.wait_for_selector(f'{PLACE}[data-beside=""]', state="attached")
    assert beside.locator(".vv-side-name, .vv-both-answers, .vv-beside canvas").count() == 0


def test_beside_another_grid_the_selection_is_carried_over(open_page) -> None:
    two = compare(analyze(tiny("cls"), photo()), analyze(tiny("registers"), photo()))
    tab = open_page(one_file(two.first, beside=two.second))
    tab.wait_for_selector(f'{PLACE}[data-beside="other"]')
    assert tab.locator(DIFFERENCE).is_hidden()
    assert "4 \u00d7 4 and 4 \u00d7 6 patches" in tab.inner_text(".vv-beside")
    token = two.first.grid.token(1, 2)
    point(tab, HERE, 1, 2, 4, 4)
    tab.mouse.down()
    tab.mouse.up()
    tab.wait_for_selector(f'{PLACE}[data-token="{token}"][data-pinned="true"]')
    tab.locator(".vv-beside h3").hover()
    shows(tab, two.attention(2, None, token), token, two.carried(token))
    point(tab, THERE, 3, 5, 4, 6)
    tab.mouse.down()
    tab.mouse.up()
    tab.wait_for_selector(f'{PLACE}[data-token="{two.first.grid.token(3, 3)}"]')


def test_on_a_phone_one_stands_under_the_other(open_page, two) -> None:
    phone = {"locale": "ko-KR", "is_mobile": True, "has_touch": True}
    tab = open_page(one_file(two.first, beside=two.second), **phone)
    tab.set_viewport_size({"width": 390, "height": 844})
    tab.wait_for_selector(f'{PLACE}[data-beside="other"] [data-size=narrow]')
    first, second = (side.bounding_box() for side in tab.locator(".vv-twice > [role=group]").all())
    assert second["y"] >= first["y"] + first["height"]
    assert second["x"] == first["x"]
    for theme in ("dark", "light"):
        tab.emulate_media(color_scheme=theme)
        tab.wait_for_selector(f'.vitviz[data-theme="{theme}"]')
        assert tab.evaluate("document.documentElement.scrollWidth") <= 390, theme
    assert "차이" in tab.inner_text(".vv-beside")


def both_of(models, first: tuple, second: tuple) -> Comparison:
    def one(model: str, picture: str, pretrained: bool = True) -> Analysis:
        return analyze(load(models[model], pretrained=pretrained), FOLDER / picture)

    return compare(one(*first), one(*second))


def test_a_link_and_the_menu_put_beside_what_python_computes(visit, models, ours, pictures) -> None:
    here = ("cls", "bison.jpg")
    seen = visit(
        "?model=tiny-cls&example=bison&panel=attention&layer=1&head=0&token=5&beside=untrained",
        "bison.jpg",
    )
    page = seen.page
    menu = page.get_by_label("Beside", exact=True)

    def stands(key: str, two: Comparison) -> None:
        page.wait_for_selector(f'.vv-place[data-beside="{key}"]')
        page.locator(f"{THERE} > .vv-under", has_text=":").wait_for()
        shows(page, two.attention(1, 0, 5), 5, two.carried(5))
        assert page.locator(DIFFERENCE).is_visible() == two.same_grid

    for key, other in (
        ("untrained", ("cls", "bison.jpg", False)),  # by the link
        ("example-cat", ("cls", "cat.jpg")),
        ("model-tiny-grey", ("grey", "bison.jpg")),
        ("model-long", ("long", "bison.jpg")),
    ):
        if key != "untrained":
            menu.select_option(key)
        two = both_of(models, here, other)
        stands(key, two)
        address_says(page, beside=key)
        seen.open_panel("Rollout")
        seen.is_(panel="rollout", overlay="rollout")
        page.locator(f'{THERE} > .vv-under:has-text(":")').wait_for()
        page.locator(f"{HERE} > .vv-under", has_text=":").wait_for()
        shows(page, two.rollout(5, 1), 5, two.carried(5))
        seen.open_panel("Attention")
        seen.is_(panel="attention", overlay="attention")
    # What stands beside follows another picture.
    menu.select_option("untrained")
    page.wait_for_selector('.vv-place[data-beside="untrained"]')
    seen.bring(pictures["first"])
    page.locator(".vv-beside h3", has_text="first.png").wait_for()
    twin = load(models["cls"], pretrained=False)
    stands("untrained", compare(ours(pictures["first"]), analyze(twin, pictures["first"])))
    page.get_by_role("tab", name="Features").click()
    seen.is_(panel="features", overlay="features")
    page.locator(f"{THERE} > .vv-under", has_text=":").wait_for()
    # Two own pictures stand beside each other.
    seen.open_panel("Attention")
    page.get_by_role("button", name="Keep this one").click()
    page.wait_for_selector('.vv-place[data-beside="kept"]')
    seen.bring(pictures["second"])
    page.locator(".vv-beside h3", has_text="first.png").wait_for()
    stands("kept", compare(ours(pictures["second"]), ours(pictures["first"])))
    address_says(page, beside=None, example=None)  # nobody else could open it


def test_what_could_not_come_leaves_the_first_alone_and_what_is_closed_asks_no_more(visit) -> None:
    seen = visit("?model=tiny-cls&example=bison", "bison.jpg")
    page = seen.page
    answers = []

    def refuse(route) -> None:
        if '"beside"' in (route.request.post_data or "") and not answers:
            answers.append(True)
            route.fulfill(json={"error": "This server is busy.", "errors": {"ko": "바쁩니다."}})
        else:
            route.continue_()

    page.route("**/component_server**", refuse)
    page.get_by_label("Beside", exact=True).select_option("untrained")
    page.wait_for_selector('.vv-place[data-beside="error"]')
    said = page.locator(".vv-beside [role=status]")
    assert "It could not be put beside: This server is busy." in said.inner_text()
    seen.is_(state="ready", panel="attention")
    assert page.locator(".vv-twice").count() == 0
    said.get_by_role("button", name="Try again").click()
    page.wait_for_selector('.vv-place[data-beside="untrained"]')
    assert said.is_hidden()
    assert urlsplit(address(page)).query.count("beside=untrained") <= 1
    page.unroute("**/component_server**")
    page.locator(".vv-stage .vv-frame").focus()
    page.keyboard.press("b")
    page.wait_for_selector('.vv-place[data-beside=""]', state="attached")
    # The request of a closed second is cancelled; only the first asks on, for layers of its own.
    second, asked = {}, []

    def learn_the_second(route) -> None:
        answer = route.fetch()
        if '"beside"' in (route.request.post_data or ""):
            second.update(answer.json()["manifest"])
        route.fulfill(response=answer)

    def its_layer(request) -> bool:
        files = second["files"].items() if second else []
        layers = [file["path"] for name, file in files if name.startswith("layer-")]
        return any(path in unquote(request.url) for path in layers)

    def its_own(request) -> bool:
        return its_layer(request) or second["pass"]["id"] in (request.post_data or "")

    page.route("**/component_server**", learn_the_second)
    # No layer of the second comes: its request is under way until it is cancelled.
    page.route("**/*layer-*", lambda route: None if its_layer(route.request) else route.continue_())
    with page.expect_request(its_layer):
        page.get_by_label("Beside", exact=True).select_option("example-cat")
    page.locator(".vv-stage .vv-frame").focus()
    page.on("request", lambda request: asked.append(request.url) if its_own(request) else None)
    with page.expect_event("requestfailed", its_layer):
        page.keyboard.press("b")
    page.wait_for_selector('.vv-place[data-beside=""]', state="attached")
    for panel in ("Features", "Attention", "Rollout"):
        seen.open_panel(panel)
        seen.is_(panel=panel.lower())
    page.locator(".vv-panel:visible .vv-legend").first.wait_for()  # made of all layers
    assert asked == []
