"""Query and key before rotary positions turned them: by hand, and as the model had them."""

from math import cos, pi, sin

import pytest
import torch
from torch.testing import assert_close

from tests.models import photo, spread, tiny
from tests.test_positions_inside import config_of
from vitviz import Analysis, SelectionError, ViT, analyze
from vitviz.model.config import Rotary
from vitviz.probe.capture.trace import Trace
from vitviz.probe.intervene.intervention import ChangePositions, Remove
from vitviz.probe.measure.pairs import pair
from vitviz.probe.measure.turning import turn_of, turns

KINDS = [
    Rotary(kind="normalised"),
    Rotary(kind="axial", order="xy", offset=1, reference=(4, 4)),
    Rotary(kind="mixed", order="xy"),
]


def test_a_turn_for_the_board() -> None:
    """2 x 3 patches after CLS, 4 pairs of channels: two turn 1 and .1 a row, two 1 and .1 a column.

    Query (1, 0) of row 1 and column 2, key (0, 1) of row 0 and column 1, alike in every pair.
    """
    vit = ViT(config_of(Rotary(kind="axial")))
    prefix = vit.config.num_prefix_tokens
    q, k = torch.zeros(1, 2, prefix + 6, 8), torch.zeros(1, 2, prefix + 6, 8)
    query, key = prefix + 3 + 2, prefix + 1
    q[0, 1, query, :4], k[0, 1, key, 4:] = 1, 1
    trace = Trace(q, k, torch.empty(0), torch.empty(0), scale=1)
    found = turn_of(vit, trace, 0, 1, query, key)
    assert_close(found.angle_q, torch.tensor([1, 0.1, 2, 0.2]))
    assert_close(found.angle_k, torch.tensor([0, 0, 1, 0.1]))
    # Back by the angle of its place: (1, 0) becomes (cos, -sin), and (0, 1) becomes (sin, cos).
    assert_close(found.q[[0, 4]], torch.tensor([cos(1), -sin(1)]))
    assert_close(found.k[[2, 6]], torch.tensor([sin(1), cos(1)]))
    # They stood at right angles, and before the turn nearer by the difference of their places.
    assert_close(found.after, torch.zeros(4))
    apart = [1, 0.1, 1, 0.1]
    assert_close(found.before, torch.tensor([cos(pi / 2 + one) for one in apart]))
    of_cls = turn_of(vit, trace, 0, 1, 0, key)
    assert not of_cls.angle_q.any()  # it has no place


@pytest.mark.parametrize("rotary", KINDS, ids=lambda one: one.kind)
def test_turned_back_they_are_what_the_model_had_before(rotary: Rotary) -> None:
    vit = spread(ViT(config_of(rotary))).eval()
    heard: list[torch.Tensor] = []
    attn, n = vit.blocks[1].attn, vit.config.num_tokens
    for norm in (attn.q_norm, attn.k_norm):
        norm.register_forward_hook(lambda _module, _args, out: heard.append(out[0].detach()))
    turned: list[torch.Tensor] = []
    attn.tap.register_forward_hook(
        lambda _module, _args, out: turned.extend(one[0].detach() for one in out[:2])
    )
    with torch.no_grad():
        vit(torch.randn(1, vit.config.in_chans, *vit.config.image_size))
    empty = torch.zeros_like(torch.stack(turned[:1]))
    q, k = (torch.cat([empty, one[None]]) for one in turned)
    trace = Trace(q, k, torch.empty(0), torch.empty(0), scale=1)
    found = turn_of(vit, trace, 1, 1, query=n - 1, key=n - 3)
    assert_close(found.q, heard[0][1, n - 1], atol=1e-5, rtol=1e-5)
    assert_close(found.k, heard[1][1, n - 3], atol=1e-5, rtol=1e-5)
    both = pair(trace, 1, 1, n - 1, n - 3)
    assert float(found.after.sum()) == pytest.approx(both.sum, rel=1e-4, abs=1e-5)
    # What a page gets makes the same angles: the first patch, and a row and a column more.
    steps, (rows, cols) = turns(vit, 1), vit.config.grid_size
    head = min(1, steps.shape[1] - 1)
    first, down, right = steps[:, head]
    assert_close(first + (rows - 1) * down + (cols - 1) * right, found.angle_q)
    assert_close(first + (rows - 1) * down + (cols - 3) * right, found.angle_k)


def test_what_cannot_be_turned_back_is_refused() -> None:
    with pytest.raises(SelectionError, match="no rotary positions"):
        analyze(tiny("cls"), photo()).turn(0, 0, 1, 2)
    loaded = tiny("rotary")
    analysis = analyze(loaded, photo())
    read = Analysis.from_bytes(analysis.to_bytes())
    assert torch.equal(read.turn(1, 2, 5, 3, loaded).before, analysis.turn(1, 2, 5, 3).before)
    with pytest.raises(SelectionError, match="head must be"):
        analysis.turn(1, 3, 5, 3)
    removed = analyze(loaded, photo(), interventions=[Remove(patches=(1,))])
    assert removed.turn(1, 2, 5, 3).angle_q.any()
    changed = analyze(loaded, photo(), interventions=[ChangePositions(by="shuffled")])
    with pytest.raises(SelectionError, match="positions were changed"):
        changed.turn(1, 2, 5, 3)
    mixed = analysis.operate([{"kind": "scramble"}])
    with pytest.raises(SelectionError, match="patches exchanged"):
        mixed.turn(1, 2, 5, 3)
