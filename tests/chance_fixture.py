"""Draws of Python, which the page has to repeat. See `viewer_fixture`."""

from typing import Any

from vitviz.probe.intervene.chance import USES, Chance

# Known answers for Philox4x32-10: counter, key, words. tests/kat_vectors of the authors' Random123
# (https://github.com/DEShawResearch/random123).
KNOWN = (
    ("00000000 00000000 00000000 00000000", "00000000 00000000",
     "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
    ("ffffffff ffffffff ffffffff ffffffff", "ffffffff ffffffff",
     "408f276d 41c83b0e a20bc7c6 6d5451fd"),
    ("243f6a88 85a308d3 13198a2e 03707344", "a4093822 299f31d0",
     "d16cfe09 94fdcceb 5001e420 24126ea1"),
)  # fmt: skip
SEEDS = (0, 1, 2**31 - 1, 2**32 - 1)
# With the third bound a quarter of all words is drawn again, with the last one half.
BOUNDS = (1, 2, 3 * 2**30, 256, 10, 2**31 + 1) * 5


def draws() -> dict[str, Any]:
    """For each use and seed what one generator draws, one call after the other."""
    return {
        "known": [[[int(one, 16) for one in part.split()] for part in row] for row in KNOWN],
        "uses": USES,
        "bounds": BOUNDS,
        "draws": [_draws(seed, use) for use in USES for seed in SEEDS],
    }


def _draws(seed: int, use: str) -> dict[str, Any]:
    chance = Chance(seed, use)
    return {
        "seed": seed,
        "use": use,
        "integers": chance.integers(7).tolist(),
        "below": chance.below(BOUNDS).tolist(),
        "permutations": [chance.permutation(n).tolist() for n in (0, 1, 2, 15, 36)],
        "uniforms": chance.uniforms(5).tolist(),
        "normals": chance.normals(9).tolist(),
        "more": chance.normals(2).tolist(),
    }
