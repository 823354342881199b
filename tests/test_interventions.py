"""Interventions: closed forms and invariants on every small model, JSON, files, and sentences."""

import copy
import json
import threading
from dataclasses import fields, replace
from functools import partial

import numpy as np
import pytest
import torch
from torch.testing import assert_close

from tests.models import TINY, photo, tiny
from tests.running import at_once
from tests.test_trace import CLASSIFIERS, hooks
from vitviz import Analysis, LoadedModel, SelectionError, analyze
from vitviz.languages import dictionary, say
from vitviz.model.config import ViTConfig
from vitviz.probe.intervene.chance import Chance
from vitviz.probe.intervene.forms import NEEDS, Form, FormError
from vitviz.probe.intervene.intervention import (
    KINDS,
    Donor,
    Head,
    Intervention,
    Remove,
    Transplant,
    read,
)
from vitviz.probe.intervene.surgery import Surgery

POOLED = [name for name in TINY if TINY[name].global_pool]


def operated(name: str, *interventions: object, loaded: LoadedModel | None = None) -> Analysis:
    return analyze(loaded or tiny(name), photo(), interventions=list(interventions))


def changed(name: str, change) -> Analysis:
    """The photo in a copy of the model whose weights were changed: the reference for hooks."""
    loaded = tiny(name)
    vit = copy.deepcopy(loaded.vit)
    with torch.no_grad():
        change(vit)
    return analyze(replace(loaded, vit=vit), photo())


def other_photo(name: str) -> Analysis:
    return analyze(tiny(name), photo()[::-1, ::-1].copy())


def one_of_each(name: str) -> list[dict]:
    """Those of `each_kind` for one of the small models."""
    return each_kind(TINY[name], other_photo(name))


def each_kind(config: ViTConfig, other: Analysis) -> list[dict]:
    """One intervention of every kind that a model has a place for, in JSON's types."""
    some = [0, config.num_patches - 1]
    perturbed = [
        {"kind": "perturb", "target": target, "epsilon": 3, "steps": 2, "seed": 4}
        for target in ("away", "random", 0)
    ]
    steered = [
        {"kind": "add", "patches": "all", "layer": 0, "toward": 1, "factor": 0.5},
        {"kind": "add", "patches": some, "layer": config.depth - 1, "toward": 0, "factor": -2},
    ]
    tells = config.pos_embed or config.rotary or config.relative_bias
    values = [
        {"kind": "remove", "patches": some},
        {"kind": "keep", "patches": [1, 2, 3]},
        {"kind": "replace", "patches": some, "by": "black"},
        {"kind": "replace", "patches": some, "by": "mean"},
        {"kind": "replace", "patches": some, "by": "blur"},
        {"kind": "replace", "patches": some, "by": "noise", "seed": 3},
        {"kind": "shuffle", "cells": 1, "seed": 1},
        {"kind": "swap", "patches": some},
        *(perturbed if config.num_classes and config.global_pool else []),
        *(steered if config.num_classes and config.global_pool not in ("", "map") else []),
        *([{"kind": "positions", "by": "off"}] if tells else []),
        *([{"kind": "positions", "by": "shuffled", "seed": 2}] if tells else []),
        *([{"kind": "positions", "by": "learned off"}] if config.pos_embed else []),
        *([{"kind": "positions", "by": "rotary off"}] if config.rotary else []),
        {"kind": "head", "layer": 1, "head": 1, "by": "zero"},
        {"kind": "head", "layer": 0, "head": 0, "by": "mean"},
        {"kind": "branch", "layer": 1, "branch": "attention"},
        {"kind": "branch", "layer": 0, "branch": "mlp"},
        {"kind": "cut", "edges": "patches to others", "layers": [0], "heads": "all"},
        {"kind": "cut", "edges": [[1, 2], [0, 3]], "layers": "all", "heads": [1]},
        {"kind": "even", "rows": "patches", "layers": [0]},
        {"kind": "even", "rows": "all", "layers": "all"},
        {"kind": "scramble", "rows": "patches", "layers": "all", "seed": 0},
        {"kind": "transplant", "patches": "all", "layer": 1, "from": other},
        {"kind": "transplant", "patches": some, "layer": 0, "from": other},
    ]
    if config.prefix_names:
        values += [
            {"kind": "cut", "edges": "patches to prefix", "layers": "all", "heads": "all"},
            {"kind": "cut", "edges": "prefix to patches", "layers": [1], "heads": [0]},
        ]
    if config.class_token:
        values += [
            {"kind": "even", "rows": "cls", "layers": "all"},
            {"kind": "transplant", "patches": "cls", "layer": 1, "from": other},
            *([{**steered[1], "patches": "cls"}] if steered[1] in values else []),
        ]
    return values


# --- every kind, every model ----------------------------------------------------------------------


def test_every_kind_is_among_them() -> None:
    found = {one["kind"] for one in one_of_each("cls")}
    assert found == set(KINDS), "add one to each_kind in tests/test_interventions.py"


# A field of an intervention that holds neither words nor numbers and must not be left out.
PLAIN: dict = {"of": "", "words": (), "past": 0, "count": None, "needs": {}, "default": None}


def test_every_kind_has_a_sentence() -> None:
    texts = [f"{text}_" for text in dictionary("en", "experiments")]
    missing = [kind for kind in KINDS if not any(t.startswith(f"did_{kind}_") for t in texts)]
    assert missing == [], "add did_KIND to experiments.json of every language"


def test_every_kind_describes_itself_for_the_page() -> None:
    """A row says all that links, captions and the bench of the page need to know of a kind."""
    assert KINDS["head"].described() == {
        "touches": "heads",
        "example": '{"kind": "head", "layer": 2, "head": 3, "by": "zero"}',
        "told_by": "by",
        "same": ("layer", "head"),
        "again": False,
        "joins": False,
        "fields": {
            "layer": {**PLAIN, "shape": "number", "of": "layers"},
            "head": {**PLAIN, "shape": "number", "of": "heads"},
            "by": {**PLAIN, "shape": "word", "words": ("zero", "mean"), "default": "zero"},
        },
    }
    assert list(KINDS["transplant"].described()["fields"]) == ["patches", "layer", "from"]
    for kind in KINDS.values():
        assert kind.touches in ("pixels", "tokens", "edges", "heads")
        assert {kind.told_by, *(kind.same or ())} <= {"", *kind.forms()}
        if kind is not Transplant:
            (one,) = read([json.loads(kind.example)])
            assert isinstance(one, kind)
        for form in kind.forms().values():
            assert form.needs.keys() <= set(form.words)
            assert set(form.needs.values()) <= NEEDS.keys()


def test_a_model_without_what_a_word_needs_refuses_it() -> None:
    names = {one.name for one in fields(ViTConfig)}
    for need in NEEDS.values():
        assert set(need.fields) <= names
        assert need.error in dictionary("en", "experiments")
    for value, name, key in (
        ({"kind": "even", "rows": "cls"}, "no_cls", "no_prefix"),
        ({"kind": "cut", "edges": "prefix to patches"}, "no_cls", "no_prefix"),
        ({"kind": "positions", "by": "rotary off"}, "cls", "no_positions"),
        ({"kind": "positions", "by": "learned off"}, "relative", "no_positions"),
    ):
        with pytest.raises(SelectionError) as refused:
            operated(name, value)
        assert refused.value.args[0].key == f"experiments.{key}", value
    operated("relative", {"kind": "positions", "by": "off"})


def test_a_form_reads_numbers_and_words_and_nothing_else() -> None:
    layers = Form("list", "layers", ("all",))
    assert layers.read([2, 0], kind="cut", name="layers") == (2, 0)
    assert layers.read("all", kind="cut", name="layers") == "all"
    assert layers.numbers((2, 0)) == (2, 0)
    assert layers.numbers("all") == ()
    edges = Form("pairs", "tokens", ("patches to prefix",))
    assert edges.numbers(edges.read([[1, 2], (3, 4)], kind="cut", name="edges")) == (1, 2, 3, 4)
    config = TINY["cls"]  # 4 x 4 patches and CLS, 3 layers, 2 heads
    ends = [Form("number", of).end(config) for of in ("patches", "tokens", "layers", "heads")]
    assert ends == [16, 17, 3, 2]
    assert Form("number", "layers", past=1).end(config) == 4
    assert Form("number", "seeds").end(config) is None
    seed = Form("number", "seeds")
    for form, value in (
        (layers, 2), (layers, "none"), (layers, [1.5]), (layers, {0: 1}), (edges, [[1]]),
        (edges, [1]), (edges, "edges"), (seed, -1), (seed, 2**31), (seed, True), (seed, "0"),
        (layers, [2**31]), (layers, [0, -(2**61)]), (edges, [[0, 2**31]]),
        (Form("word", words=("off",)), "on"), (Form("word", words=("off",)), 0),
    ):  # fmt: skip
        with pytest.raises(FormError):
            form.read(value, kind="cut", name="edges")


def test_what_is_done_twice_is_refused_only_where_it_would_contradict_itself() -> None:
    for value in one_of_each("cls"):
        kind = KINDS[value["kind"]]
        if kind.same is None or kind.again:
            operated("cls", value, value)
        else:
            with pytest.raises(SelectionError, match="twice"):
                operated("cls", value, value)


@pytest.mark.parametrize("name", TINY)
def test_what_the_trace_shows_is_what_the_operated_blocks_compute(name: str) -> None:
    """`verify` sends the trace's maps through the projection; no map may keep what was cut."""
    intact, before = analyze(tiny(name), photo()), hooks(tiny(name).vit)
    for value in one_of_each(name):
        analysis = operated(name, value)
        assert analysis.verify(tiny(name)) < 1e-4, value  # which knows its model again
        for layer in range(analysis.trace.depth):
            maps = analysis.trace.attention(layer)
            assert_close(maps.sum(-1), torch.ones(maps.shape[:2]))
        same = torch.equal(analysis.trace.tokens, intact.trace.tokens)
        assert not same, f"{value} changed nothing"
        assert analysis.grid == intact.grid
        assert analysis.trace.tokens.shape == intact.trace.tokens.shape
        if analysis.lens is not None:
            assert_close(analysis.lens[-1], analysis.trace.logits, atol=1e-4, rtol=1e-4)
        assert analysis.head_statistics().entropy.isfinite().all()
        assert analysis.trace.rounded(0).lse.isfinite().all()
        assert analysis.rollout().isfinite().all()
    assert hooks(tiny(name).vit) == before
    restored = analyze(tiny(name), photo())
    for part in ("q", "k", "tokens", "logits"):
        assert torch.equal(getattr(restored.trace, part), getattr(intact.trace, part))


@pytest.mark.parametrize("name", TINY)
def test_json_and_files_give_the_same_analysis_back(name: str) -> None:
    for value in one_of_each(name):
        (one,) = read([value])
        assert isinstance(one, Intervention)
        assert Surgery((one,), TINY[name]).interventions == (one,)
        if one.kind != "transplant":
            assert json.loads(json.dumps(one.to_dict())) == {**one.to_dict()}
            assert read([one.to_dict()]) == (one,)
            assert {**value, **one.to_dict()} == one.to_dict()
        assert say(one.sentence(), "ko") != one.sentence()
        analysis = operated(name, one)
        again = Analysis.from_bytes(analysis.to_bytes())
        assert again.interventions == analysis.interventions == (one,)
        assert again.summary() == analysis.summary()
        assert again.summary()["interventions"] == [one.to_dict()]
        assert one.sentence() in again.changes() in repr(again)
        for layer in range(again.trace.depth):
            assert torch.equal(again.trace.attention(layer), analysis.trace.attention(layer))
        assert again.verify(tiny(name)) < 1e-4


@pytest.mark.parametrize("name", POOLED)
def test_patches_taken_out_of_a_shorter_sequence_are_those_removed(name: str) -> None:
    """Really taken out (`Case.logits_with`) or masked (`remove`): with any other intervention."""
    config = TINY[name]
    gone = list(range(1, config.num_patches, 2))
    kept = torch.tensor([one for one in range(config.num_patches) if one not in gone])
    done = {"kind": "remove", "patches": gone}
    for value in [None, *one_of_each(name)]:
        named = value.get("patches", value.get("tokens")) if value else None
        if value and (value["kind"] in ("remove", "keep") or isinstance(named, list)):
            continue
        others = [value] if value else []
        short = operated(name, *others)
        case = replace(
            short.case("centre"), vit=tiny(name).vit, surgery=Surgery(read(others), config)
        )
        found = case.logits_with_patches([kept])[0]
        masked = operated(name, *others, done)
        assert_close(found, masked.trace.logits, atol=2e-4, rtol=2e-4, msg=str(value))


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_explainers_take_operated_models(name: str) -> None:
    for value in one_of_each(name):
        analysis = operated(name, value)
        many = ("occlusion",) if value["kind"] in ("remove", "cut") else ()
        for key in ("attention_gradient", "generic", "grad_cam", *many):
            assert analysis.explain(key).isfinite().all(), (value, key)
    # A head that is off has no part in the answer, whatever it looks at.
    analysis = operated(name, *(Head(0, h) for h in range(TINY[name].num_heads)))
    trace = analysis.case("generic").trace
    assert not trace.g[0].any()


# --- closed forms ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", POOLED)
def test_removing_equals_taking_out_of_the_sequence(name: str) -> None:
    """A forward pass over the other tokens alone, written out."""
    loaded, config = tiny(name), TINY[name]
    gone = [0, 3, config.num_patches - 1]
    analysis = operated(name, {"kind": "remove", "patches": gone})
    first = config.num_prefix_tokens
    kept = [i for i in range(config.num_tokens) if i - first not in gone]
    x = loaded.vit.norm_pre(loaded.vit.embed(analysis.pixels[None]))[:, kept]
    for layer, block in enumerate(loaded.vit.blocks):
        x = block(x, torch.tensor([kept]))
        assert_close(analysis.trace.tokens[layer + 1][kept], x[0], atol=1e-4, rtol=1e-4)
    logits = loaded.vit.forward_head(loaded.vit.norm(x))[0]
    assert_close(analysis.trace.logits, logits, atol=1e-4, rtol=1e-4)
    removed = [first + one for one in gone]
    for layer in range(config.depth):
        maps = analysis.trace.attention(layer)
        assert not maps[:, kept][:, :, removed].any()
        assert_close(maps[:, removed, removed], torch.ones(config.num_heads, len(removed)))
    keep = {"kind": "keep", "patches": [i - first for i in kept if i >= first]}
    assert torch.equal(operated(name, keep).trace.logits, analysis.trace.logits)


@pytest.mark.parametrize("name", TINY)
def test_positions_off_and_shuffled(name: str) -> None:
    """All that there are: learned ones, those that turn q and k, and the bias of the scores."""

    def off(vit) -> None:
        for key, parameter in vit.named_parameters():
            if key == "pos_embed" or key.endswith(("angles.freqs", "relative.table")):
                parameter.zero_()

    def shuffled(vit) -> None:
        order = Chance(2, "positions").permutation(vit.config.num_patches)
        if vit.pos_embed is not None:
            first = vit.pos_embed.shape[1] - len(order)
            vit.pos_embed[:, first:] = vit.pos_embed[:, first:][:, order].clone()
        first = vit.config.num_prefix_tokens
        places = torch.cat([torch.arange(first), first + order])
        for attn in (block.attn for block in vit.blocks):
            if attn.angles is not None:
                angles = attn.angles(None, torch.device("cpu"))[:, :, places]
                attn.angles.forward = lambda *_, angles=angles: angles
            if (relative := attn.score_bias.relative) is not None:
                pairs = relative(None)[:, :, places][:, :, :, places]
                relative.forward = lambda *_, pairs=pairs: pairs

    without = operated(name, {"kind": "positions", "by": "off"})
    assert torch.equal(without.trace.tokens, changed(name, off).trace.tokens)
    assert not without.embedding.position.any()
    moved = operated(name, {"kind": "positions", "by": "shuffled", "seed": 2})
    assert torch.equal(moved.trace.tokens, changed(name, shuffled).trace.tokens)
    # Without positions the order of the patches makes no difference to what pools them.
    if TINY[name].global_pool and TINY[name].num_classes:
        both = operated(name, {"kind": "shuffle", "cells": 1}, {"kind": "positions", "by": "off"})
        assert_close(both.trace.logits, without.trace.logits, atol=1e-4, rtol=1e-4)
        ordered = operated(name, {"kind": "shuffle", "cells": 1})
        intact = analyze(tiny(name), photo())
        assert not torch.allclose(ordered.trace.logits, intact.trace.logits, atol=1e-3)
    # Nor may positions follow the patches: one seed gives two orders.
    shuffles = [{"kind": "shuffle", "cells": 1}, {"kind": "positions", "by": "shuffled"}]
    two = operated(name, *shuffles).trace.tokens[-1]
    one = analyze(tiny(name), photo()).trace.tokens[-1]
    assert not torch.allclose(two.mean(dim=0), one.mean(dim=0), atol=1e-3)


def test_one_of_two_kinds_of_positions_is_off() -> None:
    def learned(vit) -> None:
        vit.pos_embed.zero_()

    def rotary(vit) -> None:
        for block in vit.blocks:
            block.attn.angles.freqs.zero_()

    def both(vit) -> None:
        learned(vit), rotary(vit)

    for by, change in (("learned off", learned), ("rotary off", rotary), ("off", both)):
        without = operated("rotary", {"kind": "positions", "by": by})
        assert torch.equal(without.trace.tokens, changed("rotary", change).trace.tokens)
        assert bool(without.embedding.position.any()) == (by == "rotary off")
    for name, by in (
        ("cls", "rotary off"),
        ("relative", "learned off"),
        ("relative", "rotary off"),
    ):
        with pytest.raises(SelectionError, match="no positions of this kind"):
            operated(name, {"kind": "positions", "by": by})


def test_a_bias_of_the_scores_goes_with_what_is_done_to_queries() -> None:
    """Rows made even are even, and a row of another patch is that row with its bias."""
    intact = analyze(tiny("relative"), photo()).trace
    even = operated("relative", {"kind": "even", "rows": "patches", "layers": [0]}).trace
    assert_close(even.attention(0)[:, 1:], torch.full((2, 12, 13), 1 / 13))
    assert torch.equal(even.attention(0)[:, 0], intact.attention(0)[:, 0])
    dealt = operated("relative", {"kind": "scramble", "rows": "patches", "layers": [0]}).trace
    order = 1 + Chance(0, "scramble").permutation(12).argsort()
    assert_close(dealt.attention(0)[:, 1:], intact.attention(0)[:, order])
    assert not torch.equal(order, torch.arange(1, 13))


def test_pixels_are_replaced_swapped_and_shuffled() -> None:
    name, intact = "no_cls", analyze(tiny("no_cls"), photo())  # 3 x 5 patches of 8
    swap = {"kind": "swap", "patches": [1, 13]}
    swapped = operated(name, swap).picture
    assert torch.equal(swapped[:8, 8:16], intact.picture[16:, 24:32])
    assert torch.equal(swapped[16:, 24:32], intact.picture[:8, 8:16])
    assert torch.equal(swapped[8:16], intact.picture[8:16])
    twice = operated(name, swap, swap)
    assert torch.equal(twice.trace.logits, intact.trace.logits)
    black = operated(name, {"kind": "replace", "patches": [1], "by": "black"}).picture
    assert not black[:8, 8:16].any()
    assert torch.equal(black[8:], intact.picture[8:])
    # In order: black first and then moved, or moved and another patch made black.
    moved = operated(name, {"kind": "replace", "patches": [1], "by": "black"}, swap).picture
    assert not moved[16:, 24:32].any()
    assert moved[:8, 8:16].any()
    mean = operated(name, {"kind": "replace", "patches": [0], "by": "mean"}).picture
    assert_close(mean[0, 0].float(), intact.picture.float().mean((0, 1)), atol=0.5, rtol=0)
    noise = [
        operated(name, {"kind": "replace", "patches": [0], "by": "noise", "seed": seed}).picture
        for seed in (1, 1, 2)
    ]
    assert torch.equal(noise[0], noise[1])
    assert not torch.equal(noise[0], noise[2])
    draws = Chance(1, "noise").below([256] * intact.picture.numel()).view_as(intact.picture)
    assert torch.equal(noise[0][:8, :8].long(), draws[:8, :8])
    assert torch.equal(noise[0][8:], intact.picture[8:])
    blurred = operated(name, {"kind": "replace", "patches": [7], "by": "blur"}).picture
    patch = intact.grid.patch(blurred, 7).float()
    sharp = intact.grid.patch(intact.picture, 7).float()
    assert patch.diff(dim=0).abs().mean() < sharp.diff(dim=0).abs().mean() / 2


@pytest.mark.parametrize("name", TINY)
def test_a_saved_analysis_is_operated_as_its_photo_is(name: str) -> None:
    loaded = tiny(name)
    saved = Analysis.from_bytes(analyze(loaded, photo(), invert=True).to_bytes())
    for value in [*one_of_each(name), []]:
        changes = [value] if value else []
        ours = saved.operate(changes, loaded=loaded)
        theirs = analyze(loaded, photo(), invert=True, interventions=changes)
        assert ours.to_bytes() == theirs.to_bytes(), value
    once = saved.operate([{"kind": "even", "rows": "all"}], loaded=loaded)
    with pytest.raises(SelectionError, match="changed already"):
        once.operate([{"kind": "even", "rows": "all"}])


def test_the_sharper_photo_is_kept_only_where_it_shows_what_the_model_saw() -> None:
    intact, gone, black = (
        operated("cls", *changes)
        for changes in (
            (),
            ({"kind": "remove", "patches": [1]},),
            ({"kind": "replace", "patches": [1], "by": "black"},),
        )
    )
    assert intact.photograph.crop is not None
    assert gone.photograph.crop == intact.photograph.crop
    assert black.photograph.crop is None
    assert black.photograph.frame == intact.photograph.frame


def test_cells_move_as_a_whole() -> None:
    analysis = operated("grey", {"kind": "shuffle", "cells": 2, "seed": 1})  # 4 x 4 patches of 7
    intact = analyze(tiny("grey"), photo())

    def cells(picture: torch.Tensor) -> list[list[int]]:
        found = picture.view(2, 14, 2, 14).permute(0, 2, 1, 3).flatten(2).flatten(0, 1)
        return found.tolist()

    order = Chance(1, "shuffle").permutation(4).tolist()
    assert order != [0, 1, 2, 3]
    assert cells(analysis.picture) == [cells(intact.picture)[one] for one in order]
    # The pixels that entered are those of the picture that is shown.
    assert_close(analysis.pixels[0], (analysis.picture[..., 0] / 255 - 0.5) / 0.25)


@pytest.mark.parametrize("name", TINY)
def test_heads_and_branches_that_are_off_are_weights_that_are_zero(name: str) -> None:
    size = TINY[name].head_dim

    def head(vit) -> None:
        vit.blocks[1].attn.proj.weight[:, size : 2 * size] = 0

    def attention(vit) -> None:
        vit.blocks[1].attn.proj.weight.zero_()
        vit.blocks[1].attn.proj.bias.zero_()

    def mlp(vit) -> None:
        vit.blocks[0].mlp.fc2.weight.zero_()
        vit.blocks[0].mlp.fc2.bias.zero_()

    for value, change in (
        ({"kind": "head", "layer": 1, "head": 1}, head),
        ({"kind": "branch", "layer": 1, "branch": "attention"}, attention),
        ({"kind": "branch", "layer": 0, "branch": "mlp"}, mlp),
    ):
        found, expected = operated(name, value).trace, changed(name, change).trace
        assert_close(found.tokens, expected.tokens, atol=1e-5, rtol=1e-4)
    whole = operated(name, *(Head(0, h, "mean") for h in range(TINY[name].num_heads)))
    intact = analyze(tiny(name), photo(), values=True).trace
    mixed = (intact.attention(0) @ intact.v[0]).mean(1).flatten()
    attn = tiny(name).vit.blocks[0].attn
    branch = tiny(name).vit.blocks[0].ls1(attn.proj(mixed))
    heard: list[torch.Tensor] = []
    handle = (
        tiny(name)
        .vit.blocks[0]
        .norm2.register_forward_pre_hook(lambda _m, args: heard.append(args[0]))
    )
    surgery = Surgery(whole.interventions, TINY[name])
    with surgery.applied(tiny(name).vit):
        tiny(name).vit(whole.pixels[None])
    handle.remove()
    assert_close(heard[0][0], intact.tokens[0] + branch, atol=1e-5, rtol=1e-4)


def masked_logits(name: str, cut) -> torch.Tensor:
    """The model with an explicit softmax in which `cut(layer, head, query, key)` is left out."""
    vit, taps, handles = tiny(name).vit, {}, []
    config = TINY[name]
    for layer, block in enumerate(vit.blocks):

        def hear(_m, _a, qkv, layer=layer):
            taps[layer] = qkv

        def mix(_m, _a, _fused, layer=layer, scale=block.attn.scale):
            q, k, v = taps[layer]
            scores = q @ k.mT * scale
            n = config.num_tokens
            for head in range(config.num_heads):
                for query in range(n):
                    for key in range(n):
                        if cut(layer, head, query, key):
                            scores[:, head, query, key] = -torch.inf
            return scores.softmax(-1) @ v

        handles.append(block.attn.tap.register_forward_hook(hear))
        handles.append(block.attn.mixed.register_forward_hook(mix))
    pixels = analyze(tiny(name), photo()).pixels[None]
    try:
        return vit(pixels)[0]
    finally:
        for handle in handles:
            handle.remove()


@pytest.mark.parametrize("name", ["cls", "no_cls", "distilled", "map"])
def test_cut_edges_are_left_out_of_the_softmax(name: str) -> None:
    first = TINY[name].num_prefix_tokens
    rules = {
        "patches to others": lambda q, k: q >= first and k >= first and q != k,
        "patches to prefix": lambda q, k: q >= first > k,
        "prefix to patches": lambda q, k: k >= first > q,
    }
    for edges, rule in rules.items():
        if "prefix" in edges and not first:
            continue
        value = {"kind": "cut", "edges": edges, "layers": [1], "heads": [0, 1]}
        expected = masked_logits(
            name, lambda layer, h, q, k, rule=rule: layer == 1 and h < 2 and rule(q, k)
        )
        assert_close(operated(name, value).trace.logits, expected, atol=1e-4, rtol=1e-4)
    pairs = [[0, 1], [4, 2], [4, 4]]
    value = {"kind": "cut", "edges": pairs}
    expected = masked_logits(name, lambda _l, _h, q, k: [q, k] in pairs)
    assert_close(operated(name, value).trace.logits, expected, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("name", TINY)
def test_even_rows_are_one_nth_and_scrambled_rows_those_of_other_patches(name: str) -> None:
    n, first = TINY[name].num_tokens, TINY[name].num_prefix_tokens
    intact = analyze(tiny(name), photo()).trace
    maps = operated(name, {"kind": "even", "rows": "patches", "layers": [0]}).trace.attention(0)
    assert_close(maps[:, first:], torch.full_like(maps[:, first:], 1 / n))
    assert_close(maps[:, :first], intact.attention(0)[:, :first])
    scrambled = operated(name, {"kind": "scramble", "layers": [0]}).trace.attention(0)
    before, after = intact.attention(0)[0, first:], scrambled[0, first:]
    nearest = torch.cdist(after, before).argmin(1)
    assert torch.equal(nearest, Chance(0, "scramble").permutation(n - first).argsort())
    assert nearest.tolist() != list(range(n - first))
    assert_close(after, before[nearest])


@pytest.mark.parametrize(
    "name", [one for one in TINY if TINY[one].global_pool == "token" and TINY[one].num_classes]
)
def test_rows_of_patches_in_the_last_block_change_nothing_for_cls(name: str) -> None:
    intact, last = analyze(tiny(name), photo()), TINY[name].depth - 1
    for value in (
        {"kind": "scramble", "layers": [last]},
        {"kind": "even", "rows": "patches", "layers": [last]},
    ):
        analysis = operated(name, value)
        assert torch.equal(analysis.trace.logits, intact.trace.logits)
        assert not torch.equal(analysis.trace.tokens[-1], intact.trace.tokens[-1])
    row = operated(name, {"kind": "even", "rows": "cls", "layers": [last]})
    assert not torch.allclose(row.trace.logits, intact.trace.logits, atol=1e-3)


@pytest.mark.parametrize("name", TINY)
def test_a_whole_transplant_gives_the_donors_answer(name: str) -> None:
    donor, intact = other_photo(name), analyze(tiny(name), photo())
    assert not torch.allclose(donor.trace.logits, intact.trace.logits, atol=1e-3)
    for layer in range(TINY[name].depth + 1):
        value = {"kind": "transplant", "patches": "all", "layer": layer, "from": donor}
        analysis = operated(name, value)
        assert_close(analysis.trace.logits, donor.trace.logits, atol=1e-5, rtol=1e-5)
        assert torch.equal(analysis.trace.tokens[layer], donor.trace.tokens[layer])
    if TINY[name].global_pool == "token" and not TINY[name].dist_token:
        value = {"kind": "transplant", "patches": "cls", "layer": layer, "from": donor}
        assert_close(operated(name, value).trace.logits, donor.trace.logits)
    some = {"kind": "transplant", "patches": [1, 2], "layer": 0, "from": donor}
    first = TINY[name].num_prefix_tokens
    tokens = operated(name, some).trace.tokens[0]
    rows = [first + 1, first + 2]
    assert torch.equal(tokens[rows], donor.trace.tokens[0][rows])
    assert torch.equal(tokens[first + 3 :], intact.trace.tokens[0][first + 3 :])


# --- threads and refusals -------------------------------------------------------------------------


def test_threads_that_operate_do_not_touch_each_other() -> None:
    name, rounds = "cls", 5
    values = [[], *([one] for one in one_of_each(name))]
    alone = [operated(name, *value).trace.logits for value in values]
    together, wrong = threading.Barrier(len(values)), []

    def work(number: int) -> None:
        for _ in range(rounds):
            together.wait(60)
            if not torch.equal(operated(name, *values[number]).trace.logits, alone[number]):
                wrong.append(values[number])

    at_once(*(partial(work, number) for number in range(len(values))))
    assert wrong == []
    assert hooks(tiny(name).vit) == 0


P = TINY["cls"].num_patches


def test_what_cannot_be_done_is_a_sentence_in_both_languages(subtests: pytest.Subtests) -> None:
    for values, sentence in [
        ({"kind": "remove", "patches": [1]}, "interventions are a list"),
        ("remove", "interventions are a list"),
        ([{"kind": "fold"}], "an intervention has a kind, one of remove, keep"),
        (["remove"], "an intervention has a kind"),
        ([{"kind": ["remove"]}], "an intervention has a kind"),
        ([{"kind": "remove"}], 'remove is written like {"kind": "remove"'),
        ([{"kind": "remove", "patches": [1], "by": "mean"}], "remove is written like"),
        ([{"kind": "remove", "patches": 1}], "remove is written like"),
        ([{"kind": "remove", "patches": [1.5]}], "remove is written like"),
        ([{"kind": "remove", "patches": [True]}], "remove is written like"),
        ([{"kind": "remove", "patches": []}], "remove names no patches"),
        ([{"kind": "remove", "patches": [1, 1]}], "remove names 1 twice"),
        ([{"kind": "remove", "patches": [*range(10**5), 99_999]}], "remove names 99999 twice"),
        ([{"kind": "remove", "patches": [P]}], f"count from 0 to {P - 1} in this model, got {P}"),
        ([{"kind": "remove", "patches": [-1]}], "got -1"),
        ([{"kind": "remove", "patches": list(range(P))}], "nothing would be left"),
        (
            [{"kind": "keep", "patches": [1]}, {"kind": "keep", "patches": [2]}],
            "nothing would be left",
        ),
        (
            [{"kind": "keep", "patches": [1, 2]}, {"kind": "remove", "patches": [2]}],
            "patch 2 is both removed and kept",
        ),
        (
            [{"kind": "remove", "patches": [2]}, {"kind": "swap", "patches": [2, 3]}],
            "patch 2 is removed; swap cannot change it",
        ),
        ([{"kind": "replace", "patches": [0], "by": "pink"}], "replace is written like"),
        ([{"kind": "replace", "patches": [0], "by": "noise", "seed": -1}], "replace is written"),
        ([{"kind": "positions", "by": np.array(["off"])}], "positions is written like"),
        ([{"kind": "shuffle", "cells": 2, "seed": 2**31}], "shuffle is written like"),
        ([{"kind": "shuffle", "cells": 3}], "cells of 3 x 3 patches do not divide the 4 x 4"),
        ([{"kind": "shuffle", "cells": 4}], "do not divide"),
        ([{"kind": "shuffle", "cells": 0}], "do not divide"),
        ([{"kind": "swap", "patches": [1, 2, 3]}], "swap is written like"),
        (
            [{"kind": "positions", "by": "off"}, {"kind": "positions", "by": "shuffled"}],
            "positions are changed twice",
        ),
        ([{"kind": "head", "layer": 3, "head": 0}], "layer count from 0 to 2"),
        ([{"kind": "head", "layer": 0, "head": 2}], "head count from 0 to 1"),
        ([Head(1, 0), Head(1, 0, "mean")], "head 0 of layer 1 is turned off twice"),
        (
            [{"kind": "branch", "layer": 1, "branch": "attention"}, Head(1, 0)],
            "the attention of layer 1 is left out, so head has nothing to change",
        ),
        ([{"kind": "branch", "layer": 1, "branch": "norm"}], "branch is written like"),
        ([{"kind": "cut", "edges": "cls to all"}], "cut is written like"),
        ([{"kind": "cut", "edges": [[0]]}], "cut is written like"),
        ([{"kind": "cut", "edges": []}], "cut names no edges"),
        ([{"kind": "cut", "edges": [[0, P + 1]]}], f"edges count from 0 to {P}"),
        ([{"kind": "cut", "edges": [[0, 1]], "layers": [5]}], "layers count from 0 to 2"),
        ([{"kind": "cut", "edges": [[0, 1]] * 5000}], "at most 4096 edges"),
        (
            [{"kind": "cut", "edges": [[0, key] for key in range(P + 1)]}],
            "token 0 would have nothing left to look at in layer 0",
        ),
        (
            [{"kind": "cut", "edges": [[4, key] for key in range(P + 1)], "layers": [1]}],
            "token 4 would have nothing left to look at in layer 1",
        ),
        ([{"kind": "even", "rows": "none"}], "even is written like"),
        ([{"kind": "transplant", "patches": "cls", "layer": 0}], "transplant is written like"),
        (
            [{"kind": "transplant", "patches": "cls", "layer": 0, "from": "cat"}],
            "takes its tokens from another analysis",
        ),
        ([{"kind": "positions", "by": "off"}] * 65, "at most 64 interventions"),
    ]:
        with subtests.test(values=values):
            with pytest.raises(SelectionError) as caught:
                analyze(tiny("cls"), photo(), interventions=values)
            assert sentence in str(caught.value)
            assert say(caught.value.message, "ko") != str(caught.value)


def test_what_a_model_does_not_have_cannot_be_changed() -> None:
    with pytest.raises(SelectionError, match="no such prefix token"):
        operated("no_cls", {"kind": "cut", "edges": "patches to prefix"})
    with pytest.raises(SelectionError, match="no such prefix token"):
        operated("no_cls", {"kind": "even", "rows": "cls"})
    donor = analyze(tiny("grey"), photo())
    value = {"kind": "transplant", "patches": "cls", "layer": 0, "from": donor}
    with pytest.raises(SelectionError, match="has 17 x 16 numbers"):
        operated("cls", value)


def test_cells_divide_rows_and_columns() -> None:
    assert tiny("no_cls").vit.config.grid_size == (3, 5)
    for cells in (3, 5):  # each divides one side alone
        with pytest.raises(SelectionError, match=f"{cells} x {cells} patches do not divide"):
            operated("no_cls", {"kind": "shuffle", "cells": cells})


def test_a_token_that_is_blind_in_the_last_layer_alone_is_refused() -> None:
    config = tiny("cls").vit.config
    last, keys = config.depth - 1, [[3, key] for key in range(config.num_tokens)]
    with pytest.raises(SelectionError, match=f"token 3 .* in layer {last}"):
        operated("cls", {"kind": "cut", "edges": keys, "layers": [last]})


def test_the_patches_that_were_left_out_are_named_in_order() -> None:
    assert operated("cls", {"kind": "remove", "patches": [3, 1]}).removed == [1, 3]
    assert analyze(tiny("cls"), photo()).removed == []


def test_the_largest_seed_is_taken() -> None:
    assert read([{"kind": "shuffle", "cells": 2, "seed": 2**31 - 1}])[0].seed == 2**31 - 1


@pytest.mark.parametrize("name", POOLED)
def test_the_mean_of_a_head_leaves_out_what_was_removed(name: str) -> None:
    done = {"kind": "remove", "patches": [0, 2]}
    analysis = operated(name, done, {"kind": "head", "layer": 1, "head": 1, "by": "mean"})
    assert analysis.verify() < 1e-4


def test_donors_are_alike_that_have_one_name_and_the_same_tokens() -> None:
    tokens = torch.arange(6.0).view(2, 3)
    one = Donor("a cat", tokens)
    assert one == Donor("a cat", tokens.clone())
    assert hash(one) == hash(Donor("a cat", tokens.clone()))
    for other in (Donor("a dog", tokens), Donor("a cat", tokens + 1), Donor("a cat", tokens[:1])):
        assert one != other


def test_an_intervention_is_a_frozen_value() -> None:
    one = Remove([3, 1])
    assert one.patches == (3, 1)
    assert one == Remove((3, 1))
    assert hash(one) == hash(Remove((3, 1)))
    with pytest.raises(AttributeError):
        one.patches = (1,)


def test_a_viewer_is_told_what_was_changed_and_which_patches_were_left_out() -> None:
    from vitviz.payload import pack

    changes = [{"kind": "keep", "patches": [0, 2]}, {"kind": "cut", "edges": [[0, 1]]}]
    kept = operated("cls", *changes)
    for one in (kept, Analysis.from_bytes(kept.to_bytes())):
        manifest = pack(one).manifest
        assert manifest["pass"]["removed"] == [1, *range(3, 16)]
        assert manifest["pass"]["changes"] == [
            {"kind": "keep", "patches": [0, 2]},
            {"kind": "cut", "edges": [[0, 1]], "layers": "all", "heads": "all"},
        ]
    assert "<iframe" in kept._repr_html_()
    assert pack(analyze(tiny("cls"), photo())).manifest["pass"]["changes"] == []


@pytest.mark.parametrize("name", POOLED)
def test_a_hook_of_ones_own_is_heard_by_the_pass_and_by_the_explainers(name: str) -> None:
    """A vector added behind a block does what adding it to the last bias of the block does."""
    loaded = replace(tiny(name), vit=copy.deepcopy(tiny(name).vit))
    direction = torch.linspace(-1, 1, loaded.card.config.embed_dim)

    def steer(vit) -> None:
        scale = getattr(vit.blocks[0].ls2, "gamma", 1)
        vit.blocks[0].mlp.fc2.bias += direction / scale

    reference = changed(name, steer)
    intact = analyze(loaded, photo())
    steering = loaded.vit.blocks[0].register_forward_hook(lambda block, given, x: x + direction)
    steered = analyze(loaded, photo())
    assert_close(steered.trace.tokens[1], intact.trace.tokens[1] + direction)
    assert_close(steered.trace.logits, reference.trace.logits, rtol=1e-4, atol=1e-5)
    if name in CLASSIFIERS:
        values = reference.explain("generic")
        assert_close(steered.explain("generic"), values, rtol=1e-4, atol=1e-6)
    steering.remove()
    assert not torch.equal(steered.trace.logits, intact.trace.logits)
