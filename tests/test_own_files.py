"""Files of everybody's: state dicts of timm and torchvision in any wrapping, and their names."""

import argparse
import errno
import json
import os
import random
import re
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import timm
import torch
from PIL import Image
from safetensors.torch import save_file
from timm.models import save_for_hf
from torch.testing import assert_close

from tests import damage
from tests.models import photo, spread, tiny
from vitviz import (
    SelectionError,
    VitvizError,
    WeightsError,
    analyze,
    analyze_many,
    cli,
    draw,
    from_timm,
    load,
    save,
)
from vitviz.model import state_dicts
from vitviz.model.menu import WEIGHTS_DIR, name_of

ARCH = "test_vit"  # of timm: 6 blocks, 64 wide, 160 pixels
Tensors = dict[str, torch.Tensor]


def theirs(**options: object) -> torch.nn.Module:
    return spread(timm.create_model(ARCH, **{"num_classes": 5} | options).eval())


@torch.inference_mode()
def answers_alike(loaded, model: torch.nn.Module) -> None:
    size = loaded.card.config.image_size
    pixels = torch.randn(1, 3, *size, generator=torch.Generator().manual_seed(0))
    assert_close(loaded.vit(pixels), model(pixels), atol=1e-4, rtol=1e-4)


def fronted(front: str, state: Tensors) -> Tensors:
    return {f"{front}{name}": value for name, value in state.items()}


WRAPPINGS: dict[str, Callable[[Tensors], object]] = {
    "plain": lambda s: s,
    "DataParallel": lambda s: fronted("module.", s),
    "compiled": lambda s: fronted("_orig_mod.", s),
    "both": lambda s: fronted("module._orig_mod.", s),
    "net": lambda s: {"net": s, "acc": 91.5, "epoch": 3},
    "a checkpoint of timm": lambda s: {
        "epoch": 4,
        "arch": ARCH,
        "state_dict": s,
        "optimizer": {"state": {0: {"exp_avg": torch.zeros(3)}}, "param_groups": [{"lr": 0.1}]},
        "args": argparse.Namespace(lr=0.1, model=ARCH),
        "metric": 77.0,
    },
    "MAE": lambda s: {"model": s, "args": argparse.Namespace(), "scaler": {"scale": 1.0}},
    "an average": lambda s: {"model_ema": s},
    "of its own name": lambda s: {"state_dict_ema": fronted("module.", s)},
    "Lightning": lambda s: {
        "state_dict": fronted("model.", s),
        "callbacks": {"best": {"score": torch.tensor(0.5)}},
        "hyper_parameters": {"lr": 0.1},
    },
}


@pytest.mark.parametrize("name", WRAPPINGS)
@pytest.mark.parametrize("suffix", [".pth", ".pth.tar", ".ckpt"])
def test_weights_in_any_wrapping_are_the_same_model(name: str, suffix: str, tmp_path) -> None:
    model = theirs()
    path = tmp_path / f"mine{suffix}"
    torch.save(WRAPPINGS[name](model.state_dict()), path)
    labels = ["a", "b", "c", "d", "e"]
    loaded = load(str(path), arch=ARCH, labels=labels, device="cpu")
    answers_alike(loaded, model)
    assert loaded.card.labels == tuple(labels)
    assert loaded.card.head == "classes"
    assert loaded.card.source == f"{path.name}, weights under timm's names"


@pytest.mark.parametrize(
    ("options", "size"),
    [
        ({}, 160),
        ({"num_classes": 0}, 160),
        ({"global_pool": "avg", "img_size": 96}, 96),
        ({"img_size": 224}, 224),
    ],
)
def test_classes_pooling_and_size_are_read_off_the_weights(options, size: int, tmp_path) -> None:
    model = theirs(**options)
    save_file(model.state_dict(), tmp_path / "x.safetensors")
    loaded = load(tmp_path / "x.safetensors", arch=ARCH, device="cpu")
    answers_alike(loaded, model)
    assert loaded.card.config.image_size == loaded.preprocess.size == (size, size)
    assert loaded.card.labels is None
    assert loaded.card.details == {"architecture": ARCH}


@pytest.mark.parametrize("size", [(144, 256), (256, 144), (192, 192)])
def test_a_size_that_is_told_wins_over_a_square_of_as_many_patches(size, tmp_path) -> None:
    model = theirs(img_size=size)
    assert model.patch_embed.num_patches == 12 * 12
    folder, path = tmp_path / "saved", tmp_path / "x.safetensors"
    save_for_hf(model, folder, safe_serialization=True)
    save_file(model.state_dict(), path)
    given = load(path, arch=ARCH, image_size=size, device="cpu")
    for loaded in (given, load(folder, device="cpu")):
        answers_alike(loaded, model)
        assert loaded.card.config.image_size == loaded.preprocess.size == size
        assert loaded.card.resized_from is None
    told = load(folder, image_size=(288, 128), device="cpu")  # what the file says stays true
    assert told.card.resized_from == size
    config = {"architecture": ARCH, "num_classes": 5, "model_args": {"img_size": list(size)}}
    (tmp_path / "config.json").write_text(json.dumps(config))
    loaded = load(path, device="cpu")
    answers_alike(loaded, model)
    assert loaded.card.config.image_size == size


def test_a_size_that_is_not_told_is_read_off_the_weights(tmp_path) -> None:
    """A grid with another number of patches is not the one that is given, nor the one told."""
    path = tmp_path / "x.safetensors"
    save_file(theirs(img_size=(192, 192)).state_dict(), path)
    loaded = load(path, arch=ARCH, image_size=(160, 240), device="cpu")
    assert loaded.card.resized_from == (192, 192)
    config = {"architecture": ARCH, "num_classes": 5, "model_args": {"img_size": [160, 240]}}
    (tmp_path / "config.json").write_text(json.dumps(config))
    assert load(path, device="cpu").card.config.image_size == (192, 192)


def test_a_file_that_holds_two_models_is_asked_which(tmp_path) -> None:
    one, other = theirs(), spread(theirs(), seed=1)
    path = tmp_path / "x.pth"
    sets = {"state_dict": one.state_dict(), "state_dict_ema": other.state_dict()}
    torch.save(sets, path)
    with pytest.raises(WeightsError, match='key="state_dict" or key="state_dict_ema"'):
        load(path, arch=ARCH)
    answers_alike(load(path, arch=ARCH, key="state_dict_ema", device="cpu"), other)
    answers_alike(load(path, arch=ARCH, key="state_dict", device="cpu"), one)
    with pytest.raises(WeightsError, match="no Vision Transformer under the key 'state'"):
        load(path, arch=ARCH, key="state")
    torch.save(fronted("student.backbone.", sets["state_dict"]) | fronted("teacher.backbone.", sets["state_dict_ema"]), path)  # fmt: skip # noqa: E501
    answers_alike(load(path, arch=ARCH, key="teacher", device="cpu"), other)


def test_what_lies_beside_the_model_is_named_and_left_out_when_asked(tmp_path) -> None:
    model = theirs()
    path = tmp_path / "x.ckpt"
    state = fronted("model.", model.state_dict()) | {"loss.weight": torch.ones(5)}
    torch.save({"state_dict": state}, path)
    with pytest.raises(WeightsError, match=r"holds 'state_dict/loss.weight' beside .* key=\"state_dict.model\""):  # fmt: skip # noqa: E501
        load(path, arch=ARCH)
    answers_alike(load(path, arch=ARCH, key="state_dict.model", device="cpu"), model)


def test_a_file_that_does_not_say_its_architecture_says_what_to_write(tmp_path) -> None:
    state = timm.create_model("vit_small_patch16_224", num_classes=7).state_dict()
    torch.save(state, tmp_path / "x.pth")
    with pytest.raises(WeightsError, match='with arch="vit_small_patch16_224", timm\'s name'):
        load(tmp_path / "x.pth")
    with pytest.raises(
        WeightsError, match="arch must be a name of timm, such as vit_small_patch16"
    ):
        load(tmp_path / "x.pth", arch="vit_smal")
    with pytest.raises(WeightsError, match=r'fit arch="vit_tiny_patch16_224": cls_token has shape .* may be "vit_small_patch16_224"'):  # fmt: skip # noqa: E501
        load(tmp_path / "x.pth", arch="vit_tiny_patch16_224")
    for name in ("mnist_", "mnist"):
        with pytest.raises(WeightsError, match=f"of a file that holds weights alone, and '{name}'"):
            load(name, arch="vit_tiny_patch16_224")


def test_options_of_weights_alone_are_refused_for_a_file_of_vitviz_in_a_folder(
    tmp_path, monkeypatch
) -> None:
    """ "run/best.safetensors" reads like a name of the hub, to which `key` may belong."""
    (tmp_path / "run").mkdir()
    save(load("mnist"), tmp_path / "run/best.safetensors")
    monkeypatch.chdir(tmp_path)
    for source in ("run/best.safetensors", "./run/best.safetensors", "./run"):
        with pytest.raises(WeightsError, match="of a file that holds weights alone, and"):
            load(source, key="ema")
    names = [f"digit {digit}" for digit in range(10)]
    for source in ("run/best.safetensors", "./run"):
        assert load(source, labels=names).card.labels == tuple(names)


@pytest.mark.skipif(sys.platform != "linux", reason="other systems take no such name")
def test_a_file_whose_name_is_no_text_is_refused_in_a_sentence(tmp_path) -> None:
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9.safetensors"))
    save_file(timm.create_model("test_vit", num_classes=3).state_dict(), tmp_path / "a.safetensors")
    (tmp_path / "a.safetensors").rename(path)
    with pytest.raises(WeightsError):  # safetensors opens no such path
        load(path, arch="test_vit")


def test_the_hint_for_a_clip_names_both_activations(tmp_path) -> None:
    """They run alike, and only one is right: quick GELU for OpenAI's own weights."""
    model = timm.create_model("vit_base_patch32_clip_224", num_classes=0)
    torch.save(model.state_dict(), tmp_path / "x.pth")
    with pytest.raises(WeightsError, match=r'arch="vit_base_patch32_clip_224".*clip_quickgelu_224'):
        load(tmp_path / "x.pth")


def test_a_config_of_timm_beside_the_file_says_it(tmp_path) -> None:
    model = theirs()
    names = {"label_names": ["a", "b", "c", "d", "e"]}
    save_for_hf(model, tmp_path, model_config=names, safe_serialization=True)
    torch.save({"model": model.state_dict()}, tmp_path / "best.pth")
    for source in (tmp_path / "best.pth", tmp_path / "model.safetensors", tmp_path, str(tmp_path)):
        loaded = load(source, device="cpu")
        answers_alike(loaded, model)
        assert loaded.card.labels == ("a", "b", "c", "d", "e")
    away = (tmp_path / "model.safetensors").rename(tmp_path / "away")  # one file of weights is left
    answers_alike(loaded := load(tmp_path, device="cpu"), model)
    assert "best.pth" in str(loaded.card.source)
    away.rename(tmp_path / "model.safetensors")
    (tmp_path / "config.json").write_text("[]")
    with pytest.raises(WeightsError, match=r"config\.json must hold a JSON object"):
        load(tmp_path / "best.pth")
    (tmp_path / "config.json").unlink()
    with pytest.raises(WeightsError, match=r"has no config\.json of transformers or of timm"):
        load(tmp_path)


def test_names_and_preprocessing_of_an_object_can_be_given() -> None:
    own = {"size": [160, 160], "mean": [0.1, 0.2, 0.3], "crop_pct": 0.5}
    loaded = from_timm(theirs(), labels=[*"abcde"], preprocess=own)
    assert loaded.card.labels == ("a", "b", "c", "d", "e")
    assert (loaded.preprocess.mean, loaded.preprocess.crop_pct) == ((0.1, 0.2, 0.3), 0.5)
    for labels in (["a"], [1, 2, 3, 4, 5], []):
        with pytest.raises(WeightsError, match="labels must be 5 names"):
            from_timm(theirs(), labels=labels)
    with pytest.raises(WeightsError, match=r"makes pictures of \(32, 32\)"):
        from_timm(theirs(), preprocess={"size": [32, 32]})
    with pytest.raises(WeightsError, match="no data set of imagenet has 5 classes"):
        from_timm(theirs(), labels="imagenet")


@pytest.mark.parametrize(
    "labels",
    [
        {"dog": 1, "cat": 0, "cow": 2},  # class_to_idx of torchvision's ImageFolder
        {1: "dog", 0: "cat", 2: "cow"},  # id2label
        {"1": "dog", "0": "cat", "2": "cow"},  # the same out of JSON
        iter(["cat", "dog", "cow"]),
    ],
)
def test_labels_by_number_are_put_in_their_order(labels) -> None:
    assert from_timm(theirs(num_classes=3), labels=labels).card.labels == ("cat", "dog", "cow")


@pytest.mark.parametrize(
    ("labels", "sentence"),
    [
        ({"cat", "dog"}, "labels are a set, which has no order"),
        (frozenset({"cat", "dog"}), "labels are a frozenset"),
        ({"cat": 0, "dog": 1}.keys(), "which has no order"),
        ({"cat": 0, "dog": 2}, "class 1 has none"),
        ({"cat": 0, "dog": 0}, "class 1 has none"),
        ({1: "cat", 2: "dog"}, "class 0 has none"),
        ({"cat": 0}, "each of 2 classes once"),
        ({0: "cat", 1: 7}, "class 1 has none"),
    ],
)
def test_labels_without_an_order_are_refused(labels, sentence: str) -> None:
    with pytest.raises(WeightsError, match=sentence):
        from_timm(theirs(num_classes=2), labels=labels)


def test_names_in_a_file_are_those_of_a_list(tmp_path) -> None:
    lines, numbered = tmp_path / "names.txt", tmp_path / "names.json"
    lines.write_text("cat\n\n dog \ncow\n")
    numbered.write_text('{"dog": 1, "cat": 0, "cow": 2}')
    model = theirs(num_classes=3)
    for file in (lines, str(lines), numbered, str(numbered)):
        assert from_timm(model, labels=file).card.labels == ("cat", "dog", "cow")
    for text, reason in (("cat,dog,cow", "No such file"), (str(tmp_path), "Is a directory")):
        with pytest.raises(WeightsError, match=f"cannot be read: {reason}.*; labels are names"):
            from_timm(model, labels=text)
    for text in ('"cat"', "3", "null"):  # the letters of a text are no names
        numbered.write_text(text)
        with pytest.raises(WeightsError, match="its JSON is no list and no object"):
            from_timm(model, labels=numbered)
    lines.write_bytes(b"\xff\xfe")
    with pytest.raises(WeightsError, match="cannot be read: it is no text"):
        from_timm(model, labels=lines)


def test_the_number_of_blocks_is_read_off_the_weights(tmp_path) -> None:
    model = theirs(depth=4)
    torch.save(model.state_dict(), tmp_path / "x.pth")
    loaded = load(tmp_path / "x.pth", arch=ARCH)
    answers_alike(loaded, model)
    assert "4 blocks, as in the file; test_vit has 6" in map(str, loaded.card.assumed)
    gaps = {key: value for key, value in model.state_dict().items() if "blocks.1." not in key}
    torch.save(gaps, tmp_path / "gaps.pth")
    with pytest.raises(WeightsError, match=r"blocks\.1\..* is missing"):
        load(tmp_path / "gaps.pth", arch=ARCH)


def test_names_in_an_array_are_those_of_a_list(tmp_path) -> None:
    names = ["a", "b", "c", "d", "e"]
    loaded = from_timm(theirs(), labels=np.array(names))
    assert loaded.card.labels == tuple(names)
    assert {type(name) for name in loaded.card.labels} == {str}
    with pytest.raises(WeightsError, match="labels must be 5 names, one for each class"):
        from_timm(theirs(), labels=np.array([names]))


def test_a_name_of_two_classes_is_asked_by_number() -> None:
    plain = tiny("cls")
    names = ("crane", "dog", "crane", "3", "4", "5", "6")
    analysis = analyze(replace(plain, card=replace(plain.card, labels=names)), photo())
    with pytest.raises(SelectionError, match=r"several classes named 'crane'; .*: 0, 2"):
        analysis.class_index("crane")
    assert [analysis.class_index(target) for target in ("dog", 2)] == [1, 2]


def test_values_of_another_range_are_refused() -> None:
    for mean, std in (([123.7, 116.3, 103.5], [58.4, 57.1, 57.4]), ([0.5] * 3, [127.5] * 3)):
        own = {"size": [160, 160], "mean": mean, "std": std}
        with pytest.raises(WeightsError, match="those of pixels from 0 to 255 are 255 times"):
            from_timm(theirs(), preprocess=own)


def test_a_wrapper_and_a_head_in_a_sequence_say_the_line_that_mends_them() -> None:
    class Mine(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = torch.nn.ModuleDict({"vit": theirs(num_classes=0)})
            self.linear = torch.nn.Linear(64, 2)

    model = Mine()
    with pytest.raises(
        WeightsError, match=r'Mine around a VisionTransformer: .*get_submodule\("inner\.vit"\)'
    ):
        from_timm(model)
    answers_alike(from_timm(model.inner.vit), model.inner.vit)
    model = theirs()
    before = model.head
    model.head = torch.nn.Sequential(torch.nn.Dropout(0.2), torch.nn.Identity(), before)
    with pytest.raises(
        WeightsError, match=r"one layer counts; model\.head = model\.head\[2\] leaves"
    ):
        from_timm(model)
    model.head = model.head[2]
    answers_alike(from_timm(model), model)
    model.head = torch.nn.Sequential(torch.nn.ReLU(), before)
    with pytest.raises(WeightsError, match="its head is Sequential"):
        from_timm(model)


@pytest.mark.parametrize("channels", [2, 4, 13])
def test_channels_that_no_photo_has_are_the_models_and_have_a_way(channels: int, tmp_path) -> None:
    model = theirs(in_chans=channels)
    chosen = [0] if channels == 2 else [3, 2, 1]
    sentence = rf"test_vit.* takes pictures of {channels} channels.*" + re.escape(f"[:, {chosen}]")
    with pytest.raises(WeightsError, match=sentence):
        from_timm(model)
    torch.save(model.state_dict(), tmp_path / "x.pth")
    with pytest.raises(WeightsError, match=sentence.replace("test_vit", "x")):
        load(tmp_path / "x.pth", arch=ARCH)
    state = model.state_dict()
    state["patch_embed.proj.weight"] = state["patch_embed.proj.weight"][:, chosen]
    torch.save(state, tmp_path / "x.pth")
    found = load(tmp_path / "x.pth", arch=ARCH, device="cpu").card.config.in_chans
    assert found == len(chosen)


def test_a_grey_model_is_read_off_its_weights(tmp_path) -> None:
    model = theirs(in_chans=1)
    torch.save(model.state_dict(), tmp_path / "x.pth")
    loaded = load(tmp_path / "x.pth", arch=ARCH, device="cpu")
    pixels = torch.randn(1, 1, 160, 160, generator=torch.Generator().manual_seed(0))
    with torch.inference_mode():
        assert_close(loaded.vit(pixels), model(pixels), atol=1e-4, rtol=1e-4)
    assert loaded.preprocess.channels == 1


def test_the_home_of_a_user_is_found(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    model = theirs()
    save_for_hf(model, tmp_path / "run", safe_serialization=True)
    torch.save(model.state_dict(), tmp_path / "x.pth")
    Image.fromarray(photo()).save(tmp_path / "cat.png")
    for source, options in (("~/x.pth", {"arch": ARCH}), ("~/run", {}), (Path("~/run"), {})):
        loaded = load(source, device="cpu", **options)
        answers_alike(loaded, model)
    assert analyze(loaded, "~/cat.png").photo_name == "cat.png"
    assert len([*analyze_many(loaded, "~/", progress=False)]) == 1
    with pytest.raises(WeightsError, match="no file or folder of this name here"):
        load("~nobody-of-this-name/x.pth")
    with pytest.raises(WeightsError, match="there is no checkpoint file ~nobody-of-this-name"):
        load(Path("~nobody-of-this-name/x.pth"))


# --- whose names the classes have -----------------------------------------------------------------


def test_a_thousand_classes_of_ones_own_have_no_names(tmp_path, monkeypatch) -> None:
    """A model of timm has the tag of ImageNet's weights whether it has these weights or not."""
    tag = "test_vit.r160_in1k"
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    published, mine = theirs(num_classes=1000), spread(theirs(num_classes=1000), seed=1)
    assert from_timm(published).card.labels is None
    snapshot = tmp_path / "hub" / f"models--timm--{tag}" / "snapshots" / "0123abcd"
    save_for_hf(published, snapshot, safe_serialization=True)
    (snapshot.parents[1] / "refs").mkdir()
    (snapshot.parents[1] / "refs" / "main").write_text("0123abcd")
    assert from_timm(published).card.labels[207] == "golden retriever"
    assert from_timm(mine).card.labels is None
    assert from_timm(mine, labels="imagenet").card.labels[207] == "golden retriever"
    torch.save(mine.state_dict(), tmp_path / "x.pth")
    assert load(tmp_path / "x.pth", arch=ARCH, device="cpu").card.labels is None
    save_for_hf(mine, tmp_path / "mine", safe_serialization=True)
    assert load(f"local-dir:{tmp_path}/mine", device="cpu").card.labels is None
    assert load(tag, device="cpu", pretrained=False).card.labels[207] == "golden retriever"


def of_torchvision(**options: object) -> torch.nn.Module:
    from torchvision.models import VisionTransformer

    sizes = {"image_size": 64, "patch_size": 32, "num_layers": 1, "num_heads": 12}
    return VisionTransformer(**sizes | {"hidden_dim": 768, "mlp_dim": 8} | options)


@pytest.mark.parametrize(
    "head",
    [torch.nn.Linear(768, 3), torch.nn.Sequential(torch.nn.Dropout(0.5), torch.nn.Linear(768, 3))],
    ids=["a layer", "a layer after a dropout"],
)
def test_torchvision_with_a_head_of_ones_own_loads(head, tmp_path) -> None:
    model = of_torchvision().eval()
    model.heads = head.eval()
    torch.save({"model": model.state_dict()}, tmp_path / "x.pth")
    loaded = load(tmp_path / "x.pth", labels=["a", "b", "c"], device="cpu")
    answers_alike(loaded, model)
    assert loaded.card.labels == ("a", "b", "c")


def test_torchvision_in_grey_sees_the_mean_of_the_colours(tmp_path) -> None:
    path = tmp_path / "x.pth"
    for channels in (1, 4):
        model = of_torchvision().eval()
        model.conv_proj = torch.nn.Conv2d(channels, 768, 32, 32)
        torch.save(model.state_dict(), path)
        if channels == 4:
            sentence = re.escape('state["conv_proj.weight"] = state["conv_proj.weight"][:, [3, 2')
            with pytest.raises(WeightsError, match=rf"x.pth takes pictures of 4.*{sentence}"):
                load(path)
            continue
        loaded = load(path, device="cpu")
        pixels = torch.randn(1, 1, 64, 64, generator=torch.Generator().manual_seed(0))
        with torch.inference_mode():
            assert_close(loaded.vit(pixels), model(pixels), atol=1e-4, rtol=1e-4)
        made = loaded.preprocess
        assert (made.channels, made.mean) == (1, (pytest.approx((0.485 + 0.456 + 0.406) / 3),))
        assert made.std == (pytest.approx((0.229 + 0.224 + 0.225) / 3),)


def test_torchvision_with_several_layers_as_head_is_refused(tmp_path) -> None:
    model = of_torchvision()
    model.heads = torch.nn.Sequential(torch.nn.Linear(768, 4), torch.nn.Linear(4, 3))
    torch.save(model.state_dict(), tmp_path / "x.pth")
    with pytest.raises(WeightsError, match="its head has several layers"):
        load(tmp_path / "x.pth")


def test_torchvisions_names_are_for_torchvisions_files(tmp_path) -> None:
    model = of_torchvision(image_size=224)
    for name, label in (("vit_b_32-d86f8d99.pth", "golden retriever"), ("mine.pth", None)):
        torch.save(model.state_dict(), tmp_path / name)
        labels = load(tmp_path / name, device="cpu").card.labels
        assert (labels and labels[207]) == label


def test_a_model_without_names_is_asked_by_number(tmp_path) -> None:
    plain = tiny("cls")
    loaded = replace(plain, card=replace(plain.card, labels=None, head="embedding"))
    analysis, named = analyze(loaded, photo()), analyze(plain, photo())
    for key in ("generic", "grad_cam", "occlusion"):
        assert torch.equal(analysis.explain(key, target=1), named.explain(key, target=1))
        for target in (None, 7, -1, "class 1"):
            with pytest.raises(SelectionError, match=r"names no classes; which|has no class"):
                analysis.explain(key, target=target)
    assert analysis.fair_test("generic", target=1, steps=2, orders=2).target == 1
    draw.explain(analysis, ["generic"], 0, 1)


# --- the command line -----------------------------------------------------------------------------


def test_the_command_line_takes_a_bare_state_dict(tmp_path, capsys, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    Image.fromarray(photo()).save("cat.png")
    torch.save({"model": theirs().state_dict(), "ema": theirs().state_dict()}, "x.pth")
    Path("names.json").write_text('{"ant": 1, "bee": 0, "cow": 2, "dog": 4, "elk": 3}')
    Path("names.txt").write_text("ant\nbee\n\n café \ndog\nelk\n", "utf-8-sig")
    options = ["--model=x.pth", f"--arch={ARCH}", "--labels=names.txt", "--key=ema"]
    monkeypatch.setattr("vitviz.look.write", lambda *_: [])
    assert cli.main(["look", "cat.png", *options]) == 0
    said = capsys.readouterr().out
    assert all(name in said for name in ("ant", "bee", "café", "dog", "elk"))
    json_too = [*options[:2], "--labels=names.json", "--key=ema", "--json"]
    assert cli.main(["look", "cat.png", *json_too]) == 0
    said = json.loads(capsys.readouterr().out)["predictions"]
    assert {one["index"]: one["label"] for one in said} == dict(
        enumerate(["bee", "ant", "cow", "elk", "dog"])
    )
    assert cli.main(["summary", "x.pth", *options[1:]]) == 0
    assert "x: x.pth, weights under timm's names" in capsys.readouterr().out
    assert cli.main(["look", "cat.png", "--model=x.pth"]) == 1
    assert 'choose with key="ema" or key="model"' in capsys.readouterr().err
    for wrong, sentence in (
        ("gone.txt", "gone.txt cannot be read: No such"),
        ("cat.png", "no text"),
    ):
        with pytest.raises(SystemExit):
            cli.main(["look", "cat.png", *options[:2], f"--labels={wrong}"])
        assert sentence in capsys.readouterr().err


# --- damaged and hostile ones ---------------------------------------------------------------------


def test_a_damaged_file_is_refused_in_a_sentence_or_can_be_used(tmp_path) -> None:
    path = tmp_path / "x.pth"
    state, used = theirs().state_dict(), 0
    for case in range(60):
        chance = random.Random(case)
        key = chance.choice(["head.weight", "pos_embed", "patch_embed.proj.weight", *sorted(state)])
        wrong = dict(state)
        if case % 2:
            wrong[key] = chance.choice(damage.WRONG_TENSORS)(state[key])
        else:
            wrong[chance.choice(["", ".", "head", "fc_norm.weight", "blocks."])] = wrong.pop(key)
        torch.save(wrong, path)
        try:
            loaded = load(path, arch=ARCH, device="cpu")
        except WeightsError:
            continue
        used += 1
        with torch.inference_mode():
            assert loaded.vit(torch.zeros(1, 3, *loaded.card.config.image_size)).isfinite().all()
    assert 0 < used < 60


def test_a_pickle_that_refers_to_itself_comes_to_an_end(tmp_path, monkeypatch) -> None:
    held: dict = {"a": torch.ones(1)}
    held |= {"b": held, "c": held}
    torch.save(held, tmp_path / "x.pth")
    with pytest.raises(WeightsError, match="none is named patch_embed"):
        load(tmp_path / "x.pth")
    monkeypatch.setattr(state_dicts, "MOST_ENTRIES", 20)
    with pytest.raises(WeightsError, match="more than 20 entries"):
        load(tmp_path / "x.pth")


@pytest.mark.parametrize("listed", [False, True])
def test_a_folder_that_cannot_be_read_says_why(listed: bool, tmp_path, monkeypatch) -> None:
    folder = tmp_path / "run"
    save_for_hf(theirs(), folder, safe_serialization=True)

    def refuse(path: Path, **_: object) -> None:
        if folder in (path, path.parent):
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return real(path)

    # Without the right to read a folder it is not listed; without that to search it, its files are
    # listed and not found.
    name = "is_file" if listed else "iterdir"
    real = getattr(Path, name)
    monkeypatch.setattr(Path, name, refuse)
    for source in (folder, str(folder)):
        with pytest.raises(WeightsError, match=r"folder .*run cannot be read: Permission denied"):
            load(source)


def test_a_name_that_no_disk_has_is_no_file() -> None:
    for name in ("9" * 5000, "9" * 5000 + ".pth", "a\0b.pth", Path("9" * 5000)):
        with pytest.raises(VitvizError):
            load(name)


# --- what a file is called ------------------------------------------------------------------------


def test_a_file_is_never_called_as_a_shipped_model(tmp_path) -> None:
    assert name_of(tmp_path / "mine.safetensors") == "mine"
    assert name_of(tmp_path / "mnist.safetensors") == "mnist.safetensors"
    assert name_of(WEIGHTS_DIR / "mnist.safetensors") == "mnist"
    (tmp_path / "photos").mkdir()
    assert name_of(tmp_path / "photos") == "photos (own)"
    assert name_of(tmp_path / "photos" / "pytorch_model.bin") == "photos (own)"
    assert name_of(tmp_path) == tmp_path.name
