"""PatchGrid: from pixel to patch to token and back; the only place that skips prefix tokens."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from einops import rearrange
from torch import Tensor

from ...errors import SelectionError
from ...model.config import ViTConfig
from .selection import counted, whole

if TYPE_CHECKING:
    import numpy as np

Values = TypeVar("Values", Tensor, "np.ndarray")


@dataclass(frozen=True)
class PatchGrid:
    """How an image is cut into patches. Pixels count from the top left, height before width."""

    image_size: tuple[int, int]
    patch_size: tuple[int, int]
    num_prefix_tokens: int

    @classmethod
    def of(cls, config: ViTConfig) -> "PatchGrid":
        return cls(config.image_size, config.patch_size, config.num_prefix_tokens)

    @property
    def rows(self) -> int:
        return self.image_size[0] // self.patch_size[0]

    @property
    def cols(self) -> int:
        return self.image_size[1] // self.patch_size[1]

    @property
    def num_patches(self) -> int:
        return self.rows * self.cols

    @property
    def num_tokens(self) -> int:
        return self.num_prefix_tokens + self.num_patches

    def is_patch(self, token: int) -> bool:
        """Whether this token stands for a piece of the image.

        Raises `SelectionError` if there is no such token.
        """
        return self.check(token) >= self.num_prefix_tokens

    def check(self, token: int) -> int:
        """The token as an int, -1 being the last, if there is one; else `SelectionError`."""
        return counted("token", token, self.num_tokens)

    def token(self, row: int, col: int) -> int:
        """The token of the patch at (row, col). Raises `SelectionError` outside the grid."""
        y, x = whole(row), whole(col)
        if y is None or x is None or not (0 <= y < self.rows and 0 <= x < self.cols):
            raise SelectionError(
                f"the grid has rows 0 to {self.rows - 1} and cols 0 to {self.cols - 1}, "
                f"got ({row}, {col})"
            )
        return self.num_prefix_tokens + y * self.cols + x

    def row_col(self, token: int) -> tuple[int, int]:
        """The place of the patch of a token: (row, col).

        Raises `SelectionError` for a prefix token: it has no place.
        """
        token = self.check(token)
        if not self.is_patch(token):
            raise SelectionError(
                f"token {token} is a prefix token and has no place in the image; "
                f"patches are tokens {self.num_prefix_tokens} to {self.num_tokens - 1}"
            )
        return divmod(token - self.num_prefix_tokens, self.cols)

    def token_at(self, y: float, x: float) -> int:
        """The token of the patch that holds the pixel (y, x)."""
        return self.token(int(y // self.patch_size[0]), int(x // self.patch_size[1]))

    def box(self, token: int) -> tuple[int, int, int, int]:
        """The edges of a patch in pixels: (top, left, height, width)."""
        row, col = self.row_col(token)
        height, width = self.patch_size
        return row * height, col * width, height, width

    def patch(self, image: Any, token: int) -> Any:
        """The pixels of a patch, cut from an image (h, w, ...). -> (ph, pw, ...), a view"""
        top, left, height, width = self.box(token)
        return image[top : top + height, left : left + width]

    def patches(self, values: Values) -> Values:
        """Only the patch tokens. (..., N or P) -> (..., P)"""
        return (
            values[..., self.num_prefix_tokens :] if values.shape[-1] == self.num_tokens else values
        )

    def to_map(self, values: Values) -> Values:
        """Values per token or patch, laid out like the image. (..., N or P) -> (..., rows, cols)"""
        if values.shape[-1] not in (self.num_tokens, self.num_patches):
            raise SelectionError(
                f"a map needs {self.num_tokens} tokens or {self.num_patches} patches, "
                f"got {values.shape[-1]} values"
            )
        return rearrange(self.patches(values), "... (rows cols) -> ... rows cols", rows=self.rows)
