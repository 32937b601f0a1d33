"""The numbers of a gate in words that a busy reader gets right: rates in percent, differences of rates in points."""

from calipers.stats import Interval

from .verdict import Unit


def quantity(value: float, unit: Unit) -> str:
    """A level: `92.5 %`, `0.81`, `1.24 s`."""
    match unit:
        case "rate":
            return f"{_short(100 * value)} %"
        case "growth":
            return f"{_short(100 * value, sign=True)} %"
        case "seconds":
            return f"{_short(value)} s"
        case "number":
            return _short(value)


def change(value: float, unit: Unit) -> str:
    """A difference: `+1.2 points`, `-0.04`."""
    return f"{_short(100 * value, sign=True)} points" if unit == "rate" else _short(value, sign=True)


def loss(margin: float, unit: Unit) -> str:
    """How much may be lost: `2 points`, `0.1`."""
    return f"{_plain(100 * margin)} points" if unit == "rate" else _plain(margin)


def interval_words(interval: Interval, unit: Unit, *, signed: bool = False) -> str:
    """`95 % interval 81.2 to 90.4 %`."""
    scale = 100 if unit in {"rate", "growth"} else 1
    low, high = (
        _short(scale * end, sign=signed or unit == "growth") for end in (interval.low, interval.high)
    )
    tail = "" if unit == "number" else " s" if unit == "seconds" else " points" if signed else " %"
    doubt = 100 * (1 - interval.confidence)
    confidence = 100 - round(doubt, 2 if doubt >= 0.1 else 10)
    return f"{_plain(confidence)} % interval {low} to {high}{tail}"


def limit_words(value: float, unit: Unit) -> str:
    """A limit, without the digits that nobody wrote."""
    match unit:
        case "rate" | "growth":
            return f"{_plain(100 * value)} %"
        case "seconds":
            return f"{_plain(value)} s"
        case "number":
            return _plain(value)


def plural(count: int, noun: str) -> str:
    """`1 case`, `1,200 cases`."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def about(count: int) -> str:
    """A number that is only roughly known: two digits of it."""
    if count < 100:
        return f"{count:,}"
    size = 10 ** (len(str(count)) - 2)
    return f"{round(count / size) * size:,}"


def _short(value: float, *, sign: bool = False) -> str:
    digits = 1 if abs(value) >= 10 else 2 if abs(value) >= 1 else 3
    text = f"{value:+.{digits}f}" if sign else f"{value:.{digits}f}"
    if value and not float(text):
        text = f"{value:+.2g}" if sign else f"{value:.2g}"
    whole, dot, part = text.partition(".")
    part = part.rstrip("0") if "e" not in part else part
    shown = f"{whole}{dot}{part}" if part else whole
    return "0" if shown in {"+0", "-0"} else shown


def _plain(value: float) -> str:
    return f"{round(value, 10):.10g}"
