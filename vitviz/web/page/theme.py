"""Colours, fonts and spacing of the page around the viewer; no font comes from another host."""

import re
from pathlib import Path

import gradio as gr
from gradio.themes.utils.colors import Color
from gradio.themes.utils.fonts import LocalFont

from ...languages import Message, languages, say
from ...payload.bundle import css, without_comments
from ..host.error_messages import hiding

PAGE_CSS = without_comments((Path(__file__).parent / "page.css").read_text(encoding="utf-8"))
_VIEWER = re.compile(r"(?<!\w)\.vitviz(?![\w-])")  # the first of .vitviz.vitviz

# The semi-bold fonts that Gradio bundles lack most letters, so bold is 700. Korean needs a system
# font.
FONTS = (
    LocalFont("Source Sans Pro", weights=(400, 700)),
    "Apple SD Gothic Neo",
    "Malgun Gothic",
    "Noto Sans KR",
    "Noto Sans CJK KR",
    "system-ui",
    "sans-serif",
)
MONO = (LocalFont("IBM Plex Mono", weights=(400, 700)), "ui-monospace", "monospace")

# The viewer's colours (viewer.css): warm greys in light, ink in dark, one accent.
GREY = Color(
    name="vv-grey",
    c50="#f6f5f2", c100="#efede8", c200="#e3e0d9", c300="#c9c5bc",
    c400="#a5a29b", c500="#7d7971", c600="#6a665f", c700="#32353b",
    c800="#1e2024", c900="#1a1c1f", c950="#16171a",
)  # fmt: skip
ACCENT = Color(
    name="vv-accent",
    c50="#fdf5f0", c100="#fbece4", c200="#f6d2c0", c300="#ffa27a",
    c400="#ff8a57", c500="#c8410b", c600="#c8410b", c700="#a83000",
    c800="#862700", c900="#5f1d03", c950="#3a2820",
)  # fmt: skip


def theme() -> gr.themes.Base:
    """Gradio's default theme in the viewer's colours."""
    return gr.themes.Default(
        primary_hue=ACCENT, secondary_hue=ACCENT, neutral_hue=GREY, font=FONTS, font_mono=MONO
    ).set(
        body_text_color="#1d1c1a",
        body_text_color_dark="#eeece8",
        body_text_color_subdued="#6a665f",
        body_text_color_subdued_dark="#a5a29b",
        button_primary_background_fill="#c8410b",
        button_primary_background_fill_hover="#a83000",
        button_primary_background_fill_dark="#ff8a57",
        button_primary_background_fill_hover_dark="#ffa27a",
        button_primary_text_color_dark="#1d100a",
        button_secondary_background_fill_dark="#2b2e34",
        button_secondary_background_fill_hover_dark="#32353b",
        button_large_text_weight="700",
        button_medium_text_weight="700",
        button_small_text_weight="400",
        checkbox_border_color="#6a665f",  # 5.7 : 1 on white
        checkbox_border_color_dark="#a5a29b",  # 6.9 : 1 on the ink
        block_label_text_weight="400",
        block_title_text_weight="400",
    )


def page_style() -> str:
    """The style of the page and of the viewer in it: for a file that browsers keep and load before
    Gradio's scripts run. Given to Gradio as `css` it would come with every document, and the page
    would hold each rule twice: as it is, and with a prefix, for which Gradio parses all of it.
    """
    # Gradio's rules for elements, such as [type=radio], begin with a class of its page, too.
    viewer = _VIEWER.sub(".gradio-container .vitviz", css())
    return f"{PAGE_CSS}\n{hiding()}\n{_grey()}\n{viewer}"


def _grey() -> str:
    """CSS for models on the menu that need a network: Gradio cannot disable single choices."""
    ends = {say(Message("models.needs_network", title=""), language) for language in languages()}
    options = ", ".join(f'[role="option"][aria-label$="{end}"]' for end in sorted(ends))
    return f"{options} {{ color: var(--body-text-color-subdued) !important; }}"
