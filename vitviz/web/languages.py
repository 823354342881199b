"""Which of its languages the app speaks to whom: English, or Korean where that is asked for."""

import re

# The same in the browser, for the snippets of this room; the viewer has its own.
LANGUAGE_OF = "((tag) => (/^ko([-_]|$)/i.test(String(tag ?? '').trim()) ? 'ko' : 'en'))"


def language_of(tag: str) -> str:
    """What is spoken where a tag is asked for: Korean for "ko-KR", English for "kok" (Konkani)."""
    return "ko" if re.match(r"ko([-_]|$)", tag.strip(), re.IGNORECASE) else "en"


def preferred(accept_language: str) -> str:
    """The language that a browser's Accept-Language asks for most, of those the app speaks.

    RFC 9110, section 12.5.4: "en-US,ko;q=0.5" is English, "fr,ko;q=0.5" is Korean.
    """
    best, weight = "en", 0.0
    for entry in accept_language.split(","):
        tag, *parameters = (part.strip() for part in entry.split(";"))
        spoken = language_of(tag) == "ko" or re.match(r"en([-_]|$)", tag, re.IGNORECASE)
        if spoken and (quality := _quality(parameters)) > weight:
            best, weight = language_of(tag), quality
    return best


def _quality(parameters: list[str]) -> float:
    """0 to 1; 1 if there is none, 0 for one that is no number."""
    given = next((one[2:] for one in parameters if one.lower().startswith("q=")), "1")
    return float(given) if re.fullmatch(r"0(\.\d{0,3})?|1(\.0{0,3})?", given) else 0.0
