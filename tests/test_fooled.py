"""Fooling: the same answer as an implementation of its own, bounds, control, targets, files."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from tests.models import TINY, photo, tiny
from vitviz import Analysis, LoadedModel, SelectionError, VitvizError, analyze
from vitviz.probe.intervene.intervention import MOST_FOOLING_STEPS, MOST_LEVELS, Perturb

NAMES = [
    name for name, config in TINY.items() if config.num_classes > 1 and config.global_pool != ""
]


def softer(name: str) -> LoadedModel:
    """A small model that is so sure of nothing that a few levels matter, and not all at once."""
    loaded = tiny(name)
    return replace(loaded, card=replace(loaded.card, temperature=0.2))


def clean(name: str) -> Analysis:
    return analyze(softer(name), photo())


def reference(analysis: Analysis, target: int | None, epsilon: int, steps: int) -> np.ndarray:
    """The fooled picture by plain torch on levels: no function of vitviz but the model."""
    loaded = analysis.loaded
    assert loaded is not None
    cut = loaded.preprocess
    mean, std = (torch.tensor(v)[:, None, None] for v in (cut.mean, cut.std))
    start = analysis.picture.permute(2, 0, 1).float()
    levels, size, first = start.clone(), int(np.ceil(epsilon / 4)), None
    for step in range(steps + 1):
        levels.requires_grad_()
        logits = loaded.vit(((levels / 255 - mean) / std)[None])[0]
        shares = (logits / loaded.card.temperature).softmax(0).detach()
        order = shares.argsort(descending=True)
        first = order[0] if first is None else first
        new = order[0] == target if target is not None else order[0] != first
        if not epsilon or step == steps or (new and shares[order[0]] - shares[order[1]] >= 0.05):
            break
        one = first if target is None else target
        rest = torch.cat([logits[:one], logits[one + 1 :]]).max()
        goal = rest - logits[one] if target is None else logits[one] - rest
        sign = torch.autograd.grad(goal, levels)[0].sign()
        levels = (levels.detach() + size * sign).clamp(start - epsilon, start + epsilon)
        levels = levels.clamp(0, 255)
    return levels.detach().permute(1, 2, 0).numpy()


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("epsilon", [1, 4, 8])
def test_another_implementation_finds_the_same_picture(name: str, epsilon: int) -> None:
    analysis = clean(name)
    target = (analysis.class_index(None) + 1) % analysis.card.config.num_classes
    for wanted in (None, target):
        fooled = analysis.fool(wanted, epsilon)
        mine = reference(analysis, wanted, epsilon, 8)
        # The sign of a gradient near zero may differ.
        assert (fooled.analysis.picture.numpy() == mine).mean() >= 0.99
        theirs = analyze(softer(name), mine.astype(np.uint8))
        assert fooled.analysis.class_index(None) == theirs.class_index(None)


@pytest.mark.parametrize("name", NAMES)
def test_no_value_moves_further_than_it_may(name: str) -> None:
    analysis = clean(name)
    for epsilon in (0, 1, 3, 8):
        fooled = analysis.fool(epsilon=epsilon, steps=5)
        for one in (fooled.analysis, fooled.control):
            moved = one.picture.int() - analysis.picture.int()
            assert one.picture.dtype == torch.uint8
            assert moved.abs().max() <= epsilon
        assert fooled.steps <= (5 if epsilon else 0)
        assert torch.equal(fooled.clean.picture, analysis.picture)
    untouched = analysis.fool(epsilon=0)
    assert torch.equal(untouched.analysis.picture, analysis.picture)
    assert not untouched.turned
    assert not untouched.control_turned


def test_it_goes_on_until_the_new_answer_leads_and_no_further() -> None:
    """The steps end with the first picture whose new answer leads by 0.05."""
    analysis = clean("cls")
    whole = analysis.fool(epsilon=8, steps=8)
    assert whole.turned
    assert whole.steps > 1
    leads = []
    for steps in range(1, whole.steps + 1):
        part = analysis.fool(epsilon=8, steps=steps)
        assert part.steps == steps
        first, second = part.analysis.predictions(2)
        new = first.index != analysis.class_index(None)
        leads.append(new and first.number - second.number >= 0.05)
    assert leads == [False] * (whole.steps - 1) + [True]
    assert torch.equal(part.analysis.picture, whole.analysis.picture)


def test_a_target_is_a_class_by_number_or_name() -> None:
    analysis = clean("cls")
    turned = []
    for place in range(analysis.card.config.num_classes):
        fooled = analysis.fool(place, epsilon=8, steps=32)
        assert torch.equal(
            analysis.fool(f"class {place}", epsilon=8, steps=32).analysis.picture,
            fooled.analysis.picture,
        )
        own = place == analysis.class_index(None)
        assert fooled.turned == (not own and fooled.analysis.class_index(None) == place)
        turned.append(fooled.turned)
    assert 0 < sum(turned) < len(turned)


def test_the_control_is_random_signs_of_the_same_size() -> None:
    analysis = clean("no_cls")
    control = analysis.fool(epsilon=3).control
    moved = control.picture.int() - analysis.picture.int()
    inside = (analysis.picture >= 3) & (analysis.picture <= 252)
    assert set(moved[inside].tolist()) == {-3, 3}
    assert 0.45 < (moved[inside] > 0).float().mean() < 0.55
    again, other = (analysis.fool(epsilon=3, seed=seed).control for seed in (0, 1))
    assert torch.equal(again.picture, control.picture)
    assert not torch.equal(other.picture, control.picture)


@pytest.mark.parametrize("name", ["cls", "no_cls", "map"])
def test_it_is_an_intervention_like_any_other(name: str) -> None:
    """`analyze` and `operate` make the same analysis; others come after, on the same picture."""
    analysis, change = clean(name), {"kind": "perturb", "epsilon": 6, "steps": 3}
    fooled = analysis.fool(epsilon=6, steps=3).analysis
    head = {"kind": "head", "layer": 0, "head": 1}
    for other in (
        analyze(softer(name), photo(), interventions=[change]),
        analysis.operate([change]),
    ):
        assert torch.equal(other.picture, fooled.picture)
        assert torch.equal(other.trace.logits, fooled.trace.logits)
        assert other.interventions == fooled.interventions
    # The model is fooled as it was, so that one can look for what an experiment undoes.
    both = analysis.operate([head, change])
    assert torch.equal(both.picture, fooled.picture)
    assert not torch.equal(both.trace.logits, fooled.trace.logits)
    assert "at most 6 of 255" in fooled.changes()
    assert json.loads(json.dumps(fooled.interventions[0].to_dict())) == {
        "kind": "perturb", "target": "away", "epsilon": 6, "steps": 3, "seed": 0
    }  # fmt: skip


def test_saved_files_hold_it(tmp_path: Path) -> None:
    """The analysis in a file, and the picture as PNG, which gives the same answer once more."""
    analysis = clean("cls")
    fooled = analysis.fool(epsilon=8).analysis
    fooled.save(tmp_path / "fooled.safetensors")
    back = Analysis.load(tmp_path / "fooled.safetensors")
    assert torch.equal(back.picture, fooled.picture)
    assert back.interventions == fooled.interventions
    analysis.save(tmp_path / "clean.safetensors")
    read = Analysis.load(tmp_path / "clean.safetensors")
    with pytest.raises(VitvizError, match="file, which does not hold its model"):
        read.fool()
    assert torch.equal(
        read.fool(epsilon=8, loaded=analysis.loaded).analysis.picture, fooled.picture
    )
    Image.fromarray(fooled.picture.numpy()).save(tmp_path / "fooled.png")
    again = analyze(softer("cls"), tmp_path / "fooled.png")
    assert torch.equal(again.picture, fooled.picture)
    assert torch.equal(again.trace.logits, fooled.trace.logits)


def test_wrong_values_are_refused_in_a_sentence() -> None:
    analysis = clean("cls")
    for values in ({"epsilon": -1}, {"epsilon": 9}, {"steps": 0}, {"steps": 33}):
        ((name, value),) = values.items()
        least, most = (0, MOST_LEVELS) if name == "epsilon" else (1, MOST_FOOLING_STEPS)
        with pytest.raises(SelectionError, match=f"{name} .* {least} to {most}, got {value}"):
            analysis.fool(**values)
    for values in ({"epsilon": 1.5}, {"seed": -1}):
        with pytest.raises(SelectionError, match="perturb is written like"):
            analysis.fool(**values)
    for target in (7, -1, "no such class"):
        with pytest.raises(SelectionError, match="has no class"):
            analysis.fool(target)
    with pytest.raises(SelectionError, match="changed already"):
        analysis.fool().analysis.fool()
    with pytest.raises(SelectionError, match="perturbed twice"):
        analysis.operate([{"kind": "perturb"}, {"kind": "perturb", "epsilon": 1}])


def test_a_model_without_one_answer_cannot_be_fooled() -> None:
    for name in ("registers", "no_pool"):
        with pytest.raises(SelectionError, match="classes"):
            analyze(tiny(name), photo(), interventions=[{"kind": "perturb"}])
    several = replace(tiny("cls"), card=replace(tiny("cls").card, outputs="any_of"))
    with pytest.raises(SelectionError, match="exclude each other"):
        analyze(several, photo()).fool()


@pytest.mark.parametrize("name", ["cls", "token_avg", "distilled"])
def test_clean_tokens_put_back(name: str) -> None:
    """As a list of interventions gives it: the fooled picture, and tokens of the clean pass."""
    analysis = clean(name)
    fooled = analysis.fool(epsilon=8)
    config = analysis.card.config
    for part in ("patches", "cls"):
        restored = fooled.restored(part)
        which = part if part == "cls" else list(range(config.num_patches))
        for layer in range(config.depth):
            put = {"kind": "transplant", "patches": which, "layer": layer, "from": analysis}
            by_hand = analysis.operate([Perturb(epsilon=8), put])
            answer = analysis.class_index(None)
            share = {p.index: p.probability for p in by_hand.predictions(99)}[answer]
            assert restored.probability[layer] == pytest.approx(share, abs=1e-5)
            assert restored.returns[layer] == (by_hand.class_index(None) == answer)
    # Before the first block a change of pixels is in the patches alone.
    assert fooled.restored("patches").returns[0]
    assert fooled.restored("cls").probability[0] == pytest.approx(
        {p.index: p.probability for p in fooled.analysis.predictions(99)}[answer], abs=1e-5
    )


def test_what_cannot_be_put_back_is_refused() -> None:
    with pytest.raises(SelectionError, match='must be "patches" or "cls"'):
        clean("cls").fool().restored("head")  # type: ignore[arg-type]
    with pytest.raises(SelectionError, match="prefix token"):
        clean("no_cls").fool().restored("cls")
