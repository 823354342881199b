"""The viewer without a host: pointer, keys, touch, undo, language, and files that fail."""

import base64
import json
import time
from dataclasses import replace
from itertools import count

import numpy as np
import pytest
from playwright.sync_api import expect

from tests.browser.conftest import middle, open_panel, stop_time, tabs_of, unfold
from tests.models import photo, tiny, with_pass
from tests.viewer_fixture import film
from vitviz import Analysis, PatchGrid, analyze
from vitviz.payload import bundle, css, pack, page

PLACE = "#viewer"
GRID = PatchGrid((32, 32), (8, 8), 1)  # of the small model
TWO_FRAMES = """() => new Promise((done) =>
    requestAnimationFrame(() => requestAnimationFrame(() => done())))"""

# A host whose files come when the test says so: window.gates[path] is what holds one back.
HOST = """
window.gates = {}; window.fails = {}; window.asked = []; window.selections = [];
window.fetchFile = async (file, signal) => {
  asked.push(file.path);
  await gates[file.path];
  signal.throwIfAborted();
  if (fails[file.path]) throw Object.assign(new Error("no"), { status: fails[file.path] });
  const text = atob(files[file.key]);
  return Uint8Array.from(text, (letter) => letter.charCodeAt(0)).buffer;
};
window.mounted = viewer.mount({
  element: document.querySelector("#viewer"), fetchFile,
  onSelect: (selection) => selections.push(selection),
});
"""


@pytest.fixture
def analysis() -> Analysis:
    return analyze(tiny("cls"), photo())


@pytest.fixture
def shown(open_page, analysis):
    tab = open_page(page(analysis))
    tab.wait_for_selector(f'{PLACE}[data-state="ready"]')
    return tab


def says(tab, **expected: object) -> None:
    """Waits until the viewer's data attributes are these."""
    for name, value in expected.items():
        tab.wait_for_selector(f'{PLACE}[data-{name}="{str(value).lower()}"]', state="attached")


def spot(tab, row: float, col: float) -> tuple[float, float]:
    return middle(tab, GRID, row, col)


def overlay(tab) -> list[int]:
    return tab.evaluate(
        "() => { const c = document.querySelector('.vv-overlay');"
        " return [...c.getContext('2d').getImageData(0, 0, c.width, c.height).data]; }"
    )


def test_hovering_previews_a_click_keeps_and_a_dialog_has_the_keys_to_itself(
    shown, analysis: Analysis
) -> None:
    says(shown, token=0, layer=2, head="mean", direction="from", panel="attention")
    before = overlay(shown)
    shown.mouse.move(*spot(shown, 1, 2))
    assert overlay(shown) != before
    assert "Patch in row 1, col 2" in shown.locator(".vv-token-title").inner_text()
    shown.mouse.move(2, 2)
    assert overlay(shown) == before
    shown.mouse.click(*spot(shown, 1, 2))
    says(shown, token=analysis.grid.token(1, 2), pinned=True)
    kept = overlay(shown)
    shown.mouse.move(*spot(shown, 3, 0))
    assert overlay(shown) == kept
    value = float(analysis.attention(2, None, analysis.grid.token(1, 2))[analysis.grid.token(3, 0)])
    text = shown.locator(".vv-stage > .vv-under").inner_text()
    assert text.startswith("row 3, col 0: ")
    assert float(text.split(": ")[1].split(" = ")[0]) == pytest.approx(value, rel=0.01)
    times = float(text.split("= ")[1].split()[0])
    assert times == pytest.approx(value * analysis.grid.num_tokens, abs=0.06)
    shown.mouse.click(*spot(shown, 1, 2))
    says(shown, token=0, pinned=False)
    shown.mouse.move(2, 2)
    # By keys.
    shown.focus(".vv-frame")
    press = shown.keyboard.press
    press("ArrowRight")
    says(shown, token=1, pinned=True)
    press("ArrowDown")
    says(shown, token=5)
    press("Home")
    says(shown, token=0)
    press("[")
    says(shown, layer=1)
    press(".")
    press(".")
    says(shown, head=1)
    press("d")
    says(shown, direction="to")
    press("m")
    says(shown, head="mean")
    press("Control+z")
    says(shown, head=1)
    press("Control+z")
    says(shown, direction="from")
    press("Control+Shift+Z")
    says(shown, direction="to")
    press("?")
    assert shown.locator("dialog[open]").is_visible()
    press("Escape")
    assert not shown.locator("dialog[open]").is_visible()
    says(shown, pinned=True)
    press("Escape")
    says(shown, pinned=False, token=0)
    # Escape closes the dialog for saving, and unpins nothing behind it.
    shown.mouse.click(*spot(shown, 1, 2))
    says(shown, pinned=True)
    shown.get_by_role("button", name="Save what you see").click()
    expect(shown.locator("dialog[open]")).to_have_count(1)
    press("[")
    press("Escape")
    expect(shown.locator("dialog[open]")).to_have_count(0)
    says(shown, pinned=True, layer=1)
    # On a scale with signs the legend marks the value under the pointer.
    shown.get_by_role("radio", name="positions").check()
    shown.mouse.move(*spot(shown, 3, 0))
    says(shown, token=7, overlay="positions")
    value = float(analysis.position_similarity(analysis.grid.token(1, 2))[3, 0])
    left = shown.locator(".vv-stage .vv-legend .vv-marker").evaluate("node => node.style.left")
    assert float(left.rstrip("%")) == pytest.approx(50 * (1 + value), abs=0.1)


def test_keys_are_for_the_viewer_used_last_where_nobody_else_takes_them(host) -> None:
    host.evaluate("mounted.update(first)")
    says(host, state="ready", layer=2)
    press = host.keyboard.press
    layers = "[...document.querySelectorAll('[data-layer]')].map((one) => one.dataset.layer).join()"
    text = ".vv-panel:not([hidden]) .vv-intro"
    host.locator(f"{PLACE} {text}").first.click()
    assert host.evaluate("document.activeElement === document.body")
    press("[")
    assert host.evaluate(layers) == "1"
    press("?")
    assert host.locator("dialog[open]").is_visible()
    press("[")
    press("Escape")
    assert host.evaluate(layers) == "1"
    host.evaluate("""document.body.insertAdjacentHTML("beforeend", `<input id=field>
        <div role=dialog><button id=inside>a</button></div><button id=button>b</button>`)""")
    for theirs in ("#field", "#inside"):
        host.focus(theirs)
        press("[")
        assert host.evaluate(layers) == "1"
    assert host.input_value("#field") == "["
    host.focus("#button")
    press("[")
    assert host.evaluate(layers) == "0"
    host.evaluate("""() => {
        document.body.insertAdjacentHTML("beforeend", "<div id=other></div>");
        viewer.mount({ element: document.querySelector("#other"), fetchFile }).update(second);
    }""")
    host.locator("#other[data-state=ready]").wait_for()
    for used, then in (("#other", "0,1"), (PLACE, "1,1"), ("#other", "1,2")):
        host.locator(f"{used} {text}").first.click()
        press("[" if then == "0,1" else "]")
        assert host.evaluate(layers) == then


def test_a_tap_keeps_and_a_sideways_drag_explores(open_page, analysis: Analysis) -> None:
    tab = open_page(page(analysis), has_touch=True)
    tab.wait_for_selector(f'{PLACE}[data-state="ready"]')
    tab.touchscreen.tap(*spot(tab, 1, 1))
    says(tab, token=6, pinned=True)
    cdp = tab.context.new_cdp_session(tab)

    moments = count(time.time())

    def touch(kind: str, *points: tuple[float, float]) -> None:
        """Send a touch event, a second after the last by its timestamp: a fast one would fling."""
        at = [{"x": x, "y": y} for x, y in points]
        event = {"type": kind, "touchPoints": at, "timestamp": next(moments)}
        cdp.send("Input.dispatchTouchEvent", event)

    touch("touchStart", spot(tab, 2, 0))
    for col in (0.3, 0.6, 1, 2, 3):
        touch("touchMove", spot(tab, 2, col))
    # It was row 1. Chromium may hold the very last move back until the finger leaves.
    tab.locator(".vv-token-title", has_text="row 2, col").wait_for()
    touch("touchEnd")
    says(tab, token=12, pinned=True)
    tab.touchscreen.tap(*spot(tab, 0, 0))
    says(tab, token=1, pinned=True)


def test_a_page_of_its_own_begins_in_the_language_that_it_is_asked_for(
    open_page, analysis: Analysis
) -> None:
    html = page(analysis)
    for locale, own, query, asked in (
        ("ko-KR", "ko", "?lang=en", "en"),
        ("kok-IN", "en", "?lang=ko_KR", "ko"),  # Konkani is no Korean
    ):
        tab = open_page(html, locale=locale)
        tab.wait_for_selector(f'html[lang={own}] {PLACE}[data-state="ready"]')
        tab.goto(tab.url.split("#")[0] + query)
        tab.wait_for_selector(f'html[lang={asked}] {PLACE}[data-state="ready"]')


# Whether the control that has the focus lies under something else.
COVERED = """async () => {
    const frame = () => new Promise((drawn) => requestAnimationFrame(drawn));
    await frame().then(frame);
    const control = document.activeElement;
    const { left, top, width, height } = control.getBoundingClientRect();
    const on = document.elementFromPoint(left + width / 2, top + height / 2);
    return !(control.contains(on) || on?.contains(control));
}"""


def no_control_is_hidden_under_what_stays(tab) -> None:
    """Going back with the Tab key from the last control of two long panels."""
    for panel, last in (("Patches", ".vv-ledger button"), ("Attention", ".vv-head")):
        open_panel(tab, panel)
        tab.evaluate(TWO_FRAMES)  # the page scrolls by itself in the next one
        if panel == "Patches":
            unfold(tab)
        tab.locator(last).last.focus()
        for _ in range(16):
            tab.keyboard.press("Shift+Tab")
            assert not tab.evaluate(COVERED), tab.evaluate("document.activeElement.outerHTML")


def test_the_focus_stays_where_a_control_goes_and_stage_and_tabs_stay_in_sight(shown) -> None:
    head = shown.locator("[data-control=head] input").nth(1)
    head.check()
    says(shown, head=0)
    shown.get_by_role("tab", name="Patches").click()
    shown.get_by_role("tab", name="Attention").click()
    head.focus()
    shown.keyboard.press("Tab")  # there and back, so that the focus comes from the keyboard
    shown.keyboard.press("Shift+Tab")
    shown.keyboard.press("Control+z")  # back where no head is asked for
    says(shown, panel="patches")
    assert not head.is_visible()
    seen_on_the_picture = "document.activeElement.matches('.vv-frame:focus-visible')"
    assert shown.evaluate(seen_on_the_picture)
    shown.keyboard.press("Control+Shift+Z")
    says(shown, panel="attention")
    shown.locator("[role=tabpanel]:visible button").last.focus()
    shown.keyboard.press("Control+z")
    says(shown, panel="patches")
    assert shown.evaluate(seen_on_the_picture)
    shown.keyboard.press("Control+z")
    says(shown, panel="attention")
    undo = shown.get_by_role("button", name="Undo")
    undo.focus()
    shown.keyboard.press("Enter")
    says(shown, head="mean")
    shown.keyboard.press("Enter")
    assert undo.get_attribute("aria-disabled") == "true"
    shown.keyboard.press("Control+Shift+Z")
    says(shown, head=0)
    # The language follows the page, by its host and by the button, which keeps the focus.
    shown.mouse.click(*spot(shown, 1, 2))
    shown.evaluate("document.documentElement.lang = 'ko'")
    shown.wait_for_selector("text=1행 2열 패치")
    says(shown, token=7, pinned=True)
    shown.get_by_role("button", name="이 페이지를 영어로 보기").click()
    shown.wait_for_selector("text=Patch in row 1, col 2")
    shown.keyboard.press("Control+z")  # what was done before can still be undone
    says(shown, token=0, pinned=False)
    shown.get_by_role("button", name="Show this page in Korean").focus()
    shown.keyboard.press("Enter")
    shown.wait_for_selector("html[lang=ko]")
    shown.wait_for_function("document.activeElement.title === '이 페이지를 영어로 보기'")
    shown.keyboard.press("Enter")
    shown.wait_for_selector("html[lang=en]")
    # The stage and the tabs stay in sight.
    shown.set_viewport_size({"width": 1400, "height": 700})
    no_control_is_hidden_under_what_stays(shown)
    shown.set_viewport_size({"width": 1200, "height": 900})
    shown.get_by_role("tab", name="Patches").click()
    unfold(shown)
    shown.locator(".vv-ledger tr").last.scroll_into_view_if_needed()
    assert shown.evaluate("scrollY") > 300
    box = shown.locator(".vv-picture").bounding_box()
    tabs = shown.get_by_role("tablist").bounding_box()
    assert tabs["y"] >= 0
    assert box["y"] >= tabs["y"] + tabs["height"]
    assert box["y"] + box["height"] <= 900
    # Another panel begins at its beginning.
    shown.get_by_role("tab", name="Features").click()
    shown.wait_for_function(
        """() => {
            const place = (one) => document.querySelector(one).getBoundingClientRect();
            const { top } = place("[role=tabpanel]:not([hidden])");
            return place("[role=tablist]").bottom <= top && top < 900;
        }"""
    )
    assert shown.get_by_role("tab", name="Features").is_visible()
    shown.set_viewport_size({"width": 1366, "height": 768})  # what stands under it is higher
    for panel in tabs_of(shown):
        panel.click()
        shown.evaluate(TWO_FRAMES)  # the page scrolls by itself in the next one
        shown.evaluate("scrollTo(0, document.body.scrollHeight)")
        box = shown.locator(".vv-frame .vv-picture").bounding_box()
        tabs = shown.get_by_role("tablist").bounding_box()
        assert tabs["y"] + tabs["height"] <= box["y"] + 1, panel.inner_text()
        assert box["y"] + box["height"] <= 768
    # Tabs stand above both columns, or between stage and panel.
    shown.evaluate("scrollTo(0, 0)")

    def order() -> bool:
        tabs, picture = (
            shown.locator(place).bounding_box()["y"]
            for place in ("[role=tablist]", ".vv-frame .vv-picture")
        )
        return tabs < picture

    assert order()
    shown.set_viewport_size({"width": 390, "height": 844})
    shown.wait_for_selector('.vitviz[data-size="narrow"]')
    assert not order()
    shown.set_viewport_size({"width": 930, "height": 900})  # as narrow as two columns can be
    shown.wait_for_selector('.vitviz[data-size="wide"]')
    assert order()
    shown.get_by_role("button", name="Projector").click()
    tops = {tab.bounding_box()["y"] for tab in tabs_of(shown)}
    assert len(tops) == 1, "one row, also of large text"


def test_a_phone_has_picture_controls_and_words_in_sight_and_the_theme_of_its_system(
    open_page, analysis: Analysis, tmp_path
) -> None:
    film(tmp_path / "x.film.safetensors")
    filmed = replace(analysis, loaded=replace(tiny("cls"), film=tmp_path / "x.film.safetensors"))
    tab = open_page(page(filmed, film=True), color_scheme="dark")
    tab.wait_for_selector('.vitviz[data-theme="dark"]')
    tab.emulate_media(color_scheme="light")
    tab.wait_for_selector('.vitviz[data-theme="light"]')
    # The picture stays while panels pass under it.
    tab.set_viewport_size({"width": 390, "height": 844})
    tab.wait_for_selector('.vitviz[data-size="narrow"]')
    open_panel(tab, "Patches")
    unfold(tab)
    tab.locator(".vv-ledger tr").last.scroll_into_view_if_needed()
    assert tab.evaluate("scrollY") > 300
    box = tab.locator(".vv-picture").bounding_box()
    assert 0 <= box["y"] < 20
    assert box["height"] < 844 / 2
    last = tab.locator(".vv-ledger tr").last.bounding_box()
    assert last["y"] > box["y"] + box["height"]
    tab.mouse.click(*spot(tab, 2, 1))
    says(tab, token=analysis.grid.token(2, 1), pinned=True)
    tab.set_viewport_size({"width": 844, "height": 390})  # turned: it would leave no room
    tab.locator(".vv-ledger tr").last.scroll_into_view_if_needed()
    assert tab.locator(".vv-picture").bounding_box()["y"] < 0
    tab.set_viewport_size({"width": 390, "height": 844})
    no_control_is_hidden_under_what_stays(tab)
    # Nothing is wider than the screen.
    tab.evaluate("for (const one of document.querySelectorAll('.vv-second')) one.open = false")
    tab.set_viewport_size({"width": 360, "height": 740})
    panels = ("Patches", "Positions", "Attention", "Query · key", "Rollout", "Features")
    for panel in (*panels, "Predictions", "Training", "Model"):
        open_panel(tab, panel)
        assert tab.evaluate("document.documentElement.scrollWidth") <= 360, panel
    open_panel(tab, "Attention")
    for shown in ("all layers and heads", "whole map", "range of every head"):
        tab.get_by_role("radio", name=shown).check()
        assert tab.evaluate("document.documentElement.scrollWidth") <= 360, shown
    # Help leaves its words room on the narrowest.
    tab.set_viewport_size({"width": 320, "height": 568})
    tab.evaluate("document.documentElement.lang = 'ko'")
    tab.get_by_role("tab", name="어텐션").wait_for()
    tab.locator(".vv-picture-options > summary").click()
    tab.locator(".vv-tools").get_by_text("?", exact=True).click()
    dialog = tab.locator("dialog[open]")
    assert dialog.evaluate("dialog => dialog.scrollWidth <= dialog.clientWidth")
    assert dialog.locator("dd").first.bounding_box()["width"] >= 90


def greens(canvas) -> np.ndarray:
    """The green of every pixel, which only rises along viridis. (rows, cols)"""
    script = """node => [node.height, node.width, ...node.getContext("2d")
        .getImageData(0, 0, node.width, node.height).data]"""
    rows, cols, *data = canvas.evaluate(script)
    return np.reshape(data, (rows, cols, 4))[..., 1]


def test_maps_are_drawn_from_their_numbers_and_every_panel_opens(open_page, analysis) -> None:
    tokens = analysis.trace.tokens.clone()
    tokens[:, analysis.grid.token(1, 2)] *= 9  # an outlier, which attention does not know of
    shown = open_page(page(with_pass(analysis, trace=replace(analysis.trace, tokens=tokens))))
    # Small maps are those of their heads.
    for at, head in enumerate((None, 0, 1)):
        values = analysis.grid.to_map(analysis.attention(2, head)).numpy()
        card = shown.locator("[role=tabpanel]:not([hidden]) .vv-head").nth(at)
        drawn = greens(card.locator("canvas"))
        assert (np.diff(drawn.ravel()[values.ravel().argsort()]) >= 0).all()
        assert drawn.max() > (200 if values.max() > 3 / 17 else 60)
        assert f"{values.max() * 17:.1f} \u00d7" in card.inner_text()
    # A wall has every head of every layer at its place.
    shown.get_by_role("radio", name="all layers and heads").check()
    canvas = shown.locator(".vv-everything canvas")
    shown.wait_for_function("!document.querySelector('.vv-everything .vv-note:not([hidden])')")
    drawn = greens(canvas)
    for layer in range(3):
        for at, head in enumerate((None, 0, 1)):
            values = analysis.grid.to_map(analysis.attention(layer, head)).numpy()
            tile = drawn[5 * layer : 5 * layer + 4, 5 * at : 5 * at + 4]
            assert (np.diff(tile.ravel()[values.ravel().argsort()]) >= 0).all()
    box = canvas.bounding_box()
    canvas.click(position={"x": box["width"] * 12 / 14, "y": box["height"] * 7 / 14})
    says(shown, layer=1, head=1)
    # A pixel that is pointed at is found in the vector.
    shown.get_by_role("tab", name="Patches").click()
    box = shown.locator(".vv-one-patch canvas").first.bounding_box()
    place = box["x"] + box["width"] * 2.5 / 8, box["y"] + box["height"] * 5.5 / 8
    shown.mouse.move(*place)
    top, left, _, _ = analysis.grid.box(analysis.grid.token(2, 2))
    red = int(analysis.picture[top + 5, left + 2, 0])
    reading = shown.locator(".vv-one-patch .vv-under")
    expect(reading).to_contain_text(f"[{(5 * 8 + 2) * 3}]")
    assert reading.inner_text().startswith(f"[{(5 * 8 + 2) * 3}] row 5, col 2 R: {red} →")
    shown.get_by_role("radio", name="(c p1 p2)").check()
    shown.mouse.move(*place)
    expect(reading).to_contain_text(f"[{5 * 8 + 2}]")
    assert reading.inner_text().startswith(f"[{5 * 8 + 2}] row 5, col 2 R: {red} →")
    # The strip of rollouts begins at the first layer.
    shown.get_by_role("tab", name="Rollout").click()
    shown.get_by_role("slider", name="First layer").fill("1")
    shown.wait_for_function(
        """() => [...document.querySelectorAll("[role=tabpanel]:not([hidden]) .vv-head canvas")]
            .map((map) => map.getContext("2d").getImageData(0, 0, 1, 1).data[3])
            .join() === '0,255,255'"""
    )
    # An outlier is marked at its patch.
    shown.get_by_role("tab", name="Features").click()
    mark = shown.locator(".vv-outlier")
    mark.wait_for()
    assert mark.evaluate("node => [node.style.top, node.style.left]") == ["25%", "50%"]
    assert mark.get_attribute("title").startswith("row 1, col 2: norm")
    assert "1 of 16 patches" in shown.get_by_role("tabpanel").inner_text()
    # Each panel puts its subject on the picture.
    for panel, subject in [
        ("Patches", "none"),
        ("Positions", "positions"),
        ("Attention", "attention"),
        ("Query · key", "attention"),
        ("Rollout", "rollout"),
        ("Predictions", "rollout"),
        ("Training", "rollout"),
        ("Model", "rollout"),
    ]:
        shown.get_by_role("tab", name=panel).click()
        says(shown, panel="qk" if panel == "Query · key" else panel, overlay=subject)
        shown.mouse.click(*spot(shown, 2, 2))
        assert shown.locator("[role=tabpanel]:visible").inner_text().strip()


@pytest.fixture
def host(open_page, analysis):
    """A page with two payloads, `first` and `second`, and nothing shown yet."""
    other = analyze(tiny("cls"), photo(90, 50))
    files, manifests = {}, {}
    for name, payload in (("first", pack(analysis)), ("second", pack(other))):
        manifest = payload.manifest
        listed = manifest["files"]
        for file in listed.values():
            file["key"] = f"{name}/{file['path']}"
            files[file["key"]] = base64.b64encode(payload.files[file["path"]]).decode()
            file["path"] = file["key"]
        manifest["photo"]["name"] = name
        manifests[name] = manifest
    return open_page(
        f"<!doctype html><meta charset=utf-8><style>{css()}</style><div id=viewer></div><script>"
        f"window.viewer = {bundle()};window.files = {json.dumps(files)};"
        f"window.first = {json.dumps(manifests['first'])};"
        f"window.second = {json.dumps(manifests['second'])};{HOST}</script>"
    )


def hold_back(tab, path: str) -> None:
    """A file that comes when the page calls `go()`."""
    tab.evaluate(f"void (gates['{path}'] = new Promise((done) => {{ window.go = done; }}))")


def test_an_analysis_is_opened_by_layers_gives_way_to_the_next_and_one_that_fails_says_so(
    host,
) -> None:
    says(host, state="empty")
    hold_back(host, "first/first.safetensors")
    host.evaluate("mounted.update(first, { layer: 1, token: 99, head: 'x', panel: 'rollout' })")
    says(host, state="loading")
    host.evaluate("go()")
    says(host, state="ready", layer=1, token=0, head="mean", panel="rollout", overlay="rollout")
    host.evaluate("mounted.update(null)")
    says(host, state="empty")
    # The viewed layer is fetched first, and pointing fetches nothing.
    host.evaluate("asked.length = 0; mounted.update(first, { layer: 1, panel: 'attention' })")
    says(host, state="ready", panel="attention")
    layers = [f"first/layer-{layer:02d}.safetensors" for layer in range(3)]
    # The line that is the machine asks for the lens when the layers are there.
    wanted = [*layers, "first/lens.safetensors"]
    host.wait_for_function("files => files.every((file) => asked.includes(file))", arg=wanted)
    asked = host.evaluate("asked")
    assert "first/first.safetensors" in asked
    assert next(name for name in asked if name in layers) == layers[1]
    host.mouse.move(*spot(host, 1, 1))
    host.mouse.move(*spot(host, 2, 1))
    assert host.evaluate("asked") == asked
    # A newer analysis wins over a slow older one.
    hold_back(host, "first/first.safetensors")
    host.evaluate("mounted.update(first); mounted.update(second)")
    host.wait_for_selector(".vv-names:has-text('second')")
    # The late file needs no time but only turns of the event loop: these are more than enough.
    host.evaluate(
        """async () => {
            go();
            for (let turn = 0; turn < 20; turn++) await new Promise((done) => setTimeout(done));
        }"""
    )
    assert host.locator(".vv-names").inner_text().startswith("second")
    says(host, state="ready")
    # What is looked at stays when another picture comes.
    host.evaluate("mounted.update(first, { layer: 0, head: 1, token: 6 })")
    host.wait_for_selector(".vv-names:has-text('first')")
    host.evaluate("mounted.update(second)")
    host.wait_for_selector(".vv-names:has-text('second')")
    says(host, state="ready", layer=0, head=1, token=6)
    # Files that fail say so, keep the focus, and can be tried again.
    host.evaluate("mounted.update(null)")
    says(host, state="empty")
    host.evaluate("fails['first/first.safetensors'] = 403; mounted.update(first)")
    says(host, state="error")
    assert "expired" in host.locator(PLACE).inner_text()
    host.evaluate("mounted.update(second)")
    says(host, state="ready")
    # A failure stays a failure in another language.
    host.evaluate("fails = {}; mounted.update(first)")
    host.wait_for_selector(".vv-names:has-text('first')")
    host.evaluate("fails['second/first.safetensors'] = 500; mounted.update(second)")
    says(host, state="error")
    host.evaluate("document.documentElement.lang = 'ko'")
    host.wait_for_selector(".vv-message:has-text('분석 파일을 가져오지 못했습니다')")
    says(host, state="error")  # the analysis before must not pass for this one
    host.evaluate("delete fails['second/first.safetensors']")
    hold_back(host, "second/first.safetensors")
    host.get_by_role("button", name="다시 시도").click()
    host.wait_for_selector(".vv-message:has-text('분석을 불러오는 중')")
    host.evaluate("document.documentElement.lang = 'en'")
    host.wait_for_selector(".vv-message:has-text('Fetching the analysis')")
    host.evaluate("go()")
    host.wait_for_selector(".vv-names:has-text('second')")
    # The focus is not lost with a failure or another picture.
    host.evaluate("fails['first/first.safetensors'] = 500; mounted.update(first)")
    says(host, state="error")
    host.get_by_role("button", name="Try again").focus()
    host.evaluate("delete fails['first/first.safetensors']")
    host.keyboard.press("Enter")
    says(host, state="ready")
    assert host.evaluate("document.activeElement.className") == "vv-frame"
    host.locator("[data-control=head] input:checked").focus()
    host.evaluate("mounted.update(second)")
    host.wait_for_selector(".vv-names:has-text('second')")
    assert host.evaluate("document.activeElement.matches('[data-control=head] input')")
    # A lost layer leaves the rest.
    host.evaluate("fails['first/layer-00.safetensors'] = 500; mounted.update(first, { layer: 2 })")
    host.wait_for_selector(".vv-names:has-text('first')")
    host.evaluate("mounted.select({ layer: 0 })")
    says(host, state="error")
    assert "Layer 0 could not be fetched" in host.locator(".vv-waiting").inner_text()
    host.evaluate("mounted.select({ layer: 2 })")
    says(host, state="ready")
    host.evaluate("mounted.select({ layer: 0 })")
    says(host, state="error")
    host.evaluate("delete fails['first/layer-00.safetensors']")
    host.get_by_role("button", name="Try again").click()
    says(host, state="ready", layer=0)
    # What only a panel needs can be tried again there.
    for lost, panel, overlay in (
        ("layer-00", "Attention", "photo only"),
        ("layer-00", "Query · key", "positions"),
        ("features", "Features", "photo only"),
    ):
        host.evaluate(
            f"""() => {{
                mounted.update(null);
                fails['first/{lost}.safetensors'] = 500;
                mounted.update(first, {{ layer: 1 }});
            }}"""
        )
        says(host, state="ready", layer=1)
        host.get_by_role("tab", name=panel).click()
        host.get_by_role("radio", name=overlay, exact=True).check()
        host.evaluate("mounted.select({ layer: 0 })")
        line = host.get_by_role("tabpanel").get_by_text("could not be fetched")
        line.wait_for()
        host.evaluate(f"delete fails['first/{lost}.safetensors']")
        host.get_by_role("tabpanel").get_by_role("button", name="Try again").click()
        line.wait_for(state="hidden")
        expect(host.get_by_role("button", name="Try again")).to_have_count(0)


def test_the_host_hears_of_selections_and_is_quoted_in_the_language_of_the_page(host) -> None:
    host.evaluate("mounted.update(first)")
    says(host, state="ready")
    stop_time(host)
    host.mouse.move(*spot(host, 1, 1))
    host.clock.run_for(5000)  # longer than a selection must rest before it is told
    assert host.evaluate("selections.length") == 0
    host.mouse.click(*spot(host, 1, 1))
    host.clock.run_for(5000)
    assert host.evaluate("selections.length") == 1
    assert host.evaluate("selections[0].token") == 6
    assert host.locator("[aria-live]").inner_text().startswith("Patch in row 1, col 1")
    host.clock.resume()
    host.evaluate("mounted.destroy()")
    assert host.locator(PLACE).inner_html() == "", "it leaves nothing"
    # What the host refuses is told in the language of the page.
    host.evaluate(
        """() => {
            const ask = async () => ({
                error: "Come back later.", errors: { ko: "나중에 오세요." } });
            window.other = viewer.mount({
                element: document.querySelector("#viewer"), fetchFile, ask, manifest: first });
        }"""
    )
    says(host, state="ready")
    host.get_by_role("button", name="Save what you see").click()
    host.locator(".vv-save section").last.get_by_role("button", name="SVG").click()
    host.get_by_text("That could not be saved: Come back later.").wait_for()
    host.keyboard.press("Escape")
    host.evaluate("document.documentElement.lang = 'ko'")
    host.get_by_role("button", name="저장").click()
    host.locator(".vv-save section").last.get_by_role("button", name="SVG").click()
    host.get_by_text("저장하지 못했습니다: 나중에 오세요.").wait_for()
