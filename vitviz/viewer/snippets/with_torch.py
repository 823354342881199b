"""What the panels show, made from the modules of the model with plain PyTorch.

The cells are used as those of with_vitviz.py; each explainer has one of its own. Lines that end in
`# rotary` or `# bias` stay away from models without such positions.
"""

# %% loaded
import vitviz

loaded = vitviz.load("mnist")

# %% start (needs loaded)
import torch

analysis = vitviz.analyze(loaded, "photo.jpg")
vit, pixels = loaded.vit.cpu(), analysis.pixels[None]

# %% patches (needs start)
top, left, height, width = 4, 4, 4, 4
units, order = "normalised", "pixel"
patch = pixels[0, :, top : top + height, left : left + width]  # (C, ph, pw)
if units == "raw":
    mean, std = torch.tensor([loaded.preprocess.mean, loaded.preprocess.std])[:, :, None, None]
    patch = (255 * (patch * std + mean)).round()
shown = patch.permute(1, 2, 0).flatten() if order == "pixel" else patch.flatten()

# %% patches_prefix (needs start)
token, count = 0, 24
shown = vit.embed(pixels)[0, token, :count]

# %% unit_positions (needs start)
learned = vit.pos_embed[0, -vit.config.num_patches :]  # without prefix tokens
unit = torch.nn.functional.normalize(learned, dim=-1)

# %% positions (needs unit_positions)
token = 9
shown = [(unit @ unit[token - vit.config.num_prefix_tokens]).view(vit.config.grid_size)]

# %% positions_all (needs unit_positions)
shown = unit @ unit.T

# %% no_positions (needs start)
shown = []  # none are added to the tokens

# %% positions_rotary (needs start)
layer, token = 2, 9
if vit.config.rotary:
    angles = vit.blocks[layer].attn.angles(None, pixels.device)[0]  # (1 or H, N, d / 2)
    damped = (angles - angles[:, [token]]).cos().mean(dim=-1)  # of equal content
    shown += [damped[:, vit.config.num_prefix_tokens :].unflatten(1, vit.config.grid_size)]

# %% positions_bias (needs start)
layer, token = 2, 9
if vit.config.relative_bias:
    added = vit.blocks[layer].attn.score_bias.relative(None)[0, :, token]  # (H, N)
    shown += [added[:, vit.config.num_prefix_tokens :].unflatten(1, vit.config.grid_size)]


# %% queries (needs start)
def queries_keys_values(block, x):  # of every head: (1, N, D) -> three times (1, H, N, d)
    x = x if block.post_norm else block.norm1(x)
    q, k, v = block.attn.qkv(x).unflatten(-1, (3, block.attn.num_heads, -1)).permute(2, 0, 3, 1, 4)
    q, k = block.attn.q_norm(q), block.attn.k_norm(k)
    if block.attn.angles:  # rotary
        turn = torch.polar(torch.ones(()), block.attn.angles(None, x.device))  # rotary
        q, k = (torch.complex(*one.chunk(2, dim=-1)) * turn for one in (q, k))  # rotary
        q, k = (torch.cat([one.real, one.imag], dim=-1) for one in (q, k))  # rotary
    return q, k, v


# %% maps (needs queries)
x, maps = vit.norm_pre(vit.embed(pixels)), []
for block in vit.blocks:
    q, k, v = queries_keys_values(block, x)
    scores = q @ k.mT * block.attn.scale
    if block.attn.score_bias.relative:  # bias
        scores += block.attn.score_bias.relative(None)  # bias
    maps.append(torch.softmax(scores, dim=-1)[0])  # (H, N, N)
    x = block(x)

# %% attention_layer (needs maps)
layer, head, token, direction = 2, None, 9, "from"
one = maps[layer].mean(dim=0) if head is None else maps[layer][head]
shown = one[token] if direction == "from" else one[:, token]

# %% attention_all (needs maps)
token, direction = 9, "from"
shown = [a[:, token] if direction == "from" else a[:, :, token] for a in maps]  # (H, N) each

# %% attention_matrix (needs maps)
layer, head = 2, None
shown = maps[layer].mean(dim=0) if head is None else maps[layer][head]

# %% attention_dots (needs maps)
a, prefix = torch.stack(maps), vit.config.num_prefix_tokens
(rows, cols), (ph, pw) = vit.config.grid_size, vit.config.patch_size
grid = torch.cartesian_prod(torch.arange(rows) * ph, torch.arange(cols) * pw).float()  # pixels
p = a[..., prefix:, prefix:]
distance = (p * torch.cdist(grid, grid)).sum(dim=-1) / p.sum(dim=-1)
shown = [-torch.xlogy(a, a).sum(dim=-1).mean(dim=-1), distance.mean(dim=-1)]  # (L, H) each

# %% qk (needs queries)
layer, head, query, key = 2, 0, 9, 5
x, block = vit.norm_pre(vit.embed(pixels)), vit.blocks[layer]
x = torch.nn.Sequential(*vit.blocks[:layer])(x)
q, k, v = queries_keys_values(block, x)
scores = q @ k.mT * block.attn.scale
if block.attn.score_bias.relative:  # bias
    scores += block.attn.score_bias.relative(None)  # bias
row = torch.softmax(scores, dim=-1)[0, head, query]
shown = [q[0, head, query] * k[0, head, key], row]

# %% qk_mix (needs qk)
mixed = row @ v[0, head]
all_heads = block.norm1(block.attn(x)) if block.post_norm else block.ls1(block.attn(block.norm1(x)))
shown += [mixed, (x + all_heads)[0, query]]

# %% qk_added (needs qk_mix)
columns = block.attn.proj.weight.unflatten(1, (block.attn.num_heads, -1))[:, head]  # (D, d)
shown += [block.ls1(columns @ mixed)]

# %% qk_turn (needs qk)
if block.attn.angles:
    angles = block.attn.angles(None, x.device).expand(1, block.attn.num_heads, -1, -1)[0, head]
    one, two = (torch.complex(*v.chunk(2)) for v in (q[0, head, query], k[0, head, key]))
    back = torch.polar(torch.ones(()), angles[key] - angles[query])
    shown += [(one * two.conj() * back).real, (one * two.conj()).real]

# %% rollout (needs maps)
token, layer, first, residual, fusion = 9, 2, 0, 0.5, "mean"
fused = {"mean": torch.mean, "max": torch.amax, "min": torch.amin}[fusion]
itself = torch.eye(vit.config.num_tokens)
shown = itself[token]
for a in reversed(maps[first : layer + 1]):
    a = residual * itself + (1 - residual) * fused(a, dim=0)
    shown = shown @ (a / a.sum(dim=-1, keepdim=True))

# %% features (needs start)
layer, token = 2, 9
x = torch.nn.Sequential(*vit.blocks[: layer + 1])(vit.norm_pre(vit.embed(pixels)))[0]
unit = torch.nn.functional.normalize(x, dim=-1)
patches = x[vit.config.num_prefix_tokens :]
axes = torch.linalg.svd(patches - patches.mean(dim=0), full_matrices=False).Vh[:3]
axes = axes * axes.gather(1, axes.abs().argmax(dim=1, keepdim=True)).sign()
scores = (patches - patches.mean(dim=0)) @ axes.T
low, high = scores.quantile(torch.tensor([0.01, 0.99]), dim=0)
colours = ((scores - low) / (high - low)).clamp(0, 1)
shown = [colours, unit @ unit[token], x.norm(dim=-1)]

# %% predictions (needs start)
count = 5
shown = [torch.softmax(vit(pixels)[0] / loaded.card.temperature, dim=-1).topk(count).values]

# %% early (needs start)
classes = [4, 8, 2, 7, 3, 1]
x, early = vit.norm_pre(vit.embed(pixels)), []
for block in vit.blocks:
    x = block(x)
    early.append(vit.forward_head(vit.norm(x))[0])
early = torch.stack(early) / loaded.card.temperature  # (L, C)

# %% lens (needs predictions, early)
shown += [torch.softmax(early, dim=-1)[:, classes].T]

# %% predictions_any_of (needs start)
count = 5
shown = [torch.sigmoid(vit(pixels)[0] / loaded.card.temperature).topk(count).values]

# %% lens_any_of (needs predictions_any_of, early)
shown += [torch.sigmoid(early)[:, classes].T]

# %% predictions_value (needs start)
count = 5
shown = [vit(pixels)[0, :count]]

# %% training (needs loaded)
from safetensors.torch import load_file

moment, layer, head = 0, 1, None
film_maps = load_file(loaded.film)["attention"][moment, :, layer].float()  # (pictures, H, N)
shown = film_maps.mean(dim=1) if head is None else film_maps[:, head]

# %% model (needs loaded)
shown = sum(parameter.numel() for parameter in loaded.vit.parameters())

# %% explain (needs start)
token, target = 9, 2
shown = []

# %% maps_explained (needs queries, explain)
x, maps = vit.norm_pre(vit.embed(pixels)), []
for block in vit.blocks:
    q, k, v = queries_keys_values(block, x)
    scores = q @ k.mT * block.attn.scale
    if block.attn.score_bias.relative:  # bias
        scores += block.attn.score_bias.relative(None)  # bias
    maps.append(torch.softmax(scores, dim=-1)[0].requires_grad_())  # (H, N, N)
    x = x + block.attn.proj((maps[-1] @ v).transpose(1, 2).flatten(2))
    x = x + block.mlp(block.norm2(x))

# %% explain_attention (needs maps_explained)
shown.append(maps[-1].mean(dim=0)[token])

# %% explain_rollout (needs maps_explained)
row = torch.eye(vit.config.num_tokens)[token]
for a in reversed(maps):
    row = (row + row @ a.mean(dim=0)) / 2
shown.append(row)

# %% explain_attention_norm (needs maps_explained)
mixed = (maps[-1][:, token, :, None] * v[0]).transpose(0, 1).flatten(1)  # by token: (N, D)
shown.append((mixed @ block.attn.proj.weight.T).norm(dim=-1))

# %% slopes (needs maps_explained)
slopes = torch.autograd.grad(vit.forward_head(vit.norm(x))[0, target], maps)
products = [a * slope for a, slope in zip(maps, slopes, strict=True)]  # (H, N, N) each

# %% explain_attention_gradient (needs slopes)
shown.append(sum(product.sum(dim=0)[token] for product in products))

# %% explain_generic (needs slopes)
row = torch.eye(vit.config.num_tokens)[token]
for product in reversed(products):
    row = row + row @ product.relu().mean(dim=0)
shown.append(row)

# %% explain_gradient_rollout (needs slopes)
row = torch.eye(vit.config.num_tokens)[token]
for product in reversed(products):
    a = product.relu().mean(dim=0)
    sums = a.sum(dim=1, keepdim=True)
    row = (row + row @ torch.where(sums > 0, a / sums, torch.eye(len(a)))) / 2
shown.append(row)

# %% patches_explained (needs explain)
rows, cols = vit.config.grid_size
prefix = torch.zeros(vit.config.num_prefix_tokens)  # a map of patches has a 0 for each of them

# %% explain_grad_cam (needs patches_explained)
*blocks, last = vit.blocks
y = torch.nn.Sequential(*blocks)(vit.norm_pre(vit.embed(pixels)))
normed = last.norm1(y).detach().requires_grad_()
y = y + last.attn(normed)
y = y + last.mlp(last.norm2(y))
(slope,) = torch.autograd.grad(vit.forward_head(vit.norm(y))[0, target], normed)
patches = slice(len(prefix), None)
shown.append(torch.cat([prefix, (normed[0, patches] @ slope[0, patches].mean(dim=0)).relu()]))

# %% explain_integrated_gradients (needs patches_explained)
mean = pixels.mean(dim=(2, 3), keepdim=True)
way = torch.lerp(mean, pixels, (torch.arange(32).view(-1, 1, 1, 1) + 0.5) / 32).requires_grad_()
(slope,) = torch.autograd.grad(vit(way)[:, target].sum(), way)
parts = ((pixels - mean) * slope.mean(dim=0))[0]  # (C, h, w)
parts = parts.unflatten(1, (rows, -1)).unflatten(3, (cols, -1)).sum(dim=(0, 2, 4))
shown.append(torch.cat([prefix, parts.flatten()]))


# %% explain_occlusion (needs patches_explained)
def logit_with(kept):
    x = vit.norm_pre(vit.embed(pixels))[:, kept]
    return vit.forward_head(vit.encode(x, kept[None]))[0, target]


tokens, means = torch.arange(vit.config.num_tokens), []
places, whole = tokens[len(prefix) :].view(rows, cols), logit_with(tokens)
for side in (1, 3) if max(rows, cols) > 3 else (1,):  # no window holds the whole picture
    falls, windows = torch.zeros(2, len(tokens))
    for window in places.unfold(0, min(side, rows), 1).unfold(1, min(side, cols), 1).flatten(0, 1):
        window = window.flatten()
        fall = whole - logit_with(tokens[~torch.isin(tokens, window)])
        falls[window] += fall / len(window)
        windows[window] += 1
    means.append(falls / windows.clamp(min=1))
shown.append(sum(means) / len(means))

# %% explain_centre (needs patches_explained)
near = [torch.exp(-8 * ((torch.arange(n) + 0.5) / n - 0.5) ** 2) for n in (rows, cols)]
shown.append(torch.cat([prefix, torch.outer(*near).flatten()]))

# %% explain_random (needs patches_explained)
chance = vitviz.probe.intervene.chance.Chance(0, "random map")
shown.append(torch.cat([prefix, chance.uniforms(rows * cols)]))
