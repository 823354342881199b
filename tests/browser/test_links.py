"""The address follows selection and taste, a link restores them; taste is remembered."""

import re
from html import escape
from urllib.parse import parse_qs, urlsplit

from playwright.sync_api import expect

from tests.browser.conftest import address, address_says, stop_time
from tests.models import photo, tiny
from vitviz import analyze, load
from vitviz.payload import page as one_file
from vitviz.web.store.examples import FOLDER

LAYER = ".vv-layer input"
TIMES = "\N{MULTIPLICATION SIGN}"
JOIN = "**/queue/join*"  # what Gradio asks with


def asked(url: str) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(urlsplit(url).query).items()}


def test_the_address_follows_and_a_copied_link_brings_it_back(visit, pictures):
    seen = visit("?__theme=light", permissions=["clipboard-read", "clipboard-write"])
    page = seen.page
    assert asked(page.url) == {"__theme": "light"}  # nothing was chosen yet
    page.get_by_role("button", name="bison").click()
    seen.ready("bison.jpg")
    page.locator(".vv-picture").click(position={"x": 5, "y": 5})
    page.locator(LAYER).nth(1).check()
    seen.choose("1")
    seen.choose("who looks at it")
    page.locator("summary", has_text="Scale and more").click()
    seen.choose("all heads")
    seen.open_panel("Features")
    address_says(
        page, model="tiny-cls", example="bison", panel="features", token=1, layer=1, head=1,
        direction="to", scale="heads", colours="spotlight", sight="photograph", __theme="light",
    )  # fmt: skip
    page.get_by_role("button", name="Copy the address").click()
    page.locator(".vv-said", has_text="Link copied.").wait_for(state="attached")
    assert "picture" not in seen.text(".vv-said")
    link = page.evaluate("navigator.clipboard.readText()")
    assert link == address(page)
    other = visit("?" + urlsplit(link).query, "bison.jpg · tiny-cls")
    other.is_(token=1, pinned="true", layer=1, head=1, direction="to", panel="features")
    assert address(other.page) == link
    other.open_panel("Attention")  # where a scale of all heads is of use
    other.page.locator("summary", has_text="Scale and more").click()
    assert other.page.get_by_role("radio", name="all heads").is_checked()
    # Escape lets go of what the link pinned, with the focus nowhere.
    other.page.evaluate("document.activeElement.blur()")
    other.page.keyboard.press("Escape")
    other.is_(pinned="false")
    # An own picture is not in the link, and the button says so.
    seen.open_panel("Positions")
    seen.bring(pictures["second"])
    address_says(page, model="tiny-cls", example=None, panel="positions")
    page.evaluate("void (navigator.clipboard.writeText = () => Promise.reject(new Error('no')))")
    button = page.get_by_role("button", name="your own picture is not in it")
    button.click()
    dialog = page.locator(".vv-link-dialog")
    assert dialog.locator("input").input_value() == address(page)
    assert "Your own picture is not in the link" in dialog.inner_text()
    page.keyboard.press("Escape")
    page.get_by_role("button", name="coffee").click()
    seen.ready("coffee.jpg")
    address_says(page, example="coffee")
    with seen.anew("coffee.jpg"):
        seen.again()  # the same example, sent back by the page, keeps its name
    address_says(page, example="coffee", panel="positions")
    # The untrained twin and another model are.
    other.go(
        "?model=tiny-grey&untrained=1&panel=rollout&first=1&residual=0.3", "red-panda.jpg · tiny"
    )
    page = other.page
    other.is_(panel="rollout", overlay="rollout")
    page.locator(LAYER).nth(2).focus()
    page.keyboard.press("]")
    page.keyboard.press("[")
    address_says(
        page, model="tiny-grey", untrained=1, panel="rollout", layer=1, first=1, residual=0.3,
        example="red-panda",
    )  # fmt: skip


def test_a_link_with_a_size_shows_its_patches_and_keeps_it_while_one_looks_around(
    visit, models, pictures
):
    model = f"tiny-cls at 40 {TIMES} 24 pixels"
    query = "?model=tiny-cls&example=bison&size=40x24&panel=predictions&beside=untrained"
    seen = visit(query, f"bison.jpg · {model}")
    page = seen.page
    assert "16 tokens" in seen.text(".vv-names-line p:nth-of-type(2)")
    want = analyze(load(models["cls"], image_size=(40, 24)), FOLDER / "bison.jpg").predictions(1)
    assert seen.text(".vv-predictions b") == f"{100 * want[0].probability:.1f}%"
    page.locator(".vv-beside h3", has_text=f"{model} · untrained").wait_for()
    page.locator(".vv-difference").wait_for()  # of equal grids
    seen.open_panel("Attention")
    page.locator(".vv-stage .vv-frame").focus()
    page.keyboard.press("End")
    address_says(page, size="40x24", panel="attention", model="tiny-cls")
    seen.open_panel("Predictions")
    page.locator(".vv-code summary:visible").click()
    page.locator(".vv-code-text:visible", has_text="image_size=(40, 24))").wait_for()
    seen.upload(pictures["first"])
    seen.ready(f"first.png · {model}")
    address_says(page, size="40x24", example=None)
    seen.choose_model("tiny-grey")
    seen.ready("first.png · tiny-grey")
    address_says(page, size=None, model="tiny-grey")
    other = visit("?model=tiny-cls&size=30", "")
    said = other.page.get_by_text("Tiny-cls takes pictures of whole patches of 8 x 8 pixels")
    said.first.wait_for()


def test_the_photo_is_shown_in_more_patches_and_beside_the_models_own_size(visit, models, pictures):
    seen, asked = visit("?model=tiny-cls&panel=patches", "red-panda.jpg · tiny-cls"), []
    page = seen.page
    seen.upload(pictures["first"])
    seen.ready("first.png · tiny-cls")
    sizes = page.get_by_role("region", name="More squares, or fewer")
    assert sizes.get_by_role("button", pressed=True).inner_text() == f"4 {TIMES} 4, its own"
    assert not sizes.get_by_text("Compare with its own size").is_visible()
    page.route(JOIN, lambda route: asked.append(route))
    with page.expect_request(JOIN):
        sizes.get_by_text(f"8 {TIMES} 8, 4.8 times the work").click()
    coming = sizes.get_by_text(f"The server is computing it with 8 {TIMES} 8 squares")
    coming.wait_for()
    asked[0].fulfill(status=429, json={"detail": "busy"})  # it says so itself, under the strip
    coming.wait_for(state="detached")
    seen.forgive("429")
    page.unroute(JOIN)
    sizes.get_by_text(f"8 {TIMES} 8, 4.8 times the work").click()
    seen.ready(f"first.png · tiny-cls at 64 {TIMES} 64 pixels")
    want = analyze(load(models["cls"], image_size=64), pictures["first"]).predictions(1)
    seen.open_panel("Predictions")
    assert seen.text(".vv-predictions b") == f"{100 * want[0].probability:.1f}%"
    address_says(page, size="64", model="tiny-cls")
    seen.open_panel("Patches")
    assert (
        sizes.get_by_role("button", pressed=True).inner_text() == f"8 {TIMES} 8, 4.8 times the work"
    )
    sizes.get_by_text("Compare with its own size").click()
    page.locator(".vv-beside h3", has_text="Beside: first.png · tiny-cls").wait_for()
    seen.is_(panel="positions")
    names = page.locator(".vv-beside figcaption b").all_inner_texts()
    assert names[:2] == [f"tiny-cls at 64 {TIMES} 64 pixels", "tiny-cls"]
    seen.open_panel("Patches")
    sizes.get_by_text(f"4 {TIMES} 4, its own").click()
    # Its name is a part of the name that stands there until then.
    page.locator(".vv-names", has_text=re.compile("^first.png · tiny-cls$")).wait_for()
    seen.open_panel("Predictions")
    want = analyze(load(models["cls"]), pictures["first"]).predictions(1)
    page.locator(".vv-predictions b", has_text=f"{100 * want[0].probability:.1f}%").first.wait_for()


def test_what_only_one_panel_shows_is_in_its_link(visit):
    seen = visit("?panel=patches&token=3")
    page = seen.page

    def choose(name: str) -> None:
        page.get_by_role("tabpanel").get_by_role("radio", name=name, exact=True).check()

    choose("(c p1 p2)")
    choose("0\u2013255")
    address_says(page, order="channel", units="raw", lens=None)
    seen.open_panel("Predictions")
    choose("rank among all classes")
    address_says(page, lens="rank", order=None)
    there = visit("?" + urlsplit(address(page)).query)
    other = there.page
    assert other.get_by_role("radio", name="rank among all classes").is_checked()
    there.go("?panel=patches&order=channel&units=raw&token=3", "red-panda.jpg")
    assert other.get_by_role("radio", name="0\u2013255").is_checked()
    assert "." not in other.locator(".vv-numbers:visible").inner_text()  # as they are in the file
    assert "(c p1 p2), one channel after another" in other.get_by_role("tabpanel").inner_text()


def test_the_mosaic_before_training_and_the_moment_of_a_film_are_in_the_link(visit):
    seen = visit("?model=photos&panel=positions&mosaic=untrained")
    page = seen.page
    before, after = (page.get_by_role("radio", name=f"{x} training") for x in ("before", "after"))
    assert before.is_checked()
    mosaic = page.locator(".vv-zoom canvas")
    drawn = "document.querySelector('figure:has(.vv-zoom) [role=status]').hidden"
    page.wait_for_function(drawn)
    noise = mosaic.evaluate("node => node.toDataURL()")
    after.check()
    address_says(page, mosaic="trained")
    page.wait_for_function(drawn)
    assert mosaic.evaluate("node => node.toDataURL()") != noise
    page.get_by_role("button", name="Undo").click()
    address_says(page, mosaic="untrained")
    assert before.is_checked()
    page.wait_for_function(drawn)
    assert mosaic.evaluate("node => node.toDataURL()") == noise
    # The moment of a film, when it rests.
    seen.go("?model=tiny-cls&panel=training&moment=0", "red-panda.jpg")
    reading = page.locator(".vv-film .vv-plot-reading")
    reading.filter(has_text="Epoch 0,").wait_for()
    page.evaluate(
        """() => {
            window.written = [];
            const replace = history.replaceState.bind(history);
            history.replaceState = (state, title, href) => {
                window.written.push(new URL(href, location.href).searchParams.get("moment"));
                replace(state, title, href);
            };
        }"""
    )
    page.get_by_role("button", name="Play the training").click()
    address_says(page, moment="last")
    assert page.evaluate("window.written") == ["last"]  # and nothing while it played
    undo = page.get_by_role("button", name="Undo")
    undo.click()
    reading.filter(has_text="Epoch 0,").wait_for()
    assert undo.is_disabled()
    address_says(page, moment=0)
    page.get_by_role("slider", name="Moment", exact=True).fill("1")
    reading.filter(has_text="Epoch 2.5").wait_for()
    address_says(page, moment="last")
    seen.open_panel("Model")
    address_says(page, moment=None)
    # A film that was left while it played shows what the link says.
    seen.go("?model=tiny-cls&panel=training&moment=last", "red-panda.jpg")
    reading.filter(has_text="Epoch 2.5").wait_for()
    stop_time(page)
    play = page.get_by_role("button", name="Play the training")
    play.click()
    assert "Epoch 0," in reading.inner_text()
    seen.open_panel("Model")
    page.clock.run_for(5000)  # longer than the film rests on a moment
    seen.open_panel("Training")
    page.clock.resume()
    play.wait_for()
    assert "Epoch 2.5" in reading.inner_text()
    address_says(page, moment="last")


def test_back_leaves_the_page(visit, url):
    seen = visit("?example=cat", "cat.jpg")
    page = seen.page
    page.goto("about:blank")
    page.goto(f"{url}/?example=dog")
    seen.ready("dog.jpg")
    page.locator(".vv-picture").click(position={"x": 5, "y": 5})
    address_says(page, token=1)
    page.go_back()
    assert page.url == "about:blank"
    page.go_forward()
    seen.ready("dog.jpg")
    seen.is_(token=1, pinned="true")


def test_taste_is_remembered_and_needs_no_storage(visit):
    seen = visit()
    page = seen.page
    page.locator("summary", has_text="Scale and more").click()
    seen.choose("magma")
    page.locator(".vv-looks").get_by_label("smooth").check()
    page.get_by_role("button", name="Large text").click()
    seen.go("", "red-panda.jpg")  # the address itself may have the taste by now
    page.locator("summary", has_text="Scale and more").click()
    assert page.get_by_role("radio", name="magma").is_checked()
    assert page.locator(".vitviz.vv-smooth.vv-projector").count() == 1
    # A browser that refuses storage throws when it is named.
    page.add_init_script(
        "Object.defineProperty(window, 'localStorage', "
        "{ get() { throw new DOMException('denied', 'SecurityError'); } })"
    )
    seen.go("", "red-panda.jpg")
    assert page.locator(".vitviz.vv-smooth").count() == 0
    page.locator("summary", has_text="Scale and more").click()
    seen.choose("cividis")
    assert page.get_by_role("radio", name="cividis").is_checked()
    page.goto("about:blank")  # Gradio's scripts may complain after the viewer is ready
    seen.forgive("denied")  # Gradio's own


def test_the_page_of_one_file_holds_what_is_looked_at_behind_the_hash(open_page):
    tab = open_page(one_file(analyze(tiny("cls"), photo())))
    place = tab.locator("#viewer")
    place.and_(tab.locator("[data-state=ready]")).wait_for()
    assert "#" not in address(tab)
    tab.get_by_role("tab", name="Features").click()
    tab.keyboard.press("[")
    # Written a moment after each choice: first the panel with its last layer, on a slow machine.
    expect(tab).to_have_url(re.compile(r"\.html#panel=features&(.*&)?layer=1(&|$)"))
    assert tab.get_by_role("button", name="Copy").count() == 0  # nobody else has this file
    tab.reload()
    tab.locator("#viewer[data-panel=features][data-layer='1'][data-state=ready]").wait_for()
    tab.evaluate("location.hash = 'panel=rollout&token=4&layer=0'")
    rollout = "[data-panel=rollout][data-token='4'][data-layer='0']"
    tab.locator(f"#viewer{rollout}[data-state=ready]").wait_for()
    # It does not deny a film that it does not hold.
    tab.get_by_role("tab", name="Training").click()
    tab.get_by_text("There is no film of this model's training here.").wait_for()
    # It opens with a damaged memory.
    tab.evaluate("history.replaceState(null, '', location.pathname)")
    tab.evaluate("""localStorage.setItem('vitviz-taste', '{"language": 5, "opacity": "x"}')""")
    tab.reload()
    tab.locator("[data-state=ready]").wait_for()
    assert tab.evaluate("document.documentElement.lang") == "en"


def test_a_page_in_a_frame_without_an_address_works(open_page):
    html = one_file(analyze(tiny("cls"), photo()))
    frame = f'<iframe srcdoc="{escape(html)}" style="width: 100%; height: 800px"></iframe>'
    tab = open_page("<!doctype html><meta charset=utf-8>" + frame)
    inside = tab.frame_locator("iframe")
    inside.locator("[data-state=ready]").wait_for()
    stop_time(tab)
    inside.get_by_role("tab", name="Features").click()
    inside.locator("[data-panel=features]").wait_for()
    tab.clock.run_for(5000)  # longer than the address waits
