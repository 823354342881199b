"""Error messages: their sentences, languages and HTML."""

import logging

import gradio as gr
import pytest
from gradio.data_classes import ImageData

from vitviz import languages
from vitviz.errors import ImageError
from vitviz.languages import Message
from vitviz.web.host.error_messages import APOLOGY, WANTED, hiding, in_all, sentence
from vitviz.web.page.gradio_inside import NOT_UPLOADED, PhotoInput
from vitviz.web.page.guard import guard


def test_our_errors_become_sentences_and_their_html_is_text():
    @guard
    def fail():
        raise ImageError("'<img src=x onerror=alert(1)>.png' is empty & bad")

    with pytest.raises(gr.Error) as caught:
        fail()
    text = "'&lt;img src=x onerror=alert(1)&gt;.png' is empty &amp; bad."
    assert caught.value.message == text


def test_a_page_gets_all_languages_and_a_program_that_it_asks_for():
    def fail():
        raise ImageError(Message("photo.empty", name="'<i>.png'", allowed="x."))

    korean = "'&lt;i&gt;.png'는 빈 파일입니다(0바이트). x."
    english = "'&lt;i&gt;.png' is empty (0 bytes). x."
    with pytest.raises(gr.Error) as caught:
        guard(fail, page=True)()
    both = f'<span class="vv-en">{english}</span><span class="vv-ko">{korean}</span>'
    assert both in caught.value.message
    for header, text in (("en-US,ko;q=0.5", english), ("ko-KR", korean), ("kok-IN", english)):
        WANTED.set(header)
        with pytest.raises(gr.Error) as caught:
            guard(fail)()
        assert caught.value.message == text


def test_what_is_no_message_is_said_once():
    assert in_all("<b> & c") == "&lt;b&gt; &amp; c."


def test_a_page_hides_what_it_does_not_speak(monkeypatch, tmp_path):
    for tag in ("en", "zh", "zh-Hant"):
        (tmp_path / tag).mkdir()
        (tmp_path / tag / "web.json").write_text("{}")
    monkeypatch.setattr(languages, "FOLDER", tmp_path)
    languages.languages.cache_clear()
    try:
        hidden = hiding()
    finally:
        languages.languages.cache_clear()
    assert hidden.removesuffix(" { display: none; }").split(", ") == [
        ".vv-en:lang(zh)",
        ".vv-en:lang(zh-Hant)",
        ".vv-zh:not(:lang(zh))",
        ".vv-zh:lang(zh-Hant)",
        ".vv-zh-Hant:not(:lang(zh-Hant))",
    ]


def test_paths_are_refused_in_all_languages_on_the_page():
    with pytest.raises(gr.Error) as caught:
        PhotoInput().preprocess(ImageData(path="/etc/passwd"))
    assert caught.value.message == in_all(NOT_UPLOADED)
    assert in_all(NOT_UPLOADED) != NOT_UPLOADED


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        ("no such head", "No such head."),
        ("Done?", "Done?"),
        ("'a.png' is empty", "'a.png' is empty."),
        ("  ", APOLOGY),
    ],
)
def test_sentences(raw, text):
    assert sentence(raw) == text


def test_bugs_are_logged_with_their_traceback_and_apologised_for(caplog):
    @guard
    def broken():
        raise ZeroDivisionError("secret detail")

    with caplog.at_level(logging.ERROR), pytest.raises(gr.Error) as caught:
        broken()
    assert caught.value.message == APOLOGY
    assert "secret detail" in caplog.text
    assert "Traceback" in caplog.text
    assert "broken failed" in caplog.text


def test_what_works_is_handed_on():
    assert guard(lambda a, b=2: a + b)(1, b=5) == 6
