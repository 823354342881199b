"""The camera films some moments of a run; the film so far lies in the folder of the run."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from einops import rearrange
from torch import Tensor

from ..model.preprocess import Preprocess
from ..probe.measure.film import TENSORS, Film, grid_facts, look
from .dataset import Pictures, open_one
from .errors import TrainError, writing
from .run import Run
from .scores import normalise

FILM = "film.safetensors"
MOMENTS = 20
ON_SCREEN = 3  # pictures


def moments(steps: int) -> list[int]:
    """The steps to film: 0, ..., steps, denser at the beginning, when most changes."""
    return sorted({round(steps * (i / (MOMENTS - 1)) ** 2.5) for i in range(MOMENTS)})


def cast(
    test: Pictures, files: Sequence[Path], cut: Preprocess, earlier: Path | None = None
) -> tuple[Tensor, list[str]]:
    """The pictures of a film and their names: the files, those of the `earlier` film of a run that
    is resumed, or a few of the test pictures. uint8 (pictures, C, h, w)

    A film contains its pictures: choose files that may be published. Raises `TrainError` for files
    that are not those of the earlier film.
    """
    film = Film.read(earlier) if earlier is not None and earlier.is_file() else None
    before = None if film is None else rearrange(film.pixels, "n h w c -> n c h w")
    if files:
        pictures = torch.stack([cut.picture(open_one(file)).permute(2, 0, 1) for file in files])
        if before is not None and not torch.equal(pictures, before):
            raise TrainError(
                f"the film so far has other pictures, {', '.join(_names(film))}: give them to "
                "--film, or leave it out to film them further"
            )
        return pictures, [file.stem for file in files]
    if before is not None:
        return before, _names(film)
    some = torch.linspace(0, len(test) - 1, min(ON_SCREEN, len(test))).long()
    return test.images[some], [test.labels[i] for i in test.targets[some].tolist()]


def _names(film: Film | None) -> list[str]:
    return [] if film is None else [picture["name"] for picture in film.facts["pictures"]]


class Camera:
    """Adds one frame to FOLDER/film.safetensors at each of the moments."""

    def __init__(
        self, run: Run, folder: Path, pictures: Tensor, names: list[str], labels: tuple[str, ...]
    ) -> None:
        """Keep frames of an earlier film in the folder, up to the step of the run."""
        self.run, self.path, self.pictures = run, folder / FILM, pictures
        self.moments = set(moments(run.steps))
        self.facts: dict[str, Any] = {
            "recipe": run.recipe.name,
            "began_with": run.origin,
            **grid_facts(run.vit),
            "labels": list(labels),
            "pictures": [{"name": name} for name in names],
        }
        self.frames: list[tuple[dict[str, Any], dict[str, Tensor]]] = []
        if run.step and self.path.is_file():
            film = Film.read(self.path)
            for i, moment in enumerate(film.facts["moments"]):
                if moment["step"] <= run.step:
                    parts = {name: getattr(film, name) for name in TENSORS if name != "pixels"}
                    frame = {name: part[i] for name, part in parts.items() if part is not None}
                    self.frames.append((moment, frame))

    @property
    def due(self) -> bool:
        """Whether the run is at a moment that has not been filmed yet."""
        filmed = self.frames[-1][0]["step"] if self.frames else -1
        return self.run.step in self.moments and self.run.step > filmed

    def film(self, scores: Mapping[str, float], loss: float | None) -> None:
        """Film this moment. `scores` are measured by the training on some test pictures."""
        run = self.run
        pixels = normalise(self.pictures.float() / 255, run.mean, run.std)
        moment = {
            "step": run.step,
            "epoch": round(run.epoch, 4),
            "images": run.step * run.recipe.batch_size,
            "seconds": round(run.seconds, 1),
            "loss": loss,
            "top1": scores["top1"],
            "top5": scores["top5"],
        }
        self.frames.append((moment, look(run.shown, list(pixels))))
        seen = [frame for _, frame in self.frames]
        parts = {name: torch.stack([frame[name] for frame in seen]) for name in seen[0]}
        facts = self.facts | {"moments": [moment for moment, _ in self.frames]}
        pictures = rearrange(self.pictures, "n c h w -> n h w c")
        with writing(self.path, "the last state is kept: make room, then go on with --resume"):
            Film(pixels=pictures, facts=facts, **parts).save(self.path)
