"""The loop of a search: the strategy proposes, the task answers, the evaluators judge, the strategy is told.

A search is an ordinary run whose cases follow from what came of earlier ones. Each trial is an attempt at a case `trial 1`, `trial 2`, ...,
so it has retries, time-outs, budgets, engines and stores as any run has. What a proposal was made of is the metadata of its case,
beside that of the case it varies.

**Resumed** after a crash, a search asks its strategy again, from the same seed, and takes the outcomes from the store. If the strategy
proposes anything else than was recorded, the search ends with an error: the strategy, its space, the objective or `in_flight` has changed.
"""

import asyncio
import copy
import inspect
import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, Unpack

from calipers.data.argument_checks import check_whole_number
from calipers.data.case import Case
from calipers.data.jsonable import are_plain, plain, safe_repr
from calipers.data.record import ReportCase, ReportCaseFailure
from calipers.data.result import describe_error
from calipers.errors import InvalidOptionError, SearchError
from calipers.process.loop import run_sync
from calipers.report.incomplete import Incomplete
from calipers.rollouts.environment import Environment
from calipers.run.dataset import Dataset, EvaluateOptions

from .conversation_task import ConversationTask
from .discovery_analyses import DiscoveryAnalyses
from .findings import Findings, trial_number
from .objective import Objective
from .proposal import Proposal
from .realism import Realism
from .splitting import Splitting
from .strategy import Strategy
from .trial_outcome import Outcome

_OWN: Final = ("max_concurrency", "repeat", "shard", "stop_when", "keep", "on_record", "reuse")
"""Options of a run that a search decides itself."""


async def search(
    task: Any,
    strategy: Strategy,
    *,
    dataset: Dataset[Any, Any, Any] | None = None,
    evaluators: Sequence[Any] = (),
    trials: int = 100,
    failures: int | None = None,
    in_flight: int = 1,
    objective: Objective | None = None,
    **options: Unpack[EvaluateOptions],
) -> Findings:
    """Look for inputs on which a task fails.

    Args:
        task: what is under test: a task, or an `Environment` of conversations.
        strategy: chooses what to try; it has the space that inputs come from.
        dataset: whose evaluators judge each trial, and whose name the run has.
        evaluators: further evaluators of each trial.
        trials: how many to make at most; `budget` limits calls of models, tokens, money and time.
        failures: after how many failures to end; `None`: to go on.
        in_flight: how many trials are under way at once. With more, the strategy chooses without knowing the last ones.
        objective: what counts as a failure, and how near a trial came to one.
        **options: those of `Dataset.evaluate`: `store`, `resume`, `seed`, `budget`, `task_timeout`, `retry` and others.

    Raises:
        InvalidOptionError: an option is not one.
        SearchError: the strategy failed before the first trial.
    """
    judges = [*([] if dataset is None else dataset.evaluators), *evaluators]
    objective = objective or Objective()
    if (
        isinstance(objective, Objective) and objective.realism is None
    ):  # it would count as a score, and low ones are what a search looks for
        judging = next((each for each in judges if isinstance(each, Realism)), None)
        objective = replace(objective, realism=judging, weight=0.0)
    _check(strategy, objective, options)
    if objective.realism is not None and objective.realism not in judges:
        judges.append(objective.realism)
    source = Trials(strategy, objective, trials=trials, failures=failures, in_flight=in_flight)
    judged = Dataset(
        name=None if dataset is None else dataset.name,
        cases=source,
        evaluators=judges,
        report_evaluators=[
            *([] if dataset is None else dataset.report_evaluators),
            DiscoveryAnalyses(objective),
        ],
    )
    what = ConversationTask(task) if isinstance(task, Environment) else task
    given: Any = {**options, "max_concurrency": in_flight, "on_record": source.take}
    report = await judged.evaluate(what, **given)
    await source.finish()
    if source.broken is not None:
        _, message, _ = describe_error(source.broken)
        if not report.cases and not report.failures:
            if isinstance(source.broken, SearchError):
                raise source.broken
            raise SearchError(f"{source.name} failed before the first trial: {message}") from source.broken
        report.incomplete = report.incomplete or Incomplete("failed", f"{source.name} failed: {message}")
    estimate = getattr(strategy, "estimate", None)
    rate: Any = estimate() if callable(estimate) else None
    return Findings(report, tuple(source.outcomes), rate)


def search_sync(task: Any, strategy: Strategy, **options: Any) -> Findings:
    """`search` for code that is not async, with the same options."""
    return run_sync(lambda: search(task, strategy, **options))


def _check(strategy: Any, objective: Any, options: Mapping[str, Any]) -> None:
    for name in _OWN:
        if name in options:
            hint = "; in_flight=... says how many trials are under way" if name == "max_concurrency" else ""
            raise InvalidOptionError(f"a search decides {name} itself: leave it out{hint}")
    if inspect.isclass(strategy) or not isinstance(strategy, Strategy):
        raise InvalidOptionError(
            f"strategy must have the methods ask(rng) and tell(outcome), got {safe_repr(strategy):.200}"
        )
    if not isinstance(objective, Objective):
        raise InvalidOptionError(f"objective must be an Objective, got {safe_repr(objective):.200}")
    if objective.realism is not None and objective.weight and isinstance(strategy, Splitting):
        raise InvalidOptionError(
            "splitting goes by how near a failure came, and estimates how likely one is in use: give its Objective weight=0, so that realism ranks the "
            "failures and does not steer"
        )


class Trials:
    """The cases of a search: each is asked for when the outcomes before it were told."""

    def __init__(
        self,
        strategy: Strategy,
        objective: Objective,
        *,
        trials: int,
        failures: int | None = None,
        in_flight: int = 1,
    ) -> None:
        self.strategy = strategy
        self.objective = objective
        self.trials = check_whole_number("trials", trials, at_least=1)
        self.failures = check_whole_number("failures", failures, at_least=1, or_none=True)
        self.in_flight = check_whole_number("in_flight", in_flight, at_least=1)
        self.outcomes = list[Outcome]()
        """What the strategy was told, in that order."""
        self.broken: BaseException | None = None
        """What the strategy raised."""
        self._seed = 0
        self._recorded: dict[int, ReportCase | ReportCaseFailure] = {}
        self._proposed: dict[int, Proposal] = {}
        """Of the trials that were begun, and not told."""
        self._records: dict[int, ReportCase | ReportCaseFailure] = {}
        """Of the trials that are over, and not told."""
        self._asked = 0
        self._told = 0
        self._failed = 0
        self._next: Case[Any, Any, Any] | None = None
        self._ended = False
        self._news = asyncio.Event()

    @property
    def name(self) -> str:
        """What to call the strategy."""
        return f"the strategy {type(self.strategy).__name__}"

    # ------------------------------------------------------------------ as cases of a run

    @property
    def is_sample(self) -> bool:
        """Whether the strategy draws from the space, whatever came of earlier trials."""
        return bool(getattr(self.strategy, "is_sample", False))

    def begin(self, seed: int, recorded: Iterable[ReportCase | ReportCaseFailure]) -> None:
        """Take the seed of the run, and the trials that it has already."""
        self._seed = seed
        self._recorded = {number: record for record in recorded if (number := trial_number(record))}
        self.trials = max(self.trials, max(self._recorded, default=0))

    async def another(self) -> bool:
        """Whether there is another trial; waits for the outcomes that the strategy has to know first."""
        number = self._asked + 1
        try:
            await self._tell_up_to(number - self.in_flight, waits=True)
            if self._ended or number > self.trials or self._found_enough():
                return False
            proposal = await self._ask(number)
            if proposal is None:
                self.end()
                return False
            self._next = _case_of(number, proposal)
        except Exception as error:
            self.broken, self._next = error, None
            self.end()
            return True  # the run ends by what the iterator raises
        self._proposed[number] = proposal
        self._asked = number
        return True

    def __iter__(self) -> Iterator[Case[Any, Any, Any]]:
        while self._next is not None:
            case, self._next = self._next, None
            yield case
        if self.broken is not None:
            raise SearchError(f"{self.name} failed: {describe_error(self.broken)[1]}") from self.broken

    def end(self) -> None:
        """Propose no more."""
        self._ended = True
        self._news.set()

    def take(self, record: ReportCase | ReportCaseFailure) -> None:
        """Take the record of a trial that is over."""
        self._records[trial_number(record)] = record
        self._news.set()

    async def finish(self) -> None:
        """Tell the strategy what it was not told yet, now that nothing is in flight."""
        try:
            for number in sorted(self._records):
                await self._tell(number)
        except Exception as error:
            self.broken = self.broken or error

    # ------------------------------------------------------------------ the strategy

    async def _ask(self, number: int) -> Proposal | None:
        rng = random.Random(f"search {self._seed} {number}")  # noqa: S311 - chance, not secrets
        recorded = self._recorded.get(number)
        if recorded is not None and getattr(self.strategy, "asks_models", False):
            return Proposal(recorded.inputs, choices=recorded.metadata or {})
        found: Any = self.strategy.ask(rng)
        proposal = await found if inspect.isawaitable(found) else found
        if proposal is None:
            return None
        if not isinstance(proposal, Proposal):
            raise InvalidOptionError(
                f"ask() gives a Proposal, or None when there is nothing left to try, got {safe_repr(proposal):.200}"
            )
        if (
            recorded is not None
            and are_plain(proposal.inputs)
            and plain(proposal.inputs) != plain(recorded.inputs)
        ):
            raise SearchError(
                f"trial {number} of the run was {safe_repr(recorded.inputs):.200}, and is now {safe_repr(proposal.inputs):.200}: "
                "the strategy, its space, the objective or in_flight has changed since the run began: start a new search"
            )
        return proposal

    async def _tell_up_to(self, number: int, *, waits: bool) -> None:
        """Tell the outcomes up to this trial in their order, as soon as each is known."""
        while self._told < number:
            if self._told + 1 in self._records:
                await self._tell(self._told + 1)
            elif self._ended or not waits:
                return
            else:
                self._news.clear()
                await self._news.wait()

    async def _tell(self, number: int) -> None:
        record = self._records.pop(number)
        await self.objective.prepare(record)
        outcome = self.objective.read(number, self._proposed.pop(number), record)
        self._told = number
        self._failed += bool(outcome.failed)
        self.outcomes.append(outcome)
        told: Any = self.strategy.tell(outcome)
        if inspect.isawaitable(told):
            await told

    def _found_enough(self) -> bool:
        return self.failures is not None and self._failed >= self.failures


def _case_of(number: int, proposal: Proposal) -> Case[Any, Any, Any]:
    """The case of a trial. Its inputs are a copy: a task that changes them does not change the space."""
    like, metadata = proposal.case, dict(proposal.choices)
    more: dict[str, Any] = {}
    if like is not None:
        if like.has_expected_output:
            more["expected_output"] = like.expected_output
        more |= {
            "expected_tool_calls": like.expected_tool_calls,
            "evaluators": like.evaluators,
            "cluster": like.cluster,
            "tags": like.tags,
            "timeout": like.timeout,
        }
        if isinstance(like.metadata, Mapping):
            metadata = {**metadata, **like.metadata}
        elif like.metadata is not None:
            return Case(
                name=f"trial {number}", inputs=copy.deepcopy(proposal.inputs), metadata=like.metadata, **more
            )
    return Case(
        name=f"trial {number}", inputs=copy.deepcopy(proposal.inputs), metadata=metadata or None, **more
    )
