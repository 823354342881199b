"""Capturing changes no output, leaves no hook behind, and misses no layer."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn
from torch.testing import assert_close

from tests.models import TINY, photo, spread, tiny
from vitviz import CaptureError, SelectionError, Trace, ViT, analyze, capture
from vitviz.probe.capture.cuts import Cuts, Edges


def pixels_for(name: str, images: int = 1) -> torch.Tensor:
    config = TINY[name]
    generator = torch.Generator().manual_seed(3)
    return torch.randn(images, config.in_chans, *config.image_size, generator=generator)


def trace_of(name: str) -> Trace:
    vit = tiny(name).vit
    with capture(vit) as recorder:
        logits = vit(pixels_for(name))
    return recorder.trace(logits)


def hooks(vit: nn.Module) -> int:
    return sum(len(m._forward_hooks) + len(m._forward_pre_hooks) for m in vit.modules())


@pytest.mark.parametrize("name", TINY)
def test_maps_are_those_of_an_explicit_softmax(name: str) -> None:
    """Every block's attention output, made again from the trace's maps and its own values."""
    vit, trace = tiny(name).vit, trace_of(name)
    x = vit.norm_pre(vit.embed(pixels_for(name)))
    assert_close(trace.tokens[0], x[0])
    for layer, block in enumerate(vit.blocks):
        normed = block.norm1(x)
        batch, tokens, dim = normed.shape
        heads = block.attn.num_heads
        q, k, v = block.attn.qkv(normed).view(batch, tokens, 3, heads, -1).permute(2, 0, 3, 1, 4)
        q, k = block.attn.q_norm(q), block.attn.k_norm(k)
        if block.attn.angles is not None:
            # Two numbers as one complex number, which is multiplied with one of length 1.
            turned = torch.polar(torch.ones(()), block.attn.angles(None, q.device))
            whole = (torch.complex(*one.chunk(2, -1)) * turned for one in (q, k))
            q, k = (torch.cat([one.real, one.imag], dim=-1) for one in whole)
        scores = q @ k.transpose(-1, -2) / (dim // heads) ** 0.5
        if block.attn.score_bias.relative is not None:
            scores = scores + block.attn.score_bias.relative(None)
        maps = scores.softmax(-1)
        assert_close(trace.attention(layer), maps[0])
        mixed = (maps @ v).transpose(1, 2).reshape(batch, tokens, dim)
        assert_close(block.attn.proj(block.attn.norm(mixed)), block.attn(normed))
        x = block(x)
        assert_close(trace.tokens[layer + 1], x[0])


@pytest.mark.parametrize("name", TINY)
def test_values_are_kept_when_they_are_asked_for(name: str) -> None:
    """Shares times values, sent through the projection, are what the block's attention gave."""
    vit, outputs = tiny(name).vit, []
    handles = [
        block.attn.register_forward_hook(lambda _module, _args, out: outputs.append(out))
        for block in vit.blocks
    ]
    pixels = pixels_for(name, images=2)
    with capture(vit, values=True) as recorder:
        traces = recorder.traces(vit(pixels))
    for handle in handles:
        handle.remove()
    for image, trace in enumerate(traces):
        assert trace.v.shape == trace.q.shape
        for layer, block in enumerate(vit.blocks):
            mixed = (trace.attention(layer) @ trace.v[layer]).transpose(0, 1).flatten(1)
            assert_close(block.attn.proj(block.attn.norm(mixed)), outputs[layer][image])
    assert trace_of(name).v is None


@pytest.mark.parametrize("name", TINY)
def test_rows_sum_to_one_and_rows_and_columns_agree(name: str) -> None:
    trace, config = trace_of(name), TINY[name]
    assert trace.q.shape == (config.depth, config.num_heads, config.num_tokens, config.head_dim)
    for layer in range(trace.depth):
        maps = trace.attention(layer)
        assert_close(maps.sum(-1), torch.ones(maps.shape[:2]))
        for token in (0, trace.num_tokens - 1):
            assert_close(trace.attention_from(layer, token), maps[:, token])
            assert_close(trace.attention_to(layer, token), maps[:, :, token])
        for head in range(trace.num_heads):
            assert_close(trace.attention_of(layer, head), maps[head])


def test_a_map_by_hand() -> None:
    """Two heads of one number. In head 1 the scores of token 0 are 2 log 3 and 0, so that it looks
    at itself nine times as much as at token 1, which looks at both alike.
    """
    q, k = torch.zeros(1, 2, 2, 1), torch.zeros(1, 2, 2, 1)
    q[0, 1, 0], k[0, 1, 0] = 1.0, math.log(3)
    trace = Trace(q, k, tokens=torch.zeros(2, 2, 2), logits=torch.zeros(2), scale=2.0)
    assert_close(trace.attention_of(0, 0), torch.full((2, 2), 0.5))
    assert_close(trace.attention_of(0, 1), torch.tensor([[0.9, 0.1], [0.5, 0.5]]))
    assert_close(trace.attention_from(0, 0), torch.tensor([[0.5, 0.5], [0.9, 0.1]]))
    assert_close(trace.attention_to(0, 0), torch.tensor([[0.5, 0.5], [0.9, 0.5]]))


def test_the_sum_behind_a_row_leaves_out_what_is_cut_by_hand() -> None:
    """All scores are 0, so that the log-sum-exp is the log of how many tokens a query can see."""
    nothing = torch.zeros(1, 2, 3, 1)
    intact = Trace(nothing, nothing, tokens=torch.zeros(2, 3, 2), logits=torch.zeros(2), scale=1.0)
    assert_close(intact.rounded(0).lse, torch.full((2, 3), math.log(3)))
    edge = Edges(torch.tensor([0]), torch.tensor([1]), heads=(1,))
    cut = replace(intact, cuts=Cuts(torch.zeros(3, dtype=torch.bool), (edge,), 2))
    assert_close(cut.rounded(0).lse, torch.tensor([[3.0, 3, 3], [2, 3, 3]]).log())
    assert_close(cut.attention(0)[1, 0], torch.tensor([0.5, 0, 0.5]))


def test_capture_does_not_change_the_answer_and_leaves_no_hook() -> None:
    vit = tiny("cls").vit
    pixels = pixels_for("cls")
    alone = vit(pixels)
    with capture(vit) as recorder:
        heard = vit(pixels)
        assert hooks(vit) > 0
    assert torch.equal(alone, heard)
    assert torch.equal(recorder.trace(heard).logits, alone[0])
    assert hooks(vit) == 0


def test_hooks_are_gone_after_an_exception() -> None:
    vit = tiny("cls").vit
    with pytest.raises(RuntimeError, match="in the middle"), capture(vit):
        raise RuntimeError("in the middle")
    assert hooks(vit) == 0


def test_a_silent_layer_is_an_error() -> None:
    vit = spread(ViT(TINY["cls"])).eval()
    vit.blocks[1].forward = lambda x, _places: x
    with torch.inference_mode(), capture(vit) as recorder:
        logits = vit(pixels_for("cls"))
    with pytest.raises(CaptureError, match="nothing was heard from layer 1;"):
        recorder.trace(logits)


def test_a_batch_is_refused() -> None:
    vit = tiny("cls").vit
    with capture(vit) as recorder:
        logits = vit(pixels_for("cls", images=2))
    with pytest.raises(CaptureError, match="one image, got a batch of 2"):
        recorder.trace(logits)
    with pytest.raises(CaptureError, match="2 images was heard, got logits of 1"):
        recorder.traces(logits[:1])


@pytest.mark.parametrize("name", TINY)
def test_each_image_of_a_batch_has_the_trace_it_has_alone(name: str) -> None:
    vit = tiny(name).vit
    pixels = pixels_for(name, images=3)
    with torch.inference_mode(), capture(vit) as recorder:
        together = recorder.traces(vit(pixels))
    assert len(together) == 3
    for one, trace in zip(pixels, together, strict=True):
        with torch.inference_mode(), capture(vit) as recorder:
            alone = recorder.trace(vit(one[None]))
        for part in ("q", "k", "tokens", "logits"):
            assert_close(getattr(trace, part), getattr(alone, part), atol=1e-4, rtol=1e-4)
        assert trace.scale == alone.scale


@pytest.mark.parametrize("name", TINY)
def test_the_rounded_layer_makes_the_same_maps_within_its_error(name: str) -> None:
    trace = trace_of(name)
    for layer in range(trace.depth):
        rounded = trace.rounded(layer)
        scores = trace.scale * rounded.q.float() @ rounded.k.float().transpose(-1, -2)
        if trace.bias:
            scores = scores + trace.bias.scores(layer, slice(None), slice(None))
        shown = (scores - rounded.lse[..., None]).exp()
        assert_close(shown.sum(-1), torch.ones(shown.shape[:2]))
        difference = float((shown - trace.attention(layer)).abs().max())
        error = trace.rounding_error(layer)
        assert difference == pytest.approx(error, abs=1e-6)
        assert 0 < error < 5e-3


@pytest.mark.parametrize("cached", [1, 40, 100])  # less than a row of 17, two rows, five
def test_a_map_rounds_alike_in_any_number_of_parts(monkeypatch, cached: int) -> None:
    trace = trace_of("cls")
    whole, error = trace.rounded(1), trace.rounding_error(1)
    monkeypatch.setattr("vitviz.probe.capture.trace.CACHED", cached)
    parts = trace.rounded(1)
    assert_close(parts.lse, whole.lse)
    assert trace.rounding_error(1) == pytest.approx(error, abs=1e-6)


@pytest.mark.parametrize("cached", [1, 40, 100])
@pytest.mark.parametrize("removed", [(), (2, 5)])
def test_heads_and_rollouts_are_alike_in_any_number_of_parts(
    monkeypatch, cached: int, removed: tuple
) -> None:
    """Against whole maps, and with one mask of cuts for all parts of a layer."""
    interventions = [{"kind": "remove", "patches": list(removed)}] if removed else []
    found = analyze(tiny("cls"), photo(), interventions=interventions)
    maps = torch.stack([found.trace.attention(layer) for layer in range(found.trace.depth)])
    stays = ~found.trace.cuts.removed if removed else torch.ones(17).bool()
    entropy = -torch.xlogy(maps, maps).sum(-1)[..., stays].mean(-1)
    masks = []
    made = Cuts.mask
    monkeypatch.setattr(Cuts, "mask", lambda *args: masks.append(1) or made(*args))
    monkeypatch.setattr("vitviz.probe.capture.trace.CACHED", cached)
    assert_close(found.head_statistics().entropy, entropy)
    for fusion, fused in (("mean", maps.mean(1)), ("max", maps.amax(1)), ("min", maps.amin(1))):
        row = torch.eye(17)[4]
        for step in fused.flip(0):
            mixed = 0.5 * torch.eye(17) + 0.5 * step
            row = row @ (mixed / mixed.sum(-1, keepdim=True))
        assert_close(found.rollout(4, head_fusion=fusion), row)
    found.trace.rounded(1)
    assert len(masks) == (4 * found.trace.depth + 1 if removed else 0)


def test_values_that_half_precision_cannot_hold_are_an_error() -> None:
    trace = trace_of("cls")
    for name in ("q", "k"):
        parts = {"q": trace.q.clone(), "k": trace.k.clone()}
        parts[name][1, 0, 2, 3] = 1e5
        with pytest.raises(CaptureError, match="layer 1 is larger than half precision can hold"):
            replace(trace, **parts).rounded(1)
        with pytest.raises(CaptureError, match="layer 1 is larger than half precision can hold"):
            replace(trace, **parts).rounding_error(1)  # not an error of 0


def test_layers_heads_and_tokens_out_of_range_are_refused() -> None:
    trace = trace_of("cls")
    for call in (trace.attention, trace.rounded, trace.rounding_error, trace.check_layer):
        with pytest.raises(SelectionError, match="layer must be a whole number from 0 to 2, got 3"):
            call(3)
    with pytest.raises(SelectionError, match="layer must be a whole number from 0 to 2, got -4"):
        trace.attention(-4)
    with pytest.raises(SelectionError, match="token must be a whole number from 0 to 16, got 17"):
        trace.attention_from(0, 17)
    with pytest.raises(SelectionError, match="head must be a whole number from 0 to 1, got True"):
        trace.check_head(True)


def explicit_logits(
    vit: ViT, pixels: torch.Tensor
) -> tuple[torch.Tensor, list[torch.Tensor], list[torch.Tensor]]:
    """The model with every attention map as a tensor of its own: logits, maps, values per layer."""
    maps, values, taps = [], [], {}
    handles = []
    for layer, block in enumerate(vit.blocks):

        def hear(_module, _args, qkv, layer=layer):
            taps[layer] = qkv

        def mix(_module, _args, _fused, layer=layer, attn=block.attn):
            q, k, v = taps[layer]
            bias = 0 if attn.score_bias.relative is None else attn.score_bias.relative(None)
            maps.append((q @ k.mT * attn.scale + bias).softmax(-1).requires_grad_())
            values.append(v)
            return maps[-1] @ v

        handles.append(block.attn.tap.register_forward_hook(hear))
        handles.append(block.attn.mixed.register_forward_hook(mix))
    try:
        return vit(pixels), maps, values
    finally:
        for handle in handles:
            handle.remove()


CLASSIFIERS = [name for name in TINY if TINY[name].num_classes and TINY[name].global_pool]


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_gradients_of_maps_are_those_of_autograd_through_an_explicit_softmax(name: str) -> None:
    """In double precision, where only the last bits differ."""
    vit = spread(ViT(TINY[name])).eval().requires_grad_(False).double()
    pixels = pixels_for(name, images=3).double()
    targets = [1, 0, 2]
    with capture(vit, target=targets) as recorder:
        logits = vit(pixels)
    assert recorder.gradients(logits)[0] == targets
    # Freshly made, because a graph is used up by one backward pass.
    with capture(vit, target=targets) as recorder:
        logits = vit(pixels)
    gradients = recorder.gradients(logits)[1]
    expected, maps, _ = explicit_logits(vit, pixels)
    assert_close(logits, expected)
    wanted = torch.autograd.grad(expected[torch.arange(3), targets].sum(), maps)
    for layer, g in enumerate(gradients):
        v = recorder.qkv[layer][2]
        ours = g @ v.transpose(-1, -2)
        assert ours.abs().max() > 1e-4 or layer == len(gradients) - 1
        assert float((ours - wanted[layer]).abs().max()) < 1e-15 * max(1, wanted[layer].abs().max())


def test_the_trace_keeps_values_and_gradients_of_a_class() -> None:
    vit, pixels = tiny("cls").vit, pixels_for("cls")
    with torch.enable_grad(), capture(vit, target="answer") as recorder:
        trace = recorder.trace(vit(pixels))
    assert trace.target == int(trace.logits.argmax())
    assert trace.g.shape == trace.v.shape == trace.q.shape
    assert not any(part.requires_grad for part in (trace.g, trace.v, trace.q, trace.tokens))
    whole = trace.attention_gradient(1)
    assert whole.shape == trace.attention(1).shape
    assert_close(trace.attention_gradient_from(1, 4), whole[:, 4])
    assert torch.equal(trace.logits, trace_of("cls").logits)
    # Only the row of CLS in the last layer can change the answer of a model that reads CLS.
    assert not trace.g[-1, :, 1:].any()
    assert hooks(vit) == 0


def test_gradients_that_cannot_be_are_refused_with_a_sentence() -> None:
    vit, pixels = tiny("cls").vit, pixels_for("cls")
    with pytest.raises(CaptureError, match="holds no gradients"):
        trace_of("cls").attention_gradient(0)
    with capture(vit, target=7) as recorder:
        logits = vit(pixels)
    with pytest.raises(SelectionError, match="target must be a whole number from 0 to 6, got 7"):
        recorder.trace(logits)
    with capture(vit, target=np.int64(1)) as recorder:
        assert recorder.trace(vit(pixels)).target == 1
    with torch.no_grad(), capture(vit, target=0) as recorder:
        logits = vit(pixels)
    with pytest.raises(CaptureError, match="outside of torch"):
        recorder.trace(logits)
    with capture(tiny("no_pool").vit, target=0) as recorder:
        logits = tiny("no_pool").vit(pixels_for("no_pool"))
    with pytest.raises(SelectionError, match="does not pool"):
        recorder.trace(logits)


def targets_of(target: object) -> list[int]:
    vit = tiny("cls").vit
    with capture(vit, target=target) as recorder:
        logits = vit(pixels_for("cls", 3))
    return [trace.target for trace in recorder.traces(logits)]


def test_the_targets_of_a_batch_are_lists_of_any_kind() -> None:
    for given in ([1, 2, 0], (1, 2, 0), np.array([1, 2, 0]), torch.tensor([1, 2, 0])):
        assert targets_of(given) == [1, 2, 0]
    for given in (2, np.int64(2), torch.tensor(2), np.array(2)):
        assert targets_of(given) == [2, 2, 2]
    assert targets_of("answer") == targets_of(np.array(targets_of("answer")))


@pytest.mark.parametrize("target", [[1, 2], np.array([1, 2]), torch.tensor([1, 2]), [], [0] * 4])
def test_a_batch_needs_a_target_for_each_image(target: object) -> None:
    with pytest.raises(SelectionError, match=r"a batch of 3 images needs 3 targets, got \d"):
        targets_of(target)


@pytest.mark.parametrize(
    "target", [9, "cat", [1, 2, 9], np.array([0.5, 1, 2]), np.ones((3, 1), int)]
)
def test_a_target_that_is_no_class_is_refused(target: object) -> None:
    with pytest.raises(SelectionError, match="target must be a whole number from 0 to 6"):
        targets_of(target)
