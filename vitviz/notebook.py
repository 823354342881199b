"""The viewer in a notebook, for an analysis in the last line of a cell."""

import base64
import io
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .probe.analysis import Analysis
    from .probe.compare import Comparison

MOST_BYTES = 24_000_000  # of HTML in one cell: notebooks keep it in their file and load it whole
HEIGHT_PX = 820  # of the frame: the picture, its controls and the beginning of a panel
PICTURE_PX = 224  # the longer side of the picture that stands there instead
# Allow scripts and downloads of the viewer, but no access to the notebook around it.
SANDBOX = "allow-scripts allow-downloads allow-popups allow-popups-to-escape-sandbox"
# Jupyter removes frames and styles from untrusted output, and leaves pictures and text.
# The page in a frame prefers the colour scheme of its frame
# (https://www.w3.org/TR/css-color-adjust-1/#color-scheme-effect), so it follows the theme of the
# notebook: attributes and classes of JupyterLab, Colab, and VS Code.
STYLE = """<style>
.vitviz-picture:has(+ iframe) { display: none }
:is([data-jp-theme-light="true"], [theme="light"], .vscode-light) .vitviz-frame,
.vscode-high-contrast-light .vitviz-frame { color-scheme: light }
:is([data-jp-theme-light="false"], [theme="dark"], .vscode-dark) .vitviz-frame,
.vscode-high-contrast:not(.vscode-high-contrast-light) .vitviz-frame { color-scheme: dark }
</style>"""
UNTRUSTED = (
    "<p>The viewer stands here once this notebook is trusted: run the cell again, or choose "
    "<b>Trust Notebook</b> in the command palette of Jupyter.</p>"
)


def both(comparison: "Comparison") -> str:
    """The `cell` of two analyses: the viewer of the first with the second beside it."""
    return cell(comparison.first, comparison.second)


def cell(analysis: "Analysis", beside: "Analysis | None" = None) -> str:
    """HTML of an analysis for a notebook, for `_repr_html_`; at most `MOST_BYTES` long.

    `beside`: another analysis, to show beside the first.

    The viewer's single-file page stands in a frame. `srcdoc` needs neither a server nor a file,
    which Jupyter, VS Code and Colab would each serve differently, and browsers refuse long `data:`
    addresses. If the page is too long, a small picture replaces it, with instructions to open the
    page; if the notebook is not trusted, with instructions to trust it.
    """
    from .payload import pack, page  # most analyses are never shown in a cell

    payload, other = pack(analysis), None if beside is None else pack(beside)
    files = [*payload.files.values(), *(other.files.values() if other else ())]
    if 4 * sum(map(len, files)) / 3 < MOST_BYTES:  # in base64; else the page is too long
        text = escape(page(payload, beside=other))
        html = STYLE + _small(analysis, UNTRUSTED)
        html += (
            f'<iframe srcdoc="{text}" sandbox="{SANDBOX}" class="vitviz-frame" '
            f'title="{escape(repr(analysis))}" style="display: block; box-sizing: border-box; '
            f"width: 100%; height: {HEIGHT_PX}px; border: 1px solid #8886; border-radius: 8px; "
            'background: Canvas"></iframe>'
        )
        if len(html.encode()) <= MOST_BYTES:
            return html
    call = "analysis" if beside is None else "both.first, beside=both.second"
    return _small(
        analysis,
        f"<p>The viewer would take more than the {MOST_BYTES // 1_000_000} MB that a cell may "
        "have. As a file of its own it opens in any browser:</p>"
        "<pre>from pathlib import Path\n\nfrom vitviz import viewer\n\n"
        f'Path("photo.html").write_text(viewer.page({call}), encoding="utf-8")</pre>',
    )


def _small(analysis: "Analysis", note: str) -> str:
    """The replacement for the viewer: the picture, one line of text, and a note, as HTML."""
    return (
        '<figure class="vitviz-picture" style="margin: 0">'
        f'<img src="{_picture(analysis)}" alt="" style="image-rendering: pixelated">'
        f"<figcaption><p>{escape(repr(analysis))}</p>{note}</figcaption></figure>"
    )


def _picture(analysis: "Analysis") -> str:
    """The model's picture as a small PNG, in a data: address."""
    from PIL import Image

    pixels = analysis.picture.numpy()
    image = Image.fromarray(pixels[..., 0] if pixels.shape[-1] == 1 else pixels)
    image.thumbnail((PICTURE_PX, PICTURE_PX))
    file = io.BytesIO()
    image.save(file, "PNG")
    return f"data:image/png;base64,{base64.b64encode(file.getvalue()).decode()}"
