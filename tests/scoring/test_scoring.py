"""How evaluators are run: order, isolation of failures, timeouts, blocking ones."""

import asyncio
import subprocess
import sys
import textwrap
import threading
import time

import pytest

from calipers import Case, Dataset, EvaluationReason, Evaluator, Report, Skipped, as_evaluator


def run(*evaluators, cases=None, task=lambda inputs: inputs, **options):
    cases = cases or [Case(name="c", inputs=1)]
    return Dataset(cases=cases, evaluators=list(evaluators)).evaluate_sync(task, progress=False, **options)


def named(name, function):
    return as_evaluator(function, name=name)


def test_evaluators_run_in_order_those_of_the_case_first_and_see_earlier_results():
    seen = []

    def see(name):
        def look(results):
            seen.append((name, list(results)))
            return True

        return named(name, look)

    run(see("a"), see("b"), cases=[Case(inputs=1, evaluators=[see("own")])])
    assert seen == [("own", []), ("a", ["own"]), ("b", ["own", "a"])]


def test_an_expensive_check_can_run_only_where_a_cheap_one_did_not_decide():
    asked = []

    def cheap(output):
        return output == "plainly right"

    async def expensive(output, results):
        if results["cheap"].value:
            return Skipped("already decided")
        asked.append(output)
        return True

    report = run(cheap, expensive, cases=[Case(inputs="plainly right"), Case(inputs="unclear")])
    assert asked == ["unclear"]
    assert [s.reason for s in report.cases[0].skipped] == ["already decided"]


class Panic(BaseException):
    """What is no Exception, such as what `pytest.fail` raises, or compiled code that panics."""


class Breaks(Exception):
    def __str__(self):
        raise RuntimeError("even its text breaks")


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (ValueError("boom"), "ValueError: boom"),
        (SystemExit(1), "SystemExit: 1"),
        (Panic("at the disco"), "Panic: at the disco"),
        (RecursionError("deep"), "RecursionError: deep"),
        (asyncio.CancelledError(), "CancelledError: "),
        (StopIteration(3), "StopIteration: 3"),
        (Breaks(), "Breaks: (the error's own text could not be read)"),
    ],
)
@pytest.mark.parametrize("style", ["sync", "async", "thread"])
def test_an_evaluator_that_raises_is_recorded_and_the_others_are_heard(error, message, style):
    def broken(output):
        raise error

    async def broken_async(output):
        raise error

    options = {"evaluator_timeout": 10} if style == "thread" else {}
    report = run(
        named("before", lambda output: True),
        broken_async if style == "async" else broken,
        named("after", lambda output: 2),
        **options,
    )
    [case] = report.cases
    assert [result.name for result in case.results] == ["before", "after"]
    [failure] = case.evaluator_failures
    if isinstance(error, StopIteration) and style != "sync":
        assert "StopIteration" in failure.error_message
    else:
        assert failure.error_message == message
    assert case.passed is False


@pytest.mark.parametrize(
    "output",
    [None, object(), [], float("nan"), float("-inf"), {"a": None}, {1: True}, 10**30, EvaluationReason(None)],
)
def test_an_illegal_output_is_a_failure_that_shows_it(output):
    [case] = run(named("bad", lambda inputs: output)).cases
    assert case.results == ()
    assert case.evaluator_failures[0].error_type == "InvalidOutputError"


def test_a_synchronous_evaluator_that_blocks_the_event_loop_is_named():
    def slow(output):
        time.sleep(0.15)
        return True

    report = run(slow, named("quick", lambda output: True), cases=[Case(inputs=1), Case(inputs=2)])
    assert set(report.blocked) == {"slow"}
    assert report.blocked["slow"].count == 2
    assert report.blocked["slow"].longest >= 0.15


def test_an_async_evaluator_that_waits_blocks_nothing():
    async def slow(output):
        await asyncio.sleep(0.15)
        return True

    assert run(slow).blocked == {}


@pytest.mark.parametrize("style", ["sync", "async"])
def test_an_evaluator_that_hangs_is_given_up_after_its_time(style):
    def hang(output):
        time.sleep(30)

    async def hang_async(output):
        await asyncio.sleep(30)

    report = run(
        hang_async if style == "async" else hang, named("after", lambda output: True), evaluator_timeout=0.1
    )
    [case] = report.cases
    assert case.evaluator_failures[0].error_message == "AttemptTimeoutError: exceeded evaluator_timeout=0.1 s"
    assert [result.name for result in case.results] == ["after"]
    assert report.blocked == {}


def test_with_a_timeout_synchronous_evaluators_run_in_threads_and_async_ones_on_the_loop():
    def where(output):
        return threading.current_thread() is threading.main_thread()

    async def where_async(output):
        return threading.current_thread() is threading.main_thread()

    [case] = run(where, where_async, evaluator_timeout=5).cases
    assert {name: result.value for name, result in case.assertions.items()} == {
        "where": False,
        "where_async": True,
    }


def test_without_a_timeout_evaluators_run_on_the_callers_thread_one_at_a_time():
    inside = []

    def alone(output):
        assert threading.current_thread() is threading.main_thread()
        inside.append(1)
        assert len(inside) == 1
        inside.pop()
        return True

    cases = [Case(inputs=i) for i in range(100)]
    assert run(alone, cases=cases, max_concurrency=8).pass_rate().value == 1


def test_names_are_settled_for_the_dataset_first_so_that_columns_mean_the_same_in_every_case():
    cases = [
        Case(name="own", inputs=1, evaluators=[named("check", lambda output: False)]),
        Case(name="plain", inputs=2),
    ]
    report = run(named("check", lambda output: True), named("check", lambda output: 0.5), cases=cases)
    own, plain = report.cases
    assert {name: r.value for name, r in own.assertions.items()} == {"check": True, "check_3": False}
    assert {name: r.value for name, r in own.scores.items()} == {"check_2": 0.5}
    assert set(plain.assertions) == {"check"}
    assert set(plain.scores) == {"check_2"}


def test_a_key_that_does_not_apply_is_skipped_beside_the_others_with_its_reason():
    def reply(output):
        return {"polite": True, "sql": Skipped("no SQL here"), "size": {"words": 3, "lines": {}}}

    report = run(reply, cases=[Case(inputs="a"), Case(inputs="b")])
    [case, _] = report.cases
    assert [result.name for result in case.results] == ["polite", "size.words"]
    assert [(skip.name, skip.reason, skip.evaluator) for skip in case.skipped] == [
        ("sql", "no SQL here", "reply"),
        ("size.lines", "size.lines is empty", "reply"),
    ]
    assert case.passed
    assert list(report.summaries()) == ["polite", "size.words"]
    assert Report.from_dict(report.to_dict()).cases == report.cases


def test_a_mapping_of_which_nothing_applies_is_one_skip():
    def reply(output):
        return {"sql": Skipped("no SQL"), "json": Skipped("no JSON")}

    [case] = run(reply).cases
    assert [(s.name, s.reason, s.key_of, s.evaluator) for s in case.skipped] == [
        ("reply", "no SQL; no JSON", None, "reply")
    ]


def test_a_key_that_does_not_apply_has_the_name_that_its_result_would_have():
    def one(inputs):
        return {"same": Skipped("not here") if inputs else True, "other": 1}

    def two(inputs):
        return {"same": False}

    first, second = run(one, two, cases=[Case(inputs=0), Case(inputs=1)]).cases
    assert [(r.name, r.evaluator) for r in first.results if r.name != "other"] == [
        ("one.same", "one"),
        ("two.same", "two"),
    ]
    assert [(s.name, s.evaluator) for s in second.skipped] == [("one.same", "one")]


def test_keys_of_a_mapping_give_way_to_names_of_other_evaluators():
    many = named("many", lambda output: {"single": 1, "many": 2, "free": 3})
    [case] = run(many, named("single", lambda output: 9)).cases
    assert {name: r.value for name, r in case.scores.items()} == {
        "many.single": 1,
        "many": 2,
        "free": 3,
        "single": 9,
    }
    assert all(result.name == name for name, result in case.scores.items())


def test_bare_assertions_of_one_evaluator_share_one_object():
    report = run(named("yes", lambda output: True), cases=[Case(inputs=i) for i in range(3)])
    assert len({id(case.results[0]) for case in report.cases}) == 1


def test_an_evaluator_that_forks_and_returns_does_not_double_the_run():
    script = textwrap.dedent(
        """
        import os
        from calipers import Case, Dataset

        def forks(output):
            if output == 1 and os.fork() == 0:
                return True
            return True

        report = Dataset(cases=[Case(inputs=i) for i in range(3)], evaluators=[forks]).evaluate_sync(
            lambda inputs: inputs, progress=False
        )
        print("finished", len(report.cases), flush=True)
        """
    )
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", script], capture_output=True, text=True, timeout=60
    )
    assert done.stdout == "finished 3\n", done.stderr


def test_what_an_evaluator_prints_goes_where_prints_go(capsys):
    run(named("chatty", lambda output: print("hello") is None))
    assert capsys.readouterr().out == "hello\n"


def test_a_column_means_one_evaluator_also_where_another_with_the_same_key_says_nothing():
    def first(output):
        if output == 2:
            raise ValueError("two")
        return {} if output == 3 else {"x": True}

    def second(output):
        return {"x": False}

    report = run(first, second, cases=[Case(inputs=i) for i in (1, 2, 3, 4)], max_concurrency=1)
    assert [{name: r.value for name, r in case.assertions.items()} for case in report.cases] == [
        {"first.x": True, "second.x": False},
        {"second.x": False},
        {"second.x": False},
        {"first.x": True, "second.x": False},
    ]
    assert {name: summary.evaluator for name, summary in report.summaries().items()} == {
        "first.x": "first",
        "second.x": "second",
    }
    assert report.summaries()["first.x"].estimate.n_units == 3


def test_a_version_that_is_no_text_is_kept_as_text():
    class Versioned(Evaluator):
        def evaluate(self, ctx):
            return True

        def get_evaluator_version(self):
            return 3

    report = run(Versioned())
    assert report.cases[0].results[0].evaluator_version == "3"
    assert Report.from_dict(report.to_dict()).to_dict() == report.to_dict()


def test_what_calls_itself_a_spec_and_is_none_is_refused():
    class Odd(Evaluator):
        def evaluate(self, ctx):
            return True

        def as_spec(self):
            return "odd"

    with pytest.raises(TypeError, match="must give an EvaluatorSpec, got 'odd'"):
        run(Odd())
