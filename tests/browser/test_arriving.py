"""Arriving: what a visit asks for, what a second one does not, and a viewer that does not come."""

import re
from pathlib import Path
from urllib.parse import urlsplit

import gradio
import pytest

from tests.bench.browser import BEHIND, DOCUMENT_KB, FIRST_KB, SECOND_KB, WATCH_READY, arrived
from tests.browser.conftest import ALL_PANELS, DESK, LAPTOP, PATIENCE_MS, PHONE, Held
from tests.browser.test_fold import SHIFTED, WATCH
from tests.running import running_app, save_tiny
from vitviz.web.store.examples import START

SCRIPTS = Path(gradio.__file__).parent / "templates/frontend/assets"
QUEUE = "**/gradio_api/queue/join*"
VIEWER = re.compile(r"/gradio_api/vitviz-[0-9a-f]{16}\.js$")
KOREAN = re.compile(r"/gradio_api/vitviz-ko-[0-9a-f]{16}\.js$")
ENGLISH = re.compile(r"/gradio_api/vitviz-en-[0-9a-f]{16}\.js$")
GRADIO_KOREAN = re.compile(r"/assets/ko-[^/]*\.js$")
SENT = """() => Object.fromEntries(performance.getEntriesByType("resource")
    .map(({ name, transferSize, encodedBodySize }) => [name, [transferSize, encodedBodySize]]))"""


def test_the_document_names_what_is_asked_for_once_and_a_second_visit_has_it(visit):
    seen = visit(fresh=True)
    page = seen.page
    (address,) = {one for one in seen.requests if VIEWER.search(urlsplit(one).path)}
    first = page.evaluate(SENT)
    assert first[address][0] > 100_000
    asked = seen.requests.count(address)
    assert asked == 1  # the hint in the headers is the same request
    # All that Gradio asks for, but the script of the page itself, which stands in its head.
    named = set(re.findall(r'href="(assets/[^"]+)"', seen.page.request.get(seen.page.url).text()))
    files = {one.partition("/assets/")[2] for one in seen.requests if "/assets/" in one}
    files = {f"assets/{one}" for one in files if one.endswith((".js", ".css"))}
    assert len(files) > 40
    assert {one.partition("-")[0] for one in files - named} <= {"assets/index"}
    # None in vain: Gradio takes each style into use. Of a script nothing tells whether it does.
    styles = {one for one in named if one.endswith(".css")}
    used = "[...document.querySelectorAll('link[rel=stylesheet]')].map(({ href }) => href)"
    assert styles <= {"assets/" + one.rpartition("/")[2] for one in seen.page.evaluate(used)}
    assert named <= files
    page.reload()
    seen.ready("red-panda.jpg")
    second = page.evaluate(SENT)
    assert second[address][0] == 0  # from the cache of the browser


BOXES = """(places) => places.map((place) => {
    const { x, y, width, height } = document.querySelector(place).getBoundingClientRect();
    return [x, y, width, height].map(Math.round);
})"""


# What moves while the viewer is on its way.
LIGHT = "(node) => getComputedStyle(node, '::after').animationName"


@pytest.mark.parametrize("first", [True, False], ids=["first look", "all panels"])
def test_the_answer_stands_there_before_any_script_has_come_and_stays_in_its_place(visit, first):
    line = ".vv-first .vv-asks" if first else ".vv-first p:not(.vv-asks)"
    for size, locale in (
        ({"viewport": PHONE["viewport"]}, "ko-KR"),
        (LAPTOP, "en-US"),
        (DESK, "en-US"),
    ):
        scripts = Held()

        def watched(page, scripts=scripts) -> None:
            page.add_init_script(WATCH)
            page.route("**/assets/index-*.js", scripts.hold)

        seen = visit(wait_for="", before=watched, locale=locale, first=first, **size)
        page = seen.page
        page.wait_for_function("document.querySelector('.vv-first img')?.naturalWidth > 200")
        assert page.locator(".vv-first p:visible").count() == 1
        answer, picture = page.evaluate(BOXES, [line, ".vv-first img"])
        said = seen.text(line)
        assert page.locator(".vv-first").evaluate(LIGHT) == "vv-comes"
        assert ("%" in said) is not first  # of a maybe: without a question
        scripts.go()
        seen.ready("red-panda.jpg")
        assert page.locator(".vv-first").count() == 0
        assert seen.text(".vv-title h2") == said
        drawn, shown = page.evaluate(BOXES, [".vv-title h2", ".vv-picture"])
        assert [abs(one - other) <= 3 for one, other in zip(picture, shown, strict=True)] == [
            True
        ] * 4
        assert [
            abs(one - other) <= 3 for one, other in zip(answer[:2], drawn[:2], strict=True)
        ] == [
            True,
            True,
        ]
        page.wait_for_function("document.querySelector('#vv-examples img')")
        assert page.evaluate(SHIFTED) < 0.05


# What Gradio shows of its waiting while the picture of the document stands there.
SPINNERS = """window.spinners = new Set();
setInterval(() => {
    if (!document.querySelector(".vv-first")) return;
    for (const node of document.querySelectorAll("[data-testid=status-tracker]"))
        if (node.checkVisibility({ visibilityProperty: true }) && node.innerText.trim())
            window.spinners.add(node.className + ": " + node.innerText);
}, 10);"""


def test_the_answer_of_the_document_stays_until_that_of_the_viewer_is_seen(visit):
    """The viewer is not seen before the strip above it, which comes with a file of its own."""
    (row,) = [one.name for one in SCRIPTS.glob("*.js") if "equal_height" in one.read_text("utf-8")]
    rows = Held()

    def before(page) -> None:
        page.route(f"**/{row}", rows.hold)
        page.add_init_script(SPINNERS)

    seen = visit(wait_for="", before=before, fresh=True)
    page = seen.page
    page.locator(".vv-place[data-state=ready]").wait_for(state="attached")
    assert page.locator("#vv-viewer").is_hidden()
    assert page.locator(".vv-first p:visible").count() == 1
    rows.go()
    seen.ready("red-panda.jpg")
    assert page.locator(".vv-title h2").is_visible()
    assert page.locator(".vv-first").count() == 0
    assert page.evaluate("[...window.spinners]") == []


def test_the_viewer_draws_what_the_document_brings_and_does_not_draw_it_again(visit):
    asked = Held()
    seen = visit(wait_for="", before=lambda page: page.route(QUEUE, asked.hold))
    page = seen.page
    page.locator("[data-state=ready]").wait_for()  # Gradio's queue has not been asked yet
    seen.open_panel("Predictions")
    shown = seen.text(".vv-title h2")
    page.wait_for_function("document.querySelector('#vv-examples img')")
    asked.go()
    page.locator("#vv-download:not([disabled])").wait_for()  # it has answered
    assert seen.text(".vv-title h2") == shown
    seen.is_(panel="predictions")
    files = [one for one in seen.requests if one.endswith((".safetensors", "/photograph.jpg"))]
    assert sorted(files) == sorted(set(files))  # each once, by the document or by the viewer
    # What comes next is drawn as ever.
    page.get_by_role("button", name="dog", exact=True).click()
    seen.ready("dog.jpg")
    page.get_by_role("button", name="red panda", exact=True).click()
    seen.ready("red-panda.jpg")
    # The answer is not in the document where the page shows something else.
    home = page.url.partition("?")[0]
    assert "vv-first" in page.request.get(home).text()
    assert "vv-first" not in page.request.get(f"{home}?example=dog").text()
    page.add_init_script("history.replaceState({ vitviz: { photo: 'one of mine' } }, '')")
    page.goto(home, wait_until="commit")
    page.wait_for_function("document.querySelector('gradio-app')")
    assert page.locator(".vv-first").count() == 0


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    """The address of an app as it is shipped, whose document brings what it begins with."""
    with running_app(tmp_path_factory.mktemp("plain")) as address:
        yield address


def test_little_travels_until_the_viewer_is_ready_and_less_on_a_second_visit(browser, plain):
    for locale in ("en-US", "ko-KR"):
        context = browser.new_context(locale=locale, **LAPTOP)
        context.set_default_timeout(PATIENCE_MS)
        page = context.new_page()
        page.add_init_script(WATCH_READY)
        document, first, *_ = arrived(page, plain, None, 1)
        _, second, *_ = arrived(page, plain, None, 1)
        context.close()
        assert 20 < document < DOCUMENT_KB
        assert document < first < FIRST_KB
        assert second < SECOND_KB


def test_the_viewer_is_ready_without_what_is_not_counted(visit):
    held = Held()
    # The load event would wait for the thumbnails.
    options = {"wait_for": "", "before": lambda page: page.route(BEHIND, held.hold)}
    seen = visit("?model=photos", fresh=True, **options)
    seen.ready("red-panda.jpg")
    first = f"layer-{START['layer']:02d}"
    for _ in range(PATIENCE_MS // 50):
        came = any(first in route.request.url for route in held.waiting)
        seen.page.wait_for_timeout(0 if came else 50)
    assert came
    held.go()


def test_a_viewer_that_is_blocked_is_said_and_tried_again(visit, pictures):
    def blocked(page) -> None:
        page.route(VIEWER, lambda route: route.abort())

    for locale, said, again in (
        ("en-US", "The viewer could not be loaded", "Try again"),
        ("ko-KR", "뷰어를 가져오지 못했습니다", "다시 시도"),
    ):
        seen = visit(wait_for="", before=blocked, locale=locale)
        page = seen.page
        note = page.get_by_role("alert").filter(has_text=said)
        note.wait_for()
        assert note.bounding_box()["y"] < 300  # and not below the place of the viewer
        shown = [part.strip() for part in note.inner_text().splitlines() if part.strip()]
        assert shown[-1] == again
        assert len(shown) == 2
        # A photo that the viewer would have kept in the page is not sent.
        page.locator(".vv-skip").wait_for(state="attached")  # the page hears of photos before
        page.locator("#vv-photo input[type=file]").set_input_files(pictures["first"])
        page.unroute(VIEWER)
        seen.photo_is("red-panda.jpg")  # Gradio would complain of an answer that breaks off
        note.get_by_role("button", name=again).click()
        seen.ready("red-panda.jpg")
        assert page.locator(".vv-absent").is_hidden()
        assert [one for one in seen.requests if "/upload" in one] == []
        # The browser says what was blocked; nothing else went wrong.
        assert any("ERR_FAILED" in one for one in seen.complaints)
        seen.forgive("ERR_FAILED")


def test_another_language_is_fetched_when_chosen_stays_and_is_said_where_it_does_not_come(visit):
    seen = visit(fresh=True)
    page = seen.page

    def asked():
        return [one for one in seen.requests if KOREAN.search(urlsplit(one).path)]

    assert asked() == []
    page.route(KOREAN, lambda route: route.abort())
    page.get_by_role("button", name="한국어").click()
    note = page.get_by_role("alert").filter(has_text="The texts of this language could not")
    note.wait_for()
    assert page.evaluate("document.documentElement.lang") == "en"
    assert page.get_by_role("tab", name="Attention", exact=True).is_visible()
    page.unroute(KOREAN)
    # Each answer of Gradio wrote its language into the page, and the page went to and fro.
    locales = Held()
    page.route(GRADIO_KOREAN, locales.hold)
    with page.expect_request(GRADIO_KOREAN):
        page.get_by_role("button", name="한국어").click()
    page.get_by_role("tab", name="어텐션", exact=True).wait_for()
    assert note.is_hidden()
    page.get_by_role("button", name="English").click()
    page.get_by_role("tab", name="Attention", exact=True).wait_for()
    locales.go()
    page.get_by_role("button", name="한국어").click()  # it was made anew all the time
    page.get_by_role("tab", name="어텐션", exact=True).wait_for()
    assert page.evaluate("document.documentElement.lang") == "ko"
    assert len(asked()) == 2  # the one that was blocked, and the one that came
    seen.forgive("ERR_FAILED")
    # A browser that speaks it has it with the viewer, and no English.
    korean = visit(locale="ko-KR", fresh=True)
    page = korean.page
    page.get_by_role("tab", name="어텐션", exact=True).wait_for()
    files = [one for one in korean.requests if VIEWER.search(urlsplit(one).path)]
    by = "name => performance.getEntriesByName(name)[0].initiatorType"
    assert [page.evaluate(by, one) for one in files] == ["link"]  # by the headers, before Gradio
    assert not any(ENGLISH.search(urlsplit(one).path) for one in korean.requests)
    page.route(ENGLISH, lambda route: route.abort())
    page.get_by_role("button", name="English").click()
    page.get_by_role("alert").filter(has_text="이 언어의 글을").wait_for()
    page.unroute(ENGLISH)
    page.get_by_role("button", name="English").click()
    page.get_by_role("tab", name="Attention", exact=True).wait_for()
    korean.forgive("ERR_FAILED")

    # A language that is remembered and does not come leaves the page in that of the viewer.
    def remembered(page) -> None:
        page.add_init_script("localStorage.setItem('vitviz-taste', '{\"language\": \"en\"}')")
        page.route(ENGLISH, lambda route: route.abort())

    without = visit(locale="ko-KR", fresh=True, wait_for="", before=remembered)
    without.page.get_by_role("alert").filter(has_text="이 언어의 글을").wait_for()
    without.page.get_by_role("tab", name="어텐션", exact=True).wait_for()
    without.forgive("ERR_FAILED")


def test_a_button_that_is_pressed_before_the_viewer_is_here_opens_its_list(visit):
    viewers = Held()
    seen = visit(wait_for="", before=lambda page: page.route(VIEWER, viewers.hold))
    page = seen.page
    page.locator("#vv-lessons").click()
    page.locator("#vv-examples img").first.wait_for()
    assert len(viewers.waiting) == 1
    assert page.locator(".vitviz").count() == 0
    viewers.go()
    page.get_by_role("dialog").wait_for()
    seen.ready("red-panda.jpg")


def test_a_page_below_the_path_of_a_proxy_finds_the_viewer(browser, tmp_path):
    environ = {"VITVIZ_ROOT_PATH": "/vitviz"}
    with running_app(tmp_path, save_tiny(tmp_path, "cls"), environ=environ) as url:
        context = browser.new_context()
        context.set_default_timeout(PATIENCE_MS)
        context.add_init_script(ALL_PANELS)
        try:
            page = context.new_page()
            asked = []
            # A proxy, which takes the path away.
            page.route(
                "**/vitviz/**",
                lambda route: (
                    asked.append(route.request.url),
                    route.continue_(url=route.request.url.replace("/vitviz/", "/", 1)),
                ),
            )
            page.goto(f"{url}/vitviz/")
            page.locator("[data-state=ready]").first.wait_for(timeout=90_000)
            viewers = [one for one in asked if VIEWER.search(urlsplit(one).path)]
            assert {urlsplit(one).path.rsplit("/", 2)[0] for one in viewers} == {"/vitviz"}
        finally:
            context.close()


COUNT_FRAMES = """(() => {
    const frame = window.requestAnimationFrame;
    window.framesAsked = 0;
    window.requestAnimationFrame = (task) => {
        window.framesAsked += 1;
        return frame(task);
    };
})()"""
RESTS = """async (patience) => {
    const until = performance.now() + patience;
    do {
        window.framesAsked = 0;
        await new Promise((done) => setTimeout(done, 2000));
    } while (window.framesAsked > 20 && performance.now() < until);
    return window.framesAsked;
}"""


def test_a_page_at_rest_asks_for_no_frames(visit):
    page = visit(before=lambda page: page.add_init_script(COUNT_FRAMES)).page
    # Gradio's clock ticks four times a second, not with each frame of the screen.
    assert page.evaluate(RESTS, PATIENCE_MS / 3) <= 20
    page.evaluate("() => new Promise(requestAnimationFrame)")  # the page itself gets its frames
