"""Every label exists in every language, under a key that Gradio does not use itself."""

import re
from pathlib import Path

from vitviz.web import texts
from vitviz.web.examples import EXAMPLES, FOLDER
from vitviz.web.theme import PAGE_CSS


def test_languages_have_the_same_keys():
    assert texts.ENGLISH.keys() == texts.KOREAN.keys()
    assert all(key.startswith("vv_") for key in texts.ENGLISH)
    assert all(re.search("[가-힣]", text) for text in texts.KOREAN.values())


def test_every_label_is_used():
    source = (FOLDER.parent / "page.py").read_text(encoding="utf-8")
    assert set(re.findall(r'TEXTS\("(\w+)"\)', source)) == set(texts.ENGLISH)


def test_titles_of_models_are_in_both_languages_where_they_have_korean():
    i18n, shown = texts.bilingual(["My own", "Handwritten digits", "CLIP base 16 (timm)"])
    assert list(shown) == ["Handwritten digits"]
    key = shown["Handwritten digits"].key
    assert i18n.translations["en"] == texts.ENGLISH | {key: "Handwritten digits"}
    assert i18n.translations["ko"] == texts.KOREAN | {key: "손글씨 숫자"}


def test_every_example_is_there_small_and_named_with_its_terms():
    readme = (FOLDER / "README.md").read_text(encoding="utf-8")
    pictures = {p.name for p in FOLDER.iterdir() if p.suffix in (".jpg", ".png")}
    assert pictures == {Path(example.path).name for example in EXAMPLES}
    for name in pictures:
        line = next(line for line in readme.splitlines() if f"`{name}`" in line)
        assert "CC0" in line or "public domain" in line
        assert (FOLDER / name).stat().st_size < 150_000


def test_the_style_sheet_loads_nothing():
    assert "url(" not in PAGE_CSS
    assert "@import" not in PAGE_CSS
