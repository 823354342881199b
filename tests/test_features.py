"""Features: cosine, norms and outliers by hand; PCA against numpy's singular values."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from safetensors.torch import load
from torch.testing import assert_close

from vitviz import Analysis, SelectionError, pca
from vitviz.payload.payload import late_file
from vitviz.probe.measure import features


def patches_of(analysis: Analysis, layer: int) -> torch.Tensor:
    return analysis.grid.patches(features.tokens_after(analysis.trace, layer).T).T


def test_the_tokens_after_a_layer_are_what_its_block_returned(any_tiny_analysis: Analysis) -> None:
    trace = any_tiny_analysis.trace
    assert_close(features.tokens_after(trace, 0), trace.tokens[1], rtol=0, atol=0)
    assert_close(features.tokens_after(trace, trace.depth - 1), trace.tokens[-1], rtol=0, atol=0)
    with pytest.raises(SelectionError, match="layer must be a whole number from 0 to"):
        features.tokens_after(trace, trace.depth)


def test_similarity_and_norms_that_a_reader_can_check() -> None:
    tokens = torch.tensor([[3.0, 4.0], [6.0, 8.0], [-4.0, 3.0], [0.0, 0.0]])
    assert_close(features.similarity(tokens, 1), torch.tensor([1.0, 1.0, 0.0, 0.0]))
    assert_close(features.norms(tokens), torch.tensor([5.0, 10.0, 5.0, 0.0]))


def test_outliers_are_those_above_twice_the_median() -> None:
    norms = torch.tensor([10.0, 11.0, 9.0, 20.0, 21.0, 10.0, 10.0])
    assert features.outliers(norms).tolist() == [False] * 4 + [True] + [False] * 2
    assert features.outliers(norms, times=1.5).sum() == 2
    assert not features.outliers(torch.ones(5)).any()


def test_principal_agrees_with_singular_values(any_tiny_analysis: Analysis) -> None:
    analysis = any_tiny_analysis
    for layer in range(analysis.trace.depth):
        patches = patches_of(analysis, layer)
        assert len(patches) == analysis.grid.num_patches
        found = features.principal(patches)
        centred = patches.double().numpy() - patches.double().numpy().mean(axis=0)
        _, singular, directions = np.linalg.svd(centred, full_matrices=False)
        share = singular**2 / (singular**2).sum()
        np.testing.assert_allclose(found.explained, share[:3], atol=1e-6)
        for axis, direction in enumerate(directions[:3]):
            sign = np.sign(direction[np.abs(direction).argmax()])
            np.testing.assert_allclose(found.scores[:, axis], centred @ direction * sign, atol=1e-4)
        shown = found.rgb()
        assert shown.shape == (len(patches), 3)
        assert shown.min() >= 0
        assert shown.max() <= 1


def test_the_sign_does_not_depend_on_the_picture() -> None:
    generator = torch.Generator().manual_seed(1)
    patches = torch.randn(40, 6, generator=generator) * torch.tensor([9.0, 4, 2, 1, 1, 1])
    there = features.principal(patches).scores
    mirrored = features.principal(patches.flip(0)).scores
    assert_close(mirrored.flip(0), there, rtol=1e-4, atol=1e-4)


def test_very_few_patches_or_no_difference_between_them() -> None:
    one = features.principal(torch.ones(1, 8))
    assert one.scores.tolist() == [[0, 0, 0]]
    assert one.explained.tolist() == [0, 0, 0]
    assert one.rgb().tolist() == [[0.5, 0.5, 0.5]]
    two = features.principal(torch.tensor([[1.0, 0.0], [0.0, 0.0]]))
    assert_close(two.explained, torch.tensor([1.0, 0.0, 0.0]))
    assert_close(two.scores[:, 0], torch.tensor([0.5, -0.5]))


def test_nothing_is_written_into_the_trace(tiny_analysis: Analysis) -> None:
    before = tiny_analysis.trace.tokens.clone()
    analysis = replace(tiny_analysis)
    features.principal(patches_of(analysis, 0)).rgb()
    features.similarity(features.tokens_after(analysis.trace, 0), 1)
    assert_close(tiny_analysis.trace.tokens, before, rtol=0, atol=0)


def test_the_panel_gets_the_pca_of_normed_tokens_of_every_layer(tiny_analysis: Analysis) -> None:
    found = load(late_file(tiny_analysis, "normed"))
    for layer, scores in enumerate(found["scores"]):
        (exact,) = pca([tiny_analysis], layer)
        assert_close(scores, exact.scores.flatten(0, 1), rtol=0, atol=0)
        assert_close(found["explained"][layer], exact.explained, rtol=0, atol=0)
        before = features.tokens_after(tiny_analysis.trace, layer)
        assert_close(found["norms"][layer], features.norms(before))
    assert not torch.equal(found["scores"], load(late_file(tiny_analysis, "features"))["scores"])
