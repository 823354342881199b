"""Products by oneDNN: the numbers of torch, and torch itself wherever oneDNN is not meant."""

import threading

import pytest
import torch
import torch.nn.functional as F
from torch.testing import assert_close

from tests.models import photo, tiny
from vitviz import analyze, capture
from vitviz.model import products
from vitviz.model.products import fast_products


def numbers(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, ...]]:
    """The shapes of what oneDNN is given, from now on."""
    heard, real = [], products._ONEDNN
    if real is None:
        pytest.skip("this torch has no oneDNN")

    def hear(x: torch.Tensor, *rest: object) -> torch.Tensor:
        heard.append(tuple(x.shape))
        return real(x, *rest)

    monkeypatch.setattr(products, "_ONEDNN", hear)
    return heard


@pytest.mark.parametrize("shape", [(5, 24), (2, 9, 24), (3, 1, 24)])
@pytest.mark.parametrize("bias", [True, False])
def test_layers_and_gradients_of_inputs_are_those_of_torch(
    shape: tuple[int, ...], bias: bool, calls: list
) -> None:
    weight, offset = numbers(40, 24, seed=1), numbers(40, seed=2) if bias else None
    x = numbers(*shape).requires_grad_()
    with fast_products():
        fast = F.linear(x, weight, offset)
    plain = F.linear(x, weight, offset)
    assert_close(fast, plain)
    wanted = numbers(*fast.shape, seed=3)
    (a,), (b,) = (torch.autograd.grad((one * wanted).sum(), x) for one in (fast, plain))
    assert_close(a, b)
    assert len(calls) == 2  # there and back
    with torch.inference_mode(), fast_products():  # slices, as the parts of a sequence are
        assert_close(F.linear(x[..., :1, :], weight, offset), plain[..., :1, :])


def test_what_is_trained_or_of_another_precision_is_left_to_torch(calls: list) -> None:
    x, weight = numbers(5, 24), numbers(40, 24, seed=1).requires_grad_()
    with fast_products():
        (gradient,) = torch.autograd.grad(F.linear(x, weight).sum(), weight)
        doubled = F.linear(x.double(), weight.double())
        halved = F.linear(x.bfloat16(), weight.bfloat16())
        empty = F.linear(x[:0], weight.detach())
    assert calls == []
    assert_close(gradient, x.sum(0).expand(40, -1))
    assert (doubled.dtype, halved.dtype) == (torch.float64, torch.bfloat16)
    assert empty.shape == (0, 40)


def test_the_block_ends_for_every_layer_after_it_and_every_other_thread(calls: list) -> None:
    x, weight = numbers(5, 24), numbers(40, 24, seed=1)
    with fast_products():
        other = threading.Thread(target=F.linear, args=(x, weight))
        other.start()
        other.join()
    F.linear(x, weight)
    assert calls == []
    with pytest.raises(RuntimeError), fast_products():
        F.linear(x, numbers(40, 23))
    calls.clear()
    F.linear(x, weight)
    assert calls == []


def test_without_onednn_layers_are_computed_as_always(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(products, "_ONEDNN", None)
    x, weight = numbers(5, 24), numbers(40, 24, seed=1)
    with fast_products():
        assert torch.equal(F.linear(x, weight), F.linear(x, weight, None))


def test_an_operator_that_takes_other_arguments_is_not_used(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Other:
        def _linear_pointwise(self, x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
            return F.linear(x, weight)

    monkeypatch.setattr(torch.ops, "mkldnn", Other())
    assert products._found() is None
    monkeypatch.setattr(torch.ops, "mkldnn", object())
    assert products._found() is None


def test_an_analysis_is_what_the_model_computes_without_them() -> None:
    loaded = tiny("registers")
    found = analyze(loaded, photo())
    with capture(loaded.vit) as recorder, torch.no_grad():
        plain = recorder.trace(loaded.vit(found.pixels[None]))
    for name in ("q", "k", "tokens", "logits"):
        assert_close(getattr(found.trace, name), getattr(plain, name))
