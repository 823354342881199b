"""Checkpoints of Hugging Face transformers: read from their files, and answering as there."""

import importlib.util
import json
import random
import re
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from safetensors.torch import load_file, save_file
from torch.testing import assert_close

from tests import damage
from vitviz import WeightsError, analyze, load, open_photo
from vitviz.layers import layer_table
from vitviz.model import hub, positions
from vitviz.model.loaded import LoadedModel
from vitviz.model.transformers_pixels import preprocess_of

FOLDER = Path(__file__).parent / "transformers_files"
NAMES = sorted(path.parent.name for path in FOLDER.glob("*/config.json"))
WEIGHTS = "model.safetensors"
GREY = 1 / 255 / 0.224
REGISTERS = ("cls_token", "reg_token 1", "reg_token 2", "reg_token 3")


@torch.inference_mode()
def agrees(loaded: LoadedModel, expected: dict[str, torch.Tensor]) -> None:
    picture = loaded.preprocess.picture(open_photo(FOLDER / "picture.png"))
    pixels = loaded.preprocess.pixels(picture)
    # DINOv3's processor does not round what it resizes to whole grey values, as Pillow does.
    resized = loaded.card.config.rotary and picture.shape[:2] != (37, 55)
    assert_close(pixels[0], expected["pixels"], atol=GREY if resized else 1e-4, rtol=0)
    height, width = loaded.card.config.image_size
    answer = loaded.vit(expected["pixels"][None, :, :height, :width])
    assert_close(answer[0], expected["logits"], atol=1e-4, rtol=1e-4)


def expected_of(name: str) -> dict[str, torch.Tensor]:
    return load_file(FOLDER / name / "expected.safetensors")


@pytest.mark.parametrize("name", NAMES)
def test_pixels_and_answer_are_those_of_transformers(name: str) -> None:
    loaded = load(FOLDER / name, device="cpu")
    agrees(loaded, expected_of(name))
    assert loaded.card.name == name
    assert loaded.card.source == f"{name}, in the format of Hugging Face transformers"


@pytest.mark.parametrize("name", NAMES)
def test_installed_transformers_says_the_same_today(name: str, tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    path = FOLDER / "make_checkpoints.py"
    spec = importlib.util.spec_from_file_location("make_checkpoints", path)
    assert spec is not None
    assert spec.loader is not None
    make = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(make)
    model, processor = make.models()[name]
    make.spread(model, 99)
    model.save_pretrained(tmp_path / name)
    processor.save_pretrained(tmp_path / name)
    agrees(load(tmp_path / name, device="cpu"), make.asked(model, processor, make.picture()))


@pytest.mark.parametrize(
    ("name", "prefix", "pool", "head"),
    [
        ("vit", ("cls_token",), "token", "classes"),
        ("vit-features", ("cls_token",), "token", "none"),
        ("deit", ("cls_token", "dist_token"), "token", "classes"),
        ("deit-one-head", ("cls_token", "reg_token 1"), "token", "classes"),
        ("dinov2", ("cls_token",), "token_avg", "classes"),
        ("dinov2-registers", REGISTERS, "token_avg", "classes"),
        ("dinov3", REGISTERS[:3], "token", "none"),
        ("dinov3-gated", REGISTERS[:3], "token", "none"),
        ("beit", ("cls_token",), "avg", "classes"),
        ("beit-features", ("cls_token",), "token", "none"),
        ("clip", ("cls_token",), "token", "embedding"),
        ("clip-vision", ("cls_token",), "token", "none"),
        ("clip-classes", ("cls_token",), "avg", "classes"),
        ("siglip", (), "map", "none"),
        ("siglip-classes", (), "avg", "classes"),
    ],
)  # fmt: skip
def test_tokens_pooling_and_classes(name: str, prefix: tuple, pool: str, head: str) -> None:
    card = load(FOLDER / name, device="cpu").card
    assert card.config.prefix_names == prefix
    assert (card.config.global_pool, card.head) == (pool, head)
    told = json.loads((FOLDER / name / "config.json").read_text("utf-8"))
    assert card.config.norm_eps == told.get("vision_config", told)["layer_norm_eps"]
    assert card.labels == (("cat", "dog", "아홀로틀") if head == "classes" else None)


def test_every_part_of_vitviz_takes_one() -> None:
    loaded = load(FOLDER / "dinov2-registers", device="cpu")
    analysis = analyze(loaded, FOLDER / "picture.png")
    assert analysis.verify() < 1e-4
    assert {one.label for one in analysis.predictions()} == {"cat", "dog", "아홀로틀"}
    title = layer_table(str(FOLDER / "dinov2-registers")).splitlines()[0]
    assert title == f"dinov2-registers: {loaded.card.source}"
    twin = load(FOLDER / "dinov2-registers", device="cpu", pretrained=False)
    assert not twin.card.trained
    assert not torch.equal(twin.vit.head.weight, loaded.vit.head.weight)


def test_a_dinov2_sees_the_size_of_its_pictures_or_the_one_asked_for() -> None:
    """Its positions were learned at 40 pixels, its preprocessing makes 24."""
    loaded = load(FOLDER / "dinov2", device="cpu")
    assert loaded.card.config.image_size == loaded.preprocess.size == (24, 24)
    assert loaded.card.resized_from == (40, 40)
    learned = load_file(FOLDER / "dinov2" / WEIGHTS)["dinov2.embeddings.position_embeddings"]
    own = load(FOLDER / "dinov2", device="cpu", image_size=40)
    assert torch.equal(own.vit.pos_embed, learned)
    assert own.card.resized_from is None
    assert load(FOLDER / "dinov2", device="cpu", image_size=(16, 48)).card.config.grid_size == (
        2,
        6,
    )


@pytest.fixture
def copy(tmp_path: Path):
    """Copies a checkpoint, to be changed: its folder, and what its weights are."""

    def make(name: str) -> tuple[Path, dict[str, torch.Tensor]]:
        folder = tmp_path / name
        shutil.copytree(FOLDER / name, folder)
        return folder, load_file(folder / WEIGHTS)

    return make


def change(path: Path, **values: object) -> None:
    path.write_text(json.dumps(json.loads(path.read_text("utf-8")) | values), "utf-8")


def in_shards(folder: Path, state: dict[str, torch.Tensor], suffix: str = ".safetensors") -> Path:
    """Writes the weights as two files and an index, in place of the one; the first file."""
    (folder / WEIGHTS).unlink(missing_ok=True)
    stem = "model" if suffix == ".safetensors" else "pytorch_model"
    halves = sorted(state)[::2], sorted(state)[1::2]
    listed = {}
    for number, names in enumerate(halves, start=1):
        file = f"{stem}-0000{number}-of-00002{suffix}"
        part = {name: state[name] for name in names}
        save = save_file if suffix == ".safetensors" else torch.save
        save(part, folder / file)
        listed |= dict.fromkeys(names, file)
    index = folder / f"{stem}{suffix}.index.json"
    index.write_text(json.dumps({"metadata": {}, "weight_map": listed}))
    return folder / f"{stem}-00001-of-00002{suffix}"


def test_a_file_in_the_folder_a_pickle_and_several_files_are_the_same_model(copy) -> None:
    folder, state = copy("siglip")
    expected = expected_of("siglip")
    agrees(load(str(folder / WEIGHTS), device="cpu"), expected)
    shard = in_shards(folder, state)
    agrees(load(folder, device="cpu"), expected)
    agrees(load(shard, device="cpu"), expected)
    for path in folder.glob("model*"):
        path.unlink()
    agrees(load(in_shards(folder, state, ".bin"), device="cpu"), expected)
    for path in folder.glob("pytorch*"):
        path.unlink()
    torch.save(state, folder / "pytorch_model.bin")
    agrees(load(folder, device="cpu"), expected)
    assert load(folder / "pytorch_model.bin", device="cpu").card.name == "siglip"


@pytest.mark.parametrize("name", ["vit", "deit", "dinov2"])
def test_names_of_version_5_are_understood(name: str, copy) -> None:
    """What torch.save(model.state_dict()) writes there: version 5 has other names in memory."""
    folder, state = copy(name)
    new = {}
    for key, value in state.items():
        key = re.sub(
            r"attention\.attention\.(query|key|value)", lambda m: f"attention.{m[1][0]}_proj", key
        )
        key = key.replace("attention.output.dense", "attention.o_proj")
        if name != "dinov2":
            key = key.replace("encoder.layer.", "layers.")
            key = key.replace("intermediate.dense", "mlp.fc1").replace("output.dense", "mlp.fc2")
        if "weights_in" in key:
            for part, half in zip(("gate_proj", "up_proj"), value.chunk(2), strict=True):
                new[key.replace("weights_in", part)] = half.contiguous()
        else:
            new[key.replace("weights_out", "down_proj")] = value
    assert new.keys() != state.keys()
    save_file(new, folder / WEIGHTS)
    agrees(load(folder, device="cpu"), expected_of(name))


def test_a_config_may_leave_out_what_is_the_default(copy) -> None:
    """google/siglip-base-patch16-224 says nothing of its tower but its kind."""
    folder, _ = copy("clip")
    told = json.loads((folder / "config.json").read_text("utf-8"))
    for key in ("hidden_act", "layer_norm_eps", "num_channels"):
        del told["vision_config"][key]
    (folder / "config.json").write_text(json.dumps(told))
    agrees(load(folder, device="cpu"), expected_of("clip"))


def test_without_a_preprocessor_pictures_are_made_as_the_family_was_published(copy) -> None:
    folder, _ = copy("siglip")
    told = json.loads((folder / "preprocessor_config.json").read_text("utf-8"))
    (folder / "preprocessor_config.json").unlink()
    made = load(folder, device="cpu").preprocess
    assert made == replace(preprocess_of({}, "Siglip", 3), size=(32, 32))
    (folder / "processor_config.json").write_text(json.dumps({"image_processor": told}))
    agrees(load(folder, device="cpu"), expected_of("siglip"))
    own = {"size": [32, 32], "mean": [0.1, 0.2, 0.3], "crop_mode": "border"}
    assert load(folder, device="cpu", preprocess=own).preprocess.mean == (0.1, 0.2, 0.3)
    with pytest.raises(WeightsError, match=r"makes pictures of \(24, 24\)"):
        load(folder, device="cpu", preprocess={"size": [24, 24]})


def cls_turned(angles: torch.Tensor) -> torch.Tensor:
    return angles + torch.nn.functional.one_hot(torch.tensor(0), angles.shape[2])[:, None]


@pytest.mark.parametrize(
    ("name", "where", "wrong"),
    [
        ("dinov3", "Angles.forward", lambda right: lambda *given: cls_turned(right(*given))),
        ("dinov3", "Angles.coordinates", lambda right: lambda self: right(self).flip(0)),
        ("beit", "way_between", lambda right: lambda query, key, grid: right(key, query, grid)),
    ],
)
def test_a_position_that_is_told_wrongly_is_seen(name: str, where, wrong, monkeypatch) -> None:
    owner = getattr(positions, where.split(".")[0]) if "." in where else positions
    method = where.rpartition(".")[2]
    monkeypatch.setattr(owner, method, wrong(getattr(owner, method)))
    with pytest.raises(AssertionError, match="not close"):
        agrees(load(FOLDER / name, device="cpu"), expected_of(name))


def test_theta_is_that_of_the_config(copy) -> None:
    folder, _ = copy("dinov3")
    change(folder / "config.json", rope_theta=50.0)
    with pytest.raises(AssertionError, match="not close"):
        agrees(load(folder, device="cpu"), expected_of("dinov3"))


@pytest.mark.parametrize(
    ("name", "values", "sentence"),
    [
        ("dinov3", {"rope_theta": "warm"}, "rotary has no temperature 'warm'"),
        ("dinov3", {"proj_bias": False}, "proj_bias is False and its mlp_bias True"),
        ("dinov3", {"key_bias": True}, r"blocks\.0\.attn\.k_proj\.bias is missing"),
        ("dinov3", {"query_bias": "yes"}, "query_bias must be true or false"),
        ("dinov3", {"use_gated_mlp": True}, r"mlp\.fc1_g\.weight is missing"),
        ("dinov3-gated", {"use_gated_mlp": False}, "fc1_g.weight is not expected"),
        ("beit", {"image_size": [32, 24]}, "image_size must be a square"),
        ("beit", {"image_size": 40}, r"relative_position_bias_table has shape \(52, 2\)"),
        ("beit", {"use_relative_position_bias": False}, "bias_table is not expected"),
        ("beit", {"use_shared_relative_position_bias": True}, "rel_pos_bias.* is missing"),
        ("beit", {"layer_scale_init_value": 0}, r"ls1\.gamma is not expected"),
        ("beit", {"layer_scale_init_value": "x"}, "layer_scale_init_value must be a number"),
        ("beit", {"use_mean_pooling": False}, r"norm\.weight is missing"),
        ("beit-features", {"use_absolute_position_embeddings": False}, "pos_embed is not expected"),
    ],
)  # fmt: skip
def test_positions_and_parts_are_those_of_the_config(name, values, sentence, copy) -> None:
    folder, _ = copy(name)
    change(folder / "config.json", **values)
    with pytest.raises(WeightsError, match=sentence):
        load(folder, device="cpu")


def test_what_version_5_calls_the_parts_of_a_beit_is_understood(copy) -> None:
    for name in ("beit", "beit-features"):
        folder, state = copy(name)
        new = {"beit.relative_position_index": torch.zeros(2)}
        for key, value in state.items():
            key = key.replace("encoder.relative_position_bias", "shared_position_bias")
            key = key.replace("attention.attention.relative", "relative")
            new[key.replace("encoder.layer.", "layers.")] = value
        save_file(new, folder / WEIGHTS)
        agrees(load(folder, device="cpu"), expected_of(name))


@pytest.mark.parametrize(
    ("told", "values"),
    [
        ({"size": 40}, {"size": (40, 40), "crop_mode": "squash", "crop_pct": 1.0}),
        ({"size": {"shortest_edge": 40}}, {"size": (40, 40), "crop_mode": "center"}),
        (
            {"feature_extractor_type": "CLIPFeatureExtractor", "size": 40, "crop_size": 30},
            {"size": (30, 30), "crop_mode": "center", "crop_pct": 0.75},
        ),
        (
            {"image_processor_type": "DeiTImageProcessorFast", "size": 64, "crop_size": 32},
            {"size": (32, 32), "crop_mode": "squash", "crop_pct": 0.5},
        ),
        ({"resample": 5}, {"interpolation": "hamming"}),
        ({"image_mean": 0.25, "do_rescale": None}, {"mean": (0.25,) * 3}),
        ({"do_normalize": False}, {"mean": (0.0,) * 3, "std": (1.0,) * 3}),
        ({"rescale_factor": 2 / 255}, {"mean": (0.25,) * 3, "std": (0.25,) * 3}),
        ({"do_rescale": False, "image_std": [255] * 3}, {"std": (1.0,) * 3}),
    ],
)  # fmt: skip
def test_what_a_processor_says_becomes_a_preprocess(told: dict, values: dict) -> None:
    made = preprocess_of(told, "ViT", 3)
    for key, value in values.items():
        assert getattr(made, key) == pytest.approx(value), key


def test_a_factor_of_pixels_is_folded_into_mean_and_deviation() -> None:
    """Worked by hand: (51 * 2/255 - .5) / .5 = -.2"""
    made = preprocess_of({"rescale_factor": 2 / 255, "size": 1}, "ViT", 3)
    pixels = made.pixels(torch.full((1, 1, 3), 51, dtype=torch.uint8))
    assert pixels.flatten().tolist() == pytest.approx([-0.2] * 3)


def test_an_odd_rest_is_halved_downwards_where_transformers_does() -> None:
    """10 pixels of which 7 are left out: torchvision begins at 4 (round 3.5), transformers at 3."""
    columns = np.broadcast_to(np.arange(10, dtype=np.uint8)[None, :, None], (3, 10, 3))
    source = open_photo(Image.fromarray(np.ascontiguousarray(columns)))
    made = preprocess_of({"size": {"shortest_edge": 3}}, "ViT", 3)
    assert made.crop_floor
    assert made.picture(source)[0, :, 0].tolist() == [3, 4, 5]
    assert made.framing(source) == (0, 3, 3, 6)
    assert replace(made, crop_floor=False).picture(source)[0, :, 0].tolist() == [4, 5, 6]


@pytest.mark.parametrize(
    ("told", "sentence"),
    [
        (
            {"image_processor_type": "ConvNextImageProcessor"},
            "prepared by 'ConvNextImageProcessor'",
        ),
        ({"size": {"longest_edge": 40}}, "size must be one or two whole numbers"),
        ({"size": "40"}, "size must be one or two"),
        ({"size": {"height": 10**9, "width": 1}}, "size must be one or two"),
        ({"do_center_crop": "yes"}, "do_center_crop must be true or false"),
        ({"do_center_crop": True, "crop_size": [20, 30], "size": 40}, r"it crops \(20, 30\)"),
        ({"resample": 9}, "resample must be from 0 to 5"),
        ({"resample": True}, "resample must be from 0 to 5"),
        ({"image_mean": "x"}, "image_mean must be numbers"),
        ({"image_std": [0, 0, 0]}, "std must be positive"),
        ({"rescale_factor": -1}, "rescale_factor must be a number"),
        ({"rescale_factor": float("nan")}, "rescale_factor must be a number"),
    ],
)
def test_a_processor_that_is_not_understood_is_refused(told: dict, sentence: str) -> None:
    with pytest.raises(WeightsError, match=sentence):
        preprocess_of(told, "ViT", 3)


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"model_type": "swin"}, "its model_type is 'swin', and .* vit, deit, dinov2"),
        ({"model_type": ["vit"]}, "its model_type is"),
        ({"num_hidden_layers": 10**6}, "depth must be at most 65536"),
        ({"num_hidden_layers": 3}, "they are of 2 blocks, its config says 3"),
        ({"hidden_size": 10**9}, "embed_dim must be at most"),
        ({"hidden_size": 32}, "do not fit"),
        ({"num_attention_heads": 3}, "not a multiple of num_heads"),
        ({"hidden_act": "relu"}, "hidden_act is 'relu'; gelu, "),
        ({"hidden_act": []}, "hidden_act is"),
        ({"image_size": 48}, r"pos_embed has shape \(1, 13, 16\) instead of \(1, 37, 16\)"),
        ({"patch_size": 0}, "patch_size must be one or two whole numbers"),
        ({"qkv_bias": False}, r"q_proj\.bias is not expected"),
        ({"layer_norm_eps": "small"}, "norm_eps must be a number"),
        ({"id2label": {"0": "a", "2": "c"}}, r"not name each of its 3 classes \(see number 1\)"),
        ({"id2label": {"0": "a", "1": 7, "2": "c"}}, "see number 1"),
        ({"id2label": ["a", "b", "c"]}, "see number 0"),
        ({"id2label": dict.fromkeys("01234", "a")}, "see number 3"),
    ],
)  # fmt: skip
def test_a_config_that_does_not_fit_is_refused(values: dict, sentence: str, copy) -> None:
    folder, _ = copy("vit")
    change(folder / "config.json", **values)
    with pytest.raises(WeightsError, match=sentence):
        load(folder, device="cpu")


def test_names_that_are_given_stand_in_for_those_that_are_missing(copy) -> None:
    folder, _ = copy("vit")
    change(folder / "config.json", id2label={"0": "a"})
    assert load(folder, device="cpu", labels=["x", "y", "z"]).card.labels == ("x", "y", "z")
    change(folder / "config.json", id2label=None)
    assert load(folder, device="cpu").card.head == "embedding"


@pytest.mark.parametrize("text", ["[]", "7", "{", "", "[" * 10**5, '"x"', "\x00", "null"])
@pytest.mark.parametrize("file", ["config.json", "preprocessor_config.json"])
def test_a_file_that_is_no_json_object_is_refused(file: str, text: str, copy) -> None:
    folder, _ = copy("vit")
    (folder / file).write_text(text)
    with pytest.raises(WeightsError, match=f"{file} (cannot be read|must hold a JSON object)"):
        load(folder, device="cpu")
    (folder / file).write_bytes(b"\xff\xfe" * 9)
    with pytest.raises(WeightsError, match=f"{file} cannot be read"):
        load(folder, device="cpu")
    with (folder / file).open("wb") as huge:
        huge.truncate(10**11)
    with pytest.raises(WeightsError, match=f"{file} cannot be read: .*more than"):
        load(folder, device="cpu")


def test_parameters_that_are_not_understood_are_named(copy) -> None:
    folder, state = copy("vit")
    for key, sentence in (
        ("vit.encoder.layer.0.attention.attention.query.lora_A.weight", "merge it where it was"),
        ("stem.weight", "'stem.weight' is not understood"),
        ("layernorm.weight", "two parameters of the meaning of"),
    ):
        save_file(state | {key: torch.ones(16)}, folder / WEIGHTS)
        with pytest.raises(WeightsError, match=sentence):
            load(folder, device="cpu")
    for wrong in (torch.full((16,), float("nan")), torch.zeros(3), torch.zeros(())):
        save_file(state | {"vit.layernorm.weight": wrong}, folder / WEIGHTS)
        with pytest.raises(WeightsError, match=r"not finite|has shape"):
            load(folder, device="cpu")
    (folder / WEIGHTS).unlink()
    with pytest.raises(WeightsError, match=r"vit cannot be loaded: it has none of model\.safe"):
        load(folder, device="cpu")


@pytest.mark.parametrize(
    "file", ["../secret.safetensors", "/etc/passwd", "a/b.safetensors", "..", "", "x.bin"]
)  # fmt: skip
def test_an_index_names_files_beside_it_only(file: str, copy) -> None:
    folder, state = copy("vit")
    save_file(state, folder.parent / "secret.safetensors")
    in_shards(folder, state)
    index = folder / f"{WEIGHTS}.index.json"
    index.write_text(json.dumps({"weight_map": {"x": file}}))
    with pytest.raises(WeightsError, match="which is no file beside it"):
        load(folder, device="cpu")
    for told in ({}, {"weight_map": []}, {"weight_map": {}}):
        index.write_text(json.dumps(told))
        with pytest.raises(WeightsError, match="has no weight_map"):
            load(folder, device="cpu")
    index.write_text(json.dumps({"weight_map": {"x": "gone.safetensors"}}))
    with pytest.raises(WeightsError, match=r"it has no gone\.safetensors"):
        load(folder, device="cpu")


def test_a_link_that_leads_nowhere_is_no_file(copy) -> None:
    """Links are followed, as the cache of the hub is made of them; devices are not read."""
    folder, _ = copy("vit")
    (folder / WEIGHTS).rename(folder.parent / "blob")
    (folder / WEIGHTS).symlink_to(Path("..") / "blob")
    agrees(load(folder, device="cpu"), expected_of("vit"))
    for target in ("nowhere", "/dev/zero", str(folder)):
        (folder / WEIGHTS).unlink()
        (folder / WEIGHTS).symlink_to(target)
        with pytest.raises(WeightsError, match="it has none of"):
            load(folder, device="cpu")


@pytest.mark.parametrize(
    "name", ["vit", "dinov2-registers", "clip", "siglip-classes", "dinov3", "beit"]
)
def test_a_damaged_checkpoint_is_refused_in_a_sentence_or_can_be_used(name: str, copy) -> None:
    folder, state = copy(name)
    texts = {path: path.read_text("utf-8") for path in folder.glob("*.json")}
    whole = (folder / WEIGHTS).read_bytes()
    for case in range(60):
        chance = random.Random(case)
        (folder / WEIGHTS).write_bytes(whole)
        (folder / "pytorch_model.bin").unlink(missing_ok=True)
        for path, text in texts.items():
            path.write_text(text, "utf-8")
        kind = case % 4
        if kind < 2:
            path = sorted(texts)[kind]
            path.write_text(damage.damage_json(json.loads(texts[path]), chance), "utf-8")
        elif kind == 2:
            (folder / WEIGHTS).write_bytes(damage.turn_bytes(whole, chance, 4096))
        else:
            (folder / WEIGHTS).unlink()
            key = chance.choice(sorted(state))
            wrong = chance.choice(damage.WRONG_TENSORS)(state[key])
            torch.save(state | {key: wrong}, folder / "pytorch_model.bin")
        try:
            loaded = load(folder, device="cpu")
        except WeightsError:
            continue
        assert loaded.vit(torch.zeros(1, 3, *loaded.card.config.image_size)).ndim == 2


@pytest.fixture
def cache(monkeypatch, tmp_path):
    """A cache of the hub that holds a model of this folder; the hub does not answer."""
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    monkeypatch.setattr(hub, "answers", lambda url: False)

    def put(name: str, *without: str) -> None:
        repository = tmp_path / "hub" / f"models--somebody--{name}"
        snapshot = repository / "snapshots" / "0123abcd"
        shutil.copytree(FOLDER / name, snapshot, ignore=shutil.ignore_patterns(*without))
        (repository / "refs").mkdir()
        (repository / "refs" / "main").write_text("0123abcd")

    return put


@pytest.mark.parametrize("front", ["", "hf-hub:"])
def test_a_model_of_the_hub_loads_by_its_id_from_the_cache(front: str, cache) -> None:
    cache("deit")
    loaded = load(f"{front}somebody/deit", device="cpu")
    agrees(loaded, expected_of("deit"))
    assert loaded.card.name == "somebody/deit"
    assert load("somebody/deit@main", device="cpu").card.labels == loaded.card.labels


def test_without_a_network_the_sentence_says_what_is_missing(cache) -> None:
    cache("vit", WEIGHTS)
    for name in ("somebody/vit", "google/vit-base-patch16-224", "hf-hub:google/vit"):
        with pytest.raises(WeightsError, match="no connection to the Hugging Face hub"):
            load(name, device="cpu")
    with pytest.raises(WeightsError, match="is not a shipped model"):
        load("somebody/../vit", device="cpu")


def test_a_hub_that_fails_is_told(cache, monkeypatch) -> None:
    from huggingface_hub.errors import HfHubHTTPError

    def download(*_args, **_kwargs):
        raise HfHubHTTPError.__bases__[0]("broken off")

    monkeypatch.setattr(hub, "answers", lambda url: True)
    monkeypatch.setattr("huggingface_hub.hf_hub_download", download)
    with pytest.raises(WeightsError, match="did not give the weights of a/b: broken off"):
        load("a/b", device="cpu")


def test_pixels_that_fill_no_patch_are_made_and_not_seen(copy) -> None:
    """SigLIP at 384 pixels has 27 patches of 14 on a side; here 36 pixels have 4 of 8."""
    folder, _ = copy("siglip-vision")
    change(folder / "config.json", image_size=36)
    change(folder / "preprocessor_config.json", size={"height": 36, "width": 36})
    loaded = load(folder, device="cpu")
    assert loaded.card.config.image_size == (32, 32)
    assert loaded.preprocess.size == (36, 36)
    assert analyze(loaded, FOLDER / "picture.png").grid.num_patches == 16
