"""The judges of a store: passports, and how they agree with people, by the numbers of the report."""

import csv
import io

import pytest

from calipers import Case, Dataset, EvaluationReason
from calipers.evaluators.judge_correction import JudgeCorrectionEvaluator
from calipers.report.passport import Measurement, Passport, passport_identity
from calipers.report.report_evaluator import ReportEvaluatorContext
from calipers.stats import Interval
from calipers.stores import HumanLabel, SqliteStore
from calipers.stores.label_queue import LabelQueue, read_attempts
from calipers.stores.standings import keep_passport
from calipers.viewer.case_id import case_id
from calipers.viewer.export import TABLES
from calipers.viewer.judges import judges_answer
from calipers.viewer.refusal import Refusal
from calipers.viewer.viewed_store import ViewedStore


def kind(output):
    return EvaluationReason(value=output % 3 > 0, reason=f"since it is {output}")


def other(output):
    return True


@pytest.fixture
def store(tmp_path):
    with SqliteStore(tmp_path / "runs.db") as found:
        yield found


@pytest.fixture
def viewed(store):
    found = ViewedStore(store)
    yield found
    found.close()


def put(store, count=30, name="run", evaluators=(kind, other), repeat=1):
    cases = [Case(name=f"case {n}", inputs=n) for n in range(count)]
    dataset = Dataset(name="numbers", cases=cases, evaluators=list(evaluators))
    done = dataset.evaluate_sync(lambda inputs: inputs, name=name, store=store, repeat=repeat, progress=False)
    return done.reuse.run


def say(store, run, values, question="kind", person="ann", note=""):
    """Label attempts by position."""
    store.add_labels(
        [
            HumanLabel(run=run, position=at, case=f"case {at}", question=question, person=person, value=value, note=note, at="2026-01-01")
            for at, value in values.items()
        ]
    )  # fmt: skip


def whole(viewed, **more):
    """The only judge in full."""
    (listed,) = judges_answer(viewed).judges
    (card,) = judges_answer(viewed, judge=listed.id, **more).judges
    return card


def test_a_judge_is_held_against_the_question_that_is_called_like_it(store, viewed):
    run = put(store)
    say(store, run, {n: n % 3 > 0 if n < 8 else n % 3 == 0 for n in range(10)}, note="hm")
    card = whole(viewed)
    assert (card.name, card.question, card.labels) == ("kind", "kind", 10)
    assert (card.agreement.value, card.agreement.n_units) == (0.8, 10)
    assert card.confusion.labels == ["pass", "fail"]
    assert sum(map(sum, card.confusion.matrix)) == 10
    assert (card.confusion.y_label, card.confusion.x_label) == ("people", "the judge")
    assert [(each.name, each.judge_said, each.people_said, each.reason, each.note) for each in card.disagreements] == [
        ("case 8", "passed", "ann: no", "since it is 8", "hm"),
        ("case 9", "failed", "ann: yes", "since it is 9", "hm"),
    ]  # fmt: skip
    assert card.disagreements[0].case == case_id("case 8")
    first = card.disagreements[0]
    assert (first.run, first.run_name, first.repeat, first.cell) == (run, "run", 1, ("fail", "pass"))


def test_of_all_judges_only_the_numbers_are_told(store, viewed):
    run = put(store, evaluators=(kind, other))
    say(store, run, dict.fromkeys(range(6), False))
    say(store, run, dict.fromkeys(range(3), False), question="other")
    found = judges_answer(viewed)
    assert {(card.name, card.labels, card.disagreements_total) for card in found.judges} == {
        ("kind", 6, 4),
        ("other", 3, 3),
    }
    assert all(card.confusion is None and card.disagreements == [] for card in found.judges)
    assert found.names == [(card.id, card.name) for card in found.judges]
    (only,) = judges_answer(viewed, judge=found.judges[1].id).judges
    assert only.name == found.judges[1].name
    assert len(only.disagreements) == only.disagreements_total
    assert judges_answer(viewed, judge=only.id).names == found.names


def test_all_disagreements_can_be_had_as_a_table(store, viewed):
    run = put(store, count=120)
    say(store, run, {n: n % 3 == 0 for n in range(120)}, note="=1+1")
    card = whole(viewed)
    assert (len(card.disagreements), card.disagreements_total) == (100, 120)
    file = b"".join(TABLES["disagreements"].answer(viewed, {}, [("judge", card.id)]).body).decode()
    rows = list(csv.DictReader(io.StringIO(file)))
    assert len(rows) == card.disagreements_total
    assert rows[1] == {
        "case": "case 1",
        "run": "run",
        "attempt": "1",
        "judge_said": "passed",
        "people_said": "ann: no",
        "reason": "since it is 1",
        "note": "'=1+1",
    }
    with pytest.raises(Refusal, match="no judge of the id"):
        TABLES["disagreements"].answer(viewed, {}, [("judge", "nothing")])


@pytest.mark.parametrize("drawn", [False, True])
def test_the_numbers_are_those_of_the_report(store, viewed, drawn):
    """Also where cases were drawn where they teach most, and count for as many as they stand for."""
    run = put(store, count=60)
    queue = LabelQueue(store, store.run(run), "kind", "ann")
    some = queue.draw(24, "kind") if drawn else queue.left()[:24]
    labels = []
    for each in some:
        ((attempt, record),) = read_attempts(store, queue.run, [each.position])
        labels.append(queue.label(each, attempt, record, (each.position % 3 > 0) is (each.position % 5 > 0)))
    store.add_labels(labels)
    (card,) = judges_answer(viewed).judges
    found = JudgeCorrectionEvaluator("kind", question="kind").evaluate(
        ReportEvaluatorContext(name="r", report=store.report(run))
    )
    assert card.agreement.value == pytest.approx(found.agreement)
    assert card.kappa.value == pytest.approx(found.kappa)
    assert any("drawn where they teach most" in each for each in card.notes) is drawn


def test_another_question_can_be_named(store, viewed):
    run = put(store)
    say(store, run, dict.fromkeys(range(4), True), question="Is it kind?")
    say(store, run, dict.fromkeys(range(2), True))
    (card,) = judges_answer(viewed).judges
    assert (card.question, card.questions) == ("kind", ["Is it kind?", "kind"])
    (card,) = judges_answer(viewed, judge=card.id, question="Is it kind?").judges
    assert (card.question, card.labels) == ("Is it kind?", 4)
    with pytest.raises(Refusal, match="no one was asked"):
        judges_answer(viewed, judge=card.id, question="nothing")
    with pytest.raises(Refusal, match="no judge of the id"):
        judges_answer(viewed, judge="nothing")
    with pytest.raises(Refusal, match="name the judge, too"):
        judges_answer(viewed, question="kind")


def test_of_a_case_in_several_runs_the_newest_counts(store, viewed):
    old, new = put(store, name="old"), put(store, name="new")
    say(store, old, {0: True, 1: False, 2: True})
    say(store, new, {0: False, 1: True})
    (card,) = judges_answer(viewed).judges
    assert card.labels == 3
    assert card.agreement.value == 1.0
    assert [name for _, name in card.runs] == ["new", "old"]


def test_labels_of_an_output_that_is_gone_do_not_count(store, viewed):
    run = put(store)
    queue = LabelQueue(store, store.run(run), "kind", "ann")
    for each in queue.left()[:3]:
        ((attempt, record),) = read_attempts(store, queue.run, [each.position])
        store.add_labels([queue.label(each, attempt, record, True)])
    gone = queue.left()[0].position
    (attempt,) = (each for each in store.attempts(run) if each.position == gone)
    attempt.output = attempt.output.replace(f'"output":{gone}', '"output":77')
    store.append(run, [attempt])
    (card,) = judges_answer(viewed).judges
    assert card.labels == 2
    assert any("of an output that the run no longer has" in each for each in card.notes)


def test_people_and_judge_in_words_that_do_not_fit_are_told(store, viewed):
    run = put(store)
    say(store, run, {0: "rude", 1: "kind"})
    (card,) = judges_answer(viewed).judges
    assert card.labels == 0
    assert card.confusion is None
    assert any("neither yes nor no" in each for each in card.notes)


def test_a_judge_with_a_passport_shows_it(store, viewed):
    from calipers.judges import LLMJudge
    from calipers.testing import ScriptedModel

    judge = LLMJudge("is it even?", model=ScriptedModel([{"passed": True, "reason": "it is"}]))
    cases = [Case(name="case 0", inputs=0)]
    run = Dataset(name="n", cases=cases, evaluators=[judge]).evaluate_sync(
        lambda inputs: str(inputs), store=store, progress=False
    )
    (stored,) = (each for each in store.run(run.reuse.run).evaluators if each.is_judge)
    (card,) = judges_answer(viewed).judges
    assert card.standing.passport is None
    assert card.question is None
    assert card.labels == 0
    keep_passport(
        store,
        Passport(
            judge=stored.name,
            identity=passport_identity(stored.parts),
            parts=stored.parts,
            model="some-model",
            at="2026-11-01T00:00:00+00:00",
            labels=40,
            measured={
                "agreement": Measurement(value=0.9, n=40, interval=Interval(0.77, 0.96)),
                "length_bias": Measurement(value=0.1, n=40),
            },
            unmeasured={"order_bias": "it judges one answer at a time"},
        ),
    )
    (card,) = judges_answer(viewed).judges
    assert card.model == "some-model"
    agreement, length, order = card.traits
    assert (agreement.name, agreement.what) == ("agreement", "judge and people say the same")
    assert (agreement.text, agreement.ends, agreement.n, agreement.ideal) == (
        "90.0 %",
        "[77.0, 96.0]",
        40,
        1.0,
    )
    assert (length.kind, length.text, length.ends, length.ideal) == ("difference", "10 points", "", 0.0)
    assert (order.value, order.text, order.why) == (None, "", "it judges one answer at a time")


def test_a_store_without_judges_has_none(store, viewed):
    assert judges_answer(viewed).judges == []
    put(store)
    assert judges_answer(viewed).judges == []
