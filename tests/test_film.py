"""The film of a training shows the model's own numbers at the moments it names."""

import itertools
from dataclasses import replace

import pytest
import torch

from tests.train.test_run import PICTURES, PLAIN, TEST, TINY, log_of, stop_after
from vitviz.errors import ImageError, WeightsError
from vitviz.probe.capture.recorder import capture
from vitviz.probe.measure.film import Film, look
from vitviz.probe.measure.positions import Positions, similarity
from vitviz.train.filming import moments
from vitviz.train.loop import Stopped, train
from vitviz.train.scores import normalise


@pytest.fixture(scope="module")
def trained(folder):
    return train(PLAIN.changed({"epochs": 4}), PICTURES, TEST, folder)


def test_the_last_frame_is_the_finished_model(trained, folder):
    film = Film.read(folder / "film.safetensors")
    assert film.pixels.shape == (3, 8, 8, 3)
    assert film.attention.shape == (len(film), 3, 2, 2, 5)
    assert film.positions.shape == (len(film), 4, 4)
    assert film.probabilities.shape == (len(film), 3, 3)

    pictures = film.pixels.permute(0, 3, 1, 2).float() / 255
    pixels = normalise(pictures, trained.mean, trained.std)
    with torch.no_grad(), capture(trained.vit) as recorder:
        logits = trained.vit(pixels[1:2])
    trace = recorder.trace(logits)
    for layer in range(2):
        torch.testing.assert_close(
            film.attention[-1, 1, layer].float(),
            trace.attention(layer)[:, 0],
            atol=1e-3,
            rtol=0,
        )
    patches = Positions.of(trained.vit.pos_embed, trained.vit.config).patches
    expected = similarity(patches)
    torch.testing.assert_close(film.positions[-1].float(), expected, atol=1e-3, rtol=0)
    torch.testing.assert_close(
        film.probabilities[-1, 1].float(), logits[0].softmax(-1), atol=1e-3, rtol=0
    )
    assert not torch.equal(film.positions[0], film.positions[-1])


def test_the_facts_of_a_moment_are_those_of_the_log(trained, folder):
    film = Film.read(folder / "film.safetensors")
    all_moments = film.facts["moments"]
    assert [moment["step"] for moment in all_moments] == moments(trained.steps)
    assert all_moments[0]["loss"] is None
    assert all_moments[-1]["images"] == trained.steps * 8
    epochs = [line for line in log_of(folder) if line["event"] == "epoch"]
    for line in epochs:
        same = [m for m in all_moments if m["step"] == line["step"]]
        assert not same or same[0]["top1"] == pytest.approx(line["top1"], abs=1e-4)
    assert film.facts["labels"] == list(PICTURES.labels)
    assert film.facts["began_with"] == ""
    assert [p["name"] for p in film.facts["pictures"]] == [
        TEST.labels[TEST.targets[i]] for i in (0, 5, 11)
    ]


def test_moments_are_dense_early_and_end_at_the_end():
    steps = moments(10_000)
    gaps = [b - a for a, b in itertools.pairwise(steps)]
    assert (steps[0], steps[-1], len(steps)) == (0, 10_000, 20)
    assert gaps == sorted(gaps)
    assert moments(3) == [0, 1, 2, 3]


def test_a_resumed_run_has_the_film_of_an_uninterrupted_one(tmp_path, monkeypatch):
    train(TINY, PICTURES, TEST, tmp_path / "whole")
    with monkeypatch.context() as patch:
        stop_after(patch, 7)
        with pytest.raises(Stopped):
            train(TINY, PICTURES, TEST, tmp_path / "two")
    train(TINY, PICTURES, TEST, tmp_path / "two", resume=True)
    whole, two = (Film.read(tmp_path / name / "film.safetensors") for name in ("whole", "two"))
    for name in ("positions", "attention", "probabilities"):
        assert torch.equal(getattr(whole, name), getattr(two, name)), name
    for ours, theirs in zip(whole.facts["moments"], two.facts["moments"], strict=True):
        assert ours | {"seconds": 0} == theirs | {"seconds": 0}


def test_filming_leaves_the_training_mode_alone():
    from vitviz.model.vit import ViT

    vit = ViT(PLAIN.config(3)).train()
    frame = look(vit, [torch.zeros(3, 8, 8)])
    assert vit.training
    with pytest.raises(ImageError):
        look(vit, [torch.zeros(3, 8, 9)])
    assert vit.training
    assert frame["attention"].float().sum(-1) == pytest.approx(torch.ones(1, 2, 2), abs=1e-3)


@pytest.mark.parametrize("positions", ["rotary", "none"])
def test_a_model_that_learns_no_positions_is_filmed_without_them(positions, tmp_path):
    recipe = TINY.changed({"positions": positions})
    with pytest.MonkeyPatch.context() as patch:
        stop_after(patch, 7)
        with pytest.raises(Stopped):
            train(recipe, PICTURES, TEST, tmp_path)
    run = train(recipe, PICTURES, TEST, tmp_path, resume=True)
    film = Film.read(tmp_path / "film.safetensors")
    assert film.positions is None
    assert len(film) == len(moments(run.steps))
    assert film.attention.shape[:2] == (len(film), 3)
    assert "pos_embed" not in run.vit.state_dict()


def test_a_missing_or_damaged_film_is_told_in_a_sentence(tmp_path, folder, trained):
    with pytest.raises(WeightsError, match="there is no film"):
        Film.read(tmp_path / "none.safetensors")
    (tmp_path / "bad.safetensors").write_bytes(b"not a film")
    with pytest.raises(WeightsError, match="is not a film"):
        Film.read(tmp_path / "bad.safetensors")
    film = Film.read(folder / "film.safetensors")
    moment = film.facts["moments"][1]
    broken = replace(film, facts={**film.facts, "moments": [{**moment, "loss": float("nan")}]})
    with pytest.raises(ValueError, match="not JSON compliant"):
        broken.save(tmp_path / "broken.safetensors")
    assert not (tmp_path / "broken.safetensors").exists()
    shorter = {**film.facts, "moments": film.facts["moments"][:-1]}
    replace(film, facts=shorter).save(tmp_path / "cut.safetensors")
    with pytest.raises(
        WeightsError, match=r"is not a film of a training: its positions have shape"
    ):
        Film.read(tmp_path / "cut.safetensors")
