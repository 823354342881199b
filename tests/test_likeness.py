"""A vector as target: maps of the cosine of features with it are those of a loop in plain torch."""

import dataclasses

import numpy as np
import pytest
import torch
from torch.testing import assert_close

import vitviz
from tests.models import photo, spread, tiny
from tests.test_head import BARE, bare
from vitviz import EXPLAINERS, Analysis, LoadedModel, SelectionError, VitvizError
from vitviz.languages import say
from vitviz.model.vit import ViT
from vitviz.probe.explain.likeness import own_vector

OF_CLASS = [key for key, explainer in EXPLAINERS.items() if "class" in explainer.needs]
NAMES = [*BARE, "with classes"]


def model(name: str) -> LoadedModel:
    return tiny("cls") if name == "with classes" else bare(BARE[name])


def vector(loaded: LoadedModel) -> torch.Tensor:
    """The features of another picture."""
    return torch.from_numpy(vitviz.features(loaded, [photo()[:, ::-1].copy()]).values[0])


def pooled(loaded: LoadedModel, tokens: torch.Tensor) -> torch.Tensor:
    """Features behind the last norm, in plain torch. (B, N, D) -> (B, W)"""
    vit, config = loaded.vit, loaded.card.config
    x = vit.norm(tokens)
    if config.global_pool == "map":
        return vit.attn_pool(x)
    mean = x[:, config.num_prefix_tokens :].mean(1)
    both = torch.cat([x[:, 0], mean], 1)
    return {"token": x[:, 0], "avg": vit.fc_norm(mean), "token_avg": both}[config.global_pool]


def cosine(x: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    return (x @ v) / (x.norm(dim=-1) * v.norm())


def through(loaded: LoadedModel, x: torch.Tensor) -> torch.Tensor:
    for block in loaded.vit.blocks:
        x = block(x)
    return x


def own(loaded: LoadedModel, analysis: Analysis, key: str, v: torch.Tensor) -> torch.Tensor:
    """A map by an own loop, with autograd through blocks written out again, or by windows."""
    vit, grid = loaded.vit, analysis.grid
    prefix, (rows, cols) = grid.num_prefix_tokens, (grid.rows, grid.cols)
    if key == "grad_cam":
        *first, last = vit.blocks
        x = vit.norm_pre(vit.embed(analysis.pixels[None]))
        for block in first:
            x = block(x)
        inside = last.norm1(x).detach().requires_grad_()
        after = x + last.ls1(last.attn(inside))
        after = after + last.ls2(last.mlp(last.norm2(after)))
        (gradient,) = torch.autograd.grad(cosine(pooled(loaded, after), v).sum(), inside)
        values = (inside[0].detach() @ gradient[0, prefix:].mean(0)).relu()
        values[:prefix] = 0
        return values
    if key == "integrated_gradients":
        start = analysis.pixels.mean((1, 2), keepdim=True).expand_as(analysis.pixels)
        total = torch.zeros_like(start)
        for step in range(8):
            at = start + (step + 0.5) / 8 * (analysis.pixels - start)
            at = at[None].detach().requires_grad_()
            score = cosine(pooled(loaded, through(loaded, vit.norm_pre(vit.embed(at)))), v).sum()
            total += torch.autograd.grad(score, at)[0][0]
        parts = (analysis.pixels - start) * total / 8
        ph, pw = grid.patch_size
        patches = parts.reshape(-1, rows, ph, cols, pw).sum((0, 2, 4)).flatten()
        return torch.cat([torch.zeros(prefix), patches])
    maps, gradients = softmaxes(loaded, analysis, v)
    if key == "attention_gradient":
        return sum((a * g).sum(0)[2] for a, g in zip(maps, gradients, strict=True))
    relevance = torch.eye(grid.num_tokens)
    for a, g in zip(maps, gradients, strict=True):
        step = (a * g).relu().mean(0)
        if key == "generic":
            relevance = relevance + step @ relevance
        else:
            sums = step.sum(1, keepdim=True)
            step = torch.where(sums > 0, step / sums, torch.eye(len(step)))
            relevance = (0.5 * step + 0.5 * torch.eye(len(step))) @ relevance
    return relevance[2]


def softmaxes(loaded: LoadedModel, analysis: Analysis, v: torch.Tensor) -> tuple[list, list]:
    """Attention maps and their gradients, by blocks with an explicit softmax."""
    maps = []
    x = loaded.vit.norm_pre(loaded.vit.embed(analysis.pixels[None]))
    for block in loaded.vit.blocks:
        attn, y = block.attn, block.norm1(x)
        q, k, value = (
            attn.qkv(y).reshape(1, y.shape[1], 3, attn.num_heads, -1).permute(2, 0, 3, 1, 4)
        )
        scores = attn.q_norm(q) @ attn.k_norm(k).transpose(-1, -2) * attn.scale
        a = scores.softmax(-1)
        a = a if a.requires_grad else a.requires_grad_()
        maps.append(a)
        mixed = (a @ value).transpose(1, 2).reshape(1, y.shape[1], -1)
        x = x + block.ls1(attn.proj(attn.norm(mixed)))
        x = x + block.ls2(block.mlp(block.norm2(x)))
    gradients = torch.autograd.grad(cosine(pooled(loaded, x), v).sum(), maps)
    return [a.detach()[0] for a in maps], [g[0] for g in gradients]


@pytest.mark.parametrize("key", [key for key in OF_CLASS if key != "occlusion"])
@pytest.mark.parametrize("name", [name for name in NAMES if name != "map"])
def test_maps_are_those_of_an_own_loop(name: str, key: str) -> None:
    loaded = model(name)
    analysis, v = vitviz.analyze(loaded, photo()), vector(loaded)
    options = {"steps": 8} if key == "integrated_gradients" else {}
    ours = analysis.explain(key, 2, v, **options)
    assert_close(ours, own(loaded, analysis, key, v), rtol=1e-5, atol=1e-5)
    assert key == "grad_cam" or ours.abs().sum() > 0  # which can be 0: its values are relus


@pytest.mark.parametrize("name", NAMES)
def test_the_likeness_and_every_explainer_with_it(name: str) -> None:
    loaded = model(name)
    analysis, v = vitviz.analyze(loaded, photo()), vector(loaded)
    expected = float(cosine(pooled(loaded, analysis.trace.tokens[-1:]), v)[0])
    assert analysis.likeness(v) == pytest.approx(expected, abs=1e-5)
    assert analysis.likeness(v.numpy()) == analysis.likeness(v.tolist())
    itself = vitviz.features(loaded, [photo()]).values[0]
    assert analysis.likeness(itself) == pytest.approx(1, abs=1e-5)
    found = own_vector(loaded, analysis.trace.tokens[-1], analysis.pass_.surgery)
    assert_close(found, torch.from_numpy(itself), rtol=1e-5, atol=1e-5)
    for key in EXPLAINERS:
        values = analysis.explain(key, target=v)
        assert values.shape == (analysis.grid.num_tokens,)
        assert values.isfinite().all()
    for key in OF_CLASS:  # another length of the vector is another length of nothing
        assert_close(analysis.explain(key, target=3 * v), analysis.explain(key, target=v))


@pytest.mark.parametrize("name", NAMES)
def test_without_patches_the_likeness_falls_as_occlusion_and_the_fair_test_say(name: str) -> None:
    loaded = model(name)
    analysis, v = vitviz.analyze(loaded, photo()), vector(loaded)
    test = analysis.fair_test("generic", target=v, steps=3, orders=2)
    assert test.target is None
    assert float(test.first["generic"][0]) == pytest.approx(analysis.likeness(v), abs=1e-6)
    order = analysis.grid.patches(analysis.explain("generic", target=v)).argsort(descending=True)
    gone = round(float(test.removed[1]) * analysis.grid.num_patches)
    fewer = analysis.operate([{"kind": "remove", "patches": order[:gone].tolist()}])
    assert float(test.first["generic"][1]) == pytest.approx(fewer.likeness(v), abs=1e-5)
    assert fewer.explain("generic", target=v).isfinite().all()
    assert "random orders" in test.sentence("generic")


def test_a_vector_of_a_text_is_compared_with_the_projected_picture() -> None:
    clip = vitviz.load("tests/transformers_files/clip", device="cpu")
    assert clip.card.head == "embedding"
    analysis = vitviz.analyze(clip, photo())
    text = torch.randn(clip.card.config.num_classes)
    expected = float(cosine(analysis.trace.logits, text))
    assert analysis.likeness(text) == pytest.approx(expected, abs=1e-5)
    assert analysis.explain("generic", target=text).sum() > 0
    found = own_vector(clip, analysis.trace.tokens[-1], analysis.pass_.surgery)
    assert_close(found, analysis.trace.logits)


@pytest.mark.parametrize(
    ("target", "sentence"),
    [
        (torch.ones(25), r"must have shape \(24,\), as the features of tiny cls, got \(25,\)"),
        (torch.ones(2, 24), r"one axis, \(width,\), got \(2, 24\)"),
        (torch.zeros(24), "not all of them 0"),
        (np.full(24, np.nan), "finite numbers"),
        (["a"] * 24, "must hold numbers"),
        ([0.5] * 23 + [10**400], "must hold numbers"),
    ],
)
def test_a_vector_that_does_not_fit_is_refused(target, sentence: str) -> None:
    analysis = vitviz.analyze(tiny("cls"), photo())
    for ask in (
        lambda: analysis.explain("generic", target=target),
        lambda: analysis.likeness(target),
        lambda: analysis.fair_test("generic", target=target),
    ):
        with pytest.raises(SelectionError, match=sentence):
            ask()
    with pytest.raises(SelectionError, match="no vector is like its answer"):
        vitviz.analyze(tiny("no_pool"), photo()).likeness(torch.ones(16))
    with pytest.raises(SelectionError, match="a vector is needed, got 3"):
        analysis.likeness(3)
    with pytest.raises(VitvizError, match="model"):
        Analysis.from_bytes(analysis.to_bytes()).likeness(torch.ones(24))
    assert analysis.explain("generic", target=np.int64(2)).shape == (17,)


@pytest.mark.parametrize("name", ["cls", "distilled", "no_cls", "token_avg"])
def test_a_steered_pass_has_a_likeness_and_maps_of_it(name: str) -> None:
    """The direction is that of a class, whose head the likeness replaces."""
    loaded = tiny(name)
    v = vector(loaded)
    steps = [{"kind": "add", "patches": "all", "layer": 0, "toward": 3, "factor": 2.0}]
    steered = vitviz.analyze(loaded, photo(), interventions=steps)
    expected = cosine(own_vector(loaded, steered.trace.tokens[-1], steered.pass_.surgery), v)
    assert steered.likeness(v) == pytest.approx(float(expected), abs=1e-5)
    intact = vitviz.analyze(loaded, photo())
    assert steered.likeness(v) != pytest.approx(intact.likeness(v), abs=1e-3)
    plain_map = intact.explain("generic", target=v)
    found = steered.explain("generic", target=v)
    assert found.isfinite().all()
    assert not torch.allclose(found, plain_map, atol=1e-6)
    assert steered.explain("occlusion", target=v).isfinite().all()


def test_a_steered_pass_of_a_model_without_class_names_has_a_likeness_to_its_outputs() -> None:
    """Its head was looked for where none is."""
    clip = vitviz.load("tests/transformers_files/clip", device="cpu")
    steps = [{"kind": "add", "patches": "all", "layer": 0, "toward": 3, "factor": 2.0}]
    steered = vitviz.analyze(clip, photo(), interventions=steps)
    text = torch.randn(clip.card.config.num_classes)
    expected = float(cosine(steered.trace.logits, text))
    assert steered.likeness(text) == pytest.approx(expected, abs=1e-5)
    assert vitviz.analyze(clip, photo()).likeness(text) != pytest.approx(expected, abs=1e-3)
    for key in OF_CLASS:
        assert steered.explain(key, target=text).isfinite().all()
    other = vitviz.analyze(clip, photo()[:, ::-1].copy(), interventions=steps)
    expected = float(cosine(steered.trace.logits, other.trace.logits))
    assert steered.likeness(other) == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("name", ["cls", "avg"])
def test_a_picture_in_a_model_of_the_same_name_is_no_target(name: str) -> None:
    """Other weights, such as those of another epoch, or another config."""
    loaded = tiny("cls")
    config = loaded.card.config
    if name == "avg":
        config = dataclasses.replace(config, global_pool="avg")
    vit = spread(ViT(config), seed=int(name == "cls")).eval().requires_grad_(False)
    other = dataclasses.replace(
        loaded, vit=vit, card=dataclasses.replace(loaded.card, config=config)
    )
    analysis, theirs = (vitviz.analyze(one, photo()) for one in (loaded, other))
    assert theirs.card.key == analysis.card.key
    for ask in (analysis.likeness, lambda one: analysis.explain("generic", target=one)):
        for target in (theirs, Analysis.from_bytes(theirs.to_bytes())):
            with pytest.raises(SelectionError, match="needs another picture in the same model"):
                ask(target)
    changes = [{"kind": "head", "layer": 2, "head": 0, "by": "zero"}]
    ours = vitviz.analyze(loaded, photo()[::-1].copy(), interventions=changes)
    again = Analysis.from_bytes(ours.to_bytes())
    assert analysis.likeness(again) == pytest.approx(analysis.likeness(ours), abs=1e-6)


@pytest.mark.parametrize("name", NAMES)
def test_another_picture_is_a_target_by_its_own_vector(name: str) -> None:
    loaded = model(name)
    analysis, v = vitviz.analyze(loaded, photo()), vector(loaded)
    other = vitviz.analyze(loaded, photo()[:, ::-1].copy())
    other = dataclasses.replace(other, photo_name="cat.jpg")
    assert analysis.likeness(other) == pytest.approx(analysis.likeness(v), abs=1e-5)
    assert_close(analysis.explain("generic", target=other), analysis.explain("generic", target=v))
    options = {"steps": 4, "orders": 4}
    test = analysis.fair_test("generic", target=other, **options)
    of_vector = analysis.fair_test("generic", target=v, **options)
    assert_close(test.random, of_vector.random, rtol=1e-4, atol=1e-5)
    assert (test.target, test.liked, of_vector.liked) == (None, "cat.jpg", "")
    kinds = [(one.to_dict()["score"], one.to_dict()["liked"]) for one in (test, of_vector)]
    assert kinds == [("likeness", "cat.jpg"), ("likeness", "")]
    assert test.score == "likeness to cat.jpg"
    assert of_vector.score == "likeness to the vector"
    told = test.sentence("generic")
    assert told.startswith("measured by the likeness to cat.jpg, on this picture ")
    assert say(told, "ko").startswith("cat.jpg와 닮은 정도로 재면, 이 그림에서")
    other_model = vitviz.analyze(tiny("distilled"), photo())
    for ask in (analysis.likeness, lambda one: analysis.explain("generic", target=one)):
        with pytest.raises(SelectionError, match="needs another picture in the same model"):
            ask(other_model)


def said(figure) -> str:
    return " ".join(
        text.get_text() for text in figure.findobj(lambda part: hasattr(part, "get_text"))
    )


def test_figures_of_a_likeness_name_the_picture_and_what_falls() -> None:
    analysis = vitviz.analyze(tiny("cls"), photo())
    other = dataclasses.replace(
        vitviz.analyze(tiny("cls"), photo()[::-1].copy()), photo_name="c$t$"
    )
    figure = vitviz.draw.explain(analysis, ["generic"], target=other)
    assert "matters for the likeness to c$t$, seen" in said(figure)
    of_vector = said(vitviz.draw.explain(analysis, ["generic"], target=torch.ones(24)))
    assert "How much each patch matters for the likeness to a vector, seen" in of_vector
    assert "class 0" not in of_vector
    test = analysis.fair_test("generic", target=other, steps=3, orders=4)
    figure = vitviz.draw.fair_test(analysis, test)
    assert figure.axes[0].get_ylabel() == "likeness to c$t$"
    assert "Fair test: likeness to c$t$ while patches are taken out" in said(figure)
    of_class = vitviz.draw.fair_test(analysis, analysis.fair_test("generic", target=2, steps=3))
    assert of_class.axes[0].get_ylabel() == 'probability of "class 2"'
    for ax, curves in zip(figure.axes, (test.first, test.last), strict=True):
        for line, (key, curve) in zip(ax.lines, curves.items(), strict=True):
            name = EXPLAINERS[key].name
            assert line.get_label().startswith(name)
            assert_close(torch.tensor(line.get_ydata()), curve)
            assert_close(torch.tensor(line.get_xdata()), test.removed)
