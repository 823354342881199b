"""The picture as the model cuts it up."""

from matplotlib.figure import Figure
from matplotlib.patheffects import withStroke

from ..probe.analysis import Analysis
from .parts import VIT, panels, picture, title


def patch_grid(analysis: Analysis) -> Figure:
    """The picture as the model saw it, cut into its patches."""
    grid = analysis.grid
    figure, (ax,) = panels(analysis, 1, size=4.6, paper=f"{VIT}, section 3.1")
    picture(ax, analysis)
    height, width = grid.patch_size
    lines = {"color": "white", "linewidth": 0.8, "path_effects": [withStroke(linewidth=1.6)]}
    for row in range(1, grid.rows):
        ax.axhline(row * height - 0.5, **lines)
    for col in range(1, grid.cols):
        ax.axvline(col * width - 0.5, **lines)
    title(
        figure,
        f"{grid.rows} x {grid.cols} = {grid.num_patches} patches of {height} x {width} pixels",
    )
    return figure
