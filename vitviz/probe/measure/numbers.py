"""Numbers as people read them."""

from collections.abc import Sequence
from math import floor, log10

MINUS = "\u2212"


def digits(value: float) -> str:
    """A value with three significant digits and at most five decimals, and a real minus, as
    `digits` of the viewer's `maths/numbers.js` writes it.
    """
    size = abs(float(f"{value:.2e}"))
    if size == 0:
        return "0"
    if size < 1e-4:
        mantissa, power = f"{value:.1e}".split("e")
        text = f"{mantissa.replace('-', MINUS)}e{int(power)}"
    else:
        decimals = 2 - floor(log10(size) + 1e-9)
        text = f"{value:.{max(0, min(5, decimals))}f}".replace("-", MINUS)
    return text


def percents(shares: Sequence[float]) -> list[str]:
    """Shares of one list as percentages with equally many decimals: one, or as many as give the
    largest two significant digits, as `percents` of `maths/numbers.js` writes them.
    """
    largest = max(shares, default=0)
    decimals = min(6, max(1, 1 - floor(log10(100 * largest)))) if largest > 0 else 1
    return [percent(share, decimals).replace(" ", "\u00a0") for share in shares]


def percent(share: float, digits: int = 1) -> str:
    """A share as a percentage; only 0 is shown as 0.0%, and only 1 as 100.0% (else > 99.9%)."""

    def text(value: float) -> str:
        return f"{value:.{digits}%}"

    least = 0.01 / 10**digits
    if text(share) == text(0) and share > 0:
        return f"< {text(least)}"
    if text(share) == text(1) and share < 1 - 1e-6:  # a smaller rest may be float32 rounding
        return f"> {text(1 - least)}"
    return text(share)
