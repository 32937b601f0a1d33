"""A run is not stopped as passed by a judge that is not to be believed: agreement with people counts during the run, too."""

import json
from random import Random

import pytest

from calipers import Case, Dataset
from calipers.errors import DatasetFileError, InvalidOptionError
from calipers.evaluators import Contains
from calipers.gate import HumanAgreement, Policy, Rules, StopWhenDecided, judge_run
from calipers.gate.agreement_rules import Ratings

# ---------------------------------------------------------------------- agreement


FINE = [(True, True)] * 60 + [(False, False)] * 60
POOR = [(True, True), (True, False)] * 60
FEW = [(True, True), (False, False)] * 3
ALIKE = [(True, True)] * 100


def good(output):
    return True


def run(evaluators=(good,), n=100, **options):
    cases = [Case(name=f"case {number}", inputs=number) for number in range(n)]
    dataset = Dataset(name="numbers", cases=cases, evaluators=list(evaluators))
    return dataset.evaluate_sync(lambda number: "ok", progress=False, seed=1, max_concurrency=1, **options)


def labelled(tmp_path, ratings):
    path = tmp_path / "labels.jsonl"
    path.write_text("\n".join(json.dumps({"judge": judge, "human": human}) for judge, human in ratings))
    return str(path)


def policy_of(**agreement):
    return Policy(evaluators={"good": Rules(at_least=0.5, agreement=HumanAgreement(**agreement))})


@pytest.mark.parametrize(
    ("ratings", "limit", "outcome"),
    [
        (FINE, {"kappa": 0.6}, "PASS"),
        (FINE, {"share": 0.9, "kappa": 0.6}, "PASS"),
        (POOR, {"share": 0.9}, "FAIL"),
        (FEW, {"share": 0.9}, "INCONCLUSIVE"),
        (ALIKE, {"kappa": 0.6}, "INCONCLUSIVE"),
    ],
)
def test_what_stops_a_run_is_what_the_gate_says_of_it(tmp_path, ratings, limit, outcome):
    policy = policy_of(labels=labelled(tmp_path, ratings), **limit)
    report = run(stop_when=StopWhenDecided(policy))
    assert judge_run(report, policy).outcome == outcome
    if outcome == "INCONCLUSIVE":
        assert report.stopping.why is None
    else:
        assert report.stopping.why.startswith(f"decided: {outcome}")


def test_a_judge_that_is_unfit_ends_the_run_at_once(tmp_path):
    policy = policy_of(labels=labelled(tmp_path, POOR), share=0.9)
    report = run(stop_when=StopWhenDecided(policy))
    assert report.stopping.heard == 1
    assert report.stopping.why == "decided: FAIL (good: agreement with people at least 90 %)"


def test_labels_that_cannot_be_read_are_told_before_anything_runs(tmp_path):
    with pytest.raises(FileNotFoundError):
        StopWhenDecided(policy_of(labels=str(tmp_path / "nope.jsonl"), kappa=0.6))
    (tmp_path / "bad.jsonl").write_text('{"judge": true}\n')
    with pytest.raises(DatasetFileError):
        StopWhenDecided(policy_of(labels=str(tmp_path / "bad.jsonl"), kappa=0.6))
    with pytest.raises(InvalidOptionError, match="read_run"):
        StopWhenDecided(policy_of(run="labelled", kappa=0.6))


@pytest.mark.parametrize(("text", "share"), [("ok", 0.6), ("o", 0.6), ("ok", 0.99), ("o", 0.99)])
def test_labels_of_another_judge_decide_nothing(text, share):
    turns = iter(range(10_000))

    def human(output):
        return share < 0.9 or next(turns) % 2 == 0

    people = run([Contains("ok", evaluation_name="good"), human])
    policy = policy_of(run="people", share=share)
    rule = StopWhenDecided(policy, read_run=lambda _: people)
    report = run([Contains(text, evaluation_name="good")], stop_when=rule)
    verdict = judge_run(report, policy, read_run=lambda _: people)
    expected = ("PASS" if share < 0.9 else "FAIL") if text == "ok" else "INCONCLUSIVE"
    assert verdict.outcome == expected
    assert (report.stopping.why or "decided: INCONCLUSIVE").startswith(f"decided: {expected}")


def test_a_judge_that_one_case_brings_in_another_form_is_another_judge():
    def data(last):
        texts = ["ok", "o", last]
        cases = [
            Case(name=f"case {n}", inputs=n, evaluators=[Contains(text, evaluation_name="good")])
            for n, text in enumerate(texts * 40)
        ]
        return Dataset(name="own", cases=cases, evaluators=[human])

    def human(output):
        return True

    people, same, other = (
        data(last).evaluate_sync(lambda _: "ok", progress=False) for last in ("k", "k", "O")
    )
    policy = policy_of(run="people", share=0.6)
    assert judge_run(same, policy, read_run=lambda _: people).outcome == "PASS"
    verdict = judge_run(other, policy, read_run=lambda _: people)
    assert any("on case 'case " in each.said for each in verdict.findings if each.outcome == "INCONCLUSIVE")


# ---------------------------------------------------------------------- ratings


def alike(n, by="share"):
    answers = (["yes", "no"] * n)[:n]
    return Ratings(judge=answers, human=answers, by=by)


@pytest.mark.parametrize(("n", "limit", "needed"), [(30, 0.9, 36), (30, 0.95, 72), (10, 0.95, 72)])
def test_labels_that_all_agree_are_too_few_until_their_interval_clears_the_share(n, limit, needed):
    assert alike(n).needed(limit, 0.95) == needed
    assert alike(needed).interval(0.95).low > limit >= alike(needed - 1).interval(0.95).low


@pytest.mark.parametrize("limit", [0.5, 0.7, 0.9])
def test_labels_that_all_agree_are_too_few_until_their_interval_clears_kappa(limit):
    needed = alike(20, "kappa").needed(limit, 0.95)
    assert alike(needed + needed % 2, "kappa").interval(0.95).low > limit
    assert alike(needed - 2 - needed % 2, "kappa").interval(0.95).low < limit


SEEN = [("yes", "yes")] * 24 + [("no", "no")] * 20 + [("yes", "no")] * 3 + [("no", "yes")] * 3


def ratings(pairs, by):
    return Ratings(judge=[judge for judge, _ in pairs], human=[human for _, human in pairs], by=by)


@pytest.mark.parametrize(("by", "limit"), [("share", 0.8), ("share", 0.94), ("kappa", 0.6), ("kappa", 0.88)])
def test_as_many_labels_as_are_asked_for_tell_four_times_in_five(by, limit):
    seen = ratings(SEEN, by)
    needed, above = seen.needed(limit, 0.95), seen.value > limit
    assert needed > len(SEEN)
    draw = Random(6)
    told = 0
    for _ in range(200):
        interval = ratings(draw.choices(SEEN, k=needed), by).interval(0.95)
        told += interval.low > limit if above else interval.high < limit
    assert told / 200 == pytest.approx(0.8, abs=0.09)


@pytest.mark.parametrize("by", ["share", "kappa"])
def test_no_number_of_labels_tells_what_lies_at_the_limit(by):
    seen = ratings(SEEN, by)
    assert seen.needed(seen.value, 0.95) is None
    assert seen.needed(seen.value + 1e-7, 0.95) is None
