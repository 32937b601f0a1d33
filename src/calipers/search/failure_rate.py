"""How likely the system fails under the stated distribution of a space, as a strategy estimates it."""

from collections.abc import Iterable
from dataclasses import KW_ONLY, dataclass
from typing import Literal

from calipers.stats.importance import ImportanceRate
from calipers.stats.interval import Interval, clopper_pearson
from calipers.stats.number_text import number, percent, plural
from calipers.stats.split_runs import FEWEST_RUNS, SplittingRate
from calipers.stats.unseen import UnseenKinds, unseen_kinds

Doubt = Literal[
    "no_failure", "few_failures", "one_weight", "weights_off", "unfinished", "few_runs", "unknown_trials"
]
WORDS: dict[Doubt, str] = {
    "no_failure": "no trial failed, so only an upper bound is known, if any",
    "few_failures": "the failures are worth fewer than 20 equal ones: draw more",
    "one_weight": "one trial makes up more than a fifth of the estimate: draw more, or from a proposal nearer to the space",
    "weights_off": "the weights do not have the mean 1: the proposal hardly ever draws some inputs that the space does draw",
    "unfinished": "the runs of splitting did not finish: give the search more trials",
    "few_runs": f"fewer than {FEWEST_RUNS} runs of splitting came to a failure: use more particles or more runs",
    "unknown_trials": "of some trials it is not known whether they failed; they are left out",
}
"""What each doubt says, and what to do."""


@dataclass(frozen=True)
class FailureRate:
    """How likely a draw of the space fails."""

    value: float | None
    """`None`: not known."""
    interval: Interval | None
    """Where the true probability may lie."""
    _: KW_ONLY
    trials: int
    """That the estimate rests on."""
    doubts: tuple[Doubt, ...] = ()
    """What speaks against it."""
    unseen: UnseenKinds | None = None
    """What the kinds of failure among draws of the space tell of kinds that were not seen; `None`: there is nothing to tell it by."""

    @classmethod
    def of_draws(
        cls, kinds: Iterable[int], known: int, unknown: int = 0, *, confidence: float = 0.95
    ) -> "FailureRate":
        """From draws of the space itself: the share that failed, with its exact interval.

        Args:
            kinds: how many failures of each kind there were.
            known: draws of which it is known whether they failed.
            unknown: further draws.
            confidence: of the intervals.
        """
        sizes = list(kinds)
        failures = sum(sizes)
        doubts: list[Doubt] = [] if failures or not known else ["no_failure"]
        if unknown:
            doubts.append("unknown_trials")
        return cls(
            failures / known if known else None,
            clopper_pearson(failures, known, confidence=confidence),
            trials=known,
            doubts=tuple(doubts),
            unseen=unseen_kinds(sizes, confidence=confidence),
        )

    @classmethod
    def of_weighted(cls, found: ImportanceRate | None, unknown: int = 0) -> "FailureRate":
        """From draws of another distribution, weighted."""
        doubts: list[Doubt] = []
        if found is not None and found.failures:
            doubts += found.doubts
        elif found is not None:
            doubts.append("no_failure")
        if unknown:
            doubts.append("unknown_trials")
        failed = found is not None and found.failures > 0
        return cls(
            found.value if found is not None and failed else None,
            None if found is None else found.interval,
            trials=0 if found is None else found.n,
            doubts=tuple(doubts),
        )

    @classmethod
    def of_runs(cls, found: SplittingRate | None, trials: int, unknown: int = 0) -> "FailureRate":
        """From runs of splitting; `None`: they are not finished."""
        doubts: list[Doubt] = []
        if found is None:
            doubts.append("unfinished")
        elif found.interval is None:
            doubts.append("no_failure" if not found.arrived else "few_runs")
        if unknown:
            doubts.append("unknown_trials")
        arrived = found is not None and found.arrived > 0
        return cls(
            found.value if found is not None and arrived else None,
            None if found is None else found.interval,
            trials=trials,
            doubts=tuple(doubts),
        )

    def __str__(self) -> str:
        if self.value is None:
            said = "how likely it fails is not known"
        else:
            said = f"it fails with a probability of {self.value:.2g}"
        if self.interval is not None:
            said += f" [{self.interval.low:.2g}, {self.interval.high:.2g}]"
        said += f", by {plural(self.trials, 'trial')}"
        said = "; ".join([said, *(WORDS[doubt] for doubt in self.doubts)])
        return said if self.unseen is None else f"{said}\n{unseen_text(self.unseen)}"


def unseen_text(unseen: UnseenKinds) -> str:
    """What the kinds that were seen tell of those that were not, in words."""
    chance, kinds = unseen.chance_interval, unseen.kinds_interval
    return (
        f"{plural(unseen.seen, 'kind')} of failure seen; there are at least {number(round(unseen.kinds, 1))} "
        f"[{number(round(kinds.low, 1))}, {number(round(kinds.high, 1))}]; the next failure is of a new kind with "
        f"{percent(unseen.chance)} [{percent(chance.low, unit=False)}, {percent(chance.high, unit=False)}]"
    )
