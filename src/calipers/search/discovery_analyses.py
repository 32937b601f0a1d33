"""What a search found, as analyses of its report: the kinds of failure, the curve of discoveries, and what was tried."""

from collections import defaultdict
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean

from calipers.data.value_text import shorten
from calipers.report.analysis import (
    Analysis,
    Cell,
    LinePlot,
    PlotLine,
    PlotPoint,
    TableResult,
    TreeNode,
    TreePlot,
)
from calipers.report.report_evaluator import ReportEvaluator, ReportEvaluatorContext
from calipers.rollouts.rollout_outcome import as_text, success_of
from calipers.stats.number_text import plural

from .findings import Findings, size_of
from .objective import Objective
from .trial_outcome import Outcome

_NOT_A_RATE = "a search tries what is likely to fail, so shares of its trials do not tell how often the system fails in use"
_MOST_OPTIONS = 40
"""A choice with more values than this is no choice to compare by."""
_MOST_TURNS = 40
"""Turns that the tree shows."""
_TEXT = 200
"""Characters of inputs that are shown."""


@dataclass
class DiscoveryAnalyses(ReportEvaluator):
    """Says what a search found. Every search has one."""

    objective: Objective | None = None
    """That of the search; `None`: the default one."""

    def evaluate(self, ctx: ReportEvaluatorContext) -> list[Analysis]:
        """The kinds of failure, the curve of discoveries, and what was tried."""
        found = Findings.of(ctx.report, self.objective)
        if not found.outcomes:
            return []
        tried = _tried(found.outcomes)
        realism = [] if self.objective is None or self.objective.realism is None else _realism(found)
        tree = _tree(found.outcomes)
        return [
            _kinds(found),
            *realism,
            _curve(found.outcomes),
            *([] if tree is None else [tree]),
            *([tried] if tried.rows else []),
        ]


def _kinds(found: Findings) -> TableResult:
    """The kinds of failure, the one with the smallest inputs first."""
    rows: list[list[Cell]] = []
    for kind, outcomes in found.kinds.items():
        smallest = min(outcomes, key=lambda outcome: (size_of(outcome.proposal.inputs), outcome.number))
        size = size_of(smallest.proposal.inputs)
        text = shorten(" ".join(as_text(smallest.proposal.inputs).split()), _TEXT)
        rows.append([kind or "failure", len(outcomes), outcomes[0].number, size, smallest.number, text])
    rows.sort(key=lambda row: (row[3], row[2]))
    unknown = f"; of {plural(found.unknown, 'trial')} it is not known" if found.unknown else ""
    return TableResult(
        title="Failures found",
        description=f"{plural(len(found.failures), 'failure')} in {plural(len(found.outcomes), 'trial')}{unknown}. "
        "The kinds with the smallest inputs come first",
        note=_NOT_A_RATE,
        columns=["kind", "failures", "first trial", "words", "trial", "smallest inputs"],
        rows=rows,
    )


def _realism(found: Findings) -> list[Analysis]:
    """The failures by how ordinary they are, and how bad the worst of those is that are as ordinary."""
    ranked = found.ranked
    if not ranked:
        return []
    rows: list[list[Cell]] = []
    for each in sorted(ranked, key=lambda failure: not failure.on_front):
        outcome = each.outcome
        text = shorten(" ".join(as_text(outcome.proposal.inputs).split()), _TEXT)
        realism = None if each.realism is None else round(each.realism, 4)
        ends = "" if each.interval is None else f"[{each.interval.low:.3f}, {each.interval.high:.3f}]"
        failed = f"{len(each.outcomes)} of {each.tries}"
        kind = outcome.signature or "failure"
        rows.append(
            [each.on_front, realism, ends, round(each.badness, 4), failed, kind, outcome.number, text]
        )
    unknown = sum(each.realism is None for each in ranked)
    note = f"of {plural(unknown, 'failure')} it is not known how ordinary they are" if unknown else None
    table = TableResult(
        title="Failures by how ordinary they are",
        description="Those on the front first: none is both worse and more ordinary. Realism is the share of real turns that are at least as odd",
        note=note,
        columns=["front", "realism", "interval", "badness", "failed", "kind", "trial", "inputs"],
        rows=rows,
    )
    places = {1 - (each.realism or 0.0): each.badness for each in ranked if each.on_front}
    if len(places) < 2:  # there is nothing to choose between
        return [table]
    points = [PlotPoint(x=place, y=badness) for place, badness in places.items()]
    if points[0].x > 0:
        points.insert(0, PlotPoint(x=0, y=0))
    if points[-1].x < 1:
        points.append(PlotPoint(x=1, y=points[-1].y))
    curve = LinePlot(
        title="The worst failure that is no odder",
        description="How bad the worst failure is of those that are no odder than this share of real turns",
        x_label="share of real turns that are less odd",
        y_label="badness",
        lines=[PlotLine(name="badness", points=points)],
        stepped=True,
    )
    return [table, curve]


def _curve(outcomes: Sequence[Outcome]) -> LinePlot:
    """Failures and kinds of failure over the calls of the system."""
    lines: dict[str, list[PlotPoint]] = {"failures": [], "kinds": []}
    calls = failures = 0
    kinds: set[str] = set()
    for at, outcome in enumerate(outcomes):
        calls += outcome.calls
        if outcome.failed:
            failures += 1
            kinds.add(outcome.signature)
        if outcome.failed or at in {0, len(outcomes) - 1}:
            lines["failures"].append(PlotPoint(x=calls, y=failures))
            lines["kinds"].append(PlotPoint(x=calls, y=len(kinds)))
    return LinePlot(
        title="Discoveries",
        x_label="calls of the system",
        y_label="found",
        lines=[PlotLine(name=name, points=points) for name, points in lines.items()],
        stepped=True,
    )


class _Turn:
    """What was said after the same beginning, in all conversations that went there."""

    def __init__(self, text: str, depth: int) -> None:
        self.text = text
        self.depth = depth
        self.answer = ""
        self.conversations = 0
        self.gave_way = 0
        """Conversations in which the target gave way here."""
        self.lost = 0
        """Those in which it did so here or later."""
        self.then: dict[str, _Turn] = {}

    def walk(self) -> "Iterator[_Turn]":
        """Those that follow, what was lost most first."""
        for turn in sorted(self.then.values(), key=lambda each: (-each.lost, -each.conversations)):
            yield turn
            yield from turn.walk()


def _tree(outcomes: Sequence[Outcome]) -> TreePlot | None:
    """The conversations that were tried, as one tree; `None` if there were none of several turns."""
    root = _Turn("", 0)
    for outcome in outcomes:
        graph = outcome.rollout
        level = [] if graph is None else graph.children
        path: list[_Turn] = []
        while len(level) == 1:
            node, before = level[0], path[-1] if path else root
            text = as_text(node.attack)
            turn = before.then.setdefault(text, _Turn(text, len(path) + 1))
            turn.conversations += 1
            won = bool(success_of(node))
            turn.gave_way += won
            turn.answer = as_text(node.response) if won or not turn.answer else turn.answer
            path.append(turn)
            if won:
                for each in path:
                    each.lost += 1
                break
            level = node.children
    turns = list(root.walk())
    if not any(turn.depth > 1 for turn in turns):
        return None
    # A turn is no rarer than those that follow it, so that none is kept without what came before.
    kept = sorted(turns, key=lambda turn: (-turn.lost, -turn.conversations, turn.depth))[:_MOST_TURNS]
    shown = {id(turn) for turn in kept}
    return TreePlot(
        title="Conversations",
        description="What was said, and after it; beginnings that most failures came from stand first",
        nodes=[_turn_node(turn) for turn in turns if id(turn) in shown],
        left_out=len(turns) - len(kept),
    )


def _turn_node(turn: _Turn) -> TreeNode:
    said = shorten(" ".join(turn.text.split()), _TEXT)
    return TreeNode(
        depth=turn.depth,
        tone="bad" if turn.gave_way else "good",
        label=shorten(said, 40),
        outcome=f"gave way {turn.gave_way} of {turn.conversations}",
        text=said,
        answer=shorten(" ".join(turn.answer.split()), _TEXT),
    )


def _tried(outcomes: Sequence[Outcome]) -> TableResult:
    """How the options of each choice did."""
    options: dict[str, dict[Hashable, list[Outcome]]] = defaultdict(lambda: defaultdict(list))
    for outcome in outcomes:
        for name, value in outcome.proposal.choices.items():
            if isinstance(value, str | int | bool):
                options[name][value].append(outcome)
    rows: list[list[Cell]] = []
    for name, by_value in options.items():
        if not 2 <= len(by_value) <= _MOST_OPTIONS:
            continue
        ranked = sorted(by_value.items(), key=lambda item: -fmean(each.reward for each in item[1]))
        for value, mine in ranked:
            failed = sum(bool(each.failed) for each in mine)
            reward = fmean(each.reward for each in mine)
            best = max(each.reward for each in mine)
            rows.append([name, as_text(value), len(mine), failed, round(reward, 4), round(best, 4)])
    return TableResult(
        title="What was tried",
        description="Each option of each choice, the most rewarding first",
        note=_NOT_A_RATE,
        columns=["choice", "option", "trials", "failures", "mean reward", "best reward"],
        rows=rows,
    )
