"""The words around the viewer in English and Korean; the viewer has its own dictionary.

Gradio's own dictionary is looked up first, so every key begins with "vv_".
"""

from collections.abc import Iterable

import gradio as gr
from gradio.i18n import I18nData

from ..korean import in_korean

ENGLISH = {
    "vv_header": "# vitviz\nTake a Vision Transformer apart, and check every number",
    "vv_photo": "Your picture",
    "vv_model": "Model",
    "vv_untrained": "Untrained: random weights, as before training",
    "vv_analyze": "Analyze",
    "vv_examples": "Or try one of these",
    "vv_download": "Download the analysis (.safetensors)",
    "vv_privacy": "Pictures stay on this server for about an hour and are then deleted.",
}

KOREAN = {
    "vv_header": "# vitviz\n비전 트랜스포머를 분해하고, 모든 숫자를 직접 확인해 보세요",
    "vv_photo": "사진",
    "vv_model": "모델",
    "vv_untrained": "학습 전: 무작위 가중치로 보기",
    "vv_analyze": "분석하기",
    "vv_examples": "예시 사진으로 시작하기",
    "vv_download": "분석 결과 내려받기 (.safetensors)",
    "vv_privacy": "사진은 이 서버에 약 한 시간 동안만 보관한 뒤 삭제합니다.",
}

TEXTS = gr.I18n(en=ENGLISH, ko=KOREAN)


def bilingual(titles: Iterable[str]) -> tuple[gr.I18n, dict[str, I18nData]]:
    """`TEXTS` with those titles that have Korean; and these, as the page is to show them."""
    keys = {title: f"vv_title_{i}" for i, title in enumerate(titles) if in_korean(title) != title}
    english = {key: title for title, key in keys.items()}
    korean = {key: in_korean(title) for title, key in keys.items()}
    shown = {title: TEXTS(key) for title, key in keys.items()}
    return gr.I18n(en=ENGLISH | english, ko=KOREAN | korean), shown
