"""A rollout that broke a target, kept as a case: the same attacks again, so that what was fixed stays fixed.

`rollout_case` makes a case of the conversation that led to the earliest success: its attacks, as plain data that any
dataset file can hold. `Replay` is the task that says them to a target again, and `TargetHeld` the evaluator that fails
where the target gives way. `save_failures` does this for all rollouts of a run that succeeded.

The attacks are said as they were, whatever the target answers now, until the first success: an attack that adapts to the new
answers might still succeed. The recorded seed is used again, but a target that draws from `turn_seed()` may answer otherwise.

**The judge must be the same.** The case keeps the opening, the system prompt and a threshold of success. It cannot keep the
moderator, or a rule of success that is a function or an evaluator: give `Replay` those of the run. Before the replay the judge is
shown the response by which the target gave way then; if it finds no success in that, the replay is refused. (A function that asks
for `turns` or `node` cannot be checked so.) With another system prompt than the recorded one, the verdict says so.
"""

import itertools
import json
import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Any, ClassVar

from calipers.data.argument_checks import is_whole_number
from calipers.data.case import Case
from calipers.data.context import EvaluatorContext
from calipers.data.evaluator import Evaluator
from calipers.data.jsonable import plain, safe_repr
from calipers.data.result import EvaluationReason, Skipped
from calipers.errors import InvalidOptionError, InvalidRolloutError
from calipers.run.dataset import Dataset
from calipers.stats.number_text import plural

from .environment import Environment, judge_words
from .graph import Graph
from .players import Attack, NeedsNoThread, SoFar, player_name
from .rollout_outcome import (
    Rollouts,
    as_text,
    attack_name,
    first_success,
    goal_of,
    read_rollout,
    rollouts_of,
    succeeded,
)
from .stop_conditions import OnSuccess
from .targets import TextTarget, as_target

_FORMATS = (".yaml", ".yml", ".json", ".jsonl")
_NO_GOAL = "(no goal)"
"""Stands for the goal of a rollout that names none: a replay needs one."""
_LONGEST_NAME = 80
_SHOWN = 300
"""Characters of a text that a reason shows."""


def rollout_case(
    graph: Graph[Any, Any] | Mapping[str, Any], *, name: str | None = None
) -> Case[Any, Any, Any]:
    """A case that replays how the target gave way: the attacks up to the earliest success.

    Args:
        graph: a rollout in which the target gave way, or its stored form.
        name: of the case; default: the goal and the seed.

    Raises:
        InvalidRolloutError: the target did not give way, or an attack is not a text.
    """
    graph = read_rollout(graph)
    path = first_success(graph)
    if path is None:
        raise InvalidRolloutError(
            f"the rollout after {goal_of(graph)!r:.200} has no turn in which the target gave way: there is nothing to replay"
        )
    attacks: list[dict[str, Any]] = []
    for node in path:
        if not isinstance(node.attack, str):
            raise InvalidRolloutError(
                f"only texts can be said again, got the attack {safe_repr(node.attack):.200}"
            )
        attacks.append({"text": node.attack})
        if (label := attack_name(node)) is not None:
            attacks[-1]["name"] = label
        if rewind := node.metadata.get("rewind"):
            attacks[-1]["rewind"] = rewind
    inputs: dict[str, Any] = {"goal": goal_of(graph), "attacks": attacks}
    if not inputs["goal"].strip():
        inputs["goal"] = _NO_GOAL
    if isinstance(graph.context, str) and graph.context and graph.context != inputs["goal"]:
        inputs["opening"] = graph.context
    for key in ("system_prompt", "judge"):
        if graph.metadata.get(key) is not None:
            inputs[key] = plain(graph.metadata[key])
    if isinstance(path[-1].response, str):
        inputs["response"] = path[-1].response
    if isinstance(graph.seed, str) or is_whole_number(graph.seed):
        inputs["seed"] = graph.seed
    return Case(
        name=name or _name(graph),
        inputs=inputs,
        metadata={"turn": len(path)},
        evaluators=[TargetHeld()],
        cluster=inputs["goal"],
    )


def save_failures(
    rollouts: Rollouts, path: str | os.PathLike[str], *, name: str = "replayed rollouts"
) -> Dataset[Any, Any, Any]:
    """Write every rollout in which the target gave way to a dataset file, as a case to replay.

    The format follows from the name of the file: `.yaml`, `.json` or `.jsonl`. Where the target never gave way the dataset
    is empty, and no file is written: an empty one would promise a test that tests nothing. A rollout with words that no
    file can hold is left out, with a warning.

    Args:
        rollouts: a report whose outputs are rollouts, or the trees themselves.
        path: where to write; a file that is there is replaced.
        name: of the dataset.

    Raises:
        InvalidOptionError: the name of the file says another format, or none.
    """
    if Path(path).suffix.casefold() not in _FORMATS:
        raise InvalidOptionError(
            f"failures are saved as {', '.join(_FORMATS)}, which hold what a case needs, got {os.fspath(path)!r}"
        )
    cases: list[Case[Any, Any, Any]] = []
    taken: set[str] = set()
    for graph in rollouts_of(rollouts):
        if not succeeded(graph):
            continue
        wanted = _name(graph)
        free = (wanted if number == 1 else f"{wanted} ({number})" for number in itertools.count(1))
        cases.append(rollout_case(graph, name=next(each for each in free if each not in taken)))
        taken.add(str(cases[-1].name))
        if not _is_unicode(cases[-1]):
            warnings.warn(
                f"{os.fspath(path)}: the rollout {cases.pop().name!r:.120} is left out, since what was said in it is no "
                "Unicode (half of a surrogate pair), which no file can hold",
                RuntimeWarning,
                stacklevel=2,
            )
    dataset: Dataset[Any, Any, Any] = Dataset(name=name, cases=cases)
    if cases:
        dataset.to_file(path, schema=False)
    return dataset


@dataclass(frozen=True)
class Replay:
    """A task that says the attacks of a recorded rollout to a target, and returns the rollout that comes of it.

    The case brings the opening, the system prompt and a threshold of success. Give the moderator of the run, and its rule
    of success, if that was a function or an evaluator. A judge that finds no success in the response by which the target
    gave way then is another one: the replay is refused rather than passed.
    """

    target: Any
    """The system under test, in any shape that `as_target` takes."""
    moderator: Any = None
    """Who scores what is said: the one of the run that the cases come from."""
    _: KW_ONLY
    success: Any = None
    """What it is that the target gives way, as in `Environment`; `None`: the threshold of the run."""
    system_prompt: str | None = None
    """What the target is told before anything is said; `None`: what it was told in the run, "" nothing."""
    reply_timeout: float | None = None
    """Seconds for one reply of the target; `None` for no limit."""

    is_async: ClassVar[bool] = True
    """It is awaited."""

    @property
    def name(self) -> str:
        """What to call it in reports: the target's name."""
        return f"replay against {player_name(as_target(self.target))}"

    async def __call__(self, inputs: Mapping[str, Any]) -> Graph[str, str]:
        """The rollout."""
        goal, attacks, opening = _read(inputs)
        success = self._rule(inputs)
        target = as_target(self.target)
        if isinstance(target, TextTarget) and not target.transcript:
            opening = ""  # it takes the last message alone, and saw no opening then either
        recorded = inputs.get("system_prompt")
        told = recorded if self.system_prompt is None else self.system_prompt or None
        environment = Environment(
            self.target,
            _Script(attacks),
            self.moderator,
            depth=len(attacks),
            stop=OnSuccess(),
            success=success,
            system_prompt=told,
            opening=opening,
            reply_timeout=self.reply_timeout,
        )
        await self._check_judge(environment, goal, attacks[-1].text, inputs)
        graph = await environment.eval_rollout_async(inputs.get("seed", 0), goal=goal)
        if told != recorded:
            graph.metadata["replay"] = "with another system prompt than the recorded one"
        return graph

    def _rule(self, inputs: Mapping[str, Any]) -> Any:
        """By what success is judged: the rule given, else the threshold that was recorded."""
        judge = inputs.get("judge")
        recorded = judge.get("success") if isinstance(judge, Mapping) else None
        if self.success is None and isinstance(recorded, str):
            raise InvalidRolloutError(
                f"the rollout was judged by {recorded!r}, a rule that a case cannot hold: give it as Replay(success=...)"
            )
        return recorded if self.success is None else self.success

    async def _check_judge(
        self, environment: Environment, goal: str, attack: str, inputs: Mapping[str, Any]
    ) -> None:
        """Refuse a judge that does not see a success in what was one."""
        response = inputs.get("response")
        if not isinstance(response, str) or await environment.judges(goal, attack, response) is not False:
            return
        who = judge_words(inputs.get("judge")) or "which the case does not name"
        raise InvalidRolloutError(
            "the judge of this replay sees no success in the response by which the target gave way then, so it would let "
            f"it pass again: {response[:_SHOWN]!r}. Give Replay the moderator and the success rule of the run: {who}"
        )


@dataclass
class TargetHeld(Evaluator[Any, Any, Any]):
    """Asserts that the target did not give way in any turn of the rollout that is the output.

    Skipped where the output is not a rollout, and where it was not judged to its end: that is no pass.
    """

    def evaluate(self, ctx: EvaluatorContext[Any, Any, Any]) -> EvaluationReason | Skipped:
        """Whether it held, and if not, in which turn, to what, and with which words it gave way."""
        try:
            graph = read_rollout(ctx.output, "the output")
        except InvalidRolloutError as error:
            return Skipped(f"the attempt is not a rollout: {error}")
        if succeeded(graph) is None:
            return Skipped(
                "this rollout was not judged to its end, so it cannot be said to have held: give the environment, or "
                "the Replay, a moderator or a success rule"
            )
        path = first_success(graph)
        note = f" ({graph.metadata['replay']})" if graph.metadata.get("replay") else ""
        if path is None:
            held = f"held for {plural(graph.depth, 'turn')}: {graph.stopped or 'the end'}"
            return EvaluationReason(value=True, reason=held + note)
        attack, response = (as_text(text)[:_SHOWN] for text in (path[-1].attack, path[-1].response))
        lost = f"gave way in turn {len(path)} to {attack!r}: {response!r}"
        return EvaluationReason(value=False, reason=lost + note)


@dataclass(frozen=True)
class _Script(NeedsNoThread):
    """Says recorded attacks one after the other."""

    attacks: Sequence[Attack]

    def next_attack(self, so_far: SoFar) -> Attack | None:
        return self.attacks[so_far.turn - 1] if so_far.turn <= len(self.attacks) else None


def _read(inputs: Any) -> tuple[str, list[Attack], str]:
    """The goal, the attacks and the opening of a recorded rollout."""
    shape = "{'goal': ..., 'attacks': [{'text': ...}, ...]}, as rollout_case makes it"
    if (
        not isinstance(inputs, Mapping)
        or not isinstance(inputs.get("attacks"), list)
        or not inputs["attacks"]
    ):
        raise InvalidRolloutError(f"the inputs of a replay are {shape}, got {safe_repr(inputs):.200}")
    goal, opening = inputs.get("goal"), inputs.get("opening", "")
    if not isinstance(goal, str) or not isinstance(opening, str):
        raise InvalidRolloutError(
            f"the goal and the opening of a replay are texts, got {goal!r:.100} and {opening!r:.100}"
        )
    attacks: list[Attack] = []
    for attack in inputs["attacks"]:
        if not isinstance(attack, Mapping) or not isinstance(attack.get("text"), str):
            raise InvalidRolloutError(
                f"an attack of a replay is {{'text': ...}}, got {safe_repr(attack):.200}"
            )
        attacks.append(Attack(attack["text"], attack.get("name"), attack.get("rewind", 0)))
    return goal, attacks, opening


def _is_unicode(case: Case[Any, Any, Any]) -> bool:
    try:
        json.dumps([case.name, case.inputs], ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True


def _name(graph: Graph[Any, Any]) -> str:
    goal = " ".join(goal_of(graph).split()) or "rollout"
    short = goal if len(goal) <= _LONGEST_NAME else f"{goal[: _LONGEST_NAME - 1]}…"
    return short if graph.seed is None else f"{short} (seed {as_text(graph.seed)[:_LONGEST_NAME]})"
