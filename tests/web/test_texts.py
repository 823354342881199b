"""Every label has a text in every language, under a key that Gradio does not use itself."""

import re
from pathlib import Path

from vitviz.languages import Message, dictionary
from vitviz.web.page import texts
from vitviz.web.page.theme import PAGE_CSS
from vitviz.web.store.examples import EXAMPLES, FOLDER


def test_every_label_is_used_and_there():
    source, script = (
        (FOLDER.parent / "page" / name).read_text(encoding="utf-8")
        for name in ("build.py", "page.js")
    )
    used = set(re.findall(r'TEXTS\("(\w+)"\)', source))
    used |= {f"vv_{name}" for name in re.findall(r"\bt\.(\w+)", script)}
    ours = {name for name in dictionary("en", "page") if not name.startswith("gradio_")}
    assert used == {f"vv_{name}" for name in ours}
    for language, page in texts.translated([])[0].translations.items():
        words = dictionary(language, "page")
        assert page.keys() - {f"vv_{name}" for name in ours} == {"common.complete", "common.error"}
        assert page["common.complete"] == words["gradio_complete"]  # heard when an answer comes
        assert {name: page[f"vv_{name}"] for name in ours} == {name: words[name] for name in ours}


def test_titles_of_models_are_in_all_languages_that_say_them_otherwise():
    digits = Message("training.digits")
    i18n, shown = texts.translated(["My own", digits])
    assert "Handwritten digits" in shown
    assert "My own" not in shown
    key = shown["Handwritten digits"].key
    assert i18n.translations["en"][key] == "Handwritten digits"
    assert i18n.translations["ko"][key] == "손글씨 숫자"
    assert i18n.translations["ko"]["vv_photo"] == "내 사진"


def test_every_example_is_there_small_and_named_with_its_terms():
    readme = (FOLDER / "README.md").read_text(encoding="utf-8")
    pictures = {p.name for p in FOLDER.iterdir() if p.suffix in (".jpg", ".png")}
    assert pictures == {Path(example.path).name for example in EXAMPLES}
    for name in pictures:
        line = next(line for line in readme.splitlines() if f"`{name}`" in line)
        assert re.search("CC0|public domain|MNIST", line)
        assert (FOLDER / name).stat().st_size < 150_000


def test_the_style_sheet_loads_nothing():
    addresses = re.findall(r"url\(([^)]{6})", PAGE_CSS)
    assert set(addresses) <= {'"data:'}
    assert "@import" not in PAGE_CSS
