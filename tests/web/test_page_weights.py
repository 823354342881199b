"""The weights that a page may have: small where that changes no answer, made once, and bounded."""

import json
from dataclasses import replace
from types import SimpleNamespace

import anyio
import httpx
import pytest
import torch
from anyio import to_thread
from safetensors import safe_open
from starlette.applications import Starlette
from starlette.testclient import TestClient

from tests.desks import uploaded
from tests.models import TINY, save_in_cache, spread, tiny
from tests.running import at_once, save_patch_norm, save_tiny
from vitviz import VitvizError, load
from vitviz.model.key import ModelKey
from vitviz.model.menu import WIDE, WIDE_MEGABYTES
from vitviz.payload import in_page
from vitviz.web.compute.engine import Local
from vitviz.web.compute.executor import execute
from vitviz.web.compute.jobs import WeightsJob
from vitviz.web.compute.models import Menu, Models
from vitviz.web.host import limits
from vitviz.web.host.settings import Settings
from vitviz.web.page.build import _in_page, _shipped
from vitviz.web.page.sending import WEIGHTS, weights_route
from vitviz.web.service.page_weights import PageWeights
from vitviz.web.service.replies import Shown
from vitviz.web.service.service import Service
from vitviz.web.store.cache import Cache


def read(data, folder):
    """(tensors, description) of a file."""
    (path := folder / "read.safetensors").write_bytes(data)
    with safe_open(path, framework="pt") as held:
        tensors = {name: held.get_tensor(name) for name in held.keys()}  # noqa: SIM118 (no mapping)
        return tensors, json.loads(held.metadata()["vitviz"])


def changed(loaded, change):
    """The model, with its weights changed in place by a function of each."""
    vit = spread(type(loaded.vit)(loaded.card.config))
    with torch.no_grad():
        for part in vit.parameters():
            part.copy_(change(part))
    return replace(loaded, vit=vit.eval())


@pytest.mark.parametrize("name", [name for name in TINY if in_page.runs(tiny(name).card)])
def test_half_precision_is_used_where_it_changes_no_answer_by_a_thousandth(name, tmp_path):
    loaded = tiny(name)
    tensors, described = read(in_page.small_weights_of(loaded), tmp_path)
    halves = {part.dtype for part in tensors.values()} == {torch.float16}
    assert halves == ("rounded" in described["details"])  # random weights are never exact in it
    # An answer of its own, worked out here, to a picture that decided nothing.
    there = load(tmp_path / "read.safetensors", device="cpu")
    config = loaded.card.config
    picture = torch.rand(1, config.in_chans, *config.image_size, generator=torch.manual_seed(5))
    with torch.no_grad():
        before, after = loaded.vit(picture), there.vit(picture)
    if config.num_classes and loaded.card.outputs == "one_of":
        before, after = before.softmax(-1), after.softmax(-1)
        assert (before - after).abs().max() < 2 * in_page.LEAST_CHANGE
    assert halves or torch.equal(before, after)


def test_weights_that_half_precision_holds_exactly_say_nothing_of_it(tmp_path):
    exact = changed(tiny("cls"), lambda part: part.half().float())
    tensors, described = read(in_page.small_weights_of(exact), tmp_path)
    assert {part.dtype for part in tensors.values()} == {torch.float16}
    assert "rounded" not in described["details"]


@pytest.mark.parametrize(("factor", "least"), [(1e6, in_page.LEAST_CHANGE), (1.0, 1e-9)])
def test_weights_that_half_precision_would_spoil_stay_as_they_are(
    factor, least, tmp_path, monkeypatch
):
    """Too large for it, or with answers that change too much."""
    monkeypatch.setattr(in_page, "LEAST_CHANGE", least)
    large = changed(tiny("cls"), lambda part: part * factor)
    tensors, described = read(in_page.small_weights_of(large), tmp_path)
    assert {part.dtype for part in tensors.values()} == {torch.float32}
    assert "rounded" not in described["details"]
    assert torch.equal(tensors["cls_token"], large.vit.cls_token)


@pytest.fixture
def lent(tmp_path):
    models = Models([str(save_tiny(tmp_path, name)) for name in ("cls", "grey")])
    return PageWeights(Local(models), {"tiny-cls", "tiny-grey"})


CLS, GREY = ModelKey("tiny-cls"), ModelKey("tiny-grey")


def counted(lent, monkeypatch):
    """The models that are made from now on."""
    made, run = [], lent._engine.run
    monkeypatch.setattr(lent._engine, "run", lambda job: made.append(job.model) or run(job))
    return made


def test_a_file_is_made_once_for_all_who_wait(lent, monkeypatch):
    made, files = counted(lent, monkeypatch), []
    at_once(*[lambda: files.append(lent.get(CLS))] * 5)
    assert made == [CLS]
    assert len({file.tag for file in files}) == 1
    assert lent.get(GREY).tag != files[0].tag
    assert lent.get(replace(CLS, image_size=(24, 40))).tag != files[0].tag


def test_the_page_gets_the_weights_of_a_file_by_the_name_that_it_was_told(tmp_path):
    """It asked for "tiny-cls.safetensors", was refused, and uploaded the photo."""
    models = Models([str(save_tiny(tmp_path, "cls"))])
    engine, menu = Local(models), models
    service = Service(engine, menu, Cache(tmp_path / "cache"), lent=models.lent())
    wanted = Shown(uploaded(service), CLS)
    manifest = service.analyses.make(wanted).manifest
    assert manifest["model"]["key"]["name"] != CLS.name  # with the ending of the file
    named = ModelKey(manifest["model"]["in_page"])
    assert PageWeights(engine, models.lent()).get(named).data
    kept = Service(engine, menu, Cache(tmp_path / "kept"))
    manifest = kept.analyses.make(Shown(uploaded(kept), CLS)).manifest
    assert manifest["model"]["in_page"] is None


def test_the_files_in_memory_are_bounded(lent, monkeypatch):
    made = counted(lent, monkeypatch)
    monkeypatch.setattr(limits, "WEIGHTS_BYTES", len(lent.get(CLS).data) + 1)
    lent.get(GREY)  # there is room for one
    lent.get(GREY)
    assert made == [CLS, GREY]
    lent.get(CLS)
    assert made == [CLS, GREY, CLS]
    monkeypatch.setattr(limits, "WEIGHTS_BYTES", 1)
    lent.get(GREY)
    lent.get(GREY)  # one is kept, however large
    assert made == [CLS, GREY, CLS, GREY]


def test_what_is_not_lent_or_fails_is_refused_and_can_be_tried_again(lent, monkeypatch):
    for name in ("photos", "", "../../etc/passwd"):
        with pytest.raises(VitvizError, match="nothing at this address"):
            lent.get(ModelKey(name))
    with pytest.raises(VitvizError, match="whole patches"):
        lent.get(replace(CLS, image_size=(33, 33)))
    run, failing = lent._engine.run, iter([OSError(28, "No space left on device")])
    monkeypatch.setattr(lent._engine, "run", lambda job: _raise(failing) or run(job))
    with pytest.raises(OSError, match="No space"):
        lent.get(CLS)
    assert lent.get(CLS).data


def _raise(errors):
    if error := next(errors, None):
        raise error


def test_a_model_that_the_engine_lacks_is_refused_in_a_sentence(tmp_path):
    path = save_patch_norm(tmp_path)
    result = execute(WeightsJob(model=ModelKey(path.stem)), Models([str(path)]))
    assert result.refused
    assert "only Python and a server run it" in result.refused.text


def test_a_browser_that_has_the_file_is_told_that_it_is_the_same(lent):
    client = TestClient(Starlette(routes=[weights_route(lent)]))
    first = client.get(f"/{WEIGHTS}?model=tiny-cls&size=24x40")
    assert (first.status_code, first.headers["cache-control"]) == (200, "private, no-cache")
    assert first.content == lent.get(replace(CLS, image_size=(24, 40))).data
    again = {"if-none-match": first.headers["etag"]}
    same = client.get(f"/{WEIGHTS}?model=tiny-cls&size=24x40", headers=again)
    assert (same.status_code, same.content) == (304, b"")
    other = client.get(f"/{WEIGHTS}?model=tiny-cls", headers=again)
    assert (other.status_code, len(other.content) > 1000) == (200, True)


def test_the_model_of_a_thousand_things_is_offered_where_its_weights_are(tmp_path, monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    assert Menu().wide is None
    save_in_cache(tmp_path, WIDE)
    assert Menu().wide == WIDE
    models = Models()
    files = execute(WeightsJob(model=ModelKey(WIDE)), models).files
    assert [round(len(data) / 1e6) for data in files.values()] == [WIDE_MEGABYTES]


def test_a_host_can_keep_the_weights_of_its_own_models(tmp_path):
    menu = Menu([str(save_tiny(tmp_path, "cls")), "vit_small_patch16_224.dino"])
    assert menu.lent() - menu.lent(keep_own=True) == {"tiny-cls", "vit_small_patch16_224.dino"}
    assert {"photos", WIDE} <= menu.lent(keep_own=True)


@pytest.mark.parametrize(
    ("options", "offers"),
    [
        ({}, True),
        ({"in_page": "experiments"}, False),  # a photo would be uploaded
        ({"in_page": "nothing"}, False),
        ({"keep_weights": True}, True),
        ({"keep_weights": True, "models": (WIDE,)}, False),
    ],
)
def test_what_the_offer_says_of_a_photo_is_true(options, offers, tmp_path, monkeypatch):
    """It says that the photo stays in the page, which was false where photos are uploaded."""
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    save_in_cache(tmp_path, WIDE)
    settings = Settings(**options)
    service = SimpleNamespace(menu=Menu(settings.models), digits=None)
    wide = _in_page(settings, service, {}, None)["wide"]
    assert wide == ({"name": WIDE, "megabytes": WIDE_MEGABYTES} if offers else None)


def test_who_waits_for_weights_takes_no_thread_that_answers_others(lent):
    """Forty who waited for a model to be loaded kept everybody from documents and files."""
    app = Starlette(routes=[weights_route(lent)])

    async def ask():
        threads = to_thread.current_default_thread_limiter()
        threads.total_tokens = 1
        async with threads, httpx.AsyncClient(transport=httpx.ASGITransport(app)) as client:
            with anyio.fail_after(20):
                return await client.get(f"http://localhost/{WEIGHTS}?model=tiny-cls")

    assert anyio.run(ask).content == lent.get(CLS).data


def test_a_shipped_model_with_options_of_the_host_is_not_lent_as_it_lies_there() -> None:
    """Pages took the shipped file in place of the host's head or preprocessing."""
    menu = Menu(("photos",))
    assert {"photos", "mnist"} <= _shipped(Settings(models=("photos",)), menu).keys()
    changed = Settings(models=("photos",), weights={"photos": {"head_pool": "avg"}})
    files = _shipped(changed, menu)
    assert "photos" not in files
    assert "mnist" in files
    assert not _shipped(Settings(in_page="nothing"), menu)
    # The page can have the changed one all the same, so the first drawing stays there.
    service = SimpleNamespace(menu=menu, digits=SimpleNamespace(model="mnist"))
    for wanted, here in (("photos", True), ("nothing", False)):
        settings = Settings(weights={"mnist": {"head_pool": "avg"}}, in_page=wanted)
        assert _in_page(settings, service, {}, None)["digits_here"] is here
