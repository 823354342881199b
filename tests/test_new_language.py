"""Adding a language is adding a folder: a copy of vitviz gets one more, and nothing else changes.

The language is English in brackets. Whatever a visitor reads must come in it.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from typing import Any

import pytest

from tests.running import ROOT
from vitviz.languages import SUBJECTS, dictionary, languages

ASK = """
import io, json, sys
from dataclasses import replace
from pathlib import Path

place = Path(sys.argv[1])
sys.path.insert(0, str(place))
import vitviz
from PIL import Image
from tests_of_dictionaries import every_message
from vitviz.errors import VitvizError
from vitviz.languages import language_of, languages, say
from vitviz.train.names import names_of, rename
from vitviz.payload import bundle, pack, page
from vitviz.web import build_app
from vitviz.web.host.error_messages import hiding, in_all, sentence
from vitviz.web.page.theme import page_style
from vitviz.web.host.error_messages import preferred

assert Path(vitviz.__file__).is_relative_to(place), vitviz.__file__
clear = Image.open(place / "vitviz/web/examples/dog.jpg").convert("RGBA")
clear.putalpha(100)
clear.save(file := io.BytesIO(), "PNG")
try:
    vitviz.open_photo(b"text", "a.jpg")
except VitvizError as error:
    refused = error.message
checkpoint = place / "weights" / "photos.safetensors"
rename(checkpoint)
analysis = vitviz.analyze(vitviz.load("photos"), file.getvalue())
again = vitviz.Analysis.from_bytes(analysis.to_bytes())
both = {"words": analysis, "words of a saved one": again}
demo, options = build_app()
config = json.dumps(demo.get_config_file(), default=str)
print(json.dumps({
    "languages": languages(),
    "asked": [language_of("QPS_ploc"), preferred("qps-Ploc, ko;q=0.5")],
    "said": {key: say(message, "qps") for key, message in every_message().items()},
    "refused": sentence(refused, "qps"),
    "on the page": in_all(refused),
    "hiding": hiding() in page_style() and hiding(),
    **{name: pack(one).manifest["model"]["words"]["qps"] for name, one in both.items()},
    "of the photo": [pack(one).manifest["photo"]["words"]["qps"] for one in both.values()],
    "labels": list(analysis.card.labels),
    "page texts": options["i18n"].translations["qps"],
    "examples": '\\\\"qps\\\\": \\\\"[dog]\\\\"' in config,
    "viewer": "[Choose a photo above.]" in bundle(),
    "html": "[Choose a photo above.]" in page(analysis),
}))
"""

# Every text of the dictionaries, each value filled in by its own name.
EVERY = """
import string
from vitviz.languages import SUBJECTS, Message, dictionary

def every_message():
    found = {}
    for subject in SUBJECTS - {"viewer"}:
        for name, text in dictionary("en", subject).items():
            values = {field: field for _, field, _, _ in string.Formatter().parse(text) if field}
            found[f"{subject}.{name}"] = Message(f"{subject}.{name}", **values)
    return found
"""


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the copy says when it is asked."""
    place = tmp_path_factory.mktemp("copy")
    shutil.copytree(ROOT / "vitviz", place / "vitviz", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(ROOT / "weights", place / "weights")
    for other in set(languages()) - {"en", "ko"}:
        shutil.rmtree(place / "vitviz" / "languages" / other)
    folder = place / "vitviz" / "languages" / "qps"
    folder.mkdir()
    for subject in SUBJECTS:
        pseudo = {name: f"[{text}]" for name, text in dictionary("en", subject).items()}
        (folder / f"{subject}.json").write_text(json.dumps(pseudo), encoding="utf-8")
    (place / "tests_of_dictionaries.py").write_text(EVERY)
    environ = {**os.environ, "HF_HUB_OFFLINE": "1", "GRADIO_TEMP_DIR": str(place / "cache")}
    command = [sys.executable, "-c", ASK, str(place)]
    done = subprocess.run(command, cwd=place, env=environ, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_the_folder_is_found_and_asked_for(told: dict[str, Any]) -> None:
    assert told["languages"] == ["en", "ko", "qps"]
    assert told["asked"] == ["qps", "qps"]


def test_every_sentence_comes_in_it(told: dict[str, Any]) -> None:
    assert len(told["said"]) > 180
    for key, said in told["said"].items():
        assert said.startswith("["), key
        assert said.endswith("]"), key


def test_a_refusal_is_in_it_to_the_last_word(told: dict[str, Any]) -> None:
    refused = told["refused"]
    assert refused.startswith("['a.jpg' is not a picture we can read: [it is text]. [Allowed are ")
    assert refused.endswith(" megapixels.]].")
    assert re.findall(r'<span class="vv-(\w+)">', told["on the page"]) == ["en", "ko", "qps"]
    hidden = ".vv-en:lang(ko), .vv-en:lang(qps), .vv-ko:not(:lang(ko)), .vv-qps:not(:lang(qps))"
    assert told["hiding"] == f"{hidden} {{ display: none; }}"


@pytest.mark.parametrize("which", ["words", "words of a saved one"])
def test_what_is_told_of_model_and_photo_comes_in_it(told: dict[str, Any], which: str) -> None:
    texts = told[which]["texts"]
    for start in ("Everyday photos", "everyday100: ", "Pictures of Tiny ImageNet"):
        (english,) = (text for text in texts if text.startswith(start))
        assert texts[english] == f"[{english}]"
    for notes in told["of the photo"]:
        assert notes["transparent parts shown on white"] == "[transparent parts shown on white]"
    assert texts["photos.safetensors, trained with vitviz"].startswith("[photos.safetensors, ")
    (minutes,) = (text for text in texts if re.fullmatch(r"\d+ min", text))
    assert texts[minutes] == f"[{minutes}]"
    # Those of the checkpoint, which were written into it anew.
    named = {label: f"[{label}]" for label in told["labels"]}
    named["lesser panda"] = "[red panda]"  # its name in the English dictionary
    assert told[which]["labels"] == named
    assert told[which]["groups"]["dog"] == "[a dog]"


def test_the_page_around_the_viewer_speaks_it(told: dict[str, Any]) -> None:
    texts = dict(told["page texts"])
    for name, english in dictionary("en", "page").items():
        gradios = name.startswith("gradio_")
        key = name.replace("gradio_", "common.") if gradios else f"vv_{name}"
        assert texts.pop(key) == f"[{english}]"
    titles = set(texts.values())
    assert "[Handwritten digits]" in titles
    assert "[[[DINO small 16, self-supervised] (timm)]: needs a network]" in titles
    assert "[[CLIP base 16 (timm)]: needs a network]" in titles
    assert told["examples"]


def test_the_viewer_speaks_it(told: dict[str, Any]) -> None:
    assert told["viewer"]
    assert told["html"]
