"""Chance: seeded random numbers that are the same in Python and in the page, so links can use them.

The integers are those of Philox4x32-10 (Salmon et al. 2011, doi:10.1145/2063384.2063405), which
turns a counter and a key into four words of 32 bits: any word can be computed without those before
it, and all of them at once. vitviz/viewer/maths/chance.js has the same functions, and both are held
to one table. Training and untrained weights are drawn by torch instead.
"""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from ..capture.selection import choose

# Purposes of draws. The index of a purpose is half of the key, so that two purposes have unrelated
# draws with one seed; append new ones at the end.
USES = (
    "shuffle", "positions", "scramble", "noise", "orders", "random map", "hidden patches", "signs"
)  # fmt: skip
WORDS = 2**32
LAST = WORDS - 1


def philox(counter: np.ndarray, key: tuple[int, int]) -> np.ndarray:
    """Four random words for each counter, by ten rounds. uint64 below 2**32, (4, n) -> (4, n)"""
    c0, c1, c2, c3 = counter
    k0, k1 = key
    for _ in range(10):
        left, right = c0 * 0xD2511F53, c2 * 0xCD9E8D57  # 64 bits, of which no bit is lost
        c0, c1, c2, c3 = (
            *((right >> 32) ^ c1 ^ k0, right & LAST),
            *((left >> 32) ^ c3 ^ k1, left & LAST),
        )
        k0, k1 = (k0 + 0x9E3779B9) & LAST, (k1 + 0xBB67AE85) & LAST
    return np.stack([c0, c1, c2, c3])


class Chance:
    """The random numbers of one use and one seed; each call continues where the last one ended.

    Key: (seed, place of the use). Counters: (0, 0, 0, 0), (1, 0, 0, 0) and so on, each with four
    words. Raises `SelectionError` for a seed that is no whole number from 0 to 2**32 - 1.
    """

    def __init__(self, seed: int, use: str) -> None:
        self._key = (choose("seed", seed, WORDS), USES.index(use))
        self._drawn = 0

    def integers(self, count: int) -> np.ndarray:
        """The next words. (count,) uint64 below 2**32"""
        first, self._drawn = self._drawn, self._drawn + count
        counter = np.zeros((4, -(-self._drawn // 4) - first // 4), dtype=np.uint64)
        counter[0] = np.arange(first // 4, -(-self._drawn // 4))
        return philox(counter, self._key).T.ravel()[first % 4 :][:count]

    def below(self, bounds: Sequence[int]) -> Tensor:
        """A whole number from 0 to bound - 1 for each bound, all equally likely. (n,) int64

        The remainder of a word; words from the largest multiple of the bound on, which would make
        small remainders likelier, are drawn again after all others.
        """
        limits = np.asarray(bounds, dtype=np.uint64)
        words = self.integers(len(limits))
        while (late := words >= WORDS - WORDS % limits).any():
            words[late] = self.integers(int(late.sum()))
        return torch.from_numpy((words % limits).astype(np.int64))

    def permutation(self, n: int) -> Tensor:
        """The numbers below n in random order. (n,) int64

        By Fisher and Yates, in place (Durstenfeld 1964, doi:10.1145/364520.364540): from the last
        place on, each changes places with one of those up to itself.
        """
        order = list(range(n))
        places = range(n - 1, 0, -1)
        for place, other in zip(places, self.below(range(n, 1, -1)).tolist(), strict=True):
            order[place], order[other] = order[other], order[place]
        return torch.tensor(order, dtype=torch.long)

    def uniforms(self, count: int) -> Tensor:
        """Numbers from 0 to below 1: a word over 2**32. (count,) float64"""
        return torch.from_numpy(self.integers(count) / WORDS)

    def normals(self, count: int) -> Tensor:
        """Numbers with mean 0 and variance 1, normally distributed. (count,) float64

        Two of two words a and b (Box & Muller 1958, doi:10.1214/aoms/1177706645): the cosine and
        the sine of 2 pi b / 2**32, times the root of -2 ln((a + 1) / 2**32). Of an odd count the
        last sine is left out.
        """
        a, b = self.integers(count + count % 2).reshape(-1, 2).T / WORDS
        radius, angle = np.sqrt(-2 * np.log(a + 1 / WORDS)), 2 * np.pi * b
        pairs = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1)
        return torch.from_numpy(pairs.ravel()[:count])
