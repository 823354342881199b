"""A run that begins with trained weights begins as good as they are, on a finer grid too."""

import pytest
import torch
import torch.nn.functional as F

from tests.train.test_run import PICTURES, PLAIN, TEST
from vitviz.languages import Message, say
from vitviz.model.weights import load, save_checkpoint
from vitviz.train.errors import TrainError
from vitviz.train.loop import train
from vitviz.train.run import Run


@pytest.fixture(scope="module")
def earlier(tmp_path_factory):
    """A model that tells three kinds of pictures apart, and its file."""
    folder = tmp_path_factory.mktemp("earlier")
    trained = train(PLAIN, PICTURES, TEST, folder)
    path = folder / "plain.safetensors"
    save_checkpoint(
        path,
        trained.vit.state_dict(),
        config=trained.vit.config,
        preprocess=PLAIN.cut(),
        labels=PICTURES.labels,
        details={"commit": "0123456789ab", "wall time": Message("training.minutes", minutes=1)},
        dtype=torch.float32,
    )
    return path


def start(path, **changes):
    recipe = PLAIN.changed({"start_from": str(path), **changes})
    return Run(recipe, PICTURES, torch.device("cpu"))


def test_the_same_sizes_begin_with_the_same_weights(earlier):
    run = start(earlier)
    for name, value in load(earlier).vit.state_dict().items():
        assert torch.equal(run.vit.state_dict()[name], value), name
    assert run.origin.startswith("plain: commit 0123456789ab, wall time 1 min, SHA-256 ")
    assert say(run.origin, "ko").startswith("plain: 커밋 0123456789ab, 학습 시간 1분, SHA-256 ")


def test_a_larger_picture_gives_about_the_same_tokens(earlier):
    # The same pictures, shown twice as large to patches twice as large.
    run = start(earlier, image_size=16, patch_size=8)
    before = load(earlier).vit
    x = F.interpolate(torch.rand(4, 3, 2, 2), size=8, mode="bicubic")  # smooth
    large = F.interpolate(x, size=16, mode="bicubic", antialias=True)
    ours, theirs = run.vit.embed(large), before.embed(x)
    cosine = F.cosine_similarity(ours, theirs, dim=-1)
    assert cosine.min() > 0.95
    assert (ours.norm() / theirs.norm()).item() == pytest.approx(1, abs=0.1)


def test_finer_patches_get_positions_in_between(earlier):
    run = start(earlier, patch_size=2)
    old, new = load(earlier).vit.pos_embed, run.vit.pos_embed
    assert new.shape == (1, 17, 16)
    assert torch.equal(new[:, 0], old[:, 0])
    corner = new[0, 1:].view(4, 4, 16)[0, 0]
    nearest = F.cosine_similarity(corner[None], old[0, 1:], dim=-1).argmax()
    assert nearest == 0


def test_another_model_cannot_start_a_run(earlier):
    with pytest.raises(TrainError, match="plain cannot start this run"):
        start(earlier, embed_dim=32)
