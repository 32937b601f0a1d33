"""The attempts of a run that a person has yet to label, in the order in which they are shown: the same on a terminal and in a browser.

The order is random: if you stop early, you have still labelled a fair sample. It follows from a seed, which the labels keep. People who
label the same question have the same order, unless they ask for another one, so that their labels meet: the seed is that of the labels
there are, and before the first one it follows from the run and the question.

Instead of all, a number of attempts can be drawn: those that tell most about a judge (`calipers.gate.label_choice`), or random ones. Each such
draw has a seed of its own.

A label is about an output. Where the attempt was made again since, and gives another output, the person has not labelled it.
"""

import secrets
from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b
from itertools import chain, zip_longest
from math import fsum
from random import Random
from typing import NamedTuple, Protocol

from calipers.data.human_label import HumanLabel, Rating
from calipers.data.label_answers import Answers
from calipers.errors import InvalidOptionError
from calipers.gate.human_labels import output_of, yes_or_no
from calipers.gate.label_choice import choose_labels, has_judge
from calipers.views.people_agreement import shown_answer

from .packing import Record, unpack
from .run_info import RunInfo, timestamp
from .store import Store
from .stored_attempt import StoredAttempt

_SEED_BITS = 32


class Drawn(NamedTuple):
    """An attempt to label."""

    position: int
    probability: float | None
    """With which it was drawn; `None`: the same for all that are in the order."""
    seed: int | None = None
    """Of the draw, where that was an earlier one; `None`: of this one."""


class Placed(Protocol):
    """What the order of attempts follows from."""

    @property
    def position(self) -> int:
        """The attempt's place in the run."""
        ...

    @property
    def case_name(self) -> str:
        """The name of its case."""
        ...


def random_order(attempts: Iterable[Placed], seed: int) -> list[int]:
    """The positions of all attempts in random order: first one attempt at each case, then a second one at each, and so on.

    Attempts at one case are much alike: the first of each tells most.
    """
    draw = Random(seed)  # noqa: S311 - the seed has to repeat the order
    cases: dict[str, list[int]] = {}
    for attempt in attempts:
        cases.setdefault(attempt.case_name, []).append(attempt.position)
    order = list(cases.values())
    draw.shuffle(order)
    for positions in order:
        draw.shuffle(positions)
    return [position for position in chain.from_iterable(zip_longest(*order)) if position is not None]


def first_seed(run: str, question: str) -> int:
    """The seed of the order of a question that no one has answered: it follows from the run and the question, so all begin alike."""
    text = f"{run}\n{question}".encode()
    return int.from_bytes(blake2b(text, digest_size=_SEED_BITS // 8).digest())


def read_attempts(
    store: Store, run: RunInfo, positions: Sequence[int]
) -> Iterator[tuple[StoredAttempt, Record]]:
    """Attempts of a run with their records, at some positions."""
    names = store.names(run)
    for attempt, cells in store.judged_at(run.id, positions):
        yield attempt, unpack(attempt, cells, run.evaluators, names=names)


def current_labels(
    store: Store, run: RunInfo, labels: Sequence[HumanLabel], *, known: dict[int, str] | None = None
) -> list[HumanLabel]:
    """Those of the labels that are about the outputs that the run has now.

    Args:
        store: that has the run.
        run: the run.
        labels: of it.
        known: digests of outputs by position, as far as they are known; those that had to be read are added.
    """
    now = {} if known is None else known
    lacking = sorted({label.position for label in labels if label.about} - now.keys())
    now.update(
        (attempt.position, output_of(record)) for attempt, record in read_attempts(store, run, lacking)
    )
    return [label for label in labels if label.about in {"", now.get(label.position)}]


class LabelQueue:
    """What one person has labelled of a run in answer to one question, and what is left."""

    def __init__(
        self,
        store: Store,
        run: RunInfo,
        question: str,
        person: str,
        *,
        seed: int | None = None,
        known: dict[int, str] | None = None,
    ) -> None:
        """Read what was labelled so far.

        Args:
            store: that has the run.
            run: the run.
            question: what is asked.
            person: who answers.
            seed: of the order; default: that of the labels there are.
            known: as for `current_labels`.
        """
        self.store, self.run, self.question, self.person = store, run, question, person
        self.labels = store.labels(run=run.id, question=question)
        self.current = current_labels(store, run, self.labels, known=known)
        """Those of the outputs that the run has now."""
        own = sorted((each for each in self.current if each.person == person), key=lambda each: each.at)
        self.own = {each.position: each for each in own}
        """What the person said, by position, the newest last; not of attempts whose output has changed since."""
        orders = [each.seed for each in self.labels if each.seed is not None and each.probability is None]
        self._given = seed
        self.seed = seed if seed is not None else orders[-1] if orders else first_seed(run.id, question)
        """Of the order, or of the last draw."""
        self._drawn_for_others = {
            each.position: Drawn(each.position, each.probability, each.seed)
            for each in self.current
            if each.person != person and each.probability is not None
        }
        """What was drawn for other people, by position."""

    @property
    def done(self) -> list[int]:
        """Positions that the person has labelled, the newest last."""
        return list(self.own)

    def order(self) -> list[int]:
        """The positions of all attempts in their order."""
        return random_order(self.store.attempts(self.run.id, parts=False), self.seed)

    def left(self, order: Iterable[int] | None = None) -> list[Drawn]:
        """What the person has yet to label: first what was drawn for other people, then the others.

        Args:
            order: of all attempts, if it is known.
        """
        positions = [each for each in (self.order() if order is None else order) if each not in self.own]
        drawn = self._drawn_for_others
        return [
            *(drawn[position] for position in positions if position in drawn),
            *(Drawn(position, None) for position in positions if position not in drawn),
        ]

    def draw(self, count: int, judge: str | None) -> list[Drawn]:
        """Some of the attempts that are left: those that tell most about a judge, or random ones where there is none.

        Args:
            count: attempts to draw.
            judge: the evaluator whose result the labels are to correct; default: the one that is called like the question.

        Raises:
            InvalidOptionError: there is no such judge, or the seed was used for an earlier draw.
        """
        self.seed = secrets.randbits(_SEED_BITS) if self._given is None else self._given
        before = {each.probability for each in self.labels if each.seed == self.seed} - {None}
        report = self.store.report(self.run.id)
        if judge is None and has_judge(report, self.question):
            judge = self.question
        if judge is not None:
            chosen = choose_labels(report, judge, self.means(), count, seed=self.seed)
            self._check_seed(new=not before)
            attempts = self.store.attempts(self.run.id, parts=False)
            at = {(each.case_name, each.repeat): each.position for each in attempts}
            return [Drawn(at[each.case, each.attempt], each.probability) for each in chosen]
        order = [each for each in self.order() if each not in self.own]
        share = min(1.0, count / len(order)) if order else 1.0
        self._check_seed(new=before <= {share})
        return [Drawn(position, share) for position in order[:count]]

    def _check_seed(self, *, new: bool) -> None:
        """Refuse a seed that stands for another draw: labels are put together by the draw that they come from."""
        if not new:
            raise InvalidOptionError(
                f"the seed {self.seed} was used for an earlier draw, with other chances: give another one, or none"
            )

    def means(self) -> dict[str, float]:
        """What people said so far, as numbers, by the name of the case."""
        said: dict[str, list[float]] = {}
        for each in self.current:
            said.setdefault(each.case, []).append(_as_number(each.value))
        return {case: fsum(values) / len(values) for case, values in said.items()}

    def check_answers(self, answers: Answers) -> None:
        """Refuse to mix answers of two kinds under one question."""
        known = {(isinstance(each, bool), each) for each in answers.by_key.values()}
        for each in self.labels:
            if (isinstance(each.value, bool), each.value) not in known:
                raise InvalidOptionError(
                    f"{self.question!r} was answered by {shown_answer(each.value)!r} before, which is none of these answers: give the "
                    "scale or the choices that were used, or ask another question"
                )

    def label(
        self, drawn: Drawn, attempt: StoredAttempt, record: Record, value: Rating, note: str = ""
    ) -> HumanLabel:
        """What the person says of an attempt, to be stored."""
        return HumanLabel(
            run=self.run.id,
            position=drawn.position,
            case=attempt.case_name,
            repeat=attempt.repeat,
            question=self.question,
            person=self.person,
            value=value,
            note=note,
            at=timestamp(),
            probability=drawn.probability,
            seed=self.seed if drawn.seed is None else drawn.seed,
            about=output_of(record),
        )

    def take_back(self, position: int) -> Drawn:
        """Remove what the person said of an attempt; returns it as it was drawn."""
        own = self.store.labels(run=self.run.id, question=self.question, person=self.person)
        drawn = {label.position: Drawn(position, label.probability, label.seed) for label in own}
        self.store.remove_label(self.run.id, position, question=self.question, person=self.person)
        return drawn.get(position) or Drawn(position, None)


def _as_number(value: Rating) -> float:
    return float(yes_or_no(value)) if isinstance(value, bool | str) else float(value)
