"""Data sets: whatever form they come in, the same pictures come out."""

import io
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from vitviz import load
from vitviz.model.preprocess import Preprocess
from vitviz.train.dataset import TORCHVISION, Pictures, read
from vitviz.train.errors import TrainError
from vitviz.train.recipes import RECIPES
from vitviz.train.run import Run
from vitviz.train.scores import normalise

LABELS = ("ant", "bee")


def cut(size: int, channels: int) -> Preprocess:
    half = (0.5,) * channels
    return Preprocess(size=(size, size), channels=channels, mean=half, std=half)


def noise(n: int, height: int = 8, width: int = 8, seed: int = 0) -> np.ndarray:
    """Blocks of colour that survive JPEG."""
    small = np.random.default_rng(seed).integers(0, 256, (n, 1, 1, 3), dtype=np.uint8)
    return np.broadcast_to(small, (n, height, width, 3)).copy()


def write_folder(root: Path, images: np.ndarray, targets: list[int]) -> None:
    for i, (image, target) in enumerate(zip(images, targets, strict=True)):
        place = root / LABELS[target]
        place.mkdir(parents=True, exist_ok=True)
        Image.fromarray(image).save(place / f"{i:03}.png")


def write_jpeg_pack(path: Path, images: list[Image.Image], targets: list[int], **more) -> None:
    files = []
    for image in images:
        with io.BytesIO() as file:
            image.save(file, "JPEG", quality=95)
            files.append(file.getvalue())
    write_pack(path, files, targets, **more)


def write_pack(path: Path, files: list[bytes], targets: list[int], **more) -> None:
    arrays = [np.frombuffer(file, dtype=np.uint8) for file in files]
    offsets = np.cumsum([0, *map(len, arrays)])
    labels = np.array(targets, dtype=np.uint8)
    np.savez(path, jpeg=np.concatenate(arrays), offsets=offsets, labels=labels, **more)


def test_a_folder_of_folders(tmp_path):
    images = noise(6)
    write_folder(tmp_path / "train", images[:4], [1, 0, 0, 1])
    write_folder(tmp_path / "val", images[4:], [1, 1])  # no ant is tested; bee is still class 1
    (tmp_path / "train" / ".thumbnails").mkdir()
    (tmp_path / "train" / LABELS[0] / "._1.png").write_bytes(b"\0\5\x16\7")  # macOS writes them
    Image.fromarray(images[1]).save(tmp_path / "val" / LABELS[1] / "3.ppm")
    train, test = (read(str(tmp_path), split, cut(8, 3)) for split in ("train", "test"))
    assert train.labels == test.labels == LABELS
    assert train.targets.tolist() == [0, 0, 1, 1]
    assert test.targets.tolist() == [1, 1, 1]
    assert (train.missing(), test.missing()) == ([], [LABELS[0]])
    expected = torch.from_numpy(images[[1, 2, 0, 3]]).permute(0, 3, 1, 2)
    assert torch.equal(train.images, expected)


def test_a_folder_without_splits_tests_on_every_tenth(tmp_path):
    write_folder(tmp_path, noise(40), [0] * 20 + [1] * 20)
    train, test = (read(str(tmp_path), split, cut(8, 3)) for split in ("train", "test"))
    assert (len(train), len(test)) == (36, 4)
    both = torch.cat([train.images, test.images]).flatten(1)
    assert len(both.unique(dim=0)) == 40  # no picture is in both
    assert test.targets.tolist() == [0, 0, 1, 1]


def test_a_few_pictures_without_splits_are_told_what_is_missing(tmp_path):
    """They were said to be none."""
    write_folder(tmp_path, noise(12), [0] * 6 + [1] * 6)
    assert len(read(str(tmp_path), "train", cut(8, 3))) == 12
    with pytest.raises(TrainError, match=r"no class in .* has 10 pictures, and every tenth"):
        read(str(tmp_path), "test", cut(8, 3))


def test_pictures_are_cut_as_uploads_are(tmp_path):
    wide = noise(1, 10, 30)
    wide[:, :, 10:20] = 255 - wide[:, :, 10:20]
    write_folder(tmp_path / "train", np.concatenate([wide, wide]), [0, 1])
    images = read(str(tmp_path), "train", cut(5, 1)).images
    assert images.shape == (2, 1, 5, 5)
    grey = Image.fromarray(wide[0, :, 10:20]).convert("L").getpixel((5, 5))
    assert (
        images[0, 0, :, 1:4] - grey
    ).abs().max() <= 1  # the middle of the picture, without its sides


def test_jpeg_packs_come_out_in_order_with_boxes_and_groups(tmp_path):
    images = noise(5)
    pictures = [Image.fromarray(image) for image in images]
    pictures[2] = pictures[2].convert("L")  # some of ImageNet is grey
    boxes = np.array([[0, 1, 4, 7], [2, 2, 2, 2]] * 3, dtype=np.uint8)[:5]
    write_jpeg_pack(tmp_path / "x_train_part0.npz", pictures[:3], [0, 1, 0], boxes=boxes[:3])
    write_jpeg_pack(tmp_path / "x_train_part1.npz", pictures[3:], [1, 1], boxes=boxes[3:])
    write_jpeg_pack(tmp_path / "x_val.npz", pictures[:1], [0], boxes=boxes[:1])
    classes = [{"name": name, "group_name": "insect"} for name in LABELS]
    (tmp_path / "classes.json").write_text(json.dumps(classes))
    train = read(str(tmp_path), "train", cut(8, 3))
    assert train.targets.tolist() == [0, 1, 0, 1, 1]
    assert train.labels == LABELS
    assert train.groups == ("insect", "insect")
    edges = torch.tensor([[0.0, 1, 5, 8], [2, 2, 3, 3]] * 3)[:5]  # the last pixels are inside
    assert torch.equal(train.boxes, edges)
    colour = train.images[3].float().mean((1, 2))
    assert (colour - torch.from_numpy(images[3, 0, 0]).float()).abs().max() < 4
    assert len(read(str(tmp_path), "test", cut(8, 3))) == 1


def test_the_files_of_a_pack_are_opened_as_those_of_a_folder(tmp_path):
    """Pictures of a phone lay on their sides, hidden colours were seen, and 16 bits were white."""
    exif = Image.Exif()
    exif[274] = 6  # turned by a quarter
    halves = np.zeros((8, 8, 3), dtype=np.uint8)
    halves[:4] = 200
    clear = np.zeros((8, 8, 4), dtype=np.uint8)
    deep = np.full((8, 8), 30000, dtype=np.uint16)
    folder, files = tmp_path / "folder", []
    for name, image, more in (
        ("0.jpg", Image.fromarray(halves), {"exif": exif, "quality": 95}),
        ("1.png", Image.fromarray(clear), {}),
        ("2.png", Image.fromarray(deep), {}),
    ):
        for part in ("train", "val"):
            for label in LABELS:
                (folder / part / label).mkdir(parents=True, exist_ok=True)
                image.save(folder / part / label / name, **more)
        files.append((folder / "train" / LABELS[0] / name).read_bytes())
    (tmp_path / "pack").mkdir()
    write_pack(tmp_path / "pack" / "x_train.npz", files, [0, 0, 0])
    packed = read(str(tmp_path / "pack"), "train", cut(8, 3)).images
    assert torch.equal(packed, read(str(folder), "train", cut(8, 3)).images[:3])
    assert packed[0, 0, 0, 0] < 20 < 180 < packed[0, 0, 0, 7]
    assert packed[1].unique().tolist() == [255]
    assert packed[2].unique().tolist() == [117]


def test_the_deviation_of_an_empty_channel_can_be_in_a_file_of_weights():
    """It was refused when all steps were done, and the model could not be written."""
    images = torch.randint(0, 256, (4, 3, 8, 8), dtype=torch.uint8)
    images[:, 2] = 0
    mean, std = Pictures("some", images, torch.arange(4) % 2, LABELS).mean_std()
    assert replace(cut(8, 3), mean=mean, std=std).std == std


def test_boxes_grow_and_shrink_with_the_pictures_they_are_in(tmp_path):
    wide = [Image.fromarray(noise(1, 8, 16)[0])]
    box = np.array([[4, 2, 11, 5]], dtype=np.uint8)
    write_jpeg_pack(tmp_path / "wide_train.npz", wide, [0], boxes=box)

    def boxes(**changes):
        return read(str(tmp_path), "train", replace(cut(8, 3), **changes)).boxes

    assert boxes(size=(8, 16)).tolist() == [[4, 2, 12, 6]]
    assert boxes(size=(12, 24)).tolist() == [[6, 3, 18, 9]]
    assert boxes(size=(4, 8)).tolist() == [[2, 1, 6, 3]]
    assert boxes(size=(8, 8), crop_mode="squash").tolist() == [[2, 2, 6, 6]]
    # Where the cut drops parts of the picture it may drop the box: then there are no boxes.
    assert boxes(size=(8, 8)) is None
    assert boxes(size=(8, 16), crop_pct=0.5) is None


def test_grey_packs_without_names(tmp_path):
    images = np.arange(2 * 16, dtype=np.uint8).reshape(2, 4, 4)
    for split in ("train", "test"):
        np.savez(tmp_path / f"m_{split}.npz", images=images, labels=np.array([1, 0]))
    got = read(str(tmp_path), "test", cut(4, 1))
    assert torch.equal(got.images[:, 0], torch.from_numpy(images))
    assert got.labels == ("0", "1")
    assert got.groups is None


def test_a_pack_is_of_the_split_that_a_whole_word_of_its_name_says(tmp_path):
    """`latest_train` is no test pack: its pictures would be trained on and tested with."""
    names = ("latest_train", "retrieval_train_part1", "new-val", "._new-val")
    for number, name in enumerate(names):
        images = np.full((2, 4, 4), number, np.uint8)
        np.savez(tmp_path / f"{name}.npz", images=images, labels=np.array([0, 1]))
    (tmp_path / "._new-val.npz").write_bytes(b"\0\5\x16\7")  # macOS writes them
    assert read(str(tmp_path), "train", cut(4, 1)).images[:, 0, 0, 0].tolist() == [0, 0, 1, 1]
    assert read(str(tmp_path), "test", cut(4, 1)).images[:, 0, 0, 0].tolist() == [2, 2]
    (tmp_path / "new-val.npz").unlink()
    with pytest.raises(TrainError, match=r"no \.npz pack with val or validation or test as a word"):
        read(str(tmp_path), "test", cut(4, 1))


def test_packs_without_names_have_the_same_classes_in_both_parts(tmp_path):
    """A test part without the last class made a run of hours end in an error."""
    images = np.zeros((3, 4, 4), np.uint8)
    np.savez(tmp_path / "m_train.npz", images=images, labels=np.array([0, 1, 2]))
    np.savez(tmp_path / "m_test.npz", images=images, labels=np.array([0, 1, 1]))
    for split in ("train", "test"):
        assert read(str(tmp_path), split, cut(4, 1)).labels == ("0", "1", "2")


def test_the_digits_that_come_along_are_those_that_the_shipped_model_reads():
    """A sheet in another order, or cut at other places, would be read by no model."""
    loaded = load("mnist", device="cpu")
    for split, each in (("train", 400), ("test", 100)):
        digits = read("digits", split, loaded.preprocess)
        assert digits.images.shape == (10 * each, 1, 28, 28)
        assert digits.targets.bincount().tolist() == [each] * 10
        assert digits.labels == tuple("0123456789")
    some = digits.some(200)
    pixels = normalise(some.images / 255, loaded.preprocess.mean, loaded.preprocess.std)
    with torch.inference_mode():
        right = loaded.vit(pixels).argmax(-1) == some.targets
    assert right.float().mean() >= 0.98


def test_the_playground_learns_digits_and_needs_their_places(tmp_path):
    """A tenth of its run: what takes positions away costs more than ten points."""
    recipe = RECIPES["playground"].changed({"epochs": 1.0})
    right = {}
    for positions in ("learned", "none"):
        one = recipe.changed({"positions": positions})
        run = Run(one, read("digits", "train", one.cut()), torch.device("cpu"))
        for batch in run.batches():
            run.learn(batch)
        right[positions] = run.measure(read("digits", "test", one.cut()))["top1"]
    assert right["learned"] > 0.6
    assert right["learned"] - right["none"] > 0.1


@pytest.mark.parametrize("name", TORCHVISION)
def test_a_missing_data_set_is_not_downloaded_unasked(tmp_path, name):
    with pytest.raises(TrainError, match="add --download"):
        read(name, "train", cut(8, 3), data_dir=tmp_path)


def test_torchvision_sets_pass_through_the_same_cut(tmp_path, monkeypatch):
    import torchvision

    class Digits:
        """As torchvision.datasets.MNIST is used: pairs of a picture and a number."""

        classes = ("0 - zero", "1 - one")

        def __init__(self, root, *, train, download):
            self.pairs = [(Image.fromarray(noise(1)[0]).convert("L"), 1)] * (3 if train else 2)

        def __len__(self):
            return len(self.pairs)

        def __iter__(self):
            return iter(self.pairs)

    monkeypatch.setattr(torchvision.datasets, "MNIST", Digits)
    got = read("mnist", "train", cut(4, 1), data_dir=tmp_path)
    assert got.images.shape == (3, 1, 4, 4)
    assert got.labels == ("0", "1")
    assert got.targets.tolist() == [1, 1, 1]
    assert len(read("mnist", "test", cut(4, 1), data_dir=tmp_path)) == 2


def test_what_is_wrong_is_told_with_its_place(tmp_path):
    colour = cut(8, 3)
    with pytest.raises(TrainError, match='no data set "nowhere"'):
        read("nowhere", "train", colour)
    with pytest.raises(TrainError, match="two or more classes, found 0"):
        read(str(tmp_path), "train", colour)
    write_folder(tmp_path / "a" / "train", noise(2), [0, 1])
    with pytest.raises(TrainError, match="none of val, validation, test/"):
        read(str(tmp_path / "a"), "test", colour)
    (tmp_path / "a" / "train" / "bee" / "broken.jpg").write_bytes(b"\xff\xd8 not a picture")
    with pytest.raises(TrainError, match=r"broken\.jpg"):
        read(str(tmp_path / "a"), "train", colour)


@pytest.mark.parametrize(
    "arrays",
    [
        {"images": noise(3)},
        {"images": noise(3), "labels": np.zeros(2)},
        {"images": noise(0), "labels": np.zeros(0)},
        {"images": noise(3), "labels": np.zeros(3), "boxes": np.zeros((3, 2))},
        {"jpeg": np.zeros(9, dtype=np.uint8), "offsets": np.array([0, 9]), "labels": np.zeros(1)},
        {"images": noise(3)[..., :1], "labels": np.zeros(3)},
        {"images": noise(3), "labels": np.array(0)},
        {"images": noise(3), "labels": np.zeros((3, 1))},
        {"jpeg": np.zeros(9, dtype=np.uint8), "offsets": np.array([0.0, 9]), "labels": np.zeros(1)},
    ],
    ids=[
        "no labels",
        "too few labels",
        "empty",
        "odd boxes",
        "no jpeg",
        "one channel",
        "one label",
        "labels in a column",
        "broken offsets",
    ],
)
def test_a_damaged_pack_is_refused_by_name(tmp_path, arrays):
    np.savez(tmp_path / "bad_train.npz", **arrays)
    with pytest.raises(TrainError, match="bad_train"):
        read(str(tmp_path), "train", cut(8, 3))


@pytest.mark.parametrize("kept", [0, 10, 300], ids=["empty", "its head", "the half of it"])
def test_a_pack_that_was_cut_off_is_refused_by_name(tmp_path, kept):
    pack = tmp_path / "bad_train.npz"
    np.savez_compressed(pack, images=noise(3), labels=np.zeros(3))
    assert pack.stat().st_size > 400
    pack.write_bytes(pack.read_bytes()[:kept])
    with pytest.raises(TrainError, match="bad_train"):
        read(str(tmp_path), "train", cut(8, 3))


def test_a_pack_whose_bytes_are_wrong_is_refused_by_name(tmp_path):
    pack = tmp_path / "bad_train.npz"
    np.savez_compressed(pack, images=noise(3), labels=np.zeros(3))
    whole = bytearray(pack.read_bytes())
    whole[200:220] = bytes(20)
    pack.write_bytes(whole)
    with pytest.raises(TrainError, match="bad_train"):
        read(str(tmp_path), "train", cut(8, 3))


@pytest.mark.parametrize("classes", [{"ant": 1, "bee": 0}, "ab", 3, [1, 2]])
def test_names_of_classes_without_an_order_are_refused(tmp_path, classes):
    """The keys of `class_to_idx` were taken for the names in their order: dogs were called cats."""
    np.savez(tmp_path / "m_train.npz", images=noise(2), labels=np.array([0, 1]))
    (tmp_path / "classes.json").write_text(json.dumps(classes))
    with pytest.raises(TrainError, match=r"classes\.json is not a list of class names"):
        read(str(tmp_path), "train", cut(8, 3))


def test_pictures_to_test_with_need_no_others(tmp_path):
    """The folder val/ was taken for a class."""
    write_folder(tmp_path / "a" / "val", noise(3), [0, 1, 1])
    test = read(str(tmp_path / "a"), "test", cut(8, 3))
    assert (test.labels, test.targets.tolist()) == (LABELS, [0, 1, 1])
    write_folder(tmp_path / "b", noise(20), [0] * 10 + [1] * 10)
    (tmp_path / "b" / LABELS[1]).rename(tmp_path / "b" / "test")  # a class of this name
    train, test = (read(str(tmp_path / "b"), split, cut(8, 3)) for split in ("train", "test"))
    assert train.labels == test.labels == (LABELS[0], "test")
    assert (len(train), len(test)) == (18, 2)


def test_the_terms_of_a_known_data_set_are_not_those_of_a_folder_of_its_name(tmp_path):
    write_folder(tmp_path / "mnist", noise(20), [0] * 10 + [1] * 10)
    assert read(str(tmp_path / "mnist"), "train", cut(8, 3)).terms == "as the data set's"
    assert read("digits", "test", cut(28, 1)).terms != "as the data set's"


@pytest.mark.parametrize("kept", [0, 20])
@pytest.mark.parametrize("download", [False, True])
def test_a_download_that_was_cut_off_says_what_helps(tmp_path, kept, download):
    """A file of no byte ended in a traceback, and one of some was said to need a connection."""
    raw = tmp_path / "MNIST" / "raw"
    raw.mkdir(parents=True)
    for name in ("train-images", "train-labels", "t10k-images", "t10k-labels"):
        axes = 3 if "images" in name else 1
        (raw / f"{name}-idx{axes}-ubyte").write_bytes(bytes([0, 0, 8, axes] * 5)[:kept])
    says = "delete what an earlier download left there" if download else "add --download"
    with pytest.raises(TrainError, match=f"mnist is not whole in .*{says}"):
        read("mnist", "train", cut(28, 1), data_dir=tmp_path, download=download)


def test_classes_must_fit_the_labels():
    images = torch.zeros(2, 1, 4, 4, dtype=torch.uint8)
    with pytest.raises(TrainError, match="2 labels, but classes from 0 to 2"):
        Pictures("x", images, torch.tensor([0, 2]), LABELS)
    with pytest.raises(TrainError, match="2 pictures, but classes for 1"):
        Pictures("x", images, torch.tensor([0]), LABELS)


def test_mean_and_deviation_are_those_of_the_pictures():
    images = torch.randint(0, 256, (50, 3, 4, 6), generator=torch.Generator().manual_seed(0))
    pictures = Pictures("x", images.to(torch.uint8), torch.zeros(50, dtype=torch.long), LABELS)
    mean, std = pictures.mean_std()
    values = images.double() / 255
    assert mean == pytest.approx(values.mean((0, 2, 3)).tolist(), abs=1e-4)
    assert std == pytest.approx(values.std((0, 2, 3), correction=0).tolist(), abs=1e-4)


def test_some_pictures_are_always_the_same_ones():
    images = torch.arange(9, dtype=torch.uint8).view(9, 1, 1, 1)
    pictures = Pictures("x", images, torch.arange(9) % 2, LABELS)
    some = pictures.some(4)
    assert len(some) == 4
    assert torch.equal(some.images, pictures.some(4).images)
    assert torch.equal(some.images.flatten() % 2, some.targets)
    assert pictures.some(0) is pictures


def test_torchvision_is_imported_only_for_its_own_sets():
    code = "import sys, vitviz.train.command; print('torchvision' in sys.modules)"
    words = [sys.executable, "-c", code]
    assert subprocess.run(words, capture_output=True, text=True, check=True).stdout == "False\n"
