"""The layouts in which people have their files: each loads, or is refused with a way that works.

The table in vitviz/model/README.md has one row for each.
"""

import json
import re
import shutil
import warnings
from argparse import Namespace
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import timm
import torch
from einops import rearrange
from safetensors.torch import load_file, save_file
from timm.models import save_for_hf
from torch import Tensor, nn
from torch.testing import assert_close

from tests.models import spread
from vitviz import WeightsError, load

ARCH = "test_vit"  # of timm: 6 blocks, 64 wide, 160 pixels
HF = Path(__file__).parent / "transformers_files" / "vit"
README = Path(__file__).parents[1] / "vitviz" / "model" / "README.md"
Tensors = dict[str, Tensor]
Row = tuple[Path | str, dict, object]  # the source, options of `load`, a model or a sentence


def theirs(arch: str = ARCH, **options: object) -> nn.Module:
    return spread(timm.create_model(arch, **{"num_classes": 3} | options).eval())


def saved(path: Path, value: object) -> Path:
    torch.save(value, path)
    return path


def fronted(front: str, state: Tensors) -> Tensors:
    return {f"{front}{name}": value for name, value in state.items()}


def wrapped(change: Callable[[Tensors], object]) -> Callable[[Path], Row]:
    """Weights of a timm model, changed and saved; they load with the name of the architecture."""

    def make(folder: Path) -> Row:
        model = theirs()
        return saved(folder / "x.pth", change(model.state_dict())), {"arch": ARCH}, model

    return make


def says(change: Callable[[Tensors], object], sentence: str, **options: str) -> Callable:
    """The same, refused with a sentence. The sentence names options with which it loads."""

    def make(folder: Path) -> Row:
        state = change(theirs().state_dict())
        return saved(folder / "x.pth", state), {"arch": ARCH} | options, sentence

    return make


def other(content: bytes, name: str, sentence: str) -> Callable[[Path], Row]:
    """A file of another kind, refused by name."""

    def make(folder: Path) -> Row:
        (folder / name).write_bytes(content)
        return folder / name, {}, sentence

    return make


def of_sizes(said: dict, **options: object) -> Callable[[Path], Row]:
    def make(folder: Path) -> Row:
        model = theirs(**options)
        return saved(folder / "x.pth", model.state_dict()), {"arch": ARCH} | said, model

    return make


def not_square(folder: Path) -> Row:
    model = theirs(img_size=(48, 112))
    path = saved(folder / "x.pth", model.state_dict())
    return path, {"arch": ARCH}, r"21 patches of 16 x 16, which are no square.*such as 48x112"


def own_config(folder: Path) -> Row:
    model = theirs(img_size=32, patch_size=4, embed_dim=48, num_heads=4)
    args = {"img_size": 32, "patch_size": 4, "embed_dim": 48, "num_heads": 4}
    (folder / "config.json").write_text(json.dumps({"architecture": ARCH, "model_args": args}))
    return saved(folder / "best.pth", {"model": model.state_dict()}), {}, model


def own_sizes(folder: Path) -> Row:
    state = theirs(embed_dim=48, num_heads=4).state_dict()
    sentence = r"arch=NAME, .* of sizes that no name of timm has, a config\.json .*from_timm"
    return saved(folder / "x.pth", state), {}, sentence


def folder_of_timm(folder: Path) -> Row:
    save_for_hf(model := theirs(), folder / "run", safe_serialization=True)
    return folder / "run", {}, model


def wrapper_of_timm(folder: Path) -> Row:
    """As transformers 5 saves TimmWrapperForImageClassification."""
    model = theirs()
    save_file(fronted("timm_model.", model.state_dict()), folder / "model.safetensors")
    config = {
        "architecture": ARCH,
        "architectures": ["TimmWrapperForImageClassification"],
        "do_pooling": True,
        "label_names": ["cat", "dog", "cow"],
        "model_args": None,
        "model_type": "timm_wrapper",
        "num_classes": 3,
    }
    (folder / "config.json").write_text(json.dumps(config))
    return folder, {}, model


def head_in_sequence(folder: Path) -> Row:
    model = theirs()
    model.head = nn.Sequential(nn.Dropout(0.5), model.head).eval()
    return saved(folder / "x.pth", model.state_dict()), {"arch": ARCH}, model


def with_decoder(state: Tensors) -> object:
    decoder = {"mask_token": torch.zeros(1, 1, 8), "decoder_embed.weight": torch.zeros(8, 64)}
    return {"model": state | decoder | {"decoder_blocks.0.norm1.bias": torch.zeros(8)}}


def with_head_of_moco(state: Tensors) -> Tensors:
    head = {f"head.{place}.weight": torch.zeros(9, 9) for place in (0, 3, 6)}
    return state | head | {"head.1.running_mean": torch.zeros(9)}


def moco(folder: Path) -> Row:
    state = with_head_of_moco(theirs(num_classes=0).state_dict())
    both = fronted("module.base_encoder.", state) | fronted("module.momentum_encoder.", state)
    path = saved(folder / "x.pth", {"state_dict": both})
    return path, {"arch": ARCH}, 'key="state_dict.module.base_encoder" or key="state_dict.mod'


def moco_chosen(folder: Path) -> Row:
    path, options, _ = moco(folder)
    model = theirs(num_classes=0)
    options |= {"key": "state_dict.module.base_encoder", "without": ["head"]}
    return path, options, model


def dino(folder: Path) -> Row:
    state = theirs(num_classes=0).state_dict()
    teacher = fronted("backbone.", state) | {"head.mlp.0.weight": torch.zeros(3, 64)}
    both = {"student": fronted("module.", teacher), "teacher": teacher}
    return saved(folder / "x.pth", both), {"arch": ARCH}, r'key="teacher\.backbone"'


def dino_chosen(folder: Path) -> Row:
    path, options, _ = dino(folder)
    return path, options | {"key": "teacher.backbone"}, theirs(num_classes=0)


def dinov2(registers: int) -> Callable[[Path], Row]:
    """The layout of github.com/facebookresearch/dinov2, vision_transformer.py."""

    def make(folder: Path) -> Row:
        arch = "vit_small_patch14_reg4_dinov2" if registers else "vit_small_patch14_dinov2"
        model = theirs(arch, num_classes=0, img_size=70, depth=2)
        state = dict(model.state_dict())
        if registers:
            state["register_tokens"] = state.pop("reg_token")
            cls = torch.full((1, 1, 384), 0.1)
            state["pos_embed"] = torch.cat([cls, state["pos_embed"]], 1)
            state["cls_token"] = state["cls_token"] - cls
        state["mask_token"] = torch.zeros(1, 384)
        return saved(folder / "x.pth", state), {"arch": config(arch, depth=2)}, model

    return make


def config(arch: str, **args: object) -> tuple[str, dict]:
    """An architecture with other sizes, which a config.json beside the file says."""
    return arch, args


def write_config(folder: Path, arch: str, args: dict) -> None:
    (folder / "config.json").write_text(json.dumps({"architecture": arch, "model_args": args}))


def dinov3(folder: Path) -> Row:
    """The layout of github.com/facebookresearch/dinov3, models/vision_transformer.py."""
    arch = "vit_small_patch16_dinov3_qkvb"
    model = theirs(arch, num_classes=0, depth=2)
    state = {}
    for name, value in model.state_dict().items():
        name = name.replace("reg_token", "storage_tokens")
        state[re.sub(r"gamma_(\d)", r"ls\1.gamma", name)] = value
    for block in ("blocks.0.attn.", "blocks.1.attn."):
        q, v = state.pop(f"{block}q_bias"), state.pop(f"{block}v_bias")
        state[f"{block}qkv.bias"] = torch.cat([q, torch.zeros(384), v])
        state[f"{block}qkv.bias_mask"] = torch.full((1152,), float("nan"))
    state |= {"mask_token": torch.zeros(1, 384), "rope_embed.periods": torch.ones(16)}
    return saved(folder / "x.pth", state), {"arch": config(arch, depth=2)}, model


def clip(folder: Path) -> Row:
    """The layout of github.com/openai/CLIP and open_clip: a tower for pictures, one for texts."""
    arch = "vit_base_patch32_clip_224"
    model = theirs(arch, num_classes=5, depth=2)
    nn.init.zeros_(model.head.bias)
    swaps = (
        ("patch_embed.proj", "conv1"),
        ("pos_embed", "positional_embedding"),
        ("cls_token", "class_embedding"),
        ("norm_pre", "ln_pre"),
        ("blocks.", "transformer.resblocks."),
        ("norm1", "ln_1"),
        ("norm2", "ln_2"),
        ("attn.qkv.", "attn.in_proj_"),
        ("attn.proj", "attn.out_proj"),
        ("mlp.fc1", "mlp.c_fc"),
        ("mlp.fc2", "mlp.c_proj"),
    )
    state = {"text_projection": torch.zeros(4, 4), "logit_scale": torch.zeros(())}
    for name, value in model.state_dict().items():
        for ours, clips in swaps:
            name = name.replace(ours, clips)
        name = "proj" if name == "head.weight" else re.sub(r"^norm\.", "ln_post.", name)
        if name != "head.bias":
            state[f"visual.{name}"] = value
    state["visual.proj"] = state["visual.proj"].T.contiguous()
    state["visual.class_embedding"] = state["visual.class_embedding"].flatten()
    state["visual.positional_embedding"] = state["visual.positional_embedding"][0]
    state["transformer.resblocks.0.ln_1.weight"] = torch.ones(4)
    return saved(folder / "x.pt", {"state_dict": state}), {"arch": config(arch, depth=2)}, model


def trunk(folder: Path) -> Row:
    model = theirs(num_classes=0)
    state = fronted("visual.trunk.", model.state_dict()) | {"text.token.weight": torch.zeros(3)}
    return saved(folder / "open_clip_pytorch_model.bin", state), {"arch": ARCH}, model


class OfLucidrains(nn.Module):
    """vit_pytorch.ViT in words: https://github.com/lucidrains/vit-pytorch, vit.py (MIT)."""

    def __init__(self, old: bool) -> None:
        super().__init__()
        self.old, length, dim = old, 8 * 8 * 3, 128
        project = [nn.Identity(), nn.Linear(length, dim)]
        if not old:
            project = [nn.Identity(), nn.LayerNorm(length), project[1], nn.LayerNorm(dim)]
        self.to_patch_embedding = nn.Sequential(*project)
        self.pos_embedding = nn.Parameter(torch.zeros(1, 10, dim))
        self.cls_token = nn.Parameter(torch.zeros(1, 1, dim))
        layers = [nn.ModuleList([self.attention(dim), self.mlp(dim)]) for _ in range(2)]
        self.transformer = nn.Module()
        self.transformer.layers = nn.ModuleList(layers)
        self.transformer.norm = nn.Identity() if old else nn.LayerNorm(dim)
        last = nn.Linear(dim, 3)
        self.mlp_head = nn.Sequential(nn.LayerNorm(dim), last) if old else last

    def attention(self, dim: int) -> nn.Module:
        part = nn.Module()
        part.to_qkv = nn.Linear(dim, 3 * dim, bias=False)
        part.to_out = nn.Sequential(nn.Linear(dim, dim), nn.Dropout())
        return self.with_norm(part, dim)

    def mlp(self, dim: int) -> nn.Module:
        layers = [nn.Linear(dim, 40), nn.GELU(), nn.Dropout(), nn.Linear(40, dim), nn.Dropout()]
        part = nn.Module()
        part.net = nn.Sequential(*layers) if self.old else nn.Sequential(nn.LayerNorm(dim), *layers)
        return self.with_norm(part, dim) if self.old else part

    def with_norm(self, part: nn.Module, dim: int) -> nn.Module:
        outer = part
        if self.old:
            outer = nn.Module()
            outer.fn = part
        outer.norm = nn.LayerNorm(dim)
        return outer

    def forward(self, pixels: Tensor) -> Tensor:
        rows = "b c (h p1) (w p2) -> b (h w) (p1 p2 c)"
        x = self.to_patch_embedding(rearrange(pixels, rows, p1=8, p2=8))
        x = torch.cat([self.cls_token.expand(len(x), -1, -1), x], 1) + self.pos_embedding
        for attention, mlp in self.transformer.layers:
            inner = attention.fn if self.old else attention
            parts = inner.to_qkv(attention.norm(x)).chunk(3, dim=-1)
            q, k, v = (rearrange(part, "b n (h d) -> b h n d", h=2) for part in parts)
            shares = (q @ k.mT * 64**-0.5).softmax(dim=-1)
            x = x + inner.to_out(rearrange(shares @ v, "b h n d -> b n (h d)"))
            x = x + (mlp.fn.net(mlp.norm(x)) if self.old else mlp.net(x))
        return self.mlp_head(self.transformer.norm(x)[:, 0])


def lucidrains(old: bool) -> Callable[[Path], Row]:
    def make(folder: Path) -> Row:
        model = spread(OfLucidrains(old).eval())
        return saved(folder / "x.pt", {"model": model.state_dict()}), {}, model

    return make


def patched(length: int, patches: int) -> Tensors:
    """The weights of `OfLucidrains` with patches of so many numbers, and of so many patches."""
    state = OfLucidrains(old=True).state_dict()
    state["to_patch_embedding.1.weight"] = torch.zeros(128, length)
    return state | {"pos_embedding": torch.zeros(1, 1 + patches, 128)}


def test_lucidrains_of_a_size_that_is_told(tmp_path: Path) -> None:
    path = saved(tmp_path / "x.pt", patched(8 * 8 * 3, 16))
    for size, of in (((16, 64), (16, 64)), (None, (32, 32)), ((32, 64), (32, 32))):
        loaded = load(path, image_size=size, device="cpu")
        assert loaded.card.config.image_size == (size or of)
        assert loaded.card.resized_from == (None if size in (None, of) else of)


@pytest.mark.parametrize("length", [8 * 4 * 3, 8 * 8 * 2])
def test_lucidrains_with_patches_that_are_no_square_is_refused(length: int, tmp_path) -> None:
    path = saved(tmp_path / "x.pt", patched(length, 16))
    with pytest.raises(WeightsError, match=f"its patches hold {length} numbers, .* no square"):
        load(path)


def torchvisions(folder: Path) -> Row:
    from torchvision.models import VisionTransformer

    model = VisionTransformer(64, 32, 1, 12, 768, 8, num_classes=3)
    return saved(folder / "x.pth", fronted("module.", spread(model.eval()).state_dict())), {}, model


def hugging_face(change: Callable[[Path, Tensors], Path]) -> Callable[[Path], Row]:
    """The files of a ViT of transformers, changed; it answers as it did before."""

    def make(folder: Path) -> Row:
        shutil.copytree(HF, folder / "run")
        file = folder / "run" / "model.safetensors"
        state = load_file(file)
        file.unlink()
        return change(folder / "run", state), {}, load(HF, device="cpu").vit

    return make


def in_file(name: str, front: str = "") -> Callable[[Path, Tensors], Path]:
    def write(folder: Path, state: Tensors) -> Path:
        state = fronted(front, state)
        if name.endswith(".safetensors"):
            save_file(state, folder / name)
            return folder
        held = {"state_dict": state, "epoch": 3, "hyper_parameters": {"lr": np.float64(0.1)}}
        return saved(folder / name, held)

    return write


def without_config(folder: Path) -> Row:
    shutil.copy(HF / "model.safetensors", folder)
    return folder / "model.safetensors", {}, r"names of Hugging Face transformers.*config\.json"


def adapter(file: str) -> Callable[[Path], Row]:
    def make(folder: Path) -> Row:
        base = {"base_model_name_or_path": "google/vit-base-patch16-224", "peft_type": "LORA"}
        (folder / "adapter_config.json").write_text(json.dumps(base))
        name = "base_model.model.vit.encoder.layer.0.attention.query.lora_A.weight"
        save_file({name: torch.zeros(2, 4)}, folder / "adapter_model.safetensors")
        sentence = r"adapter of google/vit-base-patch16-224 \(LoRA\).*merge_and_unload"
        return folder / file, {}, sentence

    return make


def other_folder(file: str, content: bytes, sentence: str) -> Callable[[Path], Row]:
    def make(folder: Path) -> Row:
        shutil.copy(HF / "config.json", folder)
        (folder / file).write_bytes(content)
        return folder, {}, sentence

    return make


def torchscript(folder: Path) -> Row:
    with warnings.catch_warnings(action="ignore"):  # deprecated, and people have such files
        torch.jit.save(torch.jit.trace(nn.Linear(2, 2), torch.zeros(1, 2)), folder / "x.pt")
    return folder / "x.pt", {}, "is a TorchScript program.*state_dict"


def arrays(folder: Path) -> Row:
    np.savez(folder / "ViT-B_16.npz", a=np.zeros(3))
    return folder / "ViT-B_16.npz", {}, r"archive of numpy arrays.*from_timm"


def whole_model(folder: Path) -> Row:
    path = saved(folder / "x.pth", {"model": theirs(), "epoch": np.int64(3)})
    return path, {}, r"whole model object \(timm\..*torch\.save\(model\.state_dict\(\)"


def cut_off(folder: Path) -> Row:
    path = saved(folder / "x.pth", theirs().state_dict())
    path.write_bytes(path.read_bytes()[:20_000])
    return path, {}, "is cut off: .* its end is missing"


def mistyped(folder: Path) -> Row:
    return str(folder / "checkpoint-50"), {}, "there is no file or folder of this name here"


BESIDE = {
    "best": np.float64(0.9),
    "epoch": np.int64(3),
    "confusion": np.eye(2),
    "args": Namespace(out=Path("runs"), lr=np.float32(0.1)),
    "history": defaultdict(list, {"loss": [1.0]}),
}
LFS = b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 34\n"
LAYOUTS: dict[str, Callable[[Path], Row]] = {
    "a state dict of timm": wrapped(lambda state: state),
    "one of `DataParallel` (`module.`)": wrapped(lambda state: fronted("module.", state)),
    "one of `torch.compile` (`_orig_mod.`)": wrapped(lambda state: fronted("_orig_mod.", state)),
    "blocks that were compiled or wrapped one by one": wrapped(
        lambda state: {
            re.sub(r"(blocks\.\d)", r"\1._fsdp_wrapped_module._orig_mod", f"model.{name}"): value
            for name, value in state.items()
        }
    ),
    "a checkpoint of Lightning": wrapped(lambda s: {"state_dict": fronted("model.", s)}),
    "one in another object (`net`, `backbone`)": wrapped(
        lambda state: {"net": fronted("backbone.", state), "acc": 91.5}
    ),
    "one with numbers of numpy, paths, arguments beside it": wrapped(
        lambda s: BESIDE | {"model": s}
    ),
    "two models in a file": says(
        lambda s: {"model": s, "model_ema": s}, 'choose with key="model" or key="model_ema"'
    ),
    "a backbone with a linear head beside it": says(
        lambda s: fronted("backbone.", s) | {"linear.weight": torch.zeros(2, 64)},
        r"'linear\.weight' beside .*key=\"backbone\"",
    ),
    "a head of dropout and a layer": head_in_sequence,
    "other classes and another square size": of_sizes({}, num_classes=7, img_size=96),
    "another patch size": of_sizes({}, img_size=32, patch_size=4),
    "registers of its own": of_sizes({}, reg_tokens=3, img_size=64),
    "registers and positions of patches alone": of_sizes({}, reg_tokens=3, no_embed_class=True),
    "no CLS token": of_sizes({}, class_token=False, global_pool="avg"),
    "a size that is no square, with `image_size`": of_sizes(
        {"image_size": (48, 112)}, img_size=(48, 112)
    ),
    "a size that is no square": not_square,
    "sizes that no name of timm has": own_sizes,
    "the same with a config.json (`model_args`)": own_config,
    "a folder that timm saved": folder_of_timm,
    "a timm model that transformers saved (`timm_wrapper`)": wrapper_of_timm,
    "MAE with its decoder": says(
        with_decoder, r'decoder \(the decoder of MAE.*without=\["decoder"'
    ),
    "the same with `without`": lambda folder: (
        saved(folder / "x.pth", with_decoder(theirs().state_dict())),
        {"arch": ARCH, "without": "decoder,mask_token"},
        theirs(),
    ),
    "MoCo with both encoders": moco,
    "the same with `key` and `without`": moco_chosen,
    "DINO with student and teacher": dino,
    "the same with `key`": dino_chosen,
    "DINOv2 of its authors": dinov2(0),
    "DINOv2 with registers of its authors": dinov2(4),
    "DINOv3 of its authors": dinov3,
    "CLIP of OpenAI or open_clip": clip,
    "open_clip with a tower of timm": trunk,
    "vit-pytorch (lucidrains)": lucidrains(old=False),
    "vit-pytorch before its version 1.2": lucidrains(old=True),
    "torchvision, wrapped": torchvisions,
    "a folder of transformers": lambda folder: (HF, {}, load(HF, device="cpu").vit),
    "the same, compiled": hugging_face(in_file("model.safetensors", "_orig_mod.")),
    "the same as `model.fp16.safetensors`": hugging_face(in_file("model.fp16.safetensors")),
    "Lightning around transformers": hugging_face(in_file("best.ckpt", "model.")),
    "weights of transformers without config.json": without_config,
    "a folder of a LoRA adapter": adapter(""),
    "the weights of a LoRA adapter": adapter("adapter_model.safetensors"),
    "a whole model (`torch.save(model)`)": whole_model,
    "TorchScript": torchscript,
    "numpy (.npz), as Google's ViTs": arrays,
    "HDF5 (.h5)": other(b"\x89HDF\r\n\x1a\n" + bytes(99), "x.h5", "is an HDF5 file"),
    "a folder with weights of TensorFlow": other_folder(
        "tf_model.h5", b"\x89HDF\r\n\x1a\n" + bytes(99), r"tf_model\.h5, the weights in .* HDF5"
    ),
    "a folder with weights of Flax": other_folder(
        "flax_model.msgpack", b"\x83\xa3vit" + bytes(99), "is weights of Flax"
    ),
    "ONNX": other(b"\x08\x07\x12\x07pytorch", "x.onnx", "is an ONNX model"),
    "GGUF": other(b"GGUF" + bytes(99), "x.gguf", r"is a GGUF file of llama\.cpp"),
    "a pointer of Git LFS": other(
        LFS, "model.safetensors", "it is a pointer of Git LFS.*git lfs pull"
    ),
    "a web page in place of the weights": other(b"<!DOCTYPE html><p>", "x.pth", "is a web page"),
    "a file that was cut off": cut_off,
    "a path that is mistyped": mistyped,
}


@torch.inference_mode()
def answers_alike(loaded, model: nn.Module) -> None:
    size = loaded.card.config.image_size
    pixels = torch.randn(1, 3, *size, generator=torch.Generator().manual_seed(0))
    assert_close(loaded.vit(pixels), model(pixels), atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("name", LAYOUTS)
def test_a_layout_loads_or_is_refused_with_a_way(name: str, tmp_path: Path) -> None:
    source, options, expected = LAYOUTS[name](tmp_path)
    if isinstance(arch := options.get("arch"), tuple):
        write_config(tmp_path, *arch)
        del options["arch"]
    if isinstance(expected, str):
        with pytest.raises(WeightsError, match=expected):
            load(source, device="cpu", **options)
    else:
        answers_alike(load(source, device="cpu", **options), expected)


def rows_of_the_table() -> dict[str, str]:
    text = README.read_text("utf-8").partition("| you have | vitviz |")[2].partition("\n\n")[0]
    rows = (re.fullmatch(r"\| (.*) \| (.*) \|", line) for line in text.splitlines()[2:])
    return {row[1]: row[2] for row in rows if row}


def test_the_table_in_the_readme_has_these_rows(tmp_path: Path) -> None:
    rows = rows_of_the_table()
    assert [*rows] == [*LAYOUTS]
    for place, (name, row) in enumerate(rows.items()):
        folder = tmp_path / str(place)
        folder.mkdir()
        loads = not isinstance(LAYOUTS[name](folder)[2], str)
        assert row.startswith("loads") == loads, name


def test_a_layer_before_the_head_is_refused(tmp_path: Path) -> None:
    """The timm of today drops it without a word, and the head would read something else."""
    state = theirs().state_dict()
    state |= {"pre_logits.fc.weight": torch.eye(64), "pre_logits.fc.bias": torch.zeros(64)}
    path = saved(tmp_path / "x.pth", state)
    with pytest.raises(WeightsError, match="a layer before its head"):
        load(path, arch=ARCH, device="cpu")
    features = load(path, arch=ARCH, without="pre_logits,head,", device="cpu")
    assert features.card.config.num_classes == 0


def test_what_a_config_json_says_of_the_pooling_holds(tmp_path: Path) -> None:
    """A norm behind the pool is no proof of the mean of the patches."""
    args = {"global_pool": "token", "fc_norm": True}
    model = theirs(**args)
    (tmp_path / "config.json").write_text(json.dumps({"architecture": ARCH, "model_args": args}))
    path = saved(tmp_path / "best.pth", model.state_dict())
    answers_alike(load(path.parent, device="cpu"), model)
    args = {"global_pool": "max"}
    (tmp_path / "config.json").write_text(json.dumps({"architecture": ARCH, "model_args": args}))
    with pytest.raises(WeightsError, match='pooling is "max"'):
        load(path.parent, device="cpu")


@pytest.mark.parametrize("depth", [10**6, 60_000])
def test_sizes_in_a_config_json_are_compared_before_anything_is_built(depth, tmp_path) -> None:
    config = {"architecture": ARCH, "model_args": {"depth": depth}}
    (tmp_path / "config.json").write_text(json.dumps(config))
    saved(tmp_path / "best.pth", theirs().state_dict())
    with pytest.raises(WeightsError, match=f"{depth}"):
        load(tmp_path, device="cpu")
