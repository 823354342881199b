"""Half of the patches is taken out of pictures that a taught head has not learned from."""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch

import vitviz
from tests.models import TINY, photo, tiny
from tests.running import save_tiny
from tests.test_teach import folder_of
from vitviz import Halves, SelectionError, cli
from vitviz.many.halves import sides
from vitviz.many.linear import PENALTY, fit, folds_of
from vitviz.model.head import without_head

CONFIG = TINY["cls"]


def planted(count: int, square: bool) -> list[np.ndarray]:
    """Views of the photo that differ by a square in the corner alone."""
    views = []
    for at in range(count):
        view = np.roll(photo(72, 72), (7 * at, 5 * at), axis=(0, 1)).copy()
        if square:
            view[:6, :6] = (255, 0, 0)
        views.append(view)
    return views


@pytest.mark.parametrize(
    ("grid", "middle", "rim"),
    [
        ((4, 4), [1, 2, 4, 5, 6, 7, 9, 10], [0, 3, 8, 11, 12, 13, 14, 15]),
        ((2, 3), [0, 1, 4], [2, 3, 5]),
        ((3, 3), [1, 3, 4, 5], [0, 2, 6, 8]),  # 7 lies between both halves
        ((1, 2), [0], [1]),
    ],
)
def test_half_of_the_patches_is_the_middle(grid, middle, rim) -> None:
    rows, cols = grid
    config = replace(CONFIG, image_size=(4 * rows, 4 * cols), patch_size=4)
    assert sides(config) == (middle, rim)


@pytest.mark.parametrize("name", ["cls", "no_cls", "registers", "token_avg", "rotary"])
def test_counts_are_those_of_heads_fitted_one_by_one(name) -> None:
    """By the intervention "remove" on the model with each head, in place of dropped tokens."""
    loaded = tiny(name)
    sets = {"plain": planted(4, False), "turned": [one[..., ::-1] for one in planted(3, False)]}
    plain = without_head(loaded)
    every = [one for some in sets.values() for one in some]
    y = torch.tensor([0] * 4 + [1] * 3)
    pixels = torch.stack([vitviz.analyze(plain, one).pixels for one in every])
    both = plain.vit(pixels), plain.vit(pixels.flip(-1))
    folds = folds_of(y.tolist(), range(7))
    counts = np.zeros((2, 3), int)
    for at, picture in enumerate(every):
        rest = torch.tensor([fold != folds[at] for fold in folds])
        rows = torch.cat([some[rest] for some in both])
        head = fit(rows, y[rest].repeat(2), 2, PENALTY)
        mine = vitviz.with_head(loaded, head.weight.float(), head.bias.float())

        def right(patches: list[int], mine=mine, picture=picture, at=at) -> bool:
            changes = [{"kind": "remove", "patches": patches}] if patches else []
            found = vitviz.analyze(mine, picture, interventions=changes)
            return int(found.trace.logits.argmax()) == int(y[at])

        if right([]):
            middle, rim = sides(loaded.card.config)
            counts[int(y[at])] += [1, right(middle), right(rim)]
    found = vitviz.halves(loaded, sets, progress=False)
    assert found == tuple(
        Halves(name, *map(int, row)) for name, row in zip(sets, counts, strict=True)
    )
    assert counts[:, 0].sum() > 0


@pytest.mark.parametrize(
    ("counts", "reads"),
    [
        ((10, 10, 0), "rim"),
        ((10, 0, 10), "middle"),
        ((10, 8, 10), "both"),  # less than a quarter
        ((2, 1, 2), "both"),  # one picture
        ((8, 6, 8), "middle"),
        ((0, 0, 0), "nothing"),
    ],
)
def test_a_half_is_named_only_for_a_clear_difference(counts, reads) -> None:
    assert Halves("cup", *counts).reads == reads


def test_a_square_in_the_corner_of_one_class_is_found_in_the_rim() -> None:
    """The two classes differ by nothing else."""
    sets = {"with": planted(12, True), "without": planted(12, False)}
    one, other = vitviz.halves(vitviz.load("photos"), sets, progress=False)
    assert (one.right, one.without_middle, one.reads) == (12, 12, "rim")
    assert other.reads != "rim"
    assert one.without_rim <= 2


def test_the_command_prints_what_stays_right(tmp_path, capsys) -> None:
    model = save_tiny(tmp_path, "cls")
    sets = {"with": planted(3, True), "without": planted(3, False)}
    things = folder_of(tmp_path / "things", sets)
    options = ["teach", str(things), "--model", str(model), "--halves"]
    assert cli.main([*options, "-o", str(tmp_path / "one.safetensors"), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)["halves"]
    found = vitviz.halves(vitviz.load(model), things, progress=False)
    assert [(one["label"], one["without_rim"]) for one in told] == [
        (one.label, one.without_rim) for one in found
    ]
    assert cli.main([*options, "-o", str(tmp_path / "two.safetensors")]) == 0
    said = capsys.readouterr().out
    for one in found:
        middle = f"{one.without_middle} of {one.right} right answers stay without the middle"
        assert f"{one.label}: {middle}, {one.without_rim} without the rim" in said


def test_another_penalty_is_refused_before_a_picture_is_read() -> None:
    with pytest.raises(SelectionError, match="penalty"):
        vitviz.halves(tiny("cls"), {"a": ["none.png"], "b": ["none.png"]}, "strong")
