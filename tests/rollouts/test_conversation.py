"""All turns of a rollout are one trace."""

import asyncio

import pytest

from calipers import Case, Dataset
from calipers.agents import FunctionAdapter, TraceRecorder, tool
from calipers.data.trace import LLMCall, ToolCall, Trace, TurnType
from calipers.evaluators import FollowsTrajectory, ToolCallCount, ToolCallsMatch
from calipers.rollouts import Environment, Graph, Node, Replay, Reply, RolloutTask
from calipers.rollouts.conversation import conversation_trace
from calipers.testing import make_context

NEVER = [ToolCallCount("refund", maximum=0), FollowsTrajectory({"never": ["refund"]})]


@tool
def refund(order):
    return f"paid {order}"


@tool
def look_up(order):
    return order


def support(text):
    """Pays at once, and does nothing wrong afterwards."""
    if "money" in text:
        refund(17)
    else:
        look_up(17)
    return "Done."


async def support_later(text):
    await asyncio.sleep(0)
    return support(text)


def recorded_by_itself(text):
    with TraceRecorder("support") as recording:
        recording.output_text = support(text)
    return recording.trace


def tells_no_calls(text):
    """Gives a trace that lacks the tool."""
    support(text)
    return Reply("Done.", trace=Trace(output_text="Done.", llm_calls=[LLMCall(model="m")]))


class Told:
    blocking = False

    def reply(self, messages):
        calls = [ToolCall("refund", {})] if "money" in messages[-1].content else []
        return Trace(output_text="Done.", tool_calls=calls)


TARGETS = [
    support,
    support_later,
    FunctionAdapter(support),
    FunctionAdapter(support_later),
    recorded_by_itself,
    tells_no_calls,
    Told(),
]


def judged(task, inputs="g"):
    (case,) = Dataset(cases=[Case(inputs=inputs)], evaluators=NEVER).evaluate_sync(task, progress=False).cases
    return case


@pytest.mark.parametrize(
    "target", TARGETS, ids=lambda target: getattr(target, "__name__", type(target).__name__)
)
def test_a_call_of_the_first_turn_is_seen_whatever_the_target_is(target):
    case = judged(RolloutTask(Environment(target, ["My money!", "Thanks."])))
    assert [result.value for result in case.results] == [False, False]
    assert [call.name for call in case.trace.tool_calls].count("refund") == 1


@pytest.mark.parametrize(
    "target", TARGETS, ids=lambda target: getattr(target, "__name__", type(target).__name__)
)
def test_a_call_in_any_branch_of_a_tree_is_seen(target):
    def tester(so_far):
        return "My money!" if so_far.turn == 2 and so_far.branch == 0 else "Hello."

    case = judged(RolloutTask(Environment(target, tester, width=2, depth=3)))
    assert [result.value for result in case.results] == [False, False]
    assert [call.name for call in case.trace.tool_calls].count("refund") == 2


def test_each_conversation_of_a_tree_is_judged_by_itself():
    def branching(so_far):  # one branch looks up, the other pays without
        return "My money!" if so_far.branch else "Hello."

    def shop(text):
        return support(text)

    order = FollowsTrajectory({"steps": ["look_up", "refund"]})
    before = FollowsTrajectory({"before": [["look_up", "refund"]]}, evaluation_name="before")
    once = ToolCallCount("refund", minimum=1, maximum=1)
    match = ToolCallsMatch([ToolCall("look_up", {"order": 17})], mode="subset")
    evaluators = [order, before, once, match]
    task = RolloutTask(Environment(shop, branching, width=2, depth=1))
    report = Dataset(cases=[Case(inputs="g")], evaluators=evaluators).evaluate_sync(task, progress=False)
    (case,) = report.cases
    assert len(case.trace.tool_calls) == 2
    assert not any(result.value for result in case.results), case.results
    stored = make_context(output=case.output.to_dict(), trace=case.trace)
    assert [each.evaluate(stored) for each in evaluators] == [
        each.evaluate(make_context(output=case.output, trace=case.trace)) for each in evaluators
    ]


def test_a_task_of_your_own_that_rolls_out_has_the_same_trace():
    async def task(goal):
        graph = await Environment(support, ["My money!", "Thanks."]).eval_rollout_async(0, goal=goal)
        return graph.stopped

    async def twice(goal):
        await task(goal)
        return await Environment(support, ["Hello."]).eval_rollout_async(0, goal=goal)

    for each in (task, twice):
        assert [result.value for result in judged(each).results] == [False, False], each


def test_a_rollout_made_by_hand_tells_its_calls_where_every_turn_does():
    said = Trace(tool_calls=[ToolCall("refund")])
    told = Graph("", [Node("", "a", "b", trace=said, children=[Node("", "c", "d", trace=Trace())])])
    silent = Graph("", [Node("", "a", "b", trace=said, children=[Node("", "c", "d")])])
    assert [result.value for result in judged(lambda _: told).results] == [False, False]
    case = judged(lambda _: silent)
    assert (case.results, case.trace) == ((), None)
    assert len(case.skipped) == 2


def test_a_target_that_tells_nothing_is_not_taken_for_one_that_called_nothing():
    case = judged(RolloutTask(Environment(lambda text: "Done.", ["My money!", "Thanks."])))
    assert (case.results, case.trace) == ((), None)
    assert len(case.skipped) == 2


def test_what_tester_and_moderator_do_is_no_part_of_the_trace():
    def tester(so_far):
        refund(so_far.turn)
        return "Hello."

    def moderator(text):
        refund(0)
        return 0.0

    case = judged(RolloutTask(Environment(support, FunctionAdapterTester(tester), moderator, depth=2)))
    assert [result.value for result in case.results] == [True, True]
    assert [call.name for call in case.trace.tool_calls] == ["look_up", "look_up"]


class FunctionAdapterTester:
    """A tester that records what it does."""

    def __init__(self, function):
        self.function = function

    def next_attack(self, so_far):
        with TraceRecorder("tester"):
            return self.function(so_far)


def test_what_a_target_did_before_it_failed_is_in_the_trace():
    def target(text):
        if "money" in text:
            refund(17)
            raise ConnectionError("gone")
        return "Hello."

    kept = judged(RolloutTask(Environment(target, ["Hi", "My money!"], on_error="keep")))
    assert [result.value for result in kept.results] == [False, False]
    again = Graph.from_dict(kept.output.to_dict())
    assert again == kept.output
    assert again.attempt_trace().tool_calls == kept.trace.tool_calls
    dataset = Dataset(cases=[Case(inputs="g")], evaluators=NEVER)
    (failure,) = dataset.evaluate_sync(
        RolloutTask(Environment(target, ["Hi", "My money!"])), progress=False
    ).failures
    assert [call.name for call in failure.trace.tool_calls] == ["refund"]


def test_a_rollout_that_runs_out_of_time_leaves_the_turns_so_far():
    async def target(text):
        if "money" not in text:
            await asyncio.Event().wait()
        refund(17)
        return "Done."

    dataset = Dataset(cases=[Case(inputs="g")], evaluators=NEVER)
    report = dataset.evaluate_sync(
        RolloutTask(Environment(target, ["My money!", "Thanks."])), task_timeout=0.2, progress=False
    )
    (failure,) = report.failures
    assert [turn.turn_type for turn in failure.trace.turns] == [
        TurnType.USER_MESSAGE,
        TurnType.TOOL_CALL,
        TurnType.AGENT_MESSAGE,
    ]


def test_a_replay_is_judged_by_all_its_turns():
    inputs = {"goal": "g", "attacks": [{"text": "My money!"}, {"text": "Thanks."}], "judge": {"success": 0.5}}
    case = judged(Replay(support, lambda text: 0.0), inputs)
    assert [result.value for result in case.results] == [False, False]


def test_totals_are_those_of_all_turns_and_unknown_where_one_is():
    def graph(*traces, duration=None):
        children = []
        for trace in reversed(traces):
            children = [Node("", "a", "b", trace=trace, duration=duration, children=children)]
        return Graph("", children)

    counted = Trace(llm_calls=[LLMCall(model="m", input_tokens=3, output_tokens=4, latency_ms=5)])
    silent = Trace(llm_calls=[LLMCall(model="m")])
    both = conversation_trace(graph(counted, counted))
    assert (both.total_input_tokens, both.total_output_tokens, both.total_latency_ms) == (6, 8, 10)
    one = conversation_trace(graph(counted, silent))
    assert not one.tokens_measured
    assert not one.latency_measured
    timed = conversation_trace(graph(counted, silent, duration=0.5))
    assert timed.total_latency_ms == 505
