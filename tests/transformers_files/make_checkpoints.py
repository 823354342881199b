"""Write the small checkpoints of this folder, with what Hugging Face transformers makes of them.

    python tests/transformers_files/make_checkpoints.py

needs the package transformers (they were written with 5.23), which vitviz and its tests do not.
Every folder has the files of one model with random weights, and expected.safetensors: the pixels
that the model's own preprocessing makes of picture.png, and the model's answer to them. The same
functions are asked by the test that runs where transformers is installed.
"""

import sys
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image
from safetensors.torch import save_file

HERE = Path(__file__).resolve().parent
SIZES = {
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "image_size": 32,
    "patch_size": 8,
}
TEXT = {
    "hidden_size": 8,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": 8,
    "vocab_size": 10,
    "max_position_embeddings": 4,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "pad_token_id": 0,
}
NAMES = {0: "cat", 1: "dog", 2: "아홀로틀"}


def models() -> dict[str, tuple[Any, Any]]:
    """Folder: (model, image processor), with the weights that transformers draws."""
    import transformers as hf

    wide = SIZES | {"intermediate_size": 20}
    classes = {"id2label": NAMES, "label2id": {name: at for at, name in NAMES.items()}}
    vision = wide | {"intermediate_size": 24}
    clip = hf.CLIPConfig(text_config=TEXT, vision_config=vision, projection_dim=12)
    siglip = hf.SiglipConfig(text_config=TEXT, vision_config=vision)
    dino = SIZES | {"image_size": 40, "mlp_ratio": 2, "use_swiglu_ffn": True}
    square = {"height": 32, "width": 32}
    squash = hf.ViTImageProcessorPil(size={"height": 24, "width": 32})
    cut = hf.DeiTImageProcessorPil(size={"height": 39, "width": 39}, crop_size=square, resample=1)
    crop = hf.CLIPImageProcessorPil(size={"shortest_edge": 32}, crop_size=square)
    both = hf.SiglipImageProcessorPil(size=square)
    dinos = hf.BitImageProcessorPil(
        size={"shortest_edge": 30}, crop_size={"height": 24, "width": 24}
    )
    of_dino = hf.Dinov2WithRegistersConfig(**dino, num_register_tokens=3, **classes)
    dino3 = wide | {"num_register_tokens": 2}
    wider = hf.DINOv3ViTImageProcessor(size={"height": 24, "width": 40})
    gated = {"use_gated_mlp": True, "hidden_act": "silu", "query_bias": False, "rope_theta": 50.0}
    own = {"use_relative_position_bias": True}
    shared = {"use_shared_relative_position_bias": True, "use_absolute_position_embeddings": True}
    cls = {"use_mean_pooling": False, "layer_scale_init_value": 0.0}
    beits = hf.BeitImageProcessorPil(size=square)
    return {
        "vit": (
            hf.ViTForImageClassification(
                hf.ViTConfig(**wide | {"image_size": [24, 32]}, **classes)
            ),
            squash,
        ),
        "vit-features": (hf.ViTModel(hf.ViTConfig(**wide, qkv_bias=False)), both),
        "deit": (hf.DeiTForImageClassificationWithTeacher(hf.DeiTConfig(**wide, **classes)), cut),
        "deit-one-head": (hf.DeiTForImageClassification(hf.DeiTConfig(**wide, **classes)), cut),
        "dinov2": (hf.Dinov2ForImageClassification(hf.Dinov2Config(**dino, **classes)), dinos),
        "dinov2-features": (
            hf.Dinov2Model(hf.Dinov2Config(**dino | {"use_swiglu_ffn": False})),
            dinos,
        ),
        "dinov2-registers": (hf.Dinov2WithRegistersForImageClassification(of_dino), dinos),
        "clip": (hf.CLIPModel(clip), crop),
        "clip-vision": (hf.CLIPVisionModel(clip.vision_config), crop),
        "clip-classes": (
            hf.CLIPForImageClassification(
                hf.CLIPConfig(text_config=TEXT, vision_config=vision, **classes)
            ),
            crop,
        ),
        "siglip": (hf.SiglipModel(siglip), both),
        "siglip-vision": (hf.SiglipVisionModel(siglip.vision_config), both),
        "siglip-classes": (
            hf.SiglipForImageClassification(
                hf.SiglipConfig(text_config=TEXT, vision_config=vision, **classes)
            ),
            both,
        ),
        "dinov3": (hf.DINOv3ViTModel(hf.DINOv3ViTConfig(**dino3)), wider),
        "dinov3-gated": (hf.DINOv3ViTModel(hf.DINOv3ViTConfig(**dino3 | gated)), wider),
        "beit": (hf.BeitForImageClassification(hf.BeitConfig(**wide, **own, **classes)), beits),
        "beit-features": (hf.BeitModel(hf.BeitConfig(**wide, **shared, **cls)), beits),
    }


def spread(model: torch.nn.Module, seed: int) -> None:
    """Weights that hide no wrong path: none is 0 or 1, and all of a kind differ."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, value in sorted(model.named_parameters()):
            noise = torch.randn(value.shape, generator=generator)
            if value.ndim > 1 and name.endswith("weight"):
                value.copy_(noise / value[0].numel() ** 0.5)
            elif name.endswith(("weight", "lambda1")):
                value.copy_(1 + 0.3 * noise)
            else:
                value.copy_(0.5 * noise)


def picture() -> Image.Image:
    """Its longer side, cut to the shorter one, leaves an odd rest, which is halved downwards."""
    noise = np.random.default_rng(0).integers(0, 90, (37, 55, 3))
    slope = np.linspace(0, 160, 55)[None, :, None] * [1, 0.5, 0.8]
    return Image.fromarray((noise + slope).astype(np.uint8))


@torch.no_grad()
def asked(model: Any, processor: Any, image: Image.Image) -> dict[str, torch.Tensor]:
    """What transformers makes of a picture: its pixels, and the answer."""
    pixels = processor(image, return_tensors="pt")["pixel_values"]
    name = type(model.eval()).__name__
    if name in ("CLIPModel", "SiglipModel"):
        answer = model.get_image_features(pixels).pooler_output
    elif name == "ViTModel":  # its pooler, one more layer, was trained for another task
        answer = model(pixels).last_hidden_state[:, 0]
    else:
        out = model(pixels)
        answer = out.logits if "logits" in out else out.pooler_output
    return {"pixels": pixels[0].contiguous(), "logits": answer[0].contiguous()}


def main() -> None:
    picture().save(HERE / "picture.png")
    for seed, (name, (model, processor)) in enumerate(models().items()):
        spread(model, seed)
        model.save_pretrained(HERE / name)
        processor.save_pretrained(HERE / name)
        save_file(asked(model, processor, picture()), HERE / name / "expected.safetensors")


if __name__ == "__main__":
    sys.exit(main())
