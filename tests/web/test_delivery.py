"""What a page shows at the end, whichever of its requests is slow or fails, and at which step."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.desks import models_of, uploaded
from vitviz import Analysis
from vitviz.errors import CaptureError, ImageError
from vitviz.model.key import ModelKey
from vitviz.web.compute import executor
from vitviz.web.compute.engine import Local
from vitviz.web.compute.jobs import Refusal
from vitviz.web.compute.turns import Turns
from vitviz.web.service.analyses import Analyses
from vitviz.web.service.replies import Left, Refused, Shown, Unchanged
from vitviz.web.service.service import Service
from vitviz.web.store.cache import Cache

WAIT = 20  # seconds until a test fails; none of them takes that long
CLS, GREY = ModelKey("tiny-cls"), ModelKey("tiny-grey")
START = Shown(None, CLS)
PAGE = "a page"
# The steps in which an answer can fail or take long, in order: (owner, name)
STEPS = {
    "analyze": (executor, "analyze"),
    "pack": (executor, "pack"),
    "save": (Analysis, "to_bytes"),
    "place": (Analyses, "_placed"),
    "put": (Cache, "put_all"),
}


@pytest.fixture(scope="module")
def models(folder):
    return models_of(folder, "cls", "grey")


@pytest.fixture
def desk(models, folder):
    here = Local(models)
    here._computing = Turns(4, 0)  # more turns than requests
    return Service(here, models, Cache(folder / "cache"))


@pytest.fixture
def uploads(desk):
    return [uploaded(desk, name) for name in ("first.png", "second.png")]


class Gate:
    """Stops one thread at one step until `open` is set; then it goes on, or raises `error`."""

    def __init__(self, monkeypatch, step):
        owner, name = STEPS[step]
        before = getattr(owner, name)
        self.arrived, self.open, self.thread, self.error = *(threading.Event() for _ in "ab"), 0, 0

        def through(*args, **kwargs):
            if threading.get_ident() == self.thread:
                self.thread = 0
                self.arrived.set()
                assert self.open.wait(WAIT)
                if self.error:
                    raise self.error
            return before(*args, **kwargs)

        monkeypatch.setattr(owner, name, through)

    def for_this_thread(self, error=None):
        self.thread, self.error = threading.get_ident(), error


@pytest.fixture
def pool():
    with ThreadPoolExecutor(2) as pool:
        yield pool


def slowly(pool, gate, desk, upload, model, shown=START):
    """Send a request in another thread, and wait until it has reached the gate."""

    def ask():
        gate.for_this_thread()
        return desk.show(upload, ModelKey(model), shown, PAGE)

    answer = pool.submit(ask)
    assert gate.arrived.wait(WAIT)
    return answer


@pytest.mark.parametrize("step", STEPS)
def test_a_slow_answer_never_overwrites_a_newer_one(desk, uploads, pool, monkeypatch, step):
    gate = Gate(monkeypatch, step)
    slow = slowly(pool, gate, desk, uploads[0], "tiny-cls")
    answer = desk.show(uploads[1], GREY, START, PAGE)
    assert answer.manifest["photo"]["name"] == "second.png"
    assert answer.shown.model == GREY
    gate.open.set()
    assert slow.result(WAIT) == Unchanged()


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("error", [ImageError, CaptureError, OSError])
def test_a_failed_request_leaves_the_one_before_to_come(
    desk, uploads, pool, monkeypatch, step, error
):
    gate, broken = Gate(monkeypatch, "save"), Gate(monkeypatch, step)
    slow = slowly(pool, gate, desk, uploads[0], "tiny-cls")
    broken.for_this_thread(error("no luck"))
    broken.open.set()
    if error is OSError:  # a bug or a full disk: `guard` shows it, the page stays as it is
        with pytest.raises(OSError, match="no luck"):
            desk.show(uploads[1], GREY, START, PAGE)
    else:
        answer = desk.show(uploads[1], GREY, START, PAGE)
        photo = None if error is ImageError else Left.AS_IT_IS
        assert answer == Refused(Refusal("no luck", error is ImageError), START, photo)
    gate.open.set()
    answer = slow.result(WAIT)
    assert answer.manifest["photo"]["name"] == "first.png"
    assert (answer.photo, answer.controls) == (uploads[0].address, True)
    assert answer.shown == Shown(uploads[0], CLS)
    assert "error" not in desk.ask("rollout", question(answer.manifest))
    assert answer.saved.endswith("first-tiny-cls.safetensors")


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("error", [ImageError, CaptureError])
def test_a_request_that_fails_after_another_was_delivered_changes_nothing(
    desk, uploads, pool, monkeypatch, step, error
):
    gate, broken = Gate(monkeypatch, "analyze"), Gate(monkeypatch, step)

    def ask():  # the page asked when it showed nothing
        broken.for_this_thread(error("no luck"))
        return desk.show(uploads[1], GREY, START, PAGE)

    first = slowly(pool, gate, desk, uploads[0], "tiny-cls")
    failing = pool.submit(ask)
    assert broken.arrived.wait(WAIT)
    gate.open.set()
    answer = first.result(WAIT)
    # The controls are left to the last request, which is under way.
    assert answer.manifest["photo"]["name"] == "first.png"
    assert answer.saved.endswith("first-tiny-cls.safetensors")
    assert (answer.photo, answer.controls) == (Left.AS_IT_IS, False)
    assert answer.shown == Shown(uploads[0], CLS)
    broken.open.set()
    refusal = Refusal("no luck", error is ImageError)
    assert failing.result(WAIT) == Refused(refusal, answer.shown, uploads[0].address)


def test_a_slow_failure_is_not_told_after_a_newer_answer(desk, uploads, pool, monkeypatch):
    gate = Gate(monkeypatch, "pack")
    slow = slowly(pool, gate, desk, uploads[0], "tiny-cls")
    gate.error = CaptureError("no luck")
    desk.show(uploads[1], GREY, START, PAGE)
    gate.open.set()
    assert slow.result(WAIT) == Unchanged()


def test_an_example_that_is_slow_leaves_the_picture_input_alone(desk, uploads, pool, monkeypatch):
    gate, second = Gate(monkeypatch, "analyze"), Gate(monkeypatch, "save")

    def example():
        gate.for_this_thread()
        return desk.show_example(0, CLS, START, PAGE)

    def ask():
        second.for_this_thread()
        return desk.show(uploads[1], GREY, START, PAGE)

    slow = pool.submit(example)
    assert gate.arrived.wait(WAIT)
    later = pool.submit(ask)
    assert second.arrived.wait(WAIT)
    gate.open.set()
    assert slow.result(WAIT).photo is Left.AS_IT_IS
    second.open.set()
    assert later.result(WAIT).manifest["photo"]["name"] == "second.png"


def question(manifest):
    rest = {"first": 0, "residual": 0.5, "head_fusion": "mean"}
    return {"id": manifest["pass"]["id"], "token": 3, "layer": 1, **rest}
