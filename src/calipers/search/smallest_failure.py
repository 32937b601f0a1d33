"""The smallest failure: reduces inputs that fail to the smallest that still fail, in the same way.

**"Still fails"** means at a rate above `rate`. The original inputs are tried first, up to five times: if they fail each time, the system is taken to answer the same way
always, and each reduction is tried once. Otherwise each is tried until a sequential test tells whether it fails at a rate above or below that
(`calipers.stats.EProcess`, 5 % doubt each way), and one that is not told in sixty tries does not count. What is left is tried anew in the end, by the same test. If it does
not fail in every try, single tries were not to be trusted, and it goes on by tests: from there, or from the original if the test refutes it.

**In the same way** means with the same signature: the error, or the assertions that did not hold.
"""

import json
import random
from collections.abc import Generator, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, Final, Literal, Unpack

from calipers.data.argument_checks import check_share, check_whole_number
from calipers.data.case import Case
from calipers.data.jsonable import are_plain, plain, safe_repr
from calipers.errors import InvalidOptionError
from calipers.process.loop import run_sync
from calipers.report.report import Report
from calipers.rollouts.environment import Environment
from calipers.rollouts.rollout_outcome import first_success, read_rollout
from calipers.run.dataset import Dataset, EvaluateOptions
from calipers.stats.interval import Interval
from calipers.stats.number_text import percent, plural
from calipers.stats.sequential import EProcess, anytime_interval, stakes_for

from .findings import case_like, size_of
from .objective import Objective
from .proposal import Proposal
from .reduction import reductions
from .search_run import search
from .trial_outcome import Outcome

FIRST: Final = 5
"""Tries of the original, after which it is taken to fail always."""
MOST: Final = 60
"""Tries of one reduction by a test."""
LAST: Final = 10
"""Tries of what is left, at least."""
_ENOUGH: Final = 20.0
"""An e-value of 20 is 5 % doubt."""
_UNKNOWN: Final = 3
"""Tries in a row of which nothing is known, after which a reduction does not count."""

Ending = Literal["smallest", "out_of_trials", "does_not_fail"]
_Trying = Generator[Any, Outcome, bool]


class SmallestFailure:
    """Proposes reductions of inputs, one trial after the other."""

    def __init__(
        self,
        case: Case[Any, Any, Any],
        *,
        rate: float = 0.3,
        keep_fields: Sequence[str] = (),
        needed_fields: Sequence[str] = (),
    ) -> None:
        """Reduces the inputs of a case.

        Args:
            case: whose inputs fail; its expectation and evaluators hold for the reductions, too.
            rate: how often inputs must fail at least.
            keep_fields: the names of fields that stay as they are.
            needed_fields: the names of fields of which something stays.

        Raises:
            InvalidOptionError: the inputs are no plain data.
        """
        check_share("rate", rate, or_zero=False, or_one=False)
        if not are_plain(case.inputs):
            raise InvalidOptionError(
                f"only texts, numbers, lists and mappings can be reduced, got {safe_repr(case.inputs):.200}"
            )
        self.case = case
        self.rate = rate
        self.smallest: Any = plain(case.inputs)
        self.ending: Ending = "out_of_trials"
        self.signature: str | None = None
        """In which way it fails; `None` before it did."""
        self.last: list[bool] = []
        """What the last tries of the smallest inputs came to: whether they failed."""
        self.by_tests = False
        """Whether reductions are judged by tests, since the system does not always answer the same way."""
        self._fields = (keep_fields, needed_fields)
        self._known: dict[str, bool] = {}
        self._steps = self._work()
        self._next: Any = next(self._steps)
        self._waits = False

    def ask(self, rng: random.Random) -> Proposal | None:
        """The next reduction to try."""
        del rng
        if self._waits:
            raise InvalidOptionError("reductions are tried one after the other: leave out in_flight")
        if self._next is None:
            return None
        self._waits = True
        return Proposal(self._next, case=self.case)

    def tell(self, outcome: Outcome) -> None:
        """Learn whether it still failed."""
        self._waits = False
        try:
            self._next = self._steps.send(outcome)
        except StopIteration:
            self._next = None

    def _work(self) -> Generator[Any, Outcome, None]:
        original = self.smallest
        if not (yield from self._begin(original)):
            self.ending = "does_not_fail"
            return
        yield from self._reduce(original)
        holds = yield from self._test(self.smallest, LAST)
        if not self.by_tests and not all(self.last):
            self.by_tests, self.smallest = True, self.smallest if holds else original
            self._known.clear()
            yield from self._reduce(self.smallest)
            yield from self._test(self.smallest)
        self.ending = "smallest"

    def _begin(self, inputs: Any) -> _Trying:
        """Whether the original fails at all, and always."""
        for _ in range(FIRST):
            if not (yield from self._try(inputs)):
                self.by_tests = True
                return (yield from self._test(inputs))
        return True

    def _reduce(self, inputs: Any) -> Generator[Any, Outcome, None]:
        steps = reductions(inputs, *self._fields)
        try:
            candidate = next(steps)
            while True:
                holds = yield from self._holds(candidate)
                if holds:
                    self.smallest = candidate
                candidate = steps.send(holds)
        except StopIteration:
            return

    def _holds(self, inputs: Any) -> _Trying:
        """Whether inputs still fail, asked once."""
        key = json.dumps(inputs, sort_keys=True)
        if key not in self._known:
            found = self._test(inputs) if self.by_tests else self._try(inputs)
            self._known[key] = yield from found
        return self._known[key]

    def _try(self, inputs: Any) -> _Trying:
        """Whether one try fails in the same way; tries of which nothing is known are made again."""
        for _ in range(_UNKNOWN):
            outcome = yield inputs
            if outcome.failed is None:
                continue
            if outcome.failed and self.signature is None:
                self.signature = outcome.signature
            return bool(outcome.failed and outcome.signature == self.signature)
        return False

    def _test(self, inputs: Any, at_least: int = 0) -> _Trying:
        """Whether inputs fail at a rate above that which counts."""
        stakes = stakes_for(MOST, self.rate)
        above = EProcess(self.rate, stakes=stakes)
        below = EProcess(self.rate, alternative="less", stakes=stakes_for(MOST, 1 - self.rate))
        self.last = []
        while len(self.last) < MOST:
            failed = yield from self._try(inputs)
            self.last.append(failed)
            if above.add(failed) >= _ENOUGH and len(self.last) >= at_least:
                return True
            if below.add(failed) >= _ENOUGH:
                return False
        return False


@dataclass(frozen=True)
class Shrunk:
    """What a failure was reduced to."""

    inputs: Any
    """The smallest inputs that were found to fail."""
    _: KW_ONLY
    case: Case[Any, Any, Any]
    """A case of them, which says in its metadata where they come from."""
    ending: Ending
    """`smallest`: no part of them can be taken away; `out_of_trials`: trials, budget or patience ran out before that; `does_not_fail`: the original
    does not fail at the rate that counts."""
    before: int
    """The size of the original: its words, and each number, flag and field as one."""
    after: int
    """The size of the smallest."""
    trials: int
    """That it took."""
    failed: int
    """Of the last tries of the smallest inputs, those that failed."""
    tries: int
    """How many last tries there were."""
    interval: Interval | None
    """Where the rate may lie at which they fail; it holds although the tries ended when they told enough."""
    report: Report[Any, Any, Any]
    """Of the run that found it."""

    def __str__(self) -> str:
        took = plural(self.trials, "trial")
        if self.ending == "does_not_fail":
            return f"it does not fail often enough to be reduced: in {self.failed} of {plural(self.tries, 'try', 'tries')} ({took})"
        said = f"from size {self.before} to {self.after} in {took}"
        if self.ending == "out_of_trials":
            return f"{said}; not done: give it more trials"
        if self.interval is None:
            return said
        low, high = (percent(end, unit=False) for end in (self.interval.low, self.interval.high))
        return f"{said}; it failed in {self.failed} of {plural(self.tries, 'last try', 'last tries')} [{low}, {high}] %"


async def shrink(
    task: Any,
    case: Any,
    *,
    dataset: Dataset[Any, Any, Any] | None = None,
    evaluators: Sequence[Any] = (),
    rate: float = 0.3,
    keep_fields: Sequence[str] = (),
    trials: int = 2_000,
    objective: Objective | None = None,
    **options: Unpack[EvaluateOptions],
) -> Shrunk:
    """Reduce inputs that fail to the smallest that still fail.

    Args:
        task: what is under test: a task, or an `Environment` of conversations.
        case: that fails: a `Case`, an `Outcome` of a search, or inputs alone.
        dataset: whose evaluators judge.
        evaluators: further evaluators.
        rate: how often inputs must fail at least.
        keep_fields: the names of fields that stay as they are.
        trials: how many to make at most.
        objective: what counts as a failure.
        **options: those of `Dataset.evaluate`: `store`, `resume`, `seed`, `budget`, `task_timeout` and others.

    Raises:
        InvalidOptionError: an option is not one, or the inputs are no plain data.
    """
    check_whole_number("trials", trials, at_least=1)
    original = case_of(case)
    # Without what was said, the environment's own tester would talk.
    needed = ("says",) if isinstance(task, Environment) else ()
    strategy = SmallestFailure(original, rate=rate, keep_fields=keep_fields, needed_fields=needed)
    given: Any = {"name": f"{original.name}, reduced", **options}
    found = await search(
        task, strategy, dataset=dataset, evaluators=evaluators, trials=trials, objective=objective, **given
    )
    if found.report.incomplete is not None and strategy.ending == "smallest":
        strategy.ending = "out_of_trials"
    metadata = {
        "reduced_from": original.name,
        "size": [size_of(original.inputs), size_of(strategy.smallest)],
        "trials": len(found.outcomes),
        "fails_as": strategy.signature,
    }
    return Shrunk(
        strategy.smallest,
        case=case_like(original, strategy.smallest, metadata, name=f"{original.name}, reduced"),
        ending=strategy.ending,
        before=size_of(original.inputs),
        after=size_of(strategy.smallest),
        trials=len(found.outcomes),
        failed=sum(strategy.last),
        tries=len(strategy.last),
        interval=anytime_interval([float(each) for each in strategy.last]),
        report=found.report,
    )


def shrink_sync(task: Any, case: Any, **options: Any) -> Shrunk:
    """`shrink` for code that is not async, with the same options."""
    return run_sync(lambda: shrink(task, case, **options))


def case_of(given: Any) -> Case[Any, Any, Any]:
    """The case to reduce: a conversation that succeeded as what was said in it, up to the success."""
    if isinstance(given, Case):
        return given
    if isinstance(given, Outcome):
        like = given.proposal.case
        inputs = said_in(given.rollout, given.proposal.inputs)
        name = f"trial {given.number}"
        return case_like(like, inputs, None if like is None else like.metadata, name=name)
    return Case(name="failure", inputs=given)


def said_in(rollout: Any, inputs: Any) -> Any:
    """Inputs that say what was said in a conversation, where the target gave way in it; else the inputs as they are."""
    if rollout is None:
        return inputs
    graph = read_rollout(rollout)
    path = first_success(graph)
    if path is None or not all(isinstance(node.attack, str) for node in path):
        return inputs
    goal = graph.metadata.get("goal")
    said: dict[str, Any] = {"says": [node.attack for node in path]}
    return said if goal is None else {"goal": goal, **said}
