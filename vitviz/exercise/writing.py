"""The exercise as a file and as a notebook: the filled-in ViT, with gaps, in a language."""

import json
import re
import textwrap
from pathlib import Path
from typing import Any

from ..errors import VitvizError
from ..languages import Message, language_of, say
from ..whole import at_home, write_text

FILLED = Path(__file__).parent / "my_vit.py"
FILE, NOTEBOOK = "my_vit.py", "my_vit.ipynb"
GAP = re.compile(r"(?P<left> +(?P<names>[\w, ]+) =) .*")
TEXT = re.compile(r"(?P<indent> *)#: (?P<key>\w+)")
CELL = re.compile(r"^# %%.*\n", re.MULTILINE)
WIDTH = 88


def write_exercise(folder: str | Path, language: str = "en") -> list[Path]:
    """Write `my_vit.py` and `my_vit.ipynb` into a folder, which is made. Returns their paths.

    language  a tag (BCP 47); English if the language is not supported. Raises `VitvizError` if one
    of the files exists already (it may be half filled in), or if nothing can be written.
    """
    language, folder = language_of(language), at_home(folder)
    texts = {FILE: exercise(language), NOTEBOOK: notebook(language)}
    paths = [folder / name for name in texts]
    try:
        for path in paths:
            if path.exists():
                raise VitvizError(
                    f"{path} is there already, and stays as it is: name another folder"
                )
        folder.mkdir(parents=True, exist_ok=True)
        for path, text in zip(paths, texts.values(), strict=True):
            write_text(path, text)
    except OSError as error:
        raise VitvizError(f"nothing can be written to {folder}: {error.strerror}") from error
    return paths


def exercise(language: str) -> str:
    """The file with gaps: it checks itself when it is run."""
    first = f'"""{_text("title", language)}\n\n{_filled(_text("how_file", language), "")}\n"""\n'
    last = f'if __name__ == "__main__":\n{textwrap.indent(_checking(language), "    ")}'
    return "\n\n".join([first, *(cell.strip("\n") + "\n" for cell in cells(language)), last])


def notebook(language: str) -> str:
    """The notebook with gaps, format 4.5 of Jupyter, as JSON."""
    intro = f"# {_text('title', language)}\n\n{_text('how_notebook', language)}"
    code = [*cells(language), _checking(language), _training(language)]
    first = {"cell_type": "markdown", "id": "intro", "metadata": {}, "source": intro}
    made: list[dict[str, Any]] = [first]
    for place, cell in enumerate(code):
        code_cell = {"cell_type": "code", "id": f"cell-{place}", "source": cell.strip("\n")}
        made.append({**code_cell, "execution_count": None, "metadata": {}, "outputs": []})
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    about = {"cells": made, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(about, ensure_ascii=False, indent=1) + "\n"


def cells(language: str) -> list[str]:
    """The cells of code: each gap is `...`, with an instruction above it."""
    _, *filled = CELL.split(FILLED.read_text(encoding="utf-8"))
    return [_with_gaps(cell, language) for cell in filled]


def _with_gaps(cell: str, language: str) -> str:
    lines, in_gap = [], False
    for line in cell.splitlines():
        text, gap = TEXT.fullmatch(line), GAP.fullmatch(line)
        in_gap = text["key"].startswith("gap_") if text else in_gap and "return" not in line
        if text:
            lines.append(_filled(_text(text["key"], language), f"{text['indent']}# "))
        elif gap and in_gap:
            lines.append(f"{gap['left']} {', '.join(['...'] * len(gap['names'].split(',')))}")
        elif in_gap:  # a call
            lines.append(re.sub(r"\S.*", "...", line))
        else:
            lines.append(line)
    return "\n".join(lines) + "\n"


def _checking(language: str) -> str:
    return (
        "from vitviz.exercise import check\n\n"
        f'report = check(ViT, language="{language}")\nprint(report)\n'
    )


def _training(language: str) -> str:
    text = _filled(_text("train", language), "# ")
    return (
        f"{text}\nimport vitviz\nfrom vitviz.exercise import DIGIT, train_with_digits\n\n"
        "if report.right:\n"
        "    before, after = train_with_digits(ViT, train)\n"
        "    both = [vitviz.analyze(model, DIGIT) for model in (before, after)]\n"
        "    display(vitviz.compare(*both))\n"
    )


def _filled(text: str, start: str) -> str:
    return textwrap.fill(text, WIDTH, initial_indent=start, subsequent_indent=start)


def _text(key: str, language: str) -> str:
    return say(Message(f"exercise.{key}"), language)
