"""What a gate says of a run: intervals decide, what is missing never passes, and every outcome says what to do."""

import csv
import random

import msgspec
import pytest

from calipers import Case, Dataset, increment_eval_metric
from calipers.errors import DatasetFileError, InvalidOptionError
from calipers.gate import Growth, HumanAgreement, Policy, Rules, StopWhenDecided, Verdict, judge_run
from calipers.report import Incomplete


def right(output):
    return output["right"]


def grade(output):
    return 0.9 if output["right"] else 0.4


def kind(output):
    return "good" if output["right"] else "bad"


def fragile(output):
    if not output["right"]:
        raise RuntimeError("cannot judge this")
    return True


def agent(version, skill, cost=0.01):
    def answer(number):
        increment_eval_metric("cost", cost)
        return {"right": random.Random(f"{version} {number}").random() < skill}

    return answer


def run(
    version,
    skill,
    *,
    n=300,
    evaluators=(right, grade, kind),
    cost=0.01,
    inputs=lambda number: number,
    **options,
):
    cases = [Case(name=f"case {number}", inputs=inputs(number)) for number in range(n)]
    dataset = Dataset(name="numbers", cases=cases, evaluators=list(evaluators))
    return dataset.evaluate_sync(agent(version, skill, cost), name=version, seed=1, progress=False, **options)


OLD = run("old", 0.85)
SAME = run("same", 0.85)
WORSE = run("worse", 0.55)
FEW = run("few", 0.85, n=12)


def outcomes(verdict):
    return {
        (finding.subject, finding.rule.partition(" ")[0]): finding.outcome for finding in verdict.findings
    }


def only(verdict, subject):
    (found,) = [finding for finding in verdict.findings if finding.subject == subject]
    return found


@pytest.mark.parametrize(
    ("report", "rules", "outcome"),
    [
        (SAME, Rules(margin=0.1), "PASS"),
        (WORSE, Rules(margin=0.1), "FAIL"),
        (FEW, Rules(margin=0.1), "INCONCLUSIVE"),
        (SAME, Rules(margin=0.0), "INCONCLUSIVE"),
        (SAME, Rules(at_least=0.7), "PASS"),
        (WORSE, Rules(at_least=0.7), "FAIL"),
        (SAME, Rules(at_least=0.85), "INCONCLUSIVE"),
        (WORSE, Rules(at_most=0.7), "PASS"),
        (SAME, Rules(at_most=0.7), "FAIL"),
        (SAME, Rules(min_cases=301), "INCONCLUSIVE"),
        (SAME, Rules(min_cases=300), "PASS"),
    ],
)
def test_the_interval_decides_and_not_the_point(report, rules, outcome):
    verdict = judge_run(report, Policy(evaluators={"right": rules}), baseline=OLD)
    assert verdict.outcome == outcome
    if outcome != "PASS":
        assert all(finding.advice for finding in verdict.findings if finding.outcome != "PASS")


def test_a_score_where_less_is_better_is_held_the_other_way_round():
    policy = Policy(evaluators={"grade": Rules(margin=0.05, better="lower")})
    for report, baseline, outcome, sign, word in (
        (WORSE, OLD, "PASS", "-", "better"),
        (OLD, WORSE, "FAIL", "+", "worse"),
    ):
        verdict = judge_run(report, policy, baseline=baseline)
        finding = only(verdict, "grade")
        means = [sum(case.scores["grade"].value for case in each.cases) / 300 for each in (report, baseline)]
        assert verdict.outcome == outcome
        assert finding.value == pytest.approx(means[0] - means[1])
        assert (finding.limit, finding.above) == (0.05, False)
        assert finding.said.startswith(f"{sign}0.")
        assert f", which is {word}, 95 % interval {sign}0." in finding.said


def test_no_difference_is_neither_better_nor_worse():
    policy = Policy(evaluators={"grade": Rules(margin=0.05, better="lower")})
    finding = only(judge_run(OLD, policy, baseline=OLD), "grade")
    assert (finding.outcome, finding.value) == ("PASS", 0.0)
    assert finding.said.startswith("0, 95 % interval")


def test_the_pass_rate_has_rules_of_its_own():
    assert judge_run(SAME, Policy(pass_rate=Rules(margin=0.1, at_least=0.7)), baseline=OLD).outcome == "PASS"
    silent = run("silent", 0.9, n=5, evaluators=[grade])
    verdict = judge_run(silent, Policy(pass_rate=Rules(at_least=0.1)))
    assert (verdict.outcome, only(verdict, "pass rate").said) == ("FAIL", "nothing was asserted in this run")


def test_how_many_more_cases_are_needed_is_told():
    rate = only(judge_run(SAME, Policy(evaluators={"right": Rules(at_least=0.1)})), "right").value
    wanting = only(judge_run(SAME, Policy(evaluators={"right": Rules(at_least=rate - 0.02)})), "right")
    assert wanting.outcome == "INCONCLUSIVE"
    assert wanting.more_cases > 300
    assert wanting.advice.startswith(f"needs about {str(wanting.more_cases)[0]}")
    closer = only(judge_run(SAME, Policy(evaluators={"right": Rules(at_least=rate - 0.01)})), "right")
    assert closer.more_cases > 3 * wanting.more_cases, "half the distance takes four times the cases"


# ---------------------------------------------------------------------- nothing vacuous passes


@pytest.mark.parametrize(
    ("policy", "baseline", "outcome"),
    [
        (Policy(evaluators={"gone": Rules(min_cases=1)}), None, "FAIL"),
        (Policy(evaluators={"gone": Rules(at_least=0.0)}), None, "FAIL"),
        (Policy(metrics={"tokens": Growth(at_most=5)}), None, "FAIL"),
        (Policy(evaluators={"right": Rules(margin=0.5)}), None, "INCONCLUSIVE"),
        (Policy(duration=Growth(max_growth=100)), None, "INCONCLUSIVE"),
        (Policy(evaluators={"right": Rules(margin=0.5)}), run("other", 0.9, inputs=str), "INCONCLUSIVE"),
        (
            Policy(evaluators={"right": Rules(margin=0.5)}),
            run("old", 0.9, evaluators=[grade]),
            "INCONCLUSIVE",
        ),
        (Policy(evaluators={"right": Rules(margin=0.5, min_cases=50)}), FEW, "INCONCLUSIVE"),
    ],
)
def test_what_is_missing_never_passes(policy, baseline, outcome):
    assert judge_run(SAME, policy, baseline=baseline).outcome == outcome


def test_a_run_without_cases_passes_nothing():
    empty = run("empty", 0.9, n=0)
    for rules in (Rules(min_cases=1), Rules(margin=1.0), Rules(at_least=0.0)):
        assert judge_run(empty, Policy(evaluators={"right": rules}), baseline=OLD).outcome == "FAIL"
    policy = Policy(pass_rate=Rules(at_most=0.9), max_task_failures=1.0)
    assert judge_run(empty, policy).outcome != "PASS"


def test_a_run_that_was_interrupted_is_inconclusive_at_best():
    cut = msgspec.structs.replace(SAME, incomplete=Incomplete("interrupted", "interrupted by Ctrl-C"))
    assert judge_run(cut, Policy(evaluators={"right": Rules(at_least=0.5)})).outcome == "INCONCLUSIVE"
    assert judge_run(cut, Policy(evaluators={"right": Rules(at_least=0.99)})).outcome == "FAIL"


def test_cases_that_changed_are_not_compared_and_named():
    changed = run("old", 0.85, inputs=lambda number: number + 1000 * (number < 2))
    verdict = judge_run(SAME, Policy(evaluators={"right": Rules(margin=0.2)}), baseline=changed)
    assert verdict.paired == 298
    assert "'case 0'" in verdict.notes[0]


def test_another_evaluator_in_the_baseline_compares_nothing():
    policy = Policy(evaluators={"right": Rules(margin=0.5)})
    verdict = judge_run(SAME, policy, baseline=OLD, changed_evaluators={"right": "its code changed"})
    assert verdict.outcome == "INCONCLUSIVE"
    assert "its code changed" in only(verdict, "right").said
    assert (
        judge_run(SAME, policy, baseline=OLD, changed_evaluators={"grade": "its code changed"}).outcome
        == "PASS"
    )


def test_a_pass_rate_by_other_evaluators_compares_nothing():
    def brief(output):
        return True

    policy = Policy(pass_rate=Rules(margin=0.5))
    more = run("old", 0.85, evaluators=[right, brief])
    verdict = judge_run(SAME, policy, baseline=more)
    assert verdict.outcome == "INCONCLUSIVE"
    assert "'brief'" in only(verdict, "pass rate").said
    assert (
        judge_run(SAME, policy, baseline=OLD, changed_evaluators={"right": "its code changed"}).outcome
        == "INCONCLUSIVE"
    )
    assert judge_run(SAME, policy, baseline=OLD).outcome == "PASS"


def test_an_incomplete_baseline_is_noted():
    cut = msgspec.structs.replace(OLD, incomplete=Incomplete("interrupted", "interrupted by Ctrl-C"))
    verdict = judge_run(SAME, Policy(evaluators={"right": Rules(margin=0.2)}), baseline=cut)
    assert "incomplete" in verdict.notes[0]


def test_labels_have_no_mean():
    assert judge_run(SAME, Policy(evaluators={"kind": Rules(min_cases=1)})).outcome == "PASS"
    with pytest.raises(InvalidOptionError, match="labels"):
        judge_run(SAME, Policy(evaluators={"kind": Rules(at_least=0.5)}))


def test_a_report_that_keeps_only_failures_is_refused():
    partial = run("same", 0.85, keep="failed")
    with pytest.raises(InvalidOptionError, match="keep='all'"):
        judge_run(partial, Policy(evaluators={"right": Rules(at_least=0.5)}))


def test_scores_that_all_agree_are_no_proof():
    def always(output):
        return 0.9

    few, many = (run("alike", 0.9, n=n, evaluators=[always]) for n in (5, 300))
    policy = Policy(evaluators={"always": Rules(at_least=0.8)})
    assert judge_run(few, policy).outcome == "INCONCLUSIVE"
    assert judge_run(many, policy).outcome == "PASS"
    margin = Policy(evaluators={"always": Rules(margin=0.05)})
    assert judge_run(few, margin, baseline=many).outcome == "INCONCLUSIVE"
    assert judge_run(many, margin, baseline=run("other", 0.9, evaluators=[always])).outcome == "PASS"


# ---------------------------------------------------------------------- facts, growth, judges


def test_failures_count_as_not_passed_and_have_limits_of_their_own():
    broken = run("broken", 0.85, evaluators=[fragile])
    lost = sum(bool(case.evaluator_failures) for case in broken.cases) / 300
    assert judge_run(broken, Policy(evaluators={"fragile": Rules(at_least=0.99)})).outcome == "FAIL"
    for limits in ({"max_evaluator_errors": 0.01}, {"max_evaluator_errors": lost}):
        verdict = judge_run(broken, Policy(evaluators={"fragile": Rules(min_cases=1)}, **limits))
        assert verdict.outcome == ("FAIL" if limits["max_evaluator_errors"] < lost else "PASS")
    assert judge_run(broken, Policy(evaluators={"fragile": Rules(max_errors=0.01)})).outcome == "FAIL"


def test_growth_is_held_against_the_baseline():
    dearer = run("dear", 0.85, cost=0.012)
    for limit, outcome in ((0.1, "FAIL"), (0.3, "PASS")):
        verdict = judge_run(dearer, Policy(metrics={"cost": Growth(max_growth=limit)}), baseline=OLD)
        assert verdict.outcome == outcome
        assert only(verdict, "cost").value == pytest.approx(0.2)
    assert judge_run(dearer, Policy(metrics={"cost": Growth(at_most=0.02)})).outcome == "PASS"
    assert judge_run(FEW, Policy(metrics={"cost": Growth(at_most=0.02)})).outcome == "INCONCLUSIVE"
    assert judge_run(SAME, Policy(duration=Growth(at_most=60))).outcome == "PASS"


def write_labels(path, agreed, disagreed):
    path.write_text("judge,human\n" + "True,true\nfalse,False\n" * (agreed // 2) + "true,false\n" * disagreed)
    return str(path)


@pytest.mark.parametrize(
    ("agreed", "disagreed", "outcome"), [(100, 4, "PASS"), (30, 30, "FAIL"), (8, 1, "INCONCLUSIVE")]
)
def test_a_judge_is_held_to_people(tmp_path, agreed, disagreed, outcome):
    labels = write_labels(tmp_path / "labels.csv", agreed, disagreed)
    for limit in ({"kappa": 0.7}, {"share": 0.8}):
        policy = Policy(evaluators={"right": Rules(agreement=HumanAgreement(labels=labels, **limit))})
        assert judge_run(SAME, policy).outcome == outcome


def test_a_judge_can_be_held_to_a_labelled_run():
    def human(output):
        return output["right"]

    labelled = run("labelled", 0.5, n=100, evaluators=[right, human])
    policy = Policy(evaluators={"right": Rules(agreement=HumanAgreement(run="labelled", kappa=0.7))})
    assert judge_run(SAME, policy, read_run={"labelled": labelled}.__getitem__).outcome == "PASS"
    with pytest.raises(InvalidOptionError, match="read_run"):
        judge_run(SAME, policy)
    unlabelled = judge_run(SAME, policy, read_run=lambda _: SAME)
    assert unlabelled.outcome == "INCONCLUSIVE"


def test_a_judge_is_not_compared_with_itself(tmp_path):
    labels = write_labels(tmp_path / "labels.csv", 100, 4)
    for wanted in (
        HumanAgreement(labels=labels, human="judge", kappa=0.7),
        HumanAgreement(run="r", human="right", kappa=0.7),
    ):
        with pytest.raises(InvalidOptionError, match="the judge itself"):
            judge_run(SAME, Policy(evaluators={"right": Rules(agreement=wanted)}), read_run=lambda _: SAME)


BAD_LABELS = {
    "a line without a rating": (
        "l.jsonl",
        b'{"judge": true, "human": true}\n\n{"judge": true}\n',
        3,
        "'human'",
    ),
    "a list": ("l.jsonl", b'{"judge": ["yes"], "human": true}\n', 1, r"got \['yes'\]"),
    "an object": ("l.jsonl", b'{"judge": true, "human": {"a": 1}}\n', 1, r"got \{'a': 1\}"),
    "no object": ("l.jsonl", b"[1]\n", 1, "ends in .csv"),
    "a deep one": ("l.jsonl", b'{"judge": ' + b"[" * 100_000 + b"\n", 1, "one object in each line"),
    "Latin-1 in JSON": ("l.jsonl", b'{"judge": 1, "human": 1}\n{"judge": "\xe9", "human": 1}\n', 2, "UTF-8"),
    "Latin-1 in CSV": ("l.csv", b"judge,human\nyes,yes\nyes,\xe9\n", 3, r"byte b'\\xe9': save"),
    "a huge field": ("l.csv", b"judge,human\nyes," + b"x" * 200_000 + b"\n", 2, "field larger"),
    "an open quote": ("l.csv", b'judge,human\nyes,"no\n', 2, "no CSV"),
    "no such column": ("l.csv", b"judge,people\nyes,no\n", 1, "one column 'human'"),
    "a column twice": ("l.csv", b"judge,human,human\nyes,no,yes\n", 1, "one column 'human'"),
    "too many cells": ("l.csv", b"judge,human\nyes,no,no\n", 2, "expected 2 cells"),
    "a blank of the judge": ("l.csv", b"judge,human\n ,yes\n", 2, "what 'judge' said"),
}


@pytest.fixture
def usual_fields():
    """The longest field as Python has it: who has read a dataset from CSV has raised it for the whole process."""
    before = csv.field_size_limit(131_072)
    yield
    csv.field_size_limit(before)


@pytest.mark.parametrize(("name", "data", "line", "words"), BAD_LABELS.values(), ids=BAD_LABELS.keys())
def test_labels_that_cannot_be_read_are_refused_with_file_and_line(
    tmp_path, usual_fields, name, data, line, words
):
    path = tmp_path / name
    path.write_bytes(data)
    policy = Policy(evaluators={"right": Rules(agreement=HumanAgreement(labels=str(path), kappa=0.5))})
    with pytest.raises(DatasetFileError, match=rf"{name}', line {line}: .*{words}") as caught:
        judge_run(SAME, policy)
    assert len(str(caught.value)) < 600


def test_ratings_are_categories_however_they_are_written(tmp_path):
    path = tmp_path / "labels.csv"
    path.write_text("\ufeffjudge,note,human\n" + "4.0,\u2028,4\n1,,1.0\n\n" * 60, encoding="utf-8")
    policy = Policy(
        evaluators={"right": Rules(agreement=HumanAgreement(labels=str(path), kappa=0.9, share=0.9))}
    )
    verdict = judge_run(SAME, policy)
    assert verdict.outcome == "PASS"
    assert [finding.n for finding in verdict.findings if finding.subject == "right"] == [120, 120]


def agreement_by(path, text, limit=0.5):
    path.write_text(text)
    wanted = HumanAgreement(labels=str(path), kappa=limit, share=limit)
    verdict = judge_run(SAME, Policy(evaluators={"right": Rules(agreement=wanted)}))
    return verdict, [finding.value for finding in verdict.findings if finding.subject == "right"]


@pytest.mark.parametrize("judge", ["true,false", "yes,no", "1,0", "pass,fail", "good,bad", "1.0,0.0"])
@pytest.mark.parametrize("human", ["TRUE,FALSE", "Yes,No", "1,0", "passed,failed", "good,bad"])
def test_yes_and_no_are_the_same_in_any_words(tmp_path, judge, human):
    (judge_yes, judge_no), (yes, no) = judge.split(","), human.split(",")
    lines = f"{judge_yes},{yes}\n{judge_no},{no}\n" * 40
    _, values = agreement_by(tmp_path / "labels.csv", f"judge,human\n{lines}")
    assert values == [1.0, 1.0]


def test_kinds_that_the_judge_tells_apart_are_not_taken_for_one_no(tmp_path):
    lines = "good,good\nbad,fail\nfail,bad\n" * 40
    _, (_, share) = agreement_by(tmp_path / "labels.csv", f"judge,human\n{lines}")
    assert share == pytest.approx(1 / 3)


def test_a_label_that_is_neither_yes_nor_no_is_refused_as_for_the_corrected_rate(tmp_path):
    with pytest.raises(InvalidOptionError, match="'Maybe' is neither yes nor no"):
        agreement_by(tmp_path / "labels.csv", "judge,human\ntrue,Maybe\n")


@pytest.mark.parametrize(
    "text",
    [
        "judge,human\n" + "true,true\nfalse,\nfalse,no\nfalse, \n" * 40,
        "Judge;HUMAN\n" + "true;true\nfalse\nfalse;no\nfalse;\n" * 40,
        "Judge; note, if any ;Human\n" + "true;;true\nfalse;x;\nfalse;a, b;no\nfalse;;\n" * 40,
    ],
    ids=["commas", "semicolons", "commas in a header with semicolons"],
)
def test_a_blank_label_leaves_its_line_unlabelled_and_is_counted(tmp_path, text):
    verdict, values = agreement_by(tmp_path / "labels.csv", text)
    assert values == [1.0, 1.0]
    assert [finding.n for finding in verdict.findings if finding.subject == "right"] == [80, 80]
    assert [note for note in verdict.notes if "label" in note] == [
        "right: 80 lines of the labels have no label and count as unlabelled"
    ]


@pytest.mark.parametrize(
    ("lines", "kappa", "share", "said"),
    [
        ("", "INCONCLUSIVE", "INCONCLUSIVE", "no case with both"),
        ("yes,yes\n" * 80, "INCONCLUSIVE", "PASS", "people said 'yes' of all 80 cases"),
        ("yes,yes\n" * 78 + "no,yes\n" * 2, "INCONCLUSIVE", "PASS", "both agree on 78"),
        ("yes,no\n" * 80, "INCONCLUSIVE", "FAIL", "people said 'no'"),
        ("yes,yes\n" * 78 + "yes,no\n" * 2, "INCONCLUSIVE", "PASS", "the judge said 'yes' of all 80 cases"),
        ("cat,feline\ndog,canine\n" * 40, "INCONCLUSIVE", "INCONCLUSIVE", "no answer is in common"),
    ],
    ids=[
        "none",
        "all alike",
        "people one-sided",
        "one-sided and opposed",
        "judge one-sided",
        "other words",
    ],
)
def test_labels_that_tell_nothing_are_inconclusive_and_say_why(tmp_path, lines, kappa, share, said):
    path = tmp_path / "labels.csv"
    path.write_text(f"judge,human\n{lines}")
    wanted = HumanAgreement(labels=str(path), kappa=0.5, share=0.8)
    verdict = judge_run(SAME, Policy(evaluators={"right": Rules(agreement=wanted)}))
    one, other = (finding for finding in verdict.findings if finding.subject == "right")
    assert (one.outcome, other.outcome) == (kappa, share)
    assert said in one.said
    assert one.advice.startswith(("label", "write both"))


# ---------------------------------------------------------------------- looks, and the verdict as data


def test_intervals_that_allow_many_looks_are_wider():
    policy = Policy(evaluators={"right": Rules(at_least=0.5, margin=0.3)})
    once, often = (judge_run(SAME, policy, baseline=OLD, anytime=anytime) for anytime in (False, True))
    for one, other in zip(once.findings, often.findings, strict=True):
        if one.interval is not None:
            assert one.interval.width < other.interval.width
    assert often.anytime
    timed = Policy(duration=Growth(at_most=100))
    assert judge_run(SAME, timed, anytime=True).outcome == "INCONCLUSIVE"


def test_a_verdict_is_plain_data():
    verdict = judge_run(WORSE, Policy(evaluators={"right": Rules(margin=0.1)}), baseline=OLD)
    assert msgspec.json.decode(msgspec.json.encode(verdict), type=Verdict) == verdict


@pytest.mark.parametrize(("skill", "outcome"), [(0.97, "PASS"), (0.4, "FAIL")])
@pytest.mark.parametrize("repeat", [1, 2])
def test_a_run_ends_when_it_is_decided_and_the_gate_says_the_same(skill, outcome, repeat):
    policy = Policy(evaluators={"right": Rules(margin=0.1, at_least=0.7)}, min_cases=20)
    report = run("early", skill, repeat=repeat, max_concurrency=1, stop_when=StopWhenDecided(policy, OLD))
    assert report.stopping.why.startswith(f"decided: {outcome}")
    assert report.incomplete is None
    assert report.stopping.saved == 300 * repeat - len(report.cases) > 0
    assert judge_run(report, policy, baseline=OLD).outcome == outcome
    again = type(report).from_dict(report.to_dict())
    assert judge_run(again, policy, baseline=OLD).outcome == outcome


def test_a_run_that_is_never_decided_runs_to_its_end_and_has_been_looked_at():
    policy = Policy(evaluators={"right": Rules(at_least=0.85)})
    report = run("same", 0.85, stop_when=StopWhenDecided(policy))
    assert (len(report.cases), report.stopping.why, report.stopping.heard) == (300, None, 300)
    verdict = judge_run(report, policy)
    assert not verdict.anytime
    assert verdict.confidence == pytest.approx(0.961), "looks on the way had 22 % of the doubt"
    assert any("had 22 % of the doubt" in note for note in verdict.notes)


@pytest.mark.parametrize(
    ("policy", "baseline", "words"),
    [
        (Policy(evaluators={"right": Rules(margin=0.1)}), None, "baseline"),
        (Policy(evaluators={"right": Rules(min_cases=1)}), None, "could decide"),
        (Policy(evaluators={"right": Rules(at_least=0.5)}, duration=Growth(at_most=1)), None, "bounds"),
        (Policy(evaluators={"right": Rules(at_least=1.0)}), None, "inside the bounds"),
        (Policy(evaluators={"gone": Rules(margin=0.1)}), OLD, "no result of 'gone'"),
    ],
)
def test_what_cannot_be_decided_during_a_run_is_refused_before_it(policy, baseline, words):
    with pytest.raises(InvalidOptionError, match=words):
        StopWhenDecided(policy, baseline)


def test_clusters_are_refused_before_the_first_call():
    calls = []
    clustered = Dataset(cases=[Case(inputs=1), Case(inputs=2, cluster="a")], evaluators=[right])
    rule = StopWhenDecided(Policy(evaluators={"right": Rules(at_least=0.5)}))
    with pytest.raises(InvalidOptionError, match=r"'Case 2' is in the cluster 'a'.*`calipers gate`"):
        clustered.evaluate_sync(calls.append, stop_when=rule, progress=False)
    assert not calls


def half(output):
    return {"first": True, "second": 0.5} if output["right"] else {"first": False}


def unsure(output):
    return output["right"] if output["right"] else {}


@pytest.mark.parametrize(
    ("evaluators", "named", "heard"),
    [
        pytest.param([right, grade], "rigth", 1, id="a slip of the pen"),
        pytest.param([], "right", 1, id="no evaluators"),
        pytest.param([right, unsure], "rigth", None, id="what was skipped may give it yet"),
        pytest.param([right, half], "third", None, id="who gives several names may give another"),
    ],
)
def test_what_nothing_gives_fails_as_soon_as_that_is_seen(evaluators, named, heard):
    policy = Policy(evaluators={named: Rules(at_least=0.5)})
    cases = [Case(inputs=number) for number in range(30)]
    report = Dataset(cases=cases, evaluators=evaluators).evaluate_sync(
        agent("a", 0.0), stop_when=StopWhenDecided(policy), max_concurrency=1, seed=1, progress=False
    )
    assert report.stopping.heard == (heard or 30)
    assert report.stopping.why == (f"decided: FAIL ({named}: has to be there)" if heard else None)
    assert judge_run(report, policy).outcome == "FAIL"


@pytest.mark.parametrize("named", ["second", "right (assertion)", "mine"])
def test_what_some_evaluator_gives_later_is_waited_for(named):
    policy = Policy(evaluators={named: Rules(at_least=0.01), "right": Rules(at_least=0.01)})

    def mine(output):
        return True

    own = [mine] if named == "mine" else []
    cases = [Case(inputs=number, evaluators=own * (number % 3 == 0)) for number in range(100)]
    report = Dataset(cases=cases, evaluators=[right, half]).evaluate_sync(
        agent("a", 0.5), stop_when=StopWhenDecided(policy), max_concurrency=1, seed=1, progress=False
    )
    assert report.stopping.why == "decided: PASS"


# ---------------------------------------------------------------------- tags


def test_a_rule_for_a_tag_is_held_against_the_cases_with_the_tag():
    def tagged(skills, n=200):
        cases = [Case(name=str(i), inputs=i, tags=["hard"] if i % 2 else ["easy"]) for i in range(n)]

        def answer(number):
            return {"right": random.Random(number).random() < skills[number % 2]}

        return Dataset(cases=cases, evaluators=[right]).evaluate_sync(answer, progress=False)

    old, new = tagged((0.95, 0.95)), tagged((1.0, 0.5))
    level = judge_run(new, Policy(tags={"easy": Rules(at_least=0.9), "hard": Rules(at_least=0.9)}))
    assert outcomes(level) == {
        ("run", "at"): "PASS",
        ("pass rate of 'easy'", "at"): "PASS",
        ("pass rate of 'hard'", "at"): "FAIL",
    }
    assert only(level, "pass rate of 'hard'").n == 100
    margins = Policy(tags={"easy": Rules(margin=0.1), "hard": Rules(margin=0.1)})
    assert margins.needs_baseline
    assert outcomes(judge_run(new, margins, baseline=old)) == {
        ("run", "at"): "PASS",
        ("pass rate of 'easy'", "not"): "PASS",
        ("pass rate of 'hard'", "not"): "FAIL",
    }
    few = judge_run(tagged((1.0, 1.0), n=6), Policy(tags={"easy": Rules(at_least=0.9)}))
    assert few.outcome == "INCONCLUSIVE", "three cases prove little"


def test_a_tag_that_no_case_has_fails_and_one_may_be_asked_only_for_cases():
    cases = [Case(name=str(i), inputs=i, tags=["de"]) for i in range(5)]
    report = Dataset(cases=cases, evaluators=[right]).evaluate_sync(
        lambda i: {"right": False}, progress=False
    )
    verdict = judge_run(report, Policy(tags={"de": Rules(min_cases=1), "fr": Rules(at_least=0.5)}))
    assert verdict.outcome == "FAIL"
    asked = [each for each in verdict.findings if each.subject == "pass rate of 'de'"]
    assert {each.outcome for each in asked} == {"PASS"}
    missing = only(verdict, "pass rate of 'fr'")
    assert (missing.outcome, missing.said) == ("FAIL", "no case of this run has the tag; there are 'de'")


def test_rules_for_tags_cannot_stop_a_run():
    with pytest.raises(InvalidOptionError, match="rules for tags cannot be decided during a run"):
        StopWhenDecided(Policy(tags={"hard": Rules(at_least=0.9)}))
