"""A key that enters a record as evidence is in no report file and in no store, whichever way it came, unless it is asked for."""

import json
from dataclasses import dataclass, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers import Case, CaseLifecycle, Dataset, EvaluationReason, Evaluator
from calipers.agents import EvalResult, EvalVerdict, TraceRecorder, tool
from calipers.data.attempt import record_trace, set_eval_attribute
from calipers.data.redaction import REDACTED
from calipers.data.result import Skipped
from calipers.data.trace import (
    LLMCall,
    ToolCall,
    Trace,
    Turn,
    TurnType,
    holds_no_secret,
    joined,
    secrets_of,
)
from calipers.evaluators import HasMatchingSpan, ReportEvaluator, ToolCallsMatch
from calipers.report.analysis import ScalarResult, TableResult
from calipers.rollouts import ChatTarget, Environment, Graph, Node, RolloutTask
from calipers.stores import open_store, score_again
from calipers.testing import OpenAIServer, Reply
from calipers.views.formats import FORMATS
from calipers.voice import AgentResponse, ResponseProblem, VoiceTask

KEY = "sk-proj-aB3dE5fG7hI9jK1lM"
"""Known by its shape."""
WORD = "hunter2-of-mine"
"""Known by the name it stands under."""
NAMED = {"password": WORD, "user": "ada"}
CALL = ToolCall("login", NAMED, output=f"in as ada with {WORD}", error=f"{WORD} is old")


@dataclass
class Way:
    """How a secret enters a record."""

    task: Any = str
    evaluators: tuple[Any, ...] = (lambda output: True,)
    lifecycle: Any = None
    report_evaluators: tuple[Any, ...] = ()
    metadata: Any = None
    found: bool = True
    """Whether `[redacted]` is told in its place."""


def returning(output):
    return lambda inputs: output


def raising(error):
    def task(inputs):
        raise error

    return task


def caused(inputs):
    try:
        raise ValueError(f"401 for {KEY}")
    except ValueError as error:
        raise RuntimeError("no answer") from error


def noting(name, value):
    def task(inputs):
        set_eval_attribute(name, value)
        return "done"

    return task


def attaching(trace, error=None):
    def task(inputs):
        record_trace(trace)
        if error is not None:
            raise error
        return "done"

    return task


def recording(record):
    def task(inputs):
        with TraceRecorder("agent", model="m") as begun:
            record(begun)
        return "done"

    return task


@tool
def login(password, user):
    return f"{user} is in with {password}"


def calling(inputs):
    login(WORD, "ada")
    return "done"


@tool
def refused(password):
    raise PermissionError(f"{password} and {KEY} are not known")


def refusing(inputs):
    refused(WORD)


def spanning(inputs):
    from opentelemetry import trace

    with trace.get_tracer("t").start_as_current_span(f"ask {KEY}") as span:
        span.set_attribute("api_key", WORD)
        span.set_attribute("url", f"https://x.org?token={KEY}")
        span.add_event(f"sent {KEY}", {"authorization": WORD})
    return "done"


def heard(inputs):
    return AgentResponse(
        [CALL],
        raw={"headers": {"Authorization": WORD}},
        text=f"the key is {KEY}",
        transcript=f"say {KEY}",
        problems=[ResponseProblem("error", f"401 for {KEY}", raw=NAMED)],
    )


class Hears:
    def run_text(self, text):
        return replace(heard(text), text="done")


async def chatting(inputs):
    with OpenAIServer(Reply(calls=[ToolCall("open", NAMED)])) as server:
        return await RolloutTask(Environment(ChatTarget(server.url), ["a"]))(inputs)


class Explains(Evaluator):
    def evaluate(self, ctx):
        return EvaluationReason(value=False, reason=f"it sent {KEY}")


class Notes(Evaluator):
    def evaluate(self, ctx):
        set_eval_attribute("token", WORD)
        return {"label": f"like {KEY}"}


class Breaks(Evaluator):
    def evaluate(self, ctx):
        raise ValueError(f"401 for {KEY}")


class Leaves(Evaluator):
    def evaluate(self, ctx):
        return Skipped(f"no answer for {KEY}")


class Judges:
    def evaluate(self, test_case, trace):
        return EvalResult("Judges", EvalVerdict.FAIL, 0.0, f"sent {KEY}", {"api_key": WORD, "seen": [KEY]})


class Prepares(CaseLifecycle):
    async def prepare_context(self, ctx):
        ctx.attributes["session"] = {"cookie": WORD, "url": f"https://me:{WORD}@host"}
        return ctx

    async def teardown(self, result):
        raise OSError(f"cannot close {KEY}")


class BreaksLast(ReportEvaluator):
    def evaluate(self, ctx):
        raise ValueError(f"401 for {KEY}")


class Finds(ReportEvaluator):
    def evaluate(self, ctx):
        return [
            ScalarResult(title=f"with {KEY}", description=f"password={WORD}", note=f"not {KEY}", value=1.0),
            TableResult(title="t", columns=["a"], rows=[[f"seen {KEY}"]]),
        ]


BY_HAND = Trace(
    agent_name="agent",
    input_text=f"use {KEY}",
    tags=(f"key {KEY}",),
    metadata={"headers": {"x-api-key": WORD}},
    turns=[
        Turn(turn_type=TurnType.USER_MESSAGE, content=f"my key is {KEY}"),
        Turn(llm_call=LLMCall(model="m", input_text=KEY, output_text=WORD, metadata={"api_key": WORD})),
        Turn(tool_call=CALL),
    ],
)
LOGIN = Trace(tool_calls=[ToolCall("login", NAMED)])

WAYS = {
    "arguments and output of a tool": Way(calling),
    "an error of a tool": Way(refusing),
    "calls recorded by hand": Way(recording(lambda r: r.record_tool_call("login", NAMED, output=KEY, error=KEY))),
    "requests recorded by hand": Way(
        recording(lambda r: r.record_llm_call("m", input_text=KEY, output_text=KEY, metadata=NAMED))
    ),
    "messages recorded by hand": Way(
        recording(lambda r: (r.record_user_message(f"use {KEY}"), r.record_agent_message(f"used {KEY}")))
    ),
    "texts of a recording": Way(recording(lambda r: setattr(r, "output_text", f"it is {KEY}"))),
    "metadata of a recording": Way(recording(lambda r: r.metadata.update(api_key=WORD, seen=KEY))),
    "a trace that the task returns": Way(returning(BY_HAND)),
    "a trace that the task attaches": Way(attaching(BY_HAND)),
    "a trace of a task that fails": Way(attaching(BY_HAND, ValueError(f"{WORD} is wrong"))),
    "an error of the task": Way(raising(ValueError(f"401 for {KEY}"))),
    "the cause of an error": Way(caused),
    "an attribute, by its name": Way(noting("api_key", WORD)),
    "an attribute, by its value": Way(noting("request", {"headers": [f"Bearer {KEY}"]})),
    "hooks": Way(returning("done"), lifecycle=Prepares),
    "spans and their events": Way(spanning, evaluators=(HasMatchingSpan({"name_contains": "ask"}),), found=False),
    "what a voice agent answers": Way(VoiceTask(Hears())),
    "a response as the output": Way(heard),
    "calls as the output": Way(returning({"calls": [CALL], "n": (1, [CALL])})),
    "a chat target": Way(chatting),
    "a rollout": Way(
        returning(Graph("s", [Node("s", "a", "r", 0.0, [Node("s", "b", "r", 0.0, [], trace=BY_HAND, metadata=NAMED)])]))
    ),
    "the reason of an evaluator": Way(evaluators=(Explains(),)),
    "what an evaluator notes": Way(evaluators=(Notes(),)),
    "what a verdict says": Way(returning(LOGIN), evaluators=(Judges(),)),
    "the reason to skip": Way(evaluators=(Leaves(),)),
    "an error of an evaluator": Way(evaluators=(Breaks(),)),
    "an error of a report evaluator": Way(report_evaluators=(BreaksLast(),)),
    "the texts of an analysis": Way(report_evaluators=(Finds(),)),
    "what the run is given as metadata": Way(metadata={"api_key": WORD, "seen": [KEY], "note": f"password={WORD}"}),
    "headers as a list, and a text of JSON": Way(
        attaching(Trace(tool_calls=[ToolCall("get", {"headers": [("x-api-key", WORD)]}, output=json.dumps(f"a\n{KEY}"))]))
    ),
    "a file of settings": Way(
        attaching(Trace(tool_calls=[ToolCall("cat", {"path": "x"}, output=f"[a]\naws_secret_access_key = {WORD}\n")]))
    ),
    "an error in colour": Way(raising(OSError(f"\x1b[31m{KEY}\x1b[0m"))),
    "the repr of an error": Way(raising(KeyError(f"x\n{KEY}"))),
    "a connection that fails": Way(raising(OSError(f"no connection: host=db user=me password={WORD} dbname=x"))),
    "names in a trace": Way(
        attaching(Trace(agent_name=f"a {KEY}", turns=[
            Turn(tool_call=ToolCall(f"open {KEY}", {})), Turn(llm_call=LLMCall(model=f"m {KEY}"))
        ]))
    ),
    "what differs from an expected call": Way(
        returning(LOGIN), evaluators=(ToolCallsMatch([ToolCall("login", {"user": "bob"})]),)
    ),
}  # fmt: skip


def run(way, **options):
    dataset = Dataset(
        name="secrets",
        cases=[Case(name="a", inputs="hello")],
        evaluators=way.evaluators,
        report_evaluators=way.report_evaluators,
    )
    return dataset.evaluate_sync(
        way.task, lifecycle=way.lifecycle, metadata=way.metadata, progress=False, **options
    )


def written(report):
    """The files of a report, by their format."""
    return {name: b"".join(form.chunks(report)).decode() for name, form in FORMATS.items()}


@pytest.mark.parametrize("way", WAYS)
def test_a_secret_among_the_evidence_is_in_no_report_file_and_in_no_store(tmp_path, way):
    path = tmp_path / "runs.db"
    with open_store(path) as store:
        report = run(WAYS[way], store=store)
        stored = store.report("latest")
        kept = [*store.attempts(store.run("latest").id), *store.cells(store.run("latest").id)]
    files = (
        {"kept": repr(kept)}
        | written(report)
        | {f"stored {name}": text for name, text in written(stored).items()}
    )
    for file in tmp_path.iterdir():
        files[file.name] = file.read_bytes().decode("utf-8", "replace")
    for name, text in files.items():
        assert KEY not in text, name
        assert WORD not in text, name
    assert REDACTED in files["kept"] + files["json"]
    assert (REDACTED in files["json"]) or not WAYS[way].found


@pytest.mark.parametrize(
    "way", ["a trace that the task returns", "a response as the output", "spans and their events"]
)
def test_a_run_that_is_to_keep_secrets_tells_them(tmp_path, way):
    with open_store(tmp_path / "runs.db") as store:
        run(WAYS[way], store=store, keep_secrets=True)
        kept = repr([*store.attempts(store.run("latest").id)])
    assert KEY in kept
    assert WORD in kept


def test_a_run_that_is_to_keep_secrets_tells_those_of_its_metadata_and_its_analyses():
    report = run(Way(report_evaluators=(Finds(),), metadata=NAMED), keep_secrets=True)
    assert report.metadata == NAMED
    assert report.analyses[0].title == f"with {KEY}"


@tool(keep_secrets=True)
def unlock(password):
    return password


def kept_by_recorder(inputs):
    with TraceRecorder("agent", keep_secrets=True) as recording:
        recording.record_tool_call("login", NAMED)
    return "done"


def kept_by_tool(inputs):
    unlock(WORD)
    return "done"


@pytest.mark.parametrize(
    "task",
    [
        kept_by_recorder,
        kept_by_tool,
        returning(Trace(tool_calls=[ToolCall("login", NAMED)], keep_secrets=True)),
        returning(Trace(tool_calls=[ToolCall("login", NAMED, keep_secrets=True)])),
    ],
    ids=["recorder", "tool", "trace", "call"],
)
def test_a_trace_or_a_call_that_is_to_keep_its_secrets_does_also_when_it_is_read_from_a_store(tmp_path, task):
    with open_store(tmp_path / "runs.db") as store:
        report = run(Way(task), store=store)
        again = run(Way(task, evaluators=(lambda output: False,)), store=store, reuse=True)
        for each in (report, store.report("latest"), again):
            assert WORD in written(each)["json"]


def test_evaluators_judge_what_the_record_does_not_tell_and_rescoring_says_what_it_lacked(tmp_path):
    right = ToolCallsMatch([ToolCall("login", NAMED)])
    with open_store(tmp_path / "runs.db") as store:
        record = run(Way(returning(LOGIN), evaluators=(right,)), store=store).cases[0]
        assert record.passed
        assert record.trace.tool_calls[0].arguments == {"password": REDACTED, "user": "ada"}
        again = score_again(store, evaluators=[lambda trace: len(trace.tool_calls) == 1])
    assert "judged without what redaction hid: 1" in " ".join(again.reuse.notes)


def test_inputs_expectations_and_an_answer_stay_as_they_are():
    case = Case(name="a", inputs={"password": WORD}, expected_output=KEY, metadata={"api_key": WORD})
    record = Dataset(cases=[case]).evaluate_sync(lambda inputs: KEY, progress=False).cases[0]
    assert (record.inputs, record.expected_output, record.output) == (case.inputs, KEY, KEY)
    assert record.metadata == case.metadata


def test_what_holds_no_secret_is_told_as_the_object_it_is():
    clean = Trace(
        tool_calls=[ToolCall("search", {"q": "max_tokens"}, output=["a", {"b": 1}])], metadata={"n": 1}
    )
    rollout = Graph("s", [Node("s", "a", "r", 0.0, [], trace=clean)])
    response = AgentResponse(
        [ToolCall("search", {"q": 1})], raw={"a": [1]}, problems=[ResponseProblem("error", "late")]
    )
    for evidence in (clean, rollout, response, *clean.tool_calls):
        assert evidence.without_secrets() is evidence


def test_of_traces_that_are_joined_only_one_that_keeps_its_secrets_tells_them():
    open_one = Trace(tool_calls=[ToolCall("a", {"password": "open-sesame"})], keep_secrets=True)
    told = joined([LOGIN, open_one]).without_secrets()
    assert [call.arguments["password"] for call in told.tool_calls] == [REDACTED, "open-sesame"]


_PIECES = [
    "Oslo",
    "sk-proj-Abc123def456ghi7",
    "password=hunter22",
    "api_key",
    "token",
    ": ",
    "=",
    "@",
    "://",
    "'",
    '"',
    "\n",
]
_TEXTS = st.lists(st.sampled_from(_PIECES), max_size=4).map("".join)
_VALUES = st.recursive(
    st.none() | st.integers() | _TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_TEXTS, inner, max_size=3),
    max_leaves=6,
)


@given(
    said=st.lists(_TEXTS, max_size=3),
    arguments=st.dictionaries(_TEXTS, _VALUES, max_size=3),
    output=_VALUES,
    metadata=st.dictionaries(_TEXTS, _VALUES, max_size=2),
)
def test_a_trace_that_is_seen_at_a_glance_to_hold_no_secret_holds_none(said, arguments, output, metadata):
    turns = [Turn(turn_type=TurnType.USER_MESSAGE, content=text) for text in said]
    turns.append(Turn(tool_call=ToolCall("find", arguments, output=output)))
    trace = Trace(turns=turns, output_text="".join(said), metadata=metadata)
    if holds_no_secret(trace):
        assert trace.without_secrets(secrets_of(trace.tool_calls)) is trace
