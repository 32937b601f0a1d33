"""`JudgeTurns`: any evaluator, of any style, judges every turn of a rollout.

The evaluator sees a turn as an attempt of its own: the attack is the inputs, the response the output, and the turn's trace,
duration and metadata are those of the attempt. It is skipped where a turn lacks what it needs. If it fails in one turn, it fails
for the rollout. Over the turns in which it was not skipped, it gives:

| it gives | `overall` has |
|---|---|
| a flag `NAME` | `NAME`: whether it held in every turn, or with `combine="any"` in at least one; `NAME.mean`: the share of turns in which it held; `NAME.decided_at`: the number of the first turn that decided it, `None` if none did |
| a number `NAME` | `NAME.mean`, `NAME.min`, `NAME.max` |
| a label `NAME` | `NAME`: the label of most turns, the earlier one if two have as many |

In a rollout that broke off (`Graph.broke_off`), a flag that no turn decided is `None`. One name with values of several kinds, a
flag here and a number there, is an error.

`per_turn` has a row for every turn of the tree, in the order of `Graph.walk`, with what was said and every result; where the tree
branches, also `branch` and `parent`, as in `ASTEvaluator`. A result named like another column, such as `turn`, becomes `turn_2`.

To judge a rollout as a whole you need no `JudgeTurns`: an evaluator with a parameter `graph` gets the `Graph`.
"""

import inspect
from collections import Counter
from collections.abc import Sequence
from typing import Any, Literal

from calipers.data.argument_checks import check_choice
from calipers.data.context import EvaluatorContext
from calipers.data.evaluator_output import Abstention, read_parts
from calipers.data.evaluator_styles import as_evaluator
from calipers.data.result import EvaluatorSpec, Scalar
from calipers.data.result_names import unique
from calipers.errors import InvalidOptionError, InvalidOutputError

from .graph import Graph, numbered_turns
from .metrics import GraphMetrics, MeasuredRollouts, goals_of, mark_branches, metrics_data, summarize_metrics
from .rollout_evaluator import Evaluator
from .rollout_outcome import goal_of

_COLUMNS = ("turn", "attack", "response", "branch", "parent")
"""What a row has besides results."""


class JudgeTurns(Evaluator):
    """Has an evaluator judge every turn, in a `Dataset` of rollouts or by itself."""

    def __init__(
        self,
        evaluator: Any,
        env: Any = None,
        seeds: Sequence[Any] | None = None,
        *,
        combine: Literal["all", "any"] = "all",
        expected_output: Any = None,
        name: str | None = None,
    ) -> None:
        """Store the parts.

        Args:
            evaluator: judges a turn; any of the five styles but a rollout metric.
            env: what `evaluate` rolls out; not needed in a `Dataset`.
            seeds: what to roll out.
            combine: whether a flag must hold in all turns of a rollout, or in any of them.
            expected_output: what is expected of every response, for evaluators that compare.
            name: of the results; default: the evaluator's own.
        """
        super().__init__(env, seeds)
        self.evaluator = evaluator
        self.combine = combine
        self.expected_output = expected_output
        self.name = name
        check_choice("combine", combine, ("all", "any"))
        if callable(getattr(evaluator, "compute_metrics", None)):
            raise InvalidOptionError(f"{evaluator!r:.200} judges whole rollouts already: use it as it is")
        self._inner = as_evaluator(evaluator, name=name)

    def get_default_evaluation_name(self) -> str:
        """The name given, else the evaluator's."""
        return self._inner.get_default_evaluation_name()

    def as_spec(self) -> EvaluatorSpec:
        """The evaluator's own spec inside this one's."""
        inner = self._inner.as_spec()
        arguments: dict[str, Any] = {"evaluator": {inner.name: inner.arguments}}
        if self.combine != "all":
            arguments["combine"] = self.combine
        if self.expected_output is not None:
            arguments["expected_output"] = self.expected_output
        return EvaluatorSpec(type(self).__name__, arguments)

    async def compute_metrics(self, g: Graph[Any, Any]) -> GraphMetrics:
        """What the evaluator says of each turn, and what that comes to."""
        per_turn: list[dict[str, Any]] = []
        found: dict[str, list[tuple[int, Scalar]]] = {}
        names: dict[str, str] = {}
        for number, node in numbered_turns(g):
            row: dict[str, Any] = {
                "turn": number,
                "attack": getattr(node, "attack", getattr(node, "probe", None)),
                "response": getattr(node, "response", None),
            }
            for said, value, reason in await self._results(number, node):
                name = _column(said, names)
                row[name] = value
                if reason is not None:
                    row[_column(f"{said}.reason", names)] = reason
                if value is not None:
                    found.setdefault(name, []).append((number, value))
            per_turn.append(row)
        mark_branches(per_turn)
        overall: dict[str, Any] = {}
        for name, values in found.items():
            for key, value in self._combined(
                name, values, broke_off=bool(getattr(g, "broke_off", False))
            ).items():
                overall[unique(key, set(overall))] = value
        goal = goal_of(g) if isinstance(g, Graph) else None
        return GraphMetrics(overall=overall, per_turn=per_turn, goal=goal)

    def aggregate_metrics(self, all_metrics: list[GraphMetrics]) -> Any:
        """Each overall metric over all rollouts, as `summarize_metrics` says it, and every rollout in `details`.

        Rollouts of the same goal are taken for a cluster; `unit` says what the intervals take for independent.
        """
        goals = goals_of(all_metrics)
        summary: dict[str, Any] = {"n_rollouts": len(all_metrics)}
        if isinstance(all_metrics, MeasuredRollouts):
            summary |= all_metrics.missing()
        summaries = summarize_metrics(all_metrics, clusters=goals)
        return {
            "summary": {**summary, **{name: found.mean for name, found in summaries.items()}},
            "unit": "rollout" if goals is None else "goal",
            "details": [metrics_data(metrics) for metrics in all_metrics],
            "distributions": {name: found.to_dict() for name, found in summaries.items()},
        }

    async def _results(self, number: int, node: Any) -> list[tuple[str, Scalar | None, str | None]]:
        """Name, value and reason of each result of one turn; no value where it was skipped."""
        try:
            output: Any = self._inner.evaluate(self._context(number, node))
            output = await output if inspect.isawaitable(output) else output
            parts = read_parts(output)
        except Exception as error:
            error.add_note(f"in turn {number} of the rollout")
            raise
        own = self.get_default_evaluation_name()
        return [
            (part.key or own, None if isinstance(part, Abstention) else part.value, part.reason)
            for part in parts
        ]

    def _context(self, number: int, node: Any) -> EvaluatorContext[Any, Any, Any]:
        """A turn as an attempt."""
        metadata = getattr(node, "metadata", None)
        return EvaluatorContext(
            name=f"turn {number}",
            inputs=getattr(node, "attack", getattr(node, "probe", None)),
            metadata=metadata,
            expected_output=self.expected_output,
            output=getattr(node, "response", None),
            duration=getattr(node, "duration", None) or 0.0,
            _span_tree=None,
            attributes={},
            metrics={},
            trace=getattr(node, "trace", None),
        )

    def _combined(self, name: str, values: list[tuple[int, Scalar]], *, broke_off: bool) -> dict[str, Any]:
        """What the values of one name, each with the number of its turn, come to."""
        only = [value for _, value in values]
        kinds = {_kind(value) for value in only}
        if len(kinds) > 1:
            raise InvalidOutputError(
                f"{name!r} is a {' in some turns and a '.join(sorted(kinds))} in others: an evaluator of turns gives each "
                "name one kind of value"
            )
        if kinds == {"flag"}:
            deciding = self.combine == "any"
            decided = min((number for number, value in values if value is deciding), default=None)
            undecided = None if broke_off else not deciding
            return {
                name: undecided if decided is None else deciding,
                f"{name}.mean": only.count(True) / len(only),
                f"{name}.decided_at": decided,
            }
        if kinds == {"number"}:
            numbers = [float(value) for value in only]
            return {
                f"{name}.mean": sum(numbers) / len(numbers),
                f"{name}.min": min(numbers),
                f"{name}.max": max(numbers),
            }
        return {name: Counter(only).most_common(1)[0][0]}


def _kind(value: Scalar) -> str:
    if isinstance(value, bool):
        return "flag"
    return "label" if isinstance(value, str) else "number"


def _column(said: str, names: dict[str, str]) -> str:
    """The column of a result, the same in every turn of a rollout; `names` has those that are known."""
    if said not in names:
        names[said] = unique(said, {*_COLUMNS, *names.values()})
    return names[said]
