"""Uploads: what a form may hold, and where its pictures lie."""

import io
import threading
from contextlib import suppress

import anyio
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


HEAD = b'--x\r\nContent-Disposition: form-data; name="files"; filename="a.png"\r\n\r\n'
OF_X = {"content-type": "multipart/form-data; boundary=x"}


def test_a_file_with_its_boundary_inside_many_times_is_refused(send, cache):
    content = HEAD + b"\r\n--xZ" * 2 * limits.UPLOAD_PARTS + b"\r\n--x--\r\n"
    assert send(content=content, headers=OF_X).status_code == 400
    assert files(cache) == []


def in_pieces(*pieces):
    async def sending():
        for piece in pieces:
            yield piece

    return sending()


@pytest.mark.parametrize("space", [b" ", b"\t"])
def test_a_space_after_a_boundary_is_refused_also_where_it_comes_later(send, cache, space):
    """The parser would walk over each of millions."""
    for pieces in ((HEAD + b"a\r\n--x" + space,), (HEAD + b"a\r\n-", b"-x", space)):
        content = in_pieces(*pieces, space + b"\r\n" + HEAD[5:] + b"b\r\n--x--\r\n")
        assert send(content=content, headers=OF_X).status_code == 400
    assert files(cache) == []


def test_a_boundary_in_two_pieces_counts(send, cache):
    pieces = [HEAD + b"a", *([b"\r\n--", b"xZ"] * 2 * limits.UPLOAD_PARTS), b"\r\n--x--\r\n"]
    assert send(content=in_pieces(*pieces), headers=OF_X).status_code == 400
    assert files(cache) == []


def test_a_form_of_as_many_files_and_fields_as_it_may_have_is_taken(send):
    form = {"files": [("files", (f"{i}.png", b"x")) for i in range(limits.UPLOAD_PARTS)]}
    form["data"] = {str(i): "y" for i in range(limits.UPLOAD_PARTS)}
    assert len(send(**form).json()) == limits.UPLOAD_PARTS


def test_files_of_an_address_are_stored_one_after_the_other(cache, monkeypatch):
    """60 uploads of 33 MB took all threads, and kept others waiting for 4 s."""
    take, together, met = cache.take, threading.Barrier(2), []

    def taking(file, name):
        with suppress(threading.BrokenBarrierError):
            together.wait(0.5 if name == "alone.png" else 20)
            met.append(name)
        return take(file, name)

    monkeypatch.setattr(cache, "take", taking)
    app = Starlette(routes=upload_routes(cache), middleware=[Middleware(Door, gate=Gate(cache))])

    async def post(address, name):
        transport = httpx.ASGITransport(app, client=(address, 1))
        async with httpx.AsyncClient(transport=transport) as client:
            (await client.post(UPLOAD, files={"files": (name, b"x")})).raise_for_status()

    async def all_of(name, addresses):
        async with anyio.create_task_group() as tasks:
            for address in addresses:
                tasks.start_soon(post, address, name)

    anyio.run(all_of, "other.png", "ab")
    assert met == ["other.png"] * 2
    anyio.run(all_of, "alone.png", "aa")
    assert met == ["other.png"] * 2


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
