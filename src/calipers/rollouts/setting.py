"""What a rollout was made under: who judged it, and within which limits. Without these a rate says little.

An environment notes them in `Graph.metadata`:

- `judge`: `moderator`, the name of who scored, and `success`, the threshold, or the name of the function or evaluator that
  decided; each only if there was one. A name is not the whole rule: what a moderator looks for may be a secret.
- `limits`: `depth`, `width`, and `stop`, the stop conditions in words, where there are any.
- `tester`: `"user"`, where a simulated or scripted user talks to the target; else it is left out.
- `system_prompt`, where there is one: what the target was told.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from calipers.data.evaluator_styles import as_evaluator
from calipers.stats.number_text import plural

from .graph import Graph
from .moderators.moderator import FunctionModerator
from .stop_conditions import StopCondition
from .targets import name_of
from .turn_success import wanted_by


def judge_data(moderator: Any, success: Any) -> dict[str, Any]:
    """Who judges, as plain data."""
    found: dict[str, Any] = {}
    if moderator is not None:
        named = moderator.function if isinstance(moderator, FunctionModerator) else moderator
        found["moderator"] = name_of(named)
    if isinstance(success, int | float):
        found["success"] = success
    elif success is not None:
        is_function = wanted_by(success) is not None
        found["success"] = (
            name_of(success) if is_function else as_evaluator(success).get_default_evaluation_name()
        )
    return found


def limits_data(*, depth: int, width: int, stop: StopCondition) -> dict[str, Any]:
    """The limits of a rollout, as plain data."""
    found: dict[str, Any] = {"depth": depth, "width": width}
    if described := stop.describe():
        found["stop"] = described
    return found


def judge_words(judge: Any) -> str:
    """Who judged, in words; "" where nobody did, or nobody says."""
    if not isinstance(judge, Mapping):
        return ""
    moderator, success = judge.get("moderator"), judge.get("success")
    if isinstance(success, int | float):
        return f"{moderator}, from {success:g} on" if moderator else ""
    return str(success or "")


def limits_words(limits: Any) -> str:
    """Limits in words; "" where nobody says."""
    if not isinstance(limits, Mapping) or not isinstance(limits.get("depth"), int):
        return ""
    words = f"at most {plural(limits['depth'], 'turn')}"
    if isinstance(width := limits.get("width"), int) and width > 1:
        words += f", each followed by {width:,}"
    return f"{words}, until {limits['stop']}" if limits.get("stop") else words


def settings(graphs: Iterable[Graph[Any, Any]]) -> tuple[list[str], list[str]]:
    """All judges and all limits of these rollouts, in words, each once, in the order in which they came."""
    judges: dict[str, None] = {}
    limits: dict[str, None] = {}
    for graph in graphs:
        judges[judge_words(graph.metadata.get("judge"))] = None
        limits[limits_words(graph.metadata.get("limits"))] = None
    return [words for words in judges if words], [words for words in limits if words]
