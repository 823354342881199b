"""Recipe: all settings that decide the result of a training run, as a value."""

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any

from ..model.config import Rotary, ViTConfig
from ..model.preprocess import Preprocess
from .errors import TrainError


def setting(default: Any, help: str, choices: tuple[str, ...] = ()) -> Any:
    """A field of `Recipe` with the sentence that --help shows for it."""
    return field(default=default, metadata={"help": help, "choices": choices})


# Bounds of the fields: words for the message, the check, and the names of the fields.
BOUNDS: dict[str, tuple[Callable[[float], bool], str]] = {
    "more than 0": (
        lambda value: value > 0,
        "epochs batch_size lr muon_lr teacher_size soft_temperature",
    ),
    "0 or more": (
        lambda value: value >= 0,
        "weight_decay clip warmup rotate shift mixup cutmix eval_pictures seed others_weight "
        "others_names unseen neighbours sparse_epochs soft tokens",
    ),
    "more than 0 and at most 1": (
        lambda value: 0 < value <= 1,
        "patch_keep sparse_keep crop final_lr decay_share",
    ),
    "a share from 0 to 1": (
        lambda value: 0 <= value <= 1,
        "all_patches_share three_augment erase mix_share unmixed_share stroke invert paper",
    ),
    "at least 0 and less than 1": (
        lambda value: 0 <= value < 1,
        "holdout label_smoothing beta2 muon_momentum dropout drop_path ema zoom colour "
        "others_share",
    ),
}


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """How to train one ViT. Two runs with equal recipes, data and machine give equal weights.

    The number of steps follows from `epochs`, never from the clock: a slow machine takes longer but
    ends with the same model. Raises `TrainError` for values out of range.
    """

    name: str = setting("custom", "what this recipe is called")
    title: str = setting("", "what the menu of the app calls the model; empty: its file name")
    data: str = setting("mnist", "data set used when --data does not name one")
    seed: int = setting(
        0, "fixes new weights, order of the pictures, augmentation and dropped patches"
    )

    start_from: str = setting(
        "",
        "checkpoint whose weights the run begins with, its patches and positions resampled to this "
        "recipe's; empty: random weights",
    )

    # The model.
    image_size: int = setting(28, "side of the square picture the model sees, in pixels")
    channels: int = setting(1, "1 for grey, 3 for RGB")
    patch_size: int = setting(7, "side of a patch, in pixels; must divide image_size")
    embed_dim: int = setting(128, "width of a token")
    depth: int = setting(3, "number of blocks")
    num_heads: int = setting(4, "attention heads per block; must divide embed_dim")
    positions: str = setting(
        "learned",
        "how a patch tells its place: learned adds a vector to it, rotary turns queries and keys "
        "in every block (along both axes, arXiv:2403.13298), none tells it nowhere",
        ("learned", "rotary", "none"),
    )
    zero_head: bool = setting(
        True, "start the classifier at zero, so that the first answers are even"
    )
    wide_start: bool = setting(
        False,
        "start with larger weights, which suit a model of few numbers: matrices of deviation "
        "1 / sqrt(inputs) in place of 0.02, CLS and positions of 0.5",
    )

    # How long.
    epochs: float = setting(10, "how often every training picture is seen; may be a fraction")
    batch_size: int = setting(128, "pictures per step")
    holdout: float = setting(
        0.02, "share of the training pictures kept back to fit the temperature of the probabilities"
    )

    # Pictures that show none of the classes, so that the model learns to tell (arXiv:1812.04606).
    others: str = setting(
        "", "data set of such pictures, used when --others does not name one; empty: none are shown"
    )
    others_share: float = setting(0.25, "share of them in a step's pictures, where there are any")
    others_weight: float = setting(
        1.0, "weight of the question whether a picture shows one of the classes at all"
    )
    others_names: float = setting(
        1.0,
        "weight of naming their classes, for which a second head is trained and then thrown away: "
        "more to tell apart makes better features; 0: they stay nameless",
    )
    unseen: int = setting(
        30, "classes among them that are kept out of training, to test with; the seed draws them"
    )

    # A second task, which needs no labels.
    neighbours: float = setting(
        0.0,
        "weight of guessing the pixels of a patch's four neighbours from its token half way up; "
        "0: no such task",
    )

    # A network that others trained, which says what every place of a picture shows.
    teacher: str = setting(
        "",
        "a network trained on ImageNet from whose answers the model learns too (its package is "
        "...-pytorch-model); it gets a new classifier for these classes; empty: none",
        ("", "efficientnet_lite0", "efficientnet_lite2"),
    )
    teacher_size: int = setting(160, "side of the pictures that the teacher sees, in pixels")
    soft: float = setting(1.0, "weight of the teacher's answer for the picture, as it was cropped")
    tokens: float = setting(
        1.0,
        "weight of the teacher's answers for each patch, for which a further head is trained and "
        "then thrown away",
    )
    soft_temperature: float = setting(1.0, "what the teacher's logits are divided by")

    # The loss and the optimisers.
    label_smoothing: float = setting(0.0, "share of the target spread evenly over all classes")
    optimizer: str = setting(
        "adamw",
        "adamw for everything, or muon for the matrices of the blocks and adamw for the rest",
        ("adamw", "muon"),
    )
    lr: float = setting(1e-3, "AdamW's highest learning rate")
    beta2: float = setting(0.95, "AdamW's memory of squared gradients")
    muon_lr: float = setting(0.02, "Muon's highest learning rate")
    muon_momentum: float = setting(0.95, "Muon's memory of gradients")
    weight_decay: float = setting(
        0.05, "pull of the weight matrices towards zero, times learning rate"
    )
    clip: float = setting(5.0, "longest gradient that is used as it is; 0: never shorten one")

    # The learning rate over the steps.
    schedule: str = setting(
        "cosine",
        "after the warm-up: cosine falls all the way, stable stays high and falls in the last "
        "decay_share, constant stays",
        ("cosine", "stable", "constant"),
    )
    warmup: int = setting(0, "steps in which the learning rate rises from near zero")
    decay_share: float = setting(0.4, "share of all steps in which the stable schedule falls")
    final_lr: float = setting(
        0.01, "where the schedule ends, as a share of the highest learning rate"
    )

    # What makes a model robust, or a step cheaper.
    patch_keep: float = setting(1.0, "share of the patches each picture keeps in a training step")
    sparse_epochs: float = setting(
        0.0, "epochs, at the beginning, that keep only sparse_keep of the patches"
    )
    sparse_keep: float = setting(1.0, "share of the patches kept in the first sparse_epochs")
    all_patches_share: float = setting(
        0.2, "share of all steps, at the end, that sees every patch again"
    )
    dropout: float = setting(
        0.0, "share of what attention and MLP add that is zeroed while training"
    )
    drop_path: float = setting(0.0, "chance that a picture skips a branch of the last block")
    ema: float = setting(
        0.0,
        "memory of a running mean of the weights (EMA), which is then what is measured and kept, "
        "such as 0.999; 0: the weights themselves",
    )
    precision: str = setting(
        "float32",
        "numbers in matrix products; bfloat16 is twice as fast where the GPU or CPU has it "
        "(avx512_bf16), and very slow on other CPUs",
        ("float32", "bfloat16"),
    )

    # Augmentation: what happens to a picture before the model sees it.
    crop: float = setting(
        1.0, "smallest area of a random crop, as a share of the picture; 1: no crop"
    )
    flip: bool = setting(False, "mirror every other picture, left to right")
    rotate: float = setting(0.0, "largest rotation, in degrees to either side")
    zoom: float = setting(0.0, "largest change of size, as a share")
    shift: float = setting(0.0, "largest shift along each axis, in pixels")
    colour: float = setting(
        0.0, "largest change of brightness, contrast and saturation, as a share"
    )
    three_augment: float = setting(
        0.0, "chance that a picture turns grey, is solarised or is blurred (arXiv:2204.07118)"
    )

    stroke: float = setting(
        0.0, "grey pictures: largest change of a stroke, in pixels on either side, up to 1"
    )
    invert: float = setting(0.0, "grey pictures: chance of dark on light instead of light on dark")
    paper: float = setting(
        0.0, "grey pictures: how faded, unevenly lit and grainy they get, from 0 to 1"
    )

    erase: float = setting(
        0.0, "chance that a rectangle of a picture is hidden by noise (arXiv:1708.04896)"
    )
    mixup: float = setting(
        0.0, "blend pictures in pairs, by shares drawn from Beta(X, X); 0: never (arXiv:1710.09412)"
    )
    cutmix: float = setting(
        0.0,
        "paste a part of one picture into another, its area drawn from Beta(X, X); 0: never "
        "(arXiv:1905.04899)",
    )
    mix_share: float = setting(
        0.5, "share of the steps that mix; with mixup and cutmix, each takes half of them"
    )
    unmixed_share: float = setting(
        0.15, "share of all steps, at the end, without mixing and erasing"
    )

    # Watching.
    eval_pictures: int = setting(
        0,
        "test pictures that are measured after each epoch and at each of the film's 20 moments, "
        "most of which lie in the first steps; 0: all of them. The finished model is measured on "
        "all in any case",
    )

    def __post_init__(self) -> None:
        def check(good: bool, name: str, what: str) -> None:
            if not good:
                raise TrainError(f"{name} must be {what}, got {getattr(self, name)!r}")

        for option in fields(self):
            if choices := option.metadata["choices"]:
                check(getattr(self, option.name) in choices, option.name, " or ".join(choices))
            elif isinstance(value := getattr(self, option.name), float):
                check(math.isfinite(value), option.name, "a finite number")
        for what, (good, names) in BOUNDS.items():
            for name in names.split():
                check(good(getattr(self, name)), name, what)
        check(self.channels in (1, 3), "channels", "1 (grey) or 3 (RGB)")
        check(0 <= self.seed < 2**31, "seed", f"from 0 to {2**31 - 1}")
        if self.teacher:
            check(self.channels == 3, "channels", "3 where there is a teacher")
            check(not (self.mixup or self.cutmix), "teacher", "empty where pictures are mixed")

    def config(self, num_classes: int) -> ViTConfig:
        """The model of this recipe for a data set with so many classes."""
        return ViTConfig(
            image_size=(self.image_size, self.image_size),
            patch_size=(self.patch_size, self.patch_size),
            in_chans=self.channels,
            num_classes=num_classes,
            embed_dim=self.embed_dim,
            depth=self.depth,
            num_heads=self.num_heads,
            pos_embed=self.positions == "learned",
            rotary=Rotary(kind="axial") if self.positions == "rotary" else None,
        )

    def cut(self) -> Preprocess:
        """The preprocessing to this size; mean and std are computed from the data later."""
        half = (0.5,) * self.channels
        size = (self.image_size, self.image_size)
        return Preprocess(size=size, channels=self.channels, mean=half, std=half)

    def changed(self, changes: Mapping[str, Any]) -> "Recipe":
        """The same recipe with some fields changed. Raises `TrainError` for a name it does not
        have.
        """
        known = {field.name for field in fields(self)}
        if unknown := sorted(set(changes) - known):
            raise TrainError(f"a recipe has no field {', '.join(unknown)}")
        return replace(self, **changes)

    def to_dict(self) -> dict[str, Any]:
        """The fields in JSON's types; `Recipe(**values)` reads them."""
        return asdict(self)
