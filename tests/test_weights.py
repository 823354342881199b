"""Weights: our files, torchvision's, timm's; and all that is refused, with its sentence."""

import hashlib
import json
import pickle
import threading
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest
import timm
import torch
import torchvision
from huggingface_hub import constants
from safetensors.torch import save_file
from torch.testing import assert_close

from tests.models import TINY, photo, save_in_cache, spread, tiny
from vitviz import (
    WeightsError,
    ablate,
    analyze,
    analyze_many,
    features,
    from_timm,
    list_models,
    load,
    open_photo,
    save,
    survey,
)
from vitviz.languages import Message, say
from vitviz.model import hub, torchvision_models
from vitviz.model.checkpoints import rewrite
from vitviz.model.labels import imagenet_labels
from vitviz.model.menu import out_of_reach
from vitviz.model.resize import resized
from vitviz.model.weights import CURATED, save_checkpoint


def saved(tmp_path, name: str = "cls", **changes):
    """A checkpoint of a tiny model, and the model itself."""
    loaded = tiny(name)
    arguments = {
        "config": loaded.card.config,
        "preprocess": loaded.preprocess,
        "labels": loaded.card.labels,
        "details": {"dataset": "noise", "temperature": "0.8"},
        "dtype": torch.float32,
        **changes,
    }
    path = tmp_path / f"{name}.safetensors"
    save_checkpoint(path, loaded.vit.state_dict(), **arguments)
    return path, loaded


@pytest.mark.parametrize("name", TINY)
def test_own_checkpoint_round_trips(name: str, tmp_path) -> None:
    path, loaded = saved(tmp_path, name)
    read = load(path)
    ours, theirs = read.vit.state_dict(), loaded.vit.state_dict()
    assert list(ours) == list(theirs)
    assert all(torch.equal(ours[key], theirs[key]) for key in ours)
    assert read.card.config == loaded.card.config
    assert read.card.labels == loaded.card.labels
    assert read.preprocess == loaded.preprocess
    assert read.card.details["dataset"] == "noise"
    assert read.card.temperature == 0.8
    assert read.card.num_parameters == sum(p.numel() for p in read.vit.parameters())
    assert not read.vit.training
    assert not any(p.requires_grad for p in read.vit.parameters())
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


def test_a_saved_model_keeps_what_was_assumed_its_first_size_and_its_film(tmp_path) -> None:
    assumed = (Message("models.assumed_score"), "a sentence of nobody")
    small = resized(load("mnist"), 40)
    card = replace(small.card, assumed=assumed, left_out=("decoder.weight",))
    save(replace(small, card=card), path := tmp_path / "small.safetensors")
    read = load(path)
    for name in ("assumed", "left_out", "resized_from", "config", "labels", "details"):
        assert getattr(read.card, name) == getattr(card, name), name
    assert say(read.card.assumed[0], "ko") == say(assumed[0], "ko") != assumed[0]
    assert read.card.resized_from == (28, 28)
    assert read.card.key.image_size == (40, 40)
    assert load(path, image_size=40).card == read.card
    assert read.film == tmp_path / "small.film.safetensors"
    assert read.film.read_bytes() == load("mnist").film.read_bytes()
    save(read, path)  # over itself
    assert load(path).film.read_bytes() == load("mnist").film.read_bytes()
    save(tiny("cls"), path)  # the film beside it is that of the model before
    assert load(path).film is None
    save(read, tmp_path / "copy.safetensors")  # whose film is still there
    save(read, path)
    for again in (path, tmp_path / "copy.safetensors"):
        assert load(again).film.read_bytes() == load("mnist").film.read_bytes()
    save(tiny("cls"), plain := tmp_path / "plain.safetensors")
    assert (load(plain).film, load(plain).card.assumed) == (None, ())


@pytest.mark.parametrize(
    "more", [{"assumed": 1}, {"assumed": [1]}, {"resized_from": 7}, {"resized_from": [0, "a"]}]
)
def test_a_damaged_origin_is_refused(more, tmp_path) -> None:
    path, _ = saved(tmp_path)
    rewrite(path, lambda meta: meta.update(more))
    with pytest.raises(WeightsError):
        load(path)


def test_half_precision_files_are_read_as_float32(tmp_path) -> None:
    path, loaded = saved(tmp_path, dtype=torch.float16)
    vit = load(path).vit
    assert {p.dtype for p in vit.parameters()} == {torch.float32}
    pixels = torch.randn(1, 3, 32, 32, generator=torch.Generator().manual_seed(0))
    assert_close(vit(pixels), loaded.vit(pixels), atol=0.02, rtol=0.02)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda s: s.pop("blocks.1.attn.qkv.bias"), "blocks.1.attn.qkv.bias is missing"),
        (lambda s: s.update(stem=torch.zeros(1)), "stem is not expected"),
        (
            lambda s: s.update({"head.weight": torch.zeros(7, 25)}),
            r"head.weight has shape \(7, 25\) instead of \(7, 24\)",
        ),
        (
            lambda s: s["norm.bias"].fill_(float("nan")),
            "norm.bias holds values that are not finite",
        ),
    ],
)
def test_weights_that_do_not_fit_are_named(change, sentence: str, tmp_path) -> None:
    state = {key: value.clone() for key, value in tiny("cls").vit.state_dict().items()}
    change(state)
    path = tmp_path / "x.safetensors"
    card = tiny("cls").card
    save_checkpoint(
        path,
        state,
        config=card.config,
        preprocess=tiny("cls").preprocess,
        labels=card.labels,
        details={},
    )
    with pytest.raises(WeightsError, match=sentence):
        load(path)


def test_damaged_files_are_refused_with_a_sentence(tmp_path) -> None:
    path, _ = saved(tmp_path)
    whole = path.read_bytes()
    for content in (b"", whole[:-50], b"\x00" * 100, b"<html>not found</html>"):
        path.write_bytes(content)
        with pytest.raises(WeightsError, match=r"is not a whole \.safetensors file"):
            load(path)
    save_file({"a": torch.zeros(1)}, path)
    with pytest.raises(WeightsError, match=r"1 tensors, from 'a' on, and none is named patch_emb"):
        load(path)
    for text in ("{", "[]", json.dumps({"config": {"depth": 0}})):
        save_file({"a": torch.zeros(1)}, path, metadata={"vitviz": text})
        with pytest.raises(WeightsError, match=r"damaged|depth must be"):
            load(path)
    with pytest.raises(WeightsError, match="there is no checkpoint file"):
        load(tmp_path / "missing.safetensors")


@pytest.mark.filterwarnings(
    "ignore:Detected pickle protocol"
)  # the file is a raw pickle on purpose
def test_a_pickle_that_runs_code_is_refused_and_does_not_run(tmp_path) -> None:
    witness = tmp_path / "it ran"

    class Evil:
        def __reduce__(self):
            return (witness.touch, ())

    path = tmp_path / "evil.pth"
    torch.save({"state_dict": Evil()}, path)
    with pytest.raises(WeightsError, match="could run code and is not opened"):
        load(path)
    path.write_bytes(pickle.dumps(Evil()))
    with pytest.raises(WeightsError, match="could run code and is not opened"):
        load(path)
    assert not witness.exists()
    torch.save([1, 2], path)
    with pytest.raises(WeightsError, match="does not hold a state_dict"):
        load(path)


def test_an_archive_of_a_program_is_refused_under_the_name_of_weights(tmp_path) -> None:
    path = tmp_path / "exported.pt"
    with zipfile.ZipFile(path, "w") as archive:  # as torch.export.save begins
        archive.writestr("exported/archive_format", "pt2")
        archive.writestr("exported/archive_version", "0")
        archive.writestr("exported/models/model.json", "{}")
    with pytest.raises(WeightsError, match="could run code and is not opened"):
        load(path)
    path.rename(tmp_path / "exported.pt2")
    with pytest.raises(WeightsError, match="could run code and is not opened"):
        load(tmp_path / "exported.pt2")


def test_torchvision_checkpoint_gives_torchvisions_logits(tmp_path) -> None:
    from torchvision.models import VisionTransformer

    theirs = VisionTransformer(
        image_size=64, patch_size=32, num_layers=2, num_heads=12, hidden_dim=768, mlp_dim=96,
        num_classes=5,
    )  # fmt: skip
    spread(theirs.eval())
    path = tmp_path / "vit_b_32.pth"
    torch.save(theirs.state_dict(), path)
    loaded = load(path)
    pixels = torch.randn(1, 3, 64, 64, generator=torch.Generator().manual_seed(0))
    assert_close(loaded.vit(pixels), theirs(pixels), atol=1e-5, rtol=1e-5)
    assert loaded.preprocess.size == (64, 64)
    assert loaded.card.head == "embedding"


TORCHVISION = [
    (name, entry)
    for name in ("vit_b_16", "vit_b_32", "vit_l_16", "vit_l_32", "vit_h_14")
    for entry in torchvision.models.get_model_weights(name)
]


def of_torchvision(entry, path: Path) -> Path:
    """A checkpoint with the sizes of one of torchvision's entries, of a single thin block."""
    dim = {"b": 768, "l": 1024, "h": 1280}[entry.url.rpartition("/")[2][4]]
    model = torchvision.models.VisionTransformer(
        image_size=entry.meta["min_size"][0],
        patch_size=int(entry.url.rpartition("/")[2][6:8]),
        num_layers=1,
        num_heads=16,
        hidden_dim=dim,
        mlp_dim=8,
        num_classes=1000,
    )
    torch.save(model.state_dict(), path)
    return path


@pytest.mark.parametrize(("name", "entry"), TORCHVISION, ids=lambda one: getattr(one, "name", one))
def test_torchvision_weights_see_what_torchvision_shows_them(name, entry, tmp_path) -> None:
    """vit_l_16 was resized to 256 and not to 242, SWAG's linear classifiers bilinear to 256."""
    loaded = load(of_torchvision(entry, tmp_path / entry.url.rpartition("/")[2]))
    source = open_photo(photo(300, 431))
    pixels = loaded.preprocess.pixels(loaded.preprocess.picture(source))[0]
    assert_close(pixels, entry.transforms()(source.image), atol=1e-6, rtol=0)


def test_renamed_torchvision_weights_are_known_by_their_bytes(tmp_path, monkeypatch) -> None:
    first, linear = (
        torchvision.models.ViT_L_16_Weights.IMAGENET1K_V1,
        torchvision.models.ViT_L_16_Weights.IMAGENET1K_SWAG_LINEAR_V1,
    )
    path = of_torchvision(linear, tmp_path / "swag.pth")
    assert load(path).preprocess.interpolation == "bilinear"  # as of weights saved anew
    digest = hashlib.sha256(path.read_bytes()).hexdigest()[:8]
    monkeypatch.setattr(torchvision_models, "digest_of", {first: "", linear: digest}.get)
    preprocess = load(path).preprocess
    assert (preprocess.interpolation, preprocess.crop_pct) == ("bicubic", 1.0)


def test_unknown_names_get_a_hint() -> None:
    with pytest.raises(WeightsError, match=r"did you mean .*vit_tiny_patch16_224"):
        load("vit_tiny_patch16_22", pretrained=False)
    with pytest.raises(WeightsError, match="is not a shipped model"):
        load("../../etc/passwd")


def test_without_a_network_the_sentence_says_what_is_missing(monkeypatch, tmp_path) -> None:
    monkeypatch.setattr(hub, "answers", lambda url: False)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    for name in ("deit_tiny_patch16_224.fb_in1k", "hf-hub:timm/nothing"):
        with pytest.raises(WeightsError, match="no connection to the Hugging Face hub"):
            load(name)
    assert constants.HF_HUB_OFFLINE is False


def test_random_weights_say_that_they_are_random() -> None:
    loaded = load("vit_tiny_patch16_224", pretrained=False, image_size=(48, 32))
    assert loaded.card.source.startswith("untrained: timm's architecture, random weights")
    assert not loaded.card.trained
    assert loaded.card.config.grid_size == (3, 2)
    assert loaded.card.labels[207] == "golden retriever"
    assert len(loaded.card.labels) == 1000
    assert loaded.preprocess.mean == (0.5, 0.5, 0.5)  # this tag's own, not ImageNet's


def test_what_the_head_means() -> None:
    kinds = {
        "vit_small_patch16_224.dino": "none",
        "vit_base_patch16_clip_224.openai": "embedding",
        "deit_tiny_patch16_224.fb_in1k": "classes",
    }
    for name, head in kinds.items():
        assert load(name, pretrained=False).card.head == head


@pytest.mark.parametrize("pool", ["", "map"])
def test_other_ways_to_pool_answer_as_timm_does(pool: str) -> None:
    theirs = spread(timm.create_model("test_vit", global_pool=pool, num_classes=5).eval())
    loaded = from_timm(theirs)
    pixels = torch.randn(1, 3, 160, 160, generator=torch.Generator().manual_seed(0))
    with torch.inference_mode():
        assert_close(loaded.vit(pixels), theirs(pixels), atol=1e-5, rtol=1e-5)
    assert loaded.card.head == ("embedding" if pool else "tokens")


def test_labels_come_from_the_table_of_that_size() -> None:
    assert imagenet_labels(512) is None
    assert {n: len(imagenet_labels(n)) for n in (1000, 11821, 21841, 21843)} == {
        1000: 1000,
        11821: 11821,
        21841: 21841,
        21843: 21843,
    }


def test_the_curated_menu_is_made_of_timm_names_with_weights() -> None:
    assert set(CURATED) <= set(timm.list_models(pretrained=True))
    assert list_models()[-len(CURATED) :] == list(CURATED)
    for name, one in CURATED.items():
        assert timm.models.get_pretrained_cfg(name).hf_hub_id == f"{one.owner}/{name}"


def test_a_patch_that_does_not_divide_the_image_leaves_a_margin() -> None:
    """SigLIP at 384 with patches of 14: timm never sees the last 6 pixels; neither do we."""
    model = timm.create_model("vit_so400m_patch14_siglip_384", depth=1, img_size=32)
    loaded = from_timm(spread(model.eval()))
    assert loaded.card.config.image_size == (28, 28)
    assert loaded.preprocess.size == (32, 32)
    pixels = torch.randn(1, 3, 32, 32, generator=torch.Generator().manual_seed(0))
    with torch.inference_mode():
        assert_close(loaded.vit(pixels[..., :28, :28]), model(pixels), atol=1e-4, rtol=1e-4)


def test_labels_must_match_the_classes() -> None:
    with pytest.raises(WeightsError, match="2 labels for 7 classes"):
        replace(tiny("cls").card, labels=("a", "b"))


@pytest.fixture
def cache(monkeypatch, tmp_path):
    """An empty cache of the hub's client, a hub that may be asked, and a function that fills it."""
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)

    def put(tag: str) -> torch.nn.Module:
        return save_in_cache(tmp_path, tag)

    return put


@pytest.mark.parametrize(
    "name",
    [
        "test_vit.r160_in1k",
        "vit_tiny_patch16_224.augreg_in21k_ft_in1k",  # whose original weights are JAX's
        "hf-hub:timm/test_vit.r160_in1k",
    ],
)
def test_weights_in_the_local_cache_load_without_a_network(monkeypatch, cache, name) -> None:
    """What huggingface_hub leaves after a download is enough when the hub does not answer."""
    theirs = cache(name.rpartition("/")[2])
    monkeypatch.setattr(hub, "answers", lambda url: False)
    loaded = load(name, device="cpu")
    pixels = torch.randn(
        1, 3, *loaded.card.config.image_size, generator=torch.Generator().manual_seed(0)
    )
    with torch.inference_mode():
        assert_close(loaded.vit(pixels), theirs(pixels), atol=1e-5, rtol=1e-5)
    assert loaded.card.source == "timm, pretrained"
    assert loaded.card.details["hf_hub_id"] == f"timm/{name.rpartition('/')[2]}"


def test_models_that_are_not_here_are_out_of_reach_without_a_network(monkeypatch, cache) -> None:
    tiny_16 = "vit_tiny_patch16_224.augreg_in21k_ft_in1k"
    (folder := Path(constants.HF_HUB_CACHE) / f"models--timm--{tiny_16}" / "snapshots" / "0").mkdir(
        parents=True
    )
    (folder / "model.safetensors").touch()
    (folder.parents[1] / "refs").mkdir()
    (folder.parents[1] / "refs" / "main").write_text("0")
    monkeypatch.setattr(hub, "answers", lambda url: False)
    assert out_of_reach() == set(CURATED) - {tiny_16}
    monkeypatch.setattr(hub, "answers", lambda url: True)
    assert out_of_reach() == frozenset()


def test_a_model_in_the_cache_does_not_wait_for_a_download(monkeypatch, cache) -> None:
    cache("test_vit.r160_in1k")
    downloading, go_on = threading.Event(), threading.Event()
    downloads = threading.local()

    def download(*_args, **_kwargs):
        downloading.set()
        assert go_on.wait(60)
        raise ConnectionResetError("cut off")

    monkeypatch.setattr("timm.models._hub.hf_hub_download", download)
    monkeypatch.setattr(hub, "answers", lambda url: getattr(downloads, "here", False))
    told = []

    def slow() -> None:
        downloads.here = True  # the hub answers this thread, and not the other
        try:
            load("deit_tiny_patch16_224.fb_in1k", device="cpu")
        except WeightsError as error:
            told.append(str(error))

    threads = [
        threading.Thread(target=slow),
        threading.Thread(target=lambda: told.append(load("test_vit.r160_in1k", device="cpu"))),
    ]
    threads[0].start()
    assert downloading.wait(60)
    threads[1].start()
    threads[1].join(20)
    try:
        assert [loaded.card.source for loaded in told] == ["timm, pretrained"]
        assert constants.HF_HUB_OFFLINE is False  # the download in the middle may go on
    finally:
        go_on.set()
        for thread in threads:
            thread.join()
    assert "could not build deit_tiny_patch16_224.fb_in1k with its weights: cut off" in told[1]


def test_a_download_that_fails_is_told_and_the_next_one_is_tried(monkeypatch, cache) -> None:
    from huggingface_hub.errors import HfHubHTTPError

    tries = []

    def download(*_args, **_kwargs):
        tries.append(constants.HF_HUB_OFFLINE)
        raise HfHubHTTPError.__bases__[0]("")  # as when the hub stops in the middle of a file

    monkeypatch.setattr("timm.models._hub.hf_hub_download", download)
    monkeypatch.setattr(hub, "answers", lambda url: True)
    for name in ("test_vit.r160_in1k", "hf-hub:timm/test_vit.r160_in1k"):
        with pytest.raises(WeightsError, match=r"hub did not give the weights of .*: HTTPError"):
            load(name)
    assert tries == [False, False]
    assert constants.HF_HUB_OFFLINE is False


def test_a_model_answers_alike_wherever_its_weights_lie_in_memory(tmp_path) -> None:
    """A mapped file has weights at any byte, and a processor of AMD rounded their products in
    another way than those of the same model from transformers."""
    path = tmp_path / "tiny.safetensors"
    save(tiny("cls"), path)
    loaded = load(path, device="cpu")
    assert {value.data_ptr() % 64 for value in loaded.vit.parameters()} == {0}
    logits = analyze(loaded, photo()).trace.logits
    assert torch.equal(analyze(tiny("cls"), photo()).trace.logits, logits)


def test_a_folder_as_timm_writes_it_loads(tmp_path) -> None:
    from timm.models import save_for_hf

    theirs = spread(timm.create_model("test_vit", num_classes=4).eval())
    names = {"label_names": ["a", "b", "c", "d"], "label_descriptions": {"c": "a cat"}}
    save_for_hf(theirs, tmp_path, model_config=names, safe_serialization=True)
    loaded = load(f"local-dir:{tmp_path}")
    pixels = torch.randn(1, 3, 160, 160, generator=torch.Generator().manual_seed(0))
    with torch.inference_mode():
        assert_close(loaded.vit(pixels), theirs(pixels), atol=1e-5, rtol=1e-5)
    assert loaded.card.labels == ("a", "b", "a cat", "d")
    assert loaded.card.head == "classes"
    with pytest.raises(WeightsError, match="could not build local-dir:/no/such"):
        load("local-dir:/no/such/folder")


def test_a_device_that_is_not_there_is_named() -> None:
    for device in ("cuda:77", "nonsense"):
        with pytest.raises(WeightsError, match=f"the device '{device}' cannot be used"):
            load("test_vit", pretrained=False, device=device)


@pytest.mark.parametrize("kind", [torch.float16, torch.bfloat16, torch.float64])
def test_weights_of_another_precision_say_the_line_that_mends_them(kind, tmp_path) -> None:
    loaded = load(saved(tmp_path)[0], device="cpu")
    before = analyze(loaded, photo())
    loaded.vit.to(kind)
    for ask in (
        lambda: analyze(loaded, photo()),
        lambda: next(analyze_many(loaded, [photo()])),
        lambda: survey(loaded, [photo()], progress=False),
        lambda: ablate(loaded, [photo()], progress=False),
        lambda: features(loaded, [photo()], progress=False),
        lambda: before.explain("generic"),
    ):
        with pytest.raises(
            WeightsError, match=rf"are {kind}.*: loaded\.vit\.float\(\) makes float32 of them"
        ):
            ask()
    save(loaded, tmp_path / "again.safetensors")  # which writes float32
    loaded.vit.float()
    analyze(loaded, photo())


def test_autocast_goes_on_working(tmp_path) -> None:
    loaded = load(saved(tmp_path)[0], device="cpu")
    exact = analyze(loaded, photo()).trace.logits
    with torch.autocast("cpu", torch.bfloat16):
        rounded = analyze(loaded, photo()).trace.logits
    assert_close(rounded, exact, atol=0.1, rtol=0.1)
    assert not torch.equal(rounded, exact)
