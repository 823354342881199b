"""The page: Gradio's updates for each reply, and what each of many sessions costs."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import gradio as gr
import pytest
from gradio.data_classes import FileData, ImageData

from tests.running import ROOT, save_tiny
from vitviz.errors import VitvizError, WeightsError
from vitviz.languages import Message
from vitviz.model.key import ModelKey
from vitviz.model.photo_levels import Look
from vitviz.web.compute.jobs import Refusal
from vitviz.web.host import limits
from vitviz.web.page.build import given_of, key_of, places
from vitviz.web.page.components import Manifest
from vitviz.web.page.gradio_inside import PhotoInput
from vitviz.web.page.sending import thumbnail_file
from vitviz.web.service.beside import picked
from vitviz.web.service.replies import Answered, Left, Refused, Shown, Stored, Unchanged
from vitviz.web.store.examples import EXAMPLES
from vitviz.web.store.store import Upload

# Runs in a process of its own, because Gradio leaves event loops and sockets open.
FACTS = """
import json, sys
from gradio.components import html
from gradio.state_holder import StateHolder
from PIL import Image
from vitviz.web import Settings, build_app
from vitviz.web.page.components import Viewer

demo, options = build_app(Settings(models=(sys.argv[1],)))
searched, search = [], html.re.search
html.re.search = lambda pattern, text, *rest: searched.append(len(text)) or search(pattern, text)
holder = StateHolder()
holder.set_blocks(demo)
configs = len(holder["a page"].config_values)
viewer = next(block for block in demo.blocks.values() if isinstance(block, Viewer))
thumbnails = next(block for block in demo.blocks.values() if hasattr(block, "raw_samples"))
print(json.dumps({
    "configs": configs,
    "longest search": max(searched, default=0),
    "lacks": not hasattr(viewer, "nothing"),
    "folders": [viewer.GRADIO_CACHE, str(demo.gate.cache.folder)],
    "sessions": options["state_session_capacity"],
    "block": Image.core.get_block_size(),
    "examples": [sample[0] for sample in thumbnails.samples],
    "finished": [fn.postprocess for fn in demo.fns.values() if viewer in fn.outputs],
    "lines": [
        [fn.api_name, viewer in fn.outputs, fn.concurrency_id, fn.concurrency_limit]
        for fn in demo.fns.values()
        if fn.queue and fn.fn
    ],
}))
demo.gate.cache.delete()
"""


@pytest.fixture(scope="module")
def facts(tmp_path_factory):
    folder = tmp_path_factory.mktemp("page")
    env = {**os.environ, "GRADIO_TEMP_DIR": str(folder / "cache")}
    command = [sys.executable, "-c", FACTS, str(save_tiny(folder, "cls"))]
    said = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=True)
    return json.loads(said.stdout)


def test_a_session_does_not_search_our_script(facts):
    """For each new session, Gradio looks up many missing attributes of each component."""
    assert facts["configs"] > 10
    assert facts["longest search"] < 10_000
    assert facts["lacks"]


def test_an_answer_takes_no_thread_for_each_of_its_places(facts):
    assert len(facts["finished"]) > 5
    assert not any(facts["finished"])


def test_pages_wait_in_another_line_than_programs(facts):
    """A survey of a program can take minutes."""
    named = ("analyze", "explain", "intervene", "compare", "survey", "models")
    of_programs = {line for name, _, line, _ in facts["lines"] if name in named}
    of_page = {line for name, of_page, line, _ in facts["lines"] if of_page}
    assert len(of_programs) == len(of_page) == 1
    assert of_programs != of_page
    assert {most for *_, most in facts["lines"]} == {limits.FIRST_WORKERS}


def test_gradio_keeps_its_files_where_ours_lie(facts):
    theirs, ours = facts["folders"]
    assert theirs == ours


def test_only_so_many_sessions_are_kept(facts):
    assert facts["sessions"] == limits.SESSIONS_KNOWN


def test_the_memory_of_a_large_photo_is_given_back(facts):
    assert facts["block"] == limits.PILLOW_BLOCK_BYTES


def test_no_example_is_shown_from_the_cache(facts):
    """The cache is swept, and the page would show a broken picture."""
    paths = [example["path"] for example in facts["examples"]]
    assert len(paths) > 5
    assert set(paths) <= {example.path for example in EXAMPLES}
    by_path = {example.path: f"/{thumbnail_file(example).path}" for example in EXAMPLES}
    shown = [example["url"] for example in facts["examples"]]
    assert shown == [by_path[path] for path in paths]


SHOWN = Shown(Upload("/cache/a.png", "a.png"), ModelKey("mnist", untrained=True))
SKIP = gr.skip()


def test_what_a_viewer_sends_as_a_drawing_can_be_anything():
    sent = {"path": "/cache/1/drawing-1.png", "name": "drawing-1.png", "first": True}
    upload = Upload(sent["path"], sent["name"])
    assert given_of(sent) == (upload, True, Look(), None)
    more = {**sent, "first": False, "inverted": True, "stretched": 1, "size": "144"}
    assert given_of(more) == (upload, False, Look(invert=True), "144")
    assert given_of({**sent, "stretched": True}).look == Look(stretch=True)
    assert given_of({"first": True}) == (None, True, Look(), None)  # it stays in the browser
    wrong_ones = (None, [], "a", {**sent, "path": 3}, {**sent, "first": 1}, {"path": "/a"})
    for wrong in (*wrong_ones, {"first": False}):
        with pytest.raises(VitvizError, match="Upload the picture itself"):
            given_of(wrong)


@pytest.mark.parametrize("name", ["/srv/ada/vitviz/a.png", "C:\\Users\\Ada\\a.png", ""])
@pytest.mark.parametrize("way", ["the viewer", "the picture input", "beside"])
def test_the_name_of_a_picture_has_no_folders_whichever_way_it_comes(tmp_path, name, way):
    """The alias of a folder became its path, which was cut so that no alias took its place."""
    file = tmp_path / "a.png"
    file.touch()
    sent = {"path": str(file), "name": name}
    if way == "the viewer":
        upload = given_of({**sent, "first": True}).upload
    elif way == "the picture input":
        photo = PhotoInput()
        photo.GRADIO_CACHE = str(tmp_path)
        upload = photo.preprocess(ImageData(path=str(file), orig_name=name))
    else:
        upload = picked(sent, SHOWN, ()).photo
    assert upload == Upload(str(file), "a.png")


def test_the_controls_name_a_model_and_what_is_shown_its_size():
    shown = SHOWN._replace(model=ModelKey("mnist", image_size=56))
    assert key_of("mnist", True, shown) == ModelKey("mnist", True, 56)
    assert key_of("photos", True, shown) == ModelKey("photos", True)
    assert key_of("mnist", "no", shown) == shown.model  # only True counts as untrained
    for wrong in (["mnist"], {"a": 1}, 5, None):
        with pytest.raises(WeightsError, match="the name of a model must be a text"):
            key_of(wrong, False, shown)


def sent(address):
    """A file as Gradio sends it, which gives it the address for browsers."""
    return FileData(path=address, orig_name=Path(address).name).model_dump()


def test_what_stays_as_it_is():
    assert places(Unchanged()) == (SKIP,) * 6


def test_a_refusal_is_told_and_the_controls_say_what_is_shown():
    text = Message("photo.empty", name="'<b>.jpg'", allowed="x.")
    refusal = Refusal(text, of_picture=True)
    for photo, there in (
        (Left.AS_IT_IS, SKIP),
        (None, None),
        ("/cache/b.png", sent("/cache/b.png")),
    ):
        with pytest.warns(UserWarning, match=r"'&lt;b&gt;.jpg' is empty.*vv-ko.*빈 파일"):
            answer = places(Refused(refusal, SHOWN, photo))
        assert answer == (SKIP, there, "mnist", SHOWN, SKIP, True)


def test_an_answer_fills_the_places_that_are_its_own():
    files = {
        "picture": Stored("/cache/p", 3),
        "layer-00": Stored("/cache/l", 4),
        "features": {"late": True},
    }
    manifest = {"pass": {"id": "1"}, "files": files}
    download = gr.update(value=sent("/cache/s"), interactive=True)
    view, *rest = places(Answered(manifest, "/cache/s", SHOWN))
    assert rest == [SKIP, "mnist", SHOWN, download, True]
    view = Manifest(**view)
    assert view.id == "1"
    layer = {"path": "/cache/l", "size": 4}
    files = {
        "picture": {"path": "/cache/p", "size": 3},
        "layer-00": layer,
        "features": {"late": True},
    }
    assert json.loads(view.text) == {"pass": {"id": "1"}, "files": files}
    # While a later request is under way, the controls are left to it.
    _, *rest = places(Answered(manifest, "/cache/s", SHOWN, "/cache/q", controls=False))
    assert rest == [sent("/cache/q"), SKIP, SHOWN, download, SKIP]


def test_the_page_and_the_viewer_have_no_class_in_common():
    """The rule that hides the buttons above the page from a class hid vectors in the viewer too."""

    def classes(folder: str) -> set[str]:
        sheets = [path.read_text() for path in (ROOT / "vitviz" / folder).rglob("*.css")]
        return {name for sheet in sheets for name in re.findall(r"\.(vv-[\w-]+)", sheet)}

    # page.css draws the placeholder of a busy viewer in `vv-message`, marks the root of the page
    # while a file is dragged over it (hosts/drops.js; a site has its own rule), and hides the
    # viewer's button for lessons, as the page has one.
    asked_for = {"vv-message", "vv-dropping-on-page", "vv-lessons-button"}
    assert classes("web") & classes("viewer") == asked_for
