"""The words around the viewer, in every language, as Gradio takes them.

Gradio's own dictionary is looked up first, so every key begins with "vv_".
"""

from collections.abc import Iterable

import gradio as gr
from gradio.i18n import I18nData

from ..languages import ENGLISH, dictionary, in_others, languages, say

TEXTS = gr.I18n()  # only names the texts; `translated` brings them


def translated(titles: Iterable[str]) -> tuple[gr.I18n, dict[str, I18nData]]:
    """The texts of the page, with those titles that another language says otherwise; and these
    titles, as the page is to show them.
    """
    keys = {title: f"vv_title_{i}" for i, title in enumerate(titles) if in_others(title)}
    english = dictionary(ENGLISH, "page")
    texts = {}
    for language in languages():
        page = english | dictionary(language, "page")
        texts[language] = {f"vv_{name}": text for name, text in page.items()}
        texts[language] |= {key: str(say(title, language)) for title, key in keys.items()}
    return gr.I18n(**texts), {title: TEXTS(key) for title, key in keys.items()}
