"""A Vision Transformer from the pixels to the logits, in the order in which the data flows.

Read it beside "An Image is Worth 16x16 Words" (Dosovitskiy et al. 2020, arXiv:2010.11929). The
paper writes the whole model in four equations:

    z_0  = [x_class; x_1 E; ...; x_P E] + E_pos            (1)  PatchEmbed, ViT.join
    z'_l = MSA(LN(z_{l-1})) + z_{l-1}                      (2)  Attention, Block
    z_l  = MLP(LN(z'_l)) + z'_l                            (3)  Mlp, Block
    y    = LN(z_L at the class token)                      (4)  ViT.pool, and the head after it

Letters in the shapes: B images, C channels, P patches, N tokens (prefix tokens, then patches), D
embed_dim, H heads, d = D / H. The families that came later (DeiT, DINOv2, CLIP, SigLIP, ...)
differ by the switches of `ViTConfig`; each switch is one line here. Parameters are named as in
timm, so that its checkpoints fit.
"""

from collections.abc import Sequence
from typing import NamedTuple

import torch
import torch.nn.functional as F
from einops import rearrange, repeat
from torch import Tensor, nn

from ..errors import ImageError
from .config import ViTConfig
from .positions import Angles, RelativeBias, turn

Places = Tensor | None  # (B, n) which of the N tokens are here; None: all of them, in order


class Tokens(NamedTuple):
    """Tokens (B, n, D) and their places: a model can work without some of its patches."""

    x: Tensor
    places: Places = None

    def take(self, kept: Tensor) -> "Tokens":
        """Select tokens of each image by their indices `kept`, (B, m), from 0 to n - 1."""
        image = torch.arange(len(self.x), device=kept.device)[:, None]
        places = kept if self.places is None else self.places[image, kept]
        return Tokens(self.x[image, kept], places)


class PatchEmbed(nn.Module):
    """Cut the image into patches and project each one. (B, C, h, w) -> (B, P, D)

    Equation 1, the term x_p E: a patch is flattened to a row of numbers and multiplied with one
    matrix E, the same for every patch. Up to here a token knows nothing about where it came from.
    The weight keeps the shape (D, C, ph, pw) of a convolution whose stride is its kernel, which
    is the same operation (see `patch_embed_three_ways.py`).
    """

    def __init__(self, config: ViTConfig) -> None:
        super().__init__()
        ph, pw = self.patch_size = config.patch_size
        self.norm_before = (
            nn.LayerNorm(config.in_chans * ph * pw) if config.patch_norm_before else nn.Identity()
        )
        self.proj = nn.Conv2d(
            config.in_chans,
            config.embed_dim,
            config.patch_size,
            config.patch_size,
            bias=config.patch_bias,
        )
        self.norm = (
            make_norm(config, config.embed_dim) if config.patch_norm_after else nn.Identity()
        )

    def forward(self, pixels: Tensor) -> Tensor:
        ph, pw = self.patch_size
        patches = rearrange(
            pixels, "b c (rows ph) (cols pw) -> b (rows cols) (c ph pw)", ph=ph, pw=pw
        )
        weight = rearrange(self.proj.weight, "dim c ph pw -> dim (c ph pw)")
        return self.norm(F.linear(self.norm_before(patches), weight, self.proj.bias))


class Tap(nn.Module):
    """A named place for a hook: passes q, k and v on, as attention really uses them."""

    def forward(self, q: Tensor, k: Tensor, v: Tensor, places: Places) -> tuple[Tensor, ...]:
        return q, k, v


class ScoreBias(nn.Module):
    """The bias added to the scores, and a named place for a hook; -inf hides a key from a query."""

    def __init__(self, config: ViTConfig) -> None:
        super().__init__()
        self.relative = RelativeBias(config) if config.relative_bias else None

    def forward(self, places: Places, n_queries: int | None) -> Tensor | None:
        return None if self.relative is None else self.relative(places)[:, :, :n_queries]


class Attention(nn.Module):
    """Multi-head self-attention: every token asks, every token answers. (B, N, D) -> (B, N, D)

    Appendix A of the paper, equations 5 to 8. Each head compares the query of a token with the
    keys of all tokens; softmax turns the comparisons into shares that sum to 1: one row of the
    attention map. The output is the values, mixed by these shares. H heads do this side by side
    in d dimensions each, and `proj` joins what they found. Rotary positions and a relative bias
    (`positions.py`) make scores depend on where the tokens stand. `n_queries`: see `Block`.
    """

    def __init__(self, config: ViTConfig) -> None:
        super().__init__()
        dim = config.embed_dim
        self.num_heads = config.num_heads
        self.scale = config.head_dim**-0.5  # keeps q k^T near unit variance, whatever d is
        self.qkv = nn.Linear(dim, 3 * dim, bias=config.qkv_bias)
        self.q_norm = make_norm(config, config.head_dim) if config.qk_norm else nn.Identity()
        self.k_norm = make_norm(config, config.head_dim) if config.qk_norm else nn.Identity()
        self.angles = Angles(config, config.rotary) if config.rotary else None
        self.tap = Tap()
        self.score_bias = ScoreBias(config)
        self.mixed = nn.Identity()  # another place for a hook: what each head has gathered
        self.norm = make_norm(config, dim) if config.attn_norm else nn.Identity()
        self.proj = nn.Linear(dim, dim, bias=config.proj_bias)

    def forward(self, x: Tensor, places: Places = None, n_queries: int | None = None) -> Tensor:
        q, k, v = rearrange(
            self.qkv(x), "b n (three h d) -> three b h n d", three=3, h=self.num_heads
        )
        q, k = self.q_norm(q), self.k_norm(k)
        if self.angles is not None:  # rotary positions: q and k turn with the place of their patch
            angles = self.angles(places, x.device)
            cos, sin = angles.cos(), angles.sin()
            q, k = turn(q, cos, sin), turn(k, cos, sin)
        q, k, v = self.tap(q, k, v, places)
        q, bias = q[:, :, :n_queries], self.score_bias(places, n_queries)
        # softmax(q k^T * scale + bias) v, without storing the map: q and k suffice to compute it
        x = self.mixed(F.scaled_dot_product_attention(q, k, v, attn_mask=bias, scale=self.scale))
        return self.proj(self.norm(rearrange(x, "b h n d -> b n (h d)")))


class Mlp(nn.Module):
    """Linear, nonlinearity, linear, for each token on its own. (B, N, D) -> (B, N, D)

    The MLP of equation 3. Attention moves information between tokens; the MLP works on each
    token alone.
    """

    def __init__(self, config: ViTConfig, hidden: int | None = None) -> None:
        super().__init__()
        dim, hidden = config.embed_dim, hidden or config.mlp_hidden_dim
        self.fc1 = nn.Linear(dim, hidden, bias=config.proj_bias)
        self.act = make_activation(config)
        self.norm = make_norm(config, hidden) if config.mlp_norm else nn.Identity()
        self.fc2 = nn.Linear(hidden, dim, bias=config.proj_bias)

    def forward(self, x: Tensor) -> Tensor:
        return self.fc2(self.norm(self.act(self.fc1(x))))


class SwiGLU(nn.Module):
    """A gated MLP: one half, the gate, decides how much of the other passes (arXiv:2002.05202).

    Two layouts are in use: two layers `fc1_g` (gate) and `fc1_x`, or both packed into one `fc1`.
    """

    def __init__(self, config: ViTConfig) -> None:
        super().__init__()
        dim, hidden, bias = config.embed_dim, config.mlp_hidden_dim, config.proj_bias
        self.packed = config.mlp == "swiglu_packed"
        if self.packed:
            self.fc1 = nn.Linear(dim, 2 * hidden, bias=bias)
        else:
            self.fc1_g = nn.Linear(dim, hidden, bias=bias)
            self.fc1_x = nn.Linear(dim, hidden, bias=bias)
        self.act = make_activation(config)
        self.norm = make_norm(config, hidden) if config.mlp_norm else nn.Identity()
        self.fc2 = nn.Linear(hidden, dim, bias=bias)

    def forward(self, x: Tensor) -> Tensor:
        gate, x = self.fc1(x).chunk(2, dim=-1) if self.packed else (self.fc1_g(x), self.fc1_x(x))
        return self.fc2(self.norm(self.act(gate) * x))


class LayerScale(nn.Module):
    """A learned gain per channel on what a branch adds (arXiv:2103.17239)."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.gamma = nn.Parameter(torch.full((dim,), 1e-5))

    def forward(self, x: Tensor) -> Tensor:
        return x * self.gamma


class Block(nn.Module):
    """Attention, then MLP, each added to what was there before. (B, N, D) -> (B, N, D)

    Equations 2 and 3. The sums are the residual stream: a block never replaces a token, it writes
    something onto it. That is why the same patch can be followed through all layers. The norm
    stands before each branch (pre-norm); with `post_norm` it stands after the branch.

    `n_queries`: compute only the first `n_queries` tokens of the output, to save work where only
    they are needed. They still look at all tokens that came in. None: all tokens.
    """

    def __init__(self, config: ViTConfig, drop_path: float = 0.0) -> None:
        super().__init__()
        dim = config.embed_dim
        self.post_norm = config.post_norm
        self.norm1 = make_norm(config, dim)
        self.attn = Attention(config)
        self.ls1 = LayerScale(dim) if config.layer_scale else nn.Identity()
        self.norm2 = make_norm(config, dim)
        self.mlp = Mlp(config) if config.mlp == "mlp" else SwiGLU(config)
        self.ls2 = LayerScale(dim) if config.layer_scale else nn.Identity()
        self.drop_path = make_drop_path(drop_path)

    def forward(self, x: Tensor, places: Places = None, /, n_queries: int | None = None) -> Tensor:
        if self.post_norm:
            x = x[:, :n_queries] + self.drop_path(self.norm1(self.attn(x, places, n_queries)))
            return x + self.drop_path(self.norm2(self.mlp(x)))
        x = x[:, :n_queries] + self.drop_path(self.ls1(self.attn(self.norm1(x), places, n_queries)))
        return x + self.drop_path(self.ls2(self.mlp(self.norm2(x))))


class AttentionPool(nn.Module):
    """One learned query looks at all tokens and gathers the answer. (B, N, D) -> (B, D)

    SigLIP's "map" pooling (arXiv:2106.04560): attention with a single query that is a parameter.
    """

    def __init__(self, config: ViTConfig) -> None:
        super().__init__()
        dim = config.embed_dim
        self.num_heads = config.pool_heads
        self.latent = nn.Parameter(torch.zeros(1, 1, dim))
        self.q = nn.Linear(dim, dim)
        self.kv = nn.Linear(dim, 2 * dim)
        self.proj = nn.Linear(dim, dim)
        self.norm = make_norm(config, dim)
        self.mlp = Mlp(config, config.pool_hidden_dim)

    def forward(self, x: Tensor) -> Tensor:
        latent = repeat(self.latent, "1 query d -> b query d", b=len(x))
        q = rearrange(self.q(latent), "b query (h d) -> b h query d", h=self.num_heads)
        k, v = rearrange(self.kv(x), "b n (two h d) -> two b h n d", two=2, h=self.num_heads)
        x = self.proj(rearrange(F.scaled_dot_product_attention(q, k, v), "b h 1 d -> b (h d)"))
        return x + self.mlp(self.norm(x))


class ViT(nn.Module):
    """The whole model: patches, positions, blocks, answer. (B, C, h, w) -> (B, num_classes)

    `drop_path` (stochastic depth, rising linearly to this rate in the last block,
    arXiv:1603.09382) and `patch_keep` (the share of patches that survive a training step) act in
    training mode only and belong to training, not to the architecture. New weights are drawn from
    torch's global generator.
    """

    def __init__(
        self, config: ViTConfig, *, drop_path: float = 0.0, patch_keep: float = 1.0
    ) -> None:
        super().__init__()
        self.config = config
        dim = config.embed_dim
        self.patch_keep = patch_keep
        self.patch_embed = PatchEmbed(config)
        self.cls_token = nn.Parameter(torch.zeros(1, 1, dim)) if config.class_token else None
        self.dist_token = nn.Parameter(torch.zeros(1, 1, dim)) if config.dist_token else None
        self.reg_token = (
            nn.Parameter(torch.zeros(1, config.reg_tokens, dim)) if config.reg_tokens else None
        )
        positions = config.num_tokens if config.pos_embed_prefix else config.num_patches
        self.pos_embed = nn.Parameter(torch.zeros(1, positions, dim)) if config.pos_embed else None
        self.norm_pre = make_norm(config, dim) if config.norm_pre else nn.Identity()
        rates = [drop_path * layer / max(1, config.depth - 1) for layer in range(config.depth)]
        # torch does not tell a type checker that a ModuleList is a sequence of what it holds.
        self.blocks: Sequence[Block] = nn.ModuleList(  # type: ignore[assignment]
            Block(config, rate) for rate in rates
        )
        self.norm = make_norm(config, dim) if config.final_norm == "before_pool" else nn.Identity()
        self.attn_pool = AttentionPool(config) if config.global_pool == "map" else None
        width = config.pooled_dim
        self.fc_norm = (
            make_norm(config, width) if config.final_norm == "after_pool" else nn.Identity()
        )
        self.head = nn.Linear(width, config.num_classes) if config.num_classes else nn.Identity()
        if config.dist_token:
            self.head_dist = (
                nn.Linear(dim, config.num_classes) if config.num_classes else nn.Identity()
            )
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new weights: normal with deviation .02, and Xavier for the patch projection.

        timm truncates the normal at -2 and 2. That is a hundred deviations away, where no number
        ever lies, so `nn.init.normal_` serves as well. It draws the same numbers in every version
        of torch; `nn.init.trunc_normal_` changed its method in 2.15.
        """
        if self.patch_embed.proj.weight.is_meta:
            return  # nothing to fill, and torch would spend seconds loading its compiler for it
        for module in self.modules():
            if isinstance(module, nn.Linear | nn.Conv2d):
                nn.init.normal_(module.weight, std=0.02)
                if module.bias is not None:
                    nn.init.zeros_(module.bias)
        # Xavier depends on the sizes of a matrix: the filters as one, (D, C ph pw).
        nn.init.xavier_uniform_(self.patch_embed.proj.weight.data.flatten(1))
        for parameter in (self.cls_token, self.dist_token, self.reg_token, self.pos_embed):
            if parameter is not None:
                nn.init.normal_(parameter, std=0.02)
        if self.attn_pool is not None:
            nn.init.normal_(self.attn_pool.latent, std=self.config.embed_dim**-0.5)
        for module in self.modules():
            if isinstance(module, Angles):
                module.reset_parameters()

    def forward(self, pixels: Tensor) -> Tensor:
        return self.forward_head(self.forward_features(pixels))

    def forward_features(self, pixels: Tensor) -> Tensor:
        """The tokens after the last block and its norm. (B, C, h, w) -> (B, n, D)"""
        return self.encode(*self.tokenize(pixels))

    def tokenize(self, pixels: Tensor) -> Tokens:
        """The tokens that enter the first block; training may drop patches. (B, C, h, w)"""
        tokens = Tokens(self.norm_pre(self.embed(pixels)))
        if self.training and self.patch_keep < 1:
            return drop_patches(tokens, self.config.num_prefix_tokens, self.patch_keep)
        return tokens

    def embed(self, pixels: Tensor) -> Tensor:
        """Equation 1, from the pixels on. (B, C, h, w) -> (B, N, D)"""
        expected = (self.config.in_chans, *self.config.image_size)
        if pixels.shape[1:] != expected:
            raise ImageError(
                f"the model takes pixels of shape (B, {', '.join(map(str, expected))}), "
                f"got {tuple(pixels.shape)}"
            )
        return self.join(self.patch_embed(pixels), self.pos_embed)

    def join(self, patches: Tensor, positions: Tensor | None) -> Tensor:
        """Equation 1, from the projected patches on. (B, P, D) -> (B, N, D)

        `positions` (1, N or P, D): of all tokens, or of the patches only.
        """
        learned = (self.cls_token, self.dist_token, self.reg_token)
        prefix = [repeat(x, "1 n d -> b n d", b=len(patches)) for x in learned if x is not None]
        x = torch.cat([*prefix, patches], dim=1)
        if positions is None:
            return x
        return x + F.pad(positions, (0, 0, x.shape[1] - positions.shape[1], 0))

    def encode(self, x: Tensor, places: Places = None, n_queries: int | None = None) -> Tensor:
        """Equations 2 and 3, block after block, and the last norm. (B, n, D) -> (B, n, D)"""
        *blocks, last = self.blocks
        for block in blocks:
            x = block(x, places)
        return self.norm(last(x, places, n_queries))

    def pool(self, x: Tensor) -> Tensor:
        """One vector for the whole image. (B, N, D) -> (B, D)

        Equation 4 takes the CLS token; models without one take the mean of the patches, or ask
        with a learned query, and DINOv2's classifiers read CLS and mean side by side, (B, 2 D).
        Without pooling all tokens stay, as in timm: (B, N, D).
        """
        patches = x if self.config.pool_prefix else x[:, self.config.num_prefix_tokens :]
        match self.config.global_pool:
            case "token":
                return x[:, 0]
            case "avg":
                return patches.mean(dim=1)
            case "token_avg":
                return torch.cat([x[:, 0], patches.mean(dim=1)], dim=-1)
            case "map" if self.attn_pool is not None:
                return self.attn_pool(patches)
            case _:
                return x

    def forward_head(self, x: Tensor) -> Tensor:
        """Logits, or features if the model has no head. (B, N, D) -> (B, num_classes)

        Without pooling there are logits for each token: (B, N, num_classes).
        """
        if self.config.dist_token:  # DeiT: the mean of the logits of both heads
            return (self.head(self.fc_norm(x[:, 0])) + self.head_dist(self.fc_norm(x[:, 1]))) / 2
        return self.head(self.fc_norm(self.pool(x)))


def drop_patches(tokens: Tokens, num_prefix_tokens: int, keep: float) -> Tokens:
    """Keep a random share of the patches of each image, and all prefix tokens.

    A training step then costs little more than that share of the full one (arXiv:2212.00794).
    """
    batch, n, _ = tokens.x.shape
    order = torch.rand(batch, n - num_prefix_tokens, device=tokens.x.device).argsort(dim=1)
    patches = num_prefix_tokens + order[:, : max(1, round(keep * order.shape[1]))]
    prefix = torch.arange(num_prefix_tokens, device=order.device).expand(batch, -1)
    return tokens.take(torch.cat([prefix, patches], dim=1))


def make_norm(config: ViTConfig, dim: int) -> nn.LayerNorm | nn.RMSNorm:
    """Centre and scale each token on its own (LayerNorm), or scale it only (RMSNorm)."""
    norm = nn.RMSNorm if config.norm == "rmsnorm" else nn.LayerNorm
    return norm(dim, eps=config.norm_eps)


def make_activation(config: ViTConfig) -> nn.Module:
    """The nonlinearity between two linear layers; without one they would be a single matrix."""
    match config.activation:
        case "gelu":
            return nn.GELU()
        case "gelu_tanh":
            return nn.GELU(approximate="tanh")
        case "quick_gelu":
            return QuickGELU()
        case _:
            return nn.SiLU()


class QuickGELU(nn.Module):
    """x * sigmoid(1.702 x): OpenAI's approximation of GELU in CLIP."""

    def forward(self, x: Tensor) -> Tensor:
        return x * torch.sigmoid(1.702 * x)


def make_drop_path(rate: float) -> nn.Module:
    """Skip a branch at random in training (stochastic depth, arXiv:1603.09382); never at rate 0."""
    if rate == 0:
        return nn.Identity()
    from torchvision.ops import StochasticDepth  # takes a second, and only training needs it

    return StochasticDepth(rate, mode="row")
