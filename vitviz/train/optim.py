"""The two optimisers, and the schedules of the learning rate and of the dropped patches."""

import math

import torch
from einops import rearrange
from torch import Tensor, nn

from .processes import Processes
from .recipe import Recipe


class Muon(torch.optim.Optimizer):
    """Momentum whose update is made orthogonal: every direction of a matrix is learned at the same
    pace.

    The gradient of a weight matrix is usually dominated by a few directions. Muon replaces the
    momentum U S V^T by about U V^T before it takes the step (Jordan 2024,
    https://kellerjordan.github.io/posts/muon/). timm and torch have a Muon as well; this one treats
    the q, k and v parts of a `qkv` weight as the three matrices they are, and works on all matrices
    of one shape together, which is faster for models as small as ours. Several processes share the
    matrices out between them.
    """

    def __init__(
        self,
        params: list,
        *,
        lr: float,
        momentum: float,
        weight_decay: float,
        dtype: torch.dtype,
        processes: Processes = Processes(),  # noqa: B008 (a frozen value)
    ) -> None:
        """`params` may be groups with `parts`: the number of matrices in a weight (3 in qkv)."""
        self.dtype, self.processes = dtype, processes
        super().__init__(
            params, {"lr": lr, "momentum": momentum, "weight_decay": weight_decay, "parts": 1}
        )

    @torch.no_grad()
    def step(self, closure: None = None) -> None:  # type: ignore[override]  # takes no closure
        for group in self.param_groups:
            by_shape: dict[torch.Size, list[tuple[nn.Parameter, Tensor]]] = {}
            for p in group["params"]:
                if p.grad is not None:
                    by_shape.setdefault(p.shape, []).append((p, p.grad))
            for shape, same in by_shape.items():
                stacked = torch.stack(
                    [self._momentum(p, gradient, group["momentum"]) for p, gradient in same]
                )
                matrices = rearrange(
                    stacked, "n (p rows) cols -> (n p) rows cols", p=group["parts"]
                )
                share = self.processes.share(matrices).to(self.dtype)
                share = orthogonalize(share).to(stacked.dtype)
                updates = self.processes.gather(share, len(matrices))
                updates = rearrange(updates, "(n p) rows cols -> n (p rows) cols", p=group["parts"])
                # A tall matrix has more outputs than inputs: a longer step keeps the size of its
                # effect.
                lr = group["lr"] * max(1, shape[0] / group["parts"] / shape[1]) ** 0.5
                for (p, _), update in zip(same, updates, strict=True):
                    p.mul_(1 - group["lr"] * group["weight_decay"]).sub_(update, alpha=lr)

    def _momentum(self, p: nn.Parameter, gradient: Tensor, momentum: float) -> Tensor:
        """Nesterov momentum: the gradient mixed with its running mean."""
        state = self.state[p]
        if not state:
            state["momentum"] = torch.zeros_like(p)
        state["momentum"].lerp_(gradient, 1 - momentum)
        return gradient.lerp(state["momentum"], momentum)


def orthogonalize(matrices: Tensor) -> Tensor:
    """About U V^T of each matrix U S V^T, without computing an SVD. (n, rows, cols) -> (n, rows,
    cols)

    Five Newton-Schulz steps of a polynomial of fifth degree whose coefficients Jordan chose to lift
    small singular values fast; they end between about 0.7 and 1.2, which is as good as 1 here.
    """
    tall = matrices.shape[1] > matrices.shape[2]
    x = matrices.mT if tall else matrices
    x = x / x.norm(dim=(1, 2), keepdim=True).clamp(min=1e-7)
    for _ in range(5):
        gram = x @ x.mT
        x = 3.4445 * x + (-4.7750 * gram + 2.0315 * gram @ gram) @ x
    return x.mT if tall else x


def make_optimizers(
    vit: nn.Module,
    recipe: Recipe,
    processes: Processes = Processes(),  # noqa: B008 (a frozen value)
    heads: nn.Module | None = None,
) -> list[torch.optim.Optimizer]:
    """AdamW for everything, or Muon for the matrices in the blocks and AdamW for the rest; `heads`
    are the auxiliary heads, trained with the model.

    Only weight matrices decay: biases, norms and the learned tokens need not be small.
    """
    qkv: list[nn.Parameter] = []
    matrices: list[nn.Parameter] = []
    decayed: list[nn.Parameter] = []
    plain: list[nn.Parameter] = []
    further = heads.named_parameters() if heads is not None else ()
    for name, p in [*vit.named_parameters(), *further]:
        is_matrix = name.endswith(".weight") and p.ndim > 1
        if recipe.optimizer == "muon" and name.startswith("blocks.") and is_matrix:
            (qkv if name.endswith("attn.qkv.weight") else matrices).append(p)
        else:
            (decayed if is_matrix else plain).append(p)
    adamw = torch.optim.AdamW(
        [
            {"params": decayed, "weight_decay": recipe.weight_decay},
            {"params": plain, "weight_decay": 0.0},
        ],
        lr=recipe.lr,
        betas=(0.9, recipe.beta2),
    )
    if recipe.optimizer == "adamw":
        return [adamw]
    muon = Muon(
        [{"params": qkv, "parts": 3}, {"params": matrices}],
        lr=recipe.muon_lr,
        momentum=recipe.muon_momentum,
        weight_decay=recipe.weight_decay,
        dtype=getattr(torch, recipe.precision),
        processes=processes,
    )
    return [muon, adamw]


def last_high_step(recipe: Recipe, steps: int) -> int | None:
    """The last step of the schedule "stable" that does not depend on the length of the run. After
    it the learning rate falls, patches are no longer dropped, or pictures no longer mixed. None for
    the other schedules, which depend on the length all the time or never.
    """
    if recipe.schedule != "stable":
        return None
    ending = max(recipe.decay_share, recipe.all_patches_share, recipe.unmixed_share)
    return int((1 - ending) * steps)


def learning_rate(recipe: Recipe, step: int, steps: int) -> float:
    """The learning rate of a step as a share of the highest, between 0 and 1.

    It is a function of the step alone, so a resumed run has no state to restore, and a run can be
    made longer. timm's schedulers have a state to save, and their use would not be shorter.
    """
    if step < recipe.warmup:
        return (step + 1) / (recipe.warmup + 1)
    if recipe.schedule == "constant":
        return 1.0
    first = recipe.warmup if recipe.schedule == "cosine" else (1 - recipe.decay_share) * steps
    progress = max(0.0, (step - first) / max(1, steps - first))  # 0 until it falls, 1 at the end
    if recipe.schedule == "cosine":
        progress = (1 - math.cos(math.pi * progress)) / 2
    return 1 - (1 - recipe.final_lr) * progress


def patch_keep(recipe: Recipe, step: int, steps: int, steps_per_epoch: int) -> float:
    """The share of its patches that each picture keeps in a step: few at first, all at the end.

    A step with few patches is cheap, so the model sees more pictures in the same time
    (arXiv:2208.07220). The first phase is counted in epochs, not as a share of the run, so that a
    run can still be made longer or shorter.
    """
    if step >= (1 - recipe.all_patches_share) * steps:
        return 1.0
    sparse = step < recipe.sparse_epochs * steps_per_epoch
    return recipe.sparse_keep if sparse else recipe.patch_keep
