"""Every explainer: a contract, an independent reference, and models whose reason is known."""

import re
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch.testing import assert_close

from tests.models import TINY, photo, spread, tiny
from tests.test_trace import CLASSIFIERS, explicit_logits
from vitviz import (
    EXPLAINERS,
    Analysis,
    CaptureError,
    LoadedModel,
    ModelCard,
    Preprocess,
    SelectionError,
    ViT,
    ViTConfig,
    VitvizError,
    analyze,
    draw,
    load,
)
from vitviz.languages import say
from vitviz.look import choose_explainers
from vitviz.probe.explain.case import Case
from vitviz.probe.explain.explainers import Explainer, fitting
from vitviz.probe.intervene.chance import Chance
from vitviz.probe.measure.numbers import percent

MANY_PASSES = ("occlusion", "integrated_gradients")


def analysis_of(name: str) -> Analysis:
    return analyze(tiny(name), photo())


# --- the contract ---------------------------------------------------------------------------------


def test_every_explainer_keeps_its_contract(
    any_tiny_analysis: Analysis, subtests: pytest.Subtests
) -> None:
    for key in EXPLAINERS:
        with subtests.test(key=key):
            hold_to_the_contract(any_tiny_analysis, key)


def hold_to_the_contract(analysis: Analysis, key: str) -> None:
    explainer = EXPLAINERS[key]
    if "class" in explainer.needs and analysis.card.head != "classes":
        with pytest.raises(SelectionError, match="names no classes"):
            analysis.explain(key)
        return
    before = [analysis.trace.q.clone(), analysis.pixels.clone()]
    values = analysis.explain(key, 2)
    assert values.shape == (analysis.grid.num_tokens,)
    assert values.dtype == torch.float32
    assert values.isfinite().all()
    assert not values.requires_grad
    assert explainer.signed or values.min() >= 0
    assert torch.equal(values, analysis.explain(key, 2))
    assert torch.equal(before[0], analysis.trace.q)
    assert torch.equal(before[1], analysis.pixels)
    if "token" not in explainer.needs:
        assert torch.equal(values, analysis.explain(key, 0))
        prefix = values[: analysis.grid.num_prefix_tokens]
        assert not prefix.any(), "without a query token it is a map of patches: prefix tokens get 0"
    with pytest.raises(SelectionError, match="token must be"):
        analysis.explain(key, analysis.grid.num_tokens)


@pytest.mark.parametrize("key", EXPLAINERS)
def test_an_explainer_says_what_it_needs(key: str) -> None:
    """A class changes what needs one, and nothing else; so does the query token."""
    explainer, analysis = EXPLAINERS[key], analysis_of("no_cls")
    classes = [analysis.explain(key, 3, target) for target in range(5)]
    differ = any(not torch.allclose(one, classes[0]) for one in classes[1:])
    assert differ == ("class" in explainer.needs)
    tokens = [analysis.explain(key, token) for token in (3, 7)]
    assert torch.allclose(*tokens) == ("token" not in explainer.needs)
    assert any((one < 0).any() for one in classes) == explainer.signed
    assert explainer.key == key
    assert explainer.name
    assert re.search("[가-힣]", say(explainer.sentence, "ko"))
    assert explainer.paper.startswith("arXiv:") or not explainer.paper


def test_only_a_query_token_begins_at_a_pool_where_there_is_one() -> None:
    for key, one in EXPLAINERS.items():
        assert one.within(TINY["cls"]) is one
        needs = one.within(TINY["map"]).needs
        assert needs == (one.needs - {"token"} | {"pool"} if "token" in one.needs else one.needs), (
            key
        )


@pytest.mark.parametrize("name", ["cls", "registers", "no_cls"])
def test_the_random_map_depends_on_no_pixel(name: str) -> None:
    """Pictures are decoded and resized by others too, which may round one pixel otherwise."""
    one, other = analyze(tiny(name), photo()), analyze(tiny(name), photo(40, 40))
    noise = one.explain("random")
    assert torch.equal(noise, other.explain("random", 1))
    patches, case = one.grid.patches(noise), one.case("random")
    assert_close(patches.double(), Chance(0, "random map").uniforms(len(patches)))
    assert not noise[: one.grid.num_prefix_tokens].any()
    assert not torch.allclose(noise, EXPLAINERS["random"](replace(case, seed=1)))


def test_the_class_is_the_answer_unless_one_is_named() -> None:
    analysis = analysis_of("cls")
    answer = int(analysis.trace.logits.argmax())
    other = (answer + 1) % 7
    found = analysis.explain("generic")
    assert torch.equal(found, analysis.explain("generic", target=answer))
    assert torch.equal(found, analysis.explain("generic", target=f"class {answer}"))
    assert not torch.allclose(found, analysis.explain("generic", target=other))
    for wrong in (7, -1, "cat", True, 1.0):
        with pytest.raises(SelectionError, match="has no class"):
            analysis.explain("generic", target=wrong)
    with pytest.raises(SelectionError, match="there is no explainer 'flow'; choose one of attent"):
        analysis.explain("flow")


@pytest.mark.parametrize("key", EXPLAINERS)
def test_a_pool_comes_after_the_last_layer(key: str) -> None:
    """With an attention pool an explainer starts behind all layers, and its texts name no layer."""
    explainer = EXPLAINERS[key].within(TINY["map"])
    if "pool" in explainer.needs:
        said = f"{explainer.name} {explainer.sentence}"
        assert "last layer" not in said, f"add pooled_name_{key} and pooled_explainer_{key}"


def test_an_analysis_from_a_file_asks_for_its_model_only_where_it_has_to_run() -> None:
    analysis = analysis_of("cls")
    again = Analysis.from_bytes(analysis.to_bytes())
    for key, explainer in EXPLAINERS.items():
        expected = analysis.explain(key, 1)
        if explainer.runs_the_model:
            with pytest.raises(VitvizError, match=r"loaded=vitviz\.load\('tiny cls'\)"):
                again.explain(key, 1)
        assert_close(again.explain(key, 1, loaded=tiny("cls")), expected)
    with pytest.raises(VitvizError, match="is of tiny cls, and the model that was passed"):
        again.explain("generic", loaded=tiny("grey"))


@pytest.mark.parametrize(
    ("key", "lacking", "sentence"),
    [
        ("attention_norm", "vit", "this case has no model"),
        ("grad_cam", "vit", "this case has no model"),
        ("integrated_gradients", "vit", "this case has no model"),
        ("grad_cam", "target", "this case has no class"),
        ("occlusion", "target", "this case has no class"),
        ("integrated_gradients", "target", "this case has no class"),
    ],
)
def test_a_case_without_what_an_explainer_needs_is_refused(
    key: str, lacking: str, sentence: str
) -> None:
    case = analysis_of("cls").case(key)
    with pytest.raises(CaptureError, match=sentence):
        EXPLAINERS[key](replace(case, **{lacking: None}))


def test_a_trace_without_values_has_no_attention_norm() -> None:
    case = analysis_of("cls").case("attention_norm")
    with pytest.raises(CaptureError, match="this trace holds no values"):
        EXPLAINERS["attention_norm"](replace(case, trace=replace(case.trace, v=None)))


def test_one_case_serves_all_explainers_after_one_more_pass() -> None:
    loaded, passes = tiny("cls"), []
    analysis = analyze(loaded, photo())
    handle = loaded.vit.register_forward_pre_hook(lambda *_: passes.append(1))
    case = analysis.case("attention", "rollout", "attention_norm", "generic", target=2)
    handle.remove()
    assert len(passes) == 1
    assert case.target == case.trace.target == 2
    assert torch.equal(EXPLAINERS["generic"](case, 1), analysis.explain("generic", 1, 2))
    assert analysis.case("centre").vit is None


# --- independent references -----------------------------------------------------------------------


def explicit(analysis: Analysis, target: int) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
    """All maps and their gradients, by autograd through an explicit softmax: A and dA per layer."""
    logits, maps, _ = explicit_logits(analysis.loaded.vit, analysis.pixels[None])
    gradients = torch.autograd.grad(logits[0, target], maps)
    return [one.detach()[0] for one in maps], [one[0] for one in gradients]


def explicit_pool(analysis: Analysis, target: int, present: torch.Tensor) -> tuple:
    """What an attention pool looks at, the gradient of that, and its values: by autograd."""
    vit = analysis.loaded.vit
    pool, heads = vit.attn_pool, vit.config.pool_heads
    x = vit.norm(analysis.trace.tokens[-1])[present]
    q = pool.q(pool.latent)[0, 0].unflatten(0, (heads, -1))
    k, v = (one.unflatten(1, (heads, -1)) for one in pool.kv(x).chunk(2, dim=-1))
    scores = torch.einsum("hd,nhd->hn", q, k) / q.shape[1] ** 0.5
    shares = scores.softmax(-1).clone().requires_grad_()
    gathered = pool.proj(torch.einsum("hn,nhd->hd", shares, v).flatten())
    logits = vit.head(vit.fc_norm(gathered + pool.mlp(pool.norm(gathered))))
    (gradient,) = torch.autograd.grad(logits[target], shares)
    whole = torch.zeros(2, heads, analysis.grid.num_tokens)
    whole[:, :, present] = torch.stack([shares.detach(), gradient])
    return whole[0], whole[1], v


@pytest.mark.parametrize("removed", [(), (1, 6)])
def test_where_a_pool_gathers_the_answer_explainers_begin_there(removed: tuple) -> None:
    """Whatever the token: it is one more layer above the blocks, with a single query."""
    changes = [{"kind": "remove", "patches": removed}] if removed else []
    analysis, target = analyze(tiny("map"), photo(), interventions=changes), 1
    first, n = analysis.grid.num_prefix_tokens, analysis.grid.num_tokens
    present = torch.tensor([token for token in range(n) if token - first not in removed])
    a, d, v = explicit_pool(analysis, target, present)
    assert_close(analysis.explain("attention", 5), a.mean(0))
    assert_close(analysis.explain("attention", head=2), a[2])
    below = torch.stack([analysis.rollout(token) for token in range(n)])
    assert_close(analysis.explain("rollout"), a.mean(0) @ below)
    assert_close(
        analysis.explain("rollout", head_fusion="max", last=0),
        a.amax(0) @ torch.stack([analysis.rollout(i, 0, head_fusion="max") for i in range(n)]),
    )
    assert_close(analysis.explain("attention_gradient", 5, target), (a * d).sum(0))
    start, relevance, product = (a * d).clamp(min=0).mean(0), torch.eye(n), torch.eye(n)
    case = analysis.case("generic", target=target)
    for layer in range(2):
        edges = case.trace.attention(layer) * case.trace.attention_gradient(layer)
        positive = edges.clamp(min=0).mean(0)
        relevance = relevance + positive @ relevance
        sums = positive.sum(1, keepdim=True)
        positive = torch.where(sums > 0, positive / sums, torch.eye(n))
        product = (0.5 * torch.eye(n) + 0.5 * positive) @ product
    assert_close(analysis.explain("generic", 5, target), start @ relevance)
    found = analysis.explain("gradient_rollout", 5, target)
    assert_close(found, start / start.sum() @ product)
    pool, lengths = analysis.loaded.vit.attn_pool, torch.zeros(n)
    for place, token in enumerate(present):
        brought = (a[:, token, None] * v[place]).flatten()
        lengths[token] = (pool.proj(brought) - pool.proj.bias).norm()
    assert_close(analysis.explain("attention_norm", 5), lengths)
    with pytest.raises(SelectionError, match="after all layers"):
        analysis.explain("attention", layer=1)
    with pytest.raises(SelectionError, match="head must be"):
        analysis.explain("attention", head=3)
    tests = [analysis.fair_test("generic", token=token, target=target) for token in (0, 7)]
    assert torch.equal(tests[0].first["generic"], tests[1].first["generic"])


@pytest.mark.parametrize("token", [0, 4])
@pytest.mark.parametrize("name", [one for one in CLASSIFIERS if one != "map"])
def test_explainers_with_gradients_are_those_of_an_explicit_softmax(name: str, token: int) -> None:
    analysis, target = analysis_of(name), 1
    maps, gradients = explicit(analysis, target)
    n = analysis.grid.num_tokens
    edges = sum((a * d)[:, token].sum(0) for a, d in zip(maps, gradients, strict=True))
    assert_close(analysis.explain("attention_gradient", token, target), edges)
    relevance, product = torch.eye(n), torch.eye(n)
    for a, d in zip(maps, gradients, strict=True):
        positive = (a * d).clamp(min=0).mean(0)
        relevance = relevance + positive @ relevance
        for row in range(n):
            total = positive[row].sum()
            positive[row] = positive[row] / total if total > 0 else torch.eye(n)[row]
        product = (0.5 * torch.eye(n) + 0.5 * positive) @ product
    assert_close(analysis.explain("generic", token, target), relevance[token])
    found = analysis.explain("gradient_rollout", token, target)
    assert_close(found, product[token])
    assert found.sum().item() == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize("name", [one for one in TINY if one != "map"])
def test_attention_norm_is_the_length_of_what_each_token_brings(
    name: str,
) -> None:
    """The values of all other tokens are set to 0, and the projection is asked without its bias."""
    analysis, token = analysis_of(name), 3
    vit, taps = analysis.loaded.vit, []
    attn = vit.blocks[-1].attn
    handle = attn.tap.register_forward_hook(lambda _m, _a, qkv: taps.append(qkv))
    vit(analysis.pixels[None])
    handle.remove()
    q, k, v = taps[0]
    zero = attn.proj(torch.zeros(attn.proj.in_features))
    expected = []
    for key in range(analysis.grid.num_tokens):
        alone = torch.zeros_like(v)
        alone[:, :, key] = v[:, :, key]
        bias = 0 if attn.score_bias.relative is None else attn.score_bias.relative(None)
        mixed = ((q @ k.mT * attn.scale + bias).softmax(-1) @ alone)[0, :, token].flatten()
        expected.append((attn.proj(mixed) - zero).norm())
    assert_close(analysis.explain("attention_norm", token), torch.stack(expected))


@pytest.mark.parametrize("name", ["cls", "no_cls", "registers", "relative"])
@pytest.mark.parametrize(
    "kinds",
    [
        [{"kind": "head", "layer": 2, "head": 1, "by": "zero"}],
        [{"kind": "head", "layer": 2, "head": 0, "by": "mean"}],
        [
            {"kind": "remove", "patches": [2, 5]},
            {"kind": "head", "layer": 2, "head": 0, "by": "mean"},
            {"kind": "head", "layer": 2, "head": 1, "by": "zero"},
        ],
        [{"kind": "branch", "layer": 2, "branch": "attention"}],
    ],
    ids=["zero", "mean", "removed", "branch"],
)
def test_attention_norm_is_of_what_heads_that_are_off_still_bring(name: str, kinds: list) -> None:
    """The values of all other tokens are set to 0, as above; an attention that is off adds 0."""
    last = TINY[name].depth - 1
    kinds = [{**one, "layer": last} if "layer" in one else one for one in kinds]
    analysis, token = analysis_of(name).operate(kinds), 1
    attn, trace = analysis.loaded.vit.blocks[-1].attn, analysis.case("attention_norm").trace
    found = analysis.explain("attention_norm", token)
    if kinds[0]["kind"] == "branch":
        assert found.tolist() == [0.0] * analysis.grid.num_tokens
        return
    zero = attn.proj(torch.zeros(attn.proj.in_features))
    expected = []
    for key in range(analysis.grid.num_tokens):
        alone = torch.zeros_like(trace.v[last])
        alone[:, key] = trace.v[last][:, key]
        mixed = (trace.attention(last) @ alone)[None]
        mixed = analysis.pass_.surgery.heads_off(last, mixed)[0, :, token].flatten()
        expected.append((attn.proj(mixed) - zero).norm())
    assert_close(found, torch.stack(expected))
    intact = analysis_of(name).explain("attention_norm", token)
    assert not torch.allclose(found, intact, atol=1e-3)


def test_attention_norm_is_refused_where_the_terms_cannot_be_told_apart() -> None:
    config = ViTConfig(**{**TINY["cls"].to_dict(), "attn_norm": True})
    loaded = loaded_of(spread(ViT(config)).eval().requires_grad_(False))
    with pytest.raises(SelectionError, match="normalises between attention and projection"):
        analyze(loaded, photo()).explain("attention_norm")
    # Where nobody named it, it is left out.
    analysis, rest = analyze(loaded, photo()), {*EXPLAINERS} - {"attention_norm"}
    assert analysis.fair_test(steps=2, orders=2).first.keys() == rest - {"random"}
    assert analysis.case().target == int(analysis.trace.logits.argmax())
    drawn = [ax.get_title() for ax in draw.explain(analysis).axes if ax.get_title()]
    assert len(drawn) == 1 + len(rest)
    assert choose_explainers(analysis, ["all"], None) == (
        [*fitting(ViTConfig(**config.to_dict()))],
        None,
    )
    assert {*fitting(config)} == rest
    assert [*fitting(TINY["cls"])] == [*EXPLAINERS]
    with pytest.raises(SelectionError, match="normalises between attention and projection"):
        analysis.fair_test("attention_norm", steps=2, orders=2)


def test_a_pool_that_gathers_the_answer_has_an_attention_norm_all_the_same() -> None:
    config = ViTConfig(**{**TINY["map"].to_dict(), "attn_norm": True})
    loaded = loaded_of(spread(ViT(config)).eval().requires_grad_(False))
    assert "attention_norm" in analyze(loaded, photo()).fair_test(steps=2, orders=2).first


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_a_baseline_of_numpy_is_that_of_torch(kind: type) -> None:
    analysis = analysis_of("cls")
    black = torch.full_like(analysis.pixels, -1.5)
    expected = analysis.explain("integrated_gradients", baseline=black)
    given = black.numpy().astype(kind)
    for baseline in (given, given[:, ::-1]):
        found = analysis.explain("integrated_gradients", baseline=baseline)
        assert_close(found, expected)
    assert analysis.gap(found, baseline=given) == analysis.gap(found, baseline=black)
    for wrong, sentence in (
        (given[0], r"pixels of shape \(3, 32, 32\), got \(32, 32\)"),
        (np.array(["black"]), "a baseline must hold numbers"),
        (np.array([[[10**400]]], object), "a baseline must hold numbers"),
        ([1.0], 'baseline must be "mean"'),
    ):
        with pytest.raises(SelectionError, match=sentence):
            analysis.explain("integrated_gradients", baseline=wrong)


@pytest.mark.parametrize("name", CLASSIFIERS)
@pytest.mark.parametrize("layer", [None, 0])
def test_grad_cam_by_hand(name: str, layer: int | None) -> None:
    """A block again, from the tokens before it, with the norm's output as a leaf."""
    analysis, target = analysis_of(name), (1, 2)
    vit = analysis.loaded.vit
    at = analysis.trace.depth - 1 if layer is None else layer
    block, *later = vit.blocks[at:]
    x = analysis.trace.tokens[at].clone()[None]
    normed = block.norm1(x).requires_grad_()
    x = x + block.ls1(block.attn(normed))
    x = x + block.ls2(block.mlp(block.norm2(x)))
    for one in later:
        x = one(x)
    logits = vit.forward_head(vit.norm(x))[0]
    (gradient,) = torch.autograd.grad(logits[1] - logits[2], normed)
    first = analysis.grid.num_prefix_tokens
    expected = torch.zeros(analysis.grid.num_tokens)
    for token in range(first, analysis.grid.num_tokens):
        weights = gradient[0, first:].mean(0)
        expected[token] = max(0.0, float(normed[0, token].detach() @ weights))
    found = analysis.explain("grad_cam", target=target, layer=layer)
    assert_close(found, expected, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_grad_cam_is_of_the_patches_that_are_there(name: str) -> None:
    """As the model gives it that gets only these; their own places keep their numbers."""
    analysis, gone = analysis_of(name), [1, 6]
    found = analysis.operate([{"kind": "remove", "patches": gone}]).explain("grad_cam", target=1)
    vit, first = analysis.loaded.vit, analysis.grid.num_prefix_tokens
    staying = [token for token in range(analysis.grid.num_tokens) if token - first not in gone]
    heard = []

    def hear(_module, args):
        heard.append(args[0].detach().requires_grad_())
        return heard[0], *args[1:]

    handle = vit.blocks[-1].attn.register_forward_pre_hook(hear)
    with torch.enable_grad():
        x = vit.norm_pre(vit.embed(analysis.pixels[None]))[:, staying]
        logits = vit.forward_head(vit.encode(x, torch.tensor(staying)[None]))[0]
        (gradient,) = torch.autograd.grad(logits[1], heard)
    handle.remove()
    weights = gradient[0, first:].mean(0)
    expected = torch.zeros(analysis.grid.num_tokens)
    expected[staying] = (heard[0].detach()[0] @ weights).relu()
    expected[:first] = 0
    assert_close(found, expected, atol=1e-5, rtol=1e-3)


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_integrated_gradients_add_up_to_the_rise_of_the_logit(name: str) -> None:
    analysis, target = analysis_of(name), 1
    plain = analysis.pixels.mean((1, 2), keepdim=True).expand_as(analysis.pixels)
    vit = analysis.loaded.vit
    rise = analysis.trace.logits[target] - vit(plain[None])[0, target]
    found = analysis.explain("integrated_gradients", target=target, steps=400)
    assert found.sum().item() == pytest.approx(rise.item(), abs=0.02)


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_the_gap_is_the_share_of_the_rise_that_is_missing(name: str, caplog) -> None:
    analysis, target = analysis_of(name), 1
    vit = analysis.loaded.vit
    for baseline in ("black", "mean", "own"):
        start = baselines(analysis)[baseline]
        given = start if baseline == "own" else baseline
        rise = float(analysis.trace.logits[target] - vit(start[None])[0, target])
        caplog.clear()
        found = analysis.explain("integrated_gradients", target=target, baseline=given, steps=2)
        gap = abs(float(found.sum()) - rise) / abs(rise)
        assert analysis.gap(found, target, baseline=given) == pytest.approx(gap, rel=1e-3, abs=1e-4)
        assert [record.levelname for record in caplog.records] == ["WARNING"] * (gap > 0.05)
        if gap > 0.05:
            assert f"add up to {percent(gap)} more or less than the score" in caplog.text
    for changes in ([{"kind": "remove", "patches": [0, 1]}], [{"kind": "positions", "by": "off"}]):
        changed = analysis.operate(changes)
        found = changed.explain("integrated_gradients", target=target, steps=1024)
        assert changed.gap(found, target) < 0.05


@pytest.mark.parametrize("level", [0, 128, 200, 255])
def test_a_picture_of_one_colour_has_no_gap(level: int) -> None:
    """The rise is rounding there, and a share of it was 33 to 75 %."""
    picture = np.full((72, 72, 3), level, np.uint8)
    analysis = analyze(load("photos"), picture)
    found = analysis.explain("integrated_gradients")
    assert analysis.gap(found) == 0


def test_steps_are_doubled_until_the_map_adds_up(monkeypatch: pytest.MonkeyPatch) -> None:
    analysis = analysis_of("cls")
    monkeypatch.setattr("vitviz.probe.explain.perturb.STEPS", 1)
    gaps = {}
    for steps in (1, 2, 4, 8, 16, 32, 64, 128, 256, 512):
        found = analysis.explain("integrated_gradients", target=1, steps=steps)
        gaps[steps] = analysis.gap(found, 1)
    assert gaps[1] > 0.05
    enough = next(steps for steps, gap in gaps.items() if gap <= 0.05)
    auto = analysis.explain("integrated_gradients", target=1, steps="auto")
    assert_close(auto, analysis.explain("integrated_gradients", target=1, steps=enough))
    monkeypatch.setattr("vitviz.probe.explain.perturb.CONVERGED", -1.0)
    monkeypatch.setattr("vitviz.probe.explain.perturb.MOST_STEPS", 4)
    auto = analysis.explain("integrated_gradients", target=1, steps="auto")
    assert_close(auto, analysis.explain("integrated_gradients", target=1, steps=4))
    with pytest.raises(SelectionError, match="steps must be a whole number"):
        analysis.explain("integrated_gradients", target=1, steps="many")


def baselines(analysis: Analysis) -> dict[str, torch.Tensor]:
    """Pixels by the name of the baseline, made without the code that is tested."""
    shape, mean, std = analysis.pixels.shape, analysis.preprocess.mean, analysis.preprocess.std
    black = torch.tensor([-m / s for m, s in zip(mean, std, strict=True)]).view(-1, 1, 1)
    own = torch.linspace(-1, 1, analysis.pixels.numel()).view(shape)
    plain = analysis.pixels.mean((1, 2), keepdim=True)
    return {"black": black.expand(shape), "mean": plain.expand(shape), "own": own}


def by_patch(analysis: Analysis, pixels: torch.Tensor) -> torch.Tensor:
    """Values of pixels (C, h, w), summed over each patch, after zeros for prefix tokens."""
    grid = analysis.grid
    sums = [
        grid.patch(pixels.permute(1, 2, 0), t).sum()
        for t in range(grid.num_prefix_tokens, grid.num_tokens)
    ]
    return torch.cat([torch.zeros(grid.num_prefix_tokens), torch.stack(sums)])


@pytest.mark.parametrize("baseline", ["black", "mean", "own"])
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_integrated_gradients_are_those_of_the_definition(name: str, baseline: str) -> None:
    """Step by step with autograd, through the model as it stands; captum where it is installed."""
    analysis, steps = analysis_of(name), 5
    vit, start = analysis.loaded.vit, baselines(analysis)[baseline]
    total = torch.zeros_like(start)
    for k in range(steps):
        x = (start + (k + 0.5) / steps * (analysis.pixels - start)).requires_grad_()
        logits = vit(x[None])[0]
        total += torch.autograd.grad(logits[2] - logits[0], x)[0]
    expected = by_patch(analysis, (analysis.pixels - start) * total / steps)
    given = start if baseline == "own" else baseline
    found = analysis.explain("integrated_gradients", target=(2, 0), baseline=given, steps=steps)
    assert_close(found, expected, atol=1e-5, rtol=1e-4)


@pytest.mark.filterwarnings("ignore")  # captum's own
@pytest.mark.parametrize("baseline", ["black", "mean", "own"])
def test_integrated_gradients_are_captums(baseline: str) -> None:
    attr = pytest.importorskip("captum.attr")
    analysis, start = analysis_of("no_cls"), None
    start = baselines(analysis)[baseline]
    theirs = attr.IntegratedGradients(analysis.loaded.vit).attribute(
        analysis.pixels[None], start[None], target=1, n_steps=9, method="riemann_middle"
    )
    given = start if baseline == "own" else baseline
    ours = analysis.explain("integrated_gradients", target=1, baseline=given, steps=9)
    assert_close(ours, by_patch(analysis, theirs[0].detach()).float(), atol=1e-5, rtol=1e-4)


def test_a_baseline_of_noise_is_the_one_of_interventions() -> None:
    analysis = analysis_of("cls")
    patches = list(range(analysis.grid.num_patches))
    noise = analysis.operate([{"kind": "replace", "patches": patches, "by": "noise", "seed": 0}])
    named = analysis.explain("integrated_gradients", target=1, baseline="noise", steps=3)
    given = analysis.explain("integrated_gradients", target=1, baseline=noise.pixels, steps=3)
    assert_close(named, given)


@pytest.mark.parametrize("key", ["integrated_gradients", "occlusion", "attention_gradient"])
def test_the_difference_of_two_classes_is_the_difference_of_their_maps(key: str) -> None:
    """Of explainers that are linear in the logit."""
    for name in CLASSIFIERS:
        analysis = analysis_of(name)
        both = analysis.explain(key, target=(1, 3))
        alone = [analysis.explain(key, target=one) for one in (1, 3)]
        assert_close(both, alone[0] - alone[1], atol=1e-5, rtol=1e-4)


def test_the_first_of_two_classes_may_be_the_answer() -> None:
    analysis = analysis_of("cls")
    best, label = int(analysis.trace.logits.argmax()), analysis.card.labels[2]
    for key in ("generic", "gradient_rollout"):
        named = analysis.explain(key, target=(best, 2))
        assert torch.equal(analysis.explain(key, target=(None, label)), named)
        assert not torch.allclose(named, analysis.explain(key, target=best))


def test_options_of_explainers_are_used_or_refused() -> None:
    analysis = analysis_of("cls")
    ours = analysis.explain("attention", 3, layer=1, head=0)
    assert torch.equal(ours, analysis.attention(1, 0, 3))
    ours = analysis.explain("rollout", 3, residual=0.2, first=1, last=1, head_fusion="max")
    assert torch.equal(ours, analysis.rollout(3, 1, head_fusion="max", residual=0.2, first=1))
    for key, options, sentence in (
        ("attention", {"heads": 1}, "attention has no option 'heads'; there are layer, head"),
        ("generic", {"layer": 1}, "generic has no option 'layer'; it has none"),
        ("grad_cam", {"layer": 9}, "layer must be a whole number from 0 to 2, got 9"),
        ("integrated_gradients", {"steps": 0}, "steps must be a whole number of at least 1"),
        ("integrated_gradients", {"baseline": "white"}, 'baseline must be "mean", "black"'),
        ("integrated_gradients", {"baseline": torch.zeros(3)}, "pixels of shape"),
        ("rollout", {"residual": "half"}, "residual must be from 0 to 1, got 'half'"),
        ("generic", {"target": (1, 2, 0)}, "target must be a class or two, got (1, 2, 0)"),
    ):
        with pytest.raises(SelectionError, match=re.escape(sentence)):
            analysis.explain(key, **{"target": 1} | options)
    with pytest.raises(SelectionError):
        analysis.explain("generic", target=(1, 99))


def test_integrated_gradients_of_a_linear_model_are_weight_times_difference() -> None:
    """Without blocks that do anything the mean of the patches goes straight to the head."""
    analysis = analyze(linear_model(), photo())
    vit = analysis.loaded.vit
    weight = vit.head.weight[1] @ vit.patch_embed.proj.weight.flatten(1) / 6  # of each patch
    differs = analysis.pixels - analysis.pixels.mean((1, 2), keepdim=True)
    patches = differs.unfold(1, 8, 8).unfold(2, 8, 8)  # (C, rows, cols, 8, 8)
    expected = (patches.permute(1, 2, 0, 3, 4).flatten(2) @ weight).flatten()
    assert_close(analysis.explain("integrated_gradients", target=1), expected)


def test_occlusion_of_a_linear_model_has_a_closed_form() -> None:
    """The logit is the mean of what the patches say: without some, the mean of the rest."""
    analysis = analyze(linear_model(), photo())
    vit, tokens = analysis.loaded.vit, analysis.trace.tokens[0]  # 2 x 3 patches
    said = vit.head(tokens)[:, 1].view(2, 3)
    whole = said.mean()
    singles = torch.stack([whole - (said.sum() - one) / 5 for one in said.flatten()]).view(2, 3)
    # A window of 3 x 3 has no room in 2 rows: 2 x 3 would be the whole picture, so it is left out.
    assert_close(analysis.explain("occlusion", target=1).view(2, 3), singles)


def test_a_case_that_knows_no_interventions_is_explained_as_an_intact_pass() -> None:
    analysis = analyze(tiny("cls"), photo())
    case = analysis.case("occlusion", target=1)
    alone = replace(case, surgery=None)
    assert_close(alone.logits_with_patches([alone.patches])[0], analysis.trace.logits)
    assert torch.equal(EXPLAINERS["occlusion"](alone, 0), analysis.explain("occlusion", target=1))


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_what_is_saved_changes_no_number(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Occlusion, integrated gradients and fair tests leave out what no logit depends on, and ask a
    faster library; by whole passes of torch they come out the same.
    """

    def whole(case: Case, x: torch.Tensor, places: torch.Tensor | None = None) -> torch.Tensor:
        for block in case.vit.blocks:
            x = block(x, places)
        return case.vit.forward_head(case.vit.norm(x))

    def all_numbers() -> list[torch.Tensor]:
        test = analysis_of(name).fair_test("generic", "occlusion", steps=4, orders=4, target=1)
        maps = [analysis_of(name).explain(key, target=1) for key in MANY_PASSES]
        # In parts of the largest logit or probability: what is small is a difference of these.
        largest = analysis_of(name).trace.logits.abs().max()
        curves = [*test.first.values(), *test.last.values(), test.random]
        return [*(one / largest for one in maps), *curves]

    saved = all_numbers()
    monkeypatch.setattr(Case, "answer", whole)
    for one, other in zip(saved, all_numbers(), strict=True):
        assert_close(one, other, atol=1e-6, rtol=1e-6)


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_occlusion_takes_every_window_out(name: str) -> None:
    """Written out with loops, one pass for each window."""
    analysis, target = analysis_of(name), 1
    grid, case = analysis.grid, analysis.case("occlusion", target=target)
    vit, first = analysis.loaded.vit, grid.num_prefix_tokens
    whole = analysis.trace.logits[target]
    means = []
    for side in (1, 3):
        shares: dict[int, list[torch.Tensor]] = {one: [] for one in range(grid.num_patches)}
        height, width = min(side, grid.rows), min(side, grid.cols)
        for row in range(grid.rows - height + 1):
            for col in range(grid.cols - width + 1):
                gone = {
                    (row + y) * grid.cols + col + x for y in range(height) for x in range(width)
                }
                kept = [i for i in range(grid.num_tokens) if i - first not in gone]
                x = case.trace.tokens[0][kept][None].clone()
                for block in vit.blocks:
                    x = block(x, torch.tensor([kept]))
                fall = whole - vit.forward_head(vit.norm(x))[0, target]
                for one in gone:
                    shares[one].append(fall / len(gone))
        if all(shares.values()) and height * width < grid.num_patches:
            means.append(torch.stack([torch.stack(one).mean() for one in shares.values()]))
    found = analysis.explain("occlusion", target=target)
    assert_close(found[first:], torch.stack(means).mean(0), atol=1e-4, rtol=1e-3)


# --- models whose reason is known -----------------------------------------------------------------


def loaded_of(vit: ViT) -> LoadedModel:
    config = vit.config
    labels = tuple(f"class {i}" for i in range(config.num_classes))
    card = ModelCard(name="known", source="by hand", config=config, labels=labels, head="classes")
    return LoadedModel(
        vit, card, Preprocess(size=config.image_size, mean=(0.0,) * 3, std=(1.0,) * 3)
    )


def linear_model() -> LoadedModel:
    """Patches straight to the head, through blocks whose branches are all 0."""
    config = ViTConfig(
        image_size=(16, 24), patch_size=8, embed_dim=8, depth=2, num_heads=2, num_classes=3,
        class_token=False, global_pool="avg", final_norm="none",
    )  # fmt: skip
    vit = spread(ViT(config)).eval().requires_grad_(False)
    for block in vit.blocks:
        for layer in (block.attn.proj, block.mlp.fc2):
            layer.weight.zero_()
            layer.bias.zero_()
    return loaded_of(vit)


DECISIVE, DISTRACTING = 9, 5  # patches of a grid of 4 x 4: the red one, the blue one


@pytest.fixture(scope="module")
def known() -> Analysis:
    """Two classes: is there a red patch? CLS looks at a blue patch, which says nothing.

    Channels of a token: 0 red, 1 blue, 2 always 1, 3 CLS; 7 always 0, to read the others against,
    because the norm shifts all. Values are channel 0 alone; the block writes them to channel 4.
    """
    config = ViTConfig(
        image_size=32, patch_size=8, embed_dim=8, depth=1, num_heads=2, num_classes=2,
        final_norm="none",
    )  # fmt: skip
    vit = ViT(config).eval().requires_grad_(False)
    for parameter in vit.parameters():
        parameter.zero_()
    block = vit.blocks[0]
    block.norm1.weight.fill_(1)
    vit.patch_embed.proj.weight[0, 0] = 1 / 64
    vit.patch_embed.proj.weight[1, 2] = 1 / 64
    vit.patch_embed.proj.bias[2] = 1
    vit.cls_token[0, 0, 3] = 1
    qkv = block.attn.qkv.weight
    for head in (0, 4):
        qkv[head, 3], qkv[head, 7] = 1, -1  # q: is it CLS?
        qkv[8 + head, 1], qkv[8 + head, 7] = 0.9, -0.9  # k: blue
        qkv[16 + head, 0], qkv[16 + head, 7] = 1, -1  # v: red
    block.attn.proj.weight[4, 0] = block.attn.proj.weight[4, 4] = 1
    vit.head.weight[1, 4], vit.head.weight[0, 4] = 20, -20
    vit.head.bias[1] = -2
    picture = torch.zeros(32, 32, 3, dtype=torch.uint8)
    for patch, channel in ((DECISIVE, 0), (DISTRACTING, 2)):
        row, col = divmod(patch, 4)
        picture[row * 8 : row * 8 + 8, col * 8 : col * 8 + 8, channel] = 255
    return analyze(loaded_of(vit), picture.numpy())


def test_the_known_model_answers_for_the_reason_it_was_built_for(known: Analysis) -> None:
    assert known.answer().name == "class 1"
    without = known.picture.clone()
    row, col = divmod(DECISIVE, 4)
    without[row * 8 : row * 8 + 8, col * 8 : col * 8 + 8] = 0
    assert analyze(known.loaded, without.numpy()).answer().name == "class 0"


LOOKING = [key for key, one in EXPLAINERS.items() if one.needs & {"values", "class"}]


@pytest.mark.parametrize("key", ["attention", "rollout", *LOOKING])
def test_what_looks_at_values_or_the_class_finds_the_reason(key: str, known: Analysis) -> None:
    """Attention and rollout see where CLS looks, and that is not why it answers."""
    largest = int(known.grid.patches(known.explain(key, target=1)).argmax())
    assert largest == (DECISIVE if key in LOOKING else DISTRACTING)


def test_signed_explainers_turn_round_with_the_class(known: Analysis) -> None:
    for key, explainer in EXPLAINERS.items():
        if explainer.signed:
            against = known.grid.patches(known.explain(key, target=0))
            assert int(against.argmin()) == DECISIVE
            assert against[DECISIVE] < 0


def test_an_explainer_is_a_frozen_value() -> None:
    with pytest.raises(AttributeError):
        EXPLAINERS["generic"].signed = True
    assert isinstance(EXPLAINERS["generic"], Explainer)
