"""Colours, fonts and spacing of the page around the viewer; nothing comes from another host."""

from pathlib import Path

import gradio as gr
from gradio.themes.utils.fonts import LocalFont

PAGE_CSS = (Path(__file__).parent / "page.css").read_text(encoding="utf-8")

# The semi-bold files that Gradio bundles lack most letters, so bold is 700. Korean needs a font of
# the system.
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


def theme() -> gr.themes.Base:
    return gr.themes.Default(
        primary_hue="indigo",
        secondary_hue="indigo",
        neutral_hue="slate",
        font=FONTS,
        font_mono=MONO,
    ).set(
        button_large_text_weight="700",
        button_medium_text_weight="700",
        button_small_text_weight="400",
        block_label_text_weight="400",
        block_title_text_weight="400",
    )
