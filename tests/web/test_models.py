"""The menu: what can be chosen, how many models are kept, and that each is loaded once."""

import threading
import time
from dataclasses import replace
from functools import partial
from pathlib import Path
from unittest.mock import Mock

import pytest
import torch
from safetensors.torch import save_file

from tests.models import tiny
from tests.running import at_once, save_tiny
from vitviz import load
from vitviz.errors import WeightsError
from vitviz.languages import Message, say
from vitviz.model.checkpoints import FORMAT
from vitviz.model.key import ModelKey
from vitviz.model.loaded import LoadedModel
from vitviz.model.menu import list_heads
from vitviz.model.weights import CURATED, WEIGHTS_DIR, list_models
from vitviz.payload.payload import _loadable
from vitviz.web.compute import models as module
from vitviz.web.compute.models import Menu, Models, read_title
from vitviz.web.host import limits


@pytest.fixture
def loads(monkeypatch):
    """Replace `load_key` by a stand-in. Returns the list of sources it is called with, in order."""
    asked = []

    def load_key(key, device=None):
        asked.append(key.name)
        time.sleep(0.05)
        return tiny("cls")

    monkeypatch.setattr(module, "load_key", load_key)
    return asked


def test_the_menu_lists_the_hosts_own_then_shipped_then_timm(tmp_path):
    paths = [save_tiny(tmp_path, "grey"), save_tiny(tmp_path, "cls")]
    models = Models([str(path) for path in paths])
    keys = [key for _, key in models.choices]
    assert keys == ["tiny-grey", "tiny-cls", *list_models(), *list_heads()]
    assert models.default == "tiny-grey"
    assert str(tmp_path) not in str(models.choices)
    assert models.get(ModelKey("tiny-cls")).card.config.image_size == (32, 32)


def test_a_file_that_holds_weights_alone_is_told_what_it_is(tmp_path):
    timm = pytest.importorskip("timm")
    path = str(tmp_path / "best.pth")
    torch.save(timm.create_model("test_vit", num_classes=2).state_dict(), path)
    with pytest.raises(WeightsError, match="does not say which model"):
        Models([path])
    told = {"arch": "test_vit", "labels": ["cat", "dog"]}
    models = Models([path], weights={path: told})
    for key in (ModelKey("best"), ModelKey("best", untrained=True), ModelKey("best", False, 128)):
        assert models.get(key).card.labels == ("cat", "dog")


def test_the_menu_shows_titles_and_keeps_keys(tmp_path):
    path = save_tiny(tmp_path, "cls")
    models = Models([str(path), str(save_tiny(tmp_path, "grey"))])
    title = "A <b>very</b> small model"
    save_tiny(tmp_path, "cls", title=title)
    assert models.choices[:2] == [(title, "tiny-cls"), ("tiny-grey", "tiny-grey")]
    assert dict(map(reversed, models.choices))[next(iter(CURATED))].startswith(
        "DeiT tiny 16 (timm)"
    )


def test_the_menu_says_which_models_need_a_network(monkeypatch):
    monkeypatch.setattr(
        "vitviz.web.compute.models.out_of_reach", lambda: {"vit_small_patch16_224.dino"}
    )
    titles = {key: title for title, key in Menu().choices}
    said = titles["vit_small_patch16_224.dino"]
    assert said == "DINO small 16, self-supervised (timm): needs a network"
    assert say(said, "ko") == "DINO small 16, 자기 지도 학습 (timm): 네트워크 필요"
    assert not any("network" in title for title in titles.values() if title != said)


def test_a_refusal_calls_models_as_the_menu_does():
    menu = Menu()
    refused = Message(
        "models.no_connection", name="vit_small_patch16_224.dino", others=("photos", "mnist")
    )
    said = menu.named(refused)
    assert said.startswith("the weights of DINO small 16, self-supervised (timm) are not on this")
    assert "“Everyday photos, 100 kinds of things”, “Handwritten digits” work" in said
    assert "“일상 사진, 100가지 사물”" in say(said, "ko")
    assert menu.named("no message") == "no message"


def test_no_visitor_reads_where_the_hosts_files_are(tmp_path, monkeypatch, caplog):
    path = save_tiny(tmp_path, "cls")
    monkeypatch.setattr(limits, "MODELS_BYTES", 1)
    models = Models([str(path), str(save_tiny(tmp_path, "grey"))])  # only the last one is kept
    path.unlink()
    with pytest.raises(WeightsError, match="the file of the model tiny-cls can no longer") as error:
        models.get(ModelKey("tiny-cls"))
    assert error.value.message.key == "web.model_gone"
    assert str(path) in caplog.text  # the host reads it
    with pytest.raises(WeightsError, match=str(path)):  # and at the start, too
        Models([str(path)])


@pytest.mark.parametrize("form", ["{}", "{}/", "local-dir:{}", "~/secret/tiny-cls"])
@pytest.mark.parametrize("deleted", ["the file", "the folder"])
def test_no_visitor_reads_where_the_hosts_folders_are(tmp_path, monkeypatch, caplog, form, deleted):
    """Only the path as the host had written it was noticed in a sentence."""
    monkeypatch.setenv("HOME", str(tmp_path))
    folder = tmp_path / "secret" / "tiny-cls"
    folder.mkdir(parents=True)
    file = save_tiny(folder, "cls")
    monkeypatch.setattr(limits, "MODELS_BYTES", 1)
    models = Models([form.format(folder), str(save_tiny(tmp_path, "grey"))])
    file.unlink()
    if deleted == "the folder":
        folder.rmdir()
    else:
        (folder / "config.json").write_text("{}")
    with pytest.raises(WeightsError) as error:
        models.get(ModelKey("tiny-cls"))
    assert error.value.message.key == "web.model_gone"
    assert "secret" in caplog.text


def test_what_a_file_of_the_hosts_cannot_do_is_said_though_it_is_there(tmp_path, monkeypatch):
    monkeypatch.setattr(limits, "MODELS_BYTES", 1)
    models = Models([str(save_tiny(tmp_path, name)) for name in ("cls", "grey")])
    refusal = WeightsError("the device 'cuda' cannot be used: it has no memory left")
    monkeypatch.setattr(module, "load_key", Mock(side_effect=refusal))
    with pytest.raises(WeightsError, match="no memory left"):
        models.get(ModelKey("tiny-cls"))


def test_a_folder_of_the_hosts_is_on_the_menu_by_its_name(loads):
    models = Models(["local-dir:/srv/secret/deit"])
    assert models.choices[0] == ("deit", "deit")
    assert loads == ["local-dir:/srv/secret/deit"]


@pytest.mark.parametrize("content", [None, b"", b"not safetensors at all"])
def test_a_file_without_a_title_has_none(tmp_path, content):
    path = tmp_path / "x.safetensors"
    if content is not None:
        path.write_bytes(content)
    assert read_title(path) is None


@pytest.mark.parametrize("text", ["[" * 9999, "{", "[]", '{"details": {}}'])
def test_a_file_with_a_damaged_description_has_no_title(tmp_path, text):
    save_file({"x": torch.zeros(1)}, tmp_path / "x.safetensors", metadata={FORMAT: text})
    assert read_title(tmp_path / "x.safetensors") is None


def test_two_files_of_one_name_are_told_apart(tmp_path):
    paths = []
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        paths.append(str(save_tiny(tmp_path / folder, "cls")))
    assert [key for _, key in Models(paths).choices][:2] == ["tiny-cls", "tiny-cls (2)"]


def test_a_file_named_like_a_shipped_model_stands_beside_it(tmp_path):
    path = save_tiny(tmp_path, "cls").rename(tmp_path / "mnist.safetensors")
    added = [str(path), str(WEIGHTS_DIR / "photos.safetensors")]
    models = Models(added)
    keys = [key for _, key in models.choices]
    assert keys[:2] == ["mnist.safetensors", "photos"]
    assert keys.count("photos") == keys.count("mnist") == 1
    own, shipped = (models.get(ModelKey(key)).card for key in ("mnist.safetensors", "mnist"))
    titles = dict(map(reversed, models.choices))
    assert titles["mnist"] == read_title(WEIGHTS_DIR / "mnist.safetensors")
    save_tiny(tmp_path, "cls", title=str(titles["mnist"])).replace(path)
    # Titles are read once, when the menu is first wanted, and not for every visitor.
    assert dict(map(reversed, models.choices)) == titles
    assert dict(map(reversed, Models(added).choices))["mnist.safetensors"] == (
        f"{titles['mnist']} (mnist.safetensors)"
    )
    assert (own.name, own.config.image_size) == ("mnist.safetensors", (32, 32))
    assert (shipped.name, shipped.config.image_size) == ("mnist", (28, 28))
    assert _loadable(own) == "mnist.safetensors"
    assert _loadable(replace(own, source=Message("models.untrained"))) == "mnist.safetensors"


def test_a_folder_of_transformers_is_on_the_menu_by_its_name():
    folder = Path(__file__).parents[1] / "transformers_files" / "deit"
    for source in (folder, folder / "model.safetensors"):
        models = Models([str(source)])
        assert models.choices[0] == ("deit", "deit")
        assert models.get(ModelKey("deit")).card.config.dist_token


@pytest.mark.parametrize(
    "key", ["nonsense", "", None, 3, "weights/photos.safetensors", "/etc/passwd"]
)
def test_only_the_menu_can_be_chosen(loads, key):
    models = Models()
    with pytest.raises(WeightsError, match=r"there is no model|must be a text"):
        models.get(ModelKey(key))
    assert key not in models
    assert loads == []


def test_a_host_learns_of_a_wrong_name_at_the_start(tmp_path):
    with pytest.raises(WeightsError, match="no checkpoint file"):
        Models([str(tmp_path / "missing.safetensors")])


class Weighed(LoadedModel):
    """A model of so many bytes, none of which it has."""

    num_bytes = 0

    @classmethod
    def of(cls, size):
        made = cls(tiny("cls").vit, tiny("cls").card, tiny("cls").preprocess)
        object.__setattr__(made, "num_bytes", size)
        return made


@pytest.fixture
def weighed(monkeypatch):
    """Let models of the menu have bytes by name, in a memory of 100. Returns what was loaded."""
    sizes, asked = {}, []

    def load_key(key, device=None):
        asked.append(key)
        return Weighed.of(sizes[key.name])

    monkeypatch.setattr(module, "load_key", load_key)
    monkeypatch.setattr(limits, "MODELS_BYTES", 100)
    sizes |= dict(zip(CURATED, (30, 30, 40, 1, 100, 101), strict=False))
    return asked


def held(models):
    return [key.name for key in models._loaded]


def test_as_many_models_are_kept_as_fit_the_bound(weighed):
    models, (a, b, c, crumb, *_) = Models(), CURATED
    for name in (a, b, c):  # 100 bytes in all
        models.get(ModelKey(name))
    assert held(models) == [a, b, c]
    models.get(ModelKey(a))  # b is now the one that was not used for longest
    models.get(ModelKey(crumb))
    assert held(models) == [c, a, crumb]
    models.get(ModelKey(a))
    models.get(ModelKey(c))
    assert [key.name for key in weighed] == [a, b, c, crumb]  # what is kept is not loaded again
    models.get(ModelKey(b))
    assert held(models) == [a, c, b]


def test_a_model_larger_than_the_bound_is_used_and_kept_alone(weighed):
    models, (a, b, _, _, exact, large) = Models(), [*CURATED][:6]
    for name in (a, b, large):
        assert models.get(ModelKey(name)).num_bytes == {a: 30, b: 30, large: 101}[name]
    assert held(models) == [large]
    assert models.get(ModelKey(large)) is models.get(ModelKey(large))
    models.get(ModelKey(exact))
    assert held(models) == [exact]


def test_sizes_of_a_model_do_not_drive_out_what_fits_beside_them(tmp_path, monkeypatch):
    paths = [str(save_tiny(tmp_path, name)) for name in ("cls", "grey")]
    models = Models(paths)
    other = models.get(ModelKey("tiny-grey"))
    for side in (16, 24, 40, 48):
        models.get(ModelKey("tiny-cls", image_size=side))
    assert models.get(ModelKey("tiny-grey")) is other
    sizes = [key.size for key in models._loaded if key.name == "tiny-cls"]
    assert sizes == ["", "16", "24", "40", "48"]
    monkeypatch.setattr(limits, "MODELS_BYTES", sum(m.num_bytes for m in models._loaded.values()))
    models.get(ModelKey("tiny-cls", image_size=8))
    assert [key.size for key in models._loaded if key.name == "tiny-cls"] == [*sizes[1:], "8"]


@pytest.mark.parametrize("name", ["cls", "no_cls", "distilled", "registers", "grey"])
def test_a_model_in_another_size_is_that_of_python(tmp_path, name):
    path, config = save_tiny(tmp_path, name), tiny(name).card.config
    size = tuple(3 * side for side in config.patch_size)
    models, untrained = Models([str(path)], device="cpu"), name == "cls"
    ours = load(path, pretrained=not untrained, image_size=size, device="cpu")
    theirs = models.get(ModelKey(path.stem, untrained, size))
    assert theirs.card == ours.card
    for key, value in ours.vit.state_dict().items():
        assert torch.equal(theirs.vit.state_dict()[key], value)


def test_the_size_that_a_model_has_anyway_is_no_second_model(tmp_path):
    models = Models([str(save_tiny(tmp_path, "grey"))])
    own = models.get(ModelKey("tiny-grey"))
    assert models.get(ModelKey("tiny-grey", image_size=28)) is own
    assert list(models._loaded) == [ModelKey("tiny-grey")]


def test_a_size_that_is_asked_for_wins_over_that_of_the_menu(weighed, monkeypatch):
    dino, size = next((name, one.image_size) for name, one in CURATED.items() if one.image_size)
    monkeypatch.setattr(module, "load_key", lambda key, device: weighed.append(key) or tiny("cls"))
    Models().get(ModelKey(dino, image_size=40))  # in patches of 8, as the stand-in has them
    assert weighed == [ModelKey(dino, image_size=size), ModelKey(dino, image_size=40)]


@pytest.mark.parametrize(
    ("name", "size", "patch"),
    [
        ("cls", (32, 33), "8 x 8"),  # width
        ("cls", (33, 32), "8 x 8"),  # height
        ("cls", (4, 4), "8 x 8"),
        ("cls", (8, 4104), "8 x 8"),  # a side
        ("registers", (12, 8), None),
        ("cls", (8 * 2, 8 * 5), "8 x 8"),  # 11 tokens with CLS, 10 are allowed
    ],
    ids=str,
)
def test_a_size_that_a_model_cannot_have_is_refused_before_it_is_made(
    tmp_path, monkeypatch, name, size, patch
):
    monkeypatch.setattr(limits, "SIZE_TOKENS", 10)
    models, config = Models([str(save_tiny(tmp_path, name))]), tiny(name).card.config
    patch = patch or "{} x {}".format(*config.patch_size)
    monkeypatch.setattr(module, "load_key", None)
    with pytest.raises(WeightsError) as error:
        models.get(ModelKey(f"tiny-{name}", image_size=size))
    assert str(error.value) == (
        f"tiny-{name} takes pictures of whole patches of {patch} pixels, at most 10 tokens and "
        f"4096 pixels a side; {size[0]} x {size[1]} pixels came"
    )
    assert say(error.value.message, "ko").startswith(f"tiny-{name}")


def test_as_many_tokens_as_are_allowed_can_be_had(tmp_path, monkeypatch):
    monkeypatch.setattr(limits, "SIZE_TOKENS", 11)
    models = Models([str(save_tiny(tmp_path, "cls"))])
    config = models.get(ModelKey("tiny-cls", image_size=(16, 40))).card.config
    assert (config.num_tokens, config.grid_size) == (11, (2, 5))


def test_a_model_in_use_outlives_its_place(weighed):
    models, (a, _, _, _, exact, _) = Models(), [*CURATED][:6]
    used = models.get(ModelKey(a))
    models.get(ModelKey(exact))
    assert held(models) == [exact]
    assert used.vit is tiny("cls").vit  # whoever has it goes on
    assert models.get(ModelKey(a)) is not used


def test_a_model_and_its_untrained_twin_are_two(tmp_path):
    models = Models([str(save_tiny(tmp_path, "cls"))])
    trained, twin = (
        models.get(ModelKey("tiny-cls")),
        models.get(ModelKey("tiny-cls", untrained=True)),
    )
    assert (trained.card.trained, twin.card.trained) == (True, False)
    assert models.get(ModelKey("tiny-cls")) is trained
    assert models.get(ModelKey("tiny-cls", untrained=True)) is twin


def test_a_model_is_loaded_once_for_all_who_wait(loads):
    models, name = Models(), next(iter(CURATED))
    at_once(*[partial(models.get, ModelKey(name))] * 8)
    assert loads == [name]


def test_loading_one_model_does_not_hold_up_another(monkeypatch):
    release, fast, slow = threading.Event(), *list(CURATED)[:2]

    def load_key(key, device=None):
        if key.name == slow:
            assert release.wait(10)
        return tiny("cls")

    monkeypatch.setattr(module, "load_key", load_key)
    models = Models()
    waiting = threading.Thread(target=models.get, args=(ModelKey(slow),))
    waiting.start()
    assert models.get(ModelKey(fast)) is tiny("cls")
    assert waiting.is_alive()
    release.set()
    waiting.join()


@pytest.mark.parametrize("step", ["load its own size", "load", "weigh"])
@pytest.mark.parametrize("fault", [WeightsError("no network"), MemoryError("no memory")], ids=str)
def test_after_a_fault_at_any_step_the_next_one_of_many_tries_again(monkeypatch, step, fault):
    """Every thread gets the fault or the model; nothing half made is kept, and no turn is lost."""
    left, loaded, got, lock = [fault] * 3, [], [], threading.Lock()
    start, key = threading.Barrier(8), ModelKey(next(iter(CURATED)), image_size=40)

    def work(at):
        with lock:
            if at == step and left:
                raise left.pop()

    def load_key(asked, device=None):
        work("load" if asked.image_size else "load its own size")
        loaded.append(asked)
        return replace(tiny("cls"))

    monkeypatch.setattr(module, "load_key", load_key)
    monkeypatch.setattr(LoadedModel, "num_bytes", property(lambda _: work("weigh") or 7))
    models = Models()

    def ask():
        start.wait(20)
        try:
            got.append(models.get(key))
        except (WeightsError, MemoryError) as error:
            got.append(error)

    at_once(*[ask] * 8)
    answered = [one for one in got if isinstance(one, LoadedModel)]
    assert (left, got.count(fault), len(answered)) == ([], 3, 5)
    assert {id(one) for one in answered} == {id(models.get(key))}
    assert {turns._inside.total() for turns in models._loading.values()} == {0}
    if step != "weigh":
        assert loaded == [replace(key, image_size=None), key]


def test_a_failed_load_can_be_tried_again(monkeypatch):
    answers = [WeightsError("no network"), tiny("cls")]

    def load_key(key, device=None):
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    monkeypatch.setattr(module, "load_key", load_key)
    models, name = Models(), next(iter(CURATED))
    with pytest.raises(WeightsError, match="no network"):
        models.get(ModelKey(name))
    assert models.get(ModelKey(name)) is tiny("cls")


def test_nobody_waits_for_ever_for_a_model_that_is_being_loaded(monkeypatch):
    monkeypatch.setattr(limits, "LOADING_WAIT_SECONDS", 0.01)
    begun, release, name = threading.Event(), threading.Event(), next(iter(CURATED))

    def load_key(key, device=None):
        begun.set()
        assert release.wait(20)
        return tiny("cls")

    monkeypatch.setattr(module, "load_key", load_key)
    models = Models()
    loading = threading.Thread(target=models.get, args=(ModelKey(name),))
    loading.start()
    assert begun.wait(20)
    with pytest.raises(WeightsError, match="is being loaded for somebody else"):
        models.get(ModelKey(name))
    release.set()
    loading.join()
    assert models.get(ModelKey(name)) is tiny("cls")
