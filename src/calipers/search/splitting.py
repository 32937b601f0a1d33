"""Multilevel splitting: estimates how likely a failure is that is too rare for random draws.

Each run begins with `particles` draws of the space. Those with the lowest rewards are dropped, and each is replaced by a copy of one that went on, which is changed by `steps`
redraws; a redraw is kept if its reward stays above the level. This is repeated until half of the particles fail. The product of the shares that went on
estimates the probability (`calipers.stats.split_runs`).

Two things have to hold. **The reward leads to the failure**: if it is the same for everything that does not fail, a run gets nowhere. **Redraws keep the distribution of the space**
(`Space.keeps_distribution`), and `steps` of them lead away from the copy: about twice as many as the space has factors.

While all particles of all runs wait for trials in flight, it draws from the space; such draws do not count.
"""

import random
from collections import deque
from collections.abc import Callable
from functools import partial

from calipers.data.argument_checks import check_share, check_whole_number
from calipers.errors import InvalidOptionError
from calipers.stats.split_runs import splitting_rate

from .failure_rate import FailureRate
from .proposal import Proposal
from .space import Space
from .trial_outcome import Outcome


class Splitting:
    """Estimates how often a system fails, if that is very rare."""

    def __init__(
        self, space: Space, *, particles: int = 50, runs: int = 10, steps: int = 10, share: float = 0.5
    ) -> None:
        """Runs of splitting.

        Args:
            space: states the distribution that the estimate is for.
            particles: of each run.
            runs: that are independent of each other; the interval goes by how much they differ.
            steps: redraws by which a copy is moved on.
            share: of the particles that is dropped at each level.

        Raises:
            InvalidOptionError: redraws of the space do not keep its distribution.
        """
        check_whole_number("particles", particles, at_least=2)
        check_whole_number("runs", runs, at_least=1)
        check_whole_number("steps", steps, at_least=1)
        check_share("share", share, or_zero=False, or_one=False)
        if not space.keeps_distribution:
            raise InvalidOptionError(
                f"splitting needs a space whose redraws keep its distribution, and {type(space).__name__} does not: use Factors"
            )
        self.space = space
        self.runs = [_Run(space, particles, steps, share) for _ in range(runs)]
        self._asked = deque[Callable[[Outcome], None]]()
        self._turn = 0
        self._trials = 0
        self._unknown = 0

    def ask(self, rng: random.Random) -> Proposal | None:
        """The next draw or redraw of a run, in turn."""
        for _ in self.runs:
            self._turn = (self._turn + 1) % len(self.runs)
            found = self.runs[self._turn].next(rng)
            if found is not None:
                proposal, tell = found
                self._asked.append(tell)
                return proposal
        if all(run.estimate is not None for run in self.runs):
            return None
        self._asked.append(_nothing)
        return self.space.sample(rng)

    def tell(self, outcome: Outcome) -> None:
        """Move the particle on that this was about."""
        tell = self._asked.popleft()
        if tell is not _nothing:
            self._trials += 1
            self._unknown += outcome.failed is None
        tell(outcome)

    def estimate(self, confidence: float = 0.95) -> FailureRate:
        """How likely a draw of the space fails. Nothing is told before all runs are over: the first ones are those that failed most easily."""
        estimates = [run.estimate for run in self.runs if run.estimate is not None]
        done = len(estimates) == len(self.runs)
        found = splitting_rate(estimates, confidence=confidence) if done else None
        return FailureRate.of_runs(found, self._trials, self._unknown)


def _nothing(_: Outcome) -> None:
    """The draw does not count."""


class _Particle:
    """A proposal, and how near it came."""

    __slots__ = ("proposal", "reward", "steps", "waits")

    def __init__(self, proposal: Proposal | None = None, reward: float = 0.0, steps: int = 0) -> None:
        self.proposal = proposal
        self.reward = reward
        self.steps = steps
        """Redraws that are to come."""
        self.waits = False
        """Whether a trial of it is under way."""


class _Run:
    """One run of splitting."""

    def __init__(self, space: Space, particles: int, steps: int, share: float) -> None:
        self.space = space
        self.steps = steps
        self.given_up = max(1, min(particles - 1, round(share * particles)))
        self.particles = [_Particle() for _ in range(particles)]
        self.survivors = list[_Particle]()
        self.level = 0.0
        self.probability = 1.0
        self.estimate: float | None = None

    def next(self, rng: random.Random) -> tuple[Proposal, Callable[[Outcome], None]] | None:
        """A trial of some particle, and how to tell what came of it; `None`: all of them wait, or the run is over."""
        if self.estimate is not None:
            return None
        for particle in self.particles:
            if particle.waits:
                continue
            if particle.proposal is None and not self.survivors:
                particle.waits = True
                drawn = self.space.sample(rng)
                return drawn, partial(self._drawn, particle, drawn)
            if particle.proposal is None:
                chosen = rng.choice(self.survivors)
                particle.proposal, particle.reward, particle.steps = (
                    chosen.proposal,
                    chosen.reward,
                    self.steps,
                )
            if particle.steps:
                particle.waits = True
                assert particle.proposal is not None
                moved = self.space.redraw(particle.proposal, rng)
                return moved, partial(self._moved, particle, moved)
        return None

    def _drawn(self, particle: _Particle, proposal: Proposal, outcome: Outcome) -> None:
        particle.waits = False
        if outcome.failed is not None:
            particle.proposal, particle.reward = proposal, outcome.reward
            self._split()

    def _moved(self, particle: _Particle, proposal: Proposal, outcome: Outcome) -> None:
        particle.waits = False
        particle.steps -= 1
        if outcome.failed is not None and outcome.reward > self.level:
            particle.proposal, particle.reward = proposal, outcome.reward
        if not particle.steps:
            self._split()

    def _split(self) -> None:
        """Drop the lowest particles, once all have arrived."""
        if any(particle.proposal is None or particle.steps for particle in self.particles):
            return
        n = len(self.particles)
        self.level = sorted(particle.reward for particle in self.particles)[self.given_up - 1]
        if self.level >= 1:
            failed = sum(particle.reward >= 1 for particle in self.particles)
            self.estimate = self.probability * failed / n
            return
        self.survivors = [particle for particle in self.particles if particle.reward > self.level]
        self.probability *= len(self.survivors) / n
        if not self.survivors:
            self.estimate = 0.0
        for particle in self.particles:
            if particle.reward <= self.level:
                particle.proposal = None
