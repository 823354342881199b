"""The layers of a model as a table: names, modules, shapes and parameters, as plain text."""

from typing import Any

import torch

from .model.weights import is_file, load


def layer_table(
    model: str,
    pretrained: bool = True,
    image_size: tuple[int, int] | None = None,
    **options: Any,
) -> str:
    """The layers of a model: name, module, output shape, parameters; only block 0 with its parts.

    The title says where the weights are from. Those of a file are read; those of a timm model are
    neither downloaded nor loaded, because the table needs its architecture only.
    `pretrained=False`: the untrained twin; `image_size`, `options`: see `load`. Raises
    `WeightsError` for a model that vitviz cannot load.
    """
    here = is_file(model)
    loaded = load(
        model, pretrained=pretrained and here, image_size=image_size, device="cpu", **options
    )
    source = loaded.card.source
    if pretrained and not here and "timm" in source:
        source = "timm's architecture, weights not loaded"
    vit, config = loaded.vit, loaded.card.config
    shapes: dict[str, str] = {}
    for name, module in vit.named_modules():
        module.register_forward_hook(
            lambda _m, _i, output, name=name: shapes.update(
                {name: str(tuple(output.shape)) if hasattr(output, "shape") else ""}
            )
        )
    vit(torch.zeros(1, config.in_chans, *config.image_size))

    rows = [("name", "module", "output", "parameters")]
    rows += [(name, "", "", f"{p.numel():,}") for name, p in vit.named_parameters(recurse=False)]
    for name, module in vit.named_modules():
        _, _, inside = name.removeprefix("blocks.").partition(".")
        is_block = name.startswith("blocks.") and not inside
        if inside and name.startswith("blocks.") and not name.startswith("blocks.0."):
            continue  # the same as in block 0
        own = sum(p.numel() for p in module.parameters(recurse=is_block))
        if not name or not own:
            continue
        # `patch_embed.proj` is used as a matrix and never called: its parent has the shape.
        shape = shapes.get(name) or shapes[name.rpartition(".")[0]]
        rows.append((name, type(module).__name__, shape, f"{own:,}"))
    total = loaded.card.num_parameters
    rows.append(("all", "ViT", shapes[""], f"{total:,}"))

    widths = [max(len(row[i]) for row in rows) for i in range(4)]
    lines = [
        f"{row[0]:{widths[0]}}  {row[1]:{widths[1]}}  {row[2]:{widths[2]}}  {row[3]:>{widths[3]}}"
        for row in rows
    ]
    title = f"{loaded.card.name}: {source}"
    rule = "-" * len(lines[0])
    return "\n".join([title, rule, lines[0], rule, *lines[1:-1], rule, lines[-1]])
