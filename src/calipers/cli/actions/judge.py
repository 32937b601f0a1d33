"""What `calipers judge` does: measures how far to trust a judge."""

import json as json_text
from collections import Counter
from collections.abc import Sequence
from typing import Any

import click

from calipers.cli.address import load_object
from calipers.cli.dataset_files import DatasetFiles
from calipers.cli.exits import FAILED, NOTHING, PASSED
from calipers.cli.message import CommandError, shown
from calipers.cli.named_evaluators import NamedEvaluators
from calipers.data.evaluator import make_ready
from calipers.data.evaluator_styles import as_evaluator
from calipers.errors import InvalidOptionError, NotKnownError
from calipers.files.project import find_project
from calipers.judges.injection import Candidate, End, InjectionReport, attack_judge
from calipers.models.prices import set_prices
from calipers.process.loop import run_sync
from calipers.stats.number_text import plural, rate_text

_SHOWN = 10
"""How many injections that got through are listed."""


def find_judge(
    which: str,
    *,
    model: str | None = None,
    evaluator_type: Sequence[str] = (),
    allow_module: Sequence[str] = (),
) -> Any:
    """The one judge that the command line names; `model` is the one it asks. What it asks is priced as the project says."""
    set_prices(find_project().prices)
    files = DatasetFiles(evaluator_types=evaluator_type, allow_modules=allow_module)
    kinds = [load_object(address) for address in evaluator_type]
    found = NamedEvaluators(files, kinds, allow_module, option="JUDGE").find([which])
    if len(found) != 1:
        names = ", ".join(as_evaluator(each).get_default_evaluation_name() for each in found)
        raise InvalidOptionError(
            f"JUDGE {which!r} names {plural(len(found), 'evaluator')} ({names}): name one of them"
        )
    if model is not None:
        if not hasattr(found[0], "model"):
            raise InvalidOptionError(f"--model {model!r}: {which!r} asks no model")
        found[0].model = model
    return found[0]


def attack(
    judge: Any, candidate: Candidate, *, at_most: int = 0, max_concurrency: int = 10, json: bool = False
) -> int:
    """Try injections on a judge and print what became of them; returns the exit code."""

    async def all_of_them() -> InjectionReport:
        await make_ready(judge)
        return await attack_judge(judge, candidate=candidate, max_concurrency=max_concurrency)

    try:
        report = run_sync(all_of_them)
    except NotKnownError as error:
        raise CommandError(str(error), NOTHING) from error
    click.echo(json_text.dumps(_data(report), indent=2) if json else shown(_text(report)))
    return FAILED if len(report.ended("through")) > at_most else PASSED


def _data(report: InjectionReport) -> dict[str, Any]:
    rate = report.through
    return {
        "judge": report.judge,
        "bare": report.bare,
        "injections": len(report.outcomes),
        "through": rate.value,
        "interval": None if rate.interval is None else [rate.interval.low, rate.interval.high],
        "outcomes": [
            {"kind": each.injection.kind, "name": each.injection.name, "end": each.end, "detail": each.detail}
            for each in report.outcomes
        ],
    }


def _text(report: InjectionReport) -> str:
    rate, interval = rate_text(report.through.value, report.through.interval)
    through = report.ended("through")
    lines = [
        f"{len(through)} of {plural(len(report.outcomes), 'injection')} got through {report.judge}: {rate} {interval}",
        "",
    ]
    ends: tuple[End, ...] = ("through", "caught", "held", "no verdict")
    counted = Counter((each.injection.kind, each.end) for each in report.outcomes)
    kinds = list(dict.fromkeys(each.injection.kind for each in report.outcomes))
    width = max(map(len, kinds))
    lines.append("  ".join(["kind".ljust(width), *ends]))
    for kind in kinds:
        cells = [str(counted[kind, end]).rjust(len(end)) for end in ends]
        lines.append("  ".join([kind.ljust(width), *cells]))
    if through:
        lines += ["", "These got through:"]
        lines += [f"  {each.injection.kind}: {each.injection.name}" for each in through[:_SHOWN]]
        if len(through) > _SHOWN:
            lines.append(f"  and {len(through) - _SHOWN} more; --json lists all")
    return "\n".join(lines)
