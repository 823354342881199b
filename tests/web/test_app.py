"""The public API through gradio_client: the same numbers as in Python, and errors as sentences."""

import io
import json
import re
import subprocess
import sys
import urllib.parse
import urllib.request

import httpx
import numpy as np
import pytest
import torch
from gradio_client import handle_file
from gradio_client.exceptions import AppError
from PIL import Image

import vitviz
from tests.models import photo
from tests.running import ROOT, pictures, upload_breaks_off


@pytest.fixture
def models(app_models):
    return app_models


@pytest.fixture
def log(app_folder):
    return app_folder / "app.log"


def analyze(client, path, *args, **kwargs):
    return client.predict(handle_file(path), *args, api_name="/analyze", **kwargs)


def raw(url, data, language=""):
    """The server's answer to a request written by hand, which no client has completed."""
    body = json.dumps({"data": data}).encode()
    call = f"{url}/gradio_api/call/analyze"
    headers = {"Content-Type": "application/json", "Accept-Language": language}
    request = urllib.request.Request(call, body, headers)
    with urllib.request.urlopen(request, timeout=30) as answer:
        event = json.load(answer)["event_id"]
    with urllib.request.urlopen(f"{call}/{event}", timeout=30) as answer:
        return answer.read().decode()


def uploaded(url, picture):
    """Upload a picture by hand. Returns its path on the server."""
    mark = b"--vitviz"
    head = b'Content-Disposition: form-data; name="files"; filename="a.png"'
    body = b"\r\n".join([mark, head, b"", picture.read_bytes(), mark + b"--", b""])
    request = urllib.request.Request(f"{url}/gradio_api/upload", body)
    request.add_header("Content-Type", "multipart/form-data; boundary=vitviz")
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.load(answer)[0]


@pytest.mark.parametrize("name", ["cls", "registers", "grey"])
def test_the_api_gives_the_arrays_of_python(client, models, picture, name):
    summary, file = analyze(client, picture, f"tiny-{name}")
    ours, theirs = vitviz.analyze(vitviz.load(models[name]), picture), vitviz.Analysis.load(file)
    for what in ("q", "k", "tokens", "logits"):
        torch.testing.assert_close(
            getattr(theirs.trace, what), getattr(ours.trace, what), rtol=1e-5, atol=1e-6
        )
    assert torch.equal(theirs.picture, ours.picture)
    assert theirs.photo_name == "a dog.png"
    selection = summary.pop("selection")
    expected = ours.summary(5)
    assert [p["index"] for p in summary["predictions"]] == [
        p["index"] for p in expected["predictions"]
    ]
    same = summary | {"predictions": None}
    assert same == json.loads(json.dumps(expected)) | {"predictions": None}
    last = ours.trace.depth - 1
    assert (selection["token"], selection["layer"], selection["head"]) == (0, last, "mean")
    np.testing.assert_allclose(selection["attention"], ours.attention(last), rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(selection["rollout"], ours.rollout(), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("untrained", [False, True])
@pytest.mark.parametrize(
    ("name", "asked", "size"),
    [
        ("cls", 48, (48, 48)),
        ("cls", "24x40", (24, 40)),
        ("registers", [20, 12], (20, 12)),
        ("grey", "14", (14, 14)),
        ("cls", "32", (32, 32)),  # its own
    ],
)
def test_the_api_gives_the_arrays_of_python_in_any_size(
    client, models, picture, name, asked, size, untrained
):
    options = {"untrained": untrained, "image_size": asked}
    summary, file = analyze(client, picture, f"tiny-{name}", **options)
    loaded = vitviz.load(models[name], pretrained=not untrained, image_size=size)
    ours, theirs = vitviz.analyze(loaded, picture), vitviz.Analysis.load(file)
    assert (theirs.grid, theirs.card) == (ours.grid, ours.card)
    assert summary["image_size"] == list(size)
    for what in ("q", "k", "tokens", "logits"):
        torch.testing.assert_close(
            getattr(theirs.trace, what), getattr(ours.trace, what), rtol=1e-5, atol=1e-5
        )
    rollout = summary["selection"]["rollout"]
    np.testing.assert_allclose(rollout, ours.rollout(), rtol=1e-5, atol=1e-5)
    said = "" if size == (32, 32) else f"-{loaded.card.key.size}"
    twin = "-untrained" if untrained else ""
    assert file.endswith(f"a-dog-tiny-{name}{said}{twin}.safetensors")


def test_the_newest_inputs_come_last_and_old_calls_go_on(client, url, models, picture):
    summary, file = analyze(client, picture, "tiny-cls", 5, 1, 0, True)
    twin = vitviz.analyze(vitviz.load(models["cls"], pretrained=False), picture)
    assert summary["model"]["trained"] is False
    assert file.endswith("a-dog-tiny-cls-untrained.safetensors")
    attention = summary["selection"]["attention"]
    np.testing.assert_allclose(attention, twin.attention(1, 0, 5), rtol=1e-4, atol=1e-6)
    summary, file = analyze(client, picture, "tiny-cls", 5, 1, 0, False, True)
    inverted = vitviz.analyze(vitviz.load(models["cls"]), picture, invert=True)
    assert summary["photo"] == json.loads(json.dumps(inverted.facts()))["photo"]
    assert file.endswith("a-dog-tiny-cls-inverted.safetensors")
    attention = summary["selection"]["attention"]
    np.testing.assert_allclose(attention, inverted.attention(1, 0, 5), rtol=1e-4, atol=1e-6)
    # By position, as before there were these inputs; and by hand, with fewer inputs still.
    assert analyze(client, picture, "tiny-cls", 5, 1, 0)[0]["model"]["trained"] is True
    file = {"path": uploaded(url, picture), **MARK}
    for rest in (["tiny-grey", 5, 1, 0], ["tiny-grey"]):
        answer = raw(url, [file, *rest])
        assert "event: complete" in answer
        assert '"name": "tiny-grey"' in answer
    assert "event: error" in raw(url, [])
    for inputs in (["nope"], [file, "nope"]):  # before the function is called, and in it
        told = raw(url, inputs, "ko-KR").encode("latin-1", "replace").decode("unicode_escape")
        assert re.search("[가-힣]", told), told


def test_only_questions_of_programs_are_public(client):
    api = client.view_api(return_format="dict", print_info=False)
    questions = ["analyze", "explain", "intervene", "compare", "survey", "models"]
    assert list(api["named_endpoints"]) == [f"/{name}" for name in questions]
    assert not api["unnamed_endpoints"]
    parameters = api["named_endpoints"]["/analyze"]["parameters"]
    assert [p["parameter_name"] for p in parameters] == [
        *("photo", "model", "token", "layer", "head", "untrained", "invert"),
        *("explainer", "target", "interventions", "image_size", "stretch", "like"),
    ]
    assert [p["parameter_has_default"] for p in parameters] == [False, *[True] * 12]
    assert [p["type"] for p in parameters[5:7]] == [{"type": "boolean"}] * 2


def cut_off() -> bytes:
    Image.fromarray(photo(200, 200)).save(buffer := io.BytesIO(), "JPEG")
    return buffer.getvalue()[:1500]


BAD = {
    "empty.jpg": (b"", "is empty"),
    "text.jpg": (b"I am not a picture", "it is text"),
    "drawing.svg": (b"<svg xmlns='http://www.w3.org/2000/svg'/>", "SVG"),
    "cut.jpg": (cut_off(), "cut off or damaged"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_picture_gives_a_sentence_and_the_next_one_works(client, folder, picture, name):
    data, says = BAD[name]
    (folder / name).write_bytes(data)
    with pytest.raises(AppError, match=says):
        analyze(client, folder / name)
    assert analyze(client, picture)[0]["photo"]["name"] == "a dog.png"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"model": "../weights/photos"}, "no model '../weights/photos'"),
        ({"token": -1}, "oken must be"),
        ({"layer": 3}, "ayer must be"),
        ({"layer": -2}, "ayer must be"),  # -1 alone is the last one
        ({"head": -2}, "ead must be"),
        ({"head": 2}, "ead must be"),
        ({"token": 0.5}, "must be a whole number"),
        ({"invert": "x"}, "must be true or false"),
        ({"stretch": 1}, "tretch must be true or false"),
        ({"image_size": "8x4104"}, "4096 pixels a side; 8 x 4104 pixels came"),
        ({"image_size": 4000}, "at most 1400 tokens .* 4000 x 4000 pixels came"),
        ({"image_size": [8, 8, 8]}, r"mage_size must be .* got .8, 8, 8."),
        ({"image_size": 0}, "mage_size must be .* got 0"),
        ({"image_size": {"a": 1}}, "mage_size must be one or two whole numbers"),
    ],
    ids=str,
)
def test_a_bad_choice_gives_a_sentence(client, picture, arguments, says):
    with pytest.raises(AppError, match=says):
        analyze(client, picture, **arguments)


def test_no_picture_gives_a_sentence(client):
    with pytest.raises(AppError, match="A picture is needed"):
        client.predict(None, api_name="/analyze")


def test_a_timm_model_without_a_network_gives_a_sentence(client, picture):
    with pytest.raises(AppError, match="not on this machine") as caught:
        analyze(client, picture, "deit_tiny_patch16_224.fb_in1k")
    assert "work without a network" in str(caught.value)


MARK = {"meta": {"_type": "gradio.FileData"}}


@pytest.mark.parametrize("mark", [{}, MARK], ids=["unmarked", "marked"])
@pytest.mark.parametrize("where", ["file", "link", "escape", "data"])
def test_only_uploads_are_opened(url, log, app_folder, picture, mark, where):
    file = {
        "file": {"path": str(picture)},
        "link": {"path": "http://127.0.0.1:9/picture.png"},
        "escape": {"path": str(app_folder / "cache" / ".." / picture.name)},
        "data": {"path": "", "url": "data:image/png;base64,iVBORw0KGgo="},
    }[where]
    (app_folder / picture.name).write_bytes(picture.read_bytes())
    before = log.read_text()
    answer = raw(url, [{**file, **mark}, "tiny-cls", 0, -1, -1])
    assert "event: error" in answer
    assert "event: complete" not in answer
    unmarked = {"data": "A picture is needed"}.get(where, "This picture is not here")
    assert ("Upload the picture itself" if mark else unmarked) in answer
    assert log.read_text() == before  # a visitor's mistake is not the host's


def test_notes_say_what_was_done_to_the_picture(client, folder):
    frames = [Image.new("RGB", (40, 30), color) for color in ("red", "lime", "blue")]
    frames[0].save(folder / "moving.gif", save_all=True, append_images=frames[1:])
    summary, _ = analyze(client, folder / "moving.gif")
    assert summary["photo"]["name"] == "moving.gif"
    assert summary["photo"]["notes"] == ["first of 3 frames"]


@pytest.mark.parametrize("path", ["component_server", "queue/join", "call/analyze", "run/analyze"])
def test_a_body_without_measure_is_refused_at_every_door(url, path):
    request = urllib.request.Request(f"{url}/gradio_api/{path}", b"[" * 9_000_000)
    request.add_header("Content-Type", "application/json")
    with pytest.raises(OSError, match=r"413|[Rr]eset|[Pp]ipe"):  # it may close while we write
        urllib.request.urlopen(request, timeout=30)


@pytest.mark.parametrize("path", ["x", "a\0b", "../" * 20_000], ids=["short", "zero", "long"])
@pytest.mark.parametrize("event", ["look", "photo", "resize", "model"])
def test_a_path_in_the_data_of_an_event_is_none_for_gradio(url, log, event, path):
    """Gradio resolved it on its event loop, 0.4 s for a long one, and logged a traceback."""
    config = httpx.get(f"{url}/config", timeout=60).json()
    viewer = next(c["id"] for c in config["components"] if c["props"].get("elem_id") == "vv-viewer")
    fn = next(d["id"] for d in config["dependencies"] if [viewer, event] in d["targets"])
    data = [None, "photos", None, False][event == "photo" :]
    sent = {"data": data, "event_data": {"path": path}, "fn_index": fn, "session_hash": "a"}
    before = log.stat().st_size
    said = httpx.post(f"{url}/gradio_api/run/predict", json=sent, timeout=60).text
    assert "not in the cache folder" not in said  # Gradio's own sentence
    new = log.read_text()[before:]
    assert "Traceback" not in new
    assert len(new) < 2000  # the line of an analysis, and no path


@pytest.mark.parametrize("event", ["again", "look", "resize", "model"])
def test_what_needs_the_photo_sends_it_again_where_it_was_deleted(url, event):
    config = httpx.get(f"{url}/config", timeout=60).json()
    viewer = next(c["id"] for c in config["components"] if c["props"].get("elem_id") == "vv-viewer")
    found = next(d["js"] for d in config["dependencies"] if [viewer, event] in d["targets"])
    assert "vitviz.photos.alive(photo)" in str(found)


@pytest.mark.parametrize("what", ["log", "of the folder", "", ".", "cache", "link", "upload/.."])
def test_no_file_is_given_out_for_the_path_of_a_photo(url, log, app_folder, what):
    """Gradio copied any file of its working or temporary folder into the cache, such as one with
    passwords, and fetched links: the path of a refused photo went back to it.
    """
    (app_folder / "passwords.txt").write_text("ada:secret")
    path = {
        "log": str(log), "of the folder": "passwords.txt", "cache": "/vitviz/cache",
        "link": f"{url}/healthz", "upload/..": "/vitviz/cache/../app.log",
    }.get(what, what)  # fmt: skip
    config = httpx.get(f"{url}/config", timeout=60).json()
    viewer = next(c["id"] for c in config["components"] if c["props"].get("elem_id") == "vv-viewer")
    fn = next(d["id"] for d in config["dependencies"] if [viewer, "photo"] in d["targets"])
    event = {"path": path, "name": "a.png", "first": False}
    sent = {"data": ["photos", None, False], "event_data": event, "fn_index": fn}
    before, files = log.stat().st_size, set(pictures(app_folder))
    answer = httpx.post(f"{url}/gradio_api/run/predict", json=sent, timeout=60)
    assert answer.status_code == 200
    assert answer.json()["data"][1] is None  # the picture input is empty
    assert str(app_folder) not in answer.text
    assert "Traceback" not in log.read_text()[before:]
    assert set(pictures(app_folder)) <= files


def test_an_upload_that_breaks_off_leaves_nothing(url, app_folder):
    before = set(pictures(app_folder))
    for _ in range(3):
        upload_breaks_off(url)
    with urllib.request.urlopen(f"{url}/healthz", timeout=30) as answer:
        assert answer.status == 200
    assert set(pictures(app_folder)) <= before
    assert "Traceback" not in (app_folder / "app.log").read_text()


def test_examples_can_be_fetched_and_are_not_in_the_cache(url):
    with urllib.request.urlopen(f"{url}/config", timeout=30) as answer:
        components = json.load(answer)["components"]
    dataset = next(one for one in components if one["type"] == "dataset")
    for sample in dataset["props"]["samples"]:
        assert "/cache/" not in sample[0]["url"]
        with urllib.request.urlopen(sample[0]["url"], timeout=30) as answer:
            assert len(answer.read()) > 100


def test_a_host_who_names_a_wrong_model_gets_a_sentence(folder):
    command = [sys.executable, ROOT / "app.py", "--model", "missing.safetensors"]
    ended = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120)
    assert ended.returncode == 1
    assert ended.stdout == "vitviz starts: its address comes in some seconds\n"
    assert ended.stderr.strip() == "vitviz serve: there is no checkpoint file missing.safetensors"


def test_the_page_asks_no_other_host(url):
    with urllib.request.urlopen(url, timeout=60) as answer:
        page = answer.read().decode()
    assert "fonts.googleapis.com" not in page
    with urllib.request.urlopen(f"{url}/theme.css", timeout=60) as answer:
        assert "http" not in answer.read().decode().replace("http://www.w3.org/2000/svg", "")


def test_a_program_changes_the_pass_and_asks_why(client, models, picture):
    changes = [{"kind": "remove", "patches": [3, 4]}]
    asked = {"explainer": "generic", "target": 2, "interventions": changes}
    summary, file = analyze(client, picture, "tiny-cls", token=1, **asked)
    ours = vitviz.analyze(vitviz.load(models["cls"]), picture, interventions=changes)
    assert summary["interventions"] == changes
    found = summary["selection"]["relevance"]
    assert found["target"] == 2
    np.testing.assert_allclose(found["values"], ours.explain("generic", 1, 2), atol=1e-6)
    assert vitviz.Analysis.load(file).interventions == ours.interventions
    with pytest.raises(AppError, match="Remove: patches count from 0 to 15"):
        analyze(client, picture, "tiny-cls", interventions=[{"kind": "remove", "patches": [16]}])
    with pytest.raises(AppError, match="has no class 99"):
        analyze(client, picture, "tiny-cls", explainer="generic", target=99)
