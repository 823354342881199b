"""When a run is saved, and how it becomes longer or shorter on the way."""

import pytest
import torch
from PIL import Image

from tests.train.test_run import PICTURES, PLAIN, TEST, TINY, log_of
from vitviz.probe.measure.film import Film
from vitviz.train import checkpoint
from vitviz.train.errors import TrainError
from vitviz.train.filming import FILM
from vitviz.train.loop import train
from vitviz.train.optim import last_high_step
from vitviz.train.run import Run

# All random changes are on, and the learning rate stays high for half of the run.
STABLE = TINY.changed(
    {"schedule": "stable", "decay_share": 0.5, "all_patches_share": 0.3, "unmixed_share": 0.3}
)


def test_the_state_is_written_within_an_epoch_as_often_as_asked(tmp_path, monkeypatch):
    saved = []
    save = Run.save
    monkeypatch.setattr(
        Run, "save", lambda self, folder: (saved.append(self.step), save(self, folder))
    )
    recipe = PLAIN.changed({"epochs": 2})  # of 5 steps
    train(recipe, PICTURES, TEST, tmp_path / "often", save_every=0)
    assert saved == [*range(1, 10), 10]
    saved.clear()
    train(recipe, PICTURES, TEST, tmp_path / "seldom", save_every=1e9)
    assert saved == [5, 10]


def test_a_resumed_run_films_the_same_pictures(tmp_path):
    """Others would stand beside the maps of the first, or end the run where they are more."""
    files = []
    for name, level in (("grey", 90), ("light", 200)):
        files.append(tmp_path / f"{name}.png")
        Image.new("RGB", (8, 8), (level, level, level)).save(files[-1])
    folder = tmp_path / "run"
    train(PLAIN.changed({"epochs": 1, "schedule": "constant"}), PICTURES, TEST, folder, film=files)
    before = Film.read(folder / FILM)
    longer = PLAIN.changed({"epochs": 2, "schedule": "constant"})
    with pytest.raises(TrainError, match="film so far has other pictures, grey, light"):
        train(longer, PICTURES, TEST, folder, resume=True, film=files[::-1])
    train(longer, PICTURES, TEST, folder, resume=True)
    film = Film.read(folder / FILM)
    assert film.facts["pictures"] == [{"name": "grey"}, {"name": "light"}]
    assert torch.equal(film.pixels, before.pixels)
    assert len(film.facts["moments"]) > len(before.facts["moments"])
    train(longer, PICTURES, TEST, folder, resume=True, film=files)


@pytest.mark.parametrize("done", [2, 4])  # the epochs, of 5 steps each, that were planned at first
def test_a_run_whose_rate_has_fallen_can_get_another_length(tmp_path, done):
    planned, wanted = (STABLE.changed({"epochs": n}) for n in (done, 3))
    whole = train(wanted, PICTURES, TEST, tmp_path / "whole")
    train(planned, PICTURES, TEST, tmp_path / "parts")
    before = checkpoint.read_state(tmp_path / "parts", checkpoint.HIGH)
    assert before["step"] == done * 5 // 2
    parts = train(wanted, PICTURES, TEST, tmp_path / "parts", resume=True)
    if done == 2:  # 5 high steps are fewer than the 7 of three epochs: the very same run
        for (name, ours), theirs in zip(
            whole.vit.state_dict().items(), parts.vit.state_dict().values(), strict=True
        ):
            assert torch.equal(ours, theirs), name
    assert parts.steps == 15
    starts = [line["step"] for line in log_of(tmp_path / "parts") if line["event"] == "start"]
    assert starts == [0, before["step"]]


def test_a_run_that_is_resumed_as_planned_goes_on_from_its_last_state(tmp_path):
    recipe = STABLE.changed({"epochs": 2})
    train(recipe, PICTURES, TEST, tmp_path)
    train(recipe, PICTURES, TEST, tmp_path, resume=True)
    starts = [line["step"] for line in log_of(tmp_path) if line["event"] == "start"]
    assert starts == [0, 10]


def test_the_sparse_epochs_of_a_run_can_be_changed_while_it_is_in_them(tmp_path):
    sparse = {"sparse_keep": 0.5, "patch_keep": 0.75}
    long, short = (STABLE.changed({**sparse, "epochs": 3, "sparse_epochs": n}) for n in (3, 1))
    whole = train(short, PICTURES, TEST, tmp_path / "whole")
    # One epoch of the recipe with three sparse ones; its rate falls after 2 of its 5 steps.
    train(long.changed({"epochs": 1}), PICTURES, TEST, tmp_path / "parts")
    parts = train(short, PICTURES, TEST, tmp_path / "parts", resume=True)
    for (name, ours), theirs in zip(
        whole.vit.state_dict().items(), parts.vit.state_dict().values(), strict=True
    ):
        assert torch.equal(ours, theirs), name
    with pytest.raises(TrainError, match="sparse_epochs"):
        train(long, PICTURES, TEST, tmp_path / "parts", resume=True)


def test_a_run_without_the_state_it_would_have_to_go_back_to_says_so(tmp_path):
    train(STABLE.changed({"epochs": 2}), PICTURES, TEST, tmp_path)
    (tmp_path / checkpoint.HIGH).unlink()
    with pytest.raises(TrainError, match=r"it has no state-high\.pt"):
        train(STABLE, PICTURES, TEST, tmp_path, resume=True)


def test_the_last_high_step_is_before_anything_that_depends_on_the_length():
    assert last_high_step(STABLE, 20) == 10
    assert last_high_step(STABLE.changed({"all_patches_share": 0.7}), 20) == 6
    assert last_high_step(STABLE.changed({"unmixed_share": 1.0}), 20) == 0
    for schedule in ("cosine", "constant"):
        assert last_high_step(STABLE.changed({"schedule": schedule}), 20) is None
