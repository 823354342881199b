"""Pixels of Python, which the page has to repeat byte for byte. See `viewer_fixture`."""

import base64
import hashlib
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from PIL import Image

from vitviz.model.photo import Photo, open_photo
from vitviz.model.preprocess import Preprocess

PERIOD = 251  # rows after which a strip repeats, so that its file is short
PLAIN = Preprocess(size=(24, 24))
# Each way to resize and to crop, on pictures that are hard for it.
WAYS = {
    "center": PLAIN,
    "bilinear": replace(PLAIN, interpolation="bilinear", crop_pct=0.875),
    "squash": replace(PLAIN, crop_mode="squash", size=(20, 31)),
    "border": replace(PLAIN, crop_mode="border"),
    "floor": replace(PLAIN, crop_floor=True, size=(24, 31), crop_pct=0.9),
    "grey": replace(PLAIN, channels=1, mean=(0.13,), std=(0.31,)),
    "larger": replace(PLAIN, crop_pct=1.3),
}
# Resized whole, to 20 million pixels: that takes longer than all others, and smaller ones are, too.
WHOLE = ("a strip", "larger")


def _pictures() -> Iterator[tuple[str, np.ndarray]]:
    """Noise, hard edges, strips, single pixels, and all kinds of alpha. uint8 (height, width, 4)"""
    chance = np.random.default_rng(5)
    for height, width in ((37, 53), (24, 24), (25, 24), (1, 1), (1, 90), (211, 3), (5, 6)):
        noise = chance.integers(0, 256, (height, width, 4), dtype=np.uint8)
        noise[..., 3] = 255
        yield f"noise of {height} x {width}", noise
    # Resized it would have more than 2**25 pixels: the crop alone is made.
    rows = np.resize(chance.integers(0, 256, (PERIOD, 1, 4), dtype=np.uint8), (251 * PERIOD, 1, 4))
    rows[..., 3] = 255
    yield "a strip", rows
    board = (np.indices((61, 47)).sum(axis=0) % 2 * 255).astype(np.uint8)
    yield "chessboard", np.dstack([board, 255 - board, board, np.full_like(board, 255)])
    yield "translucent", chance.integers(0, 256, (40, 30, 4), dtype=np.uint8)
    dark = chance.integers(3, 99, (40, 30, 4), dtype=np.uint8)
    dark[..., 3] = 255
    yield "dark", dark


def seen(photo: Photo, preprocess: Preprocess) -> str:
    """What a model with this preprocessing sees, as the hash of its bytes."""
    return hashlib.sha256(preprocess.picture(photo).numpy().tobytes()).hexdigest()


def raw(photo: Photo) -> dict[str, Any]:
    """A decoded photo, upright and without transparency, as a browser has it."""
    return _raw(np.asarray(photo.image.convert("RGBA")))


def _raw(rgba: np.ndarray) -> dict[str, Any]:
    height, width, _ = rgba.shape
    data = rgba.tobytes()
    if width == 1 and data == data[: 4 * PERIOD] * (height // PERIOD):
        data = data[: 4 * PERIOD]
    return {"height": height, "width": width, "rgba": base64.b64encode(data).decode()}


def looked(photo: Photo) -> tuple[Photo, ...]:
    """A photo as it is, inverted, stretched, and both."""
    stretched = photo.stretch()
    return photo, photo.invert(), stretched, stretched.invert()


def pixels() -> dict[str, Any]:
    """Pictures, and what each way makes of them, in each look (`looked`)."""
    made = {}
    for name, rgba in _pictures():
        photo = open_photo(Image.fromarray(rgba), name)
        told = {
            way: [seen(one, p) for one in looked(photo)]
            for way, p in WAYS.items()
            if (name, way) != WHOLE
        }
        made[name] = {**_raw(rgba), "seen": told}
    return {"ways": {way: one.to_dict() for way, one in WAYS.items()}, "pictures": made}
