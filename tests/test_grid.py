"""Pixels, patches and tokens: there and back, for every number of prefix tokens."""

import pytest
import torch

from tests.models import TINY
from vitviz import PatchGrid, SelectionError


@pytest.mark.parametrize("name", TINY)
def test_patch_to_token_and_back_is_the_identity(name: str) -> None:
    grid = PatchGrid.of(TINY[name])
    tokens = [grid.token(row, col) for row in range(grid.rows) for col in range(grid.cols)]
    assert tokens == list(range(TINY[name].num_prefix_tokens, TINY[name].num_tokens))
    assert [grid.token(*grid.row_col(token)) for token in tokens] == tokens


def test_a_patch_is_cut_where_its_box_says() -> None:
    grid = PatchGrid((24, 40), (8, 4), num_prefix_tokens=5)
    assert (grid.rows, grid.cols, grid.num_patches, grid.num_tokens) == (3, 10, 30, 35)
    token = grid.token(2, 7)
    assert token == 5 + 27
    assert grid.box(token) == (16, 28, 8, 4)
    image = torch.arange(24 * 40).view(24, 40)
    patch = grid.patch(image, token)
    assert patch.shape == (8, 4)
    assert patch[0, 0] == 16 * 40 + 28
    assert grid.token_at(16, 28) == grid.token_at(23.9, 31.9) == token != grid.token_at(16, 32)


@pytest.mark.parametrize("prefix", [0, 1, 2, 5])
def test_to_map_leaves_out_the_prefix_and_keeps_rows(prefix: int) -> None:
    grid = PatchGrid((6, 8), (2, 2), prefix)
    values = torch.arange(prefix + 12.0)
    expected = torch.arange(12.0).view(3, 4) + prefix
    assert torch.equal(grid.to_map(values), expected)
    assert torch.equal(grid.to_map(values[prefix:]), expected)
    assert grid.to_map(values.expand(2, 3, -1)).shape == (2, 3, 3, 4)


def test_what_is_not_there_is_refused_with_the_range() -> None:
    grid = PatchGrid((6, 8), (2, 2), 1)
    for token in (-14, 13, True, 1.5, "0"):
        with pytest.raises(SelectionError, match="from 0 to 12"):
            grid.check(token)
    with pytest.raises(SelectionError, match="prefix token and has no place"):
        grid.row_col(0)
    for row, col in ((3, 0), (0, 4), (-1, 0), (0, -1), ("a", 0), (0, "a"), (0.5, 0), (0, True)):
        with pytest.raises(SelectionError, match="rows 0 to 2 and cols 0 to 3"):
            grid.token(row, col)
    with pytest.raises(SelectionError, match="13 tokens or 12 patches, got 11"):
        grid.to_map(torch.zeros(11))
