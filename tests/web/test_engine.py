"""The engine: jobs and results can be pickled, refusals are values, Gradio is not imported."""

import base64
import pickle
import subprocess
import sys
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from io import BytesIO

import numpy as np
import pytest
import torch
from PIL import Image

import vitviz
from tests.desks import encoded, models_of
from tests.running import ROOT
from vitviz.errors import VitvizError
from vitviz.languages import say
from vitviz.model.key import ModelKey
from vitviz.payload import pack
from vitviz.payload.payload import late_file
from vitviz.web.compute import executor
from vitviz.web.compute.engine import Local
from vitviz.web.compute.executor import execute
from vitviz.web.compute.jobs import Job, LateJob, OperateJob, Refusal, Result, Selection
from vitviz.web.compute.models import Menu
from vitviz.web.compute.turns import Turns, computing
from vitviz.web.host import limits
from vitviz.web.host.error_messages import in_each
from vitviz.web.host.settings import Settings
from vitviz.web.service.replies import Shown
from vitviz.web.service.service import Service
from vitviz.web.store.cache import Cache
from vitviz.web.store.store import Upload


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    return models_of(tmp_path_factory.mktemp("engine"), "cls", "grey")


CLS, GREY = ModelKey("tiny-cls"), ModelKey("tiny-grey")


def job(**changes):
    return Job(**{"photo": encoded(), "name": "a dog.png", "model": CLS} | changes)


def test_jobs_and_results_travel(models):
    for one in (
        job(),
        job(selection=Selection(3)),
        job(photo=b""),
        job(model=ModelKey("none")),
    ):
        there = pickle.loads(pickle.dumps(one))
        assert there == one
        result = execute(there, models)
        back = pickle.loads(pickle.dumps(result))
        assert vars(back) == vars(result)
        assert (back.refused is None) == bool(back.saved)
    assert "PNG" not in repr(job()) + repr(execute(job(), models))  # no picture gets into a log


ELSEWHERE = """
import pickle, sys
from vitviz.web.compute.executor import execute
from vitviz.web.compute.models import Models
models = Models(sys.argv[1:])
while True:
    try:
        job = pickle.load(sys.stdin.buffer)
    except EOFError:
        break
    pickle.dump(execute(job, models), sys.stdout.buffer)
    sys.stdout.flush()
"""


class Elsewhere:
    """An engine in another process; this process has only the menu."""

    def __init__(self, sources):
        command = [sys.executable, "-c", ELSEWHERE, *sources]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        self.process = subprocess.Popen(command, cwd=ROOT, **pipes)

    def run(self, job):
        pickle.dump(job, self.process.stdin)
        self.process.stdin.flush()
        return pickle.load(self.process.stdout)

    late = run


def test_a_page_is_answered_by_an_engine_elsewhere(models, tmp_path):
    sources = [models._sources[key] for key in ("tiny-cls", "tiny-grey")]
    there, cache = Elsewhere(sources), Cache(tmp_path)
    desk, start = Service(there, Menu(sources), cache), Shown(None, CLS)
    with there.process:
        answer = desk.show(Upload(cache.put(encoded(), "a.png"), "a.png"), GREY, start)
        ours = vitviz.analyze(models.get(GREY), encoded())
        saved = vitviz.Analysis.from_bytes(cache.get(answer.saved))
        torch.testing.assert_close(saved.trace.q, ours.trace.q)
        question = {"token": 3, "layer": 1, "first": 0, "residual": 0.5, "head_fusion": "mean"}
        reply = desk.ask("rollout", {"id": answer.manifest["pass"]["id"], **question})
        torch.testing.assert_close(torch.tensor(reply["values"]), ours.rollout(3, 1))
        late = desk.ask("late", {"id": answer.manifest["pass"]["id"], "name": "mixing-01"})
        assert base64.b64decode(late["data"]) == late_file(ours, "mixing-01")
        refused = desk.show(Upload(cache.put(b"", "b.png"), "b.png"), GREY, answer.shown)
        assert refused.refusal.of_picture
        assert "빈 파일" in in_each(refused.refusal.text)["ko"]  # after pickling too


def test_a_page_gets_what_its_viewer_draws(models):
    result = Local(models).run(job(model=ModelKey("tiny-cls", untrained=True)))
    ours = vitviz.analyze(models.get(ModelKey("tiny-cls", untrained=True)), encoded())
    payload = pack(ours, film=True, whole=False)
    assert result.files == payload.files
    assert set(result.manifest) == set(payload.manifest)
    assert result.manifest["model"] == payload.manifest["model"]
    saved = vitviz.Analysis.from_bytes(result.saved)
    assert torch.equal(saved.trace.q, ours.trace.q)
    assert saved.photo_name == "a dog.png"
    assert result.saved_name == "a-dog-tiny-cls-untrained.safetensors"
    assert (result.refused, result.preview, result.summary) == (None, None, {})


def test_a_program_gets_the_summary_of_what_it_asked_about(models):
    ours = vitviz.analyze(models.get(CLS), encoded())
    result = execute(job(selection=Selection(token=5, layer=1, head=0)), models)
    told = dict(result.summary)
    chosen = told.pop("selection")
    assert told == ours.summary(limits.TOP_CLASSES) | {"photo": told["photo"]}
    assert (chosen["token"], chosen["layer"], chosen["head"]) == (5, 1, 0)
    np.testing.assert_allclose(chosen["attention"], ours.attention(1, 0, 5))
    np.testing.assert_allclose(chosen["rollout"], ours.rollout(5, 1))
    last = execute(job(selection=Selection()), models).summary["selection"]
    assert (last["token"], last["layer"], last["head"]) == (0, ours.trace.depth - 1, "mean")
    assert (result.manifest, result.files, result.preview) == ({}, {}, None)
    assert vitviz.Analysis.from_bytes(result.saved).photo_name == "a dog.png"


def test_what_no_browser_shows_comes_with_a_preview(models):
    result = execute(job(photo=encoded(kind="TIFF"), name="a.TIF", model=GREY), models)
    with Image.open(BytesIO(result.preview)) as image:
        assert (image.format, image.size, image.mode) == ("PNG", (28, 28), "L")


@pytest.mark.parametrize(
    ("changes", "says", "of_picture"),
    [
        ({"photo": b"text", "name": "x.jpg"}, "'x.jpg' is not a picture", True),
        ({"photo": b""}, "'a dog.png' is empty", True),
        ({"model": ModelKey("nonsense")}, "there is no model 'nonsense'", False),
        ({"model": ModelKey("deit_tiny_patch16_224.fb_in1k")}, "the weights of", False),
        ({"selection": Selection(token=99)}, "token must be", False),
        ({"selection": Selection(layer=-2)}, "layer must be", False),
    ],
    ids=str,
)
def test_what_cannot_be_shown_is_a_value(models, changes, says, of_picture):
    result = Local(models).run(job(**changes))
    assert result.refused.text.startswith(says)
    assert result.refused.of_picture is of_picture
    assert vars(result) == vars(Result(refused=result.refused, seconds=result.seconds))


def test_a_fault_of_the_machine_is_raised(models, monkeypatch):
    def broken(*_, **_options):
        raise OSError("no space left")

    monkeypatch.setattr(executor, "analyze", broken)
    with pytest.raises(OSError, match="no space left"):
        Local(models).run(job())


def test_so_many_compute_at_a_time(models, monkeypatch):
    monkeypatch.setattr(limits, "COMPUTING_WAIT_SECONDS", 0.01)
    here = Local(models)
    with ExitStack() as others:
        for _ in range(limits.COMPUTING):
            others.enter_context(computing(here._computing))
        refused = here.run(job()).refused
        assert refused == Refusal("this server computes for many others; try again in a minute")
        # A bad photo is refused without waiting for a turn.
        assert here.run(job(photo=b"")).refused.of_picture
    assert here.run(job()).refused is None


@pytest.mark.parametrize("kind", ["page", "program", "operated", "saved"])
def test_a_turn_is_taken_for_the_pass_and_for_packing(models, monkeypatch, kind):
    """Packing many tokens takes as long as their pass; a photo is opened before the turn."""
    seen, inside = [], False

    @contextmanager
    def turn():
        nonlocal inside
        inside = True
        yield
        inside = False

    def note(owner, name):
        before = getattr(owner, name)

        def noted(*args, **kwargs):
            seen.append((name, inside))
            return before(*args, **kwargs)

        monkeypatch.setattr(owner, name, noted)

    saved = execute(job(), models).saved
    for name in ("open_upload", "analyze", "pack"):
        note(executor, name)
    for name in ("from_bytes", "operate", "summary", "to_bytes"):
        note(vitviz.Analysis, name)
    operated = OperateJob(saved=saved, model=CLS, wanted="saved" if kind == "saved" else "page")
    jobs = {"page": job(), "program": job(selection=Selection())}
    assert execute(jobs.get(kind, operated), models, turn).refused is None
    opened, passed = [("open_upload", False), ("analyze", True)], [("from_bytes", False)]
    passed.append(("operate", True))
    assert (
        seen
        == {
            "page": [*opened, ("pack", True), ("to_bytes", True)],
            "program": [*opened, ("summary", True), ("to_bytes", True)],
            "operated": [*passed, ("pack", True)],
            "saved": [*passed, ("to_bytes", True)],
        }[kind]
    )


def test_a_menu_loads_nothing(models, monkeypatch):
    """A process whose engine is elsewhere needs no weights."""
    monkeypatch.setattr("vitviz.web.compute.models.load_key", None)
    menu = Menu(list(models._sources.values())[:2])
    assert (menu.choices, menu.default) == (models.choices, models.default)
    assert "tiny-grey" in menu


def test_nothing_behind_the_page_imports_gradio():
    """Neither directly nor through another module."""
    names = ("service.service", "store.cache", "page.door")
    script = "import sys\n" + "".join(
        f"import vitviz.web.{name}; print('{name}', 'gradio' in sys.modules)\n" for name in names
    )
    command = [sys.executable, "-c", script]
    said = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert said.stdout.splitlines() == [f"{name} False" for name in names]


def test_a_refusal_that_has_travelled_is_still_said_in_any_language(models):
    refused = pickle.loads(pickle.dumps(Local(models).run(job(photo=b"")).refused))
    assert refused.of_picture
    assert refused.text.endswith("64 megapixels.")
    assert say(refused.text, "ko").endswith("64메가픽셀까지 올릴 수 있습니다.")


def test_a_job_carries_interventions_and_an_explainer(models):
    changes = [{"kind": "even", "rows": "cls", "layers": [1]}]
    loaded = models.get(CLS)
    ours = vitviz.analyze(loaded, encoded(), interventions=changes)
    page = execute(job(interventions=changes), models)
    assert page.refused is None
    assert page.saved_name.endswith("-changed.safetensors")
    again = vitviz.Analysis.from_bytes(page.saved)
    assert torch.equal(again.trace.logits, ours.trace.logits)
    assert again.interventions == ours.interventions
    asked = Selection(token=2, explainer="generic", target=1)
    result = execute(job(selection=asked, interventions=changes), models)
    assert result.summary["interventions"] == changes
    assert result.summary["selection"]["relevance"] == {
        "explainer": "generic",
        "target": 1,
        "values": ours.explain("generic", 2, 1).tolist(),
    }
    plain = execute(job(selection=Selection(explainer="rollout")), models).summary["selection"]
    assert plain["relevance"]["target"] is None
    assert plain["relevance"]["values"] == plain["rollout"]
    assert pickle.loads(pickle.dumps(job(interventions=changes))).interventions == changes
    for wrong in (
        job(interventions=[{"kind": "head", "layer": 9, "head": 0}]),
        job(interventions={"kind": "remove"}),
        job(selection=Selection(explainer="flow")),
        job(selection=Selection(explainer="generic", target=99)),
    ):
        refused = execute(wrong, models).refused
        assert refused is not None
        assert not refused.of_picture


def test_an_explanation_of_a_program_is_bounded_before_it_runs(models, monkeypatch):
    """Three of 1,369 passes each kept everybody's photos waiting for minutes."""
    monkeypatch.setattr(limits, "EXPLAINING_WORK", 1e3)
    monkeypatch.setattr(executor, "analyze", lambda *_, **__: pytest.fail("it was computed"))
    refused = execute(job(selection=Selection(3, explainer="occlusion")), models).refused
    assert refused.text.startswith("this takes about")


@pytest.mark.parametrize(
    ("limit", "explainer", "heavy"),
    [
        ("MANY_PASSES", "occlusion", True),
        ("MANY_PASSES", "", False),
        ("HEAVY_WORK", "", True),
    ],
)
def test_heavy_work_leaves_a_place_for_light_work(models, monkeypatch, limit, explainer, heavy):
    """Small photos waited for two analyses of 1,370 tokens at a time."""
    monkeypatch.setattr(limits, "COMPUTING_WAIT_SECONDS", 0.01)
    monkeypatch.setattr(limits, limit, 2)
    monkeypatch.setattr(executor, "_heavy", Turns(1, 0))
    plain = job(selection=Selection(3, explainer=explainer))
    saved = execute(job(), models).saved
    operated = OperateJob(saved=saved, model=CLS)
    with executor._heavy.take(1, AssertionError()):
        assert (execute(plain, models).refused is not None) == heavy
        alone = limit == "HEAVY_WORK"
        assert (execute(operated, models).refused is not None) == alone
        assert execute(LateJob(name="filters", saved=saved, model=CLS), models).refused is None
    assert execute(plain, models).refused is None
    assert execute(operated, models).refused is None


@pytest.mark.parametrize("passes", [1, 2, 5])
def test_heavy_work_has_all_places_but_one_of_those_that_a_host_sets(monkeypatch, passes):
    """The number was that of the cores, read before the settings of the host."""
    for name in ("COMPUTING", "WORKERS"):
        monkeypatch.setattr(limits, name, getattr(limits, name))  # put back afterwards
    monkeypatch.setattr(limits, "COMPUTING_WAIT_SECONDS", 0.01)
    Settings(passes=passes).apply()
    with ExitStack() as heavy:
        for _ in range(max(1, passes - 1)):
            heavy.enter_context(executor._leaving_room(None, limits.MANY_PASSES))
        with pytest.raises(VitvizError, match="computes for many others"):
            heavy.enter_context(executor._leaving_room(None, limits.MANY_PASSES))


def test_fooling_the_model_is_work_of_many_passes(models, monkeypatch):
    """Up to 97 of them, which a small change of a list of interventions must not hide."""
    monkeypatch.setattr(limits, "COMPUTING_WAIT_SECONDS", 0.01)
    monkeypatch.setattr(executor, "_heavy", Turns(1, 0))
    saved = execute(job(), models).saved

    def refusals(**change: object) -> list[str]:
        changes = [{"kind": "perturb", **change}]
        asked = (
            job(interventions=changes),
            OperateJob(saved=saved, model=CLS, interventions=changes),
        )
        return [str(found.refused) for found in (execute(one, models) for one in asked)]

    assert refusals() == ["None", "None"]
    with executor._heavy.take(1, AssertionError()):
        assert "None" not in refusals(steps=8)
        assert refusals(target="random") == refusals(steps=2) == ["None", "None"]
    monkeypatch.setattr(limits, "EXPLAINING_WORK", 1e3)
    assert all("about 97 passes" in text for text in refusals(steps=32))


def test_heavy_work_is_that_of_large_models_and_of_many_tokens():
    """A pass of ViT-S/16, and one of the shipped photo model with as many tokens as it may have."""
    card = vitviz.load("photos").card
    large = replace(card.config, image_size=(222, 222))
    assert executor._work(card, 1) < limits.HEAVY_WORK
    assert executor._work(replace(card, config=large), 1) > limits.HEAVY_WORK
    assert limits.HEAVY_WORK < 2 * 22e6 * 197
