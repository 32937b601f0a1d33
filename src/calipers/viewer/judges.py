"""`GET /judges`: the judges of a store, what was measured of them, and what people say of the same cases.

A judge is told from others by its identity: with another prompt or model it is another judge. It is held against what people answered to the
question that is called like its column, in all runs where it judged. Of a case that several runs have, the newest counts, and of a repeated case the
first attempt that both judged (`calipers.gate.human_labels`). Labels of cases that were drawn where they teach most are weighted, as a report weights them.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Final, NamedTuple

from calipers.comparison.case_pairs import Record, RunCase, attempt_number
from calipers.comparison.columns import Columns
from calipers.data.human_label import HumanLabel, Rating
from calipers.data.record import ReportCase
from calipers.errors import InvalidOptionError, StoreTimeoutError
from calipers.gate.human_labels import answers, read_labels
from calipers.gate.paired_runs import column_of
from calipers.gate.policy import HumanAgreement
from calipers.report.passport import TRAITS, Passport, Standing, Trait, passport_identity
from calipers.stats.agreement import Agreement
from calipers.stats.estimate import Estimate
from calipers.stats.number_text import plural
from calipers.stats.weighted import weighted_kappa, weighted_rate
from calipers.stores.label_queue import read_attempts
from calipers.stores.run_info import RunInfo, StoredEvaluator
from calipers.stores.standings import standings
from calipers.stores.store import Store
from calipers.views.passport import passport_rows, trait_kind, unmeasured_rows
from calipers.views.people_agreement import shown_answer

from .case_id import case_id
from .judged_run import JudgedRun
from .refusal import Refusal
from .viewed_store import ViewedStore
from .wire import Chart, Disagreement, JudgeCard, JudgesAnswer, JudgeTrait

_MOST_LABELLED: Final = 2_000
"""Labelled attempts of one judge that are read: the newest runs first."""
_MOST_WEIGHED: Final = 20_000
"""Attempts of a run that is read whole, to weigh its labels."""
_CATEGORIES: Final = 12
_RUNS: Final = 10
_LISTED: Final = 100
_SAID: Final = {True: "passed", False: "failed"}
_IDEALS: Final[dict[Trait, float]] = {
    "agreement": 1.0,
    "kappa": 1.0,
    "sensitivity": 1.0,
    "specificity": 1.0,
    "self_consistency": 1.0,
    "order_bias": 0.5,
    "length_bias": 0.0,
    "self_preference": 0.0,
    "injections_through": 0.0,
}
"""What each number would be of a judge that always says what people say."""


@dataclass
class _Judge:
    """A judge, and the runs in which it judged."""

    name: str
    evaluator: StoredEvaluator
    standing: Standing | None
    runs: list[RunInfo] = field(default_factory=list[RunInfo])

    @property
    def id(self) -> str:
        """What the judge is known by."""
        who = passport_identity(self.evaluator.parts) if self.evaluator.parts else "unknown"
        return blake2b(f"{self.name}\n{who}".encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()


class _Said(NamedTuple):
    """What a judge and people said of one case."""

    judge: str
    """As a category that can be compared."""
    people: str
    weight: float
    shown: Disagreement


def judges_answer(viewed: ViewedStore, *, judge: str = "", question: str = "") -> JudgesAnswer:
    """The judges of the store's runs, or one of them in full."""
    if question and not judge:
        raise Refusal("bad_request", "a question is for one judge: name the judge, too")
    with viewed.reading() as store:
        labels, judges = _known(store)
        if judge and judge not in judges:
            raise Refusal("not_found", f"there is no judge of the id {judge!r:.50}")
        cards, timed_out = [], False
        for each in judges.values():
            if judge in {"", each.id}:
                card, late = _card(viewed, store, each, labels, question, is_whole=bool(judge))
                cards.append(card)
                timed_out = timed_out or late
    return JudgesAnswer(
        judges=cards, names=[(each.id, each.name) for each in judges.values()], timed_out=timed_out
    )


def disagreements_of(viewed: ViewedStore, judge: str, question: str) -> list[Disagreement]:
    """All cases on which a judge and people disagree, as far as labels are read.

    Raises:
        Refusal: there is no such judge, no one was asked that, or there was no time to read them.
    """
    with viewed.reading() as store:
        labels, judges = _known(store)
        if judge not in judges:
            raise Refusal("not_found", f"there is no judge of the id {judge!r:.50}")
        asked = _question(judges[judge], labels, question)[0]
        if asked is None:
            return []
        said = _said(viewed, store, judges[judge], labels, asked, [])
        return [each.shown for each in said if each.judge != each.people]


def _known(store: Store) -> tuple[dict[str, list[HumanLabel]], dict[str, _Judge]]:
    """The labels by their runs, and the judges by their ids."""
    labels: dict[str, list[HumanLabel]] = {}
    for label in store.labels():
        labels.setdefault(label.run, []).append(label)
    return labels, _judges(store, labels)


def _judges(store: Store, labels: dict[str, list[HumanLabel]]) -> dict[str, _Judge]:
    """The judges by their ids, the one that judged last first."""
    found: dict[str, _Judge] = {}
    for run in store.runs():
        if run.damaged is not None:
            continue
        asked = {label.question for label in labels.get(run.id, ())}
        known = standings(store, run.evaluators)
        for one in run.evaluators:
            if not one.superseded and (one.is_judge or one.name in asked):
                new = _Judge(one.name, one, known.get(one.name))
                found.setdefault(new.id, new).runs.append(run)
    return found


def _question(judge: _Judge, labels: dict[str, list[HumanLabel]], asked: str) -> tuple[str | None, list[str]]:
    """The question that a judge is held against, and all that people answered about its runs."""
    questions = list(dict.fromkeys(label.question for run in judge.runs for label in labels.get(run.id, ())))
    if asked and asked not in questions:
        raise Refusal(
            "bad_request", f"no one was asked {asked!r:.200} about a run in which {judge.name!r} judged"
        )
    return asked or (judge.name if judge.name in questions else None), questions


def _card(
    viewed: ViewedStore,
    store: Store,
    judge: _Judge,
    labels: dict[str, list[HumanLabel]],
    asked: str,
    *,
    is_whole: bool,
) -> tuple[JudgeCard, bool]:
    """All that is known of a judge, and whether there was no time for some of it."""
    question, questions = _question(judge, labels, asked)
    said: list[_Said] = []
    notes: list[str] = []
    late = False
    if question is not None:
        try:
            said = list(_said(viewed, store, judge, labels, question, notes))
        except StoreTimeoutError:
            late = True
            notes.append("there was no time to read what people labelled")
        except InvalidOptionError as error:
            notes.append(f"not compared: {error}")
    differing = [each.shown for each in said if each.judge != each.people]
    agreement, kappa = _agreement(said)
    if said and kappa is None:
        notes.append("kappa is not defined, since one of the two said the same of all cases")
    passport = None if judge.standing is None else judge.standing.passport or judge.standing.other
    return (
        JudgeCard(
            id=judge.id,
            name=judge.name,
            model=None if passport is None else passport.model,
            standing=judge.standing,
            traits=[] if passport is None else list(_traits(passport)),
            question=question,
            questions=questions,
            labels=len(said),
            confusion=_confusion(said, question or "") if is_whole else None,
            agreement=agreement,
            kappa=kappa,
            notes=list(dict.fromkeys(notes)),
            runs=[(run.id, run.name) for run in judge.runs[:_RUNS]],
            runs_total=len(judge.runs),
            disagreements=differing[:_LISTED] if is_whole else [],
            disagreements_total=len(differing),
        ),
        late,
    )


def _traits(passport: Passport) -> Iterator[JudgeTrait]:
    """What was measured of a judge, then what was not."""
    for row in passport_rows(passport):
        found = passport.measured[row.trait]
        yield JudgeTrait(
            name=row.trait,
            what=row.what,
            kind=trait_kind(row.trait),
            text=row.value,
            ends=row.interval,
            value=found.value,
            interval=found.interval,
            n=row.n,
            ideal=_IDEALS.get(row.trait),
        )
    for trait, why in unmeasured_rows(passport):
        yield JudgeTrait(name=trait, what=TRAITS[trait], kind=trait_kind(trait), why=why)


# ---------------------------------------------------------------------- what both said


def _said(
    viewed: ViewedStore,
    store: Store,
    judge: _Judge,
    labels: dict[str, list[HumanLabel]],
    question: str,
    notes: list[str],
) -> Iterator[_Said]:
    """What the judge and people said of each case that both judged."""
    seen: set[str] = set()
    left = _MOST_LABELLED
    for run in judge.runs:
        of_run = [label for label in labels.get(run.id, ()) if label.question == question]
        positions = sorted({label.position for label in of_run})
        if not positions:
            continue
        if len(positions) > left:
            notes.append(f"of the newest {plural(_MOST_LABELLED, 'labelled attempt')}")
            positions = positions[:left]
        left -= len(positions)
        yield from _said_in(viewed, store, run, judge.name, question, positions, of_run, seen, notes)
        if not left:
            return


def _said_in(
    viewed: ViewedStore,
    store: Store,
    run: RunInfo,
    judge: str,
    question: str,
    positions: Sequence[int],
    labels: Sequence[HumanLabel],
    seen: set[str],
    notes: list[str],
) -> Iterator[_Said]:
    by_position: dict[int, list[HumanLabel]] = {}
    for label in labels:
        by_position.setdefault(label.position, []).append(label)
    cases: dict[str, RunCase] = {}
    for attempt, record in read_attempts(store, run, positions):
        record.human_labels = tuple(by_position.get(attempt.position, ()))
        name = attempt.case_name
        case = cases.setdefault(
            name, RunCase(name=name, content=(), has_content=False, cluster=None, tags=())
        )
        case.attempts.append(record)
    columns = Columns(cases.values())
    key = column_of(columns, judge)
    if key is None:
        notes.append(f"{judge!r} has no single column of results in the run {run.name!r}")
        return
    found = read_labels(HumanAgreement(question=question, corrects=True), judge, columns, None)
    if found.left_out is not None:
        notes.append(found.left_out)
    # Those of the cases of which both said something, in the order of `found.judge` and `found.human`.
    both = [pair for case in columns.cases if (pair := _first(case, judge, question)) is not None]
    weights = [1.0] * len(both)
    if found.drawn:
        weights = _weights(viewed, run, judge, [name for name, _, _ in both], notes)
    for (name, record, label), said, people, weight in zip(
        both, found.judge, found.human, weights, strict=True
    ):
        if name in seen:
            continue
        seen.add(name)
        cell = (_category(people), _category(said))
        yield _Said(said, people, weight, _shown(run, name, record, judge, label, cell))


def _first(case: RunCase, judge: str, question: str) -> tuple[str, ReportCase, HumanLabel] | None:
    """The first attempt at a case of which both the judge and people said something, with the label that was given first."""
    numbered: list[tuple[int, Record]] = [(attempt_number(record)[0], record) for record in case.attempts]
    for _, record in sorted(numbered, key=lambda each: each[0]):
        said, _ = answers(record, question)
        if isinstance(record, ReportCase) and said and any(each.name == judge for each in record.results):
            return case.name, record, said[0]
    return None


def _shown(
    run: RunInfo, case: str, record: ReportCase, judge: str, label: HumanLabel, cell: tuple[str, str]
) -> Disagreement:
    result = next(each for each in record.results if each.name == judge)
    value: Rating = result.value
    return Disagreement(
        run=run.id,
        run_name=run.name,
        case=case_id(case),
        name=case,
        repeat=attempt_number(record)[0],
        cell=cell,
        judge_said=_SAID[value] if isinstance(value, bool) else shown_answer(value),
        people_said=f"{label.person}: {shown_answer(label.value)}",
        reason=result.reason or "",
        note=label.note,
    )


def _category(said: str) -> str:
    """What was said, as the page calls it."""
    return {"true": "pass", "false": "fail"}.get(said, said)


def _weights(
    viewed: ViewedStore, run: RunInfo, judge: str, cases: Sequence[str], notes: list[str]
) -> list[float]:
    """How many cases each labelled one stands for, where they were drawn where they teach most."""
    if run.attempts > _MOST_WEIGHED:
        notes.append(
            "the labelled cases were drawn where the judge is likely to err, and the run is too long to weigh them here: the judge agrees "
            "more on all cases than on these"
        )
        return [1.0] * len(cases)
    notes.append(
        "the labelled cases were drawn where they teach most, and each counts for as many as it stands for"
    )
    return JudgedRun(viewed, run, judge).weights(cases)


def _agreement(said: Sequence[_Said]) -> tuple[Estimate | None, Estimate | None]:
    """The share of cases on which both say the same, and kappa."""
    weights = [each.weight for each in said]
    rate = weighted_rate([each.judge == each.people for each in said], weights)
    kappa = weighted_kappa([each.judge for each in said], [each.people for each in said], weights)
    return rate, _estimate(kappa)


def _estimate(found: Agreement | None) -> Estimate | None:
    if found is None or found.value is None:
        return None
    return Estimate(
        value=found.value,
        interval=found.interval,
        n_units=found.n_units,
        n_observations=found.n_units,
    )


def _confusion(said: Sequence[_Said], question: str) -> Chart | None:
    """How often what people said became what the judge said, in cases that were labelled."""
    labels = sorted({*(each.judge for each in said), *(each.people for each in said)})
    if not said or len(labels) > _CATEGORIES:
        return None
    if set(labels) <= {"true", "false"}:
        labels = ["true", "false"]
    counts = Counter((each.people, each.judge) for each in said)
    return Chart(
        title=f"People and judge: {question}",
        kind="matrix",
        labels=[_category(each) for each in labels],
        matrix=[[counts[people, judge] for judge in labels] for people in labels],
        x_label="the judge",
        y_label="people",
    )
