"""Experiments at the service: what was changed stands beside, for a class at once too."""

import base64
import json
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import torch
from safetensors.torch import load
from torch.testing import assert_close

import vitviz
from tests.bench.experiments import stroke
from tests.desks import desk_of, encoded, models_of, uploaded
from tests.models import photo
from tests.running import until
from vitviz import Analysis
from vitviz.model.key import ModelKey
from vitviz.web.compute import executor
from vitviz.web.compute.models import Models
from vitviz.web.host import limits
from vitviz.web.service.analyses import PassRef
from vitviz.web.service.replies import Shown, with_places
from vitviz.web.service.service import Service

MODELS = ("cls", "no_cls", "distilled", "registers")  # 1, 0, 2 and 5 prefix tokens
VISITORS = 40


@pytest.fixture(scope="module")
def models(folder):
    return models_of(folder, *MODELS)


@pytest.fixture
def desk(models, folder):
    return desk_of(models, folder)


def shown(desk: Service, name: str = "tiny-cls") -> dict:
    """The manifest of a photo that a page shows."""
    return desk.show(uploaded(desk), ModelKey(name), Shown(None, ModelKey(name))).manifest


def logits(desk: Service, manifest: dict) -> list[float]:
    """What a pass came to, as its viewer gets it; [] of a model that names no classes."""
    file = with_places(manifest)["files"]["first"]
    data = base64.b64decode(file["data"]) if "data" in file else desk._store.get(file["path"])
    sent = load(data)
    return sent["logits"].tolist() if "logits" in sent else []


def asked(manifest: dict, *interventions: dict) -> dict:
    """How a viewer names a changed pass: the intact analysis, and what is changed."""
    return {"id": manifest["pass"]["id"], "interventions": list(interventions)}


def operate(desk: Service, manifest: dict, *interventions: dict) -> dict:
    return desk.ask("operate", asked(manifest, *interventions))


@pytest.mark.parametrize("name", MODELS)
def test_the_answer_is_that_of_a_direct_call(desk, models, folder, name: str) -> None:
    now = shown(desk, f"tiny-{name}")
    changes = [
        {"kind": "remove", "patches": [0, 3]},
        {"kind": "even", "rows": "patches", "layers": [1]},
        {"kind": "replace", "patches": [1, 2], "by": "blur", "seed": 0},
    ]
    reply, question = operate(desk, now, *changes), asked(now, *changes)
    assert set(reply) == {"pass", "files"}
    ours = vitviz.analyze(models.get(ModelKey(f"tiny-{name}")), photo(), interventions=changes)
    assert reply["pass"]["changes"] == changes
    assert reply["pass"]["removed"] == [0, 3]
    assert "id" not in reply["pass"]
    want = ours.trace.logits.tolist() if ours.card.head == "classes" else []
    assert_close(logits(desk, reply), want, atol=1e-4, rtol=0)
    # What it has in common with the intact analysis is not sent again, and layers when asked for.
    sent_now = {name for name, file in reply["files"].items() if "data" in file}
    assert sent_now == {"first", "picture"}
    for layer in range(ours.trace.depth):
        name = f"layer-{layer:02d}"
        assert reply["files"][name] == {"late": True}
        late = base64.b64decode(desk.ask("late", {**question, "name": name})["data"])
        assert_close(load(late)["q"], ours.trace.rounded(layer).q)
    assert "data" in desk.ask("late", {**question, "name": "embedding"})
    picture = load(base64.b64decode(reply["files"]["picture"]["data"]))
    assert_close(picture["pixels"], ours.picture)
    kept = desk.analyses.get(PassRef.of(question))
    assert kept.interventions == ours.interventions
    assert_close(kept.trace.logits, ours.trace.logits)
    # A viewer asks about it as about any other.
    assert "data" in desk.ask("late", {**question, "name": "features"})
    what = {"token": 2, "layer": 1, "first": 0, "residual": 0.5, "head_fusion": "mean"}
    values = desk.ask("rollout", {**question, **what})["values"]
    assert_close(values, ours.rollout(2, 1).tolist(), atol=1e-5, rtol=0)


def test_tokens_of_an_example_are_transplanted(desk, models) -> None:
    now, loaded = shown(desk), models.get(ModelKey("tiny-cls"))
    cat = vitviz.analyze(loaded, next(e.read() for e in desk.examples if "cat" in e.path))
    change = {"kind": "transplant", "patches": "all", "layer": 3, "from": "example-cat"}
    manifest = operate(desk, now, change, change)
    # Before the head: the answer of the donor.
    assert_close(logits(desk, manifest), cat.trace.logits.tolist(), atol=1e-4, rtol=0)
    assert manifest["pass"]["changes"][0]["from"].startswith("cat.jpg")
    first = load(base64.b64decode(manifest["files"]["first"]["data"]))
    assert torch.equal(first["donor.0"], cat.picture)  # which the page shows, small
    for other in ("example-unicorn", "model-tiny-no_cls", "/etc/passwd", 7):
        refused = operate(desk, now, {**change, "from": other})
        assert "another analysis" in refused["error"]


def test_clean_tokens_of_the_picture_itself_are_put_back(desk, models) -> None:
    now, loaded = shown(desk), models.get(ModelKey("tiny-cls"))
    clean = vitviz.analyze(loaded, photo())
    black = {"kind": "replace", "patches": [1, 2, 6], "by": "black", "seed": 0}
    change = {"kind": "transplant", "patches": "cls", "layer": 2}
    manifest = operate(desk, now, black, {**change, "from": "itself"})
    ours = clean.operate([black, {**change, "from": clean}])
    assert not torch.allclose(ours.trace.logits, clean.operate([black]).trace.logits, atol=1e-3)
    assert_close(logits(desk, manifest), ours.trace.logits.tolist(), atol=1e-4, rtol=0)
    assert manifest["pass"]["changes"][1]["from"] == "my dog.png, tiny-cls"


def sent(desk: Service, name: str = "second.png") -> tuple[dict, object]:
    """Another photo of the visitor, as the viewer names it, and its pixels."""
    pixels = photo(90, 50)[::-1].copy()
    upload = uploaded(desk, name, encoded(pixels))
    return {"path": upload.address, "name": name}, pixels


@pytest.mark.parametrize("tokens", ["cls", "all", [1, 2, 5]])
def test_tokens_of_another_photo_of_the_visitor_are_transplanted(desk, models, tokens) -> None:
    now, loaded = shown(desk), models.get(ModelKey("tiny-cls"))
    other, pixels = sent(desk)
    assert now["upload"]["name"] == "my dog.png"
    change = {"kind": "transplant", "patches": tokens, "layer": 1}
    manifest = operate(desk, now, {**change, "from": other})
    donor = vitviz.analyze(loaded, pixels)
    ours = vitviz.analyze(loaded, photo(), interventions=[{**change, "from": donor}])
    assert_close(logits(desk, manifest), ours.trace.logits.tolist(), atol=1e-4, rtol=0)
    assert manifest["pass"]["changes"][0]["from"] == "second.png, tiny-cls"
    # What was looked at is made again for a question, with the same photo.
    kept = desk.analyses.get(PassRef.of(asked(now, {**change, "from": other})))
    assert_close(kept.trace.logits, ours.trace.logits)
    # The same photo stands beside.
    beside = desk.ask("beside", {"id": now["pass"]["id"], "beside": other})["manifest"]
    assert_close(logits(desk, beside), donor.trace.logits.tolist(), atol=1e-4, rtol=0)


def test_a_photo_that_is_not_here_gives_no_tokens(desk) -> None:
    now, (other, _) = shown(desk), sent(desk)
    change = {"kind": "transplant", "patches": "cls", "layer": 1}

    def refused(wanted: object) -> dict:
        return operate(desk, now, {**change, "from": wanted})["errors"]

    Path(other["path"]).unlink()
    assert "deleted" in refused(other)["en"]
    assert "지워졌습니다" in refused(other)["ko"]
    assert "deleted" in refused({"path": "/etc/passwd", "name": "x.png"})["en"]
    assert "deleted" in refused({"path": "../../etc/passwd", "name": "x.png"})["en"]
    assert "not here any more" in refused("photo-abc123")["en"]
    assert "이제 여기에 없습니다" in refused("photo-abc123")["ko"]
    for nonsense in ({"path": 7, "name": "x"}, {"path": other["path"]}, [other]):
        assert "another analysis" in refused(nonsense)["en"]
        assert (
            "beside" in desk.ask("beside", {"id": now["pass"]["id"], "beside": nonsense})["error"]
        )
    text = Path(desk._store.folder) / "no photo.png"
    text.write_text("hello")
    assert "no photo.png" in refused({"path": str(text), "name": "no photo.png"})["en"]


def test_one_experiment_takes_tokens_of_a_few_photos_only(desk, monkeypatch) -> None:
    monkeypatch.setattr(limits, "DONORS", 2)
    now, photos = shown(desk), [sent(desk, f"{n}.png")[0] for n in range(3)]
    all_ = [{"kind": "transplant", "patches": [n], "layer": 1, "from": photos[n]} for n in range(3)]
    assert "pass" in operate(desk, now, *all_[:2], all_[0])
    assert "At most 2 other photos" in operate(desk, now, *all_)["error"]


def test_the_rows_that_a_viewer_shows_come_ahead(desk, models) -> None:
    now = shown(desk)
    change = {"kind": "remove", "patches": [3]}
    manifest = desk.ask("operate", {**asked(now, change), "layer": 1, "token": 5})
    assert manifest["pass"]["first"] == {"layer": 1, "token": 5, "direction": "from"}
    # Taking patches out changes no pixel: the viewer has the picture.
    assert {name for name, file in manifest["files"].items() if "data" in file} == {"first"}
    rows = load(base64.b64decode(manifest["files"]["first"]["data"]))["rows"]
    ours = vitviz.analyze(models.get(ModelKey("tiny-cls")), photo(), interventions=[change])
    assert_close(rows, ours.attention_of_heads(1, 5), atol=1e-3, rtol=0)
    for nonsense in ({"layer": 99, "token": 0}, {"layer": "1", "token": None}):
        reply = desk.ask("operate", {**asked(now, change), **nonsense})
        assert reply["pass"]["first"]["layer"] == ours.trace.depth - 1


def test_strokes_leave_nothing_behind_and_can_be_asked_about_for_ever(desk, monkeypatch) -> None:
    monkeypatch.setattr(limits, "ANALYSES_KNOWN", 3)
    now, change = shown(desk), {"kind": "remove", "patches": [3]}
    before = [file.stat().st_size for file in Path(desk._store.folder).rglob("*.*")]
    changes = [change | {"patches": [patch]} for patch in range(5)]
    for one in changes:
        assert "pass" in operate(desk, now, one)
    after = [file.stat().st_size for file in Path(desk._store.folder).rglob("*.*")]
    assert sorted(after) == sorted(before)
    # More passes are asked about than are kept: each is made when it is, and not computed twice.
    for one in changes:
        assert "data" in desk.ask("late", {**asked(now, one), "name": "features"})
    assert len(desk.analyses._operated) == 3
    monkeypatch.setattr(desk.analyses._engine, "run", lambda _: pytest.fail("it is there"))
    assert "data" in desk.ask("late", {**asked(now, changes[-1]), "name": "features"})


def test_a_changed_pass_is_stored_only_where_the_disk_has_room(desk, monkeypatch) -> None:
    """Each question about other interventions stored one more, whatever the disk had left."""
    now, change = shown(desk), {"kind": "remove", "patches": [3]}
    question = {**asked(now, change), "name": "features"}
    before = {*Path(desk._store.folder).rglob("*.*")}
    with monkeypatch.context() as patch:
        patch.setattr(limits, "DISK_RESERVE_BYTES", 10**18)
        assert "no room for another analysis" in desk.ask("late", question)["error"]
    assert {*Path(desk._store.folder).rglob("*.*")} == before
    assert "data" in desk.ask("late", question)
    monkeypatch.setattr(limits, "DISK_RESERVE_BYTES", 10**18)
    assert "data" in desk.ask("late", question)  # what is there is read


def test_nothing_is_changed_by_nothing(desk) -> None:
    now = shown(desk)
    again = operate(desk, now)
    assert logits(desk, again) == logits(desk, now)
    assert again["pass"]["changes"] == []


@pytest.mark.parametrize(
    ("interventions", "english", "korean"),
    [
        ([{"kind": "remove", "patches": []}], "names no patches", "하나도 없습니다"),
        ([{"kind": "remove", "patches": [*range(16)]}], "at least one patch", "하나는 남아야"),
        (
            [
                {"kind": "remove", "patches": [1]},
                {"kind": "replace", "patches": [1], "by": "black"},
            ],
            "Patch 1 is removed",
            "뺐으므로",
        ),
        ([{"kind": "even", "rows": "all"}] * 65, "At most 64", "64개까지"),
        ([{"kind": "head", "layer": 9, "head": 0}], "count from 0 to 2", "0부터 2까지"),
        (None, "a list", "목록"),
        ("remove_1", "a list", "목록"),
    ],
)
def test_what_cannot_be_done_is_a_sentence_in_both_languages(
    desk, interventions, english: str, korean: str
) -> None:
    refused = desk.ask("operate", {"id": shown(desk)["pass"]["id"], "interventions": interventions})
    assert english in refused["errors"]["en"]
    assert korean in refused["errors"]["ko"]


def test_what_has_expired_cannot_be_operated(desk) -> None:
    assert "expired" in operate(desk, {"pass": {"id": "nobody"}})["error"]
    now = shown(desk)
    for file in Path(desk._store.folder).rglob("*.safetensors"):
        file.unlink()
    # The photo is still there: the intact analysis is made again.
    assert "pass" in operate(desk, now, {"kind": "even", "rows": "all"})
    for file in Path(desk._store.folder).rglob("*.*"):
        file.unlink()
    assert operate(desk, now, {"kind": "even", "rows": "all"})["expired"]
    assert "pass" in operate(desk, shown(desk), {"kind": "even", "rows": "all"})


def test_a_class_that_brushes_at_once_gets_its_own_answers(desk, monkeypatch) -> None:
    """Forty visitors, each with an own brush, at one barrier; a few passes at a time."""
    now, running, most = shown(desk), 0, 0
    changes = [stroke(at, 16) for at in range(VISITORS)]
    alone = [logits(desk, operate(desk, now, change)) for change in changes]
    lock, real = threading.Lock(), Analysis.operate

    def counted(*args, **options):
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        try:
            return real(*args, **options)
        finally:
            with lock:
                running -= 1

    monkeypatch.setattr(Analysis, "operate", counted)
    barrier = threading.Barrier(VISITORS)

    def brush(at: int) -> list[float]:
        barrier.wait()
        return logits(desk, operate(desk, now, changes[at]))

    with ThreadPoolExecutor(VISITORS) as visitors:
        assert list(visitors.map(brush, range(VISITORS))) == alone
    assert most <= limits.COMPUTING


def test_who_finds_the_line_full_is_told_so_and_a_failure_frees_its_place(
    desk, monkeypatch
) -> None:
    now = shown(desk)
    monkeypatch.setattr(limits, "COMPUTING_WAIT_SECONDS", 0.01)
    turns = desk._questions._operating[False]
    with turns.take(1, AssertionError()):
        others = [turns.take(1, AssertionError()) for _ in range(limits.COMPUTING - 1)]
        for one in others:
            one.__enter__()
        assert "computes for many others" in operate(desk, now)["error"]
        for one in others:
            one.__exit__(None, None, None)

    def broken(*args, **options):
        raise RuntimeError("no memory")

    with monkeypatch.context() as patched:
        patched.setattr(Analysis, "operate", broken)
        for _ in range(limits.COMPUTING + limits.OPERATING_LINE + 1):
            assert "no memory" not in operate(desk, now)["error"]
    assert "pass" in operate(desk, now)


@pytest.mark.parametrize(("heavily", "lightly"), [("operate", "operate"), ("late", "rollout")])
def test_light_work_does_not_wait_behind_heavy_work_that_waits(
    desk, monkeypatch, heavily: str, lightly: str
) -> None:
    """It took all turns of one kind along while it waited, up to half a minute, for its own."""
    monkeypatch.setattr(executor, "_is_heavy", lambda card, _: card.name == "tiny-no_cls")
    light, heavy = shown(desk), shown(desk, "tiny-no_cls")
    rest = {
        "operate": {},
        "late": {"name": "explain-occlusion-0-1"},
        "rollout": {"token": 0, "layer": 1, "first": 0, "residual": 0.5, "head_fusion": "mean"},
    }
    waiting = limits.COMPUTING

    def ask(manifest: dict, name: str, patch: int) -> dict:
        change = {"kind": "remove", "patches": [patch]}
        return desk.ask(name, {**asked(manifest, change), **rest[name]})

    with ThreadPoolExecutor(waiting) as others:
        with executor._heavy.take(1, AssertionError()):
            done = [others.submit(ask, heavy, heavily, number) for number in range(waiting)]
            until(lambda: len(executor._heavy._waiting) == waiting)
            with monkeypatch.context() as patched:
                patched.setattr(limits, "COMPUTING_WAIT_SECONDS", 1)
                assert "error" not in ask(light, lightly, 3)
        assert all("error" not in one.result() for one in done)


def test_a_stroke_on_the_shipped_model_sends_at_most_8_kb(folder) -> None:
    desk = desk_of(Models([]), folder)
    changes = ({"kind": "remove", "patches": [3, 4, 18]}, {"kind": "even", "rows": "all"})
    reply = operate(desk, shown(desk, "photos"), *changes)
    assert len(json.dumps(reply)) <= 8000
