"""Passes of small models for the page's engine, by Python. See `viewer_fixture`.

Weights are drawn by `Chance`, which the page has too, so that no file has to hold them.
"""

import base64
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from tests.models import TINY, photo, tiny
from tests.operated_fixture import CASES
from tests.test_interventions import each_kind
from vitviz import Analysis, LoadedModel, ViT, analyze
from vitviz.model.config import Rotary, ViTConfig
from vitviz.model.positions import Angles
from vitviz.payload.in_page import unknown_switches
from vitviz.probe.intervene.chance import Chance

# Models that the page runs; the server runs the others.
NAMES = tuple(name for name in TINY if not unknown_switches(TINY[name]))
# Switches that none of those has.
OTHERS = {
    "switches": ViTConfig(
        image_size=(8, 12), patch_size=4, embed_dim=8, depth=2, num_heads=2, num_classes=3,
        mlp_hidden_dim=12, reg_tokens=1, patch_bias=False, qkv_bias=False, proj_bias=False,
        norm_pre=True, attn_norm=True, mlp="swiglu_packed", mlp_norm=True, activation="silu",
        global_pool="avg", pool_prefix=True, final_norm="none", norm_eps=1e-3,
        rotary=Rotary(kind="normalised"),
    ),
    "quick": ViTConfig(
        image_size=8, patch_size=4, embed_dim=12, depth=1, num_heads=2, num_classes=3,
        activation="quick_gelu", layer_scale=True,
    ),
    "tanh": ViTConfig(
        image_size=8, patch_size=4, embed_dim=12, depth=1, num_heads=2, num_classes=3,
        activation="gelu_tanh", final_norm="after_pool",
    ),
    "rmsnorm": ViTConfig(
        image_size=(24, 16), patch_size=(6, 8), embed_dim=20, depth=2, num_heads=2, num_classes=4,
        mlp_hidden_dim=12, norm="rmsnorm", norm_eps=1e-2, norm_pre=True, qk_norm=True,
        mlp="swiglu", mlp_norm=True, final_norm="after_pool",
    ),
    "post_norm": ViTConfig(
        image_size=(24, 16), patch_size=(6, 8), embed_dim=20, depth=2, num_heads=2, num_classes=3,
        mlp_hidden_dim=12, post_norm=True, layer_scale=True, mlp_norm=True, global_pool="avg",
    ),
    "map_of_patches": ViTConfig(
        image_size=8, patch_size=4, embed_dim=12, depth=2, num_heads=2, num_classes=3,
        global_pool="map", pool_heads=3, pool_hidden_dim=20, attn_norm=True, mlp_norm=True,
        proj_bias=False, activation="silu", final_norm="after_pool",
    ),
    "post_norm_of_heads": ViTConfig(
        image_size=8, patch_size=4, embed_dim=12, depth=2, num_heads=2, num_classes=3,
        post_norm=True, attn_norm=True, norm="rmsnorm",
    ),
}  # fmt: skip
# Interventions of one pass, by model; each of these models has a pass with every kind, too.
TOGETHER = CASES | {
    "rmsnorm": [
        {"kind": "cut", "edges": "prefix to patches", "layers": [0], "heads": [1]},
        {"kind": "head", "layer": 0, "head": 0, "by": "mean"},
        {"kind": "add", "patches": "all", "layer": 0, "toward": 2, "factor": 0.5},
    ],
    "map": [
        {"kind": "keep", "patches": [0, 1, 2, 4, 5, 6, 7, 9, 10]},
        {"kind": "scramble", "rows": "patches", "layers": [1], "seed": 5},
        {"kind": "head", "layer": 1, "head": 1, "by": "mean"},
    ],
    "post_norm": [
        {"kind": "branch", "layer": 0, "branch": "mlp"},
        {"kind": "branch", "layer": 1, "branch": "attention"},
        {"kind": "remove", "patches": [1]},
    ],
}
SERVERS = {"patches": replace(TINY["cls"], patch_norm_before=True, patch_norm_after=True)}
ALL = (*NAMES, *OTHERS)
CONFIGS = {name: TINY[name] for name in NAMES} | OTHERS
ROTARY = (
    Rotary(kind="normalised", temperature=100.0),
    Rotary(kind="axial", temperature=10000.0, order="xy", offset=1, reference=(4, 6)),
    Rotary(kind="axial", temperature=50.0),
)


def drawn(name: str) -> LoadedModel:
    """A small model with weights by `Chance`."""
    loaded = tiny(name) if name in TINY else _other(OTHERS[name])
    vit = ViT(loaded.card.config).eval().requires_grad_(False)
    draw_into(vit)
    return replace(loaded, vit=vit)


@torch.no_grad()
def draw_into(vit: ViT) -> None:
    """Weights by `Chance`: each parameter, in order of the names, with its place as seed."""
    for seed, (key, parameter) in enumerate(sorted(vit.named_parameters())):
        numbers = Chance(seed, "noise").normals(parameter.numel()).float().view(parameter.shape)
        if parameter.ndim >= 2 and key.endswith("weight"):
            numbers = numbers / parameter[0].numel() ** 0.5
        elif key.endswith(("weight", "gamma")):
            numbers = 1 + 0.25 * numbers
        else:
            numbers = 0.5 * numbers
        parameter.copy_(numbers)


def _other(config: ViTConfig) -> LoadedModel:
    """A model like a small one, with another config."""
    like, labels = tiny("cls"), tuple(f"class {i}" for i in range(config.num_classes))
    preprocess = replace(like.preprocess, size=config.image_size)
    return replace(
        like, card=replace(like.card, config=config, labels=labels), preprocess=preprocess
    )


def checksum(analysis: Analysis) -> int:
    """Of the picture: each byte times its place, counted from 1."""
    numbers = analysis.picture.numpy().astype(np.int64).ravel()
    return int((numbers * np.arange(1, len(numbers) + 1)).sum() % 2**32)


def told(analysis: Analysis, layers: list[int]) -> dict[str, Any]:
    """Expected numbers of a pass: logits, and of one patch the attention rows and final token."""
    trace, token = analysis.trace, analysis.trace.num_tokens - 2
    return {
        "logits": trace.logits.flatten().tolist(),
        "attention": [trace.attention_from(layer, token).flatten().tolist() for layer in layers],
        "tokens": trace.tokens[-1, token].tolist(),
    }


def small(name: str) -> dict[str, Any]:
    """The passes of a small model, with what its weights are drawn by."""
    loaded = drawn(name)
    parameters = sorted(loaded.vit.named_parameters())
    last = {"kind": "head", "layer": loaded.card.config.depth - 1, "head": 0, "by": "mean"}
    together = [[last], *([TOGETHER[name]] if name in TOGETHER else [])]
    each, others = name in TINY or name in TOGETHER, photo()[::-1, ::-1].copy()
    return passes(loaded, photo(), others, each=each, together=together) | {
        "preprocess": loaded.preprocess.to_dict(),
        "parameters": [[key, list(one.shape)] for key, one in parameters],
    }


def passes(
    loaded: LoadedModel,
    picture: Any,
    others: Any,
    *,
    each: bool = True,
    together: Sequence[Any] = (),
) -> dict[str, Any]:
    """The intact pass of a picture; `each`: and one with an intervention of each kind.

    `together`: and with each of these lists.
    """
    intact, other = analyze(loaded, picture), analyze(loaded, others)
    config, depth = loaded.card.config, loaded.card.config.depth
    token = config.num_tokens - 2
    cases = []
    for values in [[one] for one in each_kind(config, other) if each] + [*together]:
        analysis = analyze(loaded, picture, interventions=values)
        sent = [one | ({"from": "other"} if "from" in one else {}) for one in values]
        case = {"interventions": sent, **told(analysis, [depth - 1])}
        # Where a gradient is near zero, another processor finds another sign.
        exact = all(one["kind"] != "perturb" or one["target"] == "random" for one in values)
        if analysis.pass_.surgery.changes_pixels and exact:
            case["checksum"] = checksum(analysis)
        cases.append(case)
    assert intact.embedding is not None
    return {
        "config": config.to_dict(),
        "picture": in_base64(intact),
        "other": in_base64(other),
        "intact": told(intact, [*range(depth)])
        | {
            "token": token,
            "content": intact.embedding.content[token].tolist(),
            "position": intact.embedding.position[token].tolist(),
            "lens": None if intact.lens is None else intact.lens.tolist(),
        },
        "cases": cases,
    }


def in_base64(analysis: Analysis) -> str:
    """The picture, as the model saw it."""
    return base64.b64encode(analysis.picture.numpy().tobytes()).decode()


def angles() -> list[dict[str, Any]]:
    """The angles of all tokens for the ways to turn that learn nothing."""
    made = []
    for rotary in ROTARY:
        config = ViTConfig(
            image_size=(16, 24), patch_size=8, embed_dim=16, num_heads=2, depth=2, rotary=rotary
        )
        found = Angles(config, rotary)(None, torch.device("cpu"))
        made.append({"config": config.to_dict(), "cos": found.cos().flatten().tolist()})
        made[-1]["sin"] = found.sin().flatten().tolist()
    return made


def servers() -> dict[str, Any]:
    """The configs of models that the page leaves to the server."""
    return {name: config.to_dict() for name, config in SERVERS.items()}
