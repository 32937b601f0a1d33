"""What `calipers judge pairs` does: lets a judge compare runs pair by pair, and says which is better."""

import json as json_text
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from typing import Any

import click
import msgspec

from calipers.cli.actions.judge import find_judge
from calipers.cli.exits import ERRORED, NOTHING, PASSED
from calipers.cli.message import shown
from calipers.cli.reports import distinct_reports
from calipers.cli.stored_runs import open_kept
from calipers.comparison.case_pairs import PairBy
from calipers.errors import InvalidOptionError
from calipers.judges.pairwise import Pairwise
from calipers.judges.run_pairs import RunPairs, judge_runs
from calipers.models.answer_cache import using_cache
from calipers.process.loop import run_sync
from calipers.stats import Interval, OrderBias, Strength, Strengths
from calipers.stats.number_text import first_few, plural, rate_text
from calipers.stores.default_store import is_file_name
from calipers.stores.stored_answers import StoredAnswers

_SHOWN = 10
"""How many cases that were not judged are listed."""


def compare_pairs(
    *,
    runs: Sequence[str],
    judge: str = "Pairwise",
    model: str | None = None,
    store: str | None = None,
    dataset: str | None = None,
    pair_by: PairBy = "content",
    confidence: float = 0.95,
    max_concurrency: int = 10,
    no_model_cache: bool = False,
    evaluator_type: Sequence[str] = (),
    allow_module: Sequence[str] = (),
    json: bool = False,
) -> int:
    """Compare runs or report files in pairs; returns the exit code."""
    if len(runs) < 2:
        raise InvalidOptionError(f"a comparison needs two runs at least, got {runs[0]!r} alone")
    found = find_judge(judge, model=model, evaluator_type=evaluator_type, allow_module=allow_module)
    if not isinstance(found, Pairwise):
        raise InvalidOptionError(
            f"--judge {judge!r} is {type(found).__name__}, which judges one answer at a time: name a Pairwise judge, such as "
            "'Pairwise: The better answer is kinder.'"
        )
    reports = distinct_reports(runs, store, dataset=dataset)
    with ExitStack() as opened:
        # Answers are kept in the store of the runs; report files have none.
        if not no_model_cache and not all(map(is_file_name, runs)):
            opened.enter_context(using_cache(StoredAnswers(opened.enter_context(open_kept(store)))))
        result = run_sync(
            lambda: judge_runs(
                found,
                [each.report for each in reports],
                labels=[each.label for each in reports],
                pair_by=pair_by,
                max_concurrency=max_concurrency,
                confidence=confidence,
            )
        )
    click.echo(
        json_text.dumps(_data(result), indent=2) if json else shown("\n".join(_lines(result, confidence)))
    )
    if any(pair.failed for pair in result.judged):
        return ERRORED
    return NOTHING if result.strengths is None else PASSED


def _lines(found: RunPairs, confidence: float) -> Iterator[str]:
    asked = len(found.judged)
    decided = sum(pair.verdict is not None for pair in found.judged)
    yield f"{plural(decided, 'pair')} of answers judged by {found.judge}, each in both orders" + (
        "" if decided == asked else f"; {asked - decided:,} of {asked:,} could not be"
    )
    if found.strengths is not None:
        yield ""
        yield from _shares(found, found.strengths, confidence)
        if len(found.runs) > 2:
            yield ""
            yield from _scale(found.strengths)
    if found.order_bias is not None:
        yield ""
        yield from _bias(found.order_bias)
    yield from _left_out(found)


def _shares(found: RunPairs, scale: Strengths, confidence: float) -> Iterator[str]:
    counted = Counter(
        (pair.first, pair.second, pair.verdict.outcome) for pair in found.judged if pair.verdict is not None
    )
    rows = [("points of", "against", f"share [{100 * confidence:g} %]", "won", "tied", "lost", "cases")]
    for pair in scale.pairs:
        if pair.seen is None:
            rows.append((pair.second, pair.first, "no case in common", "", "", "", ""))
            continue
        # The later run is the candidate: its points are what the earlier one did not get.
        interval = pair.seen.interval
        turned = (
            None
            if interval is None
            else Interval(1 - interval.high, 1 - interval.low, confidence, interval.method)
        )
        rate, span = rate_text(1 - pair.seen.value, turned)
        won, tied, lost = (counted[pair.first, pair.second, end] for end in ("loss", "tie", "win"))
        rows.append(
            (
                pair.second,
                pair.first,
                f"{rate} {span}",
                f"{won:,}",
                f"{tied:,}",
                f"{lost:,}",
                f"{pair.seen.n_units:,}",
            )
        )
    yield from _grid(rows)


def _scale(scale: Strengths) -> Iterator[str]:
    yield f"Strength (Bradley-Terry, in log-odds of a point against {scale.reference}):"
    yield from _grid([(each.name, *_strength(each, scale)) for each in scale.strengths])


def _strength(each: Strength, scale: Strengths) -> tuple[str, str]:
    if each.name == scale.reference:
        return "0", "the reference"
    if each.value is not None:
        ends = [f"{end:+.2f}" if end is not None else "no limit" for end in (each.low, each.high)]
        return f"{each.value:+.2f}", f"[{', '.join(ends)}]"
    if each.unbeaten:
        return "none", "unbeaten: no number is high enough"
    if each.winless:
        return "none", "won nothing: no number is low enough"
    return "none", f"not linked with {scale.reference} by points in both directions"


def _bias(bias: OrderBias) -> Iterator[str]:
    rate, span = rate_text(bias.followed.value, bias.followed.interval)
    yield f"Order: the verdict followed the position in {rate} {span} of {plural(bias.n_pairs, 'pair')}; these are ties."
    rate, span = rate_text(bias.first_share.value, bias.first_share.interval)
    lean = "no bias is seen" if bias.favours is None else f"the judge prefers what it is shown {bias.favours}"
    yield f"       What was shown first took {rate} {span} of the points: {lean}."


def _left_out(found: RunPairs) -> Iterator[str]:
    for first, second, pairing in found.pairings:
        for names, what in (
            ([each.name for each in pairing.changed], f"changed between {first} and {second}"),
            (pairing.baseline_only, f"only in {first}"),
            (pairing.candidate_only, f"only in {second}"),
        ):
            if names:
                yield f"Not paired, {what}: {first_few(names, _SHOWN)}"
    without = [pair for pair in found.judged if pair.verdict is None]
    if without:
        yield "Not judged:"
    for pair in without[:_SHOWN]:
        yield f"  {pair.case}, {pair.first} and {pair.second}: {pair.problem:.200}"
    if len(without) > _SHOWN:
        yield f"  and {len(without) - _SHOWN:,} more; --json lists all"


def _grid(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


def _data(found: RunPairs) -> dict[str, Any]:
    data: dict[str, Any] = msgspec.to_builtins(found)
    for told, pair in zip(data["judged"], found.judged, strict=True):
        told["outcome"] = None if pair.verdict is None else pair.verdict.outcome
        told["points"] = None if pair.verdict is None else pair.verdict.points
    return data
