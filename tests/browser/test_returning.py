"""Nothing of one's own is lost: a reload, Back, a restart; and nobody else sees a photo."""

from urllib.parse import urlsplit

from tests.browser.conftest import PATIENCE_MS, address, comes_to, stop_time, time_stands
from tests.browser.test_drawing import answered, draw
from tests.browser.test_links import JOIN, LAYER, address_says
from tests.running import app_process, free_port

KEPT = """new Promise((done) => {
    indexedDB.open("vitviz").onsuccess = ({ target: { result: base } }) => {
        if (!base.objectStoreNames.contains("photos")) return done([]);
        base.transaction("photos").objectStore("photos").getAll().onsuccess =
            ({ target: { result: all } }) => { base.close(); done(all.map(({ name }) => name)); };
    };
})"""
FORGET = "Forget my photo"


def kept(page) -> None:
    """Wait until the page says that it keeps a photo."""
    page.get_by_role("button", name=FORGET).wait_for()


def with_a_photo(visit, pictures, name="second", query="", **options):
    seen = visit(query, **options)
    seen.bring(pictures[name])
    kept(seen.page)
    return seen


def test_a_photo_is_forgotten_everywhere_or_kept_with_its_view_and_no_other_tab_has_it(
    visit, pictures
):
    seen = with_a_photo(visit, pictures)
    page = seen.page
    page.get_by_role("button", name=FORGET).click()
    seen.ready("red-panda.jpg")
    assert page.evaluate(KEPT) == []
    assert not page.get_by_role("button", name=FORGET).is_visible()
    for step in (page.go_back, page.reload):
        step()
        page.locator(".vv-place[data-state=ready]").wait_for()
        seen.ready("red-panda.jpg")
    assert "second photo" not in page.content()
    # A reload keeps photo and view.
    seen.bring(pictures["second"])
    kept(page)
    seen.open_panel("Features")
    page.locator(LAYER).nth(1).check()
    page.locator(".vv-picture").click(position={"x": 5, "y": 5})
    address_says(page, panel="features", layer=1, token=1)
    page.reload()
    seen.ready("second photo.png")
    seen.is_(panel="features", layer=1, token=1, pinned="true")
    kept(page)
    assert page.evaluate(KEPT) == ["second photo.png"]
    # Another tab of this browser, and another browser, with the same link.
    beside = page.context.new_page()
    beside.goto(address(page))
    beside.locator(".vv-names", has_text="red-panda.jpg").wait_for()
    assert not beside.get_by_role("button", name=FORGET).is_visible()
    assert page.evaluate(KEPT) == ["second photo.png"]  # this tab is open
    visit("?" + urlsplit(address(page)).query, "red-panda.jpg")
    # The tab is closed, and the next visit sweeps.
    page.close()
    beside.reload()
    beside.locator(".vv-place[data-state=ready]").wait_for()
    comes_to(beside, KEPT, [])


def test_back_and_forward_go_through_panels_pictures_and_models(visit, pictures):
    seen = with_a_photo(visit, pictures, "first", "?example=bison", wait_for="bison.jpg")
    page = seen.page
    seen.open_panel("Rollout")
    address_says(page, panel="rollout")
    seen.choose_model("tiny-grey")
    seen.ready("first.png · tiny-grey")
    address_says(page, model="tiny-grey")
    steps = page.evaluate("history.length")
    page.locator(LAYER).nth(1).check()
    address_says(page, layer=1)
    assert page.evaluate("history.length") == steps  # small choices are none
    sent = len(seen.requests)
    page.go_back()
    seen.ready("first.png · tiny-cls")
    seen.model_is("tiny-cls")
    seen.is_(panel="rollout")
    address_says(page, model="tiny-cls", panel="rollout")
    sent = len(seen.requests)
    page.go_back()
    seen.is_(panel="attention")
    assert not [one for one in seen.requests[sent:] if "queue/join" in one]  # it is on the screen
    page.go_back()
    seen.ready("bison.jpg")
    address_says(page, example="bison", panel=None)
    for title, panel in (("first.png", "attention"), ("first.png", "rollout")):
        page.go_forward()
        seen.ready(f"{title} · tiny-cls")
        seen.is_(panel=panel)
    page.go_forward()
    seen.ready("first.png · tiny-grey")
    seen.is_(layer=1)
    assert page.evaluate("history.length") == steps


def test_quick_steps_back_end_where_the_address_is_and_one_can_be_refused(visit):
    seen = visit("?example=cat", "cat.jpg")
    page = seen.page
    for name in ("bison", "goldfish", "coffee"):
        page.get_by_role("button", name=name).click()
        seen.ready(f"{name}.jpg")
    page.evaluate("[0, 20, 60].forEach((ms) => setTimeout(() => history.back(), ms))")
    address_says(page, example="cat", panel=None)
    seen.ready("cat.jpg")
    seen.open_panel("Features")
    address_says(page, example="cat", panel="features")
    # The address follows again when the way back is refused.
    page.get_by_role("button", name="bison").click()
    seen.ready("bison.jpg")
    address_says(page, example="bison")
    stop_time(page)
    page.route(JOIN, lambda route: route.fulfill(status=429, json={"detail": "too many ask"}))
    page.go_back()
    page.locator("#vv-said", has_text="too many ask").wait_for()
    page.locator(LAYER).nth(1).check()
    seen.is_(layer=1)
    page.clock.run_for(300)
    address_says(page, example="bison", layer=1)
    seen.forgive("429")


def test_a_page_that_is_refused_at_its_opening_asks_again(visit):
    """It waited for ever, and so did a photo that was given to it."""
    asked = []

    def once(route) -> None:
        asked.append(route.request.url)
        if len(asked) == 1:
            route.fulfill(status=429, json={"detail": "too many ask"})
        else:
            route.continue_()

    seen = visit("?example=cat", "cat.jpg", before=lambda page: page.route(JOIN, once))
    assert len(asked) > 1
    seen.forgive("429")


def test_a_drawn_digit_is_kept_and_not_every_stroke(visit):
    seen = visit("?model=digits&example=digit", "digit.png")
    page = seen.page
    steps = page.evaluate("history.length")
    page.locator("#vv-draw").click()
    for x in (0.3, 0.7):
        with answered(seen):
            draw(page, [(x, 0.2), (x, 0.8)])
    name = page.locator(".vv-drawing").get_attribute("data-shown")
    comes_to(page, KEPT, [name])
    assert page.evaluate("history.length") == steps + 1
    page.reload()
    seen.ready(name)
    # Gradio's own, of an answer that the reload has cut off.
    seen.forgive("AbortError", "Connection errored out")


def test_an_app_that_was_restarted_gets_photo_and_experiment_again_also_where_it_was_missed(
    visit, pictures, models, tmp_path
):
    """One page asks nothing meanwhile. One does: it asked for the app's id, which was refused, and
    said for ever that it tries.
    """
    port, visits = free_port(), []
    with app_process(tmp_path, models["cls"], port=port) as (url, _process):
        for _ in range(2):
            seen = visit("", wait_for="")
            seen.page.goto(url)
            seen.ready("red-panda.jpg")
            visits.append(seen)
        kept_photo, missed = visits
        kept_photo.bring(pictures["second"])
        kept(kept_photo.page)
        kept_photo.open_panel("Experiment")
    missed.page.get_by_role("button", name="dog", exact=True).click()
    lost = missed.page.get_by_text("The connection to the server was lost")
    lost.first.wait_for()
    with app_process(tmp_path, models["cls"], port=port):
        lost.first.wait_for(state="detached")
        missed.ready("red-panda.jpg")
        missed.page.get_by_role("button", name="cat", exact=True).click()
        missed.ready("cat.jpg")
        picture = kept_photo.page.locator(".vv-picture")
        picture.click(position={"x": 5, "y": 5})
        kept_photo.is_(beside="experiment", state="ready")
        kept_photo.ready("second photo.png")
        kept_photo.page.locator(".vv-changed").wait_for()
        kept_photo.page.keyboard.press("Control+z")
        kept_photo.is_(beside="")
        for seen in visits:
            seen.page.close()  # it would go on asking an app that has ended
    # Of another app than that of the other journeys, of files that it had forgotten, and of the
    # moment when nobody answered.
    for seen in visits:
        seen.requests[:] = [one for one in seen.requests if f":{port}/" not in one]
        seen.forgive("403", "503", "Connection errored out", "ERR_CONNECTION_REFUSED")


def test_over_http_the_photos_of_another_tab_stay_until_it_is_closed(visit, pictures):
    """Locks exist at https and localhost alone: each visit deleted the photos of all other tabs."""
    # A tab asks the others whether they are there, and waits 0.3 s, which a busy machine exceeds.
    no_locks = """Object.defineProperty(navigator, 'locks', { value: undefined });
    const later = setTimeout;
    window.setTimeout = (run, wait, ...rest) => later(run, wait === 300 ? 9000 : wait, ...rest);"""
    seen = with_a_photo(visit, pictures, before=lambda page: page.add_init_script(no_locks))
    other = seen.page.context.new_page()
    other.add_init_script(no_locks)
    other.goto(address(seen.page))
    other.locator(".vv-place[data-state=ready]").wait_for()
    seen.page.reload()
    seen.ready("second photo.png")
    seen.page.close()
    other.reload()
    other.locator(".vv-place[data-state=ready]").wait_for()
    comes_to(other, KEPT, [])


def test_a_browser_that_keeps_nothing_says_nothing_and_goes_back_all_the_same(visit, pictures):
    for refused in ("indexedDB", "sessionStorage"):
        denied = (
            f"Object.defineProperty(window, '{refused}', "
            "{ get() { throw new DOMException('denied', 'SecurityError'); } })"
        )
        seen = visit(before=lambda page, denied=denied: page.add_init_script(denied))
        page = seen.page
        seen.bring(pictures["first"])
        address_says(page, example=None, panel="attention")
        page.get_by_role("button", name="dog").click()
        seen.ready("dog.jpg")
        assert not page.get_by_role("button", name=FORGET).is_visible()
        page.go_back()
        seen.ready("first.png")
        page.reload()
        seen.ready("red-panda.jpg")
        seen.forgive("denied")  # Gradio's own


def test_a_failed_upload_is_said_and_the_language_of_the_page_is_remembered(visit, pictures):
    seen = visit(before=time_stands)
    page = seen.page
    said = page.locator("#vv-said")
    assert not said.is_visible()

    def fails(says: str, lost: str, number: int, example: str) -> None:
        """It is said under the strip until the next choice."""
        seen.upload(pictures["text"])
        said.filter(has_text=says).wait_for()
        toast = page.locator(".toast-body", has_text=says)
        toast.locator("button").click()
        toast.wait_for(state="detached")
        assert says in said.inner_text()
        page.route("**/gradio_api/upload**", lambda route: route.abort())
        seen.upload(pictures["first"])
        said.filter(has_text=lost).wait_for()
        toast = page.locator(".toast-body", has_text=lost)
        toast.wait_for()
        assert "Error" not in "".join(page.locator(".toast-body").all_inner_texts())
        toast.locator("button").click()
        toast.wait_for(state="detached")
        page.unroute("**/gradio_api/upload**")
        page.locator("#vv-examples button").nth(number).click()
        seen.ready(example)
        assert not said.is_visible()

    fails("it is text", "could not be reached", 1, "dog.jpg")
    page.get_by_role("button", name="한국어").click()
    page.get_by_role("tab", name="어텐션").wait_for()
    page.get_by_role("button", name="내 사진").first.wait_for()  # Gradio's part follows
    fails("텍스트 파일", "연결할 수 없습니다", 0, "red-panda.jpg")
    seen.complaints.clear()
    home = address(page).split("?")[0]
    page.goto(home)
    page.get_by_role("button", name="English").wait_for(timeout=PATIENCE_MS)
    page.get_by_role("button", name="내 사진").first.wait_for()
    footer = page.locator("footer").inner_text()
    assert "Settings" not in footer
    assert "BETA" not in footer
    page.get_by_role("button", name="English").click()
    page.get_by_role("button", name="Your photo").first.wait_for()
