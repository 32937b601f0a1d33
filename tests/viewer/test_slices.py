"""A stored run is cut, in the columns of its index, as the report of it is."""

from contextlib import closing

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calipers import Case, Dataset, EvaluationReason, Skipped
from calipers.agents import with_faults
from calipers.report.failure_groups import concentrations, failure_groups
from calipers.report.run_slices import RunSlices
from calipers.stores import MemoryStore
from calipers.viewer.case_selection import select
from calipers.viewer.failure_groups import failure_groups as groups_of
from calipers.viewer.slices import slices
from calipers.viewer.viewed_store import ViewedStore


def right(inputs):
    """Fails mostly in German; does not finish for one case in eleven, and says nothing of one in thirteen."""
    if inputs % 11 == 7:
        raise KeyError(inputs)
    if inputs % 13 == 5:
        return Skipped("not asked")
    return EvaluationReason(inputs % 4 > 0 and (inputs % 3 > 0 or inputs % 5 == 0), f"got {inputs}")


def length(output):
    return {"length": len(output) / 7} if output != "none" else {}


def tone(output):
    return "warm" if "a" in output else "cold"


def task(inputs):
    if inputs % 17 == 3:
        raise TimeoutError("no answer")
    return ["salut", "hallo", "none", "yes"][inputs % 4] + "!" * (inputs % 7)


def kept(store, *, cases, repeat, clustered, faults=False):
    made = [
        Case(
            name=f"case {n}",
            inputs=n,
            cluster=f"shop {n // 4}" if clustered and n % 9 else None,
            tags=tuple(tag for tag, each in (("even", 2), ("third", 3), ("fifth", 5)) if n % each == 0),
            metadata={
                "lang": ["de", "fr", "en"][n % 3],
                "level": n % 4 / 2,
                "odd one": n % 2 == 1,
                "some": ["a", "b"][: n % 3],
                "id": n,
            },
        )
        for n in range(cases)
    ]
    dataset = Dataset(name="cut", cases=made, evaluators=[right, length, tone])
    if faults:
        dataset = with_faults(dataset, "error,stale")
    report = dataset.evaluate_sync(task, store=store, repeat=repeat, progress=False)
    return store.report(report.reuse.run)


def seen(estimate):
    if estimate is None:
        return None
    interval = estimate.interval
    ends = [] if interval is None else [interval.low, interval.high]
    return [estimate.n_units, *(pytest.approx(each, abs=1e-12) for each in [estimate.value, *ends])]


@settings(max_examples=6)
@given(cases=st.integers(2, 90), repeat=st.integers(1, 2), clustered=st.booleans(), faults=st.booleans())
def test_the_viewer_cuts_a_run_as_its_report_is_cut(cases, repeat, clustered, faults):
    with MemoryStore() as store, closing(ViewedStore(store)) as viewed:
        report = kept(store, cases=cases, repeat=repeat, clustered=clustered, faults=faults)
        run = RunSlices([*report.cases, *report.failures])
        index = viewed.index(report.reuse.run)
        assert run.fields() == index.slice_fields()
        columns = [each for each in report.summaries().values() if each.kind != "label" and each.count]
        for by in run.fields():
            found = run.by(by)
            for column in (None, *columns):
                cuts = run.cuts(found, run.measured(column))
                answer = slices(select(index), by, evaluator=None if column is None else column.name)
                assert answer.left_out == found.left_out
                assert {
                    each.filter: (
                        each.cases,
                        seen(each.estimate),
                        each.difference,
                        each.adjusted_p,
                        each.differs,
                    )
                    for each in answer.slices
                } == {
                    found.slices[each.place].filter: (
                        found.slices[each.place].cases,
                        seen(each.cut.estimate),
                        each.cut.difference and pytest.approx(each.cut.difference, abs=1e-12),
                        each.p_value and pytest.approx(each.p_value, rel=1e-6),
                        each.differs,
                    )
                    for each in cuts
                }


def test_the_viewer_groups_failures_as_the_report_does_and_says_where_they_are_concentrated():
    with MemoryStore() as store, closing(ViewedStore(store)) as viewed:
        report = kept(store, cases=90, repeat=1, clustered=False)
        records = [*report.cases, *report.failures]
        groups = sorted(failure_groups(records), key=lambda each: -len(each.examples))
        answer = groups_of(select(viewed.index(report.reuse.run)))
        assert [(each.id, each.cases) for each in answer.groups] == [
            (each.id, len(each.examples)) for each in groups
        ]
        first = answer.groups[0]
        assert (first.said, first.cases) == ("got <…>", 31)
        mostly = [(each.filter, each.cases) for each in first.concentrated]
        assert mostly == [("meta.level:0.0", 23), ("tag:third", 30)], (
            "meta.lang:de holds the same cases as its tag"
        )


@pytest.mark.parametrize(
    ("inside", "found"),
    [
        (10, [10]),
        (4, []),  # as often as elsewhere
        (2, []),  # too few
    ],
)
def test_a_group_is_concentrated_where_it_is_far_more_frequent_than_elsewhere(inside, found):
    ((*slices,),) = concentrations([12], [20], [{0: inside}], cases=60)
    assert [each.cases for each in slices] == found


def test_the_more_slices_are_looked_at_the_less_one_of_them_says():
    def named(others):
        (found,) = concentrations([8], [15, *[1] * others], [{0: 6}], cases=60)
        return len(found)

    assert (named(0), named(500)) == (1, 0)
