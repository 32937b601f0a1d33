"""What `calipers plan` does: read the pilot, plan, and print the plan."""

from collections.abc import Sequence

import click

from calipers.cli.exits import PASSED
from calipers.cli.reports import named_reports
from calipers.errors import InvalidOptionError
from calipers.gate.plan import REPEATS, Plan, plan_from_pilot, plan_from_rate
from calipers.views.plan import plan_json, plan_text


def make_plan(
    *,
    pilot: str | None = None,
    baseline: str | None = None,
    dataset: str | None = None,
    store: str | None = None,
    evaluator: str | None = None,
    effect: float | None = None,
    margin: float | None = None,
    cases: int | None = None,
    repeat: Sequence[int] = (),
    rate: float | None = None,
    flips: float | None = None,
    correlation: float | None = None,
    lower_is_better: bool = False,
    power: float = 0.8,
    confidence: float = 0.95,
    json: bool = False,
) -> int:
    """Plan, and print the plan; returns the exit code."""
    if (pilot is None) == (rate is None):
        raise InvalidOptionError(
            "name a pilot, a run or a report file, or give --rate; not both"
            if pilot is not None
            else "a plan needs a pilot, which is a run or a report file, or --rate with --effect or --margin"
        )
    found: Plan
    if pilot is not None:
        if flips is not None:
            raise InvalidOptionError("--flips is for --rate: a pilot tells how many cases flip")
        names = [pilot] if baseline is None else [pilot, baseline]
        reports = named_reports(names, store, dataset=dataset, concludes=True)
        found = plan_from_pilot(
            reports[0].report,
            baseline=reports[1].report if baseline is not None else None,
            evaluator=evaluator,
            effect=effect,
            margin=margin,
            cases=cases,
            repeats=tuple(repeat) or REPEATS,
            power=power,
            confidence=confidence,
            correlation=correlation,
            lower_is_better=lower_is_better,
        )
    else:
        assert rate is not None
        if effect is None and margin is None:
            raise InvalidOptionError(
                "--rate needs --effect, the difference worth finding, or --margin, that of a gate"
            )
        if any(each is not None for each in (baseline, dataset, evaluator)) or repeat or lower_is_better:
            raise InvalidOptionError(
                "--baseline, --dataset, --evaluator, --repeat and --lower-is-better need a pilot, and --rate is a guess"
            )
        found = plan_from_rate(
            rate, effect=effect, margin=margin, flips=flips, cases=cases, power=power, confidence=confidence
        )
    click.echo(plan_json(found) if json else plan_text(found), nl=False)
    return PASSED
