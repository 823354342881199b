"""The shapes of all tensors of a forward pass, step by step from the pixels to the logits."""

from dataclasses import dataclass
from typing import Any

from ...model.config import ViTConfig


@dataclass(frozen=True, slots=True)
class Step:
    """One tensor of the forward pass of one image.

    `name` names the tensor, `module` the module that makes it ("" if there is none; `blocks.*` is
    every block), and `shape` is its size with the batch axis. `tokens` is the range (start, stop)
    of its tokens, None for the picture as a whole. `in_block`: whether every block makes such a
    tensor.
    """

    name: str
    module: str
    shape: tuple[int, ...]
    tokens: tuple[int, int] | None
    in_block: bool = False

    def to_dict(self) -> dict[str, Any]:
        """The same in JSON's types."""
        return {
            "name": self.name,
            "module": self.module,
            "shape": list(self.shape),
            "tokens": None if self.tokens is None else list(self.tokens),
            "in_block": self.in_block,
        }


def steps(config: ViTConfig) -> tuple[Step, ...]:
    """From pixels to logits, in order; the steps of one block stand for all blocks."""
    n, p, d = config.num_tokens, config.num_patches, config.embed_dim
    heads, head_dim = config.num_heads, config.head_dim
    first = config.num_prefix_tokens
    prefix, patches, everything = (0, first), (first, n), (0, n)
    values = config.in_chans * config.patch_size[0] * config.patch_size[1]
    ledger = [
        Step("pixels", "", (1, config.in_chans, *config.image_size), None),
        Step("patches", "", (1, p, values), patches),
        Step("patch embedding", "patch_embed", (1, p, d), patches),
    ]
    if config.prefix_names:
        ledger.append(Step("prefix tokens", "", (1, first, d), prefix))
    if config.pos_embed:
        placed = everything if config.pos_embed_prefix else patches
        shape = (1, placed[1] - placed[0], d)
        ledger.append(Step("position embedding", "pos_embed", shape, placed))
    ledger.append(Step("tokens", "", (1, n, d), everything))
    of_block: list[tuple[str, str, tuple[int, ...]]] = [
        ("queries, keys, values", "blocks.*.attn.qkv", (1, n, 3 * d)),
        ("queries per head", "blocks.*.attn.tap", (1, heads, n, head_dim)),
        ("attention maps", "", (1, heads, n, n)),
        ("attention output", "blocks.*.attn", (1, n, d)),
        ("MLP hidden", "blocks.*.mlp.act", (1, n, config.mlp_hidden_dim)),
        ("MLP output", "blocks.*.mlp", (1, n, d)),
        ("tokens after the block", "blocks.*", (1, n, d)),
    ]
    ledger += [Step(*step, everything, in_block=True) for step in of_block]
    ledger.append(Step("final tokens", "norm", (1, n, d), everything))
    pooled = pooled_tokens(config)
    if config.global_pool:
        ledger.append(Step("pooled", "", (1, config.pooled_dim), pooled))
    if config.num_classes:
        batch = (1,) if config.global_pool else (1, n)
        ledger.append(Step("logits", "head", (*batch, config.num_classes), pooled))
    return tuple(ledger)


def pooled_tokens(config: ViTConfig) -> tuple[int, int]:
    """The range (start, stop) of the tokens that the logits are computed from.

    With "token_avg" the range includes the registers, though they are not used.
    """
    if config.dist_token:  # DeiT reads cls_token and dist_token
        return (0, 2)
    if config.global_pool == "token":
        return (0, 1)
    whole = config.pool_prefix or config.global_pool in ("token_avg", "")
    return (0 if whole else config.num_prefix_tokens, config.num_tokens)
