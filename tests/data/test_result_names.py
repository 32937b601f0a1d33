"""A name of a result follows from who gives which keys in the run, and from nothing else."""

import asyncio
import json
from dataclasses import dataclass

from hypothesis import given, settings
from hypothesis import strategies as st

from calipers import Case, Dataset, Evaluator, Skipped
from calipers.comparison.comparison import compare_reports
from calipers.data.record import name_results
from calipers.data.result_names import Names
from calipers.gate.gate import judge_run
from calipers.gate.policy import Policy, Rules
from calipers.stores import MemoryStore, score_again
from calipers.views.jsonl import JsonlWriter, read_jsonl

KEYS = ("x", "y", "a", "b.x", "x.b", "a.x", 'a["x')
EVALUATORS = ("a", "b", "c", "a.x", "a.b", 'a["x"]')
few = settings(max_examples=min(25, settings().max_examples))
"""Each example is several runs."""


@dataclass
class Gives(Evaluator):
    """An evaluator that gives some of the keys for each case, and takes its time."""

    evaluation_name: str
    answers: list[list[str] | None]
    """For each case: the keys, or `None` where it fails; no keys where it is skipped."""
    waits: list[int]

    async def evaluate(self, ctx):
        for _ in range(self.waits[ctx.inputs]):
            await asyncio.sleep(0)
        keys = self.answers[ctx.inputs]
        if keys is None:
            raise ValueError(f"no answer to {ctx.inputs}")
        return {key: Skipped("not here") if key == "y" else float(KEYS.index(key)) for key in keys}


async def task(inputs):
    return inputs


task.version = "1"

one_answer = st.none() | st.lists(st.sampled_from(KEYS), unique=True, max_size=3)


@st.composite
def panels(draw):
    """What each of three evaluators gives for each of a few cases."""
    cases = draw(st.integers(1, 4))
    return [
        Gives(
            name,
            draw(st.lists(one_answer, min_size=cases, max_size=cases)),
            draw(st.lists(st.integers(0, 3), min_size=cases, max_size=cases)),
        )
        for name in draw(st.permutations(EVALUATORS))[:3]
    ]


def expected_names(panel):
    """By evaluator and key: what the result is called."""
    evaluators = {one.evaluation_name for one in panel}
    pairs = {
        (one.evaluation_name, key)
        for one in panel
        for keys in one.answers
        # Where nothing of a mapping applies, all of it is one skip.
        for key in (keys or ())
        if set(keys) != {"y"}
    }

    def clashes(evaluator, key):
        begins = {key[:place] for place, letter in enumerate(key) if letter == "."}
        return key != evaluator and (
            sum(given_key == key for each, given_key in pairs if each != given_key) > 1
            or key in evaluators
            or bool(begins & (evaluators - {evaluator}))
            or (key.startswith(f"{evaluator}.") and clashes(evaluator, key[len(evaluator) + 1 :]))
        )

    names = {}
    for evaluator, key in sorted(pairs):
        name = f"{evaluator}.{key}"
        quoted = '["' in name or name in evaluators
        taken = {other for other in evaluators - {evaluator} if f"{name}.".startswith(f"{other}.")}
        if key == evaluator or not (quoted or clashes(evaluator, key)):
            names[evaluator, key] = key
        elif not quoted and not {other for other in taken if len(other) > len(evaluator)}:
            names[evaluator, key] = name
        else:
            plain = f"{evaluator}[{json.dumps(key)}]"
            names[evaluator, key] = f"{plain}'" if plain in evaluators else plain
    own = {(evaluator, evaluator): evaluator for evaluator in evaluators}
    assert len({*names.values(), *evaluators}) == len(names | own), "one name means one evaluator and one key"
    return names


def names_of(report):
    """By evaluator and key: what the results are called in a report; one name, or it fails."""
    found = {}
    for case in report.cases:
        said = [(result.evaluator, KEYS[int(result.value)], result.name) for result in case.results]
        said += [(skip.evaluator, "y", skip.name) for skip in case.skipped if skip.key_of is not None]
        assert len({name for *_, name in said}) == len(said), "names are unique within an attempt"
        for evaluator, key, name in said:
            assert found.setdefault((evaluator, key), name) == name
    return found


def evaluate(panel, *, order=None, **options):
    cases = [Case(name=str(n), inputs=n) for n in order or range(len(panel[0].answers))]
    data = Dataset(name="d", cases=cases, evaluators=panel)
    return data.evaluate_sync(task, progress=False, **options)


@few
@given(panels(), st.randoms(use_true_random=False))
def test_names_do_not_depend_on_the_order_in_which_attempts_and_evaluators_finish(panel, random):
    expected = expected_names(panel)
    order = random.sample(range(len(panel[0].answers)), len(panel[0].answers))
    for concurrency in (1, 3):
        assert names_of(evaluate(panel, order=order, max_concurrency=concurrency)) == expected
    assert names_of(evaluate(panel[::-1], order=order)) == expected


@few
@given(panels(), st.integers(1, 3))
def test_names_are_the_same_in_a_run_that_is_resumed_reused_or_read_from_its_store(panel, stop):
    expected = expected_names(panel)
    with MemoryStore() as store:
        done = []

        def break_off(record):
            done.append(record)
            if len(done) == stop:
                raise OSError("no space")

        first = evaluate(panel, store=store, max_concurrency=1, on_record=break_off)
        assert names_of(store.report(first.reuse.run)) == names_of(first)
        resumed = evaluate(panel, store=store, resume=first.reuse.run)
        assert names_of(resumed) == expected
        assert names_of(store.report(resumed.reuse.run)) == expected
        again = evaluate(panel, store=store, reuse=True)
        assert again.reuse.attempts_made == 0
        assert names_of(again) == names_of(store.report(again.reuse.run)) == expected
        counted = store.report(again.reuse.run, keep="failed")
        assert counted.totals.summaries.keys() == again.summaries().keys()
        assert names_of(counted).items() <= expected.items()
        in_memory = evaluate(panel, keep="failed")
        assert in_memory.totals.summaries.keys() == again.summaries().keys()
        assert names_of(in_memory).items() <= expected.items()


@few
@given(panels(), st.integers(1, 2))
def test_an_evaluator_that_comes_by_scoring_has_the_names_it_has_in_a_run(panel, count):
    expected = expected_names(panel)
    with MemoryStore() as store:
        run = evaluate(panel[:count], store=store).reuse.run
        report = score_again(store, run, evaluators=panel[count:], keep="all")
        assert names_of(report) == expected
        assert names_of(score_again(store, run, evaluators=panel[count:], keep="all")) == expected
        resumed = evaluate(panel[:count], store=store, resume=run)
        assert names_of(resumed) == expected


@few
@given(panels())
def test_a_file_that_is_written_during_the_run_reads_with_the_names_of_the_whole_run(tmp_path_factory, panel):
    path = tmp_path_factory.mktemp("lines") / "report.jsonl"
    with JsonlWriter(path) as writer:
        report = evaluate(panel, on_record=writer.add, max_concurrency=3)
        writer.close(report)
    with path.open("rb") as file:
        read = read_jsonl(file, what="it")
    assert names_of(read) == names_of(report)
    assert read.summaries() == report.summaries()


@given(panels())
def test_a_report_that_is_named_twice_keeps_its_names(panel):
    report = evaluate(panel)
    before = names_of(report)
    name_results(report.cases)
    assert names_of(report) == before
    assert names_of(type(report).from_dict(report.to_dict())) == before


def test_what_an_evaluator_sees_of_earlier_results_follows_from_this_attempt_alone():
    seen = {}

    def first(inputs):
        return {"score": 1} if inputs else {}

    def second(inputs):
        return {"score": 2}

    def looks(ctx):
        seen[ctx.inputs] = {name: result.value for name, result in ctx.results.items()}
        return True

    cases = [Case(inputs=0), Case(inputs=1), Case(inputs=0, name="again")]
    Dataset(cases=cases, evaluators=[first, second, looks]).evaluate_sync(task, progress=False)
    assert seen == {0: {"score": 2}, 1: {"first.score": 1, "second.score": 2}}


def test_many_keys_of_one_evaluator_keep_their_names():
    names = Names(["a"])
    assert [names.of("a", key) for key in ("a", "x", "a.x", "b.x")] == ["a", "x", "a.x", "b.x"]


def test_two_runs_are_compared_by_evaluator_where_one_is_silent_in_one_of_them():
    def report(*, silent):
        def first(output):
            return {} if silent else {"score": 1.0}

        def second(output):
            return {"score": 0.0}

        data = Dataset(cases=[Case(name=str(n), inputs=n) for n in range(5)], evaluators=[first, second])
        return data.evaluate_sync(task, progress=False)

    compared = compare_reports(report(silent=True), report(silent=False))
    assert [(change.name, change.difference) for change in compared.evaluators] == [("second.score", 0.0)]


def test_a_column_means_one_evaluator_where_another_is_called_like_a_qualified_name():
    def always(name, answer):
        return Gives(name, [answer] * 4, [0] * 4)

    def rarely(inputs):
        return 9.0 if inputs < 1 else Skipped("not here")

    @dataclass
    class Rare(Evaluator):
        evaluation_name: str

        def evaluate(self, ctx):
            return rarely(ctx.inputs)

    panel = [Rare("a.x"), always("a", ["x"]), always("b", ["x"])]
    for order in (panel, panel[::-1]):
        data = Dataset(cases=[Case(name=str(n), inputs=n) for n in range(4)], evaluators=order)
        report = data.evaluate_sync(task, progress=False)
        assert {name: (one.evaluator, one.count) for name, one in report.summaries().items()} == {
            "a.x": ("a.x", 1),
            'a["x"]': ("a", 4),
            "b.x": ("b", 4),
        }


def test_a_policy_may_always_name_an_evaluator_before_its_key():
    def judge(output):
        return {"score": 0.9}

    data = Dataset(cases=[Case(inputs=n) for n in range(40)], evaluators=[judge])
    report = data.evaluate_sync(task, progress=False)
    verdicts = [
        judge_run(report, Policy(evaluators={name: Rules(at_least=0.5)})).outcome
        for name in ("score", "judge.score", "other.score")
    ]
    assert verdicts == ["PASS", "PASS", "FAIL"]


def test_a_policy_on_a_key_of_several_evaluators_is_told_their_names():
    data = Dataset(
        cases=[Case(inputs=0)], evaluators=[Gives(name, [["x"]], [0]) for name in ("b", "a.x", "a")]
    )
    report = data.evaluate_sync(task, progress=False)
    [_, finding] = judge_run(report, Policy(evaluators={"x": Rules(at_least=0.5)})).findings
    assert finding.outcome == "FAIL"
    assert finding.said == """this run has it as 'b.x', 'a.x.x', 'a["x"]'"""
    assert finding.advice == "name one of these in the policy"


def test_a_column_of_the_dataset_has_one_name_also_where_single_cases_bring_evaluators_of_that_name():
    def quality(output):
        return {"tone": 1.0, "style": 2.0}

    @dataclass
    class Own(Evaluator):
        evaluation_name: str

        def evaluate(self, ctx):
            return 3.0 if self.evaluation_name == "tone" else {"style": 4.0}

    cases = [
        Case(name="first", inputs=0),
        Case(name="tone", inputs=1, evaluators=[Own("tone")]),
        Case(name="style", inputs=2, evaluators=[Own("other")]),
        Case(name="last", inputs=3),
    ]
    with MemoryStore() as store:
        report = Dataset(cases=cases, evaluators=[quality]).evaluate_sync(task, progress=False, store=store)
        for each in (report, store.report(report.reuse.run)):
            assert [{name: result.value for name, result in case.scores.items()} for case in each.cases] == [
                {"quality.tone": 1.0, "quality.style": 2.0},
                {"tone": 3.0, "quality.tone": 1.0, "quality.style": 2.0},
                {"other.style": 4.0, "quality.tone": 1.0, "quality.style": 2.0},
                {"quality.tone": 1.0, "quality.style": 2.0},
            ]
        assert {name: one.evaluator for name, one in store.totals(report.reuse.run).summaries.items()} == {
            "quality.tone": "quality",
            "quality.style": "quality",
            "tone": "tone",
            "other.style": "other",
        }
