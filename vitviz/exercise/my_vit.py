"""A Vision Transformer, filled in: what the exercise asks for, and what a teacher looks at.

`writing.py` makes the exercise of it. `#: KEY` becomes the text of that key, and between
`#: gap_KEY` and the next `return` lines lose their right sides. `# %%` begins a new cell.
"""

# %% imports
#: imports
import torch
import torch.nn.functional as F
from einops import rearrange, repeat
from torch import nn


# %% patches
#: patches
class PatchEmbed(nn.Module):
    def __init__(self, channels, side, dim):
        super().__init__()
        self.side = side
        self.proj = nn.Linear(channels * side * side, dim)

    def cut(self, pixels):  # (B, C, h, w) -> (B, P, C * side * side)
        s = self.side
        #: gap_cut
        patches = rearrange(pixels, "b c (rows y) (cols x) -> b (rows cols) (c y x)", y=s, x=s)
        return patches

    def forward(self, pixels):  # (B, C, h, w) -> (B, P, D)
        return self.proj(self.cut(pixels))


# %% attention
#: attention
class Attention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(dim, 3 * dim)
        self.proj = nn.Linear(dim, dim)

    def split(self, numbers):  # (B, N, 3 D) -> q, k, v: (B, H, N, d) each
        #: gap_split
        q, k, v = rearrange(numbers, "b n (three h d) -> three b h n d", three=3, h=self.heads)
        return q, k, v

    def shares(self, q, k):  # (B, H, N, d) twice -> (B, H, N, N)
        #: gap_shares
        shares = torch.softmax(q @ k.mT / q.shape[-1] ** 0.5, dim=-1)
        return shares

    def join(self, shares, v):  # (B, H, N, N) and (B, H, N, d) -> (B, N, D)
        #: gap_join
        joined = rearrange(shares @ v, "b h n d -> b n (h d)")
        return joined

    def forward(self, x):  # (B, N, D) -> (B, N, D)
        q, k, v = self.split(self.qkv(x))
        return self.proj(self.join(self.shares(q, k), v))


# %% block
#: block
class Mlp(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(dim, 4 * dim), nn.Linear(4 * dim, dim)

    def forward(self, x):
        return self.fc2(F.gelu(self.fc1(x)))


class Block(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.norm1, self.attn = nn.LayerNorm(dim, eps=1e-6), Attention(dim, heads)
        self.norm2, self.mlp = nn.LayerNorm(dim, eps=1e-6), Mlp(dim)

    def forward(self, x):  # (B, N, D) -> (B, N, D)
        #: gap_block
        x = x + self.attn(self.norm1(x))
        x = x + self.mlp(self.norm2(x))
        return x


# %% vit
#: vit
class ViT(nn.Module):
    def __init__(self, image_size, patch_size, channels, classes, dim, depth, heads):
        super().__init__()
        self.patch_embed = PatchEmbed(channels, patch_size, dim)
        self.cls_token = nn.Parameter(torch.zeros(1, 1, dim))
        self.pos_embed = nn.Parameter(torch.zeros(1, 1 + (image_size // patch_size) ** 2, dim))
        self.blocks = nn.ModuleList(Block(dim, heads) for _ in range(depth))
        self.norm, self.head = nn.LayerNorm(dim, eps=1e-6), nn.Linear(dim, classes)

    def tokens(self, patches):  # (B, P, D) -> (B, 1 + P, D)
        cls = repeat(self.cls_token, "1 1 d -> b 1 d", b=len(patches))
        #: gap_tokens
        x = torch.cat([cls, patches], dim=1) + self.pos_embed
        return x

    def answer(self, x):  # (B, N, D) -> (B, classes)
        #: gap_answer
        logits = self.head(self.norm(x[:, 0]))
        return logits

    def forward(self, pixels):  # (B, C, h, w) -> (B, classes)
        x = self.tokens(self.patch_embed(pixels))
        for block in self.blocks:
            x = block(x)
        return self.answer(x)

    def loss(self, logits, labels):  # (B, classes) and (B,) -> one number
        #: gap_loss
        loss = F.cross_entropy(logits, labels)
        return loss

    def step(self, optimizer, loss):
        #: gap_step
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss


# %% training
#: training
def train(vit, pixels, labels, epochs=8, batch=32, lr=2e-3):
    optimizer = torch.optim.AdamW(vit.parameters(), lr=lr)
    for epoch in range(epochs):
        total = 0.0
        for some in torch.randperm(len(pixels)).split(batch):
            loss = vit.loss(vit(pixels[some]), labels[some])
            total += len(some) * vit.step(optimizer, loss).item()
        print(f"epoch {epoch + 1}: loss {total / len(pixels):.3f}")
