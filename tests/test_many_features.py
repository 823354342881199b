"""Features of many pictures are those of plain torch, and CKA is three lines of NumPy."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from PIL import Image
from torch.testing import assert_close
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.data import DataLoader, TensorDataset

import vitviz
from tests.models import TINY, photo, tiny
from tests.test_head import BARE, bare, plain
from vitviz import SelectionError, VitvizError, WeightsError
from vitviz.many import features


def pictures(count: int = 5) -> list[np.ndarray]:
    return [np.roll(photo(40 + 6 * i, 60 - 4 * i), 9 * i, axis=1) for i in range(count)]


@pytest.mark.parametrize("pool", ["token", "avg", "token_avg"])
@pytest.mark.parametrize("name", BARE)
def test_features_are_those_of_plain_torch(name: str, pool: str) -> None:
    loaded = bare(BARE[name])
    if name == "no_cls" and pool != "avg":
        with pytest.raises(WeightsError):
            vitviz.features(loaded, pictures(), pool=pool)
        return
    found = vitviz.features(loaded, pictures(), pool=pool, batch_size=2)
    pixels = torch.stack([vitviz.analyze(loaded, one).pixels for one in pictures()])
    expected = plain(loaded, pixels, pool)
    assert found.values.dtype == np.float32
    assert_close(torch.from_numpy(found.values), expected, rtol=1e-5, atol=1e-5)
    weight = torch.randn(3, expected.shape[1])
    made = vitviz.with_head(loaded, weight, pool=pool)
    logits = vitviz.analyze(made, pictures()[1]).trace.logits
    assert_close(logits, torch.from_numpy(found.values[1]) @ weight.T, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", ["cls", "no_cls", "registers", "grey"])
def test_batches_of_a_loader_are_taken_as_they_enter_the_model(name: str) -> None:
    """With their classes or alone; their pixels are neither resized nor rounded."""
    loaded = tiny(name)
    config = loaded.card.config
    generator = torch.Generator().manual_seed(0)
    drawn = torch.rand(5, config.in_chans, *config.image_size, generator=generator)
    pixels, classes = (drawn - 0.5) / 0.25, torch.arange(5)
    loader = DataLoader(TensorDataset(pixels, classes), batch_size=2)
    pool = "avg" if not config.num_prefix_tokens else "token"
    found = vitviz.features(loaded, loader, pool=pool, normalised=True, batch_size=3)
    expected = plain(loaded, pixels, pool)
    assert_close(torch.from_numpy(found.values), expected, rtol=1e-5, atol=1e-5)
    assert found.labels == (0, 1, 2, 3, 4)
    assert found.names[2] == "picture 0 of batch 1"
    alone = vitviz.features(loaded, pixels, pool=pool, normalised=True)
    assert alone.labels == (None,) * 5
    assert_close(alone.values, found.values, rtol=1e-5, atol=1e-5)
    levels = DataLoader(TensorDataset(drawn, classes), batch_size=2)  # not normalised
    one_by_one = vitviz.features(loaded, list(drawn), pool=pool)
    assert_close(vitviz.features(loaded, levels, pool=pool).values, one_by_one.values)


def test_what_a_batch_lacks_is_said() -> None:
    loaded = tiny("cls")
    wrong = torch.zeros(2, 3, 32, 31), torch.zeros(2)
    found = vitviz.features(loaded, iter([wrong]), normalised=True)
    assert [one.name for one in found.broken] == ["picture 0 of batch 0", "picture 1 of batch 0"]
    assert "must have shape (3, 32, 32), got (3, 32, 31)" in found.broken[0].sentence
    with pytest.raises(VitvizError, match="a batch of 2 pictures has 3 classes"):
        vitviz.features(loaded, iter([(wrong[0], torch.zeros(3))]), normalised=True)
    with pytest.raises(SelectionError, match="for photos, not for normalised pixels"):
        vitviz.features(loaded, wrong[0], normalised=True, invert=True)


@pytest.mark.parametrize("name", ["cls", "distilled", "registers", "map"])
def test_after_any_layer_with_and_without_the_norm(name: str) -> None:
    loaded = bare(BARE[name])
    depth = loaded.card.config.depth
    trace = vitviz.analyze(loaded, pictures()[2]).trace
    for normed in (False, True):
        found = vitviz.features(loaded, pictures(), [0, -1], "token", normed=normed)
        assert found.values.shape == (5, 2, loaded.card.config.embed_dim)
        for place, layer in enumerate((0, depth - 1)):
            token = trace.tokens[layer + 1][:1]
            token = loaded.vit.norm(token) if normed else token
            ours = torch.from_numpy(found.values[2, place])
            assert_close(ours, token[0], rtol=1e-5, atol=1e-5)
        one = vitviz.features(loaded, pictures(), -depth, "token", normed=normed)
        assert np.array_equal(one.values, found.values[:, 0])


def test_without_a_pool_they_are_what_the_model_pools() -> None:
    """Also those of a model with classes, in front of its head."""
    loaded = tiny("token_avg")
    found = vitviz.features(loaded, pictures())
    logits = torch.stack([vitviz.analyze(loaded, one).trace.logits for one in pictures()])
    ours = torch.from_numpy(found.values) @ loaded.vit.head.weight.T + loaded.vit.head.bias
    assert_close(ours, logits, rtol=1e-5, atol=1e-5)
    with pytest.raises(SelectionError, match="does not pool its tokens; pool must be one of token"):
        vitviz.features(tiny("no_pool"), pictures())
    assert vitviz.features(tiny("no_pool"), pictures(), pool="avg").values.shape == (5, 16)


def test_broken_pictures_are_told_and_labels_stay_beside_theirs(tmp_path) -> None:
    for place, array in enumerate(pictures(3)):
        path = tmp_path / ("cat", "dog", "cat")[place] / f"{place}.png"
        path.parent.mkdir(exist_ok=True)
        Image.fromarray(array).save(path)
    (tmp_path / "cat" / "broken.jpg").write_bytes(b"no picture")
    found = vitviz.features(tiny("cls"), tmp_path, labels="folders", progress=False)
    assert found.labels == ("cat", "cat", "dog")
    assert [name.rpartition("/")[2] for name in found.names] == ["0.png", "2.png", "1.png"]
    assert [one.name.rpartition("/")[2] for one in found.broken] == ["broken.jpg"]
    assert repr(found) == "Features((3, 24), 1 broken)"
    none = vitviz.features(tiny("cls"), [b"no picture"])
    assert (none.values.shape, len(none.broken)) == ((0, 24), 1)


@pytest.mark.parametrize("layer", [3, -4, "last", [], [0, 9], 1.0, True])
def test_a_layer_that_is_not_there_is_refused(layer) -> None:
    with pytest.raises(SelectionError, match="layer must be"):
        vitviz.features(tiny("cls"), pictures(), layer)
    with pytest.raises(VitvizError, match="no pictures"):
        vitviz.features(tiny("cls"), [])


def plain_cka(x: np.ndarray, y: np.ndarray) -> float:
    x, y = x - x.mean(0), y - y.mean(0)
    norm = np.linalg.norm
    return norm(y.T @ x) ** 2 / (norm(x.T @ x) * norm(y.T @ y))


@pytest.mark.parametrize("other", [None, "registers"])
@pytest.mark.parametrize("pool", ["token", "avg"])
def test_cka_is_three_lines_of_numpy(other: str | None, pool: str) -> None:
    loaded, second = tiny("cls"), None if other is None else bare(TINY[other])
    shown = [*pictures(9), b"no picture"]
    found = vitviz.cka(loaded, shown, second, pool)
    models = [loaded, second or loaded]
    x, y = (
        vitviz.features(m, shown, range(m.card.config.depth), pool, normed=False).values.astype(
            float
        )
        for m in models
    )
    expected = [[plain_cka(x[:, i], y[:, j]) for j in range(y.shape[1])] for i in range(x.shape[1])]
    assert_close(found, torch.tensor(expected).float(), rtol=1e-5, atol=1e-6)
    if other is None:
        assert_close(found.diagonal(), torch.ones(3))
    with pytest.raises(SelectionError, match="three pictures or more, and 2 can be used"):
        vitviz.cka(loaded, pictures(2))


@pytest.mark.parametrize("same", [True, False])
def test_cka_by_products_of_features_is_cka_by_products_of_pictures(same: bool) -> None:
    draw = np.random.default_rng(0)
    first = draw.normal(size=(40, 3, 5)).astype(np.float32)
    first[:, 1] = 2.5  # the same for all pictures
    second = first if same else draw.normal(size=(40, 4, 7)).astype(np.float32)
    of_pictures, of_features = (
        way(first, second) for way in (features._by_pictures, features._by_features)
    )
    assert_close(of_features, of_pictures, equal_nan=True)
    assert of_features.isnan().any(dim=1).tolist() == [same, True, same]
    expected = plain_cka(first[:, 2].astype(float), second[:, 0].astype(float))
    assert float(of_features[2, 0]) == pytest.approx(expected)


class Sizes(TorchDispatchMode):
    """The sizes of all tensors that are made."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[int] = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        self.found += [out.numel()] if isinstance(out, torch.Tensor) else []
        return out


@pytest.mark.parametrize("count", [4, 2000])
def test_cka_takes_no_memory_for_the_square_of_many_pictures(count: int, monkeypatch) -> None:
    """Products of 10,000 pictures in 24 layers took 19 GB, twice that for a model with itself."""
    layers, width = 4, 6
    monkeypatch.setattr(features, "MOST_GRAM_BYTES", 1e6)
    values = np.random.default_rng(0).normal(size=(count, layers, width)).astype(np.float32)
    with Sizes() as sizes:
        found = features._cka(values, values)
    assert_close(found.diagonal(), torch.ones(layers))
    assert max(sizes.found) <= max(count * width, layers * width**2)


def test_cka_leaves_out_what_either_model_cannot_read() -> None:
    """A model whose numbers grow without bounds finds all pictures broken."""
    loaded = tiny("cls")
    wild = bare(replace(TINY["cls"], num_classes=0))
    wild.vit.norm.weight.data.fill_(1e30)
    with pytest.raises(SelectionError, match="0 can be used"):
        vitviz.cka(loaded, pictures(), wild, normed=True)
