"""Fair tests and explanations for viewers: Python's figures, step by step, bounded, one each."""

import base64
import pickle
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest
import torch
from safetensors.torch import load

import vitviz
from tests.desks import desk_of, encoded, models_of, uploaded
from tests.models import photo
from vitviz.languages import languages
from vitviz.model.key import ModelKey
from vitviz.web.compute import executor
from vitviz.web.compute.executor import execute
from vitviz.web.compute.jobs import FairJob
from vitviz.web.host import limits
from vitviz.web.service.replies import Shown

KEYS = ["generic", "attention"]
TINY = ("cls", "grey", "no_cls", "registers")


@pytest.fixture(scope="module")
def models(folder):
    return models_of(folder, *TINY)


@pytest.fixture
def desk(models, folder):
    return desk_of(models, folder)


@pytest.fixture
def upload(desk):
    return uploaded(desk)


def shown(desk, upload, name="tiny-cls"):
    return desk.show(upload, ModelKey(name), Shown(None, ModelKey(name))).manifest["pass"]["id"]


def ask(desk, key, **changes):
    asked = {"id": key, "explainers": KEYS, "token": 0, "target": 2} | changes
    return desk.ask("fair", asked)


def finished(desk, key, **changes):
    """All replies until the result."""
    replies = [ask(desk, key, **changes)]
    while "result" not in replies[-1]:
        assert "error" not in replies[-1], replies[-1]
        replies.append(ask(desk, key, **changes))
    return replies


@pytest.mark.parametrize("name", ["cls", "grey", "no_cls"])
def test_the_steps_together_are_the_fair_test_of_python(desk, models, upload, name):
    key = shown(desk, upload, f"tiny-{name}")
    replies = finished(desk, key)
    assert [reply["done"] for reply in replies] == list(range(1, len(replies) + 1))
    assert len({reply["all"] for reply in replies[len(KEYS) :]}) == 1
    assert replies[-1]["done"] == replies[-1]["all"]
    result, ours = (
        replies[-1]["result"],
        vitviz.analyze(models.get(ModelKey(f"tiny-{name}")), photo()),
    )
    fair = ours.fair_test(*KEYS, target=2)
    expected = fair.to_dict()
    assert result["removed"] == expected["removed"]
    assert result["band"] == expected["band"]
    for one, figures in expected["maps"].items():
        figures.pop("sentence")  # a page makes its own, see text/explaining.js
        assert result["maps"][one] == figures
    assert ask(desk, key)["result"] == replies[-1]["result"]  # and it costs nothing to ask again


def test_two_tests_of_one_analysis_go_on_beside_each_other(desk, upload, monkeypatch):
    """Visitors share the analysis of the first picture: two that tested other classes undid each
    other's steps, without an end.
    """
    key = shown(desk, upload)
    assert ask(desk, key)["done"] == 1
    assert ask(desk, key)["done"] == 2
    assert ask(desk, key, target=1)["done"] == 1
    assert ask(desk, key)["done"] == 3
    assert ask(desk, key, target=1)["done"] == 2
    monkeypatch.setattr(limits, "TESTS_KNOWN", 1)
    other = shown(desk, upload)
    assert ask(desk, other)["done"] == 1
    assert ask(desk, key)["done"] == 1  # forgotten meanwhile: from the beginning


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"explainers": ["nothing"]}, "there is no explainer 'nothing'"),
        ({"explainers": [{}]}, "there is no explainer {}"),
        ({"explainers": []}, "are needed"),
        ({"explainers": "generic"}, "are needed"),
        ({"token": "0"}, "are needed"),
        ({"token": 99}, "token must be"),
        ({"target": None}, "are needed"),
        ({"target": 99}, "has no class"),
        ({"target": -1}, "has no class"),
        ({"id": "x"}, "has expired"),
    ],
)
def test_a_bad_question_gets_a_sentence(desk, upload, changes, says):
    reply = ask(desk, shown(desk, upload), **changes)
    assert says.lower() in reply["error"].lower()
    assert set(reply["errors"]) == set(languages())


def test_a_model_without_classes_is_not_tested(desk, upload):
    assert "names no classes" in ask(desk, shown(desk, upload, "tiny-registers"))["error"]


def test_too_much_work_is_refused_at_once(desk, upload, monkeypatch):
    key = shown(desk, upload)
    monkeypatch.setattr(limits, "TESTING_WORK", 1e3)
    assert "passes of tiny-cls" in ask(desk, key)["error"]
    monkeypatch.setattr(limits, "EXPLAINING_WORK", 1e3)
    reply = desk.ask("late", {"id": key, "name": "explain-occlusion-0-1"})
    assert "about 20 passes of tiny-cls" in reply["error"]
    assert "data" in desk.ask("late", {"id": key, "name": "explain-rollout-0-any"})


def test_an_explanation_is_made_when_it_is_asked_for(desk, models, upload):
    key = shown(desk, upload)
    reply = desk.ask("late", {"id": key, "name": "explain-generic-0-3"})
    sent = load(base64.b64decode(reply["data"]))
    ours = vitviz.analyze(models.get(ModelKey("tiny-cls")), photo())
    torch.testing.assert_close(sent["values"], ours.explain("generic", target=3))
    for name in ("explain-generic-0-77", "explain-generic-99-1", "explain-x-0-any"):
        assert "error" in desk.ask("late", {"id": key, "name": name})


def test_forty_visitors_take_turns_and_each_gets_their_own(desk, models):
    keys = []
    for number in range(4):  # ten visitors for each of four pictures, as their pages would ask
        upload = uploaded(desk, data=encoded(photo() // (number + 1)))
        keys += [(number, shown(desk, upload)) for _ in range(10)]
    busy = steps = 0
    step_done = threading.Condition()

    def stepped_since(count):
        return steps > count

    def visit(visitor):
        nonlocal busy, steps
        number, key = visitor
        while True:
            before = steps
            reply = ask(desk, key, explainers=["attention"])
            assert reply.get("busy") or "error" not in reply, reply
            if "busy" in reply:
                with step_done:  # its page would ask again after a while
                    busy += 1
                    assert step_done.wait_for(partial(stepped_since, before), timeout=60)
            else:
                with step_done:
                    steps += 1
                    step_done.notify_all()
            if "result" in reply:
                return number, reply["result"]

    with ThreadPoolExecutor(40) as pool:
        found = list(pool.map(visit, keys))
    for number, result in found:
        ours = vitviz.analyze(models.get(ModelKey("tiny-cls")), photo() // (number + 1))
        expected = ours.fair_test("attention", target=2).to_dict()
        assert result["maps"]["attention"]["gain"] == expected["maps"]["attention"]["gain"]
    assert busy  # the line was full at times, and they asked again
    assert not desk._questions._tests._running


def test_a_failure_of_the_engine_leaves_nothing_running(desk, upload, monkeypatch):
    key = shown(desk, upload)
    monkeypatch.setattr(executor.fairness, "plan_of", lambda *_a, **_o: 1 / 0)
    while "error" not in (reply := ask(desk, key)):
        assert "result" not in reply
    assert "busy" not in reply
    monkeypatch.undo()
    assert "result" in finished(desk, key)[-1]


def test_jobs_of_a_fair_test_travel(models):
    saved = vitviz.analyze(models.get(ModelKey("tiny-cls")), photo()).to_bytes()
    job = FairJob(saved=saved, model=ModelKey("tiny-cls"), keys=("generic",), target=1)
    there = pickle.loads(pickle.dumps(job))
    assert there == job
    result = pickle.loads(pickle.dumps(execute(there, models)))
    assert (result.summary["done"], result.summary["all"]) == (1, 13)
    assert len(repr(job)) < 300  # no picture gets into a log


@pytest.mark.parametrize("name", ["cls", "registers"])
def test_the_likeness_to_the_picture_beside_falls_as_in_python(desk, models, upload, name):
    """Compare both for a model with classes and one without. The figure names the picture."""
    model = ModelKey(f"tiny-{name}")
    turned = uploaded(desk, data=encoded(photo()[::-1].copy()))
    key, other = shown(desk, upload, model.name), shown(desk, turned, model.name)
    like = {"target": "like", "other": {"id": other}}
    replies = finished(desk, key, **like)
    assert replies[-1]["done"] == replies[-1]["all"]
    here, there = (
        vitviz.analyze(models.get(model), one) for one in (photo(), photo()[::-1].copy())
    )
    expected = here.fair_test(*KEYS, target=there).to_dict()
    result = replies[-1]["result"]
    assert result["target"] is None
    for ours, theirs in zip(result["band"], expected["band"], strict=True):
        assert ours == pytest.approx(theirs)
    for one, figures in expected["maps"].items():
        figures.pop("sentence")
        assert result["maps"][one].keys() == figures.keys()
        for figure, value in figures.items():
            assert result["maps"][one][figure] == pytest.approx(value), figure
    assert ask(desk, key, **like | {"other": {"id": key}})["done"] == 1  # another test
    assert "are needed" in ask(desk, key, target="like")["error"]
    assert "has expired" in ask(desk, key, **like | {"other": {"id": "x"}})["error"]
    elsewhere = shown(desk, upload, "tiny-grey")
    refused = ask(desk, key, **like | {"other": {"id": elsewhere}})
    assert "same model" in refused["error"]


def test_a_figure_of_a_likeness_names_the_picture_beside(desk, upload):
    turned = uploaded(desk, data=encoded(photo()[::-1].copy()), name="c&t.png")
    key, other = shown(desk, upload), shown(desk, turned)
    selected = {"token": 0, "partner": 0, "layer": 0, "head": -1, "direction": "from", "first": 0}
    selected |= {"residual": 0.5, "head_fusion": "mean", "scale": "heads"}
    wanted = {"id": key, "kind": "explanations", "format": "svg", "explainers": KEYS} | selected
    reply = desk.ask("figure", wanted | {"target": "like", "other": {"id": other}})
    svg = base64.b64decode(reply["data"]).decode()
    assert "for the likeness to c&amp;t.png" in svg
    assert "error" in desk.ask("figure", wanted | {"target": "like"})
