"""The menu of models: names of the shipped ones, and of timm's models that are worth a look."""

from dataclasses import dataclass
from pathlib import Path

from ..languages import Message
from . import hub

# Installed, the shipped weights lie inside the package; in a checkout they lie beside it.
_HOUSE = Path(__file__).resolve().parents[1]
_INSIDE, _BESIDE = _HOUSE / "weights", _HOUSE.parent / "weights"
WEIGHTS_DIR = _INSIDE if _INSIDE.is_dir() else _BESIDE
DEFAULT_MODEL = "photos"
FILM_SUFFIX = ".film.safetensors"  # a film of the training, beside its checkpoint
HEAD_SUFFIX = ".head.safetensors"  # a linear head alone, on the trunk of a shipped model


@dataclass(frozen=True)
class Curated:
    """One line of the menu of timm models, all of free licences.

    title       name of the model
    good_for    end of the text key that says why the model is worth a look
    image_size  a size that two cores can compute; None: that of its training
    owner       owner of the repository on the hub that has its weights under the model's name
    """

    title: str
    good_for: str
    image_size: int | None = None
    owner: str = "timm"

    @property
    def worth(self) -> Message:
        return Message(f"models.worth_{self.good_for}")


def _self_supervised(name: str) -> Message:
    return Message("models.self_supervised", name=name)


# By family: trained with labels, with rotary positions, without labels, with texts.
CURATED = {
    "deit_tiny_patch16_224.fb_in1k": Curated("DeiT tiny 16", "fast"),
    "deit_small_patch16_224.fb_in1k": Curated("DeiT small 16", "classes"),
    "vit_tiny_patch16_224.augreg_in21k_ft_in1k": Curated("ViT tiny 16, AugReg", "fast"),
    "vit_base_patch16_224.augreg2_in21k_ft_in1k": Curated("ViT base 16, AugReg", "paper"),
    "vit_small_patch16_rope_224.naver_in1k": Curated("RoPE-ViT small 16", "rotary_classes"),
    "vit_small_patch16_224.dino": Curated(_self_supervised("DINO small 16"), "objects"),
    "vit_small_patch14_dinov2.lvd142m": Curated(
        _self_supervised("DINOv2 small 14"), "artefacts", 224
    ),
    "vit_small_patch14_reg4_dinov2.lvd142m": Curated(
        Message("models.registers", name="DINOv2 small 14"), "registers", 224
    ),
    "vit_small_patch16_lingbot.robbyant": Curated(
        _self_supervised("LingBot-Vision small 16"), "rotary_places", 224, "belfner"
    ),
    "vit_base_patch16_clip_224.openai": Curated("CLIP base 16", "texts"),
    "vit_base_patch16_siglip_224.webli": Curated("SigLIP base 16", "pool"),
}

WEIGHT_FILES = ("model.safetensors", "pytorch_model.bin")  # on the hub, in timm's order


WIDE = "deit_tiny_patch16_224.fb_in1k"  # the smallest that names a thousand things
WIDE_MEGABYTES = 11  # of its 5.7 million parameters in half precision


def out_of_reach() -> frozenset[str]:
    """The curated models whose weights are not on this disk while the hub does not answer."""
    absent = {name for name in CURATED if not is_here(name)}
    return frozenset() if not absent or hub.is_there() else frozenset(absent)


def is_here(name: str) -> bool:
    """Whether the weights of a curated model are on this disk."""
    from huggingface_hub.errors import LocalEntryNotFoundError

    try:
        return bool(hub.cached(f"{CURATED[name].owner}/{name}", *WEIGHT_FILES))
    except LocalEntryNotFoundError:
        return False


# Licences that forbid some uses of weights, as timm names them, and the end of a sentence's key.
RESTRICTED = {
    "dinov3-license": "dinov3",
    "sapiens2-license": "sapiens2",
    "fair-noncommercial-research-license": "noncommercial",
    "cc-by-nc-4.0": "noncommercial",
    "cc-by-nc-sa-4.0": "noncommercial",
}


def terms_of(license: str | None) -> Message | None:
    """A sentence that says how weights may not be used; None for a licence without such terms."""
    end = RESTRICTED.get(license or "")
    return None if end is None else Message(f"models.terms_{end}")


def name_of(path: Path) -> str:
    """The name of the model in a file or folder, without its path; never a shipped model's name."""
    path = path.absolute()
    if path.stem in (
        "model",
        "pytorch_model",
    ):  # the file in a folder of others
        path = path.parent
    name = path.name if path.is_dir() else path.stem
    if (
        name not in [*list_models(), *list_heads()]
        or path.resolve().parent == WEIGHTS_DIR.resolve()
    ):
        return name
    return path.name if path.name != name else f"{name} (own)"


def list_models() -> list[str]:
    """Names that `load` takes: the shipped models first, then the curated timm models. Those of
    `list_heads` are not among them.
    """
    others = (FILM_SUFFIX, HEAD_SUFFIX)
    files = WEIGHTS_DIR.glob("*.safetensors")
    shipped = sorted(path.stem for path in files if not path.name.endswith(others))
    shipped.sort(key=lambda name: name != DEFAULT_MODEL)
    return [*shipped, *CURATED]


def list_heads() -> list[str]:
    """Names of the models of lessons, which `load` takes too: heads on a shipped model's trunk."""
    files = WEIGHTS_DIR.glob(f"*{HEAD_SUFFIX}")
    return sorted(path.name.removesuffix(HEAD_SUFFIX) for path in files)


def shipped_file(name: str) -> Path | None:
    """The file of a shipped model, or of a model of lessons; None for other names."""
    there = {path.name: path for path in WEIGHTS_DIR.glob("*.safetensors")}
    plain = f"{name}.safetensors"
    if plain.endswith((FILM_SUFFIX, HEAD_SUFFIX)):
        return None
    return there.get(plain) or there.get(f"{name}{HEAD_SUFFIX}")
