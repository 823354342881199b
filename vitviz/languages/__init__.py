"""The languages of vitviz: a folder of dictionaries each, and which of them a tag asks for.

A language is a folder here, named by its tag (BCP 47), with the files that `en` has: JSON, from
a key to a text, in which {name} is what is filled in. What a language lacks is said in English.
"""

import json
from functools import cache
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
ENGLISH = "en"


@cache
def languages() -> tuple[str, ...]:
    """The tags of all languages, as their folders are named, in order."""
    return tuple(sorted({path.parent.name for path in FOLDER.glob("*/*.json")}))


@cache
def dictionary(language: str, subject: str) -> dict[str, str]:
    """The texts of a language on a subject, as they stand in its file; none if it has no such."""
    path = FOLDER / language / f"{subject}.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}


def language_of(tag: str) -> str:
    """What is spoken where a tag is asked for: Korean for "ko-KR", English for "kok" (Konkani).

    RFC 4647, section 3.4 (lookup): the longest beginning of the tag that is a language here.
    """
    return spoken(tag) or ENGLISH


def spoken(tag: str) -> str | None:
    """The language that a tag asks for; None if it is none of ours."""
    known = {language.lower(): language for language in languages()}
    parts = tag.strip().lower().replace("_", "-").split("-")
    beginnings = ("-".join(parts[:count]) for count in range(len(parts), 0, -1))
    return next((known[asked] for asked in beginnings if asked in known), None)
