"""A check that authors run on their own engine: `check_engine(MyEngine())`.

It runs small datasets here and there, and raises one error that lists every difference. Workers must be able to import `calipers`.
"""

import asyncio
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any, Final

from calipers.agents import tool
from calipers.data.attempt import current_attempt, increment_eval_metric, set_eval_attribute
from calipers.data.case import Case
from calipers.data.retry import Retry
from calipers.errors import EngineError
from calipers.report.report import Report
from calipers.run.dataset import Dataset
from calipers.run.place import Engine
from calipers.testing.conformance import ConformanceError, Finding, error_text

ADVICE: Final = {
    "same": "put into the attempt what its task left there: output or error, inputs, metrics, attributes, usage, trace, spans",
    "in time": "return False from `call` once the time of an attempt is over, and make the others all the same",
    "travel": "what cannot be sent back is the failure of its attempt, as an EngineError that names the part",
    "refusal": "refuse a task that cannot be sent with an EngineError, in `check`, before the first attempt",
    "again": "let one engine open a place for each of several runs",
}
"""What to do about a finding, by its rule."""

_LONG: Final = 3600.0
"""Seconds that an attempt would take that is given up."""


class RefusedError(Exception):
    """What a task raises here: an error that takes two arguments, and has an attribute."""

    def __init__(self, what: str, code: int) -> None:
        super().__init__(f"{what} was refused with {code}")
        self.code = code


@tool
def look_up(word: str) -> str:
    """A tool of the task."""
    return word[::-1]


def act(inputs: Mapping[str, Any]) -> Any:
    """A task that does what its inputs say: each key of `_DEEDS`, in their order, with its value."""
    output: Any = inputs.get("output")
    for deed, value in list(inputs.items()):
        if deed in _DEEDS:
            output = _DEEDS[deed](inputs, value, output)
    return output


async def act_async(inputs: Mapping[str, Any]) -> Any:
    """The same, with a turn of the event loop before it."""
    if "wait" in inputs:
        await asyncio.sleep(inputs["wait"])
        inputs = {deed: value for deed, value in inputs.items() if deed != "wait"}
    else:
        await asyncio.sleep(0)
    return act(inputs)


class Locked:
    """A task that cannot be sent anywhere."""

    def __init__(self) -> None:
        self.lock = threading.Lock()

    def __call__(self, inputs: Any) -> Any:
        """The inputs."""
        return inputs


def _raise(_inputs: Any, value: Any, _output: Any) -> Any:
    if value == "after one try" and current_attempt().tries > 1:
        return "at last"
    raise RefusedError(str(value), 7) from LookupError(value)


def _change(inputs: Any, value: Any, output: Any) -> Any:
    inputs["changed"] = value
    return output


def _count(_inputs: Any, value: Any, output: Any) -> Any:
    increment_eval_metric("counted", value)
    return output


def _note(_inputs: Any, value: Any, output: Any) -> Any:
    set_eval_attribute("noted", value)
    return output


def _draw(_inputs: Any, _value: Any, _output: Any) -> Any:
    return current_attempt().seed


def _ask(_inputs: Any, value: Any, _output: Any) -> Any:
    return look_up(word=value)


def _tell(_inputs: Any, _value: Any, _output: Any) -> Any:
    attempt = current_attempt()
    return [attempt.name, attempt.repeat_index, attempt.case.metadata]


def _wait(_inputs: Any, value: Any, output: Any) -> Any:
    time.sleep(value)
    return output


def _hold(_inputs: Any, _value: Any, output: Any) -> Any:
    return {"kept": output, "lock": threading.Lock()}


_DEEDS: Final[dict[str, Callable[[Any, Any, Any], Any]]] = {
    "count": _count,
    "note": _note,
    "draw": _draw,
    "ask": _ask,
    "tell": _tell,
    "change": _change,
    "wait": _wait,
    "hold": _hold,
    "raise": _raise,
}


def judged_inputs(inputs: Any) -> bool:
    """An evaluator that looks at the inputs as the task left them."""
    return "changed" in inputs


def judged_calls(tool_calls: Any) -> int:
    """An evaluator that looks at the trace."""
    return len(tool_calls)


def given_output(output: Any) -> str:
    """An evaluator that looks at the output."""
    return repr(output)


EVALUATORS: Final = (judged_inputs, judged_calls, given_output)

_CASES: Final[tuple[dict[str, Any], ...]] = (
    {"output": "plain"},
    {"output": ["a list", {"with": 1.5}]},
    {"count": 3, "note": {"text": "ü"}},
    {"draw": True},
    {"ask": "word"},
    {"tell": True},
    {"change": [1, 2]},
    {"count": 1, "raise": "always"},
    {"raise": "after one try"},
)


def dataset_of(*inputs: Mapping[str, Any], **more: Any) -> Dataset[Any, Any, Any]:
    """A case for each of the inputs, which `act` or `act_async` follows."""
    cases = [Case(inputs=dict(each), metadata={"number": n}, **more) for n, each in enumerate(inputs)]
    return Dataset(name="calipers-check", cases=cases, evaluators=EVALUATORS)


def check_engine(engine: Engine) -> None:
    """Check that an engine keeps the contract of `calipers.engines.Engine`.

    Args:
        engine: it is used for several runs of a few attempts.

    Raises:
        ConformanceError: an AssertionError that lists every finding, with what to do about it.
    """
    findings: list[Finding] = []
    for rule, check in _CHECKS:
        try:
            problem = check(engine)
        except Exception as error:
            problem = f"it raised {error_text(error)}"
        if problem is not None:
            findings.append(Finding(rule, problem, advice=ADVICE[rule]))
    if findings:
        raise ConformanceError(type(engine).__name__, findings, "an engine")


def _same(engine: Engine) -> str | None:
    for task in (act, act_async):
        here, there = (
            without_times(
                dataset_of(*_CASES).evaluate_sync(
                    task,
                    engine=each,
                    seed=7,
                    repeat=2,
                    retry=Retry(attempts=2, on=(RefusedError,), backoff=0.001),
                    progress=False,
                )
            )
            for each in (None, engine)
        )
        for kind in ("cases", "failures"):
            names = [record["name"] for record in here[kind]], [record["name"] for record in there[kind]]
            if names[0] != names[1]:
                return f"the {kind} of {task.__name__} are {names[1]}, and here they are {names[0]}"
            for mine, other in zip(here[kind], there[kind], strict=True):
                for part in {**mine, **other}:
                    if mine.get(part) != other.get(part):
                        return f"{part} of {task.__name__}({mine['inputs']!r}) is {other.get(part)!r}, and here it is {mine.get(part)!r}"
        if here != there:
            return f"something else in the report of {task.__name__} is not what it is here"
    return None


def _in_time(engine: Engine) -> str | None:
    for task in (act, act_async):
        dataset = dataset_of({"wait": _LONG}, *[{"output": number} for number in range(5)], timeout=None)
        dataset.cases[0].timeout = 0.2
        report = dataset.evaluate_sync(task, engine=engine, progress=False)
        late = [failure.error_type for failure in report.failures]
        if late != ["AttemptTimeoutError"]:
            return f"the failures of {task.__name__} are {late}, where one attempt exceeded its time"
        if (outputs := [case.output for case in report.cases]) != list(range(5)):
            return (
                f"the outputs of {task.__name__} are {outputs}, where one of six attempts exceeded its time"
            )
    return None


def _travel(engine: Engine) -> str | None:
    report = dataset_of({"hold": True}, {"output": 1}).evaluate_sync(act, engine=engine, progress=False)
    if [case.output for case in report.cases] != [1] or len(report.failures) != 1:
        return "an output that cannot be sent back is not the failure of its attempt alone"
    (failure,) = report.failures
    if failure.error_type != "TravelError" or "['lock']" not in failure.error_message:
        return f"an output that cannot be sent back is the failure {failure.error_message!r}"
    return None


def _refusal(engine: Engine) -> str | None:
    begun: list[Any] = []
    try:
        dataset_of({}).evaluate_sync(Locked(), engine=engine, on_record=begun.append, progress=False)
    except EngineError as error:
        return None if "lock" in str(error) else f"the refusal does not name the part `lock`: {error}"
    return f"a task that holds a lock was not refused; {len(begun)} attempts were made"


def _again(engine: Engine) -> str | None:
    for number in range(2):
        report = dataset_of({"output": number}).evaluate_sync(act_async, engine=engine, progress=False)
        if [case.output for case in report.cases] != [number]:
            return f"run {number + 1} of two gave {[case.output for case in report.cases]}"
    return None


_CHECKS: Final = (
    ("same", _same),
    ("in time", _in_time),
    ("travel", _travel),
    ("refusal", _refusal),
    ("again", _again),
)

_OF_TIME: Final = frozenset(
    {
        "task_duration",
        "total_duration",
        "duration",
        "started_at",
        "created_at",
        "timestamp",
        "latency_ms",
        "total_latency_ms",
        "trace_id",
        "span_id",
        "turn_id",
        "error_stacktrace",
        "blocked",
    }
)
"""What of a report is another thing each time."""


def without_times(report: Report) -> dict[str, Any]:
    """What a report says, without what is another thing each time: times, ids, tracebacks."""
    found: dict[str, Any] = _without(report.to_dict())
    return found


def _without(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without(each) for name, each in value.items() if name not in _OF_TIME}
    if isinstance(value, list):
        return [_without(each) for each in value]
    return value
