"""The contract, against every kind of store; more of it is in `calipers.testing.check_store`."""

import asyncio
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calipers import Case, Dataset, Evaluator
from calipers.cli.actions.gate import counted
from calipers.comparison import compare_reports
from calipers.comparison.evaluator_changes import EvaluatorChanges
from calipers.data.result import EvaluatorSpec
from calipers.errors import InvalidOptionError, StoreError, StoreUnavailableError
from calipers.evaluators import Contains
from calipers.gate import Policy, Rules, judge_run
from calipers.gate.looks import Look
from calipers.gate.verdict import Verdict
from calipers.stores import EvaluatorSlots, MemoryStore, RunInfo, Store, StoredEvaluator, pack, score_again
from calipers.stores.store import patiently
from calipers.testing import check_store
from calipers.testing.store_check import record


def test_every_store_keeps_the_contract(store):
    check_store(store)


def double(inputs):
    if inputs == 3:
        raise ValueError("three")
    return 2 * inputs


def right(output, expected_output):
    return output == expected_output


def close(output, expected_output):
    return {"near": abs(output - expected_output) < 2, "distance": float(abs(output - expected_output))}


def odd_only(inputs):
    return True if inputs % 2 else {}


def report_of(count, **options):
    dataset = Dataset(
        name="numbers",
        cases=[Case(name=f"n{n}", inputs=n, expected_output=2 * n + (n % 5 == 0)) for n in range(count)],
        evaluators=[right, close, odd_only],
    )
    return dataset.evaluate_sync(double, progress=False, **options)


@pytest.mark.parametrize("options", [{}, {"repeat": 3}, {"metadata": {"who": "us"}, "seed": 0}])
def test_a_report_comes_back_as_it_was(store, options):
    report = report_of(8, **options)
    run = store.add_report(report)
    assert store.report(run.id).to_dict() == report.to_dict()
    assert store.totals(run.id).summaries == report.summaries()
    assert store.totals(run.id).pass_rate == report.pass_rate()
    assert store.totals(run.id).counts == report.counts()
    assert list(store.totals(run.id).summaries) == list(report.summaries()), "in the same order"


@pytest.mark.parametrize("strange", ["\ud800", "ü\ud800", "a\0b", "\0", "ü", "%", "'"])
def test_a_run_of_a_strange_name_is_found_or_is_not_there(store, strange):
    for ask in (
        store.run,
        store.report,
        store.resume_run,
        store.finish_run,
        store.delete_run,
        store.totals,
        store.beat,
        lambda run: list(store.judged(run)),
    ):
        with pytest.raises(StoreError, match="has no run"):
            ask(strange)
    begun = store.begin_run(RunInfo(name=strange))
    assert store.run(strange).id == begun.id


def test_an_empty_report_can_be_stored(memory_store):
    run = memory_store.add_report(report_of(0))
    assert (run.attempts, run.status) == (0, "finished")
    assert memory_store.done(run.id) == []
    assert memory_store.totals(run.id).pass_rate is None, "nothing vacuous passes"


def test_a_report_that_does_not_hold_all_its_attempts_is_refused(memory_store):
    with pytest.raises(StoreError, match=r"holds 3 of its 8 attempts.*keep='all'"):
        memory_store.add_report(report_of(8, keep="failed"))
    assert memory_store.runs() == []


@pytest.mark.parametrize("keep", ["some", "", None, True])
def test_what_a_report_may_keep_is_named(memory_store, keep):
    run = memory_store.add_report(report_of(1))
    with pytest.raises(InvalidOptionError, match="keep must be one of all, failed, none, got"):
        memory_store.report(run.id, keep=keep)


def test_a_run_that_has_not_ended_says_so_in_its_report(memory_store):
    run = memory_store.begin_run(RunInfo(name="long", total=10))
    assert str(memory_store.report(run.id).incomplete) == "still running after 0 of 10 attempts"
    memory_store.finish_run(run.id, status="interrupted")
    assert str(memory_store.report(run.id).incomplete) == "interrupted after 0 of 10 attempts"
    memory_store.finish_run(run.id, status="finished")
    assert str(memory_store.report(run.id).incomplete) == "ended after 0 of 10 attempts"


def test_a_case_with_evaluators_of_its_own_keeps_their_order(memory_store):
    shared = StoredEvaluator(name="Right", spec=EvaluatorSpec("Right"))
    own = StoredEvaluator(name="Own", spec=EvaluatorSpec("Own", {"n": 1}), shared=False)
    run = memory_store.begin_run(RunInfo(name="own", evaluators=(shared,)))
    (place,) = memory_store.add_evaluators(run.id, [own])
    evaluators = memory_store.run(run.id).evaluators
    first, _ = pack(record(0, failed=True), 0, EvaluatorSlots(evaluators, (place, 0)))
    memory_store.append(run.id, [first])
    report = memory_store.report(run.id)
    assert report.failures[0].not_run == ("Right", "Close", "Vague"), "the names that the record itself gives"
    own_first = report.failures[0]
    own_first.not_run = ("Own", "Right")
    memory_store.append(run.id, [pack(own_first, 0, EvaluatorSlots(evaluators, (place, 0)))[0]])
    assert memory_store.report(run.id).failures[0].not_run == ("Own", "Right")
    assert '"not_run"' not in next(memory_store.attempts(run.id)).facts, "it follows from the evaluators"


def test_nothing_is_a_store_without_the_whole_contract():
    with pytest.raises(TypeError, match="abstract"):
        Store()


def test_a_store_prints_as_what_it_is(memory_store):
    assert repr(memory_store) == "MemoryStore('memory:')"


@pytest.mark.parametrize("limit", [-1, "3", 1.5, True])
def test_a_limit_that_is_none_is_refused(memory_store, limit):
    with pytest.raises(InvalidOptionError, match="limit must be a whole number"):
        memory_store.runs(limit=limit)


def test_abandoned_runs_can_be_asked_for(store):
    begun = [store.begin_run(RunInfo(name=name)).id for name in "abc"]
    store.finish_run(begun[0])
    with store._writing() as db:
        db.run("UPDATE runs SET heartbeat = NULL WHERE id = ?", (begun[1],))
    assert [run.name for run in store.runs(status="abandoned")] == ["b"]
    assert [run.name for run in store.runs(status="running")] == ["c", "b"]
    assert store.runs(status="abandoned", limit=0) == []


@pytest.mark.parametrize("status", ["done", 3, "", []])
def test_a_status_that_is_none_is_refused(memory_store, status):
    with pytest.raises(
        InvalidOptionError, match=r"status must be one of running, finished, .*abandoned, or None, got"
    ):
        memory_store.runs(status=status)


@pytest.mark.parametrize("which", [3, None, ["r"]], ids=repr)
def test_what_names_no_run_is_refused(memory_store, which):
    for ask in (memory_store.run, memory_store.report):
        with pytest.raises(StoreError, match=r"a run is named by its id, .* or 'latest', got"):
            ask(which)


@pytest.mark.parametrize("report", [{"a": 1}, None, "report"], ids=repr)
def test_only_a_report_is_stored_as_one(memory_store, report):
    with pytest.raises(StoreError, match="only a Report can be stored as a run, got"):
        memory_store.add_report(report)


@pytest.mark.parametrize("keep", ["all", "failed", "none"])
def test_the_report_of_a_run_is_found_by_whatever_the_run_is(memory_store, keep):
    run = memory_store.add_report(report_of(3))
    expected = memory_store.report(run.id, keep=keep)
    assert [memory_store.report(which, keep=keep) for which in ("latest", run.name, run.id[:12])] == [
        expected
    ] * 3


def test_a_place_before_the_first_is_refused(memory_store):
    run = memory_store.begin_run(RunInfo(name="r"))
    with pytest.raises(StoreError, match="counts from 0, got -1"):
        memory_store.append(run.id, [pack(record(0, failed=True), -1, EvaluatorSlots(()))[0]])


def test_attempts_far_from_each_other_are_replaced_too(store):
    run = store.begin_run(RunInfo(name="far"))
    for places in ((0, 10**6, 10**12), (0, 10**12)):
        store.append(run.id, [pack(record(n, failed=True), n, EvaluatorSlots(()))[0] for n in places])
    assert store.done(run.id) == [range(1), range(10**6, 10**6 + 1), range(10**12, 10**12 + 1)]
    assert store.run(run.id).attempts == 3


def test_an_evaluator_that_both_said_something_and_failed_is_one_column(memory_store):
    def fragile(output):
        if output == 4:
            raise ValueError("four")
        return {"even": output % 2 == 0}

    dataset = Dataset(name="d", cases=[Case(name=f"n{n}", inputs=n) for n in range(4)], evaluators=[fragile])
    report = dataset.evaluate_sync(lambda n: 2 * n, progress=False)
    assert report.counts().failed_evaluators == {"fragile": 1}
    run = memory_store.add_report(report)
    assert [evaluator.name for evaluator in memory_store.run(run.id).evaluators] == ["fragile"]
    assert memory_store.report(run.id).to_dict() == report.to_dict()


def test_looks_at_a_question_come_back_in_their_order_and_outlive_their_run(store):
    run = store.add_report(report_of(3))
    looks = [
        Look(run=run.id, attempts=3 * number, number=number, outcome=outcome)
        for number, outcome in enumerate(("INCONCLUSIVE", "WORSE", "FAIL", "PASS"), 1)
    ]
    for before, look in enumerate(looks):
        assert store.add_look("ours", look, after=before)
        assert store.add_look("ours too, by another agent: 'ü'", look, after=before)
    store.delete_run(run.id)
    store.prune()
    assert store.looks("ours") == store.looks("ours too, by another agent: 'ü'") == looks
    assert store.looks("unknown") == []


def test_a_look_is_not_noted_if_another_came_before_it(store):
    first, other = (Look(run=run, attempts=1, number=1, outcome="WORSE") for run in "ab")
    assert store.add_look("ours", first, after=0)
    assert not store.add_look("ours", other, after=0)
    assert store.looks("ours") == [first]


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_two_gates_that_judge_at_once_take_two_numbers(request, kind):
    kept = request.getfixturevalue(f"{kind}_store")
    where = (
        kept.path if kind == "sqlite" else f"{request.getfixturevalue('postgres').url}?schema={kept.schema}"
    )
    both_judge = threading.Barrier(2, timeout=60)

    def gate(run):
        judged = []

        def judge(look):
            if not judged:
                both_judge.wait()
            judged.append(look)
            return Verdict(
                outcome="WORSE", findings=(), run=run, cases=1, confidence=0.95, look=look, correction="holm"
            )

        with type(kept)(where) as store:
            counted(store, "ours", run, 1, judge)
        return judged

    with ThreadPoolExecutor(2) as pool:
        judged = sorted(pool.map(gate, "ab"))
    assert judged == [[1], [1, 2]], "the one that came second judges again"
    assert [look.number for look in kept.looks("ours")] == [1, 2]


def failing(*errors):
    left = list(errors)

    def call():
        if left:
            raise left.pop(0)
        return "done"

    return call


def test_what_is_unavailable_is_tried_again():
    assert patiently(failing(StoreUnavailableError("away"), StoreUnavailableError("away"))) == "done"


@pytest.mark.parametrize("error", [StoreError("no"), ValueError("no")], ids=repr)
def test_what_waiting_does_not_heal_is_not_tried_again(error):
    with pytest.raises(type(error), match="no"):
        patiently(failing(error))


def test_patience_ends():
    with pytest.raises(StoreUnavailableError, match="away"):
        patiently(failing(*[StoreUnavailableError("away")] * 9), patience=0.15)


class Shaky(MemoryStore):
    """A store that is away whenever something is asked of it for the first time."""

    def __init__(self):
        super().__init__()
        self.asked = set()

    def _first(self, what):
        if what not in self.asked:
            self.asked.add(what)
            raise StoreUnavailableError("away")

    def find(self, keys, **options):
        self._first("find")
        return super().find(keys, **options)

    def judged_at(self, run, positions, *, traces=True):
        self._first("judged_at")
        yield from super().judged_at(run, positions, traces=traces)

    def remove_attempts(self, *args, **options):
        self._first("remove_attempts")
        super().remove_attempts(*args, **options)

    def finish_run(self, *args, **options):
        self._first("finish_run")
        return super().finish_run(*args, **options)


def same(inputs):
    return inputs


def test_a_run_goes_on_whatever_it_asks_of_a_store_that_is_away_for_a_moment():
    def run(inputs, **options):
        dataset = Dataset(name="d", cases=[Case(name=x, inputs=x) for x in inputs])
        return dataset.evaluate_sync(same, store=store, progress=False, **options)

    same.version = "1"
    with Shaky() as store:
        first = run("abc", reuse=True).reuse
        again = run("ab", resume=first.run).reuse
        assert store.asked == {"find", "judged_at", "remove_attempts", "finish_run"}
        assert (again.attempts_reused, again.attempts_made) == (2, 0)
        assert (store.run(first.run).status, store.run(first.run).attempts) == ("finished", 2)


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
