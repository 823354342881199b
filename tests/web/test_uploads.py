"""Uploads: what a form may hold, and where its pictures lie."""

import io

import httpx
import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware

from vitviz.web.host import limits
from vitviz.web.page.door import Door, Gate
from vitviz.web.page.uploads import upload_routes
from vitviz.web.store.cache import Cache
from vitviz.web.store.files import upload_name

UPLOAD = "http://localhost/gradio_api/upload"


@pytest.fixture
def cache(tmp_path):
    return Cache(tmp_path)


@pytest.fixture
def send(cache):
    """Send an upload through the door, without a network."""
    app = Starlette(routes=upload_routes(cache), middleware=[Middleware(Door, gate=Gate(cache))])

    async def post(**form):
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app)) as client:
            return await client.post(UPLOAD, **form)

    import anyio

    return lambda **form: anyio.run(lambda: post(**form))


def files(cache):
    return sorted(path.name for path in cache.folder.rglob("*") if path.is_file())


def test_the_folder_of_a_picture_says_nothing_about_other_names_of_it(send, cache):
    names = ("a dog.png", "a cat.png", "a dog.png")
    first, other, again = (send(files={"files": (name, b"a picture")}).json()[0] for name in names)
    assert cache.get(first) == cache.get(other) == b"a picture"
    assert first.endswith("/a dog.png")
    assert first.split("/")[-2] != other.split("/")[-2]
    assert first == again  # the visitor's page knows it again


def test_several_files_come_back_in_order(send, cache):
    paths = send(files=[("files", (name, name.encode())) for name in ("b.png", "a.png")]).json()
    assert [cache.get(path) for path in paths] == [b"b.png", b"a.png"]


@pytest.mark.parametrize(
    "form",
    [
        {"files": [("files", ("a.png", b"x"))] * (limits.UPLOAD_PARTS + 1)},
        {"files": {"files": ("a.png", b"x")}, "data": {"a": "y" * 2000}},
        {"files": {"files": ("a.png", b"x")}, "data": {str(i): "y" for i in range(9)}},
        {"data": {"files": "no file"}},
        {"content": b"no form"},
        {"content": b"--x", "headers": {"content-type": "multipart/form-data; boundary=x"}},
        {"content": b"--x", "headers": {"content-type": "multipart/form-data"}},
    ],
)
def test_what_is_no_form_of_a_few_pictures_is_refused_and_leaves_nothing(send, cache, form):
    answer = send(**form)
    assert answer.status_code == 400
    assert f"one to {limits.UPLOAD_PARTS} pictures" in answer.text
    assert files(cache) == []


def test_a_copy_that_fails_leaves_nothing(cache):
    class Broken(io.BytesIO):
        """Breaks when it is read a second time."""

        def read(self, *size):
            if self.tell() == 0 and hasattr(self, "once"):
                raise OSError("gone")
            self.once = True
            return super().read(*size)

    with pytest.raises(OSError, match="gone"):
        cache.take(Broken(b"x"), "a.png")
    assert files(cache) == []


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("a dog.png", "a dog.png"),
        ("../../etc/passwd", "passwd"),
        ("C:\\photos\\a.JPG", "a.JPG"),
        ("..", "photo"),
        ("", "photo"),
        (".png", "photo.png"),
        ("a\n\x00<b>.png", "ab.png"),
        ("사진.jpeg", "사진.jpeg"),
        ("x" * 900 + ".png", "x" * 200 + ".png"),
        ("archive.tarball", "archive.tarball"),
    ],
)
def test_the_name_of_an_upload_is_a_file_name_everywhere(name, wanted):
    assert upload_name(name) == wanted
