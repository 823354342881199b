"""What visitors do, in a real browser; each number on the screen is the one Python computes."""

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import product

import numpy as np
import pytest
from playwright.sync_api import expect

import vitviz
from tests.browser.conftest import (
    ASKED,
    PATIENCE_MS,
    STATE,
    address,
    drop,
    middle,
    middle_in,
    number,
    plain,
    time_stands,
)
from vitviz import PatchGrid
from vitviz.probe.measure import numbers
from vitviz.web.store.examples import FOLDER, START

LAYER = ".vv-layer input"
# All three layers of the tiny models, the next ones in the background.
LAYERS_CAME = """performance.getEntriesByType("resource")
    .filter(({ name }) => /layer-\\d+\\.safetensors$/.test(name)).length >= 3"""
UNDER = ".vv-stage .vv-under"


def percent(text: str) -> float:
    return float(text.split("%")[0].lstrip("< ")) / 100


# Wait until the page names what the pointer is on, with its value, and read the line.
READ = """([under, name, patience]) => new Promise((done, fail) => {
    const until = performance.now() + patience;
    const read = () => {
        const text = document.querySelector(under).innerText;
        if (text.startsWith(name + ":")) done(text);
        else if (performance.now() > until) fail(new Error(text));
        else requestAnimationFrame(read);
    };
    read();
})"""


def hover(visit, grid, *places: tuple[int, int]) -> list[float]:
    """Point at patches, one after the other, and read the value that is shown for each."""
    # Choosing below the picture may have scrolled it out of the window.
    picture = visit.page.locator(".vv-picture")
    picture.evaluate("node => node.scrollIntoView({block: 'center'})")
    box, values = picture.bounding_box(), []
    for row, col in places:
        visit.page.mouse.move(*middle_in(box, grid, row, col))
        wanted = [UNDER, f"row {row}, col {col}", PATIENCE_MS]
        values.append(number(visit.page.evaluate(READ, wanted)))
    return values


def values_on_screen(visit, analysis) -> np.ndarray:
    """The value of every token on the stage: of the tiles, then of each patch when pointed at."""
    grid = analysis.grid
    places = [(row, col) for row in range(grid.rows) for col in range(grid.cols)]
    patches = hover(visit, grid, *places)  # first: it waits for the layer
    tiles = [
        float(text or "nan") for text in visit.page.locator(".vv-tile-value").all_inner_texts()
    ]
    return np.array(tiles + patches)


def same(shown: np.ndarray, computed, absolute: float = 1e-5) -> None:
    """Equal up to rounding: values are sent in half precision and shown with three digits."""
    np.testing.assert_allclose(shown, np.asarray(computed), rtol=0.006, atol=absolute)


def test_the_whole_journey(visit, pictures, ours, folder):
    seen, analysis = visit(), ours(pictures["first"])
    grid = analysis.grid
    page = seen.page
    # Addresses are counted once: a file can be requested again after a failure.
    layers = """(count) => new Set(performance.getEntriesByType("resource")
        .map(entry => entry.name).filter(name => name.includes("layer-0"))).size >= count"""
    page.wait_for_function(layers, arg=3)  # of the example, whose last one would count as ours
    seen.bring(pictures["first"])
    page.wait_for_function(layers, arg=6)
    page.wait_for_function(ASKED)
    box = page.locator(".vv-picture").bounding_box()
    asked = len(seen.requests)
    shown = set()
    for row, col in product(range(8), range(4)):  # each patch twice
        page.mouse.move(*middle_in(box, PatchGrid((8, 4), (1, 1), 0), row, col))
        shown.add(seen.text(UNDER))
    for layer in (0, 1, 2):
        page.locator(LAYER).nth(layer).check()
    seen.is_(layer=2)
    assert len(shown) == 16
    assert [url for url in seen.requests[asked:] if "heartbeat" not in url] == []

    # One journey through the panels.
    last = analysis.trace.depth - 1
    seen.is_(state="ready", token=0, layer=last, head="mean", direction="from", panel="attention")

    # Attention: CLS, then a kept patch; another layer, another head, the other direction.
    tile = float(seen.text(".vv-tile-value"))
    assert tile == pytest.approx(float(analysis.attention(last)[0]), rel=0.006)
    page.mouse.click(*middle(page, grid, 1, 2))
    token = grid.token(1, 2)
    seen.is_(token=token, pinned="true")
    same(values_on_screen(seen, analysis), analysis.attention(last, None, token))
    page.locator(LAYER).nth(1).check()
    seen.is_(layer=1)
    same(values_on_screen(seen, analysis), analysis.attention(1, None, token))
    seen.choose("1")
    seen.is_(head=1)
    same(values_on_screen(seen, analysis), analysis.attention(1, 1, token))
    seen.choose("who looks at it")
    seen.is_(direction="to")
    same(values_on_screen(seen, analysis), analysis.attention(1, 1, token, "to"))
    seen.choose("where it looks")

    # Patches: the numbers of this patch as they enter the model, pixel after pixel.
    seen.open_panel("Patches")
    seen.is_(panel="patches")
    top, left, height, width = grid.box(token)
    patch = analysis.pixels[:, top : top + height, left : left + width].permute(1, 2, 0).flatten()
    # They are written part by part, and again: what was counted is what is compared.
    written = page.wait_for_function(
        """count => {
            const text = document.querySelector('.vv-numbers').textContent.split("\\n")
                .map((line) => line.split("│")[1] ?? "").join(" ").trim();
            return text.split(/\\s+/).length >= count && text;
        }""",
        arg=len(patch),
    )
    shown = np.array(plain(written.json_value()).split(), dtype=float)
    np.testing.assert_allclose(shown, patch, atol=0.0051)

    # Positions: cosine similarity to every other position.
    seen.open_panel("Positions")
    seen.is_(panel="positions", overlay="positions")
    similar = analysis.position_similarity(token).flatten()
    same(values_on_screen(seen, analysis)[-16:], similar, absolute=1.5e-3)

    # Rollout through layers 0 and 1, then through all.
    seen.open_panel("Rollout")
    seen.is_(panel="rollout", overlay="rollout", layer=1)
    same(values_on_screen(seen, analysis), analysis.rollout(token, 1))
    page.locator(LAYER).nth(last).check()
    seen.is_(layer=last)
    same(values_on_screen(seen, analysis), analysis.rollout(token))

    # Predictions: every class with its probability and logit; labels are text, whatever they say.
    seen.open_panel("Predictions")
    seen.is_(panel="predictions")
    rows = page.locator(".vv-predictions li")
    expected = analysis.predictions(10)
    assert rows.count() == len(expected)
    for row, prediction in zip(rows.all(), expected, strict=True):
        assert row.locator(".vv-label").inner_text() == prediction.label
        assert percent(row.locator("b").inner_text()) == pytest.approx(
            prediction.probability, abs=6e-4
        )
    assert page.evaluate("window.broken") is None
    seen.open_panel("Attention")
    seen.is_(panel="attention", overlay="attention")

    # What was looked at stays for the next photo.
    page.keyboard.press("Escape")
    page.mouse.click(*middle(page, grid, 2, 3))
    page.locator(LAYER).nth(0).check()
    seen.is_(layer=0, head=1, token=grid.token(2, 3))
    seen.bring(pictures["second"])
    analysis = ours(pictures["second"])
    seen.is_(token=grid.token(2, 3), layer=0, head=1)
    same(values_on_screen(seen, analysis), analysis.attention(0, 1, grid.token(2, 3)))

    # What is downloaded is what is on the screen.
    with seen.page.expect_download() as download:
        seen.page.locator("#vv-download").click()
    assert download.value.suggested_filename == "second-photo-tiny-cls.safetensors"
    download.value.save_as(folder / "downloaded.safetensors")
    got, want = vitviz.Analysis.load(folder / "downloaded.safetensors"), ours(pictures["second"])
    np.testing.assert_allclose(got.trace.q, want.trace.q, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(got.trace.logits, want.trace.logits, rtol=1e-5, atol=1e-6)
    assert got.photo_name == "second photo.png"

    # After bad files the picture before is still used, and a good one is taken.
    for name, says in (("text", "it is text"), ("empty", "is empty (0 bytes)")):
        seen.upload(pictures[name])
        toast = page.locator(".toast-body", has_text=says)
        toast.wait_for()
        toast.locator("button.toast-close").click()
        seen.ready("second photo.png")  # the picture before is still used
        seen.photo_is("photo.png")
    seen.bring(pictures["first"])


def test_very_many_tokens_another_model_and_one_that_is_not_there(visit, pictures, ours):
    # With very many tokens the rollout is asked for.
    seen = visit("?model=long&panel=rollout&layer=1", "red-panda.jpg · long", before=time_stands)
    seen.upload(pictures["first"])
    seen.ready("first.png · long")
    analysis = ours(pictures["first"], "long")
    page, grid = seen.page, analysis.grid
    page.mouse.click(*middle(page, grid, 0, 4))
    seen.is_(token=5, pinned="true")
    for layer in (1, 2):
        page.locator(LAYER).nth(layer).check()
        seen.is_(layer=layer)
        expected = analysis.rollout(5, layer)
        page.wait_for_function(
            "cls => Math.abs(document.querySelector('.vv-tile-value').textContent - cls) < 1e-4",
            arg=float(expected[0]),
        )
        places = (0, 4), (3, 7), (20, 20)
        same(hover(seen, grid, *places), [expected[grid.token(*place)] for place in places])
    assert any("component_server" in url for url in seen.requests)
    # Another model, and one that is not there.
    menu = page.locator("#vv-model input")
    menu.click()
    shipped = page.get_by_role("listbox").get_by_role("option", name="tiny-grey")
    shipped.click()
    seen.ready("first.png · tiny-grey")
    seen.open_panel("Attention")
    seen.is_(panel="attention", overlay="attention")
    analysis = ours(pictures["first"], "grey")
    token = int(page.locator(STATE).get_attribute("data-token"))  # of another grid
    assert float(seen.text(".vv-tile-value")) == pytest.approx(
        float(analysis.attention(2, None, token)[0]), rel=0.006
    )
    menu.click()
    absent = page.get_by_role("listbox").get_by_role(
        "option", name="DeiT tiny 16 (timm): needs a network", exact=True
    )
    colours = [one.evaluate("node => getComputedStyle(node).color") for one in (absent, shipped)]
    assert colours[0] != colours[1]  # grey
    absent.click()
    toast = page.locator(".toast-body", has_text="no connection to the Hugging Face hub")
    toast.wait_for()
    assert "The weights of DeiT tiny 16 (timm) are not" in toast.inner_text()
    assert "“Handwritten digits, rotary positions” work without a network" in toast.inner_text()
    assert page.locator(".toast-body").count() == 1
    seen.model_is("tiny-grey")
    seen.ready("first.png · tiny-grey")
    seen.upload(pictures["second"])
    seen.ready("second photo.png · tiny-grey")


# Notes each token under the hand of the walk, and its place; at `touches` a key is pressed.
WALK = """const walked = (window.walked = []);
new MutationObserver(([{ target }]) => {
  const hand = document.querySelector(".vv-cursor");
  if (!hand || hand.offsetParent === null) return;
  const [token, { top, left }] = [Number(target.dataset.token), hand.style];
  if (walked.at(-1)?.[0] !== token) walked.push([token, parseFloat(top), parseFloat(left)]);
  const press = new KeyboardEvent("keydown", { key: "Shift", bubbles: true });
  if (token === touches) document.body.dispatchEvent(press);
}).observe(document, { subtree: true, attributeFilter: ["data-token"] });"""


def test_the_page_begins_where_fur_looks_at_fur_and_walks_once_unless_it_is_touched(visit):
    begun = {name: value for name, value in START.items() if name != "walk"}
    seen = visit("?model=photos", reduced_motion="reduce")
    seen.is_(**begun, pinned="false")
    seen.go("?model=photos&layer=4", "red-panda.jpg")  # a link wins
    seen.is_(layer=4, head="mean", token=0)
    for touches, walk in ((0, START["walk"]), (START["walk"][1], START["walk"][:2])):

        def notes(page, touches=touches) -> None:
            page.context.spent = True
            page.clock.install()  # noted from its begin, however long the page takes to come
            page.add_init_script(f"{{const touches = {touches}; {WALK}}}")

        seen = visit("?model=photos", before=notes)
        seen.page.clock.run_for(12_000)
        for (token, *place), wanted in zip(seen.page.evaluate("walked"), walk, strict=True):
            assert token == wanted
            row, col = divmod(token - 1, 12)
            assert place == pytest.approx([100 * row / 12, 100 * col / 12], abs=0.01)
        seen.is_(**begun)
        assert not seen.page.locator(".vv-cursor").is_visible()
    assert "token=" not in address(seen.page)  # a walk is no selection


def shares(probability: float) -> str:
    return numbers.percent(probability).replace(" ", "\u00a0")


def test_unknown_names_of_a_link_the_keyboard_alone_and_examples_at_a_click(visit):
    # What a link names and nobody has is passed over.
    seen = visit(
        "?example=../../etc&model=/etc/passwd&layer=99&head=x&token=-1", "red-panda.jpg · tiny-cls"
    )
    seen.is_(layer=2, head="mean", token=0)
    # The first stop of the Tab key leads to the picture.
    page = seen.page
    page.keyboard.press("Tab")
    skip = page.get_by_role("link", name="Skip to the picture")
    assert skip.evaluate("node => node === document.activeElement")
    assert skip.bounding_box()["y"] >= 0
    page.keyboard.press("Enter")
    assert page.locator(".vv-frame").evaluate("node => node === document.activeElement")
    page.keyboard.press("ArrowRight")
    seen.is_(token=1, pinned="true")
    # The keyboard is enough.
    for key in ("ArrowRight", "ArrowRight", "ArrowDown", "[", "."):
        page.keyboard.press(key)
    seen.is_(layer=1, head=0, pinned="true")
    token = int(page.locator(".vv-place").get_attribute("data-token"))
    assert token > 0
    page.keyboard.press("Home")
    seen.is_(token=0)
    # Examples are analyzed at a click, and have names.
    page.get_by_role("button", name="red panda").click()
    seen.ready("red-panda.jpg")
    page.get_by_role("button", name="coffee").click()
    seen.ready("coffee.jpg")
    seen.photo_is("coffee.jpg")
    with page.expect_response("**/picture.safetensors"):
        seen.again()
    seen.ready("coffee.jpg")


def test_pasting_the_camera_dropping_and_a_picture_no_browser_can_show(visit, pictures):
    seen = visit(permissions=["clipboard-read", "clipboard-write", "camera"])
    page = seen.page
    page.evaluate(
        """async () => {
            const canvas = document.createElement("canvas");
            canvas.getContext("2d").fillRect(20, 20, 99, 50);
            const png = await new Promise(done => canvas.toBlob(done, "image/png"));
            await navigator.clipboard.write([new ClipboardItem({"image/png": png})]);
        }"""
    )
    page.get_by_role("button", name="Paste a picture").click()
    seen.ready("clipboard.png")
    assert "Transparent parts shown on white" in seen.text(".vv-photo-note")
    # Pasted words are no picture, and that is said; so is a browser that refuses.
    missing = "There is no picture on the clipboard: copy one first."
    page.evaluate("() => navigator.clipboard.writeText('words')")
    page.get_by_role("button", name="Paste a picture").click()
    page.locator("#vv-said", has_text=missing).wait_for()
    page.context.clear_permissions()
    page.get_by_role("button", name="Paste a picture").click()
    page.locator("#vv-said", has_text="does not let this page read the clipboard").wait_for()
    drop(page.locator("body"), b"", pasted=True)
    page.locator("#vv-said", has_text=missing).wait_for()
    page.context.grant_permissions(["camera"])
    page.get_by_role("button", name="Take a photo with the camera").click()
    page.get_by_text("Click to Access Webcam").click()
    page.wait_for_function(  # before the camera runs, there is nothing to take
        "() => document.querySelector('#vv-photo video')?.videoWidth > 0"
    )
    page.get_by_label("capture photo").click()
    page.wait_for_function(
        "() => !document.querySelector('.vv-place .vv-names').textContent.startsWith('clipboard')"
    )
    page.locator("#vv-photo").wait_for(state="hidden")
    seen.bring(FOLDER / "cat.jpg")
    # A picture is dropped or pasted anywhere on the page.
    cat = (FOLDER / "cat.jpg").read_bytes()
    for name, pasted in (("a.jpg", False), ("b.jpg", True)):
        drop(seen.page.locator(".vv-tabs"), cat, name, pasted=pasted)
        seen.ready(name)
    # One that no browser can show gets a preview.
    seen.bring(pictures["scan"])
    seen.photo_is("preview.png")
    page.wait_for_function("() => document.querySelector('#vv-photo img').naturalWidth === 32")
    with page.expect_response("**/picture.safetensors"):
        seen.again()  # the file, not its preview
    seen.ready("scan.tiff")


A_MINUTE_LATER = """() => {
    const now = performance.now.bind(performance);
    performance.now = () => now() + 61_000;
}"""


def refused_once(page, address: str) -> None:
    left = [403]
    page.route(
        address,
        lambda route: route.fulfill(status=left.pop()) if left else route.continue_(),
    )


def test_expired_files_are_asked_for_again_once_and_then_explained(visit):
    seen = visit()
    page = seen.page
    # A panel whose file has expired gets it by itself, once a minute.
    page.wait_for_function(LAYERS_CAME)
    for panel, file in (("Patches", "embedding"), ("Training", "film")):
        refused_once(page, f"**/{file}.safetensors")
        page.evaluate("performance.clearResourceTimings()")
        with page.expect_response("**/picture.safetensors"):  # asking for the file would not help
            seen.open_panel(panel)
        seen.ready("red-panda.jpg")
        seen.is_(panel=panel.lower())
        page.locator(".vv-panel:not([hidden])").locator(".vv-filters, .vv-film").first.wait_for()
        # All of this analysis, else they count as those of the next, or are refused with them.
        page.wait_for_function(LAYERS_CAME)
        page.evaluate(A_MINUTE_LATER)
    seen.open_panel("Attention")

    def joins() -> int:
        return sum("queue/join" in one for one in seen.requests)

    before = joins()
    page.route(
        "**/layer-*.safetensors",
        lambda route: route.fulfill(status=403) if joins() < before + 3 else route.continue_(),
    )
    # Two refusals look alike, and files are let through only after that of the second analysis.
    with page.expect_response(lambda r: r.status == 403 and joins() >= before + 2):
        page.get_by_role("button", name="bison").click()
    page.wait_for_selector(".vv-place[data-state=error]")
    page.get_by_text("This analysis has expired").first.wait_for()
    # Files are let through after the press: a layer that came before it would take the button away.
    page.get_by_role("button", name="Run it again").first.click()
    seen.ready("bison.jpg")
    page.unroute("**/layer-*.safetensors")
    page.get_by_role("button", name="goldfish").click()
    seen.ready("goldfish.jpg")
    seen.forgive("403")


@contextmanager
def at_once(*pages) -> Iterator[None]:
    """The pictures that the pages send inside of the block reach the server at the same moment."""
    held, gone = [], []

    def hold(route) -> None:
        picture = route.request.post_data_json["data"][0]  # null: one was taken away
        if picture is None or gone:
            route.continue_()
        else:
            held.append(route)

    for seen in pages:
        seen.page.route("**/queue/join*", hold)
    yield
    give_up = time.monotonic() + PATIENCE_MS / 1000
    while len(held) < len(pages):
        assert time.monotonic() < give_up, len(held)
        pages[0].page.evaluate("0")  # lets the requests come
    gone.append(True)
    for route in held:
        route.continue_()


def test_analyses_at_the_same_moment_have_their_own_numbers(visit, pictures, ours):
    pages = visit("?model=tiny-cls"), visit("?model=tiny-grey", "red-panda.jpg · tiny-grey")
    for models, names in (
        (("cls", "grey"), ("first", "second")),
        (("long", "long"), ("second", "first")),
    ):
        for seen, model in zip(pages, models, strict=True):
            menu = seen.page.locator("#vv-model input")
            if not menu.input_value().endswith(model):
                menu.click()
                with seen.anew(""):
                    seen.page.get_by_role("listbox").get_by_role("option", name=model).click()
        titles = [f"{pictures[name].name} · " for name in names]
        with pages[0].anew(titles[0]), pages[1].anew(titles[1]), at_once(*pages):
            for seen, name in zip(pages, names, strict=True):
                seen.upload(pictures[name])
        for seen, name, model in zip(pages, names, models, strict=True):
            analysis = ours(pictures[name], model)
            grid, last = analysis.grid, analysis.trace.depth - 1
            place = seen.page.locator(STATE)
            if place.get_attribute("data-pinned") == "false":
                seen.page.mouse.click(
                    *middle(seen.page, grid, 1, 2)
                )  # else one is pinned, and stays
            seen.is_(pinned="true", layer=last, head="mean")
            token = int(place.get_attribute("data-token"))
            expected = analysis.attention(last, None, token)
            places = [(row, row) for row in range(4)]
            same(hover(seen, grid, *places), [expected[grid.token(*place)] for place in places])
    with pages[0].page.expect_response("**/picture.safetensors"):
        pages[0].again()
    pages[0].ready("second photo.png · long")


def test_a_narrow_screen_scrolls_in_one_direction_and_leads_to_the_answer(visit):
    seen = visit(viewport={"width": 320, "height": 800}, has_touch=True)
    page = seen.page
    for width, name in ((320, "cat"), (390, "dog"), (768, "bison")):
        page.set_viewport_size({"width": width, "height": 800})
        page.wait_for_function("width => innerWidth === width", arg=width)
        page.keyboard.press("Escape")
        seen.is_(pinned="false")
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        if width == 320:
            assert page.evaluate("scrollY") == 0
        page.evaluate("scrollTo(0, 0)")
        page.get_by_role("button", name=name, exact=True).click()
        seen.ready(f"{name}.jpg")
        page.wait_for_function(
            """() => document.querySelector(".vv-place").getBoundingClientRect().top
                < innerHeight * 0.6"""
        )
        page.locator(".vv-picture").tap(position={"x": 9, "y": 9})
        seen.is_(token=1, pinned="true")


def test_korean_and_dark_whatever_the_request_asks_for(visit, pictures):
    headers = {"Accept-Language": "en-US"}
    seen = visit("?__theme=dark", locale="ko-KR", extra_http_headers=headers, before=time_stands)
    page = seen.page
    page.get_by_role("button", name="내 사진", exact=True).wait_for()
    assert page.get_by_role("link", name="그림으로 건너뛰기").count() == 1
    assert page.get_by_role("tab", name="어텐션").count() == 1
    assert page.locator(".vitviz").get_attribute("data-theme") == "dark"
    assert "vv_" not in page.locator("body").inner_text()
    # The menu says which models need a network.
    page.locator("#vv-model input").click()
    page.get_by_role("listbox").get_by_role(
        "option", name="CLIP base 16 (timm): 네트워크 필요", exact=True
    ).click()
    page.locator(".toast-body", has_text="CLIP base 16 (timm)의 가중치가").wait_for()
    # A message speaks the language of the page.
    seen.upload(pictures["text"])
    toast = page.locator(".toast-body", has_text="not a <b>photo.jpg")
    toast.get_by_text("텍스트 파일입니다").wait_for()
    assert "it is text" not in toast.inner_text()
    # As Gradio's settings do; the photo's hostile name is still text.
    for language, says in (
        ("en", "it is text"),
        ("kok", "it is text"),
        ("ko", "텍스트 파일입니다"),
    ):
        seen.page.evaluate("language => { document.documentElement.lang = language; }", language)
        expect(toast).to_contain_text(says)
        assert "not a <b>photo.jpg" in toast.inner_text()
        assert toast.get_by_text("it is text").is_visible() == (says == "it is text")


def test_a_model_is_told_of_in_the_language_of_the_page_and_the_title_is_the_answer(visit):
    seen = visit("?model=photos&panel=model", locale="ko-KR")
    page = seen.page
    title, english = "일상 사진, 100가지 사물", "Everyday photos, 100 kinds of things"
    heading, panel = page.locator(".vv-names"), "[role=tabpanel]"
    seen.model_is(title)
    assert heading.inner_text() == f"red-panda.jpg · {title}"
    told = seen.text(f"{panel}:visible")
    for words in (title, "학습용 그림 50,000장", "저작권은 사진을 찍은 사람에게", "vitviz로 학습"):
        assert words in told
    assert not re.search(r"[a-z]+ (and|of|with|is|in) [a-z]+", told)  # no sentence is left over
    page.get_by_role("button", name="레서판다").wait_for()
    # From one language to the other while the page stands.
    page.get_by_role("button", name="English").click()
    page.wait_for_function(f"document.querySelector('.vv-names').textContent.endsWith('{english}')")
    seen.model_is(english)
    assert "50,000 training and 5,000 test pictures" in page.locator(panel).all_inner_texts()[-1]
    page.locator("#vv-examples img[alt='red panda']").wait_for()
    # The title is the answer with its rivals.
    page.get_by_role("button", name="dog", exact=True).click()
    seen.ready("dog.jpg")
    analysis = vitviz.analyze(vitviz.load("photos"), FOLDER / "dog.jpg")
    answer = analysis.answer()
    assert answer.kind == "class"
    title = f"\u201c{answer.name}\u201d, {shares(answer.probability)}"
    assert seen.text(".vv-title h2") == title
    assert seen.page.title() == f"{title} · {seen.text('.vv-names')} · vitviz"
    assert seen.page.locator(".vv-live[aria-live]").first.inner_text().startswith(title)
    assert seen.text(".vv-says").endswith("knows 100 things and sees 72 \u00d7 72 pixels")
    entries = seen.page.locator(".vv-rivals li")
    assert entries.count() == 2
    for entry, rival in zip(entries.all(), analysis.predictions(3)[1:], strict=True):
        assert entry.inner_text().split("\n") == [rival.label, shares(rival.probability)]
    seen.open_panel("Predictions")  # one number for one thing
    assert seen.text(".vv-answers > :last-child .vv-best b") == shares(answer.probability)
    seen.page.get_by_role("button", name="cat", exact=True).click()
    seen.ready("cat.jpg")
    group = vitviz.analyze(vitviz.load("photos"), FOLDER / "cat.jpg").groups(1)[0]
    assert seen.text(".vv-title h2") == f"\u201cA cat\u201d, {shares(group.probability)}"
