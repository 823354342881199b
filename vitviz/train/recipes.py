"""The recipes that come with vitviz, by name."""

from ..languages import Message
from .recipe import Recipe

# Their titles, which the menu of the app says in every language. A recipe is kept with the state
# of its run, so it holds plain text.
PHOTOS_TITLE = Message("training.photos")
DIGITS_TITLE = Message("training.digits")
NOTES_TITLE = Message("training.digits_of_notes")
PLAYGROUND_TITLE = Message("training.digits_in_seconds")
ROTARY_TITLE = Message("training.digits_rotary")
NONE_TITLE = Message("training.digits_without_positions")
TITLES = {
    str(title): title
    for title in (
        PHOTOS_TITLE,
        DIGITS_TITLE,
        NOTES_TITLE,
        PLAYGROUND_TITLE,
        ROTARY_TITLE,
        NONE_TITLE,
    )
}

# 64-pixel photos of 100 everyday things, shown at 72 so that maps have 12 x 12 patches. One run
# from random weights to the end.
#
# A teacher tells what a crop shows and what each of its patches shows: far more to learn from than
# one label a picture. Muon learns more per step than AdamW, and takes large batches, which
# a GPU needs. Half of the patches are dropped at first, none later: such a step is cheaper, and
# attention takes no harm. The learning rate stays high until the last third. A fifth of the
# pictures show none of the classes: the model learns to tell them from its classes, and from each
# other. It also learns to predict the neighbours of a patch, which rewards attention to nearby
# patches.
PHOTOS = Recipe(
    name="photos",
    title=str(PHOTOS_TITLE),
    data="everyday100",
    image_size=72,
    channels=3,
    patch_size=6,
    embed_dim=192,
    depth=6,
    num_heads=6,
    epochs=170,
    batch_size=1024,
    others="others100",
    others_share=0.2,
    neighbours=2.0,
    teacher="efficientnet_lite2",
    teacher_size=224,
    tokens=2.0,
    label_smoothing=0.1,
    optimizer="muon",
    lr=1e-3,
    muon_lr=0.02,
    schedule="stable",
    warmup=100,
    decay_share=0.3,
    patch_keep=0.5,
    all_patches_share=0.6,
    ema=0.998,
    precision="bfloat16",
    crop=0.25,
    flip=True,
    colour=0.3,
    three_augment=0.3,
    unmixed_share=0.0,
    eval_pictures=1000,
)

# The blocks of the lecture notes, trained with what has become usual: a higher learning rate that
# rises and falls, softened targets, and digits as visitors bring them: turned, off centre, thick or
# thin, white on black or dark on paper, faded and in bad light. Patches of 4 pixels cut a digit
# into 7 x 7 and show attention in more detail than 4 x 4.
DIGITS = Recipe(
    name="mnist",
    title=str(DIGITS_TITLE),
    data="mnist",
    patch_size=4,
    epochs=24,
    label_smoothing=0.05,
    optimizer="muon",
    lr=1e-3,
    muon_lr=0.02,
    warmup=200,
    ema=0.998,
    rotate=12,
    zoom=0.35,
    shift=6,
    stroke=0.8,
    invert=0.5,
    paper=0.7,
    precision="bfloat16",
)

RECIPES = {
    recipe.name: recipe
    for recipe in (
        # The training of the lecture notes, step for step: slow, but with nothing to explain.
        Recipe(
            name="mnist-notes",
            title=str(NOTES_TITLE),
            data="mnist",
            epochs=10,
            zero_head=False,
            optimizer="adamw",
            lr=1e-4,
            beta2=0.999,
            weight_decay=0.01,
            clip=0,
            schedule="constant",
            dropout=0.1,
        ),
        # The digits of MNIST as they are: white on black, and centred.
        Recipe(
            name="mnist-centred",
            title=str(DIGITS_TITLE),
            data="mnist",
            patch_size=4,
            epochs=15,
            lr=1e-3,
            warmup=200,
            label_smoothing=0.05,
            rotate=15,
            zoom=0.1,
            shift=2,
            precision="bfloat16",
        ),
        DIGITS,
        # The same but for how a patch tells its place; the seed draws the same other weights.
        DIGITS.changed({"name": "mnist-rotary", "title": str(ROTARY_TITLE), "positions": "rotary"}),
        DIGITS.changed({"name": "mnist-none", "title": str(NONE_TITLE), "positions": "none"}),
        PHOTOS,
        # A model of 60,394 numbers that learns from the digits beside this file, in seconds.
        Recipe(
            name="playground",
            title=str(PLAYGROUND_TITLE),
            data="digits",
            embed_dim=48,
            depth=2,
            batch_size=32,
            wide_start=True,
            lr=5e-3,
            holdout=0,
        ),
    )
}
