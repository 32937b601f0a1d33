"""Checks that authors run on the strategies and spaces of their own searches: `check_strategy(lambda: Mine(space))`.

A strategy is made anew several times, asked and told, one trial at a time and with several in flight, and told of trials of which nothing is known:

- *strategy shape*: it has `ask(rng)` and `tell(outcome)`, sync or async;
- *proposal*: it gives a `Proposal`, or `None` when there is nothing left; its inputs and choices are plain data, so that a stored run has them;
- *chance*: what it proposes follows from `rng` and from what it was told. Else a search could not be resumed. One that asks a model (`asks_models`)
  is not held to this; it is told of trials that it did not propose, as when a run is resumed.
"""

import inspect
import random
from collections.abc import Callable
from typing import Any

from calipers.data.argument_checks import check_function, check_whole_number
from calipers.data.jsonable import are_plain, safe_repr
from calipers.process.loop import run_sync
from calipers.search.proposal import Proposal
from calipers.search.space import Space
from calipers.search.strategy import Strategy
from calipers.search.trial_outcome import Outcome
from calipers.testing.conformance import ConformanceError, Finding, error_text

ADVICE: dict[str, str] = {
    "strategy shape": "write ask(rng), which gives a Proposal, and tell(outcome)",
    "proposal": "give Proposal(inputs, choices=...) of texts, numbers, flags, lists and mappings, or None to end",
    "chance": "draw from the rng of ask alone, and from nothing else that changes",
}
"""What to do about a finding, by its rule."""


def check_strategy(make: Callable[[], Any], *, trials: int = 40) -> list[Proposal]:
    """Check that a strategy keeps the contract, and give what it proposed, one trial at a time.

    Args:
        make: makes the strategy anew, as `lambda: Mine(space)` does.
        trials: how often it is asked each time.

    Raises:
        ConformanceError: an AssertionError that lists every finding, with what to do about it.
    """
    check_function("make", make)
    check_whole_number("trials", trials, at_least=1)
    findings: dict[Finding, None] = {}

    def found(rule: str, problem: str) -> None:
        findings[Finding(rule, problem, advice=ADVICE[rule])] = None

    first = make()
    proposals: list[Proposal] = []
    if not isinstance(first, Strategy):
        found("strategy shape", f"it has no ask and tell, got {safe_repr(first):.100}")
    else:
        proposals = _searched(first, found, trials, in_flight=1)
        if not findings:
            again = _searched(make(), found, trials, in_flight=1)
            several = [_searched(make(), found, trials, in_flight=5) for _ in range(2)]
            if getattr(first, "asks_models", False):
                _tell_all(make(), found, proposals)
            else:
                if again != proposals:
                    found("chance", "the same draws and outcomes, and other proposals")
                if several[0] != several[1]:
                    found("chance", "the same draws and outcomes with five in flight, and other proposals")
    if findings:
        raise ConformanceError(safe_repr(first)[:100], list(findings), "a strategy")
    return proposals


def check_space(space: Any, *, draws: int = 100) -> None:
    """Check that a space keeps the contract: samples and redraws are proposals of plain data that follow from `rng`.

    Raises:
        ConformanceError: an AssertionError that lists every finding, with what to do about it.
    """
    advice = "write sample(rng), redraw(proposal, rng) and keeps_distribution; draw from rng alone, and change nothing that is given"
    problems: dict[str, None] = {}
    if not isinstance(space, Space):
        problems["it has no sample, redraw and keeps_distribution"] = None
    for seed in range(draws if not problems else 0):
        first, second = (random.Random(seed) for _ in range(2))  # noqa: S311 - chance, not secrets
        sample = space.sample(first)
        before = repr(sample)
        if not isinstance(sample, Proposal) or not are_plain(sample.inputs):
            problems[f"sample gave {safe_repr(sample):.100}, which is no Proposal of plain data"] = None
            break
        redrawn = space.redraw(sample, first)
        if not isinstance(redrawn, Proposal) or not are_plain(redrawn.inputs):
            problems[f"redraw gave {safe_repr(redrawn):.100}, which is no Proposal of plain data"] = None
            break
        if repr(sample) != before:
            problems["redraw changed the proposal that it was given"] = None
        if space.redraw(space.sample(second), second) != redrawn:
            problems["the same draws gave another sample or redraw"] = None
    if problems:
        listed = [Finding("space", problem, advice=advice) for problem in problems]
        raise ConformanceError(safe_repr(space)[:100], listed, "a space")


def _searched(
    strategy: Any, found: Callable[[str, str], None], trials: int, *, in_flight: int
) -> list[Proposal]:
    """What a strategy proposes; every tenth trial comes to nothing that is known."""
    proposals: list[Proposal] = []
    for number in range(1, trials + 1):
        if (due := number - in_flight) >= 1 and not _told(strategy, found, due, proposals[due - 1]):
            return proposals
        try:
            proposal = _now(strategy.ask(random.Random(f"check {number}")))  # noqa: S311 - chance, not secrets
        except Exception as error:
            found("proposal", f"asked for trial {number}: {error_text(error)}")
            return proposals
        if proposal is None:
            return proposals
        if not isinstance(proposal, Proposal):
            found("proposal", f"it gave {safe_repr(proposal):.100}")
            return proposals
        if not are_plain(proposal.inputs, dict(proposal.choices)):
            found("proposal", f"not plain data: {safe_repr(proposal):.150}")
            return proposals
        proposals.append(proposal)
    return proposals


def _tell_all(strategy: Any, found: Callable[[str, str], None], proposals: list[Proposal]) -> None:
    for number, proposal in enumerate(proposals, 1):
        recorded = Proposal(proposal.inputs, choices=dict(proposal.choices))
        if not _told(strategy, found, number, recorded):
            return


def _told(strategy: Any, found: Callable[[str, str], None], number: int, proposal: Proposal) -> bool:
    reward = random.Random(repr(proposal.inputs)).random()  # noqa: S311 - chance, not secrets
    failed = None if number % 10 == 0 else reward > 0.95
    outcome = Outcome(number, proposal, failed=failed, reward=0.0 if failed is None else reward)
    try:
        _now(strategy.tell(outcome))
    except Exception as error:
        found("strategy shape", f"told of trial {number} (failed={failed}): {error_text(error)}")
        return False
    return True


def _now(given: Any) -> Any:
    return run_sync(lambda: _awaited(given)) if inspect.isawaitable(given) else given


async def _awaited(given: Any) -> Any:
    return await given
