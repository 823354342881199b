"""Small runs by Python's own training, for the learner of the page. See `viewer_fixture`."""

import base64
from dataclasses import replace
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from tests.engine_fixture import draw_into
from tests.gradients_fixture import some
from vitviz.model.config import Rotary, ViTConfig
from vitviz.model.untrained import draw
from vitviz.model.vit import ViT
from vitviz.probe.intervene.chance import Chance
from vitviz.train.dataset import Pictures, read
from vitviz.train.learner import Learner
from vitviz.train.optim import make_optimizers
from vitviz.train.order import shuffled
from vitviz.train.recipes import RECIPES
from vitviz.train.run import Run
from vitviz.train.scores import normalise

STEPS = 10
RECIPE = replace(RECIPES["playground"], batch_size=5, epochs=2.5, seed=3)
PICTURES, CLASSES = 20, 3
SMALL = ViTConfig(
    image_size=28, patch_size=7, in_chans=1, num_classes=CLASSES, embed_dim=16, depth=2, num_heads=4
)
MEAN = {"class_token": False, "global_pool": "avg"}
CONFIGS = {
    "cls": SMALL,
    "mean": replace(SMALL, **MEAN, num_heads=2),
    "registers": replace(SMALL, reg_tokens=4, embed_dim=24, num_heads=2, pos_embed_prefix=False),
    "registers_mean": replace(SMALL, reg_tokens=4, global_pool="avg", depth=1),
    "none": replace(SMALL, patch_size=4, pos_embed=False),
    "none_mean": replace(SMALL, **MEAN, patch_size=4, pos_embed=False, depth=3),
    "rotary": replace(SMALL, patch_size=14, pos_embed=False, rotary=Rotary(kind="axial")),
    "rotary_mean": replace(SMALL, **MEAN, rotary=Rotary(kind="axial"), mlp_hidden_dim=40),
    "rotary_registers": replace(SMALL, reg_tokens=4, rotary=Rotary(kind="axial", offset=1)),
}
# What a run of the recipe begins with, and the order of its pictures.
STARTS = {"learned": (SMALL, 0), "rotary": (CONFIGS["rotary"], 7), "none": (CONFIGS["none"], 5000)}


def pictures() -> Pictures:
    """Noise, by `Chance`, that is brighter from class to class."""
    words = Chance(1, "noise").integers(PICTURES * 28 * 28).reshape(PICTURES, 1, 28, 28)
    targets = torch.arange(PICTURES) % CLASSES
    levels = torch.from_numpy((words % 200).astype("int64"))
    images = (levels + 20 * targets[:, None, None, None]).to(torch.uint8)
    return Pictures("noise", images, targets, tuple("abc"))


def shipped() -> dict[str, Any]:
    """The digits that come with vitviz, for a page: {"train", "test"}, pixels in base64."""
    told = {}
    for split in ("train", "test"):
        part = read("digits", split, RECIPE.cut())
        pixels = base64.b64encode(part.images.numpy().tobytes()).decode()
        told[split] = {"pixels": pixels, "labels": part.targets.tolist()}
    return told


def run(config: ViTConfig) -> dict[str, Any]:
    """The gradients of the first step, and where ten steps lead."""
    data = pictures()
    made = Run(RECIPE, data, torch.device("cpu"))
    vit = ViT(config).train()
    draw_into(vit)
    made.vit, made.learner = vit, Learner(vit)
    made.optimizers = make_optimizers(vit, RECIPE)
    first = made.order.at(0)
    x = normalise(data.images[first] / 255, made.mean, made.std)
    F.cross_entropy(vit(x), data.targets[first]).backward()
    named = sorted(vit.named_parameters())
    gradients = {key: some(one.grad) for key, one in named if one.grad is not None}
    vit.zero_grad()
    losses = [made.learn(batch)["loss"] for batch in made.batches()]
    assert len(losses) == STEPS
    return {
        "config": config.to_dict(),
        "parameters": [[key, list(one.shape)] for key, one in named],
        "mean": made.mean,
        "std": made.std,
        "gradients": gradients,
        "losses": losses,
        "learned": {key: some(felt(key, one, config)) for key, one in named},
        "logits": vit.eval()(normalise(data.images / 255, made.mean, made.std)).tolist(),
    }


def felt(name: str, parameter: Tensor, config: ViTConfig) -> Tensor:
    """A parameter without the bias of the keys, which softmax ignores unless positions are rotary.

    The gradient of that bias is rounding noise, and AdamW takes steps of full length along it.
    """
    if not name.endswith("qkv.bias") or config.rotary is not None:
        return parameter
    q, _, v = parameter.chunk(3)
    return torch.cat([q, v])


def starts() -> dict[str, Any]:
    """The weights and the order of pictures with which runs of some seeds begin."""
    return {
        name: {
            "config": config.to_dict(),
            "seed": seed,
            "weights": {
                key: some(one)
                for key, one in draw(config, seed, zero_head=True, wide_start=True).items()
            },
            "order": shuffled(1000, seed, 2).tolist()[:20],
        }
        for name, (config, seed) in STARTS.items()
    }


def runs() -> dict[str, Any]:
    """All that the page's learner is held to, by names of files."""
    return {name: run(config) for name, config in CONFIGS.items()} | {"starts": starts()}
