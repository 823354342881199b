"""The report on a model: each number equals that of its function, and JSON can hold it."""

import json
from dataclasses import replace

import pytest
import torch

from tests.models import TINY, spread
from vitviz.model.vit import ViT
from vitviz.probe.capture.grid import PatchGrid
from vitviz.probe.capture.recorder import capture
from vitviz.probe.explain.case import Case
from vitviz.probe.explain.explainers import EXPLAINERS, Explainer
from vitviz.probe.measure.heads import head_statistics
from vitviz.train.boxes import attention_in_boxes
from vitviz.train.dataset import Pictures
from vitviz.train.others import SCORES, auroc
from vitviz.train.report import (
    largest_confusions,
    mean_distances,
    measurements,
    report,
    say_distance,
    words,
)
from vitviz.train.scores import logits_of, normalise, score

MEAN, STD = (0.4, 0.5, 0.6), (0.2, 0.3, 0.4)
LABELS = tuple("abcdefg")
GROUPS = tuple("xxxyyzz")


def pictures(n: int = 9, **changes) -> Pictures:
    generator = torch.Generator().manual_seed(0)
    images = torch.randint(0, 256, (n, 3, 32, 32), generator=generator).to(torch.uint8)
    boxes = torch.tensor([[0.0, 0, 16, 24]]).repeat(n, 1)
    facts = {"groups": GROUPS, "boxes": boxes} | changes
    return Pictures("some", images, torch.arange(n) % 7, LABELS, **facts)


@pytest.fixture(scope="module")
def vit() -> ViT:
    return spread(ViT(TINY["cls"])).eval().requires_grad_(False)


def test_a_report_gathers_what_its_parts_measure(vit):
    test = pictures()
    found = report(vit, test, MEAN, STD, temperature=2.0)
    assert json.loads(json.dumps(found)) == found
    logits = logits_of(vit, test.images, MEAN, STD)
    for name, value in score(logits, test.targets, GROUPS, 2.0).items():
        assert found[name] == pytest.approx(value, rel=1e-4)
    counts = torch.tensor(found["confusion"]["counts"])
    assert found["confusion"]["names"] == ["x", "y", "z"]
    assert counts.sum(1).tolist() == [5, 2, 2]  # a b c, d e, f g, then a b again
    assert counts.diagonal().sum() / 9 == pytest.approx(found["group"], rel=1e-4)
    for name, hit in attention_in_boxes(vit, test, MEAN, STD).items():
        assert found["boxes"][name] == pytest.approx(hit, rel=1e-4)
    assert found["box_pictures"] == 9
    assert report(vit, test, MEAN, STD, 2.0, logits) == found
    carried = measurements(found)
    names = ["pictures", "top1", "top5", "group", "nll", "ece", "boxes", "distance"]
    assert list(carried) == names
    assert carried["boxes"] == found["boxes"]


def test_another_explainer_is_one_function_and_one_line(vit, monkeypatch):
    """Whatever stands in `EXPLAINERS` is measured, carried by the checkpoint and told in words."""

    def first_patch(case: Case, _token: int) -> torch.Tensor:
        """All of it to the first patch. (N,), sums to 1"""
        return torch.eye(case.trace.num_tokens)[1]

    one = Explainer(key="first_patch", function=first_patch)
    monkeypatch.setitem(EXPLAINERS, "first_patch", one)
    found = report(vit, pictures(), MEAN, STD, temperature=1.0)
    # The box covers 16 x 24 of 32 x 32 pixels from the corner on, so the first patch lies in it.
    assert found["boxes"]["first_patch"]["pointing"] == 1
    assert found["boxes"]["first_patch"]["energy"] == pytest.approx(32 * 32 / (16 * 24), rel=1e-4)
    assert measurements(found)["boxes"]["first_patch"] == found["boxes"]["first_patch"]
    assert any("first_patch" in line and "2.67 times" in line for line in words(found))


def test_without_groups_and_boxes_there_are_classes_and_no_boxes(vit):
    found = report(vit, pictures(groups=None, boxes=None), MEAN, STD)
    assert "group" not in found
    assert "boxes" not in found
    assert found["confusion"]["names"] == list(LABELS)
    assert "box" not in " ".join(words(found))
    blind = spread(ViT(TINY["no_cls"])).eval()
    images = torch.zeros(5, 3, 24, 40, dtype=torch.uint8)
    boxes = torch.tensor([[0.0, 0, 8, 8]]).repeat(5, 1)
    test = Pictures("some", images, torch.arange(5), LABELS[:5], boxes=boxes)
    assert "boxes" not in report(blind, test, MEAN, STD)  # there is no CLS token


def test_distances_are_the_mean_over_the_pictures(vit):
    test = pictures(3)
    expected = []
    for image in test.images:
        with capture(vit) as recorder:
            logits = vit(normalise(image[None] / 255, MEAN, STD))
        trace = recorder.trace(logits)
        expected.append(head_statistics(trace, PatchGrid.of(vit.config)).distance)
    got = mean_distances(vit, test, MEAN, STD)
    torch.testing.assert_close(got, torch.stack(expected).mean(0), rtol=1e-4, atol=1e-4)


def test_the_largest_confusions_are_shares_of_what_a_thing_is():
    counts = torch.tensor([[90, 10, 0], [3, 6, 1], [0, 0, 0]])
    assert largest_confusions(counts, 9) == [(1, 0, 3, 10), (0, 1, 10, 100), (1, 2, 1, 10)]
    assert largest_confusions(counts, 1) == [(1, 0, 3, 10)]
    assert largest_confusions(torch.eye(2, dtype=torch.long), 5) == []


def test_a_report_in_words():
    told = words(
        {
            "top1": 0.5,
            "top5": 0.75,
            "nll": 1.2344,
            "ece": 0.0456,
            "confusion": {"names": ["cat", "dog"], "counts": [[6, 4], [1, 9]]},
            "boxes": {
                "centre": {"energy": 1.44, "pointing": 0.6},
                "rollout": {"energy": 1.618, "pointing": 0.654, "ahead": 2.34},
            },
            "box_pictures": 12,
            "distance": {"pixels": [[10.0, 20], [30, 12.34]], "uniform": 33.2},
        },
        confusions=1,
    )
    assert told[0] == "top-1 50.00%, top-5 75.00%, nll 1.234, calibration error 0.046"
    assert told[1] == "cat taken for dog: 4 of 10 (40%)"
    assert told[2].startswith("where the CLS token looks, on 12 pictures")
    assert told[3].endswith("60.0%")
    assert told[4].split(": ")[1].startswith("1.62 times")
    assert told[4].endswith("65.4% (+2.3 standard errors from the centre)")
    assert told[5] == (
        "2 of 4 heads look nearby only (less than 0.5 times the 33.2 pixels of even attention); "
        "the shortest mean distance is 10.0 pixels, of layer 0, head 0"
    )
    assert told[6].endswith("as a share of even attention: 0.30 0.37")
    assert "0 of 1 heads" in say_distance({"pixels": [[20.0]], "uniform": 33.2})[0]


def test_others_are_told_apart_by_every_score_and_by_the_models_own_threshold(vit):
    test, unseen = pictures(), pictures(5, groups=None, boxes=None)
    unseen = replace(unseen, images=255 - unseen.images, labels=tuple("hijklmn"))
    found = report(vit, test, MEAN, STD, 2.0, unseen=unseen, limit=1.5)
    assert json.loads(json.dumps(found)) == found
    known, unknown = (logits_of(vit, some.images, MEAN, STD) for some in (test, unseen))
    others = found["others"]
    assert (others["pictures"], others["classes"]) == (5, list("hijklmn"))
    assert list(others["scores"]) == list(SCORES)
    expected = auroc((known / 2).softmax(1).amax(1), (unknown / 2).softmax(1).amax(1))
    assert others["scores"]["largest probability"]["auroc"] == pytest.approx(expected, rel=1e-4)
    expected = auroc(known.logsumexp(1), unknown.logsumexp(1))
    assert others["scores"]["known or not"]["auroc"] == pytest.approx(expected, rel=1e-4)
    told = "\n".join(words(found))
    assert "told from 5 pictures of 7 kinds of things that it was never shown" in told
    assert f"known or not: {expected:.3f}, " in told
    assert "with its own threshold, 1.5 of known or not, it keeps " in told
    assert "chosen" not in report(vit, test, MEAN, STD, 2.0, unseen=unseen)["others"]
    assert measurements(found)["others"] == others
    assert "others" not in report(vit, test, MEAN, STD)
