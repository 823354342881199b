"""The site without a server of its own: over plain HTTP, and from a folder by a double click."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.browser.conftest import ALL_PANELS, PATIENCE_MS, drop, follow
from tests.browser.test_beside import THERE, shows
from tests.browser.test_experiment import answers, answers_are, brush, table
from tests.running import serving_files, until
from vitviz import analyze, compare, load
from vitviz.payload import page as one_file
from vitviz.site import write_site
from vitviz.web.store.examples import FOLDER

READY = "[data-state=ready]"
ENTRY = "sessionStorage.getItem('vitviz-entry') ?? ''"  # what a frame keeps of an own photo
CHANGES = [
    {"kind": "remove", "patches": [3, 9]},
    {"kind": "head", "layer": 1, "head": 0, "by": "zero"},
]
LINK = "model=photos&example=dog&panel=experiment&beside=experiment"
LINK += "&experiment=remove_3.9*head_1_0_zero"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    write_site(folder, ["photos", "mnist"])
    return folder


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    with serving_files(site) as address:
        yield address


@contextmanager
def visiting(browser, address: str, **options):
    """A tab that may throw nothing, and ask nobody but this address."""
    context = browser.new_context(viewport={"width": 1366, "height": 768}, **options)
    context.add_init_script(ALL_PANELS)
    page, wrongs = context.new_page(), []
    page.set_default_timeout(PATIENCE_MS)
    page.on("pageerror", lambda error: wrongs.append(str(error)))
    page.on("console", lambda said: said.type == "error" and wrongs.append(said.text))
    inside = (address.rpartition("/")[0], "blob:", "data:")
    page.on("request", lambda asked: asked.url.startswith(inside) or wrongs.append(asked.url))
    yield page
    context.close()
    assert wrongs == []


def title(page) -> str:
    page.locator(READY).wait_for()
    return page.locator(".vv-title h2").inner_text()


def experiment_is_that_of_python(page) -> None:
    """Of the link: the answers before and after."""
    page.locator('[data-beside="experiment"]').wait_for()
    loaded, photo = load("photos"), FOLDER / "dog.jpg"
    answers_are(page, *(analyze(loaded, photo, interventions=one) for one in ([], CHANGES)))


def test_a_visit_over_http(browser, address: str) -> None:
    with visiting(browser, address, locale="en-US") as page:
        page.goto(f"{address}?{LINK}")
        experiment_is_that_of_python(page)
        before = answers(page)
        assert before[0] != before[1]
        # Weights come once, under their hash, and localengine.js with them.
        sent = page.evaluate("performance.getEntriesByType('resource').map(({ name }) => name)")
        assert len([name for name in sent if name.endswith(".safetensors")]) == 1
        # What only a server does is said in its place; nothing there can be pressed.
        page.get_by_role("button", name="Save what you see").click()
        assert page.get_by_text("Figures for print (SVG, PDF)").is_visible()
        assert page.get_by_role("button", name="SVG").count() == 0
        page.keyboard.press("Escape")
        # Another example, and another model, are chosen above; Back leads to the one before.
        page.get_by_role("button", name="cat").click()
        page.wait_for_url("**example=cat**")
        page.get_by_role("button", name="digit", exact=True).click()
        page.wait_for_url("**model=mnist&example=digit**")
        page.locator(".vv-names", has_text="digit.png").wait_for()
        assert "3" in title(page)
        page.go_back()
        page.locator(".vv-names", has_text="cat.jpg").wait_for()
        assert page.get_by_role("combobox", name="Model").input_value() == "photos"
        # In Korean all of it is.
        page.get_by_role("button", name="한국어").click()
        page.get_by_role("group", name="예시 사진").wait_for()
        page.get_by_role("combobox", name="모델").select_option(label="손글씨 숫자")
        page.wait_for_url("**model=mnist&example=cat**")
        page.reload()
        assert page.locator("html").get_attribute("lang") == "ko"
        title(page)


def test_what_is_chosen_before_back_has_come_has_the_address_and_a_wrong_link_opens_the_start(
    browser, address: str
) -> None:
    """It was written there twenty seconds later, and a reload opened the other picture."""
    with visiting(browser, address, locale="en-US") as page:
        page.goto(address)
        begins = title(page)
        for name in ("cat", "bison"):
            page.get_by_role("button", name=name, exact=True).click()
            page.wait_for_url(f"**example={name}**")
        page.evaluate("""() => {
            const dog = [...document.querySelectorAll(".vv-bar-example")]
                .find(({ title }) => title === "dog");
            addEventListener("popstate", () => dog.click(), { once: true });
            history.back();
        }""")
        page.wait_for_url("**example=dog**")
        page.locator(".vv-names", has_text="dog.jpg").wait_for()
        page.go_back()
        page.locator(".vv-names", has_text="cat.jpg").wait_for()
        # A link to what is not here, also by the names that every object of JavaScript has.
        for name, asked in (
            *(("nobody", one) for one in ("model={0}", "example={0}", "model={0}&example={0}")),
            *(
                (name, one)
                for name in ("constructor", "__proto__")
                for one in ("model={0}", "example={0}")
            ),
        ):
            rest = "&panel={0}&beside={0}&explainer={0}&lens={0}"
            page.goto(f"{address}?{(asked + rest).format(name)}")
            assert title(page) == begins, name
            page.get_by_text(f"This link names what is not here: {name}").first.wait_for()


def opens_light(tab, url: str) -> bool:
    return follow(tab, url).locator("html.dark").count() == 0


def test_a_visit_to_the_folder_itself(browser, site: Path) -> None:
    address = (site / "index.html").as_uri()
    with visiting(browser, address, color_scheme="dark") as page:
        page.goto(f"{address}#{LINK}")
        assert page.locator("html.dark").count() == 1
        experiment_is_that_of_python(page)
        # The late files of the intact pass are made of the same model.
        page.get_by_role("tab", name="Features").click()
        page.locator(".vv-picture").first.wait_for()
        page.get_by_role("button", name="Light or dark").click()
        page.locator("html:not(.dark)").wait_for()
        # A browser writes what is kept some time after a page has asked for it.
        link = page.url
        until(lambda: opens_light(page, link))
        page.locator(".vv-names", has_text="dog.jpg").wait_for()
        page.get_by_role("combobox", name="Model").select_option("mnist")
        page.wait_for_url("**#**model=mnist**")
        # A model learns in this page, too, from digits that lie beside it.
        page.get_by_role("button", name="Playground").click()
        page.locator(".vv-play-page[data-state=ready]").wait_for()
        page.get_by_role("button", name="One step").click()
        page.locator(".vv-play-page[data-step='1']").wait_for()
        page.wait_for_url("**#**play=standard**")
        page.keyboard.press("Escape")
        page.wait_for_url(lambda url: "play=" not in url)
        # Explanations and fair tests need no server either.
        page.get_by_role("tab", name="Explanations", exact=True).click()
        page.get_by_text("Computed in this page, on your own device.").first.wait_for()
        page.get_by_role("button", name="Test these maps").click()
        page.locator(".vv-fair-found").wait_for()


def test_the_untrained_twin_is_drawn_where_it_is_looked_at(browser, site: Path, tmp_path) -> None:
    (mine := tmp_path / "mine.jpg").write_bytes((FOLDER / "bison.jpg").read_bytes())
    models = [load("photos", pretrained=pretrained) for pretrained in (True, False)]
    with visiting(browser, (site / "index.html").as_uri(), locale="en-US") as page:
        asked = "model=photos&example=dog&panel=attention&layer=2&head=mean&token=70"
        page.goto(f"{(site / 'index.html').as_uri()}#{asked}&beside=untrained")
        for photo in (FOLDER / "dog.jpg", mine):
            page.locator(".vv-beside h3", has_text=photo.name).wait_for()
            page.locator(f"{THERE} > .vv-under", has_text=":").wait_for()
            assert page.locator(".vv-beside h3").inner_text().endswith("untrained")
            two = compare(*(analyze(loaded, photo) for loaded in models))
            shows(page, two.attention(2, None, 70), 70, 70)
            page.locator("input[type=file]").first.set_input_files(mine)


def shares_of(page) -> list[float]:
    """The probabilities of the panel Predictions, of the classes in order, as they are saved."""
    page.get_by_role("tab", name="Predictions").click()
    rows = table(page, "classes")
    return [float(row["probability"]) for row in sorted(rows, key=lambda row: int(row["class"]))]


def test_over_http_a_photo_and_a_digit_are_analyzed_where_they_are_and_kept_until_forgotten(
    browser, address: str, tmp_path
) -> None:
    (mine := tmp_path / "mine.jpg").write_bytes((FOLDER / "bison.jpg").read_bytes())
    with visiting(browser, address, locale="en-US") as page:
        page.goto(address)
        title(page)
        a_reload_keeps_it_until_it_is_forgotten(page, mine)
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.method))
        page.locator("input[type=file]").first.set_input_files(mine)
        page.locator(".vv-names", has_text="mine.jpg").wait_for()
        found = shares_of(page)
        exact = analyze(load("photos"), mine).predictions(len(found))
        assert found == pytest.approx(
            [one.probability for one in sorted(exact, key=lambda one: one.index)], abs=1e-5
        )
        assert {*asked} == {"GET"}  # it leaves the device by no way
        # What is no picture is refused in a sentence, and what was shown stays.
        page.locator("input[type=file]").first.set_input_files(Path(__file__))
        page.get_by_text("is not a picture we can read: it is text").wait_for()
        assert page.locator(".vv-names", has_text="mine.jpg").count() == 1
        # In another model it is the same photo; beside it stands an example.
        page.get_by_role("combobox", name="Model").select_option("mnist")
        page.locator(".vv-names", has_text="Handwritten digits").wait_for()
        assert page.locator(".vv-names", has_text="mine.jpg").count() == 1
        page.get_by_role("button", name="Draw a digit").click()
        page.locator(".vv-drawing canvas").first.hover()  # waits until it stands still
        box = page.locator(".vv-drawing canvas").first.bounding_box()
        x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 5
        page.mouse.move(x, y)
        page.mouse.down()
        page.mouse.move(x, y + 3 * box["height"] / 5, steps=8)
        page.mouse.up()
        page.locator(".vv-drawing-word", has_text="1").wait_for()
        # Of several files at once the site says which is shown.
        page.keyboard.press("Escape")
        page.get_by_role("button", name="한국어").click()
        page.get_by_role("group", name="예시 사진").wait_for()
        cat = (FOLDER / "cat.jpg").read_bytes()
        drop(page.locator("body"), cat, "notes.txt", "$&.png", "b.png")
        page.locator(".vv-names", has_text="$&.png").wait_for()
        page.locator(".vv-bar-note", has_text="파일 3개 가운데 $&.png만 열었습니다").wait_for()
        drop(page.locator("body"), cat, "alone.png")
        page.locator(".vv-names", has_text="alone.png").wait_for()
        assert not page.locator(".vv-bar-note").is_visible()
        # What Python alone can open: it was told to be saved as PNG, also where it was one.
        drop(page.locator("body"), b"II*\0", "scan.tiff")
        page.locator(".vv-bar-note", has_text="채널당 8비트인 JPEG, PNG, WebP").wait_for()
        assert page.locator(".vv-names").inner_text().startswith("alone.png")


def a_reload_keeps_it_until_it_is_forgotten(page, mine: Path) -> None:
    """The start of the site came in its place, with what was done to the photo."""
    begins = page.locator(".vv-names").inner_text()
    forget = page.get_by_role("button", name="Forget my photo")
    assert not forget.is_visible()
    page.locator("input[type=file]").first.set_input_files(mine)
    page.locator(".vv-names", has_text="mine.jpg").wait_for()
    page.get_by_role("tab", name="Experiment").click()
    brush(page, (3, 4))
    page.wait_for_url("**experiment=remove**")
    forget.wait_for()
    page.reload()
    page.locator(".vv-names", has_text="mine.jpg").wait_for()
    assert "experiment=remove" in page.url
    # No link holds it, which whoever opens one is told.
    other = page.context.new_page()
    other.set_default_timeout(PATIENCE_MS)
    other.goto(page.url)
    other.locator(".vv-names", has_text=begins).wait_for()
    other.get_by_text("made with somebody's own photo").wait_for()
    other.close()
    forget.click()
    page.locator(".vv-names", has_text=begins).wait_for()
    page.reload()
    page.locator(".vv-names", has_text=begins).wait_for()
    assert not forget.is_visible()


def test_from_the_folder_a_reload_keeps_an_own_photo_until_it_is_forgotten(
    browser, site: Path, tmp_path
) -> None:
    (mine := tmp_path / "mine.jpg").write_bytes((FOLDER / "bison.jpg").read_bytes())
    start = (site / "index.html").as_uri()
    with visiting(browser, start, locale="en-US") as page:
        page.goto(start)
        title(page)
        a_reload_keeps_it_until_it_is_forgotten(page, mine)


def test_a_reload_of_the_page_around_it_keeps_an_own_photo(
    browser, address: str, site: Path, tmp_path
) -> None:
    """As on huggingface.co, where the frame begins anew."""
    (mine := tmp_path / "mine.jpg").write_bytes((FOLDER / "bison.jpg").read_bytes())
    frame = "<iframe src='./index.html?__theme=light' width=1300 height=700></iframe>"
    (site / "around.html").write_text(f"<!doctype html><title>around</title>{frame}")
    with visiting(browser, address, locale="en-US") as page:
        page.goto(f"{address}around.html")
        inside = page.frame_locator("iframe")
        inside.locator(READY).wait_for()
        begins = inside.locator(".vv-names").inner_text()
        inside.locator("input[type=file]").first.set_input_files(mine)
        inside.locator(".vv-names", has_text="mine.jpg").wait_for()
        inside.get_by_role("tab", name="Experiment").click()
        inside.get_by_role("tab", name="Experiment", selected=True).wait_for()
        until(lambda: "panel=experiment" in page.frames[1].evaluate(ENTRY))
        page.reload()
        inside.locator(".vv-names", has_text="mine.jpg").wait_for()
        inside.get_by_role("tab", name="Experiment", selected=True).wait_for()
        # An example is nothing that could be lost, and the frame begins as it is asked to.
        inside.get_by_role("button", name="cat", exact=True).click()
        inside.locator(".vv-names", has_text="cat.jpg").wait_for()
        until(lambda: page.frames[1].evaluate(ENTRY) == "")
        page.reload()
        inside.locator(".vv-names", has_text=begins).wait_for()


def answering(text: str):
    """A host that answers every request with this text."""
    return lambda route: route.fulfill(body=text)


def test_a_model_that_does_not_come_is_said_and_asked_for_again(browser, address: str) -> None:
    """The photo is good; what a school's filter or a host puts in the place of the model is not."""
    instead = {
        "pointer": "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 5502168\n",
        "filter": "<!doctype html><title>Blocked</title>",
    }
    for body in instead.values():
        with visiting(browser, address) as page:
            page.route("**/photos-*.safetensors", answering(body))
            page.goto(address + "?model=photos&example=dog")
            headline = page.locator(".vv-title h2", has_text="German shepherd")
            headline.wait_for()
            note = page.locator(".vv-bar-note")
            page.locator(".vv-bar input[type=file]").set_input_files(FOLDER / "cat.jpg")
            note.get_by_text("The model of this page did not come").wait_for()
            assert "Your photo is good" in note.inner_text()
            assert headline.is_visible()  # what was shown stays
            # A panel that asks for the model in the meantime takes the offer away from nobody.
            # On a slow machine the page asks again by itself before the click.
            with page.expect_response("**/photos-*.safetensors"):
                page.unroute("**/photos-*.safetensors")
                page.get_by_role("tab", name="Features").click()
            page.locator(".vv-picture").first.wait_for()
            note.get_by_role("button", name="Try again").click()
            page.locator(".vv-names").get_by_text("cat.jpg").wait_for()
            page.locator(READY).wait_for()
            assert not note.is_visible()


def test_a_page_of_one_file_takes_photos_and_experiments(open_page) -> None:
    loaded = load("photos")
    html = one_file(analyze(loaded, FOLDER / "dog.jpg"), engine=True)
    tab = open_page(html, locale="en-US")
    tab.locator("[data-state=ready]").wait_for()
    before = tab.locator(".vv-title h2").inner_text()
    drop(tab.locator(".vv-picture").first, (FOLDER / "bison.jpg").read_bytes(), "mine.jpg")
    tab.locator(".vv-names", has_text="mine.jpg").wait_for()
    found = shares_of(tab)
    exact = analyze(loaded, FOLDER / "bison.jpg").predictions(len(found))
    probabilities = [one.probability for one in sorted(exact, key=lambda one: one.index)]
    assert found == pytest.approx(probabilities, abs=1e-5)
    # Its own picture comes back, and what is changed in its pass is computed here.
    tab.get_by_role("button", name="dog.jpg").click()
    tab.locator(".vv-names", has_text="dog.jpg").wait_for()
    assert tab.locator(".vv-title h2").inner_text() == before
    tab.evaluate(f"location.hash = '{LINK}'")
    experiment_is_that_of_python(tab)
