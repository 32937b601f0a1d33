"""One judgement, and the ways of not making one."""

import math

import httpx
import openai
import pytest

from calipers import Case, Dataset, EvaluationReason, EvaluationResult, EvalVerdict, Retry
from calipers.data.result import EvalResult, EvaluatorSpec, describe_error, kind_of
from calipers.errors import InvalidOutputError


def result(value):
    return EvaluationResult(name="x", value=value, evaluator="x", source=EvaluatorSpec("X"))


@pytest.mark.parametrize(
    ("value", "kind"),
    [(True, "assertion"), (False, "assertion"), (0, "score"), (1, "score"), (0.0, "score"), ("", "label")],
)
def test_the_type_of_a_value_says_what_kind_of_claim_it_is(value, kind):
    assert kind_of(value) == kind
    assert result(value).kind == kind


@pytest.mark.parametrize(
    ("value", "types", "found"),
    [
        (True, (bool,), True),
        (True, (int,), False),
        (True, (int, float), False),
        (True, (int, bool), True),
        (3, (int,), True),
        (3, (float,), False),
        (3, (bool,), False),
        (0.5, (int, float), True),
        ("a", (str,), True),
        ("a", (), False),
    ],
)
def test_downcast_gives_the_result_if_its_value_is_of_a_type_and_a_bool_is_never_a_number(
    value, types, found
):
    one = result(value)
    assert one.downcast(*types) is (one if found else None)


def test_a_result_cannot_be_changed():
    with pytest.raises(AttributeError):
        result(True).value = False
    with pytest.raises(AttributeError):
        EvaluationReason(True).value = False


def test_a_reason_is_given_by_position_or_by_name():
    assert EvaluationReason(False, "r") == EvaluationReason(value=False, reason="r")
    assert EvaluationReason(False).reason is None


def test_verdicts_are_their_words():
    assert [verdict.value for verdict in EvalVerdict] == ["pass", "partial", "fail", "error", "skip"]
    assert EvalVerdict("pass") is EvalVerdict.PASS
    assert f"{EvalVerdict.FAIL}" == "fail"


class Speechless(Exception):
    def __str__(self):
        raise RuntimeError("no text")


def test_an_error_is_described_by_type_text_and_traceback():
    try:
        int("x")
    except ValueError as error:
        kind, message, stack = describe_error(error)
    assert kind == "ValueError"
    assert message == "ValueError: invalid literal for int() with base 10: 'x'"
    assert 'int("x")' in stack
    assert stack.rstrip().endswith(message)


def test_causes_notes_and_groups_are_in_the_traceback():
    try:
        try:
            raise KeyError("inner")
        except KeyError as inner:
            outer = ExceptionGroup("several", [ValueError("a"), OSError("b")])
            outer.add_note("look here")
            raise outer from inner
    except ExceptionGroup as error:
        _, message, stack = describe_error(error)
    assert message == "ExceptionGroup: several (2 sub-exceptions)"
    assert all(part in stack for part in ("KeyError: 'inner'", "ValueError: a", "OSError: b", "look here"))


def test_an_error_whose_own_text_fails_is_described_all_the_same():
    kind, message, stack = describe_error(Speechless())
    assert kind == "Speechless"
    assert message == "Speechless: (the error's own text could not be read)"
    assert "Speechless" in stack


class Closed(Exception):
    def __getattribute__(self, name):
        raise RuntimeError("no attributes here")


def test_an_error_whose_attributes_cannot_be_read_is_described_all_the_same():
    kind, message, stack = describe_error(Closed("busy"))
    assert (kind, message, stack) == ("Closed", "Closed: busy", "Closed: busy")


def fail_on_1(inputs):
    if inputs == 1:
        raise Closed("busy")
    return inputs


async def fail_on_1_async(inputs):
    return fail_on_1(inputs)


def judge(output):
    return fail_on_1(output - 1) != 5


async def judge_async(output):
    return judge(output)


@pytest.mark.parametrize("retry", [None, Retry(attempts=2, backoff=0)])
@pytest.mark.parametrize("task", [fail_on_1, fail_on_1_async])
def test_an_error_whose_attributes_cannot_be_read_is_a_failure_and_the_run_goes_on(task, retry):
    cases = [Case(name=str(number), inputs=number) for number in range(4)]
    report = Dataset(cases=cases, evaluators=[judge, judge_async]).evaluate_sync(
        task, progress=False, retry=retry, retry_evaluators=retry
    )
    assert [(failure.name, failure.error_message) for failure in report.failures] == [("1", "Closed: busy")]
    failed = {case.name: [each.error_message for each in case.evaluator_failures] for case in report.cases}
    assert failed == {"0": [], "2": ["Closed: busy"] * 2, "3": []}


def came_from(error, cause, *, silent=False):
    try:
        try:
            raise cause
        except type(cause) as inner:
            raise error from (None if silent else inner)
    except type(error) as outer:
        return outer


BOUND = RuntimeError("<asyncio.locks.Event object> is bound to a different event loop")


@pytest.mark.parametrize(
    "error",
    [
        BOUND,
        RuntimeError("Task <Task> got Future <Future> attached to a different loop"),
        RuntimeError("Event loop is closed"),
        ValueError("The future belongs to a different loop than the one specified as the loop argument"),
        came_from(openai.APIConnectionError(request=httpx.Request("POST", "http://x")), BOUND),
        came_from(ConnectionError("Connection error."), BOUND, silent=True),
        came_from(OSError("outer"), came_from(ConnectionError("Connection error."), BOUND)),
        ExceptionGroup("several", [KeyError("a"), ExceptionGroup("inner", [BOUND])]),
    ],
    ids=lambda error: type(error).__name__,
)
def test_an_error_of_two_event_loops_is_described_as_one_with_the_way_out(error):
    kind, message, stack = describe_error(error)
    assert kind == "OtherLoopError"
    assert message.startswith(
        "OtherLoopError: it uses a client or lock that was first used on another event loop, and a client keeps connections of both: make"
    )
    assert "in pytest, if a fixture made it, make the test async, on the fixture's loop" in message
    assert type(error).__name__ in stack
    assert not Retry(attempts=5).again(error, 1)


@pytest.mark.parametrize(
    "error",
    [RuntimeError("the loop"), KeyError("Event loop is closed"), RuntimeError(3), Speechless()],
    ids=repr,
)
def test_other_errors_are_described_as_themselves(error):
    assert describe_error(error)[0] == type(error).__name__


@pytest.mark.parametrize("score", [1.7, -0.1, math.nan, math.inf, True, "1", None, [1]], ids=repr)
def test_the_score_of_a_verdict_is_from_0_to_1(score):
    with pytest.raises(InvalidOutputError, match="is a number from 0 to 1, got"):
        EvalResult("judge", EvalVerdict.PASS, score)
    assert EvalResult("judge", EvalVerdict.PASS, 1).score == 1
