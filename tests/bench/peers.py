"""Peers: the same numbers by other libraries, on a DINOv2 of real size.

    python -m venv peers && peers/bin/pip install torch timm transformers captum grad-cam
    peers/bin/pip install -r requirements.txt
    peers/bin/python -m tests.bench.peers DINOV2 [--photo PHOTO]

DINOV2 is a folder that transformers saved. Prints the table of probe/README.md: the largest
difference, as a share of the largest value, of the peer's whole way (its model, its hooks) from
that of vitviz, in float32 on the CPU. The head is drawn with a fixed seed: a difference is as large
on any other.
"""

import argparse
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import timm
import torch
from captum.attr import IntegratedGradients
from PIL import Image
from pytorch_grad_cam import GradCAM
from pytorch_grad_cam.utils.model_targets import ClassifierOutputTarget
from torch import Tensor, nn
from transformers import AutoImageProcessor, AutoModel

import vitviz
from vitviz.web.store.examples import EXAMPLES

CLASSES, TARGET, STEPS = 10, 3, 16


class Classifier(nn.Module):
    """The model of transformers, and a linear head on its CLS."""

    def __init__(self, backbone: nn.Module, weight: Tensor) -> None:
        super().__init__()
        self.backbone, self.weight = backbone, nn.Parameter(weight)

    def forward(self, pixels: Tensor) -> Tensor:
        return self.backbone(pixels).last_hidden_state[:, 0] @ self.weight.T


def rows(folder: Path, photo: Path) -> list[tuple[str, str, Tensor, Tensor]]:
    """(what, the peer, its values, ours) of each comparison."""
    backbone = AutoModel.from_pretrained(folder, attn_implementation="eager").eval()
    bare = vitviz.load(folder, device="cpu")
    torch.manual_seed(0)
    weight = torch.randn(CLASSES, bare.card.config.embed_dim)
    loaded = vitviz.with_head(bare, weight, labels=[f"class {i}" for i in range(CLASSES)])
    analysis, classifier = vitviz.analyze(loaded, photo), Classifier(backbone, weight)
    pixels = analysis.pixels[None]
    processor = AutoImageProcessor.from_pretrained(folder, backend="pil")
    theirs = processor(Image.open(photo).convert("RGB"), return_tensors="pt")["pixel_values"]
    with torch.no_grad():
        out = backbone(pixels, output_attentions=True)
    maps = torch.stack([one[0] for one in out.attentions])
    other = vitviz.analyze(loaded, EXAMPLES[0].read())
    with torch.no_grad():
        liked = backbone(other.pixels[None]).last_hidden_state[0, 0]
    cosine = torch.nn.functional.cosine_similarity(out.last_hidden_state[0, 0], liked, dim=0)
    ours = torch.stack([analysis.trace.attention(layer) for layer in range(len(maps))])
    features = vitviz.features(bare, [photo], progress=False).values[0]
    tokens, found = analysis.normed_tokens(), analysis.explain("grad_cam", target=TARGET)
    summed = analysis.explain("integrated_gradients", target=TARGET, steps=STEPS)
    return [
        ("pixels of a photo", "transformers", theirs[0], analysis.pixels),
        ("attention, all heads", "transformers", maps, ours),
        ("tokens after the last norm", "transformers", out.last_hidden_state[0], tokens),
        ("`features`", "transformers", out.pooler_output[0], torch.from_numpy(features)),
        ("`likeness`", "transformers", cosine, torch.tensor(analysis.likeness(other))),
        ("`rollout`", "transformers", rolled(maps), analysis.rollout()),
        ("`integrated_gradients`", "captum", captums(classifier, analysis), summed),
        ("`grad_cam`", "grad-cam", cam(classifier, analysis), found),
        ("logits of random weights", "timm", *logits("vit_small_patch16_224", photo)),
        ("the same with registers, rotary", "timm", *logits("vit_small_patch16_dinov3", photo)),
    ]


def rolled(maps: Tensor) -> Tensor:
    """Rollout of CLS by its definition, from the attention of transformers."""
    product = torch.eye(maps.shape[-1])
    for one in maps.mean(1):
        product = (0.5 * one + 0.5 * torch.eye(len(one))) @ product
    return product[0]


def by_patch(values: Tensor, analysis: vitviz.Analysis) -> Tensor:
    """Values of pixels (C, h, w), summed over each patch, after a zero for each prefix token."""
    grid = analysis.grid
    height, width = grid.patch_size
    sums = values.reshape(-1, grid.rows, height, grid.cols, width).sum((0, 2, 4)).flatten()
    return torch.cat([torch.zeros(grid.num_prefix_tokens), sums])


def captums(classifier: nn.Module, analysis: vitviz.Analysis) -> Tensor:
    pixels = analysis.pixels[None]
    start = pixels.mean((2, 3), keepdim=True).expand_as(pixels)
    attribute: Callable[..., Any] = IntegratedGradients(classifier).attribute
    way = {"n_steps": STEPS, "method": "riemann_middle", "internal_batch_size": 4}
    return by_patch(attribute(pixels, start, target=TARGET, **way)[0].detach().float(), analysis)


def cam(classifier: Classifier, analysis: vitviz.Analysis) -> Tensor:
    """The map of pytorch-grad-cam at the input of the last attention, before it is scaled and
    enlarged. Its patches alone take part, in an image of channels.
    """
    grid, prefix = analysis.grid, analysis.grid.num_prefix_tokens
    last = [part for name, part in classifier.named_modules() if name.endswith("norm1")][-1]

    def image(tokens: Tensor) -> Tensor:
        return tokens[:, prefix:].transpose(1, 2).unflatten(2, (grid.rows, grid.cols))

    raw: list[np.ndarray] = []
    with GradCAM(classifier, [last], reshape_transform=image) as method:
        made = method.get_cam_image
        method.get_cam_image = lambda *args: raw.append(made(*args)) or raw[-1]
        method(analysis.pixels[None], [ClassifierOutputTarget(TARGET)])
    patches = torch.from_numpy(raw[0]).flatten().relu()
    return torch.cat([torch.zeros(prefix), patches])


def logits(name: str, photo: Path) -> tuple[Tensor, Tensor]:
    torch.manual_seed(0)
    model = timm.create_model(name, num_classes=CLASSES).eval()
    analysis = vitviz.analyze(vitviz.from_timm(model), photo)
    with torch.no_grad():
        return model(analysis.pixels[None])[0], analysis.trace.logits


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path, metavar="DINOV2")
    parser.add_argument("--photo", type=Path, default=Path(EXAMPLES[1].path))
    arguments = parser.parse_args()
    print("| what | peer | largest difference |\n|---|---|---|")
    for what, peer, theirs, ours in rows(arguments.folder, arguments.photo):
        assert theirs.shape == ours.shape, (what, theirs.shape, ours.shape)
        share = float((theirs.double() - ours.double()).abs().max() / theirs.double().abs().max())
        print(f"| {what} | {peer} {version(peer)} | {share:.1e} |")
    size = f"{arguments.folder.name}, {arguments.photo.name}, torch {version('torch')}"
    print(f"\n{time.strftime('%Y-%m-%d')}: {size}")


if __name__ == "__main__":
    main()
