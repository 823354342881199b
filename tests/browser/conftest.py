"""One app and one browser for all journeys; every page records its requests and errors."""

import base64
import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from PIL import Image
from playwright.sync_api import expect

from tests.models import photo
from tests.running import chromium, running_app, save_digits, save_long, save_tiny
from tests.viewer_fixture import film
from vitviz import Analysis, PatchGrid, analyze, load

SWITCHES = (
    "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-sync"
    " --disable-background-networking --disable-component-update"
    " --use-fake-device-for-media-stream --use-fake-ui-for-media-stream"
    " --process-per-site"  # see Guests
)
NAMES = "--host-resolver-rules=MAP *.example 127.0.0.1"  # hosts that are this machine
SIZE = {"width": 1280, "height": 1000}
PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
LAPTOP = {"viewport": {"width": 1366, "height": 768}}
WALL = {"viewport": {"width": 1280, "height": 720}}  # of a projector
DESK = {"viewport": {"width": 1920, "height": 1080}}
MEDIA = {"color_scheme", "reduced_motion", "forced_colors"}
PATIENCE_MS = 90_000  # a loaded machine with two cores
expect.set_options(timeout=PATIENCE_MS)
STATE = ".vv-place"
PHOTOS = PatchGrid((72, 72), (6, 6), 1)  # of the shipped photo model
# What the model would answer after every layer has come.
ASKED = """() => [...document.querySelectorAll('.vv-would')].every(one => one.textContent)"""
# Nothing is loading any more.
STANDS = """() => [...document.querySelectorAll("progress, .vv-waiting, figure [role=status]")]
    .every((one) => !one.checkVisibility())"""
# Labels of charts that end outside their chart, where nobody sees the rest.
CUT_LABELS = """() => [...document.querySelectorAll("svg.vv-chart text")]
    .filter((one) => one.checkVisibility() && one.textContent.trim())
    .filter((one) => {
        const [label, chart] = [one, one.ownerSVGElement]
            .map((each) => each.getBoundingClientRect());
        return label.left < chart.left - 1 || label.right > chart.right + 1
            || label.top < chart.top - 1 || label.bottom > chart.bottom + 1;
    })
    .map(({ textContent }) => textContent)"""
# A visitor who has chosen All panels before: the page begins with them. Nothing is written for it:
# a page in a new process can read before the last write of another one has come, and would write
# back what is old.
ALL_PANELS = """{
    const theirs = Storage.prototype.getItem;
    Storage.prototype.getItem = function (name) {
        const text = theirs.call(this, name);
        if (name !== "vitviz-taste") return text;
        try {
            return JSON.stringify({ all: true, ...JSON.parse(text) });
        } catch {
            return text;
        }
    };
}"""
# `toggle(name, undefined)` flips a class or an attribute instead of removing it. The page never
# means that, so such a call throws.
NO_TURNING_OVER = """for (const [kind, name] of [
    [DOMTokenList, "toggle"], [Element, "toggleAttribute"],
]) {
    const theirs = kind.prototype[name];
    kind.prototype[name] = function (what, ...on) {
        if (on.length && on[0] === undefined && /^(vv-|data-vv)/.test(what)) {
            throw new TypeError(`${name}("${what}", undefined)`);
        }
        return theirs.call(this, what, ...on);
    };
}"""
# Errors of Gradio that tests ignore: ending the stream of a removed camera (404, as the stream is
# forgotten by then), and the abort of a pending request when its page is left.
LEFT = re.compile(r"404 .*/gradio_api/stream/\w+/close$|^AbortError: .*/assets/", re.DOTALL)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.browser)


def comes_to(page, promise: str, wanted: object) -> None:
    """Evaluate a JavaScript promise again and again until it resolves to this value.

    `wait_for_function` takes any promise for true, so the loop runs in the page.
    """
    page.evaluate(
        f"""async ([wanted, patience]) => {{
            const until = performance.now() + patience;
            for (;;) {{
                const value = JSON.stringify(await {promise});
                if (value === wanted) return;
                if (performance.now() > until) throw new Error(value);
            }}
        }}""",
        [json.dumps(wanted, ensure_ascii=False, separators=(",", ":")), PATIENCE_MS],
    )


class Held:
    """Requests that wait in the network until they are let go, and those that come after."""

    def __init__(self) -> None:
        self.waiting, self.free = [], False

    def hold(self, route) -> None:
        route.continue_() if self.free else self.waiting.append(route)

    def go(self) -> None:
        self.free = True
        for route in self.waiting:
            route.continue_()


def time_stands(page) -> None:
    """No message of Gradio goes by itself and no drawing is sent again, both of which happen after
    ten seconds: a busy machine needs longer for what a journey does meanwhile.
    """
    page.add_init_script(
        """const later = setTimeout;
        window.setTimeout = (run, wait, ...rest) =>
            later(run, wait === 10000 ? 1e8 : wait, ...rest);"""
    )


def middle(page, grid, row: int, col: int, picture: str = ".vv-picture") -> tuple[float, float]:
    """The middle of a patch of the picture, in the window. `grid` has its rows and cols."""
    return middle_in(page.locator(picture).first.bounding_box(), grid, row, col)


def middle_in(box: dict[str, float], grid, row: int, col: int) -> tuple[float, float]:
    x = box["x"] + (col + 0.5) * box["width"] / grid.cols
    return x, box["y"] + (row + 0.5) * box["height"] / grid.rows


def tap(page, row: int, col: int, touch: bool = False) -> None:
    """Click the middle of a patch, in the shipped photo model."""
    picture = page.locator(".vv-picture").first
    box = picture.bounding_box()
    x, y = middle_in({**box, "x": 0, "y": 0}, PHOTOS, row, col)
    place = {"x": x, "y": y}
    (picture.tap if touch else picture.click)(position=place)


DROP = """(node, [text, names, pasted]) => {
    const bytes = Uint8Array.from(atob(text), (one) => one.charCodeAt(0));
    const data = new DataTransfer();
    for (const name of names) {
        const type = { png: "image/png", jpg: "image/jpeg" }[name.split(".").pop()] ?? "text/plain";
        data.items.add(new File([bytes], name, { type }));
    }
    const bubbles = { bubbles: true, cancelable: true };
    node.dispatchEvent(pasted
        ? new ClipboardEvent("paste", { ...bubbles, clipboardData: data })
        : new DragEvent("drop", { ...bubbles, dataTransfer: data }));
}"""


def drop(place, data: bytes, *names: str, pasted: bool = False) -> None:
    """Drop files of these names on a part of the page, or paste them there, as a person does."""
    place.evaluate(DROP, [base64.b64encode(data).decode(), names, pasted])


def number(text: str) -> float:
    """The value that is written after the name of a token: in "row 0, col 3: 0.0213 = 4.2 x"."""
    found = re.search(r":\s*([-+]?[\d.]+(?:e-?\d+)?)", plain(text))
    assert found, text
    return float(found[1])


def numbers(text: str) -> list[float]:
    """All numbers of a text, as the viewer writes them."""
    return [float(n) for n in re.findall(r"-?\d+(?:\.\d+)?(?:e-?\d+)?", plain(text))]


def plain(text: str) -> str:
    """With the minus of a keyboard, and without the space that stands where a sign could."""
    return text.replace("\u2212", "-").replace("\u2007", "")


def tabs_of(page) -> list:
    """The tabs of the panels, but for the first look, which hides them."""
    return page.get_by_role("tab").all()[1:]


def open_panel(page, name: str) -> None:
    """Chooses a panel; on a narrow page in the grid, which the tab of the open one unfolds."""
    wanted = page.get_by_role("tab", name=name, exact=True)
    if not wanted.is_visible():
        page.locator("[role=tab][aria-selected=true]").click()
    wanted.click()


def is_too_wide(page) -> bool:
    """Whether the page scrolls sideways. `innerWidth` of a phone grows with what is too wide."""
    root = "document.documentElement"
    return page.evaluate(f"{root}.scrollWidth > {root}.clientWidth")


def speak(page, language: str) -> None:
    """Show the page in another language, and wait until Gradio's part has followed."""
    page.evaluate("language => { document.documentElement.lang = language; }", language)
    page.locator(".vv-tabs", has_text={"en": "Attention", "ko": "어텐션"}[language]).wait_for()
    upload = {"en": "Your photo", "ko": "내 사진"}[language]
    page.locator("#vv-upload", has_text=upload).wait_for(state="attached")


def follow(tab, url: str):
    """Open a link anew: one that differs after the # alone would not load the page again."""
    tab.goto("about:blank")
    tab.goto(url)
    tab.locator("[data-state=ready]").wait_for()
    return tab


def unfold(page) -> None:
    """Open what is folded in the panels."""
    page.evaluate("for (const one of document.querySelectorAll('.vv-second')) one.open = true")


@pytest.fixture(scope="session")
def folder(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("browser")


@pytest.fixture(scope="session")
def models(folder) -> dict[str, Path]:
    """Labels are as hostile as a stranger's checkpoint could make them."""
    labels = ("cat", "<img src=x onerror=window.broken=1>", "${1}", "{{x}}", "강아지", "f", "g")
    film(folder / "tiny-cls.film.safetensors")
    return {
        "cls": save_tiny(folder, "cls", labels),
        "grey": save_tiny(folder, "grey"),
        "long": save_long(folder),
        "digits": save_digits(folder),
        "registers": save_tiny(folder, "registers"),  # it names no classes
    }


@pytest.fixture(scope="session")
def url(folder, models) -> Iterator[str]:
    with running_app(folder, *models.values()) as url:
        yield url


@pytest.fixture(scope="session")
def pictures(folder) -> dict[str, Path]:
    """Photos of two shapes, and files that are none."""
    first, second = folder / "first.png", folder / "second photo.png"
    Image.fromarray(photo()).save(first)
    Image.fromarray(photo(90, 50)[::-1].copy()).save(second)
    text = folder / "not a <b>photo.jpg"
    text.write_text("hello")
    empty = folder / "empty.png"
    empty.write_bytes(b"")
    scan = folder / "scan.tiff"
    Image.fromarray(photo()).save(scan)
    return {"first": first, "second": second, "text": text, "empty": empty, "scan": scan}


@pytest.fixture(scope="session")
def ours(models) -> Callable[..., Analysis]:
    """The same picture in the same model, in Python."""
    loaded = {name: load(path) for name, path in models.items()}
    return lambda picture, model="cls", **options: analyze(loaded[model], picture, **options)


@pytest.fixture(scope="session")
def browser():
    playwright = pytest.importorskip("playwright.sync_api")
    path = chromium()
    if path is None:
        pytest.skip("no Chromium on this machine; name one in the variable CHROMIUM")
    with playwright.sync_playwright() as p:
        browser = p.chromium.launch(executable_path=path, args=[*SWITCHES.split(), NAMES])
        yield browser
        browser.close()


class Guests:
    """Tabs for visitors; a later visitor with the same options reuses the browser context.

    The cache of a context holds the files of Gradio and the viewer. An idle tab at `home` keeps the
    process of its site alive, with the compiled scripts: this saves a third of the computation of a
    visit, half of that of a file. Processes take memory, so only the last contexts keep theirs.
    """

    def __init__(self, browser) -> None:
        self.browser = browser
        self.rested: dict[str, list] = {}
        self.warm: list = []  # those of them with a tab at home, the one that left last at the end

    def arrive(self, home: str, fresh: bool = False, first: bool = False, **options):
        """A tab with empty storage, whose page begins with all panels. `first`: with the first look
        instead; `fresh`: in a new context, whose cache is empty too.
        """
        size = options.pop("viewport", SIZE)
        media = {name: options.pop(name) for name in MEDIA & options.keys()}
        key = json.dumps([home, options], sort_keys=True)
        if self.rested.get(key) and not fresh:
            context = self.rested[key].pop()
            self.warm = [one for one in self.warm if one is not context]
        else:
            context = self.browser.new_context(**options, viewport=SIZE)
            context.set_default_timeout(PATIENCE_MS)
            context.key, context.spent, context.home = key, False, None
        if not fresh and context.home is None:
            context.home = context.new_page()
            context.home.goto(home)
        page = context.new_page()
        page.add_init_script(NO_TURNING_OVER)
        if not first:
            page.add_init_script(ALL_PANELS)
        if size != SIZE:
            page.set_viewport_size(size)
        if media:
            page.emulate_media(**media)
        session = context.new_cdp_session(page)
        origin = "file://" if home.startswith("file:") else home.rpartition("/")[0]
        kept = {"origin": origin, "storageTypes": "cookies,local_storage,indexeddb"}
        session.send("Storage.clearDataForOrigin", kept)
        session.detach()
        return page

    def leave(self, context) -> None:
        """Close the tabs of a visitor. A context that is `spent` goes to nobody else."""
        if context.spent:
            context.close()
            return
        for page in context.pages:
            if page != context.home:
                page.close()
        self.rested.setdefault(context.key, []).append(context)
        if context.home is not None:
            self.warm.append(context)
        if len(self.warm) > 3:
            cold = self.warm.pop(0)
            cold.home.close()
            cold.home = None


@pytest.fixture(scope="session")
def guests(browser) -> Guests:
    return Guests(browser)


@pytest.fixture(scope="session")
def empty(folder) -> str:
    """The address of a file without anything."""
    (folder / "empty.html").touch()
    return (folder / "empty.html").as_uri()


def stop_time(page) -> None:
    """From now on timers of the page wait for `page.clock.run_for`.

    What lasts a moment cannot be missed then, and what must not happen later can be waited for,
    however slow the machine is.
    """
    page.context.spent = True
    page.clock.install()
    page.clock.pause_at(datetime.now() + timedelta(hours=1))


def address(page) -> str:
    """The page's address as it is now; Playwright's `page.url` follows a moment later."""
    return page.evaluate("location.href")


def address_says(page, **wanted: object) -> None:
    """Wait until the address has these parameters (None: lacks them). It is written
    a moment after the last choice.
    """
    page.wait_for_function(
        """wanted => Object.entries(wanted).every(([name, value]) =>
            new URLSearchParams(location.search).get(name) === value)""",
        arg={name: None if value is None else str(value) for name, value in wanted.items()},
    )


@dataclass
class Visit:
    """One visitor's page, and its requests and errors since it was opened."""

    page: object
    requests: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)

    def ready(self, title: str) -> None:
        """Wait until the viewer shows the analysis whose title line begins so, visitors see it, and
        the server has answered: a document can bring it before.
        """
        self.page.wait_for_function(
            """([state, title]) => {
                const place = document.querySelector(state);
                return place?.dataset.state === "ready"
                    && place.checkVisibility({ visibilityProperty: true })
                    && !document.querySelector("#vv-download")?.disabled
                    && place.querySelector(".vv-names")?.textContent.startsWith(title);
            }""",
            arg=[STATE, title],
            polling=50,  # at each frame it would cost a fifteenth of a visit
        )

    @contextmanager
    def anew(self, title: str) -> Iterator[None]:
        """Wait until another analysis is shown, also if its title is that of the one before."""
        self.page.locator(f"{STATE} .vv-names").evaluate("node => { node.dataset.before = 'yes'; }")
        yield
        self.page.locator(f"{STATE} .vv-names:not([data-before])").wait_for()
        self.ready(title)

    def is_(self, **selection: object) -> None:
        """Wait until the viewer says that this is selected."""
        self.page.wait_for_function(
            """([state, wanted]) => Object.entries(wanted).every(
                ([name, value]) => document.querySelector(state).dataset[name] === value)""",
            arg=[STATE, {name: str(value) for name, value in selection.items()}],
        )

    def upload(self, path: Path) -> None:
        with self.page.expect_file_chooser() as chooser:
            self.page.locator("#vv-upload").click()
        chooser.value.set_files(path)

    def again(self) -> None:
        """Ask for what is shown once more: choose its model again."""
        self.page.locator("#vv-model input").click()
        self.page.locator("[role=listbox] [role=option][aria-selected=true]").click()

    def bring(self, path: Path) -> None:
        """Upload a photo, and wait until its analysis is shown."""
        self.upload(path)
        self.ready(path.name)

    def send(self, path: Path) -> None:
        """Upload a photo that only the server can open, agree, and wait until it is shown."""
        self.upload(path)
        question = self.page.locator(
            ".vv-consent", has_text=f"Only the server can open {path.name}"
        )
        question.get_by_role("button", name="Send this photo").click()
        self.ready(path.name)

    def go(self, query: str, title: str) -> None:
        """Follow a link in the same tab."""
        self.page.goto(self.page.url.partition("?")[0] + query)
        self.ready(title)

    def choose_model(self, title: str) -> None:
        self.page.locator("#vv-model input").click()
        self.page.get_by_test_id("dropdown-option").filter(has_text=title).first.click()

    def forgive(self, *parts: str) -> None:
        """Forget errors with one of these words, which the test has brought about."""
        self.complaints[:] = [
            one for one in self.complaints if not any(map(one.__contains__, parts))
        ]

    def photo_is(self, ending: str) -> None:
        """Wait until the picture input holds a file whose address ends so."""
        self.page.locator(f"#vv-photo img[src$='{ending}']").wait_for(state="attached")

    def model_is(self, title: str) -> None:
        """Wait until the menu shows this model."""
        self.page.wait_for_function(
            "title => document.querySelector('#vv-model input').value === title", arg=title
        )

    def text(self, selector: str) -> str:
        return self.page.locator(selector).first.inner_text()

    def choose(self, option: str) -> None:
        """Set a control under the stage: a head, a direction, what lies over the picture."""
        steering = self.page.locator(".vv-where, .vv-steering")
        steering.get_by_role("radio", name=option, exact=True).check()

    def open_panel(self, name: str) -> None:
        self.page.get_by_role("tab", name=name, exact=True).click()


@pytest.fixture
def visit(guests, url) -> Iterator[Callable[..., Visit]]:
    """Open a page; the first example is analyzed when it comes. Takes what `Guests.arrive` takes.

    `before` prepares the page that it comes into. Afterwards no page may have asked another host
    for anything, nor written an error.
    """
    visits = []

    def open_page(
        query: str = "", wait_for: str = "red-panda.jpg", before=None, **options
    ) -> Visit:
        options = {"locale": "en-US"} | options
        seen = Visit(guests.arrive(f"{url}/healthz", **options))
        visits.append(seen)
        page = seen.page
        page.on("request", lambda request: seen.requests.append(request.url))
        page.on("pageerror", lambda error: seen.complaints.append(str(error)))
        page.on(
            "console",
            lambda message: (
                seen.complaints.append(f"{message.text} {message.location['url']}")
                if message.type == "error"
                else None
            ),
        )
        if before:
            before(page)
        page.goto(f"{url}/{query}", wait_until="load" if wait_for else "commit")
        if wait_for:
            seen.ready(wait_for)
        return seen

    yield open_page
    for seen in visits:
        guests.leave(seen.page.context)
    for seen in visits:
        hosts = {urlsplit(u).netloc for u in seen.requests if u.startswith(("http", "ws"))}
        assert hosts == {urlsplit(url).netloc}
        assert [said for said in seen.complaints if not LEFT.search(said)] == []


@pytest.fixture
def open_page(guests, empty, tmp_path) -> Iterator[Callable]:
    """Open a page from a file, which needs no app; it may ask for nothing and throw nothing."""
    tabs = []

    def open_(html: str, **options):
        assert "<meta charset=" in html, "a browser would guess how its letters are written"
        file = tmp_path / f"page-{len(tabs)}.html"
        file.write_text(html, encoding="utf-8")
        tab = guests.arrive(empty, **{"viewport": {"width": 1200, "height": 900}} | options)
        tabs.append(tab)
        tab.complaints = []
        tab.on("pageerror", lambda error: tab.complaints.append(str(error)))
        tab.on("request", lambda r: r.url.startswith("http") and tab.complaints.append(r.url))
        tab.goto(file.as_uri())
        return tab

    yield open_
    for tab in tabs:
        guests.leave(tab.context)
    assert [tab.complaints for tab in tabs if tab.complaints] == []
