"""Many pictures give what one gives alone, and a broken one ends nothing."""

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from torch.testing import assert_close

import vitviz
from tests.models import photo, spread, tiny
from vitviz import BrokenPicture, LoadedModel, SelectionError, VitvizError, WeightsError, analyze
from vitviz.many.measures import MEASURES, price
from vitviz.many.pictures import pictures_of
from vitviz.many.record import Line, PictureResult
from vitviz.many.survey import as_csv
from vitviz.model.loaded import LARGEST
from vitviz.model.photo import passed_over, picture_files
from vitviz.model.taught import Taught
from vitviz.surveys import summary


def pictures(count: int = 5) -> list[np.ndarray]:
    """Pictures of different sizes and contents."""
    return [np.roll(photo(40 + 6 * i, 60 - 4 * i), 9 * i, axis=1) for i in range(count)]


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """Two folders with two pictures each, one that is broken, and what is no picture."""
    for place, array in enumerate(pictures(4)):
        path = tmp_path / "photos" / ("class 1", "class 2")[place % 2] / f"{place}.png"
        path.parent.mkdir(exist_ok=True, parents=True)
        Image.fromarray(array).save(path)
    (tmp_path / "photos" / "class 1" / "broken.jpg").write_bytes(b"no picture")
    (tmp_path / "photos" / "notes.txt").write_text("about them")
    (tmp_path / "photos" / ".hidden.png").write_bytes(b"")
    return tmp_path / "photos"


def close(ours: torch.Tensor, theirs: torch.Tensor) -> None:
    assert_close(ours, theirs, rtol=1e-5, atol=1e-5)


def test_a_survey_of_integrated_gradients_warns_of_no_single_map(caplog, monkeypatch) -> None:
    monkeypatch.setattr("vitviz.probe.explain.perturb.CONVERGED", -1.0)
    loaded, key = tiny("cls"), "integrated_gradients"
    found = vitviz.survey(loaded, pictures(2), [key], progress=False)
    assert not caplog.records
    expected = analyze(loaded, pictures(2)[1]).explain(key)[1:].view(4, 4)
    assert len(caplog.records) == 1
    close(found.values[key][1], expected)


@pytest.mark.parametrize("batch_size", [1, 2, None])
def test_each_analysis_is_that_of_analyze(any_tiny_vit: LoadedModel, batch_size: int) -> None:
    changes = [
        {"kind": "remove", "patches": [1]},
        {"kind": "head", "layer": 1, "head": 1, "by": "mean"},
    ]
    many = vitviz.analyze_many(
        any_tiny_vit, pictures(), batch_size=batch_size, values=True, interventions=changes
    )
    for ours, array in zip(many, pictures(), strict=True):
        alone = analyze(any_tiny_vit, array, values=True, interventions=changes)
        for name in ("q", "k", "v", "tokens", "logits"):
            close(getattr(ours.trace, name), getattr(alone.trace, name))
        assert torch.equal(ours.picture, alone.picture)
        assert torch.equal(ours.pixels, alone.pixels)
        close(ours.embedding.content, alone.embedding.content)
        assert (ours.lens is None) == (alone.lens is None)
        if ours.lens is not None:
            close(ours.lens, alone.lens)
        assert ours.notes == alone.notes
        assert ours.changes() == alone.changes() != ""
        assert ours.verify() < 1e-4


def test_light_and_dark_are_exchanged_where_it_is_asked(tiny_vit: LoadedModel) -> None:
    few = pictures(2)
    alone = [analyze(tiny_vit, one, invert=True) for one in few]
    for ours, one in zip(vitviz.analyze_many(tiny_vit, few, invert=True), alone, strict=True):
        close(ours.trace.logits, one.trace.logits)
        assert ours.inverted
    far = torch.stack([one.head_statistics().distance for one in alone])
    for measures in (["distance"], ["distance", "norms"]):
        found = vitviz.survey(tiny_vit, few, measures, invert=True, progress=False)
        close(found.values["distance"], far)
    off = [{"kind": "head", "layer": 1, "head": 0, "by": "zero"}]
    lost = vitviz.ablate(tiny_vit, few, off, target=2, invert=True, progress=False)
    falls = [one.trace.logits[2] - one.operate(off).trace.logits[2] for one in alone]
    close(lost.logits[0], torch.stack(falls))


class Bomb(torch.utils.data.Dataset):
    def __len__(self) -> int:
        return 3

    def __getitem__(self, place: int) -> Any:
        if place == 1:
            raise Image.DecompressionBombError("too many pixels")
        return pictures(3)[place]


def test_a_bomb_in_a_data_set_is_one_broken_picture(tiny_vit: LoadedModel) -> None:
    found = vitviz.survey(tiny_vit, Bomb(), progress=False)
    assert len(found.pictures) == 2
    assert [one.sentence for one in found.broken] == ["picture 1 cannot be opened: too many pixels"]


def test_an_address_is_named_as_it_was_given(tiny_vit: LoadedModel) -> None:
    (broken,) = vitviz.analyze_many(tiny_vit, ["https://example.com/a.jpg"], progress=False)
    assert broken.name == "https://example.com/a.jpg"
    assert "is an address, not a file" in broken.sentence
    (broken,) = vitviz.analyze_many(tiny_vit, "https://example.com/a.jpg", progress=False)
    assert "is an address, not a file" in broken.sentence


def test_pictures_by_class_are_refused_where_they_have_none(tiny_vit: LoadedModel) -> None:
    some = {"cup": pictures(2), "pen": pictures(3)}
    for ask in (vitviz.features, vitviz.analyze_many, vitviz.survey, vitviz.ablate, vitviz.cka):
        with pytest.raises(VitvizError, match=r"a dict came.*vitviz\.teach takes .* by class"):
            ask(tiny_vit, some)


@pytest.mark.parametrize("ask", ["analyze_many", "survey", "features", "ablate", "cka"])
def test_files_that_are_passed_over_are_named(tiny_vit, files, capsys, ask: str) -> None:
    (files / "class 1" / "more.txt").write_text("more")
    for progress in (True, False):
        found = getattr(vitviz, ask)(tiny_vit, files, progress=progress)
        list(found) if ask == "analyze_many" else found
        err = capsys.readouterr().err
        said = "note: 2 other files were passed over: more.txt (it is text), notes.txt"
        assert (said in err) == progress


def test_folders_behind_links_are_entered_once_and_closed_ones_are_named(
    tmp_path, files, monkeypatch
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    Image.fromarray(photo()).save(elsewhere / "far.png")
    (elsewhere / "inner").mkdir()
    Image.fromarray(photo()).save(elsewhere / "inner" / "deep.png")
    for name in ("a link", "the same"):
        (files / name).symlink_to(elsewhere)
    (files / "b link").symlink_to(elsewhere / "inner")
    (files / "up").symlink_to(tmp_path)  # in which the folder itself lies
    (files / "class 1" / "around").symlink_to(files)  # would never end
    (files / "class 3").mkdir()
    found = [path.relative_to(files).as_posix() for path in picture_files(files)]
    inside = ["class 1/0.png", "class 1/2.png", "class 1/broken.jpg", "class 2/1.png"]
    assert found == ["a link/far.png", "b link/deep.png", *inside, "class 2/3.png"]
    scandir = os.scandir

    def closed(path):
        if Path(path).name == "class 3":
            raise PermissionError(13, "Permission denied", str(path))
        return scandir(path)

    def barred(path):
        if path.parent.name == "class 2":
            raise PermissionError(13, "Permission denied", str(path))
        return is_file(path)

    monkeypatch.setattr(os, "scandir", closed)  # root may enter every folder
    is_file = Path.is_file
    monkeypatch.setattr(Path, "is_file", barred)
    closed_ones = [files / "class 2", files / "class 3"]
    assert passed_over(files) == [*closed_ones, files / "notes.txt"]


def test_a_name_of_a_file_in_another_encoding_is_kept(tiny_vit, files, tmp_path) -> None:
    """The lines of its batch were lost, and every further run ended there."""
    old = Path(os.fsdecode(os.fsencode(files / "class 2") + b"/caf\xe9.png"))
    try:
        (files / "class 2" / "1.png").rename(old)
    except OSError:  # macOS
        pytest.skip("this file system has names in UTF-8 alone")
    record = tmp_path / "survey.jsonl"
    found = vitviz.survey(tiny_vit, files, file=record, progress=False)
    again = vitviz.survey(tiny_vit, files, file=record, progress=False)
    names = [one.picture for one in found.pictures]
    assert any(Path(name).name == old.name for name in names)
    assert [one.picture for one in again.pictures] == names
    assert "caf\\udce9.png" in found.pictures_to_csv().encode("utf-8").decode()


def test_no_cell_of_a_table_is_a_formula() -> None:
    rows = [{"picture": "=1+1.jpg", "label": "-a"}, {"picture": "+.png", "label": "@x"}]
    rows += [{"picture": "cat.jpg", "value": -1.5, "label": "b"}]
    assert as_csv([{**row, "value": row.get("value", 0)} for row in rows]).splitlines() == [
        "picture,label,value",
        "'=1+1.jpg,'-a,0",
        "'+.png,'@x,0",
        "cat.jpg,b,-1.5",
    ]


def test_labels_of_a_data_set_are_whole_numbers_or_all_its_names(tiny_vit) -> None:
    class Known:
        classes = (("tench", "Tinca tinca"), "shark")

        def __init__(self, *labels: Any) -> None:
            self.labels = labels

        def __len__(self) -> int:
            return len(self.labels)

        def __getitem__(self, place: int) -> Any:
            return pictures(1)[0], self.labels[place]

    found = vitviz.survey(tiny_vit, Known(0, 1, np.int64(1)), progress=False)
    assert [one.label for one in found.pictures] == ["tench, Tinca tinca", "shark", "shark"]
    broken = vitviz.survey(tiny_vit, Known(0.7), progress=False).broken
    assert len(broken) == 1
    assert "number or the name of a class" in broken[0].sentence


def test_a_survey_of_broken_pictures_alone_says_why(tiny_vit) -> None:
    found = vitviz.survey(tiny_vit, [b"none"], ["fooled"], progress=False)
    assert not any("restored" in row for row in found.table())
    assert len(found.broken) == 1


def test_an_analysis_that_is_kept_keeps_no_other(tiny_vit: LoadedModel) -> None:
    for one in vitviz.analyze_many(tiny_vit, pictures(), values=True):
        for tensor in (one.trace.q, one.trace.k, one.trace.v, one.trace.tokens, one.pixels):
            assert tensor.untyped_storage().nbytes() == tensor.nbytes


def test_a_broken_picture_is_a_value_in_its_place(tiny_vit: LoadedModel) -> None:
    few = pictures(3)
    found = list(vitviz.analyze_many(tiny_vit, [few[0], b"no picture", few[1]], batch_size=2))
    assert isinstance(found[1], BrokenPicture)
    assert found[1].name == "picture 1"
    assert "'picture 1'" in found[1].sentence
    close(found[2].trace.logits, analyze(tiny_vit, few[1]).trace.logits)


def test_numbers_without_bounds_break_one_picture(monkeypatch: pytest.MonkeyPatch) -> None:
    loaded, few = tiny("cls"), pictures(3)
    broken = analyze(loaded, few[1]).trace.logits

    def sound(values: torch.Tensor) -> bool:
        return not (values.shape == broken.shape and torch.allclose(values, broken, atol=1e-4))

    monkeypatch.setattr("vitviz.probe.forward.is_sound", sound)
    monkeypatch.setattr("vitviz.many.survey.is_sound", sound)
    found = list(vitviz.analyze_many(loaded, few))
    assert [isinstance(one, BrokenPicture) for one in found] == [False, True, False]
    for measures in (("answer",), ("answer", "norms")):
        surveyed = vitviz.survey(loaded, few, measures, progress=False)
        assert [one.name for one in surveyed.broken] == ["picture 1"]
        assert surveyed.broken[0].sentence == found[1].sentence


def test_what_cannot_be_done_is_said_before_a_picture_is_opened(tiny_vit: LoadedModel) -> None:
    def never() -> Any:
        raise AssertionError
        yield

    head = {"kind": "head", "layer": 9, "head": 0, "by": "zero"}
    with pytest.raises(SelectionError, match="layer"):
        vitviz.analyze_many(tiny_vit, never(), interventions=[head])
    with pytest.raises(SelectionError, match="batch_size"):
        vitviz.analyze_many(tiny_vit, never(), batch_size=0)
    with pytest.raises(
        SelectionError, match="there is no measure 'colour'; there are answer, dist"
    ):
        vitviz.survey(tiny_vit, never(), ["colour"])
    with pytest.raises(SelectionError, match="layer"):
        vitviz.ablate(tiny_vit, never(), [head])
    with pytest.raises(SelectionError, match="no intervention"):
        vitviz.ablate(tiny_vit, never(), [])
    with pytest.raises(VitvizError, match="a int came"):
        vitviz.analyze_many(tiny_vit, 7)
    with pytest.raises(VitvizError, match=r"no pictures in '\[\]'"):
        vitviz.survey(tiny_vit, [])
    with pytest.raises(SelectionError, match="interventions are a list of objects"):
        vitviz.ablate(tiny_vit, never(), head)
    with pytest.raises(
        VitvizError, match='labels must be "folders" or one for each picture, got 3'
    ):
        vitviz.survey(tiny_vit, never(), labels=3)
    for ask in (vitviz.analyze, vitviz.analyze_many, vitviz.survey, vitviz.ablate):
        with pytest.raises(WeightsError, match=r"from_transformers\(model\) returns, got str"):
            ask("photos", never())


def test_a_measured_value_comes_back_from_its_line_bit_for_bit() -> None:
    numbers = torch.randint(-(2**31), 2**31, (4000,), dtype=torch.int64).to(torch.int32)
    values = numbers.view(torch.float32)
    values = values[values.isfinite()].reshape(-1)
    line = Line("a.png", {"distance": values}, PictureResult("a.png"))
    back = Line.read(line.to_json(), ["distance"])
    assert torch.equal(back.values["distance"], values)


def test_folders_without_pictures_are_named(tiny_vit, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    folders = [Path("a"), Path("b")]
    for folder in folders:
        folder.mkdir()
    with pytest.raises(VitvizError, match="no pictures in 'a, b'"):
        vitviz.survey(tiny_vit, folders)


class Items(torch.utils.data.Dataset):
    """A data set with pairs of picture and class, of which one cannot be read."""

    classes = ("class 1", "class 2")

    def __len__(self) -> int:
        return 4

    def __getitem__(self, place: int) -> tuple[Any, int]:
        if place == 2:
            raise OSError("the disk is gone")
        return Image.fromarray(pictures(4)[place]), place % 2


def test_pictures_come_from_anywhere(tiny_vit: LoadedModel, files: Path) -> None:
    array = photo(32, 40)
    alone = analyze(tiny_vit, array).trace.logits
    tensor = torch.from_numpy(array).movedim(-1, 0)
    batch = torch.stack([tensor, tensor.flip(-1)])
    for source in (
        array,
        Image.fromarray(array),
        tensor,
        tensor / 255,
        [tensor],
        [array],
        np.stack([array, array]),
        batch,
        (one for one in [array]),
        torch.utils.data.TensorDataset(batch, torch.tensor([3, 1])),
    ):
        first, *_ = vitviz.analyze_many(tiny_vit, source)
        close(first.trace.logits, alone)
    (broken,) = vitviz.analyze_many(tiny_vit, [tensor / 255 - 0.5])
    assert "0 to 1" in broken.sentence or "from 0" in broken.sentence

    names = [Path(one.name).relative_to(files).as_posix() for one in pictures_of(files)]
    assert names == [
        "class 1/0.png",
        "class 1/2.png",
        "class 1/broken.jpg",
        "class 2/1.png",
        "class 2/3.png",
    ]
    both = [one.name for one in pictures_of([files / "class 2", str(files / "notes.txt")])]
    assert both == [
        str(files / "class 2/1.png"),
        str(files / "class 2/3.png"),
        str(files / "notes.txt"),
    ]
    found = vitviz.survey(tiny_vit, Items(), progress=False)
    assert [one.label for one in found.pictures] == ["class 1", "class 2", "class 2"]
    assert "the disk is gone" in found.broken[0].sentence


class Series:
    """Values with labels of their own, read as pandas reads a Series: by its labels in brackets."""

    ndim = 1

    def __init__(self, values: Any, index: Any) -> None:
        self.values, self.index = list(values), list(index)
        self.iloc = self.values

    def __len__(self) -> int:
        return len(self.values)

    def __iter__(self) -> Any:
        return iter(self.values)

    def __getitem__(self, label: Any) -> Any:
        return self.values[self.index.index(label)]


@pytest.mark.parametrize("kind", ["paths", "arrays"])
def test_a_series_of_pandas_is_read_in_its_order(tiny_vit, files: Path, kind: str) -> None:
    """A table that was sorted or filtered: pictures got the classes of others."""
    paths = [str(files / f"class {1 + place % 2}" / f"{place}.png") for place in range(4)]
    given = {"paths": paths, "arrays": [np.asarray(Image.open(path)) for path in paths]}[kind]
    for index in ([3, 1, 0, 2], [7, 8, 9, 11], ["a", "b", "c", "d"]):
        labels = Series([0, 1, 2, 3], index)
        ours = vitviz.features(tiny_vit, Series(given, index), labels=labels, progress=False)
        plain = vitviz.features(tiny_vit, given, labels=[0, 1, 2, 3], progress=False)
        assert (ours.names, ours.labels, ours.broken) == (plain.names, plain.labels, ())
        assert np.array_equal(ours.values, plain.values)
    table = Series(given, range(4))
    table.ndim = 2
    with pytest.raises(VitvizError, match="a Series came: take the column of it that has the pict"):
        vitviz.features(tiny_vit, table)
    by_class = {"cup": Series(given[:2], [5, 6]), "pen": Series(given[2:], [0, 1])}
    assert vitviz.teach(tiny_vit, by_class, progress=False).card.taught.pictures == (2, 2)


@pytest.mark.parametrize("kind", [list, tuple])
def test_a_list_of_batches_is_what_its_loader_is(tiny_vit: LoadedModel, kind: type) -> None:
    """All of its pictures were broken."""
    tensors = torch.stack([torch.from_numpy(photo(32, 40)).movedim(-1, 0)] * 5)
    tensors = tensors.roll(3, dims=0) // torch.arange(1, 6, dtype=torch.uint8).view(5, 1, 1, 1)
    items = torch.utils.data.TensorDataset(tensors, torch.arange(5))
    for loader in (
        torch.utils.data.DataLoader(items, batch_size=2),
        torch.utils.data.DataLoader(tensors, batch_size=2),
        torch.utils.data.DataLoader(torch.utils.data.TensorDataset(tensors), batch_size=2),
    ):
        ours = vitviz.features(tiny_vit, kind(loader), progress=False)
        plain = vitviz.features(tiny_vit, loader, progress=False)
        assert (ours.names, ours.labels, ours.broken) == (plain.names, plain.labels, ())
        assert len(ours.names) == 5
        assert np.array_equal(ours.values, plain.values)
    found = vitviz.survey(tiny_vit, kind(loader), labels=[4, 3, 2, 1, 0], progress=False)
    assert [one.label for one in found.pictures] == [f"class {4 - place}" for place in range(5)]


@pytest.mark.parametrize("kind", [list, tuple])
def test_one_batch_of_a_data_loader_is_its_pictures_with_their_classes(
    tiny_vit: LoadedModel, kind: type
) -> None:
    images, classes = torch.rand(3, 3, 12, 20), torch.tensor([2, 0, 1])
    ours = vitviz.features(tiny_vit, kind([images, classes]), progress=False)
    plain = vitviz.features(tiny_vit, images, progress=False)
    assert (ours.labels, ours.broken) == ((2, 0, 1), ())
    assert np.array_equal(ours.values, plain.values)
    two = vitviz.features(tiny_vit, kind([images, images]), progress=False)
    assert (len(two.names), set(two.labels)) == (6, {None})


# --- survey ---------------------------------------------------------------------------------------


def test_a_survey_is_the_mean_of_analyses(any_tiny_vit: LoadedModel) -> None:
    arrays = pictures()
    alone = [analyze(any_tiny_vit, one) for one in arrays]
    far = torch.stack([one.head_statistics().distance for one in alone])
    names = ("answer", "distance", "entropy", "norms", "prefix", "centre")
    for measures in (("answer", "distance"), names):
        found = vitviz.survey(any_tiny_vit, arrays, measures, batch_size=2, progress=False)
        close(found.values["distance"], far)
        close(found.mean(), far.mean(dim=0))
        close(found.error(), far.std(dim=0) / 5**0.5)
        for told, one in zip(found.pictures, alone, strict=True):
            best = one.predictions(1)
            assert told.answer == (best[0].label if best else None)
            if best:
                assert told.probability == pytest.approx(best[0].probability, abs=1e-5)
    entropy = torch.stack([one.head_statistics().entropy for one in alone])
    close(found.values["entropy"], entropy)
    first = any_tiny_vit.card.config.num_prefix_tokens
    for measured, one in zip(found.values["prefix"], alone, strict=True):
        whole = torch.stack([one.trace.attention(layer) for layer in range(one.trace.depth)])
        close(measured, whole[:, :, first:, :first].sum(dim=-1).mean(dim=-1))
    norms = [one.trace.tokens[:, first:].norm(dim=-1).mean(dim=-1) for one in alone]
    assert_close(found.values["norms"], torch.stack(norms), rtol=1e-5, atol=1e-4)


def test_distances_of_a_map_that_is_known() -> None:
    """Without queries attention is even: the mean distance is that of all pairs of patches.

    2 x 2 patches of 4 pixels: each has itself (0), two neighbours (4) and one diagonal.
    """
    config = vitviz.ViTConfig(image_size=8, patch_size=4, embed_dim=8, depth=1, num_heads=2)
    vit = spread(vitviz.ViT(config)).eval().requires_grad_(False)
    vit.blocks[0].attn.qkv.weight.zero_()
    vit.blocks[0].attn.qkv.bias.zero_()
    card = vitviz.ModelCard(name="even", source="", config=config)
    loaded = LoadedModel(vit, card, vitviz.Preprocess(size=(8, 8)))
    found = vitviz.survey(loaded, pictures(3), progress=False)
    close(found.mean(), torch.full((1, 2), (0 + 4 + 4 + 32**0.5) / 4))
    close(found.error(), torch.zeros(1, 2))


def test_mean_maps_are_those_of_the_explainers(tiny_vit: LoadedModel) -> None:
    found = vitviz.survey(tiny_vit, pictures(3), ["attention", "grad_cam"], progress=False)
    for key in ("attention", "grad_cam"):
        maps = [
            one.grid.to_map(one.explain(key)) for one in (analyze(tiny_vit, a) for a in pictures(3))
        ]
        close(found.mean(key), torch.stack(maps).mean(dim=0))
    with pytest.raises(SelectionError, match="has no CLS token, from which attention is seen"):
        vitviz.survey(tiny("no_cls"), pictures(1), ["attention"], progress=False)


def test_a_survey_of_fooled_pictures_is_what_each_says() -> None:
    loaded = tiny("cls")
    loaded = replace(loaded, card=replace(loaded.card, temperature=0.02))
    some = pictures(12)[5:]
    found = vitviz.survey(loaded, some, ["answer", "distance", "fooled"], progress=False)
    depth = loaded.card.config.depth
    alone = [analyze(loaded, one).fool() for one in some]
    turned = [one for one in alone if one.turned]
    assert 0 < len(turned) < len(alone)
    backs = torch.stack([one.restored("patches").returns for one in turned]).float()
    assert found.values["fooled"][:, 0].tolist() == [float(one.turned) for one in alone]
    close(found.restored(), backs.mean(dim=0))
    last = max(layer for layer in range(depth) if backs.mean(dim=0)[layer] >= 0.5)
    assert found.half_restored() == last
    rows = found.table()
    assert [row["restored"] for row in rows if row["head"] == 0] == pytest.approx(
        backs.mean(dim=0).tolist()
    )
    assert f"{len(turned)} turned by at most 4 of 255, half of them back" in summary(found)
    still = [one for one, of in zip(some, alone, strict=True) if not of.turned][:2]
    none = vitviz.survey(loaded, still, ["distance", "fooled"], progress=False)
    assert "0 turned by at most 4 of 255" in summary(none)
    assert none.restored() is none.half_restored() is None
    assert "restored" not in none.table()[0]
    with pytest.raises(SelectionError, match="'fooled' was not measured"):
        vitviz.survey(loaded, pictures(1), ["norms"], progress=False).half_restored()


def test_what_a_measure_costs_is_said_first(tiny_vit: LoadedModel, capsys) -> None:
    assert price(["answer", "distance"], tiny_vit) == ""
    assert "occlusion" in MEASURES
    vitviz.survey(tiny_vit, pictures(1), ["answer", "occlusion"])
    err = capsys.readouterr().err
    # 16 windows of one patch and 4 of 3 x 3, what is kept for them, and the picture's own pass.
    assert err.startswith("a picture costs about as much as 23 forward passes in place of 1")
    vitviz.survey(tiny_vit, pictures(1), ["answer", "occlusion"], progress=False)
    vitviz.survey(tiny_vit, pictures(1))
    assert capsys.readouterr().err == ""


def test_labels_say_what_is_right(tiny_vit: LoadedModel, files: Path) -> None:
    found = vitviz.survey(tiny_vit, files, labels="folders", progress=False)
    assert [one.label for one in found.pictures] == ["class 1", "class 1", "class 2", "class 2"]
    right = [one.answer == one.label for one in found.pictures]
    assert [one.right for one in found.pictures] == right
    assert found.accuracy == sum(right) / 4
    numbers = [int(analyze(tiny_vit, one).trace.logits.argmax()) for one in pictures(3)]
    assert vitviz.survey(tiny_vit, pictures(3), labels=numbers, progress=False).accuracy == 1
    spoken = [f"CLASS_{number}" for number in numbers]
    assert vitviz.survey(tiny_vit, pictures(3), labels=spoken, progress=False).accuracy == 1
    partly = vitviz.survey(tiny_vit, pictures(3), labels=["a", spoken[1], None], progress=False)
    assert [one.right for one in partly.pictures] == [None, True, None]
    with pytest.raises(VitvizError, match="3 pictures need as many labels, got 2"):
        vitviz.survey(tiny_vit, pictures(3), labels=[1, 2])
    with pytest.raises(VitvizError, match='"folders"'):
        vitviz.survey(tiny_vit, pictures(3), labels="folder")


def test_labels_of_which_none_is_a_class_are_refused_at_once(tmp_path) -> None:
    loaded = tiny("cls")

    def never(place: int) -> Any:
        raise AssertionError

    some = [never] * 3
    for labels, named in ((["a", "b", "a"], "'a', 'b'"), ([7, 8, 9], "'7', '8', '9'")):
        with pytest.raises(VitvizError, match=f"no label is a class of tiny cls: {named}"):
            vitviz.survey(loaded, some, labels=labels, progress=False)
    for name in ("cats", "dogs"):
        (tmp_path / "sorted" / name).mkdir(parents=True)
        Image.fromarray(photo()).save(tmp_path / "sorted" / name / "0.png")
    with pytest.raises(VitvizError, match="no label is a class of tiny cls: 'cats', 'dogs'"):
        vitviz.survey(loaded, tmp_path / "sorted", labels="folders", progress=False)
    # Where nothing could be right, labels only stand beside the answers.
    for model, measures in ((tiny("registers"), ("answer",)), (loaded, ("distance",))):
        few = vitviz.survey(model, pictures(2), measures, labels=["a", "b"], progress=False)
        assert [one.label for one in few.pictures] == ["a", "b"]


def numbered(kind: str) -> Any:
    return {
        "numpy": lambda given: np.array(given),
        "torch": lambda given: torch.tensor(given),
        "floats": lambda given: [float(one) for one in given],
        "numbers of numpy": lambda given: [np.int64(one) for one in given],
        "iterator": iter,
    }[kind]


@pytest.mark.parametrize("kind", ["numpy", "torch", "floats", "numbers of numpy", "iterator"])
def test_labels_are_numbers_of_any_kind(tiny_vit: LoadedModel, kind: str) -> None:
    found = vitviz.survey(tiny_vit, pictures(3), labels=numbered(kind)([1, 2, 3]), progress=False)
    assert [one.label for one in found.pictures] == ["class 1", "class 2", "class 3"]
    made = vitviz.features(tiny_vit, pictures(3), labels=numbered(kind)([1, -1, 3]), progress=False)
    assert made.labels == (1, -1, 3)
    assert {type(label) for label in made.labels} == {int}


@pytest.mark.parametrize(("count", "says"), [(2, "more than 2 pictures came"), (4, "3 pictures")])
def test_labels_of_pictures_that_come_one_by_one_are_counted_too(
    tiny_vit: LoadedModel, count: int, says: str
) -> None:
    """It was "zip() argument 2 is longer than argument 1"."""
    for found in (vitviz.survey, vitviz.features):
        with pytest.raises(VitvizError, match=says):
            found(tiny_vit, iter(pictures(3)), labels=[0] * count, progress=False)


@pytest.mark.parametrize(
    "labels", [[1.5, 2, 3], [1, [2], 3], {1: 2, 3: 4, 5: 6}, {1, 2, 3}, torch.tensor(1)]
)
def test_labels_of_another_kind_are_refused(tiny_vit: LoadedModel, labels: Any) -> None:
    with pytest.raises(VitvizError, match=r"labels? must be"):
        vitviz.survey(tiny_vit, pictures(3), labels=labels, progress=False)


def test_a_negative_class_is_none(tiny_vit: LoadedModel) -> None:
    class Unlabelled(Items):
        def __getitem__(self, place: int) -> tuple[Any, int]:
            return pictures(4)[place], (0, -1, 1, -1)[place]

    names = ["class 1", "class 2"]
    for classes in (tuple(names), np.array(names), (), 2, dict):
        items = Unlabelled()
        items.classes = classes
        found = vitviz.survey(tiny_vit, items, progress=False)
        labels = [one.label for one in found.pictures]
        named = isinstance(classes, np.ndarray) or classes == tuple(names)
        first, second = names if named else ("class 0", "class 1")
        assert labels == [first, None, second, None]
        assert [one.right is None for one in found.pictures] == [False, True, False, True]


def test_a_picture_of_none_of_the_things_is_right_where_that_is_the_answer() -> None:
    loaded, array = tiny("cls"), pictures(1)[0]
    best, second = (one.index for one in analyze(loaded, array).predictions(2))
    count = loaded.card.config.num_classes
    taught = Taught("photos", (1,) * count, 0.03, ((0,) * count,) * count, none=best)
    others = json.dumps({"score": LARGEST, "threshold": 0.01})
    details = {"taught": taught.to_json(), "others": others}
    loaded = replace(loaded, card=replace(loaded.card, details=details))
    found = vitviz.survey(loaded, [array, array], labels=[best, second], progress=False)
    assert [one.answer for one in found.pictures] == [f"class {best}"] * 2
    assert [one.right for one in found.pictures] == [True, False]
    assert [one.known for one in found.pictures] == [False, False]


def test_other_pictures_without_a_file_are_answered_anew(tiny_vit, tmp_path, monkeypatch) -> None:
    file, arrays = tmp_path / "survey.jsonl", pictures(4)
    passes = []
    run = vitviz.many.survey._Run.lines
    monkeypatch.setattr(
        "vitviz.many.survey._Run.lines",
        lambda self, batch: passes.extend(batch) or run(self, batch),
    )

    def again(source: Any, **options: Any) -> tuple[Any, int]:
        passes.clear()
        found = vitviz.survey(tiny_vit, source, file=file, progress=False, **options)
        plain = vitviz.survey(tiny_vit, source, progress=False, **options)
        for kept, told in zip(found.pictures, plain.pictures, strict=True):
            assert kept.probability == pytest.approx(told.probability, abs=1e-6)
            assert (kept.answer, kept.label, kept.right) == (told.answer, told.label, told.right)
        assert_close(found.mean(), plain.mean(), rtol=1e-5, atol=1e-5)
        return found, len(passes) - len(plain.pictures)

    assert again(arrays[:2])[1] == 2
    assert again(arrays[:2])[1] == 0  # the same pictures
    assert again([Image.fromarray(one) for one in arrays[:2]])[1] == 0  # in another form
    assert again(arrays[2:])[1] == 2
    assert again([arrays[2], arrays[0], arrays[3]])[1] == 2
    assert again([arrays[2], arrays[0], arrays[3]], stretch=False, labels=[1, 2, 3])[1] == 0
    assert again([arrays[2], arrays[0], arrays[3]], labels=[3, 2, 1])[1] == 0
    told = [json.loads(line) for line in file.read_text().split("\n")[1:-1]]
    assert {one["picture"]: one["label"] for one in told} == {
        "picture 0": "class 3", "picture 1": "class 2", "picture 2": "class 1",
    }  # fmt: skip


def test_a_line_of_several_classes_is_answered_anew_for_another_label(tmp_path) -> None:
    loaded = tiny("cls")
    loaded = replace(loaded, card=replace(loaded.card, outputs="any_of"))
    true = [analyze(loaded, one).answer().classes for one in pictures(3)]
    assert max(map(len, true)) > 1
    for place in (0, 1):
        labels = [classes[min(place, len(classes) - 1)] for classes in true]
        found = vitviz.survey(
            loaded, pictures(3), labels=labels, file=tmp_path / "x.jsonl", progress=False
        )
        assert found.accuracy == 1


def test_a_survey_without_a_file_opens_each_picture_once(tiny_vit: LoadedModel) -> None:
    opened = []

    class Counted(Items):
        def __getitem__(self, place: int) -> tuple[Any, int]:
            opened.append(place)
            return super().__getitem__(place)

    vitviz.survey(tiny_vit, Counted(), progress=False)
    assert opened == [0, 1, 2, 3]


def test_names_of_any_letters_come_back_from_the_file(tiny_vit: LoadedModel, tmp_path) -> None:
    names = [f"a{letter}b" for letter in "\u2028\u2029\x85\x1e\x0b"]
    for name, array in zip(names, pictures(), strict=True):
        Image.fromarray(array).save(tmp_path / f"{name}.png")
    file = tmp_path / "survey.jsonl"
    first = vitviz.survey(tiny_vit, tmp_path, file=file, progress=False)
    file.write_bytes(file.read_bytes().replace(b"\n", b"\r\n"))  # as Windows ends a line
    again = vitviz.survey(tiny_vit, tmp_path, file=file, progress=False)
    assert again.pictures == first.pictures
    assert len(first.pictures) == len(names)


def test_a_survey_goes_on_from_its_file(tiny_vit, files, tmp_path, monkeypatch) -> None:
    file = tmp_path / "survey.jsonl"
    whole = vitviz.survey(tiny_vit, files, file=tmp_path / "whole.jsonl", progress=False)
    few = vitviz.survey(tiny_vit, files / "class 1", file=file, progress=False)
    assert len(few.pictures) == 2
    with file.open("a") as unfinished:
        unfinished.write('{"picture": "half')
    opened = []
    take = vitviz.many.pictures.Picture.open
    monkeypatch.setattr(
        "vitviz.many.pictures.Picture.open", lambda self, *_: opened.append(self.name) or take(self)
    )
    again = vitviz.survey(tiny_vit, files, file=file, progress=False)
    assert [Path(name).name for name in opened] == ["broken.jpg", "1.png", "3.png"]
    assert [one.picture for one in again.pictures] == [one.picture for one in whole.pictures]
    assert [one.answer for one in again.pictures] == [one.answer for one in whole.pictures]
    assert_close(again.mean(), whole.mean(), rtol=1e-6, atol=1e-6)
    assert again.broken == whole.broken
    assert [json.loads(line) for line in file.read_text().splitlines()]
    opened.clear()
    vitviz.survey(tiny_vit, files, file=file, progress=False)
    assert [Path(name).name for name in opened] == ["broken.jpg"]
    # A picture that was drawn anew is measured anew, and its newest line counts.
    changed = files / "class 2" / "1.png"
    Image.fromarray(photo()[::-1]).save(changed)
    os.utime(changed, ns=(1, 1))
    opened.clear()
    anew = vitviz.survey(tiny_vit, files, file=file, progress=False)
    assert [Path(name).name for name in opened] == ["broken.jpg", "1.png"]
    at = [Path(one.picture).name for one in anew.pictures].index("1.png")
    moved = (anew.values["distance"] - again.values["distance"]).abs().amax(dim=(1, 2)) > 1e-4
    assert moved.nonzero().flatten().tolist() == [at]
    alone = vitviz.survey(tiny_vit, changed, progress=False)
    assert_close(anew.values["distance"][at], alone.values["distance"][0], rtol=1e-5, atol=1e-5)
    for wrong in (
        lambda: vitviz.survey(tiny("no_cls"), files, file=file),
        lambda: vitviz.survey(tiny_vit, files, ["answer"], file=file),
        lambda: vitviz.survey(tiny_vit, files, file=file, invert=True),
    ):
        with pytest.raises(
            VitvizError, match=r"survey\.jsonl is no survey of this model with these"
        ):
            wrong()
    file.write_text(file.read_text() + "no JSON\n")
    with pytest.raises(VitvizError, match="is damaged"):
        vitviz.survey(tiny_vit, files, file=file)
    with pytest.raises(VitvizError, match="cannot be used"):
        vitviz.survey(tiny_vit, files, file=tmp_path / "nowhere" / "survey.jsonl")


def test_a_file_of_which_only_a_part_of_the_head_was_written_is_begun_anew(
    tiny_vit: LoadedModel, tmp_path: Path
) -> None:
    """It was refused as the file of another survey."""
    file = tmp_path / "survey.jsonl"
    vitviz.survey(tiny_vit, pictures(1), file=file, progress=False)
    whole = file.read_bytes()
    head = whole.index(b"\n")
    for end in (0, 1, head - 1, head):
        file.write_bytes(whole[:end])
        vitviz.survey(tiny_vit, pictures(1), file=file, progress=False)
        assert file.read_bytes() == whole
    file.write_bytes(b"notes")
    with pytest.raises(VitvizError, match="no survey of this model"):
        vitviz.survey(tiny_vit, pictures(1), file=file, progress=False)
    assert file.read_bytes() == b"notes"


SETUPS = ("pool", "pixels", "crop", "labels", "outputs", "temperature", "threshold", "groups")


def other_setup(name: str) -> LoadedModel:
    """The same model by name and weights, which gives other numbers, or other answers."""
    loaded = tiny("cls")
    card, made = loaded.card, loaded.preprocess
    labels = tuple(f"thing {number}" for number in range(7))
    pool = replace(card.config, global_pool="avg")
    vit = vitviz.ViT(pool).eval().requires_grad_(False)
    vit.load_state_dict(loaded.vit.state_dict())
    others = json.dumps({"score": LARGEST, "threshold": 0.5})
    groups = json.dumps(["a", "b", "a", "b", "a", "b", "a"])
    return {
        "pool": replace(loaded, vit=vit, card=replace(card, config=pool)),
        "pixels": replace(loaded, preprocess=replace(made, mean=(0.1, 0.5, 0.5))),
        "crop": replace(loaded, preprocess=replace(made, crop_mode="squash")),
        "labels": replace(loaded, card=replace(card, labels=labels)),
        "outputs": replace(loaded, card=replace(card, outputs="any_of")),
        "temperature": replace(loaded, card=replace(card, temperature=2.0)),
        "threshold": replace(loaded, card=replace(card, details={"others": others})),
        "groups": replace(loaded, card=replace(card, details={"groups": groups})),
    }[name]


@pytest.mark.parametrize("other", SETUPS)
def test_a_file_of_the_same_weights_in_another_setup_is_refused(tmp_path, other: str) -> None:
    """Its old numbers were given for those of the model that is surveyed."""
    file, changed = tmp_path / "survey.jsonl", other_setup(other)
    vitviz.survey(tiny("cls"), pictures(2), file=file, progress=False)
    before = file.read_bytes()
    with pytest.raises(VitvizError, match="is no survey of this model with these measures"):
        vitviz.survey(changed, pictures(2), file=file, progress=False)
    assert file.read_bytes() == before
    again = vitviz.survey(changed, pictures(2), file=tmp_path / "other.jsonl", progress=False)
    assert len(again.pictures) == 2


def test_a_file_of_an_older_vitviz_is_refused_in_a_sentence_of_its_own(tiny_vit, tmp_path) -> None:
    """It does not say how its pictures became pixels: its numbers may be of another setup."""
    file = tmp_path / "survey.jsonl"
    vitviz.survey(tiny_vit, pictures(2), file=file, progress=False)
    head, *lines = file.read_text().split("\n")
    parts = json.loads(head)
    assert [*parts][-1] == "setup"
    del parts["setup"]
    file.write_text("\n".join([json.dumps(parts), *lines]))
    before = file.read_bytes()
    with pytest.raises(VitvizError, match=r"begun by an older vitviz, .*: name another file"):
        vitviz.survey(tiny_vit, pictures(2), file=file, progress=False)
    assert file.read_bytes() == before


def test_maps_of_as_many_rows_and_columns_are_no_heads() -> None:
    """Three layers of two heads, over a grid of 3 x 2 patches."""
    config = vitviz.ViTConfig(
        image_size=(12, 8), patch_size=4, embed_dim=8, depth=3, num_heads=2, num_classes=3
    )
    vit = spread(vitviz.ViT(config)).eval().requires_grad_(False)
    labels = ("a", "b", "c")
    card = vitviz.ModelCard(name="x", source="", config=config, labels=labels, head="classes")
    loaded = LoadedModel(vit, card, vitviz.Preprocess(size=(12, 8)))
    names = ["prefix", "grad_cam", "distance", "norms", "attention", "entropy"]
    found = vitviz.survey(loaded, pictures(3), names, progress=False)
    assert found.mean("grad_cam").shape == found.mean("distance").shape == (3, 2)
    row = found.table()[3]
    assert [name for name in row if not name.endswith("_error")] == [
        *("layer", "head", "prefix", "distance", "entropy"),
    ]
    assert row["entropy"] == pytest.approx(float(found.mean("entropy")[1, 1]))


def test_tables_are_written_as_csv(tiny_vit: LoadedModel, files: Path) -> None:
    found = vitviz.survey(tiny_vit, files, ["answer", "distance", "norms"], progress=False)
    head, *rows = found.to_csv().splitlines()
    assert head == "layer,head,distance,distance_error"
    assert len(rows) == 6
    assert float(rows[3].split(",")[2]) == pytest.approx(float(found.mean()[1, 1]), abs=1e-6)
    lines = found.pictures_to_csv().splitlines()
    assert lines[0] == "picture,answer,probability,known,label,right,sentence"
    assert len(lines) == 6
    assert "broken.jpg,,,,,," in lines[-1]
    pandas = pytest.importorskip("pandas")
    assert isinstance(found.to_pandas(), pandas.DataFrame)
    one = vitviz.survey(tiny_vit, pictures(1), progress=False)
    assert one.error().isnan().all()
    with pytest.raises(SelectionError, match="'entropy' was not measured, only distance"):
        one.mean("entropy")
    with pytest.raises(SelectionError, match="no picture could be used"):
        vitviz.survey(tiny_vit, [b""], progress=False).mean()
    none = vitviz.survey(tiny_vit, [b""], progress=False)
    assert none.to_csv().splitlines()[:2] == ["layer,head", "0,0"]


# --- ablation -------------------------------------------------------------------------------------


def test_an_ablation_is_what_operate_says(any_tiny_vit: LoadedModel) -> None:
    card = any_tiny_vit.card
    if card.head != "classes":
        with pytest.raises(SelectionError):
            vitviz.ablate(any_tiny_vit, pictures())
        return
    changes = [
        {"kind": "head", "layer": 1, "head": 1, "by": "zero"},
        [{"kind": "remove", "patches": [2]}, {"kind": "branch", "layer": 0, "branch": "mlp"}],
        {"kind": "swap", "patches": [0, 3]},
    ]
    found = vitviz.ablate(any_tiny_vit, [*pictures(), b""], changes, batch_size=2, progress=False)
    assert [one.name for one in found.broken] == ["picture 5"]
    for place, array in enumerate(pictures()):
        before = analyze(any_tiny_vit, array)
        target = before.class_index(None)
        assert int(found.targets[place]) == target
        for row, one in enumerate(changes):
            after = before.operate(one if isinstance(one, list) else [one])
            fall = before.trace.logits[target] - after.trace.logits[target]
            close(found.logits[row, place], fall)
            shares = [
                {p.index: p.probability for p in a.predictions(99)}[target] for a in (before, after)
            ]
            assert float(found.probability[row, place]) == pytest.approx(
                shares[0] - shares[1], abs=1e-5
            )
            assert bool(found.kept[row, place]) == (after.class_index(None) == target)


def test_every_head_is_turned_off_unless_told_otherwise(tiny_vit: LoadedModel) -> None:
    found = vitviz.ablate(tiny_vit, pictures(3), target="class 2", progress=False)
    assert found.logits.shape == (6, 3)
    assert found.targets.tolist() == [2, 2, 2]
    head, *rows = found.to_csv().splitlines()
    assert head == "changed,logits,logits_error,probability,probability_error,kept"
    assert rows[3].startswith('"layer 1, head 1 off"')
    one = found.table()[3]
    assert one["logits"] == pytest.approx(float(found.logits[3].mean()), abs=1e-6)
    assert one["logits_error"] == pytest.approx(float(found.logits[3].std() / 3**0.5), abs=1e-6)
    alone = [analyze(tiny_vit, a) for a in pictures(3)]
    off = [a.operate([{"kind": "head", "layer": 1, "head": 1, "by": "zero"}]) for a in alone]
    falls = [a.trace.logits[2] - b.trace.logits[2] for a, b in zip(alone, off, strict=True)]
    close(found.logits[3], torch.stack(falls))
