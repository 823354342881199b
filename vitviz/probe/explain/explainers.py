"""EXPLAINERS: the list of all functions that estimate how much every token matters."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from inspect import signature
from typing import Any, Literal, SupportsFloat

import torch
from torch import Tensor

from ...errors import SelectionError
from ...languages import ENGLISH, Message, dictionary
from ...model.config import ViTConfig
from ...model.json_values import short
from ..capture.grid import PatchGrid
from ..capture.selection import counted
from ..capture.trace import Trace
from ..intervene.chance import Chance
from ..measure.numbers import percent
from . import gradients, perturb
from .case import Case

Need = Literal["token", "pool", "class", "values", "gradients", "pass", "passes"]
HeadFusion = Literal["mean", "max", "min"]


def attention(
    trace: Trace, query: int, *, layer: int | None = None, head: int | None = None
) -> Tensor:
    """Raw attention of `query` in one layer. (N,), sums to 1

    `layer` None: the last one. `head` None: the mean of the heads. Attention is where a token
    gathers values from, not why the model decides (arXiv:1902.10186).
    Raises `SelectionError` for a layer, head or token that the trace does not have.
    """
    rows = trace.attention_from(trace.depth - 1 if layer is None else layer, query)
    return rows.mean(dim=0) if head is None else rows[trace.check_head(head)]


def rollout(
    trace: Trace,
    query: int,
    *,
    head_fusion: HeadFusion = "mean",
    residual: float = 0.5,
    first: int = 0,
    last: int | None = None,
) -> Tensor:
    """How much of each input token reaches `query`, through several layers. (N,), sums to 1

    Attention rollout (Abnar & Zuidema 2020, arXiv:2005.00928, section 3): the row of `query` in the
    matrix of `rollout_matrix`, computed with one vector instead of the whole product.
    Raises `SelectionError` for a token, layer or option that does not exist.
    """
    row = torch.zeros(trace.num_tokens)
    row[trace.check_token(query)] = 1
    return _rolled(row, list(_steps(trace, head_fusion, residual, first, last)))


def _rolled(row: Tensor, steps: list[Callable[[], Tensor]]) -> Tensor:
    for step in reversed(steps):
        row = row @ step()
    return row


def rollouts(trace: Trace, query: int) -> Tensor:
    """Rollout for a token after each layer, from the first one on. (L, N), rows sum to 1

    Row l is `rollout(trace, query, last=l)`; each layer's matrix is made once for all of them.
    Raises `SelectionError` for a token that does not exist.
    """
    rows = torch.zeros(trace.depth, trace.num_tokens)
    rows[:, trace.check_token(query)] = 1
    steps = list(_steps(trace, "mean", 0.5, 0, None))
    for layer in reversed(range(trace.depth)):
        rows[layer:] = rows[layer:] @ steps[layer]()
    return rows


def rollout_matrix(
    trace: Trace,
    *,
    head_fusion: HeadFusion = "mean",
    residual: float = 0.5,
    first: int = 0,
    last: int | None = None,
) -> Tensor:
    """Rollout for every query at once: A_last ... A_first. (N, N), rows sum to 1

    A_l is `residual` times the identity, for the residual path around attention, plus the rest of
    the fused heads of layer l; each row is scaled to sum to 1.
    """
    product = torch.eye(trace.num_tokens)
    for step in _steps(trace, head_fusion, residual, first, last):
        product = step() @ product
    return product


def _steps(
    trace: Trace, head_fusion: str, residual: float, first: int, last: int | None
) -> Iterator[Callable[[], Tensor]]:
    """Functions that make A_l, first layer to last, so that one matrix is held at a time."""
    if head_fusion not in ("mean", "max", "min"):
        raise SelectionError(f'head_fusion must be "mean", "max" or "min", got {head_fusion!r}')
    residual = _share(residual)
    first = trace.check_layer(first)
    last = trace.check_layer(trace.depth - 1 if last is None else last)
    if first > last:
        raise SelectionError(f"the first layer {first} comes after the last layer {last}")

    def make(layer: int) -> Callable[[], Tensor]:
        def step() -> Tensor:
            fused = _fused_map(trace, layer, head_fusion)
            itself = torch.eye(trace.num_tokens)
            mixed = residual * itself + (1 - residual) * fused
            sums = mixed.sum(dim=-1, keepdim=True)
            # The minimum over heads can be 0 for all keys: without a residual, such a token keeps
            # its own value.
            return torch.where(sums > 0, mixed / sums, itself)

        return step

    return (make(layer) for layer in range(first, last + 1))


def _share(residual: SupportsFloat) -> float:
    """A number from 0 to 1, also of numpy or torch. Raises `SelectionError` for another."""
    try:
        share = float(residual) if isinstance(residual, SupportsFloat) else -1.0
    except (TypeError, ValueError, RuntimeError, OverflowError):  # several numbers; 400 digits
        share = -1.0
    if not 0 <= share <= 1:
        raise SelectionError(f"residual must be from 0 to 1, got {short(residual)}")
    return share


def _fused_map(trace: Trace, layer: int, head_fusion: str) -> Tensor:
    """The map of a layer, of all its heads, which are not held at the same time. (N, N)"""
    ways: dict[str, tuple[float, Callable[[Tensor, Tensor], Tensor]]] = {
        "mean": (0.0, torch.add),
        "max": (-torch.inf, torch.maximum),
        "min": (torch.inf, torch.minimum),
    }
    start, together = ways[head_fusion]
    fused = torch.full((trace.num_tokens, trace.num_tokens), start)
    for _, rows, scores in trace.score_blocks(layer):
        for head in scores.softmax(dim=-1):
            fused[rows] = together(fused[rows], head)
    return fused / trace.num_heads if head_fusion == "mean" else fused


def _fused(heads: Tensor, head_fusion: str) -> Tensor:
    """One map of all heads. (H, ..., N) -> (..., N)"""
    return heads.mean(dim=0) if head_fusion == "mean" else getattr(heads, f"a{head_fusion}")(dim=0)


def _of_attention(
    case: Case, token: int | None, *, layer: int | None = None, head: int | None = None
) -> Tensor:
    """`attention` of a token; without a token that of the pool, which has no layer."""
    if token is None and case.pool:
        if layer is not None:
            raise SelectionError(Message("experiments.pool_has_no_layer"))
        shares = case.pool.shares
        return shares.mean(0) if head is None else shares[counted("head", head, len(shares))]
    return attention(case.trace, token or 0, layer=layer, head=head)


def _of_rollout(
    case: Case,
    token: int | None,
    *,
    head_fusion: HeadFusion = "mean",
    residual: float = 0.5,
    first: int = 0,
    last: int | None = None,
) -> Tensor:
    """`rollout` to a token; without a token to the pool, which has no residual path around it."""
    if token is None and case.pool:
        steps = list(_steps(case.trace, head_fusion, residual, first, last))
        return _rolled(_fused(case.pool.shares, head_fusion), steps)
    options = {"head_fusion": head_fusion, "residual": residual, "first": first, "last": last}
    return rollout(case.trace, token or 0, **options)  # type: ignore[arg-type]


def centre_map(grid: PatchGrid) -> Tensor:
    """A Gaussian in the middle of the picture, its deviation a quarter of each side. (rows, cols)

    Photographers put things in the middle: a map that is no better explains nothing.
    """
    # In double precision, so that patches as far from the middle have the same value.
    rows, cols = (((torch.arange(n).double() + 0.5) / n - 0.5) ** 2 for n in (grid.rows, grid.cols))
    return torch.exp(-(rows[:, None] + cols) / (2 * 0.25**2)).float()


def centre(case: Case, _token: int | None) -> Tensor:
    """`centre_map`, whatever the picture shows. (N,), none negative; prefix tokens get 0"""
    return _placed(case.grid, centre_map(case.grid).flatten())


def random(case: Case, _token: int | None) -> Tensor:
    """Noise from 0 to 1, drawn with the seed of the case. (N,); prefix tokens get 0"""
    noise = Chance(case.seed, "random map").uniforms(case.grid.num_patches)
    return _placed(case.grid, noise.float())


def _placed(grid: PatchGrid, patches: Tensor) -> Tensor:
    return torch.cat([torch.zeros(grid.num_prefix_tokens), patches])


@dataclass(frozen=True, kw_only=True)
class Explainer:
    """A method that estimates how much every token matters.

    function  (case, token, *, options) -> (N,); the docstring defines it. Without the need "token"
              it is a map of patches, and prefix tokens get 0; patches that were taken out of the
              pass are not among `case.patches`
    needs     "token": a query token; "pool": the query that gathers the answer, and the model (see
              `within`); "class": a class; "values", "gradients": v, or v and g, in the trace of the
              case; "pass": one pass of the model, forward and back; "passes": many passes, so it
              costs as much as many analyses
    gap       (case, values, *, options) -> how far the values are from adding up as they should, as
              a share; None: they add up to nothing, or always do
    runs      number of forward passes if it needs "passes"; a backward pass counts as two
    signed    whether values can be negative: they then speak against the class
    baseline  whether the map ignores the picture: other maps have to be better
    paper     arXiv number of the source; "" if there is no paper
    fits      whether a model of this config has such a map; None: every model
    """

    key: str
    function: Callable[..., Tensor]
    needs: frozenset[Need] = frozenset()
    signed: bool = False
    baseline: bool = False
    paper: str = ""
    runs: Callable[[PatchGrid], int] | None = None
    gap: Callable[..., float] | None = None
    fits: Callable[[ViTConfig], bool] | None = None

    @property
    def name(self) -> Message:
        """The name of the explainer."""
        return self._text("name")

    @property
    def sentence(self) -> Message:
        """A sentence that defines its values."""
        return self._text("explainer")

    def _text(self, what: str) -> Message:
        """A text about it; if it starts at a pool, the text for pools, if there is one."""
        pooled = f"pooled_{what}_{self.key}"
        has_own = "pool" in self.needs and pooled in dictionary(ENGLISH, "experiments")
        return Message(f"experiments.{pooled if has_own else f'{what}_{self.key}'}")

    @property
    def runs_the_model(self) -> bool:
        """Whether the model has to run: the trace of an analysis is not enough."""
        return not self.needs.isdisjoint({"pool", "values", "gradients", "pass", "passes"})

    def within(self, config: ViTConfig) -> "Explainer":
        """The explainer for one model: with an attention pool it starts there, not at a token."""
        if "token" not in self.needs or config.global_pool != "map":
            return self
        return replace(self, needs=self.needs - {"token"} | {"pool"})

    def passes(self, grid: PatchGrid) -> int:
        """Number of forward passes by its definition; a backward pass counts as two."""
        if self.runs:
            return self.runs(grid)
        return 3 if self.needs & {"gradients", "pass"} else int("values" in self.needs)

    @property
    def options(self) -> tuple[str, ...]:
        """The names of its options besides the token and the class."""
        found = signature(self.function).parameters.values()
        return tuple(
            parameter.name for parameter in found if parameter.kind is parameter.KEYWORD_ONLY
        )

    @torch.inference_mode(False)  # gradients also where the caller needs none
    def __call__(self, case: Case, token: int = 0, **options: Any) -> Tensor:
        """The values of all tokens. (N,) `token` is ignored if the case has a pool.

        Raises `SelectionError` for an unknown token or option.
        """
        for name in options:
            if name not in self.options:
                there = f"there are {', '.join(self.options)}" if self.options else "it has none"
                raise SelectionError(f"{self.key} has no option {name!r}; {there}")
        token = case.trace.check_token(token)
        return self.function(case, None if case.pool else token, **options).detach()


def _needs(*needs: Need) -> frozenset[Need]:
    return frozenset(needs)


EXPLAINERS: dict[str, Explainer] = {
    explainer.key: explainer
    for explainer in (
        Explainer(
            key="attention",
            function=_of_attention,
            needs=_needs("token"),
            paper="arXiv:2010.11929",
        ),
        Explainer(
            key="rollout",
            function=_of_rollout,
            needs=_needs("token"),
            paper="arXiv:2005.00928",
        ),
        Explainer(
            key="attention_norm",
            function=gradients.attention_norm,
            fits=gradients.has_attention_norm,
            needs=_needs("token", "values"),
            paper="arXiv:2004.10102",
        ),
        Explainer(
            key="attention_gradient",
            function=gradients.attention_gradient,
            needs=_needs("token", "class", "gradients"),
            signed=True,
        ),
        Explainer(
            key="generic",
            function=gradients.generic,
            needs=_needs("token", "class", "gradients"),
            paper="arXiv:2103.15679",
        ),
        Explainer(
            key="gradient_rollout",
            function=gradients.gradient_rollout,
            needs=_needs("token", "class", "gradients"),
        ),
        Explainer(
            key="grad_cam",
            function=gradients.grad_cam,
            needs=_needs("class", "pass"),
            paper="arXiv:1610.02391",
        ),
        Explainer(
            key="occlusion",
            function=perturb.occlusion,
            needs=_needs("class", "passes"),
            runs=perturb.windows_of,
            signed=True,
            paper="arXiv:1311.2901",
        ),
        Explainer(
            key="integrated_gradients",
            function=perturb.integrated_gradients,
            needs=_needs("class", "passes"),
            runs=lambda _grid: 3 * perturb.STEPS,
            gap=perturb.gap,
            signed=True,
            paper="arXiv:1703.01365",
        ),
        Explainer(key="centre", function=centre, baseline=True),
        Explainer(key="random", function=random, baseline=True),
    )
}


def fitting(config: ViTConfig) -> tuple[str, ...]:
    """The keys of all explainers that a model of this config has, in their order."""
    return tuple(
        key for key, explainer in EXPLAINERS.items() if not explainer.fits or explainer.fits(config)
    )


def gap_sentence(explainer: Explainer, case: Case, values: Tensor, **options: Any) -> str | None:
    """A sentence about a map that does not add up (`Explainer.gap`); None if it does."""
    gap = 0.0 if explainer.gap is None else explainer.gap(case, values, **options)
    if gap <= perturb.CONVERGED:
        return None
    return Message("experiments.gap", name=explainer.name, gap=percent(gap))


def check_knows_target(*keys: str) -> None:
    """Raise `SelectionError` if none of these explainers knows a target, such as a likeness."""
    able = [key for key, explainer in EXPLAINERS.items() if "class" in explainer.needs]
    if not set(keys) & set(able):
        raise SelectionError(
            f"no target changes a map of {', '.join(keys)}; maps of a likeness: {', '.join(able)}"
        )


def chosen(key: str) -> Explainer:
    """The explainer of a key. Raises `SelectionError` if there is none."""
    if not isinstance(key, str) or key not in EXPLAINERS:
        raise SelectionError(
            Message("experiments.no_explainer", key=repr(key)[:40], keys=tuple(EXPLAINERS))
        )
    return EXPLAINERS[key]
