"""Which of two answers is better, and how far the order decides."""

import asyncio

import pytest

from calipers import Case, Dataset
from calipers.errors import InvalidOptionError, ModelRateError
from calipers.judges import Pairwise, judge_runs
from calipers.stores import open_store
from calipers.testing import ScriptedJudge, make_context
from calipers.views.formats import write_report


def shown(ask):
    """The two outputs of a question, in the order in which the judge sees them."""
    parts = ask.messages[1]["content"].split("===== BEGIN ")
    return [
        part.split("\n| ", 1)[1].split("\n=====")[0].replace("\n| ", "\n")
        for place in ("first", "second")
        for part in parts
        if part.startswith(f"{place} answer: output")
    ]


def longer_wins(ask):
    first, second = shown(ask)
    winner = "tie" if len(first) == len(second) else "first" if len(first) > len(second) else "second"
    return {"reason": f"{len(first)} and {len(second)} letters", "winner": winner}


def first_wins(_):
    return {"reason": "it came first", "winner": "first"}


def run(task, name, *, evaluators=(), repeat=1, cases=("a", "b", "c"), **more):
    dataset = Dataset(
        name="letters", cases=[Case(name=case, inputs=case) for case in cases], evaluators=list(evaluators)
    )
    return dataset.evaluate_sync(task, name=name, repeat=repeat, progress=False, **more)


def short(inputs):
    return inputs


def long(inputs):
    return inputs * 5


def mixed(inputs):
    return inputs * {"a": 5, "b": 1, "c": 0}[inputs]


def judge(answers=longer_wins, **more):
    return Pairwise(model=ScriptedJudge(answers), **more)


def test_each_pair_is_shown_in_both_orders_and_the_outcome_is_a_label_and_points():
    pairwise = judge(baseline=run(short, "old"))
    report = run(mixed, "new", evaluators=[pairwise])
    assert {case.name: case.labels["Pairwise"].value for case in report.cases} == {
        "a": "win",
        "b": "tie",
        "c": "loss",
    }
    assert {case.name: case.scores["Pairwise_score"].value for case in report.cases} == {
        "a": 1,
        "b": 0.5,
        "c": 0,
    }
    asked = [shown(ask) for ask in pairwise.model.asks]
    assert ["aaaaa", "a"] in asked
    assert ["a", "aaaaa"] in asked
    assert len(asked) == 6
    assert "letters" in report.cases[0].labels["Pairwise"].reason


def test_a_verdict_that_follows_the_position_is_a_tie_and_the_report_says_how_often():
    cases = [f"case {number}" for number in range(20)]
    pairwise = judge(first_wins, baseline=run(short, "old", cases=cases))
    report = run(long, "new", cases=cases, evaluators=[pairwise])
    assert {case.labels["Pairwise"].value for case in report.cases} == {"tie"}
    assert "the verdict changed with the order: a win if shown first (it came first)" in (
        report.cases[0].labels["Pairwise"].reason
    )
    (table,) = report.analyses
    rows = {row[0]: row[1:] for row in table.rows}
    assert table.title == "Pairwise"
    assert rows["share of points against the baseline"][0] == 0.5
    assert rows["verdict followed the position"][0] == 1.0
    assert rows["points of what was shown first"][-1] == "0.5 is even: prefers what it is shown first"


def test_what_the_baseline_lacks_is_skipped_with_the_reason():
    def fails_at_b(inputs):
        if inputs == "b":
            raise ValueError("no")
        return inputs

    old = run(fails_at_b, "old", cases=["a", "b", "c"])
    dataset = Dataset(
        name="letters",
        cases=[
            Case(name="a", inputs="a"),
            Case(name="b", inputs="b"),
            Case(name="c", inputs="other"),
            Case(name="d", inputs="d"),
            Case(name="renamed", inputs="c"),
        ],
        evaluators=[judge(baseline=old)],
    )
    report = dataset.evaluate_sync(long, progress=False)
    said = {case.name: case.skipped[0].reason if case.skipped else "judged" for case in report.cases}
    assert said == {
        "a": "judged",
        "b": "the baseline 'old' failed at this case: ValueError: no",
        "c": "the baseline 'old' has a case of this name with another content",
        "d": "the baseline 'old' does not have this case",
        "renamed": "judged",
    }
    assert report.analyses[0].note.startswith("3 attempts could not be paired")


def test_repeat_is_compared_with_repeat():
    count = iter(range(100))
    old = run(lambda inputs: inputs * next(count), "old", cases=["a"], repeat=3, max_concurrency=1)
    pairwise = judge(baseline=old)
    run(long, "new", cases=["a"], repeat=3, evaluators=[pairwise])
    assert sorted({min(map(len, shown(ask))) for ask in pairwise.model.asks}) == [0, 1, 2]
    assert sorted({ask.repeat for ask in pairwise.model.asks}) == [1, 2, 3]


def test_a_baseline_is_a_file_a_kept_run_or_a_report(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    old = run(short, "old", store=str(tmp_path / "runs.db"))
    write_report(old, str(tmp_path / "old.json"))
    monkeypatch.setenv("CALIPERS_STORE", str(tmp_path / "runs.db"))
    ctx = make_context("aaaaa", inputs="a", name="a")
    with open_store(str(tmp_path / "runs.db")) as store:
        run_id = store.run("old").id
    for baseline in ("old.json", "old", run_id, old):
        said = asyncio.run(judge(baseline=baseline).evaluate(ctx))
        assert said["Pairwise"].value == "win"
    assert Pairwise(baseline=old).as_spec().arguments["baseline"] == "old"
    for wrong, message in [
        ("gone.json", "file not found: gone.json"),
        ("gone", "no report is called 'gone'"),
    ]:
        with pytest.raises(InvalidOptionError, match=message):
            asyncio.run(judge(baseline=wrong).before_run())
    with pytest.raises(InvalidOptionError, match="nothing to compare with"):
        asyncio.run(judge().before_run())


def test_another_baseline_makes_another_judge():
    one, two, same = (run(task, "old") for task in (short, long, short))
    versions = [judge(baseline=report).get_evaluator_version() for report in (one, two, same)]
    assert versions[0] == versions[2] != versions[1]


def test_a_model_that_fails_gives_no_verdict():
    pairwise = judge(lambda _: ModelRateError("busy"), baseline=run(short, "old"))
    report = run(long, "new", evaluators=[pairwise])
    assert all(not case.results and case.evaluator_failures for case in report.cases)
    assert report.analyses == []


def test_options_that_cannot_be_are_refused():
    with pytest.raises(InvalidOptionError, match="shown neither answer"):
        Pairwise(include_output=False)
    with pytest.raises(InvalidOptionError, match="baseline must be a text"):
        Pairwise(baseline=3)


def several(*tasks, answers=longer_wins, cases=("a", "b", "c", "d"), **more):
    reports = [run(task, task.__name__, cases=cases) for task in tasks]
    return asyncio.run(judge_runs(judge(answers), reports, **more))


def test_several_runs_are_put_on_one_scale():
    def varied(inputs):
        return inputs * (9 if inputs == "a" else 3)

    found = several(short, varied, long)
    assert found.runs == ("short", "varied", "long")
    scale = {each.name: each for each in found.strengths.strengths}
    assert scale["short"].winless
    assert scale["long"].value is None  # not comparable with the reference, which never won
    share = next(pair for pair in found.strengths.pairs if (pair.first, pair.second) == ("varied", "long"))
    assert share.value == share.seen.value == 0.25
    assert found.order_bias.conflicts == 0
    assert len(found.judged) == 12


def test_runs_list_what_was_not_paired_and_what_was_not_judged():
    def fails(inputs):
        if inputs == "b":
            raise ValueError("no")
        return inputs

    one, two = run(short, "one", cases=["a", "b", "c"]), run(fails, "two", cases=["b", "c", "d"])
    answers = ScriptedJudge([ModelRateError("busy"), ModelRateError("busy")])
    found = asyncio.run(judge_runs(Pairwise(model=answers), [one, two]))
    assert found.strengths is None
    assert found.order_bias is None
    assert [(pair.case, pair.failed) for pair in found.judged] == [("b", False), ("c", True)]
    assert "the task failed in two" in found.judged[0].problem
    assert "busy" in found.judged[1].problem
    ((_, _, pairing),) = found.pairings
    assert (pairing.baseline_only, pairing.candidate_only) == (("a",), ("d",))
    with pytest.raises(InvalidOptionError, match="a name of its own"):
        asyncio.run(judge_runs(judge(), [one, one]))
