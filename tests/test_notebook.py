"""An analysis in a notebook: one line of text, and the viewer in a frame of bounded size."""

import re
from dataclasses import replace
from html import unescape
from html.parser import HTMLParser

import pytest

from tests.models import photo, tiny
from vitviz import Analysis, analyze, compare, notebook
from vitviz.payload import page
from vitviz.probe.measure.predictions import Answer

HOSTILE = '"><script>window.broken = 1</script>&lt;\n\u202e'


@pytest.fixture(scope="module")
def analysis() -> Analysis:
    return replace(analyze(tiny("cls"), photo()), photo_name="dog.jpg")


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (Answer("class", "pug, dog", 0.834, None), '"pug, dog" 83%'),
        (Answer("group", "dog", 0.21, False), 'not sure, "dog" 21%'),
        (Answer("group", "dog", 0.999, True), '"dog" > 99%'),
        (Answer("group", "dog", 0.001, False), 'not sure, "dog" < 1%'),
        (Answer("class", "dog", 1.0, True), '"dog" 100%'),
        (None, "no class names"),
    ],
)
def test_one_line_says_photo_model_sizes_and_answer(analysis, monkeypatch, answer, said):
    monkeypatch.setattr(Analysis, "answer", lambda self: answer)
    sizes = "3 layers x 2 heads x 17 tokens"
    assert repr(analysis) == f"Analysis(dog.jpg, tiny cls: {sizes}, {said})"


def test_the_line_is_one_line_whatever_the_names(any_tiny_analysis):
    named = replace(any_tiny_analysis, photo_name="a\nb\x1b[31m\u2028c")
    assert repr(named).startswith("Analysis(a\ufffdb\ufffd[31m\ufffdc, ")
    assert repr(replace(named, photo_name="")).startswith("Analysis(a photo, ")
    assert repr(named).isprintable()


def without_id(html: str) -> str:
    """Each analysis has a random one."""
    return re.sub(r'"id": "[0-9a-f]{32}"', "", html)


def test_a_cell_is_the_page_of_one_file_in_a_frame(analysis):
    html = analysis._repr_html_()
    (inside,) = re.findall(r'<iframe srcdoc="([^"]*)" sandbox="([^"]*)"', html)
    assert without_id(unescape(inside[0])) == without_id(page(analysis))
    assert "allow-same-origin" not in inside[1]
    assert html.endswith("</iframe>")


def test_a_comparison_shows_both_side_by_side(analysis):
    other = analyze(tiny("no_cls"), photo())
    html = compare(analysis, other)._repr_html_()
    (inside,) = re.findall(r'<iframe srcdoc="([^"]*)"', html)
    assert without_id(unescape(inside)) == without_id(page(analysis, beside=other))


def test_names_from_outside_are_text(analysis):
    labels = (HOSTILE,) * 7
    named = replace(analysis, photo_name=HOSTILE, card=replace(analysis.card, labels=labels))
    assert named._repr_html_().count("<") == analysis._repr_html_().count("<")


class Sanitized(HTMLParser):
    """What JupyterLab leaves of HTML that it does not trust, of the tags and attributes used here.

    https://github.com/jupyterlab/jupyterlab/blob/main/packages/apputils/src/sanitizer.ts
    """

    ALLOWED = ("b", "figcaption", "figure", "img", "p", "pre")

    def __init__(self, html: str) -> None:
        super().__init__()
        self.text, self.pictures, self.inside = "", [], []
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        if tag == "img":
            self.pictures.append(dict(attrs)["src"])
        else:
            self.inside.append(tag)

    def handle_endtag(self, tag):
        assert self.inside.pop() == tag

    def handle_data(self, data):
        if all(tag in self.ALLOWED for tag in self.inside):
            self.text += data


def test_without_trust_a_picture_stands_with_the_way_to_the_viewer(analysis):
    """Nothing stood there: the frame was taken out."""
    left = Sanitized(analysis._repr_html_())
    assert left.text.startswith(repr(analysis))
    assert left.text.endswith("choose Trust Notebook in the command palette of Jupyter.")
    (picture,) = left.pictures
    assert picture.startswith("data:image/png;base64,iVBOR")


@pytest.mark.parametrize("name", ["cls", "grey", "registers"])
def test_what_is_too_long_for_a_cell_is_a_picture_and_the_way_to_the_page(name, monkeypatch):
    analysis = replace(analyze(tiny(name), photo()), photo_name=HOSTILE)
    size = len(analysis._repr_html_().encode())
    for most in (size - 1, 9_000):  # too long once made, and known before
        monkeypatch.setattr(notebook, "MOST_BYTES", most)
        html = analysis._repr_html_()
        assert len(html.encode()) < 9_000
        assert "<iframe" not in html
        assert "<script" not in html
        assert "viewer.page(analysis)" in html
        assert html.count("data:image/png;base64,iVBOR") == 1
        assert f"the {most // 10**6} MB" in html
    monkeypatch.setattr(notebook, "MOST_BYTES", size)
    assert "<iframe" in analysis._repr_html_()
