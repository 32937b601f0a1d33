"""Numbers as people read them: rates in percent, means with the digits their interval deserves, times with a unit.

Rounding never turns one claim into another: a rate that is not exactly 0 or 1 is never shown as 0 % or 100 %.
"""

from collections.abc import Sequence
from decimal import Decimal
from math import floor, isfinite, log10

from calipers.stats.interval import Interval, Method

METHODS: dict[Method, str] = {
    "wilson": "Wilson",
    "effective-wilson": "Wilson with an effective sample size",
    "bounded-wilson": "Wilson with an effective sample size",
    "clustered-wilson": "Wilson with an effective sample size",
    "clopper-pearson": "Clopper-Pearson",
    "jeffreys": "Jeffreys",
    "t": "Student t",
    "clustered-t": "Student t over clusters",
    "within-t": "Student t within cases",
    "newcombe": "Newcombe",
    "clustered-newcombe": "Newcombe",
    "gaffke": "Gaffke, for values between bounds",
    "tango-exact": "exact, in Tango's order",
    "log-log": "Greenwood on the log-log scale",
    "fieller": "Fieller",
    "donner-zou": "Donner and Zou",
    "bca": "bootstrap",
    "welch": "Welch t",
    "betting": "confidence sequence by betting",
    "jackknife": "jackknife over cases",
    "rogan-gladen": "Rogan-Gladen",
    "prediction-powered": "prediction-powered",
    "two-phase": "two-phase sampling",
    "stratified-beta": "stratified",
    "stratified-t": "stratified t",
    "effective-clopper-pearson": "Clopper-Pearson of an effective count",
    "good-turing": "Good-Turing",
    "chao": "Chao",
    "splitting-t": "Student t over runs, on the log scale",
    "beta-binomial": "profile likelihood of the beta-binomial model",
}
"""How an interval was made, in words."""

_MOST_DECIMALS = 9
_PERCENT_DECIMALS = 5
"""Of a percentage: one in ten million is as good as never to a reader, but it is not 0."""


def percent(rate: float, *, unit: bool = True) -> str:
    """A rate as a percentage: 0.925 is `92.5 %`; one that is nearly 0 or 1 is `<0.00001 %` or `>99.99999 %`."""
    decimals = 1
    while 0 < rate < 1 and float(shown := f"{100 * rate:.{decimals}f}") in {0.0, 100.0}:
        if decimals == _PERCENT_DECIMALS:
            near = 10.0**-decimals
            shown = f"<{near:.{decimals}f}" if rate < 0.5 else f">{100 - near:.{decimals}f}"
            return shown + (" %" if unit else "")
        decimals += 1
    return f"{100 * rate:.{decimals}f}" + (" %" if unit else "")


def number(value: float) -> str:
    """A number of unknown kind, to about four digits; whole numbers in full."""
    if isinstance(value, int):  # perhaps one too large for a float
        return f"{value:,}" if abs(value) < 10**15 else f"{Decimal(value):.3e}"
    if not isfinite(value):
        return str(value)
    if value.is_integer() and abs(value) < 1e15:
        return f"{int(value):,}"
    if 1000 <= abs(value) < 1e15:
        return f"{value:,.0f}"
    return f"{value:.4g}"


def dollars(amount: float) -> str:
    """US dollars, to three digits or to the cent: `$12.40`, `$0.0123`."""
    amount = float(f"{amount:.12g}")  # sums of the same amounts in another order are shown alike
    if amount >= 1 or amount == 0:
        return f"${amount:,.2f}"
    decimals = 2 - floor(log10(amount))
    text = f"{amount:.{decimals}f}".rstrip("0")
    whole, _, part = text.partition(".")
    return f"${whole}.{part:0<2}"


def amount_of(unit: str, spent: float, most: float | None = None) -> str:
    """What was spent, and of how much: `$4.93 of $5.00`, `33 of 100 calls`, `1 token`. The unit is `cost`, or a noun in the plural."""
    if unit == "cost":
        return dollars(spent) if most is None else f"{dollars(spent)} of {dollars(most)}"
    counts = [f"{each:,.0f}" if each >= 100 else f"{each:.3g}" for each in (spent, most) if each is not None]
    return f"{' of '.join(counts)} {unit.removesuffix('s') if counts[-1] == '1' else unit}"


def mean_text(value: float, interval: Interval | None) -> tuple[str, str]:
    """A mean and its interval, all with the same decimals: enough to tell the ends apart."""
    if interval is None:
        return number(value), ""
    numbers = (value, interval.low, interval.high)
    largest = max(map(abs, numbers))
    if largest != 0 and not 1e-6 <= largest < 1e12:
        mean, low, high = (f"{x:.3e}" for x in numbers)
        return mean, f"[{low}, {high}]"
    decimals = 3 - floor(log10(largest)) if largest >= 1 else 3
    if interval.width > 0:
        decimals = max(decimals, 1 - floor(log10(interval.width)))
    decimals = min(max(decimals, 0), _MOST_DECIMALS)
    mean, low, high = (f"{x:,.{decimals}f}" for x in numbers)
    return mean, f"[{low}, {high}]"


def rate_text(value: float, interval: Interval | None) -> tuple[str, str]:
    """A rate and its interval, both in percent."""
    if interval is None:
        return percent(value), ""
    return percent(value), f"[{percent(interval.low, unit=False)}, {percent(interval.high, unit=False)}]"


def seconds(value: float, *, micro: str = "µ") -> str:
    """A time with a unit that keeps it short: `340 ms`, `1.24 s`, `2 min 5 s`, `1 h 12 min`."""
    if not isfinite(value):
        return f"{value} s"
    if value < 0.9995e-3:
        return f"{value * 1e6:.0f} {micro}s"
    if value < 0.9995:
        return f"{value * 1e3:.3g} ms"
    if value < 59.95:
        return f"{value:.3g} s"
    minutes, rest = divmod(round(value), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s" if rest else f"{minutes} min"
    hours, minutes = divmod(round(value / 60), 60)
    return f"{hours:,} h {minutes} min" if minutes else f"{hours:,} h"


def plural(count: int, noun: str, plural_noun: str | None = None) -> str:
    """`1 case`, `1,200 cases`."""
    return f"{count:,} {noun if count == 1 else plural_noun or noun + 's'}"


def first_few(items: Sequence[str], most: int = 3, *, between: str = ", ") -> str:
    """`a, b, c and 2 more`."""
    shown = between.join(items[:most])
    return f"{shown} and {len(items) - most:,} more" if len(items) > most else shown


def confidence_text(confidence: float) -> str:
    """A confidence level as a percentage without spare digits: `95 %`, `99.9 %`."""
    return f"{100 * confidence:.10g} %"


def interval_line(value: float, interval: Interval | None, width: int, *, glyphs: str = "├─●┤") -> str:
    """A rate and its interval drawn in `width` cells from 0 to 1: `  ├──●─┤ `.

    Args:
        value: from 0 to 1.
        interval: where the true rate may lie.
        width: cells.
        glyphs: left end, line, value, right end.
    """
    left, line, dot, right = tuple(glyphs)
    at = _cell(value, width)
    cells = [" "] * width
    if interval is not None:
        low, high = _cell(interval.low, width), _cell(interval.high, width)
        for cell in range(low, high + 1):
            cells[cell] = line
        cells[low], cells[high] = left, right
    cells[at] = dot
    return "".join(cells)


def _cell(rate: float, width: int) -> int:
    return min(max(int(rate * width), 0), width - 1)
