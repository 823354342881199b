"""What people are told when something fails."""

import logging

import gradio as gr
import pytest

from vitviz.errors import ImageError
from vitviz.web.answers import APOLOGY, guard, sentence
from vitviz.web.components import WholeNumber


def test_our_errors_become_sentences_and_their_html_is_text():
    @guard
    def fail():
        raise ImageError("'<img src=x onerror=alert(1)>.png' is empty & bad")

    with pytest.raises(gr.Error) as caught:
        fail()
    text = "'&lt;img src=x onerror=alert(1)&gt;.png' is empty &amp; bad."
    assert caught.value.message == text


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
    assert sentence(ImageError(raw)) == text


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


@pytest.mark.parametrize("wrong", [float("inf"), float("nan"), 0.5, "3", True, [1]])
def test_what_is_no_whole_number_gets_a_sentence(wrong):
    with pytest.raises(gr.Error, match="token must be a whole number"):
        WholeNumber(label="token").preprocess(wrong)


def test_whole_numbers_pass_in_either_writing():
    assert [WholeNumber().preprocess(number) for number in (-1, 3.0, 10**400, None)] == [
        -1,
        3,
        10**400,
        None,
    ]
