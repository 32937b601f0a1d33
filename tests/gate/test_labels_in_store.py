"""What people answered in a store corrects and gates a judge, as files of labels do; and it never passes anything."""

from random import Random

import pytest
from msgspec.structs import replace

from calipers import Case, Dataset
from calipers.errors import InvalidOptionError
from calipers.evaluators import JudgeCorrectionEvaluator, ReportEvaluatorContext
from calipers.gate import HumanAgreement, Policy, Rules, StopWhenDecided, judge_run
from calipers.gate.human_labels import answers, output_of
from calipers.report.report import Report
from calipers.stores import HumanLabel, MemoryStore

CASES = 120


def truth(number):
    return Random(number).random() < 0.7


def judged(output):
    return output % 5 != 0


@pytest.fixture
def store():
    with MemoryStore() as opened:
        yield opened


def run(store, *, repeat=1, name="r"):
    cases = [Case(name=f"case {number}", inputs=number) for number in range(CASES)]
    dataset = Dataset(name="numbers", cases=cases, evaluators=[judged])
    report = dataset.evaluate_sync(
        lambda number: number, store=store, name=name, progress=False, seed=1, repeat=repeat
    )
    return report.reuse.run


def label(store, run, person="ann", say=truth, *, cases=range(0, CASES, 2), at="2026-01-01", **more):
    report = store.report(run)
    number = {record.inputs: position for position, record in enumerate(report.cases)}
    known = {"question": "right?", "about": "", **more}
    store.add_labels(
        [
            HumanLabel(
                run=run,
                position=number[each],
                case=f"case {each}",
                person=person,
                value=say(each),
                at=at,
                **known,
            )
            for each in cases
        ]
    )


def corrected(report, **source):
    found = JudgeCorrectionEvaluator("judged", **source)
    return found.evaluate(ReportEvaluatorContext(name=report.name, report=report))


def test_labels_in_the_store_correct_as_those_in_a_file_do(store, tmp_path):
    which = run(store)
    label(store, which)
    lines = "\n".join(f"case {n},{truth(n)}" for n in range(0, CASES, 2))
    (tmp_path / "labels.csv").write_text(f"case,human\n{lines}")
    report = store.report(which)
    assert corrected(report, question="right?") == corrected(report, labels=tmp_path / "labels.csv")
    policies = [
        Policy(
            evaluators={
                "judged": Rules(at_least=0.3, agreement=HumanAgreement(kappa=0.1, corrects=True, **source))
            }
        )
        for source in ({"question": "right?"}, {"labels": str(tmp_path / "labels.csv")})
    ]
    one, other = (judge_run(report, policy) for policy in policies)
    assert one == other


def test_labels_change_nothing_that_a_report_counts(store):
    which = run(store)
    before = store.report(which)
    label(store, which, say=lambda _: False)
    after = store.report(which)
    assert (after.counts(), after.summaries()) == (before.counts(), before.summaries())
    assert [case.passed for case in after.cases] == [case.passed for case in before.cases]
    assert sum(len(case.human_labels) for case in after.cases) == CASES // 2
    assert store.report(which, keep="failed").totals == store.totals(which)
    again = Report.from_dict(after.to_dict())
    assert [case.human_labels for case in again.cases] == [case.human_labels for case in after.cases]


def test_several_people_are_averaged_where_a_mean_is_corrected_and_the_first_counts_for_agreement(store):
    which = run(store)
    label(store, which, "bob", lambda _: True, at="2026-01-02")
    label(store, which, "ann", lambda _: False, at="2026-01-03")
    found = corrected(store.report(which), question="right?")
    assert (found.value, found.labels) == (0.5, CASES // 2)
    shares = [len([n for n in range(0, CASES, 2) if judged(n)]) / (CASES // 2), found.agreement]
    assert shares[0] == shares[1], "of both, bob was first, and said yes of all"


def test_a_label_of_an_output_that_the_attempt_no_longer_has_does_not_count(store):
    which = run(store)
    about = output_of(store.report(which).cases[0])
    label(store, which, cases=[0], about=about)
    label(store, which, "bob", cases=[0], about="of another")
    label(store, which, "cat", cases=[0])
    record = store.report(which).cases[0]
    said, gone = answers(record, "right?")
    assert ([each.person for each in said], gone) == (["ann", "cat"], 1)
    found = corrected(store.report(which), question="right?")
    assert found.note.endswith("1 label is of an output that the run no longer has, and does not count")


def test_a_question_that_no_one_was_asked_is_named_beside_those_that_were(store):
    which = run(store)
    report = store.report(which)
    assert "no case that the judge judged has a label" in corrected(report, question="polite?").note
    label(store, which)
    with pytest.raises(InvalidOptionError, match=r"no one was asked 'polite\?' .* there are 'right\?'"):
        corrected(store.report(which), question="polite?")


def test_labels_of_another_run_hold_a_judge_to_people_as_long_as_it_is_the_same(store):
    labelled, other = run(store), run(store, name="other")
    label(store, labelled)
    agreement = HumanAgreement(run=labelled, question="right?", share=0.2)
    policy = Policy(evaluators={"judged": Rules(agreement=agreement)})
    verdict = judge_run(store.report(other), policy, read_run=store.report)
    assert verdict.outcome == "PASS"
    report = store.report(other)
    for case in report.cases:
        case.results = tuple(replace(each, evaluator_version="2") for each in case.results)
    verdict = judge_run(report, policy, read_run=store.report)
    assert verdict.outcome == "INCONCLUSIVE"


def test_attempts_at_a_repeated_case_are_labelled_one_by_one(store):
    which = run(store, repeat=2)
    first = {record.name: place for place, record in enumerate(store.report(which).cases)}
    store.add_labels(
        [
            HumanLabel(
                run=which,
                position=first[f"case {n} [{attempt}/2]"],
                case=f"case {n}",
                repeat=attempt,
                question="right?",
                person="ann",
                value=attempt == 1,
                at="",
            )
            for n in range(0, CASES, 2)
            for attempt in (1, 2)
        ]
    )
    assert corrected(store.report(which), question="right?").value == 0.5


def test_a_run_that_no_one_has_labelled_yet_is_not_decided_by_its_labels():
    rules = Rules(at_least=0.1, agreement=HumanAgreement(question="right?", share=0.5))
    policy = Policy(evaluators={"judged": rules})
    dataset = Dataset(cases=[Case(name=f"case {n}", inputs=n) for n in range(CASES)], evaluators=[judged])
    report = dataset.evaluate_sync(
        lambda number: number, progress=False, seed=1, stop_when=StopWhenDecided(policy)
    )
    assert report.stopping.why is None
    assert judge_run(report, policy).outcome == "INCONCLUSIVE"
