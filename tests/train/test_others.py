"""The auxiliary tasks: pictures of none of the classes, and the prediction of neighbours."""

import json
import math
import os
import signal

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from einops import rearrange

from tests.train.test_run import PICTURES, PLAIN, SMALL, TEST, TINY, log_of
from vitviz import analyze, load
from vitviz.model.vit import ViT
from vitviz.probe.measure.predictions import known_or_not
from vitviz.train import checkpoint
from vitviz.train.command import main
from vitviz.train.dataset import Pictures
from vitviz.train.errors import TrainError
from vitviz.train.learner import CELLS, SIDES, Learner, Outputs, neighbour_loss
from vitviz.train.loop import Stopped, train
from vitviz.train.order import Sampler
from vitviz.train.others import (
    SCORES,
    Others,
    at_threshold,
    auroc,
    compare,
    only,
    split_others,
    threshold,
)
from vitviz.train.report import measurements
from vitviz.train.run import Run
from vitviz.train.scores import logits_of

CPU = torch.device("cpu")
NAMES = ("columns", "checks", "left", "right")
# Both auxiliary tasks are on.
BESIDE = {"others_share": 0.25, "neighbours": 0.5, "unseen": 1}


def four_kinds(n: int, seed: int = 0) -> Pictures:
    """Noise with columns, with checks, and darker on one side."""
    targets = torch.arange(n) % 4
    generator = torch.Generator().manual_seed(seed)
    images = torch.randint(0, 60, (n, 3, 8, 8), generator=generator)
    images[targets == 0, ..., ::2] += 160
    images[targets == 1, :, ::2, ::2] += 160
    images[targets == 2, ..., :4] += 160
    images[targets == 3, ..., 4:] += 160
    return Pictures("sides", images.to(torch.uint8), targets, NAMES)


OTHERS = split_others(four_kinds(80), four_kinds(40, seed=1), unseen=1, seed=0)


def test_unseen_classes_are_drawn_by_the_seed_and_in_no_training_picture():
    train_part, test_part = four_kinds(80), four_kinds(40, seed=1)
    drawn = set()
    for seed in range(8):
        others = split_others(train_part, test_part, unseen=2, seed=seed)
        again = split_others(train_part, test_part, unseen=2, seed=seed)
        assert others.unseen.labels == again.unseen.labels
        drawn.add(others.unseen.labels)
        assert sorted(others.taught.labels + others.unseen.labels) == sorted(NAMES)
        assert len(others.taught) == 40
        assert len(others.unseen) == 20
        for ours, source in ((others.taught, train_part), (others.unseen, test_part)):
            for number, label in enumerate(ours.labels):
                mine = ours.images[ours.targets == number]
                assert torch.equal(mine, source.images[source.targets == NAMES.index(label)])
    assert len(drawn) > 2


@pytest.mark.parametrize("unseen", [0, 4])
def test_others_must_be_left_on_both_sides(unseen):
    with pytest.raises(TrainError, match="unseen must leave some of the 4 classes of sides"):
        split_others(four_kinds(8), four_kinds(8), unseen, seed=0)


def test_kinds_without_a_picture_to_test_with_are_named():
    """A folder without val/ keeps none of a class of nine pictures for the test."""
    whole = four_kinds(8)
    out = split_others(whole, whole, 1, seed=0).unseen.labels[0]
    rest = whole.take((whole.targets != NAMES.index(out)).nonzero().view(-1))
    with pytest.raises(TrainError, match=f"no test picture of sides shows {out}"):
        split_others(whole, rest, 1, seed=0)
    taught = whole.take((whole.targets == NAMES.index(out)).nonzero().view(-1))
    with pytest.raises(TrainError, match="no training picture of sides shows"):
        split_others(taught, whole, 1, seed=0)


def test_both_parts_of_the_others_name_the_same_classes():
    with pytest.raises(TrainError, match="names other classes in its training and its test part"):
        split_others(four_kinds(8), only(four_kinds(8), torch.arange(3)), 1, seed=0)


@pytest.mark.parametrize(
    ("known", "unknown", "expected"),
    [
        ([2.0, 3], [0, 1], 1.0),
        ([0.0, 1], [2, 3], 0.0),
        ([1.0, 1], [1, 1, 1], 0.5),
        ([1.0, 3], [2, 0, 1], (0.5 + 1 + 3) / 6),
    ],
)
def test_auroc_counts_the_pairs_in_the_right_order(known, unknown, expected):
    assert auroc(torch.tensor(known), torch.tensor(unknown).float()) == pytest.approx(expected)


def test_auroc_is_the_share_of_pairs():
    torch.manual_seed(0)
    known, unknown = (torch.randn(300) + 1).round(decimals=1), torch.randn(200).round(decimals=1)
    above = known[:, None] - unknown
    expected = (above > 0).double().mean() + 0.5 * (above == 0).double().mean()
    assert auroc(known, unknown) == pytest.approx(expected.item())


def test_a_learner_draws_and_answers_as_its_model_does():
    torch.manual_seed(3)
    alone = ViT(TINY.config(3), patch_keep=0.5)
    plain = Run(TINY, PICTURES, CPU)
    beside = Run(TINY.changed(BESIDE), PICTURES, CPU, others=OTHERS)
    for name, value in plain.vit.state_dict().items():
        assert torch.equal(value, beside.vit.state_dict()[name]), name
    learner = Learner(alone, others=4, neighbours=True)
    assert not any(parameter.any() for parameter in learner.heads.parameters())
    pixels = torch.randn(5, 3, 8, 8)
    for training in (True, False):
        learner.train(training)
        torch.manual_seed(7)
        expected = alone(pixels)
        torch.manual_seed(7)
        answers = learner(pixels)
        torch.testing.assert_close(answers.logits, expected)
        assert answers.kept.shape == ((5, 2) if training else (5, 4))
        assert alone.patch_keep == 0.5
    tokens = alone.embed(pixels)  # eval: all of them
    learner.train()
    torch.manual_seed(8)
    kept_tokens, places = alone.tokenize(pixels)
    for picture in range(5):
        expected = tokens[picture, places[picture]]
        torch.testing.assert_close(kept_tokens[picture], expected)
    torch.manual_seed(8)
    assert torch.equal(learner(pixels).kept, places[:, 1:] - 1)


def test_neighbours_are_found_and_none_is_asked_for_beyond_the_edge():
    pixels = torch.randn(2, 3, 16, 24)
    rows, cols, side = 2, 3, 8
    values = 3 * CELLS**2
    small = F.avg_pool2d(pixels, side // CELLS)
    patches = rearrange(small, "b c (h y) (w x) -> b (h w) (c y x)", y=CELLS, x=CELLS)
    kept = torch.tensor([[0, 4], [5, 1]])
    guess = torch.full((2, 2, len(SIDES), values), 99.0)
    asked = 0
    for picture in range(2):
        for place, number in enumerate(kept[picture].tolist()):
            for which, (down, right) in enumerate(SIDES):
                row, col = number // cols + down, number % cols + right
                if 0 <= row < rows and 0 <= col < cols:
                    guess[picture, place, which] = patches[picture, row * cols + col]
                    asked += 1
    assert asked == 2 + 3 + 2 + 3
    loss = neighbour_loss(guess.flatten(2), kept, pixels, (rows, cols))
    assert loss.item() == pytest.approx(0, abs=1e-10)
    guess[0, 0, 1] += 2  # the right neighbour of the first patch: one of ten that count
    loss = neighbour_loss(guess.flatten(2), kept, pixels, (rows, cols))
    assert loss.item() == pytest.approx(4 / asked)


def test_the_losses_are_the_likelihood_of_one_softmax_in_two_stages():
    recipe = TINY.changed(BESIDE | {"label_smoothing": 0.0, "neighbours": 0.0})
    a_run = Run(recipe, PICTURES, CPU, others=OTHERS)
    torch.manual_seed(0)
    logits, others = torch.randn(8, 3), torch.randn(8, 3)
    targets, names = torch.tensor([0, 1, 2, 0, 1, 2]), torch.tensor([2, 0])
    answers = Outputs(logits, others, None, None, None)
    found = a_run.losses(answers, targets, torch.zeros(8, 3, 8, 8), names)
    # "None of these" is a class whose logit is 0; the second stage is among the others alone.
    stage = torch.cat([logits, torch.zeros(8, 1)], dim=1).log_softmax(dim=1)
    every = torch.cat([stage[:, :3], stage[:, 3:] + others.log_softmax(dim=1)], dim=1)
    truth = torch.cat([targets, 3 + names])
    torch.testing.assert_close(sum(found.values()), F.nll_loss(every, truth))
    assert set(found) == {"kinds", "known", "others"}


def test_pictures_of_others_teach_to_tell_them_even_where_their_class_was_never_seen(tmp_path):
    recipe = PLAIN.changed(BESIDE | {"zero_head": True})
    trained = train(recipe, PICTURES, TEST, tmp_path, others=OTHERS)
    assert trained.scores["top1"] == 1
    epochs = [line for line in log_of(tmp_path) if line["event"] == "epoch"]
    assert epochs[-1]["auroc"] > 0.9
    known, taught, unseen = (
        known_or_not(logits_of(trained.vit, images, trained.mean, trained.std))
        for images in (TEST.images, OTHERS.taught.images, OTHERS.unseen.images)
    )
    assert auroc(known, taught) == 1
    assert auroc(known, unseen) > 0.9


@pytest.mark.parametrize("step", [5, 7])  # an epoch has 6 steps
def test_a_resumed_run_with_others_ends_as_an_uninterrupted_one(tmp_path, monkeypatch, step):
    recipe = TINY.changed(BESIDE | {"epochs": 2})
    whole = train(recipe, PICTURES, TEST, tmp_path / "whole", others=OTHERS)
    assert whole.steps == 12
    with monkeypatch.context() as patch:
        learn = Run.learn

        def learn_and_press(self, *batch):
            facts = learn(self, *batch)
            if self.step == step:
                os.kill(os.getpid(), signal.SIGTERM)
            return facts

        patch.setattr(Run, "learn", learn_and_press)
        with pytest.raises(Stopped, match=f"stopped after step {step} of 12"):
            train(recipe, PICTURES, TEST, tmp_path / "two", others=OTHERS)
    parts = train(recipe, PICTURES, TEST, tmp_path / "two", resume=True, others=OTHERS)
    for (name, ours), theirs in zip(
        whole.vit.state_dict().items(), parts.vit.state_dict().values(), strict=True
    ):
        assert torch.equal(ours, theirs), name
    heads = [checkpoint.read_state(tmp_path / name)["heads"] for name in ("whole", "two")]
    assert set(heads[0]) == {
        f"{head}.{part}" for head in ("others", "neighbours") for part in ("weight", "bias")
    }
    for name, ours in heads[0].items():
        assert ours.abs().sum() > 0
        assert torch.equal(ours, heads[1][name]), name


def test_a_run_is_resumed_with_the_same_others_only(tmp_path):
    recipe = TINY.changed(BESIDE | {"epochs": 1})
    train(recipe, PICTURES, TEST, tmp_path, others=OTHERS)
    fewer = Others(OTHERS.taught.take(torch.arange(30)), OTHERS.unseen)
    with pytest.raises(TrainError, match=r"number of pictures of others \(was 60, now 30\)"):
        train(recipe, PICTURES, TEST, tmp_path, resume=True, others=fewer)


def test_a_step_of_others_alone_is_refused():
    recipe = TINY.changed(BESIDE | {"others_share": 0.8, "batch_size": 2})
    with pytest.raises(TrainError, match=r"a batch of 2 with others_share 0\.8 has no picture of"):
        Run(recipe, PICTURES, CPU, others=OTHERS)


def test_a_share_of_others_that_makes_no_picture_is_refused():
    recipe = TINY.changed(BESIDE | {"others_share": 0.2, "batch_size": 2})
    with pytest.raises(TrainError, match=r"a batch of 2 .* 0\.2 has no picture of others"):
        Run(recipe, PICTURES, CPU, others=OTHERS)


def test_a_run_can_be_measured_with_others_that_it_is_never_shown(tmp_path):
    """The mean loss of none of them was no number, and ended the run at its first step."""
    recipe = TINY.changed(BESIDE | {"others_share": 0.0, "epochs": 1})
    trained = train(recipe, PICTURES, TEST, tmp_path, others=OTHERS)
    assert trained.steps == 5
    assert math.isfinite(trained.scores["nll"])


def test_a_step_shows_its_share_of_others_and_every_picture_gets_its_turn():
    a_run = Run(TINY.changed(BESIDE), PICTURES, CPU, others=OTHERS)
    assert (a_run.order.size, a_run.others_order.size) == (6, 2)
    seen, others = [], []
    for batch in a_run.batches():
        assert [len(part) for part in batch[:4]] == [6, 6, 2, 2]
        seen.append(batch[0])
        others.append(batch[2])
        a_run.step += 1
    pictures = a_run.pictures.images
    first_epoch = torch.cat(seen[:6]).flatten(1)
    assert len(first_epoch.unique(dim=0)) == 36
    assert (first_epoch[:, None] == pictures.flatten(1)).all(2).any(1).all()
    assert len(torch.cat(others).flatten(1).unique(dim=0)) == 2 * len(seen)


def test_an_order_is_the_same_from_any_step_on():
    whole, later = Sampler(10, 3, seed=1), Sampler(10, 3, seed=1)
    steps = [whole.at(step) for step in range(7)]
    assert torch.equal(later.at(5), steps[5])
    assert torch.equal(later.at(1), steps[1])
    assert len(torch.cat(steps[:3]).unique()) == 9
    assert not torch.equal(steps[0], steps[3])
    with pytest.raises(TrainError, match="2 pictures do not fill one batch of 3"):
        Sampler(2, 3, seed=1)


def test_every_score_is_higher_for_a_sure_answer():
    sure, unsure = torch.tensor([[5.0, 0, -1]]), torch.tensor([[0.2, 0.1, 0]])
    for name, score in SCORES.items():
        assert score(sure) > score(unsure), name
        assert score(sure).shape == (1,), name
    up = unsure + 4  # another level does not change the order of the classes
    for name, moves in zip(SCORES, (True, False, True, False), strict=True):
        assert bool((SCORES[name](up) - SCORES[name](unsure)).abs() > 1e-4) is moves, name


def test_a_threshold_keeps_its_share_of_the_known():
    known = torch.arange(100).float()
    limit = threshold(known)
    assert (known >= limit).double().mean() == pytest.approx(0.96, abs=0.011)
    assert threshold(torch.tensor([3.0])) == 3


def test_scores_are_compared_where_they_keep_as_many():
    # One of twenty known pictures may fall below; half of the unknown lie below the other 19.
    known = torch.zeros(20, 3)
    known[:, 0] = torch.linspace(2, 5, 20)
    unknown = torch.zeros(4, 3)
    unknown[:, 0] = torch.tensor([0.0, 1, 3, 9])
    for name, found in compare(known, unknown, 1.0).items():
        assert found["refused"] == 0.5, name
        assert found["auroc"] == pytest.approx((20 + 20 + 13 + 0) / 80), name
    # Many small logits against one large: with a temperature the order would depend on it.
    known, unknown = torch.tensor([[1.0, 1, 1]]), torch.tensor([[1.9, -9, -9]])
    for temperature in (0.5, 1.0, 2.0):
        found = compare(known, unknown, temperature)
        assert found["known or not"]["auroc"] == 1
        assert found["largest logit"]["auroc"] == 0


def test_what_a_threshold_does():
    known = torch.tensor([[1.0, -9], [2, -9], [3, -9], [4, -9]])
    found = at_threshold(known, known - 2, 2.0)
    assert found == {"threshold": 2.0, "kept": 0.75, "refused": 0.75}


@pytest.fixture
def packs(tmp_path):
    """Folders of packs: the classes, and the others."""
    folders = {}
    for name, parts in (
        ("kinds", {"train": PICTURES, "val": TEST}),
        ("sides", {"train": four_kinds(80), "val": four_kinds(40, seed=1)}),
    ):
        folders[name] = tmp_path / name
        folders[name].mkdir()
        for part, pictures in parts.items():
            images = pictures.images.permute(0, 2, 3, 1).numpy()
            np.savez(folders[name] / f"{name}_{part}.npz", images=images, labels=pictures.targets)
        (folders[name] / "classes.json").write_text(json.dumps(parts["train"].labels))
    return folders


def test_one_command_trains_with_others_and_one_measures_on_what_was_kept_out(
    packs, tmp_path, capsys
):
    out = tmp_path / "run"
    words = ["--data", str(packs["kinds"]), "--others", str(packs["sides"]), "--unseen", "1"]
    words += ["--out", str(out), *SMALL, "--others-share", "0.25", "--holdout", "0.1"]
    assert main([*words, "--epochs", "8"]) == 0
    loaded = load(out / "mnist.safetensors")
    assert json.loads(loaded.card.details["recipe"])["others"] == "sides"
    assert loaded.vit.config.num_classes == 3
    facts = json.loads(loaded.card.details["others"])
    expected = split_others(four_kinds(8), four_kinds(8), 1, seed=0)
    assert (facts["taught"], facts["unseen"]) == (
        list(expected.taught.labels),
        list(expected.unseen.labels),
    )
    carried = json.loads(loaded.card.details["evaluation"])
    assert carried["others"]["classes"] == facts["unseen"]
    assert carried["others"]["chosen"]["threshold"] == pytest.approx(facts["threshold"], rel=1e-4)
    # What is told of each picture is what was measured.
    unseen = only(four_kinds(40, seed=1), torch.tensor([NAMES.index(facts["unseen"][0])]))
    for images, what, told in ((TEST.images, "kept", True), (unseen.images, "refused", False)):
        pictures = (image.permute(1, 2, 0).numpy() for image in images)
        known = [analyze(loaded, picture).known_or_not().known for picture in pictures]
        measured = carried["others"]["chosen"][what]
        assert known.count(told) / len(known) == pytest.approx(measured, rel=1e-4), what
    capsys.readouterr()
    file = str(out / "mnist.safetensors")
    measure = ["--evaluate", file, "--data", str(packs["kinds"])]
    again = tmp_path / "again.json"
    assert main([*measure, "--others", str(packs["sides"]), "--json", str(again)]) == 0
    told = capsys.readouterr().out
    assert "told from 10 pictures of 1 kinds of things" in told
    assert "with its own threshold" in told
    measured = json.loads(again.read_text())
    assert measurements(measured) == carried
    assert main(measure) == 0
    assert "never shown" not in capsys.readouterr().out
    assert main([*measure, "--others", str(packs["sides"]), "--unseen", "1"]) == 1
    assert "names the classes that it was kept from" in capsys.readouterr().err
    # Other data lacks the classes that were kept from this model.
    assert main([*measure, "--others", str(packs["kinds"])]) == 1
    assert f"was kept from {facts['unseen'][0]}, which kinds has not" in capsys.readouterr().err


def test_a_model_that_was_shown_no_others_is_asked_about_all_or_as_many_as_wanted(
    packs, tmp_path, capsys
):
    words = ["--data", str(packs["kinds"]), "--out", str(tmp_path / "run"), *SMALL]
    assert main([*words, "--epochs", "1"]) == 0
    file = str(tmp_path / "run" / "mnist.safetensors")
    assert "others" not in load(file).card.details
    measure = ["--evaluate", file, "--data", str(packs["kinds"]), "--others", str(packs["sides"])]
    assert main(measure) == 0
    told = capsys.readouterr().out
    assert "told from 40 pictures of 4 kinds of things" in told
    assert "threshold" not in told
    again = tmp_path / "again.json"
    assert main([*measure, "--unseen", "2", "--json", str(again)]) == 0
    expected = split_others(four_kinds(8), four_kinds(8), 2, seed=0).unseen.labels
    assert json.loads(again.read_text())["others"]["classes"] == list(expected)
