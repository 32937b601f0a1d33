"""Runs of a store are compared case by case with the evaluators that each case brings, whatever the order in which cases finish."""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calipers import Case, Dataset, Evaluator
from calipers.comparison import compare_reports
from calipers.comparison.evaluator_changes import EvaluatorChanges
from calipers.evaluators import Contains
from calipers.gate import Policy, Rules, judge_run
from calipers.stores import MemoryStore, score_again

LETTERS = "abcde"
POLICY = Policy(pass_rate=Rules(margin=0.9), evaluators={"Contains": Rules(margin=0.9)}, min_cases=2)


def own(letters=LETTERS, **instead):
    """A dataset whose every case looks for its own letter, or for another one where that is said."""
    return Dataset(
        name="letters",
        cases=[
            Case(name=each, inputs=each, evaluators=[Contains(wanted)] if wanted is not None else [])
            for each in letters
            for wanted in [instead.get(each, each)]
        ],
        evaluators=[said],
    )


def said(output):
    return bool(output)


def echo(inputs):
    return inputs


def in_turn(order):
    """A task whose cases finish one after the other, in an order of the caller's."""
    done = [asyncio.Event() for _ in order]

    async def task(inputs):
        place = order.index(inputs)
        if place:
            await done[place - 1].wait()
        done[place].set()
        return inputs

    return task


def kept(store, data, task=echo, **options):
    return data.evaluate_sync(task, store=store, progress=False, seed=1, **options).reuse.run


def compared(store, one, two):
    """What is found between two stored runs, without their times."""
    changes = EvaluatorChanges(store.known_evaluators(one), store.known_evaluators(two))
    reports = [store.report(each) for each in (one, two)]
    found = compare_reports(*reports, changed_evaluators=changes, labels=("one", "two")).to_dict()
    for side in ("baseline", "candidate"):
        for field in ("name", "run", "started_at", "in_flight"):
            del found[side][field]
    del found["measures"]
    found["warnings"] = [warning for warning in found["warnings"] if "in flight" not in warning]
    return found


def gated(store, one, two):
    changes = EvaluatorChanges(store.known_evaluators(one), store.known_evaluators(two))
    return judge_run(store.report(two), POLICY, baseline=store.report(one), changed_evaluators=changes)


@pytest.fixture
def store():
    with MemoryStore() as store:
        yield store


def test_the_evaluator_of_a_case_is_held_against_that_of_the_same_case(store):
    one, two = kept(store, own()), kept(store, own(LETTERS[::-1]))
    found = compared(store, one, two)
    assert found["changed_evaluators"] == []
    assert found["warnings"] == []
    assert [each.get("warning") for each in (found["pass_rate"], *found["evaluators"])] == [None] * 3
    verdict = gated(store, one, two)
    assert (verdict.outcome, verdict.notes) == ("PASS", ())


@given(
    st.permutations(LETTERS),
    st.permutations(LETTERS),
    st.sampled_from([{}, {"c": "x"}, {"b": None, "d": "x"}, dict.fromkeys(LETTERS, "x")]),
)
@settings(max_examples=25, deadline=None)
def test_the_order_in_which_cases_finish_never_changes_a_comparison(first, second, changed):
    with MemoryStore() as store:
        plain = compared(store, kept(store, own()), kept(store, own(**changed)))
        one, two = kept(store, own(), in_turn(first)), kept(store, own(**changed), in_turn(second))
        assert compared(store, one, two) == plain
        assert gated(store, one, two).outcome == ("PASS" if len(changed) < 5 else "INCONCLUSIVE")


def test_a_changed_evaluator_of_a_case_is_reported_for_that_case_alone(store):
    one, two = kept(store, own()), kept(store, own(c="x"))
    found = compared(store, one, two)
    (change,) = found["changed_evaluators"]
    assert (change["case"], change["how"]) == ("c", "parameter value changed from 'c' to 'x'")
    assert (change["baseline"], change["candidate"]) == (["Contains(value='c')"], ["Contains(value='x')"])
    counts = {each["name"]: each["candidate_cases"] for each in (found["pass_rate"], *found["evaluators"])}
    assert counts == {"pass rate": 4, "Contains": 4, "said": 5}
    assert found["flips"] == []  # what broke is the evaluator
    verdict = gated(store, one, two)
    assert verdict.outcome == "PASS"
    (note,) = verdict.notes
    assert note.startswith("not compared on 1 case, judged by another evaluator in the baseline: 'c'")


def test_an_evaluator_that_only_one_run_has_on_a_case_concerns_that_case(store):
    one, two = kept(store, own()), kept(store, own(c=None))
    for pair, side in (((one, two), "baseline"), ((two, one), "candidate")):
        found = compared(store, *pair)
        (change,) = found["changed_evaluators"]
        assert (change["case"], change[side]) == ("c", ["Contains(value='c')"])
        assert found["pass_rate"]["candidate_cases"] == 4
        assert found["pass_rate"].get("warning") is None
        assert gated(store, *pair).outcome == "PASS"


def test_cases_that_share_an_evaluator_and_one_of_the_dataset_of_that_name_are_told_apart(store):
    def data(value):
        same = [Case(name=each, inputs=each + "z", evaluators=[Contains(value)]) for each in "ab"]
        plain = [Case(name=each, inputs=each + "z") for each in "cd"]
        return Dataset(name="two levels", cases=[*same, *plain], evaluators=[Contains("z")])

    one, two, three = kept(store, data("z")), kept(store, data("z")), kept(store, data("a"))
    assert compared(store, one, two)["changed_evaluators"] == []
    found = compared(store, one, three)
    assert [(each["case"], each["name"]) for each in found["changed_evaluators"]] == [
        ("a", "Contains_2"),
        ("b", "Contains_2"),
    ]
    assert "not the same evaluator" in found["evaluators"][0]["warning"]  # no Contains_2 is left alike
    assert found["evaluators"][1]["candidate_cases"] == 4
    assert found["pass_rate"]["candidate_cases"] == 2


@dataclass
class Long(Evaluator):
    least: int = 0

    def evaluate(self, ctx):
        return len(ctx.output) > self.least


def test_repeats_lazy_datasets_resumed_and_reused_runs_and_those_scored_again_compare_alike(store):
    class Lazy:
        def __iter__(self) -> Iterator[Case]:
            return iter(own().cases)

    lazy = Dataset(name="letters", cases=Lazy(), evaluators=[said])
    one = kept(store, own(), repeat=2)
    others = {
        "repeated": kept(store, own(), repeat=2, max_concurrency=1),
        "lazy": kept(store, lazy, repeat=2),
        "reused": kept(store, own(), repeat=2, reuse=True),
        "resumed": kept(store, own(), repeat=2, resume=kept(store, own(c="x"), repeat=2)),
    }
    for how, other in others.items():
        found = compared(store, one, other)
        assert (how, found["changed_evaluators"], found["pass_rate"]["candidate_cases"]) == (how, [], 5)
    for each in (one, others["lazy"]):
        score_again(store, each, evaluators=[Long()])
    found = compared(store, one, others["lazy"])
    assert [each["name"] for each in found["evaluators"]] == ["Contains", "said", "Long"]
    assert all(each.get("warning") is None for each in found["evaluators"])
    score_again(store, one, evaluators=[Long(1)], replace=True)
    found = compared(store, one, others["lazy"])
    assert "Long(least=1) in the baseline" in found["evaluators"][2]["warning"]
    assert found["changed_evaluators"] == []


def test_a_case_that_was_renamed_keeps_its_evaluators(store):
    renamed = own()
    renamed.cases[2].name = "another name"
    found = compared(store, kept(store, own()), kept(store, renamed))
    assert (found["changed_evaluators"], found["pairing"]["renamed"]) == ([], 1)
