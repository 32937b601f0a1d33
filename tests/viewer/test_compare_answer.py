"""Comparing in the browser: the numbers of `calipers compare`, cases paired by what they are, and no page that waits."""

import random

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers import Case, Dataset, EvaluationReason
from calipers.agents import ToolCall, Trace
from calipers.cli.actions.compare import compare
from calipers.comparison import compare_many
from calipers.errors import FilterError, InvalidOptionError, RunMissingError
from calipers.stores import MemoryStore, SqliteStore
from calipers.viewer.compare_answer import compare_answer
from calipers.viewer.comparisons import Comparisons
from calipers.viewer.deadline import Deadline, working_until
from calipers.viewer.refusal import Refusal
from calipers.viewer.viewed_store import ViewedStore
from calipers.views.comparison.terminal import comparisons_text


def correct(output, inputs):
    return EvaluationReason(value=output == inputs["n"], reason=f"said {output}")


def size(output):
    return output / 100


def stricter(output, inputs):
    return output == inputs["n"]


def put(store, *, name, wrong=(), cases=range(12), seed=None, evaluators=(correct, size), repeat=1, **more):
    """Keep a run that answers some cases wrongly; with a seed, its cases are in another order."""
    numbers = list(cases)
    if seed is not None:
        random.Random(seed).shuffle(numbers)

    def task(inputs):
        return 99 if inputs["n"] in wrong else inputs["n"]

    dataset = Dataset(
        name="sums",
        cases=[Case(name=f"case {n}", inputs={"n": n}, tags=("even",) if n % 2 == 0 else ("odd",)) for n in numbers],
        evaluators=list(evaluators),
    )  # fmt: skip
    done = dataset.evaluate_sync(task, name=name, store=store, repeat=repeat, progress=False, **more)
    return done.reuse.run


@pytest.fixture
def path(tmp_path):
    return tmp_path / "runs.db"


@pytest.fixture
def viewed(path):
    with SqliteStore(path) as store:
        put(store, name="old", wrong=(0, 1, 2))
        put(store, name="new", wrong=(2, 3), seed=4)
    found = ViewedStore(path)
    yield found
    found.close()


def settled(viewed, a="old", b="new", **more):
    """The answer, once it is there."""
    while True:
        found = compare_answer(viewed, a=a, b=b, **more)
        if found.reading is None or found.reading.failed:
            return found


# ---------------------------------------------------------------------- the numbers


def test_it_says_what_calipers_compare_says(viewed, path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    (pair,) = settled(viewed).pairs
    compare(runs=["old", "new"], store=str(path))
    said = capsys.readouterr().out
    for line in (*pair.lead, pair.rate.sentence, pair.measures_note, *pair.flip_notes):
        assert line in said.replace("\n", " ") or line in said, line
    for row in (*pair.evaluators, *pair.slices, *pair.measures):
        assert row.name in said
        assert row.sentence in said
        for value in (*row.values, row.text):
            assert value in said
    assert f"{pair.flips['broken']:,} broken, {pair.flips['fixed']:,} fixed" in said


@pytest.mark.parametrize("more", [{}, {"pair_by": "name"}, {"lower": ["size"]}])
def test_the_numbers_are_those_of_a_comparison(viewed, more):
    (pair,) = settled(viewed, **more).pairs
    options = {"pair_by": more.get("pair_by", "content"), "lower_is_better": more.get("lower", ())}
    with viewed.reading() as store:
        reports = [store.report(name) for name in ("old", "new")]
        known = [store.known_evaluators(store.run(name).id) for name in ("old", "new")]
    (found,) = compare_many(reports, known_evaluators=known, **options)
    changes = [found.pass_rate, *found.evaluators, *found.slices, *found.measures]
    rows = [pair.rate, *pair.evaluators, *pair.slices, *pair.measures]
    assert [(row.name, row.difference, row.interval, row.mark) for row in rows] == [
        (each.name, each.difference, each.interval, each.outcome) for each in changes
    ]
    assert pair.outcome == found.conclusion.outcome


def test_about_these_cases_is_another_question(path):
    with SqliteStore(path) as store:
        put(store, name="old", wrong=(0,), repeat=2)
        put(store, name="new", wrong=(1,), repeat=2)
    viewed = ViewedStore(path)
    (pair,) = settled(viewed, these_cases=True).pairs
    assert "about these cases" in pair.facts
    viewed.close()


@given(st.randoms(use_true_random=False), st.sets(st.integers(0, 11)), st.sets(st.integers(0, 11)))
def test_cases_are_paired_by_what_they_are_and_never_by_position(draw, wrong, wrong_too):
    with MemoryStore() as store:
        put(store, name="old", wrong=wrong)
        put(store, name="new", wrong=wrong_too)
        put(store, name="shuffled", wrong=wrong_too, seed=draw.random())
        viewed = ViewedStore(store)
        one, two = (settled(viewed, b=name) for name in ("new", "shuffled"))
        timeless = [
            [_without_times(row) for row in (*each.pairs[0].evaluators, each.pairs[0].rate)]
            for each in (one, two)
        ]
        assert timeless[0] == timeless[1]
        flips = [{(flip.name, flip.way, *flip.marks, *flip.outputs) for flip in each.flips} for each in (one, two)]  # fmt: skip
        assert flips[0] == flips[1]
        assert {flip.name for flip in one.flips} == {f"case {n}" for n in wrong ^ wrong_too}
        viewed.close()


def _without_times(row):
    return msgspec.structs.replace(row, spoken="")


# ---------------------------------------------------------------------- what must be known first


def test_what_could_not_be_paired_is_listed(path):
    with SqliteStore(path) as store:
        put(store, name="old", cases=range(10))
        put(store, name="new", cases=range(5, 13))
    viewed = ViewedStore(path)
    (pair,) = settled(viewed).pairs
    assert pair.paired == 5
    assert [(label, count, sorted(names)) for label, count, names in pair.unpaired] == [
        ("old", 5, [f"case {n}" for n in range(5)]),
        ("new", 3, ["case 10", "case 11", "case 12"]),
    ]
    assert any("compared on the 5 cases that both have" in each for each in pair.warnings)
    viewed.close()


def test_changed_cases_and_evaluators_are_said(path):
    with SqliteStore(path) as store:
        put(store, name="old", evaluators=[correct])
        other = Dataset(
            name="sums",
            cases=[Case(name=f"case {n}", inputs={"n": n + (n == 3)}, tags=("even",)) for n in range(12)],
            evaluators=[_named("correct", stricter)],
        )
        other.evaluate_sync(lambda inputs: inputs["n"], name="new", store=store, progress=False)
    viewed = ViewedStore(path)
    (pair,) = settled(viewed).pairs
    assert pair.differing == [("case 3", "another inputs")]
    assert any("1 case has the same name and another content" in each for each in pair.warnings)
    assert any("not the same evaluator" in each for each in pair.warnings)
    assert any("not the same evaluator" in each for row in pair.evaluators for each in row.notes)
    viewed.close()


def _named(name, function):
    def renamed(output, inputs):
        return function(output, inputs)

    renamed.__name__ = renamed.__qualname__ = name
    return renamed


# ---------------------------------------------------------------------- flips


def test_flips_tell_what_came_and_why(viewed):
    found = settled(viewed)
    assert [(flip.name, flip.way) for flip in found.flips] == [
        ("case 3", "broken"),
        ("case 0", "fixed"),
        ("case 1", "fixed"),
    ]
    broken = found.flips[0]
    assert (broken.marks, broken.counts, broken.outputs) == (["p", "f"], "1/1 → 0/1", ["3", "99"])
    (assertion,) = broken.assertions
    assert (assertion.name, assertion.baseline, assertion.candidate) == ("correct", True, False)
    assert (assertion.baseline_reason, assertion.candidate_reason) == ("said 3", "said 99")
    assert found.flips_total == 3


def test_each_evaluator_says_in_how_many_flips_it_changed_its_mind(viewed):
    (pair,) = settled(viewed).pairs
    assert {row.name: (row.broken, row.fixed) for row in pair.evaluators} == {"correct": (1, 2), "size": (0, 0)}  # fmt: skip


@pytest.mark.parametrize(
    ("q", "names"),
    [
        ("flip:worse", ["case 3"]),
        ("flip:better", ["case 0", "case 1"]),
        ("-flip:worse", ["case 0", "case 1"]),
        ("flip:(worse OR better)", ["case 3", "case 0", "case 1"]),
        ("flip:any", ["case 3", "case 0", "case 1"]),
        ("flip:moved", []),
        ("tag:odd", ["case 3", "case 1"]),
        ("flip:better tag:odd", ["case 1"]),
        ("eval.correct:failed", ["case 3"]),
        ('case:"case 0"', ["case 0"]),
        ("said 99", ["case 3"]),
    ],
)
def test_flips_are_filtered(viewed, q, names):
    """What the terms ask of a case it has to meet in the candidate."""
    found = settled(viewed, q=q)
    assert [flip.name for flip in found.flips] == names
    assert found.flips_total == len(names)


def test_what_is_no_filter_is_refused(viewed):
    with pytest.raises(FilterError, match="flop"):
        settled(viewed, q="flop:worse")


def test_flips_come_a_page_at_a_time(viewed):
    names = []
    after = ""
    while after is not None:
        found = settled(viewed, limit=2, after=after)
        names += [flip.name for flip in found.flips]
        after = found.next
    assert names == ["case 3", "case 0", "case 1"]


def test_a_renamed_case_is_the_same_case(path):
    with SqliteStore(path) as store:
        put(store, name="old", wrong=(3,))
        cases = [Case(name=f"renamed {n}", inputs={"n": n}, tags=("even",) if n % 2 == 0 else ("odd",)) for n in range(12)]  # fmt: skip
        Dataset(name="sums", cases=cases, evaluators=[correct, size]).evaluate_sync(
            lambda inputs: inputs["n"], name="new", store=store, progress=False
        )
    viewed = ViewedStore(path)
    found = settled(viewed)
    assert found.pairs[0].paired == 12
    assert [(flip.name, flip.outputs) for flip in found.flips] == [("renamed 3", ["99", "3"])]
    viewed.close()


def test_the_step_at_which_traces_part_is_told(path):
    def task(flight):
        def book(inputs):
            return Trace(
                tool_calls=[ToolCall("search", {"city": "Rome"}), ToolCall("book", {"flight": flight})]
            )

        return book

    def booked(trace):
        return trace.tool_calls[-1].arguments["flight"] == "AZ611"

    with SqliteStore(path) as store:
        for name, flight in (("old", "AZ611"), ("new", "LH220")):
            Dataset(name="d", cases=[Case(name="c", inputs=1)], evaluators=[booked]).evaluate_sync(
                task(flight), name=name, store=store, progress=False
            )
    viewed = ViewedStore(path)
    (flip,) = settled(viewed).flips
    assert "book(flight='AZ611') became book(flight='LH220')" in flip.parting
    viewed.close()


def test_repeats_are_counted_and_shown_one_by_one(path):
    with SqliteStore(path) as store:
        put(store, name="old", repeat=3)
        put(store, name="new", wrong=(5,), repeat=3)
    viewed = ViewedStore(path)
    (flip,) = settled(viewed).flips
    assert (flip.marks, flip.counts, flip.way, flip.basis) == (
        ["ppp", "fff"],
        "3/3 → 0/3",
        "moved",
        "attempts",
    )
    viewed.close()


def test_of_flips_that_luck_explains_alike_those_to_fail_come_first(path):
    with SqliteStore(path) as store:
        put(store, name="old", wrong=(2,), repeat=3)
        put(store, name="new", wrong=(5, 6), repeat=3)
    viewed = ViewedStore(path)
    found = settled(viewed)
    assert [flip.counts for flip in found.flips] == ["3/3 → 0/3", "3/3 → 0/3", "0/3 → 3/3"]
    (pair,) = found.pairs
    assert (pair.flips["moved"], pair.moved_to_fail) == (3, 2)
    viewed.close()


# ---------------------------------------------------------------------- several runs


def test_further_runs_are_each_compared_with_the_first(viewed, path):
    with SqliteStore(path) as store:
        put(store, name="newest", wrong=(5,))
    found = settled(viewed, c="newest", of=2)
    assert [each.name for each in found.runs] == ["old", "new", "newest"]
    assert [each.label for each in found.runs] == ["A", "B", "C"]
    assert [each.candidate for each in found.pairs] == [1, 2]
    assert {flip.name for flip in found.flips} == {"case 0", "case 1", "case 2", "case 5"}
    with viewed.reading() as store:
        reports = [store.report(name) for name in ("old", "new", "newest")]
    text = comparisons_text(compare_many(reports, against_first=True), width=200)
    for pair in found.pairs:
        assert pair.rate.sentence in text


def test_runs_that_cannot_be_compared_are_refused(viewed):
    with pytest.raises(Refusal, match="again: name runs that differ"):
        compare_answer(viewed, a="old", b="old")
    with pytest.raises(RunMissingError, match="nothing"):
        compare_answer(viewed, a="old", b="nothing")
    with pytest.raises(Refusal, match="of must be from 1 to 1"):
        compare_answer(viewed, a="old", b="new", of=2)
    with pytest.raises(Refusal, match="after must be"):
        settled(viewed, after="x")


def test_an_option_that_is_not_valid_is_told(viewed):
    found = settled(viewed, lower=["nothing"])
    assert "no score or metric of these reports is called 'nothing'" in found.reading.failed


# ---------------------------------------------------------------------- long runs


def test_long_runs_are_compared_in_a_process_of_their_own(viewed):
    here = settled(viewed)
    apart = ViewedStore(viewed.address)
    apart.kept(Comparisons).apart = 0
    found = settled(apart)
    assert found.pairs == here.pairs
    assert found.flips == here.flips
    apart.close()


def test_what_is_not_there_yet_says_how_far_it_is(viewed):
    apart = ViewedStore(viewed.address)
    apart.kept(Comparisons).apart = 0
    with working_until(Deadline(1.0)):
        first = compare_answer(apart, a="old", b="new")
    assert first.reading is None or 0 <= first.reading.read <= first.reading.of == 24
    assert settled(apart).pairs
    apart.close()


def test_a_comparison_that_no_one_wants_ends(viewed):
    with viewed.reading() as store:
        runs = [store.run(name) for name in ("old", "new")]
    kept = viewed.kept(Comparisons)
    kept.apart = 0
    making = kept.begin(viewed, runs)
    making.is_over = True
    assert making.wait(60)
    assert making.found is not None or "no page asked for it" in making.failed


def test_a_comparison_is_made_once_and_again_when_a_run_changes(viewed):
    kept = viewed.kept(Comparisons)
    settled(viewed)
    with viewed.reading() as store:
        runs = [store.run(name) for name in ("old", "new")]
    assert kept.begin(viewed, runs) is kept.begin(viewed, runs)
    before = kept.begin(viewed, runs)
    with viewed.writing() as store:
        store.remove_attempts(runs[1].id, [0])
    assert kept.begin(viewed, runs) is not before
    assert settled(viewed).pairs[0].paired == 11


def test_too_many_attempts_are_refused(viewed):
    viewed.kept(Comparisons).most = 10
    with pytest.raises(
        Refusal, match="these runs have 24 attempts, and up to 10 are compared here"
    ) as refused:
        compare_answer(viewed, a="old", b="new")
    assert refused.value.code == "too_large"


def test_what_there_is_no_time_to_read_is_said():
    with MemoryStore() as store:
        put(store, name="old", wrong=(1,))
        put(store, name="new", wrong=(2,))
        viewed = ViewedStore(store)
        settled(viewed)
        with working_until(Deadline(0.0)):
            found = compare_answer(viewed, a="old", b="new")
        assert found.flips_total == 2
        assert [flip.outputs for flip in found.flips] == [[], []]
        assert found.left_out == [
            "what the attempts at 2 cases gave: it is long, and there was no time to read it"
        ]
        assert found.timed_out
        viewed.close()


def test_a_filter_needs_no_comparison_of_judges(viewed):
    with pytest.raises((FilterError, InvalidOptionError), match="judge"):
        settled(viewed, q="judge.correct:disagrees")
