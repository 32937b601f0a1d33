"""Each evaluator judges the attempt as the task left it, whatever those before it did to what they were given."""

import asyncio
import dataclasses
import enum
import itertools
import operator
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calipers import Case, Dataset, ToolCall
from calipers.data.attempt import increment_eval_metric, set_eval_attribute
from calipers.data.context import EvaluatorContext
from calipers.data.evaluator import Evaluator
from calipers.data.trace import LLMCall, Trace
from calipers.scoring.evidence import evidence

FIELDS = ("inputs", "metadata", "expected_output", "output", "attributes", "metrics")


def fresh():
    return {"inputs": {"n": [1]}, "metadata": {"m": 1}, "expected_output": [3, 1], "output": [3, 1, {"k": 2}]}


def seen(ctx):
    return {name: repr(getattr(ctx, name)) for name in FIELDS}


class Spoils(Evaluator):
    """Changes everything it can reach, by binding it anew or in place."""

    def __init__(self, how):
        self.how = how

    def evaluate(self, ctx):
        for name in FIELDS:
            if self.how == "bind":
                setattr(ctx, name, "spoilt")
                continue
            value = getattr(ctx, name)
            value.clear()
            value.update({"spoilt": 1}) if isinstance(value, dict) else value.append("spoilt")
        return True


class SpoilsLater(Spoils):
    async def evaluate(self, ctx):
        super().evaluate(ctx)
        await asyncio.sleep(0)
        return True


class Looks(Evaluator):
    def __init__(self, found):
        self.found = found

    def evaluate(self, ctx):
        self.found.append(seen(ctx))
        return True


class LooksLater(Looks):
    async def evaluate(self, ctx):
        await asyncio.sleep(0)
        self.found.append(seen(ctx))
        return True


def task(inputs):
    increment_eval_metric("tokens", 3)
    set_eval_attribute("model", "small")
    return fresh()["output"]


@pytest.mark.parametrize("how", ["bind", "in place"])
def test_no_evaluator_changes_what_others_judge_or_what_is_reported(how, tmp_path):
    given = fresh()
    for spoils, looks, timeout, store in itertools.product(
        (Spoils, SpoilsLater), (Looks, LooksLater), (None, 10), (None, tmp_path / "runs.db")
    ):
        found = []
        case = Case(name="one", **{name: fresh()[name] for name in ("inputs", "metadata", "expected_output")})
        judges = [looks(found), spoils(how), spoils(how), looks(found), looks(found)]
        report = Dataset(cases=[case], evaluators=judges).evaluate_sync(
            task, progress=False, store=store, evaluator_timeout=timeout
        )
        about = (spoils, looks, timeout, store)
        expected = {**{name: repr(value) for name, value in given.items()}}
        expected |= {"attributes": "{'model': 'small'}", "metrics": "{'tokens': 3}"}
        assert found == [expected] * 3, about
        [record] = report.cases
        assert record.passed, about
        assert seen(record) == expected, about
        assert (case.inputs, case.metadata) == (given["inputs"], given["metadata"]), about


def test_what_was_empty_is_empty_for_everyone(tmp_path):
    class Adds(Evaluator):
        def evaluate(self, ctx):
            ctx.metrics["tokens"] = ctx.attributes["model"] = 1
            return True

    class AddsLater(Adds):
        async def evaluate(self, ctx):
            await asyncio.sleep(0)
            return super().evaluate(ctx)

    for timeout in (None, 10):
        found = []
        judges = [Adds(), AddsLater(), AddsLater(), Adds(), Looks(found)]
        report = Dataset(cases=[Case(inputs=1)], evaluators=judges).evaluate_sync(
            lambda inputs: inputs, progress=False, evaluator_timeout=timeout
        )
        assert (found[0]["metrics"], found[0]["attributes"]) == ("{}", "{}")
        assert (report.cases[0].metrics, report.cases[0].attributes) == ({}, {})


def pays(inputs):
    call = ToolCall("pay", {"amount": 100, "to": ["ann"]}, output={"id": 7})
    asked = LLMCall(model="small", metadata={"region": "eu"})
    return Trace(output_text="ok", tool_calls=[call], llm_calls=[asked], metadata={"k": [1]})


def told(trace, expected):
    made = [(call.name, call.arguments, call.output, call.success) for call in trace.tool_calls]
    assert [turn.tool_call for turn in trace.turns if turn.tool_call] == list(trace.tool_calls)
    return repr((made, [call.metadata for call in trace.llm_calls], trace.metadata, expected))


class SpoilsCalls(Evaluator):
    """Changes the calls that were made and those that were expected."""

    def evaluate(self, ctx):
        [call] = ctx.tool_calls
        call.arguments["to"].append("bob")
        call.arguments = {"amount": 1}
        call.name, call.success = "refund", False
        call.output.clear()
        ctx.trace.llm_calls[0].metadata["region"] = "us"
        ctx.trace.metadata["k"].append(2)
        ctx.expected_tool_calls[0].arguments.clear()
        ctx.expected_tool_calls.pop()
        return not ctx.expected_tool_calls and ctx.tool_calls[0].name == "refund"


class SpoilsCallsLater(SpoilsCalls):
    async def evaluate(self, ctx):
        await asyncio.sleep(0)
        return super().evaluate(ctx)


class LooksAtCalls(Looks):
    def evaluate(self, ctx):
        self.found.append(told(ctx.trace, ctx.expected_tool_calls))
        return True


class LooksAtCallsLater(LooksAtCalls):
    async def evaluate(self, ctx):
        await asyncio.sleep(0)
        return super().evaluate(ctx)


def test_no_evaluator_changes_the_calls_of_the_trace_or_those_of_the_case():
    for spoils, looks, timeout in itertools.product(
        (SpoilsCalls, SpoilsCallsLater), (LooksAtCalls, LooksAtCallsLater), (None, 10)
    ):
        found = []
        case = Case(name="one", inputs=1, expected_tool_calls=[ToolCall("pay", {"amount": 100})])
        before = told(pays(1), case.expected_tool_calls)
        judges = [looks(found), spoils(), spoils(), looks(found), looks(found)]
        report = Dataset(cases=[case], evaluators=judges).evaluate_sync(
            pays, progress=False, evaluator_timeout=timeout, repeat=2
        )
        about = (spoils, looks, timeout)
        assert found == [before] * 6, about
        for record in report.cases:
            assert record.passed, (about, record.evaluator_failures)
            assert told(record.trace, case.expected_tool_calls) == before, about
            assert record.expected_tool_calls == report.cases[0].expected_tool_calls != [], about


def test_an_object_among_the_arguments_of_a_call_stays_the_same_object():
    session = object()

    async def same(ctx: EvaluatorContext):
        await asyncio.sleep(0)
        return ctx.tool_calls == ctx.expected_tool_calls and ctx.tool_calls[0].arguments["session"] is session

    case = Case(inputs=1, expected_tool_calls=[ToolCall("pay", {"session": session})])
    report = Dataset(cases=[case], evaluators=[same, same]).evaluate_sync(
        lambda inputs: Trace(tool_calls=[ToolCall("pay", {"session": session})]), progress=False
    )
    assert [result.value for result in report.cases[0].results] == [True, True]


async def add_and_count(ctx):
    await asyncio.sleep(0)
    ctx.output.append("!")
    ctx.metrics["added"] = 1
    return len(ctx.output)


class ReturnsACoroutine(Evaluator):
    def evaluate(self, ctx):
        return add_and_count(ctx)


class ReturnsATask(Evaluator):
    def evaluate(self, ctx):
        return asyncio.ensure_future(add_and_count(ctx))


class ChangesBeforeItReturnsACoroutine(ReturnsACoroutine):
    def evaluate(self, ctx):
        ctx.output.clear()
        return super().evaluate(ctx)


def counts_output_later(output):
    async def later():
        await asyncio.sleep(0)
        output.append("!")
        return len(output)

    return later()


def test_an_evaluator_that_is_no_async_function_but_has_to_be_waited_for_has_data_of_its_own():
    for judge, expected in (
        (ReturnsACoroutine(), 2),
        (ReturnsATask(), 2),
        (ChangesBeforeItReturnsACoroutine(), 1),
        (counts_output_later, 2),
    ):
        cases = [Case(name=str(number), inputs=number) for number in range(3)]
        report = Dataset(cases=cases, evaluators=[judge] * 3).evaluate_sync(
            lambda inputs: ["a"], progress=False
        )
        for case in report.cases:
            assert not case.evaluator_failures, judge
            assert [result.value for result in case.results] == [expected] * 3, judge
            assert (case.output, case.metrics) == (["a"], {}), judge


@dataclasses.dataclass
class Answer:
    text: str


def lowers(output):
    output.text = output.text.lower()
    return True


async def lowers_later(output):
    await asyncio.sleep(0)
    return lowers(output)


def shouts(output):
    return output.text.isupper()


@pytest.mark.parametrize("bad", [lowers, lowers_later])
def test_who_changes_an_object_that_cannot_be_put_back_fails_and_those_after_it_are_not_asked(bad, tmp_path):
    for store in (None, tmp_path / "runs.db"):
        report = Dataset(cases=[Case(inputs="HI")], evaluators=[shouts, bad, shouts]).evaluate_sync(
            Answer, progress=False, store=store
        )
        [case] = report.cases
        assert [result.name for result in case.results][:1] == ["shouts"]
        failures = {failure.name: failure.error_message for failure in case.evaluator_failures}
        assert "changed the output in place" in failures[bad.__name__]
        if bad is lowers:
            assert "not asked: lowers changed the output in place before" in failures["shouts_2"]
        assert case.passed is False


@dataclasses.dataclass(frozen=True)
class Sound:
    data: Any


class Level(enum.Enum):
    LOUD = 3


def takes_away(ctx: EvaluatorContext):
    ctx.attributes.clear()
    ctx.output["heard"].pop()
    return True


async def takes_away_later(ctx: EvaluatorContext):
    await asyncio.sleep(0)
    return takes_away(ctx)


def test_an_object_in_which_nothing_can_change_is_put_back_and_stays_the_same_object():
    found = (Sound(b"a"), Sound((1, Level.LOUD)), datetime(2026, 1, 1, tzinfo=UTC), Level.LOUD)

    def listens(inputs):
        set_eval_attribute("sound", found[0])
        return {"heard": list(found)}

    def same(ctx: EvaluatorContext):
        return ctx.attributes["sound"] is found[0] and all(map(operator.is_, ctx.output["heard"], found))

    for bad, timeout in itertools.product((takes_away, takes_away_later), (None, 10)):
        report = Dataset(cases=[Case(inputs=1)], evaluators=[same, bad, same]).evaluate_sync(
            listens, progress=False, evaluator_timeout=timeout
        )
        [case] = report.cases
        assert case.passed, (bad, timeout, case.evaluator_failures)
        assert case.output["heard"] == list(found)


def test_a_frozen_object_that_holds_a_list_is_watched():
    def adds(output):
        output.data.append(1)
        return True

    report = Dataset(cases=[Case(inputs=1)], evaluators=[adds]).evaluate_sync(
        lambda inputs: Sound([]), progress=False
    )
    assert "changed the output in place" in report.cases[0].evaluator_failures[0].error_message


class Restless:
    """Never says the same twice."""

    count = 0

    def __repr__(self):
        Restless.count += 1
        return f"<{Restless.count}>"


def test_an_object_that_never_says_the_same_twice_is_not_held_against_its_evaluators():
    report = Dataset(cases=[Case(inputs=1)], evaluators=[lambda output: True]).evaluate_sync(
        lambda inputs: [Restless()], progress=False
    )
    assert report.cases[0].passed


def test_what_cannot_change_is_not_watched():
    fixed = dict.fromkeys(("name", "inputs", "metadata", "expected_output", "output"), "text")
    plain = EvaluatorContext(**fixed, duration=0.0, _span_tree=None, attributes={}, metrics={})
    assert evidence(plain) is None


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=60)
@given(before=st.lists(_JSON) | st.dictionaries(st.text(max_size=2), _JSON), after=st.lists(_JSON))
def test_plain_data_is_put_back_whatever_it_was_changed_to(before, after):
    ctx = EvaluatorContext(
        name="",
        inputs=None,
        metadata=None,
        expected_output=None,
        output=before,
        duration=0.0,
        _span_tree=None,
        attributes={},
        metrics={},
    )
    told = repr(before)
    watched = evidence(ctx)
    if isinstance(before, list):
        before[:] = after
    else:
        before.clear()
        before.update({str(place): each for place, each in enumerate(after)})
    if watched.has_changed():
        assert watched.put_back("bad") is None
    assert repr(before) == told


def test_half_of_a_character_is_judged_and_put_back_like_any_other_text():
    half = "\ud83d"  # a model's answer may be cut inside an emoji

    def spoils(output):
        output["said"] = ""
        return True

    report = Dataset(
        name="halves",
        cases=[Case(name="half", inputs={"said": half})],
        evaluators=[spoils, lambda output: output == {"said": half}],
    ).evaluate_sync(lambda inputs: dict(inputs), progress=False)
    assert [case.passed for case in report.cases] == [True]
