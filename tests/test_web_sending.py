"""The viewer as a file that browsers keep; the document is small; no file is sent twice."""

import gzip
import hashlib
import io
import urllib.error
import urllib.request

import pytest
from PIL import Image
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.testclient import TestClient

from tests.running import running_app, save_tiny
from vitviz.viewer import bundle
from vitviz.viewer.bundle import as_file
from vitviz.web.page.components import TEMPLATE
from vitviz.web.page.sending import VIEWER_FILE, KeptFile, Light
from vitviz.web.store.examples import EXAMPLES

DOCUMENT_BYTES = 120_000
LONG = "a document " * 1000
HASH = 64 * "a"


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
    content = as_file().encode()
    assert bundle() in as_file()
    assert VIEWER_FILE.path == f"gradio_api/vitviz-{hashlib.sha256(content).hexdigest()[:16]}.js"
    assert KeptFile("vitviz", content + b" ", "js", "text/javascript").path != VIEWER_FILE.path


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
            assert reply.text == as_file()
    assert sizes["br"] < sizes["gzip"] < sizes["identity"] / 3
    brotli = pytest.importorskip("brotli")
    with client.stream("GET", VIEWER_FILE.path, headers={"accept-encoding": "br"}) as reply:
        assert brotli.decompress(b"".join(reply.iter_raw())).decode() == as_file()


def test_thumbnails_are_small_and_square():
    for example in EXAMPLES:
        small = example.thumbnail()
        assert len(small) < 5000
        with Image.open(io.BytesIO(small)) as picture:
            assert (picture.format, picture.size) == ("JPEG", (96, 96))


def light(**files):
    """A client of an app that answers `files` by address, behind the middleware."""

    def answer(request):
        return files[request.url.path.rsplit("/", 1)[1]]

    routes = [
        Route("/", lambda _: PlainTextResponse(LONG)),
        Route("/gradio_api/queue/data", lambda _: PlainTextResponse(LONG)),
        Route("/gradio_api/{path:path}", answer),
    ]
    return TestClient(Starlette(routes=routes, middleware=[Middleware(Light)]))


def test_the_document_is_compressed_and_names_the_file_of_the_viewer():
    client = light()
    reply = client.get("/", headers={"accept-encoding": "gzip"})
    assert reply.text == LONG
    assert reply.headers["content-encoding"] == "gzip"
    assert int(reply.headers["content-length"]) < len(LONG) / 10
    assert reply.headers["link"] == f"<{VIEWER_FILE.path}>; rel=preload; as=script"
    assert "content-encoding" not in client.get("/", headers={"accept-encoding": "br"}).headers
    events = client.get("/gradio_api/queue/data", headers={"accept-encoding": "gzip"})
    assert not {"content-encoding", "link"} & set(events.headers)


def test_a_file_that_the_browser_has_is_not_sent_again():
    changing = {"etag": '"0f"'}  # Gradio's mark, of size and time
    at = f"/gradio_api/file=/cache/{HASH}/layer"
    client = light(layer=Response(b"numbers", headers=changing))
    first = client.get(at)
    assert (first.status_code, first.content, first.headers["etag"]) == (
        200,
        b"numbers",
        f'"{HASH}"',
    )
    again = client.get(at, headers={"if-none-match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert "content-length" not in again.headers
    other = client.get(at, headers={"if-none-match": '"0f"'})
    assert (other.status_code, other.content) == (200, b"numbers")


def test_a_file_beside_the_cache_keeps_the_mark_of_gradio():
    client = light(a=Response(b"12", headers={"etag": '"0f"'}), b=Response(b"12"))
    assert client.get("/gradio_api/file=/a", headers={"if-none-match": '"0f"'}).status_code == 304
    assert client.get("/gradio_api/file=/a", headers={"if-none-match": '"00"'}).status_code == 200
    assert client.get("/gradio_api/file=/b", headers={"if-none-match": ""}).status_code == 200


@pytest.mark.parametrize("status", [206, 401, 403])
def test_only_a_whole_file_is_left_out(status):
    at = f"/gradio_api/file=/cache/{HASH}/layer"
    client = light(layer=Response(b"part", status, {"etag": '"0f"'}))
    reply = client.get(at, headers={"if-none-match": f'"{HASH}"'})
    assert (reply.status_code, reply.content, reply.headers["etag"]) == (status, b"part", '"0f"')


def test_what_a_page_says_without_the_viewer_stands_in_its_template():
    assert "다시 시도" in TEMPLATE
    for wrong in ("\\", "`", "${", "{{"):  # Gradio would run them
        assert wrong not in TEMPLATE


def test_the_document_of_the_app_is_small_and_holds_no_bundle(tmp_path):
    with running_app(tmp_path, save_tiny(tmp_path, "cls")) as url:
        status, headers, body = raw(url, accept_encoding="gzip")
        assert (status, headers["content-encoding"]) == (200, "gzip")
        assert len(body) <= DOCUMENT_BYTES
        document = gzip.decompress(body).decode()
        assert VIEWER_FILE.path in document
        assert "createOpening" in bundle()  # a name of its inside
        assert "createOpening" not in document
        _, headers, body = raw(f"{url}/config", accept_encoding="gzip")
        assert headers["content-encoding"] == "gzip"


def test_the_file_is_there_below_a_path_and_behind_a_login_and_no_other_hash(tmp_path):
    login = tmp_path / "visitors"
    login.write_text("ada:lovelace\n")
    environ = {"VITVIZ_LOGIN": str(login), "VITVIZ_ROOT_PATH": "/vitviz"}
    with running_app(tmp_path, save_tiny(tmp_path, "cls"), environ=environ) as url:
        # A proxy takes the path of the app away.
        status, headers, body = raw(f"{url}/{VIEWER_FILE.path}", accept_encoding="gzip")
        assert (status, headers["content-encoding"]) == (200, "gzip")  # and Gradio leaves it so
        assert gzip.decompress(body).decode() == as_file()
        wrong = VIEWER_FILE.path.replace("vitviz-", "vitviz-0")
        assert raw(f"{url}/{wrong}")[0] == 404
        assert raw(f"{url}/config")[0] == 401
