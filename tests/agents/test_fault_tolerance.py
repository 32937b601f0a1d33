"""What an agent does after a call was struck, read from its trace: it calls the tool again and gets a good result, or ends without."""

import time
from datetime import UTC, datetime, timedelta

import pytest
from pydantic_ai import Agent
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import FunctionModel

from calipers import Case, Dataset
from calipers.agents import PydanticAIAdapter, tool, with_faults
from calipers.agents.fault_tolerance import OUTCOMES, called_again
from calipers.data.record import ReportCase, ReportCaseFailure
from calipers.data.trace import LLMCall, ToolCall, Trace, Turn
from calipers.errors import AttemptTimeoutError
from calipers.evaluators import EqualsExpected
from calipers.report import FaultTolerance
from calipers.stores import open_store

START = datetime(2026, 1, 1, tzinfo=UTC)
ASK = Turn(llm_call=LLMCall(model="m"))


def call(thing="desk", *, at=None, name="price"):
    began = None if at is None else START + timedelta(seconds=at)
    return Turn(
        tool_call=ToolCall(name, {"thing": thing}, timestamp=began, latency_ms=None if at is None else 1000)
    )


def record(outcomes, turns, **fields):
    told = {
        "name": "a",
        "inputs": "a",
        "metadata": None,
        "expected_output": None,
        "attributes": {} if outcomes is None else {OUTCOMES: outcomes},
        "trace": None if turns is None else Trace(turns=turns),
        "metrics": {},
        "task_duration": 1.0,
        "total_duration": 1.0,
    } | fields
    if "error_type" in told:
        return ReportCaseFailure(**told)
    return ReportCase(**told, output="x", results=())


@pytest.mark.parametrize(
    ("outcomes", "turns", "found"),
    [
        # in rounds of a model
        (["struck", "good"], [ASK, call(), ASK, call()], True),
        (["struck", "good"], [ASK, call(), ASK, call("lamp")], True),
        (["struck", "good"], [ASK, call(), call("lamp"), ASK], False),
        (["struck", "good"], [ASK, call(), call(), ASK], True),
        (["struck", "good"], [ASK, call(at=0), call(at=0.5), ASK], False),
        (["good", "struck"], [ASK, call("lamp"), call(), ASK], False),
        (["struck", "struck", "good"], [ASK, call(), ASK, call(), ASK, call()], True),
        (["struck", "good", "struck"], [ASK, call(), ASK, call(), ASK, call()], False),
        (["struck", "failed"], [ASK, call(), ASK, call()], False),
        (["struck", "open"], [ASK, call(), ASK, call()], False),
        # where no request to a model is known, one after the other
        (["struck", "good"], [call(), call("lamp")], True),
        (["struck", "good"], [call(at=0), call("lamp", at=2)], True),
        (["struck", "good"], [call(at=0), call("lamp", at=0.5)], False),
        # where the trace does not show it
        (["struck", "good"], [ASK, call()], None),
        (["struck", "good"], None, None),
        (["struck"], None, False),
    ],
)
def test_a_good_call_that_follows_a_struck_one_is_told_from_one_beside_it(outcomes, turns, found):
    assert called_again(record({"price": outcomes}, turns)) is found


def test_every_tool_that_was_struck_counts():
    turns = [ASK, call(), call(name="stock"), ASK, call(), ASK]
    assert called_again(record({"price": ["struck", "good"]}, turns)) is True
    assert called_again(record({"price": ["struck", "good"], "stock": ["struck"]}, turns)) is False
    unknown = {"price": ["struck", "good", "good"]}
    assert called_again(record(unknown, turns)) is None
    assert called_again(record(unknown | {"stock": ["struck"]}, turns)) is False


def test_what_is_not_known_is_not_claimed():
    assert called_again(record(None, [ASK, call()])) is None
    cut_off = {"error_type": "AttemptTimeoutError", "error_message": "late", "infrastructure": True}
    assert called_again(record({"price": ["struck"]}, [call()], **cut_off)) is None
    crashed = {"error_type": "RuntimeError", "error_message": "503"}
    assert called_again(record({"price": ["struck"]}, [call()], **crashed)) is False


# ---------------------------------------------------------------------- agents


@tool
def price(thing: str) -> int:
    return len(thing)


def brittle(thing):
    return price(thing)


def robust(thing):
    for _ in range(20):
        try:
            return price(thing)
        except RuntimeError:
            continue
    return None


def shop():
    cases = [
        Case(name=thing, inputs=thing, expected_output=len(thing))
        for thing in ("desk", "chair", "rug", "lamp")
    ]
    return Dataset(cases=cases, evaluators=[EqualsExpected()])


def effect(faults, task, dataset=None, **options):
    report = with_faults(dataset or shop(), faults).evaluate_sync(task, seed=1, progress=False, **options)
    return report, report.analysis(FaultTolerance).effects[0]


@pytest.mark.parametrize(
    ("task", "faults", "share"),
    [
        (robust, "error@0.6", 1.0),
        (brittle, "error@0.6", 0.0),
        (robust, "error", 0.0),
        (robust, "lying", 0.0),
        (robust, "latency:0", None),
    ],
)
def test_the_report_says_how_many_called_again(task, faults, share):
    report, found = effect(faults, task)
    assert found.struck > 1
    if share is None:
        assert found.called_again is None
    else:
        assert (found.called_again.value, found.called_again.n_observations) == (share, found.struck)
        assert found.called_again.interval is not None
    assert "called again %" in report.render(width=140)


def test_a_kept_run_has_what_the_calls_came_to_also_of_attempts_that_crashed(tmp_path):
    report, found = effect("error@0.6", brittle, store=tmp_path / "runs.db")
    with open_store(tmp_path / "runs.db") as store:
        stored = store.report(report.reuse.run)
    assert {each.name: each.attributes for each in stored.failures} == {
        each.name: {OUTCOMES: {"price": ["struck"]}} for each in report.failures
    }
    assert len(report.failures) == found.struck
    assert stored.analysis(FaultTolerance).effects[0] == found


def test_an_attempt_that_is_cut_off_says_nothing_of_what_it_would_have_done():
    def hangs(thing):
        try:
            return price(thing)
        except RuntimeError:
            time.sleep(0.5)
            return price(thing)

    report, found = effect("error@0.6", hangs, task_timeout=0.1)
    assert {failure.error_type for failure in report.failures} == {AttemptTimeoutError.__name__}
    assert found.called_again is None


def test_calls_that_a_model_asks_for_together_do_not_follow_each_other():
    def asked(*things):
        return ModelResponse([ToolCallPart("cost", {"thing": thing}) for thing in things])

    def both_at_once(messages, info):
        return asked("desk", "lamp") if len(messages) == 1 else ModelResponse([TextPart("done")])

    def desk_again(messages, info):
        if len(messages) == 3:
            return asked("desk")
        return both_at_once(messages, info)

    def agent(model):
        made = Agent(FunctionModel(model))

        @made.tool_plain
        def cost(thing: str) -> dict:
            return {"thing": thing, "price": len(thing)}

        return PydanticAIAdapter(made)

    dataset = Dataset(cases=[Case(name=str(number), inputs="prices") for number in range(12)])
    shares = {}
    for model in (both_at_once, desk_again):
        report, _ = effect("empty@0.5", agent(model), dataset)
        one_struck = [
            each
            for each in report.cases
            if sorted(each.attributes.get(OUTCOMES, {}).get("cost", ())[:2]) == ["good", "struck"]
        ]
        assert one_struck
        shares[model] = [called_again(each) for each in one_struck]
        ends_well = [each.attributes[OUTCOMES]["cost"][-1] == "good" for each in one_struck]
        assert shares[model] == (ends_well if model is desk_again else [False] * len(one_struck))
    assert True in shares[desk_again]
