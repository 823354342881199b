"""The viewer as a file that browsers keep; the document is small; no file is sent twice."""

import asyncio
import base64
import gzip
import hashlib
import io
import json
import re
import sys
import urllib.error
import urllib.request
import zlib
from dataclasses import replace
from html import escape

import pytest
from PIL import Image
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.testclient import TestClient

from tests.models import tiny
from tests.running import at_once, running_app, save_tiny, until
from vitviz import analyze
from vitviz.languages import dictionary, languages
from vitviz.model.menu import CURATED, WEIGHTS_DIR, list_models
from vitviz.payload import bundle
from vitviz.payload.bundle import as_file, css, gradio_file, texts_files
from vitviz.web.host import limits
from vitviz.web.page import sending
from vitviz.web.page.components import TEMPLATE
from vitviz.web.page.first import First, asked_of, said_of
from vitviz.web.page.sending import (
    KEPT,
    RUNNING_FILE,
    TEXTS_FILES,
    VIEWER_FILES,
    Assets,
    KeptFile,
    Light,
    weights_file,
)
from vitviz.web.page.theme import page_style
from vitviz.web.service.replies import Stored
from vitviz.web.store.examples import EXAMPLES

SHIPPED = [WEIGHTS_DIR / f"{name}.safetensors" for name in list_models() if name not in CURATED]
DOCUMENT_BYTES = 120_000
LONG = "a document " * 1000
HASH = 64 * "a"
VIEWER_FILE = VIEWER_FILES["en"]


def raw(url, **headers):
    """(status, headers, body as it travelled) of an address."""
    request = urllib.request.Request(
        url, headers={k.replace("_", "-"): v for k, v in headers.items()}
    )
    try:
        with urllib.request.urlopen(request, timeout=60) as reply:
            return reply.status, reply.headers, reply.read()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.headers, error.read()


def test_the_file_is_the_viewer_under_the_hash_of_its_content():
    content = gradio_file("en").encode()
    assert VIEWER_FILE.path == f"gradio_api/vitviz-{hashlib.sha256(content).hexdigest()[:16]}.js"
    assert KeptFile("vitviz", content + b" ", "js", "text/javascript").path != VIEWER_FILE.path


def left_by(file: str) -> dict:
    return json.loads(re.fullmatch(r"document\.currentScript\.viewer = (.*);\n", file)[1])


def test_the_viewer_brings_a_language_and_others_are_files_of_their_own():
    for language in languages():
        said = dictionary(language, "viewer")["untrainedNote"]
        assert said in bundle()  # of a page of one file
        assert (said in as_file()) == (language == "en")
        assert [said in gradio_file(one) for one in languages()] == [
            one == language for one in languages()
        ]
        texts = left_by(texts_files()[language])
        assert texts["STRINGS"]["untrainedNote"] == said
        assert "lesson.ask" not in texts["STRINGS"]
        assert texts["GLOSSARY"] == dictionary(language, "glossary")
        assert TEXTS_FILES[language].path.startswith(f"gradio_api/vitviz-{language}-")
        asked = dictionary(language, "lessons")["ask_goal"]
        assert asked in bundle()
        assert asked not in gradio_file(language)  # nobody needs it who opens no lesson
        texts = left_by(texts_files()[f"lessons-{language}"])
        assert texts["STRINGS"]["lesson.ask_goal"] == asked
        assert TEXTS_FILES[f"lessons-{language}"].path.endswith(".js")
    assert len(gradio_file("en").encode()) < 0.9 * len(bundle().encode())


def test_what_a_language_lacks_is_in_english_in_its_file(monkeypatch):
    """The viewer of a language has no English to fall back on."""
    bundling = sys.modules["vitviz.payload.bundle"]  # the package has the function under its name
    of = bundling.dictionary

    def without(language: str, subject: str) -> dict[str, str]:
        texts = of(language, subject)
        return {key: texts[key] for key in texts if language == "en" or key != "untrainedNote"}

    monkeypatch.setattr(bundling, "dictionary", without)
    assert dictionary("en", "viewer")["untrainedNote"] in gradio_file("ko")
    texts = left_by(texts_files()["ko"])["STRINGS"]
    assert texts["untrainedNote"] == dictionary("en", "viewer")["untrainedNote"]
    assert texts["answer"] == dictionary("ko", "viewer")["answer"]


def test_it_is_sent_as_the_browser_takes_it_and_kept_for_ever():
    client = TestClient(Starlette(routes=[VIEWER_FILE.route()]))
    sizes = {}
    for accepted in ("br", "gzip", "identity"):
        reply = client.get(VIEWER_FILE.path, headers={"accept-encoding": accepted})
        assert reply.status_code == 200
        assert reply.headers["content-type"] == "text/javascript; charset=utf-8"
        assert reply.headers["cache-control"] == "public, max-age=31536000, immutable"
        assert reply.headers["vary"] == "Accept-Encoding"
        assert reply.headers.get("content-encoding", "identity") == accepted
        sizes[accepted] = int(reply.headers["content-length"])
        if accepted != "br":  # only some clients can read that
            assert reply.text == gradio_file("en")
    assert sizes["br"] < sizes["gzip"] < sizes["identity"] / 3
    brotli = pytest.importorskip("brotli")
    with client.stream("GET", VIEWER_FILE.path, headers={"accept-encoding": "br"}) as reply:
        assert brotli.decompress(b"".join(reply.iter_raw())).decode() == gradio_file("en")


def test_a_file_is_compressed_when_it_is_first_asked_for_and_once(monkeypatch):
    arrived, compressed, texts = [], [], []

    class Codings(dict):
        def __iter__(self):
            arrived.append(self)
            return super().__iter__()

    def compress(body):
        until(lambda: len(arrived) == 6)
        compressed.append(body)
        return gzip.compress(body)

    monkeypatch.setattr(sending, "CODINGS", Codings(gzip=compress))
    file = KeptFile("one", b"text", "js", "text/javascript")
    picture = KeptFile("two", b"pixels", "png", "image/png")
    client = TestClient(Starlette(routes=[file.route(), picture.route()]))
    assert compressed == []
    at_once(*6 * [lambda: texts.append(client.get(file.path).text)])
    assert texts == 6 * ["text"]
    assert compressed == [b"text"]
    assert client.get(picture.path).content == b"pixels"
    assert compressed == [b"text"]


@pytest.fixture
def assets():
    """A client of an app with `Assets`, and what reached the app behind it."""
    asked = []

    def answer(request):
        name, coding = request.path_params["name"], request.headers["accept-encoding"]
        asked.append((name, coding, request.headers.get("range")))
        if name == "absent.js":
            return Response("none", 404)
        body = f"{name} {coding} ".encode() + bytes(600)
        return Response(body, headers={"ETag": "1", "Content-Encoding": "identity"})

    routes = [Route(f"/{folder}/{{name}}", answer) for folder in ("assets", "gradio_api")]
    with TestClient(Starlette(routes=routes, middleware=[Middleware(Assets)])) as client:
        yield client, asked


def test_files_of_the_page_are_read_and_compressed_once(assets):
    client, asked = assets
    for coding in ("br, gzip", "gzip", ""):
        first, second = (
            client.get("/assets/a.js", headers={"accept-encoding": coding}) for _ in range(2)
        )
        assert first.content == second.content == f"a.js {coding} ".encode() + bytes(600)
        assert second.headers == first.headers
        assert second.headers["etag"] == "1"
    assert len(asked) == 3
    # What is only a part, unchanged, absent or an answer for one visitor is asked for each time.
    for path, header in (
        ("/assets/a.js", {"range": "bytes=0-9"}),
        ("/assets/a.js", {"if-none-match": "1"}),
        ("/assets/absent.js", {}),
        ("/gradio_api/a.js", {}),
    ):
        asked.clear()
        codes = {client.get(path, headers=header).status_code for _ in range(2)}
        assert len(asked) == 2, path
        assert codes == ({404} if "absent" in path else {200})


def test_files_in_memory_are_bounded_and_the_one_nobody_asks_for_goes_first(assets, monkeypatch):
    client, asked = assets
    monkeypatch.setattr(limits, "ASSETS_BYTES", 1900)  # three of the files
    for name in ("a.js", "b.js", "c.js", "a.js", "d.js", "a.js", "c.js"):
        client.get(f"/assets/{name}", headers={"accept-encoding": "br"})
    assert [name for name, *_ in asked] == ["a.js", "b.js", "c.js", "d.js"]
    client.get("/assets/b.js", headers={"accept-encoding": "br"})
    assert asked[-1][0] == "b.js"


def test_the_app_sends_files_of_the_page_as_before_the_second_time(app):
    """With the headers of the entrance, and once each."""
    url, _ = app
    document = raw(url + "/")[2].decode()
    path = re.search(r'src="\.(/assets/[^"]+\.js)"', document)[1]
    first, second = (raw(url + path, accept_encoding="br") for _ in range(2))
    assert (first[0], first[2]) == (second[0], second[2])
    del first[1]["Date"], second[1]["Date"], first[1]["Transfer-Encoding"]
    assert int(second[1]["Content-Length"]) == len(second[2])
    del second[1]["Content-Length"]
    assert sorted(first[1].items()) == sorted(second[1].items())


def test_thumbnails_are_small_and_square():
    for example in EXAMPLES:
        small = example.thumbnail()
        assert len(small) < 5000
        with Image.open(io.BytesIO(small)) as picture:
            assert (picture.format, picture.size) == ("JPEG", (96, 96))


def light(first=None, document=LONG, **files):
    """A client of an app that answers `files` by address, behind the middleware."""

    def answer(request):
        return files[request.url.path.rsplit("/", 1)[1]]

    routes = [
        Route("/", lambda _: PlainTextResponse(document)),
        Route("/config", lambda _: PlainTextResponse(document)),
        Route("/gradio_api/queue/data", lambda _: PlainTextResponse(LONG)),
        Route("/gradio_api/{path:path}", answer),
    ]
    return TestClient(
        Starlette(routes=routes, middleware=[Middleware(Light, first=first or First())])
    )


def test_the_document_is_compressed_and_names_the_file_of_the_viewer():
    client = light()
    reply = client.get("/", headers={"accept-encoding": "gzip"})
    assert reply.text == LONG
    assert reply.headers["content-encoding"] == "gzip"
    assert int(reply.headers["content-length"]) < len(LONG) / 10
    assert reply.headers["link"] == f"<{VIEWER_FILE.path}>; rel=preload; as=script"
    smaller = client.get("/", headers={"accept-encoding": "br, gzip"}).headers
    assert smaller["content-encoding"] == "br"
    assert int(smaller["content-length"]) < int(reply.headers["content-length"])
    plain = client.get("/", headers={"accept-encoding": "identity"})
    assert "content-encoding" not in plain.headers
    assert "link" not in client.get("/gradio_api/queue/data").headers


def test_events_are_compressed_one_by_one_and_none_waits_for_the_next():
    pieces, sent = [b"data: " + 500 * b"1" + b"\n\n", b"data: 2\n\n", b""], []

    async def app(scope, receive, send):
        await send({"type": "http.response.start", "status": 200, "headers": []})
        for piece in pieces:
            await send({"type": "http.response.body", "body": piece, "more_body": piece != b""})

    async def send(message):
        sent.append(message)

    for accepted in (b"gzip, br", b"br"):
        sent.clear()
        headers = [(b"accept-encoding", accepted)]
        scope = {"type": "http", "path": "/gradio_api/queue/data", "headers": headers}
        asyncio.run(Light(app, First())(scope, None, send))
        start, *bodies = sent
        if accepted == b"br":
            assert [body["body"] for body in bodies] == pieces
            continue
        assert start["headers"] == [(b"content-encoding", b"gzip")]
        reading = zlib.decompressobj(wbits=31)
        assert [reading.decompress(body["body"]) for body in bodies] == pieces
        assert reading.eof
        assert len(bodies[0]["body"]) < 60


@pytest.mark.parametrize(
    ("query", "accepted", "language"),
    [
        ("", "ko-KR,ko;q=0.9,en;q=0.8", "ko"),
        ("", "en-US,ko;q=0.5", "en"),
        ("?lang=ko", "en-US", "ko"),
        ("?lang=en&panel=model", "ko", "en"),
        ("?lang=xx", "ko", "ko"),
        ("", "", "en"),
    ],
)
def test_the_document_names_the_viewer_of_its_language(query, accepted, language):
    links = light().get(f"/{query}", headers={"accept-language": accepted}).headers["link"]
    assert links == f"<{VIEWER_FILES[language].path}>; rel=preload; as=script"


@pytest.fixture(scope="module")
def first():
    """What stands in the document, of a photo that has more pixels than the model sees."""
    loaded = tiny("cls")
    names = tuple(f"<b>{i}" for i in range(7))
    words = {"ko": {"labels": {name: f"{name} &" for name in names}}}
    card = replace(loaded.card, labels=names, words=words, details={"certain": "0"})
    analysis = analyze(replace(loaded, card=card), EXAMPLES[0].path)
    first = First()
    first.make(analysis.to_bytes(), EXAMPLES[0])
    return first, analysis


def test_the_document_that_is_asked_for_nothing_shows_the_answer_at_once(first):
    made, analysis = first
    answer = analysis.answer()
    share = f"{100 * answer.probability:.1f}%"
    said = {"en": f"“{answer.name}”, {share}", "ko": f"“{answer.name} &”, {share}"}
    assert said_of(analysis) == said
    assert asked_of(analysis, "en") == f"Why does it say “{answer.name}”?"
    document = "é" + LONG + "<body><gradio-app></gradio-app>"
    # What begins with two underscores is of a page around it.
    for query, language in (("/?__theme=light", "en"), ("/", "en"), ("/?lang=ko", "ko")):
        sent = light(made, document).get(query, headers={"accept-encoding": "identity"})
        assert int(sent.headers["content-length"]) == len(sent.content)
        html = made.html(language).decode()
        assert sent.text == document.replace("<gradio-app>", html + "<gradio-app>")
        assert f'<p lang="{language}">{escape(said[language])}</p>' in html
        asks = escape(asked_of(analysis, language))
        assert f'<p class="vv-asks" lang="{language}">{asks}</p>' in html
        assert len(html) < 25_000
    picture = base64.b64decode(re.search(r"base64,([^\"]+)", html)[1])
    with Image.open(io.BytesIO(picture)) as small:
        assert max(small.size) == 288
    assert '<div class="vv-first">' in html
    for asked in ("/?panel=model", "/?model=photos", "/config"):
        assert light(made, document).get(asked).text != sent.text
    assert light(First(), document).get("/").text == document


def test_the_document_says_a_maybe_as_the_viewer_does():
    loaded = tiny("cls")  # whose classes all have less than a half
    analysis = analyze(loaded, EXAMPLES[0].path)
    name = analysis.answer().name
    assert said_of(analysis)["en"].startswith(f"Maybe {name}, ")
    assert (asked_of(analysis, "en"), asked_of(analysis, "ko")) == (
        f"Maybe {name}",
        f"어쩌면 {name}",
    )
    made = First()
    made.make(analysis.to_bytes(), EXAMPLES[0])
    html = made.html("en").decode()
    assert '<div class="vv-first vv-first-maybe">' in html
    assert f'<p lang="en">Maybe {name}, ' in html


def test_the_document_brings_what_will_be_shown_while_its_files_are_there(first):
    made, analysis = first
    manifest = {"pass": {"id": "one"}, "files": {"first": Stored("/cache/a b/</script>", 7)}}
    bringing = First(lambda: manifest)
    assert bringing.html("en") == b""  # nothing was made yet
    bringing.make(analysis.to_bytes(), EXAMPLES[0])
    brought = bringing.html("en").decode()
    (told,) = re.findall(r"window.vitvizFirst = (.*);</script>", brought)
    assert "<" not in told
    files = {"first": {"path": "/cache/a b/</script>", "size": 7}}
    assert json.loads(told) == {**manifest, "files": files}
    (hinted,) = re.findall(r'as="fetch" href="([^"]+)"', brought)
    assert hinted == "gradio_api/file=/cache/a%20b/%3C/script%3E"
    assert "vitvizFirst" not in made.html("en").decode()  # its files were swept


def test_what_a_page_says_without_the_viewer_stands_in_its_template():
    assert "다시 시도" in TEMPLATE
    for wrong in ("\\", "`", "${", "{{"):  # Gradio would run them
        assert wrong not in TEMPLATE


def test_the_document_of_the_app_is_small_and_holds_no_bundle(app):
    url, first = app
    status, headers, body = raw(url, accept_encoding="gzip")
    assert (status, headers["content-encoding"]) == (200, "gzip")
    assert len(body) <= DOCUMENT_BYTES
    document = gzip.decompress(body).decode()
    assert VIEWER_FILE.path in document
    assert '<div class="vv-first' in first  # the app was warm before it answered
    assert "createOpening" in bundle()  # a name of its inside
    assert "createOpening" not in document
    # The style is a file, too; as `css` of Gradio each rule would be in the page twice.
    (style,) = re.findall(
        r'<link rel="stylesheet" href="(gradio_api/vitviz-style-[^"]+)">', document
    )
    status, headers, _ = raw(f"{url}/{style}", accept_encoding="gzip")
    assert (status, headers["content-type"]) == (200, "text/css; charset=utf-8")
    assert headers["cache-control"] == KEPT["Cache-Control"]
    assert ".gradio-container .vitviz .vv-board" in page_style()
    assert page_style().count(".vitviz.vitviz") == css().count(".vitviz.vitviz") > 0
    assert ".vv-board" not in document
    _, headers, body = raw(f"{url}/config", accept_encoding="gzip")
    assert headers["content-encoding"] == "gzip"
    # The page is told where it gets the weights of the shipped models, and of no others.
    told = {path.stem: weights_file(path).path for path in SHIPPED}
    config = gzip.decompress(raw(f"{url}/config", accept_encoding="gzip")[2]).decode()
    assert json.dumps(told, separators=(",", ":")) in config
    status, headers, body = raw(f"{url}/{told['mnist']}")
    assert (status, headers["cache-control"]) == (200, KEPT["Cache-Control"])
    assert body == (WEIGHTS_DIR / "mnist.safetensors").read_bytes()
    # What runs them is a file of its own: a visitor who only looks never gets it.
    _, headers, body = raw(f"{url}/{RUNNING_FILE.path}", accept_encoding="gzip")
    assert headers["content-encoding"] == "gzip"
    assert "function createEngine" in gzip.decompress(body).decode()
    assert "function createEngine" not in gradio_file("en")


@pytest.fixture(scope="module")
def locked(tmp_path_factory):
    """The address of an app with a login, below a path."""
    folder = tmp_path_factory.mktemp("locked")
    login = folder / "visitors"
    login.write_text("ada:lovelace\n")
    environ = {"VITVIZ_LOGIN": str(login), "VITVIZ_ROOT_PATH": "/vitviz"}
    environ["VITVIZ_LOG_LEVEL"] = "info"
    with running_app(folder, save_tiny(folder, "cls"), environ=environ) as url:
        yield url


def test_the_file_is_there_below_a_path_and_behind_a_login_and_no_other_hash(locked):
    # A proxy takes the path of the app away.
    status, headers, body = raw(f"{locked}/{VIEWER_FILE.path}", accept_encoding="gzip")
    assert (status, headers["content-encoding"]) == (200, "gzip")  # and Gradio leaves it so
    assert gzip.decompress(body).decode() == gradio_file("en")
    assert "vv-first" not in raw(locked)[2].decode()  # it asks for a password
    wrong = VIEWER_FILE.path.replace("vitviz-", "vitviz-0")
    assert raw(f"{locked}/{wrong}")[0] == 404


def test_the_app_answers_a_monitor_also_behind_a_login(locked):
    assert json.loads(raw(f"{locked}/healthz")[2])["answered"] == 0
    assert b"vitviz_analyses" in raw(f"{locked}/metrics")[2]
    assert raw(f"{locked}/config")[0] == 401
