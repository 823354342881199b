"""The key of a model: one value by which it is kept, linked and asked for; hostile ones refused."""

import json
import pickle

import pytest

from tests.models import photo, tiny
from tests.running import save_tiny
from vitviz import WeightsError, analyze, load
from vitviz.model.json_values import short
from vitviz.model.key import ModelKey, read_size, size_text
from vitviz.model.loaded import ModelCard
from vitviz.model.weights import load_key

KEYS = (
    ModelKey("photos"),
    ModelKey("photos", untrained=True),
    ModelKey("a/b <c> 디", image_size=144),
    ModelKey("", True, (144, 192)),
)


@pytest.mark.parametrize("key", KEYS, ids=str)
def test_a_key_is_the_same_after_json_and_pickle(key):
    told = json.loads(json.dumps(key.to_dict()))
    assert set(told) == {"name", "untrained", "image_size"}
    for again in (ModelKey(**told), pickle.loads(pickle.dumps(key))):
        assert (again, hash(again), again.to_dict()) == (key, hash(key), told)
    assert len({*KEYS, key}) == len(KEYS)


def test_a_square_can_be_named_by_one_side():
    key = ModelKey("photos", image_size=144)
    assert key == ModelKey("photos", image_size=(144, 144)) == ModelKey("photos", False, [144, 144])
    assert key.to_dict() == {"name": "photos", "untrained": False, "image_size": [144, 144]}
    assert ModelKey("photos").to_dict()["image_size"] is None


GOOD = {"name": "photos", "untrained": False, "image_size": None}


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        (GOOD | {"name": None}, "the name of a model must be a text, got None"),
        (GOOD | {"name": ["photos"]}, "the name of a model must be a text"),
        (GOOD | {"untrained": 1}, "untrained must be true or false, got 1"),
        (GOOD | {"untrained": "yes"}, "untrained must be true or false"),
        *(
            (GOOD | {"image_size": size}, "image_size must be one or two whole numbers of pixels")
            for size in (0, -6, True, 144.0, "144", [], [144], [144, True], [1, 2, 3], [[144], 6])
        ),
        (GOOD | {"image_size": 10**5000}, "at most 65536, got something too long to tell"),
        (GOOD | {"image_size": [144, 65537]}, "at most 65536"),
        (GOOD | {"image_size": {"height": 6}}, "image_size must be"),
        (GOOD | {"image_size": float("nan")}, "image_size must be"),
    ],
    ids=lambda one: short(one)[:60],
)
def test_what_is_no_key_is_refused(wrong, sentence):
    with pytest.raises(WeightsError, match=sentence):
        ModelKey(**wrong)


@pytest.mark.parametrize("size", [(144, 144), (144, 192), (1, 65536)])
def test_a_size_is_the_same_after_its_text(size):
    assert read_size(size_text(size)) == size
    assert ModelKey("photos", image_size=size).size == size_text(size)


def test_a_size_is_written_as_people_do():
    assert (size_text((144, 144)), size_text((96, 144))) == ("144", "96x144")
    assert read_size(" 96X144 ") == (96, 144)  # height before width
    assert ModelKey("photos").size == ""


@pytest.mark.parametrize(
    "text",
    ["", "x", "144x", "x144", "1x2x3", "-144", "144.0", "1e3", "١٤٤", "9" * 5000],
    ids=lambda text: text[:9],
)
def test_a_text_that_is_no_size_is_refused(text):
    with pytest.raises(WeightsError, match="such as 144, or height x width such as 144x192"):
        read_size(text)


def test_a_side_of_nothing_is_refused():
    with pytest.raises(WeightsError, match="image_size must be one or two whole numbers"):
        read_size("0x144")


def test_another_model_has_a_size_of_its_own():
    key = ModelKey("photos", True, 144)
    assert key.named("photos") == key
    assert key.named("mnist") == ModelKey("mnist", True)


@pytest.mark.parametrize("untrained", [False, True])
@pytest.mark.parametrize("size", [None, (40, 24)])
def test_a_key_loads_its_model_and_a_model_tells_its_key(tmp_path, untrained, size):
    path = save_tiny(tmp_path, "cls")
    loaded = load_key(ModelKey(str(path), untrained, size), device="cpu")
    assert loaded.card.key == ModelKey("tiny-cls", untrained, size)
    assert ModelCard.from_dict(loaded.card.to_dict()).key == loaded.card.key
    ours = load(path, pretrained=not untrained, image_size=size, device="cpu")
    one, two = (analyze(each, photo()).trace.logits for each in (loaded, ours))
    assert one.tolist() == two.tolist()


def test_the_models_own_size_is_no_size_of_its_key(tmp_path):
    path = save_tiny(tmp_path, "cls")
    assert load_key(ModelKey(str(path), image_size=32)).card.key == ModelKey("tiny-cls")


def test_a_model_has_the_bytes_of_its_tensors():
    state = tiny("registers").vit.state_dict()
    assert tiny("registers").num_bytes == sum(4 * tensor.numel() for tensor in state.values())


def test_a_model_is_told_in_one_line():
    assert repr(tiny("registers")) == (
        "LoadedModel(tiny registers: 87,840 parameters, 16 x 24 pixels in 4 x 6 patches, "
        "5 layers of 2 heads, 0 outputs)"
    )
