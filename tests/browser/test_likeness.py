"""Likeness to the picture beside: maps of it, and how it falls while squares are erased."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import LAPTOP, WALL, middle, number, unfold
from tests.browser.test_beside import HERE
from tests.browser.test_erase import ERASE, HEADLINE, settled
from tests.browser.test_experiment import PANDA, brush
from tests.browser.test_explain import DRAWN, fair_is
from tests.browser.test_fold import project
from tests.browser.test_saving import SAVES, saved
from tests.browser.test_site import READY, visiting
from tests.running import save_tiny, serving_files
from vitviz import analyze, features, load
from vitviz.site import write_site
from vitviz.web.store.examples import FOLDER

NO_ENGINE = """delete window.WebAssembly;
    window.Worker = class { constructor() { throw new Error('no'); } };"""
LINK = "panel=explain&model={}&example=dog"


def busy(route) -> None:
    if '"beside"' in (route.request.post_data or ""):
        route.fulfill(json={"error": "This server is busy."})
    else:
        route.continue_()


def is_told(page, analysis, other, key: str, token: int) -> None:
    """The number in the panel, and the map over the picture, are those of Python."""
    likeness = f"{analysis.likeness(other):.2f}".replace("-", "\u2212")
    told = page.locator(".vv-panel:not([hidden]) .vv-intro").first
    expect(told).to_contain_text(f"Likeness of the two pictures: {likeness} (cosine")
    exact, grid = analysis.explain(key, token, other), analysis.grid
    for row, col in ((0, 0), (1, 3)):
        page.mouse.move(*middle(page, grid, row, col, ".vv-frame .vv-picture"))
        line = page.locator(f"{HERE} > .vv-under", has_text=f"row {row}, col {col}").first
        expected = float(exact[grid.token(row, col)])
        assert number(line.inner_text()) == pytest.approx(expected, rel=0.006, abs=1e-5)
    page.mouse.move(2, 2)


def is_tested(page, analysis, other) -> None:
    """The fair test of the first picture: the likeness falls as in Python, and is called so."""
    page.get_by_role("button", name="Test these maps").first.click()
    fair = page.locator(f"{HERE} .vv-fair-found, .vv-fair-found").first
    fair.wait_for()
    keys = ("attention", "attention_gradient")
    test = analysis.fair_test(*keys, target=other)
    fair_is(page, test, keys)
    expect(fair.locator(".vv-chart").first).to_contain_text("likeness to cat.jpg")
    expect(fair.locator(".vv-found")).to_contain_text("the likeness to cat.jpg")
    said = fair.locator(".vv-fair-sentences li").first.text_content() or ""
    assert said.lower().rstrip(".") == str(test.sentence("attention"))


def test_another_picture_beside_is_a_target_with_classes_and_without(browser, tmp_path) -> None:
    path = save_tiny(tmp_path, "registers")
    write_site(tmp_path / "site", [str(path), "photos"])
    with serving_files(tmp_path / "site") as address, visiting(browser, address) as page:
        start = f"{address}/?{LINK.format(path.stem)}"
        page.goto(start)
        page.locator(READY).wait_for()
        panel = page.locator(".vv-panel:not([hidden])")
        hint = panel.get_by_text("Put another picture beside this one")
        expect(hint).to_be_visible()
        page.wait_for_function(DRAWN, arg=2)
        unfold(page)
        box = panel.get_by_role("checkbox", name="occlusion").first
        expect(box).to_be_hidden()

        page.goto(f"{start}&beside=example-cat")
        page.locator(READY).wait_for()
        page.wait_for_function(DRAWN, arg=4)  # two of each picture
        loaded = load(str(path))
        dog, cat = (analyze(loaded, FOLDER / f"{name}.jpg") for name in ("dog", "cat"))
        is_told(page, dog, cat.trace.logits, "attention_gradient", 0)
        expect(hint.first).to_be_hidden()
        is_tested(page, dog, cat)
        expect(panel.get_by_label("What is explained").first).to_be_hidden()
        unfold(page)
        expect(box).to_be_visible()

        page.goto(f"{address}/?{LINK.format('photos')}&beside=example-cat")
        page.locator(READY).wait_for()
        page.wait_for_function(DRAWN, arg=4)
        page.get_by_label("What is explained").first.select_option("likeness to the picture beside")
        loaded = load("photos")
        like = features(loaded, [FOLDER / "cat.jpg"]).values[0]
        page.locator(".vv-intro", has_text="Likeness of the two pictures: 0.").first.wait_for()
        page.wait_for_function(DRAWN, arg=4)
        dog, cat = (analyze(loaded, FOLDER / f"{name}.jpg") for name in ("dog", "cat"))
        is_told(page, dog, like, "attention_gradient", 0)
        is_tested(page, dog, cat)
        assert "target=like" in page.url
        page.keyboard.press("b")  # away: the answer again
        expect(page.locator(".vv-intro", has_text="Likeness of the two")).to_have_count(0)
        expect(page.get_by_label("What is explained")).to_have_count(1)


def falls(loaded, photo, other, patches: list[int]) -> str:
    """The likeness of a photo to another vector, before and after patches are taken out."""
    erased = [{"kind": "remove", "patches": patches}]
    both = (analyze(loaded, photo), analyze(loaded, photo, interventions=erased))
    return " \u2192 ".join(f"{one.likeness(other):.2f}" for one in both).replace("-", "\u2212")


def test_erasing_says_how_the_likeness_to_the_picture_beside_falls(browser, tmp_path) -> None:
    path = save_tiny(tmp_path, "registers")
    write_site(tmp_path / "site", [str(path), "photos"])
    with serving_files(tmp_path / "site") as address, visiting(browser, address) as page:
        start = f"{address}/?example=dog&beside=example-cat&model="
        page.goto(start + path.stem)
        page.locator(READY).wait_for()
        page.locator('[data-beside="example-cat"]').wait_for()
        page.locator(ERASE).click()
        page.locator(".vv-finding", has_text="how alike the two still are").wait_for()
        brush(page, (0, 0), (0, 1))
        loaded = load(str(path))
        cat = features(loaded, [FOLDER / "cat.jpg"]).values[0]
        told = f"Likeness to cat.jpg: {falls(loaded, FOLDER / 'dog.jpg', cat, [0, 1])}"
        settled(page, told)
        assert "cosine" in page.locator(".vv-says").inner_text()
        page.locator(".vv-heard", has_text=f"Now: {told}.").wait_for()

        page.goto(start + "photos")
        page.locator(READY).wait_for()
        page.locator('[data-beside="example-cat"]').wait_for()
        page.locator(ERASE).click()
        intact = page.locator(HEADLINE).inner_text()
        way = [(row, col) for row in (5, 6) for col in range(4, 10)]
        for row in (5, 6):
            brush(page, (row, 4), (row, 9))
        loaded = load("photos")
        cat = features(loaded, [FOLDER / "cat.jpg"]).values[0]
        patches = [row * 12 + col for row, col in way]
        told = falls(loaded, FOLDER / "dog.jpg", cat, patches)
        page.locator(".vv-rivals li", has_text=f"Likeness to cat.jpg{told}").wait_for()
        assert (
            page.locator(".vv-was s").text_content().lower() == intact.lower()
        )  # it keeps the headline
        page.locator(".vv-heard", has_text=f"; Likeness to cat.jpg: {told}.").wait_for(
            state="attached"
        )

        page.goto(f"{address}/?example=dog&model=photos")  # nothing beside, and no likeness
        page.locator(READY).wait_for()
        page.locator(ERASE).click()
        brush(page, (5, 4), (5, 9))
        page.locator(".vv-heard", has_text="Now: ").wait_for(state="attached")
        assert "Likeness" not in page.locator(".vv-modes").inner_text()
        assert "Likeness" not in page.locator(".vv-title").inner_text()


def test_a_reload_and_undo_bring_back_what_erasing_does_to_the_likeness(visit) -> None:
    """An erased picture stands where the one that it is like stood: no link holds which it was."""
    seen = visit("?model=photos&example=dog&beside=example-cat", wait_for="dog.jpg")
    page = seen.page
    page.locator('[data-beside="example-cat"]').wait_for()
    page.locator(ERASE).click()
    brush(page, (5, 4), (5, 9))
    loaded = load("photos")
    cat = features(loaded, [FOLDER / "cat.jpg"]).values[0]
    told = falls(loaded, FOLDER / "dog.jpg", cat, [5 * 12 + col for col in range(4, 10)])
    bar = page.locator(".vv-rivals li", has_text=f"Likeness to cat.jpg{told}")
    bar.wait_for()
    page.wait_for_function("location.search.includes('beside=experiment')")
    address = page.evaluate("location.search")
    assert "cat" not in address
    # A server that is busy just then is told in its place, and tried again with the next change.
    page.route("**/component_server**", busy)
    page.reload()
    page.locator(READY).wait_for()
    why = page.locator(".vv-notes").get_by_text("could not be opened again (This server is busy.)")
    why.wait_for()
    page.unroute("**/component_server**", busy)
    page.locator(ERASE).click()
    brush(page, (6, 4), (6, 4))
    bar.wait_for(state="detached")
    page.locator(".vv-rivals li", has_text="Likeness to cat.jpg").wait_for()
    expect(why).to_be_hidden()
    page.keyboard.press("Control+z")
    bar.wait_for()
    page.wait_for_function("(address) => location.search === address", arg=address)  # it rests
    page.reload()
    page.locator(READY).wait_for()
    bar.wait_for()
    page.keyboard.press("b")  # nothing beside, and the experiment again
    expect(bar).to_have_count(0)
    page.keyboard.press("Control+z")
    bar.wait_for()


def test_a_likeness_that_is_explained_is_the_headline_of_what_is_erased(visit) -> None:
    """Also in a model with classes, whose answers stand in the bars below it."""
    link = "?model=photos&example=dog&panel=explain&target=like&beside=example-cat"
    page = visit(link, wait_for="dog.jpg", **LAPTOP).page
    loaded = load("photos")
    cat = features(loaded, [FOLDER / "cat.jpg"]).values[0]
    patches = [row * 12 + col for row in (5, 6) for col in range(4, 10)]
    told = f"Likeness to cat.jpg: {falls(loaded, FOLDER / 'dog.jpg', cat, patches)}"
    headline, rivals = page.locator(HEADLINE), page.locator(".vv-rivals li")
    for size in (LAPTOP, WALL):
        page.set_viewport_size(size["viewport"])
        project(page, size is WALL)
        page.locator('[data-beside="example-cat"]').wait_for()
        page.locator(ERASE).click()
        for row in (5, 6):
            brush(page, (row, 4), (row, 9))
        settled(page, told)
        expect(headline).to_be_visible()
        assert headline.evaluate("(node) => node.scrollWidth <= node.clientWidth"), size
        expect(page.locator(".vv-was")).to_be_hidden()
        expect(rivals).to_have_count(1)
        expect(rivals).to_contain_text("German shepherd")
        page.keyboard.press("Control+z")
        page.keyboard.press("Control+z")
        expect(headline).to_contain_text("German shepherd")


def test_the_server_says_how_the_likeness_falls(visit) -> None:
    link = "?model=photos&beside=example-cat"
    page = visit(link, before=lambda page: page.add_init_script(NO_ENGINE)).page
    page.locator('[data-beside="example-cat"]').wait_for()
    page.locator(ERASE).click()
    brush(page, (4, 3), (4, 8))
    loaded = load("photos")
    cat = features(loaded, [FOLDER / "cat.jpg"]).values[0]
    told = falls(loaded, PANDA, cat, [4 * 12 + col for col in range(3, 9)])
    page.locator(".vv-rivals li", has_text=f"Likeness to cat.jpg{told}").wait_for()


def test_the_server_tests_a_likeness_and_draws_it_for_print(visit) -> None:
    link = (
        "?model=photos&panel=explain&beside=example-cat&target=like&maps=attention.grad_cam&token=0"
    )
    seen = visit(link, before=lambda page: page.add_init_script(NO_ENGINE))
    page = seen.page
    page.wait_for_function(DRAWN, arg=4)
    page.get_by_role("button", name="Test these maps").first.click()
    page.locator(".vv-fair-found").first.wait_for()
    loaded = load("photos")
    test = analyze(loaded, PANDA).fair_test(
        "attention", "grad_cam", target=analyze(loaded, FOLDER / "cat.jpg")
    )
    fair_is(page, test, ("attention", "grad_cam"))
    expect(page.locator(".vv-fair .vv-found").first).to_contain_text("the likeness to cat.jpg")
    page.get_by_role("button", name="Save what you see").click()
    figures = page.locator(SAVES).nth(1).get_by_role("button", name=re.compile("SVG"))
    for at, other in enumerate(("cat.jpg", "red-panda.jpg")):
        _, data = saved(page, figures.nth(at))
        assert f"for the likeness to {other}, seen from cls_token" in data.decode()
