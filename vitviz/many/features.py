"""features: pooled features of many pictures, as arrays for a linear probe, k-NN or CKA."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ..errors import SelectionError
from ..languages import Message
from ..model.head import POOLS, Pool, without_head
from ..model.loaded import LoadedModel, check_runs
from ..model.photo_levels import Look, look_of
from ..model.vit import ViT
from ..probe.analysis import picture_of
from ..probe.capture.selection import counted
from ..probe.capture.trace import is_sound
from ..probe.normalised import unnormalised
from .analyses import each_of, in_batches, made_of, size_of
from .pictures import BrokenPicture, Label, Picture, note_others, pictures_of, watched

MOST_GRAM_BYTES = 1e9  # of products of pictures in `cka`


@dataclass(frozen=True, eq=False, slots=True)
class Features:
    """Pooled features of the n pictures that could be used.

    values  (n, D) float32, in the order of the pictures; (n, L, D) for a list of L layers. D is the
            width of a token, or twice that for "token_avg"
    names   the name of each picture, n
    labels  the class of each picture, n: its number, its name, or None
    broken  the other pictures, each with the sentence that says why
    """

    values: np.ndarray
    names: tuple[str, ...]
    labels: tuple[Label, ...]
    broken: tuple[BrokenPicture, ...]

    def __repr__(self) -> str:
        return f"Features({self.values.shape}, {len(self.broken)} broken)"


def features(
    loaded: LoadedModel,
    pictures: Any,
    layer: int | Sequence[int] | None = None,
    pool: Pool | None = None,
    *,
    normed: bool = True,
    labels: str | Sequence[int | str] | None = None,
    batch_size: int | None = None,
    invert: bool = False,
    stretch: bool = False,
    normalised: bool = False,
    progress: bool = True,
) -> Features:
    """One vector for each picture, by one forward pass, in batches. See `Features` for shapes.

    pictures  a folder, paths, Pillow images, arrays, a tensor, a data set or a DataLoader:
              `pictures_of`
    layer     after which block, counted from 0, or from the end as -1; None: the last one; or a
              list of them
    pool      "token" (CLS), "avg" (the mean of the patches, without prefix tokens) or "token_avg"
              (CLS, then the mean, side by side); None: as the model pools
    normed    whether the model's last norm is applied, after any layer, as DINOv2's
              `get_intermediate_layers(norm=True)` does; False: the residual stream as it is
    labels    the class of each picture; "folders": the name of the folder that it lies in
    invert, stretch, normalised  see `analyze`
    progress  whether to show a bar, if stderr is a terminal, and to name there the files that are
              passed over in folders

    With normed features of the last layer, `vitviz.with_head` of the same `pool` computes exactly
    what a linear probe on them does. A picture without features is among `broken`.
    Raises `SelectionError` for a layer that the model does not have, `WeightsError` for a pool that
    it has no tokens for, `VitvizError` if there are no pictures.
    """
    check_runs(loaded)
    layers = _layers(layer, loaded.card.config.depth)
    plain = pooling(loaded, pool)
    found = pictures_of(pictures, labels)
    note_others(pictures, progress)
    batches = in_batches(watched(found, progress), size_of(batch_size, loaded))
    look = look_of(invert, stretch, normalised)
    made = _features(plain, batches, layers, normed, look)
    return made if isinstance(layer, Sequence) else replace(made, values=made.values[:, 0])


def pooling(loaded: LoadedModel, pool: Pool | None) -> LoadedModel:
    """The model that answers with pooled features. Raises `SelectionError` if it does not pool."""
    plain = without_head(loaded, pool)
    if not plain.card.config.global_pool:
        raise SelectionError(
            f"{loaded.card.name} does not pool its tokens; pool must be one of {', '.join(POOLS)}"
        )
    return plain


def _features(
    plain: LoadedModel,
    batches: Iterable[list[Picture]],
    layers: list[int],
    normed: bool,
    look: Look | None,
) -> Features:
    """The features after some layers, (n, L, D), of a model that answers with them. `look` None:
    the pictures are normalised.
    """
    rows: list[np.ndarray] = []
    names: list[str] = []
    classes: list[Label] = []
    broken: list[BrokenPicture] = []
    for batch in batches:
        opened = _pixels(plain, batch, look)
        pixels = [each[0] for each in opened if not isinstance(each, BrokenPicture)]
        computed = iter(pooled(plain.vit, torch.cat(pixels), layers, normed) if pixels else ())
        for picture, each in zip(batch, opened, strict=True):
            if isinstance(each, BrokenPicture):
                broken.append(each)
            elif is_sound(vectors := next(computed)):
                rows.append(vectors.numpy())
                names.append(picture.name)
                classes.append(each[1])
            else:
                sentence = str(Message("models.without_bounds", name=plain.card.name))
                broken.append(BrokenPicture(picture.name, sentence))
    none = np.empty((0, len(layers), plain.card.config.pooled_dim), np.float32)
    values = np.stack(rows) if rows else none
    return Features(values, tuple(names), tuple(classes), tuple(broken))


def _pixels(
    loaded: LoadedModel, batch: list[Picture], look: Look | None
) -> list[tuple[Tensor, Label] | BrokenPicture]:
    """The pixels of each picture as they enter the model, (1, C, h, w), and its class."""
    if look is not None:
        pixels = loaded.preprocess.pixels
        return made_of(batch, look, lambda photo: pixels(picture_of(loaded, photo)))

    def as_given(picture: Picture) -> tuple[Tensor, Label]:
        given, label = picture.given()
        return unnormalised(loaded, given)[1][None], label

    return each_of(batch, as_given)


def _layers(layer: int | Sequence[int] | None, depth: int) -> list[int]:
    """The layers, counted from 0. Raises `SelectionError` for one that the model does not have."""
    listed = list(layer) if isinstance(layer, Sequence) else [depth - 1 if layer is None else layer]
    if not listed:
        raise SelectionError("layer must be a layer or a list of layers, got an empty list")
    return [counted("layer", at, depth) for at in listed]


@torch.inference_mode()
def pooled(
    vit: ViT, pixels: Tensor, layers: list[int], normed: bool, kept: Tensor | None = None
) -> Tensor:
    """Pooled tokens after some blocks, of a model without a head. (B, C, h, w) -> (B, L, D)

    `kept`: the tokens that enter the first block, (n,); None: all.
    """
    tokens = vit.tokenize(pixels.to(next(vit.parameters()).device))
    if kept is not None:
        tokens = tokens.take(kept.to(tokens.x.device).expand(len(pixels), -1))
    x, places = tokens
    after: dict[int, Tensor] = {}
    for at, block in enumerate(vit.blocks[: max(layers) + 1]):
        x = block(x, places)
        if at in layers:
            after[at] = vit.forward_head(vit.norm(x)) if normed else vit.pool(x)
    return torch.stack([after[at] for at in layers], dim=1).float().cpu()


def cka(
    loaded: LoadedModel,
    pictures: Any,
    other: LoadedModel | None = None,
    pool: Pool | None = None,
    *,
    normed: bool = False,
    batch_size: int | None = None,
    progress: bool = True,
) -> Tensor:
    """How alike the layers of a model represent pictures: linear CKA of their pooled features.

    (layers, layers), or (layers, layers of `other`), each from 0 to 1: |Y^T X|^2 / (|X^T X| |Y^T
    Y|) in Frobenius norms, where X and Y (n, D) are features of n pictures after a layer, each
    column with mean 0. Kornblith et al. 2019, arXiv:1905.00414, equation 7 with a linear kernel.
    1 means alike up to a rotation and a factor. With fewer pictures than features all values are
    too near to 1. nan for a layer that has the same features for all pictures.

    other  a second model; None: the model itself. The other parameters are those of `features`;
           the residual stream is read as it is, unless `normed`

    A picture that one of the models finds broken is left out. Raises as `features` does, and
    `SelectionError` where fewer than three pictures can be used.
    """
    models = [loaded] if other is None else [loaded, other]
    for model in models:
        check_runs(model)
    found, made = list(pictures_of(pictures)), []
    note_others(pictures, progress)
    for model in models:
        layers = _layers(range(model.card.config.depth), model.card.config.depth)
        batches = in_batches(watched(found, progress), size_of(batch_size, model))
        made.append(_features(pooling(model, pool), batches, layers, normed, Look()))
    return _cka(*_shared(made[0], made[-1]))


def _shared(first: Features, second: Features) -> tuple[np.ndarray, np.ndarray]:
    """The values of the pictures that both models could use. (n, L, D), (n, L', D')"""
    broken = {picture.name for each in (first, second) for picture in each.broken}
    x = first.values[[name not in broken for name in first.names]]
    same = second is first
    y = x if same else second.values[[name not in broken for name in second.names]]
    if len(x) < 3:
        raise SelectionError(f"CKA needs three pictures or more, and {len(x)} can be used")
    return x, y


def _cka(first: np.ndarray, second: np.ndarray) -> Tensor:
    """CKA of each layer of (n, L, D) with each of (n, L', D'). (L, L')

    `second` may be `first` itself, of which all is computed once. |Y^T X|^2 = tr(X X^T Y Y^T): the
    (n, n) products are quicker, one for each layer, and are taken as long as they fit in memory.
    """
    layers = first.shape[1] + (0 if second is first else second.shape[1])
    grams = 2 * 8 * layers * len(first) ** 2  # with the normalised ones
    return (_by_features if grams > MOST_GRAM_BYTES else _by_pictures)(first, second).float()


def _by_pictures(first: np.ndarray, second: np.ndarray) -> Tensor:
    """`_cka` by the (n, n) products X X^T, one for each layer."""
    grams = []
    for values in (first,) if second is first else (first, second):
        gram = torch.stack([(x @ x.T).flatten() for x in _layer_by_layer(values)])
        grams.append(gram / gram.norm(dim=1, keepdim=True))
    return grams[0] @ grams[-1].T


def _by_features(first: np.ndarray, second: np.ndarray) -> Tensor:
    """`_cka` by the (D', D) products Y^T X, one for each pair of layers."""
    same = second is first
    found = torch.empty(first.shape[1], second.shape[1], dtype=torch.float64)
    for i, x in enumerate(_layer_by_layer(first)):
        for j, y in enumerate(_layer_by_layer(second[:, : i + 1] if same else second)):
            found[i, j] = (y.T @ x).square().sum()
            if same:
                found[j, i] = found[i, j]
    lengths = [
        torch.stack([(x.T @ x).norm() for x in _layer_by_layer(values)])
        for values in ((first,) if same else (first, second))
    ]
    return found / (lengths[0][:, None] * lengths[-1])


def _layer_by_layer(values: np.ndarray) -> Iterator[Tensor]:
    """The features after each layer of (n, L, D), each column with mean 0. (n, D) float64"""
    for layer in range(values.shape[1]):
        x = torch.from_numpy(values[:, layer]).double()
        yield x - x.mean(dim=0)
