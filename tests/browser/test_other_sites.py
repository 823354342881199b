"""A page of another site: what it can ask of an app, and where it may show it."""

from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from PIL import Image
from playwright.sync_api import expect

from tests.browser.conftest import PATIENCE_MS, STATE
from tests.browser.test_site import ENTRY
from tests.models import photo
from tests.running import answering, pictures, running_app, save_tiny, until

# Asks everything that a page can ask of an address: what it could read, and what it sent blindly.
ATTACK = """async (app) => {
    const form = new FormData();
    form.append("files", new Blob(["a picture"]), "blind.png");
    const asks = {
        config: ["config"],
        document: [""],
        queue: ["gradio_api/queue/join", { method: "POST", body: '{"data": []}' }],
        explain: ["gradio_api/call/explain", { method: "POST", body: '{"data": ["dog"]}',
                  headers: { "Content-Type": "application/json" } }],
        upload: ["gradio_api/upload", { method: "POST", body: form }],
        vote: ["gradio_api/component_server", { method: "POST", body: "{}" }],
        tool: ["gradio_api/mcp/", { method: "POST", body: "{}" }],
    };
    const read = [];
    for (const [name, [path, options]] of Object.entries(asks)) {
        for (const mode of ["cors", "no-cors"]) {
            const given = { ...options, mode, credentials: "include" };
            if (mode === "no-cors") delete given.headers;
            const answer = await fetch(app + path, given).catch(() => null);
            const text = await answer?.text().catch(() => "") ?? "";
            if (text) read.push(`${name} ${mode} ${answer.status}`);
        }
    }
    return read;
}"""


class Page(BaseHTTPRequestHandler):
    """An empty page, at every address of a site."""

    def do_GET(self) -> None:
        body = b'<!doctype html><html lang="en"><meta charset="utf-8"><title>a page</title>'
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Nothing: what is tested is what the page reads."""


@pytest.fixture(scope="module")
def site() -> Iterator[int]:
    """The port of a server of pages, under any name that ends with .example."""
    with answering(Page) as url:
        yield urlsplit(url).port


@pytest.fixture(scope="module")
def place(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("guarded")


@pytest.fixture(scope="module")
def guarded(place: Path, site: int) -> Iterator[int]:
    """The port of an app that is also called vit.example, and that school.example may ask."""
    environ = {
        "VITVIZ_HOSTNAME": "vit.example",
        "VITVIZ_ALLOW_ORIGIN": f"http://school.example:{site}",
    }
    with running_app(place, save_tiny(place, "cls"), environ=environ) as url:
        yield urlsplit(url).port


@pytest.fixture
def tab(browser) -> Iterator:
    """A page that shows no analysis, in a context of its own."""
    context = browser.new_context()
    context.set_default_timeout(PATIENCE_MS)
    yield context.new_page()
    context.close()


def names(port: int) -> list[str]:
    """The app as it is called at home, in a room, and behind a proxy."""
    return [f"http://{name}:{port}/" for name in ("localhost", "127.0.0.1", "vit.example")]


def test_a_page_of_another_site_reads_and_leaves_nothing(tab, site, guarded, place):
    before = set(pictures(place))
    tab.goto(f"http://evil.example:{site}/")
    for app in names(guarded):
        assert tab.evaluate(ATTACK, app) == [], app
    # A frame in a sandbox, whose origin is "null".
    frame = "<iframe sandbox='allow-scripts' srcdoc='<meta charset=utf-8>'></iframe>"
    tab.evaluate("(frame) => { document.body.innerHTML = frame; }", frame)
    null = tab.frames[-1]
    assert null.evaluate("origin") == "null"
    for app in names(guarded):
        assert null.evaluate(ATTACK, app) == [], app
    assert set(pictures(place)) == before


def test_a_page_of_the_app_and_of_an_allowed_site_reads(tab, site, guarded):
    app = f"http://vit.example:{guarded}/"
    tab.goto(f"http://school.example:{site}/")
    allowed = tab.evaluate(ATTACK, app)
    assert {"config cors 200", "explain cors 200", "upload cors 200"} <= set(allowed)
    assert not [one for one in allowed if " no-cors " in one]
    tab.goto(f"{app}gradio_api/info")
    assert {"config cors 200", "upload cors 200"} <= set(tab.evaluate(ATTACK, app))


def test_a_name_that_somebody_lets_point_here_shows_nothing(tab, guarded):
    tab.goto(f"http://evil.example:{guarded}/")
    expect(tab.locator("body")).to_contain_text("--hostname")
    assert [
        one for one in tab.evaluate(ATTACK, f"http://evil.example:{guarded}/") if " 200" in one
    ] == []


FRAME = """(app) => {
    const frame = document.body.appendChild(document.createElement("iframe"));
    Object.assign(frame, { src: app, width: 1000, height: 600 });
}"""


def test_only_a_site_that_may_shows_it_in_a_frame_and_its_reload_keeps_an_own_photo(
    tab, site, guarded, tmp_path
):
    app = f"http://vit.example:{guarded}/"
    tab.goto(f"http://evil.example:{site}/")
    with tab.expect_console_message(lambda message: "frame-ancestors" in message.text):
        tab.evaluate(FRAME, app)
    tab.goto(f"http://school.example:{site}/")
    tab.evaluate(FRAME, f"{app}?__theme=light")
    inside = tab.frame_locator("iframe")
    expect(inside.locator(STATE).first).to_have_attribute("data-state", "ready")
    # As on huggingface.co, where the frame begins anew.
    Image.fromarray(photo()).save(mine := tmp_path / "mine.png")
    with tab.expect_file_chooser() as chooser:
        inside.locator("#vv-upload").click()
    chooser.value.set_files(mine)
    shown = inside.locator(".vv-names", has_text="mine.png")  # hidden in the first look
    shown.wait_for(state="attached")
    until(lambda: tab.frames[1].evaluate(ENTRY))
    tab.reload()
    tab.evaluate(FRAME, f"{app}?__theme=light")
    shown.wait_for(state="attached")
