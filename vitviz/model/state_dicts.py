"""Read a state dict from any file, without running code, and unwrap it."""

import re
import threading
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from ..errors import WeightsError
from .foreign import CODE, SAVE, what_it_is
from .json_values import short
from .tensor_file import read_tensors

# The patch embedding in each layout; what precedes it in the name is the wrapper's prefix.
ANCHORS = {
    "timm": r"patch_embed\.proj\.weight",  # and DINO, DINOv2 and v3, MAE, MoCo, EVA
    "torchvision": r"conv_proj\.weight",
    "transformers": r"(?:(?:vit|deit|beit|dinov2|dinov2_with_registers|vision_model|model)\.)?"
    r"embeddings\.patch_embedding(?:s(?:\.projection)?)?\.weight",
    "CLIP": r"visual\.(?:conv1|trunk\.patch_embed\.proj)\.weight",  # OpenAI's, open_clip's
    "vit-pytorch": r"to_patch_embedding\.\d\.weight",
    "AIMv2": r"preprocessor\.patchifier\.proj\.weight",
    "BEiT-3": r"beit3\.vision_embed\.proj\.weight",
    "TIPSv2": r"vision_encoder\.patch_embed\.proj\.weight",
    "Sapiens": r"patch_embed\.projection\.weight",
}
_ANCHOR = re.compile(rf"((?:.*?[./])??)(?:{'|'.join(ANCHORS.values())})")
# Wrappers of torch around parts of a model, anywhere in a name.
_INSIDE = re.compile(r"(?<![^./])_(orig_mod|fsdp_wrapped_module|checkpoint_wrapped_module)\.")
ADAPTER = re.compile(
    r"(^|.*[./])(lora_(A|B|E|embedding_[AB]|magnitude_vector)|ia3_l|hada_w1_a|lokr_w1)\b"
)
MERGE = (
    "merge it where it was made, model.merge_and_unload().save_pretrained(folder), and load that "
    "folder"
)
MOST_ENTRIES = 10**6  # of a file; optimizers have some thousand
# Names, in a pickle, of classes and functions that a stand-in may replace (`_Inert`, `_InertMap`).
# Scripts keep such objects beside the weights: numbers of numpy, paths, dates, settings, schedules.
HARMLESS = re.compile(
    r"(numpy|pathlib|datetime|omegaconf|yacs|addict|easydict|ml_collections|mmengine)\."
    r"|argparse\.Namespace|types\.SimpleNamespace|collections\.(defaultdict|deque|Counter)$"
    r"|(pytorch_)?lightning(_fabric)?\..*(AttributeDict|FloatValue|\w*State\w*)$"
    r"|torch\.(optim|torch_version)\.|typing\.|enum\."
    r"|builtins\.(list|tuple|dict|set|frozenset|int|float|complex|str|bool|bytes|bytearray|slice"
    r"|range|object)$"
)
MAPS = re.compile(r"(defaultdict|CfgNode|Dict)$")
MOST_STAND_INS = 50
_STANDING_IN = threading.Lock()
MODULES = re.compile(r"torch\.nn\.modules\.|timm\.|torchvision\.|transformers\.models\.|peft\.")


def read_safetensors(path: Path) -> tuple[dict[str, Tensor], dict[str, str]]:
    """The tensors and metadata of a .safetensors file. Raises `WeightsError` for a damaged one."""
    try:
        return read_tensors(path)
    except (OSError, ValueError) as error:
        kind = what_it_is(path) if path.is_file() else None
        reason = error if kind is None else f"it is {kind}"
        raise WeightsError(f"{path.name} is not a whole .safetensors file: {reason}") from error


def read_any(path: Path) -> dict[str, Tensor]:
    """All tensors of a file by name; those in nested objects are named "outer/inner".

    Raises `WeightsError` for a file of another kind, one that is damaged, or one that torch would
    have to run code for.
    """
    try:
        kind = what_it_is(path)
    except OSError as error:
        raise WeightsError(f"{path.name} cannot be read: {error.strerror}") from error
    if kind is not None:
        raise WeightsError(f"{path.name} is {kind}")
    if path.suffix == ".safetensors":
        return read_safetensors(path)[0]
    found: dict[str, Tensor] = {}
    for count, (name, value) in enumerate(_entries(_unpickled(path))):
        if count >= MOST_ENTRIES:
            raise WeightsError(f"{path.name} holds more than {MOST_ENTRIES} entries")
        if isinstance(value, Tensor):
            found[name] = value
    if not found:
        raise WeightsError(f"{path.name} does not hold a state_dict of tensors")
    return found


class _Inert(dict):
    """Stands in for an object beside the weights, such as the arguments of a training. It takes
    whatever the file gives it and runs nothing; tensors in it can be found.
    """

    def __init__(self, *_args: Any) -> None:
        super().__init__()

    def __setstate__(self, state: Any) -> None:
        if isinstance(state, dict):
            self.update(state)

    def __hash__(self) -> int:  # type: ignore[override]
        return id(self)


class _InertMap:
    """Stands in for a class of dictionaries (`MAPS`) and makes an OrderedDict: torch fills only
    dictionaries of Python's own kinds.
    """

    def __new__(cls, *_args: Any) -> Any:
        return OrderedDict()


def _unpickled(path: Path) -> Any:
    """Read a file of torch.save. Objects that scripts keep beside the weights (`HARMLESS`) become
    `_Inert` or `_InertMap`: their own code is never called, nor even imported. Each refusal of
    torch names one of these classes; then the file is read again with a stand-in for it.
    """
    stand_ins: list[Any] = []
    while True:
        try:
            # All threads share torch's list: the end of another's `with` would remove these names.
            with _STANDING_IN, torch.serialization.safe_globals(stand_ins):
                return torch.load(path, map_location="cpu", weights_only=True)
        except Exception as error:  # reading a damaged pickle can fail in any way
            needed = re.search(r"GLOBAL ([\w.]+)", str(error))
            name = needed[1].rstrip(".") if needed else ""
            name = name if "." in name or not name else f"builtins.{name}"  # torch leaves it out
            known = name in [each for _, each in stand_ins] or len(stand_ins) > MOST_STAND_INS
            if known or not HARMLESS.match(name):
                raise WeightsError(_why_not_opened(path, name, error)) from error
            stand_ins.append((_InertMap if MAPS.search(name) else _Inert, name))


def _why_not_opened(path: Path, needed: str, error: Exception) -> str:
    """The sentence for a file that torch refuses, with torch's own reason."""
    if not needed:
        lines = str(error).partition("WeightsUnpickler error:")[2] or str(error)
        reason = (lines.strip() or type(error).__name__).splitlines()[0][:120]
        if "Unsupported operand" in reason:  # of a newer protocol than torch.save writes
            return (
                f"{path.name} is a pickle of Python, not of torch.save ({reason}). {CODE}; where "
                f"it was made, {SAVE} writes one that opens"
            )
        return (
            f"{path.name} is damaged or cut off, or no file of torch.save; torch says: {reason}. "
            "Download or copy it again"
        )
    try:
        all_of_them = torch.serialization.get_unsafe_globals_in_checkpoint(path)
    except Exception:  # noqa: BLE001  # an old format, or damaged: only the first one is known
        all_of_them = []
    if any(MODULES.match(name) for name in (needed, *all_of_them)):
        return (
            f"{path.name} holds a whole model object ({needed}), not its weights alone. {CODE}; "
            f"where it was made, {SAVE} writes one that opens"
        )
    return (
        f"{path.name} needs {needed}, which is no tensor. {CODE}; where it was made, {SAVE} writes "
        "one that opens"
    )


def _entries(held: Any, front: str = "", depth: int = 0) -> Iterator[tuple[str, Any]]:
    if isinstance(held, Mapping) and depth < 4:
        for key, value in held.items():
            if isinstance(key, str):
                yield front + key, value
                yield from _entries(value, f"{front}{key}/", depth + 1)


def unwrapped(
    state: Mapping[str, Tensor], file: str, key: str | None = None, without: Sequence[str] = ()
) -> dict[str, Tensor]:
    """The parameters of the ViT in a file, without the prefix of their names, such as "module.", or
    "state_dict/model." of Lightning.

    `key` selects a model by the beginning of its names; all else is ignored then. `without`:
    beginnings of the names, prefix taken off, of parts that are left out. Raises `WeightsError`
    that names the choices if there are several models, or other tensors beside it, and for the
    weights of an adapter.
    """
    cleaned = {_INSIDE.sub("", name): tensor for name, tensor in state.items()}
    if len(cleaned) == len(state):  # else the file holds both, a model and its wrapper
        state, key = cleaned, None if key is None else _INSIDE.sub("", f"{key}.").rstrip(".")
    front = _front(state, file, key or None)
    state = {
        name.removeprefix(front): tensor for name, tensor in state.items() if name.startswith(front)
    }
    if all(name.startswith("model.") for name in state):  # inside DINOv3's, too
        state = {name.removeprefix("model."): tensor for name, tensor in state.items()}
    for part in without:
        if not any(name.startswith(part) for name in state):
            raise WeightsError(f"no tensor of {file} begins with {short(part)}, of without")
    return {name: value for name, value in state.items() if not name.startswith(tuple(without))}


def check_no_adapter(names: Iterable[str], file: str, base: str | None = None) -> None:
    """Raise `WeightsError` if there are parameters of an adapter, such as LoRA's, among them.

    `base`: the name of the model that it adapts, if that is known.
    """
    names = [*names]
    if any(ADAPTER.match(name) for name in names):
        if any(_ANCHOR.fullmatch(name.replace(".base_layer", "")) for name in names):
            raise WeightsError(f"{file} holds a model with an adapter (LoRA) beside it: {MERGE}")
        of = f" of {base}" if base else ""
        raise WeightsError(
            f"{file} is an adapter{of} (LoRA), which changes a base model and is none itself: "
            f"{MERGE}"
        )


def _front(state: Mapping[str, Tensor], file: str, key: str | None) -> str:
    """The prefix of the one ViT in a file, up to its own names."""
    check_no_adapter(state, file)
    found = (_ANCHOR.fullmatch(name) for name in state)
    fronts = sorted({match[1] for match in found if match is not None})
    if key is not None:
        inside = f"{_plain(key)}."
        if below := [front for front in fronts if f"{_plain(front)}.".startswith(inside)]:
            fronts = below
        else:  # a part of what counts as the model's own names, such as "vision_model"
            fronts = [name[: len(inside)] for name in state if _dotted(name).startswith(inside)]
            fronts = sorted({front for front in fronts if _has_anchor(state, front)})
        if not fronts:
            raise WeightsError(
                f"{file} holds no Vision Transformer under the key {short(key)}; its names begin "
                f"with {_beginnings(state)}"
            )
    if not fronts:
        raise WeightsError(
            f"{file} holds {len(state)} tensors, from {short(next(iter(state), ''))} on, and none "
            "is named patch_embed.proj.weight, conv_proj.weight, visual.conv1.weight or "
            "embeddings.patch_embeddings.projection.weight, as in a Vision Transformer of timm, "
            "torchvision, CLIP or transformers"
        )
    if len(fronts) > 1:
        names = " or ".join(f'key="{_plain(front)}"' for front in fronts[:4])
        raise WeightsError(f"{file} holds {len(fronts)} Vision Transformers: choose with {names}")
    (front,) = fronts
    held = front[: front.rfind("/") + 1]  # the object of the file that holds them
    beside = [name for name in state if name.startswith(held) and not name.startswith(front)]
    if key is None and beside:
        raise WeightsError(
            f"{file} holds {short(beside[0])} beside the Vision Transformer, and what it is for "
            f'is not known; key="{_plain(front)}" leaves it out'
        )
    return front


def _has_anchor(state: Mapping[str, Tensor], front: str) -> bool:
    return any(
        _ANCHOR.fullmatch(name.removeprefix(front)) for name in state if name.startswith(front)
    )


def _beginnings(state: Mapping[str, Tensor]) -> str:
    """The first parts of the names in a file, as keys, for a sentence."""
    parts = dict.fromkeys(re.split(r"[./]", name)[0] for name in state)
    return ", ".join([*parts][:6]) + (", ..." if len(parts) > 6 else "")


def _dotted(name: str) -> str:
    return name.replace("/", ".")


def _plain(front: str) -> str:
    """A prefix of names as a key: "state_dict.model" for "state_dict/model."."""
    return _dotted(front.rstrip("./"))
