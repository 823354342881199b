"""Pass: its shapes, that it does not change, and what an experiment shares with the intact one."""

from dataclasses import FrozenInstanceError, fields

import pytest
import torch

from tests.models import TINY, photo, tiny, with_pass
from vitviz import Analysis, PatchGrid, analyze
from vitviz.probe.forward import Pass

CHANGES = [{"kind": "remove", "patches": [1]}, {"kind": "replace", "patches": [0], "by": "black"}]


@pytest.mark.parametrize("name", TINY)
@pytest.mark.parametrize("changes", [[], CHANGES], ids=["intact", "changed"])
def test_a_pass_has_the_shapes_it_promises(name: str, changes: list) -> None:
    loaded, config = tiny(name), TINY[name]
    found = analyze(loaded, photo(), interventions=changes).pass_
    assert found.picture.dtype == torch.uint8
    assert found.pixels.dtype == torch.float32
    assert found.picture.shape == (*config.image_size, config.in_chans)
    assert found.pixels.shape == (config.in_chans, *config.image_size)
    assert torch.equal(found.pixels, loaded.preprocess.pixels(found.picture)[0])
    assert found.trace.cuts is found.surgery.cuts
    assert (found.trace.depth, found.trace.num_tokens) == (config.depth, config.num_tokens)
    assert len(found.embedding.content) == config.num_tokens
    if loaded.card.head == "classes":
        assert found.lens.shape == (config.depth, config.num_classes)
    else:
        assert found.lens is None
    assert [one.to_dict()["kind"] for one in found.surgery.interventions] == [
        one["kind"] for one in changes
    ]


@pytest.mark.parametrize("name", [field.name for field in fields(Pass)])
def test_a_pass_does_not_change(name: str, tiny_analysis: Analysis) -> None:
    with pytest.raises(FrozenInstanceError, match=name):
        setattr(tiny_analysis.pass_, name, None)


def test_what_an_analysis_tells_of_its_pass_is_the_pass() -> None:
    analysis = analyze(tiny("cls"), photo(), interventions=CHANGES)
    for name in ("picture", "pixels", "trace", "embedding", "lens"):
        assert getattr(analysis, name) is getattr(analysis.pass_, name), name
    assert analysis.interventions is analysis.pass_.surgery.interventions
    assert analysis.grid == PatchGrid.of(analysis.card.config)


def test_an_experiment_shares_model_and_photo_with_the_intact_analysis() -> None:
    intact = analyze(tiny("cls"), photo(200, 300))
    ours = {field.name for field in fields(Analysis)} - {"pass_"}
    removed, painted = (intact.operate([one]) for one in CHANGES)
    for name in ours:
        assert getattr(removed, name) is getattr(intact, name), name
    # A photograph whose patches are no longer what the model saw is another.
    for name in ours - {"photograph"}:
        assert getattr(painted, name) is getattr(intact, name), name
    assert intact.photograph.crop
    assert painted.photograph.crop is None
    assert painted.photograph.frame == intact.photograph.frame
    assert removed.pass_ is not intact.pass_
    assert intact.interventions == ()


@pytest.mark.parametrize("name", TINY)
@pytest.mark.parametrize("changes", [[], CHANGES], ids=["intact", "changed"])
def test_a_saved_pass_is_read_back_whole(name: str, changes: list) -> None:
    analysis = analyze(tiny(name), photo(), values=True, interventions=changes)
    read, was = Analysis.from_bytes(analysis.to_bytes()).pass_, analysis.pass_
    assert type(read) is Pass
    assert read.surgery.interventions == was.surgery.interventions
    assert read.surgery.config == was.surgery.config
    assert torch.equal(read.surgery.removed, was.surgery.removed)
    assert read.trace.cuts is read.surgery.cuts
    for values in ("picture", "pixels"):
        assert torch.equal(getattr(read, values), getattr(was, values)), values
    for values in ("q", "k", "v", "tokens", "logits"):
        assert torch.equal(getattr(read.trace, values), getattr(was.trace, values)), values
    for values in ("filters", "bias", "content", "position"):
        assert torch.equal(getattr(read.embedding, values), getattr(was.embedding, values)), values
    assert (read.lens is None) == (was.lens is None)
    assert read.lens is None or torch.equal(read.lens, was.lens)
    for layer in range(was.trace.depth):
        assert torch.equal(read.trace.attention(layer), was.trace.attention(layer)), layer


@pytest.mark.parametrize("part", ["embedding", "lens"])
def test_a_file_from_before_a_part_was_kept_has_none(part: str) -> None:
    old = with_pass(analyze(tiny("cls"), photo()), **{part: None})
    assert getattr(Analysis.from_bytes(old.to_bytes()), part) is None
