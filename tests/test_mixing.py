"""From shares and values to the residual sum, against what the model's own blocks do."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch.testing import assert_close

from tests.models import TINY, photo, spread, tiny, with_pass
from vitviz import Analysis, SelectionError, ViT, VitvizError, analyze
from vitviz.model.loaded import LoadedModel
from vitviz.payload import pack

# Blocks of other families: norms around the projection, each kind of norm, no biases.
OTHERS = {
    "norm between": {"attn_norm": True},
    "norm between, rms": {"attn_norm": True, "norm": "rmsnorm", "proj_bias": False},
    "norm behind": {"post_norm": True, "attn_norm": True},
    "norm behind, rms": {"post_norm": True, "norm": "rmsnorm", "qkv_bias": False},
    "no bias, scaled": {"proj_bias": False, "layer_scale": True, "qk_norm": True},
}


def model(name: str) -> LoadedModel:
    if name in TINY:
        return tiny(name)
    like = tiny("cls")
    config = replace(TINY["cls"], **OTHERS[name])
    vit = spread(ViT(config), seed=5).eval().requires_grad_(False)
    return LoadedModel(vit, replace(like.card, config=config), like.preprocess)


@pytest.mark.parametrize("name", [*TINY, *OTHERS])
def test_the_heads_add_up_to_what_the_block_adds(name: str, subtests: pytest.Subtests) -> None:
    for values in (False, True):
        with subtests.test(values=values):
            add_up_the_heads(name, values)


@pytest.mark.parametrize("name", [*TINY, *OTHERS])
def test_the_sums_of_hidden_units_are_what_the_activation_gets(name: str) -> None:
    loaded = model(name)
    seen: list[torch.Tensor] = []
    handles = [
        block.mlp.act.register_forward_pre_hook(lambda _, args: seen.append(args[0][0]))
        for block in loaded.vit.blocks
    ]
    analysis = analyze(loaded, photo())
    for handle in handles:
        handle.remove()
    for layer, exact in enumerate(seen[: analysis.trace.depth]):
        found = analysis.hidden_sums(layer)
        assert found.shape == exact.shape
        assert_close(found, exact, atol=1e-4, rtol=1e-4)
    changed = analysis.operate([{"kind": "branch", "layer": 1, "branch": "mlp"}])
    with pytest.raises(SelectionError, match="a head or a branch was changed"):
        changed.hidden_sums(0)


def add_up_the_heads(name: str, values: bool) -> None:
    loaded = model(name)
    after = []  # what the second half of each block gets, before its norm
    for block in loaded.vit.blocks:
        heard = block.mlp if block.post_norm else block.norm2
        after.append(heard.register_forward_pre_hook(lambda _, args: seen.append(args[0][0])))
    seen: list[torch.Tensor] = []
    analysis = analyze(loaded, photo(), values=values)
    for handle in after:
        handle.remove()
    trace = analysis.trace
    for layer in range(trace.depth):
        token, head = trace.num_tokens - 2, layer % trace.num_heads
        found = analysis.mix(layer, head, token)
        assert_close(found.after, seen[layer][token], atol=1e-4, rtol=1e-4)
        assert_close(found.before, trace.tokens[layer, token])
        assert_close(found.change, found.parts.sum(dim=0) + found.rest)
        assert_close(found.mixed, trace.attention(layer)[head, token] @ found.v)
        assert torch.equal(found.added, found.parts[head])
        shares = [analysis.mix(layer, one, token).share for one in range(trace.num_heads)]
        rest = float(found.rest @ found.change / found.change.square().sum())
        assert sum(shares) + rest == pytest.approx(1, abs=1e-4)
        assert found.share == shares[head]


@pytest.mark.parametrize("name", ["cls", "no_cls", "registers", "norm between"])
def test_a_head_adds_what_is_missing_without_it(name: str) -> None:
    """Norms keep the length that they had with the head: what is taken away is the head's alone."""
    loaded = model(name)
    analysis = analyze(loaded, photo())
    block, layer, head, token = loaded.vit.blocks[1], 1, 1, 3
    found, all_ = analysis.mix(layer, head, token), analysis.mixing(layer)
    assert_close(all_.normed[token], found.normed)
    heads = torch.stack([analysis.mix(layer, h, token).mixed for h in range(all_.v.shape[0])])
    whole, without = heads.flatten(), heads.clone()
    without[head] = 0
    norm = block.attn.norm

    def sent(mixed: torch.Tensor) -> torch.Tensor:
        if name == "norm between":
            centred = mixed - mixed.mean()
            mixed = centred / (whole.var(unbiased=False) + norm.eps).sqrt() * norm.weight
            mixed = mixed + norm.bias
        return block.attn.proj(mixed)

    lost = sent(whole) - sent(without.flatten())
    assert_close(found.added, block.ls1(lost), atol=1e-4, rtol=1e-4)


def test_an_analysis_from_a_file_needs_its_model() -> None:
    analysis = analyze(tiny("cls"), photo())
    read = Analysis.from_bytes(analysis.to_bytes())
    with pytest.raises(VitvizError, match=r"pass the model: analysis\.mix"):
        read.mix(0, 0, 0)
    assert_close(read.mix(1, 1, 2, loaded=tiny("cls")).after, analysis.mix(1, 1, 2).after)


def test_values_that_were_kept_are_the_ones_that_are_mixed() -> None:
    analysis = analyze(tiny("cls"), photo(), values=True)
    doubled = with_pass(analysis, trace=replace(analysis.trace, v=2 * analysis.trace.v))
    assert_close(doubled.mix(1, 1, 2).mixed, 2 * analysis.mix(1, 1, 2).mixed)


def test_what_was_changed_behind_the_mix_is_refused_and_the_rest_is_right() -> None:
    for changes in (
        [{"kind": "head", "layer": 1, "head": 0, "by": "zero"}],
        [{"kind": "branch", "layer": 0, "branch": "attention"}],
    ):
        changed = analyze(tiny("cls"), photo(), interventions=changes)
        with pytest.raises(SelectionError, match="a head or a branch was changed"):
            changed.mix(1, 1, 2)
        assert not [name for name in pack(changed).files if name.startswith("mixing")]
    seen: list[torch.Tensor] = []
    block = tiny("cls").vit.blocks[1]
    for changes in (
        [{"kind": "remove", "patches": [1, 4]}],
        [{"kind": "cut", "edges": "patches to others", "layers": [1]}],
        [{"kind": "even", "rows": "all", "layers": [1]}],
        [{"kind": "scramble", "rows": "patches", "layers": "all"}],
        [{"kind": "positions", "by": "off"}],
    ):
        handle = block.norm2.register_forward_pre_hook(lambda _, args: seen.append(args[0][0]))
        changed = analyze(tiny("cls"), photo(), interventions=changes)
        handle.remove()
        assert seen[-1].shape == changed.trace.tokens[1].shape
        assert_close(changed.mix(1, 1, 4).after, seen[-1][4], atol=1e-4, rtol=1e-4)


def test_selections_are_checked_and_may_be_numpys() -> None:
    analysis = analyze(tiny("cls"), photo())
    one, same = analysis.mix(np.int64(1), np.uint8(1), np.int32(4)), analysis.mix(1, 1, 4)
    assert torch.equal(one.after, same.after)
    for wrong, sentence in (((3, 0, 0), "layer"), ((0, 2, 0), "head"), ((0, 0, 17), "token")):
        with pytest.raises(SelectionError, match=f"{sentence} must be"):
            analysis.mix(*wrong)
