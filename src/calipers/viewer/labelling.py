"""`GET /label`, `GET /label/next`, `PUT /label` and `DELETE /label`: the questions of a store, and labelling in the browser."""

from collections.abc import Sequence
from hashlib import blake2b
from typing import Final

from calipers.data.human_label import HumanLabel, Rating
from calipers.data.label_answers import Answers, choices, scale, yes_or_no
from calipers.errors import InvalidOptionError, RunMissingError
from calipers.stores.run_info import RunInfo

from .label_desk import LabelDesk, Seat
from .label_progress import LabelWidths, Width
from .run_rows import run_row
from .viewed_store import ViewedStore
from .wire import (
    LabelItemAnswer,
    LabelPlan,
    LabelProgress,
    LabelQuestion,
    LabelsAnswer,
    LabelUndo,
    LabelWrite,
)

_RUNS: Final = 50
_SCALES: Final = ((1, 5), (1, 10), (0, 9))
"""Scales that numbers are likely to be from, where it is not told."""


def labels_answer(viewed: ViewedStore) -> LabelsAnswer:
    """The questions of the store, and runs that could be labelled."""
    with viewed.reading() as store:
        by_question: dict[tuple[str, str], list[HumanLabel]] = {}
        for label in store.labels():
            by_question.setdefault((label.run, label.question), []).append(label)
        runs = store.runs(limit=_RUNS)
        known = {run.id: run for run in runs}
        for run, _ in by_question:
            if run not in known:
                try:
                    known[run] = store.run(run)
                except RunMissingError:  # it was deleted since
                    continue
    found = [
        (max(each.at for each in labels), _question(known[run], question, labels, _likely(labels)))
        for (run, question), labels in by_question.items()
        if run in known
    ]
    found.sort(key=lambda each: each[0], reverse=True)
    return LabelsAnswer(
        questions=[question for _, question in found],
        runs=[run_row(run) for run in runs if run.attempts],
    )


def next_label(
    viewed: ViewedStore,
    *,
    run: str,
    question: str,
    person: str,
    scale: str | None = None,
    choices: str | None = None,
    hide_expected: bool = False,
    show_metadata: bool = False,
    count: int | None = None,
    judge: str | None = None,
    seed: int | None = None,
    width: float | None = None,
) -> LabelItemAnswer:
    """The attempt that a person should label next."""
    plan = LabelPlan(
        run=run,
        question=question,
        person=person,
        scale=scale,
        choices=choices,
        hide_expected=hide_expected,
        show_metadata=show_metadata,
        count=count,
        judge=judge,
        seed=seed,
        width=width,
    )
    with viewed.reading() as store:
        return _answer(viewed, _desk(viewed).seat(store, _checked(plan)))


def put_label(viewed: ViewedStore, *, body: LabelWrite) -> LabelItemAnswer:
    """Carry out a decision, and answer with the next attempt."""
    desk = _desk(viewed)
    with viewed.writing() as store:
        seat = desk.seat(store, _checked(body.plan))
        desk.decide(seat, body)
        return _answer(viewed, seat)


def delete_label(viewed: ViewedStore, *, body: LabelUndo) -> LabelItemAnswer:
    """Take a decision back, and answer with its attempt."""
    desk = _desk(viewed)
    with viewed.writing() as store:
        seat = desk.seat(store, _checked(body.plan))
        if body.skipped:
            desk.unskip(seat)
        else:
            desk.undo(seat, body.position)
        return _answer(viewed, seat)


def _desk(viewed: ViewedStore) -> LabelDesk:
    return viewed.kept(LabelDesk)


def _checked(plan: LabelPlan) -> LabelPlan:
    """The plan, if its numbers are in range."""
    if plan.count is not None and plan.count < 1:
        raise InvalidOptionError(f"count must be at least 1, got {plan.count}")
    if plan.seed is not None and plan.seed < 0:
        raise InvalidOptionError(f"seed must be at least 0, got {plan.seed}")
    if plan.width is not None and not 0 < plan.width <= 1:
        raise InvalidOptionError(f"width must be above 0 and up to 1, got {plan.width!r}")
    return plan


def _answer(viewed: ViewedStore, seat: Seat) -> LabelItemAnswer:
    """The next attempts, and how far the person has come."""
    desk, sitting, queue = _desk(viewed), seat.sitting, seat.queue
    left = sitting.left(queue)
    items = desk.items(seat, left)
    done = sitting.done(queue)
    others = [each for each in queue.current if each.person != queue.person]
    now = [*others, *queue.own.values()]
    judge = seat.plan.judge or _judge_of(seat.run, queue.question)
    found = Width()
    if judge is not None and seat.plan.width is not None:
        found = viewed.kept(LabelWidths).width(viewed, seat.run, seat.plan, judge, now)
    return LabelItemAnswer(
        question=_question(seat.run, queue.question, now, seat.answers),
        plan=seat.plan,
        item=items[0] if items else None,
        ahead=items[1:],
        progress=LabelProgress(
            done=len(done),
            of=len(done) + len(left) + len(sitting.skipped),
            skipped=len(sitting.skipped),
            width=found.width,
            wanted_width=seat.plan.width,
            about_left=found.about_left(seat.plan.width),
            why=found.why if seat.plan.width is not None else "",
        ),
        last=sitting.last(queue),
    )


def _question(run: RunInfo, question: str, labels: Sequence[HumanLabel], answers: Answers) -> LabelQuestion:
    """A question of a run, with who answered it, and nothing of what they said."""
    people: dict[str, int] = {}
    for label in labels:
        people[label.person] = people.get(label.person, 0) + 1
    return LabelQuestion(
        id=blake2b(f"{run.id}\n{question}".encode("utf-8", "surrogatepass"), digest_size=6).hexdigest(),
        run=run.id,
        run_name=run.name,
        question=question,
        kind=answers.kind,
        choices=list(answers.words.values()),
        keys=list(answers.by_key),
        people=sorted(people.items()),
        labelled=len({label.position for label in labels}),
        of=run.attempts,
        judge=_judge_of(run, question),
    )


def _judge_of(run: RunInfo, question: str) -> str | None:
    """The evaluator of a run that is called like a question."""
    return question if question in run.columns else None


def _likely(labels: Sequence[HumanLabel]) -> Answers:
    """The answers that people likely had to choose from: no one kept which these were."""
    values: list[Rating] = list(dict.fromkeys(label.value for label in labels))
    try:
        if all(isinstance(value, bool) for value in values):
            return yes_or_no()
        if all(isinstance(value, str) for value in values):
            words = sorted(str(value) for value in values)
            return choices(",".join(words if len(words) > 1 else [*words, f"not {words[0]}"]))
        numbers = [int(value) for value in values]
        low, high = min(numbers), max(numbers)
        ends = next((ends for ends in _SCALES if ends[0] <= low and high <= ends[1]), (low, high))
        return scale(f"{ends[0]}-{ends[1]}")
    except (InvalidOptionError, ValueError):
        return yes_or_no()
