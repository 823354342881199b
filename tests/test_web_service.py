"""What the page's functions answer, without a page: failures leave everything as it was."""

import base64
import re
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace

import gradio as gr
import pytest
import torch
from matplotlib.figure import Figure
from PIL import Image

import vitviz
import vitviz.draw
from tests.models import photo
from tests.running import save_tiny
from tests.viewer_fixture import film
from vitviz.errors import VitvizError
from vitviz.viewer import pack
from vitviz.viewer.payload import LATE
from vitviz.web import limits, service
from vitviz.web.answers import APOLOGY
from vitviz.web.cache import Cache
from vitviz.web.components import Upload
from vitviz.web.figures import FIGURES
from vitviz.web.models import Models
from vitviz.web.service import Service, Shown

SKIP = gr.skip()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("service")


@pytest.fixture(scope="module")
def models(folder):
    paths = [save_tiny(folder, name) for name in ("cls", "grey")]
    return Models([str(path) for path in (*paths, told(folder))])


def told(folder: Path) -> Path:
    """A tiny model that says what was measured of it, with a film of its training."""
    film(folder / "told.film.safetensors")
    return save_tiny(folder, "cls", stem="told", seed="3", evaluation='{"top1": 0.5}')


@pytest.fixture
def desk(models, folder, monkeypatch):
    monkeypatch.setenv("GRADIO_TEMP_DIR", str(folder / "cache"))
    return Service(models, Cache())


@pytest.fixture(scope="module")
def upload(folder):
    Image.fromarray(photo()).save(folder / "a.png")
    return Upload(str(folder / "a.png"), "my dog.png")


@pytest.fixture
def analysis(desk, upload):
    return vitviz.analyze(desk.models.get("tiny-cls"), upload.path)


START = Shown(None, "tiny-cls")


def question(key, **changes):
    asked = {"token": 3, "layer": 2, "first": 0, "residual": 0.5, "head_fusion": "mean"}
    return {"id": key, **asked, **changes}


def test_an_answer_fills_every_place(desk, upload, analysis):
    manifest, kept_photo, model, shown, download, untrained = desk.show(upload, "tiny-cls", START)
    assert manifest.photo["name"] == "my dog.png"
    assert kept_photo == SKIP
    assert (model, shown, untrained) == ("tiny-cls", Shown(upload, "tiny-cls"), False)
    assert manifest.model["trained"]
    saved = vitviz.Analysis.load(download["value"])
    assert torch.equal(saved.trace.q, analysis.trace.q)
    for file in (manifest.files["picture"], *manifest.files["layers"]):
        assert Path(file.path).stat().st_size == file.size


def test_two_analyses_of_one_photo_differ_in_id_and_share_files(desk, upload):
    first, second = (desk.show(upload, "tiny-cls", START)[0] for _ in "ab")
    assert first.id != second.id
    assert first.files["picture"].path == second.files["picture"].path


def test_a_link_names_our_own_pictures_only(desk, upload, folder):
    index = [example.name for example in desk.examples].index("red panda")
    manifest, path, *_ = desk.show_example(index, "tiny-cls", START)
    assert manifest.link == {"model": "tiny-cls", "example": "red-panda"}
    copy = folder / "red-panda.jpg"  # the page sends an example back as a file of its own
    copy.write_bytes(Path(path).read_bytes())
    manifest, *_ = desk.show(Upload(str(copy), copy.name), "tiny-grey", START, True)
    assert manifest.link == {"model": "tiny-grey", "example": "red-panda", "untrained": "1"}
    assert desk.show(upload, "tiny-cls", START)[0].link == {"model": "tiny-cls"}
    named = Upload(upload.path, "red-panda.jpg")  # another picture under its name
    assert desk.show(named, "tiny-cls", START)[0].link == {"model": "tiny-cls"}


def test_the_untrained_twin_of_a_model(desk, upload):
    manifest, _, model, shown, download, untrained = desk.show(upload, "tiny-cls", START, True)
    assert not manifest.model["trained"]
    assert (model, shown.untrained, untrained) == ("tiny-cls", True, True)
    saved = vitviz.Analysis.load(download["value"])
    assert saved.card.source.startswith("untrained")
    assert download["value"].endswith("untrained.safetensors")
    twin = vitviz.load(desk.models._sources["tiny-cls"], pretrained=False)
    assert torch.equal(saved.trace.logits, vitviz.analyze(twin, upload.path).trace.logits)
    # What fails leaves the switch where it was; what comes from outside is not believed.
    with pytest.warns(UserWarning, match="There is no model"):
        assert desk.show(upload, "nonsense", shown, False)[-1] is True
    assert desk.show(upload, "tiny-cls", START, "no")[-1] is False


def test_a_bad_picture_gives_way_to_the_one_before(desk, upload, folder):
    (folder / "bad.jpg").write_text("text")
    shown = Shown(upload, "tiny-cls")
    with pytest.warns(UserWarning, match="'bad &lt;b&gt;.jpg' is not a picture"):
        answer = desk.show(Upload(str(folder / "bad.jpg"), "bad <b>.jpg"), "tiny-grey", shown)
    assert answer == (SKIP, upload.path, "tiny-cls", shown, SKIP, False)


def test_an_expired_picture_is_asked_for_again(desk, folder):
    gone = Upload(str(folder / "gone.png"), "my dog.png")
    shown = Shown(gone, "tiny-cls")
    with pytest.warns(UserWarning, match="'my dog.png' was deleted after about an hour; choose"):
        answer = desk.show(None, "tiny-grey", shown)
    assert answer == (SKIP, None, "tiny-cls", shown, SKIP, False)


def test_an_example_never_expires(desk, folder):
    _, path, _, shown, *_ = desk.show_example(1, "tiny-cls", START)
    gone = Upload(str(folder / "swept" / Path(path).name), Path(path).name)
    manifest, *_ = desk.show(gone, "tiny-grey", shown)
    assert manifest.photo["name"] == Path(path).name
    assert manifest.link["example"] == Path(path).stem
    with pytest.warns(UserWarning, match="was deleted after about an hour"):
        desk.show(gone, "tiny-grey", START)  # another picture of that name, for all we know


def test_a_missing_model_gives_way_to_the_one_before(desk, upload):
    shown = Shown(upload, "tiny-grey")
    with pytest.warns(UserWarning, match="not on this machine"):
        answer = desk.show(upload, "deit_tiny_patch16_224.fb_in1k", shown)
    assert answer == (SKIP, SKIP, "tiny-grey", shown, SKIP, False)


def test_a_full_disk_is_no_reason_to_fail_half_way(desk, upload, monkeypatch):
    monkeypatch.setattr(limits, "DISK_RESERVE_BYTES", 10**18)
    with pytest.warns(UserWarning, match="no room for another analysis"):
        answer = desk.show(upload, "tiny-cls", START)
    assert answer[0] == SKIP


def test_without_a_picture_the_one_on_the_page_is_meant(desk, upload):
    assert desk.show(None, "tiny-cls", START) == (SKIP,) * 6
    assert desk.show_photo(None, "tiny-cls", Shown(upload, "tiny-cls")) == (SKIP,) * 6
    manifest, *_ = desk.show(None, "tiny-grey", Shown(upload, "tiny-cls"))
    assert (manifest.photo["name"], manifest.model["name"]) == ("my dog.png", "tiny-grey")


def test_a_photo_chosen_while_the_page_opens_is_not_replaced_by_the_example(
    desk, upload, folder, monkeypatch
):
    page = SimpleNamespace(session_hash="a page", query_params={}, headers={})
    analyze, answers = desk._analyze, []

    def slowly(*asked):  # meanwhile the visitor chooses a photo, and it is ready sooner
        monkeypatch.setattr(desk, "_analyze", analyze)
        answers.append(desk.show_photo(chosen, "tiny-cls", START, False, page))
        return analyze(*asked)

    chosen = upload
    monkeypatch.setattr(desk, "_analyze", slowly)
    assert desk.open("tiny-cls", START, page) == (SKIP,) * 6
    assert answers[0][0].photo["name"] == "my dog.png"
    # One that cannot be shown is no reason to show nothing.
    (folder / "no.png").write_text("no picture")
    chosen = Upload(str(folder / "no.png"), "no.png")
    monkeypatch.setattr(desk, "_analyze", slowly)
    with pytest.warns(UserWarning, match="no.png"):
        manifest, *_ = desk.open("tiny-cls", START, page)
    assert manifest.photo["name"] == "dog.jpg"
    # Other pages have wishes of their own, and whoever has no page is answered.
    for other in (SimpleNamespace(session_hash="another"), None):
        chosen = upload
        monkeypatch.setattr(desk, "_analyze", slowly)
        assert desk.show(upload, "tiny-cls", START, False, other)[0].photo["name"] == "my dog.png"


def test_a_preview_stands_for_its_photo(desk, folder):
    Image.fromarray(photo()).save(folder / "a.tif")
    scan = Upload(str(folder / "a.tif"), "a.TIF")
    _, preview, _, shown, *_ = desk.show(scan, "tiny-grey", START)
    with Image.open(preview) as image:
        assert image.size == (28, 28)
    assert shown == Shown(scan, "tiny-grey", preview)
    manifest, again, *_ = desk.show(Upload(preview, "preview.png"), "tiny-cls", shown)
    assert manifest.photo["name"] == "a.TIF"
    assert again != preview


def test_examples_need_their_models(desk):
    names = [example.name for example in desk.examples]
    assert names[:2] == ["dog", "cat"]
    assert "red panda" in names
    assert ("digit" in names) == ("mnist" in desk.models)
    manifest, path, model, *_ = desk.show_example(1, "tiny-grey", START)
    assert manifest.photo["name"] == "cat.jpg"
    assert path.endswith("cat.jpg")
    assert model == "tiny-grey"


def test_an_example_goes_to_the_model_it_suits(desk):
    desk.examples = [desk.examples[0], desk.examples[1]._replace(model="tiny-grey")]
    for index, chosen, used in (
        (0, "tiny-cls", "tiny-cls"),
        (1, "tiny-cls", "tiny-grey"),
        (0, "tiny-grey", "tiny-cls"),  # made for other pictures: the first model takes this one
        (1, "tiny-grey", "tiny-grey"),
    ):
        manifest, _, model, *_ = desk.show_example(index, chosen, START)
        assert (model, manifest.model["name"]) == (used, used)


@pytest.mark.parametrize(
    ("address", "photo_name", "model"),
    [
        ({}, "dog.jpg", "tiny-cls"),
        ({"example": "red-panda"}, "red-panda.jpg", "tiny-cls"),
        ({"model": "tiny-grey"}, "cat.jpg", "tiny-grey"),
        ({"example": "cat"}, "cat.jpg", "tiny-grey"),
        ({"model": "tiny-cls", "example": "cat"}, "cat.jpg", "tiny-cls"),
        ({"model": "tiny-grey", "example": "dog"}, "dog.jpg", "tiny-grey"),
        ({"untrained": "1"}, "dog.jpg", "tiny-cls"),
        ({"model": "/etc/passwd", "example": "../x"}, "dog.jpg", "tiny-cls"),
    ],
    ids=str,
)
def test_an_address_picks_example_and_model(desk, address, photo_name, model):
    desk.examples = [
        e._replace(model="tiny-grey" if e.name == "cat" else None) for e in desk.examples
    ]
    manifest, *_ = desk.open("tiny-cls", START, SimpleNamespace(query_params=address))
    assert (manifest.photo["name"], manifest.model["name"]) == (photo_name, model)
    assert manifest.model["trained"] is ("untrained" not in address)


@pytest.mark.parametrize("fusion", ["mean", "max", "min"])
def test_rollout_for_a_viewer_that_cannot_compute_it(desk, upload, analysis, fusion):
    key = desk.show(upload, "tiny-cls", START)[0].id
    reply = desk.rollout(question(key, first=1, residual=0.25, head_fusion=fusion))
    want = analysis.rollout(3, 2, first=1, residual=0.25, head_fusion=fusion)
    torch.testing.assert_close(torch.tensor(reply["values"]), want)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"token": 17}, "Token must be"),
        ({"token": -1}, "Token must be"),
        ({"token": "3"}, "are needed"),
        ({"token": 1.5}, "are needed"),
        ({"layer": 3}, "Layer must be"),
        ({"first": 5}, "ayer"),
        ({"residual": 2}, "Residual must be"),
        ({"residual": None}, "are needed"),
        ({"head_fusion": "sum"}, "Head_fusion must be"),
        ({"id": "0" * 32}, "has expired"),
        ({"id": "../../etc/passwd"}, "has expired"),
        ({"id": None}, "are needed"),
    ],
    ids=str,
)
def test_a_bad_question_gets_a_sentence(desk, upload, changes, says):
    key = desk.show(upload, "tiny-cls", START)[0].id
    reply = desk.rollout(question(key, **{"layer": 2} | changes))
    assert says in reply["error"]


@pytest.mark.parametrize("nonsense", [None, [], "x", 3, {}])
def test_nonsense_gets_a_sentence(desk, nonsense):
    assert "are needed" in desk.rollout(nonsense)["error"]


@pytest.mark.parametrize("name", LATE)
def test_a_file_that_is_made_when_somebody_looks_at_it(desk, upload, name):
    manifest, *_ = desk.show(upload, "told", Shown(None, "told"))
    assert manifest.late == list(LATE)
    assert name not in manifest.files
    reply = desk.late({"id": manifest.id, "name": name})
    whole = pack(vitviz.analyze(desk.models.get("told"), Path(upload.path)))
    assert base64.b64decode(reply["data"]) == whole.files[f"{name}.safetensors"]


def test_a_file_that_is_none_is_refused_with_a_sentence(desk, upload):
    manifest, *_ = desk.show(upload, "told", Shown(None, "told"))
    wrong = desk.late({"id": manifest.id, "name": "picture"})
    assert wrong["error"] == "This analysis has no file 'picture'."
    assert "are needed" in desk.late({"id": manifest.id, "name": 3})["error"]
    assert "has expired" in desk.late({"id": "x", "name": "features"})["error"]


def drawing(key, **changes):
    selected = {"token": 3, "partner": 0, "layer": 1, "head": -1, "direction": "to", "first": 1}
    rest = {
        "residual": 0.5,
        "head_fusion": "mean",
        "scale": "heads",
        "kind": "heads",
        "format": "svg",
    }
    return {"id": key, **selected, **rest, **changes}


@pytest.mark.parametrize("kind", FIGURES)
def test_figures_for_print(desk, upload, kind):
    key = desk.show(upload, "told", START)[0].id
    reply = desk.figure(drawing(key, kind=kind, head=1))
    assert reply.get("error") is None
    assert base64.b64decode(reply["data"]).startswith(b"<?xml")


def test_a_pair_follows_the_direction(desk, upload, monkeypatch):
    drawn = []
    monkeypatch.setattr(vitviz.draw, "pair", lambda *given: drawn.append(given[1:]) or Figure())
    key = desk.show(upload, "tiny-cls", START)[0].id
    for direction in ("from", "to"):
        desk.figure(drawing(key, kind="pair", head=1, direction=direction))
    assert drawn == [(1, 1, 3, 0), (1, 1, 0, 3)]


def test_scales_are_those_of_the_screen(desk, upload, monkeypatch):
    scales = []
    for name in ("heads", "wall"):
        draw = lambda *_, scale, **__: scales.append(scale) or Figure()  # noqa: E731
        monkeypatch.setattr(vitviz.draw, name, draw)
    key = desk.show(upload, "tiny-cls", START)[0].id
    for kind in ("heads", "wall"):
        for scale in ("heads", "map"):
            desk.figure(drawing(key, kind=kind, scale=scale))
    assert scales == ["shared", "own", "layer", "own"]


def test_a_film_is_the_one_that_was_sent(desk, upload):
    manifest = desk.show(upload, "told", START)[0]
    wanted = drawing(manifest.id, kind="training")
    assert desk.figure(wanted)["data"]
    Path(manifest.files["film"].path).write_text("damaged")
    reply = desk.figure(wanted)
    assert reply["error"] == "The film of this training cannot be read any more."
    assert re.search("[가-힣]", reply["error_ko"])
    Path(manifest.files["film"].path).unlink()  # the cache is by content: let others write it anew


def test_a_figure_as_pdf(desk, upload):
    key = desk.show(upload, "tiny-cls", START)[0].id
    reply = desk.figure(drawing(key, kind="patches", format="pdf"))
    assert base64.b64decode(reply["data"]).startswith(b"%PDF")


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"kind": "../x"}, "A figure is one of"),
        ({"format": "exe"}, "A figure is one of"),
        ({"token": 99}, "Token must be"),
        ({"layer": 99}, "Layer must be"),
        ({"head": 99}, "Head must be"),
        ({"direction": "up"}, "A figure is one of"),
        ({"scale": "layer"}, "A figure is one of"),
        ({"partner": None}, "A figure is one of"),
        ({"partner": "1"}, "A figure is one of"),
        ({"token": 1.5}, "A figure is one of"),
        ({"kind": "pair", "head": 1, "partner": 99}, "Token must be"),
        ({"kind": "pair", "head": 1, "partner": -1}, "Token must be"),
        ({"kind": "pair"}, "Head must be"),  # of a mean there is no query
        ({"kind": "matrix", "head": 99}, "Head must be"),
        ({"kind": "matrix", "layer": True}, "Layer must be"),
        ({"kind": "wall", "token": 99}, "Token must be"),
        ({"kind": "statistics", "head": 0, "layer": 99}, "Layer must be"),
        ({"kind": "patch", "token": 0}, "prefix token"),
        ({"kind": "training"}, "without a film"),
        ({"kind": "measured"}, "Nothing was measured"),
        ({"id": "0"}, "has expired"),
        ({"id": None}, "are needed"),
    ],
    ids=str,
)
def test_a_bad_wish_for_a_figure_gets_a_sentence(desk, upload, changes, says):
    key = desk.show(upload, "tiny-cls", START)[0].id
    reply = desk.figure(drawing(key, **{"kind": "attention"} | changes))
    assert says in reply["error"]
    assert desk._drawing._places._value == 1  # the next one can be drawn


def test_too_many_figures_at_a_time(desk, upload, monkeypatch):
    monkeypatch.setattr(limits, "DRAWING_WAIT_SECONDS", 0.01)
    key = desk.show(upload, "tiny-cls", START)[0].id
    with desk._drawing.take(1, VitvizError()):
        assert "Many figures" in desk.figure(drawing(key))["error"]
    assert desk.figure(drawing(key))["data"]


def test_nobody_waits_for_ever_to_compute(desk, upload, monkeypatch):
    monkeypatch.setattr(limits, "COMPUTING_WAIT_SECONDS", 0.01)
    key = desk.show(upload, "tiny-cls", START)[0].id
    with ExitStack() as others:
        for _ in range(limits.COMPUTING):
            others.enter_context(desk._turn(desk._computing))
            others.enter_context(desk._turn(desk._asking))
        reply = desk.rollout(question(key))
        assert reply["error"] == "This server computes for many others; try again in a minute."
        assert re.search("[가-힣]", reply["error_ko"])
        with pytest.warns(UserWarning, match="This server computes for many others"):
            assert desk.show(upload, "tiny-cls", START)[0] == SKIP
        with pytest.raises(VitvizError, match="this server computes for many others"):
            desk.answer(upload, "tiny-cls", 0, -1, -1)
    assert desk.rollout(question(key))["values"]


def test_a_deleted_analysis_has_expired(desk, upload):
    manifest, *_, download, _ = desk.show(upload, "tiny-cls", START)
    vitviz.Analysis.load(download["value"])
    Path(download["value"]).unlink()
    assert "has expired" in desk.rollout(question(manifest.id))["error"]


def test_a_bug_gets_an_apology_and_a_log_entry(desk, upload, monkeypatch, caplog):
    key = desk.show(upload, "tiny-cls", START)[0].id
    monkeypatch.setattr(service.Analysis, "load", lambda path: 1 / 0)
    assert desk.rollout(question(key))["error"] == APOLOGY
    assert "ZeroDivisionError" in caplog.text


def test_only_so_many_analyses_are_remembered(desk, upload, monkeypatch):
    monkeypatch.setattr(limits, "ANALYSES_KNOWN", 2)
    keys = [desk.show(upload, "tiny-cls", START)[0].id for _ in range(3)]
    assert ["error" in desk.rollout(question(key)) for key in keys] == [True, False, False]
