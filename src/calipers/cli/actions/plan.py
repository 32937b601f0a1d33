"""What `calipers plan` does: read the pilot, plan, and print the plan."""

from collections.abc import Sequence
from math import fsum
from pathlib import Path

import click

from calipers.cli.exits import PASSED
from calipers.cli.reports import named_reports
from calipers.data.record import ReportCase, ReportCaseFailure
from calipers.data.spending import COST, UNPRICED_CALLS
from calipers.errors import InvalidOptionError
from calipers.files.project import find_project
from calipers.gate.forecast import forecast_run
from calipers.gate.plan import REPEATS, Plan, plan_from_pilot, plan_from_rate
from calipers.models.model_answer import Usage
from calipers.models.prices import cost_of, priced_name, set_prices
from calipers.report.report import Report
from calipers.views.plan import forecast_json, forecast_text, plan_json, plan_text


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
    cost: bool = False,
    json: bool = False,
) -> int:
    """Plan, and print the plan; returns the exit code."""
    if cost:
        others = (baseline, evaluator, effect, margin, rate, flips, correlation)
        if any(each is not None for each in others) or lower_is_better:
            raise InvalidOptionError(
                "--cost is a forecast, and takes --cases, --repeat and --confidence alone"
            )
        return make_forecast(pilot, store, dataset, cases, repeat, confidence, json=json)
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


def make_forecast(
    pilot: str | None,
    store: str | None,
    dataset: str | None,
    cases: int | None,
    repeat: Sequence[int],
    confidence: float,
    *,
    json: bool,
) -> int:
    """Print what a run is expected to spend; returns the exit code."""
    if pilot is None or len(repeat) > 1:
        raise InvalidOptionError(
            "--cost needs a pilot, which is a run or a report file, and one --repeat at most"
        )
    report = priced_by_trace(named_reports([pilot], store, dataset=dataset)[0].report)
    times = repeat[0] if repeat else report.repeat
    found = forecast_run(report, cases=cases, repeats=times, confidence=confidence)
    click.echo(forecast_json(found) if json else forecast_text(found), nl=False)
    return PASSED


def priced_by_trace(report: Report) -> Report:
    """The report with the cost of attempts whose price was not known, where the tokens of their traces and the project's prices tell it now."""
    set_prices(find_project(Path.cwd()).prices)
    for case in report.cases:
        _price(case)
    for failure in report.failures:
        _price(failure)
    return report


def _price(record: ReportCase | ReportCaseFailure) -> None:
    if UNPRICED_CALLS not in record.metrics or record.trace is None:
        return
    found = [
        call.cost
        if call.cost is not None
        else cost_of(priced_name(call.model), Usage(input=call.input_tokens, output=call.output_tokens))
        for call in record.trace.llm_calls
    ]
    known = [each for each in found if each is not None]
    if found and len(known) == len(found):
        record.metrics = {name: value for name, value in record.metrics.items() if name != UNPRICED_CALLS}
        record.metrics[COST] = fsum(known)
