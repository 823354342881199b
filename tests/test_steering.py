"""Steering: a direction worked out by hand, a plain loop, names of classes, and what is refused."""

from dataclasses import replace
from functools import lru_cache

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close

import vitviz
from tests.models import TINY, photo, spread, tiny
from vitviz import Analysis, LoadedModel, SelectionError, analyze
from vitviz.model.config import ViTConfig
from vitviz.model.vit import ViT
from vitviz.probe.intervene import steering

STEERED = [
    name
    for name, config in TINY.items()
    if config.num_classes and config.global_pool not in ("", "map")
]  # with 0, 1 and 2 prefix tokens; CLS, mean, and both as the answer; grids that are not square
MORE = [*STEERED, "five"]


@lru_cache
def model(name: str) -> LoadedModel:
    """A small model; "five": with CLS, four registers and classes."""
    if name != "five":
        return tiny(name)
    like = tiny("registers")
    config = replace(like.card.config, num_classes=4)
    labels = tuple(f"class {i}" for i in range(4))
    card = replace(like.card, config=config, labels=labels, head="classes")
    return replace(like, vit=spread(ViT(config)).eval().requires_grad_(False), card=card)


def steered(name: str, *changes: dict, **fields: object) -> Analysis:
    add = {"kind": "add", "patches": "all", "layer": 0, "toward": 1, "factor": 1.5, **fields}
    return analyze(model(name), photo(), interventions=[*changes, add])


def named(name: str, patches: str | list[int]) -> list[int]:
    config = model(name).card.config
    if isinstance(patches, str):
        return [0] if patches == "cls" else list(range(config.num_tokens))
    return [config.num_prefix_tokens + patch for patch in patches]


def reading(name: str, toward: int, token: int) -> Tensor:
    """The weights of the class moved before the last norm: its logit, but for the scale. (D,)"""
    vit, config = model(name).vit, model(name).card.config
    dim, head = config.embed_dim, vit.head
    if config.dist_token and token == 1:
        head = vit.head_dist
    norm = vit.norm if config.final_norm == "before_pool" else vit.fc_norm
    part = head.weight[toward]
    if config.global_pool == "token_avg":
        part = part[:dim] if token == 0 else part[dim:]
    return torch.stack([w * g for w, g in zip(part, norm.weight, strict=True)])


def median(tokens: Tensor) -> float:
    norms = sorted(float((row.double() ** 2).sum()) ** 0.5 for row in tokens)
    return norms[(len(norms) - 1) // 2]


# --- by hand --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("norm", "wanted"),
    # Weights (1, 2, 3) behind gains (2, 1, 1) read (2, 2, 3) of a token, and 7/3 less each around
    # their mean: (-1, -1, 2) / 3.
    [("layernorm", (-1, -1, 2)), ("rmsnorm", (2, 2, 3))],
)
def test_the_direction_of_a_class_by_hand(norm: str, wanted: tuple[int, ...]) -> None:
    config = ViTConfig(
        image_size=8, patch_size=4, embed_dim=3, depth=1, num_heads=1, num_classes=2, norm=norm
    )
    vit = ViT(config)
    with torch.no_grad():
        vit.head.weight[1] = torch.tensor([1.0, 2, 3])
        vit.norm.weight[:] = torch.tensor([2.0, 1, 1])
    row = torch.tensor(wanted, dtype=torch.float32)
    assert_close(steering.directions(vit, 1), (row / row.norm()).expand(5, 3))
    tokens = torch.tensor([[[3.0, 4, 0], [0, 1, 0], [6, 8, 0], [0, 0, 2]]])  # 5, 1, 10, 2 long
    assert steering.length(tokens).item() == 2
    assert steering.length(tokens[:, :3]).item() == 5


@pytest.mark.parametrize("name", MORE)
def test_after_the_last_layer_the_reading_rises_by_factor_times_lengths(name: str) -> None:
    """By factor * |token| * |direction|, of the numbers that the last norm has not yet scaled."""
    config = model(name).card.config
    intact = analyze(model(name), photo()).trace.tokens[-1]
    length = median(intact)
    for factor in (1.5, -0.5):
        tokens = steered(name, layer=config.depth - 1, factor=factor).trace.tokens[-1]
        for token in range(config.num_tokens):
            read = reading(name, 1, token)
            centred = read - read.mean()
            rise = (tokens[token] - intact[token]) @ read
            assert_close(rise.item(), factor * length * centred.norm().item(), atol=1e-3, rtol=1e-4)
            # Nothing else moves: the step has no mean, and no part beside the direction.
            step = tokens[token] - intact[token]
            assert_close(step, factor * length * centred / centred.norm(), atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("name", MORE)
@pytest.mark.parametrize("patches", ["all", "cls", [0, 3]])
def test_it_is_a_plain_loop(name: str, patches: str | list[int]) -> None:
    vit, config = model(name).vit, model(name).card.config
    if patches == "cls" and not config.class_token:
        pytest.skip("no CLS")
    for layer in range(config.depth):
        found = steered(name, layer=layer, patches=patches)
        x = vit.norm_pre(vit.embed(found.pixels[None]))
        for at, block in enumerate(vit.blocks):
            x = block(x)
            if at == layer:
                length = median(x[0])
                for token in named(name, patches):
                    read = reading(name, 1, token)
                    x[0, token] += 1.5 * length * nn.functional.normalize(read - read.mean(), dim=0)
            assert_close(found.trace.tokens[at + 1], x[0], atol=1e-4, rtol=1e-4)
        assert_close(found.trace.logits, vit.forward_head(vit.norm(x))[0], atol=1e-4, rtol=1e-4)


# --- what holds always ----------------------------------------------------------------------------


@pytest.mark.parametrize("name", MORE)
def test_factor_0_changes_nothing_and_the_logit_follows_the_factor(name: str) -> None:
    config = model(name).card.config
    intact = analyze(model(name), photo()).trace
    last = config.depth - 1
    nothing = steered(name, layer=last, factor=0).trace
    assert torch.equal(nothing.tokens, intact.tokens)
    assert torch.equal(nothing.logits, intact.logits)
    logits = [steered(name, layer=last, factor=f).trace.logits[1] for f in (-2, -1, 0, 1, 2)]
    assert logits == sorted(logits)
    assert logits[0] < logits[2] < logits[4]
    for layer in range(config.depth):
        trace = steered(name, layer=layer).trace
        assert trace.tokens.shape == intact.tokens.shape
        assert torch.equal(trace.tokens[: layer + 1], intact.tokens[: layer + 1])


def test_tokens_that_were_taken_out_have_no_length() -> None:
    gone = [0, 2, 5, 7, 11, 13]
    remove = {"kind": "remove", "patches": gone}
    without = analyze(tiny("cls"), photo(), interventions=[remove]).trace.tokens[1]
    stay = [token for token in range(17) if token - 1 not in gone]
    step = steered("cls", remove).trace.tokens[1] - without
    assert_close(step[0].norm().item(), 1.5 * median(without[stay]), atol=1e-4, rtol=1e-4)
    assert abs(median(without[stay]) - median(without)) > 1e-2


def test_a_patch_is_found_where_others_are_left_out_of_the_sequence() -> None:
    """Tokens taken out of the sequence, as explainers do, and masked ones give one answer."""
    short = steered("cls", patches=[9, 14])
    kept = torch.tensor([3, 9, 12, 14])
    found = short.case("occlusion").logits_with_patches([kept])[0]
    keep = {"kind": "keep", "patches": kept.tolist()}
    masked = steered("cls", keep, patches=[9, 14]).trace.logits
    assert_close(found, masked, atol=1e-4, rtol=1e-4)


def test_the_list_is_done_in_its_order() -> None:
    """A token put in and then added to has the step; added to and then put in it has not."""
    other = analyze(tiny("cls"), photo()[::-1, ::-1].copy())
    put = {"kind": "transplant", "patches": "cls", "layer": 2, "from": other}
    add = {"kind": "add", "patches": "cls", "layer": 1, "toward": 1, "factor": 1}
    first, second = (
        analyze(tiny("cls"), photo(), interventions=order).trace.tokens[2][0]
        for order in ([put, add], [add, put])
    )
    assert torch.equal(second, other.trace.tokens[2][0])
    assert (first - second).norm() > 1
    once, twice = (steered("cls", *[add] * times).trace.tokens[2][0] for times in (0, 1))
    assert not torch.equal(once, twice)


def test_each_picture_of_a_batch_has_its_own_length() -> None:
    pictures = [photo(), (photo() // 4).astype(np.uint8), photo()[::-1].copy()]
    add = {"kind": "add", "patches": "all", "layer": 1, "toward": 2, "factor": 1}
    many = vitviz.analyze_many(tiny("cls"), pictures, interventions=[add], batch_size=3)
    for one, picture in zip(many, pictures, strict=True):
        alone = analyze(tiny("cls"), picture, interventions=[add])
        assert_close(one.trace.logits, alone.trace.logits, atol=1e-4, rtol=1e-4)


def test_a_gradient_takes_the_length_as_a_constant() -> None:
    """So the way back passes the step by: what a token gets behind it, it gets before it."""
    tokens = torch.randn(1, 5, 4, requires_grad=True)
    assert not steering.length(tokens).requires_grad
    explained = steered("cls", layer=2).explain("attention_gradient", target=1)
    assert explained.isfinite().all()


# --- classes, and what is refused -----------------------------------------------------------------


def test_a_class_has_a_name() -> None:
    by_name, by_number = (steered("cls", toward=one) for one in ("class 3", 3))
    assert by_name.interventions == by_number.interventions
    assert by_name.summary()["interventions"] == [
        {"kind": "add", "patches": "all", "layer": 0, "toward": 3, "factor": 1.5}
    ]
    assert "1.5 times the direction of class 3 added to all tokens" in by_name.changes()
    add = {"kind": "add", "patches": "cls", "layer": 0, "toward": "class 3", "factor": 1}
    intact = analyze(tiny("cls"), photo())
    assert intact.operate([add]).interventions[0].to_dict()["toward"] == 3
    (many,) = vitviz.analyze_many(tiny("cls"), [photo()], interventions=[add])
    assert many.interventions[0].to_dict()["toward"] == 3


@pytest.mark.parametrize(
    ("name", "fields", "said"),
    [
        ("cls", {"toward": 7}, r"classes from 0 to 6|0 to 6"),
        ("cls", {"toward": -1}, r"0 to 6"),
        ("cls", {"toward": "tabby"}, r"tabby"),
        ("cls", {"toward": 1.5}, r"add is written like .*1\.5"),
        ("cls", {"layer": 3}, r"layer count from 0 to 2 in this model, got 3"),
        ("cls", {"layer": -1}, r"layer count from 0 to 2 in this model, got -1"),
        ("cls", {"patches": [16]}, r"patches count from 0 to 15 in this model, got 16"),
        ("cls", {"patches": []}, r"names no patches"),
        ("cls", {"patches": "prefix"}, r"add is written like .*prefix"),
        ("cls", {"factor": float("nan")}, r"add is written like .*nan"),
        ("cls", {"factor": float("inf")}, r"add is written like .*inf"),
        ("cls", {"factor": "2"}, r"add is written like"),
        ("cls", {"factor": True}, r"add is written like"),
        ("cls", {"factor": None}, r"add is written like"),
        ("cls", {"factor": 10**400}, r"add is written like"),
        ("cls", {"factor": 100.5}, r"a number from -100 to 100, got 100\.5"),
        ("cls", {"factor": -101}, r"a number from -100 to 100, got -101"),
        ("cls", {"vector": [1.0]}, r"add is written like"),
        ("no_cls", {"patches": "cls"}, r"no such prefix token"),
        ("registers", {}, r"no classes|reads none"),
        ("no_pool", {}, r"no classes|reads none"),
        ("map", {}, r"its head reads from the tokens; the head of this model reads none"),
    ],
)
def test_what_cannot_be_done_is_a_sentence(name: str, fields: dict, said: str) -> None:
    with pytest.raises(SelectionError, match=said):
        steered(name, **fields)
    removed = {"kind": "remove", "patches": [3]}
    with pytest.raises(SelectionError, match="patch 3 is removed; add cannot"):
        steered("cls", removed, patches=[3])


def test_a_factor_is_any_finite_number_of_python_or_numpy() -> None:
    for factor, kept in ((np.float32(0.5), 0.5), (np.int64(2), 2), (2.0, 2), (-0.0, 0)):
        (one,) = steered("cls", factor=factor).interventions
        assert repr(one.to_dict()["factor"]) == repr(kept)
