"""The ledger of shapes: every tensor on the way from the pixels to the answer, for one model."""

from dataclasses import dataclass

from ..model.config import ViTConfig


@dataclass(frozen=True, slots=True)
class Step:
    """One tensor of the forward pass of one image.

    `name` is what it is, `module` where in the model it comes from ("" where no module of its own
    makes it; `blocks.*` stands for every block), `shape` its size with the batch axis.
    """

    name: str
    module: str
    shape: tuple[int, ...]


def steps(config: ViTConfig) -> tuple[Step, ...]:
    """From pixels to logits, in order; the steps of one block stand for all blocks."""
    n, p, d = config.num_tokens, config.num_patches, config.embed_dim
    heads, head_dim = config.num_heads, config.head_dim
    values = config.in_chans * config.patch_size[0] * config.patch_size[1]
    ledger = [
        Step("pixels", "", (1, config.in_chans, *config.image_size)),
        Step("patches", "", (1, p, values)),
        Step("patch embedding", "patch_embed", (1, p, d)),
    ]
    if config.prefix_names:
        ledger.append(Step("prefix tokens", "", (1, config.num_prefix_tokens, d)))
    if config.pos_embed:
        ledger.append(
            Step("position embedding", "pos_embed", (1, n if config.pos_embed_prefix else p, d))
        )
    ledger.append(Step("tokens", "", (1, n, d)))
    ledger += [
        Step("queries, keys, values", "blocks.*.attn.qkv", (1, n, 3 * d)),
        Step("queries per head", "blocks.*.attn.tap", (1, heads, n, head_dim)),
        Step("attention maps", "", (1, heads, n, n)),
        Step("attention output", "blocks.*.attn", (1, n, d)),
        Step("MLP hidden", "blocks.*.mlp.act", (1, n, config.mlp_hidden_dim)),
        Step("MLP output", "blocks.*.mlp", (1, n, d)),
        Step("tokens after the block", "blocks.*", (1, n, d)),
        Step("final tokens", "norm", (1, n, d)),
    ]
    if config.global_pool:
        ledger.append(Step("pooled", "", (1, d)))
    if config.num_classes:
        pooled = (1,) if config.global_pool else (1, n)
        ledger.append(Step("logits", "head", (*pooled, config.num_classes)))
    return tuple(ledger)
