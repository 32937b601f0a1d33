"""A plan in words and tables, and as JSON."""

import json
from collections.abc import Iterator, Sequence
from math import ceil

import msgspec

from calipers.data.budget import UNITS
from calipers.gate.forecast import Forecast
from calipers.gate.plan import Plan
from calipers.stats.number_text import amount_of, confidence_text, number, plural, seconds

from .text import fit

FORMAT_VERSION = 1


def plan_text(plan: Plan) -> str:
    """The plan as plain text."""
    return "".join(f"{line}\n" for line in _lines(plan))


def plan_json(plan: Plan) -> str:
    """The plan as JSON, with a version."""
    data = {"calipers_plan": FORMAT_VERSION, **msgspec.to_builtins(plan)}
    return json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def forecast_text(forecast: Forecast) -> str:
    """What a run is expected to spend, as plain text."""
    return "".join(f"{line}\n" for line in _forecast(forecast))


def forecast_json(forecast: Forecast) -> str:
    """The forecast as JSON, with a version."""
    data = {"calipers_forecast": FORMAT_VERSION, **msgspec.to_builtins(forecast)}
    return json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _forecast(forecast: Forecast) -> Iterator[str]:
    times = "attempted once" if forecast.repeats == 1 else f"each attempted {forecast.repeats} times"
    yield f"One run of {plural(forecast.cases, 'case')}, {times}, is expected to take"
    for amount in forecast.amounts:
        whose = "the agent" if amount.side == "agent" else "judges"
        ends = ""
        if amount.low is not None and amount.high is not None:
            low, high = (amount_of(amount.unit, end).split(" ")[0] for end in (amount.low, amount.high))
            ends = f"  [{low}, {high}]"
        yield f"  {amount_of(amount.unit, amount.expected):>16}{ends}  for {whose}"
    if forecast.seconds is not None:
        yield f"  {seconds(forecast.seconds):>16}  at the pace of the pilot"
    if not forecast.amounts:
        yield "  What it costs is not known: the pilot tells neither cost nor tokens nor calls of models."
        return
    yield f"[low, high] is a {confidence_text(forecast.confidence)} interval for fresh cases of the same kind, at the prices of the pilot."
    if forecast.unpriced_calls:
        calls = plural(forecast.unpriced_calls, "model call")
        yield f"It costs at least that: {calls} of the pilot had no known price."
    flags: list[str] = []
    for unit in UNITS:
        ends_of = [amount.high or amount.expected for amount in forecast.amounts if amount.unit == unit]
        if ends_of and not (unit == "cost" and forecast.unpriced_calls):
            total = ceil(sum(ends_of) * 100) / 100 if unit == "cost" else ceil(sum(ends_of))
            flags.append(f"--max-{unit} {total:.2f}" if unit == "cost" else f"--max-{unit} {total}")
    yield f"Budget that will hardly end it: {' '.join(flags)}"


def effect_text(plan: Plan, effect: float) -> str:
    """A difference: `3 points`, `0.12`."""
    return f"{100 * abs(effect):.3g} points" if plan.unit == "rate" else f"{abs(effect):.3g}"


def _lines(plan: Plan) -> Iterator[str]:
    yield f"{fit(plan.subject, 60)}: {confidence_text(plan.confidence)} interval, power {confidence_text(plan.power)}"
    yield f"Spread from {plan.source}."
    if plan.rows:
        yield ""
        if plan.margin is None:
            yield f"To see a difference of {effect_text(plan, plan.effect or 0.0)}:"
        else:
            yield f"To pass a gate with a margin of {effect_text(plan, plan.margin)}, where nothing differs:"
        yield from _table(plan)
    if plan.reaches:
        yield ""
        first = plan.reaches[0]
        smallest = "difference that shows" if plan.margin is None else "margin that is passed so"
        yield f"With {plural(first.cases, 'case')}, the smallest {smallest} is"
        for reach in plan.reaches:
            times = "attempted once" if reach.repeats == 1 else f"attempted {reach.repeats} times"
            yield f"  {effect_text(plan, reach.effect):>12}  {times}"
        yield from _enough(plan, first.cases)
    if not plan.knows_repeats:
        yield ""
        yield "What repeats would save is not known: a pilot with --repeat 2 or more would tell."


def _enough(plan: Plan, cases: int) -> Iterator[str]:
    effect = plan.effect if plan.margin is None else plan.margin
    if effect is None or not plan.knows_repeats:
        return
    wanted = effect_text(plan, effect)
    do = "show" if plan.margin is None else "pass"
    if plan.repeats_enough is None:
        yield f"No number of repeats would {do} {wanted} with {plural(cases, 'case')}: it takes more cases."
    else:
        yield f"{plural(plan.repeats_enough, 'attempt')} at each of them would {do} {wanted}."


def _table(plan: Plan) -> Iterator[str]:
    costs = list(dict.fromkeys(name for row in plan.rows for name in row.costs))
    timed = any(row.seconds is not None for row in plan.rows)
    header = [
        "attempts each",
        "cases",
        "task calls",
        *(["time"] if timed else []),
        *(fit(name, 30) for name in costs),
    ]
    rows = [
        [
            f"{row.repeats:,}",
            f"{row.cases:,}",
            f"{row.calls:,}",
            *([seconds(row.seconds)] if row.seconds is not None else []),
            *(number(round(row.costs[name], 6)) for name in costs),
        ]
        for row in plan.rows
    ]
    widths = [max(len(row[place]) for row in [header, *rows]) for place in range(len(header))]
    for row in [header, *rows]:
        yield "  " + _row(row, widths)
    if timed and costs:
        yield "  Time and cost are for one run, at the pace and the prices of the pilot."
    elif timed:
        yield "  Time is for one run, at the pace of the pilot."
    elif costs:
        yield "  Cost is for one run, at the prices of the pilot."
    if plan.unpriced_calls:
        calls = plural(plan.unpriced_calls, "model call")
        yield f"  It is at least that: {calls} of the pilot had no known price."


def _row(cells: Sequence[str], widths: Sequence[int]) -> str:
    return "  ".join(f"{cell:>{width}}" for cell, width in zip(cells, widths, strict=True))
