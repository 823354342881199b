"""The training loop: take all steps; log, measure, film and save on the way."""

import json
import signal
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from ..model.vit import ViT
from ..probe.measure.predictions import known_or_not
from ..stopping import ENDING
from .checkpoint import HIGH, check_new, held, read_state
from .dataset import Pictures
from .errors import TrainError, writing
from .filming import FILM, Camera, cast
from .optim import last_high_step
from .others import Others, threshold
from .processes import Processes, own_device, processes
from .progress import Progress, tell
from .recipe import Recipe
from .report import measurements, report, rounded
from .run import Run
from .scores import fit_temperature, score
from .teacher import SoftLabels, soft_labels, times_seen

LOG_EVERY = 50  # steps, after the first one
SAVE_EVERY = 10.0  # minutes


class Stop(threading.Event):
    """Set when the signal `number` arrives, to stop the run."""

    number = signal.SIGINT


class Stopped(TrainError):
    """Raised after the signal `number` has stopped the run; `resumes`: its state is saved."""

    def __init__(self, sentence: str, number: int, resumes: bool = True) -> None:
        super().__init__(sentence)
        self.number, self.resumes = number, resumes


@dataclass(frozen=True, eq=False)
class Trained:
    """A finished run: the model, its scores, and the effort."""

    vit: ViT
    mean: tuple[float, ...]
    std: tuple[float, ...]
    temperature: float
    scores: dict[str, float]  # on the test pictures, with the temperature
    report: dict[str, Any]  # these and more (`report.report`); first process only
    steps: int
    seconds: float
    origin: str = ""  # the weights the run began with, in words; empty: random ones
    others: Others | None = None  # the pictures of none of the classes
    teacher: dict[str, Any] | None = None  # which, and how often it is right
    limit: float | None = None  # threshold of "known or not", where there are others
    first: bool = True  # whether this process prints and writes for all


def train(
    recipe: Recipe,
    pictures: Pictures,
    test: Pictures,
    folder: Path,
    *,
    resume: bool = False,
    film: Sequence[Path] = (),
    others: Others | None = None,
    save_every: float = SAVE_EVERY,
    device: torch.device | None = None,
) -> Trained:
    """Train a new ViT as the recipe says; log.jsonl, the film and the state to resume from are kept
    in `folder`, the state after every epoch and every `save_every` minutes.

    `film` names the pictures of the film; without any, those of a resumed run, or three of the test
    pictures. `others` are pictures that show none of the classes. Processes started together by
    `torchrun` train one model.

    Ctrl-C (SIGTERM, SIGHUP) ends the run after the current step and saves it: `Stopped` is raised,
    and a call with `resume=True` goes on as if nothing had happened. A loss that is not a number
    raises `TrainError` and leaves the last good state; so does a folder that holds a run, without
    `resume`, and one in which another run writes. torch's global random numbers are the same
    after the call as before.
    """
    device = device or own_device()
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
    devices = range(torch.cuda.device_count())  # torch warns about several unless they are named
    with (
        torch.random.fork_rng(devices),
        processes() as us,
        alone_in(folder, us),
    ):
        if not resume:
            check_new(folder)  # another run may have used the folder while data were read
        with stop_signals(us.size) as stop:
            run = Run(recipe, pictures, device, us, others)
            # Read before a teacher works for hours: what cannot be read ends the run here.
            state = state_of(run, folder) if resume else None
            shown = cast(test, film, recipe.cut(), folder / FILM if resume else None)
            log = Log(folder / "log.jsonl", append=resume, silent=not us.first)
            if recipe.teacher:
                resumes = state is not None
                soft = labels_of_teacher(run, test, folder, stop, resumes)
                log.write(event="teacher", seconds=run.seconds, **soft.facts)
                run.follow(soft)
            if state is not None:
                run.take_up(state)
            camera = Camera(run, folder, *shown, labels=pictures.labels)
            log.write(
                event="start",
                step=run.step,
                steps=run.steps,
                recipe=recipe.to_dict(),
                device=str(device),
                processes=us.size,
            )
            follow(run, test, folder, log, camera, stop, save_every)
        try:
            return finish(run, test, log)
        except KeyboardInterrupt:
            done = f"stopped while the model was measured; the run is saved in {folder}"
            raise Stopped(done, signal.SIGINT) from None


@contextmanager
def alone_in(folder: Path, us: Processes) -> Iterator[None]:
    """Hold a folder for the processes of this run. Raises `TrainError` in each of them if another
    run holds it.
    """
    with ExitStack() as stack:
        busy = None
        if us.first:
            try:
                stack.enter_context(held(folder))
            except TrainError as error:
                busy = error
        if us.add_up(torch.tensor(float(busy is not None), device=us.device)):
            raise busy or TrainError(f"another run writes into {folder}")
        yield


def labels_of_teacher(
    run: Run, test: Pictures, folder: Path, stop: Stop, resumes: bool
) -> SoftLabels:
    """`teacher.soft_labels` with its progress. A stop signal ends it; half of it is of no use."""

    def stopped() -> Stopped:
        return Stopped("stopped before the next step, nothing was lost", stop.number, resumes)

    us, taught = run.processes, sum(len(pictures) for pictures in run.sources)
    total = times_seen(taught, len(test), us)
    with Progress(run.recipe.teacher, total, leave=True) as bar:
        begun = False

        def watch(pictures: int) -> None:
            nonlocal begun
            if stop.is_set():
                raise stopped()
            if not begun and us.first:
                tell(f"{run.recipe.teacher} sees {taught:,} pictures, each of them twice")
            begun = True
            bar.add(pictures)

        try:
            return soft_labels(run.recipe, run.sources, test, folder, run.device, us, watch)
        except RuntimeError as error:  # another process has left, and this one waited for it
            if stop.is_set():
                raise stopped() from error
            raise


def state_of(run: Run, folder: Path) -> dict[str, Any]:
    """Read the state to resume from. If the number of epochs changes after the learning rate of the
    schedule "stable" has begun to fall, read the state of the last step with the highest rate
    (`HIGH`). Raises `TrainError` if there is no state, or if the state belongs to another run.
    """
    state = read_state(folder)
    before = state["recipe"]["epochs"]
    # Among the fields that may change, `epochs` alone decides the number of steps.
    last = last_high_step(run.recipe, max(1, round(before * run.steps_per_epoch)))
    if before != run.recipe.epochs and last is not None and state["step"] > last:
        state = read_state(folder, HIGH)
    run.check(state)
    return state


def follow(
    run: Run,
    test: Pictures,
    folder: Path,
    log: "Log",
    camera: Camera,
    stop: Stop,
    save_every: float,
) -> None:
    """Take all steps that are left; log, measure, film and save on the way."""
    recipe, us = run.recipe, run.processes
    watched = test.some(recipe.eval_pictures)
    last_high, first_step = last_high_step(recipe, run.steps), run.step + 1

    def film(scores: dict[str, float], loss: float | None) -> None:
        if us.first:
            camera.film(scores, loss)

    if us.first:
        tell(plan(run, camera, len(watched), log.path))
    if camera.due:
        film(run.measure(watched), None)
    speed, saved = Speed(run), time.monotonic()
    with _progress(run) as bar:
        for batch in run.batches():
            facts = run.learn(batch)
            done = f"step {run.step:,} of {run.steps:,}"
            bar.add(recipe.batch_size, f"{done}, loss {facts['loss']:.3f}")
            if run.step % LOG_EVERY == 0 or run.step == first_step:
                facts |= {"images_per_s": speed.lap(), "seconds": run.seconds}
                log.write(event="train", step=run.step, epoch=run.epoch, **facts)
            filmed, epoch_done = camera.due, run.step % run.steps_per_epoch == 0
            if filmed or epoch_done:
                scores = run.measure(watched)
            if filmed:
                film(scores, facts["loss"])
            if run.step == run.steps:
                break
            if epoch_done:
                when = {"step": run.step, "epoch": run.epoch, "pictures": len(watched)}
                log.write(event="epoch", **when, **scores)
                if us.first:
                    tell(
                        f"epoch {run.epoch:g} of {recipe.epochs:g}: top-1 {scores['top1']:.1%}, "
                        f"top-5 {scores['top5']:.1%}, nll {scores['nll']:.3f}"
                    )
            if epoch_done or time.monotonic() - saved > save_every * 60:
                run.save(folder)
                saved = time.monotonic()
            if run.step == last_high:
                run.save(folder, HIGH)
            if filmed or epoch_done:
                speed.lap()
            if must_stop(stop, us):
                run.save(folder)
                raise Stopped(f"stopped after {done}, saved in {folder}", stop.number)
    run.save(folder)


def plan(run: Run, camera: Camera, measured: int, log: Path) -> str:
    """The steps that are left, and what is measured on the way, in a sentence; `measured` counts
    the test pictures.
    """
    recipe, filmed = run.recipe, camera.due + sum(at > run.step for at in camera.moments)
    if run.step == run.steps:
        return f"{recipe.name}: all {run.steps:,} steps are done; what is left is to measure"
    steps = f"{run.steps:,} steps" if not run.step else f"steps {run.step + 1:,} to {run.steps:,}"
    epochs = f"{recipe.epochs:g} epoch{'' if recipe.epochs == 1 else 's'}"
    words = (
        f"{recipe.name}: {steps} of {recipe.batch_size:,} pictures each ({epochs}) on "
        f"{run.device}; {measured:,} test pictures are measured after each epoch and at "
        f"{filmed} moments of the film; the log is {log}"
    )
    if run.steps > recipe.warmup:
        return words
    return f"{words}. It learns little: the learning rate rises for {recipe.warmup} steps"


def _progress(run: Run) -> Progress:
    """The progress of the run, in images."""
    size = run.recipe.batch_size
    return Progress(
        run.recipe.name, run.steps * size, "images", done=run.step * size, leave=True, delay=0.0
    )


def finish(run: Run, test: Pictures, log: "Log") -> Trained:
    """Fit the temperature, and the threshold of "known or not", on the pictures held out; measure
    on all test pictures, in float32.

    The checkpoint has float16 weights, so the weights are rounded before they are measured.
    """
    seconds, temperature, limit = run.seconds, 1.0, None
    vit = run.shown.eval()
    vit.patch_keep = 1.0
    with torch.no_grad():
        for p in vit.parameters():
            p.copy_(p.half())
    if run.kept_back is not None:
        kept = run.kept_back
        logits = run.logits(kept.images)
        temperature = fit_temperature(logits, kept.targets)
        if run.others is not None:
            limit = threshold(known_or_not(logits))
    logits = run.logits(test.images)
    plain, scores = (score(logits, test.targets, test.groups, t) for t in (1.0, temperature))
    found: dict[str, Any] = {}
    if run.processes.first:
        unseen = run.others.unseen if run.others else None
        found = report(vit, test, run.mean, run.std, temperature, logits, unseen, limit)
    log.write(
        event="end",
        step=run.step,
        temperature=temperature,
        seconds=seconds,
        before_temperature=plain,
        **measurements(found),
    )
    return Trained(
        vit=vit,
        mean=run.mean,
        std=run.std,
        temperature=temperature,
        scores=scores,
        report=found,
        steps=run.steps,
        seconds=seconds,
        origin=run.origin,
        others=run.others,
        teacher=run.soft.facts if run.soft else None,
        limit=limit,
        first=run.processes.first,
    )


def must_stop(stop: Stop, us: Processes) -> bool:
    """Whether any process got a stop signal; all must stop after the same step."""
    if us.size == 1:
        return stop.is_set()
    return bool(us.add_up(torch.tensor(float(stop.is_set()), device=us.device)))


@contextmanager
def stop_signals(processes: int = 1) -> Iterator[Stop]:
    """Turn Ctrl-C, SIGTERM and a closed terminal into an event that the loop checks after each
    step. A signal that is ignored, as with nohup, stays so.

    The second one interrupts as usual, if there is one process. Several processes get each Ctrl-C
    twice, from the terminal and from torchrun, which kills them after 30 s; they go on saving.
    """
    stop = Stop()
    if threading.current_thread() is not threading.main_thread():
        yield stop  # only the main thread hears signals
        return
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, *ENDING)}
    before = {number: old for number, old in handlers.items() if old is not signal.SIG_IGN}

    def put_back() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)

    def ask(number: int, _frame: object) -> None:
        stop.number = signal.Signals(number)
        stop.set()
        if processes == 1:
            put_back()

    for number in before:
        signal.signal(number, ask)
    try:
        yield stop
    finally:
        put_back()


class Speed:
    """Images per second of wall time between two laps."""

    def __init__(self, run: Run) -> None:
        self.run, self.step, self.time = run, run.step, time.monotonic()

    def lap(self) -> float:
        steps, seconds = self.run.step - self.step, time.monotonic() - self.time
        self.step, self.time = self.run.step, time.monotonic()
        return steps * self.run.recipe.batch_size / max(seconds, 1e-9)


class Log:
    """One JSON object per line, readable while the run goes on."""

    def __init__(self, path: Path, *, append: bool, silent: bool = False) -> None:
        self.path, self.silent = path, silent
        if silent:
            return
        with writing(path), path.open("ab+" if append else "wb+") as file:
            # A killed run may have left half a line; the next line must not be appended to it.
            file.seek(0)
            if (so_far := file.read()) and not so_far.endswith(b"\n"):
                file.write(b"\n")

    def write(self, **facts: Any) -> None:
        if self.silent:
            return
        with (
            writing(self.path, "the last state is kept: make room, then go on with --resume"),
            self.path.open("a", encoding="utf-8") as file,
        ):
            file.write(json.dumps(rounded(facts)) + "\n")
