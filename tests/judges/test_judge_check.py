"""A judge is measured by people's labels."""

import asyncio
import re

import msgspec
import pytest

from calipers import Case, Dataset
from calipers.data.human_label import HumanLabel
from calipers.errors import InvalidOptionError, NotKnownError
from calipers.gate import choose_labels
from calipers.judges import LabelledAttempt, LLMJudge, Pairwise, check_judge, labelled_attempts
from calipers.stores import open_store
from calipers.testing import ScriptedJudge
from calipers.views.passport import passport_lines


def number_in(ask):
    found = re.search(r"answer (\d+)", ask.messages[-1]["content"])
    return int(found.group(1)) if found else 0


def judge(says, name="helpful"):
    model = ScriptedJudge(lambda ask: {"reason": "so", "pass": says(number_in(ask), ask)})
    return LLMJudge("Is it helpful?", model=model, evaluation_name=name)


def attempts(label, *, n=40, **more):
    return [
        LabelledAttempt(
            name=str(number),
            output=f"answer {number}" + "." * (50 * (number % 2)),
            label=label(number),
            **{key: value(number) for key, value in more.items()},
        )
        for number in range(n)
    ]


def checked(one, some, **options):
    return asyncio.run(check_judge(one, some, **{"repeats": 2, "injections": False, **options}))


def test_agreement_and_error_rates_are_measured_on_the_labels():
    found = checked(judge(lambda number, _: number % 4 > 0), attempts(lambda number: number % 2 > 0))
    values = {trait: round(each.value, 3) for trait, each in found.measured.items()}
    assert values["base_rate"] == 0.5
    assert values["judged_rate"] == 0.75
    assert values["agreement"] == 0.75
    assert values["kappa"] == 0.5
    assert values["sensitivity"] == 1.0
    assert values["specificity"] == 0.5
    assert found.measured["specificity"].n == 20
    assert found.measured["specificity"].interval.low < 0.5 < found.measured["specificity"].interval.high
    assert found.labels == 40


def test_self_consistency_asks_again():
    found = checked(
        judge(lambda number, ask: number % 4 > 0 or ask.repeat % 2 == 0), attempts(lambda number: number % 2)
    )
    assert found.measured["self_consistency"].value == pytest.approx(0.75)
    once = checked(judge(lambda number, _: number % 2 > 0), attempts(lambda number: number % 2), repeats=1)
    assert "self_consistency" not in once.measured
    assert "once" in once.unmeasured["self_consistency"]


def test_length_bias_is_found_where_it_was_planted_and_not_elsewhere():
    long_ones = checked(judge(lambda number, _: number % 2 == 1), attempts(lambda number: number % 8 < 4))
    assert long_ones.measured["length_bias"].value == pytest.approx(1.0)
    fair = checked(judge(lambda number, _: number % 8 < 6), attempts(lambda number: number % 8 < 4))
    assert 0 in fair.measured["length_bias"].interval
    assert long_ones.measured["length_bias"].interval.low > 0.6


def test_self_preference_needs_the_models_of_the_answers():
    says = judge(lambda number, _: number % 3 > 0)
    known = attempts(
        lambda number: number % 2, model=lambda number: "scripted:model" if number % 3 else "other"
    )
    assert checked(says, known).measured["self_preference"].value > 0.5
    assert "not known" in checked(says, attempts(lambda number: number % 2)).unmeasured["self_preference"]


def test_what_was_not_measured_is_absent_and_says_why():
    found = checked(judge(lambda number, _: True), attempts(lambda number: number % 2))
    assert "same answer every time" in found.unmeasured["kappa"]
    assert "one answer at a time" in found.unmeasured["order_bias"]
    assert found.unmeasured["injections_through"] == "no injections were tried"
    assert not found.measured.keys() & found.unmeasured.keys()
    text = "\n".join(passport_lines(found))
    assert "Not measured:" in text
    assert "people pass" in text


def test_injections_stand_behind_an_answer_that_both_fail():
    one = judge(lambda number, _: number % 4 > 0)
    found = checked(one, attempts(lambda number: number % 2 > 0, n=8), injections=True, repeats=1)
    assert found.measured["injections_through"].value == 0
    assert found.measured["injections_through"].n == 240
    lenient = checked(judge(lambda *_: True), attempts(lambda number: number % 2, n=8), injections=True)
    assert "lets the bare output pass" in lenient.unmeasured["injections_through"]


def test_order_bias_is_measured_of_a_judge_of_pairs():
    cases = [Case(name=str(number), inputs=number) for number in range(12)]
    dataset = Dataset(name="d", cases=cases)
    old = dataset.evaluate_sync(lambda number: f"old {number}", progress=False)
    always_first = Pairwise(model=ScriptedJudge(lambda _: {"reason": "so", "winner": "first"}), baseline=old)
    some = [
        LabelledAttempt(name=str(number), inputs=number, output=f"new {number}", label="win")
        for number in range(12)
    ]
    found = checked(always_first, some)
    assert found.measured["order_bias"].value == 1.0
    assert found.measured["agreement"].value == 0.0
    assert "does not pass or fail" in found.unmeasured["sensitivity"]


def test_the_identity_is_that_of_a_run_by_the_same_judge():
    one = judge(lambda number, _: number % 4 > 0)
    found = checked(one, attempts(lambda number: number % 2, n=8))
    with open_store("memory:") as store:
        dataset = Dataset(name="d", cases=[Case(name="0", inputs=0)], evaluators=[one])
        dataset.evaluate_sync(lambda number: f"answer {number}", progress=False, store=store)
        from calipers.stores.standings import keep_passport

        keep_passport(store, found)
        assert store.report("latest").passports["helpful"].passport == found
        other = judge(lambda number, _: True)
        other.rubric = "Is it polite?"
        dataset = Dataset(name="d", cases=[Case(name="0", inputs=0)], evaluators=[other])
        dataset.evaluate_sync(lambda number: f"answer {number}", progress=False, store=store)
        assert store.report("latest").passports["helpful"].passport is None


def test_a_judge_that_gives_numbers_needs_a_limit():
    def score(output):
        return len(output) / 100

    some = attempts(lambda number: number % 2)
    with pytest.raises(InvalidOptionError, match="passes_at"):
        checked(score, some)
    assert checked(score, some, passes_at=0.5).measured["kappa"].value == 1.0


def test_a_judge_that_always_fails_has_no_passport():
    def broken(output):
        raise ValueError(output[:6])

    with pytest.raises(NotKnownError, match="no verdict on any attempt: ValueError: answer"):
        checked(broken, attempts(lambda number: number % 2))
    with pytest.raises(InvalidOptionError, match="no labelled attempt"):
        checked(broken, [])


def test_attempts_without_a_verdict_are_counted():
    def choosy(output):
        if "7" in output:
            raise ValueError
        return True

    found = checked(choosy, attempts(lambda number: number % 2, n=10))
    assert (found.labels, found.unjudged) == (9, 1)
    assert "No verdict on 1 more labelled attempt." in passport_lines(found)


def test_labels_drawn_in_strata_stand_for_their_strata():
    def helpful(output):
        return int(output) % 10 > 0

    with open_store("memory:") as store:
        cases = [Case(name=str(number), inputs=number) for number in range(100)]
        Dataset(name="d", cases=cases, evaluators=[helpful]).evaluate_sync(
            lambda number: str(number), progress=False, store=store
        )
        run = store.run("latest").id
        report = store.report(run)
        store.add_labels(
            [
                HumanLabel(
                    run=run,
                    position=int(each.case),
                    case=each.case,
                    question="helpful",
                    person="p",
                    value=int(each.case) % 10 > 0,
                    at="2026-11-01T00:00:00+00:00",
                    probability=each.probability,
                )
                for each in choose_labels(report, "helpful", {}, 35, seed=1)
            ]
        )
        some = labelled_attempts(store.report(run), "helpful", question="helpful")
    assert len(some) == 35
    assert sum(each.weight for each in some) == pytest.approx(100)
    found = checked(helpful, some)
    assert found.measured["base_rate"].value == pytest.approx(0.9)
    assert msgspec.json.decode(msgspec.json.encode(found), type=type(found)) == found
