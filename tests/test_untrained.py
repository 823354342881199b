"""The untrained twin: the weights that training began with; torch's random state is not touched."""

import json
from functools import partial

import pytest
import torch
from torch.testing import assert_close

import vitviz
from tests.models import photo, tiny
from tests.running import at_once
from vitviz import analyze, load
from vitviz.model.key import ModelKey
from vitviz.model.preprocess import Preprocess
from vitviz.model.untrained import draw, first_seed
from vitviz.model.weights import CURATED, list_models, save_checkpoint
from vitviz.probe.measure.measurements import measurements_of
from vitviz.train.dataset import Pictures
from vitviz.train.recipe import Recipe
from vitviz.train.recipes import RECIPES
from vitviz.train.run import Run

LABELS = ("a", "b", "c")
RECIPE = Recipe(
    seed=3, image_size=8, patch_size=4, embed_dim=16, depth=2, num_heads=2, batch_size=4,
    dropout=0.1,
)  # fmt: skip


def pictures() -> Pictures:
    generator = torch.Generator().manual_seed(0)
    images = torch.randint(0, 256, (12, 1, 8, 8), dtype=torch.uint8, generator=generator)
    return Pictures(images=images, targets=torch.arange(12) % 3, labels=LABELS, name="noise")


def saved(path, vit, **details):
    save_checkpoint(
        path,
        vit.state_dict(),
        config=vit.config,
        preprocess=Preprocess(size=vit.config.image_size, channels=1, mean=(0.5,), std=(0.25,)),
        labels=LABELS,
        details={"title": "T", "accuracy": "top-1 99%", "temperature": "0.5", **details},
    )
    return path


def same(ours, theirs) -> bool:
    ours, theirs = ours.state_dict(), theirs.state_dict()
    return list(ours) == list(theirs) and all(torch.equal(ours[k], theirs[k]) for k in ours)


@pytest.mark.parametrize(
    "start", [{"zero_head": True}, {"zero_head": False}, {"wide_start": True, "zero_head": False}]
)
def test_the_twin_has_the_weights_that_the_run_began_with(tmp_path, start) -> None:
    recipe = RECIPE.changed({**start, "drop_path": 0.1})
    run = Run(recipe, pictures(), torch.device("cpu"))
    before = {name: value.clone() for name, value in run.vit.state_dict().items()}
    for batch in run.batches():
        run.learn(batch)
        break
    path = saved(tmp_path / "x.safetensors", run.vit, recipe=json.dumps(recipe.to_dict()), seed="3")
    state = torch.get_rng_state()
    twin = load(path, pretrained=False, device="cpu")
    assert torch.equal(torch.get_rng_state(), state)
    ours = twin.vit.state_dict()
    assert list(ours) == list(before)
    assert all(torch.equal(ours[name], before[name]) for name in ours)
    trained = load(path, device="cpu")
    assert not same(twin.vit, trained.vit)
    positions = analyze(trained, photo()).untrained_positions()
    assert torch.equal(positions.patches, before["pos_embed"][0, 1:])


def test_a_wide_start_has_the_deviations_that_it_says() -> None:
    """Of the playground's model: matrices of 48 and 96 inputs, positions, and a head of zeros."""
    config = RECIPES["playground"].config(10)
    drawn = draw(config, 3, zero_head=True, wide_start=True)
    narrow = draw(config, 3)
    for name, fan_in in (("blocks.1.attn.qkv", 48), ("blocks.0.mlp.fc2", 192)):
        weight = drawn[f"{name}.weight"]
        assert weight.std() == pytest.approx(fan_in**-0.5, rel=0.02)
        assert torch.allclose(weight, narrow[f"{name}.weight"] * fan_in**-0.5 / 0.02)
        assert not drawn[f"{name}.bias"].any()
    assert drawn["pos_embed"].std() == pytest.approx(0.5, rel=0.05)
    assert drawn["cls_token"].std() == pytest.approx(0.5, rel=0.3)  # 48 numbers
    assert torch.equal(drawn["patch_embed.proj.weight"], narrow["patch_embed.proj.weight"])
    assert not drawn["head.weight"].any()
    assert sum(one.numel() for one in drawn.values()) == 60_394


def test_the_card_of_a_twin_says_so_and_claims_nothing(tmp_path) -> None:
    recipe = RECIPE.changed({"seed": 7})
    run = Run(recipe, pictures(), torch.device("cpu"))
    path = saved(tmp_path / "x.safetensors", run.vit, recipe=json.dumps(recipe.to_dict()), seed="7")
    card, trained = load(path, pretrained=False).card, load(path).card
    assert (card.trained, trained.trained) == (False, True)
    assert card.source == "untrained: random weights with which training began (seed 7)"
    assert card.temperature == 1
    assert card.details["title"] == "T"
    assert not {"accuracy", "temperature"} & set(card.details)
    assert (card.config, card.labels) == (trained.config, trained.labels)
    assert type(card).from_dict(card.to_dict()) == card


@pytest.mark.parametrize(("name", "size"), [("mnist", 56), ("vit_tiny_patch16_224", 64)])
def test_a_twin_that_was_saved_is_untrained_still(tmp_path, name, size) -> None:
    """Its answers would be printed as those of a trained model."""
    twin = load(name, pretrained=False, image_size=size, device="cpu")
    vitviz.save(twin, tmp_path / "twin.safetensors")
    for pretrained in (True, False):
        read = load(tmp_path / "twin.safetensors", pretrained=pretrained, device="cpu")
        assert not read.card.trained
        assert read.card.key == ModelKey("twin", untrained=True, image_size=(size, size))
        assert same(read.vit, twin.vit)
    vitviz.save(load("mnist", device="cpu"), tmp_path / "trained.safetensors")
    assert load(tmp_path / "trained.safetensors", device="cpu").card.trained


SHIPPED = [name for name in list_models() if name not in CURATED]
# Details of a trained file that hold for its twin too: names, and where both began.
TRUE_OF_BOTH = {"title", "groups", "recipe", "seed"}


@pytest.mark.parametrize("name", SHIPPED)
def test_a_twin_keeps_nothing_that_training_found_out(name: str) -> None:
    """Every fact of every shipped file, and every measurement that a page reads from it."""
    trained, twin = load(name).card, load(name, pretrained=False).card
    assert {"accuracy", "evaluation", "temperature", "data", "images seen"} <= set(trained.details)
    for key, text in trained.details.items():
        assert (twin.details.get(key) == text) == (key in TRUE_OF_BOTH), key
    assert measurements_of(trained)
    assert measurements_of(twin) == {}
    assert (trained.temperature != 1, twin.temperature) == (True, 1)
    assert "trained with" not in twin.source


def test_a_file_without_a_seed_has_a_twin_of_a_fixed_seed(tmp_path) -> None:
    run = Run(RECIPE, pictures(), torch.device("cpu"))
    path = saved(tmp_path / "x.safetensors", run.vit)
    first, again = (load(path, pretrained=False) for _ in "ab")
    assert first.card.source == "untrained: random weights of a fixed seed"
    assert same(first.vit, again.vit)


@pytest.mark.parametrize(
    ("details", "seed"),
    [
        ({}, None),
        ({"seed": "4"}, 4),
        ({"recipe": '{"seed": 5}'}, 5),
        # A run that began with another run's weights: the seed of the first run counts.
        ({"seed": "4", "recipe": '{"seed": 5, "start_from": "x.safetensors"}'}, 4),
        ({"recipe": "not JSON"}, None),
        ({"recipe": "[1]", "seed": "many"}, None),
        ({"recipe": "[" * 9999}, None),
        ({"recipe": '{"seed": 1e999}'}, None),
    ],
)
def test_the_seed_is_that_of_the_first_run(details, seed) -> None:
    assert first_seed(details) == seed


def test_every_version_of_torch_draws_the_same_first_weights() -> None:
    """The numbers that the shipped photo model's seed gave when its training began."""
    vit = load("photos", pretrained=False, device="cpu").vit
    for drawn, expected in (
        (vit.cls_token[0, 0], [0.0219745, -0.0033814, -0.0094876]),
        (vit.blocks[5].mlp.fc2.weight[0], [0.0292727, -0.0331988, 0.0224716]),
        (vit.patch_embed.proj.weight[0, 0, 0], [0.0919950, 0.0624412, 0.1391755]),
    ):
        # Processors without AVX2 compute the logarithm inside a normal number a little differently.
        assert_close(drawn[:3], torch.tensor(expected), atol=1e-6, rtol=0)


def test_a_timm_twin_is_always_the_same_and_leaves_random_numbers_alone() -> None:
    first = load("test_vit", pretrained=False, device="cpu")
    torch.rand(5)
    state = torch.get_rng_state()
    again = load("test_vit", pretrained=False, device="cpu")
    assert torch.equal(torch.get_rng_state(), state)
    assert same(first.vit, again.vit)
    assert not first.card.trained


def test_two_threads_draw_what_one_draws() -> None:
    config, drawn = tiny("cls").card.config, {}

    def work(seed: int) -> None:
        drawn[seed] = draw(config, seed)

    at_once(*(partial(work, seed) for seed in range(4)))
    for seed, state in drawn.items():
        alone = draw(config, seed)
        assert all(torch.equal(state[name], alone[name]) for name in alone)
    assert not torch.equal(drawn[0]["pos_embed"], drawn[1]["pos_embed"])
