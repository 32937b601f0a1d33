"""Every style of evaluator: rule 1 of the house."""

import asyncio
import functools
import math
import operator
import re
import types
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

import pytest

from calipers import (
    Case,
    Dataset,
    Evaluator,
    EvaluatorContext,
    EvalVerdict,
    Skipped,
    ToolCall,
    Trace,
    as_evaluator,
    record_trace,
)
from calipers.data.evaluator_output import read_output
from calipers.data.evaluator_styles import InjectedEvaluator, RolloutEvaluator
from calipers.data.result import EvalResult, EvaluatorSpec
from calipers.errors import NotAnEvaluatorError, SpanTreeRecordingError
from calipers.spans import SpanTree

BOOK = ToolCall("book_flight", {"to": "LA"})
PAY = ToolCall("pay", {"amount": 3})


def context(output="hello", *, expected=None, trace=None, **fields):
    fields = {"name": "c", "inputs": "hi", "metadata": None, "attributes": {}, "metrics": {}, **fields}
    return EvaluatorContext(
        **fields, expected_output=expected, output=output, duration=0.5, _span_tree=None, trace=trace
    )


def judge(x, ctx=None, **kwargs):
    """What an evaluator of any style says of a context."""
    return as_evaluator(x).evaluate_sync(ctx or context(**kwargs))


def run(*evaluators, output="hello", task=None, **case):
    """The only record of a run with one case."""
    dataset = Dataset(cases=[Case(name="c", inputs="hi", **case)], evaluators=list(evaluators))
    report = dataset.evaluate_sync(task or (lambda inputs: output), progress=False)
    [record] = report.cases
    return record


def refusal(x):
    with pytest.raises(NotAnEvaluatorError) as caught:
        as_evaluator(x)
    return str(caught.value)


# ---------------------------------------------------------------------- the five styles, together


@dataclass
class Graph:
    children: list[Any] = field(default_factory=list)
    tool_calls: tuple[ToolCall, ...] = ()


@dataclass
class GraphMetrics:
    overall: dict[str, Any]
    per_turn: list[Any] = field(default_factory=list)


@dataclass
class Context(Evaluator):
    def evaluate(self, ctx: EvaluatorContext) -> bool:
        return isinstance(ctx.output, Graph)


@dataclass
class ContextAsync(Evaluator):
    async def evaluate(self, ctx: EvaluatorContext) -> bool:
        await asyncio.sleep(0)
        return isinstance(ctx.output, Graph)


class Duck:
    def evaluate(self, ctx):
        return ctx.name == "c"


class DuckAsync:
    async def evaluate(self, ctx):
        return ctx.name == "c"


@dataclass
class MatchResult:
    passed: bool
    expected: Any
    actual: Any

    def summary(self):
        return f"{len(self.actual)} of {len(self.expected)}"


class Pair:
    def evaluate(self, expected: list[ToolCall], actual: list[ToolCall]) -> MatchResult:
        return MatchResult(expected == actual, expected, actual)


class PairAsync:
    async def evaluate(self, expected, actual):
        return MatchResult(expected == actual, expected, actual)


class Verdict:
    name = "verdict"

    def evaluate(self, test_case, trace):
        return EvalResult(self.name, EvalVerdict.PARTIAL, 0.5, f"{test_case.input_text}: {trace.agent_name}")


class VerdictAsync(Verdict):
    name = "verdict-async"

    async def evaluate(self, test_case, trace):
        return super().evaluate(test_case, trace)


class Rollout:
    def compute_metrics(self, g):
        return GraphMetrics({"turns": len(g.children), "first_toxic_turn": None})

    def aggregate_metrics(self, all_metrics):
        return {"turns": sum(m.overall["turns"] for m in all_metrics)}


class RolloutAsync(Rollout):
    async def compute_metrics(self, g):
        return GraphMetrics({"depth": len(g.children)})


def function(output, expected_output):
    return len(expected_output) / 2


async def function_async(output, inputs):
    return inputs


def test_all_five_styles_sync_and_async_judge_the_same_attempt_from_one_list():
    def agent(inputs):
        record_trace(Trace(agent_name="bot", tool_calls=[BOOK]))
        return Graph(children=[1, 2, 3], tool_calls=(BOOK,))

    everything = [
        function, function_async,
        Context(), ContextAsync(), Duck(), DuckAsync(),
        Pair(), PairAsync(),
        Verdict(), VerdictAsync(),
        Rollout(), RolloutAsync(),
    ]  # fmt: skip
    record = run(*everything, task=agent, expected_output=[BOOK])
    assert record.evaluator_failures == ()
    assert record.skipped == ()
    assert {result.name: result.value for result in record.results} == {
        "function": 0.5,
        "function_async": "hi",
        "Context": True,
        "ContextAsync": True,
        "Duck": True,
        "DuckAsync": True,
        "Pair": True,
        "PairAsync": True,
        "verdict": False,
        "verdict-async": False,
        "turns": 3,
        "depth": 3,
    }
    by_name = {result.name: result for result in record.results}
    assert by_name["Pair"].reason == "1 of 1"
    assert isinstance(by_name["Pair"].original, MatchResult)
    assert by_name["verdict"].verdict is EvalVerdict.PARTIAL
    assert (by_name["verdict"].score, by_name["verdict"].reason) == (0.5, "hi: bot")
    assert by_name["turns"].evaluator == "Rollout"
    assert isinstance(by_name["turns"].original, GraphMetrics)


def test_what_is_an_evaluator_already_stays_what_it_is():
    evaluator = Context()
    assert as_evaluator(evaluator) is evaluator
    adapted = as_evaluator(function)
    assert as_evaluator(adapted) is adapted
    metric = as_evaluator(Rollout())
    assert as_evaluator(metric) is metric


# ---------------------------------------------------------------------- functions and callables


class Checks:
    def __init__(self, word="hello"):
        self.word = word

    def method(self, output):
        return output == self.word

    @classmethod
    def on_class(cls, output):
        return output == "hello"

    @staticmethod
    def static(output):
        return output == "hello"

    def __call__(self, output):
        return output == self.word


class AsyncCall:
    async def __call__(self, output):
        return output == "hello"


def with_threshold(threshold, output):
    return len(output) > threshold


def keyword_only(*, output, expected_output="hello"):
    return output == expected_output


def positional_only(output, expected_output="hello", /):
    return output == expected_output


def variadic(output, *args, **kwargs):
    return output == "hello" and not args and not kwargs


def unknown_default(output, threshold=3, *, strict=True, inputs):
    return len(output) > threshold and strict and inputs == "hi"


def logged(function):
    @functools.wraps(function)
    def inner(*args, **kwargs):
        return function(*args, **kwargs)

    return inner


def by_position_only(function):
    @functools.wraps(function)
    def inner(*args):
        return function(*args)

    return inner


@logged
def decorated(output):
    return output == "hello"


@by_position_only
def decorated_by_position(output, inputs):
    return output == "hello" and inputs == "hi"


@functools.cache
def cached(output):
    return output == "hello"


@pytest.mark.parametrize(
    ("x", "name"),
    [
        (lambda output: output == "hello", "function"),
        (lambda ctx: ctx.output == "hello", "function"),
        (Checks().method, "method"),
        (Checks.on_class, "on_class"),
        (Checks.static, "static"),
        (Checks(), "Checks"),
        (AsyncCall(), "AsyncCall"),
        (functools.partial(with_threshold, 3), "with_threshold"),
        (functools.partial(with_threshold, threshold=3), "with_threshold"),
        (functools.partial(functools.partial(with_threshold, threshold=99), threshold=3), "with_threshold"),
        (keyword_only, "keyword_only"),
        (positional_only, "positional_only"),
        (variadic, "variadic"),
        (unknown_default, "unknown_default"),
        (decorated, "decorated"),
        (decorated_by_position, "decorated_by_position"),
        (cached, "cached"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_any_callable_with_known_parameter_names_is_an_evaluator(x, name):
    assert judge(x) is True
    assert as_evaluator(x).get_default_evaluation_name() == name


def test_a_parameter_may_ask_for_anything_a_context_holds():
    def everything(
        ctx, context, output, inputs, metadata, name, duration, metrics, attributes, results, seed, case
    ):
        return {
            "same": ctx is context,
            "seen": (output, inputs, metadata, name, duration, metrics, attributes, results, seed)
            == ("hello", "hi", {"m": 1}, "c", 0.5, {"n": 2}, {"a": 3}, {}, None),
            "case": case is ctx,  # a context built by hand stands in for the case it does not have
        }

    ctx = context(metadata={"m": 1}, metrics={"n": 2}, attributes={"a": 3})
    assert judge(everything, ctx) == {"same": True, "seen": True, "case": True}


def test_in_a_run_the_case_and_its_seed_are_there():
    def look(case, test_case, seed, ctx):
        return case is test_case is ctx.case and case.name == "c" and seed == ctx.seed is not None

    assert run(look).passed


def test_a_default_is_used_where_the_attempt_has_nothing_and_gives_way_where_it_has():
    def check(
        expected_output="fallback", trace="none", tool_calls=(), graph="no graph", span_tree="no spans"
    ):
        return f"{expected_output} {trace} {list(tool_calls)} {graph} {span_tree}"

    assert judge(check) == "fallback none [] no graph no spans"
    assert judge(check, expected="stated").startswith("stated none")
    assert as_evaluator(check).needs_spans is False


def test_spans_that_were_recorded_are_given_even_to_a_parameter_with_a_default():
    ctx = context()
    ctx._span_tree = SpanTree([])
    assert judge(lambda span_tree=None: span_tree is ctx._span_tree, ctx) is True


def test_positional_only_parameters_keep_their_places_when_one_has_nothing_to_hold():
    def check(trace="no trace", threshold=3, output="no output", /):
        return f"{trace}, {threshold}, {output}"

    assert judge(check) == "no trace, 3, hello"


def test_what_a_partial_has_bound_stays_bound_even_if_the_attempt_has_it_too():
    def check(output, expected_output, metadata=None):
        return output == expected_output and metadata == "mine"

    bound = functools.partial(check, expected_output="hello", metadata="mine")
    assert judge(bound, expected="something else", metadata="theirs") is True


# ---------------------------------------------------------------------- objects


@pytest.mark.parametrize(
    "evaluate",
    [
        lambda self, ctx: ctx.output,
        lambda self, c: c.output,
        lambda self, c=None: c.output,
        lambda self, c, /: c.output,
        lambda self, *, c: c.output,
        lambda self, c, threshold=3: c.output,
        lambda self, c, *args, output=None, **kwargs: c.output if c.output == output else "",
        lambda self, output: output,
        lambda self, *, output, inputs: output if inputs == "hi" else "",
    ],
)
def test_an_evaluate_method_takes_the_context_under_any_name_or_parts_of_it_by_theirs(evaluate):
    duck = type("Thing", (), {"evaluate": evaluate})()
    assert judge(duck) == "hello"
    assert as_evaluator(duck).get_default_evaluation_name() == "Thing"


def test_a_module_or_namespace_with_an_evaluate_function_is_an_evaluator():
    module = types.ModuleType("my_checks")
    module.evaluate = lambda ctx: ctx.output == "hello"
    assert judge(module) is True
    assert judge(types.SimpleNamespace(evaluate=lambda output: output == "hello")) is True


# ---------------------------------------------------------------------- what an attempt may lack


@pytest.mark.parametrize(
    ("x", "reason"),
    [
        (lambda expected_output: True, "no expected output"),
        (lambda trace: True, "no trace"),
        (lambda tool_calls: True, "no tool call was recorded"),
        (lambda graph: True, "no rollout"),
        (lambda expected, actual: True, "no expected output"),
        (Pair(), "no expected output"),
        (PairAsync(), "no expected output"),
        (Verdict(), "no trace"),
        (VerdictAsync(), "no trace"),
        (Rollout(), "no rollout"),
        (RolloutAsync(), "no rollout"),
    ],
)
def test_what_a_required_parameter_lacks_is_a_skip_with_the_reason_and_never_a_pass(x, reason):
    skipped = judge(x)
    assert isinstance(skipped, Skipped)
    assert reason in skipped.reason
    record = run(x)
    assert record.results == ()
    assert [reason in skip.reason for skip in record.skipped] == [True]
    assert record.passed is None


def test_who_lacks_a_trace_is_told_how_to_get_one():
    reason = judge(Verdict()).reason
    for way_out in re.findall(r"calipers\.agents\.\w+", reason):
        home, _, name = way_out.rpartition(".")
        assert hasattr(import_module(home), name), f"{way_out} is not there"
    assert "FunctionAdapter" in reason
    assert "TraceRecorder" in reason


def test_an_expectation_of_none_is_an_expectation():
    assert run(
        lambda output, expected_output: output is expected_output, output=None, expected_output=None
    ).passed
    [skip] = run(lambda output, expected_output: True, output=None).skipped
    assert "no expected output" in skip.reason


def test_spans_that_are_insisted_on_and_missing_are_a_failure():
    check = as_evaluator(lambda span_tree: True)
    assert check.needs_spans is True
    with pytest.raises(SpanTreeRecordingError):
        check.evaluate(context())


def test_an_output_that_is_a_skip_itself_is_an_output_like_any_other():
    assert run(lambda output: output.reason == "mine", output=Skipped("mine")).passed


# ---------------------------------------------------------------------- expected and actual


class Responds:
    """An agent's answer that lists its tool calls."""

    def __init__(self, *calls):
        self.tool_calls = list(calls)


@pytest.mark.parametrize(
    ("output", "expected", "seen"),
    [
        # The case expects tool calls: the attempt's are compared with them, wherever they stand.
        ([BOOK], [BOOK], ([BOOK], [BOOK])),
        ((BOOK,), (BOOK,), ([BOOK], [BOOK])),
        (Responds(BOOK, PAY), [BOOK], ([BOOK], [BOOK, PAY])),
        ({"tool_calls": [PAY]}, [BOOK], ([BOOK], [PAY])),
        ({"tool_calls": []}, [BOOK], ([BOOK], [])),
        # An agent that called nothing is judged like any other.
        ([], [BOOK], ([BOOK], [])),
        (Responds(), [BOOK], ([BOOK], [])),
        (Trace(output_text="no", tool_calls=[]), [BOOK], ([BOOK], [])),
        (Trace(tool_calls=(PAY,)), [BOOK], ([BOOK], [PAY])),
        # The case expects that none is called.
        ([], [], ([], [])),
        ([PAY], [], ([], [PAY])),
        (Trace(tool_calls=(PAY,)), [], ([], [PAY])),
        # It expects something else: like is compared with like.
        ("sunny", "sunny", ("sunny", "sunny")),
        (Trace(output_text="sunny", tool_calls=(PAY,)), "sunny", ("sunny", "sunny")),
        (["a"], ["a", "b"], (["a", "b"], ["a"])),
        (["a"], [], ([], ["a"])),
        ((1, 2), (1, 2), ((1, 2), (1, 2))),
        (None, None, (None, None)),
    ],
)
def test_expected_and_actual_speak_of_the_same_kind_of_thing(output, expected, seen):
    found = []

    class Sees:
        def evaluate(self, expected, actual):
            found.append((expected, actual))
            return True

    assert run(Sees(), output=output, expected_output=expected).passed
    assert found == [seen]


def test_tool_calls_that_were_returned_are_compared_rather_than_those_of_a_recorded_trace():
    def agent(inputs):
        record_trace(Trace(tool_calls=[PAY]))
        return [BOOK]

    assert run(Pair(), task=agent, expected_output=[BOOK]).passed


def test_a_case_that_expects_tool_calls_skips_an_attempt_that_does_not_tell_its_own():
    [skip] = run(Pair(), output="I booked it", expected_output=[BOOK]).skipped
    assert "no tool call was recorded" in skip.reason
    for expected in ([BOOK], []):
        [skip] = run(Pair(), output=Trace(output_text="I booked it"), expected_output=expected).skipped
        assert "nothing shows that one would have been" in skip.reason


def test_actual_alone_needs_no_expectation():
    assert judge(lambda actual: actual == "hello") is True
    assert judge(lambda actual: actual == [BOOK], output=[BOOK]) is True
    assert judge(lambda actual: actual == [BOOK], output=Responds(BOOK)) is True


def test_tool_calls_are_found_in_a_trace_an_answer_or_a_list():
    for output in ([BOOK], (BOOK,), Responds(BOOK), {"tool_calls": (BOOK,)}, Trace(tool_calls=[BOOK])):
        assert run(lambda tool_calls: tool_calls == [BOOK], output=output).passed, output


def test_a_verdict_evaluator_works_over_a_task_that_returns_a_trace():
    record = run(Verdict(), VerdictAsync(), output=Trace(agent_name="bot", output_text="sunny"))
    assert [result.reason for result in record.results] == ["hi: bot", "hi: bot"]
    assert record.output == "sunny"


# ---------------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("x", "hint"),
    [
        (lambda outputs: True, "asks for 'outputs' (did you mean 'output'?)"),
        (lambda inptus: True, "(did you mean 'inputs'?)"),
        (lambda expected_ouput: True, "(did you mean 'expected_output'?)"),
        (lambda o: True, "asks for 'o', which no attempt has"),
        (lambda output, threshold: True, "asks for 'threshold'"),
        (lambda: True, "takes none of the things an evaluator can look at"),
        (lambda *args: True, "takes none of the things"),
        (lambda **kwargs: True, "takes none of the things"),
        (lambda threshold=3: True, "takes none of the things"),
        (functools.partial(Checks(), output="bound"), "takes none of the things"),
        (Checks.method, "asks for 'self' (is it a method? Take it from an object"),
        (len, "asks for 'obj'"),
        (operator.eq, "asks for 'a'"),
        (max, "does not tell its parameters"),
        (print, "takes none of the things"),
        (Context, "Context is a class, not an evaluator: make one with Context(...)"),
        (Duck, "make one with Duck(...)"),
        (Rollout, "make one with Rollout(...)"),
        (Checks, "make one with Checks(...)"),
        (int, "int is a class, and its objects are no evaluators either"),
        (ValueError, "its objects are no evaluators either"),
        (None, "None is not an evaluator: it has no evaluate method and cannot be called.\n"),
        (3, "3 is not an evaluator"),
        ("ExactMatch", "'ExactMatch' is not an evaluator"),
        (Graph(), "is not an evaluator"),
        (Case(inputs=1), "is not an evaluator"),
        ({"evaluate": function}, "is not an evaluator"),
        ([function], "is not an evaluator"),
        (types.SimpleNamespace(evaluate=3), "is not an evaluator"),
        (types.SimpleNamespace(evaluate=lambda ctx, other: 1), "asks for 'other'"),
        (types.SimpleNamespace(evaluate=lambda exp, act: 1), "asks for 'exp'"),
    ],
)
def test_what_is_no_evaluator_is_refused_and_the_accepted_shapes_are_named(x, hint):
    text = refusal(x)
    assert hint in text
    if "make one with" not in text:
        assert "Calipers accepts:\n  1." in text
        assert "  5. a rollout metric" in text


def test_the_refusal_names_the_methods_that_were_found():
    class HalfARollout:
        def compute_metrics(self, g): ...

        def other(self): ...

    assert "it has compute_metrics, other" in refusal(HalfARollout())
    assert "(it has" not in refusal("a string")


def test_an_object_whose_repr_fails_or_is_endless_is_refused_all_the_same():
    class Broken:
        def __repr__(self):
            raise RuntimeError

    assert "Broken" in refusal(Broken())
    assert len(refusal("x" * 10**6)) < 2000


@pytest.mark.parametrize("name", ["", None, 3])
def test_a_name_for_results_is_a_non_empty_string(name):
    class Named(Duck):
        def get_default_evaluation_name(self):
            return name

    assert "need a non-empty string as their name" in refusal(Named())
    if name is not None:
        with pytest.raises(NotAnEvaluatorError, match="non-empty string"):
            as_evaluator(function, name=name)


# ---------------------------------------------------------------------- names, specs, versions


@dataclass
class Near:
    tolerance: float = 0.1
    name: str = ""
    seen: list[Any] = field(default_factory=list, init=False)

    def evaluate(self, expected, actual):
        return math.isclose(expected, actual, abs_tol=self.tolerance)

    def get_evaluator_version(self):
        return 2


def test_a_given_name_wins_over_what_the_evaluator_says():
    for x in (function, Context(), Duck(), Pair(), Verdict(), Rollout(), as_evaluator(Rollout())):
        assert as_evaluator(x, name="mine").get_default_evaluation_name() == "mine"
    assert isinstance(as_evaluator(as_evaluator(Rollout()), name="mine"), RolloutEvaluator)
    assert judge(as_evaluator(Context(), name="mine"), output=Graph()) is True


def test_names_come_from_the_object_else_its_class_or_function():
    assert as_evaluator(Near(name="close")).get_default_evaluation_name() == "close"
    assert as_evaluator(Near()).get_default_evaluation_name() == "Near"
    duck = Duck()
    duck.evaluation_name = "ducky"
    duck.name = "less"
    assert as_evaluator(duck).get_default_evaluation_name() == "ducky"
    duck.get_default_evaluation_name = lambda: "most"
    assert as_evaluator(duck).get_default_evaluation_name() == "most"


@pytest.mark.parametrize(
    ("x", "spec"),
    [
        (function, EvaluatorSpec("function")),
        (Near(), EvaluatorSpec("Near")),
        (Near(tolerance=0.5), EvaluatorSpec("Near", {"tolerance": 0.5})),
        (functools.partial(with_threshold, 3), EvaluatorSpec("with_threshold", {"threshold": 3})),
        (functools.partial(with_threshold, threshold=3), EvaluatorSpec("with_threshold", {"threshold": 3})),
        (Rollout(), EvaluatorSpec("Rollout")),
        (as_evaluator(Context(), name="mine"), EvaluatorSpec("Context")),
    ],
)
def test_a_spec_tells_what_was_adapted_and_with_which_arguments(x, spec):
    assert as_evaluator(x).as_spec() == spec


def test_a_version_is_kept_as_text():
    assert as_evaluator(Near()).get_evaluator_version() == "2"
    assert as_evaluator(function).get_evaluator_version() is None
    [result] = run(Near(), output=1.0, expected_output=1.05).results
    assert result.evaluator_version == "2"


def test_the_repr_shows_what_was_adapted():
    assert repr(as_evaluator(Near())) == f"as_evaluator({Near()!r})"
    assert isinstance(as_evaluator(Near()), InjectedEvaluator)


def test_a_rollout_metric_still_aggregates():
    metrics = [GraphMetrics({"turns": 2}), GraphMetrics({"turns": 3})]
    assert as_evaluator(Rollout()).aggregate(metrics) == {"turns": 5}
    assert read_output(as_evaluator(Rollout()).evaluate(context(Graph([1]))))[0].value == 1


def test_asking_for_spans_on_the_object_turns_recording_on():
    class WantsSpans(Duck):
        needs_spans = True

    assert as_evaluator(WantsSpans()).needs_spans is True
    assert as_evaluator(lambda span_tree: True).needs_spans is True
    assert as_evaluator(Duck()).needs_spans is False


def test_a_subclass_is_read_by_its_parameters_like_any_other_object():
    class ByName(Evaluator):
        def evaluate(self, output, expected_output):
            return output == expected_output

    class OneName(Evaluator):
        def evaluate(self, output):
            return output != "bad"

    class AnyName(Evaluator):
        def evaluate(self, whatever):
            return whatever.output == "bad"

    cases = [Case(inputs=1, expected_output="bad")]
    report = Dataset(cases=cases, evaluators=[ByName(), OneName(), AnyName()]).evaluate_sync(
        lambda inputs: "bad", progress=False
    )
    values = {name: result.value for name, result in report.cases[0].assertions.items()}
    assert values == {"ByName": True, "OneName": False, "AnyName": True}


def test_a_subclass_of_no_usable_signature_is_refused_when_the_dataset_is_made():
    class Nothing(Evaluator):
        def evaluate(self):
            return True

    class Extra(Evaluator):
        def evaluate(self, ctx, extra):
            return True

    for wrong in (Nothing(), Extra()):
        with pytest.raises(NotAnEvaluatorError):
            Dataset(cases=[], evaluators=[wrong])
