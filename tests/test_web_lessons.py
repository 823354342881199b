"""Lessons: each has its texts in every language, and begins at a state that the page can show."""

import pytest

from vitviz import load
from vitviz.languages import dictionary, languages
from vitviz.web.examples import EXAMPLES
from vitviz.web.lessons import LESSONS, Lesson

NAMES = [example.upload.name.split(".")[0] for example in EXAMPLES]


def test_every_text_belongs_to_a_lesson():
    wanted = {key for lesson in LESSONS for key in (lesson.key, f"{lesson.key}_goal")}
    for language in languages():
        assert set(dictionary(language, "lessons")) == wanted


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.key)
def test_a_lesson_begins_with_what_its_model_has(lesson):
    config = load(lesson.state["model"]).card.config
    assert lesson.state["example"] in NAMES
    assert lesson.state.get("layer", 0) < config.depth
    assert lesson.state.get("head", "mean") in ["mean", *range(config.num_heads)]
    assert lesson.state.get("token", 0) <= config.num_patches


def test_a_link_is_the_state():
    assert Lesson("cut", {"model": "a b", "token": 3}).link == "?model=a+b&token=3"
