"""Arriving: what a visit asks for, what a second one does not, and a viewer that does not come."""

import re
from urllib.parse import urlsplit

import pytest

from tests.running import running_app, save_tiny

VIEWER = re.compile(r"/gradio_api/vitviz-[0-9a-f]{16}\.js$")
SENT = """() => Object.fromEntries(performance.getEntriesByType("resource")
    .map(({ name, transferSize, encodedBodySize }) => [name, [transferSize, encodedBodySize]]))"""


def test_the_viewer_is_asked_for_once_and_a_second_visit_has_it(visit):
    seen = visit()
    page = seen.page
    (address,) = {one for one in seen.requests if VIEWER.search(urlsplit(one).path)}
    first = page.evaluate(SENT)
    assert first[address][0] > 100_000
    asked = seen.requests.count(address)
    assert asked == 1  # the hint in the headers is the same request
    page.reload()
    seen.ready("red-panda.jpg")
    second = page.evaluate(SENT)
    # 0: from the cache of the browser. A file of the analysis is asked for, and not sent again.
    assert second[address][0] == 0
    layers = [sent for name, (sent, _) in second.items() if name.endswith(".safetensors")]
    assert layers
    assert max(layers) < 1000


@pytest.mark.parametrize(
    ("locale", "said", "again"),
    [
        ("en-US", "The viewer could not be loaded", "Try again"),
        ("ko-KR", "뷰어를 가져오지 못했습니다", "다시 시도"),
    ],
)
def test_a_viewer_that_is_blocked_is_said_and_tried_again(visit, locale, said, again):
    seen = visit("healthz", wait_for="", locale=locale)
    page = seen.page
    page.route(VIEWER, lambda route: route.abort())
    page.goto(page.url.replace("healthz", ""))
    note = page.get_by_role("alert").filter(has_text=said)
    note.wait_for()
    assert note.bounding_box()["y"] < 300  # and not below the place of the viewer
    shown = [part.strip() for part in note.inner_text().splitlines() if part.strip()]
    assert shown[-1] == again
    assert len(shown) == 2
    page.unroute(VIEWER)
    seen.photo_is("red-panda.jpg")  # Gradio would complain of an answer that breaks off
    note.get_by_role("button", name=again).click()
    seen.ready("red-panda.jpg")
    assert page.locator(".vv-absent").is_hidden()
    # The browser says what was blocked; nothing else went wrong.
    blocked = [one for one in seen.complaints if "ERR_FAILED" in one]
    assert blocked
    seen.complaints[:] = [one for one in seen.complaints if one not in blocked]


def test_a_button_that_is_pressed_before_the_viewer_is_here_opens_its_list(visit):
    seen = visit("healthz", wait_for="")
    page = seen.page
    held = []
    page.route(VIEWER, lambda route: held.append(route))
    page.goto(page.url.replace("healthz", ""))
    page.locator("#vv-lessons").click()
    page.locator("#vv-examples img").first.wait_for()
    assert len(held) == 1
    assert page.locator(".vitviz").count() == 0
    held[0].continue_()
    page.get_by_role("dialog").wait_for()
    seen.ready("red-panda.jpg")


def test_a_page_below_the_path_of_a_proxy_finds_the_viewer(browser, tmp_path):
    environ = {"VITVIZ_ROOT_PATH": "/vitviz"}
    with running_app(tmp_path, save_tiny(tmp_path, "cls"), environ=environ) as url:
        context = browser.new_context()
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
