"""Run: a model in training with optimisers, pictures and step count; `learn` is one step."""

import math
import time
from collections.abc import Iterator
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ..model.untrained import begin
from ..model.vit import ViT
from ..model.weights import load
from ..probe.measure.predictions import known_or_not
from .augment import affine_maps, augment, erase
from .checkpoint import STATE, restore, save_state
from .dataset import Pictures
from .errors import TrainError
from .learner import Learner, Outputs, neighbour_loss
from .mix import mix
from .optim import learning_rate, make_optimizers, patch_keep
from .order import Sampler, hold_out
from .others import Others, auroc
from .precision import precision
from .processes import Processes
from .recipe import Recipe
from .scores import logits_of, normalise, score
from .start import begin_with, origin
from .teacher import SoftLabels, cut, soft_losses


class Batch(NamedTuple):
    """The pictures of one step, this process's share of them."""

    pictures: Tensor  # uint8 (B, C, h, w)
    targets: Tensor  # (B,)
    others: Tensor | None = None  # uint8 (O, C, h, w): pictures of none of the classes
    names: Tensor | None = None  # (O,): their own classes
    scores: Tensor | None = None  # int8 (B + O, R, rows, cols): the teacher's of all pictures


class Run:
    """Weights, optimisers, pictures and the number of steps done."""

    def __init__(
        self,
        recipe: Recipe,
        pictures: Pictures,
        device: torch.device,
        processes: Processes = Processes(),  # noqa: B008 (a frozen value)
        others: Others | None = None,
    ) -> None:
        """New weights, drawn from torch's global generator seeded with the recipe's seed, or those
        of `recipe.start_from`.
        """
        self.recipe, self.device, self.processes = recipe, device, processes
        self.others = others
        self.kept_back, self.pictures = hold_out(pictures, recipe)
        self.mean, self.std = self.pictures.mean_std()
        unknown = 0 if others is None else round(recipe.others_share * recipe.batch_size)
        if unknown == recipe.batch_size:
            raise TrainError(
                f"a batch of {unknown} with others_share {recipe.others_share:g} has no picture of "
                "the classes: raise batch_size"
            )
        if others is not None and recipe.others_share and not unknown:
            raise TrainError(
                f"a batch of {recipe.batch_size} with others_share {recipe.others_share:g} has no "
                "picture of others: raise batch_size or others_share"
            )
        self.order = Sampler(len(self.pictures), recipe.batch_size - unknown, recipe.seed)
        if others is not None:
            self.others_order = Sampler(len(others.taught), unknown, recipe.seed)
        # Small enough to lie where the steps are computed.
        self.at_hand = [(p.images.to(device), p.targets.to(device)) for p in self.sources]
        self.steps_per_epoch = self.order.steps
        for name, share in (("batch_size", recipe.batch_size), ("others_share", unknown)):
            if share % processes.size:
                raise TrainError(
                    f"{name} must make a multiple of the {processes.size} processes, got {share}"
                )
        self.steps = max(1, round(recipe.epochs * self.steps_per_epoch))
        self.step = 0

        torch.manual_seed(recipe.seed)
        self.vit = ViT(recipe.config(len(pictures.labels)), drop_path=recipe.drop_path)
        begin(self.vit, zero_head=recipe.zero_head, wide_start=recipe.wide_start)
        self.origin = ""  # where the first weights come from; empty for random ones
        if recipe.start_from:
            earlier = load(recipe.start_from, device="cpu")
            begin_with(self.vit, earlier)
            self.origin = origin(earlier, recipe.start_from)
        add_dropout(self.vit, recipe.dropout)
        self.vit.to(device).train()
        self.ema = running_mean(self.vit, recipe.ema) if recipe.ema else None
        self.soft: SoftLabels | None = None
        self._make_learner()

        self.saved = 0  # the step of the last saved state
        self.seconds_before, self.began = 0.0, time.monotonic()

    def _make_learner(self) -> None:
        """The model with its auxiliary heads, and the optimisers of both."""
        recipe, others = self.recipe, self.others
        self.learner = Learner(
            self.vit,
            others=len(others.taught.labels) if others and recipe.others_names else 0,
            neighbours=recipe.neighbours > 0,
            tokens=len(self.soft.bias) if self.soft and recipe.tokens else 0,
        ).to(self.device)
        self.optimizers = make_optimizers(self.vit, recipe, self.processes, self.learner.heads)
        self.highest_lrs = [[g["lr"] for g in o.param_groups] for o in self.optimizers]

    @property
    def sources(self) -> list[Pictures]:
        """The pictures to train on: those of the classes, then those of none of them, if any."""
        return [self.pictures, *([self.others.taught] if self.others else [])]

    def follow(self, soft: SoftLabels) -> None:
        """Learn from a teacher as well, whose labels are of all pictures in `sources`."""
        to = self.device
        parts = {name: getattr(soft, name).to(to) for name in ("scores", "basis", "bias")}
        self.soft = replace(soft, **parts)
        self._make_learner()

    @property
    def seconds(self) -> float:
        """Wall time of this run so far, with the time before it was resumed."""
        return self.seconds_before + time.monotonic() - self.began

    @property
    def shown(self) -> ViT:
        """The weights that are measured, filmed and kept: the running mean, if there is one."""
        return self.vit if self.ema is None else self.ema.module

    @property
    def epoch(self) -> float:
        """Number of epochs so far; a fraction within an epoch."""
        return self.step / self.steps_per_epoch

    def batches(self) -> Iterator[Batch]:
        """The batches of all steps that are left. Seed and epoch alone decide the order."""
        while self.step < self.steps:
            places = some = self.processes.share(self.order.at(self.step))
            (images, targets), *taught = self.at_hand
            parts = {"pictures": images[some], "targets": targets[some]}
            if self.others is not None:
                other = self.processes.share(self.others_order.at(self.step))
                [(images, names)] = taught
                parts |= {"others": images[other], "names": names[other]}
                places = torch.cat([some, other + len(self.pictures)])
            if self.soft is not None:
                parts["scores"] = self.soft.scores[places]
            yield Batch(**{name: part.to(self.device) for name, part in parts.items()})

    def learn(self, batch: Batch) -> dict[str, float]:
        """Take one step -> its losses and rates, for the log.

        Raises `TrainError` before a loss or gradient that is not finite reaches the weights.

        Random numbers of a step depend on seed, step and process alone, so a resumed run needs no
        state of a generator.
        """
        recipe = self.recipe
        torch.manual_seed((recipe.seed * 1_000_003 + self.step) * 4096 + self.processes.rank)
        rate = learning_rate(recipe, self.step, self.steps)
        for optimizer, highest in zip(self.optimizers, self.highest_lrs, strict=True):
            for group, lr in zip(optimizer.param_groups, highest, strict=True):
                group["lr"] = lr * rate
        self.vit.patch_keep = patch_keep(recipe, self.step, self.steps, self.steps_per_epoch)

        pictures, targets, known = batch.pictures, batch.targets, len(batch.pictures)
        if batch.others is not None:
            pictures = torch.cat([pictures, batch.others])
        maps = None if self.soft is None else affine_maps(pictures, recipe)
        x = augment(pictures, recipe, maps)
        if self.step < (1 - recipe.unmixed_share) * self.steps:
            if recipe.erase:
                x = erase(x, recipe.erase)
            if recipe.mixup or recipe.cutmix:
                mixed, targets = mix(x[:known], targets, recipe, self.vit.config.num_classes)
                x = torch.cat([mixed, x[known:]])
        x = normalise(x, self.mean, self.std)
        with precision(recipe.precision, self.device):
            answers = self.learner(x)
        losses = self.losses(answers, targets, x, batch.names)
        if self.soft is not None and batch.scores is not None and maps is not None:
            seen = cut(batch.scores, maps, self.vit.config.grid_size)
            losses |= soft_losses(self.soft, seen, answers, known, recipe)
        loss = sum(losses.values(), torch.zeros((), device=x.device))
        loss.backward()
        self.processes.mean_gradient(self.learner)
        norm = nn.utils.clip_grad_norm_(self.learner.parameters(), recipe.clip or float("inf"))
        own_losses = torch.stack([loss, *losses.values()]).detach()
        all_losses = self.processes.add_up(own_losses) / self.processes.size
        # Read at once: a GPU has to end its work before each number that is read.
        length, total, *parts = torch.stack([norm, *all_losses]).tolist()
        if not (math.isfinite(total) and math.isfinite(length)):
            kept = f"the state of step {self.saved} is kept" if self.saved else "nothing was saved"
            raise TrainError(
                f"the loss is {total} and the length of the gradient {length} at step "
                f"{self.step}: training cannot go on. In the folder of the run, {kept}; "
                "try a lower lr or muon_lr, or clip 1"
            )
        for optimizer in self.optimizers:
            optimizer.step()
            optimizer.zero_grad()
        self.step += 1
        if self.ema is not None:
            self.ema.update(self.vit, self.step)
        facts = {"loss": total}
        if len(parts) > 1:
            facts |= dict(zip(losses, parts, strict=True))
        return facts | {"gradient": length, "lr": rate, "patch_keep": self.vit.patch_keep}

    def losses(
        self, outputs: Outputs, targets: Tensor, x: Tensor, names: Tensor | None = None
    ) -> dict[str, Tensor]:
        """The parts of the loss, each times its weight; the loss is their sum.

        `outputs` are for the pictures x: first those with `targets`, then those that show none of
        the classes, whose own classes are `names`. With all weights 1 the first three parts are the
        negative log-likelihood of one softmax over both kinds of classes, in two stages: which
        kind, then which class of that kind.
        """
        recipe, known, every = self.recipe, len(targets), len(x)
        logits = outputs.logits.float()
        kinds = F.cross_entropy(logits[:known], targets, label_smoothing=recipe.label_smoothing)
        losses = {"kinds": kinds * (known / every)}
        if names is not None and len(names):
            is_known = (torch.arange(every, device=x.device) < known).float()
            known_loss = F.binary_cross_entropy_with_logits(known_or_not(logits), is_known)
            losses["known"] = recipe.others_weight * known_loss
        if names is not None and len(names) and outputs.others is not None:
            named = F.cross_entropy(outputs.others[known:].float(), names)
            losses["others"] = recipe.others_names * named * (1 - known / every)
        if outputs.neighbours is not None and outputs.kept is not None:
            guess = neighbour_loss(outputs.neighbours, outputs.kept, x, self.vit.config.grid_size)
            losses["neighbours"] = recipe.neighbours * guess
        return losses

    def measure(self, test: Pictures) -> dict[str, float]:
        """The scores of the model now, in the precision of its training."""
        logits = self.logits(test.images, self.recipe.precision)
        scores = score(logits, test.targets, test.groups)
        if self.others is not None:
            unseen = self.others.unseen.some(len(test) // 2).images
            unknown = self.logits(unseen, self.recipe.precision)
            scores["auroc"] = auroc(known_or_not(logits), known_or_not(unknown))
        return scores

    def logits(self, images: Tensor, numbers: str = "float32") -> Tensor:
        """Logits of all pictures; each process computes its share. uint8 (n, C, h, w) -> float32
        (n, num_classes), in every process
        """
        share = self.processes.share(images)
        answers = logits_of(self.shown, share, self.mean, self.std, numbers=numbers)
        return self.processes.gather(answers, len(images))

    def save(self, folder: Path, name: str = STATE) -> None:
        """Write all that is needed to resume from here; only the first process writes."""
        self.saved = self.step
        if not self.processes.first:
            return
        facts: dict[str, Any] = {"recipe": self.recipe.to_dict(), "pictures": len(self.pictures)}
        facts |= {"step": self.step, "seconds": self.seconds}
        facts |= {"heads": self.learner.heads.state_dict()}
        facts |= {"others": len(self.others.taught) if self.others else 0}
        facts |= {"classes": [pictures.labels for pictures in self.sources]}
        if self.ema is not None:
            facts["ema"] = self.ema.module.state_dict()
        save_state(folder, vit=self.vit, optimizers=self.optimizers, facts=facts, name=name)

    def take_up(self, state: dict[str, Any]) -> None:
        """Go on from a saved state. Raises `TrainError` if it is of another run."""
        self.check(state)
        restore(state, self.vit, self.optimizers)
        self.learner.heads.load_state_dict(state.get("heads", {}))
        if self.ema is not None:
            self.ema.module.load_state_dict(state["ema"])
        self.step = self.saved = state["step"]
        self.seconds_before = state["seconds"]

    def check(self, state: dict[str, Any]) -> None:
        """Raise `TrainError` if a saved state is of another run.

        Only the title, the number of epochs and of evaluated pictures may differ; and the end of
        the sparse epochs, while the run is still in them.
        """
        # Fields that the recipe did not have at that time get their defaults, which change nothing.
        before = {field.name: field.default for field in fields(Recipe)} | state["recipe"]
        may_change = {"title", "epochs", "eval_pictures"}
        sparse = min(before["sparse_epochs"], self.recipe.sparse_epochs)
        if state["step"] <= sparse * self.steps_per_epoch:
            may_change.add("sparse_epochs")
        changed = [
            f"{name} (was {before[name]!r}, now {value!r})"
            for name, value in self.recipe.to_dict().items()
            if name not in may_change and before[name] != value
        ]
        if state["pictures"] != len(self.pictures):
            changed.append(
                f"the number of pictures (was {state['pictures']}, now {len(self.pictures)})"
            )
        others = len(self.others.taught) if self.others else 0
        if state.get("others", 0) != others:
            changed.append(
                f"the number of pictures of others (was {state.get('others', 0)}, now {others})"
            )
        classes = [pictures.labels for pictures in self.sources]
        if state.get("classes", classes) != classes:  # an older state has none
            changed.append("the names of the classes")
        if changed:
            raise TrainError(f"this is not the run to resume: {'; '.join(changed)}")
        if state["step"] > self.steps:
            raise TrainError(
                f"the run has done {state['step']} steps already, {self.recipe.epochs:g} epochs "
                f"are only {self.steps}"
            )


def running_mean(vit: ViT, memory: float) -> Any:
    """timm's exponential moving average of the weights; its `module` is the averaged model.

    The decay rises with the steps (power .75: .98 after 180, .999 after 10,000). With the full
    decay from the beginning a short run would end with a mean full of its first, random weights.
    """
    from timm.utils import ModelEmaV3

    return ModelEmaV3(vit, decay=memory, use_warmup=True, warmup_power=0.75)


def add_dropout(vit: ViT, rate: float) -> None:
    """Dropout in training mode: zero a random share of the output of attention and MLP (Srivastava
    et al. 2014).
    """
    if rate:
        for block in vit.blocks:
            for branch in (block.attn, block.mlp):
                branch.register_forward_hook(
                    lambda module, _, out: F.dropout(out, rate, module.training)
                )
