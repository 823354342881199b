"""The logit lens: its last row is the answer; others are the model's head after earlier blocks."""

import pytest
import torch
from torch.testing import assert_close

from tests.models import spread
from vitviz import Analysis, SelectionError, ViT, ViTConfig
from vitviz.probe.measure.lens import lines, logit_lens


def test_the_last_layer_is_the_answer(any_tiny_analysis: Analysis) -> None:
    analysis = any_tiny_analysis
    if analysis.card.head != "classes":
        assert analysis.lens is None
        assert analysis.lens_lines() == ()
        return
    assert analysis.lens.shape == (analysis.trace.depth, len(analysis.card.labels))
    assert_close(analysis.lens[-1], analysis.trace.logits, rtol=0, atol=1e-4)


@pytest.mark.parametrize("pool", ["token", "avg", "map"])
def test_a_layer_answers_as_a_model_that_ends_there(pool: str) -> None:
    config = ViTConfig(
        image_size=16, patch_size=8, embed_dim=16, depth=3, num_heads=2, num_classes=4,
        global_pool=pool,
    )  # fmt: skip
    vit = spread(ViT(config)).eval()
    pixels = torch.randn(1, 3, 16, 16, generator=torch.Generator().manual_seed(1))
    tokens = [vit.embed(pixels)]
    for block in vit.blocks:
        tokens.append(block(tokens[-1]))
    lens = logit_lens(vit, torch.cat(tokens).detach())
    for layer in range(3):
        shorter = spread(ViT(config)).eval()
        shorter.blocks = shorter.blocks[: layer + 1]
        assert_close(lens[layer], shorter(pixels)[0].detach(), rtol=0, atol=1e-4)
    assert not torch.equal(lens[0], lens[1])


@pytest.mark.parametrize("changes", [{"num_classes": 0}, {"global_pool": ""}])
def test_a_model_without_an_ending_has_none(changes: dict) -> None:
    values = {"image_size": 16, "patch_size": 8, "embed_dim": 16, "depth": 1, "num_heads": 2}
    vit = ViT(ViTConfig(**{**values, "num_classes": 4, **changes}))
    with pytest.raises(SelectionError, match="no classifier"):
        logit_lens(vit, torch.zeros(2, 5, 16))


def test_lines_follow_the_answer_and_every_layers_first() -> None:
    logits = torch.tensor([[0.0, 3, 1, 2], [5, 4, 1, 2], [0, 1, 3, 2]])
    found = lines(logits, ("a", "b", "c", "d"), temperature=2.0, k=2)
    assert [line.label for line in found] == ["c", "d", "b", "a"]
    assert found[0].ranks == (3, 4, 1)
    assert found[3].ranks == (4, 1, 4)
    want = (logits / 2).softmax(dim=-1)
    for line in found:
        assert_close(torch.tensor(line.probabilities), want[:, line.index])
