"""Labelling in the browser: the queue of the terminal, blind, and nothing that was answered is lost."""

import threading

import msgspec
import pytest

from calipers import Case, Dataset, EvaluationReason
from calipers.cli.actions.label import label
from calipers.errors import InvalidOptionError, RunMissingError
from calipers.evaluators.judge_correction import JudgeCorrectionEvaluator
from calipers.report.report_evaluator import ReportEvaluatorContext
from calipers.stores import HumanLabel, SqliteStore
from calipers.testing import ScriptedKeys
from calipers.viewer.application import Application
from calipers.viewer.labelling import delete_label, labels_answer, next_label, put_label
from calipers.viewer.refusal import Refusal
from calipers.viewer.viewed_store import ViewedStore
from calipers.viewer.wire import LabelPlan, LabelUndo, LabelWrite

QUESTION = "kind"
SECRETS = ("VERDICT", "REASON", "NOTE", "META", "SPENT")


def kind(output):
    return EvaluationReason(value="please" in output, reason="REASON of the VERDICT")


def talk(inputs):
    from calipers import increment_eval_metric, set_eval_attribute

    set_eval_attribute("seen", "SPENT")
    increment_eval_metric("SPENT", 1)
    if inputs == "boom":
        raise ValueError("no answer")
    return f"answer to {inputs}, please" if inputs % 3 else f"answer to {inputs}"


@pytest.fixture
def path(tmp_path):
    return tmp_path / "runs.db"


@pytest.fixture
def run(path):
    """Keep a run, and return its id."""

    def make(count=6, repeat=1, inputs=None):
        cases = [
            Case(name=f"case {number}", inputs=each, expected_output="EXPECTED", metadata={"m": "META"})
            for number, each in enumerate(inputs if inputs is not None else range(count))
        ]
        with SqliteStore(path) as store:
            done = Dataset(name="talks", cases=cases, evaluators=[kind]).evaluate_sync(
                talk, store=store, repeat=repeat, progress=False
            )
        return done.reuse.run

    return make


@pytest.fixture
def viewed(path, run):
    run()
    with_store = ViewedStore(path)
    yield with_store
    with_store.close()


def plan(person="ann", **more):
    return LabelPlan(run="latest", question=QUESTION, person=person, **more)


def seat(viewed, person="ann", **more):
    """The next attempt, as the page asks for it."""
    return next_label(viewed, run="latest", question=QUESTION, person=person, **more)


def say(viewed, answer, choice, *, position=None, note="", etag=None):
    write = LabelWrite(
        plan=answer.plan,
        position=answer.item.position if position is None else position,
        choice=choice,
        note=note,
        etag=answer.item.etag if etag is None else etag,
    )
    return put_label(viewed, body=write)


def label_all(viewed, choices, person="ann", **more):
    """Decide about one attempt after the other; returns their positions."""
    answer = seat(viewed, person, **more)
    shown = []
    for choice in choices:
        shown.append(answer.item.position)
        answer = say(viewed, answer, choice)
    return shown, answer


def kept(viewed, **which):
    with viewed.reading() as store:
        return store.labels(**which)


# ---------------------------------------------------------------------- the same queue


@pytest.mark.parametrize("repeat", [1, 2])
def test_the_browser_and_the_terminal_draw_one_queue(path, run, monkeypatch, tmp_path, repeat):
    """With no seed given, too, and for people who begin at once."""
    monkeypatch.setenv("COLUMNS", "80")
    run(repeat=repeat)
    viewed = ViewedStore(path)
    ann, _ = label_all(viewed, [0] * 4)
    bob, _ = label_all(viewed, [1] * 4, "bob")
    label(run="latest", question=QUESTION, person="cid", store=str(path), keys=ScriptedKeys("yyyy"))
    cid = [each.position for each in sorted(kept(viewed, person="cid"), key=lambda each: each.at)]
    assert ann == bob == cid
    labels = {(each.seed, each.probability) for each in kept(viewed)}
    assert len(labels) == 1
    viewed.close()


def test_a_seed_gives_the_order_of_the_terminal(viewed, path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    shown, _ = label_all(viewed, [0] * 6, seed=9)
    label(run="latest", question="another", person="ann", store=str(path), seed=9, keys=ScriptedKeys("y" * 6))
    other = sorted(kept(viewed, question="another"), key=lambda each: each.at)
    assert shown == [each.position for each in other]


def test_a_label_of_the_browser_is_that_of_the_terminal(viewed, path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    label_all(viewed, [0])
    label(run="latest", question=QUESTION, person="bob", store=str(path), keys=ScriptedKeys("y"))
    ann, bob = (msgspec.to_builtins(*kept(viewed, person=each)) for each in ("ann", "bob"))
    assert {key for key in ann if ann[key] != bob[key]} == {"person", "at"}


def test_what_was_labelled_on_the_terminal_is_not_shown_again(viewed, path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    first = seat(viewed)
    label(run="latest", question=QUESTION, person="ann", store=str(path), keys=ScriptedKeys("yy"))
    then = seat(viewed)
    assert then.progress.done == 2
    assert then.item.position not in {first.item.position, first.ahead[0].position}
    assert then.item.position == first.ahead[1].position


def test_a_draw_is_that_of_the_terminal(path, run, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    run(40)
    viewed = ViewedStore(path)
    shown, answer = label_all(viewed, [0] * 8, count=8, judge="kind", seed=5)
    assert answer.item is None
    drawn = {each.position: (each.probability, each.seed) for each in kept(viewed)}
    with viewed.writing() as store:
        for each in kept(viewed):
            store.remove_label(each.run, each.position, question=QUESTION, person="ann")
    label(
        run="latest", question=QUESTION, person="ann", store=str(path), next=8, judge="kind", seed=5,
        keys=ScriptedKeys("y" * 8),
    )  # fmt: skip
    again = sorted(kept(viewed), key=lambda each: each.at)
    assert [each.position for each in again] == shown
    assert {each.position: (each.probability, each.seed) for each in again} == drawn
    viewed.close()


# ---------------------------------------------------------------------- blind


def test_it_is_blind(viewed, path):
    """No answer before the decision has a word of judges or of other people."""
    with viewed.writing() as store:
        run = store.run("latest")
        store.add_labels(
            [
                HumanLabel(run=run.id, position=n, case=f"case {n}", question=QUESTION, person="bob", value=True, at="", note="NOTE")
                for n in range(6)
            ]
        )  # fmt: skip
    answer = seat(viewed, width=0.2)
    sent = [answer]
    for choice in (0, 1, None, 0):
        answer = say(viewed, answer, choice)
        sent.append(answer)
    sent.append(delete_label(viewed, body=LabelUndo(plan=answer.plan)))
    sent.append(labels_answer(viewed).questions)
    for each in sent:
        text = msgspec.json.encode(each).decode()
        for secret in SECRETS:
            assert secret not in text, secret
    assert sent[0].item.expected.text == "EXPECTED"
    assert sent[0].item.metadata is None


def test_what_is_shown_follows_from_the_plan(viewed):
    hidden = seat(viewed, hide_expected=True, show_metadata=True)
    assert hidden.item.expected is None
    assert "META" in hidden.item.metadata.text
    assert seat(viewed).item.expected.text == "EXPECTED"


def test_a_task_that_failed_has_its_error_in_place_of_an_output(path, run):
    run(inputs=["boom"])
    viewed = ViewedStore(path)
    item = seat(viewed).item
    assert item.error == "ValueError: no answer"
    assert item.output.kind == "missing"
    viewed.close()


# ---------------------------------------------------------------------- decisions


def test_the_next_attempts_come_with_the_answer(viewed):
    answer = seat(viewed)
    order = [answer.item.position, *(each.position for each in answer.ahead)]
    then = say(viewed, answer, 0)
    assert then.item.position == order[1]
    assert then.ahead[0].position == order[2]
    assert [answer.item.number, *(each.number for each in answer.ahead)] == [1, 2, 3]
    assert (then.item.number, then.progress.done, then.progress.of) == (2, 1, 6)


def test_undo_takes_the_last_decision_back_and_shows_it_again(viewed):
    first = seat(viewed)
    second = say(viewed, first, 1, note="so so")
    assert second.last == first.item.position
    back = delete_label(viewed, body=LabelUndo(plan=second.plan, position=second.last))
    assert kept(viewed) == []
    assert back.item.position == first.item.position
    assert (back.item.own.value, back.item.own.note) == ("no", "so so")
    assert (back.item.number, back.last) == (1, None)
    say(viewed, back, 0)
    (found,) = kept(viewed)
    assert (found.value, found.note) == (True, "")


def test_undo_that_is_sent_twice_takes_one_decision_back(viewed):
    _, answer = label_all(viewed, [0, 1])
    undo = LabelUndo(plan=answer.plan, position=answer.last)
    once = delete_label(viewed, body=undo)
    twice = delete_label(viewed, body=undo)
    assert len(kept(viewed)) == 1
    assert once.item.position == twice.item.position == answer.last


def test_undo_in_turn_goes_back_through_labels_and_skips(viewed):
    shown, answer = label_all(viewed, [0, None, 1])
    back = []
    while answer.last is not None:
        answer = delete_label(viewed, body=LabelUndo(plan=answer.plan, position=answer.last))
        back.append(answer.item.position)
    assert back == shown[::-1]
    assert kept(viewed) == []
    assert answer.progress.skipped == 0


def test_an_answer_of_an_earlier_sitting_can_be_taken_back(viewed, path):
    shown, _ = label_all(viewed, [0, 1])
    other = ViewedStore(path)
    answer = seat(other)
    assert answer.last == shown[-1]
    delete_label(other, body=LabelUndo(plan=answer.plan))
    assert [each.position for each in kept(other)] == [shown[0]]
    other.close()


def test_a_skipped_attempt_stays_unlabelled_and_comes_again_when_it_is_asked_for(viewed):
    shown, answer = label_all(viewed, [None, 0, 0, 0, 0, 0])
    assert answer.item is None
    assert (answer.progress.skipped, answer.progress.of, answer.progress.done) == (1, 6, 5)
    again = delete_label(viewed, body=LabelUndo(plan=answer.plan, skipped=True))
    assert again.item.position == shown[0]
    assert len(kept(viewed)) == 5


def test_a_decision_that_is_sent_twice_is_one(viewed):
    answer = seat(viewed)
    one = say(viewed, answer, 0, note="n")
    before = kept(viewed)
    two = say(viewed, answer, 0, note="n")
    assert kept(viewed) == before
    assert (one.item.position, one.progress) == (two.item.position, two.progress)


@pytest.mark.parametrize(
    ("more", "values"),
    [
        ({"scale": "1-5"}, [1, 5, 3]),
        ({"choices": "good, bad,not sure"}, ["good", "not sure", "bad"]),
        ({}, [True, False]),
    ],
)
def test_answers_are_those_of_the_plan(viewed, more, values):
    answer = seat(viewed, **more)
    by_place = {each: place for place, each in enumerate(answer.question.choices)}
    for value in values:
        word = {True: "yes", False: "no"}.get(value, str(value)) if isinstance(value, bool) else str(value)
        answer = say(viewed, answer, by_place[word])
    assert [each.value for each in sorted(kept(viewed), key=lambda each: each.at)] == values
    assert len(answer.question.keys) == len(answer.question.choices)


def test_answers_of_two_kinds_are_refused(viewed):
    label_all(viewed, [0])
    with pytest.raises(
        InvalidOptionError, match="was answered by 'yes' before, which is none of these answers"
    ):
        seat(viewed, scale="1-5")


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"person": "a\nb"}, "person must be one line"),
        ({"question": ""}, "question"),
        ({"scale": "1-5", "choices": "a,b"}, "either on a scale or among choices"),
        ({"judge": "kind"}, "say how many"),
        ({"count": 0}, "count must be at least 1"),
        ({"width": 0.0}, "width must be above 0"),
        ({"seed": -1}, "seed must be at least 0"),
    ],
)
def test_a_plan_that_is_not_valid_is_refused(viewed, more, said):
    given = {"run": "latest", "question": QUESTION, "person": "ann", **more}
    with pytest.raises(InvalidOptionError, match=said):
        next_label(viewed, **given)


def test_a_number_that_is_no_choice_is_refused(viewed):
    answer = seat(viewed)
    for choice in (-1, 2):
        with pytest.raises(Refusal, match="there are 2 answers"):
            say(viewed, answer, choice)
    assert kept(viewed) == []


# ---------------------------------------------------------------------- several windows and people


def test_people_label_beside_each_other(viewed):
    ann, _ = label_all(viewed, [0] * 3)
    bob, answer = label_all(viewed, [1] * 6, "bob")
    assert bob[:3] == ann
    assert answer.question.people == [("ann", 3), ("bob", 6)]
    assert {(each.person, each.value) for each in kept(viewed)} == {("ann", True), ("bob", False)}


def test_a_second_window_that_answers_otherwise_is_told_who_and_what(viewed):
    one = seat(viewed)
    two = seat(viewed)
    assert one.item.position == two.item.position
    say(viewed, one, 0, note="fine")
    with pytest.raises(
        Refusal, match=r"ann answered 'yes' to this at \d\d:\d\d UTC.*noted 'fine'"
    ) as refused:
        say(viewed, two, 1)
    assert refused.value.code == "conflict"
    assert [each.value for each in kept(viewed)] == [True], "what was there stays"
    say(viewed, two, 1, etag=refused.value.etag)
    assert [each.value for each in kept(viewed)] == [False], "what the person saw can be written over"


def test_a_terminal_under_the_same_name_is_noticed(viewed, path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    answer = seat(viewed)
    label(run="latest", question=QUESTION, person="ann", store=str(path), keys=ScriptedKeys("n"))
    with pytest.raises(Refusal, match="ann answered 'no'"):
        say(viewed, answer, 0)
    then = say(viewed, answer, 1)
    assert then.progress.done == 1, "the same answer is no conflict"


def test_two_windows_at_the_same_moment_leave_one_answer(viewed):
    """Whoever comes second is refused, or says the same."""
    answer = seat(viewed)
    start = threading.Barrier(2)
    came = []

    def decide(choice):
        start.wait()
        try:
            say(viewed, answer, choice)
            came.append(choice)
        except Refusal as refused:
            came.append(refused.code)

    threads = [threading.Thread(target=decide, args=(choice,)) for choice in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert "conflict" in came
    (found,) = kept(viewed)
    assert found.value is (0 in came)


def test_an_attempt_that_was_made_again_is_shown_again(viewed):
    answer = seat(viewed)
    say(viewed, answer, 0)
    with viewed.writing() as store:
        run = store.run("latest")
        (attempt,) = (each for each in store.attempts(run.id) if each.position == answer.item.position)
        attempt.output = attempt.output.replace("answer", "ANOTHER answer")
        store.append(run.id, [attempt])
    again = seat(viewed)
    assert (again.progress.done, again.item.position) == (0, answer.item.position)
    with pytest.raises(Refusal, match="Look at it again"):
        say(viewed, answer, 1)
    say(viewed, again, 1)
    (found,) = kept(viewed)
    assert found.value is False


def test_an_attempt_or_a_run_that_is_gone_is_told(viewed):
    answer = seat(viewed)
    with viewed.writing() as store:
        store.remove_attempts(answer.plan.run, [answer.item.position])
    with pytest.raises(Refusal, match="removed from the run"):
        say(viewed, answer, 0)
    assert seat(viewed).item.position != answer.item.position
    with viewed.writing() as store:
        store.delete_run(answer.plan.run)
    with pytest.raises(RunMissingError):
        say(viewed, answer, 0)


# ---------------------------------------------------------------------- when the server ends


def test_a_server_that_ends_between_two_writes_loses_nothing(viewed, path):
    answer = say(viewed, seat(viewed), 0)
    other = ViewedStore(path)
    then = put_label(
        other,
        body=LabelWrite(plan=answer.plan, position=answer.item.position, choice=1, etag=answer.item.etag),
    )
    assert then.progress.done == 2
    assert then.item.position == answer.ahead[0].position
    assert [each.value for each in sorted(kept(other), key=lambda each: each.at)] == [True, False]
    other.close()


def test_of_a_draw_the_rest_is_drawn_again(path, run):
    run(40)
    viewed = ViewedStore(path)
    _, answer = label_all(viewed, [0] * 3, count=8, judge="kind")
    other = ViewedStore(path)
    given = msgspec.structs.asdict(answer.plan)
    then = next_label(other, **given)
    assert then.plan.count == 5
    assert then.plan.seed != answer.plan.seed
    assert then.item.position not in {each.position for each in kept(other)}
    viewed.close()
    other.close()


def test_a_store_that_is_only_read_shows_attempts_and_takes_no_answer(path, run):
    run()
    viewed = ViewedStore(path, read_only=True)
    answer = seat(viewed)
    assert answer.item is not None
    with pytest.raises(Refusal, match="only reads"):
        say(viewed, answer, 0)
    methods = {(call.method, call.path) for call in Application(viewed).calls}
    assert ("GET", "/label/next") in methods
    assert not {("PUT", "/label"), ("DELETE", "/label")} & methods
    viewed.close()


# ---------------------------------------------------------------------- questions and progress


def test_the_questions_of_a_store_are_listed_with_what_is_likely(viewed):
    label_all(viewed, [0])
    for question, values in (("how good?", [2, 4]), ("which?", ["red", "blue"]), ("odd?", [-3])):
        with viewed.writing() as store:
            run = store.run("latest").id
            store.add_labels(
                [
                    HumanLabel(run=run, position=n, case="c", question=question, person="bob", value=value, at="2026-01-01")
                    for n, value in enumerate(values)
                ]
            )  # fmt: skip
    found = {each.question: each for each in labels_answer(viewed).questions}
    assert next(iter(found)) == QUESTION, "what was answered last comes first"
    assert (found[QUESTION].kind, found[QUESTION].choices) == ("yes or no", ["yes", "no"])
    assert (found[QUESTION].labelled, found[QUESTION].of, found[QUESTION].judge) == (1, 6, "kind")
    assert found["how good?"].choices == ["1", "2", "3", "4", "5"]
    assert found["which?"].choices == ["blue", "red"]
    assert len(labels_answer(viewed).runs) == 1


def test_progress_is_the_interval_that_the_report_gives(path, run):
    run(60)
    viewed = ViewedStore(path)
    answer = seat(viewed, width=0.05)
    for number in range(25):
        answer = say(viewed, answer, 0 if number % 4 else 1)
    while answer.progress.why == "being worked out":
        answer = seat(viewed, width=0.05)
    with viewed.reading() as store:
        report = store.report("latest")
    found = JudgeCorrectionEvaluator("kind", question=QUESTION).evaluate(
        ReportEvaluatorContext(name="r", report=report)
    )
    while answer.progress.width != pytest.approx(found.interval.width):
        answer = seat(viewed, width=0.05)
    wider = found.interval.width / 0.05
    assert answer.progress.wanted_width == 0.05
    assert answer.progress.about_left == pytest.approx(25 * (wider**2 - 1), abs=1)
    viewed.close()


def test_without_a_judge_or_a_wanted_width_there_is_no_width(viewed):
    assert seat(viewed).progress.width is None
    other = next_label(viewed, run="latest", question="another", person="ann", width=0.1)
    assert other.progress.width is None
