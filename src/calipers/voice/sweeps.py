"""Accuracy against the strength of a perturbation: one report per level, and a plot.

Every level gets the same requests, and a perturbation draws the same noise at every level, only louder, so that the
curve shows the level and not the luck of the draw.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from calipers.data.case import Case
from calipers.errors import InvalidOptionError
from calipers.report.report import Report
from calipers.stats import Estimate
from calipers.voice.pipeline import VoiceTask, check_cases, evaluate_calls, refuse_name, shown_errors, whole
from calipers.voice.protocols import Agent, Evaluator, Perturbs, Synthesizer
from calipers.voice.transcripts import shown_interval

_WIDEST, _NARROWEST = 40, 12
"""Cells of the plot for rates from 0 to 1."""


@dataclass(frozen=True)
class SweepPoint:
    """How often an agent is right at one level."""

    level: Any
    """The level, as it was given."""
    rate: Estimate
    """The share of requests that were right, with its interval."""
    report: Report = field(repr=False)


@dataclass(frozen=True)
class Sweep:
    """How accuracy changes with the level of a perturbation."""

    points: tuple[SweepPoint, ...]
    """In the order of the levels that were given."""
    label: str = "level"
    """What the level is, for the plot."""

    @classmethod
    def of_reports(
        cls, reports: Mapping[Any, Report], *, label: str = "level", confidence: float = 0.95
    ) -> "Sweep":
        """The curve through the reports of all levels.

        Args:
            reports: by level; `None` is that without what the level is of, and shown as `none`.
            label: what the level is, for the plot.
            confidence: of the intervals.

        Raises:
            InvalidOptionError: there are none, or nothing was asserted in one of them.
        """
        if not reports:
            raise InvalidOptionError("a sweep needs levels: there are none, so there is no curve")
        points: list[SweepPoint] = []
        for level, report in reports.items():
            rate = report.pass_rate(None, confidence=confidence)
            if rate is None:
                raise InvalidOptionError(f"nothing was asserted at the level {level!r}, so it has no rate")
            points.append(SweepPoint(level, rate, report))
        return cls(tuple(points), label)

    def plot(self, *, columns: int | None = None) -> str:
        """The curve in text: one line per level, with the rate, its interval and its place from 0 to 100 %.

        Args:
            columns: of the screen, to draw a narrower curve where it would not fit; `None` for as many as it takes.
        """
        names = ["none" if point.level is None else str(point.level) for point in self.points]
        room = max(map(len, [self.label, *names]))
        confidence = next((p.rate.interval.confidence for p in self.points if p.rate.interval), 0.95)
        head = f"{confidence * 100:g} % interval"
        before = f"{self.label:>{room}}    right  {head:<16}  "
        left = _WIDEST if columns is None else columns - len(before) - 1
        width = max(_NARROWEST, min(_WIDEST, left))
        lines = [f"{before}0 %{'100 %':>{width - 2}}"]
        for name, point in zip(names, self.points, strict=True):
            interval = shown_interval(point.rate.interval)
            lines.append(
                f"{name:>{room}}  {point.rate.value:7.1%}  {interval:<16}  {_bar(point.rate, width)}"
            )
        for name, point in zip(names, self.points, strict=True):
            if errors := shown_errors(point.report):
                lines.append(f"{name}: {errors}")
        return "\n".join(lines)


def _bar(rate: Estimate, width: int) -> str:
    """The place of a rate between 0 and 1, with its interval."""
    cells = [" "] * (width + 1)
    if rate.interval is not None:
        for cell in range(round(rate.interval.low * width), round(rate.interval.high * width) + 1):
            cells[cell] = "─"
    cells[round(rate.value * width)] = "●"
    return "".join(cells).rstrip()


async def sweep(
    cases: Iterable[Case[str, Any, Any]],
    levels: Mapping[Any, Perturbs | None],
    *,
    agent: Agent,
    synthesizer: Synthesizer,
    evaluator: Evaluator | None = None,
    repeat: int = 1,
    max_concurrency: int | None = None,
    label: str = "level",
    confidence: float = 0.95,
    **options: Any,
) -> Sweep:
    """Give an agent every request at every level.

    Args:
        cases: the prompt as inputs, the expected calls as expected output.
        levels: the perturbation of each level, such as `Noise.levels([20, 10, 0])`; `None` for no perturbation.
        agent: hears them.
        synthesizer: says the prompts.
        evaluator: compares the calls; default: `ExactEvaluator`.
        repeat: how often to give each request at each level.
        max_concurrency: requests at once.
        label: what the level is, for the plot.
        confidence: of the intervals.
        **options: further ones of `Dataset.evaluate`, such as `task_timeout`, `retry`, `seed` and `store`.
    """
    if not isinstance(levels, Mapping):
        raise InvalidOptionError(
            "levels is a mapping from each level to its perturbation, such as Noise.levels([20, 10, 0]), "
            f"got {levels!r:.200}"
        )
    refuse_name(options, "runs", instead="repeat")
    listed = check_cases(cases)
    if not listed or not levels:
        raise InvalidOptionError("a sweep needs cases and levels: there are none, so there is no curve")
    reports: dict[Any, Report] = {}
    for level, perturbation in levels.items():
        report = await evaluate_calls(
            listed,
            VoiceTask(agent, synthesizer, perturbation=perturbation),
            name=f"{label} {level}",
            evaluator=evaluator,
            repeat=repeat,
            max_concurrency=max_concurrency,
            **options,
        )
        reports[level] = whole(report)
    return Sweep.of_reports(reports, label=label, confidence=confidence)
