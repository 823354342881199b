"""The texts of the page around the viewer, in every language, as `gr.I18n`.

Gradio's own dictionary is looked up first, so every key of ours begins with "vv_".
"""

from collections.abc import Iterable

import gradio as gr

from ...languages import ENGLISH, dictionary, in_others, languages, say
from .gradio_inside import I18nData

# Gradio's own keys that its dictionary lacks; screen readers read these texts after an answer.
GRADIOS = ("complete", "error")

TEXTS = gr.I18n()  # only makes references; `translated` returns the texts


def translated(titles: Iterable[str]) -> tuple[gr.I18n, dict[str, I18nData]]:
    """The texts of the page and the translated titles; and for each title with a translation its
    reference to these texts.
    """
    keys = {title: f"vv_title_{i}" for i, title in enumerate(titles) if in_others(title)}
    english = dictionary(ENGLISH, "page")
    texts = {}
    for language in languages():
        page = english | dictionary(language, "page")
        gradios = {f"common.{name}": page.pop(f"gradio_{name}") for name in GRADIOS}
        texts[language] = gradios | {f"vv_{name}": text for name, text in page.items()}
        texts[language] |= {key: str(say(title, language)) for title, key in keys.items()}
    return gr.I18n(**texts), {title: TEXTS(key) for title, key in keys.items()}
