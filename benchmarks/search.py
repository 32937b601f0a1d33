"""How many calls each search strategy needs to the first failure of a target with planted failures, against random draws, and how small failures are reduced.

Calls to the first failure are the median over 30 seeds, one trial at a time. A strategy that needs more than three times what random draws need is stopped there, and counts
with that number. Targets and their truth are those of `calipers.testing.ZOO`. Calls are counted and not timed, so the numbers are the same on
every machine.
"""

import random
from dataclasses import replace
from statistics import median

from calipers import Case
from calipers.search import (
    CrossEntropy,
    Evolution,
    RandomDraws,
    SmallestFailure,
    ThompsonBandit,
    TreeSearch,
    UpperBoundBandit,
)
from calipers.testing import ZOO, calls_to_failure
from command import alone, sized
from outcome import Outcome, Promise, Row, ratio

SEEDS = 30
MODES_AFTER = 500
"""Trials after which the kinds of failure are counted."""
STRUCTURED = ("keyword_gate", "turn_order", "length_threshold", "distractor", "noisy_arms")
WITHOUT = ("rare_conjunction",)
STEADY = ("keyword_gate", "turn_order", "length_threshold", "rare_conjunction", "distractor", "many_modes")
"""Targets without chance, whose smallest failure is known."""
SHOWS = (1.0, 0.8, 0.65)
"""In which share of the tries a failure shows that is reduced."""


def evolution(target):
    return Evolution(target.space, by=["style"] if "style" in target.space.options else None)


STRATEGIES = {
    "random": lambda target: RandomDraws(target.space),
    "thompson": lambda target: ThompsonBandit(target.space),
    "ucb": lambda target: UpperBoundBandit(target.space),
    "evolution": evolution,
    "tree": lambda target: TreeSearch(target.space),
    "cross-entropy": lambda target: CrossEntropy(target.space),
}


def calls(target, make, seeds, most):
    """For each seed the calls to the first failure, at most `most`."""
    return [calls_to_failure(target, make(target), seed=seed, most=most) or most for seed in range(seeds)]


def first_failures(name, seeds):
    """A row for each strategy on one target, and the promise of the best of them."""
    target = ZOO[name]()
    by_chance = calls(target, STRATEGIES["random"], seeds, round(20 / target.probability))
    most = round(3 * median(by_chance))
    what, rows = f"calls to the first failure of {name}", []
    for subject, make in STRATEGIES.items():
        found = by_chance if subject == "random" else calls(target, make, seeds, most)
        late = sum(each >= most for each in found) if subject != "random" else 0
        note = f"{late} of {seeds} stopped at {most:,}" if late else ""
        rows.append(Row(what, subject, min(found), median(found), seeds, "", note))
    best = min(rows[1:], key=lambda row: row.median)
    promise = Promise(
        f"search: {name}",
        f"median calls of {best.subject} to those of random draws",
        ratio(best.median, rows[0].median),
        0.2 if name in STRUCTURED else 1.2,
        at_least=False,
    )
    return Outcome(tuple(rows), (promise,))


def kinds_found(seeds, trials):
    """How many of the twelve kinds of failure each strategy finds."""
    rows = []
    for subject, make in STRATEGIES.items():
        counts = []
        for seed in range(seeds):
            target = ZOO["many_modes"](codes=512)
            strategy, kinds = make(target), set()
            met = strategy.tell

            def tell(outcome, met=met, kinds=kinds):
                if outcome.failed:
                    kinds.add(outcome.signature)
                met(outcome)

            strategy.tell = tell
            calls_to_failure(target, strategy, seed=seed, most=trials, failures=trials + 1)
            counts.append(len(kinds))
        rows.append(
            Row(
                f"kinds of failure found in {trials:,} calls, of 12",
                subject,
                max(counts),
                median(counts),
                seeds,
                "",
            )
        )
    return Outcome(tuple(rows))


def nothing_to_find(seeds, trials):
    """That no strategy finds a failure of a target that never fails."""
    target = ZOO["never_fails"]()
    rows = []
    for subject, make in STRATEGIES.items():
        found = calls(target, make, seeds, trials)
        none = sum(each == trials for each in found)
        note = f"no failure in {none} of {seeds} searches"
        rows.append(
            Row("calls, of a target that never fails", subject, min(found), median(found), seeds, "", note)
        )
    return Outcome(tuple(rows))


def reduced(target, seed, fails):
    """What a failing draw is reduced to, where a failure shows in a share of the tries, and the trials that took."""
    rng = random.Random(f"shrink {seed}")
    while not target.fails(inputs := target.space.sample(rng).inputs):
        pass
    strategy, trials = SmallestFailure(Case(name="failure", inputs=inputs)), 0
    while (proposal := strategy.ask(rng)) is not None:
        trials += 1
        outcome = target.outcome(trials, proposal, rng)
        if outcome.failed and rng.random() >= fails:
            outcome = replace(outcome, failed=False, results={})
        strategy.tell(outcome)
    return strategy.smallest, trials


def smallest(seeds, fails):
    """How often what a failure is reduced to is at most 1.2 times the smallest there is, and the trials that takes."""
    rows, good, of = [], 0, 0
    for name in STEADY:
        target, trials, small = ZOO[name](), [], 0
        for seed in range(seeds):
            found, took = reduced(target, seed, fails)
            trials.append(took)
            small += target.fails(found) and target.size(found) <= 1.2 * target.size(target.smallest)
        note = f"within 1.2 times the smallest in {small} of {seeds}"
        what = f"trials to reduce a failure that shows in {fails:.0%} of tries"
        rows.append(Row(what, name, min(trials), median(trials), seeds, "", note))
        good, of = good + small, of + seeds
    promise = Promise(
        f"search: shrinking, failures show in {fails:.0%} of tries",
        "runs that end within 1.2 times the smallest to all runs",
        ratio(good, of),
        0.9,
        at_least=True,
    )
    return Outcome(tuple(rows), (promise,))


def benchmark(options):
    """All targets."""
    seeds = sized(SEEDS, options)
    outcome = Outcome(())
    for name in (*STRUCTURED, *WITHOUT):
        outcome += first_failures(name, seeds)
    outcome += kinds_found(seeds, sized(MODES_AFTER, options))
    outcome += nothing_to_find(seeds, sized(MODES_AFTER, options))
    for fails in SHOWS:
        outcome += smallest(seeds, fails)
    return outcome


if __name__ == "__main__":
    alone(benchmark, __doc__)
