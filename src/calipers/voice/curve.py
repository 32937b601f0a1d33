"""Accuracy against the strength of a perturbation: one report per level, and a plot.

Every level gets the same requests, and a perturbation draws the same noise at every level, only louder, so that the
curve shows the level and not the luck of the draw.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from calipers.case import Case
from calipers.errors import InvalidOptionError
from calipers.report import Report
from calipers.stats import Estimate

from .pipeline import VoiceTask, evaluate_calls
from .protocols import Agent, Evaluator, Perturbs, Synthesizer

_WIDTH = 50
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

    def plot(self) -> str:
        """The curve in text: one line per level, with the rate, its interval and its place from 0 to 100 %."""
        names = ["clean" if point.level is None else str(point.level) for point in self.points]
        room = max(map(len, [self.label, *names]))
        lines = [f"{self.label:>{room}}    right  95 % interval   0 %{'100 %':>{_WIDTH - 3}}"]
        for name, point in zip(names, self.points, strict=True):
            interval = point.rate.interval
            low, high = (point.rate.value,) * 2 if interval is None else (interval.low, interval.high)
            bar = [" "] * (_WIDTH + 1)
            for cell in range(round(low * _WIDTH), round(high * _WIDTH) + 1):
                bar[cell] = "─"
            bar[round(point.rate.value * _WIDTH)] = "●"
            shown = f"[{low:5.1%}, {high:6.1%}]"
            lines.append(f"{name:>{room}}  {point.rate.value:7.1%}  {shown:<15} {''.join(bar).rstrip()}")
        return "\n".join(lines)


async def sweep(
    cases: Iterable[Case[str, Any, Any]],
    levels: Mapping[Any, Perturbs | None],
    *,
    agent: Agent,
    synthesizer: Synthesizer,
    evaluator: Evaluator | None = None,
    max_concurrency: int | None = None,
    label: str = "level",
    confidence: float = 0.95,
) -> Sweep:
    """Give an agent every request at every level.

    Args:
        cases: the prompt as inputs, the expected calls as expected output.
        levels: the perturbation of each level, such as `Noise.levels([20, 10, 0])`; `None` is none.
        agent: hears them.
        synthesizer: says the prompts.
        evaluator: compares the calls; default: `ExactEvaluator`.
        max_concurrency: requests at once.
        label: what the level is, for the plot.
        confidence: of the intervals.
    """
    listed = list(cases)
    if not listed or not levels:
        raise InvalidOptionError("a sweep needs cases and levels: there are none, so there is no curve")
    points: list[SweepPoint] = []
    for level, perturbation in levels.items():
        report = await evaluate_calls(
            listed,
            VoiceTask(agent, synthesizer, perturbation=perturbation),
            name=f"{label} {level}",
            evaluator=evaluator,
            max_concurrency=max_concurrency,
        )
        rate = report.pass_rate(confidence=confidence)
        assert rate is not None
        points.append(SweepPoint(level, rate, report))
    return Sweep(tuple(points), label)
