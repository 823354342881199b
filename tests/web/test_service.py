"""The service without a page: its replies, and that a failure changes nothing on the page."""

import base64
import errno
import json
import re
import unicodedata
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from matplotlib.figure import Figure
from PIL import Image
from safetensors.torch import load

import vitviz
import vitviz.draw
from tests.desks import desk_of, encoded, uploaded
from tests.running import save_digits, save_tiny
from tests.viewer_fixture import film
from vitviz.errors import ImageError, SelectionError, VitvizError
from vitviz.model.key import ModelKey
from vitviz.model.photo_levels import Look
from vitviz.payload import pack
from vitviz.payload.payload import INSIDE, LATE, POOLING
from vitviz.web.compute.engine import Local
from vitviz.web.compute.jobs import Refusal
from vitviz.web.compute.models import Models
from vitviz.web.compute.turns import computing
from vitviz.web.host import limits
from vitviz.web.host.error_messages import APOLOGY, in_each
from vitviz.web.service import analyses
from vitviz.web.service.analyses import PassRef
from vitviz.web.service.figures import FIGURES
from vitviz.web.service.programs import Programs
from vitviz.web.service.replies import Answered, Left, Refused, Shown, Unchanged
from vitviz.web.service.service import Service
from vitviz.web.store.cache import Cache
from vitviz.web.store.examples import EXAMPLES
from vitviz.web.store.store import Upload


@pytest.fixture(scope="module")
def models(folder):
    paths = [save_tiny(folder, name) for name in ("cls", "grey", "map")]
    return Models([str(path) for path in (*paths, told(folder))])


def told(folder: Path) -> Path:
    """Save a tiny model with measurements in its metadata and a film of its training."""
    film(folder / "told.film.safetensors")
    return save_tiny(folder, "cls", stem="told", seed="3", evaluation='{"top1": 0.5}')


@pytest.fixture
def here(models):
    return Local(models)


@pytest.fixture
def desk(here, models, folder):
    return Service(here, models, Cache(folder / "cache"))


@pytest.fixture
def upload(desk):
    return uploaded(desk)


@pytest.fixture
def analysis(models, upload):
    return vitviz.analyze(models.get(CLS), upload.address)


CLS, GREY = ModelKey("tiny-cls"), ModelKey("tiny-grey")
START = Shown(None, CLS)


def question(key, **changes):
    asked = {"token": 3, "layer": 2, "first": 0, "residual": 0.5, "head_fusion": "mean"}
    return {"id": key, **asked, **changes}


def made(answer: Answered):
    """The names of the photo and the model of an answer."""
    return answer.manifest["photo"]["name"], answer.manifest["model"]["name"]


def test_an_answer_fills_every_place(desk, upload, analysis):
    answer = desk.show(upload, CLS, START)
    assert answer.manifest["photo"]["name"] == "my dog.png"
    assert (answer.photo, answer.controls) == (Left.AS_IT_IS, True)
    assert answer.shown == Shown(upload, CLS)
    assert answer.manifest["model"]["trained"]
    saved = vitviz.Analysis.load(answer.saved)
    assert torch.equal(saved.trace.q, analysis.trace.q)
    files = answer.manifest["files"]
    for file in (files["picture"], files["layer-00"], files["layer-02"]):
        assert Path(file.address).stat().st_size == file.size


@pytest.mark.parametrize(
    ("address", "first"),
    [
        ({"layer": "1", "token": "4"}, (1, 4)),
        ({"layer": "1"}, None),
        ({"layer": "1", "token": "-4"}, None),
        ({"layer": "\u0663", "token": "4"}, None),  # a digit, of another script
        ({"layer": "1" * 5000, "token": "4"}, None),
        ({"layer": "99999", "token": "4"}, None),
        ({}, None),
    ],
)
def test_the_rows_that_a_link_shows_first_travel_ahead(desk, analysis, address, first):
    manifest = desk.open(CLS, START, address).manifest
    dull = (analysis.trace.depth - 1, 0)
    assert (manifest["pass"]["first"]["layer"], manifest["pass"]["first"]["token"]) == (
        first or dull
    )


def test_the_rows_where_the_page_begins_travel_ahead(monkeypatch, desk):
    link = {"model": "tiny-cls", "example": "red-panda"}
    monkeypatch.setattr("vitviz.web.service.analyses.START_LINK", link)
    for address, first in (({}, (1, 6)), ({"layer": "2", "token": "3"}, (2, 3))):
        monkeypatch.setattr("vitviz.web.service.analyses.START", {"layer": 1, "token": 6})
        manifest = desk.open(CLS, START, address).manifest
        assert (manifest["pass"]["first"]["layer"], manifest["pass"]["first"]["token"]) == first


def test_two_analyses_of_one_photo_differ_in_id_and_share_files(desk, upload):
    first, second = (desk.show(upload, CLS, START).manifest for _ in "ab")
    assert first["pass"]["id"] != second["pass"]["id"]
    assert first["files"]["picture"] == second["files"]["picture"]


def test_what_a_page_opens_with_is_there_before_it_asks_and_as_long_as_its_files(desk):
    assert desk.opening() is None
    saved = desk.warm()
    early, asked = desk.opening(), desk.open(CLS, START, {})
    for one in (early, asked.manifest):
        assert vitviz.Analysis.from_bytes(desk.analyses.saved(PassRef(one["pass"]["id"])))
    assert vitviz.Analysis.from_bytes(saved).card.name == "tiny-cls"
    # The page draws it once: the answer says the same of another pass.
    same = {**asked.manifest, "pass": {**asked.manifest["pass"], "id": early["pass"]["id"]}}
    assert early == same
    assert desk.opening() == asked.manifest
    desk.open(CLS, START, {"example": "dog"})
    assert desk.opening() == asked.manifest
    Path(asked.manifest["files"]["picture"].address).unlink()
    assert desk.opening() is None
    again = desk.open(CLS, START, {})
    assert desk.opening() == again.manifest


SIZED = ModelKey("tiny-cls", image_size=(40, 24))


@pytest.mark.parametrize("untrained", [False, True])
def test_a_link_with_a_size_shows_it_and_whoever_looks_around_keeps_it(
    desk, models, upload, untrained
):
    link = {"model": "tiny-cls", "example": "dog", "size": "40x24"}
    link |= {"untrained": "1"} if untrained else {}
    answer = desk.open(GREY, START, link)
    key = replace(SIZED, untrained=untrained)
    assert answer.shown.model == key
    grid = answer.manifest["model"]["grid"]
    assert (answer.manifest["link"], grid["rows"], grid["cols"]) == (link, 5, 3)
    # A photo, an example, the inverted picture: all of the same model.
    for reply in (
        desk.show(upload, key, answer.shown),
        desk.show_example(0, key, answer.shown),
        desk.look(Look(invert=True), answer.shown),
    ):
        assert (reply.shown.model, reply.manifest["model"]["num_tokens"]) == (key, 16)
        assert reply.manifest["link"]["size"] == "40x24"
    # What stands beside differs in one thing; another model has a size of its own.
    sizes = {
        wanted: beside(desk, answer.manifest, wanted)["manifest"]["model"]["num_tokens"]
        for wanted in ("untrained", "example-cat", "model-tiny-grey")
    }
    assert sizes == {"untrained": 16, "example-cat": 16, "model-tiny-grey": 17}


def test_the_likeness_to_the_picture_beside_is_explained_as_in_python(desk, models, upload):
    manifest = desk.show(upload, CLS, START).manifest
    other = beside(desk, manifest, "example-cat")["manifest"]["pass"]["id"]
    asked = {"id": manifest["pass"]["id"], "name": "explain-generic-0-like"}
    sent = load(base64.b64decode(desk.ask("late", {**asked, "other": {"id": other}})["data"]))
    ours = vitviz.analyze(models.get(CLS), upload.address)
    cat = next(one.path for one in EXAMPLES if Path(one.path).stem == "cat")
    features = vitviz.features(models.get(CLS), [cat]).values[0]
    torch.testing.assert_close(sent["values"], ours.explain("generic", 0, features))
    assert sent["likeness"].item() == pytest.approx(ours.likeness(features), abs=1e-6)
    grey = beside(desk, manifest, "model-tiny-grey")["manifest"]["pass"]["id"]
    for wrong in ({}, {"other": "x"}, {"other": {"id": grey}}):
        assert "same model" in desk.ask("late", {**asked, **wrong})["error"]
    assert "expired" in desk.ask("late", {**asked, "other": {"id": "x"}})["error"]


def test_later_questions_are_about_the_model_in_its_size(desk, models, upload):
    key = desk.show(upload, SIZED, START).manifest["pass"]["id"]
    ours = vitviz.analyze(models.get(SIZED), upload.address)
    # What needs the model itself, which an analysis does not hold.
    data = base64.b64decode(desk.ask("late", {"id": key, "name": "explain-generic-0-2"})["data"])
    torch.testing.assert_close(load(data)["values"], ours.explain("generic", 0, 2))
    change = {"kind": "remove", "patches": [14]}  # the last of 15
    changed = desk.ask("operate", {"id": key, "interventions": [change]})
    assert changed["pass"]["removed"] == [14]
    then = vitviz.analyze(models.get(SIZED), upload.address, interventions=[change])
    sent = load(base64.b64decode(changed["files"]["first"]["data"]))["logits"]
    torch.testing.assert_close(sent, then.trace.logits)
    asked = {"id": key, "explainers": ["random"], "token": 0, "target": 1}
    assert "error" not in desk.ask("fair", asked)
    page = desk.ask("take_home", {"id": key, "film": False, "layers": [0]})
    assert b'"image_size": [40, 24]' in desk._store.get(page["path"])


@pytest.mark.parametrize(
    ("size", "says"),
    [
        ("large", "An image size must be pixels such as 144"),
        ("-32", "An image size must be pixels"),
        ("33", "takes pictures of whole patches of 8 x 8 pixels"),
        ("800", "at most 1400 tokens"),
        ("0", "image_size must be"),
    ],
)
def test_a_link_with_a_size_that_cannot_be_is_refused(desk, size, says):
    reply = desk.open(CLS, START, {"size": size})
    assert says.lower() in reply.refusal.text.lower()
    assert (reply.shown, "픽셀" in in_each(reply.refusal.text)["ko"]) == (START, True)
    assert desk.open(CLS, START, {"size": ""}).shown.model == CLS


def test_a_link_names_our_own_pictures_only(desk, upload):
    index = [example.name for example in desk.examples].index("red panda")
    answer = desk.show_example(index, CLS, START)
    assert answer.manifest["link"] == {"model": "tiny-cls", "example": "red-panda"}
    # The page sends an example back as a copy.
    copy = uploaded(desk, "red-panda.jpg", Path(answer.photo).read_bytes())
    manifest = desk.show(copy, replace(GREY, untrained=True), START).manifest
    assert manifest["link"] == {"model": "tiny-grey", "example": "red-panda", "untrained": "1"}
    assert desk.show(upload, CLS, START).manifest["link"] == {"model": "tiny-cls"}
    named = Upload(upload.address, "red-panda.jpg")  # another picture under its name
    assert desk.show(named, CLS, START).manifest["link"] == {"model": "tiny-cls"}


def test_the_untrained_twin_of_a_model(desk, models, upload):
    key = ModelKey("tiny-cls", untrained=True)
    answer = desk.show(upload, key, START)
    assert not answer.manifest["model"]["trained"]
    assert (answer.shown, answer.controls) == (Shown(upload, key), True)
    saved = vitviz.Analysis.load(answer.saved)
    assert saved.card.source.startswith("untrained")
    assert answer.saved.endswith("untrained.safetensors")
    twin = vitviz.load(models._sources["tiny-cls"], pretrained=False)
    assert torch.equal(saved.trace.logits, vitviz.analyze(twin, upload.address).trace.logits)
    # A failure leaves the switch as it was.
    refused = desk.show(upload, ModelKey("nonsense"), answer.shown)
    assert refused.refusal.text.startswith("there is no model 'nonsense'")
    assert refused.shown.model == key


def test_a_bad_picture_gives_way_to_the_one_before(desk, upload):
    shown = Shown(upload, CLS)
    answer = desk.show(uploaded(desk, "bad <b>.jpg", b"text"), GREY, shown)
    assert answer == Refused(answer.refusal, shown, upload.address)
    assert answer.refusal.text.startswith("'bad <b>.jpg' is not a picture")


def test_an_expired_picture_is_asked_for_again(desk, folder):
    gone = Upload(str(folder / "gone.png"), "my dog.png")
    shown = Shown(gone, CLS)
    answer = desk.show(None, GREY, shown)
    text = "'my dog.png' was deleted after about an hour; choose it again"
    assert answer == Refused(Refusal(text, of_picture=True), shown, None)


def test_an_example_never_expires(desk, folder):
    answer = desk.show_example(1, CLS, START)
    path = Path(answer.photo)
    gone = Upload(str(folder / "swept" / path.name), path.name)
    manifest = desk.show(gone, GREY, answer.shown).manifest
    assert manifest["photo"]["name"] == path.name
    assert manifest["link"]["example"] == path.stem
    # Without the example on the page, this may be another picture of that name.
    refused = desk.show(gone, GREY, START)
    assert "was deleted after about an hour" in refused.refusal.text
    # The picture input can also go back to an example.
    refused = desk.show(gone, GREY, Shown(Upload(str(path), "another.jpg"), CLS))
    assert refused.photo == str(path)


def test_a_missing_model_gives_way_to_the_one_before(desk, upload):
    shown = Shown(upload, GREY)
    answer = desk.show(upload, ModelKey("deit_tiny_patch16_224.fb_in1k"), shown)
    assert answer == Refused(answer.refusal, shown, Left.AS_IT_IS)
    assert "not on this machine" in answer.refusal.text


def test_a_full_disk_is_no_reason_to_fail_half_way(desk, upload, monkeypatch):
    monkeypatch.setattr(limits, "DISK_RESERVE_BYTES", 10**18)
    assert "no room for another analysis" in desk.show(upload, CLS, START).refusal.text
    with pytest.raises(VitvizError, match="no room for another analysis"):
        Programs(desk.analyses, desk._store).answer(upload.address, "tiny-cls")


def test_no_folder_of_the_host_is_in_an_answer_to_a_program_or_its_file(desk, upload):
    """A picture's name that was an alias came back as the beginning of its path."""
    programs = Programs(desk.analyses, desk._store)
    sent = {"path": upload.address, "orig_name": "/srv/ada-lovelace/vitviz/web/examples"}
    (answer,) = programs.survey([sent], "tiny-cls")["answers"]
    assert answer["photo"] == "examples"
    summary, file = programs.answer(sent, "tiny-cls", explainer="generic", like=sent)
    found = summary["photo"]["name"], summary["selection"]["relevance"]["like"]
    assert found == ("examples", "examples")
    assert b"lovelace" not in Path(file).read_bytes()


def test_a_program_hears_the_name_that_it_gave_of_two_files_of_one_name(folder, tmp_path):
    """Both were "tiny-cls" in every answer but that of a survey."""
    paths = []
    for name, seed in (("a", "1"), ("b", "2")):
        (tmp_path / name).mkdir()
        paths.append(str(save_tiny(tmp_path / name, "cls", seed=seed)))
    models = Models(paths)
    desk = Service(Local(models), models, Cache(folder / "cache"))
    programs, photo = Programs(desk.analyses, desk._store), uploaded(desk).address
    second = "tiny-cls (2)"
    assert programs.analyze(photo, second)["model"] == second
    assert programs.explain(photo, second)["model"] == second
    assert programs.intervene(photo, [], second)["model"] == second
    both = programs.compare(photo, "tiny-cls", other_model=second)
    assert (both["first"]["model"], both["second"]["model"]) == ("tiny-cls", second)


@pytest.mark.parametrize("address", ["http://[", "x://[a]/a.png", "http://\u2100/a.png"])
def test_an_address_that_cannot_be_read_is_refused_as_one_elsewhere(desk, address):
    """It was an error of ours, with a traceback in the log."""
    for photo in (address, {"path": address}):
        with pytest.raises(ImageError, match="picture is not here"):
            Programs(desk.analyses, desk._store).answer(photo, "tiny-cls")


def test_without_a_picture_the_one_on_the_page_is_meant(desk, upload):
    assert desk.show(None, CLS, START) == Unchanged()
    assert desk.show_photo(None, CLS, Shown(upload, CLS)) == Unchanged()
    assert made(desk.show(None, GREY, Shown(upload, CLS))) == (*("my dog.png", "tiny-grey"),)


def test_a_photo_chosen_while_the_page_opens_is_not_replaced_by_the_example(
    desk, upload, monkeypatch
):
    compute, answers = desk.analyses.compute, []

    def slowly(
        *asked, **options
    ):  # meanwhile the visitor chooses a photo; its answer is ready first
        monkeypatch.setattr(desk.analyses, "compute", compute)
        answers.append(desk.show_photo(chosen, CLS, START, "a page"))
        return compute(*asked, **options)

    chosen = upload
    monkeypatch.setattr(desk.analyses, "compute", slowly)
    assert desk.open(CLS, START, {}, "a page") == Unchanged()
    assert answers[0].manifest["photo"]["name"] == "my dog.png"
    # If the chosen photo is refused, the example is shown.
    chosen = uploaded(desk, "no.png", b"no picture")
    monkeypatch.setattr(desk.analyses, "compute", slowly)
    assert made(desk.open(CLS, START, {}, "a page"))[0] == "red-panda.jpg"
    assert "no.png" in answers[1].refusal.text
    # Requests of other pages, and those without a page, are independent.
    for other in ("another", None):
        chosen = upload
        monkeypatch.setattr(desk.analyses, "compute", slowly)
        assert made(desk.show(upload, CLS, START, other))[0] == "my dog.png"


def test_a_preview_stands_for_its_photo(desk):
    scan = uploaded(desk, "a.TIF", encoded(kind="TIFF"))
    answer = desk.show(scan, GREY, START)
    with Image.open(answer.photo) as image:
        assert image.size == (28, 28)
    assert answer.shown == Shown(scan, GREY, answer.photo)
    again = desk.show(Upload(answer.photo, "preview.png"), CLS, answer.shown)
    assert made(again)[0] == "a.TIF"
    assert again.photo != answer.photo


def test_an_example_is_held_as_its_thumbnail_and_stays_the_example(desk):
    first = desk.show_example(1, CLS, START)
    assert Path(first.photo).read_bytes() == EXAMPLES[1].thumbnail()
    held = Upload(first.photo, "dog.jpg")
    # Another answer came, whose picture the input does not hold: a request was under way.
    later = desk.show_example(2, CLS, first.shown).shown
    answer = desk.show(held, GREY, later)
    assert answer.shown.photo == EXAMPLES[1].upload
    assert answer.manifest["link"]["example"] == "dog"
    assert answer.photo != Left.AS_IT_IS
    # What the input shows is not put there again, over a picture that was pasted meanwhile.
    again = desk.show(Upload(answer.photo, "dog.jpg"), CLS, answer.shown)
    assert made(again)[0] == "dog.jpg"
    assert again.photo == Left.AS_IT_IS


def test_examples_need_their_models(desk, models):
    names = [example.name for example in desk.examples]
    assert names[:3] == ["red panda", "dog", "cat"]
    assert ("digit" in names) == ("mnist" in models)
    answer = desk.show_example(2, GREY, START)
    assert made(answer) == ("cat.jpg", "tiny-grey")
    assert answer.photo.endswith("cat.jpg")
    assert answer.shown.model == GREY


def test_an_example_goes_to_the_model_it_suits(desk):
    desk.examples = [desk.examples[0], desk.examples[1]._replace(model="tiny-grey")]
    for index, chosen, used in (
        (0, "tiny-cls", "tiny-cls"),
        (1, "tiny-cls", "tiny-grey"),
        (0, "tiny-grey", "tiny-cls"),  # the default, as tiny-grey has examples of its own
        (1, "tiny-grey", "tiny-grey"),
    ):
        answer = desk.show_example(index, ModelKey(chosen), START)
        assert (answer.shown.model.name, made(answer)[1]) == (used, used)


@pytest.mark.parametrize("index", [None, -1, 99, "0", True])
def test_an_example_that_is_none_gets_a_sentence(desk, index):
    with pytest.raises(SelectionError, match="number of an example must be a whole number from 0"):
        desk.show_example(index, CLS, START)


@pytest.mark.parametrize(
    ("address", "photo_name", "model"),
    [
        ({}, "red-panda.jpg", "tiny-cls"),
        ({"example": "red-panda"}, "red-panda.jpg", "tiny-cls"),
        ({"model": "tiny-grey"}, "cat.jpg", "tiny-grey"),
        ({"example": "cat"}, "cat.jpg", "tiny-grey"),
        ({"model": "tiny-cls", "example": "cat"}, "cat.jpg", "tiny-cls"),
        ({"model": "tiny-grey", "example": "dog"}, "dog.jpg", "tiny-grey"),
        ({"untrained": "1"}, "red-panda.jpg", "tiny-cls"),
        ({"model": "/etc/passwd", "example": "../x"}, "red-panda.jpg", "tiny-cls"),
    ],
    ids=str,
)
def test_an_address_picks_example_and_model(desk, address, photo_name, model):
    desk.examples = [
        e._replace(model="tiny-grey" if e.name == "cat" else None) for e in desk.examples
    ]
    answer = desk.open(CLS, START, address)
    assert made(answer) == (photo_name, model)
    assert answer.manifest["model"]["trained"] is ("untrained" not in address)


def test_an_address_without_an_example_is_about_the_kept_photo(desk, upload):
    link = {"model": "tiny-grey", "untrained": "1", "invert": "1"}
    answer = desk.open(CLS, START, link, kept=upload)
    assert made(answer) == ("my dog.png", "tiny-grey")
    assert answer.manifest["link"] == link
    assert answer.manifest["upload"] == upload._asdict()
    assert answer.photo == upload.address  # the picture input holds it again
    other = desk.open(CLS, START, link | {"example": "cat"}, kept=upload)
    assert made(other) == ("cat.jpg", "tiny-grey")
    nobody = desk.open(CLS, START, link)  # a link of somebody's photo, somewhere else
    assert nobody.shown.look == Look()


def test_a_question_about_an_analysis_that_is_forgotten_says_that_it_is(desk):
    assert desk.ask("rollout", question("nobody"))["expired"] is True
    assert "expired" not in desk.ask("rollout", {})


@pytest.mark.parametrize("fusion", ["mean", "max", "min"])
def test_rollout_for_a_viewer_that_cannot_compute_it(desk, upload, analysis, fusion):
    key = desk.show(upload, CLS, START).manifest["pass"]["id"]
    reply = desk.ask("rollout", question(key, first=1, residual=0.25, head_fusion=fusion))
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
        ({"layer": -1}, "Layer must be"),
        ({"first": -1}, "Layer must be"),
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
    key = desk.show(upload, CLS, START).manifest["pass"]["id"]
    reply = desk.ask("rollout", question(key, **{"layer": 2} | changes))
    assert says in reply["error"]


@pytest.mark.parametrize("nonsense", [None, [], "x", 3, {}])
def test_nonsense_gets_a_sentence(desk, nonsense):
    assert "are needed" in desk.ask("rollout", nonsense)["error"]


@pytest.mark.parametrize(
    "name", [*sorted({*LATE} - {INSIDE, POOLING}), "tokens-01", "mixing-00", "mixing-02"]
)
def test_a_file_that_is_made_when_somebody_looks_at_it(desk, models, upload, name):
    manifest = desk.show(upload, ModelKey("told"), Shown(None, ModelKey("told"))).manifest
    assert manifest["files"][name] == {"late": True}
    reply = desk.ask("late", {"id": manifest["pass"]["id"], "name": name})
    whole = pack(vitviz.analyze(models.get(ModelKey("told")), Path(upload.address)))
    assert base64.b64decode(reply["data"]) == whole.files[f"{name}.safetensors"]


def test_a_file_that_is_none_is_refused_with_a_sentence(desk, upload):
    manifest = desk.show(upload, ModelKey("told"), Shown(None, ModelKey("told"))).manifest
    wrong = desk.ask("late", {"id": manifest["pass"]["id"], "name": "picture"})
    assert wrong["error"] == "This analysis has no file 'picture'."
    for name in ("mixing-03", "mixing-1", "mixing-", "mixing-x"):
        wrong = desk.ask("late", {"id": manifest["pass"]["id"], "name": name})
        assert wrong["error"] == f"This analysis has no file {name!r}."
    assert "are needed" in desk.ask("late", {"id": manifest["pass"]["id"], "name": 3})["error"]
    assert "has expired" in desk.ask("late", {"id": "x", "name": "features"})["error"]


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
    name = "tiny-map" if kind == POOLING else "told"
    key = desk.show(upload, ModelKey(name), START).manifest["pass"]["id"]
    more = {
        "explanation": {"explainers": ["attention_gradient"], "target": 1},
        "explanations": {"explainers": ["attention", "grad_cam"], "target": 0},
        "answers": {"other": {"id": key}},
        "attention": {"spotlight": True},
    }
    reply = desk.ask("figure", drawing(key, kind=kind, head=1, **more.get(kind, {})))
    assert reply.get("error") is None
    assert base64.b64decode(reply["data"]).startswith(b"<?xml")


def test_a_figure_on_a_full_disk_is_refused_without_a_path_of_the_host(desk, upload, monkeypatch):
    key = desk.show(upload, ModelKey("told"), START).manifest["pass"]["id"]

    def full(*_given, **_options):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Figure, "savefig", full)
    question = drawing(key, kind=next(iter(FIGURES)), head=1)
    reply = desk.ask("figure", question)
    assert "has no room" in reply["error"]
    assert "tmp" not in reply["error"]
    monkeypatch.setattr("tempfile.mkdtemp", full)
    assert desk.ask("figure", question)["error"] == reply["error"]


def test_figures_of_an_experiment_say_what_was_done(desk, upload, monkeypatch):
    """They are drawn of the analysis that was changed, and of what Python computes for it."""
    drawn, lit = {}, {}

    def draw(name):
        def drawing(*given, **options):
            drawn[name] = given
            lit[name] = options.get("spotlight")
            return Figure()

        return drawing

    for name in ("attention", "explained", "answers"):
        monkeypatch.setattr(vitviz.draw, name, draw(name))
    intact = desk.show(upload, ModelKey("told"), START).manifest["pass"]["id"]
    change = {"kind": "remove", "patches": [2, 5]}
    changed = {"interventions": [change]}
    keys = {"explainers": ["generic", "occlusion"], "target": 2, "spotlight": True}
    for kind, more in {
        "attention": changed,
        "explanations": keys | changed,
        "answers": {"other": {"id": intact, **changed}},
    }.items():
        assert "data" in desk.ask("figure", drawing(intact, kind=kind, **more))
    done = [one.to_dict() for one in drawn["attention"][0].interventions]
    assert done == [change]
    before, after = drawn["answers"]
    assert (before.interventions, len(after.interventions)) == ((), 1)
    analysis, maps, token, target = drawn["explained"]
    assert (token, target, list(maps)) == (3, 2, ["generic", "occlusion"])
    assert lit == {"attention": False, "explained": True, "answers": None}
    loaded = desk.analyses._engine.models.get(ModelKey("told"))
    for name, values in maps.items():
        torch.testing.assert_close(
            values, analysis.explain(name, 3, 2, loaded=loaded), atol=1e-5, rtol=0
        )


def test_a_pair_follows_the_direction(desk, upload, monkeypatch):
    drawn = []
    monkeypatch.setattr(vitviz.draw, "pair", lambda *given: drawn.append(given[1:]) or Figure())
    key = desk.show(upload, CLS, START).manifest["pass"]["id"]
    for direction in ("from", "to"):
        desk.ask("figure", drawing(key, kind="pair", head=1, direction=direction))
    assert drawn == [(1, 1, 3, 0), (1, 1, 0, 3)]


def test_scales_are_those_of_the_screen(desk, upload, monkeypatch):
    scales = []
    for name in ("heads", "wall"):
        draw = lambda *_, scale, **__: scales.append(scale) or Figure()  # noqa: E731
        monkeypatch.setattr(vitviz.draw, name, draw)
    key = desk.show(upload, CLS, START).manifest["pass"]["id"]
    for kind in ("heads", "wall"):
        for scale in ("heads", "map"):
            desk.ask("figure", drawing(key, kind=kind, scale=scale))
    assert scales == ["shared", "own", "layer", "own"]


def test_a_film_is_the_one_that_was_sent(desk, upload):
    manifest = desk.show(upload, ModelKey("told"), START).manifest
    wanted = drawing(manifest["pass"]["id"], kind="training")
    assert desk.ask("figure", wanted)["data"]
    film = Path(manifest["files"]["film"].address)
    film.write_text("damaged")
    reply = desk.ask("figure", wanted)
    assert reply["error"] == "The film of this training cannot be read any more."
    assert re.search("[가-힣]", reply["errors"]["ko"])
    film.unlink()
    assert "has expired" in desk.ask("figure", wanted)["error"]
    assert desk.ask("figure", {**wanted, "kind": "patches"})["data"]  # it shows no film


def test_a_figure_as_pdf(desk, upload):
    key = desk.show(upload, CLS, START).manifest["pass"]["id"]
    reply = desk.ask("figure", drawing(key, kind="patches", format="pdf"))
    assert base64.b64decode(reply["data"]).startswith(b"%PDF")


def test_a_bad_request_for_a_figure_gets_a_sentence(desk, upload, subtests):
    key = desk.show(upload, CLS, START).manifest["pass"]["id"]
    for changes, says in [
        ({"kind": "../x"}, "A figure is one of"),
        ({"format": "exe"}, "A figure is one of"),
        ({"token": 99}, "Token must be"),
        ({"token": -1}, "Token must be"),
        ({"layer": -1}, "Layer must be"),
        ({"head": -2}, "Head must be"),
        ({"kind": "rollout", "first": -1}, "Layer must be"),
        ({"layer": 99}, "Layer must be"),
        ({"head": 99}, "Head must be"),
        ({"direction": "up"}, "A figure is one of"),
        ({"scale": "layer"}, "A figure is one of"),
        ({"partner": None}, "A figure is one of"),
        ({"partner": "1"}, "A figure is one of"),
        ({"token": 1.5}, "A figure is one of"),
        ({"kind": "pair", "head": 1, "partner": 99}, "Token must be"),
        ({"kind": "pair", "head": 1, "partner": -1}, "Token must be"),
        ({"kind": "pair"}, "Head must be"),  # the mean of the heads has no query
        ({"kind": "matrix", "head": 99}, "Head must be"),
        ({"kind": "matrix", "layer": True}, "Layer must be"),
        ({"kind": "wall", "token": 99}, "Token must be"),
        ({"kind": "statistics", "head": 0, "layer": 99}, "Layer must be"),
        ({"kind": "patch", "token": 0}, "prefix token"),
        ({"kind": "training"}, "without a film"),
        ({"kind": "explanations"}, "No explainer is chosen"),
        ({"kind": "explanation", "explainers": ["unicorn"]}, "no explainer"),
        ({"kind": "explanation", "explainers": [{"a": 1}]}, "no explainer"),
        ({"kind": "explanation", "explainers": ["generic"], "target": 99}, "no class 99"),
        ({"kind": "answers"}, "cannot be put beside"),
        ({"kind": "answers", "other": {"id": "0"}}, "has expired"),
        ({"kind": "measured"}, "Nothing was measured"),
        ({"id": "0"}, "has expired"),
        ({"id": None}, "are needed"),
    ]:
        with subtests.test(changes=changes):
            reply = desk.ask("figure", drawing(key, **{"kind": "attention"} | changes))
            assert says in reply["error"]
            assert desk._questions._drawing._inside.total() == 0  # the turn was given back


def test_too_many_figures_at_a_time(desk, upload, monkeypatch):
    monkeypatch.setattr(limits, "DRAWING_WAIT_SECONDS", 0.01)
    key = desk.show(upload, CLS, START).manifest["pass"]["id"]
    with desk._questions._drawing.take(1, VitvizError()):
        assert "Many figures" in desk.ask("figure", drawing(key))["error"]
    assert desk.ask("figure", drawing(key))["data"]


def test_nobody_waits_for_ever_to_compute(desk, here, upload, monkeypatch):
    monkeypatch.setattr(limits, "COMPUTING_WAIT_SECONDS", 0.01)
    key = desk.show(upload, CLS, START).manifest["pass"]["id"]
    with ExitStack() as others:
        for _ in range(limits.COMPUTING):
            others.enter_context(computing(here._computing))
            others.enter_context(computing(desk._questions._asking))
        reply = desk.ask("rollout", question(key))
        assert reply["error"] == "This server computes for many others; try again in a minute."
        assert re.search("[가-힣]", reply["errors"]["ko"])
        refusal = Refusal("this server computes for many others; try again in a minute")
        assert desk.show(upload, CLS, START).refusal == refusal
        with pytest.raises(VitvizError, match=refusal.text):
            Programs(desk.analyses, desk._store).answer(upload.address, "tiny-cls")
    assert desk.ask("rollout", question(key))["values"]


def test_a_page_whose_session_was_forgotten_goes_on_with_what_it_shows(desk, upload):
    """Gradio forgets the oldest sessions, and those that were without a network for an hour."""
    inverted = Look(invert=True)
    desk.show(upload, CLS, START, "page")
    answer = desk.look(inverted, START, "page")
    assert isinstance(answer, Answered)
    assert answer.manifest["photo"]["inverted"] is True
    assert isinstance(desk.show(None, CLS, START, "page"), Answered)
    assert isinstance(desk.look(inverted, START, "another page"), Unchanged)


def test_a_page_whose_opening_was_refused_shows_the_example_in_the_chosen_model(desk):
    """The document brings the first picture, and the menu was dead."""
    answer = desk.show(None, GREY, START, "page")
    assert made(answer) == (desk.example.upload.name, "tiny-grey")


def test_a_deleted_analysis_is_made_again_and_has_expired_with_its_photo(desk, upload):
    answer = desk.show(upload, CLS, START)
    vitviz.Analysis.load(answer.saved)
    Path(answer.saved).unlink()
    key = answer.manifest["pass"]["id"]
    assert desk.ask("rollout", question(key))["values"], (
        "the photo is still there: it is made again"
    )
    for file in (Path(upload.address), *Path(desk._store.folder).rglob("analysis.safetensors")):
        file.unlink()
    gone = desk.ask("rollout", question(key))
    assert gone["expired"], "the page sends its photo again"
    assert "has expired" in desk.ask("rollout", question("0" * 32))["error"]


def test_a_bug_gets_an_apology_and_a_log_entry(desk, upload, monkeypatch, caplog):
    key = desk.show(upload, CLS, START).manifest["pass"]["id"]
    monkeypatch.setattr(analyses.Analysis, "from_bytes", lambda data: 1 / 0)
    assert desk.ask("rollout", question(key))["error"] == APOLOGY
    assert "ZeroDivisionError" in caplog.text


def test_only_so_many_analyses_are_remembered(desk, upload, monkeypatch):
    monkeypatch.setattr(limits, "ANALYSES_KNOWN", 2)
    keys = [desk.show(upload, CLS, START).manifest["pass"]["id"] for _ in range(3)]
    assert ["error" in desk.ask("rollout", question(key)) for key in keys] == [True, False, False]


def beside(desk, manifest, wanted):
    return desk.ask("beside", {"id": manifest["pass"]["id"], "beside": wanted})


def test_what_can_stand_beside_is_in_the_manifest(desk, upload):
    now = desk.show(upload, CLS, START).manifest
    kinds = [one["kind"] for one in now["beside"]]
    assert kinds[0] == "untrained"
    assert kinds.count("example") == sum(example.shown for example in desk.examples)
    names = {one["key"]: one["name"] for one in now["beside"]}
    assert names["model-tiny-grey"] == "tiny-grey"
    assert "model-tiny-cls" not in names
    panda = next(one for one in now["beside"] if one["key"] == "example-red-panda")
    assert (panda["name"], panda["names"]["ko"]) == ("red panda", "레서판다")
    dog = next(i for i, example in enumerate(desk.examples) if example.name == "dog")
    twin = desk.show_example(dog, replace(CLS, untrained=True), START).manifest
    keys = [one["key"] for one in twin["beside"]]
    assert twin["beside"][0]["kind"] == "trained"
    assert "example-dog" not in keys


def test_the_other_sizes_of_a_model_stand_beside(desk, monkeypatch, upload):
    monkeypatch.setattr(limits, "SIZE_TOKENS", 40)
    now = desk.show(upload, SIZED, START).manifest
    offered = {one["key"]: one["name"] for one in now["beside"] if one["kind"] == "size"}
    assert list(offered) == ["size-16", "size-32", "size-32x40", "size-40x32", "size-48"]
    assert offered["size-32x40"] == "32x40"
    assert [one["tokens"] for one in now["model"]["sizes"]] == [5, 17, 21, 21, 37]
    own = beside(desk, now, "size-32")["manifest"]
    assert (own["model"]["num_tokens"], own["model"]["key"]["image_size"]) == (17, None)
    assert own["photo"]["name"] == "my dog.png"
    assert beside(desk, now, "size-32x40")["manifest"]["model"]["num_tokens"] == 21
    at_home = desk.show(upload, CLS, START).manifest["beside"]
    sizes = [one["key"] for one in at_home if one["kind"] == "size"]
    assert sizes == ["size-16", "size-32x40", "size-40x32", "size-48"]
    for wrong in ("size-", "size-x", "size-33", "size-64"):
        assert "error" in beside(desk, now, wrong)


def test_the_twin_another_picture_and_another_model_stand_beside(desk, models, upload):
    now = desk.show(upload, CLS, START).manifest
    twin = beside(desk, now, "untrained")["manifest"]
    assert twin["model"]["trained"] is False
    assert twin["photo"]["name"] == "my dog.png"
    path = Path(twin["files"]["layer-01"]["path"])
    assert path.stat().st_size == twin["files"]["layer-01"]["size"]
    expected = vitviz.analyze(models.get(replace(CLS, untrained=True)), upload.address)
    ours = pack(expected, whole=False)
    assert path.read_bytes() == ours.files["layer-01.safetensors"]
    bison = beside(desk, now, "example-bison")["manifest"]
    assert (bison["photo"]["name"], bison["model"]["name"]) == ("bison.jpg", now["model"]["name"])
    grey = beside(desk, now, "model-tiny-grey")["manifest"]
    assert (grey["photo"]["name"], grey["model"]["name"]) == ("my dog.png", "tiny-grey")
    # Viewers can ask about it as about any other, also for what stands beside it.
    assert "data" in desk.ask("late", {"id": bison["pass"]["id"], "name": "features"})
    again = beside(desk, grey, "model-tiny-cls")["manifest"]
    assert again["model"]["name"] == now["model"]["name"]


@pytest.mark.parametrize(
    "wanted", ["model-tiny-cls", "example-x", "model-../x", "", 3, None, ["x"]]
)
def test_nothing_else_is_put_beside(desk, upload, wanted):
    now = desk.show(upload, CLS, START).manifest
    refused = beside(desk, now, wanted)
    assert refused["error"] == "This cannot be put beside it."
    assert refused["errors"]["ko"] == "이것은 나란히 놓을 수 없습니다."


def test_beside_what_has_expired_stands_nothing(desk, upload):
    assert "expired" in beside(desk, {"pass": {"id": "nobody"}}, "untrained")["error"]
    now = desk.show(upload, CLS, START).manifest
    Path(upload.address).unlink()
    refused = beside(desk, now, "untrained")
    assert refused["error"].startswith("'my dog.png' was deleted after about an hour")
    assert refused["errors"]["ko"] != refused["error"]


def test_what_stands_beside_waits_for_its_turn(desk, here, upload, monkeypatch):
    now = desk.show(upload, CLS, START).manifest
    monkeypatch.setattr(limits, "COMPUTING_WAIT_SECONDS", 0.01)
    with ExitStack() as all_places:
        for _ in range(limits.COMPUTING):
            all_places.enter_context(computing(here._computing))
        assert "computes for many others" in beside(desk, now, "untrained")["error"]
    assert "manifest" in beside(desk, now, "untrained")


@pytest.fixture(scope="module")
def of_digits(tmp_path_factory):
    folder = tmp_path_factory.mktemp("digits")
    return Models([str(save_digits(folder)), str(save_tiny(folder, "cls"))])


def test_a_model_of_digits_of_the_host_begins_with_a_digit(tmp_path):
    digits = tuple("0123456789")
    models = Models([str(save_tiny(tmp_path, "grey", digits)), str(save_tiny(tmp_path, "cls"))])
    desk = desk_of(models, tmp_path)
    assert "tiny-grey" in models.of_digits
    assert "tiny-cls" not in models.of_digits
    at = [example.name for example in desk.examples].index("digit")
    for chosen, used in (("tiny-grey", "tiny-grey"), ("mnist", "mnist"), ("tiny-cls", "mnist")):
        answer = desk.show_example(at, ModelKey(chosen), START)
        assert made(answer) == ("digit.png", used)
    assert made(desk.open(GREY, START, {})) == ("digit.png", "tiny-grey")
    assert desk.example.name == "digit"
    # A photo goes to the first model of photos, which is not the default one here.
    assert made(desk.show_example(0, GREY, START)) == ("red-panda.jpg", "tiny-cls")
    assert made(desk.open(CLS, START, {})) == ("red-panda.jpg", "tiny-cls")


def test_classes_that_are_grades_of_a_coloured_picture_are_no_digits(tmp_path):
    models = Models([str(save_tiny(tmp_path, "cls", tuple("0123456")))])
    assert "tiny-cls" not in models.of_digits
    assert made(desk_of(models, tmp_path).open(CLS, START, {}))[0] == "red-panda.jpg"


def test_the_shown_picture_is_inverted_and_back(of_digits, tmp_path):
    desk = desk_of(of_digits, tmp_path)
    dark, other = (uploaded(desk, name) for name in ("three.png", "other.png"))
    plain = desk.show(dark, ModelKey("digits"), Shown(None, ModelKey("digits")))
    assert plain.shown.look == Look()
    # What the controls say by now is not what is shown.
    inverted = desk.look(Look(invert=True), plain.shown)
    assert inverted.shown == Shown(dark, ModelKey("digits"), None, Look(invert=True))
    assert inverted.manifest["photo"]["inverted"] is True
    saved = vitviz.Analysis.load(inverted.saved)
    ours = vitviz.analyze(of_digits.get(ModelKey("digits")), dark.address, invert=True)
    assert torch.equal(saved.picture, ours.picture)
    assert torch.equal(saved.trace.logits, ours.trace.logits)
    # The same picture stays inverted in another model and in the twin, another does not.
    for model, untrained in (("tiny-cls", False), ("digits", True)):
        again = desk.show(dark, ModelKey(model, untrained), inverted.shown)
        assert again.manifest["photo"]["inverted"] is True
    assert desk.show(None, ModelKey("digits"), inverted.shown).shown.look.invert is True
    assert desk.show(other, ModelKey("digits"), inverted.shown).shown.look == Look()
    back = desk.look(Look(), inverted.shown)
    assert back.shown == plain.shown
    assert torch.equal(
        vitviz.Analysis.load(back.saved).trace.q, vitviz.Analysis.load(plain.saved).trace.q
    )
    assert desk.look(Look(), Shown(None, ModelKey("digits"))) == Unchanged()


def test_a_drawing_is_for_digits_until_the_visitor_chooses_another_model(desk):
    one, two = uploaded(desk, "drawing-1.png"), uploaded(desk, "drawing-2.png")
    first = desk.draw(one, CLS, START)
    assert first.shown == Shown(one, ModelKey("mnist"))
    assert first.photo == one.address  # the picture of the page, which another model can get
    chosen = desk.show(Upload(first.photo, one.name), CLS, first.shown)
    later = desk.draw(two, CLS, chosen.shown, first=False)
    assert later.shown == Shown(two, CLS)
    for elsewhere in ("/etc/passwd", str(Path(__file__)), ""):
        refused = desk.draw(Upload(elsewhere, "drawing-3.png"), CLS, later.shown)
        assert isinstance(refused, Refused)
        assert refused.shown == later.shown


def test_of_a_photo_that_stays_in_the_browser_an_example_stands_for_its_model(desk):
    stays = desk.draw(None, CLS, START)
    assert stays.shown[:2] == (desk.digits.upload, ModelKey("mnist"))
    itself = stays.manifest["itself"]
    assert (itself["key"], itself["kind"]) == ("example-digit", "example")
    assert itself["key"] not in [one["key"] for one in stays.manifest["beside"]]
    # After the visitor's yes it is a photo like any other, as it was shown.
    later = desk.draw(
        uploaded(desk, "dark.png"), CLS, stays.shown, first=False, look=Look(invert=True)
    )
    assert later.shown == Shown(later.shown.photo, CLS, None, Look(invert=True))
    assert later.manifest["photo"]["inverted"] is True
    assert "itself" not in later.manifest


def test_a_page_to_take_home_has_the_layers_that_were_asked_for(desk, upload, monkeypatch):
    manifest = desk.show(upload, CLS, START).manifest
    wanted = {"id": manifest["pass"]["id"], "film": False}
    whole, part = (
        desk.ask("take_home", {**wanted, "layers": layers}) for layers in ([2, 0, 1], [2, 2])
    )
    assert "error" not in whole
    assert part["size"] < whole["size"]
    data = desk._store.get(part["path"])
    assert len(data) == part["size"]
    files = json.loads(re.search(rb'id="files">(.*?)</script>', data)[1])
    present = [name for name, text in files.items() if name.startswith("layer-") and text]
    assert present == ["layer-02.safetensors"]
    assert "tokens-02.safetensors" in files
    assert "tokens-00.safetensors" not in files
    assert b'id="taken">null<' in data  # what a visitor wrote never came here
    assert b'id="weights"' not in data
    # Weights that the host keeps on the server were in a page of whoever asked for them.
    running = {**wanted, "layers": [2], "engine": True}
    assert "nothing at this address" in desk.ask("take_home", running)["error"]
    monkeypatch.setattr(desk.analyses, "lends", lambda model: model == CLS)
    assert b'id="weights"' in desk._store.get(desk.ask("take_home", running)["path"])
    for wrong in ([], [3], [True], ["0"], "all", None):
        assert (
            "Layers of the analysis" in desk.ask("take_home", {**wanted, "layers": wrong})["error"]
        )


def test_few_pages_to_take_home_are_made_at_a_time(desk, upload, monkeypatch):
    """40 at once held their analyses while they waited: the app grew to 2 GB."""
    monkeypatch.setattr(limits, "COMPUTING_WAIT_SECONDS", 0.01)
    key = desk.show(upload, CLS, START).manifest["pass"]["id"]
    wanted = {"id": key, "film": False, "layers": [0]}
    read, before = [], desk.analyses.saved
    monkeypatch.setattr(desk.analyses, "saved", lambda ref: read.append(ref) or before(ref))
    with ExitStack() as others:
        for _ in range(limits.PAGES_MADE):
            others.enter_context(computing(desk._questions._taking_home))
        assert "computes for many others" in desk.ask("take_home", wanted)["error"]
        assert not read
    assert desk.ask("take_home", wanted)["size"] > 0
    assert read


def test_a_page_that_would_be_too_large_is_refused(desk, upload, monkeypatch):
    monkeypatch.setattr(limits, "PAGE_BYTES", 1000)
    manifest = desk.show(upload, CLS, START).manifest
    refused = desk.ask("take_home", {"id": manifest["pass"]["id"], "film": False, "layers": [0]})
    assert "choose fewer" in refused["error"]
    assert "더 적게" in refused["errors"]["ko"]


def test_an_inverted_example_is_in_its_link_and_not_in_what_stands_beside(desk):
    index = [example.name for example in desk.examples].index("red panda")
    plain = desk.show_example(index, CLS, START)
    inverted = desk.look(Look(invert=True), plain.shown)
    link = {"model": "tiny-cls", "example": "red-panda", "invert": "1"}
    assert inverted.manifest["link"] == link
    opened = desk.open(CLS, START, link)
    assert opened.shown.look.invert is True
    assert opened.manifest["photo"] == inverted.manifest["photo"]
    assert desk.open(CLS, START, link | {"invert": "yes"}).shown.look == Look()
    assert desk.show_example(index, CLS, inverted.shown).shown.look == Look()
    key = inverted.manifest["pass"]["id"]
    beside = {
        wanted: desk.ask("beside", {"id": key, "beside": wanted})["manifest"]["photo"]["inverted"]
        for wanted in ("untrained", "example-dog", "model-tiny-grey")
    }
    assert beside == {"untrained": True, "example-dog": False, "model-tiny-grey": True}


def test_a_stretched_photo_is_in_its_link_and_stays_in_another_model(desk):
    example = next(one for one in desk.examples if one.upload.name == "cat.jpg")
    plain = desk.show(example.upload, CLS, START)
    stretched = desk.look(Look(stretch=True), plain.shown)
    assert stretched.manifest["link"] == {"model": "tiny-cls", "example": "cat", "stretch": "1"}
    assert desk.open(CLS, START, stretched.manifest["link"]).shown.look == Look(stretch=True)
    assert desk.open(CLS, START, {"stretch": "1"}).shown.look == Look()  # of no picture
    twin = desk.show(None, ModelKey("tiny-cls", True), stretched.shown)
    assert twin.shown.look == Look(stretch=True)
    back = desk.look(Look(), stretched.shown)
    assert "stretch" not in back.manifest["link"]


def test_a_stretched_photo_stays_so_whatever_a_request_calls_its_file(desk, upload):
    """Names from a Mac are decomposed; the picture input names the file, whose name is composed."""
    named = Upload(upload.address, unicodedata.normalize("NFD", "Röntgen.png"))
    drawn = desk.draw(named, CLS, START, first=False, look=Look(stretch=True))
    again = Upload(upload.address, Path(upload.address).name)
    twin = desk.show(again, ModelKey("tiny-cls", True), drawn.shown)
    assert (twin.shown.look, twin.shown.photo) == (Look(stretch=True), drawn.shown.photo)


def test_a_program_can_invert(desk, models, upload):
    plain, inverted = (
        Programs(desk.analyses, desk._store).answer(upload.address, "tiny-cls", invert=invert)[0]
        for invert in (False, True)
    )
    assert (plain["photo"]["inverted"], inverted["photo"]["inverted"]) == (False, True)
    ours = vitviz.analyze(models.get(CLS), upload.address, invert=True)
    assert inverted["predictions"] == ours.facts(5)["predictions"]


def test_a_program_is_told_where_the_answer_is_gathered(desk, models, upload):
    """And a page gets what begins there, which takes the model, too."""
    programs, key = Programs(desk.analyses, desk._store), ModelKey("tiny-map")
    ours = vitviz.analyze(models.get(key), upload.address)
    told = programs.answer(upload.address, "tiny-map")[0]["selection"]["pooling"]
    np.testing.assert_allclose(told, ours.pooling_map().mean(0), atol=1e-5)
    short = programs.analyze(upload.address, "tiny-map", rows=True)["selection"]
    assert len(short["rows"]["pooling"]) == ours.grid.num_tokens
    assert (
        short["pooling"]
        == programs.explain(upload.address, "tiny-map", "attention")["relevance"]["strongest"]
    )
    assert "pooling" not in programs.analyze(upload.address, "tiny-cls", rows=True)["selection"]
    shown = desk.show(upload, key, START).manifest["pass"]["id"]
    data = base64.b64decode(
        desk.ask("late", {"id": shown, "name": "explain-rollout-0-any"})["data"]
    )
    torch.testing.assert_close(load(data)["values"], ours.explain("rollout"), atol=1e-5, rtol=0)


def test_a_picture_that_another_analysis_needs_is_counted_where_that_was_asked_for(
    desk, upload, monkeypatch
):
    """The picture that a program's explanation is about was counted as a page's."""
    doors = []
    monkeypatch.setattr(desk.analyses._watch, "analysis", lambda door, **_: doors.append(door))
    programs = Programs(desk.analyses, desk._store, "mcp")
    programs.explain(upload.address, "tiny-cls", "generic", like="cat")
    transplant = {"kind": "transplant", "patches": [1], "layer": 1, "from": "cat"}
    programs.intervene(upload.address, [transplant], "tiny-cls")
    assert len(doors) >= 4
    assert set(doors) == {"mcp"}
