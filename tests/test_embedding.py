"""The way of a patch into the first block: the model's own numbers, and the sum by hand."""

from dataclasses import replace

import pytest
from einops import rearrange
from torch.testing import assert_close

from tests.models import TINY, photo, spread, tiny
from vitviz import ViT, ViTConfig, analyze
from vitviz.model.weights import LoadedModel
from vitviz.probe.measure.embedding import Embedding


def changed(**fields: object) -> LoadedModel:
    """The tiny model with a CLS token, with something about its embedding changed."""
    loaded = tiny("cls")
    config = ViTConfig(**{**TINY["cls"].to_dict(), **fields})
    vit = spread(ViT(config)).eval().requires_grad_(False)
    return LoadedModel(vit, replace(loaded.card, config=config), loaded.preprocess)


@pytest.mark.parametrize("name", TINY)
def test_content_and_position_are_what_enters_the_first_block(name: str) -> None:
    analysis = analyze(tiny(name), photo())
    found = analysis.embedding
    count = found.filters.shape[0]
    assert count == min(24, TINY[name].embed_dim)
    assert_close(found.content + found.position, analysis.trace.tokens[0, :, :count])


@pytest.mark.parametrize("name", TINY)
def test_an_answer_is_a_sum_over_the_numbers_of_a_patch(name: str) -> None:
    analysis = analyze(tiny(name), photo())
    found, first = analysis.embedding, analysis.grid.num_prefix_tokens
    height, width = analysis.grid.patch_size
    patches = rearrange(
        analysis.pixels, "c (rows ph) (cols pw) -> (rows cols) c ph pw", ph=height, pw=width
    )
    for patch in range(analysis.grid.num_patches):
        for i, weights in enumerate(found.filters):
            answer = (weights * patches[patch]).sum() + found.bias[i]
            assert_close(found.content[first + patch, i], answer, rtol=1e-4, atol=1e-4)


def test_models_without_positions_or_bias_or_with_positions_of_patches_only() -> None:
    assert not analyze(changed(pos_embed=False), photo()).embedding.position.any()
    assert not analyze(changed(patch_bias=False), photo()).embedding.bias.any()
    registers = analyze(tiny("registers"), photo())
    first = registers.grid.num_prefix_tokens
    assert not registers.embedding.position[:first].any()
    assert registers.embedding.position[first:].all()


def test_it_does_not_keep_the_weights_of_the_model_alive() -> None:
    analysis = analyze(tiny("cls"), photo())
    weight = tiny("cls").vit.patch_embed.proj.weight
    assert analysis.embedding.filters.data_ptr() != weight.data_ptr()
    assert analysis.embedding.filters.untyped_storage().nbytes() == 24 * 3 * 8 * 8 * 4
    vit = tiny("cls").vit
    one = Embedding.of(vit, vit.patch_embed(analysis.pixels[None])[0], count=3)
    assert_close(one.content, analysis.embedding.content[:, :3])
