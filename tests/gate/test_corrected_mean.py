"""A judge's rate is corrected by people's labels where these allow it, and is not where they do not."""

from itertools import cycle
from random import Random

import pytest

from calipers import Case, Dataset
from calipers.data.human_label import HumanLabel
from calipers.errors import DatasetFileError, InvalidOptionError
from calipers.evaluators import JudgeCorrectionEvaluator
from calipers.gate import HumanAgreement, Policy, Rules, StopWhenDecided, choose_labels, judge_run
from calipers.gate.corrected_mean import Corrected
from calipers.report.analysis import JudgeCorrection
from calipers.report.report_evaluator import ReportEvaluatorContext
from calipers.stats import prediction_powered, rogan_gladen
from calipers.views.analyses import correction_rows


def answer(number):
    """A good answer in 70 % of the cases; the judge is lenient."""
    draw = Random(number)
    good = draw.random() < 0.7
    return {"good": good, "liked": draw.random() < (0.95 if good else 0.4)}


def helpful(output):
    return output["liked"]


def run(n=400, evaluators=(helpful,), **options):
    cases = [Case(name=f"case {number}", inputs=number) for number in range(n)]
    dataset = Dataset(name="help", cases=cases, evaluators=list(evaluators))
    return dataset.evaluate_sync(answer, progress=False, seed=1, **options)


def word(record):
    return "true" if record.output["good"] else "false"


@pytest.fixture
def write(tmp_path):
    def written(lines, header="case,human"):
        path = tmp_path / "labels.csv"
        path.write_text("\n".join([header, *lines]) + "\n")
        return str(path)

    return written


def drawn(report, n=80):
    return Random(5).sample(report.cases, n)


def correction(report, **options):
    evaluator = JudgeCorrectionEvaluator("helpful", **options)
    found = evaluator.evaluate(ReportEvaluatorContext(name="run", report=report))
    assert isinstance(found, JudgeCorrection)
    return found


def gate(report, at_least=0.6, read_run=None, **agreement):
    rules = Rules(at_least=at_least, agreement=HumanAgreement(corrects=True, **agreement))
    return judge_run(report, Policy(evaluators={"helpful": rules}), read_run=read_run)


def test_labels_of_random_cases_correct_the_judge_by_prediction_powered_inference(write):
    report = run()
    chosen = drawn(report)
    labels = write(f"{record.name},{word(record)}" for record in chosen)
    found = correction(report, labels=labels)
    names = {record.name for record in chosen}
    expected = prediction_powered(
        [float(record.output["good"]) for record in chosen],
        [float(record.output["liked"]) for record in chosen],
        [float(record.output["liked"]) for record in report.cases if record.name not in names],
    )
    assert (found.value, found.interval) == (expected.value, expected.interval)
    assert found.judged == report.summaries()["helpful"].estimate
    assert (found.labels, found.method, found.is_rate) == (80, "prediction-powered", True)
    assert found.agreement == sum(record.output["good"] == record.output["liked"] for record in chosen) / 80
    truth = sum(record.output["good"] for record in report.cases) / 400
    assert found.interval.low < truth < found.interval.high


def test_a_gate_holds_the_corrected_rate_against_the_limit(write):
    report = run()
    labels = write(f"{record.name},{word(record)}" for record in drawn(report))
    judged = judge_run(report, Policy(evaluators={"helpful": Rules(at_least=0.75)}))
    assert judged.outcome == "PASS"
    verdict = gate(report, at_least=0.75, labels=labels)
    assert verdict.outcome == "INCONCLUSIVE"
    finding = verdict.findings[-1]
    assert finding.rule == "at least 75 %, as people would say"
    assert finding.approximate
    assert finding.n == 80
    assert any("drawn at random" in note and "the judge alone says" in note for note in verdict.notes)
    assert gate(report, at_least=0.5, labels=labels).outcome == "PASS"
    assert gate(report, at_least=0.9, labels=labels).outcome == "FAIL"


def test_a_gate_asks_for_no_more_labels_than_the_run_has_cases(write):
    report = run(60)
    labels = write(f"{record.name},{word(record)}" for record in drawn(report, 40))
    close = round(correction(report, labels=labels).value, 2) - 0.02
    said = gate(report, at_least=close, labels=labels).findings[-1].advice
    assert "labels, and the run has 60 cases: run more cases, and label some of them" in said
    assert "more labels" not in said


def test_labels_of_failures_alone_correct_nothing(write):
    report = run()
    failed = [record for record in report.cases if not record.output["liked"]][:40]
    labels = write(f"{record.name},{word(record)}" for record in failed)
    found = correction(report, labels=labels)
    assert found.value is None
    assert "not drawn at random" in found.note
    verdict = gate(report, at_least=0.1, labels=labels)
    assert verdict.outcome == "INCONCLUSIVE"
    assert "at random" in verdict.findings[-1].advice


def test_a_random_draw_is_hardly_ever_taken_for_a_choice(write):
    report = run(100)
    refused = 0
    for seed in range(100):
        chosen = Random(seed).sample(report.cases, 12)
        found = correction(report, labels=write(f"{record.name},{word(record)}" for record in chosen))
        refused += found.value is None
    assert refused <= 1


def test_pairs_from_elsewhere_correct_by_the_error_rates_of_the_judge(write):
    report = run()
    pairs = [(True, True)] * 50 + [(True, False)] * 12 + [(False, False)] * 20 + [(False, True)] * 2
    labels = write((f"{judge},{human}" for judge, human in pairs), header="judge,human")
    found = correction(report, labels=labels)
    passes = sum(record.output["liked"] for record in report.cases)
    expected = rogan_gladen(
        passes, 400, true_passes=50, passed_by_people=52, true_failures=20, failed_by_people=32
    )
    assert (found.value, found.interval, found.method) == (expected.value, expected.interval, "rogan-gladen")
    assert "errs on the labelled cases as on these" in found.note
    assert gate(report, at_least=0.5, labels=labels).outcome == "PASS"


@pytest.mark.parametrize(
    ("pairs", "said"),
    [
        ([("false", "true"), ("false", "false")] * 20, "the judge failed"),
        ([("true", "true"), ("true", "false")] * 20, "the judge passed"),
        ([("true", "true"), ("false", "true")] * 20, "call all labelled cases good"),
    ],
)
def test_pairs_that_leave_an_error_rate_unknown_are_refused(write, pairs, said):
    found = correction(run(), labels=write((",".join(pair) for pair in pairs), header="judge,human"))
    assert found.value is None
    assert said in found.note


def test_labels_may_be_a_column_of_the_run_or_of_another_one():
    def human(output):
        return "yes" if output["good"] else "no"

    report = run(evaluators=[helpful, human])
    found = correction(report, human="human")
    assert found.labels == 400
    assert found.value == sum(record.output["good"] for record in report.cases) / 400
    assert gate(report, at_least=0.6).outcome == "PASS"
    assert gate(run(), at_least=0.6, run="labelled", read_run=lambda _: report).outcome == "PASS"


WORDS = [("true", "false"), ("TRUE", "FALSE"), ("yes", "no"), ("1", "0"), ("1.0", "0.0"), ("pass", "fail")]


def test_rate_agreement_kappa_and_share_read_a_label_alike(write):
    report = run()
    found = []
    for words in WORDS:
        labels = write(f"{record.name},{words[not record.output['good']]}" for record in drawn(report))
        one = correction(report, labels=labels)
        shares = [each.value for each in gate(report, labels=labels, share=0.5, kappa=0.1).findings]
        found.append((one.value, one.agreement, one.kappa, shares))
    assert found == [found[0]] * len(WORDS)
    assert found[0][1] > 0.5


def test_a_column_of_people_that_says_yes_and_no_agrees_with_a_judge_that_passes():
    def human(output):
        return "yes" if output["liked"] else "no"

    assert correction(run(evaluators=[helpful, human]), human="human").agreement == 1.0


def test_blank_labels_leave_cases_unlabelled_and_are_counted(write):
    report = run()
    chosen = drawn(report, 90)
    lines = [f"{record.name};{word(record)}" for record in chosen[:80]]
    blank = [f"{record.name};" for record in chosen[80:]]
    found = correction(report, labels=write([*lines, *blank], header="Case;Human"))
    whole = correction(report, labels=write(f"{record.name},{word(record)}" for record in chosen[:80]))
    assert (found.value, found.labels) == (whole.value, 80)
    assert found.note.endswith("10 lines of the labels have no label and count as unlabelled")
    verdict = gate(report, labels=write([*lines, *blank], header="case;human"), kappa=0.1)
    assert sum("10 lines of the labels have no label" in note for note in verdict.notes) == 1


def test_a_rate_of_the_labels_alone_is_not_called_corrected(write):
    report = run()
    labels = write(f"{record.name},true" for record in drawn(report, 30))
    found = correction(report, labels=labels)
    assert (found.value, found.method) == (1.0, "labels alone")
    assert found.title == "helpful, by the labels alone"
    assert found.note.startswith("no correction but the labels' own rate")
    rows = [row[0] for row in correction_rows(found)]
    assert rows == ["judge", "labels alone", "agreement"]
    verdict = gate(report, labels=labels)
    assert any("no correction but the labels' own" in note for note in verdict.notes)
    assert not any("the correction holds" in note for note in verdict.notes)


def test_scores_are_corrected_by_labels_that_are_numbers(write):
    def graded(output):
        return 0.9 if output["liked"] else 0.3

    report = run(evaluators=[graded])
    lines = [f"{record.name},{0.8 if record.output['good'] else 0.2}" for record in drawn(report)]
    evaluator = JudgeCorrectionEvaluator("graded", labels=write(lines))
    found = evaluator.evaluate(ReportEvaluatorContext(name="run", report=report))
    assert not found.is_rate
    assert found.interval.low < found.value < found.judged.value
    elsewhere = JudgeCorrectionEvaluator("graded", labels=write(["0.9,0.8"], header="judge,human"))
    found = elsewhere.evaluate(ReportEvaluatorContext(name="run", report=report))
    assert "label cases of this run" in found.note


def test_a_label_of_a_repeated_case_is_of_the_attempt_that_it_names(write):
    turns = cycle([True, False])

    def judged(output):
        return next(turns)

    dataset = Dataset(
        name="twice", cases=[Case(name=f"c{n}", inputs=n) for n in range(30)], evaluators=[judged]
    )
    report = dataset.evaluate_sync(lambda n: n, repeat=2, max_concurrency=1, progress=False, seed=1)
    firsts = {record.name.partition(" ")[0]: record for record in report.cases if "[1/2]" in record.name}
    lines = [f"{name},1,{str(firsts[name].results[0].value).lower()}" for name in list(firsts)[:20]]
    path = write(lines, header="case,attempt,human")
    evaluator = JudgeCorrectionEvaluator("judged", labels=path)
    found = evaluator.evaluate(ReportEvaluatorContext(name="run", report=report))
    assert found.agreement == 1.0
    path = write([line.replace(",1,", ",2,") for line in lines], header="case,attempt,human")
    found = JudgeCorrectionEvaluator("judged", labels=path).evaluate(
        ReportEvaluatorContext(name="run", report=report)
    )
    assert found.agreement == 0.0
    with pytest.raises(DatasetFileError, match="no attempt 3 at 'c0'"):
        JudgeCorrectionEvaluator("judged", labels=write(["c0,3,true"], header="case,attempt,human")).evaluate(
            ReportEvaluatorContext(name="run", report=report)
        )


@pytest.mark.parametrize(
    ("lines", "header", "error", "said"),
    [
        (["nope,true"], "case,human", DatasetFileError, "line 2: the run has no case 'nope'"),
        (["case 1,true", "case 1,true"], "case,human", DatasetFileError, "line 3: .* labelled twice"),
        (["case 1,maybe"], "case,human", InvalidOptionError, "'maybe' is neither yes nor no"),
        (["case 1,0,true"], "case,attempt,human", DatasetFileError, "number of an attempt"),
        (["case 1,true,another"], "case,human,output", DatasetFileError, "another output in this run"),
        (["case 1,true"], "name,human", DatasetFileError, "'judge' or 'case'"),
    ],
)
def test_labels_that_are_not_of_this_run_are_refused_with_their_line(write, lines, header, error, said):
    with pytest.raises(error, match=said):
        correction(run(10), labels=write(lines, header=header))


def test_a_column_that_is_not_there_is_named(write):
    with pytest.raises(InvalidOptionError, match=r"no one column 'kind' .* 'helpful'"):
        JudgeCorrectionEvaluator("kind").evaluate(ReportEvaluatorContext(name="run", report=run(10)))
    assert "the report has no column 'people'" in correction(run(10), human="people").note


def test_clusters_and_decisions_during_a_run_are_refused(write):
    cases = [Case(name=f"case {number}", inputs=number, cluster=str(number % 5)) for number in range(50)]
    report = Dataset(name="help", cases=cases, evaluators=[helpful]).evaluate_sync(answer, progress=False)
    labels = write(f"{record.name},{word(record)}" for record in report.cases[:20])
    assert "clusters" in correction(report, labels=labels).note
    policy = Policy(
        evaluators={"helpful": Rules(at_least=0.5, agreement=HumanAgreement(labels=labels, corrects=True))}
    )
    with pytest.raises(InvalidOptionError, match="whole run"):
        StopWhenDecided(policy)


def test_as_many_labels_as_are_asked_for_tell_four_times_in_five():
    draw = Random(3)

    def sample(n):
        found = [(draw.random() < 0.7, draw.random()) for _ in range(n + 2000)]
        pairs = [(float(good), float(luck < (0.95 if good else 0.4))) for good, luck in found]
        return Corrected(
            people=[good for good, _ in pairs[:n]],
            judged=[judged for _, judged in pairs[:n]],
            others=[judged for _, judged in pairs[n:]],
            from_elsewhere=False,
        )

    needed = sorted(sample(100).needed(0.6, 0.95) for _ in range(41))[20]
    told = sum(sample(needed).interval(0.95).low > 0.6 for _ in range(100))
    assert told / 100 == pytest.approx(0.8, abs=0.15)


# ---------------------------------------------------------------------- labels drawn in strata


def drawn_labels(tmp_path, report, people, count):
    """A file of labels of the cases that are worth one, with their probabilities."""
    lines = [
        f"{each.case},{each.attempt},{people(int(each.case))},{each.probability}"
        for each in choose_labels(report, "lenient", {}, count, seed=3)
    ]
    path = tmp_path / "drawn.csv"
    path.write_text("\n".join(["case,attempt,human,probability", *lines]))
    return path


def lenient(output):
    return output % 10 > 0


def good(number):
    return number % 10 > 2


def strata_report():
    cases = [Case(name=str(number), inputs=number) for number in range(200)]
    return Dataset(name="d", cases=cases, evaluators=[lenient]).evaluate_sync(lambda n: n, progress=False)


def correction_of(report, **options):
    return JudgeCorrectionEvaluator("lenient", **options).evaluate(
        ReportEvaluatorContext(name="d", report=report)
    )


def test_labels_drawn_in_strata_are_weighted(tmp_path):
    report = strata_report()
    found = correction_of(report, labels=drawn_labels(tmp_path, report, good, 65))
    assert found.method == "stratified"
    assert 0.7 in found.interval
    assert found.interval.method == "stratified-beta"
    assert found.people.interval is None
    exact = correction_of(report, labels=drawn_labels(tmp_path, report, lenient, 65))
    assert exact.value == pytest.approx(0.9)
    assert exact.agreement == pytest.approx(1.0)


def test_labels_that_were_all_drawn_with_one_probability_are_a_random_sample_too(tmp_path):
    report = strata_report()
    path = tmp_path / "even.csv"
    path.write_text("\n".join(["case,human,probability", *(f"{n},{good(n)},0.25" for n in range(0, 200, 3))]))
    assert correction_of(report, labels=path).method == "stratified"
    held = Rules(agreement=HumanAgreement(labels=str(path), share=0.1))
    assert judge_run(report, Policy(evaluators={"lenient": held})).outcome == "PASS"
    few = [f"{n},{good(n)},0.1" for n in range(200) if n % 10]
    path.write_text("\n".join(["case,human,probability", *few[::6]]))
    assert correction_of(report, labels=path).method != "stratified"
    path.write_text("case,human,probability\n1,true,2\n")
    with pytest.raises(DatasetFileError, match="probability above 0"):
        correction_of(report, labels=path)


def test_a_stratum_without_a_label_is_not_guessed(tmp_path):
    report = strata_report()
    path = tmp_path / "few.csv"
    path.write_text("case,human,probability\n1,true,0.1\n2,true,0.2\n")
    found = correction_of(report, labels=path)
    assert found.value is None
    assert "'failed'" in found.note


def test_a_gate_takes_the_labels_drawn_in_strata(tmp_path):
    report = strata_report()
    path = drawn_labels(tmp_path, report, good, 105)
    rules = Rules(at_least=0.5, agreement=HumanAgreement(labels=str(path), corrects=True))
    assert judge_run(report, Policy(evaluators={"lenient": rules})).outcome == "PASS"
    held = Rules(agreement=HumanAgreement(labels=str(path), kappa=0.1))
    (finding,) = [
        each
        for each in judge_run(report, Policy(evaluators={"lenient": held})).findings
        if each.subject == "lenient"
    ]
    assert finding.outcome == "INCONCLUSIVE"
    assert "passport" in finding.advice


def test_labels_drawn_by_the_verdicts_of_another_judge_are_refused():
    def strict(output):
        return output % 10 > 4

    cases = [Case(name=str(number), inputs=number) for number in range(200)]
    report = Dataset(name="d", cases=cases, evaluators=[lenient, strict]).evaluate_sync(
        lambda n: n, progress=False
    )
    records = {record.name: record for record in report.cases}
    for each in choose_labels(report, "lenient", {}, 65, seed=3):
        label = HumanLabel(
            run="r",
            position=int(each.case),
            case=each.case,
            question="q",
            person="p",
            value=good(int(each.case)),
            at="2026-11-01T00:00:00+00:00",
            probability=each.probability,
            seed=3,
        )
        records[each.case].human_labels = (label,)
    assert correction_of(report, question="q").method == "stratified"
    other = JudgeCorrectionEvaluator("strict", question="q").evaluate(
        ReportEvaluatorContext(name="d", report=report)
    )
    assert other.value is None
    assert "other verdicts" in other.note
