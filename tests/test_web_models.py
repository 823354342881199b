"""The menu: what can be chosen, how many models are kept, and that each is loaded once."""

import threading
import time

import pytest
import torch
from safetensors.torch import save_file

from tests.models import tiny
from tests.running import save_tiny
from vitviz.errors import WeightsError
from vitviz.model.checkpoints import FORMAT
from vitviz.model.key import ModelKey
from vitviz.model.weights import CURATED, list_models
from vitviz.web import limits
from vitviz.web import models as module
from vitviz.web.models import Models, read_title


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
    assert keys == ["tiny-grey", "tiny-cls", *list_models()]
    assert models.default == "tiny-grey"
    assert str(tmp_path) not in str(models.choices)
    assert models.get(ModelKey("tiny-cls")).card.config.image_size == (32, 32)


def test_the_menu_shows_titles_and_keeps_keys(tmp_path):
    path = save_tiny(tmp_path, "cls")
    models = Models([str(path), str(save_tiny(tmp_path, "grey"))])
    title = "A <b>very</b> small model"
    save_tiny(tmp_path, "cls", title=title)
    assert models.choices[:2] == [(title, "tiny-cls"), ("tiny-grey", "tiny-grey")]
    assert dict(map(reversed, models.choices))[next(iter(CURATED))].endswith("(timm)")


def test_no_visitor_reads_where_the_hosts_files_are(tmp_path, monkeypatch, caplog):
    path = save_tiny(tmp_path, "cls")
    monkeypatch.setattr(limits, "MODELS_KEPT", 1)
    models = Models([str(path), str(save_tiny(tmp_path, "grey"))])  # only the last one is kept
    path.unlink()
    with pytest.raises(WeightsError, match="the file of the model tiny-cls can no longer") as error:
        models.get(ModelKey("tiny-cls"))
    assert error.value.message.key == "web.model_gone"
    assert str(path) in caplog.text  # the host reads it
    with pytest.raises(WeightsError, match=str(path)):  # and at the start, too
        Models([str(path)])


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


def test_the_least_used_model_is_dropped(loads):
    models, names = Models(), list(CURATED)[: limits.MODELS_KEPT + 1]
    for name in names[:-1]:
        models.get(ModelKey(name))
    models.get(ModelKey(names[0]))
    models.get(ModelKey(names[-1]))
    assert loads == names
    models.get(ModelKey(names[0]))
    models.get(ModelKey(names[1]))
    assert loads == [*names, names[1]]


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
    threads = [threading.Thread(target=models.get, args=(ModelKey(name),)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
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
