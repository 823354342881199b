"""The training loop: draw a batch, change its pictures, ask the model, correct the weights; again and again."""

import json
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from tqdm import tqdm

from ..model.vit import ViT
from .augment import augment
from .checkpoint import read_state, restore, save_state
from .dataset import Pictures
from .errors import TrainError
from .evaluate import fit_temperature, logits_of, normalise, precision, score
from .optim import learning_rate, make_optimizers
from .recipe import Recipe

LOG_EVERY = 50  # steps


class Stopped(TrainError):
    """The run was asked to stop, and is saved."""


@dataclass(frozen=True, eq=False)
class Trained:
    """A finished run: the model, how good it is, and what it took."""

    vit: ViT
    mean: tuple[float, ...]
    std: tuple[float, ...]
    temperature: float
    scores: dict[str, float]  # on the test pictures, with the temperature
    steps: int
    seconds: float


def train(
    recipe: Recipe,
    pictures: Pictures,
    test: Pictures,
    folder: Path,
    *,
    resume: bool = False,
    device: torch.device | None = None,
) -> Trained:
    """Train a new ViT as the recipe says; log.jsonl and the state to resume from are kept in `folder`.

    Ctrl-C (or SIGTERM) ends the run after the current step and saves it: `Stopped` is raised, and a call with
    `resume=True` goes on as if nothing had happened. A loss that is not a number raises `TrainError` and leaves the
    last good state. torch's global random numbers are the same after the call as before.
    """
    device = device or torch.device("cuda" if torch.cuda.is_available() else "cpu")
    folder.mkdir(parents=True, exist_ok=True)
    state = read_state(folder) if resume else None
    with torch.random.fork_rng(), asked_to_stop() as stop:
        return _train(recipe, pictures, test, folder, state, device, stop)


def _train(
    recipe: Recipe,
    pictures: Pictures,
    test: Pictures,
    folder: Path,
    state: dict[str, Any] | None,
    device: torch.device,
    stop: threading.Event,
) -> Trained:
    torch.manual_seed(recipe.seed)
    vit = ViT(recipe.config(len(pictures.labels)), drop_path=recipe.drop_path)
    if recipe.zero_head:
        nn.init.zeros_(vit.head.weight)
    add_dropout(vit, recipe.dropout)
    vit.to(device).train()
    optimizers = make_optimizers(vit, recipe)
    highest = [[group["lr"] for group in optimizer.param_groups] for optimizer in optimizers]

    kept_back, pictures = hold_out(pictures, recipe)
    mean, std = pictures.mean_std()
    steps_per_epoch = len(pictures) // recipe.batch_size
    if steps_per_epoch == 0:
        raise TrainError(
            f"{len(pictures)} pictures do not fill one batch of {recipe.batch_size}; "
            "use a smaller batch_size"
        )
    steps = max(1, round(recipe.epochs * steps_per_epoch))
    start, seconds = 0, 0.0
    if state is not None:
        check_same(state["recipe"], recipe, state["pictures"], len(pictures))
        restore(state, vit, optimizers)
        start, seconds = state["step"], state["seconds"]
    log = Log(folder / "log.jsonl", fresh=state is None)
    log.write(event="start", step=start, steps=steps, recipe=recipe.to_dict(), device=str(device))

    def save(step: int) -> None:
        facts = {"recipe": recipe.to_dict(), "pictures": len(pictures)}
        facts |= {"step": step, "seconds": seconds + time.monotonic() - began}
        save_state(folder, vit=vit, optimizers=optimizers, facts=facts)

    watched = test.some(recipe.eval_pictures)
    order, order_epoch = torch.empty(0), -1
    began, saved = time.monotonic(), start
    clock = Speed()
    bar = tqdm(
        total=steps * recipe.batch_size,
        initial=start * recipe.batch_size,
        desc=recipe.name,
        unit=" images",
        mininterval=0.5,
        disable=None,  # silent where the output is not a terminal; the log has it all
    )
    with bar:
        for step in range(start, steps):
            epoch, place = divmod(step, steps_per_epoch)
            if epoch != order_epoch:
                order, order_epoch = shuffled(len(pictures), recipe.seed, epoch), epoch
            batch = order[place * recipe.batch_size : (place + 1) * recipe.batch_size]
            x = augment(pictures.images[batch].to(device), recipe)
            x, target = normalise(x, mean, std), pictures.targets[batch].to(device)

            share = learning_rate(recipe, step, steps)
            for optimizer, highest_lrs in zip(optimizers, highest, strict=True):
                for group, lr in zip(optimizer.param_groups, highest_lrs, strict=True):
                    group["lr"] = lr * share
            all_patches = step >= (1 - recipe.all_patches_share) * steps
            vit.patch_keep = 1.0 if all_patches else recipe.patch_keep

            with precision(recipe.precision, device):
                logits = vit(x)
            loss = F.cross_entropy(logits.float(), target, label_smoothing=recipe.label_smoothing)
            loss.backward()
            norm = nn.utils.clip_grad_norm_(vit.parameters(), recipe.clip or float("inf"))
            if not (torch.isfinite(loss) and torch.isfinite(norm)):
                raise TrainError(
                    f"the loss is {loss.item()} and the gradient's length {norm.item()} at step {step}: "
                    f"training cannot go on. The state of step {saved} is kept in {folder}; "
                    "a lower lr or muon_lr, or clip 1, may help"
                )
            for optimizer in optimizers:
                optimizer.step()
                optimizer.zero_grad(set_to_none=True)

            done = step + 1
            clock.tick(recipe.batch_size)
            bar.update(recipe.batch_size)
            if done % LOG_EVERY == 0:
                bar.set_postfix(loss=f"{loss.item():.3f}", refresh=False)
                log.write(
                    event="train",
                    step=done,
                    epoch=round(done / steps_per_epoch, 3),
                    loss=round(loss.item(), 4),
                    gradient=round(norm.item(), 3),
                    lr=round(share, 5),
                    patch_keep=vit.patch_keep,
                    images_per_s=round(clock.rate(), 1),
                    seconds=round(seconds + time.monotonic() - began, 1),
                )
            if done % steps_per_epoch == 0 and done < steps:
                logits = logits_of(vit, watched.images, mean, std, numbers=recipe.precision)
                scores = score(logits, watched.targets, watched.groups)
                log.write(
                    event="epoch",
                    step=done,
                    epoch=done // steps_per_epoch,
                    pictures=len(watched),
                    **rounded(scores),
                )
                tqdm.write(sentence(recipe, done // steps_per_epoch, scores))
                save(done)
                saved = done
                clock = Speed()
            if stop.is_set() and done < steps:
                save(done)
                raise Stopped(f"stopped after step {done} of {steps}, saved in {folder}")
    save(steps)
    seconds += time.monotonic() - began

    vit.patch_keep = 1.0
    temperature = fit_temperature(logits_of(vit, kept_back.images, mean, std), kept_back.targets)
    logits = logits_of(vit, test.images, mean, std)
    plain, scores = (score(logits, test.targets, test.groups, t) for t in (1.0, temperature))
    log.write(
        event="end",
        step=steps,
        pictures=len(test),
        temperature=temperature,
        seconds=round(seconds, 1),
        before_temperature=rounded(plain),
        **rounded(scores),
    )
    return Trained(vit.eval(), mean, std, temperature, scores, steps, seconds)


def shuffled(n: int, seed: int, epoch: int) -> Tensor:
    """The order of n pictures in one epoch: it depends on the two numbers alone, so a resumed run has it again."""
    return torch.randperm(n, generator=torch.Generator().manual_seed(seed * 1_000_003 + epoch))


def hold_out(pictures: Pictures, recipe: Recipe) -> tuple[Pictures, Pictures]:
    """Keep a random share of the training pictures back: (kept back, trained on). At least one is kept."""
    order = torch.randperm(len(pictures), generator=torch.Generator().manual_seed(recipe.seed))
    n = max(1, round(recipe.holdout * len(pictures)))
    return pictures.take(order[:n]), pictures.take(order[n:])


def add_dropout(vit: ViT, rate: float) -> None:
    """Zero a random share of what attention and MLP add to the tokens, in training mode (Srivastava et al. 2014)."""
    if rate:
        for block in vit.blocks:
            for branch in (block.attn, block.mlp):
                branch.register_forward_hook(
                    lambda module, _, out: F.dropout(out, rate, module.training)
                )


def check_same(was: dict[str, Any], recipe: Recipe, was_pictures: int, pictures: int) -> None:
    """A resumed run must be the same run; only its length, and how it is watched, may change."""
    may_change = {"epochs", "eval_pictures"}
    changed = [
        f"{name} (was {was.get(name)!r}, now {value!r})"
        for name, value in recipe.to_dict().items()
        if name not in may_change and was.get(name) != value
    ]
    if was_pictures != pictures:
        changed.append(f"the number of pictures (was {was_pictures}, now {pictures})")
    if changed:
        raise TrainError(f"this is not the run to resume: {'; '.join(changed)}")


@contextmanager
def asked_to_stop() -> Iterator[threading.Event]:
    """Turn the first Ctrl-C or SIGTERM into a wish that the loop looks at; a second one interrupts as usual."""
    stop = threading.Event()
    if (
        threading.current_thread() is not threading.main_thread()
    ):  # only the main thread hears signals
        yield stop
        return
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def ask(number: int, frame: object) -> None:
        stop.set()
        for each, handler in before.items():
            signal.signal(each, handler)

    for number in before:
        signal.signal(number, ask)
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class Speed:
    """Images per second of wall time since it was made."""

    def __init__(self) -> None:
        self.began, self.images = time.monotonic(), 0

    def tick(self, images: int) -> None:
        self.images += images

    def rate(self) -> float:
        return self.images / max(1e-9, time.monotonic() - self.began)


class Log:
    """One JSON object per line, readable while the run goes on."""

    def __init__(self, path: Path, *, fresh: bool) -> None:
        self.path = path
        if fresh:
            path.write_text("", encoding="utf-8")

    def write(self, **facts: Any) -> None:
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(facts) + "\n")


def rounded(scores: dict[str, float]) -> dict[str, float]:
    return {name: round(value, 4) for name, value in scores.items()}


def sentence(recipe: Recipe, epoch: int, scores: dict[str, float]) -> str:
    """One line for the person who waits."""
    return (
        f"epoch {epoch} of {recipe.epochs:g}: top-1 {scores['top1']:.1%}, top-5 {scores['top5']:.1%}, "
        f"nll {scores['nll']:.3f}"
    )
