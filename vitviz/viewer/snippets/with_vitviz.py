"""What the panels show, made with vitviz's own functions.

A panel shows one of these cells below those that it needs. In the lines that assign `loaded`,
`analysis`, or numbers and texts by name, the page writes what the visitor looks at.
"""

# %% loaded
import vitviz

loaded = vitviz.load("mnist")

# %% start (needs loaded)
analysis = vitviz.analyze(loaded, "photo.jpg")

# %% patches (needs start)
token, units, order = 9, "normalised", "pixel"
pixels = analysis.picture if units == "raw" else analysis.pixels.permute(1, 2, 0)
patch = analysis.grid.patch(pixels, token)  # (ph, pw, C)
shown = patch.flatten() if order == "pixel" else patch.permute(2, 0, 1).flatten()

# %% patches_prefix (needs start)
token = 0
shown = analysis.embedding.content[token] + analysis.embedding.position[token]

# %% positions (needs start)
token = 9
shown = [analysis.position_similarity(token)]  # (rows, cols)

# %% positions_all (needs start)
shown = analysis.position_similarities()  # (P, P)

# %% no_positions (needs start)
shown = []  # none are added to the tokens

# %% positions_rotary (needs start)
layer, token = 2, 9
if loaded.card.config.rotary:
    shown += [analysis.rotary_damping(layer, token=token)]  # (1 or H, rows, cols)

# %% positions_bias (needs start)
layer, token = 2, 9
if loaded.card.config.relative_bias:
    shown += [analysis.bias_pictures(layer, token=token)]  # (H, rows, cols)

# %% attention_layer (needs start)
layer, head, token, direction = 2, None, 9, "from"
shown = analysis.attention(layer, head, token, direction)  # (N,)

# %% attention_all (needs start)
token, direction = 9, "from"
layers = range(analysis.trace.depth)
shown = [analysis.attention_of_heads(layer, token, direction) for layer in layers]  # (H, N) each

# %% attention_matrix (needs start)
layer, head = 2, None
shown = analysis.attention_matrix(layer, head)  # (N, N)

# %% attention_dots (needs start)
found = analysis.head_statistics()
shown = [found.entropy, found.distance]  # (L, H) each

# %% qk (needs start)
from vitviz.probe.measure.pairs import pair

layer, head, query, key = 2, 0, 9, 5
found = pair(analysis.trace, layer, head, query, key)
shown = [found.products, found.attention]

# %% qk_mix (needs qk)
mix = analysis.mix(layer, head, query)
shown += [mix.mixed, mix.after]

# %% qk_added (needs qk_mix)
shown += [mix.added]

# %% qk_turn (needs qk)
if loaded.card.config.rotary:
    turn = analysis.turn(layer, head, query, key)
    shown += [turn.before, turn.after]

# %% rollout (needs start)
token, layer, first, residual, fusion = 9, 2, 0, 0.5, "mean"
shown = analysis.rollout(token, layer, first=first, residual=residual, head_fusion=fusion)  # (N,)

# %% explain (needs start)
keys, token, target = ["rollout", "grad_cam"], 9, 2
shown = [analysis.explain(key, token, target) for key in keys]  # (N,) each

# %% likeness (needs start)
keys, token, other = ["rollout", "grad_cam"], 9, "photo.jpg"
beside = vitviz.features(loaded, [other]).values[0]  # (D,), of another picture
shown = [analysis.explain(key, token, beside) for key in keys]  # (N,) each

# %% features (needs start)
from vitviz.probe.measure import features

layer, token = 2, 9
tokens = features.tokens_after(analysis.trace, layer)  # (N, D)
colours = features.principal(tokens[analysis.grid.num_prefix_tokens :]).rgb()  # of the patches
shown = [colours, features.similarity(tokens, token), features.norms(tokens)]

# %% normed (needs features)
shown[0] = vitviz.pca([analysis], layer)[0].colours.flatten(0, 1)  # after the last norm

# %% predictions (needs start)
count = 5
shown = [[one.number for one in analysis.predictions(count)]]

# %% lens (needs predictions)
shown += [[line.probabilities for line in analysis.lens_lines()]]

# %% training (needs loaded)
from vitviz.probe.measure.film import Film

moment, layer, head = 0, 1, None
maps = Film.read(loaded.film).attention[moment, :, layer].float()  # (pictures, H, N)
shown = maps.mean(dim=1) if head is None else maps[:, head]

# %% many (needs loaded)
pictures = ["photo.jpg"]
found = vitviz.survey(loaded, pictures)  # or a folder
shown = found.mean()  # (L, H), in pixels

# %% model (needs loaded)
shown = loaded.card.num_parameters
