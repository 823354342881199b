"""analyze: one pass, checked against the model; saved and read back; bad selections refused."""

import copy
import json
import math
import pickle
from copy import deepcopy
from dataclasses import replace

import pytest
import torch
from PIL import Image
from torch.testing import assert_close

from tests.models import TINY, photo, spread, tiny, with_pass
from vitviz import Analysis, SelectionError, ViT, ViTConfig, VitvizError, analyze, capture
from vitviz.languages import Message, say
from vitviz.model.weights import LoadedModel, load


def without_positions() -> LoadedModel:
    loaded = tiny("cls")
    config = ViTConfig(**{**TINY["cls"].to_dict(), "pos_embed": False})
    vit = spread(ViT(config)).eval()
    return LoadedModel(vit, replace(loaded.card, config=config), loaded.preprocess)


@pytest.mark.parametrize("name", TINY)
def test_analysis_holds_what_the_model_computed(name: str) -> None:
    loaded, config = tiny(name), TINY[name]
    analysis = analyze(loaded, photo())
    assert tuple(analysis.picture.shape) == (*config.image_size, config.in_chans)
    again = (analysis.picture.permute(2, 0, 1) / 255 - 0.5) / 0.25
    assert_close(analysis.pixels, again)
    assert_close(analysis.trace.logits, loaded.vit(analysis.pixels[None])[0])
    assert analysis.grid.num_tokens == analysis.trace.num_tokens == config.num_tokens


@pytest.mark.parametrize("name", TINY)
def test_verify_finds_no_difference_and_would_find_one(name: str) -> None:
    loaded = tiny(name)
    analysis = analyze(loaded, photo())
    assert analysis.verify() < 1e-4
    if loaded.vit.attn_pool is not None:  # what the pool looks at is in question too
        others = analysis.trace.tokens.clone()
        others[-1] += torch.randn_like(others[-1])
        other = with_pass(analysis, trace=replace(analysis.trace, tokens=others))
        assert other.verify() > 1e-3
    analysis.trace.q[1] += 1.0 * torch.randn_like(analysis.trace.q[1])
    assert analysis.verify() > 1e-3
    analysis.trace.q[1] = math.nan
    assert math.isnan(analysis.verify())


def test_five_predictions_are_told_unless_another_number_is_asked_for() -> None:
    analysis = analyze(tiny("cls"), photo())  # of seven classes
    assert [len(analysis.predictions(*k)) for k in ((), (2,), (9,))] == [5, 2, 7]
    assert analysis.predictions() == analysis.predictions(7)[:5]


def test_one_forward_pass_per_analysis() -> None:
    loaded = tiny("cls")
    passes = []
    handle = loaded.vit.register_forward_pre_hook(lambda *_: passes.append(1))
    analysis = analyze(loaded, photo())
    analysis.predictions(), analysis.attention(1), analysis.rollout(), analysis.summary()
    handle.remove()
    assert len(passes) == 1


@pytest.mark.parametrize("name", TINY)
def test_save_and_load_round_trip_exactly(name: str, tmp_path) -> None:
    """Its tensors are read back by test_pass.py, from the same bytes."""
    analysis = analyze(tiny(name), photo())
    path = tmp_path / "photo.safetensors"
    analysis.save(path)
    assert path.read_bytes() == analysis.to_bytes()
    assert path.read_bytes()[8:9] == b"{"  # safetensors: a length, then JSON; no pickle
    read = Analysis.load(path)
    for field in ("q", "k", "tokens", "logits"):
        assert torch.equal(getattr(read.trace, field), getattr(analysis.trace, field)), field
    assert torch.equal(read.picture, analysis.picture)
    assert torch.equal(read.pixels, analysis.pixels)
    if analysis.positions is None:
        assert read.positions is None
    else:
        assert torch.equal(read.positions.patches, analysis.positions.patches)
        assert torch.equal(read.positions.prefix, analysis.positions.prefix)
    assert (read.card, read.grid, read.preprocess) == (
        analysis.card,
        analysis.grid,
        analysis.preprocess,
    )
    assert read.summary() == analysis.summary()
    assert read.trace.scale == analysis.trace.scale
    assert read.verify(tiny(name)) == pytest.approx(analysis.verify(), abs=1e-5)
    with pytest.raises(VitvizError, match="pass the model"):
        read.verify()
    assert [p.name for p in tmp_path.iterdir()] == ["photo.safetensors"]


def test_another_model_is_refused_also_where_the_analysis_holds_its_own() -> None:
    loaded = tiny("cls")
    analysis = analyze(loaded, photo())
    twin = replace(loaded, card=replace(loaded.card, trained=not loaded.card.trained))
    others = [deepcopy(loaded), deepcopy(loaded)]  # of the same shape
    others[0].vit.blocks[0].attn.proj.weight.data *= 2
    others[1].vit.head.weight.data *= 2
    for one in (analysis, Analysis.from_bytes(analysis.to_bytes())):
        assert one.verify(loaded) < 1e-4
        for other in (tiny("grey"), twin, *others):
            with pytest.raises(VitvizError, match="the model that was passed is another"):
                one.verify(other)


def test_values_are_saved_where_they_were_asked_for() -> None:
    analysis = analyze(tiny("cls"), photo(), values=True)
    assert torch.equal(Analysis.from_bytes(analysis.to_bytes()).trace.v, analysis.trace.v)
    plain = analyze(tiny("cls"), photo())
    assert Analysis.from_bytes(plain.to_bytes()).trace.v is None
    change = [{"kind": "remove", "patches": [1]}]
    assert analysis.operate(change).trace.v.shape == analysis.trace.v.shape
    assert plain.operate(change).trace.v is None


def test_a_file_that_is_no_analysis_is_refused(tmp_path) -> None:
    from safetensors.torch import save_file

    wrong = tmp_path / "x.safetensors"
    for content in (b"", b"not safetensors at all", b"\xff" * 64):
        wrong.write_bytes(content)
        with pytest.raises(VitvizError, match="not an analysis saved by vitviz"):
            Analysis.load(wrong)
        with pytest.raises(VitvizError, match="this file is not an analysis saved by vitviz"):
            Analysis.from_bytes(content)
    save_file({"q": torch.zeros(2)}, wrong)
    with pytest.raises(VitvizError, match="not an analysis saved by vitviz"):
        Analysis.load(wrong)
    with pytest.raises(VitvizError, match="not an analysis saved by vitviz"):
        Analysis.load(tmp_path / "missing.safetensors")
    with pytest.raises(VitvizError, match="could not be written"):
        analyze(tiny("cls"), photo()).save(tmp_path / "no" / "such" / "folder.safetensors")


def test_predictions_are_the_softmax_best_first() -> None:
    analysis = analyze(tiny("cls"), photo())
    probabilities = analysis.trace.logits.softmax(0)
    best = analysis.predictions(3)
    assert [p.index for p in best] == probabilities.argsort(descending=True)[:3].tolist()
    assert best[0].probability == pytest.approx(float(probabilities.max()))
    assert best[0].label == f"class {best[0].index}"
    assert best[0].logit == pytest.approx(float(analysis.trace.logits.max()))
    assert sum(p.probability for p in analysis.predictions(99)) == pytest.approx(1)
    assert analyze(tiny("registers"), photo()).predictions() == ()  # no head: no invented classes
    with pytest.raises(SelectionError, match="k must be"):
        analysis.predictions(0)


def test_temperature_changes_probabilities_and_not_the_order() -> None:
    analysis = analyze(tiny("cls"), photo())
    cooler = replace(analysis, card=replace(analysis.card, temperature=0.5))
    expected = (analysis.trace.logits / 0.5).softmax(0).max()
    assert cooler.predictions(1)[0].probability == pytest.approx(float(expected))
    assert [p.index for p in cooler.predictions()] == [p.index for p in analysis.predictions()]


def test_attention_and_positions_follow_the_selection() -> None:
    analysis = analyze(tiny("no_cls"), photo())
    maps = analysis.trace.attention(1)
    assert_close(analysis.attention(1, 2, 4), maps[2, 4])
    assert_close(analysis.attention(1, None, 4), maps[:, 4].mean(0))
    assert_close(analysis.attention(1, 2, 4, "to"), maps[2, :, 4])
    assert_close(analysis.attention(1), maps[:, 0].mean(0))
    assert_close(analysis.attention_of_heads(1), maps[:, 0])
    assert_close(analysis.attention_matrix(1, 2), maps[2])
    assert_close(analysis.attention_matrix(1), maps.mean(0))
    assert_close(analysis.rollout(), analysis.rollout(0, 1, first=0))
    assert not torch.allclose(analysis.rollout(), analysis.rollout(first=1))
    similarities = analysis.position_similarities()
    assert similarities.shape == (15, 15)
    assert_close(analysis.position_similarity(7), similarities[7].view(3, 5))
    assert analysis.position_similarity(7)[1, 2].item() == pytest.approx(1)
    with pytest.raises(SelectionError, match="direction must be"):
        analysis.attention(1, direction="up")
    with pytest.raises(SelectionError, match="head must be a whole number from 0 to 2, got 3"):
        analysis.attention(1, head=3)
    with pytest.raises(SelectionError, match="no learned position embedding"):
        analyze(without_positions(), photo()).position_similarities()


@pytest.mark.parametrize("name", TINY)
def test_the_ledger_of_shapes_is_what_the_modules_give(name: str) -> None:
    loaded = tiny(name)
    analysis = analyze(loaded, photo())
    shapes = {}
    for step in analysis.steps():
        if step.module and step.module != "pos_embed":
            module = loaded.vit.get_submodule(step.module.replace("*", "1"))

            def hook(_module, _args, out, name=step.name) -> None:
                shapes[name] = tuple((out[0] if isinstance(out, tuple) else out).shape)

            module.register_forward_hook(hook)
    with capture(loaded.vit):
        loaded.vit(analysis.pixels[None])
    for module in loaded.vit.modules():
        module._forward_hooks.clear()
    assert len(shapes) > 7
    for step in analysis.steps():
        if step.name in shapes:
            assert step.shape == shapes[step.name], step
    by_name = {step.name: step.shape for step in analysis.steps()}
    (height, width), channels = loaded.vit.config.patch_size, loaded.vit.config.in_chans
    assert by_name["patches"] == (1, analysis.grid.num_patches, channels * height * width)
    assert by_name["pixels"][1:] == analysis.pixels.shape
    learned = loaded.vit.pos_embed
    assert by_name.get("position embedding") == (None if learned is None else learned.shape)
    assert by_name["attention maps"][1:] == analysis.trace.attention(0).shape
    for step in analysis.steps():
        assert step.in_block == (step.module.startswith("blocks.") or step.name == "attention maps")


@pytest.mark.parametrize("name", TINY)
def test_the_ledger_says_which_tokens_a_step_speaks_of(name: str) -> None:
    loaded = tiny(name)
    analysis = analyze(loaded, photo())
    steps = {step.name: step for step in analysis.steps()}
    assert steps["pixels"].tokens is None
    if (prefix := analysis.grid.num_prefix_tokens) > 0:
        assert steps["prefix tokens"].shape == (1, prefix, loaded.vit.config.embed_dim)
    for part, step in steps.items():
        if part not in ("pixels", "pooled", "logits", "attention maps", "queries per head"):
            first, end = step.tokens
            assert end - first == step.shape[1], part
    if name == "registers":  # no head: the answer is the CLS token itself
        assert steps["pooled"].tokens == (0, 1)
        return
    if name == "no_pool":
        assert "pooled" not in steps
        assert steps["logits"].shape == (1, 7, 5)
    # Only the tokens that the answer is read from change it.
    tokens = torch.randn(1, *analysis.trace.tokens.shape[1:])
    answer = loaded.vit.forward_head(tokens)
    first, end = steps["logits"].tokens
    if name == "token_avg":  # a register lies between CLS and the patches, and is not read
        assert analysis.grid.num_prefix_tokens == 2
    for token in set(range(analysis.grid.num_tokens)) - ({1} if name == "token_avg" else set()):
        other = tokens.clone()
        other[0, token, 0] += 1  # one number only: the norm removes what is added to all
        assert (loaded.vit.forward_head(other) != answer).any() == (first <= token < end), token


def test_a_model_that_pools_nothing_has_no_single_answer() -> None:
    """The head answers for each token, as in timm; none of them is the answer to the picture."""
    analysis = analyze(tiny("no_pool"), photo())
    assert analysis.trace.logits.shape == (7, 5)
    assert analysis.card.head == "tokens"
    assert len(analysis.card.labels) == 5
    assert analysis.predictions() == analysis.lens_lines() == analysis.groups() == ()
    assert analysis.answer() is None
    assert analysis.lens is None
    assert analysis.summary()["predictions"] == []


def test_summary_is_json(tmp_path) -> None:
    path = tmp_path / "a red cat.png"
    Image.fromarray(photo()).save(path)
    summary = analyze(tiny("distilled"), path).summary(k=2)
    assert json.loads(json.dumps(summary)) == summary
    assert summary["photo"]["name"] == "a red cat.png"
    assert summary["prefix_tokens"] == ["cls_token", "dist_token"]
    assert summary["grid"] == [4, 4]
    assert len(summary["predictions"]) == 2
    heads = analyze(tiny("distilled"), path).head_statistics()
    for name in ("entropy", "distance"):
        assert_close(torch.tensor(summary["heads"][name]), getattr(heads, name), rtol=1e-5, atol=0)


def test_a_pickled_analysis_is_the_saved_one_without_the_weights() -> None:
    loaded = load("photos", device="cpu")
    analysis = analyze(
        loaded, photo(), values=True, interventions=[{"kind": "keep", "patches": [3]}]
    )
    data = pickle.dumps(analysis)
    assert len(data) < len(analysis.to_bytes()) + 10_000
    again = pickle.loads(data)
    assert again.loaded is None
    assert again.to_bytes() == analysis.to_bytes()
    expected = analysis.explain("generic", target=1)
    assert torch.equal(again.explain("generic", target=1, loaded=loaded), expected)
    with pytest.raises(VitvizError, match="does not hold its model"):
        again.explain("generic", target=1)
    assert copy.copy(analysis).loaded is loaded
    assert copy.deepcopy(analysis).loaded is None


def test_what_was_assumed_is_said_in_other_languages_from_a_file_too(tmp_path) -> None:
    loaded = tiny("cls")
    assumed = (Message("models.assumed_score"), "plain words")
    left_out = ("decoder (8 tensors)", Message("models.assumed_head", name="head.1"))
    card = replace(loaded.card, assumed=assumed, left_out=left_out)
    analyze(replace(loaded, card=card), photo()).save(tmp_path / "x.safetensors")
    again = Analysis.load(tmp_path / "x.safetensors").card
    assert (again.assumed, again.left_out) == (assumed, left_out)
    for ours, theirs in zip((*again.assumed, *again.left_out), (*assumed, *left_out), strict=True):
        assert say(ours, "ko") == say(theirs, "ko")
        assert type(ours) is type(theirs)
