"""Position similarity: cosine by hand, prefix tokens apart."""

from dataclasses import replace

import pytest
import torch
from torch.testing import assert_close

from tests.models import TINY, photo, tiny
from vitviz.probe.analysis import analyze
from vitviz.probe.measure.positions import Positions, similarity


def test_similarity_that_a_reader_can_check() -> None:
    rows = torch.tensor([[1.0, 0.0], [3.0, 3.0], [0.0, -2.0], [0.0, 0.0]])
    half = 0.5**0.5
    expected = torch.tensor(
        [[1, half, 0, 0], [half, 1, -half, 0], [0, -half, 1, 0], [0, 0, 0, 0]], dtype=torch.float32
    )
    assert_close(similarity(rows), expected)


@pytest.mark.parametrize("name", [name for name in TINY if TINY[name].pos_embed])
def test_prefix_positions_are_kept_apart(name: str) -> None:
    config, pos_embed = TINY[name], tiny(name).vit.pos_embed
    positions = Positions.of(pos_embed, config)
    assert positions.patches.shape == (config.num_patches, config.embed_dim)
    assert len(positions.prefix) == (config.num_prefix_tokens if config.pos_embed_prefix else 0)
    assert_close(torch.cat([positions.prefix, positions.patches]), pos_embed[0])


def test_the_seed_of_the_positions_is_that_of_a_training() -> None:
    ours = analyze(tiny("cls"), photo())
    trained = replace(ours, card=replace(ours.card, trained=True, details={"seed": "7"}))
    assert trained.positions_seed == 7
    assert replace(trained, card=replace(trained.card, trained=False)).positions_seed is None
    assert replace(trained, positions=None).positions_seed is None
