"""Cheap checks first, a judge where they do not decide, an expensive judge on a random part."""

import asyncio
import random

import pytest

from calipers import Case, Dataset
from calipers.errors import InvalidOptionError, InvalidOutputError
from calipers.evaluators import Contains, Equals, EvaluationReason, Length, Skipped
from calipers.judges import Cascade, Jury, LLMJudge
from calipers.stores import open_store, score_again
from calipers.testing import ScriptedJudge, make_context


def says(value, reason="because", asked=None):
    """A judge of this opinion; `asked` counts how often it was heard."""

    def judge(output):
        if asked is not None:
            asked.append(output)
        return EvaluationReason(value(output) if callable(value) else value, reason)

    return judge


def judged(cascade, output="text", **more):
    return asyncio.run(cascade.evaluate(make_context(output, inputs=output, **more)))


def steps(result):
    return result.metadata["cascade"]


def test_a_check_that_fails_decides_and_no_judge_is_asked():
    asked = []
    cascade = Cascade([Length(maximum=3)], judge=says(True, asked=asked))
    found = judged(cascade, "too long")
    assert (found.value, asked) == (False, [])
    assert found.reason == "by a check: Length: expected at most 3 characters, got 8"
    found = judged(cascade, "ok")
    assert (found.value, found.reason, asked) == (True, "by the judge: because", ["ok"])


def test_what_decides_can_be_a_pass_a_failure_or_both():
    for decides, output, expected in [
        ("fail", "yes", "judge"),
        ("fail", "no", "cheap"),
        ("pass", "yes", "cheap"),
        ("pass", "no", "judge"),
        ("both", "yes", "cheap"),
        ("both", "no", "cheap"),
    ]:
        found = judged(Cascade([Equals("yes")], judge=says(False), decides=decides), output)
        assert steps(found)["stage"] == expected
        assert found.value is (output == "yes" and expected == "cheap")


def test_earlier_results_count_as_checks_and_unknown_ones_decide_nothing():
    cascade = Cascade(after=["polite", "gone"], judge=says(True))
    assert judged(cascade, results={"polite": False}).reason == "by a check: polite"
    assert judged(cascade, results={"polite": True}).reason == "by the judge: because"
    dataset = Dataset(
        name="d",
        cases=[Case(name="a", inputs="a")],
        evaluators=[cascade, Contains("x", evaluation_name="polite")],
    )
    dataset.evaluators.reverse()
    report = dataset.evaluate_sync(lambda inputs: inputs, progress=False)
    assert report.cases[0].assertions["Cascade"].reason.startswith("by a check: polite")


def test_a_check_that_does_not_apply_decides_nothing_and_a_judge_has_to_apply():
    def nothing(output):
        return Skipped("not for me")

    assert judged(Cascade([nothing], judge=says(True))).value is True
    assert judged(Cascade([Contains("t")], judge=nothing)) == Skipped("not for me")
    with pytest.raises(InvalidOutputError, match="was to decide, and does not apply: not for me"):
        judged(Cascade([Contains("t")], judge=says(True), expensive=nothing, share=1.0))


def test_the_draw_depends_on_the_case_the_repeat_and_the_seed_alone():
    cascade = Cascade([Contains("t")], expensive=says(False), share=0.3)
    drawn = [steps(judged(cascade, f"text {n}"))["expensive"] is not None for n in range(300)]
    again = [steps(judged(cascade, f"text {n}"))["expensive"] is not None for n in range(300)]
    other = Cascade([Contains("t")], expensive=says(False), share=0.3, seed=1)
    elsewhere = [steps(judged(other, f"text {n}"))["expensive"] is not None for n in range(300)]
    assert drawn == again != elsewhere
    assert 60 < sum(drawn) < 120
    assert {steps(judged(cascade, f"text {n}"))["probability"] for n in range(5)} == {0.3}


def test_the_report_tells_what_the_expensive_judge_would_have_said_of_everything():
    draw = random.Random(3)
    truth = {f"answer {n}": draw.random() < 0.6 for n in range(400)}
    lenient = {answer: good or draw.random() < 0.4 for answer, good in truth.items()}
    asked = []
    cascade = Cascade(
        [Contains("answer")],
        judge=says(lambda output: lenient[output]),
        expensive=says(lambda output: truth[output], asked=asked),
        share=0.25,
    )
    dataset = Dataset(name="d", cases=[Case(name=each, inputs=each) for each in truth], evaluators=[cascade])
    report = dataset.evaluate_sync(lambda inputs: inputs, progress=False)
    (table,) = report.analyses
    rows = {row[0]: row[1:] for row in table.rows}
    cheap, expensive = rows["cheap checks and judge alone"], rows["expensive judge, of everything"]
    true = sum(truth.values()) / 400
    assert expensive[1] < true < expensive[2] < cheap[0]
    assert expensive[3] == f"it saw {len(asked)} of 400"
    assert 70 < len(asked) < 130
    assert table.note is None


def test_what_the_checks_decided_is_taken_at_their_word_unless_it_is_audited():
    def table(audit):
        cascade = Cascade([Contains("good")], judge=says(True), expensive=says(True), share=0.5, audit=audit)
        cases = [Case(name=f"{n}", inputs=f"{'good' if n % 2 else 'bad'} {n}") for n in range(200)]
        dataset = Dataset(name="d", cases=cases, evaluators=[cascade])
        (found,) = dataset.evaluate_sync(lambda inputs: inputs, progress=False).analyses
        return found, {row[0]: row[1] for row in found.rows}["expensive judge, of everything"]

    trusting, low = table(0.0)
    assert low == 0.5
    assert "100 attempts that the checks decided could not be drawn" in trusting.note
    audited, high = table(0.3)
    assert high > 0.8  # the expensive judge passes everything
    assert audited.note is None


def test_without_a_draw_there_is_no_estimate():
    cascade = Cascade([Contains("t")], judge=says(True), expensive=says(True), share=1e-9)
    dataset = Dataset(name="d", cases=[Case(name="a", inputs="t")], evaluators=[cascade])
    (table,) = dataset.evaluate_sync(lambda inputs: inputs, progress=False).analyses
    assert [row[0] for row in table.rows] == ["decided"]
    assert "no attempt was drawn" in table.note


def test_a_part_that_fails_leaves_no_verdict_and_is_told():
    def breaks(output):
        if output == "b":
            raise ValueError("broken")
        return True

    cascade = Cascade([Length(minimum=1)], judge=breaks, expensive=says(True), share=1.0)
    dataset = Dataset(name="d", cases=[Case(name=n, inputs=n) for n in "abc"], evaluators=[cascade])
    report = dataset.evaluate_sync(lambda inputs: inputs, progress=False)
    assert [case.name for case in report.cases if case.evaluator_failures] == ["b"]
    assert "1 attempt without a verdict" in report.analyses[0].note


def test_judges_of_models_and_juries_are_parts_like_any_other():
    model = ScriptedJudge(lambda _: {"reason": "fine", "pass": True})
    jury = Jury([LLMJudge("is kind", model=model), LLMJudge("is right", model=model)])
    cascade = Cascade([Contains("t")], judge=LLMJudge("is kind", model=model), expensive=jury, share=1.0)
    assert judged(cascade).reason == "by the expensive judge: 2 of 2 pass, more than half must (2)"
    assert "scripted:model" in cascade.get_evaluator_version()
    asyncio.run(cascade.before_run())
    with pytest.raises(InvalidOutputError, match="one pass or fail"):
        judged(Cascade([lambda output: 0.5], judge=jury))


def test_options_that_cannot_be_are_refused():
    for arguments, message in [
        ({"cheap": [Contains("x")]}, "needs a judge or an expensive judge"),
        ({"expensive": says(True)}, "before the expensive one"),
        ({"judge": says(True), "share": 0}, "share"),
        ({"judge": says(True), "audit": 2}, "audit"),
        ({"judge": says(True), "decides": "maybe"}, "decides"),
    ]:
        with pytest.raises(InvalidOptionError, match=message):
            Cascade(**arguments)


def test_a_cascade_comes_back_from_a_file(tmp_path):
    cascade = Cascade(
        [Contains("x"), Length(maximum=9)],
        judge=LLMJudge("is kind"),
        expensive=LLMJudge("is right"),
        share=0.2,
    )
    dataset = Dataset(name="d", cases=[Case(name="a", inputs="a")], evaluators=[cascade])
    dataset.to_file(tmp_path / "d.yaml")
    again = Dataset.from_file(tmp_path / "d.yaml")
    assert again.evaluators == [cascade]


def test_a_report_of_the_failed_attempts_alone_is_no_ground_for_an_estimate():
    dataset = Dataset(
        name="d", cases=[Case(name="a", inputs="t")], evaluators=[Cascade([Contains("t")], judge=says(True))]
    )
    with pytest.raises(InvalidOptionError, match="Cascade looks at every attempt"):
        dataset.evaluate_sync(lambda inputs: inputs, keep="failed", progress=False)


def test_a_kept_run_keeps_what_the_stages_said_and_scoring_again_estimates_again(tmp_path):
    def passes(share):
        return Cascade([Contains("t")], judge=says(True), expensive=says(False), share=share)

    path = str(tmp_path / "runs.db")
    cases = [Case(name=f"{n}", inputs=f"t {n}") for n in range(60)]
    dataset = Dataset(name="d", cases=cases, evaluators=[passes(0.2)])
    dataset.evaluate_sync(lambda inputs: inputs, name="kept", store=path, progress=False)
    with open_store(path) as store:
        kept = store.report("kept")
    assert steps(kept.cases[0].assertions["Cascade"])["probability"] == 0.2
    assert [analysis.title for analysis in kept.analyses] == ["Cascade"]
    again = score_again(path, "kept", evaluators=[passes(1.0)], replace=True)
    (table,) = again.analyses
    assert {row[0]: row[1] for row in table.rows}["expensive judge, of everything"] == 0
    reused = dataset.evaluate_sync(
        lambda inputs: inputs, name="again", store=path, reuse=True, progress=False
    )
    assert [analysis.title for analysis in reused.analyses] == ["Cascade"]
