"""Content negotiation: the app's language for an Accept-Language header."""

import re

from ..languages import ENGLISH, spoken


def preferred(accept_language: str) -> str:
    """The language of highest quality in an Accept-Language header, of those the app has.

    RFC 9110, section 12.5.4: "en-US,ko;q=0.5" is English, "fr,ko;q=0.5" is Korean.
    """
    best, weight = ENGLISH, 0.0
    for entry in accept_language.split(","):
        tag, *parameters = (part.strip() for part in entry.split(";"))
        language, quality = spoken(tag), _quality(parameters)
        if language and quality > weight:
            best, weight = language, quality
    return best


def _quality(parameters: list[str]) -> float:
    """The quality value, 0 to 1; 1 if none is given, 0 if it is malformed."""
    given = next((one[2:] for one in parameters if one.lower().startswith("q=")), "1")
    return float(given) if re.fullmatch(r"0(\.\d{0,3})?|1(\.0{0,3})?", given) else 0.0
