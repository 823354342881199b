"""Digits drawn for these tests, by a few strokes each: white on black and dark on paper, thick and
thin, in the middle and off it. They are in no data set.
"""

from itertools import product

import numpy as np
from PIL import Image, ImageDraw

SIDE = 224  # pixels

# Strokes in a box from 0 to 1, x to the right and y down; arcs are (left, top, right, bottom, from
# angle, to angle) in degrees, clockwise from the right.
DIGITS = {
    "0": [("arc", (0.15, 0, 0.85, 1, 0, 360))],
    "1": [("line", ((0.3, 0.2), (0.55, 0), (0.55, 1)))],
    "2": [("arc", (0.12, 0, 0.88, 0.62, 180, 395)), ("line", ((0.8, 0.48), (0.1, 1), (0.9, 1)))],
    "3": [("arc", (0.15, 0, 0.82, 0.5, 200, 450)), ("arc", (0.1, 0.5, 0.88, 1, 270, 520))],
    "4": [("line", ((0.62, 0), (0.1, 0.65), (0.95, 0.65))), ("line", ((0.7, 0.35), (0.7, 1)))],
    "5": [
        ("line", ((0.85, 0), (0.25, 0), (0.2, 0.45))),
        ("arc", (0.05, 0.38, 0.88, 1, 235, 510)),
    ],
    "6": [("arc", (0.12, 0.45, 0.85, 1, 0, 360)), ("arc", (0.12, -0.1, 1.3, 1.5, 180, 250))],
    "7": [("line", ((0.1, 0.02), (0.88, 0.02), (0.4, 1)))],
    "8": [("arc", (0.2, 0, 0.8, 0.47, 0, 360)), ("arc", (0.12, 0.47, 0.88, 1, 0, 360))],
    "9": [("arc", (0.15, 0, 0.85, 0.55, 0, 360)), ("line", ((0.84, 0.28), (0.7, 1)))],
}

# Every way of drawing a digit: 24 in all, 240 digits.
STYLES = [
    {"dark": dark, "width": width, "shift": shift, "size": size}
    for dark, width, (shift, size) in product(
        (False, True),
        (0.05, 0.09, 0.14),
        (((0, 0), 0.7), ((0.13, -0.1), 0.55), ((-0.14, 0.1), 0.55), ((0.05, 0.06), 0.8)),
    )
]

# Digits as a pad, a finger and a corner make them, of each in light and in dark ink: 200 in all.
KINDS = {
    kind: [
        {"dark": dark, "width": width, "shift": shift, "size": size}
        for dark in (False, True)
        for width, shift, size in styles
    ]
    for kind, styles in {
        "thin": [(0.035, (0, 0), 0.7), (0.035, (0.03, -0.03), 0.7)],
        "small": [(0.05, (0, 0), 0.3), (0.06, (0, 0), 0.4)],
        "corner": [(0.07, (x, y), 0.45) for x in (-0.22, 0.22) for y in (-0.22, 0.22)],
        "finger": [(0.17, (0, 0), 0.75), (0.17, (-0.04, 0.03), 0.75)],
    }.items()
}


def drawn(
    label: str, *, dark: bool, width: float, shift: tuple[float, float], size: float
) -> Image.Image:
    """One digit. `width` of the pen and `shift` off the middle are shares of the picture's side,
    `size` is the digit's height. Dark ink lies on paper that is lit from one side and has a grain.
    """
    big = Image.new("L", (2 * SIDE, 2 * SIDE))  # twice as large, and then made smaller: smooth
    pen, side = ImageDraw.Draw(big), 2 * SIDE
    wide = 0.7 * size  # digits are narrower than tall
    left, top = 0.5 - wide / 2 + shift[0], 0.5 - size / 2 + shift[1]
    radius = width * side / 2

    def place(x: float, y: float) -> tuple[float, float]:
        return (left + x * wide) * side, (top + y * size) * side

    for kind, where in DIGITS[label]:
        if kind == "arc":
            x0, y0, x1, y1, start, end = where
            angles = np.radians(np.linspace(start, end, 60))
            xs = (x0 + x1) / 2 + np.cos(angles) * (x1 - x0) / 2
            ys = (y0 + y1) / 2 + np.sin(angles) * (y1 - y0) / 2
            path = list(zip(xs, ys, strict=True))
        else:
            path = list(where)
        points = [place(x, y) for x, y in path]
        pen.line(points, fill=255, width=round(2 * radius))
        for x, y in points:  # a pen is round
            pen.ellipse((x - radius, y - radius, x + radius, y + radius), fill=255)
    ink = np.asarray(big.resize((SIDE, SIDE), Image.Resampling.LANCZOS)) / 255
    if dark:
        light = 0.92 - 0.22 * np.linspace(0, 1, SIDE)[:, None] * np.linspace(0, 1, SIDE)
        grain = np.random.default_rng(0).normal(0, 0.02, ink.shape)
        ink = light * (1 - 0.8 * ink) + grain
    return Image.fromarray((ink * 255).clip(0, 255).astype(np.uint8))
